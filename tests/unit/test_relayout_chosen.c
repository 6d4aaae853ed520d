/* Moves of chosen pairs of layouts: what each way of moving has edges for. */
#include "checked_move.h"
#include "layouts.h"

static void test_sticks(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{1, 1}, {1, 64}, {17, 63}, {16, 65}, {40, 150}, {64, 256}, {3, 1000}, {300, 70}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const tg_layout s = dense(TG_F16, 2, sizes[i]);
        tg_layout       d = sticks(TG_F16, sizes[i][0], sizes[i][1], 64), t;
        check_move(&d, &s);
        check_move(&s, &d);
        assert_int_equal(tg_layout_transpose(&t, &s, 0, 1, NULL), TG_OK);
        const tg_layout across = sticks(TG_F16, sizes[i][1], sizes[i][0], 64);
        check_move(&across, &t);
        check_move(&t, &across);
        d.format = TG_SEN169_FP16;
        check_move(&d, &s);
        check_move(&s, &d);
    }
}

/* Tiles of many loops, some of which have no room as a whole; packed elements that take turns. Both ways. */
static void test_tiles_of_loops(void **state) {
    (void)state;
    static const char *const pairs_of_texts[][2] = {
        {"f16[16,16,16,2]{0,1,2,3}", "f16[16,16,16,2]"},
        {"u8[16,16,16,16]{0,1,2,3}", "u8[16,16,16,16]"},
        {"f32[7,7,7,20]{0,1,2,3}", "f32[7,7,7,20]"},
        {"f16[3,5,7,11,13]{0,1,2,3,4}", "f16[3,5,7,11,13]"},
        {"u8[66,2,300] strides=[1210,604,2]", "u8[66,2,300]{1,0,2}"}, /* near each other along loops of their own */
        {"f16[90,4,40]{2,1,0}", "f16[90,4,40] strides=[2,11201,277]"},
        {"u8[32,21,399] strides=[16780,799,2]", "u8[32,21,399]{0,2,1:T(8,128)}"}, /* with padding behind them */
        {"f16[20,900] strides=[2,60]", "f16[20,900]{0,1:T(8,64)}"},
        {"f16[13,900] strides=[2,60]", "f16[13,900]{1,0}"}, /* in short lines */
        {"f16[16,900] strides=[2,40]", "f16[16,900]{1,0:T(7,64)}"},
        {"bf16[6,4,12,3,58]{2,1,4,0,3}", "bf16[6,4,12,3,58]{3,4,2,0,1:T(4,64)}"}, /* tiles with padding */
        {"u8[3,85,32,6] strides=[1020,2,3063,170]", "u8[3,85,32,6]{3,2,1,0}"},
        {"u8[8,49,3,2,70] strides=[106,2,853,2561,5122]", "u8[8,49,3,2,70]{4,3,2,1,0}"}, /* or nearly go on */
        {"u8[13,32,90] strides=[2976,1,33]", "u8[13,32,90]{0,2,1}"},
        {"u8[5,9,4,7,11]{0,1,2,3,4}", "u8[5,9,4,7,11]"},
        {"f64[3,9,5,6,10]{0,1,2,3,4}", "f64[3,9,5,6,10]"},
        {"f16[2,3,2,3,2,3,2,3,2,3]{0,1,2,3,4,5,6,7,8,9}", "f16[2,3,2,3,2,3,2,3,2,3]"},
        {"f32[7,7,7,20]{0,1,2,3}", "f32[7,7,7,20] strides=[2940,420,-60,3] offset=360"},
        {"f32[64,300]{1,0:T(8,128)}", "f32[64,300]{0,1}"},
        {"bf16[80,300]{1,0:T(8,128)(2,1)}", "bf16[80,300]{0,1}"},
        {"f32[256,384]{1,0:T(8,128)}", "f32[256,384]{0,1:T(8,128)}"},
        {"bf16[200,300]{1,0:T(8,128)}", "bf16[200,300]{0,1:T(8,128)}"},
        {"u8[144,272]{1,0:T(16,128)}", "u8[144,272]{0,1:T(8,128)}"},
        {"f64[100,130]{1,0:T(4,32)}", "f64[100,130]{0,1:T(8,16)}"},
        {"c128[40,60]{1,0:T(4,8)}", "c128[40,60]{0,1:T(2,16)}"},
        {"bf16[144,272]{1,0:T(8,128)(2,1)}", "bf16[144,272]{0,1:T(8,128)(2,1)}"},
        {"f32[16,4,32,8,4]{0,1,2,3,4}", "f32[16,4,32,8,4]"}, /* lines are pages apart */
        {"s8[8,16,16,64,4]", "s8[8,16,16,64,4]{0,1,2,3,4}"}, /* and rows come by fours, too few for half a step */
        {"u8[8,16,64,16,4]{0,1,2,3,4}", "u8[8,16,64,16,4]"},
        {"bf16[64,384]{1,0:T(8,128)(2,1)}", "bf16[64,384]"}, /* pairs of rows of a tile go together */
        {"u8[96,512]{1,0:T(8,128)(4,1)}", "u8[96,512]"},
        {"s4[32,384]{1,0:T(8,128)(2,1)E(4)}", "s4[32,384]{1,0:E(4)}"},
        {"s4[32,384]{1,0:T(8,128)(2,1)E(4)}", "s4[32,384]{0,1:E(4)}"},
        {"u2[32,384]{1,0:T(8,128)(4,1)E(2)}", "u2[32,384]{0,1:E(2)}"},
        {"u2[6,1000]{1,0:T(8,128)(8,1)E(2)}", "u2[6,1000]{0,1:E(2)}"},
        {"s4[5,3,19,66]{3,2,1,0:T(8,128)(8,1)E(4)}", "s4[5,3,19,66]{3,2,1,0:E(4)}"},
        {"pred[5,2048]{1,0:T(8,128)(8,1)E(1)}", "pred[5,2048]{1,0:E(1)}"},
        {"u2[32,384]{1,0:T(8,128)(4,1)E(2)}", "u2[32,384]{1,0:E(2)}"},
        {"s4[128,200]{1,0:E(4)}", "s4[128,200]{0,1:E(4)}"},
        {"u4[48,344]{1,0:E(4)}", "u4[48,344]{0,1:E(4)}"}, /* 16384 / 48 elements are no whole bytes */
        {"u2[24,688]{1,0:E(2)}", "u2[24,688]{0,1:E(2)}"},
        {"u1[24,688]{1,0:E(1)}", "u1[24,688]{0,1:E(1)}"},
        {"u2[130,4,4,24]{3,2,1,0:E(2)}", "u2[130,4,4,24]{0,1,2,3:E(2)}"},
        {"s4[48,512]{1,0:E(4)}", "s4[48,512]{0,1}"},
        {"f32[3,3,128,127]{1,3,2,0}", "f32[3,3,128,127]{2,3,1,0:T(8,128)}"}, /* only runs of dst are short */
        {"f16[2,3,200,170]{1,3,2,0}", "f16[2,3,200,170]{2,3,1,0}"},
        {"u8[2,16,100,90]{1,3,2,0}", "u8[2,16,100,90]{2,3,1,0}"},
        {"f64[2,3,50,70]{1,3,2,0}", "f64[2,3,50,70]{2,3,1,0}"},
        {"s4[10,12,14,8]{3,2,1,0:E(4)}", "s4[10,12,14,8]{0,1,2,3:E(4)}"},
        {"f16[3,7,12,5,33]{4,3,2,1,0}", "f16[3,7,12,5,33]{3,0,4,2,1}"},
        {"f16[6,5,300,3]{2,0,3,1}", "f16[6,5,300,3] strides=[-4500,900,3,1] offset=22500"},
        {"f32[3,12,64,21]{2,3,1,0:T(8,128)}", "f32[3,12,64,21]"}, /* padding in long runs */
    };
    for (size_t i = 0; i < sizeof pairs_of_texts / sizeof pairs_of_texts[0]; i++) {
        const tg_layout a = layout_of(pairs_of_texts[i][0]), b = layout_of(pairs_of_texts[i][1]);
        check_move(&a, &b);
        check_move(&b, &a);
    }
}

static const tg_nest *nest_of(tg_plan *plan, const tg_layout *dst, const tg_layout *src) {
    return hinted_nest(plan, dst, src, 0);
}

static bool is_turned_twice(const tg_layout *dst, const tg_layout *src) {
    tg_plan              plan;
    const tg_nest *const nest = nest_of(&plan, dst, src);
    bool                 twice = false;
    for (int32_t i = 0; i < nest->nboxes; i++)
        twice |= nest->box[i].route == TG_ROUTE_TWICE || nest->box[i].route == TG_ROUTE_PANEL;
    return twice;
}

static bool is_of_eights(const tg_layout *dst, const tg_layout *src) {
    tg_plan              plan;
    const tg_nest *const nest = nest_of(&plan, dst, src);
    bool                 eights = false;
    for (int32_t i = 0; i < nest->nboxes; i++) eights |= tg_is_of_eights(nest->box[i].family);
    return eights;
}

/* Up to eight packed rows take turns, on one side or on both, with vectors of 64 bytes; those of few bytes do not. */
static void test_eights(void **state) {
    (void)state;
    static const struct {
        const char *turns, *rows;
        bool        into, back;
    } cases[] = {
        {"s4[7,5000]{1,0:T(8,128)(8,1)E(4)}", "s4[7,5000]{1,0:E(4)}", true, true},
        {"s4[7,20000]{1,0:T(8,128)(8,1)E(4)}", "s4[7,20000]{0,1:E(4)}", true, true},
        {"s4[7,20002]{0,1:E(4)}", "s4[7,20002]{1,0:E(4)}", true, true},
        {"s4[8,4096]{1,0:T(8,128)(8,1)E(4)}", "s4[8,4096]{1,0:E(4)}", true, true},
        {"u2[5,13,364]{2,1,0:T(8,128)(8,1)E(2)}", "u2[5,13,364]{2,1,0:E(2)}", true, true},
        {"pred[7,2048]{0,1:E(1)}", "pred[7,2048]{1,0:E(1)}", true, true},
        {"u4[2,16]{1,0:T(8,128)(8,1)E(4)}", "u4[2,16]{1,0:E(4)}", true, true}, /* in one call */
        {"u4[5,16]{1,0:T(8,128)(8,1)E(4)}", "u4[5,16]{0,1:E(4)}", true, true},
        {"u4[2,16,4]{2,0,1:E(4)}", "u4[2,16,4]{1,0,2:E(4)}", false, true}, /* parts of turns, up to the end of src */
        {"u2[2,32,4]{2,0,1:E(2)}", "u2[2,32,4]{1,0,2:E(2)}", false, true},
        {"s4[7,8]{0,1:E(4)}", "s4[7,8]{1,0:E(4)}", false, false},
    };
    const bool can = (tg_cpu_features() & TG_CPU_AVX512) != 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tg_layout turns = layout_of(cases[i].turns), rows = layout_of(cases[i].rows);
        const bool      into = is_of_eights(&turns, &rows), back = is_of_eights(&rows, &turns);
        if (into != (can && cases[i].into) || back != (can && cases[i].back))
            fail_msg("%s: into %d, back %d", cases[i].turns, into, back);
        check_move(&turns, &rows);
        check_move(&rows, &turns);
    }
}

static bool is_of_bands(const tg_layout *dst, const tg_layout *src) {
    tg_plan              plan;
    const tg_nest *const nest = nest_of(&plan, dst, src);
    bool                 bands = false;
    for (int32_t i = 0; i < nest->nmovers; i++) bands |= nest->family[i] == TG_FAMILY_BANDS;
    return bands;
}

/* Matrices of packed elements that are whole bytes go as if they were not, where rows of dst begin inside of lines, or
 * both sides are in a cache; but not short rows that follow each other. What they need of the processor: */
static void test_whole_matrices_in_bands(void **state) {
    (void)state;
    enum { NEVER = 0, ALL = TG_CPU_AVX512, SPARING = TG_CPU_AVX512 | TG_CPU_SPARING };
    static const struct {
        const char *src, *dst;
        uint32_t    needed;
    } cases[] = {
        {"s4[200,264]{1,0:E(4)}", "s4[200,264]{0,1:E(4)}", NEVER},
        {"s4[264,200]{1,0:E(4)}", "s4[264,200]{0,1:E(4)}", ALL},
        {"s4[512,200]{1,0:E(4)}", "s4[512,200]{0,1:E(4)}", ALL}, /* whole lines, in a cache */
        {"s4[9000,136]{1,0:E(4)}", "s4[9000,136]{0,1:E(4)}", ALL}, /* columns in chunks */
        {"s4[3,300,280]{2,1,0:E(4)}", "s4[3,300,280]{1,2,0:E(4)}", ALL},
        {"s4[3,300,280]{1,2,0:E(4)}", "s4[3,300,280]{1,0,2:E(4)}", NEVER}, /* rows stay together */
        {"u2[600,260]{1,0:E(2)}", "u2[600,260]{0,1:E(2)}", SPARING},
        {"u2[4200,4012]{1,0:E(2)}", "u2[4200,4012]{0,1:E(2)}", ALL}, /* from farther away */
        {"u2[512,512]{1,0:E(2)}", "u2[512,512]{0,1:E(2)}", NEVER},
        {"pred[1096,600]{1,0:E(1)}", "pred[1096,600]{0,1:E(1)}", NEVER}, /* only from farther away */
        {"s4[2096,4000]{1,0:E(4)}", "s4[2096,4000]{0,1:E(4)}", ALL},
        {"s4[2048,4000]{1,0:E(4)}", "s4[2048,4000]{0,1:E(4)}", NEVER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tg_layout dst = layout_of(cases[i].dst), src = layout_of(cases[i].src);
        const bool      can = cases[i].needed != NEVER && (tg_cpu_features() & cases[i].needed) == cases[i].needed;
        if (is_of_bands(&dst, &src) != can)
            fail_msg("%s to %s: bands %d", cases[i].src, cases[i].dst, is_of_bands(&dst, &src));
        if (dst.span < 1 << 21) check_move(&dst, &src);
    }
}

/* Short runs on both sides, one of them by turns: two transposes, with lines of a long loop between them. */
static void test_two_transposes(void **state) {
    (void)state;
    static const char *const pairs_of_texts[][2] = {
        {"bf16[2,3,40,200]{3,2,1,0:T(8,128)(2,1)}", "bf16[2,3,40,200]{1,3,2,0}"}, /* the line on both sides */
        {"u8[3,3,20,300]{3,2,1,0:T(8,128)(2,1)}", "u8[3,3,20,300]{1,3,2,0}"},
        {"f16[2,12,64,45]{3,2,1,0:T(8,128)(2,1)}", "f16[2,12,64,45]{1,3,2,0}"}, /* more of it are one */
        {"bf16[2,3,200,40]{2,3,1,0:T(8,128)(2,1)}", "bf16[2,3,200,40]{1,3,2,0}"}, /* on one side */
        {"bf16[2,3,150,100]{2,3,1,0:T(8,128)(2,1)}", "bf16[2,3,150,100]{1,3,2,0}"}, /* chunks of lines, and of others */
        {"u8[2,3,170,96]{2,3,1,0:T(8,128)(4,1)}", "u8[2,3,170,96]{1,3,2,0}"},
        {"f32[5,6,7,70]{0,3,1,2}", "f32[5,6,7,70]{1,3,2,0}"},
        {"f64[3,2,5,70]{0,3,1,2}", "f64[3,2,5,70]{1,3,2,0}"},
        {"bf16[2,3,40,200]{3,2,1,0:T(8,128)(2,1)}", "bf16[2,3,40,200] strides=[-24000,1,600,3] offset=24000"},
        {"u8[100,7,90]{1,0,2}", "u8[100,7,90]{2,0,1:T(8,128)(4,1)}"},
    };
    for (size_t i = 0; i < sizeof pairs_of_texts / sizeof pairs_of_texts[0]; i++) {
        const tg_layout d = layout_of(pairs_of_texts[i][0]), s = layout_of(pairs_of_texts[i][1]);
        if (!is_turned_twice(&d, &s) || !is_turned_twice(&s, &d)) fail_msg("%s: not by two", pairs_of_texts[i][0]);
        check_move(&d, &s);
        check_move(&s, &d);
    }
}

/* Units of which elements are missing, behind each other in tiles and apart on the other side: behind the last rows
 * of them src may have no place for the missing ones, and what stands in gaps of dst stays. */
static void test_units_with_missing_elements(void **state) {
    (void)state;
    static const struct {
        const char *units, *rows;
        int64_t     behind;     /* elements of storage behind the last one of units */
        bool        into, back; /* by two transposes */
    } cases[] = {
        {"u8[2,100,130,3]{2,3,1,0:T(8,128)(4,1)}", "u8[2,100,130,3]{1,3,2,0}", 0, true, true},
        {"u8[2,200,300,7]{2,3,1,0:T(8,128)(4,1)}", "u8[2,200,300,7]{1,3,2,0}", 0, true, true},
        {"bf16[2,70,130,3]{2,3,1,0:T(8,128)(2,1)}", "bf16[2,70,130,3]{1,3,2,0}", 0, true, false},
        {"f16[70,60,3] strides=[4,280,1]", "f16[70,60,3]{1,2,0}", 0, false, false},
        {"f16[70,60,3] strides=[4,280,1]", "f16[70,60,3]{1,2,0}", 1, false, true},
        {"u8[2,90,70,3] strides=[25200,4,-360,1] offset=24840", "u8[2,90,70,3] strides=[18900,210,1,70]", 0, false,
         false},
        {"u8[2,90,70,3] strides=[25200,4,-360,1] offset=24840", "u8[2,90,70,3] strides=[18900,210,1,70]", 9, false,
         true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tg_layout       units = layout_of(cases[i].units);
        const tg_layout rows = layout_of(cases[i].rows);
        units.span += cases[i].behind;
        const bool into = is_turned_twice(&units, &rows), back = is_turned_twice(&rows, &units);
        if (into != cases[i].into || back != cases[i].back)
            fail_msg("%s and %d: into %d, back %d", cases[i].units, (int)cases[i].behind, into, back);
        check_move(&units, &rows);
        check_move(&rows, &units);
    }
}

/* Converted and transposed, the one or the other first; rows that take turns, too. Both ways. */
static void test_converted_transposes(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"bf16[40,300]{1,0:T(8,128)(2,1)}", "f32[40,300]"},
        {"bf16[70,700]{1,0:T(8,128)(2,1)}", "f32[70,700]{1,0:T(8,128)}"},
        {"bf16[40,300]{1,0:T(8,128)(2,1)}", "f32[40,300]{0,1}"},
        {"f16[9,2000]{1,0:T(8,128)(2,1)}", "bf16[9,2000]"},
        {"f8e4m3fn[40,300]{1,0:T(8,128)(4,1)}", "f32[40,300]"},
        {"f8e5m2[64,500]{1,0:T(8,128)(4,1)}", "bf16[64,500]{1,0:T(8,128)(2,1)}"},
        {"bf16[3000,3]{0,1}", "f32[3000,3]"},
        {"f8e5m2[200,40]{0,1}", "f16[200,40]"},
        {"bf16[7,200,90]{1,2,0}", "f32[7,200,90]"},
        {"bf16[150,200]{0,1}", "f16[150,200]"},
        {"f16[200,150] spyre dim_order=[1,0]", "f16[200,150]"},
        {"bf16[300,70] strides=[1,331]", "f32[300,70] strides=[75,1]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const tg_layout a = layout_of(texts[i][0]), b = layout_of(texts[i][1]);
        check_move(&a, &b);
        check_move(&b, &a);
    }
    /* Lines of src that overlap. */
    const tg_layout rows = layout_of("f32[9,200,4] strides=[4,4,1]"), turned = layout_of("bf16[9,200,4]{1,0,2}");
    check_move(&turned, &rows);
}

/* Dimensions that src walks downwards, or only every second or third element of; one element all along a row. */
static void test_strides(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"f16[70,130]", "f16[70,130] strides=[-1,-70] offset=9099"},
        {"f16[70,130]", "f16[70,130] strides=[-1,70] offset=69"},
        {"f32[70,130]", "f32[70,130] strides=[1,-70] offset=9030"},
        {"u8[70,130]", "u8[70,130] strides=[-130,-1] offset=9099"},
        {"f16[70,130] spyre", "f16[70,130] strides=[-1,70] offset=69"},
        {"f64[9,7,11,13]{0,1,2,3}", "f64[9,7,11,13] strides=[1001,143,13,-1] offset=12"},
        {"f32[70,130]{0,1}", "f32[70,130] strides=[300,2]"},
        {"f32[70,130] strides=[301,2]", "f32[70,130]"},
        {"u8[70,130] strides=[401,3]", "u8[70,130] strides=[-130,-1] offset=9099"},
        {"bf16[70,130] strides=[391,3]", "bf16[70,130] strides=[260,2]"},
        {"u8[30,130] strides=[141,1] offset=5", "u8[30,130]"}, /* gaps, and one before the first element */
        {"f16[5,7,40] strides=[1000,-44,1] offset=264", "f16[5,7,40]{0,1,2}"},
        {"f32[70,130] strides=[1,73]", "f32[70,130] strides=[131,1]"},
        {"f64[2,3,9] strides=[60,20,1]", "f64[2,3,9]"},
        {"f16[70,130]", "f16[70,130] strides=[1,0]"},
        {"u8[5,70,130]{1,2,0}", "u8[5,70,130] strides=[130,0,1]"},
        {"u8[7,900]{1,0:T(8,128)(4,1)}", "u8[7,900]{0,1}"}, /* runs of four bytes near each other, and of three */
        {"u8[6,900]{0,1}", "u8[6,900]{1,0:T(8,128)(4,1)}"},
        {"bf16[5,900]{1,0:T(8,128)(2,1)}", "bf16[5,900]{0,1}"},
        {"bf16[5,900]{0,1}", "bf16[5,900]{1,0:T(8,128)(2,1)}"},
        {"f16[9,40,5]{1,2,0:T(8,128)(2,1)}", "f16[9,40,5]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int times = 0; times < 10; times++) {
            const tg_layout d = layout_of(texts[i][0]), s = layout_of(texts[i][1]);
            check_move(&d, &s);
        }
}

/* Windows of packed elements that overlap: they begin inside of bytes. */
static void test_packed_windows(void **state) {
    (void)state;
    static const tg_dtype types[] = {TG_U4, TG_S2, TG_U1};
    static const int32_t  bits[] = {4, 2, 1};
    const int64_t         shape[] = {6, 512}, short_shape[] = {16, 2}, ones[] = {1, 1}, apart[] = {8, 1};
    for (int i = 0; i < 3; i++)
        for (int wide = 0; wide < 2; wide++) {
            tg_layout s, d = dense(types[i], 2, shape), e = dense(types[i], 2, short_shape);
            d.elem_bits = e.elem_bits = wide ? 8 : bits[i];
            for (int k = 0; k < 3; k++) {
                const int64_t *const of = k < 2 ? shape : short_shape;
                assert_int_equal(tg_layout_strided(&s, types[i], 2, of, k == 1 ? apart : ones, 0, NULL), TG_OK);
                s.elem_bits = bits[i];
                check_move(k < 2 ? &d : &e, &s);
            }
        }
}

/* One row or one column of packed elements to all of them. */
static void test_packed_broadcasts(void **state) {
    (void)state;
    static const char *const texts[] = {"u2[130,192]{1,0:T(16,64)E(2)}", "u1[2,8192]{1,0:E(1)}", "s4[64,96]{0,1:E(4)}",
                                        "s4[64,96]{1,0:T(8,32)}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int k = 0; k < 2; k++) {
            const tg_layout d = layout_of(texts[i]);
            tg_layout       s;
            assert_int_equal(tg_layout_strided(&s, d.dtype, 2, d.shape, (const int64_t[]){k, 1 - k}, 0, NULL), TG_OK);
            s.elem_bits = i == 0 ? 2 : i == 1 ? 1 : 4;
            for (int times = 0; times < 10; times++) check_move(&d, &s);
        }
    const int64_t shape[] = {2, 1024, 8}, strides[] = {8, 0, 1};
    tg_layout     s, d = dense(TG_U1, 3, shape);
    assert_int_equal(tg_layout_strided(&s, TG_U1, 3, shape, strides, 0, NULL), TG_OK);
    s.elem_bits = d.elem_bits = 1;
    check_move(&d, &s);
}

static void test_views(void **state) {
    (void)state;
    const int64_t shape[] = {5, 7, 12};
    tg_layout     s = dense(TG_S16, 3, shape), d;
    assert_int_equal(tg_layout_slice(&s, &s, 2, 11, 0, -3, NULL), TG_OK); /* backwards, every third */
    assert_int_equal(tg_layout_slice(&s, &s, 1, 2, 6, 1, NULL), TG_OK);
    assert_int_equal(tg_layout_unsqueeze(&s, &s, 1, NULL), TG_OK);
    assert_int_equal(tg_layout_expand(&s, &s, 1, 3, NULL), TG_OK);        /* stride 0 */
    d = dense(TG_S16, s.ndim, s.shape);
    check_move(&d, &s);
}

/* Digits that do not nest: short runs and long ones, more pieces than are listed at a time, rows in tiles of their own,
 * few rows, folds, and dimensions around them. */
static void test_walks(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"u8[300,96]{1,0:T(300,6)}", "u8[300,96]{1,0:T(300,4)}"},
        {"u8[50,100]{1,0:T(6,6)}", "u8[50,100]{1,0:T(4,4)}"},
        {"f16[20,1500]{1,0:T(20,5)}", "f16[20,1500]{1,0:T(20,3)}"}, /* 700 pieces */
        {"f16[3,5,200]{2,1,0:T(5,48)}", "f16[3,5,200]{2,1,0:T(5,64)}"},
        {"f32[2,300]{1,0:T(2,100)}", "f32[2,300]{1,0:T(2,70)}"},
        {"f64[7,1000]{1,0:T(7,300)}", "f64[7,1000]{1,0:T(7,400)}"},
        {"c128[1000]{0:T(6)}", "c128[1000]{0:T(4)}"},
        {"u8[9,5,40]{2,1,0:T(*,12)}", "u8[9,5,40]{2,1,0:T(3,8)}"},
        {"u8[130,140]{0,1:T(48,48)}", "u8[130,140]{1,0:T(64,64)}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout d = layout_of(rows[i][0]), s = layout_of(rows[i][1]);
        move_seed = random_state;
        for (int times = 0; times < 4; times++) check_move(&d, &s);
        check_move(&s, &d);
    }
}

/* Packed elements that begin inside of bytes: rows of an odd length, turned and not, on either side or both; with
 * padding behind odd runs, several loops on a side, and rows that are walked backwards. */
static void test_loose_boxes(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"s4[70,301]{1,0:E(4)}", "s4[70,301]{0,1:E(4)}"},
        {"s4[71,301]{1,0:E(4)}", "s4[71,301]{0,1:E(4)}"},
        {"u2[35,203]{1,0:E(2)}", "u2[35,203]{0,1:E(2)}"},
        {"u1[33,301]{1,0:E(1)}", "u1[33,301]{0,1:E(1)}"},
        {"s4[301,263]{1,0:E(4)}", "s4[301,263]{0,1:E(4)}"}, /* several blocks of each */
        {"u2[301,531]{1,0:E(2)}", "u2[301,531]{0,1:E(2)}"},
        {"u1[1033,519]{1,0:E(1)}", "u1[1033,519]{0,1:E(1)}"},
        {"s4[3,37,131]{2,1,0:E(4)}", "s4[3,37,131]{1,2,0:E(4)}"},
        {"s4[40,301]{1,0:E(4)}", "s4[40,301]{1,0:T(8,128)(8,1)E(4)}"},
        {"s4[40,301]{1,0:E(4)}", "s4[40,301]{1,0:T(8,128)(2,1)E(4)}"},
        {"u2[40,301]{1,0:E(2)}", "u2[40,301]{1,0:T(64,128)E(2)}"},
        {"u1[3,40,77]{2,1,0:E(1)}", "u1[3,40,77]{1,2,0:E(1)}"},
        {"s4[3,5,7,9,11]{4,3,2,1,0:E(4)}", "s4[3,5,7,9,11]{0,1,2,3,4:E(4)}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout d = layout_of(rows[i][0]), s = layout_of(rows[i][1]);
        const tg_plan_params params = {.dst = &d, .src = &s};
        tg_layout            back = s;
        tg_plan              p;
        move_seed = random_state;
        assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
        assert_int_equal(tg_plan_see(&p)->way, TG_WAY_NEST);
        for (int times = 0; times < 4; times++) {
            check_move(&d, &s);
            check_move(&s, &d);
        }
        if (tg_layout_slice(&back, &d, 0, d.shape[0] - 1, -1, -1, NULL) == TG_OK) check_move(&d, &back);
    }
}

static tg_layout packed_strided(const int64_t *shape, const int64_t *strides) {
    tg_layout l;
    assert_int_equal(tg_layout_strided(&l, TG_U4, 2, shape, strides, 1, NULL), TG_OK);
    l.elem_bits = 4;
    assert_int_equal(tg_layout_validate(&l, NULL), TG_OK);
    return l;
}

/* Lines of packed elements with gaps, in which other lines lie. */
static void test_packed_between_others(void **state) {
    (void)state;
    static const int64_t shape[] = {16, 5}, far[] = {6, 17}, near[] = {1, 12}, two[] = {2, 2}, few[] = {3, 2};
    for (int times = 0; times < 8; times++) {
        const tg_layout d = packed_strided(shape, far), s = packed_strided(shape, near);
        const tg_layout e = packed_strided(two, few), dense_ = layout_of("u4[2,2]{1,0:E(4)}");
        check_move(&d, &s);
        check_move(&e, &dense_);
    }
}

/* Packed elements that pass through bytes: host elements of odd sizes, tiles of which a byte holds two rows of four, an
 * odd number of rows in tiles of several, lines of many loops, and brief runs. None of them goes element by element. */
static void test_packed_as_bytes(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"s4[21,301]", "s4[21,301]{1,0:E(4)}"},
        {"s4[21,301]{0,1}", "s4[21,301]{1,0:E(4)}"},
        {"f4e2m1fn[21,301]", "f4e2m1fn[21,301]{1,0:T(8,128)E(4)}"},
        {"u2[35,203]", "u2[35,203]{0,1:E(2)}"},
        {"s1[33,301]", "s1[33,301]{0,1:E(1)}"},
        {"pred[33,301]", "pred[33,301]{0,1:E(1)}"},
        {"pred[33,301]{1,0:E(1)}", "pred[33,301]{1,0:T(8,128)E(1)}"},
        {"s4[33,301]", "s4[33,301]{1,0:T(8,128)(2,1)E(4)}"},
        {"s4[33,301]{1,0:E(4)}", "s4[33,301]{1,0:T(8,128)(2,1)E(4)}"},
        {"u2[32,384]", "u2[32,384]{1,0:T(8,128)(2,1)E(2)}"},
        {"u2[32,384]{1,0:E(2)}", "u2[32,384]{1,0:T(8,128)(2,1)E(2)}"},
        {"u2[33,301]{0,1:E(2)}", "u2[33,301]{1,0:T(8,128)(2,1)E(2)}"},
        {"u2[37,301]{1,0:E(2)}", "u2[37,301]{1,0:T(16,128)(16,1)E(2)}"},
        {"u1[65,301]{1,0:E(1)}", "u1[65,301]{1,0:T(32,128)(32,1)E(1)}"},
        {"u1[1,301]{1,0:E(1)}", "u1[1,301]{1,0:T(32,128)(32,1)E(1)}"},
        {"s4[64,384]{1,0:T(8,128)E(4)}", "s4[64,384]{0,1:E(4)}"},
        {"s4[19,17,15]{2,1,0:E(4)}", "s4[19,17,15]{1,2,0:E(4)}"},
        {"u2[3,5,7,9,11]{4,3,2,1,0:E(2)}", "u2[3,5,7,9,11]{0,1,2,3,4}"},
        {"s4[2,1000]", "s4[2,1000]{0,1:E(4)}"},
        {"s4[9,301]{1,0:E(4)}", "s4[9,301]{1,0:T(3,5)(3,1)E(4)}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_layout d = layout_of(rows[i][0]), s = layout_of(rows[i][1]);
        tg_layout       back = s;
        move_seed = random_state;
        for (int k = 0; k < 2; k++) {
            const tg_plan_params params = {.dst = k == 0 ? &d : &s, .src = k == 0 ? &s : &d};
            tg_plan              p;
            assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
            assert_int_equal(tg_plan_see(&p)->way, TG_WAY_NEST);
        }
        for (int times = 0; times < 4; times++) {
            check_move(&d, &s);
            check_move(&s, &d);
        }
        if (tg_layout_slice(&back, &d, 1, d.shape[1] - 1, -1, -1, NULL) == TG_OK) check_move(&s, &back);
    }
}

/* Modes as no notation writes them. */
static tg_layout by_hand(const int64_t *shape, int32_t ndim, const tg_mode *mode, int32_t n, int64_t span) {
    tg_layout l;
    tg_error  err;
    assert_int_equal(tg_layout_strided(&l, TG_U8, ndim, shape, NULL, 0, NULL), TG_OK);
    l.nmodes = n;
    l.span = span;
    memcpy(l.mode, mode, (size_t)n * sizeof mode[0]);
    for (int32_t i = 0; i < n; i++) l.chain[i] = (uint8_t)i;
    if (tg_layout_validate(&l, &err) != TG_OK) fail_msg("%s", err.message);
    return l;
}

/* A dimension of one coordinate with padding above its last digit. */
static void test_padded_ones(void **state) {
    (void)state;
    const int64_t   one[] = {1}, three[] = {1, 3};
    const tg_mode   above[] = {{4, 1, 2, 1, 0, TG_TO_MEMORY}, {1, 1, 1, 1, 0, TG_TO_MEMORY}};
    const tg_mode two[] = {{4, 1, 2, 3, 0, TG_TO_MEMORY}, {1, 1, 1, 3, 0, TG_TO_MEMORY}, {3, 3, 1, 1, 1, TG_TO_MEMORY}};
    const tg_layout d = by_hand(one, 1, above, 2, 4), e = by_hand(three, 2, two, 3, 12);
    tg_layout       s;
    assert_int_equal(tg_layout_strided(&s, TG_U8, 1, one, NULL, 0, NULL), TG_OK);
    check_move(&d, &s);
    check_move(&s, &d);
    assert_int_equal(tg_layout_strided(&s, TG_U8, 2, three, NULL, 0, NULL), TG_OK);
    check_move(&e, &s);
    check_move(&s, &e);
}

/* Copies, whose dimension has no digits in src, do not take in two dimensions that stand still there. */
static void test_copies_of_still_digits(void **state) {
    (void)state;
    const int64_t   shape[] = {6, 4};
    const tg_mode to[] = {
        {6, 6, 1, 8, 0, TG_TO_MEMORY}, {4, 4, 1, 2, 1, TG_TO_MEMORY}, {2, 2, 1, 1, TG_AXIS_COPY, TG_TO_MEMORY}};
    const tg_mode from[] = {{2, 2, 3, 8, 0, TG_TO_MEMORY},
                            {2, 2, 2, 4, 0, TG_TO_MEMORY},
                            {2, 2, 1, 0, 0, TG_TO_MEMORY},
                            {2, 2, 2, 1, 1, TG_TO_MEMORY},
                            {2, 2, 1, 0, 1, TG_TO_MEMORY}};
    const tg_layout d = by_hand(shape, 2, to, 3, 48), s = by_hand(shape, 2, from, 5, 20);
    check_move(&d, &s);
}

/* One run; and a walk, since tiles of 48 and 64 do not nest. */
static void test_both_ways(void **state) {
    (void)state;
    const int64_t   shape[] = {6, 5, 4, 3};
    const tg_layout l = dense(TG_F32, 4, shape), d = sticks(TG_F16, 96, 960, 64), s = sticks(TG_F16, 96, 960, 48);
    check_move(&l, &l);
    check_move(&d, &s);
}

/* A run that is cut in chunks has its tail behind the last one only; run backwards, others would overwrite data. */
static void test_tail_of_chunks(void **state) {
    (void)state;
    const int64_t   shape[] = {3, 300};
    const tg_layout s = dense(TG_F32, 2, shape), d = sticks(TG_F32, 3, 300, 512);
    for (int i = 0; i < 200 / SAMPLED; i++) {
        move_seed = random_state;
        check_move(&d, &s);
    }
}

/* Rows that end with a shorter run: the ragged loop inside blocks, around them and cut in chunks; beside other ragged
 * edges; and where runs are better one long run. */
static void test_ragged_rows(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"f16[40,500]", "f16[40,500] spyre device_dtype=IEEE_FP16"},
        {"f16[5,6,200]", "f16[5,6,200] spyre device_dtype=IEEE_FP16"},
        {"f16[3,2,4,100]", "f16[3,2,4,100]{2,1,3,0}"},
        {"f16[3,2,4,100]", "f16[3,2,4,100]{3,0,2,1:T(2,64)}"},
        {"f32[21,300]", "f32[21,300]{1,0:T(8,128)}"},
        {"f32[3,21,140]", "f32[3,21,140]{2,0,1:T(8,128)}"},
        {"f32[21,300]{1,0:T(8,128)}", "f32[21,300]{1,0:T(4,128)}"},
        {"f32[2,6,140]{2,1,0:T(2,128)}", "f32[2,6,140]{2,0,1:T(2,128)}"},
        {"u8[70,33]", "u8[70,33]{1,0:T(70,32)}"},
        {"f16[9,65]", "f16[9,65]{1,0:T(9,64)}"},
        {"f64[3,6,17,40]{3,2,1,0:T(36,16)}", "f64[3,6,17,40]{3,1,2,0:T(7,18,16)}"},
        {"f32[2,3,40,127]{1,3,2,0}", "f32[2,3,40,127]{3,2,1,0:T(8,128)}"}, /* and elements take turns */
        {"u8[2,3,40,255]{1,3,2,0}", "u8[2,3,40,255]{3,2,1,0:T(8,128)}"},
        {"f32[4,12,64,21]", "f32[4,12,64,21]{2,3,1,0:T(8,128)}"}, /* padding is whole cache lines */
        {"f32[20,4,1,90] spyre", "f32[20,4,1,90] spyre dim_order=[0,1,2,3]"},
        {"f64[81]{0:T(7,16)}", "f64[81]{0:T(1,69)}"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const tg_layout a = layout_of(texts[i][0]), b = layout_of(texts[i][1]);
        for (int k = 0; k < 20 / SAMPLED; k++) {
            move_seed = random_state;
            check_move(&b, &a);
            check_move(&a, &b);
        }
    }
}

/* The third loop of a block that gathers whole lines of dst: from memory the one that goes on in lines of src. */
static void test_gathers_go_on(void **state) {
    (void)state;
    const tg_layout s = layout_of("u8[8,49,3,2,70] strides=[106,2,853,2561,5122]"), d = layout_of("u8[8,49,3,2,70]");
    tg_plan_params  params = {.dst = &d, .src = &s};
    tg_tuning       t = tg_default_tuning;
    tg_plan         p;
    t.block_bytes_min = 1000;
    t.far_bytes = 0;
    assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
    assert_int_equal(tg_plan_see(&p)->as.nest.box[0].block.src_row, 2);
    assert_int_equal(tg_plan_see(&p)->as.nest.box[0].block.src_outer, 106);
    t.far_bytes = INT64_MAX;
    t.stream_bytes = INT64_MAX;
    assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
    assert_int_equal(tg_plan_see(&p)->as.nest.box[0].block.src_outer, 2561);
}

/* Transposes of matrices side by side, around the caches: short lines that share sets of caches, or have no whole
 * sticks; rows that are whole lines only together, or not even then. */
static void test_side_by_side(void **state) {
    (void)state;
    static const char *const texts[][2] = {
        {"f16[64,16,130] strides=[1,64,65536]", "f16[64,16,130]"},
        {"u8[128,40,128] strides=[1,128,131072]", "u8[128,40,128]"},
        {"f32[64,20,64]{0,1,2}", "f32[64,20,64]"},
        {"f64[32,20,40]{0,1,2}", "f64[32,20,40]"},
        {"f32[63,40,50]{0,1,2}", "f32[63,40,50]"},
        {"f16[64,32,63]{0,1,2}", "f16[64,32,63]"},
        {"f16[640,32,63]{0,1,2}", "f16[640,32,63]"},
        {"f16[64,33,63]{0,1,2}", "f16[64,33,63]"},
        {"f16[64,40,32]{0,1,2}", "f16[64,40,32]"},
        {"u8[128,64,64]{0,1,2}", "u8[128,64,64]"},
        {"u8[300,64,127]{0,1,2}", "u8[300,64,127]"},
        {"u8[48,64,50]{0,1,2}", "u8[48,64,50]"},
        {"f32[32,40,63] spyre dim_order=[1,2,0]", "f32[32,40,63]"},
        {"f32[16,40,64] spyre dim_order=[1,2,0]", "f32[16,40,64]"},
        {"u8[16,70,48]{0,1,2}", "u8[16,70,48]"},
        {"f16[3,40,97]{0,1,2}", "f16[3,40,97]"},
        {"f16[24,50,24]{0,1,2}", "f16[24,50,24]"},
        {"f32[12,64,12]{0,1,2}", "f32[12,64,12]"},
        {"f64[6,90,3]{0,1,2}", "f64[6,90,3]"},
        {"f64[12,80,12]{0,1,2}", "f64[12,80,12]"},
        {"f32[64,6,8,20]{0,1,2,3}", "f32[64,6,8,20]"},
        {"f16[128,4,6,100]{0,1,2,3}", "f16[128,4,6,100]"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const tg_layout a = layout_of(texts[i][0]), b = layout_of(texts[i][1]);
        for (int k = 0; k < 20 / SAMPLED; k++) {
            move_seed = random_state;
            check_far(&b, &a);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sticks),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_tail_of_chunks),
        cmocka_unit_test(test_padded_ones),
        cmocka_unit_test(test_copies_of_still_digits),
        cmocka_unit_test(test_ragged_rows),
        cmocka_unit_test(test_tiles_of_loops),
        cmocka_unit_test(test_gathers_go_on),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_eights),
        cmocka_unit_test(test_whole_matrices_in_bands),
        cmocka_unit_test(test_two_transposes),
        cmocka_unit_test(test_units_with_missing_elements),
        cmocka_unit_test(test_converted_transposes),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_packed_windows),
        cmocka_unit_test(test_packed_broadcasts),
        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_packed_between_others),
        cmocka_unit_test(test_loose_boxes),
        cmocka_unit_test(test_packed_as_bytes),
    };
    random_state = 20260803;
    return cmocka_run_group_tests_name("relayout_chosen", tests, NULL, NULL);
}
