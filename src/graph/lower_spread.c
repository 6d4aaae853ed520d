/* Operands that have no loop in common. Element by element a node has one loop in the sticks of all its operands, so
 * the outer product of two vectors, each with its own loop in its sticks, cannot be: nothing takes a vector out of its
 * sticks. But it can be multiplied out first:
 *
 *     x[i] * y[j]     a[i,j] = x[i], with i in the sticks like x; a copy of a with j in the sticks; a * y
 *
 * Where the device restickifies no copies of a format the host writes a[i,j] as it is wanted. */
#include "graph/lower.h"
#include "graph/rules.h"

#include "base/checked.h"

enum { MOST = 8 }; /* operands that are looked at */

/* Dimensions that are walked. */
static uint32_t walked(const tg_node_view *view) {
    uint32_t dims = 0;
    for (int32_t d = 0; d < view->ndim; d++)
        if (view->step[d] != 0 && view->shape[d] > 1) dims |= UINT32_C(1) << d;
    return dims;
}

/* A loop of the view lies in sticks, whatever is chosen. */
static bool is_bound(const tg_node_view *view, const tg_order *o) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    tg_term            terms[TG_MAX_NDIM];
    const tg_access    access = tg_view_access(terms, view);
    return n->in_sticks && tg_walks_all(&n->host, view->shape, &access);
}

/* Dimensions that can lie in sticks. */
static uint32_t lying(const tg_node_view *view, const tg_order *o) {
    uint32_t dims = walked(view);
    for (int32_t d = 0; d < view->ndim; d++)
        if ((dims >> d & 1) != 0 && !tg_can_be_stick(view, o, d)) dims &= ~(UINT32_C(1) << d);
    return dims;
}

/* Elements of the copy in which dimension d can lie in sticks; 0 if it can as it is, INT64_MAX if they are too many to
 * count. */
static int64_t price(const tg_node_view *view, const tg_order *o, int32_t d) {
    int64_t elements = 1;
    if ((lying(view, o) >> d & 1) != 0) return 0;
    for (int32_t i = 0; i < view->ndim; i++)
        if ((i == d || (walked(view) >> i & 1) != 0) && !tg_mul(&elements, elements, view->shape[i])) return INT64_MAX;
    return elements;
}

/* A tensor of the view's own that has dimension d, too; its other dimensions are as they were. The device writes it if
 * it can bring the sticks to where they are wanted. */
static tg_status spread(tg_node_view *view, const tg_order *o, int32_t d) {
    const tg_node_row *n = tg_node_at(o->l->graph, view->node);
    const bool         copies = n->format == TG_SEN169_FP16 && lying(view, o) != 0;
    const uint32_t     kept = walked(view) | UINT32_C(1) << d;
    const tg_node_view whole = *view;
    for (int32_t i = 0; i < view->ndim; i++)
        if ((kept >> i & 1) == 0) view->shape[i] = 1;
    const tg_status s = tg_draft_copy(view, o, copies ? TG_NODE_POINTWISE : TG_NODE_CLONE);
    for (int32_t i = 0; s == TG_OK && i < view->ndim; i++) {
        if ((kept >> i & 1) == 0) view->step[i] = 0;
        view->shape[i] = whole.shape[i];
    }
    return s;
}

/* The last of the dimensions that take the fewest elements. */
static int32_t choose(const tg_node_view *views, uint32_t bound, uint32_t dims, const tg_order *o) {
    int64_t least = INT64_MAX;
    int32_t best = -1;
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) {
        int64_t sum = 0;
        if ((dims >> d & 1) == 0) continue;
        for (int32_t k = 0; k < MOST; k++)
            if ((bound >> k & 1) != 0 && !tg_add(&sum, sum, price(&views[k], o, d))) sum = INT64_MAX;
        if (best < 0 || sum <= least) best = d;
        least = tg_min(least, sum);
    }
    return best;
}

tg_status tg_lower_spread(tg_node_view *views, int64_t n, const tg_order *o) {
    uint32_t  bound = 0, common = UINT32_MAX, any = 0;
    tg_status s = TG_OK;
    for (int64_t k = 0; k < tg_min(n, MOST); k++) {
        if (walked(&views[k]) == 0 || !is_bound(&views[k], o)) continue;
        bound |= UINT32_C(1) << k;
        common &= lying(&views[k], o);
        any |= walked(&views[k]);
    }
    if (bound == 0 || common != 0) return TG_OK;
    const int32_t d = choose(views, bound, any, o);
    for (int32_t k = 0; k < MOST && s == TG_OK; k++)
        if ((bound >> k & 1) != 0 && (lying(&views[k], o) >> d & 1) == 0) s = spread(&views[k], o, d);
    return s;
}
