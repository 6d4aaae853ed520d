/* How many characters a panel needs. A cell is a mark, a letter, a blank, what it says, the count of its padding, a
 * blank:
 *
 *     *C (4,99,128..149) ░42
 */
#include "draw/scene.h"

#include <string.h>

int32_t tg_text_width(const char *utf8) {
    int32_t width = 0;
    for (; *utf8 != '\0'; utf8++) width += ((unsigned char)*utf8 & 0xC0) != 0x80;
    return width;
}

static int32_t digits(int64_t value) {
    int32_t n = 1;
    for (; value >= 10; value /= 10) n++;
    return n;
}

int32_t tg_cell_width(const tg_cell *cell) {
    const int32_t label = (int32_t)strlen(cell->label);
    switch (cell->kind) {
    case TG_CELL_DATA: return 4 + label + (cell->padding > 0 ? 2 + digits(cell->padding) : 0);
    case TG_CELL_PADDING: return label > 0 ? 5 + label : 3;
    case TG_CELL_GAP:
    case TG_CELL_UNKNOWN: return 1;
    case TG_CELL_NONE: break;
    }
    return 0;
}

static int32_t widest(int32_t a, int32_t b) { return a > b ? a : b; }

int32_t tg_col_width(const tg_panel *panel, int32_t col) {
    int32_t width = tg_text_width(panel->col[col].label);
    for (int32_t r = 0; r < panel->nrows; r++) width = widest(width, tg_cell_width(&panel->cell[r][col]));
    return width;
}

void tg_corner(char corner[TG_CORNER], const tg_panel *panel) {
    tg_writer w = tg_writer_make(corner, TG_CORNER);
    tg_put_text(&w, panel->row_heading);
    if (panel->row_heading[0] != '\0' && panel->col_heading[0] != '\0') tg_put_text(&w, " \\ ");
    tg_put_text(&w, panel->col_heading);
    (void)tg_writer_end(&w);
}

int32_t tg_row_label_width(const tg_panel *panel) {
    char corner[TG_CORNER];
    tg_corner(corner, panel);
    int32_t width = tg_text_width(corner);
    for (int32_t r = 0; r < panel->nrows; r++) width = widest(width, tg_text_width(panel->row[r].label));
    return width;
}

int32_t tg_panel_width(const tg_panel *panel) {
    int32_t width = 2 + tg_row_label_width(panel) + 2;
    for (int32_t c = 0; c < panel->ncols; c++) width += tg_col_width(panel, c) + 1;
    return width;
}

static int32_t widest_col(const tg_panel *panel) {
    int32_t width = 1;
    for (int32_t c = 0; c < panel->ncols; c++) width = widest(width, tg_col_width(panel, c) + 1);
    return width;
}

/* Gaps need less than others, so one column more. */
static int32_t room_for(const tg_panel *panel, int32_t width) {
    const int32_t room = (width - tg_row_label_width(panel) - 4) / widest_col(panel) + 1;
    return room < TG_FEWEST_COLS ? TG_FEWEST_COLS : room < TG_DRAW_COLS ? room : TG_DRAW_COLS;
}

int32_t tg_next_room(const tg_panel *panel, int32_t width, int32_t room) {
    const int32_t excess = tg_panel_width(panel) - width;
    bool          gaps = false;
    for (int32_t c = 0; c < panel->ncols; c++) gaps = gaps || panel->col[c].hidden > 0;
    if (room == 0) return gaps && excess <= 0 ? room_for(panel, width) : 0;
    if (excess <= 0 || room <= TG_FEWEST_COLS) return 0;
    const int32_t fewer = room - widest(excess / widest_col(panel), 1);
    return widest(fewer, TG_FEWEST_COLS);
}

bool tg_hides_one(const tg_panel *panel, int32_t width) {
    bool one = false;
    for (int32_t c = 0; c < panel->ncols; c++) one = one || panel->col[c].hidden == 1;
    return one && tg_panel_width(panel) > width;
}

static void see_cell(tg_signs *signs, const tg_cell *cell) {
    const bool is_data = cell->kind == TG_CELL_DATA;
    signs->followed |= cell->marked;
    signs->padding |= cell->kind == TG_CELL_PADDING;
    signs->gap |= cell->kind == TG_CELL_GAP;
    signs->unknown |= cell->kind == TG_CELL_UNKNOWN;
    signs->stays |= is_data && cell->colour < 0 && !cell->is_shared;
    signs->after |= is_data && cell->padding > 0 && cell->padding_last;
    signs->among |= is_data && cell->padding > 0 && !cell->padding_last;
    signs->loose |= strchr(cell->label, '~') != NULL;
}

/* The first row or column needs no line before it. */
static bool begins(const tg_track *tracks, int32_t n) {
    for (int32_t k = 1; k < n; k++)
        if (tracks[k].begins) return true;
    return false;
}

tg_signs tg_picture_signs(const tg_picture *p) {
    tg_signs signs = {false};
    for (int32_t k = 0; k < p->npanels; k++) {
        const tg_panel *panel = &p->panel[k];
        for (int32_t r = 0; r < panel->nrows; r++)
            for (int32_t c = 0; c < panel->ncols; c++) see_cell(&signs, &panel->cell[r][c]);
        signs.begins |= begins(panel->row, panel->nrows) || begins(panel->col, panel->ncols);
        signs.numbered |= panel->is_numbered && panel->ncols > 0;
    }
    return signs;
}
