/* One instruction: [ROOT] [name =] [shape] opcode(arguments) {, key=value}
 *
 * Nothing says where a name, a shape or an opcode is missing, so each is told by what follows it: a name by
 * `=`, a shape by its bracket, an opcode by its parenthesis. Operands are taken in all forms that dumps have:
 *
 *     %a          a name                             f32[2]{0} %a    with its shape, up to 2025
 *     %t#1#0      an element of an element           f32[2]{0}       a shape alone, in fingerprints
 *     ...(+3)     three more, not printed            f32[2]{0} negate(f32[2]{0} x)   an instruction in its place
 *
 * and what is none of them is a text. */
#include "hlo/hlo_parser.h"

static tg_hlo_names *names(tg_hlo_parser *p) { return &p->names[p->nbodies]; }

bool tg_hlo_parser_shape(tg_hlo_parser *p, uint32_t *number, size_t pos, size_t len) {
    const tg_status status = tg_hlo_intern_shape(number, p->m, pos, len, &p->err);
    if (status == TG_OK) return true;
    if (status == TG_ERR_NOMEM) return tg_hlo_fail_memory(p);
    return tg_hlo_fail_placed(p, status);
}

/* The shape here, TG_HLO_SHAPE_MASK if none stands here. */
static bool read_shape(tg_hlo_parser *p, uint32_t *number) {
    const size_t start = p->s.pos;
    *number = TG_HLO_SHAPE_MASK;
    if (!tg_hlo_skip_shape(&p->s, TG_HLO_BRACE_LAYOUT)) return true;
    /* what does not end is judged as well: the judge knows better where it goes wrong */
    if (!tg_hlo_parser_shape(p, number, start, p->s.pos - start)) return false;
    tg_hlo_skip_blanks(&p->s);
    return true;
}

/* ---- operands ----------------------------------------------------------------------- */

static bool read_right_side(tg_hlo_parser *p, tg_hlo_instruction_row *row);

/* `shape opcode(...)` at pos where an operand should be: an instruction of its own. */
static bool read_operand_instruction(tg_hlo_parser *p, tg_hlo_operand_row *operand) {
    tg_hlo_instruction_row row = {.pos = operand->pos, .shape = TG_HLO_IN_OPERAND};
    p->s.pos = operand->pos;
    if (!tg_hlo_enter(p, p->s.pos) || !read_right_side(p, &row)) return false;
    p->depth--;
    operand->instruction = (uint32_t)tg_hlo_parser_store(p)->instructions.count - 1;
    return true;
}

/* At the word of an operand: a name, or an opcode. */
static bool read_operand_word(tg_hlo_parser *p, tg_hlo_operand_row *operand) {
    const bool   percent = tg_hlo_take(&p->s, '%');
    const size_t start = p->s.pos, len = tg_hlo_skip_word(&p->s);
    if (len == 0) return true;
    if (!percent && tg_hlo_peek_behind_blanks(&p->s) == '(') return read_operand_instruction(p, operand);
    operand->instruction =
        tg_hlo_names_find(names(p), p->m, tg_hlo_parser_store(p)->instructions.rows, start, len);
    return true;
}

static bool read_operand(tg_hlo_parser *p) {
    tg_hlo_operand_row operand = {(uint32_t)p->s.pos, TG_HLO_NO_ROW};
    uint32_t           shape;
    if (tg_hlo_peek(&p->s) != '%' && !read_shape(p, &shape)) return false;
    if ((tg_hlo_peek(&p->s) == '%' || (tg_hlo_peek_class(&p->s) & TG_HLO_FIRST)) && !read_operand_word(p, &operand))
        return false;
    while (p->s.pos < p->s.len && !(tg_hlo_peek_class(&p->s) & (TG_HLO_COMMA | TG_HLO_CLOSE))) tg_hlo_skip_item(&p->s);
    return tg_hlo_operands_push(&p->pending, operand) || tg_hlo_fail_memory(p);
}

/* Behind `(`: the operands, and behind `)`. */
static bool read_operands(tg_hlo_parser *p) {
    tg_hlo_skip_blanks(&p->s);
    if (tg_hlo_take(&p->s, ')')) return true;
    do {
        tg_hlo_skip_blanks(&p->s);
        if (!read_operand(p)) return false;
    } while (tg_hlo_take(&p->s, ','));
    return tg_hlo_take(&p->s, ')') || tg_hlo_fail_seen(p, "expects ')' behind the operands");
}

/* Those since the mark are complete. */
static bool keep_operands(tg_hlo_parser *p, size_t mark) {
    tg_hlo_operands *out = &tg_hlo_parser_store(p)->operands;
    for (size_t i = mark; i < p->pending.count; i++)
        if (!tg_hlo_operands_push(out, p->pending.rows[i])) return false;
    p->pending.count = mark;
    return true;
}

/* ---- [shape] opcode(arguments) --------------------------------------------------------- */

/* The arguments of these two are values. */
static bool has_operands(const tg_hlo_scanner *s, size_t opcode, size_t len) {
    return !tg_hlo_word_is(s, opcode, len, "parameter") && !tg_hlo_word_is(s, opcode, len, "constant");
}

/* At the opcode: its position in the row, and behind its parenthesis. */
static bool read_opcode(tg_hlo_parser *p, tg_hlo_instruction_row *row, size_t *len) {
    tg_hlo_scanner *s = &p->s;
    row->opcode = (uint32_t)s->pos;
    if (!(tg_hlo_peek_class(s) & TG_HLO_FIRST)) return tg_hlo_fail_seen(p, "expects the opcode of an instruction");
    *len = tg_hlo_skip_word(s);
    if (tg_hlo_peek(s) != '(') tg_hlo_skip_blanks(s);
    return tg_hlo_peek(s) == '(' || tg_hlo_fail_seen(p, "expects '(' behind the opcode");
}

static bool read_arguments(tg_hlo_parser *p, const tg_hlo_instruction_row *row, size_t opcode_len) {
    if (has_operands(&p->s, row->opcode, opcode_len)) {
        p->s.pos++;
        return read_operands(p);
    }
    tg_hlo_skip_balanced(&p->s);
    return p->s.fault == NULL || tg_hlo_fail_seen(p, "");
}

/* post: the row is the last one of its store, with its operands. */
static bool read_right_side(tg_hlo_parser *p, tg_hlo_instruction_row *row) {
    const size_t mark = p->pending.count;
    uint32_t     shape;
    size_t       opcode_len = 0;
    if (!read_shape(p, &shape) || !read_opcode(p, row, &opcode_len)) return false;
    if (!read_arguments(p, row, opcode_len)) return false;
    tg_hlo_store *store = tg_hlo_parser_store(p);
    row->shape |= shape;
    row->first_operand = (uint32_t)store->operands.count;
    row->first_attribute = (uint32_t)store->attributes.count;
    return (keep_operands(p, mark) && tg_hlo_instructions_push(&store->instructions, *row)) || tg_hlo_fail_memory(p);
}

/* ---- [ROOT] [name =] ------------------------------------------------------------------- */

/* ROOT, unless it is the name that is defined. */
static bool take_root(tg_hlo_scanner *s) {
    const size_t start = s->pos;
    if (tg_hlo_peek(s) != 'R') return false;
    const size_t len = tg_hlo_skip_word(s);
    tg_hlo_skip_blanks(s);
    if (tg_hlo_word_is(s, start, len, "ROOT") && tg_hlo_peek(s) != '=') return true;
    s->pos = start;
    return false;
}

/* Its position in the row and its length, 0 if the instruction has none. */
static bool read_name(tg_hlo_parser *p, tg_hlo_instruction_row *row, size_t *len) {
    tg_hlo_scanner *s = &p->s;
    const bool      percent = tg_hlo_take(s, '%');
    const size_t    start = s->pos;
    row->pos = (uint32_t)start;
    *len = tg_hlo_skip_word(s);
    (void)tg_hlo_take(s, ':'); /* XLA takes it for a part of the name */
    tg_hlo_skip_blanks(s);
    if (*len > 0 && tg_hlo_take(s, '=')) {
        tg_hlo_skip_blanks(s);
        row->shape |= TG_HLO_NAMED;
        return true;
    }
    if (percent) return tg_hlo_fail_seen(p, "expects '=' behind the name of an instruction");
    *len = 0;
    s->pos = start;
    return true;
}

bool tg_hlo_read_instruction(tg_hlo_parser *p) {
    tg_hlo_instruction_row row = {.shape = 0};
    size_t                 name_len = 0;
    if (take_root(&p->s)) row.shape |= TG_HLO_ROOT;
    if (!read_name(p, &row, &name_len) || !read_right_side(p, &row)) return false;
    tg_hlo_store *store = tg_hlo_parser_store(p);
    const uint32_t number = (uint32_t)store->instructions.count - 1;
    if (name_len > 0 && !tg_hlo_names_put(names(p), p->m, store->instructions.rows, number, row.pos, name_len))
        return tg_hlo_fail_memory(p);
    return tg_hlo_read_attributes(p, &store->attributes, true);
}
