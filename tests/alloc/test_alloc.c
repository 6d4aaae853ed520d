/* Every allocation of the library fails once in turn: the call says TG_ERR_NOMEM, leaves its output
 * alone and loses nothing, and works when memory is back.
 *
 * Linked with -Wl,--wrap=malloc,--wrap=pthreadpool_create against the static library, so that the
 * library's own calls come here; what pthreadpool allocates inside counts as one allocation, what protobuf-c
 * allocates comes through the library. */
#include <tegula/tegula.h>
#include <tegula/xla_proto.h>

#include <pthreadpool.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void         *__real_malloc(size_t size);
void         *__wrap_malloc(size_t size);
pthreadpool_t __real_pthreadpool_create(size_t n);
pthreadpool_t __wrap_pthreadpool_create(size_t n);

#include "countdown.h"

void *__wrap_malloc(size_t size) { return fails_now() ? NULL : __real_malloc(size); }

pthreadpool_t __wrap_pthreadpool_create(size_t n) { return fails_now() ? NULL : __real_pthreadpool_create(n); }

/* Calls attempt() with the first, second, ... allocation failing until one call needs no more. */
static int fail_each(tg_status (*attempt)(tg_error *err)) {
    for (int n = 0;; n++) {
        tg_error err = {TG_OK, 0, 0, ""};
        countdown = n;
        made = 0;
        const tg_status s = attempt(&err);
        countdown = -1;
        if (s == TG_OK) return made;
        assert_int_equal(made, n + 1);
        assert_int_equal(s, TG_ERR_NOMEM);
        assert_int_equal(err.status, TG_ERR_NOMEM);
        assert_true(err.message[0] != '\0');
    }
}

static tg_status make_threads(tg_error *err) {
    tg_threads     *t = NULL;
    const tg_status s = tg_threads_create(&t, 2, err);
    if (s != TG_OK) assert_null(t);
    tg_threads_destroy(&t);
    return s;
}

/* A plan is a value: making, running and verifying it works without memory. */
static tg_status make_plan(tg_error *err) {
    const int64_t        shape[] = {4, 6};
    const uint16_t       pad = 0;
    tg_layout            l;
    tg_plan              p;
    const tg_plan_params params = {.dst = &l, .src = &l, .pad = &pad};
    assert_int_equal(tg_layout_strided(&l, TG_F16, 2, shape, NULL, 0, NULL), TG_OK);
    uint16_t        src[24] = {1, 2, 3}, dst[24];
    bool            equal = false;
    const tg_status s = tg_plan_init(&p, &params, err);
    if (s != TG_OK) return s;
    assert_int_equal(tg_plan_run(&p, dst, src, NULL, NULL), TG_OK);
    assert_int_equal(tg_plan_verify(&equal, NULL, NULL, &params, dst, src, NULL), TG_OK);
    assert_true(equal);
    return TG_OK;
}

static void test_plan(void **state) {
    (void)state;
    assert_int_equal(fail_each(make_plan), 0);
}

static void test_threads(void **state) {
    (void)state;
    assert_int_equal(fail_each(make_threads), 2);
}

/* (f32[2]{0:T(8)SC(0:1)}, token[]), with an unknown field. */
static const unsigned char shape_bytes[] = {0x10, 0x0d, 0x22, 0x18, 0x10, 0x0b, 0x1a, 0x01, 0x02, 0x2a, 0x0e, 0x0a,
                                            0x01, 0x00, 0x32, 0x03, 0x0a, 0x01, 0x08, 0x8a, 0x01, 0x03, 0x12, 0x01,
                                            0x01, 0x32, 0x01, 0x00, 0x22, 0x04, 0x10, 0x11, 0x08, 0x05};

static tg_status read_proto(tg_error *err) {
    tg_xla_shape    nodes[3];
    size_t          count = 7;
    const tg_status s = tg_xla_shape_from_proto(nodes, 3, &count, shape_bytes, sizeof shape_bytes, err);
    assert_int_equal(count, s == TG_OK ? 3 : 7);
    return s;
}

static tg_status write_proto(tg_error *err) {
    const tg_xla_shape nodes[2] = {{.kind = TG_XLA_TUPLE, .nchildren = 1}, {.kind = TG_XLA_TOKEN}};
    size_t             need = 7;
    const tg_status    s = tg_xla_shape_to_proto(NULL, 0, &need, nodes, 2, err);
    assert_int_equal(need, s == TG_OK ? 6 : 7);
    return s;
}

/* (f32[]) -> f32[], without layouts */
static const unsigned char program_bytes[] = {0x0a, 0x02, 0x10, 0x0b, 0x12, 0x02, 0x10, 0x0b, 0x1a, 0x01, 0x78};

static tg_status read_program(tg_error *err) {
    tg_xla_program_shape p = {.node_count = 7};
    const tg_status      s = tg_xla_program_shape_from_proto(&p, program_bytes, sizeof program_bytes, err);
    assert_int_equal(p.node_count, s == TG_OK ? 2 : 7);
    return s;
}

static tg_status write_program(tg_error *err) {
    tg_xla_shape               nodes[2] = {{.kind = TG_XLA_TOKEN}, {.kind = TG_XLA_TOKEN}};
    const tg_xla_program_shape p = {.nodes = nodes, .node_count = 2, .nparameters = 1};
    size_t                     need = 7;
    const tg_status            s = tg_xla_program_shape_to_proto(NULL, 0, &need, &p, err);
    assert_int_equal(need, s == TG_OK ? 10 : 7);
    return s;
}

/* Reading: the message, its numbers, its lists and its parts, each for itself. */
static void test_protos(void **state) {
    (void)state;
    assert_true(fail_each(read_proto) > 10);
    assert_int_equal(fail_each(write_proto), 2);
    assert_true(fail_each(read_program) > 4);
    assert_int_equal(fail_each(write_program), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plan), cmocka_unit_test(test_threads),
                                       cmocka_unit_test(test_protos)};
    return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
