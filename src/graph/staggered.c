/* How elements stand in the sticks of each tensor of a plan. Converting between 2 and 4 bytes on the device leaves them
 * staggered, and they stay so until they are converted back; what meets staggered elements has to be staggered alike,
 * or have the same element in all of a stick. A copy in another layout is not staggered. Source: torch-spyre. */
#include <tegula/rules.h>

#include "base/error.h"
#include "graph/coordinate.h"
#include "graph/plan.h"

#include <stdlib.h>

typedef struct walk {
    const tg_graph      *g;
    const tg_graph_plan *plan;
    tg_arrangement      *out; /* of each node */
    tg_arrangement      *operand;
    bool                *broadcast;
} walk;

/* The operands of a node as it reads them. */
static void look(walk *w, int64_t id, const tg_node_row *n) {
    const tg_problem *p = &w->plan->problem;
    for (uint32_t k = 0; k < n->noperands; k++) {
        const tg_access a = tg_operand_at(w->g, n, k);
        const uint32_t  l = tg_chosen_layout(p, w->plan->modes, a.node);
        tg_stick        stick = {.kind = TG_STICK_NONE};
        const bool      there = tg_layout_number(p, a.node, l) != TG_NO_LAYOUT;
        const bool      copied = there && tg_need(p, id, k, w->plan->modes[id], l) >= 0;
        if (there && !copied) tg_stick_of(&stick, tg_candidate(p, a.node, l), tg_node_ranges(w->g, n), &a);
        w->operand[k] = copied ? TG_STANDARD : w->out[a.node];
        w->broadcast[k] = !copied && stick.kind == TG_STICK_NONE;
    }
}

static bool is_sparse(const walk *w, int64_t id) {
    tg_spyre layout;
    return tg_graph_plan_layout(&layout, w->plan, id) && layout.stride_map[layout.rank - 1] <= 0;
}

static bool convert(tg_arrangement *out, const walk *w, const tg_node_row *n) {
    const int64_t from = w->g->accesses.rows[n->first_operand].node;
    return tg_arrangement_after(out, w->operand[0], tg_node_at(w->g, from)->format, n->format,
                                is_sparse(w, from), NULL) == TG_OK;
}

static bool all_standard(const walk *w, const tg_node_row *n) {
    for (uint32_t k = 0; k < n->noperands; k++)
        if (w->operand[k] != TG_STANDARD) return false;
    return true;
}

/* False if the operands do not go together. */
static bool arrange(tg_arrangement *out, const walk *w, int64_t id, const tg_node_row *n) {
    const tg_hlo_text opcode = {w->g->chars.rows + n->opcode, n->opcode_len};
    *out = TG_STANDARD;
    switch (n->kind) {
    case TG_NODE_INPUT:
        if (n->layout >= 0) *out = w->g->layouts.rows[n->layout].arrangement;
        return true;
    case TG_NODE_STATISTICS: *out = TG_EXX2; return all_standard(w, n);
    case TG_NODE_MATMUL:
    case TG_NODE_CONVOLUTION:
    case TG_NODE_GATHER:
    case TG_NODE_SCATTER: return all_standard(w, n);
    case TG_NODE_NORMALIZE: return w->operand[0] == TG_STANDARD;
    case TG_NODE_CARRY: *out = w->operand[0]; return w->operand[0] == w->operand[1];
    case TG_NODE_POINTWISE:
    case TG_NODE_REDUCE:
    case TG_NODE_SEARCH:
    case TG_NODE_CONCATENATE: break;
    default: return true; /* written from the host, or anew */
    }
    if (tg_hlo_text_is(opcode, "convert") && n->noperands == 1) return convert(out, w, n);
    for (uint32_t k = 0; k < n->noperands; k++)
        if (w->operand[k] != TG_STANDARD && !is_sparse(w, id)) *out = w->operand[k];
    return tg_arrangements_agree((int32_t)n->noperands, w->operand, w->broadcast);
}

static uint32_t most_operands(const tg_graph *g) {
    uint32_t most = 0;
    for (size_t i = 0; i < g->nodes.count; i++)
        if (g->nodes.rows[i].noperands > most) most = g->nodes.rows[i].noperands;
    return most;
}

tg_status tg_graph_plan_arrangements(tg_arrangement *out, int64_t *faults, int64_t *nfaults, const tg_graph *graph,
                                     const tg_graph_plan *plan, tg_error *err) {
    const size_t n = (size_t)most_operands(graph) + 1;
    walk         w = {graph, plan, out, malloc(n * sizeof *w.operand), malloc(n * sizeof *w.broadcast)};
    const bool   memory = w.operand != NULL && w.broadcast != NULL;
    *nfaults = 0;
    for (int64_t id = 0; memory && id < tg_graph_count(graph); id++) {
        const tg_node_row *row = tg_node_at(graph, id);
        out[id] = TG_STANDARD;
        if (!row->on_device) continue;
        look(&w, id, row);
        if (arrange(&out[id], &w, id, row)) continue;
        faults[(*nfaults)++] = id;
        out[id] = TG_STANDARD;
    }
    free(w.operand);
    free(w.broadcast);
    return memory ? TG_OK : tg_graph_no_memory(err);
}
