/* A walk whose columns are neighbours on both sides: short runs, which are listed and then copied (kernels/pieces.h).
 *
 * To find out where a run begins and ends takes longer than to copy it, but runs are the same for all rows, as long as
 * no digit takes both together (walk.c sees to that). So a window is a list of pieces along its columns, by a list of
 * lines along its rows, and each of these is found out once. */
#include "relayout/walk.h"

#include "kernels/pieces.h"

/* Where the rows of a window are; returns how many, at most TG_WALK_LINES (walk.c). */
static int64_t list_lines(const tg_walk *p, const tg_window *w, tg_place *line) {
    tg_walker     d = {&p->dst, p->row, {0, 0, 0}}, s = {&p->src, p->row, {0, 0, 0}};
    const int64_t rows = w->rows_end - w->row;
    for (int64_t i = 0; i < rows;) {
        if (p->row != TG_NO_ROW) w->x[p->row] = w->row + i;
        tg_walker_look(&d, w->x);
        tg_walker_look(&s, w->x);
        const int64_t n = tg_min(rows - i, tg_min(d.now.length, s.now.length));
        for (int64_t k = 0; k < n; k++, i++) {
            line[i].dst = (d.now.offset + k * d.now.slope) * p->bytes;
            line[i].src = (s.now.offset + k * s.now.slope) * p->bytes;
        }
    }
    return rows;
}

/* As many pieces from column `col` on as there is room for; returns the column behind them. */
static int64_t list_pieces(const tg_walk *p, const tg_window *w, int64_t col, tg_pieces *out) {
    tg_walker d = {&p->dst, p->col, {0, 0, 0}}, s = {&p->src, p->col, {0, 0, 0}};
    out->count = 0;
    out->col = w->x[p->col] = col;
    tg_walker_look(&d, w->x);
    tg_walker_look(&s, w->x);
    while (w->x[p->col] < w->cols_end && out->count < TG_PIECES) {
        const bool    neighbours = d.now.slope == 1 && s.now.slope == 1;
        const int64_t left = w->cols_end - w->x[p->col];
        const int64_t n = neighbours ? tg_min(left, tg_min(d.now.length, s.now.length)) : 1;
        out->piece[out->count++] = (tg_piece){d.now.offset * p->bytes, s.now.offset * p->bytes, n * p->bytes};
        w->x[p->col] += n;
        if (n == left) break;
        tg_walker_advance(&d, n, w->x);
        tg_walker_advance(&s, n, w->x);
    }
    return out->cols_end = w->x[p->col];
}

void tg_walk_pieces(const tg_walk *p, uint8_t *dst, const uint8_t *src, const tg_window *w, tg_pieces *pieces) {
    tg_place      line[TG_WALK_LINES];
    const int64_t lines = list_lines(p, w, line);
    dst += w->dst_base * p->bytes;
    src += w->src_base * p->bytes;
    for (int64_t col = w->col; col < w->cols_end; col = pieces->cols_end) {
        if (!p->same_pieces || pieces->col != col || pieces->cols_end != w->cols_end)
            (void)list_pieces(p, w, col, pieces);
        for (int64_t i = 0; i < pieces->count; i++) {
            const tg_piece *e = &pieces->piece[i];
            tg_copy_piece(dst + e->dst, src + e->src, e->n, line, lines, p->kernel.stream);
        }
    }
}
