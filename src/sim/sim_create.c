/* What a simulation has: memory for every tensor and each of its copies, in the layout of the plan, and who reads
 * which. */
#include "sim/sim_model.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/coordinate.h"
#include "graph/rules.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_BYTES (INT64_C(8) << 30)

static tg_status no_memory(tg_error *err) { return tg_fail(err, TG_ERR_NOMEM, "there is no memory for a simulation"); }

/* ---- memory ------------------------------------------------------------------------------------ */

static tg_status count_bytes(tg_sim *sim, int64_t n, tg_error *err) {
    const int64_t limit = sim->params.max_bytes > 0 ? sim->params.max_bytes : DEFAULT_BYTES;
    if (!tg_add(&sim->bytes, sim->bytes, n) || sim->bytes > limit)
        return tg_fail(err, TG_ERR_LIMIT, "the tensors of a simulation take more than %d bytes", limit);
    return TG_OK;
}

/* What cannot be simulated is left to the caller of the parts. */
static tg_status keep_reason(tg_stored *out, const char *why, tg_error *err) {
    const size_t n = strlen(why) + 1;
    out->why = malloc(n);
    if (out->why == NULL) return no_memory(err);
    memcpy(out->why, why, n);
    return TG_OK;
}

static tg_status make_stored(tg_stored *out, tg_sim *sim, int64_t node, const tg_spyre *layout, tg_error *err) {
    const tg_node_info info = tg_graph_get(sim->graph, node);
    tg_error           why;
    out->on_device = true;
    out->layout = *layout;
    out->next = TG_NO_ROW;
    const tg_status s = tg_tensor_make(&out->tensor, layout, &info.host, &why);
    if (s == TG_ERR_UNSUPPORTED && sim->params.in_parts) return keep_reason(out, why.message, err);
    if (s != TG_OK)
        return tg_fail(err, s, "node %d %t: %s", node, info.name.chars, info.name.len, why.message);
    return sim->params.in_parts ? TG_OK : count_bytes(sim, out->tensor.nbytes, err);
}

static tg_status make_nodes(tg_sim *sim, tg_error *err) {
    tg_spyre  layout;
    tg_status s = TG_OK;
    for (int64_t id = 0; id < sim->count && s == TG_OK; id++) {
        const tg_node_info info = tg_graph_get(sim->graph, id);
        sim->node[id].tensor.host = info.host;
        sim->first_copy[id] = sim->first_fill[id] = TG_NO_ROW;
        if (tg_graph_plan_layout(&layout, sim->plan, id)) s = make_stored(&sim->node[id], sim, id, &layout, err);
    }
    return s;
}

static tg_status make_copies(tg_sim *sim, tg_error *err) {
    tg_status s = TG_OK;
    for (int64_t i = 0; i < sim->ncopies && s == TG_OK; i++) {
        const tg_restickify r = tg_graph_plan_restickify(sim->plan, i);
        s = make_stored(&sim->copy[i], sim, r.producer, &r.to, err);
        sim->copy[i].next = sim->first_copy[r.producer];
        sim->first_copy[r.producer] = i;
        for (int64_t j = r.first_reader; j < r.first_reader + r.nreaders; j++) {
            const tg_reader reader = tg_graph_plan_reader(sim->plan, j);
            sim->reads_copy[tg_operand_row(sim, reader.node, reader.operand)] = i;
        }
    }
    return s;
}

/* ---- fills ----------------------------------------------------------------------------------------- */

int32_t tg_loop_in_sticks(const tg_sim *sim, int64_t node, int32_t k) {
    const tg_stored   *stored = tg_operand_stored(sim, node, k);
    const tg_node_row *n = tg_node_at(sim->graph, node);
    const tg_access    access = tg_graph_access(sim->graph, node, k);
    tg_stick           stick;
    if (!stored->on_device) return -1;
    tg_stick_of(&stick, &stored->layout, tg_node_ranges(sim->graph, n), &access);
    return stick.kind == TG_STICK_LOOP ? stick.loop : -1;
}

/* Products that read the same tensor in the same form, summed up over the dimension that is filled. */
static void find_readers(tg_sim *sim, int64_t i, const tg_plan_padding *p) {
    const int64_t copy = sim->reads_copy[tg_operand_row(sim, p->node, p->operand)];
    for (int64_t id = p->node; id < sim->count; id++) {
        const tg_node_row *n = tg_node_at(sim->graph, id);
        for (int32_t k = 0; n->kind == TG_NODE_MATMUL && k < (int32_t)n->noperands; k++) {
            const int64_t row = tg_operand_row(sim, id, k);
            if (tg_graph_operand(sim->graph, id, k) != p->tensor || sim->reads_copy[row] != copy) continue;
            const tg_access access = tg_graph_access(sim->graph, id, k);
            const int32_t   loop = tg_loop_in_sticks(sim, id, 1 - k);
            if (loop < 0 || tg_graph_get(sim->graph, id).ranges[loop] != p->valid) continue;
            if (tg_walked_dim(&tg_node_at(sim->graph, p->tensor)->host, &access, loop) != p->dim) continue;
            sim->reads_fill[row] = i;
        }
    }
}

/* What is filled is the end of what the reader walks, from the beginning of the dimension on and with one loop alone;
 * else the places that a plan names are not behind it. */
static tg_status check_fill(const tg_sim *sim, const tg_plan_padding *p, tg_error *err) {
    const tg_node_info tensor = tg_graph_get(sim->graph, p->tensor), reader = tg_graph_get(sim->graph, p->node);
    const tg_access    access = tg_graph_access(sim->graph, p->node, p->operand);
    const tg_dims      dims = tg_host_dims(&tensor.host);
    tg_coordinate      c;
    tg_coordinate_of(&c, &dims, p->dim, reader.ranges, &access);
    if (c.nparts == 1 && c.offset == 0 && p->valid <= tensor.host.shape[p->dim]) return TG_OK;
    return tg_fail(err, TG_ERR_UNSUPPORTED, "the plan fills dimension %d of %t from %d to %d for %t, which walks it "
                   "otherwise", (int64_t)p->dim, tensor.name.chars, tensor.name.len, p->valid, p->padded,
                   reader.name.chars, reader.name.len);
}

static tg_status make_fill(tg_sim *sim, int64_t i, const tg_plan_padding *p, tg_error *err) {
    const int64_t    row = tg_operand_row(sim, p->node, p->operand);
    const tg_stored *of = sim->reads_copy[row] != TG_NO_ROW ? &sim->copy[sim->reads_copy[row]] : &sim->node[p->tensor];
    tg_stored       *to = &sim->fill[i];
    tg_error         why;
    *to = *of;
    to->why = NULL;
    to->next = sim->first_fill[p->tensor];
    sim->first_fill[p->tensor] = i;
    if (of->why != NULL) return keep_reason(to, of->why, err);
    tg_status s = check_fill(sim, p, &why);
    if (s == TG_OK) s = tg_tensor_extend(&to->tensor, &of->tensor, p->dim, p->padded, &why);
    if (s == TG_ERR_UNSUPPORTED && sim->params.in_parts) return keep_reason(to, why.message, err);
    if (s != TG_OK) return tg_fail(err, s, "%s", why.message);
    return sim->params.in_parts ? TG_OK : count_bytes(sim, to->tensor.nbytes, err);
}

static bool is_left_out(const tg_sim *sim, int64_t i) {
    bool found = false;
    for (int64_t j = 0; j < sim->params.nleft_out; j++) found = found || sim->params.left_out[j] == i;
    return found;
}

static tg_status make_paddings(tg_sim *sim, tg_error *err) {
    tg_status s = TG_OK;
    for (int64_t i = 0; i < sim->npaddings && s == TG_OK; i++) {
        const tg_plan_padding p = tg_graph_plan_padding(sim->plan, i);
        if (is_left_out(sim, i)) continue;
        if (p.mask) sim->mask[tg_operand_row(sim, p.node, p.operand)] = i;
        else s = make_fill(sim, i, &p, err);
    }
    for (int64_t i = 0; i < sim->npaddings && s == TG_OK; i++) {
        const tg_plan_padding p = tg_graph_plan_padding(sim->plan, i);
        if (!p.mask && sim->fill[i].on_device) find_readers(sim, i, &p);
    }
    return s;
}

static tg_status allocate(tg_stored *stored, int64_t count, tg_error *err) {
    tg_status s = TG_OK;
    for (int64_t i = 0; i < count && s == TG_OK; i++)
        if (stored[i].on_device) s = tg_tensor_allocate(&stored[i].tensor, err);
    return s;
}

/* ---- checks ---------------------------------------------------------------------------------------------- */

/* Splits and tiles are out of the hands of who runs: wrong ones are to be seen in the numbers, not here. */
static tg_status check_divisions(const tg_sim *sim, tg_error *err) {
    for (int64_t id = 0; sim->params.divisions != NULL && id < sim->count; id++) {
        const tg_division *d = &sim->params.divisions[id];
        int64_t            cores = 1, tiles = 1;
        bool               ok = true, fits = true;
        for (int32_t l = 0; l < tg_graph_get(sim->graph, id).nloops && ok && fits; l++) {
            ok = d->splits[l] >= 1 && tg_mul(&cores, cores, d->splits[l]) && cores <= TG_MAX_CORES;
            fits = tg_mul(&tiles, tiles, tg_max(d->tiles[l], 1));
        }
        if (!ok) return tg_fail(err, TG_ERR_ARGUMENT, "node %d is divided among no or too many cores", id);
        if (!fits) return tg_fail(err, TG_ERR_ARGUMENT, "node %d is done in too many tiles", id);
    }
    return TG_OK;
}

static tg_status check(const tg_sim *sim, tg_error *err) {
    tg_job    job;
    tg_status s = check_divisions(sim, err);
    if (sim->params.in_parts) return s;
    for (int64_t id = 0; id < sim->count && s == TG_OK; id++) {
        tg_job_make(&job, sim->graph, sim->program, id);
        s = tg_job_check(&job, err);
    }
    for (int64_t i = 0; i < tg_graph_output_count(sim->graph) && s == TG_OK; i++) {
        const tg_output out = tg_graph_output(sim->graph, i);
        const tg_host  *view = &out.view;
        int64_t         span = 0, last = view->offset;
        bool            empty = false;
        s = tg_host_span(&span, &sim->node[out.node].tensor.host, err);
        for (int32_t d = 0; d < view->ndim && s == TG_OK; d++) {
            empty = empty || view->shape[d] == 0;
            if (view->shape[d] > 0 && !tg_muladd(&last, last, view->strides[d], view->shape[d] - 1)) last = INT64_MAX;
        }
        if (s == TG_OK && !empty && last >= span)
            s = tg_fail(err, TG_ERR_ARGUMENT, "output %d reaches outside of its tensor", i);
    }
    return s;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static bool make_tables(tg_sim *sim) {
    const size_t n = (size_t)sim->count + 1, m = (size_t)sim->noperands + 1;
    sim->node = calloc(n, sizeof *sim->node);
    sim->copy = calloc((size_t)sim->ncopies + 1, sizeof *sim->copy);
    sim->fill = calloc((size_t)sim->npaddings + 1, sizeof *sim->fill);
    sim->first_copy = calloc(n, sizeof *sim->first_copy);
    sim->first_fill = calloc(n, sizeof *sim->first_fill);
    sim->reads_copy = malloc(m * sizeof *sim->reads_copy);
    sim->reads_fill = malloc(m * sizeof *sim->reads_fill);
    sim->mask = malloc(m * sizeof *sim->mask);
    sim->input = calloc(n, sizeof *sim->input);
    sim->numbers = calloc(n, sizeof(tg_number *));
    sim->definition = calloc(n, sizeof(tg_number *));
    if (sim->params.in_parts) sim->divided = calloc(n, sizeof *sim->divided);
    bool ok = sim->node != NULL && sim->copy != NULL && sim->fill != NULL && sim->first_copy != NULL &&
              sim->first_fill != NULL && sim->reads_copy != NULL && sim->reads_fill != NULL && sim->mask != NULL &&
              sim->input != NULL && sim->numbers != NULL && sim->definition != NULL &&
              (sim->divided != NULL || !sim->params.in_parts);
    for (int64_t i = 0; ok && i < sim->noperands; i++)
        sim->reads_copy[i] = sim->reads_fill[i] = sim->mask[i] = TG_NO_ROW;
    return ok;
}

static tg_status fill_in(tg_sim *sim, tg_error *err) {
    if (!make_tables(sim)) return no_memory(err);
    tg_status s = make_nodes(sim, err);
    if (s == TG_OK) s = check(sim, err);
    if (s == TG_OK) s = make_copies(sim, err);
    if (s == TG_OK) s = make_paddings(sim, err);
    if (sim->params.in_parts) return s;
    if (s == TG_OK) s = allocate(sim->node, sim->count, err);
    if (s == TG_OK) s = allocate(sim->copy, sim->ncopies, err);
    return s == TG_OK ? allocate(sim->fill, sim->npaddings, err) : s;
}

tg_status tg_sim_create(tg_sim **out, const tg_graph *graph, const tg_graph_plan *plan, const tg_program *program,
                        const tg_sim_params *params, tg_error *err) {
    const tg_sim_params   none = {.seed = 0};
    const tg_plan_summary summary = tg_graph_plan_summary(plan);
    if (!summary.feasible) return tg_fail(err, TG_ERR_ARGUMENT, "a plan that is not feasible cannot be run");
    tg_sim *sim = calloc(1, sizeof *sim);
    if (sim == NULL) return no_memory(err);
    sim->graph = graph;
    sim->plan = plan;
    sim->program = program;
    sim->params = params != NULL ? *params : none;
    sim->count = tg_graph_count(graph);
    sim->ncopies = summary.nrestickifies;
    sim->npaddings = summary.npaddings;
    sim->noperands = (int64_t)graph->accesses.count;
    tg_status s = fill_in(sim, err);
    if (s != TG_OK) tg_sim_destroy(&sim);
    else *out = sim;
    if (s == TG_OK) sim->params.left_out = NULL;
    return s;
}

static void free_stored(tg_stored *stored, int64_t count) {
    for (int64_t i = 0; stored != NULL && i < count; i++) {
        free(stored[i].tensor.storage);
        free(stored[i].why);
    }
    free(stored);
}

void tg_sim_forget(tg_sim *sim, tg_number **numbers) {
    for (int64_t i = 0; numbers != NULL && i < sim->count; i++) {
        free(numbers[i]);
        numbers[i] = NULL;
    }
}

void tg_sim_destroy(tg_sim **out) {
    tg_sim *sim = *out;
    if (sim == NULL) return;
    free_stored(sim->node, sim->count);
    free_stored(sim->copy, sim->ncopies);
    free_stored(sim->fill, sim->npaddings);
    free(sim->first_copy);
    free(sim->first_fill);
    free(sim->reads_copy);
    free(sim->reads_fill);
    free(sim->mask);
    for (int64_t i = 0; sim->input != NULL && i < sim->count; i++) free(sim->input[i]);
    free(sim->input);
    tg_sim_forget(sim, sim->numbers);
    tg_sim_forget(sim, sim->definition);
    free(sim->numbers);
    free(sim->definition);
    free(sim->divided);
    free(sim);
    *out = NULL;
}

const void *tg_sim_storage(const tg_sim *sim, int64_t node, int64_t *nbytes) {
    if (node < 0 || node >= sim->count || !sim->node[node].on_device) return NULL;
    *nbytes = sim->node[node].tensor.nbytes;
    return sim->node[node].tensor.storage;
}
