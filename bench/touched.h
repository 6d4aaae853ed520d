/* What a move would take if elements needed no work: the lines that it has to touch, copied as they are.
 *
 * A stick is 128 bytes. Where src and dst are contiguous along the same dimension, every stick of dst is loaded from
 * where its first element lies in src. Where they are not, n = 128 / width lines of src and as many sticks of dst
 * belong together: the n x n elements of a tile. Then n sticks of src are loaded and stored as the n sticks of dst,
 * without being transposed. Both in the order of dst. The result is not the move's; its time is what loads and
 * stores of this pattern cost on a machine, and no mover that reads each line once can be much faster. */
#ifndef BENCH_TOUCHED_H
#define BENCH_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>

#include <tegula/tegula.h>

typedef struct lines lines;

/* room: bytes that may be touched of dst and of src, from their starts. NULL where no such pattern fits: element sizes
 * that differ or are no whole bytes, sparse sticks, tiles of several levels, an edge past the room, other machines
 * than x86-64 with AVX-512. Exits if there is no memory. */
lines *lines_create(const tg_layout *dst_layout, const tg_layout *src_layout, void *dst, const void *src, size_t room);
void   lines_destroy(lines *l);

/* The argument is a lines *. */
void lines_run(void *l);        /* plain stores */
void lines_run_around(void *l); /* stores around the caches; the lines of the next tile are fetched meanwhile */
void lines_run_turned(void *l); /* no lines: as many tiles turned in the first-level cache (turned.h) */

/* Whether src and dst are contiguous along different dimensions. */
bool lines_turn(const lines *l);

#endif /* BENCH_TOUCHED_H */
