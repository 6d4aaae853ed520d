/* Building a graph node by node, and asking it. A node is checked once, by graph_check.c. */
#include "graph/model.h"
#include "graph/rules.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const kind_names[] = {"input",  "pointwise",   "reduce", "matmul",   "convolution", "gather",
                                         "concatenate", "clone", "constant", "default", "boundary",
                                         "search", "scatter", "carry",  "statistics", "normalize"};

const char *tg_node_kind_name(tg_node_kind kind) {
    return (int)kind >= 0 && (size_t)kind < COUNT(kind_names) ? kind_names[kind] : NULL;
}

tg_status tg_graph_no_memory(tg_error *err) { return tg_fail(err, TG_ERR_NOMEM, "there is no memory for the graph"); }

tg_status tg_graph_create(tg_graph **out, tg_error *err) {
    tg_graph *g = calloc(1, sizeof *g);
    if (g == NULL) return tg_graph_no_memory(err);
    /* so that none of these tables is NULL, to which nothing may be added */
    if (!tg_term_rows_reserve(&g->terms, 1) || !tg_int_rows_reserve(&g->ranges, 1) ||
        !tg_char_rows_reserve(&g->chars, 1) || !tg_split_rows_reserve(&g->pins, 1) ||
        !tg_window_rows_reserve(&g->windows, 1)) {
        tg_graph_destroy(&g);
        return tg_graph_no_memory(err);
    }
    *out = g;
    return TG_OK;
}

void tg_graph_destroy(tg_graph **graph) {
    tg_graph *g = *graph;
    if (g == NULL) return;
    free(g->nodes.rows);
    free(g->accesses.rows);
    free(g->terms.rows);
    free(g->ranges.rows);
    free(g->chars.rows);
    free(g->layouts.rows);
    free(g->outputs.rows);
    free(g->loops.rows);
    free(g->pins.rows);
    free(g->windows.rows);
    free(g);
    *graph = NULL;
}

/* ---- adding --------------------------------------------------------------------------- */

static const char no_format[] = "its type has no device format";
static const char nothing_to_read[] = "a loop that it sums up has no rounds";
static const char one_channel[] = "a single channel cannot lie in sticks";
static const char operand_without_format[] = "the type of an operand has no device format";

static size_t reason_room(const tg_node *node) { return node->reason.len + sizeof operand_without_format; }

/* Room for everything first, so that nothing can fail half-way. */
static bool reserve(tg_graph *g, const tg_node *node) {
    size_t nterms = (size_t)node->result.nterms;
    for (int32_t k = 0; k < node->noperands; k++) nterms += (size_t)node->operands[k].nterms;
    return tg_node_rows_reserve(&g->nodes, 1) && tg_access_rows_reserve(&g->accesses, (size_t)node->noperands) &&
           tg_term_rows_reserve(&g->terms, nterms) && tg_int_rows_reserve(&g->ranges, (size_t)node->nloops) &&
           tg_char_rows_reserve(&g->chars, node->name.len + node->opcode.len + node->variant.len +
                                              reason_room(node)) &&
           tg_split_rows_reserve(&g->pins, (size_t)node->npins + (size_t)node->nwishes + (size_t)node->ntiles) &&
           tg_window_rows_reserve(&g->windows, (size_t)node->nwindows) &&
           tg_spyre_rows_reserve(&g->layouts, 1);
}

static size_t keep_text(tg_graph *g, tg_hlo_text text) {
    const size_t at = g->chars.count;
    if (text.len > 0) memcpy(g->chars.rows + at, text.chars, text.len);
    g->chars.count += text.len;
    return at;
}

static bool is_term(const tg_node *node, const tg_term *t) {
    if (t->step == 0) return false;
    const int64_t range = t->loop == TG_LOOP_UNKNOWN ? t->extent : node->ranges[t->loop];
    return range > 1 && t->extent != 1;
}

/* Terms that never move anything are left out. */
static tg_access_row keep_access(tg_graph *g, const tg_node *node, const tg_access *a) {
    tg_access_row row = {a->node, a->offset, (uint32_t)g->terms.count, 0};
    for (int32_t i = 0; i < a->nterms; i++) {
        if (!is_term(node, &a->terms[i])) continue;
        g->terms.rows[g->terms.count++] = a->terms[i];
        row.nterms++;
    }
    return row;
}

static bool reads_off_device(const tg_graph *g, const tg_node *node) {
    for (int32_t k = 0; k < node->noperands; k++)
        if (!tg_node_at(g, node->operands[k].node)->on_device) return true;
    return false;
}

static bool has_elements(const tg_host *host) {
    for (int32_t d = 0; d < host->ndim; d++)
        if (host->shape[d] == 0) return false;
    return true;
}

/* A result is wanted, and there is nothing that it is made from: no layout of an operand decides anything. */
static bool reads_nothing(const tg_node *node) {
    bool empty = false;
    for (int32_t l = 0; l < node->nloops; l++) empty = empty || node->ranges[l] == 0;
    return empty && node->noperands > 0 && has_elements(&node->host);
}

/* A tensor of one channel has something else in its sticks, which windows would have to pick apart. */
static bool has_one_channel(const tg_node *node) {
    return node->kind == TG_NODE_CONVOLUTION &&
           (node->ranges[node->in_channel] == 1 || node->ranges[node->out_channel] == 1);
}

static void choose_format(tg_node_row *row, const tg_node *node) {
    row->format = node->has_format ? node->format : tg_format_for_dtype(node->host.dtype);
    row->on_device = row->format != TG_FORMAT_INVALID && tg_format_bits(row->format) > 0;
}

static void keep_node(tg_graph *g, const tg_node *node, int64_t layout) {
    tg_node_row row = {.kind = node->kind,
                       .host = node->host,
                       .name_len = (uint32_t)node->name.len,
                       .opcode_len = (uint32_t)node->opcode.len,
                       .variant_len = (uint32_t)node->variant.len,
                       .nloops = node->nloops,
                       .first_range = (uint32_t)g->ranges.count,
                       .first_operand = (uint32_t)g->accesses.count,
                       .noperands = (uint32_t)node->noperands,
                       .no_stick = node->no_stick,
                       .in_channel = node->in_channel,
                       .out_channel = node->out_channel,
                       .no_split = node->no_split,
                       .reduction = node->reduction,
                       .layout = layout,
                       .carries = node->kind == TG_NODE_CARRY,
                       .times = node->times > 0 ? node->times : 1,
                       .first_pin = (uint32_t)g->pins.count,
                       .npins = (uint32_t)node->npins,
                       .nwishes = (uint32_t)node->nwishes,
                       .ntiles = (uint32_t)node->ntiles,
                       .first_window = (uint32_t)g->windows.count,
                       .nwindows = (uint32_t)node->nwindows};
    choose_format(&row, node);
    tg_hlo_text reason = node->reason;
    if (row.kind != TG_NODE_INPUT && (!row.on_device || reads_off_device(g, node))) {
        row.kind = TG_NODE_BOUNDARY;
        reason = !row.on_device ? (tg_hlo_text){no_format, sizeof no_format - 1}
                                : (tg_hlo_text){operand_without_format, sizeof operand_without_format - 1};
    } else if (row.kind != TG_NODE_INPUT && reads_nothing(node)) {
        row.kind = TG_NODE_BOUNDARY;
        reason = (tg_hlo_text){nothing_to_read, sizeof nothing_to_read - 1};
    } else if (has_one_channel(node)) {
        row.kind = TG_NODE_BOUNDARY;
        reason = (tg_hlo_text){one_channel, sizeof one_channel - 1};
    }
    row.name = keep_text(g, node->name);
    row.opcode = keep_text(g, node->opcode);
    row.variant = keep_text(g, node->variant);
    if (row.kind == TG_NODE_BOUNDARY) {
        row.reason = keep_text(g, reason);
        row.reason_len = (uint32_t)reason.len;
    }
    for (int32_t i = 0; i < node->npins; i++) g->pins.rows[g->pins.count++] = node->pins[i];
    for (int32_t i = 0; i < node->nwishes; i++) g->pins.rows[g->pins.count++] = node->wishes[i];
    for (int32_t i = 0; i < node->ntiles; i++) g->pins.rows[g->pins.count++] = node->tiles[i];
    for (int32_t i = 0; i < node->nwindows; i++) g->windows.rows[g->windows.count++] = node->windows[i];
    for (int32_t l = 0; l < node->nloops; l++) g->ranges.rows[g->ranges.count++] = node->ranges[l];
    row.result = keep_access(g, node, &node->result);
    for (int32_t k = 0; k < node->noperands; k++)
        g->accesses.rows[g->accesses.count++] = keep_access(g, node, &node->operands[k]);
    g->nodes.rows[g->nodes.count++] = row;
}

static bool fits(const tg_graph *g) {
    enum { MOST = INT32_MAX };
    return g->pins.count < MOST && g->terms.count < MOST && g->accesses.count < MOST && g->ranges.count < MOST &&
           g->windows.count < MOST;
}

static tg_status add(int64_t *id, tg_graph *g, const tg_node *node, const tg_spyre *layout, tg_error *err) {
    if (!fits(g) || node->name.len > UINT32_MAX / 4 || node->opcode.len > UINT32_MAX / 4 ||
        node->variant.len > UINT32_MAX / 4 || node->reason.len > UINT32_MAX / 4)
        return tg_fail(err, TG_ERR_LIMIT, "the graph has more parts than this library counts");
    if (!reserve(g, node)) return tg_graph_no_memory(err);
    keep_node(g, node, layout != NULL ? (int64_t)g->layouts.count : -1);
    if (layout != NULL) g->layouts.rows[g->layouts.count++] = *layout;
    *id = (int64_t)g->nodes.count - 1;
    g->nodes.rows[*id].in_sticks = tg_always_in_sticks(g, tg_node_at(g, *id));
    return TG_OK;
}

tg_status tg_graph_add(int64_t *id, tg_graph *graph, const tg_node *node, tg_error *err) {
    tg_status s = tg_check_node(graph, node, err);
    if (s != TG_OK) return s;
    return add(id, graph, node, node->layout, err);
}

tg_status tg_graph_add_input(int64_t *id, tg_graph *graph, tg_hlo_text name, const tg_host *host,
                             const tg_spyre *layout, tg_error *err) {
    tg_layout     l;
    const tg_node node = {.kind = TG_NODE_INPUT, .name = name, .opcode = {"parameter", 9}, .host = *host,
                          .has_format = layout != NULL, .format = layout != NULL ? layout->device_dtype : 0};
    tg_status s = tg_check_host(host, err);
    if (s == TG_OK && layout != NULL) s = tg_layout_from_spyre(&l, layout, host, err);
    if (s != TG_OK) return s;
    return add(id, graph, &node, layout, err);
}

tg_status tg_graph_add_output(tg_graph *graph, int64_t node, const tg_host *view, tg_error *err) {
    if (node < 0 || (size_t)node >= graph->nodes.count)
        return tg_fail(err, TG_ERR_ARGUMENT, "the output is node %d; there are %d", node, (int64_t)graph->nodes.count);
    const tg_host  *host = &tg_node_at(graph, node)->host;
    const tg_output output = {node, view != NULL ? *view : *host};
    const tg_status s = view != NULL ? tg_check_host(view, err) : TG_OK;
    if (s != TG_OK) return s;
    if (output.view.offset < 0 || tg_host_end(&output.view) > tg_host_end(host))
        return tg_fail(err, TG_ERR_ARGUMENT, "the output ends at element %d, its tensor at %d",
                       tg_host_end(&output.view), tg_host_end(host));
    return tg_output_rows_push(&graph->outputs, output) ? TG_OK : tg_graph_no_memory(err);
}

static bool comes_before(const tg_loop *a, const tg_loop *b) {
    return a->first < b->first || (a->first == b->first && a->end > b->end);
}

tg_status tg_graph_add_loop(tg_graph *graph, const tg_loop *loop, tg_error *err) {
    const int64_t n = (int64_t)graph->nodes.count;
    if (loop->first < 0 || loop->end <= loop->first || loop->end > n || loop->test < -1 || loop->test >= n)
        return tg_fail(err, TG_ERR_ARGUMENT, "a loop of nodes %d to %d, with test %d; there are %d nodes", loop->first,
                       loop->end, loop->test, n);
    for (size_t i = 0; i < graph->loops.count; i++) {
        const tg_loop *a = &graph->loops.rows[i];
        const bool     apart = a->end <= loop->first || loop->end <= a->first;
        const bool     within = (a->first <= loop->first && loop->end <= a->end) ||
                            (loop->first <= a->first && a->end <= loop->end);
        if (!apart && !within)
            return tg_fail(err, TG_ERR_ARGUMENT, "a loop of nodes %d to %d overlaps one of nodes %d to %d", loop->first,
                           loop->end, a->first, a->end);
    }
    if (!tg_loop_rows_push(&graph->loops, *loop)) return tg_graph_no_memory(err);
    for (size_t i = graph->loops.count - 1; i > 0 && comes_before(loop, &graph->loops.rows[i - 1]); i--) {
        graph->loops.rows[i] = graph->loops.rows[i - 1];
        graph->loops.rows[i - 1] = *loop;
    }
    return TG_OK;
}

/* ---- asking ----------------------------------------------------------------------------- */

int64_t tg_graph_count(const tg_graph *graph) { return (int64_t)graph->nodes.count; }

int64_t   tg_graph_output_count(const tg_graph *graph) { return (int64_t)graph->outputs.count; }
tg_output tg_graph_output(const tg_graph *graph, int64_t i) { return graph->outputs.rows[i]; }
int64_t   tg_graph_loop_count(const tg_graph *graph) { return (int64_t)graph->loops.count; }
tg_loop   tg_graph_loop(const tg_graph *graph, int64_t i) { return graph->loops.rows[i]; }

tg_node_info tg_graph_get(const tg_graph *g, int64_t id) {
    const tg_node_row *n = tg_node_at(g, id);
    tg_node_info       info = {.kind = n->kind,
                               .name = {g->chars.rows + n->name, n->name_len},
                               .opcode = {g->chars.rows + n->opcode, n->opcode_len},
                               .variant = {g->chars.rows + n->variant, n->variant_len},
                               .host = n->host,
                               .nloops = n->nloops,
                               .noperands = (int32_t)n->noperands,
                               .on_device = n->on_device,
                               .times = n->times,
                               .reason = {g->chars.rows + n->reason, n->reason_len},
                               .nwindows = (int32_t)n->nwindows,
                               .windows = tg_node_windows(g, n)};
    if (n->nloops > 0) memcpy(info.ranges, tg_node_ranges(g, n), (size_t)n->nloops * sizeof *info.ranges);
    return info;
}

int64_t tg_graph_operand(const tg_graph *g, int64_t id, int32_t k) {
    return g->accesses.rows[tg_node_at(g, id)->first_operand + (uint32_t)k].node;
}

tg_access tg_graph_access(const tg_graph *g, int64_t id, int32_t k) {
    const tg_node_row *n = tg_node_at(g, id);
    return k < 0 ? tg_access_of(g, &n->result) : tg_operand_at(g, n, k);
}

/* ---- finding ---------------------------------------------------------------------------- */

static bool is_named(tg_hlo_text own, tg_hlo_text name) {
    return own.len == name.len && (name.len == 0 || memcmp(own.chars, name.chars, name.len) == 0);
}

/* Is that the last part of "fusion.3/add.1"? */
static bool ends_with(tg_hlo_text own, tg_hlo_text name) {
    if (own.len <= name.len || own.chars[own.len - name.len - 1] != '/') return false;
    return is_named((tg_hlo_text){own.chars + own.len - name.len, name.len}, name);
}

int64_t tg_graph_find(const tg_graph *graph, tg_hlo_text name) {
    const tg_hlo_text bare = name.len > 0 && *name.chars == '%' ? (tg_hlo_text){name.chars + 1, name.len - 1} : name;
    int64_t           found = TG_NODE_NONE, count = 0;
    for (int64_t i = 0; bare.len > 0 && i < tg_graph_count(graph); i++) {
        const tg_hlo_text own = tg_graph_get(graph, i).name;
        if (is_named(own, bare)) return i;
        if (ends_with(own, bare) && count++ == 0) found = i;
    }
    return count == 1 ? found : TG_NODE_NONE;
}
