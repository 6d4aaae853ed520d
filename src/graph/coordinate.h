/* Where an access goes, dimension by dimension.
 *
 * An access is one number, offset + step * v + ...; a dimension of stride s finds its coordinate as the digit of that
 * number at s. Each term finds its digits for itself:
 *
 *     size [256,64,2,64] stride [4096,64,1048576,1], v < 32 with step 128, w < 128 with step 1
 *       128 v   the largest stride up to 128 is 64: dimension 1 has 2v; the term ends at 4096, no larger stride below
 *       w       dimension 3 has w mod 64, and dimension 1, whose stride is below the end 128, has w / 64
 *
 * which is right as long as the terms do not carry into each other's digits: a digit with an offset may run over its
 * size. That is where the device stops, too. Where strides do not nest (64 in a dimension of 100) a digit is no simple
 * one for terms that go round both; such a part is marked as uneven. Source: torch-spyre, which overlooks that. */
#ifndef TG_GRAPH_COORDINATE_H
#define TG_GRAPH_COORDINATE_H

#include <tegula/graph.h>

/* floor(((step * v) mod wrap) / stride), where v is the number of a loop, taken modulo `modulus`; 0: no mod. */
typedef struct tg_part {
    int32_t loop;
    int64_t step, wrap, stride, modulus;
    bool    uneven; /* it is not quite that */
} tg_part;

typedef struct tg_coordinate {
    int32_t nparts;
    tg_part part[2 * TG_MAX_LOOPS];
    int64_t offset;
} tg_coordinate;

/* Sizes and strides that coordinates are asked for. */
typedef struct tg_dims {
    int32_t        ndim;
    const int64_t *size, *stride;
} tg_dims;

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
typedef enum tg_stick_kind {
    TG_STICK_NONE = 0, /* always the same place in the stick: its first */
    TG_STICK_LOOP,     /* one loop, element by element */
    TG_STICK_OFFSET,   /* the same, but it does not begin at the start of a stick */
    TG_STICK_BAD       /* anything else: the device has no way to say it */
} tg_stick_kind;

typedef struct tg_stick {
    tg_stick_kind kind;
    int32_t       loop;   /* of LOOP and OFFSET */
    uint32_t      others; /* loops in the other device dimensions, less the one in the stick */
    bool          unknown_outermost; /* the outermost device dimension of more than one position is indexed by data */
} tg_stick;

void tg_stick_of(tg_stick *out, const tg_spyre *layout, const int64_t *ranges, const tg_access *access);

/* S: loops in sticks; M: loops that some tensor has, but not in its stick. Compatible if S has one loop at most and M
 * does not have it. pre: all are NONE or LOOP. */
bool tg_sticks_compatible(const tg_stick *sticks, int32_t n);

#endif
