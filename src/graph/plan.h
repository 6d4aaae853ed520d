/* A plan as it is kept. */
#ifndef TG_GRAPH_PLAN_H
#define TG_GRAPH_PLAN_H

#include "graph/choose.h"

TG_HLO_TABLE(tg_restickify_rows, tg_restickify)
TG_HLO_TABLE(tg_reader_rows, tg_reader)

/* And the copy of the tensor that is meant; TG_FITS: itself. */
typedef struct tg_padding_row {
    tg_plan_padding padding;
    int8_t          form;
    int32_t         next; /* of a fill, while they are listed: the next one that may be of the same; -1: none */
} tg_padding_row;

TG_HLO_TABLE(tg_padding_rows, tg_padding_row)

/* A step reads rows [first_operand, first_operand + noperands) of `reads`, which are numbers of steps. */
typedef struct tg_step_row {
    tg_step_kind kind;
    uint32_t     first_operand, noperands;
    int64_t      index; /* of the node, the restickify or the padding */
    int64_t      bytes;
} tg_step_row;

TG_HLO_TABLE(tg_step_rows, tg_step_row)
TG_HLO_TABLE(tg_read_rows, uint32_t)

struct tg_graph_plan {
    tg_problem         problem;
    tg_plan_summary    summary;
    uint32_t          *modes; /* of each node; if feasible */
    tg_restickify_rows restickifies;
    tg_reader_rows     readers;
    tg_padding_rows    paddings;
    int32_t           *fills; /* of each row of graph->accesses the padding that is a fill of it, or -1 */
    tg_step_rows       steps;
    tg_read_rows       reads;
    uint32_t          *node_steps;
    tg_int_rows        conflict;
};

/* plan_padding.c: from the modes that were chosen; false without memory. */
bool tg_list_paddings(tg_graph_plan *plan);

/* plan_steps.c: from restickifies and paddings. TG_ERR_OVERFLOW, TG_ERR_NOMEM. */
tg_status tg_list_steps(tg_graph_plan *plan, tg_error *err);

/* Steps whose tensor is wanted outside: the outputs that the graph names; if it names none, all that nobody reads. */
void tg_mark_results(bool *steps, const tg_graph *graph, const tg_graph_plan *plan);

#endif
