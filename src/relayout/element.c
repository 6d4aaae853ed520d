/* A number as one element of a layout.
 *
 * First the bits that the element type has for it, from one table of floating-point formats; then, where the layout
 * stores elements otherwise (packed, or in a device format), a plan moves that one element, so that padding and data
 * are converted by the same code.
 *
 * A floating-point format is sign, exponent e, fraction m of f bits: (2^f + m) * 2^(e - bias - f), and for e = 0
 * m * 2^(1 - bias - f). With q the number scaled to a whole significand, code = ((e - 1) << f) + q says both, and
 * a rounding that carries moves on to the next exponent by itself. */
#include "base/error.h"

#include <string.h>

enum { ELEMENT_BYTES = 16 }; /* the widest element, c128 */

/* What the largest codes mean. */
typedef enum specials {
    IEEE,   /* exponent of ones: infinity, and NaN */
    FN,     /* the last code is NaN, no infinity */
    FNUZ,   /* "minus zero" is NaN, no infinity */
    FINITE, /* neither */
    SCALE   /* powers of two alone: no sign, no zero; the last code is NaN */
} specials;

typedef struct float_form {
    tg_dtype dtype;
    int32_t  exponent_bits, fraction_bits, bias;
    specials special;
} float_form;

static const float_form forms[] = {
    {TG_F16, 5, 10, 15, IEEE},          {TG_BF16, 8, 7, 127, IEEE},       {TG_F32, 8, 23, 127, IEEE},
    {TG_F64, 11, 52, 1023, IEEE},       {TG_F8E5M2, 5, 2, 15, IEEE},      {TG_F8E4M3, 4, 3, 7, IEEE},
    {TG_F8E3M4, 3, 4, 3, IEEE},         {TG_F8E4M3FN, 4, 3, 7, FN},       {TG_F8E4M3B11FNUZ, 4, 3, 11, FNUZ},
    {TG_F8E4M3FNUZ, 4, 3, 8, FNUZ},     {TG_F8E5M2FNUZ, 5, 2, 16, FNUZ},  {TG_F8E8M0FNU, 8, 0, 127, SCALE},
    {TG_F4E2M1FN, 2, 1, 1, FINITE},     {TG_F6E2M3FN, 2, 3, 1, FINITE},   {TG_F6E3M2FN, 3, 2, 3, FINITE},
};

/* SEN169_FP16: its last code, NINF, is infinity and NaN at once (docs/sources.md). */
static const float_form dlfloat = {TG_INVALID, 6, 9, 31, FN};

static const float_form *find_form(tg_dtype dtype) {
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (forms[i].dtype == dtype) return &forms[i];
    return NULL;
}

/* The form of a device format; NULL if its elements are no such numbers. */
static const float_form *find_stored_form(tg_format format) {
    switch (format) {
    case TG_SEN169_FP16: return &dlfloat;
    case TG_IEEE_FP16: return find_form(TG_F16);
    case TG_BFLOAT16: return find_form(TG_BF16);
    case TG_IEEE_FP32: return find_form(TG_F32);
    case TG_SEN143_FP8: return find_form(TG_F8E4M3FN);
    case TG_SEN152_FP8: return find_form(TG_F8E5M2);
    default: return NULL;
    }
}

static tg_status fail_dtype_range(tg_dtype dtype, tg_error *err) {
    return tg_fail(err, TG_ERR_OVERFLOW, "the numbers of %s are %s", tg_dtype_name(dtype), tg_dtype_range(dtype));
}

static tg_status fail_stored_range(const tg_layout *layout, tg_error *err) {
    return tg_fail(err, TG_ERR_OVERFLOW, "%s is stored as %s here, whose numbers are %s", tg_dtype_name(layout->dtype),
                   tg_format_name(layout->format), tg_format_range(layout->format));
}

/* Element types are little-endian in memory. */
static void put_bits(unsigned char *out, uint64_t bits, int32_t nbytes) {
    for (int32_t i = 0; i < nbytes; i++) out[i] = (unsigned char)(bits >> (8 * i));
}

static uint64_t get_bits(const unsigned char *bytes, int32_t nbytes) {
    uint64_t bits = 0;
    for (int32_t i = 0; i < nbytes; i++) bits |= (uint64_t)bytes[i] << (8 * i);
    return bits;
}

/* ---- floating point ---------------------------------------------------------------------------- */

/* A double: its size is significand * 2^(exponent - 52), the significand below 2^53. */
typedef struct real {
    uint64_t significand;
    int32_t  exponent;
    bool     negative, infinite, nan;
} real;

static real split_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const int32_t  e = (int32_t)(bits >> 52 & 0x7ff);
    const real     r = {
        .significand = e == 0 ? fraction : fraction | (uint64_t)1 << 52,
        .exponent = e == 0 ? -1022 : e - 1023,
        .negative = bits >> 63 != 0,
        .infinite = e == 0x7ff && fraction == 0,
        .nan = e == 0x7ff && fraction != 0,
    };
    return r;
}

/* The whole number nearest to n / 2^shift; of two, the even one. n < 2^53. */
static uint64_t round_even(uint64_t n, int32_t shift) {
    if (shift == 0 || shift > 54) return shift == 0 ? n : 0;
    const uint64_t whole = n >> shift, rest = n & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
    return whole + (rest > half || (rest == half && whole % 2 == 1));
}

static uint64_t last_finite(const float_form *form) {
    const int32_t  bits = form->exponent_bits + form->fraction_bits;
    const uint64_t codes = (uint64_t)1 << bits;
    if (form->special == IEEE) return codes - ((uint64_t)1 << form->fraction_bits) - 1;
    return form->special == FN || form->special == SCALE ? codes - 2 : codes - 1;
}

static bool special_code(uint64_t *code, real value, const float_form *form) {
    const int32_t  bits = form->exponent_bits + form->fraction_bits;
    const uint64_t last = ((uint64_t)1 << bits) - 1, infinity = last_finite(form) + 1;
    if (form->special == FINITE || (value.infinite && form->special != IEEE)) return false;
    if (value.infinite) *code = infinity;
    else if (form->special == IEEE) *code = infinity | (uint64_t)1 << (form->fraction_bits - 1);
    else if (form->special == FNUZ) *code = last + 1;
    else *code = last;
    return true;
}

/* The code of the value without the sign; false if it is out of range. */
static bool finite_code(uint64_t *code, real value, const float_form *form) {
    const int32_t lowest = 1 - form->bias;
    if (form->special == SCALE) {
        *code = (uint64_t)(value.exponent + form->bias);
        return !value.negative && value.significand == (uint64_t)1 << 52 && value.exponent >= -form->bias &&
               *code <= last_finite(form);
    }
    const int32_t exponent = value.exponent > lowest ? value.exponent : lowest;
    if (exponent > form->bias + 1) return false;
    const uint64_t q = round_even(value.significand, 52 - form->fraction_bits + exponent - value.exponent);
    *code = ((uint64_t)(exponent - lowest) << form->fraction_bits) + q;
    return *code <= last_finite(form);
}

static bool float_code(uint64_t *out, double number, const float_form *form) {
    const int32_t sign_at = form->exponent_bits + form->fraction_bits;
    const real    value = split_double(number);
    const bool    is_special = value.nan || value.infinite;
    uint64_t      code = 0;
    if (!(is_special ? special_code(&code, value, form) : finite_code(&code, value, form))) return false;
    const bool has_sign = value.negative && !value.nan && !(form->special == FNUZ && code == 0);
    *out = code | (uint64_t)has_sign << sign_at;
    return true;
}

/* ---- the element type ----------------------------------------------------------------------------- */

/* Where the element type does not hold the number, the last one that it has stands in `out`: the answer is false. */
static bool encode_float(unsigned char *out, tg_dtype dtype, const double *parts) {
    const bool        is_complex = tg_dtype_get_class(dtype) == TG_CLASS_COMPLEX;
    const tg_dtype    part = dtype == TG_C64 ? TG_F32 : dtype == TG_C128 ? TG_F64 : dtype;
    const int32_t     nbytes = tg_dtype_storage_bits(part) / 8;
    const float_form *form = find_form(part);
    bool              is_held = true;
    for (int32_t i = 0; i <= is_complex; i++) {
        uint64_t code = 0;
        if (!float_code(&code, parts[i], form)) {
            code = last_finite(form);
            is_held = false;
        }
        put_bits(out + i * nbytes, code, nbytes);
    }
    return is_held;
}

/* Likewise; `bits` are the number's in two's complement. */
static bool encode_whole(unsigned char *out, tg_dtype dtype, bool negative, uint64_t bits) {
    const bool     is_signed = tg_dtype_get_class(dtype) == TG_CLASS_INT;
    const uint64_t top = UINT64_MAX >> (64 - tg_dtype_bits(dtype)) >> is_signed;
    const uint64_t lowest = is_signed ? ~top : 0;
    const bool     is_held = negative ? is_signed && bits >= lowest : bits <= top;
    put_bits(out, is_held ? bits : negative ? lowest : top, tg_dtype_storage_bits(dtype) / 8);
    return is_held;
}

static bool goes_into(tg_dtype_class wanted, tg_dtype type) {
    switch (wanted) {
    case TG_CLASS_PRED:
    case TG_CLASS_INT:
    case TG_CLASS_UINT: return type == TG_S64 || type == TG_U64;
    case TG_CLASS_FLOAT: return type == TG_F64;
    case TG_CLASS_COMPLEX: return type == TG_F64 || type == TG_C128;
    case TG_CLASS_NONE: break;
    }
    return false;
}

static bool encode_native(unsigned char *out, tg_dtype dtype, tg_dtype type, const void *number) {
    if (type == TG_S64 || type == TG_U64) {
        uint64_t bits;
        memcpy(&bits, number, sizeof bits);
        return encode_whole(out, dtype, type == TG_S64 && bits >> 63 != 0, bits);
    }
    double parts[2] = {0, 0};
    memcpy(parts, number, type == TG_C128 ? sizeof parts : sizeof parts[0]);
    return encode_float(out, dtype, parts);
}

/* ---- storage -------------------------------------------------------------------------------------- */

/* Move one element from how its type is stored by itself to how `layout` stores it. */
static tg_status store_as(unsigned char *out, const unsigned char *native, const tg_layout *layout, tg_error *err) {
    tg_layout one, stored;
    tg_plan   plan;
    tg_status status = tg_layout_strided(&one, layout->dtype, 0, NULL, NULL, 0, err);
    if (status != TG_OK) return status;
    stored = one;
    stored.format = layout->format;
    stored.elem_bits = layout->elem_bits;
    const tg_plan_params params = {.dst = &stored, .src = &one};
    status = tg_plan_init(&plan, &params, err);
    return status == TG_OK ? tg_plan_run(&plan, out, native, NULL, err) : status;
}

/* Whether a number of the element type is still one in the device format: conversion turns what is too large into
 * infinity or NaN without a word, as devices do. Some formats take the bits as they are. */
static bool still_holds(const unsigned char *stored, const unsigned char *native, const tg_layout *layout,
                        double number) {
    const float_form *form = find_stored_form(layout->format);
    const real        value = split_double(number);
    if (form == NULL || value.nan || memcmp(stored, native, ELEMENT_BYTES) == 0) return true;
    const uint64_t sign = (uint64_t)1 << (form->exponent_bits + form->fraction_bits);
    const uint64_t code = get_bits(stored, layout->elem_bits / 8) & (sign - 1);
    return value.infinite ? form->special == IEEE : code <= last_finite(form);
}

/* Of a number beyond the element type, the type's last one is stored: a format that does not hold it either is the
 * narrower of the two, and is the one that is named. */
tg_status tg_element_from_number(void *out, const tg_layout *layout, tg_dtype type, const void *number, tg_error *err) {
    const tg_dtype_class wanted = tg_dtype_get_class(layout->dtype);
    unsigned char        native[ELEMENT_BYTES] = {0}, stored[ELEMENT_BYTES] = {0};
    double               value = 0;
    if (!goes_into(wanted, type))
        return tg_fail(err, TG_ERR_ARGUMENT, "a number of type %s does not become an element of type %s",
                       tg_dtype_name(type), tg_dtype_name(layout->dtype));
    const bool is_held = encode_native(native, layout->dtype, type, number);
    if (is_held && wanted == TG_CLASS_FLOAT) memcpy(&value, number, sizeof value);
    const tg_status status = store_as(stored, native, layout, err);
    if (status == TG_ERR_OVERFLOW) return fail_stored_range(layout, err);
    if (status == TG_OK && wanted == TG_CLASS_FLOAT && !still_holds(stored, native, layout, value))
        return fail_stored_range(layout, err);
    if (!is_held) return fail_dtype_range(layout->dtype, err);
    if (status != TG_OK) return status;
    memcpy(out, stored, (size_t)(layout->elem_bits + 7) / 8);
    return TG_OK;
}
