/* Sharing the work of a node among cores. Every core runs the same program on its slice of each loop. */
#ifndef TG_GRAPH_DIVIDE_H
#define TG_GRAPH_DIVIDE_H

#include "graph/model.h"

/* The largest divisor of size up to `most`, both at least 1. */
int64_t tg_core_split(int64_t size, int64_t most);

/* What there is to share: how many slices each loop could have, and which loops are summed up. */
typedef struct tg_work {
    int32_t  nloops;
    int64_t  sizes[TG_MAX_LOOPS];  /* of loops in sticks the number of sticks */
    int64_t  splits[TG_MAX_LOOPS]; /* so far; 1: not split */
    uint32_t outputs, reductions;  /* loops that may be split */
    int64_t  cores;
} tg_work;

/* Loops of the result by decreasing size, each as often as it goes; then one loop that is summed up, unless one is
 * split already. */
void tg_distribute(tg_work *work);

/* A product [B,M,K] x [B,K,N], or with one right operand for all B. Source of the costs: torch-spyre. */
typedef struct tg_product {
    int64_t b, m, n, k; /* N and K are whole sticks */
    int64_t n_sticks, k_sticks;
    bool    shared;
    int64_t cores;
} tg_product;

/* Microseconds with so many slices of b, m, n, k. */
double tg_product_cost(const tg_product *p, const int64_t splits[4]);

/* The cheapest splits; of equal ones those that come first with b, m, n, k ascending. */
void tg_product_split(int64_t splits[4], const tg_product *p);

/* Where each core works: slice number (core / radix) % splits of a loop has positions [number * chunk, + chunk) of it.
 * Loops in their order, the first one changes fastest from core to core; summed loops of a product before them. */
typedef struct tg_slicing {
    tg_division division;
    int64_t     chunk[TG_MAX_LOOPS], radix[TG_MAX_LOOPS];
} tg_slicing;

tg_status tg_slice_node(tg_slicing *out, const tg_graph *graph, const tg_graph_plan *plan, int64_t node,
                        const tg_division_params *params, tg_error *err);

#endif
