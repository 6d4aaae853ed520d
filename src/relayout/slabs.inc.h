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
 * there is padding alone.
 *
 * Boxes that each leave a part of a line are put together so, too, where slabs go on along lines of src. Slabs that
 * would leave a quarter of each such line, or more, are larger.
 *
 * Where one loop outside goes along lines of src, each slab would read a little of each line, and another one the rest
 * much later. So a slab has steps of that loop too, as parts, each of which goes to a place of its own in dst:
 *
 *     f16[3848,12,64,45] of T(8,128)(2,1), turned, to sticks    64 sticks of each line are 492544 bytes apart in dst
 *     slabs                                                     11544 of 64 parts of 4 sticks, 512 bytes
 *
 * That is for dst of whole lines, without any between slabs. */
#include "kernels/stream.h"
#include "relayout/gaps.inc.h"

enum {
    LEAST_SLAB = 2048, /* bytes */
    SHORT_PADDING = 2048, /* bytes: of longer runs few lines are shared */
    LEAST_LINE = 16,   /* bytes of elements that are side by side in a line of src, in one slab */
    LEAST_PART = 256   /* bytes of a part of a slab */
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

/* Do elements of several steps of a loop share a line of src? */
static bool goes_along_lines(const refinement *r, const tg_loop *l) {
    return l->src != 0 && tg_magnitude(l->src) < in_steps(r->plan, TG_LINE_BYTES);
}

/* Would slabs of so many steps of a loop read a little of each line of src, and others the rest? One or two elements
 * of each line at a time are slower than transposes of dst as it is (256 MiB, an Emerald Rapids: two bytes, in slabs of
 * two steps, 0.6 times as fast). */
static bool reads_little(const refinement *r, const tg_loop *l, int64_t steps) {
    return steps < l->n && goes_along_lines(r, l) && steps * tg_magnitude(l->src) < in_steps(r->plan, LEAST_LINE);
}

/* The loop that slabs count: the longest steps that the buffer has room for. Each of its steps, and of the loops
 * around it, ends before the next one begins. Lines of src that hold several elements are read inside of slabs, or
 * from one to the next, while they are in a cache; those of one loop around it (*across) are read across parts of
 * slabs. TG_NO_LOOP: there is none, whatever *across is then. */
static int32_t find_slabs(int32_t *across, const refinement *r, int64_t room) {
    const tg_draft *d = &r->common;
    int64_t         extent;
    *across = TG_NO_LOOP;
    if (!extent_of_dims(&extent, r)) return TG_NO_LOOP;
    for (int32_t i = 0; i < d->n; i++)
        if (!tg_muladd(&extent, extent, d->loop[i].n - 1, d->loop[i].dst)) return TG_NO_LOOP;
    for (int32_t i = 0; i < d->n; i++) {
        const tg_loop *l = &d->loop[i];
        extent -= (l->n - 1) * l->dst;
        if (extent > l->dst) return TG_NO_LOOP;
        const int64_t steps = tg_min(l->n, room / l->dst);
        const bool    little = reads_little(r, l, steps);
        if (steps > 0 && !little) return i;
        if (little && *across != TG_NO_LOOP) return TG_NO_LOOP;
        if (little) *across = i;
    }
    return TG_NO_LOOP;
}

/* Along lines of src, do slabs of loop l leave a quarter of each, or more? */
static bool leave_quarters(const refinement *r, const tg_loop *l, int64_t steps) {
    const int64_t most = in_steps(r->plan, TG_LINE_BYTES / 4 * 3);
    return steps < l->n && goes_along_lines(r, l) && steps * tg_magnitude(l->src) <= most;
}

/* How many steps a slab has; 0: too few to be worth it. Those that leave a quarter of each line are larger: two lines
 * (a Granite Rapids, 256 MiB, f32[16,66560,63]{1,2,0:T(8,128)} to sticks, 4096 bytes of dst for 4 of a line, 0.22 ->
 * 0.46 of memcpy, u8[59,8,142176]{2,0,1} to {0,1,2:T(8,128)(4,1)} 0.54 -> 0.73; of 52 bytes f32[279616,3,5,16]
 * 0.78 -> 0.65). */
static int64_t steps_of_slab(const refinement *r, int32_t last, int64_t room) {
    enum { MORE = TG_LARGE_SLAB_BYTES / TG_SLAB_BYTES };
    const tg_loop *l = &r->common.loop[last];
    const int64_t  steps = tg_min(l->n, room / l->dst);
    if (steps * l->dst < tg_min(in_steps(r->plan, LEAST_SLAB), room / 2)) return 0;
    if (!leave_quarters(r, l, steps)) return steps;
    return tg_min(l->n, tg_min(MORE * room / l->dst, in_steps(r->plan, 2 * TG_LINE_BYTES) / tg_magnitude(l->src)));
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
        out[i].src = tg_bytes_for(out[i].src, bits);
    }
    return whole;
}

/* Do steps of loops [0, last], each of whole lines, fill all of dst? */
static bool are_dense(const refinement *r, int32_t last) {
    const tg_draft *d = &r->common;
    int64_t         end = d->loop[last].dst;
    if (d->dst != 0 || r->plan->dst_bits < 8 || end % TG_LINE_BYTES != 0) return false;
    for (int32_t i = last; i >= 0; i--)
        if (d->loop[i].dst != end || !tg_mul(&end, end, d->loop[i].n)) return false;
    return end == tg_bytes_for(r->plan->span, r->plan->dst_bits);
}

/* A slab of parts: so many that lines of src are used, of a few lines of dst each. */
static bool divide_parts(tg_slabs *w, const refinement *r, int32_t last, int64_t room) {
    const tg_loop *const l = &r->common.loop[w->across], *const inner = &r->common.loop[last];
    const int64_t        least = tg_min(inner->n, tg_ceil_div(LEAST_PART, inner->dst)) * inner->dst;
    w->total_parts = l->n;
    w->parts = tg_min(l->n, room / least);
    if (w->parts == 0 || reads_little(r, l, w->parts)) return false;
    w->steps = tg_min(w->total, room / w->parts / inner->dst);
    return !reads_little(r, inner, w->steps) && are_dense(r, last);
}

/* Loops [0, last] count slabs now; what one of these has of them, and all loops inside, is what boxes have in common.
 */
static void enter_slabs(refinement *r, int32_t last) {
    tg_nest *const  nest = &r->plan->as.nest;
    tg_slabs *const w = &nest->slabs;
    tg_draft *const d = &r->common;
    tg_loop *const  counts = &nest->loop[last];
    const tg_loop   steps = {w->steps, d->loop[last].dst, d->loop[last].src, TG_NO_LOOP};
    int32_t         kept = 0;
    w->dst_step = counts->dst;
    w->src_step = counts->src;
    *counts = (tg_loop){tg_ceil_div(w->total, w->steps), w->steps * w->dst_step, w->steps * w->src_step, TG_NO_LOOP};
    if (w->across != TG_NO_LOOP) {
        tg_loop *const l = &nest->loop[w->across];
        if (w->parts > 1) d->loop[kept++] = (tg_loop){w->parts, w->steps * w->dst_step, l->src, TG_NO_LOOP};
        *l = (tg_loop){tg_ceil_div(l->n, w->parts), w->parts * l->dst, w->parts * l->src, TG_NO_LOOP};
    }
    if (w->steps > 1) d->loop[kept++] = steps;
    for (int32_t i = last + 1; i < d->n; i++) d->loop[kept++] = d->loop[i];
    d->n = kept;
    d->dst = 0;
    nest->nloops = w->nloops = last + 1;
    w->count = 1;
    for (int32_t i = 0; i <= last; i++) w->count *= nest->loop[i].n; /* fits: positions of dst */
}

/* Out of what all boxes have in common, into the slabs; `along_lines`: only into such as go on along lines of src. */
TG_OUTLINE bool open_slabs(refinement *r, bool along_lines) {
    tg_nest *const  nest = &r->plan->as.nest;
    tg_slabs *const w = &nest->slabs;
    tg_draft *const d = &r->common;
    fuse(d);
    const int64_t room = in_steps(r->plan, r->pair->tuning->slab_bytes);
    const int32_t last = find_slabs(&w->across, r, room);
    if (last == TG_NO_LOOP || last >= TG_PLAN_LOOPS) return false;
    if (along_lines && w->across == TG_NO_LOOP && !goes_along_lines(r, &d->loop[last])) return false;
    if (!loops_in_bytes(nest->loop, &w->first, d, last)) return false;
    w->total = d->loop[last].n;
    w->parts = w->total_parts = 1;
    if (w->across == TG_NO_LOOP) w->steps = steps_of_slab(r, last, room);
    else if (!divide_parts(w, r, last, room)) return false;
    if (w->steps == 0) return false;
    enter_slabs(r, last);
    return true;
}

static int32_t boxes_of_data(const tg_nest *nest) {
    int32_t n = 0;
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++) n += box->route != TG_ROUTE_FILL;
    return n;
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
    const int32_t        moved = boxes_of_data(nest);
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

/* Are there several boxes of data, none of which goes through a buffer in the order of dst? */
static bool several_without_stage(const tg_nest *nest) {
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++)
        if (tg_goes_twice(box)) return false;
    return boxes_of_data(nest) > 1;
}

/* Of dst, copies counted. */
static int64_t positions_of_data(const tg_pair *p) {
    int64_t n = p->numel;
    for (int32_t i = 0; i < p->dst->nmodes; i++)
        if (p->dst->mode[i].axis == TG_AXIS_COPY) n = tg_capped_mul(n, p->dst->mode[i].size);
    return n;
}

/* Is it worth another plan? Of what is mostly data the other ways to move it are faster: where more than half is, a
 * transpose of everything that writes the padding behind its rows itself; where more than three quarters are, all but
 * several boxes of which each leaves a part of a line, if slabs go on along lines of src (`along_lines`: 256 MiB,
 * f16[3848,12,64,63] of (2,1), turned, to sticks 0.37 -> 0.44, f16[23962,112,59] 0.11 -> 0.33; two through buffers,
 * bf16[1154,3,200,200] channels last, 0.43 -> 0.35). */
static bool wants_slabs(bool *along_lines, const tg_plan_private *plan, const tg_pair *p) {
    const tg_nest *const nest = &plan->as.nest;
    const bool           packed = plan->dst_bits < 8 || plan->src_bits < 8;
    *along_lines = false;
    if (!plan->stream || plan->serial || !p->whole) return false;
    if (packed && (plan->dst_bits != plan->src_bits || !tg_is_whole(p->dst->span, plan->dst_bits))) return false;
    if (plan->fill_first) return true;
    if (!parts_lines(plan)) return false;
    const int64_t data = positions_of_data(p);
    if (data <= p->dst->span / 2) return true;
    *along_lines = data > p->dst->span / 4 * 3;
    if (*along_lines) return several_without_stage(nest);
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++)
        if (box->family == TG_FAMILY_TRANSPOSE && box->block.tail > 0) return boxes_of_data(nest) > 1;
    return true;
}
