/* Pieces of whole lines that begin anywhere in a line, joined in registers of 64 bytes; see rows.c. */

/* A band of pieces of whole lines, n bytes each, that begins in the middle of a line. With k bytes before the first
 * line, piece i has n - 64 bytes of lines to itself, from k on; the line before them is 64 - k bytes of piece i - 1 and
 * k of its own. */
TG_INLINE void V(join_piece)(uint8_t *line, const uint8_t *piece, const uint8_t *before, int64_t n, int64_t k,
                             const walk *w) {
    const __mmask64 old = V(first_bytes)(TG_LINE_BYTES - k);
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

/* The k bytes before the first line of a run. */
TG_INLINE void V(join_begin)(uint8_t *d, const uint8_t *s, int64_t k, bool claims) {
    const int64_t from = TG_LINE_BYTES - k;
    if (k == 0) return;
    V(put_part)(d - from, _mm512_maskz_loadu_epi8(~V(first_bytes)(from), s - from), from, TG_LINE_BYTES,
                claims);
}

/* n bytes of a line are v, the others those with which the next run begins; NULL: they are left alone. */
TG_INLINE void V(put_end)(uint8_t *line, __m512i v, int64_t n, const uint8_t *next, bool claims) {
    if (next == NULL) V(put_part)(line, v, 0, n, claims);
    else V(stream)(line, (V(vec))_mm512_mask_loadu_epi8(v, ~V(first_bytes)(n), next - n));
}

/* Behind the last whole piece: the end of it, and a shorter piece, if `last` is not 0. */
TG_INLINE void V(join_end)(uint8_t *line, const uint8_t *piece, const uint8_t *before, int64_t n, int64_t k,
                           int64_t last, const uint8_t *next, bool claims) {
    const int64_t rest = TG_LINE_BYTES - k, some = tg_min(last, k);
    const __m512i v = _mm512_maskz_loadu_epi8(V(first_bytes)(rest), before + n - rest);
    const __m512i w = _mm512_mask_loadu_epi8(v, V(first_bytes)(rest + some) & ~V(first_bytes)(rest), piece - rest);
    if (rest + some == TG_LINE_BYTES) V(stream)(line, (V(vec))w);
    else V(put_end)(line, w, rest + some, next, claims);
    for (int64_t i = k; i < last; i += TG_LINE_BYTES) {
        const int64_t   more = tg_min(last - i, TG_LINE_BYTES);
        const __m512i   u = _mm512_maskz_loadu_epi8(V(first_bytes)(more), piece + i);
        uint8_t *const  to = line + i + TG_LINE_BYTES - k;
        if (more == TG_LINE_BYTES) V(stream)(to, (V(vec))u);
        else V(put_end)(to, u, more, next, claims);
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
    V(join_end)(d + to * n + k - TG_LINE_BYTES, piece, piece - w->along.src, n, k, last, NULL, claims);
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

/* ---- sticks, in registers ---- */

/* n sticks, a constant: each line of src is loaded once, as it is, and a line of dst is 64 bytes of two of them, from
 * the k-th on. `last`: the line of src before the first stick; returns the last one. */
TG_INLINE __m512i V(join_sticks)(uint8_t *line, const uint8_t *stick, int64_t step, __m512i from_k, __m512i last,
                                 int64_t n) {
    TG_UNROLL
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *const s = stick + i * step;
        const __m512i        v = _mm512_loadu_si512(s), w = _mm512_loadu_si512(s + TG_LINE_BYTES);
        V(stream)(line + i * STICK - TG_LINE_BYTES, (V(vec))_mm512_permutex2var_epi8(last, from_k, v));
        V(stream)(line + i * STICK, (V(vec))_mm512_permutex2var_epi8(v, from_k, w));
        last = w;
    }
    return last;
}

/* `count` sticks behind another one. */
TG_INLINE void V(join_stick_band)(uint8_t *line, const uint8_t *stick, int64_t step, int64_t count, int64_t k) {
    const __m512i from_0 = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928,
                                            0x2726252423222120, 0x1f1e1d1c1b1a1918, 0x1716151413121110,
                                            0x0f0e0d0c0b0a0908, 0x0706050403020100);
    const __m512i from_k = _mm512_add_epi8(from_0, _mm512_set1_epi8((char)k));
    __m512i       last = _mm512_loadu_si512(stick - step + TG_LINE_BYTES);
    for (; count >= BAND; count -= BAND, line += BAND * STICK, stick += BAND * step)
        last = V(join_sticks)(line, stick, step, from_k, last, BAND);
    for (; count > 0; count--, line += STICK, stick += step)
        last = V(join_sticks)(line, stick, step, from_k, last, 1);
}

/* Sticks [from, to) of a run, and `last` bytes behind the last one of all. ends: its own; else the line where it begins
 * is not written, and the one where it ends goes on with `next`, or is not written either. */
TG_INLINE void V(join_stick_run)(uint8_t *d, const uint8_t *s, const walk *w, int64_t from, int64_t to, int64_t last,
                                 bool ends, const uint8_t *next) {
    const int64_t        step = w->along.src, k = (int64_t)(-(uintptr_t)d % TG_LINE_BYTES);
    const int64_t        first = from == 0 ? 1 : from;
    const uint8_t *const end = s + to * step;
    if (from == 0 && ends) V(join_begin)(d, s, k, true);
    if (from == 0) V(copy_lines)(d + k, s + k, TG_LINE_BYTES, 0, false);
    V(join_stick_band)(d + first * STICK + k, s + first * step, step, to - first, k);
    if (to == w->along.n && (ends || next != NULL))
        V(join_end)(d + to * STICK + k - TG_LINE_BYTES, end, end - step, STICK, k, last, next, true);
}

/* Where runs follow each other, only the first line and the last one are parts. In the loops there is no call, and so
 * nothing is loaded but src. */
TG_OUTLINE void V(joined_sticks)(uint8_t *d, const uint8_t *s, const walk *v, int64_t last, int64_t band) {
    const walk     w = *v;
    const int64_t  n = w.along.n;
    const bool     goes_on = w.across.dst == n * STICK + last;
    uint8_t *const d_last = d + (w.across.n - 1) * w.across.dst;
    const uint8_t *const s_end = s + (w.across.n - 1) * w.across.src + n * w.along.src;
    const int64_t  k_last = (int64_t)(-(uintptr_t)d_last % TG_LINE_BYTES);
    if (goes_on) V(join_begin)(d, s, (int64_t)(-(uintptr_t)d % TG_LINE_BYTES), false);
    for (int64_t i = 0; i < n; i += band)
        for (int64_t o = 0; o < w.across.n; o++) {
            uint8_t *const       to = d + o * w.across.dst, *const later = to + TG_CLAIMED_RUNS * w.across.dst;
            const uint8_t *const from = s + o * w.across.src;
            const int64_t        end = tg_min(i + band, n);
            if (!goes_on && i == 0) TG_CLAIM(later);
            if (!goes_on && end == n) TG_CLAIM(later + end * STICK + last);
            V(join_stick_run)(to, from, &w, i, end, last, !goes_on,
                              goes_on && o + 1 < w.across.n ? from + w.across.src : NULL);
        }
    if (goes_on)
        V(join_end)(d_last + n * STICK + k_last - TG_LINE_BYTES, s_end, s_end - w.along.src, STICK, k_last, last,
                    NULL, false);
}

/* Where runs follow each other, the end of one and the beginning of the next are put together to a line on their way
 * around the caches: none is claimed. */
TG_OUTLINE void V(joined)(uint8_t *d, const uint8_t *s, const walk *v, int64_t n, int64_t last, const tg_mover *m) {
    walk   w = *v;
    bool   claims = m->claims;
    if (claims && n == STICK && w.along.n >= BAND) {
        V(joined_sticks)(d, s, v, last, m->sparing ? JOINED_BAND : BAND);
        return;
    }
    if (claims) w.ahead = 0; /* an Emerald Rapids, L: 0.99 of memcpy instead of 0.91 */
    claims = claims && (w.across.dst != w.along.n * n + last || w.band < w.along.n);
    if (n == STICK) V(join)(d, s, &w, STICK, last, claims);
    else V(join)(d, s, &w, n, last, claims);
}
