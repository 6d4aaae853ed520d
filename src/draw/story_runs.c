/* Which runs are shown, and where they lie in both memories.
 *
 * Of each descriptor that is shown the first and the last run are wanted most, then the second, and those around the
 * first step of the loops outside the innermost: there the way through the host turns. */
#include "draw/story.h"

#include "base/checked.h"

#include <string.h>

enum { LAST_ROUND = 64 };

/* ---- descriptors ------------------------------------------------------------------------------- */

static void show_nest(tg_story *s, size_t nest) {
    int32_t at = 0;
    while (at < s->nshown && s->shown[at] < nest) at++;
    if ((at < s->nshown && s->shown[at] == nest) || s->nshown == TG_STORY_NESTS) return;
    for (int32_t k = s->nshown++; k > at; k--) s->shown[k] = s->shown[k - 1];
    s->shown[at] = nest;
}

/* The first, the last, that of the followed element, and the next ones. */
static void choose_nests(tg_teller *t) {
    const size_t n = t->params->nnests;
    if (n == 0) return;
    show_nest(t->story, 0);
    show_nest(t->story, n - 1);
    if (t->has_follow) show_nest(t->story, t->follow_nest);
    for (size_t i = 1; i < n && t->story->nshown < TG_STORY_NESTS; i++) show_nest(t->story, i);
}

/* ---- runs ---------------------------------------------------------------------------------------- */

static int64_t runs_before(const tg_teller *t, size_t nest) {
    int64_t runs = 0;
    for (size_t i = 0; i < nest; i++) runs += tg_nest_runs(&t->params->nest[i]);
    return runs;
}

static tg_story_run make_run(const tg_teller *t, size_t number, int64_t at) {
    const tg_draw_nest *nest = &t->params->nest[number];
    tg_story_run        run = {.nest = number, .number = runs_before(t, number) + at};
    run.nsteps = tg_nest_outer(nest);
    run.length = tg_nest_length(nest);
    run.host = nest->host_offset;
    run.device = nest->device_offset;
    run.followed = t->has_follow && t->follow_nest == number && t->follow_run == at;
    for (int32_t i = run.nsteps; i-- > 0;) {
        run.step[i] = at % nest->loop[i].range;
        at /= nest->loop[i].range;
        run.host += run.step[i] * nest->loop[i].host_stride;
        run.device += run.step[i] * nest->loop[i].device_stride;
    }
    return run;
}

/* Coordinates come from the side that is written: it holds one element in a place. */
static void find_elements(const tg_teller *t, tg_story_run *run) {
    const tg_layout *l = t->params->to_host ? t->params->host : t->params->device;
    const int64_t    from = t->params->to_host ? run->host : run->device;
    tg_slot          slot, other;
    if (tg_layout_coord(&slot, run->first, l, from, NULL) != TG_OK) return;
    if (tg_layout_coord(&other, run->last, l, from + (run->length - 1), NULL) != TG_OK) return;
    run->knows_elements = slot == TG_SLOT_DATA && other == TG_SLOT_DATA;
}

static void add_run(tg_teller *t, size_t nest, int64_t at) {
    tg_story *s = t->story;
    if (s->nruns == TG_STORY_RUNS || at < 0 || at >= tg_nest_runs(&t->params->nest[nest])) return;
    const int64_t number = runs_before(t, nest) + at;
    int32_t       k = 0;
    while (k < s->nruns && s->run[k].number < number) k++;
    if (k < s->nruns && s->run[k].number == number) return;
    memmove(&s->run[k + 1], &s->run[k], (size_t)(s->nruns++ - k) * sizeof s->run[0]);
    s->run[k] = make_run(t, nest, at);
}

/* How many runs go by until the loop `above` places outside the innermost one around runs takes a step. */
static int64_t turn(const tg_draw_nest *nest, int32_t above) {
    int64_t runs = 1;
    for (int32_t i = tg_nest_outer(nest) - 1; i >= 0 && above > 0; i--, above--) runs *= nest->loop[i].range;
    return above > 0 ? -1 : runs;
}

/* What is wanted of a descriptor, the most first; -1: nothing. */
static int64_t wish(const tg_draw_nest *nest, int32_t round) {
    const int64_t last = tg_nest_runs(nest) - 1;
    switch (round) {
    case 0: return 0;
    case 1: return last;
    case 2: return 1;
    case 3: return turn(nest, 1);
    case 4: return turn(nest, 1) - 1;
    case 5: return last - 1;
    case 6: return turn(nest, 2);
    case 7: return turn(nest, 2) - 1;
    case 8: return 2;
    case 9: return turn(nest, 1) + 1;
    default: return round - 7;
    }
}

void tg_story_choose(tg_teller *t) {
    tg_story *s = t->story;
    choose_nests(t);
    if (t->has_follow) add_run(t, t->follow_nest, t->follow_run);
    for (int32_t round = 0; round < LAST_ROUND && s->nruns < TG_STORY_RUNS; round++)
        for (int32_t k = 0; k < s->nshown; k++)
            add_run(t, s->shown[k], wish(&t->params->nest[s->shown[k]], round));
    for (int32_t k = 0; k < s->nruns; k++) {
        find_elements(t, &s->run[k]);
        tg_story_name_run(t, &s->run[k], k);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------ */

static tg_story_part *add_part(tg_story_strip *strip, tg_part_kind kind, int64_t from, int64_t to) {
    const tg_story_part part = {.kind = kind, .from = from, .to = to, .run = -1};
    strip->part[strip->nparts] = part;
    return &strip->part[strip->nparts++];
}

/* How many of the places from `from` on, in steps of 1 or -1, nothing touches: at most `most`; 0 if not known. */
static int64_t untouched(tg_teller *t, tg_side side, int64_t from, int64_t by, int64_t most) {
    return tg_find_next_touch(t, side, from, by, &most) ? most : 0;
}

/* What lies in from..to, between two runs that are shown. */
static void add_between(tg_teller *t, tg_story_strip *strip, tg_side side, int64_t from, int64_t to) {
    if (from > to) return;
    const bool    all_shown = t->story->nruns == t->story->nruns_in_all; /* then nothing else touches anything */
    const int64_t length = to - from + 1, before = all_shown ? length : untouched(t, side, from, 1, length);
    const int64_t after = before < length ? untouched(t, side, to, -1, length - before) : 0;
    if (before > 0) add_part(strip, TG_PART_UNTOUCHED, from, from + before - 1);
    if (before + after < length) add_part(strip, TG_PART_HIDDEN, from + before, to - after);
    if (after > 0) add_part(strip, TG_PART_UNTOUCHED, to - after + 1, to);
}

static int64_t place_of(const tg_story_run *run, tg_side side) {
    return side == TG_SIDE_HOST ? run->host : run->device;
}

/* Runs by their place; of those at one place, the first first. */
static void sort_runs(int32_t *order, const tg_story *s, tg_side side) {
    for (int32_t k = 0; k < s->nruns; k++) {
        int32_t j = k;
        for (; j > 0 && place_of(&s->run[order[j - 1]], side) > place_of(&s->run[k], side); j--)
            order[j] = order[j - 1];
        order[j] = k;
    }
}

/* The part of a run; the one before if it is the same. */
static tg_story_part *part_of_run(tg_story_strip *strip, const tg_story *s, int32_t run, tg_side side) {
    const int64_t  from = place_of(&s->run[run], side), to = from + (s->run[run].length - 1);
    tg_story_part *last = strip->nparts > 0 ? &strip->part[strip->nparts - 1] : NULL;
    if (last == NULL || last->kind != TG_PART_RUN || last->from != from || last->to != to) {
        last = add_part(strip, TG_PART_RUN, from, to);
        last->run = run;
    }
    last->nruns++;
    return last;
}

void tg_story_fill_strip(tg_teller *t, tg_side side) {
    tg_story        *s = t->story;
    const tg_layout *l = side == TG_SIDE_HOST ? t->params->host : t->params->device;
    tg_story_strip  *strip = side == TG_SIDE_HOST ? &s->host : &s->device;
    int64_t          next = tg_layout_base(l);
    const int64_t    end = next + l->span;
    int32_t          order[TG_STORY_RUNS];
    sort_runs(order, s, side);
    for (int32_t k = 0; k < s->nruns; k++) {
        tg_story_run *run = &s->run[order[k]];
        add_between(t, strip, side, next, place_of(run, side) - 1);
        const tg_story_part *part = part_of_run(strip, s, order[k], side);
        *(side == TG_SIDE_HOST ? &run->host_part : &run->device_part) = (int32_t)(part - strip->part);
        next = tg_max(next, part->to + 1);
    }
    add_between(t, strip, side, next, end - 1);
    for (int32_t k = 0; k < strip->nparts; k++) tg_story_label_part(s, &strip->part[k]);
}
