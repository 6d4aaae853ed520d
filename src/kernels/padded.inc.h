/* Rows of one stick, partly padding, with vectors of VEC bytes; see rows.c. */

#if VEC == 64
/* The padding of any line of a row, where it belongs: it begins behind the columns. */
TG_INLINE __m512i V(pad_line)(const uint8_t *pad, int64_t cols) {
    return _mm512_permutexvar_epi8(V(moved_up)(cols), _mm512_loadu_si512(pad)); /* of a place the low six bits count */
}

/* few: no more than 16 bytes of columns. Loads as long as they are seldom begin in one line and end in another, which
 * those of a whole line nearly always do. */
TG_INLINE void V(padded_sticks_of)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, bool few,
                                   bool stream) {
    const __m512i   pad = V(pad_line)(b->pad, b->cols);
    const __m128i   first = _mm512_castsi512_si128(pad);
    const __mmask64 in_low = V(first_bytes)(b->cols), in_high = V(bytes_left)(b->cols - 64);
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
TG_INLINE bool V(columns_in_one_line)(const uint8_t *d, const tg_block *b, const walk *w) {
    const int64_t at = (int64_t)((uintptr_t)d % TG_LINE_BYTES);
    return w->runs && b->cols <= 16 && at + b->cols <= TG_LINE_BYTES && w->across.dst % TG_LINE_BYTES == 0;
}

/* Such sticks: lines with columns and lines without take turns. */
TG_INLINE void V(sparse_sticks_of)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v, bool stream) {
    const walk      w = *v;
    const int64_t   at = (int64_t)((uintptr_t)d % TG_LINE_BYTES);
    const __m512i   pad = V(pad_line)(b->pad, at + b->cols), places = V(moved_up)(at);
    const __mmask16 cols = (__mmask16)V(first_bytes)(b->cols);
    const __mmask64 mask = V(bytes_between)(at, at + b->cols);
    uint8_t         line[TG_LINE_BYTES];
    for (int64_t o = 0; o < w.across.n; o++) {
        uint8_t       *to = d - at + o * w.across.dst;
        const uint8_t *from = s + o * w.across.src;
        for (int64_t i = 0; i < w.along.n; i++, to += STICK, from += w.along.src) {
            const __m512i some = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(cols, from));
            const __m512i all = _mm512_mask_permutexvar_epi8(pad, mask, places, some);
            if (w.claims) V(claim_stick)(to);
            if (i > 0) {
                V(put)(to, (V(vec))all, stream);
            } else {
                _mm512_storeu_si512(line, all);
                tg_put_part(to + at, line + at, TG_LINE_BYTES - at, !stream);
            }
            V(put)(to + TG_LINE_BYTES, (V(vec))pad, stream);
        }
        _mm512_storeu_si512(line, pad);
        tg_put_part(to, line, at, !stream);
    }
}

TG_OUTLINE void V(sparse_sticks)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, bool stream) {
    if (stream) V(sparse_sticks_of)(d, s, b, w, true);
    else V(sparse_sticks_of)(d, s, b, w, false);
}

/* Rows that begin and end at cache lines, of few bytes, with lines of padding: each line is whole before it is stored.
 * (A Zen 4, x memcpy, f32[n,10] to T(8,128), 256 MiB 0.7 -> 3.1, 8 MiB 0.8 -> 1.0.) */
TG_INLINE void V(padded_lines_of)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, bool stream) {
    const V(vec)  pad = (V(vec))V(pad_line)(b->pad, b->cols);
    const int64_t whole = b->cols / VEC * VEC, all = b->cols + b->tail;
    const __mmask64 part = V(first_bytes)(b->cols - whole);
    for (int64_t o = 0; o < w->across.n; o++) {
        uint8_t       *to = d + o * w->across.dst;
        const uint8_t *from = s + o * w->across.src;
        for (int64_t i = 0; i < w->along.n; i++, to += w->along.dst, from += w->along.src) {
            int64_t k = 0;
            for (; k < whole; k += VEC) V(put)(to + k, V(load)(from + k), stream);
            V(put)(to + k, (V(vec))_mm512_mask_loadu_epi8((__m512i)pad, part, from + k), stream);
            for (k += VEC; k < all; k += VEC) V(put)(to + k, pad, stream);
        }
    }
}

TG_OUTLINE void V(padded_lines)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v, bool stream) {
    const walk w = *v;
    if (stream) V(padded_lines_of)(d, s, b, &w, true);
    else V(padded_lines_of)(d, s, b, &w, false);
}

TG_INLINE void V(padded_sticks)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, bool stream) {
    if (b->cols <= 16)
        V(padded_sticks_of)(d, s, b, w, true, stream);
    else
        V(padded_sticks_of)(d, s, b, w, false, stream);
}
#else
/* The padding where it belongs; twice as long as a stick, so that two whole patterns have place behind any columns. */
TG_INLINE void V(padded_stick)(uint8_t *stick, const tg_block *b) {
    memset(stick, 0, STICK);
    memcpy(stick + b->cols, b->pad, TG_PAD_PATTERN);
    memcpy(stick + b->cols + TG_PAD_PATTERN, b->pad, TG_PAD_PATTERN);
}

TG_INLINE void V(some_bytes)(uint8_t *d, const uint8_t *s, int64_t n) {
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
TG_INLINE void V(padded_sticks)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w, bool stream) {
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

TG_OUTLINE void V(sticks_and_padding)(uint8_t *d, const uint8_t *s, const tg_block *b, const walk *v, bool stream) {
    const walk w = *v;
    if (stream)
        V(padded_sticks)(d, s, b, &w, true);
    else
        V(padded_sticks)(d, s, b, &w, false);
}
