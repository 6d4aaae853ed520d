/* A picture as lines of text.
 *
 *     d1 \ d2  128..149            150..191
 *              +-------------------+------------------+
 *           98 | C 94976..94997    |// 94998..95039 //|
 *           99 |*C 95936..95957    |// 95958..95999 //|
 *              +-------------------+------------------+
 *
 * Letters and hatching say what colours say, so nothing is lost without them. */
#include "draw/pen.h"
#include "draw/scene.h"

#include <string.h>

typedef struct lines {
    tg_pen            pen;
    const tg_picture *picture;
} lines;

/* ---- cells ---------------------------------------------------------------------------------- */

static void put_data(const lines *l, const tg_cell *cell, int32_t width) {
    const int32_t used = tg_cell_width(cell);
    tg_put_char(l->pen.w, cell->marked ? '*' : ' ');
    tg_put_char(l->pen.w, cell->colour >= 0 ? (char)('A' + cell->colour) : ' ');
    tg_put_char(l->pen.w, ' ');
    tg_put_text(l->pen.w, cell->label);
    if (cell->padding > 0) {
        tg_put_char(l->pen.w, ' ');
        tg_put_text(l->pen.w, l->pen.set->hatch);
        tg_put_int(l->pen.w, cell->padding);
    }
    tg_pen_times(&l->pen, " ", width - used + 1);
}

static void put_padding(const lines *l, const tg_cell *cell, int32_t width) {
    const int32_t label = (int32_t)strlen(cell->label);
    if (label == 0) {
        tg_pen_times(&l->pen, l->pen.set->hatch, width);
        return;
    }
    tg_pen_times(&l->pen, l->pen.set->hatch, 2);
    tg_put_char(l->pen.w, ' ');
    tg_put_text(l->pen.w, cell->label);
    tg_put_char(l->pen.w, ' ');
    tg_pen_times(&l->pen, l->pen.set->hatch, width - label - 4);
}

static void put_one(const lines *l, const char *text, int32_t width) {
    tg_put_text(l->pen.w, text);
    tg_pen_times(&l->pen, " ", width - tg_text_width(text));
}

static void put_cell(const lines *l, const tg_panel *panel, int32_t r, int32_t c) {
    const tg_cell *cell = &panel->cell[r][c];
    const int32_t  width = tg_col_width(panel, c);
    const bool     coloured = l->pen.colour && cell->kind == TG_CELL_DATA && cell->colour >= 0;
    const bool     dim = l->pen.colour && cell->kind == TG_CELL_PADDING;
    if (coloured) {
        tg_put_text(l->pen.w, cell->marked ? "\033[1;4;30;48;5;" : "\033[30;48;5;");
        tg_put_text(l->pen.w, tg_pen_background[cell->colour]);
        tg_put_char(l->pen.w, 'm');
    }
    if (dim) tg_put_text(l->pen.w, "\033[2m");
    switch (cell->kind) {
    case TG_CELL_DATA: put_data(l, cell, width); break;
    case TG_CELL_PADDING: put_padding(l, cell, width); break;
    case TG_CELL_GAP: put_one(l, panel->row[r].hidden > 0 ? l->pen.set->row_gap : l->pen.set->col_gap, width); break;
    case TG_CELL_UNKNOWN: put_one(l, "?", width); break;
    case TG_CELL_NONE: tg_pen_times(&l->pen, " ", width); break;
    }
    if (coloured || dim) tg_put_text(l->pen.w, "\033[0m");
}

/* ---- panels ------------------------------------------------------------------------------------ */

static void put_margin(const lines *l, const tg_panel *panel, const char *label) {
    tg_pen_times(&l->pen, " ", 2 + tg_row_label_width(panel) - tg_text_width(label));
    tg_put_text(l->pen.w, label);
    tg_put_char(l->pen.w, ' ');
}

/* Columns first .. end - 1 of a panel, which are drawn side by side. */
typedef struct block {
    int32_t first, end;
} block;

/* As many columns as fit, at least one. */
static block next_block(const lines *l, const tg_panel *panel, int32_t first) {
    block   b = {first, first};
    int32_t width = 2 + tg_row_label_width(panel) + 2;
    while (b.end < panel->ncols) {
        width += tg_col_width(panel, b.end) + 1;
        if (b.end > first && width > l->picture->width) break;
        b.end++;
    }
    return b;
}

/* which: 0 above all rows, 1 between two, 2 below. */
static void put_rule(const lines *l, const tg_panel *panel, const block *b, int32_t which) {
    put_margin(l, panel, "");
    for (int32_t c = b->first; c < b->end; c++) {
        tg_put_text(l->pen.w, l->pen.set->corner[which][c > b->first]);
        tg_pen_times(&l->pen, l->pen.set->across, tg_col_width(panel, c));
    }
    tg_put_text(l->pen.w, l->pen.set->corner[which][2]);
    tg_put_char(l->pen.w, '\n');
}

/* No blanks at the end of the line. */
static void put_headings(const lines *l, const tg_panel *panel, const block *b) {
    char      corner[TG_CORNER];
    int32_t   last = b->end - 1, owed = 0;
    tg_corner(corner, panel);
    while (last >= b->first && panel->col[last].label[0] == '\0') last--;
    if (last < b->first && corner[0] == '\0') return;
    put_margin(l, panel, corner);
    for (int32_t c = b->first; c <= last; c++) {
        const int32_t width = tg_col_width(panel, c), label = tg_text_width(panel->col[c].label);
        tg_pen_times(&l->pen, " ", owed + 1);
        tg_put_text(l->pen.w, panel->col[c].label);
        owed = width - label;
    }
    tg_put_char(l->pen.w, '\n');
}

static void put_row(const lines *l, const tg_panel *panel, const block *b, int32_t r) {
    if (r > 0 && panel->row[r].begins) put_rule(l, panel, b, 1);
    put_margin(l, panel, panel->row[r].label);
    for (int32_t c = b->first; c < b->end; c++) {
        tg_put_text(l->pen.w, c > 0 && panel->col[c].begins ? l->pen.set->thick : l->pen.set->down);
        put_cell(l, panel, r, c);
    }
    tg_put_text(l->pen.w, l->pen.set->down);
    tg_put_char(l->pen.w, '\n');
}

/* A gap that has a block for itself is a line. */
static void put_block(const lines *l, const tg_panel *panel, const block *b) {
    if (b->end == b->first + 1 && panel->col[b->first].hidden > 0) {
        tg_pen_times(&l->pen, " ", 2);
        tg_put_text(l->pen.w, l->pen.set->col_gap);
        tg_put_char(l->pen.w, ' ');
        tg_put_text(l->pen.w, panel->col[b->first].label);
        tg_put_char(l->pen.w, '\n');
        return;
    }
    put_headings(l, panel, b);
    put_rule(l, panel, b, 0);
    for (int32_t r = 0; r < panel->nrows; r++) put_row(l, panel, b, r);
    put_rule(l, panel, b, 2);
}

static void put_panel(const lines *l, const tg_panel *panel) {
    tg_put_char(l->pen.w, '\n');
    tg_pen_styled(&l->pen, "\033[1m", panel->title);
    tg_put_char(l->pen.w, '\n');
    if (panel->nrows == 0 || panel->ncols == 0) {
        tg_pen_sentence(&l->pen, "Nothing: there are no elements.", 2);
        return;
    }
    tg_pen_sentence(&l->pen, panel->caption, 2);
    for (block b = {0, 0}; b.end < panel->ncols;) {
        if (b.end > 0) tg_put_char(l->pen.w, '\n');
        b = next_block(l, panel, b.end);
        put_block(l, panel, &b);
    }
}

/* ---- the whole ------------------------------------------------------------------------------------ */

/* "tile begins" */
static void put_beginning(const lines *l, int32_t *column) {
    const char *const thick[] = {l->pen.set->thick, "", ""};
    char              text[64];
    tg_writer         w = tg_writer_make(text, sizeof text);
    tg_put_text(&w, l->picture->unit_name);
    tg_put_text(&w, " begins");
    (void)tg_writer_end(&w);
    tg_pen_legend(&l->pen, column, thick, text);
}

/* A line of what marks mean, or several where it is narrow. */
static void put_legend(const lines *l) {
    const tg_pen_set  *set = l->pen.set;
    const tg_signs     signs = tg_picture_signs(l->picture);
    const char *const  gap[] = {set->col_gap, " ", set->row_gap}, *const hatch[] = {set->hatch, set->hatch, ""};
    const char *const  count[] = {set->hatch, "n", ""};
    static const char *const mark[] = {"*", "", ""}, *const loose[] = {"a~b", "", ""}, *const unknown[] = {"?", "", ""};
    int32_t            column = 0;
    if (signs.followed) tg_pen_legend(&l->pen, &column, mark, "holds the followed element");
    if (signs.padding) tg_pen_legend(&l->pen, &column, hatch, "padding");
    if (signs.among) tg_pen_legend(&l->pen, &column, count, "n places of padding in the cell");
    else if (signs.after) tg_pen_legend(&l->pen, &column, count, "and then n places of padding");
    if (signs.loose) tg_pen_legend(&l->pen, &column, loose, "from a to b, with others between");
    if (signs.begins) put_beginning(l, &column);
    if (signs.unknown) tg_pen_legend(&l->pen, &column, unknown, "takes too long to find");
    if (signs.gap) tg_pen_legend(&l->pen, &column, gap, "not drawn");
    if (column > 0) tg_put_char(l->pen.w, '\n');
}

size_t tg_picture_text(char *buf, size_t cap, const tg_picture *picture, uint32_t style) {
    tg_writer   w = tg_writer_make(buf, cap);
    const lines l = {tg_pen_make(&w, style, picture->width), picture};
    if (picture->title[0] != '\0') {
        if (l.pen.colour) tg_put_text(&w, "\033[1;36m");
        tg_pen_sentence(&l.pen, picture->title, 0);
        if (l.pen.colour) tg_put_text(&w, "\033[0m");
    }
    for (int32_t k = 0; k < picture->npanels; k++) put_panel(&l, &picture->panel[k]);
    tg_put_char(&w, '\n');
    for (int32_t k = 0; k < picture->nnotes; k++) tg_pen_sentence(&l.pen, picture->note[k], 2);
    put_legend(&l);
    return tg_writer_end(&w);
}
