/* Where tensors live, as it is kept. The tensor of step i is row i; its readers are rows
 * [first_reader[i], first_reader[i + 1]) of `readers`, steps in their order, each once. */
#ifndef TG_GRAPH_MEMORY_H
#define TG_GRAPH_MEMORY_H

#include <tegula/memory.h>

#include "graph/slices.h"

struct tg_memory {
    const tg_graph      *graph;
    const tg_graph_plan *plan;
    tg_memory_params     params; /* defaults filled in */
    tg_memory_summary    summary;
    int64_t              n;
    tg_residence        *rows;
    int64_t             *storage; /* bytes of each tensor */
    bool                *output;  /* of each tensor */
    bool                *crosses; /* of each tensor: it is needed in several rounds of a loop */
    int64_t             *first_reader, *readers;
};

/* memory_lx.c: home, reason, address and bytes of what stays in LX; the reason of everything else. */
tg_status tg_memory_fill_lx(tg_memory *m, tg_error *err);

/* memory_loops.c: lives that last as long as a loop does, and what takes the place of what. False without memory. */
bool tg_stretch_lives(tg_memory *m);

/* Elements lie at the same places, and are as wide. */
bool tg_stored_alike(const tg_spyre *a, const tg_spyre *b);

/* The step whose tensor a carry is written over, -1 if there is none. */
int64_t tg_carried_step(const tg_memory *m, int64_t step);

/* Whether the node may write its result over operand k while it reads it: element by element, at the same places. */
bool tg_writes_in_place(const tg_memory *m, int64_t step, int32_t k);

#endif
