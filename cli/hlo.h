/* What `tegula hlo` shows: the listing and the two reports; and what other commands on dumps share with it. */
#ifndef TEGULA_CLI_HLO_H
#define TEGULA_CLI_HLO_H

#include "cli.h"

#include <tegula/hlo_report.h>
#include <tegula/io.h>

/* The tree of a shape that was asked for last: tuples may have thousands of elements, and rows about each of them. */
typedef struct hlo_tree {
    int64_t       shape;
    size_t        count;
    tg_xla_shape *nodes; /* NULL: none yet */
} hlo_tree;

typedef struct hlo_view {
    const tg_hlo_module *module;
    tg_hlo_filter        filter;
    int64_t              limit; /* rows of a report, at most; -1: the report's own habit */
    bool                 json;
    hlo_tree            *tree;
} hlo_view;

/* Each returns an exit status, and has complained if that is not CLI_OK. */
int hlo_show_listing(const hlo_view *view);
int hlo_show_padding(const hlo_view *view);
int hlo_show_copies(const hlo_view *view);

/* ---- hlo_dump.c: the text itself ------------------------------------------------------ */

/* A text of any size, mapped or read. */
typedef struct hlo_dump {
    tg_file *file;
    char    *read; /* of standard input */
    cli_text text;
} hlo_dump;

int  hlo_open(hlo_dump *out, const char *path);
void hlo_close(hlo_dump *d);

/* Complains about a text that tg_hlo_parse refused. */
int hlo_fail_reading(const cli_text *text, tg_error *err);

/* ---- hlo_text.c: pieces of a dump in an answer --------------------------------------- */

/* As one line of a terminal: line breaks become blanks, what would move the cursor becomes `?`. */
void hlo_print(tg_hlo_text text);

/* "f32[1024,1]{1,0:T(8,128)}" of one node of a shape, to be freed. */
char *hlo_node_text(const tg_xla_shape *node);

/* Bytes that are no UTF-8 become `?`. */
json_t *hlo_json_text(tg_hlo_text text);

/* The tree of a shape, until the next one is asked for; NULL, having complained, if it cannot be read. */
const tg_xla_shape *hlo_nodes(size_t *count, const hlo_view *view, int64_t shape);

/* "main / dot.3 = f32[2]{0} dot"; shape may be NULL. */
void hlo_print_instruction(const tg_hlo_module *module, int64_t instruction, const char *shape);

/* The computation that an instruction is in. */
tg_hlo_computation hlo_computation_of(const tg_hlo_module *module, int64_t instruction);

/* "1.50x" */
const char *hlo_times(char buf[32], double factor);

/* "3 arrays", "1 array" */
const char *hlo_plural(char buf[64], int64_t n, const char *word);

#endif
