/* Inside a walk: the part of a unit that is moved at once, and a side's place along one dimension. */
#ifndef TG_RELAYOUT_WALK_H
#define TG_RELAYOUT_WALK_H

#include "relayout/plan.h"

#include "base/checked.h"

/* Rows [row, rows_end) and columns [col, cols_end) at coordinate x of the other dimensions, whose offsets are the
 * bases; elements. */
typedef struct tg_window {
    int64_t *x; /* rows and columns in it are for whoever walks */
    int64_t  row, rows_end, col, cols_end;
    int64_t  dst_base, src_base;
} tg_window;

/* Where one side is along one dimension, and how many positions its current step still holds. */
typedef struct tg_walker {
    const tg_side *side;
    int32_t        dim; /* TG_NO_ROW: a single position */
    tg_step        now;
} tg_walker;

static inline void tg_walker_look(tg_walker *w, const int64_t *x) {
    const tg_step still = {0, 0, INT64_MAX};
    w->now = w->dim == TG_NO_ROW ? still : tg_side_step(w->side, w->dim, x);
}

/* Go n positions on, n <= now.length; x is the coordinate there. */
static inline void tg_walker_advance(tg_walker *w, int64_t n, const int64_t *x) {
    if (w->now.length == n) {
        tg_walker_look(w, x);
        return;
    }
    w->now.offset += w->now.slope * n;
    w->now.length -= n;
}

/* walk_pieces.c: a window of a walk by pieces. `pieces` is kept from window to window. */
enum { TG_PIECES = 512 };

typedef struct tg_piece {
    int64_t dst, src, n; /* bytes */
} tg_piece;

typedef struct tg_pieces {
    int64_t  col, cols_end; /* of a window: what is listed; none if both are the same */
    int64_t  count;
    tg_piece piece[TG_PIECES];
} tg_pieces;

void tg_walk_pieces(const tg_walk *walk, uint8_t *dst, const uint8_t *src, const tg_window *w, tg_pieces *pieces);

#endif
