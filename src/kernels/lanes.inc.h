/* Lanes of 16 bytes that change places, with vectors of VEC bytes; behind vector.inc.h. */

/* Lane i of register j, of as many registers as there are lanes, becomes lane j of register i. */
#if VEC == 64
TG_NO_CHECKS TG_INLINE void V(turn_lanes)(V(vec) *out, const V(vec) *in, int step) {
    const __m512i a = (__m512i)in[0], b = (__m512i)in[step], c = (__m512i)in[2 * step], d = (__m512i)in[3 * step];
    const __m512i ab = _mm512_shuffle_i64x2(a, b, 0x44), cd = _mm512_shuffle_i64x2(c, d, 0x44);
    const __m512i ab2 = _mm512_shuffle_i64x2(a, b, 0xee), cd2 = _mm512_shuffle_i64x2(c, d, 0xee);
    out[0] = (V(vec))_mm512_shuffle_i64x2(ab, cd, 0x88);
    out[1] = (V(vec))_mm512_shuffle_i64x2(ab, cd, 0xdd);
    out[2] = (V(vec))_mm512_shuffle_i64x2(ab2, cd2, 0x88);
    out[3] = (V(vec))_mm512_shuffle_i64x2(ab2, cd2, 0xdd);
}
#elif VEC == 32
TG_NO_CHECKS TG_INLINE void V(turn_lanes)(V(vec) *out, const V(vec) *in, int step) {
    out[0] = (V(vec))_mm256_permute2x128_si256((__m256i)in[0], (__m256i)in[step], 0x20);
    out[1] = (V(vec))_mm256_permute2x128_si256((__m256i)in[0], (__m256i)in[step], 0x31);
}
#else
TG_NO_CHECKS TG_INLINE void V(turn_lanes)(V(vec) *out, const V(vec) *in, int step) {
    (void)step;
    out[0] = in[0];
}
#endif
