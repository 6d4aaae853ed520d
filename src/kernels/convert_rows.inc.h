/* Converting loops for vectors of VEC bytes; included by convert_rows.c.
 *
 * A pair is one function that reads what becomes one vector of the destination and returns that vector, so
 * that nothing is called within a grid. Floats meet in vectors of float32 bits, as in convert.c, where the
 * numbers are explained; floats of 16 and 8 bits often have a shorter way:
 *
 *     get_F(s)    VEC / 4 elements of F as float32
 *     put_F(x)    1, 2 or 4 vectors of float32 as one vector of F
 *     F_of_G(s)   put_F of get_G, or the shorter way
 *
 * Integers and bools are widened, narrowed and compared; what a narrower integer cannot hold leaves bits
 * in *bad. How packed elements become bytes is in widen.inc.h. */
#include "kernels/convert_vector.inc.h"

enum { V(cpu) = VEC == 64 ? TG_CPU_AVX2 | TG_CPU_AVX512 : VEC == 32 ? TG_CPU_AVX2 : TG_CPU_NEON };

/* ---- floats: to float32 ---- */

TG_INLINE V(u32) V(get_f32)(const uint8_t *s) { return V(get_32)(s); }

TG_INLINE V(u32) V(get_f16)(const uint8_t *s) { return V(widen_half)(V(get_half16)(s)); }

TG_INLINE V(u32) V(get_bf16)(const uint8_t *s) { return V(get_32_of_16)(s) << 16; }

TG_INLINE V(u32) V(get_dlf16)(const uint8_t *s) {
    const V(u32) x = V(get_32_of_16)(s), m = x & 0x7fffu, r = ((m << 14) + (96u << 23)) | (x ^ m) << 16;
    /* all but 0 and 0x7fff go to the bottom of the signed range */
    const V(mask) others = V(gt)(m + 0x7fffffffu, V(all)(0x80007ffdu));
    if (__builtin_expect(V(any32)(others), 0)) {
        const V(u32) sign = (x ^ m) << 16;
        return V(pick)(others, sign | V(pick)(V(gt)(m, V(all)(0)), V(all)(0x7fc00000u), m), r);
    }
    return r;
}

/* As a float16 with two more exponent bits it has 2^-8 of its value, subnormals too, and its NaN is 480 * 2^-8. */
TG_INLINE V(u32) V(get_f8e4m3fn)(const uint8_t *s) {
    const V(half16) h = V(get_half16_of_8)(s) << 7;
    const V(u32)    r = (V(u32))((V(f32))V(widen_half)(h + (h & 0x4000)) * 0x1p8f), sign = r & 0x80000000u;
    return V(pick)(V(eq)(r ^ sign, V(all)(0x43f00000u)), sign | 0x7fc00000u, r);
}

TG_INLINE V(u32) V(get_f8e5m2)(const uint8_t *s) { return V(widen_half)(V(get_half16_of_8)(s) << 8); }

/* ---- floats: from float32 ---- */

TG_INLINE V(vec) V(put_f32)(const V(u32) *x) { return (V(vec))x[0]; }

TG_INLINE V(vec) V(put_f16)(const V(u32) *x) { return (V(vec))V(narrow_half)(x[0], x[1]); }

TG_INLINE V(vec) V(put_bf16)(const V(u32) *x) { return (V(vec))V(narrow_bf16)(x[0], x[1]); }

/* Saturation makes NINF of what is too large. */
TG_INLINE V(vec) V(put_dlf16)(const V(u32) *x) {
    V(s32) code[2];
    for (int k = 0; k < 2; k++) code[k] = (V(s32))((x[k] & 0x7fffffffu) + (0x2000u - (96u << 23))) >> 14;
    const V(u16) m = V(max16)(V(pack)((V(u32))code[0], (V(u32))code[1]), V(all16)(0));
    return (V(vec))(V(in_order)(m) | (V(high_16)(x[0], x[1]) & 0x8000));
}

/* Adding 2^20 times its power of two leaves of a number the sum's last bits: its ulps, rounded. Subnormals take
 * the power of the least normal number, 2^-6 (exponent 121). From 480 on all is NaN. */
TG_INLINE V(u32) V(code_f8e4m3fn)(V(u32) u) {
    const V(u32) a = V(min)(u & 0x7fffffffu, V(all)(0x43f00000u));
    const V(u32) power = V(max)(a & 0x7f800000u, V(all)(121u << 23)), large = power + (20u << 23);
    const V(u32) ulps = (V(u32))((V(f32))a + (V(f32))large) - large;
    return (ulps + ((power - (121u << 23)) >> 20)) | (u >> 24 & 0x80u);
}

TG_INLINE V(vec) V(put_f8e4m3fn)(const V(u32) *x) {
    V(u32) code[4];
    for (int k = 0; k < 4; k++) code[k] = V(code_f8e4m3fn)(x[k]);
    return (V(vec))V(low_8_of_32)(code);
}

TG_INLINE V(u32) V(code_f8e5m2)(V(u32) u) {
    const V(u32) a = u & 0x7fffffffu;
    const V(u32) normal = (a + (a >> 21 & 1u) + (0xfffffu - (112u << 23))) >> 21;
    const V(u32) small = (V(u32))((V(f32))a + 0x1p7f) - 0x43000000u;
    V(u32)       r = V(pick)(V(gt)(V(all)(0x38800000u), a), small, normal);
    r = V(min)(r, V(all)(0x7cu));
    r = V(pick)(V(gt)(a, V(all)(0x7f800000u)), (a >> 21 & 3u) | 0x7eu, r);
    return r | (u >> 24 & 0x80u);
}

TG_INLINE V(vec) V(put_f8e5m2)(const V(u32) *x) {
    V(u32) code[4];
    for (int k = 0; k < 4; k++) code[k] = V(code_f8e5m2)(x[k]);
    return (V(vec))V(low_8_of_32)(code);
}

/* ---- floats of 16 bits, and their upper halves, without float32 ---- */

/* Normal numbers are nearly all there is: the exponent grows by 16, the fraction loses a bit, (m + 1) / 2 + 16 * 512.
 * Zeros among them are picked out; subnormals, infinity and NaN send the vector the long way. */
TG_INLINE V(vec) V(dlf16_of_f16)(const uint8_t *s) {
    const V(u16)    x = V(get_16)(s), m = x & 0x7fff, code = V(avg16)(m, V(all16)(0x4000)) | (x & 0x8000);
    /* [0x400, 0x7c00) goes to the bottom of the signed range */
    const V(mask16) others = V(gt16)(m + (0x8000 - 0x400), V(all16)((uint16_t)(0x7c00 - 0x400 - 0x8001)));
    if (__builtin_expect(V(any16)(others), 0)) {
        if (!V(any16)(others & V(not0)(m))) return (V(vec))V(pick16)(others, x, code);
        const V(u32) f32[2] = {V(get_f16)(s), V(get_f16)(s + VEC / 2)};
        return V(put_dlf16)(f32);
    }
    return (V(vec))code;
}

/* The same for what is normal in float16: from 2^-14 (0x2200) below 2^16 (0x5e00). */
TG_INLINE V(vec) V(f16_of_dlf16)(const uint8_t *s) {
    const V(u16)    x = V(get_16)(s), m = x & 0x7fff, code = (m + m - 0x4000) | (x & 0x8000);
    const V(mask16) others = V(gt16)(m + (0x8000 - 0x2200), V(all16)((uint16_t)(0x5e00 - 0x2200 - 0x8001)));
    if (__builtin_expect(V(any16)(others), 0)) {
        if (!V(any16)(others & V(not0)(m))) return (V(vec))V(pick16)(others, x, code);
        const V(u32) f32[2] = {V(get_dlf16)(s), V(get_dlf16)(s + VEC / 2)};
        return V(put_f16)(f32);
    }
    return (V(vec))code;
}

/* bfloat16 has 96 more exponents below and above, and two bits of fraction less. */
TG_INLINE V(vec) V(dlf16_of_bf16)(const uint8_t *s) {
    const V(u16) x = V(get_16)(s), m = V(subs16)(x & 0x7fff, V(all16)(96 << 7)), twice = V(adds16)(m, m);
    return (V(vec))(V(adds16)(twice, twice) | (x & 0x8000));
}

TG_INLINE V(vec) V(bf16_of_dlf16)(const uint8_t *s) {
    const V(u16) x = V(get_16)(s), m = x & 0x7fff;
    V(u16)       r = ((m + 1 + (m >> 2 & 1)) >> 2) + (96 << 7);
    r = V(pick16)(V(not0)(m), r, V(all16)(0));
    r = V(pick16)(V(eq16)(m, V(all16)(0x7fff)), V(all16)(0x7fc0), r);
    return (V(vec))(r | (x & 0x8000));
}

/* f8e4m3fn at s as a float of 16 bits with K bits of fraction, whose bias is 7 + MORE: from 8 on shift and add, below
 * are 0 to 7 times 2^-9. */
#define DECODE_F8E4M3FN(F, K, MORE, NAN)                                                                               \
    TG_INLINE V(vec) V(F##_of_f8e4m3fn)(const uint8_t *s) {                                                            \
        static const uint16_t small[8] = {0,                                                                           \
                                          (MORE - 2) << K,                                                             \
                                          (MORE - 1) << K,                                                             \
                                          (2 * MORE - 1) << (K - 1),                                                   \
                                          MORE << K,                                                                   \
                                          (4 * MORE + 1) << (K - 2),                                                   \
                                          (4 * MORE + 2) << (K - 2),                                                   \
                                          (4 * MORE + 3) << (K - 2)};                                                  \
        const V(u16) x = V(get_16_of_8)(s), m = x & 0x7f, normal = (m << (K - 3)) + (MORE << K);                       \
        V(u16)       r = V(pick16)(V(gt16)(V(all16)(8), m), V(lookup)(small, m), normal);                              \
        r = V(pick16)(V(eq16)(m, V(all16)(0x7f)), V(all16)(NAN), r);                                                   \
        return (V(vec))(r | (x & 0x80) << 8);                                                                          \
    }

DECODE_F8E4M3FN(f16, 10, 8, 0x7e00)
DECODE_F8E4M3FN(bf16, 7, 120, 0x7fc0)
DECODE_F8E4M3FN(dlf16, 9, 24, 0x7fff)
#undef DECODE_F8E4M3FN

/* f8e5m2 the same way, bias 15 + MORE: from 4 on shift and add, below are 0 to 3 times 2^-16. From 0x7c on, infinity
 * and NaN, it is SPECIAL or-ed with the bits of the fraction that KEEP names. */
#define DECODE_F8E5M2(F, K, MORE, SPECIAL, KEEP)                                                                       \
  TG_INLINE V(vec) V(F##_of_f8e5m2)(const uint8_t *s) {                                                                \
    static const uint16_t small[8] = {0, (MORE - 1) << K, MORE << K, (2 * MORE + 1) << (K - 1)};                       \
    const V(u16) x = V(get_16_of_8)(s), m = x & 0x7f, normal = (m << (K - 2)) + (MORE << K);                           \
    const V(u16) quiet = V(pick16)(V(eq16)(m, V(all16)(0x7c)), m, m | 2) << (K - 2);                                   \
    V(u16) r = V(pick16)(V(gt16)(V(all16)(4), m), V(lookup)(small, m), normal);                                        \
    r = V(pick16)(V(gt16)(m, V(all16)(0x7b)), (quiet & KEEP) | SPECIAL, r);                                            \
    return (V(vec))(r | (x & 0x80) << 8);                                                                              \
  }

DECODE_F8E5M2(bf16, 7, 112, 0x7f80, 0x7f)
DECODE_F8E5M2(dlf16, 9, 16, 0x7fff, 0)
#undef DECODE_F8E5M2

#if VEC == 64
/* A float of 16 bits with K bits of fraction as one of 8 bits with M, not the sign. The significand loses K - M bits,
 * or more below the least normal number, whose exponent is LEAST. From TOP on all is the same. */
#  define ENCODE_F8(NAME, K, M, LEAST, TOP)                                                                            \
    TG_INLINE V(u16) V(NAME)(V(u16) x) {                                                                               \
      const V(u16) m = V(min16)(x & 0x7fff, V(all16)(TOP)), exponent = m >> K;                                         \
      const V(u16) whole = (m & ((1 << K) - 1)) | (1 << K);                                                            \
      const V(u16) less = V(max16)(LEAST + K - M - 1 - exponent, V(all16)(K - M - 1)), lost = less + 1;                \
      const V(u16) even = (V(shift_right)(whole, lost) & 1) ^ 1;                                                       \
      const V(u16) ulps = V(shift_right)(whole - even + V(shift_left)(V(all16)(1), less), lost);                       \
      return ulps + (V(subs16)(exponent, V(all16)(LEAST)) << M);                                                       \
    }

/* TOP is 480, where NaN begins. */
ENCODE_F8(f8e4m3fn_code_f16, 10, 3, 9, 0x5f80)
ENCODE_F8(f8e4m3fn_code_bf16, 7, 3, 121, 0x43f0)
ENCODE_F8(f8e4m3fn_code_dlf16, 9, 3, 25, 0x4fc0)
/* TOP is 2^16, infinity. */
ENCODE_F8(f8e5m2_finite_bf16, 7, 2, 113, 0x4780)
ENCODE_F8(f8e5m2_finite_dlf16, 9, 2, 17, 0x5e00)
#  undef ENCODE_F8

TG_INLINE V(u16) V(f8e5m2_code_bf16)(V(u16) x) {
    return V(pick16)(V(gt16)(x & 0x7fff, V(all16)(0x7f80)), (x >> 5 & 3) | 0x7e, V(f8e5m2_finite_bf16)(x));
}

TG_INLINE V(u16) V(f8e5m2_code_dlf16)(V(u16) x) {
    return V(pick16)(V(eq16)(x & 0x7fff, V(all16)(0x7fff)), V(all16)(0x7e), V(f8e5m2_finite_dlf16)(x));
}

#  define WITH_SIGN(TO, F)                                                                                             \
    TG_INLINE V(vec) V(TO##_of_##F)(const uint8_t *s) {                                                                \
      const V(u16) a = V(get_16)(s), b = V(get_16)(s + VEC);                                                           \
      const V(u8) code = V(low_8)(V(TO##_code_##F)(a), V(TO##_code_##F)(b));                                           \
      return (V(vec))(code | (V(high_8)(a, b) & 0x80));                                                                \
    }

WITH_SIGN(f8e4m3fn, f16)
WITH_SIGN(f8e4m3fn, bf16)
WITH_SIGN(f8e4m3fn, dlf16)
WITH_SIGN(f8e5m2, bf16)
WITH_SIGN(f8e5m2, dlf16)
#  undef WITH_SIGN

/* By way of float16, which holds both. */
TG_INLINE V(vec) V(f8e4m3fn_of_f8e5m2)(const uint8_t *s) {
    const V(u16) a = V(get_16_of_8)(s) << 8, b = V(get_16_of_8)(s + VEC / 2) << 8;
    const V(u8)  code = V(low_8)(V(f8e4m3fn_code_f16)(a), V(f8e4m3fn_code_f16)(b));
    return (V(vec))(code | (V(high_8)(a, b) & 0x80));
}
#endif

/* In the upper byte of each lane. */
TG_INLINE V(u16) V(round_f8e5m2)(V(u16) x) {
    const V(mask16) nan = V(gt16)(x & 0x7fff, V(all16)(0x7c00));
    return V(pick16)(nan, x | 0x200, x + 0x7f + (x >> 8 & 1));
}

TG_INLINE V(vec) V(f8e5m2_of_f8e4m3fn)(const uint8_t *s) {
    const V(u16) a = (V(u16))V(f16_of_f8e4m3fn)(s), b = (V(u16))V(f16_of_f8e4m3fn)(s + VEC / 2);
    return (V(vec))V(high_8)(V(round_f8e5m2)(a), V(round_f8e5m2)(b));
}

TG_INLINE V(vec) V(f8e5m2_of_f16)(const uint8_t *s) {
    return (V(vec))V(high_8)(V(round_f8e5m2)(V(get_16)(s)), V(round_f8e5m2)(V(get_16)(s + VEC)));
}

TG_INLINE V(vec) V(f16_of_f8e5m2)(const uint8_t *s) {
    const V(u16) x = V(get_16_of_8)(s) << 8;
    return (V(vec))V(pick16)(V(gt16)(x & 0x7fff, V(all16)(0x7c00)), x | 0x200, x);
}

/* ---- integers: *bad gathers what does not fit ---- */

typedef V(vec) *V(bits);

/* The low bits of 1, 2, 4 or 8 vectors of lanes, as one vector. */
TG_INLINE V(vec) V(narrow_64_to_32)(const V(u64) *x) { return (V(vec))V(low_32)((V(u32))x[0], (V(u32))x[1]); }

TG_INLINE V(vec) V(narrow_32_to_16)(const V(u32) *x) { return (V(vec))V(low_16)(x[0], x[1]); }

TG_INLINE V(vec) V(narrow_16_to_8)(const V(u16) *x) { return (V(vec))V(low_8)(x[0], x[1]); }

TG_INLINE V(vec) V(narrow_32_to_8)(const V(u32) *x) { return (V(vec))V(low_8_of_32)(x); }

TG_INLINE V(vec) V(narrow_64_to_16)(const V(u64) *x) {
    const V(u32) y[2] = {(V(u32))V(narrow_64_to_32)(x), (V(u32))V(narrow_64_to_32)(x + 2)};
    return V(narrow_32_to_16)(y);
}

TG_INLINE V(vec) V(narrow_64_to_8)(const V(u64) *x) {
    const V(u16) y[2] = {(V(u16))V(narrow_64_to_16)(x), (V(u16))V(narrow_64_to_16)(x + 4)};
    return V(narrow_16_to_8)(y);
}

/* What fits has no bits above the low ones, after `more` is added: half of all values where both sides have a sign. */
#define NARROW(D, S, FITS, MORE)                                                                                      \
    V(u##S) x[S / D], above = {0};                                                                                    \
    for (int k = 0; k < S / D; k++) {                                                                                 \
        x[k] = (V(u##S))V(load)(s + k * VEC);                                                                         \
        above |= x[k] + (MORE);                                                                                       \
    }                                                                                                                 \
    *bad |= (V(vec))(above & (uint##S##_t)~(FITS));                                                                   \
    return V(narrow_##S##_to_##D)(x);

#define INTEGERS_TO_FEWER(D, S)                                                                                        \
    TG_INLINE V(vec) V(int##D##_of_int##S)(const uint8_t *s, V(bits) bad) {                                            \
        NARROW(D, S, ((uint64_t)1 << D) - 1, (uint##S##_t)((uint64_t)1 << (D - 1)))                                    \
    }                                                                                                                  \
    TG_INLINE V(vec) V(int##D##_of_uint##S)(const uint8_t *s, V(bits) bad) {                                           \
        NARROW(D, S, ((uint64_t)1 << (D - 1)) - 1, 0)                                                                  \
    }                                                                                                                  \
    TG_INLINE V(vec) V(uint##D##_of_any##S)(const uint8_t *s, V(bits) bad) { NARROW(D, S, ((uint64_t)1 << D) - 1, 0) }

INTEGERS_TO_FEWER(32, 64)
INTEGERS_TO_FEWER(16, 32)
INTEGERS_TO_FEWER(8, 16)
INTEGERS_TO_FEWER(8, 32)
INTEGERS_TO_FEWER(16, 64)
INTEGERS_TO_FEWER(8, 64)
#undef INTEGERS_TO_FEWER
#undef NARROW

/* Widened with zeros; a sign is spread by flipping it and taking it away. */
#define INTEGERS_TO_MORE(D, S)                                                                                         \
  TG_INLINE V(vec) V(int##D##_of_int##S)(const uint8_t *s) {                                                           \
    const uint##D##_t sign = (uint##D##_t)((uint64_t)1 << (S - 1));                                                    \
    return (V(vec))((V(get_##D##_of_##S)(s) ^ sign) - sign);                                                           \
  }                                                                                                                    \
  TG_INLINE V(vec) V(uint##D##_of_int##S)(const uint8_t *s, V(bits) bad) {                                             \
    const V(u##D) x = V(get_##D##_of_##S)(s);                                                                          \
    *bad |= (V(vec))(x & (uint##D##_t)((uint64_t)1 << (S - 1)));                                                       \
    return (V(vec))x;                                                                                                  \
  }

INTEGERS_TO_MORE(64, 32)
INTEGERS_TO_MORE(32, 16)
INTEGERS_TO_MORE(16, 8)
INTEGERS_TO_MORE(32, 8)
INTEGERS_TO_MORE(64, 16)
INTEGERS_TO_MORE(64, 8)
#undef INTEGERS_TO_MORE

#define INTEGERS_OF_OTHER_SIGN(B)                                                                                      \
  TG_INLINE V(vec) V(other_sign_of_##B)(const uint8_t *s, V(bits) bad) {                                               \
    const V(u##B) x = (V(u##B))V(load)(s);                                                                             \
    *bad |= (V(vec))(x & (uint##B##_t)((uint64_t)1 << (B - 1)));                                                       \
    return (V(vec))x;                                                                                                  \
  }

INTEGERS_OF_OTHER_SIGN(8)
INTEGERS_OF_OTHER_SIGN(16)
INTEGERS_OF_OTHER_SIGN(32)
INTEGERS_OF_OTHER_SIGN(64)
#undef INTEGERS_OF_OTHER_SIGN

/* ---- bools: `one` is how dst says true, `mask` which bits of src are not a sign ---- */

TG_INLINE V(vec) V(lane16_from_bool)(const uint8_t *s, uint16_t one) {
    return (V(vec))((V(u16))(V(get_16_of_8)(s) != 0) & one);
}

TG_INLINE V(vec) V(lane32_from_bool)(const uint8_t *s, uint32_t one) {
    return (V(vec))((V(u32))(V(get_32_of_8)(s) != 0) & one);
}

TG_INLINE V(vec) V(bool_from_lane16)(const uint8_t *s, uint16_t mask) {
    const V(u16) a = V(get_16)(s) & mask, b = V(get_16)(s + VEC) & mask;
    return (V(vec))V(low_8)((V(u16))(a != 0) & 1, (V(u16))(b != 0) & 1);
}

TG_INLINE V(vec) V(bool_from_lane32)(const uint8_t *s, uint32_t mask) {
    V(u32) x[4];
    for (int k = 0; k < 4; k++) x[k] = (V(u32))((V(get_32)(s + k * VEC) & mask) != 0) & 1;
    return (V(vec))V(low_8_of_32)(x);
}

/* ---- packed elements and bytes ---- */

TG_INLINE V(vec) V(pack_4)(const uint8_t *s) {
    V(u16) x[2];
    for (int k = 0; k < 2; k++) {
        x[k] = V(get_16)(s + k * VEC) & 0x0f0f;
        x[k] |= x[k] >> 4;
    }
    return (V(vec))V(low_8)(x[0], x[1]);
}

/* What fits has none of the bits `above` after `more` is added. */
TG_INLINE V(vec) V(pack_4_that_fit)(const uint8_t *s, V(bits) bad, uint8_t more, uint8_t above) {
    for (int k = 0; k < 2; k++) *bad |= (V(vec))((V(get_8)(s + k * VEC) + more) & above);
    return V(pack_4)(s);
}

TG_INLINE V(vec) V(pack_2)(const uint8_t *s) {
    V(u32) x[4];
    for (int k = 0; k < 4; k++) {
        x[k] = V(get_32)(s + k * VEC) & 0x03030303u;
        x[k] = (x[k] | x[k] >> 6) & 0x000f000fu;
        x[k] |= x[k] >> 12;
    }
    return (V(vec))V(low_8_of_32)(x);
}

/* Bytes of 0 and 1. */
TG_INLINE V(u32) V(pack_1_pair)(V(u64) a, V(u64) b) {
    V(u64) x[2] = {a, b};
    for (int k = 0; k < 2; k++) {
        x[k] = (x[k] | x[k] >> 7) & 0x0003000300030003u;
        x[k] = (x[k] | x[k] >> 14) & 0x0000000f0000000fu;
        x[k] |= x[k] >> 28;
    }
    return V(low_32)((V(u32))x[0], (V(u32))x[1]);
}

TG_INLINE V(vec) V(pack_1)(const uint8_t *s, bool nonzero) {
    V(u32) x[4];
    for (int k = 0; k < 4; k++) {
        V(u8) a = V(get_8)(s + 2 * k * VEC), b = V(get_8)(s + (2 * k + 1) * VEC);
        if (nonzero) {
            a = (V(u8))(a != 0);
            b = (V(u8))(b != 0);
        }
        x[k] = V(pack_1_pair)((V(u64))(a & 1), (V(u64))(b & 1));
    }
    return (V(vec))V(low_8_of_32)(x);
}

/* ---- pairs ---- */

#include "kernels/convert_grids.inc.h"

/* x: as many vectors of float32 as become one vector. */
#define FLOATS(N, F, G, SIZE)                                                                                         \
    TG_INLINE V(vec) V(F##_of_##G)(const uint8_t *s) {                                                            \
        V(u32) x[N];                                                                                                  \
        for (int k = 0; k < N; k++) x[k] = V(get_##G)(s + k * (VEC / 4 * SIZE));                                      \
        return V(put_##F)(x);                                                                                         \
    }                                                                                                                 \
    PAIR(F##_from_##G, SIZE, 4 / N, 0, V(F##_of_##G)(s))

FLOATS(1, f32, f16, 2)
FLOATS(1, f32, bf16, 2)
FLOATS(1, f32, dlf16, 2)
FLOATS(1, f32, f8e4m3fn, 1)
FLOATS(1, f32, f8e5m2, 1)
FLOATS(2, f16, f32, 4)
FLOATS(2, f16, bf16, 2)
FLOATS(2, bf16, f32, 4)
FLOATS(2, bf16, f16, 2)
FLOATS(2, dlf16, f32, 4)
FLOATS(4, f8e4m3fn, f32, 4)
#if VEC != 64
FLOATS(4, f8e4m3fn, f16, 2)
FLOATS(4, f8e4m3fn, bf16, 2)
FLOATS(4, f8e4m3fn, dlf16, 2)
FLOATS(4, f8e4m3fn, f8e5m2, 1)
FLOATS(4, f8e5m2, bf16, 2)
FLOATS(4, f8e5m2, dlf16, 2)
#else
PAIR(f8e4m3fn_from_f16, 2, 1, 0, V(f8e4m3fn_of_f16)(s))
PAIR(f8e4m3fn_from_bf16, 2, 1, 0, V(f8e4m3fn_of_bf16)(s))
PAIR(f8e4m3fn_from_dlf16, 2, 1, 0, V(f8e4m3fn_of_dlf16)(s))
PAIR(f8e4m3fn_from_f8e5m2, 1, 1, 0, V(f8e4m3fn_of_f8e5m2)(s))
PAIR(f8e5m2_from_bf16, 2, 1, 0, V(f8e5m2_of_bf16)(s))
PAIR(f8e5m2_from_dlf16, 2, 1, 0, V(f8e5m2_of_dlf16)(s))
#endif
FLOATS(4, f8e5m2, f32, 4)

PAIR(dlf16_from_f16, 2, 2, 0, V(dlf16_of_f16)(s))
PAIR(f16_from_dlf16, 2, 2, 0, V(f16_of_dlf16)(s))
PAIR(dlf16_from_bf16, 2, 2, 0, V(dlf16_of_bf16)(s))
PAIR(bf16_from_dlf16, 2, 2, 0, V(bf16_of_dlf16)(s))
PAIR(f16_from_f8e4m3fn, 1, 2, 0, V(f16_of_f8e4m3fn)(s))
PAIR(bf16_from_f8e4m3fn, 1, 2, 0, V(bf16_of_f8e4m3fn)(s))
PAIR(dlf16_from_f8e4m3fn, 1, 2, 0, V(dlf16_of_f8e4m3fn)(s))
PAIR(bf16_from_f8e5m2, 1, 2, 0, V(bf16_of_f8e5m2)(s))
PAIR(dlf16_from_f8e5m2, 1, 2, 0, V(dlf16_of_f8e5m2)(s))
PAIR(f8e5m2_from_f8e4m3fn, 1, 1, 0, V(f8e5m2_of_f8e4m3fn)(s))
PAIR(f16_from_f8e5m2, 1, 2, 0, V(f16_of_f8e5m2)(s))
PAIR(f8e5m2_from_f16, 2, 1, 0, V(f8e5m2_of_f16)(s))

#define FEWER(D, S)                                                                                                   \
    PAIR(int##D##_from_int##S, S / 8, D / 8, 0, V(int##D##_of_int##S)(s, bad))                                        \
    PAIR(int##D##_from_uint##S, S / 8, D / 8, 0, V(int##D##_of_uint##S)(s, bad))                                      \
    PAIR(uint##D##_from_any##S, S / 8, D / 8, 0, V(uint##D##_of_any##S)(s, bad))
#define MORE(D, S)                                                                                                    \
    PAIR(int##D##_from_int##S, S / 8, D / 8, 0, V(int##D##_of_int##S)(s))                                             \
    PAIR(int##D##_from_uint##S, S / 8, D / 8, 0, (V(vec))V(get_##D##_of_##S)(s))                                      \
    PAIR(uint##D##_from_int##S, S / 8, D / 8, 0, V(uint##D##_of_int##S)(s, bad))

FEWER(32, 64)
FEWER(16, 32)
FEWER(8, 16)
FEWER(8, 32)
FEWER(16, 64)
FEWER(8, 64)
MORE(64, 32)
MORE(32, 16)
MORE(16, 8)
MORE(32, 8)
MORE(64, 16)
MORE(64, 8)
#undef FEWER
#undef MORE
PAIR(other_sign_8, 1, 1, 0, V(other_sign_of_8)(s, bad))
PAIR(other_sign_16, 2, 2, 0, V(other_sign_of_16)(s, bad))
PAIR(other_sign_32, 4, 4, 0, V(other_sign_of_32)(s, bad))
PAIR(other_sign_64, 8, 8, 0, V(other_sign_of_64)(s, bad))

PAIR(bool16_from_bool8, 1, 2, 0, V(lane16_from_bool)(s, 1))
PAIR(bool32_from_bool8, 1, 4, 0, V(lane32_from_bool)(s, 1))
PAIR(bf16_from_bool8, 1, 2, 0, V(lane16_from_bool)(s, 0x3f80))
PAIR(f16_from_bool8, 1, 2, 0, V(lane16_from_bool)(s, 0x3c00))
PAIR(dlf16_from_bool8, 1, 2, 0, V(lane16_from_bool)(s, 0x3e00))
PAIR(f32_from_bool8, 1, 4, 0, V(lane32_from_bool)(s, 0x3f800000u))
PAIR(bool8_from_bool16, 2, 1, 0, V(bool_from_lane16)(s, 0xffff))
PAIR(bool8_from_bool32, 4, 1, 0, V(bool_from_lane32)(s, 0xffffffffu))
PAIR(bool8_from_float16, 2, 1, 0, V(bool_from_lane16)(s, 0x7fff))
PAIR(bool8_from_float32, 4, 1, 0, V(bool_from_lane32)(s, 0x7fffffffu))

PAIR(int8_from_int4, 1, 2, 1, V(bytes_from_4)(s, 8))
PAIR(uint8_from_uint4, 1, 2, 1, V(bytes_from_4)(s, 0))
PAIR(int8_from_int2, 1, 4, 2, V(bytes_from_2)(s, 2))
PAIR(uint8_from_uint2, 1, 4, 2, V(bytes_from_2)(s, 0))
PAIR(int8_from_int1, 1, 8, 3, V(bytes_from_1)(s, 1))
PAIR(uint8_from_uint1, 1, 8, 3, V(bytes_from_1)(s, 0))
PAIR(int4_from_int8, 2, 1, 1, V(pack_4_that_fit)(s, bad, 8, 0xf0))
PAIR(int4_from_uint8, 2, 1, 1, V(pack_4_that_fit)(s, bad, 0, 0xf8))
PAIR(uint4_from_any8, 2, 1, 1, V(pack_4_that_fit)(s, bad, 0, 0xf0))
PAIR(packed4_from_bytes, 2, 1, 1, V(pack_4)(s))
PAIR(packed2_from_bytes, 4, 1, 2, V(pack_2)(s))
PAIR(packed1_from_bytes, 8, 1, 3, V(pack_1)(s, false))
PAIR(bits_from_bools, 8, 1, 3, V(pack_1)(s, true))

/* ---- the table ---- */

#define ENTRY(NAME, DK, DB, DV, SK, SB, SV) {V(move_##NAME), #NAME " " SET},

static const entry V(table)[] = {PAIRS(ENTRY)};

#undef ENTRY
#undef FLOATS
#if VEC != 64 /* convert_bf16.inc.h goes on with them */
#  undef ROUND_BF16
#  undef PAIR
#  undef GRIDS
#  undef JOINED_GRIDS
#  undef JOINS
#  undef LINES
#endif
