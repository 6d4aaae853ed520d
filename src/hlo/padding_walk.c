/* Sizes under tiles: what tg_layout_from_xla does to positions, done to plain numbers, one rounding at a time.
 *
 * The layout value says how large the storage is, but not which rounding made it so. Here every size keeps its owners,
 * and every rounding is seen:
 *
 *     bf16[1,130]{1,0:T(1,128)(2,1)}    sizes, with the elements they make
 *     start                             1 130                130
 *     (1,128)   130 -> 256              1 2 1 128            256
 *     (2,1)     1 -> 2                  1 2 1 128 2 1        512
 *
 * That the last product is the size of the storage is held against tg_layout_from_xla by the tests. */
#include "hlo/padding_walk.h"

#include <string.h>

bool tg_extents_make(tg_extents *out, const int64_t *sizes, const uint32_t *owners, int32_t n) {
    bool empty = false;
    out->n = out->whole = n;
    out->elements = 1;
    for (int32_t i = 0; i < n; i++) {
        out->size[i] = sizes[i];
        out->owners[i] = owners[i];
        empty = empty || sizes[i] == 0;
    }
    if (empty) out->elements = 0; /* whatever the other sizes are */
    for (int32_t i = 0; i < n; i++)
        if (!tg_mul(&out->elements, out->elements, sizes[i])) return false;
    return true;
}

static bool put_ones_in_front(tg_extents *e, int32_t n) {
    const int32_t more = n - e->n;
    if (more <= 0) return true;
    if (n > TG_MAX_MODES) return false;
    memmove(&e->size[more], &e->size[0], (size_t)e->n * sizeof e->size[0]);
    memmove(&e->owners[more], &e->owners[0], (size_t)e->n * sizeof e->owners[0]);
    for (int32_t i = 0; i < more; i++) {
        e->size[i] = 1;
        e->owners[i] = 0;
    }
    e->n = n;
    return true;
}

/* The numbers of a tile without its `*`s, and where in the tile each stood. */
typedef struct plain_tile {
    int32_t n;
    int64_t number[TG_XLA_MAX_TILE_DIMS];
    int32_t place[TG_XLA_MAX_TILE_DIMS];
} plain_tile;

/* Multiply what is under a `*` into the next more minor size. The last number is no `*`. */
static bool combine(tg_extents *e, plain_tile *tile, const int64_t *numbers, int32_t k) {
    const int32_t first = e->n - k;
    int32_t       to = e->n, at = k; /* what is kept gathers at the end */
    for (int32_t i = k; i-- > 0;) {
        if (numbers[i] == TG_XLA_COMBINE) {
            if (!tg_mul(&e->size[to], e->size[to], e->size[first + i])) return false;
            e->owners[to] |= e->owners[first + i];
            continue;
        }
        to--;
        e->size[to] = e->size[first + i];
        e->owners[to] = e->owners[first + i];
        tile->number[--at] = numbers[i];
        tile->place[at] = i;
    }
    tile->n = k - at;
    memmove(&tile->number[0], &tile->number[at], (size_t)tile->n * sizeof tile->number[0]);
    memmove(&tile->place[0], &tile->place[at], (size_t)tile->n * sizeof tile->place[0]);
    memmove(&e->size[first], &e->size[to], (size_t)tile->n * sizeof e->size[0]);
    memmove(&e->owners[first], &e->owners[to], (size_t)tile->n * sizeof e->owners[0]);
    e->n = first + tile->n;
    return true;
}

static bool round_size(tg_extents *e, int32_t at, tg_rounding *r) {
    r->owners = e->owners[at];
    r->size = e->size[at];
    r->before = r->after = e->elements;
    if (!tg_round_up(&r->padded, r->size, r->tile)) return false;
    if (e->elements > 0 && !tg_mul(&r->after, e->elements / r->size, r->padded)) return false;
    e->elements = r->after;
    return true;
}

static bool apply_level(tg_extents *e, int32_t level, const int64_t *numbers, int32_t k,
                        const tg_rounding_watcher *watcher) {
    plain_tile tile;
    if (!put_ones_in_front(e, k)) return false;
    e->whole = (int32_t)tg_min(e->whole, e->n - k);
    if (!combine(e, &tile, numbers, k) || e->n + tile.n > TG_MAX_MODES) return false;
    const int32_t first = e->n - tile.n;
    for (int32_t i = tile.n; i-- > 0;) {
        tg_rounding r = {.level = level, .place = tile.place[i], .tile = tile.number[i]};
        if (!round_size(e, first + i, &r)) return false;
        if (watcher != NULL) watcher->see(watcher->context, &r);
        e->size[first + i] = r.padded / r.tile;
        e->size[e->n + i] = r.tile;
        e->owners[e->n + i] = r.owners;
    }
    e->n += tile.n;
    return true;
}

bool tg_extents_tile(tg_extents *e, const tg_xla_layout *x, const tg_rounding_watcher *watcher) {
    const int64_t *numbers = x->tile_dims;
    for (int32_t level = 0; level < x->ntiles; level++) {
        if (!apply_level(e, level, numbers, x->tile_ndim[level], watcher)) return false;
        numbers += x->tile_ndim[level];
    }
    return true;
}
