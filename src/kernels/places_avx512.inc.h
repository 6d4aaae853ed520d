/* Permutations that take a vector out of several others, a window, or put one into them: where each byte is in the
 * window. That takes 16 bits, so the places for 64 bytes are two vectors, `low` and `high`. Prepared byte by byte they
 * take as long as 60 vectors that are moved, and small blocks are a few. Included by files for AVX-512. */

/* The numbers of 32 bytes, from `first` on. */
static inline __m512i numbers_from(int64_t first) {
    const __m512i numbers = _mm512_cvtepu8_epi16(_mm256_set_epi64x(0x1f1e1d1c1b1a1918, 0x1716151413121110,
                                                                   0x0f0e0d0c0b0a0908, 0x0706050403020100));
    return _mm512_add_epi16(numbers, _mm512_set1_epi16((short)first));
}

/* Of bytes of elements, counted on from element to element: the numbers of the elements, of which `width`, a power of
 * two, is the size; and of the bytes in them. */
static inline __m512i element_of(int64_t width, __m512i number) {
    return _mm512_srl_epi16(number, _mm_cvtsi32_si128(__builtin_ctzll((uint64_t)width)));
}

static inline __m512i byte_of(int64_t width, __m512i number) {
    return _mm512_and_si512(number, _mm512_set1_epi16((short)(width - 1)));
}

/* For the permutations, which take the lowest 6 bits. */
static inline __m512i low_bytes(__m512i low, __m512i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)), _mm512_cvtepi16_epi8(high), 1);
}

/* Which of the bytes are in vector j of the window. */
static inline __mmask64 in_vector(__m512i low, __m512i high, int j) {
    const __m512i vector = _mm512_set1_epi16((short)j);
    return (__mmask64)_mm512_cmpeq_epi16_mask(_mm512_srli_epi16(low, 6), vector) |
           (__mmask64)_mm512_cmpeq_epi16_mask(_mm512_srli_epi16(high, 6), vector) << 32;
}
