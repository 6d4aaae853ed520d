/* An executor of four threads that take the next task each. For tests on cmocka. */
#ifndef TG_TESTS_CREW_H
#define TG_TESTS_CREW_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Does the sanitizer of threads look? */
#if defined(__SANITIZE_THREAD__)
#  define THREAD_SANITIZER 1
#elif defined(__has_feature)
#  if __has_feature(thread_sanitizer)
#    define THREAD_SANITIZER 1
#  endif
#endif
#ifndef THREAD_SANITIZER
#  define THREAD_SANITIZER 0
#endif

enum { CREW = 4 };

typedef struct crew {
    void (*task)(void *arg, size_t index);
    void  *arg;
    size_t next, ntasks;
} crew;

static inline void *crew_work(void *arg) {
    crew *c = arg;
    for (;;) {
        const size_t i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED);
        if (i >= c->ntasks) return NULL;
        c->task(c->arg, i);
    }
}

/* The context is an int that counts the calls. */
static inline void crew_run(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    pthread_t thread[CREW];
    crew      c = {task, arg, 0, ntasks};
    ++*(int *)context;
    for (int i = 0; i < CREW; i++) assert_int_equal(pthread_create(&thread[i], NULL, crew_work, &c), 0);
    for (int i = 0; i < CREW; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
}

#endif
