/* What the commands share: how a command is described, how it reads layouts, and how it answers.
 *
 * Every command answers on standard output, as text or with --json as one JSON value, and complains on
 * standard error as `tegula: <what>: <why>`. Functions here that can fail have complained when they return
 * a status other than CLI_OK, so a caller only passes the status on. */
#ifndef TEGULA_CLI_H
#define TEGULA_CLI_H

#ifndef _XOPEN_SOURCE
#  define _XOPEN_SOURCE 700
#endif

#include <tegula/tegula.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Exit statuses. Source: the contract, docs/command.md. */
enum { CLI_OK = 0, CLI_NO = 1, CLI_USAGE = 2, CLI_INFEASIBLE = 3, CLI_IO = 4 };

/* ---- commands (arguments.c) --------------------------------------------------- */

enum { CLI_MAX_OPTIONS = 17, CLI_MAX_ARGUMENTS = 2 };

typedef struct cli_option {
    const char *name;  /* without the dashes */
    const char *value; /* what its value is called in messages; NULL for a switch */
} cli_option;

typedef struct cli_args {
    bool        help, version, json;
    const char *option[CLI_MAX_OPTIONS];     /* values in the order of cli_command.options; NULL: not given */
    const char *argument[CLI_MAX_ARGUMENTS]; /* as many as the command names */
} cli_args;

typedef struct cli_command {
    const char *name;
    const char *summary;                      /* a line of `tegula --help` */
    const char *help;                         /* what `tegula NAME --help` prints */
    const char *arguments[CLI_MAX_ARGUMENTS]; /* names of the arguments; all are needed */
    cli_option  options[CLI_MAX_OPTIONS];     /* besides --json, --help and --version */
    const char *letters;                      /* short forms of the first options, `-o` for "o"; NULL: none */
    int (*run)(const cli_args *args);
} cli_command;

extern const cli_command cli_show, cli_explain, cli_index, cli_coord, cli_equal, cli_convert, cli_relayout, cli_dma,
    cli_view, cli_hlo, cli_plan, cli_draw;

/* Read argv[0 .. argc) of a command. Options may stand anywhere and be shortened; `--` ends them. An argument
 * such as `-1,0` is no option: none begins with a digit. */
int cli_parse_arguments(cli_args *out, const cli_command *command, int argc, char **argv);

/* The candidate that `word` was probably meant to be, or NULL. Candidates end with NULL. */
const char *cli_nearest(const char *word, const char *const *candidates);

/* The place of a word in a list that ends with NULL; or CLI_USAGE, and the complaint tells what there is. */
int cli_choose(int *out, const char *option, const char *word, const char *const *words);

/* ---- complaints (complain.c) ---------------------------------------------------- */

/* Foreign text that a message may point into. */
typedef struct cli_text {
    const char *name; /* what messages call it: "layout", "layout A", "standard input" */
    char       *bytes;
    size_t      len;
    bool        is_argument; /* the bytes are terminated, and may be a file name by mistake */
} cli_text;

/* Print `tegula: <what>: <why>` and return status. */
int cli_fail(int status, const char *what, const char *why, ...) __attribute__((format(printf, 3, 4)));

/* The same for an error of the library, with the status that belongs to it. */
int cli_fail_error(const char *what, const tg_error *err);

/* An error of the library about moving a tensor, in the words of the command: `dst` is --to, `src` is what the
 * caller says. */
int cli_fail_library(const char *what, const tg_error *err, const char *src);

/* Wrong usage, with the line of the text that holds byte `pos` and a caret under it. */
int cli_fail_at(const cli_text *text, size_t pos, const char *why, ...) __attribute__((format(printf, 3, 4)));

/* An error of the library while it read `text`: with the place, if the text is at fault. */
int cli_fail_reading(const cli_text *text, const tg_error *err);

/* Print `tegula: note: <what>`: worth knowing, and no failure. */
void cli_note(const char *what, ...) __attribute__((format(printf, 1, 2)));

int cli_status_of(tg_status status);

/* ---- standard output and the terminal (output.c) --------------------------------- */

/* Print a JSON value as one line and release it. */
int cli_print_json(json_t *value);
int cli_print_json_to(FILE *stream, json_t *value);

/* The same without the line end: a part of an answer that is printed as it is made. */
void cli_put_json(FILE *stream, json_t *value);

/* The members of an object, without its braces. */
void cli_put_json_members(FILE *stream, json_t *object);

/* Flush and close standard output; status, or CLI_IO if something could not be written. */
int cli_close_output(int status);

/* JSON building blocks. They end the program with CLI_IO when memory is out, so none returns NULL. */
json_t *cli_json_object(void);
json_t *cli_json_array(void);
json_t *cli_json_text(const char *text); /* bytes that are no UTF-8 become `?` */
json_t *cli_json_int(int64_t value);
json_t *cli_json_ints(const int64_t *values, int32_t n);
void    cli_json_put(json_t *object, const char *key, json_t *value);
void    cli_json_add(json_t *array, json_t *value);

/* The whole canonical text, to be freed. */
char *cli_canonical_text(const tg_desc *desc);

/* Memory that the program cannot go on without. */
void *cli_allocate(size_t nbytes);

bool cli_is_terminal(FILE *stream);
bool cli_has_colour(FILE *stream); /* a terminal, and neither NO_COLOR nor TERM=dumb says no */
int  cli_columns(FILE *stream);    /* width of the terminal, 80 if it is none */

/* "3,13,1000" */
void cli_print_ints(const int64_t *values, int32_t n, const char *separator);

/* "6.3 %" of `whole` > 0, halves up, into a buffer of 32. */
const char *cli_percent(char *buf, int64_t part, int64_t whole);

/* "187.5 KiB", into a buffer of 32. */
const char *cli_human_bytes(char *buf, int64_t nbytes);

/* ---- reading arguments (reading.c) ------------------------------------------------ */

/* CLI_OK the first time; `-` can stand for one argument only. */
int cli_claim_standard_input(void);

/* CLI_USAGE if a file has no name: `what` has an empty one. */
int cli_check_name(const char *what, const char *path);

/* The text that an argument stands for: itself, or all of standard input for `-`. Free text.bytes. */
int cli_read_text(cli_text *out, const char *name, const char *argument);

/* The layout that an argument stands for. */
int cli_read_layout(tg_desc *out, const char *name, const char *argument);

/* "3,13,1000", "(3, 13, 1000)", "[3,13,1000]"; "" and "()" have no numbers. At most cap are stored; `*n` counts
 * all. `place` receives the byte position of each number (may be NULL). */
int cli_read_ints(int64_t *values, size_t *place, int32_t cap, int32_t *n, const cli_text *text);

/* The coordinate of an element of the layout. */
int cli_read_coordinate(int64_t coord[TG_MAX_NDIM], const tg_layout *layout, const cli_text *text);

/* One whole number. */
int cli_read_int(int64_t *value, const cli_text *text);

/* The argument of the option `name`: a whole number from 1 to `most`. */
int cli_read_count(int64_t *count, const char *name, const char *argument, int32_t most);

/* A text that names itself after an argument, without reading standard input. */
cli_text cli_text_of(const char *name, const char *argument);

/* Where an element lies: offset * bits = 8 * byte + bit, bit in [0, 8) also for a negative offset (cmd_index.c). */
void cli_locate(int64_t *byte, int64_t *bit, int64_t offset, int32_t bits);

/* The lowest offset of the storage: 0, unless strides or an offset lead below it (cmd_coord.c). */
int64_t cli_first_offset(const tg_desc *desc);

/* ---- describing a layout (layout_json.c) ------------------------------------------- */

/* What storage holds, or why that is unknown. */
typedef struct cli_coverage {
    bool     known;
    bool     unique, exhaustive;
    int64_t  padding; /* elements of storage that hold no data */
    tg_error error;   /* if not known */
} cli_coverage;

void cli_get_coverage(cli_coverage *out, const tg_layout *layout);

/* The object of `tegula show --json`, added to `object`. */
int cli_put_layout(json_t *object, const tg_desc *desc);

/* Sizes of the memory modes, outermost first; returns their number. */
int32_t cli_memory_sizes(int64_t sizes[TG_MAX_MODES], const tg_layout *layout);

#endif
