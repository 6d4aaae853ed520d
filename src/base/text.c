#include "base/text.h"

#include "base/checked.h"

#include <string.h>

void tg_put_char(tg_writer *w, char c) {
    if (w->len < SIZE_MAX) {
        if (w->len + 1 < w->cap) w->buf[w->len] = c;
        w->len++;
    }
}

void tg_put_bytes(tg_writer *w, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) tg_put_char(w, text[i]);
}

void tg_put_text(tg_writer *w, const char *text) { tg_put_bytes(w, text, strlen(text)); }

void tg_put_int(tg_writer *w, int64_t value) {
    char     digits[20]; /* 2^63 has 19 */
    size_t   n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (value < 0) tg_put_char(w, '-');
    while (n > 0) tg_put_char(w, digits[--n]);
}

void tg_put_ints(tg_writer *w, const int64_t *values, int32_t n, const char *separator) {
    for (int32_t i = 0; i < n; i++) {
        if (i > 0) tg_put_text(w, separator);
        tg_put_int(w, values[i]);
    }
}

size_t tg_writer_end(tg_writer *w) {
    if (w->cap > 0) w->buf[w->len < w->cap ? w->len : w->cap - 1] = '\0';
    return w->len;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_name_start(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_name_char(int c) { return is_name_start(c) || is_digit(c); }

void tg_skip_blanks(tg_cursor *c) {
    while (!tg_at_end(c)) {
        const int ch = tg_peek(c);
        if (ch != ' ' && ch != '\t' && ch != '\r' && ch != '\n') return;
        c->pos++;
    }
}

bool tg_take_char(tg_cursor *c, char ch) {
    tg_skip_blanks(c);
    if (tg_peek(c) != (unsigned char)ch) return false;
    c->pos++;
    return true;
}

size_t tg_take_name(tg_cursor *c, const char **name) {
    tg_skip_blanks(c);
    const size_t start = c->pos;
    if (!is_name_start(tg_peek(c))) return 0;
    while (is_name_char(tg_peek(c))) c->pos++;
    *name = c->text + start;
    return c->pos - start;
}

bool tg_take_word(tg_cursor *c, const char *word) {
    tg_cursor    ahead = *c;
    const char  *name = NULL;
    const size_t len = tg_take_name(&ahead, &name);
    if (len == 0 || !tg_text_equal(name, len, word)) return false;
    *c = ahead;
    return true;
}

bool tg_take_int(tg_cursor *c, int64_t *value, bool *found) {
    tg_skip_blanks(c);
    tg_cursor  ahead = *c;
    const bool negative = tg_peek(&ahead) == '-';
    int64_t    v = 0;
    if (negative) ahead.pos++;
    *found = is_digit(tg_peek(&ahead));
    if (!*found) return true;
    for (; is_digit(tg_peek(&ahead)); ahead.pos++) {
        const int digit = tg_peek(&ahead) - '0';
        if (!tg_mul(&v, v, 10) || !tg_add(&v, v, negative ? -digit : digit)) return false;
    }
    *value = v;
    *c = ahead;
    return true;
}

bool tg_text_equal(const char *text, size_t len, const char *word) {
    return strlen(word) == len && memcmp(text, word, len) == 0;
}

/* Source: Unicode, table 3-7. */
size_t tg_utf8_length(const unsigned char *text, size_t len) {
    const unsigned char c = text[0];
    const size_t n = c < 0x80                ? 1
                     : c >= 0xc2 && c < 0xe0 ? 2
                     : c >= 0xe0 && c < 0xf0 ? 3
                     : c >= 0xf0 && c < 0xf5 ? 4
                                             : 0;
    if (n == 0 || n > len) return 0;
    for (size_t i = 1; i < n; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    if (n == 1) return 1;
    const unsigned char second = text[1];
    if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second >= 0xa0) || (c == 0xf0 && second < 0x90) ||
        (c == 0xf4 && second >= 0x90))
        return 0;
    return n;
}
