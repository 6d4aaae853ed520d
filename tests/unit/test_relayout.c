/* Random pairs of layouts, tiled with weights that need not nest, folded, replicated, padded, reversed, packed, and the
 * judge of moves at each place. */
#include "checked_move.h"
#include "random_layout.h"

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
    enum { MOVES = 2000 / SAMPLED };
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
    assert_true(shared_out > MOVES / (THREAD_SANITIZER ? 8 : 2)); /* small as they are */
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
    if (THREAD_SANITIZER) skip();
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_pairs), cmocka_unit_test(test_each_place)};
    random_state = 20260802;
    return cmocka_run_group_tests_name("relayout", tests, NULL, NULL);
}
