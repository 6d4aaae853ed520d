/* Where a core reaches too far however the work is shared, the work is done in tiles, one after the other, each with a
 * slice of some loops.
 *
 *     [32,8192,17408], sticks on 17408: 9 GB in device dimensions [8192,272,32,64]. 32 slices of 8192 still reach 285
 *     MB, over the limit of 268 MB; 2 tiles, and 32 slices of each, reach 143 MB.
 *
 * Up to 3 loops have tiles, 16 at most each and 64 together. The fewest tiles win, then the fewest loops, then the
 * smallest number of one loop, then those of the first loops. Source: torch-spyre, coarse tiling on span overflow.
 *
 * Loops that are in tiles as the user wants it come first, are of any number, and are left alone by that. */
#include "graph/divide.h"

#include "base/checked.h"
#include "base/error.h"

enum { MOST_LOOPS = 3, MOST_OF_A_LOOP = 16, MOST_TILES = 64 };

typedef struct tiling {
    int32_t nloops, loop[MOST_LOOPS];
    int64_t tiles[MOST_LOOPS];
} tiling;

/* ---- as the user wants it ------------------------------------------------------------------------ */

static tg_status take_tiles(int64_t *tiles, const tg_share *d, const tg_split *wish, tg_error *err) {
    const int32_t l = wish->loop;
    if (l < 0 || l >= d->n->nloops || wish->slices < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "loop %d of %d loops is to be in %d tiles", (int64_t)l,
                       (int64_t)d->n->nloops, wish->slices);
    if (tiles[l] != 1 && tiles[l] != wish->slices)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "loop %d is to be in %d and in %d tiles", (int64_t)l, tiles[l],
                           wish->slices);
    tiles[l] = wish->slices;
    return tg_check_pieces(d, l, wish->slices, "tiles", err);
}

/* Wishes of the call come in place of those of the graph. */
tg_status tg_wanted_tiles(int64_t *tiles, tg_share *d, tg_error *err) {
    const bool      now = d->params->ntiles > 0;
    const tg_split *rows = now ? d->params->tiles : d->g->pins.rows + d->n->first_pin + d->n->npins + d->n->nwishes;
    const int32_t   count = now ? d->params->ntiles : (int32_t)d->n->ntiles;
    tg_status       s = TG_OK;
    for (int32_t i = 0; i < count && s == TG_OK; i++) s = take_tiles(tiles, d, &rows[i], err);
    for (int32_t i = 0; i < count && s == TG_OK; i++) {
        const int32_t l = rows[i].loop;
        if (!tg_has_loop(d->tiled, l)) d->work.sizes[l] /= tiles[l];
        d->tiled |= UINT32_C(1) << l;
    }
    return s;
}

/* ---- where a core reaches too far ------------------------------------------------------------------ */

/* Loops in outer dimensions of tensors that are too long, outermost first. */
static void find_tile_loops(tiling *t, const tg_share *d) {
    t->nloops = 0;
    for (int32_t k = -1; k < (int32_t)d->n->noperands; k++) {
        tg_piece p;
        if (!tg_take_piece(&p, d, k)) continue;
        const tg_dims dims = tg_device_dims(&p.layout);
        for (int32_t i = 0; i < p.layout.rank - 1; i++) {
            tg_coordinate c;
            tg_coordinate_of(&c, &dims, i, tg_node_ranges(d->g, d->n), &p.access);
            for (int32_t l = 0; l < d->n->nloops && t->nloops < MOST_LOOPS; l++) {
                bool listed = d->whole[l] != NULL || !tg_has_loop(tg_piece_loops(d, &p, &c) & ~d->tiled, l);
                for (int32_t j = 0; j < t->nloops; j++) listed = listed || t->loop[j] == l;
                if (!listed) t->loop[t->nloops++] = l;
            }
        }
    }
    for (int32_t j = 0; j < t->nloops; j++) t->tiles[j] = 1;
}

/* In the order of the loops. */
static void sort_loops(tiling *t) {
    for (int32_t i = 1; i < t->nloops; i++)
        for (int32_t j = i; j > 0 && t->loop[j] < t->loop[j - 1]; j--) {
            const int32_t l = t->loop[j];
            t->loop[j] = t->loop[j - 1];
            t->loop[j - 1] = l;
        }
}

static bool next_tiling(tiling *t, const tg_share *d) {
    for (int32_t i = t->nloops; i-- > 0; t->tiles[i] = 1)
        for (t->tiles[i]++; t->tiles[i] <= MOST_OF_A_LOOP; t->tiles[i]++)
            if (d->work.sizes[t->loop[i]] % t->tiles[i] == 0) return true;
    return false;
}

static void weigh(int64_t key[3], const tiling *t) {
    key[0] = 1;
    key[1] = key[2] = 0;
    for (int32_t i = 0; i < t->nloops; i++) {
        key[0] *= t->tiles[i]; /* at most 16 * 16 * 16 */
        key[1] += t->tiles[i] > 1;
        key[2] = tg_max(key[2], t->tiles[i]);
    }
}

/* Less by product, number of loops, largest number, and the numbers in turn. */
static bool is_better(const tiling *a, const tiling *b) {
    int64_t x[3], y[3];
    weigh(x, a);
    weigh(y, b);
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i]) return x[i] < y[i];
    for (int32_t i = 0; i < a->nloops; i++)
        if (a->tiles[i] != b->tiles[i]) return a->tiles[i] < b->tiles[i];
    return false;
}

/* The share of one tile; false if a core reaches too far even so, or pinned slices do not fit in. */
static bool share_tile(tg_share *out, const tg_share *d, const tiling *t) {
    int64_t key[3];
    *out = *d;
    weigh(key, t);
    if (key[0] > MOST_TILES) return false;
    for (int32_t i = 0; i < t->nloops; i++) {
        const int32_t l = t->loop[i];
        out->work.sizes[l] /= t->tiles[i];
        if (tg_has_loop(d->work.outputs | d->work.reductions, l)) out->work.splits[l] = 1;
        if (out->work.sizes[l] % out->work.splits[l] != 0) return false;
    }
    return tg_shorten_spans(out);
}

bool tg_choose_tiles(int64_t *tiles, tg_share *d) {
    tiling   t, best;
    tg_share share, best_share = *d;
    bool     found = false;
    find_tile_loops(&t, d);
    sort_loops(&t);
    while (next_tiling(&t, d)) {
        if ((found && !is_better(&t, &best)) || !share_tile(&share, d, &t)) continue;
        best = t;
        best_share = share;
        found = true;
    }
    if (!found) return false;
    *d = best_share;
    for (int32_t i = 0; i < best.nloops; i++) tiles[best.loop[i]] = best.tiles[i];
    return true;
}
