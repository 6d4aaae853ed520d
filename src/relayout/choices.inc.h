/* Boxes of data and of padding: one for each choice of a segment for every dimension. */
#include "relayout/box.inc.h"
#include "relayout/dims.inc.h"

enum { MOST_CHOICES = 1 << 20 };

typedef struct choice {
    int32_t first, n, at; /* segments [first, first + n) */
} choice;

static bool draft_box(refinement *r, tg_draft *d) {
    if (TG_MOSTLY(make_box(d))) return true;
    return refuse(r, r->plan->why != NULL ? r->plan->why : "there are too many ragged edges");
}

/* The loops of a segment, and where it begins. */
static inline void draft_segment(const refinement *r, tg_draft *d, const segment *s) {
    tg_draft_shift(d, s->dst, s->src);
    d->tail += s->tail;
    d->last += s->last;
    for (int32_t k = 0; k < s->nloops; k++) {
        const loop *l = &r->loops[s->first + k];
        tg_draft_loop(d, l->n, l->dst, l->src, TG_RARELY(s->last > 0) && k == 0 ? TG_BLOCK_COLS : TG_NO_LOOP);
    }
}

static bool add_box(refinement *r, tg_draft *d, const choice *chosen) {
    tg_draft_again(d, &r->common);
    for (int32_t i = 0; i < r->ndims; i++) {
        const segment *s = &r->segments[chosen[i].at];
        if (TG_RARELY(d->n + s->nloops > MAX_BOX_LOOPS)) return refuse(r, "there are too many loops");
        draft_segment(r, d, s);
    }
    if (d->fill) d->tail = 0;
    return draft_box(r, d);
}

/* The box of segment s, which has just been added, once more for the next one: full runs, and then a shorter one. */
static bool add_twin(const refinement *r, tg_draft *d, const segment *s) {
    const segment *const next = s + 1;
    const loop *const    run = &r->loops[s->first], *const shorter = &r->loops[next->first];
    return s->nloops == 1 && next->nloops == 1 && run->dst == 1 && run->src == 1 && d->run == run->n &&
           shorter->dst == 1 && shorter->src == 1 &&
           make_twin(d, shorter->n, d->tail - s->tail + next->tail, next->dst - s->dst, next->src - s->src);
}

/* The next choice, the last dimension running fastest. */
static void next_choice(choice *c, int32_t n) {
    for (int32_t d = n - 1; d >= 0; d--) {
        if (++c[d].at < c[d].first + c[d].n) return;
        c[d].at = c[d].first;
    }
}

/* A box for every choice of one segment for each dimension. */
static bool add_boxes(refinement *r, tg_draft *draft, choice *c) {
    const int32_t n = r->ndims;
    choice *const last = &c[n - 1];
    int32_t       left = 1;
    for (int32_t d = 0; d < n; d++) {
        c[d].at = c[d].first;
        left = TG_RARELY(left > MOST_CHOICES) ? left : left * c[d].n; /* then most are never made */
    }
    for (; left > 0; left--) {
        if (TG_RARELY(!add_box(r, draft, c))) return false;
        if (left > 1 && last->at + 1 < last->first + last->n && add_twin(r, draft, &r->segments[last->at])) {
            last->at++;
            left--;
        }
        if (left > 1) next_choice(c, n);
    }
    return true;
}

/* The dimension with the tail goes last, so that what tails cover is no box of padding. */
static void put_tail_last(refinement *r) {
    for (int32_t d = 0; d + 1 < r->ndims; d++) {
        if (!r->dims[d].has_tail) continue;
        const dim tail = r->dims[d];
        for (; d + 1 < r->ndims; d++) r->dims[d] = r->dims[d + 1];
        r->dims[d] = tail;
        return;
    }
}

/* What dimension d may be at where a dimension before it is at padding: every position is one segment, unless it is
 * only a part of the tensor that moves. */
static bool anywhere(refinement *r, choice *out, dim *d) {
    const choice data_and_pads = {d->data, d->ndata + d->npads, 0}; /* pads follow data in the pool */
    *out = data_and_pads;
    if (d->begin > 0 || d->end < d->size) return true;
    if (d->all == NO_SEGMENT) {
        segment *s = add_segment(r, 0, 0);
        d->all = r->nsegments - 1;
        for (int32_t i = 0; s != NULL && i < d->dst->n; i++)
            if (!add_loop(r, s, d->dst->at[i].size, d->dst->at[i].dst, 0)) return false;
        if (s == NULL) return false;
    }
    const choice all = {d->all, 1, 0};
    *out = all;
    return true;
}

/* For each dimension: itself at padding, those before it at data and those behind it anywhere. They end where data
 * does, also in a part of a tensor. */
static bool add_padding_boxes(refinement *r, tg_draft *draft) {
    choice c[MAX_DIMS];
    for (int32_t d = 0; d < r->ndims; d++) {
        const dim *const at = &r->dims[d];
        c[d].first = at->pads;
        c[d].n = at->npads - at->tail_pads; /* tails are the movers' */
        for (int32_t e = d + 1; e < r->ndims && c[d].n > 0; e++)
            if (!anywhere(r, &c[e], &r->dims[e])) return false;
        if (c[d].n > 0 && !add_boxes(r, draft, c)) return false;
        c[d].first = at->data;
        c[d].n = at->ndata;
    }
    return true;
}

/* The segments of data, and whether they are one box, and all of dst, so that nobody else needs what boxes share. */
static bool choose_data(refinement *r, choice *data) {
    bool one = true;
    for (int32_t d = 0; d < r->ndims; d++) {
        const dim *const at = &r->dims[d];
        const bool       all = at->joins && join(r, at);
        data[d].first = all ? r->nsegments - 1 : at->data;
        data[d].n = all ? 1 : at->ndata;
        one = one && data[d].n == 1 && at->npads == at->tail_pads;
    }
    return one;
}

static bool make_boxes(refinement *r) {
    choice   data[MAX_DIMS];
    tg_draft draft;
    if (choose_data(r, data)) {
        for (int32_t d = 0; d < r->ndims; d++) {
            const segment *s = &r->segments[data[d].first];
            if (TG_RARELY(r->common.n + s->nloops > MAX_BOX_LOOPS)) return refuse(r, "there are too many loops");
            draft_segment(r, &r->common, s);
        }
        return draft_box(r, &r->common);
    }
    tg_draft_like(&draft, &r->common);
    if (!add_boxes(r, &draft, data)) return false;
    draft.fill = true;
    return !r->pair->pad || add_padding_boxes(r, &draft);
}
