/* How the device calculates: rows of lanes in float32 or integers, one core's slice after the other. Work in tiles has
 * such slices in each of them, and sums go on from tile to tile. */
#include "sim/kernel_run.h"

#include "base/checked.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- slices ------------------------------------------------------------------------------------------------ */

static bool next(tg_run *r) {
    for (int32_t l = r->job->nloops; l-- > 0;) {
        if (l == r->inner || l == r->apart) continue;
        if (++r->at[l] < r->end[l]) return true;
        r->at[l] = r->begin[l];
    }
    return false;
}

static void run_row(tg_run *r, tg_tile *sum, int64_t n) {
    if (r->apart >= 0) tg_run_apart(r, sum, n);
    else if (sum != NULL) tg_run_sums(r, sum, n);
    else if (r->job->op->arity > 0) tg_run_elements(r, n);
    else if (r->job->op->op == TG_OP_FORMULA) tg_run_formula(r, n);
    else tg_run_pieces(r, n);
}

/* Slice number q of those of a tile; *sum: which of the sums it adds to. */
static void find_slice(tg_run *r, int64_t tile, int64_t q, int64_t *sum) {
    *sum = 0;
    r->goes_on = false;
    for (int32_t l = 0; l < r->job->nloops; l++) {
        const bool    shared = l < r->job->info.nloops;
        const int64_t splits = shared ? tg_max(r->task->splits[l], 1) : 1, mine = q % splits;
        const int64_t tiles = shared ? tg_max(r->task->tiles[l], 1) : 1, at = tile % tiles * splits + mine;
        const int64_t size = tg_ceil_div(r->job->ranges[l], r->unit[l]) / (tiles * splits) * r->unit[l];
        const bool    whole = tiles * splits == 1;
        r->begin[l] = whole ? 0 : tg_min(at * size, r->extent[l]);
        r->end[l] = whole ? r->extent[l] : tg_min((at + 1) * size, r->extent[l]);
        if (tg_run_is_summed(r, l)) {
            *sum = *sum * splits + mine;
            r->goes_on = r->goes_on || tile % tiles > 0;
        }
        q /= splits;
        tile /= tiles;
    }
}

static void run_slice(tg_run *r, int64_t tile, int64_t q) {
    int64_t which;
    find_slice(r, tile, q, &which);
    memcpy(r->at, r->begin, sizeof r->at);
    for (int32_t l = 0; l < r->job->nloops; l++)
        if (r->begin[l] >= r->end[l]) return;
    tg_tile *sum = tg_job_sums(r->job) ? &r->sums[which] : NULL;
    do {
        const int64_t begin = r->inner >= 0 ? r->begin[r->inner] : 0, end = r->inner >= 0 ? r->end[r->inner] : 1;
        for (int64_t at = begin; at < end; at += TG_ROW) {
            if (r->inner >= 0) r->at[r->inner] = at;
            run_row(r, sum, tg_min(TG_ROW, end - at));
        }
        if (r->inner >= 0) r->at[r->inner] = begin;
    } while (next(r));
}

/* xorshift64*. Source: Vigna, An experimental exploration of Marsaglia's xorshift generators. */
static uint64_t draw(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static void run_slices(tg_run *r, int64_t tile, int64_t nslices) {
    int64_t  order[TG_MAX_CORES];
    uint64_t state = r->task->seed * UINT64_C(0x9E3779B97F4A7C15) + (uint64_t)r->job->id + 1;
    for (int64_t i = 0; i < nslices; i++) {
        const int64_t j = (int64_t)(draw(&state) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (int64_t i = 0; i < nslices; i++) run_slice(r, tile, order[i]);
}

/* ---- before and after ---------------------------------------------------------------------------------------- */

static double number_of(const tg_run *r, const tg_access *a) {
    const tg_number x = r->task->values[a->node][a->offset];
    return tg_dtype_is_whole(tg_graph_get(r->job->graph, a->node).host.dtype) ? (double)x.whole : x.real;
}

static int64_t whole_number_of(const tg_run *r, const tg_access *a) {
    const tg_number x = r->task->values[a->node][a->offset];
    return tg_dtype_is_whole(tg_graph_get(r->job->graph, a->node).host.dtype) ? x.whole : tg_to_whole(x.real);
}

/* All elements of the tensor, and none of its padding. */
static void fill_elements(tg_tile *t, float real, int64_t whole) {
    int64_t at[TG_MAX_NDIM] = {0}, place = 0;
    int32_t d = 0;
    for (int32_t i = 0; i < t->tensor->host.ndim; i++)
        if (t->tensor->host.shape[i] == 0) return;
    do {
        if (t->whole) t->integer[place] = whole;
        else t->real[place] = real;
        for (d = t->tensor->host.ndim; d-- > 0;) {
            place += t->stride[d];
            if (++at[d] < t->tensor->host.shape[d]) break;
            place -= at[d] * t->stride[d];
            at[d] = 0;
        }
    } while (d >= 0);
}

/* Loops in lanes go on to the end of the last stick, but for what is put between other things. */
static void find_extents(tg_run *r) {
    const tg_task *t = r->task;
    for (int32_t l = 0; l < r->job->nloops; l++) {
        r->extent[l] = r->job->ranges[l];
        r->unit[l] = 1;
    }
    for (int32_t k = 0; k <= r->job->info.noperands; k++) {
        const tg_tensor *x = k < r->job->info.noperands ? t->operand[k].tensor : r->result->tensor;
        const int32_t    l = t->lane[k];
        if (l < 0 || x->stick_dim == TG_NO_DIM) continue;
        r->unit[l] = tg_max(r->unit[l], x->stick);
        if (r->job->op->op == TG_OP_PAD || (t->cut_all && k == t->cut)) continue;
        r->extent[l] = tg_max(r->extent[l], tg_ceil_div(r->job->ranges[l], x->stick) * x->stick);
    }
}

static bool is_in_data(const tg_run *r, int32_t loop) {
    const tg_compute *c = &r->job->c;
    bool              found = false;
    for (int32_t i = 0; i < r->job->info.nwindows; i++) found = found || r->job->info.windows[i].loop == loop;
    for (int32_t i = 0; i < c->nindices; i++)
        for (int32_t j = 0; j < c->indices[i].from.nterms; j++)
            found = found || c->indices[i].from.terms[j].loop == loop;
    return found;
}

/* The loop in the lanes of the result; without one, the longest. */
static void choose_inner(tg_run *r) {
    r->inner = r->task->lane[r->job->info.noperands];
    if (r->inner >= 0) return;
    for (int32_t l = 0; l < r->job->info.nloops; l++)
        if (!is_in_data(r, l) && r->job->ranges[l] > 1 &&
            (r->inner < 0 || r->job->ranges[l] > r->job->ranges[r->inner]))
            r->inner = l;
}

static void find_pieces(tg_run *r) {
    for (int32_t i = 0; i < r->job->c.npieces; i++) {
        const tg_piece *p = &r->job->c.pieces[i];
        int64_t         first = p->first;
        if (p->has_from) first = tg_max(0, tg_min(whole_number_of(r, &p->from), r->job->ranges[p->loop] - p->size));
        r->piece_first[p->operand * TG_MAX_ALL_LOOPS + p->loop] = first;
    }
}

static tg_status make_places(tg_run *r, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t k = 0; k <= r->job->info.noperands && s == TG_OK; k++) {
        const bool operand = k < r->job->info.noperands;
        tg_places *p = operand ? &r->operand[k] : &r->to;
        p->job = r->job;
        p->tile = operand ? &r->task->operand[k] : r->result;
        p->access = tg_graph_access(r->job->graph, r->job->id, operand ? k : -1);
        p->operand = operand ? k : -1;
        p->lane = r->task->lane[k];
        memcpy(p->extent, r->extent, sizeof p->extent);
        p->inner = r->inner;
        p->first = operand ? r->piece_first + k * TG_MAX_ALL_LOOPS : r->first;
        p->values = r->task->values;
        s = tg_places_make(p, err);
    }
    return s;
}

/* What an infinite number of a formula is: some operand has no infinity, and the largest number for it. */
static double infinite(const tg_run *r) {
    for (int32_t k = 0; k < r->job->info.noperands; k++)
        if (r->task->operand[k].tensor->layout.format == TG_SEN169_FP16) return (double)TG_LARGEST_SEN169;
    return (double)INFINITY;
}

static tg_status prepare(tg_run *r, tg_error *err) {
    const size_t n = (size_t)r->job->info.noperands;
    r->operand = calloc(n + 1, sizeof *r->operand);
    r->piece_first = calloc((n + 1) * TG_MAX_ALL_LOOPS, sizeof *r->piece_first);
    r->nreads = r->job->op->op == TG_OP_FORMULA ? (int32_t)n : TG_MAX_ARITY;
    r->rows = malloc(((size_t)r->nreads + 1) * sizeof *r->rows);
    if (r->operand == NULL || r->piece_first == NULL || r->rows == NULL)
        return tg_fail(err, TG_ERR_NOMEM, "there is no memory to run a node");
    r->whole = n == 0 ? r->result->whole : r->task->operand[r->job->op->op == TG_OP_SELECT ? 1 : 0].whole;
    if (r->job->c.dtype != TG_INVALID) r->whole = tg_dtype_is_whole(r->job->c.dtype) && r->job->c.dtype != TG_PRED;
    if (r->job->op->arity > 0 && (r->whole ? r->job->op->whole == NULL : r->job->op->rows == NULL))
        return tg_fail(err, TG_ERR_UNSUPPORTED, "node %d: %s is not for the format of its operands", r->job->id,
                       r->job->op->name);
    if (tg_job_sums(r->job) && r->job->c.nsteps > 0 && r->whole != r->result->whole)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "node %d: its formula is not for the format of its result", r->job->id);
    tg_status s = tg_formula_make(&r->formula, r->job, r->whole, tg_dtype_bits(tg_job_leading_dtype(r->job)),
                                  infinite(r), TG_ROW, err);
    if (s != TG_OK) return s;
    find_extents(r);
    choose_inner(r);
    find_pieces(r);
    r->nloops_of_data = r->job->info.nwindows + r->job->c.nindices;
    s = make_places(r, err);
    if (s == TG_OK) tg_run_choose_apart(r);
    if (s == TG_OK && tg_job_sums(r->job)) s = tg_run_make_sums(r, err);
    return s;
}

static void clean_up(tg_run *r) {
    for (int32_t k = 0; r->operand != NULL && k < r->job->info.noperands; k++) tg_places_free(&r->operand[k]);
    tg_places_free(&r->to);
    for (int64_t i = 0; r->sums != NULL && i < r->nsums; i++) tg_tile_free(&r->sums[i]);
    free(r->sums);
    free(r->operand);
    free(r->piece_first);
    tg_formula_free(&r->formula);
    free(r->rows);
    free(r);
}

/* Each number divides that of a loop's rounds, and all rounds are run one by one. */
static int64_t count_tiles(const tg_run *r) {
    int64_t n = 1;
    for (int32_t l = 0; l < r->job->info.nloops; l++) n *= tg_max(r->task->tiles[l], 1);
    return n;
}

static int64_t count_slices(const tg_run *r) {
    int64_t n = 1;
    for (int32_t l = 0; l < r->job->info.nloops; l++) n *= tg_max(r->task->splits[l], 1);
    return n;
}

tg_status tg_task_run(const tg_task *task, tg_tile *result, tg_error *err) {
    tg_run *r = calloc(1, sizeof *r);
    if (r == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory to run a node");
    r->apart = -1;
    r->task = task;
    r->job = task->job;
    r->result = result;
    tg_status s = prepare(r, err);
    if (s == TG_OK && r->job->op->op == TG_OP_PAD)
        fill_elements(result, (float)number_of(r, &r->job->c.start), whole_number_of(r, &r->job->c.start));
    for (int64_t i = 0, n = count_tiles(r); i < n && s == TG_OK; i++) run_slices(r, i, count_slices(r));
    for (int64_t i = 0; s == TG_OK && tg_job_sums(r->job) && i < result->count; i++) tg_run_join(r, i);
    if (s == TG_OK && tg_job_sums(r->job)) tg_run_finish_sums(r);
    clean_up(r);
    return s;
}
