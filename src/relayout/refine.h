/* The digits of one dimension, and the common refinement of both sides.
 *
 * A side's digits are what its modes cut a coordinate by: weights 64 and 1 for sticks of 64, each with the stride of
 * its mode. Digits that together walk evenly are one, so that most dimensions have a single digit on either side.
 * Where the weights of both sides nest, all of them together are digits of both:
 *
 *     dst, weight (stride)     64 (1024)           1 (1)       sticks of 64, 16 rows
 *     src                                8 (96)    1 (1)       tiles of 8
 *     both (dst, src)          64 (1024, 768)   8 (8, 96)   1 (1, 1)
 *
 * Inline, because a plan should take no longer than moving some kilobytes. */
#ifndef TG_RELAYOUT_REFINE_H
#define TG_RELAYOUT_REFINE_H

#include "base/checked.h"

#include <tegula/tegula.h>

enum { TG_BOTH_DIGITS = 12 /* of one dimension */ };

/* One side alone has its strides in dst. */
typedef struct tg_both_digit {
    int64_t weight, dst, src; /* steps in elements */
    int64_t size;             /* positions in dst */
    int64_t steps;            /* of both sides, in one of the digit above, if there is one */
} tg_both_digit;

typedef struct tg_both_digits {
    int32_t       n;
    tg_both_digit at[TG_BOTH_DIGITS]; /* by decreasing weight */
} tg_both_digits;

/* Does a digit below `high` walk on where one step of that ends? Then both are one. */
static inline bool tg_merge_digit(tg_both_digit *high, int64_t weight, int64_t stride, int64_t size) {
    const int64_t ratio = tg_div(high->weight, weight);
    int64_t       step, whole;
    if (size != ratio || ratio * weight != high->weight) return false;
    if (!tg_mul(&step, stride, ratio) || step != high->dst || !tg_mul(&whole, high->size, ratio)) return false;
    high->weight = weight;
    high->dst = stride;
    high->size = whole;
    return true;
}

/* The memory digits of one axis, from chain position *at on, down to that of weight 1. */
static inline bool tg_collect(tg_both_digits *out, const tg_layout *l, int32_t axis, int32_t *at, bool padded) {
    tg_both_digit *g = out->at; /* the next one */
    int64_t        weight = 0;
    int32_t        i = *at;
    for (; weight != 1 && i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[l->chain[i]];
        if (TG_RARELY(m->axis != axis)) break;
        const int64_t size = padded ? m->size : m->count; /* src's own padding is nobody's */
        weight = m->weight;
        if (size <= 1 || (g > out->at && tg_merge_digit(g - 1, weight, m->stride, size))) continue;
        if (TG_RARELY(g == out->at + TG_BOTH_DIGITS)) return false;
        g->weight = weight;
        g->dst = m->stride;
        g->size = size;
        g++;
    }
    if (TG_RARELY(g > out->at && g[-1].weight != 1)) { /* one coordinate, with padding above it: it has a step too */
        if (g == out->at + TG_BOTH_DIGITS) return false;
        *g++ = (tg_both_digit){.weight = 1, .size = 1};
    }
    out->n = (int32_t)(g - out->at);
    *at = i;
    return true;
}

/* Most dimensions are a single mode, or none, on either side; *at goes on behind it. False if there are more modes. */
static inline bool tg_single_mode(tg_both_digit *out, const tg_layout *l, int32_t axis, int32_t *at, bool padded) {
    out->weight = out->size = 1;
    out->dst = 0;
    if (TG_RARELY(*at == l->nmodes)) return true;
    const tg_mode *m = &l->mode[l->chain[*at]];
    if (TG_RARELY(m->axis != axis)) return true;
    out->dst = m->stride;
    out->size = padded ? m->size : m->count;
    ++*at;
    return TG_MOSTLY(m->weight == 1);
}

static inline void tg_one_digit(tg_both_digits *out, int64_t stride, int64_t size) {
    out->n = size > 1;
    out->at[0].weight = 1;
    out->at[0].dst = stride;
    out->at[0].size = size;
}

/* Most sides are a single walk. */
static inline bool tg_is_even(const tg_both_digits *g) { return g->n == 0 || (g->n == 1 && g->at[0].weight == 1); }

static inline int64_t tg_even_step(const tg_both_digits *even) { return even->n == 0 ? 0 : even->at[0].dst; }

/* False if the weight above, 0 if there is none, is no multiple. */
static inline bool tg_put_weight(tg_both_digit *g, int64_t weight, int64_t above) {
    g->weight = weight;
    g->steps = tg_div(above, weight);
    return TG_MOSTLY(g->steps * weight == above);
}

/* Then a step of any weight is so many of its steps: the other side's digits, at least one, become both's. */
static inline bool tg_refine_even(tg_both_digits *cut, int64_t step, bool cut_is_dst) {
    int64_t above = 0;
    for (tg_both_digit *g = cut->at, *const end = g + cut->n; g < end; g++) {
        int64_t other;
        if (!tg_mul(&other, step, g->weight) || !tg_put_weight(g, g->weight, above)) return false;
        above = g->weight;
        g->src = cut_is_dst ? other : g->dst;
        if (!cut_is_dst) g->dst = other;
    }
    return true;
}

/* What one step of weight w moves a side whose first digit of weight <= w is `at`. */
static inline bool tg_step_at(int64_t *out, const tg_both_digits *side, int32_t at, int64_t w) {
    *out = 0;
    if (at == side->n) return true;
    const tg_both_digit *g = &side->at[at];
    return g->weight == w ? (*out = g->dst, true) : tg_mul(out, g->dst, tg_div(w, g->weight));
}

/* All weights of both sides, at least one; NULL if they do not nest. What dst's digits are in dst they stay; the others
 * may change, and have a place in `room`. */
static inline const tg_both_digits *tg_refine(tg_both_digits *room, tg_both_digits *dst, tg_both_digits *src) {
    tg_both_digits *const out = room;
    int32_t               i = 0, j = 0;
    if (TG_MOSTLY(tg_is_even(src))) {
        if (TG_RARELY(dst->n == 0)) {
            tg_one_digit(room, 0, 0);
            room->n = 1;
            dst = room;
        }
        return tg_refine_even(dst, tg_even_step(src), true) ? dst : NULL;
    }
    if (tg_is_even(dst)) return tg_refine_even(src, tg_even_step(dst), false) ? src : NULL;
    out->n = 0;
    while (i < dst->n || j < src->n) {
        const int64_t a = i < dst->n ? dst->at[i].weight : 0, b = j < src->n ? src->at[j].weight : 0;
        const int64_t w = tg_max(a, b);
        tg_both_digit *g = &out->at[out->n];
        if (out->n == TG_BOTH_DIGITS || !tg_put_weight(g, w, out->n > 0 ? g[-1].weight : 0)) return NULL;
        if (!tg_step_at(&g->dst, dst, i, w) || !tg_step_at(&g->src, src, j, w)) return NULL;
        i += a == w;
        j += b == w;
        out->n++;
    }
    return out;
}

#endif
