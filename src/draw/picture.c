/* A picture from a layout: the wishes are checked, and the panels made in turn. */
#include "draw/scene.h"

#include <stdlib.h>

static const uint32_t all_views = TG_VIEW_LOGICAL | TG_VIEW_HOST | TG_VIEW_DEVICE | TG_VIEW_INSIDE;

enum { NARROWEST = 40, USUAL_WIDTH = 80 };

static void heading_of_dim(char *heading, size_t cap, int32_t d) {
    tg_writer w = tg_writer_make(heading, cap);
    if (d >= 0) {
        tg_put_char(&w, 'd');
        tg_put_int(&w, d);
    }
    (void)tg_writer_end(&w);
}

/* ---- panels ---------------------------------------------------------------------------------------- */

static tg_panel *add_panel(tg_scene *s, tg_view view) {
    tg_panel *panel = &s->picture->panel[s->picture->npanels++];
    panel->view = view;
    const bool of_cores = s->says_core && view != TG_VIEW_DEVICE; /* a cell may span several sticks */
    panel->is_numbered = tg_scene_is_coarse(s) && view != TG_VIEW_INSIDE && !of_cores;
    panel->shows_order = s->params->label == TG_LABEL_ORDER;
    return panel;
}

static void finish_boxes(tg_panel *panel, tg_scene *s, const tg_window *window) {
    heading_of_dim(panel->row_heading, sizeof panel->row_heading, s->row_dim);
    heading_of_dim(panel->col_heading, sizeof panel->col_heading, s->col_dim);
    tg_words_of_boxes(panel, s, tg_boxes_fill(s, panel, window));
}

/* The plane s->at. */
static void add_plane(tg_scene *s) {
    tg_panel *panel = add_panel(s, TG_VIEW_LOGICAL);
    tg_window window = {.padding = s->grain.dense};
    tg_words_of_plane(panel, s);
    if (tg_layout_numel(s->layout) == 0) return;
    for (int32_t d = 0; d < s->layout->ndim; d++) {
        window.high[d] = s->grain.padded[d] - 1;
        window.step[d] = s->cell[d];
    }
    finish_boxes(panel, s, &window);
}

/* The first plane and that of the followed element, or the one that was asked for. */
static void add_planes(tg_scene *s) {
    const int32_t ndim = s->layout->ndim;
    bool          another = false;
    if (s->params->slice != NULL || !s->has_follow) {
        add_plane(s);
        return;
    }
    for (int32_t d = 0; d < ndim; d++) {
        if (d == s->row_dim || d == s->col_dim) continue;
        s->at[d] = 0;
        another = another || s->follow[d] != 0;
    }
    if (another) add_plane(s);
    for (int32_t d = 0; d < ndim; d++)
        if (s->at[d] >= 0) s->at[d] = s->follow[d];
    add_plane(s);
}

static void add_memory(tg_scene *s, tg_view view, const char *title, const tg_layout *l, const tg_grain *grain) {
    tg_panel  *panel = add_panel(s, view);
    tg_writer  w = TG_WRITER(panel->title), heading = TG_WRITER(panel->row_heading);
    tg_stretch stretch;
    tg_put_text(&w, title);
    (void)tg_writer_end(&w);
    tg_put_text(&heading, s->params->label == TG_LABEL_BYTE ? "byte" : "offset");
    (void)tg_writer_end(&heading);
    tg_runs_of_layout(&stretch, s, l, grain);
    tg_runs_fill(s, panel, &stretch);
    tg_words_of_runs(panel, s, &stretch);
}

/* ---- inside a stick or tile --------------------------------------------------------------------------- */

static int64_t unit_of_follow(const tg_scene *s) { return tg_layout_offset(s->layout, s->follow) / s->grain.unit; }

static tg_panel *begin_inside(tg_scene *s) {
    tg_panel *panel = add_panel(s, TG_VIEW_INSIDE);
    tg_writer w = TG_WRITER(panel->title);
    tg_put_text(&w, "Inside ");
    tg_put_text(&w, tg_scene_unit_name(s));
    tg_put_text(&w, " #");
    tg_put_int(&w, unit_of_follow(s));
    (void)tg_writer_end(&w);
    return panel;
}

static void add_inside_run(tg_scene *s) {
    tg_panel     *panel = begin_inside(s);
    tg_writer     heading = TG_WRITER(panel->row_heading);
    int64_t       edge[TG_LARGEST_CELL + 1];
    const int64_t unit = s->grain.unit, start = unit_of_follow(s) * unit;
    tg_stretch    stretch = {s->layout, start, unit, unit, 1, edge, 0, unit};
    tg_put_text(&heading, s->params->label == TG_LABEL_BYTE ? "byte" : "offset");
    (void)tg_writer_end(&heading);
    stretch.nedges = tg_runs_edges(edge, s->layout, start, unit);
    tg_runs_fill(s, panel, &stretch);
    tg_words_of_runs(panel, s, &stretch);
}

/* The last two dimensions that tiles cut. */
static void add_inside_box(tg_scene *s) {
    tg_panel     *panel = begin_inside(s);
    tg_window     window = {.padding = true};
    tg_scene      inner = *s;
    inner.row_dim = inner.col_dim = -1;
    for (int32_t d = s->layout->ndim; d-- > 0;) {
        const bool shown = s->grain.tile[d] > 1 && inner.row_dim < 0;
        inner.at[d] = shown ? -1 : s->follow[d];
        window.step[d] = 1;
        window.low[d] = s->follow[d] / s->grain.tile[d] * s->grain.tile[d];
        window.high[d] = tg_min(window.low[d] + (s->grain.tile[d] - 1), s->grain.padded[d] - 1);
        if (shown) *(inner.col_dim < 0 ? &inner.col_dim : &inner.row_dim) = d;
    }
    finish_boxes(panel, &inner, &window);
}

/* The order of the device is that of its places, and there is no need to say it twice. */
static void add_inside(tg_scene *s) {
    tg_picture_params params = *s->params;
    tg_scene          inner = *s;
    int32_t           cut = 0;
    if (params.label == TG_LABEL_ORDER) params.label = TG_LABEL_USUAL;
    inner.params = &params;
    inner.says_core = false;
    inner.is_inside = true;
    for (int32_t d = 0; d < s->layout->ndim; d++) cut += s->grain.tile[d] > 1;
    if (cut >= 2) add_inside_box(&inner);
    else add_inside_run(&inner);
}

/* ---- wishes -------------------------------------------------------------------------------------------------- */

static tg_status check_shape(const tg_layout *l, const tg_layout *other, const char *name, tg_error *err) {
    tg_status status = tg_layout_validate(other, err);
    if (status != TG_OK) return status;
    if (l->ndim != other->ndim)
        return tg_fail(err, TG_ERR_ARGUMENT, "%s has %d dimensions and the layout has %d", name, (int64_t)other->ndim,
                       (int64_t)l->ndim);
    for (int32_t d = 0; d < l->ndim; d++)
        if (l->shape[d] != other->shape[d])
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "%s has size %d in dimension %d and the layout has %d", name,
                               other->shape[d], (int64_t)d, l->shape[d]);
    int64_t nbytes = 0;
    return tg_layout_nbytes(&nbytes, other, err);
}

/* Wishes that would need the same place in a cell, or show nothing. */
static tg_status check_together(const tg_picture_params *p, tg_error *err) {
    const bool compares = p->other != NULL, divides = p->splits != NULL;
    if (p->label == TG_LABEL_ORDER && (compares || divides))
        return tg_fail(err, TG_ERR_ARGUMENT, "the order does not go with %s: a cell has room for one number",
                       compares ? "another layout" : "cores");
    if (compares && divides)
        return tg_fail(err, TG_ERR_ARGUMENT, "cores do not go with another layout: they divide one");
    if (compares && p->label == TG_LABEL_COORD)
        return tg_fail(err, TG_ERR_ARGUMENT, "coordinates do not go with another layout: cells say what moves");
    if (compares && (p->views & (TG_VIEW_HOST | TG_VIEW_INSIDE)) != 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "a comparison has the views logical and device only");
    if ((p->views & TG_VIEW_HOST) && p->host == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "this layout has no host tensor to show");
    return TG_OK;
}

static tg_status check_params(const tg_layout *l, const tg_picture_params *p, tg_error *err) {
    int64_t   nbytes = 0;
    tg_status status = tg_layout_validate(l, err);
    if (status == TG_OK) status = tg_layout_nbytes(&nbytes, l, err);
    if (status == TG_OK && p->host != NULL) status = check_shape(l, p->host, "the host tensor", err);
    if (status == TG_OK && p->other != NULL) status = check_shape(l, p->other, "the other layout", err);
    if (status != TG_OK) return status;
    if (p->width != 0 && p->width < NARROWEST)
        return tg_fail(err, TG_ERR_ARGUMENT, "width %d is less than %d", (int64_t)p->width, (int64_t)NARROWEST);
    if (p->views & ~all_views) return tg_fail(err, TG_ERR_ARGUMENT, "views %d has unknown bits", (int64_t)p->views);
    if (p->unit < 0 || p->other_unit < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "unit %d is negative", tg_min(p->unit, p->other_unit));
    if (p->label < TG_LABEL_USUAL || p->label > TG_LABEL_ORDER)
        return tg_fail(err, TG_ERR_ARGUMENT, "label %d is none", (int64_t)p->label);
    return check_together(p, err);
}

static tg_status prepare(tg_scene *s, tg_grain *other, tg_error *err) {
    const tg_picture_params *p = s->params;
    tg_grain_find(&s->grain, s->layout, p->unit);
    if (p->other != NULL) tg_grain_find(other, p->other, p->other_unit);
    tg_status status = tg_scene_check_splits(s, err);
    if (status != TG_OK) return status;
    tg_scene_choose_cells(s, p->other != NULL ? other : NULL);
    s->width = p->width != 0 ? p->width : USUAL_WIDTH;
    status = tg_scene_choose_dims(s, err);
    if (status == TG_OK) status = tg_scene_choose_follow(s, err);
    s->says_core = p->splits != NULL;
    const bool has_inside = tg_scene_is_coarse(s) && s->has_follow;
    if (status == TG_OK && (p->views & TG_VIEW_INSIDE) && !has_inside)
        return tg_fail(err, TG_ERR_ARGUMENT, "this layout has no %s of more than %d elements to look into",
                       tg_scene_unit_name(s), (int64_t)TG_SMALL_UNIT);
    return status;
}

static void make_panels(tg_scene *s, const tg_grain *other) {
    const tg_picture_params *p = s->params;
    const uint32_t           views = p->views != 0 ? p->views : all_views;
    const bool               compares = p->other != NULL;
    tg_grain                 host;
    if (views & TG_VIEW_LOGICAL) add_planes(s);
    if ((views & TG_VIEW_HOST) && s->params->host != NULL && !compares) {
        tg_grain_find(&host, p->host, 1);
        add_memory(s, TG_VIEW_HOST, "Host memory", p->host, &host);
    }
    const char *title = compares ? "Memory before" : s->params->host != NULL ? "Device memory" : "Memory";
    if (views & TG_VIEW_DEVICE) add_memory(s, TG_VIEW_DEVICE, title, s->layout, &s->grain);
    if ((views & TG_VIEW_DEVICE) && compares) {
        add_memory(s, TG_VIEW_DEVICE, "Memory after", p->other, other);
        s->picture->panel[s->picture->npanels - 1].is_other = true;
    }
    if ((views & TG_VIEW_INSIDE) && tg_scene_is_coarse(s) && s->has_follow && !compares) add_inside(s);
}

tg_status tg_picture_create(tg_picture **out, const tg_layout *layout, const tg_picture_params *params,
                            tg_error *err) {
    const tg_picture_params none = {0};
    tg_scene                s = {.layout = layout, .params = params != NULL ? params : &none};
    tg_grain                other;
    tg_status               status = check_params(layout, s.params, err);
    if (status == TG_OK) status = prepare(&s, &other, err);
    if (status != TG_OK) return status;
    s.picture = calloc(1, sizeof *s.picture);
    if (s.picture == NULL) return tg_fail(err, TG_ERR_NOMEM, "no memory for a picture");
    if (s.params->title != NULL) tg_words_title(s.picture->title, sizeof s.picture->title, s.params->title);
    s.picture->ndim = layout->ndim;
    s.picture->width = s.width;
    make_panels(&s, &other);
    tg_words_below(&s);
    *out = s.picture;
    return TG_OK;
}

void tg_picture_destroy(tg_picture **picture) {
    free(*picture);
    *picture = NULL;
}
