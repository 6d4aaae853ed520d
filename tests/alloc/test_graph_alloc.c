/* Graphs and plans: every allocation fails once in turn. The call says TG_ERR_NOMEM, makes nothing and loses nothing
 * (the sanitizers of the other build count), and works when memory is back.
 *
 * Linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc against the static library. */
#include <tegula/memory.h>
#include <tegula/sdsc.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
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

/* A loop, a branch, a search, a scatter, and what the user wants of them. */
static const char steered[] =
    "cond { p = (s32[], f16[128,128]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
    " n = s32[] constant(6)\n ROOT t = pred[] compare(i, n), direction=LT\n}\n"
    "body { p = (s32[], f16[128,128]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
    " one = s32[] constant(1)\n j = s32[] add(i, one)\n a = f16[128,128] get-tuple-element(p), index=1\n"
    " t = f16[128,128] transpose(a), dimensions={1,0}\n y = f16[128,128] add(t, a)\n"
    " ROOT n = (s32[], f16[128,128]) tuple(j, y)\n}\n"
    "yes { x = f16[128,128] parameter(0)\n ROOT r = f16[128,128] negate(x)\n}\n"
    "no { x = f16[128,128] parameter(0)\n ROOT r = f16[128,128] abs(x)\n}\n"
    "sum { p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT r = f16[] add(p, q)\n}\n"
    "ENTRY e { a = f16[128,128] parameter(0)\n z = s32[] constant(0)\n i = s32[32,1] parameter(1)\n"
    " s = (s32[], f16[128,128]) tuple(z, a)\n"
    " w = (s32[], f16[128,128]) while(s), condition=cond, body=body\n"
    " b = f16[128,128] get-tuple-element(w), index=1\n"
    " c = f16[128,128] conditional(z, b, a), branch_computations={yes, no}\n"
    " k = (f16[128,8], s32[128,8]) topk(c), k=8, largest=true\n u = f16[32,128] slice(c), slice={[0:32], [0:128]}\n"
    " d = f16[128,128] scatter(c, i, u), update_window_dims={1}, inserted_window_dims={0},\n"
    "   scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum\n"
    " ROOT f = f16[128,128] add(d, c), frontend_attributes={spyre_layout=\"spyre dim_order=[1,0]\","
    "spyre_splits=\"p0=2,p1=2\",spyre_tiles=\"p1=2\"}\n}\n";

/* Copies that are shared, a call, a tuple, a boundary, more operands than a draft has room for. */
static const char good[] =
    "f (v: f16[128,256]) -> (f16[128,256], f16[]) {\n"
    " v = f16[128,256] parameter(0)\n one = f16[] constant(1)\n ROOT t = (f16[128,256], f16[]) tuple(v, one)\n}\n"
    "ENTRY e {\n a = f16[256,128] parameter(0)\n b = (f16[128,256], s32[4]) parameter(1)\n"
    " x = f16[128,256] get-tuple-element(b), index=0\n t = f16[128,256] transpose(a), dimensions={1,0}\n"
    " s = f16[128,256] add(t, x)\n u = f16[128,256] multiply(t, s)\n"
    " c = (f16[128,256], f16[]) call(u), to_apply=f\n w = f16[128,256] get-tuple-element(c), index=0\n"
    " o = f16[128,256] custom-call(w), custom_call_target=\"f\"\n r = f16[32,1024] reshape(t)\n"
    " cat = f16[1280,256] concatenate(x, o, x, o, x, o, x, o, x, o), dimensions={0}\n"
    " ROOT d = f16[128,128] dot(u, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n}\n";

/* A sparse result against a dense one, twice. */
static const char bad[] =
    "min { p = f16[] parameter(0)\n q = f16[] parameter(1)\n ROOT r = f16[] minimum(p, q)\n}\n"
    "ENTRY e {\n a = f16[64,64,64] parameter(0)\n b = f16[64,64] parameter(1)\n z = f16[] constant(0)\n"
    " n = f16[64,64] negate(b)\n m = f16[64,64] reduce(a, z), dimensions={2}, to_apply=min\n"
    " k = f16[64,64] add(n, n)\n ROOT s = f16[64,64] add(m, k)\n}\n";

static tg_hlo_module *parse(const char *text) {
    tg_hlo_module *m = NULL;
    tg_error       err;
    if (tg_hlo_parse(&m, text, strlen(text), &err) != TG_OK) fail_msg("%s", err.message);
    return m;
}

/* The whole way; TG_ERR_NOMEM wherever it ends. */
static tg_status plan_text(const tg_hlo_module *m, tg_method method, bool *feasible, tg_error *err) {
    const tg_graph_params params = {.method = method};
    tg_graph             *g = NULL;
    tg_graph_plan        *plan = NULL;
    tg_memory            *memory = NULL;
    tg_bundle            *bundle = NULL;
    const tg_bundle_params bundle_params = {.division = {.cores = 32}};
    bool                  ok = true;
    tg_status             s = tg_graph_create(&g, err);
    if (s == TG_OK) s = tg_graph_add_hlo(g, m, err);
    if (s == TG_OK) s = tg_graph_plan_create(&plan, g, &params, err);
    if (s == TG_OK) *feasible = tg_graph_plan_summary(plan).feasible;
    if (s == TG_OK && *feasible) s = tg_graph_plan_verify(&ok, NULL, 0, g, plan, err);
    if (s == TG_OK && *feasible) s = tg_bundle_create(&bundle, g, plan, &bundle_params, err);
    assert_true(ok);
    if (s == TG_OK && *feasible) s = tg_memory_create(&memory, g, plan, NULL, err);
    if (s == TG_OK && *feasible) s = tg_memory_verify(&ok, NULL, 0, memory, err);
    assert_true(ok);
    tg_memory_destroy(&memory);
    tg_bundle_destroy(&bundle);
    tg_graph_plan_destroy(&plan);
    tg_graph_destroy(&g);
    return s;
}

static void fail_each(const char *text, tg_method method, bool wanted) {
    tg_hlo_module *m = parse(text);
    int            failed = 0;
    for (int n = 0;; n++) {
        tg_error err = {TG_OK, 0, 0, ""};
        bool     feasible = !wanted;
        countdown = n;
        made = 0;
        const tg_status s = plan_text(m, method, &feasible, &err);
        countdown = -1;
        if (s == TG_OK) {
            assert_int_equal(feasible, wanted);
            assert_true(made <= n);
            break;
        }
        failed++;
        assert_int_equal(s, TG_ERR_NOMEM);
        assert_int_equal(err.status, TG_ERR_NOMEM);
        assert_true(err.message[0] != '\0');
    }
    assert_true(failed > 30);
    tg_hlo_destroy(&m);
}

static void test_exact(void **unused) {
    (void)unused;
    fail_each(good, TG_METHOD_EXACT, true);
    fail_each(steered, TG_METHOD_EXACT, true);
    fail_each(bad, TG_METHOD_EXACT, false);
}

static void test_baselines(void **unused) {
    (void)unused;
    fail_each(good, TG_METHOD_GREEDY, true);
    fail_each(good, TG_METHOD_BEAM, true);
    fail_each(bad, TG_METHOD_BEAM, false);
}

/* Converted to f32 its elements are staggered; so two of them have to become boundaries, one plan after the other. */
static const char staggered[] =
    "ENTRY e { x = bf16[64,128] parameter(0)\n w = f32[128] parameter(1)\n f = f32[64,128] convert(x)\n"
    " b = f32[64,128] broadcast(w), dimensions={1}\n m = f32[64,128] multiply(f, b)\n"
    " ROOT r = f32[64,128] tanh(m)\n}\n";

/* A copy is planned for the device, and its graph stays as it is. */
static tg_status plan_copy(const tg_hlo_module *m, int64_t *boundaries, tg_error *err) {
    const tg_graph_params params = {.width = 0};
    tg_graph             *g = NULL, *copy = NULL;
    tg_graph_plan        *plan = NULL, *own = NULL;
    tg_arrangement        arrangements[16];
    tg_status             s = tg_graph_create(&g, err);
    if (s == TG_OK) s = tg_graph_add_hlo(g, m, err);
    if (s == TG_OK) s = tg_graph_copy(&copy, g, err);
    if (s == TG_OK) s = tg_graph_plan_for_device(&plan, arrangements, copy, &params, err);
    if (s == TG_OK) s = tg_graph_plan_create(&own, g, &params, err);
    if (s == TG_OK) *boundaries = tg_graph_plan_summary(plan).nboundaries;
    if (s == TG_OK) assert_int_equal(tg_graph_plan_summary(own).nboundaries, 0);
    tg_graph_plan_destroy(&plan);
    tg_graph_plan_destroy(&own);
    tg_graph_destroy(&copy);
    tg_graph_destroy(&g);
    return s;
}

static void test_device(void **unused) {
    tg_hlo_module *m = parse(staggered);
    int64_t        boundaries = 0;
    int            failed = 0;
    (void)unused;
    for (int n = 0;; n++, failed++) {
        tg_error err = {TG_OK, 0, 0, ""};
        countdown = n;
        made = 0;
        const tg_status s = plan_copy(m, &boundaries, &err);
        countdown = -1;
        if (s == TG_OK) break;
        assert_int_equal(s, TG_ERR_NOMEM);
        assert_true(err.status == TG_ERR_NOMEM && err.message[0] != '\0');
    }
    assert_int_equal(boundaries, 2);
    assert_true(failed > 30);
    tg_hlo_destroy(&m);
}

/* Five buffers for the place of three, so that they have to be searched. */
static tg_status place_some(tg_error *err) {
    static const int64_t   early[] = {0, 2}, late[] = {1, 3}, last[] = {2, 4}, parents[] = {0};
    const tg_buffer        buffers[] = {{.size = 3, .nuses = 2, .uses = early},
                                        {.size = 3, .nuses = 2, .uses = late},
                                        {.size = 2, .nuses = 2, .uses = last, .nparents = 1, .parents = parents},
                                        {.size = 4, .nuses = 2, .uses = late},
                                        {.size = 4, .nuses = 2, .uses = early}};
    const tg_scratchpad_params params = {.capacity = 8, .alignment = 1};
    tg_placement               out[5];
    tg_scratchpad_summary      summary;
    bool                       ok = true;
    tg_status                  s = tg_scratchpad_place(out, &summary, buffers, 5, &params, err);
    if (s == TG_OK) s = tg_scratchpad_verify(&ok, NULL, 0, out, buffers, 5, &params, err);
    assert_true(ok && (s != TG_OK || (summary.optimal && summary.branches > 0)));
    return s;
}

static void test_scratchpad(void **unused) {
    int failed = 0;
    (void)unused;
    for (int n = 0;; n++, failed++) {
        tg_error err = {TG_OK, 0, 0, ""};
        countdown = n;
        made = 0;
        const tg_status s = place_some(&err);
        countdown = -1;
        if (s == TG_OK) break;
        assert_int_equal(s, TG_ERR_NOMEM);
        assert_true(err.status == TG_ERR_NOMEM && err.message[0] != '\0');
    }
    assert_true(failed > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_baselines),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_scratchpad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
