/* tegula/draw.h - pictures of layouts and of transfers: which cells a person should see, then as text or as SVG.
 *
 * The conventions of tegula.h hold. A picture is made once, by the evaluator of tegula.h alone: panels of cells, each
 * with the elements it stands for and their offsets. What is left out of a large tensor is decided there as well, so
 * text and SVG show the same. Rendering knows nothing of layouts.
 *
 * Panels, in this order:
 *   logical   rows and columns of the tensor, one panel for each plane that is shown, with the padding beside it
 *   host      the memory of the tensor before it was tiled (params->host), line by line
 *   device    the memory of the layout, line by line
 *   inside    one stick or tile, element by element: the one with the followed element
 * One element is followed through all of them.
 *
 * Example: f16[5,100,150] on Spyre has 1500 sticks of 64 elements. The logical plane d0 = 4 has columns 0..63, 64..127,
 * 128..149 and 150..191, the last of which is padding; the cell of row 99 and columns 128..149 says 95936..95957.
 */
#ifndef TEGULA_DRAW_H
#define TEGULA_DRAW_H

#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TG_DRAW_COLOURS 6
#define TG_DRAW_ROWS    12 /* at most, in one panel, gaps included */
#define TG_DRAW_COLS    20
#define TG_DRAW_PANELS  6
#define TG_DRAW_NOTES   8

typedef enum tg_cell_kind {
    TG_CELL_NONE = 0, /* nothing: past the end of the memory */
    TG_CELL_DATA,     /* at least one element */
    TG_CELL_PADDING,  /* places, and no element in them */
    TG_CELL_GAP,      /* stands for rows or columns that are not drawn */
    TG_CELL_UNKNOWN   /* what lies here takes too long to find: TG_ERR_LIMIT of tg_layout_coord */
} tg_cell_kind;

/* A box of the tensor (logical, inside) or a run of memory (host, device). */
typedef struct tg_cell {
    tg_cell_kind kind;
    int32_t      colour;            /* [0, TG_DRAW_COLOURS), shown as a letter too; -1: none */
    bool         marked;            /* holds the followed element */
    bool         moved;             /* with params->other: some element lies at another offset there, or, if elements
                                     * are wider or narrower there, at another bit */
    bool         padding_last;      /* all of its padding comes after its elements */
    bool         is_loose;          /* a box: there are places between `from` and `to` that it has not */
    int64_t      data, padding;     /* how many elements, and places of padding */
    int64_t      from, to;          /* lowest and highest offset: of its elements in a box, of its places in a run;
                                     * of padding in a box -1 where its places are not known */
    bool         is_shared;         /* with params->splits: its elements are several cores' */
    int64_t      core;              /* with params->splits: whose it is; else, if shared, and for padding, -1 */
    int64_t      unit;              /* number of the stick or tile of the layout that has all of it, -1 if none has */
    int64_t      low[TG_MAX_NDIM];  /* its elements lie in low .. high (a box of padding: its coordinates) */
    int64_t      high[TG_MAX_NDIM];
    char         label[112];        /* what it says; "" for gaps, padding and nothing. "3..5" are 3, 4, 5, and "3~9"
                                     * goes from 3 to 9 with others between */
} tg_cell;

/* A row or a column of a panel. */
typedef struct tg_track {
    int64_t first, last; /* coordinates along the panel's dimension; offsets of a line of memory, or places in a line */
    int64_t hidden;      /* > 0: a gap, in place of so many rows or columns */
    bool    begins;      /* a stick or tile begins here, in a panel of elements */
    char    label[48];
} tg_track;

typedef enum tg_view { TG_VIEW_LOGICAL = 1, TG_VIEW_HOST = 2, TG_VIEW_DEVICE = 4, TG_VIEW_INSIDE = 8 } tg_view;

typedef struct tg_panel {
    tg_view  view;
    bool     is_other;         /* shows params->other */
    bool     is_numbered;      /* every cell is a part of one stick or tile, whose number is worth saying */
    bool     shows_order;      /* labels are in the order of the device */
    char     title[96];
    char     caption[256];     /* whole sentences */
    char     row_heading[16];  /* what the rows count: "d1", "offset" */
    char     col_heading[16];
    int32_t  nrows, ncols;     /* both 0 if there is nothing to show */
    tg_track row[TG_DRAW_ROWS], col[TG_DRAW_COLS];
    tg_cell  cell[TG_DRAW_ROWS][TG_DRAW_COLS];
} tg_panel;

typedef struct tg_picture {
    char     title[256]; /* params->title, shortened if it is longer */
    char     about[1024]; /* the picture in words, for those who do not see it */
    char     unit_name[24]; /* "stick" */
    char     numbers[96];   /* what #n is in panels that are numbered */
    int32_t  ndim;
    int32_t  width;      /* characters */
    int32_t  npanels, nnotes;
    tg_panel panel[TG_DRAW_PANELS];
    char     note[TG_DRAW_NOTES][384];
} tg_picture;

typedef enum tg_draw_label {
    TG_LABEL_USUAL = 0, /* offsets in boxes, coordinates in runs */
    TG_LABEL_COORD,
    TG_LABEL_OFFSET,    /* in the panel's own memory; boxes: in the layout's */
    TG_LABEL_BYTE,      /* the same as byte addresses; "12.4" is bit 4 of byte 12 */
    TG_LABEL_ORDER      /* when the device comes by, walking through its memory: stick, tile or place, from 0 */
} tg_draw_label;

typedef struct tg_picture_params { /* zero-initialise for defaults; read during create only */
    const char      *title;     /* NULL: none */
    const tg_layout *host;      /* same shape; NULL: no host panel */
    const tg_layout *other;     /* same shape: show what would move if the layout became this one; NULL: nothing.
                                 * Goes with labels of offsets and bytes, and not with splits */
    const char      *unit_name; /* "stick"; NULL: "tile" */
    int64_t          unit;      /* elements of a stick or tile, its padding included; 0: found from the digits */
    const char      *other_unit_name; /* the same two of `other` */
    int64_t          other_unit;
    const int64_t   *follow;    /* coordinate of the followed element; NULL: the last one */
    const int64_t   *slice;     /* ndim numbers: a coordinate, or -1 for a dimension to show, of which there are one or
                                 * two unless ndim is less; NULL: two that the tiles cut, else the last two */
    const int64_t   *splits;    /* ndim numbers: into how many parts each dimension is divided among cores. The parts
                                 * share its elements evenly, or its sticks or tiles if these cut it. Cells then say
                                 * which core has them, counted with dimension 0 fastest. Not with TG_LABEL_ORDER.
                                 * NULL: nothing is divided */
    uint32_t         views;     /* tg_view bits; 0: all that there are */
    tg_draw_label    label;
    int32_t          width;     /* characters of a line, >= 40; 0: 80 */
    int64_t cores; /* with splits: how many there are, where a note is to say that some do nothing; else 0 */
} tg_picture_params;

/* Defaults with what the notation of a layout knows: unit, unit_name and, of layouts with sticks or tiles, the tensor
 * before it was tiled, which is written to *host; params->host then points there. As tg_layout_strided fails. */
TG_API tg_status tg_picture_params_init(tg_picture_params *params, tg_layout *host, const tg_desc *desc, tg_error *err);

/* Make a picture. Fails with TG_ERR_ARGUMENT for coordinates outside the tensor, shapes that differ, fields out of
 * range, fields that do not go together, and views that there are not (host without params->host, inside without
 * sticks or tiles of more than 16 places, neither of them with params->other); as tg_layout_validate and
 * tg_layout_nbytes do; with TG_ERR_NOMEM. post: at most 1 MiB, whatever the layout. */
TG_API tg_status tg_picture_create(tg_picture **out, const tg_layout *layout, const tg_picture_params *params,
                                   tg_error *err);

TG_API void tg_picture_destroy(tg_picture **picture); /* *picture may be NULL */

typedef enum tg_text_style {
    TG_TEXT_ASCII = 1,  /* nothing but ASCII; else UTF-8 with box drawing */
    TG_TEXT_COLOUR = 2  /* escape sequences of terminals with 256 colours */
} tg_text_style;

/* The picture as lines of text; style is a union of tg_text_style. Panels that are wider than params->width are cut
 * between columns, so a line is at most that wide, unless a single column or one long word of the title needs more. */
TG_API size_t tg_picture_text(char *buf, size_t cap, const tg_picture *picture, uint32_t style);

typedef enum tg_theme {
    TG_THEME_AUTO = 0, /* light, or dark where the reader's system says so */
    TG_THEME_LIGHT, TG_THEME_DARK
} tg_theme;

/* The picture as one SVG file, without references to others: under 300 kB, the same bytes for the same picture. */
TG_API size_t tg_picture_svg(char *buf, size_t cap, const tg_picture *picture, tg_theme theme);

/* ---- transfers ----
 *
 * The story of a transfer: which run of elements goes from which place of host memory to which place of device memory,
 * in which order. The program comes as data, so it may be tegula/transfer.h's or anyone's.
 *
 * A run is what one pass of the innermost loop carries, if that loop walks place by place in both memories; else each
 * element is a run. Of many runs a few are shown, the same ones in both memories: the first and the last of the
 * descriptors, those where an outer loop takes its first step, and that of the followed element. */

#define TG_STORY_LOOPS 48
#define TG_STORY_NESTS 4  /* shown */
#define TG_STORY_RUNS  14 /* shown */
#define TG_STORY_PARTS 64

typedef struct tg_draw_loop {
    int64_t range, device_stride, host_stride; /* range >= 1; strides in elements */
} tg_draw_loop;

/* One descriptor of a program. */
typedef struct tg_draw_nest {
    int32_t             nloops; /* [0, TG_STORY_LOOPS] */
    int64_t             device_offset, host_offset;
    const tg_draw_loop *loop; /* outermost first */
    const char         *text; /* lines that show it */
} tg_draw_nest;

typedef struct tg_story_run {
    int64_t number;                /* in the order of execution, from 0 */
    size_t  nest;                  /* its descriptor, from 0 */
    int32_t nsteps;                /* loops around it */
    int64_t step[TG_STORY_LOOPS];  /* where they stand */
    int64_t host, device, length;  /* elements [host, host + length) of host memory; the same of the device */
    bool    knows_elements;
    int64_t first[TG_MAX_NDIM], last[TG_MAX_NDIM]; /* coordinates of its first and last element */
    bool    followed;              /* holds the followed element */
    int32_t host_part, device_part; /* where it is in the strips */
    char    name[32];              /* "C #4": a letter for each run that is shown */
    char    steps[64];             /* "2: i=0 j=4": the descriptor, if there are several, and the loops */
    char    elements[96];          /* "(4,99,128..149)"; "" if not known */
} tg_story_run;

typedef enum tg_part_kind {
    TG_PART_RUN = 0,
    TG_PART_UNTOUCHED, /* no descriptor comes here */
    TG_PART_HIDDEN     /* runs that are not shown, and what lies between them */
} tg_part_kind;

/* Places from..to of a memory. */
typedef struct tg_story_part {
    tg_part_kind kind;
    int64_t      from, to;
    int32_t      run;      /* the first of run[] that is carried from or to here */
    int32_t      nruns;    /* how many of them are */
    char         label[96];
} tg_story_part;

/* A memory from its first place to the last one. */
typedef struct tg_story_strip {
    int32_t       nparts;
    tg_story_part part[TG_STORY_PARTS];
} tg_story_strip;

typedef struct tg_story {
    char           title[256];
    char           about[512];
    int32_t        ndim, width;
    bool           to_host;
    size_t         nnests;          /* of the program */
    int64_t        nruns_in_all, nelements;
    int32_t        nruns, nshown, nnotes;
    tg_story_run   run[TG_STORY_RUNS]; /* in the order of execution */
    tg_story_strip host, device;
    size_t         shown[TG_STORY_NESTS]; /* descriptors, with a heading and their text */
    char           heading[TG_STORY_NESTS][128];
    const char    *text[TG_STORY_NESTS];
    char           note[TG_DRAW_NOTES][256];
} tg_story;

typedef struct tg_story_params { /* read during create only */
    const char         *title;        /* NULL: none */
    const tg_layout    *device, *host; /* of the same shape */
    const tg_draw_nest *nest;
    size_t              nnests;
    bool                to_host;
    const int64_t      *follow; /* coordinate of the followed element; NULL: the last one */
    int32_t             width;  /* characters of a line, >= 40; 0: 80 */
} tg_story_params;

/* Fails with TG_ERR_ARGUMENT for layouts of different shapes, a descriptor that leaves a memory, coordinates outside
 * the tensor and a width that is too small; with TG_ERR_OVERFLOW if the elements carried do not fit 63 bits; as
 * tg_layout_validate and tg_layout_nbytes do; with TG_ERR_NOMEM. */
TG_API tg_status tg_story_create(tg_story **out, const tg_story_params *params, tg_error *err);
TG_API void      tg_story_destroy(tg_story **story); /* *story may be NULL */

/* As tg_picture_text and tg_picture_svg. Lines of text are as wide as params->width, unless a run and its places in
 * both memories need more. */
TG_API size_t tg_story_text(char *buf, size_t cap, const tg_story *story, uint32_t style);
TG_API size_t tg_story_svg(char *buf, size_t cap, const tg_story *story, tg_theme theme);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_DRAW_H */
