/* Taking turns: several ways to do the same work, timed round by round in one process.
 *
 * What else a machine does changes from second to second, so two numbers taken apart cannot be compared. Here
 * every contender runs once in every round, and a ratio is taken inside a round before the median is taken
 * over rounds. See rounds.c for how rounds that other programs disturbed are found and repeated. */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_ROUNDS = 64, MAX_CONTENDERS = 14 };

/* What limits.c looks for among all contenders. */
typedef enum contender_kind { KIND_OTHER, KIND_LINES, KIND_WORK, KIND_LOOP } contender_kind;

typedef struct contender {
    const char    *name;
    contender_kind kind;
    void (*run)(void *context);
    void   *context;
    int     pool;               /* which pool of threads it wakes; 0: none */
    int64_t repeats;            /* calls per sample, set by rounds_run */
    double  time[MAX_ROUNDS];   /* seconds per call */
} contender;

typedef struct rounds {
    contender   c[MAX_CONTENDERS];
    int         ncontenders;
    int         count;          /* rounds wanted, at most MAX_ROUNDS */
    double      sample_seconds; /* calls are repeated for about this long; 0: one call */
    const void *flush;          /* read before each sample, to empty the caches */
    size_t      flush_bytes;    /* 0: instead, one call that is not timed goes before each sample */
    bool        guard;          /* look for other programs, and wait between pools of threads */
    int         noisy;          /* out: rounds that were disturbed, and could not be repeated */
    double      others;         /* out: largest share of the CPUs that others had in a round that counts */
} rounds;

/* Add a contender, of no kind, and return it; the first one added is what ratios usually are taken to. */
contender *rounds_add(rounds *r, const char *name, void (*run)(void *), void *context, int pool);

/* Seconds per call, the best of a few short samples: to choose who is to be a contender. */
double rounds_probe(const rounds *r, void (*run)(void *), void *context);

void rounds_run(rounds *r);

/* By name; NULL if there is none. */
const contender *rounds_find(const rounds *r, const char *name);

double contender_median(const contender *c, int count);
double contender_best(const contender *c, int count);

/* Median over rounds of a's time / b's time in the same round: how many times faster b is. */
double contender_ratio(const contender *a, const contender *b, int count);

#endif /* BENCH_ROUNDS_H */
