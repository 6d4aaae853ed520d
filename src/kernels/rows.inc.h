/* Rows of bytes, with vectors of VEC bytes; see rows.c. */
#include "kernels/vector.inc.h"

/* ---- one row ---- */

/* n bytes at any address: the last vector overlaps the one before it. */
INLINE void V(copy_here)(uint8_t *d, const uint8_t *s, int64_t n) {
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
INLINE void V(copy_lines)(uint8_t *d, const uint8_t *s, int64_t n, int64_t ahead, bool near) {
    for (int64_t i = 0; i < n; i += TG_LINE_BYTES) {
        if (ahead > 0) TG_FETCH_AS(s + i + ahead, near);
        for (int k = 0; k < TG_LINE_BYTES; k += VEC) V(stream)(d + i + k, V(load)(s + i + k));
    }
}

INLINE void V(stick)(uint8_t *d, const uint8_t *s, bool stream) {
    V(vec) v[STICK / VEC];
    TG_UNROLL
    for (int k = 0; k < STICK / VEC; k++) v[k] = V(load)(s + k * VEC);
    TG_UNROLL
    for (int k = 0; k < STICK / VEC; k++) V(put)(d + k * VEC, v[k], stream);
}

/* The lines of a stick further on in dst, wherever it begins in one. */
INLINE void V(claim_stick)(const uint8_t *d) {
    TG_CLAIM(d + TG_CLAIMED);
    TG_CLAIM(d + TG_CLAIMED + TG_LINE_BYTES);
}

/* n bytes; `claims`: dst goes on behind them. */
INLINE void V(copy_on)(uint8_t *d, const uint8_t *s, int64_t n, bool claims) {
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
                             int64_t to) {
    uint8_t *const start = d + from * run->dst;
    const int64_t  before = from > 0 ? (int64_t)((uintptr_t)start % TG_LINE_BYTES) : 0;
    tg_lines       l;
    tg_lines_begin(&l, start - before);
    if (before > 0) V(add_bytes)(&l, s + (from - 1) * run->src + b->cols - before, before);
    for (int64_t i = from; i < to; i++) {
        V(add_bytes)(&l, s + i * run->src, b->cols);
        if (b->tail > 0) tg_lines_pad(&l, b->pad, b->tail, V(stream_lines));
    }
    if (to == run->n)
        tg_lines_end(&l, V(stream_lines));
    else
        tg_lines_flush(&l, V(stream_lines));
}

/* Runs side by side, in bands if their pieces are long and share lines. */
ALONE void V(assemble)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v) {
    const walk w = *v;
    const int64_t band = !w.runs ? 1 : b->cols >= TG_LINE_BYTES && b->tail == 0 ? w.band : w.along.n;
    for (int64_t i = 0; i < w.along.n; i += band)
        for (int64_t o = 0; o < w.across.n; o++) {
            uint8_t       *to = d + o * w.across.dst;
            const uint8_t *from = s + o * w.across.src;
            const loop     alone = {1, 0, 0};
            if (w.runs)
                V(assemble_band)(to, from, b, &w.along, i, tg_min(i + band, w.along.n));
            else
                V(assemble_band)(to + i * w.along.dst, from + i * w.along.src, b, &alone, 0, 1);
        }
}

/* ---- sticks ---- */

/* The stick of walk i. */
INLINE void V(stick_of)(uint8_t *d, const uint8_t *s, const walk *w, int64_t i, bool stream, bool far, bool near) {
    const uint8_t *const from = s + i * w->along.src;
    if (far) fetch_stick(from + w->ahead, near);
    V(stick)(d + i * w->along.dst, from, stream);
}

/* n walks of src side by side. */
INLINE void V(stick_band)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n, bool stream, bool far, bool near) {
    for (int64_t o = 0; o < w->across.n; o++, d += w->across.dst, s += w->across.src)
        for (int64_t i = 0; i < n; i++) V(stick_of)(d, s, w, i, stream, far, near);
}

/* A whole band. Each walk has loads of its own, which is how prefetchers tell walks apart: as one load in a loop, eight
 * of them are one that jumps. */
INLINE void V(whole_band)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n, bool stream, bool far, bool near) {
    for (int64_t o = 0; o < w->across.n; o++, d += w->across.dst, s += w->across.src) {
        TG_UNROLL
        for (int64_t i = 0; i < n; i++) V(stick_of)(d, s, w, i, stream, far, near);
    }
}

INLINE void V(bands)(uint8_t *d, const uint8_t *s, const walk *w, bool stream, bool far, bool near) {
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
INLINE void V(claimed_sticks)(uint8_t *d, const uint8_t *s, const walk *w) {
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
INLINE void V(window_sticks)(uint8_t *d, const uint8_t *s, const walk *w) {
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

ALONE void V(sticks)(uint8_t *d, const uint8_t *s, const walk *v, bool stream) {
    const walk w = *v;
    if (w.claims) V(claimed_sticks)(d, s, &w);
    else if (stream && w.windows && w.across.src == STICK) V(window_sticks)(d, s, &w);
    else if (stream && w.ahead > 0 && w.near) V(bands)(d, s, &w, true, true, true);
    else if (stream && w.ahead > 0) V(bands)(d, s, &w, true, true, false);
    else if (stream) V(bands)(d, s, &w, true, false, false);
    else V(bands)(d, s, &w, false, false, false);
}

#if VEC == 64
/* A mask of bytes [from, to) of a line. */
INLINE __mmask64 V(bytes_of)(int64_t from, int64_t to) {
    return to <= from ? 0 : ~(uint64_t)0 >> (TG_LINE_BYTES - (to - from)) << from;
}

/* A band of pieces of whole lines, n bytes each, that begins in the middle of a line. With k bytes before the first
 * line, piece i has n - 64 bytes of lines to itself, from k on; the line before them is 64 - k bytes of piece i - 1 and
 * k of its own. */
INLINE void V(join_piece)(uint8_t *line, const uint8_t *piece, const uint8_t *before, int64_t n, int64_t k,
                          const walk *w) {
    const __mmask64 old = ~(uint64_t)0 >> k;
    const __m512i   v = _mm512_maskz_loadu_epi8(old, before + n - (TG_LINE_BYTES - k));
    V(stream)(line - TG_LINE_BYTES, (V(vec))_mm512_mask_loadu_epi8(v, ~old, piece - (TG_LINE_BYTES - k)));
    for (int64_t i = 0; i < n; i += TG_LINE_BYTES) {
        if (w->ahead > 0) TG_FETCH_AS(piece + i + w->ahead, w->near);
        if (i + TG_LINE_BYTES < n) V(stream)(line + i, V(load)(piece + k + i));
    }
}

/* `count` pieces, of which the first one is not the run's. */
INLINE void V(join_pieces)(uint8_t *line, const uint8_t *piece, const walk *w, int64_t count, int64_t n, int64_t k) {
    for (int64_t i = 0; i < count; i++, piece += w->along.src, line += n)
        V(join_piece)(line, piece, piece - w->along.src, n, k, w);
}

/* A whole band of sticks, with loads of its own for each walk. */
INLINE void V(join_whole_band)(uint8_t *line, const uint8_t *piece, const walk *w, int64_t k) {
    TG_UNROLL
    for (int64_t i = 0; i < BAND; i++)
        V(join_pieces)(line + i * STICK, piece + i * w->along.src, w, 1, STICK, k);
}

/* Bytes [from, to) of a line, of which others write the rest, another time (stream.h). With `claims` a plain store is
 * faster than others. */
INLINE void V(put_part)(uint8_t *line, __m512i v, int64_t from, int64_t to, bool claims) {
    uint8_t bytes[TG_LINE_BYTES];
    if (claims) {
        _mm512_mask_storeu_epi8(line, V(bytes_of)(from, to), v);
        return;
    }
    _mm512_storeu_si512(bytes, v);
    tg_stream_part(line + from, bytes + from, to - from);
}

/* The k bytes before the first line of a run. */
INLINE void V(join_begin)(uint8_t *d, const uint8_t *s, int64_t k, bool claims) {
    const int64_t from = TG_LINE_BYTES - k;
    if (k == 0) return;
    V(put_part)(d - from, _mm512_maskz_loadu_epi8(V(bytes_of)(from, TG_LINE_BYTES), s - from), from, TG_LINE_BYTES,
                claims);
}

/* Behind the last whole piece: the end of it, and a shorter piece, if `last` is not 0. */
INLINE void V(join_end)(uint8_t *line, const uint8_t *piece, const uint8_t *before, int64_t n, int64_t k, int64_t last,
                        bool claims) {
    const int64_t rest = TG_LINE_BYTES - k, some = tg_min(last, k);
    const __m512i v = _mm512_maskz_loadu_epi8(V(bytes_of)(0, rest), before + n - rest);
    const __m512i w = _mm512_mask_loadu_epi8(v, V(bytes_of)(rest, rest + some), piece - rest);
    if (rest + some == TG_LINE_BYTES) V(stream)(line, (V(vec))w);
    else V(put_part)(line, w, 0, rest + some, claims);
    for (int64_t i = k; i < last; i += TG_LINE_BYTES) {
        const int64_t   more = tg_min(last - i, TG_LINE_BYTES);
        const __m512i   u = _mm512_maskz_loadu_epi8(V(bytes_of)(0, more), piece + i);
        uint8_t *const  to = line + i + TG_LINE_BYTES - k;
        if (more == TG_LINE_BYTES) V(stream)(to, (V(vec))u);
        else V(put_part)(to, u, 0, more, claims);
    }
}

/* Whole pieces [from, to) of a run; behind the last one of all, `last` bytes more. */
INLINE void V(join_band)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n, int64_t from, int64_t to, int64_t last,
                         bool claims) {
    const int64_t  k = (int64_t)(-(uintptr_t)d % TG_LINE_BYTES);
    const int64_t  first = from == 0 ? 1 : from;
    const uint8_t *piece = s + first * w->along.src;
    uint8_t       *line = d + first * n + k;
    if (from == 0) {
        V(join_begin)(d, s, k, claims);
        V(copy_lines)(d + k, s + k, n - TG_LINE_BYTES, 0, false);
    }
    if (n == STICK && to - first == BAND) V(join_whole_band)(line, piece, w, k);
    else V(join_pieces)(line, piece, w, to - first, n, k);
    if (to < w->along.n) return;
    piece = s + to * w->along.src;
    V(join_end)(d + to * n + k - TG_LINE_BYTES, piece, piece - w->along.src, n, k, last, claims);
}

/* Pieces of n bytes side by side whose runs begin anywhere in a line, with shorter ones behind them, or nothing. */
INLINE void V(join)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n, int64_t last, bool claims) {
    for (int64_t i = 0; i < w->along.n; i += w->band)
        for (int64_t o = 0; o < w->across.n; o++) {
            uint8_t *const to = d + o * w->across.dst, *const later = to + CLAIMED_RUNS * w->across.dst;
            const int64_t  end = tg_min(i + w->band, w->along.n);
            if (claims && i == 0) TG_CLAIM(later);
            if (claims && end == w->along.n) TG_CLAIM(later + end * n + last);
            V(join_band)(to, s + o * w->across.src, w, n, i, end, last, claims);
        }
}

/* Where runs follow each other, the end of one and the beginning of the next are put together to a line on their way
 * around the caches: none is claimed. */
ALONE void V(joined)(uint8_t *d, const uint8_t *s, const walk *v, int64_t n, int64_t last, bool claims) {
    walk w = *v;
    if (claims) w.ahead = 0; /* an Emerald Rapids, L: 0.99 of memcpy instead of 0.91 */
    claims = claims && (w.across.dst != w.along.n * n + last || w.band < w.along.n);
    if (n == STICK) V(join)(d, s, &w, STICK, last, claims);
    else V(join)(d, s, &w, n, last, claims);
}
#endif

/* ---- one stick in each row, partly padding ---- */

#if VEC == 64
/* For permutations of bytes: byte 0 goes to place n, byte 1 to the next one, and so on; round again. */
INLINE __m512i V(moved_up)(int64_t n) {
    static const uint8_t count[64] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                      16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
                                      32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
                                      48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    return _mm512_sub_epi8(_mm512_loadu_si512(count), _mm512_set1_epi8((char)n));
}

/* The padding of any line of a row, where it belongs: it begins behind the columns. */
INLINE __m512i V(pad_line)(const uint8_t *pad, int64_t cols) {
    return _mm512_permutexvar_epi8(V(moved_up)(cols), _mm512_loadu_si512(pad)); /* of a place the low six bits count */
}

/* few: no more than 16 bytes of columns. Loads as long as they are seldom begin in one line and end in another, which
 * those of a whole line nearly always do. */
INLINE void V(padded_sticks_of)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, bool few, bool stream) {
    const __m512i   pad = V(pad_line)(b->pad, b->cols);
    const __m128i   first = _mm512_castsi512_si128(pad);
    const uint64_t  all = ~(uint64_t)0;
    const __mmask64 in_low = b->cols >= 64 ? all : ~(all << b->cols),
                    in_high = b->cols <= 64 ? 0 : ~(all << (b->cols - 64));
    for (int64_t o = 0; o < w->across.n; o++) {
        uint8_t       *to = d + o * w->across.dst;
        const uint8_t *from = s + o * w->across.src;
        for (int64_t i = 0; i < w->along.n; i++, to += w->along.dst, from += w->along.src) {
            const __m128i some = _mm_mask_loadu_epi8(first, (__mmask16)in_low, from);
            const V(vec) a = (V(vec))(few ? _mm512_inserti32x4(pad, some, 0)
                                          : _mm512_mask_loadu_epi8(pad, in_low, from));
            const V(vec) c = (V(vec))(few ? pad : _mm512_mask_loadu_epi8(pad, in_high, from + 64));
            if (w->claims) V(claim_stick)(to);
            V(put)(to, a, stream);
            V(put)(to + 64, c, stream);
        }
    }
}

/* Sticks side by side that begin anywhere in a line: do their columns, 16 bytes at most, lie in one line each? */
INLINE bool V(columns_in_one_line)(const uint8_t *d, const tg_block *b, const walk *w) {
    const int64_t at = (int64_t)((uintptr_t)d % TG_LINE_BYTES);
    return w->runs && b->cols <= 16 && at + b->cols <= TG_LINE_BYTES && w->across.dst % TG_LINE_BYTES == 0;
}

/* Such sticks, around the caches: lines with columns and lines without take turns. */
ALONE void V(sparse_sticks)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v) {
    const walk      w = *v;
    const int64_t   at = (int64_t)((uintptr_t)d % TG_LINE_BYTES);
    const __m512i   pad = V(pad_line)(b->pad, at + b->cols), places = V(moved_up)(at);
    const __mmask16 cols = (__mmask16)((1u << b->cols) - 1);
    const __mmask64 mask = (__mmask64)cols << at;
    uint8_t         line[TG_LINE_BYTES];
    for (int64_t o = 0; o < w.across.n; o++) {
        uint8_t       *to = d - at + o * w.across.dst;
        const uint8_t *from = s + o * w.across.src;
        for (int64_t i = 0; i < w.along.n; i++, to += STICK, from += w.along.src) {
            const __m512i some = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(cols, from));
            const __m512i all = _mm512_mask_permutexvar_epi8(pad, mask, places, some);
            _mm512_storeu_si512(line, all);
            if (i == 0) tg_stream_part(to + at, line + at, TG_LINE_BYTES - at);
            else V(stream)(to, (V(vec))all);
            V(stream)(to + TG_LINE_BYTES, (V(vec))pad);
        }
        _mm512_storeu_si512(line, pad);
        tg_stream_part(to, line, at);
    }
}

INLINE void V(padded_sticks)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, bool stream) {
    if (b->cols <= 16)
        V(padded_sticks_of)(d, s, b, w, true, stream);
    else
        V(padded_sticks_of)(d, s, b, w, false, stream);
}
#else
/* The padding where it belongs; twice as long as a stick, so that two whole patterns have place behind any columns. */
INLINE void V(padded_stick)(uint8_t *stick, const tg_block *b) {
    memset(stick, 0, STICK);
    memcpy(stick + b->cols, b->pad, TG_PAD_PATTERN);
    memcpy(stick + b->cols + TG_PAD_PATTERN, b->pad, TG_PAD_PATTERN);
}

INLINE void V(some_bytes)(uint8_t *d, const uint8_t *s, int64_t n) {
    switch (n) {
    case 1: *d = *s; break;
    case 2: memcpy(d, s, 2); break;
    case 4: memcpy(d, s, 4); break;
    case 8: memcpy(d, s, 8); break;
    case 16: memcpy(d, s, 16); break;
    default: V(copy)(d, s, n);
    }
}

/* The padding is written once into sticks on the stack. */
INLINE void V(padded_sticks)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, bool stream) {
    enum { STICKS = 16 };
    uint8_t sticks[STICKS * STICK] __attribute__((aligned(64))), p[2 * STICK];
    V(padded_stick)(p, b);
    for (int k = 0; k < STICKS; k++) memcpy(sticks + k * STICK, p, STICK);
    for (int64_t o = 0; o < w->across.n; o++)
        for (int64_t i = 0; i < w->along.n; i += STICKS) {
            const int64_t  n = w->along.n - i < STICKS ? w->along.n - i : STICKS;
            uint8_t       *to = d + o * w->across.dst + i * w->along.dst;
            const uint8_t *from = s + o * w->across.src + i * w->along.src;
            for (int64_t k = 0; k < n; k++) V(some_bytes)(sticks + k * STICK, from + k * w->along.src, b->cols);
            for (int64_t k = 0; k < n; k++) {
                if (w->claims) V(claim_stick)(to + k * w->along.dst);
                V(stick)(to + k * w->along.dst, sticks + k * STICK, stream);
            }
        }
}
#endif

ALONE void V(sticks_and_padding)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v, bool stream) {
    const walk w = *v;
    if (stream)
        V(padded_sticks)(d, s, b, &w, true);
    else
        V(padded_sticks)(d, s, b, &w, false);
}

/* ---- padding behind rows ---- */

/* n bytes of padding; few of them without a call. */
INLINE void V(pad)(uint8_t *d, int64_t n, const uint8_t *pad, bool stream) {
#if VEC == 64
    if (n < 64) {
        _mm512_mask_storeu_epi8(d, ((uint64_t)1 << n) - 1, _mm512_loadu_si512(pad));
        return;
    }
#endif
    tg_fill_bytes(d, n, pad, stream);
}

/* A row with padding behind it, which is written first: whole vectors of both overlap. */
INLINE void V(copy_and_pad)(uint8_t *d, const uint8_t *s, int64_t n, int64_t tail, const uint8_t *pad, bool claims) {
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

/* ---- ragged blocks ---- */

/* One row beside the other, each of them a loop of runs. */
typedef struct V(ragged) {
    loop    beside, on;
    int64_t last, tail;
} V(ragged);

INLINE V(ragged) V(ragged_of)(const tg_block *b) {
    const loop      outer = {b->outer, b->dst_outer, b->src_outer}, rows = {b->rows, b->dst_row, b->src_row};
    const bool      is_rows = b->ragged == TG_RAGGED_ROWS;
    const V(ragged) r = {is_rows ? outer : rows, is_rows ? rows : outer, b->last, b->tail};
    return r;
}

INLINE void V(ragged_rows_of)(uint8_t *d, const uint8_t *s, const tg_block *b, bool claims) {
    V(ragged)            r = V(ragged_of)(b);
    const int64_t        cols = b->cols;
    const uint8_t *const pad = b->pad;
    for (; r.beside.n > 0; r.beside.n--, d += r.beside.dst, s += r.beside.src) {
        uint8_t       *to = d;
        const uint8_t *from = s;
        for (int64_t k = 1; k < r.on.n; k++, to += r.on.dst, from += r.on.src)
            V(copy_on)(to, from, cols, claims);
        V(copy_and_pad)(to, from, r.last, r.tail, pad, claims);
    }
}

ALONE void V(ragged_rows)(uint8_t *d, const uint8_t *s, const tg_block *b) { V(ragged_rows_of)(d, s, b, false); }

ALONE void V(claimed_ragged_rows)(uint8_t *d, const uint8_t *s, const tg_block *b) { V(ragged_rows_of)(d, s, b, true); }

/* A stick with fewer columns: with the padding that fills it up, or nothing behind them. */
typedef struct V(short_stick) {
#if VEC == 64
    __m512i   pad; /* of either line, in its place */
    __mmask64 low, high;
#else
    int64_t        cols;
    const uint8_t *pad;
#endif
} V(short_stick);

INLINE V(short_stick) V(short_stick_of)(int64_t cols, const uint8_t *pad, bool padded) {
#if VEC == 64
    const uint64_t       all = ~(uint64_t)0;
    const __mmask64      low = cols >= VEC ? all : ~(all << cols), high = cols <= VEC ? 0 : ~(all << (cols - VEC));
    const V(short_stick) e = {padded ? V(pad_line)(pad, cols) : _mm512_setzero_si512(), low, high};
#else
    const V(short_stick) e = {cols, padded ? pad : NULL};
#endif
    return e;
}

INLINE void V(put_short_stick)(uint8_t *d, const uint8_t *s, const V(short_stick) *e, bool padded) {
#if VEC == 64
    const __m512i a = _mm512_mask_loadu_epi8(e->pad, e->low, s), c = _mm512_mask_loadu_epi8(e->pad, e->high, s + VEC);
    if (padded) {
        V(store)(d, (V(vec))a);
        V(store)(d + VEC, (V(vec))c);
    } else {
        _mm512_mask_storeu_epi8(d, e->low, a);
        _mm512_mask_storeu_epi8(d + VEC, e->high, c);
    }
#else
    V(copy_and_pad)(d, s, e->cols, padded ? STICK - e->cols : 0, e->pad, false);
#endif
}

/* dst from end to end, which goes on along each row. */
INLINE void V(claimed_along)(uint8_t *d, const uint8_t *s, const V(ragged) *r, const V(short_stick) *e, bool padded) {
    for (int64_t i = r->beside.n; i > 0; i--, d += r->beside.dst, s += r->beside.src) {
        uint8_t       *to = d;
        const uint8_t *from = s;
        for (int64_t k = 1; k < r->on.n; k++, to += STICK, from += r->on.src) {
            V(claim_stick)(to);
            V(stick)(to, from, false);
        }
        V(claim_stick)(to);
        V(put_short_stick)(to, from, e, padded);
    }
}

/* The same where it goes on from row to row. */
INLINE void V(claimed_across)(uint8_t *d, const uint8_t *s, const V(ragged) *r, const V(short_stick) *e, bool padded) {
    for (int64_t k = 1; k <= r->on.n; k++, d += r->on.dst, s += r->on.src) {
        uint8_t       *to = d;
        const uint8_t *from = s;
        for (int64_t i = r->beside.n; i > 0; i--, to += r->beside.dst, from += r->beside.src) {
            V(claim_stick)(to);
            if (k < r->on.n) V(stick)(to, from, false);
            else V(put_short_stick)(to, from, e, padded);
        }
    }
}

ALONE void V(claimed_ragged)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    const V(ragged)      r = V(ragged_of)(b);
    const V(short_stick) e = V(short_stick_of)(b->last, b->pad, b->tail > 0);
    const bool           along = r.on.dst == STICK;
    if (along && b->tail == 0) V(claimed_along)(d, s, &r, &e, false);
    else if (along) V(claimed_along)(d, s, &r, &e, true);
    else if (b->tail == 0) V(claimed_across)(d, s, &r, &e, false);
    else V(claimed_across)(d, s, &r, &e, true);
}

/* n rows side by side. */
INLINE void V(ragged_band)(uint8_t *to, const uint8_t *from, const V(ragged) *r, int64_t n, const V(short_stick) *e,
                           bool padded) {
    for (int64_t k = 1; k < r->on.n; k++, to += r->on.dst, from += r->on.src) {
        TG_UNROLL
        for (int64_t j = 0; j < n; j++) V(stick)(to + j * r->beside.dst, from + j * r->beside.src, false);
    }
    for (int64_t j = 0; j < n; j++, to += r->beside.dst, from += r->beside.src)
        V(put_short_stick)(to, from, e, padded);
}

INLINE void V(ragged_sticks)(uint8_t *d, const uint8_t *s, const tg_block *b, bool padded) {
    V(ragged)            r = V(ragged_of)(b);
    const V(short_stick) e = V(short_stick_of)(b->last, b->pad, padded);
    for (; r.beside.n >= NEAR_BAND; r.beside.n -= NEAR_BAND) {
        V(ragged_band)(d, s, &r, NEAR_BAND, &e, padded);
        d += NEAR_BAND * r.beside.dst;
        s += NEAR_BAND * r.beside.src;
    }
    for (; r.beside.n > 0; r.beside.n--, d += r.beside.dst, s += r.beside.src)
        V(ragged_band)(d, s, &r, 1, &e, padded);
}

ALONE void V(ragged_sticks_and_padding)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    V(ragged_sticks)(d, s, b, true);
}

ALONE void V(ragged_sticks_alone)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    V(ragged_sticks)(d, s, b, false);
}

/* Around the caches, where dst goes on along each row in pieces of whole lines. */
INLINE bool V(joined_ragged)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
#if VEC == 64
    const V(ragged) r = V(ragged_of)(b);
    walk            w = {r.on, r.beside, 0, true, 0, m->few_streams, false, false};
    if (b->tail > 0 || b->cols % TG_LINE_BYTES != 0 || b->cols == TG_LINE_BYTES || r.on.dst != b->cols ||
        r.on.n == 1)
        return false;
    w.along.n--;
    choose_band(&w, m);
    V(joined)(d, s, &w, b->cols, b->last, m->claims);
    return true;
#else
    (void)m, (void)d, (void)s, (void)b;
    return false;
#endif
}

/* Does dst go on along the rows of a block, or from one to the next? */
INLINE bool V(goes_on)(const tg_block *b) {
    const V(ragged) r = V(ragged_of)(b);
    return r.on.dst == b->cols || r.beside.dst == b->cols;
}

ALONE void V(claimed_block)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    const bool sticks = b->cols == STICK && (b->tail == 0 || b->last + b->tail == STICK);
    if (!V(goes_on)(b)) V(ragged_rows)(d, s, b);
    else if (sticks) V(claimed_ragged)(d, s, b);
    else V(claimed_ragged_rows)(d, s, b);
}

ALONE void V(ragged_lines)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (!V(joined_ragged)(m, d, s, b)) in_two(m, d, s, b);
}

ALONE void V(ragged_block)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, bool small) {
    if (m->stream) V(ragged_lines)(m, d, s, b);
    else if (m->claims && !small) V(claimed_block)(d, s, b);
    else if (b->cols == STICK && b->tail == 0) V(ragged_sticks_alone)(d, s, b);
    else if (b->cols == STICK && b->last + b->tail == STICK) V(ragged_sticks_and_padding)(d, s, b);
    else V(ragged_rows)(d, s, b);
}

/* ---- blocks ---- */

/* Bands of rows of n bytes, around the caches, and nothing fetched: a stick of each row in turn, with loads of their
 * own for rows, which is how prefetchers tell them apart (an Emerald Rapids, tiles, L: 1.11 of memcpy instead of 1.06).
 * Returns how many rows that was. */
INLINE int64_t V(row_bands)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n) {
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

ALONE void V(any_rows)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v) {
    const walk w = *v;
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
                    V(stream_row)(to, from, b->cols, m->far);
                else
                    V(copy_on)(to, from, b->cols, w.claims);
                if (b->tail > 0) V(pad)(to + b->cols, b->tail, b->pad, m->stream);
            }
}

/* ---- short rows ---- */

/* n bytes, more than half a unit, and no others. */
INLINE void V(unit_part)(int unit, uint8_t *restrict d, const uint8_t *restrict s, int64_t n) {
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
INLINE int64_t V(units_before)(const uint8_t *s, const uint8_t *end, int64_t count, int64_t step, int unit) {
    const int64_t room = end - s - unit;
    if (room < 0) return 0;
    return step <= 0 || (count - 1) * step <= room ? count : room / step + 1;
}

/* Whole short runs, which follow each other in dst: to decide for each of them takes longer than to move it. */
INLINE void V(unit_runs)(int unit, uint8_t *restrict d, const uint8_t *restrict s, const walk *w, int64_t runs) {
    const int64_t count = w->along.n, d_step = w->along.dst, s_step = w->along.src;
    for (; runs > 0; runs--, s += w->across.src) {
        const uint8_t *from = s;
        for (int64_t i = count; i > 0; i--, d += d_step, from += s_step) memcpy(d, from, (size_t)unit);
    }
}

/* A row is moved as one unit. What lies behind it in src comes along, and is overwritten by the next row of the run;
 * where there is none, or src ends, two halves of a unit overlap. */
INLINE void V(short_rows_of)(int unit, uint8_t *restrict d, const uint8_t *restrict s, int64_t n, const walk *v,
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

ALONE void V(short_rows)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, bool small) {
    const walk    w = walk_of(m, b);
    const int64_t n = b->cols, band = small ? w.along.n : BAND;
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
INLINE void V(small_sticks)(uint8_t *d, const uint8_t *s, tg_block b) {
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

INLINE void V(small_rows)(uint8_t *d, const uint8_t *s, const tg_block *block, bool padded) {
    const tg_block b = *block;
    for (int64_t o = 0; o < b.outer; o++)
        for (int64_t r = 0; r < b.rows; r++) {
            uint8_t *const       to = d + o * b.dst_outer + r * b.dst_row;
            const uint8_t *const from = s + o * b.src_outer + r * b.src_row;
            V(copy_and_pad)(to, from, b.cols, padded ? b.tail : 0, b.pad, false);
        }
}

ALONE void V(small_plain_rows)(uint8_t *d, const uint8_t *s, const tg_block *b) { V(small_rows)(d, s, b, false); }

ALONE void V(small_padded_rows)(uint8_t *d, const uint8_t *s, const tg_block *b) { V(small_rows)(d, s, b, true); }

ALONE void V(small_short_sticks)(uint8_t *d, const uint8_t *s, const tg_block *block) {
    const tg_block       b = *block;
    const V(short_stick) e = V(short_stick_of)(b.cols, b.pad, true);
    for (int64_t o = 0; o < b.outer; o++, d += b.dst_outer, s += b.src_outer) {
        uint8_t       *to = d;
        const uint8_t *from = s;
        for (int64_t r = b.rows; r > 0; r--, to += b.dst_row, from += b.src_row)
            V(put_short_stick)(to, from, &e, true);
    }
}

ALONE void V(ordered)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const walk w = walk_of(m, b);
    const bool lines = m->stream && at_lines(d, &w);
    if (b->cols == STICK && b->tail == 0 && (lines || !m->stream))
        V(sticks)(d, s, &w, lines);
    else if (b->cols + b->tail == STICK && b->tail > 0 && (lines || !m->stream))
        V(sticks_and_padding)(d, s, b, &w, lines);
#if VEC == 64
    else if (m->stream && b->cols + b->tail == STICK && b->tail > 0 && V(columns_in_one_line)(d, b, &w))
        V(sparse_sticks)(d, s, b, &w);
    else if (m->stream && b->cols % TG_LINE_BYTES == 0 && b->cols > TG_LINE_BYTES && b->tail == 0 && w.runs && !lines)
        V(joined)(d, s, &w, b->cols, 0, m->claims);
#endif
    else if (m->stream && b->cols < TG_LINES_CAPACITY && (w.runs || b->tail > 0) &&
             !(lines && b->tail == 0 && b->cols % TG_LINE_BYTES == 0))
        V(assemble)(d, s, b, &w);
    else
        V(any_rows)(m, d, s, b, &w);
}

static const uint8_t *V(rows)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int64_t bytes = b->outer * b->rows * (b->cols + b->tail);
    const bool    small = !m->stream && (bytes <= SMALL_CLAIMED || (bytes <= SMALL && !m->claims));
    if (b->ragged != TG_RAGGED_NOT)
        V(ragged_block)(m, d, s, b, small);
    else if (!m->stream && b->cols <= TG_LINE_BYTES && b->tail == 0)
        V(short_rows)(m, d, s, b, small);
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
