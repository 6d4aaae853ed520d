/* Which loops of a node are split, and into how many slices. Source: torch-spyre, work division.
 *
 *   1. A core reaches a limited span of memory in each tensor. What is too long is split along the tensor's outermost
 *      device dimension, and further in where that alone is not enough.
 *   2. A product takes the splits of the least cost, if step 1 needed none.
 *   3. Everything else takes loops of the result by decreasing size, then one that is summed up.
 *
 * A loop that runs in sticks is split at sticks. Loops that are summed up over a stick that is not full stay whole,
 * because the mask at its end is the same for all cores, and what picks rows by data is not split at all. */
#include "graph/divide.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/plan.h"

#include <string.h>

int64_t tg_core_split(int64_t size, int64_t most) {
    for (int64_t split = tg_min(size, most); split > 1; split--)
        if (size % split == 0) return split;
    return 1;
}

static bool has(uint32_t loops, int32_t l) { return (loops >> l & 1) != 0; }

static int64_t cores_left(const tg_work *w) {
    int64_t used = 1;
    for (int32_t l = 0; l < w->nloops; l++) used *= w->splits[l];
    return w->cores / used;
}

/* ---- the rest of the cores ------------------------------------------------------------------- */

/* The largest of some loops, the first one if several are; -1 if there are none. */
static int32_t largest(const tg_work *w, uint32_t loops) {
    int32_t best = -1;
    for (int32_t l = 0; l < w->nloops; l++)
        if (has(loops, l) && (best < 0 || w->sizes[l] > w->sizes[best])) best = l;
    return best;
}

/* The largest multiple of the split so far that divides the loop. */
static int64_t larger_split(const tg_work *w, int32_t l, int64_t left) {
    for (int64_t split = tg_min(w->sizes[l], w->splits[l] * left); split > w->splits[l]; split--)
        if (w->sizes[l] % split == 0 && split % w->splits[l] == 0) return split;
    return w->splits[l];
}

static void split_one_reduction(tg_work *w) {
    int32_t best = -1;
    int64_t split = 1;
    for (int32_t l = 0; l < w->nloops; l++) {
        if (!has(w->reductions, l)) continue;
        if (w->splits[l] > 1) return;
        const int64_t found = tg_core_split(w->sizes[l], cores_left(w));
        if (found <= split) continue;
        best = l;
        split = found;
    }
    if (best >= 0) w->splits[best] = split;
}

void tg_distribute(tg_work *w) {
    uint32_t      todo = w->outputs;
    for (int32_t l; (l = largest(w, todo)) >= 0;) {
        todo &= ~(UINT32_C(1) << l);
        w->splits[l] = larger_split(w, l, cores_left(w));
    }
    split_one_reduction(w);
}

/* ---- what a node has to share -------------------------------------------------------------------- */

/* A tensor of the node, as it is read or written. */
typedef struct piece {
    tg_spyre  layout;
    tg_access access;
    tg_stick  stick;
} piece;

typedef struct division {
    const tg_graph      *g;
    const tg_graph_plan *plan;
    const tg_division_params *params;
    int64_t              node;
    const tg_node_row   *n;
    tg_work              work;
    int64_t              stick[TG_MAX_LOOPS]; /* elements of the largest stick that the loop runs in; 1: it does not */
} division;

/* The layout that operand k (-1: the result) has when it is touched; false if it is not on the device. */
static bool take_piece(piece *out, const division *d, int32_t k) {
    const tg_graph_plan *plan = d->plan;
    out->access = tg_graph_access(d->g, d->node, k);
    const int64_t from = k < 0 ? d->node : out->access.node;
    if (!tg_graph_plan_layout(&out->layout, plan, from)) return false;
    if (k >= 0) {
        const tg_problem *p = &plan->problem;
        const uint32_t    l = tg_chosen_layout(p, plan->modes, from);
        const int8_t      need = tg_need(p, d->node, (uint32_t)k, plan->modes[d->node], l);
        if (need >= 0) out->layout = *tg_copy_layout(p, from, l, need);
    }
    tg_stick_of(&out->stick, &out->layout, tg_node_ranges(d->g, d->n), &out->access);
    return true;
}

static void find_sticks(division *d) {
    piece p;
    for (int32_t k = -1; k < (int32_t)d->n->noperands; k++) {
        if (!take_piece(&p, d, k) || p.stick.loop < 0) continue;
        const int64_t size = p.layout.device_size[p.layout.rank - 1];
        d->stick[p.stick.loop] = tg_max(d->stick[p.stick.loop], size);
    }
}

static void find_loops(division *d) {
    const tg_access result = tg_access_of(d->g, &d->n->result);
    const uint32_t  outputs = tg_access_loops(&result);
    const int64_t  *ranges = tg_node_ranges(d->g, d->n);
    d->work.nloops = d->n->nloops;
    for (int32_t l = 0; l < d->n->nloops; l++) {
        d->work.splits[l] = 1;
        d->work.sizes[l] = tg_ceil_div(ranges[l], d->stick[l]);
        const bool masked = !has(outputs, l) && d->stick[l] > 1 && ranges[l] % d->stick[l] != 0;
        if (ranges[l] <= 1 || masked || has(d->n->no_split, l)) continue;
        if (has(outputs, l)) d->work.outputs |= UINT32_C(1) << l;
        else d->work.reductions |= UINT32_C(1) << l;
    }
    if (d->n->kind != TG_NODE_GATHER) return;
    d->work.outputs = d->work.reductions = 0;
}

/* ---- spans ----------------------------------------------------------------------------------------- */

/* Positions of a device dimension that one core sees, when loops are split. */
static int64_t seen(const division *d, const piece *p, int32_t k, const int64_t *splits) {
    const tg_dims  dims = tg_device_dims(&p->layout);
    const int64_t *ranges = tg_node_ranges(d->g, d->n);
    int64_t        last = 0;
    tg_coordinate  c;
    tg_coordinate_of(&c, &dims, k, ranges, &p->access);
    for (int32_t i = 0; i < c.nparts; i++) {
        const tg_part *part = &c.part[i];
        if (part->loop < 0) return p->layout.device_size[k];
        const int64_t slice = tg_min(ranges[part->loop], tg_ceil_div(d->work.sizes[part->loop], splits[part->loop]) *
                                                             d->stick[part->loop]);
        int64_t reach = (slice - 1) * part->step; /* fits: the access stays inside its tensor */
        if (part->wrap > 0) reach = tg_min(reach, part->wrap - 1);
        last += reach / part->stride;
    }
    return tg_min(last + 1, tg_max(p->layout.device_size[k], 1));
}

static int32_t outermost(const tg_spyre *l) {
    int32_t k = 0;
    while (k < l->rank - 1 && l->device_size[k] <= 1) k++;
    return k;
}

/* Bytes from the first to the last that a core reaches from device dimension k inwards. */
static int64_t span_within(const division *d, const piece *p, int32_t k, const int64_t *splits) {
    int64_t bytes = tg_format_bits(p->layout.device_dtype);
    for (int32_t i = k + 1; i < p->layout.rank; i++) bytes *= p->layout.device_size[i]; /* fits: it has a size */
    return seen(d, p, k, splits) * bytes / 8;
}

/* The next numbers of slices of the loops in a device dimension; false after the last. */
static bool next_splits(const division *d, uint32_t loops, int64_t *splits) {
    for (int32_t l = 0; l < d->work.nloops; l++) {
        if (!has(loops, l)) continue;
        for (splits[l]++; splits[l] <= d->work.sizes[l] && splits[l] <= d->work.cores; splits[l]++)
            if (d->work.sizes[l] % splits[l] == 0) return true;
        splits[l] = d->work.splits[l];
    }
    return false;
}

static bool is_possible(const division *d, const int64_t *splits) {
    int64_t cores = 1, reductions = 0;
    for (int32_t l = 0; l < d->work.nloops; l++) {
        if (!tg_mul(&cores, cores, splits[l]) || cores > d->work.cores) return false;
        reductions += has(d->work.reductions, l) && splits[l] > 1;
    }
    return reductions <= 1;
}

/* Splits the loops of device dimension k: the longest span within the limit, else the shortest. What a core then
 * reaches. */
static int64_t split_dimension(division *d, const piece *p, int32_t k, int64_t limit) {
    const tg_dims  dims = tg_device_dims(&p->layout);
    int64_t        splits[TG_MAX_LOOPS], best_splits[TG_MAX_LOOPS];
    tg_coordinate  c;
    tg_coordinate_of(&c, &dims, k, tg_node_ranges(d->g, d->n), &p->access);
    const uint32_t loops = tg_coordinate_loops(&c) & (d->work.outputs | d->work.reductions);
    memcpy(splits, d->work.splits, sizeof splits);
    memcpy(best_splits, splits, sizeof splits);
    int64_t best = span_within(d, p, k, splits);
    do {
        const int64_t span = span_within(d, p, k, splits);
        const bool    better = best > limit ? span < best : span <= limit && span > best;
        if (!better || !is_possible(d, splits)) continue;
        best = span;
        memcpy(best_splits, splits, sizeof splits);
    } while (next_splits(d, loops, splits));
    memcpy(d->work.splits, best_splits, sizeof best_splits);
    return best;
}

/* False if a core reaches too far whatever is split. */
static bool shorten_span(division *d, const piece *p, int64_t limit) {
    for (int32_t k = outermost(&p->layout); k < p->layout.rank - 1; k++) {
        if (span_within(d, p, k, d->work.splits) <= limit) return true;
        if (split_dimension(d, p, k, limit) <= limit) return true;
        if (seen(d, p, k, d->work.splits) > 1) return false;
    }
    return true;
}

static bool shorten_spans(division *d, int64_t limit) {
    piece p;
    bool  short_enough = true;
    for (int32_t k = 0; k <= (int32_t)d->n->noperands; k++)
        if (take_piece(&p, d, k < (int32_t)d->n->noperands ? k : -1) && !shorten_span(d, &p, limit))
            short_enough = false;
    return short_enough;
}

/* ---- products ------------------------------------------------------------------------------------------ */

/* The only one of some loops; -1 if there is none, -2 if there are several. */
static int32_t only(uint32_t loops) {
    int32_t l = 0;
    if (loops == 0) return -1;
    if ((loops & (loops - 1)) != 0) return -2;
    while (!has(loops, l)) l++;
    return l;
}

/* The loops of b, m, n and k; false where one of them is several loops. Rows of a left operand with more than one
 * dimension: the innermost is m, one before it is b, and the right operand is shared. */
static bool find_product(int32_t loop[4], bool *shared, const division *d) {
    const tg_access a = tg_graph_access(d->g, d->node, 0), b = tg_graph_access(d->g, d->node, 1);
    const uint32_t  x = tg_access_loops(&a), y = tg_access_loops(&b), may = d->work.outputs | d->work.reductions;
    uint32_t        rows = x & ~y & may, batch = x & y & d->work.outputs;
    *shared = batch == 0;
    loop[3] = only(x & y & d->work.reductions);
    loop[2] = only(y & ~x & may);
    if (*shared && (rows & (rows - 1)) != 0) {
        batch = rows & (~rows + 1);
        rows &= ~batch;
    }
    loop[0] = only(batch);
    loop[1] = only(rows);
    return loop[0] != -2 && loop[1] != -2 && loop[2] >= 0 && loop[3] >= 0;
}

static bool split_product(division *d) {
    int32_t    loop[4];
    int64_t    size[4], splits[4];
    tg_product p = {.cores = d->work.cores, .formula = d->params->formula};
    if (d->n->kind != TG_NODE_MATMUL || !find_product(loop, &p.shared, d)) return false;
    for (int i = 0; i < 4; i++) size[i] = loop[i] >= 0 ? d->work.sizes[loop[i]] : 1;
    p.b = size[0];
    p.m = size[1];
    p.n_sticks = size[2];
    p.k_sticks = size[3];
    p.n = size[2] * d->stick[loop[2]];
    p.k = size[3] * d->stick[loop[3]];
    tg_product_split(splits, &p);
    for (int i = 0; i < 4; i++)
        if (loop[i] >= 0) d->work.splits[loop[i]] = splits[i];
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static bool is_split(const division *d) {
    for (int32_t l = 0; l < d->work.nloops; l++)
        if (d->work.splits[l] > 1) return true;
    return false;
}

static bool works_on_device(const division *d) {
    tg_spyre layout;
    return d->n->kind != TG_NODE_INPUT && d->n->kind != TG_NODE_BOUNDARY &&
           tg_graph_plan_layout(&layout, d->plan, d->node);
}

/* Cores that share a piece of the result are neighbours where a product is split along its sum. */
static void number_cores(tg_slicing *out, const division *d) {
    const tg_access result = tg_access_of(d->g, &d->n->result);
    const uint32_t  outputs = tg_access_loops(&result);
    const bool      sums_first = d->n->kind == TG_NODE_MATMUL;
    int64_t         radix = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t l = 0; l < d->n->nloops; l++) {
            if ((sums_first && !has(outputs, l)) != (pass == 0)) continue;
            out->radix[l] = radix;
            radix *= out->division.splits[l];
        }
}

tg_status tg_graph_plan_divide(tg_division *out, const tg_graph *graph, const tg_graph_plan *plan, int64_t node,
                               const tg_division_params *params, tg_error *err) {
    tg_slicing      slicing;
    const tg_status s = tg_slice_node(&slicing, graph, plan, node, params, err);
    if (s == TG_OK) *out = slicing.division;
    return s;
}

tg_status tg_slice_node(tg_slicing *slicing, const tg_graph *graph, const tg_graph_plan *plan, int64_t node,
                        const tg_division_params *params, tg_error *err) {
    tg_division *out = &slicing->division;
    division d = {.g = graph, .plan = plan, .params = params, .node = node, .n = tg_node_at(graph, node)};
    if (params->cores < 0 || params->cores > TG_MAX_CORES || params->max_span_bytes < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d cores, of 1 to %d, or a span of %d bytes", (int64_t)params->cores,
                       (int64_t)TG_MAX_CORES, params->max_span_bytes);
    if (params->formula != TG_COST_AUGUST && params->formula != TG_COST_JUNE)
        return tg_fail(err, TG_ERR_ARGUMENT, "cost formula %d is not known", (int64_t)params->formula);
    memset(slicing, 0, sizeof *slicing);
    out->cores = 1;
    out->in_span = true;
    out->nloops = d.n->nloops;
    for (int32_t l = 0; l < TG_MAX_LOOPS; l++) out->splits[l] = d.work.splits[l] = d.stick[l] = 1;
    for (int32_t l = 0; l < d.n->nloops; l++) slicing->chunk[l] = tg_node_ranges(graph, d.n)[l];
    if (!works_on_device(&d)) {
        number_cores(slicing, &d);
        return TG_OK;
    }
    d.work.cores = params->cores > 0 ? params->cores : TG_MAX_CORES;
    find_sticks(&d);
    find_loops(&d);
    out->in_span = shorten_spans(&d, params->max_span_bytes > 0 ? params->max_span_bytes : TG_MAX_SPAN_BYTES);
    if (is_split(&d) || !split_product(&d)) tg_distribute(&d.work);
    for (int32_t l = 0; l < d.n->nloops; l++) {
        out->splits[l] = d.work.splits[l];
        out->cores *= d.work.splits[l];
        if (d.work.splits[l] > 1) slicing->chunk[l] = d.work.sizes[l] / d.work.splits[l] * d.stick[l];
    }
    number_cores(slicing, &d);
    return TG_OK;
}
