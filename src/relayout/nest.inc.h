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
 * line. So is what follows a run of wide elements, whole runs of a few elements that move as one:
 *
 *     bf16[7,1000] to {0,1:T(8,128)(2,1)}    (500, 512, 4) (7, 4, 2000) (2, 2, 2), of bytes; behind the 7 pairs 484 of
 *                                            padding, in 121 pairs
 *
 * The runs may be of the same dimension: f16[6,N] out of T(8,128)(2,1) to sticks of its columns has three pairs in each
 * stick, and behind them 29.
 *
 * Gaps between strides of dst are boxes as well where these nest: a loop of 100 steps of 160 around one of 150
 * elements leaves 10 behind each but the last.
 *
 * segments.inc.h  the segments of one dimension, and those of its padding
 * dims.inc.h      all dimensions, from the modes of both layouts
 * choices.inc.h   boxes of choices of segments
 * gaps.inc.h      boxes of gaps
 * slabs.inc.h    or no boxes of padding at all: dst is made in a buffer, piece by piece */
#include "relayout/slabs.inc.h"

/* Storage behind everything: XLA's tail padding. */
static bool add_rest(refinement *r) {
    const tg_pair *p = r->pair;
    const int64_t  rest = p->dst->span - p->dense_span;
    if (rest <= 0) return true;
    for (int32_t d = 0; d < p->dst->ndim; d++)
        if (p->end[d] != p->dst->shape[d]) return true; /* a later box's */
    tg_draft d;
    tg_draft_begin(&d, r->plan, p, p->dense_span, 0, true);
    tg_draft_loop(&d, rest, 1, 0);
    return draft_box(r, &d);
}

static inline void order_padding(refinement *r) {
    put_tail_last(r);
    if (TG_RARELY(r->wide_step > 0)) find_wide_tail(r);
}

static inline void begin_nest(refinement *r, tg_plan_private *plan, const tg_pair *pair) {
    tg_nest *const nest = &plan->as.nest;
    r->plan = plan;
    r->pair = pair;
    r->why = NULL;
    r->wide = r->wide_step = 0;
    r->dims_end = r->dims;
    r->dst_end = r->dst;
    r->segments_end = r->segments;
    r->loops_end = r->loops;
    tg_draft_begin(&r->common, plan, pair, pair->dst->offset, pair->src->offset, false);
    nest->nboxes = nest->nloops = nest->nmovers = 0;
    nest->slabs.nloops = 0;
    nest->single = true;
    plan->why = NULL;
}

/* A large move may be planned once more: in slabs, whose boxes store into a buffer, or with blocks that can be
 * combined. If that cannot be, as before. */
typedef enum nest_phase { NEST_PLAIN, NEST_SLABS, NEST_NO_SLABS, NEST_COMBINED, NEST_PLAIN_AGAIN } nest_phase;

typedef struct nest_try {
    nest_phase phase;
    bool       fill_first; /* as it was */
    int64_t    most_blocks; /* of a combined nest */
    tg_pair    data;       /* of slabs: without padding */
    bool       along_lines;   /* and whether only such as go on along lines of src are worth it */
} nest_try;

static bool begin_slabs(nest_try *t, tg_plan_private *plan, const tg_pair *pair) {
    if (!wants_slabs(&t->along_lines, plan, pair)) return false;
    t->phase = NEST_SLABS;
    t->data = *pair;
    t->data.pad = false;
    plan->stream = plan->stream_turned = false;
    return true;
}

static bool begin_combined(nest_try *t, tg_plan_private *plan, const tg_pair *pair) {
    t->most_blocks = tg_most_combined(plan, pair);
    if (t->most_blocks == 0) return false;
    t->phase = NEST_COMBINED;
    plan->combines = true;
    return true;
}

/* After a try: is there another one to be made? */
TG_OUTLINE bool try_again(nest_try *t, tg_plan_private *plan, const tg_pair *pair, bool done) {
    switch (t->phase) {
    case NEST_PLAIN:
        if (!done || (!begin_slabs(t, plan, pair) && !begin_combined(t, plan, pair))) return false;
        break;
    case NEST_SLABS:
        plan->stream = plan->stream_turned = true;
        plan->fill_first = t->fill_first && !done;
        if (done) return false;
        t->phase = NEST_NO_SLABS;
        break;
    case NEST_NO_SLABS:
        if (!done || !begin_combined(t, plan, pair)) return false;
        break;
    case NEST_COMBINED:
        if (done && tg_nest_combine(plan, t->most_blocks)) return false;
        plan->combines = false;
        t->phase = NEST_PLAIN_AGAIN;
        break;
    default: return false;
    }
    plan->work = plan->bytes;
    return true;
}

/* False where the digits do not nest or there are too many boxes, with the reason. */
static bool make_nest(tg_plan_private *plan, const tg_pair *pair) {
    refinement r;
    nest_try   t;
    t.phase = NEST_PLAIN;
    t.fill_first = plan->fill_first;
    for (;;) { /* not by calls: what makes most plans is one piece of code */
        const bool slabs = TG_RARELY(t.phase == NEST_SLABS);
        begin_nest(&r, plan, slabs ? &t.data : pair);
        bool done = make_dims(&r);
        if (slabs) done = done && open_slabs(&r, t.along_lines);
        else if (TG_RARELY(pair->pad) && done) order_padding(&r);
        done = done && make_boxes(&r) && (!r.pair->pad || add_rest(&r));
        if (TG_RARELY(done && plan->fill_first && !slabs)) fill_gaps(&r);
        plan->why = r.why;
        if (TG_MOSTLY(!plan->stream && t.phase == NEST_PLAIN) || !try_again(&t, plan, pair, done)) return done;
    }
}
