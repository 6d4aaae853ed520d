/* The invariants of a layout in one pass, for callers that have no time.
 *
 * A plan is made for every move, and a move can take less time than tg_layout_validate does. Nearly all layouts have no
 * folds, their modes stand in order already, and then one walk over the chain decides. Where this says no, the
 * layout may still be right: tg_layout_validate knows, and says why if not. */
#include "layout/layout.h"

/* No mode may reach further: then no sum of theirs overflows. */
#define FAR ((int64_t)1 << 56)

/* How far offsets of data reach below and above l->offset. */
typedef struct reach {
    int64_t low, high;
} reach;

static inline bool widen(reach *r, const tg_mode *m) {
    int64_t all;
    if (m->size <= 1) return m->size >= 0 && m->stride != INT64_MIN;
    if (!tg_mul(&all, m->size - 1, m->stride) || all > FAR || all < -FAR) return false;
    const int64_t data = (m->count - 1) * m->stride; /* no further, since 1 <= count <= size */
    r->low += tg_min(data, 0);
    r->high += tg_max(data, 0);
    return true;
}

/* The digits of dimension d, from chain position *at on, down to that of weight 1; each of `seen` is a mode that was
 * met. */
static inline bool check_dim(const tg_layout *l, int32_t d, int32_t *at, uint64_t *seen, reach *r) {
    int64_t bound = l->shape[d], before = INT64_MAX;
    int32_t i = *at;
    for (; before != 1 && i < l->nmodes; i++) {
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
    reach    r = {l->offset, l->offset};
    int64_t  numel = 1, bits;
    uint64_t seen = 0;
    int32_t  at = 0;
    if (l->ndim < 0 || l->ndim > TG_MAX_NDIM || l->naxes != l->ndim || l->nmodes < 0 || l->nmodes > TG_MAX_MODES)
        return false;
    if (l->offset < 0 || l->offset > FAR || l->elem_bits < 1 || l->elem_bits > 4096 || tg_dtype_bits(l->dtype) == 0)
        return false;
    for (int32_t d = 0; d < l->ndim; d++) {
        if (l->shape[d] < 1 || l->axis_size[d] != l->shape[d] || !tg_mul(&numel, numel, l->shape[d])) return false;
        if (!check_dim(l, d, &at, &seen, &r)) return false;
    }
    if (at < l->nmodes && !check_others(l, at, &seen, &r)) return false;
    if (seen != ((uint64_t)1 << l->nmodes) - 1) return false; /* some mode twice, or of no axis */
    if (l->span > INT64_MAX / 2 || !tg_mul(&bits, l->span, l->elem_bits)) return false; /* stricter than need be */
    out->numel = numel;
    out->low = r.low;
    out->high = r.high;
    return r.low >= 0 && r.high < l->span;
}

/* Each mode goes on where those before it end. Tiled layouts stand outermost first: one round. */
bool tg_layout_dense(int64_t *span, const tg_layout *l) {
    int32_t used = 0, before, all;
    *span = 1;
    if (l->offset != 0) return false;
    do {
        before = used;
        all = 0;
        for (int32_t i = l->nmodes; i-- > 0;) {
            const tg_mode *m = &l->mode[i];
            if (m->size == 1 || !tg_is_memory(m)) continue;
            all++;
            if (m->stride != *span) continue;
            if (m->size == 0 || !tg_mul(span, *span, m->size)) return false;
            used++;
        }
    } while (used > before && used < all);
    return used == all && *span <= l->span;
}
