/* The layout value: what validate refuses, what each function says when it fails, and the limits.
 * That the maps themselves are right is judged by the oracle in tests/python. */
#include <tegula/tegula.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static tg_layout parse(const char *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    return desc.layout;
}

static void expect(tg_status got, tg_status want, const tg_error *err, const char *fragment) {
    if (got != want || err->status != want || strstr(err->message, fragment) == NULL)
        fail_msg("%s \"%s\" instead of %s \"%s\"", tg_status_name(got), err->message, tg_status_name(want), fragment);
}

/* ---- validate ---- */

typedef void (*spoil)(tg_layout *l);

static void no_dims(tg_layout *l) { l->ndim = -1; }
static void many_dims(tg_layout *l) { l->ndim = TG_MAX_NDIM + 1; }
static void bad_dtype(tg_layout *l) { l->dtype = TG_INVALID; }
static void negative_size(tg_layout *l) { l->shape[1] = -3; }
static void many_modes(tg_layout *l) { l->nmodes = TG_MAX_MODES + 1; }
static void few_axes(tg_layout *l) { l->naxes = 1; }
static void bad_axis(tg_layout *l) { l->mode[1].axis = 7; }
static void backward_fold(tg_layout *l) { l->mode[1].into = 0; }
static void zero_weight(tg_layout *l) { l->mode[1].weight = 0; }
static void wrong_count(tg_layout *l) { l->mode[1].count--; }
static void short_mode(tg_layout *l) { l->mode[0].size--; }
static void wrong_chain(tg_layout *l) { l->chain[0] = 3; }
static void wrong_axis_size(tg_layout *l) { l->axis_size[2]++; }
static void small_span(tg_layout *l) { l->span = 95957; }
static void negative_span(tg_layout *l) { l->span = -1; }
static void no_bits(tg_layout *l) { l->elem_bits = 0; }
static void far_stride(tg_layout *l) { l->mode[0].stride = INT64_MAX / 2; }
static void least_stride(tg_layout *l) { l->mode[0].stride = INT64_MIN; }

static const struct {
    const char *name;
    spoil       how;
    tg_status   status;
    const char *fragment;
} refusals[] = {
    {"no_dims", no_dims, TG_ERR_ARGUMENT, "at least 0 dimensions, not -1"},
    {"many_dims", many_dims, TG_ERR_LIMIT, "17 dimensions are over the limit of 16"},
    {"bad_dtype", bad_dtype, TG_ERR_ARGUMENT, "element type 0"},
    {"negative_size", negative_size, TG_ERR_ARGUMENT, "dimension 1 has negative size -3"},
    {"many_modes", many_modes, TG_ERR_ARGUMENT, "49 modes"},
    {"few_axes", few_axes, TG_ERR_ARGUMENT, "1 axes"},
    {"bad_axis", bad_axis, TG_ERR_ARGUMENT, "axis 7"},
    {"backward_fold", backward_fold, TG_ERR_ARGUMENT, "cannot be folded into axis 0"},
    {"zero_weight", zero_weight, TG_ERR_ARGUMENT, "weight 0"},
    {"wrong_count", wrong_count, TG_ERR_ARGUMENT, "mode 1 has count 2; its digit takes 3 values"},
    {"short_mode", short_mode, TG_ERR_ARGUMENT, "mode 0 has 99 positions and needs 100"},
    {"wrong_chain", wrong_chain, TG_ERR_ARGUMENT, "chain entry 0"},
    {"wrong_axis_size", wrong_axis_size, TG_ERR_ARGUMENT, "axis 2 has size 151"},
    {"small_span", small_span, TG_ERR_ARGUMENT, "storage of 95957 elements"},
    {"negative_span", negative_span, TG_ERR_ARGUMENT, "span -1 is negative"},
    {"no_bits", no_bits, TG_ERR_ARGUMENT, "elements of 0 bits"},
    {"far_stride", far_stride, TG_ERR_OVERFLOW, "overflow 63 bits at mode 0"},
    {"least_stride", least_stride, TG_ERR_OVERFLOW, "magnitude does not fit"},
};

static void test_validate_refuses(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        tg_layout l = parse("f16[5,100,150] spyre");
        tg_error  err;
        assert_int_equal(tg_layout_validate(&l, &err), TG_OK);
        refusals[i].how(&l);
        const tg_status s = tg_layout_validate(&l, &err);
        if (s != refusals[i].status) print_error("row %s\n", refusals[i].name);
        expect(s, refusals[i].status, &err, refusals[i].fragment);
        assert_int_equal(tg_layout_validate(&l, NULL), refusals[i].status); /* err may be NULL */
    }
}

static void test_hand_made_value_is_accepted(void **unused) {
    (void)unused;
    tg_layout l;
    memset(&l, 0, sizeof l);
    l.ndim = l.naxes = 1;
    l.nmodes = 2;
    l.dtype = TG_F32;
    l.format = TG_FORMAT_NATIVE;
    l.elem_bits = 32;
    l.span = 12;
    l.shape[0] = l.axis_size[0] = 10;
    l.mode[0] = (tg_mode){4, 4, 1, 3, 0, TG_TO_MEMORY}; /* x % 4 outside, x / 4 inside */
    l.mode[1] = (tg_mode){3, 3, 4, 1, 0, TG_TO_MEMORY};
    l.chain[0] = 1;
    l.chain[1] = 0;
    assert_int_equal(tg_layout_validate(&l, NULL), TG_OK);
    const int64_t seven = 7, nine = 9;
    int64_t       back = -1;
    tg_slot       slot;
    assert_int_equal(tg_layout_offset(&l, &seven), 3 * 3 + 1);
    assert_int_equal(tg_layout_offset(&l, &nine), 1 * 3 + 2);
    assert_int_equal(tg_layout_coord(&slot, &back, &l, 5, NULL), TG_OK);
    assert_int_equal(slot, TG_SLOT_DATA);
    assert_int_equal(back, 9);
    assert_int_equal(tg_layout_coord(&slot, &back, &l, 8, NULL), TG_OK); /* 2 * 3 + 2 would be 10 */
    assert_int_equal(slot, TG_SLOT_PADDING);
}

/* ---- failures of operations ---- */

static void test_operations_say_why(void **unused) {
    (void)unused;
    const tg_layout spyre = parse("f16[5,100,150] spyre"),
                    fold = parse("f16[40,60] spyre device_size=[38,64] stride_map=[64,1]");
    const tg_layout dense = parse("f32[4,6]");
    tg_layout       out;
    tg_error        err;
    const int32_t   twice[] = {0, 0, 1, 2}, far[] = {0, 1, 2, 4}, dims_twice[] = {0, 1, 1};
    const int64_t   shape[] = {7, 2}, flat[] = {60, 40}, negative[] = {-4, -6};

    expect(tg_layout_split(&out, &spyre, 4, 2, &err), TG_ERR_ARGUMENT, &err,
           "mode 4 is not a memory mode; there are 4");
    expect(tg_layout_split(&out, &spyre, -1, 2, &err), TG_ERR_ARGUMENT, &err, "mode -1");
    expect(tg_layout_split(&out, &spyre, 0, 0, &err), TG_ERR_ARGUMENT, &err, "tile 0 of mode 0 must be positive");
    expect(tg_layout_merge(&out, &spyre, 0, &err), TG_ERR_UNREPRESENTABLE, &err, "neighbouring digits");
    expect(tg_layout_merge(&out, &spyre, 3, &err), TG_ERR_ARGUMENT, &err, "mode 4");
    expect(tg_layout_reorder(&out, &spyre, twice, &err), TG_ERR_ARGUMENT, &err, "mode 0 is listed twice");
    expect(tg_layout_reorder(&out, &spyre, far, &err), TG_ERR_ARGUMENT, &err, "mode 4");
    expect(tg_layout_permute(&out, &spyre, dims_twice, &err), TG_ERR_ARGUMENT, &err, "dimension 1 is listed twice");
    expect(tg_layout_transpose(&out, &spyre, 0, 3, &err), TG_ERR_ARGUMENT, &err, "dimension 3 is not in [0, 3)");
    expect(tg_layout_reshape(&out, &dense, 2, shape, &err), TG_ERR_ARGUMENT, &err,
           "[7,2] does not have the 24 elements of [4,6]");
    expect(tg_layout_reshape(&out, &dense, 2, negative, &err), TG_ERR_ARGUMENT, &err, "negative size -4");
    assert_int_equal(tg_layout_reshape(&out, &fold, 2, flat, &err), TG_OK); /* another fold */
    expect(tg_layout_slice(&out, &spyre, 2, 5, 100, 1, &err), TG_ERR_UNREPRESENTABLE, &err, "tiles of 64");
    expect(tg_layout_slice(&out, &fold, 0, 1, 40, 1, &err), TG_ERR_UNREPRESENTABLE, &err, "folded with others");
    expect(tg_layout_slice(&out, &spyre, 2, 0, 151, 1, &err), TG_ERR_ARGUMENT, &err, "leave dimension 2 of size 150");
    expect(tg_layout_slice(&out, &spyre, 2, 0, 10, 0, &err), TG_ERR_ARGUMENT, &err, "step 0");
    expect(tg_layout_expand(&out, &dense, 0, 8, &err), TG_ERR_ARGUMENT, &err, "only size 1 can become 8");
    expect(tg_layout_squeeze(&out, &dense, 1, &err), TG_ERR_ARGUMENT, &err, "has size 6, not 1");
    expect(tg_layout_unsqueeze(&out, &dense, 3, &err), TG_ERR_ARGUMENT, &err, "dimension 3 is not in [0, 3)");
}

static void test_failure_leaves_the_output_alone(void **unused) {
    (void)unused;
    const tg_layout spyre = parse("f16[5,100,150] spyre");
    tg_layout       out, before;
    memset(&out, 0x5a, sizeof out);
    memcpy(&before, &out, sizeof out);
    assert_int_equal(tg_layout_slice(&out, &spyre, 2, 5, 100, 1, NULL), TG_ERR_UNREPRESENTABLE);
    assert_int_equal(tg_layout_split(&out, &spyre, 9, 2, NULL), TG_ERR_ARGUMENT);
    assert_memory_equal(&out, &before, sizeof out);
}

/* An output may alias an input. */
static void test_in_place(void **unused) {
    (void)unused;
    tg_layout     l = parse("f16[5,100,150]"), want = parse("f16[5,100,150] spyre");
    const int32_t order[] = {1, 2, 0, 3};
    bool          equal = false;
    assert_int_equal(tg_layout_split(&l, &l, 2, 64, NULL), TG_OK);
    assert_int_equal(tg_layout_reorder(&l, &l, order, NULL), TG_OK);
    assert_int_equal(tg_layout_equal(&equal, NULL, &l, &want, true, NULL), TG_OK);
    assert_true(equal);
}

/* ---- sizes at the edges of the number range ---- */

static void test_overflow(void **unused) {
    (void)unused;
    const int64_t big[] = {INT64_C(1) << 31, INT64_C(1) << 31}, bigger[] = {INT64_C(1) << 32, INT64_C(1) << 32};
    const int64_t steep[] = {INT64_C(1) << 62, 1}, two[] = {3, 1}, most[] = {INT64_MAX}, one[] = {1},
                  least[] = {INT64_MIN};
    tg_layout     l;
    tg_error      err;
    int64_t       bytes = 0;
    assert_int_equal(tg_layout_strided(&l, TG_U8, 2, big, NULL, 0, &err), TG_OK); /* 2^65 bits, but 2^62 bytes */
    const int64_t last[] = {(INT64_C(1) << 31) - 1, (INT64_C(1) << 31) - 1};
    assert_int_equal(tg_layout_offset(&l, last), (INT64_C(1) << 62) - 1);
    assert_int_equal(tg_layout_nbytes(&bytes, &l, &err), TG_OK);
    assert_int_equal(bytes, INT64_C(1) << 62);
    assert_int_equal(tg_layout_strided(&l, TG_U16, 2, big, NULL, 0, &err), TG_ERR_OVERFLOW); /* 2^63 bytes */
    assert_int_equal(tg_layout_strided(&l, TG_U8, 1, most, NULL, 0, &err), TG_OK);
    assert_int_equal(tg_layout_strided(&l, TG_U8, 2, bigger, NULL, 0, &err), TG_ERR_OVERFLOW);
    assert_int_equal(tg_layout_strided(&l, TG_U8, 2, two, steep, 0, &err), TG_ERR_OVERFLOW);
    assert_int_equal(tg_layout_strided(&l, TG_U16, 1, most, NULL, 0, &err), TG_ERR_OVERFLOW);
    assert_int_equal(tg_layout_strided(&l, TG_U8, 1, one, NULL, INT64_MAX, &err), TG_ERR_OVERFLOW);
    assert_int_equal(tg_layout_strided(&l, TG_U8, 1, one, least, 0, &err), TG_ERR_OVERFLOW);
}

static void test_a_trillion_elements(void **unused) {
    (void)unused;
    const tg_layout a = parse("f16[1000000,1000000] spyre"), b = parse("f16[1000000,1000000]{0,1:T(64,1)}");
    const tg_layout c = parse("f16[1000000,1000000] spyre dim_order=[1,0]");
    bool            equal = false;
    tg_witness      w;
    assert_int_equal(tg_layout_equal(&equal, &w, &a, &b, true, NULL), TG_OK);
    assert_true(equal);
    assert_int_equal(w.what, TG_SAME);
    assert_int_equal(tg_layout_equal(&equal, &w, &a, &c, false, NULL), TG_OK);
    assert_false(equal);
    assert_int_equal(w.what, TG_DIFFERENT_MAP);
    assert_int_equal(w.a, tg_layout_offset(&a, w.coord));
    assert_int_equal(w.b, tg_layout_offset(&c, w.coord));
    assert_int_not_equal(w.a, w.b);
    const int64_t last[] = {999999, 999999};
    int64_t       back[TG_MAX_NDIM];
    tg_slot       slot;
    assert_int_equal(tg_layout_coord(&slot, back, &a, tg_layout_offset(&a, last), NULL), TG_OK);
    assert_int_equal(slot, TG_SLOT_DATA);
    assert_memory_equal(back, last, sizeof last);
}

/* ---- what equality compares ---- */

static void test_what_differs(void **unused) {
    (void)unused;
    static const struct {
        const char *a, *b;
        bool        storage;
        int         what;
    } rows[] = {
        {"f16[3]", "f16[4]", false, TG_DIFFERENT_SHAPE},
        {"f16[3]", "f16[3,1]", false, TG_DIFFERENT_SHAPE},
        {"f16[3]", "f32[3]", false, TG_DIFFERENT_WIDTH},
        {"f16[3]", "bf16[3]", true, TG_SAME}, /* the type is not part of the map */
        {"f16[3]{0:S(1)}", "f16[3]", true, TG_SAME},
        {"f16[3]{0:T(4)}", "f16[3]", false, TG_SAME},
        {"f16[3]{0:T(4)}", "f16[3]", true, TG_DIFFERENT_SPAN},
        {"f16[3] offset=1", "f16[3]", false, TG_DIFFERENT_MAP},
        {"f16[0,3] strides=[7,9]", "f16[0,3]", false, TG_SAME}, /* no element differs */
        {"f16[1,3] strides=[99,1]", "f16[1,3]", false, TG_SAME},
        {"f16[60] spyre device_size=[2,64] stride_map=[0,1]", "f16[60] spyre", false, TG_DIFFERENT_COPIES},
        {"f16[60] spyre device_size=[2,2,64] stride_map=[0,0,1]", "f16[60] spyre device_size=[4,64] stride_map=[0,1]",
         true, TG_SAME},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout a = parse(rows[i].a), b = parse(rows[i].b);
        bool            equal = false;
        tg_witness      w;
        assert_int_equal(tg_layout_equal(&equal, &w, &a, &b, rows[i].storage, NULL), TG_OK);
        if ((int)w.what != rows[i].what) print_error("%s against %s\n", rows[i].a, rows[i].b);
        assert_int_equal(w.what, rows[i].what);
        assert_int_equal(equal, rows[i].what == TG_SAME);
    }
}

/* ---- maps that were wrong once ---- */

static void test_told_maps(void **unused) {
    (void)unused;
    static const struct {
        const char *text;
        int64_t     coord[3], offset;
    } rows[] = {
        /* `*` over a dimension that only exists as padding: its padded size counts */
        {"f16[5]{0:T(3,2)(*,3)}", {3}, 7},
        {"f16[4]{0:T(4,2)(2,*,3)}", {3}, 4},
        /* an arrangement permutes inside the stick, also where rows are shorter than its digits */
        {"f16[13,3] spyre arrangement=FP32_TO_DL16", {12, 2}, 770},
        {"f16[8,5] spyre arrangement=FP32_TO_DL16", {6, 2}, 386},
        {"f16[16,5] spyre arrangement=FP32_TO_DL16", {15, 4}, 15 * 64 + 8},
        /* a stick count with room to spare is padding, not a walk along a flattened host */
        {"f32[8,5] spyre device_size=[2,8,32] dim_map=[1,0,1]", {7, 0}, 224},
        {"f32[5,5,8] spyre device_size=[7,5,3,32] dim_map=[0,1,2,2]", {4, 4, 7}, 4 * 480 + 4 * 96 + 7},
        {"f32[60,8] spyre device_size=[2,62,32] dim_map=[1,0,1]", {59, 7}, 59 * 32 + 7},
        {"f16[40,60] spyre device_size=[2,40,64] stride_map=[64,60,1]", {39, 59}, 39 * 64 + 59},
        {"f16[2,80] spyre device_size=[3,2,64] stride_map=[64,80,1]", {1, 79}, 2 * 64 + 64 + 15},
        /* host offsets with gaps, and a host that steps by two */
        {"f16[3,5] strides=[100,1] spyre device_size=[4,64] stride_map=[64,1]", {2, 4}, 204},
        {"f16[100] strides=[2] spyre device_size=[4,64] stride_map=[64,1]", {99}, 198},
        {"f16[4,60] strides=[0,1] spyre", {1, 0}, 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout l = parse(rows[i].text);
        if (tg_layout_offset(&l, rows[i].coord) != rows[i].offset) print_error("%s\n", rows[i].text);
        assert_int_equal(tg_layout_offset(&l, rows[i].coord), rows[i].offset);
    }
}

/* Digits at rest below ragged ones: offsets 0 0 3 10 10 13. */
static void test_coverage_of_ragged_digits_at_rest(void **unused) {
    (void)unused;
    tg_layout     l = parse("f32[2,2,2] strides=[10,3,0]");
    const int64_t two[] = {2, 4}, one[] = {6};
    int64_t       data = 0;
    assert_int_equal(tg_layout_reshape(&l, &l, 2, two, NULL), TG_OK);
    assert_int_equal(tg_layout_slice(&l, &l, 1, 0, 3, 1, NULL), TG_OK);
    assert_int_equal(tg_layout_reshape(&l, &l, 1, one, NULL), TG_OK);
    assert_int_equal(tg_layout_coverage(NULL, NULL, &data, &l, NULL), TG_OK);
    assert_int_equal(data, 4);
}

/* ---- overlapping strides ---- */

static void test_overlap(void **unused) {
    (void)unused;
    bool      unique = true, exhaustive = false;
    int64_t   data = 0, coord[2] = {-1, -1};
    tg_slot   slot;
    tg_layout l = parse("f32[1000,1000] strides=[1,1]"); /* a sliding window */
    assert_int_equal(tg_layout_coverage(&unique, &exhaustive, &data, &l, NULL), TG_OK);
    assert_false(unique);
    assert_true(exhaustive);
    assert_int_equal(data, 1999);
    assert_int_equal(tg_layout_coord(&slot, coord, &l, 1500, NULL), TG_OK);
    assert_int_equal(slot, TG_SLOT_DATA);
    assert_int_equal(coord[0], 501); /* the first in row-major order */
    assert_int_equal(coord[1], 999);
    l = parse("f32[3,2] strides=[3,2]"); /* 0 2 3 5 6 8 */
    assert_int_equal(tg_layout_coverage(&unique, &exhaustive, &data, &l, NULL), TG_OK);
    assert_true(unique);
    assert_false(exhaustive);
    assert_int_equal(data, 6);
    assert_int_equal(tg_layout_coord(&slot, coord, &l, 4, NULL), TG_OK);
    assert_int_equal(slot, TG_SLOT_PADDING);
    assert_int_equal(tg_layout_coord(&slot, coord, &l, 9, NULL), TG_OK);
    assert_int_equal(slot, TG_SLOT_OUTSIDE);
    l = parse("f32[4,3] strides=[-3,-1] offset=11");
    assert_int_equal(tg_layout_coverage(&unique, &exhaustive, &data, &l, NULL), TG_OK);
    assert_true(unique && exhaustive);
    assert_int_equal(tg_layout_coord(&slot, coord, &l, 0, NULL), TG_OK);
    assert_int_equal(coord[0], 3);
    assert_int_equal(coord[1], 2);
}

static void test_stored_formats(void **unused) {
    static const struct { tg_dtype dtype; tg_format own, stored; } rows[] = {
        {TG_F16, TG_FORMAT_NATIVE, TG_IEEE_FP16}, {TG_F16, TG_SEN169_FP16, TG_SEN169_FP16},
        {TG_F32, TG_IEEE_FP32, TG_IEEE_FP32},     {TG_U8, TG_FORMAT_NATIVE, TG_FORMAT_INVALID},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tg_layout l;
        assert_int_equal(tg_layout_strided(&l, rows[i].dtype, 0, NULL, NULL, 0, NULL), TG_OK);
        l.format = rows[i].own;
        assert_int_equal(tg_layout_stored_format(&l), rows[i].stored);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_validate_refuses),
        cmocka_unit_test(test_hand_made_value_is_accepted),
        cmocka_unit_test(test_operations_say_why),
        cmocka_unit_test(test_failure_leaves_the_output_alone),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_a_trillion_elements),
        cmocka_unit_test(test_what_differs),
        cmocka_unit_test(test_told_maps),
        cmocka_unit_test(test_coverage_of_ragged_digits_at_rest),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_stored_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
