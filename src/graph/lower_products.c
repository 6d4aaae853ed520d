/* dot and convolution: operands whose dimensions have roles. */
#include "graph/lower.h"
#include "graph/rules.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

/* A dimension that must be able to lie in sticks is there in memory, not one element shown many times. */
static tg_status make_solid(tg_node_view *view, const tg_order *o, int32_t dim) {
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

/* Dimension d is neither summed up nor of the batch. */
static bool is_own(const dot_dims *dims, int side, int32_t d) {
    return !tg_lower_lists(dims->batch[side], dims->nbatch[side], d) &&
           !tg_lower_lists(dims->contracting[side], dims->ncontracting[side], d);
}

/* Are these dimensions of the view, each once? */
static bool lists_dims(const int64_t *dims, int32_t n, const tg_node_view *view) {
    for (int32_t i = 0; i < n; i++)
        if (dims[i] < 0 || dims[i] >= view->ndim || tg_lower_lists(dims, i, dims[i])) return false;
    return true;
}

static bool fits_views(const dot_dims *dims, const tg_node_view *views) {
    for (int i = 0; i < 2; i++) {
        if (!lists_dims(dims->contracting[i], dims->ncontracting[i], &views[i]) ||
            !lists_dims(dims->batch[i], dims->nbatch[i], &views[i]))
            return false;
        for (int32_t b = 0; b < dims->nbatch[i]; b++)
            if (tg_lower_lists(dims->contracting[i], dims->ncontracting[i], dims->batch[i][b])) return false;
    }
    return true;
}

/* Dimensions of both operands that stand for one loop. */
static tg_status check_pairs(const tg_order *o, const tg_node_view *views, const int64_t *x, const int64_t *y,
                             int32_t n, const char *what) {
    for (int32_t i = 0; i < n; i++)
        if (views[0].shape[x[i]] != views[1].shape[y[i]])
            return tg_fail(o->l->err, TG_ERR_UNSUPPORTED, "%t %t: its operands have sizes %d and %d along %s",
                           o->at.opcode.chars, o->at.opcode.len, o->at.name.chars, o->at.name.len,
                           views[0].shape[x[i]], views[1].shape[y[i]], what);
    return TG_OK;
}

/* Sums may be of any other type, but whole numbers do not become narrower. */
static tg_status check_sum_type(const tg_order *o, const tg_node_view *result, const tg_node_view *views) {
    const int64_t wide = tg_max(tg_dtype_bits(views[0].dtype), tg_dtype_bits(views[1].dtype));
    if (!tg_lower_is_whole(views[0].dtype) || !tg_lower_is_whole(views[1].dtype)) return TG_OK;
    return tg_dtype_bits(result->dtype) >= wide ? TG_OK
                                                : tg_lower_fail(o, "its result has fewer bits than its operands");
}

/* pre: fits_views. */
static tg_status check_dot(const tg_order *o, const dot_dims *dims, const tg_node_view *result,
                           const tg_node_view *views) {
    tg_node_view sizes = {.dtype = result->dtype};
    tg_status    s = check_pairs(o, views, dims->contracting[0], dims->contracting[1], dims->ncontracting[0],
                                 "a dimension that is summed up");
    if (s == TG_OK) s = check_pairs(o, views, dims->batch[0], dims->batch[1], dims->nbatch[0], "a batch dimension");
    if (s == TG_OK) s = check_sum_type(o, result, views);
    if (s != TG_OK) return s;
    for (int32_t b = 0; b < dims->nbatch[0]; b++) sizes.shape[sizes.ndim++] = views[0].shape[dims->batch[0][b]];
    for (int i = 0; i < 2; i++)
        for (int32_t d = 0; d < views[i].ndim; d++) {
            if (!is_own(dims, i, d)) continue;
            if (sizes.ndim == TG_MAX_NDIM) return tg_lower_fail(o, "its result has too many dimensions");
            sizes.shape[sizes.ndim++] = views[i].shape[d];
        }
    return tg_lower_expect(o, "its result", &sizes, result);
}

/* pre: check_dot. The result has the batch dimensions, then what is left of the left operand, then of the right one.
 * False if there are too many loops. */
static bool dot_loops(int32_t loop[2][TG_MAX_NDIM], tg_draft *d, const dot_dims *dims, const tg_node_view *views) {
    int32_t next = dims->nbatch[0];
    for (int i = 0; i < 2; i++)
        for (int32_t k = 0; k < views[i].ndim; k++) {
            if (is_own(dims, i, k)) loop[i][k] = next++;
        }
    for (int i = 0; i < 2; i++)
        for (int32_t b = 0; b < dims->nbatch[i]; b++) loop[i][dims->batch[i][b]] = b;
    for (int32_t c = 0; c < dims->ncontracting[0]; c++) {
        const int64_t x = dims->contracting[0][c], y = dims->contracting[1][c];
        loop[0][x] = loop[1][y] = tg_draft_loop(d, views[0].shape[x]);
        if (loop[0][x] < 0) return false;
    }
    return true;
}

/* Can zeros be put behind the end of dimension d, or is there nothing to be filled? */
static bool can_be_filled(const tg_node_view *view, const tg_order *o, int32_t d, int64_t stick) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    tg_term            terms[TG_MAX_NDIM];
    const tg_access    access = tg_view_access(terms, view);
    return view->shape[d] % stick == 0 || !n->on_device || tg_filled_dim(&n->host, view->shape, &access, d) >= 0;
}

/* A product needs one of the columns in the sticks of this operand; if none can be there, the view becomes a tensor of
 * its own. */
static tg_status make_columns(tg_node_view *view, const tg_order *o, const dot_dims *dims, int side) {
    int32_t last = -1;
    for (int32_t d = 0; d < view->ndim; d++) {
        if (!is_own(dims, side, d) || view->shape[d] == 1) continue;
        if (tg_can_be_stick(view, o, d)) return TG_OK;
        last = d;
    }
    return last >= 0 ? tg_lower_bring(view, o, last) : TG_OK;
}

/* And one of the summed dimensions in the sticks of x, behind whose end y has room for zeros. */
static tg_status make_sums(tg_node_view *views, const tg_order *o, const dot_dims *dims, int x) {
    const int y = 1 - x;
    bool      sums = false, lies = false, fills = false;
    for (int32_t c = 0; c < dims->ncontracting[0]; c++) {
        const int32_t at[2] = {(int32_t)dims->contracting[0][c], (int32_t)dims->contracting[1][c]};
        if (views[x].shape[at[x]] == 1) continue;
        const bool stick = tg_can_be_stick(&views[x], o, at[x]);
        const bool fill = can_be_filled(&views[y], o, at[y], tg_stick_length(&views[x], o));
        if (stick && fill) return TG_OK;
        sums = true;
        lies = lies || stick;
        fills = fills || fill;
    }
    tg_status s = TG_OK;
    if (sums && !lies) s = tg_draft_copy(&views[x], o, TG_NODE_CLONE);
    if (s == TG_OK && sums && (lies || !fills)) s = tg_draft_copy(&views[y], o, TG_NODE_CLONE);
    return s;
}

static bool has_own(const tg_node_view *view, const dot_dims *dims, int side) {
    for (int32_t d = 0; d < view->ndim; d++)
        if (is_own(dims, side, d) && view->shape[d] > 1) return true;
    return false;
}

/* A vector on the right is the left operand of the transposed product, as the rules have it. */
static tg_status make_dot_solid(tg_node_view *views, const tg_order *o, const dot_dims *dims) {
    const int x = !has_own(&views[1], dims, 1) && has_own(&views[0], dims, 0);
    tg_status s = TG_OK;
    for (int32_t k = 0; k < views[x].ndim && s == TG_OK; k++)
        if (tg_lower_lists(dims->contracting[x], dims->ncontracting[x], k)) s = make_solid(&views[x], o, k);
    for (int32_t k = 0; k < views[1 - x].ndim && s == TG_OK; k++)
        if (!tg_lower_lists(dims->batch[1 - x], dims->nbatch[1 - x], k)) s = make_solid(&views[1 - x], o, k);
    if (s == TG_OK) s = make_sums(views, o, dims, x);
    return s == TG_OK ? make_columns(&views[1 - x], o, dims, 1 - x) : s;
}

/* Of one round: nothing is summed up. */
static bool sums_nothing(const dot_dims *dims, const tg_node_view *views) {
    for (int32_t c = 0; c < dims->ncontracting[0]; c++)
        if (views[0].shape[dims->contracting[0][c]] != 1 || views[1].shape[dims->contracting[1][c]] != 1) return false;
    return true;
}

/* An outer product: it multiplies element by element. */
static tg_status multiply(const tg_order *o, const tg_node_view *result, const tg_node_view *views,
                          const dot_dims *dims) {
    tg_node_view spread[2] = {*result, *result};
    int32_t      loop[2][TG_MAX_NDIM];
    tg_draft     d;
    tg_draft_start(&d, o, TG_NODE_POINTWISE, result);
    if (!dot_loops(loop, &d, dims, views)) return tg_lower_fail(o, "it has too many loops");
    for (int i = 0; i < 2; i++) {
        spread[i].node = views[i].node;
        spread[i].offset = views[i].offset;
        spread[i].dtype = views[i].dtype;
        memset(spread[i].step, 0, sizeof spread[i].step);
        for (int32_t k = 0; k < views[i].ndim; k++)
            if (loop[i][k] < result->ndim) spread[i].step[loop[i][k]] = views[i].step[k];
    }
    const tg_status s = tg_lower_spread(spread, 2, o, 0, false);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_POINTWISE, result);
    d.node.opcode = tg_text_of("multiply");
    for (int i = 0; i < 2; i++)
        if (!tg_draft_same(&d, o, &spread[i])) return tg_lower_no_memory(o);
    return tg_draft_end(o, &d);
}

tg_status tg_lower_dot(tg_order *o) {
    int32_t   loop[2][TG_MAX_NDIM];
    dot_dims  dims;
    tg_node_view   result, views[2];
    tg_draft  d;
    tg_status s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&views[0], o, 0);
    if (s == TG_OK) s = tg_lower_view(&views[1], o, 1);
    if (s == TG_OK) s = read_dot(&dims, o);
    if (s != TG_OK) return s;
    if (!fits_views(&dims, views)) return tg_lower_fail(o, "its dimensions do not fit its operands");
    s = check_dot(o, &dims, &result, views);
    if (s != TG_OK) return s;
    if (sums_nothing(&dims, views)) return multiply(o, &result, views, &dims);
    s = make_dot_solid(views, o, &dims);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_MATMUL, &result);
    if (!dot_loops(loop, &d, &dims, views)) return tg_lower_fail(o, "it has too many loops");
    for (int i = 0; i < 2; i++)
        if (!tg_draft_operand(&d, o, &views[i], loop[i])) return tg_lower_no_memory(o);
    return tg_draft_end(o, &d);
}

/* ---- convolution --------------------------------------------------------------------------------- */

static int64_t read_count(const tg_order *o, const char *key) {
    tg_hlo_text value;
    int64_t     n = 1;
    if (tg_hlo_find_attribute(&value, o->l->module, o->id, key)) (void)tg_hlo_read_int(&n, value, NULL);
    return n;
}

static bool fits_labels(const tg_hlo_dim_labels *l, const tg_node_view *views, const tg_node_view *result) {
    const int32_t n = l->nspatial + 2;
    return views[0].ndim == n && views[1].ndim == n && result->ndim == n;
}

/* One for each dimension of space; without the attribute they are one place wide. */
static tg_status read_windows(tg_hlo_window_dim *out, const tg_order *o, const tg_hlo_dim_labels *l) {
    tg_hlo_text value;
    size_t      n = 0;
    for (int32_t i = 0; i < l->nspatial; i++)
        out[i] = (tg_hlo_window_dim){.size = 1, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1};
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, "window")) return TG_OK;
    const tg_status s = tg_hlo_read_window(out, TG_MAX_NDIM, &n, value, o->l->err);
    if (s != TG_OK || n == (size_t)l->nspatial || n == 0) return s;
    return tg_lower_fail(o, "its window does not fit its shapes");
}

/* Places of the result, of the activation and of the weights are as many as the window says. */
static tg_status check_places(const tg_order *o, const tg_hlo_window_dim *w, const tg_hlo_dim_labels *l,
                              const tg_node_view *views, const tg_node_view *result) {
    tg_status s = TG_OK;
    for (int32_t i = 0; i < l->nspatial && s == TG_OK; i++) {
        int64_t n = 0;
        if (w[i].size != views[1].shape[l->kernel_spatial[i]] ||
            !tg_lower_count_windows(&n, views[0].shape[l->input_spatial[i]], &w[i]))
            return tg_lower_fail(o, "its window does not fit its shapes");
        s = tg_lower_expect_size(o, l->output_spatial[i], result->shape[l->output_spatial[i]], n);
    }
    return s;
}

/* Windows move with the positions of the result, which stay whole where steps are longer than one. */
static void draft_windows(tg_draft *d, const tg_hlo_window_dim *window, const tg_hlo_dim_labels *l,
                          const tg_node_view *views) {
    for (int32_t i = 0; i < l->nspatial; i++) {
        tg_window *w = tg_draft_window(d, &window[i], l->output_spatial[i], &views[0], l->input_spatial[i]);
        w->kernel_step = views[1].step[l->kernel_spatial[i]];
        w->reversed = window[i].reversal;
        if (w->stride != 1) d->node.no_split |= UINT32_C(1) << w->loop;
    }
}

/* Groups: each works on its own channels, or (batch_group_count) on its own part of the batch. */
typedef struct groups {
    int64_t count;
    bool    of_batch;
} groups;

/* Dimension dim becomes one of each group, and the last dimension, new, counts groups. */
static void split_groups(tg_node_view *view, int32_t dim, int64_t count) {
    const int32_t g = view->ndim++;
    view->shape[g] = count;
    view->shape[dim] /= count;
    view->step[g] = view->step[dim] * view->shape[dim];
}

/* Sticks hold channels of one group. */
static bool is_whole(const tg_node_view *view, const tg_order *o, int64_t channels) {
    return channels == 1 || channels % tg_stick_length(view, o) == 0;
}

/* Channels and the batch are those of both operands; groups have equal parts of them. */
static tg_status check_channels(const tg_order *o, const groups *g, const tg_hlo_dim_labels *l,
                                const tg_node_view *views, const tg_node_view *result) {
    const int64_t out = views[1].shape[l->kernel_output_feature], in = views[0].shape[l->input_feature];
    const int64_t batch = views[0].shape[l->input_batch], shared = g->of_batch ? batch : in;
    if (g->count < 1 || out % g->count != 0 || shared % g->count != 0)
        return tg_lower_fail(o, "its groups do not fit its shapes");
    if (views[1].shape[l->kernel_input_feature] != in / (g->of_batch ? 1 : g->count))
        return tg_lower_fail(o, "its weights have not as many channels as each group of its input");
    tg_status s = tg_lower_expect_type(o, "its second operand", views[1].dtype, views[0].dtype);
    if (s == TG_OK) s = check_sum_type(o, result, views);
    if (s == TG_OK) s = tg_lower_expect_size(o, l->output_feature, result->shape[l->output_feature], out);
    if (s != TG_OK) return s;
    return tg_lower_expect_size(o, l->output_batch, result->shape[l->output_batch],
                                batch / (g->of_batch ? g->count : 1));
}

/* Why not; NULL if it can be told. */
static const char *group_fault(const tg_order *o, const groups *g, const tg_hlo_dim_labels *l,
                               const tg_node_view *views) {
    const int64_t out = views[1].shape[l->kernel_output_feature], in = views[0].shape[l->input_feature];
    if (g->count == 1) return NULL;
    if (views[0].ndim == TG_MAX_NDIM) return "its groups would be one dimension too many";
    if (!is_whole(&views[1], o, out / g->count) || (!g->of_batch && !is_whole(&views[0], o, in / g->count)))
        return "its groups of channels are not whole sticks";
    return NULL;
}

/* Loops: the result's, its channels within a group; in-channels of a group; groups. A loop of groups that have one
 * channel is the loop of channels. */
typedef struct channel_loops {
    int32_t in, out, group;
} channel_loops;

static channel_loops add_loops(tg_draft *d, const groups *g, const tg_hlo_dim_labels *l, const tg_node_view *views) {
    channel_loops c = {.out = l->output_feature, .group = TG_LOOP_NONE};
    const int64_t in = views[0].shape[l->input_feature] / (g->of_batch ? 1 : g->count);
    const int64_t out = d->ranges[c.out] / g->count;
    if (g->count > 1 && out == 1) c.group = c.out;
    if (g->count > 1 && out > 1) {
        c.group = tg_draft_loop(d, g->count);
        d->ranges[c.out] = out;
    }
    c.in = g->count > 1 && !g->of_batch && in == 1 ? c.group : tg_draft_loop(d, in);
    return c;
}

/* Positions in the window take part in no rule: only the channels lie in sticks. */
static void label_loops(int32_t loop[2][TG_MAX_NDIM + 1], const channel_loops *c, const groups *g,
                        const tg_hlo_dim_labels *l, tg_node_view *views) {
    for (int32_t k = 0; k <= TG_MAX_NDIM; k++) loop[0][k] = loop[1][k] = TG_LOOP_UNKNOWN;
    loop[0][l->input_batch] = l->output_batch;
    loop[0][l->input_feature] = c->in;
    loop[1][l->kernel_input_feature] = views[1].shape[l->kernel_input_feature] == 1 ? TG_LOOP_NONE : c->in;
    loop[1][l->kernel_output_feature] = c->out;
    if (g->count == 1) return;
    const int32_t split = g->of_batch ? l->input_batch : l->input_feature;
    if (c->in != c->group || g->of_batch) {
        split_groups(&views[0], split, g->count);
        loop[0][views[0].ndim - 1] = c->group;
    }
    if (c->out == c->group) return;
    split_groups(&views[1], l->kernel_output_feature, g->count);
    loop[1][views[1].ndim - 1] = c->group;
}

static tg_status draft_convolution(tg_draft *d, const tg_order *o, const tg_hlo_dim_labels *l, tg_node_view *views,
                                   const groups *g) {
    int32_t             loop[2][TG_MAX_NDIM + 1], n = 0;
    tg_term             terms[TG_MAX_NDIM + 1];
    const int64_t       channels = d->ranges[l->output_feature] / g->count;
    const channel_loops c = add_loops(d, g, l, views);
    if (c.in < 0 || (g->count > 1 && c.group < 0)) return tg_lower_fail(o, "it has too many loops");
    label_loops(loop, &c, g, l, views);
    d->node.in_channel = c.in;
    d->node.out_channel = c.out;
    for (; n < d->node.host.ndim; n++) terms[n] = (tg_term){.loop = n, .step = d->node.host.strides[n]};
    if (g->count > 1 && c.group != c.out)
        terms[n++] = (tg_term){.loop = c.group, .step = d->node.host.strides[c.out] * channels};
    d->node.result = (tg_access){.nterms = n, .terms = terms};
    for (int i = 0; i < 2; i++)
        if (!tg_draft_operand(d, o, &views[i], loop[i])) return tg_lower_no_memory(o);
    return tg_draft_end(o, d);
}

tg_status tg_lower_convolution(tg_order *o) {
    tg_hlo_dim_labels labels;
    tg_hlo_text       value;
    tg_hlo_window_dim windows[TG_MAX_NDIM];
    tg_node_view      result, views[2];
    tg_draft          d;
    tg_status         s = tg_lower_shape(&result, o);
    if (s == TG_OK) s = tg_lower_view(&views[0], o, 0);
    if (s == TG_OK) s = tg_lower_view(&views[1], o, 1);
    if (s != TG_OK) return s;
    if (!tg_hlo_find_attribute(&value, o->l->module, o->id, "dim_labels"))
        return tg_lower_fail(o, "it does not label its dimensions");
    s = tg_hlo_read_dim_labels(&labels, value, o->l->err);
    if (s != TG_OK) return s;
    if (!fits_labels(&labels, views, &result)) return tg_lower_fail(o, "its labels do not fit its shapes");
    const int64_t of_features = read_count(o, "feature_group_count"), of_batch = read_count(o, "batch_group_count");
    const groups  g = {of_batch > 1 ? of_batch : of_features, of_batch > 1};
    if (of_features > 1 && of_batch > 1) return tg_lower_fail(o, "it has groups of features and of the batch");
    s = check_channels(o, &g, &labels, views, &result);
    if (s == TG_OK) s = read_windows(windows, o, &labels);
    if (s == TG_OK) s = check_places(o, windows, &labels, views, &result);
    if (s != TG_OK) return s;
    const char *fault = group_fault(o, &g, &labels, views);
    if (fault != NULL) return tg_lower_refuse(o, fault);
    s = make_solid(&views[0], o, labels.input_feature);
    if (s == TG_OK) s = make_solid(&views[1], o, labels.kernel_output_feature);
    if (s != TG_OK) return s;
    tg_draft_start(&d, o, TG_NODE_CONVOLUTION, &result);
    draft_windows(&d, windows, &labels, views);
    return draft_convolution(&d, o, &labels, views, &g);
}
