/* A thread pool as an executor: pthreadpool, which XNNPACK and PyTorch run on. Its workers spin for a
 * while after a call, so runs that follow each other start fast; calls from several threads queue. */
#include "base/error.h"

#include <tegula/tegula.h>

#include <pthreadpool.h>
#include <stdlib.h>

struct tg_threads {
    pthreadpool_t pool;
    int32_t       n;
};

static void run(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    const tg_threads *threads = context;
    pthreadpool_parallelize_1d(threads->pool, task, arg, ntasks, 0);
}

tg_status tg_threads_create(tg_threads **out, int32_t n, tg_error *err) {
    if (out == NULL) return tg_fail(err, TG_ERR_ARGUMENT, "threads: out must not be NULL");
    if (n < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "threads: %d threads; at least 1 is needed", (int64_t)n);
    tg_threads *threads = malloc(sizeof *threads);
    if (threads == NULL) return tg_fail(err, TG_ERR_NOMEM, "threads: no memory for a pool");
    threads->n = n;
    threads->pool = pthreadpool_create((size_t)n);
    if (threads->pool == NULL) {
        free(threads);
        return tg_fail(err, TG_ERR_NOMEM, "threads: no resources for a pool of %d threads", (int64_t)n);
    }
    *out = threads;
    return TG_OK;
}

tg_executor tg_threads_executor(tg_threads *threads) {
    const tg_executor e = {run, threads, threads->n};
    return e;
}

void tg_threads_destroy(tg_threads **threads) {
    if (*threads == NULL) return;
    pthreadpool_destroy((*threads)->pool);
    free(*threads);
    *threads = NULL;
}
