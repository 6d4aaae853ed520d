/* Private to the transfer room: numbers cut into pieces, pieces into descriptors.
 *
 * A group is one dimension, or several that a layout folds together; its coordinates are one row-major number. Host
 * and device offsets are functions of it (tg_digits), and a piece is a nest of loops on which both move with constant
 * steps. Descriptors are the choices of one piece for each group. */
#ifndef TG_TRANSFER_DMA_H
#define TG_TRANSFER_DMA_H

#include "layout/layout.h"

#include <tegula/transfer.h>

enum { TG_MAX_PIECES = 512, TG_MAX_PIECE_LOOPS = 1024 };

typedef struct tg_piece_loop {
    int64_t n, device, host; /* steps, and elements per step */
    int64_t step;            /* of the group's number; 0 if it is not the same each time */
} tg_piece_loop;

typedef struct tg_piece {
    int64_t number;       /* its first one */
    int64_t device, host; /* and the offsets of that */
    int32_t first, nloops;
} tg_piece;

/* All pieces of all groups; each piece has loops at [first, first + nloops), outermost first. */
typedef struct tg_pieces {
    int32_t       n, nloops;
    tg_piece      at[TG_MAX_PIECES];
    tg_piece_loop loop[TG_MAX_PIECE_LOOPS];
} tg_pieces;

/* Append a piece; false if there is no room. */
bool tg_pieces_add(tg_pieces *p, int64_t number, int64_t device, int64_t host, const tg_piece_loop *loops,
                   int32_t nloops);

/* Append the pieces of numbers [0, device->size), which host->size is too; false if there is no room (dma_cut.c). */
bool tg_pieces_cut(tg_pieces *p, const tg_digits *device, const tg_digits *host);

/* The same for dimensions dims[0..n) of two layouts whose folds conflict, by looking at every element; false if there
 * are too many (dma_cut.c). Offsets of both layouts' coordinate 0 are left out. */
bool tg_pieces_enumerate(tg_pieces *p, const tg_layout *device, const tg_layout *host, const int32_t *dims, int32_t n);

/* Make fewer pieces of those from `first` on: neighbours become one, and equal ones at equal distances a loop
 * (dma_merge.c). */
void tg_pieces_merge(tg_pieces *p, int32_t first);

/* Dimensions whose coordinates are one number. */
typedef struct tg_group {
    int32_t   n, dims[TG_MAX_NDIM]; /* most significant first */
    bool      is_number;            /* both sides are digits of it */
    tg_digits device, host;
} tg_group;

typedef struct tg_groups {
    int32_t  n;
    tg_group at[TG_MAX_NDIM];
} tg_groups;

/* Every dimension of size above 1 is in one group (dma_groups.c). */
void tg_groups_find(tg_groups *out, const tg_layout *device, const tg_layout *host);

/* ---- loops (dma_loops.c) ---- */

/* Is loop a the outer one of the two: by its step in device memory, then by that on the host? */
bool tg_dma_is_outside(const tg_dma_loop *a, const tg_dma_loop *b);

/* Where outer loop a goes on where inner loop b ends, make b both; else false. */
bool tg_dma_fuse(const tg_dma_loop *a, tg_dma_loop *b);

/* TG_OK if the device's data format is one that the host's elements can be converted to (dma_formats.c). */
tg_status tg_dma_check_formats(const tg_layout *device, const tg_layout *host, tg_error *err);

#endif
