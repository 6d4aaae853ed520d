/* What the library says of a plan, printed: the report, one operation, JSON. */
#include "plan.h"

#include <tegula/plan_report.h>

#include <stdlib.h>
#include <string.h>

static tg_plan_report report_of(const plan_view *view) {
    return (tg_plan_report){.graph = view->graph,
                            .plan = view->plan,
                            .module = view->module,
                            .division = plan_division_params(view),
                            .memory = view->memory,
                            .arrangements = view->arrangements,
                            .relayed = view->relayed,
                            .relay_option = "--restickify-reductions",
                            .has_limit = view->limit >= 0,
                            .limit = view->limit,
                            .list_memory = view->list_memory};
}

/* The answer is on standard output, which nobody may look at. */
int plan_complain(const plan_view *view) {
    const tg_plan_report report = report_of(view);
    const size_t         len = tg_plan_report_conflict(NULL, 0, &report);
    char                *text = cli_allocate(len + 1);
    (void)tg_plan_report_conflict(text, len + 1, &report);
    text[strcspn(text, "\n")] = '\0';
    (void)fflush(stdout);
    const int status = cli_fail(CLI_INFEASIBLE, view->name, "%s", text);
    free(text);
    return status;
}

int plan_put_report(FILE *file, const plan_view *view) {
    const tg_plan_report report = report_of(view);
    const size_t         len = tg_plan_report_text(NULL, 0, &report);
    char                *text = cli_allocate(len + 1);
    (void)tg_plan_report_text(text, len + 1, &report);
    (void)fwrite(text, 1, len, file);
    free(text);
    return CLI_OK;
}

int plan_put_json(const plan_view *view) {
    const tg_plan_report report = report_of(view);
    const size_t         len = tg_plan_report_json(NULL, 0, &report);
    char                *text = cli_allocate(len + 1);
    (void)tg_plan_report_json(text, len + 1, &report);
    puts(text);
    free(text);
    return CLI_OK;
}

/* No operation is called so, or several are. */
static int complain_name(const plan_view *view, const char *name) {
    const int64_t n = tg_graph_count(view->graph);
    char        **names = cli_allocate(((size_t)n + 1) * sizeof *names);
    int64_t       same = 0;
    for (int64_t i = 0; i < n; i++) {
        const tg_hlo_text own = tg_graph_get(view->graph, i).name;
        names[i] = cli_allocate(own.len + 1);
        if (own.len > 0) memcpy(names[i], own.chars, own.len);
        names[i][own.len] = '\0';
        same += strcmp(names[i], name) == 0;
    }
    names[n] = NULL;
    const char *how_many = same > 1 ? "more than one" : "no";
    const char *nearest = cli_nearest(name, (const char *const *)names);
    const int   status =
        nearest != NULL && strcmp(nearest, name) != 0
              ? cli_fail(CLI_USAGE, "--explain", "%s operation is called '%s'; did you mean %s? --json lists them",
                         how_many, name, nearest)
              : cli_fail(CLI_USAGE, "--explain", "%s operation is called '%s'; --json lists them", how_many, name);
    for (int64_t i = 0; i < n; i++) free(names[i]);
    free(names);
    return status;
}

int plan_explain(const plan_view *view, const char *name) {
    const tg_plan_report report = report_of(view);
    const int64_t        node = tg_graph_find(view->graph, (tg_hlo_text){name, strlen(name)});
    if (node < 0) return complain_name(view, name);
    const size_t len = tg_plan_report_node(NULL, 0, &report, node);
    char        *text = cli_allocate(len + 1);
    (void)tg_plan_report_node(text, len + 1, &report, node);
    fputs(text, stdout);
    free(text);
    return CLI_OK;
}
