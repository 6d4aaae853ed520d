/* From the modes of both layouts to what their dimensions are in the refinement: loops that all boxes have, where a
 * dimension is one segment without padding, or segments. */
#include "relayout/segments.inc.h"

enum { MAX_BOX_LOOPS = TG_BOX_LOOPS - TG_BLOCK_LOOPS }; /* chunks are added */

/* One segment: its loops are the same in all boxes. */
static bool add_common(refinement *r, const tg_both_digits *g, int64_t begin, int64_t end) {
    tg_draft *d = &r->common;
    int64_t   dst, src, n = tg_div(end - begin, g->at[0].weight);
    place(&dst, &src, g, begin);
    tg_draft_shift(d, dst, src);
    for (int32_t i = 0;;) {
        if (d->n == MAX_BOX_LOOPS) return refuse(r, "there are too many loops");
        if (TG_MOSTLY(n > 1)) tg_draft_loop(d, n, g->at[i].dst, g->at[i].src);
        if (++i == g->n) return true;
        n = g->at[i].steps;
    }
}

/* One step on either side for all of them. */
static bool add_even(refinement *r, int64_t dst, int64_t src, int64_t begin, int64_t end) {
    tg_draft *d = &r->common;
    if (d->n == MAX_BOX_LOOPS) return refuse(r, "there are too many loops");
    if (TG_RARELY(begin > 0)) tg_draft_shift(d, begin * dst, begin * src); /* fits: these are offsets of coordinates */
    if (TG_MOSTLY(end - begin > 1)) tg_draft_loop(d, end - begin, dst, src);
    return true;
}

/* Two segments, of two digits: runs of w elements on both sides, and at the end a shorter one? */
static bool can_join(const refinement *r, const dim *d, const tg_both_digits *g) {
    const tg_plan_private *p = r->plan;
    const int64_t          w = g->at[0].weight, width = p->dst_bits / 8;
    const tg_both_digit   *high = &g->at[0], *low = &g->at[1];
    if (!tg_is_multiple(d->begin, w) || high->dst <= 0 || low->dst != 1 || low->src != 1) return false;
    return p->dst_encoding.kind == TG_KIND_NONE && w * width >= TG_RUN_BYTES && /* fits: positions of dst */
           w * width <= r->pair->tuning->run_grain && (high->dst != w || high->src != w);
}

/* Full runs that another loop continues on both sides are parts of a longer run. And with a single full run, two boxes
 * are of one loop less each: a block has place for three. But around the caches, where rows of dst go on from the one
 * to the other, lines that both boxes write in part cost more (256 MiB, an Emerald Rapids, x memcpy: sticks to rows of
 * 63 floats 0.08 apart and 0.44 joined). */
static bool better_apart(const refinement *r, const dim *segments, int64_t steps, int64_t w) {
    const tg_draft *d = &r->common;
    if (steps == 1 && d->n > 1 && !(r->plan->stream && segments->high_dst == w)) return true;
    const int64_t dst = w * d->dst_unit, src = w * d->src_unit;
    for (int32_t i = 0; i < d->n; i++)
        if (d->loop[i].dst == dst && d->loop[i].src == src) return true;
    for (const tg_loop *l = r->loops; l < r->loops_end; l++)
        if (l->dst == dst && l->src == src) return true;
    return false;
}

/* Then the segment, or NULL. */
static const segment *join(refinement *r, const dim *d) {
    const segment *const whole = d->data, *const rest = &whole[1];
    const int64_t        steps = whole->nloops == 2 ? whole->loop->n : 1, w = whole->loop[whole->nloops - 1].n;
    if (better_apart(r, d, steps, w) || r->segments_end == r->segments + MAX_SEGMENTS) return NULL;
    tg_loop *const loop = r->loops_end;
    if (r->loops + MAX_LOOPS - loop < 2) return NULL;
    segment *const s = add_segment(r, 0, 0);
    s->dst = whole->dst;
    s->src = whole->src;
    s->tail = rest->tail;
    s->last = rest->nloops == 1 ? rest->loop->n : 1;
    (void)add_loop(r, s, steps + 1, d->high_dst, d->high_src);
    (void)add_loop(r, s, w, 1, 1);
    loop->chunks_of = TG_BLOCK_COLS;
    return s;
}

static bool add_segments(refinement *r, const tg_both_digits *both, int64_t begin, int64_t end, int64_t size,
                         int64_t positions) {
    dim *const d = r->dims_end++;
    d->begin = begin;
    d->end = end;
    d->size = size;
    d->positions = positions;
    d->dst = r->dst_end++;
    d->data = r->segments_end;
    if (TG_RARELY(begin > 0) ? begin < end && !cut_at(r, both, 0, begin, end) : !cut_all(r, both, end)) return false;
    d->pads = d->tail = d->tail_end = r->segments_end;
    d->has_tail = false;
    d->all = NULL;
    d->joins = d->pads == d->data + 2 && both->n == 2 && can_join(r, d, both);
    if (TG_RARELY(d->joins)) {
        d->high_dst = both->at[0].dst;
        d->high_src = both->at[0].src;
    }
    return positions == size || make_padding(r, d);
}

/* The next dimension; its digits in dst are the next of r->dst. */
static bool add_dim(refinement *r, tg_both_digits *src, int64_t begin, int64_t end, int64_t size) {
    tg_both_digits *const dst = r->dst_end;
    const int64_t         positions = r->pair->pad && end == size ? count_positions(dst) : size;
    tg_both_digits        room;
    const tg_both_digits *both = tg_refine(&room, dst, src);
    if (TG_RARELY(both == NULL)) return refuse(r, "the tiles of both sides do not nest");
    const int64_t w = both->at[0].weight;
    const bool    whole = tg_is_multiple(begin, w) && tg_is_multiple(end, w);
    return TG_MOSTLY(whole && positions == size && begin < end) ? add_common(r, both, begin, end)
                                                     : add_segments(r, both, begin, end, size, positions);
}

/* Paddings and copies, which no coordinate names; only copies hold data. */
static bool make_synthetic(refinement *r, const tg_mode *mode) {
    const bool copy = mode->axis == TG_AXIS_COPY;
    if (TG_MOSTLY(mode->size <= 1 || (!copy && !r->pair->pad))) return true;
    if (r->dims_end == r->dims + MAX_DIMS) return refuse(r, "there are too many dimensions");
    tg_both_digits none;
    none.n = 0;
    tg_one_digit(r->dst_end, mode->stride, mode->size);
    return add_dim(r, &none, 0, copy ? mode->size : 1, copy ? mode->size : 1);
}

/* Dimension d, of any digits, that begin at these places of the chains. */
static bool make_digits(refinement *r, int32_t d, int32_t *at_dst, int32_t *at_src) {
    const tg_pair *p = r->pair;
    int32_t        i = *at_dst, j = *at_src;
    tg_both_digit  to, from;
    tg_both_digits src, *const dst = r->dst_end;
    const bool     one_dst = tg_single_mode(&to, p->dst, d, &i, true);
    const bool     one_src = tg_single_mode(&from, p->src, d, &j, false);
    if (one_dst) tg_one_digit(dst, to.dst, to.size), *at_dst = i;
    else if (!tg_collect(dst, p->dst, d, at_dst, true)) return refuse(r, "it has too many digits");
    if (one_src) tg_one_digit(&src, from.dst, from.size), *at_src = j;
    else if (!tg_collect(&src, p->src, d, at_src, false)) return refuse(r, "it has too many digits");
    return add_dim(r, &src, p->begin[d], p->end[d], p->dst->shape[d]);
}

/* Most dimensions are one step on either side, for all of their coordinates. */
static bool make_dim(refinement *r, int32_t d, int32_t *at_dst, int32_t *at_src) {
    const tg_pair *p = r->pair;
    if (TG_RARELY((p->single >> d & 1) == 0)) return make_digits(r, d, at_dst, at_src);
    const int64_t  begin = p->begin[d], end = p->end[d], size = p->dst->shape[d];
    const tg_mode *dst = &p->dst->mode[p->dst->chain[(*at_dst)++]], *src = &p->src->mode[p->src->chain[(*at_src)++]];
    const bool     pad = TG_RARELY(dst->size > size) && p->pad && end == size;
    if (TG_MOSTLY(begin < end && !pad)) return add_even(r, dst->stride, src->stride, begin, end);
    tg_both_digits *const both = r->dst_end;
    tg_one_digit(both, dst->stride, dst->size);
    both->at[0].src = src->stride;
    both->n = 1;
    return add_segments(r, both, begin, end, size, pad ? dst->size : size);
}

static bool make_dims(refinement *r) {
    const tg_layout *dst = r->pair->dst;
    int32_t          i = 0, j = 0;
    for (int32_t d = 0; d < dst->ndim; d++)
        if (TG_RARELY(!make_dim(r, d, &i, &j))) return false;
    for (; i < dst->nmodes; i++)
        if (TG_RARELY(!make_synthetic(r, &dst->mode[dst->chain[i]]))) return false;
    return true;
}
