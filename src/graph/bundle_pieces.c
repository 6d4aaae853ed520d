/* Kernels that only move what is there: restickifies, fills, concatenations.
 *
 *     restickify   one kernel
 *     fill         y[150,512] in rows up to 192: y is copied, and one element of zero into rows 150 to 191
 *     concatenate  each piece is copied to where it begins */
#include "graph/bundle.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

static tg_status refuse(tg_error *err, const char *why) { return tg_fail(err, TG_ERR_UNSUPPORTED, "%s", why); }

/* ---- copies of a whole tensor --------------------------------------------------------------------- */

/* A loop for each dimension of a host tensor, and the access that reads it. */
static tg_access walk_host(tg_build *out, const tg_host *host) {
    out->kernel.nloops = host->ndim;
    for (int32_t d = 0; d < host->ndim; d++) {
        out->ranges[d] = host->shape[d];
        out->terms[d] = (tg_term){.loop = d, .step = host->strides[d]};
    }
    return (tg_access){.nterms = host->ndim, .terms = out->terms};
}

static tg_status check_copy(const tg_build *out, tg_error *err) {
    for (int32_t l = 0; l < out->kernel.nloops; l++)
        if (out->ranges[l] == 0) return refuse(err, "it has no elements");
    return tg_check_format(out->kernel.op, out->tensors[0].layout.device_dtype, err);
}

tg_status tg_build_restickify(tg_build *out, const tg_bundle *b, int64_t step, tg_error *err) {
    const tg_host   host = tg_graph_get(b->graph, tg_graph_plan_step(b->plan, step).node).host;
    const tg_access access = walk_host(out, &host);
    out->kernel.ntensors = 2;
    if (!tg_take_tensor(&out->tensors[0], b, tg_graph_plan_step_operand(b->plan, step, 0), &access) ||
        !tg_take_tensor(&out->tensors[1], b, step, &access))
        return refuse(err, "one of its tensors is not on the device");
    tg_choose_copy(out);
    tg_split_copy(out, b);
    return check_copy(out, err);
}

/* ---- fills ------------------------------------------------------------------------------------------- */

/* The filled tensor as one of its own: the dimensions around the one that has become longer begin further apart. False
 * where they are not whole numbers of it apart. */
static bool lengthen(tg_spyre *layout, tg_host *host, const tg_plan_padding *p) {
    const int64_t around = host->strides[p->dim] * p->valid; /* fits: the tensor has a size */
    if (host->shape[p->dim] != p->valid) return false;
    for (int32_t d = 0; d < host->ndim; d++) {
        int64_t *stride = &host->strides[d];
        if (d == p->dim || *stride < around) continue;
        if (*stride % p->valid != 0 || !tg_mul(stride, *stride / p->valid, p->padded)) return false;
    }
    for (int32_t k = 0; k < layout->rank; k++) {
        int64_t *step = &layout->stride_map[k];
        if (*step < around || layout->device_size[k] <= 1) continue;
        if (*step % around != 0 || !tg_mul(step, *step / p->valid, p->padded)) return false;
    }
    host->shape[p->dim] = p->padded;
    return true;
}

/* Zero, read again and again from one stick. */
static void take_zeros(tg_kernel_tensor *out, const tg_bundle *b, tg_format format) {
    memset(out, 0, sizeof *out);
    out->layout = (tg_spyre){.rank = 2, .device_dtype = format, .stride_map = {-1, -1}};
    out->layout.device_size[0] = 1;
    out->layout.device_size[1] = 8 * TG_SPYRE_STICK_BYTES / tg_format_bits(format);
    out->address = tg_max(b->zeros, 0);
}

static tg_status build_rest(tg_build *out, const tg_bundle *b, int64_t step, const tg_plan_padding *p,
                            const tg_host *whole, tg_error *err) {
    tg_host host = *whole;
    if (!lengthen(&out->tensors[1].layout, &host, p))
        return refuse(err, "the rows behind its end do not stand together");
    tg_access access = walk_host(out, &host);
    out->ranges[p->dim] = p->padded - p->valid;
    access.offset = p->valid * host.strides[p->dim]; /* fits: the filled tensor has a size */
    const tg_spyre layout = out->tensors[1].layout;
    (void)tg_take_tensor(&out->tensors[1], b, step, &access);
    out->tensors[1].layout = layout;
    take_zeros(&out->tensors[0], b, layout.device_dtype);
    return TG_OK;
}

tg_status tg_build_fill(tg_build *out, const tg_bundle *b, int64_t step, int64_t piece, tg_error *err) {
    const tg_plan_step    s = tg_graph_plan_step(b->plan, step);
    const tg_plan_padding p = tg_graph_plan_padding(b->plan, s.index);
    const tg_host         host = tg_graph_get(b->graph, s.node).host;
    const tg_access       access = walk_host(out, &host);
    tg_status             status = TG_OK;
    out->kernel.ntensors = 2;
    if (p.value != TG_PAD_ZERO) return refuse(err, "only zeros can be filled in");
    if (!tg_take_tensor(&out->tensors[0], b, tg_graph_plan_step_operand(b->plan, step, 0), &access) ||
        !tg_take_tensor(&out->tensors[1], b, step, &access))
        return refuse(err, "one of its tensors is not on the device");
    if (piece == 1) status = build_rest(out, b, step, &p, &host, err);
    if (status != TG_OK) return status;
    tg_choose_copy(out);
    tg_split_copy(out, b);
    return check_copy(out, err);
}

/* ---- concatenation -------------------------------------------------------------------------------------- */

/* How far operand k goes along a loop; 0 if its access does not say. */
static int64_t length_of(const tg_bundle *b, int64_t node, int32_t k, int32_t loop) {
    const tg_access a = tg_graph_access(b->graph, node, k);
    for (int32_t i = 0; i < a.nterms; i++)
        if (a.terms[i].loop == loop) return a.terms[i].extent;
    return 0;
}

/* Lengths along a loop, if they make up the whole of it. Those that do not say have one element, or if there is one
 * only what is left. */
static bool is_joined(const tg_bundle *b, int64_t node, const tg_node_info *info, int32_t loop) {
    int64_t told = 0, silent = 0;
    for (int32_t k = 0; k < info->noperands; k++) {
        const int64_t n = length_of(b, node, k, loop);
        if (n == 0) silent++;
        else if (n >= info->ranges[loop] || !tg_add(&told, told, n)) return false;
    }
    return told + silent == info->ranges[loop] || (silent == 1 && told < info->ranges[loop]);
}

/* The one loop that runs from piece to piece; -1 if that cannot be told. */
static int32_t find_joint(const tg_bundle *b, int64_t node, const tg_node_info *info) {
    int32_t found = -1;
    for (int32_t l = 0; l < info->nloops; l++) {
        if (info->ranges[l] < 2 || !is_joined(b, node, info, l)) continue;
        if (found >= 0) return -1;
        found = l;
    }
    return found;
}

/* Where piece k begins along the loop, and how long it is. */
static void find_piece(int64_t *start, int64_t *length, const tg_bundle *b, int64_t node, const tg_node_info *info,
                       int32_t loop, int64_t piece) {
    int64_t told = 0, silent = 0, at = 0;
    for (int32_t k = 0; k < info->noperands; k++) {
        told += length_of(b, node, k, loop);
        silent += length_of(b, node, k, loop) == 0;
    }
    for (int32_t k = 0; k <= piece; k++) {
        *length = length_of(b, node, k, loop);
        if (*length == 0) *length = silent == 1 ? info->ranges[loop] - told : 1;
        *start = at;
        at += *length;
    }
}

tg_status tg_build_concatenation(tg_build *out, const tg_bundle *b, int64_t step, int64_t piece, tg_error *err) {
    const int64_t      node = tg_graph_plan_step(b->plan, step).node;
    const tg_node_info info = tg_graph_get(b->graph, node);
    const int32_t      loop = tg_hlo_text_is(info.opcode, "concatenate") ? find_joint(b, node, &info) : -1;
    tg_access          from = tg_graph_access(b->graph, node, (int32_t)piece), to = tg_graph_access(b->graph, node, -1);
    int64_t            start = 0, length = 0;
    if (loop < 0) return refuse(err, "where its pieces begin is not kept in the graph");
    find_piece(&start, &length, b, node, &info, loop, piece);
    out->kernel.nloops = info.nloops;
    out->kernel.ntensors = 2;
    memcpy(out->ranges, info.ranges, sizeof out->ranges);
    out->ranges[loop] = length;
    for (int32_t i = 0; i < to.nterms; i++)
        if (to.terms[i].loop == loop) to.offset += start * to.terms[i].step; /* fits: it is inside the result */
    if (!tg_take_tensor(&out->tensors[0], b, tg_graph_plan_step_operand(b->plan, step, (int32_t)piece), &from) ||
        !tg_take_tensor(&out->tensors[1], b, step, &to))
        return refuse(err, "one of its tensors is not on the device");
    tg_choose_copy(out);
    tg_split_copy(out, b);
    return check_copy(out, err);
}

/* ---- how many ------------------------------------------------------------------------------------------------ */

int64_t tg_count_pieces(const tg_bundle *b, int64_t step) {
    const tg_plan_step s = tg_graph_plan_step(b->plan, step);
    if (s.kind == TG_STEP_FILL) return 2;
    if (s.kind == TG_STEP_RESTICKIFY) return 1;
    const tg_node_info info = tg_graph_get(b->graph, s.node);
    return info.kind == TG_NODE_CONCATENATE ? tg_max(info.noperands, 1) : 1;
}
