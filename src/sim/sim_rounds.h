/* The nodes of a graph in the order in which they run, those of loops round by round. */
#ifndef TG_SIM_SIM_ROUNDS_H
#define TG_SIM_SIM_ROUNDS_H

#include "graph/model.h"

/* Who runs them. */
typedef struct tg_runner {
    tg_status (*run)(void *of, int64_t node, tg_error *err);
    tg_status (*test)(bool *goes_on, void *of, int64_t node, tg_error *err); /* what a scalar node has come to */
    tg_status (*hand_on)(void *of, int64_t to, int64_t from, tg_error *err); /* `to` becomes what `from` is */
    void *of;
} tg_runner;

/* TG_ERR_LIMIT for a loop that does not end within 65536 rounds; TG_ERR_UNSUPPORTED for one whose end nobody knows. */
tg_status tg_run_rounds(const tg_graph *graph, const tg_runner *runner, tg_error *err);

#endif
