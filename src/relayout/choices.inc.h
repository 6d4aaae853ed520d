/* Boxes of data and of padding: one for each choice of a segment for every dimension. */
#include "relayout/box.inc.h"
#include "relayout/dims.inc.h"

typedef struct choice {
    const segment *first, *end, *at; /* of segments [first, end) */
} choice;

static bool draft_box(refinement *r, tg_draft *d) {
    if (TG_MOSTLY(make_box(d))) return true;
    return refuse(r, r->plan->why != NULL ? r->plan->why : "there are too many ragged edges");
}

/* The loops of a segment, and where it begins. */
static inline bool draft_segment(refinement *r, tg_draft *d, const segment *s) {
    if (TG_RARELY(d->n + s->nloops > MAX_BOX_LOOPS)) return refuse(r, "there are too many loops");
    d->dst += s->dst;
    d->src += s->src;
    d->tail += s->tail;
    d->last += s->last;
    for (const tg_loop *l = s->loop, *const end = l + s->nloops; l < end; l++)
        tg_draft_put(d, l->n, l->dst, TG_RARELY(d->fill) ? 0 : l->src, l->chunks_of);
    return true;
}

static bool add_box(refinement *r, tg_draft *d, const choice *c, const choice *end) {
    tg_draft_again(d, &r->common);
    for (; c < end; c++)
        if (TG_RARELY(!draft_segment(r, d, c->at))) return false;
    if (d->fill) d->tail = 0;
    return draft_box(r, d);
}

/* The box of segment s, which has just been added, once more for the next one: full runs, and then a shorter one. */
static bool add_twin(tg_draft *d, const segment *s) {
    const segment *const next = s + 1;
    const tg_loop *const run = s->loop, *const shorter = next->loop;
    return s->nloops == 1 && next->nloops == 1 && run->dst == d->dst_unit && run->src == d->src_unit &&
           d->run == run->n && shorter->dst == d->dst_unit && shorter->src == d->src_unit &&
           make_twin(d, shorter->n, d->tail - s->tail + next->tail, next->dst - s->dst, next->src - s->src);
}

/* The next choice, the last dimension running fastest; false behind the last one. */
static bool next_choice(choice *first, choice *c) {
    do {
        c--;
        if (++c->at < c->end) return true;
        c->at = c->first;
    } while (c > first);
    return false;
}

/* A box for every choice of one segment for each of some dimensions, at least one. */
static bool add_boxes(refinement *r, tg_draft *draft, choice *c, choice *end) {
    choice *const last = end - 1;
    for (choice *i = c; i < end; i++) {
        i->at = i->first;
        if (TG_RARELY(i->first == i->end)) return true;
    }
    do {
        if (TG_RARELY(!add_box(r, draft, c, end))) return false;
        if (last->at + 1 < last->end && add_twin(draft, last->at)) last->at++;
    } while (next_choice(c, end));
    return true;
}

/* The dimension with the tail goes last, so that what tails cover is no box of padding. */
static void put_tail_last(refinement *r) {
    for (dim *d = r->dims; d + 1 < r->dims_end; d++) {
        if (TG_MOSTLY(!d->has_tail)) continue;
        const dim tail = *d;
        for (; d + 1 < r->dims_end; d++) *d = d[1];
        *d = tail;
        return;
    }
}

/* What dimension d may be at where a dimension before it is at padding: every position is one segment, unless it is
 * only a part of the tensor that moves. */
static bool anywhere(refinement *r, choice *out, dim *d) {
    out->first = d->data;
    out->end = d->tail_end;
    if (d->begin > 0 || d->end < d->size) return true;
    if (d->all == NULL) {
        segment *const s = add_segment(r, 0, 0);
        d->all = s;
        if (s == NULL) return false;
        for (const tg_both_digit *g = d->dst->at, *const end = g + d->dst->n; g < end; g++)
            if (!add_loop(r, s, g->size, g->dst, 0)) return false;
    }
    out->first = d->all;
    out->end = d->all + 1;
    return true;
}

/* For each dimension: itself at padding, those before it at data and those behind it anywhere. They end where data
 * does, also in a part of a tensor. */
static bool add_padding_boxes(refinement *r, tg_draft *draft, choice *const first) {
    choice *c = first;
    for (dim *d = r->dims; d < r->dims_end; d++, c++) {
        if (d->tail > d->pads) { /* tails are the movers' */
            choice *e = c + 1;
            c->first = d->pads;
            c->end = d->tail;
            for (dim *other = d + 1; other < r->dims_end; other++, e++)
                if (TG_RARELY(!anywhere(r, e, other))) return false;
            if (TG_RARELY(!add_boxes(r, draft, first, e))) return false;
        }
        c->first = d->data;
        c->end = d->pads;
    }
    return true;
}

/* The segments of data, and whether they are one box, and all of dst, so that nobody else needs what boxes share. */
static bool choose_data(refinement *r, choice *data) {
    bool one = true;
    for (const dim *d = r->dims; d < r->dims_end; d++, data++) {
        const segment *const all = TG_RARELY(d->joins) ? join(r, d) : NULL;
        data->first = all != NULL ? all : d->data;
        data->end = all != NULL ? all + 1 : d->pads;
        one = one && data->end == data->first + 1 && d->pads == d->tail;
    }
    return one;
}

static bool make_boxes(refinement *r) {
    const int64_t ndims = r->dims_end - r->dims;
    choice        c[MAX_DIMS];
    tg_draft      draft;
    if (choose_data(r, c)) {
        for (int64_t i = 0; i < ndims; i++)
            if (TG_RARELY(!draft_segment(r, &r->common, c[i].first))) return false;
        return draft_box(r, &r->common);
    }
    tg_draft_like(&draft, &r->common);
    if (TG_RARELY(!add_boxes(r, &draft, c, c + ndims))) return false;
    draft.fill = true;
    return !r->pair->pad || add_padding_boxes(r, &draft, c);
}
