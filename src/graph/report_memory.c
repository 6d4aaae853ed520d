/* Where the tensors of a plan live, as its report says it: the totals, the list, one node. */
#include "graph/report.h"

#include "graph/plan.h"

enum { REASON = 1024 };

/* "dot.3", "copy of dot.3", "filled dot.3". */
static void put_tensor(tg_writer *w, const tg_plan_report *r, const tg_plan_step *step) {
    if (step->kind == TG_STEP_RESTICKIFY) tg_put_text(w, "copy of ");
    if (step->kind == TG_STEP_FILL) tg_put_text(w, "filled ");
    tg_put_node(w, r->graph, step->node);
}

/* "LX 0x200", "HBM pool 0x4000". */
static void put_home(tg_writer *w, const tg_residence *at) {
    static const char *const names[] = {"LX", "HBM pool", "HBM", "no memory of the device", "no place"};
    static const char        hex[] = "0123456789abcdef";
    int32_t                  digits = 1;
    tg_put_text(w, names[at->home]);
    if (at->address < 0) return;
    tg_put_text(w, " 0x");
    while (digits < 16 && at->address >> (4 * digits) > 0) digits++;
    while (digits-- > 0) tg_put_char(w, hex[at->address >> (4 * digits) & 15]);
}

/* ---- totals ---------------------------------------------------------------------------------- */

static void put_proof(tg_writer *w, const tg_memory_summary *s) {
    if (s->bound_bytes == INT64_MAX) {
        tg_put_text(w, ", of a baseline, which proves nothing");
    } else if (s->optimal) {
        tg_put_text(w, "; proven: no placement saves more");
    } else {
        tg_put_text(w, "; no placement saves more than ");
        tg_put_amount(w, s->bound_bytes);
    }
}

static void put_tensors(tg_writer *w, int64_t n) { tg_put_count(w, n, "tensor", "tensors"); }

/* loops: the graph has some, and their bodies are steps that are listed once. */
static void put_lx(tg_writer *w, const tg_memory_summary *s, bool loops) {
    const char *traffic = loops ? " of HBM traffic (each loop's body counted once)" : " of HBM traffic";
    if (s->lx_count == 0) {
        tg_put_text(w, "memory: nothing stays in LX; ");
        tg_put_amount(w, s->traffic_bytes);
        tg_put_text(w, traffic);
        return;
    }
    tg_put_text(w, "memory: ");
    put_tensors(w, s->lx_count);
    tg_put_text(w, " in LX, ");
    tg_put_amount(w, s->lx_bytes);
    tg_put_text(w, "; saves ");
    tg_put_amount(w, s->saved_bytes);
    tg_put_text(w, " of ");
    tg_put_amount(w, s->saved_bytes + s->traffic_bytes);
    tg_put_text(w, traffic);
    put_proof(w, s);
}

void tg_put_memory_total(tg_writer *w, const tg_plan_report *r) {
    const tg_memory_summary s = tg_memory_get_summary(r->memory);
    put_lx(w, &s, tg_graph_loop_count(r->graph) > 0);
    tg_put_text(w, "\n        ");
    put_tensors(w, s.pool_count);
    tg_put_text(w, " in the HBM pool, ");
    tg_put_amount(w, s.pool_peak);
    tg_put_text(w, " at its peak; ");
    put_tensors(w, s.own_count);
    tg_put_text(w, " with memory of their own, ");
    tg_put_amount(w, s.own_bytes);
    tg_put_char(w, '\n');
    if (s.none_count == 0) return;
    tg_put_text(w, "        ");
    put_tensors(w, s.none_count);
    tg_put_text(w, ", ");
    tg_put_amount(w, s.none_bytes);
    tg_put_text(w, ", for which the device has no room\n");
}

/* ---- tensor by tensor ---------------------------------------------------------------------------- */

static void put_residence(tg_writer *w, const tg_plan_report *r, const tg_residence *at) {
    char         reason[REASON];
    const size_t len = tg_memory_why(reason, sizeof reason, r->memory, at->first);
    put_home(w, at);
    if (at->home != TG_HOME_HOST) {
        tg_put_text(w, ", ");
        tg_put_amount(w, at->bytes);
        tg_put_text(w, at->home == TG_HOME_LX ? " a core, steps " : ", steps ");
        tg_put_int(w, at->first);
        tg_put_text(w, " to ");
        tg_put_int(w, at->last);
    }
    tg_put_text(w, ": ");
    tg_put_plain(w, (tg_hlo_text){reason, len < sizeof reason ? len : sizeof reason - 1});
    tg_put_char(w, '\n');
}

void tg_put_memory(tg_writer *w, const tg_plan_report *r) {
    tg_put_text(w, "\nstep\n");
    for (int64_t i = 0; i < tg_graph_plan_step_count(r->plan); i++) {
        const tg_plan_step step = tg_graph_plan_step(r->plan, i);
        const tg_residence at = tg_memory_get(r->memory, i);
        tg_put_column(w, i, 4);
        tg_put_text(w, "  ");
        put_tensor(w, r, &step);
        tg_put_text(w, " in ");
        put_residence(w, r, &at);
    }
}

void tg_put_node_memory(tg_writer *w, const tg_plan_report *r, int64_t node) {
    for (int64_t i = tg_graph_plan_node_step(r->plan, node); i < tg_graph_plan_step_count(r->plan); i++) {
        const tg_plan_step step = tg_graph_plan_step(r->plan, i);
        const tg_residence at = tg_memory_get(r->memory, i);
        if (step.node != node) continue;
        tg_put_text(w, step.kind == TG_STEP_NODE ? "     lives in " : "     copy in ");
        put_residence(w, r, &at);
    }
}
