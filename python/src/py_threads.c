/* The executor of the extension: threads that live as long as one call.
 *
 * The library calls it only where a move is large enough to be shared, so a small one starts nothing. Starting a thread
 * takes some 20 microseconds, in which 200 KB are copied; in return nothing outlives the call, nothing is shared by
 * interpreters, and a fork finds no pool without workers. What cannot be started is done by the threads that could. */
#include "py_plan.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct job {
    void (*task)(void *arg, size_t index);
    void         *arg;
    size_t        ntasks;
    atomic_size_t next;
} job;

static void *work(void *object) {
    job *j = object;
    for (size_t i; (i = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed)) < j->ntasks;) j->task(j->arg, i);
    return NULL;
}

static void run(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    const int32_t threads = *(const int32_t *)context;
    pthread_t     others[MOST_THREADS];
    job           j = {.task = task, .arg = arg, .ntasks = ntasks};
    int32_t       n = 0;
    atomic_init(&j.next, 0);
    while (n < threads - 1 && (size_t)n + 1 < ntasks && pthread_create(&others[n], NULL, work, &j) == 0) n++;
    (void)work(&j);
    while (n > 0) (void)pthread_join(others[--n], NULL);
}

tg_executor core_executor(const int32_t *threads) {
    const tg_executor e = {.run = run, .context = (void *)(uintptr_t)threads, .threads = *threads};
    return e;
}
