/* The distinct shapes of a module. A dump says the same shape some hundred times, so each text is judged once
 * (tg_xla_shape_parse) and known by a number from then on. Nodes are not kept, each takes two kilobytes.
 *
 * Dumps of 2019 to 2021 write the layout of a scalar as `{}`, which XLA's grammar has not. Such a text is
 * judged with two blanks in the place of the braces, so that positions stay what they are. */
#include "hlo/hlo_module.h"

#include "base/error.h"
#include "hlo/hlo_hash.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

/* The text of a row as it is to be read. */
static const char *readable(const tg_hlo_module *m, const tg_hlo_shape_row *row) {
    return row->masked == TG_HLO_NO_ROW ? m->text + row->pos : m->masked.rows + row->masked;
}

/* ---- the table ------------------------------------------------------------------ */

/* The slot of this text: the one that holds it, or the empty one where it belongs. pre: there are slots. */
static size_t find_slot(const tg_hlo_module *m, size_t pos, size_t len) {
    const size_t mask = m->nshape_slots - 1;
    size_t       slot = tg_hlo_hash(m->seed, m->text + pos, len) & mask;
    for (; m->shape_slots[slot] != 0; slot = (slot + 1) & mask) {
        const tg_hlo_shape_row *row = &m->shapes.rows[m->shape_slots[slot] - 1];
        if (row->len == len && memcmp(m->text + row->pos, m->text + pos, len) == 0) break;
    }
    return slot;
}

/* Room for one more with at most half of the slots taken. */
static bool reserve_slots(tg_hlo_module *m) {
    if (m->shapes.count < m->nshape_slots / 2) return true;
    const size_t wanted = m->nshape_slots > 0 ? 2 * m->nshape_slots : FIRST_SLOTS;
    uint32_t    *slots = calloc(wanted, sizeof *slots);
    if (slots == NULL) return false;
    free(m->shape_slots);
    m->shape_slots = slots;
    m->nshape_slots = wanted;
    for (size_t i = 0; i < m->shapes.count; i++)
        slots[find_slot(m, m->shapes.rows[i].pos, m->shapes.rows[i].len)] = (uint32_t)i + 1;
    return true;
}

uint32_t tg_hlo_find_shape(const tg_hlo_module *m, size_t pos, size_t len) {
    if (m->nshape_slots == 0) return TG_HLO_NO_ROW;
    const uint32_t taken = m->shape_slots[find_slot(m, pos, len)];
    return taken > 0 ? taken - 1 : TG_HLO_NO_ROW;
}

/* ---- judging -------------------------------------------------------------------- */

/* To the next `{}` behind a `]`, blanks between and inside allowed; false if there is none. */
static bool find_empty_layout(tg_hlo_scanner *s) {
    int before = 0;
    for (tg_hlo_skip_blanks(s); s->pos < s->len; tg_hlo_skip_blanks(s)) {
        const size_t inside = tg_hlo_span(s, s->pos + 1, TG_HLO_BLANK);
        if (before == ']' && s->text[s->pos] == '{' && inside < s->len && s->text[inside] == '}') return true;
        before = s->text[s->pos++];
    }
    return false;
}

/* Copies the text of the row to `masked` without its empty layouts, if it has any. */
static bool mask_empty_layouts(tg_hlo_module *m, tg_hlo_shape_row *row) {
    tg_hlo_scanner s = tg_hlo_scanner_make(m->text + row->pos, row->len, 0);
    if (!find_empty_layout(&s)) return true;
    if (!tg_hlo_bytes_reserve(&m->masked, row->len)) return false;
    char *copy = m->masked.rows + m->masked.count;
    memcpy(copy, s.text, row->len);
    do
        for (bool more = true; more; s.pos++) {
            more = copy[s.pos] != '}';
            copy[s.pos] = ' ';
        }
    while (find_empty_layout(&s));
    row->masked = (uint32_t)m->masked.count;
    m->masked.count += row->len;
    return true;
}

static tg_status judge(const tg_hlo_module *m, tg_hlo_shape_row *row, tg_error *err) {
    tg_xla_shape    node;
    size_t          count = 0;
    const char     *text = readable(m, row);
    const tg_status status = tg_xla_shape_parse(&node, 1, &count, text, row->len, err);
    if (status != TG_OK) {
        if (err != NULL) err->pos += row->pos;
        return status;
    }
    row->nnodes = (uint32_t)count;
    row->kind = (uint8_t)node.kind;
    row->dtype = (uint8_t)node.dtype;
    row->ndim = (uint8_t)node.ndim;
    row->memory_space = node.kind == TG_XLA_ARRAY ? (int8_t)node.layout.memory_space : 0;
    /* No other capital is followed by these: types are in small letters, and comments may only add to it. */
    row->may_pad = memchr(text, 'T', row->len) != NULL || memchr(text, 'L', row->len) != NULL;
    return TG_OK;
}

static tg_status fail_memory(const tg_hlo_module *m, tg_error *err) {
    return tg_fail(err, TG_ERR_NOMEM, "no memory for %d distinct shapes", (int64_t)m->shapes.count + 1);
}

static tg_status add_shape(tg_hlo_module *m, size_t pos, size_t len, tg_error *err) {
    tg_hlo_shape_row row = {.pos = (uint32_t)pos, .len = (uint32_t)len, .masked = TG_HLO_NO_ROW};
    const size_t     nmasked = m->masked.count;
    if (m->shapes.count == TG_HLO_SHAPE_MASK)
        return tg_fail(err, TG_ERR_LIMIT, "more than %d distinct shapes, a limit of this library",
                       (int64_t)TG_HLO_SHAPE_MASK);
    if (!tg_hlo_shapes_reserve(&m->shapes, 1) || !mask_empty_layouts(m, &row)) return fail_memory(m, err);
    const tg_status status = judge(m, &row, err);
    if (status == TG_OK) m->shapes.rows[m->shapes.count++] = row;
    else m->masked.count = nmasked;
    return status;
}

tg_status tg_hlo_intern_shape(uint32_t *number, tg_hlo_module *m, size_t pos, size_t len, tg_error *err) {
    if (!reserve_slots(m)) return fail_memory(m, err);
    const size_t slot = find_slot(m, pos, len);
    if (m->shape_slots[slot] == 0) {
        const tg_status status = add_shape(m, pos, len, err);
        if (status != TG_OK) return status;
        m->shape_slots[slot] = (uint32_t)m->shapes.count;
    }
    *number = m->shape_slots[slot] - 1;
    return TG_OK;
}

/* ---- asking --------------------------------------------------------------------- */

tg_hlo_shape_info tg_hlo_get_shape(const tg_hlo_module *m, int64_t id) {
    tg_hlo_shape_info info = {.text = {NULL, 0}};
    if (id < 0 || (uint64_t)id >= m->shapes.count) return info;
    const tg_hlo_shape_row *row = &m->shapes.rows[id];
    info.text = (tg_hlo_text){m->text + row->pos, row->len};
    info.kind = (tg_xla_kind)row->kind;
    info.dtype = (tg_dtype)row->dtype;
    info.ndim = row->ndim;
    info.memory_space = row->memory_space;
    info.nnodes = row->nnodes;
    info.may_pad = row->may_pad;
    return info;
}

tg_status tg_hlo_shape(tg_xla_shape *nodes, size_t cap, size_t *count, const tg_hlo_module *m, int64_t id,
                       tg_error *err) {
    if (id < 0 || (uint64_t)id >= m->shapes.count)
        return tg_fail(err, TG_ERR_ARGUMENT, "shape %d of a module that has %d", id, (int64_t)m->shapes.count);
    const tg_hlo_shape_row *row = &m->shapes.rows[id];
    return tg_xla_shape_parse(nodes, cap, count, readable(m, row), row->len, err);
}

/* ---- shapes in lists and signatures ------------------------------------------------ */

typedef struct visit {
    bool (*shape)(void *context, size_t pos, size_t len);
    void *context;
} visit;

/* Over `name:` or `%name:`, if that stands here. */
static bool skip_label(tg_hlo_scanner *s) {
    const size_t start = s->pos;
    (void)tg_hlo_take(s, '%');
    (void)tg_hlo_skip_word(s);
    tg_hlo_skip_blanks(s);
    const bool label = tg_hlo_take(s, ':');
    if (label) tg_hlo_skip_blanks(s);
    else s->pos = start;
    return label;
}

static bool visit_shape(tg_hlo_scanner *s, const visit *v, tg_hlo_brace brace) {
    tg_hlo_skip_blanks(s);
    (void)skip_label(s);
    const size_t pos = s->pos;
    return !tg_hlo_skip_shape(s, brace) || v->shape(v->context, pos, s->pos - pos);
}

/* Behind the opening bracket: the items, and the closing one. */
static bool visit_list(tg_hlo_scanner *s, const visit *v) {
    while (s->pos < s->len && !(tg_hlo_peek_class(s) & TG_HLO_CLOSE)) {
        if (!visit_shape(s, v, TG_HLO_BRACE_LAYOUT)) return false;
        while (s->pos < s->len && !(tg_hlo_peek_class(s) & (TG_HLO_CLOSE | TG_HLO_COMMA))) tg_hlo_skip_item(s);
        (void)tg_hlo_take(s, ',');
    }
    if (s->pos < s->len) s->pos++;
    return true;
}

static bool skip_arrow(tg_hlo_scanner *s) {
    tg_hlo_skip_blanks(s);
    return tg_hlo_take(s, '-') && tg_hlo_take(s, '>');
}

/* `(shapes) -> shape` or `(name: shape)`, and no tuple. */
static bool is_signature(const tg_hlo_scanner *s) {
    tg_hlo_scanner whole = *s, inside = *s;
    if (!tg_hlo_take(&inside, '(')) return false;
    tg_hlo_skip_balanced(&whole);
    tg_hlo_skip_blanks(&inside);
    return skip_arrow(&whole) || skip_label(&inside);
}

static bool visit_signature(tg_hlo_scanner *s, const visit *v) {
    s->pos++;
    return visit_list(s, v) && (!skip_arrow(s) || visit_shape(s, v, TG_HLO_BRACE_LAYOUT));
}

bool tg_hlo_each_shape(tg_hlo_scanner *s, bool (*shape)(void *context, size_t pos, size_t len), void *context) {
    const visit v = {shape, context};
    tg_hlo_skip_blanks(s);
    const bool list = tg_hlo_take(s, '{');
    if (list) tg_hlo_skip_blanks(s);
    if (is_signature(s)) return visit_signature(s, &v);
    return list ? visit_list(s, &v) : visit_shape(s, &v, TG_HLO_BRACE_LITERAL);
}
