/* The JSON of `tegula plan`, as the library has it. */
#include "plan.h"

#include <tegula/plan_report.h>

#include <stdlib.h>

int plan_put_json(const plan_view *view) {
    const bool           feasible = tg_graph_plan_summary(view->plan).feasible;
    const tg_plan_report report = {.graph = view->graph,
                                   .plan = view->plan,
                                   .module = view->module,
                                   .division = plan_division_params(view),
                                   .memory = view->memory,
                                   .arrangements = view->arrangements,
                                   .relay_helps = view->relayed != NULL};
    const size_t         len = tg_plan_report_json(NULL, 0, &report);
    char                *text = cli_allocate(len + 1);
    (void)tg_plan_report_json(text, len + 1, &report);
    puts(text);
    free(text);
    return feasible ? CLI_OK : CLI_INFEASIBLE;
}
