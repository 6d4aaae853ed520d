/* DMA programs against the definition: which element goes where, each once, and with how few descriptors. */
#include "dma_search.h"
#include "random_layout.h"

#include <tegula/transfer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SPAN = 1 << 19, MAX_PROGRAM = 4096 };

static tg_dma  program[MAX_PROGRAM];
static int64_t expected[MAX_SPAN];

static tg_desc parse(const char *text) {
    tg_desc  d;
    tg_error err;
    if (tg_desc_parse(&d, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    return d;
}

/* The host tensor that a text names; of XLA shapes a dense one. */
static tg_layout host_of(const tg_desc *d) {
    const bool is_spyre = d->notation == TG_NOTATION_SPYRE;
    tg_layout  l;
    assert_int_equal(tg_layout_strided(&l, d->layout.dtype, d->layout.ndim, d->layout.shape,
                                       is_spyre ? d->host.strides : NULL, is_spyre ? d->host.offset : 0, NULL), TG_OK);
    return l;
}

static size_t build(const tg_layout *device, const tg_layout *host, tg_dma_direction direction, bool per_mode) {
    const tg_dma_params params = {device, host, direction, per_mode, 0};
    size_t              count;
    tg_error            err;
    if (tg_dma_build(program, MAX_PROGRAM, &count, &params, &err) != TG_OK) fail_msg("%s", err.message);
    if (count > MAX_PROGRAM) fail_msg("%zu descriptors", count);
    return count;
}

/* ---- every element once ---- */

typedef struct judge {
    bool    to_device, all_copies;
    int64_t carried;
} judge;

/* What lies at each place of the written side comes from there; -1: nothing. Copies of the read side do not count. */
static int64_t expect(const tg_layout *written, const tg_layout *read) {
    int64_t coord[TG_MAX_NDIM] = {0}, n = 0, copies[TG_MAX_MODES], size[TG_MAX_MODES], at[TG_MAX_MODES] = {0};
    int32_t ncopies = 0;
    assert_true(written->span <= MAX_SPAN);
    for (int64_t i = 0; i < written->span; i++) expected[i] = -1;
    for (int32_t i = 0; i < written->nmodes; i++) {
        if (written->mode[i].axis != TG_AXIS_COPY) continue;
        copies[ncopies] = written->mode[i].stride;
        size[ncopies++] = written->mode[i].size;
    }
    if (tg_layout_numel(written) == 0) return 0;
    do {
        do {
            int64_t place = tg_layout_offset(written, coord);
            for (int32_t i = 0; i < ncopies; i++) place += at[i] * copies[i];
            n += expected[place] < 0;
            expected[place] = tg_layout_offset(read, coord);
        } while (tg_next_coord(at, size, ncopies));
        memset(at, 0, sizeof at);
    } while (tg_next_coord(coord, written->shape, written->ndim));
    return n;
}

static void walk(judge *j, const tg_dma *dma, int32_t level, int64_t device, int64_t host) {
    if (level < dma->nloops) {
        for (int64_t i = 0; i < dma->loop[level].range; i++)
            walk(j, dma, level + 1, device + i * dma->loop[level].device_stride,
                 host + i * dma->loop[level].host_stride);
        return;
    }
    const int64_t to = j->to_device ? device : host, from = j->to_device ? host : device;
    assert_true(to >= 0 && to < MAX_SPAN);
    if (j->all_copies) { /* which of them does not matter here: each is where the layout has it */
        j->carried += expected[to] >= 0;
        expected[to] = -1;
        return;
    }
    if (expected[to] != from)
        fail_msg("%lld comes from %lld, expected %lld", (long long)to, (long long)from, (long long)expected[to]);
    expected[to] = -1; /* a second time is wrong */
    j->carried++;
}

static bool has_copies(const tg_layout *l) {
    bool any = false;
    for (int32_t i = 0; i < l->nmodes; i++) any |= l->mode[i].axis == TG_AXIS_COPY && l->mode[i].size > 1;
    return any;
}

static size_t check_one(const tg_layout *device, const tg_layout *host, tg_dma_direction direction, bool per_mode) {
    judge j = {direction == TG_HOST_TO_DEVICE, direction == TG_DEVICE_TO_HOST && per_mode && has_copies(device), 0};
    const int64_t n = j.to_device ? expect(device, host) : expect(host, device);
    const size_t  count = build(device, host, direction, per_mode);
    for (size_t i = 0; i < count; i++) walk(&j, &program[i], 0, program[i].device_offset, program[i].host_offset);
    assert_int_equal(j.carried, n);
    return count;
}

/* Both directions, both forms; the number of descriptors host to device. */
static size_t check(const tg_layout *device, const tg_layout *host) {
    const size_t count = check_one(device, host, TG_HOST_TO_DEVICE, false);
    const size_t plain = check_one(device, host, TG_HOST_TO_DEVICE, true);
    check_one(device, host, TG_DEVICE_TO_HOST, false);
    check_one(device, host, TG_DEVICE_TO_HOST, true);
    assert_true(count <= plain);
    return count;
}

/* ---- published programs ---- */

static void test_published(void **state) {
    static const struct {
        const char *layout, *program;
    } rows[] = {
        /* seed 001, "DMA Encoding" */
        {"f16[1024,256] spyre", "((4, 1024, 64), (65536, 64, 1), (64, 256, 1))"},
        /* torch-spyre's worked examples: [100,200] and [3,5,150] have a second descriptor for what remains */
        {"f16[100,200] spyre", "((3, 100, 64), (6400, 64, 1), (64, 200, 1))"
                               "((100, 8), (64, 1), (200, 1)) + (19200, 192)"},
        {"f16[3,5,150] spyre device_size=[5,3,3,64] stride_map=[150,64,750,1]",
         "((5, 2, 3, 64), (576, 192, 64, 1), (150, 64, 750, 1))((5, 3, 22), (576, 64, 1), (150, 750, 1)) + (384, 128)"},
        {"f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "((2400,), (1,), (1,))"},
        {"f16[60] spyre device_size=[1,512,64] stride_map=[64,0,1]", "((512, 60), (64, 1), (0, 1))"},
        {"f16[] spyre", "((), (), ())"},
        {"f16[0,7] spyre", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc   d = parse(rows[i].layout);
        const tg_layout host = host_of(&d);
        const size_t    count = build(&d.layout, &host, TG_HOST_TO_DEVICE, false);
        char            text[4096] = "";
        for (size_t k = 0; k < count; k++)
            tg_dma_format(text + strlen(text), sizeof text - strlen(text), &program[k]);
        assert_string_equal(text, rows[i].program);
        check(&d.layout, &host);
    }
}

/* ---- the number of descriptors of each group, so that a change cannot make it worse unseen ---- */

static void test_numbers_recorded(void **state) {
    static const struct {
        const char *group, *layout, *host;
        size_t      count;
    } rows[] = {
        {"explicit", "f16[40,240] spyre device_size=[4,40,64] stride_map=[64,240,1]", NULL, 2},
        {"explicit, other stick", "f16[40,240] spyre device_size=[1,240,64] stride_map=[15360,1,240]", NULL, 1},
        {"padding", "f16[40,60] spyre device_size=[1,512,64] stride_map=[3840,1,60]", NULL, 1},
        {"expanding", "f16[60] spyre device_size=[1,512,64] stride_map=[64,0,1]", NULL, 1},
        {"folding", "f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", NULL, 1},
        {"folding a slice", "f16[40,60] spyre device_size=[38,64] stride_map=[64,1]", "f16[40,60] strides=[120,1]", 1},
        {"leading ones", "f16[60] spyre device_size=[1,1,64] stride_map=[64,60,1]", NULL, 1},
        {"trailing ones", "f16[60] spyre device_size=[1,1,60,64] stride_map=[1,64,1,1]", NULL, 1},
        {"viewing", "f16[60] spyre device_size=[2,1,2,64] stride_map=[15,64,30,1]", NULL, 1},
        {"tiling", "f16[4800] spyre device_size=[3,2,14,64] stride_map=[120,64,360,1]", NULL, 4},
        {"tiling two", "f16[40,60] spyre device_size=[3,4,3,1,2,64] stride_map=[600,180,60,64,1800,1]", NULL, 2},
        {"permuted", "f16[40,60] strides=[1,40] spyre device_size=[1,60,64] stride_map=[64,40,1]", NULL, 1},
        {"sliced rows", "f16[20,240] strides=[240,1] offset=4800 spyre", NULL, 2},
        {"sliced columns", "f16[40,60] spyre device_size=[1,40,64] stride_map=[64,60,1]",
         "f16[40,60] strides=[120,1] offset=60", 1},
        {"expanded source", "f16[512,60] spyre device_size=[1,512,64] stride_map=[64,60,1]",
         "f16[512,60] strides=[0,1]", 1},
        {"issue 3401", "f16[1,4,4096,128] spyre device_size=[1,4,128,64,64] stride_map=[2097152,524288,1,8192,128]",
         NULL, 1},
        {"conv", "f16[1,3,64,64] spyre device_size=[64,64,1,1,64] stride_map=[1,64,-1,12288,4096]", NULL, 1},
        {"sparse", "f16[100,3] spyre dim_order=[0,1,-1]", NULL, 1},
        {"arrangement", "f16[4,128] spyre arrangement=FP32_TO_DL16", NULL, 1},
        {"xla ragged twice", "f32[100,200]{1,0:T(8,128)}", NULL, 4},
        {"xla two levels", "bf16[32,256]{1,0:T(8,128)(2,1)}", NULL, 1},
        {"tiles that do not nest", "f32[192]{0:T(64)}", "f32[192]{0:T(48)}", 1},
        {"rows that do not nest", "f32[2,192]{1,0:T(2,64)}", "f32[2,192]{1,0:T(2,48)}", 3}, /* 2 are possible */
        {"folds that are none", "f32[1000,100]{1,0:T(*,128)}", "f32[1000,100]{0,1:T(*,128)}", 1},
        {"folds above tiles", "f32[35,104,256]{2,1,0:T(*,8,128)}", "f32[35,104,256]{1,2,0:T(*,8,128)}", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc d = parse(rows[i].layout), h = parse(rows[i].host != NULL ? rows[i].host : rows[i].layout);
        tg_layout     host = rows[i].host != NULL ? h.layout : host_of(&d);
        const size_t  count = build(&d.layout, &host, TG_HOST_TO_DEVICE, false);
        if (count != rows[i].count)
            fail_msg("%s: %zu descriptors, recorded are %zu", rows[i].group, count, rows[i].count);
        if (d.layout.span < MAX_SPAN && host.span < MAX_SPAN && strcmp(rows[i].group, "expanded source") != 0)
            check(&d.layout, &host);
    }
}

/* ---- small scopes ---- */

/* In tiles of outer[d] * inner[d] coordinates, and these in tiles of inner[d]; rows before columns or after. */
static tg_layout tiled(int32_t ndim, const int64_t *shape, const int64_t *outer, const int64_t *inner,
                       bool rows_first) {
    tg_layout l;
    tg_error  err;
    int64_t   bound[TG_MAX_NDIM];
    assert_int_equal(tg_layout_begin(&l, TG_U8, TG_FORMAT_NATIVE, 8, ndim, shape, NULL), TG_OK);
    memcpy(bound, shape, (size_t)ndim * sizeof bound[0]);
    for (int32_t level = 0; level < 3; level++)
        for (int32_t k = 0; k < ndim; k++) {
            const int32_t d = rows_first ? k : ndim - 1 - k;
            const int64_t weight[] = {outer[d] * inner[d], inner[d], 1};
            if (level < 2 && weight[level] == weight[level + 1]) continue; /* not cut here */
            const tg_mode m = {tg_ceil_div(bound[d], weight[level]), 0, weight[level], 1, d, TG_TO_MEMORY};
            assert_int_equal(tg_layout_push(&l, m, NULL), TG_OK);
            bound[d] = weight[level];
        }
    assert_int_equal(tg_layout_make_dense(&l, &err), TG_OK);
    if (tg_layout_end(&l, &err) != TG_OK) fail_msg("%s", err.message);
    return l;
}

/* Tensors of one dimension in tiles of tiles, from an even host: never more descriptors than needed. */
static void test_least_in_one_dimension(void **state) {
    (void)state;
    for (int64_t n = 1; n <= DMA_SEARCH_POINTS; n++)
        for (int64_t outer = 1; outer <= n; outer++)
            for (int64_t inner = 1; inner <= 4; inner++)
                for (int64_t stride = 1; stride <= 2; stride++) {
                    const tg_layout device = tiled(1, &n, &outer, &inner, true);
                    tg_layout       host;
                    assert_int_equal(tg_layout_strided(&host, TG_U8, 1, &n, &stride, 0, NULL), TG_OK);
                    const size_t count = check(&device, &host), least = dma_search_least(&device, &host);
                    if (count != least)
                        fail_msg("[%lld] in %lld of %lld, stride %lld: %zu descriptors, %zu would do", (long long)n,
                                 (long long)outer, (long long)inner, (long long)stride, count, least);
                }
}

static void test_least_in_two_dimensions(void **state) {
    (void)state;
    for (int64_t rows = 1; rows <= 4; rows++)
        for (int64_t cols = 1; rows * cols <= DMA_SEARCH_POINTS; cols++)
            for (int64_t i = 1; i <= rows; i++)
                for (int64_t j = 1; j <= cols; j++)
                    for (int32_t k = 0; k < 4; k++) {
                        const int64_t   shape[] = {rows, cols}, outer[] = {i, j}, inner[] = {1, 1};
                        const int64_t   turned[] = {1, rows};
                        const tg_layout device = tiled(2, shape, outer, inner, k % 2 == 0);
                        tg_layout       host;
                        assert_int_equal(tg_layout_strided(&host, TG_U8, 2, shape, k < 2 ? NULL : turned, 0, NULL),
                                         TG_OK);
                        const size_t count = check(&device, &host), least = dma_search_least(&device, &host);
                        if (count != least)
                            fail_msg("[%lld,%lld] in %lld by %lld, %d: %zu descriptors, %zu would do", (long long)rows,
                                     (long long)cols, (long long)i, (long long)j, k, count, least);
                    }
}

/* Tiles on both sides, which need not nest. */
static void test_both_sides_in_tiles(void **state) {
    size_t more = 0, cases = 0, worst = 0;
    (void)state;
    for (int64_t n = 2; n <= DMA_SEARCH_POINTS; n++)
        for (int64_t i = 1; i <= n; i++)
            for (int64_t j = 1; j <= n; j++) {
                const int64_t   shape[] = {2, n}, a[] = {1, i}, b[] = {1, j}, one[] = {1, 1};
                tg_layout       device = tiled(2, shape, a, one, false), host = tiled(2, shape, b, one, false);
                tg_layout_slice(&device, &device, 0, 0, 1, 1, NULL); /* so that tiles are apart */
                tg_layout_slice(&host, &host, 0, 0, 1, 1, NULL);
                const size_t count = check(&device, &host), least = dma_search_least(&device, &host);
                assert_true(count >= least);
                cases++;
                more += count > least;
                worst = count - least > worst ? count - least : worst;
            }
    printf("tiles on both sides: %zu cases, %zu with more descriptors than needed, by at most %zu\n", cases, more,
           worst);
    assert_int_equal(more, 0);
}

/* ---- random layouts on both sides ---- */

/* The mover of relayout and the interpreter write the same bytes, and leave the same alone. */
static void check_mover(const tg_layout *to, const tg_layout *from) {
    static unsigned char  by_plan[MAX_SPAN], by_program[MAX_SPAN], data[MAX_SPAN];
    static tg_plan        plan;
    const tg_plan_params  plan_params = {.dst = to, .src = from};
    const tg_dma_params   params = {to, from, TG_HOST_TO_DEVICE, false, 0};
    const tg_dma_memory   memory = {.host_bits = 8, .device_bits = 8, .host_span = from->span, .device_span = to->span};
    size_t                count;
    tg_error              err;
    for (int64_t i = 0; i < from->span; i++) data[i] = (unsigned char)random_bits();
    memset(by_plan, 0x5A, (size_t)to->span);
    memset(by_program, 0x5A, (size_t)to->span);
    assert_int_equal(tg_dma_build(program, MAX_PROGRAM, &count, &params, &err), TG_OK);
    if (tg_dma_run(program, count, TG_HOST_TO_DEVICE, by_program, data, &memory, &err) != TG_OK)
        fail_msg("%s", err.message);
    assert_int_equal(tg_plan_init(&plan, &plan_params, &err), TG_OK);
    assert_int_equal(tg_plan_run(&plan, by_plan, data, NULL, &err), TG_OK);
    assert_memory_equal(by_plan, by_program, (size_t)to->span);
}

static void test_random(void **state) {
    const uint64_t seed = getenv("TEGULA_SEED") != NULL ? strtoull(getenv("TEGULA_SEED"), NULL, 0) : 20261122;
    (void)state;
    for (int i = 0; i < 3000; i++) {
        int64_t shape[4];
        random_state = seed + (uint64_t)i;
        const int32_t ndim = (int32_t)random_below(5);
        for (int32_t d = 0; d < ndim; d++) shape[d] = random_below(12) == 0 ? 0 : 1 + random_below(ndim < 3 ? 30 : 6);
        const tg_layout a = random_layout(TG_U8, TG_FORMAT_NATIVE, 8, ndim, shape);
        const tg_layout b = random_layout(TG_U8, TG_FORMAT_NATIVE, 8, ndim, shape);
        if (a.span > MAX_SPAN || b.span > MAX_SPAN) continue;
        check(&a, &b);
        check_mover(&a, &b);
    }
}

/* ---- in parts, with little room ---- */

static void test_parts(void **state) {
    const tg_desc   d = parse("f32[100,200,300]{2,1,0:T(3,8,128)}");
    const tg_layout host = host_of(&d);
    const size_t    count = build(&d.layout, &host, TG_HOST_TO_DEVICE, false);
    static tg_dma   part[3];
    (void)state;
    assert_int_equal(count, 4); /* 200 is 25 tiles of 8 */
    for (size_t first = 0; first < count + 2; first++) {
        const tg_dma_params params = {&d.layout, &host, TG_HOST_TO_DEVICE, false, first};
        size_t              whole = 0;
        assert_int_equal(tg_dma_build(part, 3, &whole, &params, NULL), TG_OK);
        assert_int_equal(whole, count);
        for (size_t i = 0; i < 3 && first + i < count; i++)
            assert_memory_equal(&part[i].loop, &program[first + i].loop,
                                sizeof part[i].loop[0] * (size_t)part[i].nloops);
    }
    const tg_dma_params none = {&d.layout, &host, TG_HOST_TO_DEVICE, false, 0};
    size_t              whole = 0;
    assert_int_equal(tg_dma_build(NULL, 0, &whole, &none, NULL), TG_OK);
    assert_int_equal(whole, count);
}

/* ---- refused ---- */

static void test_refused(void **state) {
    static const struct {
        const char *device, *host, *message;
        tg_dma_direction direction;
    } rows[] = {
        {"f16[2,3]", "f16[3,2]", "the device layout has shape [2,3] and the host layout [3,2]", TG_HOST_TO_DEVICE},
        {"f16[2,3]", "f16[6]", "the device layout has shape [2,3] and the host layout [6]", TG_HOST_TO_DEVICE},
        {"f16[2]", "bf16[2]", "the device holds f16 and the host bf16", TG_HOST_TO_DEVICE},
        {"f16[64] spyre device_dtype=SENINT8", "f16[64]",
         "a transfer cannot convert IEEE_FP16 on the host to SENINT8 on the device", TG_HOST_TO_DEVICE},
        {"f16[2,2] strides=[1,1]", "f16[2,2]", "the device layout has two elements in one place and cannot be written",
         TG_HOST_TO_DEVICE},
        {"f16[2,2]", "f16[2,2] strides=[1,1]", "the host layout has two elements in one place and cannot be written",
         TG_DEVICE_TO_HOST},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_desc       d = parse(rows[i].device), h = parse(rows[i].host);
        const tg_dma_params params = {&d.layout, &h.layout, rows[i].direction, false, 0};
        size_t              count = 77;
        tg_error            err;
        assert_int_not_equal(tg_dma_build(program, MAX_PROGRAM, &count, &params, &err), TG_OK);
        assert_string_equal(err.message, rows[i].message);
        assert_int_equal(count, 77);
    }
}

/* An expanded host tensor is written once, from the first of what would go there. */
static void test_back_to_an_expanded_host(void **state) {
    const tg_desc d = parse("f16[512,60] spyre device_size=[1,512,64] stride_map=[64,60,1]");
    const tg_desc h = parse("f16[512,60] strides=[0,1]");
    char          text[256];
    (void)state;
    assert_int_equal(build(&d.layout, &h.layout, TG_DEVICE_TO_HOST, false), 1);
    tg_dma_format(text, sizeof text, &program[0]);
    assert_string_equal(text, "((60,), (1,), (1,))");
}

/* ---- the interpreter ---- */

static void test_run_leaves_the_rest_alone(void **state) {
    const tg_desc   d = parse("s16[5,100,150] spyre");
    const tg_layout host = host_of(&d);
    enum { HOST = 75000, DEVICE = 96000 };
    static uint16_t from[HOST], device[DEVICE + 2], back[HOST + 2];
    const tg_dma_memory memory = {.host_bits = 16, .device_bits = 16, .host_span = HOST, .device_span = DEVICE};
    int64_t         coord[3] = {0};
    (void)state;
    for (int i = 0; i < HOST; i++) from[i] = (uint16_t)(i * 7 + 1);
    memset(device, 0xEE, sizeof device);
    memset(back, 0xDD, sizeof back);
    size_t n = build(&d.layout, &host, TG_HOST_TO_DEVICE, false);
    assert_int_equal(tg_dma_run(program, n, TG_HOST_TO_DEVICE, device + 1, from, &memory, NULL), TG_OK);
    for (int64_t i = 0; i < DEVICE; i++) {
        tg_slot slot;
        assert_int_equal(tg_layout_coord(&slot, coord, &d.layout, i, NULL), TG_OK);
        assert_int_equal(device[1 + i], slot == TG_SLOT_DATA ? from[tg_layout_offset(&host, coord)] : 0xEEEE);
    }
    assert_int_equal(device[0], 0xEEEE);
    assert_int_equal(device[DEVICE + 1], 0xEEEE);
    n = build(&d.layout, &host, TG_DEVICE_TO_HOST, false);
    assert_int_equal(tg_dma_run(program, n, TG_DEVICE_TO_HOST, device + 1, back + 1, &memory, NULL), TG_OK);
    assert_memory_equal(back + 1, from, sizeof from);
    assert_int_equal(back[0], 0xDDDD);
    assert_int_equal(back[HOST + 1], 0xDDDD);
}

static void test_run_refuses(void **state) {
    tg_dma        dma = {.nloops = 1, .loop[0] = {4, 2, 1, -1, -1, 0}};
    unsigned char device[8] = {0}, host[8] = {1, 2, 3, 4};
    tg_dma_memory memory = {.host_bits = 8, .device_bits = 8, .host_span = 4, .device_span = 7};
    tg_error      err;
    (void)state;
    assert_int_equal(tg_dma_run(&dma, 1, TG_HOST_TO_DEVICE, device, host, &memory, &err), TG_OK);
    assert_int_equal(device[6], 4);
    memory.device_span = 6;
    assert_int_equal(tg_dma_run(&dma, 1, TG_HOST_TO_DEVICE, device, host, &memory, &err), TG_ERR_ARGUMENT);
    assert_string_equal(err.message, "descriptor 0 reaches outside the 6 elements of device memory");
    dma.loop[0].device_stride = INT64_MAX;
    assert_int_equal(tg_dma_run(&dma, 1, TG_HOST_TO_DEVICE, device, host, &memory, &err), TG_ERR_ARGUMENT);
    dma.loop[0].range = 0;
    assert_int_equal(tg_dma_run(&dma, 1, TG_HOST_TO_DEVICE, device, host, &memory, &err), TG_ERR_ARGUMENT);
    dma.nloops = TG_DMA_MAX_LOOPS + 1;
    assert_int_equal(tg_dma_run(&dma, 1, TG_HOST_TO_DEVICE, device, host, &memory, &err), TG_ERR_ARGUMENT);
    memory.host_bits = 16;
    assert_int_equal(tg_dma_run(&dma, 1, TG_HOST_TO_DEVICE, device, host, &memory, &err), TG_ERR_ARGUMENT);
    memory.host_bits = 12;
    assert_int_equal(tg_dma_run(&dma, 1, TG_HOST_TO_DEVICE, device, host, &memory, &err), TG_ERR_ARGUMENT);
}

/* ---- DCI ---- */

/* The fields of an object come behind it, and there is an end. What is in them test_dma.py compares with the dump. */
static void test_dci_fields(void **unused) {
    const tg_desc   desc = parse("f16[] spyre");
    const tg_layout host = host_of(&desc);
    tg_dci_field    field;
    int32_t         index = 0, entries = 0, inside = 0;
    (void)unused;
    for (; tg_dci_get_field(&field, index, &desc, &host, TG_HOST_TO_DEVICE); index++) {
        entries += field.kind == TG_DCI_ENTRIES;
        if (field.kind == TG_DCI_OBJECT) inside += field.n;
        if (strcmp(field.name, "input_shape_") == 0) assert_true(field.n == 1 && field.values[0] == 1);
    }
    assert_true(index == 31 && entries == 1 && inside == 12);
    assert_string_equal(field.name, "pca_");
    assert_false(tg_dci_get_field(&field, -1, &desc, &host, TG_HOST_TO_DEVICE));
    assert_false(tg_dci_get_field(&field, INT32_MAX, &desc, &host, TG_HOST_TO_DEVICE));
}

static void test_dci_entry_fields(void **unused) {
    const tg_dci entry = {.n = 2, .size = {64, 3}, .device_stride = {1, 64}, .host_stride = {5, 7}, .device_offset = 8,
                          .host_offset = 9};
    tg_dci_field field;
    (void)unused;
    for (int direction = 0; direction < 2; direction++) {
        const bool to_device = direction == TG_HOST_TO_DEVICE;
        assert_true(tg_dci_get_entry_field(&field, 0, &entry, (tg_dma_direction)direction));
        assert_true(field.kind == TG_DCI_INTS && field.n == 2 && field.values[0] == 64 && field.values[1] == 3);
        assert_true(tg_dci_get_entry_field(&field, 1, &entry, (tg_dma_direction)direction));
        assert_true(field.kind == TG_DCI_INT && field.value == (to_device ? 9 : 8));
        assert_true(tg_dci_get_entry_field(&field, 4, &entry, (tg_dma_direction)direction));
        assert_string_equal(field.name, "stride_dst_");
        assert_int_equal(field.values[1], to_device ? 64 : 7);
        assert_false(tg_dci_get_entry_field(&field, 5, &entry, (tg_dma_direction)direction));
        assert_false(tg_dci_get_entry_field(&field, -1, &entry, (tg_dma_direction)direction));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_numbers_recorded),
        cmocka_unit_test(test_least_in_one_dimension),
        cmocka_unit_test(test_least_in_two_dimensions),
        cmocka_unit_test(test_both_sides_in_tiles),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_back_to_an_expanded_host),
        cmocka_unit_test(test_run_leaves_the_rest_alone),
        cmocka_unit_test(test_run_refuses),
        cmocka_unit_test(test_dci_fields),
        cmocka_unit_test(test_dci_entry_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
