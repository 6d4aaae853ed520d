#include "relayout/side.h"

#include "base/checked.h"

#include <string.h>

int32_t tg_move_dims(int64_t *size, const tg_layout *dst) {
    int32_t n = dst->ndim;
    memcpy(size, dst->shape, (size_t)n * sizeof size[0]);
    for (int32_t m = 0; m < dst->nmodes; m++)
        if (dst->mode[m].axis == TG_AXIS_COPY) size[n++] = dst->mode[m].size;
    if (n == 0) size[n++] = 1;
    return n;
}

/* By axis, the highest weight first, as nearly all are from the start: chains are. */
static void sort_digits(tg_side *s) {
    for (int32_t i = 1; i < s->ndigits; i++) {
        const tg_digit g = s->digit[i];
        int32_t        j = i;
        for (; j > 0; j--) {
            const tg_digit *h = &s->digit[j - 1];
            if (h->axis < g.axis || (h->axis == g.axis && h->weight > g.weight)) break;
            s->digit[j] = *h;
        }
        if (j < i) s->digit[j] = g;
    }
}

void tg_side_make(tg_side *out, const tg_layout *in, int32_t ndim, bool with_copies) {
    out->ndim = ndim;
    out->naxes = ndim + in->naxes - in->ndim;
    out->ndigits = 0;
    out->offset = in->offset;
    int32_t copy = in->ndim;
    for (int32_t i = 0; i < in->nmodes; i++) {
        const tg_mode *mode = &in->mode[in->chain[i]];
        tg_digit       g = {mode->weight, mode->stride, mode->axis, mode->into};
        if (g.axis == TG_AXIS_PAD || (g.axis == TG_AXIS_COPY && !with_copies)) continue;
        if (g.axis == TG_AXIS_COPY) g.axis = copy++;
        else if (g.axis >= in->ndim) g.axis += ndim - in->ndim;
        if (g.into >= 0) g.into += ndim - in->ndim;
        if (mode->count > 1) out->digit[out->ndigits++] = g; /* else it is always 0 */
    }
    sort_digits(out); /* copies stand behind folds */
}

/* ---- fewer and longer runs ---- */

static void remove_digit(tg_side *s, int32_t i) {
    s->ndigits--;
    memmove(&s->digit[i], &s->digit[i + 1], (size_t)(s->ndigits - i) * sizeof s->digit[0]);
}

/* Two digits that together walk evenly are one; they are sorted, so that the one below is the next. */
static void merge_digits(tg_side *s) {
    for (int32_t i = s->ndigits - 1; i-- > 0;) {
        const tg_digit *high = &s->digit[i], *low = &s->digit[i + 1];
        int64_t         stride;
        if (low->axis != high->axis || low->into != high->into || !tg_is_multiple(high->weight, low->weight)) continue;
        if (!tg_mul(&stride, low->stride, tg_div(high->weight, low->weight)) || stride != high->stride) continue;
        remove_digit(s, i);
    }
}

/* The last digit of a dimension, and whether there are others above it: a dimension without digits walks nowhere. */
static tg_digit last_digit(const tg_side *s, int32_t d, bool *others) {
    tg_digit last = {1, 0, d, TG_TO_MEMORY};
    *others = false;
    for (int32_t i = 0; i < s->ndigits; i++) {
        if (s->digit[i].axis != d) continue;
        if (s->digit[i].weight == 1) last = s->digit[i];
        else *others = true;
    }
    return last;
}

/* Is (i, j) to this side one dimension of size n_i * n_j, j running fastest? */
static bool fusible(const tg_side *s, int32_t i, int32_t j, const int64_t *size) {
    bool           above_i, above_j;
    int64_t        stride;
    const tg_digit a = last_digit(s, i, &above_i), b = last_digit(s, j, &above_j);
    if (above_j || a.into != b.into || !tg_mul(&stride, b.stride, size[j]) || stride != a.stride) return false;
    for (int32_t k = 0; k < s->ndigits; k++)
        if (s->digit[k].axis == i && !tg_mul(&stride, s->digit[k].weight, size[j])) return false;
    return true;
}

/* j takes i's digits, above its own one, which goes on where i's last one was. */
static void fuse(tg_side *s, int32_t i, int32_t j, int64_t size_j) {
    for (int32_t k = 0; k < s->ndigits; k++) {
        tg_digit *g = &s->digit[k];
        if (g->axis != i) continue;
        if (g->weight == 1) {
            remove_digit(s, k--);
            continue;
        }
        g->axis = j;
        g->weight *= size_j; /* fits: fusible() */
    }
    sort_digits(s);
}

static bool fuse_pair(tg_side *a, tg_side *b, int64_t *size, int32_t i, int32_t j, bool *fits) {
    if (i == j || size[i] <= 1 || size[j] <= 1 || !fusible(a, i, j, size) || !fusible(b, i, j, size)) return false;
    int64_t product;
    if (!tg_mul(&product, size[i], size[j])) {
        *fits = false;
        return false;
    }
    fuse(a, i, j, size[j]);
    fuse(b, i, j, size[j]);
    size[i] = 1;
    size[j] = product;
    return true;
}

static bool fuse_dims(tg_side *a, tg_side *b, int64_t *size, bool *fits) {
    for (int32_t i = 0; i < a->ndim; i++)
        for (int32_t j = 0; j < a->ndim; j++)
            if (fuse_pair(a, b, size, i, j, fits)) return true;
    return false;
}

bool tg_sides_simplify(tg_side *a, tg_side *b, int64_t *size) {
    bool fits = true;
    for (;;) {
        merge_digits(a);
        merge_digits(b);
        if (!fuse_dims(a, b, size, &fits) || !fits) return fits;
    }
}

/* ---- evaluation ---- */

void tg_side_finish(tg_side *s) {
    for (int32_t a = 0, i = 0; a <= s->naxes; a++) {
        while (i < s->ndigits && s->digit[i].axis < a) i++;
        s->first[a] = (uint8_t)i;
    }
    for (int32_t a = 0; a < s->naxes; a++) {
        s->group[a] = (uint8_t)a;
        s->next[a] = -1;
    }
    if (s->naxes == s->ndim) return; /* no folds: each group is one axis */
    for (int32_t i = 0; i < s->ndigits; i++) {
        if (s->digit[i].into < 0) continue;
        const uint8_t x = s->group[s->digit[i].axis], y = s->group[s->digit[i].into];
        for (int32_t a = 0; a < s->naxes; a++)
            if (s->group[a] == x || s->group[a] == y) s->group[a] = x < y ? x : y;
    }
    for (int32_t a = 0; a < s->naxes; a++)
        for (int32_t b = s->naxes - 1; b > a; b--)
            if (s->group[b] == s->group[a]) s->next[a] = (int8_t)b;
}

/* The part of the group that begins at axis `root`; y receives the coordinates of its axes. */
static int64_t evaluate(const tg_side *s, int32_t root, const int64_t *x, int64_t *y) {
    int64_t sum = 0;
    for (int32_t a = root; a >= 0; a = s->next[a]) y[a] = a < s->ndim ? x[a] : 0;
    for (int32_t a = root; a >= 0; a = s->next[a]) {
        int64_t rest = y[a];
        for (int32_t i = s->first[a]; i < s->first[a + 1]; i++) {
            const tg_digit *g = &s->digit[i];
            int64_t         q = rest;
            if (g->weight != 1) {
                q /= g->weight;
                rest -= q * g->weight;
            }
            if (g->into < 0) sum += q * g->stride;
            else y[g->into] += q * g->stride;
        }
    }
    return sum;
}

/* The digit of axis a that alone moves when a's coordinate takes a step, and for how long: all above
 * it stand still until the first of them carries, all below because its weight divides the step. */
static inline const tg_digit *moving_digit(const tg_side *s, int32_t a, int64_t coordinate, int64_t step,
                                           int64_t *length) {
    int64_t rest = coordinate;
    for (int32_t i = s->first[a]; i < s->first[a + 1]; i++) {
        const tg_digit *g = &s->digit[i];
        if (g->weight == 1 || step % g->weight == 0) return g;
        rest = rest == 0 ? 0 : rest % g->weight;
        *length = tg_min(*length, step == 1 ? g->weight - rest : tg_ceil_div(g->weight - rest, step));
    }
    return NULL;
}

/* The slope and length of r, where the axes of d's group are at y, or all at 0 if that is NULL. */
static inline void find_slope(tg_step *r, const tg_side *s, int32_t d, const int64_t *y) {
    int64_t step = 1;
    for (int32_t a = d;;) {
        const tg_digit *g = moving_digit(s, a, y == NULL ? 0 : y[a], step, &r->length);
        if (g == NULL) return;
        const int64_t steps = g->weight == 1 ? step : step / g->weight;
        if (!tg_mul(&step, steps, g->stride)) return; /* the step leaves the tensor: its length is 1 */
        if (g->into < 0) {
            r->slope = step;
            return;
        }
        a = g->into;
    }
}

tg_step tg_side_step(const tg_side *s, int32_t d, const int64_t *x) {
    int64_t y[TG_SIDE_AXES];
    tg_step r = {evaluate(s, s->group[d], x, y), 0, INT64_MAX};
    find_slope(&r, s, d, y);
    return r;
}

tg_step tg_side_start(const tg_side *s, int32_t d) {
    tg_step r = {0, 0, INT64_MAX};
    find_slope(&r, s, d, NULL);
    return r;
}

int64_t tg_side_base(const tg_side *s, int32_t d, int32_t e, const int64_t *x) {
    int64_t y[TG_SIDE_AXES], sum = s->offset;
    for (int32_t a = 0; a < s->naxes; a++)
        if (s->group[a] == a && a != s->group[d] && a != s->group[e]) sum += evaluate(s, a, x, y);
    return sum;
}
