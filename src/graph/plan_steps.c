/* What runs, one after the other: the nodes in their order, and before a node the copies that it is the first to read.
 * A copy that is filled up to whole sticks is read by its fill alone:
 *
 *     k (node) -> restickify of k -> fill of that -> scores (node)
 *
 * A step makes one tensor, so its number is also the number of that tensor. */
#include "graph/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/restickify.h"

#include <stdlib.h>

static const uint32_t NO_STEP = UINT32_MAX;

typedef struct listing {
    tg_graph_plan  *plan;
    const tg_graph *g;
    int32_t        *copies;    /* restickify of each row of g->accesses, or -1 */
    uint32_t       *copy_step; /* of each restickify */
    uint32_t       *fill_step; /* of each padding */
} listing;

/* ---- layouts and bytes ---------------------------------------------------------------------------- */

/* Room for the rows that a fill appends: the device dimension that walks the dimension goes on. Where that is the one
 * in the sticks there is room already. */
static bool extend(tg_spyre *layout, const tg_host *host, const tg_plan_padding *p) {
    const int64_t stride = host->strides[p->dim];
    const int32_t last = layout->rank - 1;
    if (layout->stride_map[last] == stride) return true;
    for (int32_t k = 0; k < last; k++) {
        int64_t *size = &layout->device_size[k];
        if (layout->stride_map[k] != stride) continue;
        if (*size % p->valid == 0) return tg_mul(size, *size / p->valid, p->padded);
        return tg_add(size, *size, p->padded - p->valid);
    }
    return true;
}

/* False if it does not fit 63 bits. */
static bool layout_of(tg_spyre *out, bool *there, const tg_graph_plan *plan, tg_step_kind kind, int64_t index) {
    *there = true;
    if (kind == TG_STEP_RESTICKIFY) *out = plan->restickifies.rows[index].to;
    if (kind == TG_STEP_NODE) *there = tg_graph_plan_layout(out, plan, index);
    if (kind != TG_STEP_FILL) return true;
    const tg_padding_row  *row = &plan->paddings.rows[index];
    const tg_plan_padding *p = &row->padding;
    const tg_problem      *problem = &plan->problem;
    const uint32_t         l = tg_chosen_layout(problem, plan->modes, p->tensor);
    *there = tg_layout_number(problem, p->tensor, l) != TG_NO_LAYOUT;
    if (!*there) return true;
    *out = row->form >= 0 ? *tg_copy_layout(problem, p->tensor, l, row->form) : *tg_candidate(problem, p->tensor, l);
    return extend(out, &tg_node_at(problem->graph, p->tensor)->host, p);
}

static bool storage_bytes(int64_t *bytes, const tg_spyre *layout) {
    int64_t elements;
    if (!tg_storage_elements(&elements, layout) || !tg_mul(bytes, elements, tg_format_bits(layout->device_dtype)))
        return false;
    *bytes /= 8;
    return true;
}

/* ---- the list ------------------------------------------------------------------------------------------ */

/* A step that reads what was pushed last. */
static tg_status push_step(uint32_t *step, listing *l, tg_step_kind kind, int64_t index, uint32_t noperands,
                           tg_error *err) {
    tg_graph_plan *plan = l->plan;
    tg_step_row    row = {.kind = kind, .index = index, .first_operand = (uint32_t)plan->reads.count - noperands,
                          .noperands = noperands};
    tg_spyre       layout;
    bool           there;
    if (!layout_of(&layout, &there, plan, kind, index) || (there && !storage_bytes(&row.bytes, &layout)))
        return tg_fail(err, TG_ERR_OVERFLOW, "the storage of a tensor that is filled does not fit 63 bits");
    if (step != NULL) *step = (uint32_t)plan->steps.count;
    return tg_step_rows_push(&plan->steps, row) ? TG_OK : tg_graph_no_memory(err);
}

/* A copy of what `source` made, unless it is there already; source becomes its step. */
static tg_status push_copy(uint32_t *source, listing *l, tg_step_kind kind, int64_t index, tg_error *err) {
    uint32_t *step = kind == TG_STEP_FILL ? &l->fill_step[index] : &l->copy_step[index];
    tg_status s = TG_OK;
    if (*step == NO_STEP) {
        if (!tg_read_rows_push(&l->plan->reads, *source)) return tg_graph_no_memory(err);
        s = push_step(step, l, kind, index, 1, err);
    }
    *source = *step;
    return s;
}

/* The step whose tensor operand k reads, after its copies if these are still to be made. */
static tg_status find_source(uint32_t *source, listing *l, const tg_node_row *n, uint32_t k, tg_error *err) {
    const size_t  access = (size_t)n->first_operand + k;
    const int32_t copy = l->copies[access], fill = l->plan->fills[access];
    tg_status     s = TG_OK;
    *source = l->plan->node_steps[l->g->accesses.rows[access].node];
    if (copy >= 0) s = push_copy(source, l, TG_STEP_RESTICKIFY, copy, err);
    if (s == TG_OK && fill >= 0) s = push_copy(source, l, TG_STEP_FILL, fill, err);
    return s;
}

static tg_status push_node(listing *l, int64_t id, tg_error *err) {
    const tg_node_row *n = tg_node_at(l->g, id);
    uint32_t           source;
    tg_status          s = TG_OK;
    for (uint32_t k = 0; k < n->noperands && s == TG_OK; k++) s = find_source(&source, l, n, k, err);
    for (uint32_t k = 0; k < n->noperands && s == TG_OK; k++) {
        s = find_source(&source, l, n, k, err);
        if (s == TG_OK && !tg_read_rows_push(&l->plan->reads, source)) s = tg_graph_no_memory(err);
    }
    return s == TG_OK ? push_step(&l->plan->node_steps[id], l, TG_STEP_NODE, id, n->noperands, err) : s;
}

static bool prepare(listing *l) {
    tg_graph_plan *plan = l->plan;
    const size_t   naccesses = l->g->accesses.count, ncopies = plan->restickifies.count, nfills = plan->paddings.count;
    plan->node_steps = calloc(l->g->nodes.count + 1, sizeof *plan->node_steps);
    l->copies = malloc((naccesses + 1) * sizeof *l->copies);
    l->copy_step = malloc((ncopies + 1) * sizeof *l->copy_step);
    l->fill_step = malloc((nfills + 1) * sizeof *l->fill_step);
    if (plan->node_steps == NULL || l->copies == NULL || l->copy_step == NULL || l->fill_step == NULL) return false;
    for (size_t i = 0; i < naccesses; i++) l->copies[i] = -1;
    for (size_t i = 0; i < nfills; i++) l->fill_step[i] = NO_STEP;
    for (size_t i = 0; i < ncopies; i++) {
        const tg_restickify *r = &plan->restickifies.rows[i];
        l->copy_step[i] = NO_STEP;
        for (int64_t k = r->first_reader; k < r->first_reader + r->nreaders; k++) {
            const tg_reader *reader = &plan->readers.rows[k];
            l->copies[tg_node_at(l->g, reader->node)->first_operand + (uint32_t)reader->operand] = (int32_t)i;
        }
    }
    return true;
}

tg_status tg_list_steps(tg_graph_plan *plan, tg_error *err) {
    listing   l = {.plan = plan, .g = plan->problem.graph};
    tg_status s = prepare(&l) ? TG_OK : tg_graph_no_memory(err);
    for (size_t id = 0; id < l.g->nodes.count && s == TG_OK; id++) s = push_node(&l, (int64_t)id, err);
    free(l.copies);
    free(l.copy_step);
    free(l.fill_step);
    return s;
}

/* ---- asking ---------------------------------------------------------------------------------------------- */

int64_t tg_graph_plan_step_count(const tg_graph_plan *plan) { return (int64_t)plan->steps.count; }

tg_plan_step tg_graph_plan_step(const tg_graph_plan *plan, int64_t i) {
    const tg_step_row *row = &plan->steps.rows[i];
    tg_plan_step       step = {.kind = row->kind, .index = row->index, .node = row->index,
                               .noperands = (int32_t)row->noperands, .bytes = row->bytes};
    if (row->kind == TG_STEP_RESTICKIFY) step.node = plan->restickifies.rows[row->index].producer;
    if (row->kind == TG_STEP_FILL) step.node = plan->paddings.rows[row->index].padding.tensor;
    (void)layout_of(&step.layout, &step.on_device, plan, row->kind, row->index);
    return step;
}

int64_t tg_graph_plan_step_operand(const tg_graph_plan *plan, int64_t i, int32_t k) {
    return plan->reads.rows[plan->steps.rows[i].first_operand + (uint32_t)k];
}

int64_t tg_graph_plan_node_step(const tg_graph_plan *plan, int64_t node) { return plan->node_steps[node]; }

const char *tg_step_kind_name(tg_step_kind kind) {
    static const char *const names[] = {"node", "restickify", "fill"};
    return (int)kind >= 0 && kind <= TG_STEP_FILL ? names[kind] : NULL;
}

/* ---- results ------------------------------------------------------------------------------------ */

void tg_mark_results(bool *steps, const tg_graph *graph, const tg_graph_plan *plan) {
    const int64_t n = tg_graph_plan_step_count(plan), named = tg_graph_output_count(graph);
    for (int64_t i = 0; i < n; i++) steps[i] = named == 0;
    for (int64_t i = 0; i < named; i++) steps[tg_graph_plan_node_step(plan, tg_graph_output(graph, i).node)] = true;
    for (int64_t i = 0; i < n && named == 0; i++)
        for (int32_t k = 0; k < tg_graph_plan_step(plan, i).noperands; k++)
            steps[tg_graph_plan_step_operand(plan, i, k)] = false;
}
