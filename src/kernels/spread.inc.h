/* Lines of packed elements and of bytes, with vectors of VEC bytes; see spread.c. */
#include "kernels/widen.inc.h"

typedef uint8_t V(half) __attribute__((vector_size(VEC / 2)));
typedef uint8_t V(quarter) __attribute__((vector_size(VEC / 4)));
#if VEC == 16
typedef uint8_t V(eighth) __attribute__((vector_size(VEC / 8)));
#endif

/* VEC elements. */
TG_INLINE V(vec) V(spread)(int bits, const uint8_t *s, uint8_t sign) {
    return bits == 4 ? V(bytes_from_4)(s, sign) : bits == 2 ? V(bytes_from_2)(s, sign) : V(bytes_from_1)(s, sign);
}

/* So many bytes of a vector, or a word of 8, around the caches; they are as far into a line as they are many. */
TG_INLINE void V(put_joined)(uint8_t *d, const void *joined, int bytes, bool stream) {
#if VEC == 64
    if (stream && bytes == 32) {
        _mm256_stream_si256((__m256i *)(void *)d, _mm256_loadu_si256((const __m256i *)joined));
        return;
    }
    if (stream && bytes == 16) {
        _mm_stream_si128((__m128i *)(void *)d, _mm_loadu_si128((const __m128i *)joined));
        return;
    }
#endif
    (void)stream;
    memcpy(d, joined, (size_t)bytes);
}

/* VEC elements, to VEC * bits / 8 bytes. */
TG_INLINE void V(join)(int bits, uint8_t *d, const uint8_t *s, bool nonzero, bool stream) {
    const V(vec) v = V(load)(s);
    if (bits == 4) {
        V(u16) x = (V(u16))v & 0x0f0f;
        x |= x >> 4;
        const V(half) h = __builtin_convertvector(x, V(half));
        V(put_joined)(d, &h, sizeof h, stream);
    } else if (bits == 2) {
        V(u32) x = (V(u32))v & 0x03030303u;
        x = (x | x >> 6) & 0x000f000fu;
        x |= x >> 12;
        const V(quarter) q = __builtin_convertvector(x, V(quarter));
        V(put_joined)(d, &q, sizeof q, stream);
    } else {
#if VEC == 64
        const uint64_t e = _mm512_test_epi8_mask((__m512i)v, _mm512_set1_epi8(nonzero ? -1 : 1));
#elif VEC == 32
        const __m256i  zero = _mm256_setzero_si256(), low = _mm256_slli_epi16((__m256i)v, 7);
        const uint32_t e = nonzero ? ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8((__m256i)v, zero))
                                   : (uint32_t)_mm256_movemask_epi8(low);
#else
        V(u8) bit = (V(u8))v;
        if (nonzero) bit = (V(u8))(bit != 0);
        V(u64) x = (V(u64))(bit & 1);
        x = (x | x >> 7) & 0x0003000300030003u;
        x = (x | x >> 14) & 0x0000000f0000000fu;
        x |= x >> 28;
        const V(eighth) e = __builtin_convertvector(x, V(eighth));
#endif
        memcpy(d, &e, sizeof e);
    }
}

#if VEC == 64
/* Less than a vector, at least one byte. */
TG_INLINE void V(spread_part)(int bits, uint8_t *d, const uint8_t *s, int64_t n, uint8_t sign) {
    uint8_t part[VEC] __attribute__((aligned(VEC)));
    V(store)(part, (V(vec))_mm512_maskz_loadu_epi8(V(first_bytes)(n), s));
    V(store)(d, V(spread)(bits, part, sign));
}

TG_INLINE void V(join_part)(int bits, uint8_t *d, const uint8_t *s, int64_t n, bool nonzero) {
    uint8_t        part[VEC / 2] __attribute__((aligned(VEC / 2)));
    const uint32_t mask = ((uint32_t)1 << n) - 1;
    V(join)(bits, part, s, nonzero, false);
    if (bits == 4) _mm256_mask_storeu_epi8(d, mask, _mm256_load_si256((const __m256i *)(const void *)part));
    else if (bits == 2) _mm_mask_storeu_epi8(d, (__mmask16)mask, _mm_load_si128((const __m128i *)(const void *)part));
    else _mm_mask_storeu_epi8(d, (__mmask16)mask, _mm_loadl_epi64((const __m128i *)(const void *)part));
}
#else
#  define spread_part_32 spread_eights
#  define join_part_32   join_eights
#  define spread_part_16 spread_eights
#  define join_part_16   join_eights
#endif

TG_INLINE void V(spread_line)(int bits, uint8_t *d, const uint8_t *s, int64_t n, uint8_t sign) {
    const int64_t step = VEC * bits / 8, per = 8 / bits;
    if (n < step) {
        V(spread_part)(bits, d, s, n, sign);
        return;
    }
    for (int64_t i = 0;;) {
        V(store)(d + i * per, V(spread)(bits, s + i, sign));
        if (i + step == n) return;
        i = i + 2 * step <= n ? i + step : n - step; /* the last vector overlaps the one before */
    }
}

TG_INLINE void V(join_line)(int bits, uint8_t *d, const uint8_t *s, int64_t n, bool nonzero) {
    const int64_t step = VEC * bits / 8, per = 8 / bits;
    if (n < step) {
        V(join_part)(bits, d, s, n, nonzero);
        return;
    }
    for (int64_t i = 0;;) {
        V(join)(bits, d + i, s + i * per, nonzero, false);
        if (i + step == n) return;
        i = i + 2 * step <= n ? i + step : n - step;
    }
}

/* Whole lines of the cache. */
TG_INLINE void V(join_around)(int bits, uint8_t *d, const uint8_t *s, int64_t n, bool nonzero) {
    const int64_t step = VEC * bits / 8, per = 8 / bits;
    for (int64_t i = 0; i < n; i += step) V(join)(bits, d + i, s + i * per, nonzero, true);
}
