/* Planning from end to end: candidates, choice, and the list of restickifies that the choice needs. */
#include "graph/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/restickify.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_WIDTH = 200 };
#define DEFAULT_WORK INT64_C(1000000000)

/* ---- choosing ---------------------------------------------------------------------------- */

/* The better of greedy and beam; *cost is TG_INFINITE where both end without a plan. */
static tg_status choose_baseline(uint32_t *modes, int64_t *cost, const tg_problem *p, const tg_uses *uses,
                                 tg_error *err) {
    uint32_t *greedy = calloc(p->nodes.count + 1, sizeof *greedy);
    bool      found_greedy = false, found_beam = false;
    tg_status s = greedy != NULL ? TG_OK : tg_graph_no_memory(err);
    if (s == TG_OK) s = tg_choose_greedy(greedy, &found_greedy, p, uses, err);
    if (s == TG_OK) s = tg_choose_beam(modes, &found_beam, p, uses, p->params.width, err);
    *cost = s == TG_OK && found_beam ? tg_choice_cost(p, uses, modes) : TG_INFINITE;
    const int64_t other = s == TG_OK && found_greedy ? tg_choice_cost(p, uses, greedy) : TG_INFINITE;
    if (other < *cost) {
        memcpy(modes, greedy, p->nodes.count * sizeof *modes);
        *cost = other;
    }
    free(greedy);
    return s;
}

/* What elimination and one bound did not settle: the search starts from the better of greedy and beam. */
static tg_status search_on(tg_solution *found, bool *is_baseline, tg_graph_plan *plan, uint32_t *labels,
                           const tg_network *net, const tg_uses *uses, tg_error *err) {
    const int64_t most = plan->problem.params.max_branches;
    tg_effort     effort = {.branches = most > 0 ? most : INT64_MAX, .work = most > 0 ? 0 : DEFAULT_WORK};
    tg_status     s = choose_baseline(plan->modes, &effort.known, &plan->problem, uses, err);
    if (s != TG_OK) return s;
    if (effort.known == found->bound) found->cost = effort.known;
    else s = tg_network_solve(found, labels, net, &effort, err);
    *is_baseline = found->cost < TG_INFINITE && found->cost == effort.known;
    return s;
}

static tg_status choose_exact(tg_graph_plan *plan, const tg_uses *uses, tg_error *err) {
    const tg_problem *p = &plan->problem;
    const size_t      n = p->nodes.count + 1;
    uint32_t         *var = malloc(n * sizeof *var), *labels = NULL;
    tg_network        net = {.constant = 0};
    tg_solution       found = {0};
    const tg_effort   little = {.branches = 0};
    bool              is_baseline = false;
    tg_status         s = var != NULL ? TG_OK : tg_graph_no_memory(err);
    if (s == TG_OK) s = tg_choice_network(&net, var, p, uses, NULL, err);
    if (s == TG_OK && (labels = calloc(net.nlabels.count + 1, sizeof *labels)) == NULL) s = tg_graph_no_memory(err);
    if (s == TG_OK) s = tg_network_solve(&found, labels, &net, &little, err);
    if (s == TG_OK && found.cost > found.bound) s = search_on(&found, &is_baseline, plan, labels, &net, uses, err);
    for (size_t i = 0; s == TG_OK && !is_baseline && i < p->nodes.count; i++)
        plan->modes[i] = var[i] != TG_NO_VARIABLE ? labels[var[i]] : 0;
    plan->summary.feasible = found.cost < TG_INFINITE;
    plan->summary.lower_bound = found.bound;
    plan->summary.width = found.width;
    plan->summary.branches = found.branches;
    tg_network_free(&net);
    free(var);
    free(labels);
    return s;
}

static tg_status choose(tg_graph_plan *plan, const tg_uses *uses, tg_error *err) {
    const tg_graph_params *params = &plan->problem.params;
    bool                  *found = &plan->summary.feasible;
    if (params->method == TG_METHOD_GREEDY) return tg_choose_greedy(plan->modes, found, &plan->problem, uses, err);
    if (params->method == TG_METHOD_BEAM)
        return tg_choose_beam(plan->modes, found, &plan->problem, uses, params->width, err);
    return choose_exact(plan, uses, err);
}

/* ---- restickifies -------------------------------------------------------------------------- */

static int64_t host_elements(const tg_host *host) {
    int64_t n = 1;
    for (int32_t d = 0; d < host->ndim; d++) n *= host->shape[d];
    return n;
}

static tg_restickify describe(const tg_graph_plan *plan, int64_t node, int8_t form) {
    const tg_problem    *p = &plan->problem;
    const uint32_t       l = tg_chosen_layout(p, plan->modes, node);
    const tg_layout_row *from = &p->layouts.rows[tg_layout_number(p, node, l)];
    const tg_host       *host = &tg_node_at(p->graph, node)->host;
    tg_restickify        r = {.producer = node, .from = from->layout, .elements = from->elements,
                              .bytes = from->bytes, .first_reader = (int64_t)plan->readers.count};
    r.times = tg_node_at(p->graph, node)->times;
    r.to = *tg_copy_layout(p, node, l, form);
    r.stick_dim = form % host->ndim;
    if (p->params.model == TG_MODEL_TORCH_SPYRE) r.elements = host_elements(host);
    return r;
}

static bool add_reader(tg_graph_plan *plan, const tg_use *use) {
    const tg_reader reader = {use->node, (int32_t)use->operand};
    return tg_reader_rows_push(&plan->readers, reader);
}

static bool end_restickify(tg_graph_plan *plan, tg_restickify *r) {
    tg_plan_summary *s = &plan->summary;
    r->nreaders = (int64_t)plan->readers.count - r->first_reader;
    if (!tg_muladd(&s->restickify_elements, s->restickify_elements, r->elements, r->times) ||
        !tg_muladd(&s->restickify_bytes, s->restickify_bytes, r->bytes, r->times))
        return false;
    s->nrestickifies++;
    return tg_restickify_rows_push(&plan->restickifies, *r);
}

/* The copies of one node's result: one for each form, or one for each reader. */
static bool list_copies(tg_graph_plan *plan, const tg_uses *uses, int64_t node, int8_t form, bool shared) {
    const tg_problem *p = &plan->problem;
    const uint32_t    l = tg_chosen_layout(p, plan->modes, node);
    tg_restickify     r = describe(plan, node, form);
    for (uint32_t i = uses->first[node]; i < uses->first[node + 1]; i++) {
        const tg_use *use = &uses->at[i];
        if (tg_need(p, use->node, use->operand, plan->modes[use->node], l) != form) continue;
        if (!add_reader(plan, use)) return false;
        if (!shared && !end_restickify(plan, &r)) return false;
        if (!shared) r = describe(plan, node, form);
    }
    return !shared || end_restickify(plan, &r);
}

static tg_status list_restickifies(tg_graph_plan *plan, const tg_uses *uses, tg_error *err) {
    const bool shared = plan->problem.params.model == TG_MODEL_TEGULA;
    for (int64_t node = 0; node < (int64_t)plan->problem.nodes.count; node++) {
        uint64_t forms;
        (void)tg_copies_needed(&forms, &plan->problem, uses, plan->modes, node);
        for (int8_t f = 0; f < 2 * TG_MAX_NDIM; f++)
            if ((forms >> f & 1) != 0 && !list_copies(plan, uses, node, f, shared)) return tg_graph_no_memory(err);
    }
    plan->summary.cost = shared ? plan->summary.restickify_bytes : plan->summary.restickify_elements;
    return TG_OK;
}

/* ---- the whole -------------------------------------------------------------------------------- */

static tg_status list_conflict(tg_graph_plan *plan, const tg_uses *uses, tg_error *err) {
    const size_t n = plan->problem.nodes.count;
    bool        *active = calloc(n + 1, sizeof *active);
    tg_status    s = active != NULL ? tg_find_conflict(active, &plan->problem, uses, err) : tg_graph_no_memory(err);
    for (size_t i = 0; s == TG_OK && i < n; i++)
        if (active[i] && !tg_int_rows_push(&plan->conflict, (int64_t)i)) s = tg_graph_no_memory(err);
    free(active);
    return s;
}

static void count_boundaries(tg_graph_plan *plan) {
    for (size_t i = 0; i < plan->problem.nodes.count; i++)
        plan->summary.nboundaries += plan->problem.graph->nodes.rows[i].kind == TG_NODE_BOUNDARY;
}

static tg_status make(tg_graph_plan *plan, const tg_uses *uses, tg_error *err) {
    tg_status s = choose(plan, uses, err);
    if (s != TG_OK) return s;
    count_boundaries(plan);
    if (!plan->summary.feasible && plan->problem.params.method == TG_METHOD_EXACT &&
        plan->summary.lower_bound >= TG_INFINITE)
        return list_conflict(plan, uses, err);
    if (!plan->summary.feasible) return TG_OK;
    s = list_restickifies(plan, uses, err);
    if (s == TG_OK && !tg_list_paddings(plan)) s = tg_graph_no_memory(err);
    if (s == TG_OK) s = tg_list_steps(plan, err);
    plan->summary.optimal =
        plan->problem.params.method == TG_METHOD_EXACT && plan->summary.lower_bound == plan->summary.cost;
    return s;
}

static tg_status check_params(tg_graph_params *out, const tg_graph_params *params, tg_error *err) {
    *out = params != NULL ? *params : (tg_graph_params){.width = 0};
    if ((int)out->model < 0 || out->model > TG_MODEL_TORCH_SPYRE || (int)out->method < 0 ||
        out->method > TG_METHOD_BEAM || out->width < 0 || out->max_branches < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "model %d, method %d, width %d or max_branches %d is out of range",
                       (int64_t)out->model, (int64_t)out->method, (int64_t)out->width, out->max_branches);
    if (out->width == 0) out->width = DEFAULT_WIDTH;
    return TG_OK;
}

tg_status tg_graph_plan_create(tg_graph_plan **out, const tg_graph *graph, const tg_graph_params *params,
                               tg_error *err) {
    tg_graph_params checked;
    tg_uses         uses = {NULL, NULL};
    tg_status       s = check_params(&checked, params, err);
    if (s != TG_OK) return s;
    tg_graph_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return tg_graph_no_memory(err);
    s = tg_problem_make(&plan->problem, graph, &checked, err);
    if (s == TG_OK) {
        plan->modes = calloc(graph->nodes.count + 1, sizeof *plan->modes);
        s = plan->modes != NULL && tg_uses_make(&uses, graph) ? make(plan, &uses, err) : tg_graph_no_memory(err);
    }
    tg_uses_free(&uses);
    if (s == TG_OK) *out = plan;
    else tg_graph_plan_destroy(&plan);
    return s;
}

void tg_graph_plan_destroy(tg_graph_plan **plan) {
    tg_graph_plan *p = *plan;
    if (p == NULL) return;
    tg_problem_free(&p->problem);
    free(p->modes);
    free(p->restickifies.rows);
    free(p->readers.rows);
    free(p->paddings.rows);
    free(p->fills);
    free(p->steps.rows);
    free(p->reads.rows);
    free(p->node_steps);
    free(p->conflict.rows);
    free(p);
    *plan = NULL;
}

/* ---- asking -------------------------------------------------------------------------------------- */

tg_plan_summary tg_graph_plan_summary(const tg_graph_plan *plan) { return plan->summary; }
tg_graph_params tg_graph_plan_params(const tg_graph_plan *plan) { return plan->problem.params; }

bool tg_graph_plan_layout(tg_spyre *out, const tg_graph_plan *plan, int64_t node) {
    const tg_problem *p = &plan->problem;
    if (!plan->summary.feasible) return false;
    const uint32_t l = tg_chosen_layout(p, plan->modes, node);
    if (tg_layout_number(p, node, l) == TG_NO_LAYOUT) return false;
    *out = *tg_candidate(p, node, l);
    return true;
}

int32_t tg_graph_plan_stick(const tg_graph_plan *plan, int64_t node) {
    if (!plan->summary.feasible) return TG_NO_LOOP;
    return tg_mode_at(&plan->problem, node, plan->modes[node])->loop;
}

tg_restickify tg_graph_plan_restickify(const tg_graph_plan *plan, int64_t i) { return plan->restickifies.rows[i]; }
tg_reader     tg_graph_plan_reader(const tg_graph_plan *plan, int64_t r) { return plan->readers.rows[r]; }
int64_t       tg_graph_plan_conflict_count(const tg_graph_plan *plan) { return (int64_t)plan->conflict.count; }
int64_t       tg_graph_plan_conflict(const tg_graph_plan *plan, int64_t i) { return plan->conflict.rows[i]; }

int64_t tg_graph_plan_candidate_count(const tg_graph_plan *plan, int64_t node) {
    const bool none = tg_layout_number(&plan->problem, node, 0) == TG_NO_LAYOUT;
    return none ? 0 : (int64_t)tg_choice_at(&plan->problem, node)->nlayouts;
}

tg_spyre tg_graph_plan_candidate(const tg_graph_plan *plan, int64_t node, int64_t i) {
    return *tg_candidate(&plan->problem, node, (uint32_t)i);
}

int32_t tg_graph_plan_modes(int32_t *loops, const tg_graph_plan *plan, int64_t node) {
    const tg_problem *p = &plan->problem;
    int32_t           n = 0;
    for (uint32_t m = 0; m < tg_choice_at(p, node)->nmodes; m++) {
        const int32_t loop = tg_mode_at(p, node, m)->loop;
        bool          listed = false;
        for (int32_t i = 0; i < n; i++) listed = listed || loops[i] == loop;
        if (!listed) loops[n++] = loop;
    }
    return n;
}
