/* Slabs: pieces of dst that are made in a buffer and written from end to end, padding and all.
 *
 * Where data of dst is in short runs with padding between them, in one line of the cache both have parts. Filling all
 * of dst first goes through memory three times (filled, read, written), and so do boxes of padding next to boxes of
 * data. But along the outer loops of dst, gaps and padding are in the same places in each step. A buffer of some steps
 * is filled once; then the data of these steps is moved to it, written with what is between, and the next steps' data
 * takes its place:
 *
 *     u8[7,30,100000], strides 93, 3, 650      100000 steps of 650 bytes, data 3 bytes apart
 *     slabs                                    2000 of 50 steps, 32500 bytes; the boxes are those of 50 steps
 *
 * The loops outside of the slabs, and the one that counts them, are taken from what all boxes have in common, which
 * must be all of what steps that far in dst; of packed elements they step by whole bytes. What remains is refined as if
 * it were the whole tensor, without padding. A last slab that has fewer steps begins as much earlier and is written in
 * part. Between the last slab of such a loop and the next one outside, before the first slab and behind the last one,
 * there is padding alone. */
#include "kernels/stream.h"
#include "relayout/gaps.inc.h"

enum {
    LEAST_SLAB = 2048, /* bytes */
    SHORT_PADDING = 2048, /* bytes: of longer runs few lines are shared */
    LEAST_LINE = 16    /* bytes of elements that are side by side in a line of src, in one slab */
};

/* From the first byte of dst in a box to the last one, at most, without the loops in common. Sizes count padding, of
 * which there may be any number outside of the storage: false if that does not fit. */
static bool extent_of_dims(int64_t *out, const refinement *r) {
    *out = r->common.dst_unit;
    for (const dim *d = r->dims; d < r->dims_end; d++)
        for (int32_t i = 0; i < d->dst->n; i++) {
            const tg_both_digit *g = &d->dst->at[i];
            int64_t              step;
            if (g->dst < 0 || !tg_mul(&step, g->dst, r->common.dst_unit)) return false;
            if (!tg_muladd(out, *out, g->size - 1, step)) return false;
        }
    return true;
}

/* Of so many bytes, what steps of loops count: bytes, but packed elements. */
static int64_t in_steps(const tg_plan_private *plan, int64_t bytes) {
    return plan->dst_bits < 8 ? bytes * 8 / plan->dst_bits : bytes;
}

/* The loop that slabs count: the longest steps that the buffer has room for. Each of its steps, and of the loops
 * around it, ends before the next one begins. Lines of src that hold several elements are read inside of slabs, or
 * from one to the next, while they are in a cache. -1: there is none. */
static int32_t find_slabs(const refinement *r, int64_t room) {
    const tg_draft *d = &r->common;
    const int64_t   line = in_steps(r->plan, TG_LINE_BYTES);
    int64_t         extent;
    if (!extent_of_dims(&extent, r)) return TG_NO_LOOP;
    for (int32_t i = 0; i < d->n; i++)
        if (!tg_muladd(&extent, extent, d->loop[i].n - 1, d->loop[i].dst)) return TG_NO_LOOP;
    for (int32_t i = 0; i < d->n; i++) {
        const tg_loop *l = &d->loop[i];
        extent -= (l->n - 1) * l->dst;
        if (extent > l->dst) return TG_NO_LOOP;
        if (l->dst <= room) return i;
        if (l->src != 0 && tg_magnitude(l->src) < line) return TG_NO_LOOP;
    }
    return TG_NO_LOOP;
}

/* Does no loop inside of slabs have shorter steps in src than theirs? */
static bool reads_across(const refinement *r, int32_t last) {
    const tg_draft *d = &r->common;
    const int64_t   step = tg_magnitude(d->loop[last].src);
    if (step >= in_steps(r->plan, TG_LINE_BYTES)) return false;
    for (int32_t i = last + 1; i < d->n; i++)
        if (d->loop[i].src != 0 && tg_magnitude(d->loop[i].src) < step) return false;
    for (const tg_loop *l = r->loops; l < r->loops_end; l++)
        if (l->src != 0 && tg_magnitude(l->src) < step) return false;
    return true;
}

/* How many steps a slab has; 0: too few to be worth it. Where they go along lines of src, one or two elements of each
 * line at a time are slower than transposes of dst as it is (256 MiB, an Emerald Rapids: two bytes, in slabs of two
 * steps, 0.6 times as fast). */
static int64_t steps_of_slab(const refinement *r, int32_t last, int64_t room) {
    const tg_loop *l = &r->common.loop[last];
    const int64_t  steps = tg_min(l->n, room / l->dst);
    const int64_t  line = in_steps(r->plan, LEAST_LINE);
    if (steps * l->dst < tg_min(in_steps(r->plan, LEAST_SLAB), room / 2)) return 0;
    return steps < l->n && steps * r->common.dst_unit < line && reads_across(r, last) ? 0 : steps;
}

/* Loops [0, last] in bytes; false if steps of packed elements are not such. */
static bool loops_in_bytes(tg_loop *out, int64_t *first, const tg_draft *d, int32_t last) {
    const int32_t bits = d->plan->dst_bits;
    bool          whole = bits >= 8 || tg_is_whole(d->dst, bits);
    *first = bits < 8 ? tg_bytes_for(d->dst, bits) : d->dst;
    for (int32_t i = 0; i <= last; i++) {
        out[i] = d->loop[i];
        if (bits >= 8) continue;
        whole = whole && tg_is_whole(out[i].dst, bits) && tg_is_whole(out[i].src, bits);
        out[i].dst = tg_bytes_for(out[i].dst, bits);
        out[i].src = out[i].src * bits / 8;
    }
    return whole;
}

/* Out of what all boxes have in common, into the slabs. */
TG_OUTLINE bool open_slabs(refinement *r) {
    tg_nest *const    nest = &r->plan->as.nest;
    tg_slabs *const w = &nest->slabs;
    tg_draft *const   d = &r->common;
    fuse(d);
    const int64_t room = in_steps(r->plan, r->pair->tuning->slab_bytes);
    const int32_t last = find_slabs(r, room);
    if (last == TG_NO_LOOP || last >= TG_PLAN_LOOPS) return false;
    if (!loops_in_bytes(nest->loop, &w->first, d, last)) return false;
    tg_loop *const inner = &d->loop[last], *const counts = &nest->loop[last];
    w->total = inner->n;
    w->steps = steps_of_slab(r, last, room);
    w->dst_step = counts->dst;
    w->src_step = counts->src;
    if (w->steps == 0) return false;
    w->nloops = last + 1;
    w->count = tg_ceil_div(w->total, w->steps);
    for (int32_t i = 0; i < last; i++) w->count *= d->loop[i].n; /* fits: positions of dst */
    *counts = (tg_loop){tg_ceil_div(w->total, w->steps), w->steps * w->dst_step, w->steps * w->src_step,
                                 TG_NO_LOOP};
    nest->nloops = w->nloops;
    d->dst = 0;
    inner->n = w->steps;
    const int32_t taken = w->steps > 1 ? last : last + 1;
    for (int32_t i = taken; i < d->n; i++) d->loop[i - taken] = d->loop[i];
    d->n -= taken;
    return true;
}

/* Do boxes of data and of short padding write parts of the same lines, or does one of several begin inside of a line,
 * and has padding of any length behind its runs, which another box begins? (A Granite Rapids, 256 MiB,
 * f16[3848,12,64,45] of T(8,128)(2,1), turned, to T(8,128), whose 45 columns are 22 pairs and a single one, 0.12 ->
 * 0.56 of memcpy.) Or is most of a brief run padding, as where rows are pairs and the last one is single, beside
 * another box of data or from memory? (256 MiB, sticks of it, back to (2,1), 0.30 -> 0.38, row-major 0.58 -> 0.70,
 * bf16[2692,224,224,1] to (2,1) 0.45 -> 0.82, bf16[1,N] of (2,1), turned, 0.69 -> 0.55; 8 MiB 1.02 to 1.96 times as
 * fast; but three bytes and one of padding 0.63 -> 0.49.) */
static bool parts_lines(const tg_plan_private *plan) {
    const tg_nest *const nest = &plan->as.nest;
    int32_t              moved = 0; /* boxes of data */
    for (int32_t i = 0; i < nest->nboxes; i++) moved += nest->box[i].route != TG_ROUTE_FILL;
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++) {
        const tg_block *b = &box->block;
        const int64_t   steps = (b->rows > 1 ? b->dst_row : 0) | (b->outer > 1 ? b->dst_outer : 0);
        const int64_t   places = box->dst | b->cols | steps;
        if (box->route == TG_ROUTE_FILL && b->cols < SHORT_PADDING && places % TG_LINE_BYTES != 0) return true;
        if (b->tail > 0 && nest->nboxes > 1 && box->dst % TG_LINE_BYTES != 0) return true;
        if (box->family != TG_FAMILY_ROWS || b->tail < b->cols || b->cols + b->tail >= LEAST_LINE) continue;
        if (moved > 1 || plan->memory) return true;
    }
    return false;
}

/* Is it worth another plan? Of what is mostly data the other ways to move it are faster. */
static bool wants_slabs(const tg_plan_private *plan, const tg_pair *p) {
    const bool packed = plan->dst_bits < 8 || plan->src_bits < 8;
    if (!plan->stream || plan->serial || !p->whole) return false;
    if (packed && (plan->dst_bits != plan->src_bits || !tg_is_whole(p->dst->span, plan->dst_bits))) return false;
    return plan->fill_first || (parts_lines(plan) && p->numel <= p->dst->span / 2);
}
