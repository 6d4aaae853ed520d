#include "limits.h"

#include <string.h>

enum { CHOSEN = 3 };

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

static bool is_work(const char *name) {
    return strcmp(name, "turned") == 0 || strcmp(name, "interleaved") == 0 || strcmp(name, "work") == 0;
}

double limits_ratio(const rounds *r, const char *name) {
    const contender *const of = rounds_find(r, name);
    double                 copied = 0, worked = 0;
    for (int k = 0; k < r->ncontenders; k++) {
        const double x = contender_ratio(&r->c[k], of, r->count);
        if (strncmp(r->c[k].name, "lines ", 6) == 0 && (copied <= 0 || x < copied)) copied = x;
        if (is_work(r->c[k].name)) worked = x;
    }
    return copied <= 0 || copied > worked ? copied : worked;
}
