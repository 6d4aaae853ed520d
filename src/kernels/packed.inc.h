/* Transposes of packed elements, with vectors of VEC bytes; see packed.c. */
#include "kernels/vector.inc.h"

typedef unsigned long long V(fields) __attribute__((vector_size(VEC), may_alias));

/* The high fields of a and the low ones of b change places; they are `shift` bits wide. */
TG_INLINE void V(swap)(V(fields) *a, V(fields) *b, int shift, uint64_t low) {
    const V(fields) x = *a, y = *b;
    *a = (x & low) | (y & low) << shift;
    *b = (x >> shift & low) | (y & ~low);
}

/* Fields of one byte of each of 8 / bits vectors: field j of vector k becomes field k of vector j. */
TG_INLINE void V(swap_fields)(int bits, V(fields) *v) {
    const uint64_t halves = 0x0f0f0f0f0f0f0f0f, quarters = 0x3333333333333333, eighths = 0x5555555555555555;
    const int      per = 8 / bits;
    TG_UNROLL
    for (int k = 0; k < per / 2; k++) V(swap)(&v[k], &v[k + per / 2], 4, halves);
    if (bits < 4) {
        TG_UNROLL
        for (int k = 0; k < per; k++)
            if ((k & per / 4) == 0) V(swap)(&v[k], &v[k + per / 4], 2, quarters);
    }
    if (bits < 2) {
        TG_UNROLL
        for (int k = 0; k < per; k += 2) V(swap)(&v[k], &v[k + 1], 1, eighths);
    }
}

/* Less than a vector. */
TG_INLINE void V(exchange_part)(int bits, uint8_t *d, int64_t d_step, const uint8_t *s, int64_t s_step, int64_t n) {
#if VEC == 64
    const __mmask64 part = ((__mmask64)1 << n) - 1;
    const int       per = 8 / bits;
    V(fields)       v[8];
    TG_UNROLL
    for (int k = 0; k < per; k++) v[k] = (V(fields))_mm512_maskz_loadu_epi8(part, s + k * s_step);
    V(swap_fields)(bits, v);
    TG_UNROLL
    for (int k = 0; k < per; k++) _mm512_mask_storeu_epi8(d + k * d_step, part, (__m512i)v[k]);
#else
    exchange_bytes(bits, d, d_step, s, s_step, n);
#endif
}

/* n bytes of each of 8 / bits lines. What lies `ahead` of them is fetched, if not 0. */
TG_INLINE void V(exchange)(int bits, uint8_t *d, int64_t d_step, const uint8_t *s, int64_t s_step, int64_t n,
                           int64_t ahead, bool stream) {
    const int per = 8 / bits;
    int64_t   i = 0;
    if (n < VEC) {
        V(exchange_part)(bits, d, d_step, s, s_step, n);
        return;
    }
    for (;;) {
        V(fields) v[8];
        TG_UNROLL
        for (int k = 0; k < per; k++) {
            v[k] = (V(fields))V(load)(s + k * s_step + i);
            if (ahead > 0) TG_FETCH(s + k * s_step + i + ahead);
        }
        V(swap_fields)(bits, v);
        TG_UNROLL
        for (int k = 0; k < per; k++) V(put)(d + k * d_step + i, (V(vec))v[k], stream);
        if (i + VEC == n) return;
        i = i + 2 * VEC <= n ? i + VEC : n - VEC; /* the last vector overlaps the one before */
    }
}

/* Fields change places on the way into the stage. */
TG_INLINE void V(exchange_first)(int bits, const packed_matrix *v, uint8_t *stage) {
    const packed_matrix a = *v;
    const int           per = 8 / bits;
    for (int64_t o = 0, steps; o < a.outer; o += steps) {
        steps = tg_min(a.steps, a.outer - o);
        for (int64_t c = 0; c < a.cols; c += a.side)
            for (int64_t i = 0; i < steps * a.line; i += a.piece) {
                const int64_t  n = tg_min(a.piece, steps * a.line - i), groups = tg_min(a.side, a.cols - c) / per;
                const uint8_t *s = a.s + o * a.src_outer + c * a.src_col + i;
                uint8_t *const d = a.d + o * a.dst_outer + i * per * a.dst_row + c / per;
                for (int64_t g = 0; g < groups; g++, s += per * a.src_col)
                    V(exchange)(bits, stage + g * a.piece, groups * a.piece, s, a.src_col, n, a.ahead, false);
                turn_stage(&a, per, d, stage, n, groups, i * per, steps);
            }
    }
}

/* Short lines, one after the other: fields change places on the way out of it. */
TG_INLINE void V(exchange_last)(int bits, const packed_matrix *v, uint8_t *stage) {
    const packed_matrix a = *v;
    const int64_t       per = 8 / bits;
    for (int64_t o = 0, steps; o < a.outer; o += steps) {
        steps = tg_min(a.steps, a.outer - o);
        for (int64_t c = 0; c < steps * a.run; c += a.piece) {
            const int64_t        n = tg_min(a.piece, steps * a.run - c);
            const uint8_t *const s = a.s + o * a.src_outer + c * per * a.line;
            uint8_t *const       d = a.d + o * a.dst_outer + c;
            const bool     stream = a.bytes.stream && n % TG_LINE_BYTES == 0 && tg_at_lines(d, a.dst_row, 0);
            const tg_block turn = {.outer = steps, .rows = per * a.line, .cols = n / steps, .dst_outer = n / steps,
                                   .dst_row = a.piece, .dst_col = 1, .src_outer = a.src_outer, .src_row = 1,
                                   .src_col = per * a.line};
            (void)a.into_stage.move(&a.into_stage, stage, s, &turn);
            for (int64_t i = 0; i < a.line; i++) {
                uint8_t *const       to = d + i * per * a.dst_row;
                const uint8_t *const from = stage + i * a.piece;
                if (stream) V(exchange)(bits, to, a.dst_row, from, a.line * a.piece, n, 0, true);
                else V(exchange)(bits, to, a.dst_row, from, a.line * a.piece, n, 0, false);
            }
        }
    }
}

TG_INLINE const uint8_t *V(packed)(int bits, exchange_all *exchange, const tg_mover *m, uint8_t *d, const uint8_t *s,
                                   const tg_block *b) {
    packed_matrix a = matrix_of(bits, m, d, s, b);
    a.bytes.move = a.into_stage.move = tg_transpose_for(SET, 1);
    if ((a.last ? a.line * (8 / bits) : a.side) * a.piece <= WANTED) with_half_a_stage(exchange, &a);
    else with_stage(exchange, &a);
    return NULL;
}

#undef DEFINE_PACKED
#define DEFINE_PACKED(BITS)                                                                                            \
    static void V(exchange_##BITS)(const packed_matrix *a, uint8_t *stage) {                                           \
        if (a->last) V(exchange_last)(BITS, a, stage);                                                                 \
        else V(exchange_first)(BITS, a, stage);                                                                        \
    }                                                                                                                  \
    static const uint8_t *V(packed_##BITS)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {       \
        return V(packed)(BITS, V(exchange_##BITS), m, d, s, b);                                                        \
    }

DEFINE_PACKED(1)
DEFINE_PACKED(2)
DEFINE_PACKED(4)
