/* tegula/xla.h: bitcasts, factors, indices and sizes at their edges: what is refused and why, sizes that do not fit,
 * no elements, no dimensions. Answers on many random shapes: tests/python/test_xla_util_random.py. */
#include "xla_texts.h"

/* ---- bitcasts ---------------------------------------------------------------------------- */

static const struct { const char *a, *b; bool ignore; tg_xla_difference what; int64_t va, vb; } reshapes[] = {
    {"f32[16,256]{1,0:T(8,128)}", "f32[4096]{0:T(256)(8,128)}", false, TG_XLA_SAME, 0, 0},
    {"f32[16,256]{1,0:T(8,128)}", "f32[2,8,2,128]{3,1,2,0}", false, TG_XLA_SAME, 0, 0},
    {"f32[2,3,4]{2,1,0:T(*,4,4)}", "f32[6,4]{1,0:T(4,4)}", false, TG_XLA_SAME, 0, 0},
    {"f32[0,3]{1,0}", "f32[7,0]{0,1:T(8,128)}", false, TG_XLA_SAME, 0, 0},
    {"f32[]", "f32[1,1]", false, TG_XLA_SAME, 0, 0},
    {"f32[8]{0:S(1)M(4)}", "f32[2,4]{1,0:S(1)M(4)}", false, TG_XLA_SAME, 0, 0},
    {"f32[8]", "s32[8]", true, TG_XLA_SAME, 0, 0},
    {"f32[8]", "s32[8]", false, TG_XLA_DIFFERENT_ELEMENT_TYPE, TG_F32, TG_S32},
    {"f32[8]", "f16[8]", true, TG_XLA_DIFFERENT_WIDTH, 32, 16},
    {"f32[8]", "f32[3,3]", false, TG_XLA_DIFFERENT_DIMENSIONS, 8, 9},
    {"f32[8]{0:S(1)}", "f32[8]", false, TG_XLA_DIFFERENT_MEMORY_SPACE, 1, 0},
    {"f32[8]{0:M(1)}", "f32[8]", false, TG_XLA_DIFFERENT_METADATA_PREFIX, 1, 0},
    {"f32[8]{0:SC(0:4)}", "f32[8]", false, TG_XLA_DIFFERENT_SPLITS, 1, 0},
    {"f32[8]{0:L(16)}", "f32[2,4]", false, TG_XLA_DIFFERENT_SPAN, 16, 8},
    {"f32[1]{0:T(128)}", "f32[]", false, TG_XLA_DIFFERENT_SPAN, 128, 1},
    {"s8[4611686018427387904]", "s8[2147483648,2147483648]{0,1}", false, TG_XLA_DIFFERENT_MAP, 0, 0},
};

static void test_reshape_is_bitcast(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape a, b;
    bool         yes;
    for (size_t i = 0; i < COUNT(reshapes); i++) {
        tg_xla_witness w = {.what = TG_XLA_SAME};
        a = read_array(reshapes[i].a), b = read_array(reshapes[i].b);
        if (tg_xla_reshape_is_bitcast(&yes, &w, &a, &b, reshapes[i].ignore, &e) != TG_OK) fail_msg("%s", e.message);
        assert_int_equal(w.what, reshapes[i].what);
        assert_int_equal(yes, reshapes[i].what == TG_XLA_SAME);
        if (w.what == TG_XLA_DIFFERENT_MAP) continue;
        assert_int_equal(w.a, reshapes[i].va);
        assert_int_equal(w.b, reshapes[i].vb);
    }
    a = read_array("f32[?]");
    FAILS(tg_xla_reshape_is_bitcast(&yes, NULL, &a, &b, false, &e), TG_ERR_UNREPRESENTABLE, "unbounded");
    FAILS(tg_xla_reshape_is_bitcast_untiled(&yes, &b, &a, false, &e), TG_ERR_UNREPRESENTABLE, "unbounded");
    a = read_array("f32[2,2]{0,0}");
    FAILS(tg_xla_reshape_is_bitcast(&yes, NULL, &a, &b, false, &e), TG_ERR_ARGUMENT, "duplicate");
    a.kind = TG_XLA_TOKEN;
    FAILS(tg_xla_reshape_is_bitcast(&yes, NULL, &b, &a, false, &e), TG_ERR_ARGUMENT, "an array is needed");
}

/* `*` combines dimensions 1 and 0, in this order; the reshape cuts dimension 0. No layout of ours says the one in the
 * coordinates of the other, so elements are walked, to a limit. */
static void test_reshape_across_combined_dimensions(void **state) {
    (void)state;
    tg_error           e;
    bool               yes;
    tg_xla_witness     w;
    const tg_xla_shape a = read_array("s8[6,4]{0,1:T(*,4)(2,1)}"), b = read_array("s8[2,3,4]{1,0,2:T(*,*,4)(2,1)}");
    assert_int_equal(tg_xla_reshape_is_bitcast(&yes, NULL, &a, &b, false, NULL), TG_OK);
    assert_true(yes);
    tg_xla_shape c = read_array("s8[2,3,4]{0,1,2:T(*,*,4)(2,1)}");
    assert_int_equal(tg_xla_reshape_is_bitcast(&yes, &w, &a, &c, false, NULL), TG_OK);
    assert_true(!yes && w.what == TG_XLA_DIFFERENT_MAP);
    const tg_xla_shape big = read_array("s8[6000,4000]{0,1:T(*,128)(2,1)}"),
                       cut = read_array("s8[2,3000,4000]{1,0,2:T(*,*,128)(2,1)}");
    FAILS(tg_xla_reshape_is_bitcast(&yes, NULL, &big, &cut, false, &e), TG_ERR_LIMIT,
          "undecided after 4194304 elements");
}

static void test_transposes(void **state) {
    (void)state;
    tg_error       e;
    bool           yes;
    tg_xla_witness w;
    int32_t        perm[TG_MAX_NDIM] = {9, 9};
    tg_xla_shape   a = read_array("f32[16,256]{1,0:T(8,128)}"), b = read_array("f32[256,16]{0,1:T(8,128)}");
    const int32_t  swap[] = {1, 0}, same[] = {0, 1};
    assert_int_equal(tg_xla_transpose_is_bitcast(&yes, NULL, &a, &b, swap, false, NULL), TG_OK);
    assert_true(yes);
    assert_int_equal(tg_xla_transpose_is_bitcast(&yes, &w, &a, &b, same, false, NULL), TG_OK);
    assert_true(!yes && w.what == TG_XLA_DIFFERENT_DIMENSIONS);
    b.layout.ntiles = 0;
    assert_int_equal(tg_xla_transpose_is_bitcast(&yes, &w, &a, &b, swap, false, NULL), TG_OK);
    assert_true(!yes && w.what == TG_XLA_DIFFERENT_MAP);
    assert_int_equal(tg_xla_transpose_is_bitcast_untiled(&yes, &a, &b, swap, false, NULL), TG_OK);
    assert_true(yes);
    assert_int_equal(tg_xla_deduce_transpose(&yes, perm, &a, &b, NULL), TG_OK);
    assert_true(!yes && perm[0] == 9);
    assert_int_equal(tg_xla_deduce_transpose_untiled(&yes, perm, &a, &b, NULL), TG_OK);
    assert_true(yes && perm[0] == 1 && perm[1] == 0);
    b = read_array("f32[4096]");
    FAILS(tg_xla_transpose_is_bitcast(&yes, NULL, &a, &b, swap, false, &e), TG_ERR_ARGUMENT,
          "2 dimensions cannot become 1");
    FAILS(tg_xla_transpose_is_bitcast_untiled(&yes, &a, &b, swap, false, &e), TG_ERR_ARGUMENT, "cannot become");
    FAILS(tg_xla_transpose_is_bitcast(&yes, NULL, &a, &a, (int32_t[]){0, 0}, false, &e), TG_ERR_ARGUMENT, "twice");
    FAILS(tg_xla_transpose_is_bitcast_untiled(&yes, &a, &a, (int32_t[]){0, 5}, false, &e), TG_ERR_ARGUMENT, "[0, 2)");
    assert_int_equal(tg_xla_deduce_transpose(&yes, perm, &a, &b, NULL), TG_OK);
    assert_false(yes);
    assert_int_equal(tg_xla_deduce_transpose_untiled(&yes, perm, &a, &b, NULL), TG_OK);
    assert_false(yes);
}

/* Sizes of 1 are no obstacle to the exact answer; no elements are none to any. */
static void test_deduced_where_orders_differ(void **state) {
    (void)state;
    bool               yes;
    int32_t            perm[TG_MAX_NDIM];
    const tg_xla_shape a = read_array("f32[1,5,1]{0,1,2}"), b = read_array("f32[1,1,5]{0,1,2}");
    assert_int_equal(tg_xla_deduce_transpose(&yes, perm, &a, &b, NULL), TG_OK);
    assert_true(yes && perm[0] == 0 && perm[1] == 2 && perm[2] == 1);
    assert_int_equal(tg_xla_deduce_transpose_untiled(&yes, perm, &a, &b, NULL), TG_OK);
    assert_false(yes);
    const tg_xla_shape zero = read_array("f32[0,3,3]{0,1,2}"), other = read_array("f32[3,0,3]{0,1,2}");
    assert_int_equal(tg_xla_deduce_transpose(&yes, perm, &zero, &other, NULL), TG_OK);
    assert_true(yes && perm[0] == 1 && perm[1] == 0 && perm[2] == 2);
}

static void test_decompose(void **state) {
    (void)state;
    tg_error       e;
    tg_xla_bitcast out;
    tg_xla_shape   a = read_array("f32[16,256]{0,1:T(8,128)}"), b = read_array("f32[4096]{0:T(8,128)}");
    assert_int_equal(tg_xla_decompose_bitcast(&out, &a, &b, NULL), TG_OK);
    assert_int_equal(out.kind, TG_XLA_BITCAST_NONE);
    assert_int_equal(tg_xla_decompose_bitcast_untiled(&out, &a, &b, NULL), TG_OK);
    assert_int_equal(out.kind, TG_XLA_BITCAST_TRT);
    b = read_array("s32[2,2,8,128]{1,0,3,2:T(1,1,8,2)}");
    a = read_array("f32[4,16,64]{1,0,2:T(8,2)}");
    assert_int_equal(tg_xla_decompose_bitcast_untiled(&out, &a, &b, NULL), TG_OK);
    assert_int_equal(out.kind, TG_XLA_BITCAST_TRT);
    assert_text(&out.transpose1_shape, "f32[64,4,16]{2,1,0:T(8,2)}");
    assert_text(&out.reshape_shape, "s32[8,128,2,2]{3,2,1,0:T(1,1,8,2)}");
    b = read_array("f32[16]");
    assert_int_equal(tg_xla_decompose_bitcast(&out, &a, &b, NULL), TG_OK);
    assert_int_equal(out.kind, TG_XLA_BITCAST_NONE);
    assert_int_equal(tg_xla_decompose_bitcast_untiled(&out, &a, &b, NULL), TG_OK);
    assert_int_equal(out.kind, TG_XLA_BITCAST_NONE);
    b = read_array("f32[?]");
    FAILS(tg_xla_decompose_bitcast(&out, &a, &b, &e), TG_ERR_UNREPRESENTABLE, "unbounded");
}

static void test_align(void **state) {
    (void)state;
    tg_error     e;
    bool         found;
    tg_xla_shape out, a = read_array("f32[16,256]{1,0:T(8,128)S(1)}");
    assert_int_equal(tg_xla_align_layouts(&found, &out, &a, 3, (int64_t[]){2, 8, 256}, NULL), TG_OK);
    assert_text(&out, "f32[2,8,256]{2,1,0:T(8,128)S(1)}");
    assert_int_equal(tg_xla_align_layouts(&found, &out, &a, 1, (int64_t[]){4096}, NULL), TG_OK);
    assert_text(&out, "f32[4096]{0:T(256)(8,128)S(1)}");
    assert_int_equal(tg_xla_align_layouts_untiled(&found, &out, &a, 1, (int64_t[]){4096}, NULL), TG_OK);
    assert_text(&out, "f32[4096]{0}");
    assert_int_equal(tg_xla_align_layouts(&found, &out, &a, 4, (int64_t[]){2, 8, 2, 128}, NULL), TG_OK);
    assert_text(&out, "f32[2,8,2,128]{3,1,2,0:S(1)}");
    a = read_array("f32[4,6]{0,1}"); /* no order says it, tiles do */
    assert_int_equal(tg_xla_align_layouts_untiled(&found, &out, &a, 1, (int64_t[]){24}, NULL), TG_OK);
    assert_false(found);
    assert_int_equal(tg_xla_align_layouts(&found, &out, &a, 1, (int64_t[]){24}, NULL), TG_OK);
    assert_true(found);
    assert_text(&out, "f32[24]{0:T(6)(4,1)}");
    a = read_array("f32[5,0]{0,1}");
    assert_int_equal(tg_xla_align_layouts_untiled(&found, &out, &a, 2, (int64_t[]){5, 0}, NULL), TG_OK);
    assert_text(&out, "f32[5,0]{0,1}");
    assert_int_equal(tg_xla_align_layouts(&found, &out, &a, 2, (int64_t[]){0, 7}, NULL), TG_OK);
    assert_text(&out, "f32[0,7]{1,0}");
    FAILS(tg_xla_align_layouts(&found, &out, &a, 1, (int64_t[]){1}, &e), TG_ERR_ARGUMENT,
          "has 0 elements, and [1] has 1");
    FAILS(tg_xla_align_layouts(&found, &out, &a, 17, (int64_t[17]){0}, &e), TG_ERR_LIMIT, "17");
    FAILS(tg_xla_align_layouts_untiled(&found, &out, &a, 1, (int64_t[]){-1}, &e), TG_ERR_ARGUMENT, "size -1");
    assert_text(&out, "f32[0,7]{1,0}");
}

/* ---- factors ------------------------------------------------------------------------------- */

static void test_factors(void **state) {
    (void)state;
    tg_error         e;
    bool             yes;
    int32_t          n = 0, images[TG_MAX_NDIM], perm[TG_MAX_NDIM];
    int64_t          dims[TG_MAX_NDIM];
    tg_xla_pair      pairs[9];
    tg_xla_unit_dims u = {.ndeleted = 7};
    const int64_t    a[] = {2, 5, 1, 3}, b[] = {1, 10, 3, 1};
    assert_int_equal(tg_xla_common_factors(&n, pairs, a, 4, b, 4, NULL), TG_OK);
    const tg_xla_pair want[] = {{0, 0}, {0, 1}, {2, 2}, {3, 2}, {4, 3}, {4, 4}};
    assert_int_equal(n, COUNT(want));
    assert_memory_equal(pairs, want, sizeof want);
    FAILS(tg_xla_common_factors(&n, pairs, a, 4, b, -1, &e), TG_ERR_ARGUMENT, "a list of -1 entries");
    tg_xla_shape x = read_array("f32[2,3]"), y = read_array("f32[6]"), z = read_array("f32[7]");
    FAILS(tg_xla_dims_unmodified_by_reshape(&n, pairs, &x, &z, &e), TG_ERR_ARGUMENT,
          "[2,3] has 6 elements, and [7] has 7");
    FAILS(tg_xla_inserted_or_deleted_units(&yes, &u, &x, &z, &e), TG_ERR_ARGUMENT, "has 6 elements");
    FAILS(tg_xla_reshape_leaves_dims(&yes, images, &x, &y, (int32_t[]){2}, 1, &e), TG_ERR_ARGUMENT, "[0, 2)");
    FAILS(tg_xla_reshape_leaves_dims(&yes, images, &x, &y, images, 99, &e), TG_ERR_ARGUMENT, "99");
    assert_int_equal(tg_xla_inserted_or_deleted_units(&yes, &u, &x, &y, NULL), TG_OK);
    assert_true(!yes && u.ndeleted == 7);
    x = read_array("f32[?]");
    FAILS(tg_xla_dims_unmodified_by_reshape(&n, pairs, &x, &y, &e), TG_ERR_UNREPRESENTABLE, "unbounded");
    FAILS(tg_xla_normalize_transpose(&n, dims, perm, &x, (int32_t[]){0}, &e), TG_ERR_UNREPRESENTABLE, "unbounded");
    FAILS(tg_xla_normalize_transpose(&n, dims, perm, &y, (int32_t[]){1}, &e), TG_ERR_ARGUMENT, "[0, 1)");
    assert_int_equal(n, 6);
    x = read_array("f32[1,1]");
    assert_int_equal(tg_xla_normalize_transpose(&n, dims, perm, &x, (int32_t[]){1, 0}, NULL), TG_OK);
    assert_int_equal(n, 0);
}

/* ---- indices and sizes ------------------------------------------------------------------------ */

static void test_indices(void **state) {
    (void)state;
    tg_error     e;
    tg_slot      slot;
    int64_t      out = 77, index[TG_MAX_NDIM] = {5, 5}, strides[TG_MAX_NDIM];
    tg_xla_shape a = read_array("f32[3,5]{1,0:T(2,2)}"), scalar = read_array("f32[]{:T(256)}");
    FAILS(tg_xla_linear_index(&out, &a, (int64_t[]){3, 0}, &e), TG_ERR_ARGUMENT, "coordinate 3 of dimension 0");
    FAILS(tg_xla_linear_index_untiled(&out, &a, (int64_t[]){0, -1}, &e), TG_ERR_ARGUMENT, "coordinate -1");
    FAILS(tg_xla_linear_index_first_tile(&out, &a, (int64_t[]){0, 5}, &e), TG_ERR_ARGUMENT, "coordinate 5");
    assert_int_equal(out, 77);
    assert_int_equal(tg_xla_multi_index(&slot, index, &a, 19, NULL), TG_OK);
    assert_true(slot == TG_SLOT_PADDING && index[0] == 5);
    assert_int_equal(tg_xla_linear_index(&out, &scalar, index, NULL), TG_OK);
    assert_int_equal(out, 0);
    assert_true(tg_xla_index_in_bounds(&scalar, index, 0, NULL));
    assert_false(tg_xla_index_in_bounds(&a, (int64_t[]){0}, 1, &e));
    assert_non_null(strstr(e.message, "an index of 1 numbers for 2 dimensions"));
    assert_false(tg_xla_index_in_bounds(&a, (int64_t[]){0, -1}, 2, &e));
    assert_int_equal(e.dim, 1);
    FAILS(tg_xla_byte_strides(strides, &a, &e), TG_ERR_UNREPRESENTABLE, "cut into tiles of 2");
    a = read_array("f32[4,4]{0,1:T(*,3)(2,1)}");
    FAILS(tg_xla_byte_strides(strides, &a, &e), TG_ERR_UNREPRESENTABLE, "no strides: element [");
    a = read_array("f32[4,4,3]{2,0,1:T(*,8,3)}");
    assert_int_equal(tg_xla_byte_strides(strides, &a, NULL), TG_OK);
    assert_memory_equal(strides, ((int64_t[]){12, 48, 4}), 3 * sizeof strides[0]);
    a = read_array("s4[3]{0:E(4)}");
    FAILS(tg_xla_byte_strides(strides, &a, &e), TG_ERR_UNREPRESENTABLE, "elements of 4 bits");
    a = read_array("f32[2,1,0,3]");
    assert_int_equal(tg_xla_byte_strides(strides, &a, NULL), TG_OK);
    assert_memory_equal(strides, ((int64_t[]){0, 0, 12, 4}), 4 * sizeof strides[0]);
    a = read_array("f32[8,128,1]{1,0,2:T(8,128)}"); /* strided in spite of its tiles */
    assert_int_equal(tg_xla_byte_strides(strides, &a, NULL), TG_OK);
    assert_memory_equal(strides, ((int64_t[]){512, 4, 4096}), 3 * sizeof strides[0]);
}

static const struct { const char *text; int64_t pointer, bytes; } byte_sizes[] = {
    {"(f32[2], f32[3])", 8, 16}, {"()", -1, 0},   {"token[]", -1, 0}, {"opaque[]", 4, 4},
    {"b(f32[8,16])", -1, 512},   {"s4[3]", -1, 3}, {"s4[3]{0:E(4)}", -1, 2},
};

static void test_sizes(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape nodes[MAX_NODES];
    int64_t      out;
    for (size_t i = 0; i < COUNT(byte_sizes); i++) {
        const size_t n = read_shape(nodes, byte_sizes[i].text);
        assert_int_equal(tg_xla_byte_size(&out, nodes, n, byte_sizes[i].pointer, NULL), TG_OK);
        assert_int_equal(out, byte_sizes[i].bytes);
    }
    size_t n = read_shape(nodes, "(f32[2], opaque[], (b(f32[3]), f32[0]))");
    assert_int_equal(tg_xla_elements(&out, nodes, n, NULL), TG_OK);
    assert_int_equal(out, 5);
    FAILS(tg_xla_byte_size(&out, nodes, n, -1, &e), TG_ERR_ARGUMENT, "a pointer of -1 bytes");
    FAILS(tg_xla_byte_size(&out, nodes, n, INT64_MAX, &e), TG_ERR_OVERFLOW, "3 pointers");
    FAILS(tg_xla_byte_size(&out, nodes, 0, 8, &e), TG_ERR_ARGUMENT, "needs more");
    n = read_shape(nodes, "(s8[9223372036854775807], s8[9223372036854775807])");
    FAILS(tg_xla_elements(&out, nodes, n, &e), TG_ERR_OVERFLOW, "do not fit 63 bits");
    read_shape(nodes, "f32[?]");
    FAILS(tg_xla_elements(&out, nodes, 1, &e), TG_ERR_UNREPRESENTABLE, "dimension 0 is unbounded");
    FAILS(tg_xla_max_split_size(&out, nodes, 0, &e), TG_ERR_UNREPRESENTABLE, "unbounded");
    FAILS(tg_xla_array_size(&out, nodes, &e), TG_ERR_UNREPRESENTABLE, "unbounded");
    FAILS(tg_xla_max_split_size(&out, nodes, 1, &e), TG_ERR_ARGUMENT, "dimension 1");
}

static void test_sizes_that_do_not_fit(void **state) {
    (void)state;
    tg_error     e;
    int64_t      out = 77;
    bool         yes;
    tg_xla_shape a = read_array("s8[3037000499,3037000499]{1,0:T(3037000498,2)}");
    FAILS(tg_xla_array_size(&out, &a, &e), TG_ERR_OVERFLOW, "63");
    FAILS(tg_xla_array_size_first_tile(&out, &a, &e), TG_ERR_OVERFLOW, "do not fit 63 bits");
    FAILS(tg_xla_is_untiled(&yes, &a, &e), TG_ERR_OVERFLOW, "63");
    a = read_array("s8[4611686018427387904]{0:E(64)}");
    FAILS(tg_xla_array_size(&out, &a, &e), TG_ERR_OVERFLOW, "do not fit 63 bits");
    FAILS(tg_xla_byte_size(&out, &a, 1, 0, &e), TG_ERR_OVERFLOW, "4611686018427387904 elements of 64 bits");
    FAILS(tg_xla_byte_strides(&out, &(tg_xla_shape){.kind = TG_XLA_ARRAY, .ndim = 17}, &e), TG_ERR_ARGUMENT, "17");
    a = read_array("f32[4]{0:E(5000)}");
    FAILS(tg_xla_byte_size(&out, &a, 1, 0, &e), TG_ERR_LIMIT, "5000 bits is over the limit");
    a = read_array("f32[4]{0:T(*,2)}");
    FAILS(tg_xla_array_size_first_tile(&out, &a, &e), TG_ERR_UNREPRESENTABLE, "`*`");
    a = read_array("f32[4,1]{0,1:T(8,128)}");
    FAILS(tg_xla_packed_factor(&out, &a, &e), TG_ERR_UNREPRESENTABLE, "2 dimensions, 1 tile levels");
    assert_int_equal(out, 77);
    a = read_array("bf16[2048]{0:T(1024)(128)(4,1)}");
    assert_int_equal(tg_xla_packed_factor(&out, &a, NULL), TG_OK);
    assert_int_equal(out, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reshape_is_bitcast),
        cmocka_unit_test(test_reshape_across_combined_dimensions),
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_deduced_where_orders_differ),
        cmocka_unit_test(test_decompose),
        cmocka_unit_test(test_align),
        cmocka_unit_test(test_factors),
        cmocka_unit_test(test_indices),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_sizes_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
