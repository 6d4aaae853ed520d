/* What lines of text are drawn with: characters, colours, sentences. */
#ifndef TG_DRAW_PEN_H
#define TG_DRAW_PEN_H

#include "base/text.h"

#include <tegula/draw.h>

/* Lines and marks. */
typedef struct tg_pen_set {
    const char *across, *down, *thick, *row_gap, *col_gap, *hatch, *arrow;
    const char *corner[3][3]; /* top, rule, bottom; left, between, right */
} tg_pen_set;

typedef struct tg_pen {
    tg_writer        *w;
    const tg_pen_set *set;
    bool              colour;
    int32_t           width; /* for sentences */
} tg_pen;

/* Backgrounds of the 256 colours; the nearest to those of svg.c. */
extern const char *const tg_pen_background[TG_DRAW_COLOURS];

tg_pen tg_pen_make(tg_writer *w, uint32_t style, int32_t width); /* style: of tg_text_style */
void   tg_pen_times(const tg_pen *pen, const char *text, int32_t times);
void   tg_pen_styled(const tg_pen *pen, const char *style, const char *text);
/* Words from column `indent` on, and a line end. */
void tg_pen_sentence(const tg_pen *pen, const char *text, int32_t indent);
/* A mark, in up to three pieces, and what it means; on the next line if this one, filled up to *column, is full. */
void tg_pen_legend(const tg_pen *pen, int32_t *column, const char *const mark[3], const char *meaning);

#endif
