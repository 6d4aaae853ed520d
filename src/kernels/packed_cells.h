/* Cells of packed elements: up to 64 bytes on each side, whose elements change places, in all cells alike.
 *
 *     s4[N,M]{1,0:T(8,128)(8,1)E(4)} to {0,1:T(8,128)(8,1)E(4)}     matrices of 8 x 8, 32 bytes: columns that have a
 *                                                                   nibble of each of 8 rows, to rows of 8 columns
 *
 * Which bits each byte is made of is listed once. Cells of bytes and of other shapes: cells.h. */
#ifndef TG_KERNELS_PACKED_CELLS_H
#define TG_KERNELS_PACKED_CELLS_H

#include "kernels/move.h"

enum {
    TG_PACKED_CELL_BYTES = 64,
    TG_PACKED_FIELDS = 8 /* elements of a byte, at most */
};

/* Of field f of byte i in 64 bytes of dst, which are several cells if these are short. */
struct tg_packed_cells {
    /* In which of 64 bytes of src the field is. Once those bytes are where the field goes, the first of the 8 bits of
     * their word of 8 bytes (vpmultishiftqb) that have it in its place. The bits of the field; none where it is
     * padding, or no cell's. */
    _Alignas(64) uint8_t byte[TG_PACKED_FIELDS][TG_PACKED_CELL_BYTES];
    uint8_t bit[TG_PACKED_FIELDS][TG_PACKED_CELL_BYTES], keep[TG_PACKED_FIELDS][TG_PACKED_CELL_BYTES];
    int64_t dst, src; /* bytes of a cell: in src up to its last element */
    int64_t lane;     /* bytes from cell to cell in the list: 8 (cells of 8 bytes on both sides), 16, 32 or 64 */
    bool    padded;   /* some elements are padding */
};

/* A matrix, transposed: rows of dst follow each other, its columns are lines of src. */
typedef struct tg_packed_matrix {
    int64_t rows, cols, tail; /* elements; the tail behind each row is padding */
    int64_t line_step; /* elements of src from line to line, whose own are neighbours */
} tg_packed_matrix;

/* Lists it; from then on the mover (tg_mover_packed_cells) moves such. pre: it has at most TG_PACKED_CELL_BYTES on each
 * side; all rows with their tails are whole bytes together. */
void tg_packed_cells_list(tg_packed_cells *cells, const tg_packed_matrix *matrix, tg_mover *mover);

#endif
