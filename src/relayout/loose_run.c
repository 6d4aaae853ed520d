/* Blocks of packed elements that begin inside of bytes, as those of a matrix do whose rows are no whole bytes. Here are
 * two rows of five s4, and bytes below:
 *
 *     a b c d e f g h i j        rows begin at elements 0 and 5, the second one in the middle of byte 2
 *     [0] [1] [2] [3] [4]
 *
 * Places and steps are elements. Runs are copied with shifts, or, where they are turned, unpacked to one byte each,
 * transposed as a matrix, and packed again (route tile). What a run has before its first whole byte is unpacked and
 * packed one by one; from there on the runs of every second line (or fourth, or eighth) begin at bytes that are evenly
 * spaced, so that a converting mover does all of these in one call. Bytes at the ends of runs in dst keep what is not
 * the run's. */
#include "base/checked.h"
#include "relayout/plan.h"

/* Lines of n elements: packed, and one byte each. */
typedef struct lines {
    const tg_mover *mover;
    int32_t         bits;
    int64_t         at, step; /* packed elements: the first one of the first line, and from line to line */
    int64_t         pitch;    /* bytes from line to line */
    int64_t         count, n;
} lines;

/* Lines that begin at the same bit of a byte: this one and every `every`th. */
typedef struct class {
    int64_t every, count;
    int64_t lead, whole; /* elements before the first whole byte, and in whole bytes */
    int64_t byte;        /* that one, of the first line */
} class;

static int64_t classes_of(const lines *l) {
    const int64_t per_byte = 8 / l->bits;
    return tg_min(per_byte / tg_gcd(per_byte, l->step), l->count);
}

static class class_of(const lines *l, int64_t first, int64_t every) {
    const int64_t per_byte = 8 / l->bits, at = l->at + first * l->step, into = at % per_byte;
    const int64_t lead = tg_min(into == 0 ? 0 : per_byte - into, l->n);
    return (class){every, tg_ceil_div(l->count - first, every), lead, (l->n - lead) / per_byte * per_byte,
                   (at + lead) / per_byte};
}

static int64_t packed_step(const lines *l, const class *c) { return c->every * l->step * l->bits / 8; }

static void unpack(const lines *l, uint8_t *bytes, const uint8_t *packed) {
    const int64_t every = classes_of(l);
    for (int64_t first = 0; first < every; first++) {
        const class    c = class_of(l, first, every);
        const tg_block b = {.outer = 1, .rows = c.count, .cols = c.whole, .dst_row = every * l->pitch, .dst_col = 1,
                            .src_row = packed_step(l, &c)};
        for (int64_t i = first; i < l->count; i += every) {
            uint8_t *const line = bytes + i * l->pitch;
            const int64_t  at = l->at + i * l->step;
            for (int64_t k = 0; k < c.lead; k++) line[k] = (uint8_t)tg_get_packed(packed, at + k, l->bits);
            for (int64_t k = c.lead + c.whole; k < l->n; k++)
                line[k] = (uint8_t)tg_get_packed(packed, at + k, l->bits);
        }
        if (c.whole > 0) (void)tg_mover_run(l->mover, bytes + first * l->pitch + c.lead, packed + c.byte, &b);
    }
}

static void pack(const lines *l, uint8_t *packed, const uint8_t *bytes) {
    const int64_t every = classes_of(l);
    for (int64_t first = 0; first < every; first++) {
        const class    c = class_of(l, first, every);
        const tg_block b = {.outer = 1, .rows = c.count, .cols = c.whole, .dst_row = packed_step(l, &c),
                            .src_row = every * l->pitch, .src_col = 1};
        for (int64_t i = first; i < l->count; i += every) {
            const uint8_t *const line = bytes + i * l->pitch;
            const int64_t        at = l->at + i * l->step;
            for (int64_t k = 0; k < c.lead; k++) tg_put_packed(packed, at + k, l->bits, line[k]);
            for (int64_t k = c.lead + c.whole; k < l->n; k++) tg_put_packed(packed, at + k, l->bits, line[k]);
        }
        if (c.whole > 0) (void)tg_mover_run(l->mover, packed + c.byte, bytes + first * l->pitch + c.lead, &b);
    }
}

/* ---- tiles ---- */

/* All lines of one side of a tile: the loops that count them, innermost first. The first loop may be cut short if it
 * is the only one. */
typedef struct grid {
    const tg_loop *loop;
    int32_t        nloops;
    int64_t        count;
    bool           in_dst;
} grid;

static int64_t step_of(const grid *g, int32_t i) { return g->in_dst ? g->loop[i].dst : g->loop[i].src; }

/* Lines that are neighbours in memory are one. */
static void move_grid(grid g, lines l, uint8_t *bytes, uint8_t *dst, const uint8_t *src) {
    const int64_t inner = g.nloops == 1 ? g.count : g.loop[0].n, at = l.at;
    const bool    joined = step_of(&g, 0) == l.n && l.pitch == l.n;
    l.count = joined ? 1 : inner;
    l.n *= joined ? inner : 1;
    l.step = step_of(&g, 0);
    for (int64_t done = 0, number = 0; done < g.count; done += inner, number++) {
        int64_t rest = number;
        l.at = at;
        for (int32_t i = 1; i < g.nloops; i++) {
            l.at += rest % g.loop[i].n * step_of(&g, i);
            rest /= g.loop[i].n;
        }
        if (g.in_dst) pack(&l, dst, bytes + done * l.pitch);
        else unpack(&l, bytes + done * l.pitch, src);
    }
}

/* Elements on their way, one byte each. */
typedef struct stage {
    _Alignas(64) uint8_t in[TG_STAGE_BYTES];
    _Alignas(64) uint8_t out[TG_STAGE_BYTES];
} stage;

static void turn_tile(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                      int64_t src_at, const tg_block *b) {
    const tg_nest  *nest = &p->as.nest;
    const tg_mover *turn = &nest->mover[box->mover];
    const tg_loop  *cols = &nest->loop[box->first + box->nloops], *rows = cols + box->ncols;
    const tg_block  block = {.outer = 1, .rows = b->rows, .cols = b->cols, .dst_row = b->cols, .dst_col = 1,
                             .src_row = 1, .src_col = b->rows};
    const grid      in = {cols, box->ncols, b->cols, false}, out = {rows, box->nrows, b->rows, true};
    const lines     from = {&nest->mover[box->in], p->src_bits, src_at, 0, b->rows, 0, b->rows};
    const lines     to = {&nest->mover[box->out], p->dst_bits, dst_at, 0, b->cols, 0, b->cols};
    stage           s;
    move_grid(in, from, s.in, dst, src);
    (void)tg_mover_run(turn, s.out, s.in, &block);
    move_grid(out, to, s.out, dst, src);
}

/* ---- runs ---- */

static void move_run(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t to, const uint8_t *src,
                     int64_t from, const tg_block *b) {
    if (box->route == TG_ROUTE_FILL) (void)tg_fill(dst, to, b->cols, b->pad, p->dst_bits);
    else tg_copy_packed(dst, to, src, from, b->cols, p->dst_bits);
    if (b->tail > 0) (void)tg_fill(dst, to + b->cols, b->tail, b->pad, p->dst_bits);
}

/* Along dst some runs at a time, all of src for these: as many streams for the prefetchers, as in rows.c. */
static void move_runs(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                      int64_t src_at, const tg_block *b) {
    const bool    rows_near = b->outer == 1 || tg_magnitude(b->dst_row) <= tg_magnitude(b->dst_outer);
    const tg_loop rows = {b->rows, b->dst_row, b->src_row, TG_NO_LOOP};
    const tg_loop outer = {b->outer, b->dst_outer, b->src_outer, TG_NO_LOOP};
    const tg_loop near = rows_near ? rows : outer, far = rows_near ? outer : rows;
    for (int64_t band = 0; band < near.n; band += TG_STREAMS)
        for (int64_t f = 0; f < far.n; f++)
            for (int64_t i = band; i < tg_min(band + TG_STREAMS, near.n); i++)
                move_run(p, box, dst, dst_at + f * far.dst + i * near.dst, src, src_at + f * far.src + i * near.src,
                         b);
}

void tg_loose_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                    int64_t src_at, const tg_block *b) {
    if (box->route == TG_ROUTE_TILE) turn_tile(p, box, dst, dst_at, src, src_at, b);
    else move_runs(p, box, dst, dst_at, src, src_at, b);
}
