#include "limits.h"

#include <string.h>

enum { CHOSEN = 3 };

#define LINES "lines " /* how the names of line_copies.c begin */

void limits_add(limits *l, rounds *r, const subject *s, const workload *of, size_t room, int pool) {
    double seconds[MOST_LINES_WAYS];
    if (!touched_find(&l->touched, &s->dst_layout, &s->src_layout, room)) return;
    const int n = lines_ways(l->way, &l->touched, s->dst, s->src, s->executor);
    for (int i = 0; i < n; i++) seconds[i] = rounds_probe(r, lines_run, &l->way[i]);
    for (int chosen = 0; chosen < CHOSEN && chosen < n; chosen++) {
        int best = 0;
        for (int i = 1; i < n; i++)
            if (seconds[i] < seconds[best]) best = i;
        rounds_add(r, l->way[best].name, lines_run, &l->way[best], pool);
        seconds[best] = 1e9;
    }
    if (n > 0 && work_find(&l->work, &l->touched, s, of)) rounds_add(r, l->work.name, work_run, &l->work, pool);
}

limit limits_of(const limits *l, const rounds *r, const char *name) {
    const contender *const of = rounds_find(r, name);
    limit                  found = {NULL, 0, 0};
    for (int k = 0; k < r->ncontenders; k++) {
        if (strncmp(r->c[k].name, LINES, strlen(LINES)) != 0) continue;
        const double x = contender_ratio(&r->c[k], of, r->count);
        if (found.name != NULL && x >= found.x) continue;
        found.name = r->c[k].name + strlen(LINES);
        found.x = found.x_machine = x;
    }
    if (found.name == NULL || l->work.name == NULL) return found;
    const double x = contender_ratio(rounds_find(r, l->work.name), of, r->count);
    if (x <= found.x) return found;
    found.name = l->work.name;
    found.x = x;
    if (l->work.is_of_machine) found.x_machine = x;
    return found;
}
