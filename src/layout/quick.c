/* The invariants of a layout in one pass, for callers that have no time.
 *
 * A plan is made for every move, and a move can take less time than tg_layout_validate does. Nearly all layouts have no
 * folds, their modes stand in order already, and then one walk over the chain decides. Where this says no, the
 * layout may still be right: tg_layout_validate knows, and says why if not. */
#include "layout/layout.h"

#include <string.h>

typedef struct walk {
    const tg_layout *l;
    int64_t          low, high, high_padded, low_padded;
    uint64_t         seen; /* modes */
    uint32_t         axes;
} walk;

/* Offsets of the mode's positions, padding included, fit; those of its data widen [low, high]. */
static bool widen(walk *w, const tg_mode *m) {
    int64_t all;
    if (m->size <= 1) return true;
    if (m->stride == INT64_MIN || !tg_mul(&all, m->size - 1, m->stride)) return false;
    int64_t *const padded = m->stride < 0 ? &w->low_padded : &w->high_padded;
    if (!tg_add(padded, *padded, all)) return false;
    if (m->count > 1)
        *(m->stride < 0 ? &w->low : &w->high) += (m->count - 1) * m->stride; /* between data and padding: fits */
    return true;
}

typedef struct place {
    int32_t axis;
    int64_t weight; /* of the digit before, INT64_MAX at the first; 1 where an axis may end */
} place;

static bool check_digit(walk *w, int32_t i, place *at) {
    const tg_layout *l = w->l;
    const tg_mode   *m = &l->mode[l->chain[i]];
    if (m->axis != at->axis) {
        if (at->weight != 1 || m->axis < at->axis || m->axis >= l->ndim) return false;
        at->axis = m->axis;
        at->weight = INT64_MAX;
        w->axes |= 1u << m->axis;
    }
    const int64_t bound = tg_min(l->shape[m->axis], at->weight);
    if (m->weight < 1 || m->weight >= at->weight || m->into != TG_TO_MEMORY || m->count > m->size) return false;
    if (m->count != (m->weight == 1 ? bound : tg_ceil_div(bound, m->weight))) return false;
    at->weight = m->weight;
    return widen(w, m);
}

/* Modes without an axis stand behind the others, in their own order. */
static bool check_other(walk *w, int32_t i) {
    const tg_layout *l = w->l;
    const tg_mode   *m = &l->mode[l->chain[i]];
    if (m->axis >= 0 || m->axis < TG_AXIS_COPY || m->into != TG_TO_MEMORY || m->weight != 1 || m->size < 0)
        return false;
    if (i > 0 && l->mode[l->chain[i - 1]].axis < 0 && l->chain[i - 1] > l->chain[i]) return false;
    if (m->count != (m->axis == TG_AXIS_COPY ? m->size : tg_min(m->size, 1))) return false;
    return widen(w, m);
}

static bool see(walk *w, uint8_t m) {
    if (m >= w->l->nmodes || (w->seen >> m & 1) != 0) return false;
    w->seen |= (uint64_t)1 << m;
    return true;
}

static bool check_chain(walk *w) {
    const tg_layout *l = w->l;
    place            at = {-1, 1};
    bool             others = false;
    for (int32_t i = 0; i < l->nmodes; i++) {
        if (!see(w, l->chain[i])) return false;
        others = others || l->mode[l->chain[i]].axis < 0;
        if (others ? !check_other(w, i) : !check_digit(w, i, &at)) return false;
    }
    return at.weight == 1;
}

bool tg_layout_quick(tg_extent *out, const tg_layout *l) {
    walk    w = {l, l->offset, l->offset, l->offset, l->offset, 0, 0};
    int64_t numel = 1, bytes;
    if (l->ndim < 0 || l->ndim > TG_MAX_NDIM || l->naxes != l->ndim || l->nmodes < 0 || l->nmodes > TG_MAX_MODES)
        return false;
    if (l->span < 0 || l->elem_bits < 1 || l->elem_bits > 4096 || tg_dtype_bits(l->dtype) == 0) return false;
    for (int32_t d = 0; d < l->ndim; d++)
        if (l->shape[d] < 1 || l->axis_size[d] != l->shape[d] || !tg_mul(&numel, numel, l->shape[d])) return false;
    if (!check_chain(&w)) return false;
    for (int32_t d = 0; d < l->ndim; d++)
        if (l->shape[d] > 1 && (w.axes >> d & 1) == 0) return false;
    if (!tg_sub(&bytes, w.high_padded, w.low_padded) || !tg_add(&bytes, bytes, 1)) return false;
    if (!tg_mul(&bytes, l->span, l->elem_bits)) return false; /* stricter than need be */
    if (w.low < 0 || w.high >= l->span) return false;
    const tg_extent e = {w.low, w.high, numel};
    *out = e;
    return true;
}

bool tg_layout_dense(int64_t *span, const tg_layout *l) {
    const tg_mode *sorted[TG_MAX_MODES];
    int32_t        n = 0;
    *span = 1;
    if (l->offset != 0) return false;
    for (int32_t i = l->nmodes; i-- > 0;) { /* tiled layouts stand outermost first: sorted already */
        const tg_mode *m = &l->mode[i];
        if (!tg_is_memory(m) || m->size == 1) continue;
        int32_t j = n++;
        for (; j > 0 && sorted[j - 1]->stride > m->stride; j--) sorted[j] = sorted[j - 1];
        sorted[j] = m;
    }
    for (int32_t i = 0; i < n; i++) {
        if (sorted[i]->stride != *span) return false;
        if (!tg_mul(span, *span, sorted[i]->size)) return false;
    }
    return *span > 0 && *span <= l->span;
}
