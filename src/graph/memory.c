/* Where the tensors of a planned graph live: first what stays in LX, then HBM for everything else. There the pool goes
 * through the program step by step; arguments have segments of their own as long as there are enough. */
#include "graph/memory.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/plan.h"

#include <stdlib.h>

const char *tg_home_name(tg_home home) {
    static const char *const names[] = {"lx", "pool", "own", "host", "none"};
    return (int)home >= 0 && home <= TG_HOME_NONE ? names[home] : NULL;
}

/* ---- lives -------------------------------------------------------------------------------------- */

/* Of each tensor the step that read it last; -1: none has. */
static void count_readers(tg_memory *m, int64_t *last) {
    for (int64_t i = 0; i < m->n; i++) last[i] = -1;
    for (int64_t i = 0; i < m->n; i++) {
        const int32_t noperands = tg_graph_plan_step(m->plan, i).noperands;
        for (int32_t k = 0; k < noperands; k++) {
            const int64_t from = tg_graph_plan_step_operand(m->plan, i, k);
            if (last[from] != i) m->first_reader[from + 1]++;
            last[from] = i;
        }
    }
    for (int64_t i = 0; i < m->n; i++) m->first_reader[i + 1] += m->first_reader[i];
}

static tg_status list_readers(tg_memory *m, tg_error *err) {
    int64_t *last = malloc(((size_t)m->n + 1) * sizeof *last);
    if (last != NULL) count_readers(m, last);
    m->readers = malloc(((size_t)m->first_reader[m->n] + 1) * sizeof *m->readers);
    if (last == NULL || m->readers == NULL) {
        free(last);
        return tg_graph_no_memory(err);
    }
    for (int64_t i = 0; i < m->n; i++) last[i] = m->first_reader[i]; /* where the next reader goes */
    for (int64_t i = 0; i < m->n; i++) {
        const int32_t noperands = tg_graph_plan_step(m->plan, i).noperands;
        for (int32_t k = 0; k < noperands; k++) {
            const int64_t from = tg_graph_plan_step_operand(m->plan, i, k);
            if (last[from] == m->first_reader[from] || m->readers[last[from] - 1] != i) m->readers[last[from]++] = i;
        }
    }
    free(last);
    tg_mark_results(m->output, m->graph, m->plan);
    return TG_OK;
}

/* In whole sticks, and at least one. */
static bool in_sticks(int64_t *out, int64_t bytes) {
    return tg_round_up(out, tg_max(bytes, 1), TG_SPYRE_STICK_BYTES);
}

static tg_status start_rows(tg_memory *m, tg_error *err) {
    for (int64_t i = 0; i < m->n; i++) {
        const tg_plan_step step = tg_graph_plan_step(m->plan, i);
        tg_residence      *r = &m->rows[i];
        *r = (tg_residence){.home = TG_HOME_HOST, .address = -1, .first = i, .last = i, .in_place_of = -1,
                            .reason = TG_REASON_HOST, .because_of = -1};
        if (m->first_reader[i + 1] > m->first_reader[i]) r->last = m->readers[m->first_reader[i + 1] - 1];
        if (m->output[i]) r->last = m->n - 1;
        m->storage[i] = step.bytes;
        if (!step.on_device) continue;
        r->home = TG_HOME_NONE;
        if (!in_sticks(&r->bytes, step.bytes))
            return tg_fail(err, TG_ERR_OVERFLOW, "the storage of step %d does not fit 63 bits", i);
    }
    return tg_stretch_lives(m) ? TG_OK : tg_graph_no_memory(err);
}

/* ---- HBM ------------------------------------------------------------------------------------------- */

/* What is behind the last tensor of each segment. */
typedef struct segments {
    int64_t end[TG_HBM_SEGMENTS];
    int64_t arguments; /* that have come so far */
    bool    enough;    /* for each argument to have its own */
} segments;

static bool is_argument(const tg_residence *r) {
    return r->reason == TG_REASON_INPUT || r->reason == TG_REASON_OUTPUT;
}

static bool put_into(segments *s, tg_residence *r, int64_t segment) {
    if (r->bytes > TG_HBM_SEGMENT_BYTES - s->end[segment]) return false;
    r->home = TG_HOME_OWN;
    r->address = segment * TG_HBM_SEGMENT_BYTES + s->end[segment];
    s->end[segment] += r->bytes;
    return true;
}

static void give_own(segments *s, tg_residence *r) {
    if (is_argument(r) && s->enough && put_into(s, r, ++s->arguments)) return;
    for (int64_t k = 1; k < TG_HBM_SEGMENTS; k++)
        if (put_into(s, r, k)) return;
}

/* A carry that has memory of its own shares it with what it is written over. */
static void lend_place(tg_memory *m, int64_t i) {
    const tg_residence *r = &m->rows[i];
    if (r->in_place_of < 0 || r->home != TG_HOME_OWN) return;
    m->rows[r->in_place_of].home = TG_HOME_OWN;
    m->rows[r->in_place_of].address = r->address;
}

static void place_arguments(tg_memory *m, segments *s) {
    int64_t arguments = 0;
    for (int64_t i = 0; i < m->n; i++) arguments += is_argument(&m->rows[i]);
    s->enough = arguments < TG_HBM_SEGMENTS;
    for (int64_t i = 0; i < m->n; i++)
        if (is_argument(&m->rows[i])) give_own(s, &m->rows[i]);
    for (int64_t i = 0; i < m->n; i++)
        if (m->rows[i].reason == TG_REASON_CONSTANT) give_own(s, &m->rows[i]);
    for (int64_t i = m->n; i-- > 0;) lend_place(m, i);
}

/* What is to be released: tensors in the pool, by the step that is their last. */
typedef struct endings {
    int64_t *first, *next; /* of steps the first that ends there, of tensors the next one; -1: none */
    bool    *done;         /* released, or handed on */
} endings;

static tg_status release(tg_memory *m, endings *e, tg_pool *pool, int64_t i, tg_error *err) {
    if (m->rows[i].home != TG_HOME_POOL || e->done[i]) return TG_OK;
    e->done[i] = true;
    return tg_pool_release(pool, m->rows[i].address, m->rows[i].bytes, err);
}

/* Of tensors that end together those that the step touches come first, in the order of its operands. */
static tg_status release_ended(tg_memory *m, endings *e, tg_pool *pool, int64_t step, tg_error *err) {
    const int32_t noperands = tg_graph_plan_step(m->plan, step).noperands;
    tg_status     s = m->rows[step].last == step ? release(m, e, pool, step, err) : TG_OK;
    for (int32_t k = 0; k < noperands && s == TG_OK; k++) {
        const int64_t from = tg_graph_plan_step_operand(m->plan, step, k);
        if (m->rows[from].last == step) s = release(m, e, pool, from, err);
    }
    for (int64_t i = e->first[step]; i >= 0 && s == TG_OK; i = e->next[i]) s = release(m, e, pool, i, err);
    return s;
}

static bool list_endings(endings *e, const tg_memory *m) {
    const size_t n = (size_t)m->n + 1;
    e->first = malloc(2 * n * sizeof *e->first);
    e->done = calloc(n, sizeof *e->done);
    if (e->first == NULL || e->done == NULL) return false;
    e->next = e->first + n;
    for (int64_t i = 0; i < m->n; i++) e->first[i] = -1;
    for (int64_t i = 0; i < m->n; i++) {
        const tg_residence *r = &m->rows[i];
        e->next[i] = e->first[r->last];
        e->first[r->last] = i;
        if (r->in_place_of >= 0 && r->home != TG_HOME_LX) e->done[r->in_place_of] = true;
    }
    return true;
}

/* In the pool, or where that is full in memory of its own; a carry where it is written over something. */
static tg_status place_step(tg_memory *m, segments *own, tg_pool *pool, int64_t i, tg_error *err) {
    tg_residence *r = &m->rows[i];
    if (r->home != TG_HOME_NONE || is_argument(r) || r->reason == TG_REASON_CONSTANT) return TG_OK;
    if (r->in_place_of >= 0) {
        r->home = m->rows[r->in_place_of].home;
        r->address = m->rows[r->in_place_of].address;
        return TG_OK;
    }
    const tg_status s = tg_pool_allocate(&r->address, pool, r->bytes, err);
    if (s == TG_OK && r->address >= 0) r->home = TG_HOME_POOL;
    else if (s == TG_OK) give_own(own, r);
    return s;
}

static tg_status fill_pool(tg_memory *m, segments *own, tg_error *err) {
    endings   e = {NULL, NULL, NULL};
    tg_pool  *pool = NULL;
    tg_status s = list_endings(&e, m) ? tg_pool_create(&pool, m->params.pool_bytes, err) : tg_graph_no_memory(err);
    for (int64_t i = 0; i < m->n && s == TG_OK; i++) {
        s = place_step(m, own, pool, i, err);
        if (s == TG_OK) s = release_ended(m, &e, pool, i, err);
    }
    if (s == TG_OK) m->summary.pool_peak = tg_pool_end(pool);
    tg_pool_destroy(&pool);
    free(e.first);
    free(e.done);
    return s;
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

/* What each step moves between HBM and the cores. */
static tg_status count_traffic(tg_memory *m, tg_error *err) {
    tg_memory_summary *s = &m->summary;
    for (int64_t i = 0; i < m->n; i++) {
        const tg_residence *r = &m->rows[i];
        const bool          made = r->reason != TG_REASON_INPUT && r->reason != TG_REASON_CONSTANT;
        int64_t             uses = m->first_reader[i + 1] - m->first_reader[i] + made, bytes;
        if (r->home == TG_HOME_HOST) continue;
        s->lx_count += r->home == TG_HOME_LX;
        s->pool_count += r->home == TG_HOME_POOL;
        s->own_count += r->home == TG_HOME_OWN;
        s->none_count += r->home == TG_HOME_NONE;
        if (r->home == TG_HOME_LX) uses = 0;
        if (!tg_mul(&bytes, m->storage[i], uses) || !tg_add(&s->traffic_bytes, s->traffic_bytes, bytes) ||
            (r->home == TG_HOME_LX && !tg_add(&s->lx_bytes, s->lx_bytes, m->storage[i])) ||
            (r->home == TG_HOME_OWN && !tg_add(&s->own_bytes, s->own_bytes, r->bytes)) ||
            (r->home == TG_HOME_NONE && !tg_add(&s->none_bytes, s->none_bytes, r->bytes)))
            return tg_fail(err, TG_ERR_OVERFLOW, "what steps 0 to %d move does not fit 63 bits", i);
    }
    return TG_OK;
}

static tg_status check_params(tg_memory_params *out, const tg_memory_params *params, tg_error *err) {
    *out = params != NULL ? *params : (tg_memory_params){.lx_bytes = 0};
    if ((int)out->solver < 0 || out->solver > TG_SOLVER_BESTFIT || (out->has_lx_bytes && out->lx_bytes < 0) ||
        out->pool_bytes < 0 || out->pool_bytes > TG_HBM_SEGMENT_BYTES || out->max_branches < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "solver %d, lx_bytes %d, pool_bytes %d or max_branches %d is out of range",
                       (int64_t)out->solver, out->lx_bytes, out->pool_bytes, out->max_branches);
    if (out->pool_bytes == 0) out->pool_bytes = TG_HBM_POOL_BYTES;
    return out->has_lx_bytes ? TG_OK : tg_lx_capacity(&out->lx_bytes, TG_LX_BACKEND_FRACTION, false, err);
}

static tg_status fill(tg_memory *m, tg_error *err) {
    segments  s = {.arguments = 0};
    tg_status status = list_readers(m, err);
    if (status == TG_OK) status = start_rows(m, err);
    if (status == TG_OK) status = tg_memory_fill_lx(m, err);
    if (status != TG_OK) return status;
    place_arguments(m, &s);
    status = fill_pool(m, &s, err);
    return status == TG_OK ? count_traffic(m, err) : status;
}

tg_status tg_memory_create(tg_memory **out, const tg_graph *graph, const tg_graph_plan *plan,
                           const tg_memory_params *params, tg_error *err) {
    tg_memory_params checked;
    tg_status        s = check_params(&checked, params, err);
    if (s != TG_OK) return s;
    if (!tg_graph_plan_summary(plan).feasible || plan->problem.graph != graph ||
        plan->problem.nodes.count != graph->nodes.count)
        return tg_fail(err, TG_ERR_ARGUMENT, "the plan is not feasible, or not one of this graph as it is");
    tg_memory *m = calloc(1, sizeof *m);
    if (m == NULL) return tg_graph_no_memory(err);
    m->graph = graph;
    m->plan = plan;
    m->params = checked;
    m->n = tg_graph_plan_step_count(plan);
    m->rows = calloc((size_t)m->n + 1, sizeof *m->rows);
    m->storage = calloc((size_t)m->n + 1, sizeof *m->storage);
    m->output = calloc((size_t)m->n + 1, sizeof *m->output);
    m->crosses = calloc((size_t)m->n + 1, sizeof *m->crosses);
    m->first_reader = calloc((size_t)m->n + 2, sizeof *m->first_reader);
    const bool memory = m->rows != NULL && m->storage != NULL && m->output != NULL && m->crosses != NULL &&
                        m->first_reader != NULL;
    s = memory ? fill(m, err) : tg_graph_no_memory(err);
    if (s == TG_OK) *out = m;
    else tg_memory_destroy(&m);
    return s;
}

void tg_memory_destroy(tg_memory **memory) {
    tg_memory *m = *memory;
    if (m == NULL) return;
    free(m->rows);
    free(m->storage);
    free(m->output);
    free(m->crosses);
    free(m->first_reader);
    free(m->readers);
    free(m);
    *memory = NULL;
}

tg_memory_summary tg_memory_get_summary(const tg_memory *memory) { return memory->summary; }
tg_residence      tg_memory_get(const tg_memory *memory, int64_t step) { return memory->rows[step]; }
