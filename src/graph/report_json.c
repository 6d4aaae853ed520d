/* A plan as JSON: what was copied and padded, every operation, where tensors live; or why there is no plan. */
#include "graph/plan.h"
#include "graph/report.h"

enum { REASON = 400 };

/* Nodes of the plan; the graph may have got more since. */
static int64_t count_nodes(const tg_plan_report *r) { return (int64_t)r->plan->problem.nodes.count; }

/* ---- copies, paddings, boundaries ---------------------------------------------------------------- */

static void put_restickify(tg_json *j, const tg_plan_report *r, int64_t i) {
    const tg_restickify copy = tg_graph_plan_restickify(r->plan, i);
    tg_json_open(j, NULL, '{');
    tg_json_node(j, "producer", r->graph, copy.producer);
    tg_json_open(j, "consumers", '[');
    for (int64_t k = copy.first_reader; k < copy.first_reader + copy.nreaders; k++)
        tg_json_node(j, NULL, r->graph, tg_graph_plan_reader(r->plan, k).node);
    tg_json_close(j, ']');
    tg_json_layout(j, "from", r->graph, copy.producer, &copy.from);
    tg_json_layout(j, "to", r->graph, copy.producer, &copy.to);
    tg_json_int(j, "stick_dim", copy.stick_dim);
    tg_json_int(j, "elements", copy.elements);
    tg_json_int(j, "bytes", copy.bytes);
    tg_json_int(j, "times", copy.times);
    tg_json_close(j, '}');
}

static void put_padding(tg_json *j, const tg_plan_report *r, int64_t i) {
    const tg_plan_padding p = tg_graph_plan_padding(r->plan, i);
    tg_json_open(j, NULL, '{');
    tg_json_words(j, "kind", p.mask ? "mask" : "fill");
    tg_json_node(j, "tensor", r->graph, p.tensor);
    tg_json_int(j, "dim", p.dim);
    tg_json_int(j, "valid", p.valid);
    tg_json_int(j, "padded", p.padded);
    tg_json_words(j, "value", tg_pad_value_name(p.value));
    tg_json_node(j, "consumer", r->graph, p.node);
    tg_json_int(j, "consumers", p.nreaders);
    tg_json_close(j, '}');
}

static void put_boundaries(tg_json *j, const tg_plan_report *r) {
    tg_json_open(j, "boundaries", '[');
    for (int64_t i = 0; i < count_nodes(r); i++)
        if (tg_graph_get(r->graph, i).kind == TG_NODE_BOUNDARY) tg_json_node(j, NULL, r->graph, i);
    tg_json_close(j, ']');
}

/* ---- operations -------------------------------------------------------------------------------------- */

static void put_windows(tg_json *j, const tg_node_info *info) {
    if (info->nwindows == 0) return;
    tg_json_open(j, "windows", '[');
    for (int32_t i = 0; i < info->nwindows; i++) {
        const tg_window *w = &info->windows[i];
        tg_json_open(j, NULL, '{');
        tg_json_int(j, "loop", w->loop);
        tg_json_int(j, "size", w->size);
        tg_json_int(j, "stride", w->stride);
        tg_json_int(j, "dilation", w->dilation);
        tg_json_int(j, "base_dilation", w->base_dilation);
        tg_json_int(j, "low", w->low);
        tg_json_int(j, "extent", w->extent);
        tg_json_raw(j, "reversed", w->reversed ? "true" : "false");
        tg_json_close(j, '}');
    }
    tg_json_close(j, ']');
}

/* {"p0":32}: loops that are split. */
static void put_splits(tg_json *j, const char *key, int32_t nloops, const int64_t *splits) {
    tg_json_open(j, key, '{');
    for (int32_t l = 0; l < nloops; l++) {
        char      name[16];
        tg_writer w = tg_writer_make(name, sizeof name);
        tg_put_char(&w, 'p');
        tg_put_int(&w, l);
        (void)tg_writer_end(&w);
        if (splits[l] != 1) tg_json_int(j, name, splits[l]);
    }
    tg_json_close(j, '}');
}

static void put_division(tg_json *j, const tg_plan_report *r, int64_t node) {
    const tg_division d = tg_report_divide(r, node);
    put_splits(j, "splits", d.nloops, d.splits);
    tg_json_int(j, "cores", d.cores);
    tg_json_bool(j, "in_span", d.in_span);
    if (d.tiled) put_splits(j, "tiles", d.nloops, d.tiles);
}

static void put_op(tg_json *j, const tg_plan_report *r, int64_t node) {
    const tg_node_info info = tg_graph_get(r->graph, node);
    const int32_t      stick = tg_graph_plan_stick(r->plan, node);
    tg_spyre           layout;
    tg_json_open(j, NULL, '{');
    tg_json_node(j, "name", r->graph, node);
    tg_json_hlo(j, "opcode", info.opcode);
    tg_json_words(j, "kind", tg_node_kind_name(info.kind));
    if (tg_graph_plan_layout(&layout, r->plan, node)) tg_json_layout(j, "layout", r->graph, node, &layout);
    else tg_json_raw(j, "layout", "null");
    tg_json_number(j, "stick_loop", stick, stick >= 0);
    tg_json_open(j, "loops", '[');
    for (int32_t l = 0; l < info.nloops; l++) tg_json_int(j, NULL, info.ranges[l]);
    tg_json_close(j, ']');
    put_windows(j, &info);
    put_division(j, r, node);
    if (r->arrangements != NULL && r->arrangements[node] != TG_STANDARD)
        tg_json_words(j, "arrangement", tg_arrangement_name(r->arrangements[node]));
    if (info.kind == TG_NODE_BOUNDARY) tg_json_hlo(j, "reason", info.reason);
    tg_json_close(j, '}');
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static void put_residence(tg_json *j, const tg_plan_report *r, int64_t i) {
    const tg_plan_step step = tg_graph_plan_step(r->plan, i);
    const tg_residence at = tg_memory_get(r->memory, i);
    char               reason[REASON];
    (void)tg_memory_why(reason, sizeof reason, r->memory, i);
    tg_json_open(j, NULL, '{');
    tg_json_int(j, "step", i);
    tg_json_words(j, "kind", tg_step_kind_name(step.kind));
    tg_json_node(j, "tensor", r->graph, step.node);
    tg_json_words(j, "home", tg_home_name(at.home));
    tg_json_number(j, "address", at.address, at.address >= 0);
    tg_json_int(j, "bytes", at.bytes);
    tg_json_int(j, "first", at.first);
    tg_json_int(j, "last", at.last);
    tg_json_number(j, "in_place_of", at.in_place_of, at.in_place_of >= 0);
    tg_json_words(j, "why", reason);
    tg_json_close(j, '}');
}

static void put_memory(tg_json *j, const tg_plan_report *r) {
    const tg_memory_summary s = tg_memory_get_summary(r->memory);
    tg_json_open(j, "memory", '{');
    tg_json_int(j, "lx_count", s.lx_count);
    tg_json_int(j, "lx_capacity", s.lx_capacity);
    tg_json_int(j, "lx_peak", s.lx_peak);
    tg_json_int(j, "lx_bytes", s.lx_bytes);
    tg_json_int(j, "saved_bytes", s.saved_bytes);
    tg_json_int(j, "traffic_bytes", s.traffic_bytes);
    tg_json_number(j, "bound_bytes", s.bound_bytes, s.bound_bytes < INT64_MAX);
    tg_json_bool(j, "optimal", s.optimal);
    tg_json_int(j, "pool_count", s.pool_count);
    tg_json_int(j, "pool_peak", s.pool_peak);
    tg_json_int(j, "own_count", s.own_count);
    tg_json_int(j, "own_bytes", s.own_bytes);
    tg_json_int(j, "none_count", s.none_count);
    tg_json_int(j, "none_bytes", s.none_bytes);
    tg_json_open(j, "tensors", '[');
    for (int64_t i = 0; i < tg_graph_plan_step_count(r->plan); i++) put_residence(j, r, i);
    tg_json_close(j, ']');
    tg_json_close(j, '}');
}

/* ---- no plan ------------------------------------------------------------------------------------------- */

/* What an operand cannot do, with every loop and every candidate of its producer. */
static void put_obstacles(tg_json *j, const tg_plan_report *r, int64_t node, int32_t k) {
    const int64_t from = tg_graph_operand(r->graph, node, k);
    int32_t       loops[TG_MAX_LOOPS + 1];
    const int32_t nloops = tg_graph_plan_modes(loops, r->plan, node);
    for (int32_t m = 0; m < nloops; m++)
        for (int64_t i = 0; i < tg_graph_plan_candidate_count(r->plan, from); i++) {
            char           reason[REASON];
            const tg_spyre layout = tg_graph_plan_candidate(r->plan, from, i);
            (void)tg_graph_plan_obstacle(reason, sizeof reason, r->plan, r->graph, node, k, i, loops[m]);
            tg_json_open(j, NULL, '{');
            tg_json_int(j, "operand", k);
            tg_json_node(j, "producer", r->graph, from);
            tg_json_layout(j, "layout", r->graph, from, &layout);
            tg_json_number(j, "stick_loop", loops[m], loops[m] >= 0);
            if (reason[0] != '\0') tg_json_words(j, "reason", reason);
            else tg_json_raw(j, "reason", "null");
            tg_json_close(j, '}');
        }
}

static void put_conflict(tg_json *j, const tg_plan_report *r) {
    tg_json_open(j, "conflict", '[');
    for (int64_t i = 0; i < tg_graph_plan_conflict_count(r->plan); i++) {
        const int64_t      node = tg_graph_plan_conflict(r->plan, i);
        const tg_node_info info = tg_graph_get(r->graph, node);
        tg_json_open(j, NULL, '{');
        tg_json_node(j, "name", r->graph, node);
        tg_json_words(j, "kind", tg_node_kind_name(info.kind));
        tg_json_words(j, "rule", tg_node_kind_rule(info.kind));
        tg_json_open(j, "operands", '[');
        for (int32_t k = 0; k < info.noperands; k++) put_obstacles(j, r, node, k);
        tg_json_close(j, ']');
        tg_json_close(j, '}');
    }
    tg_json_close(j, ']');
    tg_json_bool(j, "feasible_with_restickified_reductions", r->relayed != NULL);
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

/* torch-spyre counts elements: it has a bound in bytes only where the plan is the best. */
static void put_plan(tg_json *j, const tg_plan_report *r, const tg_plan_summary *s) {
    const bool    bytes = tg_graph_plan_params(r->plan).model == TG_MODEL_TEGULA;
    const int64_t bound = bytes ? s->lower_bound : s->optimal ? s->restickify_bytes : 0;
    tg_json_words(j, "model", bytes ? "tegula" : "torch-spyre");
    tg_json_int(j, "restickify_elements", s->restickify_elements);
    tg_json_int(j, "restickify_bytes", s->restickify_bytes);
    tg_json_int(j, "lower_bound_bytes", bound);
    tg_json_bool(j, "optimal", s->optimal);
    tg_json_open(j, "restickifies", '[');
    for (int64_t i = 0; i < s->nrestickifies; i++) put_restickify(j, r, i);
    tg_json_close(j, ']');
    tg_json_open(j, "paddings", '[');
    for (int64_t i = 0; i < s->npaddings; i++) put_padding(j, r, i);
    tg_json_close(j, ']');
    put_boundaries(j, r);
    tg_json_open(j, "ops", '[');
    for (int64_t i = 0; i < count_nodes(r); i++) put_op(j, r, i);
    tg_json_close(j, ']');
    if (r->memory != NULL) put_memory(j, r);
}

size_t tg_plan_report_json(char *buf, size_t cap, const tg_plan_report *report) {
    const tg_plan_summary s = tg_graph_plan_summary(report->plan);
    tg_json               j = {tg_writer_make(buf, cap), false};
    tg_json_open(&j, NULL, '{');
    tg_json_words(&j, "schema", "tegula.plan/1");
    tg_json_bool(&j, "feasible", s.feasible);
    tg_json_hlo(&j, "module", report->module);
    if (s.feasible) put_plan(&j, report, &s);
    else put_conflict(&j, report);
    tg_json_close(&j, '}');
    return tg_writer_end(&j.w);
}
