/* Preloaded into the command: the TEGULA_FAIL_NTH-th allocation of the program fails, counted from main
 * on. Allocations of the loader before main are left alone, and so are those of stdio's buffers, which
 * libc survives without. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

static long wanted, seen;

__attribute__((constructor)) static void begin(void) {
    const char *text = getenv("TEGULA_FAIL_NTH");
    wanted = text != NULL ? atol(text) : 0;
}

static int fails(void) {
    if (wanted <= 0 || __atomic_add_fetch(&seen, 1, __ATOMIC_RELAXED) != wanted) return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) {
    static void *(*real)(size_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "malloc");
    return fails() ? NULL : real(n);
}

void *realloc(void *p, size_t n) {
    static void *(*real)(void *, size_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "realloc");
    return fails() ? NULL : real(p, n);
}
