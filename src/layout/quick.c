/* The invariants of a layout in one pass, for callers that have no time.
 *
 * A plan is made for every move, and a move can take less time than tg_layout_validate does. Nearly all layouts have no
 * folds, their modes stand in order already, and then one walk over the chain decides. Where this says no, the
 * layout may still be right: tg_layout_validate knows, and says why if not.
 *
 * Most of them are dense as well, outermost mode first. That is asked first, for then no position is outside of the
 * storage, and nothing has to be added up. */
#include "layout/layout.h"

/* No mode may reach further: then no sum of theirs overflows. */
#define FAR ((int64_t)1 << 56)

/* What is known of the modes so far: how far offsets of data reach, unless all positions are known to be in the
 * storage; and bit i: mode i was met. */
typedef struct known {
    bool     dense;
    int64_t  low, high;
    uint64_t seen;
} known;

static inline bool widen(known *k, const tg_mode *m) {
    int64_t all;
    if (m->size <= 1) return m->stride != INT64_MIN;
    if (!tg_mul(&all, m->size - 1, m->stride)) return false;
    if (TG_RARELY(all > FAR || all < -FAR)) return false;
    const int64_t data = (m->count - 1) * m->stride; /* no further, since 1 <= count <= size */
    if (data < 0) k->low += data;
    else k->high += data;
    return true;
}

static inline bool meet(known *k, const tg_mode *m, int32_t number) {
    k->seen |= (uint64_t)1 << number;
    return TG_MOSTLY(k->dense) || widen(k, m);
}

/* Is the digit's count what is below `bound` divided by its weight, rounded up? */
static inline bool counts_right(const tg_mode *m, int64_t bound) {
    int64_t end;
    return tg_mul(&end, m->count, m->weight) && end >= bound && end - m->weight < bound;
}

/* The digits of dimension d, from chain position *at on, down to that of weight 1. */
static inline bool check_dim(const tg_layout *l, int32_t d, int32_t *at, known *k) {
    int64_t bound = l->shape[d], before = INT64_MAX;
    for (;;) {
        const int32_t number = *at < l->nmodes ? l->chain[*at] : 0;
        if (TG_RARELY(number >= TG_MAX_MODES)) return false;
        const tg_mode *m = &l->mode[number];
        if (TG_RARELY(m->axis != d || *at == l->nmodes)) return bound == 1 && before == INT64_MAX; /* no digits */
        if (TG_RARELY(m->into != TG_TO_MEMORY || m->count > m->size)) return false;
        ++*at;
        if (TG_MOSTLY(m->weight == 1)) return TG_MOSTLY(m->count == bound) && meet(k, m, number);
        if (TG_RARELY(m->weight < 1 || m->weight >= before || !counts_right(m, bound))) return false;
        if (TG_RARELY(!meet(k, m, number))) return false;
        before = m->weight;
        bound = tg_min(bound, before);
    }
}

/* Modes without an axis stand behind the others, in their own order. */
static bool check_others(const tg_layout *l, int32_t at, known *k) {
    int32_t last = -1;
    for (; at < l->nmodes; at++) {
        const int32_t number = l->chain[at];
        if (TG_RARELY(number >= TG_MAX_MODES || number <= last)) return false;
        const tg_mode *m = &l->mode[number];
        if (TG_RARELY(m->axis >= 0 || m->axis < TG_AXIS_COPY || m->into != TG_TO_MEMORY)) return false;
        if (TG_RARELY(m->weight != 1 || m->size < 0)) return false;
        if (m->count != (m->axis == TG_AXIS_COPY ? m->size : tg_min(m->size, 1)) || TG_RARELY(!meet(k, m, number)))
            return false;
        last = number;
    }
    return true;
}

/* Does each mode go on where those behind it end, as in tiled layouts and row-major arrays? There are no folds; else l
 * need not be valid: sizes below 0 are for others to find. */
static inline bool is_dense_in_order(int64_t *span, const tg_layout *l) {
    int64_t end = 1;
    for (int32_t i = l->nmodes; i-- > 0;) {
        const tg_mode *m = &l->mode[i];
        if (TG_MOSTLY(m->stride == end)) {
            if (!tg_mul(&end, end, m->size)) return false;
        } else if (m->size != 1 || m->stride == INT64_MIN) {
            return false;
        }
    }
    *span = end;
    if (TG_RARELY(l->offset != 0)) return false;
    return TG_MOSTLY(end > 0) && TG_MOSTLY(end <= l->span);
}

bool tg_layout_quick(tg_extent *out, const tg_layout *l) {
    int64_t numel = 1, bits;
    int32_t at = 0;
    if (TG_RARELY(l->ndim < 0 || l->ndim > TG_MAX_NDIM || l->naxes != l->ndim)) return false;
    if (TG_RARELY(l->nmodes < 0 || l->nmodes > TG_MAX_MODES || l->offset < 0 || l->offset > FAR)) return false;
    if (TG_RARELY(l->elem_bits < 1 || l->elem_bits > 4096 || tg_dtype_bits(l->dtype) == 0)) return false;
    out->dense = is_dense_in_order(&out->dense_span, l);
    known k = {out->dense, l->offset, out->dense ? out->dense_span - 1 : l->offset, 0};
    for (int32_t d = 0; d < l->ndim; d++) {
        if (TG_RARELY(l->shape[d] < 1 || l->axis_size[d] != l->shape[d])) return false;
        if (!tg_mul(&numel, numel, l->shape[d]) || TG_RARELY(!check_dim(l, d, &at, &k))) return false;
    }
    out->first_other = at;
    if (at < l->nmodes && TG_RARELY(!check_others(l, at, &k))) return false;
    if (TG_RARELY(k.seen != ((uint64_t)1 << l->nmodes) - 1)) return false; /* some mode twice, or of no axis */
    if (TG_RARELY(l->span > INT64_MAX / 2)) return false; /* stricter than need be */
    if (!tg_mul(&bits, l->span, l->elem_bits)) return false;
    out->numel = numel;
    out->low = k.low;
    out->high = k.high;
    return TG_MOSTLY(k.dense) || (k.low >= 0 && k.high < l->span); /* dense: 0 and at most span - 1 */
}

/* Each mode goes on where those before it end. */
bool tg_layout_dense(int64_t *span, const tg_layout *l) {
    int32_t used = 0, before, all;
    if (l->naxes == l->ndim && is_dense_in_order(span, l)) return true;
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
