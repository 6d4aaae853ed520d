/* tegula hlo: what an HLO text dump says, instruction by instruction or as a report. */
#include "hlo.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- options --------------------------------------------------------------------------- */

typedef int report(const hlo_view *view);

static int choose_report(report **out, const char *name) {
    static const char *const names[] = {"padding", "copies", NULL};
    static report *const     reports[] = {hlo_show_padding, hlo_show_copies};
    int                      which = 0;
    const int                status = name != NULL ? cli_choose(&which, "--report", name, names) : CLI_OK;
    *out = name != NULL && status == CLI_OK ? reports[which] : hlo_show_listing;
    return status;
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

/* An empty word would choose everything. */
static int check_words(const cli_args *args) {
    const char *computation = args->option[OPT_COMPUTATION], *opcode = args->option[OPT_OPCODE];
    const int   status = computation != NULL ? cli_check_name("--computation", computation) : CLI_OK;
    return status == CLI_OK && opcode != NULL ? cli_check_name("--opcode", opcode) : status;
}

/* The listing fails for a computation that is not there as the reports do. */
static int check_filter(const hlo_view *view) {
    const tg_hlo_text name = view->filter.computation;
    if (name.len == 0 || tg_hlo_find_computation(view->module, name) != TG_HLO_NONE) return CLI_OK;
    return cli_fail(CLI_USAGE, "--computation", "there is no computation %s; tegula hlo FILE lists them", name.chars);
}

static int show(const hlo_dump *d, const cli_args *args, report *shows, int64_t limit) {
    tg_hlo_module *module = NULL;
    hlo_tree       tree = {TG_HLO_NONE, 0, NULL};
    tg_error       err;
    if (tg_hlo_parse(&module, d->text.bytes, d->text.len, &err) != TG_OK) return hlo_fail_reading(&d->text, &err);
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
    hlo_dump d;
    int     status = choose_report(&shows, args->option[OPT_REPORT]);
    if (status == CLI_OK) status = read_limit(&limit, args->option[OPT_LIMIT], args->option[OPT_REPORT] != NULL);
    if (status == CLI_OK) status = check_words(args);
    if (status != CLI_OK) return status;
    status = hlo_open(&d, args->argument[0]);
    if (status == CLI_OK) status = show(&d, args, shows, limit);
    hlo_close(&d);
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
