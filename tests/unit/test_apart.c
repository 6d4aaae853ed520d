/* Elements that are apart on one side, or take turns on both, and go through a stage (relayout/apart.c): which moves
 * are such, and that all of their bytes are right. */
#include "checked_move.h"
#include "layouts.h"

typedef enum side { NEITHER, OF_SRC, OF_DST } side;

static const char *const names[] = {"no stage", "lines of src", "lines of dst"};

/* On which side does a mover of family strided take what goes through a stage? `memory_bytes`: from there on src comes
 * from memory. */
static side side_of(const tg_layout *d, const tg_layout *s, int64_t memory_bytes, uint32_t without) {
    const tg_plan_params params = {.dst = d, .src = s, .without = without};
    tg_tuning            t = tg_default_tuning;
    tg_plan              p;
    if (memory_bytes == 0) t.far_bytes = t.stream_bytes = 0;
    t.memory_bytes = memory_bytes;
    assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
    const tg_nest *nest = &tg_plan_see(&p)->as.nest;
    const tg_box  *box = nest->box;
    if (tg_plan_see(&p)->way != TG_WAY_NEST) return NEITHER;
    if (box->route != (memory_bytes == 0 ? TG_ROUTE_PANEL : TG_ROUTE_TWICE)) return NEITHER;
    const side which = nest->family[box->in] == TG_FAMILY_STRIDED      ? OF_SRC
                       : nest->family[box->mover] == TG_FAMILY_STRIDED ? OF_DST
                                                                       : NEITHER;
    const tg_loop *in = &nest->loop[box->first + box->nloops];
    int64_t        reach = nest->width[box->in];
    for (int32_t i = 0; i < box->ncols; i++) reach += (in[i].n - 1) * in[i].dst;
    assert_true(reach <= (memory_bytes == 0 ? TG_PANEL_BYTES : TG_TWICE_BYTES));
    assert_int_equal(tg_missing_elements(nest, box), 0);
    return which;
}

static void check(const tg_layout *d, const tg_layout *s) {
    check_move(d, s);
    check_far(d, s);
}

static void test_chosen(void **state) {
    (void)state;
    static const struct {
        const char *src, *dst;
        side        around, cached;
    } moves[] = {
        {"f16[200,150] strides=[3,601]", "f16[200,150]{1,0:T(8,128)(2,1)}", OF_SRC, OF_SRC}, /* pairs of dst */
        {"f16[200,150] strides=[1,601]", "f16[200,150]{1,0:T(8,128)(2,1)}", NEITHER, NEITHER},
        {"f16[200,40] strides=[3,601]", "f16[200,40]{1,0:T(8,128)(2,1)}", OF_SRC,
         NEITHER}, /* in a cache three loops have all */
        {"u8[200,96]{1,0:T(8,32)(4,1)}", "u8[200,96] strides=[3,601]", OF_DST, OF_DST},
        {"u8[200,96]{1,0:T(8,32)(4,1)}", "u8[200,96] strides=[17,3401]", NEITHER,
         NEITHER}, /* 64 are more than 16 vectors */
        {"f32[4,500] strides=[1001,2]", "f32[4,500]{0,1}", OF_SRC, OF_SRC},
        {"f32[4,500] strides=[1001,9]", "f32[4,500]{0,1}", NEITHER, NEITHER},  /* further apart than vectors are for */
        {"f32[40,500] strides=[1001,2]", "f32[40,500]{0,1}", OF_SRC, NEITHER}, /* runs of 160 bytes: from memory only */
        {"f32[4,500]{0,1}", "f32[4,500] strides=[1001,2]", OF_DST, NEITHER},
        {"f32[4,9] strides=[19,2]", "f32[4,9]{0,1}", NEITHER, NEITHER}, /* short lines */
        {"f32[4,500] strides=[-1001,-2] offset=4001", "f32[4,500]{0,1}", OF_SRC, OF_SRC},
        {"f32[20,40,50] strides=[80,2,2000]", "f32[20,40,50]{0,1,2}", OF_SRC, NEITHER}, /* so of 80 */
        {"f16[150,500] strides=[1001,2]", "f16[150,500]{0,1}", NEITHER, NEITHER},       /* runs of 300 bytes */
        {"f32[16,40,50] strides=[80,2,2000]", "f32[16,40,50]{0,1,2}", OF_SRC,
         OF_SRC}, /* one step more of the other loop */
        {"f32[16,40,50] strides=[81,2,2000]", "f32[16,40,50]{0,1,2}", OF_SRC, OF_SRC},   /* would be a chunk of one */
        {"f64[3,60,20] strides=[20000,3,200]", "f64[3,60,20]{0,2,1}", NEITHER, NEITHER}, /* eight bytes */
        {"f32[4,500] strides=[1001,2]", "f32[4,500]{1,0}", NEITHER, NEITHER},            /* along the same loop */
        {"u8[20,30,10,30] strides=[720,15000,60,2]", "u8[20,30,10,30]{0,1,2,3}", OF_SRC, OF_SRC}, /* cut by its room */
        {"u8[48,64] strides=[2,97]", "u8[48,64]{1,0:T(8,16)}", OF_SRC, OF_SRC}, /* lines of 48 bytes */
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout d = layout_of(moves[i].dst), s = layout_of(moves[i].src);
        const bool      vectors = (tg_cpu_features() & TG_CPU_AVX512) != 0;
        for (int64_t memory = 0; memory >= 0; memory = memory == 0 ? INT64_MAX : -1) {
            const side which = side_of(&d, &s, memory, 0),
                       want = !vectors ? NEITHER : memory == 0 ? moves[i].around : moves[i].cached;
            if (which != want)
                fail_msg("%s to %s: %s, not %s", moves[i].src, moves[i].dst, names[which], names[want]);
        }
        if (vectors) assert_int_equal(side_of(&d, &s, INT64_MAX, TG_CPU_AVX512), NEITHER);
        check(&d, &s);
    }
}

/* Does the first box go through a stage as elements of so many bytes, and out of it as such of others? */
static bool goes_twice(const tg_plan *p, int64_t in, int64_t out) {
    const tg_nest *nest = &tg_plan_see(p)->as.nest;
    const tg_box  *box = nest->box;
    if (tg_plan_see(p)->way != TG_WAY_NEST || (box->route != TG_ROUTE_TWICE && box->route != TG_ROUTE_PANEL))
        return false;
    return nest->width[box->in] == in && nest->width[box->mover] == out && tg_missing_elements(nest, box) == 0;
}

static bool is_straight(const tg_plan *p, int64_t width) {
    const tg_box *box = tg_plan_see(p)->as.nest.box;
    return tg_plan_see(p)->way == TG_WAY_NEST && box->route == TG_ROUTE_TURN && box->width == width;
}

/* Tiles whose rows take turns to others, turned: on both sides, through a stage; on one, as tiles of wide elements. */
static void test_tiles(void **state) {
    (void)state;
    static const struct {
        const char *src, *dst;
        int64_t     in, out, straight; /* bytes of elements, or 0 */
    } moves[] = {
        {"bf16[128,256]{0,1:T(8,128)(2,1)}", "bf16[128,256]{1,0:T(8,128)(2,1)}", 2, 4, 0},
        {"bf16[150,300]{0,1:T(8,128)(2,1)}", "bf16[150,300]{1,0:T(8,128)(2,1)}", 2, 4, 0},
        {"bf16[3,130,270]{1,2,0:T(8,128)(2,1)}", "bf16[3,130,270]{2,1,0:T(8,128)(2,1)}", 2, 4, 0},
        {"u8[128,256]{0,1:T(8,128)(4,1)}", "u8[128,256]{1,0:T(8,128)(4,1)}", 1, 4, 0},
        {"u8[4,4096]{0,1:T(8,128)(4,1)}", "u8[4,4096]{0,1}", 0, 0, 0}, /* cells that follow each other */
        {"bf16[256,256]{0,1:T(8,128)(2,1)}", "bf16[256,256]{1,0:T(8,128)}", 0, 0, 4},
        {"bf16[256,256]{0,1:T(8,128)}", "bf16[256,256]{1,0:T(8,128)(2,1)}", 0, 0, 4},
        {"u8[256,300]{0,1:T(8,128)(4,1)}", "u8[256,300]{1,0:T(8,128)}", 0, 0, 4},
        {"bf16[256,256]{0,1}", "bf16[256,256]{1,0:T(8,128)(2,1)}", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout      d = layout_of(moves[i].dst), s = layout_of(moves[i].src);
        const tg_plan_params params = {.dst = &d, .src = &s};
        tg_plan              p;
        assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
        const bool vectors = (tg_cpu_features() & TG_CPU_AVX512) != 0, twice = vectors && moves[i].in > 0;
        if (goes_twice(&p, moves[i].in, moves[i].out) != twice || is_straight(&p, 4) != (moves[i].straight > 0)) {
            char text[4000];
            (void)tg_plan_describe(text, sizeof text, &p);
            fail_msg("%s to %s:\n%s", moves[i].src, moves[i].dst, text);
        }
        check(&d, &s);
    }
}

/* Elements that take turns and have padding behind them. */
static void test_padded(void **state) {
    (void)state;
    static const char *const moves[][2] = {
        {"f32[2,32,7]{1,2,0:T(8,128)(2,1)}", "f32[2,32,7]{0,1,2:T(4,64)}"},
        {"f32[6,153,1]{1,2,0:T(8,128)(4,1)}", "f32[6,153,1]{0,2,1:T(128,4)(1,2)}"},
    };
    for (size_t i = 0; i < 8 * sizeof moves / sizeof moves[0]; i++) {
        const tg_layout s = layout_of(moves[i / 8][0]), d = layout_of(moves[i / 8][1]);
        move_seed = random_state;
        check(&d, &s);
    }
}

/* Any strides on one side, near ones among them, and any order of dimensions on the other one. */
static void test_random(void **state) {
    (void)state;
    enum { MOVES = 300, LEAST = 20 };
    static const char *const types[] = {"u8", "f16", "f32", "f64"};
    int                      taken[3] = {0};
    for (int k = 0; k < MOVES; k++) {
        int64_t    shape[4], step = 2 + random_below(3), stride[4], end = 0;
        int        at[4] = {0, 1, 2, 3}, order[4] = {0, 1, 2, 3};
        char       head[80], apart[160], dense_text[120];
        const bool back = random_below(4) == 0;
        move_seed = random_state;
        for (int i = 0; i < 4; i++) shape[i] = 1 + random_below(random_below(2) == 0 ? 5 : 30);
        for (int i = 3; i > 0; i--) {
            const int j = (int)random_below(i + 1), t = at[i], m = (int)random_below(i + 1), u = order[i];
            at[i] = at[j], at[j] = t, order[i] = order[m], order[m] = u;
        }
        for (int i = 0; i < 4; i++) {
            stride[at[i]] = back ? -step : step;
            end += (shape[at[i]] - 1) * step;
            step = step * shape[at[i]] + (random_below(3) == 0 ? random_below(9) : 0);
        }
        (void)snprintf(head, sizeof head, "%s[%d,%d,%d,%d]", types[k % 4], (int)shape[0], (int)shape[1], (int)shape[2],
                       (int)shape[3]);
        (void)snprintf(apart, sizeof apart, "%s strides=[%d,%d,%d,%d] offset=%d", head, (int)stride[0], (int)stride[1],
                       (int)stride[2], (int)stride[3], back ? (int)end : 0);
        (void)snprintf(dense_text, sizeof dense_text, "%s{%d,%d,%d,%d%s}", head, order[0], order[1], order[2], order[3],
                       random_below(3) == 0 ? ":T(4,16)(2,1)" : "");
        const tg_layout a = layout_of(apart), b = layout_of(dense_text);
        taken[side_of(&b, &a, INT64_MAX, 0)]++;
        if (!back) taken[side_of(&a, &b, INT64_MAX, 0)]++;
        check(&b, &a);
        check(&a, &b);
    }
    if ((tg_cpu_features() & TG_CPU_AVX512) != 0) assert_true(taken[OF_SRC] >= LEAST && taken[OF_DST] >= LEAST / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chosen), cmocka_unit_test(test_tiles),
                                       cmocka_unit_test(test_padded), cmocka_unit_test(test_random)};
    random_state = 20261129;
    return cmocka_run_group_tests_name("apart", tests, NULL, NULL);
}
