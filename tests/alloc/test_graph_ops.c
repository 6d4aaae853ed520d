/* Nodes from shapes: their loops and accesses are those that are written here by hand; what is refused leaves the graph
 * as it was; and so does every allocation that fails.
 *
 * Linked with -Wl,--wrap=malloc,--wrap=realloc against the static library. */
#include <tegula/graph_ops.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

#include "countdown.h"

void *__wrap_malloc(size_t size) { return fails_now() ? NULL : __real_malloc(size); }
void *__wrap_realloc(void *p, size_t size) { return fails_now() ? NULL : __real_realloc(p, size); }

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* Inputs: 0 of shape [2,128,64], 1 [64,100], 2 [128,64], 3 [64]. */
static tg_graph *inputs(void) {
    static const int64_t shapes[4][3] = {{2, 128, 64}, {64, 100}, {128, 64}, {64}};
    static const int32_t ndims[4] = {3, 2, 2, 1};
    tg_graph            *g = NULL;
    tg_error             err;
    assert_int_equal(tg_graph_create(&g, &err), TG_OK);
    for (int i = 0; i < 4; i++) {
        tg_host host;
        int64_t id = -1;
        assert_int_equal(tg_host_contiguous(&host, TG_F16, ndims[i], shapes[i], &err), TG_OK);
        assert_int_equal(tg_graph_add_input(&id, g, (tg_hlo_text){"", 0}, &host, NULL, &err), TG_OK);
        assert_int_equal(id, i);
    }
    return g;
}

static tg_node node_of(tg_dtype dtype) {
    const tg_node node = {.kind = TG_NODE_POINTWISE, .host = {.dtype = dtype, .ndim = -1}};
    return node;
}

/* The terms that move, "loop*step+...", of operand k. */
static void expect(const tg_graph *g, int64_t id, int32_t k, int64_t offset, int32_t n, const int64_t (*want)[2]) {
    const tg_access a = tg_graph_access(g, id, k);
    assert_int_equal(a.offset, offset);
    assert_int_equal(a.nterms, n);
    for (int32_t i = 0; i < n; i++) {
        assert_int_equal(a.terms[i].loop, want[i][0]);
        assert_int_equal(a.terms[i].step, want[i][1]);
    }
}

static void expect_shape(const tg_graph *g, int64_t id, int32_t ndim, const int64_t *shape, int32_t nloops,
                         const int64_t *ranges) {
    const tg_node_info info = tg_graph_get(g, id);
    assert_int_equal(info.host.ndim, ndim);
    for (int32_t d = 0; d < ndim; d++) assert_int_equal(info.host.shape[d], shape[d]);
    assert_int_equal(info.nloops, nloops);
    for (int32_t l = 0; l < nloops; l++) assert_int_equal(info.ranges[l], ranges[l]);
}

#define SHAPE(...) (int32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__}
#define TERMS(...)                                                                                                     \
    (int32_t)(sizeof((int64_t[][2]){__VA_ARGS__}) / sizeof(int64_t[2])), (const int64_t[][2]){__VA_ARGS__}

static void test_pointwise(void **unused) {
    tg_graph        *g = inputs();
    const tg_operand operands[] = {tg_graph_whole(g, 0), tg_graph_whole(g, 2), tg_graph_whole(g, 3)};
    const tg_node    node = node_of(TG_PRED);
    int64_t          id = -1;
    tg_error         err;
    (void)unused;
    assert_int_equal(tg_graph_add_pointwise(&id, g, &node, 3, operands, &err), TG_OK);
    expect_shape(g, id, SHAPE(2, 128, 64), SHAPE(2, 128, 64));
    expect(g, id, 0, 0, TERMS({0, 8192}, {1, 64}, {2, 1}));
    expect(g, id, 1, 0, TERMS({1, 64}, {2, 1}));
    expect(g, id, 2, 0, TERMS({2, 1}));
    expect(g, id, -1, 0, TERMS({0, 8192}, {1, 64}, {2, 1}));
    assert_true(tg_graph_get(g, id).on_device); /* truth values in the format of what was compared */
    tg_graph_destroy(&g);
}

static void test_reduce(void **unused) {
    static const int32_t dims[] = {0, 2};
    tg_graph            *g = inputs();
    const tg_operand     whole = tg_graph_whole(g, 0);
    const tg_node        node = node_of(TG_F32);
    int64_t              id = -1;
    tg_error             err;
    (void)unused;
    assert_int_equal(tg_graph_add_reduce(&id, g, &node, &whole, 2, dims, false, &err), TG_OK);
    expect_shape(g, id, SHAPE(128), SHAPE(128, 2, 64));
    expect(g, id, 0, 0, TERMS({1, 8192}, {0, 64}, {2, 1}));
    assert_int_equal(tg_graph_get(g, id).host.dtype, TG_F32);
    assert_int_equal(tg_graph_add_reduce(&id, g, &node, &whole, 2, dims, true, &err), TG_OK);
    expect_shape(g, id, SHAPE(1, 128, 1), SHAPE(1, 128, 1, 2, 64));
    expect(g, id, 0, 0, TERMS({3, 8192}, {1, 64}, {4, 1}));
    tg_graph_destroy(&g);
}

static void test_matmul(void **unused) {
    tg_graph      *g = inputs();
    tg_operand     turned = tg_graph_whole(g, 2);
    const tg_operand x = tg_graph_whole(g, 0), y = tg_graph_whole(g, 1), v = tg_graph_whole(g, 3);
    const tg_node  node = node_of(TG_F16);
    int64_t        id = -1;
    tg_error       err;
    (void)unused;
    assert_int_equal(tg_graph_add_matmul(&id, g, &node, &x, &y, &err), TG_OK);
    expect_shape(g, id, SHAPE(2, 128, 100), SHAPE(2, 128, 100, 64));
    expect(g, id, 0, 0, TERMS({0, 8192}, {1, 64}, {3, 1}));
    expect(g, id, 1, 0, TERMS({3, 100}, {2, 1}));
    turned.view = (tg_view){2, {64, 64}, {1, 64}, 64}; /* x[1:65].T */
    assert_int_equal(tg_graph_add_matmul(&id, g, &node, &x, &turned, &err), TG_OK);
    expect_shape(g, id, SHAPE(2, 128, 64), SHAPE(2, 128, 64, 64));
    expect(g, id, 1, 64, TERMS({3, 1}, {2, 64}));
    assert_int_equal(tg_graph_add_matmul(&id, g, &node, &x, &v, &err), TG_OK);
    expect_shape(g, id, SHAPE(2, 128), SHAPE(2, 128, 64));
    expect(g, id, 1, 0, TERMS({2, 1}));
    assert_int_equal(tg_graph_add_matmul(&id, g, &node, &v, &y, &err), TG_OK);
    expect_shape(g, id, SHAPE(100), SHAPE(100, 64));
    expect(g, id, 0, 0, TERMS({1, 1}));
    tg_graph_destroy(&g);
}

static void test_concatenate(void **unused) {
    tg_graph        *g = inputs();
    const tg_operand operands[] = {tg_graph_whole(g, 2), tg_graph_whole(g, 2)};
    const tg_node    node = node_of(TG_F16);
    int64_t          id = -1;
    tg_error         err;
    (void)unused;
    assert_int_equal(tg_graph_add_concatenate(&id, g, &node, 2, operands, 1, &err), TG_OK);
    expect_shape(g, id, SHAPE(128, 128), SHAPE(128, 128));
    expect(g, id, 1, 0, TERMS({0, 64}, {1, 1}));
    assert_int_equal(tg_graph_access(g, id, 1).terms[1].extent, 64);
    assert_int_equal(tg_graph_get(g, id).kind, TG_NODE_CONCATENATE);
    const tg_operand rows[] = {tg_graph_whole(g, 3), tg_graph_whole(g, 3)};
    tg_operand       cut[2] = {rows[0], rows[1]};
    cut[0].view.shape[0] = 3; /* the second piece begins within a stick, and there is nothing else */
    assert_int_equal(tg_graph_add_concatenate(&id, g, &node, 2, cut, 0, &err), TG_OK);
    assert_int_equal(tg_graph_get(g, id).kind, TG_NODE_BOUNDARY);
    expect_shape(g, id, SHAPE(67), SHAPE(67));
    tg_graph_destroy(&g);
}

/* ---- what is refused ---------------------------------------------------------------------- */

typedef tg_status adding(int64_t *id, tg_graph *g, tg_error *err);

static tg_status add_two(int64_t *id, tg_graph *g, tg_operand a, tg_operand b, int32_t ndim, tg_error *err) {
    const tg_operand both[2] = {a, b};
    tg_node          node = node_of(TG_F16);
    node.host.ndim = ndim;
    return tg_graph_add_pointwise(id, g, &node, 2, both, err);
}

static tg_status add_unlike(int64_t *id, tg_graph *g, tg_error *err) {
    return add_two(id, g, tg_graph_whole(g, 1), tg_graph_whole(g, 2), -1, err);
}

static tg_status add_wrong_shape(int64_t *id, tg_graph *g, tg_error *err) {
    return add_two(id, g, tg_graph_whole(g, 2), tg_graph_whole(g, 2), 1, err);
}

static tg_status add_outside(int64_t *id, tg_graph *g, tg_error *err) {
    tg_operand o = tg_graph_whole(g, 2);
    o.view.offset = 1;
    return add_two(id, g, o, o, -1, err);
}

static tg_status add_backwards(int64_t *id, tg_graph *g, tg_error *err) {
    tg_operand o = tg_graph_whole(g, 2);
    o.view.strides[1] = -1;
    return add_two(id, g, o, o, -1, err);
}

static tg_status add_nobody(int64_t *id, tg_graph *g, tg_error *err) {
    tg_operand o = tg_graph_whole(g, 2);
    o.node = 4;
    return add_two(id, g, o, o, -1, err);
}

static tg_status add_kind(int64_t *id, tg_graph *g, tg_error *err) {
    tg_node node = node_of(TG_F16);
    node.kind = TG_NODE_GATHER;
    return tg_graph_add_pointwise(id, g, &node, 0, NULL, err);
}

static tg_status add_nothing(int64_t *id, tg_graph *g, tg_error *err) {
    const tg_node node = node_of(TG_F16);
    return tg_graph_add_pointwise(id, g, &node, 0, NULL, err);
}

static tg_status add_no_pieces(int64_t *id, tg_graph *g, tg_error *err) {
    const tg_node node = node_of(TG_F16);
    return tg_graph_add_concatenate(id, g, &node, 0, NULL, 0, err);
}

static tg_status add_unlike_pieces(int64_t *id, tg_graph *g, tg_error *err) {
    const tg_operand both[2] = {tg_graph_whole(g, 1), tg_graph_whole(g, 2)};
    const tg_node    node = node_of(TG_F16);
    return tg_graph_add_concatenate(id, g, &node, 2, both, 0, err);
}

static tg_status add_no_product(int64_t *id, tg_graph *g, tg_error *err) {
    const tg_operand x = tg_graph_whole(g, 1), y = tg_graph_whole(g, 2);
    const tg_node    node = node_of(TG_F16);
    return tg_graph_add_matmul(id, g, &node, &x, &y, err);
}

static tg_status add_dim_twice(int64_t *id, tg_graph *g, tg_error *err) {
    static const int32_t dims[] = {1, 1};
    const tg_operand     x = tg_graph_whole(g, 1);
    const tg_node        node = node_of(TG_F16);
    return tg_graph_add_reduce(id, g, &node, &x, 2, dims, false, err);
}

static tg_status add_no_dim(int64_t *id, tg_graph *g, tg_error *err) {
    static const int32_t dims[] = {2};
    const tg_operand     x = tg_graph_whole(g, 1);
    const tg_node        node = node_of(TG_F16);
    return tg_graph_add_reduce(id, g, &node, &x, 1, dims, false, err);
}

static const struct { adding *add; const char *words; } refused[] = {
    {add_unlike, "operand 1 has shape [128,64], which cannot be broadcast to [64,100]"},
    {add_wrong_shape, "the result has shape [128,64], and not [0]"},
    {add_outside, "operand 0 reads up to element 8192 of node 2, whose last one is 8191"},
    {add_backwards, "dimension 1 of operand 0 has size 64 and stride -1: both are 0 or more"},
    {add_nobody, "operand 0 is node 4; there are 4"},
    {add_kind, "a gather does not work element by element"},
    {add_nothing, "a node without operands needs a shape"},
    {add_no_pieces, "there is nothing to concatenate"},
    {add_unlike_pieces, "operand 1 has shape [128,64], and operand 0 [64,100]: all are the same but along dimension 0"},
    {add_no_product, "x of shape [64,100] and y of shape [128,64] are no product: the last dimension of x is the last "
                     "but one of y"},
    {add_dim_twice, "dimension 1 is reduced twice"},
    {add_no_dim, "there is no dimension 2 to reduce; the operand has 2"},
};

static void test_refused(void **unused) {
    (void)unused;
    for (size_t i = 0; i < COUNT(refused); i++) {
        tg_graph *g = inputs();
        int64_t   id = -7;
        tg_error  err = {TG_OK, 0, 0, ""};
        assert_int_equal(refused[i].add(&id, g, &err), TG_ERR_ARGUMENT);
        assert_string_equal(err.message, refused[i].words);
        assert_int_equal(id, -7);
        assert_int_equal(tg_graph_count(g), 4);
        tg_graph_destroy(&g);
    }
}

static void test_memory(void **unused) {
    (void)unused;
    for (int n = 0;; n++) {
        tg_graph        *g = inputs();
        const tg_operand operands[] = {tg_graph_whole(g, 2), tg_graph_whole(g, 3)};
        const tg_node    node = node_of(TG_F16);
        int64_t          id = -7;
        tg_error         err = {TG_OK, 0, 0, ""};
        countdown = n;
        made = 0;
        const tg_status s = tg_graph_add_pointwise(&id, g, &node, 2, operands, &err);
        countdown = -1;
        assert_int_equal(s, s == TG_OK ? TG_OK : TG_ERR_NOMEM);
        assert_int_equal(tg_graph_count(g), s == TG_OK ? 5 : 4);
        tg_graph_destroy(&g);
        if (s == TG_OK) {
            assert_true(n >= 2);
            return;
        }
        assert_int_equal(id, -7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pointwise), cmocka_unit_test(test_reduce),  cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_concatenate), cmocka_unit_test(test_refused), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
