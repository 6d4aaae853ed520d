/* Printing a module so that XLA's parser takes it for the same one. What is told by its place in the text is
 * written anew; shapes, literals and values are written as they stand. */
#include "hlo/hlo_module.h"

#include <string.h>

typedef struct printer {
    const tg_hlo_module *m;
    char                *buf;
    size_t               cap, len;
    int32_t              indent;
    bool                 quote; /* a single quote may be open on this line */
} printer;

/* Whole pieces at once: dumps have a gigabyte. */
static void put(printer *p, const char *text, size_t len) {
    if (p->len < p->cap && len > 0) memcpy(p->buf + p->len, text, len < p->cap - p->len ? len : p->cap - p->len);
    p->len += len;
}

static void put_word(printer *p, const char *word) { put(p, word, strlen(word)); }

/* A single quote in the text has no partner in it. */
static bool has_lone_quote(tg_hlo_text text) {
    tg_hlo_scanner s = tg_hlo_scanner_make(text.chars, text.len, 0);
    if (text.len == 0 || memchr(text.chars, '\'', text.len) == NULL) return false;
    while (s.pos < s.len) {
        const size_t   before = s.pos;
        const unsigned classes = tg_hlo_peek_class(&s);
        if (classes & TG_HLO_QUOTE) tg_hlo_skip_string(&s);
        else if (!(classes & TG_HLO_SLASH) || !tg_hlo_skip_comment(&s)) s.pos++;
        if ((classes & TG_HLO_QUOTE) && s.pos == before + 1) return true;
    }
    return false;
}

/* As it stands in the text. */
static void put_piece(printer *p, tg_hlo_text text) {
    put(p, text.chars, text.len);
    if (has_lone_quote(text)) p->quote = true;
}

/* A single quote without a partner on its line is a letter, so it must not find one in what follows. */
static void put_comma(printer *p) {
    put_word(p, p->quote ? ",\n" : ", ");
    p->quote = false;
}

static void put_indent(printer *p) {
    for (int32_t i = 0; i < p->indent; i++) put_word(p, "  ");
}

static size_t finish(printer *p) {
    if (p->cap > 0) p->buf[p->len < p->cap ? p->len : p->cap - 1] = '\0';
    return p->len;
}

/* ---- shapes -------------------------------------------------------------------------- */

/* As it stands, without the empty layouts, which XLA does not read. */
static void put_shape(printer *p, int64_t id) {
    const tg_hlo_shape_row *row = &p->m->shapes.rows[id];
    const char             *text = p->m->text + row->pos;
    if (row->masked == TG_HLO_NO_ROW) {
        put(p, text, row->len);
        return;
    }
    const char    *masked = p->m->masked.rows + row->masked;
    tg_hlo_scanner s = tg_hlo_scanner_make(text, row->len, 0);
    (void)tg_hlo_skip_shape(&s, TG_HLO_BRACE_BODY); /* up to the empty layout of an array */
    for (size_t i = 0; i < s.pos; i++) {
        if (masked[i] == text[i]) put(p, text + i, 1);
        else
            while (text[i] != '}') i++;
    }
}

/* ---- instructions --------------------------------------------------------------------- */

static void put_right_side(printer *p, const tg_hlo_instruction *in, int64_t id);

static bool is_in_place(const printer *p, const tg_hlo_operand *operand) {
    return operand->instruction != TG_HLO_NONE && operand->name.len == 0 &&
           (p->m->store.instructions.rows[operand->instruction].shape & TG_HLO_IN_OPERAND);
}

static void put_operand(printer *p, const tg_hlo_operand *operand) {
    if (is_in_place(p, operand)) {
        const tg_hlo_instruction in = tg_hlo_get_instruction(p->m, operand->instruction);
        put_right_side(p, &in, operand->instruction);
        return;
    }
    const bool understood = operand->path.chars + operand->path.len == operand->text.chars + operand->text.len;
    if (operand->name.len == 0 || !understood) {
        put_piece(p, operand->text);
        return;
    }
    if (operand->shape != TG_HLO_NONE) {
        put_shape(p, operand->shape);
        put_word(p, " ");
    }
    if (operand->instruction != TG_HLO_NONE || operand->name.chars[-1] == '%') put_word(p, "%");
    put_piece(p, operand->name);
    put_piece(p, operand->path);
}

static void put_operands(printer *p, const tg_hlo_instruction *in) {
    const int64_t n = in->noperands + (in->elided > 0 ? 1 : 0);
    for (int64_t i = 0; i < n; i++) {
        const tg_hlo_operand operand = tg_hlo_get_operand(p->m, in->first_operand + i);
        if (i > 0) put_comma(p);
        put_operand(p, &operand);
    }
}

/* shape opcode(arguments) */
static void put_right_side(printer *p, const tg_hlo_instruction *in, int64_t id) {
    if (in->shape != TG_HLO_NONE) {
        put_shape(p, in->shape);
        put_word(p, " ");
    }
    put_piece(p, in->opcode);
    put_word(p, "(");
    if (tg_hlo_text_is(in->opcode, "constant") || tg_hlo_text_is(in->opcode, "parameter"))
        put_piece(p, tg_hlo_get_arguments(p->m, id));
    else put_operands(p, in);
    put_word(p, ")");
}

/* ---- attributes ----------------------------------------------------------------------- */

static void put_body(printer *p, const tg_hlo_computation_row *row);

/* At a nested body: on lines of its own, and behind it. */
static void put_nested_body(printer *p, tg_hlo_scanner *s) {
    put_word(p, "\n");
    put_indent(p);
    put_body(p, &p->m->computations.rows[tg_hlo_find_body(p->m, s->pos)]);
    tg_hlo_skip_balanced(s);
}

/* At `{`: a list of nested bodies. */
static void put_body_list(printer *p, tg_hlo_scanner *s) {
    put_word(p, "{");
    s->pos++;
    tg_hlo_skip_blanks(s);
    for (bool more = true; more && tg_hlo_peek(s) == '{'; tg_hlo_skip_blanks(s)) {
        put_nested_body(p, s);
        tg_hlo_skip_blanks(s);
        more = tg_hlo_take(s, ',');
        if (more) put_word(p, ",");
    }
    put_word(p, "\n");
    put_indent(p);
    put_word(p, "}");
    s->pos++;
}

/* A value that is a body, or a list of them; false if it is none, or more than that. */
static bool put_bodies(printer *p, tg_hlo_text value) {
    const size_t   pos = (size_t)(value.chars - p->m->text), end = pos + value.len;
    tg_hlo_scanner s = tg_hlo_scanner_make(p->m->text, end, pos);
    if (tg_hlo_peek(&s) != '{') return false;
    tg_hlo_scanner inside = s, whole = s;
    tg_hlo_skip_balanced(&whole);
    if (whole.pos != end) return false;
    inside.pos++;
    tg_hlo_skip_blanks(&inside);
    if (tg_hlo_find_body(p->m, pos) != TG_HLO_NONE) put_nested_body(p, &s);
    else if (tg_hlo_find_body(p->m, inside.pos) != TG_HLO_NONE) put_body_list(p, &s);
    else return false;
    return true;
}

static void put_attributes(printer *p, int64_t first, int64_t n) {
    for (int64_t i = first; i < first + n; i++) {
        const tg_hlo_attribute a = tg_hlo_get_attribute(p->m, i);
        put_comma(p);
        put_piece(p, a.key);
        put_word(p, "=");
        if (!put_bodies(p, a.value)) put_piece(p, a.value);
    }
}

static void put_instruction(printer *p, const tg_hlo_instruction *in, int64_t id) {
    if (in->name.len > 0) {
        put_word(p, "%");
        put_piece(p, in->name);
        put_word(p, " = ");
    }
    put_right_side(p, in, id);
    put_attributes(p, in->first_attribute, in->nattributes);
}

/* ---- computations ---------------------------------------------------------------------- */

static void put_line(printer *p, int64_t id, bool mark_root) {
    const tg_hlo_instruction in = tg_hlo_get_instruction(p->m, id);
    if (in.in_operand) return;
    put_indent(p);
    if (in.root && mark_root) put_word(p, "ROOT ");
    put_instruction(p, &in, id);
    put_word(p, "\n");
    p->quote = false;
}

/* { instructions } */
static void put_body(printer *p, const tg_hlo_computation_row *row) {
    put_word(p, "{\n");
    p->quote = false;
    p->indent++;
    for (uint32_t i = 0; i < row->ninstructions; i++) put_line(p, (int64_t)row->first_instruction + i, true);
    p->indent--;
    put_indent(p);
    put_word(p, "}");
}

/* XLA reads one instruction alone, if it is not marked. */
static void put_loose(printer *p, const tg_hlo_computation *c) {
    int64_t lines = 0;
    for (int64_t i = 0; i < c->ninstructions; i++)
        lines += !tg_hlo_get_instruction(p->m, c->first_instruction + i).in_operand;
    for (int64_t i = 0; i < c->ninstructions; i++) put_line(p, c->first_instruction + i, lines > 1);
    put_word(p, "\n");
}

static void put_computation(printer *p, int64_t id) {
    const tg_hlo_computation      c = tg_hlo_get_computation(p->m, id);
    const tg_hlo_computation_row *row = &p->m->computations.rows[id];
    if (c.nested) return;
    if (c.loose) {
        put_loose(p, &c);
        return;
    }
    if (row->marked_entry || (c.entry && p->m->has_header)) put_word(p, "ENTRY ");
    if (c.name.len > 0) {
        put_word(p, "%");
        put_piece(p, c.name);
        put_word(p, " ");
    }
    if (c.signature.len > 0) {
        put_piece(p, c.signature);
        put_word(p, " ");
    }
    put_body(p, row);
    put_attributes(p, c.first_attribute, c.nattributes);
    put_word(p, "\n\n");
}

static void put_header(printer *p) {
    const tg_hlo_header h = tg_hlo_get_header(p->m);
    if (h.present) {
        put_word(p, "HloModule ");
        put_piece(p, h.name);
        if (h.name.len == 0 && h.nattributes == 0) put_word(p, ":"); /* else the next word were the name */
        put_attributes(p, 0, h.nattributes);
        put_word(p, "\n\n");
    }
    if (h.stack_frames.len > 0) {
        put_piece(p, h.stack_frames);
        put_word(p, "\n\n");
    }
}

size_t tg_hlo_print(char *buf, size_t cap, const tg_hlo_module *m) {
    printer p = {.m = m, .buf = buf, .cap = cap};
    put_header(&p);
    for (size_t i = 0; i < m->computations.count; i++) put_computation(&p, (int64_t)i);
    return finish(&p);
}

size_t tg_hlo_print_instruction(char *buf, size_t cap, const tg_hlo_module *m, int64_t instruction) {
    printer                  p = {.m = m, .buf = buf, .cap = cap};
    const tg_hlo_instruction in = tg_hlo_get_instruction(m, instruction);
    if (in.opcode.len > 0) put_instruction(&p, &in, instruction);
    return finish(&p);
}
