/* Rows of packed elements that take turns, with vectors of VEC bytes; see turns.c. */
#include "kernels/widen.inc.h"

typedef uint8_t V(short_bytes) __attribute__((vector_size(VEC / 2)));
typedef uint8_t V(word_bytes) __attribute__((vector_size(VEC / 4)));

/* VEC bytes, of all rows together. */
TG_INLINE V(vec) V(mix)(int bits, int rows, const uint8_t *s, int64_t step) {
    if (rows == 2) {
        V(u16) x = V(get_16_of_8)(s) | V(get_16_of_8)(s + step) << 8;
        MIX_2(bits, x);
        return (V(vec))x;
    }
    V(u32) x = V(get_32_of_8)(s) | V(get_32_of_8)(s + step) << place_of(bits, 4, 1) |
               V(get_32_of_8)(s + 2 * step) << place_of(bits, 4, 2) | V(get_32_of_8)(s + 3 * step) << 24;
    MIX_4(bits, x);
    return (V(vec))x;
}

TG_INLINE void V(part)(int bits, int rows, uint8_t *d, int64_t step, V(vec) v) {
    if (rows == 2) {
        V(u16) x = (V(u16))v;
        PART_2(bits, x);
        for (int k = 0; k < 2; k++) {
            const V(short_bytes) row = __builtin_convertvector(x >> 8 * k, V(short_bytes));
            memcpy(d + k * step, &row, sizeof row);
        }
        return;
    }
    V(u32) x = (V(u32))v;
    PART_4(bits, x);
    for (int k = 0; k < 4; k++) {
        const V(word_bytes) row = __builtin_convertvector(x >> place_of(bits, 4, k), V(word_bytes));
        memcpy(d + k * step, &row, sizeof row);
    }
}

#if VEC == 64
/* n bytes of each row, less than a vector of all. */
TG_INLINE void V(mix_short)(int bits, int rows, uint8_t *d, const uint8_t *s, int64_t step, int64_t n) {
    uint8_t         row[4][VEC / 2] __attribute__((aligned(VEC / 2)));
    const __mmask32 part = (__mmask32)V(first_bytes)(n);
    for (int k = 0; k < rows; k++)
        _mm256_store_si256((__m256i *)(void *)row[k], _mm256_maskz_loadu_epi8(part, s + k * step));
    _mm512_mask_storeu_epi8(d, V(first_bytes)(n * rows), (__m512i)V(mix)(bits, rows, row[0], VEC / 2));
}

TG_INLINE void V(part_short)(int bits, int rows, uint8_t *d, int64_t step, const uint8_t *s, int64_t n) {
    uint8_t         row[4][VEC / 2] __attribute__((aligned(VEC / 2)));
    const __mmask32 part = (__mmask32)V(first_bytes)(n);
    V(part)(bits, rows, row[0], VEC / 2, (V(vec))_mm512_maskz_loadu_epi8(V(first_bytes)(n * rows), s));
    for (int k = 0; k < rows; k++)
        _mm256_mask_storeu_epi8(d + k * step, part, _mm256_load_si256((const __m256i *)(const void *)row[k]));
}
#else
#  define mix_short_32  mix_bytes
#  define part_short_32 part_bytes
#  define mix_short_16  mix_bytes
#  define part_short_16 part_bytes
#endif

/* n bytes of each row, at least a vector of all. */
TG_INLINE void V(mix_run)(int bits, int rows, uint8_t *d, const uint8_t *s, int64_t step, int64_t n, bool stream,
                          bool claims) {
    const int64_t each = VEC / rows;
    for (int64_t i = 0;;) {
        if (claims) TG_CLAIM(d + i * rows + TG_CLAIMED);
        V(put)(d + i * rows, V(mix)(bits, rows, s + i, step), stream);
        if (i + each == n) return;
        i = i + 2 * each <= n ? i + each : n - each; /* the last vector overlaps the one before */
    }
}

TG_INLINE void V(part_run)(int bits, int rows, uint8_t *d, int64_t step, const uint8_t *s, int64_t n) {
    const int64_t each = VEC / rows;
    for (int64_t i = 0;;) {
        V(part)(bits, rows, d + i, step, V(load)(s + i * rows));
        if (i + each == n) return;
        i = i + 2 * each <= n ? i + each : n - each;
    }
}

/* Runs of one vector, as tiles of 128 columns of 2 bits have, in a loop of their own. */
TG_INLINE void V(mix_runs)(int bits, int rows, uint8_t *d, const uint8_t *s, const tg_block *b, bool stream,
                           bool claims) {
    const int64_t n = b->cols, step = b->src_col, dst_row = b->dst_row, src_row = b->src_row;
    if (n == VEC / rows) {
        for (int64_t r = 0; r < b->rows; r++, d += dst_row, s += src_row) {
            if (claims) TG_CLAIM(d + TG_CLAIMED);
            V(put)(d, V(mix)(bits, rows, s, step), stream);
        }
        return;
    }
    for (int64_t r = 0; r < b->rows; r++, d += dst_row, s += src_row) {
        if (n < VEC / rows) V(mix_short)(bits, rows, d, s, step, n);
        else V(mix_run)(bits, rows, d, s, step, n, stream, claims);
    }
}

TG_INLINE void V(part_runs)(int bits, int rows, uint8_t *d, const uint8_t *s, const tg_block *b, bool stream,
                            bool claims) {
    const int64_t n = b->cols, step = b->dst_col, dst_row = b->dst_row, src_row = b->src_row;
    (void)stream;
    (void)claims;
    if (n == VEC / rows) {
        for (int64_t r = 0; r < b->rows; r++, d += dst_row, s += src_row)
            V(part)(bits, rows, d, step, V(load)(s));
        return;
    }
    for (int64_t r = 0; r < b->rows; r++, d += dst_row, s += src_row) {
        if (n < VEC / rows) V(part_short)(bits, rows, d, step, s, n);
        else V(part_run)(bits, rows, d, step, s, n);
    }
}
