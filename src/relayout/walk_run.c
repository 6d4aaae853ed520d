/* Running a walk: units to rectangles to kernel calls.
 *
 * A unit walks its block of rows and its chunk of columns by the linear steps of both sides; where
 * neither side's digits carry, that is one kernel call. The offsets of a side advance by its slope and
 * are evaluated again only where the side itself carries. */
#include "relayout/walk.h"

#include <string.h>

typedef struct job {
    const tg_walk *walk;
    uint8_t       *dst;
    const uint8_t *src;
    int64_t        bad; /* src offset of an integer that did not fit, or -1 */
} job;

/* ---- one unit ---- */

static bool move_rect(job *j, const tg_rect *r) {
    const tg_kernel *k = &j->walk->kernel;
    const int64_t    bad = k->move(k, j->dst, j->src, r);
    if (bad < 0) return true;
    j->bad = r->src.first + bad / r->cols * r->src.row + bad % r->cols * r->src.col;
    return false;
}

/* All columns of some rows along which both sides are linear. */
static bool move_rows(job *j, tg_rect *r, int64_t dst_first, int64_t src_first, const tg_window *w) {
    const tg_walk *p = j->walk;
    int64_t *const x = w->x;
    tg_walker      d = {&p->dst, p->col, {0, 0, 0}}, s = {&p->src, p->col, {0, 0, 0}};
    x[p->col] = w->col;
    tg_walker_look(&d, x);
    tg_walker_look(&s, x);
    for (;;) {
        const int64_t left = w->cols_end - x[p->col];
        r->cols = tg_min(tg_min(left, p->tile_cols), tg_min(d.now.length, s.now.length));
        r->dst.first = dst_first + d.now.offset;
        r->src.first = src_first + s.now.offset;
        r->dst.col = d.now.slope;
        r->src.col = s.now.slope;
        if (!move_rect(j, r)) return false;
        if (r->cols == left) return true;
        x[p->col] += r->cols;
        tg_walker_advance(&d, r->cols, x);
        tg_walker_advance(&s, r->cols, x);
    }
}

static bool move_window(job *j, const tg_window *w) {
    const tg_walk *p = j->walk;
    tg_walker      d = {&p->dst, p->row, {0, 0, 0}}, s = {&p->src, p->row, {0, 0, 0}};
    for (int64_t row = w->row; row < w->rows_end;) {
        if (p->row != TG_NO_ROW) w->x[p->row] = row;
        tg_walker_look(&d, w->x);
        tg_walker_look(&s, w->x);
        tg_rect r = {tg_min(w->rows_end - row, tg_min(d.now.length, s.now.length)), 0,
                     {0, d.now.slope, 0}, {0, s.now.slope, 0}};
        if (!move_rows(j, &r, w->dst_base + d.now.offset, w->src_base + s.now.offset, w)) return false;
        row += r.rows;
    }
    return true;
}

/* The coordinate of a unit's outer loops; returns which of their blocks of rows it is. */
static int64_t place_unit(int64_t *x, const tg_walk *w, int64_t unit) {
    int64_t       rest = unit / w->col_chunks;
    const int64_t block = rest % w->row_blocks;
    rest /= w->row_blocks;
    memcpy(x, w->begin, (size_t)w->ndim * sizeof x[0]);
    for (int32_t i = w->nouter; i-- > 0; rest /= w->size[w->outer[i]]) x[w->outer[i]] += rest % w->size[w->outer[i]];
    return block;
}

/* Units [first, first + n), which only continue the columns of one block of rows. */
static tg_window window_of(const tg_walk *p, int64_t first, int64_t n, int64_t *x) {
    const bool    has_rows = p->row != TG_NO_ROW;
    const int64_t block = place_unit(x, p, first), chunk = first % p->col_chunks;
    const int64_t rows = has_rows ? p->size[p->row] : 1, row = has_rows ? p->begin[p->row] : 0;
    const int64_t col = p->begin[p->col];
    const int32_t fixed = has_rows ? p->row : p->col;
    return (tg_window){x, row + block * p->row_block, row + tg_min((block + 1) * p->row_block, rows),
                       col + chunk * p->col_chunk, col + tg_min((chunk + n) * p->col_chunk, p->size[p->col]),
                       tg_side_base(&p->dst, p->col, fixed, x), tg_side_base(&p->src, p->col, fixed, x)};
}

bool tg_walk_run(const tg_plan_private *plan, uint8_t *dst, const uint8_t *src, int64_t first, int64_t end,
                 int64_t *bad) {
    const tg_walk *p = &plan->as.walk;
    job            j = {p, dst, src, -1};
    tg_pieces      pieces;
    pieces.col = pieces.cols_end = 0;
    while (first < end) {
        int64_t         x[TG_MOVE_DIMS];
        const int64_t   n = p->by_pieces ? 1 : tg_min(end - first, p->col_chunks - first % p->col_chunks);
        const tg_window w = window_of(p, first, n, x);
        if (p->by_pieces) tg_walk_pieces(p, dst, src, &w, &pieces);
        else if (!move_window(&j, &w)) {
            *bad = j.bad;
            return false;
        }
        first += n;
    }
    return true;
}
