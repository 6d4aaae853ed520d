/* The digits of a view: a number x + step[0] p[0] + step[1] p[1] + ..., cut by weights.
 *
 * Each variable is followed alone, as if the others were 0: its residue below a weight is (step p + shift) mod wrap,
 * where wrap is the last weight at which its digit changed. At every weight w
 *   - a residue that stays between two multiples of w has the same digit for all p, and is shifted down;
 *   - any other gives a term, and goes on modulo w; if w does not divide its wrap, that would be a mod of a mod, which
 * is what running over a ragged edge means;
 *   - the residues of all variables together must stay in [0, w), counted from that of p = 0. Since each takes its
 * least and its greatest value whatever the others do, the sums of these decide. If they do not, there is a carry.
 *
 *     f16[2,256,4096] spyre, view [2,32,256,128] of strides [1048576,128,4096,1]
 *     weight   1048576     4096      64             1
 *     p0       p0
 *     p1                             2 p1                          128 p1 mod 4096, and 128 is 2 * 64
 *     p2                   p2
 *     p3                             floor(p3/64)   p3 mod 64      residues of p1 in the stick: 0, of p3: 0 to 63
 *
 * Nothing depends on how many values a variable has. */
#include "transfer/viewing.h"

typedef struct cutting {
    const tg_number *number;
    tg_view_term     residue[TG_MAX_NDIM]; /* stride 1 */
    int64_t          origin;               /* their common value at 0 */
} cutting;

static void emit(tg_view_coordinate *at, const tg_view_term *residue, int64_t weight) {
    tg_view_term term = *residue;
    term.stride = weight;
    at->term[at->nterms++] = term;
}

/* The residue of variable k below weight w; *low and *high receive its range. False at a ragged edge. */
static bool cut_variable(tg_view_coordinate *at, int64_t *low, int64_t *high, cutting *c, int32_t k, int64_t w) {
    tg_view_term *r = &c->residue[k];
    tg_term_range(low, high, r, c->number->n[k]);
    const int64_t q = *low / w;
    if (q == *high / w) {
        r->shift -= q * w;
        if (r->wrap > 0) r->shift = tg_floor_mod(r->shift, r->wrap);
        *low -= q * w;
        *high -= q * w;
        return true;
    }
    if (r->wrap % w != 0) return false;
    emit(at, r, w);
    r->wrap = w;
    r->step %= w;
    r->shift = tg_floor_mod(r->shift, w);
    tg_term_range(low, high, r, c->number->n[k]);
    return true;
}

static bool cut_digit(tg_digit_cut *out, cutting *c, int32_t i, int64_t w) {
    tg_view_coordinate *at = &out->at[i];
    const int64_t       origin = c->origin % w;
    int64_t             least = origin, greatest = origin;
    uint32_t            moving = 0;
    at->offset = c->origin / w;
    for (int32_t k = 0; k < c->number->ndim; k++) {
        int64_t       low, high;
        const int64_t edge = c->residue[k].wrap;
        if (!cut_variable(at, &low, &high, c, k, w)) {
            out->reason = TG_VIEW_RAGGED;
            out->dims = (uint32_t)1 << k;
            out->edge = edge;
            return false;
        }
        if (low != high) moving |= (uint32_t)1 << k;
        least += low - origin;
        greatest += high - origin;
    }
    c->origin = origin;
    if (least >= 0 && greatest < w) return true;
    out->reason = TG_VIEW_CARRY;
    out->dims = moving;
    return false;
}

void tg_cut_digits(tg_digit_cut *out, const tg_digit_list *digits, const tg_number *number) {
    cutting c = {.number = number, .origin = number->x};
    out->reason = TG_VIEW_FITS;
    out->dims = 0;
    out->edge = 0;
    for (int32_t k = 0; k < number->ndim; k++)
        c.residue[k] = (tg_view_term){k, number->step[k], number->x, 0, 1};
    for (int32_t i = 0; i < digits->n; i++) {
        const tg_digit *d = &digits->at[i];
        out->at[i].mode = d->mode;
        out->at[i].stride = d->stride;
        out->at[i].nterms = 0;
        out->digit = i;
        if (!cut_digit(out, &c, i, d->weight)) return;
    }
}
