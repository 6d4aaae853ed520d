/* Whole lines out of pieces.
 *
 * Stores around the caches want whole 64-byte lines at lines. What comes in pieces that begin and end anywhere is put
 * together here, at the place in a line that it has in dst; whole lines leave, and the begun one waits for the next
 * piece. A run that does not begin at a line has a first line that is not ours alone: only its end is written. */
#ifndef TG_KERNELS_LINES_H
#define TG_KERNELS_LINES_H

#include "base/checked.h"
#include "kernels/move.h"
#include "kernels/stream.h"

enum { TG_LINES_CAPACITY = 4096 };

/* [from, to) of bytes is filled, from > 0 in the first line only. Behind is room for a line in excess, so that pieces
 * may be written by whole vectors. Measured on Zen 4: whether bytes lie at 0, 64, 128 or 192 of 256 makes rows of some
 * hundred bytes up to 1.7 times as fast, wherever they come from and go to, and 192 is best for all. */
typedef struct tg_lines {
    uint8_t *dst; /* where bytes[0] goes, at a line */
    int64_t  from, to;
    uint8_t  gap[168];
    uint8_t  bytes[TG_LINES_CAPACITY + TG_LINE_BYTES];
} __attribute__((aligned(256))) tg_lines;

_Static_assert(offsetof(tg_lines, bytes) % 256 == 192, "see above");

/* Copies whole lines around the caches; dst and src are at lines. */
typedef void tg_lines_copy(uint8_t *restrict dst, const uint8_t *restrict src, int64_t n);

/* Less than 64 bytes without a call: two moves that overlap. Not even a call by the compiler: of functions that it sees
 * it knows that they leave the upper halves of vectors alone, and calls them without vzeroupper, and with those in use
 * an Intel takes several times as long for instructions of old processors (rows of 157 bytes out of T(8,128), an
 * Emerald Rapids, 0.42 and 0.09 of memcpy). */
TG_INLINE void tg_copy_short(uint8_t *restrict d, const uint8_t *restrict s, int64_t n) {
    if (n >= 32) {
        memcpy(d, s, 32);
        memcpy(d + n - 32, s + n - 32, 32);
    } else if (n >= 16) {
        memcpy(d, s, 16);
        memcpy(d + n - 16, s + n - 16, 16);
    } else if (n >= 8) {
        memcpy(d, s, 8);
        memcpy(d + n - 8, s + n - 8, 8);
    } else if (n >= 4) {
        memcpy(d, s, 4);
        memcpy(d + n - 4, s + n - 4, 4);
    } else {
        for (int64_t i = 0; i < n; i++) d[i] = s[i];
    }
}

/* What comes next goes to d. */
static inline void tg_lines_begin(tg_lines *l, uint8_t *d) {
    l->from = l->to = (int64_t)((uintptr_t)d % TG_LINE_BYTES);
    l->dst = d - l->from;
}

/* Whole lines leave, the begun one moves to the front. */
static inline void tg_lines_flush(tg_lines *l, tg_lines_copy *copy) {
    const int64_t end = l->to / TG_LINE_BYTES * TG_LINE_BYTES, begin = l->from > 0 ? TG_LINE_BYTES : 0;
    if (end == 0) return;
    if (begin > 0) tg_stream_part(l->dst + l->from, l->bytes + l->from, begin - l->from);
    copy(l->dst + begin, l->bytes + begin, end - begin);
    memcpy(l->bytes, l->bytes + end, TG_LINE_BYTES);
    l->dst += end;
    l->to -= end;
    l->from = 0;
}

/* The last line is not ours alone either. */
static inline void tg_lines_end(tg_lines *l, tg_lines_copy *copy) {
    tg_lines_flush(l, copy);
    tg_stream_part(l->dst + l->from, l->bytes + l->from, l->to - l->from);
}

/* n bytes of padding. */
static inline void tg_lines_pad(tg_lines *l, const uint8_t *pad, int64_t n, tg_lines_copy *copy) {
    while (n > 0) {
        const int64_t some = tg_min(n, TG_PAD_PATTERN);
        if (l->to + some > TG_LINES_CAPACITY) tg_lines_flush(l, copy);
        memcpy(l->bytes + l->to, pad, TG_PAD_PATTERN);
        l->to += some;
        n -= some;
    }
}

#endif
