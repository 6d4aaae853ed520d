/* Running a nest: groups to blocks, blocks to movers.
 *
 * From below: how a block is moved or filled, and last the shares of all boxes that make a group. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "relayout/odometer.h"

/* ---- blocks ---- */

/* Rows of a block, one after the other. */
typedef struct row_walk {
    const tg_block *b;
    uint8_t        *outer, *at; /* the first row of this step of outer, and the row; NULL behind the last one */
    int64_t         r, o;
} row_walk;

static void next_row(row_walk *w) {
    w->at += w->b->dst_row;
    if (++w->r < w->b->rows) return;
    w->r = 0;
    w->at = w->outer += w->b->dst_outer;
    if (++w->o == w->b->outer) w->at = NULL;
}

static void claim_run(const uint8_t *p, int64_t n) {
    for (int64_t i = 0; i < n; i += TG_LINE_BYTES) TG_CLAIM(p + i);
    TG_CLAIM(p + n - 1);
}

/* Each row, or piece of it, is asked for before those between are written. */
static void fill_claimed(const tg_block *b, uint8_t *dst) {
    enum { PIECE = 1024 }; /* a multiple of TG_PAD_PATTERN */
    if (b->rows <= 0 || b->outer <= 0) return;
    row_walk now = {b, dst, dst, 0, 0}, later = now;
    for (int i = 0; i < TG_CLAIMED_RUNS && later.at != NULL; i++) next_row(&later);
    for (; now.at != NULL; next_row(&now)) {
        for (int64_t i = PIECE; i < b->cols; i += PIECE) {
            claim_run(now.at + i, tg_min(PIECE, b->cols - i));
            tg_fill_bytes(now.at + i - PIECE, PIECE, b->pad, false);
        }
        const int64_t done = (b->cols - 1) / PIECE * PIECE;
        if (later.at != NULL) {
            claim_run(later.at, tg_min(b->cols, PIECE));
            next_row(&later);
        }
        tg_fill_bytes(now.at + done, b->cols - done, b->pad, false);
    }
}

/* Around the caches, but for the lines at both ends that have data too: these are asked for before (a Granite Rapids,
 * 256 MiB, 28 moves with padding that begins inside of lines, together 1.05 times as fast, f16[64,9,233031] of sticks
 * to (2,1) 0.21 -> 0.29, none below 1.00). */
static void fill_around(const tg_block *b, uint8_t *dst) {
    if (b->rows <= 0 || b->outer <= 0) return;
    row_walk now = {b, dst, dst, 0, 0}, later = now;
    for (int i = 0; i < TG_CLAIMED_RUNS && later.at != NULL; i++) next_row(&later);
    for (; now.at != NULL; next_row(&now)) {
        if (later.at != NULL) {
            uint8_t *const end = later.at + b->cols;
            if ((uintptr_t)later.at % TG_LINE_BYTES != 0) TG_CLAIM(later.at);
            if ((uintptr_t)end % TG_LINE_BYTES != 0) TG_CLAIM(end - 1);
            next_row(&later);
        }
        tg_fill_bytes(now.at, b->cols, b->pad, true);
    }
}

static void fill_block(const tg_plan_private *p, const tg_block *b, uint8_t *dst) {
    if (p->claims && p->stream) {
        fill_around(b, dst);
        return;
    }
    if (p->claims) {
        fill_claimed(b, dst);
        return;
    }
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            tg_fill_bytes(dst + o * b->dst_outer + r * b->dst_row, b->cols, b->pad, p->stream);
}

/* Most movers of family strided know no tails. */
static void fill_tails(const tg_block *b, uint8_t *dst, int32_t width) {
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            tg_fill_bytes(dst + o * b->dst_outer + r * b->dst_row + b->cols * b->dst_col, b->tail * width, b->pad,
                          false);
}

static void move_block(const tg_nest *nest, const tg_box *box, uint8_t *dst, const uint8_t *src, const tg_block *b) {
    const tg_mover *mover = &nest->mover[box->mover];
    if (box->family != TG_FAMILY_STRIDED || b->tail == 0 || tg_strided_takes_tail(mover, b)) {
        (void)tg_mover_run(mover, dst, src, b); /* movers that do not convert never fail */
        return;
    }
    tg_block plain = *b;
    plain.tail = 0;
    (void)tg_mover_run(mover, dst, src, &plain);
    fill_tails(b, dst, box->width);
}

/* ---- any block ---- */

static const uint8_t *run_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                                const tg_block *b) {
    switch (box->route) {
    case TG_ROUTE_MOVE: move_block(&p->as.nest, box, dst, src, b); return NULL;
    case TG_ROUTE_CONVERT: return tg_mover_run(&p->as.nest.mover[box->mover], dst, src, b);
    case TG_ROUTE_FILL: fill_block(p, b, dst); return NULL;
    case TG_ROUTE_NARROW: return tg_narrow_block(p, box, dst, src, b);
    case TG_ROUTE_TWICE: return tg_twice_block(p, box, dst, src, b);
    case TG_ROUTE_PANEL: return tg_panel_block(p, box, dst, src, b);
    case TG_ROUTE_TILE: return tg_tile_block(p, box, dst, src, b);
    case TG_ROUTE_TURN: tg_turn_block(p, box, dst, src, b); return NULL;
    case TG_ROUTE_LINES: tg_spaced_block(p, box, dst, src, b); return NULL;
    default: return tg_stage_block(p, box, dst, src, b);
    }
}

/* ---- boxes ---- */

/* The block that begins at these places of the box. */
const uint8_t *tg_box_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at,
                            const uint8_t *src, int64_t src_at, const tg_block *b) {
    if (!box->loose) return run_block(p, box, dst + dst_at, src + src_at, b);
    if (box->route == TG_ROUTE_BYTES) tg_bytes_block(p, box, dst, dst_at, src, src_at, b);
    else tg_loose_block(p, box, dst, dst_at, src, src_at, b);
    return NULL;
}

const uint8_t *tg_nest_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src) {
    tg_block b = box->block;
    b.pad = p->pad;
    return tg_box_block(p, box, dst, box->dst, src, box->src, &b);
}

/* ---- groups of blocks ---- */

/* Is it worth asking? For each block that costs as much as a twentieth of what it moves, in a cache. */
static bool go_together(const tg_plan_private *p, const tg_box *box, const tg_loop *loop, const uint8_t *dst) {
    const tg_block *b = &box->block;
    if (box->route != TG_ROUTE_MOVE || box->family != TG_FAMILY_TRANSPOSE) return false;
    if (loop[box->nloops - 1].chunks_of != TG_NO_LOOP) return false;
    return p->as.nest.mover[box->mover].to_dst && b->cols <= TG_MOST_TOGETHER && b->tail == 0 &&
           (uintptr_t)(dst + box->dst) % TG_LINE_BYTES != 0;
}

/* What is left of the innermost loop, up to block `end`, if one mover takes it together. */
static bool ran_together(const tg_plan_private *p, const tg_box *box, const tg_loop *loop, uint8_t *dst,
                         const uint8_t *src, const tg_block *b, tg_odometer *o, int64_t *first, int64_t end) {
    const int32_t        last = box->nloops - 1;
    const tg_loop *const l = &loop[last];
    const int64_t        n = tg_min(l->n - o->at[last], end - *first);
    if (!tg_transpose_together(&p->as.nest.mover[box->mover], dst + o->dst, src + o->src, b, n, l->dst, l->src))
        return false;
    o->at[last] += n - 1;
    o->dst += (n - 1) * l->dst;
    o->src += (n - 1) * l->src;
    (void)tg_odometer_next(o, box, loop);
    *first += n - 1;
    return true;
}

/* Tiles of short runs are gathered from so many places that prefetchers follow none of them (256 MiB, an Emerald
 * Rapids, x memcpy: 93 lines of 165 bytes 0.25 -> 0.43, three runs of 512 bytes 0.23 -> 0.28; but ten of 1536 bytes
 * 0.47 -> 0.34). */
static bool fetches_tiles(const tg_plan_private *p, const tg_box *box) {
    enum { SHORT_READ = 512 };
    if (TG_MOSTLY(box->route != TG_ROUTE_TILE) || !p->far || box->in == TG_NO_MOVER) return false;
    return p->as.nest.mover[box->mover].to_dst && tg_tile_run(p, box) <= SHORT_READ;
}

/* So are the lines of a transpose that are a cache line or two each, of few blocks (sticks of 45 elements of two bytes
 * to channels last 0.35 -> 0.43). */
static bool fetches_lines(const tg_plan_private *p, const tg_box *box) {
    enum { SHORT_LINE = 128, FAR_APART = 4096, MOST_LINES = 1024 };
    const tg_block *b = &box->block;
    if (TG_MOSTLY(!p->far) || box->route != TG_ROUTE_MOVE || box->family != TG_FAMILY_TRANSPOSE) return false;
    if (b->outer > 1 && tg_magnitude(b->src_outer) < FAR_APART) return false; /* they go on in the next step */
    return p->as.nest.mover[box->mover].to_dst && b->src_row == box->width && b->rows * box->width <= SHORT_LINE &&
           tg_magnitude(b->src_col) >= FAR_APART && b->outer * b->cols <= MOST_LINES;
}

void tg_block_fetch(const tg_block *b, const uint8_t *src, int64_t width) {
    enum { EXPECTED = 512 }; /* bytes that follow each other */
    const bool    by_cols = tg_magnitude(b->src_col) > tg_magnitude(b->src_row) && b->cols > 1;
    const int64_t apart = by_cols ? b->src_col : b->src_row, n = by_cols ? b->cols : b->rows;
    const int64_t beside = by_cols ? b->src_row : b->src_col,
                  bytes = ((by_cols ? b->rows : b->cols) - 1) * beside + width;
    if (bytes < 0 || bytes > EXPECTED || tg_magnitude(apart) < TG_LINE_BYTES) return;
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t k = 0; k < n; k++) {
            const uint8_t *const run = src + o * b->src_outer + k * apart;
            for (int64_t i = 0; i < bytes; i += TG_LINE_BYTES) TG_FETCH_HERE(run + i, false);
            TG_FETCH_HERE(run + bytes - 1, false);
        }
}

/* Of lines that follow each other from block to block, a run of so many bytes is fetched at once. */
enum { FETCHED_RUN = 512 };

/* How many blocks of the innermost loop have such a run; 1: lines are apart, or it is short, and none would be fetched
 * for its first blocks. */
static int64_t blocks_of_run(const tg_box *box, const tg_loop *loop) {
    enum { LEAST_RUNS = 8 };
    const tg_loop *const l = &loop[box->nloops - 1];
    if (box->route != TG_ROUTE_MOVE || (l->src != TG_LINE_BYTES && l->src != TG_STICK_BYTES)) return 1;
    return l->n >= LEAST_RUNS * FETCHED_RUN / l->src ? FETCHED_RUN / l->src : 1;
}

/* Before every n-th block, the lines of those from the n-th one behind it on, n of them. (A Granite Rapids, 256 MiB,
 * f16[3848,12,64,45] of sticks to channels last, lines block by block, in runs of 512, of 1024 bytes: 0.28, 0.40, 0.33;
 * where half of such a run is of no use to these blocks, as of parts of rows of 256 bytes, 0.8 times as fast.) */
static void fetch_runs(const tg_box *box, const tg_loop *loop, const uint8_t *src, const tg_block *b,
                       const tg_odometer *o, int64_t n) {
    const tg_loop *const l = &loop[box->nloops - 1];
    const int64_t        at = o->at[box->nloops - 1], next = at + n, bytes = tg_min(n, l->n - next) * l->src;
    if (at % n != 0) return;
    src += o->src + n * l->src;
    for (int64_t k = 0; k < b->outer; k++)
        for (int64_t c = 0; c < b->cols; c++)
            for (int64_t i = 0; i < bytes; i += TG_LINE_BYTES)
                TG_FETCH_HERE(src + k * b->src_outer + c * b->src_col + i, false);
}

/* What the next block reads, if there is one, or some blocks further on. */
static void fetch_next(const tg_plan_private *p, const tg_box *box, const tg_loop *loop, const uint8_t *src,
                       const tg_block *b, const tg_odometer *o) {
    tg_odometer   next = *o;
    const int64_t n = blocks_of_run(box, loop);
    if (n > 1) {
        fetch_runs(box, loop, src, b, o, n);
        return;
    }
    if (!tg_odometer_next(&next, box, loop)) return;
    src += next.src;
    if (tg_goes_twice(box)) tg_twice_fetch(p, box, src);
    else if (box->route == TG_ROUTE_TILE) tg_tile_fetch(p, box, src, b->cols);
    else tg_block_fetch(b, src, box->width);
}

static const uint8_t *run_box(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              int64_t first, int64_t end) {
    const tg_loop *loop = &p->as.nest.loop[box->first];
    tg_block       b = box->block;
    tg_odometer    o;
    if (box->route == TG_ROUTE_TURN) {
        tg_turn_box(p, box, dst, src, first, end);
        return NULL;
    }
    if (box->route == TG_ROUTE_CELLS) {
        tg_cells_run(p, box, dst, src, first, end);
        return NULL;
    }
    if (box->nloops == 0) return first < end ? tg_nest_block(p, box, dst, src) : NULL;
    b.pad = p->pad;
    tg_odometer_set(&o, box, loop, first);
    const bool together = go_together(p, box, loop, dst);
    const bool fetches = box->route == TG_ROUTE_PANEL ||
                         (box->route == TG_ROUTE_TWICE && p->as.nest.mover[box->in].fetches) || fetches_tiles(p, box) ||
                         fetches_lines(p, box);
    for (; first < end; first++) {
        tg_clip(&b, box, loop, &o);
        if (fetches) fetch_next(p, box, loop, src, &b, &o);
        if (together && ran_together(p, box, loop, dst, src, &b, &o, &first, end)) continue;
        const uint8_t *bad = tg_box_block(p, box, dst, o.dst, src, o.src, &b);
        if (bad != NULL) return bad;
        (void)tg_odometer_next(&o, box, loop);
    }
    return NULL;
}

/* Where group g of n begins when `count` blocks are shared out. count * n would not always fit. */
static int64_t share(int64_t count, int64_t n, int64_t g) {
    return n == 1 ? count * g : count / n * g + count % n * g / n;
}

/* Of boxes that share bytes of dst, the one with the longest steps: all are parted where it is. */
static const tg_box *find_leader(const tg_nest *nest) {
    const tg_box *leader = NULL;
    for (const tg_box *b = nest->box; b < nest->box + nest->nboxes; b++)
        if (b->together > 0 && (leader == NULL || nest->loop[b->first].dst > nest->loop[leader->first].dst)) leader = b;
    return leader;
}

/* Where group g begins among the blocks of a box: not where two threads would write one byte. */
int64_t tg_nest_begin_of(const tg_plan_private *p, const tg_box *box, int64_t g) {
    const tg_nest *nest = &p->as.nest;
    if (TG_MOSTLY(box->together == 0) || g == p->groups) return share(box->blocks, p->groups, g);
    if (box->together == TG_NOT_PARTED) return 0;
    const tg_box *const  leader = find_leader(nest);
    const tg_loop *const longest = &nest->loop[leader->first], *const own = &nest->loop[box->first];
    const int64_t        steps = share(longest->n, p->groups, g), whole = steps / leader->together * leader->together;
    return tg_min(whole * (longest->dst / own->dst), own->n) * (box->blocks / own->n);
}

const uint8_t *tg_nest_slab(const tg_plan_private *p, uint8_t *dst, const uint8_t *src) {
    const tg_nest *nest = &p->as.nest;
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++) {
        const uint8_t *bad = run_box(p, box, dst, src, 0, box->blocks);
        if (bad != NULL) return bad;
    }
    return NULL;
}

const uint8_t *tg_nest_run(const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end) {
    const tg_nest *nest = &p->as.nest;
    if (TG_RARELY(nest->slabs.nloops > 0)) {
        const int64_t count = nest->slabs.count;
        return tg_slabs_run(p, dst, src, share(count, p->groups, first), share(count, p->groups, end));
    }
    if (p->combines) return tg_combine_run(p, dst, src, first, end);
    const bool     close = nest->nboxes == 1 || !p->far; /* one box, or all of them in a cache: in any order */
    const int64_t  together = close ? end - first : 1;
    for (; first < end; first += together)
        for (int32_t i = 0; i < nest->nboxes; i++) {
            const tg_box  *box = &nest->box[i];
            const uint8_t *bad = run_box(p, box, dst, src, tg_nest_begin_of(p, box, first),
                                         tg_nest_begin_of(p, box, first + together));
            if (bad != NULL) return bad;
        }
    return NULL;
}
