/* Blocks of packed elements, one byte each on their way (bytes.c):
 *
 *     spread    lines of src, at whatever bits they begin, to lines of bytes
 *     moved     from there to where they are in lines of dst, by a mover of bytes
 *     joined    lines of dst, whose first and last byte keep what is not theirs
 *
 * Matrices are turned by one mover (kernels/bands.c).
 *
 * A line of dst with gaps is spread first, so that what is in them is joined again. */
#include "base/checked.h"
#include "relayout/bytes.h"

#include <string.h>

enum { MARGIN = TG_SPREAD_BEHIND };

typedef struct stage {
    _Alignas(64) uint8_t src[MARGIN + TG_LINES_BYTES + MARGIN];
    _Alignas(64) uint8_t dst[MARGIN + TG_LINES_BYTES + MARGIN];
} stage;

/* The block's loops: how many steps, and how long they are in memory and in a stage. */
typedef struct loops {
    int32_t n;
    int64_t count[TG_TILE_LOOPS], most[TG_TILE_LOOPS];
    int64_t dst[TG_TILE_LOOPS], src[TG_TILE_LOOPS], to[TG_TILE_LOOPS], from[TG_TILE_LOOPS];
    int64_t dst_length, src_length, src_begin; /* of lines; elements before the first one that is moved */
} loops;

static int64_t count_of(const tg_loop *l, const tg_block *b) {
    switch (l->chunks_of) {
    case TG_BLOCK_OUTER: return b->outer;
    case TG_BLOCK_ROWS: return b->rows;
    case TG_BLOCK_COLS: return b->cols;
    default: return l->n;
    }
}

static loops loops_of(const tg_plan_private *p, const tg_box *box, const tg_block *b, bool dst_staged,
                      bool src_staged) {
    const tg_loop *loop = &p->as.nest.loop[box->first + box->nloops];
    loops          k = {.n = box->ncols, .dst_length = 1 + b->tail, .src_length = 1, .src_begin = 0};
    int64_t        to = box->block.dst_row, from = box->block.src_row;
    for (int32_t i = 0; i < k.n; i++) {
        const tg_loop *l = &loop[i];
        const bool     along_dst = (box->along_dst >> i & 1) != 0, along_src = (box->along_src >> i & 1) != 0;
        const int64_t  steps = count_of(l, b) - 1;
        k.count[i] = steps + 1;
        k.dst[i] = l->dst;
        k.src[i] = l->src;
        k.to[i] = along_dst || !dst_staged ? l->dst : to;
        k.from[i] = along_src || !src_staged ? l->src : from;
        if (along_dst) k.dst_length += steps * l->dst;
        else to *= l->n;
        if (along_src) k.src_length += steps * tg_magnitude(l->src);
        else from *= l->n;
        if (along_src && src_staged && l->src < 0) k.src_begin += steps * -l->src;
    }
    return k;
}

/* ---- lines ---- */

/* Calls for all lines of one side: the loops that are not along it, of which `rows` is done by the mover. */
typedef struct lines {
    const tg_mover *mover;
    int64_t         n, at;     /* elements of a line; the first one's place in memory */
    uint8_t        *bytes;     /* the first one in the stage */
    const int64_t  *count, *step, *in_stage;
    uint32_t        over;      /* bit i: loop i counts lines */
    int32_t         nloops;
} lines;

static void spread(const lines *l, const uint8_t *packed, int64_t at, uint8_t *bytes, int32_t rows) {
    const tg_block b = {.outer = 1, .rows = rows < 0 ? 1 : l->count[rows], .cols = l->n,
                        .dst_row = rows < 0 ? 0 : l->in_stage[rows], .src_outer = at,
                        .src_row = rows < 0 ? 0 : l->step[rows]};
    (void)tg_mover_run(l->mover, bytes, packed, &b);
}

static void join(const lines *l, uint8_t *packed, int64_t at, const uint8_t *bytes, int32_t rows) {
    const tg_block b = {.outer = 1, .rows = rows < 0 ? 1 : l->count[rows], .cols = l->n, .dst_outer = at,
                        .dst_row = rows < 0 ? 0 : l->step[rows], .src_row = rows < 0 ? 0 : l->in_stage[rows]};
    if (l->mover != NULL) {
        (void)tg_mover_run(l->mover, packed, bytes, &b);
        return;
    }
    for (int64_t r = 0; r < b.rows; r++)
        memcpy(packed + at + r * b.dst_row, bytes + r * b.src_row, (size_t)l->n);
}

/* Lines of src, or what is in gaps of dst, if `from` is not NULL; else of dst. */
static void move_lines(const lines *l, const uint8_t *from, uint8_t *to) {
    const int32_t rows = l->over == 0 ? -1 : __builtin_ctz(l->over);
    int64_t       i[TG_TILE_LOOPS] = {0}, at = l->at, place = 0;
    for (;;) {
        if (from != NULL) spread(l, from, at, l->bytes + place, rows);
        else join(l, to, at, l->bytes + place, rows);
        int32_t k = 0;
        for (; k < l->nloops; k++) {
            if (k == rows || (l->over >> k & 1) == 0) continue;
            at += l->step[k];
            place += l->in_stage[k];
            if (++i[k] < l->count[k]) break;
            i[k] = 0;
            at -= l->count[k] * l->step[k];
            place -= l->count[k] * l->in_stage[k];
        }
        if (k == l->nloops) return;
    }
}

/* ---- bytes ---- */

/* The loops around columns, rows and a third one are counted here; a unit's loop is last, and is the mover's. */
static void move_bytes(const tg_mover *m, const tg_box *box, const loops *k, uint8_t *to, const uint8_t *from) {
    const int32_t n = k->n - (box->width > 1);
    const bool    rows = box->family == TG_FAMILY_ROWS;
    tg_block      b = {.outer = 1, .rows = 1, .cols = 1, .dst_col = box->width, .src_col = box->width};
    int64_t       i[TG_TILE_LOOPS] = {0};
    if (n > 0) {
        b.cols = k->count[0];
        b.dst_col = rows ? 1 : k->to[0];
        b.src_col = rows ? 1 : k->from[0];
    }
    if (n > 1) {
        b.rows = k->count[1];
        b.dst_row = k->to[1];
        b.src_row = k->from[1];
    }
    if (n > 2) {
        b.outer = k->count[2];
        b.dst_outer = k->to[2];
        b.src_outer = k->from[2];
    }
    for (;;) {
        int32_t j = TG_BLOCK_LOOPS;
        (void)tg_mover_run(m, to, from, &b);
        for (; j < n; j++) {
            to += k->to[j];
            from += k->from[j];
            if (++i[j] < k->count[j]) break;
            i[j] = 0;
            to -= k->count[j] * k->to[j];
            from -= k->count[j] * k->from[j];
        }
        if (j >= n) return;
    }
}

static const tg_mover *mover_at(const tg_plan_private *p, int32_t i) {
    return i == TG_NO_MOVER ? NULL : &p->as.nest.mover[i];
}

static uint8_t pad_byte(const tg_plan_private *p) {
    return p->dst_bits == 8 ? p->pad[0] : (uint8_t)tg_get_packed(p->pad, 0, p->dst_bits);
}

/* The block's first loop is columns, its second one rows. */
static void turn_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                       int64_t src_at, const tg_block *b) {
    const tg_loop *const loop = &p->as.nest.loop[box->first + box->nloops];
    const tg_block       matrix = {.outer = 1, .rows = count_of(&loop[1], b), .cols = count_of(&loop[0], b),
                                   .dst_outer = dst_at, .dst_row = loop[1].dst, .src_outer = src_at,
                                   .src_col = loop[0].src};
    (void)tg_mover_run(mover_at(p, box->mover), dst, src, &matrix);
}

/* Not inline: matrices need the stack for themselves. */
TG_OUTLINE void spread_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at,
                             const uint8_t *src, int64_t src_at, const tg_block *b) {
    const bool      from_stage = p->src_bits < 8, to_stage = p->dst_bits < 8 || box->block.tail > 0;
    const loops     k = loops_of(p, box, b, to_stage, from_stage);
    const uint32_t  all = (1u << k.n) - 1;
    stage           s;
    uint8_t *const  to = to_stage ? s.dst + MARGIN : dst + dst_at;
    const uint8_t  *from = from_stage ? s.src + MARGIN + k.src_begin : src + src_at;
    const lines     in = {.mover = mover_at(p, box->in), .n = k.src_length, .at = src_at - k.src_begin,
                          .bytes = s.src + MARGIN, .count = k.count, .step = k.src, .in_stage = k.from,
                          .over = all & ~(uint32_t)box->along_src, .nloops = k.n};
    lines           out = {.mover = mover_at(p, box->out), .n = k.dst_length, .at = dst_at,
                           .bytes = s.dst + MARGIN, .count = k.count, .step = k.dst, .in_stage = k.to,
                           .over = all & ~(uint32_t)box->along_dst, .nloops = k.n};
    if (from_stage) move_lines(&in, src, NULL);
    if (box->gaps && to_stage) {
        lines before = out;
        before.mover = mover_at(p, box->in);
        move_lines(&before, dst, NULL);
    } else if (b->tail > 0) {
        memset(s.dst, pad_byte(p), sizeof s.dst);
    }
    move_bytes(mover_at(p, box->mover), box, &k, to, from);
    if (to_stage) move_lines(&out, NULL, dst);
}

void tg_bytes_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                    int64_t src_at, const tg_block *b) {
    if (box->family == TG_FAMILY_PACKED) turn_block(p, box, dst, dst_at, src, src_at, b);
    else spread_block(p, box, dst, dst_at, src, src_at, b);
}
