/* Cells: the innermost loops of both sides, where they are the same ones (kernels/cells.h).
 *
 * Loops go on from neighbours in dst, and in src; where, at some length, those of both sides are the same, in whatever
 * order, all that lies between is one run of memory on both sides whose elements change places:
 *
 *     u8[8,4,8,700,700]{0,1,2,3,4} to {2,1,0,4,3}
 *     (n, dst, src) in dst       (8, 1, 32) (4, 8, 8) (8, 32, 1) | (700, 256, 179200) ...
 *     in src                     (8, 32, 1) (4, 8, 8) (8, 1, 32) | (700, 179200, 256) ...
 *     cells of 256 bytes
 *
 * Where they are not the same, those of one side may be a run of a few lines of the other one, and what these have of
 * it a run of theirs; or a few lines of both sides go on along the same loop, behind loops that are not the same ones.
 * One loop is enough for elements that no transpose takes: u8[5,N,3] to {2,0,1} is cells of 15 bytes out of 5 lines.
 *
 * A block is cells that follow each other on both sides, and two more loops of them. The loops of a cell come behind
 * the loops of the box, as those of a tile's columns do. */
#include "base/checked.h"
#include "kernels/cells.h"
#include "relayout/box.h"
#include "relayout/cell.h"

enum {
    LEAST_MOVE = 4096, /* bytes: less is not worth a list */
    GROUP_READ = 256,  /* bytes of cells that follow each other in src and are moved at once */
    MANY_LINES = 1000,
    MOST_LINES = 8     /* of a cell that is one run on the other side (lines_pay) */
};

typedef struct cell {
    int64_t unit, bytes; /* of neighbours on both sides; of all */
    int64_t dst, src;    /* in each line of dst, and of src: all, or less than that, where there are several */
    int32_t n, index[TG_TILE_LOOPS]; /* in the draft */
    tg_loop loop[TG_TILE_LOOPS];     /* as they were found, on one side or the other; take_cell sorts them */
} cell;

static void add_loop(cell *c, const tg_draft *d, int32_t n, int32_t index) {
    c->index[n] = index;
    c->loop[n] = d->loop[index];
}

/* How it lies on both sides. */
static void measure(cell *c) {
    const tg_cell_shape s = tg_cell_shape_of(c->loop, c->n, c->unit);
    c->bytes = s.bytes;
    c->dst = s.dst;
    c->src = s.src;
}

/* ---- which loops ---- */

/* The longest one without a gap on both sides, of so many bytes at most; it has no loops if there is none. */
static void find_cell(const tg_draft *d, cell *c, int64_t most) {
    uint64_t in_dst = 0, in_src = 0;
    int64_t  dst = c->unit, src = c->unit;
    c->n = 0;
    for (int32_t n = 0; n < TG_TILE_LOOPS;) {
        const int32_t i = tg_draft_find_dst(d, dst), k = tg_draft_find_src(d, src);
        if (i == TG_NO_LOOP || k == TG_NO_LOOP || d->loop[i].n > most / dst || d->loop[k].n > most / src) break;
        if (i == k && in_dst == in_src) break; /* cells follow each other on both sides */
        add_loop(c, d, n++, i);
        in_dst |= (uint64_t)1 << i;
        in_src |= (uint64_t)1 << k;
        dst *= d->loop[i].n;
        src *= d->loop[k].n;
        if (in_dst != in_src) continue;
        c->n = n;
        c->bytes = c->dst = c->src = dst;
    }
}

/* Long cells have shuffles for each vector of src and each of dst. Two loops are faster as squares if either side's
 * runs are lines of the cache. (A Zen 4, x memcpy, 256 MiB, before and as cells: 512 bytes, [8,8,8] of one 0.15
 * and 1.09, [16,16] of two 0.42 and 1.10, [16,8] of four 1.22 and 1.08, [8,32] of two 1.51 and 1.25, [4,4,4] of eight
 * 0.47 and 1.11, in a cache 0.43 and 0.36; 324, [9,9] of four 0.13 and 0.52, but in a cache 288, [8,9], 0.55 and 0.38;
 * 1024, [16,4,16] of one 0.30 and 0.49, [32,32] of one 0.36 and 0.50, [16,32] of two 1.44 and 0.51, [9,63] of one 1.15
 * and 0.51, [4,8,8] of four 0.65 and 0.48; in a cache none. Without AVX-512, in a cache, [8,8] of four 0.69 and 0.19,
 * [8,9] of two 0.06 and 0.11.) */
static bool pays(const tg_draft *d, const cell *c) {
    enum { SHORT = 256, MEDIUM = 512, SHORT_SIDE = 32, SHORT_VECTOR = 32 };
    const bool    memory = tg_turns_around(d->plan) && d->plan->memory;
    const bool    squares = c->n == 2;
    const int64_t a = c->loop[0].n * c->unit, b = c->loop[1].n * c->unit, run = tg_max(a, b);
    if (squares && (d->pair->cpu & TG_CPU_AVX512) == 0) return tg_min(a, b) < SHORT_VECTOR && c->bytes <= SHORT;
    if (c->bytes <= SHORT) return true;
    if (c->bytes <= MEDIUM) return !squares || (run < TG_LINE_BYTES && (memory || c->unit == 1));
    return memory && (squares ? c->unit == 1 && run <= SHORT_SIDE : c->unit <= 2);
}

static int32_t find_on(const tg_draft *d, int64_t step, bool in_dst) {
    return in_dst ? tg_draft_find_dst(d, step) : tg_draft_find_src(d, step);
}

/* How many cells follow each other, each next to the one before in every line; 1 if none do. */
static int64_t cells_that_go_on(const tg_draft *d, const cell *c, bool to_lines) {
    const int32_t on = find_on(d, c->bytes, !to_lines);
    const bool    goes_on = on != TG_NO_LOOP && tg_cell_step(&d->loop[on], to_lines) == (to_lines ? c->dst : c->src);
    return goes_on ? d->loop[on].n : 1;
}

/* Are elements out of a few lines that go on, or to such, worth it where no transpose takes them? In caches copies of
 * more bytes are faster. (A Granite Rapids, 512 KiB, x memcpy, copies and cells: 2 lines of 3 bytes 0.15 and 0.61, 4 of
 * 7 0.42 and 0.57, but 3 of 24 0.70 and 0.56, 8 of 9 0.50 and 0.23; from 8 MiB on 0.01 to 0.08 and 0.9 where rows of
 * dst are less than 20 bytes, and others are as fast; 7 KiB, as copies 0.13 and 0.11; to lines
 * of 8 bytes, as transposes 0.39 and 0.14.) */
static bool one_loop_pays(const tg_draft *d, const cell *c, bool to_lines) {
    enum { LEAST_WALK = 32 }; /* bytes of a line, of all that go on */
    const int64_t line = to_lines ? c->dst : c->src;
    if ((d->pair->cpu & TG_CPU_AVX512) == 0 || tg_is_element(c->unit)) return false;
    if (d->plan->bytes < 4 * LEAST_MOVE || cells_that_go_on(d, c, to_lines) * line < LEAST_WALK) return false;
    return d->plan->far || c->bytes <= TG_SHORT_CELL_OF_LINES;
}

/* Are cells out of lines, or to lines, better than two transposes? With AVX-512, where lines go on in the next cell.
 * Else those of three loops, if they are long, or lines are; and, out of lines, of two loops if lines are long. (A Zen
 * 4, x memcpy, before and as cells out of n lines of so many bytes of each: going on, 256 MiB, 4 of 24 0.07 and 1.2, 6
 * of 4 0.59 and 0.83, 512 KiB, 4 of 24 0.25 and 0.63; of three loops, 256 MiB, 8 of 24 0.11 and 0.60, 512 KiB, 4 of 15
 * 0.03 and 0.22, but 256 MiB, 8 of 5 0.27 and 0.11, 6 of 4 out of tiles of (4,1) 0.35 and 0.13; of two, 256 MiB, 2 of
 * 40 0.27 and 0.52, but 6 of 12 0.35 and 0.29, 512 KiB, 3 of 24 0.23 and 0.29, but 6 of 16 0.39 and 0.17. Out of 10 to
 * 16 lines 256 MiB 0.4 and 0.3, two loops to 2 lines of 64 0.61 and 0.50. In plain C panels are faster: 0.076 and
 * 0.029.) */
static bool lines_pay(const tg_draft *d, const cell *c, bool to_lines) {
    enum { LEAST_LINE = 24, SHORT_LINE = 16, LEAST_CELL = 60, LEAST_ON = 3 }; /* bytes */
    const int64_t line = to_lines ? c->dst : c->src;
    if ((d->pair->cpu & TG_CPU_AVX512) == 0) return false;
    if (cells_that_go_on(d, c, to_lines) > 1) return line >= LEAST_ON;
    if (c->n > 2) return c->bytes >= LEAST_CELL || line >= SHORT_LINE;
    return !to_lines && line >= LEAST_LINE;
}

/* The longest one that comes from a few lines of src, or goes to a few lines of dst; false if there is none. */
static bool find_lined(const tg_draft *d, cell *c, bool to_lines, bool any) {
    int64_t bytes[TG_TILE_LOOPS + 1] = {c->unit};
    int32_t n = 0;
    for (; n < TG_TILE_LOOPS; n++) {
        const int32_t i = find_on(d, bytes[n], !to_lines);
        if (i == TG_NO_LOOP || d->loop[i].n > TG_LINED_CELL / bytes[n]) break;
        add_loop(c, d, n, i);
        bytes[n + 1] = bytes[n] * d->loop[i].n;
    }
    for (c->n = n; c->n >= 1; c->n--) {
        measure(c);
        const int64_t line = to_lines ? c->dst : c->src, lines = c->bytes / line;
        const bool    worth = c->n == 1 ? one_loop_pays(d, c, to_lines) : any || lines_pay(d, c, to_lines);
        if (lines > 1 && lines <= MOST_LINES && line <= TG_CELL_LINE && worth) return true;
    }
    return false;
}

/* The loops that go on on one side, up to a line of a cell. */
static int64_t add_line(const tg_draft *d, cell *c, bool in_dst) {
    int64_t line = c->unit;
    while (c->n < TG_TILE_LOOPS) {
        const int32_t i = find_on(d, line, in_dst);
        if (i == TG_NO_LOOP || d->loop[i].n > TG_CELL_LINE / line) break;
        bool known = false;
        for (int32_t k = 0; k < c->n; k++) known |= c->index[k] == i;
        if (!known) add_loop(c, d, c->n++, i);
        line *= d->loop[i].n;
    }
    return line;
}

/* Is a cell worth it that comes out of lines and goes to lines, of which so many go together, side by side? Each vector
 * of dst takes as many shuffles as there are lines of src, so it is if a shuffle brings enough bytes. (A Zen 4, x
 * memcpy, before and so, means of 60 at 512 KiB, where bytes are 4: 0.19 and 0.17, 6: 0.13 and 0.23, 8: 0.27 and 0.35,
 * 10: 0.19 and 0.40; of 40 at 8 MiB 4: 0.18 and 0.22, all 0.15 and 0.26; of 30 at 256 MiB 4: 0.34 and 0.50, all 0.31
 * and 0.53. Less than 16 bytes together 0.36 and 0.17; of two loops, 256 MiB, 4 bytes 0.49 and 0.27, of four bytes each
 * 0.7 either way. Images of 3 channels to tiles of (4,1), a Granite Rapids, 512 KiB 0.34 and 0.43, back 0.38 and 0.47,
 * 8 MiB 0.70 and 0.77, 256 MiB 0.73 and 0.79, but back 0.80 and 0.62; of two bytes to (2,1) 0.84 and 0.62.) */
static bool crossing_pays(const tg_draft *d, const cell *c, int64_t together) {
    enum {
        LEAST_LINE = 16,                          /* bytes, of all that go together */
        LEAST_OF_SHUFFLE = 6, LEAST_FROM_FAR = 4, /* bytes */
        WIDE_UNIT = 4,                            /* bytes: transposes do these as well */
        FEW_LINES = 3, FEW_FROM_MEMORY = 4        /* two transposes do as well */
    };
    const int64_t few = d->plan->memory ? FEW_FROM_MEMORY : FEW_LINES;
    const int64_t bytes = together * c->dst * c->src / c->bytes; /* of dst by one shuffle */
    if (together * tg_min(c->dst, c->src) < LEAST_LINE) return false;
    if (c->n > 2) return bytes >= (d->plan->far ? LEAST_FROM_FAR : LEAST_OF_SHUFFLE);
    return bytes >= LEAST_OF_SHUFFLE && c->unit < WIDE_UNIT && c->bytes > few * tg_min(c->dst, c->src);
}

/* Two loops that are squares of transposes. (A Zen 4, 256 MiB, x memcpy, before and as cells, 16 x 16 of one byte 0.35
 * and 0.22, 8 x 4 of four 0.69 and 0.36.) */
static bool is_square(const cell *c) {
    enum { SQUARE = 16, SQUARE_OF_BYTES = 8 };
    return c->n == 2 && (c->dst | c->src) % (c->unit == 1 ? SQUARE_OF_BYTES : SQUARE) == 0;
}

/* One out of lines, to lines, that go on in the next cell; false if there is none. */
static bool find_crossed(const tg_draft *d, cell *c, bool any) {
    c->n = 0;
    if ((d->pair->cpu & TG_CPU_AVX512) == 0) return false;
    const int64_t dst = add_line(d, c, true), src = add_line(d, c, false);
    const int32_t on = tg_draft_find_dst(d, dst);
    if (on == TG_NO_LOOP || d->loop[on].src != src) return false;
    measure(c);
    const int64_t to = c->bytes / dst, from = c->bytes / src; /* lines */
    const int64_t together = tg_min(d->loop[on].n, tg_min(TG_CELL_LINE / dst, TG_CELL_LINE / src));
    if (c->dst != dst || c->src != src || to < 2 || from < 2 || is_square(c)) return false;
    return to <= TG_CELL_VECTORS && from <= TG_CELL_VECTORS && (any || crossing_pays(d, c, together));
}

/* ---- the block ---- */

/* Do the cells that go on in dst, each out of so many lines of src, leave the second-level cache before the next ones
 * of their lines are read? Many do, and so do some whose lines crowd it twice over. */
static bool leave_cache(const tg_loop *on_dst, int64_t lines) {
    return on_dst->n * lines >= MANY_LINES || tg_crowds_second(on_dst->src, on_dst->n * lines / 2);
}

/* Up to so many steps of loop `index` go into the block; returns how many. */
static int64_t take_loop(tg_draft *d, tg_block_loop which, int32_t index, int64_t most) {
    tg_block *const b = &d->box->block;
    if (index == TG_NO_LOOP) return 1;
    const tg_loop l = d->loop[index];
    const int64_t bytes = b->cols * b->dst_col; /* of dst, that follow each other */
    const bool    shares = which != TG_BLOCK_COLS && ((l.dst | bytes) & (TG_LINE_BYTES - 1)) != 0 && l.dst > bytes;
    if (shares) most = tg_min(most, tg_steps_within_reach(d, l.dst, l.src));
    const int64_t n = tg_min(l.n, tg_max(most, 1));
    if (which == TG_BLOCK_ROWS) {
        b->rows = n;
        b->dst_row = l.dst;
        b->src_row = l.src;
    } else if (which == TG_BLOCK_OUTER) {
        b->outer = n;
        b->dst_outer = l.dst;
        b->src_outer = l.src;
    } else {
        b->cols = n;
    }
    tg_draft_take_chunks(d, index, n, which);
    return n;
}

/* The walk along cells of so many bytes in dst, and in each of so many lines of src. Those that are whole lines of the
 * cache in dst leave one by one, and src is read from end to end (a Zen 4, 256 MiB, x memcpy: [1024,1024] of 64 bytes
 * 0.34 -> 1.0, of 128 0.6 -> 1.2, [1000,1000] of 256 0.85 -> 1.15). Of others some that follow each other in src go at
 * once, if those that go on in dst would leave the cache ([2048,2048] of 16 bytes 0.10 -> 0.33, of 32 0.18 -> 0.60,
 * [1024,1024] of 96 0.37 -> 0.55, [2000,3000] of 36 0.41 -> 0.62; but 768 of 12 0.41 and 0.31). */
static void take_walk(tg_draft *d, int64_t dst, int64_t src, int64_t lines) {
    int64_t       room = tg_max(tg_room_of_block(d) / (src * lines), 1);
    const int32_t    both = tg_draft_find_dst(d, dst);
    if (both != TG_NO_LOOP && d->loop[both].src == src) {
        const int64_t n = d->loop[both].n;
        room /= take_loop(d, TG_BLOCK_COLS, both, room);
        dst *= n;
        src *= n;
    }
    const int32_t on_src = tg_draft_find_src(d, src), on_dst = tg_draft_find_dst(d, dst);
    const bool    around = tg_turns_around(d->plan);
    const bool parts = around && dst <= GROUP_READ / 2 && on_dst != TG_NO_LOOP && leave_cache(&d->loop[on_dst], lines);
    if (around && on_src != TG_NO_LOOP && tg_leaves_whole(d, dst)) {
        room /= take_loop(d, TG_BLOCK_ROWS, on_src, room);
        (void)take_loop(d, TG_BLOCK_OUTER, on_dst, room);
    } else if (parts && on_src != TG_NO_LOOP) {
        room /= take_loop(d, TG_BLOCK_ROWS, on_src, GROUP_READ / src);
        (void)take_loop(d, TG_BLOCK_OUTER, on_dst, room);
    } else {
        room /= take_loop(d, TG_BLOCK_ROWS, on_dst, room);
        (void)take_loop(d, TG_BLOCK_OUTER, on_src, room);
    }
}

static bool can_have_cells(const tg_draft *d) {
    const bool whole = d->dst_width > 0 && d->src_width > 0 && !d->converts && !d->loose && !d->plan->combines;
    return whole && d->plan->bytes >= 2 * LEAST_MOVE && d->tail == 0 && d->wide_tail == 0 && d->last == 0;
}

static void swap_loops(cell *c, int32_t i, int32_t k) {
    const tg_loop l = c->loop[i];
    const int32_t index = c->index[i];
    c->loop[i] = c->loop[k];
    c->index[i] = c->index[k];
    c->loop[k] = l;
    c->index[k] = index;
}

/* Those inside of lines of dst come first, as they go on there (kernels/cells.h). */
static void sort_loops(cell *c) {
    int64_t line = c->unit;
    for (int32_t i = 0; i < c->n; i++) {
        int32_t k = i;
        while (k < c->n && c->loop[k].dst != line) k++;
        if (k == c->n) break;
        swap_loops(c, i, k);
        line *= c->loop[i].n;
    }
}

static void take_cell(tg_draft *d, cell *c, tg_cell_size *out) {
    sort_loops(c);
    for (int32_t i = 0; i < c->n; i++) {
        d->cols[i] = c->loop[i];
        tg_draft_take(d, c->index[i]);
    }
    d->ncols = c->n;
    d->box->route = TG_ROUTE_CELLS;
    d->box->width = (int32_t)c->unit;
    *out = (tg_cell_size){c->dst, c->src, c->bytes / c->src};
}

bool tg_draft_take_cell(tg_draft *d, tg_cell_size *out) {
    cell c = {.unit = tg_max(d->run, 1) * d->dst_width};
    if (!can_have_cells(d)) return false;
    find_cell(d, &c, TG_CELL_BYTES);
    if (c.n < 2 || !pays(d, &c)) return false;
    take_cell(d, &c, out);
    return true;
}

bool tg_draft_take_lined_cell(tg_draft *d, uint64_t left, bool any, tg_cell_size *out) {
    const uint64_t taken = d->left;
    cell           c = {.unit = tg_max(d->run, 1) * d->dst_width};
    if (!can_have_cells(d)) return false;
    d->left = left;
    if (!find_crossed(d, &c, any) && !find_lined(d, &c, false, any) && !find_lined(d, &c, true, any)) {
        d->left = taken;
        return false;
    }
    take_cell(d, &c, out);
    return true;
}

void tg_draft_cell_block(tg_draft *d, const tg_cell_size *c) {
    d->box->block = (tg_block){.outer = 1, .rows = 1, .cols = 1, .dst_col = c->dst, .src_col = c->src};
    d->box->family = TG_FAMILY_CELLS;
    take_walk(d, c->dst, c->src, c->lines);
}
