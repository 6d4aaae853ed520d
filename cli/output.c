/* Standard output, JSON and the terminal. All that is written is checked once, when the program ends. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- standard output -------------------------------------------------------------- */

int cli_close_output(int status) {
    const bool failed_before = ferror(stdout) != 0;
    errno = 0;
    if (fclose(stdout) == 0 && !failed_before) return status;
    if (status != CLI_OK && status != CLI_NO) return status; /* the reason is already told */
    return cli_fail(CLI_IO, "standard output", "%s", errno != 0 ? strerror(errno) : "could not be written");
}

void cli_print_ints(const int64_t *values, int32_t n, const char *separator) {
    for (int32_t i = 0; i < n; i++) printf("%s%lld", i > 0 ? separator : "", (long long)values[i]);
}

const char *cli_percent(char *buf, int64_t part, int64_t whole) {
    enum { CAP = 32 };
    for (; whole > INT64_MAX / 2000; whole /= 2) part /= 2;
    const int64_t tenths = (part * 1000 + whole / 2) / whole;
    (void)snprintf(buf, CAP, "%lld.%lld %%", (long long)(tenths / 10), (long long)(tenths % 10));
    return buf;
}

const char *cli_human_bytes(char *buf, int64_t nbytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    enum { CAP = 32 };
    double value = (double)nbytes / 1024;
    size_t unit = 0;
    if (nbytes < 1024) {
        (void)snprintf(buf, CAP, nbytes == 1 ? "1 byte" : "%lld bytes", (long long)nbytes);
        return buf;
    }
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++) value /= 1024;
    (void)snprintf(buf, CAP, value < 10 ? "%.2f %s" : "%.1f %s", value, units[unit]);
    return buf;
}

/* ---- memory ------------------------------------------------------------------------- */

static void end_without_memory(void) {
    (void)cli_fail(CLI_IO, "memory", "there is not enough");
    exit(CLI_IO);
}

void *cli_allocate(size_t nbytes) {
    void *memory = malloc(nbytes > 0 ? nbytes : 1);
    if (memory == NULL) end_without_memory();
    return memory;
}

char *cli_canonical_text(const tg_desc *desc) {
    const size_t len = tg_desc_format(NULL, 0, desc);
    char        *text = cli_allocate(len + 1);
    (void)tg_desc_format(text, len + 1, desc);
    return text;
}

/* ---- JSON ---------------------------------------------------------------------------- */

static json_t *sure(json_t *value) {
    if (value == NULL) end_without_memory();
    return value;
}

json_t *cli_json_object(void) { return sure(json_object()); }
json_t *cli_json_array(void) { return sure(json_array()); }
json_t *cli_json_int(int64_t value) { return sure(json_integer(value)); }

json_t *cli_json_text(const char *text) {
    json_t *exact = json_string(text);
    if (exact != NULL) return exact;
    const size_t len = strlen(text);
    char        *ascii = cli_allocate(len + 1);
    for (size_t i = 0; i <= len; i++) ascii[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    json_t *value = sure(json_string(ascii));
    free(ascii);
    return value;
}

json_t *cli_json_ints(const int64_t *values, int32_t n) {
    json_t *array = cli_json_array();
    for (int32_t i = 0; i < n; i++) cli_json_add(array, cli_json_int(values[i]));
    return array;
}

void cli_json_put(json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value) != 0) end_without_memory();
}

void cli_json_add(json_t *array, json_t *value) {
    if (json_array_append_new(array, value) != 0) end_without_memory();
}

int cli_print_json(json_t *value) { return cli_print_json_to(stdout, value); }

/* To the stream directly: json_dumps of jansson 2.14 does not notice when its buffer cannot grow under a key. */
void cli_put_json(FILE *stream, json_t *value) {
    const int failed = json_dumpf(value, stream, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    json_decref(value);
    if (failed != 0 && !ferror(stream)) end_without_memory();
}

void cli_put_json_members(FILE *stream, json_t *object) {
    const int failed = json_dumpf(object, stream, JSON_COMPACT | JSON_EMBED | JSON_REAL_PRECISION(9));
    json_decref(object);
    if (failed != 0 && !ferror(stream)) end_without_memory();
}

int cli_print_json_to(FILE *stream, json_t *value) {
    cli_put_json(stream, value);
    fputc('\n', stream);
    return CLI_OK;
}

/* ---- the terminal --------------------------------------------------------------------- */

bool cli_is_terminal(FILE *stream) { return isatty(fileno(stream)) == 1; }

bool cli_has_colour(FILE *stream) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    const bool  refused = (no != NULL && *no != '\0') || (term != NULL && strcmp(term, "dumb") == 0);
    return !refused && cli_is_terminal(stream);
}

int cli_columns(FILE *stream) {
    struct winsize size = {0};
    if (!cli_is_terminal(stream) || ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
    return size.ws_col;
}
