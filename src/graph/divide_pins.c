/* Splits that are not up for choice: what an operation pins, what the user wants of a node in the graph, and what the
 * user wants now. They are checked here, so that a wish that cannot be is an error which says why. */
#include "graph/divide.h"

#include "base/checked.h"
#include "base/error.h"

typedef struct pins {
    int64_t slices[TG_MAX_LOOPS]; /* 0: not pinned */
    bool    wished[TG_MAX_LOOPS]; /* by the user */
} pins;

static tg_status add_pin(pins *out, const tg_share *d, const tg_split *pin, bool wished, tg_error *err) {
    const int32_t l = pin->loop;
    if (l < 0 || l >= d->n->nloops || pin->slices < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "loop %d of %d loops is to be in %d slices", (int64_t)l,
                       (int64_t)d->n->nloops, pin->slices);
    if (out->slices[l] != 0 && out->slices[l] != pin->slices)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "conflicting pinned split: loop %d is to be in %d and in %d slices",
                           (int64_t)l, out->slices[l], pin->slices);
    out->slices[l] = pin->slices;
    out->wished[l] = wished;
    return TG_OK;
}

/* Wishes of the call come in place of those of the graph. */
static tg_status gather_pins(pins *out, const tg_share *d, tg_error *err) {
    const tg_split *rows = d->g->pins.rows + d->n->first_pin;
    const bool      now = d->params->nsplits > 0;
    tg_status       s = TG_OK;
    for (uint32_t i = 0; i < d->n->npins && s == TG_OK; i++) s = add_pin(out, d, &rows[i], false, err);
    for (uint32_t i = 0; i < d->n->nwishes && s == TG_OK && !now; i++)
        s = add_pin(out, d, &rows[d->n->npins + i], true, err);
    for (int32_t i = 0; i < d->params->nsplits && s == TG_OK; i++)
        s = add_pin(out, d, &d->params->splits[i], true, err);
    return s;
}

tg_status tg_check_pieces(const tg_share *d, int32_t l, int64_t count, const char *pieces, tg_error *err) {
    const int64_t size = d->work.sizes[l];
    const char   *where = tg_has_loop(d->tiled, l) ? " in a tile" : "";
    if (count > 1 && d->whole[l] != NULL)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "loop %d is to be in %d %s, but stays whole: %s", (int64_t)l,
                           count, pieces, d->whole[l]);
    if (size % count != 0)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "loop %d has %d %s%s, which are no multiple of %d %s", (int64_t)l,
                           size, d->stick[l] > 1 ? "sticks" : "rounds", where, count, pieces);
    return TG_OK;
}

/* All at once: no more than there are cores, and one loop that is summed up. */
static tg_status check_together(const tg_share *d, const pins *p, tg_error *err) {
    int64_t product = 1;
    int32_t summed = -1;
    for (int32_t l = 0; l < d->n->nloops; l++) {
        if (p->slices[l] <= 1) continue;
        if (!tg_mul(&product, product, p->slices[l]) || product > d->work.cores)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "with loop %d in %d slices there are more slices than %d cores",
                               (int64_t)l, p->slices[l], d->work.cores);
        if (!tg_has_loop(d->work.reductions, l)) continue;
        if (summed >= 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, l,
                               "loops %d and %d are both summed up; only one of them can be split", (int64_t)summed,
                               (int64_t)l);
        summed = l;
    }
    return TG_OK;
}

/* An operation that pins more slices than there are cores is not split there. */
static void drop_large_pins(const tg_share *d, pins *p) {
    for (int32_t l = 0; l < d->n->nloops; l++)
        if (!p->wished[l] && p->slices[l] > d->work.cores) p->slices[l] = 1;
}

tg_status tg_pin_splits(tg_share *d, tg_error *err) {
    pins      p = {{0}, {false}};
    tg_status s = gather_pins(&p, d, err);
    if (s != TG_OK) return s;
    drop_large_pins(d, &p);
    for (int32_t l = 0; l < d->n->nloops && s == TG_OK; l++)
        if (p.wished[l]) s = tg_check_pieces(d, l, p.slices[l], "slices", err);
    if (s == TG_OK) s = check_together(d, &p, err);
    for (int32_t l = 0; l < d->n->nloops && s == TG_OK; l++) {
        if (p.slices[l] == 0) continue;
        if (p.slices[l] > 1 && tg_has_loop(d->work.reductions, l)) d->work.reductions = UINT32_C(1) << l;
        d->work.splits[l] = p.slices[l];
        d->work.outputs &= ~(UINT32_C(1) << l);
        d->work.reductions &= ~(UINT32_C(1) << l);
        if (p.wished[l]) d->wished |= UINT32_C(1) << l;
    }
    return s;
}

tg_status tg_check_pinned_span(const tg_share *before, const tg_share *after, bool in_span, tg_error *err) {
    tg_share free_hand = *before;
    if (in_span || after->wished == 0 || !tg_shorten_spans(&free_hand)) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT,
                   "hardware memory-span limit: with these splits a core reaches %d bytes of a tensor, over %d",
                   tg_longest_span(after), after->limit);
}
