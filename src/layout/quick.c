/* The invariants of a layout in one pass, for callers that have no time.
 *
 * A plan is made for every move, and a move can take less time than tg_layout_validate does. Nearly all layouts have no
 * folds, their modes stand in order already, and then one walk over the chain decides. Where this says no, the
 * layout may still be right: tg_layout_validate knows, and says why if not. */
#include "layout/layout.h"

/* How far offsets reach below and above l->offset: of data, and of all positions. */
typedef struct reach {
    int64_t low, high, all_low, all_high;
} reach;

static inline bool widen(reach *r, const tg_mode *m) {
    int64_t all;
    if (m->stride == INT64_MIN) return false;
    if (m->size <= 1) return m->size >= 0;
    if (!tg_mul(&all, m->size - 1, m->stride)) return false;
    const int64_t data = m->count == m->size ? all : m->count > 1 ? (m->count - 1) * m->stride : 0;
    int64_t *const reach_all = all < 0 ? &r->all_low : &r->all_high;
    if (!tg_add(reach_all, *reach_all, all)) return false;
    *(all < 0 ? &r->low : &r->high) += data; /* between 0 and that: fits */
    return true;
}

/* The digits of dimension d, from chain position *at on; each of `seen` is a mode that was met. */
static inline bool check_dim(const tg_layout *l, int32_t d, int32_t *at, uint64_t *seen, reach *r) {
    int64_t bound = l->shape[d], before = INT64_MAX;
    int32_t i = *at;
    for (; i < l->nmodes; i++) {
        const uint8_t number = l->chain[i];
        if (number >= TG_MAX_MODES) return false;
        const tg_mode *m = &l->mode[number];
        if (m->axis != d) break;
        if (m->into != TG_TO_MEMORY || m->weight < 1 || m->weight >= before || m->count > m->size) return false;
        if (m->count != (m->weight == 1 ? bound : tg_ceil_div(bound, m->weight)) || !widen(r, m)) return false;
        *seen |= (uint64_t)1 << number;
        before = m->weight;
        bound = tg_min(bound, before);
    }
    const bool some = i > *at;
    *at = i;
    return some ? before == 1 : bound == 1;
}

/* Modes without an axis stand behind the others, in their own order. */
static bool check_others(const tg_layout *l, int32_t at, uint64_t *seen, reach *r) {
    int32_t last = -1;
    for (; at < l->nmodes; at++) {
        const uint8_t number = l->chain[at];
        if (number >= TG_MAX_MODES || number <= last) return false;
        const tg_mode *m = &l->mode[number];
        if (m->axis >= 0 || m->axis < TG_AXIS_COPY || m->into != TG_TO_MEMORY || m->weight != 1 || m->size < 0)
            return false;
        if (m->count != (m->axis == TG_AXIS_COPY ? m->size : tg_min(m->size, 1)) || !widen(r, m)) return false;
        *seen |= (uint64_t)1 << number;
        last = number;
    }
    return true;
}

bool tg_layout_quick(tg_extent *out, const tg_layout *l) {
    reach    r = {0, 0, 0, 0};
    int64_t  numel = 1, low, high, bits;
    uint64_t seen = 0;
    int32_t  at = 0;
    if (l->ndim < 0 || l->ndim > TG_MAX_NDIM || l->naxes != l->ndim || l->nmodes < 0 || l->nmodes > TG_MAX_MODES)
        return false;
    if (l->span < 0 || l->elem_bits < 1 || l->elem_bits > 4096 || tg_dtype_bits(l->dtype) == 0) return false;
    for (int32_t d = 0; d < l->ndim; d++) {
        if (l->shape[d] < 1 || l->axis_size[d] != l->shape[d] || !tg_mul(&numel, numel, l->shape[d])) return false;
        if (!check_dim(l, d, &at, &seen, &r)) return false;
    }
    if (at < l->nmodes && !check_others(l, at, &seen, &r)) return false;
    if (seen != ((uint64_t)1 << l->nmodes) - 1) return false; /* some mode twice, or of no axis */
    if (!tg_add(&high, l->offset, r.all_high) || !tg_add(&low, l->offset, r.all_low) || !tg_sub(&bits, high, low) ||
        bits == INT64_MAX)
        return false;
    if (!tg_mul(&bits, l->span, l->elem_bits)) return false; /* stricter than need be */
    out->low = l->offset + r.low;
    out->high = l->offset + r.high;
    out->numel = numel;
    return out->low >= 0 && out->high < l->span;
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
