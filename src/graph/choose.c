/* From candidates to a cost network.
 *
 * A node with several modes is a variable. Between a node and who reads it stands a factor: what cannot be is infinite,
 * a restickify has its price. A copy that several nodes could share is a variable of its own, which says how the
 * tensor comes to have dimension b in its sticks:
 *
 *     producer --- copy of form b --- reader 1        label 0: by a copy, at its price
 *                        |                            label 1: as it is, if the producer chose so
 *                        +----------- reader 2        label 2: not at all
 *
 * Readers whose mode needs b refuse label 2. So the price is paid once, however many readers there are, and nothing
 * larger than a pair is needed. Where layouts are odd, some readers may be content with the tensor as it is while
 * others are not, with the same b: "as it is" is then one label for each set of readers that a candidate satisfies. */
#include "graph/choose.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- uses ------------------------------------------------------------------------------ */

bool tg_uses_make(tg_uses *out, const tg_graph *g) {
    const size_t n = g->nodes.count;
    out->first = calloc(n + 2, sizeof *out->first);
    out->at = malloc((g->accesses.count + 1) * sizeof *out->at);
    if (out->first == NULL || out->at == NULL) return false;
    uint32_t *count = out->first + 1;
    for (size_t a = 0; a < g->accesses.count; a++) count[g->accesses.rows[a].node + 1]++;
    for (size_t i = 0; i < n; i++) count[i + 1] += count[i];
    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < g->nodes.rows[i].noperands; k++)
            out->at[count[tg_graph_operand(g, (int64_t)i, (int32_t)k)]++] = (tg_use){(uint32_t)i, k};
    return true;
}

void tg_uses_free(tg_uses *u) {
    free(u->first);
    free(u->at);
    u->first = NULL;
    u->at = NULL;
}

/* ---- what a choice costs ------------------------------------------------------------------ */

bool tg_copies_needed(uint64_t *forms, const tg_problem *p, const tg_uses *uses, const uint32_t *modes, int64_t node) {
    const uint32_t l = tg_chosen_layout(p, modes, node);
    *forms = 0;
    for (uint32_t i = uses->first[node]; i < uses->first[node + 1]; i++) {
        const tg_use use = uses->at[i];
        const int8_t need = tg_need(p, use.node, use.operand, modes[use.node], l);
        if (need == TG_IMPOSSIBLE) return false;
        if (need >= 0) *forms |= UINT64_C(1) << need;
    }
    return true;
}

static int64_t count_needing(const tg_problem *p, const tg_uses *uses, const uint32_t *modes, int64_t node) {
    const uint32_t l = tg_chosen_layout(p, modes, node);
    int64_t        n = 0;
    for (uint32_t i = uses->first[node]; i < uses->first[node + 1]; i++)
        n += tg_need(p, uses->at[i].node, uses->at[i].operand, modes[uses->at[i].node], l) >= 0;
    return n;
}

int64_t tg_choice_cost(const tg_problem *p, const tg_uses *uses, const uint32_t *modes) {
    int64_t sum = 0;
    for (int64_t node = 0; node < (int64_t)p->nodes.count; node++) {
        uint64_t forms;
        if (tg_choice_at(p, node)->nmodes == 0 || !tg_copies_needed(&forms, p, uses, modes, node)) return TG_INFINITE;
        int64_t copies = 0;
        for (; forms != 0; forms &= forms - 1) copies++;
        if (p->params.model == TG_MODEL_TORCH_SPYRE) copies = count_needing(p, uses, modes, node);
        for (; copies > 0; copies--) sum = tg_cost_add(sum, tg_price(p, node, tg_chosen_layout(p, modes, node)));
    }
    return sum;
}

/* ---- factors ------------------------------------------------------------------------------- */

enum { MAX_GROUPS = 32 };

typedef struct builder {
    tg_network       *net;
    uint32_t         *var;
    const tg_problem *p;
    const tg_uses    *uses;
    const bool       *active;
    int64_t           node; /* the producer at hand */
    tg_cost_rows      table;
} builder;

static bool is_active(const builder *b, int64_t node) { return b->active == NULL || b->active[node]; }

/* A factor over up to two variables from `table`, whose last variable runs fastest; a variable with one label is none.
 * A factor that costs nothing is left out. */
static bool add_factor(builder *b, uint32_t x, uint32_t y) {
    uint32_t scope[2], n = 0;
    uint64_t to = 0;
    bool     costs = false;
    for (size_t i = 0; i < b->table.count; i++) costs = costs || b->table.rows[i] != 0;
    if (!costs) return true;
    if (x != TG_NO_VARIABLE) scope[n++] = x;
    if (y != TG_NO_VARIABLE) scope[n++] = y;
    if (n == 0) {
        b->net->constant = tg_cost_add(b->net->constant, b->table.rows[0]);
        return true;
    }
    if (!tg_network_add(&to, b->net, n, scope)) return false;
    memcpy(b->net->costs.rows + to, b->table.rows, b->table.count * sizeof *b->table.rows);
    return true;
}

static uint32_t modes_of(const builder *b, int64_t node) { return tg_choice_at(b->p, node)->nmodes; }
static uint32_t layouts_of(const builder *b, int64_t node) { return tg_choice_at(b->p, node)->nlayouts; }

/* The uses from i on that are of the same reader; they stand together. */
static uint32_t same_reader(const builder *b, uint32_t i) {
    const uint32_t end = b->uses->first[b->node + 1];
    uint32_t       j = i + 1;
    while (j < end && b->uses->at[j].node == b->uses->at[i].node) j++;
    return j;
}

/* What uses [i, j) of one reader in mode m cost with candidate l; `priced`: copies are paid here. */
static int64_t pair_cost(const builder *b, uint32_t i, uint32_t j, uint32_t m, uint32_t l, bool priced) {
    uint64_t forms = 0;
    int64_t  copies = 0, cost = 0;
    for (; i < j; i++) {
        const int8_t need = tg_need(b->p, b->uses->at[i].node, b->uses->at[i].operand, m, l);
        if (need == TG_IMPOSSIBLE) return TG_INFINITE;
        if (need < 0) continue;
        copies += b->p->params.model == TG_MODEL_TORCH_SPYRE || (forms >> need & 1) == 0;
        forms |= UINT64_C(1) << need;
    }
    for (; priced && copies > 0; copies--) cost = tg_cost_add(cost, tg_price(b->p, b->node, l));
    return cost;
}

static bool add_pair(builder *b, uint32_t i, uint32_t j, bool priced) {
    const int64_t  reader = b->uses->at[i].node;
    const uint32_t nx = modes_of(b, b->node), ny = modes_of(b, reader);
    b->table.count = 0;
    if (!tg_cost_rows_reserve(&b->table, (size_t)nx * ny)) return false;
    for (uint32_t x = 0; x < nx; x++)
        for (uint32_t y = 0; y < ny; y++)
            b->table.rows[b->table.count++] =
                pair_cost(b, i, j, y, tg_mode_at(b->p, b->node, x)->layout, priced);
    return add_factor(b, b->var[b->node], b->var[reader]);
}

/* ---- shared copies ---------------------------------------------------------------------------- */

/* One form of a tensor. A group is a set of candidates that some reader is content with; sets: of groups that a
 * candidate satisfies, all different. */
typedef struct form {
    int8_t   id;
    uint32_t ngroups, nsets;
    uint64_t group[MAX_GROUPS];
    uint32_t set[MAX_GROUPS + 1];
    uint32_t set_of[64];   /* the place of each candidate's set */
    uint64_t copied;       /* candidates from which somebody needs the copy */
    uint32_t var;
} form;

/* Is form f needed by a use in mode m, with some candidate? The candidates that do without it, and those that do not.
 */
static bool needs_form(const builder *b, const tg_use *use, uint32_t m, int8_t f, uint64_t *content, uint64_t *copied) {
    *content = *copied = 0;
    for (uint32_t l = 0; l < layouts_of(b, b->node); l++) {
        const int8_t need = tg_need(b->p, use->node, use->operand, m, l);
        if (need == TG_FITS) *content |= UINT64_C(1) << l;
        if (need == f) *copied |= UINT64_C(1) << l;
    }
    return *copied != 0;
}

static uint32_t group_number(const form *f, uint64_t content) {
    uint32_t i = 0;
    while (i < f->ngroups && f->group[i] != content) i++;
    return i;
}

static bool find_groups(const builder *b, form *f) {
    for (uint32_t i = b->uses->first[b->node]; i < b->uses->first[b->node + 1]; i++)
        for (uint32_t m = 0; is_active(b, b->uses->at[i].node) && m < modes_of(b, b->uses->at[i].node); m++) {
            uint64_t content, copied;
            if (!needs_form(b, &b->uses->at[i], m, f->id, &content, &copied)) continue;
            f->copied |= copied;
            const uint32_t g = group_number(f, content);
            if (g == MAX_GROUPS) return false;
            f->group[g] = content;
            if (g == f->ngroups) f->ngroups++;
        }
    return true;
}

static void find_sets(const builder *b, form *f) {
    for (uint32_t l = 0; l < layouts_of(b, b->node); l++) {
        uint32_t set = 0, i = 0;
        for (uint32_t g = 0; g < f->ngroups; g++) set |= (uint32_t)(f->group[g] >> l & 1) << g;
        while (i < f->nsets && f->set[i] != set) i++;
        f->set[i] = set;
        f->set_of[l] = i;
        if (i == f->nsets) f->nsets++;
    }
}

/* Labels: 0 the copy, then the sets. */
static bool add_producer_factor(builder *b, const form *f) {
    const uint32_t nx = modes_of(b, b->node);
    b->table.count = 0;
    if (!tg_cost_rows_reserve(&b->table, (size_t)nx * (f->nsets + 1))) return false;
    for (uint32_t x = 0; x < nx; x++) {
        const uint32_t l = tg_mode_at(b->p, b->node, x)->layout;
        b->table.rows[b->table.count++] = (f->copied >> l & 1) != 0 ? tg_price(b->p, b->node, l) : TG_INFINITE;
        for (uint32_t s = 0; s < f->nsets; s++)
            b->table.rows[b->table.count++] = s == f->set_of[l] ? 0 : TG_INFINITE;
    }
    return add_factor(b, b->var[b->node], f->var);
}

/* The groups that uses [i, j) in mode m are in. */
static uint32_t groups_of(const builder *b, const form *f, uint32_t i, uint32_t j, uint32_t m) {
    uint32_t groups = 0;
    for (; i < j; i++) {
        uint64_t content, copied;
        if (needs_form(b, &b->uses->at[i], m, f->id, &content, &copied))
            groups |= UINT32_C(1) << group_number(f, content);
    }
    return groups;
}

static bool add_reader_factor(builder *b, const form *f, uint32_t i, uint32_t j) {
    const int64_t  reader = b->uses->at[i].node;
    const uint32_t nx = modes_of(b, reader);
    b->table.count = 0;
    if (!tg_cost_rows_reserve(&b->table, (size_t)nx * (f->nsets + 1))) return false;
    for (uint32_t x = 0; x < nx; x++) {
        const uint32_t groups = groups_of(b, f, i, j, x);
        b->table.rows[b->table.count++] = 0;
        for (uint32_t s = 0; s < f->nsets; s++)
            b->table.rows[b->table.count++] = (groups & ~f->set[s]) == 0 ? 0 : TG_INFINITE;
    }
    return add_factor(b, b->var[reader], f->var);
}

static tg_status add_form(builder *b, int8_t id, tg_error *err) {
    form f = {.id = id};
    if (!find_groups(b, &f))
        return tg_fail(err, TG_ERR_LIMIT, "the readers of node %d ask for too many different things", b->node);
    find_sets(b, &f);
    f.var = (uint32_t)b->net->nlabels.count;
    if (!tg_var_rows_push(&b->net->nlabels, f.nsets + 1) || !add_producer_factor(b, &f)) return tg_graph_no_memory(err);
    for (uint32_t i = b->uses->first[b->node], j; i < b->uses->first[b->node + 1]; i = j) {
        j = same_reader(b, i);
        if (is_active(b, b->uses->at[i].node) && !add_reader_factor(b, &f, i, j)) return tg_graph_no_memory(err);
    }
    return TG_OK;
}

/* ---- nodes --------------------------------------------------------------------------------------- */

/* Forms that some reader may need, and how many readers there are that look. */
static uint64_t possible_forms(const builder *b, uint32_t *readers) {
    uint64_t forms = 0;
    *readers = 0;
    for (uint32_t i = b->uses->first[b->node], j; i < b->uses->first[b->node + 1]; i = j) {
        j = same_reader(b, i);
        if (!is_active(b, b->uses->at[i].node)) continue;
        ++*readers;
        for (uint32_t k = i; k < j; k++)
            for (uint32_t m = 0; m < modes_of(b, b->uses->at[k].node); m++)
                for (uint32_t l = 0; l < layouts_of(b, b->node); l++) {
                    const int8_t need = tg_need(b->p, b->uses->at[k].node, b->uses->at[k].operand, m, l);
                    if (need >= 0) forms |= UINT64_C(1) << need;
                }
    }
    return forms;
}

static tg_status add_producer(builder *b, tg_error *err) {
    uint32_t       readers;
    const uint64_t forms = possible_forms(b, &readers);
    const bool     priced = readers <= 1 || b->p->params.model == TG_MODEL_TORCH_SPYRE;
    tg_status      s = TG_OK;
    for (uint32_t i = b->uses->first[b->node], j; i < b->uses->first[b->node + 1]; i = j) {
        j = same_reader(b, i);
        if (is_active(b, b->uses->at[i].node) && !add_pair(b, i, j, priced)) return tg_graph_no_memory(err);
    }
    for (int8_t f = 0; !priced && f < 2 * TG_MAX_NDIM && s == TG_OK; f++)
        if ((forms >> f & 1) != 0) s = add_form(b, f, err);
    return s;
}

static bool add_variables(builder *b) {
    for (size_t node = 0; node < b->p->nodes.count; node++) {
        const uint32_t nmodes = b->p->nodes.rows[node].nmodes;
        b->var[node] = nmodes == 1 ? TG_NO_VARIABLE : (uint32_t)b->net->nlabels.count;
        if (nmodes == 0) b->net->constant = TG_INFINITE;
        if (nmodes != 1 && !tg_var_rows_push(&b->net->nlabels, nmodes > 1 ? nmodes : 1)) return false;
    }
    return true;
}

tg_status tg_choice_network(tg_network *out, uint32_t *var, const tg_problem *p, const tg_uses *uses,
                            const bool *active, tg_error *err) {
    tg_network net = {.constant = 0};
    builder    b = {.net = &net, .var = var, .p = p, .uses = uses, .active = active};
    tg_status  s = add_variables(&b) ? TG_OK : tg_graph_no_memory(err);
    for (b.node = 0; b.node < (int64_t)p->nodes.count && s == TG_OK; b.node++) s = add_producer(&b, err);
    free(b.table.rows);
    if (s == TG_OK) *out = net;
    else tg_network_free(&net);
    return s;
}
