/* Checked int64 arithmetic: the one place where sizes are multiplied and added.
 * Each function writes *out and returns true, or returns false and leaves *out alone. */
#ifndef TG_BASE_CHECKED_H
#define TG_BASE_CHECKED_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

static inline bool tg_add(int64_t *out, int64_t a, int64_t b) {
    int64_t r;
    if (TG_RARELY(__builtin_add_overflow(a, b, &r))) return false;
    *out = r;
    return true;
}

static inline bool tg_sub(int64_t *out, int64_t a, int64_t b) {
    int64_t r;
    if (TG_RARELY(__builtin_sub_overflow(a, b, &r))) return false;
    *out = r;
    return true;
}

static inline bool tg_mul(int64_t *out, int64_t a, int64_t b) {
    int64_t r;
    if (TG_RARELY(__builtin_mul_overflow(a, b, &r))) return false;
    *out = r;
    return true;
}

/* a + b * c */
static inline bool tg_muladd(int64_t *out, int64_t a, int64_t b, int64_t c) {
    int64_t p;
    return tg_mul(&p, b, c) && tg_add(out, a, p);
}

/* a * b, or INT64_MAX where that is too large. */
static inline int64_t tg_capped_mul(int64_t a, int64_t b) {
    int64_t p;
    return tg_mul(&p, a, b) ? p : INT64_MAX;
}

/* a / b, a % b and whether b divides a, for sizes; a >= 0, b >= 1. Most of what is divided by is a power of two, and
 * then this takes 3 cycles instead of 15. */
static inline int64_t tg_div(int64_t a, int64_t b) {
    return TG_MOSTLY((b & (b - 1)) == 0) ? a >> __builtin_ctzll((unsigned long long)b) : a / b;
}

static inline int64_t tg_rem(int64_t a, int64_t b) { return TG_MOSTLY((b & (b - 1)) == 0) ? a & (b - 1) : a % b; }

static inline bool tg_is_multiple(int64_t a, int64_t b) { return tg_rem(a, b) == 0; }

/* Ceiling division; a >= 0, b >= 1. Cannot overflow. */
static inline int64_t tg_ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/* a rounded up to a multiple of b; a >= 0, b >= 1. */
static inline bool tg_round_up(int64_t *out, int64_t a, int64_t b) { return tg_mul(out, tg_ceil_div(a, b), b); }

/* Not of INT64_MIN, which no validated stride is. */
static inline int64_t tg_magnitude(int64_t x) { return x < 0 ? -x : x; }

static inline int64_t tg_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tg_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* Greatest common divisor of magnitudes; gcd(0, x) = |x|. Neither is INT64_MIN (validated values never are). */
static inline int64_t tg_gcd(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
    uint64_t y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y != 0) {
        const uint64_t t = x % y;
        x = y;
        y = t;
    }
    return (int64_t)x;
}

#endif
