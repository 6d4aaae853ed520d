/* The padding report: every array that an instruction makes, measured once for each distinct shape. */
#include "hlo/report.h"

#include "base/checked.h"
#include "base/error.h"

#include <tegula/padding.h>

#include <stdlib.h>
#include <string.h>

TG_HLO_TABLE(buffer_table, tg_hlo_buffer)
TG_HLO_TABLE(space_table, tg_hlo_space)

enum { UNSEEN = -1 };

/* Arrays of one shape: rows [first, first + n) of `arrays`. */
typedef struct measured {
    int64_t first, n, unmeasured;
} measured;

typedef struct making {
    const tg_report_scope *scope;
    measured              *shapes; /* by shape id */
    buffer_table           arrays; /* of all shapes seen; instruction unused */
    buffer_table           found;
    space_table            spaces;
    tg_report_texts        layouts;
    int64_t                unmeasured;
    tg_error              *err;
} making;

/* ---- which results have storage ------------------------------------------------------- */

static const char *const names_of_others[] = {"tuple", "get-tuple-element", "bitcast", "opt-barrier", "add-dependency",
                                              "after-all", "domain", "while", "conditional", "call",
                                              "async-done", NULL};

static bool ends_with(tg_hlo_text word, const char *end) {
    const size_t len = strlen(end);
    return word.len >= len && memcmp(word.chars + word.len - len, end, len) == 0;
}

static bool has_storage(const tg_hlo_instruction *i, bool in_entry) {
    if (tg_hlo_text_is(i->opcode, "parameter")) return in_entry;
    return !tg_report_is_one_of(i->opcode, names_of_others) && !ends_with(i->opcode, "-start") &&
           !ends_with(i->opcode, "-update");
}

/* ---- shapes ---------------------------------------------------------------------------- */

enum { LONGEST_ARRAY = 4096 }; /* of its text, which has at most some 150 numbers */

static bool measure_node(making *m, measured *shape, const tg_xla_shape *node, size_t at) {
    tg_padding   p;
    int64_t      layout = 0;
    char         text[LONGEST_ARRAY];
    if (node->kind != TG_XLA_ARRAY) return true;
    if (tg_padding_measure(&p, node, NULL) != TG_OK) {
        shape->unmeasured++;
        return true;
    }
    const size_t len = tg_xla_shape_format(text, sizeof text, node, 1, true);
    shape->n++;
    return tg_report_number(&layout, &m->layouts, text, len < sizeof text ? len : sizeof text - 1) &&
           buffer_table_push(&m->arrays, (tg_hlo_buffer){TG_HLO_NONE, at, layout, node->layout.memory_space,
                                                         p.logical_bytes, p.physical_bytes});
}

static tg_status measure_shape(making *m, int64_t id) {
    measured *const shape = &m->shapes[id];
    size_t          count = (size_t)tg_hlo_get_shape(m->scope->module, id).nnodes;
    tg_xla_shape   *nodes = malloc((count + 1) * sizeof *nodes); /* fits: nodes are a part of a text below 4 GiB */
    if (nodes == NULL) return tg_report_no_memory(m->err);
    *shape = (measured){(int64_t)m->arrays.count, 0, 0};
    tg_status status = tg_hlo_shape(nodes, count, &count, m->scope->module, id, m->err);
    for (size_t i = 0; status == TG_OK && i < count; i++)
        if (!measure_node(m, shape, &nodes[i], i)) status = tg_report_no_memory(m->err);
    free(nodes);
    return status;
}

/* ---- sums ------------------------------------------------------------------------------ */

static tg_hlo_space *space_of(making *m, int64_t number) {
    for (size_t i = 0; i < m->spaces.count; i++)
        if (m->spaces.rows[i].memory_space == number) return &m->spaces.rows[i];
    if (!space_table_push(&m->spaces, (tg_hlo_space){number, 0, 0, 0})) return NULL;
    return &m->spaces.rows[m->spaces.count - 1];
}

static tg_status add_buffer(making *m, tg_hlo_buffer buffer, int64_t instruction) {
    tg_hlo_space *const space = space_of(m, buffer.memory_space);
    buffer.instruction = instruction;
    if (space == NULL || !buffer_table_push(&m->found, buffer)) return tg_report_no_memory(m->err);
    space->nbuffers++;
    if (tg_add(&space->logical_bytes, space->logical_bytes, buffer.logical_bytes) &&
        tg_add(&space->physical_bytes, space->physical_bytes, buffer.physical_bytes))
        return TG_OK;
    return tg_fail(m->err, TG_ERR_OVERFLOW, "the arrays of memory space %d have more than 2^63 - 1 bytes together",
                   buffer.memory_space);
}

static tg_status add_instruction(making *m, int64_t id, bool in_entry) {
    const tg_hlo_instruction i = tg_hlo_get_instruction(m->scope->module, id);
    tg_status                status = TG_OK;
    if (i.shape == TG_HLO_NONE || !tg_report_counts_opcode(m->scope, i.opcode) || !has_storage(&i, in_entry))
        return TG_OK;
    if (m->shapes[i.shape].first == UNSEEN) status = measure_shape(m, i.shape);
    const measured shape = m->shapes[i.shape];
    for (int64_t k = 0; status == TG_OK && k < shape.n; k++)
        status = add_buffer(m, m->arrays.rows[shape.first + k], id);
    m->unmeasured += shape.unmeasured;
    return status;
}

static tg_status add_all(making *m) {
    tg_status status = TG_OK;
    for (int64_t c = m->scope->first; status == TG_OK && c < m->scope->end; c++) {
        if (!tg_report_counts_computation(m->scope, c)) continue;
        const tg_hlo_computation at = tg_hlo_get_computation(m->scope->module, c);
        for (int64_t i = 0; status == TG_OK && i < at.ninstructions; i++)
            status = add_instruction(m, at.first_instruction + i, at.entry);
    }
    return status;
}

/* ---- order ----------------------------------------------------------------------------- */

static int by_padding(const void *x, const void *y) {
    const tg_hlo_buffer *a = x, *b = y;
    const int64_t        pa = a->physical_bytes - a->logical_bytes, pb = b->physical_bytes - b->logical_bytes;
    if (pa != pb) return pa > pb ? -1 : 1;
    if (a->layout != b->layout) return a->layout < b->layout ? -1 : 1;
    if (a->instruction != b->instruction) return a->instruction < b->instruction ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static int by_number(const void *x, const void *y) {
    const tg_hlo_space *a = x, *b = y;
    return a->memory_space < b->memory_space ? -1 : a->memory_space > b->memory_space;
}

static tg_status list(making *m, tg_hlo_buffers *out) {
    const tg_status status = add_all(m);
    if (status != TG_OK) return status;
    if (m->found.count > 1) qsort(m->found.rows, m->found.count, sizeof *m->found.rows, by_padding);
    if (m->spaces.count > 1) qsort(m->spaces.rows, m->spaces.count, sizeof *m->spaces.rows, by_number);
    *out = (tg_hlo_buffers){(int64_t)m->found.count, (int64_t)m->spaces.count, m->found.rows, m->spaces.rows,
                            m->unmeasured};
    return TG_OK;
}

tg_status tg_hlo_buffers_list(tg_hlo_buffers *out, const tg_hlo_module *module, const tg_hlo_filter *filter,
                              tg_error *err) {
    tg_report_scope scope;
    const size_t    nshapes = (size_t)tg_hlo_get_header(module).nshapes;
    making          m = {.scope = &scope, .err = err};
    tg_status       status = tg_report_scope_make(&scope, module, filter, err);
    if (status != TG_OK) return status;
    m.shapes = malloc((nshapes + 1) * sizeof *m.shapes); /* fits: each shape has a place in a text below 4 GiB */
    for (size_t i = 0; m.shapes != NULL && i < nshapes; i++) m.shapes[i] = (measured){UNSEEN, 0, 0};
    status = m.shapes != NULL ? list(&m, out) : tg_report_no_memory(err);
    tg_report_scope_free(&scope);
    free(m.shapes);
    free(m.arrays.rows);
    tg_report_texts_free(&m.layouts);
    if (status == TG_OK) return TG_OK;
    free(m.found.rows);
    free(m.spaces.rows);
    return status;
}

void tg_hlo_buffers_free(tg_hlo_buffers *buffers) {
    free(buffers->buffer);
    free(buffers->space);
    memset(buffers, 0, sizeof *buffers);
}
