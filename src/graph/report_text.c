/* The report of a plan: what is copied, for whom, and why; or why there is no plan. */
#include "graph/report.h"

#include "graph/model.h"
#include "graph/plan.h"

#include <string.h>

enum { READERS = 4, CANDIDATES = 4, REASON = 256, REASONS = 40, KINDS = 32 };

static void put_node(tg_writer *w, const tg_plan_report *r, int64_t node) { tg_put_node(w, r->graph, node); }

/* Nodes of the plan; the graph may have got more since. */
static int64_t count_nodes(const tg_plan_report *r) { return (int64_t)r->plan->problem.nodes.count; }

static void put_more(tg_writer *w, const char *before, int64_t n, const char *after) {
    tg_put_text(w, before);
    tg_put_int(w, n);
    tg_put_text(w, after);
}

/* ---- the graph --------------------------------------------------------------------------- */

static void put_graph(tg_writer *w, const tg_plan_report *r) {
    int64_t       count[KINDS] = {0};
    const int64_t n = count_nodes(r);
    const char   *before = " (";
    for (int64_t i = 0; i < n; i++) count[tg_node_at(r->graph, i)->kind]++;
    tg_put_text(w, r->module.len > 0 ? "graph " : "graph");
    tg_put_plain(w, r->module);
    tg_put_text(w, ": ");
    tg_put_count(w, n, "node", "nodes");
    for (int kind = 0; tg_node_kind_name((tg_node_kind)kind) != NULL; kind++) {
        if (count[kind] == 0) continue;
        put_more(w, before, count[kind], " ");
        tg_put_text(w, tg_node_kind_name((tg_node_kind)kind));
        before = ", ";
    }
    tg_put_text(w, n > 0 ? ")\n" : "\n");
}

/* What no way to share the work makes short enough. */
static void put_spans(tg_writer *w, const tg_plan_report *r) {
    for (int64_t i = 0; i < count_nodes(r); i++) {
        const tg_division d = tg_report_divide(r, i);
        if (d.in_span) continue;
        put_node(w, r, i);
        tg_put_text(w, ": one of its tensors is longer than a core can reach, however the work is shared");
        for (int32_t l = 0; l < d.nloops; l++) {
            if (d.tiles[l] <= 1) continue;
            put_more(w, "; p", l, " in ");
            put_more(w, "", d.tiles[l], " tiles");
        }
        tg_put_char(w, '\n');
    }
}

static void put_padding(tg_writer *w, const tg_plan_report *r, const tg_plan_padding *p) {
    put_node(w, r, p->mask ? p->node : p->tensor);
    tg_put_text(w, p->mask ? ": masks what is behind the " : ": filled with rows of ");
    if (!p->mask) tg_put_text(w, tg_pad_value_name(p->value));
    put_more(w, p->mask ? "" : " behind the ", p->valid, p->mask ? " elements of dimension " : " of dimension ");
    tg_put_int(w, p->dim);
    if (p->mask) tg_put_text(w, " of ");
    else put_more(w, ", up to ", p->padded, ", for ");
    put_node(w, r, p->mask ? p->tensor : p->node);
    if (p->mask) tg_put_text(w, " as ");
    if (p->mask) tg_put_text(w, tg_pad_value_name(p->value));
    if (p->nreaders > 1) put_more(w, " and ", p->nreaders - 1, " more");
    tg_put_char(w, '\n');
}

static void put_paddings(tg_writer *w, const tg_plan_report *r, int64_t limit) {
    const int64_t n = tg_graph_plan_summary(r->plan).npaddings;
    for (int64_t i = 0; i < n && i < limit; i++) {
        const tg_plan_padding p = tg_graph_plan_padding(r->plan, i);
        put_padding(w, r, &p);
    }
    if (n > limit) put_more(w, "and ", n - limit, " more where sticks are not full\n");
}

/* ---- boundaries -------------------------------------------------------------------------- */

static tg_hlo_text reason_of(const tg_plan_report *r, int64_t node) { return tg_graph_get(r->graph, node).reason; }

static bool is_boundary(const tg_plan_report *r, int64_t i, tg_hlo_text reason) {
    if (tg_node_at(r->graph, i)->kind != TG_NODE_BOUNDARY) return false;
    const tg_hlo_text own = reason_of(r, i);
    return own.len == reason.len && (reason.len == 0 || memcmp(own.chars, reason.chars, reason.len) == 0);
}

/* All boundaries with the reason of node `first`. */
static void put_reason(tg_writer *w, const tg_plan_report *r, int64_t first, int64_t limit) {
    const tg_hlo_text reason = reason_of(r, first);
    int64_t           n = 0;
    for (int64_t i = first; i < count_nodes(r); i++) {
        if (!is_boundary(r, i, reason) || n++ >= limit) continue;
        tg_put_text(w, n > 1 ? ", " : "  ");
        put_node(w, r, i);
        tg_put_text(w, " (");
        tg_put_plain(w, tg_graph_get(r->graph, i).opcode);
        tg_put_char(w, ')');
    }
    if (n > limit) put_more(w, " and ", n - limit, " more");
    if (reason.len > 0) tg_put_text(w, ": ");
    tg_put_plain(w, reason);
    tg_put_char(w, '\n');
}

static void put_boundaries(tg_writer *w, const tg_plan_report *r, int64_t limit) {
    int64_t first[REASONS]; /* of each reason */
    int     count = 0;
    if (tg_graph_plan_summary(r->plan).nboundaries == 0) return;
    tg_put_text(w, "not planned, with default layouts:\n");
    for (int64_t i = 0; i < count_nodes(r) && count < REASONS; i++) {
        if (tg_node_at(r->graph, i)->kind != TG_NODE_BOUNDARY) continue;
        int k = 0;
        while (k < count && !is_boundary(r, i, reason_of(r, first[k]))) k++;
        if (k < count) continue;
        first[count++] = i;
        put_reason(w, r, i, limit);
    }
    if (count == REASONS) tg_put_text(w, "  and more, which --json lists\n");
}

/* ---- a plan --------------------------------------------------------------------------------- */

static void put_copies(tg_writer *w, int64_t n) { tg_put_count(w, n, "copy", "copies"); }

static void put_cost(tg_writer *w, const tg_graph_plan *plan, int64_t cost) {
    if (tg_graph_plan_params(plan).model == TG_MODEL_TEGULA) tg_put_amount(w, cost);
    else put_more(w, "", cost, " elements");
}

static void put_total(tg_writer *w, const tg_plan_report *r) {
    const tg_plan_summary s = tg_graph_plan_summary(r->plan);
    if (s.nrestickifies == 0) {
        tg_put_text(w, "plan: every tensor is read as it is; there is nothing to restickify\n");
        return;
    }
    tg_put_text(w, "plan: ");
    put_copies(w, s.nrestickifies);
    tg_put_text(w, ", ");
    put_cost(w, r->plan, s.cost);
    if (s.optimal) {
        tg_put_text(w, "; proven: no plan copies less\n");
    } else if (tg_graph_plan_params(r->plan).method != TG_METHOD_EXACT) {
        tg_put_text(w, "; of a baseline, which proves nothing\n");
    } else {
        tg_put_text(w, "; at least ");
        put_cost(w, r->plan, s.lower_bound);
        tg_put_text(w, " are needed, so at most ");
        put_cost(w, r->plan, s.cost - s.lower_bound);
        tg_put_text(w, " too much\n");
    }
}

static void put_readers(tg_writer *w, const tg_plan_report *r, const tg_restickify *copy) {
    tg_put_text(w, "     for  ");
    for (int64_t i = 0; i < copy->nreaders && i < READERS; i++) {
        const tg_reader reader = tg_graph_plan_reader(r->plan, copy->first_reader + i);
        if (i > 0) tg_put_text(w, ", ");
        put_node(w, r, reader.node);
        put_more(w, " (operand ", reader.operand, ")");
    }
    if (copy->nreaders > READERS) put_more(w, " and ", copy->nreaders - READERS, " more");
    tg_put_char(w, '\n');
}

/* The host dimension in the sticks of a layout; -1 if there is none: one element a stick. */
static int32_t stick_dim(const tg_host *host, const tg_spyre *layout) {
    const int64_t step = layout->stride_map[layout->rank - 1];
    for (int32_t d = 0; d < host->ndim; d++)
        if (step > 0 && host->strides[d] == step && host->shape[d] > 1) return d;
    return -1;
}

/* Could the tensor have been made with this dimension in its sticks? */
static bool could_have(const tg_plan_report *r, int64_t node, int32_t dim) {
    const tg_host *host = &tg_node_at(r->graph, node)->host;
    for (int64_t i = 0; i < tg_graph_plan_candidate_count(r->plan, node); i++) {
        const tg_spyre layout = tg_graph_plan_candidate(r->plan, node, i);
        if (stick_dim(host, &layout) == dim) return true;
    }
    return false;
}

/* How the tensor is there, and whether that had to be. */
static void put_have(tg_writer *w, const tg_plan_report *r, const tg_restickify *copy) {
    const tg_node_row *n = tg_node_at(r->graph, copy->producer);
    const int32_t      has = stick_dim(&n->host, &copy->from);
    put_node(w, r, copy->producer);
    tg_put_text(w, " (");
    tg_put_text(w, tg_node_kind_name(n->kind));
    tg_put_text(w, n->kind == TG_NODE_INPUT ? ") comes with " : ") is written with ");
    if (has >= 0) put_more(w, "dimension ", has, " in the sticks");
    else tg_put_text(w, "one element a stick");
    if (has == copy->stick_dim || n->kind == TG_NODE_INPUT) {
        tg_put_text(w, ".\n");
        return;
    }
    const bool possible = could_have(r, copy->producer, copy->stick_dim);
    const bool optimal = tg_graph_plan_summary(r->plan).optimal;
    tg_put_text(w, ";\n          ");
    tg_put_text(w, !possible ? "it cannot be" : optimal ? "it is not" : "it could be");
    put_more(w, " with dimension ", copy->stick_dim, " there");
    tg_put_text(w, possible && optimal ? ", where the graph would need as much copying, or more.\n" : ".\n");
}

/* Why the first reader needs it; the others need the same. */
static void put_why(tg_writer *w, const tg_plan_report *r, const tg_restickify *copy) {
    const tg_reader    reader = tg_graph_plan_reader(r->plan, copy->first_reader);
    const tg_node_row *from = tg_node_at(r->graph, copy->producer);
    const tg_node_kind kind = tg_node_at(r->graph, reader.node)->kind;
    tg_put_text(w, "     why  ");
    put_have(w, r, copy);
    tg_put_text(w, "          ");
    put_node(w, r, reader.node);
    tg_put_text(w, " (");
    tg_put_text(w, tg_node_kind_name(kind));
    tg_put_text(w, ") works with ");
    tg_put_loop(w, r->graph, reader.node, tg_graph_plan_stick(r->plan, reader.node));
    put_more(w, " in the sticks;\n          for its operand ", reader.operand, " that is dimension ");
    put_more(w, "", copy->stick_dim, " of ");
    put_node(w, r, copy->producer);
    if (stick_dim(&from->host, &copy->from) == copy->stick_dim)
        tg_put_text(w, ", as it is; but the others have to be in another order");
    tg_put_text(w, ".\n          Rule: ");
    tg_put_text(w, tg_node_kind_rule(kind));
    tg_put_char(w, '\n');
}

static void put_copy(tg_writer *w, const tg_plan_report *r, int64_t i) {
    const tg_restickify copy = tg_graph_plan_restickify(r->plan, i);
    tg_put_char(w, '\n');
    tg_put_column(w, i + 1, 3);
    tg_put_text(w, ". ");
    put_node(w, r, copy.producer);
    tg_put_text(w, ", ");
    tg_put_amount(w, copy.bytes);
    if (copy.times > 1) put_more(w, ", ", copy.times, " times");
    tg_put_text(w, "\n     from ");
    tg_put_layout(w, r->graph, copy.producer, &copy.from);
    tg_put_text(w, "\n     to   ");
    tg_put_layout(w, r->graph, copy.producer, &copy.to);
    tg_put_char(w, '\n');
    put_readers(w, r, &copy);
    put_why(w, r, &copy);
}

static void put_plan(tg_writer *w, const tg_plan_report *r) {
    const int64_t n = tg_graph_plan_summary(r->plan).nrestickifies;
    const int64_t limit = r->has_limit ? r->limit : TG_PLAN_REPORT_COPIES;
    put_total(w, r);
    put_boundaries(w, r, READERS);
    put_paddings(w, r, READERS);
    put_spans(w, r);
    if (r->memory != NULL) tg_put_memory_total(w, r);
    for (int64_t i = 0; i < n && i < limit; i++) put_copy(w, r, i);
    if (n > limit) {
        tg_put_text(w, "\nand ");
        put_copies(w, n - limit);
        tg_put_text(w, " not shown (--limit N shows more)\n");
    }
    if (r->memory != NULL && r->list_memory) tg_put_memory(w, r);
}

/* ---- no plan ----------------------------------------------------------------------------------- */

static void put_candidates(tg_writer *w, const tg_plan_report *r, int64_t node, int32_t k) {
    const int64_t from = tg_graph_operand(r->graph, node, k);
    const int64_t n = tg_graph_plan_candidate_count(r->plan, from);
    put_more(w, "     operand ", k, " is ");
    put_node(w, r, from);
    tg_put_text(w, n == 1 ? ", which has the layout\n" : ", which can have one of the layouts\n");
    for (int64_t i = 0; i < n && i < CANDIDATES; i++) {
        const tg_spyre layout = tg_graph_plan_candidate(r->plan, from, i);
        tg_put_text(w, "       ");
        tg_put_layout(w, r->graph, from, &layout);
        tg_put_char(w, '\n');
    }
    if (n > CANDIDATES) put_more(w, "       and ", n - CANDIDATES, " more\n");
}

/* What is in the way of an operand with this loop: the reason, if it is there with every candidate. */
static bool is_blocked(char reason[REASON], const tg_plan_report *r, int64_t node, int32_t k, int32_t loop) {
    const int64_t n = tg_graph_plan_candidate_count(r->plan, tg_graph_operand(r->graph, node, k));
    for (int64_t i = 0; i < n; i++)
        if (tg_graph_plan_obstacle(reason, REASON, r->plan, r->graph, node, k, i, loop) == 0) return false;
    return n > 0;
}

static void put_mode(tg_writer *w, const tg_plan_report *r, int64_t node, int32_t loop) {
    char reason[REASON];
    bool blocked = false;
    tg_put_text(w, "     with ");
    tg_put_loop(w, r->graph, node, loop);
    tg_put_text(w, " in the sticks:\n");
    for (int32_t k = 0; k < (int32_t)tg_node_at(r->graph, node)->noperands; k++) {
        if (!is_blocked(reason, r, node, k, loop)) continue;
        put_more(w, "       operand ", k, ": ");
        tg_put_text(w, reason);
        tg_put_char(w, '\n');
        blocked = true;
    }
    if (!blocked) tg_put_text(w, "       each operand could, but not together with what else is listed here\n");
}

static void put_rule(tg_writer *w, const tg_plan_report *r, int64_t node) {
    const tg_node_row *n = tg_node_at(r->graph, node);
    tg_put_text(w, "  ");
    put_node(w, r, node);
    tg_put_text(w, " (");
    tg_put_text(w, tg_node_kind_name(n->kind));
    tg_put_text(w, "): ");
    tg_put_text(w, tg_node_kind_rule(n->kind));
    tg_put_char(w, '\n');
}

static void put_ways(tg_writer *w, const tg_plan_report *r, int64_t node) {
    const int32_t noperands = (int32_t)tg_node_at(r->graph, node)->noperands;
    int32_t       loops[TG_MAX_LOOPS + 1];
    for (int32_t k = 0; k < noperands; k++) put_candidates(w, r, node, k);
    const int32_t count = tg_graph_plan_modes(loops, r->plan, node);
    for (int32_t i = 0; i < count; i++) put_mode(w, r, node, loops[i]);
}

/* `whole`: with what stands in the way of each operand. */
static void put_no_plan(tg_writer *w, const tg_plan_report *r, bool whole) {
    const int64_t n = tg_graph_plan_conflict_count(r->plan);
    if (n > 0) {
        tg_put_text(w, "no plan: ");
        tg_put_count(w, n, "operation", "operations");
        tg_put_text(w, " cannot agree\n");
    } else if (tg_graph_plan_params(r->plan).method == TG_METHOD_EXACT) {
        tg_put_text(w, "no plan was found before the search ended; there may be one, which more branches would find\n");
    } else {
        tg_put_text(w, "no plan was found, by a baseline that cannot say why\n");
    }
    for (int64_t i = 0; i < n; i++) {
        if (whole) tg_put_char(w, '\n');
        put_rule(w, r, tg_graph_plan_conflict(r->plan, i));
        if (whole) put_ways(w, r, tg_graph_plan_conflict(r->plan, i));
    }
    if (r->relayed == NULL) return;
    tg_put_text(w, whole ? "\nwith " : "with ");
    tg_put_text(w, r->relay_option != NULL ? r->relay_option : "relay_reductions");
    tg_put_text(w, " there is a plan, which copies ");
    put_cost(w, r->plan, tg_graph_plan_summary(r->relayed).cost);
    tg_put_char(w, '\n');
}

size_t tg_plan_report_text(char *buf, size_t cap, const tg_plan_report *report) {
    tg_writer w = tg_writer_make(buf, cap);
    put_graph(&w, report);
    if (tg_graph_plan_summary(report->plan).feasible) put_plan(&w, report);
    else put_no_plan(&w, report, true);
    return tg_writer_end(&w);
}

size_t tg_plan_report_conflict(char *buf, size_t cap, const tg_plan_report *report) {
    tg_writer w = tg_writer_make(buf, cap);
    if (!tg_graph_plan_summary(report->plan).feasible) put_no_plan(&w, report, false);
    return tg_writer_end(&w);
}
