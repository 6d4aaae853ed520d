/* What a stored element means: element type and device format together.
 *
 * Formats that a type is not stored in have no row, which is how a conversion that makes no sense
 * (float32 as SENINT8) is refused. Source of the pairs: docs/sources.md, torch-spyre.
 *
 * SEN143_FP8 is f8e4m3fn, so it is float32 converted or the same bits. SEN152_FP8 stays bits only: no
 * source says whether it has the bias and the single NaN of f8e5m2fnuz, the type that it stores. */
#include "base/compiler.h"
#include "kernels/kernels.h"

#include <stddef.h>

/* How elements are stored in a device format, and of which types. */
typedef struct format_row {
    tg_kind  kind;
    int32_t  bits;
    uint64_t dtypes; /* bit t: type t */
} format_row;

#define BIT(dtype) ((uint64_t)1 << (dtype))

static const format_row formats[] = {
    [TG_SEN169_FP16] = {TG_KIND_DLF16, 16, BIT(TG_F16) | BIT(TG_BF16) | BIT(TG_F32) | BIT(TG_PRED)},
    [TG_IEEE_FP16] = {TG_KIND_F16, 16, BIT(TG_F16) | BIT(TG_BF16) | BIT(TG_F32)},
    [TG_BFLOAT16] = {TG_KIND_BF16, 16, BIT(TG_F16) | BIT(TG_BF16) | BIT(TG_F32)},
    [TG_IEEE_FP32] = {TG_KIND_F32, 32, BIT(TG_F16) | BIT(TG_BF16) | BIT(TG_F32) | BIT(TG_PRED)},
    [TG_SEN143_FP8] = {TG_KIND_F8E4M3FN, 8, BIT(TG_F32) | BIT(TG_F8E4M3FN)},
    [TG_SEN152_FP8] = {TG_KIND_BITS, 8, BIT(TG_F8E5M2FNUZ)},
    [TG_BOOL] = {TG_KIND_BOOL, 8, BIT(TG_PRED)},
    [TG_IEEE_INT64] = {TG_KIND_SINT, 64, BIT(TG_S64) | BIT(TG_S32)},
    [TG_IEEE_INT32] = {TG_KIND_SINT, 32, BIT(TG_S64) | BIT(TG_S32)},
    [TG_SENUINT32] = {TG_KIND_UINT, 32, BIT(TG_S64) | BIT(TG_U32) | BIT(TG_U8)},
    [TG_SENINT16] = {TG_KIND_SINT, 16, BIT(TG_S16)},
    [TG_SENINT8] = {TG_KIND_SINT, 8, BIT(TG_S8)},
    [TG_SENINT4] = {TG_KIND_SINT, 4, BIT(TG_S4)},
    [TG_SENINT2] = {TG_KIND_SINT, 2, BIT(TG_S2)},
    [TG_SENUINT2] = {TG_KIND_UINT, 2, BIT(TG_U2)},
};

static tg_kind native_kind(tg_dtype dtype) {
    switch (dtype) {
    case TG_F16: return TG_KIND_F16;
    case TG_BF16: return TG_KIND_BF16;
    case TG_F32: return TG_KIND_F32;
    case TG_F8E4M3FN: return TG_KIND_F8E4M3FN;
    case TG_F8E5M2: return TG_KIND_F8E5M2;
    default: break;
    }
    switch (tg_dtype_get_class(dtype)) {
    case TG_CLASS_INT: return TG_KIND_SINT;
    case TG_CLASS_UINT: return TG_KIND_UINT;
    case TG_CLASS_PRED: return TG_KIND_BOOL;
    case TG_CLASS_FLOAT:
    case TG_CLASS_COMPLEX: return TG_KIND_BITS;
    default: return TG_KIND_NONE;
    }
}

/* Elements as wide as their type or packed; bool also in lanes of 16 and 32 bits. */
static tg_kind kind_in_bits(tg_dtype dtype, int32_t bits, int32_t elem_bits) {
    if (TG_MOSTLY(elem_bits == bits) || elem_bits == (bits + 7) / 8 * 8) return native_kind(dtype);
    const bool lane = dtype == TG_PRED && (elem_bits == 16 || elem_bits == 32);
    return lane ? TG_KIND_BOOL : TG_KIND_NONE;
}

static bool is_stored(const format_row *row, tg_dtype dtype, int32_t elem_bits) {
    return TG_MOSTLY(row->bits == elem_bits) && TG_MOSTLY((uint32_t)dtype < 64) && (row->dtypes >> dtype & 1) != 0;
}

void tg_encoding_find(tg_encoding *out, tg_dtype dtype, tg_format format, int32_t elem_bits) {
    out->bits = elem_bits;
    if (format == TG_FORMAT_NATIVE) {
        out->value_bits = tg_dtype_bits(dtype);
        out->kind = kind_in_bits(dtype, out->value_bits, elem_bits);
    } else if ((size_t)format < sizeof formats / sizeof formats[0] && is_stored(&formats[format], dtype, elem_bits)) {
        out->kind = formats[format].kind;
        out->value_bits = out->kind == TG_KIND_BOOL ? 1 : elem_bits;
    } else {
        out->kind = TG_KIND_NONE;
        out->value_bits = 0;
    }
}
