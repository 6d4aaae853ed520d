/* Private to the draw room: how a picture is put together.
 *
 * A scene is what stays the same while the panels are made: the layout, how it is cut into cells, what is followed and
 * which dimensions are shown. The files follow the work:
 *
 *     scene.c    what is shown and followed, the size of cells, the colours
 *     picture.c  checks the wishes, makes the panels in turn
 *     wishes.c   what the notation of a layout wishes by itself
 *     words.c    captions, titles, and the notes below
 *     grain.c    finds sticks and tiles, and how far padding reaches, from the digits of the layout
 *     tracks.c   which rows and columns are shown, and where gaps stand for the others: the only place that leaves out
 *     boxes.c    panels of the tensor: logical, and inside a tile
 *     runs.c     panels of memory: host, device, and inside a stick
 *     label.c    what a cell says
 *     measure.c  how wide that is in characters
 *     pen.c      what lines of text are drawn with
 *     lines.c    a picture as text
 *     svg.c, svg_panel.c, svg_order.c, svg_legend.c   a picture as SVG
 *
 * The story of a transfer has no scene: story.h.
 */
#ifndef TG_DRAW_SCENE_H
#define TG_DRAW_SCENE_H

#include "base/text.h"
#include "layout/layout.h"

#include <tegula/draw.h>

enum {
    TG_LARGEST_CELL = 4096, /* elements that are looked at for one cell */
    TG_SMALL_UNIT = 16,     /* a stick or tile up to this size is drawn element by element */
    TG_FEWEST_COLS = 2,     /* nothing but what must be seen, and gaps */
    TG_FEW_COLS = 4         /* and no gap for a single column */
};

/* count * step, at most limit; count and limit >= 0, step >= 1 */
static inline int64_t tg_times_at_most(int64_t count, int64_t step, int64_t limit) {
    return count > limit / step ? limit : count * step;
}

/* How a layout is cut. A unit is a stick or a tile: the innermost digits of memory, one piece of it. */
typedef struct tg_grain {
    bool    dense;               /* memory modes fill [0, filled), each place once */
    int64_t filled;
    int64_t unit;                /* places of a unit; 1: there are none */
    int64_t line;                /* places of a line of memory: the units of the next digit, or one digit of elements */
    int64_t tile[TG_MAX_NDIM];   /* how much of each dimension a unit spans */
    int64_t padded[TG_MAX_NDIM]; /* how far the digits of a dimension reach, at least its size */
} tg_grain;

void tg_grain_find(tg_grain *out, const tg_layout *l, int64_t unit);

typedef struct tg_scene {
    const tg_layout         *layout;
    const tg_picture_params *params;
    tg_picture              *picture;
    tg_grain                 grain;
    int64_t cell[TG_MAX_NDIM];   /* how much of each dimension a cell of the logical panel spans */
    bool    has_follow;
    int64_t follow[TG_MAX_NDIM];
    int64_t at[TG_MAX_NDIM];     /* of the plane that is made, -1 for the dimensions shown */
    int32_t row_dim, col_dim;    /* -1: none */
    int32_t colour_dim;          /* what letters count where no tiles do: the same in all panels; -1: nothing */
    int32_t width;               /* characters */
    bool    says_core;           /* in the usual label */
    bool    is_inside;           /* a stick or tile: cells have little room */
} tg_scene;

/* Whether sticks or tiles are so large that a cell is a part of one, and not an element. */
bool tg_scene_is_coarse(const tg_scene *s);

/* Whether cells of the tensor span several elements. */
bool tg_scene_cuts(const tg_scene *s);

const char *tg_scene_unit_name(const tg_scene *s); /* "stick" */

/* The colour of the element at coord. */
int32_t tg_scene_colour(const tg_scene *s, const int64_t *coord);

/* Whose element it is; -1 if nothing is divided. */
int64_t tg_scene_core(const tg_scene *s, const int64_t *coord);
tg_status tg_scene_check_splits(const tg_scene *s, tg_error *err);

/* Whether coord is the followed element. */
bool tg_scene_follows(const tg_scene *s, const int64_t *coord);

/* Whether the element lies elsewhere in params->other, which is not NULL; by bits where elements are as wide there as
 * here no more. Labels are bytes then too. */
bool tg_scene_moves(const tg_scene *s, const int64_t *coord);
bool tg_scene_compares_bytes(const tg_scene *s);

/* A sentence on what colours tell. */
void tg_scene_put_colours(tg_writer *w, const tg_scene *s);

/* Which dimensions are rows and columns; s->at of the others if the wishes say so. */
tg_status tg_scene_choose_dims(tg_scene *s, tg_error *err);
tg_status tg_scene_choose_follow(tg_scene *s, tg_error *err);
/* Cells that respect the tiles of the layout, and of the other one if there is one. */
void tg_scene_choose_cells(tg_scene *s, const tg_grain *other);

/* ---- tracks.c ---- */

enum { TG_MAX_PICKS = TG_DRAW_COLS };

/* Item `index`, or, if hidden > 0, a gap in place of `hidden` items from `index` on. */
typedef struct tg_pick {
    int64_t index, hidden;
} tg_pick;

/* Choose from n items with room for `room` picks (more only for what must be seen): the first and the last, those of
 * must[0..nmust), then what fits, from both ends. Returns the number of picks. */
int32_t tg_tracks_choose(tg_pick picks[TG_MAX_PICKS], int64_t n, int32_t room, const int64_t *must, int32_t nmust);

/* How many columns to try after `room`, which is 0 for the fewest: these are made first, and show how wide columns are.
 * 0: the panel is as it should be. */
int32_t tg_next_room(const tg_panel *panel, int32_t width, int32_t room);

/* Whether one column is left out of a panel that text has to cut in any case. */
bool tg_hides_one(const tg_panel *panel, int32_t width);

/* ---- panels ---- */

/* The box low .. high (high included) of the tensor, as cells of `step`; the panel has its title. */
typedef struct tg_window {
    int64_t low[TG_MAX_NDIM], high[TG_MAX_NDIM];
    int64_t step[TG_MAX_NDIM];
    bool    padding; /* with what lies beside the tensor, as far as `high` reaches */
} tg_window;

/* Returns whether in every box of elements one follows the other in memory. */
bool tg_boxes_fill(tg_scene *s, tg_panel *panel, const tg_window *window);

/* A stretch of a layout's memory as lines. */
typedef struct tg_stretch {
    const tg_layout *layout;
    int64_t          start, length; /* offsets [start, start + length) */
    int64_t          line;          /* places of a line */
    int64_t          step;          /* places of a cell, unless edge is given */
    const int64_t   *edge;          /* the cells of a line: edge[k] .. edge[k + 1] - 1 */
    int64_t          nedges;        /* cells that edge gives */
    int64_t          unit;          /* 1: none */
} tg_stretch;

void tg_runs_fill(tg_scene *s, tg_panel *panel, const tg_stretch *stretch);

/* The memory of a layout, cut as the scene's cells are. */
void tg_runs_of_layout(tg_stretch *out, const tg_scene *s, const tg_layout *l, const tg_grain *grain);

/* Where the elements of the unit at `start` and its stretches of padding begin: at most TG_LARGEST_CELL + 1 edges. */
int64_t tg_runs_edges(int64_t *edge, const tg_layout *l, int64_t start, int64_t unit);

/* ---- words.c ---- */

#define TG_WRITER(field) tg_writer_make(field, sizeof(field))

/* A title, shortened if cap is less than it needs. Characters that a terminal or XML cannot show become `?`. */
void tg_words_title(char *to, size_t cap, const char *title);
void tg_words_of_plane(tg_panel *panel, const tg_scene *s); /* its title */
void tg_words_of_boxes(tg_panel *panel, const tg_scene *s, bool steady);
void tg_words_of_runs(tg_panel *panel, const tg_scene *s, const tg_stretch *m);
void tg_words_below(tg_scene *s); /* notes, and the picture in words */

/* ---- label.c ---- */

void tg_put_range(tg_writer *w, int64_t from, int64_t to);
/* "(4,99,128..149)": never shortened, as any dimension may be the one that tells two cells apart. With numbers of
 * 63 bits in all and units of at most TG_LARGEST_CELL places it has at most 110 characters. */
void tg_put_box(tg_writer *w, const int64_t *low, const int64_t *high, int32_t ndim);
void tg_put_place(tg_writer *w, int64_t offset, int32_t bits); /* the byte, and the bit if it is not 0 */
/* The bytes from the first bit of `from` to the last of `to`. */
void tg_put_bytes_of(tg_writer *w, int64_t from, int64_t to, int32_t bits);
/* Whether `bits` wide elements at two offsets begin at the same bit. */
bool tg_same_place(int64_t a, int32_t a_bits, int64_t b, int32_t b_bits);
/* Whether the cell says its core; then that is written. */
bool tg_label_core(tg_cell *cell, const tg_scene *s);
void tg_label_offsets(char *label, size_t cap, const tg_scene *s, const tg_cell *cell, int32_t bits);

/* ---- measure.c: in characters ---- */

enum { TG_CORNER = 40 };

/* What stands above the rows and left of the columns: "d1 \\ d2". */
void tg_corner(char corner[TG_CORNER], const tg_panel *panel);

int32_t tg_text_width(const char *utf8);

/* What of a picture wants to be explained below it. */
typedef struct tg_signs {
    bool followed, padding, gap, unknown, stays;
    bool after, among; /* cells whose padding comes last; others with elements and padding */
    bool loose;        /* labels with `~` */
    bool begins;       /* thick lines */
    bool numbered;     /* #n */
} tg_signs;

tg_signs tg_picture_signs(const tg_picture *p);
int32_t tg_cell_width(const tg_cell *cell);
int32_t tg_col_width(const tg_panel *panel, int32_t col);
int32_t tg_row_label_width(const tg_panel *panel);
int32_t tg_panel_width(const tg_panel *panel);

#endif
