/* Arguments to values: layouts, coordinates, numbers. `-` stands for standard input, which is read once. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_TEXT = 1 << 20 }; /* of a layout on standard input; tuples of real programs have some 100 KiB */

cli_text cli_text_of(const char *name, const char *argument) {
    const size_t   len = strlen(argument);
    const cli_text text = {name, cli_allocate(len + 1), len, true};
    memcpy(text.bytes, argument, len + 1);
    return text;
}

int cli_check_name(const char *what, const char *path) {
    return *path != '\0' ? CLI_OK : cli_fail(CLI_USAGE, what, "the name is empty");
}

int cli_claim_standard_input(void) {
    static bool taken = false;
    if (taken) return cli_fail(CLI_USAGE, "standard input", "`-` can stand for one argument only");
    taken = true;
    return CLI_OK;
}

static int read_standard_input(cli_text *out) {
    cli_text text = {"standard input", NULL, 0, false};
    int      status = cli_claim_standard_input();
    if (status != CLI_OK) return status;
    text.bytes = cli_allocate(LONGEST_TEXT + 1);
    text.len = fread(text.bytes, 1, LONGEST_TEXT + 1, stdin);
    if (ferror(stdin)) status = cli_fail(CLI_IO, text.name, "%s", strerror(errno));
    else if (text.len > LONGEST_TEXT)
        status = cli_fail(CLI_USAGE, text.name, "longer than %d bytes, which no layout is", LONGEST_TEXT);
    if (status != CLI_OK) {
        free(text.bytes);
        return status;
    }
    while (text.len > 0 && strchr(" \t\r\n", text.bytes[text.len - 1]) != NULL && text.bytes[text.len - 1] != '\0')
        text.len--;
    *out = text;
    return CLI_OK;
}

int cli_read_text(cli_text *out, const char *name, const char *argument) {
    if (strcmp(argument, "-") == 0) return read_standard_input(out);
    *out = cli_text_of(name, argument);
    return CLI_OK;
}

int cli_read_layout(tg_desc *out, const char *name, const char *argument) {
    cli_text text;
    tg_error err;
    int      status = cli_read_text(&text, name, argument);
    if (status != CLI_OK) return status;
    if (tg_desc_parse(out, text.bytes, text.len, &err) != TG_OK) status = cli_fail_reading(&text, &err);
    free(text.bytes);
    return status;
}

/* ---- numbers -------------------------------------------------------------------------- */

static size_t skip_blanks(const cli_text *text, size_t at) {
    while (at < text->len && (text->bytes[at] == ' ' || text->bytes[at] == '\t')) at++;
    return at;
}

static bool is_digit_at(const cli_text *text, size_t at) {
    return at < text->len && text->bytes[at] >= '0' && text->bytes[at] <= '9';
}

static int take_int(int64_t *value, size_t *at, const cli_text *text) {
    const size_t start = *at;
    const bool   negative = start < text->len && text->bytes[start] == '-';
    size_t       i = start + negative;
    int64_t      v = 0;
    if (!is_digit_at(text, i)) return cli_fail_at(text, start, "expected a whole number");
    for (; is_digit_at(text, i); i++) {
        const int64_t digit = text->bytes[i] - '0';
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, negative ? -digit : digit, &v))
            return cli_fail_at(text, start, "this number does not fit 64 bits");
    }
    *value = v;
    *at = i;
    return CLI_OK;
}

int cli_read_int(int64_t *value, const cli_text *text) {
    size_t    at = skip_blanks(text, 0);
    const int status = take_int(value, &at, text);
    if (status != CLI_OK) return status;
    at = skip_blanks(text, at);
    return at == text->len ? CLI_OK : cli_fail_at(text, at, "expected one whole number and nothing after it");
}

/* Of what is beyond 64 bits strtoll makes the last number that has them, which is no count either. */
int cli_read_count(int64_t *count, const char *name, const char *argument, int32_t most) {
    char         *end = NULL;
    const int64_t value = strtoll(argument, &end, 10);
    if (end != argument && end[strspn(end, " \t")] == '\0' && value >= 1 && value <= most) {
        *count = value;
        return CLI_OK;
    }
    cli_text  text = cli_text_of(name, argument);
    const int status = cli_fail_at(&text, 0, "expected a whole number from 1 to %d", most);
    free(text.bytes);
    return status;
}

/* The bracket that closes the one at `at`, or 0 if there is none. */
static char closing_of(const cli_text *text, size_t at) {
    const char open = at < text->len ? text->bytes[at] : '\0';
    return (char)(open == '(' ? ')' : open == '[' ? ']' : '\0');
}

static bool is_at(const cli_text *text, size_t at, char c) { return at < text->len && text->bytes[at] == c; }

/* Numbers with commas between them, up to the end of the text or a bracket. */
static int take_list(int64_t *values, size_t *place, int32_t cap, int32_t *n, size_t *at, const cli_text *text) {
    for (*n = 0;; ++*at) {
        int64_t value = 0;
        *at = skip_blanks(text, *at);
        const size_t start = *at;
        const int    status = take_int(&value, at, text);
        if (status != CLI_OK) return status;
        if (*n < cap) {
            values[*n] = value;
            if (place != NULL) place[*n] = start;
        }
        ++*n;
        *at = skip_blanks(text, *at);
        if (!is_at(text, *at, ',')) return CLI_OK;
    }
}

int cli_read_ints(int64_t *values, size_t *place, int32_t cap, int32_t *n, const cli_text *text) {
    size_t     at = skip_blanks(text, 0);
    const char close = closing_of(text, at);
    int        status = CLI_OK;
    *n = 0;
    if (close != '\0') at = skip_blanks(text, at + 1);
    if (at < text->len && !is_at(text, at, close)) status = take_list(values, place, cap, n, &at, text);
    if (status != CLI_OK) return status;
    if (close != '\0' && !is_at(text, at, close))
        return cli_fail_at(text, at, close == ')' ? "expected , or )" : "expected , or ]");
    at = skip_blanks(text, at + (close != '\0'));
    return at == text->len ? CLI_OK : cli_fail_at(text, at, "expected a comma between the numbers, as in 3,13,1000");
}

/* ---- coordinates -------------------------------------------------------------------------- */

enum { MOST_NUMBERS = TG_MAX_NDIM + 1 }; /* so that the first one too many has a place */

/* Where a further number would stand: before the closing bracket, if there is one. */
static size_t end_of_numbers(const cli_text *text) {
    size_t at = text->len;
    while (at > 0 && strchr(" \t", text->bytes[at - 1]) != NULL) at--;
    return at > 0 && strchr(")]", text->bytes[at - 1]) != NULL ? at - 1 : at;
}

int cli_read_coordinate(int64_t coord[TG_MAX_NDIM], const tg_layout *layout, const cli_text *text) {
    int64_t  value[MOST_NUMBERS] = {0};
    size_t   place[MOST_NUMBERS] = {0};
    int32_t  n = 0;
    tg_error err;
    const int status = cli_read_ints(value, place, MOST_NUMBERS, &n, text);
    if (status != CLI_OK) return status;
    if (n != layout->ndim)
        return cli_fail_at(text, n > layout->ndim ? place[layout->ndim] : end_of_numbers(text),
                           "%d number%s, but the layout has %d dimension%s", n, n == 1 ? "" : "s", layout->ndim,
                           layout->ndim == 1 ? "" : "s");
    memcpy(coord, value, TG_MAX_NDIM * sizeof coord[0]);
    if (tg_layout_in_bounds(layout, coord, &err)) return CLI_OK;
    return cli_fail_at(text, err.dim >= 0 && err.dim < n ? place[err.dim] : 0, "%s", err.message);
}
