/* Numbers come from elements, and become elements, by the movers' conversions: what float16 or bfloat16 is stands
 * nowhere here. */
#include "sim/numbers.h"

#include "base/error.h"
#include "sim/ops.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 4096 }; /* elements at a time */

typedef union buffer {
    float   real[PIECE];
    int64_t whole[PIECE];
} buffer;

static tg_status plan_piece(tg_plan *out, tg_dtype to, tg_dtype from, int64_t n, tg_error *err) {
    tg_layout dst, src;
    tg_status s = tg_layout_strided(&dst, to, 1, &n, NULL, 0, err);
    if (s == TG_OK) s = tg_layout_strided(&src, from, 1, &n, NULL, 0, err);
    const tg_plan_params params = {.dst = &dst, .src = &src, .convert = true};
    return s == TG_OK ? tg_plan_init(out, &params, err) : s;
}

bool tg_dtype_is_number(tg_dtype dtype) {
    tg_plan plan;
    if (dtype == TG_F64) return true;
    return plan_piece(&plan, tg_dtype_is_whole(dtype) && dtype != TG_PRED ? TG_S64 : TG_F32, dtype, 1, NULL) == TG_OK;
}

/* Those that need no conversion. */
static bool read_as_is(tg_number *out, tg_dtype dtype, int64_t n, const void *data) {
    const uint8_t *bytes = data;
    if (dtype == TG_F64 || dtype == TG_S64 || dtype == TG_U64) {
        if (n > 0) memcpy(out, data, (size_t)n * sizeof *out);
        return true;
    }
    for (int64_t i = 0; dtype == TG_PRED && i < n; i++) out[i].whole = bytes[i] != 0;
    return dtype == TG_PRED;
}

tg_status tg_numbers_read(tg_number *out, tg_dtype dtype, int64_t n, const void *data, tg_error *err) {
    const int64_t width = tg_dtype_storage_bits(dtype) / 8;
    const bool    whole = tg_dtype_is_whole(dtype);
    buffer        b;
    tg_plan       plan;
    if (read_as_is(out, dtype, n, data)) return TG_OK;
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t count = n - at < PIECE ? n - at : PIECE;
        tg_status     s = plan_piece(&plan, whole ? TG_S64 : TG_F32, dtype, count, err);
        if (s == TG_OK) s = tg_plan_run(&plan, &b, (const char *)data + at * width, NULL, err);
        if (s != TG_OK) return s;
        for (int64_t i = 0; i < count; i++) {
            if (whole) out[at + i].whole = b.whole[i];
            else out[at + i].real = (double)b.real[i];
        }
    }
    return TG_OK;
}

static bool write_as_is(void *data, tg_dtype dtype, int64_t n, const tg_number *in) {
    uint8_t *bytes = data;
    if (dtype == TG_F64 || dtype == TG_S64 || dtype == TG_U64) {
        if (n > 0) memcpy(data, in, (size_t)n * sizeof *in);
        return true;
    }
    for (int64_t i = 0; dtype == TG_PRED && i < n; i++) bytes[i] = in[i].whole != 0;
    return dtype == TG_PRED;
}

tg_status tg_numbers_write(void *data, tg_dtype dtype, int64_t n, const tg_number *in, tg_error *err) {
    const int64_t width = tg_dtype_storage_bits(dtype) / 8;
    const int32_t bits = tg_dtype_bits(dtype);
    const bool    whole = tg_dtype_is_whole(dtype), is_signed = tg_dtype_get_class(dtype) == TG_CLASS_INT;
    buffer        b;
    tg_plan       plan;
    if (write_as_is(data, dtype, n, in)) return TG_OK;
    for (int64_t at = 0; at < n; at += PIECE) {
        const int64_t count = n - at < PIECE ? n - at : PIECE;
        for (int64_t i = 0; i < count; i++) {
            if (whole) b.whole[i] = tg_wrap(in[at + i].whole, bits, is_signed);
            else b.real[i] = (float)in[at + i].real;
        }
        tg_status s = plan_piece(&plan, dtype, whole ? TG_S64 : TG_F32, count, err);
        if (s == TG_OK) s = tg_plan_run(&plan, (char *)data + at * width, &b, NULL, err);
        if (s != TG_OK) return s;
    }
    return TG_OK;
}
