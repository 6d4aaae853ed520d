/* Where the tensors of a plan live, as `tegula plan` says it: the totals, the list of --memory, --explain. */
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
