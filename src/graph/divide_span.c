/* How far a core reaches in a tensor: from the first to the last byte of its slice, with all that lies between.
 *
 *     [98000,4096] in device dimensions [64,98000,64]: 802 MB. Half of the 98000 reaches just as far, but for the last
 *     stick; half of the 64 reaches half as far.
 *
 * Source: torch-spyre, span reduction. */
#include "graph/divide.h"

#include "base/checked.h"

#include <string.h>

/* The window that stands for a part that no loop has; NULL if the data does. */
static const tg_window *window_of(const tg_share *d, const tg_piece *p, const tg_part *part) {
    const tg_window *windows = tg_node_windows(d->g, d->n);
    for (uint32_t i = 0; p->operand == 0 && part->loop < 0 && i < d->n->nwindows; i++)
        if (windows[i].step == part->step && windows[i].extent > 1) return &windows[i];
    return NULL;
}

uint32_t tg_piece_loops(const tg_share *d, const tg_piece *p, const tg_coordinate *c) {
    uint32_t loops = tg_coordinate_loops(c);
    for (int32_t i = 0; i < c->nparts; i++) {
        const tg_window *w = window_of(d, p, &c->part[i]);
        if (w != NULL) loops |= UINT32_C(1) << w->loop;
    }
    return loops;
}

/* Rounds of a loop that one core does. */
static int64_t slice_of(const tg_share *d, int32_t loop, const int64_t *splits) {
    return tg_min(tg_node_ranges(d->g, d->n)[loop],
                  tg_ceil_div(d->work.sizes[loop], splits[loop]) * d->stick[loop]);
}

/* Places between the first and the last that windows of these positions read; a graph's windows fit 63 bits. */
static int64_t window_reach(const tg_window *w, int64_t positions) {
    const int64_t stride = w->stride < 0 ? -w->stride : w->stride;
    const int64_t last = tg_max(positions - 1, 0) * stride + tg_max(w->size - 1, 0) * w->dilation;
    return tg_min(last / w->base_dilation + (last % w->base_dilation != 0), w->extent - 1);
}

/* Positions of a device dimension that one core sees, when loops are split. */
static int64_t seen(const tg_share *d, const tg_piece *p, int32_t k, const int64_t *splits) {
    const tg_dims  dims = tg_device_dims(&p->layout);
    int64_t        last = 0;
    tg_coordinate  c;
    tg_coordinate_of(&c, &dims, k, tg_node_ranges(d->g, d->n), &p->access);
    for (int32_t i = 0; i < c.nparts; i++) {
        const tg_part   *part = &c.part[i];
        const tg_window *w = window_of(d, p, part);
        if (part->loop < 0 && w == NULL) return p->layout.device_size[k];
        const int64_t steps = w != NULL ? window_reach(w, slice_of(d, w->loop, splits))
                                        : slice_of(d, part->loop, splits) - 1;
        int64_t reach = steps * part->step; /* fits: the access stays inside its tensor */
        if (part->wrap > 0) reach = tg_min(reach, part->wrap - 1);
        last += reach / part->stride;
    }
    return tg_min(last + 1, tg_max(p->layout.device_size[k], 1));
}

static int32_t outermost(const tg_spyre *l) {
    int32_t k = 0;
    while (k < l->rank - 1 && l->device_size[k] <= 1) k++;
    return k;
}

/* Bytes from the first to the last that a core reaches from device dimension k inwards. */
static int64_t span_within(const tg_share *d, const tg_piece *p, int32_t k, const int64_t *splits) {
    int64_t bytes = tg_format_bits(p->layout.device_dtype);
    for (int32_t i = k + 1; i < p->layout.rank; i++) bytes *= p->layout.device_size[i]; /* fits: it has a size */
    return seen(d, p, k, splits) * bytes / 8;
}

/* The next numbers of slices of the loops in a device dimension; false after the last. */
static bool next_splits(const tg_share *d, uint32_t loops, int64_t *splits) {
    for (int32_t l = 0; l < d->work.nloops; l++) {
        if (!tg_has_loop(loops, l)) continue;
        for (splits[l]++; splits[l] <= d->work.sizes[l] && splits[l] <= d->work.cores; splits[l]++)
            if (d->work.sizes[l] % splits[l] == 0) return true;
        splits[l] = d->work.splits[l];
    }
    return false;
}

static bool is_possible(const tg_share *d, const int64_t *splits) {
    int64_t cores = 1, reductions = 0;
    for (int32_t l = 0; l < d->work.nloops; l++) {
        if (!tg_mul(&cores, cores, splits[l]) || cores > d->work.cores) return false;
        reductions += tg_has_loop(d->work.reductions, l) && splits[l] > 1;
    }
    return reductions <= 1;
}

/* Splits the loops of device dimension k: the longest span within the limit, else the shortest. What a core then
 * reaches. */
static int64_t split_dimension(tg_share *d, const tg_piece *p, int32_t k, int64_t limit) {
    const tg_dims  dims = tg_device_dims(&p->layout);
    int64_t        splits[TG_MAX_LOOPS], best_splits[TG_MAX_LOOPS];
    tg_coordinate  c;
    tg_coordinate_of(&c, &dims, k, tg_node_ranges(d->g, d->n), &p->access);
    const uint32_t loops = tg_piece_loops(d, p, &c) & (d->work.outputs | d->work.reductions);
    memcpy(splits, d->work.splits, sizeof splits);
    memcpy(best_splits, splits, sizeof splits);
    int64_t best = span_within(d, p, k, splits);
    do {
        const int64_t span = span_within(d, p, k, splits);
        const bool    better = best > limit ? span < best : span <= limit && span > best;
        if (!better || !is_possible(d, splits)) continue;
        best = span;
        memcpy(best_splits, splits, sizeof splits);
    } while (next_splits(d, loops, splits));
    memcpy(d->work.splits, best_splits, sizeof best_splits);
    return best;
}

/* False if a core reaches too far whatever is split. */
static bool shorten_span(tg_share *d, const tg_piece *p, int64_t limit) {
    for (int32_t k = outermost(&p->layout); k < p->layout.rank - 1; k++) {
        if (span_within(d, p, k, d->work.splits) <= limit) return true;
        if (split_dimension(d, p, k, limit) <= limit) return true;
        if (seen(d, p, k, d->work.splits) > 1) return false;
    }
    return true;
}

bool tg_shorten_spans(tg_share *d) {
    tg_piece p;
    bool  short_enough = true;
    for (int32_t k = 0; k <= (int32_t)d->n->noperands; k++)
        if (tg_take_piece(&p, d, k < (int32_t)d->n->noperands ? k : -1) && !shorten_span(d, &p, d->limit))
            short_enough = false;
    return short_enough;
}

int64_t tg_longest_span(const tg_share *d) {
    tg_piece p;
    int64_t  longest = 0;
    for (int32_t k = -1; k < (int32_t)d->n->noperands; k++) {
        if (!tg_take_piece(&p, d, k)) continue;
        int32_t i = outermost(&p.layout);
        while (i < p.layout.rank - 1 && seen(d, &p, i, d->work.splits) <= 1) i++;
        longest = tg_max(longest, span_within(d, &p, i, d->work.splits));
    }
    return longest;
}
