/* plan_report.h - what a plan is, as JSON that other programs read.
 *
 * Conventions of tegula.h hold. docs/plan.md lists the fields. */
#ifndef TEGULA_PLAN_REPORT_H
#define TEGULA_PLAN_REPORT_H

#include <tegula/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_plan_report { /* zero-initialise, but for graph and plan */
    const tg_graph       *graph;
    const tg_graph_plan  *plan;
    tg_hlo_text           module;       /* what the graph is called; may be empty */
    tg_division_params    division;     /* how work is shared out */
    const tg_memory      *memory;       /* of these, and the plan is feasible; NULL: nothing is said of memory */
    const tg_arrangement *arrangements; /* of all nodes (tg_graph_plan_arrangements); NULL: none is told */
    bool                  relay_helps;  /* of an infeasible plan: there is one if operands of reductions are copied */
} tg_plan_report;

/* One line of JSON, "tegula.plan/1", without a line end (snprintf rule). What is no UTF-8 in names becomes '?'. */
TG_API size_t tg_plan_report_json(char *buf, size_t cap, const tg_plan_report *report);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_PLAN_REPORT_H */
