/* `tegula plan --explain NAME`: one operation, its loops, and how it reads and writes each tensor. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

enum { COORDINATE = 1024 };

static bool is_named(const tg_node_info *info, const char *name) {
    return info->name.len == strlen(name) && memcmp(info->name.chars, name, info->name.len) == 0;
}

/* By its whole name, else by the last part of it, where that says which. */
static int64_t find_node(const plan_view *view, const char *name) {
    int64_t found = -1;
    if (*name == '%') name++;
    for (int64_t i = 0; i < tg_graph_count(view->graph); i++) {
        const tg_node_info info = tg_graph_get(view->graph, i);
        if (is_named(&info, name)) return i;
        const size_t len = strlen(name);
        if (info.name.len > len && info.name.chars[info.name.len - len - 1] == '/' &&
            memcmp(info.name.chars + info.name.len - len, name, len) == 0)
            found = found < 0 ? i : -2;
    }
    return found < 0 ? -1 : found;
}

static void print_loops(const tg_node_info *info) {
    fputs("  loops", stdout);
    for (int32_t l = 0; l < info->nloops; l++)
        printf("%s p%d < %lld", l > 0 ? "," : "", l, (long long)info->ranges[l]);
    puts(info->nloops == 0 ? " none" : "");
}

static void print_division(const plan_view *view, int64_t node) {
    const tg_division d = plan_divide(view, node);
    printf("  cores %lld", (long long)d.cores);
    for (int32_t l = 0; l < d.nloops; l++)
        if (d.splits[l] > 1) printf(", p%d in %lld slices", l, (long long)d.splits[l]);
    for (int32_t l = 0; l < d.nloops; l++)
        if (d.tiles[l] > 1) printf(", p%d in %lld tiles, one after the other", l, (long long)d.tiles[l]);
    puts(d.in_span || d.tiled ? "" : "; one of its tensors is longer than a core can reach");
}

/* The device coordinates, outermost first. */
static void print_coordinates(const tg_node_info *info, const tg_access *access, const tg_spyre *layout) {
    for (int32_t k = 0; k < layout->rank; k++) {
        char     text[COORDINATE];
        size_t   need = 0;
        tg_error err;
        if (tg_coordinate_format(text, sizeof text, &need, layout->rank, layout->device_size, layout->stride_map, k,
                                 info->nloops, info->ranges, access, &err) != TG_OK)
            (void)snprintf(text, sizeof text, "(%s)", err.message);
        printf("%s%s", k == 0 ? "     at [" : ", ", text);
    }
    puts("]; the last one is the place in the stick");
}

static void print_operand(const plan_view *view, int64_t node, const tg_node_info *info, int32_t k) {
    const int64_t   from = tg_graph_operand(view->graph, node, k), copy = plan_find_copy(view, node, k);
    const tg_access access = tg_graph_access(view->graph, node, k);
    tg_spyre        layout;
    printf("  operand %d: ", k);
    plan_print_node(view, from);
    if (!tg_graph_plan_layout(&layout, view->plan, from)) {
        puts(", which is not on the device");
        return;
    }
    if (copy >= 0) layout = tg_graph_plan_restickify(view->plan, copy).to;
    char *text = plan_layout_text(view, from, &layout);
    printf("%s\n     %s\n", copy >= 0 ? ", restickified" : "", text);
    free(text);
    print_coordinates(info, &access, &layout);
}

static void print_result(const plan_view *view, int64_t node, const tg_node_info *info) {
    const tg_access access = tg_graph_access(view->graph, node, -1);
    tg_spyre        layout;
    if (!tg_graph_plan_layout(&layout, view->plan, node)) return;
    char *text = plan_layout_text(view, node, &layout);
    printf("  result\n     %s\n", text);
    free(text);
    if (info->nloops > 0) print_coordinates(info, &access, &layout);
    for (int64_t i = 0; i < tg_graph_plan_candidate_count(view->plan, node); i++) {
        const tg_spyre other = tg_graph_plan_candidate(view->plan, node, i);
        text = plan_layout_text(view, node, &other);
        if (tg_graph_plan_candidate_count(view->plan, node) > 1) printf("     candidate %s\n", text);
        free(text);
    }
}

int plan_explain(const plan_view *view, const char *name) {
    const int64_t node = find_node(view, name);
    if (node < 0) return cli_fail(CLI_USAGE, "--explain", "there is no one operation '%s'; --json lists them", name);
    const tg_node_info info = tg_graph_get(view->graph, node);
    plan_print_node(view, node);
    fputs(" = ", stdout);
    hlo_print(info.opcode);
    printf(", %s\n  rule: %s\n", tg_node_kind_name(info.kind), tg_node_kind_rule(info.kind));
    print_loops(&info);
    fputs("  in the sticks: ", stdout);
    plan_print_loop(view, node, tg_graph_plan_stick(view->plan, node));
    putchar('\n');
    print_division(view, node);
    for (int32_t k = 0; k < info.noperands; k++) print_operand(view, node, &info, k);
    print_result(view, node, &info);
    plan_explain_memory(view, node);
    return CLI_OK;
}
