/* Shapes from text and back, for the tests of tegula/xla.h. */
#ifndef TG_TESTS_XLA_TEXTS_H
#define TG_TESTS_XLA_TEXTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <tegula/xla.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* call, which writes to the tg_error e, fails with this status and these words. */
#define FAILS(call, wanted, words)                                                  \
    do {                                                                            \
        e = (tg_error){.status = TG_OK};                                            \
        assert_int_equal(call, wanted);                                             \
        assert_int_equal(e.status, wanted);                                         \
        if (strstr(e.message, words) == NULL) fail_msg("'%s' in '%s'", words, e.message); \
    } while (0)

enum { MAX_NODES = 16 };

/* nodes has room for MAX_NODES. */
static inline size_t read_shape(tg_xla_shape *nodes, const char *text) {
    tg_error err;
    size_t   count = 0;
    if (tg_xla_shape_parse(nodes, MAX_NODES, &count, text, strlen(text), &err) != TG_OK)
        fail_msg("'%s': %s", text, err.message);
    assert_true(count <= MAX_NODES);
    return count;
}

static inline tg_xla_shape read_array(const char *text) {
    tg_xla_shape nodes[MAX_NODES];
    assert_int_equal(read_shape(nodes, text), 1);
    return nodes[0];
}

static inline void assert_tree(const tg_xla_shape *nodes, size_t count, const char *want) {
    char text[1024];
    (void)tg_xla_shape_format(text, sizeof text, nodes, count, true);
    assert_string_equal(text, want);
}

static inline void assert_text(const tg_xla_shape *array, const char *want) { assert_tree(array, 1, want); }

#endif
