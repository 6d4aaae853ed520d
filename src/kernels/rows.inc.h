/* Rows of bytes, with vectors of VEC bytes; see rows.c.
 *
 * First one row; then grids of them: pieces that are put together to lines, bands, sticks, and in the files that are
 * included between them what is joined, padded or ragged. Which way a block takes V(rows) says, at the end. */
#include "kernels/vector.inc.h"
#include "kernels/pad.inc.h"

/* ---- one row ---- */

/* n bytes at any address: the last vector overlaps the one before it. */
TG_INLINE void V(copy_here)(uint8_t *d, const uint8_t *s, int64_t n) {
    int64_t i = 0;
    if (n < VEC) {
        tg_copy_short(d, s, n);
        return;
    }
    for (; n - i > 4 * VEC; i += 4 * VEC)
        for (int k = 0; k < 4; k++) V(store)(d + i + k * VEC, V(load)(s + i + k * VEC));
    for (; n - i > VEC; i += VEC) V(store)(d + i, V(load)(s + i));
    V(store)(d + n - VEC, V(load)(s + n - VEC));
}

static inline void V(copy)(uint8_t *d, const uint8_t *s, int64_t n) { V(copy_here)(d, s, n); }

/* n bytes around the caches; d is at a line, n is whole lines. What lies `ahead` of s is fetched; `near`: into the
 * first-level cache. */
TG_INLINE void V(copy_lines)(uint8_t *d, const uint8_t *s, int64_t n, int64_t ahead, bool near) {
    for (int64_t i = 0; i < n; i += TG_LINE_BYTES) {
        if (ahead > 0) TG_FETCH_AS(s + i + ahead, near);
        for (int k = 0; k < TG_LINE_BYTES; k += VEC) V(stream)(d + i + k, V(load)(s + i + k));
    }
}

TG_INLINE void V(stick)(uint8_t *d, const uint8_t *s, bool stream) {
    V(vec) v[STICK / VEC];
    TG_UNROLL
    for (int k = 0; k < STICK / VEC; k++) v[k] = V(load)(s + k * VEC);
    TG_UNROLL
    for (int k = 0; k < STICK / VEC; k++) V(put)(d + k * VEC, v[k], stream);
}

/* The lines of a stick further on in dst, wherever it begins in one. */
TG_INLINE void V(claim_stick)(const uint8_t *d) {
    TG_CLAIM(d + TG_CLAIMED);
    TG_CLAIM(d + TG_CLAIMED + TG_LINE_BYTES);
}

/* n bytes; `claims`: dst goes on behind them. */
TG_INLINE void V(copy_on)(uint8_t *d, const uint8_t *s, int64_t n, bool claims) {
    for (; claims && n >= STICK; n -= STICK, d += STICK, s += STICK) {
        V(claim_stick)(d);
        V(stick)(d, s, false);
    }
    if (n > 0) V(copy_here)(d, s, n);
}

/* A long row around the caches. */
static void V(stream_row)(uint8_t *d, const uint8_t *s, int64_t n, bool far) {
    const int64_t lead = (int64_t)(-(uintptr_t)d % TG_LINE_BYTES);
    if (n < lead + TG_LINE_BYTES) {
        V(copy)(d, s, n);
        return;
    }
    tg_stream_part(d, s, lead);
    const int64_t lines = (n - lead) / TG_LINE_BYTES * TG_LINE_BYTES;
    V(copy_lines)(d + lead, s + lead, lines, far ? 4 * FAR : 0, true);
    tg_stream_part(d + lead + lines, s + lead + lines, n - lead - lines);
}

/* ---- rows in pieces, put together to lines ---- */

static void V(stream_lines)(uint8_t *restrict d, const uint8_t *restrict s, int64_t n) {
    V(copy_lines)(d, s, n, 0, false);
}

static inline void V(add_bytes)(tg_lines *l, const uint8_t *s, int64_t n) {
    while (n > 0) {
        const int64_t some = tg_min(n, TG_LINES_CAPACITY - l->to);
        V(copy)(l->bytes + l->to, s, some);
        l->to += some;
        s += some;
        n -= some;
        if (l->to == TG_LINES_CAPACITY) tg_lines_flush(l, V(stream_lines));
    }
}

/* ---- bands ---- */

/* Pieces [from, to) of a run, which is n pieces long. The line where the band begins is written as a whole,
 * the line where it ends is left to the next band. */
static void V(assemble_band)(uint8_t *d, const uint8_t *s, const tg_block *b, const loop *run, int64_t from,
                             int64_t to, int64_t ahead) {
    uint8_t *const start = d + from * run->dst;
    const int64_t  before = from > 0 ? (int64_t)((uintptr_t)start % TG_LINE_BYTES) : 0;
    tg_lines       l;
    tg_lines_begin(&l, start - before);
    if (before > 0) V(add_bytes)(&l, s + (from - 1) * run->src + b->cols - before, before);
    for (int64_t i = from; i < to; i++) {
        const uint8_t *const piece = s + i * run->src;
        if (ahead != 0) fetch_piece(piece + ahead, b->cols);
        V(add_bytes)(&l, piece, b->cols);
        if (b->tail > 0) tg_lines_pad(&l, b->pad, b->tail, V(stream_lines));
    }
    if (to == run->n)
        tg_lines_end(&l, V(stream_lines));
    else
        tg_lines_flush(&l, V(stream_lines));
}

/* Runs side by side, in bands if their pieces are long and share lines. */
TG_OUTLINE void V(assemble)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v, bool far) {
    const walk w = *v;
    const int64_t band = !w.runs ? 1 : b->cols >= TG_LINE_BYTES && b->tail == 0 ? w.band : w.along.n;
    const int64_t ahead = far ? piece_ahead(&w, b->cols) : 0;
    for (int64_t i = 0; i < w.along.n; i += band)
        for (int64_t o = 0; o < w.across.n; o++) {
            uint8_t       *to = d + o * w.across.dst;
            const uint8_t *from = s + o * w.across.src;
            const loop     alone = {1, 0, 0};
            if (w.runs)
                V(assemble_band)(to, from, b, &w.along, i, tg_min(i + band, w.along.n), ahead);
            else
                V(assemble_band)(to + i * w.along.dst, from + i * w.along.src, b, &alone, 0, 1, ahead);
        }
}

/* ---- sticks ---- */

/* The stick of walk i. */
TG_INLINE void V(stick_of)(uint8_t *d, const uint8_t *s, const walk *w, int64_t i, bool stream, bool far, bool near) {
    const uint8_t *const from = s + i * w->along.src;
    if (far) fetch_stick(from + w->ahead, near);
    V(stick)(d + i * w->along.dst, from, stream);
}

/* n walks of src side by side. */
TG_INLINE void V(stick_band)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n, bool stream, bool far, bool near) {
    for (int64_t o = 0; o < w->across.n; o++, d += w->across.dst, s += w->across.src)
        for (int64_t i = 0; i < n; i++) V(stick_of)(d, s, w, i, stream, far, near);
}

/* A whole band. Each walk has loads of its own, which is how prefetchers tell walks apart: as one load in a loop, eight
 * of them are one that jumps. */
TG_INLINE void V(whole_band)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n, bool stream, bool far, bool near) {
    for (int64_t o = 0; o < w->across.n; o++, d += w->across.dst, s += w->across.src) {
        TG_UNROLL
        for (int64_t i = 0; i < n; i++) V(stick_of)(d, s, w, i, stream, far, near);
    }
}

TG_INLINE void V(bands)(uint8_t *d, const uint8_t *s, const walk *w, bool stream, bool far, bool near) {
    int64_t i = 0;
    for (; w->band == BAND && i + BAND <= w->along.n; i += BAND)
        V(whole_band)(d + i * w->along.dst, s + i * w->along.src, w, BAND, stream, far, near);
    for (; w->band == NEAR_BAND && !stream && i + NEAR_BAND <= w->along.n; i += NEAR_BAND)
        V(whole_band)(d + i * w->along.dst, s + i * w->along.src, w, NEAR_BAND, false, false, false);
    for (; i < w->along.n; i += w->band) {
        const int64_t n = tg_min(w->band, w->along.n - i);
        V(stick_band)(d + i * w->along.dst, s + i * w->along.src, w, n, stream, far, near);
    }
}

/* dst from end to end. */
TG_INLINE void V(sticks_in_order)(uint8_t *d, const uint8_t *s, const walk *w) {
    for (int64_t o = 0; o < w->across.n; o++, d += w->across.dst, s += w->across.src) {
        uint8_t       *to = d;
        const uint8_t *from = s;
        for (int64_t i = w->along.n; i > 0; i--, to += STICK, from += w->along.src) {
            V(claim_stick)(to);
            V(stick)(to, from, false);
        }
    }
}

/* Pieces of src that are one run: each is read for all runs of dst in turn, with loads of their own for sticks, and the
 * next one is fetched meanwhile, from end to end. */
TG_INLINE void V(window_sticks)(uint8_t *d, const uint8_t *s, const walk *w) {
    const int64_t step = w->along.src;
    int64_t       i = 0;
    for (; i + WINDOW <= w->along.n; i += WINDOW, d += WINDOW * STICK, s += WINDOW * step) {
        const uint8_t *next = s + WINDOW * step, *from = s;
        uint8_t       *to = d;
        for (int64_t o = w->across.n; o > 0; o--, to += w->across.dst, from += STICK, next += WINDOW * STICK) {
            TG_UNROLL
            for (int64_t k = 0; k < WINDOW; k++) fetch_stick(next + k * STICK, false);
            TG_UNROLL
            for (int64_t k = 0; k < WINDOW; k++) V(stick)(to + k * STICK, from + k * step, true);
        }
    }
    V(stick_band)(d, s, w, w->along.n - i, true, false, false);
}

TG_OUTLINE void V(sticks)(uint8_t *d, const uint8_t *s, const walk *v, bool stream) {
    const walk w = *v;
    /* Inside of lines two sticks share one: in the order of dst the second of them finds it in the first-level cache,
     * whoever asked for it (512 KiB, a Zen 4: 0.86 -> 0.95 of memcpy). */
    const bool inside = !stream && w.runs && w.ahead == 0 && (uintptr_t)d % TG_LINE_BYTES != 0;
    if (w.claims || inside) V(sticks_in_order)(d, s, &w);
    else if (stream && w.windows && w.across.src == STICK) V(window_sticks)(d, s, &w);
    else if (stream && w.ahead > 0 && w.near) V(bands)(d, s, &w, true, true, true);
    else if (stream && w.ahead > 0) V(bands)(d, s, &w, true, true, false);
    else if (stream) V(bands)(d, s, &w, true, false, false);
    else V(bands)(d, s, &w, false, false, false);
}

#if VEC == 64
#  include "kernels/joiner_avx512.inc.h"
#  include "kernels/joined_avx512.inc.h"
#endif
#include "kernels/padded.inc.h"

/* ---- padding behind rows ---- */

/* A row with padding behind it, which is written first: whole vectors of both overlap. */
TG_INLINE void V(copy_and_pad)(uint8_t *d, const uint8_t *s, int64_t n, int64_t tail, const uint8_t *pad, bool claims) {
    const int64_t total = n + tail;
    if (tail > 0 && total >= VEC) {
        const V(vec) v = V(load)(pad); /* any element of it is the pad element */
        for (int64_t i = n; i < total - VEC; i += VEC) V(store)(d + i, v);
        V(store)(d + total - VEC, v);
    } else if (tail > 0) {
        tg_copy_short(d + n, pad, tail);
    }
    V(copy_on)(d, s, n, claims);
}

#include "kernels/ragged.inc.h"

/* ---- blocks ---- */

/* Bands of rows of n bytes, around the caches, and nothing fetched: a stick of each row in turn, with loads of their
 * own for rows, which is how prefetchers tell them apart (an Emerald Rapids, tiles, L: 1.11 of memcpy instead of 1.06).
 * Returns how many rows that was. */
TG_INLINE int64_t V(row_bands)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n) {
    int64_t i = 0;
    for (; i + BAND <= w->along.n; i += BAND)
        for (int64_t o = 0; o < w->across.n; o++)
            for (int64_t x = 0; x < n; x += STICK) {
                uint8_t *const       to = d + i * w->along.dst + o * w->across.dst + x;
                const uint8_t *const from = s + i * w->along.src + o * w->across.src + x;
                TG_UNROLL
                for (int64_t k = 0; k < BAND; k++) V(stick)(to + k * w->along.dst, from + k * w->along.src, true);
            }
    return i;
}

TG_OUTLINE void V(any_rows)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v) {
    const walk w = *v;
    if (is_for_memcpy(m, b)) {
        memcpy(d, s, (size_t)b->cols);
        return;
    }
    const bool lines = m->stream && b->tail == 0 && b->cols % TG_LINE_BYTES == 0 && at_lines(d, &w);
    int64_t i0 = 0;
    if (lines && m->claims && w.band == BAND && b->cols % STICK == 0) i0 = V(row_bands)(d, s, &w, b->cols);
    for (; i0 < w.along.n; i0 += w.band)
        for (int64_t o = 0; o < w.across.n; o++)
            for (int64_t i = i0; i < w.along.n && i < i0 + w.band; i++) {
                uint8_t *const       to = d + o * w.across.dst + i * w.along.dst;
                const uint8_t *const from = s + o * w.across.src + i * w.along.src;
                if (lines && b->cols < TG_LINES_CAPACITY)
                    V(copy_lines)(to, from, b->cols, w.ahead, w.near);
                else if (m->stream)
                    V(stream_row)(to, from, b->cols, m->fetches);
                else
                    V(copy_on)(to, from, b->cols, w.claims);
                if (b->tail > 0) V(pad)(to + b->cols, b->tail, b->pad, m->stream);
            }
}

/* ---- short rows ---- */

#if VEC == 64
#  include "kernels/units_avx512.inc.h"
#endif

/* n bytes, more than half a unit, and no others. */
TG_INLINE void V(unit_part)(int unit, uint8_t *restrict d, const uint8_t *restrict s, int64_t n) {
    const size_t half = (size_t)unit / 2;
    uint8_t      low[TG_LINE_BYTES / 2], high[TG_LINE_BYTES / 2];
    if (n == unit) {
        memcpy(d, s, (size_t)unit);
        return;
    }
    memcpy(low, s, half);
    memcpy(high, s + n - half, half);
    memcpy(d, low, half);
    memcpy(d + n - half, high, half);
}

/* As many of `count` rows from s on as have a unit before `end`. */
TG_INLINE int64_t V(units_before)(const uint8_t *s, const uint8_t *end, int64_t count, int64_t step, int unit) {
    const int64_t room = end - s - unit;
    if (room < 0) return 0;
    return step <= 0 || (count - 1) * step <= room ? count : room / step + 1;
}

/* Whole short runs, which follow each other in dst: to decide for each of them takes longer than to move it. */
TG_INLINE void V(unit_runs)(int unit, uint8_t *restrict d, const uint8_t *restrict s, const walk *w, int64_t runs) {
    const int64_t count = w->along.n, d_step = w->along.dst, s_step = w->along.src;
    for (; runs > 0; runs--, s += w->across.src) {
        const uint8_t *from = s;
        for (int64_t i = count; i > 0; i--, d += d_step, from += s_step) memcpy(d, from, (size_t)unit);
    }
}

/* A row is moved as one unit. What lies behind it in src comes along, and is overwritten by the next row of the run;
 * where there is none, or src ends, two halves of a unit overlap. */
TG_INLINE void V(short_rows_of)(int unit, uint8_t *restrict d, const uint8_t *restrict s, int64_t n, const walk *v,
                                int64_t band) {
    const walk           w = *v;
    const bool           goes_on = w.across.dst == w.along.n * n && band >= w.along.n; /* from run to run */
    const int64_t        along = tg_max((w.along.n - 1) * w.along.src, 0);
    const uint8_t *const end = s + tg_max((w.across.n - 1) * w.across.src, 0) + along + n;
    const bool    tiles = w.runs && goes_on && w.along.n < SHORT_RUN;
    const int64_t runs = tiles ? V(units_before)(s + along, end, w.across.n - 1, w.across.src, unit) : 0;
    V(unit_runs)(unit, d, s, &w, runs);
    for (int64_t first = 0; first < w.along.n; first += band)
        for (int64_t o = runs; o < w.across.n; o++) {
            uint8_t       *to = d + o * w.across.dst + first * w.along.dst;
            const uint8_t *from = s + o * w.across.src + first * w.along.src;
            const int64_t  count = tg_min(band, w.along.n - first);
            const bool     last = first + count == w.along.n && (o + 1 == w.across.n || !goes_on);
            const int64_t  whole = n == unit ? count
                                   : w.runs  ? V(units_before)(from, end, count - last, w.along.src, unit)
                                             : 0;
            int64_t        i = 0;
            for (; i < whole; i++, to += w.along.dst, from += w.along.src) memcpy(to, from, (size_t)unit);
            for (; i < count; i++, to += w.along.dst, from += w.along.src) V(unit_part)(unit, to, from, n);
        }
}

TG_OUTLINE void V(short_rows)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, bool small) {
    const walk    w = walk_of(m, b);
    const int64_t n = b->cols, band = small ? w.along.n : BAND;
#if VEC == 64
    if (n <= MOST_UNIT && w.along.dst <= TG_NEARER_STEP && in_unit_vectors(m, d, s, &w, n, NULL)) return;
#endif
    if (n > 32) V(short_rows_of)(64, d, s, n, &w, band);
    else if (n > 16) V(short_rows_of)(32, d, s, n, &w, band);
    else if (n > 8) V(short_rows_of)(16, d, s, n, &w, band);
    else if (n > 4) V(short_rows_of)(8, d, s, n, &w, band);
    else if (n > 2) V(short_rows_of)(4, d, s, n, &w, band);
    else if (n > 1) V(short_rows_of)(2, d, s, n, &w, band);
    else V(short_rows_of)(1, d, s, n, &w, band);
}

/* ---- small blocks ---- */

/* What fits the first-level cache, in the order of the loops: there deciding costs more than any order brings. The
 * block is a value, which no store can change. */
TG_INLINE void V(small_sticks)(uint8_t *d, const uint8_t *s, tg_block b) {
    for (int64_t o = 0; o < b.outer; o++, d += b.dst_outer, s += b.src_outer) {
        uint8_t       *to = d;
        const uint8_t *from = s;
        int64_t        r = b.rows;
        for (; r > 1; r -= 2, to += 2 * b.dst_row, from += 2 * b.src_row) {
            V(stick)(to, from, false);
            V(stick)(to + b.dst_row, from + b.src_row, false);
        }
        if (r > 0) V(stick)(to, from, false);
    }
}

TG_INLINE void V(small_rows)(uint8_t *d, const uint8_t *s, const tg_block *block, bool padded) {
    const tg_block b = *block;
    for (int64_t o = 0; o < b.outer; o++)
        for (int64_t r = 0; r < b.rows; r++) {
            uint8_t *const       to = d + o * b.dst_outer + r * b.dst_row;
            const uint8_t *const from = s + o * b.src_outer + r * b.src_row;
            V(copy_and_pad)(to, from, b.cols, padded ? b.tail : 0, b.pad, false);
        }
}

TG_OUTLINE void V(small_plain_rows)(uint8_t *d, const uint8_t *s, const tg_block *b) { V(small_rows)(d, s, b, false); }

TG_OUTLINE void V(small_padded_rows)(uint8_t *d, const uint8_t *s, const tg_block *b) { V(small_rows)(d, s, b, true); }

TG_OUTLINE void V(small_short_sticks)(uint8_t *d, const uint8_t *s, const tg_block *block) {
    const tg_block       b = *block;
    const V(short_stick) e = V(short_stick_of)(b.cols, b.pad, true);
    for (int64_t o = 0; o < b.outer; o++, d += b.dst_outer, s += b.src_outer) {
        uint8_t       *to = d;
        const uint8_t *from = s;
        for (int64_t r = b.rows; r > 0; r--, to += b.dst_row, from += b.src_row)
            V(put_short_stick)(to, from, &e, true);
    }
}

/* Rows that are units with their padding. */
TG_OUTLINE void V(padded_units)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const walk     w = walk_of(m, b);
    const unit_pad pad = unit_pad_of(b);
    const units    u = {w.along.n, w.along.dst, w.along.src, b->cols};
#if VEC == 64
    if (w.runs && in_unit_vectors(m, d, s, &w, b->cols, &pad)) return;
#endif
    for (int64_t o = 0; o < w.across.n; o++)
        put_units(b->cols + b->tail, d + o * w.across.dst, s + o * w.across.src, &u, pad);
}

TG_OUTLINE void V(ordered)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const walk w = walk_of(m, b);
    const bool lines = m->stream && at_lines(d, &w);
    if (b->cols == STICK && b->tail == 0 && (lines || !m->stream))
        V(sticks)(d, s, &w, lines);
#if VEC == 64
    else if (b->cols + b->tail == STICK && (uintptr_t)d % TG_LINE_BYTES != 0 && V(columns_in_one_line)(d, b, &w))
        V(sparse_sticks)(d, s, b, &w, m->stream);
#endif
    else if (b->cols + b->tail == STICK && b->tail > 0 && (lines || !m->stream))
        V(sticks_and_padding)(d, s, b, &w, lines);
#if VEC == 64
    else if (b->tail >= TG_LINE_BYTES && b->cols <= SHORT_PADDED && (b->cols + b->tail) % TG_LINE_BYTES == 0 &&
             at_lines(d, &w))
        V(padded_lines)(d, s, b, &w, m->stream);
    else if (!lines && V(joined_rows)(m, d, s, b, &w))
        return;
    else if (b->tail == 0 && b->cols <= MOST_UNIT && w.along.dst <= TG_NEARER_STEP &&
             in_unit_vectors(m, d, s, &w, b->cols, NULL))
        return;
    else if (m->stream && b->cols % TG_LINE_BYTES == 0 && b->cols > TG_LINE_BYTES && b->tail == 0 && w.runs && !lines)
        V(joined)(d, s, &w, b->cols, 0, m);
#endif
    else if (m->stream && b->cols < TG_LINES_CAPACITY && (w.runs || b->tail > 0) &&
             !(lines && b->tail == 0 && b->cols % TG_LINE_BYTES == 0))
        V(assemble)(d, s, b, &w, m->far);
    else
        V(any_rows)(m, d, s, b, &w);
}

static const uint8_t *V(rows)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int64_t bytes = b->outer * b->rows * (b->cols + b->tail);
    const bool    small = !m->stream && (bytes <= SMALL_CLAIMED || (bytes <= SMALL && !m->claims));
    if (b->ragged != TG_RAGGED_NOT)
        V(ragged_block)(m, d, s, b, small);
    else if (TG_RARELY(has_units(b)))
        V(padded_units)(m, d, s, b);
    else if ((!m->stream || are_scattered(b) || (!m->claims && come_one_by_one(b))) && b->cols <= TG_LINE_BYTES &&
             b->tail == 0)
        V(short_rows)(m, d, s, b, small);
    else if (m->stream && m->claims && are_padded_ends(d, b))
        V(small_padded_rows)(d, s, b);
    else if (small && b->cols == STICK && b->tail == 0)
        V(small_sticks)(d, s, *b);
    else if (small && b->tail == 0)
        V(small_plain_rows)(d, s, b);
    else if (small && b->cols + b->tail == STICK && b->cols > 16) /* of fewer, V(padded_sticks) is faster */
        V(small_short_sticks)(d, s, b);
    else if (small && b->cols + b->tail != STICK)
        V(small_padded_rows)(d, s, b);
    else
        V(ordered)(m, d, s, b);
    return NULL;
}
