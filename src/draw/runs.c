/* Panels of memory: lines of equal length, cut into runs of places.
 *
 * What a run holds comes from tg_layout_coord, place by place: how many elements, which box they fill, and how much
 * padding, before or behind them. */
#include "draw/scene.h"

enum { COARSE_LINES = 7 };

/* ---- one run -------------------------------------------------------------------------------- */

/* What is seen while the places of a run go by. */
typedef struct sight {
    int64_t first[TG_MAX_NDIM], last[TG_MAX_NDIM]; /* elements, in the order of memory */
    int64_t unit;                                  /* of the scene's layout that has all of them; -1: several have */
    int64_t core;                                  /* of the first */
} sight;

/* A run of the scene's own layout lies in one unit: that of its places, which need not be an element's first copy. */
static void see_unit(const tg_scene *s, const tg_layout *l, const tg_cell *run, sight *seen, const int64_t *coord) {
    if (s->grain.unit <= 1 || (run->data > 0 && l == s->layout)) return;
    const int64_t offset = l == s->layout ? run->from : tg_layout_offset(s->layout, coord);
    const int64_t unit = offset / s->grain.unit;
    if (run->data == 0) seen->unit = unit;
    if (unit != seen->unit) seen->unit = -1;
}

static void see_core(const tg_scene *s, tg_cell *run, sight *seen, const int64_t *coord) {
    const int64_t core = tg_scene_core(s, coord);
    if (run->data == 0) seen->core = core;
    run->is_shared = run->is_shared || core != seen->core;
}

static void see_element(const tg_scene *s, tg_cell *run, sight *seen, const int64_t *coord) {
    const int32_t ndim = s->layout->ndim;
    for (int32_t d = 0; d < ndim; d++) {
        if (run->data == 0) seen->first[d] = run->low[d] = run->high[d] = coord[d];
        run->low[d] = tg_min(run->low[d], coord[d]);
        run->high[d] = tg_max(run->high[d], coord[d]);
        seen->last[d] = coord[d];
    }
    if (run->padding > 0) run->padding_last = false;
    run->data++;
    run->marked = run->marked || tg_scene_follows(s, coord);
}

/* False: it cannot be found out. */
static bool look_at_places(const tg_scene *s, const tg_layout *l, tg_cell *run, sight *seen) {
    int64_t coord[TG_MAX_NDIM] = {0};
    tg_slot slot;
    run->padding_last = true;
    for (int64_t place = run->from;; place++) {
        if (tg_layout_coord(&slot, coord, l, place, NULL) != TG_OK) return false;
        if (slot == TG_SLOT_DATA) {
            see_unit(s, l, run, seen, coord);
            see_core(s, run, seen, coord);
            see_element(s, run, seen, coord);
        } else run->padding++;
        if (s->has_follow && tg_layout_offset(l, s->follow) == place) run->marked = true;
        if (place == run->to) return true;
    }
}

/* Whether the elements are all of the box low .. high. */
static bool fills_box(const tg_cell *run, int32_t ndim) {
    int64_t volume = 1;
    for (int32_t d = 0; d < ndim; d++)
        if (!tg_mul(&volume, volume, run->high[d] - run->low[d] + 1)) return false;
    return volume == run->data;
}

static void label_elements(tg_cell *run, const tg_scene *s, const sight *seen) {
    const int32_t ndim = s->layout->ndim;
    tg_writer w = tg_writer_make(run->label, sizeof run->label);
    if (fills_box(run, ndim)) tg_put_box(&w, run->low, run->high, ndim);
    else {
        tg_put_box(&w, seen->first, seen->first, ndim);
        tg_put_text(&w, "~");
        tg_put_box(&w, seen->last, seen->last, ndim);
    }
    (void)tg_writer_end(&w);
}

static void label_run(tg_cell *run, const tg_scene *s, const tg_layout *l, const sight *seen) {
    const tg_draw_label label = s->params->label;
    const bool          is_padding = run->kind != TG_CELL_DATA;
    if (tg_label_core(run, s)) return;
    if (label == TG_LABEL_OFFSET || label == TG_LABEL_BYTE || (is_padding && label != TG_LABEL_ORDER)) {
        tg_label_offsets(run->label, sizeof run->label, s, run, l->elem_bits);
        return;
    }
    if (is_padding) return;
    if (label != TG_LABEL_ORDER) {
        label_elements(run, s, seen);
        return;
    }
    tg_cell there = *run; /* where its first element is on the device */
    if (l != s->layout) there.from = there.to = tg_layout_offset(s->layout, seen->first);
    else there.to = there.from;
    tg_label_offsets(run->label, sizeof run->label, s, &there, l->elem_bits);
}

static void fill_run(const tg_scene *s, const tg_layout *l, tg_cell *run) {
    sight seen = {{0}, {0}, -1, -1};
    if (!look_at_places(s, l, run, &seen)) {
        run->kind = TG_CELL_UNKNOWN;
        return;
    }
    run->kind = run->data > 0 ? TG_CELL_DATA : TG_CELL_PADDING;
    if (run->data > 0) {
        run->colour = run->is_shared ? -1 : tg_scene_colour(s, seen.first);
        run->core = run->is_shared ? -1 : seen.core;
        run->unit = seen.unit;
    }
    label_run(run, s, l, &seen);
}

/* ---- lines ------------------------------------------------------------------------------------- */

static int64_t cells_of_line(const tg_stretch *m) {
    return m->edge != NULL ? m->nedges : tg_ceil_div(tg_min(m->line, m->length), m->step);
}

static int64_t edge_at(const tg_stretch *m, int64_t k) {
    return m->edge != NULL ? m->edge[k] : tg_times_at_most(k, m->step, m->line);
}

static void label_place(tg_track *t, const char *before, int64_t offset, const tg_scene *s, int32_t bits) {
    tg_writer w = tg_writer_make(t->label, sizeof t->label);
    tg_put_text(&w, before);
    if (t->hidden > 0) {
        tg_put_int(&w, t->hidden);
        tg_put_text(&w, " more");
    } else if (s->params->label == TG_LABEL_BYTE) tg_put_place(&w, offset, bits);
    else tg_put_int(&w, offset);
    (void)tg_writer_end(&w);
}

/* Several places: "+22..63". */
static void label_stretch(tg_track *t, const tg_scene *s, int32_t bits) {
    tg_writer w = tg_writer_make(t->label, sizeof t->label);
    tg_put_char(&w, '+');
    if (s->params->label == TG_LABEL_BYTE) tg_put_bytes_of(&w, t->first, t->last, bits);
    else tg_put_range(&w, t->first, t->last);
    (void)tg_writer_end(&w);
}

static int32_t make_rows(const tg_scene *s, tg_panel *panel, const tg_stretch *m) {
    tg_pick       picks[TG_MAX_PICKS];
    const int64_t n = tg_ceil_div(m->length, m->line);
    const int64_t must = s->has_follow ? (tg_layout_offset(m->layout, s->follow) - m->start) / m->line : 0;
    const int32_t npicks =
        tg_tracks_choose(picks, n, tg_scene_is_coarse(s) ? COARSE_LINES : TG_DRAW_ROWS, &must, s->has_follow);
    for (int32_t k = 0; k < npicks; k++) {
        tg_track t = {.first = m->start + picks[k].index * m->line, .hidden = picks[k].hidden};
        const int64_t end = tg_times_at_most(picks[k].index + tg_max(t.hidden, 1), m->line, m->length);
        t.last = m->start + end - 1;
        label_place(&t, "", t.first, s, m->layout->elem_bits);
        panel->row[k] = t;
    }
    return npicks;
}

/* The cell of a line that holds place `at`. */
static int64_t cell_at(const tg_stretch *m, int64_t at) {
    int64_t k = 0;
    if (m->edge == NULL) return at / m->step;
    while (k + 1 < m->nedges && m->edge[k + 1] <= at) k++;
    return k;
}

static int32_t make_cols(const tg_scene *s, tg_panel *panel, const tg_stretch *m, int32_t room) {
    tg_pick       picks[TG_MAX_PICKS];
    const int64_t n = cells_of_line(m);
    const int64_t at = s->has_follow ? (tg_layout_offset(m->layout, s->follow) - m->start) % m->line : 0;
    const int64_t must = cell_at(m, at);
    const int32_t npicks = tg_tracks_choose(picks, n, room, &must, s->has_follow);
    for (int32_t k = 0; k < npicks; k++) {
        tg_track t = {.first = edge_at(m, picks[k].index), .hidden = picks[k].hidden};
        t.last = edge_at(m, picks[k].index + tg_max(t.hidden, 1)) - 1;
        t.begins = m->unit > 1 && m->step < m->unit && t.first % m->unit == 0;
        label_place(&t, t.hidden > 0 ? "" : "+", t.first, s, m->layout->elem_bits);
        if (m->edge != NULL && t.hidden == 0 && t.last > t.first) label_stretch(&t, s, m->layout->elem_bits);
        panel->col[k] = t;
    }
    return npicks;
}

static void fill_cell(const tg_scene *s, tg_panel *panel, const tg_stretch *m, int32_t r, int32_t c) {
    tg_cell        *cell = &panel->cell[r][c];
    const tg_track *row = &panel->row[r], *col = &panel->col[c];
    const tg_cell   empty = {.kind = TG_CELL_GAP, .colour = -1, .from = -1, .to = -1, .core = -1, .unit = -1};
    *cell = empty;
    if (row->hidden > 0 || col->hidden > 0) return;
    cell->kind = TG_CELL_NONE;
    if (col->first > row->last - row->first) return;
    cell->from = row->first + col->first;
    cell->to = row->first + tg_min(col->last, row->last - row->first);
    fill_run(s, m->layout, cell);
}

static void fill_columns(const tg_scene *s, tg_panel *panel, const tg_stretch *m, int32_t room) {
    panel->ncols = make_cols(s, panel, m, room);
    for (int32_t r = 0; r < panel->nrows; r++)
        for (int32_t c = 0; c < panel->ncols; c++) fill_cell(s, panel, m, r, c);
}

void tg_runs_fill(tg_scene *s, tg_panel *panel, const tg_stretch *stretch) {
    if (stretch->length == 0) return;
    panel->nrows = make_rows(s, panel, stretch);
    fill_columns(s, panel, stretch, TG_FEWEST_COLS);
    for (int32_t room = tg_next_room(panel, s->width, 0); room > 0; room = tg_next_room(panel, s->width, room))
        fill_columns(s, panel, stretch, room);
    if (tg_hides_one(panel, s->width)) fill_columns(s, panel, stretch, TG_FEW_COLS);
}

/* ---- how a memory is cut ---------------------------------------------------------------------- */

/* What a cell of the tensor spans of the dimension that a memory without units runs along; 1 if that is not all of a
 * dimension. */
static int64_t step_along(const tg_scene *s, const tg_layout *l, const tg_grain *grain) {
    for (int32_t m = 0; m < l->nmodes; m++) {
        const tg_mode *mode = &l->mode[m];
        if (!tg_is_memory(mode) || mode->stride != 1 || mode->size != grain->line || mode->axis < 0) continue;
        if (mode->axis < l->ndim && mode->size == l->shape[mode->axis]) return s->cell[mode->axis];
    }
    return 1;
}

void tg_runs_of_layout(tg_stretch *out, const tg_scene *s, const tg_layout *l, const tg_grain *grain) {
    const tg_stretch all = {l, tg_layout_base(l), l->span, grain->line, 1, NULL, 0, grain->unit};
    *out = all;
    if (!grain->dense) return;
    out->step = grain->unit > TG_SMALL_UNIT ? grain->unit : grain->unit == 1 ? step_along(s, l, grain) : 1;
}

int64_t tg_runs_edges(int64_t *edge, const tg_layout *l, int64_t start, int64_t unit) {
    int64_t coord[TG_MAX_NDIM], n = 0;
    tg_slot slot;
    bool    after_padding = false;
    for (int64_t k = 0; k < unit; k++) {
        const bool is_padding =
            tg_layout_coord(&slot, coord, l, start + k, NULL) == TG_OK && slot == TG_SLOT_PADDING;
        if (!is_padding || !after_padding) edge[n++] = k;
        after_padding = is_padding;
    }
    edge[n] = unit;
    return n;
}
