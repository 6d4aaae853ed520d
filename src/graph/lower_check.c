/* Whether a text is true: the shape of an instruction is what follows from its operands, as XLA's shape inference and
 * its verifier have it. A shape that is not would make kernels and transfers of a wrong size.
 *
 * What an instruction gives is compared with its shape in one place, whatever the rule. Rules that make a node of the
 * shape that the text says compare its operands with it before. */
#include "graph/lower.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- arrays ------------------------------------------------------------------------------- */

bool tg_lower_same_sizes(const tg_node_view *a, const tg_node_view *b) {
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

bool tg_lower_alike(tg_dtype a, tg_dtype b) {
    return a == b || (tg_dtype_get_class(a) == TG_CLASS_FLOAT && tg_dtype_get_class(b) == TG_CLASS_FLOAT);
}

bool tg_lower_is_whole(tg_dtype dtype) {
    const tg_dtype_class c = tg_dtype_get_class(dtype);
    return c == TG_CLASS_INT || c == TG_CLASS_UINT;
}

tg_status tg_lower_expect(const tg_order *o, const char *what, const tg_node_view *is, const tg_node_view *wanted) {
    if (is->dtype == wanted->dtype && tg_lower_same_sizes(is, wanted)) return TG_OK;
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: %s is %s%v, not %s%v", o->at.opcode.chars, o->at.opcode.len,
                   o->at.name.chars, o->at.name.len, what, tg_dtype_name(is->dtype), is->shape, is->ndim,
                   tg_dtype_name(wanted->dtype), wanted->shape, wanted->ndim);
}

tg_status tg_lower_expect_type(const tg_order *o, const char *what, tg_dtype is, tg_dtype wanted) {
    if (tg_lower_alike(is, wanted)) return TG_OK;
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: %s is of type %s, not %s", o->at.opcode.chars,
                   o->at.opcode.len, o->at.name.chars, o->at.name.len, what, tg_dtype_name(is), tg_dtype_name(wanted));
}

tg_status tg_lower_expect_size(const tg_order *o, int32_t dim, int64_t said, int64_t is) {
    if (said == is) return TG_OK;
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: dimension %d of its result has size %d, not %d",
                   o->at.opcode.chars, o->at.opcode.len, o->at.name.chars, o->at.name.len, (int64_t)dim, is, said);
}

tg_status tg_lower_expect_scalar(const tg_order *o, const char *what, int64_t k, tg_dtype dtype) {
    tg_node_view view;
    tg_status    s = tg_lower_view(&view, o, k);
    if (s == TG_OK) s = tg_lower_expect_type(o, what, view.dtype, dtype);
    if (s != TG_OK || view.ndim == 0) return s;
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: %s is %s%v, and no scalar", o->at.opcode.chars,
                   o->at.opcode.len, o->at.name.chars, o->at.name.len, what, tg_dtype_name(view.dtype), view.shape,
                   view.ndim);
}

/* ---- trees ---------------------------------------------------------------------------------- */

static const char *kind_of(const tg_thing *thing) {
    return thing->kind == TG_ARRAY ? "an array" : thing->kind == TG_TUPLE ? "a tuple" : "no array";
}

/* A copy that has begun has its context besides; nothing is known of that. */
static bool has_count(const tg_order *o, const tg_thing *tuple, int32_t count) {
    if ((int64_t)tuple->count == count) return true;
    return (int64_t)tuple->count < count && tg_hlo_text_is(o->at.opcode, "copy-start");
}

static tg_status expect_kind(const tg_order *o, const char *what, const tg_thing *thing, tg_xla_kind kind) {
    const tg_thing_kind wanted = kind == TG_XLA_ARRAY ? TG_ARRAY : kind == TG_XLA_TUPLE ? TG_TUPLE : TG_NOTHING;
    const tg_thing      as = {wanted, 0, 0};
    if (thing->kind == wanted) return TG_OK;
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: %s is %s, and its shape says %s", o->at.opcode.chars,
                   o->at.opcode.len, o->at.name.chars, o->at.name.len, what, kind_of(thing), kind_of(&as));
}

static tg_status expect_count(const tg_order *o, const char *what, const tg_thing *thing, const tg_xla_shape *shape) {
    if (thing->kind != TG_TUPLE || has_count(o, thing, shape->nchildren)) return TG_OK;
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: %s is a tuple of %d, and its shape says one of %d",
                   o->at.opcode.chars, o->at.opcode.len, o->at.name.chars, o->at.name.len, what,
                   (int64_t)thing->count, (int64_t)shape->nchildren);
}

static void skip_shape(const tg_xla_shape *nodes, size_t *at) {
    int64_t open = 1; /* nodes that are still to be passed */
    for (; open > 0; (*at)++) open += nodes[*at].nchildren - 1;
}

/* *at moves over the nodes of this shape, which are not nested deeper than the reader allows. */
static tg_status expect_tree(const tg_order *o, const char *what, const tg_thing *thing, const tg_xla_shape *nodes,
                             size_t *at) {
    const tg_xla_shape *shape = &nodes[*at];
    tg_node_view        wanted;
    int32_t             i = 0;
    tg_status           s = expect_kind(o, what, thing, shape->kind);
    (*at)++;
    if (s == TG_OK) s = expect_count(o, what, thing, shape);
    if (s == TG_OK && shape->kind == TG_XLA_ARRAY) {
        wanted = (tg_node_view){.dtype = shape->dtype, .ndim = shape->ndim};
        memcpy(wanted.shape, shape->dims, sizeof wanted.shape);
        s = tg_lower_expect(o, what, &o->l->views.rows[thing->first], &wanted);
    }
    for (; thing->kind == TG_TUPLE && i < (int64_t)thing->count && s == TG_OK; i++)
        s = expect_tree(o, what, &o->l->things.rows[thing->first + (uint32_t)i], nodes, at);
    for (; i < shape->nchildren && s == TG_OK; i++) skip_shape(nodes, at);
    return s;
}

/* The thing has the shape of this number, layouts aside. */
static tg_status expect_shape(const tg_order *o, const char *what, const tg_thing *thing, int64_t shape) {
    const tg_hlo_shape_info info = tg_hlo_get_shape(o->l->module, shape);
    size_t                  count = 0, at = 0;
    tg_node_view            wanted;
    tg_status               s = expect_kind(o, what, thing, info.kind);
    if (s != TG_OK) return s;
    if (info.kind == TG_XLA_ARRAY) {
        s = tg_lower_sizes(&wanted, o, shape);
        return s == TG_OK ? tg_lower_expect(o, what, &o->l->views.rows[thing->first], &wanted) : s;
    }
    tg_xla_shape *nodes = malloc(((size_t)info.nnodes + 1) * sizeof *nodes);
    if (nodes == NULL) return tg_lower_no_memory(o);
    s = tg_hlo_shape(nodes, (size_t)info.nnodes, &count, o->l->module, shape, o->l->err);
    if (s == TG_OK) s = expect_tree(o, what, thing, nodes, &at);
    free(nodes);
    return s;
}

tg_status tg_lower_check_result(const tg_order *o) {
    const bool given = tg_hlo_text_is(o->at.opcode, "parameter");
    if (o->at.shape == TG_HLO_NONE) return TG_OK;
    return expect_shape(o, given ? "its argument" : "its result", o->out, o->at.shape);
}

tg_status tg_lower_check_operands(const tg_order *o) {
    tg_status s = TG_OK;
    for (int64_t k = 0; k < o->at.noperands && s == TG_OK; k++) {
        const tg_hlo_operand operand = tg_hlo_get_operand(o->l->module, o->at.first_operand + k);
        tg_thing             thing;
        if (operand.shape == TG_HLO_NONE || operand.instruction == TG_HLO_NONE) continue;
        if (tg_hlo_get_instruction(o->l->module, operand.instruction).shape == operand.shape && operand.path.len == 0)
            continue;
        s = tg_lower_operand(&thing, o, k);
        if (s == TG_OK) s = expect_shape(o, "one of its operands", &thing, operand.shape);
    }
    return s;
}

/* ---- arguments ------------------------------------------------------------------------------- */

tg_status tg_lower_check_call(const tg_order *o, int64_t computation, size_t nargs) {
    const tg_hlo_computation c = tg_hlo_get_computation(o->l->module, computation);
    int64_t                  n = 0;
    for (int64_t i = c.first_instruction; i < c.first_instruction + c.ninstructions; i++)
        n += tg_hlo_text_is(tg_hlo_get_instruction(o->l->module, i).opcode, "parameter");
    if (n == (int64_t)nargs) return TG_OK;
    return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: computation %t takes %d argument%s, and is given %d",
                   o->at.opcode.chars, o->at.opcode.len, o->at.name.chars, o->at.name.len, c.name.chars, c.name.len, n,
                   n == 1 ? "" : "s", (int64_t)nargs);
}

tg_status tg_lower_check_indices(const tg_order *o, int64_t k, int32_t ndim) {
    const int64_t n = o->at.noperands - k;
    tg_node_view  view;
    bool          fits = true;
    for (int64_t i = 0; i < n; i++) {
        const tg_status s = tg_lower_view(&view, o, k + i);
        if (s != TG_OK) return s;
        if (!tg_lower_is_whole(view.dtype)) return tg_lower_fail(o, "where it begins is no whole number");
        fits = fits && view.ndim == 0;
    }
    fits = (fits && n == ndim) || (n == 1 && view.ndim == 1 && view.shape[0] == ndim); /* the latter in old texts */
    return fits ? TG_OK : tg_lower_fail(o, "it does not say for each dimension where it begins");
}

/* ---- reductions ---------------------------------------------------------------------------------- */

bool tg_lower_reduced(tg_node_view *out, const tg_node_view *view, const int64_t *dims, int32_t ndims) {
    *out = (tg_node_view){.dtype = view->dtype};
    for (int32_t i = 0; i < ndims; i++)
        if (dims[i] < 0 || dims[i] >= view->ndim || tg_lower_lists(dims, i, dims[i])) return false;
    for (int32_t d = 0; d < view->ndim; d++)
        if (!tg_lower_lists(dims, ndims, d)) out->shape[out->ndim++] = view->shape[d];
    return true;
}

tg_status tg_lower_check_starts(const tg_order *o) {
    const int64_t n = o->at.noperands / 2;
    tg_node_view  first, view;
    tg_status     s = tg_lower_view(&first, o, 0);
    for (int64_t k = 0; k < n && s == TG_OK; k++) {
        s = tg_lower_view(&view, o, k);
        if (s == TG_OK && !tg_lower_same_sizes(&view, &first))
            return tg_lower_fail(o, "its operands have different shapes");
        if (s == TG_OK) s = tg_lower_expect_scalar(o, "what it starts with", n + k, view.dtype);
    }
    return s;
}

tg_status tg_lower_check_results(const tg_order *o, int64_t n) {
    const tg_thing *out = o->out;
    tg_status       s = TG_OK;
    if (out->kind != (n == 1 ? TG_ARRAY : TG_TUPLE) || out->count != n)
        return tg_lower_fail(o, "it does not have one result for each operand");
    const tg_thing *parts = n == 1 ? out : o->l->things.rows + out->first;
    for (int64_t k = 0; k < n && s == TG_OK; k++) {
        tg_node_view view;
        s = tg_lower_view(&view, o, k);
        if (s == TG_OK && parts[k].kind != TG_ARRAY) s = tg_lower_fail(o, "one of its results is no array");
        if (s == TG_OK) s = tg_lower_expect_type(o, "a result", view.dtype, o->l->views.rows[parts[k].first].dtype);
    }
    return s;
}

/* ---- element by element ------------------------------------------------------------------------ */

/* Operands from this one on have the type of each other, and of the result; -1 of an operation that takes what comes.
 */
static int64_t first_alike(tg_hlo_text opcode) {
    if (tg_hlo_text_is(opcode, "convert") || tg_hlo_text_is(opcode, "map")) return -1;
    return tg_hlo_text_is(opcode, "select") ? 1 : 0;
}

/* The type of the result, from that of the operands. */
static tg_dtype type_of_result(const tg_order *o, tg_dtype dtype) {
    if (tg_hlo_text_is(o->at.opcode, "compare") || tg_hlo_text_is(o->at.opcode, "is-finite")) return TG_PRED;
    if (tg_hlo_text_is(o->at.opcode, "abs") && dtype == TG_C64) return TG_F32;
    if (tg_hlo_text_is(o->at.opcode, "abs") && dtype == TG_C128) return TG_F64;
    return dtype;
}

static tg_status check_types(const tg_order *o, const tg_node_view *result) {
    const int64_t from = first_alike(o->at.opcode);
    tg_node_view  first, view;
    tg_status     s = TG_OK;
    if (from == 1 && (s = tg_lower_view(&view, o, 0)) == TG_OK && view.dtype != TG_PRED)
        return tg_lower_fail(o, "what it selects by is not of type pred");
    if (from < 0 || from >= o->at.noperands || s != TG_OK) return s;
    s = tg_lower_view(&first, o, from);
    for (int64_t k = from + 1; k < o->at.noperands && s == TG_OK; k++) {
        s = tg_lower_view(&view, o, k);
        if (s == TG_OK && !tg_lower_alike(view.dtype, first.dtype))
            return tg_lower_fail(o, "its operands have different types");
    }
    return s == TG_OK ? tg_lower_expect_type(o, "its result", type_of_result(o, first.dtype), result->dtype) : s;
}

/* What is applied to each element makes a scalar of the result's type. */
static tg_status check_map(const tg_order *o, const tg_node_view *result) {
    const int64_t callee = tg_lower_callee(o, "to_apply");
    if (callee == TG_HLO_NONE) return tg_lower_fail(o, "it does not name one computation");
    const int64_t root = tg_hlo_get_computation(o->l->module, callee).root;
    tg_status     s = tg_lower_check_call(o, callee, (size_t)o->at.noperands);
    if (s != TG_OK || root == TG_HLO_NONE) return s;
    const int64_t shape = tg_hlo_get_instruction(o->l->module, root).shape;
    if (shape == TG_HLO_NONE) return TG_OK;
    const tg_hlo_shape_info made = tg_hlo_get_shape(o->l->module, shape);
    if (made.kind != TG_XLA_ARRAY || made.ndim != 0) return tg_lower_fail(o, "what it applies makes no scalar");
    return tg_lower_expect_type(o, "its result", made.dtype, result->dtype);
}

/* A scalar goes together with what is larger; what is calculated, or chosen from, is not all scalars. */
static bool may_be_scalar(const tg_order *o, int64_t k) {
    if (tg_hlo_text_is(o->at.opcode, "clamp")) return k != 1;
    if (tg_hlo_text_is(o->at.opcode, "select")) return k == 0;
    return o->at.noperands == 2 && !tg_hlo_text_is(o->at.opcode, "map");
}

static tg_status check_sizes(const tg_order *o, const tg_node_view *result) {
    bool         any = o->at.noperands == 0;
    tg_node_view view;
    for (int64_t k = 0; k < o->at.noperands; k++) {
        const tg_status s = tg_lower_view(&view, o, k);
        if (s != TG_OK) return s;
        const bool same = tg_lower_same_sizes(&view, result);
        any = any || same;
        if (!same && (view.ndim != 0 || !may_be_scalar(o, k)))
            return tg_lower_fail(o, "one of its operands has another shape than its result");
    }
    return any ? TG_OK : tg_lower_fail(o, "all of its operands are scalars, and its result is none");
}

tg_status tg_lower_check_pointwise(const tg_order *o, const tg_node_view *result) {
    tg_status s = check_types(o, result);
    if (s == TG_OK && tg_hlo_text_is(o->at.opcode, "map")) s = check_map(o, result);
    return s == TG_OK ? check_sizes(o, result) : s;
}

/* ---- windows ------------------------------------------------------------------------------------- */

/* From the first to the last of so many places, which are that far apart. */
static bool spread_out(int64_t *out, int64_t n, int64_t apart) {
    *out = 0;
    return n == 0 || (tg_mul(out, n - 1, apart) && tg_add(out, *out, 1));
}

bool tg_lower_count_windows(int64_t *out, int64_t extent, const tg_hlo_window_dim *w) {
    int64_t base, width;
    if (w->size < 1 || w->stride < 1 || w->lhs_dilate < 1 || w->rhs_dilate < 1) return false;
    if (!spread_out(&base, extent, w->lhs_dilate) || !spread_out(&width, w->size, w->rhs_dilate)) return false;
    if (!tg_add(&base, base, w->low) || !tg_add(&base, base, w->high)) return false;
    *out = base < width ? 0 : (base - width) / w->stride + 1;
    return true;
}
