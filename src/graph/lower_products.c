/* dot, convolution and gather: operands whose dimensions have roles. */
#include "graph/lower.h"
#include "graph/rules.h"

#include <string.h>

static tg_status finish(const tg_order *o, tg_draft *d) {
    tg_view         view;
    const tg_status s = tg_draft_finish(&view, d, o);
    return s == TG_OK ? tg_lower_put_view(o, &view) : s;
}

static bool lists(const int64_t *dims, int32_t n, int64_t d) {
    for (int32_t i = 0; i < n; i++)
        if (dims[i] == d) return true;
    return false;
}

/* A dimension that must be able to lie in sticks is there in memory, not one element shown many times. */
static tg_status make_solid(tg_view *view, const tg_order *o, int32_t dim) {
    if (view->shape[dim] <= 1 || view->step[dim] != 0) return TG_OK;
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    const bool         fill = n->kind == TG_NODE_CONSTANT && n->host.ndim == 0;
    return tg_draft_copy(view, o, fill ? TG_NODE_CONSTANT : TG_NODE_POINTWISE);
}

/* ---- dot -------------------------------------------------------------------------------------- */

typedef struct dot_dims {
    int64_t contracting[2][TG_MAX_NDIM], batch[2][TG_MAX_NDIM];
    int32_t ncontracting[2], nbatch[2];
} dot_dims;

static tg_status read_dot(dot_dims *out, const tg_order *o) {
    static const char *const contracting[] = {"lhs_contracting_dims", "rhs_contracting_dims"};
    static const char *const batch[] = {"lhs_batch_dims", "rhs_batch_dims"};
    tg_status                s = TG_OK;
    for (int i = 0; i < 2 && s == TG_OK; i++) {
        s = tg_lower_ints(out->contracting[i], &out->ncontracting[i], o, contracting[i]);
        if (s == TG_OK) s = tg_lower_ints(out->batch[i], &out->nbatch[i], o, batch[i]);
    }
    if (s != TG_OK) return s;
    if (out->ncontracting[0] != out->ncontracting[1] || out->nbatch[0] != out->nbatch[1])
        return tg_lower_fail(o, "its operands have different numbers of contracting or batch dimensions");
    return TG_OK;
}

/* The result has the batch dimensions, then what is left of the left operand, then of the right one. */
static bool dot_loops(int32_t loop[2][TG_MAX_NDIM], tg_draft *d, const dot_dims *dims, const tg_view *views) {
    int32_t next = dims->nbatch[0];
    for (int i = 0; i < 2; i++)
        for (int32_t k = 0; k < views[i].ndim; k++) {
            if (lists(dims->batch[i], dims->nbatch[i], k) || lists(dims->contracting[i], dims->ncontracting[i], k))
                continue;
            if (next >= d->node.host.ndim || d->ranges[next] != views[i].shape[k]) return false;
            loop[i][k] = next++;
        }
    for (int i = 0; i < 2; i++)
        for (int32_t b = 0; b < dims->nbatch[i]; b++) {
            if (dims->batch[i][b] < 0 || dims->batch[i][b] >= views[i].ndim) return false;
            loop[i][dims->batch[i][b]] = b;
        }
    for (int32_t c = 0; c < dims->ncontracting[0]; c++) {
        const int64_t x = dims->contracting[0][c], y = dims->contracting[1][c];
        if (x < 0 || x >= views[0].ndim || y < 0 || y >= views[1].ndim || views[0].shape[x] != views[1].shape[y])
            return false;
        loop[0][x] = loop[1][y] = tg_draft_loop(d, views[0].shape[x]);
        if (loop[0][x] < 0) return false;
    }
    return next == d->node.host.ndim;
}

/* Can sticks lie along dimension d of the view, or be brought there? Yes where it walks a dimension of the tensor
 * alone, and where it cuts one into whole sticks. */
static bool can_be_stick(const tg_view *view, const tg_order *o, int32_t d) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    tg_term            terms[TG_MAX_NDIM];
    const tg_access    access = {view->node, view->offset, view->ndim, terms};
    for (int32_t i = 0; i < view->ndim; i++) terms[i] = (tg_term){.loop = i, .step = view->step[i]};
    const int32_t dim = tg_walked_dim(&n->host, &access, d);
    if (!n->on_device) return true;
    if (dim < 0) return false;
    const int64_t stick = 8 * TG_SPYRE_STICK_BYTES / tg_format_bits(n->format), size = n->host.shape[dim];
    const bool    alone = tg_host_dim(&n->host, view->shape, &access, d) == dim;
    return (alone && view->shape[d] <= size) || (view->shape[d] % stick == 0 && size % stick == 0);
}

/* A product needs one of these dimensions in its sticks; if none can be there, the view becomes a tensor of its own. */
static tg_status make_sticks(tg_view *view, const tg_order *o, uint32_t dims) {
    for (int32_t d = 0; d < view->ndim; d++) {
        if ((dims >> d & 1) == 0 || view->shape[d] == 1) dims &= ~(UINT32_C(1) << d);
        else if (can_be_stick(view, o, d)) return TG_OK;
    }
    return dims != 0 ? tg_draft_copy(view, o, TG_NODE_CLONE) : TG_OK;
}

static tg_status make_dot_solid(tg_view *views, const tg_order *o, const dot_dims *dims) {
    tg_status s = TG_OK;
    uint32_t  summed = 0, columns = 0;
    for (int32_t k = 0; k < views[0].ndim && s == TG_OK; k++)
        if (lists(dims->contracting[0], dims->ncontracting[0], k)) {
            s = make_solid(&views[0], o, k);
            summed |= UINT32_C(1) << k;
        }
    for (int32_t k = 0; k < views[1].ndim && s == TG_OK; k++)
        if (!lists(dims->batch[1], dims->nbatch[1], k)) {
            s = make_solid(&views[1], o, k);
            if (!lists(dims->contracting[1], dims->ncontracting[1], k)) columns |= UINT32_C(1) << k;
        }
    if (s == TG_OK) s = make_sticks(&views[0], o, summed);
    return s == TG_OK ? make_sticks(&views[1], o, columns) : s;
}

tg_status tg_lower_dot(tg_order *o) {
    int32_t   loop[2][TG_MAX_NDIM];
    dot_dims  dims;
    tg_view   result, views[2];
    tg_draft  d;
    tg_status s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&views[0], o, 0);
    if (s == TG_OK) s = tg_lower_view(&views[1], o, 1);
    if (s == TG_OK) s = read_dot(&dims, o);
    if (s == TG_OK) s = make_dot_solid(views, o, &dims);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_MATMUL, &result);
    if (!dot_loops(loop, &d, &dims, views)) return tg_lower_fail(o, "its dimensions do not fit its result");
    for (int i = 0; i < 2; i++)
        if (!tg_draft_operand(&d, o, &views[i], loop[i])) return tg_lower_no_memory(o);
    return finish(o, &d);
}

/* ---- convolution --------------------------------------------------------------------------------- */

static int64_t read_count(const tg_order *o, const char *key) {
    tg_hlo_text value;
    int64_t     n = 1;
    if (tg_hlo_find_attribute(&value, o->l->module, o->id, key)) (void)tg_hlo_read_int(&n, value, NULL);
    return n;
}

static bool fits_labels(const tg_hlo_dim_labels *l, const tg_view *views, const tg_view *result) {
    const int32_t n = l->nspatial + 2;
    return views[0].ndim == n && views[1].ndim == n && result->ndim == n;
}

static bool has_strides(const tg_order *o) {
    tg_hlo_window_dim window[TG_MAX_NDIM];
    tg_hlo_text       value;
    size_t            n = 0;
    bool              strided = false;
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, "window") ||
        tg_hlo_read_window(window, TG_MAX_NDIM, &n, value, NULL) != TG_OK)
        return false;
    for (size_t i = 0; i < n && i < TG_MAX_NDIM; i++) strided = strided || window[i].stride != 1;
    return strided;
}

/* Positions in the window take part in no rule: only the channels lie in sticks. With one channel a group (depthwise)
 * the channel of the activation is that of the result. */
static tg_status draft_convolution(tg_draft *d, const tg_order *o, const tg_hlo_dim_labels *l, const tg_view *views,
                                   bool depthwise) {
    int32_t loop[2][TG_MAX_NDIM];
    for (int32_t k = 0; k < TG_MAX_NDIM; k++) loop[0][k] = loop[1][k] = TG_LOOP_UNKNOWN;
    loop[0][l->input_batch] = l->output_batch;
    d->node.out_channel = l->output_feature;
    d->node.in_channel = depthwise ? l->output_feature : tg_draft_loop(d, views[0].shape[l->input_feature]);
    loop[0][l->input_feature] = d->node.in_channel;
    loop[1][l->kernel_input_feature] = depthwise ? TG_LOOP_NONE : d->node.in_channel;
    loop[1][l->kernel_output_feature] = d->node.out_channel;
    if (has_strides(o))
        for (int32_t i = 0; i < l->nspatial; i++) d->node.no_split |= UINT32_C(1) << l->output_spatial[i];
    for (int i = 0; i < 2; i++)
        if (!tg_draft_operand(d, o, &views[i], loop[i])) return tg_lower_no_memory(o);
    return finish(o, d);
}

tg_status tg_lower_convolution(tg_order *o) {
    tg_hlo_dim_labels labels;
    tg_hlo_text       value;
    tg_view           result, views[2];
    tg_draft          d;
    tg_status         s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&views[0], o, 0);
    if (s == TG_OK) s = tg_lower_view(&views[1], o, 1);
    if (s != TG_OK) return s;
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, "dim_labels"))
        return tg_lower_fail(o, "it does not label its dimensions");
    s = tg_hlo_read_dim_labels(&labels, value, o->l->err);
    if (s != TG_OK) return s;
    if (!fits_labels(&labels, views, &result)) return tg_lower_boundary(o);
    const int64_t groups = read_count(o, "feature_group_count"), out = result.shape[labels.output_feature];
    const bool    depthwise = groups > 1 && groups == views[0].shape[labels.input_feature] && groups == out;
    if ((groups > 1 && !depthwise) || read_count(o, "batch_group_count") > 1) return tg_lower_boundary(o);
    s = make_solid(&views[0], o, labels.input_feature);
    if (s == TG_OK) s = make_solid(&views[1], o, labels.kernel_output_feature);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_CONVOLUTION, &result);
    return draft_convolution(&d, o, &labels, views, depthwise);
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

/* The loops of the table's dimensions: a whole dimension follows the result's, one that is picked has none. False for
 * slices that begin somewhere within a dimension. */
static bool gather_loops(int32_t *loop, const gather_dims *g, const tg_view *table, const tg_view *result) {
    int32_t next = 0;
    if (g->nsizes != table->ndim || g->nbatch > 0) return false;
    for (int32_t d = 0; d < table->ndim; d++) {
        const bool collapsed = lists(g->collapsed, g->ncollapsed, d);
        loop[d] = TG_LOOP_UNKNOWN;
        if (collapsed && g->sizes[d] != 1) return false;
        if (collapsed) continue;
        if (g->sizes[d] != table->shape[d] || next >= g->noffset) return false;
        const int64_t to = g->offset[next++];
        if (to < 0 || to >= result->ndim || result->shape[to] != table->shape[d]) return false;
        loop[d] = (int32_t)to;
    }
    return next == g->noffset && next > 0;
}

tg_status tg_lower_gather(tg_order *o) {
    int32_t     loop[TG_MAX_NDIM], none[TG_MAX_NDIM];
    gather_dims dims;
    tg_view     result, table, indices;
    tg_draft    d;
    tg_status   s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&table, o, 0);
    if (s == TG_OK) s = tg_lower_view(&indices, o, 1);
    if (s == TG_OK) s = read_gather(&dims, o);
    if (s != TG_OK) return s;
    if (!gather_loops(loop, &dims, &table, &result)) return tg_lower_boundary(o);
    for (int32_t i = 0; i < TG_MAX_NDIM; i++) none[i] = TG_LOOP_NONE;
    tg_draft_start(&d, o, TG_NODE_GATHER, &result);
    if (!tg_draft_operand(&d, o, &table, loop) || !tg_draft_operand(&d, o, &indices, none))
        return tg_lower_no_memory(o);
    return finish(o, &d);
}
