/* The dump that a command is given: a file, a pipe or standard input, of any size. */
#include "hlo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char nothing[1];

static int read_all(hlo_dump *out, FILE *stream) {
    size_t cap = 1 << 16;
    out->read = cli_allocate(cap);
    for (;;) {
        out->text.len += fread(out->read + out->text.len, 1, cap - out->text.len, stream);
        if (out->text.len < cap) break;
        char *more = cap <= SIZE_MAX / 2 ? realloc(out->read, cap * 2) : NULL;
        if (more == NULL) return cli_fail(CLI_IO, out->text.name, "there is not enough memory for it");
        out->read = more;
        cap *= 2;
    }
    out->text.bytes = out->read;
    return ferror(stream) ? cli_fail(CLI_IO, out->text.name, "%s", strerror(errno)) : CLI_OK;
}

static int read_standard_input(hlo_dump *out) {
    const int status = cli_claim_standard_input();
    out->text = (cli_text){"standard input", nothing, 0, false};
    return status == CLI_OK ? read_all(out, stdin) : status;
}

/* What cannot be mapped: a pipe of the shell, `<(zcat dump.gz)`. */
static int read_pipe(hlo_dump *out, const char *path) {
    FILE *stream = fopen(path, "rb");
    out->text = (cli_text){path, nothing, 0, false};
    if (stream == NULL) return cli_fail(CLI_IO, path, "%s", strerror(errno));
    const int status = read_all(out, stream);
    (void)fclose(stream);
    return status;
}

int hlo_open(hlo_dump *out, const char *path) {
    tg_error    err;
    struct stat info;
    memset(out, 0, sizeof *out);
    if (strcmp(path, "-") == 0) return read_standard_input(out);
    if (cli_check_name("file", path) != CLI_OK) return CLI_USAGE;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return read_pipe(out, path);
    if (tg_file_open(&out->file, path, &err) != TG_OK) return cli_fail_error("file", &err);
    out->text = (cli_text){path, tg_file_bytes(out->file), (size_t)tg_file_nbytes(out->file), false};
    if (out->text.bytes == NULL) out->text.bytes = nothing; /* an empty file has no map */
    return CLI_OK;
}

void hlo_close(hlo_dump *d) {
    tg_file_destroy(&d->file);
    free(d->read);
}

/* ---- what is no dump -------------------------------------------------------------------- */

static bool begins_with(const cli_text *text, const char *word) {
    const size_t len = strlen(word);
    return text->len >= len && memcmp(text->bytes, word, len) == 0;
}

/* What is often taken for HLO text. */
static const char *what_it_is(const cli_text *text) {
    if (begins_with(text, "module ") || begins_with(text, "#loc") || begins_with(text, "func."))
        return "this is MLIR, as lowered.as_text() prints it; compile().as_text() and lowered.as_text('hlo') print HLO";
    if (begins_with(text, "\x1f\x8b")) return "this is compressed with gzip; tegula hlo <(zcat FILE) reads it";
    if (text->len > 0 && memchr(text->bytes, '\0', text->len) != NULL)
        return "this is no text; HLO protos are not read";
    return NULL;
}

/* The complaint shows the place itself, so its words need not. */
int hlo_fail_reading(const cli_text *text, tg_error *err) {
    const char *other = what_it_is(text);
    if (other != NULL) return cli_fail(CLI_USAGE, text->name, "%s", other);
    int line = 0, column = 0, words = 0;
    if (sscanf(err->message, "line %d, column %d: %n", &line, &column, &words) == 2 && words > 0)
        memmove(err->message, err->message + words, strlen(err->message + words) + 1);
    return cli_fail_reading(text, err);
}
