/* Bytes in wider lanes, and what follows from that: packed elements of 4, 2 and 1 bits as bytes. These are spread over
 * the lane of their byte by shifts that double their distance:
 *
 *     0000 0000 hgfe dcba   two elements of four bits, a byte widened to 16 bits
 *     0000 hgfe xxxx dcba   with itself shifted by 4; the mask 0x0f0f removes x */
#include "kernels/vector.inc.h"

typedef uint8_t  V(u8) __attribute__((vector_size(VEC)));
typedef uint16_t V(u16) __attribute__((vector_size(VEC)));
typedef uint32_t V(u32) __attribute__((vector_size(VEC)));
typedef uint64_t V(u64) __attribute__((vector_size(VEC)));

/* ---- bytes at s, widened with zeros ---- */

#if VEC == 64
TG_INLINE V(u16) V(get_16_of_8)(const uint8_t *s) {
    return (V(u16))_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)s));
}
TG_INLINE V(u32) V(get_32_of_8)(const uint8_t *s) {
    return (V(u32))_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)s));
}
TG_INLINE V(u64) V(get_64_of_8)(const uint8_t *s) {
    return (V(u64))_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)s));
}
#elif VEC == 32
TG_INLINE V(u16) V(get_16_of_8)(const uint8_t *s) {
    return (V(u16))_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)s));
}
TG_INLINE V(u32) V(get_32_of_8)(const uint8_t *s) {
    return (V(u32))_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)s));
}
TG_INLINE V(u64) V(get_64_of_8)(const uint8_t *s) {
    int32_t four;
    memcpy(&four, s, sizeof four);
    return (V(u64))_mm256_cvtepu8_epi64(_mm_cvtsi32_si128(four));
}
#else
typedef uint8_t V(half8) __attribute__((vector_size(VEC / 2)));
typedef uint8_t V(quarter_of_8) __attribute__((vector_size(VEC / 4)));
typedef uint8_t V(eighth8) __attribute__((vector_size(VEC / 8)));

#  define GET(NAME, FROM, TO)                       \
      TG_INLINE V(TO) V(NAME)(const uint8_t *s) {      \
          V(FROM) v;                                \
          memcpy(&v, s, sizeof v);                  \
          return __builtin_convertvector(v, V(TO)); \
      }

GET(get_16_of_8, half8, u16)
GET(get_32_of_8, quarter_of_8, u32)
GET(get_64_of_8, eighth8, u64)
#  undef GET
#endif

/* ---- packed elements; `sign` is the bit of it, or 0 ---- */

TG_INLINE V(vec) V(bytes_from_4)(const uint8_t *s, uint8_t sign) {
    const V(u16) x = V(get_16_of_8)(s);
    const V(u8)  v = (V(u8))((x | x << 4) & 0x0f0f);
    return (V(vec))((v ^ sign) - sign);
}

#if VEC == 64
/* Each element from its bit of the eight bytes of a lane; and single ones as a mask. */
TG_INLINE V(vec) V(bytes_from_2)(const uint8_t *s, uint8_t sign) {
    const __m512i x = _mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(const void *)s));
    const V(u8)   v = (V(u8))_mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x0e0c0a0806040200), x) & 3;
    return (V(vec))((v ^ sign) - sign);
}

TG_INLINE V(vec) V(bytes_from_1)(const uint8_t *s, uint8_t sign) {
    uint64_t x;
    memcpy(&x, s, sizeof x);
    return (V(vec))_mm512_maskz_set1_epi8(x, sign == 0 ? 1 : -1);
}
#else
TG_INLINE V(vec) V(bytes_from_2)(const uint8_t *s, uint8_t sign) {
    V(u32) x = V(get_32_of_8)(s);
    x = (x | x << 12) & 0x000f000fu;
    const V(u8) v = (V(u8))((x | x << 6) & 0x03030303u);
    return (V(vec))((v ^ sign) - sign);
}

TG_INLINE V(vec) V(bytes_from_1)(const uint8_t *s, uint8_t sign) {
    V(u64) x = V(get_64_of_8)(s);
    x = (x | x << 28) & 0x0000000f0000000fu;
    x = (x | x << 14) & 0x0003000300030003u;
    const V(u8) v = (V(u8))((x | x << 7) & 0x0101010101010101u);
    return (V(vec))((v ^ sign) - sign);
}
#endif
