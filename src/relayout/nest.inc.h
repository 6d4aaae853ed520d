/* From two layouts to boxes: the common refinement of the digits of both sides.
 *
 * Along one dimension dst may cut a coordinate by 64 and src by 8 and 4. Where the weights of both together nest (each
 * divides the one before: 64, 8, 4, 1), all of them are digits of both sides, and on each digit both sides move with
 * constant steps. Only the number of coordinates need not be whole: a dimension of 150 under a weight of 64 is
 * a segment of two full digits, 128 coordinates, and one of the remaining 22. A choice of one segment for each
 * dimension is a box: plain loops, no test inside.
 *
 *     f16[2,150] row-major to sticks of 64, [3][2][64], of which dimension 1 has
 *
 *     segment        loops (n, dst, src)           behind it, in dst
 *     [0, 128)       (2, 128, 64) (64, 1, 1)       -
 *     [128, 150)     (22, 1, 1)                    42 elements of padding: the tail of these runs
 *
 * Full runs and then a shorter one, of the same bits on both sides, are joined: one box reads each row once, from end
 * to end. Its loop counts chunks of columns, of which the last one is smaller:
 *
 *     [0, 150)       (3, 128, 64) (64, 1, 1)       the last one 22, then the same tail
 *
 * Padding falls into boxes too. A position of dst is padding if one of its dimensions is past the end there; with the
 * first such dimension as the one that counts, the dimensions before it are at data and those after it anywhere.
 * Padding that follows a run of data in the same stick is that run's tail and is written by the same mover, line by
 * line. Gaps between strides of dst are boxes as well where these nest: a loop of 100 steps of 160 around one of 150
 * elements leaves 10 behind each but the last. */
#include "base/checked.h"
#include "base/error.h"
#include "kernels/stream.h"
#include "relayout/box.h"
#include "relayout/box.inc.h"
#include "relayout/refine.h"

enum {
    MAX_DIMS = TG_MAX_NDIM + 16, /* logical ones, then dst's synthetic paddings and copies */
    MAX_SEGMENTS = 96,           /* of all dimensions */
    MAX_LOOPS = 200,             /* of all segments */
    MAX_TAIL = 4096,             /* elements; more padding is boxes, which blocks cut */
    MIN_JOINED = 32,             /* bytes: shorter runs are rather wide elements */
    MAX_BOX_LOOPS = TG_BOX_LOOPS - TG_BLOCK_LOOPS, /* chunks are added */
    MOST_CHOICES = 1 << 20,
    NO_SEGMENT = -1
};

/* A loop of a segment; steps in elements. */
typedef struct loop {
    int64_t n, dst, src;
} loop;

typedef struct segment {
    int64_t dst, src; /* elements: where it begins */
    int64_t tail;     /* positions of padding behind each run, else 0 */
    int64_t last;     /* if > 0: elements of the last run of the first loop, which alone has the tail */
    int32_t first, nloops;
} segment;

/* A dimension of several segments. */
typedef struct dim {
    int64_t               begin, end, size;
    int64_t               positions; /* in dst; `size` if its padding is not wanted here */
    const tg_both_digits *dst;
    int32_t               data, ndata; /* segments of coordinates in [begin, end) */
    int32_t               pads, npads; /* and of padding, if end is the dimension's end */
    int32_t               tail_pads;   /* of these, the last one or none: the tail of the last of data */
    bool                  has_tail;
    bool                  joins;       /* all of data can be one segment that ends in a shorter run */
    int64_t               high_dst, high_src; /* then: steps from run to run */
    int32_t               all;         /* one segment of all positions, or NO_SEGMENT if nobody asked yet */
} dim;


typedef struct refinement {
    tg_plan_private *plan;
    const tg_pair   *pair;
    const char      *why;    /* it cannot be done */
    tg_draft         common; /* what all boxes have: the dimensions of one segment */
    int32_t          ndims, nsegments, nloops;
    dim              dims[MAX_DIMS]; /* the others */
    tg_both_digits   dst[MAX_DIMS];  /* of dims, in the order in which they were made */
    segment          segments[MAX_SEGMENTS];
    loop             loops[MAX_LOOPS]; /* of segments */
} refinement;

TG_COLD static bool refuse(refinement *r, const char *why) {
    r->why = why;
    return false;
}

/* ---- segments ---- */

static segment *add_segment(refinement *r, int64_t dst, int64_t src) {
    if (TG_RARELY(r->nsegments == MAX_SEGMENTS)) {
        refuse(r, "there are too many ragged edges");
        return NULL;
    }
    segment *s = &r->segments[r->nsegments++];
    s->dst = dst;
    s->src = src;
    s->tail = s->last = 0;
    s->first = r->nloops;
    s->nloops = 0;
    return s;
}

static bool add_loop(refinement *r, segment *s, int64_t n, int64_t dst, int64_t src) {
    if (TG_RARELY(n == 1)) return true;
    if (r->nloops == MAX_LOOPS) return refuse(r, "there are too many loops");
    loop *l = &r->loops[r->nloops++];
    l->n = n;
    l->dst = dst;
    l->src = src;
    s->nloops++;
    return true;
}

/* Where coordinate c is. */
static void place(int64_t *dst, int64_t *src, const tg_both_digits *g, int64_t c) {
    *dst = *src = 0;
    for (int32_t i = 0; TG_RARELY(c > 0) && i < g->n; i++) {
        const int64_t w = g->at[i].weight, q = tg_div(c, w);
        c -= q * w;
        *dst += q * g->at[i].dst; /* fits: these are offsets of coordinates */
        *src += q * g->at[i].src;
    }
}

/* n steps of digit `level`, with all that is below it. */
static inline bool add_data(refinement *r, const tg_both_digits *g, int32_t level, int64_t n, int64_t dst,
                            int64_t src) {
    segment *s = add_segment(r, dst, src);
    if (TG_RARELY(s == NULL)) return false;
    if (TG_RARELY(r->nloops + TG_BOTH_DIGITS > MAX_LOOPS)) return refuse(r, "there are too many loops");
    loop *l = &r->loops[r->nloops];
    for (int32_t i = level;;) {
        l->n = n;
        l->dst = g->at[i].dst;
        l->src = g->at[i].src;
        l += n > 1;
        if (++i == g->n) break;
        n = g->at[i].steps;
    }
    r->nloops = (int32_t)(l - r->loops);
    s->nloops = r->nloops - s->first;
    return true;
}

/* Coordinates [begin, end), whole steps of digit `level`. */
static bool add_range(refinement *r, const tg_both_digits *g, int32_t level, int64_t begin, int64_t end) {
    int64_t dst, src;
    place(&dst, &src, g, begin);
    return add_data(r, g, level, tg_div(end - begin, g->at[level].weight), dst, src);
}

/* [begin, end), not empty, which a digit above `level` does not divide any further. */
static bool cut_at(refinement *r, const tg_both_digits *g, int32_t level, int64_t begin, int64_t end) {
    if (level + 1 == g->n) return add_range(r, g, level, begin, end);
    const int64_t w = g->at[level].weight, last = tg_div(end, w) * w;
    int64_t       first = 0;
    if (begin > 0 && !tg_mul(&first, tg_ceil_div(begin, w), w)) first = INT64_MAX;
    if (first > last) return cut_at(r, g, level + 1, begin, end);
    if (begin < first && !cut_at(r, g, level + 1, begin, first)) return false;
    if (first < last && !add_range(r, g, level, first, last)) return false;
    return last == end || cut_at(r, g, level + 1, last, end);
}

/* The same from coordinate 0 on: what each digit leaves is for the next one. */
static inline bool cut_all(refinement *r, const tg_both_digits *g, int64_t end) {
    int64_t dst = 0, src = 0;
    for (int32_t i = 0; end > 0; i++) {
        const int64_t w = g->at[i].weight, n = tg_div(end, w);
        if (n == 0) continue;
        if (TG_RARELY(!add_data(r, g, i, n, dst, src))) return false;
        end -= n * w;
        if (end == 0) break;
        dst += n * g->at[i].dst; /* fits: these are offsets of coordinates */
        src += n * g->at[i].src;
    }
    return true;
}

/* ---- padding of one dimension ---- */

/* No more than coordinates: then there is no padding, since each of these has a position of its own. */
static int64_t count_positions(const tg_both_digits *dst) {
    int64_t n = 1;
    for (int32_t i = 0; i < dst->n; i++) n *= dst->at[i].size; /* fits: dst is dense where padding is wanted */
    return n;
}

typedef struct pad_walk {
    const tg_both_digits *dst;
    int32_t               nouter; /* digits above, each walked over its full count */
    loop                  outer[TG_BOTH_DIGITS];
    bool                  has_tail; /* the run behind the last coordinate is for later */
} pad_walk;

static bool add_padding(refinement *r, const pad_walk *w, int32_t level, int64_t n, int64_t at) {
    segment *s = add_segment(r, at, 0);
    if (s == NULL) return false;
    for (int32_t i = 0; i < w->nouter; i++)
        if (!add_loop(r, s, w->outer[i].n, w->outer[i].dst, 0)) return false;
    if (!add_loop(r, s, n, w->dst->at[level].dst, 0)) return false;
    for (int32_t i = level + 1; i < w->dst->n; i++)
        if (!add_loop(r, s, w->dst->at[i].size, w->dst->at[i].dst, 0)) return false;
    return true;
}

/* Positions of the digits from `level` on that hold none of the `bound` coordinates there. */
static bool pad_level(refinement *r, pad_walk *w, int32_t level, int64_t bound, int64_t at) {
    if (level == w->dst->n) return true;
    const tg_both_digit *g = &w->dst->at[level];
    const int64_t        whole = tg_div(bound, g->weight), rest = bound - whole * g->weight;
    const int64_t        used = whole + (rest > 0);
    const bool           is_tail = w->has_tail && w->nouter == 0 && level + 1 == w->dst->n;
    if (g->size > used && !is_tail && !add_padding(r, w, level, g->size - used, at + used * g->dst)) return false;
    if (rest > 0 && !pad_level(r, w, level + 1, rest, at + whole * g->dst)) return false;
    if (whole == 0 || level + 1 == w->dst->n) return true;
    const loop all = {whole, g->dst, 0};
    w->outer[w->nouter++] = all;
    const bool done = pad_level(r, w, level + 1, g->weight, at);
    w->nouter--;
    return done;
}

/* How many positions of padding follow the last run of data in dst, if they do so without a gap. */
static int64_t tail_of(const refinement *r, const dim *d) {
    const tg_both_digits *dst = d->dst;
    if (TG_RARELY(dst->n == 0 || d->ndata == 0)) return 0;
    const tg_both_digit *g = &dst->at[dst->n - 1];
    const segment       *s = &r->segments[d->data + d->ndata - 1];
    if (g->dst != 1 || s->nloops > 1 || (s->nloops == 1 && r->loops[s->first].dst != 1)) return 0;
    const int64_t used = dst->n > 1 ? tg_rem(d->size, g[-1].weight) : d->size;
    const int64_t tail = used == 0 ? 0 : g->size - used;
    return tail > MAX_TAIL ? 0 : tail;
}

/* The tail as a segment of its own, for parts of tensors: where dimensions before this one are at padding, so is it. */
static bool add_tail(refinement *r, dim *d, int64_t tail) {
    const segment *const run = &r->segments[d->data + d->ndata - 1];
    const int64_t        length = run->nloops == 0 ? 1 : r->loops[run->first].n;
    segment *const       s = add_segment(r, run->dst + length, 0);
    d->tail_pads = 1;
    return s != NULL && add_loop(r, s, tail, 1, 0);
}

static bool make_padding(refinement *r, dim *d) {
    const int64_t tail = tail_of(r, d);
    d->has_tail = tail > 0;
    if (d->positions > d->size + tail) {
        pad_walk w;
        w.dst = d->dst;
        w.nouter = 0;
        w.has_tail = d->has_tail;
        if (!pad_level(r, &w, 0, d->size, 0)) return false;
    }
    if (tail > 0) {
        r->segments[d->data + d->ndata - 1].tail = tail;
        if (TG_RARELY(d->begin > 0) && !add_tail(r, d, tail)) return false;
    }
    d->npads = r->nsegments - d->pads;
    return true;
}

/* ---- dimensions ---- */

/* One segment: its loops are the same in all boxes. */
static bool add_common(refinement *r, const tg_both_digits *g, int64_t begin, int64_t end) {
    tg_draft *d = &r->common;
    int64_t   dst, src, n = tg_div(end - begin, g->at[0].weight);
    place(&dst, &src, g, begin);
    tg_draft_shift(d, dst, src);
    for (int32_t i = 0;;) {
        if (d->n == MAX_BOX_LOOPS) return refuse(r, "there are too many loops");
        if (TG_MOSTLY(n > 1)) tg_draft_loop(d, n, g->at[i].dst, g->at[i].src, TG_NO_LOOP);
        if (++i == g->n) return true;
        n = g->at[i].steps;
    }
}

/* One step on either side for all of them. */
static bool add_even(refinement *r, int64_t dst, int64_t src, int64_t begin, int64_t end) {
    tg_draft *d = &r->common;
    if (d->n == MAX_BOX_LOOPS) return refuse(r, "there are too many loops");
    if (TG_RARELY(begin > 0)) tg_draft_shift(d, begin * dst, begin * src); /* fits: these are offsets of coordinates */
    if (TG_MOSTLY(end - begin > 1)) tg_draft_loop(d, end - begin, dst, src, TG_NO_LOOP);
    return true;
}

/* Two segments, of two digits: runs of w elements on both sides, and at the end a shorter one? */
static bool can_join(const refinement *r, const dim *d, const tg_both_digits *g) {
    const tg_plan_private *p = r->plan;
    const int64_t          w = g->at[0].weight, width = p->dst_bits / 8;
    const tg_both_digit   *high = &g->at[0], *low = &g->at[1];
    if (!tg_is_multiple(d->begin, w) || high->dst <= 0 || low->dst != 1 || low->src != 1) return false;
    return p->dst_encoding.kind == TG_KIND_NONE && w * width >= MIN_JOINED && /* fits: positions of dst */
           w * width <= r->pair->tuning->run_grain && (high->dst != w || high->src != w);
}

/* Full runs that another loop continues on both sides are parts of a longer run. And with a single full run, two boxes
 * are of one loop less each: a block has place for three. */
static bool better_apart(const refinement *r, int64_t steps, int64_t w) {
    const tg_draft *d = &r->common;
    if (steps == 1 && d->n > 1) return true;
    const int64_t dst = w * d->dst_unit, src = w * d->src_unit;
    for (int32_t i = 0; i < d->n; i++)
        if (d->loop[i].dst == dst && d->loop[i].src == src) return true;
    for (int32_t i = 0; i < r->nloops; i++)
        if (r->loops[i].dst == w && r->loops[i].src == w) return true;
    return false;
}

/* Then true, and the segment is the last one. */
static bool join(refinement *r, const dim *d) {
    const segment *const whole = &r->segments[d->data], *const rest = &whole[1];
    const loop *const    first = &r->loops[whole->first];
    const int64_t        steps = whole->nloops == 2 ? first->n : 1, w = first[whole->nloops - 1].n;
    if (better_apart(r, steps, w) || r->nsegments == MAX_SEGMENTS || r->nloops + 2 > MAX_LOOPS) return false;
    segment *const s = add_segment(r, whole->dst, whole->src);
    s->tail = rest->tail;
    s->last = rest->nloops == 1 ? r->loops[rest->first].n : 1;
    (void)add_loop(r, s, steps + 1, d->high_dst, d->high_src);
    (void)add_loop(r, s, w, 1, 1);
    return true;
}

static bool add_segments(refinement *r, const tg_both_digits *both, int64_t begin, int64_t end, int64_t size,
                         int64_t positions) {
    dim *d = &r->dims[r->ndims];
    d->begin = begin;
    d->end = end;
    d->size = size;
    d->positions = positions;
    d->dst = &r->dst[r->ndims++];
    d->data = r->nsegments;
    if (TG_RARELY(begin > 0) ? begin < end && !cut_at(r, both, 0, begin, end) : !cut_all(r, both, end)) return false;
    d->pads = r->nsegments;
    d->ndata = d->pads - d->data;
    d->npads = d->tail_pads = 0;
    d->has_tail = false;
    d->all = NO_SEGMENT;
    d->joins = d->ndata == 2 && both->n == 2 && can_join(r, d, both);
    d->high_dst = both->at[0].dst;
    d->high_src = both->at[0].src;
    return positions == size || make_padding(r, d);
}

/* The next dimension; its digits in dst are the next of r->dst. */
static bool add_dim(refinement *r, tg_both_digits *src, int64_t begin, int64_t end, int64_t size) {
    tg_both_digits *const dst = &r->dst[r->ndims];
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
    if (r->ndims == MAX_DIMS) return refuse(r, "there are too many dimensions");
    tg_both_digits none;
    none.n = 0;
    tg_one_digit(&r->dst[r->ndims], mode->stride, mode->size);
    return add_dim(r, &none, 0, copy ? mode->size : 1, copy ? mode->size : 1);
}

/* Dimension d, of any digits, that begin at these places of the chains. */
static bool make_digits(refinement *r, int32_t d, int32_t *at_dst, int32_t *at_src) {
    const tg_pair *p = r->pair;
    int32_t        i = *at_dst, j = *at_src;
    tg_both_digit  to, from;
    tg_both_digits src, *const dst = &r->dst[r->ndims];
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
    tg_both_digits *const both = &r->dst[r->ndims];
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

/* ---- boxes ---- */

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

/* ---- gaps between strides ---- */

/* The loops of dst by increasing stride, and where its first element lies. */
typedef struct walk_of_dst {
    int64_t first;
    int32_t n;
    loop    at[TG_MAX_MODES];
} walk_of_dst;

/* False if dst has positions of its own that hold no data. */
static bool walk_dst(walk_of_dst *w, const tg_pair *p) {
    int64_t data = p->numel, positions = 1;
    w->first = p->dst->offset;
    w->n = 0;
    for (int32_t i = 0; i < p->dst->nmodes; i++) {
        const tg_mode *m = &p->dst->mode[i];
        const int64_t  step = tg_magnitude(m->stride);
        int32_t        k = w->n;
        if (m->axis == TG_AXIS_COPY && !tg_mul(&data, data, m->size)) return false;
        if (!tg_mul(&positions, positions, m->size)) return false;
        if (m->size == 1) continue;
        if (m->stride < 0) w->first += (m->size - 1) * m->stride;
        for (; k > 0 && w->at[k - 1].dst > step; k--) w->at[k] = w->at[k - 1];
        w->at[k] = (loop){m->size, step, 0};
        w->n++;
    }
    return positions == data;
}

/* Gaps behind runs of data that are at least a line long; shorter ones are filled faster together with the data. */
static bool are_gaps_far_apart(const walk_of_dst *w, int64_t width) {
    int64_t end = 1;
    for (int32_t i = 0; i < w->n; i++) {
        if (w->at[i].dst < end || (w->at[i].dst > end && end * width < TG_LINE_BYTES)) return false;
        end += (w->at[i].n - 1) * w->at[i].dst; /* fits: these are offsets of dst */
    }
    return true;
}

/* n positions of padding, at each step but the last one of loop i, and all steps of the loops around it. */
static bool add_gap(refinement *r, const walk_of_dst *w, int32_t i, int64_t at, int64_t n) {
    tg_draft d;
    tg_draft_begin(&d, r->plan, r->pair, at, 0, true);
    if (n > 1) tg_draft_loop(&d, n, 1, 0, TG_NO_LOOP);
    for (int32_t k = i; k < w->n; k++)
        if (k > i || w->at[k].n > 2) tg_draft_loop(&d, w->at[k].n - (k == i), w->at[k].dst, 0, TG_NO_LOOP);
    return n == 0 || draft_box(r, &d);
}

static bool add_all_gaps(refinement *r, const walk_of_dst *w) {
    int64_t end = w->first + 1;
    if (!add_gap(r, w, w->n, 0, w->first)) return false;
    for (int32_t i = 0; i < w->n; i++) {
        if (!add_gap(r, w, i, end, w->at[i].dst - (end - w->first))) return false;
        end += (w->at[i].n - 1) * w->at[i].dst;
    }
    return add_gap(r, w, w->n, end, r->pair->dst->span - end);
}

/* Where all of dst was to be filled before: if its strides nest, gaps are boxes too. Not inline: most plans have none,
 * and need no place for these loops. */
TG_OUTLINE void fill_gaps(refinement *r) {
    tg_nest *const nest = &r->plan->as.nest;
    const int32_t  nboxes = nest->nboxes, nloops = nest->nloops;
    const bool     single = nest->single;
    walk_of_dst    w;
    if (r->plan->dst_bits < 8 || !walk_dst(&w, r->pair) || !are_gaps_far_apart(&w, r->plan->dst_bits / 8)) return;
    r->plan->fill_first = !add_all_gaps(r, &w);
    if (!r->plan->fill_first) return;
    nest->nboxes = nboxes;
    nest->nloops = nloops;
    nest->single = single;
    r->why = r->plan->why = NULL;
}

/* Storage behind everything: XLA's tail padding. */
static bool add_rest(refinement *r) {
    const tg_pair *p = r->pair;
    const int64_t  rest = p->dst->span - p->dense_span;
    if (rest <= 0) return true;
    for (int32_t d = 0; d < p->dst->ndim; d++)
        if (p->end[d] != p->dst->shape[d]) return true; /* a later box's */
    tg_draft d;
    tg_draft_begin(&d, r->plan, p, p->dense_span, 0, true);
    tg_draft_loop(&d, rest, 1, 0, TG_NO_LOOP);
    return draft_box(r, &d);
}

/* False where the digits do not nest or there are too many boxes, with the reason. */
static bool make_nest(tg_plan_private *plan, const tg_pair *pair) {
    refinement r;
    r.plan = plan;
    r.pair = pair;
    r.why = NULL;
    r.ndims = r.nsegments = r.nloops = 0;
    tg_draft_begin(&r.common, plan, pair, pair->dst->offset, pair->src->offset, false);
    plan->as.nest.nboxes = plan->as.nest.nloops = plan->as.nest.nmovers = 0;
    plan->as.nest.single = true;
    plan->why = NULL;
    bool done = make_dims(&r);
    if (TG_RARELY(pair->pad) && done) put_tail_last(&r);
    done = done && make_boxes(&r) && (!pair->pad || add_rest(&r));
    if (TG_RARELY(done && plan->fill_first)) fill_gaps(&r);
    plan->why = r.why;
    return done;
}
