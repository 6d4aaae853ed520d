/* The report of `tegula plan`: what is copied, for whom, and why; or why there is no plan. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 20, READERS = 4, CANDIDATES = 4, REASON = 256, REASONS = 40 };

/* ---- the graph --------------------------------------------------------------------------- */

static void print_graph(const plan_view *view) {
    int64_t    count[32] = {0};
    const int64_t n = tg_graph_count(view->graph);
    char       text[64];
    const char *before = "";
    for (int64_t i = 0; i < n; i++) count[tg_graph_get(view->graph, i).kind]++;
    fputs("graph", stdout);
    if (view->module.len > 0) putchar(' ');
    hlo_print(view->module);
    printf(": %s (", hlo_plural(text, n, "node"));
    for (int kind = 0; tg_node_kind_name((tg_node_kind)kind) != NULL; kind++) {
        if (count[kind] == 0) continue;
        printf("%s%lld %s", before, (long long)count[kind], tg_node_kind_name((tg_node_kind)kind));
        before = ", ";
    }
    puts(")");
}

/* What no way to share the work makes short enough. */
static void print_spans(const plan_view *view) {
    for (int64_t i = 0; i < tg_graph_count(view->graph); i++) {
        const tg_division d = plan_divide(view, i);
        if (d.in_span) continue;
        plan_print_node(view, i);
        fputs(": one of its tensors is longer than a core can reach, however the work is shared", stdout);
        for (int32_t l = 0; l < d.nloops; l++)
            if (d.tiles[l] > 1) printf("; p%d in %lld tiles", l, (long long)d.tiles[l]);
        putchar('\n');
    }
}

static void print_padding(const plan_view *view, const tg_plan_padding *p) {
    plan_print_node(view, p->mask ? p->node : p->tensor);
    if (p->mask) printf(": masks what is behind the %lld elements of dimension %d of ", (long long)p->valid, p->dim);
    else printf(": filled with rows of %s behind the %lld of dimension %d, up to %lld, for ",
                tg_pad_value_name(p->value), (long long)p->valid, p->dim, (long long)p->padded);
    plan_print_node(view, p->mask ? p->tensor : p->node);
    if (p->mask) printf(" as %s", tg_pad_value_name(p->value));
    if (p->nreaders > 1) printf(" and %lld more", (long long)p->nreaders - 1);
    putchar('\n');
}

static void print_paddings(const plan_view *view, int64_t limit) {
    const int64_t n = tg_graph_plan_summary(view->plan).npaddings;
    for (int64_t i = 0; i < n && i < limit; i++) {
        const tg_plan_padding p = tg_graph_plan_padding(view->plan, i);
        print_padding(view, &p);
    }
    if (n > limit) printf("and %lld more where sticks are not full\n", (long long)(n - limit));
}

static bool is_boundary(const plan_view *view, int64_t i, tg_hlo_text reason) {
    const tg_node_info info = tg_graph_get(view->graph, i);
    return info.kind == TG_NODE_BOUNDARY && info.reason.len == reason.len &&
           (reason.len == 0 || memcmp(info.reason.chars, reason.chars, reason.len) == 0);
}

/* All boundaries with the reason of node `first`. */
static void print_reason(const plan_view *view, int64_t first, int64_t limit) {
    const tg_hlo_text reason = tg_graph_get(view->graph, first).reason;
    int64_t           n = 0;
    for (int64_t i = first; i < tg_graph_count(view->graph); i++) {
        if (!is_boundary(view, i, reason) || n++ >= limit) continue;
        fputs(n > 1 ? ", " : "  ", stdout);
        plan_print_node(view, i);
        fputs(" (", stdout);
        hlo_print(tg_graph_get(view->graph, i).opcode);
        putchar(')');
    }
    if (n > limit) printf(" and %lld more", (long long)(n - limit));
    if (reason.len > 0) fputs(": ", stdout);
    hlo_print(reason);
    putchar('\n');
}

static void print_boundaries(const plan_view *view, int64_t limit) {
    int64_t first[REASONS]; /* of each reason */
    int     count = 0;
    if (tg_graph_plan_summary(view->plan).nboundaries == 0) return;
    puts("not planned, with default layouts:");
    for (int64_t i = 0; i < tg_graph_count(view->graph) && count < REASONS; i++) {
        if (tg_graph_get(view->graph, i).kind != TG_NODE_BOUNDARY) continue;
        int k = 0;
        while (k < count && !is_boundary(view, i, tg_graph_get(view->graph, first[k]).reason)) k++;
        if (k < count) continue;
        first[count++] = i;
        print_reason(view, i, limit);
    }
    if (count == REASONS) puts("  and more, which --json lists");
}

/* ---- a plan --------------------------------------------------------------------------------- */

static const char *copies(char buf[32], int64_t n) {
    (void)snprintf(buf, 32, "%lld %s", (long long)n, n == 1 ? "copy" : "copies");
    return buf;
}

static const char *amount(char buf[64], const plan_view *view, int64_t cost) {
    char bytes[32];
    if (tg_graph_plan_params(view->plan).model == TG_MODEL_TEGULA)
        (void)snprintf(buf, 64, "%s", cli_human_bytes(bytes, cost));
    else (void)snprintf(buf, 64, "%lld elements", (long long)cost);
    return buf;
}

static void print_total(const plan_view *view) {
    const tg_plan_summary s = tg_graph_plan_summary(view->plan);
    char                  text[32], cost[64], bound[64], gap[64];
    if (s.nrestickifies == 0) {
        puts("plan: every tensor is read as it is; there is nothing to restickify");
        return;
    }
    printf("plan: %s, %s", copies(text, s.nrestickifies), amount(cost, view, s.cost));
    if (s.optimal) puts("; proven: no plan copies less");
    else if (tg_graph_plan_params(view->plan).method != TG_METHOD_EXACT) puts("; of a baseline, which proves nothing");
    else printf("; at least %s are needed, so at most %s too much\n", amount(bound, view, s.lower_bound),
                amount(gap, view, s.cost - s.lower_bound));
}

static void print_readers(const plan_view *view, const tg_restickify *r) {
    fputs("     for  ", stdout);
    for (int64_t i = 0; i < r->nreaders && i < READERS; i++) {
        const tg_reader reader = tg_graph_plan_reader(view->plan, r->first_reader + i);
        if (i > 0) fputs(", ", stdout);
        plan_print_node(view, reader.node);
        printf(" (operand %d)", reader.operand);
    }
    if (r->nreaders > READERS) printf(" and %lld more", (long long)(r->nreaders - READERS));
    putchar('\n');
}

/* Why the first reader needs it; the others need the same. */
static void print_why(const plan_view *view, const tg_restickify *r) {
    const tg_reader    reader = tg_graph_plan_reader(view->plan, r->first_reader);
    const tg_node_info info = tg_graph_get(view->graph, reader.node);
    fputs("     why  ", stdout);
    plan_print_node(view, reader.node);
    printf(" (%s) works with ", tg_node_kind_name(info.kind));
    plan_print_loop(view, reader.node, tg_graph_plan_stick(view->plan, reader.node));
    printf(" in the sticks;\n          for its operand %d that is dimension %d of ", reader.operand, r->stick_dim);
    plan_print_node(view, r->producer);
    printf(".\n          Rule: %s\n", tg_node_kind_rule(info.kind));
}

static void print_copy(const plan_view *view, int64_t i) {
    const tg_restickify r = tg_graph_plan_restickify(view->plan, i);
    char               *from = plan_layout_text(view, r.producer, &r.from);
    char               *to = plan_layout_text(view, r.producer, &r.to);
    char                bytes[32];
    printf("\n%3lld. ", (long long)i + 1);
    plan_print_node(view, r.producer);
    printf(", %s", cli_human_bytes(bytes, r.bytes));
    if (r.times > 1) printf(", %lld times", (long long)r.times);
    printf("\n     from %s\n     to   %s\n", from, to);
    print_readers(view, &r);
    print_why(view, &r);
    free(from);
    free(to);
}

static int show_plan(const plan_view *view) {
    const int64_t n = tg_graph_plan_summary(view->plan).nrestickifies, limit = view->limit >= 0 ? view->limit : ROWS;
    char          text[32];
    print_total(view);
    print_boundaries(view, READERS);
    print_paddings(view, READERS);
    print_spans(view);
    plan_print_memory_total(view);
    for (int64_t i = 0; i < n && i < limit; i++) print_copy(view, i);
    if (n > limit) printf("\nand %s not shown (--limit N shows more)\n", copies(text, n - limit));
    if (view->list_memory) plan_print_memory(view);
    return CLI_OK;
}

/* ---- no plan ----------------------------------------------------------------------------------- */

static void print_candidates(const plan_view *view, int64_t node, int32_t k) {
    const int64_t from = tg_graph_operand(view->graph, node, k);
    const int64_t n = tg_graph_plan_candidate_count(view->plan, from);
    printf("     operand %d is ", k);
    plan_print_node(view, from);
    puts(n == 1 ? ", which has the layout" : ", which can have one of the layouts");
    for (int64_t i = 0; i < n && i < CANDIDATES; i++) {
        const tg_spyre layout = tg_graph_plan_candidate(view->plan, from, i);
        char          *text = plan_layout_text(view, from, &layout);
        printf("       %s\n", text);
        free(text);
    }
    if (n > CANDIDATES) printf("       and %lld more\n", (long long)(n - CANDIDATES));
}

/* What is in the way of an operand with this loop: the reason, if it is there with every candidate. */
static bool is_blocked(char reason[REASON], const plan_view *view, int64_t node, int32_t k, int32_t loop) {
    const int64_t n = tg_graph_plan_candidate_count(view->plan, tg_graph_operand(view->graph, node, k));
    for (int64_t i = 0; i < n; i++)
        if (tg_graph_plan_obstacle(reason, REASON, view->plan, view->graph, node, k, i, loop) == 0) return false;
    return n > 0;
}

static void print_mode(const plan_view *view, int64_t node, int32_t loop) {
    char reason[REASON];
    bool blocked = false;
    fputs("     with ", stdout);
    plan_print_loop(view, node, loop);
    puts(" in the sticks:");
    for (int32_t k = 0; k < tg_graph_get(view->graph, node).noperands; k++) {
        if (!is_blocked(reason, view, node, k, loop)) continue;
        printf("       operand %d: %s\n", k, reason);
        blocked = true;
    }
    if (!blocked) puts("       each operand could, but not together with what else is listed here");
}

static void print_conflict(const plan_view *view, int64_t node) {
    const tg_node_info info = tg_graph_get(view->graph, node);
    int32_t            loops[TG_MAX_LOOPS + 1];
    putchar('\n');
    fputs("  ", stdout);
    plan_print_node(view, node);
    printf(" (%s): %s\n", tg_node_kind_name(info.kind), tg_node_kind_rule(info.kind));
    for (int32_t k = 0; k < info.noperands; k++) print_candidates(view, node, k);
    const int32_t n = tg_graph_plan_modes(loops, view->plan, node);
    for (int32_t i = 0; i < n; i++) print_mode(view, node, loops[i]);
}

static int show_conflict(const plan_view *view) {
    const int64_t n = tg_graph_plan_conflict_count(view->plan);
    char          text[64], cost[64];
    if (n > 0) printf("no plan: %s cannot agree\n", n == 1 ? "1 operation" : hlo_plural(text, n, "operation"));
    else puts("no plan was found, by a baseline that cannot say why");
    for (int64_t i = 0; i < n; i++) print_conflict(view, tg_graph_plan_conflict(view->plan, i));
    if (view->relayed != NULL)
        printf("\nwith --restickify-reductions there is a plan, which copies %s\n",
               amount(cost, view, tg_graph_plan_summary(view->relayed).cost));
    return CLI_INFEASIBLE;
}

int plan_show(const plan_view *view) {
    print_graph(view);
    return tg_graph_plan_summary(view->plan).feasible ? show_plan(view) : show_conflict(view);
}
