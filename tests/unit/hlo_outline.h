/* Modules for tests: reading what must read, printing, and what a module says, in one line. */
#ifndef TESTS_HLO_OUTLINE_H
#define TESTS_HLO_OUTLINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>
#include <tegula/hlo.h>

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { MAX_TEXT = 8192 };

static inline tg_hlo_module *parse(const char *text) {
    tg_hlo_module  *m = NULL;
    tg_error        err;
    const tg_status status = tg_hlo_parse(&m, text, strlen(text), &err);
    if (status != TG_OK) fail_msg("'%s': %s", text, err.message);
    return m;
}

static inline char *print(const tg_hlo_module *m) {
    const size_t len = tg_hlo_print(NULL, 0, m);
    char        *text = malloc(len + 1);
    assert_non_null(text);
    assert_int_equal(tg_hlo_print(text, len + 1, m), len);
    assert_int_equal(strlen(text), len);
    return text;
}

/* ---- outlines: a module in one line -------------------------------------------------
 *
 *     computation   [!]name[signature]{instructions}[attributes]    ! entry, + nested, ~ loose
 *     instruction   [*]name=shape opcode(operands)[attributes]      * root, ^ in an operand
 *     operand       [shape ]name[path]@instruction                  @? if none has the name */

static inline void put_piece(tg_writer *w, tg_hlo_text text) { tg_put_bytes(w, text.chars, text.len); }

static inline void outline_attributes(tg_writer *w, const tg_hlo_module *m, int64_t first, int64_t n) {
    if (n > 0) tg_put_char(w, '[');
    for (int64_t i = first; i < first + n; i++) {
        const tg_hlo_attribute a = tg_hlo_get_attribute(m, i);
        if (i > first) tg_put_char(w, ';');
        put_piece(w, a.key);
        tg_put_char(w, '=');
        put_piece(w, a.value);
    }
    if (n > 0) tg_put_char(w, ']');
}

static inline void outline_operand(tg_writer *w, const tg_hlo_module *m, int64_t id) {
    const tg_hlo_operand o = tg_hlo_get_operand(m, id);
    if (o.shape != TG_HLO_NONE) {
        put_piece(w, tg_hlo_get_shape(m, o.shape).text);
        tg_put_char(w, ' ');
    }
    put_piece(w, o.name);
    put_piece(w, o.path);
    tg_put_char(w, '@');
    if (o.instruction == TG_HLO_NONE) tg_put_char(w, '?');
    else tg_put_int(w, o.instruction);
}

static inline void outline_operands(tg_writer *w, const tg_hlo_module *m, const tg_hlo_instruction *in, int64_t id) {
    if (in->noperands == 0) put_piece(w, tg_hlo_get_arguments(m, id));
    for (int64_t i = 0; i < in->noperands; i++) {
        if (i > 0) tg_put_char(w, ' ');
        outline_operand(w, m, in->first_operand + i);
    }
    if (in->elided == 0) return;
    tg_put_text(w, " +");
    tg_put_int(w, in->elided);
}

static inline void outline_instruction(tg_writer *w, const tg_hlo_module *m, int64_t id) {
    const tg_hlo_instruction in = tg_hlo_get_instruction(m, id);
    if (in.root) tg_put_char(w, '*');
    if (in.in_operand) tg_put_char(w, '^');
    put_piece(w, in.name);
    tg_put_char(w, '=');
    if (in.shape != TG_HLO_NONE) put_piece(w, tg_hlo_get_shape(m, in.shape).text);
    tg_put_char(w, ' ');
    put_piece(w, in.opcode);
    tg_put_char(w, '(');
    outline_operands(w, m, &in, id);
    tg_put_char(w, ')');
    outline_attributes(w, m, in.first_attribute, in.nattributes);
}

static inline void outline_computation(tg_writer *w, const tg_hlo_module *m, int64_t id) {
    const tg_hlo_computation c = tg_hlo_get_computation(m, id);
    if (c.entry) tg_put_char(w, '!');
    if (c.nested) tg_put_char(w, '+');
    if (c.loose) tg_put_char(w, '~');
    put_piece(w, c.name);
    put_piece(w, c.signature);
    tg_put_char(w, '{');
    for (int64_t i = 0; i < c.ninstructions; i++) {
        if (i > 0) tg_put_text(w, "; ");
        outline_instruction(w, m, c.first_instruction + i);
    }
    tg_put_char(w, '}');
    outline_attributes(w, m, c.first_attribute, c.nattributes);
}

static inline void outline(char *buf, const tg_hlo_module *m) {
    tg_writer           w = tg_writer_make(buf, MAX_TEXT);
    const tg_hlo_header h = tg_hlo_get_header(m);
    if (h.present) {
        put_piece(&w, h.name);
        outline_attributes(&w, m, 0, h.nattributes);
        tg_put_char(&w, ':');
    }
    for (int64_t i = 0; i < h.ncomputations; i++) outline_computation(&w, m, i);
    (void)tg_writer_end(&w);
}

/* What is printed reads as the same, and prints as the same again. */
static inline void check_print(const char *name, const char *text, const char *want) {
    char           before[MAX_TEXT], after[MAX_TEXT];
    tg_hlo_module *m = parse(text);
    char          *once = print(m);
    if (want != NULL && strcmp(once, want) != 0) fail_msg("%s:\n got %s\nwant %s", name, once, want);
    tg_hlo_module *again = parse(once);
    char          *twice = print(again);
    if (strcmp(once, twice) != 0) fail_msg("%s:\n once %s\ntwice %s", name, once, twice);
    outline(before, again);
    tg_hlo_module *third = parse(twice);
    outline(after, third);
    assert_string_equal(before, after);
    tg_hlo_destroy(&third);
    tg_hlo_destroy(&again);
    tg_hlo_destroy(&m);
    free(once);
    free(twice);
}

#endif
