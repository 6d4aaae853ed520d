/* Moves against naive loops: random pairs of layouts, tiled with weights that need not nest, folded,
 * replicated, padded, reversed, packed; with canaries around buffers that begin at any byte. */
#include "layout/layout.h"
#include "relayout/plan.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t move_seed; /* set random_state to move_seed to have a move again */

/* ---- random layouts ---- */

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

/* ---- the naive move ---- */

enum { MARGIN = 40 };

typedef struct buffer {
    uint8_t *memory, *data; /* data is MARGIN and some bytes in */
    size_t   size;
} buffer;

static buffer buffer_make(const tg_layout *l) {
    int64_t n;
    assert_int_equal(tg_layout_nbytes(&n, l, NULL), TG_OK);
    buffer b = {NULL, NULL, (size_t)n + 3 * MARGIN};
    b.memory = malloc(b.size);
    for (size_t i = 0; i < b.size; i++) b.memory[i] = (uint8_t)random_bits();
    b.data = b.memory + MARGIN + random_below(MARGIN);
    return b;
}

static buffer buffer_copy(buffer in) {
    buffer b = {malloc(in.size), NULL, in.size};
    memcpy(b.memory, in.memory, in.size);
    b.data = b.memory + (in.data - in.memory);
    return b;
}

static void put_copies(uint8_t *data, const tg_layout *l, int32_t m, int64_t offset, tg_word w, uint8_t *seen) {
    for (; m < l->nmodes; m++) {
        if (l->mode[m].axis != TG_AXIS_COPY) continue;
        for (int64_t i = 0; i < l->mode[m].size; i++)
            put_copies(data, l, m + 1, offset + i * l->mode[m].stride, w, seen);
        return;
    }
    tg_ref_store(data, offset, l->elem_bits, w);
    seen[offset] = 1;
}

static void naive(uint8_t *dst, const uint8_t *src, const tg_layout *d, const tg_layout *s, const void *pad) {
    int64_t        coord[TG_MAX_NDIM] = {0};
    uint8_t *const seen = calloc((size_t)d->span + 1, 1);
    const bool     same = d->dtype == s->dtype && d->format == s->format && d->elem_bits == s->elem_bits;
    if (tg_layout_numel(d) > 0) {
        do {
            tg_word w = tg_ref_load(src, tg_layout_offset(s, coord), s->elem_bits);
            if (!same)
                assert_true(tg_ref_convert(&w, tg_encoding_of(d->dtype, d->format, d->elem_bits),
                                           tg_encoding_of(s->dtype, s->format, s->elem_bits), w));
            put_copies(dst, d, 0, tg_layout_offset(d, coord), w, seen);
        } while (tg_next_coord(coord, d->shape, d->ndim));
    }
    for (int64_t i = 0; pad != NULL && i < d->span; i++)
        if (!seen[i]) tg_ref_store(dst, i, d->elem_bits, tg_ref_load(pad, 0, d->elem_bits));
    free(seen);
}

/* ---- random moves ---- */

typedef struct type_pair {
    tg_dtype  dtype;
    tg_format dst;
    int32_t   dst_bits;
    tg_format src;
    int32_t   src_bits;
    tg_dtype  dst_dtype; /* if it is another one */
} type_pair;

static const type_pair pairs[] = {
    {TG_U8, TG_FORMAT_NATIVE, 8, TG_FORMAT_NATIVE, 8, TG_INVALID},
    {TG_F16, TG_FORMAT_NATIVE, 16, TG_FORMAT_NATIVE, 16, TG_INVALID},
    {TG_F32, TG_FORMAT_NATIVE, 32, TG_FORMAT_NATIVE, 32, TG_INVALID},
    {TG_C64, TG_FORMAT_NATIVE, 64, TG_FORMAT_NATIVE, 64, TG_INVALID},
    {TG_C128, TG_FORMAT_NATIVE, 128, TG_FORMAT_NATIVE, 128, TG_INVALID},
    {TG_S4, TG_FORMAT_NATIVE, 4, TG_FORMAT_NATIVE, 4, TG_INVALID},
    {TG_U2, TG_FORMAT_NATIVE, 2, TG_FORMAT_NATIVE, 2, TG_INVALID},
    {TG_S1, TG_FORMAT_NATIVE, 1, TG_FORMAT_NATIVE, 1, TG_INVALID},
    {TG_S4, TG_FORMAT_NATIVE, 4, TG_FORMAT_NATIVE, 8, TG_INVALID},
    {TG_S4, TG_FORMAT_NATIVE, 8, TG_FORMAT_NATIVE, 4, TG_INVALID},
    {TG_PRED, TG_FORMAT_NATIVE, 1, TG_FORMAT_NATIVE, 8, TG_INVALID},
    {TG_PRED, TG_SEN169_FP16, 16, TG_FORMAT_NATIVE, 8, TG_INVALID},
    {TG_F16, TG_SEN169_FP16, 16, TG_FORMAT_NATIVE, 16, TG_INVALID},
    {TG_F16, TG_FORMAT_NATIVE, 16, TG_SEN169_FP16, 16, TG_INVALID},
    {TG_BF16, TG_SEN169_FP16, 16, TG_FORMAT_NATIVE, 16, TG_INVALID},
    {TG_F32, TG_FORMAT_NATIVE, 32, TG_BFLOAT16, 16, TG_INVALID},
    {TG_S32, TG_IEEE_INT64, 64, TG_FORMAT_NATIVE, 32, TG_INVALID},
    {TG_U8, TG_SENUINT32, 32, TG_FORMAT_NATIVE, 8, TG_INVALID},
    {TG_F4E2M1FN, TG_FORMAT_NATIVE, 4, TG_FORMAT_NATIVE, 8, TG_INVALID},
    {TG_F32, TG_FORMAT_NATIVE, 16, TG_FORMAT_NATIVE, 32, TG_BF16},
    {TG_F32, TG_FORMAT_NATIVE, 8, TG_FORMAT_NATIVE, 32, TG_F8E4M3FN},
    {TG_F8E5M2, TG_FORMAT_NATIVE, 16, TG_FORMAT_NATIVE, 8, TG_BF16},
    {TG_S8, TG_FORMAT_NATIVE, 64, TG_FORMAT_NATIVE, 8, TG_S64},
    {TG_PRED, TG_FORMAT_NATIVE, 32, TG_FORMAT_NATIVE, 8, TG_F32},
    {TG_U4, TG_FORMAT_NATIVE, 32, TG_FORMAT_NATIVE, 4, TG_S32},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

/* Sizes that cut even small moves into many blocks, groups and steps, and make any of them stream. */
static tg_tuning random_tuning(void) {
    const tg_tuning t = {.block_bytes = 1 + random_below(3000),
                         .block_bytes_min = 1 + random_below(200),
                         .run_grain = TG_PAD_PATTERN * (1 + random_below(4)),
                         .copy_rows = 1 + random_below(20),
                         .transpose_bytes = 1 + random_below(256),
                         .group_bytes = 1 + random_below(2000),
                         .group_bytes_min = 1 + random_below(300),
                         .step_bytes = 1 + random_below(4000),
                         .stream_bytes = random_below(2) == 0 ? 0 : INT64_MAX,
                         .far_bytes = random_below(2) == 0 ? 0 : INT64_MAX};
    return t;
}

static void run_backwards(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    *(size_t *)context += ntasks;
    while (ntasks-- > 0) task(arg, ntasks);
}

static void expect_same(const char *what, const tg_plan_params *p, const tg_plan *plan, buffer got, buffer want) {
    char text[2000];
    if (memcmp(got.memory, want.memory, got.size) == 0) return;
    size_t i = 0;
    while (got.memory[i] == want.memory[i]) i++;
    (void)tg_plan_describe(text, sizeof text, plan);
    fail_msg("%s: byte %d of %d differs; %d dimensions, %d to %d bits; seed %llu\n%s", what,
             (int)(got.memory + i - got.data), (int)got.size - 3 * MARGIN, p->dst->ndim, p->src->elem_bits,
             p->dst->elem_bits, (unsigned long long)move_seed, text);
}

static void check_verify(const tg_plan_params *p, buffer dst, buffer src, bool padded) {
    bool             equal = false;
    int64_t          coord[TG_MAX_NDIM], offset = -1;
    tg_error         err;
    const tg_layout *d = p->dst;
    assert_int_equal(tg_plan_verify(&equal, coord, &offset, p, dst.data, src.data, &err), TG_OK);
    assert_true(equal);
    if (d->span == 0) return;
    const int64_t at = random_below(d->span);
    tg_slot       slot;
    int64_t       c[TG_MAX_NDIM];
    assert_int_equal(tg_layout_coord(&slot, c, d, at, &err), TG_OK);
    tg_word w = tg_ref_load(dst.data, at, d->elem_bits);
    w.lo ^= 1;
    tg_ref_store(dst.data, at, d->elem_bits, w);
    assert_int_equal(tg_plan_verify(&equal, coord, &offset, p, dst.data, src.data, &err), TG_OK);
    assert_int_equal(equal, slot != TG_SLOT_DATA && !padded);
    if (!equal) assert_int_equal(offset, at);
    if (!equal && slot == TG_SLOT_DATA) assert_memory_equal(coord, c, (size_t)d->ndim * sizeof c[0]);
    if (!equal && slot != TG_SLOT_DATA) assert_int_equal(coord[0], -1);
    w.lo ^= 1;
    tg_ref_store(dst.data, at, d->elem_bits, w);
}

static void make_plan(tg_plan *p, const tg_plan_params *params, bool tuned) {
    const tg_tuning t = tuned ? random_tuning() : tg_default_tuning;
    tg_error        err;
    if (tg_plan_tuned(p, params, &t, &err) != TG_OK)
        fail_msg("%s; seed %llu", err.message, (unsigned long long)move_seed);
}

/* One box after the other, of a grid that cuts every dimension at random places. */
static bool move_boxes(const tg_plan_params *whole, uint8_t *dst, const uint8_t *src, int32_t dim, int64_t *begin,
                       int64_t *end) {
    if (dim == whole->dst->ndim) {
        tg_plan_params params = *whole;
        tg_plan        p;
        tg_error       err;
        const tg_tuning t = random_tuning();
        params.begin = begin;
        params.end = end;
        const tg_status s = tg_plan_tuned(&p, &params, &t, &err);
        if (s == TG_ERR_UNSUPPORTED && strstr(err.message, "cannot be shared out") != NULL) return false;
        if (s != TG_OK || tg_plan_run(&p, dst, src, NULL, &err) != TG_OK) fail_msg("%s", err.message);
        return true;
    }
    const int64_t size = whole->dst->shape[dim];
    for (int64_t at = 0; at < size || at == 0;) {
        const int64_t next = random_below(2) == 0 ? size : at + 1 + random_below(tg_max(size - at, 1));
        begin[dim] = at;
        end[dim] = tg_min(next, size);
        if (!move_boxes(whole, dst, src, dim + 1, begin, end)) return false;
        at = tg_max(next, 1);
    }
    return true;
}

static bool can_box(const tg_plan_params *params) {
    tg_plan_params part = *params;
    tg_plan        p;
    int64_t        end[TG_MAX_NDIM];
    memcpy(end, params->dst->shape, sizeof end);
    for (int32_t d = 0; d < params->dst->ndim; d++) end[d] -= end[d] > 1;
    part.end = end;
    return tg_plan_init(&p, &part, NULL) == TG_OK;
}

static void check_boxes(const tg_plan_params *params, buffer blank, buffer src, buffer want) {
    int64_t      begin[TG_MAX_NDIM] = {0}, end[TG_MAX_NDIM] = {0};
    tg_plan      p;
    if (!can_box(params)) return;
    const buffer dst = buffer_copy(blank);
    make_plan(&p, params, false);
    if (move_boxes(params, dst.data, src.data, 0, begin, end)) expect_same("in boxes", params, &p, dst, want);
    free(dst.memory);
}

/* One box, and nothing else is touched. */
static void check_one_box(const tg_plan_params *whole, buffer blank, buffer src) {
    int64_t          begin[TG_MAX_NDIM], end[TG_MAX_NDIM], coord[TG_MAX_NDIM] = {0};
    const tg_layout *d = whole->dst, *s = whole->src;
    tg_plan_params   params = *whole;
    tg_plan          p;
    bool             equal;
    params.pad = NULL;
    params.begin = begin;
    params.end = end;
    for (int32_t i = 0; i < d->ndim; i++) {
        begin[i] = random_below(d->shape[i] + 1);
        end[i] = begin[i] + random_below(d->shape[i] - begin[i] + 1);
    }
    const buffer   dst = buffer_copy(blank), want = buffer_copy(blank);
    uint8_t *const seen = calloc((size_t)d->span + 1, 1);
    const bool     same = d->dtype == s->dtype && d->format == s->format && d->elem_bits == s->elem_bits;
    if (tg_layout_numel(d) > 0) {
        do {
            bool in = true;
            for (int32_t i = 0; i < d->ndim; i++) in = in && coord[i] >= begin[i] && coord[i] < end[i];
            if (!in) continue;
            tg_word w = tg_ref_load(src.data, tg_layout_offset(s, coord), s->elem_bits);
            if (!same) (void)tg_ref_convert(&w, tg_encoding_of(d->dtype, d->format, d->elem_bits),
                                            tg_encoding_of(s->dtype, s->format, s->elem_bits), w);
            put_copies(want.data, d, 0, tg_layout_offset(d, coord), w, seen);
        } while (tg_next_coord(coord, d->shape, d->ndim));
    }
    make_plan(&p, &params, true);
    assert_int_equal(tg_plan_run(&p, dst.data, src.data, NULL, NULL), TG_OK);
    expect_same("one box", &params, &p, dst, want);
    assert_int_equal(tg_plan_verify(&equal, NULL, NULL, &params, dst.data, src.data, NULL), TG_OK);
    assert_true(equal);
    free(seen);
    free(dst.memory);
    free(want.memory);
}

static const uint32_t cpus[] = {0, TG_CPU_AVX512, TG_CPU_AVX512 | TG_CPU_AVX2, TG_CPU_NEON};

static void check_move(const tg_layout *d, const tg_layout *s) {
    uint8_t           pad[16];
    const bool        padded = random_below(2) == 0;
    tg_plan_params params = {
        .dst = d, .src = s, .pad = padded ? pad : NULL, .threads = (int32_t)random_below(4), .convert = true};
    tg_plan           p;
    tg_error          err;
    size_t            ran = 0;
    const tg_executor backwards = {run_backwards, &ran, 3};
    for (size_t i = 0; i < sizeof pad; i++) pad[i] = (uint8_t)random_bits();
    params.without = cpus[random_below(4)];
    params.hint = (uint32_t)random_below(3);
    const buffer src = buffer_make(s), blank = buffer_make(d), want = buffer_copy(blank);
    naive(want.data, src.data, d, s, params.pad);
    for (int way = 0; way < 4; way++) {
        const buffer       dst = buffer_copy(blank);
        const tg_executor *e = way % 2 == 1 ? &backwards : NULL;
        make_plan(&p, &params, way >= 1);
        if (way == 3)
            for (int64_t i = 0, n = tg_plan_steps(&p); i < n; i++) /* 0, then backwards */
                assert_int_equal(tg_plan_run_step(&p, i == 0 ? 0 : n - i, dst.data, src.data, e, &err), TG_OK);
        else assert_int_equal(tg_plan_run(&p, dst.data, src.data, e, &err), TG_OK);
        expect_same(way == 3 ? "in steps" : "at once", &params, &p, dst, want);
        if (way == 0) check_verify(&params, dst, src, padded);
        free(dst.memory);
    }
    check_boxes(&params, blank, src, want);
    check_one_box(&params, blank, src);
    free(src.memory);
    free(blank.memory);
    free(want.memory);
}

static void random_shape(int32_t *ndim, int64_t *shape, int64_t limit) {
    *ndim = (int32_t)random_below(6);
    int64_t numel = 1;
    for (int32_t d = 0; d < *ndim; d++) {
        shape[d] = random_below(60) == 0 ? 0 : 1 + random_below(random_below(3) == 0 ? 70 : 7);
        if (numel * shape[d] > limit) shape[d] = 1;
        numel *= shape[d];
    }
}

static void test_random_pairs(void **state) {
    (void)state;
    for (int i = 0; i < 2000; i++) {
        move_seed = random_state;
        const type_pair t = pairs[random_below(PAIRS)];
        int64_t         shape[TG_MAX_NDIM];
        int32_t         ndim;
        random_shape(&ndim, shape, 2000);
        const tg_dtype  dst_dtype = t.dst_dtype != TG_INVALID ? t.dst_dtype : t.dtype;
        const tg_layout d = random_layout(dst_dtype, t.dst, t.dst_bits, ndim, shape);
        const tg_layout s = random_layout(t.dtype, t.src, t.src_bits, ndim, shape);
        check_move(&d, &s);
    }
}

/* ---- layouts made through the public interface ---- */

static tg_layout dense(tg_dtype dtype, int32_t ndim, const int64_t *shape) {
    tg_layout l;
    assert_int_equal(tg_layout_strided(&l, dtype, ndim, shape, NULL, 0, NULL), TG_OK);
    return l;
}

/* [R, C] -> [C/tile][R][tile] */
static tg_layout sticks(tg_dtype dtype, int64_t rows, int64_t cols, int64_t tile) {
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

static void test_sticks(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{1, 1}, {1, 64}, {17, 63}, {16, 65}, {40, 150}, {64, 256}, {3, 1000}, {300, 70}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const tg_layout s = dense(TG_F16, 2, sizes[i]);
        tg_layout       d = sticks(TG_F16, sizes[i][0], sizes[i][1], 64), t;
        check_move(&d, &s);
        check_move(&s, &d);
        assert_int_equal(tg_layout_transpose(&t, &s, 0, 1, NULL), TG_OK);
        const tg_layout across = sticks(TG_F16, sizes[i][1], sizes[i][0], 64);
        check_move(&across, &t);
        check_move(&t, &across);
        d.format = TG_SEN169_FP16;
        check_move(&d, &s);
        check_move(&s, &d);
    }
}

static void test_views(void **state) {
    (void)state;
    const int64_t shape[] = {5, 7, 12};
    tg_layout     s = dense(TG_S16, 3, shape), d;
    assert_int_equal(tg_layout_slice(&s, &s, 2, 11, 0, -3, NULL), TG_OK); /* backwards, every third */
    assert_int_equal(tg_layout_slice(&s, &s, 1, 2, 6, 1, NULL), TG_OK);
    assert_int_equal(tg_layout_unsqueeze(&s, &s, 1, NULL), TG_OK);
    assert_int_equal(tg_layout_expand(&s, &s, 1, 3, NULL), TG_OK);        /* stride 0 */
    d = dense(TG_S16, s.ndim, s.shape);
    check_move(&d, &s);
}

/* ---- what plans are made ---- */

static const tg_plan_private *plan_of(tg_plan *p, const tg_layout *d, const tg_layout *s) {
    const tg_plan_params params = {.dst = d, .src = s};
    tg_error             err;
    if (tg_plan_init(p, &params, &err) != TG_OK) fail_msg("%s", err.message);
    return tg_plan_see(p);
}

/* Identical dense layouts are one run. */
static void test_fusing(void **state) {
    (void)state;
    const int64_t   shape[] = {6, 5, 4, 3};
    const tg_layout l = dense(TG_F32, 4, shape);
    tg_plan         p;
    const tg_nest  *nest = &plan_of(&p, &l, &l)->as.nest;
    assert_int_equal(nest->nboxes, 1);
    assert_int_equal(nest->box[0].nloops, 0);
    assert_int_equal(nest->box[0].block.outer * nest->box[0].block.rows, 1);
    assert_int_equal(nest->box[0].block.cols, 1440);
    check_move(&l, &l);
}

/* 16 rows of sticks at a time, all columns; a ragged stick is a box of its own, with its tail. */
static void test_stick_blocks(void **state) {
    (void)state;
    const int64_t   shape[] = {1024, 500};
    const tg_layout s = dense(TG_F16, 2, shape), d = sticks(TG_F16, 1024, 500, 64);
    const uint16_t  zero = 0;
    const tg_plan_params params = {.dst = &d, .src = &s, .pad = &zero};
    tg_plan         p;
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    const tg_nest *nest = &tg_plan_see(&p)->as.nest;
    assert_int_equal(tg_plan_see(&p)->way, TG_WAY_NEST);
    assert_int_equal(nest->nboxes, 2);
    assert_int_equal(nest->box[0].block.cols, 128);
    assert_int_equal(nest->box[0].block.tail, 0);
    assert_int_equal(nest->box[1].block.cols, 104);
    assert_int_equal(nest->box[1].block.tail, 24);
}

/* Tiles of 48 against tiles of 64 walk; nothing else here does. */
static void test_ways(void **state) {
    (void)state;
    const int64_t   shape[] = {96, 960};
    const tg_layout s = sticks(TG_F16, 96, 960, 48), d = sticks(TG_F16, 96, 960, 64), plain = dense(TG_F16, 2, shape);
    tg_plan         p;
    char            text[1000];
    assert_int_equal(plan_of(&p, &d, &s)->way, TG_WAY_WALK);
    assert_true(tg_plan_describe(text, sizeof text, &p) < sizeof text);
    assert_non_null(strstr(text, "the tiles of both sides do not nest"));
    assert_int_equal(plan_of(&p, &d, &plain)->way, TG_WAY_NEST);
    assert_int_equal(plan_of(&p, &plain, &s)->way, TG_WAY_NEST);
    check_move(&d, &s);
}

/* More than one step by size: 72 MiB on each side are two steps of about 64 MiB together. */
static void test_steps_by_size(void **state) {
    (void)state;
    const int64_t        shape[] = {9 << 10, 4 << 10};
    const tg_layout      s = dense(TG_F16, 2, shape), d = sticks(TG_F16, shape[0], shape[1], 64);
    const tg_plan_params params = {.dst = &d, .src = &s};
    tg_plan              p;
    bool                 equal;
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    const int64_t steps = tg_plan_steps(&p);
    assert_in_range(steps, 2, 3);
    uint16_t *const src = malloc(72 << 20), *const dst = malloc(72 << 20);
    for (size_t i = 0; i < 36 << 20; i++) src[i] = (uint16_t)(i * 40503u >> 7);
    for (int64_t i = 0; i < steps; i++) assert_int_equal(tg_plan_run_step(&p, i, dst, src, NULL, NULL), TG_OK);
    assert_int_equal(tg_plan_verify(&equal, NULL, NULL, &params, dst, src, NULL), TG_OK);
    assert_true(equal);
    assert_int_equal(tg_plan_run_step(&p, steps, dst, src, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_plan_run_step(&p, -1, dst, src, NULL, NULL), TG_ERR_ARGUMENT);
    free(src);
    free(dst);
}

/* ---- what is refused, and how ---- */

static void expect_refusal(const tg_layout *d, const tg_layout *s, tg_status status, const char *words) {
    const tg_plan_params params = {.dst = d, .src = s};
    tg_plan              p;
    tg_error             err = {TG_OK, 0, 0, ""};
    assert_int_equal(tg_plan_init(&p, &params, &err), status);
    assert_int_equal(err.status, status);
    if (strstr(err.message, words) == NULL) fail_msg("\"%s\" is not in \"%s\"", words, err.message);
    assert_int_equal(tg_plan_init(&p, &params, NULL), status);
}

static void expect_box_refusal(const tg_layout *d, const tg_layout *s, const void *pad, const int64_t *begin,
                               const int64_t *end, tg_status status, const char *words) {
    const tg_plan_params params = {.dst = d, .src = s, .pad = pad, .begin = begin, .end = end};
    tg_plan              p;
    tg_error             err = {TG_OK, 0, 0, ""};
    assert_int_equal(tg_plan_init(&p, &params, &err), status);
    if (strstr(err.message, words) == NULL) fail_msg("\"%s\" is not in \"%s\"", words, err.message);
}

/* A run that is cut in chunks has its tail behind the last one only; run backwards, others would overwrite data. */
static void test_tail_of_chunks(void **state) {
    (void)state;
    const int64_t   shape[] = {3, 300};
    const tg_layout s = dense(TG_F32, 2, shape), d = sticks(TG_F32, 3, 300, 512);
    for (int i = 0; i < 200; i++) {
        move_seed = random_state;
        check_move(&d, &s);
    }
}

static void test_box_refusals(void **state) {
    (void)state;
    const int64_t shape[] = {4, 6}, gaps[] = {20, 2}, low[] = {-1, 0}, far[] = {4, 7}, late[] = {0, 5},
                  early[] = {4, 2};
    const tg_layout s = dense(TG_F16, 2, shape);
    const uint16_t  zero = 0;
    tg_layout       d;
    assert_int_equal(tg_layout_strided(&d, TG_F16, 2, shape, gaps, 0, NULL), TG_OK);
    expect_box_refusal(&s, &s, NULL, low, NULL, TG_ERR_ARGUMENT, "[-1, 4) in dimension 0 of size 4");
    expect_box_refusal(&s, &s, NULL, NULL, far, TG_ERR_ARGUMENT, "[0, 7) in dimension 1 of size 6");
    expect_box_refusal(&s, &s, NULL, late, early, TG_ERR_ARGUMENT, "[5, 2) in dimension 1 of size 6");
    expect_box_refusal(&d, &s, &zero, late, NULL, TG_ERR_UNSUPPORTED, "cannot be shared out");
}

static void test_refusals(void **state) {
    (void)state;
    const int64_t   a[] = {2, 3}, b[] = {3, 2}, zero[] = {0, 1}, back[] = {-3, 1};
    const tg_layout l = dense(TG_F16, 2, a), other = dense(TG_F16, 2, b), wide = dense(TG_F32, 2, a);
    const tg_layout complex = dense(TG_C64, 2, a), doubles = dense(TG_F64, 2, a);
    tg_layout       overlap, negative, odd = l, fp9 = l;
    assert_int_equal(tg_layout_strided(&overlap, TG_F16, 2, a, zero, 0, NULL), TG_OK);
    assert_int_equal(tg_layout_strided(&negative, TG_F16, 2, a, back, 0, NULL), TG_OK);
    odd.elem_bits = 24;
    fp9.format = TG_SENINT8;
    fp9.elem_bits = 8;
    expect_refusal(&other, &l, TG_ERR_ARGUMENT, "dst [3,2], src [2,3]");
    expect_refusal(&wide, &l, TG_ERR_ARGUMENT, "dst f32, src f16");
    tg_plan              p0;
    const tg_plan_params converted = {.dst = &complex, .src = &doubles, .convert = true};
    assert_int_equal(tg_plan_init(&p0, &converted, NULL), TG_ERR_UNSUPPORTED); /* as wide, and not the same */
    expect_refusal(&overlap, &l, TG_ERR_ARGUMENT, "not unique");
    expect_refusal(&negative, &l, TG_ERR_ARGUMENT, "-3");
    expect_refusal(&l, &negative, TG_ERR_ARGUMENT, "-3");
    expect_refusal(&odd, &odd, TG_ERR_UNSUPPORTED, "24 bits");
    expect_refusal(&fp9, &l, TG_ERR_UNSUPPORTED, "f16 from native in 16 bits to SENINT8 in 8 bits");
    expect_refusal(NULL, &l, TG_ERR_ARGUMENT, "dst is NULL");
    expect_refusal(&l, NULL, TG_ERR_ARGUMENT, "src is NULL");
    tg_layout broken = l;
    broken.mode[0].weight = 0;
    expect_refusal(&l, &broken, TG_ERR_ARGUMENT, "weight");
    tg_plan        p;
    tg_plan_params params = {.dst = &l, .src = &l, .threads = -1};
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_ERR_ARGUMENT);
    params.threads = 0;
    params.hint = 7;
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_plan_init(NULL, &params, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_plan_init(&p, NULL, NULL), TG_ERR_ARGUMENT);
}

static void test_overflow(void **state) {
    (void)state;
    const int64_t shape[] = {30, 40};
    tg_layout     s = dense(TG_S64, 2, shape), d = s;
    d.format = TG_IEEE_INT32;
    d.elem_bits = 32;
    const tg_plan_params params = {.dst = &d, .src = &s};
    tg_plan              p;
    tg_error             err = {TG_OK, 0, 0, ""};
    static int64_t       src[1200];
    static int32_t       dst[1200];
    bool                 equal;
    int64_t              coord[TG_MAX_NDIM], offset;
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    for (int i = 0; i < 1200; i++) src[i] = i - 600;
    assert_int_equal(tg_plan_run(&p, dst, src, NULL, &err), TG_OK);
    for (int i = 0; i < 1200; i++) assert_int_equal(dst[i], i - 600);
    src[1003] = 2147483648;
    assert_int_equal(tg_plan_run(&p, dst, src, NULL, &err), TG_ERR_OVERFLOW);
    assert_string_equal(err.message, "value 2147483648 at element 1003 of src does not fit IEEE_INT32 in 32 bits");
    assert_int_equal(tg_plan_verify(&equal, coord, &offset, &params, dst, src, NULL), TG_OK);
    assert_false(equal);
    assert_true(coord[0] * 40 + coord[1] == offset && offset <= 1003);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pairs),   cmocka_unit_test(test_sticks),       cmocka_unit_test(test_views),
        cmocka_unit_test(test_fusing),         cmocka_unit_test(test_stick_blocks), cmocka_unit_test(test_ways),
        cmocka_unit_test(test_steps_by_size),  cmocka_unit_test(test_refusals),     cmocka_unit_test(test_box_refusals),
        cmocka_unit_test(test_tail_of_chunks), cmocka_unit_test(test_overflow),
    };
    random_state = 20260802;
    return cmocka_run_group_tests_name("relayout", tests, NULL, NULL);
}
