/* Running a nest: groups to blocks, blocks to movers. */
#include "base/checked.h"
#include "relayout/plan.h"

/* Where blocks begin, counted through the loops above them. */
typedef struct odometer {
    int64_t at[TG_BOX_LOOPS];
    int64_t dst, src;
} odometer;

static void odometer_set(odometer *o, const tg_box *box, const tg_loop *loop, int64_t block) {
    o->dst = box->dst;
    o->src = box->src;
    for (int32_t i = box->nloops; i-- > 0;) {
        o->at[i] = block % loop[i].n;
        block /= loop[i].n;
        o->dst += o->at[i] * loop[i].dst;
        o->src += o->at[i] * loop[i].src;
    }
}

static void odometer_next(odometer *o, const tg_box *box, const tg_loop *loop) {
    for (int32_t i = box->nloops; i-- > 0;) {
        o->dst += loop[i].dst;
        o->src += loop[i].src;
        if (++o->at[i] < loop[i].n) return;
        o->at[i] = 0;
        o->dst -= loop[i].n * loop[i].dst;
        o->src -= loop[i].n * loop[i].src;
    }
}

/* A block at the end of its ragged loop, or one before. */
static void end_ragged(tg_block *b, const tg_block *most, bool end) {
    b->ragged = end ? most->ragged : TG_RAGGED_NOT;
    b->tail = end ? most->tail : 0;
}

/* The last chunk of a loop of the block may be smaller, and the tail is behind the last one. */
static void clip(tg_block *b, const tg_box *box, const tg_loop *loop, const odometer *o) {
    const tg_block *most = &box->block;
    for (int32_t i = 0; i < box->nloops; i++) {
        const int64_t at = o->at[i];
        switch (loop[i].chunks_of) {
        case TG_BLOCK_OUTER:
            b->outer = tg_min(most->outer, box->total[TG_BLOCK_OUTER] - at * most->outer);
            if (most->ragged == TG_RAGGED_OUTER) end_ragged(b, most, at + 1 == loop[i].n);
            break;
        case TG_BLOCK_ROWS:
            b->rows = tg_min(most->rows, box->total[TG_BLOCK_ROWS] - at * most->rows);
            if (most->ragged == TG_RAGGED_ROWS) end_ragged(b, most, at + 1 == loop[i].n);
            break;
        case TG_BLOCK_COLS:
            b->cols = tg_min(most->cols, box->total[TG_BLOCK_COLS] - at * most->cols);
            b->tail = at + 1 == loop[i].n ? most->tail : 0;
            break;
        default: break; /* TG_NO_LOOP */
        }
    }
}

/* ---- blocks ---- */

static void fill_block(const tg_block *b, uint8_t *dst, bool stream) {
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            tg_fill_bytes(dst + o * b->dst_outer + r * b->dst_row, b->cols, b->pad, stream);
}

/* A mover of family strided knows no tails. */
static void fill_tails(const tg_block *b, uint8_t *dst, int32_t width) {
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            tg_fill_bytes(dst + o * b->dst_outer + r * b->dst_row + b->cols * b->dst_col, b->tail * width, b->pad,
                          false);
}

static void move_block(const tg_nest *nest, const tg_box *box, uint8_t *dst, const uint8_t *src, const tg_block *b) {
    const tg_mover *mover = &nest->mover[box->mover];
    if (box->family != TG_FAMILY_STRIDED || b->tail == 0) {
        (void)tg_mover_run(mover, dst, src, b); /* movers that do not convert never fail */
        return;
    }
    tg_block plain = *b;
    plain.tail = 0;
    (void)tg_mover_run(mover, dst, src, &plain);
    fill_tails(b, dst, box->width);
}

static const uint8_t *run_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                                const tg_block *b) {
    switch (box->route) {
    case TG_ROUTE_MOVE: move_block(&p->as.nest, box, dst, src, b); return NULL;
    case TG_ROUTE_CONVERT: return tg_mover_run(&p->as.nest.mover[box->mover], dst, src, b);
    case TG_ROUTE_FILL: fill_block(b, dst, p->stream); return NULL;
    case TG_ROUTE_NARROW: return tg_narrow_block(p, box, dst, src, b);
    case TG_ROUTE_TILE: return tg_tile_block(p, box, dst, src, b);
    default: return tg_stage_block(p, box, dst, src, b);
    }
}

/* ---- boxes ---- */

/* The block that begins at these places of the box. */
static const uint8_t *run_at(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at,
                             const uint8_t *src, int64_t src_at, const tg_block *b) {
    if (!box->loose) return run_block(p, box, dst + dst_at, src + src_at, b);
    tg_loose_block(p, box, dst, dst_at, src, src_at, b);
    return NULL;
}

const uint8_t *tg_nest_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src) {
    tg_block b = box->block;
    b.pad = p->pad;
    return run_at(p, box, dst, box->dst, src, box->src, &b);
}

static const uint8_t *run_box(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              int64_t first, int64_t end) {
    const tg_loop *loop = &p->as.nest.loop[box->first];
    tg_block       b = box->block;
    odometer       o;
    if (box->nloops == 0) return first < end ? tg_nest_block(p, box, dst, src) : NULL;
    b.pad = p->pad;
    odometer_set(&o, box, loop, first);
    for (; first < end; first++) {
        clip(&b, box, loop, &o);
        const uint8_t *bad = run_at(p, box, dst, o.dst, src, o.src, &b);
        if (bad != NULL) return bad;
        odometer_next(&o, box, loop);
    }
    return NULL;
}

/* Where group g of n begins when `count` blocks are shared out. count * n would not always fit. */
static int64_t share(int64_t count, int64_t n, int64_t g) {
    return n == 1 ? count * g : count / n * g + count % n * g / n;
}

const uint8_t *tg_nest_run(const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end) {
    const tg_nest *nest = &p->as.nest;
    const bool     close = nest->nboxes == 1 || !p->far; /* one box, or all of them in a cache: in any order */
    const int64_t  together = close ? end - first : 1;
    for (; first < end; first += together)
        for (int32_t i = 0; i < nest->nboxes; i++) {
            const tg_box  *box = &nest->box[i];
            const uint8_t *bad = run_box(p, box, dst, src, share(box->blocks, p->groups, first),
                                         share(box->blocks, p->groups, first + together));
            if (bad != NULL) return bad;
        }
    return NULL;
}
