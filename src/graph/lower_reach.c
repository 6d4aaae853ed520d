/* Which loops a view can have in sticks, asked of the layouts themselves before a plan is made. A view that begins or
 * steps inside a stick has no loop there, however the tensor lies; then a clone puts what is read at the beginning of
 * sticks of its own:
 *
 *     x = f16[8,128], x[:,32:64]   with 1 in the sticks it begins inside one; with 0 it is read stick by stick
 *     x = f16[128],   x[32:64]     nothing else can lie in the sticks: a clone of 32 elements
 */
#include "graph/lower.h"
#include "graph/rules.h"

enum { DEFAULT = -1 }; /* the layout that the tensor comes with */

/* How the view reads the tensor with this dimension in its sticks. */
static bool read_sticks(tg_stick *out, const tg_node_view *view, const tg_order *o, int32_t dim) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    tg_spyre_params    params = {.has_device_dtype = true, .device_dtype = n->format};
    int32_t            order[TG_MAX_NDIM];
    tg_term            terms[TG_MAX_NDIM];
    tg_spyre           layout;
    const tg_access    access = tg_view_access(terms, view);
    for (int32_t d = 0; d < n->host.ndim && dim != DEFAULT; d++)
        if (d != dim) order[params.norder++] = d;
    if (dim != DEFAULT) order[params.norder++] = dim;
    if (dim != DEFAULT) params.dim_order = order;
    if (dim == DEFAULT && n->layout >= 0) layout = o->l->graph->layouts.rows[n->layout];
    else if (tg_spyre_default(&layout, &n->host, &params, NULL) != TG_OK) return false;
    tg_stick_of(out, &layout, view->shape, &access);
    return true;
}

static bool has_stick(const tg_node_view *view, const tg_order *o, int32_t dim, int32_t loop) {
    tg_stick stick;
    return read_sticks(&stick, view, o, dim) && stick.kind == TG_STICK_LOOP && stick.loop == loop;
}

static bool has_nothing(const tg_node_view *view, const tg_order *o, int32_t dim) {
    tg_stick stick;
    return read_sticks(&stick, view, o, dim) && stick.kind == TG_STICK_NONE;
}

bool tg_can_be_stick(const tg_node_view *view, const tg_order *o, int32_t d) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    tg_term            terms[TG_MAX_NDIM];
    const tg_access    access = tg_view_access(terms, view);
    const int32_t      dim = tg_walked_dim(&n->host, &access, d);
    return !n->on_device || (dim >= 0 && has_stick(view, o, dim, d));
}

uint32_t tg_walked_loops(const tg_node_view *view) {
    uint32_t loops = 0;
    for (int32_t d = 0; d < view->ndim; d++)
        if (view->step[d] != 0 && view->shape[d] > 1) loops |= UINT32_C(1) << d;
    return loops;
}

/* Its layout is known before anything is chosen. */
static bool is_fixed(const tg_node_row *n) {
    return n->layout >= 0 || n->kind == TG_NODE_INPUT || n->kind == TG_NODE_CLONE || n->kind == TG_NODE_BOUNDARY;
}

/* No copy brings a tensor to where a view has nothing in its sticks: it has to lie so. */
static bool can_be_stickless(const tg_node_view *view, const tg_order *o) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    bool               found = is_fixed(n) && has_nothing(view, o, DEFAULT);
    for (int32_t d = 0; d < n->host.ndim && !is_fixed(n) && !found; d++)
        found = n->host.shape[d] > 1 && has_nothing(view, o, d);
    return found;
}

/* What it comes with is cut inside of sticks. */
static bool is_cut(const tg_node_view *view, const tg_order *o) {
    tg_stick stick;
    return is_fixed(tg_node_at(o->l->graph, view->node)) && read_sticks(&stick, view, o, DEFAULT) &&
           stick.kind != TG_STICK_LOOP && stick.kind != TG_STICK_NONE;
}

/* Nothing is read; the view may begin behind the end. */
static bool is_empty(const tg_node_view *view) {
    bool empty = false;
    for (int32_t d = 0; d < view->ndim; d++) empty = empty || view->shape[d] == 0;
    return empty;
}

uint32_t tg_lower_reach(const tg_node_view *view, const tg_order *o, bool as_it_is) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    const uint32_t     walked = tg_walked_loops(view);
    uint32_t           loops = 0;
    if (!n->on_device || !n->in_sticks || is_empty(view)) return TG_ALL_LOOPS;
    if (as_it_is && is_cut(view, o)) return 0;
    for (int32_t d = 0; d < view->ndim; d++)
        if ((walked >> d & 1) != 0 && tg_can_be_stick(view, o, d)) loops |= UINT32_C(1) << d;
    return can_be_stickless(view, o) ? loops | ~walked : loops;
}

static void swap(int64_t *a, int64_t *b) {
    const int64_t kept = *a;
    *a = *b;
    *b = kept;
}

/* The default layout has the last dimension in its sticks. */
static void exchange(tg_node_view *view, int32_t d) {
    swap(&view->shape[d], &view->shape[view->ndim - 1]);
    swap(&view->step[d], &view->step[view->ndim - 1]);
}

tg_status tg_lower_bring(tg_node_view *view, const tg_order *o, int32_t d) {
    exchange(view, d);
    const tg_status s = tg_draft_copy(view, o, TG_NODE_CLONE);
    exchange(view, d);
    return s;
}
