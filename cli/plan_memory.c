/* Where the tensors of a plan live, as `tegula plan` says it: the totals, the list of --memory, JSON, --explain. */
#include "plan.h"

#include <stdlib.h>

enum { REASON = 400 };

/* "dot.3", "copy of dot.3", "filled dot.3". */
static void print_tensor(const plan_view *view, const tg_plan_step *step) {
    if (step->kind == TG_STEP_RESTICKIFY) fputs("copy of ", stdout);
    if (step->kind == TG_STEP_FILL) fputs("filled ", stdout);
    plan_print_node(view, step->node);
}

/* "LX 0x200", "HBM pool 0x4000". */
static void print_home(const tg_residence *r) {
    static const char *const names[] = {"LX", "HBM pool", "HBM", "no memory of the device", "no place"};
    fputs(names[r->home], stdout);
    if (r->address >= 0) printf(" 0x%llx", (unsigned long long)r->address);
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void print_proof(const tg_memory_summary *s) {
    char bytes[32];
    if (s->bound_bytes == INT64_MAX) fputs(", of a baseline, which proves nothing", stdout);
    else if (s->optimal) fputs("; proven: no placement saves more", stdout);
    else printf("; no placement saves more than %s", cli_human_bytes(bytes, s->bound_bytes));
}

void plan_print_memory_total(const plan_view *view) {
    const tg_memory_summary s = tg_memory_get_summary(view->memory);
    char                    text[64], bytes[32], saved[32], left[32], peak[32];
    if (s.lx_count == 0) {
        printf("memory: nothing stays in LX; %s of HBM traffic", cli_human_bytes(left, s.traffic_bytes));
    } else {
        printf("memory: %s in LX, %s; saves %s of %s of HBM traffic", hlo_plural(text, s.lx_count, "tensor"),
               cli_human_bytes(bytes, s.lx_bytes), cli_human_bytes(saved, s.saved_bytes),
               cli_human_bytes(left, s.saved_bytes + s.traffic_bytes));
        print_proof(&s);
    }
    printf("\n        %s in the HBM pool, %s at its peak", hlo_plural(text, s.pool_count, "tensor"),
           cli_human_bytes(peak, s.pool_peak));
    printf("; %s with memory of their own, %s\n", hlo_plural(text, s.own_count, "tensor"),
           cli_human_bytes(bytes, s.own_bytes));
    if (s.none_count > 0)
        printf("        %s, %s, for which the device has no room\n", hlo_plural(text, s.none_count, "tensor"),
               cli_human_bytes(bytes, s.none_bytes));
}

/* ---- tensor by tensor ---------------------------------------------------------------------------- */

static void print_residence(const plan_view *view, const tg_residence *r) {
    char reason[REASON], bytes[32];
    (void)tg_memory_why(reason, sizeof reason, view->memory, r->first);
    print_home(r);
    if (r->home != TG_HOME_HOST)
        printf(", %s%s, steps %lld to %lld", cli_human_bytes(bytes, r->bytes), r->home == TG_HOME_LX ? " a core" : "",
               (long long)r->first, (long long)r->last);
    printf(": %s\n", reason);
}

void plan_print_memory(const plan_view *view) {
    puts("\nstep");
    for (int64_t i = 0; i < tg_graph_plan_step_count(view->plan); i++) {
        const tg_plan_step step = tg_graph_plan_step(view->plan, i);
        const tg_residence r = tg_memory_get(view->memory, i);
        printf("%4lld  ", (long long)i);
        print_tensor(view, &step);
        fputs(" in ", stdout);
        print_residence(view, &r);
    }
}

/* The result of a node, and the copies of it. */
void plan_explain_memory(const plan_view *view, int64_t node) {
    for (int64_t i = tg_graph_plan_node_step(view->plan, node); i < tg_graph_plan_step_count(view->plan); i++) {
        const tg_plan_step step = tg_graph_plan_step(view->plan, i);
        const tg_residence r = tg_memory_get(view->memory, i);
        if (step.node != node) continue;
        fputs(step.kind == TG_STEP_NODE ? "     lives in " : "     copy in ", stdout);
        print_residence(view, &r);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

static json_t *json_residence(const plan_view *view, int64_t i) {
    const tg_plan_step step = tg_graph_plan_step(view->plan, i);
    const tg_residence r = tg_memory_get(view->memory, i);
    char               reason[REASON];
    json_t            *object = cli_json_object();
    (void)tg_memory_why(reason, sizeof reason, view->memory, i);
    cli_json_put(object, "step", cli_json_int(i));
    cli_json_put(object, "kind", cli_json_text(tg_step_kind_name(step.kind)));
    cli_json_put(object, "tensor", plan_json_node(view, step.node));
    cli_json_put(object, "home", cli_json_text(tg_home_name(r.home)));
    cli_json_put(object, "address", r.address >= 0 ? cli_json_int(r.address) : json_null());
    cli_json_put(object, "bytes", cli_json_int(r.bytes));
    cli_json_put(object, "first", cli_json_int(r.first));
    cli_json_put(object, "last", cli_json_int(r.last));
    cli_json_put(object, "in_place_of", r.in_place_of >= 0 ? cli_json_int(r.in_place_of) : json_null());
    cli_json_put(object, "why", cli_json_text(reason));
    return object;
}

static void put_count(const char *name, int64_t value) { printf("\"%s\":%lld,", name, (long long)value); }

void plan_put_memory(const plan_view *view) {
    const tg_memory_summary s = tg_memory_get_summary(view->memory);
    fputs(",\"memory\":{", stdout);
    put_count("lx_count", s.lx_count);
    put_count("lx_capacity", s.lx_capacity);
    put_count("lx_peak", s.lx_peak);
    put_count("lx_bytes", s.lx_bytes);
    put_count("saved_bytes", s.saved_bytes);
    put_count("traffic_bytes", s.traffic_bytes);
    if (s.bound_bytes < INT64_MAX) put_count("bound_bytes", s.bound_bytes);
    else fputs("\"bound_bytes\":null,", stdout);
    printf("\"optimal\":%s,", s.optimal ? "true" : "false");
    put_count("pool_count", s.pool_count);
    put_count("pool_peak", s.pool_peak);
    put_count("own_count", s.own_count);
    put_count("own_bytes", s.own_bytes);
    put_count("none_count", s.none_count);
    put_count("none_bytes", s.none_bytes);
    fputs("\"tensors\":[", stdout);
    for (int64_t i = 0; i < tg_graph_plan_step_count(view->plan); i++) {
        if (i > 0) putchar(',');
        cli_put_json(stdout, json_residence(view, i));
    }
    fputs("]}", stdout);
}
