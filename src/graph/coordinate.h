/* Where an access goes, dimension by dimension, by the rule of transfer/read_rule.h; with the offset where it really
 * is, because what is planned has to be right. */
#ifndef TG_GRAPH_COORDINATE_H
#define TG_GRAPH_COORDINATE_H

#include <tegula/graph.h>

#include "transfer/read_rule.h"

/* floor(((step * v) mod wrap) / stride), where v is the number of a loop, taken modulo `modulus`; 0: no mod. */
typedef struct tg_part {
    int32_t loop;
    int64_t step, wrap, stride, modulus;
    int64_t range; /* v stays below this; a piece of a result is shorter than the loop */
    bool    uneven; /* it is not quite that */
} tg_part;

typedef struct tg_coordinate {
    int32_t nparts;
    tg_part part[2 * TG_MAX_LOOPS];
    int64_t offset;
} tg_coordinate;

static inline tg_dims tg_device_dims(const tg_spyre *l) { return (tg_dims){l->rank, l->device_size, l->stride_map}; }
static inline tg_dims tg_host_dims(const tg_host *h) { return (tg_dims){h->ndim, h->shape, h->strides}; }

/* What tg_graph_add checks of an access, for one that no graph has. */
tg_status tg_check_access(int32_t nloops, const tg_access *access, tg_error *err);

/* ranges: of the loops. pre: the access was checked by tg_graph_add. */
void tg_coordinate_of(tg_coordinate *out, const tg_dims *dims, int32_t d, const int64_t *ranges,
                      const tg_access *access);

/* Loops in a coordinate, as bits; TG_LOOP_UNKNOWN is not among them. */
uint32_t tg_coordinate_loops(const tg_coordinate *c);

/* The loop that the coordinate is, and nothing more: v, or v mod `modulus`, the offset not looked at; -1 if it is
 * something else. *modulus is 0 for v itself. */
int32_t tg_coordinate_single(int64_t *modulus, const tg_coordinate *c, const int64_t *ranges);

/* What an access has in the sticks of a layout. */
typedef struct tg_stick {
    tg_stick_kind kind;
    int32_t       loop;   /* of LOOP and OFFSET */
    uint32_t      others; /* loops in the other device dimensions, less the one in the stick */
    bool          unknown_outermost; /* data indexes the outermost device dimension that has several places, or none */
} tg_stick;

void tg_stick_of(tg_stick *out, const tg_spyre *layout, const int64_t *ranges, const tg_access *access);

/* S: loops in sticks; M: loops that some tensor has, but not in its stick. Compatible if S has one loop at most and M
 * does not have it. pre: all are NONE or LOOP. */
bool tg_sticks_compatible(const tg_stick *sticks, int32_t n);

#endif
