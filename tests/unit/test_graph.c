/* Sticks, and what is refused when a graph is built. That plans are the best ones is judged by
 * tests/python/test_plan_oracle.py. */
#include "graph/coordinate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- which sticks go together -------------------------------------------------------------- */

enum { NONE = -1 };
#define LOOPS(a, b) ((uint32_t)(a) | (uint32_t)(b) << 1)

/* Source: torch-spyre, stick_compatible; c0 and c1 are loops 0 and 1. A tensor is the loop in its stick, and those in
 * its other dimensions. */
static const struct { const char *name; struct { int32_t loop; uint32_t others; } tensor[2]; bool ok; } pairs[] = {
    {"the same twice", {{1, LOOPS(1, 0)}, {1, LOOPS(1, 0)}}, true},
    {"two stick variables", {{0, LOOPS(0, 1)}, {1, LOOPS(1, 0)}}, false},
    {"a sparse column along the other's rows", {{NONE, LOOPS(1, 0)}, {1, LOOPS(1, 0)}}, true},
    {"a sparse column against a dense stick: gather", {{NONE, LOOPS(1, 0)}, {0, 0}}, false},
    {"two sparse ones", {{NONE, LOOPS(1, 0)}, {NONE, LOOPS(1, 0)}}, true},
    {"a scalar", {{NONE, 0}, {1, LOOPS(1, 0)}}, true},
    {"a row", {{1, 0}, {1, LOOPS(1, 0)}}, true},
};

static void test_sticks_compatible(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(pairs); i++) {
        tg_stick sticks[2];
        for (int k = 0; k < 2; k++) {
            const int32_t loop = pairs[i].tensor[k].loop;
            sticks[k] =
                (tg_stick){loop == NONE ? TG_STICK_NONE : TG_STICK_LOOP, loop, pairs[i].tensor[k].others, false};
            if (loop != NONE) sticks[k].others &= ~(UINT32_C(1) << loop);
        }
        if (tg_sticks_compatible(sticks, 2) != pairs[i].ok) fail_msg("%s", pairs[i].name);
    }
}

/* What is read of [4,256,64] stick_map [64,256,1] ([256,256] of f16), and the like. */
static const struct {
    const char   *name;
    int64_t       size[3], map[3], range[2], offset;
    tg_term       term[2];
    tg_stick_kind kind;
    int32_t       loop;
} sticks[] = {
    {"rows and columns", {4, 256, 64}, {64, 256, 1}, {256, 256}, 0, {{0, 256, 0, 0}, {1, 1, 0, 0}}, TG_STICK_LOOP, 1},
    {"transposed", {4, 256, 64}, {64, 256, 1}, {256, 256}, 0, {{0, 1, 0, 0}, {1, 256, 0, 0}}, TG_STICK_LOOP, 0},
    {"from the second stick on", {4, 256, 64}, {64, 256, 1}, {256, 64}, 64, {{0, 256, 0, 0}, {1, 1, 0, 0}},
     TG_STICK_LOOP, 1},
    {"from within a stick", {4, 256, 64}, {64, 256, 1}, {256, 64}, 8, {{0, 256, 0, 0}, {1, 1, 0, 0}}, TG_STICK_OFFSET,
     1},
    {"every other column", {4, 256, 64}, {64, 256, 1}, {256, 128}, 0, {{0, 256, 0, 0}, {1, 2, 0, 0}}, TG_STICK_BAD,
     NONE},
    {"the first column", {4, 256, 64}, {64, 256, 1}, {256, 1}, 0, {{0, 256, 0, 0}, {0, 0, 0, 0}}, TG_STICK_NONE, NONE},
    {"the second column", {4, 256, 64}, {64, 256, 1}, {256, 1}, 1, {{0, 256, 0, 0}, {0, 0, 0, 0}}, TG_STICK_BAD, NONE},
    {"heads of 64", {4, 256, 64}, {64, 256, 1}, {4, 64}, 0, {{0, 64, 0, 0}, {1, 1, 0, 0}}, TG_STICK_LOOP, 1},
    {"heads of 32", {4, 256, 64}, {64, 256, 1}, {8, 32}, 0, {{0, 32, 0, 0}, {1, 1, 0, 0}}, TG_STICK_BAD, NONE},
    {"rows one after the other", {4, 256, 64}, {64, 256, 1}, {65536, 1}, 0, {{0, 1, 0, 0}, {0, 0, 0, 0}},
     TG_STICK_LOOP, 0},
    /* 100 columns in two sticks: going on into the next row is no matter of sticks */
    {"ragged rows one after the other", {2, 256, 64}, {64, 100, 1}, {25600, 1}, 0, {{0, 1, 0, 0}, {0, 0, 0, 0}},
     TG_STICK_BAD, NONE},
    {"ragged rows and columns", {2, 256, 64}, {64, 100, 1}, {256, 100}, 0, {{0, 100, 0, 0}, {1, 1, 0, 0}},
     TG_STICK_LOOP, 1},
    {"ragged, from row 3 on", {2, 256, 64}, {64, 100, 1}, {253, 100}, 300, {{0, 100, 0, 0}, {1, 1, 0, 0}},
     TG_STICK_LOOP, 1},
    {"rows that the data picks", {4, 256, 64}, {64, 256, 1}, {8, 256}, 0, {{NONE, 256, 0, 256}, {1, 1, 0, 0}},
     TG_STICK_LOOP, 1},
    {"columns that the data picks", {4, 256, 64}, {64, 256, 1}, {256, 8}, 0, {{0, 256, 0, 0}, {NONE, 1, 0, 256}},
     TG_STICK_BAD, NONE},
    {"Mod of a loop", {4, 256, 64}, {64, 256, 1}, {256, 512}, 0, {{0, 256, 0, 0}, {1, 1, 256, 0}}, TG_STICK_LOOP, 1},
    {"Mod within a stick", {4, 256, 64}, {64, 256, 1}, {256, 64}, 0, {{0, 256, 0, 0}, {1, 1, 32, 0}}, TG_STICK_BAD,
     NONE},
};

static void test_stick_of(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(sticks); i++) {
        tg_spyre layout = {.rank = 3, .device_dtype = TG_SEN169_FP16};
        memcpy(layout.device_size, sticks[i].size, sizeof sticks[i].size);
        memcpy(layout.stride_map, sticks[i].map, sizeof sticks[i].map);
        const tg_access access = {0, sticks[i].offset, 2, sticks[i].term};
        tg_stick        stick;
        tg_stick_of(&stick, &layout, sticks[i].range, &access);
        if (stick.kind != sticks[i].kind || stick.loop != sticks[i].loop)
            fail_msg("%s: kind %d, loop %d", sticks[i].name, (int)stick.kind, (int)stick.loop);
    }
}

/* ---- what is refused -------------------------------------------------------------------------- */

static const int64_t shape[] = {4, 64};
static const int64_t ranges[] = {4, 64};
static const tg_term good[] = {{0, 64, 0, 0}, {1, 1, 0, 0}}, backwards[] = {{0, 64, 0, 0}, {1, -1, 0, 0}},
                     no_loop[] = {{0, 64, 0, 0}, {2, 1, 0, 0}},
                     no_extent[] = {{TG_LOOP_UNKNOWN, 64, 0, 0}, {1, 1, 0, 0}};

static const struct {
    tg_node_kind   kind;
    int64_t        node, offset;
    const tg_term *terms;
    int32_t        nterms, nloops;
    const char    *message;
} refused[] = {
    {TG_NODE_POINTWISE, 1, 0, good, 2, 2, "operand 0 is node 1; there are 1"},
    {TG_NODE_POINTWISE, -1, 0, good, 2, 2, "operand 0 is node -1; there are 1"},
    {TG_NODE_POINTWISE, 0, -5, good, 2, 2, "begins at -5"},
    {TG_NODE_POINTWISE, 0, 63, backwards, 2, 2, "runs backwards"},
    {TG_NODE_POINTWISE, 0, 0, no_loop, 2, 2, "names loop 2"},
    {TG_NODE_POINTWISE, 0, 0, no_extent, 2, 2, "extent 0"},
    {TG_NODE_POINTWISE, 0, 0, good, 2, TG_MAX_LOOPS + 1, "33 loops"},
    {TG_NODE_POINTWISE, 0, 0, good, 2 * TG_MAX_LOOPS + 1, 2, "65 terms"},
    {TG_NODE_INPUT, 0, 0, good, 2, 2, "kind 0"},
    {TG_NODE_MATMUL, 0, 0, good, 2, 2, "2 operands, this one 1"},
};

static void test_refused(void **unused) {
    tg_graph *g = NULL;
    tg_host   host;
    int64_t   id = 0;
    tg_error  err;
    (void)unused;
    assert_int_equal(tg_graph_create(&g, &err), TG_OK);
    assert_int_equal(tg_host_contiguous(&host, TG_F16, 2, shape, &err), TG_OK);
    assert_int_equal(tg_graph_add_input(&id, g, (tg_hlo_text){"x", 1}, &host, NULL, &err), TG_OK);
    for (size_t i = 0; i < COUNT(refused); i++) {
        const tg_access operand = {refused[i].node, refused[i].offset, refused[i].nterms, refused[i].terms};
        const tg_node   node = {.kind = refused[i].kind, .host = host, .nloops = refused[i].nloops, .ranges = ranges,
                                .noperands = 1, .operands = &operand, .result = {0, 0, 2, good}};
        const tg_status s = tg_graph_add(&id, g, &node, &err);
        if (s == TG_OK || strstr(err.message, refused[i].message) == NULL) fail_msg("%zu: %s", i, err.message);
        assert_int_equal(tg_graph_count(g), 1);
    }
    tg_graph_destroy(&g);
    assert_null(g);
    tg_graph_destroy(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sticks_compatible),
        cmocka_unit_test(test_stick_of),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
