/* Formulas: several operations that work element by element, on rows and on single numbers. */
#ifndef TG_SIM_FORMULA_H
#define TG_SIM_FORMULA_H

#include "sim/job.h"

/* Operands that a formula begins with: those of the node, or the result of what comes before. */
int32_t tg_formula_first(const tg_job *job);

/* Whether every step has its operands, and an operation for the numbers that are calculated with. */
bool tg_formula_suits(const tg_job *job, bool whole);

/* The result of the last step, in float64 or int64; `values` has room for all steps behind what it begins with. */
tg_number tg_formula_of(tg_number *values, const tg_job *job, bool whole, int32_t bits);

/* A formula on rows: float32, or int64. */
typedef struct tg_formula_rows {
    const tg_job *job;
    bool          whole;
    int32_t       bits, first;
    int64_t       width;  /* of a row */
    void         *memory; /* a row for each step, then one for each number */
    const void   *value[TG_MAX_STEPS + TG_MAX_STEPS]; /* set the first ones before each run */
    void         *result[TG_MAX_STEPS];
    const void   *number[TG_MAX_STEPS][3];
} tg_formula_rows;

/* infinite: what infinity is. width: the longest row. */
tg_status   tg_formula_make(tg_formula_rows *out, const tg_job *job, bool whole, int32_t bits, double infinite,
                            int64_t width, tg_error *err);
const void *tg_formula_run(tg_formula_rows *f, int64_t n); /* the result of the last step */
void        tg_formula_free(tg_formula_rows *f);

#endif
