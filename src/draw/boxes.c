/* Panels of the tensor: a plane of it as rows and columns of boxes, and what lies beside it as padding.
 *
 * A box is a cell of the tensor times one plane. Its offsets come from tg_layout_offset, element by element. A box of
 * padding has coordinates past the end of a dimension; the digits of these are evaluated the same way, and the places
 * are believed only where tg_layout_coord says that each of them is padding. */
#include "draw/scene.h"

#include <string.h>

enum { COARSE_ROWS = 6 };

/* ---- one box ------------------------------------------------------------------------------ */

static bool next_in_box(int64_t *coord, const tg_cell *box, int32_t ndim) {
    for (int32_t d = ndim; d-- > 0;) {
        if (++coord[d] <= box->high[d]) return true;
        coord[d] = box->low[d];
    }
    return false;
}

/* Elements or places of a box; false if it is too large to be looked at one by one. */
static bool box_volume(int64_t *volume, const tg_cell *box, int32_t ndim) {
    *volume = 1;
    for (int32_t d = 0; d < ndim; d++)
        if (!tg_mul(volume, *volume, box->high[d] - box->low[d] + 1)) return false;
    return *volume <= TG_LARGEST_CELL;
}

static void put_offset(tg_writer *w, const tg_scene *s, const tg_layout *l, const int64_t *coord) {
    const int64_t offset = tg_layout_offset(l, coord);
    if (tg_scene_compares_bytes(s)) tg_put_place(w, offset, l->elem_bits);
    else tg_put_int(w, offset);
}

/* The first element that moves: from where to where. */
static void label_move(tg_cell *box, const tg_scene *s, const int64_t *coord) {
    tg_writer w = tg_writer_make(box->label, sizeof box->label);
    box->moved = true;
    put_offset(&w, s, s->layout, coord);
    tg_put_text(&w, " > ");
    put_offset(&w, s, s->params->other, coord);
    (void)tg_writer_end(&w);
}

static void label_stay(tg_cell *box, const tg_scene *s) {
    tg_writer w = tg_writer_make(box->label, sizeof box->label);
    box->colour = -1;
    tg_put_text(&w, "= ");
    put_offset(&w, s, s->layout, box->low);
    (void)tg_writer_end(&w);
}

/* Where each element lies, and in *steady whether one follows the other in memory. */
static void look_at_elements(const tg_scene *s, tg_cell *box, bool *steady) {
    const tg_layout *l = s->layout;
    int64_t          coord[TG_MAX_NDIM] = {0}, expected = 0;
    memcpy(coord, box->low, sizeof coord);
    do {
        const int64_t offset = tg_layout_offset(l, coord);
        if (box->data == 0) box->from = box->to = expected = offset;
        box->from = tg_min(box->from, offset);
        box->to = tg_max(box->to, offset);
        *steady = *steady && offset == expected;
        expected = offset + 1;
        box->data++;
        box->marked = box->marked || tg_scene_follows(s, coord);
        if (!box->moved && s->params->other != NULL && tg_scene_moves(s, coord)) label_move(box, s, coord);
    } while (next_in_box(coord, box, l->ndim));
    box->is_loose = box->data <= box->to - box->from;
}

static void label_box(tg_cell *box, const tg_scene *s) {
    tg_writer w = tg_writer_make(box->label, sizeof box->label);
    if (tg_label_core(box, s)) return;
    if (s->params->label != TG_LABEL_COORD) {
        tg_label_offsets(box->label, sizeof box->label, s, box, s->layout->elem_bits);
        return;
    }
    tg_put_box(&w, box->low, box->high, s->layout->ndim);
    (void)tg_writer_end(&w);
}

static void name_unit(tg_cell *box, const tg_scene *s) {
    const int64_t unit = s->grain.unit;
    if (unit > 1 && box->from / unit == box->to / unit) box->unit = box->from / unit;
}

static void fill_data(const tg_scene *s, tg_cell *box, bool *steady) {
    int64_t volume = 0;
    if (!box_volume(&volume, box, s->layout->ndim)) return;
    box->kind = TG_CELL_DATA;
    box->colour = tg_scene_colour(s, box->low);
    box->core = tg_scene_core(s, box->low);
    look_at_elements(s, box, steady);
    name_unit(box, s);
    if (s->params->other != NULL) {
        if (!box->moved) label_stay(box, s);
    } else label_box(box, s);
}

/* The places of a box of padding, if they hold nothing else. */
static bool find_padding(tg_cell *box, const tg_layout *l, int64_t volume) {
    int64_t coord[TG_MAX_NDIM] = {0}, other[TG_MAX_NDIM], low = INT64_MAX, high = INT64_MIN;
    tg_slot slot;
    memcpy(coord, box->low, sizeof coord);
    do {
        const int64_t offset = tg_layout_offset(l, coord);
        if (tg_layout_coord(&slot, other, l, offset, NULL) != TG_OK || slot != TG_SLOT_PADDING) return false;
        low = tg_min(low, offset);
        high = tg_max(high, offset);
    } while (next_in_box(coord, box, l->ndim));
    box->is_loose = volume <= high - low;
    box->from = low;
    box->to = high;
    return true;
}

static void fill_padding(const tg_scene *s, tg_cell *box) {
    int64_t volume = 0;
    box->kind = TG_CELL_PADDING;
    box->padding_last = true;
    if (!box_volume(&volume, box, s->layout->ndim)) return;
    box->padding = volume;
    if (!find_padding(box, s->layout, volume)) return;
    name_unit(box, s);
    if (s->params->other == NULL && !(box->is_loose && s->is_inside)) label_box(box, s);
}

static void fill_box(const tg_scene *s, tg_cell *box, bool *steady) {
    bool beside = false;
    for (int32_t d = 0; d < s->layout->ndim; d++) beside = beside || box->low[d] >= s->layout->shape[d];
    if (beside) fill_padding(s, box);
    else fill_data(s, box, steady);
}

/* ---- rows and columns ----------------------------------------------------------------------- */

static void label_range(tg_track *t) {
    tg_writer w = tg_writer_make(t->label, sizeof t->label);
    if (t->hidden > 0) {
        tg_put_int(&w, t->hidden);
        tg_put_text(&w, " more");
    } else tg_put_range(&w, t->first, t->last);
    (void)tg_writer_end(&w);
}

static tg_track make_track(const tg_scene *s, int32_t d, int64_t first, int64_t last, int64_t hidden) {
    tg_track t = {.first = first, .last = last, .hidden = hidden};
    t.begins = s->grain.tile[d] > 1 && s->cell[d] == 1 && first % s->grain.tile[d] == 0;
    label_range(&t);
    return t;
}

/* The tracks along dimension d, at most `room` unless more must be seen. */
static int32_t make_tracks(const tg_scene *s, tg_track *tracks, const tg_window *w, int32_t d, int32_t room) {
    tg_pick       picks[TG_MAX_PICKS];
    const int64_t low = w->low[d], step = w->step[d], size = s->layout->shape[d];
    const int64_t end = tg_min(w->high[d] + 1, size), n = end > low ? tg_ceil_div(end - low, step) : 0;
    const int64_t must = (s->follow[d] - low) / step;
    const bool    padded = w->padding && w->high[d] >= end;
    const int32_t npicks = tg_tracks_choose(picks, n, room - padded, &must, s->has_follow && s->follow[d] >= low);
    int32_t       ntracks = 0;
    for (int32_t k = 0; k < npicks; k++) {
        const int64_t first = low + picks[k].index * step;
        const int64_t count = tg_times_at_most(tg_max(picks[k].hidden, 1), step, end - first);
        tracks[ntracks++] = make_track(s, d, first, first + (count - 1), picks[k].hidden);
    }
    if (padded) tracks[ntracks++] = make_track(s, d, tg_max(end, low), w->high[d], 0);
    return ntracks;
}

/* A panel without a dimension to count has one row, or one column. */
static int32_t tracks_of(const tg_scene *s, tg_track *tracks, const tg_window *w, int32_t d, int32_t room) {
    const tg_track only = {0};
    if (d >= 0) return make_tracks(s, tracks, w, d, room);
    tracks[0] = only;
    return 1;
}

static void fill_cell(const tg_scene *s, tg_panel *panel, const tg_window *w, int32_t r, int32_t c, bool *steady) {
    tg_cell        *cell = &panel->cell[r][c];
    const tg_track *row = &panel->row[r], *col = &panel->col[c];
    const tg_cell   empty = {.kind = TG_CELL_GAP, .colour = -1, .from = -1, .to = -1, .core = -1, .unit = -1};
    *cell = empty;
    if (row->hidden > 0 || col->hidden > 0) return;
    for (int32_t d = 0; d < s->layout->ndim; d++) cell->low[d] = cell->high[d] = s->at[d] >= 0 ? s->at[d] : w->low[d];
    if (s->row_dim >= 0) {
        cell->low[s->row_dim] = row->first;
        cell->high[s->row_dim] = row->last;
    }
    if (s->col_dim >= 0) {
        cell->low[s->col_dim] = col->first;
        cell->high[s->col_dim] = col->last;
    }
    fill_box(s, cell, steady);
}

/* Returns whether all boxes are steady. */
static bool fill_columns(const tg_scene *s, tg_panel *panel, const tg_window *window, int32_t room) {
    bool steady = true;
    panel->ncols = tracks_of(s, panel->col, window, s->col_dim, room);
    for (int32_t r = 0; r < panel->nrows; r++)
        for (int32_t c = 0; c < panel->ncols; c++) fill_cell(s, panel, window, r, c, &steady);
    return steady;
}

bool tg_boxes_fill(tg_scene *s, tg_panel *panel, const tg_window *window) {
    panel->nrows =
        tracks_of(s, panel->row, window, s->row_dim, tg_scene_is_coarse(s) ? COARSE_ROWS : TG_DRAW_ROWS);
    bool steady = fill_columns(s, panel, window, TG_FEWEST_COLS);
    for (int32_t room = tg_next_room(panel, s->width, 0); room > 0; room = tg_next_room(panel, s->width, room))
        steady = fill_columns(s, panel, window, room);
    return tg_hides_one(panel, s->width) ? fill_columns(s, panel, window, TG_FEW_COLS) : steady;
}
