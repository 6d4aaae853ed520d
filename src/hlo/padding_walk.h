/* Private to the analysis of padding: sizes under tiles, and the search for an order. */
#ifndef TG_HLO_PADDING_WALK_H
#define TG_HLO_PADDING_WALK_H

#include "base/checked.h"
#include "base/error.h"

/* ---- sizes under tiles (padding_walk.c) ---- */

/* The sizes that a tile level finds, most major first. */
typedef struct tg_extents {
    int32_t  n;
    int32_t  whole;                /* so many at the front that no level has touched */
    int64_t  elements;             /* the product of all sizes */
    int64_t  size[TG_MAX_MODES];
    uint32_t owners[TG_MAX_MODES]; /* whose size it is, as bits; several after `*` */
} tg_extents;

/* One size rounded up. */
typedef struct tg_rounding {
    int32_t  level, place;
    uint32_t owners;
    int64_t  size, tile, padded;
    int64_t  before, after; /* elements of the whole array */
} tg_rounding;

typedef struct tg_rounding_watcher {
    void (*see)(void *context, const tg_rounding *rounding);
    void *context;
} tg_rounding_watcher;

/* Sizes before any tile, most major first; false if their product does not fit. */
bool tg_extents_make(tg_extents *out, const int64_t *sizes, const uint32_t *owners, int32_t n);

/* All levels of x, in the order of padding.h; false if a size does not fit, or there are too many. The watcher, which
 * may be NULL, sees every rounding. pre: x is valid for the number of dimensions. */
bool tg_extents_tile(tg_extents *e, const tg_xla_layout *x, const tg_rounding_watcher *watcher);

/* ---- the cheapest order (padding_order.c) ---- */

/* The order that needs the fewest elements under the tiles of `layout`, with the tie-breaking of padding.h against
 * the order that `layout` has. pre: layout is valid for dims. TG_ERR_OVERFLOW if no order fits. */
tg_status tg_padding_find_order(int32_t *minor_to_major, const int64_t *dims, const tg_xla_layout *layout,
                                tg_error *err);

#endif
