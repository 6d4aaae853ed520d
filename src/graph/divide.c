/* Which loops of a node are split, and into how many slices. Source: torch-spyre, work division.
 *
 *   1. A core reaches a limited span of memory in each tensor. What is too long is split along the tensor's outermost
 *      device dimension, and further in where that alone is not enough.
 *   2. A product takes the splits of the least cost, if step 1 needed none.
 *   3. Everything else takes loops of the result by decreasing size, then one that is summed up.
 *
 * A loop that runs in sticks is split at sticks. What users say of tiles (divide_tiles.c), and rules and users of
 * splits (divide_pins.c), comes before all that; where spans stay too long the work is done in tiles, too. Loops that
 * are summed up over a stick that is not full stay whole, because the mask at its end is the same for all cores, and
 * what picks rows by data is not split at all. */
#include "graph/divide.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

int64_t tg_core_split(int64_t size, int64_t most) {
    for (int64_t split = tg_min(size, most); split > 1; split--)
        if (size % split == 0) return split;
    return 1;
}

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
        if (tg_has_loop(loops, l) && (best < 0 || w->sizes[l] > w->sizes[best])) best = l;
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
        if (!tg_has_loop(w->reductions, l)) continue;
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

bool tg_take_piece(tg_piece *out, const tg_share *d, int32_t k) {
    const tg_graph_plan *plan = d->plan;
    out->access = tg_graph_access(d->g, d->node, k);
    out->operand = k;
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

static void find_sticks(tg_share *d) {
    tg_piece p;
    for (int32_t k = -1; k < (int32_t)d->n->noperands; k++) {
        if (!tg_take_piece(&p, d, k) || p.stick.loop < 0) continue;
        const int64_t size = p.layout.device_size[p.layout.rank - 1];
        d->stick[p.stick.loop] = tg_max(d->stick[p.stick.loop], size);
    }
}

/* Loops that rules keep whole. */
static void find_whole_loops(tg_share *d, uint32_t outputs) {
    const int64_t *ranges = tg_node_ranges(d->g, d->n);
    const bool     picks = d->n->kind == TG_NODE_GATHER || d->n->kind == TG_NODE_SCATTER;
    for (int32_t l = 0; l < d->n->nloops; l++) {
        const bool masked = !tg_has_loop(outputs, l) && d->stick[l] > 1 && ranges[l] % d->stick[l] != 0;
        if (masked && !picks && ranges[l] > 1) d->masked |= UINT32_C(1) << l;
        if (picks) d->whole[l] = "rows that the data picks are not shared out";
        else if (masked) d->whole[l] = "what is summed up over sticks that are not full is masked";
        else if (!tg_has_loop(d->n->no_split, l)) continue;
        else if (d->n->kind == TG_NODE_CONVOLUTION) d->whole[l] = "positions of a strided convolution overlap";
        else if (d->n->kind == TG_NODE_SEARCH) d->whole[l] = "a search looks along all of it";
        else d->whole[l] = "the node does not let it be split";
    }
}

/* Weights in QFP8WT sticks: both dimensions of a stick stay whole. */
static void find_weight_loops(tg_share *d) {
    tg_piece p;
    for (int32_t k = -1; k < (int32_t)d->n->noperands; k++) {
        if (!tg_take_piece(&p, d, k) || p.layout.arrangement != TG_QFP8WT) continue;
        const tg_dims dims = tg_device_dims(&p.layout);
        for (int32_t i = p.layout.rank > 2 ? p.layout.rank - 2 : 0; i < p.layout.rank; i++) {
            tg_coordinate c;
            tg_coordinate_of(&c, &dims, i, tg_node_ranges(d->g, d->n), &p.access);
            for (int32_t l = 0; l < d->n->nloops; l++)
                if (tg_has_loop(tg_coordinate_loops(&c), l))
                    d->whole[l] = "sticks of QFP8WT hold pieces of two dimensions";
        }
    }
}

static void find_loops(tg_share *d) {
    const tg_access result = tg_access_of(d->g, &d->n->result);
    const uint32_t  outputs = tg_access_loops(&result);
    const int64_t  *ranges = tg_node_ranges(d->g, d->n);
    find_whole_loops(d, outputs);
    find_weight_loops(d);
    d->work.nloops = d->n->nloops;
    for (int32_t l = 0; l < d->n->nloops; l++) {
        d->work.splits[l] = 1;
        d->work.sizes[l] = tg_ceil_div(ranges[l], d->stick[l]);
        if (ranges[l] <= 1 || d->whole[l] != NULL) continue;
        if (tg_has_loop(outputs, l)) d->work.outputs |= UINT32_C(1) << l;
        else d->work.reductions |= UINT32_C(1) << l;
    }
}

/* ---- products ------------------------------------------------------------------------------------------ */

/* The only one of some loops; -1 if there is none, -2 if there are several. */
static int32_t only(uint32_t loops) {
    int32_t l = 0;
    if (loops == 0) return -1;
    if ((loops & (loops - 1)) != 0) return -2;
    while (!tg_has_loop(loops, l)) l++;
    return l;
}

/* The loops of b, m, n and k, which may be one that is masked; false where one of them is several loops. Rows of a left
 * operand with more than one dimension: the innermost is m, one before it is b, and the right operand is shared. */
static bool find_product(int32_t loop[4], bool *shared, const tg_share *d) {
    const tg_access a = tg_graph_access(d->g, d->node, 0), b = tg_graph_access(d->g, d->node, 1);
    const uint32_t  x = tg_access_loops(&a), y = tg_access_loops(&b), may = d->work.outputs | d->work.reductions;
    uint32_t        rows = x & ~y & may, batch = x & y & d->work.outputs;
    *shared = batch == 0;
    loop[3] = only(x & y & (d->work.reductions | d->masked));
    loop[2] = only(y & ~x & may);
    if (*shared && (rows & (rows - 1)) != 0) {
        batch = rows & (~rows + 1);
        rows &= ~batch;
    }
    loop[0] = only(batch);
    loop[1] = only(rows);
    return loop[0] != -2 && loop[1] != -2 && loop[2] >= 0 && loop[3] >= 0;
}

static bool split_product(tg_share *d) {
    int32_t    loop[4];
    int64_t    size[4], splits[4];
    tg_product p = {.cores = d->work.cores, .formula = d->params->formula};
    if (d->n->kind != TG_NODE_MATMUL || !find_product(loop, &p.shared, d)) return false;
    for (int i = 0; i < 4; i++) size[i] = loop[i] >= 0 ? d->work.sizes[loop[i]] : 1;
    p.b = size[0];
    p.m = size[1];
    p.n_sticks = size[2];
    p.k_sticks = tg_has_loop(d->masked, loop[3]) ? 1 : size[3]; /* the estimate is of whole sticks all the same */
    p.n = size[2] * d->stick[loop[2]];
    p.k = size[3] * d->stick[loop[3]];
    tg_product_split(splits, &p);
    for (int i = 0; i < 4; i++)
        if (loop[i] >= 0) d->work.splits[loop[i]] = splits[i];
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static bool is_split(const tg_share *d) {
    for (int32_t l = 0; l < d->work.nloops; l++)
        if (d->work.splits[l] > 1) return true;
    return false;
}

static bool works_on_device(const tg_share *d) {
    tg_spyre layout;
    return d->n->kind != TG_NODE_INPUT && d->n->kind != TG_NODE_BOUNDARY &&
           tg_graph_plan_layout(&layout, d->plan, d->node);
}

static tg_status check_params(const tg_division_params *params, tg_error *err) {
    if (params->cores < 0 || params->cores > TG_MAX_CORES || params->max_span_bytes < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d cores, of 1 to %d, or a span of %d bytes", (int64_t)params->cores,
                       (int64_t)TG_MAX_CORES, params->max_span_bytes);
    if (params->formula != TG_COST_AUGUST && params->formula != TG_COST_JUNE)
        return tg_fail(err, TG_ERR_ARGUMENT, "cost formula %d is not known", (int64_t)params->formula);
    return TG_OK;
}

/* Cores that share a piece of the result are neighbours where a product is split along its sum. */
static void number_cores(tg_slicing *out, const tg_share *d) {
    const tg_access result = tg_access_of(d->g, &d->n->result);
    const uint32_t  outputs = tg_access_loops(&result);
    const bool      sums_first = d->n->kind == TG_NODE_MATMUL;
    int64_t         radix = 1;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t l = 0; l < d->n->nloops; l++) {
            if ((sums_first && !tg_has_loop(outputs, l)) != (pass == 0)) continue;
            out->radix[l] = radix;
            radix *= out->division.splits[l];
        }
}

/* A split that is asked for is a commitment, as one that a span needs is: products are then not estimated. */
static tg_status divide(tg_slicing *slicing, tg_share *d, tg_error *err) {
    tg_division *out = &slicing->division;
    d->work.cores = d->params->cores > 0 ? d->params->cores : TG_MAX_CORES;
    d->limit = d->params->max_span_bytes > 0 ? d->params->max_span_bytes : TG_MAX_SPAN_BYTES;
    find_sticks(d);
    find_loops(d);
    tg_status s = tg_wanted_tiles(out->tiles, d, err);
    tg_share  before = *d;
    if (s == TG_OK) s = tg_pin_splits(d, err);
    if (s != TG_OK) return s;
    out->in_span = tg_shorten_spans(d);
    s = tg_check_pinned_span(&before, d, out->in_span, err);
    if (s != TG_OK) return s;
    out->tiled = out->in_span ? d->tiled != 0 : tg_choose_tiles(out->tiles, d);
    if (is_split(d) || !split_product(d)) tg_distribute(&d->work);
    out->span_bytes = tg_longest_span(d);
    for (int32_t l = 0; l < d->n->nloops; l++) {
        out->splits[l] = d->work.splits[l];
        out->cores *= d->work.splits[l];
        if (d->work.splits[l] > 1) slicing->chunk[l] = d->work.sizes[l] / d->work.splits[l] * d->stick[l];
    }
    return TG_OK;
}

tg_status tg_slice_node(tg_slicing *out, const tg_graph *graph, const tg_graph_plan *plan, int64_t node,
                        const tg_division_params *params, tg_error *err) {
    tg_share   d = {.g = graph, .plan = plan, .params = params, .node = node, .n = tg_node_at(graph, node)};
    tg_slicing found = {.division = {.cores = 1, .in_span = true, .nloops = d.n->nloops}};
    tg_status  s = check_params(params, err);
    if (s != TG_OK) return s;
    for (int32_t l = 0; l < TG_MAX_LOOPS; l++) {
        found.division.splits[l] = found.division.tiles[l] = 1;
        d.work.splits[l] = d.work.sizes[l] = d.stick[l] = 1;
    }
    for (int32_t l = 0; l < d.n->nloops; l++) found.chunk[l] = tg_node_ranges(graph, d.n)[l];
    if (works_on_device(&d)) s = divide(&found, &d, err);
    else if (d.n->nwishes > 0 || d.n->ntiles > 0 || params->nsplits > 0 || params->ntiles > 0)
        s = tg_fail(err, TG_ERR_ARGUMENT, "splits and tiles are of what runs on the device; this is %s",
                    d.n->kind == TG_NODE_INPUT ? "an input" : "a boundary");
    if (s != TG_OK) return s;
    number_cores(&found, &d);
    *out = found;
    return TG_OK;
}

tg_status tg_graph_plan_divide(tg_division *out, const tg_graph *graph, const tg_graph_plan *plan, int64_t node,
                               const tg_division_params *params, tg_error *err) {
    tg_slicing      slicing;
    const tg_status s = tg_slice_node(&slicing, graph, plan, node, params, err);
    if (s == TG_OK) *out = slicing.division;
    return s;
}
