/* Simulations: every allocation fails once in turn. The call says TG_ERR_NOMEM and loses nothing (the sanitizers of the
 * other build count), and works when memory is back.
 *
 * Linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc against the static library. */
#include <tegula/sim.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

#include "countdown.h"

void *__wrap_malloc(size_t size) { return fails_now() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { return fails_now() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t size) { return fails_now() ? NULL : __real_realloc(p, size); }

/* A copy, a fill, a mask, a start, pieces, an index, a window, a type that only the host has. */
static const char text[] =
    "sum { p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT r = f16[] add(p, q)\n}\n"
    "ENTRY e {\n a = f16[70,100] parameter(0)\n b = f16[70,100] parameter(1)\n i = s32[] parameter(2)\n"
    " t = f16[100,70] transpose(a), dimensions={1,0}\n five = f16[] constant(5)\n none = s32[] constant(0)\n"
    " s = f16[70,100] add(a, b)\n d = f16[70,70] dot(b, t), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    " r = f16[70] reduce(s, five), dimensions={1}, to_apply=sum\n c = f16[140,100] concatenate(a, s), dimensions={0}\n"
    " k = f16[2,100] dynamic-slice(c, i, none), dynamic_slice_sizes={2,100}\n w = f64[2,100] convert(k)\n"
    " v = f16[69,100] reduce-window(a, five), window={size=2x1}, to_apply=sum\n l = f16[3] constant({1, 2, 3})\n"
    " u = f16[100,70] multiply(t, t)\n"
    " ROOT o = (f16[70,70], f16[70], f64[2,100], f16[69,100], f16[3], f16[100,70]) tuple(d, r, w, v, l, u)\n}\n";

typedef struct things {
    tg_graph      *graph;
    tg_program    *program;
    tg_graph_plan *plan;
    tg_sim        *sim, *part;
} things;

/* In a part: the inputs are lent, everything else is forgotten. */
static tg_status run_part(things *t, tg_error *err) {
    static char         zeros[256 * 1024];
    const tg_sim_params params = {.in_parts = true};
    tg_sim_lent         lent[3];
    int64_t             nodes[64], n = 0, nlent = 0;
    bool                there[64] = {false};
    tg_status           s = tg_sim_create(&t->part, t->graph, t->plan, t->program, &params, err);
    for (int64_t id = 0; s == TG_OK && id < tg_graph_count(t->graph); id++) {
        const tg_node_info info = tg_graph_get(t->graph, id);
        bool               ready = tg_sim_can_run(t->part, id, NULL) == TG_OK;
        for (int32_t k = 0; k < info.noperands; k++) ready = ready && there[tg_graph_operand(t->graph, id, k)];
        there[id] = ready || info.kind == TG_NODE_INPUT;
        if (info.kind == TG_NODE_INPUT)
            lent[nlent++] = (tg_sim_lent){.index = id, .made = true, .bare = true, .settles = true, .storage = zeros};
        else if (ready) nodes[n++] = id;
    }
    if (s == TG_OK) assert_true(n > 5);
    if (s == TG_OK) s = tg_sim_run_part(t->part, n, nodes, nlent, lent, err);
    return s;
}

/* The whole way. */
static tg_status run(things *t, const tg_hlo_module *m, tg_error *err) {
    static const uint16_t zeros[70 * 100];
    static double         room[70 * 100];
    const tg_graph_params params = {.model = TG_MODEL_TEGULA};
    tg_sim_difference     d;
    tg_status             s = tg_graph_create(&t->graph, err);
    if (s == TG_OK) s = tg_program_create(&t->program, err);
    if (s == TG_OK) s = tg_program_add_hlo(t->program, t->graph, m, err);
    if (s == TG_OK) s = tg_graph_plan_create(&t->plan, t->graph, &params, err);
    if (s == TG_OK) s = tg_sim_create(&t->sim, t->graph, t->plan, t->program, NULL, err);
    for (int64_t i = 0; s == TG_OK && i < tg_program_ninputs(t->program); i++)
        s = tg_sim_write(t->sim, tg_program_input(t->program, i), zeros, err);
    if (s == TG_OK) s = tg_sim_run(t->sim, err);
    for (int64_t i = 0; s == TG_OK && i < tg_graph_output_count(t->graph); i++) {
        s = tg_sim_read(t->sim, i, room, err);
        if (s == TG_OK) s = tg_sim_check(&d, t->sim, i, err);
        if (s == TG_OK) assert_int_equal(d.lost, 0);
    }
    return s == TG_OK ? run_part(t, err) : s;
}

static void test_each(void **unused) {
    tg_hlo_module *m = NULL;
    int            failed = 0;
    tg_status      s = TG_ERR_NOMEM;
    (void)unused;
    assert_int_equal(tg_hlo_parse(&m, text, strlen(text), NULL), TG_OK);
    for (int n = 0; s != TG_OK; n++) {
        tg_error err = {TG_OK, 0, 0, ""};
        things   t = {NULL, NULL, NULL, NULL, NULL};
        countdown = n;
        made = 0;
        s = run(&t, m, &err);
        countdown = -1;
        tg_sim_destroy(&t.sim);
        tg_sim_destroy(&t.part);
        tg_graph_plan_destroy(&t.plan);
        tg_program_destroy(&t.program);
        tg_graph_destroy(&t.graph);
        if (s == TG_OK) break;
        failed++;
        if (s != TG_ERR_NOMEM || err.status != TG_ERR_NOMEM) fail_msg("allocation %d: %s", n, err.message);
    }
    assert_true(failed > 100);
    tg_hlo_destroy(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
