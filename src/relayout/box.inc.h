/* From the loops of a box to a box of the nest.
 *
 * The loops are one for each digit of each dimension, by decreasing dst. Two that both sides walk like one become one,
 * and the innermost one becomes the run if its elements are neighbours on both sides:
 *
 *     f16[16,256] to sticks, digits (n, dst, src)    (16, 128, 512) (4, 2048, 128) (64, 2, 2)
 *     by decreasing dst                              (4, 2048, 128) (16, 128, 512) (64, 2, 2)
 *     the run taken                                  (4, 2048, 128) (16, 128, 512), run of 64
 *
 * Then a block is made of some of them, and the others go around the blocks: in a cache in the order of dst, from far
 * in one that keeps to short ways on both sides.
 *
 * Steps are bytes. Where elements are packed they are counted in elements first, since a digit of theirs may step by
 * less than a byte; only the run may do so in the end, and the innermost loop of either side of a tile. A box where
 * others do stays in elements: it is loose (loose_run.c). */
#include "base/checked.h"
#include "relayout/block.inc.h"
#include "relayout/box.h"
#include "relayout/bytes.h"
#include "relayout/route.inc.h"

enum {
    LONG_RUN = 128,    /* elements: from here on runs that begin at any bit are copied one by one */
    LONG_LINE = 64,    /* elements */
    BRIEF_TURNED = 32, /* bytes */
    BRIEF_JOINED = 64
};

/* ---- fewer loops ---- */

/* Do both sides walk a and b, which is inside, like one loop? */
static inline bool goes_on(const tg_loop *a, const tg_loop *b) {
    return b->n * b->dst == a->dst && b->n * b->src == a->src && /* fits: plan.c checks that of all loops */
           a->chunks_of == TG_NO_LOOP && b->chunks_of == TG_NO_LOOP;
}

static inline void fuse(tg_draft *d) {
    int32_t last = 0;
    for (int32_t i = 1; i < d->n; i++) {
        tg_loop       *high = &d->loop[last];
        const tg_loop *low = &d->loop[i];
        if (TG_RARELY(goes_on(high, low))) {
            high->n *= low->n; /* fits: positions of dst */
            high->dst = low->dst;
            high->src = low->src;
        } else if (TG_RARELY(++last < i)) {
            d->loop[last] = *low;
        }
    }
    if (d->n > 0) d->n = last + 1;
}

/* No two loops of a unique dst take the same steps, so it is the last one. */
static void take_run(tg_draft *d) {
    d->run = 0;
    if (TG_RARELY(d->n == 0)) return;
    const tg_loop *l = &d->loop[d->n - 1];
    if (l->dst != d->dst_unit || (l->src != d->src_unit && !d->fill)) return;
    d->run = l->n;
    d->n--;
}

/* ---- packed elements ---- */

/* Packed elements of dst are written by whole bytes. */
static bool fills_bytes(const tg_draft *d) {
    if (d->dst_width > 0) return true;
    const int64_t per_byte = 8 / d->plan->dst_bits;
    int64_t       run = d->run;
    for (int32_t i = 0; run == 0 && i < d->n; i++)
        if (d->loop[i].dst == 1) run = d->loop[i].n;
    return run > 0 && run % per_byte == 0 && d->tail % per_byte == 0;
}

/* Does every run of dst begin and end at a byte? */
static bool dst_is_whole(const tg_draft *d) {
    const int32_t bits = d->plan->dst_bits;
    for (int32_t i = 0; i < d->n; i++)
        if (d->loop[i].dst != 1 && !tg_is_whole(d->loop[i].dst, bits)) return false;
    return fills_bytes(d) && tg_is_whole(d->dst, bits);
}

static bool src_is_whole(const tg_draft *d) {
    const int32_t bits = d->plan->src_bits;
    if (d->fill) return true;
    for (int32_t i = 0; i < d->n; i++)
        if (d->loop[i].src != 1 && !tg_is_whole(d->loop[i].src, bits)) return false;
    return tg_is_whole(d->src, bits);
}

/* Packed elements move as runs, or through tiles, which have a loop of neighbours on each side. Steps are elements. */
static bool has_both_sides(const tg_draft *d) {
    const int32_t a = tg_draft_find_dst(d, 1), b = tg_draft_find_src(d, 1);
    return d->run > 0 || d->fill || (a != TG_NO_LOOP && b != TG_NO_LOOP && a != b);
}

/* Only one loop may step by one element of src: others would begin inside a byte, as overlapping strides do. */
static bool has_one_run(const tg_draft *d) {
    int32_t steps = 0;
    for (int32_t i = 0; i < d->n && d->src_width == 0; i++) steps += d->loop[i].src == 1;
    return steps <= (d->run > 0 ? 0 : 1);
}

/* A step of one packed element is told from all others by its value. */
static int64_t step_in_bytes(int64_t step, int32_t bits) {
    return bits < 8 && step == 1 ? TG_PACKED_STEP : tg_bytes_for(step, bits);
}

static bool to_bytes(tg_draft *d) {
    const int32_t dst = d->plan->dst_bits, src = d->plan->src_bits;
    if (!dst_is_whole(d) || !src_is_whole(d) || !has_one_run(d) || !has_both_sides(d)) return false;
    if (d->run == 0 && d->tail > 0) return false;
    for (int32_t i = 0; i < d->n; i++) {
        d->loop[i].dst = step_in_bytes(d->loop[i].dst, dst);
        d->loop[i].src = step_in_bytes(d->loop[i].src, src);
    }
    d->dst = tg_bytes_for(d->dst, dst);
    d->src = tg_bytes_for(d->src, src);
    return true;
}

/* Elements that begin inside a byte, on either side, are counted all the way. Long runs of the same bits are shifted.
 * Where dst is no whole bytes, blocks share some. */
static bool stay_loose(tg_draft *d) {
    if (!d->fill && (d->converts || d->run < LONG_RUN)) return false;
    if (d->dst_width > 0) return false;
    d->shares = !dst_is_whole(d);
    d->loose = true;
    return true;
}

/* Do these leave vectors of the movers of whole bytes empty? */
static bool is_brief(const tg_draft *d, int64_t n, int64_t bytes) {
    return d->dst_width == 0 && tg_bytes_for(n, d->plan->dst_bits) < bytes;
}

/* Whole bytes that go faster one element in a byte: where runs of dst would be brief, as in transposes of few bits that
 * are converted, or from tiles to columns, unless rows take turns there; and two rows that take turns and are
 * converted. */
static bool is_faster_apart(const tg_draft *d) {
    const int32_t a = tg_draft_find_dst(d, 1), b = tg_draft_find_src(d, 1);
    if (d->fill) return false;
    if (d->run > 0) return d->converts && is_brief(d, d->run, BRIEF_JOINED);
    if (a == TG_NO_LOOP || b == TG_NO_LOOP) return false;
    const tg_loop *cols = &d->loop[a], *rows = &d->loop[b];
    const bool long_lines = rows->n >= LONG_LINE, take_turns = rows->dst == cols->n;
    if (!d->converts) return long_lines && !take_turns && is_brief(d, cols->n, BRIEF_TURNED);
    if ((cols->n == 2 && d->dst_width == 0) || (rows->n == 2 && d->src_width == 0)) return true;
    return long_lines && cols->n >= LONG_LINE && is_brief(d, tg_tile_side(1), BRIEF_JOINED);
}

/* Apart from the code of all other boxes, which takes less time than calling it. */
TG_OUTLINE bool place_packed(tg_draft *d) {
    d->by_bytes = tg_draft_packed_cell(d) || tg_draft_eights(d) || tg_draft_turns(d) || tg_draft_bands(d);
    if (d->by_bytes) return true;
    if (!(tg_can_spread(d->plan) && is_faster_apart(d)) && (to_bytes(d) || stay_loose(d))) return true;
    d->by_bytes = tg_draft_bytes(d);
    return d->by_bytes;
}

/* ---- what is left ---- */

/* Of tiles that are carried, bytes of dst from one to the one that goes on where its runs end, if that one should come
 * next; else 0. No line of dst is written in two parts then; but lines of src that begin inside of those of the cache
 * are read in two. (256 MiB, x memcpy, carried in the order of src and of dst: rows of 448 bytes out of lines of 192
 * 0.61, 0.77, of 960 out of 256, at lines, 0.60, 0.73, of 1024 out of 200 0.71, 0.45.) */
static int64_t carried_step(const tg_draft *d) {
    enum { PARTS = 3 }; /* a line of dst that is written in two parts costs so many of src that are read twice */
    const tg_box *const box = d->box;
    const int64_t       row = box->block.cols * box->width, read = box->block.rows * box->width;
    int64_t             run = row, dst = row, src = read;
    if (TG_MOSTLY(box->route != TG_ROUTE_TURN) || !tg_turns_around(d->plan)) return 0;
    for (int32_t i = 0; i < d->nrows && d->rows[i].dst == run; i++) run *= d->rows[i].n;
    for (int32_t i = 0; i < d->nrows; i++) dst |= d->rows[i].dst;
    for (int32_t i = 0; i < d->ncols; i++) src |= d->cols[i].src;
    for (uint64_t left = d->left; left != 0; left &= left - 1) {
        dst |= d->loop[__builtin_ctzll(left)].dst;
        src |= d->loop[__builtin_ctzll(left)].src;
    }
    const bool carried = dst % TG_LINE_BYTES != 0, at_lines = src % TG_LINE_BYTES == 0;
    return carried && (at_lines || run < PARTS * read) ? run : 0;
}

/* Does a go inside of b? From far, what goes on after a short way on either side comes first: its lines, and its pages
 * of memory, are still at hand. (A Granite Rapids, x memcpy, so and in the order of dst: 256 MiB, 106 moves, together
 * 1.11 times as fast, from 0.94 to 2.0, f32[16,66560,63] sticks to {1,2,0:T(8,128)} 0.29 -> 0.38; 8 MiB, 88, 1.05, from
 * 0.7 to 1.4.) But `next`, if not 0, are bytes of dst to the tile that comes next. `by_dst`: in the order of dst, where
 * it is filled, or left in ascending order, or in a cache (512 KiB, 193 moves, 1.01 times, and threads would not write
 * to a part of dst each). */
static bool is_inside(bool by_dst, int64_t next, const tg_loop *a, const tg_loop *b) {
    const int64_t a_dst = tg_magnitude(a->dst), b_dst = tg_magnitude(b->dst);
    if (by_dst) return a_dst < b_dst;
    if (next > 0 && (a->dst == next || b->dst == next)) return a->dst == next;
    return tg_min(a_dst, tg_magnitude(a->src)) < tg_min(b_dst, tg_magnitude(b->src));
}

/* The loops that are left go around the blocks. */
static bool keep_loops(tg_draft *d) {
    tg_nest       *nest = &d->plan->as.nest;
    tg_box        *box = d->box;
    tg_loop *const keep = &nest->loop[nest->nloops];
    const int32_t  most = TG_PLAN_LOOPS - nest->nloops - d->ncols - d->nrows;
    int32_t        n = 0;
    if (TG_RARELY(most < 0)) return false;
    const bool    by_dst = d->fill || d->plan->combines || !d->plan->far;
    const int64_t next = carried_step(d);
    box->blocks = 1;
    box->first = nest->nloops;
    for (uint64_t left = d->left; TG_RARELY(left != 0); left &= left - 1) {
        const tg_loop *const l = &d->loop[__builtin_ctzll(left)];
        if (n == most) return false;
        int32_t at = n++;
        for (; at > 0 && is_inside(by_dst, next, &keep[at - 1], l); at--)
            keep[at] = keep[at - 1]; /* chunks came last */
        keep[at] = *l;
        box->blocks *= l->n; /* fits: positions of dst */
    }
    box->nloops = n;
    box->ncols = (int8_t)d->ncols;
    box->nrows = (int8_t)d->nrows;
    for (int32_t i = 0; TG_RARELY(i < d->ncols); i++) keep[n++] = d->cols[i];
    for (int32_t i = 0; TG_RARELY(i < d->nrows); i++) keep[n++] = d->rows[i];
    nest->nloops += n;
    return true;
}

/* A box from a draft that has all its loops; false with plan->why, or if there are too many boxes. */
static bool make_box(tg_draft *d) {
    tg_plan_private *plan = d->plan;
    tg_nest         *nest = &plan->as.nest;
    if (TG_RARELY(nest->nboxes == TG_PLAN_BOXES)) return false;
    d->box = &nest->box[nest->nboxes];
    d->converts = plan->dst_encoding.kind != TG_KIND_NONE && !d->fill;
    d->ncols = d->nrows = 0;
    d->unit = 1;
    fuse(d);
    take_run(d);
    d->left = ((uint64_t)1 << d->n) - 1;
    d->loose = d->by_bytes = d->shares = false;
    if (TG_RARELY(d->dst_width == 0 || d->src_width == 0) && !place_packed(d)) {
        plan->why = "packed elements begin inside a byte, and are converted or between others";
        return false;
    }
    d->box->dst = d->dst;
    d->box->src = d->src;
    d->box->loose = d->loose;
    if (TG_MOSTLY(!d->by_bytes)) choose_block(d);
    if (TG_RARELY(!choose_route(d))) return false;
    if (TG_RARELY(!tg_stays_near(d)) || TG_RARELY(d->plan->threads > 1)) tg_draft_chunks(d);
    if (TG_RARELY(!keep_loops(d))) return false;
    d->box->together = 0;
    if (TG_RARELY(d->shares)) tg_draft_together(d);
    if (TG_RARELY(d->box->nloops > 0) || TG_RARELY(d->loose) ||
        TG_RARELY(d->box->route != TG_ROUTE_MOVE && !d->fill)) nest->single = false;
    nest->nboxes++;
    return true;
}

/* Does a loop of the block go on behind runs of so many elements? It would have been fused with them. */
static bool continues(const tg_draft *d, int64_t run) {
    const tg_block *b = &d->box->block;
    const int64_t   dst = run * d->dst_unit, src = run * d->src_unit;
    return (b->rows > 1 && b->dst_row == dst && b->src_row == src) ||
           (b->outer > 1 && b->dst_outer == dst && b->src_outer == src);
}

/* What blocks of two boxes of rows share. A copy of all would be one long instruction, or wide loads of what has just
 * been written. */
static inline void copy_steps(tg_block *to, const tg_block *from) {
    to->outer = from->outer;
    to->dst_outer = from->dst_outer;
    to->src_outer = from->src_outer;
    to->rows = from->rows;
    to->dst_row = from->dst_row;
    to->src_row = from->src_row;
    to->dst_col = from->dst_col;
    to->src_col = from->src_col;
}

/* The box that d has just become once more, but for its runs: of so many elements, with another tail, and so many
 * bytes further on. For small moves, which are not cut into blocks; false if it is not as simple as that, and must
 * be drafted. */
static bool make_twin(tg_draft *d, int64_t run, int64_t tail, int64_t dst, int64_t src) {
    tg_nest            *nest = &d->plan->as.nest;
    const int64_t       cols = d->converts ? run : tg_bytes_for(run, d->plan->dst_bits);
    const tg_box *const box = d->box;
    tg_box *const       twin = &nest->box[nest->nboxes];
    const bool          rows = box->family == TG_FAMILY_ROWS && box->nloops == 0 && box->block.last == 0;
    if (!rows || d->fill || d->dst_width == 0 || d->src_width == 0 || !tg_stays_near(d)) return false;
    if ((tail == 0 && (d->converts || cols < TG_RUN_BYTES)) || continues(d, run)) return false;
    if (nest->nboxes == TG_PLAN_BOXES) return false;
    twin->dst = d->dst + dst;
    twin->src = d->src + src;
    copy_steps(&twin->block, &box->block);
    twin->block.cols = cols;
    twin->block.tail = d->converts ? tail : tg_bytes_for(tail, d->plan->dst_bits);
    twin->block.ragged = TG_RAGGED_NOT;
    twin->block.last = 0;
    twin->blocks = 1;
    twin->first = nest->nloops;
    twin->nloops = 0;
    twin->together = twin->ncols = twin->nrows = 0;
    twin->loose = false;
    twin->family = TG_FAMILY_ROWS;
    twin->route = box->route;
    twin->width = box->width;
    twin->mover = box->mover;
    twin->in = twin->out = TG_NO_MOVER;
    nest->nboxes++;
    return true;
}
