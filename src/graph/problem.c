/* Candidates, node by node in the order in which they run: the layouts that operands may have say which loops can be in
 * the sticks of the result, and each of these makes one layout of it. A tensor has at most one candidate for each
 * dimension in the sticks: in what order the other dimensions follow makes no difference to any rule. */
#include "graph/problem.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/restickify.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers of layouts ----------------------------------------------------------------- */

static uint64_t hash_layout(const tg_spyre *l) {
    uint64_t h = (uint64_t)l->device_dtype * 64 + (uint64_t)l->arrangement;
    for (int32_t k = 0; k < l->rank; k++) {
        h = (h ^ (uint64_t)l->device_size[k]) * UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ (h >> 29) ^ (uint64_t)l->stride_map[k]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return h ^ (h >> 32);
}

static bool same_layout(const tg_spyre *a, const tg_spyre *b) {
    const size_t n = (size_t)a->rank * sizeof(int64_t);
    return a->rank == b->rank && a->device_dtype == b->device_dtype && a->arrangement == b->arrangement &&
           memcmp(a->device_size, b->device_size, n) == 0 && memcmp(a->stride_map, b->stride_map, n) == 0;
}

static size_t find_slot(const tg_problem *p, const tg_spyre *l) {
    size_t slot = hash_layout(l) & (p->nslots - 1);
    while (p->slots[slot] != 0 && !same_layout(&p->layouts.rows[p->slots[slot] - 1].layout, l))
        slot = (slot + 1) & (p->nslots - 1);
    return slot;
}

static bool grow_slots(tg_problem *p) {
    const size_t wanted = p->nslots == 0 ? 256 : p->nslots * 2;
    uint32_t    *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return false;
    free(p->slots);
    p->slots = slots;
    p->nslots = wanted;
    for (size_t i = 0; i < p->layouts.count; i++) p->slots[find_slot(p, &p->layouts.rows[i].layout)] = (uint32_t)i + 1;
    return true;
}

tg_status tg_number_layout(int32_t *number, tg_problem *p, const tg_spyre *layout, tg_error *err) {
    tg_layout_row row = {*layout, 0, 0};
    *number = TG_NO_LAYOUT;
    if (2 * (p->layouts.count + 1) > p->nslots && !grow_slots(p)) return tg_graph_no_memory(err);
    uint32_t *slot = &p->slots[find_slot(p, layout)];
    if (*slot == 0) {
        if (!tg_storage_elements(&row.elements, layout) ||
            !tg_mul(&row.bytes, row.elements, tg_format_bits(layout->device_dtype)))
            return tg_fail(err, TG_ERR_OVERFLOW, "the storage of a layout does not fit 63 bits");
        row.bytes /= 8;
        if (!tg_layout_rows_push(&p->layouts, row)) return tg_graph_no_memory(err);
        *slot = (uint32_t)p->layouts.count;
    }
    *number = (int32_t)*slot - 1;
    return TG_OK;
}

int64_t tg_price(const tg_problem *p, int64_t node, uint32_t l) {
    const int32_t number = tg_layout_number(p, node, l);
    const int64_t times = tg_node_at(p->graph, node)->times; /* fits: add_candidate has checked that */
    if (number == TG_NO_LAYOUT) return 0;
    if (p->params.model == TG_MODEL_TEGULA) return p->layouts.rows[number].bytes * times;
    const tg_host *host = &tg_node_at(p->graph, node)->host;
    int64_t        n = 1; /* fits: tg_graph_add has checked the host tensor */
    for (int32_t d = 0; d < host->ndim; d++) n *= host->shape[d];
    return n * times;
}

const tg_spyre *tg_copy_layout(const tg_problem *p, int64_t node, uint32_t l, int8_t b) {
    const size_t forms = 2 * (size_t)tg_node_at(p->graph, node)->host.ndim;
    return &p->layouts.rows[p->copies.rows[tg_choice_at(p, node)->first_copy + l * forms + (size_t)b]].layout;
}

/* ---- the layout of a result ---------------------------------------------------------------- */

/* What is known while one node is worked on. */
typedef struct work {
    tg_problem        *p;
    int64_t            id;
    const tg_node_row *n;
    tg_stick          *sticks; /* of operand k and candidate l, operands in turn */
    size_t             cap;
} work;

static bool has_loop(const tg_node_row *n, const tg_graph *g, int32_t loop) {
    const tg_access a = tg_access_of(g, &n->result);
    return loop >= 0 && (tg_access_loops(&a) >> loop & 1) != 0;
}

/* torch-spyre's order of dimensions: those that run, those of size 1, the stick; -1 at the end if it has none. */
static tg_status make_layout(tg_spyre *out, const work *w, int32_t dim, bool sparse, tg_error *err) {
    const tg_host  *host = &w->n->host;
    int32_t         order[TG_MAX_NDIM + 1], count = 0;
    tg_spyre_params params = {.dim_order = order, .keep_unit_dims = w->p->params.keep_unit_dims,
                              .has_device_dtype = true, .device_dtype = w->n->format};
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t d = 0; d < host->ndim; d++)
            if (d != dim && (host->shape[d] == 1) == (pass == 1)) order[count++] = d;
    if (sparse) order[count++] = -1;
    else if (dim >= 0) order[count++] = dim;
    params.norder = count;
    if (dim < 0 && !sparse) params.dim_order = NULL; /* the default layout */
    return tg_spyre_default(out, host, &params, err);
}

static bool same_frame(const tg_graph *g, const tg_node_row *n, uint32_t k) {
    const tg_access a = tg_operand_at(g, n, k), r = tg_access_of(g, &n->result);
    const tg_node_row *producer = tg_node_at(g, a.node);
    if (a.nterms != r.nterms || a.offset != r.offset || producer->host.ndim != n->host.ndim ||
        tg_format_bits(producer->format) != tg_format_bits(n->format))
        return false;
    for (int32_t i = 0; i < a.nterms; i++) {
        const tg_term *t = &a.terms[i], *u = &r.terms[i];
        if (t->loop != u->loop || t->step != u->step || t->modulus != u->modulus || t->extent != u->extent)
            return false;
    }
    return memcmp(producer->host.shape, n->host.shape, (size_t)n->host.ndim * sizeof(int64_t)) == 0 &&
           memcmp(producer->host.strides, n->host.strides, (size_t)n->host.ndim * sizeof(int64_t)) == 0;
}

/* The layout of the first operand that is read just as the result is written, and has the loop in its sticks. */
static const tg_spyre *frame_layout(const work *w, int32_t loop) {
    const tg_stick *stick = w->sticks;
    const uint32_t  noperands = w->n->kind == TG_NODE_CARRY ? 1 : w->n->noperands;
    for (uint32_t k = 0; k < noperands; k++) {
        const int64_t  from = tg_graph_operand(w->p->graph, w->id, (int32_t)k);
        const uint32_t nlayouts = tg_choice_at(w->p, from)->nlayouts;
        const bool     same = same_frame(w->p->graph, w->n, k);
        for (uint32_t l = 0; l < nlayouts; l++, stick++) {
            const bool fits = loop >= 0 ? stick->kind == TG_STICK_LOOP && stick->loop == loop
                                        : stick->kind == TG_STICK_NONE;
            if (same && fits) return tg_candidate(w->p, from, l);
        }
    }
    return NULL;
}

/* Rows that the data picks are outermost. */
static bool scatter_layout(tg_spyre *out, const work *w, int32_t loop, const tg_access *result) {
    const int64_t *ranges = tg_node_ranges(w->p->graph, w->n);
    const int32_t  dim = tg_host_dim(&w->n->host, ranges, result, loop);
    const uint32_t picked = tg_unknown_dims(&w->n->host, ranges, result);
    return dim >= 0 && tg_gather_layout(out, &w->n->host, w->n->format, picked, dim);
}

/* A single element may be written anywhere in its tensor (pad), and then has no loop. */
static bool has_extent(const tg_host *host) {
    for (int32_t d = 0; d < host->ndim; d++)
        if (host->shape[d] > 1) return true;
    return false;
}

static tg_status layout_of_mode(tg_spyre *out, const work *w, const tg_rule *rule, const tg_mode_row *mode,
                                tg_error *err) {
    const tg_graph  *g = w->p->graph;
    const tg_access  result = tg_access_of(g, &w->n->result);
    const bool       in_result = has_loop(w->n, g, mode->loop);
    const tg_spyre  *copy = NULL;
    if (w->n->layout >= 0) {
        *out = g->layouts.rows[w->n->layout];
        return TG_OK;
    }
    if ((rule->sticks & TG_DEFAULT_LAYOUT) != 0) return make_layout(out, w, -1, false, err);
    if (rule->kind == TG_NODE_SCATTER && in_result && scatter_layout(out, w, mode->loop, &result)) return TG_OK;
    if ((rule->kind == TG_NODE_POINTWISE && w->n->kind == TG_NODE_POINTWISE) || rule->kind == TG_NODE_CARRY)
        copy = frame_layout(w, in_result ? mode->loop : TG_NO_LOOP);
    if (copy != NULL) {
        *out = *copy;
        out->device_dtype = w->n->format;
        return TG_OK;
    }
    if (in_result) {
        int32_t dim = tg_host_dim(&w->n->host, tg_node_ranges(g, w->n), &result, mode->loop);
        if (dim < 0) dim = tg_walked_dim(&w->n->host, &result, mode->loop); /* channels of a group */
        return make_layout(out, w, dim, false, err);
    }
    const bool      sparse = tg_access_loops(&result) != 0 || has_extent(&w->n->host);
    const tg_status s = make_layout(out, w, -1, sparse, err);
    if (s == TG_OK && rule->kind == TG_NODE_STATISTICS) out->arrangement = TG_EXX2;
    return s;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static tg_status add_candidate(uint32_t *place, work *w, const tg_spyre *layout, tg_error *err) {
    tg_problem    *p = w->p;
    tg_choice_row *row = &p->nodes.rows[w->id];
    int32_t        number = TG_NO_LAYOUT;
    const tg_status s = layout != NULL ? tg_number_layout(&number, p, layout, err) : TG_OK;
    if (s != TG_OK) return s;
    const int64_t bytes = number != TG_NO_LAYOUT ? p->layouts.rows[number].bytes : 0;
    if (w->n->times > 1 && bytes > INT64_MAX / 8 / w->n->times)
        return tg_fail(err, TG_ERR_OVERFLOW, "%d bytes, copied %d times, do not fit 63 bits", bytes, w->n->times);
    for (*place = 0; *place < row->nlayouts; ++*place)
        if (p->choices.rows[row->first_layout + *place] == number) return TG_OK;
    row->nlayouts++;
    return tg_id_rows_push(&p->choices, number) ? TG_OK : tg_graph_no_memory(err);
}

static tg_status add_modes(work *w, const tg_rule *rule, tg_mode_row *modes, int32_t count, tg_error *err) {
    tg_problem    *p = w->p;
    tg_status      s = TG_OK;
    for (int32_t m = 0; m < count && s == TG_OK; m++) {
        tg_spyre layout;
        s = layout_of_mode(&layout, w, rule, &modes[m], err);
        if (s == TG_OK) s = add_candidate(&modes[m].layout, w, &layout, err);
        if (s == TG_OK && !tg_mode_rows_push(&p->modes, modes[m])) s = tg_graph_no_memory(err);
        p->nodes.rows[w->id].nmodes++;
    }
    return s;
}

/* Sticks of all operands with all candidates; the loops in them, and whether some have none though they have loops. */
static tg_status look_at_operands(work *w, uint32_t *in_sticks, bool *stickless, tg_error *err) {
    const tg_graph *g = w->p->graph;
    size_t          count = 0;
    *in_sticks = 0;
    *stickless = false;
    for (uint32_t k = 0; k < w->n->noperands; k++) {
        const tg_access a = tg_operand_at(g, w->n, k);
        const uint32_t  nlayouts = tg_choice_at(w->p, a.node)->nlayouts;
        if (count + nlayouts > w->cap) {
            const size_t cap = 2 * (count + nlayouts);
            tg_stick    *more = realloc(w->sticks, cap * sizeof *more);
            if (more == NULL) return tg_graph_no_memory(err);
            w->sticks = more;
            w->cap = cap;
        }
        for (uint32_t l = 0; l < nlayouts; l++, count++) {
            tg_stick *stick = &w->sticks[count];
            *stick = (tg_stick){.loop = TG_NO_LOOP};
            if (tg_layout_number(w->p, a.node, l) == TG_NO_LAYOUT) continue;
            tg_stick_of(stick, tg_candidate(w->p, a.node, l), tg_node_ranges(g, w->n), &a);
            if (stick->kind == TG_STICK_LOOP) *in_sticks |= UINT32_C(1) << stick->loop;
            if (stick->kind == TG_STICK_NONE && tg_access_loops(&a) != 0) *stickless = true;
        }
    }
    return TG_OK;
}

static tg_status add_input(work *w, tg_error *err) {
    const tg_graph *g = w->p->graph;
    tg_mode_row     mode = {TG_NO_LOOP, {TG_NO_LOOP, TG_NO_LOOP}, 0};
    tg_spyre        layout;
    tg_status       s = TG_OK;
    if (w->n->layout >= 0) layout = g->layouts.rows[w->n->layout];
    else s = make_layout(&layout, w, -1, false, err);
    if (s == TG_OK) s = add_candidate(&mode.layout, w, &layout, err);
    w->p->nodes.rows[w->id].nmodes = 1;
    return s != TG_OK || tg_mode_rows_push(&w->p->modes, mode) ? s : tg_graph_no_memory(err);
}

static tg_status add_off_device(work *w, tg_error *err) {
    const tg_mode_row mode = {TG_NO_LOOP, {TG_ANY_LOOP, TG_ANY_LOOP}, 0};
    uint32_t          place;
    const tg_status   s = add_candidate(&place, w, NULL, err);
    w->p->nodes.rows[w->id].nmodes = 1;
    return s != TG_OK || tg_mode_rows_push(&w->p->modes, mode) ? s : tg_graph_no_memory(err);
}

/* A wanted layout leaves the modes that have its loop in the sticks. */
static tg_status want_layout(tg_mode_row *modes, int32_t *count, const work *w, const tg_rule *rule, tg_error *err) {
    const tg_graph *g = w->p->graph;
    const tg_access result = tg_access_of(g, &w->n->result);
    tg_stick        stick;
    int32_t         kept = 0;
    if (w->n->layout < 0) return TG_OK;
    tg_stick_of(&stick, &g->layouts.rows[w->n->layout], tg_node_ranges(g, w->n), &result);
    for (int32_t m = 0; m < *count; m++) {
        const bool in_result = has_loop(w->n, g, modes[m].loop);
        const bool fits = stick.kind == TG_STICK_LOOP ? in_result && modes[m].loop == stick.loop
                                                      : stick.kind == TG_STICK_NONE && !in_result;
        if (fits) modes[kept++] = modes[m];
    }
    *count = kept;
    tg_spyre   other = g->layouts.rows[w->n->layout];
    const bool has_default = (rule->sticks & TG_DEFAULT_LAYOUT) != 0;
    if (has_default && make_layout(&other, w, -1, false, NULL) == TG_OK) *count = 1;
    if (*count > 0 && same_layout(&other, &g->layouts.rows[w->n->layout])) return TG_OK;
    const char *name = g->chars.rows + w->n->name;
    return tg_fail(err, TG_ERR_ARGUMENT, "%t cannot have the layout that is wanted, device_size=%v stride_map=%v: %s",
                   name, (size_t)w->n->name_len, g->layouts.rows[w->n->layout].device_size,
                   g->layouts.rows[w->n->layout].rank, g->layouts.rows[w->n->layout].stride_map,
                   g->layouts.rows[w->n->layout].rank, rule->words);
}

static tg_status add_node(work *w, tg_error *err) {
    tg_problem   *p = w->p;
    tg_choice_row row = {.first_layout = (uint32_t)p->choices.count, .first_mode = (uint32_t)p->modes.count};
    tg_mode_row   modes[TG_MAX_MODES_OF_NODE];
    tg_rule       room;
    uint32_t      in_sticks;
    bool          stickless;
    if (!tg_choice_rows_push(&p->nodes, row)) return tg_graph_no_memory(err);
    tg_status s = look_at_operands(w, &in_sticks, &stickless, err);
    if (s != TG_OK) return s;
    if (!w->n->on_device) s = add_off_device(w, err);
    else if (w->n->kind == TG_NODE_INPUT) s = add_input(w, err);
    else {
        const tg_rule *rule = tg_rule_of(&room, p->graph, w->n, &p->params);
        int32_t        count = tg_list_modes(modes, rule, p->graph, w->n, &p->params, in_sticks, stickless);
        s = want_layout(modes, &count, w, rule, err);
        if (s == TG_OK) s = add_modes(w, rule, modes, count, err);
    }
    return s == TG_OK ? tg_problem_need(p, w->id, w->sticks, err) : s;
}

tg_status tg_problem_make(tg_problem *out, const tg_graph *graph, const tg_graph_params *params, tg_error *err) {
    tg_problem p = {.graph = graph, .params = *params};
    work       w = {.p = &p};
    tg_status  s = TG_OK;
    for (w.id = 0; w.id < (int64_t)graph->nodes.count && s == TG_OK; w.id++) {
        w.n = tg_node_at(graph, w.id);
        s = add_node(&w, err);
    }
    free(w.sticks);
    if (s == TG_OK) *out = p;
    else tg_problem_free(&p);
    return s;
}

void tg_problem_free(tg_problem *p) {
    free(p->nodes.rows);
    free(p->modes.rows);
    free(p->choices.rows);
    free(p->layouts.rows);
    free(p->slots);
    free(p->copies.rows);
    free(p->needs.rows);
    free(p->need_at.rows);
}
