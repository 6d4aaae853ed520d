/* A picture as JSON: the data behind it, for those who draw it themselves. */
#include "draw.h"

static const char *view_name(tg_view view) {
    switch (view) {
    case TG_VIEW_LOGICAL: return "logical";
    case TG_VIEW_HOST: return "host";
    case TG_VIEW_DEVICE: return "device";
    case TG_VIEW_INSIDE: return "inside";
    }
    return "unknown";
}

static const char *kind_name(tg_cell_kind kind) {
    switch (kind) {
    case TG_CELL_DATA: return "data";
    case TG_CELL_PADDING: return "padding";
    case TG_CELL_UNKNOWN: return "unknown";
    case TG_CELL_NONE:
    case TG_CELL_GAP: break;
    }
    return "none";
}

static json_t *tracks_json(const tg_track *tracks, int32_t n) {
    json_t *array = cli_json_array();
    for (int32_t k = 0; k < n; k++) {
        json_t *o = cli_json_object();
        cli_json_put(o, "first", cli_json_int(tracks[k].first));
        cli_json_put(o, "last", cli_json_int(tracks[k].last));
        cli_json_put(o, "hidden", cli_json_int(tracks[k].hidden));
        cli_json_add(array, o);
    }
    return array;
}

static void put_known(json_t *o, const char *key, int64_t value, bool known) {
    cli_json_put(o, key, known ? cli_json_int(value) : json_null());
}

static json_t *cell_json(const tg_cell *cell, int32_t ndim, bool is_run) {
    json_t    *o = cli_json_object();
    const bool has_offsets = cell->data > 0 || cell->from != -1 || cell->to != -1 ||
                             (is_run && cell->kind != TG_CELL_NONE);
    cli_json_put(o, "kind", cli_json_text(kind_name(cell->kind)));
    put_known(o, "from", cell->from, has_offsets);
    put_known(o, "to", cell->to, has_offsets);
    cli_json_put(o, "elements", cli_json_int(cell->data));
    cli_json_put(o, "padding", cli_json_int(cell->padding));
    if (cell->data > 0) {
        cli_json_put(o, "low", cli_json_ints(cell->low, ndim));
        cli_json_put(o, "high", cli_json_ints(cell->high, ndim));
    }
    put_known(o, "unit", cell->unit, cell->unit >= 0);
    if (cell->core >= 0) cli_json_put(o, "core", cli_json_int(cell->core));
    put_known(o, "colour", cell->colour, cell->colour >= 0);
    if (cell->marked) cli_json_put(o, "followed", json_true());
    if (cell->moved) cli_json_put(o, "moved", json_true());
    cli_json_put(o, "label", cli_json_text(cell->label));
    return o;
}

/* Row by row; null where a gap is. */
static json_t *cells_json(const tg_panel *panel, int32_t ndim) {
    json_t    *rows = cli_json_array();
    const bool is_run = panel->view == TG_VIEW_HOST || panel->view == TG_VIEW_DEVICE;
    for (int32_t r = 0; r < panel->nrows; r++) {
        json_t *row = cli_json_array();
        for (int32_t c = 0; c < panel->ncols; c++) {
            const tg_cell *cell = &panel->cell[r][c];
            cli_json_add(row, cell->kind == TG_CELL_GAP ? json_null() : cell_json(cell, ndim, is_run));
        }
        cli_json_add(rows, row);
    }
    return rows;
}

static json_t *panel_json(const tg_panel *panel, int32_t ndim) {
    json_t *o = cli_json_object();
    cli_json_put(o, "view", cli_json_text(view_name(panel->view)));
    cli_json_put(o, "title", cli_json_text(panel->title));
    cli_json_put(o, "caption", cli_json_text(panel->caption));
    cli_json_put(o, "row_heading", cli_json_text(panel->row_heading));
    cli_json_put(o, "column_heading", cli_json_text(panel->col_heading));
    cli_json_put(o, "rows", tracks_json(panel->row, panel->nrows));
    cli_json_put(o, "columns", tracks_json(panel->col, panel->ncols));
    cli_json_put(o, "cells", cells_json(panel, ndim));
    return o;
}

json_t *draw_json(const tg_picture *picture) {
    json_t *o = cli_json_object(), *panels = cli_json_array(), *notes = cli_json_array();
    cli_json_put(o, "schema", cli_json_text("tegula.picture/1"));
    cli_json_put(o, "text", cli_json_text(picture->title));
    for (int32_t k = 0; k < picture->npanels; k++) cli_json_add(panels, panel_json(&picture->panel[k], picture->ndim));
    for (int32_t k = 0; k < picture->nnotes; k++) cli_json_add(notes, cli_json_text(picture->note[k]));
    cli_json_put(o, "panels", panels);
    cli_json_put(o, "notes", notes);
    return o;
}
