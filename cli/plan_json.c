/* The JSON of `tegula plan`. Operations are written one by one: there may be very many. */
#include "plan.h"

#include <stdlib.h>

enum { REASON = 256 };

static json_t *json_layout(const plan_view *view, int64_t node, const tg_spyre *layout) {
    char   *text = plan_layout_text(view, node, layout);
    json_t *value = cli_json_text(text);
    free(text);
    return value;
}

static json_t *json_readers(const plan_view *view, const tg_restickify *r) {
    json_t *list = cli_json_array();
    for (int64_t i = r->first_reader; i < r->first_reader + r->nreaders; i++)
        cli_json_add(list, plan_json_node(view, tg_graph_plan_reader(view->plan, i).node));
    return list;
}

static json_t *json_restickify(const plan_view *view, int64_t i) {
    const tg_restickify r = tg_graph_plan_restickify(view->plan, i);
    json_t             *object = cli_json_object();
    cli_json_put(object, "producer", plan_json_node(view, r.producer));
    cli_json_put(object, "consumers", json_readers(view, &r));
    cli_json_put(object, "from", json_layout(view, r.producer, &r.from));
    cli_json_put(object, "to", json_layout(view, r.producer, &r.to));
    cli_json_put(object, "stick_dim", cli_json_int(r.stick_dim));
    cli_json_put(object, "elements", cli_json_int(r.elements));
    cli_json_put(object, "bytes", cli_json_int(r.bytes));
    cli_json_put(object, "times", cli_json_int(r.times));
    return object;
}

/* {"p0":32}: loops that are split. */
static json_t *json_splits(int32_t nloops, const int64_t *splits) {
    json_t *object = cli_json_object();
    for (int32_t l = 0; l < nloops; l++) {
        char name[16];
        if (splits[l] == 1) continue;
        (void)snprintf(name, sizeof name, "p%d", l);
        cli_json_put(object, name, cli_json_int(splits[l]));
    }
    return object;
}

static json_t *json_op(const plan_view *view, int64_t node) {
    const tg_node_info info = tg_graph_get(view->graph, node);
    const int32_t      stick = tg_graph_plan_stick(view->plan, node);
    const tg_division  d = plan_divide(view, node);
    json_t            *object = cli_json_object();
    tg_spyre           layout;
    cli_json_put(object, "name", plan_json_node(view, node));
    cli_json_put(object, "opcode", hlo_json_text(info.opcode));
    cli_json_put(object, "kind", cli_json_text(tg_node_kind_name(info.kind)));
    cli_json_put(object, "layout", tg_graph_plan_layout(&layout, view->plan, node) ? json_layout(view, node, &layout)
                                                                                : json_null());
    cli_json_put(object, "stick_loop", stick >= 0 ? cli_json_int(stick) : json_null());
    cli_json_put(object, "loops", cli_json_ints(info.ranges, info.nloops));
    cli_json_put(object, "splits", json_splits(d.nloops, d.splits));
    cli_json_put(object, "cores", cli_json_int(d.cores));
    cli_json_put(object, "in_span", d.in_span ? json_true() : json_false());
    if (d.tiled) cli_json_put(object, "tiles", json_splits(d.nloops, d.tiles));
    if (view->arrangements != NULL && view->arrangements[node] != TG_STANDARD)
        cli_json_put(object, "arrangement", cli_json_text(tg_arrangement_name(view->arrangements[node])));
    if (info.kind == TG_NODE_BOUNDARY) cli_json_put(object, "reason", hlo_json_text(info.reason));
    return object;
}

static void put_head(const plan_view *view, const tg_plan_summary *s) {
    const bool    bytes = tg_graph_plan_params(view->plan).model == TG_MODEL_TEGULA;
    const int64_t bound = bytes ? s->lower_bound : s->optimal ? s->restickify_bytes : 0;
    printf("{\"schema\":\"tegula.plan/1\",\"feasible\":%s", s->feasible ? "true" : "false");
    fputs(",\"module\":", stdout);
    cli_put_json(stdout, hlo_json_text(view->module));
    if (!s->feasible) return;
    printf(",\"model\":\"%s\",\"restickify_elements\":%lld,\"restickify_bytes\":%lld,\"lower_bound_bytes\":%lld",
           bytes ? "tegula" : "torch-spyre", (long long)s->restickify_elements, (long long)s->restickify_bytes,
           (long long)bound);
    printf(",\"optimal\":%s,\"restickifies\":[", s->optimal ? "true" : "false");
}

static json_t *json_padding(const plan_view *view, int64_t i) {
    const tg_plan_padding p = tg_graph_plan_padding(view->plan, i);
    json_t               *object = cli_json_object();
    cli_json_put(object, "kind", cli_json_text(p.mask ? "mask" : "fill"));
    cli_json_put(object, "tensor", plan_json_node(view, p.tensor));
    cli_json_put(object, "dim", cli_json_int(p.dim));
    cli_json_put(object, "valid", cli_json_int(p.valid));
    cli_json_put(object, "padded", cli_json_int(p.padded));
    cli_json_put(object, "value", cli_json_text(tg_pad_value_name(p.value)));
    cli_json_put(object, "consumer", plan_json_node(view, p.node));
    cli_json_put(object, "consumers", cli_json_int(p.nreaders));
    return object;
}

static void put_paddings(const plan_view *view) {
    fputs("],\"paddings\":[", stdout);
    for (int64_t i = 0; i < tg_graph_plan_summary(view->plan).npaddings; i++) {
        if (i > 0) putchar(',');
        cli_put_json(stdout, json_padding(view, i));
    }
}

static void put_boundaries(const plan_view *view) {
    bool first = true;
    fputs("],\"boundaries\":[", stdout);
    for (int64_t i = 0; i < tg_graph_count(view->graph); i++) {
        if (tg_graph_get(view->graph, i).kind != TG_NODE_BOUNDARY) continue;
        if (!first) putchar(',');
        cli_put_json(stdout, plan_json_node(view, i));
        first = false;
    }
}

/* What each operand cannot do, with every loop and every candidate of its producer. */
static void add_obstacles(json_t *list, const plan_view *view, int64_t node, int32_t k) {
    const int64_t from = tg_graph_operand(view->graph, node, k);
    int32_t       loops[TG_MAX_LOOPS + 1];
    const int32_t nloops = tg_graph_plan_modes(loops, view->plan, node);
    for (int32_t m = 0; m < nloops; m++)
        for (int64_t i = 0; i < tg_graph_plan_candidate_count(view->plan, from); i++) {
            char           reason[REASON];
            const tg_spyre layout = tg_graph_plan_candidate(view->plan, from, i);
            json_t        *object = cli_json_object();
            (void)tg_graph_plan_obstacle(reason, sizeof reason, view->plan, view->graph, node, k, i, loops[m]);
            cli_json_put(object, "operand", cli_json_int(k));
            cli_json_put(object, "producer", plan_json_node(view, from));
            cli_json_put(object, "layout", json_layout(view, from, &layout));
            cli_json_put(object, "stick_loop", loops[m] >= 0 ? cli_json_int(loops[m]) : json_null());
            cli_json_put(object, "reason", reason[0] != '\0' ? cli_json_text(reason) : json_null());
            cli_json_add(list, object);
        }
}

static json_t *json_conflict(const plan_view *view, int64_t node) {
    const tg_node_info info = tg_graph_get(view->graph, node);
    json_t            *object = cli_json_object(), *list = cli_json_array();
    cli_json_put(object, "name", plan_json_node(view, node));
    cli_json_put(object, "kind", cli_json_text(tg_node_kind_name(info.kind)));
    cli_json_put(object, "rule", cli_json_text(tg_node_kind_rule(info.kind)));
    for (int32_t k = 0; k < info.noperands; k++) add_obstacles(list, view, node, k);
    cli_json_put(object, "operands", list);
    return object;
}

static int put_conflict(const plan_view *view) {
    fputs(",\"conflict\":[", stdout);
    for (int64_t i = 0; i < tg_graph_plan_conflict_count(view->plan); i++) {
        if (i > 0) putchar(',');
        cli_put_json(stdout, json_conflict(view, tg_graph_plan_conflict(view->plan, i)));
    }
    printf("],\"feasible_with_restickified_reductions\":%s}\n", view->relayed != NULL ? "true" : "false");
    return CLI_INFEASIBLE;
}

int plan_put_json(const plan_view *view) {
    const tg_plan_summary s = tg_graph_plan_summary(view->plan);
    bool                  first = true;
    put_head(view, &s);
    if (!s.feasible) return put_conflict(view);
    for (int64_t i = 0; i < s.nrestickifies; i++) {
        if (i > 0) putchar(',');
        cli_put_json(stdout, json_restickify(view, i));
    }
    put_paddings(view);
    put_boundaries(view);
    fputs("],\"ops\":[", stdout);
    for (int64_t i = 0; i < tg_graph_count(view->graph); i++) {
        if (!first) putchar(',');
        cli_put_json(stdout, json_op(view, i));
        first = false;
    }
    putchar(']');
    plan_put_memory(view);
    fputs("}\n", stdout);
    return CLI_OK;
}
