/* Blocks of which all of dst is one run that begins inside of a line, with vectors of 64 bytes; see rows.c.
 *
 * dst is written from end to end: each line of src is loaded once, as it is, and each line of dst is joined of the end
 * of one and the beginning of the next one, be it of the same piece or not. Only the first and the last line of all are
 * parts. */

/* Pieces of n bytes, whole lines, in runs of `along.n` that follow each other. Shorter ones, with padding behind them,
 * are those of run `whole` and of all behind it, and, where `ends`, the last one of each run. */
typedef struct V(unbroken) {
    loop           along, across;
    int64_t        whole, n, cols; /* of shorter ones */
    bool           ends;
    const uint8_t *pad; /* NULL: there are none */
} V(unbroken);

typedef struct V(joiner) {
    uint8_t  *line;         /* the next one of dst */
    __m512i   last, from_k; /* the line of src before; the place of a line of dst in it and the next one */
    __m512i   pad;
    __mmask64 low, high; /* columns of a shorter stick; low: of the mixed line of any other shorter piece, */
    int64_t   lines, pads; /* with whole lines before it, and padding behind it */
} V(joiner);

TG_INLINE void V(join_line)(V(joiner) *j, __m512i v) {
    V(stream)(j->line, (V(vec))_mm512_permutex2var_epi8(j->last, j->from_k, v));
    j->line += TG_LINE_BYTES;
    j->last = v;
}

/* Its lines from `first` on, which is 0 or 1. */
TG_INLINE void V(join_whole)(V(joiner) *j, const uint8_t *s, int64_t n, int64_t first, bool sticks) {
    if (!sticks) {
        const uint8_t *const end = s + n;
        for (s += first * TG_LINE_BYTES; end - s >= STICK; s += STICK) {
            V(join_line)(j, _mm512_loadu_si512(s));
            V(join_line)(j, _mm512_loadu_si512(s + TG_LINE_BYTES));
        }
        if (s < end) V(join_line)(j, _mm512_loadu_si512(s));
        return;
    }
    if (first == 0) V(join_line)(j, _mm512_loadu_si512(s));
    V(join_line)(j, _mm512_loadu_si512(s + TG_LINE_BYTES));
}

TG_INLINE void V(join_shorter)(V(joiner) *j, const uint8_t *s, int64_t first, bool sticks) {
    const int64_t lines = sticks ? 0 : j->lines;
    for (int64_t i = first; i < lines; i++) V(join_line)(j, _mm512_loadu_si512(s + i * TG_LINE_BYTES));
    if (first <= lines) V(join_line)(j, _mm512_mask_loadu_epi8(j->pad, j->low, s + lines * TG_LINE_BYTES));
    if (sticks) V(join_line)(j, _mm512_mask_loadu_epi8(j->pad, j->high, s + TG_LINE_BYTES));
    for (int64_t i = sticks ? 0 : j->pads; i > 0; i--) V(join_line)(j, j->pad);
}

TG_INLINE V(joiner) V(joiner_of)(const uint8_t *d, const V(unbroken) *u, bool sticks) {
    const int64_t at = (int64_t)((uintptr_t)d % TG_LINE_BYTES), lines = sticks ? 0 : u->cols / TG_LINE_BYTES;
    const V(joiner) j = {NULL, _mm512_setzero_si512(), V(moved_up)(at - TG_LINE_BYTES),
                         u->pad != NULL ? V(pad_line)(u->pad, u->cols) : _mm512_setzero_si512(),
                         V(bytes_of)(0, tg_min(u->cols - lines * TG_LINE_BYTES, TG_LINE_BYTES)),
                         V(bytes_of)(0, u->cols - TG_LINE_BYTES), lines, u->n / TG_LINE_BYTES - lines - 1};
    return j;
}

/* The part of a line at which dst begins, and the rest of the first piece. */
TG_INLINE void V(join_first)(V(joiner) *j, uint8_t *d, const uint8_t *s, const V(unbroken) *u, bool sticks) {
    const int64_t at = (int64_t)((uintptr_t)d % TG_LINE_BYTES);
    const bool    shorter = u->whole == 0 || (u->ends && u->along.n == 1);
    const bool    mixed = shorter && j->lines == 0;
    j->line = d - at + TG_LINE_BYTES;
    j->last = mixed ? _mm512_mask_loadu_epi8(j->pad, j->low, s) : _mm512_loadu_si512(s);
    V(put_part)(d - at, _mm512_permutexvar_epi8(j->from_k, j->last), at, TG_LINE_BYTES, false);
    if (shorter) V(join_shorter)(j, s, 1, sticks);
    else V(join_whole)(j, s, u->n, 1, sticks);
}

TG_INLINE void V(join_unbroken)(uint8_t *d, const uint8_t *s, const V(unbroken) *v, bool sticks, bool padded) {
    const V(unbroken) u = *v;
    V(joiner)         j = V(joiner_of)(d, &u, sticks);
    int64_t           i = 1;
    V(join_first)(&j, d, s, &u, sticks);
    for (int64_t o = 0; o < u.across.n; o++, s += u.across.src, i = 0) {
        const int64_t  whole = !padded ? u.along.n : o >= u.whole ? 0 : u.along.n - u.ends;
        const uint8_t *from = s + i * u.along.src;
        for (; i < whole; i++, from += u.along.src) V(join_whole)(&j, from, u.n, 0, sticks);
        for (; padded && i < u.along.n; i++, from += u.along.src) V(join_shorter)(&j, from, 0, sticks);
    }
    V(put_part)(j.line, _mm512_permutexvar_epi8(j.from_k, j.last), 0, (int64_t)((uintptr_t)d % TG_LINE_BYTES), false);
}

TG_OUTLINE void V(unbroken_sticks)(uint8_t *d, const uint8_t *s, const V(unbroken) *u) {
    if (u->pad == NULL) V(join_unbroken)(d, s, u, true, false);
    else V(join_unbroken)(d, s, u, true, true);
}

TG_OUTLINE void V(unbroken_pieces)(uint8_t *d, const uint8_t *s, const V(unbroken) *u) {
    if (u->pad == NULL) V(join_unbroken)(d, s, u, false, false);
    else V(join_unbroken)(d, s, u, false, true);
}

/* Pieces of src are read side by side, no more than bands have. */
TG_INLINE bool V(joined_unbroken)(const tg_mover *m, uint8_t *d, const uint8_t *s, const V(unbroken) *u) {
    if (!m->stream || !m->claims || (uintptr_t)d % TG_LINE_BYTES == 0 || u->n % TG_LINE_BYTES != 0) return false;
    if (u->along.dst != u->n) return false;
    if (u->across.n > 1 && (u->across.dst != u->along.n * u->n || u->along.n > JOINED_BAND)) return false;
    if (u->n == STICK) V(unbroken_sticks)(d, s, u);
    else V(unbroken_pieces)(d, s, u);
    return true;
}

TG_INLINE bool V(joined_rows)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, const walk *w) {
    const bool        padded = b->tail > 0;
    const V(unbroken) u = {w->along, w->across, padded ? 0 : w->across.n, b->cols + b->tail, padded ? b->cols : 0,
                           false, padded ? b->pad : NULL};
    return V(joined_unbroken)(m, d, s, &u);
}

TG_INLINE bool V(joined_ragged_rows)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const V(ragged)   r = V(ragged_of)(b);
    const bool        ends = r.on.dst == b->cols;
    const V(unbroken) u = {ends ? r.on : r.beside, ends ? r.beside : r.on, ends ? r.beside.n : r.on.n - 1, b->cols,
                           b->last, ends, b->pad};
    return b->tail > 0 && b->last + b->tail == b->cols && V(joined_unbroken)(m, d, s, &u);
}
