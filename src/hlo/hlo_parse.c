/* Reading a module: header, stack frames, computations, loose instructions, in any order and number. */
#include "hlo/hlo_parser.h"

#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- failures --------------------------------------------------------------------- */

bool tg_hlo_fail_placed(tg_hlo_parser *p, tg_status status) {
    char    why[sizeof p->err.message];
    int64_t line, column;
    memcpy(why, p->err.message, sizeof why);
    const size_t pos = p->err.pos;
    tg_hlo_place(&line, &column, p->m->text, pos);
    (void)tg_fail_at(&p->err, pos, "line %d, column %d: %s", line, column, why);
    p->err.status = status;
    p->status = status;
    return false;
}

bool tg_hlo_fail_at(tg_hlo_parser *p, tg_status status, size_t pos, const char *rule) {
    (void)tg_fail_at(&p->err, pos, "%s", rule);
    return tg_hlo_fail_placed(p, status);
}

/* What a message shows of what it saw: a word, or one character. */
static size_t seen_length(const tg_hlo_scanner *s) {
    tg_hlo_scanner ahead = *s;
    if (tg_hlo_skip_word(&ahead) == 0)
        do ahead.pos++;
        while (ahead.pos < ahead.len && ((unsigned char)ahead.text[ahead.pos] & 0xc0) == 0x80);
    return ahead.pos - s->pos;
}

bool tg_hlo_fail_seen(tg_hlo_parser *p, const char *rule) {
    const tg_hlo_scanner *s = &p->s;
    if (s->fault != NULL) return tg_hlo_fail_at(p, TG_ERR_PARSE, s->fault_pos, s->fault);
    if (s->pos == s->len) (void)tg_fail_at(&p->err, s->pos, "%s, saw the end", rule);
    else (void)tg_fail_at(&p->err, s->pos, "%s, saw '%t'", rule, s->text + s->pos, seen_length(s));
    return tg_hlo_fail_placed(p, TG_ERR_PARSE);
}

bool tg_hlo_fail_memory(tg_hlo_parser *p) {
    p->status = tg_fail(&p->err, TG_ERR_NOMEM, "no memory for what is kept of HLO text up to byte %d of %d",
                        (int64_t)p->s.pos, (int64_t)p->s.len);
    return false;
}

bool tg_hlo_enter(tg_hlo_parser *p, size_t pos) {
    if (p->depth < TG_HLO_MAX_DEPTH) {
        p->depth++;
        return true;
    }
    (void)tg_fail_at(&p->err, pos, "more than %d bodies and operands inside each other, a limit of this library",
                     (int64_t)TG_HLO_MAX_DEPTH);
    return tg_hlo_fail_placed(p, TG_ERR_LIMIT);
}

/* ---- the header ------------------------------------------------------------------- */

/* Behind the last byte of a name: names of modules are made of anything, and end at a blank or comma. */
static bool at_module_name_end(const tg_hlo_scanner *s) {
    tg_hlo_scanner ahead = *s;
    tg_hlo_skip_blanks(&ahead);
    return s->pos == s->len || ahead.pos > s->pos || tg_hlo_peek(s) == ',';
}

static void read_module_name(tg_hlo_parser *p) {
    tg_hlo_scanner *s = &p->s;
    if (tg_hlo_take(s, '%') && !(tg_hlo_peek_class(s) & TG_HLO_FIRST)) s->pos--;
    p->m->name = (uint32_t)s->pos;
    while (!at_module_name_end(s)) s->pos++;
    /* `HloModule m:` was a form of it */
    size_t end = s->pos;
    while (end > p->m->name && s->text[end - 1] == ':') end--;
    p->m->name_len = (uint32_t)end - p->m->name;
}

static bool read_header(tg_hlo_parser *p) {
    tg_hlo_scanner ahead = p->s;
    const size_t   start = ahead.pos, len = tg_hlo_skip_word(&ahead);
    if (!tg_hlo_word_is(&ahead, start, len, "HloModule") || tg_hlo_peek_behind_blanks(&ahead) == '=') return true;
    p->s = ahead;
    p->m->has_header = true;
    tg_hlo_skip_blanks(&p->s);
    read_module_name(p);
    if (!tg_hlo_read_attributes(p, &p->m->notes, false)) return false;
    p->m->nheader_notes = (uint32_t)p->m->notes.count;
    return true;
}

/* ---- stack frames ------------------------------------------------------------------- */

/* Takes the number of a line. */
static bool take_number(tg_hlo_scanner *s) {
    tg_cursor c = {s->text, s->len, s->pos};
    int64_t   number;
    bool      found;
    if (!tg_take_int(&c, &number, &found) || !found) return false;
    s->pos = c.pos;
    return true;
}

/* A keyword, then lines of a number and a string or braces; behind the last of them. */
static size_t skip_stack_block(tg_hlo_scanner *s) {
    (void)tg_hlo_skip_word(s);
    size_t end = s->pos;
    for (tg_hlo_skip_blanks(s); take_number(s); tg_hlo_skip_blanks(s)) {
        end = s->pos;
        tg_hlo_skip_blanks(s);
        if (tg_hlo_peek(s) != '"' && tg_hlo_peek(s) != '{') continue;
        tg_hlo_skip_item(s);
        end = s->pos;
    }
    return end;
}

/* Blocks that follow each other; those of a second place are not kept. */
void tg_hlo_read_stack_frames(tg_hlo_parser *p) {
    const size_t start = p->s.pos;
    size_t       end = start;
    do end = skip_stack_block(&p->s);
    while (tg_hlo_classify(&p->s) == TG_HLO_IS_STACK_FRAMES);
    if (p->m->stack_frames_len > 0) return;
    p->m->stack_frames = (uint32_t)start;
    p->m->stack_frames_len = (uint32_t)(end - start);
}

/* ---- the whole ---------------------------------------------------------------------- */

static bool read_statement(tg_hlo_parser *p) {
    switch (tg_hlo_classify(&p->s)) {
    case TG_HLO_IS_COMPUTATION: return tg_hlo_read_computation(p);
    case TG_HLO_IS_INSTRUCTION: return tg_hlo_read_loose(p);
    case TG_HLO_IS_STACK_FRAMES: tg_hlo_read_stack_frames(p); return true;
    case TG_HLO_IS_NOTHING: break;
    }
    return tg_hlo_fail_seen(p, "expects a computation or an instruction");
}

/* The one marked ENTRY, else the last that is no nested body. */
static void find_entry(tg_hlo_module *m) {
    m->entry = TG_HLO_NO_ROW;
    for (size_t i = m->computations.count; i > 0; i--) {
        const tg_hlo_computation_row *c = &m->computations.rows[i - 1];
        if (c->marked_entry) {
            m->entry = (uint32_t)(i - 1);
            return;
        }
        if (!c->nested && m->entry == TG_HLO_NO_ROW) m->entry = (uint32_t)(i - 1);
    }
}

static bool read_module(tg_hlo_parser *p) {
    tg_hlo_skip_blanks(&p->s);
    if (!read_header(p)) return false;
    for (tg_hlo_skip_blanks(&p->s); p->s.pos < p->s.len; tg_hlo_skip_blanks(&p->s))
        if (!read_statement(p)) return false;
    if (p->s.fault != NULL || (!p->m->has_header && p->m->computations.count == 0))
        return tg_hlo_fail_seen(p, "expects HloModule, a computation or an instruction");
    find_entry(p->m);
    return (tg_hlo_append_closed(p) && tg_hlo_index_computations(p->m)) || tg_hlo_fail_memory(p);
}

static void store_destroy(tg_hlo_store *store) {
    free(store->instructions.rows);
    free(store->operands.rows);
    free(store->attributes.rows);
}

static void parser_destroy(tg_hlo_parser *p) {
    store_destroy(&p->open);
    store_destroy(&p->closed);
    free(p->pending.rows);
    for (int32_t i = 0; i <= TG_HLO_MAX_DEPTH; i++) tg_hlo_names_destroy(&p->names[i]);
}

static void trim(tg_hlo_module *m) {
    tg_hlo_instructions_trim(&m->store.instructions);
    tg_hlo_operands_trim(&m->store.operands);
    tg_hlo_attributes_trim(&m->store.attributes);
    tg_hlo_attributes_trim(&m->notes);
    tg_hlo_computations_trim(&m->computations);
    tg_hlo_shapes_trim(&m->shapes);
    tg_hlo_bytes_trim(&m->masked);
}

static tg_hlo_module *new_module(const char *text, size_t len) {
    tg_hlo_module *m = malloc(sizeof *m);
    if (m == NULL) return NULL;
    *m = (tg_hlo_module){.text = text, .len = len, .entry = TG_HLO_NO_ROW};
    m->seed = (uint64_t)(uintptr_t)m ^ (uint64_t)(uintptr_t)text << 16;
    return m;
}

tg_status tg_hlo_parse(tg_hlo_module **out, const char *text, size_t len, tg_error *err) {
    if (len >= UINT32_MAX)
        return tg_fail(err, TG_ERR_LIMIT, "HLO text of %d bytes: texts below %d are what this library reads",
                       (int64_t)len, (int64_t)UINT32_MAX);
    if (len == 0) text = ""; /* the map of an empty file is NULL */
    tg_hlo_parser p = {.s = tg_hlo_scanner_make(text, len, 0), .m = new_module(text, len)};
    if (p.m == NULL) return tg_fail(err, TG_ERR_NOMEM, "no memory for an HLO module");
    const bool good = read_module(&p);
    parser_destroy(&p);
    if (good) {
        trim(p.m);
        *out = p.m;
        return TG_OK;
    }
    tg_hlo_destroy(&p.m);
    if (err != NULL) *err = p.err;
    return p.status;
}

void tg_hlo_destroy(tg_hlo_module **module) {
    tg_hlo_module *m = *module;
    if (m == NULL) return;
    store_destroy(&m->store);
    free(m->notes.rows);
    free(m->computations.rows);
    free(m->shapes.rows);
    free(m->shape_slots);
    free(m->masked.rows);
    free(m->name_slots);
    free(m);
    *module = NULL;
}
