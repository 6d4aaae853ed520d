/* Loops that convert.
 *
 * Every encoding knows the way to a middle and back: floats to float32, which holds all of them
 * exactly, integers to int64. float32 is its own middle. The bit tricks, with the numbers behind them:
 *
 *   float16    1-5-10, bias 15. Exponent 31 is infinity or NaN, 0 is subnormal: m * 2^-24.
 *              A normal one is float32 when its 15 bits move up by 13 and the bias grows by 112.
 *   bfloat16   the upper half of a float32.
 *   DLFloat16  1-6-9, bias 31. Code 0 is zero, code 0x7fff (NINF) infinity and NaN at once, all
 *              other codes are normal: 15 bits up by 14, bias plus 96. Encoding adds half an ulp
 *              (bit 13 of a float32) and cuts, which rounds halves away from zero; what falls below
 *              exponent 0 is zero and what passes 0x7ffe is NINF. Source: docs/sources.md, DLFloat16.
 *   f8e4m3fn   bias 7. 0x7f is NaN, and what rounds past 448 (0x7e). Subnormal: m * 2^-9.
 *   f8e5m2     the upper half of a float16, but rounded. Subnormal: m * 2^-16.
 *
 * Rounding is otherwise to the nearest, halves to even. A NaN keeps its sign and the upper bits of its
 * payload and becomes quiet, except that bfloat16 to float32 keeps all bits.
 *
 * float16 <-> DLFloat16 has its own loop in 16-bit arithmetic: for normal numbers the code is
 * (m + 1) / 2 + 16 * 512. A block of 64 that meets a subnormal, infinity or NaN is done again by way
 * of float32. No loop has a branch inside, so compilers vectorise them. */
#include "kernels/kernels.h"
#include "kernels/stream.h"
#include "kernels/unaligned.h"

#include <string.h>

enum { BLOCK = 256 };

/* ---- one element: float32 bits <-> the others ---- */

static inline uint32_t float_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float bits_float(uint32_t u) {
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t f32_from_f16(uint16_t h) {
    const uint32_t m = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t normal = (m << 13) + (112u << 23);
    const uint32_t small = float_bits((float)(int32_t)m * 0x1p-24f);
    const uint32_t huge = (m << 13) | 0x7f800000u | (m > 0x7c00u ? 0x400000u : 0u);
    return sign | (m < 0x400u ? small : m >= 0x7c00u ? huge : normal);
}

static inline uint16_t f16_from_f32(uint32_t u) {
    const uint32_t a = u & 0x7fffffffu, sign = u >> 16 & 0x8000u;
    const uint32_t normal = (a + 0xfffu + (a >> 13 & 1u) - (112u << 23)) >> 13;
    /* 0.5 has the ulp 2^-24 of a subnormal float16: the addition rounds, the difference counts ulps */
    const uint32_t small = float_bits(bits_float(a) + 0.5f) - 0x3f000000u;
    const uint32_t nan = 0x7e00u | (a >> 13 & 0x3ffu);
    uint32_t       r = a < 0x38800000u ? small : normal;
    r = a >= 0x477ff000u ? 0x7c00u : r; /* 65520, half way from the largest float16 to 2^16 */
    r = a > 0x7f800000u ? nan : r;
    return (uint16_t)(sign | r);
}

static inline uint32_t f32_from_bf16(uint16_t h) { return (uint32_t)h << 16; }

static inline uint16_t bf16_from_f32(uint32_t u) {
    const uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    const uint32_t nan = u >> 16 | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

static inline uint32_t f32_from_dlf16(uint16_t h) {
    const uint32_t m = h & 0x7fffu, sign = (uint32_t)(h & 0x8000u) << 16;
    uint32_t       r = (m << 14) + (96u << 23);
    r = m == 0 ? 0 : r;
    r = m == 0x7fffu ? 0x7fc00000u : r;
    return sign | r;
}

static inline uint16_t dlf16_from_f32(uint32_t u) {
    const uint32_t sign = u >> 16 & 0x8000u;
    const int32_t  code = (int32_t)(((u & 0x7fffffffu) + 0x2000u) >> 14) - (96 << 9);
    int32_t        r = code < 0 ? 0 : code;
    r = r > 0x7fff ? 0x7fff : r;
    return (uint16_t)(sign | (uint32_t)r);
}

static inline uint32_t f32_from_f8e4m3fn(uint8_t h) {
    const uint32_t m = h & 0x7fu, sign = (uint32_t)(h & 0x80u) << 24;
    const uint32_t normal = (m << 20) + (120u << 23), small = float_bits((float)(int32_t)m * 0x1p-9f);
    return sign | (m < 8 ? small : m == 0x7fu ? 0x7fc00000u : normal);
}

/* NaN and infinity pass the last code as large numbers do. */
static inline uint8_t f8e4m3fn_from_f32(uint32_t u) {
    const uint32_t a = u & 0x7fffffffu, sign = u >> 24 & 0x80u;
    const uint32_t normal = (a + 0x7ffffu + (a >> 20 & 1u) - (120u << 23)) >> 20;
    const uint32_t small = float_bits(bits_float(a) + 0x1p14f) - 0x46800000u; /* 2^14 has the ulp 2^-9 */
    uint32_t       r = a < 0x3c800000u ? small : normal;
    r = r > 0x7fu ? 0x7fu : r;
    return (uint8_t)(sign | r);
}

static inline uint32_t f32_from_f8e5m2(uint8_t h) { return f32_from_f16((uint16_t)((unsigned)h << 8)); }

static inline uint8_t f8e5m2_from_f32(uint32_t u) {
    const uint32_t a = u & 0x7fffffffu, sign = u >> 24 & 0x80u;
    const uint32_t normal = (a + 0xfffffu + (a >> 21 & 1u) - (112u << 23)) >> 21;
    const uint32_t small = float_bits(bits_float(a) + 0x1p7f) - 0x43000000u; /* 2^7 has the ulp 2^-16 */
    const uint32_t nan = 0x7eu | (a >> 21 & 3u);
    uint32_t       r = a < 0x38800000u ? small : normal;
    r = r > 0x7cu ? 0x7cu : r;
    r = a > 0x7f800000u ? nan : r;
    return (uint8_t)(sign | r);
}

/* ---- runs of floats ---- */

#define DEFINE_FLOAT(NAME, TO, FROM)                                                                              \
    static int64_t run_##NAME(const tg_kernel *k, void *restrict dst, const void *restrict src, int64_t n) {          \
        TO         *d = dst;                                                                                      \
        const FROM *s = src;                                                                                      \
        (void)k;                                                                                                  \
        for (int64_t i = 0; i < n; i++) d[i] = NAME(s[i]);                                                        \
        return n;                                                                                                 \
    }

DEFINE_FLOAT(f32_from_f16, unit32, unit16)
DEFINE_FLOAT(f32_from_bf16, unit32, unit16)
DEFINE_FLOAT(f32_from_dlf16, unit32, unit16)
DEFINE_FLOAT(f32_from_f8e4m3fn, unit32, unit8)
DEFINE_FLOAT(f32_from_f8e5m2, unit32, unit8)
DEFINE_FLOAT(f16_from_f32, unit16, unit32)
DEFINE_FLOAT(bf16_from_f32, unit16, unit32)
DEFINE_FLOAT(dlf16_from_f32, unit16, unit32)
DEFINE_FLOAT(f8e4m3fn_from_f32, unit8, unit32)
DEFINE_FLOAT(f8e5m2_from_f32, unit8, unit32)

/* ---- float16 <-> DLFloat16 ---- */

enum { CHUNK = 64 };

/* Zero, or normal and finite on both sides: these have a code by shifting and adding. `others` gathers
 * the magnitudes that are not; the key puts the good interval at the bottom of the signed range, so that
 * one comparison tells. Each line below is one or two vector instructions. */
static inline bool dlf16_from_f16_block(unit16 *restrict d, const unit16 *restrict s, int64_t n) {
    int16_t others = 0;
    for (int64_t i = 0; i < n; i++) {
        const int16_t m = (int16_t)(s[i] & 0x7fff), key = (int16_t)(uint16_t)(m + (0x8000 - 0x400));
        const int16_t code = (int16_t)((uint16_t)(m + 1) / 2 + 0x2000), r = m == 0 ? 0 : code;
        others = (int16_t)(others | (key >= 0x7c00 - 0x400 - 0x8000 ? m : 0));
        d[i] = (uint16_t)((uint16_t)r | (s[i] & 0x8000));
    }
    return others == 0;
}

/* float16 holds every DLFloat16 from 2^-14 (0x2200) below 2^16 (0x5e00). */
static inline bool f16_from_dlf16_block(unit16 *restrict d, const unit16 *restrict s, int64_t n) {
    int16_t others = 0;
    for (int64_t i = 0; i < n; i++) {
        const int16_t m = (int16_t)(s[i] & 0x7fff), key = (int16_t)(uint16_t)(m + (0x8000 - 0x2200));
        const int16_t code = (int16_t)(uint16_t)((uint16_t)m * 2 - 0x4000), r = m == 0 ? 0 : code;
        others = (int16_t)(others | (key >= 0x5e00 - 0x2200 - 0x8000 ? m : 0));
        d[i] = (uint16_t)((uint16_t)r | (s[i] & 0x8000));
    }
    return others == 0;
}

/* Any block. */
static void dlf16_from_f16_any(unit16 *restrict d, const unit16 *restrict s, int64_t n) {
    for (int64_t i = 0; i < n; i++) d[i] = dlf16_from_f32(f32_from_f16(s[i]));
}

static void f16_from_dlf16_any(unit16 *restrict d, const unit16 *restrict s, int64_t n) {
    for (int64_t i = 0; i < n; i++) d[i] = f16_from_f32(f32_from_dlf16(s[i]));
}

#define DEFINE_DIRECT(NAME, RUN, TARGET)                                                                          \
    TARGET static int64_t RUN(const tg_kernel *k, void *restrict dst, const void *restrict src, int64_t n) {          \
        unit16       *d = dst;                                                                                    \
        const unit16 *s = src;                                                                                    \
        (void)k;                                                                                                  \
        int64_t i = 0;                                                                                            \
        for (; n - i >= CHUNK; i += CHUNK)                                                                        \
            if (!NAME##_block(d + i, s + i, CHUNK)) NAME##_any(d + i, s + i, CHUNK);                              \
        if (i < n && !NAME##_block(d + i, s + i, n - i)) NAME##_any(d + i, s + i, n - i);                         \
        return n;                                                                                                 \
    }

DEFINE_DIRECT(dlf16_from_f16, run_dlf16_from_f16, )
DEFINE_DIRECT(f16_from_dlf16, run_f16_from_dlf16, )

/* The same loops for 32-byte vectors, where the processor has them; asked when a plan is made. */
#if defined(__x86_64__) && defined(__GNUC__)
#define AVX2 __attribute__((target("avx2")))
DEFINE_DIRECT(dlf16_from_f16, run_dlf16_from_f16_avx2, AVX2)
DEFINE_DIRECT(f16_from_dlf16, run_f16_from_dlf16_avx2, AVX2)

static tg_convert *direct(tg_convert *plain, tg_convert *wide) { return __builtin_cpu_supports("avx2") ? wide : plain; }
#else
#define run_dlf16_from_f16_avx2 NULL
#define run_f16_from_dlf16_avx2 NULL

static tg_convert *direct(tg_convert *plain, tg_convert *wide) {
    (void)wide;
    return plain;
}
#endif

/* ---- bools, in lanes of 8, 16 or 32 bits ---- */

#define FOR_LANE(BITS, LOOP)                                                                                      \
    switch (BITS) {                                                                                               \
    case 64: LOOP(64); break;                                                                                     \
    case 32: LOOP(32); break;                                                                                     \
    case 16: LOOP(16); break;                                                                                     \
    default: LOOP(8); break; /* packed elements are spread to bytes */                                            \
    }

static int64_t run_f32_from_bool(const tg_kernel *k, void *restrict dst, const void *restrict src, int64_t n) {
    unit32 *d = dst;
#define LOOP(B) \
    for (int64_t i = 0; i < n; i++) d[i] = ((const unit##B *)src)[i] != 0 ? 0x3f800000u : 0u
    FOR_LANE(k->src.bits, LOOP)
#undef LOOP
    return n;
}

static int64_t run_bool_from_f32(const tg_kernel *k, void *restrict dst, const void *restrict src, int64_t n) {
    const unit32 *s = src;
#define LOOP(B) \
    for (int64_t i = 0; i < n; i++) ((unit##B *)dst)[i] = (s[i] & 0x7fffffffu) != 0
    FOR_LANE(k->dst.bits, LOOP)
#undef LOOP
    return n;
}

/* ---- integers by way of int64 ---- */

static int64_t run_int_from_sint(const tg_kernel *k, void *restrict dst, const void *restrict src, int64_t n) {
    sint64       *d = dst;
    const int32_t unused = (k->src.bits < 8 ? 8 : k->src.bits) - k->src.value_bits;
#define LOOP(B)                                                                                                   \
    for (int64_t i = 0; i < n; i++)                                                                               \
    d[i] = (int##B##_t)(uint##B##_t)((uint64_t)((const unit##B *)src)[i] << unused) >> unused
    FOR_LANE(k->src.bits, LOOP)
#undef LOOP
    return n;
}

static int64_t run_int_from_uint(const tg_kernel *k, void *restrict dst, const void *restrict src, int64_t n) {
    sint64        *d = dst;
    const uint64_t mask = k->src.value_bits < 64 ? ((uint64_t)1 << k->src.value_bits) - 1 : UINT64_MAX;
#define LOOP(B) \
    for (int64_t i = 0; i < n; i++) d[i] = (int64_t)(((const unit##B *)src)[i] & mask)
    FOR_LANE(k->src.bits, LOOP)
#undef LOOP
    return n;
}

static int64_t run_int_from_bool(const tg_kernel *k, void *restrict dst, const void *restrict src, int64_t n) {
    sint64 *d = dst;
#define LOOP(B) \
    for (int64_t i = 0; i < n; i++) d[i] = ((const unit##B *)src)[i] != 0
    FOR_LANE(k->src.bits, LOOP)
#undef LOOP
    return n;
}

/* The first value outside [low, high], or n. */
static int64_t first_outside(const sint64 *s, int64_t n, int64_t low, int64_t high) {
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) bad |= (int64_t)(s[i] < low) | (int64_t)(s[i] > high);
    if (!bad) return n;
    int64_t i = 0;
    while (s[i] >= low && s[i] <= high) i++;
    return i;
}

static int64_t run_from_int(const tg_kernel *k, void *restrict dst, const void *restrict src, int64_t n) {
    const sint64 *s = src;
    const int64_t half = (int64_t)(((uint64_t)1 << (k->dst.value_bits - 1)) - 1);
    const bool    huge = k->src.kind == TG_KIND_UINT && k->src.value_bits == 64; /* 2^63 and up look negative */
    int64_t       fit = n;
    if (k->dst.kind == TG_KIND_SINT && (huge || k->dst.value_bits < 64))
        fit = first_outside(s, n, huge ? 0 : -half - 1, half);
    if (k->dst.kind == TG_KIND_UINT || k->dst.kind == TG_KIND_BITS)
        fit = first_outside(s, n, 0, k->dst.value_bits < 64 ? half * 2 + 1 : INT64_MAX);
#define LOOP(B) \
    for (int64_t i = 0; i < fit; i++) ((unit##B *)dst)[i] = (uint##B##_t)s[i]
    FOR_LANE(k->dst.bits, LOOP)
#undef LOOP
    return fit;
}

/* ---- rectangles ---- */

/* Strided or packed elements are gathered into neighbours of whole bytes before, and scattered after. */
static const void *gather(void *buffer, const void *base, int32_t bits, int64_t first, int64_t step, int64_t n) {
    if (bits >= 8 && step == 1) return (const uint8_t *)base + first * (bits / 8);
#define LOOP(B) \
    for (int64_t i = 0; i < n; i++) ((unit##B *)buffer)[i] = ((const unit##B *)base)[first + i * step]
    if (bits >= 8) {
        FOR_LANE(bits, LOOP)
        return buffer;
    }
#undef LOOP
    const unsigned mask = (1u << bits) - 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t bit = (first + i * step) * bits;
        ((uint8_t *)buffer)[i] = (uint8_t)((unsigned)((const uint8_t *)base)[bit / 8] >> (bit % 8) & mask);
    }
    return buffer;
}

static void scatter(void *base, const void *buffer, int32_t bits, int64_t first, int64_t step, int64_t n) {
#define LOOP(B) \
    for (int64_t i = 0; i < n; i++) ((unit##B *)base)[first + i * step] = ((const unit##B *)buffer)[i]
    if (bits >= 8) {
        FOR_LANE(bits, LOOP)
        return;
    }
#undef LOOP
    const unsigned mask = (1u << bits) - 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t  bit = (first + i * step) * bits;
        const unsigned shift = (unsigned)(bit % 8), value = ((const uint8_t *)buffer)[i];
        uint8_t       *byte = (uint8_t *)base + bit / 8;
        *byte = (uint8_t)((*byte & ~(mask << shift)) | (value & mask) << shift);
    }
}

/* One line, a block at a time. */
static int64_t move_line(const tg_kernel *k, void *dst, const void *src, int64_t to, int64_t to_step, int64_t from,
                         int64_t from_step, int64_t n) {
    uint64_t   in[BLOCK], middle[BLOCK], out[BLOCK];
    const bool direct = k->dst.bits >= 8 && to_step == 1;
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t     count = n - i < BLOCK ? n - i : BLOCK;
        const int64_t     at = to + i * to_step;
        const void *const s = gather(in, src, k->src.bits, from + i * from_step, from_step, count);
        void *const       d = direct ? (void *)((uint8_t *)dst + at * (k->dst.bits / 8)) : (void *)out;
        int64_t           done;
        if (k->then == NULL) {
            done = k->convert(k, d, s, count);
        } else {
            (void)k->convert(k, middle, s, count); /* widening: always fits */
            done = k->then(k, d, middle, count);
        }
        if (done < count) return i + done;
        if (!direct) scatter(dst, out, k->dst.bits, at, to_step, count);
    }
    return -1;
}

/* Neighbours of whole bytes on both sides, no middle: a line is one run. */
static bool is_plain(const tg_kernel *k, const tg_rect *r) {
    return k->then == NULL && r->dst.col == 1 && r->src.col == 1 && k->dst.bits >= 8 && k->src.bits >= 8;
}

static void move_plain_line(const tg_kernel *k, uint8_t *restrict d, const uint8_t *restrict s, int64_t n) {
    const int32_t dst_bytes = k->dst.bits / 8, src_bytes = k->src.bits / 8;
    if (!k->stream) {
        (void)k->convert(k, d, s, n); /* without a middle all values fit */
        return;
    }
    uint64_t block[BLOCK];
    for (int64_t i = 0; i < n; i += BLOCK) {
        const int64_t count = n - i < BLOCK ? n - i : BLOCK;
        (void)k->convert(k, block, s + i * src_bytes, count);
        tg_stream_copy(d + i * dst_bytes, (const uint8_t *)block, (size_t)(count * dst_bytes));
    }
}

static int64_t move_converting(const tg_kernel *k, void *restrict dst, const void *restrict src, const tg_rect *r) {
    const bool plain = is_plain(k, r);
    for (int64_t y = 0; y < r->rows; y++) {
        const int64_t to = r->dst.first + y * r->dst.row, from = r->src.first + y * r->src.row;
        if (plain) {
            move_plain_line(k, (uint8_t *)dst + to * (k->dst.bits / 8), (const uint8_t *)src + from * (k->src.bits / 8),
                            r->cols);
            continue;
        }
        const int64_t bad = move_line(k, dst, src, to, r->dst.col, from, r->src.col, r->cols);
        if (bad >= 0) return y * r->cols + bad;
    }
    return -1;
}

/* ---- choosing ---- */

static bool whole_lane(int32_t bits) {
    return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static tg_convert *to_float(tg_kind kind) {
    switch (kind) {
    case TG_KIND_F16: return run_f32_from_f16;
    case TG_KIND_BF16: return run_f32_from_bf16;
    case TG_KIND_DLF16: return run_f32_from_dlf16;
    case TG_KIND_F8E4M3FN: return run_f32_from_f8e4m3fn;
    case TG_KIND_F8E5M2: return run_f32_from_f8e5m2;
    case TG_KIND_BOOL: return run_f32_from_bool;
    default: return NULL;
    }
}

static tg_convert *from_float(tg_kind kind) {
    switch (kind) {
    case TG_KIND_F16: return run_f16_from_f32;
    case TG_KIND_BF16: return run_bf16_from_f32;
    case TG_KIND_DLF16: return run_dlf16_from_f32;
    case TG_KIND_F8E4M3FN: return run_f8e4m3fn_from_f32;
    case TG_KIND_F8E5M2: return run_f8e5m2_from_f32;
    case TG_KIND_BOOL: return run_bool_from_f32;
    default: return NULL;
    }
}

static tg_convert *to_int(tg_kind kind) {
    return kind == TG_KIND_SINT ? run_int_from_sint : kind == TG_KIND_BOOL ? run_int_from_bool : run_int_from_uint;
}

static bool choose_float(tg_kernel *k, tg_kind dst, tg_kind src) {
    if (dst == TG_KIND_DLF16 && src == TG_KIND_F16) k->convert = direct(run_dlf16_from_f16, run_dlf16_from_f16_avx2);
    else if (dst == TG_KIND_F16 && src == TG_KIND_DLF16)
        k->convert = direct(run_f16_from_dlf16, run_f16_from_dlf16_avx2);
    else if (src == TG_KIND_F32) k->convert = from_float(dst);
    else k->convert = to_float(src);
    if (dst != TG_KIND_F32 && k->convert == to_float(src)) {
        k->then = from_float(dst);
        return k->convert != NULL && k->then != NULL;
    }
    return k->convert != NULL;
}

/* Integers of any two types; bools and bits only in another width. */
static bool choose_int(tg_kernel *k, tg_encoding dst, tg_encoding src) {
    const bool integers = (dst.kind == TG_KIND_SINT || dst.kind == TG_KIND_UINT) &&
                          (src.kind == TG_KIND_SINT || src.kind == TG_KIND_UINT);
    if (!integers && dst.kind != src.kind) return false;
    if (dst.kind == TG_KIND_BITS && dst.value_bits != src.value_bits) return false;
    k->convert = to_int(src.kind);
    k->then = run_from_int;
    return true;
}

bool tg_kernel_convert(tg_kernel *out, tg_encoding dst, tg_encoding src) {
    tg_kernel k = {move_converting, dst, src, NULL, NULL, false};
    if (dst.kind == TG_KIND_NONE || src.kind == TG_KIND_NONE) return false;
    if (tg_encoding_same(dst, src)) return tg_kernel_copy(out, dst.bits);
    if (!whole_lane(dst.bits) || !whole_lane(src.bits)) return false;
    const bool chosen = tg_is_float(dst.kind) || tg_is_float(src.kind) ? choose_float(&k, dst.kind, src.kind)
                                                                       : choose_int(&k, dst, src);
    if (chosen) *out = k;
    return chosen;
}
