/* Whether a node can be told: everything else may rely on it. */
#include "graph/model.h"

#include "base/checked.h"
#include "base/error.h"

enum { MOST_TIMES = 1 << 30 };

tg_status tg_check_host(const tg_host *host, tg_error *err) {
    tg_layout       l;
    const tg_status s = tg_layout_strided(&l, host->dtype, host->ndim, host->shape, host->strides, host->offset, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < host->ndim; d++)
        if (host->strides[d] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "dimension %d of the host tensor has stride %d, below 0",
                               (int64_t)d, host->strides[d]);
    return TG_OK;
}

static tg_status check_term(const tg_node *node, const tg_term *t, tg_error *err) {
    if (t->loop != TG_LOOP_UNKNOWN && (t->loop < 0 || t->loop >= node->nloops))
        return tg_fail(err, TG_ERR_ARGUMENT, "a term names loop %d; the node has %d loops", (int64_t)t->loop,
                       (int64_t)node->nloops);
    if (t->loop == TG_LOOP_UNKNOWN && t->extent < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "a term of an unknown index has extent %d, below 1", t->extent);
    if (t->step < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "an access steps by %d along loop %d: it runs backwards", t->step,
                       (int64_t)t->loop);
    if (t->modulus < 0 || t->extent < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "a term has modulus %d and extent %d; both are 0 or more", t->modulus,
                       t->extent);
    return TG_OK;
}

static tg_status check_access(const tg_node *node, const tg_access *a, tg_error *err) {
    if (a->offset < 0) return tg_fail(err, TG_ERR_ARGUMENT, "an access begins at %d, before its tensor", a->offset);
    if (a->nterms < 0 || a->nterms > 2 * TG_MAX_LOOPS)
        return tg_fail(err, TG_ERR_LIMIT, "an access has %d terms; the limit is %d", (int64_t)a->nterms,
                       (int64_t)(2 * TG_MAX_LOOPS));
    tg_status s = TG_OK;
    for (int32_t i = 0; i < a->nterms && s == TG_OK; i++) s = check_term(node, &a->terms[i], err);
    return s;
}

int64_t tg_host_end(const tg_host *host) {
    int64_t last = host->offset;
    for (int32_t d = 0; d < host->ndim; d++) {
        if (host->shape[d] == 0) return 0;
        last += (host->shape[d] - 1) * host->strides[d];
    }
    return last + 1;
}

/* Numbers that a term counts: 0 to one less. */
static int64_t numbers_of(const tg_node *node, const tg_term *t) {
    int64_t n = t->loop == TG_LOOP_UNKNOWN ? t->extent : node->ranges[t->loop];
    if (t->modulus > 0) n = tg_min(n, t->modulus);
    return t->extent > 0 ? tg_min(n, t->extent) : n;
}

static bool has_work(const tg_node *node) {
    for (int32_t l = 0; l < node->nloops; l++)
        if (node->ranges[l] == 0) return false;
    return true;
}

/* The last element that is touched is one of the tensor. k: the operand, or -1 for the result. */
static tg_status check_reach(const tg_node *node, const tg_access *a, const tg_host *host, int64_t k, tg_error *err) {
    const int64_t end = tg_host_end(host);
    int64_t       last = a->offset;
    bool          fits = true;
    if (!has_work(node) || (end == 0 && a->offset == 0)) return TG_OK;
    for (int32_t i = 0; i < a->nterms && fits; i++)
        fits = tg_muladd(&last, last, a->terms[i].step, tg_max(numbers_of(node, &a->terms[i]) - 1, 0));
    if (!fits) return tg_fail(err, TG_ERR_OVERFLOW, "an access goes further than 63 bits count");
    if (last < end) return TG_OK;
    if (k < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "the result is written up to element %d; its tensor ends behind %d", last,
                       end - 1);
    return tg_fail(err, TG_ERR_ARGUMENT, "operand %d is read up to element %d; its tensor ends behind %d", k, last,
                   end - 1);
}

/* ---- windows -------------------------------------------------------------------------- */

/* Every place is counted without a fear of 63 bits. */
static bool counts_places(const tg_node *node, const tg_window *w) {
    const int64_t most = INT64_C(1) << 31;
    int64_t       places = 0;
    if (w->stride == 0 || w->stride < -most || w->stride > most || w->low < -most || w->low > most) return false;
    if (w->size < 0 || w->dilation < 1 || w->base_dilation < 1) return false;
    return tg_muladd(&places, most, tg_max(node->ranges[w->loop], 1), w->stride < 0 ? -w->stride : w->stride) &&
           tg_muladd(&places, places, w->size, w->dilation);
}

static tg_status check_window(const tg_node *node, int32_t i, tg_error *err) {
    const tg_window *w = &node->windows[i];
    if (w->loop < 0 || w->loop >= node->nloops)
        return tg_fail(err, TG_ERR_ARGUMENT, "window %d moves with loop %d; the node has %d loops", (int64_t)i,
                       (int64_t)w->loop, (int64_t)node->nloops);
    if (!counts_places(node, w))
        return tg_fail(err, TG_ERR_ARGUMENT,
                       "window %d has size %d, stride %d, dilation %d of %d and %d places in front: out of range",
                       (int64_t)i, w->size, w->stride, w->dilation, w->base_dilation, w->low);
    if (w->extent < 0 || w->step < 0 || w->kernel_step < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "window %d has %d places %d apart, those of operand 1 %d apart: below 0",
                       (int64_t)i, w->extent, w->step, w->kernel_step);
    return TG_OK;
}

/* The last element that operand k is read at, windows and all. */
static tg_status check_window_reach(const tg_graph *g, const tg_node *node, int32_t k, tg_error *err) {
    const tg_access *a = &node->operands[k];
    const int64_t    end = tg_host_end(&tg_node_at(g, a->node)->host);
    int64_t          last = a->offset;
    bool             fits = true;
    for (int32_t i = 0; i < a->nterms && fits; i++)
        if (a->terms[i].loop != TG_LOOP_UNKNOWN)
            fits = tg_muladd(&last, last, a->terms[i].step, tg_max(numbers_of(node, &a->terms[i]) - 1, 0));
    for (int32_t i = 0; i < node->nwindows && fits; i++) {
        const tg_window *w = &node->windows[i];
        if (w->size == 0) return TG_OK;
        fits = k == 0 ? tg_muladd(&last, last, w->step, tg_max(w->extent - 1, 0))
                      : tg_muladd(&last, last, w->kernel_step, w->size - 1);
    }
    if (fits && (last < end || (end == 0 && a->offset == 0))) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "its windows leave operand %d, which ends behind element %d", (int64_t)k,
                   end - 1);
}

static tg_status check_windows(const tg_graph *g, const tg_node *node, tg_error *err) {
    tg_status s = TG_OK;
    if (node->nwindows == 0) return TG_OK;
    if (node->nwindows < 0 || node->nwindows > TG_MAX_NDIM || node->noperands < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "a node of %d operands has %d windows, of at most %d",
                       (int64_t)node->noperands, (int64_t)node->nwindows, (int64_t)TG_MAX_NDIM);
    for (int32_t i = 0; i < node->nwindows && s == TG_OK; i++) s = check_window(node, i, err);
    for (int32_t k = 0; k < 2 && k < node->noperands && has_work(node) && s == TG_OK; k++)
        s = check_window_reach(g, node, k, err);
    return s;
}

/* ---- the rest ----------------------------------------------------------------------- */

static tg_status check_loops(const tg_node *node, tg_error *err) {
    if (node->nloops < 0 || node->nloops > TG_MAX_LOOPS)
        return tg_fail(err, TG_ERR_LIMIT, "a node has %d loops; the limit is %d", (int64_t)node->nloops,
                       (int64_t)TG_MAX_LOOPS);
    for (int32_t l = 0; l < node->nloops; l++)
        if (node->ranges[l] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "loop %d has range %d, below 0", (int64_t)l, node->ranges[l]);
    return TG_OK;
}

static tg_status check_kind(const tg_node *node, tg_error *err) {
    const bool needs_two =
        node->kind == TG_NODE_MATMUL || node->kind == TG_NODE_CONVOLUTION || node->kind == TG_NODE_CARRY;
    if (node->kind <= TG_NODE_INPUT || tg_node_kind_name(node->kind) == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "kind %d is none of a node that is added", (int64_t)node->kind);
    if ((int)node->reduction < 0 || node->reduction > TG_REDUCE_XOR)
        return tg_fail(err, TG_ERR_ARGUMENT, "reduction %d is not known", (int64_t)node->reduction);
    if (needs_two && node->noperands != 2)
        return tg_fail(err, TG_ERR_ARGUMENT, "a %s has 2 operands, this one %d", tg_node_kind_name(node->kind),
                       (int64_t)node->noperands);
    if (node->kind == TG_NODE_SCATTER && node->noperands != 3)
        return tg_fail(err, TG_ERR_ARGUMENT, "a scatter has 3 operands, this one %d", (int64_t)node->noperands);
    const bool norm = node->kind == TG_NODE_STATISTICS || node->kind == TG_NODE_NORMALIZE;
    if (norm && node->noperands < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "a %s has a tensor as operand 0, this one has no operands",
                       tg_node_kind_name(node->kind));
    if (node->kind == TG_NODE_GATHER && node->noperands < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "a gather has a table as operand 0, this one has no operands");
    if (node->kind != TG_NODE_CONVOLUTION) return TG_OK;
    if (node->in_channel < 0 || node->in_channel >= node->nloops || node->out_channel < 0 ||
        node->out_channel >= node->nloops)
        return tg_fail(err, TG_ERR_ARGUMENT, "the channels of a convolution are loops %d and %d of %d",
                       (int64_t)node->in_channel, (int64_t)node->out_channel, (int64_t)node->nloops);
    return TG_OK;
}

static tg_status check_splits(const tg_node *node, int32_t count, const tg_split *splits, const char *pieces,
                              tg_error *err) {
    for (int32_t i = 0; i < count; i++) {
        const tg_split *p = &splits[i];
        if (p->loop < 0 || p->loop >= node->nloops || p->slices < 1)
            return tg_fail(err, TG_ERR_ARGUMENT, "loop %d of %d loops is to be in %d %s", (int64_t)p->loop,
                           (int64_t)node->nloops, p->slices, pieces);
    }
    return TG_OK;
}

static tg_status check_pins(const tg_node *node, tg_error *err) {
    if (node->times < 0 || node->times > MOST_TIMES)
        return tg_fail(err, TG_ERR_ARGUMENT, "a node runs %d times, of at most %d", node->times, (int64_t)MOST_TIMES);
    tg_status s = check_splits(node, node->npins, node->pins, "slices", err);
    if (s == TG_OK) s = check_splits(node, node->nwishes, node->wishes, "slices", err);
    return s == TG_OK ? check_splits(node, node->ntiles, node->tiles, "tiles", err) : s;
}

/* A wanted layout holds the result, in its format. */
static tg_status check_layout(const tg_node *node, tg_error *err) {
    tg_layout       l;
    const tg_format format = node->has_format ? node->format : tg_format_for_dtype(node->host.dtype);
    if (node->layout == NULL) return TG_OK;
    if (node->kind == TG_NODE_CARRY || node->kind == TG_NODE_SCATTER)
        return tg_fail(err, TG_ERR_ARGUMENT, "the layout of a %s follows from its rule, and cannot be wanted",
                       tg_node_kind_name(node->kind));
    if (node->layout->device_dtype != format || node->layout->arrangement != TG_STANDARD)
        return tg_fail(err, TG_ERR_ARGUMENT,
                       "the layout that is wanted is in format %s, arrangement %s; the result in %s",
                       tg_format_name(node->layout->device_dtype), tg_arrangement_name(node->layout->arrangement),
                       tg_format_name(format));
    return tg_layout_from_spyre(&l, node->layout, &node->host, err);
}

tg_status tg_check_node(const tg_graph *g, const tg_node *node, tg_error *err) {
    tg_status s = check_kind(node, err);
    if (s == TG_OK) s = tg_check_host(&node->host, err);
    if (s == TG_OK) s = check_layout(node, err);
    if (s == TG_OK) s = check_loops(node, err);
    if (s == TG_OK) s = check_pins(node, err);
    if (s == TG_OK) s = check_access(node, &node->result, err);
    if (s == TG_OK) s = check_reach(node, &node->result, &node->host, -1, err);
    if (s == TG_OK && node->noperands < 0)
        s = tg_fail(err, TG_ERR_ARGUMENT, "a node has %d operands", (int64_t)node->noperands);
    for (int32_t k = 0; k < node->noperands && s == TG_OK; k++) {
        const int64_t id = node->operands[k].node;
        if (id < 0 || (size_t)id >= g->nodes.count)
            return tg_fail(err, TG_ERR_ARGUMENT, "operand %d is node %d; there are %d", (int64_t)k, id,
                           (int64_t)g->nodes.count);
        s = check_access(node, &node->operands[k], err);
        if (s == TG_OK) s = check_reach(node, &node->operands[k], &tg_node_at(g, id)->host, k, err);
    }
    return s == TG_OK ? check_windows(g, node, err) : s;
}
