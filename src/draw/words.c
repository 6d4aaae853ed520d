/* The words of a picture: captions and titles of panels, the notes below, and all of it for those who do not see. */
#include "draw/scene.h"

#include <string.h>

static void put_count(tg_writer *w, int64_t n, const char *one) {
    tg_put_int(w, n);
    tg_put_char(w, ' ');
    tg_put_text(w, one);
    if (n != 1) tg_put_char(w, 's');
}

static bool has_host(const tg_scene *s) { return s->params->host != NULL; }

static void put_width(tg_writer *w, int64_t bits) {
    if (bits % 8 == 0) put_count(w, bits / 8, "byte");
    else put_count(w, bits, "bit");
}

static const char *memory_name(const tg_scene *s) { return has_host(s) ? "device memory" : "memory"; }

/* ---- captions and titles --------------------------------------------------------------------------- */

void tg_words_of_boxes(tg_panel *panel, const tg_scene *s, bool steady) {
    tg_writer w = TG_WRITER(panel->caption);
    if (s->params->other != NULL) {
        tg_put_text(&w, tg_scene_compares_bytes(s) ? "Byte before > byte after" : "Offset before > offset after");
        tg_put_text(&w, ", of the first element of a cell that moves; = all of the cell stays.");
    }
    else if (s->params->label == TG_LABEL_COORD) tg_put_text(&w, "Numbers are coordinates.");
    else if (s->says_core && s->params->label == TG_LABEL_USUAL) tg_put_text(&w, "Cells say which core works on them.");
    else if (s->params->label == TG_LABEL_ORDER && tg_scene_is_coarse(s) && panel->view == TG_VIEW_LOGICAL) {
        tg_put_text(&w, "#n: the device reads this as number n.");
    } else {
        tg_put_text(&w, s->params->label == TG_LABEL_BYTE ? "Numbers are bytes in " : "Numbers are offsets in ");
        tg_put_text(&w, memory_name(s));
        if (steady && tg_scene_cuts(s) && panel->view == TG_VIEW_LOGICAL)
            tg_put_text(&w, "; inside a cell one element follows the other");
        if (s->params->label == TG_LABEL_ORDER) tg_put_text(&w, ", in the order in which the device reads");
        tg_put_char(&w, '.');
    }
    (void)tg_writer_end(&w);
}

/* Whether a cell has elements of several sticks or tiles, as in the memory of another layout. */
static bool has_several(const tg_panel *panel, const tg_scene *s) {
    for (int32_t r = 0; r < panel->nrows; r++)
        for (int32_t c = 0; c < panel->ncols; c++)
            if (s->grain.unit > 1 && panel->cell[r][c].data > 0 && panel->cell[r][c].unit < 0) return true;
    return false;
}

/* Of the memory that is shown. */
static const char *unit_name(const tg_scene *s, const tg_stretch *m) {
    const tg_picture_params *p = s->params;
    if (m->layout != p->other) return tg_scene_unit_name(s);
    if (p->other_unit > m->unit) return "piece";
    return p->other_unit_name != NULL ? p->other_unit_name : "tile";
}

void tg_words_of_runs(tg_panel *panel, const tg_scene *s, const tg_stretch *m) {
    tg_writer w = TG_WRITER(panel->caption);
    tg_put_text(&w, "A place is ");
    put_width(&w, m->layout->elem_bits);
    if (m->unit > 1) {
        tg_put_text(&w, ", a ");
        tg_put_text(&w, unit_name(s, m));
        tg_put_char(&w, ' ');
        put_count(&w, m->unit, "place");
    }
    tg_put_text(&w, ", a line ");
    if (m->unit > 1 && m->line % m->unit == 0) put_count(&w, m->line / m->unit, unit_name(s, m));
    else put_count(&w, tg_min(m->line, m->length), "place");
    tg_put_text(&w, s->params->label == TG_LABEL_BYTE ? ". Row and column add up to the byte."
                                                      : ". Row and column add up to the offset.");
    if (has_several(panel, s)) {
        tg_put_text(&w, " A cell may hold parts of several ");
        tg_put_text(&w, tg_scene_unit_name(s));
        tg_put_text(&w, "s: its letter is that of the first.");
    }
    (void)tg_writer_end(&w);
}

/* "(4,:,:)", as --slice has it. */
static void put_plane(tg_writer *w, const tg_scene *s) {
    for (int32_t d = 0; d < s->layout->ndim; d++) {
        tg_put_char(w, d == 0 ? '(' : ',');
        if (s->at[d] < 0) tg_put_char(w, ':');
        else tg_put_int(w, s->at[d]);
    }
    tg_put_char(w, ')');
}

void tg_words_of_plane(tg_panel *panel, const tg_scene *s) {
    tg_writer w = TG_WRITER(panel->title);
    int32_t   fixed = 0, last = 0;
    tg_put_text(&w, "Logical tensor");
    for (int32_t d = 0; d < s->layout->ndim; d++) {
        if (s->at[d] < 0 || s->layout->shape[d] == 1) continue;
        fixed++;
        last = d;
    }
    if (fixed > 0) tg_put_text(&w, ", plane ");
    if (fixed > 1) put_plane(&w, s);
    if (fixed == 1) {
        tg_put_char(&w, 'd');
        tg_put_int(&w, last);
        tg_put_text(&w, " = ");
        tg_put_int(&w, s->at[last]);
        tg_put_text(&w, " of 0..");
        tg_put_int(&w, s->layout->shape[last] - 1);
    }
    (void)tg_writer_end(&w);
}

/* ---- notes ------------------------------------------------------------------------------------------------ */

static tg_writer begin_note(tg_picture *p) {
    return tg_writer_make(p->note[p->nnotes++], sizeof p->note[0]);
}

static void put_where(tg_writer *w, const char *where, const tg_layout *l, int64_t offset) {
    tg_put_text(w, where);
    tg_put_text(w, "offset ");
    tg_put_int(w, offset);
    tg_put_text(w, " (byte ");
    tg_put_place(w, offset, l->elem_bits);
    tg_put_char(w, ')');
}

static int64_t count_copies(const tg_layout *l) {
    int64_t copies = 1;
    for (int32_t m = 0; m < l->nmodes; m++)
        if (l->mode[m].axis == TG_AXIS_COPY) copies *= l->mode[m].size; /* fits: positions have offsets */
    return copies;
}

static void put_follow(tg_writer *w, const tg_scene *s) {
    const tg_layout *l = s->layout;
    const int64_t    offset = tg_layout_offset(l, s->follow), copies = count_copies(l);
    tg_put_text(w, "Element ");
    tg_put_box(w, s->follow, s->follow, l->ndim);
    tg_put_text(w, " is at ");
    if (has_host(s)) {
        put_where(w, "host ", s->params->host, tg_layout_offset(s->params->host, s->follow));
        tg_put_text(w, " and at ");
    }
    put_where(w, has_host(s) ? "device " : "", l, offset);
    if (s->grain.unit > 1) {
        tg_put_text(w, ", place ");
        tg_put_int(w, offset % s->grain.unit);
        tg_put_text(w, " of ");
        tg_put_text(w, tg_scene_unit_name(s));
        tg_put_text(w, " #");
        tg_put_int(w, offset / s->grain.unit);
    }
    if (copies > 1) {
        tg_put_text(w, ", the first of ");
        tg_put_int(w, copies);
        tg_put_text(w, " copies");
    }
    if (s->params->other != NULL)
        put_where(w, "; after: ", s->params->other, tg_layout_offset(s->params->other, s->follow));
    tg_put_char(w, '.');
}

/* "21.9 %" */
static void put_percent(tg_writer *w, int64_t part, int64_t whole) {
    while (whole > INT64_MAX / 2000) {
        part /= 2;
        whole /= 2;
    }
    int64_t tenths = (part * 1000 + whole / 2) / whole;
    if (tenths == 0 && part > 0) {
        tg_put_text(w, "less than ");
        tenths = 1;
    } else if (tenths == 1000 && part < whole) {
        tg_put_text(w, "more than ");
        tenths = 999;
    }
    tg_put_int(w, tenths / 10);
    tg_put_char(w, '.');
    tg_put_int(w, tenths % 10);
    tg_put_text(w, " %");
}

/* What the storage holds, of which *padding places nothing. Overlapping strides are left alone: counting them can take
 * long. */
static bool put_padding(tg_writer *w, bool *unique, int64_t *padding, const tg_layout *l, const char *whose) {
    int64_t data = 0, filled = 0;
    *unique = true;
    if (!tg_layout_dense(&filled, l) && tg_layout_numel(l) > TG_LARGEST_CELL) return false;
    if (tg_layout_coverage(unique, NULL, &data, l, NULL) != TG_OK) return false;
    tg_put_text(w, whose);
    put_count(w, tg_layout_numel(l), "element");
    tg_put_text(w, " in ");
    put_count(w, l->span, "place");
    *padding = l->span - data;
    if (*padding == 0) tg_put_text(w, ", no padding.");
    else {
        tg_put_text(w, ": ");
        tg_put_int(w, *padding);
        tg_put_text(w, " are padding, ");
        put_percent(w, *padding, l->span);
        tg_put_char(w, '.');
    }
    return true;
}

/* Padding that the planes of the tensor draw, all planes together: it goes past the end of a row or a column. */
static int64_t count_beside(const tg_scene *s) {
    const tg_layout *l = s->layout;
    int64_t          places = count_copies(l);
    const int64_t    data = places * tg_layout_numel(l); /* fits: they have places of their own, as all below */
    for (int32_t d = 0; d < l->ndim; d++)
        places *= d == s->row_dim || d == s->col_dim ? s->grain.padded[d] : l->shape[d];
    return places - data;
}

/* " 1536 of these belong to no row or column of the tensor: only memory has them." */
static void put_unseen(tg_writer *w, const tg_scene *s, int64_t padding) {
    const tg_picture_params *p = s->params;
    if (!s->grain.dense || p->slice != NULL || (p->views != 0 && (p->views & TG_VIEW_LOGICAL) == 0)) return;
    const int64_t unseen = padding - count_beside(s);
    if (unseen == 0) return;
    tg_put_char(w, ' ');
    if (unseen == padding) tg_put_text(w, unseen == 1 ? "It belongs" : "They belong");
    else {
        tg_put_int(w, unseen);
        tg_put_text(w, unseen == 1 ? " of these belongs" : " of these belong");
    }
    tg_put_text(w, " to no row or column of the tensor: only memory has ");
    tg_put_text(w, unseen == 1 ? "it." : "them.");
}

/* "25 cores: d1 in 25 parts.", "6 of 7 cores: ..." */
static void put_splits(tg_writer *w, const tg_scene *s) {
    int64_t cores = 1;
    bool    first = true;
    for (int32_t d = 0; d < s->layout->ndim; d++) cores *= s->params->splits[d]; /* fits: checked */
    if (s->params->cores > cores) {
        tg_put_int(w, cores);
        tg_put_text(w, " of ");
        put_count(w, s->params->cores, "core");
        tg_put_text(w,
                    cores == 1 ? " works: the others would not get the same share" : " work, with the same share each");
    } else put_count(w, cores, "core");
    for (int32_t d = 0; d < s->layout->ndim; d++) {
        if (s->params->splits[d] == 1) continue;
        tg_put_text(w, first ? ": d" : ", d");
        tg_put_int(w, d);
        tg_put_text(w, " in ");
        put_count(w, s->params->splits[d], "part");
        first = false;
    }
    tg_put_char(w, '.');
}

/* For those who do not see the picture. */
static void describe(tg_picture *p) {
    tg_writer w = TG_WRITER(p->about);
    if (p->title[0] != '\0') {
        tg_put_text(&w, p->title);
        tg_put_text(&w, ". ");
    }
    for (int32_t k = 0; k < p->nnotes && k < 2; k++) {
        if (k > 0) tg_put_char(&w, ' ');
        tg_put_text(&w, p->note[k]);
    }
    (void)tg_writer_end(&w);
}

/* Whether a plane was asked for that is not that of the followed element. */
static bool is_outside(const tg_scene *s) {
    const tg_picture_params *p = s->params;
    if (p->slice == NULL || (p->views != 0 && (p->views & TG_VIEW_LOGICAL) == 0)) return false;
    for (int32_t d = 0; d < s->layout->ndim; d++)
        if (p->slice[d] >= 0 && p->slice[d] != s->follow[d]) return true;
    return false;
}

/* What the places of a comparison do not tell. */
static void put_types(tg_writer *w, const tg_scene *s) {
    tg_put_text(w, "An element is ");
    put_width(w, s->layout->elem_bits);
    tg_put_text(w, " before and ");
    put_width(w, s->params->other->elem_bits);
    tg_put_text(w, " after, so the cells of the tensor compare bytes.");
}

static void add_note(tg_picture *p, const char *text) {
    tg_writer w = begin_note(p);
    tg_put_text(&w, text);
    (void)tg_writer_end(&w);
}

static void add_comparison(tg_scene *s) {
    const tg_layout *l = s->layout, *other = s->params->other;
    if (l->elem_bits != other->elem_bits) {
        tg_writer w = begin_note(s->picture);
        put_types(&w, s);
        (void)tg_writer_end(&w);
    } else if (l->dtype != other->dtype) {
        add_note(s->picture, "The element type changes as well; the cells compare places only.");
    }
}

/* Whether every step goes past all that smaller steps reach; then no two elements share a place. */
static bool is_apart(const tg_layout *l) {
    for (int32_t m = 0; m < l->nmodes; m++) {
        const int64_t step = l->mode[m].stride < 0 ? -l->mode[m].stride : l->mode[m].stride;
        int64_t       reach = 0;
        if (!tg_is_memory(&l->mode[m]) || l->mode[m].size <= 1) continue;
        for (int32_t k = 0; k < l->nmodes; k++) {
            const int64_t other = l->mode[k].stride < 0 ? -l->mode[k].stride : l->mode[k].stride;
            if (k == m || !tg_is_memory(&l->mode[k]) || l->mode[k].size <= 1 || other > step) continue;
            reach += (l->mode[k].size - 1) * other; /* fits: a part of what all digits reach */
        }
        if (reach >= step) return false;
    }
    return true;
}

/* Whether it was looked at; else *unique says whether that is certain. */
static bool add_padding(const tg_scene *s, bool *unique, const tg_layout *l, const char *whose) {
    tg_writer w = begin_note(s->picture);
    int64_t   padding = 0;
    if (put_padding(&w, unique, &padding, l, whose)) {
        if (l == s->layout && *unique) put_unseen(&w, s, padding);
        (void)tg_writer_end(&w);
        return true;
    }
    s->picture->nnotes--;
    *unique = is_apart(l);
    return false;
}

static void add_notes(tg_scene *s) {
    tg_picture *p = s->picture;
    tg_writer   w;
    bool        unique = true, unique_after = true, counted = true;
    if (s->has_follow) {
        w = begin_note(p);
        put_follow(&w, s);
        (void)tg_writer_end(&w);
        if (is_outside(s)) add_note(p, "That is outside of the plane that is shown.");
    }
    if (s->params->other != NULL) add_comparison(s);
    if (s->params->splits != NULL && s->has_follow) {
        w = begin_note(p);
        put_splits(&w, s);
        (void)tg_writer_end(&w);
    }
    counted = add_padding(s, &unique, s->layout, s->params->other != NULL ? "Before: " : "");
    if (s->params->other != NULL) counted = add_padding(s, &unique_after, s->params->other, "After: ") && counted;
    if (!unique || !unique_after)
        add_note(p, counted ? "Some places hold several elements; memory names the first of them."
                            : "Places may hold several elements; memory names the first of them.");
    if (tg_layout_numel(s->layout) < 2) return;
    w = begin_note(p);
    tg_scene_put_colours(&w, s);
    if (w.len == 0) p->nnotes--;
    else (void)tg_writer_end(&w);
}

/* What the renderers explain, with the words of this layout. */
static void name_units(tg_scene *s) {
    tg_writer unit = TG_WRITER(s->picture->unit_name), w = TG_WRITER(s->picture->numbers);
    tg_put_text(&unit, tg_scene_unit_name(s));
    (void)tg_writer_end(&unit);
    tg_put_text(&w, tg_scene_unit_name(s));
    tg_put_text(&w, " n of ");
    tg_put_text(&w, s->params->other != NULL ? "the memory before" : memory_name(s));
    tg_put_text(&w, ", counted from 0");
    (void)tg_writer_end(&w);
}

void tg_words_below(tg_scene *s) {
    name_units(s);
    add_notes(s);
    describe(s->picture);
}

/* Characters that a terminal or XML cannot show become `?`. */
void tg_words_title(char *to, size_t cap, const char *title) {
    tg_writer    w = tg_writer_make(to, cap);
    const size_t room = cap - 4;
    size_t       left = strlen(title);
    while (left > 0) {
        const unsigned char *c = (const unsigned char *)title;
        const size_t         n = tg_utf8_length(c, left);
        const bool           plain = n > 0 && *c >= 0x20 && *c != 0x7f && !(n == 2 && *c == 0xc2 && c[1] < 0xa0);
        if (w.len + (n > 0 ? n : 1) > room) {
            tg_put_text(&w, "...");
            break;
        }
        if (plain) tg_put_bytes(&w, title, n);
        else tg_put_char(&w, '?');
        title += n > 0 ? n : 1;
        left -= n > 0 ? n : 1;
    }
    (void)tg_writer_end(&w);
}
