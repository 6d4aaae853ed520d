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
 * Padding falls into boxes too. A position of dst is padding if one of its dimensions is past the end there; with the
 * first such dimension as the one that counts, the dimensions before it are at data and those after it anywhere.
 * Padding that follows a run of data in the same stick is that run's tail and is written by the same mover, line by
 * line. */
#include "base/checked.h"
#include "relayout/plan.h"

#include <string.h>

enum {
    MAX_DIGITS = 12,     /* of one dimension, both sides together */
    MAX_DIMS = TG_MAX_NDIM + 16, /* logical ones, then dst's synthetic paddings and copies */
    MAX_SEGMENTS = 96,   /* of all dimensions */
    MAX_TAIL = 4096,     /* elements; more padding is boxes, which blocks cut */
    MAX_PARTS = 192,
    MAX_BOX_LOOPS = TG_BOX_LOOPS - 3 /* chunks are added */
};

/* What one dimension is cut by. */
typedef struct digit {
    int64_t weight, dst, src;
    int64_t size; /* positions in dst */
} digit;

typedef struct digits {
    int32_t n;
    digit   at[MAX_DIGITS]; /* by decreasing weight */
} digits;

/* A loop of a segment; steps in elements. */
typedef struct part {
    int64_t n, dst, src;
} part;

typedef struct segment {
    int64_t dst, src; /* elements: where it begins */
    int64_t tail;     /* positions of padding behind each run, else 0 */
    int32_t first, nparts;
} segment;

typedef struct dim {
    int64_t begin, end, size;
    int32_t data, ndata; /* segments of coordinates in [begin, end) */
    int32_t pads, npads; /* and of padding, if end is the dimension's end */
    bool    has_tail;    /* the last of pads is the tail of the last of data */
    int32_t all;         /* one segment of all positions, if begin and end are everything; else -1 */
} dim;

typedef struct maker {
    tg_plan_private *plan;
    const tg_pair   *pair;
    const char      *why; /* it cannot be done */
    int32_t          ndims, nsegments, nparts;
    dim              dims[MAX_DIMS];
    segment          segments[MAX_SEGMENTS];
    part             parts[MAX_PARTS];
} maker;

static bool refuse(maker *m, const char *why) {
    m->why = why;
    return false;
}

/* ---- digits ---- */

/* Below the others, or merged with the last one where both are one even walk. */
static bool append_digit(digits *list, int64_t weight, int64_t stride, int64_t size) {
    digit *g = &list->at[list->n];
    if (list->n > 0) {
        digit        *high = &g[-1];
        const int64_t ratio = weight == 1 ? high->weight : high->weight / weight;
        int64_t       step, whole;
        if (ratio * weight == high->weight && size == ratio && tg_mul(&step, stride, ratio) && step == high->dst &&
            tg_mul(&whole, high->size, ratio)) {
            high->weight = weight;
            high->dst = stride;
            high->size = whole;
            return true;
        }
    }
    if (list->n == MAX_DIGITS) return false;
    list->n++;
    g->weight = weight;
    g->dst = stride;
    g->src = 0;
    g->size = size;
    return true;
}

/* The memory digits of one axis, from chain position *at on. */
static bool collect(digits *out, const tg_layout *l, int32_t axis, int32_t *at, bool padded) {
    out->n = 0;
    for (; *at < l->nmodes && l->mode[l->chain[*at]].axis == axis; ++*at) {
        const tg_mode *m = &l->mode[l->chain[*at]];
        const int64_t  size = padded ? m->size : m->count; /* src's own padding is nobody's */
        if (size > 1 && !append_digit(out, m->weight, m->stride, size)) return false;
    }
    return true;
}

/* What one step of weight w moves a side whose first digit of weight <= w is `at`. */
static bool step_at(int64_t *out, const digits *side, int32_t at, int64_t w) {
    *out = 0;
    if (at == side->n) return true;
    const digit *g = &side->at[at];
    return g->weight == w ? (*out = g->dst, true) : tg_mul(out, g->dst, g->weight == 1 ? w : w / g->weight);
}

/* All weights of both sides; false if they do not nest. */
static bool refine(digits *out, const digits *dst, const digits *src) {
    int32_t i = 0, j = 0;
    out->n = 0;
    while (i < dst->n || j < src->n) {
        const int64_t a = i < dst->n ? dst->at[i].weight : 0, b = j < src->n ? src->at[j].weight : 0;
        const int64_t w = tg_max(a, b);
        digit        *g = &out->at[out->n];
        if (out->n == MAX_DIGITS || (out->n > 0 && w != 1 && g[-1].weight % w != 0)) return false;
        g->weight = w;
        if (!step_at(&g->dst, dst, i, w) || !step_at(&g->src, src, j, w)) return false;
        i += a == w;
        j += b == w;
        out->n++;
    }
    return true;
}

/* ---- segments ---- */

static segment *add_segment(maker *m, int64_t dst, int64_t src) {
    if (m->nsegments == MAX_SEGMENTS) {
        refuse(m, "there are too many ragged edges");
        return NULL;
    }
    segment *s = &m->segments[m->nsegments++];
    s->dst = dst;
    s->src = src;
    s->tail = 0;
    s->first = m->nparts;
    s->nparts = 0;
    return s;
}

static bool add_part(maker *m, segment *s, int64_t n, int64_t dst, int64_t src) {
    if (n == 1) return true;
    if (m->nparts == MAX_PARTS) return refuse(m, "there are too many loops");
    const part p = {n, dst, src};
    m->parts[m->nparts++] = p;
    s->nparts++;
    return true;
}

/* Coordinates [begin, end), whole steps of digit `level`, with all that is below it. */
static bool add_data(maker *m, const digits *g, int32_t level, int64_t begin, int64_t end) {
    int64_t dst = 0, src = 0, rest = begin;
    for (int32_t i = 0; i < g->n && rest > 0; i++) {
        const int64_t q = rest / g->at[i].weight;
        rest -= q * g->at[i].weight;
        dst += q * g->at[i].dst; /* fits: these are offsets of coordinates */
        src += q * g->at[i].src;
    }
    segment *s = add_segment(m, dst, src);
    if (s == NULL) return false;
    if (g->n == 0) return add_part(m, s, end - begin, 0, 0);
    const int64_t w = g->at[level].weight;
    if (!add_part(m, s, w == 1 ? end - begin : (end - begin) / w, g->at[level].dst, g->at[level].src)) return false;
    for (int32_t i = level + 1; i < g->n; i++) {
        const int64_t below = g->at[i].weight, above = g->at[i - 1].weight;
        if (!add_part(m, s, below == 1 ? above : above / below, g->at[i].dst, g->at[i].src)) return false;
    }
    return true;
}

/* [begin, end), which a digit above `level` does not divide any further. */
static bool cut(maker *m, const digits *g, int32_t level, int64_t begin, int64_t end) {
    if (begin == end) return true;
    if (level + 1 >= g->n) return add_data(m, g, level, begin, end);
    const int64_t w = g->at[level].weight, last = end / w * w;
    int64_t       first = 0;
    if (begin > 0 && !tg_mul(&first, tg_ceil_div(begin, w), w)) first = INT64_MAX;
    if (first > last) return cut(m, g, level + 1, begin, end);
    if (!cut(m, g, level + 1, begin, first)) return false;
    if (first < last && !add_data(m, g, level, first, last)) return false;
    return cut(m, g, level + 1, last, end);
}

/* ---- padding of one dimension ---- */

typedef struct pad_walk {
    const digits *dst;
    int32_t       nouter; /* digits above, each walked over its full count */
    part          outer[MAX_DIGITS];
    bool          has_tail; /* the run behind the last coordinate is for later */
} pad_walk;

static bool add_padding(maker *m, const pad_walk *w, int32_t level, int64_t n, int64_t at) {
    segment *s = add_segment(m, at, 0);
    if (s == NULL) return false;
    for (int32_t i = 0; i < w->nouter; i++)
        if (!add_part(m, s, w->outer[i].n, w->outer[i].dst, 0)) return false;
    if (!add_part(m, s, n, w->dst->at[level].dst, 0)) return false;
    for (int32_t i = level + 1; i < w->dst->n; i++)
        if (!add_part(m, s, w->dst->at[i].size, w->dst->at[i].dst, 0)) return false;
    return true;
}

/* Positions of the digits from `level` on that hold none of the `bound` coordinates there. */
static bool pad_level(maker *m, pad_walk *w, int32_t level, int64_t bound, int64_t at) {
    if (level == w->dst->n) return true;
    const digit  *g = &w->dst->at[level];
    const int64_t whole = bound / g->weight, rest = bound - whole * g->weight, used = whole + (rest > 0);
    const bool    is_tail = w->has_tail && w->nouter == 0 && level + 1 == w->dst->n;
    if (g->size > used && !is_tail && !add_padding(m, w, level, g->size - used, at + used * g->dst)) return false;
    if (rest > 0 && !pad_level(m, w, level + 1, rest, at + whole * g->dst)) return false;
    if (whole == 0 || level + 1 == w->dst->n) return true;
    const part all = {whole, g->dst, 0};
    w->outer[w->nouter++] = all;
    const bool done = pad_level(m, w, level + 1, g->weight, at);
    w->nouter--;
    return done;
}

/* How many positions of padding follow the last run of data in dst, if they do so without a gap. */
static int64_t tail_of(const maker *m, const dim *d, const digits *dst) {
    if (dst->n == 0 || d->ndata == 0 || d->end != d->size) return 0;
    const digit   *g = &dst->at[dst->n - 1];
    const segment *s = &m->segments[d->data + d->ndata - 1];
    if (g->dst != 1 || s->nparts > 1 || (s->nparts == 1 && m->parts[s->first].dst != 1)) return 0;
    const int64_t used = dst->n > 1 ? d->size % g[-1].weight : d->size;
    const int64_t tail = used == 0 ? 0 : g->size - used;
    return tail > MAX_TAIL ? 0 : tail;
}

static bool make_tail(maker *m, dim *d, const digits *dst, int64_t tail) {
    segment *const run = &m->segments[d->data + d->ndata - 1];
    const int64_t  length = run->nparts == 0 ? 1 : m->parts[run->first].n;
    segment *const s = add_segment(m, run->dst + length, 0);
    run->tail = tail;
    return s != NULL && add_part(m, s, tail, dst->at[dst->n - 1].dst, 0);
}

static bool make_padding(maker *m, dim *d, const digits *dst) {
    const int64_t tail = tail_of(m, d, dst);
    pad_walk      w;
    w.dst = dst;
    w.nouter = 0;
    w.has_tail = d->has_tail = tail > 0;
    d->pads = m->nsegments;
    if (d->end == d->size && !pad_level(m, &w, 0, d->size, 0)) return false;
    if (tail > 0 && !make_tail(m, d, dst, tail)) return false;
    d->npads = m->nsegments - d->pads;
    if (d->begin > 0 || d->end < d->size) return true;
    d->all = m->nsegments;
    segment *s = add_segment(m, 0, 0);
    for (int32_t i = 0; s != NULL && i < dst->n; i++)
        if (!add_part(m, s, dst->at[i].size, dst->at[i].dst, 0)) return false;
    return s != NULL;
}

/* ---- dimensions ---- */

static bool make_dim(maker *m, const digits *dst, const digits *src, int64_t begin, int64_t end, int64_t size) {
    if (m->ndims == MAX_DIMS) return refuse(m, "there are too many dimensions");
    dim   *d = &m->dims[m->ndims++];
    digits both;
    d->begin = begin;
    d->end = end;
    d->size = size;
    d->data = m->nsegments;
    if (!refine(&both, dst, src)) return refuse(m, "the tiles of both sides do not nest");
    if (!cut(m, &both, 0, begin, end)) return false;
    d->ndata = m->nsegments - d->data;
    d->pads = m->nsegments;
    d->npads = 0;
    d->has_tail = false;
    d->all = -1;
    return !m->pair->pad || make_padding(m, d, dst);
}

static bool make_dims(maker *m) {
    const tg_pair   *p = m->pair;
    const tg_layout *dst = p->dst, *src = p->src;
    digits           a, b;
    int32_t          i = 0, j = 0;
    for (int32_t d = 0; d < dst->ndim; d++) {
        if (!collect(&a, dst, d, &i, true) || !collect(&b, src, d, &j, false))
            return refuse(m, "it has too many digits");
        if (!make_dim(m, &a, &b, p->begin[d], p->end[d], dst->shape[d])) return false;
    }
    b.n = 0;
    for (; i < dst->nmodes; i++) {
        const tg_mode *mode = &dst->mode[dst->chain[i]];
        const bool     copy = mode->axis == TG_AXIS_COPY;
        if (mode->size <= 1 || (!copy && !p->pad)) continue;
        const digit g = {1, mode->stride, 0, mode->size};
        a.n = 1;
        a.at[0] = g;
        if (!make_dim(m, &a, &b, 0, copy ? mode->size : 1, copy ? mode->size : 1)) return false;
    }
    return true;
}

/* ---- boxes ---- */

typedef struct choice {
    int32_t first, n, at; /* segments [first, first + n) */
} choice;

static bool add_box(maker *m, const choice *chosen, int32_t n, bool fill) {
    tg_loop loops[TG_BOX_LOOPS];
    int32_t nloops = 0;
    int64_t dst = m->pair->dst->offset, src = m->pair->src->offset, tail = 0;
    for (int32_t d = 0; d < n; d++) {
        const segment *s = &m->segments[chosen[d].at];
        dst += s->dst;
        src += s->src;
        tail += fill ? 0 : s->tail;
        for (int32_t i = 0; i < s->nparts; i++) {
            if (nloops == MAX_BOX_LOOPS) return refuse(m, "there are too many loops");
            const part *p = &m->parts[s->first + i];
            tg_loop    *l = &loops[nloops++];
            l->n = p->n;
            l->dst = p->dst;
            l->src = p->src;
            l->total = 0;
            l->part = 0;
        }
    }
    return tg_nest_add_box(m->plan, m->pair, loops, nloops, dst, src, tail, fill) ||
           refuse(m, m->plan->why != NULL ? m->plan->why : "there are too many ragged edges");
}

/* A box for every choice of one segment for each dimension. */
static bool add_boxes(maker *m, choice *c, int32_t n, bool fill) {
    for (int32_t d = 0; d < n; d++) {
        if (c[d].n == 0) return true;
        c[d].at = c[d].first;
    }
    for (;;) {
        if (!add_box(m, c, n, fill)) return false;
        int32_t d = n;
        while (d-- > 0) {
            if (++c[d].at < c[d].first + c[d].n) break;
            c[d].at = c[d].first;
        }
        if (d < 0) return true;
    }
}

/* The dimension with the tail goes last, so that what tails cover is no box of padding. */
static void put_tail_last(maker *m) {
    for (int32_t d = 0; d + 1 < m->ndims; d++) {
        if (!m->dims[d].has_tail) continue;
        const dim swap = m->dims[d];
        m->dims[d] = m->dims[m->ndims - 1];
        m->dims[m->ndims - 1] = swap;
        return;
    }
}

/* What dimension d may be at where a dimension before it is at padding. */
static choice anywhere(const dim *d) {
    const choice all = {d->all, 1, 0}, box = {d->data, d->ndata + d->npads, 0}; /* pads follow data in the pool */
    return d->all >= 0 ? all : box;
}

/* Data, then for each dimension its padding with the dimensions before it at data and those behind it anywhere. */
static bool make_boxes(maker *m) {
    choice c[MAX_DIMS];
    for (int32_t d = 0; d < m->ndims; d++) {
        const choice data = {m->dims[d].data, m->dims[d].ndata, 0};
        c[d] = data;
    }
    if (!add_boxes(m, c, m->ndims, false)) return false;
    for (int32_t d = 0; d < m->ndims; d++) {
        const dim    *at = &m->dims[d];
        const choice  pads = {at->pads, at->npads - at->has_tail, 0}; /* tails are the movers' */
        choice        b[MAX_DIMS];
        if (pads.n == 0) continue;
        memcpy(b, c, (size_t)m->ndims * sizeof c[0]);
        b[d] = pads;
        for (int32_t e = d + 1; e < m->ndims; e++) b[e] = anywhere(&m->dims[e]);
        if (!add_boxes(m, b, m->ndims, true)) return false;
    }
    return true;
}

/* Storage behind everything: XLA's tail padding. */
static bool add_rest(maker *m) {
    const tg_pair *p = m->pair;
    tg_loop        all[TG_BOX_LOOPS] = {{p->dst->span - p->dense_span, 1, 0, 0, 0}};
    for (int32_t d = 0; d < p->dst->ndim; d++)
        if (p->end[d] != p->dst->shape[d]) return true; /* a later box's */
    return all[0].n <= 0 || tg_nest_add_box(m->plan, p, all, 1, p->dense_span, 0, 0, true);
}

bool tg_nest_make(tg_plan_private *plan, const tg_pair *pair) {
    maker m;
    m.plan = plan;
    m.pair = pair;
    m.why = NULL;
    m.ndims = m.nsegments = m.nparts = 0;
    plan->as.nest.nboxes = plan->as.nest.nloops = plan->as.nest.nmovers = 0;
    plan->why = NULL;
    bool done = make_dims(&m);
    if (done && pair->pad) put_tail_last(&m);
    done = done && make_boxes(&m) && (!pair->pad || add_rest(&m));
    plan->why = m.why;
    return done;
}
