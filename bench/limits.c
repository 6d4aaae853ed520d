#include "limits.h"

enum { LINES_CHOSEN = 3, LOOPS_CHOSEN = 2 };

static const double NEVER = 1e9; /* seconds */

/* Try n ways and add the fastest `chosen` of them. */
static void add_ways(rounds *r, contender_kind kind, lines *way, int n, int chosen, int pool) {
    double seconds[MOST_LINES_WAYS];
    for (int i = 0; i < n; i++) seconds[i] = rounds_probe(r, lines_run, &way[i]);
    for (; chosen > 0 && n > 0; chosen--) {
        int best = 0;
        for (int i = 1; i < n; i++)
            if (seconds[i] < seconds[best]) best = i;
        if (seconds[best] == NEVER) return;
        rounds_add(r, way[best].name, lines_run, &way[best], pool)->kind = kind;
        seconds[best] = NEVER;
    }
}

void limits_add(limits *l, rounds *r, const subject *s, const workload *of, size_t room, int pool) {
    if (!touched_find(&l->touched, &s->dst_layout, &s->src_layout, room)) return;
    const int n = lines_ways(l->way, &l->touched, 0, s->dst, s->src, s->executor);
    add_ways(r, KIND_LINES, l->way, n, LINES_CHOSEN, pool);
    if (n == 0) return;
    int ways = joined_ways(l->loop, &l->touched, s->dst, s->src, s->executor);
    if (ways == 0)
        ways = converted_ways(l->loop, &l->touched, &s->dst_layout, &s->src_layout, s->dst, s->src, s->executor);
    add_ways(r, KIND_LOOP, l->loop, ways, LOOPS_CHOSEN, pool);
    if (!work_find(&l->work, &l->touched, s, of)) return;
    rounds_add(r, l->work.name, work_run, &l->work, pool)->kind = KIND_WORK;
    if (!l->work.is_turned || ways > 0) return; /* no move is both */
    const int squares = lines_ways(l->loop, &l->touched, (int32_t)l->work.width, s->dst, s->src, s->executor);
    add_ways(r, KIND_LOOP, l->loop, squares, LOOPS_CHOSEN, pool);
}

/* The fastest way among the contenders of a kind, and how many times faster `of` is. */
static bound fastest(const rounds *r, contender_kind kind, const contender *of) {
    bound found = {NULL, 0};
    for (int k = 0; k < r->ncontenders; k++) {
        if (r->c[k].kind != kind) continue;
        const double x = contender_ratio(&r->c[k], of, r->count);
        if (found.name != NULL && x >= found.x) continue;
        found.name = ((const lines *)r->c[k].context)->way;
        found.x = x;
    }
    return found;
}

static const contender *find_work(const rounds *r) {
    for (int k = 0; k < r->ncontenders; k++)
        if (r->c[k].kind == KIND_WORK) return &r->c[k];
    return NULL;
}

bounds limits_of(const limits *l, const rounds *r, const char *name) {
    const contender *const of = rounds_find(r, name), *const task = find_work(r);
    const bound            copy = fastest(r, KIND_LINES, of);
    bounds                 found = {copy, copy, fastest(r, KIND_LOOP, of)};
    if (task == NULL) return found;
    const bound by_work = {task->name, contender_ratio(task, of, r->count)};
    if (by_work.x <= copy.x) return found;
    found.all = by_work;
    if (l->work.is_of_machine) found.machine = by_work;
    return found;
}
