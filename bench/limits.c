#include "limits.h"

#include <string.h>

enum { LINES_CHOSEN = 3, SQUARES_CHOSEN = 2 };

/* How their names begin (line_copies.c). */
#define LINES   "lines "
#define SQUARES "squares "

static const double NEVER = 1e9; /* seconds */

/* Try n ways and add the fastest `chosen` of them. */
static void add_ways(rounds *r, lines *way, int n, int chosen, int pool) {
    double seconds[MOST_LINES_WAYS];
    for (int i = 0; i < n; i++) seconds[i] = rounds_probe(r, lines_run, &way[i]);
    for (; chosen > 0 && n > 0; chosen--) {
        int best = 0;
        for (int i = 1; i < n; i++)
            if (seconds[i] < seconds[best]) best = i;
        if (seconds[best] == NEVER) return;
        rounds_add(r, way[best].name, lines_run, &way[best], pool);
        seconds[best] = NEVER;
    }
}

void limits_add(limits *l, rounds *r, const subject *s, const workload *of, size_t room, int pool) {
    if (!touched_find(&l->touched, &s->dst_layout, &s->src_layout, room)) return;
    const int n = lines_ways(l->way, &l->touched, 0, s->dst, s->src, s->executor);
    add_ways(r, l->way, n, LINES_CHOSEN, pool);
    if (n == 0 || !work_find(&l->work, &l->touched, s, of)) return;
    rounds_add(r, l->work.name, work_run, &l->work, pool);
    if (!l->work.is_turned) return;
    const int squares = lines_ways(l->square, &l->touched, (int32_t)l->work.width, s->dst, s->src, s->executor);
    add_ways(r, l->square, squares, SQUARES_CHOSEN, pool);
}

/* The fastest contender whose name begins so, and how many times faster `of` is; NULL if there is none. */
static const char *fastest(double *x, const rounds *r, const char *prefix, const contender *of) {
    const char *name = NULL;
    for (int k = 0; k < r->ncontenders; k++) {
        if (strncmp(r->c[k].name, prefix, strlen(prefix)) != 0) continue;
        const double now = contender_ratio(&r->c[k], of, r->count);
        if (name != NULL && now >= *x) continue;
        name = r->c[k].name;
        *x = now;
    }
    return name;
}

limit limits_of(const limits *l, const rounds *r, const char *name) {
    const contender *const of = rounds_find(r, name);
    limit                  found = {NULL, 0, 0, NULL, 0};
    const char *const      copy = fastest(&found.x, r, LINES, of);
    if (copy == NULL) return found;
    found.name = copy + strlen(LINES);
    found.x_machine = found.x;
    found.loop = fastest(&found.x_loop, r, SQUARES, of);
    if (l->work.name == NULL) return found;
    const double x = contender_ratio(rounds_find(r, l->work.name), of, r->count);
    if (x <= found.x) return found;
    found.name = l->work.name;
    found.x = x;
    if (l->work.is_of_machine) found.x_machine = x;
    return found;
}
