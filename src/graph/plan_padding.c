/* What lies behind the end of a dimension, where it matters. A stick that is not full holds anything there; most
 * operations do not care, because what they make of it is behind the end again. Two kinds do:
 *
 *     x[.., 150] @ y[150, ..]     x ends within a stick, and the device skips what is behind; y has to go on in rows of
 *                                 zeros up to 192, so that there is something to multiply with
 *     max over 150 in the sticks  a mask says which 42 elements of the last stick are none, and what they count as:
 *                                 -inf for max, +inf for min, 0 for a sum, 1 for and
 *     exp with 150 in the sticks  where it is summed up: masked as -inf, so that it leaves zeros for the sum
 *
 * A tensor that is to be filled is filled once for all products that want it so, and a sum needs no mask where zeros
 * are known to be. Source: torch-spyre, insert_bmm_padding and coordinate masking. */
#include "graph/plan.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

typedef struct search {
    tg_graph_plan     *plan;
    const tg_graph    *g;
    int64_t            node;
    const tg_node_row *n;
    int32_t           *fills; /* chains of fills, by what they are of: the first padding of each; -1 is none */
    uint64_t           mask;  /* their number less 1; a power of 2 */
    bool              *zeros; /* of nodes: some sum counts on zeros behind the end */
} search;

/* ---- what is known of an operand -------------------------------------------------------------- */

static int64_t producer(const search *s, uint32_t k) { return tg_graph_operand(s->g, s->node, (int32_t)k); }

/* The copy that operand k reads; TG_FITS: the tensor itself. */
static int8_t form_of(const search *s, uint32_t k) {
    const tg_problem *p = &s->plan->problem;
    const uint32_t    l = tg_chosen_layout(p, s->plan->modes, producer(s, k));
    return tg_need(p, s->node, k, s->plan->modes[s->node], l);
}

/* The loop in the sticks of operand k, and the elements of a stick; -1 if there is none. */
static int32_t stick_loop(const search *s, uint32_t k, int64_t *stick) {
    const tg_problem *p = &s->plan->problem;
    const int64_t     from = producer(s, k);
    const uint32_t    l = tg_chosen_layout(p, s->plan->modes, from);
    const int8_t      form = form_of(s, k);
    const tg_access   access = tg_operand_at(s->g, s->n, k);
    tg_stick          at;
    if (tg_layout_number(p, from, l) == TG_NO_LAYOUT) return TG_NO_LOOP;
    const tg_spyre *layout = form >= 0 ? tg_copy_layout(p, from, l, form) : tg_candidate(p, from, l);
    tg_stick_of(&at, layout, tg_node_ranges(s->g, s->n), &access);
    *stick = layout->device_size[layout->rank - 1];
    return at.kind == TG_STICK_LOOP ? at.loop : TG_NO_LOOP;
}

/* ---- the list ------------------------------------------------------------------------------------ */

/* The chain of fills that are of a tensor, or of others with the same hash. */
static int32_t *chain_of(const search *s, int64_t tensor, int32_t dim, int64_t valid) {
    const uint64_t what = (uint64_t)tensor * TG_MAX_NDIM + (uint64_t)dim;
    const uint64_t x = what * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)valid;
    return &s->fills[(x * UINT64_C(0xBF58476D1CE4E5B9) >> 32) & s->mask];
}

/* The fill of this copy of this tensor behind the same end of a dimension, if there is one already: they share it.
 * Where each reader has a copy of its own the fills are their own, too. */
static tg_padding_row *find_fill(const search *s, uint32_t k, int32_t dim, int64_t valid) {
    const int8_t  form = form_of(s, k);
    const int64_t tensor = producer(s, k);
    if (form >= 0 && s->plan->problem.params.model == TG_MODEL_TORCH_SPYRE) return NULL;
    for (int32_t i = *chain_of(s, tensor, dim, valid); i >= 0; i = s->plan->paddings.rows[i].next) {
        tg_padding_row *row = &s->plan->paddings.rows[i];
        if (row->padding.tensor == tensor && row->form == form && row->padding.dim == dim &&
            row->padding.valid == valid)
            return row;
    }
    return NULL;
}

static bool push_padding(search *s, tg_padding_row *row) {
    const int32_t at = (int32_t)s->plan->paddings.count;
    int32_t      *chain = chain_of(s, row->padding.tensor, row->padding.dim, row->padding.valid);
    row->next = *chain;
    if (!tg_padding_rows_push(&s->plan->paddings, *row)) return false;
    if (!row->padding.mask) *chain = at;
    return true;
}

static bool add_padding(search *s, uint32_t k, int32_t loop, int64_t stick, bool mask, tg_pad_value value) {
    const tg_access access = tg_operand_at(s->g, s->n, k);
    const int64_t   range = tg_node_ranges(s->g, s->n)[loop];
    const tg_host  *host = &tg_node_at(s->g, producer(s, k))->host;
    const int32_t   dim = mask ? tg_walked_dim(host, &access, loop)
                               : tg_filled_dim(host, tg_node_ranges(s->g, s->n), &access, loop);
    if (range % stick == 0 || dim < 0) return true;
    tg_padding_row row = {{.mask = mask, .tensor = producer(s, k), .dim = dim, .valid = range, .value = value,
                           .node = s->node, .operand = (int32_t)k}, form_of(s, k), -1};
    tg_padding_row *shared = mask ? NULL : find_fill(s, k, dim, range);
    int32_t        *fill = &s->plan->fills[s->n->first_operand + k];
    if (shared != NULL) {
        shared->padding.nreaders++;
        *fill = (int32_t)(shared - s->plan->paddings.rows);
        return true;
    }
    if (!mask) *fill = (int32_t)s->plan->paddings.count;
    row.padding.nreaders = 1;
    return tg_round_up(&row.padding.padded, range, stick) && push_padding(s, &row);
}

/* ---- rules ------------------------------------------------------------------------------------------ */

/* The right operand goes on where the summed dimension of the left one ends within a stick. */
static bool pad_product(search *s) {
    const tg_access result = tg_access_of(s->g, &s->n->result);
    for (uint32_t k = 0; k < 2; k++) {
        int64_t       stick = 1;
        const int32_t loop = stick_loop(s, k, &stick);
        const bool    summed = loop >= 0 && (tg_access_loops(&result) >> loop & 1) == 0;
        if (summed && !add_padding(s, 1 - k, loop, stick, false, TG_PAD_ZERO)) return false;
    }
    return true;
}

static tg_pad_value neutral_value(tg_reduction reduction) {
    static const tg_pad_value values[] = {TG_PAD_ZERO, TG_PAD_LOWEST, TG_PAD_HIGHEST, TG_PAD_ONE, TG_PAD_ONE,
                                          TG_PAD_ZERO, TG_PAD_ZERO};
    return values[reduction];
}

static bool is_exponential(const tg_graph *g, const tg_node_row *n) {
    static const char name[] = "exponential";
    return n->kind == TG_NODE_POINTWISE && n->opcode_len == sizeof name - 1 &&
           memcmp(g->chars.rows + n->opcode, name, sizeof name - 1) == 0;
}

/* Zeros are known to be behind the end: masks make them. Behind the end of a slice are elements. */
static bool has_zeros(const search *s, uint32_t k, int32_t loop) {
    const tg_node_row *from = tg_node_at(s->g, producer(s, k));
    const tg_access    access = tg_operand_at(s->g, s->n, k);
    const int32_t      dim = tg_walked_dim(&from->host, &access, loop);
    const bool         whole = dim >= 0 && from->host.shape[dim] == tg_node_ranges(s->g, s->n)[loop];
    return whole && form_of(s, k) < 0 && is_exponential(s->g, from);
}

static bool pad_reduction(search *s) {
    const tg_access    result = tg_access_of(s->g, &s->n->result);
    const tg_pad_value value = neutral_value(s->n->reduction);
    for (uint32_t k = 0; k < s->n->noperands; k++) {
        int64_t       stick = 1;
        const int32_t loop = stick_loop(s, k, &stick);
        if (loop < 0 || (tg_access_loops(&result) >> loop & 1) != 0) continue;
        if (value == TG_PAD_ZERO && has_zeros(s, k, loop)) continue; /* note_zeros has seen to it */
        if (!add_padding(s, k, loop, stick, true, value)) return false;
    }
    return true;
}

/* Sums of exponentials, as in softmax, want these masked. */
static void note_zeros(search *s) {
    const tg_access result = tg_access_of(s->g, &s->n->result);
    for (uint32_t k = 0; k < s->n->noperands; k++) {
        int64_t       stick = 1;
        const int32_t loop = stick_loop(s, k, &stick);
        if (loop < 0 || (tg_access_loops(&result) >> loop & 1) != 0) continue;
        if (has_zeros(s, k, loop)) s->zeros[producer(s, k)] = true;
    }
}

static bool pad_exponential(search *s) {
    int64_t       stick = 1;
    const int32_t loop = stick_loop(s, 0, &stick);
    return loop < 0 || add_padding(s, 0, loop, stick, true, TG_PAD_LOWEST);
}

static bool pad_node(search *s) {
    if (s->n->kind == TG_NODE_MATMUL) return pad_product(s);
    if (s->n->kind == TG_NODE_REDUCE) return pad_reduction(s);
    return !s->zeros[s->node] || pad_exponential(s);
}

static bool list_all(search *s) {
    for (s->node = 0; s->node < (int64_t)s->g->nodes.count; s->node++) {
        s->n = tg_node_at(s->g, s->node);
        if (s->n->kind == TG_NODE_REDUCE && neutral_value(s->n->reduction) == TG_PAD_ZERO) note_zeros(s);
    }
    for (s->node = 0; s->node < (int64_t)s->g->nodes.count; s->node++) {
        s->n = tg_node_at(s->g, s->node);
        if (!pad_node(s)) return false;
    }
    return true;
}

bool tg_list_paddings(tg_graph_plan *plan) {
    search       s = {.plan = plan, .g = plan->problem.graph};
    const size_t n = s.g->accesses.count;
    plan->fills = malloc((n + 1) * sizeof *plan->fills);
    if (plan->fills == NULL) return false;
    for (size_t i = 0; i < n; i++) plan->fills[i] = -1;
    while (s.mask < n) s.mask = 2 * s.mask + 1;
    s.fills = malloc((s.mask + 1) * sizeof *s.fills);
    s.zeros = calloc(plan->problem.nodes.count + 1, sizeof *s.zeros);
    for (uint64_t i = 0; s.fills != NULL && i <= s.mask; i++) s.fills[i] = -1;
    const bool there = s.fills != NULL && s.zeros != NULL && list_all(&s);
    free(s.fills);
    free(s.zeros);
    plan->summary.npaddings = (int64_t)plan->paddings.count;
    return there;
}

tg_plan_padding tg_graph_plan_padding(const tg_graph_plan *plan, int64_t i) { return plan->paddings.rows[i].padding; }

const char *tg_pad_value_name(tg_pad_value value) {
    static const char *const names[] = {"0", "1", "-inf", "+inf"};
    return (int)value >= 0 && (int)value <= TG_PAD_HIGHEST ? names[value] : NULL;
}
