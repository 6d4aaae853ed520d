/* What looks along dimensions: sorting, the best k, windows, reversal. A dimension that is looked along lies in no
 * sticks, because the device compares sticks and not what is in them; the others are as in an operation element by
 * element.
 *
 *     best 2 of x[32,64] along 64       loops: 32, 2 (of the results), 64 (looked along)
 *     sort x[64,256] along 64           loops: 64 (of the result), 256, 64 (looked along)
 *
 * Source: torch-spyre, topk. */
#include "graph/lower.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

static tg_status put_leaf(tg_thing *out, const tg_order *o, const tg_node_view *view) {
    *out = (tg_thing){TG_ARRAY, (uint32_t)o->l->views.count, 1};
    return tg_rows_push(&o->l->views, *view) ? TG_OK : tg_lower_no_memory(o);
}

static tg_status finish_leaf(tg_thing *out, const tg_order *o, tg_draft *d) {
    tg_node_view         view;
    const tg_status s = tg_draft_finish(&view, d, o);
    return s == TG_OK ? put_leaf(out, o, &view) : s;
}

static uint32_t bit(int64_t d) { return UINT32_C(1) << d; }

/* A core finds 4 of the best k at most; a whole order is found by one. */
static int64_t pinned_slices(int64_t k, int64_t searched) {
    int64_t slices = 1;
    while (k != searched && slices < k && (k % slices != 0 || k / slices > 4)) slices++;
    return k != searched && slices > 0 ? slices : 1;
}

/* ---- along a dimension -------------------------------------------------------------------- */

/* Of n elements along a dimension as many as they are, or the best. */
static tg_status check_search(const tg_order *o, const tg_node_view *result, const tg_node_view *view, int64_t dim,
                              bool best) {
    tg_status s = TG_OK;
    for (int32_t i = 0; i < view->ndim && s == TG_OK; i++)
        if (!best || i != dim) s = tg_lower_expect_size(o, i, result->shape[i], view->shape[i]);
    if (s == TG_OK && result->shape[dim] > view->shape[dim]) s = tg_lower_fail(o, "it finds more than there is");
    return s;
}

/* Results of which dimension `dim` has been looked along in every operand. */
static tg_status draft_search(tg_thing *out, const tg_order *o, const tg_xla_shape *shape, int64_t dim,
                              int64_t noperands, bool best) {
    int32_t   loop[TG_MAX_NDIM];
    tg_node_view   result, view;
    tg_draft  d;
    tg_status s = tg_lower_view_of_shape(&result, o, shape);
    if (s != TG_OK) return s;
    if (dim < 0 || dim >= result.ndim) return tg_lower_fail(o, "it does not say along what");
    tg_draft_start(&d, o, TG_NODE_SEARCH, &result);
    for (int32_t i = 0; i < result.ndim; i++) loop[i] = i;
    for (int64_t k = 0; k < noperands && s == TG_OK; k++) {
        s = tg_lower_view(&view, o, k);
        if (s != TG_OK) return s;
        if (view.ndim != result.ndim) return tg_lower_fail(o, "an operand has another number of dimensions");
        s = check_search(o, &result, &view, dim, best);
        if (s != TG_OK) return s;
        if (k == 0) loop[dim] = tg_draft_loop(&d, view.shape[dim]);
        if (loop[dim] < 0) return tg_lower_fail(o, "it has too many loops");
        tg_draft_choose_format(&d, o, &view);
        if (!tg_draft_operand(&d, o, &view, loop)) return tg_lower_no_memory(o);
    }
    d.node.no_stick = bit(dim) | bit(loop[dim]);
    d.node.no_split = bit(loop[dim]);
    const tg_split pin = {(int32_t)dim, pinned_slices(result.shape[dim], d.ranges[loop[dim]])};
    d.node.npins = 1;
    d.node.pins = &pin;
    return finish_leaf(out, o, &d);
}

static tg_status sort_leaf(tg_thing *out, const tg_order *o, const tg_xla_shape *shape, bool alone) {
    int64_t         dims[TG_MAX_NDIM];
    int32_t         ndims = 0;
    const tg_status s = tg_lower_ints(dims, &ndims, o, "dimensions");
    (void)alone;
    if (s != TG_OK) return s;
    return draft_search(out, o, shape, ndims == 1 ? dims[0] : -1, o->at.noperands, false);
}

tg_status tg_lower_sort(tg_order *o) {
    const tg_status s = tg_lower_result(o, sort_leaf);
    return s == TG_OK ? tg_lower_check_results(o, o->at.noperands) : s;
}

static tg_status topk_leaf(tg_thing *out, const tg_order *o, const tg_xla_shape *shape, bool alone) {
    (void)alone;
    return draft_search(out, o, shape, shape->ndim - 1, 1, true);
}

/* The best, and where they were. */
static tg_status check_best(const tg_order *o) {
    tg_node_view view;
    tg_status    s = tg_lower_view(&view, o, 0);
    if (s != TG_OK) return s;
    const bool      pair = o->out->kind == TG_TUPLE && o->out->count == 2;
    const tg_thing *parts = pair ? o->l->things.rows + o->out->first : NULL;
    if (!pair || parts[0].kind != TG_ARRAY || parts[1].kind != TG_ARRAY)
        return tg_lower_fail(o, "its result is not a pair of arrays");
    s = tg_lower_expect_type(o, "what it finds", view.dtype, o->l->views.rows[parts[0].first].dtype);
    if (s != TG_OK || tg_lower_is_whole(o->l->views.rows[parts[1].first].dtype)) return s;
    return tg_lower_fail(o, "where it finds that is no whole number");
}

tg_status tg_lower_topk(tg_order *o) {
    if (o->at.noperands < 1) return tg_lower_fail(o, "it has no operand");
    const tg_status s = tg_lower_result(o, topk_leaf);
    return s == TG_OK ? check_best(o) : s;
}

/* Operands with a start each give as many results. */
static tg_status reduce_together(tg_order *o, tg_make_leaf *leaf) {
    if (o->at.noperands < 2 || o->at.noperands % 2 != 0) return tg_lower_fail(o, "it has operands without a start");
    tg_status s = tg_lower_check_starts(o);
    if (s == TG_OK) s = tg_lower_result(o, leaf);
    return s == TG_OK ? tg_lower_check_results(o, o->at.noperands / 2) : s;
}

/* Several values are put together at once, as the largest and its place are. */
static tg_status reduce_leaf(tg_thing *out, const tg_order *o, const tg_xla_shape *shape, bool alone) {
    int64_t   dims[TG_MAX_NDIM];
    int32_t   loop[TG_MAX_NDIM], ndims = 0, next = 0;
    tg_node_view   result, view;
    tg_draft  d;
    tg_status s = tg_lower_view_of_shape(&result, o, shape);
    (void)alone;
    if (s == TG_OK) s = tg_lower_ints(dims, &ndims, o, "dimensions");
    if (s == TG_OK) s = tg_lower_view(&view, o, 0);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_SEARCH, &result);
    for (int32_t i = 0; i < view.ndim; i++) {
        bool reduced = false;
        for (int32_t k = 0; k < ndims; k++) {
            if (dims[k] == i && reduced) return tg_lower_fail(o, "it lists a dimension twice");
            if (dims[k] < 0 || dims[k] >= view.ndim) return tg_lower_fail(o, "it lists a dimension that is not there");
            reduced = reduced || dims[k] == i;
        }
        loop[i] = reduced ? tg_draft_loop(&d, view.shape[i]) : next++;
        if (loop[i] < 0) return tg_lower_fail(o, "it has too many loops");
        if (!reduced && (loop[i] >= result.ndim || result.shape[loop[i]] != view.shape[i]))
            return tg_lower_fail(o, "its dimensions do not fit its result");
        if (reduced) d.node.no_stick |= bit(loop[i]);
    }
    if (next != result.ndim) return tg_lower_fail(o, "its dimensions do not fit its result");
    d.node.no_split = d.node.no_stick;
    for (int64_t k = 0; k < o->at.noperands / 2; k++) {
        s = tg_lower_view(&view, o, k);
        if (s != TG_OK) return s;
        tg_draft_choose_format(&d, o, &view);
        if (!tg_draft_operand(&d, o, &view, loop)) return tg_lower_no_memory(o);
    }
    s = tg_draft_rest(&d, o, o->at.noperands / 2);
    return s == TG_OK ? finish_leaf(out, o, &d) : s;
}

tg_status tg_lower_reduce_several(tg_order *o) {
    return reduce_together(o, reduce_leaf);
}

/* ---- windows -------------------------------------------------------------------------------- */

/* Loops of an operand under windows: dimensions that a window moves along are read at places that are not loops. full:
 * no window has places without an element. */
static tg_status window_loops(int32_t *loop, uint32_t *moved, bool *full, tg_hlo_window_dim *window,
                              const tg_order *o, const tg_node_view *result, const tg_node_view *view) {
    tg_hlo_text       value;
    size_t            n = 0;
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, "window"))
        return tg_lower_fail(o, "it does not say what window it has");
    const tg_status s = tg_hlo_read_window(window, TG_MAX_NDIM, &n, value, o->l->err);
    if (s != TG_OK) return s;
    if (n != (size_t)view->ndim || result->ndim != view->ndim)
        return tg_lower_fail(o, "its window does not fit its shape");
    *moved = 0;
    *full = true;
    for (int32_t i = 0; i < view->ndim; i++) {
        if (window[i].size < 0 || window[i].stride < 1 || window[i].lhs_dilate < 1 || window[i].rhs_dilate < 1)
            return tg_lower_fail(o, "its window does not fit its shape");
        const bool plain = window[i].size == 1 && window[i].low == 0 && window[i].stride == window[i].lhs_dilate &&
                           result->shape[i] == view->shape[i];
        loop[i] = plain ? i : TG_LOOP_UNKNOWN;
        if (!plain) *moved |= bit(i);
        *full = *full && window[i].low <= 0 && window[i].high <= 0 && window[i].lhs_dilate == 1;
    }
    return TG_OK;
}

/* There is one result for each place of the window. */
static tg_status check_windows(const tg_order *o, const tg_hlo_window_dim *window, const tg_node_view *places,
                               const tg_node_view *view) {
    tg_status s = TG_OK;
    for (int32_t i = 0; i < view->ndim && s == TG_OK; i++) {
        int64_t n = 0;
        if (!tg_lower_count_windows(&n, view->shape[i], &window[i]))
            return tg_lower_fail(o, "its window does not fit its shape");
        if (places->shape[i] != n)
            s = tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: its window has %d places along dimension %d, not %d",
                        o->at.opcode.chars, o->at.opcode.len, o->at.name.chars, o->at.name.len, n, (int64_t)i,
                        places->shape[i]);
    }
    return s;
}

/* Places without an element count as what the reduction starts with, each of them: for a sum that is not the same as
 * once behind it. */
static tg_status start_windows(tg_thing *out, const tg_order *o, tg_draft *d, bool full) {
    tg_reduction reduction = TG_REDUCE_SUM;
    tg_node_view view;
    const bool   known = o->at.noperands == 2 && tg_lower_reduction(&reduction, o);
    const bool   once = full || reduction == TG_REDUCE_MAX || reduction == TG_REDUCE_MIN ||
                        reduction == TG_REDUCE_AND || reduction == TG_REDUCE_OR;
    const bool   apart = known && (once || tg_lower_is_neutral(o, reduction, 1));
    tg_status    s = apart ? TG_OK : tg_draft_rest(d, o, o->at.noperands / 2);
    if (s == TG_OK) s = tg_draft_finish(&view, d, o);
    if (s == TG_OK && apart) s = tg_lower_put_start(&view, o, reduction, 1);
    return s == TG_OK ? put_leaf(out, o, &view) : s;
}

/* What several arrays are reduced to together is not calculated here, and needs no windows. */
static tg_status windows_leaf(tg_thing *out, const tg_order *o, const tg_xla_shape *shape, bool alone) {
    tg_hlo_window_dim window[TG_MAX_NDIM];
    int32_t   loop[TG_MAX_NDIM];
    uint32_t  moved = 0;
    bool      full = true;
    tg_node_view   result, view;
    tg_draft  d;
    tg_status s = tg_lower_view_of_shape(&result, o, shape);
    (void)alone;
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_POINTWISE, &result);
    for (int64_t k = 0; k < o->at.noperands / 2; k++) {
        s = tg_lower_view(&view, o, k);
        if (s == TG_OK) s = window_loops(loop, &moved, &full, window, o, &result, &view);
        if (s == TG_OK) s = check_windows(o, window, &result, &view);
        if (s != TG_OK) return s;
        d.node.no_stick |= moved;
        for (int32_t i = 0; i < view.ndim && o->at.noperands == 2; i++)
            if ((moved >> i & 1) != 0) (void)tg_draft_window(&d, &window[i], i, &view, i);
        tg_draft_choose_format(&d, o, &view);
        if (!tg_draft_operand(&d, o, &view, loop)) return tg_lower_no_memory(o);
    }
    return start_windows(out, o, &d, full);
}

tg_status tg_lower_reduce_windows(tg_order *o) {
    return reduce_together(o, windows_leaf);
}

/* The operand has the shape of the result; of what is scattered there is one element for each window. */
tg_status tg_lower_select_and_scatter(tg_order *o) {
    tg_hlo_window_dim window[TG_MAX_NDIM];
    int32_t   loop[TG_MAX_NDIM];
    uint32_t  moved = 0;
    bool      full = true;
    tg_node_view   result, view;
    tg_draft  d;
    tg_status s = tg_lower_shape(&result, o);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_POINTWISE, &result);
    for (int64_t k = 0; k < 2; k++) {
        s = tg_lower_view(&view, o, k);
        if (s == TG_OK) s = window_loops(loop, &moved, &full, window, o, &result, &view);
        if (s == TG_OK && k == 0) s = tg_lower_expect(o, "its result", &view, &result);
        if (s == TG_OK && k == 1) s = check_windows(o, window, &view, &result);
        if (s == TG_OK && k == 1) s = tg_lower_expect_type(o, "what it scatters", view.dtype, result.dtype);
        if (s != TG_OK) return s;
        d.node.no_stick |= moved;
        if (!tg_draft_operand(&d, o, &view, loop)) return tg_lower_no_memory(o);
    }
    s = tg_lower_expect_scalar(o, "what it starts with", 2, result.dtype);
    if (s == TG_OK) s = tg_draft_rest(&d, o, 2);
    return s == TG_OK ? tg_draft_end(o, &d) : s;
}

/* An access cannot run backwards, but sticks can be taken one by one in any order. */
tg_status tg_lower_reverse(tg_order *o) {
    int64_t   dims[TG_MAX_NDIM];
    int32_t   loop[TG_MAX_NDIM], ndims = 0;
    tg_node_view   view;
    tg_draft  d;
    tg_status s = tg_lower_view(&view, o, 0);
    if (s == TG_OK) s = tg_lower_ints(dims, &ndims, o, "dimensions");
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_POINTWISE, &view);
    tg_draft_choose_format(&d, o, &view);
    for (int32_t i = 0; i < view.ndim; i++) loop[i] = i;
    for (int32_t i = 0; i < ndims; i++) {
        if (dims[i] < 0 || dims[i] >= view.ndim) return tg_lower_fail(o, "it reverses a dimension that is not there");
        if (tg_lower_lists(dims, i, dims[i])) return tg_lower_fail(o, "it reverses a dimension twice");
        if (view.shape[dims[i]] == 1) continue;
        loop[dims[i]] = TG_LOOP_UNKNOWN;
        d.node.no_stick |= bit(dims[i]);
        (void)tg_draft_window(&d, &(tg_hlo_window_dim){.size = 1, .stride = -1, .low = 1 - view.shape[dims[i]],
                                                       .lhs_dilate = 1, .rhs_dilate = 1},
                              (int32_t)dims[i], &view, (int32_t)dims[i]);
    }
    return tg_draft_operand(&d, o, &view, loop) ? tg_draft_end(o, &d) : tg_lower_no_memory(o);
}
