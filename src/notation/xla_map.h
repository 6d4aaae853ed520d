/* Private to the XLA notation: tile levels at work. */
#ifndef TG_NOTATION_XLA_MAP_H
#define TG_NOTATION_XLA_MAP_H

#include "notation/notation.h"

/* A digit that a level may still cut: (coordinate of axis % limit) / weight, which is below size.
 * axis < 0: always 0. */
typedef struct tg_position {
    int32_t axis;
    int64_t weight;
    int64_t size;
    int64_t limit;
} tg_position;

static inline tg_position tg_always_zero(int64_t size) { return (tg_position){TG_AXIS_PAD, 1, size, 1}; }

typedef struct tg_positions {
    int32_t  n;
    tg_position at[TG_MAX_MODES];
} tg_positions;

/* The positions that all levels of x make of l's shape, most major first; l gets the axes and modes
 * that `*` folds. */
tg_status tg_xla_apply_tiles(tg_positions *p, tg_layout *l, const tg_xla_layout *x, tg_error *err);

#endif
