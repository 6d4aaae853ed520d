/* Computations: what tells one from an instruction, its head, its body, and where its rows come to lie. */
#include "hlo/hlo_parser.h"

#include <string.h>

/* ---- what a statement is ----------------------------------------------------------- */

/* At the parenthesis behind a word: `name (p: f32[2]) -> f32[2] {` or `opcode(x), key=value`? */
static bool is_signature(const tg_hlo_scanner *s) {
    tg_hlo_scanner ahead = *s;
    tg_hlo_skip_balanced(&ahead);
    tg_hlo_skip_blanks(&ahead);
    if (tg_hlo_peek(&ahead) == '{') return true;
    return tg_hlo_take(&ahead, '-') && tg_hlo_take(&ahead, '>');
}

static bool is_stack_block(const tg_hlo_scanner *s, size_t start) {
    static const char *const blocks[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
    for (int i = 0; i < 4; i++)
        if (tg_hlo_word_is(s, start, s->pos - start, blocks[i])) return true;
    return false;
}

/* The word [start, pos) opens a statement. Keywords are words like others where one is defined or a body opened. */
static tg_hlo_statement classify_word(const tg_hlo_scanner *s, size_t start, bool percent) {
    const size_t   len = s->pos - start;
    tg_hlo_scanner next = *s;
    (void)tg_hlo_take(&next, ':'); /* XLA takes it for a part of the word */
    tg_hlo_skip_blanks(&next);
    const int  c = tg_hlo_peek(&next);
    const bool line_end = memchr(s->text + s->pos, '\n', next.pos - s->pos) != NULL;
    if (c == '=') return TG_HLO_IS_INSTRUCTION;
    if (c == '{' && !percent && line_end && is_stack_block(s, start)) return TG_HLO_IS_STACK_FRAMES;
    if (c == '{' || (percent && c == '(')) return TG_HLO_IS_COMPUTATION;
    if (percent) return TG_HLO_IS_NOTHING;
    if (tg_hlo_word_is(s, start, len, "ENTRY")) return TG_HLO_IS_COMPUTATION;
    if (tg_hlo_word_is(s, start, len, "ROOT") || c == '[') return TG_HLO_IS_INSTRUCTION;
    if (c == '(') return is_signature(&next) ? TG_HLO_IS_COMPUTATION : TG_HLO_IS_INSTRUCTION;
    return is_stack_block(s, start) ? TG_HLO_IS_STACK_FRAMES : TG_HLO_IS_NOTHING;
}

tg_hlo_statement tg_hlo_classify(const tg_hlo_scanner *s) {
    if (tg_hlo_peek(s) == '{') return TG_HLO_IS_COMPUTATION;
    if (tg_hlo_peek(s) == '(') return TG_HLO_IS_INSTRUCTION;
    tg_hlo_scanner ahead = *s;
    const bool     percent = tg_hlo_take(&ahead, '%');
    const size_t   start = ahead.pos;
    return tg_hlo_skip_word(&ahead) > 0 ? classify_word(&ahead, start, percent) : TG_HLO_IS_NOTHING;
}

/* ---- rows of one computation ---------------------------------------------------------- */

/* Where the tables stood when a computation began. */
typedef struct frame {
    size_t computation, instruction, operand, attribute;
} frame;

static bool begin(tg_hlo_parser *p, frame *f, tg_hlo_computation_row row) {
    const tg_hlo_store *store = tg_hlo_parser_store(p);
    *f = (frame){p->m->computations.count, store->instructions.count, store->operands.count, store->attributes.count};
    row.first_instruction = (uint32_t)f->instruction;
    row.root = TG_HLO_NO_ROW;
    row.first_note = (uint32_t)p->m->notes.count;
    return (tg_hlo_names_start(&p->names[p->nbodies]) && tg_hlo_computations_push(&p->m->computations, row)) ||
           tg_hlo_fail_memory(p);
}

/* Names that were used before they were defined. */
static void resolve_late(tg_hlo_parser *p, const frame *f) {
    tg_hlo_store *store = tg_hlo_parser_store(p);
    for (size_t i = f->operand; i < store->operands.count; i++) {
        tg_hlo_operand_row *row = &store->operands.rows[i];
        if (row->instruction != TG_HLO_NO_ROW) continue;
        size_t       pos = 0;
        const size_t len = tg_hlo_operand_name(&pos, &p->s, row->pos);
        if (len > 0)
            row->instruction =
                tg_hlo_names_find(&p->names[p->nbodies], p->m, store->instructions.rows, pos, len);
    }
}

/* The last one marked ROOT, else the last one; it alone keeps the mark. */
static void find_root(tg_hlo_parser *p, const frame *f) {
    tg_hlo_instructions *all = &tg_hlo_parser_store(p)->instructions;
    uint32_t            *root = &p->m->computations.rows[f->computation].root;
    for (size_t i = all->count; i > f->instruction; i--) {
        if (*root == TG_HLO_NO_ROW && (all->rows[i - 1].shape & TG_HLO_ROOT)) *root = (uint32_t)(i - 1);
        all->rows[i - 1].shape &= ~TG_HLO_ROOT;
    }
    if (all->count == f->instruction) return;
    if (*root == TG_HLO_NO_ROW) *root = (uint32_t)(all->count - 1);
    all->rows[*root].shape |= TG_HLO_ROOT;
}

static void end(tg_hlo_parser *p, const frame *f) {
    tg_hlo_computation_row *row = &p->m->computations.rows[f->computation];
    row->ninstructions = (uint32_t)(tg_hlo_parser_store(p)->instructions.count - f->instruction);
    resolve_late(p, f);
    find_root(p, f);
}

/* ---- moving ----------------------------------------------------------------------------- */

static bool reserve(tg_hlo_store *to, const tg_hlo_store *from) {
    return tg_hlo_instructions_reserve(&to->instructions, from->instructions.count) &&
           tg_hlo_operands_reserve(&to->operands, from->operands.count) &&
           tg_hlo_attributes_reserve(&to->attributes, from->attributes.count);
}

/* The rows of `from` since the frame go behind those of `to`, and so do the numbers in them. */
static bool move(tg_hlo_store *to, tg_hlo_store *from, const frame *f) {
    if (!reserve(to, from)) return false;
    const uint32_t di = (uint32_t)(to->instructions.count - f->instruction);
    const uint32_t doperand = (uint32_t)(to->operands.count - f->operand);
    const uint32_t dattribute = (uint32_t)(to->attributes.count - f->attribute);
    for (size_t i = f->instruction; i < from->instructions.count; i++) {
        tg_hlo_instruction_row row = from->instructions.rows[i];
        row.first_operand += doperand;
        row.first_attribute += dattribute;
        to->instructions.rows[to->instructions.count++] = row;
    }
    for (size_t i = f->operand; i < from->operands.count; i++) {
        tg_hlo_operand_row row = from->operands.rows[i];
        if (row.instruction != TG_HLO_NO_ROW) row.instruction += di;
        to->operands.rows[to->operands.count++] = row;
    }
    for (size_t i = f->attribute; i < from->attributes.count; i++)
        to->attributes.rows[to->attributes.count++] = from->attributes.rows[i];
    from->instructions.count = f->instruction;
    from->operands.count = f->operand;
    from->attributes.count = f->attribute;
    return true;
}

static void shift(tg_hlo_computation_row *row, size_t from, size_t to) {
    row->first_instruction += (uint32_t)(to - from);
    if (row->root != TG_HLO_NO_ROW) row->root += (uint32_t)(to - from);
}

bool tg_hlo_append_closed(tg_hlo_parser *p) {
    static const frame all = {0, 0, 0, 0};
    for (size_t i = 0; i < p->m->computations.count; i++)
        if (p->m->computations.rows[i].nested)
            shift(&p->m->computations.rows[i], 0, p->m->store.instructions.count);
    return p->closed.instructions.count == 0 || move(&p->m->store, &p->closed, &all);
}

/* ---- bodies ----------------------------------------------------------------------------- */

/* At `{`: the instructions, and behind `}`. */
static bool read_body(tg_hlo_parser *p, const frame *f) {
    const size_t open = p->s.pos++;
    for (tg_hlo_skip_blanks(&p->s); !tg_hlo_take(&p->s, '}'); tg_hlo_skip_blanks(&p->s)) {
        if (p->s.pos == p->s.len && p->s.fault == NULL)
            return tg_hlo_fail_at(p, TG_ERR_PARSE, open, "this computation, or a bracket inside it, is not closed");
        if (!tg_hlo_read_instruction(p)) return false;
    }
    end(p, f);
    return true;
}

bool tg_hlo_read_nested_body(tg_hlo_parser *p) {
    frame f;
    if (!tg_hlo_enter(p, p->s.pos)) return false;
    p->nbodies++;
    const tg_hlo_computation_row row = {.pos = (uint32_t)p->s.pos, .nested = true};
    if (!begin(p, &f, row) || !read_body(p, &f)) return false;
    shift(&p->m->computations.rows[f.computation], f.instruction, p->closed.instructions.count);
    if (!move(&p->closed, &p->open, &f)) return tg_hlo_fail_memory(p);
    p->nbodies--;
    p->depth--;
    return true;
}

/* ---- computations of the module ------------------------------------------------------------ */

/* `(parameters) -> shape`, or nothing. */
static bool read_signature(tg_hlo_parser *p, tg_hlo_computation_row *row) {
    tg_hlo_scanner *s = &p->s;
    const size_t    start = s->pos;
    if (tg_hlo_peek(s) != '(') return true;
    tg_hlo_skip_balanced(s);
    size_t end_pos = s->pos;
    tg_hlo_skip_blanks(s);
    if (tg_hlo_take(s, '-')) {
        if (!tg_hlo_take(s, '>')) return tg_hlo_fail_seen(p, "expects the result's shape behind '->'");
        tg_hlo_skip_blanks(s);
        if (!tg_hlo_skip_shape(s, TG_HLO_BRACE_BODY))
            return tg_hlo_fail_seen(p, "expects the result's shape behind '->'");
        end_pos = s->pos;
    }
    row->signature = (uint32_t)start;
    row->signature_len = (uint32_t)(end_pos - start);
    return tg_hlo_judge_shapes(p, start, end_pos);
}

/* ENTRY, if it stands here as a keyword. */
static bool take_entry(tg_hlo_scanner *s) {
    tg_hlo_scanner ahead = *s;
    const size_t   start = s->pos, len = tg_hlo_skip_word(&ahead);
    if (!tg_hlo_word_is(&ahead, start, len, "ENTRY")) return false;
    tg_hlo_skip_blanks(&ahead);
    *s = ahead;
    return true;
}

static bool read_head(tg_hlo_parser *p, tg_hlo_computation_row *row) {
    tg_hlo_scanner *s = &p->s;
    row->pos = (uint32_t)s->pos;
    row->marked_entry = take_entry(s);
    (void)tg_hlo_take(s, '%');
    row->name = (uint32_t)s->pos;
    row->name_len = (uint32_t)tg_hlo_skip_word(s);
    (void)tg_hlo_take(s, ':');
    tg_hlo_skip_blanks(s);
    if (!read_signature(p, row)) return false;
    tg_hlo_skip_blanks(s);
    return tg_hlo_peek(s) == '{' || tg_hlo_fail_seen(p, "expects the '{' of a computation");
}

bool tg_hlo_read_computation(tg_hlo_parser *p) {
    frame                  f;
    tg_hlo_computation_row row = {.nested = false};
    if (!read_head(p, &row) || !begin(p, &f, row) || !read_body(p, &f)) return false;
    const size_t first = p->m->notes.count;
    p->m->computations.rows[f.computation].first_note = (uint32_t)first;
    if (!tg_hlo_read_attributes(p, &p->m->notes, false)) return false;
    p->m->computations.rows[f.computation].nnotes = (uint32_t)(p->m->notes.count - first);
    return true;
}

bool tg_hlo_read_loose(tg_hlo_parser *p) {
    frame                        f;
    const tg_hlo_computation_row row = {.pos = (uint32_t)p->s.pos, .loose = true};
    if (!begin(p, &f, row)) return false;
    do {
        if (!tg_hlo_read_instruction(p)) return false;
        tg_hlo_skip_blanks(&p->s);
        if (tg_hlo_classify(&p->s) == TG_HLO_IS_STACK_FRAMES) tg_hlo_read_stack_frames(p);
    } while (tg_hlo_classify(&p->s) == TG_HLO_IS_INSTRUCTION);
    end(p, &f);
    return true;
}
