/* Some nodes of a graph, between others that somebody else calculates: what is read and what is left comes in memory of
 * the caller, and everything else lives as long as it is read. */
#include "sim/sim_model.h"

#include "base/error.h"

#include <stdlib.h>

typedef struct part {
    tg_sim  *sim;
    int64_t *uses; /* of each node: how often it is still read */
} part;

/* ---- what can be run ---------------------------------------------------------------------------- */

static tg_status check_stored(const tg_sim *sim, const tg_stored *stored, int64_t node, tg_error *err) {
    const tg_hlo_text name = tg_graph_get(sim->graph, node).name;
    if (!stored->on_device)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "node %d %t is not on the device", node, name.chars, name.len);
    if (stored->why == NULL) return TG_OK;
    return tg_fail(err, TG_ERR_UNSUPPORTED, "node %d %t: %s", node, name.chars, name.len, stored->why);
}

/* Calls f for every node whose numbers are read as places or starts. */
static tg_status each_extra(const tg_compute *c, tg_status (*f)(void *, int64_t, tg_error *), void *with,
                            tg_error *err) {
    tg_status s = c->has_start ? f(with, c->start.node, err) : TG_OK;
    for (int32_t i = 0; i < c->nindices && s == TG_OK; i++) s = f(with, c->indices[i].from.node, err);
    for (int32_t i = 0; i < c->npieces && s == TG_OK; i++)
        if (c->pieces[i].has_from) s = f(with, c->pieces[i].from.node, err);
    return s;
}

static tg_status check_extra(void *sim, int64_t node, tg_error *err) {
    return check_stored(sim, &((const tg_sim *)sim)->node[node], node, err);
}

tg_status tg_sim_can_run(const tg_sim *sim, int64_t node, tg_error *err) {
    tg_job job;
    tg_job_make(&job, sim->graph, sim->program, node);
    if (job.info.kind == TG_NODE_INPUT)
        return tg_fail(err, TG_ERR_ARGUMENT, "node %d %t is an input", node, job.info.name.chars, job.info.name.len);
    tg_status s = tg_job_check(&job, err);
    if (s == TG_OK) s = check_stored(sim, &sim->node[node], node, err);
    for (int32_t k = 0; k < job.info.noperands && s == TG_OK; k++)
        s = check_stored(sim, tg_operand_stored(sim, node, k), tg_graph_operand(sim->graph, node, k), err);
    return s == TG_OK ? each_extra(&job.c, check_extra, (void *)(uintptr_t)sim, err) : s;
}

/* ---- memory ---------------------------------------------------------------------------------------- */

static void free_storage(tg_stored *stored) {
    if (stored->lent) return;
    free(stored->tensor.storage);
    stored->tensor.storage = NULL;
}

/* Nobody reads the node any more. */
static void release(const part *p, int64_t node) {
    tg_sim *sim = p->sim;
    for (int64_t i = sim->first_copy[node]; i != TG_NO_ROW; i = sim->copy[i].next) free_storage(&sim->copy[i]);
    for (int64_t i = sim->first_fill[node]; i != TG_NO_ROW; i = sim->fill[i].next) free_storage(&sim->fill[i]);
    free_storage(&sim->node[node]);
    free(sim->numbers[node]);
    sim->numbers[node] = NULL;
}

static tg_status count_use(void *with, int64_t node, tg_error *err) {
    (void)err;
    ((part *)with)->uses[node]++;
    return TG_OK;
}

static tg_status count_off(void *with, int64_t node, tg_error *err) {
    part *p = with;
    (void)err;
    if (--p->uses[node] == 0) release(p, node);
    return TG_OK;
}

static tg_status each_read(const tg_job *job, tg_status (*f)(void *, int64_t, tg_error *), void *with, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t k = 0; k < job->info.noperands && s == TG_OK; k++)
        s = f(with, tg_graph_operand(job->graph, job->id, k), err);
    return s == TG_OK ? each_extra(&job->c, f, with, err) : s;
}

static tg_status need_made(void *with, int64_t node, tg_error *err) {
    const tg_sim *sim = ((part *)with)->sim;
    if (sim->node[node].tensor.storage != NULL && !sim->node[node].pending) return TG_OK;
    const tg_hlo_text name = tg_graph_get(sim->graph, node).name;
    return tg_fail(err, TG_ERR_ARGUMENT, "node %d %t is read, and neither lent nor made", node, name.chars, name.len);
}

/* ---- nodes ------------------------------------------------------------------------------------------- */

/* Room for a tensor that is to be made: all poison. False in *there: it has been made. */
static tg_status make_room(bool *there, tg_stored *stored, tg_error *err) {
    *there = stored->tensor.storage != NULL && !stored->pending;
    if (*there) return TG_OK;
    stored->pending = false;
    if (stored->tensor.storage == NULL) return tg_tensor_allocate(&stored->tensor, err);
    tg_tensor_poison(&stored->tensor);
    return TG_OK;
}

/* The copy and the fill that operand k is read as. */
static tg_status need_form(tg_sim *sim, int64_t node, int32_t k, tg_error *err) {
    const int64_t row = tg_operand_row(sim, node, k), copy = sim->reads_copy[row], fill = sim->reads_fill[row];
    tg_status     s = TG_OK;
    bool          there = true;
    if (copy != TG_NO_ROW) s = make_room(&there, &sim->copy[copy], err);
    if (s == TG_OK && !there) s = tg_sim_make_copy(sim, copy, err);
    there = true;
    if (s == TG_OK && fill != TG_NO_ROW) s = make_room(&there, &sim->fill[fill], err);
    return s == TG_OK && !there ? tg_sim_make_fill(sim, fill, err) : s;
}

/* Operand k: the tensor itself, or the copy that is read in its place. */
static tg_status need_operand(const part *p, const tg_job *job, int32_t k, tg_error *err) {
    const int64_t copy = p->sim->reads_copy[tg_operand_row(p->sim, job->id, k)];
    if (copy != TG_NO_ROW && p->sim->copy[copy].tensor.storage != NULL && !p->sim->copy[copy].pending) return TG_OK;
    return need_made((void *)(uintptr_t)p, tg_graph_operand(p->sim->graph, job->id, k), err);
}

static tg_status run_node(part *p, int64_t node, tg_error *err) {
    tg_sim *sim = p->sim;
    tg_job  job;
    bool    there = false;
    tg_job_make(&job, sim->graph, sim->program, node);
    tg_status s = tg_sim_can_run(sim, node, err);
    for (int32_t k = 0; k < job.info.noperands && s == TG_OK; k++) s = need_operand(p, &job, k, err);
    if (s == TG_OK) s = each_extra(&job.c, need_made, p, err);
    for (int32_t k = 0; k < job.info.noperands && s == TG_OK; k++) s = need_form(sim, node, k, err);
    if (s == TG_OK) s = make_room(&there, &sim->node[node], err);
    if (s == TG_OK && there) s = tg_fail(err, TG_ERR_ARGUMENT, "node %d is lent as made, and to be made", node);
    if (s == TG_OK) s = tg_sim_run_node(sim, &job, err);
    if (s != TG_OK) return s;
    (void)each_read(&job, count_off, p, err);
    if (p->uses[node] == 0) release(p, node);
    return TG_OK;
}

/* ---- the part ------------------------------------------------------------------------------------------ */

static tg_stored *borrower(const tg_sim *sim, const tg_sim_lent *lent) {
    if (lent->index < 0 || lent->index >= (lent->copy ? sim->ncopies : sim->count)) return NULL;
    return lent->copy ? &sim->copy[lent->index] : &sim->node[lent->index];
}

static tg_status lend(const tg_sim *sim, int64_t nlent, const tg_sim_lent *lent, tg_error *err) {
    for (int64_t i = 0; i < nlent; i++)
        if (borrower(sim, &lent[i]) == NULL || lent[i].storage == NULL)
            return tg_fail(err, TG_ERR_ARGUMENT, "memory is lent for %d, which is none, or it is no memory",
                           lent[i].index);
    for (int64_t i = 0; i < nlent; i++) {
        tg_stored *to = borrower(sim, &lent[i]);
        to->lent = true;
        to->pending = !lent[i].made;
        to->tensor.storage = lent[i].storage;
        to->tensor.bare = lent[i].made && lent[i].bare;
        to->tensor.settles = lent[i].made && lent[i].settles;
    }
    return TG_OK;
}

static void return_lent(const tg_sim *sim, int64_t nlent, const tg_sim_lent *lent) {
    for (int64_t i = 0; i < nlent; i++) {
        tg_stored *to = borrower(sim, &lent[i]);
        if (to == NULL || !to->lent) continue;
        to->lent = to->pending = to->tensor.bare = to->tensor.settles = false;
        to->tensor.storage = NULL;
    }
}

static tg_status run_nodes(part *p, int64_t nnodes, const int64_t *nodes, tg_error *err) {
    tg_status s = TG_OK;
    tg_job    job;
    for (int64_t i = 0; i < nnodes; i++) {
        if (nodes[i] < 0 || nodes[i] >= p->sim->count || (i > 0 && nodes[i] <= nodes[i - 1]))
            return tg_fail(err, TG_ERR_ARGUMENT, "node %d is none, or not in the order of the graph", nodes[i]);
        tg_job_make(&job, p->sim->graph, p->sim->program, nodes[i]);
        if (job.op->op != TG_OP_NONE) (void)each_read(&job, count_use, p, err);
    }
    for (int64_t i = 0; i < nnodes && s == TG_OK; i++) s = run_node(p, nodes[i], err);
    return s;
}

tg_status tg_sim_run_part(tg_sim *sim, int64_t nnodes, const int64_t *nodes, int64_t nlent, const tg_sim_lent *lent,
                          tg_error *err) {
    const size_t n = (size_t)sim->count + 1;
    part         p = {sim, calloc(n, sizeof *p.uses)};
    tg_status    s = TG_OK;
    if (!sim->params.in_parts) s = tg_fail(err, TG_ERR_ARGUMENT, "this simulation does not run in parts");
    else if (p.uses == NULL) s = tg_fail(err, TG_ERR_NOMEM, "there is no memory to run a part");
    else {
        s = lend(sim, nlent, lent, err);
        if (s == TG_OK) s = run_nodes(&p, nnodes, nodes, err);
        for (int64_t node = 0; node < sim->count; node++) release(&p, node);
        return_lent(sim, nlent, lent);
    }
    free(p.uses);
    return s;
}
