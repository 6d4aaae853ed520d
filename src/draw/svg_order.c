/* The way of the device: arrows from cell to cell in the order of its memory.
 *
 * Words are in the way of straight arrows, so every cell keeps a lane at its right and a strip at its bottom free of
 * them, and an arrow goes along the strip of its cell, then along the lane of the next one. Those that go left or up
 * keep a little off those that go right or down:
 *
 *     | A #0   | | B #4   | |        strips: from the lane of a cell to that of another
 *     |        o |        ^ |        lanes: from the strip of a row to that of another
 *     |--------|-+--------| |
 */
#include "draw/svg.h"

enum { DOWN_AT = 7, UP_AT = 13, RIGHT_AT = 5, LEFT_AT = 10, HEAD = 3 }; /* from the right and bottom edges */

typedef struct stop {
    int64_t turn; /* when the device comes by: number of the stick or tile, or of the place */
    int32_t right, bottom;
} stop;

bool tg_svg_has_order(const tg_panel *panel) { return panel->view == TG_VIEW_LOGICAL && panel->shows_order; }

static int32_t find_stops(stop *stops, const tg_panel *panel, int32_t top) {
    int32_t n = 0;
    for (int32_t r = 0; r < panel->nrows; r++)
        for (int32_t c = 0; c < panel->ncols; c++) {
            const tg_cell *cell = &panel->cell[r][c];
            const tg_area  a = tg_svg_cell_area(panel, r, c, top);
            if (cell->kind != TG_CELL_DATA) continue;
            const stop here = {cell->unit >= 0 && panel->is_numbered ? cell->unit : cell->from, a.x + a.w, a.y + a.h};
            int32_t    j = n++;
            for (; j > 0 && stops[j - 1].turn > here.turn; j--) stops[j] = stops[j - 1];
            stops[j] = here;
        }
    return n;
}

static void put_path(const tg_svg *s, const stop *a, const stop *b) {
    const bool    up = b->bottom < a->bottom, left = b->right < a->right;
    const int32_t from = a->bottom - (left ? LEFT_AT : RIGHT_AT);
    const int32_t lane = b->right - (up ? UP_AT : DOWN_AT);
    if (a->bottom == b->bottom) {
        TG_PUT(s->w, "d=\"M% %H%\"", a->right - DOWN_AT, from, b->right - DOWN_AT + (left ? HEAD : -HEAD));
        return;
    }
    const int32_t to = b->bottom - RIGHT_AT + (up ? HEAD : -HEAD);
    if (a->right == b->right) TG_PUT(s->w, "d=\"M% %V%\"", lane, from, to);
    else TG_PUT(s->w, "d=\"M% %H%V%\"", a->right - DOWN_AT, from, lane, to);
}

static bool is_next(const stop *a, const stop *b) { return b->turn - a->turn <= 1; }

tg_ways tg_svg_ways(const tg_panel *panel) {
    stop          stops[TG_DRAW_ROWS * TG_DRAW_COLS];
    tg_ways       ways = {false, false};
    const int32_t n = tg_svg_has_order(panel) ? find_stops(stops, panel, 0) : 0;
    for (int32_t k = 1; k < n; k++) *(is_next(&stops[k - 1], &stops[k]) ? &ways.next : &ways.later) = true;
    return ways;
}

/* Dashed where the device goes elsewhere between, and on a light ground, for what is dark between cells. The first
 * stop is a dot. */
void tg_svg_order(const tg_svg *s, const tg_panel *panel, int32_t top) {
    stop          stops[TG_DRAW_ROWS * TG_DRAW_COLS];
    const int32_t n = find_stops(stops, panel, top);
    if (n < 1) return;
    for (int32_t k = 1; k < n; k++) {
        tg_put_text(s->w, "<path class=\"w\" ");
        put_path(s, &stops[k - 1], &stops[k]);
        tg_put_text(s->w, "/>\n");
    }
    TG_PUT(s->w, "<circle class=\"k\" cx=\"%\" cy=\"%\" r=\"3\"/>\n", stops[0].right - DOWN_AT,
           stops[0].bottom - RIGHT_AT);
    for (int32_t k = 1; k < n; k++) {
        tg_put_text(s->w, "<path ");
        put_path(s, &stops[k - 1], &stops[k]);
        tg_put_char(s->w, ' ');
        tg_put_text(s->w, is_next(&stops[k - 1], &stops[k]) ? TG_SVG_SOLID : TG_SVG_DASHED);
        tg_put_text(s->w, "marker-end=\"url(#tegula-arrow)\"/>\n");
    }
}
