/* Attributes: `, key=value` behind an instruction, a body or the module's name.
 *
 * Nobody quotes a value, so its end has to be found: at a comma or a closing bracket that no bracket of its own
 * opened. At a blank it ends too, mostly:
 *
 *     kind=kLoop                             the line's end; the next instruction follows
 *     replica_groups=mesh['a'=2] {'b'}       goes on: no instruction begins with `{`
 *     literal=c64[] (1, 2)                   goes on, and only behind `literal`: `(` may begin one
 *     calls=%a, %b                           goes on behind the comma: what follows is no `key=`
 *
 * Some values have rules of their own. backend_config={...} is JSON, in which only braces and "..." count, and so
 * may be what the fields of frontend_attributes hold. Where canonical dumps refer to a computation they have its
 * body: to_apply={ ... }. */
#include "hlo/hlo_parser.h"

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

typedef enum value_kind { PLAIN, JSON, FIELDS, COMPUTATIONS, SHAPES, LITERAL } value_kind;

/* Those whose values are more than text to this reader. */
static const struct { const char *key; value_kind kind; } kinds[] = {
    {"backend_config", JSON},
    {"frontend_attributes", FIELDS},
    {"to_apply", COMPUTATIONS},
    {"calls", COMPUTATIONS},
    {"body", COMPUTATIONS},
    {"condition", COMPUTATIONS},
    {"branch_computations", COMPUTATIONS},
    {"called_computations", COMPUTATIONS},
    {"true_computation", COMPUTATIONS},
    {"false_computation", COMPUTATIONS},
    {"select", COMPUTATIONS},
    {"scatter", COMPUTATIONS},
    {"comparator", COMPUTATIONS},
    {"entry_computation_layout", SHAPES},
    {"operand_layout_constraints", SHAPES},
    {"outfeed_shape", SHAPES},
    {"literal", LITERAL},
};

static value_kind kind_of(const char *key, size_t len) {
    for (size_t i = 0; i < COUNT(kinds); i++)
        if (kinds[i].key[0] == key[0] && tg_text_equal(key, len, kinds[i].key)) return kinds[i].kind;
    return PLAIN;
}

bool tg_hlo_names_computations(tg_hlo_text key) { return key.len > 0 && kind_of(key.chars, key.len) == COMPUTATIONS; }

/* ---- bodies ------------------------------------------------------------------------- */

/* Behind `{`: an instruction, and no list of names? */
static bool at_instruction(const tg_hlo_scanner *s) {
    tg_hlo_scanner ahead = *s;
    tg_hlo_skip_blanks(&ahead);
    if (tg_hlo_peek(&ahead) == '(') return true;
    (void)tg_hlo_take(&ahead, '%');
    const size_t start = ahead.pos, len = tg_hlo_skip_word(&ahead);
    if (len == 0) return false;
    const int c = tg_hlo_peek_behind_blanks(&ahead);
    if (tg_hlo_word_is(&ahead, start, len, "ROOT")) return c != ',' && c != '}';
    return c == '=' || c == '[' || c == '(';
}

static bool read_body_list(tg_hlo_parser *p) {
    p->s.pos++;
    for (tg_hlo_skip_blanks(&p->s); tg_hlo_peek(&p->s) == '{'; tg_hlo_skip_blanks(&p->s)) {
        if (!tg_hlo_read_nested_body(p)) return false;
        tg_hlo_skip_blanks(&p->s);
        if (!tg_hlo_take(&p->s, ',')) break;
    }
    return tg_hlo_take(&p->s, '}') || tg_hlo_fail_seen(p, "expects '}' behind the bodies");
}

/* At `{`: a body, a list of bodies, or a list of names. */
static bool read_computations(tg_hlo_parser *p) {
    tg_hlo_scanner inside = p->s;
    inside.pos++;
    if (at_instruction(&inside)) return tg_hlo_read_nested_body(p);
    if (tg_hlo_peek_behind_blanks(&inside) == '{') return read_body_list(p);
    tg_hlo_skip_balanced(&p->s);
    return true;
}

/* ---- where a value ends ---------------------------------------------------------------- */

/* Behind a blank: does something new begin here, so that the value is over? */
static bool begins_anew(const tg_hlo_scanner *s, bool literal) {
    const int c = tg_hlo_peek(s);
    if (c == '(') return !literal;
    if (c < 0 || c == '%' || c == ',' || (tg_hlo_peek_class(s) & TG_HLO_CLOSE)) return true;
    if (!(tg_hlo_peek_class(s) & TG_HLO_FIRST)) return false;
    tg_hlo_scanner ahead = *s;
    const size_t   len = tg_hlo_skip_word(&ahead);
    if (tg_hlo_word_is(s, s->pos, len, "ROOT") || tg_hlo_word_is(s, s->pos, len, "ENTRY")) return true;
    const int next = tg_hlo_peek_behind_blanks(&ahead);
    return next == '=' || next == '[' || (next == '(' && !literal);
}

/* At a blank or comment: goes on behind it, unless the value is over. */
static bool skip_gap(tg_hlo_scanner *s, bool of_instruction, bool literal) {
    tg_hlo_scanner ahead = *s;
    tg_hlo_skip_blanks(&ahead);
    if (ahead.pos == s->pos) s->pos++; /* a slash that begins no comment */
    else if (!of_instruction || begins_anew(&ahead, literal)) return false;
    else *s = ahead;
    return true;
}

/* Behind braces or a string, which need no blank behind them: is the value over? */
static bool is_over(const tg_hlo_scanner *s, bool of_instruction, bool literal) {
    const bool word = tg_hlo_peek(s) == '%' || (tg_hlo_peek_class(s) & TG_HLO_FIRST);
    return word && (!of_instruction || begins_anew(s, literal));
}

/* At a bracket or quote: behind it; false if the value is over there. */
static bool skip_enclosed(tg_hlo_scanner *s, bool of_instruction, bool literal) {
    const bool bracket = tg_hlo_peek(s) == '[' || tg_hlo_peek(s) == '(';
    tg_hlo_skip_item(s);
    return bracket || !is_over(s, of_instruction, literal);
}

/* To the end of a value, blanks and comments behind it not included. */
static void skip_value(tg_hlo_scanner *s, bool of_instruction, bool literal) {
    while (s->pos < s->len) {
        const unsigned classes = tg_hlo_peek_class(s);
        bool           more = true;
        if (classes & (TG_HLO_COMMA | TG_HLO_CLOSE)) return;
        if (classes & (TG_HLO_OPEN | TG_HLO_QUOTE)) more = skip_enclosed(s, of_instruction, literal);
        else if (!(classes & (TG_HLO_BLANK | TG_HLO_SLASH))) s->pos++;
        else more = skip_gap(s, of_instruction, literal);
        if (!more) return;
    }
}

/* ---- values ----------------------------------------------------------------------------- */

/* At the `{` of a value: behind what its key has a rule of its own for. */
static bool read_own_form(tg_hlo_parser *p, value_kind kind, bool of_instruction) {
    if (kind == JSON) tg_hlo_skip_json_dict(&p->s);
    if (kind == FIELDS) tg_hlo_skip_fields(&p->s);
    return kind != COMPUTATIONS || !of_instruction || read_computations(p);
}

static bool read_value(tg_hlo_parser *p, value_kind kind, bool of_instruction) {
    const size_t start = p->s.pos;
    if (tg_hlo_peek(&p->s) == '{' && !read_own_form(p, kind, of_instruction)) return false;
    if (p->s.pos == start || !is_over(&p->s, of_instruction, false))
        skip_value(&p->s, of_instruction, kind == LITERAL);
    if ((kind == SHAPES || kind == LITERAL) && !tg_hlo_judge_shapes(p, start, p->s.pos)) return false;
    return p->s.fault == NULL || tg_hlo_fail_seen(p, "");
}

static bool judge_shape(void *context, size_t pos, size_t len) {
    uint32_t number;
    return tg_hlo_parser_shape(context, &number, pos, len);
}

bool tg_hlo_judge_shapes(tg_hlo_parser *p, size_t pos, size_t end) {
    tg_hlo_scanner s = tg_hlo_scanner_make(p->m->text, end, pos);
    if (!tg_hlo_each_shape(&s, judge_shape, p)) return false;
    return s.fault == NULL || tg_hlo_fail_at(p, TG_ERR_PARSE, s.fault_pos, s.fault);
}

/* Behind the comma: one attribute, or more of the value before if no `=` follows. */
static bool read_attribute(tg_hlo_parser *p, tg_hlo_attributes *out, size_t first, bool of_instruction) {
    tg_hlo_scanner *s = &p->s;
    const bool      percent = tg_hlo_take(s, '%');
    const size_t    start = s->pos, len = tg_hlo_skip_word(s);
    if (len == 0) return tg_hlo_fail_seen(p, "expects the key of an attribute behind ','");
    if (tg_hlo_peek(s) != '=' && !percent) tg_hlo_skip_blanks(s);
    if (!percent && tg_hlo_take(s, '=')) {
        tg_hlo_skip_blanks(s);
        if (!read_value(p, kind_of(s->text + start, len), of_instruction)) return false;
        const tg_hlo_attribute_row row = {(uint32_t)start, (uint32_t)s->pos};
        return tg_hlo_attributes_push(out, row) || tg_hlo_fail_memory(p);
    }
    if (out->count == first) return tg_hlo_fail_seen(p, "expects '=' behind the key of an attribute");
    out->rows[out->count - 1].end = (uint32_t)(start + len);
    return true;
}

bool tg_hlo_read_attributes(tg_hlo_parser *p, tg_hlo_attributes *out, bool of_instruction) {
    const size_t first = out->count;
    for (tg_hlo_skip_blanks(&p->s); tg_hlo_take(&p->s, ','); tg_hlo_skip_blanks(&p->s)) {
        tg_hlo_skip_blanks(&p->s);
        if (!read_attribute(p, out, first, of_instruction)) return false;
    }
    return true;
}
