/* Panels (relayout/panel.c): which moves are such, and that all of their bytes are right. And long rows that begin
 * anywhere, which are carried by the same reasons: 256 bytes of each line at a visit. */
#include "checked_move.h"
#include "layouts.h"

/* Is the first box of a plan a panel? Then it fits into its stage, and its runs are long. */
static bool is_panel(const char *dst, const char *src, int64_t memory_bytes) {
    enum { LEAST_READ = 128, LEAST_WRITE = 256 };
    const tg_layout      d = layout_of(dst), s = layout_of(src);
    const tg_plan_params params = {.dst = &d, .src = &s};
    tg_tuning            t = tg_default_tuning;
    tg_plan              p;
    t.far_bytes = t.stream_bytes = 0;
    t.memory_bytes = memory_bytes;
    assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
    const tg_nest *nest = &tg_plan_see(&p)->as.nest;
    const tg_box  *box = nest->box;
    if (tg_plan_see(&p)->way != TG_WAY_NEST || box->route != TG_ROUTE_PANEL) return false;
    const tg_loop *in = &nest->loop[box->first + box->nloops], *out = in + box->ncols;
    int64_t        bytes = nest->width[box->in], read = bytes, written = 1;
    for (int32_t i = 0; i < box->ncols; i++) bytes *= in[i].n;
    for (int32_t k = 0; k < box->ncols; k++)
        for (int32_t i = 0; i < box->ncols; i++)
            if (in[i].src == read) read *= in[i].n;
    for (int32_t i = 0; i < box->nrows; i++) written *= out[i].n;
    assert_int_equal(written, bytes);
    assert_true(bytes <= TG_PANEL_BYTES && read >= LEAST_READ && out[0].n >= LEAST_WRITE);
    return true;
}

static void test_chosen(void **state) {
    (void)state;
    static const struct {
        const char *dst, *src;
        bool        panel;
    } moves[] = {
        {"f16[20,300,8,16]{3,1,0,2}", "f16[20,300,8,16]{3,2,0,1}", true},   /* runs of 32 bytes */
        {"u8[50,100,50]{0,1,2}", "u8[50,100,50]{0,2,1}", true},             /* of 50 */
        {"u8[50,60,50]{0,1,2}", "u8[50,60,50]{0,2,1}", false},              /* all of a panel would be one run */
        {"f32[130,300,9]{2,0,1}", "f32[130,300,9]{2,1,0}", true},             /* of 36, no element */
        {"f64[130,300,7]{2,0,1}", "f64[130,300,7]{2,1,0}", false},            /* of 56 */
        {"f16[24,77,300,3]{0,3,2,1}", "f16[24,77,300,3]{3,1,2,0}", false},  /* 3 elements follow each other in src */
        {"f16[24,24,50,18,63]{1,3,0,4,2}", "f16[24,24,50,18,63]{3,4,2,1,0}", true},
        {"f16[16,128,8,64,16]{4,2,0,1,3}", "f16[16,128,8,64,16]{2,3,1,0,4}", false}, /* 8 do */
        {"u8[12,300,40,48]{0,2,3,1}", "u8[12,300,40,48]{1,2,3,0}", false},  /* a tile is as good */
        {"u8[538,6,48,5]{0,3,2,1}", "u8[538,6,48,5]{0,1,2,3:T(8,33)}", false}, /* the last run of a row is shorter */
        {"f16[300,8,48,5]{0,3,2,1}", "f16[300,8,48,5]{0,1,2,3:T(8,16)}", false},
        {"f16[304,8,48,5]{0,3,2,1}", "f16[304,8,48,5]{0,1,2,3:T(8,16)}", true},
        {"f16[600,500]{0,1}", "f16[600,500]", false},
        {"u8[16,40]{1,0}", "u8[16,40]{0,1}", false},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        if (is_panel(moves[i].dst, moves[i].src, 0) != moves[i].panel)
            fail_msg("%s to %s: %s", moves[i].src, moves[i].dst, moves[i].panel ? "no panel" : "a panel");
        assert_false(is_panel(moves[i].dst, moves[i].src, INT64_MAX)); /* in a cache there are none */
        const tg_layout d = layout_of(moves[i].dst), s = layout_of(moves[i].src);
        check_far(&d, &s);
    }
}

/* Random orders of dimensions. */
static void test_bytes(void **state) {
    (void)state;
    static const char *const types[] = {"u8", "f16", "f32", "f64"};
    int                      panels = 0;
    random_state = 20261128; /* whatever else has been tested */
    for (int k = 0; k < 150; k++) {
        int64_t shape[5];
        int     order[5] = {0, 1, 2, 3, 4};
        char    head[80], dst[120], src[120];
        for (int i = 0; i < 4; i++) shape[i] = 2 + random_below(i % 2 == 0 ? 12 : 40);
        shape[4] = random_below(2) == 0 ? 1 + random_below(7) : 32;
        for (int side = 0; side < 2; side++) {
            for (int i = 4; i > 0; i--) {
                const int j = (int)random_below(i + 1), t = order[i];
                order[i] = order[j];
                order[j] = t;
            }
            snprintf(head, sizeof head, "%s[%d,%d,%d,%d,%d]", types[k % 4], (int)shape[0], (int)shape[1], (int)shape[2],
                     (int)shape[3], (int)shape[4]);
            snprintf(side == 0 ? dst : src, sizeof dst, "%s{%d,%d,%d,%d,%d}", head, order[0], order[1], order[2],
                     order[3], order[4]);
        }
        const tg_layout d = layout_of(dst), s = layout_of(src);
        panels += is_panel(dst, src, 0);
        check_far(&d, &s);
    }
    assert_true(panels >= 5);
}

/* Rows of more columns, and more of them, than buffers have; ends of tiles, padding, two loops of lines. */
static void test_carried(void **state) {
    (void)state;
    static const char *const moves[][2] = {
        {"u8[300,257]", "u8[300,257]{0,1}"},
        {"u8[257,700]", "u8[257,700]{0,1}"},
        {"u8[600,9,77]{2,1,0}", "u8[600,9,77]{0,2,1}"},
        {"u8[513,12,32]{2,1,0}", "u8[513,12,32]{0,2,1}"}, /* rows are whole lines, lines of src are not */
        {"f16[257,301]", "f16[257,301]{0,1}"},
        {"f16[129,9,64]{2,1,0}", "f16[129,9,64]{0,2,1}"},
        {"f32[130,1021]", "f32[130,1021]{0,1}"},
        {"f64[65,200]", "f64[65,200]{0,1}"},
        {"f64[3,65,200]{2,1,0}", "f64[3,65,200]{1,2,0}"},
        {"u8[700,300] strides=[331,1]", "u8[700,300]{0,1}"},
        {"f16[300,300] strides=[331,1]", "f16[300,300]{0,1}"},
        {"u8[512,900]{1,0}", "u8[512,900]{0,1}"},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout d = layout_of(moves[i][0]), s = layout_of(moves[i][1]);
        check_far(&d, &s);
        check_move(&d, &s);
    }
}

/* Tiles whose rows begin inside of lines read as much of each line, and the one that goes on in dst comes next; but not
 * where parts of lines of src would be read again, and runs are long. */
static void test_carried_tiles(void **state) {
    (void)state;
    static const struct {
        const char *dst, *src;
        int64_t     rows, next; /* of a tile, elements; bytes of dst to the tile that comes next */
    } moves[] = {
        {"u8[90,77,4,24]{1,3,0,2}", "u8[90,77,4,24]{2,0,3,1}", 180, 231},
        {"u8[100,4,531,50]{1,3,0,2}", "u8[100,4,531,50]{2,1,0,3}", 256, 200},
        {"u8[20,3,7,77,68]{3,1,0,4,2}", "u8[20,3,7,77,68]{1,4,3,2,0}", 204, 231},   /* three rows follow each other */
        {"f16[76,10,1,24,50]{4,3,2,1,0}", "f16[76,10,1,24,50]{3,0,2,4,1}", 120, 120000},
        {"f64[97,20,14,12,3]{2,0,3,4,1}", "f64[97,20,14,12,3]{3,1,2,4,0}", 24, 1792},
        {"f32[20,50,4,671]{2,3,0,1}", "f32[20,50,4,671]{1,0,3,2}", 50, 10736}, /* 976 bytes of rows, 200 of lines */
        {"u8[64,64,4,24]{1,3,0,2}", "u8[64,64,4,24]{2,0,3,1}", 128, 128},      /* at lines, as ever */
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout      d = layout_of(moves[i].dst), s = layout_of(moves[i].src);
        const tg_plan_params params = {.dst = &d, .src = &s};
        tg_tuning            t = tg_default_tuning;
        tg_plan              p;
        t.far_bytes = t.stream_bytes = 0;
        assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
        const tg_nest *nest = &tg_plan_see(&p)->as.nest;
        const tg_box  *box = nest->box;
        const tg_loop *inner = &nest->loop[box->first + box->nloops - 1];
        if (box->route != TG_ROUTE_TURN || box->block.rows != moves[i].rows || inner->dst != moves[i].next)
            fail_msg("%s to %s: route %d, %lld rows, next %lld", moves[i].src, moves[i].dst, (int)box->route,
                     (long long)box->block.rows, (long long)inner->dst);
        check_far(&d, &s);
    }
}

/* From memory, tiles have the rows that follow each other inside of lines, where lines of src are short. */
static void test_tiles_of_rows_that_follow(void **state) {
    (void)state;
    static const struct {
        const char *dst, *src;
        bool        tiles;
    } moves[] = {
        {"f16[86,195,5,16]{0,2,3,1}", "f16[86,195,5,16]{3,2,1,0}", true},   /* 5 of 172 bytes follow each other */
        {"f64[335,4,50,20]{2,1,3,0}", "f64[335,4,50,20]{1,0,2,3}", true},
        {"u8[221,14,96,9]{0,2,1,3}", "u8[221,14,96,9]{3,2,1,0}", true},
        {"u8[221,14,96,9]{0,1,2,3}", "u8[221,14,96,9]{3,2,1,0}", false},    /* lines of src do not go on along these */
        {"f16[96,195,4,16]{0,2,3,1}", "f16[96,195,4,16]{3,2,1,0}", false},  /* rows are lines */
        {"f32[268,78,8,4]{0,2,1,3}", "f32[268,78,8,4]{3,2,1,0}", false},    /* rows are long */
        {"f16[86,129,4,16]{0,2,1,3}", "f16[86,129,4,16]{3,2,1,0}", true},
        {"f16[86,128,4,16]{0,2,1,3}", "f16[86,128,4,16]{3,2,1,0}", false}, /* lines crowd each other */
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++)
        for (int memory = 0; memory < 2; memory++) {
            const tg_layout      d = layout_of(moves[i].dst), s = layout_of(moves[i].src);
            const tg_plan_params params = {.dst = &d, .src = &s};
            tg_tuning            t = tg_default_tuning;
            tg_plan              p;
            t.far_bytes = t.stream_bytes = 0;
            if (memory) t.memory_bytes = 0;
            assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
            const bool tiles = tg_plan_see(&p)->as.nest.box->route == TG_ROUTE_TURN;
            if (tiles != (memory && moves[i].tiles)) fail_msg("%s: tiles: %d, memory: %d", moves[i].dst, tiles, memory);
            check_far(&d, &s);
        }
}

/* By definition: of n lines, how many are in the set that has the most of them? */
static int64_t most_in_a_set(int64_t step, int64_t n) {
    enum { SETS = 2048, LINE = 64 };
    int64_t count[SETS] = {0}, most = 0;
    for (int64_t i = 0; i < n; i++) most = tg_max(most, ++count[i * step / LINE % SETS]);
    return most;
}

static void test_crowds(void **state) {
    (void)state;
    enum { LINES_OF_SET = 8, STEP = 128 };
    int crowds = 0;
    assert_true(tg_crowds_second(99864, 224)); /* 21 steps are 8 bytes less than 2 MiB */
    assert_false(tg_crowds_second(99800, 224));
    assert_false(tg_crowds_second(-99800, 224));
    assert_true(tg_crowds_second(-131072, 9));
    for (int k = 0; k < 1000; k++) {
        const int64_t step = STEP * ((int64_t)1 << random_below(11)) * (1 + random_below(50)),
                      n = 1 + random_below(400);
        assert_int_equal(tg_crowds_second(step, n), most_in_a_set(step, n) > LINES_OF_SET);
        crowds += tg_crowds_second(step, n);
    }
    assert_in_range(crowds, 100, 900);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_carried),
        cmocka_unit_test(test_carried_tiles),
        cmocka_unit_test(test_tiles_of_rows_that_follow),
        cmocka_unit_test(test_crowds),
    };
    random_state = 20261127;
    return cmocka_run_group_tests_name("panels", tests, NULL, NULL);
}
