/* Operands that have no loop in common. A node that goes through its operands side by side has one loop in the sticks
 * of all of them, so the outer product of two vectors, each with its own loop in its sticks, cannot be: nothing takes a
 * vector out of its sticks. But it can be multiplied out first:
 *
 *     x[i] * y[j]     a[i,j] = x[i], with i in the sticks like x; a copy of a with j in the sticks; a * y
 *
 * Where the device restickifies no copies of a format the host writes a[i,j] as it is wanted. */
#include "graph/lower.h"

#include "base/checked.h"

/* Elements of the copy in which dimension d can lie in sticks; 0 if it can as it is, INT64_MAX if they are too many to
 * count. */
static int64_t price(const tg_node_view *view, uint32_t reach, int32_t d) {
    int64_t elements = 1;
    if ((reach >> d & 1) != 0) return 0;
    for (int32_t i = 0; i < view->ndim; i++)
        if ((i == d || (tg_walked_loops(view) >> i & 1) != 0) && !tg_mul(&elements, elements, view->shape[i]))
            return INT64_MAX;
    return elements;
}

/* A tensor of the view's own that has dimension d, too; its other dimensions are as they were. The device writes it if
 * it can bring the sticks to where they are wanted. */
static tg_status spread(tg_node_view *view, const tg_order *o, int32_t d, bool as_it_is) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    const uint32_t     walked = tg_walked_loops(view), kept = walked | UINT32_C(1) << d;
    const tg_node_view whole = *view;
    const bool copies = !as_it_is && n->format == TG_SEN169_FP16 && (tg_lower_reach(view, o, false) & walked) != 0;
    for (int32_t i = 0; i < view->ndim; i++)
        if ((kept >> i & 1) == 0) view->shape[i] = 1;
    const tg_status s = copies ? tg_draft_copy(view, o, TG_NODE_POINTWISE) : tg_lower_bring(view, o, d);
    for (int32_t i = 0; s == TG_OK && i < view->ndim; i++) {
        if ((kept >> i & 1) == 0) view->step[i] = 0;
        view->shape[i] = whole.shape[i];
    }
    return s;
}

/* A single place in the middle of a stick, which nothing could agree with. */
static tg_status lift(tg_node_view *view, const tg_order *o) {
    const tg_node_view whole = *view;
    if (tg_walked_loops(view) != 0 || tg_lower_reach(view, o, false) != 0) return TG_OK;
    for (int32_t i = 0; i < view->ndim; i++) view->shape[i] = 1;
    const tg_status s = tg_draft_copy(view, o, TG_NODE_CLONE);
    for (int32_t i = 0; s == TG_OK && i < view->ndim; i++) {
        view->step[i] = 0;
        view->shape[i] = whole.shape[i];
    }
    return s;
}

/* The last of the dimensions that take the fewest elements; -1 of none. */
static int32_t choose(const tg_node_view *views, int64_t n, uint32_t dims, const tg_order *o, bool as_it_is) {
    int64_t sums[TG_MAX_NDIM] = {0}, least = INT64_MAX;
    int32_t best = -1;
    for (int64_t k = 0; k < n; k++) {
        const uint32_t reach = tg_lower_reach(&views[k], o, as_it_is);
        for (int32_t d = 0; d < TG_MAX_NDIM; d++)
            if ((dims >> d & 1) != 0 && !tg_add(&sums[d], sums[d], price(&views[k], reach, d))) sums[d] = INT64_MAX;
    }
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) {
        if ((dims >> d & 1) == 0 || sums[d] > least) continue;
        best = d;
        least = sums[d];
    }
    return best;
}

tg_status tg_lower_spread(tg_node_view *views, int64_t n, const tg_order *o, uint32_t barred, bool as_it_is) {
    uint32_t  common = TG_ALL_LOOPS, any = 0;
    tg_status s = TG_OK;
    for (int64_t k = 0; k < n && s == TG_OK; k++) s = lift(&views[k], o);
    if (s != TG_OK) return s;
    for (int64_t k = 0; k < n; k++) {
        common &= tg_lower_reach(&views[k], o, as_it_is);
        any |= tg_walked_loops(&views[k]);
    }
    if (common == TG_ALL_LOOPS || (common & ~barred & (any | TG_NO_LOOPS)) != 0) return TG_OK;
    const int32_t d = choose(views, n, any & ~barred, o, as_it_is);
    for (int64_t k = 0; k < n && d >= 0 && s == TG_OK; k++)
        if ((tg_lower_reach(&views[k], o, as_it_is) >> d & 1) == 0) s = spread(&views[k], o, d, as_it_is);
    return s;
}
