/* What the files of the kernel share: one node at work, on one core's slice after the other.
 *
 * kernel.c       slices, and what is made before and after them
 * kernel_rows.c  rows of operands, and what is calculated element by element
 * kernel_sums.c  rows that are summed up, products of matrices among them */
#ifndef TG_SIM_KERNEL_RUN_H
#define TG_SIM_KERNEL_RUN_H

#include "sim/formula.h"
#include "sim/kernel.h"
#include "sim/place.h"

enum { TG_ROW = 2048 }; /* lanes at a time */

typedef union tg_row {
    float   real[TG_ROW];
    int64_t whole[TG_ROW];
} tg_row;

typedef struct tg_run {
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
    tg_row        *rows;   /* one for each of nreads operands that are read at once, then one for the result */
    tg_formula_rows formula;
    int64_t        places[TG_ROW];
} tg_run;

static inline int64_t tg_run_whole_of(double x) { return x != x ? INT64_C(0x25A5A5A5A5A5A5A5) : tg_to_whole(x); }

/* ---- kernel_rows.c ---- */

/* A row of n lanes of operand k: where it lies, if it lies there as it is needed, else in *room. */
const void *tg_run_fetch(tg_run *r, int32_t k, tg_row *room, int64_t n);

/* Behind the end of what operand k has in its lanes; `apart`: the round of the loop apart. */
bool tg_run_is_cut(const tg_run *r, int32_t k, int64_t apart);

/* A conversion to truth asks whether something is not 0. */
void tg_run_make_truth(tg_row *out, const tg_run *r, int64_t n);

void tg_run_elements(tg_run *r, int64_t n);
void tg_run_formula(tg_run *r, int64_t n);

/* The last operand that has an element there; poison where none has. */
void tg_run_pieces(tg_run *r, int64_t n);

/* ---- kernel_sums.c ---- */

bool tg_run_is_summed(const tg_run *r, int32_t loop);

/* Before the first slice: the innermost loop that is summed up is taken apart, if everything is simple enough; and
 * room for the sums. */
void      tg_run_choose_apart(tg_run *r);
tg_status tg_run_make_sums(tg_run *r, tg_error *err);

/* A row of n lanes of the result; with a loop apart all of its rounds, numbers of the one operand times rows of the
 * other. */
void tg_run_sums(tg_run *r, tg_tile *sum, int64_t n);
void tg_run_apart(tg_run *r, tg_tile *sum, int64_t n);

/* After the last slice: the sums of all slices at one place, and what the formula makes of them, lane by lane. */
void tg_run_join(const tg_run *r, int64_t place);
void tg_run_finish_sums(tg_run *r);

#endif
