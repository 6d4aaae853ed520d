/* Complaints on standard error: one line that says what and why, and for text the place.
 *
 * The place is shown in one line of the text, however long or strange the text is: a line that is wider than the
 * terminal is cut to a window around the caret, and everything that could move the cursor (tabs, controls,
 * half characters) is shown as one column, so that the caret stands where it should. */
#include "cli.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

enum { INDENT = 2, DOTS = 3, LONGEST_MESSAGE = 4096 };

/* ---- one character of foreign text --------------------------------------------------- */

typedef struct glyph {
    size_t bytes;   /* that it takes in the text */
    int    columns; /* that it takes on the screen */
    bool   plain;   /* may be printed as it is; else one sign stands for it */
} glyph;

/* Marks that have no width of their own, but reorder or hide what is beside them. */
static bool is_hidden_mark(wchar_t c) {
    return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

static glyph glyph_at(const char *text, size_t len) {
    const glyph  strange = {1, 1, false};
    mbstate_t    state;
    wchar_t      wide = 0;
    memset(&state, 0, sizeof state);
    const size_t bytes = mbrtowc(&wide, text, len, &state);
    if (bytes == 0 || bytes > len) return strange;
    const int   columns = is_hidden_mark(wide) ? -1 : wcwidth(wide);
    const glyph whole = {bytes, columns < 0 ? 1 : columns, columns >= 0};
    return whole;
}

static void print_glyph(const char *text, glyph g, FILE *stream) {
    if (g.plain) fwrite(text, 1, g.bytes, stream);
    else fputc(*text == '\t' || *text == '\r' || *text == '\n' ? ' ' : '?', stream);
}

static void print_shown(const char *text, FILE *stream) {
    const size_t len = strlen(text);
    for (size_t i = 0; i < len;) {
        const glyph g = glyph_at(text + i, len - i);
        print_glyph(text + i, g, stream);
        i += g.bytes;
    }
}

/* ---- the line ------------------------------------------------------------------------ */

static void print_message(const char *what, const char *why) {
    const bool colour = cli_has_colour(stderr);
    fputs(colour ? "\033[1;31mtegula:\033[0m " : "tegula: ", stderr);
    print_shown(what, stderr);
    fputs(": ", stderr);
    print_shown(why, stderr);
    fputc('\n', stderr);
}

int cli_fail(int status, const char *what, const char *why, ...) {
    char    message[LONGEST_MESSAGE];
    va_list args;
    va_start(args, why);
    (void)vsnprintf(message, sizeof message, why, args);
    va_end(args);
    print_message(what, message);
    return status;
}

void cli_note(const char *what, ...) {
    char    message[LONGEST_MESSAGE];
    va_list args;
    va_start(args, what);
    (void)vsnprintf(message, sizeof message, what, args);
    va_end(args);
    fprintf(stderr, "tegula: note: %s\n", message);
}

int cli_status_of(tg_status status) {
    switch (status) {
    case TG_OK: return CLI_OK;
    case TG_ERR_UNREPRESENTABLE: return CLI_NO;
    case TG_ERR_NOMEM:
    case TG_ERR_IO: return CLI_IO;
    default: return CLI_USAGE;
    }
}

int cli_fail_error(const char *what, const tg_error *err) {
    print_message(what, err->message);
    return cli_status_of(err->status);
}

static bool is_word(const char *text, size_t at, const char *word) {
    const size_t len = strlen(word);
    const bool   begins = at == 0 || !(isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_');
    if (!begins || strncmp(text + at, word, len) != 0) return false;
    return !(isalnum((unsigned char)text[at + len]) || text[at + len] == '_');
}

int cli_fail_library(const char *what, const tg_error *err, const char *src) {
    static const char *const origins[] = {"plan: ", "threads: "}; /* the part of the library that speaks */
    char         message[LONGEST_MESSAGE] = "";
    const char  *from = err->message;
    size_t       at = 0;
    for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++)
        if (strncmp(from, origins[i], strlen(origins[i])) == 0) from += strlen(origins[i]);
    for (size_t i = 0; from[i] != '\0' && at + strlen(src) + 8 < sizeof message;) {
        const char *other = is_word(from, i, "dst") ? "--to" : is_word(from, i, "src") ? src : NULL;
        if (other == NULL) message[at++] = from[i++];
        else {
            memcpy(message + at, other, strlen(other));
            at += strlen(other);
            i += 3;
        }
    }
    message[at] = '\0';
    print_message(what, message);
    return cli_status_of(err->status);
}

/* ---- the place ------------------------------------------------------------------------ */

/* One line of a text, and the columns of it that are shown. */
typedef struct line {
    const char *bytes;
    size_t      len;
    int         columns; /* of the whole line */
    int         caret;   /* column of the place */
    int         left, right; /* columns shown: [left, right) */
} line;

static line line_around(const cli_text *text, size_t pos) {
    line   l = {text->bytes, text->len, 0, 0, 0, 0};
    size_t start = pos, end = pos;
    while (start > 0 && text->bytes[start - 1] != '\n') start--;
    while (end < text->len && text->bytes[end] != '\n') end++;
    l.bytes += start;
    l.len = end - start;
    for (size_t i = 0; i < l.len;) {
        const glyph g = glyph_at(l.bytes + i, l.len - i);
        if (i + g.bytes <= pos - start) l.caret += g.columns;
        l.columns += g.columns;
        i += g.bytes;
    }
    return l;
}

/* Show the whole line if it fits in `room` columns, else so much that the caret has two thirds before it. */
static void choose_window(line *l, int room) {
    l->right = l->columns;
    if (l->columns < room) return;
    l->left = l->caret - room * 2 / 3;
    if (l->left > l->columns + 1 - room) l->left = l->columns + 1 - room;
    if (l->left < DOTS) l->left = 0;
    if (l->columns - l->left >= room) l->right = l->left + room;
}

static void print_window(const line *l) {
    const int from = l->left > 0 ? l->left + DOTS : 0;
    const int to = l->right < l->columns ? l->right - DOTS : l->columns;
    int       column = 0, printed = from;
    if (l->left > 0) fputs("...", stderr);
    for (size_t i = 0; i < l->len && column < to;) {
        const glyph g = glyph_at(l->bytes + i, l->len - i);
        if (column >= from && column + g.columns <= to) {
            for (; printed < column; printed++) fputc(' ', stderr); /* half of a wide one was cut */
            print_glyph(l->bytes + i, g, stderr);
            printed += g.columns;
        }
        column += g.columns;
        i += g.bytes;
    }
    fputs(l->right < l->columns ? "...\n" : "\n", stderr);
}

static void print_place(const cli_text *text, size_t pos) {
    line l = line_around(text, pos);
    int  room = cli_columns(stderr) - INDENT;
    if (room < 4 * DOTS) room = 4 * DOTS;
    choose_window(&l, room);
    fprintf(stderr, "%*s", INDENT, "");
    print_window(&l);
    const char *caret = cli_has_colour(stderr) ? "\033[1;32m^\033[0m" : "^";
    fprintf(stderr, "%*s%s\n", INDENT + l.caret - l.left, "", caret);
}

static size_t line_number(const cli_text *text, size_t pos) {
    size_t n = 1;
    for (size_t i = 0; i < pos; i++) n += text->bytes[i] == '\n';
    return n;
}

int cli_fail_at(const cli_text *text, size_t pos, const char *why, ...) {
    const bool one_line = memchr(text->bytes, '\n', text->len) == NULL;
    char       what[128], message[LONGEST_MESSAGE];
    va_list    args;
    va_start(args, why);
    (void)vsnprintf(message, sizeof message, why, args);
    va_end(args);
    if (pos > text->len) pos = text->len;
    if (one_line) (void)snprintf(what, sizeof what, "%s", text->name);
    else (void)snprintf(what, sizeof what, "%s, line %zu", text->name, line_number(text, pos));
    print_message(what, message);
    if (text->len > 0) print_place(text, pos);
    return CLI_USAGE;
}

int cli_fail_reading(const cli_text *text, const tg_error *err) {
    if (cli_status_of(err->status) == CLI_IO) return cli_fail_error(text->name, err);
    (void)cli_fail_at(text, err->pos, "%s", err->message);
    if (text->is_argument && text->len > 0 && access(text->bytes, F_OK) == 0)
        fprintf(stderr, "%*sthis looks like a file name; a layout is text such as f16[2,3], and - reads it from "
                "standard input\n", INDENT, "");
    return CLI_USAGE; /* also where the library says "no": the question was never asked */
}
