/* A graph as it is kept: flat tables, so that a graph of 100000 nodes is a few allocations.
 *
 * A node's operands are rows [first_operand, first_operand + noperands) of `accesses`, an access' terms rows
 * [first_term, ...) of `terms`; a node's own result is an access, too. Texts are pieces of `chars`. */
#ifndef TG_GRAPH_MODEL_H
#define TG_GRAPH_MODEL_H

#include <tegula/graph.h>

#include "hlo/hlo_array.h"

typedef struct tg_access_row {
    int64_t  node;
    int64_t  offset;
    uint32_t first_term, nterms;
} tg_access_row;

typedef struct tg_node_row {
    tg_node_kind kind;
    bool         on_device;
    bool         in_sticks; /* whatever is chosen, a loop of the result lies in its sticks */
    bool         carries; /* it came as TG_NODE_CARRY, and may have become a boundary */
    tg_format    format; /* of the result, if on_device */
    tg_host      host;
    size_t       name, opcode; /* in chars */
    uint32_t     name_len, opcode_len;
    size_t       variant; /* in chars */
    uint32_t     variant_len;
    int32_t      nloops;
    uint32_t     first_range;
    uint32_t     first_operand, noperands;
    tg_access_row result;
    uint32_t     no_stick;
    int32_t      in_channel, out_channel;
    uint32_t     no_split;
    tg_reduction reduction;
    int64_t      layout; /* row of `layouts`: what an input has, or is wanted; -1: the default, or any */
    int64_t      times;
    size_t       reason; /* in chars */
    uint32_t     reason_len;
    uint32_t     first_pin, npins, nwishes, ntiles; /* wishes stand behind the pins, and tiles behind them */
    uint32_t     first_window, nwindows;             /* in windows */
} tg_node_row;

TG_HLO_TABLE(tg_node_rows, tg_node_row)
TG_HLO_TABLE(tg_access_rows, tg_access_row)
TG_HLO_TABLE(tg_term_rows, tg_term)
TG_HLO_TABLE(tg_int_rows, int64_t)
TG_HLO_TABLE(tg_split_rows, tg_split)
TG_HLO_TABLE(tg_window_rows, tg_window)
TG_HLO_TABLE(tg_char_rows, char)
TG_HLO_TABLE(tg_spyre_rows, tg_spyre)
TG_HLO_TABLE(tg_output_rows, tg_output)
TG_HLO_TABLE(tg_loop_rows, tg_loop)

struct tg_graph {
    tg_node_rows   nodes;
    tg_access_rows accesses;
    tg_term_rows   terms;
    tg_int_rows    ranges;
    tg_char_rows   chars;
    tg_split_rows  pins;
    tg_window_rows windows;
    bool           device_formats; /* nothing but SEN169_FP16 is copied */
    tg_spyre_rows  layouts; /* of inputs, and wanted ones */
    tg_output_rows outputs;
    tg_loop_rows   loops; /* by `first`; of equal ones the longest first */
};

static inline const tg_node_row *tg_node_at(const tg_graph *g, int64_t id) { return &g->nodes.rows[id]; }

static inline const int64_t *tg_node_ranges(const tg_graph *g, const tg_node_row *n) {
    return g->ranges.rows + n->first_range;
}

static inline const tg_window *tg_node_windows(const tg_graph *g, const tg_node_row *n) {
    return g->windows.rows + n->first_window;
}

static inline tg_access tg_access_of(const tg_graph *g, const tg_access_row *row) {
    return (tg_access){row->node, row->offset, (int32_t)row->nterms, g->terms.rows + row->first_term};
}

static inline tg_access tg_operand_at(const tg_graph *g, const tg_node_row *n, int64_t k) {
    return tg_access_of(g, &g->accesses.rows[n->first_operand + k]);
}

tg_status tg_graph_no_memory(tg_error *err);

/* graph_check.c */

tg_status tg_check_host(const tg_host *host, tg_error *err);

/* The element behind the last one that a host tensor reaches; 0 if it has none. pre: tg_check_host. */
int64_t tg_host_end(const tg_host *host);

tg_status tg_check_node(const tg_graph *g, const tg_node *node, tg_error *err);

#endif
