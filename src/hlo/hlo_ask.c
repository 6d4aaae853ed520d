/* Answers about a module. What its rows do not say is read from the text again; each answer costs as much as
 * the piece of text that it is about. */
#include "hlo/hlo_module.h"

#include "base/text.h"
#include "hlo/hlo_hash.h"
#include "hlo/hlo_parser.h"

#include <stdlib.h>
#include <string.h>

static bool in_range(int64_t id, size_t count) { return id >= 0 && (uint64_t)id < count; }

static tg_hlo_text piece(const tg_hlo_module *m, size_t pos, size_t len) {
    return (tg_hlo_text){m->text + pos, len};
}

static int64_t or_none(uint32_t row) { return row == TG_HLO_NO_ROW ? TG_HLO_NONE : (int64_t)row; }

bool tg_hlo_text_is(tg_hlo_text text, const char *word) {
    return text.len > 0 ? tg_text_equal(text.chars, text.len, word) : word[0] == '\0';
}

/* ---- the module and its computations -------------------------------------------------- */

static size_t kept_bytes(const tg_hlo_module *m) {
    return sizeof *m + m->store.instructions.cap * sizeof *m->store.instructions.rows +
           m->store.operands.cap * sizeof *m->store.operands.rows +
           m->store.attributes.cap * sizeof *m->store.attributes.rows + m->notes.cap * sizeof *m->notes.rows +
           m->computations.cap * sizeof *m->computations.rows + m->shapes.cap * sizeof *m->shapes.rows +
           (m->nshape_slots + m->nname_slots) * sizeof(uint32_t) + m->masked.cap;
}

tg_hlo_header tg_hlo_get_header(const tg_hlo_module *m) {
    return (tg_hlo_header){
        .present = m->has_header,
        .name = piece(m, m->name, m->name_len),
        .stack_frames = piece(m, m->stack_frames, m->stack_frames_len),
        .nattributes = m->nheader_notes,
        .ncomputations = (int64_t)m->computations.count,
        .ninstructions = (int64_t)m->store.instructions.count,
        .nshapes = (int64_t)m->shapes.count,
        .entry = or_none(m->entry),
        .kept_bytes = kept_bytes(m),
    };
}

tg_hlo_computation tg_hlo_get_computation(const tg_hlo_module *m, int64_t id) {
    if (!in_range(id, m->computations.count)) return (tg_hlo_computation){.root = TG_HLO_NONE};
    const tg_hlo_computation_row *row = &m->computations.rows[id];
    return (tg_hlo_computation){
        .name = piece(m, row->name, row->name_len),
        .signature = piece(m, row->signature, row->signature_len),
        .entry = id == or_none(m->entry),
        .nested = row->nested,
        .loose = row->loose,
        .first_instruction = row->first_instruction,
        .ninstructions = row->ninstructions,
        .root = or_none(row->root),
        .first_attribute = row->first_note,
        .nattributes = row->nnotes,
        .pos = row->pos,
    };
}

/* The slot that has the name, or the empty one where it belongs. pre: there are slots. */
static size_t find_name_slot(const tg_hlo_module *m, const char *name, size_t len) {
    const size_t mask = m->nname_slots - 1;
    size_t       slot = tg_hlo_hash(m->seed, name, len) & mask;
    for (; m->name_slots[slot] != 0; slot = (slot + 1) & mask) {
        const tg_hlo_computation_row *row = &m->computations.rows[m->name_slots[slot] - 1];
        if (row->name_len == len && memcmp(m->text + row->name, name, len) == 0) break;
    }
    return slot;
}

bool tg_hlo_index_computations(tg_hlo_module *m) {
    size_t wanted = 1;
    while (wanted < 2 * m->computations.count) wanted *= 2;
    m->name_slots = calloc(wanted, sizeof *m->name_slots);
    if (m->name_slots == NULL) return false;
    m->nname_slots = wanted;
    for (size_t i = 0; i < m->computations.count; i++) {
        const tg_hlo_computation_row *row = &m->computations.rows[i];
        if (row->name_len > 0) m->name_slots[find_name_slot(m, m->text + row->name, row->name_len)] = (uint32_t)i + 1;
    }
    return true;
}

int64_t tg_hlo_find_computation(const tg_hlo_module *m, tg_hlo_text name) {
    if (name.len == 0) return TG_HLO_NONE;
    return (int64_t)m->name_slots[find_name_slot(m, name.chars, name.len)] - 1;
}

/* ---- instructions ---------------------------------------------------------------------- */

/* The word at pos. */
static tg_hlo_text word_at(const tg_hlo_module *m, size_t pos) {
    tg_hlo_scanner s = tg_hlo_scanner_make(m->text, m->len, pos);
    const size_t   len = tg_hlo_skip_word(&s);
    return piece(m, pos, len);
}

/* How many operands `...(+N)` at the end of an operand list stands for; 0 if it is none. */
static int64_t count_elided(const tg_hlo_module *m, size_t pos) {
    static const char dots[] = "...";
    if (m->len - pos < sizeof dots - 1 || memcmp(m->text + pos, dots, sizeof dots - 1) != 0) return 0;
    tg_cursor c = {m->text, m->len, pos + sizeof dots - 1};
    int64_t   n = 0;
    bool      found = false;
    if (!tg_take_char(&c, '(') || !tg_take_char(&c, '+') || !tg_take_int(&c, &n, &found) || !found || n < 1) return 1;
    return n;
}

tg_hlo_instruction tg_hlo_get_instruction(const tg_hlo_module *m, int64_t id) {
    const tg_hlo_store *store = &m->store;
    if (!in_range(id, store->instructions.count)) return (tg_hlo_instruction){.shape = TG_HLO_NONE};
    const tg_hlo_instruction_row *row = &store->instructions.rows[id];
    const bool                    last = (size_t)id + 1 == store->instructions.count;
    const int64_t  operands_end = last ? (int64_t)store->operands.count : row[1].first_operand;
    const int64_t  attributes_end = last ? (int64_t)store->attributes.count : row[1].first_attribute;
    const uint32_t shape = row->shape & TG_HLO_SHAPE_MASK;
    tg_hlo_instruction out = {
        .opcode = word_at(m, row->opcode),
        .root = (row->shape & TG_HLO_ROOT) != 0,
        .in_operand = (row->shape & TG_HLO_IN_OPERAND) != 0,
        .shape = shape == TG_HLO_SHAPE_MASK ? TG_HLO_NONE : (int64_t)shape,
        .first_operand = row->first_operand,
        .noperands = operands_end - row->first_operand,
        .first_attribute = (int64_t)m->notes.count + row->first_attribute,
        .nattributes = attributes_end - row->first_attribute,
        .pos = row->pos,
    };
    if (row->shape & TG_HLO_NAMED) out.name = word_at(m, row->pos);
    if (out.noperands > 0) out.elided = count_elided(m, store->operands.rows[operands_end - 1].pos);
    if (out.elided > 0) out.noperands--;
    return out;
}

/* From here on: behind the last thing that is neither blank nor comment and comes before a byte of these classes
 * that no bracket encloses, or before the end. */
static size_t find_last(tg_hlo_scanner *s, unsigned stop) {
    size_t end = s->pos;
    while (s->pos < s->len && !(tg_hlo_peek_class(s) & stop)) {
        const size_t before = s->pos;
        tg_hlo_skip_blanks(s);
        if (s->pos > before) continue;
        tg_hlo_skip_item(s);
        end = s->pos;
    }
    return end;
}

tg_hlo_text tg_hlo_get_arguments(const tg_hlo_module *m, int64_t id) {
    if (!in_range(id, m->store.instructions.count)) return (tg_hlo_text){NULL, 0};
    tg_hlo_scanner s = tg_hlo_scanner_make(m->text, m->len, m->store.instructions.rows[id].opcode);
    (void)tg_hlo_skip_word(&s);
    tg_hlo_skip_blanks(&s);
    s.pos++;
    tg_hlo_skip_blanks(&s);
    const size_t start = s.pos;
    return piece(m, start, find_last(&s, TG_HLO_CLOSE) - start);
}

/* ---- operands ---------------------------------------------------------------------------- */

/* At an operand: over its shape and the blanks behind it; the number of the shape. */
static uint32_t skip_own_shape(tg_hlo_scanner *s, const tg_hlo_module *m) {
    const size_t start = s->pos;
    if (!tg_hlo_skip_shape(s, TG_HLO_BRACE_LAYOUT)) return TG_HLO_NO_ROW;
    const uint32_t number = m != NULL ? tg_hlo_find_shape(m, start, s->pos - start) : TG_HLO_NO_ROW;
    tg_hlo_skip_blanks(s);
    return number;
}

/* At the place of a name: over it; its length, 0 if there is none, or an instruction in its place. */
static size_t skip_name(tg_hlo_scanner *s, size_t *pos) {
    tg_hlo_scanner ahead = *s;
    const bool     percent = tg_hlo_take(&ahead, '%');
    *pos = ahead.pos;
    if (!percent && !(tg_hlo_peek_class(&ahead) & TG_HLO_FIRST)) return 0;
    const size_t len = tg_hlo_skip_word(&ahead);
    if (!percent && tg_hlo_peek_behind_blanks(&ahead) == '(') return 0;
    *s = ahead;
    return len;
}

size_t tg_hlo_operand_name(size_t *pos, const tg_hlo_scanner *text, size_t operand) {
    tg_hlo_scanner s = tg_hlo_scanner_make(text->text, text->len, operand);
    (void)skip_own_shape(&s, NULL);
    return skip_name(&s, pos);
}

/* Over `#1#0`. */
static void skip_path(tg_hlo_scanner *s) {
    while (tg_hlo_peek(s) == '#') {
        s->pos++;
        while (tg_hlo_peek(s) >= '0' && tg_hlo_peek(s) <= '9') s->pos++;
    }
}

tg_hlo_operand tg_hlo_get_operand(const tg_hlo_module *m, int64_t id) {
    tg_hlo_operand out = {.shape = TG_HLO_NONE, .instruction = TG_HLO_NONE};
    if (!in_range(id, m->store.operands.count)) return out;
    const tg_hlo_operand_row *row = &m->store.operands.rows[id];
    tg_hlo_scanner            s = tg_hlo_scanner_make(m->text, m->len, row->pos);
    size_t                    pos = 0;
    out.shape = or_none(skip_own_shape(&s, m));
    const size_t len = skip_name(&s, &pos);
    if (len > 0) out.name = piece(m, pos, len);
    pos = s.pos;
    if (len > 0) skip_path(&s);
    out.path = piece(m, pos, s.pos - pos);
    out.text = piece(m, row->pos, find_last(&s, TG_HLO_COMMA | TG_HLO_CLOSE) - row->pos);
    out.instruction = or_none(row->instruction);
    out.pos = row->pos;
    return out;
}

/* ---- attributes ---------------------------------------------------------------------------- */

static tg_hlo_attribute attribute_of(const tg_hlo_module *m, const tg_hlo_attribute_row *row) {
    tg_hlo_attribute out = {.key = word_at(m, row->pos), .pos = row->pos};
    tg_hlo_scanner   s = tg_hlo_scanner_make(m->text, row->end, row->pos + out.key.len);
    tg_hlo_skip_blanks(&s);
    s.pos++;
    tg_hlo_skip_blanks(&s);
    if (s.pos > row->end) s.pos = row->end;
    out.value = piece(m, s.pos, row->end - s.pos);
    return out;
}

tg_hlo_attribute tg_hlo_get_attribute(const tg_hlo_module *m, int64_t id) {
    if (in_range(id, m->notes.count)) return attribute_of(m, &m->notes.rows[id]);
    id -= (int64_t)m->notes.count;
    if (!in_range(id, m->store.attributes.count)) return (tg_hlo_attribute){.pos = 0};
    return attribute_of(m, &m->store.attributes.rows[id]);
}

bool tg_hlo_find_attribute(tg_hlo_text *value, const tg_hlo_module *m, int64_t instruction, const char *key) {
    const tg_hlo_instruction in = tg_hlo_get_instruction(m, instruction);
    for (int64_t i = 0; i < in.nattributes; i++) {
        const tg_hlo_attribute a = tg_hlo_get_attribute(m, in.first_attribute + i);
        if (!tg_hlo_text_is(a.key, key)) continue;
        *value = a.value;
        return true;
    }
    return false;
}
