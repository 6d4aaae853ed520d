/* The kernel of a node: its loops as they are, and its operands as they lie in memory.
 *
 * A product with a vector on the right is the transposed product with the vector on the left; one that sums nothing up
 * is a multiplication. What has no form here is for the host, and the error says why. */
#include "graph/bundle.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/divide.h"
#include "graph/kernel.h"

#include <string.h>


static tg_status refuse(tg_error *err, const char *why) { return tg_fail(err, TG_ERR_UNSUPPORTED, "%s", why); }

/* ---- tensors ------------------------------------------------------------------------------------ */

bool tg_take_tensor(tg_kernel_tensor *out, const tg_bundle *b, int64_t step, const tg_access *access) {
    const tg_plan_step s = tg_graph_plan_step(b->plan, step);
    out->layout = s.layout;
    out->access = *access;
    out->address = b->steps.count > 0 ? tg_max(b->steps.rows[step].address, 0) : 0;
    out->in_lx = b->steps.count > 0 && b->steps.rows[step].in_lx;
    return s.on_device;
}

/* Operands 0, 1, ... and the result. */
static tg_status take_tensors(tg_build *out, const tg_bundle *b, int64_t step, const tg_node_info *info,
                              tg_error *err) {
    const int64_t node = tg_graph_plan_step(b->plan, step).node;
    if (info->noperands >= TG_KERNEL_MAX_TENSORS) return refuse(err, "it has too many operands");
    for (int32_t k = 0; k <= info->noperands; k++) {
        const bool      result = k == info->noperands;
        const tg_access access = tg_graph_access(b->graph, node, result ? -1 : k);
        const int64_t   source = result ? step : tg_graph_plan_step_operand(b->plan, step, k);
        if (!tg_take_tensor(&out->tensors[k], b, source, &access))
            return refuse(err, "one of its tensors is not on the device");
    }
    out->kernel.ntensors = info->noperands + 1;
    return TG_OK;
}

/* ---- slices ---------------------------------------------------------------------------------------- */

static tg_status split_node(tg_build *out, const tg_bundle *b, int64_t node, tg_error *err) {
    tg_division     d;
    const tg_status s = tg_graph_plan_divide(&d, b->graph, b->plan, node, &b->params.division, err);
    if (s != TG_OK) return s;
    if (d.tiled) return refuse(err, "it would be several kernels, one for each tile");
    memcpy(out->splits, d.splits, sizeof out->splits);
    return TG_OK;
}

/* The largest stick that each loop runs in; 1: it runs in none. */
static void find_sticks(int64_t *stick, const tg_build *out) {
    for (int32_t l = 0; l < TG_MAX_LOOPS; l++) stick[l] = 1;
    for (int32_t k = 0; k < out->kernel.ntensors; k++) {
        const tg_kernel_tensor *t = &out->tensors[k];
        tg_stick                at;
        tg_stick_of(&at, &t->layout, out->ranges, &t->access);
        if (at.loop >= 0) stick[at.loop] = tg_max(stick[at.loop], t->layout.device_size[t->layout.rank - 1]);
    }
}

void tg_split_copy(tg_build *out, const tg_bundle *b) {
    const int32_t cores = b->params.division.cores;
    tg_work       w = {.nloops = out->kernel.nloops, .cores = cores > 0 ? cores : TG_MAX_CORES};
    int64_t       stick[TG_MAX_LOOPS];
    find_sticks(stick, out);
    for (int32_t l = 0; l < w.nloops; l++) {
        const bool padded = out->kernel.kind == TG_KERNEL_RESTICKIFY && out->ranges[l] % stick[l] != 0;
        w.splits[l] = 1;
        w.sizes[l] = tg_ceil_div(out->ranges[l], stick[l]);
        if (out->ranges[l] > 1 && !padded) w.outputs |= UINT32_C(1) << l;
    }
    tg_distribute(&w);
    memcpy(out->splits, w.splits, (size_t)w.nloops * sizeof *out->splits);
}

void tg_choose_copy(tg_build *out) {
    tg_stick stick[2];
    for (int i = 0; i < 2; i++)
        tg_stick_of(&stick[i], &out->tensors[i].layout, out->ranges, &out->tensors[i].access);
    const bool moved = stick[0].loop >= 0 && stick[1].loop >= 0 && stick[0].loop != stick[1].loop;
    out->kernel.kind = moved ? TG_KERNEL_RESTICKIFY : TG_KERNEL_POINTWISE;
    out->kernel.op = moved ? "ReStickifyOpHBM" : "identity";
}

/* ---- masks -------------------------------------------------------------------------------------------- */

/* The first padding of this node or a later one: they are listed in the order of nodes. */
static int64_t first_padding(const tg_bundle *b, int64_t node) {
    int64_t low = 0, high = (int64_t)b->plan->paddings.count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (b->plan->paddings.rows[middle].padding.node < node) low = middle + 1;
        else high = middle;
    }
    return low;
}

static void take_masks(tg_build *out, const tg_bundle *b, int64_t node) {
    for (int64_t i = first_padding(b, node); i < (int64_t)b->plan->paddings.count; i++) {
        const tg_plan_padding  *p = &b->plan->paddings.rows[i].padding;
        const tg_kernel_tensor *t = &out->tensors[p->operand];
        tg_stick                stick;
        if (p->node != node) return;
        if (!p->mask) continue;
        tg_stick_of(&stick, &t->layout, out->ranges, &t->access);
        if (stick.loop >= 0) out->kernel.masked |= UINT32_C(1) << stick.loop;
        out->kernel.mask_value = p->value;
    }
}

/* ---- products -------------------------------------------------------------------------------------------- */

static tg_status make_product(tg_build *out, tg_error *err) {
    const uint32_t x = tg_access_loops(&out->tensors[0].access), y = tg_access_loops(&out->tensors[1].access);
    const uint32_t result = tg_access_loops(&out->tensors[2].access);
    const uint32_t summed = x & y & ~result, rows = x & ~y & result, columns = y & ~x & result;
    out->kernel.kind = TG_KERNEL_MATMUL;
    out->kernel.op = "batchmatmul";
    if (summed == 0) {
        out->kernel.kind = TG_KERNEL_POINTWISE;
        out->kernel.op = "mul";
        return TG_OK;
    }
    if (columns == 0 && rows == 0) return refuse(err, "the device has no product of two vectors");
    if (columns != 0) return TG_OK;
    const tg_kernel_tensor swapped = out->tensors[0];
    out->tensors[0] = out->tensors[1];
    out->tensors[1] = swapped;
    return TG_OK;
}

/* ---- nodes -------------------------------------------------------------------------------------------------- */

static tg_status choose_function(tg_build *out, const tg_bundle *b, int64_t node, const tg_node_info *info,
                                 tg_error *err) {
    tg_format formats[TG_KERNEL_MAX_TENSORS];
    for (int32_t k = 0; k < out->kernel.ntensors; k++) formats[k] = out->tensors[k].layout.device_dtype;
    out->kernel.kind = info->kind == TG_NODE_REDUCE ? TG_KERNEL_REDUCTION : TG_KERNEL_POINTWISE;
    return tg_find_function(&out->kernel.op, info, tg_node_at(b->graph, node)->reduction, formats,
                            out->kernel.ntensors, err);
}

static tg_status check_formats(const tg_build *out, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t k = 0; k < out->kernel.ntensors && s == TG_OK; k++)
        s = tg_check_format(out->kernel.op, out->tensors[k].layout.device_dtype, err);
    return s;
}

/* What is written over is not read. */
static void keep_carried(tg_build *out) {
    out->tensors[0] = out->tensors[1];
    out->tensors[1] = out->tensors[2];
    out->kernel.ntensors = 2;
    tg_choose_copy(out);
}

static tg_status make_node(tg_build *out, const tg_bundle *b, int64_t node, const tg_node_info *info, tg_error *err) {
    tg_status s = TG_OK;
    switch (info->kind) {
    case TG_NODE_POINTWISE:
    case TG_NODE_REDUCE: return choose_function(out, b, node, info, err);
    case TG_NODE_MATMUL: s = make_product(out, err); break;
    case TG_NODE_CONVOLUTION: s = tg_build_convolution(out, b->graph, node, err); break;
    case TG_NODE_CARRY: keep_carried(out); break;
    case TG_NODE_CLONE: tg_choose_copy(out); break;
    default: return refuse(err, "it is no operation of the device");
    }
    return s == TG_OK ? check_formats(out, err) : s;
}

/* Why it cannot be, before anything is looked at. */
static const char *find_obstacle(const tg_node_info *info) {
    if (info->kind == TG_NODE_BOUNDARY) return "nothing is known of the operation";
    if (info->kind == TG_NODE_GATHER) return "it reads at places that only the data knows";
    if (info->nwindows > 0 && info->kind != TG_NODE_CONVOLUTION)
        return tg_hlo_text_is(info->opcode, "reverse") ? "it reads backwards" : "a pool that is no mean has no kernel";
    if (tg_hlo_text_is(info->opcode, "pad")) return "it writes a part of its result only";
    for (int32_t l = 0; l < info->nloops; l++)
        if (info->ranges[l] == 0) return "it has no elements";
    return NULL;
}

static tg_status build_node(tg_build *out, const tg_bundle *b, int64_t step, tg_error *err) {
    const int64_t      node = tg_graph_plan_step(b->plan, step).node;
    const tg_node_info info = tg_graph_get(b->graph, node);
    const char        *why = find_obstacle(&info);
    if (why != NULL) return refuse(err, why);
    out->kernel.nloops = info.nloops;
    memcpy(out->ranges, info.ranges, sizeof out->ranges);
    tg_status s = take_tensors(out, b, step, &info, err);
    if (s == TG_OK) s = make_node(out, b, node, &info, err);
    if (s != TG_OK) return s;
    take_masks(out, b, node);
    if (out->kernel.kind != TG_KERNEL_RESTICKIFY) return split_node(out, b, node, err);
    tg_split_copy(out, b);
    return TG_OK;
}

tg_status tg_build_kernel(tg_build *out, const tg_bundle *b, int64_t step, int64_t piece, tg_error *err) {
    const tg_plan_step s = tg_graph_plan_step(b->plan, step);
    memset(&out->kernel, 0, sizeof out->kernel);
    out->kernel.ranges = out->ranges;
    out->kernel.splits = out->splits;
    out->kernel.tensors = out->tensors;
    if (s.kind == TG_STEP_RESTICKIFY) return tg_build_restickify(out, b, step, err);
    if (s.kind == TG_STEP_FILL) return tg_build_fill(out, b, step, piece, err);
    if (tg_graph_get(b->graph, s.node).kind == TG_NODE_CONCATENATE)
        return tg_build_concatenation(out, b, step, piece, err);
    return build_node(out, b, step, err);
}

/* ---- the scratchpad ------------------------------------------------------------------------- */

/* Are all of its tensors touched from one end to the other? Gaps are for HBM. */
static bool is_whole(const tg_sdsc *s) {
    for (int32_t k = 0; k < s->kernel->ntensors; k++) {
        const tg_sdsc_tensor *t = &s->tensor[k];
        for (int32_t i = 0; i < t->ndims; i++)
            if (t->scale[t->order[i]] == 1 && t->gap[t->order[i]] != 0) return false;
        if (t->offset != 0) return false;
    }
    return true;
}

static bool is_shared_sum(const tg_sdsc *s) {
    const tg_sdsc_tensor *result = &s->tensor[s->kernel->ntensors - 1];
    for (int32_t d = 0; d < s->ndims; d++)
        if (s->split[d] > 1 && result->scale[d] != 1) return true;
    return false;
}

bool tg_step_uses_lx(bool *shares, const tg_graph *graph, const tg_graph_plan *plan,
                     const tg_division_params *division, int64_t step) {
    const tg_bundle    b = {.graph = graph, .plan = plan, .params = {.division = *division}};
    const tg_plan_step s = tg_graph_plan_step(plan, step);
    tg_build           build;
    tg_sdsc            sdsc;
    if (s.kind != TG_STEP_NODE || tg_count_pieces(&b, step) != 1) return false;
    if (tg_graph_get(graph, s.node).kind == TG_NODE_CONCATENATE) return false;
    if (tg_build_kernel(&build, &b, step, 0, NULL) != TG_OK || tg_sdsc_make(&sdsc, &build.kernel, NULL) != TG_OK)
        return false;
    *shares = is_shared_sum(&sdsc);
    return build.kernel.kind != TG_KERNEL_RESTICKIFY && is_whole(&sdsc);
}
