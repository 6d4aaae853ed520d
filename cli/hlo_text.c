/* Pieces of a dump in an answer: as text for a terminal, and as JSON. */
#include "hlo.h"

#include <stdlib.h>
#include <string.h>

static bool is_blank(char c) { return c == '\n' || c == '\r' || c == '\t' || c == ' '; }

void hlo_print(tg_hlo_text text) {
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char c = (unsigned char)text.chars[i];
        if (is_blank(text.chars[i])) {
            if (i == 0 || !is_blank(text.chars[i - 1])) putchar(' ');
        } else {
            putchar(c < 0x20 || c == 0x7f ? '?' : c);
        }
    }
}

char *hlo_node_text(const tg_xla_shape *node) {
    const size_t len = tg_xla_shape_format(NULL, 0, node, 1, true);
    char        *text = cli_allocate(len + 1);
    (void)tg_xla_shape_format(text, len + 1, node, 1, true);
    return text;
}

json_t *hlo_json_text(tg_hlo_text text) {
    json_t *exact = json_stringn(text.len > 0 ? text.chars : "", text.len);
    if (exact != NULL) return exact;
    char *copy = cli_allocate(text.len + 1);
    for (size_t i = 0; i < text.len; i++)
        copy[i] = text.chars[i] > 0 && (unsigned char)text.chars[i] < 0x80 ? text.chars[i] : '?';
    copy[text.len] = '\0';
    json_t *value = cli_json_text(copy);
    free(copy);
    return value;
}

const tg_xla_shape *hlo_nodes(size_t *count, const hlo_view *view, int64_t shape) {
    hlo_tree *const t = view->tree;
    const size_t    n = (size_t)tg_hlo_get_shape(view->module, shape).nnodes;
    tg_error        err;
    if (t->nodes == NULL || t->shape != shape) {
        free(t->nodes);
        t->shape = shape;
        t->nodes = cli_allocate(n * sizeof *t->nodes);
        if (tg_hlo_shape(t->nodes, n, &t->count, view->module, shape, &err) != TG_OK) {
            (void)cli_fail_error("shape", &err);
            free(t->nodes);
            t->nodes = NULL;
        }
    }
    *count = t->count;
    return t->nodes;
}

tg_hlo_computation hlo_computation_of(const tg_hlo_module *module, int64_t instruction) {
    int64_t first = 0, end = tg_hlo_get_header(module).ncomputations;
    while (first < end) { /* they come in the order of their instructions; empty ones may stand anywhere */
        const int64_t            middle = first + (end - first) / 2;
        const tg_hlo_computation c = tg_hlo_get_computation(module, middle);
        if (instruction >= c.first_instruction && instruction < c.first_instruction + c.ninstructions) return c;
        if (instruction < c.first_instruction) end = middle;
        else first = middle + 1;
    }
    return tg_hlo_get_computation(module, TG_HLO_NONE);
}

void hlo_print_instruction(const tg_hlo_module *module, int64_t instruction, const char *shape) {
    const tg_hlo_instruction i = tg_hlo_get_instruction(module, instruction);
    const tg_hlo_computation c = hlo_computation_of(module, instruction);
    if (c.name.len > 0) {
        hlo_print(c.name);
        fputs(" / ", stdout);
    }
    if (i.name.len > 0) {
        hlo_print(i.name);
        fputs(" = ", stdout);
    }
    if (shape != NULL) printf("%s ", shape);
    hlo_print(i.opcode);
}

const char *hlo_times(char buf[32], double factor) {
    (void)snprintf(buf, 32, factor < 10 ? "%.2fx" : factor < 100 ? "%.1fx" : "%.0fx", factor);
    return buf;
}

const char *hlo_plural(char buf[64], int64_t n, const char *word) {
    (void)snprintf(buf, 64, "%lld %s%s", (long long)n, word, n == 1 ? "" : "s");
    return buf;
}
