/* How the device calculates: rows of lanes in float32 or integers, one core's slice after the other. Sums are made in
 * float32 apart from the result, each slice of a loop that is summed up on its own, and put together in the order of
 * slices: so the order in which cores run does not matter. Work in tiles has such slices in each of them, and sums go
 * on from tile to tile. */
#include "sim/kernel.h"

#include "base/checked.h"
#include "base/error.h"
#include "sim/formula.h"
#include "sim/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 2048 }; /* lanes at a time */

typedef union row {
    float   real[ROW];
    int64_t whole[ROW];
} row;

typedef struct run {
    const tg_task *task;
    const tg_job  *job;
    tg_tile       *result, *sums; /* sums: one for each slice of what is summed up */
    int64_t        nsums;
    bool           goes_on; /* an earlier tile has added to the same sums */
    tg_places     *operand, to;
    bool           whole; /* what is calculated with */
    int32_t        inner;
    int32_t        apart;  /* of a product of matrices: the loop that is summed up for each row at once; -1: none */
    int32_t        single; /* and the operand that does not have the inner loop */
    int32_t        nloops_of_data; /* windows and indices */
    int64_t        first[TG_MAX_ALL_LOOPS]; /* all 0 */
    int64_t       *piece_first;             /* of each operand, TG_MAX_ALL_LOOPS */
    int64_t        extent[TG_MAX_ALL_LOOPS], unit[TG_MAX_ALL_LOOPS];
    int64_t        begin[TG_MAX_ALL_LOOPS], end[TG_MAX_ALL_LOOPS], at[TG_MAX_ALL_LOOPS];
    int32_t        nreads;
    row           *rows;   /* one for each of nreads operands that are read at once, then one for the result */
    tg_formula_rows formula;
    int64_t        places[ROW];
} run;

/* ---- reading rows ------------------------------------------------------------------------------- */

static int64_t whole_of(double x) { return x != x ? INT64_C(0x25A5A5A5A5A5A5A5) : tg_to_whole(x); }

static void read_real(float *out, run *r, const tg_tile *t, bool line, int64_t start, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * step : r->places[i];
        if (place == TG_NOWHERE) out[i] = NAN;
        else out[i] = t->whole ? (float)t->integer[place] : t->real[place];
    }
}

static void read_whole(int64_t *out, run *r, const tg_tile *t, bool line, int64_t start, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * step : r->places[i];
        if (place == TG_NOWHERE) out[i] = tg_poison_of(t->tensor);
        else out[i] = t->whole ? t->integer[place] : whole_of((double)t->real[place]);
    }
}

static void put_mask(row *out, const run *r, int32_t k, int64_t n) {
    const tg_lane_mask *m = &r->task->mask[k];
    if (!m->used || r->inner < 0 || r->task->lane[k] != r->inner) return;
    for (int64_t i = tg_max(0, m->valid - r->at[r->inner]); i < n; i++) {
        if (r->whole) out->whole[i] = m->value < 0 ? INT64_MIN : m->value > 1 ? INT64_MAX : (int64_t)m->value;
        else out->real[i] = (float)m->value;
    }
}

/* Behind the end of what operand k has in its lanes; `apart`: the round of the loop apart. */
static bool is_cut_at(const run *r, int32_t k, int64_t apart) {
    const int32_t lane = r->task->lane[k];
    if (k != r->task->cut || lane < 0 || lane == r->inner) return false;
    return (lane == r->apart ? apart : r->at[lane]) >= r->job->ranges[lane];
}

static bool is_cut(const run *r, int32_t k) { return is_cut_at(r, k, 0); }

static bool is_masked(const run *r, int32_t k) { return r->task->mask[k].used && r->task->lane[k] == r->inner; }

/* A row of operand k: where it lies, if it lies there as it is needed, else in *room. */
static const void *fetch(run *r, int32_t k, row *room, int64_t n) {
    const tg_tile *t = r->operand[k].tile;
    const int64_t  step = r->operand[k].inner_step;
    int64_t        start = 0;
    if (is_cut(r, k)) return memset(room, 0, sizeof *room);
    const bool line = tg_place_row(&start, r->places, &r->operand[k], r->at, n);
    if (line && (step == 1 || n == 1) && t->whole == r->whole && !is_masked(r, k))
        return t->whole ? (const void *)(t->integer + start) : t->real + start;
    if (r->whole) read_whole(room->whole, r, t, line, start, step, n);
    else read_real(room->real, r, t, line, start, step, n);
    put_mask(room, r, k, n);
    return room;
}

/* ---- element by element ----------------------------------------------------------------------------- */

static bool is_truth(const run *r) { return r->job->info.host.dtype == TG_PRED; }

static void apply_whole(int64_t *out, const run *r, const int64_t *const *in, int64_t n) {
    const tg_op_row *op = r->job->op;
    const int32_t    bits = tg_dtype_bits(tg_job_leading_dtype(r->job));
    int64_t          x[TG_MAX_ARITY];
    for (int64_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < op->arity; k++) x[k] = in[k][i];
        out[i] = op->op == TG_OP_NOT && is_truth(r) ? x[0] == 0 : op->whole(x, bits);
    }
}

/* A conversion to truth asks whether something is not 0. */
static void make_truth(row *out, const run *r, int64_t n) {
    if (!is_truth(r) || (r->job->op->op != TG_OP_COPY && r->job->c.nsteps == 0)) return;
    for (int64_t i = 0; i < n; i++) {
        if (r->whole) out->whole[i] = out->whole[i] != 0;
        else if (out->real[i] == out->real[i]) out->real[i] = out->real[i] != 0.0f;
    }
}

static void store(run *r, const row *from, int64_t n) {
    int64_t    start = 0;
    tg_tile   *t = r->result;
    const bool line = tg_place_row(&start, r->places, &r->to, r->at, n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * r->to.inner_step : r->places[i];
        if (place == TG_NOWHERE) continue;
        if (t->whole) t->integer[place] = r->whole ? from->whole[i] : whole_of((double)from->real[i]);
        else t->real[place] = r->whole ? (float)from->whole[i] : from->real[i];
    }
}

static void run_elements(run *r, int64_t n) {
    const tg_op_row *op = r->job->op;
    const void      *in[TG_MAX_ARITY] = {NULL};
    row             *out = &r->rows[r->nreads];
    for (int32_t k = 0; k < op->arity; k++) in[k] = fetch(r, k, &r->rows[k], n);
    if (r->whole) apply_whole(out->whole, r, (const int64_t *const *)in, n);
    else op->rows(out->real, (const float *const *)in, n);
    if (r->job->c.nsteps > 0) {
        r->formula.value[0] = out;
        out = (row *)(uintptr_t)tg_formula_run(&r->formula, n);
    }
    make_truth(out, r, n);
    store(r, out, n);
}

static void run_formula(run *r, int64_t n) {
    for (int32_t k = 0; k < r->job->info.noperands; k++) r->formula.value[k] = fetch(r, k, &r->rows[k], n);
    row *out = (row *)(uintptr_t)tg_formula_run(&r->formula, n);
    make_truth(out, r, n);
    store(r, out, n);
}

/* The last operand that has an element there; poison where none has. */
static void run_pieces(run *r, int64_t n) {
    int64_t start = 0;
    for (int32_t k = 0; k < tg_job_moved(r->job); k++) {
        const bool line = tg_place_row(&start, r->places, &r->operand[k], r->at, n);
        int64_t    from = 0;
        memcpy(r->rows[1].whole, r->places, sizeof r->places);
        for (int64_t at = r->inner >= 0 ? r->at[r->inner] : 0; from < n;) {
            int64_t to = from;
            if (line) to = n;
            while (!line && to < n && r->rows[1].whole[to] != TG_NOWHERE) to++;
            if (to > from) {
                if (r->inner >= 0) r->at[r->inner] = at + from;
                const row *piece = fetch(r, k, &r->rows[0], to - from);
                store(r, piece, to - from);
                if (r->inner >= 0) r->at[r->inner] = at;
            }
            from = to > from ? to : from + 1;
        }
    }
}

/* ---- sums --------------------------------------------------------------------------------------------- */

static bool is_summed(const run *r, int32_t loop) {
    return loop >= r->job->info.nloops || (r->job->summed >> loop & 1) != 0;
}

/* The first round that adds to the places at hand of the sums of this slice. */
static bool is_first(const run *r) {
    if (r->goes_on) return false;
    for (int32_t l = 0; l < r->job->nloops; l++)
        if (is_summed(r, l) && r->at[l] != r->begin[l]) return false;
    return true;
}

static bool in_windows(const run *r) {
    for (int32_t i = 0; i < r->job->info.nwindows; i++) {
        const tg_window *w = &r->job->info.windows[i];
        if (r->at[w->loop] < r->job->ranges[w->loop] &&
            tg_window_at(w, r->at[w->loop], r->at[r->job->info.nloops + i]) < 0)
            return false;
    }
    return true;
}

static void start_sums(run *r, tg_tile *sum, bool line, int64_t start, int64_t n) {
    const tg_reduction how = tg_job_reduction(r->job);
    const int64_t      whole = tg_neutral_whole(how, tg_job_leading_dtype(r->job));
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * r->to.inner_step : r->places[i];
        if (place == TG_NOWHERE) continue;
        if (r->whole) sum->integer[place] = whole;
        else sum->real[place] = (float)tg_neutral_real(how);
    }
}

static void add_rows(run *r, tg_tile *sum, bool line, int64_t start, const row *x, int64_t n) {
    const tg_reduction how = tg_job_reduction(r->job);
    if (line && r->to.inner_step == 1 && !r->whole && how == TG_REDUCE_SUM) {
        float *restrict to = sum->real + start;
        for (int64_t i = 0; i < n; i++) to[i] += x->real[i];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * r->to.inner_step : r->places[i];
        if (place == TG_NOWHERE) continue;
        if (r->whole) sum->integer[place] = tg_reduce_whole(how, sum->integer[place], x->whole[i]);
        else sum->real[place] = tg_reduce_float(how, sum->real[place], x->real[i]);
    }
}

/* One number times a row, which is how products run. */
static void add_multiple(float *restrict to, float x, const float *restrict y, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] += x * y[i];
}

static bool add_product(run *r, tg_tile *sum, bool line, int64_t start, int64_t n) {
    const bool simple = r->job->op->op == TG_OP_PRODUCT && !r->whole && line && r->to.inner_step == 1;
    if (!simple || !r->operand[0].plain || r->operand[0].inner_step != 0) return false;
    const float *x = fetch(r, 0, &r->rows[0], 1), *y = fetch(r, 1, &r->rows[1], n);
    add_multiple(sum->real + start, x[0], y, n);
    return true;
}

/* Multiplied, if it is a product. */
static const row *terms_of_sum(run *r, int64_t n) {
    const row *x = fetch(r, 0, &r->rows[0], n);
    if (r->job->op->op != TG_OP_PRODUCT) return x;
    const row *y = fetch(r, 1, &r->rows[1], n);
    row       *out = &r->rows[r->nreads];
    for (int64_t i = 0; i < n; i++) {
        if (r->whole) out->whole[i] = (int64_t)((uint64_t)x->whole[i] * (uint64_t)y->whole[i]);
        else out->real[i] = x->real[i] * y->real[i];
    }
    return out;
}

/* A row along a loop that is summed up becomes one number. */
static void fold(row *x, const run *r, int64_t n) {
    const tg_reduction how = tg_job_reduction(r->job);
    for (int64_t i = 1; i < n; i++) {
        if (r->whole) x->whole[0] = tg_reduce_whole(how, x->whole[0], x->whole[i]);
        else x->real[0] = tg_reduce_float(how, x->real[0], x->real[i]);
    }
}

static bool skips(const run *r) {
    const int32_t k = r->task->cut, lane = k >= 0 ? r->task->lane[k] : -1;
    return r->task->cut_all && lane >= 0 && r->at[lane] >= r->job->ranges[lane];
}

static void run_sums(run *r, tg_tile *sum, int64_t n) {
    const bool    folds = r->inner >= 0 && is_summed(r, r->inner);
    const int64_t width = folds ? 1 : n;
    int64_t       start = 0, saved[ROW];
    const bool    line = tg_place_row(&start, r->places, &r->to, r->at, width);
    if (!line) memcpy(saved, r->places, (size_t)width * sizeof *saved);
    if (is_first(r)) start_sums(r, sum, line, start, width);
    if (!in_windows(r) || skips(r)) return;
    if (!folds && add_product(r, sum, line, start, n)) return;
    const row *x = terms_of_sum(r, n);
    if (folds) {
        if (x != &r->rows[0]) memcpy(&r->rows[0], x, (size_t)n * (r->whole ? sizeof(int64_t) : sizeof(float)));
        fold(&r->rows[0], r, n);
        x = &r->rows[0];
    }
    if (!line) memcpy(r->places, saved, (size_t)width * sizeof *saved);
    add_rows(r, sum, line, start, x, width);
}

/* ---- products of matrices --------------------------------------------------------------------------------- */

/* to += x[0] * y[0] + ... + x[3] * y[3] */
static void add_four(float *restrict to, const float *x, const float *const *y, int64_t n) {
    const float *restrict a = y[0], *restrict b = y[1], *restrict c = y[2], *restrict d = y[3];
    for (int64_t i = 0; i < n; i++) to[i] += (x[0] * a[i] + x[1] * b[i]) + (x[2] * c[i] + x[3] * d[i]);
}

/* Where operand k is at round `at` of the loop apart; NULL: nowhere. */
static const float *apart_at(const run *r, int32_t k, int64_t start, int64_t at) {
    const int64_t *table = r->operand[k].table[r->apart];
    if (table != NULL && table[at] == TG_NOWHERE) return NULL;
    return r->operand[k].tile->real + start + (table != NULL ? table[at] : 0);
}

/* All rounds of the loop apart, for a row of the result: numbers of the one operand times rows of the other. */
static void run_apart(run *r, tg_tile *sum, int64_t n) {
    const int32_t s = r->single, loop = r->apart;
    int64_t       start[2], to = 0;
    row          *nowhere = &r->rows[0];
    bool          there = true;
    if (!tg_place_row(&to, r->places, &r->to, r->at, n)) return;
    for (int64_t i = 0; i < n; i++) nowhere->real[i] = NAN;
    if (is_first(r)) start_sums(r, sum, true, to, n);
    for (int32_t k = 0; k < 2; k++) there = tg_place_row(&start[k], r->places, &r->operand[k], r->at, n) && there;
    for (int64_t at = r->begin[loop]; at < r->end[loop]; at += 4) {
        float        x[4] = {0};
        const float *y[4] = {r->rows[1].real, r->rows[1].real, r->rows[1].real, r->rows[1].real};
        if (at + 4 > r->end[loop]) memset(&r->rows[1], 0, sizeof r->rows[1]);
        for (int64_t i = 0; i < 4 && at + i < r->end[loop]; i++) {
            const float *one = there ? apart_at(r, s, start[s], at + i) : NULL;
            const float *many = there ? apart_at(r, 1 - s, start[1 - s], at + i) : NULL;
            x[i] = one != NULL ? *one : NAN;
            if (is_cut_at(r, s, at + i)) x[i] = 0;
            y[i] = many != NULL ? many : nowhere->real;
        }
        add_four(sum->real + to, x, y, n);
    }
}

static bool goes_along(const run *r, int32_t k, int64_t step) {
    const tg_places *p = &r->operand[k];
    return p->even && p->plain && !p->tile->whole && !r->task->mask[k].used &&
           (step == 1 ? p->inner_step == 1 : p->table[r->inner] == NULL);
}

/* The innermost loop that is summed up, if everything is simple enough to take it apart. */
static void choose_apart(run *r) {
    r->apart = -1;
    if (r->job->op->op != TG_OP_PRODUCT || r->whole || r->inner < 0 || r->nloops_of_data > 0) return;
    if (!r->to.even || !r->to.plain || r->to.inner_step != 1) return;
    r->single = goes_along(r, 0, 0) && goes_along(r, 1, 1) ? 0 : 1;
    if (!goes_along(r, r->single, 0) || !goes_along(r, 1 - r->single, 1)) return;
    for (int32_t l = 0; l < r->job->info.nloops; l++)
        if (l != r->inner && is_summed(r, l) && r->extent[l] > 1) r->apart = l;
    if (r->apart < 0 || r->to.table[r->apart] != NULL) r->apart = -1;
    for (int32_t k = 0; k < 2; k++) r->operand[k].apart = r->apart;
}

/* ---- slices ------------------------------------------------------------------------------------------------ */

static bool next(run *r) {
    for (int32_t l = r->job->nloops; l-- > 0;) {
        if (l == r->inner || l == r->apart) continue;
        if (++r->at[l] < r->end[l]) return true;
        r->at[l] = r->begin[l];
    }
    return false;
}

static void run_row(run *r, tg_tile *sum, int64_t n) {
    if (r->apart >= 0) run_apart(r, sum, n);
    else if (sum != NULL) run_sums(r, sum, n);
    else if (r->job->op->arity > 0) run_elements(r, n);
    else if (r->job->op->op == TG_OP_FORMULA) run_formula(r, n);
    else run_pieces(r, n);
}

/* Slice number q of those of a tile; *sum: which of the sums it adds to. */
static void find_slice(run *r, int64_t tile, int64_t q, int64_t *sum) {
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
        if (is_summed(r, l)) {
            *sum = *sum * splits + mine;
            r->goes_on = r->goes_on || tile % tiles > 0;
        }
        q /= splits;
        tile /= tiles;
    }
}

static void run_slice(run *r, int64_t tile, int64_t q) {
    int64_t which;
    find_slice(r, tile, q, &which);
    memcpy(r->at, r->begin, sizeof r->at);
    for (int32_t l = 0; l < r->job->nloops; l++)
        if (r->begin[l] >= r->end[l]) return;
    tg_tile *sum = tg_job_sums(r->job) ? &r->sums[which] : NULL;
    do {
        const int64_t begin = r->inner >= 0 ? r->begin[r->inner] : 0, end = r->inner >= 0 ? r->end[r->inner] : 1;
        for (int64_t at = begin; at < end; at += ROW) {
            if (r->inner >= 0) r->at[r->inner] = at;
            run_row(r, sum, tg_min(ROW, end - at));
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

static void run_slices(run *r, int64_t tile, int64_t nslices) {
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

static double number_of(const run *r, const tg_access *a) {
    const tg_number x = r->task->values[a->node][a->offset];
    return tg_dtype_is_whole(tg_graph_get(r->job->graph, a->node).host.dtype) ? (double)x.whole : x.real;
}

static int64_t whole_number_of(const run *r, const tg_access *a) {
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

static void join(const run *r, int64_t place) {
    const tg_reduction how = tg_job_reduction(r->job);
    double             real = 0;
    int64_t            whole = 0;
    if (r->whole) {
        whole = r->sums[0].integer[place];
        for (int64_t i = 1; i < r->nsums; i++) whole = tg_reduce_whole(how, whole, r->sums[i].integer[place]);
        real = (double)whole;
    } else {
        float sum = r->sums[0].real[place];
        for (int64_t i = 1; i < r->nsums; i++) sum = tg_reduce_float(how, sum, r->sums[i].real[place]);
        real = (double)sum;
        whole = whole_of(real);
    }
    if (r->result->whole) r->result->integer[place] = whole;
    else r->result->real[place] = (float)real;
}

/* What the formula makes of the sums, lane by lane. */
static void finish_sums(run *r) {
    tg_tile *t = r->result;
    for (int64_t at = 0; r->job->c.nsteps > 0 && at < t->count; at += ROW) {
        const int64_t n = tg_min(ROW, t->count - at);
        r->formula.value[0] = r->whole ? (const void *)(t->integer + at) : t->real + at;
        row *out = (row *)(uintptr_t)tg_formula_run(&r->formula, n);
        make_truth(out, r, n);
        if (r->whole) memcpy(t->integer + at, out->whole, (size_t)n * sizeof *t->integer);
        else memcpy(t->real + at, out->real, (size_t)n * sizeof *t->real);
    }
}

static tg_status make_sums(run *r, tg_error *err) {
    tg_status s = TG_OK;
    r->nsums = 1;
    for (int32_t l = 0; l < r->job->info.nloops; l++)
        if (is_summed(r, l)) r->nsums *= tg_max(r->task->splits[l], 1);
    r->sums = calloc((size_t)r->nsums, sizeof *r->sums);
    if (r->sums == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for sums");
    for (int64_t i = 0; i < r->nsums && s == TG_OK; i++) {
        s = tg_tile_make(&r->sums[i], r->result->tensor, err);
        if (s != TG_OK || r->sums[i].whole == r->whole) continue;
        tg_tile_free(&r->sums[i]);
        const size_t n = (size_t)r->sums[i].count + 1;
        r->sums[i].whole = r->whole;
        if (r->whole) r->sums[i].integer = calloc(n, sizeof(int64_t));
        else r->sums[i].real = calloc(n, sizeof(float));
        if (r->sums[i].integer == NULL && r->sums[i].real == NULL)
            s = tg_fail(err, TG_ERR_NOMEM, "there is no memory for sums");
        for (int64_t j = 0; s == TG_OK && j < r->sums[i].count; j++) {
            if (r->whole) r->sums[i].integer[j] = whole_of(NAN);
            else r->sums[i].real[j] = NAN;
        }
    }
    return s;
}

/* Loops in lanes go on to the end of the last stick, but for what is put between other things. */
static void find_extents(run *r) {
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

static bool is_in_data(const run *r, int32_t loop) {
    const tg_compute *c = &r->job->c;
    bool              found = false;
    for (int32_t i = 0; i < r->job->info.nwindows; i++) found = found || r->job->info.windows[i].loop == loop;
    for (int32_t i = 0; i < c->nindices; i++)
        for (int32_t j = 0; j < c->indices[i].from.nterms; j++)
            found = found || c->indices[i].from.terms[j].loop == loop;
    return found;
}

/* The loop in the lanes of the result; without one, the longest. */
static void choose_inner(run *r) {
    r->inner = r->task->lane[r->job->info.noperands];
    if (r->inner >= 0) return;
    for (int32_t l = 0; l < r->job->info.nloops; l++)
        if (!is_in_data(r, l) && r->job->ranges[l] > 1 &&
            (r->inner < 0 || r->job->ranges[l] > r->job->ranges[r->inner]))
            r->inner = l;
}

static void find_pieces(run *r) {
    for (int32_t i = 0; i < r->job->c.npieces; i++) {
        const tg_piece *p = &r->job->c.pieces[i];
        int64_t         first = p->first;
        if (p->has_from) first = tg_max(0, tg_min(whole_number_of(r, &p->from), r->job->ranges[p->loop] - p->size));
        r->piece_first[p->operand * TG_MAX_ALL_LOOPS + p->loop] = first;
    }
}

static tg_status make_places(run *r, tg_error *err) {
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
static double infinite(const run *r) {
    for (int32_t k = 0; k < r->job->info.noperands; k++)
        if (r->task->operand[k].tensor->layout.format == TG_SEN169_FP16) return (double)TG_LARGEST_SEN169;
    return (double)INFINITY;
}

static tg_status prepare(run *r, tg_error *err) {
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
                                  infinite(r), ROW, err);
    if (s != TG_OK) return s;
    find_extents(r);
    choose_inner(r);
    find_pieces(r);
    r->nloops_of_data = r->job->info.nwindows + r->job->c.nindices;
    s = make_places(r, err);
    if (s == TG_OK) choose_apart(r);
    if (s == TG_OK && tg_job_sums(r->job)) s = make_sums(r, err);
    return s;
}

static void clean_up(run *r) {
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
static int64_t count_tiles(const run *r) {
    int64_t n = 1;
    for (int32_t l = 0; l < r->job->info.nloops; l++) n *= tg_max(r->task->tiles[l], 1);
    return n;
}

static int64_t count_slices(const run *r) {
    int64_t n = 1;
    for (int32_t l = 0; l < r->job->info.nloops; l++) n *= tg_max(r->task->splits[l], 1);
    return n;
}

tg_status tg_task_run(const tg_task *task, tg_tile *result, tg_error *err) {
    run *r = calloc(1, sizeof *r);
    if (r == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory to run a node");
    r->apart = -1;
    r->task = task;
    r->job = task->job;
    r->result = result;
    tg_status s = prepare(r, err);
    if (s == TG_OK && r->job->op->op == TG_OP_PAD)
        fill_elements(result, (float)number_of(r, &r->job->c.start), whole_number_of(r, &r->job->c.start));
    for (int64_t i = 0, n = count_tiles(r); i < n && s == TG_OK; i++) run_slices(r, i, count_slices(r));
    for (int64_t i = 0; s == TG_OK && tg_job_sums(r->job) && i < result->count; i++) join(r, i);
    if (s == TG_OK && tg_job_sums(r->job)) finish_sums(r);
    clean_up(r);
    return s;
}
