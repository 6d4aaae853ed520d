/* Running a nest whose boxes share lines of dst: blocks are written to a buffer, and what they fill together leaves it
 * around the caches in whole lines.
 *
 *     rows of 255 bytes, of tiles of 128 columns      two boxes, of 128 and of 127 bytes of each row
 *     blocks of 8 rows                                one of the first box and one of the second: 2040 bytes of dst
 *
 * By themselves they would have to fetch each line of dst before they write a part of it, and from memory that takes
 * longer than all the rest. Blocks of each box begin in ascending order. Taken box by box, always the one that begins
 * first, they come to places before which all have ended and behind which all others begin: up to there dst is
 * complete, for all of it is some block's. Blocks of which that cannot be said, at the ends of what a thread moves, are
 * written to dst itself. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "relayout/combine.h"
#include "relayout/odometer.h"

enum { MOST_PARTS = 64 }; /* of 400 bytes they are what leaves together */

/* The blocks of a box, one after the other. */
typedef struct cursor {
    const tg_box  *box;
    const tg_loop *loop;
    tg_odometer    o;
    int64_t        at, end;
    int64_t        begin;      /* of the block in dst, or of what is left of it */
    int64_t        taken_rows; /* of a block of padding */
    int64_t        from, to;   /* in dst: blocks before ours lie there */
} cursor;

/* A block on its way, and where it begins. */
typedef struct part {
    const tg_box *box;
    int64_t       dst, src;
    tg_block      block;
} part;

typedef struct combiner {
    const tg_plan_private *plan;
    uint8_t               *dst;
    const uint8_t         *src;
    int32_t                ncursors, nparts;
    cursor                 cursor[TG_COMBINED_BOXES];
    part                   part[MOST_PARTS];
    int64_t                begin; /* of what is to be complete */
    int64_t                room;  /* bytes of dst, in the buffer */
    int64_t                reach; /* all parts, and all blocks before them, end before it */
} combiner;

/* Of our blocks the one that begins first, or NULL; *limit: where the first one of all begins, also of others'. */
static cursor *find_next(combiner *c, int64_t *limit) {
    cursor *next = NULL;
    *limit = INT64_MAX;
    for (cursor *k = c->cursor; k < c->cursor + c->ncursors; k++) {
        if (k->from > c->begin) *limit = tg_min(*limit, k->from);
        if (k->at == k->box->blocks) continue;
        *limit = tg_min(*limit, k->begin);
        if (k->at < k->end && (next == NULL || k->begin < next->begin)) next = k;
    }
    return next;
}

/* May a block be taken row by row? It is padding, and all of it comes before the next block. */
static bool can_be_cut(const cursor *k) {
    const tg_block *b = &k->box->block;
    const int64_t   next = k->box->nloops > 0 ? k->loop[k->box->nloops - 1].dst : INT64_MAX;
    return k->box->route == TG_ROUTE_FILL && b->outer == 1 && (b->rows - 1) * b->dst_row + b->cols <= next;
}

/* Padding that goes on goes no further than the parts do. */
static bool cut_padding(const combiner *c, cursor *k, part *p) {
    tg_block *const b = &p->block;
    b->rows -= k->taken_rows;
    if (!can_be_cut(k) || c->reach <= p->dst) return false;
    const int64_t rows = tg_ceil_div(c->reach - p->dst, tg_max(b->dst_row, 1));
    if (rows >= b->rows) return false;
    b->rows = rows;
    k->taken_rows += rows;
    k->begin += rows * b->dst_row;
    return true;
}

static void take_part(combiner *c, cursor *k) {
    part *p = &c->part[c->nparts++];
    p->box = k->box;
    p->dst = k->begin;
    p->src = k->o.src;
    p->block = k->box->block;
    p->block.pad = c->plan->pad;
    if (k->box->nloops > 0) tg_clip(&p->block, k->box, k->loop, &k->o);
    const bool more = cut_padding(c, k, p);
    c->reach = tg_max(c->reach, p->dst + tg_block_reach(c->plan, p->box, &p->block));
    if (k->box->route == TG_ROUTE_MOVE && k->box->family != TG_FAMILY_ROWS)
        tg_block_fetch(&p->block, c->src + p->src, k->box->width);
    if (more) return;
    (void)tg_odometer_next(&k->o, k->box, k->loop);
    k->at++;
    k->begin = k->o.dst;
    k->taken_rows = 0;
}

/* The first n parts; byte `origin` of dst is at `to`. */
static const uint8_t *run_parts(combiner *c, int32_t n, uint8_t *to, int64_t origin) {
    for (const part *p = c->part; p < c->part + n; p++) {
        const uint8_t *bad = tg_box_block(c->plan, p->box, to, p->dst - origin, c->src, p->src, &p->block);
        if (bad != NULL) return bad;
    }
    c->nparts -= n;
    for (int32_t i = 0; i < c->nparts; i++) c->part[i] = c->part[n + i];
    return NULL;
}

/* Of padding, as much as the parts reach anyway. */
static int64_t next_reach(const combiner *c, const cursor *k) {
    const int64_t all = tg_block_reach(c->plan, k->box, &k->box->block);
    return can_be_cut(k) && c->reach > k->begin
               ? tg_min(all, c->reach - k->begin + k->box->block.dst_row + k->box->block.cols)
               : all;
}

/* Parts until enough of dst is complete: up to *end, by so many of them; 0 if they are too many, or too large. */
static int32_t fill_parts(combiner *c, int64_t begin, int64_t *end) {
    int32_t complete = 0;
    for (;;) {
        int64_t       limit;
        cursor *const k = find_next(c, &limit);
        if (c->nparts > 0 && limit >= c->reach) {
            complete = c->nparts;
            *end = tg_min(c->reach, c->plan->span * (c->plan->dst_bits / 8)); /* a reach may be too long */
            if (*end - begin >= c->plan->combined_bytes) return complete;
        }
        if (k == NULL || k->begin > limit || c->nparts == MOST_PARTS) return complete;
        if (k->begin + next_reach(c, k) - begin > c->room) return complete;
        take_part(c, k);
    }
}

static void begin_cursor(const combiner *c, cursor *k, const tg_box *box, int64_t first, int64_t end) {
    k->box = box;
    k->loop = &c->plan->as.nest.loop[box->first];
    k->at = first;
    k->end = end;
    k->begin = k->taken_rows = k->from = k->to = 0;
    if (first > 0) {
        tg_odometer_set(&k->o, box, k->loop, first - 1);
        k->from = box->dst;
        k->to = k->o.dst + tg_block_reach(c->plan, box, &box->block);
    }
    if (first == box->blocks) return;
    tg_odometer_set(&k->o, box, k->loop, first);
    k->begin = k->o.dst;
}

/* Behind others' blocks that lie at a place, or may; the place itself if none do. */
static int64_t others_end(const combiner *c, int64_t begin) {
    int64_t end = begin;
    for (const cursor *k = c->cursor; k < c->cursor + c->ncursors; k++)
        if (k->from <= begin) end = tg_max(end, k->to);
    return end;
}

/* What is complete, from the first part on, by way of a buffer; false if nothing is. */
static bool run_complete(combiner *c, int64_t begin, const uint8_t **bad) {
    _Alignas(TG_LINE_BYTES) uint8_t buffer[TG_COMBINED_BYTES + TG_LINE_BYTES];
    int64_t        end;
    const int32_t  complete = fill_parts(c, begin, &end);
    uint8_t *const at = c->dst + begin, *const in = buffer + (uintptr_t)at % TG_LINE_BYTES;
    if (complete == 0) return false;
    *bad = run_parts(c, complete, in, begin);
    if (*bad == NULL) tg_stream_copy(at, in, (size_t)(end - begin));
    return true;
}

static void begin_combiner(combiner *c, const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first,
                           int64_t end) {
    const tg_nest *nest = &p->as.nest;
    c->plan = p;
    c->dst = dst;
    c->src = src;
    c->ncursors = nest->nboxes;
    c->nparts = 0;
    c->begin = c->reach = 0;
    c->room = tg_min(p->combined_bytes * (TG_COMBINED_BYTES / TG_COMBINED_ENOUGH), TG_COMBINED_BYTES); /* tests: less */
    for (int32_t i = 0; i < nest->nboxes; i++)
        begin_cursor(c, &c->cursor[i], &nest->box[i], tg_nest_begin_of(p, &nest->box[i], first),
                     tg_nest_begin_of(p, &nest->box[i], end));
}

const uint8_t *tg_combine_run(const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end) {
    combiner c;
    begin_combiner(&c, p, dst, src, first, end);
    int64_t direct = 0; /* what begins before it is written to dst itself */
    for (;;) {
        int64_t        limit;
        cursor *const  k = find_next(&c, &limit);
        const uint8_t *bad = NULL;
        if (c.nparts == 0 && k == NULL) return NULL;
        const int64_t begin = c.nparts > 0 ? c.part[0].dst : k->begin;
        c.begin = begin;
        direct = tg_max(direct, others_end(&c, begin));
        if (begin < direct || !run_complete(&c, begin, &bad)) {
            if (c.nparts == 0) take_part(&c, k);
            direct = tg_max(direct, c.reach);
            bad = run_parts(&c, c.nparts, dst, 0);
        }
        if (bad != NULL) return bad;
    }
}
