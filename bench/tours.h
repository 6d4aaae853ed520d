/* In which order the tiles of a move are visited (touched.h).
 *
 *     dst     as they follow each other in dst
 *     src     in src
 *     bands   8 along dst, then on in src, as in src/kernels/rows.c
 *     blocks  16 along dst, 32 steps on in src, then the next 16: lines that two bands read are still in a cache */
#ifndef BENCH_TOURS_H
#define BENCH_TOURS_H

#include "touched.h"

enum { LEAST_LOOPS = 3, MOST_TOURS = 3 * MOST_NESTS };

typedef enum tour_order { ORDER_DST, ORDER_SRC, ORDER_BANDS, ORDER_BLOCKS, TOUR_ORDERS } tour_order;

/* LEAST_LOOPS at least; and how much further in src the tiles are that come after 8 KiB, from any tile. */
typedef struct tour {
    nest    nest;
    int64_t next;
} tour;

/* Part i of n of all tiles, cut in an outer loop. out: MOST_TOURS. Returns how many there are: 0 where the order is no
 * other than that of dst. */
int32_t tours_find(tour *out, const touched *t, tour_order order, int64_t i, int64_t n);

#endif /* BENCH_TOURS_H */
