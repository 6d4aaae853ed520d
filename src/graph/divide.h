/* Sharing the work of a node among cores. Every core runs the same program on its slice of each loop. */
#ifndef TG_GRAPH_DIVIDE_H
#define TG_GRAPH_DIVIDE_H

#include <tegula/rules.h>

#include "graph/coordinate.h"
#include "graph/plan.h"

/* A tensor of a node, as it is read or written. */
typedef struct tg_piece {
    tg_spyre  layout;
    tg_access access;
    tg_stick  stick;
    int32_t   operand; /* -1: the result */
} tg_piece;

/* A node whose work is being shared. */
typedef struct tg_share {
    const tg_graph           *g;
    const tg_graph_plan      *plan;
    const tg_division_params *params;
    int64_t                   node;
    const tg_node_row        *n;
    tg_work                   work;
    int64_t     stick[TG_MAX_LOOPS]; /* elements of the largest stick that the loop runs in; 1: it does not */
    const char *whole[TG_MAX_LOOPS]; /* why the loop is not split; NULL if it may be */
    uint32_t    masked;              /* loops that are whole because they are summed up over sticks that are not full */
    int64_t     limit;               /* bytes that a core may reach */
    uint32_t    wished;              /* loops that are split as the user wants it */
    uint32_t    tiled;               /* loops that are in tiles as the user wants it; sizes are those of a tile */
} tg_share;

static inline bool tg_has_loop(uint32_t loops, int32_t l) { return (loops >> l & 1) != 0; }

/* The layout that operand k (-1: the result) has when it is touched; false if it is not on the device. */
bool tg_take_piece(tg_piece *out, const tg_share *d, int32_t k);

/* divide_span.c: loops that move a coordinate of a tensor, those of windows among them. */
uint32_t tg_piece_loops(const tg_share *d, const tg_piece *p, const tg_coordinate *c);

/* Splits loops until no core reaches too far; false if nothing helps. */
bool tg_shorten_spans(tg_share *d);

/* Bytes that a core reaches in the longest of the node's tensors. */
int64_t tg_longest_span(const tg_share *d);

/* divide_tiles.c: tiles of each loop that the user wants. The share is then that of a tile. */
tg_status tg_wanted_tiles(int64_t *tiles, tg_share *d, tg_error *err);

/* The same file: tiles of the other loops, so that no core reaches too far in any of them; the share is then that of a
 * tile. False if nothing helps; tiles and share are as they were. */
bool tg_choose_tiles(int64_t *tiles, tg_share *d);

/* divide_pins.c: whether loop l can be in so many slices or tiles, which `pieces` says. */
tg_status tg_check_pieces(const tg_share *d, int32_t l, int64_t count, const char *pieces, tg_error *err);

/* The same file: what rules and users say of splits. Loops with a split of their own are no longer free. */
tg_status tg_pin_splits(tg_share *d, tg_error *err);

/* After spans have been shortened: pins are no excuse for a core that reaches too far. */
tg_status tg_check_pinned_span(const tg_share *before, const tg_share *after, bool in_span, tg_error *err);

/* Where each core works: slice number (core / radix) % splits of a loop has positions [number * chunk, + chunk) of it.
 * Loops in their order, the first one changes fastest from core to core; summed loops of a product before them. */
typedef struct tg_slicing {
    tg_division division;
    int64_t     chunk[TG_MAX_LOOPS], radix[TG_MAX_LOOPS];
} tg_slicing;

tg_status tg_slice_node(tg_slicing *out, const tg_graph *graph, const tg_graph_plan *plan, int64_t node,
                        const tg_division_params *params, tg_error *err);

#endif
