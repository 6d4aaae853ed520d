/* Cells: up to 1024 bytes without a gap on both sides, whose elements change places, in all cells alike.
 *
 *     u8[8,4,8,N,M]{0,1,2,3,4} to {2,1,0,4,3}     cells of 256 bytes, N x M of them elsewhere
 *
 * Where each byte of a cell comes from is listed once; then a cell is a few shuffles, whatever it looks like inside. */
#ifndef TG_KERNELS_CELLS_H
#define TG_KERNELS_CELLS_H

#include "kernels/move.h"

enum { TG_CELL_BYTES = 1024, TG_CELL_VECTORS = TG_CELL_BYTES / 64 };

typedef struct tg_cells {
    _Alignas(64) uint8_t low[TG_CELL_BYTES]; /* with AVX-512: of each byte of dst, its place in a vector of src, */
    uint64_t from[TG_CELL_VECTORS][TG_CELL_VECTORS]; /* and which bytes of vector j come from vector k */
    uint16_t place[TG_CELL_BYTES]; /* of each byte of dst, where it is in src */
    int64_t  unit;     /* bytes that stay together: 1, 2, 4, 8 or 16 */
    int64_t  bytes;    /* of a cell */
    int64_t  together; /* cells side by side that are listed; `place` has the first one alone */
} tg_cells;

/* Lists a cell: of neighbours of so many bytes, then loop by loop as it goes on in dst, with steps of src, bytes. In
 * the end `most`: so many cells follow each other on both sides, at least. From then on the mover (tg_mover_cells)
 * moves these. */
void tg_cells_begin(tg_cells *cells, int64_t bytes);
void tg_cells_loop(tg_cells *cells, int64_t n, int64_t src_step);
void tg_cells_end(tg_cells *cells, int64_t most, tg_mover *mover);

#endif
