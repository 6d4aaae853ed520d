/* A number as an element.
 *
 * First the bits that the element type has for it, from one table of floating-point formats; then, where the layout
 * stores elements otherwise (packed, or in a device format), the library itself moves that one element, so that
 * padding and data are converted by the same code.
 *
 * A floating-point format is sign, exponent e, fraction m of f bits: (2^f + m) * 2^(e - bias - f), and for e = 0
 * m * 2^(1 - bias - f). With q the number scaled to a whole significand, code = ((e - 1) << f) + q says both, and
 * a rounding that carries moves on to the next exponent by itself. */
#include "pad.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    int      exponent_bits, fraction_bits, bias;
    specials special;
} float_form;

static const float_form forms[] = {
    {TG_F16, 5, 10, 15, IEEE},          {TG_BF16, 8, 7, 127, IEEE},       {TG_F32, 8, 23, 127, IEEE},
    {TG_F64, 11, 52, 1023, IEEE},       {TG_F8E5M2, 5, 2, 15, IEEE},      {TG_F8E4M3, 4, 3, 7, IEEE},
    {TG_F8E3M4, 3, 4, 3, IEEE},         {TG_F8E4M3FN, 4, 3, 7, FN},       {TG_F8E4M3B11FNUZ, 4, 3, 11, FNUZ},
    {TG_F8E4M3FNUZ, 4, 3, 8, FNUZ},     {TG_F8E5M2FNUZ, 5, 2, 16, FNUZ},  {TG_F8E8M0FNU, 8, 0, 127, SCALE},
    {TG_F4E2M1FN, 2, 1, 1, FINITE},     {TG_F6E2M3FN, 2, 3, 1, FINITE},   {TG_F6E3M2FN, 3, 2, 3, FINITE},
};

/* SEN169_FP16: its last code, NINF, is infinity and NaN at once. Source: spec/spyre.md 2.5. */
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
    default: return NULL;
    }
}

static int fail_range(const char *type, const char *range, const char *value) {
    return cli_fail(CLI_USAGE, "--pad", "%s has no %s; its numbers are %s", type, value, range);
}

static int fail_dtype_range(tg_dtype dtype, const char *value) {
    return fail_range(tg_dtype_name(dtype), tg_dtype_range(dtype), value);
}

static int fail_word(tg_dtype dtype, const char *wanted, const char *value) {
    return cli_fail(CLI_USAGE, "--pad", "'%s' is no %s; those of %s are %s", value, wanted, tg_dtype_name(dtype),
                    tg_dtype_range(dtype));
}

static int fail_format_range(tg_format format, const char *value) {
    return fail_range(tg_format_name(format), tg_format_range(format), value);
}

/* Element types are little-endian in files and in memory. */
static void put_bits(unsigned char *out, uint64_t bits, int32_t nbytes) {
    for (int32_t i = 0; i < nbytes; i++) out[i] = (unsigned char)(bits >> (8 * i));
}

/* ---- floating point ---------------------------------------------------------------------------- */

/* q, a whole number, is the nearest to value >= 0; of two, the even one. value < 2^53. */
static uint64_t round_even(double value) {
    const uint64_t whole = (uint64_t)value;
    const double   rest = value - (double)whole;
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 == 1));
}

static uint64_t last_finite(const float_form *form) {
    const int      bits = form->exponent_bits + form->fraction_bits;
    const uint64_t codes = (uint64_t)1 << bits;
    if (form->special == IEEE) return codes - ((uint64_t)1 << form->fraction_bits) - 1;
    return form->special == FN || form->special == SCALE ? codes - 2 : codes - 1;
}

static bool special_code(uint64_t *code, double value, const float_form *form) {
    const int      bits = form->exponent_bits + form->fraction_bits;
    const uint64_t last = ((uint64_t)1 << bits) - 1, infinity = last_finite(form) + 1;
    if (form->special == FINITE || (isinf(value) && form->special != IEEE)) return false;
    if (isinf(value)) *code = infinity;
    else if (form->special == IEEE) *code = infinity | (uint64_t)1 << (form->fraction_bits - 1);
    else if (form->special == FNUZ) *code = last + 1;
    else *code = last;
    return true;
}

/* The code of |value| without the sign; false if it is out of range. */
static bool finite_code(uint64_t *code, double value, const float_form *form) {
    const int lowest = 1 - form->bias;
    int       exponent = 0;
    const double half = frexp(fabs(value), &exponent); /* in [0.5, 1) */
    exponent--;
    if (form->special == SCALE) {
        *code = (uint64_t)(exponent + form->bias);
        return value > 0 && half == 0.5 && exponent >= -form->bias && *code <= last_finite(form);
    }
    if (value == 0 || exponent < lowest) exponent = lowest;
    const uint64_t q = round_even(ldexp(fabs(value), form->fraction_bits - exponent));
    if (exponent > form->bias + 1) return false;
    *code = ((uint64_t)(exponent - lowest) << form->fraction_bits) + q;
    return *code <= last_finite(form);
}

static bool float_code(uint64_t *out, double value, const float_form *form) {
    const int  sign_at = form->exponent_bits + form->fraction_bits;
    const bool is_special = isnan(value) || isinf(value);
    uint64_t   code = 0;
    if (!(is_special ? special_code(&code, value, form) : finite_code(&code, value, form))) return false;
    const bool has_sign = signbit(value) && !isnan(value) && !(form->special == FNUZ && code == 0);
    *out = code | (uint64_t)has_sign << sign_at;
    return true;
}

static int encode_float(unsigned char *out, tg_dtype dtype, const char *text) {
    const bool  is_complex = tg_dtype_get_class(dtype) == TG_CLASS_COMPLEX;
    const tg_dtype part = dtype == TG_C64 ? TG_F32 : dtype == TG_C128 ? TG_F64 : dtype;
    char       *end = NULL;
    uint64_t    code = 0;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0') return fail_word(dtype, "number", text);
    const bool overflowed = isinf(value) && strpbrk(text, "iI") == NULL;
    if (overflowed || !float_code(&code, value, find_form(part)))
        return fail_dtype_range(dtype, text);
    put_bits(out, code, tg_dtype_storage_bits(dtype) / (is_complex ? 16 : 8));
    return CLI_OK;
}

/* ---- whole numbers ------------------------------------------------------------------------------ */

static int encode_signed(unsigned char *out, tg_dtype dtype, const char *text) {
    const int32_t bits = tg_dtype_bits(dtype);
    const int64_t top = INT64_MAX >> (64 - bits);
    char         *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0') return fail_word(dtype, "whole number", text);
    if (errno == ERANGE || value > top || value < -top - 1) return fail_dtype_range(dtype, text);
    put_bits(out, (uint64_t)value, tg_dtype_storage_bits(dtype) / 8);
    return CLI_OK;
}

static int encode_unsigned(unsigned char *out, tg_dtype dtype, const char *text) {
    const int32_t  bits = tg_dtype_bits(dtype);
    const uint64_t top = UINT64_MAX >> (64 - bits);
    char          *end = NULL;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (end == text || *end != '\0') return fail_word(dtype, "whole number", text);
    if (errno == ERANGE || value > top || strchr(text, '-') != NULL) return fail_dtype_range(dtype, text);
    put_bits(out, value, tg_dtype_storage_bits(dtype) / 8);
    return CLI_OK;
}

static int encode_bool(unsigned char *out, const char *text) {
    const bool yes = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
    if (!yes && strcmp(text, "0") != 0 && strcmp(text, "false") != 0)
        return cli_fail(CLI_USAGE, "--pad", "pred has 0 and 1 only, not '%s'", text);
    out[0] = yes;
    return CLI_OK;
}

/* ---- storage -------------------------------------------------------------------------------------- */

static int encode_native(unsigned char *out, tg_dtype dtype, const char *text) {
    switch (tg_dtype_get_class(dtype)) {
    case TG_CLASS_PRED: return encode_bool(out, text);
    case TG_CLASS_INT: return encode_signed(out, dtype, text);
    case TG_CLASS_UINT: return encode_unsigned(out, dtype, text);
    case TG_CLASS_FLOAT:
    case TG_CLASS_COMPLEX: return encode_float(out, dtype, text);
    case TG_CLASS_NONE: break;
    }
    return cli_fail(CLI_USAGE, "--pad", "the layout has no element type");
}

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
    if (status == TG_OK) status = tg_plan_run(&plan, out, native, NULL, err);
    return status;
}

static uint64_t get_bits(const unsigned char *bytes, int32_t nbits) {
    uint64_t bits = 0;
    for (int32_t i = 0; i < nbits / 8; i++) bits |= (uint64_t)bytes[i] << (8 * i);
    return bits;
}

/* Whether a number of the element type is still one in the device format: conversion turns what is too large into
 * infinity or NaN without a word, as devices do. */
static bool still_holds(const unsigned char *stored, const tg_layout *layout, const char *text) {
    const float_form *form = find_stored_form(layout->format);
    const double      value = strtod(text, NULL);
    if (form == NULL || tg_dtype_get_class(layout->dtype) != TG_CLASS_FLOAT || isnan(value)) return true;
    const uint64_t sign = (uint64_t)1 << (form->exponent_bits + form->fraction_bits);
    const uint64_t code = get_bits(stored, layout->elem_bits) & (sign - 1);
    return isinf(value) ? form->special == IEEE : code <= last_finite(form);
}

int pad_encode(unsigned char out[PAD_BYTES], const tg_layout *layout, const char *value) {
    unsigned char native[PAD_BYTES] = {0}, stored[PAD_BYTES] = {0};
    tg_error      err;
    const int     status = encode_native(native, layout->dtype, value);
    if (status != CLI_OK) return status;
    const tg_status moved = store_as(stored, native, layout, &err);
    if (moved == TG_ERR_OVERFLOW || (moved == TG_OK && !still_holds(stored, layout, value)))
        return layout->format == TG_FORMAT_NATIVE ? fail_dtype_range(layout->dtype, value)
                                                  : fail_format_range(layout->format, value);
    if (moved != TG_OK) return cli_fail_library("--pad", &err, "the number");
    memcpy(out, stored, PAD_BYTES);
    return CLI_OK;
}
