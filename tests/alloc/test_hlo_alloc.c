/* Reading HLO text: every allocation fails once in turn. The call says TG_ERR_NOMEM, makes no module and loses
 * nothing (the sanitizers of the other build count), and works when memory is back.
 *
 * Linked with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc against the static library. */
#include <tegula/hlo.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

#include "countdown.h"

void *__wrap_malloc(size_t size) { return fails_now() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size) { return fails_now() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t size) { return fails_now() ? NULL : __real_realloc(p, size); }

/* Every table grows, also those of nested bodies: 100 instructions with operands, attributes and shapes. */
static void make_text(char *text, size_t cap) {
    size_t len = 0;
    len += (size_t)snprintf(text, cap, "HloModule m, a=1, b=2\nc {}\nENTRY e {\n");
    for (int i = 0; i < 100; i++)
        len += (size_t)snprintf(text + len, cap - len,
                                "x%d = (f32[%d]{}, s8[]) f(x%d, neg(x%d), y), k=v, to_apply={ a%d = s8[%d] g(b), l=1 "
                                "b = s8[] h(a%d), calls={ s8[] i(), z=1 } }\n",
                                i, i, i - 1, 99 - i, i, i, i);
    len += (size_t)snprintf(text + len, cap - len, "}, x=1\n");
    assert_true(len < cap);
}

static void check(const tg_hlo_module *m) {
    const tg_hlo_header h = tg_hlo_get_header(m);
    assert_int_equal(h.ncomputations, 202);
    assert_int_equal(h.ninstructions, 500);
    assert_int_equal(tg_hlo_get_instruction(m, h.ninstructions - 1).nattributes, 1);
}

static void test_each_allocation_fails(void **state) {
    (void)state;
    static char    text[1 << 16];
    tg_hlo_module *m = NULL;
    make_text(text, sizeof text);
    const size_t len = strlen(text);
    int          failed = 0;
    for (int n = 0;; n++) {
        tg_error err = {TG_OK, 0, 0, ""};
        countdown = n;
        made = 0;
        const tg_status s = tg_hlo_parse(&m, text, len, &err);
        countdown = -1;
        if (s == TG_OK) {
            check(m);
            tg_hlo_destroy(&m);
            if (made <= n) break; /* giving back room is where a failure harms nothing */
            continue;
        }
        failed++;
        assert_int_equal(s, TG_ERR_NOMEM);
        assert_int_equal(err.status, TG_ERR_NOMEM);
        assert_true(err.message[0] != '\0');
        assert_null(m);
    }
    assert_true(failed > 60);
}

/* What is asked of a module needs no memory. */
static void test_answers_need_no_memory(void **state) {
    (void)state;
    static char         text[1 << 16];
    static tg_xla_shape nodes[4];
    tg_hlo_module      *m = NULL;
    size_t              count;
    int64_t             id;
    tg_hlo_text         value;
    make_text(text, sizeof text);
    assert_int_equal(tg_hlo_parse(&m, text, strlen(text), NULL), TG_OK);
    countdown = 0;
    for (int64_t i = 0; i < tg_hlo_get_header(m).nshapes; i++)
        assert_int_equal(tg_hlo_shape(nodes, 4, &count, m, i, NULL), TG_OK);
    assert_true(tg_hlo_find_attribute(&value, m, tg_hlo_get_header(m).ninstructions - 1, "calls"));
    assert_int_equal(tg_hlo_read_computations(&id, 1, &count, m, value, NULL), TG_OK);
    assert_true(tg_hlo_print(NULL, 0, m) > strlen(text) / 2);
    countdown = -1;
    tg_hlo_destroy(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_allocation_fails),
        cmocka_unit_test(test_answers_need_no_memory),
    };
    return cmocka_run_group_tests_name("hlo alloc", tests, NULL, NULL);
}
