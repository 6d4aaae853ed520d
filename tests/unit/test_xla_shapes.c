/* tegula/xla.h: making, comparing, ordering, and trees. What comes out, why it is refused, and what failure leaves
 * alone. The same functions on many random shapes: tests/python/test_xla_util_random.py. */
#include "xla_texts.h"

/* ---- making ------------------------------------------------------------------------ */

static void test_layouts(void **state) {
    (void)state;
    tg_xla_layout l;
    char          text[64];
    const int32_t order[] = {1, 2, 0};
    assert_int_equal(tg_xla_layout_descending(&l, 3, NULL), TG_OK);
    assert_true(tg_xla_is_descending(&l) && !tg_xla_is_ascending(&l));
    assert_int_equal(tg_xla_layout_ascending(&l, 3, NULL), TG_OK);
    assert_true(!tg_xla_is_descending(&l) && tg_xla_is_ascending(&l));
    assert_int_equal(tg_xla_layout_descending(&l, 0, NULL), TG_OK);
    assert_true(tg_xla_is_descending(&l) && tg_xla_is_ascending(&l));
    assert_int_equal(tg_xla_layout_from_major_to_minor(&l, 3, order, NULL), TG_OK);
    (void)tg_xla_layout_format(text, sizeof text, &l);
    assert_string_equal(text, "{0,2,1}");
    assert_int_equal(tg_xla_layout_descending(&l, TG_MAX_NDIM, NULL), TG_OK);
    tg_error e;
    FAILS(tg_xla_layout_descending(&l, TG_MAX_NDIM + 1, &e), TG_ERR_LIMIT, "17 dimensions");
    FAILS(tg_xla_layout_ascending(&l, -1, &e), TG_ERR_ARGUMENT, "-1 dimensions");
    FAILS(tg_xla_layout_from_minor_to_major(&l, 2, (int32_t[]){1, 1}, &e), TG_ERR_ARGUMENT,
          "minor_to_major: dimension 1 is listed twice");
    FAILS(tg_xla_layout_from_major_to_minor(&l, 2, (int32_t[]){0, 2}, &e), TG_ERR_ARGUMENT,
          "dimension 2 is not in [0, 2)");
    assert_true(tg_xla_is_descending(&l) && l.ndim == TG_MAX_NDIM); /* untouched */
}

static void test_arrays(void **state) {
    (void)state;
    tg_xla_shape  a;
    tg_error      e;
    tg_xla_layout l = read_array("f32[9,9]{0,1:T(8,128)E(32)}").layout;
    const int64_t dims[] = {3, 4, TG_XLA_UNBOUNDED}, wide[] = {INT64_MAX, 2, 1}, negative[] = {3, -1};
    assert_int_equal(tg_xla_array(&a, TG_BF16, 2, dims, &l, NULL), TG_OK);
    assert_text(&a, "bf16[3,4]{0,1:T(8,128)E(32)}");
    assert_int_equal(tg_xla_array(&a, TG_S8, 3, dims, NULL, NULL), TG_OK);
    assert_text(&a, "s8[3,4,?]{2,1,0}");
    FAILS(tg_xla_array(&a, TG_S8, 3, dims, &l, &e), TG_ERR_ARGUMENT, "contains 2 elements, but shape has 3 dimensions");
    FAILS(tg_xla_array(&a, TG_S8, 2, negative, NULL, &e), TG_ERR_ARGUMENT, "Invalid dimension size -1");
    FAILS(tg_xla_array(&a, TG_S8, 3, wide, NULL, &e), TG_ERR_OVERFLOW, "Dimensions overflow");
    FAILS(tg_xla_array(&a, TG_C128, 1, wide, NULL, &e), TG_ERR_OVERFLOW, "may overflow int64_t");
    FAILS(tg_xla_array(&a, (tg_dtype)17, 1, dims, NULL, &e), TG_ERR_ARGUMENT, "Invalid element type");
    FAILS(tg_xla_array(&a, TG_S8, 17, dims, NULL, &e), TG_ERR_LIMIT, "possible are 0 to 16");
    assert_text(&a, "s8[3,4,?]{2,1,0}");
}

static void test_rules(void **state) {
    (void)state;
    tg_error      e;
    tg_xla_shape  array = read_array("f32[2,3]"), nodes[MAX_NODES];
    tg_xla_layout two = array.layout, one = read_array("f32[2]").layout;
    size_t        n = read_shape(nodes, "(f32[2,3], token[], b(s8[4]))");
    assert_int_equal(tg_xla_layout_validate(&two, &array, NULL), TG_OK);
    FAILS(tg_xla_layout_validate(&one, &array, &e), TG_ERR_ARGUMENT, "contains 1 elements");
    FAILS(tg_xla_layout_validate(&two, &nodes[0], &e), TG_ERR_ARGUMENT, "a single Layout is not valid for tuple");
    assert_int_equal(tg_xla_layout_validate(&one, &nodes[2], NULL), TG_OK); /* a token */
    nodes[1].has_layout = false;
    assert_int_equal(tg_xla_shape_validate_optional_layout(nodes, n, NULL), TG_OK);
    FAILS(tg_xla_shape_validate(nodes, n, &e), TG_ERR_ARGUMENT, "does not have a layout");
    nodes[4].layout.minor_to_major[0] = 1;
    FAILS(tg_xla_shape_validate_optional_layout(nodes, n, &e), TG_ERR_ARGUMENT, "out-of-bounds value");
    FAILS(tg_xla_shape_validate_optional_layout(nodes, n - 1, &e), TG_ERR_ARGUMENT, "the shape needs more");
    FAILS(tg_xla_last_dim_is_minor_most(&(bool){false}, &nodes[0], &e), TG_ERR_ARGUMENT, "an array is needed here");
}

static void test_layouts_of_trees(void **state) {
    (void)state;
    tg_xla_shape a[MAX_NODES], b[MAX_NODES];
    tg_error     e;
    const char  *text = "(f32[2,3]{0,1:T(2,128)L(4)E(16)S(1)SC(0:1)M(8)}, b(s4[4]{0:E(4)}), token[])";
    const size_t n = read_shape(a, text);
    assert_int_equal(read_shape(b, "(f32[5,6], b(s4[9]), token[])"), n);
    assert_int_equal(tg_xla_copy_layouts(b, n, a, n, NULL), TG_OK);
    assert_tree(b, n, "(f32[5,6]{0,1:T(2,128)L(4)E(16)S(1)SC(0:1)M(8)}, b(s4[9]{0:E(4)}), token[])");
    assert_int_equal(tg_xla_device_to_host(b, n, NULL), TG_OK);
    assert_tree(b, n, "(f32[5,6]{0,1:SC(0:1)}, b(s4[9]{0}), token[])");
    assert_int_equal(tg_xla_set_packing(b, n, true, NULL), TG_OK);
    assert_tree(b, n, "(f32[5,6]{0,1:SC(0:1)}, b(s4[9]{0:E(4)}), token[])");
    assert_int_equal(tg_xla_set_packing(b, n, false, NULL), TG_OK);
    assert_int_equal(tg_xla_set_default_layouts(b, n, NULL), TG_OK);
    assert_tree(b, n, "(f32[5,6]{1,0}, b(s4[9]{0}), token[])");
    assert_int_equal(tg_xla_copy_tiles(&b[1].layout, &a[1].layout, NULL), TG_OK);
    assert_tree(b, n, "(f32[5,6]{1,0:T(2,128)}, b(s4[9]{0}), token[])");

    b[1].dims[0] = b[1].dims[1] = 1; /* the split does not fit */
    FAILS(tg_xla_copy_layouts(b, n, a, n, &e), TG_ERR_ARGUMENT, "out of bounds: 1 (dim size 1)");
    FAILS(tg_xla_copy_layouts(b, n, &a[1], 1, &e), TG_ERR_ARGUMENT, "shape structure differs");
    FAILS(tg_xla_copy_layouts(&b[1], 1, &a[3], 1, &e), TG_ERR_ARGUMENT, "ranks differ: 2 and 1");
    read_shape(a, "(f32[2,3]{0,1}, token[])");
    FAILS(tg_xla_copy_layouts(b, n, a, 3, &e), TG_ERR_ARGUMENT, "element count differs: 3 and 2");
    assert_tree(b, n, "(f32[1,1]{1,0:T(2,128)}, b(s4[9]{0}), token[])");
    a[1].layout.ntiles = 99;
    FAILS(tg_xla_copy_tiles(&b[1].layout, &a[1].layout, &e), TG_ERR_ARGUMENT, "do not lie in its arrays");
    FAILS(tg_xla_set_default_layouts(b, n - 1, &e), TG_ERR_ARGUMENT, "needs more");
}

static void test_packing_knows_its_types(void **state) {
    (void)state;
    static const struct { const char *plain, *packed; } rows[] = {
        {"pred[8]{0}", "pred[8]{0}"},       {"s1[8]{0}", "s1[8]{0:E(1)}"},   {"u2[8]{0}", "u2[8]{0:E(2)}"},
        {"s4[8]{0}", "s4[8]{0:E(4)}"},      {"s8[8]{0}", "s8[8]{0}"},        {"f4e2m1fn[8]{0}", "f4e2m1fn[8]{0:E(4)}"},
        {"f6e2m3fn[8]{0}", "f6e2m3fn[8]{0:E(6)}"}, {"f8e5m2[8]{0}", "f8e5m2[8]{0}"}, {"c64[8]{0:E(3)}", "c64[8]{0}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        tg_xla_shape a = read_array(rows[i].plain);
        assert_int_equal(tg_xla_set_packing(&a, 1, true, NULL), TG_OK);
        assert_text(&a, rows[i].packed);
    }
}

/* ---- comparing ------------------------------------------------------------------------- */

static const struct { const char *a, *b; uint32_t options; bool equal; } as_written[] = {
    {"f32[8,128]{1,0:T(8,128)}", "f32[8,128]{1,0}", 0, false},
    {"f32[8,128]{1,0:T(8,128)}", "f32[8,128]{1,0}", TG_XLA_IGNORE_TILES, true},
    {"f32[8,128]{1,0:T(8,128)}", "f32[8,128]{1,0:T(8)(128)}", 0, false},
    {"f32[8]{0:L(4)}", "f32[8]{0}", TG_XLA_IGNORE_TILES, false},
    {"f32[8]{0:L(4)}", "f32[8]{0}", TG_XLA_IGNORE_TAIL_PADDING, true},
    {"f32[8]{0:#(u8)}", "f32[8]{0}", 0, false},
    {"f32[8]{0:#(u8)}", "f32[8]{0}", TG_XLA_IGNORE_INDEX_TYPE, true},
    {"f32[8]{0:*(u8)}", "f32[8]{0}", 0, false},
    {"f32[8]{0:*(u8)}", "f32[8]{0}", TG_XLA_IGNORE_POINTER_TYPE, true},
    {"f32[8]{0:E(4)}", "f32[8]{0:E(8)}", 0, false},
    {"f32[8]{0:E(4)}", "f32[8]{0:E(8)}", TG_XLA_IGNORE_ELEMENT_SIZE, true},
    {"f32[8]{0:S(1)}", "f32[8]{0}", 0, false},
    {"f32[8]{0:S(1)}", "f32[8]{0}", TG_XLA_IGNORE_MEMORY_SPACE, true},
    {"f32[8]{0:SC(0:3,4)}", "f32[8]{0:SC(0:3,5)}", 0, false},
    {"f32[8]{0:SC(0:3,4)}", "f32[8]{0:SC(0:3)}", 0, false},
    {"f32[8,8]{1,0:SC(0:3)}", "f32[8,8]{1,0:SC(1:3)}", 0, false},
    {"f32[8]{0:SC(0:3,4)}", "f32[8]{0}", TG_XLA_IGNORE_SPLITS, true},
    {"f32[8]{0:M(8)}", "f32[8]{0}", 0, true},
    {"f32[8]{0:M(8)}", "f32[8]{0}", TG_XLA_COMPARE_METADATA_PREFIX, false},
    {"f32[8]{0:M(-8)}", "f32[8]{0}", TG_XLA_COMPARE_METADATA_PREFIX, true},
    {"f32[8,8]{1,0:T(2)L(3)E(4)S(5)SC(0:6)}", "f32[8,8]{1,0}", TG_XLA_MINOR_TO_MAJOR_ONLY, true},
    {"f32[8,8]{1,0}", "f32[8,8]{0,1}", TG_XLA_MINOR_TO_MAJOR_ONLY, false},
    {"f32[8,8]{1,0}", "f32[8,8]{0,1}", TG_XLA_IGNORE_LAYOUT, true},
    {"f32[8]", "bf16[8]", 0, false},
    {"f32[8]", "s8[8]", TG_XLA_IGNORE_FP_PRECISION, false},
    {"f32[8]", "bf16[8]", TG_XLA_IGNORE_FP_PRECISION, true},
    {"f32[8]", "c64[8]", TG_XLA_IGNORE_FP_PRECISION, false},
    {"f32[8]", "s8[8]", TG_XLA_IGNORE_ELEMENT_TYPE, true},
    {"f32[8]", "f32[9]", 0, false},
    {"f32[8]", "f32[9]", TG_XLA_IGNORE_DIMENSIONS, true},
    {"f32[8]", "f32[8,1]", TG_XLA_IGNORE_DIMENSIONS | TG_XLA_IGNORE_LAYOUT, false},
    {"f32[<=8]", "f32[8]", 0, false},
    {"f32[<=8]", "f32[8]", TG_XLA_IGNORE_DYNAMIC_DIMENSION, true},
    {"f32[<=8]", "f32[9]", TG_XLA_COMPATIBLE, false},
    {"f32[?]", "f32[9]", TG_XLA_COMPATIBLE, true},
    {"b(f32[8])", "f32[8]", 0, false},
    {"b(f32[8])", "f32[8]", TG_XLA_IGNORE_BUFFER, true},
    {"(f32[8], b(f32[8]), f32[8])", "(b(f32[8]), f32[8], b(f32[8]))", TG_XLA_IGNORE_BUFFER, true},
    {"(f32[8], b(f32[8]), f32[8])", "(b(f32[8]), f32[8], b(f32[9]))", TG_XLA_IGNORE_BUFFER, false},
    {"token[]", "opaque[]", 0, false},
    {"(token[], ())", "(token[], ())", 0, true},
    {"((f32[8]), f32[8])", "((f32[8], f32[8]))", 0, false},
};

static void test_equal_as_written(void **state) {
    (void)state;
    tg_xla_shape a[MAX_NODES], b[MAX_NODES];
    tg_error     e;
    bool         equal;
    for (size_t i = 0; i < COUNT(as_written); i++) {
        const size_t na = read_shape(a, as_written[i].a), nb = read_shape(b, as_written[i].b);
        for (int turn = 0; turn < 2; turn++) {
            equal = !as_written[i].equal;
            assert_int_equal(turn == 0 ? tg_xla_shape_equal_fields(&equal, a, na, b, nb, as_written[i].options, NULL)
                                       : tg_xla_shape_equal_fields(&equal, b, nb, a, na, as_written[i].options, NULL),
                             TG_OK);
            if (equal != as_written[i].equal) fail_msg("row %zu: %s, %s", i, as_written[i].a, as_written[i].b);
        }
    }
    read_shape(a, "f32[8]");
    read_shape(b, "f32[8]");
    a->has_layout = false;
    assert_int_equal(tg_xla_shape_equal_fields(&equal, a, 1, b, 1, 0, NULL), TG_OK);
    assert_false(equal);
    b->layout.ntiles = -1;
    FAILS(tg_xla_shape_equal_fields(&equal, a, 1, b, 1, 0, &e), TG_ERR_ARGUMENT, "do not lie in its arrays");
    FAILS(tg_xla_layout_equal_fields(&equal, &a->layout, &b->layout, 0, &e), TG_ERR_ARGUMENT, "do not lie");
}

static const struct { const char *a, *b; tg_xla_difference what; size_t node; int64_t va, vb; } by_bytes[] = {
    {"f32[8,128]{1,0:T(8,128)}", "f32[8,128]{1,0}", TG_XLA_SAME, 0, 0, 0},
    {"(token[], b(f32[4,1]{0,1}))", "(token[], b(f32[4,1]{1,0}))", TG_XLA_SAME, 0, 0, 0},
    {"f32[8]{0:E(32)}", "f32[8]{0}", TG_XLA_SAME, 0, 0, 0},
    {"f32[8]{0:M(-1)}", "f32[8]{0}", TG_XLA_SAME, 0, 0, 0},
    {"f32[16,128]{1,0:T(8,128)SC(0:8)}", "f32[16,128]{1,0:T(8,128)SC(0:8)}", TG_XLA_SAME, 0, 0, 0},
    {"(f32[2], s8[8])", "(f32[2], token[])", TG_XLA_DIFFERENT_TREE, 2, 0, 0},
    {"(f32[2], (s8[8]))", "(f32[2], ())", TG_XLA_DIFFERENT_TREE, 2, 1, 0},
    {"(f32[2], s8[8])", "(f32[2], u8[8])", TG_XLA_DIFFERENT_ELEMENT_TYPE, 2, TG_S8, TG_U8},
    {"f32[2,3]", "f32[3,2]", TG_XLA_DIFFERENT_DIMENSIONS, 0, 2, 2},
    {"f32[<=2]", "f32[2]", TG_XLA_DIFFERENT_DYNAMIC, 0, 0, 0},
    {"f32[2]{0:S(1)}", "f32[2]{0:S(2)}", TG_XLA_DIFFERENT_MEMORY_SPACE, 0, 1, 2},
    {"f32[2]{0:M(8)}", "f32[2]", TG_XLA_DIFFERENT_METADATA_PREFIX, 0, 8, 0},
    {"f32[16,128]{1,0:SC(0:8)}", "f32[16,128]", TG_XLA_DIFFERENT_SPLITS, 0, 1, 0},
    {"f32[16,128]{1,0:T(8,128)SC(0:8)}", "f32[16,128]{1,0:SC(0:8)}", TG_XLA_DIFFERENT_SPLITS, 0, 1, 1},
    {"s4[8]{0:E(4)}", "s4[8]", TG_XLA_DIFFERENT_WIDTH, 0, 4, 8},
    {"f32[2,3]{1,0}", "f32[2,3]{0,1}", TG_XLA_DIFFERENT_MAP, 0, 0, 0},
    {"f32[8]{0:L(16)}", "f32[8]", TG_XLA_DIFFERENT_SPAN, 0, 16, 8},
};

static void test_equal_by_bytes(void **state) {
    (void)state;
    tg_xla_shape a[MAX_NODES], b[MAX_NODES];
    tg_error     e;
    bool         equal;
    for (size_t i = 0; i < COUNT(by_bytes); i++) {
        tg_xla_witness w = {.what = TG_XLA_SAME};
        const size_t   na = read_shape(a, by_bytes[i].a), nb = read_shape(b, by_bytes[i].b);
        assert_int_equal(tg_xla_shape_equal(&equal, &w, a, na, b, nb, NULL), TG_OK);
        assert_int_equal(equal, by_bytes[i].what == TG_XLA_SAME);
        assert_int_equal(w.what, by_bytes[i].what);
        assert_int_equal(w.node, by_bytes[i].node);
        if (w.what == TG_XLA_DIFFERENT_MAP) continue; /* any element that shows it: the Python tests follow it */
        assert_int_equal(w.a, by_bytes[i].va);
        assert_int_equal(w.b, by_bytes[i].vb);
    }
    read_shape(b, "f32[?]");
    FAILS(tg_xla_shape_equal(&equal, NULL, b, 1, b, 1, &e), TG_ERR_UNREPRESENTABLE, "unbounded");
    b->layout.minor_to_major[0] = 7;
    FAILS(tg_xla_shape_equal(&equal, NULL, b, 1, b, 1, &e), TG_ERR_ARGUMENT, "out-of-bounds");
}

static void test_dynamic_is_compatible(void **state) {
    (void)state;
    static const struct { const char *dynamic, *bounded; bool compatible;
    } rows[] = {
        {"f32[<=4,5]", "f32[4,5]", true},
        {"f32[<=4,5]", "f32[3,5]", false},
        {"f32[<=4,5]", "f32[9,9]", true},
        {"f32[<=4,5]", "f32[9]", false},
        {"f32[?]", "f32[0]", true},
        {"f32[4]", "f32[1,2]", true},
        {"(f32[<=4])", "f32[4]", false},
        {"f32[4]", "(f32[4])", false},
        {"(f32[<=4])", "(f32[4], f32[4])", false},
        {"(f32[<=4], token[])", "(f32[4], s8[])", true},
        {"f32[<=4]", "token[]", false},
    };
    tg_xla_shape a[MAX_NODES], b[MAX_NODES];
    tg_error     e;
    bool         yes;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const size_t na = read_shape(a, rows[i].dynamic), nb = read_shape(b, rows[i].bounded);
        assert_int_equal(tg_xla_dynamic_is_compatible(&yes, a, na, b, nb, NULL), TG_OK);
        if (yes != rows[i].compatible) fail_msg("%s, %s", rows[i].dynamic, rows[i].bounded);
    }
    FAILS(tg_xla_dynamic_is_compatible(&yes, a, 2, b, 1, &e), TG_ERR_ARGUMENT, "the shape ends after 1");
}

/* ---- orders ---------------------------------------------------------------------------- */

static void test_permutations(void **state) {
    (void)state;
    tg_error      e;
    int64_t       values[] = {10, 20, 30};
    int32_t       p[] = {1, 2, 0}, q[] = {2, 1, 0};
    const int32_t twice[] = {0, 0, 1};
    assert_int_equal(tg_xla_permute(values, values, p, 3, NULL), TG_OK);
    assert_memory_equal(values, ((int64_t[]){20, 30, 10}), sizeof values);
    assert_int_equal(tg_xla_compose(q, p, q, 3, NULL), TG_OK);
    assert_memory_equal(q, ((int32_t[]){0, 2, 1}), sizeof q);
    assert_int_equal(tg_xla_inverse(p, p, 3, NULL), TG_OK);
    assert_memory_equal(p, ((int32_t[]){2, 0, 1}), sizeof p);
    FAILS(tg_xla_permute(values, values, twice, 3, &e), TG_ERR_ARGUMENT, "permute: dimension 0 is listed twice");
    FAILS(tg_xla_compose(p, p, twice, 3, &e), TG_ERR_ARGUMENT, "compose: dimension 0");
    FAILS(tg_xla_inverse(p, twice, 17, &e), TG_ERR_LIMIT, "17");
    FAILS(tg_xla_inverse(p, twice, -1, &e), TG_ERR_ARGUMENT, "-1");
    FAILS(tg_xla_inverse(p, (int32_t[]){-1}, 1, &e), TG_ERR_ARGUMENT, "dimension -1 is not in [0, 1)");
    assert_memory_equal(p, ((int32_t[]){2, 0, 1}), sizeof p);
}

static void test_orders(void **state) {
    (void)state;
    tg_error           e;
    bool               yes;
    int32_t            order[TG_MAX_NDIM];
    tg_xla_layout      l = read_array("f32[1,1,16,1,279]{4,1,2,3,0}").layout, bad = l;
    const tg_xla_shape a = read_array("f32[1,2,1]{0,2,1}");
    assert_int_equal(tg_xla_major_to_minor(order, &l, NULL), TG_OK);
    assert_memory_equal(order, ((int32_t[]){0, 3, 2, 1, 4}), 5 * sizeof order[0]);
    assert_int_equal(tg_xla_logical_to_physical(order, &l, NULL), TG_OK);
    assert_memory_equal(order, ((int32_t[]){0, 3, 2, 1, 4}), 5 * sizeof order[0]);
    assert_int_equal(tg_xla_dims_are_consecutive(&yes, &l, (int32_t[]){2, 4, 1}, 3, NULL), TG_OK);
    assert_true(yes);
    assert_int_equal(tg_xla_dims_are_consecutive(&yes, &l, (int32_t[]){2, 4}, 2, NULL), TG_OK);
    assert_false(yes);
    assert_int_equal(tg_xla_dims_are_consecutive(&yes, &l, order, 0, NULL), TG_OK);
    assert_true(yes);
    FAILS(tg_xla_dims_are_consecutive(&yes, &l, (int32_t[]){2, 2}, 2, &e), TG_ERR_ARGUMENT,
          "dimension 2 is listed twice");
    FAILS(tg_xla_dims_are_consecutive(&yes, &l, (int32_t[]){5}, 1, &e), TG_ERR_ARGUMENT, "not in [0, 5)");
    FAILS(tg_xla_move_dim_to_major(&l, &l, 5, &e), TG_ERR_ARGUMENT, "move to major: dimension 5");
    bad.minor_to_major[2] = 0;
    FAILS(tg_xla_move_dim_to_minor(&l, &bad, 0, &e), TG_ERR_ARGUMENT, "minor_to_major: dimension 0 is listed twice");
    bad.ndim = 99;
    FAILS(tg_xla_major_to_minor(order, &bad, &e), TG_ERR_ARGUMENT, "do not lie in its arrays");
    assert_false(tg_xla_is_descending(&bad) || tg_xla_is_ascending(&bad));
    assert_int_equal(tg_xla_true_ndim(&a), 1);
    assert_int_equal(tg_xla_is_effectively_most_major(&yes, &a, 2, NULL), TG_OK);
    assert_false(yes);
    FAILS(tg_xla_is_effectively_most_major(&yes, &a, 3, &e), TG_ERR_ARGUMENT, "dimension 3 is not in [0, 3)");
    const tg_xla_shape zero = read_array("f32[0,1]"), scalar = read_array("f32[]");
    assert_int_equal(tg_xla_true_ndim(&zero), 1);
    assert_int_equal(tg_xla_last_dim_is_minor_most(&yes, &scalar, NULL), TG_OK);
    assert_true(yes);
}

/* ---- trees ------------------------------------------------------------------------------- */

static void test_paths(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape nodes[MAX_NODES];
    int64_t      path[4] = {77, 77, 77, 77};
    size_t       first, length, leaves, npath;
    const size_t n = read_shape(nodes, "(f32[1], (f32[2], (), b(f32[3])), f32[4], (f32[5]))");
    static const struct { int64_t path[3]; size_t npath, first, length; } rows[] = {
        {{0}, 0, 0, 10}, {{0}, 1, 1, 1}, {{1}, 1, 2, 5}, {{1, 0}, 2, 3, 1}, {{1, 1}, 2, 4, 1},
        {{1, 2}, 2, 5, 2}, {{2}, 1, 7, 1}, {{3}, 1, 8, 2}, {{3, 0}, 2, 9, 1},
    };
    assert_int_equal(tg_xla_leaf_count(&leaves, nodes, n, NULL), TG_OK);
    assert_int_equal(leaves, 5);
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(tg_xla_subshape(&first, &length, nodes, n, rows[i].path, rows[i].npath, NULL), TG_OK);
        assert_int_equal(first, rows[i].first);
        assert_int_equal(length, rows[i].length);
        assert_int_equal(tg_xla_shape_index(path, 4, &npath, nodes, n, first, NULL), TG_OK);
        assert_int_equal(npath, rows[i].npath);
        assert_memory_equal(path, rows[i].path, npath * sizeof path[0]);
    }
    assert_int_equal(tg_xla_shape_index(path, 1, &npath, nodes, n, 6, NULL), TG_OK); /* the array of the buffer */
    assert_int_equal(npath, 2);
    assert_int_equal(path[0], 1);
    assert_int_equal(tg_xla_shape_index(NULL, 0, &npath, nodes, n, 9, NULL), TG_OK);
    FAILS(tg_xla_shape_index(path, 4, &npath, nodes, n, n, &e), TG_ERR_ARGUMENT, "node 10 of a shape of 10 nodes");
    FAILS(tg_xla_subshape(&first, &length, nodes, n, (int64_t[]){4}, 1, &e), TG_ERR_ARGUMENT, "the tuple there has 4");
    FAILS(tg_xla_subshape(&first, &length, nodes, n, (int64_t[]){-1}, 1, &e), TG_ERR_ARGUMENT, "is -1");
    FAILS(tg_xla_subshape(&first, &length, nodes, n, (int64_t[]){1, 2, 0}, 3, &e), TG_ERR_ARGUMENT,
          "after 2 of them there is no tuple");
    FAILS(tg_xla_leaf_count(&leaves, nodes, 3, &e), TG_ERR_ARGUMENT, "needs more");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_layouts_of_trees),
        cmocka_unit_test(test_packing_knows_its_types),
        cmocka_unit_test(test_equal_as_written),
        cmocka_unit_test(test_equal_by_bytes),
        cmocka_unit_test(test_dynamic_is_compatible),
        cmocka_unit_test(test_permutations),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
