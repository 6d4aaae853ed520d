/* One dimension of both sides in segments: ranges of coordinates on which both are plain loops, and behind them the
 * padding of dst; nest.inc.h tells what for. What all dimensions have become so far is the refinement. */
#include "base/checked.h"
#include "relayout/box.h"
#include "relayout/refine.h"

enum {
    MAX_DIMS = TG_MAX_NDIM + 16, /* logical ones, then dst's synthetic paddings and copies */
    MAX_SEGMENTS = 96,           /* of all dimensions */
    MAX_LOOPS = 200,             /* of all segments */
    MAX_TAIL = 4096              /* elements; more padding is boxes, which blocks cut */
};

/* Places and steps are bytes, as those of a draft are. */
typedef struct segment {
    int64_t        dst, src; /* where it begins */
    int64_t        tail;     /* positions of padding behind each run, else 0 */
    int64_t        wide_tail; /* the same behind each run of wide elements (nest.inc.h), counted in these */
    int64_t        last;     /* if > 0: elements of the last run of the first loop, which alone has the tail */
    const tg_loop *loop;     /* nloops, each upwards in dst */
    int32_t        nloops;
} segment;

/* A dimension of several segments. */
typedef struct dim {
    int64_t               begin, end, size;
    int64_t               positions; /* in dst; `size` if its padding is not wanted here */
    const tg_both_digits *dst;
    /* Segments: of coordinates in [begin, end), up to pads; if end is the dimension's, of padding, up to tail; and one
     * or none, the tail of the last of data. */
    segment              *data, *pads, *tail, *tail_end;
    bool                  has_tail;
    bool                  joins;       /* all of data can be one segment that ends in a shorter run */
    int64_t               high_dst, high_src; /* then: elements from run to run */
    const segment        *all;         /* one segment of all positions, or NULL if nobody asked yet */
} dim;

typedef struct refinement {
    tg_plan_private *plan;
    const tg_pair   *pair;
    const char      *why;    /* it cannot be done */
    tg_draft         common; /* what all boxes have: the dimensions of one segment */
    dim             *wide_dim, *inner; /* those of a wide tail, and of the runs inside, if that is no common loop */
    int64_t          wide;     /* elements of such a run; 0: there is no wide tail, or not all boxes take it */
    uint32_t         wide_boxes; /* bit i: box i has it */
    int32_t          wide_step;  /* of padding, where it may be behind wide elements (find_wide_tail looks) */
    dim             *dims_end; /* behind the last one of dims, and so on */
    tg_both_digits  *dst_end;
    segment         *segments_end;
    tg_loop         *loops_end;
    dim              dims[MAX_DIMS];   /* the others */
    tg_both_digits   dst[MAX_DIMS];    /* of dims, in the order in which they were made */
    segment          segments[MAX_SEGMENTS];
    tg_loop          loops[MAX_LOOPS]; /* of segments */
} refinement;

TG_COLD static bool refuse(refinement *r, const char *why) {
    r->why = why;
    return false;
}

/* ---- segments ---- */

/* dst and src: elements. */
static segment *add_segment(refinement *r, int64_t dst, int64_t src) {
    segment *const s = r->segments_end;
    if (TG_RARELY(s == r->segments + MAX_SEGMENTS)) {
        refuse(r, "there are too many ragged edges");
        return NULL;
    }
    r->segments_end = s + 1;
    s->dst = dst * r->common.dst_unit;
    s->src = src * r->common.src_unit;
    s->tail = s->wide_tail = s->last = 0;
    s->loop = r->loops_end;
    s->nloops = 0;
    return s;
}

/* A loop of the last segment; steps in elements. */
static inline bool add_loop(refinement *r, segment *s, int64_t n, int64_t dst, int64_t src) {
    tg_loop *const l = r->loops_end;
    if (TG_RARELY(n == 1)) return true;
    if (TG_RARELY(l == r->loops + MAX_LOOPS)) return refuse(r, "there are too many loops");
    r->loops_end = l + 1;
    s->nloops++;
    tg_upwards(l, &s->dst, &s->src, n, dst * r->common.dst_unit, src * r->common.src_unit);
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

/* n steps of digit `at`, with all that is below it, up to `stop`. */
static inline bool add_data(refinement *r, const tg_both_digit *at, const tg_both_digit *stop, int64_t n, int64_t dst,
                            int64_t src) {
    const int64_t  dst_unit = r->common.dst_unit, src_unit = r->common.src_unit;
    tg_loop *const first = r->loops_end, *l = first;
    segment *const s = add_segment(r, dst, src);
    if (TG_RARELY(s == NULL)) return false;
    if (TG_RARELY(r->loops + MAX_LOOPS - l < TG_BOTH_DIGITS)) return refuse(r, "there are too many loops");
    for (;; n = at->steps) {
        if (n > 1) tg_upwards(l++, &s->dst, &s->src, n, at->dst * dst_unit, at->src * src_unit);
        if (++at == stop) break;
    }
    s->nloops = (int32_t)(l - first);
    r->loops_end = l;
    return true;
}

/* Coordinates [begin, end), whole steps of digit `level`. */
static bool add_range(refinement *r, const tg_both_digits *g, int32_t level, int64_t begin, int64_t end) {
    int64_t dst, src;
    place(&dst, &src, g, begin);
    return add_data(r, &g->at[level], &g->at[g->n], tg_div(end - begin, g->at[level].weight), dst, src);
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
    const tg_both_digit *const stop = &g->at[g->n];
    int64_t                    dst = 0, src = 0;
    for (const tg_both_digit *at = g->at; end > 0; at++) {
        const int64_t n = tg_div(end, at->weight);
        if (TG_RARELY(n == 0)) continue;
        if (TG_RARELY(!add_data(r, at, stop, n, dst, src))) return false;
        end -= n * at->weight;
        if (TG_MOSTLY(end == 0)) break;
        dst += n * at->dst; /* fits: these are offsets of coordinates */
        src += n * at->src;
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
    int32_t               nouter; /* digits above, each walked over its full count, steps in elements */
    struct { int64_t n, dst; } outer[TG_BOTH_DIGITS];
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
    w->outer[w->nouter].n = whole;
    w->outer[w->nouter++].dst = g->dst;
    const bool done = pad_level(r, w, level + 1, g->weight, at);
    w->nouter--;
    return done;
}

/* Positions of the last digit that are behind the last coordinate; 0 if it has them all. */
static inline int64_t left_of(const dim *d) {
    const tg_both_digit *const g = &d->dst->at[d->dst->n - 1];
    const int64_t              used = d->dst->n > 1 ? tg_rem(d->size, g[-1].weight) : d->size;
    return used == 0 ? 0 : g->size - used;
}

/* How many positions of padding follow the last run of data in dst, if they do so without a gap; of such that are
 * `step` elements each. */
TG_INLINE int64_t tail_of(const refinement *r, const dim *d, int64_t step) {
    const tg_both_digits *dst = d->dst;
    if (TG_RARELY(dst->n == 0 || d->data == d->pads)) return 0;
    const tg_both_digit *g = &dst->at[dst->n - 1];
    const segment *const s = d->pads - 1;
    if (g->dst != step || s->nloops > 1 || (s->nloops == 1 && s->loop->dst != step * r->common.dst_unit)) return 0;
    const int64_t tail = left_of(d);
    return tail > MAX_TAIL / step ? 0 : tail;
}

/* The tail as a segment of its own: for parts of tensors, where dimensions before this one are at padding, so is it. */
static bool add_tail(refinement *r, dim *d, int64_t tail, int64_t step) {
    const segment *const run = d->pads - 1;
    const int64_t        length = run->nloops == 0 ? 1 : run->loop->n;
    segment *const       s = add_segment(r, 0, 0);
    if (s == NULL) return false;
    s->dst = run->dst + length * step * r->common.dst_unit;
    return add_loop(r, s, tail, step, 0);
}

/* Elements of the runs that the last segment of a dimension is, if it is such that follow each other in dst: three
 * pairs, whose rows take turns in src, at the beginning of a stick. */
static int64_t run_in_run(const refinement *r, const dim *d) {
    const segment *const s = d->pads - 1;
    if (d->pads == d->data || s->nloops != 2) return 0;
    const tg_loop *const runs = &s->loop[0], *const run = &s->loop[1];
    const bool both = run->dst == r->common.dst_unit && run->src == r->common.src_unit;
    return both && runs->dst == run->n * run->dst ? run->n : 0;
}

/* Padding in steps of several elements, which are as long as some element is, may be behind wide ones. */
static void note_wide_steps(refinement *r, const dim *d) {
    enum { LEAST_BITS = 16, MOST_BITS = 128 };
    int64_t step = d->dst->n > 0 ? d->dst->at[d->dst->n - 1].dst : 0;
    if (step == 1) step = run_in_run(r, d);
    if (step < 2 || step > MOST_BITS) return;
    const int64_t bits = step * r->plan->dst_bits;
    if (bits >= LEAST_BITS && bits <= MOST_BITS && (bits & (bits - 1)) == 0) r->wide_step = (int32_t)step;
}

static bool make_padding(refinement *r, dim *d) {
    const int64_t tail = tail_of(r, d, 1);
    d->has_tail = tail > 0;
    if (d->positions > d->size + tail) {
        pad_walk w;
        w.dst = d->dst;
        w.nouter = 0;
        w.has_tail = d->has_tail;
        if (!pad_level(r, &w, 0, d->size, 0)) return false;
        note_wide_steps(r, d);
    }
    d->tail = r->segments_end;
    if (tail > 0) {
        d->pads[-1].tail = tail;
        if (TG_RARELY(d->begin > 0) && !add_tail(r, d, tail, 1)) return false;
    }
    d->tail_end = r->segments_end;
    return true;
}
