/* Pieces of what is said of a plan, as text and as JSON. */
#ifndef TG_GRAPH_REPORT_H
#define TG_GRAPH_REPORT_H

#include <tegula/plan_report.h>

#include "graph/json_text.h"

#include <string.h>

/* ---- report_words.c ---- */

/* A text of the module on one line: blanks become one, what a terminal would act on a '?'. */
void tg_put_plain(tg_writer *w, tg_hlo_text text);

/* "dot.3", or "node 12" if it has no name. */
void tg_put_node(tg_writer *w, const tg_graph *graph, int64_t node);

/* "1 copy", "2 copies": the word for one, and for several. */
void tg_put_count(tg_writer *w, int64_t n, const char *one, const char *several);

/* A number in a column of this width. */
void tg_put_column(tg_writer *w, int64_t value, int32_t width);

/* "1 byte", "9.50 KiB", "16.0 GiB". pre: nbytes >= 0. */
void tg_put_amount(tg_writer *w, int64_t nbytes);

/* "f16[128,256] spyre dim_order=[1,0]"; as torch-spyre writes it where it does not lay out all of its host tensor. */
void tg_put_layout(tg_writer *w, const tg_graph *graph, int64_t node, const tg_spyre *layout);

/* "dimension 1 of its result", "p4, which the result does not have,", "nothing" for a loop of a node. */
void tg_put_loop(tg_writer *w, const tg_graph *graph, int64_t node, int32_t loop);

/* The restickify that serves operand k of a node; -1 if none does. */
int64_t tg_find_copy(const tg_graph_plan *plan, int64_t node, int32_t k);

/* How a node's work is shared out; nothing is, if that fails. */
tg_division tg_report_divide(const tg_plan_report *r, int64_t node);

/* ---- report_values.c: JSON ---- */

/* What is no UTF-8 becomes '?'. */
void tg_json_bytes(tg_json *j, const char *key, const char *text, size_t len);

static inline void tg_json_hlo(tg_json *j, const char *key, tg_hlo_text text) {
    tg_json_bytes(j, key, text.chars, text.len);
}

static inline void tg_json_words(tg_json *j, const char *key, const char *text) {
    tg_json_bytes(j, key, text, strlen(text));
}

static inline void tg_json_bool(tg_json *j, const char *key, bool value) {
    tg_json_raw(j, key, value ? "true" : "false");
}

/* null for what there is none of. */
void tg_json_number(tg_json *j, const char *key, int64_t value, bool there);

/* The name of a node, "node 12" if it has none, and what stands behind it. */
void tg_json_name(tg_json *j, const char *key, const tg_graph *graph, int64_t node, const char *after);

static inline void tg_json_node(tg_json *j, const char *key, const tg_graph *graph, int64_t node) {
    tg_json_name(j, key, graph, node, "");
}

void tg_json_layout(tg_json *j, const char *key, const tg_graph *graph, int64_t node, const tg_spyre *layout);

/* ---- report_memory.c; pre: r->memory is there ---- */

void tg_put_memory_total(tg_writer *w, const tg_plan_report *r);
void tg_put_memory(tg_writer *w, const tg_plan_report *r); /* step by step */
/* The result of a node, and the copies of it. */
void tg_put_node_memory(tg_writer *w, const tg_plan_report *r, int64_t node);

#endif
