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

/* A box with these attributes (NULL: the sign of a gap) and what it means; where the next one begins. */
int32_t tg_svg_legend(const tg_svg *s, int32_t x, const char *attributes, const char *text);
void    tg_svg_escaped(tg_writer *w, const char *text);

/* ---- svg_panel.c ---- */

int32_t tg_svg_panel_width(const tg_panel *panel);
/* From the corner of the open group on; s->y is then its height. */
void tg_svg_panel(tg_svg *s, const tg_panel *panel);

#endif
