/* Running boxes of route turn: blocks are tiles of a mover that gets lists of where their lines and rows begin. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/odometer.h"

/* Blocks of a box as the tiles of a mover. */
typedef struct turned {
    tg_tiles       tiles;
    const tg_box  *box;
    const tg_loop *loop;
    uint8_t       *dst;
    const uint8_t *src;
    int64_t        left; /* blocks */
    tg_odometer    o;
    tg_block       b;
    int64_t        line[TG_TURN_SIDE], row[TG_TURN_SIDE];
} turned;

/* ---- lists ---- */

/* Where n lines, or rows, of a tile begin: counted by loops, innermost first, of which the last may be cut short. */
static void list_offsets(int64_t *out, int64_t n, const tg_loop *loop, int32_t nloops, bool in_dst) {
    int64_t known = 1;
    out[0] = 0;
    for (int32_t i = 0; i < nloops; i++) {
        const int64_t step = in_dst ? loop[i].dst : loop[i].src, all = tg_min(known * loop[i].n, n);
        for (int64_t k = known; k < all; k++) out[k] = out[k - known] + step;
        known = all;
    }
}

/* Of a loop that is cut into chunks, the last one. */
static int64_t least_of(const tg_box *box, const tg_loop *loop, int32_t nloops, tg_block_loop which, int64_t most) {
    for (int32_t i = 0; i < nloops; i++)
        if (loop[i].chunks_of == (int32_t)which) return box->total[which] - (loop[i].n - 1) * most;
    return most;
}

/* How many rows of a tile are one run of dst, and how many bytes that run has together with those of the tiles of the
 * innermost loop. */
static void find_runs(tg_tiles *t, const tg_box *box, const tg_loop *loop, int32_t nloops, const tg_loop *rows) {
    int64_t n = 1, bytes = t->most_cols * box->width;
    for (int32_t i = 0; i < box->nrows && rows[i].dst == n * bytes; i++) n *= rows[i].n;
    const bool whole = t->most_rows % n == 0 && t->least_rows % n == 0;
    t->joined_rows = whole && t->least_cols == t->most_cols ? n : 1;
    bytes *= t->joined_rows;
    t->joined_bytes = bytes;
    if (nloops > 0 && loop[nloops - 1].dst == bytes) t->joined_bytes *= loop[nloops - 1].n;
}

/* Of lines that so many loops count: `counts` is or-ed of those of the innermost loop and of all lines of any tile. */
static int64_t run_of(int32_t nloops, int64_t counts) { return nloops == 1 ? TG_ONE_RUN : counts & -counts; }

/* Of blocks that the first `nloops` loops of the box count, from `first` in dst on; none: of one that is t->b. */
static void list_tiles(turned *t, const tg_box *box, const tg_loop *loop, int32_t nloops, const uint8_t *first) {
    const tg_loop *const cols = loop + box->nloops, *const rows = cols + box->ncols;
    tg_tiles *const      tiles = &t->tiles;
    int64_t              places = 0, lines = 0;
    list_offsets(t->line, t->b.cols, cols, box->ncols, false);
    list_offsets(t->row, t->b.rows, rows, box->nrows, true);
    tiles->most_rows = t->b.rows;
    tiles->most_cols = t->b.cols;
    tiles->least_rows = least_of(box, loop, nloops, TG_BLOCK_ROWS, t->b.rows);
    tiles->least_cols = least_of(box, loop, nloops, TG_BLOCK_COLS, t->b.cols);
    find_runs(tiles, box, loop, nloops, rows);
    for (int32_t i = 0; i < box->nrows; i++) places |= rows[i].dst;
    for (int32_t i = 0; i < nloops; i++) places |= loop[i].dst;
    for (int32_t i = 0; i < box->ncols; i++) lines |= cols[i].src;
    tiles->at_lines = tg_at_lines(first, places, (t->b.cols | tiles->least_cols) * box->width);
    tiles->line_step = lines & -lines;
    tiles->line_run = run_of(box->ncols, cols[0].n | t->b.cols | tiles->least_cols);
    tiles->line_by = cols[0].src;
    tiles->row_run = run_of(box->nrows, rows[0].n | t->b.rows | tiles->least_rows);
    tiles->row_by = rows[0].dst;
}

/* ---- blocks one after the other ---- */

static bool next_tile(tg_tiles *tiles, tg_listed *tile) {
    turned *const t = (turned *)(void *)tiles;
    if (t->left == 0) return false;
    tg_clip(&t->b, t->box, t->loop, &t->o);
    *tile = (tg_listed){t->dst + t->o.dst, t->src + t->o.src, t->b.rows, t->b.cols, t->row, t->line};
    (void)tg_odometer_next(&t->o, t->box, t->loop);
    t->left--;
    return true;
}

void tg_turn_box(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src, int64_t first,
                 int64_t end) {
    const tg_loop *const  loop = &p->as.nest.loop[box->first];
    const tg_mover *const mover = &p->as.nest.mover[box->mover];
    turned                t;
    t.tiles.next = next_tile;
    t.box = box;
    t.loop = loop;
    t.dst = dst;
    t.src = src;
    t.left = end - first;
    t.b = box->block;
    tg_odometer_set(&t.o, box, loop, first);
    list_tiles(&t, box, loop, box->nloops, dst + box->dst);
    mover->tiles(mover, &t.tiles);
}

/* ---- one block ---- */

static bool only_tile(tg_tiles *tiles, tg_listed *tile) {
    turned *const t = (turned *)(void *)tiles;
    if (t->left == 0) return false;
    *tile = (tg_listed){t->dst, t->src, t->b.rows, t->b.cols, t->row, t->line};
    t->left = 0;
    return true;
}

/* The only one: a list for each of them. */
void tg_turn_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src, const tg_block *b) {
    const tg_mover *const mover = &p->as.nest.mover[box->mover];
    turned                t;
    t.tiles.next = only_tile;
    t.dst = dst;
    t.src = src;
    t.left = 1;
    t.b = *b;
    list_tiles(&t, box, &p->as.nest.loop[box->first], 0, dst);
    mover->tiles(mover, &t.tiles);
}
