/* Functions of one number by greedy digits, and the decision whether two of them are equal.
 *
 * A layout that folds nothing is a sum of functions, one per dimension; each cuts its coordinate x
 * like coins: q0 = x / w0, then (x % w0) / w1, ... with w0 > w1 > ... > 1, and adds s[i] * q[i]. The
 * weights need not divide each other (tiles of 64 in rows of 150 do not). Such functions are closed
 * under what notations do: tiling a digit inserts a weight, and the row-major number of several
 * dimensions is again such a number, with the sizes as weights.
 *
 * Equality. f and g agree on [0, n)? Let w be the larger top weight, say f's. Below w, f is its
 * lower digits, so the question recurs there. From w on, f(x + w) = f(x) + s for all x, so g must
 * repeat in the same way: g(x + p) = g(x) + K with p = w, K = s. For g with top weight u and
 * p = m u + r that holds iff, for the lower digits g' on [0, u),
 *      g'(y + r) - g'(y)       = K - s_u m           where y + r < u     (no carry)
 *      g'(y - (u - r)) - g'(y) = K - s_u m - s_u     where y + r >= u    (carry)
 * which are two questions of the same kind about fewer digits; r = 0 ends it. Nothing is enumerated:
 * the cost depends on the number of digits, not on n. All arithmetic is modulo 2^64, which is sound
 * because the values compared fit int64. The numeration is the greedy one of coin systems; the
 * argument is ours and is checked by exhaustion in tests/. */
#include "layout/layout.h"

#include "base/error.h"

#include <string.h>

enum { MAX_STEPS = 1 << 16 };

/* f without its first i digits, at x. */
static uint64_t eval_from(const tg_digits *f, int32_t i, int64_t x) {
    uint64_t sum = 0;
    for (; i < f->n; i++) {
        sum += (uint64_t)(x / f->weight[i]) * (uint64_t)f->stride[i];
        x %= f->weight[i];
    }
    return sum;
}

int64_t tg_digits_eval(const tg_digits *f, int64_t x) { return (int64_t)eval_from(f, 0, x); }

typedef struct decision {
    int64_t steps;
    int64_t x; /* where it fails */
} decision;

/* Skip digits that are 0 on [0, n). */
static int32_t top_digit(const tg_digits *f, int32_t i, int64_t n) {
    while (i + 1 < f->n && f->weight[i] >= n) i++;
    return i;
}

/* Does g, without its first i digits, satisfy g(x + p) - g(x) == k for 0 <= x < n - p? */
static bool repeats(decision *d, const tg_digits *g, int32_t i, int64_t p, int64_t n, uint64_t k) {
    if (p >= n || d->steps-- <= 0) return true;
    i = top_digit(g, i, n);
    const int64_t  w = g->weight[i], r = p % w;
    const uint64_t s = (uint64_t)g->stride[i], rest = k - s * (uint64_t)(p / w);
    if (r == 0) {
        d->x = 0;
        return rest == 0;
    }
    const int64_t residues = tg_min(w, n - p), no_carry = tg_min(residues, w - r);
    if (!repeats(d, g, i + 1, r, no_carry + r, rest)) return false;
    if (repeats(d, g, i + 1, w - r, residues, s - rest)) return true;
    d->x += w - r;
    return false;
}

static bool same(decision *d, const tg_digits *f, int32_t i, const tg_digits *g, int32_t j, int64_t n) {
    if (n <= 1) return true;
    i = top_digit(f, i, n);
    j = top_digit(g, j, n);
    if (f->weight[i] < g->weight[j]) return same(d, g, j, f, i, n);
    const int64_t  w = f->weight[i];
    const uint64_t s = (uint64_t)f->stride[i];
    const int32_t  below = g->weight[j] == w ? j + 1 : j;
    if (!same(d, f, i + 1, g, below, w)) return false;
    if (below > j) {
        d->x = w;
        return s == (uint64_t)g->stride[j];
    }
    if (repeats(d, g, j, w, n, s)) return true;
    if (eval_from(f, i, d->x) == eval_from(g, j, d->x)) d->x += w;
    return false;
}

tg_status tg_digits_equal(bool *equal, int64_t *x, const tg_digits *f, const tg_digits *g, tg_error *err) {
    tg_digits a = *f, b = *g;
    tg_digits_coalesce(&a);
    tg_digits_coalesce(&b);
    decision   d = {MAX_STEPS, 0};
    const bool yes = same(&d, &a, 0, &b, 0, f->size);
    if (yes && d.steps <= 0)
        return tg_fail(err, TG_ERR_LIMIT,
                       "equality of digits with weights that do not divide each other needs over %d steps",
                       (int64_t)MAX_STEPS);
    *equal = yes;
    if (!yes) *x = d.x;
    return TG_OK;
}

static void remove_digit(tg_digits *f, int32_t i) {
    for (; i + 1 < f->n; i++) {
        f->weight[i] = f->weight[i + 1];
        f->stride[i] = f->stride[i + 1];
    }
    f->n--;
}

/* Digits i and i + 1 are one digit of the weight of i + 1: either they nest, or nothing follows and
 * both are multiples of the same slope. */
static bool merges(const tg_digits *f, int32_t i) {
    const int64_t w = f->weight[i], v = f->weight[i + 1];
    int64_t       s;
    return (w % v == 0) && tg_mul(&s, f->stride[i + 1], w / v) && s == f->stride[i];
}

void tg_digits_coalesce(tg_digits *f) {
    while (f->n > 1 && f->weight[0] >= f->size) remove_digit(f, 0);
    for (int32_t i = f->n - 1; i-- > 0;)
        if (merges(f, i)) remove_digit(f, i);
}

bool tg_digits_cut(tg_digits *hi, tg_digits *lo, const tg_digits *f, int64_t low) {
    hi->n = lo->n = 0;
    hi->size = f->size / low;
    lo->size = low;
    int32_t i = 0;
    for (; i < f->n && f->weight[i] >= low; i++) {
        if (f->weight[i] % low != 0) return false;
        hi->weight[hi->n] = f->weight[i] / low;
        hi->stride[hi->n++] = f->stride[i];
    }
    if (hi->size > 1 && (hi->n == 0 || hi->weight[hi->n - 1] != 1)) {
        /* the next digit counts through both: it must count whole lows */
        if (i >= f->n || low % f->weight[i] != 0 || hi->n >= TG_MAX_MODES) return false;
        hi->weight[hi->n] = 1;
        if (!tg_mul(&hi->stride[hi->n], f->stride[i], low / f->weight[i])) return false;
        hi->n++;
    }
    for (; i < f->n; i++) {
        lo->weight[lo->n] = f->weight[i];
        lo->stride[lo->n++] = f->stride[i];
    }
    return true;
}

/* ---- from a layout ---- */

static bool append(tg_digits *out, int64_t weight, int64_t stride) {
    if (out->n >= TG_MAX_MODES) return false;
    out->weight[out->n] = weight;
    out->stride[out->n++] = stride;
    return true;
}

/* The digits of `axis`, all to memory, with weights times scale, appended. Mode 1 may be missing
 * when the axis has one coordinate. */
static bool append_axis(tg_digits *out, const tg_layout *l, int32_t axis, int64_t scale) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[l->chain[i]];
        if (m->axis != axis || m->count <= 1) continue;
        if (m->into != TG_TO_MEMORY || !append(out, m->weight * scale, m->stride)) return false;
    }
    return true;
}

/* The axis that dimension d is folded into as a whole, or -1 if its digits go to memory; -2 if it
 * is cut first. */
static int32_t fold_of(const tg_layout *l, int32_t d, int64_t *stride) {
    int32_t fold = -1;
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->axis != d || m->count <= 1) continue;
        if (m->into == TG_TO_MEMORY) {
            if (fold >= 0) return -2;
            continue;
        }
        if (m->weight != 1 || m->count != l->shape[d]) return -2;
        fold = m->into;
        *stride = m->stride;
    }
    return fold;
}

static int32_t parts_of(const tg_layout *l, int32_t axis) {
    int32_t n = 0;
    for (int32_t i = 0; i < l->nmodes; i++) n += l->mode[i].into == axis && l->mode[i].count > 1;
    return n;
}

bool tg_digits_of_dims(tg_digits *out, const tg_layout *l, const int32_t *dims, int32_t n) {
    int64_t inner[TG_MAX_NDIM + 1]; /* product of the sizes behind */
    inner[n] = 1;
    for (int32_t i = n; i-- > 0;)
        if (!tg_mul(&inner[i], inner[i + 1], l->shape[dims[i]])) return false;
    out->n = 0;
    out->size = inner[0];
    for (int32_t i = 0; i < n;) {
        int64_t       stride = 0;
        if (l->shape[dims[i]] <= 1) {
            i++;
            continue;
        }
        const int32_t fold = fold_of(l, dims[i], &stride);
        if (fold == -2) return false;
        if (fold == -1) {
            if (!append_axis(out, l, dims[i], inner[i + 1])) return false;
            i++;
            continue;
        }
        int32_t parts = 0;
        int64_t expect = 0;
        for (; i < n; i++) { /* the run of dimensions folded into the same axis, most significant first */
            if (l->shape[dims[i]] <= 1) continue;
            if (fold_of(l, dims[i], &stride) != fold) break;
            if (parts > 0 && expect != stride * l->shape[dims[i]]) return false;
            expect = stride;
            parts++;
        }
        if (expect != 1 || parts != parts_of(l, fold) || !append_axis(out, l, fold, inner[i])) return false;
    }
    if (out->n == 0 || out->weight[out->n - 1] != 1) return append(out, 1, 0);
    return true;
}

/* ---- to a layout ---- */

tg_status tg_layout_push_digits(tg_layout *l, int32_t axis, const tg_digits *f, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t i = 0; i < f->n && f->size > 1 && s == TG_OK; i++) {
        if (f->weight[i] >= f->size) continue; /* always 0 */
        const int64_t bound = i == 0 ? f->size : tg_min(f->size, f->weight[i - 1]);
        const int64_t count = tg_ceil_div(bound, f->weight[i]);
        const tg_mode m = {count, count, f->weight[i], f->stride[i], axis, TG_TO_MEMORY};
        s = tg_layout_push(l, m, err);
    }
    return s;
}

/* An axis that dims[0..n) are folded into, row-major. */
static tg_status push_fold(tg_layout *l, int32_t *axis, const int32_t *dims, const int64_t *sizes, int32_t n,
                           tg_error *err) {
    int64_t   stride = 1;
    tg_status s = tg_layout_push_axis(l, axis, err);
    for (int32_t k = n; k-- > 0 && s == TG_OK; stride *= sizes[k]) {
        const tg_mode m = {sizes[k], sizes[k], 1, stride, dims[k], *axis};
        s = tg_layout_push(l, m, err);
    }
    return s;
}

tg_status tg_layout_push_dims(tg_layout *l, const int32_t *dims, const int64_t *sizes, int32_t n, const tg_digits *f,
                              tg_error *err) {
    tg_digits rest = *f, hi, lo;
    tg_status s = TG_OK;
    for (int32_t begin = 0, i = 0; i < n && s == TG_OK; i++) {
        const bool last = i + 1 == n;
        int64_t    low = 1;
        for (int32_t k = i + 1; k < n; k++) low *= sizes[k];
        if (!last && !tg_digits_cut(&hi, &lo, &rest, low)) continue;
        if (last) hi = rest;
        else rest = lo;
        tg_digits_coalesce(&hi);
        int32_t axis = dims[begin];
        if (i > begin) s = push_fold(l, &axis, dims + begin, sizes + begin, i + 1 - begin, err);
        if (s == TG_OK) s = tg_layout_push_digits(l, axis, &hi, err);
        begin = i + 1;
    }
    return s;
}

tg_status tg_digits_fail_cut(const tg_digits *f, int32_t d, tg_error *err) {
    return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d,
                       "dimension %d is cut into tiles of %d: it steps by %d inside a tile and by %d between tiles",
                       (int64_t)d, f->weight[f->n - 2], f->stride[f->n - 1], f->stride[f->n - 2]);
}
