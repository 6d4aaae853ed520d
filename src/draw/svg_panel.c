/* Panels of the SVG: a title, sentences, labels at two sides, cells, and what is drawn over them. */
#include "draw/svg.h"

enum {
    HEADING = 20,
    COL_LABELS = 18,
    ONE_LINE = 26,
    TWO_LINES = 40,
    ROOM = 10,
    PAD = 7,
    GAP_HEIGHT = 22,
    LEAST_WIDTH = 300
};

/* ---- geometry ---------------------------------------------------------------------------------- */

/* "C #1499", or "C"; no number twice */
static void put_name(tg_writer *w, const tg_cell *cell, bool numbered) {
    if (cell->colour >= 0) tg_put_char(w, (char)('A' + cell->colour));
    if (!numbered || cell->unit < 0 || cell->label[0] == '#') return;
    tg_put_text(w, cell->colour >= 0 ? " #" : "#");
    tg_put_int(w, cell->unit);
}

/* Characters of the longest line. */
static int32_t cell_width(const tg_cell *cell, bool two_lines) {
    const int32_t label = tg_text_width(cell->label);
    tg_writer     name = tg_writer_make(NULL, 0);
    if (cell->kind != TG_CELL_DATA && cell->kind != TG_CELL_PADDING) return 1;
    put_name(&name, cell, two_lines);
    if (!two_lines) return label + (name.len > 0 ? 1 + (int32_t)name.len : 0);
    return (int32_t)name.len > label ? (int32_t)name.len : label;
}

static int32_t col_width(const tg_panel *panel, int32_t c) {
    const bool two = panel->is_numbered;
    int32_t    width = tg_text_width(panel->col[c].label);
    for (int32_t r = 0; r < panel->nrows; r++) {
        const int32_t cell = cell_width(&panel->cell[r][c], two);
        if (cell > width) width = cell;
    }
    return tg_svg_pixels(width) + 2 * PAD + (tg_svg_has_order(panel) ? TG_LANE : 0);
}

static int32_t col_at(const tg_panel *panel, int32_t c) {
    int32_t x = tg_svg_pixels(tg_row_label_width(panel)) + ROOM;
    for (int32_t k = 0; k < c; k++) x += col_width(panel, k);
    return x;
}

static int32_t row_height(const tg_panel *panel, int32_t r) {
    if (panel->row[r].hidden > 0) return GAP_HEIGHT;
    return (panel->is_numbered ? TWO_LINES : ONE_LINE) + (tg_svg_has_order(panel) ? TG_STRIP : 0);
}

int32_t tg_svg_panel_width(const tg_panel *panel) {
    const int32_t cells = col_at(panel, panel->ncols) + 2, title = 9 * tg_text_width(panel->title);
    const int32_t width = cells > title ? cells : title;
    return width > LEAST_WIDTH ? width : LEAST_WIDTH;
}

tg_area tg_svg_cell_area(const tg_panel *panel, int32_t r, int32_t c, int32_t top) {
    tg_area a = {col_at(panel, c), top, col_width(panel, c), row_height(panel, r)};
    for (int32_t k = 0; k < r; k++) a.y += row_height(panel, k);
    return a;
}

/* ---- one cell ------------------------------------------------------------------------------------- */

static void put_fill(const tg_svg *s, const tg_area *a, int32_t colour) {
    char class[] = "class=\"c0\"";
    if (colour < 0) {
        tg_svg_rect(s, a, "class=\"c\"");
        return;
    }
    class[8] = (char)('0' + colour);
    tg_svg_rect(s, a, class);
}

static int32_t part_of(int32_t length, const tg_cell *cell) {
    const int64_t places = cell->data + cell->padding;
    const int32_t part = (int32_t)((length * cell->data + places - 1) / places);
    return part < 4 ? 4 : part;
}

/* Colour for the elements and hatching for the padding, to scale: side by side where the padding comes last, else one
 * above the other. */
static void put_ground(const tg_svg *s, const tg_cell *cell, const tg_area *a) {
    tg_area data = *a;
    if (cell->padding > 0) tg_svg_rect(s, a, "fill=\"url(#tegula-padding)\"");
    if (cell->kind == TG_CELL_PADDING) return;
    if (cell->padding > 0) *(cell->padding_last ? &data.w : &data.h) = part_of(cell->padding_last ? a->w : a->h, cell);
    put_fill(s, &data, cell->colour);
}

/* What a pointer that rests on the cell is told. */
static void put_tip(const tg_svg *s, const tg_cell *cell) {
    tg_writer *w = s->w;
    const bool placed = cell->data > 0 || cell->from != -1 || cell->to != -1;
    tg_put_text(w, "<title>");
    if (cell->data > 0) {
        tg_put_box(w, cell->low, cell->high, s->picture->ndim);
        tg_put_text(w, ", ");
    }
    if (placed) {
        tg_put_text(w, cell->from == cell->to ? "offset " : "offsets ");
        if (cell->is_loose) {
            tg_put_int(w, cell->from);
            tg_put_char(w, '~');
            tg_put_int(w, cell->to);
        } else tg_put_range(w, cell->from, cell->to);
    }
    if (cell->padding > 0) {
        tg_put_text(w, placed ? ", " : "");
        tg_put_int(w, cell->padding);
        tg_put_text(w, cell->padding == 1 ? " place of padding" : " places of padding");
    }
    tg_put_text(w, "</title>\n");
}

static void put_words(const tg_svg *s, const tg_panel *panel, const tg_cell *cell, const tg_area *a) {
    const bool  on_theme = cell->kind == TG_CELL_DATA && cell->colour < 0, two = panel->is_numbered;
    const char *class = on_theme ? (cell->marked ? "b" : "m") : cell->marked ? "k b" : "k";
    char        text[160];
    tg_writer   w = tg_writer_make(text, sizeof text);
    put_name(&w, cell, two);
    if (two) {
        (void)tg_writer_end(&w);
        tg_svg_text(s, a->x + PAD, a->y + 15, class, text);
        tg_svg_text(s, a->x + PAD, a->y + 31, class, cell->label);
        return;
    }
    if (w.len > 0) tg_put_char(&w, ' ');
    tg_put_text(&w, cell->label);
    (void)tg_writer_end(&w);
    const int32_t height = a->h - (tg_svg_has_order(panel) ? TG_STRIP : 0);
    tg_svg_text(s, a->x + PAD, a->y + height / 2 + 4, class, text);
}

static void put_cell(const tg_svg *s, const tg_panel *panel, const tg_cell *cell, const tg_area *a) {
    if (cell->kind == TG_CELL_NONE) return;
    if (cell->kind == TG_CELL_UNKNOWN) {
        tg_svg_text(s, a->x + PAD, a->y + a->h / 2 + 4, "m", "?");
        return;
    }
    tg_put_text(s->w, "<g>");
    put_tip(s, cell);
    put_ground(s, cell, a);
    tg_svg_rect(s, a, "class=\"e\"");
    put_words(s, panel, cell, a);
    tg_put_text(s->w, "</g>\n");
}

/* ---- all cells, and what is over them --------------------------------------------------------------- */

static void put_cells(const tg_svg *s, const tg_panel *panel) {
    for (int32_t r = 0; r < panel->nrows; r++)
        for (int32_t c = 0; c < panel->ncols; c++) {
            const tg_area  a = tg_svg_cell_area(panel, r, c, s->y);
            const tg_cell *cell = &panel->cell[r][c];
            const char    *gap = panel->row[r].hidden > 0 ? "\u22ee" : "\u22ef";
            if (cell->kind == TG_CELL_GAP) tg_svg_text(s, a.x + a.w / 2 - 4, a.y + a.h / 2 + 4, "m", gap);
            else put_cell(s, panel, cell, &a);
        }
}

/* Thick lines where a stick or tile begins. */
static void put_borders(const tg_svg *s, const tg_panel *panel) {
    const tg_area last = tg_svg_cell_area(panel, panel->nrows - 1, panel->ncols - 1, s->y);
    for (int32_t c = 1; c < panel->ncols; c++) {
        if (!panel->col[c].begins) continue;
        TG_PUT(s->w, "<path class=\"u\" d=\"M% %V%\"/>\n", col_at(panel, c), s->y, last.y + last.h);
    }
    for (int32_t r = 1; r < panel->nrows; r++) {
        if (!panel->row[r].begins) continue;
        const tg_area a = tg_svg_cell_area(panel, r, 0, s->y);
        TG_PUT(s->w, "<path class=\"u\" d=\"M% %H%\"/>\n", a.x, a.y, last.x + last.w);
    }
}

static void put_marks(const tg_svg *s, const tg_panel *panel) {
    for (int32_t r = 0; r < panel->nrows; r++)
        for (int32_t c = 0; c < panel->ncols; c++) {
            const tg_area a = tg_svg_cell_area(panel, r, c, s->y);
            if (panel->cell[r][c].marked) tg_svg_rect(s, &a, "class=\"f\"");
        }
}

/* ---- the panel ------------------------------------------------------------------------------------------- */

static void put_labels(tg_svg *s, const tg_panel *panel) {
    const int32_t edge = col_at(panel, 0) - ROOM;
    char          corner[TG_CORNER];
    tg_corner(corner, panel);
    tg_svg_text(s, edge - tg_svg_pixels(tg_text_width(corner)), s->y + 12, "m", corner);
    for (int32_t c = 0; c < panel->ncols; c++)
        if (panel->col[c].label[0] != '\0') tg_svg_text(s, col_at(panel, c) + PAD, s->y + 12, "m", panel->col[c].label);
    s->y += COL_LABELS;
    for (int32_t r = 0; r < panel->nrows; r++) {
        const tg_area a = tg_svg_cell_area(panel, r, 0, s->y);
        const char   *label = panel->row[r].label;
        tg_svg_text(s, edge - tg_svg_pixels(tg_text_width(label)), a.y + a.h / 2 + 4, "m", label);
    }
}

void tg_svg_panel(tg_svg *s, const tg_panel *panel) {
    tg_svg_text(s, 0, HEADING - 5, "h", panel->title);
    s->y = HEADING;
    if (panel->nrows == 0 || panel->ncols == 0) {
        tg_svg_sentence(s, "Nothing: there are no elements.", "s m");
        return;
    }
    tg_svg_sentence(s, panel->caption, "s m");
    s->y += 6;
    put_labels(s, panel);
    put_cells(s, panel);
    put_borders(s, panel);
    if (tg_svg_has_order(panel)) tg_svg_order(s, panel, s->y);
    put_marks(s, panel);
    for (int32_t r = 0; r < panel->nrows; r++) s->y += row_height(panel, r);
}
