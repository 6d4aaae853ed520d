/* Elimination of variables: dynamic programming over a tree decomposition that is found as it goes.
 *
 * To eliminate x, all factors that have x are added up into one table over x and their other variables, and x is
 * minimised out:
 *     f(x,y) + g(x,z)   becomes   h(y,z) = min over x of f(x,y) + g(x,z)
 * Costs stay what they are; the best label of x is found again when y and z are known. The variable whose table is the
 * smallest goes first, which makes no table larger than two variables where the network is a tree.
 *
 * A table that would be too large is split: min(f + g) >= min f + min g, each over its own variables. What comes out is
 * then a lower bound (mini-buckets). */
#include "graph/network.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 64 };
#define NO_CELL UINT32_MAX
#define LAST UINT64_MAX

/* Factors of a variable are lists of cells. */
typedef struct cell {
    uint32_t factor, next;
} cell;

typedef struct entry {
    uint64_t key; /* entries of the table that eliminating the variable makes */
    uint32_t var;
} entry;

TG_HLO_TABLE(cell_rows, cell)
TG_HLO_TABLE(entry_rows, entry)

typedef struct run {
    tg_elimination *e;
    tg_network     *net;
    size_t          limit;
    bool            stop;
    uint32_t       *head;   /* cells, of each variable */
    uint32_t       *count;  /* cells in the list, dead ones included */
    uint64_t       *key;    /* the one that counts, of those on the heap */
    uint32_t       *mark;   /* by which `stamp` a variable was seen */
    uint32_t        stamp;
    cell_rows       cells;
    entry_rows      heap;
    tg_var_rows     bucket; /* factors of the variable at hand */
    tg_var_rows     group;
    tg_var_rows     strides;
    tg_cost_rows    places; /* of factors in their tables, while a table is made */
} run;

/* ---- heap: least key first, then least variable ------------------------------------------ */

static bool before(entry a, entry b) { return a.key != b.key ? a.key < b.key : a.var < b.var; }

static bool heap_push(run *r, entry e) {
    if (!entry_rows_push(&r->heap, e)) return false;
    size_t at = r->heap.count - 1;
    for (; at > 0 && before(e, r->heap.rows[(at - 1) / 2]); at = (at - 1) / 2)
        r->heap.rows[at] = r->heap.rows[(at - 1) / 2];
    r->heap.rows[at] = e;
    return true;
}

static entry heap_pop(run *r) {
    const entry top = r->heap.rows[0], last = r->heap.rows[--r->heap.count];
    size_t      at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= r->heap.count) break;
        if (child + 1 < r->heap.count && before(r->heap.rows[child + 1], r->heap.rows[child])) child++;
        if (!before(r->heap.rows[child], last)) break;
        r->heap.rows[at] = r->heap.rows[child];
        at = child;
    }
    if (r->heap.count > 0) r->heap.rows[at] = last;
    return top;
}

/* ---- lists of factors ------------------------------------------------------------------------ */

static const uint32_t *scope_of(const run *r, const tg_factor *f) { return r->net->scopes.rows + f->first; }

/* Cells of dead factors are dropped from the variable's list; the others go to `out`. */
static bool collect(run *r, tg_var_rows *out, uint32_t var) {
    uint32_t *link = &r->head[var];
    out->count = 0;
    r->count[var] = 0;
    while (*link != NO_CELL) {
        cell *c = &r->cells.rows[*link];
        if (r->e->dead[c->factor]) {
            *link = c->next;
            continue;
        }
        if (!tg_var_rows_push(out, c->factor)) return false;
        r->count[var]++;
        link = &c->next;
    }
    return true;
}

static bool attach(run *r, uint32_t factor) {
    const tg_factor *f = &r->net->factors.rows[factor];
    for (uint32_t i = 0; i < f->nvars; i++) {
        const uint32_t var = scope_of(r, f)[i];
        const cell     c = {factor, r->head[var]};
        if (!cell_rows_push(&r->cells, c)) return false;
        r->head[var] = (uint32_t)r->cells.count - 1;
        r->count[var]++;
    }
    return true;
}

/* Entries of the table over all variables of these factors; LAST if beyond 2^40 or over too many variables. */
static uint64_t table_size(run *r, const tg_var_rows *factors) {
    uint64_t size = 1;
    uint32_t nvars = 0;
    r->stamp++;
    for (size_t i = 0; i < factors->count; i++) {
        const tg_factor *f = &r->net->factors.rows[factors->rows[i]];
        r->e->work += f->nvars;
        for (uint32_t k = 0; k < f->nvars; k++) {
            const uint32_t v = scope_of(r, f)[k];
            if (r->mark[v] == r->stamp) continue;
            r->mark[v] = r->stamp;
            size *= r->net->nlabels.rows[v];
            if (size >> 40 != 0 || ++nvars > TG_MAX_SCOPE) return LAST;
        }
    }
    return size;
}

/* Variables with very many factors are looked at when no small table is left, and no sooner: their key is limit + 1,
 * which no other has. */
static bool refresh(run *r, uint32_t var, bool exactly) {
    uint64_t key = r->limit + 1;
    if (exactly || r->count[var] <= MANY) {
        if (!collect(r, &r->group, var)) return false;
        key = table_size(r, &r->group);
        if (key > r->limit && key < r->limit + 2) key = r->limit + 2;
        if (key == LAST) key = LAST - 1; /* LAST itself marks those that are to be refreshed */
    }
    r->key[var] = key;
    return heap_push(r, (entry){key, var});
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* The variables of a group but x. */
static uint32_t union_scope(run *r, uint32_t out[TG_MAX_SCOPE], uint32_t x) {
    uint32_t n = 0;
    r->stamp++;
    r->mark[x] = r->stamp;
    for (size_t i = 0; i < r->group.count; i++) {
        const tg_factor *f = &r->net->factors.rows[r->group.rows[i]];
        for (uint32_t k = 0; k < f->nvars; k++) {
            const uint32_t v = scope_of(r, f)[k];
            if (r->mark[v] == r->stamp) continue;
            r->mark[v] = r->stamp;
            out[n++] = v;
        }
    }
    return n;
}

/* How far a factor's place moves when variable v steps. */
static uint32_t stride_in(const run *r, const tg_factor *f, uint32_t v) {
    uint32_t stride = 1;
    for (uint32_t k = f->nvars; k-- > 0;) {
        if (scope_of(r, f)[k] == v) return stride;
        stride *= r->net->nlabels.rows[scope_of(r, f)[k]];
    }
    return 0;
}

/* strides: for each factor of the group, those of the scope's variables, then that of x. */
static bool find_strides(run *r, const uint32_t *scope, uint32_t n, uint32_t x) {
    r->strides.count = r->places.count = 0;
    if (!tg_var_rows_reserve(&r->strides, r->group.count * (n + 1)) ||
        !tg_cost_rows_reserve(&r->places, r->group.count))
        return false;
    for (size_t i = 0; i < r->group.count; i++) {
        const tg_factor *f = &r->net->factors.rows[r->group.rows[i]];
        r->places.rows[r->places.count++] = (int64_t)f->table;
        for (uint32_t k = 0; k < n; k++) r->strides.rows[r->strides.count++] = stride_in(r, f, scope[k]);
        r->strides.rows[r->strides.count++] = stride_in(r, f, x);
    }
    return true;
}

/* The least sum of the group over the labels of x, at the places where its factors stand. */
static int64_t least(const run *r, uint32_t n, uint32_t x) {
    int64_t best = TG_INFINITE;
    for (uint32_t label = 0; label < r->net->nlabels.rows[x]; label++) {
        int64_t sum = 0;
        for (size_t i = 0; i < r->group.count && sum < best; i++) {
            const uint64_t at = (uint64_t)r->places.rows[i] + (uint64_t)label * r->strides.rows[i * (n + 1) + n];
            sum = tg_cost_add(sum, r->net->costs.rows[at]);
        }
        if (sum < best) best = sum;
    }
    return best;
}

/* The next labels of the scope, the last variable fastest; false after the last ones. */
static bool step(run *r, uint32_t *labels, const uint32_t *scope, uint32_t n) {
    for (uint32_t k = n; k-- > 0;) {
        const uint32_t count = r->net->nlabels.rows[scope[k]];
        const bool     carry = ++labels[k] == count;
        const int64_t  steps = carry ? 1 - (int64_t)count : 1;
        if (carry) labels[k] = 0;
        for (size_t i = 0; i < r->group.count; i++)
            r->places.rows[i] += steps * (int64_t)r->strides.rows[i * (n + 1) + k];
        if (!carry) return true;
    }
    return false;
}

/* The group's factors become one without x. */
static bool minimise_out(run *r, uint32_t x) {
    uint32_t       scope[TG_MAX_SCOPE], labels[TG_MAX_SCOPE] = {0};
    uint64_t       table = 0;
    const uint32_t n = union_scope(r, scope, x);
    if (n + 1 > r->e->width) r->e->width = n + 1;
    if (n == 0) {
        if (!find_strides(r, scope, 0, x)) return false;
        r->net->constant = tg_cost_add(r->net->constant, least(r, 0, x));
        return true;
    }
    const size_t cap = r->net->factors.cap;
    if (!tg_network_add(&table, r->net, n, scope) || !find_strides(r, scope, n, x)) return false;
    if (r->net->factors.cap != cap) {
        bool *dead = realloc(r->e->dead, r->net->factors.cap * sizeof *dead);
        if (dead == NULL) return false;
        r->e->dead = dead;
    }
    r->e->dead[r->net->factors.count - 1] = false;
    do {
        r->net->costs.rows[table++] = least(r, n, x);
        r->e->work += (int64_t)(r->group.count * r->net->nlabels.rows[x]);
    } while (step(r, labels, scope, n));
    return attach(r, (uint32_t)r->net->factors.count - 1);
}

/* ---- buckets --------------------------------------------------------------------------------------- */

/* The table of a group, whose variables are marked. */
typedef struct group_table {
    uint64_t size; /* LAST: too large */
    uint32_t nvars;
} group_table;

/* With one more factor; its variables are marked, the new ones listed. */
static group_table join(run *r, group_table table, const tg_factor *f, uint32_t *added, uint32_t *nadded) {
    *nadded = 0;
    r->e->work += f->nvars;
    for (uint32_t k = 0; k < f->nvars; k++) {
        const uint32_t v = scope_of(r, f)[k];
        if (r->mark[v] == r->stamp) continue;
        r->mark[v] = r->stamp;
        added[(*nadded)++] = v;
        if (table.size != LAST) table.size *= r->net->nlabels.rows[v];
        if (table.size >> 40 != 0 || ++table.nvars > TG_MAX_SCOPE) table.size = LAST;
    }
    return table;
}

/* Moves factors from the bucket to the group as long as their table stays within the limit; the first one always. */
static bool fill_group(run *r) {
    size_t      left = 0;
    group_table table = {1, 0};
    r->group.count = 0;
    r->stamp++;
    for (size_t i = 0; i < r->bucket.count; i++) {
        const uint32_t    factor = r->bucket.rows[i];
        uint32_t          added[TG_MAX_SCOPE], nadded;
        const group_table joined = join(r, table, &r->net->factors.rows[factor], added, &nadded);
        if (r->group.count > 0 && joined.size > r->limit) {
            for (uint32_t k = 0; k < nadded; k++) r->mark[added[k]] = r->stamp - 1;
            r->bucket.rows[left++] = factor;
            continue;
        }
        table = joined;
        if (!tg_var_rows_push(&r->group, factor)) return false;
    }
    r->bucket.count = left;
    return true;
}

static bool keep_bucket(run *r, uint32_t var) {
    const tg_bucket b = {var, (uint32_t)r->e->members.count, (uint32_t)r->bucket.count};
    for (size_t i = 0; i < r->bucket.count; i++) {
        if (!tg_var_rows_push(&r->e->members, r->bucket.rows[i])) return false;
        r->e->dead[r->bucket.rows[i]] = true;
    }
    return tg_bucket_rows_push(&r->e->buckets, b);
}

static bool refresh_neighbours(run *r, const tg_bucket *b) {
    const uint32_t first = b->first, end = b->first + b->nfactors;
    for (uint32_t i = first; i < end; i++) {
        const tg_factor f = r->net->factors.rows[r->e->members.rows[i]];
        for (uint32_t k = 0; k < f.nvars; k++) {
            const uint32_t v = r->net->scopes.rows[f.first + k];
            if (r->e->gone[v] || r->key[v] == LAST) continue;
            r->key[v] = LAST; /* once is enough */
        }
    }
    for (uint32_t i = first; i < end; i++) {
        const tg_factor f = r->net->factors.rows[r->e->members.rows[i]];
        for (uint32_t k = 0; k < f.nvars; k++) {
            const uint32_t v = r->net->scopes.rows[f.first + k];
            if (!r->e->gone[v] && r->key[v] == LAST && !refresh(r, v, false)) return false;
        }
    }
    return true;
}

static bool eliminate_one(run *r, uint32_t var) {
    if (!collect(r, &r->bucket, var) || !keep_bucket(r, var)) return false;
    r->e->gone[var] = true;
    const tg_bucket b = r->e->buckets.rows[r->e->buckets.count - 1];
    bool            first = true;
    while (r->bucket.count > 0 || first) {
        if (!fill_group(r)) return false;
        if (r->bucket.count > 0 && r->e->split < 0) r->e->split = var;
        if (!minimise_out(r, var)) return false;
        first = false;
    }
    return refresh_neighbours(r, &b);
}

static bool eliminate_all(run *r) {
    for (uint32_t v = 0; v < r->net->nlabels.count; v++)
        if (!refresh(r, v, false)) return false;
    while (r->heap.count > 0) {
        const entry top = heap_pop(r);
        if (r->e->gone[top.var] || r->key[top.var] != top.key) continue;
        if (top.key == r->limit + 1) {
            if (!refresh(r, top.var, true)) return false;
            continue;
        }
        if (top.key > r->limit && r->stop) break;
        if (!eliminate_one(r, top.var)) return false;
    }
    return true;
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

static bool copy_network(tg_network *out, const tg_network *net) {
    out->constant = net->constant;
    if (!tg_var_rows_reserve(&out->nlabels, net->nlabels.count + 1) ||
        !tg_factor_rows_reserve(&out->factors, 2 * net->factors.count + 1) ||
        !tg_var_rows_reserve(&out->scopes, 2 * net->scopes.count + 1) ||
        !tg_cost_rows_reserve(&out->costs, 2 * net->costs.count + 1))
        return false;
    if (net->nlabels.count > 0)
        memcpy(out->nlabels.rows, net->nlabels.rows, net->nlabels.count * sizeof *net->nlabels.rows);
    if (net->factors.count > 0)
        memcpy(out->factors.rows, net->factors.rows, net->factors.count * sizeof *net->factors.rows);
    if (net->scopes.count > 0)
        memcpy(out->scopes.rows, net->scopes.rows, net->scopes.count * sizeof *net->scopes.rows);
    if (net->costs.count > 0) memcpy(out->costs.rows, net->costs.rows, net->costs.count * sizeof *net->costs.rows);
    out->nlabels.count = net->nlabels.count;
    out->factors.count = net->factors.count;
    out->scopes.count = net->scopes.count;
    out->costs.count = net->costs.count;
    return true;
}

static bool start(run *r) {
    const size_t n = r->net->nlabels.count + 1;
    r->head = malloc(n * sizeof *r->head);
    r->count = calloc(n, sizeof *r->count);
    r->key = calloc(n, sizeof *r->key);
    r->mark = calloc(n, sizeof *r->mark);
    r->e->gone = calloc(n, sizeof *r->e->gone);
    r->e->dead = calloc(r->net->factors.cap, sizeof *r->e->dead);
    if (r->head == NULL || r->count == NULL || r->key == NULL || r->mark == NULL || r->e->gone == NULL ||
        r->e->dead == NULL)
        return false;
    for (size_t v = 0; v < n; v++) r->head[v] = NO_CELL;
    for (size_t f = 0; f < r->net->factors.count; f++)
        if (!attach(r, (uint32_t)f)) return false;
    return true;
}

bool tg_eliminate(tg_elimination *out, const tg_network *net, size_t limit, bool stop) {
    memset(out, 0, sizeof *out);
    out->split = -1;
    run        r = {.e = out, .net = &out->net, .limit = limit, .stop = stop};
    out->work = (int64_t)(net->costs.count + net->scopes.count);
    const bool done = copy_network(&out->net, net) && start(&r) && eliminate_all(&r);
    free(r.head);
    free(r.count);
    free(r.key);
    free(r.mark);
    free(r.cells.rows);
    free(r.heap.rows);
    free(r.bucket.rows);
    free(r.group.rows);
    free(r.strides.rows);
    free(r.places.rows);
    if (!done) tg_elimination_free(out);
    return done;
}

void tg_elimination_free(tg_elimination *e) {
    tg_network_free(&e->net);
    free(e->buckets.rows);
    free(e->members.rows);
    free(e->gone);
    free(e->dead);
    memset(e, 0, sizeof *e);
}

static int64_t cost_at(const tg_network *net, const tg_factor *f, const uint32_t *labels) {
    uint64_t at = 0;
    for (uint32_t k = 0; k < f->nvars; k++) {
        const uint32_t v = net->scopes.rows[f->first + k];
        at = at * net->nlabels.rows[v] + labels[v];
    }
    return net->costs.rows[f->table + at];
}

void tg_substitute_back(uint32_t *labels, const tg_elimination *e) {
    for (size_t i = e->buckets.count; i-- > 0;) {
        const tg_bucket *b = &e->buckets.rows[i];
        int64_t          best = INT64_MAX;
        uint32_t         chosen = 0;
        for (uint32_t label = 0; label < e->net.nlabels.rows[b->var]; label++) {
            int64_t sum = 0;
            labels[b->var] = label;
            for (uint32_t k = 0; k < b->nfactors; k++)
                sum = tg_cost_add(sum, cost_at(&e->net, &e->net.factors.rows[e->members.rows[b->first + k]], labels));
            if (sum >= best) continue;
            best = sum;
            chosen = label;
        }
        labels[b->var] = chosen;
    }
}
