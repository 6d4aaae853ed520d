/* tegula hlo: what an HLO text dump says, instruction by instruction or as a report. */
#include "hlo.h"

#include <tegula/io.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char help[] =
    "tegula hlo - read an HLO text dump\n"
    "\n"
    "usage: tegula hlo FILE [--report padding|copies] [--computation NAME] [--opcode WORD] [--limit N] [--json]\n"
    "\n"
    "Prints the instructions of FILE, one a line: name, shape with its layout, opcode, operands. FILE is HLO text, as\n"
    "XLA dumps it (module_*.txt) and JAX prints it (compile().as_text()), old or new; `-` is standard input.\n"
    "\n"
    "  --report padding     which arrays are mostly padding: data and storage in bytes, which dimension and which "
    "tile\n"
    "                       level pads, and which order of dimensions or standard tiling would be cheaper; sums for\n"
    "                       each memory space\n"
    "  --report copies      copies, transposes, reshapes and bitcasts, and what they really do: move bytes into "
    "another\n"
    "                       layout, copy them as they are, or nothing; judged on all tile levels\n"
    "  --computation NAME   only this computation; also one inside a fusion, which reports leave out otherwise\n"
    "  --opcode WORD        only instructions with this opcode\n"
    "  --limit N            at most N rows of a report; as text 10 and 20 if not given. In text, arrays of one layout\n"
    "                       are one row; in JSON, which has all rows if not given, each has its own\n"
    "\n"
    "A report counts results of instructions. XLA may give two of them the same memory, so sums are no peak.\n"
    "\n"
    "example:\n"
    "  $ tegula hlo module_0001.jit_step.txt --report padding --limit 3\n";

enum { OPT_REPORT, OPT_COMPUTATION, OPT_OPCODE, OPT_LIMIT };

/* A text of any size, mapped or read. */
typedef struct dump {
    tg_file *file;
    char    *read; /* of standard input */
    cli_text text;
} dump;

static char nothing[1];

static int read_all(dump *out, FILE *stream) {
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

static int read_standard_input(dump *out) {
    const int status = cli_claim_standard_input();
    out->text = (cli_text){"standard input", nothing, 0, false};
    return status == CLI_OK ? read_all(out, stdin) : status;
}

/* What cannot be mapped: a pipe of the shell, `<(zcat dump.gz)`. */
static int read_pipe(dump *out, const char *path) {
    FILE *stream = fopen(path, "rb");
    out->text = (cli_text){path, nothing, 0, false};
    if (stream == NULL) return cli_fail(CLI_IO, path, "%s", strerror(errno));
    const int status = read_all(out, stream);
    (void)fclose(stream);
    return status;
}

static int open_dump(dump *out, const char *path) {
    tg_error    err;
    struct stat info;
    memset(out, 0, sizeof *out);
    if (strcmp(path, "-") == 0) return read_standard_input(out);
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return read_pipe(out, path);
    if (tg_file_open(&out->file, path, &err) != TG_OK) return cli_fail_error("file", &err);
    out->text = (cli_text){path, tg_file_bytes(out->file), (size_t)tg_file_nbytes(out->file), false};
    if (out->text.bytes == NULL) out->text.bytes = nothing; /* an empty file has no map */
    return CLI_OK;
}

static void close_dump(dump *d) {
    tg_file_destroy(&d->file);
    free(d->read);
}

/* ---- options --------------------------------------------------------------------------- */

typedef int report(const hlo_view *view);

static int choose_report(report **out, const char *name) {
    static const char *const names[] = {"padding", "copies", NULL};
    *out = hlo_show_listing;
    if (name == NULL) return CLI_OK;
    *out = hlo_show_padding;
    if (strcmp(name, names[0]) == 0) return CLI_OK;
    *out = hlo_show_copies;
    if (strcmp(name, names[1]) == 0) return CLI_OK;
    const char *nearest = cli_nearest(name, names);
    if (nearest != NULL)
        return cli_fail(CLI_USAGE, "--report", "there is no report '%s'; did you mean %s?", name, nearest);
    return cli_fail(CLI_USAGE, "--report", "there is no report '%s'; there are padding and copies", name);
}

static int read_limit(int64_t *out, const char *argument, bool is_report) {
    *out = -1;
    if (argument == NULL) return CLI_OK;
    if (!is_report) return cli_fail(CLI_USAGE, "--limit", "is for a --report");
    cli_text  text = cli_text_of("--limit", argument);
    int       status = cli_read_int(out, &text);
    if (status == CLI_OK && *out < 0) status = cli_fail_at(&text, 0, "the number of rows is 0 or more");
    free(text.bytes);
    return status;
}

/* A name from the command line; the `%` that HLO writes before names is no part of them. */
static tg_hlo_text word_of(const char *argument) {
    if (argument == NULL) return (tg_hlo_text){NULL, 0};
    if (*argument == '%') argument++;
    return (tg_hlo_text){argument, strlen(argument)};
}

/* The listing fails for a computation that is not there as the reports do. */
static int check_filter(const hlo_view *view) {
    const tg_hlo_text name = view->filter.computation;
    if (name.len == 0 || tg_hlo_find_computation(view->module, name) != TG_HLO_NONE) return CLI_OK;
    return cli_fail(CLI_USAGE, "--computation", "there is no computation %s; tegula hlo FILE lists them", name.chars);
}

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
static int fail_reading(const cli_text *text, tg_error *err) {
    const char *other = what_it_is(text);
    if (other != NULL) return cli_fail(CLI_USAGE, text->name, "%s", other);
    int line = 0, column = 0, words = 0;
    if (sscanf(err->message, "line %d, column %d: %n", &line, &column, &words) == 2 && words > 0)
        memmove(err->message, err->message + words, strlen(err->message + words) + 1);
    return cli_fail_reading(text, err);
}

static int show(const dump *d, const cli_args *args, report *shows, int64_t limit) {
    tg_hlo_module *module = NULL;
    hlo_tree       tree = {TG_HLO_NONE, 0, NULL};
    tg_error       err;
    if (tg_hlo_parse(&module, d->text.bytes, d->text.len, &err) != TG_OK) return fail_reading(&d->text, &err);
    const hlo_view view = {module,
                           {word_of(args->option[OPT_COMPUTATION]), word_of(args->option[OPT_OPCODE])},
                           limit,
                           args->json,
                           &tree};
    int status = check_filter(&view);
    if (status == CLI_OK) status = shows(&view);
    free(tree.nodes);
    tg_hlo_destroy(&module);
    return status;
}

static int run(const cli_args *args) {
    report *shows = NULL;
    int64_t limit = -1;
    dump    d;
    int     status = choose_report(&shows, args->option[OPT_REPORT]);
    if (status == CLI_OK) status = read_limit(&limit, args->option[OPT_LIMIT], args->option[OPT_REPORT] != NULL);
    if (status != CLI_OK) return status;
    status = open_dump(&d, args->argument[0]);
    if (status == CLI_OK) status = show(&d, args, shows, limit);
    close_dump(&d);
    return status;
}

const cli_command cli_hlo = {
    .name = "hlo",
    .summary = "read an HLO text dump; report padding and copies",
    .help = help,
    .arguments = {"FILE"},
    .options = {{"report", "padding or copies"},
                {"computation", "a name"},
                {"opcode", "a word"},
                {"limit", "a number"}},
    .run = run,
};
