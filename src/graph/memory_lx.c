/* What may stay in LX, and what does. A tensor may if every core reads the piece that it has written itself: its
 * producer and all its readers are kernels that slice it among cores in the same way. */
#include "graph/memory.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/bundle.h"
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

typedef struct work {
    tg_memory    *m;
    tg_int_rows   splits;     /* slicings of the nodes one after the other: splits, chunks and radices of their loops */
    size_t       *first;      /* of each node */
    int64_t      *cores;
    int64_t      *number;     /* of each tensor among the buffers, -1 if it is none */
    int64_t      *step;       /* of each buffer */
    tg_buffer    *buffers;
    int64_t       nbuffers;
    int64_t      *uses;       /* of all buffers */
    int64_t      *parents;
    tg_placement *placements;
} work;

/* ---- slices -------------------------------------------------------------------------------------- */

static tg_status keep_slices(work *w, int64_t node, tg_error *err) {
    tg_slicing      found;
    const size_t    n = (size_t)tg_node_at(w->m->graph, node)->nloops;
    const tg_status s = tg_slice_node(&found, w->m->graph, w->m->plan, node, &w->m->params.division, err);
    if (s != TG_OK) return s;
    if (!tg_int_rows_reserve(&w->splits, 3 * n + 1)) return tg_graph_no_memory(err);
    w->first[node] = w->splits.count;
    w->cores[node] = found.division.cores;
    int64_t *to = w->splits.rows + w->splits.count;
    memcpy(to, found.division.splits, n * sizeof *to);
    memcpy(to + n, found.chunk, n * sizeof *to);
    memcpy(to + 2 * n, found.radix, n * sizeof *to);
    w->splits.count += 3 * n;
    return TG_OK;
}

/* How a node touches a tensor of this layout: operand k, or -1 for its result. */
static tg_sliced sliced(const work *w, const tg_spyre *layout, int64_t node, int32_t k) {
    const tg_node_row *n = tg_node_at(w->m->graph, node);
    const int64_t     *splits = w->splits.rows + w->first[node];
    return (tg_sliced){layout, tg_node_ranges(w->m->graph, n), tg_graph_access(w->m->graph, node, k),
                       {n->nloops, w->cores[node], splits, splits + n->nloops, splits + 2 * n->nloops}};
}

/* ---- who may ---------------------------------------------------------------------------------------- */

static void because(tg_residence *r, tg_reason reason, int64_t of) {
    r->reason = reason;
    r->because_of = of;
}

/* The reason why step i cannot work from LX; TG_REASON_KEPT if it can. */
static tg_reason refuse_step(bool *shares, const tg_memory *m, const tg_plan_step *step, int64_t i) {
    if (step->kind == TG_STEP_RESTICKIFY) return TG_REASON_RESTICKIFY;
    if (step->kind == TG_STEP_FILL) return TG_REASON_FILL;
    switch (tg_node_at(m->graph, step->node)->kind) {
    case TG_NODE_CLONE: return TG_REASON_RESTICKIFY; /* which it is */
    case TG_NODE_INPUT: return TG_REASON_INPUT;
    case TG_NODE_CONSTANT: return TG_REASON_CONSTANT;
    case TG_NODE_DEFAULT: return step->noperands == 0 ? TG_REASON_CONSTANT : TG_REASON_NO_KERNEL; /* an iota */
    case TG_NODE_SEARCH:
    case TG_NODE_SCATTER:
    case TG_NODE_STATISTICS:
    case TG_NODE_NORMALIZE:
    case TG_NODE_BOUNDARY: return TG_REASON_NO_KERNEL;
    case TG_NODE_POINTWISE:
    case TG_NODE_REDUCE:
    case TG_NODE_MATMUL:
    case TG_NODE_CONVOLUTION:
    case TG_NODE_GATHER:
    case TG_NODE_CONCATENATE:
    case TG_NODE_CARRY: break;
    }
    const bool uses_lx = step->on_device && tg_step_uses_lx(shares, m->graph, m->plan, &m->params.division, i);
    return uses_lx ? TG_REASON_KEPT : TG_REASON_NO_KERNEL;
}

/* The same of a reader of tensor i, with what it reads of it. */
static tg_reason refuse_reader(const work *w, const tg_plan_step *made, int64_t i, int64_t reader) {
    const tg_memory   *m = w->m;
    const tg_plan_step step = tg_graph_plan_step(m->plan, reader);
    bool               shares;
    const tg_reason    reason = refuse_step(&shares, m, &step, reader);
    if (reason != TG_REASON_KEPT) return reason;
    const tg_sliced written = sliced(w, &made->layout, made->node, -1);
    for (int32_t k = 0; k < step.noperands; k++) {
        if (tg_graph_plan_step_operand(m->plan, reader, k) != i) continue;
        const tg_sliced read = sliced(w, &made->layout, step.node, k);
        /* a window reads what other cores have written */
        if (tg_node_at(m->graph, step.node)->nwindows > 0) return TG_REASON_DIVISION;
        if (tg_access_has_unknown(&read.access)) return TG_REASON_NO_KERNEL;
        if (!tg_slices_agree(&written, &read)) return TG_REASON_DIVISION;
    }
    return TG_REASON_KEPT;
}

static void judge_readers(work *w, const tg_plan_step *made, int64_t i) {
    const tg_memory *m = w->m;
    tg_residence    *r = &m->rows[i];
    if (m->first_reader[i] == m->first_reader[i + 1]) because(r, TG_REASON_UNREAD, -1);
    for (int64_t k = m->first_reader[i]; k < m->first_reader[i + 1] && r->reason == TG_REASON_KEPT; k++) {
        const tg_reason reason = refuse_reader(w, made, i, m->readers[k]);
        if (reason != TG_REASON_KEPT) because(r, reason, m->readers[k]);
    }
}

/* Leaves TG_REASON_KEPT to what may be in LX. */
static void judge(work *w, const tg_plan_step *made, int64_t i) {
    tg_residence   *r = &w->m->rows[i];
    bool            shares = false;
    const tg_reason reason = refuse_step(&shares, w->m, made, i);
    if (r->home == TG_HOME_HOST) return;
    because(r, TG_REASON_KEPT, -1);
    if (reason == TG_REASON_INPUT || reason == TG_REASON_CONSTANT) because(r, reason, -1);
    else if (w->m->output[i]) because(r, TG_REASON_OUTPUT, -1);
    else if (w->m->crosses[i]) because(r, TG_REASON_LOOP, -1);
    else if (reason != TG_REASON_KEPT) because(r, reason, i);
    else judge_readers(w, made, i);
    if (r->reason == TG_REASON_KEPT && shares) because(r, TG_REASON_SHARED, -1);
}

/* ---- in place ------------------------------------------------------------------------------------------ */

/* What the loop of a term counts up to. */
static int64_t extent_of(const tg_term *t, const int64_t *ranges) {
    if (t->loop < 0) return t->extent;
    return t->extent > 0 ? tg_min(t->extent, ranges[t->loop]) : ranges[t->loop];
}

static bool same_access(const tg_access *a, const tg_access *b, const int64_t *ranges) {
    if (a->offset != b->offset || a->nterms != b->nterms) return false;
    for (int32_t i = 0; i < a->nterms; i++) {
        const tg_term *t = &a->terms[i], *u = &b->terms[i];
        if (t->loop < 0 || t->loop != u->loop || t->step != u->step || t->modulus != u->modulus ||
            extent_of(t, ranges) != extent_of(u, ranges))
            return false;
    }
    return true;
}

bool tg_stored_alike(const tg_spyre *a, const tg_spyre *b) {
    const size_t n = (size_t)a->rank * sizeof(int64_t);
    return a->rank == b->rank && tg_format_bits(a->device_dtype) == tg_format_bits(b->device_dtype) &&
           a->arrangement == b->arrangement && memcmp(a->device_size, b->device_size, n) == 0 &&
           memcmp(a->stride_map, b->stride_map, n) == 0;
}

bool tg_writes_in_place(const tg_memory *m, int64_t step, int32_t k) {
    const tg_plan_step made = tg_graph_plan_step(m->plan, step);
    if (made.kind != TG_STEP_NODE || tg_node_at(m->graph, made.node)->kind != TG_NODE_POINTWISE) return false;
    const int64_t      from = tg_graph_plan_step_operand(m->plan, step, k);
    const tg_plan_step read = tg_graph_plan_step(m->plan, from);
    const tg_access    result = tg_graph_access(m->graph, made.node, -1);
    const int64_t     *ranges = tg_node_ranges(m->graph, tg_node_at(m->graph, made.node));
    if (!made.on_device || !read.on_device || !tg_stored_alike(&made.layout, &read.layout)) return false;
    for (int32_t i = 0; i < made.noperands; i++) {
        const tg_access access = tg_graph_access(m->graph, made.node, i);
        if (tg_graph_plan_step_operand(m->plan, step, i) == from && !same_access(&access, &result, ranges))
            return false;
    }
    return true;
}

/* Tensors that end with this step, and whose place it may take. */
static void list_parents(work *w, tg_buffer *b, int64_t step, int64_t *parents) {
    const int32_t noperands = tg_graph_plan_step(w->m->plan, step).noperands;
    b->parents = parents;
    for (int32_t k = 0; k < noperands; k++) {
        const int64_t from = tg_graph_plan_step_operand(w->m->plan, step, k);
        bool          again = false;
        if (w->number[from] < 0 || w->m->rows[from].last != step || w->buffers[w->number[from]].size < b->size)
            continue;
        for (int64_t i = 0; i < b->nparents; i++) again = again || parents[i] == w->number[from];
        if (!again && tg_writes_in_place(w->m, step, k)) parents[b->nparents++] = w->number[from];
    }
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

/* uses, parents: room for this buffer's; moved on. */
static tg_status add_buffer(work *w, const tg_plan_step *made, int64_t i, int64_t **uses, int64_t **parents,
                            tg_error *err) {
    const tg_memory *m = w->m;
    const tg_sliced  written = sliced(w, &made->layout, made->node, -1);
    tg_buffer       *b = &w->buffers[w->nbuffers];
    *b = (tg_buffer){.uses = *uses};
    *(*uses)++ = i;
    for (int64_t k = m->first_reader[i]; k < m->first_reader[i + 1]; k++) *(*uses)++ = m->readers[k];
    b->nuses = *uses - b->uses;
    if (!tg_round_up(&b->size, tg_ceil_div(m->storage[i], tg_slices_count(&written)), TG_LX_ALIGNMENT) ||
        !tg_mul(&b->saved_bytes, m->storage[i], b->nuses))
        return tg_fail(err, TG_ERR_OVERFLOW, "what step %d moves does not fit 63 bits", i);
    list_parents(w, b, i, *parents);
    *parents += b->nparents;
    w->number[i] = w->nbuffers;
    w->step[w->nbuffers++] = i;
    return TG_OK;
}

static tg_status list_buffers(work *w, tg_error *err) {
    int64_t  *uses = w->uses, *parents = w->parents;
    tg_status s = TG_OK;
    for (int64_t i = 0; i < w->m->n && s == TG_OK; i++) {
        const tg_plan_step made = tg_graph_plan_step(w->m->plan, i);
        w->number[i] = -1;
        judge(w, &made, i);
        if (w->m->rows[i].reason == TG_REASON_KEPT) s = add_buffer(w, &made, i, &uses, &parents, err);
    }
    return s;
}

static void take_placements(work *w, const tg_scratchpad_summary *found) {
    tg_memory         *m = w->m;
    tg_memory_summary *s = &m->summary;
    for (int64_t b = 0; b < w->nbuffers; b++) {
        const tg_placement *at = &w->placements[b];
        tg_residence       *r = &m->rows[w->step[b]];
        if (at->address < 0) {
            because(r, w->buffers[b].size > m->params.lx_bytes ? TG_REASON_FOOTPRINT : TG_REASON_SPILLED, -1);
            continue;
        }
        r->home = TG_HOME_LX;
        r->address = at->address;
        r->bytes = w->buffers[b].size;
        if (at->in_place_of >= 0) r->in_place_of = w->step[at->in_place_of];
    }
    s->lx_capacity = m->params.lx_bytes;
    s->lx_peak = found->peak_bytes;
    s->saved_bytes = found->saved_bytes;
    s->bound_bytes = found->bound_bytes;
    s->optimal = found->optimal;
}

static bool reserve(work *w) {
    const tg_memory *m = w->m;
    const size_t     nodes = (size_t)tg_graph_count(m->graph) + 1, n = (size_t)m->n + 1;
    const size_t     reads = (size_t)m->first_reader[m->n] + n;
    w->first = calloc(nodes, sizeof *w->first);
    w->cores = calloc(nodes, sizeof *w->cores);
    w->number = calloc(n, sizeof *w->number);
    w->step = calloc(n, sizeof *w->step);
    w->buffers = calloc(n, sizeof *w->buffers);
    w->uses = calloc(reads, sizeof *w->uses);
    w->parents = calloc(reads, sizeof *w->parents);
    w->placements = calloc(n, sizeof *w->placements);
    return w->first != NULL && w->cores != NULL && w->number != NULL && w->step != NULL && w->buffers != NULL &&
           w->uses != NULL && w->parents != NULL && w->placements != NULL;
}

static void release(work *w) {
    free(w->splits.rows);
    free(w->first);
    free(w->cores);
    free(w->number);
    free(w->step);
    free(w->buffers);
    free(w->uses);
    free(w->parents);
    free(w->placements);
}

tg_status tg_memory_fill_lx(tg_memory *m, tg_error *err) {
    const tg_scratchpad_params params = {.solver = m->params.solver, .capacity = m->params.lx_bytes,
                                         .max_branches = m->params.max_branches};
    tg_scratchpad_summary found;
    work                  w = {.m = m};
    tg_status             s = reserve(&w) ? TG_OK : tg_graph_no_memory(err);
    for (int64_t node = 0; node < tg_graph_count(m->graph) && s == TG_OK; node++) s = keep_slices(&w, node, err);
    if (s == TG_OK) s = list_buffers(&w, err);
    if (s == TG_OK) s = tg_scratchpad_place(w.placements, &found, w.buffers, w.nbuffers, &params, err);
    if (s == TG_OK) take_placements(&w, &found);
    release(&w);
    return s;
}
