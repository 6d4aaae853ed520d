/* Moves against naive loops: random pairs of layouts, tiled with weights that need not nest, folded,
 * replicated, padded, reversed, packed; with canaries around buffers that begin at any byte. */
#include "crew.h"
#include "layouts.h"
#include "random_layout.h"
#include "relayout/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t move_seed; /* set random_state to move_seed to have a move again */

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

/* Sizes that cut even small moves into many blocks, groups, steps and tasks, and make any of them stream. */
static tg_tuning random_tuning(void) {
    const tg_tuning t = {.block_bytes = 1 + random_below(3000),
                         .block_bytes_min = 1 + random_below(200),
                         .run_grain = TG_PAD_PATTERN * (1 + random_below(4)),
                         .copy_rows = 1 + random_below(20),
                         .transpose_bytes = 1 + random_below(256),
                         .group_bytes = 1 + random_below(2000),
                         .group_bytes_min = 1 + random_below(300),
                         .step_bytes = 1 + random_below(4000),
                         .task_bytes = 1 + random_below(2000),
                         .shared_bytes = random_below(2) == 0 ? 0 : INT64_MAX,
                         .stream_bytes = random_below(2) == 0 ? 0 : INT64_MAX,
                         .far_bytes = random_below(2) == 0 ? 0 : INT64_MAX,
                         .memory_bytes = random_below(2) == 0 ? 0 : INT64_MAX};
    return t;
}

static int shared_out; /* calls of executors, which are given several tasks each */

static void run_backwards(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    ++*(int *)context;
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

/* A plan as it would be made by default, or cut to pieces; all of it, or in steps. */
typedef struct way {
    const char        *name;
    bool               tuned, steps;
    const tg_executor *executor;
} way;

static const tg_executor backwards = {run_backwards, &shared_out, 3}, crowd = {crew_run, &shared_out, CREW};

static const way ways[] = {
    {"at once", false, false, NULL},       {"on threads", true, false, &crowd},   {"tuned", true, false, NULL},
    {"in steps", true, true, &backwards},  {"backwards", true, false, &backwards},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void run_way(const way *w, const tg_plan *p, buffer dst, buffer src) {
    tg_error err;
    if (!w->steps) {
        assert_int_equal(tg_plan_run(p, dst.data, src.data, w->executor, &err), TG_OK);
        return;
    }
    for (int64_t i = 0, n = tg_plan_steps(p); i < n; i++) /* 0, then backwards */
        assert_int_equal(tg_plan_run_step(p, i == 0 ? 0 : n - i, dst.data, src.data, w->executor, &err), TG_OK);
}

static void check_move(const tg_layout *d, const tg_layout *s) {
    uint8_t        pad[16];
    const bool     padded = random_below(2) == 0;
    tg_plan_params params = {
        .dst = d, .src = s, .pad = padded ? pad : NULL, .threads = (int32_t)random_below(4), .convert = true};
    tg_plan        p;
    for (size_t i = 0; i < sizeof pad; i++) pad[i] = (uint8_t)random_bits();
    params.without = cpus[random_below(4)];
    params.hint = (uint32_t)random_below(3);
    const buffer src = buffer_make(s), blank = buffer_make(d), want = buffer_copy(blank);
    naive(want.data, src.data, d, s, params.pad);
    for (int i = 0; i < WAYS; i++) {
        const buffer dst = buffer_copy(blank);
        make_plan(&p, &params, ways[i].tuned);
        run_way(&ways[i], &p, dst, src);
        expect_same(ways[i].name, &params, &p, dst, want);
        if (i == 0) check_verify(&params, dst, src, padded);
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
    enum { MOVES = 2000 };
    for (int i = 0; i < MOVES; i++) {
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
    assert_true(shared_out > MOVES / 2); /* small as they are */
}

/* ---- the judge ---- */

typedef struct verified {
    const char *dst, *src;
} verified;

/* One wrong bit at any place is found, and is told by its coordinate; padding too, where it counts. */
static void break_each_place(const tg_plan_params *params, buffer dst, buffer src) {
    const tg_layout *d = params->dst;
    for (int64_t at = 0; at < d->span; at++) {
        int64_t       coord[TG_MAX_NDIM] = {0}, want[TG_MAX_NDIM] = {-1}, offset = -1;
        tg_slot       slot;
        bool          equal;
        const tg_word right = tg_ref_load(dst.data, at, d->elem_bits), wrong = {right.lo ^ 1, right.hi};
        assert_int_equal(tg_layout_coord(&slot, want, d, at, NULL), TG_OK);
        tg_ref_store(dst.data, at, d->elem_bits, wrong);
        assert_int_equal(tg_plan_verify(&equal, coord, &offset, params, dst.data, src.data, NULL), TG_OK);
        tg_ref_store(dst.data, at, d->elem_bits, right);
        assert_int_equal(equal, slot != TG_SLOT_DATA && params->pad == NULL);
        if (equal) continue;
        assert_int_equal(offset, at);
        assert_memory_equal(coord, want, (size_t)(slot == TG_SLOT_DATA ? d->ndim : 1) * sizeof coord[0]);
    }
}

static void test_each_place(void **state) {
    (void)state;
    static const verified rows[] = {
        {"u8[]", "u8[]"},
        {"f16[3,130] spyre", "f16[3,130]"}, /* converted */
        {"f16[3,130]", "f16[3,130] spyre"},
        {"f32[3,130] spyre dim_order=[1,0]", "f32[3,130]"},
        {"bf16[9,130]{1,0:T(8,128)(2,1)}", "bf16[9,130]{0,1}"},
        {"u8[7,5,3]{2,1,0:T(*,4)(3,1)}", "u8[7,5,3]{2,1,0:T(2,2)}"}, /* folded */
        {"f32[7,5,3] strides=[-15,-3,-1] offset=104", "f32[7,5,3]{0,1,2:T(*,4)}"},
        {"c128[2,9]{1,0:T(4)}", "c128[2,9]"},
        {"s4[5,9]{1,0:T(2,4)E(4)}", "s4[5,9]"},
    };
    static const uint8_t pad[16] = {0x3a, 0x71, 0x55, 0xee, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tg_desc d, s;
        tg_plan p;
        assert_int_equal(tg_desc_parse(&d, rows[i].dst, strlen(rows[i].dst), NULL), TG_OK);
        assert_int_equal(tg_desc_parse(&s, rows[i].src, strlen(rows[i].src), NULL), TG_OK);
        tg_plan_params params = {.dst = &d.layout, .src = &s.layout, .pad = pad, .convert = true};
        const buffer   src = buffer_make(&s.layout), dst = buffer_make(&d.layout);
        make_plan(&p, &params, false);
        assert_int_equal(tg_plan_run(&p, dst.data, src.data, NULL, NULL), TG_OK);
        break_each_place(&params, dst, src);
        params.pad = NULL;
        break_each_place(&params, dst, src);
        free(src.memory);
        free(dst.memory);
    }
}

/* ---- chosen moves ---- */

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

static tg_layout layout_of(const char *text) {
    tg_desc d;
    assert_int_equal(tg_desc_parse(&d, text, strlen(text), NULL), TG_OK);
    return d.layout;
}

/* Tiles of many loops, some of which have no room as a whole; packed elements that take turns. Both ways. */
static void test_tiles_of_loops(void **state) {
    (void)state;
    static const char *const pairs_of_texts[][2] = {
        {"f16[16,16,16,2]{0,1,2,3}", "f16[16,16,16,2]"},
        {"u8[16,16,16,16]{0,1,2,3}", "u8[16,16,16,16]"},
        {"f32[7,7,7,20]{0,1,2,3}", "f32[7,7,7,20]"},
        {"f16[3,5,7,11,13]{0,1,2,3,4}", "f16[3,5,7,11,13]"},
        {"u8[5,9,4,7,11]{0,1,2,3,4}", "u8[5,9,4,7,11]"},
        {"f64[3,9,5,6,10]{0,1,2,3,4}", "f64[3,9,5,6,10]"},
        {"f16[2,3,2,3,2,3,2,3,2,3]{0,1,2,3,4,5,6,7,8,9}", "f16[2,3,2,3,2,3,2,3,2,3]"},
        {"f32[7,7,7,20]{0,1,2,3}", "f32[7,7,7,20] strides=[2940,420,-60,3] offset=360"},
        {"f32[64,300]{1,0:T(8,128)}", "f32[64,300]{0,1}"},
        {"bf16[80,300]{1,0:T(8,128)(2,1)}", "bf16[80,300]{0,1}"},
        {"f32[256,384]{1,0:T(8,128)}", "f32[256,384]{0,1:T(8,128)}"},
        {"bf16[200,300]{1,0:T(8,128)}", "bf16[200,300]{0,1:T(8,128)}"},
        {"u8[144,272]{1,0:T(16,128)}", "u8[144,272]{0,1:T(8,128)}"},
        {"f64[100,130]{1,0:T(4,32)}", "f64[100,130]{0,1:T(8,16)}"},
        {"c128[40,60]{1,0:T(4,8)}", "c128[40,60]{0,1:T(2,16)}"},
        {"bf16[144,272]{1,0:T(8,128)(2,1)}", "bf16[144,272]{0,1:T(8,128)(2,1)}"},
        {"f32[16,4,32,8,4]{0,1,2,3,4}", "f32[16,4,32,8,4]"}, /* lines are pages apart */
        {"s8[8,16,16,64,4]", "s8[8,16,16,64,4]{0,1,2,3,4}"}, /* and rows come by fours, too few for half a step */
        {"u8[8,16,64,16,4]{0,1,2,3,4}", "u8[8,16,64,16,4]"},
        {"s4[32,384]{1,0:T(8,128)(2,1)E(4)}", "s4[32,384]{1,0:E(4)}"},
        {"s4[32,384]{1,0:T(8,128)(2,1)E(4)}", "s4[32,384]{0,1:E(4)}"},
        {"u2[32,384]{1,0:T(8,128)(4,1)E(2)}", "u2[32,384]{0,1:E(2)}"},
        {"u2[32,384]{1,0:T(8,128)(4,1)E(2)}", "u2[32,384]{1,0:E(2)}"},
        {"s4[128,200]{1,0:E(4)}", "s4[128,200]{0,1:E(4)}"},
        {"u4[48,344]{1,0:E(4)}", "u4[48,344]{0,1:E(4)}"}, /* 16384 / 48 elements are no whole bytes */
        {"u2[24,688]{1,0:E(2)}", "u2[24,688]{0,1:E(2)}"},
        {"u1[24,688]{1,0:E(1)}", "u1[24,688]{0,1:E(1)}"},
        {"u2[130,4,4,24]{3,2,1,0:E(2)}", "u2[130,4,4,24]{0,1,2,3:E(2)}"},
        {"s4[48,512]{1,0:E(4)}", "s4[48,512]{0,1}"},
        {"s4[10,12,14,8]{3,2,1,0:E(4)}", "s4[10,12,14,8]{0,1,2,3:E(4)}"},
    };
    for (size_t i = 0; i < sizeof pairs_of_texts / sizeof pairs_of_texts[0]; i++) {
        const tg_layout a = layout_of(pairs_of_texts[i][0]), b = layout_of(pairs_of_texts[i][1]);
        check_move(&a, &b);
        check_move(&b, &a);
    }
}

/* Converted and transposed, the one or the other first; rows that take turns, too. Both ways. */
static void test_converted_transposes(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"bf16[40,300]{1,0:T(8,128)(2,1)}", "f32[40,300]"},
        {"bf16[70,700]{1,0:T(8,128)(2,1)}", "f32[70,700]{1,0:T(8,128)}"},
        {"bf16[40,300]{1,0:T(8,128)(2,1)}", "f32[40,300]{0,1}"},
        {"f16[9,2000]{1,0:T(8,128)(2,1)}", "bf16[9,2000]"},
        {"f8e4m3fn[40,300]{1,0:T(8,128)(4,1)}", "f32[40,300]"},
        {"f8e5m2[64,500]{1,0:T(8,128)(4,1)}", "bf16[64,500]{1,0:T(8,128)(2,1)}"},
        {"bf16[3000,3]{0,1}", "f32[3000,3]"},
        {"f8e5m2[200,40]{0,1}", "f16[200,40]"},
        {"bf16[7,200,90]{1,2,0}", "f32[7,200,90]"},
        {"bf16[150,200]{0,1}", "f16[150,200]"},
        {"f16[200,150] spyre dim_order=[1,0]", "f16[200,150]"},
        {"bf16[300,70] strides=[1,331]", "f32[300,70] strides=[75,1]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const tg_layout a = layout_of(texts[i][0]), b = layout_of(texts[i][1]);
        check_move(&a, &b);
        check_move(&b, &a);
    }
    /* Lines of src that overlap. */
    const tg_layout rows = layout_of("f32[9,200,4] strides=[4,4,1]"), turned = layout_of("bf16[9,200,4]{1,0,2}");
    check_move(&turned, &rows);
}

/* Dimensions that src walks downwards, or only every second or third element of; one element all along a row. */
static void test_strides(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"f16[70,130]", "f16[70,130] strides=[-1,-70] offset=9099"},
        {"f16[70,130]", "f16[70,130] strides=[-1,70] offset=69"},
        {"f32[70,130]", "f32[70,130] strides=[1,-70] offset=9030"},
        {"u8[70,130]", "u8[70,130] strides=[-130,-1] offset=9099"},
        {"f16[70,130] spyre", "f16[70,130] strides=[-1,70] offset=69"},
        {"f64[9,7,11,13]{0,1,2,3}", "f64[9,7,11,13] strides=[1001,143,13,-1] offset=12"},
        {"f32[70,130]{0,1}", "f32[70,130] strides=[300,2]"},
        {"f32[70,130] strides=[301,2]", "f32[70,130]"},
        {"u8[70,130] strides=[401,3]", "u8[70,130] strides=[-130,-1] offset=9099"},
        {"bf16[70,130] strides=[391,3]", "bf16[70,130] strides=[260,2]"},
        {"u8[30,130] strides=[141,1] offset=5", "u8[30,130]"}, /* gaps, and one before the first element */
        {"f16[5,7,40] strides=[1000,-44,1] offset=264", "f16[5,7,40]{0,1,2}"},
        {"f32[70,130] strides=[1,73]", "f32[70,130] strides=[131,1]"},
        {"f64[2,3,9] strides=[60,20,1]", "f64[2,3,9]"},
        {"f16[70,130]", "f16[70,130] strides=[1,0]"},
        {"u8[5,70,130]{1,2,0}", "u8[5,70,130] strides=[130,0,1]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int times = 0; times < 10; times++) {
            const tg_layout d = layout_of(texts[i][0]), s = layout_of(texts[i][1]);
            check_move(&d, &s);
        }
}

/* Windows of packed elements that overlap: they begin inside of bytes. */
static void test_packed_windows(void **state) {
    (void)state;
    static const tg_dtype types[] = {TG_U4, TG_S2, TG_U1};
    static const int32_t  bits[] = {4, 2, 1};
    const int64_t         shape[] = {6, 512}, short_shape[] = {16, 2}, ones[] = {1, 1}, apart[] = {8, 1};
    for (int i = 0; i < 3; i++)
        for (int wide = 0; wide < 2; wide++) {
            tg_layout s, d = dense(types[i], 2, shape), e = dense(types[i], 2, short_shape);
            d.elem_bits = e.elem_bits = wide ? 8 : bits[i];
            for (int k = 0; k < 3; k++) {
                const int64_t *const of = k < 2 ? shape : short_shape;
                assert_int_equal(tg_layout_strided(&s, types[i], 2, of, k == 1 ? apart : ones, 0, NULL), TG_OK);
                s.elem_bits = bits[i];
                check_move(k < 2 ? &d : &e, &s);
            }
        }
}

/* One row or one column of packed elements to all of them. */
static void test_packed_broadcasts(void **state) {
    (void)state;
    static const char *const texts[] = {"u2[130,192]{1,0:T(16,64)E(2)}", "u1[2,8192]{1,0:E(1)}", "s4[64,96]{0,1:E(4)}",
                                        "s4[64,96]{1,0:T(8,32)}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int k = 0; k < 2; k++) {
            const tg_layout d = layout_of(texts[i]);
            tg_layout       s;
            assert_int_equal(tg_layout_strided(&s, d.dtype, 2, d.shape, (const int64_t[]){k, 1 - k}, 0, NULL), TG_OK);
            s.elem_bits = i == 0 ? 2 : i == 1 ? 1 : 4;
            for (int times = 0; times < 10; times++) check_move(&d, &s);
        }
    const int64_t shape[] = {2, 1024, 8}, strides[] = {8, 0, 1};
    tg_layout     s, d = dense(TG_U1, 3, shape);
    assert_int_equal(tg_layout_strided(&s, TG_U1, 3, shape, strides, 0, NULL), TG_OK);
    s.elem_bits = d.elem_bits = 1;
    check_move(&d, &s);
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

/* One run; and a walk, since tiles of 48 and 64 do not nest. */
/* Digits that do not nest: short runs and long ones, more pieces than are listed at a time, rows in tiles of their own,
 * few rows, folds, and dimensions around them. */
static void test_walks(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"u8[300,96]{1,0:T(300,6)}", "u8[300,96]{1,0:T(300,4)}"},
        {"u8[50,100]{1,0:T(6,6)}", "u8[50,100]{1,0:T(4,4)}"},
        {"f16[20,1500]{1,0:T(20,5)}", "f16[20,1500]{1,0:T(20,3)}"}, /* 700 pieces */
        {"f16[3,5,200]{2,1,0:T(5,48)}", "f16[3,5,200]{2,1,0:T(5,64)}"},
        {"f32[2,300]{1,0:T(2,100)}", "f32[2,300]{1,0:T(2,70)}"},
        {"f64[7,1000]{1,0:T(7,300)}", "f64[7,1000]{1,0:T(7,400)}"},
        {"c128[1000]{0:T(6)}", "c128[1000]{0:T(4)}"},
        {"u8[9,5,40]{2,1,0:T(*,12)}", "u8[9,5,40]{2,1,0:T(3,8)}"},
        {"u8[130,140]{0,1:T(48,48)}", "u8[130,140]{1,0:T(64,64)}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout d = layout_of(rows[i][0]), s = layout_of(rows[i][1]);
        move_seed = random_state;
        for (int times = 0; times < 4; times++) check_move(&d, &s);
        check_move(&s, &d);
    }
}

/* Packed elements that begin inside of bytes: rows of an odd length, turned and not, on either side or both; with
 * padding behind odd runs, several loops on a side, and rows that are walked backwards. */
static void test_loose_boxes(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"s4[70,301]{1,0:E(4)}", "s4[70,301]{0,1:E(4)}"},
        {"s4[71,301]{1,0:E(4)}", "s4[71,301]{0,1:E(4)}"},
        {"u2[35,203]{1,0:E(2)}", "u2[35,203]{0,1:E(2)}"},
        {"u1[33,301]{1,0:E(1)}", "u1[33,301]{0,1:E(1)}"},
        {"s4[301,263]{1,0:E(4)}", "s4[301,263]{0,1:E(4)}"}, /* several blocks of each */
        {"u2[301,531]{1,0:E(2)}", "u2[301,531]{0,1:E(2)}"},
        {"u1[1033,519]{1,0:E(1)}", "u1[1033,519]{0,1:E(1)}"},
        {"s4[3,37,131]{2,1,0:E(4)}", "s4[3,37,131]{1,2,0:E(4)}"},
        {"s4[40,301]{1,0:E(4)}", "s4[40,301]{1,0:T(8,128)(8,1)E(4)}"},
        {"s4[40,301]{1,0:E(4)}", "s4[40,301]{1,0:T(8,128)(2,1)E(4)}"},
        {"u2[40,301]{1,0:E(2)}", "u2[40,301]{1,0:T(64,128)E(2)}"},
        {"u1[3,40,77]{2,1,0:E(1)}", "u1[3,40,77]{1,2,0:E(1)}"},
        {"s4[3,5,7,9,11]{4,3,2,1,0:E(4)}", "s4[3,5,7,9,11]{0,1,2,3,4:E(4)}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout d = layout_of(rows[i][0]), s = layout_of(rows[i][1]);
        const tg_plan_params params = {.dst = &d, .src = &s};
        tg_layout            back = s;
        tg_plan              p;
        move_seed = random_state;
        assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
        assert_int_equal(tg_plan_see(&p)->way, TG_WAY_NEST);
        for (int times = 0; times < 4; times++) {
            check_move(&d, &s);
            check_move(&s, &d);
        }
        if (tg_layout_slice(&back, &d, 0, d.shape[0] - 1, -1, -1, NULL) == TG_OK) check_move(&d, &back);
    }
}

static tg_layout packed_strided(const int64_t *shape, const int64_t *strides) {
    tg_layout l;
    assert_int_equal(tg_layout_strided(&l, TG_U4, 2, shape, strides, 1, NULL), TG_OK);
    l.elem_bits = 4;
    assert_int_equal(tg_layout_validate(&l, NULL), TG_OK);
    return l;
}

/* Lines of packed elements with gaps, in which other lines lie. */
static void test_packed_between_others(void **state) {
    (void)state;
    static const int64_t shape[] = {16, 5}, far[] = {6, 17}, near[] = {1, 12}, two[] = {2, 2}, few[] = {3, 2};
    for (int times = 0; times < 8; times++) {
        const tg_layout d = packed_strided(shape, far), s = packed_strided(shape, near);
        const tg_layout e = packed_strided(two, few), dense_ = layout_of("u4[2,2]{1,0:E(4)}");
        check_move(&d, &s);
        check_move(&e, &dense_);
    }
}

/* Packed elements that pass through bytes: host elements of odd sizes, tiles of which a byte holds two rows of four, an
 * odd number of rows in tiles of several, lines of many loops, and brief runs. None of them goes element by element. */
static void test_packed_as_bytes(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"s4[21,301]", "s4[21,301]{1,0:E(4)}"},
        {"s4[21,301]{0,1}", "s4[21,301]{1,0:E(4)}"},
        {"f4e2m1fn[21,301]", "f4e2m1fn[21,301]{1,0:T(8,128)E(4)}"},
        {"u2[35,203]", "u2[35,203]{0,1:E(2)}"},
        {"s1[33,301]", "s1[33,301]{0,1:E(1)}"},
        {"pred[33,301]", "pred[33,301]{0,1:E(1)}"},
        {"pred[33,301]{1,0:E(1)}", "pred[33,301]{1,0:T(8,128)E(1)}"},
        {"s4[33,301]", "s4[33,301]{1,0:T(8,128)(2,1)E(4)}"},
        {"s4[33,301]{1,0:E(4)}", "s4[33,301]{1,0:T(8,128)(2,1)E(4)}"},
        {"u2[32,384]", "u2[32,384]{1,0:T(8,128)(2,1)E(2)}"},
        {"u2[32,384]{1,0:E(2)}", "u2[32,384]{1,0:T(8,128)(2,1)E(2)}"},
        {"u2[33,301]{0,1:E(2)}", "u2[33,301]{1,0:T(8,128)(2,1)E(2)}"},
        {"u2[37,301]{1,0:E(2)}", "u2[37,301]{1,0:T(16,128)(16,1)E(2)}"},
        {"u1[65,301]{1,0:E(1)}", "u1[65,301]{1,0:T(32,128)(32,1)E(1)}"},
        {"u1[1,301]{1,0:E(1)}", "u1[1,301]{1,0:T(32,128)(32,1)E(1)}"},
        {"s4[64,384]{1,0:T(8,128)E(4)}", "s4[64,384]{0,1:E(4)}"},
        {"s4[19,17,15]{2,1,0:E(4)}", "s4[19,17,15]{1,2,0:E(4)}"},
        {"u2[3,5,7,9,11]{4,3,2,1,0:E(2)}", "u2[3,5,7,9,11]{0,1,2,3,4}"},
        {"s4[2,1000]", "s4[2,1000]{0,1:E(4)}"},
        {"s4[9,301]{1,0:E(4)}", "s4[9,301]{1,0:T(3,5)(3,1)E(4)}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout d = layout_of(rows[i][0]), s = layout_of(rows[i][1]);
        tg_layout       back = s;
        move_seed = random_state;
        for (int k = 0; k < 2; k++) {
            const tg_plan_params params = {.dst = k == 0 ? &d : &s, .src = k == 0 ? &s : &d};
            tg_plan              p;
            assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
            assert_int_equal(tg_plan_see(&p)->way, TG_WAY_NEST);
        }
        for (int times = 0; times < 4; times++) {
            check_move(&d, &s);
            check_move(&s, &d);
        }
        if (tg_layout_slice(&back, &d, 1, d.shape[1] - 1, -1, -1, NULL) == TG_OK) check_move(&s, &back);
    }
}

/* Modes as no notation writes them. */
static tg_layout by_hand(const int64_t *shape, int32_t ndim, const tg_mode *mode, int32_t n, int64_t span) {
    tg_layout l;
    tg_error  err;
    assert_int_equal(tg_layout_strided(&l, TG_U8, ndim, shape, NULL, 0, NULL), TG_OK);
    l.nmodes = n;
    l.span = span;
    memcpy(l.mode, mode, (size_t)n * sizeof mode[0]);
    for (int32_t i = 0; i < n; i++) l.chain[i] = (uint8_t)i;
    if (tg_layout_validate(&l, &err) != TG_OK) fail_msg("%s", err.message);
    return l;
}

/* A dimension of one coordinate with padding above its last digit. */
static void test_padded_ones(void **state) {
    (void)state;
    const int64_t   one[] = {1}, three[] = {1, 3};
    const tg_mode   above[] = {{4, 1, 2, 1, 0, TG_TO_MEMORY}, {1, 1, 1, 1, 0, TG_TO_MEMORY}};
    const tg_mode two[] = {{4, 1, 2, 3, 0, TG_TO_MEMORY}, {1, 1, 1, 3, 0, TG_TO_MEMORY}, {3, 3, 1, 1, 1, TG_TO_MEMORY}};
    const tg_layout d = by_hand(one, 1, above, 2, 4), e = by_hand(three, 2, two, 3, 12);
    tg_layout       s;
    assert_int_equal(tg_layout_strided(&s, TG_U8, 1, one, NULL, 0, NULL), TG_OK);
    check_move(&d, &s);
    check_move(&s, &d);
    assert_int_equal(tg_layout_strided(&s, TG_U8, 2, three, NULL, 0, NULL), TG_OK);
    check_move(&e, &s);
    check_move(&s, &e);
}

/* Copies, whose dimension has no digits in src, do not take in two dimensions that stand still there. */
static void test_copies_of_still_digits(void **state) {
    (void)state;
    const int64_t   shape[] = {6, 4};
    const tg_mode to[] = {
        {6, 6, 1, 8, 0, TG_TO_MEMORY}, {4, 4, 1, 2, 1, TG_TO_MEMORY}, {2, 2, 1, 1, TG_AXIS_COPY, TG_TO_MEMORY}};
    const tg_mode from[] = {{2, 2, 3, 8, 0, TG_TO_MEMORY},
                            {2, 2, 2, 4, 0, TG_TO_MEMORY},
                            {2, 2, 1, 0, 0, TG_TO_MEMORY},
                            {2, 2, 2, 1, 1, TG_TO_MEMORY},
                            {2, 2, 1, 0, 1, TG_TO_MEMORY}};
    const tg_layout d = by_hand(shape, 2, to, 3, 48), s = by_hand(shape, 2, from, 5, 20);
    check_move(&d, &s);
}

static void test_both_ways(void **state) {
    (void)state;
    const int64_t   shape[] = {6, 5, 4, 3};
    const tg_layout l = dense(TG_F32, 4, shape), d = sticks(TG_F16, 96, 960, 64), s = sticks(TG_F16, 96, 960, 48);
    check_move(&l, &l);
    check_move(&d, &s);
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

/* Rows that end with a shorter run: the ragged loop inside blocks, around them and cut in chunks; beside other ragged
 * edges; and where runs are better one long run. */
static void test_ragged_rows(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"f16[40,500]", "f16[40,500] spyre device_dtype=IEEE_FP16"},
        {"f16[5,6,200]", "f16[5,6,200] spyre device_dtype=IEEE_FP16"},
        {"f16[3,2,4,100]", "f16[3,2,4,100]{2,1,3,0}"},
        {"f16[3,2,4,100]", "f16[3,2,4,100]{3,0,2,1:T(2,64)}"},
        {"f32[21,300]", "f32[21,300]{1,0:T(8,128)}"},
        {"f32[3,21,140]", "f32[3,21,140]{2,0,1:T(8,128)}"},
        {"f32[21,300]{1,0:T(8,128)}", "f32[21,300]{1,0:T(4,128)}"},
        {"f32[2,6,140]{2,1,0:T(2,128)}", "f32[2,6,140]{2,0,1:T(2,128)}"},
        {"u8[70,33]", "u8[70,33]{1,0:T(70,32)}"},
        {"f16[9,65]", "f16[9,65]{1,0:T(9,64)}"},
        {"f64[3,6,17,40]{3,2,1,0:T(36,16)}", "f64[3,6,17,40]{3,1,2,0:T(7,18,16)}"},
        {"f32[20,4,1,90] spyre", "f32[20,4,1,90] spyre dim_order=[0,1,2,3]"},
        {"f64[81]{0:T(7,16)}", "f64[81]{0:T(1,69)}"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const tg_layout a = layout_of(texts[i][0]), b = layout_of(texts[i][1]);
        for (int k = 0; k < 20; k++) {
            move_seed = random_state;
            check_move(&b, &a);
            check_move(&a, &b);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pairs), cmocka_unit_test(test_sticks),         cmocka_unit_test(test_views),
        cmocka_unit_test(test_both_ways),    cmocka_unit_test(test_tail_of_chunks),  cmocka_unit_test(test_padded_ones),
        cmocka_unit_test(test_copies_of_still_digits), cmocka_unit_test(test_each_place),
        cmocka_unit_test(test_ragged_rows),            cmocka_unit_test(test_tiles_of_loops),
        cmocka_unit_test(test_converted_transposes),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_packed_windows),         cmocka_unit_test(test_packed_broadcasts),
        cmocka_unit_test(test_walks),                  cmocka_unit_test(test_packed_between_others),
        cmocka_unit_test(test_loose_boxes),
        cmocka_unit_test(test_packed_as_bytes),
    };
    random_state = 20260802;
    return cmocka_run_group_tests_name("relayout", tests, NULL, NULL);
}
