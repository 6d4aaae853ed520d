/* The rules, one row a kind of node. Source: torch-spyre, layout propagation; docs/plan.md tells them at length.
 *
 * A node works with at most one loop in the sticks. "Agree" says it for all tensors of the node at once: a tensor that
 * has the loop has it in its sticks, all others have none there. That is the same as torch-spyre's test of two sets
 * (tg_sticks_compatible), with the loop in question named.
 *
 *     x[i,j] + y[j]       loop j: x and y have j in their sticks
 *                         loop i: x has i in its sticks, y does not have i: it must be sparse
 *     max of x over j     loop j: x has j in its sticks, the result none: it is sparse
 *
 * To add a rule: a value of tg_node_kind, a row here, and its row in docs/plan.md. */
#include "graph/rules.h"

#include "graph/restickify.h"

#include <string.h>

/* clang-format off */
static const tg_rule rules[] = {
    /* kind                operands  loops in the sticks of the result    restickify */
    {TG_NODE_INPUT,        TG_ANY,   TG_DEFAULT_LAYOUT,                   false,
     "a graph input has the layout that it comes with"},
    {TG_NODE_POINTWISE,    TG_AGREE, TG_FROM_OPERANDS | TG_OTHERS,       true,
     "all operands and the result have the same loop in their sticks, or are without it"},
    {TG_NODE_REDUCE,       TG_AGREE, TG_FROM_OPERANDS,                    false,
     "a reduction takes its operand as it is; over the stick its result is sparse"},
    {TG_NODE_MATMUL,       TG_ROLES, TG_FROM_ROLES,                       true,
     "x has the summed dimension in its sticks, y and the result have the columns"},
    {TG_NODE_CONVOLUTION,  TG_ROLES, TG_FROM_ROLES,                       true,
     "the activation has in-channels in its sticks, weight and result have out-channels"},
    {TG_NODE_GATHER,       TG_ROLES, TG_FROM_OPERANDS | TG_OTHERS,       true,
     "a table has what is picked outermost, and the same loop as the result in its sticks"},
    {TG_NODE_CONCATENATE,  TG_AGREE, TG_FROM_OPERANDS | TG_OTHERS,       true,
     "all pieces and the result have the same loop in their sticks, and pieces begin at whole sticks"},
    {TG_NODE_CLONE,        TG_ANY,   TG_DEFAULT_LAYOUT,                   false,
     "a clone reads any layout and writes the default one"},
    {TG_NODE_CONSTANT,     TG_ANY,   TG_FREE,                             false,
     "a constant is written in the layout that suits its readers"},
    {TG_NODE_DEFAULT,      TG_ANY,   TG_DEFAULT_LAYOUT,                   false,
     "its result has the default layout"},
    {TG_NODE_BOUNDARY,     TG_ANY,   TG_DEFAULT_LAYOUT,                   false,
     "nothing is known of the operation: its result has the default layout"},
    {TG_NODE_SEARCH,       TG_AGREE, TG_FROM_OPERANDS | TG_OTHERS,       true,
     "a search has no loop that it looks along in the sticks; operands and result agree on another one"},
    {TG_NODE_SCATTER,      TG_AGREE, TG_FROM_OPERANDS | TG_OTHERS,       true,
     "the result has what is picked outermost, and the same loop in its sticks as what it is written from"},
    {TG_NODE_CARRY,        TG_AGREE, TG_FROM_OPERANDS,                    true,
     "what a loop carries on keeps its layout: the new value is brought into that of the old one"},
    {TG_NODE_STATISTICS,   TG_AGREE, TG_FROM_ROLES,                       true,
     "statistics have a dimension that is summed up in the sticks of their operand; the result is sparse"},
    {TG_NODE_NORMALIZE,    TG_AGREE, TG_FROM_ROLES,                       true,
     "a normalization has the last dimension in its sticks, and the statistics none"},
};
/* clang-format on */

const char *tg_node_kind_rule(tg_node_kind kind) {
    return tg_node_kind_name(kind) != NULL ? rules[kind].words : NULL;
}

/* ---- loops of accesses ---------------------------------------------------------------- */

uint32_t tg_access_loops(const tg_access *a) {
    uint32_t loops = 0;
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop != TG_LOOP_UNKNOWN) loops |= UINT32_C(1) << a->terms[i].loop;
    return loops;
}

bool tg_access_has_unknown(const tg_access *a) {
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop == TG_LOOP_UNKNOWN) return true;
    return false;
}

static uint32_t operand_loops(const tg_graph *g, const tg_node_row *n, int32_t k) {
    const tg_access a = tg_operand_at(g, n, k);
    return tg_access_loops(&a);
}

static uint32_t result_loops(const tg_graph *g, const tg_node_row *n) {
    const tg_access a = tg_access_of(g, &n->result);
    return tg_access_loops(&a);
}

int32_t tg_host_dim(const tg_host *host, const int64_t *ranges, const tg_access *access, int32_t loop) {
    const tg_dims dims = tg_host_dims(host);
    int32_t       found = -1;
    for (int32_t d = 0; d < host->ndim; d++) {
        tg_coordinate c;
        int64_t       modulus = 0;
        tg_coordinate_of(&c, &dims, d, ranges, access);
        if (tg_coordinate_single(&modulus, &c, ranges) != loop) continue;
        if (found >= 0) return -1;
        found = d;
    }
    return found;
}

int32_t tg_filled_dim(const tg_host *host, const int64_t *ranges, const tg_access *access, int32_t loop) {
    const int32_t d = tg_host_dim(host, ranges, access, loop);
    const tg_dims dims = tg_host_dims(host);
    int64_t       modulus = 0;
    tg_coordinate c;
    if (d < 0) return -1;
    tg_coordinate_of(&c, &dims, d, ranges, access);
    (void)tg_coordinate_single(&modulus, &c, ranges);
    return modulus == 0 && c.offset == 0 ? d : -1;
}

int32_t tg_walked_dim(const tg_host *host, const tg_access *access, int32_t loop) {
    for (int32_t i = 0; i < access->nterms; i++)
        for (int32_t d = 0; access->terms[i].loop == loop && d < host->ndim; d++)
            if (host->strides[d] == access->terms[i].step && host->shape[d] > 1) return d;
    return -1;
}

uint32_t tg_unknown_dims(const tg_host *host, const int64_t *ranges, const tg_access *access) {
    const tg_dims dims = tg_host_dims(host);
    uint32_t      unknown = 0;
    for (int32_t d = 0; d < dims.ndim; d++) {
        tg_coordinate c;
        tg_coordinate_of(&c, &dims, d, ranges, access);
        for (int32_t i = 0; i < c.nparts; i++)
            if (c.part[i].loop == TG_LOOP_UNKNOWN) unknown |= UINT32_C(1) << d;
    }
    return unknown;
}

/* ---- roles of a product ----------------------------------------------------------------- */

typedef struct roles {
    int32_t  x, y;                  /* operands */
    uint32_t summed, rows, columns; /* loops */
} roles;

static roles roles_of(const tg_graph *g, const tg_node_row *n, bool swapped) {
    const int32_t  x = swapped, y = !swapped;
    const uint32_t a = operand_loops(g, n, x), b = operand_loops(g, n, y), c = result_loops(g, n);
    return (roles){x, y, a & b & ~c, a & c & ~b, b & c & ~a};
}

/* A vector on the right is the left operand of the transposed product. */
static roles find_roles(const tg_graph *g, const tg_node_row *n) {
    const roles r = roles_of(g, n, false);
    return r.columns == 0 && r.rows != 0 ? roles_of(g, n, true) : r;
}

const tg_rule *tg_rule_of(tg_rule *room, const tg_graph *g, const tg_node_row *n, const tg_graph_params *params) {
    *room = rules[n->kind];
    if (n->kind == TG_NODE_MATMUL) {
        const roles r = find_roles(g, n);
        if (r.summed == 0) *room = rules[TG_NODE_POINTWISE];
        else if (r.columns == 0) *room = rules[TG_NODE_REDUCE];
    }
    if (room->kind == TG_NODE_REDUCE && (params->relay_reductions || n->noperands > 1)) {
        room->restickify = true; /* several operands have to agree */
        room->sticks |= TG_OTHERS;
    }
    if (n->kind == TG_NODE_DEFAULT && n->noperands == 0 && params->model == TG_MODEL_TEGULA)
        *room = rules[TG_NODE_CONSTANT]; /* iota is known beforehand */
    if (n->kind == TG_NODE_GATHER && params->model == TG_MODEL_TORCH_SPYRE) room->operands = TG_ANY;
    return room;
}

int32_t tg_wanted_loop(const tg_rule *rule, const tg_graph *g, const tg_node_row *n, const tg_mode_row *mode,
                       int32_t k) {
    if (rule->operands == TG_ANY) return TG_ANY_LOOP;
    if (rule->operands == TG_ROLES) return k < 2 ? mode->role[k] : TG_ANY_LOOP;
    if (rule->kind == TG_NODE_SCATTER && k == 1) return TG_ANY_LOOP; /* the places */
    if (mode->loop == TG_NO_LOOP) return TG_NO_LOOP;
    return (operand_loops(g, n, k) >> mode->loop & 1) != 0 ? mode->loop : TG_NO_LOOP;
}

int64_t tg_node_stick(const tg_node_row *n) {
    return n->on_device ? 8 * TG_SPYRE_STICK_BYTES / tg_format_bits(n->format) : 1;
}

bool tg_lacks_fill(const tg_rule *rule, const tg_graph *g, const tg_node_row *n, const tg_mode_row *mode, int32_t k) {
    if (n->kind != TG_NODE_MATMUL || k > 1 || n->noperands < 2) return false;
    const int64_t  *ranges = tg_node_ranges(g, n);
    const tg_access mine = tg_operand_at(g, n, k), other = tg_operand_at(g, n, 1 - k);
    const int32_t   loop = tg_wanted_loop(rule, g, n, mode, 1 - k);
    if (loop < 0 || (result_loops(g, n) >> loop & 1) != 0 ||
        ranges[loop] % tg_node_stick(tg_node_at(g, other.node)) == 0)
        return false;
    const tg_node_row *from = tg_node_at(g, mine.node);
    return from->on_device && tg_filled_dim(&from->host, ranges, &mine, loop) < 0;
}

bool tg_walks_all(const tg_host *host, const int64_t *ranges, const tg_access *access) {
    const tg_dims dims = tg_host_dims(host);
    bool          all = true;
    for (int32_t d = 0; d < host->ndim && all; d++) {
        tg_coordinate c;
        tg_coordinate_of(&c, &dims, d, ranges, access);
        all = host->shape[d] <= 1 || c.nparts > 0;
    }
    return all;
}

/* Operand k has something in its sticks. */
static bool reads_sticks(const tg_graph *g, const tg_node_row *n, int32_t k) {
    const tg_access    a = tg_operand_at(g, n, k);
    const tg_node_row *from = tg_node_at(g, a.node);
    return from->in_sticks && tg_walks_all(&from->host, tg_node_ranges(g, n), &a);
}

static bool any_reads_sticks(const tg_graph *g, const tg_node_row *n) {
    bool any = false;
    for (uint32_t k = 0; k < n->noperands; k++) any = any || reads_sticks(g, n, (int32_t)k);
    return any;
}

/* Over more than one place: then the result may be sparse. */
static bool sums_up(const tg_graph *g, const tg_node_row *n) {
    bool sums = false;
    for (uint32_t k = 0; k < n->noperands; k++)
        sums = sums || (operand_loops(g, n, (int32_t)k) & ~result_loops(g, n)) != 0;
    return sums;
}

bool tg_always_in_sticks(const tg_graph *g, const tg_node_row *n) {
    roles r;
    bool  any = false;
    if (!n->on_device) return false;
    if (n->layout >= 0) return tg_stick_dim(&g->layouts.rows[n->layout], &n->host) >= 0;
    switch (n->kind) {
    case TG_NODE_INPUT:
    case TG_NODE_CLONE:
    case TG_NODE_BOUNDARY: /* the default layout */
        for (int32_t d = 0; d < n->host.ndim; d++) any = any || n->host.shape[d] > 1;
        return any;
    case TG_NODE_MATMUL: r = find_roles(g, n); return r.summed != 0 && r.columns != 0;
    case TG_NODE_REDUCE: return !sums_up(g, n) && any_reads_sticks(g, n);
    case TG_NODE_POINTWISE: return any_reads_sticks(g, n);
    default: return false;
    }
}

/* ---- modes -------------------------------------------------------------------------------- */

static bool has(uint32_t loops, int32_t l) { return (loops >> l & 1) != 0; }

/* Loops of the result that walk a dimension alone, where sticks may lie; with `whole`, whole sticks of it. */
static uint32_t stick_loops(const tg_graph *g, const tg_node_row *n, bool whole) {
    const tg_access a = tg_access_of(g, &n->result);
    const int64_t   stick = tg_node_stick(n);
    uint32_t        loops = 0;
    for (int32_t l = 0; l < n->nloops; l++) {
        if (!has(tg_access_loops(&a), l) || has(n->no_stick, l)) continue;
        const int32_t d = tg_host_dim(&n->host, tg_node_ranges(g, n), &a, l);
        if (d >= 0 && (!whole || n->host.shape[d] % stick == 0)) loops |= UINT32_C(1) << l;
    }
    return loops;
}

/* Loops that are summed up, or the like, of which a copy of some operand can have whole sticks. */
static uint32_t summed_loops(const tg_graph *g, const tg_node_row *n) {
    uint32_t loops = 0;
    for (int32_t k = 0; k < (int32_t)n->noperands; k++) {
        const tg_access a = tg_operand_at(g, n, k);
        const uint32_t  summed = tg_access_loops(&a) & ~result_loops(g, n) & ~n->no_stick;
        for (int32_t l = 0; l < n->nloops; l++)
            if (has(summed, l) && tg_walked_dim(&tg_node_at(g, a.node)->host, &a, l) >= 0) loops |= UINT32_C(1) << l;
    }
    return loops;
}

static void add_mode(tg_mode_row *out, int32_t *count, int32_t loop, int32_t role0, int32_t role1) {
    if (*count < TG_MAX_MODES_OF_NODE) out[(*count)++] = (tg_mode_row){loop, {role0, role1}, 0};
}

static void add_loops(tg_mode_row *out, int32_t *count, uint32_t loops) {
    for (int32_t l = 0; l < TG_MAX_LOOPS; l++)
        if (has(loops, l)) add_mode(out, count, l, l, TG_ANY_LOOP);
}

static int32_t readers(const tg_graph *g, const tg_node_row *n) {
    int32_t count = 0;
    for (int32_t k = 0; k < (int32_t)n->noperands; k++) count += operand_loops(g, n, k) != 0;
    return count;
}

/* Columns last to first, so that the innermost one comes first; the same for the summed loops. */
static int32_t list_products(tg_mode_row *out, const tg_graph *g, const tg_node_row *n) {
    const roles    r = find_roles(g, n);
    const uint32_t columns = r.columns & stick_loops(g, n, false);
    int32_t        count = 0;
    for (int32_t c = TG_MAX_LOOPS; c-- > 0;)
        for (int32_t k = TG_MAX_LOOPS; has(columns, c) && k-- > 0;)
            if (has(r.summed, k)) add_mode(out, &count, c, r.x == 0 ? k : c, r.x == 0 ? c : k);
    return count;
}

static int32_t list_convolution(tg_mode_row *out, const tg_graph *g, const tg_node_row *n) {
    const bool in = has(operand_loops(g, n, 0), n->in_channel), weight = has(operand_loops(g, n, 1), n->out_channel);
    const bool result = has(result_loops(g, n), n->out_channel);
    int32_t    count = 0;
    add_mode(out, &count, result ? n->out_channel : TG_NO_LOOP, in ? n->in_channel : TG_NO_LOOP,
             weight ? n->out_channel : TG_NO_LOOP);
    return count;
}

/* The default layout's loop comes first, so that it is taken where nothing else is better; none last. torch-spyre
 * knows whole sticks only. */
static int32_t list_free(tg_mode_row *out, const tg_graph *g, const tg_node_row *n, const tg_graph_params *params) {
    const bool     all = params->model == TG_MODEL_TEGULA;
    const uint32_t loops = stick_loops(g, n, false), whole = stick_loops(g, n, !all);
    int32_t        count = 0, last = TG_NO_LOOP;
    for (int32_t l = 0; l < TG_MAX_LOOPS; l++)
        if (has(loops, l)) last = l;
    add_mode(out, &count, last, TG_ANY_LOOP, TG_ANY_LOOP);
    for (int32_t l = 0; l < last; l++)
        if (has(whole, l)) add_mode(out, &count, l, TG_ANY_LOOP, TG_ANY_LOOP);
    if (all && last >= 0) add_mode(out, &count, TG_NO_LOOP, TG_ANY_LOOP, TG_ANY_LOOP);
    return count;
}

/* torch-spyre moves the stick of a single operand only where it must. */
static bool keeps_stick(const tg_graph *g, const tg_node_row *n, const tg_graph_params *params, uint32_t in_sticks) {
    return params->model == TG_MODEL_TORCH_SPYRE && n->kind == TG_NODE_POINTWISE && readers(g, n) == 1 &&
           in_sticks != 0;
}

/* Sticks that the operands have, then whole sticks, then the others, which torch-spyre leaves out; none last. */
static int32_t list_agreeing(tg_mode_row *out, const tg_rule *rule, const tg_graph *g, const tg_node_row *n,
                             const tg_graph_params *params, uint32_t in_sticks, bool stickless) {
    const uint32_t reduced = ~result_loops(g, n), any = stick_loops(g, n, false);
    const uint32_t first = in_sticks & ~n->no_stick & (any | reduced);
    const bool     aligned = (rule->sticks & TG_OTHERS) != 0 && !keeps_stick(g, n, params, in_sticks);
    int32_t        count = 0;
    add_loops(out, &count, first);
    const uint32_t whole = stick_loops(g, n, true) & ~first;
    if (aligned) add_loops(out, &count, whole);
    if (aligned && params->model == TG_MODEL_TEGULA) add_loops(out, &count, any & ~first & ~whole);
    if (aligned && rule->kind == TG_NODE_REDUCE && (params->relay_reductions || params->model == TG_MODEL_TEGULA))
        add_loops(out, &count, summed_loops(g, n) & ~first);
    if (stickless || result_loops(g, n) == 0) add_mode(out, &count, TG_NO_LOOP, TG_NO_LOOP, TG_ANY_LOOP);
    if (count == 0) add_loops(out, &count, any);
    if (count == 0) add_mode(out, &count, TG_NO_LOOP, TG_NO_LOOP, TG_ANY_LOOP);
    return count;
}

/* Loops, the innermost first. */
static int32_t list_last(tg_mode_row *out, uint32_t loops, const tg_node_row *n) {
    int32_t count = 0;
    for (int32_t l = TG_MAX_LOOPS; l-- > 0;)
        if (has(loops & ~n->no_stick, l)) add_mode(out, &count, l, l, TG_ANY_LOOP);
    if (count == 0) add_mode(out, &count, TG_NO_LOOP, TG_NO_LOOP, TG_ANY_LOOP);
    return count;
}

/* The loop of the result's last dimension. */
static uint32_t last_loop(const tg_graph *g, const tg_node_row *n) {
    const tg_access a = tg_access_of(g, &n->result);
    for (int32_t l = 0; l < n->nloops; l++)
        if (has(tg_access_loops(&a), l) && tg_walked_dim(&n->host, &a, l) == n->host.ndim - 1) return UINT32_C(1) << l;
    return 0;
}

/* Rows are picked as they are: the loops that walk within them. */
static int32_t list_gather(tg_mode_row *out, const tg_rule *rule, const tg_graph *g, const tg_node_row *n,
                           const tg_graph_params *params, uint32_t in_sticks) {
    const uint32_t within = operand_loops(g, n, 0) & stick_loops(g, n, false);
    const uint32_t whole = stick_loops(g, n, true);
    int32_t        count = 0;
    (void)rule;
    (void)params;
    add_loops(out, &count, within & in_sticks);
    add_loops(out, &count, within & whole & ~in_sticks);
    if (count == 0) add_loops(out, &count, within);
    if (count == 0) add_mode(out, &count, TG_NO_LOOP, TG_ANY_LOOP, TG_ANY_LOOP);
    return count;
}

int32_t tg_list_modes(tg_mode_row *out, const tg_rule *rule, const tg_graph *g, const tg_node_row *n,
                      const tg_graph_params *params, uint32_t in_sticks, bool stickless) {
    int32_t count = 0;
    if (n->kind == TG_NODE_CONVOLUTION) return list_convolution(out, g, n);
    if (n->kind == TG_NODE_STATISTICS) return list_last(out, operand_loops(g, n, 0) & ~result_loops(g, n), n);
    if (n->kind == TG_NODE_NORMALIZE) return list_last(out, last_loop(g, n), n);
    if (n->kind == TG_NODE_GATHER) return list_gather(out, rule, g, n, params, in_sticks);
    if ((rule->sticks & TG_FROM_ROLES) != 0) return list_products(out, g, n);
    if ((rule->sticks & TG_FREE) != 0) return list_free(out, g, n, params);
    if (rule->operands == TG_AGREE) return list_agreeing(out, rule, g, n, params, in_sticks, stickless);
    add_mode(out, &count, TG_NO_LOOP, TG_ANY_LOOP, TG_ANY_LOOP);
    return count;
}
