/* The copies report of `tegula hlo`: instructions that only move bytes, and what they really do. */
#include "hlo.h"

#include <tegula/xla.h>

#include <stdlib.h>
#include <string.h>

enum { ROWS = 20 };

/* Rows that are shown: what moves bytes, what nobody could decide, and bitcasts that are none. */
static bool is_shown(const tg_hlo_move *m) { return m->kind != TG_HLO_MOVES_NOTHING || m->is_false_bitcast; }

/* The text of a shape as it stands in the dump. */
static tg_hlo_text shape_text(const tg_hlo_module *module, int64_t shape) {
    const tg_hlo_text none = {"?", 1};
    return shape == TG_HLO_NONE ? none : tg_hlo_get_shape(module, shape).text;
}

/* The element of a tuple that a path leads to, to be freed; NULL if there is none. */
static char *element_text(const hlo_view *view, int64_t shape, tg_hlo_text path_text) {
    int64_t       path[TG_MAX_NDIM];
    size_t        npath = 0, count = 0, first = 0, length = 0;
    char         *text = NULL;
    const tg_xla_shape *nodes = shape != TG_HLO_NONE ? hlo_nodes(&count, view, shape) : NULL;
    if (nodes != NULL && tg_hlo_read_path(path, TG_MAX_NDIM, &npath, path_text, NULL) == TG_OK &&
        npath <= TG_MAX_NDIM && tg_xla_subshape(&first, &length, nodes, count, path, npath, NULL) == TG_OK &&
        length == 1)
        text = hlo_node_text(&nodes[first]);
    return text;
}

/* What the bytes come from, to be freed. */
static char *source_text(const hlo_view *view, const tg_hlo_move *m) {
    const tg_hlo_module *const module = view->module;
    const tg_hlo_operand o = tg_hlo_get_operand(module, m->operand);
    const int64_t        shape = o.shape != TG_HLO_NONE ? o.shape : tg_hlo_get_instruction(module, o.instruction).shape;
    char                *text = o.path.len > 0 ? element_text(view, shape, o.path) : NULL;
    if (text != NULL) return text;
    const tg_hlo_text whole = shape_text(module, o.instruction == TG_HLO_NONE ? o.shape : shape);
    text = cli_allocate(whole.len + 1);
    memcpy(text, whole.chars, whole.len);
    text[whole.len] = '\0';
    return text;
}

/* ---- text ------------------------------------------------------------------------------ */

static void print_kind(const tg_hlo_move *m) {
    char read[32], written[32];
    if (m->is_false_bitcast) {
        printf("not a bitcast: no reshape or transpose explains its elements");
        return;
    }
    if (m->kind == TG_HLO_MOVES_UNKNOWN) {
        printf("undecided: %s", m->why);
        return;
    }
    const char *what = m->kind == TG_HLO_MOVES_COPY    ? "copy, the same layout"
                       : m->kind == TG_HLO_MOVES_SPACE ? "copy to another memory space, the same layout"
                                                       : "relayout";
    printf("%s: %s read, %s written", what, cli_human_bytes(read, m->read_bytes),
           cli_human_bytes(written, m->written_bytes));
}

static void print_row(const hlo_view *view, const tg_hlo_move *m, int64_t rank) {
    const tg_hlo_operand     from = tg_hlo_get_operand(view->module, m->operand);
    const tg_hlo_instruction i = tg_hlo_get_instruction(view->module, m->instruction);
    printf("\n%3lld. ", (long long)rank);
    hlo_print_instruction(view->module, m->instruction, NULL);
    putchar('(');
    hlo_print(from.name.len > 0 ? from.name : from.text);
    hlo_print(from.path);
    fputs(")\n     ", stdout);
    print_kind(m);
    fputs("\n     from ", stdout);
    char *source = source_text(view, m);
    hlo_print((tg_hlo_text){source, strlen(source)});
    free(source);
    fputs("\n     to   ", stdout);
    hlo_print(shape_text(view->module, i.shape));
    putchar('\n');
}

typedef struct sum {
    int64_t n;
    int64_t read, written; /* INT64_MAX: so many or more */
} sum;

static void print_sum(const char *what, const sum *s) {
    char count[64], read[32], written[32];
    if (s->n == 0) return;
    printf("%-12s %s", what, hlo_plural(count, s->n, "instruction"));
    if (s->read > 0 || s->written > 0)
        printf(", %s%s read, %s%s written", s->read == INT64_MAX ? "over " : "", cli_human_bytes(read, s->read),
               s->written == INT64_MAX ? "over " : "", cli_human_bytes(written, s->written));
    putchar('\n');
}

static void add(int64_t *total, int64_t bytes) {
    if (__builtin_add_overflow(*total, bytes, total)) *total = INT64_MAX;
}

static void print_sums(const tg_hlo_moves *list) {
    sum sums[TG_HLO_MOVES_UNKNOWN + 1] = {{0, 0, 0}}, wrong = {0, 0, 0};
    for (int64_t i = 0; i < list->nmoves; i++) {
        const tg_hlo_move *m = &list->move[i];
        if (m->is_false_bitcast) wrong.n++;
        else sums[m->kind].n++;
        add(&sums[m->kind].read, m->read_bytes);
        add(&sums[m->kind].written, m->written_bytes);
    }
    if (list->nmoves == 0) puts("there is no copy, transpose, reshape or bitcast");
    print_sum("no bitcast:", &wrong);
    print_sum("relayout:", &sums[TG_HLO_MOVES_RELAYOUT]);
    print_sum("copy:", &sums[TG_HLO_MOVES_COPY]);
    print_sum("other space:", &sums[TG_HLO_MOVES_SPACE]);
    print_sum("nothing:", &sums[TG_HLO_MOVES_NOTHING]);
    print_sum("undecided:", &sums[TG_HLO_MOVES_UNKNOWN]);
}

static void print_report(const hlo_view *view, const tg_hlo_moves *list) {
    const int64_t limit = view->limit >= 0 ? view->limit : ROWS;
    int64_t       rank = 0, more = 0;
    print_sums(list);
    for (int64_t i = 0; i < list->nmoves; i++) {
        if (!is_shown(&list->move[i])) continue;
        if (rank < limit) print_row(view, &list->move[i], ++rank);
        else more++;
    }
    if (more > 0) printf("\nand %lld more (--limit N shows more)\n", (long long)more);
}

/* ---- JSON ------------------------------------------------------------------------------ */

static json_t *json_row(const hlo_view *view, const tg_hlo_move *m) {
    const tg_hlo_instruction i = tg_hlo_get_instruction(view->module, m->instruction);
    const tg_hlo_operand     from = tg_hlo_get_operand(view->module, m->operand);
    const tg_hlo_text        name = {from.name.chars, from.name.len + from.path.len}; /* the path follows the name */
    json_t                  *object = cli_json_object();
    cli_json_put(object, "computation", hlo_json_text(hlo_computation_of(view->module, m->instruction).name));
    cli_json_put(object, "instruction", hlo_json_text(i.name));
    cli_json_put(object, "opcode", hlo_json_text(i.opcode));
    cli_json_put(object, "operand", hlo_json_text(from.name.len > 0 ? name : from.text));
    char *source = source_text(view, m);
    cli_json_put(object, "from", hlo_json_text((tg_hlo_text){source, strlen(source)}));
    free(source);
    cli_json_put(object, "to", hlo_json_text(shape_text(view->module, i.shape)));
    cli_json_put(object, "kind", cli_json_text(tg_hlo_move_kind_name(m->kind)));
    cli_json_put(object, "false_bitcast", json_boolean(m->is_false_bitcast));
    cli_json_put(object, "read_bytes", cli_json_int(m->read_bytes));
    cli_json_put(object, "written_bytes", cli_json_int(m->written_bytes));
    cli_json_put(object, "why", m->why != NULL ? cli_json_text(m->why) : json_null());
    return object;
}

static void put_report(const hlo_view *view, const tg_hlo_moves *list) {
    const int64_t limit = view->limit >= 0 ? view->limit : list->nmoves;
    fputs("{\"schema\":\"tegula.hlo.copies/1\",\"module\":", stdout);
    cli_put_json(stdout, hlo_json_text(tg_hlo_get_header(view->module).name));
    fputs(",\"moves\":[", stdout);
    for (int64_t i = 0; i < list->nmoves && i < limit; i++) {
        if (i > 0) putchar(',');
        cli_put_json(stdout, json_row(view, &list->move[i]));
    }
    fputs("]}\n", stdout);
}

int hlo_show_copies(const hlo_view *view) {
    tg_hlo_moves list;
    tg_error     err;
    if (tg_hlo_moves_list(&list, view->module, &view->filter, &err) != TG_OK) return cli_fail_error("copies", &err);
    if (view->json) put_report(view, &list);
    else print_report(view, &list);
    tg_hlo_moves_free(&list);
    return CLI_OK;
}
