/* A plan of what the device really does: it has a kernel for every node, in its format, and operands whose elements
 * stand alike in their sticks. Who is left to the host changes what the others meet, so the graph is planned again
 * until nothing is left to find: each time one boundary more at least. */
#include <tegula/graph.h>

#include "graph/model.h"

#include <stdlib.h>

/* *n: the operations that were left to the host, because their operands do not go together. */
static tg_status give_up(int64_t *n, tg_arrangement *arrangements, tg_graph *graph, const tg_graph_plan *plan,
                         tg_error *err) {
    static const char reason[] = "its operands have elements in different arrangements";
    int64_t          *faults = malloc(((size_t)tg_graph_count(graph) + 1) * sizeof *faults);
    if (faults == NULL) return tg_graph_no_memory(err);
    tg_status s = tg_graph_plan_arrangements(arrangements, faults, n, graph, plan, err);
    for (int64_t i = 0; s == TG_OK && i < *n; i++)
        s = tg_graph_make_boundary(graph, faults[i], (tg_hlo_text){reason, sizeof reason - 1}, err);
    free(faults);
    return s;
}

tg_status tg_graph_plan_for_device(tg_graph_plan **out, tg_arrangement *arrangements, tg_graph *graph,
                                   const tg_graph_params *params, tg_error *err) {
    tg_status s = tg_graph_keep_to_device(graph, err);
    while (s == TG_OK) {
        tg_graph_plan *plan = NULL;
        int64_t        n = 0;
        s = tg_graph_plan_create(&plan, graph, params, err);
        if (s == TG_OK && tg_graph_plan_summary(plan).feasible) s = give_up(&n, arrangements, graph, plan, err);
        if (s == TG_OK && n == 0) {
            *out = plan;
            return TG_OK;
        }
        tg_graph_plan_destroy(&plan);
    }
    return s;
}
