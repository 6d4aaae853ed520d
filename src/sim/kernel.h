/* Running one node, slice of work by slice of work, on what is unpacked of its tensors (tg_tile). */
#ifndef TG_SIM_KERNEL_H
#define TG_SIM_KERNEL_H

#include "sim/job.h"
#include "sim/sim_tile.h"

/* Lanes of an operand behind `valid` count as `value`. */
typedef struct tg_lane_mask {
    bool    used;
    int64_t valid;
    double  value;
} tg_lane_mask;

typedef struct tg_task {
    const tg_job       *job;
    const tg_tile      *operand; /* job->info.noperands */
    const int32_t      *lane;    /* of each operand, and behind them of the result: the loop in its lanes */
    const tg_lane_mask *mask;    /* of each operand */
    int32_t             cut;     /* the operand of a product whose lanes the device skips behind the end; -1: none */
    bool                cut_all; /* and with them the round: nothing is read of the other operand, either */
    const int64_t      *splits, *tiles; /* of each loop; tiles of work are done one after the other */
    tg_number *const *values; /* of the nodes that indices, pieces and starts come from, in the order of host storage */
    uint64_t            seed;
} tg_task;

/* The result's tile is to be all poison. */
tg_status tg_task_run(const tg_task *task, tg_tile *result, tg_error *err);

#endif
