/* Which CPU runs which thread. */
#ifndef BENCH_PINNING_H
#define BENCH_PINNING_H

/* threads 2: the calling thread to the first CPU that the process may use, all others to the second one, so that no
 * pool's thread wakes up where its partner is already running (the scheduler may take milliseconds to part them).
 * threads 1: every thread may run anywhere again. Pools must have started their threads. */
void pin_threads(int threads);

/* How many CPUs the process may use. */
int pin_cpus(void);

#endif /* BENCH_PINNING_H */
