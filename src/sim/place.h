/* Where a kernel finds the elements of a tensor: in sticks, as the device does.
 *
 * The device runs one loop in its lanes. It works out where a stick is from the loops around and from the number of the
 * first lane, and takes the stick as it lies there, lane by lane:
 *
 *     x[i,j], j in the lanes, x in sticks along j      lane j mod 64 of stick j / 64 of row i
 *     the same with x in sticks along i                lane j mod 64 of the stick that has x[i, 64 * (j / 64)]: a wrong
 *                                                      one, which is what the rules are there to prevent
 *     y[i], without j                                  lane 0 of its stick, for all lanes
 *
 * Each loop adds its own to the place in a tile, by a table; where that does not hold (digits carry, the wrong loop in
 * sticks) every element is worked out for itself. */
#ifndef TG_SIM_PLACE_H
#define TG_SIM_PLACE_H

#include "sim/job.h"
#include "sim/sim_tile.h"

enum { TG_NO_LANES = -1 };
#define TG_NOWHERE INT64_MIN

/* An access to a tile. */
typedef struct tg_places {
    const tg_job  *job;
    const tg_tile *tile;
    tg_access      access;
    int32_t        operand; /* -1: the result */
    int32_t        lane;    /* loop in the lanes; TG_NO_LANES */
    int64_t        extent[TG_MAX_ALL_LOOPS]; /* how far each loop goes */
    int32_t        inner;   /* the loop that rows go along; -1: rows have one element */
    const int64_t *first;   /* of each loop, where the operand is a piece; else 0 */
    tg_number *const *values; /* of the nodes that indices come from */
    int32_t        apart;   /* a loop that tg_place_row leaves out, too; -1: none */
    int32_t        ndims, dims[TG_MAX_NDIM]; /* of the host, by decreasing stride, those without one left out */
    bool           even;    /* tables are right */
    bool           plain;   /* the inner table counts 0, 1, 2, ... or does not move */
    int64_t        inner_step; /* where plain */
    int64_t        base;
    int64_t       *table[TG_MAX_ALL_LOOPS]; /* NULL: adds nothing */
} tg_places;

/* pre: job, tile, access, operand, lane, extent, inner, first and values are set; apart may be, later. */
tg_status tg_places_make(tg_places *p, tg_error *err);
void      tg_places_free(tg_places *p);

/* The place in the tile at these numbers of the loops, or TG_NOWHERE. */
int64_t tg_place_at(const tg_places *p, const int64_t *at);

/* Places of a row from `at` on: *start + i * inner_step, if plain; else write them. False: use places. */
bool tg_place_row(int64_t *start, int64_t *places, const tg_places *p, const int64_t *at, int64_t n);

#endif
