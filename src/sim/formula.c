/* Steps of a formula, one after the other. The device keeps what is between them in float32: nothing is rounded to a
 * format but the last result. */
#include "sim/formula.h"

#include "base/checked.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>

int32_t tg_formula_first(const tg_job *job) { return job->op->op == TG_OP_FORMULA ? job->info.noperands : 1; }

bool tg_formula_suits(const tg_job *job, bool whole) {
    const int32_t first = tg_formula_first(job);
    if (job->op->op == TG_OP_FORMULA && (job->c.nsteps == 0 || first > TG_MAX_STEPS)) return false;
    for (int32_t j = 0; j < job->c.nsteps; j++) {
        const tg_formula_step *s = &job->c.steps[j];
        const tg_op_row       *op = tg_op_find(s->op);
        if (whole ? op->whole == NULL : op->rows == NULL) return false;
        for (int32_t i = 0; i < op->arity; i++)
            if (s->from[i] != TG_NUMBER && (s->from[i] < 0 || s->from[i] >= first + j)) return false;
    }
    return true;
}

/* ---- one number ------------------------------------------------------------------------------ */

tg_number tg_formula_of(tg_number *values, const tg_job *job, bool whole, int32_t bits) {
    const int32_t first = tg_formula_first(job);
    for (int32_t j = 0; j < job->c.nsteps; j++) {
        const tg_formula_step *s = &job->c.steps[j];
        const tg_op_row       *op = tg_op_find(s->op);
        double                 real[TG_MAX_ARITY];
        int64_t                integer[TG_MAX_ARITY];
        for (int32_t i = 0; i < op->arity; i++) {
            const bool number = s->from[i] == TG_NUMBER;
            if (whole) integer[i] = number ? tg_to_whole(s->number[i]) : values[s->from[i]].whole;
            else real[i] = number ? s->number[i] : values[s->from[i]].real;
        }
        if (whole) values[first + j].whole = op->whole(integer, bits);
        else values[first + j].real = op->real(real);
    }
    return values[first + job->c.nsteps - 1];
}

/* ---- rows -------------------------------------------------------------------------------------- */

static void fill_row(void *row, bool whole, int64_t n, double number, double infinite) {
    if (isinf(number)) number = number > 0 ? infinite : -infinite;
    for (int64_t i = 0; i < n; i++) {
        if (whole) ((int64_t *)row)[i] = tg_to_whole(number);
        else ((float *)row)[i] = (float)number;
    }
}

tg_status tg_formula_make(tg_formula_rows *out, const tg_job *job, bool whole, int32_t bits, double infinite,
                          int64_t width, tg_error *err) {
    const size_t  row = (size_t)width * (whole ? sizeof(int64_t) : sizeof(float));
    const int32_t n = job->c.nsteps;
    int32_t       numbers = 0;
    *out = (tg_formula_rows){.job = job, .whole = whole, .bits = bits, .first = tg_formula_first(job), .width = width};
    if (n == 0) return TG_OK;
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < 3; i++) numbers += job->c.steps[j].from[i] == TG_NUMBER;
    char *at = out->memory = malloc((size_t)(n + numbers) * row + 1);
    if (at == NULL) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for a formula");
    for (int32_t j = 0; j < n; j++, at += row) out->value[out->first + j] = out->result[j] = at;
    for (int32_t j = 0; j < n; j++)
        for (int32_t i = 0; i < 3; i++) {
            if (job->c.steps[j].from[i] != TG_NUMBER) continue;
            fill_row(at, whole, width, job->c.steps[j].number[i], infinite);
            out->number[j][i] = at;
            at += row;
        }
    return TG_OK;
}

static void run_whole(int64_t *out, const tg_op_row *op, const void *const *in, int32_t bits, int64_t n) {
    int64_t x[TG_MAX_ARITY];
    for (int64_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < op->arity; k++) x[k] = ((const int64_t *)in[k])[i];
        out[i] = op->whole(x, bits);
    }
}

const void *tg_formula_run(tg_formula_rows *f, int64_t n) {
    for (int32_t j = 0; j < f->job->c.nsteps; j++) {
        const tg_formula_step *s = &f->job->c.steps[j];
        const tg_op_row       *op = tg_op_find(s->op);
        const void            *in[TG_MAX_ARITY] = {NULL};
        for (int32_t i = 0; i < op->arity; i++)
            in[i] = s->from[i] == TG_NUMBER ? f->number[j][i] : f->value[s->from[i]];
        if (f->whole) run_whole(f->result[j], op, in, f->bits, n);
        else op->rows(f->result[j], (const float *const *)in, n);
    }
    return f->value[f->first + f->job->c.nsteps - 1];
}

void tg_formula_free(tg_formula_rows *f) {
    free(f->memory);
    f->memory = NULL;
}
