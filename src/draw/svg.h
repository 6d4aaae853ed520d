/* What the files that write SVG share. */
#ifndef TG_DRAW_SVG_H
#define TG_DRAW_SVG_H

#include "draw/scene.h"

/* What is being written, in the coordinates of the group that is open. */
typedef struct tg_svg {
    tg_writer        *w;
    const tg_picture *picture; /* NULL in the story of a transfer */
    int32_t           width; /* for sentences */
    int32_t           y;     /* of the next thing */
} tg_svg;

typedef struct tg_area {
    int32_t x, y, w, h;
} tg_area;

/* ---- svg.c ---- */

/* A pattern whose every `%` stands for the next number. */
#define TG_PUT(w, pattern, ...) tg_put_pattern(w, pattern, (const int64_t[]){__VA_ARGS__})
void tg_put_pattern(tg_writer *w, const char *pattern, const int64_t *values);

void tg_svg_text(const tg_svg *s, int32_t x, int32_t y, const char *class, const char *text);
void tg_svg_rect(const tg_svg *s, const tg_area *a, const char *attributes);
/* Words from s->y on, broken at blanks into lines of at most `room` characters, `height` pixels apart. */
void tg_svg_words(tg_svg *s, const char *text, const char *class, int32_t room, int32_t height);
void tg_svg_sentence(tg_svg *s, const char *text, const char *class);
int32_t tg_svg_pixels(int32_t characters); /* of cells */

/* The file up to its content, which is s->width wide and so high, and its end. */
void tg_svg_open(tg_svg *s, const char *title, const char *about, int32_t height, tg_theme theme);
void tg_svg_close(const tg_svg *s);

/* The signs of a legend, from left to right and in lines of s->width. */
enum { TG_LEGEND_LEFT = 2, TG_LEGEND_LINE = 22 };
/* What a sign means, from *x on, which moves behind it; where the sign itself has its place. */
tg_area tg_svg_meaning(tg_svg *s, int32_t *x, const char *text);
void    tg_svg_legend(tg_svg *s, int32_t *x, const char *attributes, const char *text); /* a box */
void    tg_svg_legend_word(tg_svg *s, int32_t *x, const char *word, const char *text);  /* up to four characters */
void    tg_svg_legend_padding(tg_svg *s, int32_t *x, const char *text);
void    tg_svg_escaped(tg_writer *w, const char *text);

/* ---- svg_panel.c ---- */

int32_t tg_svg_panel_width(const tg_panel *panel);
/* From the corner of the open group on; s->y is then its height. */
void tg_svg_panel(tg_svg *s, const tg_panel *panel);

/* ---- svg_legend.c ---- */

void tg_svg_picture_legend(tg_svg *s);

/* ---- svg_order.c: the way of the device through a panel of the tensor ---- */

enum { TG_LANE = 18, TG_STRIP = 14 }; /* right of the words of a cell, and below them */

typedef struct tg_ways {
    bool next, later; /* whether there are arrows to what the device reads next, and to what it reads later */
} tg_ways;

bool    tg_svg_has_order(const tg_panel *panel);
tg_ways tg_svg_ways(const tg_panel *panel);
void    tg_svg_order(const tg_svg *s, const tg_panel *panel, int32_t top);
tg_area tg_svg_cell_area(const tg_panel *panel, int32_t r, int32_t c, int32_t top);
#define TG_SVG_SOLID "fill=\"none\" stroke=\"#0b0d11\" stroke-opacity=\".75\" stroke-width=\"1.5\" "
#define TG_SVG_DASHED TG_SVG_SOLID "stroke-dasharray=\"4 3\" "

#endif
