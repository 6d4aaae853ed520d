/* Why a graph has no plan: a smallest set of nodes whose demands cannot be met together.
 *
 * A node that is not looked at takes its operands as they come. The first nodes up to some node t have no plan, those
 * before t have one: so t is in the conflict. Which of the others are is found by halving (QuickXplain): a half is
 * dropped where the rest alone is a conflict. That takes some log(n) plans for each node that remains. */
#include "graph/choose.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

typedef struct hunt {
    const tg_problem *p;
    const tg_uses    *uses;
    bool             *active;
    uint32_t         *list; /* candidates */
    tg_error         *err;
    tg_status         status;
} hunt;

static bool is_conflict(hunt *h) {
    const size_t n = h->p->nodes.count + 1;
    uint32_t    *var = malloc(n * sizeof *var), *labels = NULL;
    tg_network   net = {.constant = 0};
    tg_effort    effort = {.branches = 1000, .work = 50000000}; /* a part of a second */
    tg_solution  found = {0};
    if (var == NULL) h->status = tg_graph_no_memory(h->err);
    if (h->status == TG_OK) h->status = tg_choice_network(&net, var, h->p, h->uses, h->active, h->err);
    if (h->status == TG_OK && (labels = calloc(net.nlabels.count + 1, sizeof *labels)) == NULL)
        h->status = tg_graph_no_memory(h->err);
    if (h->status == TG_OK) h->status = tg_network_solve(&found, labels, &net, &effort, h->err);
    tg_network_free(&net);
    free(var);
    free(labels);
    return h->status == TG_OK && found.bound >= TG_INFINITE;
}

static void activate_first(hunt *h, size_t count) {
    memset(h->active, 0, h->p->nodes.count * sizeof *h->active);
    for (size_t i = 0; i < count; i++) h->active[i] = true;
}

/* The least number of first nodes that are a conflict. pre: all of them are. */
static size_t find_end(hunt *h) {
    size_t low = 0, high = h->p->nodes.count;
    while (high - low > 1 && h->status == TG_OK) {
        const size_t middle = low + (high - low) / 2;
        activate_first(h, middle);
        if (is_conflict(h)) high = middle;
        else low = middle;
    }
    return high;
}

/* Node t and what it comes from. */
static void activate_ancestors(hunt *h, size_t t) {
    const tg_graph *g = h->p->graph;
    memset(h->active, 0, h->p->nodes.count * sizeof *h->active);
    h->active[t] = true;
    for (size_t i = t + 1; i-- > 0;)
        for (uint32_t k = 0; h->active[i] && k < g->nodes.rows[i].noperands; k++)
            h->active[tg_graph_operand(g, (int64_t)i, (int32_t)k)] = true;
}

/* Adds to the active nodes a smallest set of candidates [low, high) that makes them a conflict; how many. `changed`:
 * something was added since it was last known that the active ones are none. */
static size_t reduce(hunt *h, size_t low, size_t high, bool changed) {
    if (h->status != TG_OK || (changed && is_conflict(h))) return 0;
    if (high - low == 1) {
        h->active[h->list[low]] = true;
        return 1;
    }
    const size_t middle = low + (high - low) / 2;
    for (size_t i = low; i < middle; i++) h->active[h->list[i]] = true;
    const size_t behind = reduce(h, middle, high, true);
    for (size_t i = low; i < middle; i++) h->active[h->list[i]] = false;
    return behind + reduce(h, low, middle, behind > 0);
}

static void hunt_down(hunt *h) {
    const size_t t = find_end(h) - 1;
    size_t       count = 0;
    activate_ancestors(h, t);
    if (!is_conflict(h)) activate_first(h, t + 1);
    for (size_t i = 0; i < t; i++)
        if (h->active[i] && h->p->graph->nodes.rows[i].noperands > 0) h->list[count++] = (uint32_t)i;
    memset(h->active, 0, h->p->nodes.count * sizeof *h->active);
    h->active[t] = true;
    if (count > 0) (void)reduce(h, 0, count, true);
}

tg_status tg_find_conflict(bool *active, const tg_problem *p, const tg_uses *uses, tg_error *err) {
    hunt h = {p, uses, active, malloc((p->nodes.count + 1) * sizeof *h.list), err, TG_OK};
    if (h.list == NULL) return tg_graph_no_memory(err);
    size_t i = 0;
    while (i < p->nodes.count && p->nodes.rows[i].nmodes > 0) i++;
    if (i < p->nodes.count) active[i] = true; /* a node with no way to work is a conflict by itself */
    else hunt_down(&h);
    free(h.list);
    return h.status;
}
