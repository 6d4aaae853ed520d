/* tegula/xla.h: dimensions that go, come and change places, and the tiles that follow them. */
#include "xla_texts.h"

/* ---- taking out ---------------------------------------------------------------------- */

static const struct { const char *text; int32_t n, dims[4]; const char *result; } deletions[] = {
    {"f32[5,3,2,7,9]{2,0,1,4,3}", 3, {1, 2, 3}, "f32[5,9]{0,1}"},
    {"f32[5,3]{1,0}", 0, {0}, "f32[5,3]{1,0}"},
    {"f32[5,3]{1,0}", 2, {1, 0}, "f32[]"},
    {"f32[<=5,3,?]{1,0,2}", 1, {1}, "f32[<=5,?]{0,1}"},
    {"f32[5,6]{1,0:L(8)E(16)S(1)M(4)}", 1, {0}, "f32[6]{0:L(8)E(16)S(1)M(4)}"},
    /* numbers go with their dimensions, at every level */
    {"f32[16,256]{1,0:T(8,128)}", 1, {0}, "f32[256]{0:T(128)}"},
    {"f32[16,256]{1,0:T(8,128)}", 1, {1}, "f32[16]{0:T(8)}"},
    {"f32[4,16,256]{2,1,0:T(8,128)}", 1, {0}, "f32[16,256]{1,0:T(8,128)}"},
    {"bf16[16,32,256]{2,1,0:T(8,128)(2,1)}", 1, {1}, "bf16[16,256]{1,0:T(128)}"},
    {"bf16[16,32,256]{2,1,0:T(8,128)(2,1)}", 1, {2}, "bf16[16,32]{1,0:T(8)(2)}"},
    {"bf16[24,128]{1,0:T(8,128)(2,1,1,1)}", 1, {1}, "bf16[24]{0:T(8)(2,1)}"},
    {"bf16[24,128]{1,0:T(8,128)(2,1,1,1)}", 1, {0}, "bf16[128]{0:T(128)}"},
    {"bf16[256,32]{0,1:T(8,128)(2,1)}", 1, {0}, "bf16[32]{0:T(8)(2)}"},
    {"f32[8,8]{1,0:T(2,4)(1,1,1,1)}", 1, {0}, "f32[8]{0:T(4)(1,1)}"}, /* ones that were ones stay */
    /* a tile that is longer than the list begins before it */
    {"f32[4,128]{1,0:T(2,8,128)}", 1, {0}, "f32[128]{0:T(2,128)}"},
    {"f32[128]{0:T(8,128)}", 1, {0}, "f32[]{:T(8)}"},
    /* a number shared by `*` stays with the rest */
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", 1, {2}, "f32[2,7,11,10]{3,2,1,0:T(*,2,*,3)}"},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", 2, {3, 4}, "f32[2,7,8]{2,1,0:T(*,*,2)}"},
    {"f32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", 3, {0, 1, 2}, "f32[11,10]{1,0:T(*,3)}"},
    {"f32[4]{0:T(*,3)}", 1, {0}, "f32[]"}, /* shared with nothing */
    /* a split keeps to its dimension */
    {"f32[9,99,999]{2,0,1:SC(0:10)(1:3)(2:30,31)}", 1, {0}, "f32[99,999]{1,0:SC(0:10)(1:30,31)}"},
    {"f32[9,99,999]{2,0,1:SC(2:30)(0:10,20)}", 1, {1}, "f32[9,999]{1,0:SC(1:30)}"},
};

static void test_delete_dimensions(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape a, out;
    for (size_t i = 0; i < COUNT(deletions); i++) {
        bool keep[TG_MAX_NDIM];
        for (int32_t d = 0; d < TG_MAX_NDIM; d++) keep[d] = true;
        for (int32_t k = 0; k < deletions[i].n; k++) keep[deletions[i].dims[k]] = false;
        a = read_array(deletions[i].text);
        if (tg_xla_delete_dimensions(&out, &a, deletions[i].dims, deletions[i].n, &e) != TG_OK)
            fail_msg("%s", e.message);
        assert_text(&out, deletions[i].result);
        assert_int_equal(tg_xla_filter_dimensions(&a, &a, keep, NULL), TG_OK); /* in place */
        assert_text(&a, deletions[i].result);
    }
    a = read_array("f32[2,3]{0,1}");
    FAILS(tg_xla_delete_dimensions(&out, &a, (int32_t[]){2}, 1, &e), TG_ERR_ARGUMENT, "dimension 2 is not in [0, 2)");
    FAILS(tg_xla_delete_dimensions(&out, &a, (int32_t[]){1, 1}, 2, &e), TG_ERR_ARGUMENT, "dimension 1 is listed twice");
    FAILS(tg_xla_delete_dimensions(&out, &a, (int32_t[]){1}, -1, &e), TG_ERR_ARGUMENT, "a list of -1 dimensions");
    a.has_layout = false;
    assert_int_equal(tg_xla_delete_dimensions(&a, &a, (int32_t[]){0}, 1, NULL), TG_OK);
    assert_true(!a.has_layout && a.ndim == 1 && a.dims[0] == 3);
    a = read_array("f32[2,3]{0,0}");
    FAILS(tg_xla_delete_dimensions(&out, &a, (int32_t[]){1}, 1, &e), TG_ERR_ARGUMENT, "duplicate values");
}

static const struct { const char *text, *result; } degenerates[] = {
    {"f32[1,5,1]{2,0,1}", "f32[5]{0}"},
    {"f32[1,1]{1,0}", "f32[]"},
    {"f32[3,0,1]{2,0,1}", "f32[3,0]{0,1}"},
    {"f32[1,16,256]{2,1,0:T(8,128)}", "f32[16,256]{1,0:T(8,128)}"},
    {"f32[1,256]{1,0:T(8,128)}", "f32[256]{0:T(8,128)}"},
    {"f32[256,1]{1,0:T(8,128)}", "f32[256]{0:T(128,1)}"},
    {"f32[16,1,256]{2,1,0:T(8,1,128)}", "f32[16,256]{1,0:T(8,128)}"},
    {"f32[16,1,256]{2,1,0:T(8,128)}", "f32[16,256]{1,0:T(128)(1024)}"},
    {"f32[16,1,256]{2,1,0:T(8,128)E(32)S(1)M(8)}", "f32[16,256]{1,0:T(128)(1024)E(32)S(1)M(8)}"},
    {"f32[16,1,250]{2,1,0:T(8,128)L(4096)}", "f32[16,250]{1,0:T(128)(1024)L(4096)}"},
    {"bf16[<=16,1,256]{2,1,0:T(8,128)(2,1)}", "bf16[<=16,256]{1,0:T(128)(512)(2,1,1,1,1)}"},
    {"f32[1,16,256]{2,1,0:T(8,128)SC(1:8)}", "f32[16,256]{1,0:T(8,128)SC(0:8)}"},
};

/* Found by fuzzing: a digit of 28 above one of 18 in one dimension. The search for tiles tried to cut the one at the
 * other, wrote a tile of ones, and looked again, for ever. */
static void test_digits_that_do_not_nest(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape out, a = read_array("bf16[31,1,626]{2,1,0:T(18,28)(4,*,8)(2,1)}");
    FAILS(tg_xla_drop_degenerate_dimensions(&out, &a, &e), TG_ERR_UNREPRESENTABLE, "no tiles of the other dimensions");
}

static void test_drop_degenerate_dimensions(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape a, out;
    for (size_t i = 0; i < COUNT(degenerates); i++) {
        bool moved = true;
        a = read_array(degenerates[i].text);
        if (tg_xla_drop_degenerate_dimensions(&out, &a, &e) != TG_OK) fail_msg("%s", e.message);
        assert_text(&out, degenerates[i].result);
        if (a.layout.nsplits > 0) continue;
        assert_int_equal(tg_xla_reshape_is_bitcast(&moved, NULL, &a, &out, false, NULL), TG_OK);
        assert_true(moved);
    }
    a = read_array("f32[16,1,256]{2,1,0:T(8,128)SC(0:8)}");
    FAILS(tg_xla_drop_degenerate_dimensions(&out, &a, &e), TG_ERR_UNREPRESENTABLE, "tiles pad a dimension of size 1");
    a = read_array("f32[?,1]{1,0:T(8,128)}");
    FAILS(tg_xla_drop_degenerate_dimensions(&out, &a, &e), TG_ERR_UNREPRESENTABLE, "dimension 0 is unbounded");
    a = read_array("f32[?,1]{0,1}");
    assert_int_equal(tg_xla_drop_degenerate_dimensions(&a, &a, NULL), TG_OK);
    assert_text(&a, "f32[?]{0}");
}

/* ---- putting in ------------------------------------------------------------------------ */

static const struct { const char *text; int32_t at, n; int64_t sizes[3]; const char *result; } insertions[] = {
    {"f32[10,20,30]{0,2,1}", 3, 1, {40}, "f32[10,20,30,40]{3,0,2,1}"},
    {"f32[10,20,30]{0,2,1}", 0, 1, {40}, "f32[40,10,20,30]{1,0,3,2}"},
    {"f32[10,20,30]{0,2,1}", 1, 2, {4, 5}, "f32[10,4,5,20,30]{0,4,3,2,1}"},
    {"f32[10,20]{0,1}", 2, 2, {4, 5}, "f32[10,20,4,5]{3,2,0,1}"},
    {"f32[]", 0, 3, {4, 5, 6}, "f32[4,5,6]{2,1,0}"},
    {"f32[<=3,?]{1,0}", 1, 1, {2}, "f32[<=3,2,?]{2,1,0}"},
    {"f32[3]{0}", 0, 0, {0}, "f32[3]{0}"},
    {"f32[3]{0}", 1, 1, {0}, "f32[3,0]{1,0}"},
    /* a new dimension is not cut, wherever it stands under a tile */
    {"f32[16,256]{1,0:T(8,128)}", 0, 1, {4}, "f32[4,16,256]{2,1,0:T(8,128)}"},
    {"f32[16,256]{1,0:T(8,128)}", 1, 1, {4}, "f32[16,4,256]{2,1,0:T(8,1,128)}"},
    {"f32[16,256]{1,0:T(8,128)}", 2, 1, {4}, "f32[16,256,4]{2,1,0:T(8,128,1)}"},
    {"f32[16,256]{1,0:T(8,128)}", 1, 2, {4, 5}, "f32[16,4,5,256]{3,2,1,0:T(8,1,1,128)}"},
    {"bf16[16,256]{1,0:T(8,128)(2,1)}", 1, 1, {4}, "bf16[16,4,256]{2,1,0:T(8,1,128)(2,1,1)}"},
    {"bf16[24,128]{1,0:T(8,128)(2,1,1,1)}", 1, 1, {3}, "bf16[24,3,128]{2,1,0:T(8,1,128)(2,1,1,1,1,1)}"},
    {"bf16[24,128]{1,0:T(8,128)(2,1)}", 0, 1, {3}, "bf16[3,24,128]{2,1,0:T(8,128)(2,1)}"},
    {"f32[128]{0:T(8,128)}", 0, 1, {5}, "f32[5,128]{1,0:T(8,1,128)}"},
    {"f32[]{:T(256)}", 0, 1, {5}, "f32[5]{0:T(256,1)}"},
    /* what `*` joins stays joined */
    {"f32[4,8,16]{2,1,0:T(*,*,8)}", 1, 1, {3}, "f32[4,3,8,16]{3,2,1,0:T(*,*,*,8)}"},
    {"f32[4,8,16]{2,1,0:T(*,*,8)}", 0, 1, {3}, "f32[3,4,8,16]{3,2,1,0:T(*,*,8)}"},
    {"f32[4,8,16]{2,1,0:T(2,*,8)}", 1, 1, {3}, "f32[4,3,8,16]{3,2,1,0:T(2,1,*,8)}"},
    {"f32[4]{0:T(*,3)}", 0, 1, {3}, "f32[3,4]{1,0:T(1,1,3)}"}, /* joined to nothing: stands alone */
    {"f32[9,99]{0,1:SC(0:10)(1:3)}", 0, 1, {5}, "f32[5,9,99]{1,0,2:SC(0:10)(2:3)}"},
    {"f32[9,99]{0,1:SC(0:10)(1:3)}", 1, 1, {5}, "f32[9,5,99]{0,2,1:SC(1:10)(2:3)}"},
};

static void test_insert_dimensions(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape a, out;
    for (size_t i = 0; i < COUNT(insertions); i++) {
        out = a = read_array(insertions[i].text);
        if (tg_xla_insert_dimensions(&out, &out, insertions[i].at, insertions[i].sizes, insertions[i].n, &e) != TG_OK)
            fail_msg("%s", e.message);
        assert_text(&out, insertions[i].result);
    }
    a = read_array("f32[2,3]{0,1}");
    FAILS(tg_xla_insert_dimensions(&out, &a, 3, (int64_t[]){1}, 1, &e), TG_ERR_ARGUMENT, "index 3 is not in [0, 2]");
    FAILS(tg_xla_insert_dimensions(&out, &a, -1, (int64_t[]){1}, 1, &e), TG_ERR_ARGUMENT, "index -1");
    FAILS(tg_xla_insert_dimensions(&out, &a, 0, (int64_t[]){1}, -1, &e), TG_ERR_ARGUMENT, "a list of -1 sizes");
    FAILS(tg_xla_insert_dimensions(&out, &a, 0, (int64_t[]){-2}, 1, &e), TG_ERR_ARGUMENT, "size -2");
    FAILS(tg_xla_insert_dimensions(&out, &a, 0, (int64_t[]){INT64_MAX}, 1, &e), TG_ERR_OVERFLOW, "Dimensions overflow");
    const int64_t ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    FAILS(tg_xla_insert_dimensions(&out, &a, 0, ones, 15, &e), TG_ERR_LIMIT, "limit of 16");
    assert_int_equal(tg_xla_insert_dimensions(&out, &a, 0, ones, 14, NULL), TG_OK);
    assert_int_equal(out.ndim, 16);
    FAILS(tg_xla_append_major_dimension(&out, &out, 1, &e), TG_ERR_LIMIT, "limit of 16");
    a.has_layout = false;
    assert_int_equal(tg_xla_insert_dimensions(&a, &a, 1, ones, 1, NULL), TG_OK);
    assert_true(!a.has_layout && a.ndim == 3 && a.dims[1] == 1);
}

/* A place that doubles at each of eight levels: the numbers run out, and nothing else does. */
static void test_insert_under_many_levels(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape out, a = read_array("f32[4]{0:T(4)(2,2)(1,2,1,2)(1,1,1,1,1,1,1,2)(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2)}");
    FAILS(tg_xla_insert_dimensions(&out, &a, 1, (int64_t[]){3}, 1, &e), TG_ERR_LIMIT, "more than 32 numbers");
    a = read_array("f32[4]{0:T(4)(4,2)(1,2,1,2)}");
    assert_int_equal(tg_xla_insert_dimensions(&out, &a, 1, (int64_t[]){3}, 1, NULL), TG_OK);
    assert_text(&out, "f32[4,3]{1,0:T(4,1)(4,1,2,1)(1,1,2,1,1,1,2,1)}");
    a = read_array("f32[4]{0:T(4)(4)(4)(4)(4)(4)(4)(4)}");
    assert_int_equal(tg_xla_insert_dimensions(&out, &a, 1, (int64_t[]){3}, 1, NULL), TG_OK);
    assert_text(&out, "f32[4,3]{1,0:T(4,1)(4,1)(4,1)(4,1)(4,1)(4,1)(4,1)(4,1)}");
}

static void test_major_dimensions(void **state) {
    (void)state;
    tg_xla_shape a = read_array("f32[10,20,30]{0,2,1:T(8,128)SC(0:3)}"), out;
    assert_int_equal(tg_xla_append_major_dimension(&out, &a, 40, NULL), TG_OK);
    assert_text(&out, "f32[10,20,30,40]{0,2,1,3:T(8,128)SC(1:3)}");
    assert_int_equal(tg_xla_prepend_major_dimension(&out, &a, 40, NULL), TG_OK);
    assert_text(&out, "f32[40,10,20,30]{1,3,2,0:T(8,128)SC(1:3)}");
}

/* ---- renaming ----------------------------------------------------------------------------- */

static void test_permutations_of_dimensions(void **state) {
    (void)state;
    tg_error     e;
    tg_xla_shape a = read_array("f32[<=10,20,30]{2,1,0:T(8,128)SC(0:3)}"), out;
    assert_int_equal(tg_xla_permute_dimensions(&out, &a, (int32_t[]){1, 2, 0}, NULL), TG_OK);
    assert_text(&out, "f32[20,30,<=10]{1,0,2:T(8,128)SC(0:3)}");
    assert_int_equal(tg_xla_make_descending(&out, &out, NULL), TG_OK);
    assert_text(&out, "f32[<=10,20,30]{2,1,0:T(8,128)SC(0:3)}");
    assert_int_equal(tg_xla_permute_dimensions_ignoring_layout(&out, &a, (int32_t[]){1, 2, 0}, NULL), TG_OK);
    assert_text(&out, "f32[20,30,<=10]{2,1,0:T(8,128)SC(0:3)}");
    FAILS(tg_xla_permute_dimensions(&out, &a, (int32_t[]){1, 1, 0}, &e), TG_ERR_ARGUMENT, "listed twice");
    a = read_array("f32[9,2]{1,0:SC(0:3)}"); /* the cut does not fit the size that comes under it */
    FAILS(tg_xla_permute_dimensions_ignoring_layout(&out, &a, (int32_t[]){1, 0}, &e), TG_ERR_ARGUMENT,
          "out of bounds: 3");
    assert_text(&out, "f32[20,30,<=10]{2,1,0:T(8,128)SC(0:3)}");
    a.has_layout = false;
    FAILS(tg_xla_make_descending(&out, &a, &e), TG_ERR_ARGUMENT, "does not have a layout");
}

static void test_moves(void **state) {
    (void)state;
    tg_xla_layout l = read_array("f32[9,8,7]{1,0,2:T(2,4)SC(0:3)(2:5)}").layout;
    char          text[64];
    assert_int_equal(tg_xla_move_dim_to_major(&l, &l, 1, NULL), TG_OK); /* 2, 0, 1 becomes 1, 2, 0 */
    (void)tg_xla_layout_format(text, sizeof text, &l);
    assert_string_equal(text, "{0,2,1:T(2,4)SC(1:3)(0:5)}");
    assert_int_equal(tg_xla_move_dim_to_minor(&l, &l, 1, NULL), TG_OK);
    (void)tg_xla_layout_format(text, sizeof text, &l);
    assert_string_equal(text, "{1,0,2:T(2,4)SC(0:3)(2:5)}");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delete_dimensions),
        cmocka_unit_test(test_drop_degenerate_dimensions),
        cmocka_unit_test(test_digits_that_do_not_nest),
        cmocka_unit_test(test_insert_dimensions),
        cmocka_unit_test(test_insert_under_many_levels),
        cmocka_unit_test(test_major_dimensions),
        cmocka_unit_test(test_permutations_of_dimensions),
        cmocka_unit_test(test_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
