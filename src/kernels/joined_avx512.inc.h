/* Pieces of whole lines that begin anywhere in a line, joined in registers of 64 bytes; see rows.c. */

/* A mask of bytes [from, to) of a line. */
TG_INLINE __mmask64 V(bytes_of)(int64_t from, int64_t to) {
    return to <= from ? 0 : ~(uint64_t)0 >> (TG_LINE_BYTES - (to - from)) << from;
}

/* A band of pieces of whole lines, n bytes each, that begins in the middle of a line. With k bytes before the first
 * line, piece i has n - 64 bytes of lines to itself, from k on; the line before them is 64 - k bytes of piece i - 1 and
 * k of its own. */
TG_INLINE void V(join_piece)(uint8_t *line, const uint8_t *piece, const uint8_t *before, int64_t n, int64_t k,
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
TG_INLINE void V(join_pieces)(uint8_t *line, const uint8_t *piece, const walk *w, int64_t count, int64_t n, int64_t k) {
    for (int64_t i = 0; i < count; i++, piece += w->along.src, line += n)
        V(join_piece)(line, piece, piece - w->along.src, n, k, w);
}

/* A whole band of sticks, with loads of its own for each walk. */
TG_INLINE void V(join_whole_band)(uint8_t *line, const uint8_t *piece, const walk *w, int64_t k) {
    TG_UNROLL
    for (int64_t i = 0; i < BAND; i++)
        V(join_pieces)(line + i * STICK, piece + i * w->along.src, w, 1, STICK, k);
}

/* Bytes [from, to) of a line, of which others write the rest, another time (stream.h). With `claims` a plain store is
 * faster than others. */
TG_INLINE void V(put_part)(uint8_t *line, __m512i v, int64_t from, int64_t to, bool claims) {
    uint8_t bytes[TG_LINE_BYTES];
    if (claims) {
        _mm512_mask_storeu_epi8(line, V(bytes_of)(from, to), v);
        return;
    }
    _mm512_storeu_si512(bytes, v);
    tg_stream_part(line + from, bytes + from, to - from);
}

/* The k bytes before the first line of a run. */
TG_INLINE void V(join_begin)(uint8_t *d, const uint8_t *s, int64_t k, bool claims) {
    const int64_t from = TG_LINE_BYTES - k;
    if (k == 0) return;
    V(put_part)(d - from, _mm512_maskz_loadu_epi8(V(bytes_of)(from, TG_LINE_BYTES), s - from), from, TG_LINE_BYTES,
                claims);
}

/* Behind the last whole piece: the end of it, and a shorter piece, if `last` is not 0. */
TG_INLINE void V(join_end)(uint8_t *line, const uint8_t *piece, const uint8_t *before, int64_t n, int64_t k,
                           int64_t last, bool claims) {
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
TG_INLINE void V(join_band)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n, int64_t from, int64_t to,
                            int64_t last, bool claims) {
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
TG_INLINE void V(join)(uint8_t *d, const uint8_t *s, const walk *w, int64_t n, int64_t last, bool claims) {
    for (int64_t i = 0; i < w->along.n; i += w->band)
        for (int64_t o = 0; o < w->across.n; o++) {
            uint8_t *const to = d + o * w->across.dst, *const later = to + TG_CLAIMED_RUNS * w->across.dst;
            const int64_t  end = tg_min(i + w->band, w->along.n);
            if (claims && i == 0) TG_CLAIM(later);
            if (claims && end == w->along.n) TG_CLAIM(later + end * n + last);
            V(join_band)(to, s + o * w->across.src, w, n, i, end, last, claims);
        }
}

/* Where runs follow each other, the end of one and the beginning of the next are put together to a line on their way
 * around the caches: none is claimed. */
TG_OUTLINE void V(joined)(uint8_t *d, const uint8_t *s, const walk *v, int64_t n, int64_t last, bool claims) {
    walk w = *v;
    if (claims) w.ahead = 0; /* an Emerald Rapids, L: 0.99 of memcpy instead of 0.91 */
    claims = claims && (w.across.dst != w.along.n * n + last || w.band < w.along.n);
    if (n == STICK) V(join)(d, s, &w, STICK, last, claims);
    else V(join)(d, s, &w, n, last, claims);
}
