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
    d->wide_tail += s->wide_tail;
    d->last += s->last;
    for (const tg_loop *l = s->loop, *const end = l + s->nloops; l < end; l++)
        tg_draft_put(d, l->n, l->dst, TG_RARELY(d->fill) ? 0 : l->src, l->chunks_of);
    return true;
}

/* Then boxes that have already been made have no tail either: no byte is written twice, since two threads could. */
static void refuse_wide_tail(refinement *r) {
    tg_nest *const nest = &r->plan->as.nest;
    r->wide = 0;
    for (uint32_t left = r->wide_boxes; left != 0; left &= left - 1) nest->box[__builtin_ctz(left)].block.tail = 0;
}

/* Of wide elements that are not whole there is no tail. If another box does not take it, it is padding for all. */
static bool draft_wide_box(refinement *r, tg_draft *d) {
    const tg_loop *const run = &d->loop[d->n - 1];
    const uint32_t       this = (uint32_t)1 << r->plan->as.nest.nboxes % TG_PLAN_BOXES;
    if (d->fill || run->dst != d->dst_unit || run->n != r->wide) d->wide_tail = 0;
    if (d->wide_tail > 0 && d->n > 1 && goes_on(run - 1, run)) { /* they are one run */
        d->tail = d->wide_tail * r->wide;
        d->wide_tail = 0;
        r->wide_boxes |= this;
    }
    const bool has_one = d->wide_tail > 0;
    if (!draft_box(r, d)) return false;
    if (d->wide_tail > 0) refuse_wide_tail(r);
    else if (has_one) r->wide_boxes |= this;
    return true;
}

static bool add_box(refinement *r, tg_draft *d, const choice *c, const choice *end) {
    tg_draft_again(d, &r->common);
    for (; c < end; c++)
        if (TG_RARELY(!draft_segment(r, d, c->at))) return false;
    if (d->fill) d->tail = 0;
    return TG_MOSTLY(d->wide_tail == 0) ? draft_box(r, d) : draft_wide_box(r, d);
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
        if (last->at + 1 < last->end && r->wide == 0 && add_twin(draft, last->at)) last->at++;
    } while (next_choice(c, end));
    return true;
}

static void put_last(refinement *r, dim *d) {
    const dim last = *d;
    for (; d + 1 < r->dims_end; d++) *d = d[1];
    *d = last;
}

/* The dimension with the tail goes last, so that what tails cover is no box of padding. */
static void put_tail_last(refinement *r) {
    for (dim *d = r->dims; d + 1 < r->dims_end; d++) {
        if (TG_MOSTLY(!d->has_tail)) continue;
        put_last(r, d);
        return;
    }
}

/* ---- padding behind wide elements ---- */

/* Elements of the runs that both sides have; 0 if there are none, or parts of some stand alone. `inner`: their
 * dimension, if it has several segments; then the first one is of whole runs. */
static int64_t find_inner(refinement *r, dim **inner) {
    const tg_draft *const c = &r->common;
    *inner = NULL;
    for (int32_t i = 0; i < c->n; i++)
        if (c->loop[i].dst == c->dst_unit) return c->loop[i].src == c->src_unit ? c->loop[i].n : 0;
    for (dim *d = r->dims; d < r->dims_end; d++) {
        if (d->dst->n == 0 || d->dst->at[d->dst->n - 1].dst != 1) continue;
        const tg_both_digit *const last = &d->dst->at[d->dst->n - 1];
        *inner = d;
        if (d->data == d->pads || d->data->nloops == 0) return 0;
        const tg_loop *const run = &d->data->loop[d->data->nloops - 1];
        const bool both = run->dst == c->dst_unit && run->src == c->src_unit, all = run->n == last->size;
        return both && all && (d->dst->n == 1 || last[-1].weight == last->size) ? last->size : 0;
    }
    return 0;
}

/* Wide elements of padding behind the last run of several ones of data. In a cache less than a stick of these is turned
 * no faster with a tail than lines of padding, asked for ahead, are filled (an Emerald Rapids, 512 KiB, x memcpy:
 * bf16[2000,140] to T(8,128)(2,1) 0.58 apart and 0.50, bf16[34,2048] to columns of it 0.37 and 0.47). */
static int64_t wide_tail_of(const refinement *r, const dim *d, int64_t wide) {
    if (d->pads == d->data || d->pads[-1].nloops != 1) return 0;
    const int64_t bytes = tg_bytes_for(d->pads[-1].loop->n * wide, r->plan->dst_bits);
    return bytes >= TG_STICK_BYTES || r->plan->stream_turned ? tail_of(r, d, wide) : 0;
}

/* The dimension whose last segment is such runs itself goes last. */
static void find_tail_of_runs(refinement *r) {
    const int64_t wide = r->wide_step;
    for (dim *d = r->dims; d < r->dims_end; d++) {
        if (run_in_run(r, d) != wide) continue;
        const int64_t tail = left_of(d);
        if (tail == 0 || tail % wide != 0 || tail > MAX_TAIL) continue;
        d->pads[-1].wide_tail = tail / wide;
        r->wide = wide;
        r->wide_boxes = 0;
        put_last(r, d);
        r->inner = NULL;
        r->wide_dim = r->dims_end - 1;
        return;
    }
}

/* Is there padding that can be a tail? Then its dimension goes last, but for that of the runs inside. */
TG_OUTLINE void find_wide_tail(refinement *r) {
    const int64_t wide = r->wide_step;
    dim          *inner, *d = r->dims;
    if (!r->pair->whole || r->plan->dst_encoding.kind != TG_KIND_NONE) return;
    if (find_inner(r, &inner) != wide) {
        find_tail_of_runs(r);
        return;
    }
    while (d < r->dims_end && (d == inner || d->pads == d->tail || wide_tail_of(r, d, wide) == 0)) d++;
    if (d == r->dims_end) return;
    d->pads[-1].wide_tail = wide_tail_of(r, d, wide);
    r->wide = wide;
    r->wide_boxes = 0;
    put_last(r, d);
    if (inner != NULL) put_last(r, inner > d ? inner - 1 : inner);
    r->inner = inner != NULL ? r->dims_end - 1 : NULL;
    r->wide_dim = r->dims_end - 1 - (inner != NULL);
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

/* What other boxes do not have as a wide tail: the rest of the dimension's padding, and of the tail what is behind no
 * whole run. */
static bool add_wide_padding(refinement *r, tg_draft *draft, choice *first, choice *c) {
    dim *const    d = r->wide_dim, *const inner = r->inner;
    choice *const end = c + 1 + (inner != NULL);
    pad_walk      w = {.dst = d->dst, .has_tail = true};
    c->first = r->segments_end;
    if (!pad_level(r, &w, 0, d->size, 0)) return false;
    c->end = r->segments_end;
    if (inner != NULL && !anywhere(r, c + 1, inner)) return false;
    if (!add_boxes(r, draft, first, end)) return false;
    if (inner == NULL) return true;
    c->first = r->segments_end;
    if (!add_tail(r, d, d->pads[-1].wide_tail, r->wide)) return false;
    c->end = c[1].first = r->segments_end;
    w = (pad_walk){.dst = inner->dst};
    if (!pad_level(r, &w, 0, inner->size / r->wide * r->wide, 0)) return false;
    c[1].end = r->segments_end;
    return add_boxes(r, draft, first, end);
}

/* For each dimension: itself at padding, those before it at data and those behind it anywhere. They end where data
 * does, also in a part of a tensor. */
static bool add_padding_boxes(refinement *r, tg_draft *draft, choice *const first) {
    choice *c = first;
    for (dim *d = r->dims; d < r->dims_end; d++, c++) {
        if (TG_RARELY(r->wide > 0) && d == r->wide_dim) {
            if (!add_wide_padding(r, draft, first, c)) return false;
        } else if (d->tail > d->pads) { /* tails are the movers' */
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
