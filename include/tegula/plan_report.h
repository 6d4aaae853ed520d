/* plan_report.h - what a plan is: as text that a person reads, and as JSON for other programs.
 *
 * Conventions of tegula.h hold. docs/plan.md has examples, and lists the fields. */
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
    const tg_graph_plan  *relayed;      /* of an infeasible plan: one where operands of reductions are copied, too;
                                         * NULL: there is none, or nobody has looked */
    const char           *relay_option; /* how the user asks for that; NULL: the name of tg_graph_params */
    bool                  has_limit;
    int64_t               limit;        /* copies in the text, if has_limit; else TG_PLAN_REPORT_COPIES */
    bool                  list_memory;  /* the text says of each tensor where it lives */
} tg_plan_report;

#define TG_PLAN_REPORT_COPIES 20

/* What is copied, for whom, and why; where no plan is feasible, which operations cannot agree. Lines of text, each with
 * its end (snprintf rule). In names what is no printable character becomes '?'. */
TG_API size_t tg_plan_report_text(char *buf, size_t cap, const tg_plan_report *report);

/* What of that says why there is no plan, without the details: which operations cannot agree, each with its rule.
 * Nothing of a feasible plan. Lines of text, each with its end (snprintf rule). */
TG_API size_t tg_plan_report_conflict(char *buf, size_t cap, const tg_plan_report *report);

/* One operation: its loops, and how it reads and writes each tensor. pre: the plan is feasible, 0 <= node < count. */
TG_API size_t tg_plan_report_node(char *buf, size_t cap, const tg_plan_report *report, int64_t node);

/* One line of JSON, "tegula.plan/1", without a line end (snprintf rule). What is no UTF-8 in names becomes '?'. */
TG_API size_t tg_plan_report_json(char *buf, size_t cap, const tg_plan_report *report);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_PLAN_REPORT_H */
