/* What the machine allows for a move: the fastest way to copy the lines that it touches (line_copies.h), and its work
 * on elements alone (work.h), whichever takes longer. And what a loop reaches that does both and nothing else: for a
 * transpose, for sticks that begin inside of lines of dst, and for two conversions. */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include "line_copies.h"
#include "rounds.h"
#include "subject.h"
#include "work.h"
#include "workloads.h"

typedef struct limits {
    touched touched;
    lines   way[MOST_LINES_WAYS], loop[MOST_LINES_WAYS];
    work    work;
} limits;

/* Try all ways on as many threads as *s has, and add the fastest three to the rounds, the work, and the fastest two
 * loops; nothing where a limit is not known. room: bytes that may be touched of dst and of src.
 * pool: of the executor. *l must stay, and the settings of *r must be made. */
void limits_add(limits *l, rounds *r, const subject *s, const workload *of, size_t room, int pool);

/* name: a way of copying lines ("dst plain"), or the work; NULL where nothing is known. x: how many times faster a
 * contender is than that. */
typedef struct bound {
    const char *name;
    double      x;
} bound;

/* all: the limit. machine: the same without work that is no limit of the machine. loop: the fastest that does both. */
typedef struct bounds {
    bound all, machine, loop;
} bounds;

/* For the contender of that name, when the rounds are done. */
bounds limits_of(const limits *l, const rounds *r, const char *name);

#endif /* BENCH_LIMITS_H */
