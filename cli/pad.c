/* A number as an element: the text becomes a number, and the library's element of it. */
#include "pad.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int fail_word(tg_dtype dtype, const char *wanted, const char *value) {
    return cli_fail(CLI_USAGE, "--pad", "'%s' is no %s; those of %s are %s", value, wanted, tg_dtype_name(dtype),
                    tg_dtype_range(dtype));
}

static int fail_range(const char *value, const char *why) {
    return cli_fail(CLI_USAGE, "--pad", "%s does not fit: %s", value, why);
}

static int fail_dtype_range(tg_dtype dtype, const char *value) {
    return cli_fail(CLI_USAGE, "--pad", "%s does not fit: the numbers of %s are %s", value, tg_dtype_name(dtype),
                    tg_dtype_range(dtype));
}

static int encode(unsigned char *out, const tg_layout *layout, tg_dtype type, const void *number, const char *value) {
    tg_error        err;
    const tg_status s = tg_element_from_number(out, layout, type, number, &err);
    if (s == TG_ERR_OVERFLOW) return fail_range(value, err.message);
    return s == TG_OK ? CLI_OK : cli_fail_library("--pad", &err, "the number");
}

/* What is beyond a double is refused as the last of them, or, where the elements hold that one, for their type. */
static int encode_float(unsigned char *out, const tg_layout *layout, const char *value) {
    char  *end = NULL;
    double number = strtod(value, &end);
    if (end == value || *end != '\0') return fail_word(layout->dtype, "number", value);
    const bool is_beyond = isinf(number) && strpbrk(value, "iI") == NULL;
    if (is_beyond) number = DBL_MAX;
    const int status = encode(out, layout, TG_F64, &number, value);
    return status == CLI_OK && is_beyond ? fail_dtype_range(layout->dtype, value) : status;
}

/* Likewise: of what is beyond 64 bits strtoll and strtoull make the last number that has them. */
static int encode_whole(unsigned char *out, const tg_layout *layout, const char *value) {
    const bool negative = strchr(value, '-') != NULL;
    char      *end = NULL;
    errno = 0;
    const int64_t  low = negative ? strtoll(value, &end, 10) : 0;
    const uint64_t high = negative ? 0 : strtoull(value, &end, 10);
    const bool     is_beyond = errno == ERANGE;
    if (end == value || *end != '\0') return fail_word(layout->dtype, "whole number", value);
    const int status = negative ? encode(out, layout, TG_S64, &low, value) : encode(out, layout, TG_U64, &high, value);
    return status == CLI_OK && is_beyond ? fail_dtype_range(layout->dtype, value) : status;
}

int pad_encode(unsigned char out[PAD_BYTES], const tg_layout *layout, const char *value) {
    memset(out, 0, PAD_BYTES);
    switch (tg_dtype_get_class(layout->dtype)) {
    case TG_CLASS_PRED:
        if (strcmp(value, "true") == 0) value = "1";
        else if (strcmp(value, "false") == 0) value = "0";
        return encode_whole(out, layout, value);
    case TG_CLASS_INT:
    case TG_CLASS_UINT: return encode_whole(out, layout, value);
    case TG_CLASS_FLOAT:
    case TG_CLASS_COMPLEX: return encode_float(out, layout, value);
    case TG_CLASS_NONE: break;
    }
    return cli_fail(CLI_USAGE, "--pad", "the layout has no element type");
}
