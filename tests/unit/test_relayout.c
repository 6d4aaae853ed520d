/* Moves against naive loops: random pairs of layouts, tiled with weights that need not nest, folded,
 * replicated, padded, reversed, packed; with canaries around buffers that begin at any byte. */
#include "layout/layout.h"
#include "relayout/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t random_state, move_seed; /* set random_state to move_seed to have a move again */

static uint64_t random_bits(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }

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
    const bool     same = d->format == s->format && d->elem_bits == s->elem_bits;
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
} type_pair;

static const type_pair pairs[] = {
    {TG_U8, TG_FORMAT_NATIVE, 8, TG_FORMAT_NATIVE, 8},     {TG_F16, TG_FORMAT_NATIVE, 16, TG_FORMAT_NATIVE, 16},
    {TG_F32, TG_FORMAT_NATIVE, 32, TG_FORMAT_NATIVE, 32},  {TG_C64, TG_FORMAT_NATIVE, 64, TG_FORMAT_NATIVE, 64},
    {TG_C128, TG_FORMAT_NATIVE, 128, TG_FORMAT_NATIVE, 128}, {TG_S4, TG_FORMAT_NATIVE, 4, TG_FORMAT_NATIVE, 4},
    {TG_U2, TG_FORMAT_NATIVE, 2, TG_FORMAT_NATIVE, 2},     {TG_S1, TG_FORMAT_NATIVE, 1, TG_FORMAT_NATIVE, 1},
    {TG_S4, TG_FORMAT_NATIVE, 4, TG_FORMAT_NATIVE, 8},     {TG_S4, TG_FORMAT_NATIVE, 8, TG_FORMAT_NATIVE, 4},
    {TG_PRED, TG_FORMAT_NATIVE, 1, TG_FORMAT_NATIVE, 8},   {TG_PRED, TG_SEN169_FP16, 16, TG_FORMAT_NATIVE, 8},
    {TG_F16, TG_SEN169_FP16, 16, TG_FORMAT_NATIVE, 16},    {TG_F16, TG_FORMAT_NATIVE, 16, TG_SEN169_FP16, 16},
    {TG_BF16, TG_SEN169_FP16, 16, TG_FORMAT_NATIVE, 16},   {TG_F32, TG_FORMAT_NATIVE, 32, TG_BFLOAT16, 16},
    {TG_S32, TG_IEEE_INT64, 64, TG_FORMAT_NATIVE, 32},     {TG_U8, TG_SENUINT32, 32, TG_FORMAT_NATIVE, 8},
    {TG_F4E2M1FN, TG_FORMAT_NATIVE, 4, TG_FORMAT_NATIVE, 8},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

/* Cut a plan more finely than its size asks for; returns the number of units. */
static int64_t recut(tg_plan *p) {
    if (p->units == 0) return 0;
    const int64_t rows = p->row == TG_NO_ROW ? 1 : p->size[p->row], outer = p->units / p->row_blocks / p->col_chunks;
    p->row_block = 1 + random_below(rows);
    p->row_blocks = tg_ceil_div(rows, p->row_block);
    p->col_chunk = 1 + random_below(p->size[p->col]);
    p->col_chunks = tg_ceil_div(p->size[p->col], p->col_chunk);
    p->tile_cols = 1 + random_below(p->size[p->col] + 3);
    p->units = outer * p->row_blocks * p->col_chunks;
    p->units_per_step = 1 + random_below(p->units);
    p->steps = tg_ceil_div(p->units, p->units_per_step);
    return p->units;
}

static void run_backwards(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    *(size_t *)context += ntasks;
    while (ntasks-- > 0) task(arg, ntasks);
}

static void expect_same(const char *what, const tg_plan *p, buffer got, buffer want) {
    if (memcmp(got.memory, want.memory, got.size) == 0) return;
    size_t i = 0;
    while (got.memory[i] == want.memory[i]) i++;
    fail_msg("%s: byte %d of %d differs; %d dimensions, %d to %d bits; seed %llu", what,
             (int)(got.memory + i - got.data), (int)got.size - 3 * MARGIN, p->dst_layout.ndim, p->src_layout.elem_bits,
             p->dst_layout.elem_bits, (unsigned long long)move_seed);
}

static void check_verify(const tg_plan *p, buffer dst, buffer src, bool padded) {
    bool             equal = false;
    int64_t          coord[TG_MAX_NDIM], offset = -1;
    tg_error         err;
    const tg_layout *d = &p->dst_layout;
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

static void check_move(const tg_layout *d, const tg_layout *s) {
    uint8_t              pad[16];
    const bool           padded = random_below(2) == 0;
    const tg_plan_params params = {d, s, padded ? pad : NULL, (int32_t)random_below(4), 0};
    tg_plan             *p = NULL;
    tg_error             err;
    size_t               ran = 0;
    const tg_executor    backwards = {run_backwards, &ran, 3};
    for (size_t i = 0; i < sizeof pad; i++) pad[i] = (uint8_t)random_bits();
    if (tg_plan_create(&p, &params, &err) != TG_OK) fail_msg("%s", err.message);
    p->kernel.stream = random_below(2) == 0;
    const buffer src = buffer_make(s), blank = buffer_make(d), want = buffer_copy(blank);
    naive(want.data, src.data, d, s, params.pad);
    for (int way = 0; way < 4; way++) {
        const buffer       dst = buffer_copy(blank);
        const tg_executor *e = way % 2 == 1 ? &backwards : NULL;
        if (way == 2) (void)recut(p);
        if (way == 3)
            for (int64_t i = 0; i < tg_plan_steps(p); i++)
                assert_int_equal(tg_plan_run_step(p, i, dst.data, src.data, e, &err), TG_OK);
        else assert_int_equal(tg_plan_run(p, dst.data, src.data, e, &err), TG_OK);
        expect_same(way == 3 ? "in steps" : "at once", p, dst, want);
        if (way == 0) check_verify(p, dst, src, padded);
        free(dst.memory);
    }
    tg_plan_destroy(&p);
    assert_null(p);
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
        const tg_layout d = random_layout(t.dtype, t.dst, t.dst_bits, ndim, shape);
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

/* Identical dense layouts are one dimension, one run. */
static void test_fusing(void **state) {
    (void)state;
    const int64_t        shape[] = {6, 5, 4, 3};
    const tg_layout      l = dense(TG_F32, 4, shape);
    const tg_plan_params params = {&l, &l, NULL, 0, 0};
    tg_plan             *p;
    assert_int_equal(tg_plan_create(&p, &params, NULL), TG_OK);
    assert_int_equal(p->nouter, 0);
    assert_int_equal(p->row, TG_NO_ROW);
    assert_int_equal(p->size[p->col], 360);
    tg_plan_destroy(&p);
    check_move(&l, &l);
}

/* A stick of the default layout is one kernel line, 16 rows at a time. */
static void test_stick_rectangle(void **state) {
    (void)state;
    const int64_t        shape[] = {1024, 512};
    const tg_layout      s = dense(TG_F16, 2, shape), d = sticks(TG_F16, 1024, 512, 64);
    const tg_plan_params params = {&d, &s, NULL, 0, 0};
    tg_plan             *p;
    assert_int_equal(tg_plan_create(&p, &params, NULL), TG_OK);
    assert_int_equal(p->col, 1);
    assert_int_equal(p->row, 0);
    assert_int_equal(p->row_block, 16);
    tg_plan_destroy(&p);
}

/* More than one step by size: 72 MiB of src are three steps of at most 32 MiB. */
static void test_steps_by_size(void **state) {
    (void)state;
    const int64_t        shape[] = {9 << 10, 4 << 10};
    const tg_layout      s = dense(TG_F16, 2, shape), d = sticks(TG_F16, shape[0], shape[1], 64);
    const tg_plan_params params = {&d, &s, NULL, 0, 0};
    tg_plan             *p;
    bool                 equal;
    assert_int_equal(tg_plan_create(&p, &params, NULL), TG_OK);
    assert_int_equal(tg_plan_steps(p), 3);
    uint16_t *const src = malloc(72 << 20), *const dst = malloc(72 << 20);
    for (size_t i = 0; i < 36 << 20; i++) src[i] = (uint16_t)(i * 40503u >> 7);
    for (int64_t i = 0; i < 3; i++) assert_int_equal(tg_plan_run_step(p, i, dst, src, NULL, NULL), TG_OK);
    assert_int_equal(tg_plan_verify(&equal, NULL, NULL, p, dst, src, NULL), TG_OK);
    assert_true(equal);
    assert_int_equal(tg_plan_run_step(p, 3, dst, src, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_plan_run_step(p, -1, dst, src, NULL, NULL), TG_ERR_ARGUMENT);
    free(src);
    free(dst);
    tg_plan_destroy(&p);
}

/* ---- what is refused, and how ---- */

static void expect_refusal(const tg_layout *d, const tg_layout *s, tg_status status, const char *words) {
    const tg_plan_params params = {d, s, NULL, 0, 0};
    tg_plan *const       untouched = (tg_plan *)&params;
    tg_plan             *p = untouched;
    tg_error             err = {TG_OK, 0, 0, ""};
    assert_int_equal(tg_plan_create(&p, &params, &err), status);
    assert_int_equal(err.status, status);
    if (strstr(err.message, words) == NULL) fail_msg("\"%s\" is not in \"%s\"", words, err.message);
    assert_true(p == untouched);
    assert_int_equal(tg_plan_create(&p, &params, NULL), status);
}

static void test_refusals(void **state) {
    (void)state;
    const int64_t   a[] = {2, 3}, b[] = {3, 2}, zero[] = {0, 1}, back[] = {-3, 1};
    const tg_layout l = dense(TG_F16, 2, a), other = dense(TG_F16, 2, b), wide = dense(TG_F32, 2, a);
    tg_layout       overlap, negative, odd = l, fp9 = l;
    assert_int_equal(tg_layout_strided(&overlap, TG_F16, 2, a, zero, 0, NULL), TG_OK);
    assert_int_equal(tg_layout_strided(&negative, TG_F16, 2, a, back, 0, NULL), TG_OK);
    odd.elem_bits = 24;
    fp9.format = TG_SENINT8;
    fp9.elem_bits = 8;
    expect_refusal(&other, &l, TG_ERR_ARGUMENT, "dst [3,2], src [2,3]");
    expect_refusal(&wide, &l, TG_ERR_ARGUMENT, "dst f32, src f16");
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
    tg_plan        *p = NULL;
    tg_plan_params  params = {&l, &l, NULL, -1, 0};
    assert_int_equal(tg_plan_create(&p, &params, NULL), TG_ERR_ARGUMENT);
    params.threads = 0;
    params.zero = 7;
    assert_int_equal(tg_plan_create(&p, &params, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_plan_create(NULL, &params, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_plan_create(&p, NULL, NULL), TG_ERR_ARGUMENT);
    tg_plan_destroy(&p);
}

static void test_overflow(void **state) {
    (void)state;
    const int64_t shape[] = {30, 40};
    tg_layout     s = dense(TG_S64, 2, shape), d = s;
    d.format = TG_IEEE_INT32;
    d.elem_bits = 32;
    const tg_plan_params params = {&d, &s, NULL, 0, 0};
    tg_plan             *p;
    tg_error             err = {TG_OK, 0, 0, ""};
    static int64_t       src[1200];
    static int32_t       dst[1200];
    bool                 equal;
    int64_t              coord[TG_MAX_NDIM], offset;
    assert_int_equal(tg_plan_create(&p, &params, NULL), TG_OK);
    for (int i = 0; i < 1200; i++) src[i] = i - 600;
    assert_int_equal(tg_plan_run(p, dst, src, NULL, &err), TG_OK);
    for (int i = 0; i < 1200; i++) assert_int_equal(dst[i], i - 600);
    src[1003] = 2147483648;
    assert_int_equal(tg_plan_run(p, dst, src, NULL, &err), TG_ERR_OVERFLOW);
    assert_string_equal(err.message, "value 2147483648 at element 1003 of src does not fit IEEE_INT32 in 32 bits");
    assert_int_equal(tg_plan_verify(&equal, coord, &offset, p, dst, src, NULL), TG_OK);
    assert_false(equal);
    assert_true(coord[0] * 40 + coord[1] == offset && offset <= 1003);
    tg_plan_destroy(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pairs),    cmocka_unit_test(test_sticks),        cmocka_unit_test(test_views),
        cmocka_unit_test(test_fusing),          cmocka_unit_test(test_stick_rectangle),
        cmocka_unit_test(test_steps_by_size),   cmocka_unit_test(test_refusals),      cmocka_unit_test(test_overflow),
    };
    random_state = 20260802;
    return cmocka_run_group_tests_name("relayout", tests, NULL, NULL);
}
