/* The work of a move on its elements, alone in the first-level cache.
 *
 *     turned        a transpose: its shuffles (turned.h)
 *     interleaved   row-major to (2,1): elements of two rows in turn
 *     work          a conversion: our own mover, on 8 KiB of the same workload. That is no limit of the machine, only
 *                   of our loop */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

#include "subject.h"
#include "touched.h"
#include "workloads.h"

typedef struct work {
    const char        *name; /* as above */
    bool               is_of_machine; /* a limit of the machine, not of our loop */
    bool               is_turned;     /* it is a transpose of elements of so many bytes: */
    int64_t            width;         /* of what changes places */
    void             (*part)(struct work *w, size_t thread, int64_t count);
    int64_t            count; /* squares, pairs of rows, or calls */
    const tg_executor *executor;
    subject            small[2]; /* the conversion, for each thread */
} work;

/* False where elements need no work, or where it is not known, as that of a conversion whose shape is not $. One
 * thread, or two: executor, as in *s. */
bool work_find(work *w, const touched *t, const subject *s, const workload *of);

/* The argument is a work *. */
void work_run(void *w);

#endif /* BENCH_WORK_H */
