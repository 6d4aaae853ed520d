/* Judging a memory by the rules of the header: lives are found again from what each step reads, and every address is
 * held against those that are taken at the same time. How slices are compared is judged in the tests, core by core. */
#include "graph/memory.h"

#include "base/error.h"
#include "base/text.h"
#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct judge {
    const tg_memory *m;
    int64_t         *last;  /* the step that reads each tensor last, itself if none does */
    int64_t         *read;  /* the same, without what loops add */
    int64_t         *alive; /* tensors with an address, by the step that made them */
    bool            *output, *handed;
    const tg_residence **own; /* with memory of their own */
    const char      *fault;
    int64_t          step, other;
} judge;

static bool accuse(judge *j, int64_t step, int64_t other, const char *fault) {
    j->fault = fault;
    j->step = step;
    j->other = other;
    return false;
}

/* ---- lives --------------------------------------------------------------------------------------- */

/* What a loop reads of what was there before has to be there in its last round, too. */
static void follow_loop(judge *j, tg_loop loop) {
    const tg_memory *m = j->m;
    const int64_t    first = loop.first > 0 ? tg_graph_plan_node_step(m->plan, loop.first - 1) + 1 : 0;
    const int64_t    last = tg_graph_plan_node_step(m->plan, loop.end - 1);
    for (int64_t i = first; i <= last; i++)
        for (int32_t k = 0; k < tg_graph_plan_step(m->plan, i).noperands; k++) {
            const int64_t from = tg_graph_plan_step_operand(m->plan, i, k);
            if (from < first && j->last[from] < last) j->last[from] = last;
        }
}

static void find_lives(judge *j) {
    const tg_memory *m = j->m;
    const int64_t    noutputs = tg_graph_output_count(m->graph);
    for (int64_t i = 0; i < m->n; i++) j->last[i] = i;
    for (int64_t i = 0; i < m->n; i++)
        for (int32_t k = 0; k < tg_graph_plan_step(m->plan, i).noperands; k++)
            j->last[tg_graph_plan_step_operand(m->plan, i, k)] = i;
    memcpy(j->read, j->last, (size_t)m->n * sizeof *j->read);
    for (int64_t i = 0; i < m->n; i++) j->output[i] = noutputs == 0 && j->last[i] == i;
    for (int64_t i = 0; i < tg_graph_loop_count(m->graph); i++) follow_loop(j, tg_graph_loop(m->graph, i));
    for (int64_t i = 0; i < noutputs; i++)
        j->output[tg_graph_plan_node_step(m->plan, tg_graph_output(m->graph, i).node)] = true;
    for (int64_t i = 0; i < m->n; i++)
        if (j->output[i]) j->last[i] = m->n - 1;
}

/* ---- one tensor ------------------------------------------------------------------------------------- */

static bool is_kernel(const tg_memory *m, int64_t i) {
    const tg_plan_step step = tg_graph_plan_step(m->plan, i);
    const tg_node_kind kind = tg_node_at(m->graph, step.node)->kind;
    return step.kind == TG_STEP_NODE && step.on_device && kind != TG_NODE_INPUT && kind != TG_NODE_CONSTANT &&
           kind != TG_NODE_CLONE && kind != TG_NODE_DEFAULT && kind != TG_NODE_BOUNDARY && kind != TG_NODE_SEARCH &&
           kind != TG_NODE_SCATTER && kind != TG_NODE_STATISTICS && kind != TG_NODE_NORMALIZE;
}

static bool judge_lx(judge *j, int64_t i, const tg_residence *r) {
    const tg_memory *m = j->m;
    if (r->address % TG_LX_ALIGNMENT != 0 || r->address < 0 || r->bytes > m->params.lx_bytes - r->address)
        return accuse(j, i, -1, "is not within the scratchpad, or not aligned");
    if (j->output[i]) return accuse(j, i, -1, "is a result, and stays in the scratchpad");
    if (!is_kernel(m, i)) return accuse(j, i, -1, "is not made by a kernel");
    for (int64_t k = m->first_reader[i]; k < m->first_reader[i + 1]; k++)
        if (!is_kernel(m, m->readers[k])) return accuse(j, i, m->readers[k], "is read by one that is no kernel");
    return true;
}

static bool carries(const tg_memory *m, int64_t i) {
    const tg_plan_step step = tg_graph_plan_step(m->plan, i);
    return step.kind == TG_STEP_NODE && tg_node_at(m->graph, step.node)->carries;
}

/* A carry, over the first thing that it reads, and reads last. */
static bool judge_carry(judge *j, int64_t i, const tg_residence *r) {
    const tg_memory   *m = j->m;
    const tg_plan_step step = tg_graph_plan_step(m->plan, i);
    const int64_t      parent = r->in_place_of;
    if (j->read[parent] != i || tg_graph_plan_step_operand(m->plan, i, 0) != parent ||
        tg_graph_plan_step_operand(m->plan, i, 1) == parent)
        return accuse(j, i, parent, "cannot take the place of");
    const tg_plan_step  old = tg_graph_plan_step(m->plan, parent);
    const tg_residence *p = &m->rows[parent];
    if (p->home != r->home || p->address != r->address || p->bytes != r->bytes ||
        (old.on_device && !tg_stored_alike(&old.layout, &step.layout)))
        return accuse(j, i, parent, "is not in the place of");
    return true;
}

/* Parents are over with this step, which reads them element by element. */
static bool judge_heir(judge *j, int64_t i, const tg_residence *r) {
    const int64_t parent = r->in_place_of;
    bool          found = false;
    if (parent == -1) return true;
    if (carries(j->m, i)) return judge_carry(j, i, r);
    for (int32_t k = 0; k < tg_graph_plan_step(j->m->plan, i).noperands; k++)
        found = found || (tg_graph_plan_step_operand(j->m->plan, i, k) == parent && tg_writes_in_place(j->m, i, k));
    const tg_residence *p = found ? &j->m->rows[parent] : NULL;
    if (!found || j->last[parent] != i) return accuse(j, i, parent, "cannot take the place of");
    if (r->home != TG_HOME_LX || p->home != TG_HOME_LX || p->address != r->address || p->bytes < r->bytes)
        return accuse(j, i, parent, "is not in the place of");
    if (j->handed[parent]) return accuse(j, i, parent, "is the second one in the place of");
    j->handed[parent] = true;
    return true;
}

static bool judge_hbm(judge *j, int64_t i, const tg_residence *r) {
    const int64_t segment = r->address / TG_HBM_SEGMENT_BYTES, within = r->address % TG_HBM_SEGMENT_BYTES;
    const int64_t limit = r->home == TG_HOME_POOL ? j->m->params.pool_bytes : TG_HBM_SEGMENT_BYTES;
    if (r->address < 0 || r->address % TG_SPYRE_STICK_BYTES != 0 || segment >= TG_HBM_SEGMENTS ||
        r->bytes > limit - within || (segment == 0) != (r->home == TG_HOME_POOL))
        return accuse(j, i, -1, "is not within its segment, or not aligned");
    return r->bytes >= tg_graph_plan_step(j->m->plan, i).bytes || accuse(j, i, -1, "has too few bytes");
}

static bool judge_tensor(judge *j, int64_t i) {
    const tg_residence *r = &j->m->rows[i];
    const bool          there = tg_graph_plan_step(j->m->plan, i).on_device;
    if (r->first != i || r->last != j->last[i]) return accuse(j, i, -1, "does not live from its first use to its last");
    if (there == (r->home == TG_HOME_HOST)) return accuse(j, i, -1, "is on the device, or is not");
    if (!judge_heir(j, i, r)) return false;
    switch (r->home) {
    case TG_HOME_LX: return judge_lx(j, i, r);
    case TG_HOME_POOL:
    case TG_HOME_OWN: return judge_hbm(j, i, r);
    case TG_HOME_HOST:
    case TG_HOME_NONE: break;
    }
    return r->address == -1 || accuse(j, i, -1, "has an address without having a place");
}

/* ---- all of them ---------------------------------------------------------------------------------------- */

static bool overlap(const tg_residence *a, const tg_residence *b) {
    if ((a->home == TG_HOME_LX) != (b->home == TG_HOME_LX)) return false;
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

/* Against those that were made before and are still there. */
static bool judge_overlaps(judge *j) {
    int64_t nalive = 0;
    for (int64_t i = 0; i < j->m->n; i++) {
        const tg_residence *r = &j->m->rows[i];
        int64_t             kept = 0;
        if (r->home != TG_HOME_LX && r->home != TG_HOME_POOL) continue;
        for (int64_t k = 0; k < nalive; k++) {
            const int64_t other = j->alive[k];
            if (j->m->rows[other].last < i) continue;
            j->alive[kept++] = other;
            if (overlap(r, &j->m->rows[other]) && r->in_place_of != other) return accuse(j, i, other, "overlaps");
        }
        j->alive[kept++] = i;
        nalive = kept;
    }
    return true;
}

static int by_address(const void *a, const void *b) {
    const tg_residence *x = *(const tg_residence *const *)a, *y = *(const tg_residence *const *)b;
    return (x->address > y->address) - (x->address < y->address);
}

/* What the place was made for, before carries took it over. */
static int64_t root(const judge *j, const tg_residence *r) {
    while (r->in_place_of >= 0) r = &j->m->rows[r->in_place_of];
    return r->first;
}

/* What has memory of its own is there from start to end. */
static bool judge_own(judge *j) {
    size_t n = 0;
    for (int64_t i = 0; i < j->m->n; i++)
        if (j->m->rows[i].home == TG_HOME_OWN) j->own[n++] = &j->m->rows[i];
    qsort(j->own, n, sizeof(*j->own), by_address);
    for (size_t k = 1; k < n; k++)
        if (overlap(j->own[k - 1], j->own[k]) && root(j, j->own[k - 1]) != root(j, j->own[k]))
            return accuse(j, j->own[k]->first, j->own[k - 1]->first, "overlaps");
    return true;
}

static bool judge_all(judge *j) {
    find_lives(j);
    for (int64_t i = 0; i < j->m->n; i++)
        if (!judge_tensor(j, i)) return false;
    return judge_overlaps(j) && judge_own(j);
}

static void put_fault(char *why, size_t cap, const judge *j) {
    tg_writer w = tg_writer_make(why, cap);
    tg_put_text(&w, "the tensor of step ");
    tg_put_int(&w, j->step);
    tg_put_char(&w, ' ');
    tg_put_text(&w, j->fault);
    if (j->other >= 0) tg_put_text(&w, ": step ");
    if (j->other >= 0) tg_put_int(&w, j->other);
    (void)tg_writer_end(&w);
}

tg_status tg_memory_verify(bool *ok, char *why, size_t cap, const tg_memory *memory, tg_error *err) {
    const size_t n = (size_t)memory->n + 1;
    judge        j = {.m = memory, .fault = "", .other = -1};
    j.last = malloc(3 * n * sizeof *j.last);
    j.output = calloc(2 * n, sizeof *j.output);
    j.own = malloc(n * sizeof(*j.own));
    const bool there = j.last != NULL && j.output != NULL && j.own != NULL;
    if (there) {
        j.alive = j.last + n;
        j.read = j.last + 2 * n;
        j.handed = j.output + n;
        *ok = judge_all(&j);
    }
    if (there && cap > 0 && *ok) why[0] = '\0';
    if (there && cap > 0 && !*ok) put_fault(why, cap, &j);
    free(j.last);
    free(j.output);
    free(j.own);
    return there ? TG_OK : tg_graph_no_memory(err);
}
