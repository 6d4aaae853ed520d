/* AVX-512's part of convert_vector.inc.h. */

TG_INLINE V(u32) V(get_32_of_16)(const uint8_t *s) {
    return (V(u32))_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)s));
}
TG_INLINE V(half16) V(get_half16_of_8)(const uint8_t *s) {
    return (V(half16))_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)s));
}
TG_INLINE V(u64) V(get_64_of_16)(const uint8_t *s) {
    return (V(u64))_mm512_cvtepu16_epi64(_mm_loadu_si128((const __m128i *)(const void *)s));
}
TG_INLINE V(u64) V(get_64_of_32)(const uint8_t *s) {
    return (V(u64))_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)s));
}

typedef __mmask16 V(mask);
typedef __mmask32 V(mask16);

TG_INLINE V(mask) V(gt)(V(u32) a, V(u32) b) { return _mm512_cmpgt_epi32_mask((__m512i)a, (__m512i)b); }
TG_INLINE V(mask) V(eq)(V(u32) a, V(u32) b) { return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b); }
TG_INLINE V(u32) V(pick)(V(mask) m, V(u32) a, V(u32) b) {
    return (V(u32))_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a);
}
TG_INLINE V(u32) V(min)(V(u32) a, V(u32) b) { return (V(u32))_mm512_min_epi32((__m512i)a, (__m512i)b); }
TG_INLINE V(u32) V(max)(V(u32) a, V(u32) b) { return (V(u32))_mm512_max_epi32((__m512i)a, (__m512i)b); }

TG_INLINE V(mask16) V(gt16)(V(u16) a, V(u16) b) { return _mm512_cmpgt_epi16_mask((__m512i)a, (__m512i)b); }
TG_INLINE V(mask16) V(not0)(V(u16) v) { return _mm512_test_epi16_mask((__m512i)v, (__m512i)v); }
TG_INLINE V(mask16) V(eq16)(V(u16) a, V(u16) b) { return _mm512_cmpeq_epi16_mask((__m512i)a, (__m512i)b); }
TG_INLINE V(u16) V(pick16)(V(mask16) m, V(u16) a, V(u16) b) {
    return (V(u16))_mm512_mask_blend_epi16(m, (__m512i)b, (__m512i)a);
}
TG_INLINE bool V(any32)(V(mask) m) { return m != 0; }
TG_INLINE bool V(any16)(V(mask16) m) { return m != 0; }

TG_INLINE V(u16) V(avg16)(V(u16) a, V(u16) b) { return (V(u16))_mm512_avg_epu16((__m512i)a, (__m512i)b); }
TG_INLINE V(u16) V(adds16)(V(u16) a, V(u16) b) { return (V(u16))_mm512_adds_epi16((__m512i)a, (__m512i)b); }
TG_INLINE V(u16) V(subs16)(V(u16) a, V(u16) b) { return (V(u16))_mm512_subs_epu16((__m512i)a, (__m512i)b); }
TG_INLINE V(u16) V(max16)(V(u16) a, V(u16) b) { return (V(u16))_mm512_max_epi16((__m512i)a, (__m512i)b); }

TG_INLINE V(u16) V(min16)(V(u16) a, V(u16) b) { return (V(u16))_mm512_min_epi16((__m512i)a, (__m512i)b); }
TG_INLINE V(u16) V(shift_left)(V(u16) a, V(u16) b) { return (V(u16))_mm512_sllv_epi16((__m512i)a, (__m512i)b); }
TG_INLINE V(u16) V(shift_right)(V(u16) a, V(u16) b) { return (V(u16))_mm512_srlv_epi16((__m512i)a, (__m512i)b); }

TG_INLINE V(u16) V(lookup)(const uint16_t *table, V(u16) index) {
    const __m512i all = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)table));
    return (V(u16))_mm512_permutexvar_epi16((__m512i)index, all);
}

TG_INLINE V(u16) V(pack)(V(u32) a, V(u32) b) { return (V(u16))_mm512_packs_epi32((__m512i)a, (__m512i)b); }
TG_INLINE V(u16) V(in_order)(V(u16) v) {
    return (V(u16))_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), (__m512i)v);
}

TG_INLINE bool V(nonzero)(V(vec) v) { return _mm512_test_epi64_mask((__m512i)v, (__m512i)v) != 0; }

TG_INLINE V(u32) V(widen_half)(V(half16) h) { return (V(u32))_mm512_cvtph_ps((__m256i)h); }
TG_INLINE V(u16) V(narrow_half)(V(u32) a, V(u32) b) {
    const __m256i low = _mm512_cvtps_ph((__m512)a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256i high = _mm512_cvtps_ph((__m512)b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return (V(u16))_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* In lanes of 16 bits: up if the low half passes 0x8000, or meets it below an odd upper half; the odd bit, or-ed
 * into the low half, makes that one question. Infinity and NaN are rare, and asked for at once. */
TG_INLINE V(u16) V(narrow_bf16)(V(u32) a, V(u32) b) {
    const V(u16) high = V(high_16)(a, b), low = V(low_16)(a, b) | (high & 1);
    if (__builtin_expect(_mm512_cmpge_epu16_mask((__m512i)(high + high), _mm512_set1_epi16(-0x100)) != 0, 0))
        return V(high_16)(ROUND_BF16(a), ROUND_BF16(b));
    const V(u16) above = V(subs16)(low, V(all16)(0x8000));
    return high + (V(u16))_mm512_min_epu16((__m512i)above, _mm512_set1_epi16(1));
}
