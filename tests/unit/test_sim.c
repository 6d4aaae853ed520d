/* The simulator is there to notice wrong plans: plans are made, broken, and run. That right plans give right numbers is
 * judged by tests/python/test_sim.py. */
#include "graph/plan.h"
#include "sim/ops.h"
#include "random.h"

#include <tegula/sim.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* ---- a graph with its plan -------------------------------------------------------------------- */

typedef struct bench {
    tg_hlo_module *module;
    tg_graph      *graph;
    tg_program    *program;
    tg_graph_plan *plan;
    tg_sim        *sim;
    tg_error       err;
} bench;

static void plan_text(bench *b, const char *text) {
    const tg_graph_params params = {.model = TG_MODEL_TEGULA};
    memset(b, 0, sizeof *b);
    assert_int_equal(tg_hlo_parse(&b->module, text, strlen(text), &b->err), TG_OK);
    assert_int_equal(tg_graph_create(&b->graph, &b->err), TG_OK);
    assert_int_equal(tg_program_create(&b->program, &b->err), TG_OK);
    assert_int_equal(tg_program_add_hlo(b->program, b->graph, b->module, &b->err), TG_OK);
    assert_int_equal(tg_graph_plan_create(&b->plan, b->graph, &params, &b->err), TG_OK);
}

static void clear(bench *b) {
    tg_sim_destroy(&b->sim);
    tg_graph_plan_destroy(&b->plan);
    tg_program_destroy(&b->program);
    tg_graph_destroy(&b->graph);
    tg_hlo_destroy(&b->module);
}

static int64_t find_node(const bench *b, const char *name) {
    for (int64_t i = 0; i < tg_graph_count(b->graph); i++)
        if (tg_hlo_text_is(tg_graph_get(b->graph, i).name, name)) return i;
    fail_msg("no node %s", name);
    return -1;
}

/* f16 of both signs from 0.5 to 2, but for what is to be below 0. */
static void write_inputs(bench *b, bool negative) {
    random_state = 1;
    for (int64_t i = 0; i < tg_program_ninputs(b->program); i++) {
        const int64_t node = tg_program_input(b->program, i), n = tg_sim_nbytes(b->sim, node) / 2;
        uint16_t     *data = malloc((size_t)n * sizeof *data + 1);
        assert_non_null(data);
        for (int64_t j = 0; j < n; j++) {
            const uint64_t r = random_bits();
            data[j] = (uint16_t)((negative ? 0x8000 : r >> 40 & 0x8000) | (0x3800 + (r & 0x7F0)));
        }
        assert_int_equal(tg_sim_write(b->sim, node, data, &b->err), TG_OK);
        free(data);
    }
}

static tg_sim_difference run_plan(bench *b, const tg_sim_params *params, bool negative) {
    tg_sim_difference d;
    if (tg_sim_create(&b->sim, b->graph, b->plan, b->program, params, &b->err) != TG_OK) fail_msg("%s", b->err.message);
    write_inputs(b, negative);
    assert_int_equal(tg_sim_run(b->sim, &b->err), TG_OK);
    assert_int_equal(tg_sim_check(&d, b->sim, 0, &b->err), TG_OK);
    return d;
}

static bool is_right(const tg_sim_difference *d) {
    return d->elements > 0 && d->lost == 0 && d->scale > 0 && d->largest <= d->scale / 64;
}

#define PARTS                                                                                                          \
    "sum { p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT r = f16[] add(p, q) }\n"                            \
    "most { p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT r = f16[] maximum(p, q) }\n"

#define PRODUCT                                                                                                        \
    "ENTRY main { x = f16[33,100] parameter(0)\n y = f16[100,70] parameter(1)\n"                                      \
    "ROOT z = f16[33,70] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
#define SCORES                                                                                                         \
    "ENTRY main { x = f16[64,128] parameter(0)\n y = f16[64,128] parameter(1)\n"                                      \
    "ROOT z = f16[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1} }\n"
#define LARGEST                                                                                                        \
    PARTS "ENTRY main { x = f16[40,100] parameter(0)\n low = f16[] constant(-inf)\n"                                  \
    "ROOT z = f16[40] reduce(x, low), dimensions={1}, to_apply=most }\n"
#define TOTALS                                                                                                         \
    PARTS "ENTRY main { x = f16[40,100] parameter(0)\n zero = f16[] constant(0)\n"                                    \
    "ROOT z = f16[40] reduce(x, zero), dimensions={1}, to_apply=sum }\n"
#define SLICE                                                                                                          \
    PARTS "ENTRY main { x = f16[20,20] parameter(0)\n e = f16[20,20] exponential(x)\n"                               \
    "s = f16[20,3] slice(e), slice={[0:20],[0:3]}\n zero = f16[] constant(0)\n"                                      \
    "ROOT z = f16[20] reduce(s, zero), dimensions={1}, to_apply=sum }\n"
#define ROWS                                                                                                           \
    "ENTRY main { x = f16[33,14] parameter(0)\n y = f16[70,64] parameter(1)\n"                                       \
    "s = f16[14,64] slice(y), slice={[0:14],[0:64]}\n"                                                                \
    "ROOT z = f16[33,64] dot(x, s), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"
#define TWO_ENDS                                                                                                       \
    "ENTRY main { x = f16[33,14] parameter(0)\n w = f16[33,70] parameter(1)\n y = f16[70,64] parameter(2)\n"         \
    "s = f16[14,64] slice(y), slice={[0:14],[0:64]}\n"                                                                \
    "a = f16[33,64] dot(x, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                                  \
    "b = f16[33,64] dot(w, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                                  \
    "ROOT z = f16[33,64] add(a, b) }\n"
#define SUM                                                                                                            \
    "ENTRY main { x = f16[128,128] parameter(0)\n y = f16[128,128] parameter(1)\n"                                    \
    "t = f16[128,128] transpose(x), dimensions={1,0}\n ROOT z = f16[128,128] add(t, y) }\n"
#define LONG_PRODUCT                                                                                                   \
    "ENTRY main { x = f16[4,1024] parameter(0)\n y = f16[1024,64] parameter(1)\n"                                     \
    "ROOT z = f16[4,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }\n"

/* ---- plans that are broken ------------------------------------------------------------------------- */

typedef void breaking(bench *b);

static void nothing(bench *b) { (void)b; }

static void drop_paddings(bench *b) { b->plan->summary.npaddings = 0; }

static void drop_copies(bench *b) { b->plan->summary.nrestickifies = 0; }

/* The reader takes the tensor as it was before. */
static void forget_reader(bench *b) { b->plan->restickifies.rows[0].nreaders = 0; }

/* The copy has its sticks where they were. */
static void copy_as_it_is(bench *b) { b->plan->restickifies.rows[0].to = b->plan->restickifies.rows[0].from; }

static void mask_as_zero(bench *b) { b->plan->paddings.rows[0].padding.value = TG_PAD_ZERO; }

static void mask_too_late(bench *b) { b->plan->paddings.rows[0].padding.valid += 1; }

static void mask_too_soon(bench *b) { b->plan->paddings.rows[0].padding.valid = 10; }

static void fill_too_little(bench *b) { b->plan->paddings.rows[0].padding.padded = 101; }

static const struct {
    const char *name, *text;
    breaking   *how;
    bool        negative, right;
} plans[] = {
    {"a product", PRODUCT, nothing, false, true},
    {"a product without its fill", PRODUCT, drop_paddings, false, false},
    {"a product whose fill is too short", PRODUCT, fill_too_little, false, false},
    {"scores", SCORES, nothing, false, true},
    {"scores without the copy", SCORES, drop_copies, false, false},
    {"scores whose copy nobody reads", SCORES, forget_reader, false, false},
    {"scores whose copy changes nothing", SCORES, copy_as_it_is, false, false},
    {"a maximum", LARGEST, nothing, false, true},
    {"a maximum below 0", LARGEST, nothing, true, true},
    {"a maximum without its mask", LARGEST, drop_paddings, false, false},
    {"a maximum below 0, masked with 0", LARGEST, mask_as_zero, true, false},
    {"a sum", TOTALS, nothing, false, true},
    {"a sum without its mask", TOTALS, drop_paddings, false, false},
    {"a sum that is masked too late", TOTALS, mask_too_late, false, false},
    {"a sum that is masked too soon", TOTALS, mask_too_soon, true, false},
    {"a sum of a slice: behind its end are no zeros", SLICE, nothing, false, true},
    {"a sum of a slice without its mask", SLICE, drop_paddings, false, false},
    {"a product with the first rows", ROWS, nothing, false, true},
    {"a product with the first rows, without their fill", ROWS, drop_paddings, false, false},
    {"products with the first rows and with all of them", TWO_ENDS, nothing, false, true},
    {"a sum of two that disagree", SUM, nothing, false, true},
    {"a sum of two that disagree, without the copy", SUM, drop_copies, false, false},
    {"a sum of two that disagree, with a copy of the same layout", SUM, copy_as_it_is, false, false},
};

static void test_broken_plans(void **unused) {
    bench b;
    (void)unused;
    for (size_t i = 0; i < COUNT(plans); i++) {
        plan_text(&b, plans[i].text);
        plans[i].how(&b);
        const tg_sim_difference d = run_plan(&b, NULL, plans[i].negative);
        if (is_right(&d) != plans[i].right)
            fail_msg("%s: %lld lost, largest %g of %g", plans[i].name, (long long)d.lost, d.largest, d.scale);
        clear(&b);
    }
}

/* ---- slices ------------------------------------------------------------------------------------------ */

/* Splits and tiles of the three loops (rows, columns, summed) of the last node. */
static const struct {
    const char *name, *text;
    int64_t     splits[3], tiles[3];
    bool        right;
} divisions[] = {
    {"one core", LONG_PRODUCT, {1, 1, 1}, {1, 1, 1}, true},
    {"rows", LONG_PRODUCT, {4, 1, 1}, {0}, true},
    {"sums apart", LONG_PRODUCT, {2, 1, 16}, {1, 1, 1}, true},
    {"rows that do not divide", PRODUCT, {2, 1, 1}, {0}, false},
    {"columns in more slices than sticks", PRODUCT, {1, 4, 1}, {0}, false},
    {"sums that do not divide", LONG_PRODUCT, {1, 1, 5}, {0}, false},
    {"tiles of rows", LONG_PRODUCT, {1, 1, 1}, {4, 1, 1}, true},
    {"tiles of sums", LONG_PRODUCT, {1, 1, 1}, {1, 1, 16}, true},
    {"tiles, and slices of each", LONG_PRODUCT, {2, 1, 4}, {2, 1, 4}, true},
    {"tiles that do not divide", PRODUCT, {1, 1, 1}, {2, 1, 1}, false},
    {"slices that do not divide a tile", LONG_PRODUCT, {4, 1, 1}, {2, 1, 1}, false},
};

static void test_divisions(void **unused) {
    bench       b;
    tg_division rows[8] = {0};
    (void)unused;
    for (size_t i = 0; i < COUNT(divisions); i++) {
        plan_text(&b, divisions[i].text);
        const int64_t n = tg_graph_count(b.graph);
        assert_in_range(n, 1, COUNT(rows));
        for (int64_t j = 0; j < n; j++)
            for (int l = 0; l < TG_MAX_LOOPS; l++) rows[j].splits[l] = 1;
        memcpy(rows[n - 1].splits, divisions[i].splits, sizeof divisions[i].splits);
        memcpy(rows[n - 1].tiles, divisions[i].tiles, sizeof divisions[i].tiles);
        const tg_sim_params     params = {.divisions = rows, .seed = i};
        const tg_sim_difference d = run_plan(&b, &params, false);
        if (is_right(&d) != divisions[i].right) fail_msg("%s: largest %g", divisions[i].name, d.largest);
        clear(&b);
    }
}

/* The order of slices is another one with each seed, and no bit of the result is. */
static void test_seeds(void **unused) {
    static const char *const texts[] = {PRODUCT, LONG_PRODUCT, SCORES, LARGEST, TOTALS, SUM};
    static uint8_t           first[1 << 16], again[1 << 16];
    (void)unused;
    for (size_t i = 0; i < COUNT(texts); i++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            bench               b;
            const tg_sim_params params = {.seed = seed};
            plan_text(&b, texts[i]);
            (void)run_plan(&b, &params, false);
            assert_int_equal(tg_sim_read(b.sim, 0, seed == 0 ? first : again, &b.err), TG_OK);
            if (seed > 0) assert_memory_equal(first, again, sizeof first);
            clear(&b);
        }
}

/* ---- poison -------------------------------------------------------------------------------------------- */

/* 100 columns in two sticks: behind them a sum of what nobody wrote, and so no number. */
static void test_padding_is_poison(void **unused) {
    bench          b;
    int64_t        nbytes = 0;
    (void)unused;
    plan_text(&b, "ENTRY main { x = f16[3,100] parameter(0)\n ROOT z = f16[3,100] add(x, x) }\n");
    (void)run_plan(&b, NULL, false);
    const uint16_t *z = tg_sim_storage(b.sim, find_node(&b, "z"), &nbytes);
    assert_int_equal(nbytes, 2 * 3 * 128);
    for (int row = 0; row < 3; row++)
        for (int lane = 0; lane < 128; lane++) {
            const uint16_t x = z[lane / 64 * 192 + row * 64 + lane % 64];
            assert_int_equal((x & 0x7FFF) == 0x7FFF, lane >= 100);
        }
    clear(&b);
}

/* ---- what is refused ---------------------------------------------------------------------------------------- */

static tg_status create(bench *b, const tg_sim_params *params) {
    return tg_sim_create(&b->sim, b->graph, b->plan, b->program, params, &b->err);
}

static void test_unknown_operation(void **unused) {
    bench b;
    (void)unused;
    plan_text(&b, "ENTRY main { x = f16[64] parameter(0)\n ROOT odd = f16[64] fft(x), fft_length={64} }\n");
    assert_int_equal(create(&b, NULL), TG_ERR_UNSUPPORTED);
    assert_non_null(strstr(b.err.message, "odd"));
    assert_null(b.sim);
    clear(&b);
}

static void test_limits(void **unused) {
    const tg_sim_params small = {.max_bytes = 1000};
    char                room[64];
    bench               b;
    (void)unused;
    plan_text(&b, PRODUCT);
    assert_int_equal(create(&b, &small), TG_ERR_LIMIT);
    assert_int_equal(create(&b, NULL), TG_OK);
    assert_int_equal(tg_sim_read(b.sim, 0, room, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_run(b.sim, &b.err), TG_ERR_ARGUMENT);
    assert_non_null(strstr(b.err.message, "x was not written"));
    assert_int_equal(tg_sim_write(b.sim, find_node(&b, "z"), room, &b.err), TG_ERR_ARGUMENT);
    clear(&b);
}

static const struct { const char *name; tg_compute compute;
} unsuitable[] = {
    {"too few operands", {.op = TG_OP_SELECT}},
    {"not for floats", {.op = TG_OP_SHIFT_LEFT}},
    {"nothing", {.op = TG_OP_NONE}},
    {"an input", {.op = TG_OP_INPUT}},
    {"no loop", {.op = TG_OP_IOTA, .loop = 7}},
    {"a constant without elements", {.op = TG_OP_CONSTANT}},
    {"nothing to pad with", {.op = TG_OP_PAD}},
    {"starts with itself", {.op = TG_OP_PAD, .has_start = true, .start = {.node = 2}}},
    {"a sum with a start", {.op = TG_OP_REDUCE, .has_start = true, .start = {.node = 1}}},
    {"an element that is not there",
     {.op = TG_OP_ADD,
      .nindices = 1,
      .indices = &(tg_index){.operand = 0, .step = 64, .limit = 100, .from = {.node = 0}}}},
    {"a piece outside",
     {.op = TG_OP_PIECES, .npieces = 1, .pieces = &(tg_piece){.operand = 1, .first = 60, .size = 8}}},
};

static void test_unsuitable(void **unused) {
    bench b;
    (void)unused;
    for (size_t i = 0; i < COUNT(unsuitable); i++) {
        plan_text(&b,
                  "ENTRY main { x = f16[64] parameter(0)\n y = f16[64] parameter(1)\n ROOT z = f16[64] add(x, y) }\n");
        assert_int_equal(tg_program_set(b.program, 2, &unsuitable[i].compute, &b.err), TG_OK);
        const tg_status s = create(&b, NULL);
        if (s != TG_ERR_ARGUMENT && s != TG_ERR_UNSUPPORTED) fail_msg("%s", unsuitable[i].name);
        assert_null(b.sim);
        clear(&b);
    }
}

static void test_program_arguments(void **unused) {
    const tg_compute add = {.op = TG_OP_ADD}, none = {.op = (tg_op)1000}, less = {.op = TG_OP_ADD, .nindices = -1};
    tg_program      *p = NULL;
    tg_error         err;
    (void)unused;
    assert_int_equal(tg_program_create(&p, &err), TG_OK);
    assert_int_equal(tg_program_set(p, -1, &add, &err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_program_set(p, 0, &none, &err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_program_set(p, 0, &less, &err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_program_add_input(p, -1, &err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_program_ninputs(p), 0);
    tg_program_destroy(&p);
    assert_null(p);
    tg_program_destroy(&p);
}

/* ---- operations --------------------------------------------------------------------------------------------- */

static void test_table_is_in_order(void **unused) {
    (void)unused;
    for (int i = 0; i <= TG_OP_FORMULA; i++) {
        assert_int_equal(tg_op_find((tg_op)i)->op, i);
        assert_non_null(tg_op_name((tg_op)i));
    }
    assert_null(tg_op_name((tg_op)(TG_OP_FORMULA + 1)));
    assert_null(tg_op_name((tg_op)-1));
    assert_int_equal(tg_op_arity((tg_op)-1), -1);
}

/* float32 and float64 are the same function. */
static void test_rows_and_numbers_agree(void **unused) {
    static const float values[] = {-2.5f, -1, -0.5f, 0, 0.25f, 0.5f, 1, 1.5f, 3};
    (void)unused;
    for (int op = TG_OP_COPY; op <= TG_OP_CLAMP; op++) {
        const tg_op_row *row = tg_op_find((tg_op)op);
        for (size_t i = 0; row->rows != NULL && i < COUNT(values) * COUNT(values); i++) {
            const float  x = values[i % COUNT(values)], y = values[i / COUNT(values)], z = 2;
            const float *in[] = {&x, &y, &z};
            float        r;
            row->rows(&r, in, 1);
            const double d = row->real((const double[]){(double)x, (double)y, (double)z});
            if (isnan(d) ? !isnan(r) : isinf(d) ? (double)r != d : fabs((double)r - d) > 1e-6 * fmax(1, fabs(d)))
                fail_msg("%s(%g, %g) = %g, and %g", row->name, (double)x, (double)y, (double)r, d);
        }
    }
}

static const struct { tg_op op; int64_t x, y; int32_t bits; int64_t result; } integers[] = {
    {TG_OP_DIVIDE, 7, 2, 32, 3}, {TG_OP_DIVIDE, -7, 2, 32, -3}, {TG_OP_DIVIDE, 7, 0, 32, -1},
    {TG_OP_DIVIDE, INT64_MIN, -1, 64, INT64_MIN}, {TG_OP_REMAINDER, -7, 2, 32, -1}, {TG_OP_REMAINDER, 7, 0, 32, 7},
    {TG_OP_REMAINDER, INT64_MIN, -1, 64, 0}, {TG_OP_SHIFT_LEFT, 3, 2, 32, 12}, {TG_OP_SHIFT_LEFT, 3, 32, 32, 0},
    {TG_OP_SHIFT_RIGHT, -8, 1, 32, -4}, {TG_OP_SHIFT_RIGHT, -8, 40, 32, -1},
    {TG_OP_SHIFT_RIGHT_LOGICAL, -1, 28, 32, 15}, {TG_OP_SHIFT_RIGHT_LOGICAL, -1, 32, 32, 0},
    {TG_OP_ABS, INT64_MIN, 0, 64, INT64_MIN}, {TG_OP_SIGN, -9, 0, 32, -1}, {TG_OP_XOR, 6, 3, 32, 5},
};

static void test_integers(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(integers); i++) {
        const int64_t x[] = {integers[i].x, integers[i].y};
        const int64_t r = tg_op_find(integers[i].op)->whole(x, integers[i].bits);
        if (r != integers[i].result) fail_msg("row %zu: %lld", i, (long long)r);
    }
    assert_int_equal(tg_wrap(200, 8, true), -56);
    assert_int_equal(tg_wrap(-1, 8, false), 255);
    assert_int_equal(tg_to_whole((double)NAN), 0);
    assert_int_equal(tg_to_whole(1e30), INT64_MAX);
    assert_int_equal(tg_to_whole(-2.9), -2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_broken_plans),      cmocka_unit_test(test_divisions),
        cmocka_unit_test(test_seeds),             cmocka_unit_test(test_padding_is_poison),
        cmocka_unit_test(test_unknown_operation), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_unsuitable),        cmocka_unit_test(test_program_arguments),
        cmocka_unit_test(test_table_is_in_order), cmocka_unit_test(test_rows_and_numbers_agree),
        cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
