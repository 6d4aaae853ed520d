/* Putting a node together. */
#include "graph/lower.h"
#include "graph/rules.h"

#include <stdlib.h>
#include <string.h>

void tg_draft_start(tg_draft *d, const tg_order *o, tg_node_kind kind, const tg_node_view *result) {
    memset(d, 0, sizeof *d);
    o->l->accesses.count = o->l->terms.count = 0;
    d->node.kind = kind;
    d->node.opcode = o->at.opcode;
    d->node.times = o->l->times;
    d->node.host.dtype = result->dtype;
    d->node.host.ndim = result->ndim;
    tg_node_view dense = *result;
    tg_rows_dense(&dense);
    for (int32_t i = 0; i < result->ndim; i++) {
        d->node.host.shape[i] = result->shape[i];
        d->node.host.strides[i] = dense.step[i];
        (void)tg_draft_loop(d, result->shape[i]);
    }
}

int32_t tg_draft_loop(tg_draft *d, int64_t range) {
    if (d->node.nloops == TG_MAX_LOOPS) return TG_LOOP_NONE;
    d->ranges[d->node.nloops] = range;
    return d->node.nloops++;
}

bool tg_draft_operand(tg_draft *d, const tg_order *o, const tg_node_view *view, const int32_t *loop) {
    tg_access_row row = {view->node, view->offset, (uint32_t)o->l->terms.count, 0};
    for (int32_t i = 0; i < view->ndim; i++) {
        if (view->shape[i] == 0) row.offset = 0; /* nothing is read, and behind the end there is no place */
        if (loop[i] == TG_LOOP_NONE || view->step[i] == 0 || view->shape[i] <= 1) continue;
        const tg_term term = {.loop = loop[i], .step = view->step[i], .extent = view->shape[i]};
        if (!tg_term_rows_push(&o->l->terms, term)) return false;
        row.nterms++;
    }
    d->node.noperands++;
    return tg_access_rows_push(&o->l->accesses, row);
}

bool tg_draft_same(tg_draft *d, const tg_order *o, const tg_node_view *view) {
    int32_t loop[TG_MAX_NDIM];
    for (int32_t i = 0; i < view->ndim; i++) loop[i] = i;
    return tg_draft_operand(d, o, view, loop);
}

tg_window *tg_draft_window(tg_draft *d, const tg_hlo_window_dim *window, int32_t loop, const tg_node_view *view,
                           int32_t dim) {
    tg_window *w = &d->windows[d->node.nwindows++];
    *w = (tg_window){.loop = loop, .size = window->size, .stride = window->stride, .dilation = window->rhs_dilate,
                     .base_dilation = window->lhs_dilate, .low = window->low, .step = view->step[dim],
                     .extent = view->shape[dim]};
    return w;
}

tg_access tg_view_access(tg_term terms[TG_MAX_NDIM], const tg_node_view *view) {
    for (int32_t i = 0; i < view->ndim; i++) terms[i] = (tg_term){.loop = i, .step = view->step[i]};
    return (tg_access){view->node, view->offset, view->ndim, terms};
}

int64_t tg_stick_length(const tg_node_view *view, const tg_order *o) {
    return tg_node_stick(tg_node_at(o->l->graph, view->node));
}

tg_status tg_draft_rest(tg_draft *d, const tg_order *o, int64_t k) {
    int32_t none[TG_MAX_NDIM];
    for (int32_t i = 0; i < TG_MAX_NDIM; i++) none[i] = TG_LOOP_NONE;
    for (; k < o->at.noperands; k++) {
        tg_node_view    view;
        const tg_status s = tg_lower_view(&view, o, k);
        if (s != TG_OK) return s;
        if (!tg_draft_operand(d, o, &view, none)) return tg_lower_no_memory(o);
    }
    return TG_OK;
}

/* Without an access of its own the result is written dimension by dimension. */
static void fill_result(tg_term terms[TG_MAX_NDIM], tg_draft *d) {
    if (d->node.result.terms != NULL) return;
    for (int32_t i = 0; i < d->node.host.ndim; i++)
        terms[i] = (tg_term){.loop = i, .step = d->node.host.strides[i]};
    d->node.result.terms = terms;
    d->node.result.nterms = d->node.host.ndim;
}

static tg_status add(int64_t *id, tg_draft *d, const tg_order *o, tg_access *operands) {
    tg_lowering *l = o->l;
    tg_term      terms[TG_MAX_NDIM];
    for (size_t k = 0; k < l->accesses.count; k++) {
        const tg_access_row *row = &l->accesses.rows[k];
        operands[k] = (tg_access){row->node, row->offset, (int32_t)row->nterms, l->terms.rows + row->first_term};
    }
    fill_result(terms, d);
    d->node.ranges = d->ranges;
    d->node.operands = operands;
    d->node.windows = d->windows;
    d->node.name = (tg_hlo_text){l->name.rows, l->name.count};
    return tg_graph_add(id, l->graph, &d->node, l->err);
}


/* Does the data pick what is read? */
static bool reads_unknown(const tg_lowering *l) {
    for (size_t i = 0; i < l->terms.count; i++)
        if (l->terms.rows[i].loop == TG_LOOP_UNKNOWN) return true;
    return false;
}

/* The host does what cannot have any of its loops in sticks: it puts pieces together that begin nowhere at a whole
 * stick, finds the largest of all elements, picks one of them. */
static void give_up_sticks(tg_draft *d, const tg_order *o) {
    const tg_node_kind kind = d->node.kind;
    uint32_t           loops = 0;
    if (kind != TG_NODE_POINTWISE && kind != TG_NODE_CONCATENATE && kind != TG_NODE_SEARCH && kind != TG_NODE_REDUCE)
        return;
    for (int32_t i = 0; i < d->node.host.ndim; i++)
        if (d->node.host.shape[i] > 1) loops |= UINT32_C(1) << i;
    for (int32_t i = 0; i < d->node.nloops; i++)
        if (d->ranges[i] > 1) loops |= UINT32_C(1) << i;
    if ((loops & ~d->node.no_stick) != 0 || (loops == 0 && (d->node.no_stick == 0 || !reads_unknown(o->l)))) return;
    d->node.kind = TG_NODE_BOUNDARY;
    d->node.reason = tg_text_of("none of its dimensions can lie in sticks");
}

tg_status tg_draft_finish(tg_node_view *result, tg_draft *d, const tg_order *o) {
    enum { FEW = 8 };
    tg_access  few[FEW];
    tg_access *operands = few;
    int64_t    id = 0;
    if (o->l->accesses.count > FEW) operands = malloc(o->l->accesses.count * sizeof *operands);
    if (operands == NULL) return tg_lower_no_memory(o);
    give_up_sticks(d, o);
    const tg_status s = add(&id, d, o, operands);
    if (operands != few) free(operands);
    if (s != TG_OK) return s;
    tg_node_view view = {.node = id, .dtype = d->node.host.dtype, .ndim = d->node.host.ndim};
    memcpy(view.shape, d->node.host.shape, sizeof view.shape);
    tg_rows_dense(&view);
    *result = view;
    return TG_OK;
}

void tg_draft_reshape(tg_draft *d, const tg_order *o, int64_t node, const tg_node_view *result) {
    const tg_node_row *n = tg_node_at(o->l->graph, node);
    d->node.has_format = n->on_device;
    d->node.format = n->format;
    d->node.host.ndim = result->ndim;
    memcpy(d->node.host.shape, result->shape, sizeof d->node.host.shape);
    memcpy(d->node.host.strides, result->step, sizeof d->node.host.strides);
}

tg_status tg_draft_copy(tg_node_view *view, const tg_order *o, tg_node_kind kind) {
    tg_draft d;
    tg_node_view  dense = *view;
    tg_rows_dense(&dense);
    tg_draft_start(&d, o, kind, view);
    tg_draft_reshape(&d, o, view->node, &dense);
    if (kind == TG_NODE_POINTWISE) d.node.opcode = tg_text_of("broadcast");
    const tg_node_view read = *view;
    if (kind != TG_NODE_CONSTANT && !tg_draft_same(&d, o, view)) return tg_lower_no_memory(o);
    const tg_status s = tg_draft_finish(view, &d, o);
    return s == TG_OK && !tg_trace_copy(o, &read) ? tg_lower_no_memory(o) : s;
}

void tg_draft_choose_format(tg_draft *d, const tg_order *o, const tg_node_view *operand) {
    const tg_node_row *n = tg_node_at(o->l->graph, operand->node);
    if (d->node.host.dtype != TG_PRED || operand->ndim == 0 || !n->on_device || d->node.has_format) return;
    d->node.has_format = true;
    d->node.format = n->format;
}

tg_status tg_draft_end(const tg_order *o, tg_draft *d) {
    tg_node_view    view;
    const tg_status s = tg_draft_finish(&view, d, o);
    return s == TG_OK ? tg_lower_put_view(o, &view) : s;
}
