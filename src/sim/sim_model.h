/* A simulation as it is kept. */
#ifndef TG_SIM_SIM_MODEL_H
#define TG_SIM_SIM_MODEL_H

#include "graph/model.h"
#include "sim/job.h"
#include "sim/program.h"
#include "sim/sim_tile.h"

enum { TG_NO_ROW = -1 };

/* A tensor in device memory with the layout that it was made from. */
typedef struct tg_stored {
    bool      on_device;
    tg_spyre  layout;
    tg_tensor tensor;
    int64_t   next; /* of the copies, or of the fills, of the same node; TG_NO_ROW */
    bool      lent; /* storage is of the caller of a part */
    bool      pending; /* it is lent, and still to be made */
    char     *why;  /* of a simulation in parts: why nobody can read or write it; NULL */
} tg_stored;

struct tg_sim {
    const tg_graph      *graph;
    const tg_graph_plan *plan;
    const tg_program    *program;
    tg_sim_params        params;
    int64_t    count, ncopies, npaddings, noperands;
    tg_stored *node;   /* results */
    tg_stored *copy;   /* of each restickify */
    tg_stored *fill;   /* of each padding that is no mask */
    int64_t   *first_copy, *first_fill; /* of each node */
    int64_t   *reads_copy, *reads_fill, *mask; /* of each operand of each node: rows, or TG_NO_ROW */
    void     **input;      /* what was written, of each node; NULL */
    tg_number **numbers;   /* of nodes, where somebody needs them; NULL */
    tg_number **definition; /* of nodes, once they were asked for; NULL */
    tg_division *divided; /* of nodes that have run in a part: cores is 0 for the others */
    int64_t    bytes;
    bool       has_run;
};

static inline int64_t tg_operand_row(const tg_sim *sim, int64_t node, int32_t k) {
    return (int64_t)tg_node_at(sim->graph, node)->first_operand + k;
}

/* The tensor that operand k of a node reads: filled, copied, or as it is. */
static inline const tg_stored *tg_operand_stored(const tg_sim *sim, int64_t node, int32_t k) {
    const int64_t row = tg_operand_row(sim, node, k);
    if (sim->reads_fill[row] != TG_NO_ROW) return &sim->fill[sim->reads_fill[row]];
    if (sim->reads_copy[row] != TG_NO_ROW) return &sim->copy[sim->reads_copy[row]];
    return &sim->node[tg_graph_operand(sim->graph, node, k)];
}

/* The loop that operand k has in its sticks as it is read; -1 if none. */
int32_t tg_loop_in_sticks(const tg_sim *sim, int64_t node, int32_t k);

/* Node, copy or fill, from what it is made of. */
tg_status tg_sim_run_node(tg_sim *sim, const tg_job *job, tg_error *err);
tg_status tg_sim_make_copy(tg_sim *sim, int64_t i, tg_error *err);
tg_status tg_sim_make_fill(tg_sim *sim, int64_t i, tg_error *err);

/* sim->numbers[node], read from the device if need be. */
tg_status tg_sim_need_numbers(tg_sim *sim, int64_t node, tg_error *err);
void      tg_sim_forget(tg_sim *sim, tg_number **numbers);

#endif
