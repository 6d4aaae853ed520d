/* The element types and device formats as tables: one row says all that the library knows of one. */
#include "base/text.h"

#include <tegula/tegula.h>

typedef struct dtype_row {
    tg_dtype       dtype;
    const char    *name; /* XLA's */
    int32_t        bits;
    tg_dtype_class class_;
    tg_format      format; /* on Spyre. Source: docs/sources.md, torch-spyre */
    const char    *range;  /* tg_dtype_range */
} dtype_row;

static const dtype_row dtypes[] = {
    [TG_PRED] = {TG_PRED, "pred", 1, TG_CLASS_PRED, TG_SEN169_FP16, "0 and 1"},
    [TG_S1] = {TG_S1, "s1", 1, TG_CLASS_INT, TG_FORMAT_INVALID, "-1 to 0"},
    [TG_S2] = {TG_S2, "s2", 2, TG_CLASS_INT, TG_FORMAT_INVALID, "-2 to 1"},
    [TG_S4] = {TG_S4, "s4", 4, TG_CLASS_INT, TG_FORMAT_INVALID, "-8 to 7"},
    [TG_S8] = {TG_S8, "s8", 8, TG_CLASS_INT, TG_SENINT8, "-128 to 127"},
    [TG_S16] = {TG_S16, "s16", 16, TG_CLASS_INT, TG_SENINT16, "-32768 to 32767"},
    [TG_S32] = {TG_S32, "s32", 32, TG_CLASS_INT, TG_IEEE_INT32, "-2147483648 to 2147483647"},
    [TG_S64] = {TG_S64, "s64", 64, TG_CLASS_INT, TG_IEEE_INT32, "-9223372036854775808 to 9223372036854775807"},
    [TG_U1] = {TG_U1, "u1", 1, TG_CLASS_UINT, TG_FORMAT_INVALID, "0 to 1"},
    [TG_U2] = {TG_U2, "u2", 2, TG_CLASS_UINT, TG_FORMAT_INVALID, "0 to 3"},
    [TG_U4] = {TG_U4, "u4", 4, TG_CLASS_UINT, TG_FORMAT_INVALID, "0 to 15"},
    [TG_U8] = {TG_U8, "u8", 8, TG_CLASS_UINT, TG_SENUINT32, "0 to 255"},
    [TG_U16] = {TG_U16, "u16", 16, TG_CLASS_UINT, TG_FORMAT_INVALID, "0 to 65535"},
    [TG_U32] = {TG_U32, "u32", 32, TG_CLASS_UINT, TG_FORMAT_INVALID, "0 to 4294967295"},
    [TG_U64] = {TG_U64, "u64", 64, TG_CLASS_UINT, TG_FORMAT_INVALID, "0 to 18446744073709551615"},
    [TG_F16] = {TG_F16, "f16", 16, TG_CLASS_FLOAT, TG_SEN169_FP16, "-65504 to 65504"},
    [TG_BF16] = {TG_BF16, "bf16", 16, TG_CLASS_FLOAT, TG_SEN169_FP16, "-3.3895314e+38 to 3.3895314e+38"},
    [TG_F32] = {TG_F32, "f32", 32, TG_CLASS_FLOAT, TG_IEEE_FP32, "-3.4028235e+38 to 3.4028235e+38"},
    [TG_F64] = {TG_F64, "f64", 64, TG_CLASS_FLOAT, TG_FORMAT_INVALID,
                "-1.7976931348623157e+308 to 1.7976931348623157e+308"},
    [TG_F4E2M1FN] = {TG_F4E2M1FN, "f4e2m1fn", 4, TG_CLASS_FLOAT, TG_FORMAT_INVALID, "-6 to 6"},
    [TG_F6E2M3FN] = {TG_F6E2M3FN, "f6e2m3fn", 6, TG_CLASS_FLOAT, TG_FORMAT_INVALID, "-7.5 to 7.5"},
    [TG_F6E3M2FN] = {TG_F6E3M2FN, "f6e3m2fn", 6, TG_CLASS_FLOAT, TG_FORMAT_INVALID, "-28 to 28"},
    [TG_F8E3M4] = {TG_F8E3M4, "f8e3m4", 8, TG_CLASS_FLOAT, TG_FORMAT_INVALID, "-15.5 to 15.5"},
    [TG_F8E4M3] = {TG_F8E4M3, "f8e4m3", 8, TG_CLASS_FLOAT, TG_FORMAT_INVALID, "-240 to 240"},
    [TG_F8E4M3B11FNUZ] = {TG_F8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, TG_CLASS_FLOAT, TG_FORMAT_INVALID, "-30 to 30"},
    [TG_F8E4M3FN] = {TG_F8E4M3FN, "f8e4m3fn", 8, TG_CLASS_FLOAT, TG_SEN143_FP8, "-448 to 448"},
    [TG_F8E4M3FNUZ] = {TG_F8E4M3FNUZ, "f8e4m3fnuz", 8, TG_CLASS_FLOAT, TG_FORMAT_INVALID, "-240 to 240"},
    [TG_F8E5M2] = {TG_F8E5M2, "f8e5m2", 8, TG_CLASS_FLOAT, TG_FORMAT_INVALID, "-57344 to 57344"},
    [TG_F8E5M2FNUZ] = {TG_F8E5M2FNUZ, "f8e5m2fnuz", 8, TG_CLASS_FLOAT, TG_SEN152_FP8, "-57344 to 57344"},
    [TG_F8E8M0FNU] = {TG_F8E8M0FNU, "f8e8m0fnu", 8, TG_CLASS_FLOAT, TG_FORMAT_INVALID,
                      "powers of two from 2^-127 to 2^127"},
    [TG_C64] = {TG_C64, "c64", 64, TG_CLASS_COMPLEX, TG_FORMAT_INVALID, "-3.4028235e+38 to 3.4028235e+38"},
    [TG_C128] = {TG_C128, "c128", 128, TG_CLASS_COMPLEX, TG_FORMAT_INVALID,
                 "-1.7976931348623157e+308 to 1.7976931348623157e+308"},
};

/* PyTorch's, NumPy's and ml_dtypes' names where they differ from XLA's. */
static const struct { const char *name; tg_dtype dtype; } synonyms[] = {
    {"bool", TG_PRED}, {"bool_", TG_PRED},
    {"int1", TG_S1}, {"int2", TG_S2}, {"int4", TG_S4}, {"int8", TG_S8}, {"int16", TG_S16},
    {"int32", TG_S32}, {"int64", TG_S64}, {"short", TG_S16}, {"int", TG_S32}, {"long", TG_S64},
    {"uint1", TG_U1}, {"uint2", TG_U2}, {"uint4", TG_U4}, {"uint8", TG_U8}, {"uint16", TG_U16},
    {"uint32", TG_U32}, {"uint64", TG_U64},
    {"float16", TG_F16}, {"half", TG_F16}, {"bfloat16", TG_BF16}, {"float32", TG_F32},
    {"float", TG_F32}, {"float64", TG_F64}, {"double", TG_F64},
    {"float4_e2m1fn", TG_F4E2M1FN}, {"float6_e2m3fn", TG_F6E2M3FN}, {"float6_e3m2fn", TG_F6E3M2FN},
    {"float8_e3m4", TG_F8E3M4}, {"float8_e4m3", TG_F8E4M3}, {"float8_e4m3b11fnuz", TG_F8E4M3B11FNUZ},
    {"float8_e4m3fn", TG_F8E4M3FN}, {"float8_e4m3fnuz", TG_F8E4M3FNUZ}, {"float8_e5m2", TG_F8E5M2},
    {"float8_e5m2fnuz", TG_F8E5M2FNUZ}, {"float8_e8m0fnu", TG_F8E8M0FNU},
    {"complex64", TG_C64}, {"cfloat", TG_C64}, {"complex128", TG_C128}, {"cdouble", TG_C128},
};

typedef struct format_row {
    tg_format   format;
    const char *name;
    int32_t     bits;  /* 1024 / elements per stick; 0: no stick geometry */
    const char *range; /* tg_format_range; NULL: not known */
} format_row;

/* Source: docs/sources.md, torch-spyre. */
static const format_row formats[] = {
    {TG_SEN169_FP16, "SEN169_FP16", 16, "-8573157376 to 8573157376"},
    {TG_IEEE_FP32, "IEEE_FP32", 32, "-3.4028235e+38 to 3.4028235e+38"},
    {TG_FORMAT_INVALID, "INVALID", 0, NULL},
    {TG_SEN143_FP8, "SEN143_FP8", 8, "-448 to 448"},
    {TG_SEN152_FP8, "SEN152_FP8", 8, "-57344 to 57344"},
    {TG_SEN153_FP9, "SEN153_FP9", 0, NULL},
    {TG_SENINT2, "SENINT2", 2, "-2 to 1"},
    {TG_SENINT4, "SENINT4", 4, "-8 to 7"},
    {TG_SENINT8, "SENINT8", 8, "-128 to 127"},
    {TG_SENINT16, "SENINT16", 16, "-32768 to 32767"},
    {TG_SENINT24, "SENINT24", 0, "-8388608 to 8388607"},
    {TG_IEEE_INT64, "IEEE_INT64", 64, "-9223372036854775808 to 9223372036854775807"},
    {TG_IEEE_INT32, "IEEE_INT32", 32, "-2147483648 to 2147483647"},
    {TG_SENUINT32, "SENUINT32", 32, "0 to 4294967295"},
    {TG_SENUINT2, "SENUINT2", 2, "0 to 3"},
    {TG_IEEE_FP16, "IEEE_FP16", 16, "-65504 to 65504"},
    {TG_BOOL, "BOOL", 8, "0 and 1"},
    {TG_BFLOAT16, "BFLOAT16", 16, "-3.3895314e+38 to 3.3895314e+38"},
    {TG_SEN18F_FP24, "SEN18F_FP24", 0, NULL},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const dtype_row *dtype_find(tg_dtype dtype) {
    const size_t i = (size_t)dtype;
    return i < COUNT(dtypes) && dtypes[i].name != NULL ? &dtypes[i] : NULL;
}

const char *tg_dtype_name(tg_dtype dtype) {
    const dtype_row *row = dtype_find(dtype);
    return row != NULL ? row->name : NULL;
}

int32_t tg_dtype_bits(tg_dtype dtype) {
    const size_t i = (size_t)dtype;
    return i < COUNT(dtypes) ? dtypes[i].bits : 0; /* rows of no type have 0 */
}

int32_t tg_dtype_storage_bits(tg_dtype dtype) { return (tg_dtype_bits(dtype) + 7) / 8 * 8; }

tg_dtype_class tg_dtype_get_class(tg_dtype dtype) {
    const dtype_row *row = dtype_find(dtype);
    return row != NULL ? row->class_ : TG_CLASS_NONE;
}

const char *tg_dtype_range(tg_dtype dtype) {
    const dtype_row *row = dtype_find(dtype);
    return row != NULL ? row->range : NULL;
}

tg_dtype tg_dtype_from_name(const char *text, size_t len) {
    for (size_t i = 0; i < COUNT(dtypes); i++)
        if (dtypes[i].name != NULL && tg_text_equal(text, len, dtypes[i].name)) return dtypes[i].dtype;
    for (size_t i = 0; i < COUNT(synonyms); i++)
        if (tg_text_equal(text, len, synonyms[i].name)) return synonyms[i].dtype;
    return TG_INVALID;
}

static const format_row *format_find(tg_format format) {
    for (size_t i = 0; i < COUNT(formats); i++)
        if (formats[i].format == format) return &formats[i];
    return NULL;
}

const char *tg_format_name(tg_format format) {
    const format_row *row = format_find(format);
    return row != NULL ? row->name : NULL;
}

int32_t tg_format_bits(tg_format format) {
    const format_row *row = format_find(format);
    return row != NULL ? row->bits : 0;
}

const char *tg_format_range(tg_format format) {
    const format_row *row = format_find(format);
    return row != NULL ? row->range : NULL;
}

tg_format tg_format_from_name(const char *text, size_t len) {
    for (size_t i = 0; i < COUNT(formats); i++)
        if (tg_text_equal(text, len, formats[i].name)) return formats[i].format;
    return TG_FORMAT_INVALID;
}

tg_format tg_format_for_dtype(tg_dtype dtype) {
    const dtype_row *row = dtype_find(dtype);
    return row != NULL ? row->format : TG_FORMAT_INVALID;
}

tg_format tg_format_of_native(tg_dtype dtype) {
    static const struct { tg_dtype dtype; tg_format format; } same[] = {
        {TG_PRED, TG_BOOL}, {TG_S4, TG_SENINT4}, {TG_S2, TG_SENINT2}, {TG_U2, TG_SENUINT2}, {TG_S8, TG_SENINT8},
        {TG_S16, TG_SENINT16}, {TG_S32, TG_IEEE_INT32}, {TG_S64, TG_IEEE_INT64}, {TG_U32, TG_SENUINT32},
        {TG_F16, TG_IEEE_FP16}, {TG_BF16, TG_BFLOAT16}, {TG_F32, TG_IEEE_FP32}, {TG_F8E4M3FN, TG_SEN143_FP8},
        {TG_F8E5M2, TG_SEN152_FP8},
    };
    for (size_t i = 0; i < COUNT(same); i++)
        if (same[i].dtype == dtype) return same[i].format;
    return TG_FORMAT_INVALID;
}
