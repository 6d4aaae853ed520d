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
    int64_t             *first_reader, *readers;
};

/* memory_lx.c: home, reason, address and bytes of what stays in LX; the reason of everything else. */
tg_status tg_memory_fill_lx(tg_memory *m, tg_error *err);

/* Whether the node may write its result over operand k while it reads it: element by element, at the same places. */
bool tg_writes_in_place(const tg_memory *m, int64_t step, int32_t k);

#endif
