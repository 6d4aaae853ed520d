/* One operation of a plan: its loops, and how it reads and writes each tensor. */
#include "graph/report.h"

#include "graph/plan.h"

enum { COORDINATE = 1024 };

static void put_loops(tg_writer *w, const tg_node_info *info) {
    tg_put_text(w, info->nloops == 0 ? "  loops none" : "  loops");
    for (int32_t l = 0; l < info->nloops; l++) {
        tg_put_text(w, l > 0 ? ", p" : " p");
        tg_put_int(w, l);
        tg_put_text(w, " < ");
        tg_put_int(w, info->ranges[l]);
    }
    tg_put_char(w, '\n');
}

/* A number where it is not the usual one: ", in steps of 2". */
static void put_unless(tg_writer *w, int64_t number, int64_t usual, const char *before, const char *behind) {
    if (number == usual) return;
    tg_put_text(w, before);
    tg_put_int(w, number);
    tg_put_text(w, behind);
}

static void put_windows(tg_writer *w, const tg_node_info *info) {
    for (int32_t i = 0; i < info->nwindows; i++) {
        const tg_window *v = &info->windows[i];
        tg_put_text(w, "  window with p");
        tg_put_int(w, v->loop);
        tg_put_text(w, ": ");
        tg_put_int(w, v->size);
        tg_put_text(w, " wide");
        put_unless(w, v->dilation, 1, ", every ", " places");
        put_unless(w, v->stride, 1, ", in steps of ", "");
        put_unless(w, v->low, 0, ", ", " in front");
        tg_put_text(w, ", over ");
        tg_put_int(w, v->extent);
        put_unless(w, v->base_dilation, 1, " that are ", " apart");
        tg_put_text(w, v->reversed ? ", operand 1 backwards\n" : "\n");
    }
}

static void put_pieces(tg_writer *w, int32_t nloops, const int64_t *pieces, const char *word) {
    for (int32_t l = 0; l < nloops; l++) {
        if (pieces[l] <= 1) continue;
        tg_put_text(w, ", p");
        tg_put_int(w, l);
        tg_put_text(w, " in ");
        tg_put_int(w, pieces[l]);
        tg_put_text(w, word);
    }
}

static void put_division(tg_writer *w, const tg_plan_report *r, int64_t node) {
    const tg_division d = tg_report_divide(r, node);
    tg_put_text(w, "  cores ");
    tg_put_int(w, d.cores);
    put_pieces(w, d.nloops, d.splits, " slices");
    put_pieces(w, d.nloops, d.tiles, " tiles, one after the other");
    tg_put_text(w, d.in_span || d.tiled ? "\n" : "; one of its tensors is longer than a core can reach\n");
}

/* The device coordinates, outermost first. */
static void put_coordinates(tg_writer *w, const tg_node_info *info, const tg_access *access, const tg_spyre *layout) {
    for (int32_t k = 0; k < layout->rank; k++) {
        char     text[COORDINATE];
        size_t   need = 0;
        tg_error err;
        tg_put_text(w, k == 0 ? "     at [" : ", ");
        if (tg_coordinate_format(text, sizeof text, &need, layout->rank, layout->device_size, layout->stride_map, k,
                                 info->nloops, info->ranges, access, &err) == TG_OK) {
            tg_put_text(w, text);
        } else {
            tg_put_char(w, '(');
            tg_put_text(w, err.message);
            tg_put_char(w, ')');
        }
    }
    tg_put_text(w, "]; the last one is the place in the stick\n");
}

static void put_layout_line(tg_writer *w, const tg_plan_report *r, const char *before, int64_t node,
                            const tg_spyre *layout) {
    tg_put_text(w, before);
    tg_put_layout(w, r->graph, node, layout);
    tg_put_char(w, '\n');
}

static void put_operand(tg_writer *w, const tg_plan_report *r, int64_t node, const tg_node_info *info, int32_t k) {
    const int64_t   from = tg_graph_operand(r->graph, node, k), copy = tg_find_copy(r->plan, node, k);
    const tg_access access = tg_graph_access(r->graph, node, k);
    tg_spyre        layout;
    tg_put_text(w, "  operand ");
    tg_put_int(w, k);
    tg_put_text(w, ": ");
    tg_put_node(w, r->graph, from);
    if (!tg_graph_plan_layout(&layout, r->plan, from)) {
        tg_put_text(w, ", which is not on the device\n");
        return;
    }
    if (copy >= 0) layout = tg_graph_plan_restickify(r->plan, copy).to;
    tg_put_text(w, copy >= 0 ? ", restickified\n" : "\n");
    put_layout_line(w, r, "     ", from, &layout);
    put_coordinates(w, info, &access, &layout);
}

static void put_result(tg_writer *w, const tg_plan_report *r, int64_t node, const tg_node_info *info) {
    const tg_access access = tg_graph_access(r->graph, node, -1);
    const int64_t   n = tg_graph_plan_candidate_count(r->plan, node);
    tg_spyre        layout;
    if (!tg_graph_plan_layout(&layout, r->plan, node)) return;
    put_layout_line(w, r, "  result\n     ", node, &layout);
    if (info->nloops > 0) put_coordinates(w, info, &access, &layout);
    for (int64_t i = 0; n > 1 && i < n; i++) {
        const tg_spyre other = tg_graph_plan_candidate(r->plan, node, i);
        put_layout_line(w, r, "     candidate ", node, &other);
    }
}

size_t tg_plan_report_node(char *buf, size_t cap, const tg_plan_report *report, int64_t node) {
    const tg_node_info info = tg_graph_get(report->graph, node);
    tg_writer          w = tg_writer_make(buf, cap);
    tg_put_node(&w, report->graph, node);
    tg_put_text(&w, " = ");
    tg_put_plain(&w, info.opcode);
    tg_put_text(&w, ", ");
    tg_put_text(&w, tg_node_kind_name(info.kind));
    tg_put_text(&w, "\n  rule: ");
    tg_put_text(&w, tg_node_kind_rule(info.kind));
    tg_put_char(&w, '\n');
    put_loops(&w, &info);
    put_windows(&w, &info);
    tg_put_text(&w, "  in the sticks: ");
    tg_put_loop(&w, report->graph, node, tg_graph_plan_stick(report->plan, node));
    tg_put_char(&w, '\n');
    put_division(&w, report, node);
    for (int32_t k = 0; k < info.noperands; k++) put_operand(&w, report, node, &info, k);
    put_result(&w, report, node, &info);
    if (report->memory != NULL) tg_put_node_memory(&w, report, node);
    return tg_writer_end(&w);
}
