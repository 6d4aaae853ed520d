/* What there is to choose: the candidates of every node, the ways in which each can work, and what each operand needs
 * of its producer's layout.
 *
 * Layouts are numbered; equal ones have one number. A node's candidates are numbers in `choices`, its modes are rows of
 * `modes`. For operand k of a node and each of its modes m and each candidate l of the producer, a byte says what is
 * needed:
 *     TG_FITS        nothing
 *     TG_IMPOSSIBLE  no restickify helps
 *     b >= 0         a copy with host dimension b in its sticks; from ndim on: b - ndim, with what is picked outermost
 * All copies of a tensor with the same b are the same copy. */
#ifndef TG_GRAPH_PROBLEM_H
#define TG_GRAPH_PROBLEM_H

#include "graph/rules.h"

enum { TG_FITS = -1, TG_IMPOSSIBLE = -2, TG_NO_LAYOUT = -1, TG_UNKNOWN_LAYOUT = -2 };

typedef struct tg_choice_row {
    uint32_t first_layout, nlayouts; /* in `choices` */
    uint32_t first_mode, nmodes;     /* in `modes` */
    uint32_t first_copy;             /* in `copies`: of layout l with form b, layout number; nlayouts * 2 * ndim */
    bool     has_copies;
} tg_choice_row;

typedef struct tg_layout_row {
    tg_spyre layout;
    int64_t  elements, bytes;
} tg_layout_row;

TG_HLO_TABLE(tg_choice_rows, tg_choice_row)
TG_HLO_TABLE(tg_mode_rows, tg_mode_row)
TG_HLO_TABLE(tg_layout_rows, tg_layout_row)
TG_HLO_TABLE(tg_id_rows, int32_t)
TG_HLO_TABLE(tg_need_rows, int8_t)
TG_HLO_TABLE(tg_offset_rows, uint64_t)

typedef struct tg_problem {
    const tg_graph *graph;
    tg_graph_params params;
    tg_choice_rows  nodes;
    tg_mode_rows    modes;
    tg_id_rows      choices; /* layout numbers, or TG_NO_LAYOUT */
    tg_layout_rows  layouts;
    uint32_t       *slots; /* layout numbers + 1 by hash */
    size_t          nslots;
    tg_id_rows      copies;
    tg_need_rows    needs;
    tg_offset_rows  need_at; /* of each row of graph->accesses */
} tg_problem;

tg_status tg_problem_make(tg_problem *out, const tg_graph *graph, const tg_graph_params *params, tg_error *err);
void      tg_problem_free(tg_problem *p);

static inline const tg_choice_row *tg_choice_at(const tg_problem *p, int64_t node) { return &p->nodes.rows[node]; }

static inline const tg_mode_row *tg_mode_at(const tg_problem *p, int64_t node, uint32_t m) {
    return &p->modes.rows[p->nodes.rows[node].first_mode + m];
}

/* The number of candidate l of a node. */
static inline int32_t tg_layout_number(const tg_problem *p, int64_t node, uint32_t l) {
    return p->choices.rows[p->nodes.rows[node].first_layout + l];
}

/* pre: it is on the device. */
static inline const tg_spyre *tg_candidate(const tg_problem *p, int64_t node, uint32_t l) {
    return &p->layouts.rows[tg_layout_number(p, node, l)].layout;
}

/* What operand k needs where the node works in mode m and the producer has candidate l. */
static inline int8_t tg_need(const tg_problem *p, int64_t node, uint32_t k, uint32_t m, uint32_t l) {
    const tg_graph *g = p->graph;
    const size_t    access = (size_t)tg_node_at(g, node)->first_operand + k;
    const uint32_t  nlayouts = p->nodes.rows[g->accesses.rows[access].node].nlayouts;
    return p->needs.rows[p->need_at.rows[access] + (uint64_t)m * nlayouts + l];
}

/* The price of a copy of candidate l of a node, in the model's unit. */
int64_t tg_price(const tg_problem *p, int64_t node, uint32_t l);

/* The layout of that copy; pre: some operand needs form b of it. */
const tg_spyre *tg_copy_layout(const tg_problem *p, int64_t node, uint32_t l, int8_t b);

/* Number of a layout, new or not. TG_ERR_OVERFLOW if its storage is too large, TG_ERR_NOMEM; *number is then -1. */
tg_status tg_number_layout(int32_t *number, tg_problem *p, const tg_spyre *layout, tg_error *err);

/* needs.c: fills in what a node's operands need; its modes are known. stick: of operand k and candidate l, in turn. */
tg_status tg_problem_need(tg_problem *p, int64_t node, const tg_stick *sticks, tg_error *err);

#endif
