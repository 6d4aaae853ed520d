/* Boxes of what lies between the strides of dst, where these nest. */
#include "kernels/stream.h"
#include "relayout/choices.inc.h"

/* The loops of dst by increasing stride, and where its first element lies. */
typedef struct walk_of_dst {
    int64_t first;
    int32_t n;
    struct { int64_t n, dst; } at[TG_MAX_MODES];
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
        w->at[k].n = m->size;
        w->at[k].dst = step;
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
    if (n > 1) tg_draft_loop(&d, n, 1, 0);
    for (int32_t k = i; k < w->n; k++)
        if (k > i || w->at[k].n > 2) tg_draft_loop(&d, w->at[k].n - (k == i), w->at[k].dst, 0);
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
    if (r->plan->dst_bits < 8 || !walk_dst(&w, r->pair) || w.n >= MAX_BOX_LOOPS) return; /* one more is in a gap */
    if (!are_gaps_far_apart(&w, r->plan->dst_bits / 8)) return;
    r->plan->fill_first = !add_all_gaps(r, &w);
    if (!r->plan->fill_first) return;
    nest->nboxes = nboxes;
    nest->nloops = nloops;
    nest->single = single;
    r->why = r->plan->why = NULL;
}
