/* Which blocks a move is made of, and which way they go: what was measured to be faster; and that the bytes are right.
 */
#include "checked_move.h"
#include "layouts.h"

static tg_layout packed_layout(const char *shape, const char *order) {
    char text[100];
    snprintf(text, sizeof text, "%s{%s:E(%c)}", shape, order, shape[1]);
    return layout_of(text);
}

/* The first of the boxes of a move; small ones too. */
static tg_box box_of(const char *dst, const char *src, bool far, bool around) {
    const tg_layout      d = layout_of(dst), s = layout_of(src);
    const tg_plan_params params = {.dst = &d, .src = &s};
    tg_tuning            t = tg_default_tuning;
    tg_plan              p;
    t.far_bytes = far ? 0 : INT64_MAX;
    t.stream_bytes = around ? 0 : INT64_MAX;
    assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
    return tg_plan_see(&p)->as.nest.box[0];
}

/* From memory and around the caches, or in a cache. */
static tg_box first_box(const char *dst, const char *src, bool far) { return box_of(dst, src, far, far); }

/* That of reversed dimensions, from memory. */
static tg_box reversed_box(const char *shape) {
    static const char *const orders[] = {"0", "0,1", "0,1,2", "0,1,2,3"};
    const tg_layout          d = layout_of(shape);
    char                     text[100];
    assert_in_range(d.ndim, 1, 4);
    snprintf(text, sizeof text, "%s{%s}", shape, orders[d.ndim - 1]);
    return first_box(shape, text, true);
}

static tg_block reversed_block(const char *shape) { return reversed_box(shape).block; }

/* Where they have no room for whole rows of dst: short lines are whole, and rows end with lines of a cache, if that
 * does not take too much. */
static void test_blocks_of_short_lines(void **state) {
    (void)state;
    static const char *const shared[] = {"f16[640,832,63]", "f32[32,8320,63]", "u8[640,832,100]", "f64[96,6000,25]"};
    static const char *const large[] = {"u8[128,129,4095]", "u8[128,500,3001]", "f16[64,3000,1001]"};
    assert_int_equal(reversed_block("f32[33,4161,131]").rows, 33);
    assert_int_equal(reversed_block("f64[55,76800,20]").rows, 55);
    assert_int_equal(reversed_block("u8[300,1661,127]").rows, 300);
    assert_int_equal(reversed_block("f32[192,1024,64]").rows, 192);
    assert_int_equal(reversed_block("f32[10000,53,31]").outer, 53);
    assert_int_equal(reversed_block("f16[4357,77,100]").outer, 77); /* long lines of narrow elements: whole rows */
    /* Rows that begin inside of lines go on, but of wide elements they leave room for longer pieces of lines of src. */
    assert_in_range(reversed_block("f64[2400,13981]").cols, 1024, 2048);
    assert_in_range(reversed_block("f32[2400,7001]").cols, 1024, 2048);
    assert_true(reversed_block("f64[2400,13981]").rows >= 64);
    assert_true(reversed_block("f16[2400,13981]").cols >= 8192);
    /* Nor are rows cut that begin inside of lines only because they follow each other, as steps of the outer loop. */
    assert_int_equal(reversed_block("bf16[768,320,546]").cols, 546);
    assert_int_equal(
        first_box("f64[4,96,910,96]{2,3,0,1}", "f64[4,96,910,96]{1,3,0,2}", true).block.cols, 910);
    /* Short lines that follow each other: some of them, if rows begin inside of lines. */
    const tg_block brief = first_box("u8[24,145257,77]{1,2,0}", "u8[24,145257,77]{0,2,1}", true).block;
    assert_true(brief.rows * brief.outer >= 400 && brief.cols < 145257);
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++) {
        const tg_block b = reversed_block(shared[i]);
        assert_true(b.outer > 1 && b.outer < layout_of(shared[i]).shape[1]);
        assert_int_equal(b.outer * b.dst_outer % TG_LINE_BYTES, 0);
    }
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        const tg_box  box = reversed_box(large[i]);
        const int64_t bytes = box.block.outer * box.block.rows * box.block.cols * box.width;
        assert_true(bytes <= 4 * tg_default_tuning.block_bytes);
    }
}

/* Brief rows go on along dst around the caches, also where a tile is one run of src, and short lines to short rows
 * where stores do not wait; sticks and lines do not. */
static void test_brief_rows(void **state) {
    (void)state;
    static const char *const both[] = {"u8[16,87381,48]", "f16[24,58254,24]", "f32[12,116508,12]", "u8[64,10922,96]"};
    static const char *const others[] = {"u8[16,65536,64]", "f16[32,43690,24]", "f16[12,58254,48]"};
    const bool waits = (tg_cpu_features() & TG_CPU_CLAIMS) != 0;
    assert_int_equal(reversed_block("f32[64,86,304,20]").dst_outer, 80);
    assert_int_equal(reversed_block("f16[128,43,89,68]").dst_outer, 136);
    assert_int_equal(reversed_block("f32[256,22,87,34]").dst_outer, 136);
    assert_true(reversed_block("f32[64,43,179,34]").dst_outer > 136);
    assert_true(reversed_block("f16[128,43,95,64]").dst_outer > 128);
    assert_int_equal(first_box("bf16[320,77,70,77]{1,2,0,3}", "bf16[320,77,70,77]{0,1,3,2}", true).block.dst_outer,
                     154);
    assert_int_equal(first_box("f16[64,32,20,32]", "f16[64,32,20,32]{0,3,1,2}", true).block.dst_outer, 64);
    assert_int_equal(first_box("f32[50,77,77,5]{0,3,2,1}", "f32[50,77,77,5]{2,0,1,3}", true).block.dst_outer, 200);
    assert_true(first_box("f16[64,64,20,64]", "f16[64,64,20,64]{0,3,1,2}", true).block.dst_outer > 128); /* sticks */
    assert_true(first_box("f64[96,8,8,16]{1,2,0,3}", "f64[96,8,8,16]{2,1,3,0}", true).block.src_outer == 512);
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++)
        assert_int_equal(reversed_box(both[i]).route == TG_ROUTE_MOVE, !waits);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_not_equal(reversed_box(others[i]).route, TG_ROUTE_MOVE);
}

/* Columns of two loops that are whole rows of dst are one block, but for long rows of whole lines, and in a cache. */
static void test_rows_of_two_loops(void **state) {
    (void)state;
    static const char *const one[] = {"u8[8715,77,4]", "f16[2001,77,4]", "f32[5592,1000,3]", "f16[1747,64,3]"};
    static const char *const tiles[] = {"u8[52428,320,4]", "u8[131072,64,8]"};
    char                     text[100];
    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++) {
        snprintf(text, sizeof text, "%s{0,1,2}", one[i]);
        const tg_box    box = reversed_box(one[i]);
        const tg_layout d = layout_of(one[i]), s = layout_of(text);
        assert_int_equal(box.route, TG_ROUTE_MOVE);
        assert_int_equal(box.block.dst_outer, box.block.cols * box.width);
        assert_int_equal(first_box(one[i], text, false).route, TG_ROUTE_TURN);
        if (d.shape[0] < 4000) check_far(&d, &s);
    }
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++)
        assert_int_equal(reversed_box(tiles[i]).route, TG_ROUTE_TURN);
}

typedef enum how { COPIED, TURNED, AS_CELLS } how;

static const char *const how_names[] = {"copied", "turned", "as cells"};

static how how_moved(const tg_box *box) {
    return box->family == TG_FAMILY_CELLS ? AS_CELLS : box->family == TG_FAMILY_TRANSPOSE ? TURNED : COPIED;
}

/* Pixels, and other runs that are no power of two of bytes, are turned as elements, where vectors have that many bytes
 * and the matrices fill them; a few lines of them that go on are cells; else they are copied one by one. */
static void test_pixels(void **state) {
    (void)state;
    static const struct {
        const char *dst, *src;
        how         near, far;
    } moves[] = {
        {"u8[40,50,3]{2,0,1}", "u8[40,50,3]", TURNED, TURNED},
        {"u8[9,17,33,3]{3,1,2,0}", "u8[9,17,33,3]", TURNED, TURNED},
        {"f16[31,20,3]{2,0,1}", "f16[31,20,3]", TURNED, TURNED},
        {"u8[70,131,5]{2,0,1}", "u8[70,131,5]", TURNED, TURNED},
        {"f32[20,21,3]{2,0,1}", "f32[20,21,3]", TURNED, TURNED},
        {"f64[12,13,3]{2,0,1}", "f64[12,13,3]", TURNED, TURNED},
        {"f16[50,2,4,3]{3,1,2,0}", "f16[50,2,4,3]", TURNED, TURNED},         /* many small matrices */
        {"u8[2,200,16,3]{3,0,1,2}", "u8[2,200,16,3]", TURNED, TURNED},       /* two columns, and a third loop goes on */
        {"u8[40,30,2,10,3]{4,2,0,1,3}", "u8[40,30,2,10,3]", TURNED, TURNED}, /* lines are short too */
        {"f32[2,300,3]{2,0,1}", "f32[2,300,3]", COPIED, TURNED},            /* few columns, too few bytes for a list */
        {"u8[2,300,3]{2,0,1}", "u8[2,300,3]", COPIED, COPIED},
        {"f32[2,900,3]{2,0,1}", "f32[2,900,3]", AS_CELLS, AS_CELLS},
        {"f32[2,900,3]{2,1,0}", "f32[2,900,3]{2,0,1}", AS_CELLS, AS_CELLS},
        {"u8[5,3001,3]{2,0,1}", "u8[5,3001,3]", AS_CELLS, AS_CELLS},
        {"u8[5,3001,3]{2,1,0}", "u8[5,3001,3]{2,0,1}", AS_CELLS, AS_CELLS},
        {"u8[7,2001,3]{2,0,1}", "u8[7,2001,3]", TURNED, TURNED}, /* more lines */
        {"u8[2,1001,24]{2,0,1}", "u8[2,1001,24]", COPIED, TURNED}, /* more bytes */
        {"u8[300,3,7]{2,0,1}", "u8[300,3,7]", COPIED, TURNED},             /* few lines to long rows */
        {"u8[40,3,30,3]{3,1,2,0}", "u8[40,3,30,3]", AS_CELLS, AS_CELLS},
        {"u8[24,3,1040,7]{3,0,2,1}", "u8[24,3,1040,7]{3,1,2,0}", TURNED, TURNED}, /* few rows, which go on */
        {"f16[100,3,58,3,5]{4,1,0,2,3}", "f16[100,3,58,3,5]{4,3,0,2,1}", TURNED, TURNED},
        {"f32[30,20,3] strides=[63,3,1]", "f32[30,20,3]{2,0,1}", TURNED, TURNED}, /* rows have a gap between them */
        {"u8[30,40,3]{2,0,1}", "u8[30,40,3] strides=[-120,3,1] offset=3480", TURNED, TURNED},
    };
    const bool can = (tg_cpu_features() & TG_CPU_AVX512) != 0;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout d = layout_of(moves[i].dst), s = layout_of(moves[i].src);
        const tg_box    near = first_box(moves[i].dst, moves[i].src, false);
        const tg_box    far = first_box(moves[i].dst, moves[i].src, true);
        if (how_moved(&near) != (can ? moves[i].near : COPIED) || how_moved(&far) != (can ? moves[i].far : COPIED))
            fail_msg("%s to %s: %s, from memory %s", moves[i].src, moves[i].dst, how_names[how_moved(&near)],
                     how_names[how_moved(&far)]);
        check_move(&d, &s);
        check_move(&s, &d);
        check_far(&d, &s);
    }
    /* From a third-level cache long ones are copied, but for those out of a few lines. */
    assert_int_equal(box_of("u8[2,1001,24]{2,0,1}", "u8[2,1001,24]", true, false).family == TG_FAMILY_CELLS, can);
    assert_int_not_equal(box_of("f64[12,13,3]{2,0,1}", "f64[12,13,3]", true, false).family, TG_FAMILY_TRANSPOSE);
    assert_int_equal(box_of("f32[12,13,3]{2,0,1}", "f32[12,13,3]", true, false).family == TG_FAMILY_TRANSPOSE, can);
}

/* The first box of a large move. */
static tg_block large_block(const char *dst, const char *src) {
    const tg_layout      d = layout_of(dst), s = layout_of(src);
    const tg_plan_params params = {.dst = &d, .src = &s};
    tg_plan              p;
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    return tg_plan_see(&p)->as.nest.box[0].block;
}

/* Rows in pieces that follow each other inside of lines of dst, while src is near; a few steps of it at a time. */
static void test_pieces_that_follow(void **state) {
    (void)state;
    static const struct {
        const char *dst, *src, *small_dst, *small_src;
        int64_t     row; /* bytes */
        bool        follow;
    } moves[] = {
        {"f32[16,66560,63]", "f32[16,66560,63] spyre", "f32[6,300,63]", "f32[6,300,63] spyre", 252, true},
        {"u8[232,9,45,32,89]{4,2,3,1,0}", "u8[232,9,45,32,89]{4,3,2,1,0:T(7,64)}", "u8[3,2,45,32,89]{4,2,3,1,0}",
         "u8[3,2,45,32,89]{4,3,2,1,0:T(7,64)}", 89, true},
        {"f32[32,66560,63]", "f32[32,66560,63] spyre", "f32[32,100,63]", "f32[32,100,63] spyre", 252,
         false}, /* more steps */
        {"f32[16,66560,64]", "f32[16,66560,64] spyre", "f32[6,300,64]", "f32[6,300,64] spyre", 256,
         false}, /* whole lines */
        {"f32[16,16560,263]", "f32[16,16560,263] spyre", "f32[6,80,263]", "f32[6,80,263] spyre", 1052,
         false}, /* long rows */
        {"f32[1026,3,150,150]", "f32[1026,3,150,150] spyre", "f32[6,3,15,63]", "f32[6,3,15,63] spyre", 600,
         false}, /* far */
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_block  b = large_block(moves[i].dst, moves[i].src);
        const tg_layout d = layout_of(moves[i].small_dst), s = layout_of(moves[i].small_src);
        const bool      follow = b.ragged == TG_RAGGED_ROWS && b.outer > 1 && b.dst_outer == moves[i].row;
        if (follow != moves[i].follow) fail_msg("%s: rows %d, then %d", moves[i].dst, (int)b.rows, (int)b.dst_outer);
        if (follow) assert_in_range(b.outer * b.src_outer, 64 << 10, 128 << 10);
        check_far(&d, &s);
        check_move(&d, &s);
    }
}

/* Single elements of rows that lie in the same lines of src, out of memory: so few columns that these are still in a
 * cache for the next row. */
static void test_rows_in_lines(void **state) {
    (void)state;
    const tg_block shared = large_block("bf16[22369616,6]{0,1}", "bf16[22369616,6] strides=[23,3]"),
                   apart = large_block("bf16[6,22369616]", "bf16[6,22369616] strides=[67108864,3]");
    const tg_layout d = layout_of("bf16[9000,6]{0,1}"), s = layout_of("bf16[9000,6] strides=[23,3]");
    assert_int_equal(shared.src_col, 46);
    assert_in_range(shared.cols * shared.src_col, 128 << 10, 256 << 10);
    assert_true(apart.cols * apart.src_col > 512 << 10);
    check_far(&d, &s);
}

/* Rows of a packed matrix, around the caches: bands of 128 of four bits, of 256 of two. Several of them where the mover
 * turns regions, but four blocks for each thread, in all and in a step; threads that are not known may be two. */
static void test_rows_of_regions(void **state) {
    (void)state;
    static const struct {
        const char *shape;
        int32_t     threads;
        uint32_t    without;
        int64_t     rows;
    } cases[] = {
        {"s4[8193,3001]", 1, 0, 1024},
        {"s4[8193,3001]", 0, 0, 256},
        {"s4[8193,3001]", 2, 0, 256},
        {"s4[8193,3001]", 3, 0, 128},
        {"u2[8193,3001]", 1, 0, 1024},
        {"u2[8193,3001]", 2, 0, 256},
        {"s4[32765,16389]", 1, 0, 512}, /* a quarter of a step */
        {"s4[32765,16389]", 4, 0, 128},
        {"s4[536857,1001]", 1, 0, 128},
        {"s4[4095,3001]", 1, 0, 128},   /* too few columns */
        {"s4[8193,3001]", 1, TG_CPU_AVX512, 128},
    };
    const uint32_t have = tg_cpu_features();
    if ((have & TG_CPU_AVX512) == 0) skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tg_layout      s = packed_layout(cases[i].shape, "1,0"), d = packed_layout(cases[i].shape, "0,1");
        const tg_plan_params params = {.dst = &d, .src = &s, .threads = cases[i].threads, .without = cases[i].without};
        tg_plan              p;
        assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
        const int64_t blocks = tg_plan_see(&p)->as.nest.box[0].blocks, rows = cases[i].rows;
        if (blocks != (s.shape[1] + rows - 1) / rows)
            fail_msg("%s, %d threads: %d blocks", cases[i].shape, (int)cases[i].threads, (int)blocks);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_of_short_lines),
        cmocka_unit_test(test_brief_rows),
        cmocka_unit_test(test_rows_of_two_loops),
        cmocka_unit_test(test_pixels),
        cmocka_unit_test(test_pieces_that_follow),
        cmocka_unit_test(test_rows_in_lines),
        cmocka_unit_test(test_rows_of_regions),
    };
    random_state = 20261127;
    return cmocka_run_group_tests_name("relayout_blocks", tests, NULL, NULL);
}
