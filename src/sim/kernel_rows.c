/* Rows of lanes: read out of operands, calculated element by element, and written. */
#include "sim/kernel_run.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

/* ---- reading rows ------------------------------------------------------------------------------- */

static void read_real(float *out, tg_run *r, const tg_tile *t, bool line, int64_t start, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * step : r->places[i];
        if (place == TG_NOWHERE) out[i] = NAN;
        else out[i] = t->whole ? (float)t->integer[place] : t->real[place];
    }
}

static void read_whole(int64_t *out, tg_run *r, const tg_tile *t, bool line, int64_t start, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * step : r->places[i];
        if (place == TG_NOWHERE) out[i] = tg_poison_of(t->tensor);
        else out[i] = t->whole ? t->integer[place] : tg_run_whole_of((double)t->real[place]);
    }
}

static void put_mask(tg_row *out, const tg_run *r, int32_t k, int64_t n) {
    const tg_lane_mask *m = &r->task->mask[k];
    if (!m->used || r->inner < 0 || r->task->lane[k] != r->inner) return;
    for (int64_t i = tg_max(0, m->valid - r->at[r->inner]); i < n; i++) {
        if (r->whole) out->whole[i] = m->value < 0 ? INT64_MIN : m->value > 1 ? INT64_MAX : (int64_t)m->value;
        else out->real[i] = (float)m->value;
    }
}

bool tg_run_is_cut(const tg_run *r, int32_t k, int64_t apart) {
    const int32_t lane = r->task->lane[k];
    if (k != r->task->cut || lane < 0 || lane == r->inner) return false;
    return (lane == r->apart ? apart : r->at[lane]) >= r->job->ranges[lane];
}

static bool is_masked(const tg_run *r, int32_t k) { return r->task->mask[k].used && r->task->lane[k] == r->inner; }

const void *tg_run_fetch(tg_run *r, int32_t k, tg_row *room, int64_t n) {
    const tg_tile *t = r->operand[k].tile;
    const int64_t  step = r->operand[k].inner_step;
    int64_t        start = 0;
    if (tg_run_is_cut(r, k, 0)) return memset(room, 0, sizeof *room);
    const bool line = tg_place_row(&start, r->places, &r->operand[k], r->at, n);
    if (line && (step == 1 || n == 1) && t->whole == r->whole && !is_masked(r, k))
        return t->whole ? (const void *)(t->integer + start) : t->real + start;
    if (r->whole) read_whole(room->whole, r, t, line, start, step, n);
    else read_real(room->real, r, t, line, start, step, n);
    put_mask(room, r, k, n);
    return room;
}

/* ---- element by element ----------------------------------------------------------------------------- */

static bool is_truth(const tg_run *r) { return r->job->info.host.dtype == TG_PRED; }

static void apply_whole(int64_t *out, const tg_run *r, const int64_t *const *in, int64_t n) {
    const tg_op_row *op = r->job->op;
    const int32_t    bits = tg_dtype_bits(tg_job_leading_dtype(r->job));
    int64_t          x[TG_MAX_ARITY];
    for (int64_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < op->arity; k++) x[k] = in[k][i];
        out[i] = op->op == TG_OP_NOT && is_truth(r) ? x[0] == 0 : op->whole(x, bits);
    }
}

void tg_run_make_truth(tg_row *out, const tg_run *r, int64_t n) {
    if (!is_truth(r) || (r->job->op->op != TG_OP_COPY && r->job->c.nsteps == 0)) return;
    for (int64_t i = 0; i < n; i++) {
        if (r->whole) out->whole[i] = out->whole[i] != 0;
        else if (out->real[i] == out->real[i]) out->real[i] = out->real[i] != 0.0f;
    }
}

static void store(tg_run *r, const tg_row *from, int64_t n) {
    int64_t    start = 0;
    tg_tile   *t = r->result;
    const bool line = tg_place_row(&start, r->places, &r->to, r->at, n);
    for (int64_t i = 0; i < n; i++) {
        const int64_t place = line ? start + i * r->to.inner_step : r->places[i];
        if (place == TG_NOWHERE) continue;
        if (t->whole) t->integer[place] = r->whole ? from->whole[i] : tg_run_whole_of((double)from->real[i]);
        else t->real[place] = r->whole ? (float)from->whole[i] : from->real[i];
    }
}

void tg_run_elements(tg_run *r, int64_t n) {
    const tg_op_row *op = r->job->op;
    const void      *in[TG_MAX_ARITY] = {NULL};
    tg_row             *out = &r->rows[r->nreads];
    for (int32_t k = 0; k < op->arity; k++) in[k] = tg_run_fetch(r, k, &r->rows[k], n);
    if (r->whole) apply_whole(out->whole, r, (const int64_t *const *)in, n);
    else op->rows(out->real, (const float *const *)in, n);
    if (r->job->c.nsteps > 0) {
        r->formula.value[0] = out;
        out = (tg_row *)(uintptr_t)tg_formula_run(&r->formula, n);
    }
    tg_run_make_truth(out, r, n);
    store(r, out, n);
}

void tg_run_formula(tg_run *r, int64_t n) {
    for (int32_t k = 0; k < r->job->info.noperands; k++) r->formula.value[k] = tg_run_fetch(r, k, &r->rows[k], n);
    tg_row *out = (tg_row *)(uintptr_t)tg_formula_run(&r->formula, n);
    tg_run_make_truth(out, r, n);
    store(r, out, n);
}

void tg_run_pieces(tg_run *r, int64_t n) {
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
                const tg_row *piece = tg_run_fetch(r, k, &r->rows[0], to - from);
                store(r, piece, to - from);
                if (r->inner >= 0) r->at[r->inner] = at;
            }
            from = to > from ? to : from + 1;
        }
    }
}
