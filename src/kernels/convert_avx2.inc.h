/* AVX2's part of convert_vector.inc.h. */

TG_INLINE V(u32) V(get_32_of_16)(const uint8_t *s) {
    return (V(u32))_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)s));
}
TG_INLINE V(half16) V(get_half16_of_8)(const uint8_t *s) {
    return (V(half16))_mm_cvtepu8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)s));
}
TG_INLINE V(u64) V(get_64_of_16)(const uint8_t *s) {
    return (V(u64))_mm256_cvtepu16_epi64(_mm_loadl_epi64((const __m128i *)(const void *)s));
}
TG_INLINE V(u64) V(get_64_of_32)(const uint8_t *s) {
    return (V(u64))_mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)(const void *)s));
}

typedef __m256i V(mask), V(mask16);

TG_INLINE V(mask) V(gt)(V(u32) a, V(u32) b) { return _mm256_cmpgt_epi32((__m256i)a, (__m256i)b); }
TG_INLINE V(mask) V(eq)(V(u32) a, V(u32) b) { return _mm256_cmpeq_epi32((__m256i)a, (__m256i)b); }
TG_INLINE V(u32) V(pick)(V(mask) m, V(u32) a, V(u32) b) {
    return (V(u32))_mm256_blendv_epi8((__m256i)b, (__m256i)a, m);
}
TG_INLINE V(u32) V(min)(V(u32) a, V(u32) b) { return (V(u32))_mm256_min_epi32((__m256i)a, (__m256i)b); }
TG_INLINE V(u32) V(max)(V(u32) a, V(u32) b) { return (V(u32))_mm256_max_epi32((__m256i)a, (__m256i)b); }

TG_INLINE V(mask16) V(gt16)(V(u16) a, V(u16) b) { return _mm256_cmpgt_epi16((__m256i)a, (__m256i)b); }
TG_INLINE V(mask16) V(not0)(V(u16) v) { return ~_mm256_cmpeq_epi16((__m256i)v, _mm256_setzero_si256()); }
TG_INLINE V(mask16) V(eq16)(V(u16) a, V(u16) b) { return _mm256_cmpeq_epi16((__m256i)a, (__m256i)b); }
TG_INLINE V(u16) V(pick16)(V(mask16) m, V(u16) a, V(u16) b) {
    return (V(u16))_mm256_blendv_epi8((__m256i)b, (__m256i)a, m);
}
TG_INLINE bool V(any32)(V(mask) m) { return _mm256_testz_si256(m, m) == 0; }
TG_INLINE bool V(any16)(V(mask16) m) { return _mm256_testz_si256(m, m) == 0; }

TG_INLINE V(u16) V(avg16)(V(u16) a, V(u16) b) { return (V(u16))_mm256_avg_epu16((__m256i)a, (__m256i)b); }
TG_INLINE V(u16) V(adds16)(V(u16) a, V(u16) b) { return (V(u16))_mm256_adds_epi16((__m256i)a, (__m256i)b); }
TG_INLINE V(u16) V(subs16)(V(u16) a, V(u16) b) { return (V(u16))_mm256_subs_epu16((__m256i)a, (__m256i)b); }
TG_INLINE V(u16) V(max16)(V(u16) a, V(u16) b) { return (V(u16))_mm256_max_epi16((__m256i)a, (__m256i)b); }

/* By bytes, and bit 7 of a byte's index makes it 0. */
TG_INLINE V(u16) V(lookup)(const uint16_t *table, V(u16) index) {
    const __m256i all = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
    return (V(u16))_mm256_shuffle_epi8(all, (__m256i)(index * 0x202 + 0x100));
}

TG_INLINE V(u16) V(pack)(V(u32) a, V(u32) b) { return (V(u16))_mm256_packs_epi32((__m256i)a, (__m256i)b); }
TG_INLINE V(u16) V(in_order)(V(u16) v) { return (V(u16))_mm256_permute4x64_epi64((__m256i)v, 0xd8); }

TG_INLINE bool V(nonzero)(V(vec) v) { return _mm256_testz_si256((__m256i)v, (__m256i)v) == 0; }

TG_INLINE V(u32) V(widen_half)(V(half16) h) { return (V(u32))_mm256_cvtph_ps((__m128i)h); }
TG_INLINE V(u16) V(narrow_half)(V(u32) a, V(u32) b) {
    const __m128i low = _mm256_cvtps_ph((__m256)a, _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm256_cvtps_ph((__m256)b, _MM_FROUND_TO_NEAREST_INT);
    return (V(u16))_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

TG_INLINE V(u16) V(narrow_bf16)(V(u32) a, V(u32) b) { return V(high_16)(ROUND_BF16(a), ROUND_BF16(b)); }
