/* Pieces of what `tegula plan` says. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

tg_division_params plan_division_params(const plan_view *view) {
    return (tg_division_params){.cores = view->cores,
                                .max_span_bytes = view->june ? TG_MAX_SPAN_BYTES_JUNE : 0,
                                .formula = view->june ? TG_COST_JUNE : TG_COST_AUGUST};
}

int plan_check_splits(const plan_view *view) {
    for (int64_t i = 0; i < tg_graph_count(view->graph); i++) {
        const tg_division_params params = plan_division_params(view);
        tg_division              d;
        tg_error                 err;
        if (tg_graph_plan_divide(&d, view->graph, view->plan, i, &params, &err) == TG_OK) continue;
        const tg_hlo_text name = tg_graph_get(view->graph, i).name;
        char             *text = cli_allocate(name.len + 1);
        if (name.len > 0) memcpy(text, name.chars, name.len);
        text[name.len] = '\0';
        const int status = cli_fail_error(text, &err);
        free(text);
        return status;
    }
    return CLI_OK;
}
