/* Flat tables that grow by doubling: a growing table of n rows costs O(n) in all, and an allocation that fails
 * leaves it as it was. */
#ifndef TG_HLO_HLO_ARRAY_H
#define TG_HLO_HLO_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Room for `more` rows of `size` bytes behind the first `count`: the table, moved if need be, and *cap; NULL
 * without memory, nothing changed. */
void *tg_hlo_grow(void *rows, size_t *cap, size_t count, size_t more, size_t size);

/* The table without the room behind its rows; NULL if it has none, or if that fails, which harms nothing. */
void *tg_hlo_shrink(void *rows, size_t count, size_t size);

#define TG_HLO_UNUSED __attribute__((unused)) /* not every table needs everything */

/* A table type and what can be done with it: name_reserve(t, more), name_push(t, row), name_trim(t). */
#define TG_HLO_TABLE(name, row_type)                                                                         \
    typedef struct name {                                                                                    \
        row_type *rows;                                                                                      \
        size_t    count, cap;                                                                                \
    } name;                                                                                                  \
    static inline bool name##_reserve(name *t, size_t more) {                                                \
        if (more <= t->cap - t->count) return true;                                                          \
        row_type *rows = tg_hlo_grow(t->rows, &t->cap, t->count, more, sizeof *rows);                        \
        if (rows == NULL) return false;                                                                      \
        t->rows = rows;                                                                                      \
        return true;                                                                                         \
    }                                                                                                        \
    TG_HLO_UNUSED static inline bool name##_push(name *t, row_type row) {                                    \
        if (!name##_reserve(t, 1)) return false;                                                             \
        t->rows[t->count++] = row;                                                                           \
        return true;                                                                                         \
    }                                                                                                        \
    TG_HLO_UNUSED static inline void name##_trim(name *t) {                                                  \
        row_type *rows = tg_hlo_shrink(t->rows, t->count, sizeof *rows);                                     \
        if (rows == NULL) return;                                                                            \
        t->rows = rows;                                                                                      \
        t->cap = t->count;                                                                                   \
    }

#endif
