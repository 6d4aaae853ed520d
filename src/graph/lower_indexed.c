/* gather and scatter: rows at places that the data says. Rows are moved in whole sticks, so something of them must lie
 * in sticks; what is picked is in the outermost dimensions of the table. */
#include "graph/lower.h"

#include <string.h>

static const char single_elements[] = "it picks single elements, and the device moves whole sticks";

/* ---- places ------------------------------------------------------------------------------------------ */

static bool is_rising(const int64_t *dims, int32_t n, int32_t ndim) {
    for (int32_t i = 0; i < n; i++)
        if (dims[i] < 0 || dims[i] >= ndim || (i > 0 && dims[i] <= dims[i - 1])) return false;
    return true;
}

/* One dimension of the indices lists a place, in the dimensions of the table that `map` lists; without it places are
 * single numbers. The others are those of the slices, but for those within a slice, `window`. */
static tg_status check_places(const tg_order *o, const tg_node_view *indices, const tg_node_view *slices,
                              const int64_t *window, int32_t nwindow, const int64_t *map, int32_t nmap, int32_t ndim) {
    int64_t      vector[TG_MAX_NDIM];
    int32_t      n = 0;
    tg_node_view outside, places;
    tg_status    s = tg_lower_ints(vector, &n, o, "index_vector_dim");
    if (s != TG_OK) return s;
    if (!tg_lower_is_whole(indices->dtype)) return tg_lower_fail(o, "its indices are no whole numbers");
    if (n != 1 || vector[0] < 0 || vector[0] > indices->ndim)
        return tg_lower_fail(o, "it does not say which dimension of its indices is a place");
    n = vector[0] < indices->ndim;
    if (nmap != (n == 1 ? indices->shape[vector[0]] : 1))
        return tg_lower_fail(o, "its indices have not one number for each dimension that they are of");
    for (int32_t i = 0; i < nmap; i++)
        if (map[i] < 0 || map[i] >= ndim || tg_lower_lists(map, i, map[i]))
            return tg_lower_fail(o, "its indices are of a dimension that is not there, or twice of one");
    if (!is_rising(window, nwindow, slices->ndim) || !tg_lower_reduced(&outside, slices, window, nwindow) ||
        !tg_lower_reduced(&places, indices, vector, n) || !tg_lower_same_sizes(&outside, &places))
        return tg_lower_fail(o, "its slices are not as many as its indices");
    return TG_OK;
}

/* ---- gather ------------------------------------------------------------------------------------------ */

typedef struct gather_dims {
    int64_t offset[TG_MAX_NDIM], collapsed[TG_MAX_NDIM], start[TG_MAX_NDIM], batch[TG_MAX_NDIM], sizes[TG_MAX_NDIM];
    int32_t noffset, ncollapsed, nstart, nbatch, nsizes;
} gather_dims;

static tg_status read_gather(gather_dims *g, const tg_order *o) {
    tg_status s = tg_lower_ints(g->offset, &g->noffset, o, "offset_dims");
    if (s == TG_OK) s = tg_lower_ints(g->collapsed, &g->ncollapsed, o, "collapsed_slice_dims");
    if (s == TG_OK) s = tg_lower_ints(g->start, &g->nstart, o, "start_index_map");
    if (s == TG_OK) s = tg_lower_ints(g->batch, &g->nbatch, o, "operand_batching_dims");
    return s == TG_OK ? tg_lower_ints(g->sizes, &g->nsizes, o, "slice_sizes") : s;
}

/* The loops of the table's dimensions: a whole dimension follows the result's, one that is picked has none. False if
 * the attributes do not fit. *whole: some dimension follows the result's, and is one of the tensor, no copies of it;
 * *windows: slices begin within a dimension. */
static bool gather_loops(int32_t *loop, bool *whole, bool *windows, const gather_dims *g, const tg_node_view *table,
                         const tg_node_view *result) {
    int32_t next = 0;
    if (g->nsizes != table->ndim) return false;
    if (!is_rising(g->collapsed, g->ncollapsed, table->ndim) || !is_rising(g->batch, g->nbatch, table->ndim))
        return false;
    for (int32_t d = 0; d < table->ndim; d++) {
        loop[d] = TG_LOOP_UNKNOWN;
        if (g->sizes[d] < 0 || g->sizes[d] > table->shape[d]) return false;
        const bool gone = tg_lower_lists(g->collapsed, g->ncollapsed, d) || tg_lower_lists(g->batch, g->nbatch, d);
        if (gone && g->sizes[d] > 1) return false;
        if (gone) continue;
        if (next >= g->noffset) return false;
        const int64_t to = g->offset[next++];
        if (to < 0 || to >= result->ndim || result->shape[to] != g->sizes[d]) return false;
        const bool all = g->sizes[d] == table->shape[d];
        *windows = *windows || (!all && g->sizes[d] != 1);
        if (all) loop[d] = (int32_t)to;
        *whole = *whole || (all && table->shape[d] > 1 && table->step[d] != 0);
    }
    return next == g->noffset;
}

tg_status tg_lower_gather(tg_order *o) {
    int32_t     loop[TG_MAX_NDIM], none[TG_MAX_NDIM];
    bool        whole = false, windows = false;
    gather_dims dims;
    tg_node_view     result, table, indices;
    tg_draft    d;
    tg_status   s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&table, o, 0);
    if (s == TG_OK) s = tg_lower_view(&indices, o, 1);
    if (s == TG_OK) s = read_gather(&dims, o);
    if (s != TG_OK) return s;
    if (!gather_loops(loop, &whole, &windows, &dims, &table, &result))
        return tg_lower_fail(o, "its dimensions do not fit its result");
    tg_node_view wanted = result;
    s = check_places(o, &indices, &result, dims.offset, dims.noffset, dims.start, dims.nstart, table.ndim);
    wanted.dtype = table.dtype;
    if (s == TG_OK) s = tg_lower_expect(o, "its result", &wanted, &result);
    if (s != TG_OK) return s;
    if (!whole) return tg_lower_refuse(o, single_elements);
    if (windows) return tg_lower_refuse(o, "what it picks begins within a dimension");
    for (int32_t i = 0; i < TG_MAX_NDIM; i++) none[i] = TG_LOOP_NONE;
    tg_draft_start(&d, o, TG_NODE_GATHER, &result);
    if (!tg_draft_operand(&d, o, &table, loop) || !tg_draft_operand(&d, o, &indices, none))
        return tg_lower_no_memory(o);
    return tg_draft_end(o, &d);
}

/* ---- scatter ----------------------------------------------------------------------------------------- */

typedef struct scatter_dims {
    int64_t window[TG_MAX_NDIM], inserted[TG_MAX_NDIM], batch[TG_MAX_NDIM], start[TG_MAX_NDIM];
    int32_t nwindow, ninserted, nbatch, nstart;
} scatter_dims;

static tg_status read_scatter(scatter_dims *g, const tg_order *o) {
    tg_status s = tg_lower_ints(g->window, &g->nwindow, o, "update_window_dims");
    if (s == TG_OK) s = tg_lower_ints(g->inserted, &g->ninserted, o, "inserted_window_dims");
    if (s == TG_OK) s = tg_lower_ints(g->batch, &g->nbatch, o, "input_batching_dims");
    return s == TG_OK ? tg_lower_ints(g->start, &g->nstart, o, "scatter_dims_to_operand_dims") : s;
}

/* Loops are the dimensions of the updates; here those of the table's dimensions. */
static bool scatter_loops(int32_t *loop, bool *whole, bool *windows, const scatter_dims *g, const tg_node_view *table,
                          const tg_node_view *updates) {
    int32_t next = 0;
    if (!is_rising(g->inserted, g->ninserted, table->ndim) || !is_rising(g->batch, g->nbatch, table->ndim))
        return false;
    for (int32_t d = 0; d < table->ndim; d++) {
        loop[d] = TG_LOOP_UNKNOWN;
        if (tg_lower_lists(g->inserted, g->ninserted, d) || tg_lower_lists(g->batch, g->nbatch, d)) continue;
        if (next >= g->nwindow) return false;
        const int64_t from = g->window[next++];
        if (from < 0 || from >= updates->ndim || updates->shape[from] > table->shape[d]) return false;
        const bool all = updates->shape[from] == table->shape[d];
        *windows = *windows || (!all && updates->shape[from] != 1);
        if (all) loop[d] = (int32_t)from;
        *whole = *whole || (all && table->shape[d] > 1);
    }
    return next == g->nwindow;
}

/* The result is walked as the table is. */
static tg_status draft_scatter(const tg_order *o, const tg_node_view *table, const tg_node_view *updates,
                               const tg_node_view *places, const int32_t *loop) {
    tg_term  terms[TG_MAX_NDIM];
    int32_t  none[TG_MAX_NDIM], n = 0;
    tg_node_view  result = *table;
    tg_draft d;
    tg_rows_dense(&result);
    tg_draft_start(&d, o, TG_NODE_SCATTER, updates);
    d.node.host.dtype = table->dtype;
    tg_draft_reshape(&d, o, table->node, &result);
    for (int32_t i = 0; i < TG_MAX_NDIM; i++) none[i] = TG_LOOP_NONE;
    d.node.no_stick = (UINT32_C(1) << updates->ndim) - 1; /* but for loops of rows */
    for (int32_t i = 0; i < table->ndim; i++)
        if (loop[i] >= 0) d.node.no_stick &= ~(UINT32_C(1) << loop[i]);
    for (int32_t i = 0; i < table->ndim; i++)
        if (table->shape[i] > 1)
            terms[n++] = (tg_term){.loop = loop[i], .step = result.step[i], .extent = table->shape[i]};
    d.node.result = (tg_access){.nterms = n, .terms = terms};
    if (!tg_draft_operand(&d, o, table, loop) || !tg_draft_operand(&d, o, places, none) ||
        !tg_draft_same(&d, o, updates))
        return tg_lower_no_memory(o);
    return tg_draft_end(o, &d);
}

tg_status tg_lower_scatter(tg_order *o) {
    int32_t      loop[TG_MAX_NDIM];
    bool         whole = false, windows = false;
    scatter_dims dims;
    tg_node_view      table, updates, places;
    if (o->at.noperands != 3) return tg_lower_refuse(o, "it writes several tensors at once");
    tg_status s = tg_lower_view(&table, o, 0);
    if (s == TG_OK) s = tg_lower_view(&places, o, 1);
    if (s == TG_OK) s = tg_lower_view(&updates, o, 2);
    if (s == TG_OK) s = read_scatter(&dims, o);
    if (s != TG_OK) return s;
    if (!scatter_loops(loop, &whole, &windows, &dims, &table, &updates))
        return tg_lower_fail(o, "its dimensions do not fit its table");
    s = check_places(o, &places, &updates, dims.window, dims.nwindow, dims.start, dims.nstart, table.ndim);
    if (s == TG_OK) s = tg_lower_expect_type(o, "what it writes", updates.dtype, table.dtype);
    if (s != TG_OK) return s;
    if (!whole) return tg_lower_refuse(o, single_elements);
    if (windows) return tg_lower_refuse(o, "what it writes begins within a dimension");
    return draft_scatter(o, &table, &updates, &places, loop);
}
