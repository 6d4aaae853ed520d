/* Sums of multiples in boxes: sum stride[i] * v[i] == target with lo[i] <= v[i] <= hi[i].
 *
 * Which coordinate of a strided array lies at an offset, and whether two of them share one, are
 * questions of this kind. In general they are hard (subset sum), but the strides of real arrays
 * nest, and then each v[i] has one candidate: what the rest can still reach bounds it from both
 * sides, and the greatest common divisor of the strides to come fixes it modulo that divisor. The
 * search counts its steps and gives up honestly. */
#include "layout/layout.h"

__extension__ typedef __int128 wide; /* products of two int64 */

/* The smallest v >= from with stride * v == target (mod g), or false if there is none. g >= 1. */
static bool first_congruent(int64_t *v, int64_t *period, int64_t stride, int64_t target, int64_t g, int64_t from) {
    const int64_t common = tg_gcd(stride, g);
    if (target % common != 0) return false;
    const int64_t modulus = g / common;
    *period = modulus;
    /* inverse of stride / common modulo modulus, by the extended Euclid algorithm */
    wide a = ((wide)(stride / common) % modulus + modulus) % modulus, b = modulus, x = 1, y = 0;
    while (a > 1 && b != 0) {
        const wide q = a / b, t = b;
        b = a % b;
        a = t;
        const wide u = y;
        y = x - q * y;
        x = u;
    }
    const wide inverse = modulus == 1 ? 0 : (x % modulus + modulus) % modulus;
    const wide goal = ((wide)(target / common) % modulus + modulus) % modulus;
    const wide residue = goal * inverse % modulus;
    const wide lift = ((residue - from) % modulus + modulus) % modulus;
    if (lift > INT64_MAX - tg_max(from, 0)) return false;
    *v = from + (int64_t)lift;
    return true;
}

/* What the variables from i on can sum to, and the divisor that all of it has. */
static void reach(const tg_solve *p, int32_t i, wide *low, wide *high, int64_t *divisor) {
    *low = *high = 0;
    *divisor = 0;
    for (; i < p->n; i++) {
        const wide a = (wide)p->stride[i] * p->lo[i], b = (wide)p->stride[i] * p->hi[i];
        *low += a < b ? a : b;
        *high += a < b ? b : a;
        if (p->lo[i] != p->hi[i]) *divisor = tg_gcd(*divisor, p->stride[i]);
    }
}

static tg_solved descend(int64_t *v, tg_solve *p, int32_t i, wide target);

/* Candidates for v[i] in increasing order, given that the rest must reach target - stride * v[i]. */
static tg_solved try_values(int64_t *v, tg_solve *p, int32_t i, wide target) {
    const int64_t s = p->stride[i];
    wide          low, high;
    int64_t       g, from = p->lo[i], to = p->hi[i], period = 1;
    reach(p, i + 1, &low, &high, &g);
    if (s != 0) { /* low <= target - s v <= high */
        const wide a = target - high, b = target - low, m = s < 0 ? -(wide)s : (wide)s;
        const wide l = s > 0 ? a : -b, h = s > 0 ? b : -a;
        const wide first = l >= 0 ? (l + m - 1) / m : -(-l / m), last = h >= 0 ? h / m : -((-h + m - 1) / m);
        if (first > from) from = first > to ? to + (to < INT64_MAX) : (int64_t)first;
        if (last < to) to = last < from ? from - 1 : (int64_t)last;
    } else if (target < low || target > high) {
        return TG_SOLVED_NO;
    }
    if (from > to) return TG_SOLVED_NO;
    if (g > 1) {
        wide at_lo = 0; /* what follows is this plus multiples of g */
        for (int32_t j = i + 1; j < p->n; j++) at_lo += (wide)p->stride[j] * p->lo[j];
        const int64_t want = (int64_t)((target - at_lo) % g);
        if (!first_congruent(&from, &period, s, want, g, from)) return TG_SOLVED_NO;
    }
    for (int64_t x = from; x <= to; x += period) {
        if (p->steps-- <= 0) return TG_SOLVED_UNDECIDED;
        v[i] = x;
        const tg_solved r = descend(v, p, i + 1, target - (wide)s * x);
        if (r != TG_SOLVED_NO) return r;
        if (x > to - period) break;
    }
    return TG_SOLVED_NO;
}

static tg_solved descend(int64_t *v, tg_solve *p, int32_t i, wide target) {
    if (i < p->n) return try_values(v, p, i, target);
    if (target != 0) return TG_SOLVED_NO;
    return p->accept == NULL || p->accept(p->context, v) ? TG_SOLVED_YES : TG_SOLVED_NO;
}

tg_solved tg_solve_box(int64_t *v, tg_solve *problem, int64_t target) {
    for (int32_t i = 0; i < problem->n; i++)
        if (problem->lo[i] > problem->hi[i]) return TG_SOLVED_NO;
    return descend(v, problem, 0, target);
}
