/* Memory of ARENA bytes for src, dst and what dst should be, between pages that cannot be touched. The test says how
 * much ARENA is. For tests on cmocka. */
#ifndef TG_TESTS_ARENAS_H
#define TG_TESTS_ARENAS_H

#include "random.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint8_t *src_arena, *dst_arena, *want_arena;

/* ARENA bytes; the pages before and behind cannot be touched. */
static uint8_t *guarded(void) {
    const size_t   page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *const p = mmap(NULL, ARENA + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) != 0 || mprotect(p + page + ARENA, page, PROT_NONE) != 0)
        return NULL;
    return p + page;
}

static int set_up(void **state) {
    (void)state;
    src_arena = guarded();
    dst_arena = guarded();
    want_arena = malloc(ARENA);
    if (src_arena == NULL || dst_arena == NULL || want_arena == NULL) return -1;
    for (int64_t i = 0; i < ARENA; i++) src_arena[i] = (uint8_t)random_bits();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    munmap(src_arena - page, ARENA + 2 * page);
    munmap(dst_arena - page, ARENA + 2 * page);
    free(want_arena);
    return 0;
}

#endif
