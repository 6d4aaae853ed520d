/* Random layouts: digits whose weights need not nest, folds, copies, padding, gaps, strides of both signs. For tests on
 * cmocka. */
#ifndef TG_TESTS_RANDOM_LAYOUT_H
#define TG_TESTS_RANDOM_LAYOUT_H

#include "layout/layout.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Digits of axis a, whose coordinate is below size: strictly decreasing weights down to 1. */
static void push_digits(tg_layout *l, int32_t a, int64_t size, bool padded, tg_error *err) {
    int64_t bound = size;
    while (bound > 1 && random_below(3) > 0 && l->nmodes < 12) {
        const int64_t weight = 1 + random_below(bound < 10 ? bound - 1 : 9);
        if (weight == 1) break;
        const tg_mode m = {tg_ceil_div(bound, weight) + (padded ? random_below(2) : 0), 0, weight, 1, a, TG_TO_MEMORY};
        assert_int_equal(tg_layout_push(l, m, err), TG_OK);
        bound = tg_min(weight, bound);
    }
    const tg_mode m = {bound + (padded ? random_below(3) : 0), 0, 1, 1, a, TG_TO_MEMORY};
    assert_int_equal(tg_layout_push(l, m, err), TG_OK);
}

static void push_fold(tg_layout *l, const int32_t *dims, int32_t n, bool padded, tg_error *err) {
    int32_t axis;
    int64_t stride = 1;
    assert_int_equal(tg_layout_push_axis(l, &axis, err), TG_OK);
    tg_mode fold[TG_MAX_NDIM];
    for (int32_t i = 0; i < n; i++) {
        const int64_t size = l->shape[dims[i]],
                      weight = size > 2 && random_below(3) == 0 ? 2 + random_below(size - 2) : size;
        const tg_mode m = {weight, 0, 1, stride, dims[i], axis};
        const tg_mode above = {tg_ceil_div(size, weight), 0, weight, 1, dims[i], TG_TO_MEMORY};
        if (weight < size) assert_int_equal(tg_layout_push(l, above, err), TG_OK);
        fold[i] = m;
        stride *= weight;
    }
    push_digits(l, axis, stride, padded, err);
    for (int32_t i = 0; i < n; i++) assert_int_equal(tg_layout_push(l, fold[i], err), TG_OK);
}

static void shuffle(int32_t *order, int32_t n) {
    for (int32_t i = 0; i < n; i++) order[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        const int32_t j = (int32_t)random_below(i + 1), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

static void shuffle_modes(tg_layout *l) {
    tg_mode copy[TG_MAX_MODES];
    int32_t order[TG_MAX_MODES];
    memcpy(copy, l->mode, sizeof copy);
    shuffle(order, l->nmodes);
    for (int32_t i = 0; i < l->nmodes; i++) l->mode[i] = copy[order[i]];
}

/* Spread dense strides, turn some around. */
static void loosen(tg_layout *l, bool spread) {
    const int64_t factor = spread ? 1 + random_below(3) : 1, lead = spread ? random_below(4) : 0;
    int64_t       low = 0, high = 0;
    for (int32_t i = 0; i < l->nmodes; i++) {
        tg_mode *m = &l->mode[i];
        if (m->into != TG_TO_MEMORY) continue;
        m->stride *= spread && random_below(4) == 0 ? -factor : factor;
        if (m->size < 1) continue;
        if (m->stride < 0) low += (m->size - 1) * m->stride;
        else high += (m->size - 1) * m->stride;
    }
    l->offset = lead - low;
    l->span = high - low + 1 + lead + (spread ? random_below(3) : 0);
}

/* Every dimension in digits or folded, padding and copies among the modes, in any order. */
static tg_layout random_layout(tg_dtype dtype, tg_format format, int32_t bits, int32_t ndim, const int64_t *shape) {
    tg_layout  l;
    tg_error   err;
    int32_t    order[TG_MAX_NDIM];
    int64_t    numel = 1;
    for (int32_t d = 0; d < ndim; d++) numel *= shape[d];
    const bool padded = random_below(3) == 0, folded = random_below(4) == 0 && ndim > 0 && numel > 0;
    assert_int_equal(tg_layout_begin(&l, dtype, format, bits, ndim, shape, &err), TG_OK);
    shuffle(order, ndim);
    const int32_t nfold = folded ? 1 + (int32_t)random_below(ndim) : 0;
    if (nfold > 0) push_fold(&l, order, nfold, padded, &err);
    for (int32_t i = nfold; i < ndim; i++) push_digits(&l, order[i], shape[order[i]], padded, &err);
    if (random_below(5) == 0) {
        const tg_mode copy = {1 + random_below(3), 0, 1, 1, TG_AXIS_COPY, TG_TO_MEMORY};
        assert_int_equal(tg_layout_push(&l, copy, &err), TG_OK);
    }
    if (random_below(5) == 0) {
        const tg_mode pad = {1 + random_below(3), 0, 1, 1, TG_AXIS_PAD, TG_TO_MEMORY};
        assert_int_equal(tg_layout_push(&l, pad, &err), TG_OK);
    }
    shuffle_modes(&l);
    assert_int_equal(tg_layout_make_dense(&l, &err), TG_OK);
    loosen(&l, random_below(2) == 0);
    if (tg_layout_end(&l, &err) != TG_OK) fail_msg("%s", err.message);
    if (tg_layout_validate(&l, &err) != TG_OK) fail_msg("%s", err.message);
    return l;
}

#endif
