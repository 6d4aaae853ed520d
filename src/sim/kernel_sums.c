/* Sums. They are made in float32 apart from the result, each slice of a loop that is summed up on its own, and put
 * together in the order of slices: so the order in which cores run does not matter. */
#include "sim/kernel_run.h"

#include "base/checked.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums --------------------------------------------------------------------------------------------- */

bool tg_run_is_summed(const tg_run *r, int32_t loop) {
    return loop >= r->job->info.nloops || (r->job->summed >> loop & 1) != 0;
}

/* The first round that adds to the places at hand of the sums of this slice. */
static bool is_first(const tg_run *r) {
    if (r->goes_on) return false;
    for (int32_t l = 0; l < r->job->nloops; l++)
        if (tg_run_is_summed(r, l) && r->at[l] != r->begin[l]) return false;
    return true;
}

static bool in_windows(const tg_run *r) {
    for (int32_t i = 0; i < r->job->info.nwindows; i++) {
        const tg_window *w = &r->job->info.windows[i];
        if (r->at[w->loop] < r->job->ranges[w->loop] &&
            tg_window_at(w, r->at[w->loop], r->at[r->job->info.nloops + i]) < 0)
            return false;
    }
    return true;
}

static void start_sums(tg_run *r, tg_tile *sum, bool line, int64_t start, int64_t n) {
    const tg_reduction how = tg_job_reduction(r->job);
    const int64_t      whole = tg_neutral_whole(how, tg_job_leading_dtype(r->job));
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * r->to.inner_step : r->places[i];
        if (place == TG_NOWHERE) continue;
        if (r->whole) sum->integer[place] = whole;
        else sum->real[place] = (float)tg_neutral_real(how);
    }
}

static void add_rows(tg_run *r, tg_tile *sum, bool line, int64_t start, const tg_row *x, int64_t n) {
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

static bool add_product(tg_run *r, tg_tile *sum, bool line, int64_t start, int64_t n) {
    const bool simple = r->job->op->op == TG_OP_PRODUCT && !r->whole && line && r->to.inner_step == 1;
    if (!simple || !r->operand[0].plain || r->operand[0].inner_step != 0) return false;
    const float *x = tg_run_fetch(r, 0, &r->rows[0], 1), *y = tg_run_fetch(r, 1, &r->rows[1], n);
    add_multiple(sum->real + start, x[0], y, n);
    return true;
}

/* Multiplied, if it is a product. */
static const tg_row *terms_of_sum(tg_run *r, int64_t n) {
    const tg_row *x = tg_run_fetch(r, 0, &r->rows[0], n);
    if (r->job->op->op != TG_OP_PRODUCT) return x;
    const tg_row *y = tg_run_fetch(r, 1, &r->rows[1], n);
    tg_row       *out = &r->rows[r->nreads];
    for (int64_t i = 0; i < n; i++) {
        if (r->whole) out->whole[i] = (int64_t)((uint64_t)x->whole[i] * (uint64_t)y->whole[i]);
        else out->real[i] = x->real[i] * y->real[i];
    }
    return out;
}

/* A row along a loop that is summed up becomes one number. */
static void fold(tg_row *x, const tg_run *r, int64_t n) {
    const tg_reduction how = tg_job_reduction(r->job);
    for (int64_t i = 1; i < n; i++) {
        if (r->whole) x->whole[0] = tg_reduce_whole(how, x->whole[0], x->whole[i]);
        else x->real[0] = tg_reduce_float(how, x->real[0], x->real[i]);
    }
}

static bool skips(const tg_run *r) {
    const int32_t k = r->task->cut, lane = k >= 0 ? r->task->lane[k] : -1;
    return r->task->cut_all && lane >= 0 && r->at[lane] >= r->job->ranges[lane];
}

void tg_run_sums(tg_run *r, tg_tile *sum, int64_t n) {
    const bool    folds = r->inner >= 0 && tg_run_is_summed(r, r->inner);
    const int64_t width = folds ? 1 : n;
    int64_t       start = 0, saved[TG_ROW];
    const bool    line = tg_place_row(&start, r->places, &r->to, r->at, width);
    if (!line) memcpy(saved, r->places, (size_t)width * sizeof *saved);
    if (is_first(r)) start_sums(r, sum, line, start, width);
    if (!in_windows(r) || skips(r)) return;
    if (!folds && add_product(r, sum, line, start, n)) return;
    const tg_row *x = terms_of_sum(r, n);
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
static const float *apart_at(const tg_run *r, int32_t k, int64_t start, int64_t at) {
    const int64_t *table = r->operand[k].table[r->apart];
    if (table != NULL && table[at] == TG_NOWHERE) return NULL;
    return r->operand[k].tile->real + start + (table != NULL ? table[at] : 0);
}

void tg_run_apart(tg_run *r, tg_tile *sum, int64_t n) {
    const int32_t s = r->single, loop = r->apart;
    int64_t       start[2], to = 0;
    tg_row          *nowhere = &r->rows[0];
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
            if (tg_run_is_cut(r, s, at + i)) x[i] = 0;
            y[i] = many != NULL ? many : nowhere->real;
        }
        add_four(sum->real + to, x, y, n);
    }
}

static bool goes_along(const tg_run *r, int32_t k, int64_t step) {
    const tg_places *p = &r->operand[k];
    return p->even && p->plain && !p->tile->whole && !r->task->mask[k].used &&
           (step == 1 ? p->inner_step == 1 : p->table[r->inner] == NULL);
}

void tg_run_choose_apart(tg_run *r) {
    r->apart = -1;
    if (r->job->op->op != TG_OP_PRODUCT || r->whole || r->inner < 0 || r->nloops_of_data > 0) return;
    if (!r->to.even || !r->to.plain || r->to.inner_step != 1) return;
    r->single = goes_along(r, 0, 0) && goes_along(r, 1, 1) ? 0 : 1;
    if (!goes_along(r, r->single, 0) || !goes_along(r, 1 - r->single, 1)) return;
    for (int32_t l = 0; l < r->job->info.nloops; l++)
        if (l != r->inner && tg_run_is_summed(r, l) && r->extent[l] > 1) r->apart = l;
    if (r->apart < 0 || r->to.table[r->apart] != NULL) r->apart = -1;
    for (int32_t k = 0; k < 2; k++) r->operand[k].apart = r->apart;
}

/* ---- before and after ---------------------------------------------------------------------------------------- */

void tg_run_join(const tg_run *r, int64_t place) {
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
        whole = tg_run_whole_of(real);
    }
    if (r->result->whole) r->result->integer[place] = whole;
    else r->result->real[place] = (float)real;
}

void tg_run_finish_sums(tg_run *r) {
    tg_tile *t = r->result;
    for (int64_t at = 0; r->job->c.nsteps > 0 && at < t->count; at += TG_ROW) {
        const int64_t n = tg_min(TG_ROW, t->count - at);
        r->formula.value[0] = r->whole ? (const void *)(t->integer + at) : t->real + at;
        tg_row *out = (tg_row *)(uintptr_t)tg_formula_run(&r->formula, n);
        tg_run_make_truth(out, r, n);
        if (r->whole) memcpy(t->integer + at, out->whole, (size_t)n * sizeof *t->integer);
        else memcpy(t->real + at, out->real, (size_t)n * sizeof *t->real);
    }
}

tg_status tg_run_make_sums(tg_run *r, tg_error *err) {
    tg_status s = TG_OK;
    r->nsums = 1;
    for (int32_t l = 0; l < r->job->info.nloops; l++)
        if (tg_run_is_summed(r, l)) r->nsums *= tg_max(r->task->splits[l], 1);
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
            if (r->whole) r->sums[i].integer[j] = tg_run_whole_of(NAN);
            else r->sums[i].real[j] = NAN;
        }
    }
    return s;
}
