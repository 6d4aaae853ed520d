/* The least sum of a network. Elimination alone finds it where the network is narrow enough, which graphs of real
 * models are. What is left otherwise, the core, is searched: a lower bound for it comes from mini-buckets, labels from
 * the same tables, and the variable whose table was split first is tried with each of its labels in turn. The part of
 * the search with the lowest bound goes on, so that the lowest bound of all open parts is one for the whole. */
#include "graph/network.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

enum { EXACT_LIMIT = 1 << 16, BOUND_LIMIT = 1 << 12 };
#define ROOT UINT32_MAX
#define FREE UINT32_MAX

/* A part of the search: its parent's labels, and one more. */
typedef struct part {
    uint32_t parent, var, label; /* ROOT: none */
    uint32_t branch;             /* the variable to go on with */
    int64_t  bound;
} part;

TG_HLO_TABLE(part_rows, part)

typedef struct search {
    const tg_network *core;
    part_rows         parts;
    tg_var_rows       open;   /* parts, a heap by bound */
    uint32_t         *fixed;  /* labels of the part at hand, FREE where there is none */
    uint32_t         *number; /* of a variable in the part's own network */
    uint32_t         *labels, *best_labels;
    int64_t           best;
    size_t            limit; /* entries of a table */
    int64_t           work;
} search;

/* ---- open parts -------------------------------------------------------------------------- */

static bool before(const search *s, uint32_t a, uint32_t b) {
    const int64_t x = s->parts.rows[a].bound, y = s->parts.rows[b].bound;
    return x != y ? x < y : a < b;
}

static bool push_open(search *s, uint32_t id) {
    if (!tg_var_rows_push(&s->open, id)) return false;
    size_t at = s->open.count - 1;
    for (; at > 0 && before(s, id, s->open.rows[(at - 1) / 2]); at = (at - 1) / 2)
        s->open.rows[at] = s->open.rows[(at - 1) / 2];
    s->open.rows[at] = id;
    return true;
}

static uint32_t pop_open(search *s) {
    const uint32_t top = s->open.rows[0], last = s->open.rows[--s->open.count];
    size_t         at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= s->open.count) break;
        if (child + 1 < s->open.count && before(s, s->open.rows[child + 1], s->open.rows[child])) child++;
        if (!before(s, s->open.rows[child], last)) break;
        s->open.rows[at] = s->open.rows[child];
        at = child;
    }
    if (s->open.count > 0) s->open.rows[at] = last;
    return top;
}

/* ---- networks with some labels given --------------------------------------------------------- */

/* Copies a factor, less the variables that are fixed. */
static bool copy_factor(tg_network *out, const tg_network *net, const tg_factor *f, const uint32_t *fixed,
                        const uint32_t *number) {
    uint32_t       scope[TG_MAX_SCOPE], strides[TG_MAX_SCOPE], labels[TG_MAX_SCOPE] = {0}, n = 0, stride = 1;
    uint64_t       from = f->table, to = 0;
    const uint32_t *vars = net->scopes.rows + f->first;
    for (uint32_t k = f->nvars; k-- > 0; stride *= net->nlabels.rows[vars[k]]) {
        if (fixed[vars[k]] != FREE) from += (uint64_t)stride * fixed[vars[k]];
        if (fixed[vars[k]] != FREE) continue;
        scope[n] = number[vars[k]]; /* the last variable comes first */
        strides[n++] = stride;
    }
    if (n == 0) {
        out->constant = tg_cost_add(out->constant, net->costs.rows[from]);
        return true;
    }
    if (!tg_network_add(&to, out, n, scope)) return false;
    for (uint32_t k = 0; k < n;) {
        uint64_t at = from;
        for (uint32_t i = 0; i < n; i++) at += (uint64_t)labels[i] * strides[i];
        out->costs.rows[to++] = net->costs.rows[at];
        for (k = n; k-- > 0 && ++labels[k] == out->nlabels.rows[scope[k]];) labels[k] = 0;
        k = k == UINT32_MAX ? n : 0;
    }
    return true;
}

/* The network that is left when some labels are given; number: of each variable in it. */
static bool condition(tg_network *out, uint32_t *number, const tg_network *net, const uint32_t *fixed) {
    memset(out, 0, sizeof *out);
    out->constant = net->constant;
    for (uint32_t v = 0; v < net->nlabels.count; v++) {
        number[v] = (uint32_t)out->nlabels.count;
        if (fixed[v] == FREE && !tg_var_rows_push(&out->nlabels, net->nlabels.rows[v])) return false;
    }
    for (size_t i = 0; i < net->factors.count; i++)
        if (!copy_factor(out, net, &net->factors.rows[i], fixed, number)) return false;
    return true;
}

/* ---- one part ---------------------------------------------------------------------------------- */

static void fix_labels(search *s, uint32_t id) {
    for (size_t v = 0; v < s->core->nlabels.count; v++) s->fixed[v] = FREE;
    for (; s->parts.rows[id].parent != ROOT; id = s->parts.rows[id].parent)
        s->fixed[s->parts.rows[id].var] = s->parts.rows[id].label;
}

static void take_labels(search *s, const tg_elimination *e, uint32_t *room) {
    tg_substitute_back(room, e);
    for (size_t v = 0; v < s->core->nlabels.count; v++)
        s->labels[v] = s->fixed[v] != FREE ? s->fixed[v] : room[s->number[v]];
    const int64_t cost = tg_network_cost(s->core, s->labels);
    if (cost >= s->best) return;
    s->best = cost;
    memcpy(s->best_labels, s->labels, s->core->nlabels.count * sizeof *s->labels);
}

static uint32_t variable_numbered(const search *s, uint32_t number) {
    uint32_t v = 0;
    while (s->fixed[v] != FREE || s->number[v] != number) v++;
    return v;
}

/* Bound and labels of a part; it stays open if its bound is below the best cost. */
static bool evaluate(search *s, uint32_t id) {
    tg_network     net;
    tg_elimination e;
    fix_labels(s, id);
    bool ok = condition(&net, s->number, s->core, s->fixed);
    if (ok && !tg_eliminate(&e, &net, s->limit, false)) ok = false;
    else if (ok) {
        part     *p = &s->parts.rows[id];
        uint32_t *room = malloc((net.nlabels.count + 1) * sizeof *room);
        if (room != NULL) take_labels(s, &e, room);
        ok = room != NULL;
        free(room);
        p->bound = tg_max(p->bound, e.net.constant);
        s->work += e.work + (int64_t)s->core->costs.count;
        if (ok && e.split >= 0 && p->bound < s->best) {
            p->branch = variable_numbered(s, (uint32_t)e.split);
            ok = push_open(s, id);
        }
        tg_elimination_free(&e);
    }
    tg_network_free(&net);
    return ok;
}

static bool branch(search *s, uint32_t id, int64_t *branches) {
    const part p = s->parts.rows[id];
    for (uint32_t label = 0; label < s->core->nlabels.rows[p.branch]; label++) {
        const part child = {id, p.branch, label, 0, p.bound};
        ++*branches;
        if (!part_rows_push(&s->parts, child) || !evaluate(s, (uint32_t)s->parts.count - 1)) return false;
    }
    return true;
}

static bool run_search(search *s, tg_solution *out, const tg_effort *effort) {
    const part root = {ROOT, 0, 0, 0, 0};
    if (!part_rows_push(&s->parts, root) || !evaluate(s, 0)) return false;
    while (s->open.count > 0 && s->parts.rows[s->open.rows[0]].bound < s->best && out->branches < effort->branches &&
           (effort->work == 0 || s->work < effort->work))
        if (!branch(s, pop_open(s), &out->branches)) return false;
    out->cost = s->best;
    out->bound = s->open.count > 0 ? tg_min(s->best, s->parts.rows[s->open.rows[0]].bound) : s->best;
    return true;
}

static bool search_core(tg_solution *out, uint32_t *labels, const tg_network *core, const tg_effort *effort) {
    const size_t n = core->nlabels.count + 1;
    search       s = {.core = core, .best = effort->known > 0 ? effort->known : TG_INFINITE,
                      .limit = effort->bound > 0 ? effort->bound : BOUND_LIMIT};
    s.fixed = malloc(n * sizeof *s.fixed);
    s.number = malloc(n * sizeof *s.number);
    s.labels = calloc(n, sizeof *s.labels);
    s.best_labels = labels;
    const bool ok = s.fixed != NULL && s.number != NULL && s.labels != NULL && run_search(&s, out, effort);
    free(s.fixed);
    free(s.number);
    free(s.labels);
    free(s.parts.rows);
    free(s.open.rows);
    return ok;
}

/* ---- the whole ----------------------------------------------------------------------------------- */

/* What elimination left, as a network of its own. */
static bool take_core(tg_network *out, uint32_t *number, const tg_elimination *e) {
    memset(out, 0, sizeof *out);
    out->constant = e->net.constant;
    for (uint32_t v = 0; v < e->net.nlabels.count; v++) {
        number[v] = (uint32_t)out->nlabels.count;
        if (!e->gone[v] && !tg_var_rows_push(&out->nlabels, e->net.nlabels.rows[v])) return false;
    }
    for (size_t i = 0; i < e->net.factors.count; i++) {
        const tg_factor *f = &e->net.factors.rows[i];
        uint32_t         scope[TG_MAX_SCOPE];
        uint64_t         to = 0, entries = 1;
        if (e->dead[i]) continue;
        for (uint32_t k = 0; k < f->nvars; k++) {
            scope[k] = number[e->net.scopes.rows[f->first + k]];
            entries *= e->net.nlabels.rows[e->net.scopes.rows[f->first + k]];
        }
        if (!tg_network_add(&to, out, f->nvars, scope)) return false;
        memcpy(out->costs.rows + to, e->net.costs.rows + f->table, entries * sizeof(int64_t));
    }
    return true;
}

static bool solve_core(tg_solution *out, uint32_t *labels, const tg_elimination *e, const tg_effort *effort) {
    const size_t n = e->net.nlabels.count + 1;
    uint32_t    *number = malloc(n * sizeof *number), *chosen = calloc(n, sizeof *chosen);
    tg_network   core;
    bool         ok = number != NULL && chosen != NULL;
    if (ok) {
        ok = take_core(&core, number, e) && search_core(out, chosen, &core, effort);
        tg_network_free(&core);
    }
    for (size_t v = 0; ok && v < e->net.nlabels.count; v++)
        if (!e->gone[v]) labels[v] = chosen[number[v]];
    free(number);
    free(chosen);
    return ok;
}

/* Sums of costs that may be stay far below TG_INFINITE. */
static tg_status check_sums(const tg_network *net, tg_error *err) {
    int64_t sum = net->constant < TG_INFINITE ? net->constant : 0;
    for (size_t i = 0; i < net->factors.count; i++) {
        const tg_factor *f = &net->factors.rows[i];
        int64_t          largest = 0;
        uint64_t         entries = 1;
        for (uint32_t k = 0; k < f->nvars; k++) entries *= net->nlabels.rows[net->scopes.rows[f->first + k]];
        for (uint64_t at = f->table; at < f->table + entries; at++)
            if (net->costs.rows[at] < TG_INFINITE) largest = tg_max(largest, net->costs.rows[at]);
        sum = tg_cost_add(sum, largest);
    }
    return sum < TG_INFINITE ? TG_OK : tg_fail(err, TG_ERR_OVERFLOW, "the cost of a plan may reach 2^61");
}

tg_status tg_network_solve(tg_solution *out, uint32_t *labels, const tg_network *net, const tg_effort *effort,
                           tg_error *err) {
    tg_elimination e;
    tg_solution    found = {0};
    tg_status      s = check_sums(net, err);
    if (s != TG_OK) return s;
    if (!tg_eliminate(&e, net, effort->exact > 0 ? effort->exact : EXACT_LIMIT, true))
        return tg_fail(err, TG_ERR_NOMEM, "there is no memory for the plan");
    found.cost = found.bound = e.net.constant;
    found.width = e.width;
    if (e.buckets.count < net->nlabels.count && !solve_core(&found, labels, &e, effort))
        s = tg_fail(err, TG_ERR_NOMEM, "there is no memory for the plan");
    if (s == TG_OK) tg_substitute_back(labels, &e);
    if (s == TG_OK) *out = found;
    tg_elimination_free(&e);
    return s;
}
