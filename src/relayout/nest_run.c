/* Running a nest: groups to blocks, blocks to movers. */
#include "base/checked.h"
#include "relayout/plan.h"

#include <string.h>

/* Where blocks begin, counted through the loops above them. */
typedef struct odometer {
    int64_t at[TG_PLAN_LOOPS];
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

/* The last chunk of a loop of the block may be smaller. */
static void clip(tg_block *b, const tg_box *box, const tg_loop *loop, const odometer *o) {
    for (int32_t i = 0; i < box->nloops; i++) {
        if (loop[i].total == 0) continue;
        int64_t *const n = loop[i].part == 0 ? &b->outer : loop[i].part == 1 ? &b->rows : &b->cols;
        const int64_t  most = loop[i].part == 0   ? box->block.outer
                              : loop[i].part == 1 ? box->block.rows
                                                  : box->block.cols;
        *n = tg_min(most, loop[i].total - o->at[i] * most);
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

static const uint8_t *call(const tg_mover *mover, uint8_t *dst, const uint8_t *src, const tg_block *b) {
    return mover->move(mover, dst, src, b);
}

static void move_block(const tg_nest *nest, const tg_box *box, uint8_t *dst, const uint8_t *src, const tg_block *b) {
    const tg_mover *mover = &nest->mover[box->mover];
    if (box->family != TG_FAMILY_STRIDED || b->tail == 0) {
        (void)call(mover, dst, src, b); /* movers that do not convert never fail */
        return;
    }
    tg_block plain = *b;
    plain.tail = 0;
    (void)call(mover, dst, src, &plain);
    fill_tails(b, dst, box->width);
}

/* The first element of the block that does not fit, by asking each of them. */
static const uint8_t *find_misfit(const tg_plan_private *p, const uint8_t *src, const tg_block *b) {
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t c = 0; c < b->cols; c++) {
                const uint8_t *at = src + o * b->src_outer + r * b->src_row + c * b->src_col;
                tg_word        out;
                if (!tg_ref_convert(&out, p->dst_encoding, p->src_encoding, tg_ref_load(at, 0, p->src_bits))) return at;
            }
    return src;
}

/* What fits into the stage: some rows of some columns, neighbours there in the order of dst. */
typedef struct stage {
    _Alignas(64) uint8_t in[TG_STAGE_BYTES];
    _Alignas(64) uint8_t out[TG_STAGE_BYTES];
} stage;

static bool convert_part(const tg_plan_private *p, const tg_box *box, stage *s, uint8_t *dst, const tg_block *part) {
    const tg_nest *nest = &p->as.nest;
    const int64_t  dst_width = p->dst_bits / 8, src_width = p->src_bits / 8;
    const bool     apart = box->route == TG_ROUTE_SCATTER;
    const tg_block convert = {.outer = 1, .rows = part->rows, .cols = part->cols,
                              .dst_row = apart ? part->cols * dst_width : part->dst_row, .dst_col = dst_width,
                              .src_row = part->cols * src_width, .src_col = src_width,
                              .tail = apart ? 0 : part->tail, .pad = part->pad};
    if (call(&nest->mover[box->convert], apart ? s->out : dst, s->in, &convert) != NULL) return false;
    if (!apart) return true;
    tg_block scatter = *part;
    scatter.src_row = part->cols * dst_width;
    scatter.src_col = dst_width;
    scatter.tail = 0;
    (void)call(&nest->mover[box->scatter], dst, s->out, &scatter);
    return true;
}

static const uint8_t *stage_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                                  const tg_block *b) {
    stage         s;
    const int64_t width = tg_max(p->dst_bits, p->src_bits) / 8, src_width = p->src_bits / 8;
    const int64_t most = tg_min(TG_STAGE_BYTES / width, b->tail > 0 ? b->cols : 512);
    const int64_t cols = tg_min(b->cols, most), rows = tg_max(tg_min(b->rows, TG_STAGE_BYTES / (cols * width)), 1);
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t c = 0; c < b->cols; c += cols)
            for (int64_t r = 0; r < b->rows; r += rows) {
                tg_block part = *b;
                part.outer = 1;
                part.rows = tg_min(rows, b->rows - r);
                part.cols = tg_min(cols, b->cols - c);
                part.tail = c + part.cols == b->cols ? b->tail : 0;
                tg_block       in = part;
                const uint8_t *from = src + o * b->src_outer + r * b->src_row + c * b->src_col;
                uint8_t       *to = dst + o * b->dst_outer + r * b->dst_row + c * b->dst_col;
                in.dst_row = part.cols * src_width;
                in.dst_col = src_width;
                in.tail = 0;
                (void)call(&p->as.nest.mover[box->mover], s.in, from, &in);
                if (!convert_part(p, box, &s, to, &part)) return find_misfit(p, from, &part);
            }
    return NULL;
}

static const uint8_t *run_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                                const tg_block *b) {
    switch (box->route) {
    case TG_ROUTE_MOVE: move_block(&p->as.nest, box, dst, src, b); return NULL;
    case TG_ROUTE_CONVERT: return call(&p->as.nest.mover[box->convert], dst, src, b);
    case TG_ROUTE_FILL: fill_block(b, dst, p->stream); return NULL;
    default: return stage_block(p, box, dst, src, b);
    }
}

/* ---- boxes ---- */

static const uint8_t *run_box(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              int64_t first, int64_t end) {
    const tg_loop *loop = &p->as.nest.loop[box->first];
    tg_block       b = box->block;
    odometer       o;
    b.pad = p->pad;
    odometer_set(&o, box, loop, first);
    for (; first < end; first++) {
        clip(&b, box, loop, &o);
        const uint8_t *bad = run_block(p, box, dst + o.dst, src + o.src, &b);
        if (bad != NULL) return bad;
        odometer_next(&o, box, loop);
    }
    return NULL;
}

/* Where group g of n begins when `count` blocks are shared out. count * n would not always fit. */
static int64_t share(int64_t count, int64_t n, int64_t g) { return count / n * g + count % n * g / n; }

const uint8_t *tg_nest_run(const tg_plan_private *p, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end) {
    const tg_nest *nest = &p->as.nest;
    const int64_t  together = nest->nboxes == 1 ? end - first : 1; /* nothing to keep close to */
    for (; first < end; first += together)
        for (int32_t i = 0; i < nest->nboxes; i++) {
            const tg_box  *box = &nest->box[i];
            const uint8_t *bad = run_box(p, box, dst, src, share(box->blocks, p->groups, first),
                                         share(box->blocks, p->groups, first + together));
            if (bad != NULL) return bad;
        }
    return NULL;
}
