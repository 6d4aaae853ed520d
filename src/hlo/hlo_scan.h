/* The lexical side of HLO text: where words, strings, brackets, values and shapes end.
 *
 * A dump has two bytes of brackets, strings and values for one byte of anything else, and most of that is
 * never looked into. So there are no tokens here, only ways to get over things. */
#ifndef TG_HLO_HLO_SCAN_H
#define TG_HLO_HLO_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What never ends (a string, a comment, a bracket) is noted once as the fault, and the scanner is then at the
 * end of the text: so whoever reads on fails there, and the fault is what is told. */
typedef struct tg_hlo_scanner {
    const char *text;
    size_t      len, pos;
    const char *fault; /* NULL, or what does not end */
    size_t      fault_pos;
} tg_hlo_scanner;

static inline tg_hlo_scanner tg_hlo_scanner_make(const char *text, size_t len, size_t pos) {
    const tg_hlo_scanner s = {text, len, pos, NULL, 0};
    return s;
}

enum {
    TG_HLO_BLANK = 1, /* space, tab, CR, LF */
    TG_HLO_WORD = 2,  /* letters, digits, _ . - */
    TG_HLO_FIRST = 4, /* of these, what a word begins with: letters, _ */
    TG_HLO_OPEN = 8,
    TG_HLO_CLOSE = 16,
    TG_HLO_QUOTE = 32,
    TG_HLO_SLASH = 64,
    TG_HLO_COMMA = 128
};

extern const uint8_t tg_hlo_class[256];

/* The byte under the scanner, or -1 at the end. */
static inline int tg_hlo_peek(const tg_hlo_scanner *s) { return s->pos < s->len ? (unsigned char)s->text[s->pos] : -1; }

/* Its classes; 0 at the end. */
static inline unsigned tg_hlo_peek_class(const tg_hlo_scanner *s) {
    return s->pos < s->len ? tg_hlo_class[(unsigned char)s->text[s->pos]] : 0;
}

/* At a slash: over the comment, if it is one. */
bool tg_hlo_skip_comment(tg_hlo_scanner *s);

/* The first position from pos on whose byte has none of these classes, or the end. */
static inline size_t tg_hlo_span(const tg_hlo_scanner *s, size_t pos, unsigned classes) {
    while (pos < s->len && (tg_hlo_class[(unsigned char)s->text[pos]] & classes)) pos++;
    return pos;
}

/* The first position from pos on whose byte has one of these classes, or the end. */
static inline size_t tg_hlo_find(const tg_hlo_scanner *s, size_t pos, unsigned classes) {
    while (pos < s->len && !(tg_hlo_class[(unsigned char)s->text[pos]] & classes)) pos++;
    return pos;
}

/* Over blanks and comments. */
static inline void tg_hlo_skip_blanks(tg_hlo_scanner *s) {
    do s->pos = tg_hlo_span(s, s->pos, TG_HLO_BLANK);
    while ((tg_hlo_peek_class(s) & TG_HLO_SLASH) && tg_hlo_skip_comment(s));
}

/* Over the rest of a word; its length. */
static inline size_t tg_hlo_skip_word(tg_hlo_scanner *s) {
    const size_t start = s->pos;
    s->pos = tg_hlo_span(s, start, TG_HLO_WORD);
    return s->pos - start;
}

static inline bool tg_hlo_take(tg_hlo_scanner *s, char c) {
    if (tg_hlo_peek(s) != (unsigned char)c) return false;
    s->pos++;
    return true;
}

/* The text [start, start + len) is this word. */
bool tg_hlo_word_is(const tg_hlo_scanner *s, size_t start, size_t len, const char *word);

/* What follows the blanks here, without going there. */
int tg_hlo_peek_behind_blanks(const tg_hlo_scanner *s);

/* At a quote: over the string. A single quote without a partner on its line is a letter like others. */
void tg_hlo_skip_string(tg_hlo_scanner *s);

/* At an opening bracket: behind the closing one. Brackets count together, whatever their kinds. */
void tg_hlo_skip_balanced(tg_hlo_scanner *s);

/* At `{`: behind the closing brace by XLA's rule for JSON: only braces and "..." count. */
void tg_hlo_skip_json_dict(tg_hlo_scanner *s);

/* At the `{` of `{key="string",key={JSON}}`: behind the closing brace. */
void tg_hlo_skip_fields(tg_hlo_scanner *s);

/* Over one of: string, brackets, comment, any other byte. pre: not at the end. */
void tg_hlo_skip_item(tg_hlo_scanner *s);

/* What `{` behind an array may be, besides a layout. */
typedef enum tg_hlo_brace {
    TG_HLO_BRACE_LAYOUT,  /* nothing else: so `{}` is a layout */
    TG_HLO_BRACE_BODY,    /* of a computation, if no number or colon follows */
    TG_HLO_BRACE_LITERAL  /* if it does not touch the `]` */
} tg_hlo_brace;

/* The text of a shape, if one begins here: `(...)`, `b(...)`, `word[...]`, with the layout of the latter. */
bool tg_hlo_skip_shape(tg_hlo_scanner *s, tg_hlo_brace brace);

/* Line and column of a place, both from 1; columns count characters. */
void tg_hlo_place(int64_t *line, int64_t *column, const char *text, size_t pos);

#endif
