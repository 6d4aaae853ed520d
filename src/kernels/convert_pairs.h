/* The pairs of encodings that have a converting loop of their own, and the keys under which they are found. Others are
 * converted row by row by way of a common middle (convert.c). */
#ifndef TG_KERNELS_CONVERT_PAIRS_H
#define TG_KERNELS_CONVERT_PAIRS_H

#include "kernels/kernels.h"

/* Integers of D bits from S bits, both with and without sign: more, fewer, or as many. */
#define WIDER(X, D, S)                                                                                                \
    X(int##D##_from_int##S, SINT, D, D, SINT, S, S) X(int##D##_from_uint##S, SINT, D, D, UINT, S, S)                   \
    X(int##D##_from_uint##S, UINT, D, D, UINT, S, S) X(uint##D##_from_int##S, UINT, D, D, SINT, S, S)
#define NARROWER(X, D, S)                                                                                             \
    X(int##D##_from_int##S, SINT, D, D, SINT, S, S) X(int##D##_from_uint##S, SINT, D, D, UINT, S, S)                   \
    X(uint##D##_from_any##S, UINT, D, D, SINT, S, S) X(uint##D##_from_any##S, UINT, D, D, UINT, S, S)
#define OTHER_SIGN(X, B) X(other_sign_##B, SINT, B, B, UINT, B, B) X(other_sign_##B, UINT, B, B, SINT, B, B)

/* X(name, dst kind, bits, bits with meaning, src kind, bits, bits with meaning) */
#define PAIRS(X) \
    X(f32_from_f16, F32, 32, 32, F16, 16, 16) X(f32_from_bf16, F32, 32, 32, BF16, 16, 16)                             \
    X(f32_from_dlf16, F32, 32, 32, DLF16, 16, 16) X(f32_from_f8e4m3fn, F32, 32, 32, F8E4M3FN, 8, 8)                   \
    X(f32_from_f8e5m2, F32, 32, 32, F8E5M2, 8, 8) X(f16_from_f32, F16, 16, 16, F32, 32, 32)                           \
    X(f16_from_bf16, F16, 16, 16, BF16, 16, 16) X(f16_from_dlf16, F16, 16, 16, DLF16, 16, 16)                         \
    X(f16_from_f8e4m3fn, F16, 16, 16, F8E4M3FN, 8, 8) X(f16_from_f8e5m2, F16, 16, 16, F8E5M2, 8, 8)                   \
    X(bf16_from_f32, BF16, 16, 16, F32, 32, 32) X(bf16_from_f16, BF16, 16, 16, F16, 16, 16)                           \
    X(bf16_from_dlf16, BF16, 16, 16, DLF16, 16, 16) X(bf16_from_f8e4m3fn, BF16, 16, 16, F8E4M3FN, 8, 8)               \
    X(bf16_from_f8e5m2, BF16, 16, 16, F8E5M2, 8, 8) X(dlf16_from_f32, DLF16, 16, 16, F32, 32, 32)                     \
    X(dlf16_from_f16, DLF16, 16, 16, F16, 16, 16) X(dlf16_from_bf16, DLF16, 16, 16, BF16, 16, 16)                     \
    X(dlf16_from_f8e4m3fn, DLF16, 16, 16, F8E4M3FN, 8, 8) X(dlf16_from_f8e5m2, DLF16, 16, 16, F8E5M2, 8, 8)           \
    X(f8e4m3fn_from_f32, F8E4M3FN, 8, 8, F32, 32, 32) X(f8e4m3fn_from_f16, F8E4M3FN, 8, 8, F16, 16, 16)               \
    X(f8e4m3fn_from_bf16, F8E4M3FN, 8, 8, BF16, 16, 16) X(f8e4m3fn_from_dlf16, F8E4M3FN, 8, 8, DLF16, 16, 16)         \
    X(f8e4m3fn_from_f8e5m2, F8E4M3FN, 8, 8, F8E5M2, 8, 8) X(f8e5m2_from_f32, F8E5M2, 8, 8, F32, 32, 32)               \
    X(f8e5m2_from_f16, F8E5M2, 8, 8, F16, 16, 16) X(f8e5m2_from_bf16, F8E5M2, 8, 8, BF16, 16, 16)                     \
    X(f8e5m2_from_dlf16, F8E5M2, 8, 8, DLF16, 16, 16) X(f8e5m2_from_f8e4m3fn, F8E5M2, 8, 8, F8E4M3FN, 8, 8)           \
    X(bool16_from_bool8, BOOL, 16, 1, BOOL, 8, 1) X(bool32_from_bool8, BOOL, 32, 1, BOOL, 8, 1)                       \
    X(bool8_from_bool16, BOOL, 8, 1, BOOL, 16, 1) X(bool8_from_bool32, BOOL, 8, 1, BOOL, 32, 1)                       \
    X(bf16_from_bool8, BF16, 16, 16, BOOL, 8, 1) X(f16_from_bool8, F16, 16, 16, BOOL, 8, 1)                           \
    X(dlf16_from_bool8, DLF16, 16, 16, BOOL, 8, 1) X(f32_from_bool8, F32, 32, 32, BOOL, 8, 1)                         \
    X(bool8_from_float16, BOOL, 8, 1, BF16, 16, 16) X(bool8_from_float16, BOOL, 8, 1, F16, 16, 16)                    \
    X(bool8_from_float16, BOOL, 8, 1, DLF16, 16, 16) X(bool8_from_float32, BOOL, 8, 1, F32, 32, 32)                   \
    X(int8_from_int4, SINT, 8, 4, SINT, 4, 4) X(packed4_from_bytes, SINT, 4, 4, SINT, 8, 4)                           \
    X(uint8_from_uint4, UINT, 8, 4, UINT, 4, 4) X(packed4_from_bytes, UINT, 4, 4, UINT, 8, 4)                         \
    X(uint8_from_uint4, BITS, 8, 4, BITS, 4, 4) X(packed4_from_bytes, BITS, 4, 4, BITS, 8, 4)                         \
    X(int8_from_int2, SINT, 8, 2, SINT, 2, 2) X(packed2_from_bytes, SINT, 2, 2, SINT, 8, 2)                           \
    X(uint8_from_uint2, UINT, 8, 2, UINT, 2, 2) X(packed2_from_bytes, UINT, 2, 2, UINT, 8, 2)                         \
    X(uint8_from_uint2, BITS, 8, 2, BITS, 2, 2) X(packed2_from_bytes, BITS, 2, 2, BITS, 8, 2)                         \
    X(int8_from_int1, SINT, 8, 1, SINT, 1, 1) X(packed1_from_bytes, SINT, 1, 1, SINT, 8, 1)                           \
    X(uint8_from_uint1, UINT, 8, 1, UINT, 1, 1) X(packed1_from_bytes, UINT, 1, 1, UINT, 8, 1)                         \
    X(uint8_from_uint1, BITS, 8, 1, BITS, 1, 1) X(packed1_from_bytes, BITS, 1, 1, BITS, 8, 1)                         \
    X(uint8_from_uint1, BOOL, 8, 1, BOOL, 1, 1) X(bits_from_bools, BOOL, 1, 1, BOOL, 8, 1)                             \
    X(int8_from_int4, SINT, 8, 8, SINT, 4, 4) X(uint8_from_uint4, SINT, 8, 8, UINT, 4, 4)                             \
    X(uint8_from_uint4, UINT, 8, 8, UINT, 4, 4) X(int4_from_int8, SINT, 4, 4, SINT, 8, 8)                             \
    X(int4_from_uint8, SINT, 4, 4, UINT, 8, 8) X(uint4_from_any8, UINT, 4, 4, SINT, 8, 8)                             \
    X(uint4_from_any8, UINT, 4, 4, UINT, 8, 8) X(int8_from_int2, SINT, 8, 8, SINT, 2, 2)                              \
    X(uint8_from_uint2, SINT, 8, 8, UINT, 2, 2) X(uint8_from_uint2, UINT, 8, 8, UINT, 2, 2)                           \
    WIDER(X, 64, 32) NARROWER(X, 32, 64) WIDER(X, 32, 8) NARROWER(X, 8, 32) WIDER(X, 16, 8) NARROWER(X, 8, 16)         \
    WIDER(X, 32, 16) NARROWER(X, 16, 32) WIDER(X, 64, 8) NARROWER(X, 8, 64) WIDER(X, 64, 16) NARROWER(X, 16, 64)       \
    OTHER_SIGN(X, 8) OTHER_SIGN(X, 16) OTHER_SIGN(X, 32) OTHER_SIGN(X, 64)

/* Keys have 32 bits, so that many are compared at once. Bits are a power of two, and those with meaning are no more:
 * the sum tells both. */
#define SIDE(KIND, BITS, VALUE) ((uint32_t)(KIND) << 9 | ((uint32_t)(BITS) + (uint32_t)(VALUE)))
#define KEY(NAME, DK, DB, DV, SK, SB, SV) SIDE(TG_KIND_##DK, DB, DV) << 16 | SIDE(TG_KIND_##SK, SB, SV),

#endif
