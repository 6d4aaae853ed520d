/* Formulas, indices that are refused, and simulations in parts: on a graph of a few nodes, whose storage is written
 * down by hand. f32[5,40] in sticks of 32 is storage [2,5,32]: element i,j at j / 32 * 160 + i * 32 + j % 32. */
#include <tegula/graph_ops.h>
#include <tegula/sim.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 5, COLUMNS = 40, STORAGE = 2 * ROWS * 32 };

typedef struct bench {
    tg_graph      *graph;
    tg_program    *program;
    tg_graph_plan *plan;
    tg_sim        *sim;
    tg_error       err;
    int64_t        x, scaled, mean, back; /* input; 2 x + 1; its mean over columns; scaled - mean */
} bench;

static tg_host host_of(tg_dtype dtype, int32_t ndim, int64_t rows, int64_t columns) {
    tg_host       host;
    const int64_t shape[] = {rows, columns};
    assert_int_equal(tg_host_contiguous(&host, dtype, ndim, shape, NULL), TG_OK);
    return host;
}

static void must(bench *b, tg_status s) {
    if (s != TG_OK) fail_msg("%s", b->err.message);
}

static void set(bench *b, int64_t node, tg_op op, int32_t nsteps, const tg_formula_step *steps) {
    const tg_compute c = {.op = op, .nsteps = nsteps, .steps = steps};
    must(b, tg_program_set(b->program, node, &c, &b->err));
}

static void make(bench *b, tg_dtype dtype) {
    const tg_formula_step twice[] = {{TG_OP_MULTIPLY, {0, TG_NUMBER, 0}, {0, 2, 0}},
                                     {TG_OP_ADD, {1, TG_NUMBER, 0}, {0, 1, 0}}};
    const tg_formula_step mean[] = {{TG_OP_DIVIDE, {0, TG_NUMBER, 0}, {0, COLUMNS, 0}}};
    const tg_graph_params params = {.model = TG_MODEL_TEGULA};
    const tg_host         host = host_of(dtype, 2, ROWS, COLUMNS);
    const int32_t         dim = 1;
    tg_node               node = {.kind = TG_NODE_POINTWISE, .host = {.dtype = dtype, .ndim = -1}};
    memset(b, 0, sizeof *b);
    must(b, tg_graph_create(&b->graph, &b->err));
    must(b, tg_program_create(&b->program, &b->err));
    must(b, tg_graph_add_input(&b->x, b->graph, (tg_hlo_text){"x", 1}, &host, NULL, &b->err));
    tg_operand operand[] = {tg_graph_whole(b->graph, b->x), tg_graph_whole(b->graph, b->x)};
    must(b, tg_graph_add_pointwise(&b->scaled, b->graph, &node, 1, operand, &b->err));
    operand[0] = tg_graph_whole(b->graph, b->scaled);
    node.kind = TG_NODE_REDUCE;
    must(b, tg_graph_add_reduce(&b->mean, b->graph, &node, operand, 1, &dim, true, &b->err));
    operand[1] = tg_graph_whole(b->graph, b->mean);
    node.kind = TG_NODE_POINTWISE;
    must(b, tg_graph_add_pointwise(&b->back, b->graph, &node, 2, operand, &b->err));
    set(b, b->scaled, TG_OP_FORMULA, 2, twice);
    set(b, b->mean, TG_OP_REDUCE, 1, mean);
    set(b, b->back, TG_OP_SUBTRACT, 0, NULL);
    must(b, tg_graph_plan_create(&b->plan, b->graph, &params, &b->err));
}

static void clear(bench *b) {
    tg_sim_destroy(&b->sim);
    tg_graph_plan_destroy(&b->plan);
    tg_program_destroy(&b->program);
    tg_graph_destroy(&b->graph);
}

static void in_parts(bench *b, int64_t nleft_out) {
    static const int64_t first[] = {0};
    const tg_sim_params  params = {.in_parts = true, .nleft_out = nleft_out, .left_out = first};
    must(b, tg_sim_create(&b->sim, b->graph, b->plan, b->program, &params, &b->err));
}

static int place(int i, int j) { return j / 32 * 32 * ROWS + i * 32 + j % 32; }

static float number(int i, int j) { return (float)(i * 8 + j) / 16; }

/* What is behind the end of the rows is 0. */
static void write_storage(float *x) {
    memset(x, 0, STORAGE * sizeof *x);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) x[place(i, j)] = number(i, j);
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static void check_numbers(const float *scaled, const float *back) {
    for (int i = 0; i < ROWS; i++) {
        double mean = 0;
        for (int j = 0; j < COLUMNS; j++) mean += 2 * (double)number(i, j) + 1;
        for (int j = 0; j < COLUMNS; j++) {
            const double want = 2 * (double)number(i, j) + 1;
            assert_true((double)scaled[i * COLUMNS + j] == want);
            assert_true(fabs((double)back[i * COLUMNS + j] - (want - mean / COLUMNS)) < 1e-5);
        }
    }
}

static void test_formulas(void **unused) {
    float             x[ROWS * COLUMNS], scaled[ROWS * COLUMNS], back[ROWS * COLUMNS];
    tg_sim_difference d;
    bench             b;
    (void)unused;
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = number(i / COLUMNS, i % COLUMNS);
    make(&b, TG_F32);
    must(&b, tg_sim_create(&b.sim, b.graph, b.plan, b.program, NULL, &b.err));
    assert_int_equal(tg_sim_read_node(b.sim, b.back, back, &b.err), TG_ERR_ARGUMENT);
    must(&b, tg_sim_write(b.sim, b.x, x, &b.err));
    must(&b, tg_sim_run(b.sim, &b.err));
    must(&b, tg_sim_read_node(b.sim, b.scaled, scaled, &b.err));
    must(&b, tg_sim_read_node(b.sim, b.back, back, &b.err));
    check_numbers(scaled, back);
    must(&b, tg_sim_check_node(&d, b.sim, b.back, &b.err));
    assert_true(d.elements == ROWS * COLUMNS && d.lost == 0 && d.largest < 1e-5 && d.scale > 1);
    assert_int_equal(tg_sim_read_node(b.sim, 4, back, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_check_node(&d, b.sim, -1, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_run_part(b.sim, 0, NULL, 0, NULL, &b.err), TG_ERR_ARGUMENT);
    clear(&b);
}

static const struct {
    const char     *name;
    tg_op           op;
    int32_t         nsteps;
    tg_formula_step step;
    tg_status       status;
} unsuitable[] = {
    {"no steps", TG_OP_FORMULA, 0, {TG_OP_ADD, {0, 0, 0}, {0, 0, 0}}, TG_ERR_ARGUMENT},
    {"a value that is none", TG_OP_FORMULA, 1, {TG_OP_ADD, {0, 2, 0}, {0, 0, 0}}, TG_ERR_ARGUMENT},
    {"its own result", TG_OP_FORMULA, 1, {TG_OP_ABS, {1, 0, 0}, {0, 0, 0}}, TG_ERR_ARGUMENT},
    {"a value below 0", TG_OP_FORMULA, 1, {TG_OP_ABS, {-2, 0, 0}, {0, 0, 0}}, TG_ERR_ARGUMENT},
    {"not for floats", TG_OP_FORMULA, 1, {TG_OP_SHIFT_LEFT, {0, 0, 0}, {0, 0, 0}}, TG_ERR_ARGUMENT},
};

static void test_unsuitable(void **unused) {
    const tg_formula_step sum = {TG_OP_REDUCE, {0, 0, 0}, {0, 0, 0}};
    tg_compute            c = {.op = TG_OP_FORMULA, .nsteps = 1, .steps = &sum};
    bench                 b;
    (void)unused;
    make(&b, TG_F32);
    for (size_t i = 0; i < sizeof unsuitable / sizeof unsuitable[0]; i++) {
        set(&b, b.scaled, unsuitable[i].op, unsuitable[i].nsteps, &unsuitable[i].step);
        const tg_status s = tg_sim_create(&b.sim, b.graph, b.plan, b.program, NULL, &b.err);
        if (s != unsuitable[i].status) fail_msg("%s: %d", unsuitable[i].name, (int)s);
    }
    assert_int_equal(tg_program_set(b.program, b.scaled, &c, &b.err), TG_ERR_ARGUMENT);
    c.nsteps = TG_MAX_STEPS + 1;
    assert_int_equal(tg_program_set(b.program, b.scaled, &c, &b.err), TG_ERR_ARGUMENT);
    clear(&b);
}

/* ---- parts ----------------------------------------------------------------------------------------- */

/* Two parts give what the whole does; what is between them has its padding. */
static void test_parts(void **unused) {
    float         x[STORAGE], scaled[STORAGE], back[STORAGE], dense[2][ROWS * COLUMNS];
    const int64_t first[] = {1}, second[] = {2, 3};
    bench         b;
    (void)unused;
    make(&b, TG_F32);
    in_parts(&b, 0);
    write_storage(x);
    tg_sim_lent one[] = {{.index = b.x, .made = true, .storage = x}, {.index = b.scaled, .storage = scaled}};
    tg_sim_lent two[] = {{.index = b.scaled, .made = true, .storage = scaled}, {.index = b.back, .storage = back}};
    must(&b, tg_sim_run_part(b.sim, 1, first, 2, one, &b.err));
    assert_true(scaled[place(0, 63)] == 1); /* 2 * 0 + 1: an operation works on the padding, too */
    must(&b, tg_sim_run_part(b.sim, 2, second, 2, two, &b.err));
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        dense[0][i] = scaled[place(i / COLUMNS, i % COLUMNS)];
        dense[1][i] = back[place(i / COLUMNS, i % COLUMNS)];
    }
    check_numbers(dense[0], dense[1]);
    one[0].bare = true; /* whatever lies there */
    must(&b, tg_sim_run_part(b.sim, 1, first, 2, one, &b.err));
    assert_true(isnan(scaled[place(0, 63)]) && scaled[place(0, 39)] == 2 * number(0, 39) + 1);
    clear(&b);
}

/* The mean masks what is behind the end; without the mask it is poison. */
static void test_left_out(void **unused) {
    float         x[STORAGE], back[STORAGE];
    const int64_t all[] = {1, 2, 3};
    (void)unused;
    for (int64_t left_out = 0; left_out < 2; left_out++) {
        bench b;
        make(&b, TG_F32);
        in_parts(&b, left_out);
        write_storage(x);
        const tg_sim_lent lent[] = {{.index = b.x, .made = true, .bare = true, .storage = x},
                                    {.index = b.back, .storage = back}};
        must(&b, tg_sim_run_part(b.sim, 3, all, 2, lent, &b.err));
        assert_int_equal(isnan(back[0]) != 0, left_out);
        clear(&b);
    }
}

/* The one code for infinity and NaN: a number of the format, or none. */
static void test_one_code(void **unused) {
    uint16_t      x[STORAGE], scaled[STORAGE];
    const int64_t first[] = {1};
    (void)unused;
    for (int settles = 0; settles < 2; settles++) {
        bench b;
        make(&b, TG_F16);
        in_parts(&b, 0);
        memset(x, 0, sizeof x);
        x[0] = 0xFFFF;
        const tg_sim_lent lent[] = {
            {.index = b.x, .made = true, .bare = true, .settles = settles != 0, .storage = x},
            {.index = b.scaled, .storage = scaled}};
        must(&b, tg_sim_run_part(b.sim, 1, first, 2, lent, &b.err));
        /* twice the largest number is beyond all of them, and becomes the largest again */
        assert_int_equal(scaled[0] & 0x7FFF, settles ? 0x7FFE : 0x7FFF);
        assert_int_equal(scaled[1], 31 << 9); /* 1 */
        set(&b, b.scaled, TG_OP_COPY, 0, NULL);
        must(&b, tg_sim_run_part(b.sim, 1, first, 2, lent, &b.err));
        assert_int_equal(scaled[0], settles ? 0xFFFE : 0xFFFF);
        assert_int_equal(scaled[63], 0x7FFF);
        clear(&b);
    }
}

static void test_wrong_parts(void **unused) {
    float         x[STORAGE], back[STORAGE];
    const int64_t all[] = {1, 2, 3}, backwards[] = {2, 1}, input[] = {0}, none[] = {4}, last[] = {3};
    bench         b;
    (void)unused;
    make(&b, TG_F32);
    in_parts(&b, 0);
    write_storage(x);
    const tg_sim_lent lent[] = {{.index = b.x, .made = true, .storage = x}, {.index = b.back, .storage = back}};
    const tg_sim_lent wrong[] = {{.index = 4, .storage = x}, {.index = 0, .copy = true, .storage = x}, {.index = 0}};
    assert_int_equal(tg_sim_can_run(b.sim, b.x, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_can_run(b.sim, b.back, &b.err), TG_OK);
    assert_int_equal(tg_sim_run_part(b.sim, 2, backwards, 2, lent, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_run_part(b.sim, 1, input, 2, lent, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_run_part(b.sim, 1, none, 2, lent, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_run_part(b.sim, 1, last, 2, lent, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_run_part(b.sim, 3, all, 0, NULL, &b.err), TG_ERR_ARGUMENT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(tg_sim_run_part(b.sim, 3, all, 1, &wrong[i], &b.err), TG_ERR_ARGUMENT);
    const tg_sim_lent twice[] = {lent[0], {.index = b.scaled, .made = true, .storage = back}};
    assert_int_equal(tg_sim_run_part(b.sim, 3, all, 2, twice, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_write(b.sim, b.x, x, &b.err), TG_ERR_ARGUMENT);
    assert_int_equal(tg_sim_run(b.sim, &b.err), TG_ERR_ARGUMENT);
    must(&b, tg_sim_run_part(b.sim, 3, all, 2, lent, &b.err)); /* nothing of that is left */
    const tg_compute nothing = {.op = TG_OP_NONE};
    must(&b, tg_program_set(b.program, b.scaled, &nothing, &b.err));
    assert_int_equal(tg_sim_can_run(b.sim, b.scaled, &b.err), TG_ERR_UNSUPPORTED);
    assert_int_equal(tg_sim_run_part(b.sim, 3, all, 2, lent, &b.err), TG_ERR_UNSUPPORTED);
    clear(&b);
}

/* ---- indices ---------------------------------------------------------------------------------------- */

/* Row numbers and what a rule makes of them: the row that is picked, or an error. */
static const struct { tg_index_rule rule; int32_t number; int row; } picks[] = {
    {TG_INDEX_CLAMP, 3, 3}, {TG_INDEX_CLAMP, -1, 0}, {TG_INDEX_CLAMP, 9, 4}, {TG_INDEX_STRICT, 4, 4},
    {TG_INDEX_STRICT, 5, -1}, {TG_INDEX_STRICT, -1, -1}, {TG_INDEX_WRAP, -1, 4}, {TG_INDEX_WRAP, -5, 0},
    {TG_INDEX_WRAP, -6, -1}, {TG_INDEX_WRAP, 5, -1},
};

static void test_indices(void **unused) {
    const tg_graph_params params = {.model = TG_MODEL_TEGULA};
    const tg_host         table = host_of(TG_F32, 2, ROWS, COLUMNS), places = host_of(TG_S32, 1, 1, 1);
    const int64_t         ranges[] = {1, COLUMNS};
    const tg_term         rows[] = {{TG_LOOP_UNKNOWN, COLUMNS, 0, ROWS}, {1, 1, 0, 0}}, which[] = {{0, 1, 0, 0}},
                          result[] = {{0, COLUMNS, 0, 0}, {1, 1, 0, 0}};
    float x[ROWS * COLUMNS], out[COLUMNS];
    (void)unused;
    for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)i;
    for (size_t i = 0; i < sizeof picks / sizeof picks[0]; i++) {
        bench           b = {.x = 0};
        const tg_access operands[] = {{0, 0, 2, rows}, {1, 0, 1, which}};
        const tg_node   node = {.kind = TG_NODE_GATHER, .host = host_of(TG_F32, 2, 1, COLUMNS), .nloops = 2,
                                .ranges = ranges, .noperands = 2, .operands = operands, .result = {0, 0, 2, result}};
        const tg_index   index = {0, COLUMNS, ROWS - 1, {1, 0, 1, which}, picks[i].rule};
        const tg_compute c = {.op = TG_OP_COPY, .nindices = 1, .indices = &index};
        int64_t          id = 0;
        must(&b, tg_graph_create(&b.graph, &b.err));
        must(&b, tg_program_create(&b.program, &b.err));
        must(&b, tg_graph_add_input(&id, b.graph, (tg_hlo_text){"t", 1}, &table, NULL, &b.err));
        must(&b, tg_graph_add_input(&id, b.graph, (tg_hlo_text){"i", 1}, &places, NULL, &b.err));
        must(&b, tg_graph_add(&id, b.graph, &node, &b.err));
        must(&b, tg_program_set(b.program, id, &c, &b.err));
        must(&b, tg_graph_plan_create(&b.plan, b.graph, &params, &b.err));
        must(&b, tg_sim_create(&b.sim, b.graph, b.plan, b.program, NULL, &b.err));
        must(&b, tg_sim_write(b.sim, 0, x, &b.err));
        must(&b, tg_sim_write(b.sim, 1, &picks[i].number, &b.err));
        const tg_status s = tg_sim_run(b.sim, &b.err);
        assert_int_equal(s, picks[i].row < 0 ? TG_ERR_ARGUMENT : TG_OK);
        if (s == TG_OK) {
            tg_sim_difference d;
            must(&b, tg_sim_read_node(b.sim, id, out, &b.err));
            assert_true(out[7] == x[picks[i].row * COLUMNS + 7]);
            must(&b, tg_sim_check_node(&d, b.sim, id, &b.err));
            assert_true(d.largest == 0 && d.lost == 0);
        }
        clear(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),    cmocka_unit_test(test_unsuitable), cmocka_unit_test(test_parts),
        cmocka_unit_test(test_left_out),    cmocka_unit_test(test_one_code),   cmocka_unit_test(test_wrong_parts),
        cmocka_unit_test(test_indices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
