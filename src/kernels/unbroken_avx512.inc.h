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

/* What shorter pieces are made of. Those that are no sticks have whole lines, a mixed one, and lines of padding. */
typedef struct V(shorter) {
    __m512i   pad;
    __mmask64 low, high; /* columns of a stick; low: of the mixed line of any other piece */
    int64_t   lines, pads;
} V(shorter);

/* Its lines from `first` on, which is 0 or 1. */
TG_INLINE void V(join_whole)(V(joiner) *j, const uint8_t *s, int64_t n, int64_t first, bool sticks) {
    if (!sticks) {
        const uint8_t *const end = s + n;
        for (s += first * TG_LINE_BYTES; end - s >= STICK; s += STICK) {
            V(join_line)(j, _mm512_loadu_si512(s), true);
            V(join_line)(j, _mm512_loadu_si512(s + TG_LINE_BYTES), true);
        }
        if (s < end) V(join_line)(j, _mm512_loadu_si512(s), true);
        return;
    }
    if (first == 0) V(join_line)(j, _mm512_loadu_si512(s), true);
    V(join_line)(j, _mm512_loadu_si512(s + TG_LINE_BYTES), true);
}

TG_INLINE void V(join_shorter)(V(joiner) *j, const uint8_t *s, const V(shorter) *e, int64_t first, bool sticks) {
    const int64_t lines = sticks ? 0 : e->lines;
    for (int64_t i = first; i < lines; i++) V(join_line)(j, _mm512_loadu_si512(s + i * TG_LINE_BYTES), true);
    if (first <= lines) V(join_line)(j, _mm512_mask_loadu_epi8(e->pad, e->low, s + lines * TG_LINE_BYTES), true);
    if (sticks) V(join_line)(j, _mm512_mask_loadu_epi8(e->pad, e->high, s + TG_LINE_BYTES), true);
    for (int64_t i = sticks ? 0 : e->pads; i > 0; i--) V(join_line)(j, e->pad, true);
}

TG_INLINE V(shorter) V(shorter_of)(const V(unbroken) *u, bool sticks) {
    const int64_t    lines = sticks ? 0 : u->cols / TG_LINE_BYTES;
    const V(shorter)
        e = {u->pad != NULL ? V(pad_line)(u->pad, u->cols) : _mm512_setzero_si512(),
             V(first_bytes)(u->cols - lines * TG_LINE_BYTES),
             V(bytes_left)(u->cols - TG_LINE_BYTES), lines, u->n / TG_LINE_BYTES - lines - 1};
    return e;
}

TG_INLINE V(joiner) V(join_first)(uint8_t *d, const uint8_t *s, const V(unbroken) *u, const V(shorter) *e,
                                  bool sticks) {
    const bool shorter = u->whole == 0 || (u->ends && u->along.n == 1), mixed = shorter && e->lines == 0;
    V(joiner)  j = V(join_from)(d, mixed ? _mm512_mask_loadu_epi8(e->pad, e->low, s) : _mm512_loadu_si512(s), true);
    if (shorter) V(join_shorter)(&j, s, e, 1, sticks);
    else V(join_whole)(&j, s, u->n, 1, sticks);
    return j;
}

TG_INLINE void V(join_unbroken)(uint8_t *d, const uint8_t *s, const V(unbroken) *v, bool sticks, bool padded) {
    const V(unbroken) u = *v;
    const V(shorter)  e = V(shorter_of)(&u, sticks);
    V(joiner)         j = V(join_first)(d, s, &u, &e, sticks);
    int64_t           i = 1;
    for (int64_t o = 0; o < u.across.n; o++, s += u.across.src, i = 0) {
        const int64_t  whole = !padded ? u.along.n : o >= u.whole ? 0 : u.along.n - u.ends;
        const uint8_t *from = s + i * u.along.src;
        for (; i < whole; i++, from += u.along.src) V(join_whole)(&j, from, u.n, 0, sticks);
        for (; padded && i < u.along.n; i++, from += u.along.src) V(join_shorter)(&j, from, &e, 0, sticks);
    }
    V(join_to)(&j, d, true);
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
    if (!m->stream || !m->to_dst || (uintptr_t)d % TG_LINE_BYTES == 0 || u->n % TG_LINE_BYTES != 0) return false;
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
