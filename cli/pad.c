/* A number as an element: the text becomes a number, and the library's element of it. */
#include "pad.h"

#include <errno.h>
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

/* What is said of `other`, which is beyond most formats but not beyond most element types, names the format that
 * elements are stored in, if they are in another one; `why` is for those that hold it. */
static int fail_beyond(const tg_layout *layout, tg_dtype type, const void *other, const char *value, const char *why) {
    unsigned char unused[PAD_BYTES];
    tg_error      err;
    const bool    is_beyond = tg_element_from_number(unused, layout, type, other, &err) == TG_ERR_OVERFLOW;
    return fail_range(value, is_beyond ? err.message : why);
}

static int fail_large_float(const tg_layout *layout, const char *value, const char *why) {
    const double large = 1e38;
    return fail_beyond(layout, TG_F64, &large, value, why);
}

/* The number is beyond all that the library could be asked for. */
static int fail_unasked(const tg_layout *layout, const char *value) {
    const int64_t lowest = INT64_MIN;
    char          why[128];
    (void)snprintf(why, sizeof why, "the numbers of %s are %s", tg_dtype_name(layout->dtype),
                   tg_dtype_range(layout->dtype));
    if (tg_dtype_get_class(layout->dtype) == TG_CLASS_FLOAT) return fail_large_float(layout, value, why);
    return fail_beyond(layout, TG_S64, &lowest, value, why);
}

static int encode(unsigned char *out, const tg_layout *layout, tg_dtype type, const void *number, const char *value) {
    tg_error        err;
    const tg_status s = tg_element_from_number(out, layout, type, number, &err);
    if (s == TG_ERR_OVERFLOW && type == TG_F64) return fail_large_float(layout, value, err.message);
    if (s == TG_ERR_OVERFLOW) return fail_range(value, err.message);
    return s == TG_OK ? CLI_OK : cli_fail_library("--pad", &err, "the number");
}

static int encode_float(unsigned char *out, const tg_layout *layout, const char *value) {
    char        *end = NULL;
    const double number = strtod(value, &end);
    if (end == value || *end != '\0') return fail_word(layout->dtype, "number", value);
    if (isinf(number) && strpbrk(value, "iI") == NULL) return fail_unasked(layout, value);
    return encode(out, layout, TG_F64, &number, value);
}

static int encode_whole(unsigned char *out, const tg_layout *layout, const char *value) {
    const bool negative = strchr(value, '-') != NULL;
    char      *end = NULL;
    errno = 0;
    const int64_t  low = negative ? strtoll(value, &end, 10) : 0;
    const uint64_t high = negative ? 0 : strtoull(value, &end, 10);
    if (end == value || *end != '\0') return fail_word(layout->dtype, "whole number", value);
    if (errno == ERANGE) return fail_unasked(layout, value);
    return negative ? encode(out, layout, TG_S64, &low, value) : encode(out, layout, TG_U64, &high, value);
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
