/* What the unit tests use of cmocka, for a processor whose cmocka is not here: Debian has it only as a package of
 * that processor's own architecture, which dpkg must first be told of. tools/check_neon.py compiles the tests with
 * this file instead, and tests/python/test_cmocka_standin.py holds it against the real one.
 *
 * As with cmocka the first failed assertion ends its test, the group goes on, and the result of main is the number
 * of tests that failed. Unlike with cmocka a crash ends the program, and there is nothing to set up around one test. */
#ifndef TG_TESTS_NEON_CMOCKA_H
#define TG_TESTS_NEON_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test)(void **state);
};

#define cmocka_unit_test(f) {#f, f}

enum { STANDIN_PASSED, STANDIN_FAILED, STANDIN_SKIPPED, STANDIN_ENDS };

static jmp_buf standin_test; /* where the test that runs was called */

#define print_message(...) ((void)printf(__VA_ARGS__))
#define print_error(...)   ((void)fprintf(stderr, __VA_ARGS__))

#define skip()        longjmp(standin_test, STANDIN_SKIPPED)
#define fail()        fail_msg("fail()")
#define fail_msg(...) standin_fail(__FILE__, __LINE__, __VA_ARGS__)

__attribute__((noreturn, format(printf, 3, 4))) static inline void standin_fail(const char *file, int line,
                                                                                const char *format, ...) {
    va_list args;
    print_error("%s:%d: ", file, line);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    print_error("\n");
    longjmp(standin_test, STANDIN_FAILED);
}

/* ---- assertions; each argument is evaluated once ---- */

#define STANDIN_ASSERT(holds, ...) ((holds) ? (void)0 : fail_msg(__VA_ARGS__))
#define STANDIN_INTS(f, a, b)      f((uintmax_t)(a), (uintmax_t)(b), #a, #b, __FILE__, __LINE__)

#define assert_true(c)               STANDIN_ASSERT((c), "%s is false", #c)
#define assert_false(c)              STANDIN_ASSERT(!(c), "%s is true", #c)
#define assert_null(p)               STANDIN_ASSERT((p) == NULL, "%s is not NULL", #p)
#define assert_non_null(p)           STANDIN_ASSERT((p) != NULL, "%s is NULL", #p)
#define assert_memory_equal(a, b, n) STANDIN_ASSERT(memcmp((a), (b), (n)) == 0, "%s and %s differ", #a, #b)
#define assert_int_equal(a, b)       STANDIN_INTS(standin_equal, a, b)
#define assert_int_not_equal(a, b)   STANDIN_INTS(standin_unequal, a, b)
#define assert_ptr_equal(a, b)       STANDIN_INTS(standin_equal, (uintptr_t)(a), (uintptr_t)(b))
#define assert_in_range(x, low, top) \
    standin_in_range((uintmax_t)(x), (uintmax_t)(low), (uintmax_t)(top), #x, __FILE__, __LINE__)
#define assert_string_equal(a, b)    standin_strings((a), (b), __FILE__, __LINE__)

static inline void standin_equal(uintmax_t a, uintmax_t b, const char *left, const char *right, const char *file,
                                 int line) {
    if (a != b) standin_fail(file, line, "%s is %jd, %s is %jd", left, (intmax_t)a, right, (intmax_t)b);
}

static inline void standin_unequal(uintmax_t a, uintmax_t b, const char *left, const char *right, const char *file,
                                   int line) {
    if (a == b) standin_fail(file, line, "%s and %s are both %jd", left, right, (intmax_t)a);
}

static inline void standin_in_range(uintmax_t x, uintmax_t low, uintmax_t top, const char *what, const char *file,
                                    int line) {
    if (x < low || x > top) standin_fail(file, line, "%s is %ju, not in [%ju, %ju]", what, x, low, top);
}

static inline void standin_strings(const char *a, const char *b, const char *file, int line) {
    if (strcmp(a, b) != 0) standin_fail(file, line, "\"%s\" is not \"%s\"", a, b);
}

/* ---- groups ---- */

#define cmocka_run_group_tests(tests, set_up, tear_down) \
    cmocka_run_group_tests_name(#tests, tests, set_up, tear_down)
#define cmocka_run_group_tests_name(name, tests, set_up, tear_down) \
    standin_run_group(name, tests, sizeof(tests) / sizeof(tests)[0], set_up, tear_down)

static inline int standin_run(void (*test)(void **state), void **state) {
    switch (setjmp(standin_test)) {
    case 0: test(state); return STANDIN_PASSED;
    case STANDIN_SKIPPED: return STANDIN_SKIPPED;
    default: return STANDIN_FAILED;
    }
}

/* The last lines are those of cmocka, for scripts that count. */
static inline int standin_run_group(const char *name, const struct CMUnitTest *tests, size_t n,
                                    int (*set_up)(void **), int (*tear_down)(void **)) {
    static const char *const words[STANDIN_ENDS] = {"       OK ", "  FAILED  ", "  SKIPPED "};
    int                      count[STANDIN_ENDS] = {0};
    void                    *state = NULL;
    const int                ready = set_up == NULL || set_up(&state) == 0;
    for (size_t i = 0; i < n && ready; i++) {
        const int end = standin_run(tests[i].test, &state);
        print_message("[%s] %s\n", words[end], tests[i].name);
        (void)fflush(stdout);
        count[end]++;
    }
    if (!ready || (tear_down != NULL && tear_down(&state) != 0)) count[STANDIN_FAILED]++;
    print_message("[==========] %s\n[  PASSED  ] %d test(s).\n", name, count[STANDIN_PASSED]);
    if (count[STANDIN_SKIPPED] > 0) print_message("[  SKIPPED ] %d test(s).\n", count[STANDIN_SKIPPED]);
    if (count[STANDIN_FAILED] > 0) print_message("[  FAILED  ] %d test(s).\n", count[STANDIN_FAILED]);
    return count[STANDIN_FAILED];
}

#endif
