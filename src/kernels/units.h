/* Short rows with padding behind them, 2, 4, 8 or 16 bytes together: the last row of a tile (2,1) of which the other
 * one is missing, or the last channels of an odd number. To decide for each of them takes longer than to move it: each
 * is a unit, which is stored as a whole. Included by rows.c alone. */
#ifndef TG_KERNELS_UNITS_H
#define TG_KERNELS_UNITS_H

#include "base/checked.h"
#include "kernels/move.h"
#include "kernels/target.h"

#include <string.h>

enum { MOST_UNIT = 16 };

/* Padding where a unit has it, and zeros before. */
typedef struct unit_pad {
    uint64_t low, high;
} unit_pad;

static inline bool has_units(const tg_block *b) {
    const int64_t unit = b->cols + b->tail;
    return b->tail > 0 && unit <= MOST_UNIT && (unit & (unit - 1)) == 0;
}

/* Short rows with gaps in dst: no line is written as a whole, so none goes around the caches. */
static inline bool are_scattered(const tg_block *b) {
    return b->cols <= MOST_UNIT && b->dst_row != b->cols && b->dst_outer != b->cols;
}

/* Rows of a few bytes, each out of lines of its own, that follow each other in dst. To make whole lines of them takes 3
 * ns each, to store each over the place of the next one a third of that, lines of dst and all (64 MiB, a Zen 4: pixels
 * of three bytes, columns to rows, 0.05 -> 0.13 of memcpy, of six 0.09 -> 0.3, ten bytes of each stick 0.34 -> 0.77).
 */
static inline bool come_one_by_one(const tg_block *b) {
    const bool rows = b->dst_row == b->cols && tg_magnitude(b->src_row) >= TG_LINE_BYTES;
    return b->cols < MOST_UNIT && (rows || (b->dst_outer == b->cols && tg_magnitude(b->src_outer) >= TG_LINE_BYTES));
}

/* Short rows, padding and all, that begin inside of lines, each by itself. What begins these is mostly a few bytes,
 * which are stored plainly; and around the caches a part of a line that is in one, or on its way there, waits for it to
 * leave (a Granite Rapids, 256 MiB, u8[N,517] of T(8,128)(4,1), turned, to T(8,128), whose rows end with 4 bytes, and
 * one with 123 of padding, 0.26 -> 0.54 of memcpy). */
static inline bool are_padded_ends(const uint8_t *d, const tg_block *b) {
    enum { MOST_END = 3 * TG_LINE_BYTES };
    const int64_t n = b->cols + b->tail;
    const bool    go_on = (b->rows > 1 && b->dst_row == n) || (b->outer > 1 && b->dst_outer == n);
    return b->tail > 0 && n < MOST_END && (uintptr_t)d % TG_LINE_BYTES != 0 && !go_on;
}

/* One run into a cache where stores wait for their lines? The C library has an instruction for it that does not read
 * these (a Granite Rapids, 512 KiB, 0.88 -> 0.96 of memcpy, 32 KiB 0.79 -> 0.90; of many runs of 4 to 16 KiB 0.89 to
 * 0.97 times as fast). */
static inline bool is_for_memcpy(const tg_mover *m, const tg_block *b) {
    enum { LEAST_COPY = 4096 };
    return m->claims && !m->stream && b->outer * b->rows == 1 && b->tail == 0 && b->cols >= LEAST_COPY;
}

/* The pattern is the same from each element on. */
static inline unit_pad unit_pad_of(const tg_block *b) {
    const uint64_t all = ~(uint64_t)0;
    unit_pad       pad;
    memcpy(&pad, b->pad, sizeof pad);
    pad.low &= b->cols < 8 ? all << (8 * b->cols) : 0;
    pad.high &= b->cols > 8 ? all << (8 * (b->cols - 8)) : all;
    return pad;
}

TG_INLINE uint64_t load_part(int bytes, const uint8_t *s) {
    uint16_t b;
    uint32_t c;
    uint64_t d;
    switch (bytes) {
    case 1: return *s;
    case 2: memcpy(&b, s, 2); return b;
    case 4: memcpy(&c, s, 4); return c;
    default: memcpy(&d, s, 8); return d;
    }
}

/* A row of n bytes, fewer than `unit`, by two loads of `part` bytes, the largest power of two that is not more than n.
 * Where both have the same bytes they are the same. */
TG_INLINE void put_unit(int unit, int part, uint8_t *d, const uint8_t *s, int64_t n, unit_pad pad) {
    const uint64_t first = load_part(part, s), last = load_part(part, s + n - part);
    const bool     long_one = part == 8;
    const uint64_t low = pad.low | first | (long_one ? 0 : last << (8 * (n - part)));
    const uint64_t high = pad.high | (long_one && n > 8 ? last >> (8 * (16 - n)) : 0);
    memcpy(d, &low, unit < 8 ? (size_t)unit : 8);
    __asm__("" : "+r"(d)); /* or gcc makes a vector of both, by way of the stack */
    if (unit == 16) memcpy(d + 8, &high, sizeof high);
}

/* One run of them. */
typedef struct units {
    int64_t n, d_step, s_step, bytes; /* of src in each */
} units;

TG_INLINE void put_units_of(int unit, int part, uint8_t *restrict d, const uint8_t *restrict s, const units *u,
                            unit_pad pad) {
    const int64_t d_step = u->d_step, s_step = u->s_step, bytes = u->bytes;
    for (int64_t i = u->n; i > 0; i--, d += d_step, s += s_step) put_unit(unit, part, d, s, bytes, pad);
}

TG_INLINE void put_units_by_part(int unit, uint8_t *restrict d, const uint8_t *restrict s, const units *u,
                                unit_pad pad) {
    if (unit == 16 && u->bytes >= 8) put_units_of(unit, 8, d, s, u, pad);
    else if (unit >= 8 && u->bytes >= 4) put_units_of(unit, 4, d, s, u, pad);
    else if (u->bytes >= 2) put_units_of(unit, 2, d, s, u, pad);
    else put_units_of(unit, 1, d, s, u, pad);
}

/* `u` as a value would be copied in wide loads, which wait for the narrow stores before them. */
TG_OUTLINE void put_units(int64_t unit, uint8_t *restrict d, const uint8_t *restrict s, const units *u, unit_pad pad) {
    switch (unit) {
    case 2: put_units_of(2, 1, d, s, u, pad); break;
    case 4: put_units_by_part(4, d, s, u, pad); break;
    case 8: put_units_by_part(8, d, s, u, pad); break;
    default: put_units_by_part(16, d, s, u, pad);
    }
}

#endif
