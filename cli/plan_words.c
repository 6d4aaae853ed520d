/* Pieces of what `tegula plan` says. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

char *plan_layout_text(const plan_view *view, int64_t node, const tg_spyre *layout) {
    tg_desc  desc;
    tg_error err;
    memset(&desc, 0, sizeof desc);
    desc.notation = TG_NOTATION_SPYRE;
    desc.host = tg_graph_get(view->graph, node).host;
    desc.spyre = *layout;
    if (tg_layout_from_spyre(&desc.layout, layout, &desc.host, &err) == TG_OK) return cli_canonical_text(&desc);
    const size_t len = tg_spyre_str(NULL, 0, layout);
    char        *text = cli_allocate(len + 1);
    (void)tg_spyre_str(text, len + 1, layout);
    return text;
}

json_t *plan_json_node(const plan_view *view, int64_t node) {
    char               number[32];
    const tg_node_info info = tg_graph_get(view->graph, node);
    if (info.name.len > 0) return hlo_json_text(info.name);
    (void)snprintf(number, sizeof number, "node %lld", (long long)node);
    return cli_json_text(number);
}

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
