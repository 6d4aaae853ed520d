/* Planning any HLO text: no crash, plans that the verifier accepts, bounds that hold, and baselines that are no better.
 * And the kernels of these plans: each has a text. */
#include <tegula/memory.h>
#include <tegula/sdsc.h>

#include <stdlib.h>
#include <string.h>

#define CHECK(condition) ((condition) ? (void)0 : abort())

enum { MOST_NODES = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_conflict(const tg_graph *g, const tg_graph_plan *plan) {
    const int64_t n = tg_graph_plan_conflict_count(plan);
    char          reason[256];
    int32_t       loops[TG_MAX_LOOPS + 1];
    for (int64_t i = 0; i < n; i++) {
        const int64_t node = tg_graph_plan_conflict(plan, i);
        CHECK(node >= 0 && node < tg_graph_count(g));
        const int32_t nmodes = tg_graph_plan_modes(loops, plan, node);
        for (int32_t k = 0; k < tg_graph_get(g, node).noperands; k++)
            for (int32_t m = 0; m < nmodes; m++)
                if (tg_graph_plan_candidate_count(plan, tg_graph_operand(g, node, k)) > 0)
                    (void)tg_graph_plan_obstacle(reason, sizeof reason, plan, g, node, k, 0, loops[m]);
    }
}

static void check_division(const tg_graph *g, const tg_graph_plan *plan) {
    const tg_division_params params = {.cores = 7};
    for (int64_t node = 0; node < tg_graph_count(g); node++) {
        tg_division d;
        int64_t     cores = 1;
        CHECK(tg_graph_plan_divide(&d, g, plan, node, &params, NULL) == TG_OK);
        for (int32_t l = 0; l < d.nloops; l++) cores *= d.splits[l];
        CHECK(cores == d.cores && cores >= 1 && cores <= 7);
    }
}

/* Every tensor somewhere, judged again; and what is proven holds. */
static void check_memory(const tg_graph *g, const tg_graph_plan *plan, tg_solver solver) {
    const tg_memory_params params = {.division = {.cores = 5}, .solver = solver, .has_lx_bytes = true,
                                     .lx_bytes = 1 << 14, .pool_bytes = 1 << 20, .max_branches = 100};
    tg_memory             *memory = NULL;
    tg_error               err;
    bool                   ok = false;
    char                   why[256];
    const tg_status        s = tg_memory_create(&memory, g, plan, &params, &err);
    CHECK(s == TG_OK || (s == TG_ERR_OVERFLOW && err.message[0] != '\0'));
    if (s != TG_OK) return;
    CHECK(tg_memory_verify(&ok, why, sizeof why, memory, NULL) == TG_OK && ok);
    const tg_memory_summary sum = tg_memory_get_summary(memory);
    CHECK(sum.saved_bytes <= sum.bound_bytes && sum.optimal == (sum.saved_bytes == sum.bound_bytes));
    for (int64_t i = 0; i < tg_graph_plan_step_count(plan); i++)
        CHECK(tg_memory_why(why, sizeof why, memory, i) > 0);
    tg_memory_destroy(&memory);
}

static void check_text(const tg_bundle *b, int64_t i) {
    size_t need = 0, again = 0;
    CHECK(tg_bundle_format_name(NULL, 0, &need, b, i, NULL) == TG_OK && need > 2);
    const tg_status s = tg_bundle_format_sdsc(NULL, 0, &need, b, i, NULL);
    CHECK(s == TG_OK || s == TG_ERR_OVERFLOW);
    if (s != TG_OK) return;
    char *text = malloc(need + 1); /* exactly sized */
    CHECK(text != NULL && tg_bundle_format_sdsc(text, need + 1, &again, b, i, NULL) == TG_OK && again == need);
    CHECK(strlen(text) == need && text[0] == '{' && text[need - 1] == '}');
    free(text);
}

static void check_kernels(const tg_graph *g, const tg_graph_plan *plan) {
    const tg_bundle_params params = {.division = {.cores = 7}};
    tg_bundle             *b = NULL;
    tg_error               err;
    const tg_status        s = tg_bundle_create(&b, g, plan, &params, &err);
    CHECK(s == TG_OK || ((s == TG_ERR_LIMIT || s == TG_ERR_OVERFLOW) && err.message[0] != '\0'));
    for (int64_t i = 0; s == TG_OK && i < tg_bundle_kernel_count(b); i++) check_text(b, i);
    for (int64_t i = 0; s == TG_OK && i < tg_graph_plan_step_count(plan); i++) {
        const tg_bundle_step step = tg_bundle_get_step(b, i);
        CHECK((step.nkernels > 0) == (step.duty == TG_DUTY_DEVICE));
        CHECK((step.why.len > 0) == (step.duty == TG_DUTY_HOST));
        CHECK((step.address >= 0) == tg_graph_plan_step(plan, i).on_device);
    }
    tg_bundle_destroy(&b);
}

/* The cost; -1 if there is no plan. */
static int64_t plan_cost(const tg_graph *g, tg_model model, tg_method method) {
    const tg_graph_params params = {.model = model, .method = method, .width = 20, .max_branches = 20};
    tg_graph_plan        *plan = NULL;
    tg_error              err;
    bool                  ok = false;
    char                  why[256];
    const tg_status       s = tg_graph_plan_create(&plan, g, &params, &err);
    CHECK(s == TG_OK ||
          ((s == TG_ERR_OVERFLOW || s == TG_ERR_LIMIT || s == TG_ERR_ARGUMENT) && err.message[0] != '\0'));
    if (s != TG_OK) return -1;
    const tg_plan_summary sum = tg_graph_plan_summary(plan);
    if (sum.feasible) {
        CHECK(tg_graph_plan_verify(&ok, why, sizeof why, g, plan, NULL) == TG_OK && ok);
        CHECK(sum.lower_bound <= sum.cost && sum.optimal == (method == TG_METHOD_EXACT && sum.lower_bound == sum.cost));
        if (model == TG_MODEL_TEGULA) check_division(g, plan);
        check_memory(g, plan, (tg_solver)((int)model * 2 + (int)method % 2));
        if (method == TG_METHOD_EXACT) check_kernels(g, plan);
    } else {
        check_conflict(g, plan);
    }
    tg_graph_plan_destroy(&plan);
    return sum.feasible ? (method == TG_METHOD_EXACT ? sum.lower_bound : sum.cost) : -1;
}

static void check_plans(const tg_graph *g) {
    const int64_t bound = plan_cost(g, TG_MODEL_TEGULA, TG_METHOD_EXACT);
    const int64_t greedy = plan_cost(g, TG_MODEL_TEGULA, TG_METHOD_GREEDY);
    const int64_t beam = plan_cost(g, TG_MODEL_TEGULA, TG_METHOD_BEAM);
    CHECK(greedy < 0 || bound <= greedy);
    CHECK(beam < 0 || bound <= beam);
    (void)plan_cost(g, TG_MODEL_TORCH_SPYRE, TG_METHOD_EXACT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tg_hlo_module *m = NULL;
    tg_graph      *g = NULL;
    tg_error       err;
    char          *text = malloc(size + 1); /* exactly sized, so that reading past the end is seen */
    if (text == NULL || tg_graph_create(&g, NULL) != TG_OK) abort();
    memcpy(text, data, size);
    if (tg_hlo_parse(&m, text, size, NULL) == TG_OK) {
        const tg_status s = tg_graph_add_hlo(g, m, &err);
        CHECK(s == TG_OK || (err.status == s && err.message[0] != '\0'));
        if (s == TG_OK && tg_graph_count(g) <= MOST_NODES) check_plans(g);
    }
    tg_graph_destroy(&g);
    tg_hlo_destroy(&m);
    free(text);
    return 0;
}
