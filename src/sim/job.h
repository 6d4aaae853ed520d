/* A node together with what it calculates: loops, operands, and the numbers that the data says. */
#ifndef TG_SIM_JOB_H
#define TG_SIM_JOB_H

#include "sim/numbers.h"
#include "sim/ops.h"
#include "sim/program.h"

enum { TG_MAX_ALL_LOOPS = TG_MAX_LOOPS + TG_MAX_NDIM };

typedef struct tg_job {
    const tg_graph  *graph;
    int64_t          id;
    tg_node_info     info;
    tg_compute       c;
    const tg_op_row *op;
    int32_t          nloops; /* the node's, then one for each window */
    int64_t          ranges[TG_MAX_ALL_LOOPS];
    tg_access        result;
    uint32_t         summed; /* loops of the node that the result does not have */
} tg_job;

/* Never fails. */
void tg_job_make(tg_job *out, const tg_graph *graph, const tg_program *program, int64_t id);

/* Whether the computation suits the node, and everything that is touched is there. TG_ERR_UNSUPPORTED names a node
 * that nothing calculates. */
tg_status tg_job_check(const tg_job *job, tg_error *err);

/* Elements of host storage that a tensor takes. */
tg_status tg_host_span(int64_t *out, const tg_host *host, tg_error *err);

/* The type that operand k has, and whose numbers decide how the node calculates. */
tg_dtype tg_job_operand_dtype(const tg_job *job, int32_t k);
tg_dtype tg_job_leading_dtype(const tg_job *job);

/* offset + terms, loops at `at`; terms of unknown loops are passed over. */
int64_t tg_access_at(const tg_access *a, const int64_t *at);

/* The place that a number of the data means: -1 if it is none, by a rule that asks. */
int64_t tg_index_place(const tg_index *x, int64_t number);

/* Whether all numbers that the job reads as indices are places. values: as of tg_task. */
tg_status tg_job_check_indices(const tg_job *job, tg_number *const *values, tg_error *err);

/* Where a window reads operand 0: host elements, or -1 for a place that is none. */
int64_t tg_window_at(const tg_window *w, int64_t place, int64_t in_window);

/* Operands of which elements are moved, as TG_OP_PIECES and TG_OP_PAD do it; those behind them say where to. */
int32_t tg_job_moved(const tg_job *job);

/* TG_OP_ types that sum up, and so begin with something. */
static inline bool tg_job_sums(const tg_job *job) {
    return job->op->op == TG_OP_REDUCE || job->op->op == TG_OP_PRODUCT;
}

/* Of a product it is a sum. */
static inline tg_reduction tg_job_reduction(const tg_job *job) {
    return job->op->op == TG_OP_PRODUCT ? TG_REDUCE_SUM : job->c.reduction;
}

#endif
