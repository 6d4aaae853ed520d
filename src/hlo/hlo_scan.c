#include "hlo/hlo_scan.h"

#include <string.h>

/* Each letter below is one byte of the table; rows are 16 bytes of ASCII. */
#define o 0
#define B TG_HLO_BLANK
#define W TG_HLO_WORD
#define L (TG_HLO_WORD | TG_HLO_FIRST)
#define O TG_HLO_OPEN
#define C TG_HLO_CLOSE
#define Q TG_HLO_QUOTE
#define S TG_HLO_SLASH
#define K TG_HLO_COMMA

const uint8_t tg_hlo_class[256] = {
    o, o, o, o, o, o, o, o, o, B, B, o, o, B, o, o, /* tab, LF, CR */
    o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, o, /*                 */
    B, o, Q, o, o, o, o, Q, O, C, o, o, K, W, W, S, /*  !"#$%&'()*+,-./ */
    W, W, W, W, W, W, W, W, W, W, o, o, o, o, o, o, /* 0123456789:;<=>? */
    o, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, /* @ABCDEFGHIJKLMNO */
    L, L, L, L, L, L, L, L, L, L, L, O, o, C, o, L, /* PQRSTUVWXYZ[\]^_ */
    o, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, /* `abcdefghijklmno */
    L, L, L, L, L, L, L, L, L, L, L, O, o, C, o, o, /* pqrstuvwxyz{|}~  */
};

#undef o
#undef B
#undef W
#undef L
#undef O
#undef C
#undef Q
#undef S
#undef K

static void note_fault(tg_hlo_scanner *s, const char *what, size_t pos) {
    if (s->fault == NULL) {
        s->fault = what;
        s->fault_pos = pos;
    }
    s->pos = s->len;
}

/* The next such byte at or after pos, or len. */
static size_t find_byte(const tg_hlo_scanner *s, size_t pos, char byte) {
    const char *found = pos < s->len ? memchr(s->text + pos, byte, s->len - pos) : NULL;
    return found != NULL ? (size_t)(found - s->text) : s->len;
}

static void skip_block_comment(tg_hlo_scanner *s) {
    const size_t start = s->pos;
    for (size_t at = find_byte(s, start + 3, '/'); at < s->len; at = find_byte(s, at + 1, '/')) {
        if (s->text[at - 1] != '*') continue;
        s->pos = at + 1;
        return;
    }
    note_fault(s, "a comment that does not end", start);
}

bool tg_hlo_skip_comment(tg_hlo_scanner *s) {
    const char next = s->pos + 1 < s->len ? s->text[s->pos + 1] : '\0';
    if (next == '/') s->pos = find_byte(s, s->pos, '\n');
    else if (next == '*') skip_block_comment(s);
    else return false;
    return true;
}

bool tg_hlo_word_is(const tg_hlo_scanner *s, size_t start, size_t len, const char *word) {
    return strlen(word) == len && memcmp(s->text + start, word, len) == 0;
}

int tg_hlo_peek_behind_blanks(const tg_hlo_scanner *s) {
    tg_hlo_scanner ahead = *s;
    tg_hlo_skip_blanks(&ahead);
    return tg_hlo_peek(&ahead);
}

/* The quote at pos is escaped if an odd number of backslashes stands before it. */
static bool is_escaped(const tg_hlo_scanner *s, size_t start, size_t pos) {
    size_t n = 0;
    while (pos - n > start && s->text[pos - n - 1] == '\\') n++;
    return n % 2 == 1;
}

/* The closing quote of the string whose first byte is at start, or len. */
static size_t find_quote(const tg_hlo_scanner *s, size_t start, char quote) {
    size_t at = find_byte(s, start, quote);
    while (at < s->len && is_escaped(s, start, at)) at = find_byte(s, at + 1, quote);
    return at;
}

static void skip_double_quoted(tg_hlo_scanner *s) {
    const size_t start = s->pos, end = find_quote(s, start + 1, '"');
    if (end == s->len) note_fault(s, "a string that does not end", start);
    else s->pos = end + 1;
}

void tg_hlo_skip_string(tg_hlo_scanner *s) {
    if (s->text[s->pos] == '"') {
        skip_double_quoted(s);
        return;
    }
    /* The partner is looked for first, then the line end between: so each byte is looked at twice at most. */
    const size_t end = find_quote(s, s->pos + 1, '\'');
    const bool   one_line = end < s->len && memchr(s->text + s->pos, '\n', end - s->pos) == NULL;
    s->pos = one_line ? end + 1 : s->pos + 1;
}

/* At a byte that is not plain: string, comment, bracket or slash. */
static void skip_special(tg_hlo_scanner *s, unsigned classes, size_t *depth) {
    if (classes & TG_HLO_QUOTE) {
        tg_hlo_skip_string(s);
    } else if (classes & TG_HLO_SLASH) {
        if (!tg_hlo_skip_comment(s)) s->pos++;
    } else {
        *depth += (classes & TG_HLO_OPEN) ? 1 : (size_t)-1;
        s->pos++;
    }
}

void tg_hlo_skip_balanced(tg_hlo_scanner *s) {
    const size_t start = s->pos;
    size_t       depth = 0;
    do {
        s->pos = tg_hlo_find(s, s->pos, TG_HLO_OPEN | TG_HLO_CLOSE | TG_HLO_QUOTE | TG_HLO_SLASH);
        if (s->pos == s->len) {
            note_fault(s, "a bracket that is not closed", start);
            return;
        }
        skip_special(s, tg_hlo_peek_class(s), &depth);
    } while (depth > 0);
}

void tg_hlo_skip_json_dict(tg_hlo_scanner *s) {
    const size_t start = s->pos;
    size_t       depth = 0;
    while (s->pos < s->len) {
        const char c = s->text[s->pos];
        if (c == '"') {
            skip_double_quoted(s);
            continue;
        }
        s->pos++;
        if (c == '{') depth++;
        if (c == '}' && --depth == 0) return;
    }
    note_fault(s, "a brace that is not closed", start);
}

void tg_hlo_skip_fields(tg_hlo_scanner *s) {
    const size_t start = s->pos++;
    while (s->pos < s->len && s->text[s->pos] != '}') {
        if (s->text[s->pos] == '{') tg_hlo_skip_json_dict(s);
        else if (tg_hlo_peek_class(s) & TG_HLO_OPEN) s->pos++;
        else tg_hlo_skip_item(s);
    }
    if (s->pos == s->len) note_fault(s, "a brace that is not closed", start);
    else s->pos++;
}

void tg_hlo_skip_item(tg_hlo_scanner *s) {
    const unsigned classes = tg_hlo_peek_class(s);
    if (classes & TG_HLO_OPEN) tg_hlo_skip_balanced(s);
    else if (classes & TG_HLO_QUOTE) tg_hlo_skip_string(s);
    else if (!(classes & TG_HLO_SLASH) || !tg_hlo_skip_comment(s)) s->pos++;
}

/* ---- shapes --------------------------------------------------------------------- */

/* At `{` behind `]`: XLA's rule tells a layout from a body by what follows. */
static bool is_layout(const tg_hlo_scanner *s, tg_hlo_brace brace) {
    tg_hlo_scanner inside = *s;
    inside.pos++;
    const int c = tg_hlo_peek_behind_blanks(&inside);
    return (c >= '0' && c <= '9') || c == '-' || c == ':' || (c == '}' && brace == TG_HLO_BRACE_LAYOUT);
}

/* Behind an array: the layout, with the blanks before it, if there is one. */
static void skip_layout(tg_hlo_scanner *s, tg_hlo_brace brace) {
    const size_t start = s->pos;
    if (brace != TG_HLO_BRACE_LITERAL) tg_hlo_skip_blanks(s);
    if (tg_hlo_peek(s) == '{' && is_layout(s, brace)) tg_hlo_skip_balanced(s);
    else s->pos = start;
}

/* How nearly all shapes are written: `f32[2,3]{1,0:T(8,128)}`, or `f32[]` and a word behind a blank. The end, or
 * pos where anything is otherwise. */
static size_t find_plain_end(const tg_hlo_scanner *s, size_t pos) {
    const unsigned special = TG_HLO_BLANK | TG_HLO_OPEN | TG_HLO_CLOSE | TG_HLO_QUOTE | TG_HLO_SLASH;
    size_t         end = tg_hlo_span(s, pos, TG_HLO_WORD);
    if (end == pos || end == s->len || s->text[end] != '[') return pos;
    end = tg_hlo_find(s, end + 1, special);
    if (end + 3 > s->len || s->text[end] != ']') return pos;
    const char next = s->text[++end], then = s->text[end + 1];
    if (next == ' ' && (tg_hlo_class[(unsigned char)then] & TG_HLO_FIRST)) return end;
    if (next != '{' || then < '0' || then > '9') return pos;
    do end = tg_hlo_find(s, end + 1, TG_HLO_BLANK | TG_HLO_CLOSE | TG_HLO_QUOTE | TG_HLO_SLASH);
    while (end < s->len && s->text[end] == ')');
    return end < s->len && s->text[end] == '}' ? end + 1 : pos;
}

/* With blanks and comments wherever they may be. */
static bool skip_any_shape(tg_hlo_scanner *s, tg_hlo_brace brace) {
    const size_t start = s->pos, len = tg_hlo_skip_word(s);
    tg_hlo_skip_blanks(s);
    const int  next = tg_hlo_peek(s);
    const bool array = next == '[', buffer = next == '(' && len == 1 && s->text[start] == 'b';
    if (!array && !buffer) {
        s->pos = start;
        return false;
    }
    tg_hlo_skip_balanced(s);
    if (array) skip_layout(s, brace);
    return true;
}

bool tg_hlo_skip_shape(tg_hlo_scanner *s, tg_hlo_brace brace) {
    if (tg_hlo_peek(s) == '(') {
        tg_hlo_skip_balanced(s);
        return true;
    }
    if (!(tg_hlo_peek_class(s) & TG_HLO_FIRST)) return false;
    const size_t end = find_plain_end(s, s->pos);
    if (end == s->pos) return skip_any_shape(s, brace);
    s->pos = end;
    return true;
}

void tg_hlo_place(int64_t *line, int64_t *column, const char *text, size_t pos) {
    size_t start = 0;
    *line = 1;
    *column = 1;
    for (const char *end; (end = memchr(text + start, '\n', pos - start)) != NULL; ++*line)
        start = (size_t)(end - text) + 1;
    for (; start < pos; start++)
        if (((unsigned char)text[start] & 0xc0) != 0x80) ++*column;
}
