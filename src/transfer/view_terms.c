/* Functions of one variable: floor(((step * p + shift) mod wrap) / stride), and sums of them.
 *
 * The least value of (a p + b) mod m. Walking p from 0, the value climbs by a until it passes m and starts again below
 * a: the least values are b and those right after a wrap. After the j-th wrap it is (b - j m) mod a, which is the same
 * question with j for p and a for m. If a is more than half of m the walk is turned round, so that m at least halves:
 *
 *     (30 p + 50) mod 64, p < 9      a = 30: 50 | 16 46 | 12 42 | 8 38 | 4 34     four wraps, after them 16 12 8 4,
 *                                    which is (16 + 26 j) mod 30, j < 4
 *
 * The greatest value is m - 1 less the least one of the mirrored function. */
#include "transfer/viewing.h"

__extension__ typedef __int128 wide; /* products of two int64 */

int64_t tg_term_at(const tg_view_term *t, int64_t p) {
    wide y = (wide)t->step * p + t->shift;
    if (t->wrap > 0) y = (y % t->wrap + t->wrap) % t->wrap;
    return (int64_t)(y >= 0 ? y / t->stride : -((-y + t->stride - 1) / t->stride));
}

/* 0 <= a, b < m; n >= 1. */
static int64_t least_mod(int64_t n, int64_t m, int64_t a, int64_t b) {
    int64_t best = b;
    for (;;) {
        if (a > m - a) {
            b = (int64_t)((b + (wide)a * (n - 1)) % m);
            a = m - a;
        }
        best = tg_min(best, b);
        const int64_t wraps = (int64_t)(((wide)a * (n - 1) + b) / m);
        if (wraps == 0) return best;
        b = tg_floor_mod(b - m, a);
        n = wraps;
        const int64_t next = tg_floor_mod(-m, a);
        m = a;
        a = next;
    }
}

void tg_term_range(int64_t *low, int64_t *high, const tg_view_term *t, int64_t n) {
    const int64_t m = t->wrap;
    if (m == 0) {
        const int64_t last = t->shift + t->step * (n - 1);
        *low = tg_min(t->shift, last);
        *high = tg_max(t->shift, last);
        return;
    }
    const int64_t a = tg_floor_mod(t->step, m), b = tg_floor_mod(t->shift, m);
    *low = least_mod(n, m, a, b);
    *high = m - 1 - least_mod(n, m, a == 0 ? 0 : m - a, m - 1 - b);
}

/* ---- one term ---- */

/* Without the mod, if it does the same to all. */
static void drop_wrap(tg_view_term *t, int64_t n) {
    tg_view_term line = *t;
    int64_t      low, high;
    if (t->wrap == 0) return;
    line.step = t->step % t->wrap; /* the sign stays: a line that falls is no line that climbs and wraps */
    line.shift = tg_floor_mod(t->shift, t->wrap);
    line.wrap = 0;
    t->step = line.step;
    t->shift = line.shift;
    tg_term_range(&low, &high, &line, n);
    const int64_t turns = tg_floor_div(low, t->wrap);
    if (turns != tg_floor_div(high, t->wrap)) return;
    t->shift -= turns * t->wrap;
    t->wrap = 0;
}

static void reduce(tg_view_term *t, int64_t *constant) {
    const int64_t common = tg_gcd(tg_gcd(t->step, t->wrap), t->stride);
    t->step /= common;
    t->wrap /= common;
    t->stride /= common;
    t->shift = tg_floor_div(t->shift, common);
    if (t->wrap > 0) return;
    *constant += tg_floor_div(t->shift, t->stride);
    t->shift = tg_floor_mod(t->shift, t->stride);
}

bool tg_term_simplify(tg_view_term *t, int64_t *constant, int64_t n) {
    int64_t low, high;
    tg_term_range(&low, &high, t, n);
    if (tg_floor_div(low, t->stride) == tg_floor_div(high, t->stride)) {
        *constant += tg_floor_div(low, t->stride);
        return false;
    }
    drop_wrap(t, n);
    reduce(t, constant);
    return true;
}

/* ---- sums ---- */

static void remove_term(tg_sum *s, int32_t i) {
    s->n--;
    for (; i < s->n; i++) {
        s->gain[i] = s->gain[i + 1];
        s->term[i] = s->term[i + 1];
    }
}

static bool same_modulo(int64_t a, int64_t b, int64_t m) { return tg_floor_mod(a, m) == tg_floor_mod(b, m); }

/* Digit a goes on where digit b of the same number ends, in value as in place: b can count both. */
static bool continues(const tg_sum *s, int32_t a, int32_t b) {
    const tg_view_term *x = &s->term[a], *y = &s->term[b];
    return y->wrap == x->stride && x->stride % y->stride == 0 && x->wrap % x->stride == 0 &&
           (wide)s->gain[a] * y->stride == (wide)s->gain[b] * x->stride && same_modulo(x->step, y->step, y->wrap) &&
           same_modulo(x->shift, y->shift, y->wrap);
}

static bool join_once(tg_sum *s) {
    for (int32_t a = 0; a < s->n; a++)
        for (int32_t b = 0; b < s->n; b++)
            if (a != b && continues(s, a, b)) {
                s->gain[a] = s->gain[b];
                s->term[a].stride = s->term[b].stride;
                remove_term(s, b);
                return true;
            }
    return false;
}

static bool is_line(const tg_view_term *t) { return t->wrap == 0 && t->stride == 1; }

/* One line p for all lines, its gain the slope of all. */
static void gather_lines(tg_sum *s) {
    uint64_t slope = 0; /* modulo 2^64: true slopes fit, and others are only compared with them */
    for (int32_t i = s->n; i-- > 0;)
        if (is_line(&s->term[i])) {
            slope += (uint64_t)s->gain[i] * (uint64_t)s->term[i].step;
            remove_term(s, i);
        }
    if (slope == 0) return;
    s->gain[s->n] = (int64_t)slope;
    s->term[s->n++] = (tg_view_term){.step = 1, .stride = 1};
}

static int order(const tg_sum *s, int32_t a, int32_t b) {
    const tg_view_term *x = &s->term[a], *y = &s->term[b];
    const int64_t       keys[][2] = {{x->stride, y->stride}, {x->wrap, y->wrap},  {x->step, y->step},
                                     {x->shift, y->shift},   {s->gain[a], s->gain[b]}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void sort(tg_sum *s) {
    for (int32_t i = 1; i < s->n; i++)
        for (int32_t j = i; j > 0 && order(s, j, j - 1) < 0; j--) {
            const int64_t      gain = s->gain[j];
            const tg_view_term term = s->term[j];
            s->gain[j] = s->gain[j - 1];
            s->term[j] = s->term[j - 1];
            s->gain[j - 1] = gain;
            s->term[j - 1] = term;
        }
}

void tg_sum_normalize(tg_sum *s, int64_t n) {
    int64_t constant = 0;
    while (join_once(s)) continue;
    for (int32_t i = s->n; i-- > 0;) {
        tg_view_term *t = &s->term[i];
        t->dim = 0;
        if (s->gain[i] == 0 || !tg_term_simplify(t, &constant, n)) {
            remove_term(s, i);
            continue;
        }
        if (t->wrap == 0) continue;
        t->step = tg_floor_mod(t->step, t->wrap);
    }
    gather_lines(s);
    sort(s);
}

bool tg_sum_same(const tg_sum *a, const tg_sum *b) {
    if (a->n != b->n) return false;
    for (int32_t i = 0; i < a->n; i++) {
        const tg_view_term *x = &a->term[i], *y = &b->term[i];
        if (a->gain[i] != b->gain[i] || x->step != y->step || x->shift != y->shift || x->wrap != y->wrap ||
            x->stride != y->stride)
            return false;
    }
    return true;
}
