/* Placing buffers in the scratchpad: what the solvers share. */
#ifndef TG_GRAPH_SCRATCHPAD_H
#define TG_GRAPH_SCRATCHPAD_H

#include <tegula/memory.h>

#include "base/checked.h"

/* A problem that was checked: sizes, ticks, addresses and their sums fit. */
typedef struct tg_scratchpad {
    const tg_buffer *buffers;
    int64_t          n;
    const int64_t   *saved;   /* bytes of each */
    const bool      *allowed; /* neither barred nor too large */
    int64_t          capacity, alignment;
    int64_t          branches; /* that the search may make */
    const bool      *forced;   /* of the search: has to be in; NULL: none has */
} tg_scratchpad;

static inline int64_t tg_buffer_start(const tg_buffer *b) { return b->uses[0]; }
static inline int64_t tg_buffer_end(const tg_buffer *b) { return b->uses[b->nuses - 1] + 1; }

static inline bool tg_alive_together(const tg_buffer *a, const tg_buffer *b) {
    return tg_buffer_start(a) < tg_buffer_end(b) && tg_buffer_start(b) < tg_buffer_end(a);
}

/* Fits: capacities and alignments are below 2^60. */
static inline int64_t tg_align(int64_t address, int64_t alignment) {
    return tg_ceil_div(address, alignment) * alignment;
}

/* The buffers by the tick at which they start, those of one tick as they are numbered; false without memory. */
bool tg_order_by_start(int64_t *order, const tg_scratchpad *s);

/* Each fills out[0 .. n). TG_ERR_NOMEM. */
tg_status tg_place_greedy(tg_placement *out, const tg_scratchpad *s, tg_error *err);

/* Buffers by increasing key, those of equal keys by the second one, parents before those that may take their places.
 * keys == NULL: torch-spyre's. */
typedef struct tg_fit_key {
    double first, second;
} tg_fit_key;
tg_status tg_place_fit(tg_placement *out, const tg_scratchpad *s, const tg_fit_key *keys, bool best, tg_error *err);

/* Sets bound_bytes and branches of the summary. */
tg_status tg_place_exact(tg_placement *out, tg_scratchpad_summary *summary, const tg_scratchpad *s, tg_error *err);

/* ---- of the exact one ------------------------------------------------------------------- */

/* Whether all buffers that are allowed fit together, and how: the search of scratchpad_pack.c. *branches counts what
 * is left; *known is false where they have run out. */
tg_status tg_pack_all(tg_placement *out, bool *found, bool *known, int64_t *branches, const tg_scratchpad *s,
                      tg_error *err);

/* A bound by prices (scratchpad_price.c): a byte of the scratchpad costs so much in each tick, and what a buffer saves
 * less what it pays is its profit. Whatever the prices are, no placement saves more than
 *
 *     capacity * the sum of the prices + the sum of the profits above 0
 *
 * as a buffer that is in has paid for its place, and no tick has more than its capacity to sell. Prices and profits
 * are whole numbers of parts of a byte, so that the bound is exact. What is forced in counts with its loss, too. */
typedef struct tg_prices {
    int64_t  parts;        /* of a saved byte */
    int64_t  unit;         /* what all buffers save is a multiple of this */
    int64_t  nticks;       /* at which something starts: between them nothing gets tighter */
    int64_t  capacity;     /* in whole alignments, as is what buffers pay for */
    int64_t *first, *last; /* of each buffer: the ticks that it pays for, [first, last) */
    int64_t *pays;         /* bytes of each */
    int64_t *profit;       /* parts of each; 0 where it is not allowed */
    int64_t  bound;        /* parts */
} tg_prices;

static inline int64_t tg_prices_bytes(const tg_prices *p, int64_t parts) {
    return parts / p->parts / p->unit * p->unit;
}

/* goal: what some placement saves. TG_ERR_NOMEM. */
tg_status tg_prices_find(tg_prices *out, const tg_scratchpad *s, int64_t goal, tg_error *err);
void      tg_prices_free(tg_prices *p);

#endif
