/* Layouts that several tests move. For tests on cmocka. */
#ifndef TG_TESTS_LAYOUTS_H
#define TG_TESTS_LAYOUTS_H

#include "base/checked.h"
#include "layout/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* From its notation. */
static inline tg_layout layout_of(const char *text) {
    tg_desc d;
    assert_int_equal(tg_desc_parse(&d, text, strlen(text), NULL), TG_OK);
    return d.layout;
}

static inline tg_layout dense(tg_dtype dtype, int32_t ndim, const int64_t *shape) {
    tg_layout l;
    assert_int_equal(tg_layout_strided(&l, dtype, ndim, shape, NULL, 0, NULL), TG_OK);
    return l;
}

/* [rows, cols] as [cols/tile][rows][tile] */
static inline tg_layout sticks(tg_dtype dtype, int64_t rows, int64_t cols, int64_t tile) {
    const int64_t shape[] = {rows, cols};
    const tg_mode modes[] = {{tg_ceil_div(cols, tile), 0, tile, 1, 1, TG_TO_MEMORY},
                             {rows, 0, 1, 1, 0, TG_TO_MEMORY},
                             {tile, 0, 1, 1, 1, TG_TO_MEMORY}};
    tg_layout     l;
    tg_error      err;
    assert_int_equal(tg_layout_begin(&l, dtype, TG_FORMAT_NATIVE, tg_dtype_storage_bits(dtype), 2, shape, &err), TG_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(tg_layout_push(&l, modes[i], &err), TG_OK);
    assert_int_equal(tg_layout_make_dense(&l, &err), TG_OK);
    if (tg_layout_end(&l, &err) != TG_OK) fail_msg("%s", err.message);
    return l;
}

#endif
