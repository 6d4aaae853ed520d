/* Instructions that make a node, but for products. */
#include "graph/lower.h"

#include "base/checked.h"

#include <string.h>


static void identity(int32_t *loop, int32_t n) {
    for (int32_t i = 0; i < n; i++) loop[i] = i;
}

/* Elements in a stick of this type; 1 if it has no place on the device. */
static int64_t stick_of(tg_dtype dtype) {
    const tg_format format = tg_format_for_dtype(dtype);
    const int32_t   bits = format != TG_FORMAT_INVALID ? tg_format_bits(format) : 0;
    return bits > 0 ? 8 * TG_SPYRE_STICK_BYTES / bits : 1;
}

/* ---- element by element --------------------------------------------------------------------- */

tg_status tg_lower_pointwise(tg_order *o) {
    enum { MOST = 3 }; /* that are element by element; more come from opcodes that nobody knows */
    tg_node_view views[MOST], result, view;
    tg_draft     d;
    tg_status    s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_check_pointwise(o, &result);
    for (int64_t k = 0; k < tg_min(o->at.noperands, MOST) && s == TG_OK; k++) s = tg_lower_view(&views[k], o, k);
    if (s == TG_OK && o->at.noperands <= MOST) s = tg_lower_spread(views, o->at.noperands, o, 0, false);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_POINTWISE, &result);
    (void)tg_hlo_find_attribute(&d.node.variant, o->l->module, o->id, "direction"); /* of a compare */
    for (int64_t k = 0; k < o->at.noperands && s == TG_OK; k++) {
        if (k < MOST) view = views[k];
        else s = tg_lower_view(&view, o, k);
        if (s != TG_OK) break;
        tg_draft_choose_format(&d, o, &view);
        if (!tg_draft_same(&d, o, &view)) s = tg_lower_no_memory(o);
    }
    return s == TG_OK ? tg_draft_end(o, &d) : s;
}

tg_status tg_lower_constant(tg_order *o) {
    tg_node_view         result;
    tg_draft        d;
    const tg_status s = tg_lower_shape(&result, o);
    if (s != TG_OK) return s;
    const char *fault = tg_literal_fault(tg_hlo_get_arguments(o->l->module, o->id), &result);
    if (fault != NULL) return tg_lower_fail(o, fault);
    tg_draft_start(&d, o, TG_NODE_CONSTANT, &result);
    if (!tg_constant_rows_push(&o->l->constants, (tg_constant){tg_graph_count(o->l->graph), o->id}))
        return tg_lower_no_memory(o);
    return tg_draft_end(o, &d);
}

tg_status tg_lower_iota(tg_order *o) {
    int64_t      dim[TG_MAX_NDIM];
    int32_t      ndims = 0;
    tg_node_view result;
    tg_draft     d;
    tg_status    s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_ints(dim, &ndims, o, "iota_dimension");
    if (s != TG_OK) return s;
    if (ndims != 1 || dim[0] < 0 || dim[0] >= result.ndim) return tg_lower_fail(o, "it counts along no dimension");
    tg_draft_start(&d, o, TG_NODE_DEFAULT, &result);
    return tg_draft_end(o, &d);
}

/* ---- reduce ------------------------------------------------------------------------------------ */

/* Loops for the dimensions of an operand, those in dims new ones, the others those of the result in turn. */
static bool reduced_loops(int32_t *loop, tg_draft *d, const tg_node_view *view, const int64_t *dims, int32_t ndims) {
    uint32_t reduced = 0;
    int32_t  next = 0;
    for (int32_t i = 0; i < ndims; i++) {
        if (dims[i] < 0 || dims[i] >= view->ndim || (reduced >> dims[i] & 1) != 0) return false;
        reduced |= UINT32_C(1) << dims[i];
    }
    for (int32_t i = 0; i < view->ndim; i++) {
        const bool gone = (reduced >> i & 1) != 0;
        loop[i] = gone ? tg_draft_loop(d, view->shape[i]) : next++;
        if (loop[i] < 0 || (!gone && (loop[i] >= d->node.host.ndim || d->ranges[loop[i]] != view->shape[i])))
            return false;
    }
    return next == d->node.host.ndim;
}

/* What an instruction gives, behind conversions: XLA calculates in another type there. */
static int64_t calculating(const tg_hlo_module *m, int64_t id) {
    for (int depth = 0; depth < TG_HLO_MAX_DEPTH && id != TG_HLO_NONE; depth++) {
        const tg_hlo_instruction at = tg_hlo_get_instruction(m, id);
        if (!tg_hlo_text_is(at.opcode, "convert") || at.noperands == 0) break;
        id = tg_hlo_get_operand(m, at.first_operand).instruction;
    }
    return id;
}

/* Operand k, if it is a parameter of the computation; else TG_HLO_NONE. */
static int64_t parameter_of(const tg_hlo_module *m, const tg_hlo_instruction *at, int64_t k) {
    const int64_t id = calculating(m, tg_hlo_get_operand(m, at->first_operand + k).instruction);
    const bool    is = id != TG_HLO_NONE && tg_hlo_text_is(tg_hlo_get_instruction(m, id).opcode, "parameter");
    return is ? id : TG_HLO_NONE;
}

/* The two parameters have to go together as they are: p + q * q is no sum. */
bool tg_lower_reduction(tg_reduction *out, const tg_order *o) {
    static const char *const opcodes[] = {"add", "maximum", "minimum", "multiply", "and", "or", "xor"};
    const tg_hlo_module     *m = o->l->module;
    const int64_t            callee = tg_lower_callee(o, "to_apply");
    const int64_t            root = callee != TG_HLO_NONE ? tg_hlo_get_computation(m, callee).root : TG_HLO_NONE;
    const int64_t            id = calculating(m, root);
    if (id == TG_HLO_NONE) return false;
    const tg_hlo_instruction at = tg_hlo_get_instruction(m, id);
    if (at.noperands != 2) return false;
    const int64_t p = parameter_of(m, &at, 0), q = parameter_of(m, &at, 1);
    if (p == TG_HLO_NONE || q == TG_HLO_NONE || p == q) return false;
    for (int i = 0; i <= TG_REDUCE_XOR; i++) {
        if (!tg_hlo_text_is(at.opcode, opcodes[i])) continue;
        *out = (tg_reduction)i;
        return true;
    }
    return false;
}

/* Those that no tensor can have are left out. */
static uint32_t bits_of(const int64_t *dims, int32_t n) {
    uint32_t bits = 0;
    for (int32_t i = 0; i < n; i++)
        if (dims[i] >= 0 && dims[i] < TG_MAX_NDIM) bits |= UINT32_C(1) << dims[i];
    return bits;
}

tg_status tg_lower_reduce(tg_order *o) {
    int64_t   dims[TG_MAX_NDIM];
    int32_t   loop[TG_MAX_NDIM], ndims = 0;
    tg_node_view   result, view, left;
    tg_draft  d;
    tg_reduction reduction;
    if (o->at.noperands != 2) return tg_lower_reduce_several(o);
    tg_status s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&view, o, 0);
    if (s == TG_OK) s = tg_lower_ints(dims, &ndims, o, "dimensions");
    if (s == TG_OK) s = tg_lower_check_starts(o);
    if (s == TG_OK) s = tg_lower_expect_type(o, "its result", view.dtype, result.dtype);
    if (s != TG_OK) return s;
    if (!tg_lower_reduced(&left, &view, dims, ndims) || !tg_lower_same_sizes(&left, &result))
        return tg_lower_fail(o, "its dimensions do not fit its result");
    if (!tg_lower_reduction(&reduction, o)) return tg_lower_refuse(o, "it reduces with a computation of its own");
    s = tg_lower_spread(&view, 1, o, reduction == TG_REDUCE_PRODUCT ? bits_of(dims, ndims) : 0, true);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_REDUCE, &result);
    tg_draft_choose_format(&d, o, &view);
    if (!reduced_loops(loop, &d, &view, dims, ndims)) return tg_lower_fail(o, "its dimensions do not fit its result");
    d.node.reduction = reduction;
    if (reduction == TG_REDUCE_PRODUCT) /* the device multiplies across sticks only */
        for (int32_t l = result.ndim; l < d.node.nloops; l++) d.node.no_stick |= UINT32_C(1) << l;
    if (!tg_draft_operand(&d, o, &view, loop)) return tg_lower_no_memory(o);
    s = tg_draft_finish(&result, &d, o);
    if (s == TG_OK) s = tg_lower_put_start(&result, o, reduction, 1);
    return s == TG_OK ? tg_lower_put_view(o, &result) : s;
}

/* ---- pieces ---------------------------------------------------------------------------------------- */

tg_status tg_lower_concatenate(tg_order *o) {
    int64_t   dims[TG_MAX_NDIM], start = 0;
    int32_t   ndims = 0;
    tg_node_view   result, view;
    tg_draft  d;
    tg_status s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_ints(dims, &ndims, o, "dimensions");
    if (s != TG_OK) return s;
    if (ndims != 1 || dims[0] < 0 || dims[0] >= result.ndim) return tg_lower_fail(o, "it does not say along what");
    tg_draft_start(&d, o, TG_NODE_CONCATENATE, &result);
    for (int64_t k = 0; k < o->at.noperands; k++) {
        s = tg_lower_view(&view, o, k);
        if (s != TG_OK) return s;
        if (view.ndim != result.ndim) return tg_lower_fail(o, "a piece has another number of dimensions");
        s = tg_lower_expect_type(o, "a piece", view.dtype, result.dtype);
        if (s != TG_OK) return s;
        tg_draft_choose_format(&d, o, &view);
        if (start % stick_of(result.dtype) != 0) d.node.no_stick |= UINT32_C(1) << dims[0];
        if (!tg_draft_same(&d, o, &view)) return tg_lower_no_memory(o);
        if (!tg_add(&start, start, view.shape[dims[0]])) return tg_lower_fail(o, "it is too large");
        view.shape[dims[0]] = result.shape[dims[0]];
        if (!tg_lower_same_sizes(&view, &result)) return tg_lower_fail(o, "a piece does not fit its result");
    }
    if (start != result.shape[dims[0]]) return tg_lower_fail(o, "its pieces do not make up its result");
    return tg_draft_end(o, &d);
}

/* Whether a dimension of n elements, spread out and with edges, has this extent. */
static bool fits_padded(tg_hlo_padding *p, int64_t n, int64_t extent) {
    int64_t size = 0;
    if (p->interior < 0) return false;
    if (n <= 1) p->interior = 0; /* nothing is between */
    if (n > 0 && (!tg_add(&size, p->interior, 1) || !tg_mul(&size, size, n))) return false;
    if (n > 0) size -= p->interior;
    return tg_add(&size, size, p->low) && tg_add(&size, size, p->high) && size == extent;
}

/* The operand becomes what is left of it, and low where that begins. Negative edges cut what is spread out already:
 *
 *     1 2 3, padding -1_0_1     1 . 2 . 3 without its first place is . 2 . 3: two elements, from 1 on */
static void crop(tg_node_view *view, tg_hlo_padding *p, int32_t d, int64_t extent) {
    const int64_t apart = p->interior + 1, before = p->low < 0 ? -(p->low + 1) / apart + 1 : 0;
    const int64_t first = tg_min(before, view->shape[d]);
    view->offset += first * view->step[d];
    view->shape[d] -= first;
    if (view->shape[d] > 0) p->low += first * apart;
    view->shape[d] = tg_min(view->shape[d], p->low < extent ? (extent - p->low - 1) / apart + 1 : 0);
    if (view->shape[d] == 0) p->low = 0;
    if (view->shape[d] <= 1) p->interior = 0;
}

/* The loops run over the operand; where it begins in the result is the access of the result. */
static tg_status draft_pad(tg_draft *d, const tg_order *o, tg_node_view *view, const tg_node_view *result,
                           tg_hlo_padding *p) {
    tg_term terms[TG_MAX_NDIM];
    int64_t offset = 0;
    tg_draft_start(d, o, TG_NODE_POINTWISE, result);
    for (int32_t i = 0; i < view->ndim; i++) {
        crop(view, &p[i], i, result->shape[i]);
        d->ranges[i] = view->shape[i];
        terms[i] = (tg_term){.loop = i, .step = d->node.host.strides[i] * (p[i].interior + 1)};
        offset += d->node.host.strides[i] * p[i].low;
        if (p[i].interior != 0 || p[i].low % stick_of(result->dtype) != 0) d->node.no_stick |= UINT32_C(1) << i;
    }
    tg_draft_choose_format(d, o, view);
    d->node.result = (tg_access){.offset = offset, .nterms = view->ndim, .terms = terms};
    tg_node_view   out;
    tg_status s = tg_draft_same(d, o, view) ? TG_OK : tg_lower_no_memory(o);
    if (s == TG_OK) s = tg_draft_rest(d, o, 1);
    if (s == TG_OK) s = tg_draft_finish(&out, d, o);
    return s == TG_OK ? tg_lower_put_view(o, &out) : s;
}

tg_status tg_lower_pad(tg_order *o) {
    tg_hlo_padding p[TG_MAX_NDIM];
    tg_hlo_text    value;
    size_t         n = 0;
    tg_node_view        result, view;
    tg_draft       d;
    tg_status      s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&view, o, 0);
    if (s == TG_OK) s = tg_lower_expect_type(o, "its result", view.dtype, result.dtype);
    if (s == TG_OK) s = tg_lower_expect_scalar(o, "what it pads with", 1, view.dtype);
    if (s != TG_OK) return s;
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, "padding")) return tg_lower_fail(o, "it does not say how");
    s = tg_hlo_read_padding(p, TG_MAX_NDIM, &n, value, o->l->err);
    if (s != TG_OK) return s;
    if (n != (size_t)view.ndim || view.ndim != result.ndim)
        return tg_lower_fail(o, "its padding has another number of dimensions than its operand");
    for (int32_t i = 0; i < view.ndim; i++)
        if (!fits_padded(&p[i], view.shape[i], result.shape[i]))
            return tg_lower_fail(o, "its padding does not fit its result");
    return draft_pad(&d, o, &view, &result, p);
}

/* ---- at places that the data says ---------------------------------------------------------------------- */

/* What is said twice: the sizes of a slice, and its starts. */
static tg_status check_slice(const tg_order *o, const tg_node_view *view, const tg_node_view *result) {
    tg_node_view sizes = *view;
    int32_t      nsizes = 0;
    tg_status    s = tg_lower_check_indices(o, 1, view->ndim);
    if (s == TG_OK) s = tg_lower_ints(sizes.shape, &nsizes, o, "dynamic_slice_sizes");
    if (s != TG_OK) return s;
    if (nsizes == 0) memcpy(sizes.shape, result->shape, sizeof sizes.shape); /* the text does not tell */
    else sizes.ndim = nsizes;
    return tg_lower_expect(o, "its result", &sizes, result);
}

/* Devices have equal parts of one dimension. */
static tg_status check_part(const tg_order *o, const tg_node_view *view, const tg_node_view *result) {
    int64_t   dims[TG_MAX_NDIM];
    int32_t   ndims = 0;
    tg_status s = tg_lower_ints(dims, &ndims, o, "dimensions");
    if (s == TG_OK) s = tg_lower_expect_type(o, "its result", view->dtype, result->dtype);
    if (s != TG_OK) return s;
    if (ndims != 1 || dims[0] < 0 || dims[0] >= view->ndim) return tg_lower_fail(o, "it does not say along what");
    for (int32_t i = 0; i < view->ndim && s == TG_OK; i++)
        if (i != dims[0]) s = tg_lower_expect_size(o, i, result->shape[i], view->shape[i]);
    if (s != TG_OK || result->shape[dims[0]] == 0 || view->shape[dims[0]] % result->shape[dims[0]] == 0) return s;
    return tg_lower_fail(o, "its operand is not a whole number of its results");
}

/* A dimension that is cut begins somewhere: besides the loop it has an unknown index. */
static bool add_unknown_starts(tg_draft *d, const tg_order *o, const tg_node_view *view, const tg_node_view *result) {
    tg_access_row *row = &o->l->accesses.rows[o->l->accesses.count - 1];
    (void)d;
    for (int32_t i = 0; i < view->ndim; i++) {
        if (view->shape[i] == result->shape[i] || view->step[i] == 0) continue;
        const tg_term term = {.loop = TG_LOOP_UNKNOWN, .step = view->step[i],
                              .extent = view->shape[i] - result->shape[i] + 1};
        if (!tg_term_rows_push(&o->l->terms, term)) return false;
        row->nterms++;
    }
    return true;
}

tg_status tg_lower_dynamic_slice(tg_order *o) {
    int32_t   loop[TG_MAX_NDIM];
    tg_node_view   result, view, cut;
    tg_draft  d;
    tg_status s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&view, o, 0);
    if (s != TG_OK) return s;
    if (view.ndim != result.ndim) return tg_lower_fail(o, "it has another number of dimensions than its operand");
    for (int32_t i = 0; i < view.ndim; i++)
        if (result.shape[i] > view.shape[i]) return tg_lower_fail(o, "its result is larger than its operand");
    s = tg_hlo_text_is(o->at.opcode, "reduce-scatter") ? check_part(o, &view, &result) : check_slice(o, &view, &result);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_POINTWISE, &result);
    tg_draft_choose_format(&d, o, &view);
    identity(loop, view.ndim);
    cut = view;
    memcpy(cut.shape, result.shape, sizeof cut.shape);
    for (int32_t i = 0; i < view.ndim; i++) /* positions within a stick are not picked */
        if (view.shape[i] != result.shape[i]) d.node.no_stick |= UINT32_C(1) << i;
    if (!tg_draft_operand(&d, o, &cut, loop) || !add_unknown_starts(&d, o, &view, &result))
        return tg_lower_no_memory(o);
    s = tg_draft_rest(&d, o, 1);
    return s == TG_OK ? tg_draft_end(o, &d) : s;
}

tg_status tg_lower_dynamic_update_slice(tg_order *o) {
    tg_node_view   target, update;
    tg_draft  d;
    tg_status s = tg_lower_view(&target, o, 0);
    if (s == TG_OK) s = tg_lower_view(&update, o, 1);
    if (s != TG_OK) return s;
    if (target.ndim != update.ndim) return tg_lower_fail(o, "the update has another number of dimensions");
    for (int32_t i = 0; i < target.ndim; i++)
        if (update.shape[i] > target.shape[i]) return tg_lower_fail(o, "the update is larger than its operand");
    s = tg_lower_expect_type(o, "the update", update.dtype, target.dtype);
    if (s == TG_OK) s = tg_lower_check_indices(o, 2, target.ndim);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_CONCATENATE, &target);
    tg_draft_choose_format(&d, o, &target);
    for (int32_t i = 0; i < target.ndim; i++)
        if (update.shape[i] != target.shape[i]) d.node.no_stick |= UINT32_C(1) << i;
    if (!tg_draft_same(&d, o, &target) || !tg_draft_same(&d, o, &update)) return tg_lower_no_memory(o);
    s = tg_draft_rest(&d, o, 2);
    return s == TG_OK ? tg_draft_end(o, &d) : s;
}
