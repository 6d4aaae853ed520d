/* Taking turns, and noticing who else is on the machine.
 *
 * Linux counts the idle time of all CPUs in /proc/stat, and our own CPU time is known to the microsecond. What
 * is neither was taken by others (other programs, and a hypervisor that took the CPU away):
 *
 *     two CPUs for 0.5 s                   1.00 s
 *     idle, as /proc/stat counted it      -0.46 s
 *     our own, user and system            -0.50 s
 *     others                               0.04 s = 4 %
 *
 * /proc/stat counts in steps of 10 ms, so a short round cannot be judged alone: rounds are judged in groups
 * of at least 0.4 s. A group in which others had more than 6 % is thrown away and taken again, as long as
 * there is allowance: as many rounds as the row has, and REPEAT_SECONDS in the whole run. */
#define _DEFAULT_SOURCE
#include "rounds.h"

#include "copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const double GROUP_SECONDS = 0.4, OTHERS_LIMIT = 0.06, REPEAT_SECONDS = 150;

enum { PROBES = 3, PROBE_PART = 10 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the guard ---- */

static double own_cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

/* Of all CPUs, waiting for disks included; negative where the system does not tell. */
static double idle_seconds(void) {
    unsigned long long user, nice, system, idle, wait;
    FILE              *f = fopen("/proc/stat", "r");
    if (f == NULL) return -1;
    const int n = fscanf(f, "cpu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait);
    fclose(f);
    return n == 5 ? (double)(idle + wait) / (double)sysconf(_SC_CLK_TCK) : -1;
}

typedef struct watch {
    double start, own, idle;
} watch;

static watch watch_start(void) {
    const watch w = {now(), own_cpu_seconds(), idle_seconds()};
    return w;
}

/* The share of the CPUs that others had since then. */
static double watch_others(const watch *w) {
    const double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN), idle = idle_seconds();
    const double total = (now() - w->start) * cpus, own = own_cpu_seconds() - w->own;
    if (idle < 0 || w->idle < 0 || total <= 0) return 0;
    const double others = (total - own - (idle - w->idle)) / total;
    return others > 0 ? others : 0;
}

/* ---- samples ---- */

/* Threads of a pool spin for some milliseconds after their work is done, and would take a CPU from the next
 * contender: wait until this process is quiet. */
static void wait_for_quiet(void) {
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < 100; i++) {
        const double before = own_cpu_seconds(), t = now();
        nanosleep(&pause, NULL);
        if (own_cpu_seconds() - before < 0.3 * (now() - t)) return;
    }
}

static double sample(const rounds *r, contender *c) {
    if (r->flush_bytes > 0) buffer_read(r->flush, r->flush_bytes);
    else c->run(c->context);
    const double t = now();
    for (int64_t i = 0; i < c->repeats; i++) c->run(c->context);
    return (now() - t) / (double)c->repeats;
}

static void one_round(rounds *r, int i) {
    for (int k = 0; k < r->ncontenders; k++) {
        const int before = r->c[(k + r->ncontenders - 1) % r->ncontenders].pool;
        if (r->guard && before != r->c[k].pool && before != 0) wait_for_quiet();
        r->c[k].time[i] = sample(r, &r->c[k]);
    }
}

/* How many calls fill a sample: from a call that is not counted, and a second look for short ones. */
static void calibrate(const rounds *r, contender *c) {
    c->repeats = 1;
    c->run(c->context);
    for (int i = 0; i < 4 && r->sample_seconds > 0; i++) {
        const double t = now();
        for (int64_t k = 0; k < c->repeats; k++) c->run(c->context);
        const double each = (now() - t) / (double)c->repeats;
        c->repeats = 1 + (int64_t)(r->sample_seconds / (each > 1e-9 ? each : 1e-9) / (i == 0 ? 10 : 1));
    }
}

double rounds_probe(const rounds *r, void (*run)(void *), void *context) {
    rounds    brief = *r;
    contender c = {.run = run, .context = context};
    double    best = 0;
    brief.sample_seconds = r->sample_seconds / PROBE_PART;
    calibrate(&brief, &c);
    for (int i = 0; i < PROBES; i++) {
        const double seconds = sample(&brief, &c);
        if (i == 0 || seconds < best) best = seconds;
    }
    return best;
}

void rounds_run(rounds *r) {
    static double repeated; /* seconds, in the whole run */
    int           allowance = r->count;
    r->noisy = 0;
    r->others = 0;
    for (int k = 0; k < r->ncontenders; k++) {
        calibrate(r, &r->c[k]);
        if (r->guard && r->c[k].pool != 0) wait_for_quiet();
    }
    for (int done = 0; done < r->count;) {
        const watch w = watch_start();
        int         n = 0;
        while (done + n < r->count && (n == 0 || now() - w.start < GROUP_SECONDS)) one_round(r, done + n++);
        const double others = r->guard ? watch_others(&w) : 0;
        if (others > OTHERS_LIMIT && allowance > 0 && repeated < REPEAT_SECONDS) {
            allowance -= n;
            repeated += now() - w.start;
            continue;
        }
        r->noisy += others > OTHERS_LIMIT ? n : 0;
        r->others = others > r->others ? others : r->others;
        done += n;
    }
}

/* ---- results ---- */

contender *rounds_add(rounds *r, const char *name, void (*run)(void *), void *context, int pool) {
    contender *c = &r->c[r->ncontenders++];
    c->name = name;
    c->kind = KIND_OTHER;
    c->run = run;
    c->context = context;
    c->pool = pool;
    return c;
}

const contender *rounds_find(const rounds *r, const char *name) {
    for (int k = 0; k < r->ncontenders; k++)
        if (strcmp(r->c[k].name, name) == 0) return &r->c[k];
    return NULL;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof v[0], by_value);
    return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double contender_median(const contender *c, int count) {
    double v[MAX_ROUNDS];
    memcpy(v, c->time, (size_t)count * sizeof v[0]);
    return median(v, count);
}

double contender_best(const contender *c, int count) {
    double best = c->time[0];
    for (int i = 1; i < count; i++) best = c->time[i] < best ? c->time[i] : best;
    return best;
}

double contender_ratio(const contender *a, const contender *b, int count) {
    double v[MAX_ROUNDS];
    for (int i = 0; i < count; i++) v[i] = a->time[i] / b->time[i];
    return median(v, count);
}
