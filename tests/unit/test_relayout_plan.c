/* What plans are made of two layouts, and which are refused; that what they move is right, test_relayout.c says. */
#include "layouts.h"
#include "relayout/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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
}

/* Some rows of sticks at a time, all columns; the last stick of a row is shorter and has a tail. */
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
    assert_int_equal(nest->nboxes, 1);
    assert_int_equal(nest->box[0].block.cols, 128);
    assert_int_equal(nest->box[0].block.ragged, TG_RAGGED_ROWS);
    assert_int_equal(nest->box[0].block.last, 104);
    assert_int_equal(nest->box[0].block.tail, 24);
}

/* A small move of two layouts as text, of coordinates [begin, end) of the last dimension (end 0: of everything), with
 * 1, 2, 3 ... and padding of 0xA5. */
static const tg_nest *move_small(tg_plan *p, const char *dst_text, const char *src_text, int64_t begin, int64_t end) {
    static uint8_t src[1 << 14], dst[1 << 14];
    static const uint8_t pad[16] = {0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5, 0xA5};
    tg_desc        s, d;
    tg_error       err;
    bool           equal = false;
    int64_t        from[TG_MAX_NDIM] = {0}, to[TG_MAX_NDIM];
    assert_int_equal(tg_desc_parse(&s, src_text, strlen(src_text), NULL), TG_OK);
    assert_int_equal(tg_desc_parse(&d, dst_text, strlen(dst_text), NULL), TG_OK);
    memcpy(to, d.layout.shape, sizeof to);
    from[d.layout.ndim - 1] = begin;
    if (end > 0) to[d.layout.ndim - 1] = end;
    const bool           all = end == 0;
    const tg_plan_params params = {.dst = &d.layout, .src = &s.layout, .pad = pad, .convert = true,
                                   .begin = all ? NULL : from, .end = all ? NULL : to};
    for (size_t i = 0; i < sizeof src; i++) src[i] = (uint8_t)(i % 2 == 0 ? i / 2 : 0x3c + i / 512);
    memset(dst, 0xEE, sizeof dst);
    if (tg_plan_init(p, &params, &err) != TG_OK) fail_msg("%s", err.message);
    assert_int_equal(tg_plan_run(p, dst, src, NULL, NULL), TG_OK);
    assert_int_equal(tg_plan_verify(&equal, NULL, NULL, &params, dst, src, NULL), TG_OK);
    if (!equal) fail_msg("%s -> %s", src_text, dst_text);
    return &tg_plan_see(p)->as.nest;
}

/* Of a small move, the box of a shorter run is that of the full one with other runs; unless these are short enough to
 * be elements, or go on in another loop. */
static void test_small_ragged(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"f16[2,8,120]", "f16[2,8,120] spyre device_dtype=IEEE_FP16"},
        {"f16[2,8,120]", "f16[2,8,120] spyre"},
        {"f32[2,8,120]", "f32[2,8,120] spyre device_dtype=BFLOAT16"},
        {"f16[2,8,66]", "f16[2,8,66] spyre device_dtype=IEEE_FP16"},
        {"f16[2,8,65]", "f16[2,8,65] spyre device_dtype=IEEE_FP16"},
        {"f16[2,8,120] spyre device_dtype=IEEE_FP16", "f16[2,8,120]"},
        {"f16[2,8,68] spyre device_dtype=IEEE_FP16", "f16[2,8,68]"},
        {"u8[3,12,140]{2,1,0:T(4,128)}", "u8[3,12,140]{2,0,1:T(2,128)}"},
    };
    tg_plan p;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        (void)move_small(&p, texts[i][1], texts[i][0], 0, 0);
        (void)move_small(&p, texts[i][1], texts[i][0], 60, 65);
        (void)move_small(&p, texts[i][1], texts[i][0], 3, 65);
    }
    const tg_nest *nest = move_small(&p, texts[0][1], texts[0][0], 0, 0);
    assert_int_equal(nest->nboxes, 2);
    assert_int_equal(nest->box[0].block.cols, 128);
    assert_int_equal(nest->box[1].block.cols, 112);
    assert_int_equal(nest->box[1].block.tail, 16);
    assert_int_equal(nest->box[1].block.rows, nest->box[0].block.rows);
    nest = move_small(&p, "f16[4,192] spyre device_dtype=IEEE_FP16", "f16[4,192] strides=[64,1]", 100, 192);
    assert_int_equal(nest->nboxes, 2);
    assert_int_equal(nest->box[0].block.cols, 56);
    assert_int_equal(nest->box[1].block.cols, 512);
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
}

/* What --explain says of a box are its own bytes, and stores and shares go by them. */
static void test_bytes_of_a_box(void **state) {
    (void)state;
    const int64_t        shape[] = {256, 128}, begin[] = {0, 0}, end[] = {128, 128};
    const tg_layout      s = dense(TG_F16, 2, shape), d = sticks(TG_F16, 256, 128, 64);
    const tg_plan_params params = {.dst = &d, .src = &s, .begin = begin, .end = end};
    tg_plan              p;
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    assert_int_equal(tg_plan_see(&p)->bytes, 2 * 128 * 128 * 2);
}

static void expect_words(const char *src, const char *dst, const char *words) {
    tg_desc              s, d;
    tg_plan              p;
    char                 text[1000];
    const tg_plan_params params = {.dst = &d.layout, .src = &s.layout, .convert = true};
    assert_int_equal(tg_desc_parse(&s, src, strlen(src), NULL), TG_OK);
    assert_int_equal(tg_desc_parse(&d, dst, strlen(dst), NULL), TG_OK);
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    assert_true(tg_plan_describe(text, sizeof text, &p) < sizeof text);
    if (strstr(text, words) == NULL) fail_msg("\"%s\" is not in \"%s\"", words, text);
}

/* 255 elements of 4 bits are 128 bytes. */
static void test_words_for_packed(void **state) {
    (void)state;
    expect_words("s4[17,15]{1,0:E(4)}", "s4[17,15]{1,0:E(4)}", "256 bytes in and out");
    expect_words("s4[17,15]{1,0:T(6,6)E(4)}", "s4[17,15]{1,0:T(4,4)E(4)}",
                 "one thread because two could write the same byte");
    expect_words("s8[64,64]", "s4[64,64]{1,0:E(4)}", "dst packed, src 1\n");
    expect_words("s4[64,64]{1,0:E(4)}", "s8[64,64]", "dst 1, src packed\n");
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

/* Storage behind the last element that does not fill a byte, and the second half of a tensor, which is shared out with
 * it. Elements that are spread to bytes, or joined, may begin inside a byte of a box, others that are converted not:
 * there was no reason to tell, and telling it crashed. */
static void test_packed_rest(void **state) {
    (void)state;
    const int64_t   shape[] = {4}, second_half[] = {2}, odd[] = {1};
    const uint8_t   pad = 9, from[] = {0x21, 0x43}, bytes[] = {1, 2, 3, 4};
    uint8_t         to[] = {0xff, 0xff, 0xff};
    tg_layout       s = dense(TG_S4, 1, shape), d;
    const tg_mode   digit = {4, 1, 1, 1, 0, TG_TO_MEMORY};
    tg_plan         p;
    tg_error        err;
    tg_plan_params  params = {.dst = &d, .src = &s, .pad = &pad, .begin = second_half, .convert = true};
    s.elem_bits = 4;
    assert_int_equal(tg_layout_begin(&d, TG_S4, TG_FORMAT_NATIVE, 4, 1, shape, NULL), TG_OK);
    assert_int_equal(tg_layout_push(&d, digit, NULL), TG_OK);
    d.span = 5;
    assert_int_equal(tg_layout_end(&d, NULL), TG_OK);
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    assert_int_equal(tg_plan_run(&p, to, from, NULL, NULL), TG_OK);
    assert_int_equal(to[0], 0xff);
    assert_int_equal(to[1], 0x43);
    assert_int_equal(to[2], 0xf9);
    s.elem_bits = 8;
    params.begin = odd;
    assert_int_equal(tg_plan_init(&p, &params, &err), TG_OK);
    assert_int_equal(tg_plan_run(&p, to, bytes, NULL, NULL), TG_OK);
    assert_int_equal(to[0], 0x2f);
    assert_int_equal(to[1], 0x43);
    assert_int_equal(to[2], 0xf9);
    s = dense(TG_S32, 1, shape);
    assert_int_equal(tg_plan_init(&p, &params, &err), TG_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "packed elements begin inside a byte"));
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
    params.without = TG_CPU_NEON << 1;
    tg_error err = {TG_OK, 0, 0, ""};
    assert_int_equal(tg_plan_init(&p, &params, &err), TG_ERR_ARGUMENT);
    assert_non_null(strstr(err.message, "`without` is 8, and has bits besides those of tg_cpu, 7"));
    params.without = TG_CPU_AVX2 | TG_CPU_AVX512 | TG_CPU_NEON;
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    params.without = 0;
    params.hint = 7;
    memset(&p, 0xa5, sizeof p);
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_ERR_ARGUMENT);
    uint8_t             bytes[16] = {1};
    const int64_t       beyond[] = {2, 4};
    const tg_plan_params box = {.dst = &l, .src = &l, .end = beyond};
    for (int i = 0; i < 2; i++) { /* what was refused moves nothing, and says so */
        char text[200];
        (void)tg_plan_describe(text, sizeof text, &p);
        assert_string_equal(text, "nothing to move: 0 bytes in and out, 1 group, stores into the caches\n");
        assert_int_equal(tg_plan_steps(&p), 1);
        assert_int_equal(tg_plan_run(&p, bytes, bytes, NULL, NULL), TG_OK);
        assert_int_equal(tg_plan_run_step(&p, 0, bytes, bytes, NULL, NULL), TG_OK);
        assert_int_equal(bytes[0], 1);
        memset(&p, 0xa5, sizeof p);
        assert_int_equal(tg_plan_init(&p, &box, NULL), TG_ERR_ARGUMENT);
    }
    assert_int_equal(tg_plan_init(NULL, &params, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_plan_init(&p, NULL, NULL), TG_ERR_ARGUMENT);
}

/* Steps so large that their products do not fit: a fold's step that leaves the tensor at once is none, and where 4
 * steps of 2^61 bytes would be multiplied there is no plan. Both were signed overflows. */
static void test_far_apart(void **state) {
    (void)state;
    static const char *const folded = "s8[137438953472,53153]{0,1:T(*,3)(4294967296,1)}",
                            *const column = "s8[137438953472,53153]{0,1}";
    static const char *const distant = "s8[4,180] strides=[2305843009213693952,1]";
    const int64_t shape[] = {4, 180};
    tg_desc       d, s;
    tg_plan       p;
    assert_int_equal(tg_desc_parse(&d, folded, strlen(folded), NULL), TG_OK);
    assert_int_equal(tg_desc_parse(&s, column, strlen(column), NULL), TG_OK);
    assert_int_equal(plan_of(&p, &d.layout, &s.layout)->way, TG_WAY_WALK);
    assert_int_equal(tg_desc_parse(&d, distant, strlen(distant), NULL), TG_OK);
    const tg_layout l = dense(TG_S8, 2, shape);
    expect_refusal(&d.layout, &l, TG_ERR_OVERFLOW, "the storage of dst has 6917529027641082036 elements of 8 bits");
    expect_refusal(&l, &d.layout, TG_ERR_OVERFLOW, "the storage of src");
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

/* One integer that does not fit, at each place of src in turn: it is the one that is named, whichever way it went. */
static void expect_misfits(const char *from, const char *to) {
    tg_desc              src, dst;
    tg_plan              p;
    tg_error             err;
    static int16_t       in[1 << 16];
    static uint8_t       out[1 << 16];
    char                 told[64];
    int                  found = 0;
    assert_int_equal(tg_desc_parse(&src, from, strlen(from), NULL), TG_OK);
    assert_int_equal(tg_desc_parse(&dst, to, strlen(to), NULL), TG_OK);
    const tg_plan_params params = {.dst = &dst.layout, .src = &src.layout, .convert = true};
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    assert_true(src.layout.span <= 1 << 16 && dst.layout.span <= 1 << 16);
    const int step = src.layout.span <= 4096 ? 1 : 61; /* of large ones not every element is tried */
    for (int i = 0; i < src.layout.span; i += step) {
        in[i] = 3000;
        (void)snprintf(told, sizeof told, "value 3000 at element %d of", i);
        if (tg_plan_run(&p, out, in, NULL, &err) != TG_OK) {
            if (strncmp(err.message, told, strlen(told)) != 0) fail_msg("%s to %s: %s %s", from, to, told, err.message);
            found++;
        }
        in[i] = 0;
    }
    assert_int_equal(found, (tg_layout_numel(&src.layout) + step - 1) / step); /* padding may be anything */
}

static void test_overflow_anywhere(void **state) {
    (void)state;
    expect_misfits("s16[16,140]", "s8[16,140]{1,0:T(8,128)}");
    expect_misfits("s16[16,140]", "s8[16,140]{1,0:T(8,128)(2,1)}");
    expect_misfits("s16[16,140]", "s8[16,140]{0,1}");
    expect_misfits("s16[16,140]", "s4[16,140]{1,0:T(8,128)(8,1)E(4)}");
    expect_misfits("s16[16,140]{1,0:T(8,128)}", "s8[16,140]{0,1}");
    expect_misfits("s16[150,400]", "s8[150,400]{0,1}"); /* more than a buffer holds */
    expect_misfits("s16[16,140]{1,0:T(8,128)(4,1)}", "s8[16,140]");
    expect_misfits("s16[16,140]{0,1}", "s8[16,140]{1,0:T(8,128)(2,1)}"); /* by units of two elements */
    expect_misfits("s16[16,140]{0,1}", "s4[16,140]{1,0:T(8,128)(4,1)E(4)}");
    expect_misfits("s16[4,5,6,7]", "s8[4,5,6,7]{0,1,2,3}");
}

/* The same of packed elements on both sides: 9 as u4 is no s4. */
static void expect_packed_misfits(const char *from, const char *to) {
    tg_desc        src, dst;
    tg_plan        p;
    tg_error       err;
    static uint8_t in[2048], out[2048];
    char           told[64];
    assert_int_equal(tg_desc_parse(&src, from, strlen(from), NULL), TG_OK);
    assert_int_equal(tg_desc_parse(&dst, to, strlen(to), NULL), TG_OK);
    const tg_plan_params params = {.dst = &dst.layout, .src = &src.layout, .convert = true};
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    assert_int_equal(tg_plan_run(&p, out, in, NULL, NULL), TG_OK);
    for (int i = 0; i < src.layout.span; i++) {
        in[i / 2] = (uint8_t)(9 << i % 2 * 4);
        (void)snprintf(told, sizeof told, "value 9 at element %d of", i);
        assert_int_equal(tg_plan_run(&p, out, in, NULL, &err), TG_ERR_OVERFLOW);
        if (strncmp(err.message, told, strlen(told)) != 0) fail_msg("%s to %s: %s %s", from, to, told, err.message);
        in[i / 2] = 0;
    }
}

static void test_packed_overflow(void **state) {
    (void)state;
    expect_packed_misfits("u4[16,50]{1,0:E(4)}", "s4[16,50]{1,0:E(4)}");
    expect_packed_misfits("u4[16,50]{1,0:E(4)}", "s4[16,50]{0,1:E(4)}");
    expect_packed_misfits("u4[16,50]{1,0:E(4)}", "s4[16,50]{1,0:T(2,128)(2,1)E(4)}");
    expect_packed_misfits("u4[16,50]{1,0:E(4)}", "s4[16,50]");
    expect_packed_misfits("u4[16,50]{1,0:E(4)}", "s4[16,50]{0,1}");
    expect_packed_misfits("u4[16,50]{0,1:E(4)}", "s4[16,50]{1,0:T(8,128)(4,1)E(4)}");
    expect_packed_misfits("u4[7,9]{1,0:E(4)}", "s4[7,9]{0,1:E(4)}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fusing),         cmocka_unit_test(test_stick_blocks), cmocka_unit_test(test_ways),
        cmocka_unit_test(test_small_ragged),
        cmocka_unit_test(test_steps_by_size),  cmocka_unit_test(test_refusals),     cmocka_unit_test(test_box_refusals),
        cmocka_unit_test(test_bytes_of_a_box),
        cmocka_unit_test(test_words_for_packed), cmocka_unit_test(test_packed_rest),  cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_far_apart),     cmocka_unit_test(test_overflow_anywhere),
        cmocka_unit_test(test_packed_overflow),
    };
    return cmocka_run_group_tests_name("relayout plan", tests, NULL, NULL);
}
