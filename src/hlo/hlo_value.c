/* Values of attributes: integers, lists, strings, fields, computations, shapes. Windows and the like are in
 * hlo_window.c. */
#include "hlo/hlo_value.h"

#include "base/error.h"
#include "hlo/hlo_module.h"

/* ---- integers ----------------------------------------------------------------------- */

tg_status tg_hlo_value_fail(const tg_cursor *c, const char *rule, tg_error *err) {
    return tg_fail_at(err, c->pos, "not a value of an HLO attribute: expects %s in '%t'", rule, c->text, c->len);
}

tg_status tg_hlo_value_int(int64_t *out, tg_cursor *c, tg_error *err) {
    bool found = false;
    if (!tg_take_int(c, out, &found)) {
        (void)tg_hlo_value_fail(c, "an integer that fits int64", err);
        if (err != NULL) err->status = TG_ERR_OVERFLOW;
        return TG_ERR_OVERFLOW;
    }
    return found ? TG_OK : tg_hlo_value_fail(c, "an integer", err);
}

tg_status tg_hlo_value_char(tg_cursor *c, char ch, const char *rule, tg_error *err) {
    return tg_take_char(c, ch) ? TG_OK : tg_hlo_value_fail(c, rule, err);
}

tg_status tg_hlo_value_end(tg_cursor *c, tg_error *err) {
    tg_skip_blanks(c);
    return tg_at_end(c) ? TG_OK : tg_hlo_value_fail(c, "the end", err);
}

tg_status tg_hlo_read_int(int64_t *out, tg_hlo_text value, tg_error *err) {
    tg_cursor c = tg_hlo_value_cursor(value);
    int64_t   number = 0;
    tg_status status = tg_hlo_value_int(&number, &c, err);
    if (status == TG_OK) status = tg_hlo_value_end(&c, err);
    if (status == TG_OK) *out = number;
    return status;
}

/* A failed call must write nothing, so a list is read without storing first. */
static tg_status read_braced(int64_t *out, size_t cap, size_t *count, tg_cursor c, tg_error *err) {
    size_t n = 0;
    if (tg_take_char(&c, '}')) {
        *count = 0;
        return tg_hlo_value_end(&c, err);
    }
    do {
        int64_t         number = 0;
        const tg_status status = tg_hlo_value_int(&number, &c, err);
        if (status != TG_OK) return status;
        if (n < cap) out[n] = number;
        n++;
    } while (tg_take_char(&c, ','));
    const tg_status status = tg_hlo_value_char(&c, '}', "',' or '}' behind the integer", err);
    if (status != TG_OK) return status;
    *count = n;
    return tg_hlo_value_end(&c, err);
}

tg_status tg_hlo_read_ints(int64_t *out, size_t cap, size_t *count, tg_hlo_text value, tg_error *err) {
    tg_cursor c = tg_hlo_value_cursor(value);
    size_t    n = 1;
    if (tg_take_char(&c, '{')) {
        const tg_status status = read_braced(NULL, 0, &n, c, err);
        if (status == TG_OK) *count = n;
        return status != TG_OK || cap == 0 ? status : read_braced(out, cap, &n, c, err);
    }
    int64_t         number = 0;
    const tg_status status = tg_hlo_read_int(&number, value, err);
    if (status != TG_OK) return status;
    if (cap > 0) out[0] = number;
    *count = 1;
    return TG_OK;
}

static tg_status walk_path(int64_t *out, size_t cap, size_t *count, tg_hlo_text path, tg_error *err) {
    tg_cursor c = tg_hlo_value_cursor(path);
    size_t    n = 0;
    for (; !tg_at_end(&c); n++) {
        int64_t   number = 0;
        tg_status status = tg_hlo_value_char(&c, '#', "'#'", err);
        if (status == TG_OK) status = tg_hlo_value_int(&number, &c, err);
        if (status != TG_OK) return status;
        if (n < cap) out[n] = number;
    }
    *count = n;
    return TG_OK;
}

tg_status tg_hlo_read_path(int64_t *out, size_t cap, size_t *count, tg_hlo_text path, tg_error *err) {
    const tg_status status = walk_path(NULL, 0, count, path, err);
    return status == TG_OK && cap > 0 ? walk_path(out, cap, count, path, err) : status;
}

/* ---- strings ------------------------------------------------------------------------ */

static int digit_of(int c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

/* Takes at most so many digits of the base as one byte. */
static char take_code(tg_cursor *c, int base, int most) {
    unsigned code = 0;
    for (; most > 0 && digit_of(tg_peek(c)) < base; most--, c->pos++)
        code = code * (unsigned)base + (unsigned)digit_of(tg_peek(c));
    return (char)(unsigned char)code;
}

/* Behind the backslash: what the escape stands for. An unknown one stands for its letter. */
static char take_escape(tg_cursor *c) {
    static const char letters[] = "abfnrtv", meanings[] = "\a\b\f\n\r\t\v";
    if (digit_of(tg_peek(c)) < 8) return take_code(c, 8, 3);
    const char letter = c->text[c->pos++];
    if ((letter == 'x' || letter == 'X') && digit_of(tg_peek(c)) < 16) return take_code(c, 16, 2);
    for (size_t i = 0; i < sizeof letters - 1; i++)
        if (letters[i] == letter) return meanings[i];
    return letter;
}

static tg_status unescape(tg_writer *w, tg_hlo_text value, tg_error *err) {
    tg_cursor c = tg_hlo_value_cursor(value);
    const int quote = tg_peek(&c);
    if (quote != '"' && quote != '\'') return tg_hlo_value_fail(&c, "a quote", err);
    for (c.pos++; !tg_at_end(&c) && tg_peek(&c) != quote;) {
        const char byte = c.text[c.pos++];
        if (byte == '\\' && tg_at_end(&c)) break;
        tg_put_char(w, byte == '\\' ? take_escape(&c) : byte);
    }
    if (tg_at_end(&c)) return tg_hlo_value_fail(&c, "the closing quote", err);
    c.pos++;
    return tg_hlo_value_end(&c, err);
}

tg_status tg_hlo_read_string(char *buf, size_t cap, size_t *need, tg_hlo_text value, tg_error *err) {
    tg_writer       measure = tg_writer_make(NULL, 0), w = tg_writer_make(buf, cap);
    const tg_status status = unescape(&measure, value, err);
    if (status != TG_OK) return status;
    (void)unescape(&w, value, NULL);
    *need = tg_writer_end(&w);
    return TG_OK;
}

/* ---- fields ------------------------------------------------------------------------- */

static bool is_between(const tg_hlo_scanner *s) { return (tg_hlo_peek_class(s) & (TG_HLO_BLANK | TG_HLO_COMMA)) != 0; }

static bool is_over(const tg_hlo_scanner *s) { return s->pos >= s->len || (tg_hlo_peek_class(s) & TG_HLO_CLOSE) != 0; }

/* Keys of frontend_attributes are made of anything. */
static size_t skip_key(tg_hlo_scanner *s) {
    const size_t start = s->pos;
    while (!is_over(s) && !is_between(s) && tg_hlo_peek(s) != '=') tg_hlo_skip_item(s);
    return s->pos - start;
}

bool tg_hlo_next_field(tg_hlo_attribute *out, tg_hlo_text value, size_t *pos) {
    tg_hlo_scanner s = tg_hlo_scanner_make(value.chars, value.len, *pos);
    if (s.pos == 0) {
        tg_hlo_skip_blanks(&s);
        if (!tg_hlo_take(&s, '{')) return false;
    }
    for (tg_hlo_skip_blanks(&s); tg_hlo_take(&s, ',');) tg_hlo_skip_blanks(&s);
    tg_hlo_attribute field = {.key = {value.chars + s.pos, 0}, .pos = s.pos};
    field.key.len = skip_key(&s);
    tg_hlo_skip_blanks(&s);
    if (field.key.len == 0 || !tg_hlo_take(&s, '=')) return false;
    tg_hlo_skip_blanks(&s);
    const size_t start = s.pos;
    if (tg_hlo_peek(&s) == '{') tg_hlo_skip_json_dict(&s);
    while (!is_over(&s) && !is_between(&s)) tg_hlo_skip_item(&s);
    field.value = (tg_hlo_text){value.chars + start, s.pos - start};
    *out = field;
    *pos = s.pos;
    return true;
}

bool tg_hlo_find_field(tg_hlo_text *out, tg_hlo_text value, const char *key) {
    tg_hlo_attribute field;
    for (size_t pos = 0; tg_hlo_next_field(&field, value, &pos);) {
        if (!tg_hlo_text_is(field.key, key)) continue;
        *out = field.value;
        return true;
    }
    return false;
}

bool tg_hlo_is_json_dict(const char *text, size_t len) {
    tg_hlo_scanner s = tg_hlo_scanner_make(text, len, 0);
    if (tg_hlo_peek(&s) != '{') return false;
    tg_hlo_skip_json_dict(&s);
    return s.fault == NULL && s.pos == len;
}

/* ---- computations ---------------------------------------------------------------------- */

/* Rows are in the order of their positions. */
int64_t tg_hlo_find_body(const tg_hlo_module *m, size_t pos) {
    size_t low = 0, high = m->computations.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (m->computations.rows[middle].pos < pos) low = middle + 1;
        else high = middle;
    }
    const bool found = low < m->computations.count && m->computations.rows[low].pos == pos;
    return found && m->computations.rows[low].nested ? (int64_t)low : TG_HLO_NONE;
}

static tg_status fail_value(const tg_hlo_scanner *s, size_t base, const char *rule, tg_error *err) {
    return tg_fail_at(err, s->pos - base, "not a reference to computations: %s at '%t'", rule, s->text + s->pos,
                      s->len - s->pos);
}

/* At a body or a name: which computation that is, and behind it. */
static tg_status read_reference(int64_t *out, tg_hlo_scanner *s, const tg_hlo_module *m, size_t base, tg_error *err) {
    tg_hlo_scanner ahead = *s;
    if (tg_hlo_peek(s) == '{') {
        *out = tg_hlo_find_body(m, s->pos);
        tg_hlo_skip_balanced(&ahead);
    } else {
        (void)tg_hlo_take(&ahead, '%');
        const size_t start = ahead.pos, len = tg_hlo_skip_word(&ahead);
        if (len == 0) return fail_value(s, base, "expects a name", err);
        *out = tg_hlo_find_computation(m, (tg_hlo_text){m->text + start, len});
    }
    if (*out == TG_HLO_NONE) return fail_value(s, base, "no computation has the name", err);
    *s = ahead;
    return TG_OK;
}

static tg_status walk_references(int64_t *out, size_t cap, size_t *count, const tg_hlo_module *m, tg_hlo_scanner s,
                                 tg_error *err) {
    const size_t base = s.pos;
    size_t       n = 0;
    tg_hlo_skip_blanks(&s);
    const bool list = tg_hlo_peek(&s) == '{' && tg_hlo_find_body(m, s.pos) == TG_HLO_NONE;
    if (list) s.pos++;
    for (tg_hlo_skip_blanks(&s); list || s.pos < s.len; tg_hlo_skip_blanks(&s)) {
        if (list && tg_hlo_take(&s, '}')) break;
        int64_t         id;
        const tg_status status = read_reference(&id, &s, m, base, err);
        if (status != TG_OK) return status;
        if (n < cap) out[n] = id;
        n++;
        tg_hlo_skip_blanks(&s);
        (void)tg_hlo_take(&s, ',');
    }
    if (n == 0 && !list) return fail_value(&s, base, "expects a name", err);
    *count = n;
    return TG_OK;
}

/* A scanner of the module's text that ends with the value; false if the value is not in it. */
static bool find_value(tg_hlo_scanner *s, const tg_hlo_module *m, tg_hlo_text value) {
    const uintptr_t text = (uintptr_t)m->text, at = (uintptr_t)value.chars;
    if (at < text || at - text > m->len || value.len > m->len - (at - text)) return false;
    *s = tg_hlo_scanner_make(m->text, (size_t)(at - text) + value.len, (size_t)(at - text));
    return true;
}

static tg_status fail_outside(tg_error *err) {
    return tg_fail(err, TG_ERR_ARGUMENT, "the value is no piece of the module's text");
}

tg_status tg_hlo_read_computations(int64_t *out, size_t cap, size_t *count, const tg_hlo_module *m, tg_hlo_text value,
                                   tg_error *err) {
    tg_hlo_scanner s;
    if (!find_value(&s, m, value)) return fail_outside(err);
    const tg_status status = walk_references(NULL, 0, count, m, s, err);
    return status == TG_OK && cap > 0 ? walk_references(out, cap, count, m, s, err) : status;
}

/* ---- shapes ---------------------------------------------------------------------------- */

typedef struct shape_list {
    const tg_hlo_module *m;
    int64_t             *out;
    size_t               cap, count;
    size_t               unknown; /* place of a shape that no one has judged */
} shape_list;

static bool add_shape(void *context, size_t pos, size_t len) {
    shape_list    *list = context;
    const uint32_t number = tg_hlo_find_shape(list->m, pos, len);
    list->unknown = pos;
    if (number == TG_HLO_NO_ROW) return false;
    if (list->count < list->cap) list->out[list->count] = number;
    list->count++;
    return true;
}

static bool walk_shapes(shape_list *list, tg_hlo_scanner s) {
    list->count = 0;
    return tg_hlo_each_shape(&s, add_shape, list);
}

tg_status tg_hlo_read_shapes(int64_t *out, size_t cap, size_t *count, const tg_hlo_module *m, tg_hlo_text value,
                             tg_error *err) {
    tg_hlo_scanner s;
    if (!find_value(&s, m, value)) return fail_outside(err);
    shape_list list = {.m = m};
    if (!walk_shapes(&list, s))
        return tg_fail_at(err, list.unknown - s.pos, "not a list of shapes of this module: '%t'", value.chars,
                          value.len);
    if (cap > 0) {
        list.out = out;
        list.cap = cap;
        (void)walk_shapes(&list, s);
    }
    *count = list.count;
    return TG_OK;
}
