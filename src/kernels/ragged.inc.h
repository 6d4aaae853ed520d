/* Blocks whose rows end with a shorter piece, with vectors of VEC bytes; see rows.c. */

/* One row beside the other, each of them a loop of runs. */
typedef struct V(ragged) {
    loop    beside, on;
    int64_t last, tail;
} V(ragged);

TG_INLINE V(ragged) V(ragged_of)(const tg_block *b) {
    const loop      outer = {b->outer, b->dst_outer, b->src_outer}, rows = {b->rows, b->dst_row, b->src_row};
    const bool      is_rows = b->ragged == TG_RAGGED_ROWS;
    const V(ragged) r = {is_rows ? outer : rows, is_rows ? rows : outer, b->last, b->tail};
    return r;
}

TG_INLINE void V(ragged_rows_of)(uint8_t *d, const uint8_t *s, const tg_block *b, bool claims) {
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

TG_OUTLINE void V(ragged_rows)(uint8_t *d, const uint8_t *s, const tg_block *b) { V(ragged_rows_of)(d, s, b, false); }

TG_OUTLINE void V(claimed_ragged_rows)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    V(ragged_rows_of)(d, s, b, true);
}

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

TG_INLINE V(short_stick) V(short_stick_of)(int64_t cols, const uint8_t *pad, bool padded) {
#if VEC == 64
    const __mmask64      low = V(first_bytes)(cols), high = V(bytes_left)(cols - VEC);
    const V(short_stick) e = {padded ? V(pad_line)(pad, cols) : _mm512_setzero_si512(), low, high};
#else
    const V(short_stick) e = {cols, padded ? pad : NULL};
#endif
    return e;
}

TG_INLINE void V(put_short_stick)(uint8_t *d, const uint8_t *s, const V(short_stick) *e, bool padded) {
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
TG_INLINE void V(claimed_along)(uint8_t *d, const uint8_t *s, const V(ragged) * r, const V(short_stick) * e,
                                bool padded) {
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
TG_INLINE void V(claimed_across)(uint8_t *d, const uint8_t *s, const V(ragged) * r, const V(short_stick) * e,
                                 bool padded) {
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

TG_OUTLINE void V(claimed_ragged)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    const V(ragged)      r = V(ragged_of)(b);
    const V(short_stick) e = V(short_stick_of)(b->last, b->pad, b->tail > 0);
    const bool           along = r.on.dst == STICK;
    if (along && b->tail == 0) V(claimed_along)(d, s, &r, &e, false);
    else if (along) V(claimed_along)(d, s, &r, &e, true);
    else if (b->tail == 0) V(claimed_across)(d, s, &r, &e, false);
    else V(claimed_across)(d, s, &r, &e, true);
}

/* n rows side by side. */
TG_INLINE void V(ragged_band)(uint8_t *to, const uint8_t *from, const V(ragged) *r, int64_t n, const V(short_stick) *e,
                              bool padded) {
    for (int64_t k = 1; k < r->on.n; k++, to += r->on.dst, from += r->on.src) {
        TG_UNROLL
        for (int64_t j = 0; j < n; j++) V(stick)(to + j * r->beside.dst, from + j * r->beside.src, false);
    }
    for (int64_t j = 0; j < n; j++, to += r->beside.dst, from += r->beside.src)
        V(put_short_stick)(to, from, e, padded);
}

TG_INLINE void V(ragged_sticks)(uint8_t *d, const uint8_t *s, const tg_block *b, bool padded) {
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

TG_OUTLINE void V(ragged_sticks_and_padding)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    V(ragged_sticks)(d, s, b, true);
}

TG_OUTLINE void V(ragged_sticks_alone)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    V(ragged_sticks)(d, s, b, false);
}

#if VEC == 64
#  include "kernels/unbroken_avx512.inc.h"
#endif

/* Around the caches, where dst goes on along each row in pieces of whole lines. */
TG_INLINE bool V(joined_ragged)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
#if VEC == 64
    const V(ragged) r = V(ragged_of)(b);
    walk            w = {r.on, r.beside, 0, true, 0, m->few_streams, false, false};
    if (V(joined_ragged_rows)(m, d, s, b)) return true;
    if (b->tail > 0 || b->cols % TG_LINE_BYTES != 0 || b->cols == TG_LINE_BYTES || r.on.dst != b->cols ||
        r.on.n == 1)
        return false;
    w.along.n--;
    choose_band(&w, m);
    V(joined)(d, s, &w, b->cols, b->last, m);
    return true;
#else
    (void)m, (void)d, (void)s, (void)b;
    return false;
#endif
}

/* Does dst go on along the rows of a block, or from one to the next? */
TG_INLINE bool V(goes_on)(const tg_block *b) {
    const V(ragged) r = V(ragged_of)(b);
    return r.on.dst == b->cols || r.beside.dst == b->cols;
}

TG_OUTLINE void V(claimed_block)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    const bool sticks = b->cols == STICK && (b->tail == 0 || b->last + b->tail == STICK);
    if (!V(goes_on)(b)) V(ragged_rows)(d, s, b);
    else if (sticks) V(claimed_ragged)(d, s, b);
    else V(claimed_ragged_rows)(d, s, b);
}

/* Around the caches, short rows of which each goes on where the one before ends: by themselves they would write two
 * parts of lines each (256 MiB, an Emerald Rapids, x memcpy: rows of 255 bytes 0.27 and 0.5). */
TG_INLINE bool V(assembled_ragged)(uint8_t *d, const uint8_t *s, const tg_block *b) {
    const V(ragged) r = V(ragged_of)(b);
    const int64_t   row = (r.on.n - 1) * b->cols + b->last;
    if (b->tail > 0 || r.on.dst != b->cols || r.beside.dst != row || row > SHORT_RAGGED) return false;
    tg_lines l;
    tg_lines_begin(&l, d);
    for (int64_t i = 0; i < r.beside.n; i++, s += r.beside.src) {
        const uint8_t *from = s;
        for (int64_t k = 1; k < r.on.n; k++, from += r.on.src) V(add_bytes)(&l, from, b->cols);
        V(add_bytes)(&l, from, b->last);
    }
    tg_lines_end(&l, V(stream_lines));
    return true;
}

TG_OUTLINE void V(ragged_lines)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (!V(assembled_ragged)(d, s, b) && !V(joined_ragged)(m, d, s, b)) in_two(m, d, s, b);
}

TG_OUTLINE void V(ragged_block)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b, bool small) {
    if (m->stream) V(ragged_lines)(m, d, s, b);
    else if (m->claims && !small) V(claimed_block)(d, s, b);
    else if (b->cols == STICK && b->tail == 0) V(ragged_sticks_alone)(d, s, b);
    else if (b->cols == STICK && b->last + b->tail == STICK) V(ragged_sticks_and_padding)(d, s, b);
    else V(ragged_rows)(d, s, b);
}
