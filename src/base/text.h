/* Text without stdio: a writer that follows the snprintf rule, and a cursor for reading. */
#ifndef TG_BASE_TEXT_H
#define TG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends to a caller's buffer and counts what did not fit. */
typedef struct tg_writer {
    char  *buf;
    size_t cap;
    size_t len; /* of the whole text so far, whether it fitted or not */
} tg_writer;

static inline tg_writer tg_writer_make(char *buf, size_t cap) {
    const tg_writer w = {buf, cap, 0};
    return w;
}

void tg_put_char(tg_writer *w, char c);
void tg_put_text(tg_writer *w, const char *text);
void tg_put_bytes(tg_writer *w, const char *text, size_t len);
void tg_put_int(tg_writer *w, int64_t value);
/* "a,b,c" with the separator between. */
void tg_put_ints(tg_writer *w, const int64_t *values, int32_t n, const char *separator);
/* Terminates (cap > 0) and returns the whole length. */
size_t tg_writer_end(tg_writer *w);

/* A place in a text that is being read. */
typedef struct tg_cursor {
    const char *text;
    size_t      len;
    size_t      pos;
} tg_cursor;

static inline tg_cursor tg_cursor_make(const char *text, size_t len) {
    const tg_cursor c = {text, len, 0};
    return c;
}

static inline bool tg_at_end(const tg_cursor *c) { return c->pos >= c->len; }
/* The byte at the cursor, or -1 at the end. */
static inline int tg_peek(const tg_cursor *c) { return tg_at_end(c) ? -1 : (unsigned char)c->text[c->pos]; }

/* Space, tab, CR, LF. */
void tg_skip_blanks(tg_cursor *c);
/* Skip blanks, then take `ch` if it stands there. */
bool tg_take_char(tg_cursor *c, char ch);
/* Skip blanks, then take `word` if it stands there as a whole identifier [A-Za-z0-9_]. */
bool tg_take_word(tg_cursor *c, const char *word);
/* Skip blanks, then take the identifier [A-Za-z_][A-Za-z0-9_]* there; its length, 0 if none. */
size_t tg_take_name(tg_cursor *c, const char **name);
/* Skip blanks, then take -?[0-9]+. *found is false and nothing is taken where there is none.
 * Returns false, with nothing taken, if the number does not fit int64_t. */
bool tg_take_int(tg_cursor *c, int64_t *value, bool *found);

bool tg_text_equal(const char *text, size_t len, const char *word);

/* Bytes of the well-formed UTF-8 character at text, 0 if there is none; len >= 1. */
size_t tg_utf8_length(const unsigned char *text, size_t len);

#endif
