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
} tg_padding_row;

TG_HLO_TABLE(tg_padding_rows, tg_padding_row)

struct tg_graph_plan {
    tg_problem         problem;
    tg_plan_summary    summary;
    uint32_t          *modes; /* of each node; if feasible */
    tg_restickify_rows restickifies;
    tg_reader_rows     readers;
    tg_padding_rows    paddings;
    tg_int_rows        conflict;
};

/* plan_padding.c: from the modes that were chosen; false without memory. */
bool tg_list_paddings(tg_graph_plan *plan);

#endif
