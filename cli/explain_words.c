/* Text that grows, and the steps of an explanation. */
#include "explain.h"

#include "show.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- text that grows ---------------------------------------------------------------- */

static void make_room(words *w, size_t more) {
    if (w->len + more < w->cap) return;
    words bigger = {NULL, w->len, (w->len + more + 1) * 2};
    bigger.bytes = cli_allocate(bigger.cap);
    if (w->len > 0) memcpy(bigger.bytes, w->bytes, w->len);
    free(w->bytes);
    *w = bigger;
}

static void add_formatted(words *w, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    const int len = vsnprintf(NULL, 0, format, args);
    make_room(w, (size_t)len);
    (void)vsnprintf(w->bytes + w->len, (size_t)len + 1, format, again);
    w->len += (size_t)len;
    va_end(again);
}

void words_add(words *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add_formatted(w, format, args);
    va_end(args);
}

void words_add_ints(words *w, const int64_t *values, int32_t n, const char *separator) {
    words_add(w, "%s", "");
    for (int32_t i = 0; i < n; i++) words_add(w, "%s%lld", i > 0 ? separator : "", (long long)values[i]);
}

void words_add_dims(words *w, const int32_t *dims, int32_t n) {
    for (int32_t i = 0; i < n; i++) words_add(w, "%sd%d", i == 0 ? "" : i + 1 < n ? ", " : " and ", dims[i]);
}

void words_add_bytes(words *w, int64_t nbytes) {
    char human[32];
    words_add(w, "%lld byte%s", (long long)nbytes, plural_s(nbytes));
    if (nbytes >= 1024) words_add(w, " (%s)", cli_human_bytes(human, nbytes));
}

json_t *words_take(words *w) {
    words_add(w, "%s", "");
    json_t *text = cli_json_text(w->bytes);
    words_free(w);
    return text;
}

void words_free(words *w) {
    free(w->bytes);
    *w = (words){NULL, 0, 0};
}

const char *plural_s(int64_t n) { return n == 1 ? "" : "s"; }

/* ---- steps ----------------------------------------------------------------------------- */

static json_t *new_step(const char *code, const char *name) {
    json_t *step = cli_json_object();
    if (code != NULL) cli_json_put(step, "code", cli_json_text(code));
    cli_json_put(step, "name", cli_json_text(name));
    cli_json_put(step, "says", cli_json_array());
    return step;
}

void explain_step(explanation *e, const char *code, const char *name) {
    e->step = new_step(code, name);
    cli_json_add(json_object_get(e->object, "steps"), e->step);
}

void explain_last_step(explanation *e, const char *key, const char *name) {
    e->step = new_step(NULL, name);
    cli_json_put(e->object, key, e->step);
}

void explain_say_words(explanation *e, words *w) { cli_json_add(json_object_get(e->step, "says"), words_take(w)); }

void explain_say(explanation *e, const char *format, ...) {
    words   w = {NULL, 0, 0};
    va_list args;
    va_start(args, format);
    add_formatted(&w, format, args);
    va_end(args);
    explain_say_words(e, &w);
}

void explain_fact(explanation *e, const char *name, json_t *value) { cli_json_put(e->step, name, value); }

/* What a memory mode counts, in few words. */
static void count_text(char text[SHOW_WORD], const tg_layout *layout, int32_t m) {
    const tg_mode *mode = &layout->mode[m];
    if (mode->axis == TG_AXIS_PAD) (void)snprintf(text, SHOW_WORD, "%s", mode->size > 1 ? "(padding)" : "0");
    else if (mode->axis == TG_AXIS_COPY) (void)snprintf(text, SHOW_WORD, "(copies)");
    else show_digit(text, layout, m);
}

enum { WIDEST_TABLE = 68 }; /* columns of sizes that stand above what they count; wider ones are two lists */

/* The sizes of the memory modes as they are printed, and what each counts. */
typedef struct size_table {
    int32_t n;
    int     width; /* of both rows, aligned */
    char    size[TG_MAX_MODES][24];
    char    count[TG_MAX_MODES][SHOW_WORD];
} size_table;

static void read_table(size_table *t, const tg_layout *layout) {
    t->n = t->width = 0;
    for (int32_t m = 0; m < layout->nmodes; m++) {
        if (layout->mode[m].into != TG_TO_MEMORY) continue;
        (void)snprintf(t->size[t->n], sizeof t->size[0], "%lld", (long long)layout->mode[m].size);
        count_text(t->count[t->n], layout, m);
        const size_t size = strlen(t->size[t->n]), count = strlen(t->count[t->n]);
        t->width += (int)(size > count ? size : count) + 3;
        t->n++;
    }
}

static void say_table(explanation *e, const size_table *t) {
    const bool aligned = t->width <= WIDEST_TABLE;
    words      sizes = {NULL, 0, 0}, counts = {NULL, 0, 0};
    for (int32_t i = 0; i < t->n; i++) {
        const size_t size = strlen(t->size[i]), count = strlen(t->count[i]);
        const int    width = aligned && i + 1 < t->n ? (int)(size > count ? size : count) : 0;
        words_add(&sizes, "%s%-*s", i == 0 ? "  sizes  " : " x ", width, t->size[i]);
        words_add(&counts, "%s%-*s", i == 0 ? "  count  " : aligned ? "   " : ", ", width, t->count[i]);
    }
    explain_say_words(e, &sizes);
    if (tg_layout_numel(&e->desc->layout) > 0) explain_say_words(e, &counts); /* else nothing is counted */
    words_free(&counts);
}

void explain_sizes(explanation *e, const tg_layout *layout) {
    size_table t;
    json_t    *sizes = cli_json_array(), *counts = cli_json_array();
    read_table(&t, layout);
    for (int32_t m = 0, i = 0; m < layout->nmodes; m++) {
        if (layout->mode[m].into != TG_TO_MEMORY) continue;
        cli_json_add(sizes, cli_json_int(layout->mode[m].size));
        cli_json_add(counts, cli_json_text(t.count[i++]));
    }
    explain_fact(e, "sizes", sizes);
    explain_fact(e, "counts", counts);
    if (t.n == 0) return;
    say_table(e, &t);
    for (int32_t axis = layout->ndim; axis < layout->naxes; axis++) {
        char sum[SHOW_SUM];
        show_axis(sum, layout, axis);
        explain_say(e, "  where  %s", sum);
    }
}
