/* Instructions that only change which coordinate an element has. */
#include "graph/lower.h"

#include "base/checked.h"

#include <string.h>

void tg_rows_dense(tg_node_view *view) {
    int64_t step = 1;
    view->offset = 0;
    for (int32_t d = view->ndim; d-- > 0;) {
        view->step[d] = step;
        step *= view->shape[d] > 0 ? view->shape[d] : 1;
    }
}

static bool is_empty(const tg_node_view *v) {
    for (int32_t d = 0; d < v->ndim; d++)
        if (v->shape[d] == 0) return true;
    return false;
}

/* ---- reshape --------------------------------------------------------------------------- */

/* Dimensions of the old and of the new shape that have the same number of elements, innermost first: [old_low,
 * old_high) and [new_low, new_high). */
typedef struct group {
    int32_t old_low, old_high, new_low, new_high;
} group;

static int64_t product(const int64_t *shape, int32_t low, int32_t high) {
    int64_t n = 1; /* INT64_MAX if it does not fit, as the text may say */
    for (int32_t d = low; d < high; d++)
        if (!tg_mul(&n, n, shape[d])) n = INT64_MAX;
    return n;
}

/* The next group from the inside; false if there are no dimensions left. */
static bool next_group(group *g, const int64_t *old_shape, const int64_t *new_shape) {
    g->old_high = g->old_low;
    g->new_high = g->new_low;
    while (g->old_high > 0 && old_shape[g->old_high - 1] == 1) g->old_high--;
    while (g->new_high > 0 && new_shape[g->new_high - 1] == 1) g->new_high--;
    if (g->old_high == 0 || g->new_high == 0) return false;
    g->old_low = g->old_high - 1;
    g->new_low = g->new_high - 1;
    for (;;) {
        const int64_t a = product(old_shape, g->old_low, g->old_high), b = product(new_shape, g->new_low, g->new_high);
        if (a == b) return true;
        if (a < b) g->old_low--;
        else g->new_low--;
    }
}

/* The old dimensions are one run of equal steps. */
static bool is_run(const tg_node_view *in, const group *g) {
    int64_t inner = -1;
    for (int32_t d = g->old_high; d-- > g->old_low;) {
        if (in->shape[d] == 1) continue;
        if (inner >= 0 && in->step[d] != inner) return false;
        inner = in->step[d] * in->shape[d];
    }
    return true;
}

static int64_t innermost(const int64_t *shape, int32_t low, int32_t high) {
    while (high - low > 1 && shape[high - 1] == 1) high--;
    return shape[high - 1];
}

/* Does the group cut sticks? Only along the dimension that elements follow each other in. */
static bool cuts_sticks(const tg_node_view *in, const int64_t *new_shape, const group *g, int64_t stick) {
    const int64_t a = innermost(in->shape, g->old_low, g->old_high);
    const int64_t b = innermost(new_shape, g->new_low, g->new_high);
    return a != b && in->step[g->old_high - 1] == 1 && (a % stick != 0 || b % stick != 0);
}

bool tg_rows_reshape(tg_node_view *out, bool *cuts, const tg_node_view *in, int32_t ndim, const int64_t *shape,
                     int64_t stick) {
    tg_node_view view = *in;
    group   g = {in->ndim, in->ndim, ndim, ndim};
    view.ndim = ndim;
    *cuts = false;
    memset(view.step, 0, sizeof view.step);
    memset(view.shape, 0, sizeof view.shape);
    memcpy(view.shape, shape, (size_t)ndim * sizeof *shape);
    while (!is_empty(in) && next_group(&g, in->shape, shape)) {
        int64_t step = in->step[g.old_high - 1];
        if (!is_run(in, &g)) return false;
        *cuts = *cuts || cuts_sticks(in, shape, &g, stick);
        for (int32_t d = g.new_high; d-- > g.new_low;) {
            view.step[d] = step;
            step *= shape[d];
        }
    }
    *out = view;
    return true;
}

/* A clone with this shape. Where steps say the reshape it reads by them; else it writes the elements one after the
 * other, as it reads them. */
static tg_status clone_as(tg_node_view *view, const tg_order *o, const tg_node_view *by_steps, int32_t ndim,
                          const int64_t *shape) {
    tg_term  terms[TG_MAX_NDIM];
    tg_draft d;
    tg_node_view  dense = *view, result;
    const tg_node_view read = *view;
    if (by_steps != NULL) {
        *view = *by_steps;
        return tg_draft_copy(view, o, TG_NODE_CLONE);
    }
    tg_rows_dense(&dense);
    tg_draft_start(&d, o, TG_NODE_CLONE, view);
    for (int32_t i = 0; i < view->ndim; i++) terms[i] = (tg_term){.loop = i, .step = dense.step[i]};
    d.node.result = (tg_access){.nterms = view->ndim, .terms = terms};
    result = (tg_node_view){.ndim = ndim};
    memcpy(result.shape, shape, (size_t)ndim * sizeof *shape);
    tg_rows_dense(&result);
    tg_draft_reshape(&d, o, view->node, &result);
    if (!tg_draft_same(&d, o, view)) return tg_lower_no_memory(o);
    const tg_status s = tg_draft_finish(view, &d, o);
    return s == TG_OK && !tg_trace_copy(o, &read) ? tg_lower_no_memory(o) : s;
}

static tg_status reshape_to(tg_node_view *view, const tg_order *o, int32_t ndim, const int64_t *shape) {
    tg_node_view out;
    bool    cuts;
    if (product(view->shape, 0, view->ndim) != product(shape, 0, ndim))
        return tg_lower_fail(o, "a reshape changes the number of elements");
    const bool by_steps = tg_rows_reshape(&out, &cuts, view, ndim, shape, tg_stick_length(view, o));
    if (!by_steps || cuts) return clone_as(view, o, by_steps ? &out : NULL, ndim, shape);
    *view = out;
    return TG_OK;
}

tg_status tg_lower_reshape(tg_order *o) {
    tg_node_view   view, shape;
    tg_status s = tg_lower_view(&view, o, 0);
    if (s == TG_OK) s = tg_lower_shape(&shape, o);
    if (s == TG_OK) s = reshape_to(&view, o, shape.ndim, shape.shape);
    return s == TG_OK ? tg_lower_put_view(o, &view) : s;
}

/* ---- permutations -------------------------------------------------------------------------- */

static tg_node_view permuted(const tg_node_view *in, const int64_t *from) {
    tg_node_view out = *in;
    for (int32_t d = 0; d < in->ndim; d++) {
        out.shape[d] = in->shape[from[d]];
        out.step[d] = in->step[from[d]];
    }
    return out;
}

static bool is_permutation(const int64_t *from, int32_t count, int32_t ndim) {
    uint32_t seen = 0;
    for (int32_t d = 0; d < count; d++)
        if (from[d] >= 0 && from[d] < ndim) seen |= UINT32_C(1) << from[d];
    return count == ndim && seen == (UINT32_C(1) << ndim) - 1;
}

tg_status tg_lower_transpose(tg_order *o) {
    int64_t   from[TG_MAX_NDIM];
    int32_t   count = 0;
    tg_node_view   view;
    tg_status s = tg_lower_view(&view, o, 0);
    if (s == TG_OK) s = tg_lower_ints(from, &count, o, "dimensions");
    if (s != TG_OK) return s;
    if (!is_permutation(from, count, view.ndim)) return tg_lower_fail(o, "its dimensions are no permutation");
    view = permuted(&view, from);
    return tg_lower_put_view(o, &view);
}

/* The dimensions of a shape, the one that varies slowest in memory first. */
static void memory_order(int64_t *order, const tg_xla_shape *shape) {
    for (int32_t i = 0; i < shape->ndim; i++)
        order[i] = shape->has_layout ? shape->layout.minor_to_major[shape->ndim - 1 - i] : i;
}

/* The text may list dimensions that are not there. */
bool tg_lower_is_layout(const tg_xla_shape *shape) {
    uint32_t seen = 0;
    for (int32_t i = 0; shape->has_layout && i < shape->ndim; i++) {
        const int32_t d = shape->layout.minor_to_major[i];
        if (shape->layout.ndim != shape->ndim || d < 0 || d >= shape->ndim || (seen >> d & 1) != 0) return false;
        seen |= UINT32_C(1) << d;
    }
    return true;
}

static tg_status array_shape(tg_xla_shape *out, const tg_order *o, int64_t shape) {
    size_t count = 0;
    if (shape == TG_HLO_NONE) return tg_lower_fail(o, "it has no shape");
    const tg_status s = tg_hlo_shape(out, 1, &count, o->l->module, shape, o->l->err);
    if (s == TG_OK && (count != 1 || out->kind != TG_XLA_ARRAY)) return tg_lower_fail(o, "it is no array");
    if (s == TG_OK && !tg_lower_is_layout(out)) return tg_lower_fail(o, "its layout does not list its dimensions");
    return s;
}

/* As many bits, packed or each element in bytes of its own. */
static bool same_bits(const tg_xla_shape *a, const tg_xla_shape *b) {
    const int64_t x = product(a->dims, 0, a->ndim), y = product(b->dims, 0, b->ndim);
    const int32_t packed[] = {tg_dtype_bits(a->dtype), tg_dtype_bits(b->dtype)};
    const int32_t apart[] = {tg_dtype_storage_bits(a->dtype), tg_dtype_storage_bits(b->dtype)};
    int64_t       p, q;
    for (int i = 0; i < 4; i++) {
        const bool fits = tg_mul(&p, x, (i & 1) != 0 ? packed[0] : apart[0]);
        if (fits && tg_mul(&q, y, (i & 2) != 0 ? packed[1] : apart[1]) && p == q) return true;
    }
    return false;
}

/* A bitcast keeps bytes where they are: a reshape between the two shapes in the order in which memory has them. */
tg_status tg_lower_bitcast(tg_order *o) {
    const tg_hlo_operand operand = tg_hlo_get_operand(o->l->module, o->at.first_operand);
    int64_t              order[TG_MAX_NDIM], shape[TG_MAX_NDIM], back[TG_MAX_NDIM];
    tg_xla_shape         from, to;
    tg_node_view              view;
    tg_status            s = tg_lower_view(&view, o, 0);
    if (s == TG_OK) s = array_shape(&to, o, o->at.shape);
    int64_t id = operand.shape;
    if (id == TG_HLO_NONE) id = tg_hlo_get_instruction(o->l->module, operand.instruction).shape;
    if (s == TG_OK) s = array_shape(&from, o, id);
    if (s != TG_OK) return s;
    if (from.dtype != to.dtype && !same_bits(&from, &to)) return tg_lower_fail(o, "it changes the number of bytes");
    if (from.dtype != to.dtype || from.ndim != view.ndim) return tg_lower_boundary(o);
    memory_order(order, &from);
    view = permuted(&view, order);
    memory_order(order, &to);
    for (int32_t i = 0; i < to.ndim; i++) {
        shape[i] = to.dims[order[i]];
        back[order[i]] = i;
    }
    s = reshape_to(&view, o, to.ndim, shape);
    if (s == TG_OK) view = permuted(&view, back);
    return s == TG_OK ? tg_lower_put_view(o, &view) : s;
}

/* ---- broadcast, slice, nothing at all ---------------------------------------------------------- */

tg_status tg_lower_broadcast(tg_order *o) {
    int64_t   to[TG_MAX_NDIM];
    int32_t   count = 0;
    tg_node_view   view, out;
    tg_status s = tg_lower_view(&view, o, 0);
    if (s == TG_OK) s = tg_lower_shape(&out, o);
    if (s == TG_OK) s = tg_lower_ints(to, &count, o, "dimensions");
    if (s != TG_OK) return s;
    if (count != view.ndim) return tg_lower_fail(o, "it has another number of dimensions than its operand");
    memset(out.step, 0, sizeof out.step);
    for (int32_t d = 0; d < view.ndim; d++) {
        if (to[d] < 0 || to[d] >= out.ndim || tg_lower_lists(to, d, to[d]) ||
            (view.shape[d] != out.shape[to[d]] && view.shape[d] != 1))
            return tg_lower_fail(o, "its dimensions do not fit those of its operand");
        if (view.shape[d] == out.shape[to[d]]) out.step[to[d]] = view.step[d];
    }
    out.node = view.node;
    out.dtype = view.dtype;
    out.offset = view.offset;
    return tg_lower_put_view(o, &out);
}

tg_status tg_lower_slice(tg_order *o) {
    tg_hlo_slice slices[TG_MAX_NDIM];
    tg_hlo_text  value;
    size_t       count = 0;
    tg_node_view      view;
    tg_status    s = tg_lower_view(&view, o, 0);
    if (s != TG_OK) return s;
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, "slice"))
        return tg_lower_fail(o, "it does not say what of");
    s = tg_hlo_read_slices(slices, TG_MAX_NDIM, &count, value, o->l->err);
    if (s != TG_OK) return s;
    if (count != (size_t)view.ndim) return tg_lower_fail(o, "it has another number of dimensions than its operand");
    for (int32_t d = 0; d < view.ndim; d++) {
        const tg_hlo_slice *c = &slices[d];
        if (c->start < 0 || c->limit < c->start || c->limit > view.shape[d] || c->stride < 1)
            return tg_lower_fail(o, "it reaches beyond its operand");
        view.offset += c->start * view.step[d];
        view.shape[d] = tg_ceil_div(c->limit - c->start, c->stride);
        if (view.shape[d] > 1) view.step[d] *= c->stride; /* fits: it stays within the operand */
    }
    /* a single element out of the middle of a stick: nothing could agree with it */
    if (product(view.shape, 0, view.ndim) == 1 && view.offset != 0) s = tg_draft_copy(&view, o, TG_NODE_CLONE);
    if (s != TG_OK) return s;
    return tg_lower_put_view(o, &view);
}

tg_status tg_lower_same(tg_order *o) { return tg_lower_operand(o->out, o, 0); }

/* Where it goes and where it comes from are the same tensor here; what XLA knows of the copy besides is left out. */
tg_status tg_lower_copy_start(tg_order *o) {
    tg_thing  tensor;
    tg_status s = tg_lower_operand(&tensor, o, 0);
    if (s != TG_OK) return s;
    *o->out = (tg_thing){TG_TUPLE, (uint32_t)o->l->things.count, 2};
    const bool put = tg_thing_rows_push(&o->l->things, tensor) && tg_thing_rows_push(&o->l->things, tensor);
    return put ? TG_OK : tg_lower_no_memory(o);
}

tg_status tg_lower_copy_done(tg_order *o) {
    tg_thing        started;
    const tg_status s = tg_lower_operand(&started, o, 0);
    if (s != TG_OK) return s;
    if (started.kind != TG_TUPLE || started.count == 0)
        return tg_lower_fail(o, "its operand is no copy that has begun");
    *o->out = o->l->things.rows[started.first];
    return TG_OK;
}
