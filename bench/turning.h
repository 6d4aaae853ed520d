/* The shuffles of a transpose, for loops that do nothing else (turned.c, line_copies.c). x86-64 only. */
#ifndef BENCH_TURNING_H
#define BENCH_TURNING_H

#include <immintrin.h>

/* What is unrolled hundreds of times takes clang a minute to compile where it is to be checked. */
#if defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define CHECKED
#  endif
#endif
#if defined(CHECKED)
#  define UNROLL
#  define INLINED __attribute__((unused)) static
#elif defined(__clang__)
#  define UNROLL  _Pragma("clang loop unroll(full)")
#  define INLINED __attribute__((always_inline)) static inline
#else
#  define UNROLL  _Pragma("GCC unroll 16")
#  define INLINED __attribute__((always_inline)) static inline
#endif
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq")))
#define INLINE TARGET INLINED

INLINE void unpack(int width, __m512i *out, __m512i a, __m512i b) {
    out[0] = width == 1 ? _mm512_unpacklo_epi8(a, b) : width == 2 ? _mm512_unpacklo_epi16(a, b)
           : width == 4 ? _mm512_unpacklo_epi32(a, b) : _mm512_unpacklo_epi64(a, b);
    out[1] = width == 1 ? _mm512_unpackhi_epi8(a, b) : width == 2 ? _mm512_unpackhi_epi16(a, b)
           : width == 4 ? _mm512_unpackhi_epi32(a, b) : _mm512_unpackhi_epi64(a, b);
}

/* Within 16-byte lanes: 16 / width registers and as many elements change places. */
INLINE void turn_elements(int width, __m512i *v) {
    const int n = 16 / width;
    UNROLL
    for (int round = 1; round < n; round *= 2) {
        __m512i w[16];
        UNROLL
        for (int j = 0; j < n / 2; j++) unpack(width, &w[2 * j], v[j], v[j + n / 2]);
        UNROLL
        for (int j = 0; j < n; j++) v[j] = w[j];
    }
}

/* Four registers and their lanes change places. */
INLINE void turn_lanes(__m512i *v, int step) {
    const __m512i a = _mm512_shuffle_i64x2(v[0], v[step], 0x44), b = _mm512_shuffle_i64x2(v[0], v[step], 0xee);
    const __m512i c = _mm512_shuffle_i64x2(v[2 * step], v[3 * step], 0x44),
                  d = _mm512_shuffle_i64x2(v[2 * step], v[3 * step], 0xee);
    v[0] = _mm512_shuffle_i64x2(a, c, 0x88);
    v[step] = _mm512_shuffle_i64x2(a, c, 0xdd);
    v[2 * step] = _mm512_shuffle_i64x2(b, d, 0x88);
    v[3 * step] = _mm512_shuffle_i64x2(b, d, 0xdd);
}

#endif /* BENCH_TURNING_H */
