/* Results: as host elements, and against the definition. */
#include "sim/sim_model.h"

#include "base/checked.h"
#include "base/error.h"
#include "sim/evaluate.h"
#include "sim/sim_rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements of an output -------------------------------------------------------------------------- */

static int64_t numel(const tg_host *out) {
    int64_t n = 1;
    for (int32_t d = 0; d < out->ndim; d++) n *= out->shape[d]; /* fits: it was checked */
    return n;
}

/* Dense row-major, from host storage. */
static void take(tg_number *to, const tg_number *from, const tg_host *out) {
    int64_t at[TG_MAX_NDIM] = {0}, place = out->offset;
    int64_t n = numel(out);
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[place];
        for (int32_t d = out->ndim; d-- > 0;) {
            place += out->strides[d];
            if (++at[d] < out->shape[d]) break;
            place -= at[d] * out->strides[d];
            at[d] = 0;
        }
    }
}

static tg_status take_view(tg_number **to, const tg_output *out, tg_number *const *from, tg_error *err) {
    *to = malloc(((size_t)numel(&out->view) + 1) * sizeof **to);
    if (*to == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for an output");
    take(*to, from[out->node], &out->view);
    return TG_OK;
}

static tg_status check_ran(const tg_sim *sim, int64_t i, tg_error *err) {
    if (!sim->has_run) return tg_fail(err, TG_ERR_ARGUMENT, "nothing was run since the inputs were written");
    if (i < 0 || i >= tg_graph_output_count(sim->graph))
        return tg_fail(err, TG_ERR_ARGUMENT, "output %d is none of %d", i, tg_graph_output_count(sim->graph));
    return TG_OK;
}

/* All of a node's result, as its host tensor has it. */
static tg_status check_node(const tg_sim *sim, int64_t node, tg_error *err) {
    if (!sim->has_run) return tg_fail(err, TG_ERR_ARGUMENT, "nothing was run since the inputs were written");
    if (node < 0 || node >= sim->count) return tg_fail(err, TG_ERR_ARGUMENT, "node %d is none of %d", node, sim->count);
    return TG_OK;
}

tg_status tg_sim_read_node(tg_sim *sim, int64_t node, void *data, tg_error *err) {
    int64_t   span = 0;
    tg_status s = check_node(sim, node, err);
    if (s == TG_OK) s = tg_sim_need_numbers(sim, node, err);
    if (s == TG_OK) s = tg_host_span(&span, &sim->node[node].tensor.host, err);
    return s == TG_OK ? tg_numbers_write(data, sim->node[node].tensor.host.dtype, span, sim->numbers[node], err) : s;
}

static tg_status device_output(tg_number **to, tg_sim *sim, int64_t i, tg_error *err) {
    tg_status s = check_ran(sim, i, err);
    if (s != TG_OK) return s;
    const tg_output out = tg_graph_output(sim->graph, i);
    s = tg_sim_need_numbers(sim, out.node, err);
    return s == TG_OK ? take_view(to, &out, sim->numbers, err) : s;
}

tg_status tg_sim_read(tg_sim *sim, int64_t i, void *data, tg_error *err) {
    tg_number *numbers = NULL;
    tg_status  s = device_output(&numbers, sim, i, err);
    if (s != TG_OK) return s;
    const tg_output out = tg_graph_output(sim->graph, i);
    s = tg_numbers_write(data, out.view.dtype, numel(&out.view), numbers, err);
    free(numbers);
    return s;
}

/* ---- the definition -------------------------------------------------------------------------------------- */

/* Before it is calculated: a body that never runs leaves no numbers. */
static tg_status make_definition(tg_sim *sim, int64_t id, tg_error *err) {
    const tg_host  *host = &sim->node[id].tensor.host;
    int64_t         span = 0;
    const tg_status s = tg_host_span(&span, host, err);
    if (s != TG_OK) return s;
    sim->definition[id] = malloc(((size_t)span + 1) * sizeof **sim->definition);
    if (sim->definition[id] == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for %d numbers", span);
    for (int64_t i = 0; i < span; i++) {
        if (tg_dtype_is_whole(host->dtype)) sim->definition[id][i].whole = 0;
        else sim->definition[id][i].real = NAN;
    }
    return TG_OK;
}

static tg_status define_node(void *of, int64_t id, tg_error *err) {
    tg_sim   *sim = of;
    tg_job    job;
    int64_t   span = 0;
    tg_status s = tg_host_span(&span, &sim->node[id].tensor.host, err);
    if (s != TG_OK) return s;
    tg_job_make(&job, sim->graph, sim->program, id);
    if (job.info.kind != TG_NODE_INPUT) return tg_evaluate(sim->definition[id], &job, sim->definition, err);
    return tg_numbers_read(sim->definition[id], job.info.host.dtype, span, sim->input[id], err);
}

static tg_status test_definition(bool *goes_on, void *of, int64_t id, tg_error *err) {
    const tg_sim   *sim = of;
    const tg_number x = sim->definition[id][0];
    (void)err;
    *goes_on = tg_dtype_is_whole(sim->node[id].tensor.host.dtype) ? x.whole != 0 : x.real != 0;
    return TG_OK;
}

static tg_status hand_on_definition(void *of, int64_t to, int64_t from, tg_error *err) {
    const tg_sim   *sim = of;
    int64_t         span = 0;
    const tg_status s = tg_host_span(&span, &sim->node[to].tensor.host, err);
    if (s == TG_OK) memcpy(sim->definition[to], sim->definition[from], (size_t)span * sizeof **sim->definition);
    return s;
}

static tg_status define_all(tg_sim *sim, tg_error *err) {
    const tg_runner runner = {define_node, test_definition, hand_on_definition, sim};
    tg_status       s = TG_OK;
    if (sim->count > 0 && sim->definition[sim->count - 1] != NULL) return TG_OK;
    for (int64_t id = 0; id < sim->count && s == TG_OK; id++) s = make_definition(sim, id, err);
    if (s == TG_OK) s = tg_run_rounds(sim->graph, &runner, err);
    if (s != TG_OK) tg_sim_forget(sim, sim->definition);
    return s;
}

static double real_of(tg_number x, bool whole) { return whole ? (double)x.whole : x.real; }

static void compare(tg_sim_difference *d, double device, double definition) {
    d->elements++;
    if (!isfinite(definition)) return;
    const double size = fabs(definition), error = fabs(device - definition);
    d->scale = size > d->scale ? size : d->scale;
    if (!isfinite(device)) {
        d->lost++;
        return;
    }
    d->largest = error > d->largest ? error : d->largest;
    d->mean_square += definition * definition;
    d->mean_error_square += error * error;
}

static tg_status check_view(tg_sim_difference *out, tg_sim *sim, const tg_output *of, tg_error *err) {
    tg_number        *device = NULL, *definition = NULL;
    tg_sim_difference d = {.elements = 0};
    tg_status         s = tg_sim_need_numbers(sim, of->node, err);
    if (s == TG_OK) s = take_view(&device, of, sim->numbers, err);
    if (s == TG_OK) s = define_all(sim, err);
    if (s == TG_OK) s = take_view(&definition, of, sim->definition, err);
    if (s == TG_OK) {
        const bool whole = tg_dtype_is_whole(of->view.dtype);
        for (int64_t j = 0; j < numel(&of->view); j++)
            compare(&d, real_of(device[j], whole), real_of(definition[j], whole));
        d.mean_square /= d.elements > 0 ? (double)d.elements : 1;
        d.mean_error_square /= d.elements > 0 ? (double)d.elements : 1;
        *out = d;
    }
    free(device);
    free(definition);
    return s;
}

tg_status tg_sim_check(tg_sim_difference *out, tg_sim *sim, int64_t i, tg_error *err) {
    const tg_status s = check_ran(sim, i, err);
    if (s != TG_OK) return s;
    const tg_output of = tg_graph_output(sim->graph, i);
    return check_view(out, sim, &of, err);
}

tg_status tg_sim_check_node(tg_sim_difference *out, tg_sim *sim, int64_t node, tg_error *err) {
    const tg_status s = check_node(sim, node, err);
    if (s != TG_OK) return s;
    const tg_output of = {node, sim->node[node].tensor.host};
    return check_view(out, sim, &of, err);
}
