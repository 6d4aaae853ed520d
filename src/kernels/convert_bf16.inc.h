/* float32 to bfloat16 by the instruction for it, which takes subnormal numbers for zeros: vectors with such ones go the
 * long way. Otherwise it rounds as the definition says, and a NaN keeps its upper bits and becomes quiet. */

__attribute__((noinline, cold)) static V(vec) V(bf16_of_small_f32)(const uint8_t *s) {
    return (V(vec))V(high_16)(ROUND_BF16(V(get_f32)(s)), ROUND_BF16(V(get_f32)(s + VEC)));
}

TG_INLINE V(vec) V(bf16_straight_of_f32)(const uint8_t *s) {
    enum { SUBNORMAL = 0x20 };
    const __m512    a = (__m512)V(load)(s), b = (__m512)V(load)(s + VEC);
    const __mmask16 small = _mm512_fpclass_ps_mask(a, SUBNORMAL), smaller = _mm512_fpclass_ps_mask(b, SUBNORMAL);
    if (__builtin_expect((small | smaller) != 0, 0)) return V(bf16_of_small_f32)(s);
    return (V(vec))_mm512_cvtne2ps_pbh(b, a);
}

PAIR(bf16_straight_from_f32, 4, 2, 0, V(bf16_straight_of_f32)(s))

static const entry V(bf16_straight) = {V(move_bf16_straight_from_f32), "bf16_from_f32 avx512bf16"};

#undef ROUND_BF16
#undef PAIR
#undef GRIDS
#undef JOINED
#undef JOINED_GRIDS
#undef JOINS
#undef LINES
