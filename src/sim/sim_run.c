/* Running a plan: node by node in the order of the graph; behind each node the copies and the fills of its result. */
#include "sim/sim_model.h"

#include "base/checked.h"
#include "base/error.h"
#include "sim/evaluate.h"
#include "sim/kernel.h"
#include "sim/sim_rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- inputs -------------------------------------------------------------------------------------- */

int64_t tg_sim_nbytes(const tg_sim *sim, int64_t node) {
    int64_t span = 0;
    if (tg_host_span(&span, &sim->node[node].tensor.host, NULL) != TG_OK) return 0;
    return span * (tg_dtype_storage_bits(sim->node[node].tensor.host.dtype) / 8);
}

tg_status tg_sim_write(tg_sim *sim, int64_t node, const void *data, tg_error *err) {
    if (node < 0 || node >= sim->count || tg_graph_get(sim->graph, node).kind != TG_NODE_INPUT)
        return tg_fail(err, TG_ERR_ARGUMENT, "node %d is no input", node);
    if (sim->params.in_parts) return tg_fail(err, TG_ERR_ARGUMENT, "this simulation runs in parts");
    const size_t n = (size_t)tg_sim_nbytes(sim, node);
    void        *kept = malloc(n + 1);
    if (kept == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for an input of %d bytes", (int64_t)n);
    if (n > 0) memcpy(kept, data, n);
    tg_stored *stored = &sim->node[node];
    if (stored->on_device) {
        tg_tensor_poison(&stored->tensor);
        const tg_status s = tg_tensor_write(&stored->tensor, kept, err);
        if (s != TG_OK) {
            free(kept);
            return s;
        }
    }
    free(sim->input[node]);
    sim->input[node] = kept;
    tg_sim_forget(sim, sim->definition);
    sim->has_run = false;
    return TG_OK;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

static tg_status make_numbers(tg_number **out, const tg_sim *sim, int64_t node, tg_error *err) {
    int64_t         span = 0;
    const tg_host  *host = &sim->node[node].tensor.host;
    const tg_status s = tg_host_span(&span, host, err);
    if (s != TG_OK) return s;
    *out = malloc(((size_t)span + 1) * sizeof **out);
    if (*out == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for %d numbers", span);
    for (int64_t i = 0; i < span; i++) {
        if (tg_dtype_is_whole(host->dtype)) (*out)[i].whole = 0;
        else (*out)[i].real = NAN;
    }
    return TG_OK;
}

static tg_status read_input(tg_number *out, const tg_sim *sim, int64_t node, tg_error *err) {
    int64_t   span = 0;
    tg_status s = tg_host_span(&span, &sim->node[node].tensor.host, err);
    return s == TG_OK ? tg_numbers_read(out, sim->node[node].tensor.host.dtype, span, sim->input[node], err) : s;
}

/* What is not on the device has its numbers from when it was calculated. */
tg_status tg_sim_need_numbers(tg_sim *sim, int64_t node, tg_error *err) {
    if (sim->numbers[node] != NULL) return TG_OK;
    tg_status s = make_numbers(&sim->numbers[node], sim, node, err);
    if (s != TG_OK) return s;
    if (sim->node[node].on_device) return tg_tensor_get(sim->numbers[node], &sim->node[node].tensor, err);
    return sim->input[node] != NULL ? read_input(sim->numbers[node], sim, node, err) : TG_OK;
}

static tg_status need_data(tg_sim *sim, const tg_compute *c, tg_error *err) {
    tg_status s = c->has_start ? tg_sim_need_numbers(sim, c->start.node, err) : TG_OK;
    for (int32_t i = 0; i < c->nindices && s == TG_OK; i++) s = tg_sim_need_numbers(sim, c->indices[i].from.node, err);
    for (int32_t i = 0; i < c->npieces && s == TG_OK; i++)
        if (c->pieces[i].has_from) s = tg_sim_need_numbers(sim, c->pieces[i].from.node, err);
    return s;
}

/* ---- on the host --------------------------------------------------------------------------------------- */

/* Boundaries, copies that any layout does for, and what is known beforehand. */
static tg_status run_on_host(tg_sim *sim, const tg_job *job, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t k = 0; k < job->info.noperands && s == TG_OK; k++)
        s = tg_sim_need_numbers(sim, tg_graph_operand(sim->graph, job->id, k), err);
    if (s == TG_OK) s = make_numbers(&sim->numbers[job->id], sim, job->id, err);
    if (s == TG_OK) s = tg_evaluate(sim->numbers[job->id], job, sim->numbers, err);
    if (s != TG_OK || !sim->node[job->id].on_device) return s;
    s = tg_tensor_put(&sim->node[job->id].tensor, sim->numbers[job->id], err);
    free(sim->numbers[job->id]);
    sim->numbers[job->id] = NULL; /* what counts is what the device has of it */
    return s;
}

/* ---- on the device ---------------------------------------------------------------------------------------- */

static uint32_t loops_of(const tg_sim *sim, int64_t node, int32_t k) {
    const tg_access a = tg_graph_access(sim->graph, node, k);
    uint32_t        loops = 0;
    for (int32_t i = 0; i < a.nterms; i++)
        if (a.terms[i].loop >= 0) loops |= UINT32_C(1) << a.terms[i].loop;
    return loops;
}

static int32_t last_of(uint32_t loops) {
    int32_t last = -1;
    for (int32_t l = 0; l < 32; l++)
        if ((loops >> l & 1) != 0) last = l;
    return last;
}

/* The loops in the lanes of a product: of x one that is summed up, of y and the result the columns. Without columns or
 * without a sum there are no such roles. */
static bool find_roles(int32_t *lane, int32_t *x, const tg_sim *sim, const tg_job *job) {
    const uint32_t a = loops_of(sim, job->id, 0), b = loops_of(sim, job->id, 1), c = loops_of(sim, job->id, -1);
    const uint32_t summed = a & b & ~c, columns = b & c & ~a, rows = a & c & ~b;
    if (summed == 0 || (columns == 0 && rows == 0)) return false;
    *x = columns == 0;
    const int32_t loop = tg_loop_in_sticks(sim, job->id, *x);
    lane[*x] = loop >= 0 && (summed >> loop & 1) != 0 ? loop : last_of(summed);
    return true;
}

static void find_lanes(int32_t *lane, tg_task *task, const tg_sim *sim, const tg_job *job) {
    const int32_t loop = tg_graph_plan_stick(sim->plan, job->id);
    for (int32_t k = 0; k <= job->info.noperands; k++) lane[k] = loop;
    task->cut = -1;
    if (job->info.kind == TG_NODE_MATMUL) (void)find_roles(lane, &task->cut, sim, job);
    if (job->info.kind != TG_NODE_CONVOLUTION) return;
    const tg_node_row *n = tg_node_at(sim->graph, job->id);
    lane[0] = n->in_channel;
    lane[1] = lane[2] = n->out_channel;
    task->cut = n->in_channel != n->out_channel ? 0 : -1;
    task->cut_all = task->cut == 0;
}

static tg_lane_mask find_mask(const tg_sim *sim, int64_t node, int32_t k) {
    static const double values[] = {0, 1, -INFINITY, INFINITY};
    const int64_t       i = sim->mask[tg_operand_row(sim, node, k)];
    if (i == TG_NO_ROW) return (tg_lane_mask){.used = false};
    const tg_plan_padding p = tg_graph_plan_padding(sim->plan, i);
    return (tg_lane_mask){true, p.valid, values[p.value]};
}

static tg_status divide(tg_division *out, const tg_sim *sim, int64_t node, tg_error *err) {
    tg_status s = TG_OK;
    if (sim->params.divisions != NULL) *out = sim->params.divisions[node];
    else if (sim->divided != NULL && sim->divided[node].cores > 0) *out = sim->divided[node];
    else s = tg_graph_plan_divide(out, sim->graph, sim->plan, node, &sim->params.division, err);
    if (s == TG_OK && sim->divided != NULL) sim->divided[node] = *out;
    return s;
}

/* Tensors that several operands read are unpacked for each of them. */
static tg_status unpack_operands(tg_tile *tiles, tg_sim *sim, const tg_job *job, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t k = 0; k < job->info.noperands && s == TG_OK; k++) {
        const tg_stored *stored = tg_operand_stored(sim, job->id, k);
        s = tg_tile_make(&tiles[k], &stored->tensor, err);
        if (s == TG_OK) s = tg_tile_unpack(&tiles[k], err);
    }
    return s;
}

static tg_status run_task(tg_sim *sim, const tg_job *job, tg_tile *tiles, int32_t *lane, tg_lane_mask *mask,
                          tg_error *err) {
    tg_division division;
    tg_tile     result = {.real = NULL};
    tg_task     task = {.job = job, .operand = tiles, .lane = lane, .mask = mask, .values = sim->numbers,
                        .seed = sim->params.seed};
    tg_status   s = divide(&division, sim, job->id, err);
    if (s == TG_OK) s = unpack_operands(tiles, sim, job, err);
    if (s == TG_OK) s = tg_tile_make(&result, &sim->node[job->id].tensor, err);
    if (s != TG_OK) return s;
    find_lanes(lane, &task, sim, job);
    for (int32_t k = 0; k < job->info.noperands; k++) mask[k] = find_mask(sim, job->id, k);
    task.splits = division.splits;
    task.tiles = division.tiles;
    s = tg_task_run(&task, &result, err);
    if (s == TG_OK) s = tg_tile_pack(&result, err);
    tg_tile_free(&result);
    return s;
}

static tg_status run_on_device(tg_sim *sim, const tg_job *job, tg_error *err) {
    const size_t  n = (size_t)job->info.noperands + 1;
    tg_tile      *tiles = calloc(n, sizeof *tiles);
    int32_t      *lane = calloc(n, sizeof *lane);
    tg_lane_mask *mask = calloc(n, sizeof *mask);
    const bool    memory = tiles != NULL && lane != NULL && mask != NULL;
    tg_status     s = TG_ERR_NOMEM;
    if (memory) s = run_task(sim, job, tiles, lane, mask, err);
    else (void)tg_fail(err, s, "there is no memory to run a node");
    for (size_t k = 0; tiles != NULL && k < n; k++) tg_tile_free(&tiles[k]);
    free(tiles);
    free(lane);
    free(mask);
    return s;
}

/* ---- copies and fills ------------------------------------------------------------------------------------------ */

tg_status tg_sim_make_copy(tg_sim *sim, int64_t i, tg_error *err) {
    const tg_tensor *from = &sim->node[tg_graph_plan_restickify(sim->plan, i).producer].tensor;
    sim->copy[i].tensor.settles = from->settles;
    return tg_tensor_copy(&sim->copy[i].tensor, from, err);
}

tg_status tg_sim_make_fill(tg_sim *sim, int64_t i, tg_error *err) {
    static const float    values[] = {0, 1, -TG_LARGEST_SEN169, TG_LARGEST_SEN169};
    const tg_plan_padding p = tg_graph_plan_padding(sim->plan, i);
    const int64_t         copy = sim->reads_copy[tg_operand_row(sim, p.node, p.operand)];
    const tg_tensor      *from = copy != TG_NO_ROW ? &sim->copy[copy].tensor : &sim->node[p.tensor].tensor;
    sim->fill[i].tensor.settles = from->settles;
    const tg_status s = tg_tensor_copy(&sim->fill[i].tensor, from, err);
    return s == TG_OK ? tg_tensor_fill(&sim->fill[i].tensor, p.dim, p.valid, p.padded, values[p.value], err) : s;
}

static tg_status run_copies(tg_sim *sim, int64_t node, tg_error *err) {
    tg_status s = TG_OK;
    for (int64_t i = sim->first_copy[node]; i != TG_NO_ROW && s == TG_OK; i = sim->copy[i].next)
        s = tg_sim_make_copy(sim, i, err);
    for (int64_t i = sim->first_fill[node]; i != TG_NO_ROW && s == TG_OK; i = sim->fill[i].next)
        s = tg_sim_make_fill(sim, i, err);
    return s;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------
 */

/* Rows of a table are read in whole sticks. Without a loop in them the data picks single elements, wherever they lie in
 * a stick, and any layout does for that. */
static bool picks_rows(const tg_sim *sim, const tg_job *job) {
    const int32_t loop = tg_graph_plan_stick(sim->plan, job->id);
    return loop >= 0 && tg_loop_in_sticks(sim, job->id, 0) == loop;
}

static bool runs_on_device(const tg_sim *sim, const tg_job *job) {
    if (job->info.kind == TG_NODE_GATHER && !picks_rows(sim, job)) return false;
    switch (job->info.kind) {
    case TG_NODE_POINTWISE:
    case TG_NODE_REDUCE:
    case TG_NODE_MATMUL:
    case TG_NODE_CONVOLUTION:
    case TG_NODE_GATHER:
    case TG_NODE_CARRY:
    case TG_NODE_CONCATENATE: break;
    default: return false;
    }
    for (int32_t k = 0; k < job->info.noperands; k++)
        if (!tg_operand_stored(sim, job->id, k)->on_device) return false;
    return sim->node[job->id].on_device && job->info.noperands > 0;
}

tg_status tg_sim_run_node(tg_sim *sim, const tg_job *job, tg_error *err) {
    tg_status s = need_data(sim, &job->c, err);
    if (s == TG_OK) s = tg_job_check_indices(job, sim->numbers, err);
    if (s != TG_OK) return s;
    return runs_on_device(sim, job) ? run_on_device(sim, job, err) : run_on_host(sim, job, err);
}

static void forget_numbers(tg_sim *sim, int64_t node) {
    free(sim->numbers[node]);
    sim->numbers[node] = NULL;
}

static tg_status run_node(void *of, int64_t id, tg_error *err) {
    tg_sim   *sim = of;
    tg_job    job;
    tg_status s = TG_OK;
    tg_job_make(&job, sim->graph, sim->program, id);
    forget_numbers(sim, id);
    if (job.info.kind != TG_NODE_INPUT) s = tg_sim_run_node(sim, &job, err);
    else if (sim->input[id] == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "input %d %t was not written", id, job.info.name.chars,
                       job.info.name.len);
    return s == TG_OK ? run_copies(sim, id, err) : s;
}

/* ---- rounds ------------------------------------------------------------------------------------------------ */

static tg_status test_node(bool *goes_on, void *of, int64_t node, tg_error *err) {
    tg_sim         *sim = of;
    const tg_status s = tg_sim_need_numbers(sim, node, err);
    if (s != TG_OK) return s;
    const tg_number x = sim->numbers[node][0];
    *goes_on = tg_dtype_is_whole(sim->node[node].tensor.host.dtype) ? x.whole != 0 : x.real != 0;
    return TG_OK;
}

static bool same_layout(const tg_spyre *a, const tg_spyre *b) {
    const size_t n = (size_t)a->rank * sizeof *a->device_size;
    return a->rank == b->rank && a->device_dtype == b->device_dtype && a->arrangement == b->arrangement &&
           memcmp(a->device_size, b->device_size, n) == 0 && memcmp(a->stride_map, b->stride_map, n) == 0;
}

/* A carry and what it is written over have one layout, and one place. */
static tg_status hand_on(void *of, int64_t to, int64_t from, tg_error *err) {
    tg_sim          *sim = of;
    const tg_stored *source = &sim->node[from];
    tg_stored       *target = &sim->node[to];
    tg_status        s = source->on_device ? TG_OK : tg_sim_need_numbers(sim, from, err);
    int64_t          span = 0;
    forget_numbers(sim, to);
    if (s == TG_OK && source->on_device != target->on_device)
        return tg_fail(err, TG_ERR_ARGUMENT, "node %d is written over node %d, which is elsewhere", from, to);
    if (s == TG_OK && !source->on_device) {
        s = make_numbers(&sim->numbers[to], sim, to, err);
        if (s == TG_OK) s = tg_host_span(&span, &target->tensor.host, err);
        if (s == TG_OK) memcpy(sim->numbers[to], sim->numbers[from], (size_t)span * sizeof **sim->numbers);
    } else if (s == TG_OK) {
        target->tensor.settles = source->tensor.settles;
        if (!same_layout(&target->layout, &source->layout))
            return tg_fail(err, TG_ERR_ARGUMENT, "node %d is written over node %d, which has another layout", from, to);
        memcpy(target->tensor.storage, source->tensor.storage, (size_t)target->tensor.nbytes);
    }
    return s == TG_OK ? run_copies(sim, to, err) : s;
}

/* Loops may have written over them. */
static tg_status restore_inputs(tg_sim *sim, tg_error *err) {
    tg_status s = TG_OK;
    for (int64_t id = 0; id < sim->count && s == TG_OK; id++) {
        if (sim->input[id] == NULL || !sim->node[id].on_device) continue;
        tg_tensor_poison(&sim->node[id].tensor);
        s = tg_tensor_write(&sim->node[id].tensor, sim->input[id], err);
    }
    return s;
}

static void poison(const tg_sim *sim) {
    for (int64_t id = 0; id < sim->count; id++)
        if (sim->node[id].on_device && tg_graph_get(sim->graph, id).kind != TG_NODE_INPUT)
            tg_tensor_poison(&sim->node[id].tensor);
    for (int64_t i = 0; i < sim->ncopies; i++) tg_tensor_poison(&sim->copy[i].tensor);
    for (int64_t i = 0; i < sim->npaddings; i++)
        if (sim->fill[i].on_device) tg_tensor_poison(&sim->fill[i].tensor);
}

tg_status tg_sim_run(tg_sim *sim, tg_error *err) {
    const tg_runner runner = {run_node, test_node, hand_on, sim};
    tg_status       s = TG_OK;
    if (sim->params.in_parts) return tg_fail(err, TG_ERR_ARGUMENT, "this simulation runs in parts");
    poison(sim);
    tg_sim_forget(sim, sim->numbers);
    if (tg_graph_loop_count(sim->graph) > 0) s = restore_inputs(sim, err);
    if (s == TG_OK) s = tg_run_rounds(sim->graph, &runner, err);
    sim->has_run = s == TG_OK;
    return s;
}
