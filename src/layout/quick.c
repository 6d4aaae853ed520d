/* The invariants of a layout in one pass, for callers that have no time.
 *
 * A plan is made for every move, and a move can take less time than tg_layout_validate does. Nearly all layouts have no
 * folds, their modes stand in order already, and then one walk over the chain decides. Where this says no, the
 * layout may still be right: tg_layout_validate knows, and says why if not. */
#include "layout/layout.h"

/* How far offsets of data reach below and above l->offset, and how much further those of padding do. */
typedef struct reach {
    int64_t low, high, pad_low, pad_high;
} reach;

static inline bool stretch(int64_t *low, int64_t *high, int64_t by) {
    return by < 0 ? tg_add(low, *low, by) : tg_add(high, *high, by);
}

static inline bool widen(reach *r, const tg_mode *m) {
    int64_t all;
    if (m->stride == INT64_MIN) return false;
    if (m->size <= 1) return m->size >= 0;
    if (!tg_mul(&all, m->size - 1, m->stride)) return false;
    if (m->count == m->size) return stretch(&r->low, &r->high, all);
    const int64_t data = m->count > 1 ? (m->count - 1) * m->stride : 0; /* between 0 and `all`: fits */
    return stretch(&r->low, &r->high, data) && stretch(&r->pad_low, &r->pad_high, all - data);
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
    if (!tg_add(&out->high, l->offset, r.high) || !tg_add(&high, out->high, r.pad_high)) return false;
    if (!tg_add(&out->low, l->offset, r.low) || !tg_add(&low, out->low, r.pad_low)) return false;
    if (!tg_sub(&bits, high, low) || bits == INT64_MAX) return false;
    if (!tg_mul(&bits, l->span, l->elem_bits)) return false; /* stricter than need be */
    out->numel = numel;
    return out->low >= 0 && out->high < l->span;
}

/* Each mode goes on where those before it end. Tiled layouts stand outermost first: one round. */
bool tg_layout_dense(int64_t *span, const tg_layout *l) {
    int32_t left = 0;
    *span = 1;
    if (l->offset != 0) return false;
    for (int32_t i = 0; i < l->nmodes; i++) left += tg_is_memory(&l->mode[i]) && l->mode[i].size != 1;
    while (left > 0) {
        const int32_t before = left;
        for (int32_t i = l->nmodes; i-- > 0;) {
            const tg_mode *m = &l->mode[i];
            if (m->stride != *span || m->size == 1 || !tg_is_memory(m)) continue;
            if (m->size == 0 || !tg_mul(span, *span, m->size)) return false;
            left--;
        }
        if (left == before) return false;
    }
    return *span <= l->span;
}
