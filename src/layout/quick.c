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

/* How far offsets of data reach. */
typedef struct reach {
    int64_t low, high;
} reach;

/* r is NULL if all positions are known to be in the storage. */
static inline bool meet(reach *r, const tg_mode *m) {
    int64_t all;
    if (r == NULL) return true;
    if (m->size <= 1) return m->stride != INT64_MIN;
    if (!tg_mul(&all, m->size - 1, m->stride)) return false;
    if (TG_RARELY(all > FAR || all < -FAR)) return false;
    const int64_t data = (m->count - 1) * m->stride; /* no further, since 1 <= count <= size */
    if (data < 0) r->low += data;
    else r->high += data;
    return true;
}

/* Is the digit's count what is below `bound` divided by its weight, rounded up? */
static inline bool counts_right(const tg_mode *m, int64_t bound) {
    int64_t end;
    return TG_MOSTLY(tg_mul(&end, m->count, m->weight)) && TG_MOSTLY(end >= bound) &&
           TG_MOSTLY(end - m->weight < bound);
}

/* Is dimension d this mode alone, as it should be? Asked at once: a jump costs as much as seven of these steps. */
static inline bool is_single(const tg_mode *m, int32_t d, int64_t size) {
    const int64_t differs = (m->axis ^ d) | (m->into ^ TG_TO_MEMORY) | (m->weight ^ 1) | (m->count ^ size);
    return TG_MOSTLY(differs == 0) && TG_MOSTLY(m->size >= size);
}

/* The digits of dimension d, from chain position *at on, down to that of weight 1. None is met twice: they decrease. */
static inline bool check_digits(const tg_layout *l, int32_t d, int32_t *at, reach *r) {
    int64_t bound = l->shape[d], before = INT64_MAX;
    for (int32_t i = *at; TG_MOSTLY(i < l->nmodes); i++) {
        const int32_t number = l->chain[i];
        if (TG_RARELY(number >= l->nmodes)) return false;
        const tg_mode *m = &l->mode[number];
        if (TG_RARELY(m->axis != d)) break;
        if (TG_RARELY(m->into != TG_TO_MEMORY || m->count > m->size)) return false;
        if (m->weight == 1) return *at = i + 1, TG_MOSTLY(m->count == bound) && TG_MOSTLY(meet(r, m));
        if (TG_RARELY(m->weight < 1 || m->weight >= before || !counts_right(m, bound))) return false;
        if (TG_RARELY(!meet(r, m))) return false; /* its count is right */
        before = m->weight;
        bound = tg_min(bound, before);
    }
    return bound == 1 && before == INT64_MAX; /* no digits */
}

/* Modes without an axis stand behind the others, in their own order. */
static inline bool check_others(int64_t *copies, const tg_layout *l, int32_t at, reach *r) {
    int32_t last = -1;
    for (; at < l->nmodes; at++) {
        const int32_t number = l->chain[at];
        if (TG_RARELY(number >= l->nmodes || number <= last)) return false;
        const tg_mode *m = &l->mode[number];
        if (TG_RARELY(m->axis >= 0 || m->axis < TG_AXIS_COPY || m->into != TG_TO_MEMORY)) return false;
        if (TG_RARELY(m->weight != 1 || m->size < 0)) return false;
        if (m->count != (m->axis == TG_AXIS_COPY ? m->size : tg_min(m->size, 1)) || TG_RARELY(!meet(r, m)))
            return false;
        if (m->axis == TG_AXIS_COPY && !tg_mul(copies, *copies, m->size)) *copies = INT64_MAX;
        last = number;
    }
    return true;
}

/* Does each mode go on where those behind it end, as in tiled layouts and row-major arrays? There are no folds; else l
 * need not be valid: sizes below 0 are for others to find. */
static inline bool is_dense_in_order(int64_t *span, const tg_layout *l) {
    int64_t end = 1;
    const tg_mode *m = l->mode + l->nmodes;
    while (m > l->mode) {
        m--;
        if (TG_RARELY(m->stride != end) && (m->size != 1 || m->stride == INT64_MIN)) return false;
        if (TG_RARELY(!tg_mul(&end, end, m->size))) return false;
    }
    *span = end;
    if (TG_RARELY(l->offset != 0)) return false;
    return TG_MOSTLY(end > 0) && TG_MOSTLY(end <= l->span);
}

/* Every mode is met once: the chain has as many places as there are modes, and none of these stands there twice. */
static inline bool walk_chain(tg_extent *out, const tg_layout *l, reach *r) {
    int64_t  numel = 1;
    int32_t  at = 0;
    uint32_t single = 0, bit = 1;
    for (int32_t d = 0; d < l->ndim; d++, bit += bit) {
        const int64_t size = l->shape[d];
        if (TG_RARELY(size < 1 || l->axis_size[d] != size) || !tg_mul(&numel, numel, size)) return false;
        if (TG_MOSTLY(at < l->nmodes)) {
            const int32_t number = l->chain[at];
            if (TG_MOSTLY(number < l->nmodes && is_single(&l->mode[number], d, size))) {
                if (!meet(r, &l->mode[number])) return false;
                single |= bit;
                at++;
                continue;
            }
        }
        if (TG_RARELY(!check_digits(l, d, &at, r))) return false;
    }
    out->single = single;
    out->numel = numel;
    out->copies = 1;
    return TG_MOSTLY(at == l->nmodes) || TG_MOSTLY(check_others(&out->copies, l, at, r));
}

/* Apart from the common case, which needs no place for it. */
TG_OUTLINE bool walk_far(tg_extent *out, const tg_layout *l) {
    reach r = {l->offset, l->offset};
    return walk_chain(out, l, &r) && r.low >= 0 && r.high < l->span;
}

bool tg_layout_quick(tg_extent *out, const tg_layout *l) {
    int64_t bits;
    if (TG_RARELY(l->ndim < 0 || l->ndim > TG_MAX_NDIM || l->naxes != l->ndim)) return false;
    if (TG_RARELY(l->nmodes < 0 || l->nmodes > TG_MAX_MODES || l->offset < 0 || l->offset > FAR)) return false;
    if (TG_RARELY(l->elem_bits < 1 || l->elem_bits > 4096 || tg_dtype_bits(l->dtype) == 0)) return false;
    if (!tg_mul(&bits, l->span, 2 * l->elem_bits)) return false; /* stricter than need be */
    out->dense = is_dense_in_order(&out->dense_span, l);
    return TG_MOSTLY(out->dense) ? walk_chain(out, l, NULL) : walk_far(out, l);
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
