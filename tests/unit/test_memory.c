/* The verifier of memories can say no: a memory is planned, one thing in it is changed, and the fault is named. What
 * the planner makes is judged by tests/python/test_memory.py. */
#include "graph/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* b, c and d stay in LX, at 0, 2048 and in the place of c; e and f, which is unknown, are in the pool. */
static const char text[] =
    "ENTRY m { a = f16[128,256] parameter(0)\n b = f16[128,256] negate(a)\n c = f16[128,256] negate(b)\n"
    " d = f16[128,256] add(c, b)\n e = f16[128,256] negate(d)\n"
    " f = f16[128,256] custom-call(e), custom_call_target=\"f\"\n"
    " ROOT g = f16[128,256] add(e, f)\n}\n";

enum { A, B, C, D, E, F, G, NO_PARENT = -1 };

typedef struct planned {
    tg_graph      *graph;
    tg_graph_plan *plan;
    tg_memory     *memory;
} planned;

static planned plan_text(void) {
    const tg_memory_params params = {.has_lx_bytes = true, .lx_bytes = 4096};
    planned                p = {NULL, NULL, NULL};
    tg_hlo_module         *m = NULL;
    tg_error               err;
    if (tg_hlo_parse(&m, text, strlen(text), &err) != TG_OK || tg_graph_create(&p.graph, &err) != TG_OK ||
        tg_graph_add_hlo(p.graph, m, &err) != TG_OK || tg_graph_plan_create(&p.plan, p.graph, NULL, &err) != TG_OK ||
        tg_memory_create(&p.memory, p.graph, p.plan, &params, &err) != TG_OK)
        fail_msg("%s", err.message);
    tg_hlo_destroy(&m);
    return p;
}

static void release(planned *p) {
    tg_memory_destroy(&p->memory);
    tg_graph_plan_destroy(&p->plan);
    tg_graph_destroy(&p->graph);
}

static const struct {
    const char  *fault;
    int64_t      step;
    tg_residence change; /* what is not 0 is added */
} changes[] = {
    {"", A, {.address = 0}},
    {"step 2 overlaps: step 1", B, {.address = 2048}},
    {"step 3 is not in the place of: step 2", C, {.address = -2048}},
    {"step 1 is not within the scratchpad", B, {.address = 64}},
    {"step 1 is not within the scratchpad", B, {.address = 4096}},
    {"step 1 is not within the scratchpad", B, {.bytes = 4096}},
    {"step 3 is not in the place of: step 2", D, {.address = -2048}},
    {"step 3 is not in the place of: step 2", D, {.bytes = 128}},
    {"step 3 overlaps: step 2", D, {.in_place_of = NO_PARENT}},
    {"step 1 does not live", B, {.first = 1}},
    {"step 1 does not live", B, {.last = -1}},
    {"step 6 does not live", G, {.last = 1}},
    {"step 5 is not within its segment", F, {.address = 64}},
    {"step 5 is not within its segment", F, {.address = TG_HBM_POOL_BYTES}},
    {"step 5 overlaps: step 4", F, {.address = -65536}},
    {"step 5 has too few bytes", F, {.bytes = -128}},
    {"step 5 is not within its segment", F, {.home = TG_HOME_OWN - TG_HOME_POOL}},
    {"step 5 is on the device, or is not", F, {.home = TG_HOME_HOST - TG_HOME_POOL}},
    {"step 5 has an address without", F, {.home = TG_HOME_NONE - TG_HOME_POOL}},
    {"step 6 overlaps: step 0", G, {.address = -TG_HBM_SEGMENT_BYTES}},
    {"step 6 is not within its segment", G, {.address = 6 * TG_HBM_SEGMENT_BYTES}},
    {"step 2 cannot take the place of: step 1", C, {.in_place_of = B + 1}},
    {"step 5 cannot take the place of: step 4", F, {.in_place_of = E + 1}},
    {"step 4 is not in the place of: step 3", E, {.in_place_of = D + 1}},
    {"step 3 is not in the place of: step 1", D, {.in_place_of = B + 1}},
};

static void change(tg_residence *r, const tg_residence *by) {
    r->home = (tg_home)((int)r->home + (int)by->home);
    r->address += by->address;
    r->bytes += by->bytes;
    r->first += by->first;
    r->last += by->last;
    if (by->in_place_of != 0) r->in_place_of = by->in_place_of == NO_PARENT ? -1 : by->in_place_of - 1;
}

static void test_verifier(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(changes); i++) {
        planned  p = plan_text();
        char     why[200];
        bool     ok = false;
        tg_error err;
        change(&p.memory->rows[changes[i].step], &changes[i].change);
        assert_int_equal(tg_memory_verify(&ok, why, sizeof why, p.memory, &err), TG_OK);
        if (strstr(why, changes[i].fault) == NULL || ok != (changes[i].fault[0] == '\0'))
            fail_msg("row %zu: %s", i, why);
        release(&p);
    }
}

/* Homes that the rules forbid. */
static void test_homes(void **unused) {
    static const struct { int64_t step; const char *fault; } rows[] = {
        {A, "step 0 is not made by a kernel"},  {F, "step 5 is not made by a kernel"},
        {E, "step 4 is read by one that is no kernel: step 5"}, {G, "step 6 is a result"},
    };
    (void)unused;
    for (size_t i = 0; i < COUNT(rows); i++) {
        planned       p = plan_text();
        tg_residence *r = &p.memory->rows[rows[i].step];
        char          why[200];
        bool          ok = true;
        r->home = TG_HOME_LX;
        r->address = 0;
        r->bytes = 2048;
        assert_int_equal(tg_memory_verify(&ok, why, sizeof why, p.memory, NULL), TG_OK);
        if (ok || strstr(why, rows[i].fault) == NULL) fail_msg("row %zu: %s", i, why);
        release(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verifier),
        cmocka_unit_test(test_homes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
