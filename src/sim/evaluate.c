/* What the graph means, from the definitions and nothing else: no layout, no padding, no slice of work, and no row
 * function of the device. One loop runs innermost with steps that were worked out before; where windows, pieces or
 * indices are in the way, none does. */
#include "sim/evaluate.h"

#include "base/checked.h"
#include "base/error.h"
#include "sim/formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POISON INT64_C(0x5A5A5A5A5A5A5A5A)

typedef struct place {
    tg_access        access;
    const tg_number *values;
    bool             whole;
    int64_t at, step; /* the element at hand, and to that of the next round of the inner loop; -1: there is none */
} place;

typedef struct walk {
    const tg_job      *job;
    tg_number *const *values;
    tg_number         *out;
    place             *operand; /* job->info.noperands */
    place              result;
    bool               whole;   /* numbers that are calculated with */
    int32_t            bits;    /* of them, where they are integers */
    int32_t            inner;   /* -1: none */
    int64_t            at[TG_MAX_ALL_LOOPS];
} walk;

/* ---- one element ---------------------------------------------------------------------------- */

static tg_number load(const walk *w, int32_t k, int64_t at) {
    const tg_number x = w->operand[k].values[at];
    if (w->operand[k].whole == w->whole) return x;
    return w->whole ? (tg_number){.whole = tg_to_whole(x.real)} : (tg_number){.real = (double)x.whole};
}

static int64_t saturated(double x, tg_dtype dtype) {
    const int32_t bits = tg_dtype_bits(dtype);
    const bool    is_signed = tg_dtype_get_class(dtype) == TG_CLASS_INT;
    if (bits >= 64) return tg_to_whole(x);
    const int64_t high = (INT64_C(1) << (bits - is_signed)) - 1, low = is_signed ? -high - 1 : 0;
    return tg_max(low, tg_min(high, tg_to_whole(x)));
}

static void store(const walk *w, int64_t at, tg_number x) {
    const tg_dtype dtype = w->job->info.host.dtype;
    const bool     whole = tg_dtype_is_whole(dtype);
    if (dtype == TG_PRED) x.whole = w->whole ? x.whole != 0 : x.real != 0;
    else if (!whole) x.real = w->whole ? (double)x.whole : x.real;
    else if (!w->whole) x.whole = saturated(x.real, dtype);
    else x.whole = tg_wrap(x.whole, tg_dtype_bits(dtype), tg_dtype_get_class(dtype) == TG_CLASS_INT);
    w->out[at] = x;
}

static tg_number apply(const walk *w, int64_t round) {
    double        real[TG_MAX_ARITY];
    int64_t       whole[TG_MAX_ARITY];
    tg_number     y;
    for (int32_t k = 0; k < w->job->op->arity; k++) {
        const tg_number x = load(w, k, w->operand[k].at + round * w->operand[k].step);
        if (w->whole) whole[k] = x.whole;
        else real[k] = x.real;
    }
    if (!w->whole) y.real = w->job->op->real(real);
    else if (w->job->op->op == TG_OP_NOT && w->job->info.host.dtype == TG_PRED) y.whole = whole[0] == 0;
    else y.whole = w->job->op->whole(whole, w->bits);
    return y;
}

/* All of a formula, or what it makes of a result that is there. */
static tg_number formula(const walk *w, int64_t round, tg_number x) {
    tg_number values[TG_MAX_STEPS + TG_MAX_STEPS];
    if (w->job->c.nsteps == 0) return x;
    values[0] = x;
    for (int32_t k = 0; w->job->op->op == TG_OP_FORMULA && k < w->job->info.noperands; k++)
        values[k] = load(w, k, w->operand[k].at + round * w->operand[k].step);
    return tg_formula_of(values, w->job, w->whole, w->bits);
}

static void add_up(const walk *w, int64_t round) {
    const int64_t      at = w->result.at + round * w->result.step;
    const tg_reduction r = tg_job_reduction(w->job);
    tg_number          x = load(w, 0, w->operand[0].at + round * w->operand[0].step);
    if (w->job->op->op == TG_OP_PRODUCT) {
        const tg_number y = load(w, 1, w->operand[1].at + round * w->operand[1].step);
        if (w->whole) x.whole = (int64_t)((uint64_t)x.whole * (uint64_t)y.whole);
        else x.real *= y.real;
    }
    if (w->whole) w->out[at].whole = tg_reduce_whole(r, w->out[at].whole, x.whole);
    else w->out[at].real = tg_reduce_real(r, w->out[at].real, x.real);
}

static void calculate(const walk *w, int64_t round) {
    const int64_t at = w->result.at + round * w->result.step;
    const tg_op   op = w->job->op->op;
    if (tg_job_sums(w->job)) {
        if (w->operand[0].at >= 0) add_up(w, round);
        return;
    }
    if (op == TG_OP_IOTA) {
        const int64_t n = w->at[w->job->c.loop];
        store(w, at, formula(w, round, w->whole ? (tg_number){.whole = n} : (tg_number){.real = (double)n}));
        return;
    }
    if (op == TG_OP_FORMULA) {
        store(w, at, formula(w, round, (tg_number){.whole = 0}));
        return;
    }
    if (w->job->op->arity > 0) {
        store(w, at, formula(w, round, apply(w, round)));
        return;
    }
    for (int32_t k = tg_job_moved(w->job); k-- > 0;)
        if (w->operand[k].at >= 0) {
            store(w, at, load(w, k, w->operand[k].at + round * w->operand[k].step));
            return;
        }
}

/* The common case, all in float64 and a loop to sum up. */
static bool multiply_row(const walk *w, int64_t n) {
    const bool product = w->job->op->op == TG_OP_PRODUCT;
    if (!product || w->whole || w->operand[1].whole || w->operand[0].at < 0) return false;
    const tg_number *x = w->operand[0].values + w->operand[0].at, *y = w->operand[1].values + w->operand[1].at;
    const int64_t    xs = w->operand[0].step, ys = w->operand[1].step, rs = w->result.step;
    tg_number       *r = w->out + w->result.at;
    for (int64_t i = 0; i < n; i++) r[i * rs].real += x[i * xs].real * y[i * ys].real;
    return true;
}

/* ---- places ------------------------------------------------------------------------------------ */

static int64_t whole_at(const walk *w, const tg_access *a) { return w->values[a->node][tg_access_at(a, w->at)].whole; }

/* Where pieces of operand k are read; false outside of one. `at` becomes the operand's own. */
static bool move_to_piece(int64_t *at, const walk *w, int32_t k) {
    const tg_compute *c = &w->job->c;
    for (int32_t i = 0; i < c->npieces; i++) {
        const tg_piece *p = &c->pieces[i];
        if (p->operand != k) continue;
        const int64_t most = w->job->ranges[p->loop] - p->size;
        const int64_t first = p->has_from ? tg_max(0, tg_min(whole_at(w, &p->from), most)) : p->first;
        at[p->loop] -= first;
        if (at[p->loop] < 0 || at[p->loop] >= p->size) return false;
    }
    return true;
}

static int64_t find_place(const walk *w, int32_t k) {
    const tg_compute *c = &w->job->c;
    int64_t           at[TG_MAX_ALL_LOOPS];
    memcpy(at, w->at, sizeof at);
    if (!move_to_piece(at, w, k)) return -1;
    int64_t found = tg_access_at(&w->operand[k].access, at);
    for (int32_t i = 0; i < c->nindices; i++) {
        const tg_index *x = &c->indices[i];
        if (x->operand == k) found += x->step * tg_index_place(x, whole_at(w, &x->from));
    }
    for (int32_t i = 0; i < w->job->info.nwindows; i++) {
        const tg_window *v = &w->job->info.windows[i];
        const int64_t    in = at[w->job->info.nloops + i], step = tg_window_at(v, at[v->loop], in);
        if (k == 0 && step < 0) return -1;
        found += k == 0 ? step : (v->reversed ? v->size - 1 - in : in) * v->kernel_step;
    }
    return found;
}

static int64_t inner_step(const tg_access *a, int32_t inner) {
    int64_t step = 0;
    for (int32_t i = 0; i < a->nterms; i++)
        if (inner >= 0 && a->terms[i].loop == inner) step += a->terms[i].step;
    return step;
}

/* ---- loops ---------------------------------------------------------------------------------------- */

static uint32_t uneven_loops(const tg_access *a) {
    uint32_t loops = 0;
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop >= 0 && a->terms[i].modulus > 0) loops |= UINT32_C(1) << a->terms[i].loop;
    return loops;
}

static uint32_t all_loops(const tg_access *a) {
    uint32_t loops = 0;
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop >= 0) loops |= UINT32_C(1) << a->terms[i].loop;
    return loops;
}

/* The last loop that nothing but plain terms has. */
static int32_t choose_inner(const walk *w) {
    const tg_compute *c = &w->job->c;
    uint32_t          no = uneven_loops(&w->result.access);
    for (int32_t k = 0; k < w->job->info.noperands; k++) no |= uneven_loops(&w->operand[k].access);
    for (int32_t i = 0; i < w->job->info.nwindows; i++) no |= UINT32_C(1) << w->job->info.windows[i].loop;
    for (int32_t i = 0; i < c->npieces; i++) no |= UINT32_C(1) << c->pieces[i].loop | all_loops(&c->pieces[i].from);
    for (int32_t i = 0; i < c->nindices; i++) no |= all_loops(&c->indices[i].from);
    if (c->op == TG_OP_IOTA) no |= UINT32_C(1) << c->loop;
    for (int32_t l = w->job->info.nloops; l-- > 0;)
        if (w->job->ranges[l] > 1 && (no >> l & 1) == 0) return l;
    return -1;
}

static bool next(walk *w) {
    for (int32_t l = w->job->nloops; l-- > 0;) {
        if (l == w->inner) continue;
        if (++w->at[l] < w->job->ranges[l]) return true;
        w->at[l] = 0;
    }
    return false;
}

static void run(walk *w) {
    const int64_t n = w->inner >= 0 ? w->job->ranges[w->inner] : 1;
    for (int32_t l = 0; l < w->job->nloops; l++)
        if (w->job->ranges[l] == 0) return;
    do {
        for (int32_t k = 0; k < w->job->info.noperands; k++) w->operand[k].at = find_place(w, k);
        w->result.at = tg_access_at(&w->result.access, w->at);
        if (multiply_row(w, n)) continue;
        for (int64_t i = 0; i < n; i++) calculate(w, i);
    } while (next(w));
}

/* ---- what is there before ---------------------------------------------------------------------------- */

static tg_number first_value(const walk *w) {
    const tg_compute  *c = &w->job->c;
    const tg_reduction r = tg_job_reduction(w->job);
    const bool         sums = tg_job_sums(w->job);
    const bool         whole = sums ? w->whole : tg_dtype_is_whole(w->job->info.host.dtype);
    tg_number          x;
    if (!c->has_start) {
        if (whole) x.whole = sums ? tg_neutral_whole(r, tg_job_leading_dtype(w->job)) : POISON;
        else x.real = sums ? tg_neutral_real(r) : NAN;
        return x;
    }
    x = w->values[c->start.node][c->start.offset];
    const bool is = tg_dtype_is_whole(tg_graph_get(w->job->graph, c->start.node).host.dtype);
    if (is == whole) return x;
    return whole ? (tg_number){.whole = tg_to_whole(x.real)} : (tg_number){.real = (double)x.whole};
}

static tg_status put_constant(tg_number *out, const tg_job *job, int64_t span, tg_error *err) {
    const int64_t width = tg_dtype_storage_bits(job->info.host.dtype) / 8, n = (int64_t)job->c.nbytes / width;
    const tg_status s = tg_numbers_read(out, job->info.host.dtype, tg_min(n, span), job->c.data, err);
    for (int64_t i = 1; s == TG_OK && n == 1 && i < span; i++) out[i] = out[0];
    return s;
}

/* Sums were made in the numbers that were summed up; the result may be of another type. */
static void finish_sums(walk *w, int64_t span) {
    for (int64_t i = 0; tg_job_sums(w->job) && i < span; i++) store(w, i, formula(w, 0, w->out[i]));
}

tg_status tg_evaluate(tg_number *out, const tg_job *job, tg_number *const *values, tg_error *err) {
    walk      w = {.job = job, .values = values, .out = out, .result = {.access = job->result}};
    int64_t   span = 0;
    tg_status s = tg_host_span(&span, &job->info.host, err);
    if (s != TG_OK) return s;
    if (job->op->op == TG_OP_CONSTANT) return put_constant(out, job, span, err);
    w.operand = malloc(((size_t)job->info.noperands + 1) * sizeof *w.operand);
    if (w.operand == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory to evaluate a node");
    for (int32_t k = 0; k < job->info.noperands; k++) {
        const tg_access a = tg_graph_access(job->graph, job->id, k);
        w.operand[k] =
            (place){.access = a, .values = values[a.node], .whole = tg_dtype_is_whole(tg_job_operand_dtype(job, k))};
    }
    w.whole = tg_dtype_is_whole(tg_job_leading_dtype(job));
    w.bits = tg_dtype_bits(tg_job_leading_dtype(job));
    w.inner = choose_inner(&w);
    for (int32_t k = 0; k < job->info.noperands; k++) w.operand[k].step = inner_step(&w.operand[k].access, w.inner);
    w.result.step = inner_step(&w.result.access, w.inner);
    const tg_number first = first_value(&w);
    for (int64_t i = 0; i < span; i++) out[i] = first;
    run(&w);
    finish_sums(&w, span);
    free(w.operand);
    return TG_OK;
}
