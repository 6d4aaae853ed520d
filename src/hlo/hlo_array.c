#include "hlo/hlo_array.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_ROWS = 16 };

void *tg_hlo_grow(void *rows, size_t *cap, size_t count, size_t more, size_t size) {
    size_t wanted = *cap > FIRST_ROWS / 2 ? *cap : FIRST_ROWS / 2;
    do {
        if (__builtin_mul_overflow(wanted, 2, &wanted)) return NULL;
    } while (wanted - count < more);
    size_t bytes;
    if (__builtin_mul_overflow(wanted, size, &bytes) || bytes > PTRDIFF_MAX) return NULL;
    void *grown = realloc(rows, bytes);
    if (grown != NULL) *cap = wanted;
    return grown;
}

void *tg_hlo_shrink(void *rows, size_t count, size_t size) {
    return rows != NULL && count > 0 ? realloc(rows, count * size) : NULL;
}
