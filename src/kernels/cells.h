/* Cells: up to 1024 bytes without a gap on both sides, whose elements change places, in all cells alike.
 *
 *     u8[8,4,8,N,M]{0,1,2,3,4} to {2,1,0,4,3}     cells of 256 bytes, N x M of them elsewhere
 *
 * Where each byte of a cell comes from is listed once; then a cell is a few shuffles, whatever it looks like inside.
 * A cell without a gap on one side alone comes from a few lines of src, or goes to a few lines of dst, and the next one
 * from, or to, what follows in all of these:
 *
 *     f16[3,4,4,N]{1,0,3,2} to {0,2,1,3}          cells of 96 bytes, out of 4 lines that have 24 bytes of each */
#ifndef TG_KERNELS_CELLS_H
#define TG_KERNELS_CELLS_H

#include "kernels/move.h"

enum {
    TG_CELL_BYTES = 1024,
    TG_CELL_VECTORS = TG_CELL_BYTES / 64,
    TG_CELL_LINES = 8,   /* that a cell comes from, or goes to */
    TG_CELL_LINE = 64,   /* bytes of each of these: a vector */
    TG_LINED_CELL = 256  /* bytes of such a cell */
};

typedef struct tg_cells {
    _Alignas(64) uint8_t low[TG_CELL_BYTES]; /* with AVX-512: of each byte of dst, its place in a vector of src, */
    uint64_t from[TG_CELL_VECTORS][TG_CELL_VECTORS]; /* and which bytes of vector j come from vector k */
    uint16_t place[TG_CELL_BYTES]; /* of each byte of a cell, where it is in lines: byte i of vector v is 64 * v + i */
    int64_t  at[TG_CELL_VECTORS];  /* and where these vectors begin, bytes from the cell */
    int64_t  width;    /* bytes that plain C moves at once: 1, 2, 4, 8 or 16 */
    int64_t  bytes;    /* of a cell */
    int64_t  line;     /* bytes of it in each line, or all of it */
    int64_t  lines;    /* one of any length, or several of up to 64 bytes */
    int64_t  together; /* cells side by side that are listed; `place` has the first one alone */
    bool     to_lines; /* lines are of dst, not of src */
} tg_cells;

/* Lists a cell: of neighbours of so many bytes, then loop by loop as it goes on without a gap: those inside of lines,
 * with steps of the lines' side, bytes, and those that count lines. In the end `most`: so many cells follow each other,
 * on both sides, or on one and in all lines of the other one. From then on the mover (tg_mover_cells) moves these. */
void tg_cells_begin(tg_cells *cells, int64_t bytes, bool to_lines);
void tg_cells_loop(tg_cells *cells, int64_t n, int64_t step);
void tg_cells_lines(tg_cells *cells, int64_t n, int64_t step);
void tg_cells_end(tg_cells *cells, int64_t most, tg_mover *mover);

#endif
