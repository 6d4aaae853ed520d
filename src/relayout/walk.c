/* The way for layouts that make no nest: both sides as functions of shared coordinates, and the rectangle that is moved
 * at a time.
 *
 * The rectangle decides the speed. Its columns should be the dimension with the longest runs, best
 * where both sides are contiguous; its rows should use up what the columns leave of a cache line or
 * continue the run that the columns write. For sticks of 64 read from sticks of 48:
 *
 *     dimension   dst slope   src slope   run     chosen as
 *     0 (R)          64          48        R      rows: 16 sticks are 2 KiB of contiguous stores
 *     1 (C)           1           1       48      columns: what both sticks share, 48, 16, 32, 32, 16, 48 elements
 */
#include "relayout/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "layout/layout.h"

enum {
    UNIT_BYTES = 256 << 10, /* of src in one unit: small enough to share out, large enough to hide its cost */
    UNIT_BYTES_MIN = 4 << 10,
    UNITS_WANTED = 16,      /* of a small tensor, so that tasks can be cut */
    LONG_RUN = 64,          /* elements; longer runs are not better */
    COPY_ROWS = 16,         /* streams that hardware prefetch follows well (docs/sources.md: measured) */
    PIECE_ROWS_MIN = 64,    /* of a block of pieces, where there are so many */
    PIECE_ROWS = 128,       /* and at most; of brief ones TG_WALK_LINES */
    BRIEF = 32,             /* bytes: of runs that are shorter, blocks have more rows, to hide the cost of a loop */
    LINES_BYTES = 128,      /* two cache lines, fetched together */
    TILE_ELEMENTS = 4096    /* of a transposing tile: both sides of it stay in the first-level cache */
};

/* ---- the rectangle ---- */

typedef struct candidate {
    tg_step dst, src;
    int64_t run;
} candidate;

static candidate look(const tg_walk *p, int32_t d) {
    candidate c = {tg_side_start(&p->dst, d), tg_side_start(&p->src, d), 0};
    c.run = tg_min(p->size[d], tg_min(c.dst.length, c.src.length));
    return c;
}

static bool is_contiguous(const candidate *c) { return c->dst.slope == 1 && c->src.slope == 1; }

static int64_t col_score(const candidate *c) {
    const int64_t worth = is_contiguous(c) ? 16 : c->dst.slope == 1 || c->src.slope == 1 ? 4 : 1;
    return worth * tg_min(c->run, LONG_RUN);
}

/* The longest runs; of two that are contiguous on one side each, the one that strides less on the
 * other: a tile of small strides stays in the first-level cache, one of a large power of two does not. */
static void choose_col(tg_walk *p) {
    int64_t best = -1, best_pitch = 0;
    p->col = 0;
    for (int32_t d = 0; d < p->ndim; d++) {
        if (p->size[d] == 1) continue;
        const candidate c = look(p, d);
        const int64_t   score = col_score(&c), pitch = tg_max(tg_magnitude(c.dst.slope), tg_magnitude(c.src.slope));
        if (score < best || (score == best && pitch >= best_pitch)) continue;
        best = score;
        best_pitch = pitch;
        p->col = d;
    }
}

/* Rows and columns that one group ties together do not make a rectangle. */
static bool independent(const tg_walk *p, int32_t d, int32_t e) {
    return p->dst.group[d] != p->dst.group[e] && p->src.group[d] != p->src.group[e];
}

static int64_t row_score(const candidate *row, const candidate *col) {
    const bool uses_lines =
        (col->src.slope != 1 && row->src.slope == 1) || (col->dst.slope != 1 && row->dst.slope == 1);
    const bool goes_on = row->dst.slope == col->run;
    return tg_min(row->run, COPY_ROWS) * (uses_lines ? 64 : goes_on ? 4 : 1);
}

static void choose_row(tg_walk *p, const candidate *col) {
    int64_t best = 1, best_slope = 0;
    p->row = TG_NO_ROW;
    for (int32_t d = 0; d < p->ndim; d++) {
        if (d == p->col || p->size[d] == 1 || !independent(p, d, p->col)) continue;
        const candidate c = look(p, d);
        const int64_t   score = row_score(&c, col), slope = tg_magnitude(c.dst.slope);
        if (score < best || (score == best && slope >= best_slope)) continue;
        best = score;
        best_slope = slope;
        p->row = d;
    }
}

/* The other dimensions by decreasing step in dst. */
static void choose_outer(tg_walk *p) {
    int64_t slope[TG_MOVE_DIMS];
    p->nouter = 0;
    for (int32_t d = 0; d < p->ndim; d++) {
        if (d == p->col || d == p->row || p->size[d] == 1) continue;
        const int64_t step = tg_magnitude(look(p, d).dst.slope);
        int32_t       i = p->nouter++;
        for (; i > 0 && slope[i - 1] < step; i--) {
            slope[i] = slope[i - 1];
            p->outer[i] = p->outer[i - 1];
        }
        slope[i] = step;
        p->outer[i] = d;
    }
}

/* ---- pieces ---- */

/* Is no logical dimension in the same group? Axes that folds make are. */
static bool is_alone(const tg_walk *p, const tg_side *s, int32_t d) {
    for (int32_t e = 0; e < p->ndim; e++)
        if (e != d && s->group[e] == s->group[d]) return false;
    return true;
}

static void choose_pieces(tg_walk *w, const tg_plan_private *plan, const candidate *col) {
    const bool same = plan->dst_encoding.kind == TG_KIND_NONE;
    w->by_pieces = same && plan->dst_bits >= 8 && is_contiguous(col);
    w->same_pieces = is_alone(w, &w->dst, w->col) && is_alone(w, &w->src, w->col);
    w->bytes = plan->dst_bits / 8;
}

/* ---- cutting ---- */

/* All columns, if they are not too many: the pieces of those that are not the same have to be listed again. */
static int64_t rows_of_pieces(const tg_walk *p, const candidate *col, int64_t unit_bytes) {
    const int64_t most = col->run * p->bytes < BRIEF ? TG_WALK_LINES : PIECE_ROWS;
    return tg_max(tg_min(unit_bytes / p->bytes / p->size[p->col], most), PIECE_ROWS_MIN);
}

static void cut(tg_walk *p, const tg_plan_private *plan, const candidate *col, int64_t total) {
    const int64_t bits = plan->src_bits, rows = p->row == TG_NO_ROW ? 1 : p->size[p->row];
    const int64_t line_elements = tg_max(LINES_BYTES * 8 / bits, 1);
    const int64_t wanted = is_contiguous(col) ? COPY_ROWS : tg_min(tg_max(line_elements, COPY_ROWS), 128);

    const int64_t total_bytes = total / 8 * bits + 1; /* about; fits, as storage does, but for copies */
    const int64_t unit_bytes = tg_max(tg_min(total_bytes / UNITS_WANTED, UNIT_BYTES), UNIT_BYTES_MIN);
    const int64_t most = p->by_pieces ? rows_of_pieces(p, col, unit_bytes) : wanted;
    p->row_block = tg_max(tg_min(most, rows), 1);
    p->row_blocks = tg_ceil_div(rows, p->row_block);
    p->tile_cols = is_contiguous(col) ? INT64_MAX : tg_max(TILE_ELEMENTS / p->row_block, LONG_RUN);

    const int64_t chunk_bytes = p->by_pieces && rows >= PIECE_ROWS_MIN ? UNIT_BYTES : unit_bytes;
    const int64_t chunk = tg_max(chunk_bytes * 8 / bits / p->row_block, 1), grain = tg_min(col->run, chunk);
    p->col_chunk = tg_max(tg_min(chunk / grain * grain, p->size[p->col]), 1);
    p->col_chunks = tg_ceil_div(p->size[p->col], p->col_chunk);
    p->units = p->row_blocks * p->col_chunks;
    for (int32_t i = 0; i < p->nouter; i++) p->units *= p->size[p->outer[i]];
}

static tg_status make_sides(tg_walk *w, const tg_pair *pair, int64_t *total, tg_error *err) {
    w->ndim = tg_move_dims(w->size, pair->dst);
    for (int32_t d = 0; d < w->ndim; d++) {
        const bool logical = d < pair->dst->ndim;
        w->begin[d] = logical ? pair->begin[d] : 0;
        if (logical) w->size[d] = pair->end[d] - pair->begin[d];
    }
    if (!tg_product(total, w->size, w->ndim) || *total > INT64_MAX / 1024)
        return tg_fail(err, TG_ERR_OVERFLOW, "plan: the elements of %v and their copies are too many", w->size,
                       (int)w->ndim);
    tg_side_make(&w->dst, pair->dst, w->ndim, true);
    tg_side_make(&w->src, pair->src, w->ndim, false);
    /* a box of a fused dimension would be no box */
    if (*total > 0 && pair->whole && !tg_sides_simplify(&w->dst, &w->src, w->size))
        return tg_fail(err, TG_ERR_OVERFLOW, "plan: fused dimensions do not fit 63 bits");
    tg_side_finish(&w->dst);
    tg_side_finish(&w->src);
    return TG_OK;
}

/* Bits that no conversion touches may be moved with any kernel of their width. */
static void choose_kernel(tg_walk *w, const tg_plan_private *plan) {
    if (plan->dst_encoding.kind == TG_KIND_NONE) (void)tg_kernel_copy(&w->kernel, plan->dst_bits);
    else (void)tg_kernel_convert(&w->kernel, plan->dst_encoding, plan->src_encoding);
    w->kernel.stream = plan->stream;
}

tg_status tg_walk_make(tg_plan_private *plan, const tg_pair *pair, tg_error *err) {
    tg_walk *const  w = &plan->as.walk;
    int64_t         total;
    const tg_status s = make_sides(w, pair, &total, err);
    if (s != TG_OK) return s;
    plan->serial = plan->dst_bits < 8;
    w->row = TG_NO_ROW;
    w->units = w->nouter = 0;
    if (total == 0) return TG_OK;
    choose_kernel(w, plan);
    choose_col(w);
    const candidate col = look(w, w->col);
    choose_row(w, &col);
    choose_pieces(w, plan, &col);
    choose_outer(w);
    cut(w, plan, &col, total);
    return TG_OK;
}
