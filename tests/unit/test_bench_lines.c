/* The loops of bench/line_copies.c, which say what a machine allows, do the moves that they stand for: whole lines of
 * dst are what the library makes of them, but at the ends of runs, which they leave out. */
#include "../../bench/line_copies.h"
#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROOM = 1 << 20 };

typedef enum loops { COPIED, TURNED, JOINED, CONVERTED } loops;

typedef struct loops_case {
    const char *name, *src, *dst;
    int64_t     offset; /* of dst, from a line */
    loops       loops;
    int         ways;  /* orders, by three kinds of stores each */
    double      right; /* the least share of the lines */
} loops_case;

#define SPYRE  " spyre device_dtype=IEEE_FP16"
#define DEVICE " spyre"
#define ACROSS " spyre dim_order=[1,0] device_dtype=IEEE_FP16"

/* Wrong are, of a row of 40 lines: the first one, and two that padding behind the last stick of the row before
 * overwrites where bands come after each other; of sticks the first line of a run, unless all go in the order of dst;
 * of a tile the first one of 64. */
static const loops_case cases[] = {
    {"sticks", "f16[70,1344]", "f16[70,1344]" SPYRE, 0, COPIED, 12, 1},
    {"rows of sticks", "f16[70,1344]" SPYRE, "f16[70,1344]", 0, COPIED, 12, 1},
    {"sticks across", "f16[128,192]", "f16[128,192]" ACROSS, 0, TURNED, 3, 1},
    {"other sticks", "f16[128,192]" SPYRE, "f16[128,192]" ACROSS, 0, TURNED, 6, 1},
    {"rows inside of lines", "f16[70,1300]" SPYRE, "f16[70,1300]", 0, JOINED, 12, 0.92},
    {"sticks behind a line", "f16[70,1344]", "f16[70,1344]" SPYRE, 16, JOINED, 12, 0.98},
    {"at an odd byte", "f16[70,1344]", "f16[70,1344]" SPYRE, 61, JOINED, 12, 0.98},
    {"tiles behind a line", "f32[72,640]", "f32[72,640]{1,0:T(8,128)}", 16, JOINED, 6, 0.98},
    {"sticks at lines", "f16[70,1344]", "f16[70,1344]" SPYRE, 0, JOINED, 0, 1},
    {"sticks of another size", "f32[70,1344]", "f16[70,1344]" SPYRE, 16, JOINED, 0, 1},
    {"DLFloat16", "f16[70,1344]", "f16[70,1344]" DEVICE, 0, CONVERTED, 12, 1},
    {"bfloat16", "f32[70,1344]", "f32[70,1344] spyre device_dtype=BFLOAT16", 0, CONVERTED, 12, 1},
    {"float16 of float32", "f32[70,1344]", "f32[70,1344]" SPYRE, 0, CONVERTED, 0, 1},
    {"DLFloat16 at an odd byte", "f16[70,1344]", "f16[70,1344]" DEVICE, 61, CONVERTED, 0, 1},
    {"DLFloat16 in tiles", "f16[72,640]", "f16[72,640] spyre dim_order=[1,0]", 0, CONVERTED, 0, 1},
};

static void parse(tg_layout *out, const char *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    *out = desc.layout;
}

static uint8_t *buffer(void) {
    uint8_t *const p = aligned_alloc(64, ROOM);
    assert_non_null(p);
    for (int64_t i = 0; i < ROOM; i++) p[i] = (uint8_t)random_bits();
    return p;
}

/* Normal numbers of two and of four bytes, their exponents far from both ends. */
static void make_normal(uint8_t *p) {
    for (int64_t i = 1; i < ROOM; i += 2) p[i] = (p[i] & 0xb7) | 0x24;
}

static void move(uint8_t *dst, const uint8_t *src, const tg_layout *to, const tg_layout *from) {
    const tg_plan_params params = {.dst = to, .src = from, .convert = true};
    tg_plan              plan;
    tg_error             err;
    if (tg_plan_init(&plan, &params, &err) != TG_OK) fail_msg("%s", err.message);
    if (tg_plan_run(&plan, dst, src, NULL, &err) != TG_OK) fail_msg("%s", err.message);
}

/* Of the lines that lie within [from, end). */
static double equal_lines(const uint8_t *a, const uint8_t *b, int64_t from, int64_t end) {
    int64_t n = 0, equal = 0;
    for (int64_t i = (from + LINE - 1) / LINE * LINE; i + LINE <= end; i += LINE, n++)
        equal += memcmp(a + i, b + i, LINE) == 0;
    return (double)equal / (double)n;
}

static int find_ways(lines *way, const loops_case *c, const touched *t, const tg_layout *to,
                     const tg_layout *from, uint8_t *dst, const uint8_t *src, const tg_executor *executor) {
    return c->loops == JOINED ? joined_ways(way, t, dst, src, executor)
         : c->loops == CONVERTED ? converted_ways(way, t, to, from, dst, src, executor)
                                 : lines_ways(way, t, c->loops == TURNED ? 2 : 0, dst, src, executor);
}

static void check_case(const loops_case *c, const tg_executor *executor) {
    static lines way[MOST_LINES_WAYS];
    tg_layout    to, from;
    touched      t;
    int64_t      bytes;
    uint8_t     *src = buffer(), *dst = buffer(), *want = buffer();
    parse(&to, c->dst);
    parse(&from, c->src);
    if (c->loops == CONVERTED) make_normal(src);
    assert_int_equal(tg_layout_nbytes(&bytes, &to, NULL), TG_OK);
    assert_true(touched_find(&t, &to, &from, ROOM - 4096));
    move(want + c->offset, src, &to, &from);
    const int n = find_ways(way, c, &t, &to, &from, dst + c->offset, src, executor);
    if (n != c->ways) fail_msg("%s: %d ways", c->name, n);
    for (int i = 0; i < n; i++) {
        memset(dst, 0xa5, ROOM);
        lines_run(&way[i]);
        const double right = equal_lines(dst, want, c->offset, c->offset + bytes);
        if (right < c->right) fail_msg("%s, %s: only %.3f of the lines are right", c->name, way[i].name, right);
    }
    free(src);
    free(dst);
    free(want);
}

static bool has_loops(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vbmi");
#else
    return false;
#endif
}

static void check_cases(const tg_executor *executor) {
    if (!has_loops()) skip();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) check_case(&cases[i], executor);
}

static void test_loops(void **state) {
    (void)state;
    check_cases(NULL);
}

static void test_loops_on_two_threads(void **state) {
    (void)state;
    tg_threads *threads = NULL;
    assert_int_equal(tg_threads_create(&threads, 2, NULL), TG_OK);
    const tg_executor executor = tg_threads_executor(threads);
    check_cases(&executor);
    tg_threads_destroy(&threads);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_loops_on_two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
