/* The scratchpad from outside: checking buffers, choosing a solver, counting what it has kept. */
#include "graph/scratchpad.h"

#include "base/error.h"
#include "graph/model.h"

#include <math.h>
#include <stdlib.h>

#define MOST_BYTES (INT64_C(1) << 60)
enum { DEFAULT_BRANCHES = 20000 };

const char *tg_solver_name(tg_solver solver) {
    static const char *const names[] = {"exact", "greedy", "firstfit", "bestfit"};
    return (int)solver >= 0 && solver <= TG_SOLVER_BESTFIT ? names[solver] : NULL;
}

tg_status tg_lx_capacity(int64_t *bytes, double fraction, bool june, tg_error *err) {
    if (!(fraction >= 0 && fraction <= 1))
        return tg_fail(err, TG_ERR_ARGUMENT,
                       "the fraction of the scratchpad that is left to the backend is not in [0, 1]");
    if (june) *bytes = (int64_t)((double)TG_LX_BYTES * (1 - fraction));
    else *bytes = (int64_t)ceil((double)(TG_LX_BYTES - TG_LX_PROGRAM_BYTES) * (1 - fraction) / TG_LX_ALIGNMENT) *
                  TG_LX_ALIGNMENT;
    return TG_OK;
}

/* ---- checks --------------------------------------------------------------------------------- */

static tg_status check_uses(const tg_buffer *b, int64_t i, tg_error *err) {
    if (b->size < 1 || b->size > MOST_BYTES || b->saved_bytes < 0 || b->nuses < 1 || b->nparents < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "buffer %d has %d bytes, of which it saves %d, %d uses and %d parents", i,
                       b->size, b->saved_bytes, b->nuses, b->nparents);
    if (b->uses[0] < 0 || b->uses[b->nuses - 1] == INT64_MAX)
        return tg_fail(err, TG_ERR_ARGUMENT, "buffer %d is used at ticks %d to %d; ticks begin at 0, and end", i,
                       b->uses[0], b->uses[b->nuses - 1]);
    for (int64_t k = 1; k < b->nuses; k++)
        if (b->uses[k] <= b->uses[k - 1])
            return tg_fail(err, TG_ERR_ARGUMENT, "buffer %d is used at tick %d after tick %d; uses increase", i,
                           b->uses[k], b->uses[k - 1]);
    return TG_OK;
}

static tg_status check_parent(const tg_buffer *buffers, int64_t n, int64_t i, int64_t parent, tg_error *err) {
    const tg_buffer *b = &buffers[i];
    if (parent < 0 || parent >= n || parent == i || b->comes_from_outside)
        return tg_fail(err, TG_ERR_ARGUMENT, "buffer %d cannot take the place of buffer %d: %s", i, parent,
                       b->comes_from_outside ? "it comes from outside" : "there is no such parent");
    const tg_buffer *p = &buffers[parent];
    if (b->size > p->size)
        return tg_fail(err, TG_ERR_ARGUMENT, "buffer %d of %d bytes cannot take the place of buffer %d of %d bytes", i,
                       b->size, parent, p->size);
    if (p->nuses == 1 && !p->comes_from_outside)
        return tg_fail(err, TG_ERR_ARGUMENT, "buffer %d cannot take the place of buffer %d, which is never read", i,
                       parent);
    if (p->uses[p->nuses - 1] != b->uses[0])
        return tg_fail(err, TG_ERR_ARGUMENT,
                       "buffer %d cannot take the place of buffer %d: it begins at tick %d, that ends after tick %d", i,
                       parent, b->uses[0], p->uses[p->nuses - 1]);
    return TG_OK;
}

static tg_status check_buffers(const tg_buffer *buffers, int64_t n, tg_error *err) {
    tg_status s = TG_OK;
    for (int64_t i = 0; i < n && s == TG_OK; i++) s = check_uses(&buffers[i], i, err);
    for (int64_t i = 0; i < n && s == TG_OK; i++)
        for (int64_t k = 0; k < buffers[i].nparents && s == TG_OK; k++)
            s = check_parent(buffers, n, i, buffers[i].parents[k], err);
    return s;
}

static tg_status check_params(tg_scratchpad_params *out, const tg_scratchpad_params *params, int64_t n,
                              tg_error *err) {
    *out = *params;
    if (n < 0 || (int)out->solver < 0 || out->solver > TG_SOLVER_BESTFIT || out->capacity < 0 ||
        out->capacity > MOST_BYTES || out->alignment < 0 || out->alignment > MOST_BYTES || out->max_branches < 0)
        return tg_fail(err, TG_ERR_ARGUMENT,
                       "%d buffers, solver %d, capacity %d, alignment %d or max_branches %d is out of range", n,
                       (int64_t)out->solver, out->capacity, out->alignment, out->max_branches);
    if (out->alignment == 0) out->alignment = TG_LX_ALIGNMENT;
    if (out->max_branches == 0) out->max_branches = DEFAULT_BRANCHES;
    return TG_OK;
}

/* ---- what all solvers need ---------------------------------------------------------------------- */

typedef struct arrival {
    int64_t tick, buffer;
} arrival;

static int by_tick(const void *a, const void *b) {
    const arrival *x = a, *y = b;
    if (x->tick != y->tick) return x->tick < y->tick ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

bool tg_order_by_start(int64_t *order, const tg_scratchpad *s) {
    const size_t n = (size_t)s->n;
    arrival     *arrivals = malloc((n + 1) * sizeof *arrivals);
    if (arrivals == NULL) return false;
    for (size_t i = 0; i < n; i++) arrivals[i] = (arrival){tg_buffer_start(&s->buffers[i]), (int64_t)i};
    qsort(arrivals, n, sizeof *arrivals, by_tick);
    for (size_t i = 0; i < n; i++) order[i] = arrivals[i].buffer;
    free(arrivals);
    return true;
}

static tg_status weigh(int64_t *saved, bool *allowed, const tg_buffer *buffers, int64_t n, int64_t capacity,
                       tg_error *err) {
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const tg_buffer *b = &buffers[i];
        saved[i] = b->saved_bytes;
        allowed[i] = !b->barred && b->size <= capacity;
        if ((saved[i] == 0 && !tg_mul(&saved[i], b->size, b->nuses - b->comes_from_outside)) ||
            !tg_add(&sum, sum, saved[i]) || sum > INT64_MAX / 4)
            return tg_fail(err, TG_ERR_OVERFLOW, "what buffers 0 to %d save does not fit 61 bits", i);
    }
    return TG_OK;
}

static void count(tg_scratchpad_summary *out, const tg_placement *placements, const tg_scratchpad *s) {
    for (int64_t i = 0; i < s->n; i++) {
        if (placements[i].address < 0) continue;
        out->kept++;
        out->saved_bytes += s->saved[i];
        out->peak_bytes = tg_max(out->peak_bytes, placements[i].address + s->buffers[i].size);
    }
}

static tg_status solve(tg_placement *out, tg_scratchpad_summary *summary, const tg_scratchpad *s, tg_solver solver,
                       tg_error *err) {
    summary->bound_bytes = INT64_MAX;
    switch (solver) {
    case TG_SOLVER_EXACT: return tg_place_exact(out, summary, s, err);
    case TG_SOLVER_GREEDY: return tg_place_greedy(out, s, err);
    case TG_SOLVER_FIRSTFIT: return tg_place_fit(out, s, NULL, false, err);
    case TG_SOLVER_BESTFIT: break;
    }
    return tg_place_fit(out, s, NULL, true, err);
}

tg_status tg_scratchpad_place(tg_placement *out, tg_scratchpad_summary *summary, const tg_buffer *buffers, int64_t n,
                              const tg_scratchpad_params *params, tg_error *err) {
    tg_scratchpad_params  p;
    tg_scratchpad_summary found = {.kept = 0};
    tg_status             s = check_params(&p, params, n, err);
    if (s == TG_OK) s = check_buffers(buffers, n, err);
    if (s != TG_OK) return s;
    int64_t      *saved = malloc(((size_t)n + 1) * sizeof *saved);
    bool         *allowed = malloc(((size_t)n + 1) * sizeof *allowed);
    tg_placement *placements = malloc(((size_t)n + 1) * sizeof *placements);
    s = saved != NULL && allowed != NULL && placements != NULL ? TG_OK : tg_graph_no_memory(err);
    const tg_scratchpad problem = {buffers, n, saved, allowed, p.capacity, p.alignment, p.max_branches, NULL};
    if (s == TG_OK) s = weigh(saved, allowed, buffers, n, p.capacity, err);
    if (s == TG_OK) s = solve(placements, &found, &problem, p.solver, err);
    if (s == TG_OK) {
        count(&found, placements, &problem);
        found.optimal = found.saved_bytes == found.bound_bytes;
        for (int64_t i = 0; i < n; i++) out[i] = placements[i];
        *summary = found;
    }
    free(saved);
    free(allowed);
    free(placements);
    return s;
}
