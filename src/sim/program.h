/* What the nodes of a graph calculate, as it is kept: one block of memory for each node. */
#ifndef TG_SIM_PROGRAM_H
#define TG_SIM_PROGRAM_H

#include <tegula/sim.h>

#include "hlo/hlo_array.h"

typedef struct tg_compute_row {
    tg_compute compute;
    void      *block; /* that the pointers of compute go into */
} tg_compute_row;

TG_HLO_TABLE(tg_compute_rows, tg_compute_row)
TG_HLO_TABLE(tg_input_rows, int64_t)

struct tg_program {
    tg_compute_rows nodes;
    tg_input_rows   inputs;
};

/* Of a node that nobody told of: TG_OP_NONE. */
tg_compute tg_program_get(const tg_program *program, int64_t node);

#endif
