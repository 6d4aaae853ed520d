/* The definition of loading, storing and converting one element: slow, general, and written from the
 * formats' parameters instead of from bit tricks, so that it can judge the loops of convert.c.
 *
 * A float is taken apart into sign, class and significand * 2^exponent, an exact value, and put
 * together again by rounding that value once. One table row says all about a format:
 *
 *             fraction bits   bias   subnormals and infinity   halves
 *   f16            10          15    yes                       to even
 *   bf16            7         127    yes                       to even
 *   f32            23         127    yes                       to even
 *   dlf16           9          31    no: code 0 is zero, the   away from zero
 *                                    last code is NINF
 *
 * Example: 1/3 as float32 is 11184811 * 2^-25. DLFloat16 keeps ten bits, 683 * 2^-11 =
 * 0.33349609375, which is exponent 29 (biased) and fraction 171: 0x3aab. */
#include "kernels/kernels.h"

/* ---- bits in memory ---- */

tg_word tg_ref_load(const void *base, int64_t index, int32_t bits) {
    const uint8_t *p = base;
    tg_word        w = {0, 0};
    if (bits < 8) {
        const int64_t bit = index * bits;
        for (int32_t i = 0; i < bits; i++) w.lo |= (uint64_t)(p[(bit + i) / 8] >> ((bit + i) % 8) & 1) << i;
        return w;
    }
    p += index * (bits / 8);
    for (int32_t i = 0; i < bits / 8; i++) {
        if (i < 8) w.lo |= (uint64_t)p[i] << (8 * i);
        else w.hi |= (uint64_t)p[i] << (8 * (i - 8));
    }
    return w;
}

void tg_ref_store(void *base, int64_t index, int32_t bits, tg_word word) {
    uint8_t *p = base;
    if (bits < 8) {
        for (int32_t i = 0; i < bits; i++) {
            const int64_t bit = index * bits + i;
            const int     set = (int)(word.lo >> i & 1);
            p[bit / 8] = (uint8_t)((p[bit / 8] & ~(1 << (bit % 8))) | set << (bit % 8));
        }
        return;
    }
    p += index * (bits / 8);
    for (int32_t i = 0; i < bits / 8; i++) p[i] = (uint8_t)(i < 8 ? word.lo >> (8 * i) : word.hi >> (8 * (i - 8)));
}

/* ---- floats ---- */

typedef enum float_family {
    FAMILY_IEEE,   /* subnormals; the last exponent is infinity and NaN */
    FAMILY_FN,     /* subnormals; the last code is NaN */
    FAMILY_DLFLOAT /* only zero and normal numbers; the last code is NINF */
} float_family;

typedef struct float_format {
    int32_t      exponent_bits, fraction_bits, bias;
    float_family family;
} float_format;

static float_format format_of(tg_kind kind) {
    const float_format f16 = {5, 10, 15, FAMILY_IEEE}, bf16 = {8, 7, 127, FAMILY_IEEE}, f32 = {8, 23, 127, FAMILY_IEEE};
    const float_format f8e5m2 = {5, 2, 15, FAMILY_IEEE}, f8e4m3fn = {4, 3, 7, FAMILY_FN};
    const float_format dlf16 = {6, 9, 31, FAMILY_DLFLOAT};
    switch (kind) {
    case TG_KIND_F16: return f16;
    case TG_KIND_BF16: return bf16;
    case TG_KIND_F32: return f32;
    case TG_KIND_F8E5M2: return f8e5m2;
    case TG_KIND_F8E4M3FN: return f8e4m3fn;
    default: return dlf16;
    }
}

typedef enum real_class { REAL_FINITE, REAL_INFINITE, REAL_NAN } real_class;

typedef struct real {
    bool       negative;
    real_class class_;
    uint64_t   significand; /* REAL_FINITE: value = significand * 2^exponent; REAL_NAN: payload, 23 bits */
    int32_t    exponent;
} real;

static real decode_float(float_format f, uint64_t bits) {
    const uint64_t last = ((uint64_t)1 << f.exponent_bits) - 1, one = (uint64_t)1 << f.fraction_bits;
    const uint64_t exponent = bits >> f.fraction_bits & last, fraction = bits & (one - 1);
    real           r = {(bits >> (f.exponent_bits + f.fraction_bits) & 1) != 0, REAL_FINITE, 0, 0};
    r.exponent = (int32_t)exponent - f.bias - f.fraction_bits;
    if (f.family != FAMILY_IEEE && exponent == last && fraction == one - 1) {
        r.class_ = REAL_NAN;
    } else if (f.family == FAMILY_DLFLOAT) {
        r.significand = exponent != 0 || fraction != 0 ? one + fraction : 0;
    } else if (f.family == FAMILY_IEEE && exponent == last) {
        r.class_ = fraction == 0 ? REAL_INFINITE : REAL_NAN;
        r.significand = fraction << (23 - f.fraction_bits);
    } else if (exponent == 0) {
        r.significand = fraction;
        r.exponent++;
    } else {
        r.significand = one + fraction;
    }
    return r;
}

/* significand * 2^-shift to a whole number, shift > 0. */
static uint64_t round_off(uint64_t significand, int32_t shift, bool halves_to_even) {
    if (shift > 62) return 0;
    const uint64_t whole = significand >> shift, rest = significand - (whole << shift);
    const uint64_t half = (uint64_t)1 << (shift - 1);
    if (rest != half) return whole + (rest > half);
    return whole + (halves_to_even ? whole & 1 : 1);
}

static uint64_t encode_finite(float_format f, real r) {
    const uint64_t one = (uint64_t)1 << f.fraction_bits, last = ((uint64_t)1 << f.exponent_bits) - 1;
    const uint64_t limit = f.family == FAMILY_IEEE ? last << f.fraction_bits : (last << f.fraction_bits) + one - 1;
    const bool     as_ieee = f.family != FAMILY_DLFLOAT; /* subnormals, halves to even */
    if (r.significand == 0) return 0;
    const int32_t  up = __builtin_clzll(r.significand) - 23; /* the leading bit goes to place 40, above all formats */
    const uint64_t significand = r.significand << up;
    const int32_t  exponent = r.exponent - up;
    int32_t        biased = exponent + 40 + f.bias, shift = 40 - f.fraction_bits;
    if (as_ieee && biased < 1) {
        shift += 1 - biased;
        biased = 1;
    }
    /* a carry out of the fraction moves into the exponent by itself; a subnormal has no leading bit */
    const int64_t code = (int64_t)(biased - 1) * (int64_t)one + (int64_t)round_off(significand, shift, as_ieee);
    if (code <= 0) return 0;
    return (uint64_t)code < limit ? (uint64_t)code : limit;
}

static uint64_t encode_float(float_format f, real r) {
    const uint64_t one = (uint64_t)1 << f.fraction_bits, last = ((uint64_t)1 << f.exponent_bits) - 1;
    const uint64_t sign = (uint64_t)r.negative << (f.exponent_bits + f.fraction_bits);
    if (r.class_ == REAL_FINITE) return sign | encode_finite(f, r);
    if (f.family != FAMILY_IEEE) return sign | (last << f.fraction_bits) | (one - 1);
    if (r.class_ == REAL_INFINITE) return sign | last << f.fraction_bits;
    return sign | last << f.fraction_bits | one / 2 | r.significand >> (23 - f.fraction_bits);
}

static uint64_t convert_float(tg_kind to, tg_kind from, uint64_t bits) {
    if (to == TG_KIND_F32 && from == TG_KIND_BF16) return bits << 16;
    return encode_float(format_of(to), decode_float(format_of(from), bits));
}

/* ---- integers ---- */

int64_t tg_ref_int(tg_encoding e, tg_word in) {
    const uint64_t value = e.value_bits < 64 ? in.lo & (((uint64_t)1 << e.value_bits) - 1) : in.lo;
    if (e.kind == TG_KIND_BOOL) return in.lo != 0;
    if (e.kind != TG_KIND_SINT || (value >> (e.value_bits - 1) & 1) == 0) return (int64_t)value;
    return e.value_bits < 64 ? (int64_t)value - ((int64_t)1 << e.value_bits) : (int64_t)value;
}

static bool int_fits(tg_encoding e, int64_t value) {
    if (e.kind == TG_KIND_SINT)
        return e.value_bits >= 64 || (value >> (e.value_bits - 1) == 0 || value >> (e.value_bits - 1) == -1);
    return value >= 0 && (e.value_bits >= 63 || value >> e.value_bits == 0);
}

bool tg_ref_convert(tg_word *out, tg_encoding to, tg_encoding from, tg_word in) {
    tg_word w = {in.lo, in.hi};
    if (tg_encoding_same(to, from)) {
        *out = w;
        return true;
    }
    w.hi = 0;
    if (from.kind == TG_KIND_BOOL && tg_is_float(to.kind)) {
        const real one = {false, REAL_FINITE, in.lo != 0, 0};
        w.lo = encode_float(format_of(to.kind), one);
    } else if (to.kind == TG_KIND_BOOL && tg_is_float(from.kind)) {
        const real r = decode_float(format_of(from.kind), in.lo);
        w.lo = r.class_ != REAL_FINITE || r.significand != 0;
    } else if (tg_is_float(from.kind)) {
        w.lo = convert_float(to.kind, from.kind, in.lo);
    } else {
        const int64_t value = tg_ref_int(from, in);
        const bool    huge = from.kind == TG_KIND_UINT && value < 0; /* 2^63 and up: only uint64 holds it */
        if (huge || !int_fits(to, value)) return false;
        w.lo = (uint64_t)value & (to.bits < 64 ? ((uint64_t)1 << to.bits) - 1 : UINT64_MAX);
    }
    *out = w;
    return true;
}
