/* A program read backwards: which step of which descriptor touches a place of memory.
 *
 * The loops are tried by decreasing step. What is left of the way must be what the loops behind can still go, so that
 * of each only a few steps come into question: one, where a step is longer than all that the smaller ones go together,
 *
 *     place 640 of (100; 960) (2; 320) (5; 64) (64; 1)        0 * 960, then 640 is more than 320 + 256 + 63: none
 *     place 639                                               0 * 960 + 1 * 320 + 4 * 64 + 63 * 1 */
#include "draw/story.h"

#include "base/checked.h"

/* ---- shape of a descriptor ------------------------------------------------------------------ */

/* How far the loops go down and up; false if that does not fit. */
static bool way(const tg_draw_nest *nest, tg_side side, int64_t *down, int64_t *up) {
    *down = *up = 0;
    for (int32_t i = 0; i < nest->nloops; i++) {
        const int64_t step = tg_step_of(&nest->loop[i], side);
        if (!tg_muladd(step < 0 ? down : up, step < 0 ? *down : *up, nest->loop[i].range - 1, step)) return false;
    }
    return true;
}

bool tg_nest_reach(const tg_draw_nest *nest, tg_side side, int64_t *low, int64_t *high) {
    int64_t down, up;
    return way(nest, side, &down, &up) && tg_add(low, tg_start_of(nest, side), down) &&
           tg_add(high, tg_start_of(nest, side), up);
}

int32_t tg_nest_outer(const tg_draw_nest *nest) {
    if (nest->nloops == 0) return 0;
    const tg_draw_loop *inner = &nest->loop[nest->nloops - 1];
    return nest->nloops - (inner->device_stride == 1 && inner->host_stride == 1);
}

int64_t tg_nest_length(const tg_draw_nest *nest) {
    return tg_nest_outer(nest) < nest->nloops ? nest->loop[nest->nloops - 1].range : 1;
}

int64_t tg_nest_runs(const tg_draw_nest *nest) {
    int64_t runs = 1;
    for (int32_t i = 0; i < tg_nest_outer(nest); i++) runs *= nest->loop[i].range;
    return runs;
}

/* ---- the search -------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; } /* of strides in memory, never INT64_MIN */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

typedef struct search {
    tg_teller          *teller;
    const tg_draw_nest *nest;
    tg_side             side;
    int32_t             n, order[TG_STORY_LOOPS];                       /* loops that move, by decreasing step */
    int64_t             down[TG_STORY_LOOPS + 1], up[TG_STORY_LOOPS + 1]; /* how far loops k.. of the order go */
    int64_t            *index;
} search;

static void begin(search *s, int64_t *index) {
    s->n = 0;
    s->index = index;
    for (int32_t i = 0; i < s->nest->nloops; i++) {
        const int64_t step = magnitude(tg_step_of(&s->nest->loop[i], s->side));
        index[i] = 0;
        if (step == 0) continue;
        int32_t j = s->n++;
        for (; j > 0 && magnitude(tg_step_of(&s->nest->loop[s->order[j - 1]], s->side)) < step; j--)
            s->order[j] = s->order[j - 1];
        s->order[j] = i;
    }
    s->down[s->n] = s->up[s->n] = 0;
    for (int32_t k = s->n; k-- > 0;) {
        const tg_draw_loop *l = &s->nest->loop[s->order[k]];
        const int64_t       step = tg_step_of(l, s->side), all = step * (l->range - 1); /* fits: it is in memory */
        s->down[k] = s->down[k + 1] + (step < 0 ? all : 0);
        s->up[k] = s->up[k + 1] + (step < 0 ? 0 : all);
    }
}

/* Whether loops k.. of the order can go `left`. */
static tg_found go(search *s, int32_t k, int64_t left) {
    if (left < s->down[k] || left > s->up[k]) return TG_FOUND_NONE;
    if (k == s->n) return TG_FOUND;
    const tg_draw_loop *l = &s->nest->loop[s->order[k]];
    const int64_t       step = tg_step_of(l, s->side), rest = step < 0 ? s->down[k + 1] : s->up[k + 1];
    /* the last step after which what is left is not behind; then back until it is too far */
    const int64_t most = step < 0 ? floor_div(-(left - s->up[k + 1]), -step) : floor_div(left - s->down[k + 1], step);
    for (int64_t i = tg_min(most, l->range - 1); i >= 0; i--) {
        const int64_t then = left - i * step;
        if (step < 0 ? then < rest : then > rest) break;
        if (s->teller->work-- <= 0) return TG_FOUND_UNKNOWN;
        const tg_found found = go(s, k + 1, then);
        if (found == TG_FOUND) s->index[s->order[k]] = i;
        if (found != TG_FOUND_NONE) return found;
    }
    return TG_FOUND_NONE;
}

tg_found tg_find_touch(tg_teller *t, tg_side side, int64_t place, size_t *nest, int64_t index[TG_STORY_LOOPS]) {
    for (size_t i = 0; i < t->params->nnests; i++) {
        search  s = {.teller = t, .nest = &t->params->nest[i], .side = side};
        int64_t low = 0, high = 0;
        if (t->work-- <= 0) return TG_FOUND_UNKNOWN;
        (void)tg_nest_reach(s.nest, side, &low, &high); /* fits: checked */
        if (place < low || place > high) continue;
        begin(&s, index);
        const tg_found found = go(&s, 0, place - tg_start_of(s.nest, side));
        *nest = i;
        if (found != TG_FOUND_NONE) return found;
    }
    return TG_FOUND_NONE;
}

/* ---- the next place ----------------------------------------------------------------------------- */

/* The shortest way of loops k.. that is `least` or more, looking along `by`; *best if none is shorter. A loop that goes
 * against `by` is counted from its last step. */
static bool go_least(search *s, int32_t k, int64_t by, int64_t so_far, int64_t least, int64_t *best) {
    const int64_t low = by > 0 ? s->down[k] : -s->up[k], high = by > 0 ? s->up[k] : -s->down[k];
    if (s->teller->work-- <= 0) return false;
    if (so_far + high < least || so_far + tg_max(low, least - so_far) >= *best) return true;
    if (so_far + low >= least) { /* no longer a choice */
        *best = so_far + low;
        return true;
    }
    if (k == s->n) return true;
    const tg_draw_loop *l = &s->nest->loop[s->order[k]];
    const int64_t       step = by * tg_step_of(l, s->side), size = magnitude(step);
    const int64_t       start = so_far + (step < 0 ? step * (l->range - 1) : 0);
    const int64_t       rest = by > 0 ? s->up[k + 1] : -s->down[k + 1], short_of = least - start - rest;
    for (int64_t i = short_of > 0 ? tg_ceil_div(short_of, size) : 0; i < l->range; i++) {
        const int64_t lowest = start + i * size + (by > 0 ? s->down[k + 1] : -s->up[k + 1]);
        if (lowest >= *best) return true;
        if (!go_least(s, k + 1, by, start + i * size, least, best)) return false;
        if (lowest >= least) return true;
    }
    return true;
}

bool tg_find_next_touch(tg_teller *t, tg_side side, int64_t place, int64_t by, int64_t *most) {
    int64_t index[TG_STORY_LOOPS];
    for (size_t i = 0; i < t->params->nnests && *most > 0; i++) {
        search        s = {.teller = t, .nest = &t->params->nest[i], .side = side};
        const int64_t least = by * (place - tg_start_of(s.nest, side));
        int64_t       best = least + *most;
        begin(&s, index);
        if (!go_least(&s, 0, by, 0, least, &best)) return false;
        *most = best - least;
    }
    return true;
}
