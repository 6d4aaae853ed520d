/* Private to the files of the story of a transfer.
 *
 *     story.c       checks the wishes, puts the story together
 *     story_find.c  which run touches a place: a program read backwards
 *     story_runs.c  which runs are shown, and their parts of memory
 *     story_words.c names, headings, notes
 *     story_text.c, story_svg.c   the two renderers */
#ifndef TG_DRAW_STORY_H
#define TG_DRAW_STORY_H

#include "base/text.h"
#include "layout/layout.h"

#include <tegula/draw.h>

typedef enum tg_side { TG_SIDE_HOST = 0, TG_SIDE_DEVICE } tg_side;

typedef struct tg_teller {
    const tg_story_params *params;
    tg_story              *story;
    bool                   has_follow; /* a run carries it */
    int64_t                follow[TG_MAX_NDIM];
    size_t                 follow_nest;
    int64_t                follow_run;  /* counted in its descriptor */
    int64_t                follow_at;   /* element of the run */
    int64_t                work;        /* steps that searches may still take */
} tg_teller;

/* ---- story_find.c ---- */

static inline int64_t tg_step_of(const tg_draw_loop *l, tg_side side) {
    return side == TG_SIDE_HOST ? l->host_stride : l->device_stride;
}

static inline int64_t tg_start_of(const tg_draw_nest *n, tg_side side) {
    return side == TG_SIDE_HOST ? n->host_offset : n->device_offset;
}

/* Lowest and highest place of that memory; false if that does not fit. */
bool tg_nest_reach(const tg_draw_nest *nest, tg_side side, int64_t *low, int64_t *high);

/* Loops around a run: all but the innermost if that walks place by place. */
int32_t tg_nest_outer(const tg_draw_nest *nest);
int64_t tg_nest_length(const tg_draw_nest *nest); /* elements of a run */
int64_t tg_nest_runs(const tg_draw_nest *nest);   /* fits: tg_story_create has checked it */

typedef enum tg_found { TG_FOUND_NONE = 0, TG_FOUND, TG_FOUND_UNKNOWN } tg_found;

/* The first descriptor that touches the place, and how its loops stand then (0 in those that do not move there);
 * UNKNOWN if that takes more work than is left. */
tg_found tg_find_touch(tg_teller *t, tg_side side, int64_t place, size_t *nest, int64_t index[TG_STORY_LOOPS]);

/* How far the next place that is touched is from `place` on, walking by 1 or -1: at most `most`, which means none
 * before; false if that takes more work than is left. */
bool tg_find_next_touch(tg_teller *t, tg_side side, int64_t place, int64_t by, int64_t *most);

/* ---- story_runs.c ---- */

void tg_story_choose(tg_teller *t);
void tg_story_fill_strip(tg_teller *t, tg_side side);

/* ---- story_words.c ---- */

/* i, j, ..., z, then i1, j1, ... */
void tg_put_variable(tg_writer *w, int32_t loop);
void tg_story_name_run(const tg_teller *t, tg_story_run *run, int32_t letter);
void tg_story_label_part(const tg_story *s, tg_story_part *part);
/* What stands beside a part: its offsets, or how many places are not drawn. */
void tg_story_margin(char *text, size_t cap, const tg_story_part *part);
void tg_story_words(tg_teller *t); /* headings, notes, the story in words */

#endif
