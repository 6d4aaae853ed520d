/* Sharing the work of a node among cores. Every core runs the same program on its slice of each loop. */
#ifndef TG_GRAPH_DIVIDE_H
#define TG_GRAPH_DIVIDE_H

#include <tegula/rules.h>

#include "graph/model.h"

/* Where each core works: slice number (core / radix) % splits of a loop has positions [number * chunk, + chunk) of it.
 * Loops in their order, the first one changes fastest from core to core; summed loops of a product before them. */
typedef struct tg_slicing {
    tg_division division;
    int64_t     chunk[TG_MAX_LOOPS], radix[TG_MAX_LOOPS];
} tg_slicing;

tg_status tg_slice_node(tg_slicing *out, const tg_graph *graph, const tg_graph_plan *plan, int64_t node,
                        const tg_division_params *params, tg_error *err);

#endif
