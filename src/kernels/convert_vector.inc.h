/* The steps that converting is made of, for vectors of VEC bytes; see convert_rows.inc.h.
 *
 * Vectors of the compiler do most of it. What they cannot say, or compilers say badly, has a name in
 * convert_<set>.inc.h, the same names in each:
 *
 *     get_32_of_16(s), ...      elements at s, widened with zeros; of bytes in widen.inc.h
 *     gt, eq, min, max          lanes of 32 bits, signed; gt16, eq16, not0 lanes of 16
 *     pick(m, a, b), pick16     a where the mask says so, else b
 *     any32(m), any16(m)        whether the mask says so anywhere
 *     avg16                     (a + b + 1) / 2, unsigned
 *     adds16, subs16            with signed, unsigned saturation
 *     lookup(table, index)      of 8 entries; what an index from 8 on gives is not said
 *     pack(a, b), in_order      lanes of 32 bits to 16 with signed saturation, in an order that in_order undoes
 *     widen_half, narrow_half   float16
 *     narrow_bf16(a, b)         rounded to bfloat16
 *     nonzero(v)                whether any bit is set */
#include "kernels/widen.inc.h"

typedef int16_t  V(s16) __attribute__((vector_size(VEC)));
typedef int32_t  V(s32) __attribute__((vector_size(VEC)));
typedef int64_t  V(s64) __attribute__((vector_size(VEC)));
typedef float    V(f32) __attribute__((vector_size(VEC)));

typedef uint16_t V(half16) __attribute__((vector_size(VEC / 2)));

TG_INLINE V(u32) V(all)(uint32_t value) { return (V(u32)){0} + value; }
TG_INLINE V(u16) V(all16)(uint16_t value) { return (V(u16)){0} + value; }

TG_INLINE V(u32) V(get_32)(const uint8_t *s) { return (V(u32))V(load)(s); }
TG_INLINE V(u16) V(get_16)(const uint8_t *s) { return (V(u16))V(load)(s); }
TG_INLINE V(u8) V(get_8)(const uint8_t *s) { return (V(u8))V(load)(s); }

TG_INLINE V(half16) V(get_half16)(const uint8_t *s) {
    V(half16) v;
    memcpy(&v, s, sizeof v);
    return v;
}

/* Every second lane of a and b together. */
#if VEC == 64
#  define EVEN_8(a, b)  __builtin_shufflevector(a, b, TG_EVEN_64)
#  define ODD_8(a, b)   __builtin_shufflevector(a, b, TG_ODD_64)
#  define EVEN_16(a, b) __builtin_shufflevector(a, b, TG_EVEN_32)
#  define ODD_16(a, b)  __builtin_shufflevector(a, b, TG_ODD_32)
#  define EVEN_32(a, b) __builtin_shufflevector(a, b, TG_EVEN_16)
#  define ODD_32(a, b)  __builtin_shufflevector(a, b, TG_ODD_16)
#elif VEC == 32
#  define EVEN_8(a, b)  __builtin_shufflevector(a, b, TG_EVEN_32)
#  define ODD_8(a, b)   __builtin_shufflevector(a, b, TG_ODD_32)
#  define EVEN_16(a, b) __builtin_shufflevector(a, b, TG_EVEN_16)
#  define ODD_16(a, b)  __builtin_shufflevector(a, b, TG_ODD_16)
#  define EVEN_32(a, b) __builtin_shufflevector(a, b, TG_EVEN_8)
#  define ODD_32(a, b)  __builtin_shufflevector(a, b, TG_ODD_8)
#else
#  define EVEN_8(a, b)  __builtin_shufflevector(a, b, TG_EVEN_16)
#  define ODD_8(a, b)   __builtin_shufflevector(a, b, TG_ODD_16)
#  define EVEN_16(a, b) __builtin_shufflevector(a, b, TG_EVEN_8)
#  define ODD_16(a, b)  __builtin_shufflevector(a, b, TG_ODD_8)
#  define EVEN_32(a, b) __builtin_shufflevector(a, b, TG_EVEN_4)
#  define ODD_32(a, b)  __builtin_shufflevector(a, b, TG_ODD_4)
#endif

TG_INLINE V(u16) V(low_16)(V(u32) a, V(u32) b) { return EVEN_16((V(u16))a, (V(u16))b); }
TG_INLINE V(u16) V(high_16)(V(u32) a, V(u32) b) { return ODD_16((V(u16))a, (V(u16))b); }
TG_INLINE V(u8) V(low_8)(V(u16) a, V(u16) b) { return EVEN_8((V(u8))a, (V(u8))b); }
TG_INLINE V(u8) V(high_8)(V(u16) a, V(u16) b) { return ODD_8((V(u8))a, (V(u8))b); }
TG_INLINE V(u32) V(low_32)(V(u32) a, V(u32) b) { return EVEN_32(a, b); }
TG_INLINE V(u32) V(high_32)(V(u32) a, V(u32) b) { return ODD_32(a, b); }

#undef EVEN_8
#undef ODD_8
#undef EVEN_16
#undef ODD_16
#undef EVEN_32
#undef ODD_32

/* The low 8 bits of each of four times 32. */
TG_INLINE V(u8) V(low_8_of_32)(const V(u32) *x) { return V(low_8)(V(low_16)(x[0], x[1]), V(low_16)(x[2], x[3])); }

/* In the upper half of each lane: to the nearest, halves to even; a NaN keeps its upper bits and becomes quiet. */
#define ROUND_BF16(u) V(pick)(V(gt)((u) & 0x7fffffffu, V(all)(0x7f800000u)), (u) | 0x400000u, \
                              (u) + 0x7fffu + ((u) >> 16 & 1u))

#if VEC == 64
#  include "kernels/convert_avx512.inc.h"
#elif VEC == 32
#  include "kernels/convert_avx2.inc.h"
#else
#  include "kernels/convert_neon.inc.h"
#endif
