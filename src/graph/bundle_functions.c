/* What the device calls the operations of HLO. Source: torch-spyre, operations that its back end has, and those that it
 * has for FP32; everything else is for the host. */
#include "graph/bundle.h"

#include "base/error.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* clang-format off */
static const struct function {
    const char *opcode, *variant; /* variant "": any */
    const char *op;
    bool        single;           /* also for FP32; all are for 16 bits */
    bool        truth;            /* of truth values only */
} functions[] = {
    {"abs",         "",   "abs",          true,  false},
    {"add",         "",   "add",          true,  false},
    {"and",         "",   "mul",          true,  true},
    {"compare",     "EQ", "equal",        true,  false},
    {"compare",     "GE", "greaterequal", true,  false},
    {"compare",     "GT", "greaterthan",  true,  false},
    {"compare",     "LE", "lesserequal",  true,  false},
    {"compare",     "LT", "lesserthan",   true,  false},
    {"compare",     "NE", "notequal",     true,  false},
    {"divide",      "",   "realdiv",      true,  false},
    {"exponential", "",   "exp",          true,  false},
    {"floor",       "",   "floor",        true,  false},
    {"log",         "",   "log",          false, false},
    {"logistic",    "",   "sigmoid",      true,  false},
    {"maximum",     "",   "maximum",      true,  false},
    {"minimum",     "",   "minimum",      true,  false},
    {"multiply",    "",   "mul",          true,  false},
    {"negate",      "",   "neg",          true,  false},
    {"or",          "",   "maximum",      true,  true},
    {"rsqrt",       "",   "rsqrt",        true,  false},
    {"select",      "",   "where3",       true,  false},
    {"sqrt",        "",   "sqrt",         true,  false},
    {"subtract",    "",   "sub",          true,  false},
    {"tanh",        "",   "tanh",         false, false},
};

/* Kernels that are no operations of HLO, and casts. */
static const struct { const char *op; bool single, all; } others[] = {
    {"identity",        true,  true},
    {"dl16tofp32",      true,  true},
    {"fp32todl16",      true,  true},
    {"fp8todl16",       true,  true},
    {"sum",             true,  false},
    {"max",             true,  false},
    {"min",             true,  false},
    {"prod",            true,  false},
    {"batchmatmul",     false, false},
    {"conv2d",          false, false},
    {"depthwiseconv2dnative", false, false},
    {"ReStickifyOpHBM", false, false},
};

/* Of tg_reduction; a truth value is 0 or 1. */
static const char *const reductions[] = {"sum", "max", "min", "prod", "min", "max", NULL};

static const struct { tg_format from, to; const char *op; } casts[] = {
    {TG_SEN169_FP16, TG_IEEE_FP32,   "dl16tofp32"},
    {TG_IEEE_FP32,   TG_SEN169_FP16, "fp32todl16"},
    {TG_SEN143_FP8,  TG_SEN169_FP16, "fp8todl16"},
};
/* clang-format on */

/* ---- formats ---------------------------------------------------------------------------------- */

/* For a function of several opcodes one row is as good as another. */
static bool is_single(const char *op) {
    for (size_t i = 0; i < COUNT(functions); i++)
        if (strcmp(functions[i].op, op) == 0) return functions[i].single;
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(others[i].op, op) == 0) return others[i].single;
    return false;
}

static bool is_for_all(const char *op) {
    for (size_t i = 0; i < COUNT(others); i++)
        if (strcmp(others[i].op, op) == 0) return others[i].all;
    return false;
}

tg_status tg_check_format(const char *op, tg_format format, tg_error *err) {
    if (is_for_all(op) || format == TG_SEN169_FP16 || (format == TG_IEEE_FP32 && is_single(op))) return TG_OK;
    return tg_fail(err, TG_ERR_UNSUPPORTED, "the device has no %s of %s", op, tg_format_name(format));
}

static tg_status check_formats(const char *op, const tg_format *formats, int32_t n, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t i = 0; i < n && s == TG_OK; i++) s = tg_check_format(op, formats[i], err);
    return s;
}

/* ---- functions ----------------------------------------------------------------------------------- */

static const char *cast(tg_format from, tg_format to) {
    if (from == to) return "identity";
    for (size_t i = 0; i < COUNT(casts); i++)
        if (casts[i].from == from && casts[i].to == to) return casts[i].op;
    return NULL;
}

static bool is_float(tg_dtype dtype) { return tg_dtype_get_class(dtype) == TG_CLASS_FLOAT; }

static tg_status find_cast(const char **op, const tg_node_info *info, const tg_format *formats, int32_t n,
                           tg_error *err) {
    if (n != 2) return tg_fail(err, TG_ERR_UNSUPPORTED, "a cast of %d operands", (int64_t)n - 1);
    *op = is_float(info->host.dtype) || info->host.dtype == TG_PRED || formats[0] == formats[1]
              ? cast(formats[0], formats[1])
              : NULL;
    if (*op != NULL) return TG_OK;
    return tg_fail(err, TG_ERR_UNSUPPORTED, "the device does not convert %s to %s", tg_format_name(formats[0]),
                   tg_format_name(formats[1]));
}

/* What was put in so that an operation finds its operand in memory is a broadcast; what a loop begins with and hands on
 * has the opcode of the loop. */
static bool is_copy(const tg_node_info *info) {
    return info->kind == TG_NODE_CLONE || info->kind == TG_NODE_CONCATENATE ||
           tg_hlo_text_is(info->opcode, "while") || tg_hlo_text_is(info->opcode, "broadcast");
}

static tg_status find_pointwise(const char **op, const tg_node_info *info, tg_error *err) {
    for (size_t i = 0; i < COUNT(functions); i++) {
        const struct function *f = &functions[i];
        if (!tg_hlo_text_is(info->opcode, f->opcode)) continue;
        if (f->variant[0] != '\0' && !tg_hlo_text_is(info->variant, f->variant)) continue;
        if (f->truth && info->host.dtype != TG_PRED) continue;
        *op = f->op;
        return TG_OK;
    }
    return tg_fail(err, TG_ERR_UNSUPPORTED, "the device has no function for %t", info->opcode.chars,
                   info->opcode.len);
}

tg_status tg_find_function(const char **op, const tg_node_info *info, tg_reduction reduction, const tg_format *formats,
                           int32_t nformats, tg_error *err) {
    tg_status s = TG_OK;
    *op = NULL;
    if (info->kind == TG_NODE_REDUCE && reductions[reduction] == NULL)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "the device has no reduction by xor");
    if (info->kind == TG_NODE_REDUCE) *op = reductions[reduction];
    else if (is_copy(info)) *op = "identity";
    else if (tg_hlo_text_is(info->opcode, "convert")) s = find_cast(op, info, formats, nformats, err);
    else s = find_pointwise(op, info, err);
    return s == TG_OK ? check_formats(*op, formats, nformats, err) : s;
}
