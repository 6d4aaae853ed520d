/* Padding next to data: as tails, in boxes of its own, or made with the data in a buffer; each byte once. */
#include "checked_move.h"
#include "layouts.h"

/* Bytes of padding that are boxes of their own. */
static int64_t filled_apart(const tg_layout *dst, const tg_layout *src, uint32_t hint) {
    tg_plan              plan;
    const tg_nest *const nest = hinted_nest(&plan, dst, src, hint);
    int64_t              bytes = 0;
    for (int32_t i = 0; i < nest->nboxes; i++) {
        const tg_box *const box = &nest->box[i];
        int64_t             n = box->block.outer * box->block.rows * box->block.cols;
        for (int32_t k = 0; k < box->nloops; k++) {
            const tg_loop *const l = &nest->loop[box->first + k];
            if (l->chunks_of == TG_BLOCK_ROWS) n /= box->block.rows;
            if (l->chunks_of == TG_BLOCK_OUTER) n /= box->block.outer;
            n *= l->chunks_of != TG_NO_LOOP ? box->total[l->chunks_of] : l->n;
        }
        if (box->route == TG_ROUTE_FILL) bytes += n;
    }
    return bytes;
}

/* Padding behind pairs of elements, and fours and so on, that move as one is their tail; where some of a pair are
 * missing, it is not. */
static void test_wide_tails(void **state) {
    (void)state;
    static const struct {
        const char *src, *dst;
        int64_t     apart;
    } cases[] = {
        {"bf16[7,1000]", "bf16[7,1000]{0,1:T(8,128)(2,1)}", 0},
        {"bf16[7,1001]", "bf16[7,1001]{0,1:T(8,128)(2,1)}", 484 + 3 * 512}, /* a pair lacks one, the tile 3 */
        {"s8[7,1000]", "s8[7,1000]{0,1:T(8,128)(4,1)}", 0},
        {"s8[7,1003]", "s8[7,1003]{0,1:T(8,128)(4,1)}", 484 + 512},
        {"s4[7,1000]{1,0:E(4)}", "s4[7,1000]{0,1:T(8,128)(8,1)E(4)}", 0},
        {"s4[7,1004]{1,0:E(4)}", "s4[7,1004]{0,1:T(8,128)(8,1)E(4)}", 484},
        {"u2[7,1600]{1,0:E(2)}", "u2[7,1600]{0,1:T(16,128)(16,1)E(2)}", 0},
        {"bf16[130,200]", "bf16[130,200]{0,1:T(8,128)(2,1)}", 0}, /* one box of whole tiles, one with a tail */
        {"bf16[3,34,72]", "bf16[3,34,72]{1,2,0:T(8,128)(2,1)}", 0},
        {"bf16[3,34,72]", "bf16[3,34,72]{1,2,0:T(2,8,128)(2,1)}", 72 * 256}, /* and of another dimension */
        {"bf16[3,34,77]", "bf16[3,34,77]{1,2,0:T(2,8,128)(2,1)}", 80 * 256 + 3 * (376 + 512)},
        {"f16[300,12]{0,1}", "f16[300,12]{1,0:T(8,16)(4,1)}", 128},                /* the last tile lacks a half */
        {"bf16[1,200]", "bf16[1,200]{0,1:T(8,128)(2,1)}", 100 * 508},              /* single ones have none */
        {"bf16[7,1000]{0,1}", "bf16[7,1000]{0,1:T(8,128)(2,1)}", 500 * 484},       /* no pairs in src */
        {"bf16[7,1000]{0,1:T(4,128)(2,1)}", "bf16[7,1000]{0,1:T(8,128)(2,1)}", 0}, /* they are one run */
        {"f16[6,300]{1,0:T(8,16)(2,1)}", "f16[6,300] spyre dim_order=[1,0] device_dtype=IEEE_FP16", 0},
        {"f16[70,300]{1,0:T(8,16)(2,1)}", "f16[70,300] spyre dim_order=[1,0] device_dtype=IEEE_FP16", 0},
        {"f16[5,300]{1,0:T(8,16)(2,1)}", "f16[5,300] spyre dim_order=[1,0] device_dtype=IEEE_FP16", 0}, /* of one */
        {"f16[24,300]{1,0:T(8,16)(2,1)}", "f16[24,300] spyre dim_order=[1,0] device_dtype=IEEE_FP16",
         300 * 80},                                                                     /* tiles */
        {"s32[6,271]{1,0:T(16,128)(2,1)}", "s32[6,271]{0,1:T(10,15)}", 271 * 36 + 9 * 60}, /* nine behind three pairs */
        {"bf16[6,300]{1,0:T(8,16)(2,1)}", "bf16[6,300]{0,1:T(8,9)}", 304 * 6 + 4 * 12}, /* behind three pairs, three */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tg_layout dst = layout_of(cases[i].dst), src = layout_of(cases[i].src);
        const int64_t   apart = filled_apart(&dst, &src, TG_HINT_DEVICE);
        if (apart != cases[i].apart)
            fail_msg("%s to %s: %d bytes of padding apart, not %d", cases[i].src, cases[i].dst, (int)apart,
                     (int)cases[i].apart);
        for (int k = 0; k < 8; k++) {
            move_seed = random_state;
            check_move(&dst, &src);
            check_move(&src, &dst);
        }
    }
}

/* Of any sizes, with three dimensions of which two or three are tiled. */
static void test_random_wide_tails(void **state) {
    (void)state;
    static const char *const types[][2] = {{"bf16", "(2,1)"}, {"s8", "(4,1)"}, {"s4", "(8,1)E(4)"}, {"f32", "(2,1)"}};
    static const char *const orders[] = {"2,1,0", "1,2,0", "0,2,1", "2,0,1", "0,1,2"};
    for (int i = 0; i < 400 / SAMPLED; i++) {
        const char *const *const t = types[random_below(4)];
        const int64_t            a = 1 + random_below(5), b = 1 + random_below(40), c = 1 + random_below(60);
        char                     from[100], to[100];
        move_seed = random_state;
        (void)snprintf(from, sizeof from, "%s[%d,%d,%d]{%s%s}", t[0], (int)a, (int)b, (int)c, orders[random_below(5)],
                       strcmp(t[0], "s4") == 0 ? ":E(4)" : "");
        (void)snprintf(to, sizeof to, "%s[%d,%d,%d]{%s:T(%s8,%d)%s}", t[0], (int)a, (int)b, (int)c,
                       orders[random_below(5)], random_below(4) == 0 ? "2," : "", 1 << (2 + random_below(4)), t[1]);
        const tg_layout dst = layout_of(to), src = layout_of(from);
        check_move(&dst, &src);
    }
}

/* Runs one of the tasks. */
typedef struct only {
    size_t which, ntasks;
} only;

static void run_only(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    only *const o = context;
    o->ntasks = ntasks;
    if (o->which < ntasks) task(arg, o->which);
}

/* Threads write different bytes, also where tails of some boxes are padding for all. */
static void test_no_byte_twice(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"f64[40,7,56]{2,1,0:T(4,1)}", "f64[40,7,56]{2,1,0:T(8,128)(2,1)}"},
        {"bf16[60,13,70]{2,1,0:T(8,1)}", "bf16[60,13,70]{2,1,0:T(8,128)(2,1)}"},
        {"f32[50,7,100]{2,1,0:T(4,1)}", "f32[50,7,100]{2,1,0:T(8,128)(2,1)}"},
        {"u8[7,1,20,21]{3,0,1,2:T(4,16)}", "u8[7,1,20,21]{0,3,1,2:T(8,128)(4,1)}"},
        {"bf16[90,34,72]", "bf16[90,34,72]{1,2,0:T(8,128)(2,1)}"},
    };
    static const uint8_t pad[16] = {0x5a, 0xc3, 7};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (uint32_t hint = 0; hint <= TG_HINT_DEVICE; hint++) {
            const tg_layout      src = layout_of(cases[i][0]), dst = layout_of(cases[i][1]);
            const tg_plan_params params = {.dst = &dst, .src = &src, .pad = pad, .threads = 4, .hint = hint};
            tg_tuning            t = tg_default_tuning;
            only                 o = {0, 1};
            const tg_executor    e = {run_only, &o, 4};
            const buffer         in = buffer_make(&src), want = buffer_make(&dst), got = buffer_make(&dst);
            const size_t         bytes = want.size - 3 * MARGIN;
            uint8_t *const       written = calloc(bytes, 1);
            tg_plan              p;
            t.task_bytes = t.group_bytes_min = 1000;
            t.group_bytes = 20000;
            t.slab_bytes = 0;
            naive(want.data, in.data, &dst, &src, pad);
            assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
            for (; o.which < o.ntasks; o.which++) {
                for (size_t k = 0; k < bytes; k++) got.data[k] = (uint8_t)~want.data[k];
                assert_int_equal(tg_plan_run(&p, got.data, in.data, &e, NULL), TG_OK);
                for (size_t k = 0; k < bytes; k++) written[k] = (uint8_t)(written[k] + (got.data[k] == want.data[k]));
            }
            assert_true(o.ntasks > 1);
            for (size_t k = 0; k < bytes; k++)
                if (written[k] != 1) fail_msg("%s: byte %zu is written %d times", cases[i][1], k, written[k]);
            free(written);
            free(in.memory);
            free(want.memory);
            free(got.memory);
        }
}

/* In a cache, less than a stick of them has none. */
static void test_wide_tails_in_caches(void **state) {
    (void)state;
    const tg_layout few = layout_of("bf16[31,72]{0,1:T(8,128)(2,1)}"), few_rows = layout_of("bf16[31,72]"),
                    more = layout_of("bf16[32,72]{0,1:T(8,128)(2,1)}"), more_rows = layout_of("bf16[32,72]");
    assert_int_equal(filled_apart(&few, &few_rows, TG_HINT_CACHED), 36 * 4 * 97);
    assert_int_equal(filled_apart(&few, &few_rows, TG_HINT_DEVICE), 0);
    assert_int_equal(filled_apart(&more, &more_rows, TG_HINT_CACHED), 0);
}

/* The buffer in which the plan makes dst, where stores go around the caches: of no loops if there is none. */
static tg_slabs slabs_of(const tg_layout *d, const tg_layout *s) {
    const uint64_t pad[2] = {0, 0};
    tg_plan        p;
    tg_plan_params params = {.dst = d, .src = s, .pad = pad, .convert = true, .hint = TG_HINT_DEVICE};
    tg_error       err;
    if (tg_plan_init(&p, &params, &err) != TG_OK) fail_msg("%s", err.message);
    return tg_plan_see(&p)->as.nest.slabs;
}

/* Short runs between gaps, or between padding: dst is made in a buffer, some steps at a time, of which the last ones
 * may be fewer, and between which there may be padding alone. */
static void test_slabs(void **state) {
    (void)state;
    static const struct {
        const char *src, *dst;
        bool        slabs;
    } moves[] = {
        {"u8[7,30,100]{1,2,0}", "u8[7,30,100] strides=[93,3,661]", true},
        {"u8[7,30,101]{1,2,0}", "u8[7,30,101] strides=[93,3,651] offset=77", true},
        {"u8[7,30,1000]{1,2,0}", "u8[7,30,1000] strides=[93,3,-651] offset=650349", true},
        {"f64[17,5,8,8,8]{0,4,3,1,2}", "f64[17,5,8,8,8] strides=[1584,27086,3,24,197]", true},
        {"f16[3,500]", "f16[3,500] strides=[2,7]", true},
        {"f16[90,1500]", "f16[90,1500] strides=[1,91]", false},      /* lines of src come again after all rows */
        {"f16[90,1500]", "f16[90,1500] strides=[3200,2]", true},
        {"u8[7,4]", "u8[7,4] strides=[4,7]", false}, /* columns are between others */
        {"u8[7,4,90]{1,0,2}", "u8[7,4,90] strides=[4,7,61]", true},
        {"f32[9,14976] spyre", "f32[9,14976] strides=[30010,2]", true},
        {"f32[9,15000] spyre", "f32[9,15000] strides=[30010,2]", false}, /* the last stick is shorter: another box */
        {"c128[5,6,70]", "c128[5,6,70] strides=[2,11,70]", true},
        {"u8[30,9,77]{1,0,2}", "u8[30,9,77]{1,0,2:T(8,128)(4,1)}", true},
        {"bf16[5,3,77]", "bf16[5,3,77]{1,0,2:T(8,128)(2,1)}", true},
        {"u8[30,9,7,7]{1,0,2,3}", "u8[30,9,7,7]{1,0,2,3:T(8,128)(4,1)}", true},
        {"f32[700,9]{1,0}", "f32[700,9]{1,0:T(8,128)}", false}, /* padding follows data: one pass as it is */
        {"f16[8,6,64,45]{2,3,1,0:T(8,128)(2,1)}", "f16[8,6,64,45]{3,2,1,0:T(8,128)}", true}, /* pairs, and one behind */
        {"f16[8,6,64,44]{2,3,1,0:T(8,128)(2,1)}", "f16[8,6,64,44]{3,2,1,0:T(8,128)}", false}, /* of one box */
        {"f16[8,6,64,45] spyre", "f16[8,6,64,45]{2,3,1,0:T(8,128)(2,1)}", true}, /* a single one is half padding */
        {"u8[4,64,6,7]", "u8[4,64,6,7]{1,3,2,0:T(8,128)(4,1)}", false}, /* of three a quarter is */
        {"s4[7,1000]{1,0:T(8,128)(8,1)E(4)}", "s4[7,1000]{0,1:T(8,128)(8,1)E(4)}", true}, /* steps are whole bytes */
        {"s4[7,1000]{0,1:E(4)}", "s4[7,1000]{0,1:T(8,128)(8,1)E(4)}", true},
        {"s4[5,34,200]{2,1,0:T(8,128)(8,1)E(4)}", "s4[5,34,200]{1,2,0:T(8,128)(8,1)E(4)}", true},
        {"u2[8,9,600]{1,0,2:E(2)}", "u2[8,9,600]{1,0,2:T(8,128)(8,1)E(2)}", true},
        {"pred[7,9,600]{2,1,0:E(1)}", "pred[7,9,600]{1,0,2:T(8,128)(8,1)E(1)}", false}, /* by bits of src */
        {"s4[7,9,601]{1,0,2:E(4)}", "s4[7,9,601]{1,0,2:T(8,128)(8,1)E(4)}", false}, /* src begins inside of bytes */
        {"s4[7,8,601]{1,0,2:E(4)}", "s4[7,8,601]{1,0,2:T(8,128)(8,1)E(4)}", true},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout s = layout_of(moves[i].src), d = layout_of(moves[i].dst);
        const tg_slabs  w = slabs_of(&d, &s);
        if ((w.nloops > 0) != moves[i].slabs) fail_msg("%s: slabs: %d", moves[i].dst, !moves[i].slabs);
        if (w.nloops > 0 && w.across != TG_NO_LOOP) fail_msg("%s: slabs of %d parts", moves[i].dst, (int)w.parts);
        for (int k = 0; k < 10; k++) {
            move_seed = random_state;
            check_move(&d, &s);
        }
    }
}

/* Lines of src have elements of places that are far apart in dst: slabs of parts, of which the last ones may be fewer,
 * and their steps too. */
static void test_slabs_of_parts(void **state) {
    (void)state;
    static const struct {
        const char *src, *dst;
        int64_t     parts, steps; /* 1 part: from end to end; 0: no slabs */
    } moves[] = {
        {"f16[37,2,64,45]{2,3,1,0:T(8,128)(2,1)}", "f16[37,2,64,45] spyre", 1, 27}, /* there is room for 64 sticks */
        {"f16[133,2,64,45]{2,3,1,0:T(8,128)(2,1)}", "f16[133,2,64,45] spyre", 64, 4},
        {"f16[133,2,64,49]{2,3,1,0:T(8,128)(2,1)}", "f16[133,2,64,49] spyre", 64, 4}, /* mostly data, in two boxes */
        {"f16[133,2,64,50]{2,3,1,0:T(8,128)(2,1)}", "f16[133,2,64,50] spyre", 0, 0},  /* in one */
        {"f16[301,112,5]{1,2,0:T(8,128)(2,1)}", "f16[301,112,5] spyre", 112, 2},
        {"u8[3,224,40,3]{1,3,2,0}", "u8[3,224,40,3]{3,2,1,0:T(8,128)(4,1)}", 64, 1},
        {"u8[150,1,24,19]{0,1,3,2}", "u8[150,1,24,19]{3,2,1,0:T(8,128)(4,1)}", 64, 1},
        {"bf16[3,12,64,45]{1,3,2,0}", "bf16[3,12,64,45]{3,2,1,0:T(8,128)(2,1)}", 12, 5},
        {"u8[16,4,53,8,77]{2,0,3,4,1}", "u8[16,4,53,8,77]{4,3,2,1,0:T(8,128)(4,1)}", 0, 0}, /* a byte of each line */
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout s = layout_of(moves[i].src), d = layout_of(moves[i].dst);
        const tg_slabs  w = slabs_of(&d, &s);
        const bool      any = w.nloops > 0;
        if ((any ? w.parts : 0) != moves[i].parts || (any ? w.steps : 0) != moves[i].steps)
            fail_msg("%s -> %s: %d parts of %d steps", moves[i].src, moves[i].dst, any ? (int)w.parts : 0,
                     (int)w.steps);
        assert_int_equal(any && w.across != TG_NO_LOOP, moves[i].parts > 1);
        tg_layout longer = d; /* something lies behind the last part */
        longer.span += TG_LINE_BYTES;
        const tg_slabs of_longer = slabs_of(&longer, &s);
        assert_false(of_longer.nloops > 0 && of_longer.across != TG_NO_LOOP);
        for (int k = 0; k < 3; k++) {
            move_seed = random_state;
            check_move(&d, &s);
        }
    }
}

/* Slabs of one part: its loop is none of the boxes'. It was, of one step, and a search for loops that go on from one
 * to the next did not end. */
static void test_slabs_of_one_part(void **state) {
    (void)state;
    static const char *const moves[][2] = {
        {"s8[20,20,134,14]{0,3,2,1}", "s8[20,20,134,14]{0,2,1,3:T(8,128)(4,1)}"},
        {"bf16[14,20,70,8]{3,0,2,1}", "bf16[14,20,70,8]{3,2,1,0:T(8,128)(2,1)}"},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout s = layout_of(moves[i][0]), d = layout_of(moves[i][1]);
        const tg_slabs  w = slabs_of(&d, &s);
        assert_true(w.nloops > 0 && w.across != TG_NO_LOOP);
        assert_int_equal(w.parts, 1);
        for (int k = 0; k < 3; k++) {
            move_seed = random_state;
            check_move(&d, &s);
        }
    }
}

/* Units that are read as a whole, with more than is wanted, end inside of src's storage in the last slab too: those of
 * the first one did, and eight bytes behind src were read. */
static void test_units_of_last_slab(void **state) {
    (void)state;
    const tg_layout      d = layout_of("s32[63,2,15,13] strides=[450,225,15,1]");
    tg_layout            s = layout_of("s32[63,2,15,13] strides=[62,1,4,3906]");
    const uint32_t       pad = 0;
    const tg_plan_params params = {.dst = &d, .src = &s, .pad = &pad, .hint = TG_HINT_DEVICE};
    tg_plan              p;
    for (int more = 0; more < 2; more++, s.span += 2) {
        assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
        const tg_nest *nest = &tg_plan_see(&p)->as.nest;
        assert_true(nest->slabs.nloops > 0);
        if (more == 0) assert_int_not_equal(nest->box->route, TG_ROUTE_TWICE);
        else if ((tg_cpu_features() & TG_CPU_AVX512) != 0) assert_int_equal(nest->box->route, TG_ROUTE_TWICE);
    }
}

/* A buffer of packed elements is as full as one of bytes; one that would use half lines of src is larger. */
static void test_slabs_are_full(void **state) {
    (void)state;
    static const struct {
        const char *src, *dst;
        int64_t     most;
    } moves[] = {
        {"u8[30,9,7700]{1,0,2}", "u8[30,9,7700]{1,0,2:T(8,128)(4,1)}", TG_SLAB_BYTES},
        {"s4[7,9000]{1,0:T(8,128)(8,1)E(4)}", "s4[7,9000]{0,1:T(8,128)(8,1)E(4)}", TG_SLAB_BYTES},
        {"u2[7,9600]{1,0:T(8,128)(8,1)E(2)}", "u2[7,9600]{0,1:T(8,128)(8,1)E(2)}", TG_SLAB_BYTES},
        {"f32[16,256,63]{1,2,0:T(8,128)}", "f32[16,256,63] spyre", TG_LARGE_SLAB_BYTES}, /* 32 bytes of each line */
        {"f32[10,256,63]{1,2,0:T(8,128)}", "f32[10,256,63] spyre", TG_LARGE_SLAB_BYTES}, /* 48 */
        {"f32[9,256,63]{1,2,0:T(8,128)}", "f32[9,256,63] spyre", TG_SLAB_BYTES},         /* 56 */
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout s = layout_of(moves[i].src), d = layout_of(moves[i].dst);
        const tg_slabs  w = slabs_of(&d, &s);
        assert_true(w.nloops > 0);
        if (w.steps * w.dst_step > moves[i].most || w.steps * w.dst_step < moves[i].most / 2)
            fail_msg("%s: %d bytes", moves[i].src, (int)(w.steps * w.dst_step));
        for (int k = 0; k < 3; k++) {
            move_seed = random_state;
            check_move(&d, &s);
        }
    }
}

/* Steps of packed elements in src, as many as fit 63 bits: their bits do not. */
static void test_slabs_of_far_steps(void **state) {
    (void)state;
    enum { INSIDE = 14 * 64 + 9000 };
    const int64_t   step = ((int64_t)1 << 62) - 2 * INSIDE;
    const tg_layout d = layout_of("s4[2,14,9000]{1,2,0:T(2,128)(2,1)E(4)}");
    tg_layout       s = layout_of("s4[2,14,9000]{2,1,0:E(4)}");
    s.mode[0].stride = step;
    s.mode[1].stride = 64;
    s.span = step + INSIDE;
    const uint8_t        pad = 0;
    const tg_plan_params params = {.dst = &d, .src = &s, .pad = &pad, .hint = TG_HINT_DEVICE};
    tg_plan              p;
    tg_error             err;
    if (tg_plan_init(&p, &params, &err) != TG_OK) fail_msg("%s", err.message);
    const tg_nest *nest = &tg_plan_see(&p)->as.nest;
    assert_true(nest->slabs.nloops > 0);
    assert_true(nest->loop[0].src == step / 2);
}

/* Digits with more positions of padding than bytes fit 63 bits: their steps are no extent of a slab. Sizes wrapped
 * around, and blocks were larger than the buffer. */
static void test_slabs_beside_far_padding(void **state) {
    (void)state;
    static const int64_t sizes[] = {3, ((int64_t)1 << 62) - 400, ((int64_t)1 << 62) - 199, (int64_t)1 << 62};
    static const uint8_t pad[16] = {1, 2, 3, 4};
    const tg_layout      s = layout_of("f32[7,1000,5]");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        tg_layout d = layout_of("f32[7,1000,5] strides=[32,56,1]");
        d.mode[2] = (tg_mode){.size = 2, .count = 2, .weight = 3, .stride = 4, .axis = 2, .into = TG_TO_MEMORY};
        d.mode[3] = (tg_mode){.size = sizes[i], .count = 3, .weight = 1, .stride = 1, .axis = 2, .into = TG_TO_MEMORY};
        d.chain[3] = 3;
        d.nmodes = 4;
        d.span += 10;
        assert_int_equal(tg_layout_validate(&d, NULL), TG_OK);
        const tg_plan_params params = {.dst = &d, .src = &s, .pad = pad, .hint = TG_HINT_DEVICE};
        const buffer         src = buffer_make(&s), dst = buffer_make(&d), want = buffer_copy(dst);
        tg_plan              p;
        naive(want.data, src.data, &d, &s, pad);
        assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
        assert_int_equal(tg_plan_run(&p, dst.data, src.data, NULL, NULL), TG_OK);
        expect_same("beside far padding", &params, &p, dst, want);
        free(src.memory);
        free(dst.memory);
        free(want.memory);
    }
}

/* As if both sides were in memory, with blocks of at least so many bytes. */
static tg_tuning far_tuning(int64_t block_bytes) {
    tg_tuning t = tg_default_tuning;
    t.group_bytes = 5000 + random_below(60000);
    t.group_bytes_min = 1 + random_below(20000);
    t.block_bytes = block_bytes + random_below(20000);
    t.block_bytes_min = 1 + random_below(4000);
    t.step_bytes = 1 + random_below(100000);
    t.task_bytes = 1 + random_below(20000);
    t.stream_bytes = t.far_bytes = 0;
    t.combine = true;
    return t;
}

/* Is any box so? */
typedef bool box_is(const tg_nest *nest, const tg_box *box);

static bool has_box(const tg_plan *p, box_is *is) {
    const tg_nest *nest = &tg_plan_see(p)->as.nest;
    for (int32_t i = 0; i < nest->nboxes; i++)
        if (is(nest, &nest->box[i])) return true;
    return false;
}

/* A padded move as if both sides were in memory, in all ways, each with such a box; and with any plan. */
static void check_padded(const char *from, const char *to, int64_t block_bytes, box_is *is) {
    static const uint8_t pad[16] = {0x5a, 0xc3, 7};
    const tg_layout      s = layout_of(from), d = layout_of(to);
    const buffer         src = buffer_make(&s), blank = buffer_make(&d), want = buffer_copy(blank);
    naive(want.data, src.data, &d, &s, pad);
    for (int k = 0; k < 3 * WAYS; k++) {
        const tg_tuning      t = far_tuning(block_bytes);
        const tg_plan_params params = {.dst = &d, .src = &s, .pad = pad, .threads = (int32_t)random_below(4)};
        const buffer         dst = buffer_copy(blank);
        tg_plan              p;
        assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
        if (!has_box(&p, is)) fail_msg("%s: another way", to);
        run_way(&ways[k % WAYS], &p, dst, src);
        expect_same(ways[k % WAYS].name, &params, &p, dst, want);
        free(dst.memory);
    }
    free(src.memory);
    free(blank.memory);
    free(want.memory);
    check_move(&d, &s);
}

static bool goes_in_lines(const tg_nest *nest, const tg_box *box) {
    (void)nest;
    return box->route == TG_ROUTE_LINES;
}

/* Short rows with padding behind them that go on: lines of src go to a buffer, with lines of padding between them. */
static void test_lines_of_padding(void **state) {
    (void)state;
    check_padded("bf16[110,131,9]{0,1,2:T(8,128)}", "bf16[110,131,9]{2,1,0:T(7,16)}", 1, goes_in_lines);
    check_padded("u8[300,133,25]{0,1,2}", "u8[300,133,25]{2,1,0:T(8,32)}", 1, goes_in_lines);
    check_padded("f32[1170,40,5]{0,1,2}", "f32[1170,40,5]{2,1,0:T(4,8)}", 1, goes_in_lines);
    check_padded("f64[70,61,3]{0,1,2}", "f64[70,61,3]{2,1,0:T(4,4)}", 1, goes_in_lines);
}

/* Only where runs go around the caches; transposes do from fewer bytes on, on some processors, and stay. */
static void test_lines_by_size(void **state) {
    (void)state;
    static const char *const shapes[] = {"bf16[110,3300,9]", "bf16[110,13100,9]"}; /* 17 and 69 MiB of both sides */
    for (size_t k = 0; k < 2; k++) {
        char text[100];
        snprintf(text, sizeof text, "%s{2,1,0:T(7,16)}", shapes[k]);
        const tg_layout dst = layout_of(text);
        snprintf(text, sizeof text, "%s{0,1,2}", shapes[k]);
        const tg_layout      src = layout_of(text);
        tg_plan              plan;
        const tg_nest *const nest = hinted_nest(&plan, &dst, &src, 0);
        const bool want = tg_plan_see(&plan)->stream && (tg_cpu_features() & TG_CPU_COMBINES) != 0;
        bool       lines = false;
        for (int32_t i = 0; i < nest->nboxes; i++) lines |= goes_in_lines(nest, &nest->box[i]);
        if (lines != want) fail_msg("%s: lines %d", shapes[k], lines);
    }
}

static bool takes_its_tail(const tg_nest *nest, const tg_box *box) {
    return box->family == TG_FAMILY_STRIDED && box->block.tail > 0 &&
           tg_strided_takes_tail(&nest->mover[box->mover], &box->block);
}

/* Single elements, near each other in src along another loop than that of rows: a transpose writes what is behind rows
 * as well. */
static void test_tails_of_elements_apart(void **state) {
    (void)state;
    if ((tg_cpu_features() & TG_CPU_AVX512) == 0) skip();
    check_padded("u8[32,21,399] strides=[16780,799,2]", "u8[32,21,399]{0,2,1:T(8,128)}", 16000, takes_its_tail);
    check_padded("f16[16,21,399] strides=[16780,799,2]", "f16[16,21,399]{0,2,1:T(8,64)}", 16000, takes_its_tail);
}

/* Rows of few elements in lines that are padding mostly, converted and not, out of rows and columns. */
static void test_narrow_rows(void **state) {
    (void)state;
    static const char *const types[] = {"u8", "f16", "bf16", "f32", "f64"};
    static const char *const tiles[] = {"T(8,128)", "T(8,128)", "T(4,64)", "T(2,48)", "T(16,256)", "T(1,40)"};
    static const char *const orders[] = {"2,1,0", "1,2,0", "0,2,1", "2,0,1", "0,1,2"};
    for (int i = 0; i < 300 / SAMPLED; i++) {
        const int64_t a = 1 + random_below(3), b = 1 + random_below(200),
                      c = 1 + random_below(random_below(3) == 0 ? 80 : 12);
        char          shape[60], from[100], to[100];
        const bool    sticks = random_below(3) == 0;
        move_seed = random_state;
        const char *const type = sticks ? "f16" : types[random_below(sizeof types / sizeof types[0])];
        (void)snprintf(shape, sizeof shape, "%s[%d,%d,%d]", type, (int)a, (int)b, (int)c);
        (void)snprintf(from, sizeof from, "%s{%s}", shape, orders[random_below(sizeof orders / sizeof orders[0])]);
        if (sticks)
            (void)snprintf(to, sizeof to, "%s spyre%s", shape,
                           random_below(2) == 0 ? "" : " device_dtype=IEEE_FP16");
        else (void)snprintf(to, sizeof to, "%s{%s:%s}", shape, orders[random_below(sizeof orders / sizeof orders[0])],
                            tiles[random_below(sizeof tiles / sizeof tiles[0])]);
        const tg_layout dst = layout_of(to), src = layout_of(from);
        check_move(&dst, &src);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_tails),
        cmocka_unit_test(test_random_wide_tails),
        cmocka_unit_test(test_wide_tails_in_caches),
        cmocka_unit_test(test_no_byte_twice),
        cmocka_unit_test(test_slabs),
        cmocka_unit_test(test_slabs_of_parts),
        cmocka_unit_test(test_slabs_of_one_part),
        cmocka_unit_test(test_units_of_last_slab),
        cmocka_unit_test(test_slabs_are_full),
        cmocka_unit_test(test_slabs_of_far_steps),
        cmocka_unit_test(test_slabs_beside_far_padding),
        cmocka_unit_test(test_lines_of_padding),
        cmocka_unit_test(test_lines_by_size),
        cmocka_unit_test(test_tails_of_elements_apart),
        cmocka_unit_test(test_narrow_rows),
    };
    random_state = 20261128;
    return cmocka_run_group_tests_name("relayout_padding", tests, NULL, NULL);
}
