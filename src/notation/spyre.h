/* Private to the Spyre notation: host numbers, device loops, and which loop walks what. */
#ifndef TG_NOTATION_SPYRE_H
#define TG_NOTATION_SPYRE_H

#include "notation/notation.h"

/* ---- spyre.c ---- */

int64_t tg_spyre_stick(tg_format format); /* elements; the format has stick geometry */
tg_status tg_spyre_check_host(const tg_host *host, tg_error *err);
tg_status tg_spyre_check_rank(int32_t rank, tg_error *err);

/* ---- spyre_map.c ---- */

/* Host dimensions that make one number, most significant first: number = sum of coordinate * weight,
 * and the host offset is base times the number. Weights nest: each is above what those behind reach. */
typedef struct tg_run {
    int32_t n;
    int32_t dims[TG_MAX_NDIM];
    int64_t weight[TG_MAX_NDIM];
    int64_t behind[TG_MAX_NDIM]; /* the largest number that the dimensions behind this one make */
    int64_t base;
    int64_t size; /* the number is below */
} tg_run;

typedef struct tg_runs {
    int32_t n;
    tg_run at[TG_MAX_NDIM];
} tg_runs;

/* One loop over device memory. */
typedef struct tg_loop {
    int64_t size;
    int64_t map;    /* host elements per step; -1 none, 0 replicate */
    int64_t stride; /* device elements per step */
    int32_t dim;    /* device dimension it came from */
    int32_t run;    /* the run it walks, or -1: idle */
} tg_loop;

enum { MAX_LOOPS = TG_SPYRE_MAX_RANK };

typedef struct tg_loops {
    int32_t n;
    tg_loop at[MAX_LOOPS];
} tg_loops;

/* Runs of dimensions that lie densely in each other: stride = stride * size of the next. */
void tg_find_dense_runs(tg_runs *out, const tg_host *host);

/* clean[i]: the number of run u may be cut behind its i-th dimension, because a digit has the weight of
 * that dimension and the digits and dimensions above it, back to the clean edge before, respect it. */
void tg_clean_edges(bool *clean, const tg_loops *l, const tg_run *r, int32_t u);

/* tg_layout_from_spyre, the runs of host dimensions, and the loops with the runs they walk. */
tg_status tg_spyre_to_layout(tg_layout *out, tg_loops *l, tg_runs *r, const tg_spyre *spyre, const tg_host *host,
                             tg_error *err);

#endif
