/* The words of the story of a transfer: names of runs, headings of descriptors, notes. */
#include "draw/story.h"

#include "draw/scene.h"

#include <string.h>

/* What does not fit ends with "..". */
static void end_label(tg_writer *w) {
    if (tg_writer_end(w) >= w->cap) memcpy(w->buf + w->cap - 3, "..", 3);
}

void tg_put_variable(tg_writer *w, int32_t loop) {
    enum { LETTERS = 'z' - 'i' + 1 };
    tg_put_char(w, (char)('i' + loop % LETTERS));
    if (loop >= LETTERS) tg_put_int(w, loop / LETTERS);
}

static void put_count(tg_writer *w, int64_t n, const char *one) {
    tg_put_int(w, n);
    tg_put_char(w, ' ');
    tg_put_text(w, one);
    if (n != 1) tg_put_char(w, 's');
}

static void put_steps(tg_writer *w, const tg_story_run *run) {
    for (int32_t i = 0; i < run->nsteps; i++) {
        if (i > 0) tg_put_char(w, ' ');
        tg_put_variable(w, i);
        tg_put_char(w, '=');
        tg_put_int(w, run->step[i]);
    }
}

/* ---- runs ----------------------------------------------------------------------------------------- */

/* Whether the run is a stretch of one dimension. */
static bool is_straight(const tg_story_run *run, int32_t ndim) {
    int32_t moved = 0;
    int64_t length = 1;
    for (int32_t d = 0; d < ndim; d++) {
        if (run->first[d] == run->last[d]) continue;
        moved++;
        length = run->last[d] - run->first[d] + 1;
    }
    return moved <= 1 && length == run->length;
}

static void put_elements(tg_writer *w, const tg_story_run *run, int32_t ndim) {
    if (is_straight(run, ndim)) {
        tg_put_box(w, run->first, run->last, ndim);
        return;
    }
    tg_put_box(w, run->first, run->first, ndim);
    tg_put_char(w, '~');
    tg_put_box(w, run->last, run->last, ndim);
}

void tg_story_name_run(const tg_teller *t, tg_story_run *run, int32_t letter) {
    tg_writer name = TG_WRITER(run->name), steps = TG_WRITER(run->steps), elements = TG_WRITER(run->elements);
    tg_put_char(&name, (char)('A' + letter));
    tg_put_text(&name, " #");
    tg_put_int(&name, run->number);
    (void)tg_writer_end(&name);
    if (t->params->nnests > 1) {
        tg_put_int(&steps, (int64_t)run->nest + 1);
        tg_put_text(&steps, run->nsteps > 0 ? ": " : "");
    }
    put_steps(&steps, run);
    end_label(&steps);
    if (run->knows_elements) put_elements(&elements, run, t->params->device->ndim);
    end_label(&elements);
}

void tg_story_label_part(const tg_story *s, tg_story_part *part) {
    tg_writer w = TG_WRITER(part->label);
    if (part->kind == TG_PART_UNTOUCHED) tg_put_text(&w, "untouched");
    else if (part->kind == TG_PART_HIDDEN) put_count(&w, part->to - part->from + 1, "place");
    else if (part->nruns == 1) tg_put_text(&w, s->run[part->run].name);
    else {
        for (int32_t k = 0; k < s->nruns; k++) /* those at one place are as long */
            if (&s->host.part[s->run[k].host_part] == part || &s->device.part[s->run[k].device_part] == part)
                tg_put_char(&w, s->run[k].name[0]);
    }
    end_label(&w);
}

/* ---- descriptors --------------------------------------------------------------------------------------- */

/* "Descriptor 2 of 2: 500 runs of 22 elements, #1000 to #1499" */
static void write_heading(char *heading, size_t cap, const tg_teller *t, size_t number, int64_t first) {
    const tg_draw_nest *nest = &t->params->nest[number];
    const int64_t       runs = tg_nest_runs(nest);
    tg_writer           w = tg_writer_make(heading, cap);
    if (t->params->nnests > 1) {
        tg_put_text(&w, "Descriptor ");
        tg_put_int(&w, (int64_t)number + 1);
        tg_put_text(&w, " of ");
        tg_put_int(&w, (int64_t)t->params->nnests);
    } else tg_put_text(&w, "One descriptor");
    tg_put_text(&w, ": ");
    put_count(&w, runs, "run");
    tg_put_text(&w, " of ");
    put_count(&w, tg_nest_length(nest), "element");
    tg_put_text(&w, ", #");
    tg_put_int(&w, first);
    if (runs > 1) {
        tg_put_text(&w, " to #");
        tg_put_int(&w, first + runs - 1);
    }
    (void)tg_writer_end(&w);
}

static void write_headings(tg_teller *t) {
    tg_story *s = t->story;
    int64_t   first = 0;
    int32_t   k = 0;
    for (size_t i = 0; i < t->params->nnests && k < s->nshown; i++) {
        if (i == s->shown[k]) {
            write_heading(s->heading[k], sizeof s->heading[k], t, i, first);
            k++;
        }
        first += tg_nest_runs(&t->params->nest[i]);
    }
}

/* ---- notes -------------------------------------------------------------------------------------------------- */

static tg_writer begin_note(tg_story *s) { return tg_writer_make(s->note[s->nnotes++], sizeof s->note[0]); }

static void put_places(tg_writer *w, const tg_teller *t, int64_t host, int64_t device) {
    const bool to_host = t->params->to_host;
    tg_put_text(w, to_host ? "from device offset " : "from host offset ");
    tg_put_int(w, to_host ? device : host);
    tg_put_text(w, to_host ? " to host offset " : " to device offset ");
    tg_put_int(w, to_host ? host : device);
}

static void write_follow(tg_teller *t) {
    tg_writer w = begin_note(t->story);
    tg_put_text(&w, "Element ");
    tg_put_box(&w, t->follow, t->follow, t->params->device->ndim);
    if (!t->has_follow) tg_put_text(&w, " goes nowhere: its place takes another one.");
    for (int32_t k = 0; k < t->story->nruns; k++) {
        const tg_story_run *run = &t->story->run[k];
        if (!run->followed) continue;
        tg_put_text(&w, " goes with run ");
        tg_put_text(&w, run->name);
        if (run->length > 1) {
            tg_put_text(&w, " as its element ");
            tg_put_int(&w, t->follow_at);
        }
        tg_put_text(&w, ", ");
        put_places(&w, t, run->host + t->follow_at, run->device + t->follow_at);
        tg_put_char(&w, '.');
    }
    end_label(&w);
}

static void write_counts(tg_teller *t) {
    const tg_layout *l = t->params->to_host ? t->params->host : t->params->device;
    tg_story        *s = t->story;
    tg_writer        w = begin_note(s);
    put_count(&w, s->nruns_in_all, "run");
    tg_put_text(&w, s->nruns_in_all == 1 ? " carries " : " carry ");
    put_count(&w, s->nelements, "element");
    tg_put_text(&w, t->params->to_host ? " to the host" : " to the device");
    if (l->span > s->nelements) {
        tg_put_text(&w, "; ");
        tg_put_int(&w, l->span - s->nelements);
        tg_put_text(&w, " of its ");
        put_count(&w, l->span, "place");
        tg_put_text(&w, " stay untouched");
    }
    tg_put_char(&w, '.');
    (void)tg_writer_end(&w);
}

/* What a run is, if all descriptors agree. */
static void write_run(tg_teller *t) {
    bool long_ones = false, short_ones = false;
    for (size_t i = 0; i < t->params->nnests; i++)
        *(tg_nest_outer(&t->params->nest[i]) < t->params->nest[i].nloops ? &long_ones : &short_ones) = true;
    tg_writer w = begin_note(t->story);
    if (long_ones)
        tg_put_text(&w, "A run is one pass of the innermost loop: its elements lie side by side in both memories.");
    if (long_ones && short_ones) tg_put_text(&w, " Where they do not, each");
    else if (short_ones) tg_put_text(&w, "No loop walks place by place in both memories: each");
    if (short_ones) tg_put_text(&w, " element is a run of its own.");
    (void)tg_writer_end(&w);
}

static void write_letters(tg_teller *t) {
    tg_writer w = begin_note(t->story);
    tg_put_text(&w, "#n counts runs in the order of execution; the letter is the same wherever the run is shown");
    if (t->params->nnests > 1) tg_put_text(&w, "; \"2: i=0\" is descriptor 2 with loop i at step 0");
    else if (t->story->run[0].nsteps > 0) tg_put_text(&w, "; \"i=0\" is loop i at step 0");
    tg_put_char(&w, '.');
    (void)tg_writer_end(&w);
}

static void describe(tg_story *s) {
    tg_writer w = TG_WRITER(s->about);
    if (s->title[0] != '\0') {
        tg_put_text(&w, s->title);
        tg_put_text(&w, ". ");
    }
    for (int32_t k = 0; k < s->nnotes && k < 2; k++) {
        if (k > 0) tg_put_char(&w, ' ');
        tg_put_text(&w, s->note[k]);
    }
    (void)tg_writer_end(&w);
}

void tg_story_margin(char *text, size_t cap, const tg_story_part *part) {
    tg_writer w = tg_writer_make(text, cap);
    if (part->kind == TG_PART_HIDDEN) tg_put_text(&w, part->label);
    else tg_put_range(&w, part->from, part->to);
    (void)tg_writer_end(&w);
}

void tg_story_words(tg_teller *t) {
    write_headings(t);
    if (t->story->nruns > 0) {
        write_follow(t);
        write_counts(t);
        write_run(t);
        write_letters(t);
    }
    describe(t->story);
}
