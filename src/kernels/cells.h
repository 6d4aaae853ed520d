/* Cells: up to 1024 bytes, whose elements change places, in all cells alike.
 *
 *     u8[8,4,8,N,M]{0,1,2,3,4} to {2,1,0,4,3}     cells of 256 bytes, N x M of them elsewhere
 *
 * Where each byte of a cell comes from is listed once; then a cell is a few shuffles, whatever it looks like inside.
 * A cell may come from a few lines of src, and go to a few lines of dst; the next one is what follows in all of these:
 *
 *     f16[3,4,4,N]{1,0,3,2} to {0,2,1,3}          cells of 96 bytes, out of 4 lines that have 24 bytes of each
 *     u8[8,N,9]{0,1,2} to {2,1,0}                 of 72, out of 9 lines that have 8 bytes, to 8 lines that have 9 */
#ifndef TG_KERNELS_CELLS_H
#define TG_KERNELS_CELLS_H

#include "kernels/move.h"

enum {
    TG_CELL_BYTES = 1024,
    TG_CELL_VECTORS = TG_CELL_BYTES / 64, /* and lines of either side, at most */
    TG_CELL_LINE = 64,   /* bytes that a cell has of each of several lines: a vector */
    TG_LINED_CELL = 256  /* bytes of a cell with lines on one side */
};

/* Bytes and lines of a cell on one side: all of it in one line, or up to 64 bytes in each of several. Byte i of line k
 * is numbered 64 * k + i. */
typedef struct tg_cell_side {
    int64_t line, lines;
    int64_t at[TG_CELL_VECTORS]; /* where byte 64 * k is, bytes from the cell */
} tg_cell_side;

typedef struct tg_cells {
    _Alignas(64) uint8_t low[TG_CELL_BYTES]; /* with AVX-512: of each byte of dst, its place in a vector of src, */
    uint64_t     from[TG_CELL_VECTORS][TG_CELL_VECTORS]; /* and which bytes of vector j come from vector k */
    uint16_t     place[TG_CELL_BYTES]; /* by the number of a byte in dst: that in src */
    tg_cell_side dst, src;
    int64_t      width;    /* bytes that plain C moves at once: 1, 2, 4, 8 or 16 */
    int64_t      together; /* cells side by side that are listed; `place` has the first one alone */
} tg_cells;

/* A loop of a cell; steps are bytes. */
typedef struct tg_cell_loop {
    int64_t n, dst, src;
    bool    in_dst, in_src; /* it is inside of lines of that side; else it counts them */
} tg_cell_loop;

/* Lists a cell: of neighbours of so many bytes, then loop by loop, first those inside of lines of dst, as they go on
 * there. In the end `most`: so many cells follow each other in all lines of both sides. From then on the mover
 * (tg_mover_cells) moves these. */
void tg_cells_begin(tg_cells *cells, int64_t bytes);
void tg_cells_loop(tg_cells *cells, const tg_cell_loop *loop);
void tg_cells_end(tg_cells *cells, int64_t most, tg_mover *mover);

#endif
