/* Is a nest better combined (combine_run.c)? Where boxes leave parts of lines to each other, from memory, and where
 * these are of a few bytes from caches too.
 *
 * All of dst is written, by blocks that begin in ascending order and reach no further than most of the buffer. Then the
 * movers write into it by plain stores, as into a stage. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/box.h"
#include "relayout/combine.h"

enum {
    MOST_BLOCKS = 2, /* times as many as before: with smaller ones it is slower, unless each line is in parts */
    BRIEF_RUN = 32,  /* bytes */
    LONGEST_RAGGED = 1 << 10,           /* bytes of a row, */
    LEAST_CROWDED = 3 * TG_STICK_BYTES, /* and of one that is carried instead, if its lines of src crowd each other */
    PART_OF_LINES = 3                   /* one of so many lines that is in parts is reason enough */
};

/* Are columns bytes, or elements, that follow each other? */
static bool is_run(const tg_box *box) {
    return box->family == TG_FAMILY_ROWS || box->route == TG_ROUTE_FILL || box->route == TG_ROUTE_CONVERT;
}

/* Bytes of what the block counts in dst. */
static int64_t unit_of(const tg_plan_private *p, const tg_box *box) {
    switch (box->route) {
    case TG_ROUTE_FILL: return 1;
    case TG_ROUTE_TWICE:
    case TG_ROUTE_PANEL: return p->as.nest.width[box->mover];
    case TG_ROUTE_CONVERT:
    case TG_ROUTE_GATHER:
    case TG_ROUTE_SCATTER: return p->dst_bits / 8;
    default: return box->width;
    }
}

/* Are columns of a tile a run? */
static bool has_run_of_cols(const tg_box *box) { return box->route == TG_ROUTE_TILE || box->route == TG_ROUTE_TURN; }

static bool is_ragged(int64_t bytes) { return bytes % TG_LINE_BYTES != 0; }

/* The loops of a block in dst, and the bytes of its runs. */
typedef struct steps {
    int32_t n;
    int64_t run; /* bytes */
    tg_loop loop[TG_TILE_LOOPS];
} steps;

static void add_step(steps *s, int64_t n, int64_t dst) {
    if (n > 1 && dst > 0) s->loop[s->n++] = (tg_loop){n, dst, 0, TG_NO_LOOP};
}

/* Loops that go on where runs end are a part of these. */
static void join_steps(steps *s) {
    for (int32_t i = 0; i < s->n;) {
        const tg_loop *l = &s->loop[i++];
        if (l->dst != s->run) continue;
        s->run *= l->n;
        s->loop[i - 1] = s->loop[--s->n];
        i = 0;
    }
}

/* Are there lines of dst of which the box writes a part, and others the rest? *run: bytes that follow each other; with
 * `padded` those of padding behind the columns of transposes as well, which complete a line, but which their movers do
 * not store together with these. */
static bool leaves_parts(const tg_nest *nest, const tg_plan_private *p, const tg_box *box, bool padded, int64_t *run) {
    const tg_block *b = &box->block;
    const tg_loop  *loop = &nest->loop[box->first];
    steps           s = {.run = unit_of(p, box)};
    bool            shares = is_ragged(box->dst);
    if (tg_has_tiles(box)) {
        for (int32_t i = 0; i < box->nrows; i++)
            add_step(&s, loop[box->nloops + box->ncols + i].n, loop[box->nloops + box->ncols + i].dst);
        if (has_run_of_cols(box)) s.run *= b->cols + b->tail;
    } else {
        add_step(&s, b->outer, b->dst_outer);
        add_step(&s, b->rows, b->dst_row);
        if (is_run(box) || (padded && b->dst_col == s.run)) s.run *= b->cols + b->tail;
        else add_step(&s, b->cols, b->dst_col);
    }
    join_steps(&s);
    *run = s.run;
    if (s.n == 0) return false; /* one run: its mover joins lines */
    for (int32_t i = 0; i < s.n; i++) shares |= is_ragged(s.loop[i].dst);
    for (int32_t i = 0; i < box->nloops; i++) shares |= is_ragged(loop[i].dst);
    return shares || is_ragged(s.run);
}

/* Of how many lines, about, the box leaves a part to others: one of each run that is shorter than a line, or that
 * begins at one; of others both ends are such. Blocks are counted as if all were whole. */
static int64_t count_parts(const tg_nest *nest, const tg_plan_private *p, const tg_box *box) {
    const tg_block *b = &box->block;
    int64_t         n = box->blocks, run; /* n: columns, or their like, of all blocks */
    if (!leaves_parts(nest, p, box, true, &run)) return 0;
    if (tg_goes_twice(box)) {
        const tg_loop *const out = &nest->loop[box->first] + box->nloops + box->ncols;
        for (int32_t i = 0; i < box->nrows; i++) n = tg_capped_mul(n, out[i].n);
    } else {
        n = tg_capped_mul(tg_capped_mul(n, b->outer), tg_capped_mul(b->rows, b->cols + b->tail));
    }
    const int64_t runs = tg_max(n / tg_max(run / unit_of(p, box), 1), 1);
    const int64_t parts = run < TG_LINE_BYTES || !is_ragged(box->dst) ? runs : tg_capped_mul(2, runs);
    return tg_min(parts, INT64_MAX / TG_PLAN_BOXES); /* all boxes' fit */
}

/* Do lines of src of a row crowd each other? */
static bool has_crowded_lines(const tg_block *b, int64_t width) {
    const bool goes_on = b->outer > 1 && b->dst_outer == b->cols * width;
    return tg_crowds_second(b->src_col, b->cols) || (goes_on && tg_crowds_second(b->src_outer, b->outer * b->cols));
}

/* Are these rows that a transpose would store part by part? Those of few columns it joins itself, and long ones; and
 * short lines that follow each other are read together, for which a buffer has no room. (A Zen 4, 64 MiB, x memcpy:
 * bytes to rows of 264 to 1000 0.33 -> 0.55, two bytes to rows of 520 to 1000 0.4 -> 0.55 to 0.75; longer rows, and
 * wider elements, 0.7 to 1.2 times as fast; out of lines of 24 bytes 0.31 and 0.15. Not known where stores wait for
 * their lines.) */
static bool has_ragged_rows(const tg_pair *pair, const tg_box *box) {
    const tg_block *b = &box->block;
    if (box->family != TG_FAMILY_TRANSPOSE || box->route != TG_ROUTE_MOVE || box->width > 2) return false;
    if ((pair->cpu & TG_CPU_CLAIMS) != 0 || b->rows == 1 || !is_ragged(b->dst_row)) return false;
    const int64_t line = b->rows * box->width;
    if (line < TG_LINE_BYTES && b->outer > 1 && b->src_outer == line) return false;
    if (b->dst_row <= TG_NARROW_COLUMNS * box->width || b->dst_row > LONGEST_RAGGED) return false;
    return b->dst_row < LEAST_CROWDED || !has_crowded_lines(b, box->width);
}

/* Does each step of a loop end before the next one begins? The longer ones are outside (box.inc.h), so that blocks
 * begin in ascending order. */
static bool are_nested(const tg_loop *loop, int32_t n) {
    int64_t inside = 0;
    for (int32_t i = n; i-- > 0; inside += (loop[i].n - 1) * loop[i].dst)
        if (loop[i].dst < inside) return false;
    return true;
}

/* Does dst have rows that begin inside of lines? Elements that share a line evenly, as pairs do, are no such rows. */
static bool has_parts(const tg_layout *dst) {
    bool parts = false;
    for (int32_t i = 0; i < dst->nmodes; i++) {
        const int64_t step = dst->mode[i].stride * (dst->elem_bits / 8);
        parts |= dst->mode[i].size > 1 && is_ragged(step) && (step <= 0 || TG_LINE_BYTES % step != 0);
    }
    return parts;
}

static bool is_covered(const tg_plan_private *p, const tg_pair *pair) {
    return pair->whole && pair->dense && (pair->pad || pair->numel == pair->dst->span) && !p->fill_first;
}

/* Does all of a block lie behind its first element? Loops of tiles may walk downwards. */
static bool goes_up(const tg_nest *nest, const tg_box *box) {
    const tg_block *b = &box->block;
    const tg_loop  *loop = &nest->loop[box->first], *out = loop + box->nloops + box->ncols;
    bool            up = tg_has_tiles(box) || (b->dst_outer >= 0 && b->dst_row >= 0 && b->dst_col >= 0);
    for (int32_t i = 0; i < box->nloops; i++) up &= loop[i].dst >= 0;
    for (int32_t i = 0; i < box->nrows; i++) up &= out[i].dst >= 0;
    return up;
}

static bool can_be_combined(const tg_plan_private *p) {
    const tg_nest *nest = &p->as.nest;
    if (nest->nboxes > TG_COMBINED_BOXES) return false;
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++) {
        const bool by_boxes = box->route == TG_ROUTE_CELLS || box->route == TG_ROUTE_BYTES; /* movers take them so */
        if (box->route == TG_ROUTE_TILE && p->dst_encoding.kind != TG_KIND_NONE) return false;
        if (by_boxes || box->loose || box->together != 0 || !goes_up(nest, box)) return false;
        if (tg_block_reach(p, box, &box->block) > TG_COMBINED_BLOCK) return false;
    }
    return true;
}

/* Of the box that has the most, without padding. */
static int64_t count_blocks(const tg_nest *nest) {
    int64_t most = 0;
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++)
        if (box->route != TG_ROUTE_FILL) most = tg_max(most, box->blocks);
    return most;
}

/* What the boxes of a nest are like, and leave to each other. */
typedef struct sharing {
    bool    parts;      /* some leave parts of lines whose movers do not join rows, or in runs of less than BRIEF_RUN */
    bool    ragged;     /* all are transposes to ragged rows */
    bool    brief;      /* transposes leave runs of less than a line */
    bool    waits;      /* stores wait for their lines: from memory, or of runs of less than BRIEF_RUN */
    bool    has_listed; /* tiles */
    int32_t boxes;      /* that leave parts, of padding too */
    int64_t lines, padded; /* that are in parts, about, counted once for each box of data, or of padding */
} sharing;

static void add_box(sharing *s, const tg_plan_private *p, const tg_pair *pair, const tg_box *box) {
    const tg_nest *nest = &p->as.nest;
    const bool     rows = box->family == TG_FAMILY_ROWS, joins = rows || box->route == TG_ROUTE_PANEL;
    const bool     take_turns = box->block.dst_row == box->block.cols * box->width; /* rows: runs are longer */
    int64_t        run;
    s->ragged &= has_ragged_rows(pair, box);
    s->has_listed |= box->route == TG_ROUTE_TURN;
    s->lines += count_parts(nest, p, box);
    if (!leaves_parts(nest, p, box, false, &run)) return;
    s->parts |= !joins || run < BRIEF_RUN;
    s->brief |= box->family == TG_FAMILY_TRANSPOSE && !take_turns && run < TG_LINE_BYTES;
    s->waits |= rows && box->block.cols * unit_of(p, box) < BRIEF_RUN;
    s->boxes++;
}

static void add_padding(sharing *s, const tg_plan_private *p, const tg_box *box) {
    int64_t run;
    s->padded += count_parts(&p->as.nest, p, box);
    s->boxes += leaves_parts(&p->as.nest, p, box, false, &run);
}

/* Where dst has no rows that begin inside of lines, boxes of ragged tiles of src may still share lines: three tiles of
 * 8 rows and a pair, in the second stick of 90 rows. That pays where stores wait, and transposes would write less than
 * a line at a time, or a third of all lines is in parts. (A Granite Rapids, 128 MiB on each side, x memcpy, 48 moves
 * between tiles of odd sizes, together 1.74 times as fast, f16[83,N] of T(8,128)(2,1) to sticks of its columns 0.18 ->
 * 0.83; one lost, 1.67 -> 1.01. At 8 MiB 0.39 to 2.29, so not there, unless runs of a few bytes are among them: 1 MiB
 * u8[30840,17]{0,1:T(8,128)(4,1)} to {1,0:T(8,128)} 0.04 -> 0.35; one of five 1.09 -> 0.69. 256 MiB, padding in a third
 * of the lines, 7 moves, 1.8 times, u8[7,N] of (4,1), turned, 0.31 -> 0.63.) */
static bool shares_lines(const sharing *s, bool dense) { return s->waits && (s->brief || dense) && s->boxes > 1; }

/* How many blocks are few enough. Listed tiles are good at what is whole, and so they stay unless a third of the lines
 * is in parts of data (256 MiB, 32 moves, together 1.5 times as fast, u8[84,N] of (4,1) to {0,1:T(8,128)} 0.11 -> 0.77,
 * none below 0.94; where fewer are, 0.7). If data of several boxes is in all lines, any number of blocks is (25 moves,
 * 1.4 times, f16[5,N] of (2,1) to sticks 0.20 -> 0.43, none below 0.96; of one box 0.13 to 1.02). */
int64_t tg_most_combined(const tg_plan_private *p, const tg_pair *pair) {
    const tg_nest *nest = &p->as.nest;
    sharing        s = {.ragged = true, .waits = p->memory};
    if (nest->slabs.nloops > 0 || !p->far || !tg_pays_to_collect(p, pair) || p->dst_bits < 8 || p->src_bits < 8)
        return 0;
    if (!is_covered(p, pair)) return 0;
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++) {
        if (box->route == TG_ROUTE_FILL) add_padding(&s, p, box);
        else add_box(&s, p, pair, box);
    }
    const int64_t lines = tg_max(pair->dst->span / (TG_LINE_BYTES * 8 / p->dst_bits), 1);
    const bool    dense = s.lines >= lines / PART_OF_LINES;
    if (s.has_listed && !(s.waits && dense)) return 0;
    const bool with_padding = !s.has_listed && s.lines + s.padded >= lines / PART_OF_LINES;
    if (!has_parts(pair->dst) && !shares_lines(&s, dense || with_padding)) return 0;
    if (s.ragged || (s.parts && s.boxes > 1 && p->memory && s.lines >= lines)) return INT64_MAX;
    return s.parts ? MOST_BLOCKS * count_blocks(nest) : 0;
}

int64_t tg_block_reach(const tg_plan_private *p, const tg_box *box, const tg_block *b) {
    const tg_loop *const out = &p->as.nest.loop[box->first] + box->nloops + box->ncols;
    const int64_t        unit = unit_of(p, box);
    int64_t              reach = unit;
    if (tg_goes_twice(box)) {
        for (int32_t i = 0; i < box->nrows; i++)
            reach += (tg_twice_steps(out, i, box->counted_out, b, &box->block) - 1) * out[i].dst;
        return reach;
    }
    if (has_run_of_cols(box)) {
        for (int32_t i = 0; i < box->nrows; i++) reach += (out[i].n - 1) * out[i].dst;
        return reach + (b->cols + b->tail - 1) * unit;
    }
    reach += (b->outer - 1) * b->dst_outer + (b->rows - 1) * b->dst_row + b->tail * unit;
    return reach + (b->cols - 1) * (is_run(box) ? unit : b->dst_col);
}

bool tg_nest_combine(tg_plan_private *p, int64_t most) {
    tg_nest *nest = &p->as.nest;
    if (!can_be_combined(p) || count_blocks(nest) > most) return false;
    for (const tg_box *box = nest->box; box < nest->box + nest->nboxes; box++)
        if (!are_nested(&nest->loop[box->first], box->nloops)) return false;
    for (int32_t i = 0; i < nest->nmovers; i++)
        nest->mover[i].stream = nest->mover[i].to_dst = nest->mover[i].claims = false;
    p->stream = p->claims = false;
    return true;
}
