/* What an operand needs of its producer's layout: the loop that the mode wants in its sticks is there, or a restickify
 * puts it there, or nothing does. */
#include "graph/problem.h"

#include "base/error.h"
#include "graph/restickify.h"

/* An operand, as one node reads it. */
typedef struct use {
    tg_problem        *p;
    const tg_node_row *n, *producer;
    const tg_rule     *rule;
    tg_access          access;
    const tg_stick    *sticks; /* for each candidate of the producer */
    bool               picks;  /* it is the table of a gather */
    bool               fixed;  /* it is written over, so that no copy helps */
} use;

static bool fits(const use *u, const tg_stick *s, int32_t loop) {
    if (loop == TG_ANY_LOOP) return true;
    if (loop == TG_NO_LOOP) return s->kind == TG_STICK_NONE;
    return s->kind == TG_STICK_LOOP && s->loop == loop && (!u->picks || s->unknown_outermost);
}

/* ---- copies ------------------------------------------------------------------------------ */

/* Where the number of copy b of candidate l is kept. */
static int32_t *copy_place(const use *u, uint32_t l, int32_t form) {
    const tg_choice_row *row = tg_choice_at(u->p, u->access.node);
    return &u->p->copies.rows[row->first_copy + (size_t)l * 2 * (size_t)u->producer->host.ndim + (size_t)form];
}

static bool reserve_copies(const use *u) {
    tg_choice_row *row = &u->p->nodes.rows[u->access.node];
    if (row->has_copies) return true;
    const size_t count = (size_t)row->nlayouts * 2 * (size_t)u->producer->host.ndim;
    if (!tg_id_rows_reserve(&u->p->copies, count)) return false;
    row->first_copy = (uint32_t)u->p->copies.count;
    row->has_copies = true;
    for (size_t i = 0; i < count; i++) u->p->copies.rows[u->p->copies.count++] = TG_UNKNOWN_LAYOUT;
    return true;
}

static bool make_copy(tg_spyre *out, const use *u, uint32_t l, int32_t dim) {
    const int64_t *ranges = tg_node_ranges(u->p->graph, u->n);
    if (u->picks) return tg_gather_layout(out, &u->producer->host, u->producer->format,
                                          tg_unknown_dims(&u->producer->host, ranges, &u->access), dim);
    return tg_restickify_to(out, tg_candidate(u->p, u->access.node, l), &u->producer->host, dim);
}

/* The number of copy `form` of candidate l, TG_NO_LAYOUT if there is none. False without memory. */
static bool find_copy(int32_t *number, const use *u, uint32_t l, int32_t dim, int32_t form) {
    tg_spyre to;
    if (!reserve_copies(u)) return false;
    *number = *copy_place(u, l, form);
    if (*number != TG_UNKNOWN_LAYOUT) return true;
    *number = TG_NO_LAYOUT;
    if (make_copy(&to, u, l, dim) && tg_number_layout(number, u->p, &to, NULL) == TG_ERR_NOMEM) return false;
    *copy_place(u, l, form) = *number;
    return true;
}

/* ---- needs ---------------------------------------------------------------------------------- */

static bool judge(int8_t *need, const use *u, uint32_t l, int32_t loop) {
    const tg_stick *s = &u->sticks[l];
    int32_t         number = TG_NO_LAYOUT;
    tg_stick        there;
    *need = TG_FITS;
    if (fits(u, s, loop)) return true;
    *need = TG_IMPOSSIBLE;
    if (loop < 0 || !u->rule->restickify || u->fixed) return true;
    if (u->p->graph->device_formats && u->producer->format != TG_SEN169_FP16) return true;
    /* what is read is a single position in each stick: torch-spyre does not see which dimension runs there */
    if (s->kind == TG_STICK_NONE && u->p->params.model == TG_MODEL_TORCH_SPYRE) return true;
    const int64_t *ranges = tg_node_ranges(u->p->graph, u->n);
    const int32_t  dim = u->p->params.model == TG_MODEL_TORCH_SPYRE
                             ? tg_host_dim(&u->producer->host, ranges, &u->access, loop)
                             : tg_walked_dim(&u->producer->host, &u->access, loop);
    const int32_t  form = u->picks ? u->producer->host.ndim + dim : dim;
    if (dim < 0) return true;
    if (!find_copy(&number, u, l, dim, form)) return false;
    if (number == TG_NO_LAYOUT) return true;
    tg_stick_of(&there, &u->p->layouts.rows[number].layout, ranges, &u->access);
    if (number != tg_layout_number(u->p, u->access.node, l) && fits(u, &there, loop)) *need = (int8_t)form;
    return true;
}

static bool need_operand(const use *u, int64_t node, uint32_t k) {
    tg_problem          *p = u->p;
    const tg_choice_row *row = tg_choice_at(p, node), *from = tg_choice_at(p, u->access.node);
    const uint32_t       nmodes = row->nmodes, nlayouts = from->nlayouts;
    if (!tg_need_rows_reserve(&p->needs, (size_t)nmodes * nlayouts)) return false;
    for (uint32_t m = 0; m < nmodes; m++) {
        const int32_t loop = tg_wanted_loop(u->rule, p->graph, u->n, tg_mode_at(p, node, m), (int32_t)k);
        const bool    never = tg_lacks_fill(u->rule, p->graph, u->n, tg_mode_at(p, node, m), (int32_t)k);
        for (uint32_t l = 0; l < nlayouts; l++) {
            int8_t need = never ? TG_IMPOSSIBLE : TG_FITS;
            if (!never && tg_layout_number(p, u->access.node, l) != TG_NO_LAYOUT && !judge(&need, u, l, loop))
                return false;
            p->needs.rows[p->needs.count++] = need;
        }
    }
    return true;
}

tg_status tg_problem_need(tg_problem *p, int64_t node, const tg_stick *sticks, tg_error *err) {
    const tg_graph    *g = p->graph;
    const tg_node_row *n = tg_node_at(g, node);
    tg_rule            room;
    const tg_rule     *rule = tg_rule_of(&room, g, n, &p->params);
    for (uint32_t k = 0; k < n->noperands; k++) {
        use u = {p, n, NULL, rule, tg_operand_at(g, n, k), sticks, false, n->kind == TG_NODE_CARRY && k == 0};
        u.producer = tg_node_at(g, u.access.node);
        u.picks = n->kind == TG_NODE_GATHER && k == 0 && rule->operands == TG_ROLES;
        sticks += tg_choice_at(p, u.access.node)->nlayouts;
        if (!tg_offset_rows_push(&p->need_at, p->needs.count) || !need_operand(&u, node, k))
            return tg_graph_no_memory(err);
    }
    return TG_OK;
}
