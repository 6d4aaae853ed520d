/* Nodes from shapes. Each operation lists its loops, then says of every dimension of an operand which loop walks it:
 *
 *     matmul x[2,5,7] y[7,3]      loops: result 2, 5, 3; summed 7
 *       x: dimensions walked by loops 0 1 3       y: by loops 3 2 */
#include "graph/model.h"

#include "base/checked.h"
#include "base/error.h"

#include <tegula/graph_ops.h>

#include <stdlib.h>
#include <string.h>

/* A node that is being put together. */
typedef struct making {
    tg_graph  *graph;
    tg_node    node;
    int64_t    ranges[TG_MAX_LOOPS];
    tg_access *accesses;
    tg_term   *terms; /* TG_MAX_NDIM for each operand */
    tg_term    result[TG_MAX_NDIM];
} making;

tg_operand tg_graph_whole(const tg_graph *graph, int64_t node) {
    const tg_host *host = &tg_node_at(graph, node)->host;
    tg_operand     o = {.node = node, .view = {.ndim = host->ndim}};
    memcpy(o.view.shape, host->shape, (size_t)host->ndim * sizeof *host->shape);
    memcpy(o.view.strides, host->strides, (size_t)host->ndim * sizeof *host->strides);
    return o;
}

/* ---- checks ---------------------------------------------------------------------------- */

/* The largest element that is read; -1 of none. */
static bool last_of(int64_t *out, int32_t ndim, const int64_t *shape, const int64_t *strides, int64_t offset) {
    *out = offset;
    for (int32_t d = 0; d < ndim; d++) {
        if (shape[d] == 0) return *out = -1, true;
        if (!tg_muladd(out, *out, shape[d] - 1, strides[d])) return false;
    }
    return true;
}

static tg_status check_view(const tg_graph *g, int32_t k, const tg_operand *o, tg_error *err) {
    const tg_view *v = &o->view;
    const int64_t  number = k;
    int64_t        last = 0, end = 0;
    if (o->node < 0 || (size_t)o->node >= g->nodes.count)
        return tg_fail(err, TG_ERR_ARGUMENT, "operand %d is node %d; there are %d", number, o->node,
                       (int64_t)g->nodes.count);
    if (v->ndim < 0 || v->ndim > TG_MAX_NDIM)
        return tg_fail(err, TG_ERR_LIMIT, "operand %d has %d dimensions; the limit is %d", number, (int64_t)v->ndim,
                       (int64_t)TG_MAX_NDIM);
    for (int32_t d = 0; d < v->ndim; d++)
        if (v->shape[d] < 0 || v->strides[d] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "dimension %d of operand %d has size %d and stride %d: both "
                               "are 0 or more", (int64_t)d, number, v->shape[d], v->strides[d]);
    const tg_host *host = &tg_node_at(g, o->node)->host;
    if (v->offset < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "operand %d begins at %d, before its tensor", number, v->offset);
    if (!last_of(&last, v->ndim, v->shape, v->strides, v->offset))
        return tg_fail(err, TG_ERR_OVERFLOW, "the last element of operand %d does not fit 64 bits", number);
    if (!last_of(&end, host->ndim, host->shape, host->strides, 0) || last <= end) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "operand %d reads up to element %d of node %d, whose last one is %d", number,
                   last, o->node, end);
}

static tg_status check_views(const tg_graph *g, int32_t n, const tg_operand *operands, tg_error *err) {
    tg_status s = n < 0 ? tg_fail(err, TG_ERR_ARGUMENT, "a node has %d operands", (int64_t)n) : TG_OK;
    for (int32_t k = 0; k < n && s == TG_OK; k++) s = check_view(g, k, &operands[k], err);
    return s;
}

/* ---- putting it together ------------------------------------------------------------------ */

static tg_status start(making *m, tg_graph *graph, const tg_node *node, int32_t n, const tg_operand *operands,
                       tg_error *err) {
    const tg_status s = check_views(graph, n, operands, err);
    if (s != TG_OK) return s;
    m->graph = graph;
    m->node = *node;
    m->node.nloops = m->node.noperands = 0;
    m->accesses = malloc(((size_t)n + 1) * sizeof *m->accesses);
    m->terms = malloc(((size_t)n + 1) * TG_MAX_NDIM * sizeof *m->terms);
    if (m->accesses != NULL && m->terms != NULL) return TG_OK;
    free(m->accesses);
    free(m->terms);
    return tg_graph_no_memory(err);
}

static void stop(making *m) {
    free(m->accesses);
    free(m->terms);
}

static int32_t add_loop(making *m, int64_t range) {
    m->ranges[m->node.nloops] = range;
    return m->node.nloops++;
}

/* Truth values are kept in the format of what they were made from. */
static void choose_format(making *m, const tg_operand *o) {
    const tg_node_row *n = tg_node_at(m->graph, o->node);
    if (m->node.host.dtype != TG_PRED || o->view.ndim == 0 || !n->on_device || m->node.has_format) return;
    m->node.has_format = true;
    m->node.format = n->format;
}

/* Dimension d of the operand is walked by loop[d]. */
static void add_operand(making *m, const tg_operand *o, const int32_t *loop) {
    choose_format(m, o);
    tg_access *a = &m->accesses[m->node.noperands];
    tg_term   *terms = &m->terms[(size_t)m->node.noperands * TG_MAX_NDIM];
    *a = (tg_access){.node = o->node, .offset = o->view.offset, .terms = terms};
    for (int32_t d = 0; d < o->view.ndim; d++)
        if (o->view.shape[d] != 1)
            terms[a->nterms++] = (tg_term){.loop = loop[d], .step = o->view.strides[d], .extent = o->view.shape[d]};
    m->node.noperands++;
}

/* The same, the last dimension by loop last - 1 and so on. */
static void add_aligned(making *m, const tg_operand *o, int32_t last) {
    int32_t loop[TG_MAX_NDIM];
    for (int32_t d = 0; d < o->view.ndim; d++) loop[d] = last - o->view.ndim + d;
    add_operand(m, o, loop);
}

static bool same_shape(const tg_host *host, int32_t ndim, const int64_t *shape) {
    return host->ndim == ndim && memcmp(host->shape, shape, (size_t)ndim * sizeof *shape) == 0;
}

/* The first loops are the dimensions of the result. */
static tg_status set_result(making *m, int32_t ndim, const int64_t *shape, tg_error *err) {
    tg_host        *host = &m->node.host;
    const tg_dtype  dtype = host->dtype;
    if (host->ndim == -1) {
        const tg_status s = tg_host_contiguous(host, dtype, ndim, shape, err);
        if (s != TG_OK) return s;
    } else if (!same_shape(host, ndim, shape)) {
        const int32_t said = host->ndim < 0 ? 0 : host->ndim > TG_MAX_NDIM ? TG_MAX_NDIM : host->ndim;
        return tg_fail(err, TG_ERR_ARGUMENT, "the result has shape %v, and not %v", shape, ndim, host->shape, said);
    }
    for (int32_t d = 0; d < ndim; d++) (void)add_loop(m, shape[d]);
    return TG_OK;
}

static tg_status finish(int64_t *id, making *m, tg_error *err) {
    const int32_t ndim = m->node.host.ndim;
    for (int32_t d = 0; d < ndim; d++) m->result[d] = (tg_term){.loop = d, .step = m->node.host.strides[d]};
    m->node.result = (tg_access){.nterms = ndim, .terms = m->result};
    m->node.ranges = m->ranges;
    m->node.operands = m->accesses;
    return tg_graph_add(id, m->graph, &m->node, err);
}

/* ---- element by element ------------------------------------------------------------------------ */

/* shape[0, *ndim) grows and takes in that of operand k, aligned at the end. */
static tg_status broadcast(int64_t *shape, int32_t *ndim, int32_t k, const int64_t *more, int32_t nmore,
                           tg_error *err) {
    if (nmore > *ndim) {
        memmove(shape + nmore - *ndim, shape, (size_t)*ndim * sizeof *shape);
        for (int32_t d = 0; d < nmore - *ndim; d++) shape[d] = 1;
        *ndim = nmore;
    }
    for (int32_t d = 0; d < nmore; d++) {
        int64_t *size = &shape[*ndim - nmore + d];
        if (*size == 1) *size = more[d];
        else if (more[d] != 1 && more[d] != *size)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "operand %d has shape %v, which cannot be broadcast to %v",
                               (int64_t)k, more, nmore, shape, *ndim);
    }
    return TG_OK;
}

static tg_status broadcast_all(int64_t *shape, int32_t *ndim, const tg_host *host, int32_t n,
                               const tg_operand *operands, tg_error *err) {
    tg_status s = TG_OK;
    *ndim = 0;
    for (int32_t k = 0; k < n && s == TG_OK; k++)
        s = broadcast(shape, ndim, k, operands[k].view.shape, operands[k].view.ndim, err);
    if (s == TG_OK && host->ndim >= 0 && host->ndim <= TG_MAX_NDIM && host->ndim >= *ndim)
        s = broadcast(shape, ndim, n, host->shape, host->ndim, err); /* the result may be larger */
    return s;
}

static tg_status check_pointwise(const tg_node *node, int32_t n, tg_error *err) {
    const tg_node_kind k = node->kind;
    if (k != TG_NODE_POINTWISE && k != TG_NODE_CLONE && k != TG_NODE_CONSTANT && k != TG_NODE_DEFAULT &&
        k != TG_NODE_BOUNDARY)
        return tg_fail(err, TG_ERR_ARGUMENT, "a %s does not work element by element",
                       tg_node_kind_name(k) != NULL ? tg_node_kind_name(k) : "node of that kind");
    if (n == 0 && node->host.ndim < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "a node without operands needs a shape");
    return TG_OK;
}

tg_status tg_graph_add_pointwise(int64_t *id, tg_graph *graph, const tg_node *node, int32_t noperands,
                                 const tg_operand *operands, tg_error *err) {
    making    m;
    int64_t   shape[TG_MAX_NDIM];
    int32_t   ndim = 0;
    tg_status s = check_pointwise(node, noperands, err);
    if (s == TG_OK) s = start(&m, graph, node, noperands, operands, err);
    if (s != TG_OK) return s;
    s = broadcast_all(shape, &ndim, &node->host, noperands, operands, err);
    if (s == TG_OK) s = set_result(&m, ndim, shape, err);
    for (int32_t k = 0; k < noperands && s == TG_OK; k++) add_aligned(&m, &operands[k], ndim);
    if (s == TG_OK) s = finish(id, &m, err);
    stop(&m);
    return s;
}

/* ---- reductions ---------------------------------------------------------------------------------- */

static tg_status mark_dims(uint32_t *out, int32_t ndim, int32_t ndims, const int32_t *dims, tg_error *err) {
    *out = 0;
    for (int32_t i = 0; i < ndims; i++) {
        if (dims[i] < 0 || dims[i] >= ndim)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "there is no dimension %d to reduce; the operand has %d",
                               (int64_t)dims[i], (int64_t)ndim);
        if ((*out >> dims[i] & 1) != 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "dimension %d is reduced twice", (int64_t)dims[i]);
        *out |= UINT32_C(1) << dims[i];
    }
    return TG_OK;
}

static tg_status add_reduce(making *m, const tg_operand *o, uint32_t gone, bool keep_dims, tg_error *err) {
    int64_t shape[TG_MAX_NDIM];
    int32_t loop[TG_MAX_NDIM], ndim = 0;
    for (int32_t d = 0; d < o->view.ndim; d++) {
        const bool is_gone = (gone >> d & 1) != 0;
        loop[d] = ndim;
        if (keep_dims || !is_gone) shape[ndim++] = is_gone ? 1 : o->view.shape[d];
    }
    const tg_status s = set_result(m, ndim, shape, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < o->view.ndim; d++)
        if ((gone >> d & 1) != 0) loop[d] = add_loop(m, o->view.shape[d]);
    if (m->node.reduction == TG_REDUCE_PRODUCT) /* the device multiplies across sticks only */
        for (int32_t l = ndim; l < m->node.nloops; l++) m->node.no_stick |= UINT32_C(1) << l;
    add_operand(m, o, loop);
    return TG_OK;
}

tg_status tg_graph_add_reduce(int64_t *id, tg_graph *graph, const tg_node *node, const tg_operand *operand,
                              int32_t ndims, const int32_t *dims, bool keep_dims, tg_error *err) {
    making    m;
    uint32_t  gone = 0;
    tg_status s = start(&m, graph, node, 1, operand, err);
    if (s != TG_OK) return s;
    m.node.kind = TG_NODE_REDUCE;
    s = mark_dims(&gone, operand->view.ndim, ndims, dims, err);
    if (s == TG_OK) s = add_reduce(&m, operand, gone, keep_dims, err);
    if (s == TG_OK) s = finish(id, &m, err);
    stop(&m);
    return s;
}

/* ---- products --------------------------------------------------------------------------------------- */

/* Loops of a product: those of the result, in which m and n are if x and y have them, then k. */
static tg_status add_matmul(making *m, const tg_operand *x, const tg_operand *y, tg_error *err) {
    const tg_view *a = &x->view, *b = &y->view;
    const bool     rows = a->ndim > 1, columns = b->ndim > 1;
    int64_t        shape[TG_MAX_NDIM];
    int32_t        left[TG_MAX_NDIM], right[TG_MAX_NDIM], batch = 0;
    if (a->ndim == 0 || b->ndim == 0 || a->shape[a->ndim - 1] != b->shape[columns ? b->ndim - 2 : 0])
        return tg_fail(err, TG_ERR_ARGUMENT, "x of shape %v and y of shape %v are no product: the last dimension of x "
                       "is the last but one of y", a->shape, a->ndim, b->shape, b->ndim);
    const int32_t before_x = rows ? a->ndim - 2 : 0, before_y = columns ? b->ndim - 2 : 0;
    tg_status     s = broadcast(shape, &batch, 0, a->shape, before_x, err);
    if (s == TG_OK) s = broadcast(shape, &batch, 1, b->shape, before_y, err);
    if (s != TG_OK) return s;
    int32_t ndim = batch;
    if (rows) shape[ndim++] = a->shape[a->ndim - 2];
    if (columns) shape[ndim++] = b->shape[b->ndim - 1];
    s = set_result(m, ndim, shape, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < before_x; d++) left[d] = batch - before_x + d;
    for (int32_t d = 0; d < before_y; d++) right[d] = batch - before_y + d;
    if (rows) left[before_x] = batch;
    if (columns) right[b->ndim - 1] = ndim - 1;
    left[a->ndim - 1] = right[columns ? b->ndim - 2 : 0] = add_loop(m, a->shape[a->ndim - 1]);
    add_operand(m, x, left);
    add_operand(m, y, right);
    return TG_OK;
}

tg_status tg_graph_add_matmul(int64_t *id, tg_graph *graph, const tg_node *node, const tg_operand *x,
                              const tg_operand *y, tg_error *err) {
    const tg_operand operands[2] = {*x, *y};
    making           m;
    tg_status        s = start(&m, graph, node, 2, operands, err);
    if (s != TG_OK) return s;
    m.node.kind = TG_NODE_MATMUL;
    s = add_matmul(&m, x, y, err);
    if (s == TG_OK) s = finish(id, &m, err);
    stop(&m);
    return s;
}

/* ---- pieces --------------------------------------------------------------------------------------------- */

static tg_status join_shapes(int64_t *shape, int32_t n, const tg_operand *operands, int32_t dim, tg_error *err) {
    const tg_view *first = &operands[0].view;
    memcpy(shape, first->shape, (size_t)first->ndim * sizeof *shape);
    for (int32_t k = 1; k < n; k++) {
        const tg_view *v = &operands[k].view;
        bool           fits = v->ndim == first->ndim;
        for (int32_t d = 0; d < first->ndim && fits; d++) fits = d == dim || v->shape[d] == shape[d];
        if (!fits)
            return tg_fail(err, TG_ERR_ARGUMENT, "operand %d has shape %v, and operand 0 %v: all are the same but "
                           "along dimension %d", (int64_t)k, v->shape, v->ndim, first->shape, first->ndim,
                           (int64_t)dim);
        if (!tg_add(&shape[dim], shape[dim], v->shape[dim]))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, dim, "dimension %d of the result does not fit 64 bits",
                               (int64_t)dim);
    }
    return TG_OK;
}

static int64_t stick_of(const tg_node *node) {
    const tg_format format = node->has_format ? node->format : tg_format_for_dtype(node->host.dtype);
    const int32_t   bits = format != TG_FORMAT_INVALID ? tg_format_bits(format) : 0;
    return bits > 0 ? 8 * TG_SPYRE_STICK_BYTES / bits : 1;
}

static void place_pieces(making *m, int32_t n, const tg_operand *operands, int32_t dim) {
    int64_t  stick, begin = 0;
    uint32_t loops = 0;
    for (int32_t k = 0; k < n; k++) add_aligned(m, &operands[k], m->node.nloops);
    stick = stick_of(&m->node);
    for (int32_t k = 0; k < n; k++) {
        if (begin % stick != 0) m->node.no_stick |= UINT32_C(1) << dim;
        begin += operands[k].view.shape[dim];
    }
    for (int32_t l = 0; l < m->node.nloops; l++)
        if (m->ranges[l] > 1) loops |= UINT32_C(1) << l;
    if (loops != 0 && (loops & ~m->node.no_stick) == 0) m->node.kind = TG_NODE_BOUNDARY;
}

tg_status tg_graph_add_concatenate(int64_t *id, tg_graph *graph, const tg_node *node, int32_t noperands,
                                   const tg_operand *operands, int32_t dim, tg_error *err) {
    making    m;
    int64_t   shape[TG_MAX_NDIM];
    tg_status s = TG_OK;
    if (noperands < 1) return tg_fail(err, TG_ERR_ARGUMENT, "there is nothing to concatenate");
    s = start(&m, graph, node, noperands, operands, err);
    if (s != TG_OK) return s;
    m.node.kind = TG_NODE_CONCATENATE;
    const int32_t ndim = operands[0].view.ndim;
    if (dim < 0 || dim >= ndim)
        s = tg_fail(err, TG_ERR_ARGUMENT, "there is no dimension %d to concatenate along; operand 0 has %d",
                    (int64_t)dim, (int64_t)ndim);
    if (s == TG_OK) s = join_shapes(shape, noperands, operands, dim, err);
    if (s == TG_OK) s = set_result(&m, ndim, shape, err);
    if (s == TG_OK) place_pieces(&m, noperands, operands, dim);
    if (s == TG_OK) s = finish(id, &m, err);
    stop(&m);
    return s;
}
