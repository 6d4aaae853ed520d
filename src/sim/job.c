/* Making jobs, and checking them: what runs them may rely on every access being inside its tensor. */
#include "sim/job.h"

#include "base/checked.h"
#include "base/error.h"
#include "sim/formula.h"

#include <string.h>

static uint32_t loops_of(const tg_access *a) {
    uint32_t loops = 0;
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop >= 0) loops |= UINT32_C(1) << a->terms[i].loop;
    return loops;
}

void tg_job_make(tg_job *out, const tg_graph *graph, const tg_program *program, int64_t id) {
    memset(out, 0, sizeof *out);
    out->graph = graph;
    out->id = id;
    out->info = tg_graph_get(graph, id);
    out->c = tg_program_get(program, id);
    if (out->info.kind == TG_NODE_INPUT) out->c.op = TG_OP_INPUT;
    out->op = tg_op_find(out->c.op);
    out->nloops = out->info.nloops;
    memcpy(out->ranges, out->info.ranges, sizeof out->info.ranges);
    for (int32_t w = 0; w < out->info.nwindows; w++) out->ranges[out->nloops++] = out->info.windows[w].size;
    out->result = tg_graph_access(graph, id, -1);
    const uint32_t all = out->info.nloops == 32 ? UINT32_MAX : (UINT32_C(1) << out->info.nloops) - 1;
    out->summed = all & ~loops_of(&out->result);
    for (int32_t l = 0; l < out->info.nloops; l++)
        if (out->ranges[l] <= 1) out->summed &= ~(UINT32_C(1) << l);
}

int64_t tg_access_at(const tg_access *a, const int64_t *at) {
    int64_t offset = a->offset;
    for (int32_t i = 0; i < a->nterms; i++) {
        const tg_term *t = &a->terms[i];
        if (t->loop < 0) continue;
        offset += t->step * (t->modulus > 0 ? at[t->loop] % t->modulus : at[t->loop]);
    }
    return offset;
}

int64_t tg_index_place(const tg_index *x, int64_t number) {
    if (x->rule == TG_INDEX_CLAMP) return tg_max(0, tg_min(number, x->limit));
    if (x->rule == TG_INDEX_WRAP && number < 0) number += x->limit + 1;
    return number >= 0 && number <= x->limit ? number : -1;
}

/* The numbers that `from` reaches, all of them. */
static tg_status check_index(const tg_job *job, const tg_index *x, const tg_number *values, tg_error *err) {
    int64_t  at[TG_MAX_ALL_LOOPS] = {0};
    int32_t  l = 0;
    uint32_t loops = 0;
    for (int32_t i = 0; i < x->from.nterms; i++) loops |= UINT32_C(1) << x->from.terms[i].loop;
    while (l >= 0) {
        const int64_t number = values[tg_access_at(&x->from, at)].whole;
        if (tg_index_place(x, number) < 0)
            return tg_fail(err, TG_ERR_ARGUMENT, "node %d %t: index %d is out of range: there are %d places", job->id,
                           job->info.name.chars, job->info.name.len, number, x->limit + 1);
        for (l = job->info.nloops; l-- > 0;) {
            if ((loops >> l & 1) == 0) continue;
            if (++at[l] < job->ranges[l]) break;
            at[l] = 0;
        }
    }
    return TG_OK;
}

tg_status tg_job_check_indices(const tg_job *job, tg_number *const *values, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t l = 0; l < job->nloops; l++)
        if (job->ranges[l] == 0) return TG_OK;
    for (int32_t i = 0; i < job->c.nindices && s == TG_OK; i++) {
        const tg_index *x = &job->c.indices[i];
        if (x->rule != TG_INDEX_CLAMP) s = check_index(job, x, values[x->from.node], err);
    }
    return s;
}

int64_t tg_window_at(const tg_window *w, int64_t place, int64_t in_window) {
    const int64_t at = place * w->stride + in_window * w->dilation - w->low;
    if (at < 0 || at % w->base_dilation != 0 || at / w->base_dilation >= w->extent) return -1;
    return at / w->base_dilation * w->step;
}

tg_dtype tg_job_operand_dtype(const tg_job *job, int32_t k) {
    return tg_graph_get(job->graph, tg_graph_operand(job->graph, job->id, k)).host.dtype;
}

/* A truth value decides nothing where numbers are chosen by it. */
tg_dtype tg_job_leading_dtype(const tg_job *job) {
    if (job->c.dtype != TG_INVALID) return job->c.dtype;
    if (job->info.noperands == 0) return job->info.host.dtype;
    return tg_job_operand_dtype(job, job->op->op == TG_OP_SELECT ? 1 : 0);
}

tg_status tg_host_span(int64_t *out, const tg_host *host, tg_error *err) {
    tg_layout       l;
    const tg_status s = tg_layout_strided(&l, host->dtype, host->ndim, host->shape, host->strides, 0, err);
    if (s == TG_OK) *out = l.span;
    return s;
}

int32_t tg_job_moved(const tg_job *job) {
    int32_t last = -1;
    if (job->op->op == TG_OP_PAD) return 1;
    for (int32_t i = 0; i < job->c.npieces; i++) last = (int32_t)tg_max(last, job->c.pieces[i].operand);
    return last >= 0 ? last + 1 : job->info.noperands;
}

/* ---- checks ------------------------------------------------------------------------------- */

static tg_status fail(const tg_job *job, const char *what, tg_error *err) {
    return tg_fail(err, TG_ERR_ARGUMENT, "node %d %t, as %s: %s", job->id, job->info.name.chars, job->info.name.len,
                   job->op->name, what);
}

/* The elements that pieces leave of a loop of operand k. */
static int64_t numbers_of(const tg_job *job, int32_t k, int32_t loop) {
    for (int32_t i = 0; i < job->c.npieces; i++)
        if (job->c.pieces[i].operand == k && job->c.pieces[i].loop == loop) return job->c.pieces[i].size;
    return job->ranges[loop];
}

/* *last: the furthest that terms go, unknown ones left out. */
static bool reach(int64_t *last, const tg_job *job, int32_t k, const tg_access *a) {
    *last = a->offset;
    for (int32_t i = 0; i < a->nterms; i++) {
        const tg_term *t = &a->terms[i];
        if (t->loop < 0) continue;
        if (t->loop >= job->info.nloops) return false;
        int64_t n = numbers_of(job, k, t->loop);
        if (t->modulus > 0) n = tg_min(n, t->modulus);
        if (n > 0 && !tg_muladd(last, *last, t->step, n - 1)) return false;
    }
    return true;
}

static bool reach_by_data(int64_t *last, const tg_job *job, int32_t k) {
    bool ok = true;
    for (int32_t i = 0; i < job->c.nindices && ok; i++) {
        const tg_index *x = &job->c.indices[i];
        if (x->operand == k) ok = x->step >= 0 && x->limit >= 0 && tg_muladd(last, *last, x->step, x->limit);
    }
    for (int32_t i = 0; i < job->info.nwindows && ok; i++) {
        const tg_window *w = &job->info.windows[i];
        if (k == 0) ok = tg_muladd(last, *last, w->step, tg_max(w->extent - 1, 0));
        if (k == 1) ok = tg_muladd(last, *last, w->kernel_step, tg_max(w->size - 1, 0));
    }
    return ok;
}

static bool is_empty(const tg_job *job) {
    for (int32_t l = 0; l < job->nloops; l++)
        if (job->ranges[l] == 0) return true;
    return false;
}

/* An empty piece of operand k reads nothing. */
static bool is_empty_piece(const tg_job *job, int32_t k) {
    for (int32_t i = 0; i < job->c.npieces; i++)
        if (job->c.pieces[i].operand == k && job->c.pieces[i].size == 0) return true;
    return false;
}

/* Whether an access stays inside the tensor of node `from`; k: the operand that it is, else -1. */
static bool is_inside(const tg_job *job, int32_t k, const tg_access *a, int64_t from) {
    const tg_host host = tg_graph_get(job->graph, from).host;
    int64_t       last = 0, span = 0;
    if (is_empty(job) || (k >= 0 && is_empty_piece(job, k))) return true;
    if (tg_host_span(&span, &host, NULL) != TG_OK || a->offset < 0 || !reach(&last, job, k, a)) return false;
    return (k < 0 || reach_by_data(&last, job, k)) && last < span;
}

static tg_status check_extra(const tg_job *job, const tg_access *a, bool whole, const char *what, tg_error *err) {
    if (a->node < 0 || a->node >= job->id) return fail(job, what, err);
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop < 0 || a->terms[i].loop >= job->info.nloops || a->terms[i].step < 0 ||
            a->terms[i].modulus < 0)
            return fail(job, what, err);
    if (whole && !tg_dtype_is_whole(tg_graph_get(job->graph, a->node).host.dtype)) return fail(job, what, err);
    return is_inside(job, -1, a, a->node) ? TG_OK : fail(job, what, err);
}

static tg_status check_extras(const tg_job *job, tg_error *err) {
    const tg_compute *c = &job->c;
    tg_status         s = TG_OK;
    if (c->has_start) s = check_extra(job, &c->start, false, "what it starts with is no element of a node before", err);
    for (int32_t i = 0; i < c->nindices && s == TG_OK; i++)
        s = check_extra(job, &c->indices[i].from, true, "an index is no integer of a node before", err);
    for (int32_t i = 0; i < c->npieces && s == TG_OK; i++) {
        const tg_piece *p = &c->pieces[i];
        if (p->operand < 0 || p->operand >= job->info.noperands || p->loop < 0 || p->loop >= job->info.nloops ||
            p->size < 0 || p->size > job->ranges[p->loop] || p->first < 0 || p->first > job->ranges[p->loop] - p->size)
            return fail(job, "a piece does not lie in the result", err);
        if (p->has_from) s = check_extra(job, &p->from, true, "a piece begins at no integer before", err);
    }
    return s;
}

static bool has_operands(const tg_job *job) {
    const int32_t n = job->info.noperands;
    if (job->op->arity > 1) return n == job->op->arity;
    switch (job->op->op) {
    case TG_OP_PRODUCT: return n == 2;
    case TG_OP_FORMULA: return n >= 1;
    case TG_OP_IOTA:
    case TG_OP_CONSTANT: return n == 0;
    default: return n >= 1;
    }
}

static tg_status check_op(const tg_job *job, tg_error *err) {
    const tg_dtype lead = tg_job_leading_dtype(job);
    const bool     whole = tg_dtype_is_whole(lead);
    if (!has_operands(job)) return fail(job, "its node has another number of operands", err);
    if (job->op->op == TG_OP_IOTA && (job->c.loop < 0 || job->c.loop >= job->info.nloops))
        return fail(job, "it counts along no loop", err);
    if (job->c.has_start && job->op->op != TG_OP_PAD) return fail(job, "nothing but a pad has a start", err);
    if (job->op->op == TG_OP_PAD && !job->c.has_start) return fail(job, "it does not say with what", err);
    if (!tg_formula_suits(job, whole) || (lead == TG_PRED && !tg_formula_suits(job, false)))
        return fail(job, "a step of its formula has no operand or is not for such numbers", err);
    if (job->op->arity > 0 && (whole ? job->op->whole == NULL : job->op->real == NULL))
        return fail(job, whole ? "it is not for integers" : "it is for integers", err);
    if (!tg_job_sums(job) && job->op->op != TG_OP_PAD && job->summed != 0)
        return fail(job, "its result does not have all loops", err);
    for (int32_t k = -1; k < job->info.noperands; k++)
        if (!tg_dtype_is_number(k < 0 ? job->info.host.dtype : tg_job_operand_dtype(job, k)))
            return fail(job, "it is for numbers", err);
    return TG_OK;
}

static tg_status check_constant(const tg_job *job, tg_error *err) {
    const size_t width = (size_t)tg_dtype_storage_bits(job->info.host.dtype) / 8;
    tg_layout    l;
    if (tg_layout_strided(&l, job->info.host.dtype, job->info.host.ndim, job->info.host.shape, NULL, 0, err) != TG_OK)
        return TG_ERR_OVERFLOW;
    const size_t n = (size_t)tg_layout_numel(&l);
    if (job->c.nbytes == width || (job->c.nbytes / width == n && job->c.nbytes % width == 0)) return TG_OK;
    return fail(job, "it has neither one element nor all", err);
}

tg_status tg_job_check(const tg_job *job, tg_error *err) {
    if (job->op->op == TG_OP_INPUT) return job->info.kind == TG_NODE_INPUT ? TG_OK : fail(job, "it is no input", err);
    if (job->op->op == TG_OP_NONE)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "node %d %t: nothing is known that calculates %t", job->id,
                       job->info.name.chars, job->info.name.len, job->info.opcode.chars, job->info.opcode.len);
    tg_status s = check_op(job, err);
    if (s == TG_OK) s = check_extras(job, err);
    if (s == TG_OK && job->op->op == TG_OP_CONSTANT) s = check_constant(job, err);
    if (s != TG_OK) return s;
    for (int32_t k = 0; k < job->info.noperands; k++) {
        const tg_access a = tg_graph_access(job->graph, job->id, k);
        if (!is_inside(job, k, &a, a.node)) return fail(job, "it reads outside of an operand", err);
    }
    return is_inside(job, -1, &job->result, job->id) ? TG_OK : fail(job, "it writes outside of its result", err);
}
