/* src/layout/digits.c judged by exhaustion: equality of greedy digits with weights that need not
 * divide each other, against looking at every number. */
#include "layout/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MAX_SIZE = 13 };

static uint64_t state;

static int64_t draw(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static uint64_t seed(void) {
    const char *given = getenv("TEGULA_SEED");
    const uint64_t s = given != NULL ? strtoull(given, NULL, 10) : 20261120;
    print_message("seed %llu (TEGULA_SEED)\n", (unsigned long long)s);
    return s;
}

/* The definition, one coin at a time. */
static int64_t by_definition(const tg_digits *f, int64_t x) {
    int64_t sum = 0;
    for (int32_t i = 0; i < f->n; i++)
        for (; x >= f->weight[i]; x -= f->weight[i]) sum += f->stride[i];
    return sum;
}

static bool equal_by_looking(const tg_digits *f, const tg_digits *g) {
    for (int64_t x = 0; x < f->size; x++)
        if (by_definition(f, x) != by_definition(g, x)) return false;
    return true;
}

/* Bits of `set` are the weights 2, 3, ...; strides follow. */
static tg_digits make(int64_t size, unsigned set, const int64_t *strides) {
    tg_digits f = {.n = 0, .size = size};
    for (int64_t w = size - 1; w >= 2; w--) {
        if (!(set >> (w - 2) & 1)) continue;
        f.weight[f.n] = w;
        f.stride[f.n] = strides[f.n];
        f.n++;
    }
    f.weight[f.n] = 1;
    f.stride[f.n] = strides[f.n];
    f.n++;
    return f;
}

static void check_pair(const tg_digits *f, const tg_digits *g, int64_t *equals) {
    bool      equal = false;
    int64_t   x = -1;
    tg_error  err;
    assert_int_equal(tg_digits_equal(&equal, &x, f, g, &err), TG_OK);
    const bool want = equal_by_looking(f, g);
    if (equal != want) {
        print_error("size %lld:", (long long)f->size);
        for (int32_t i = 0; i < f->n; i++) print_error(" %lld*%lld", (long long)f->weight[i], (long long)f->stride[i]);
        print_error(" against");
        for (int32_t i = 0; i < g->n; i++) print_error(" %lld*%lld", (long long)g->weight[i], (long long)g->stride[i]);
        print_error("\n");
    }
    assert_int_equal(equal, want);
    if (!equal) {
        assert_in_range(x, 0, (uintmax_t)f->size - 1);
        assert_int_not_equal(by_definition(f, x), by_definition(g, x));
    }
    *equals += want;
}

/* Every pair of weight sets below 7, with all strides from a small alphabet. */
static void test_exhaustive(void **unused) {
    (void)unused;
    int64_t pairs = 0, equals = 0;
    for (int64_t size = 1; size <= 7; size++) {
        const unsigned sets = size > 2 ? 1u << (size - 2) : 1;
        for (unsigned a = 0; a < sets; a++)
            for (unsigned b = 0; b < sets; b++)
                for (int k = 0; k < 400; k++) {
                    int64_t s[MAX_SIZE], t[MAX_SIZE];
                    for (int i = 0; i < MAX_SIZE; i++) {
                        s[i] = draw(4) - 1;
                        t[i] = draw(4) - 1;
                    }
                    const tg_digits f = make(size, a, s), g = make(size, b, t);
                    check_pair(&f, &g, &equals);
                    pairs++;
                }
    }
    print_message("%lld pairs, %lld equal\n", (long long)pairs, (long long)equals);
    assert_true(equals > 1000); /* the alphabet is small enough for coincidences to be met */
}

/* Pairs that are equal although their weights differ: f's strides are read off g where that works. */
static void test_equal_by_construction(void **unused) {
    (void)unused;
    int64_t equals = 0;
    for (int k = 0; k < 300000; k++) {
        const int64_t size = 2 + draw(MAX_SIZE - 2);
        int64_t       s[MAX_SIZE];
        for (int i = 0; i < MAX_SIZE; i++) s[i] = draw(5) - 1;
        const tg_digits g = make(size, (unsigned)draw(1 << (MAX_SIZE - 3)), s);
        tg_digits       f = make(size, (unsigned)draw(1 << (MAX_SIZE - 3)), s);
        for (int32_t i = 0; i < f.n; i++) f.stride[i] = by_definition(&g, f.weight[i]);
        check_pair(&f, &g, &equals);
    }
    print_message("%lld equal\n", (long long)equals);
    assert_true(equals > 10000);
}

static void test_coalesce_keeps_the_function(void **unused) {
    (void)unused;
    for (int k = 0; k < 100000; k++) {
        const int64_t size = 1 + draw(MAX_SIZE - 1);
        int64_t       s[MAX_SIZE];
        for (int i = 0; i < MAX_SIZE; i++) s[i] = draw(9) - 2;
        const tg_digits f = make(size, (unsigned)draw(1 << (MAX_SIZE - 3)), s);
        tg_digits       g = f;
        tg_digits_coalesce(&g);
        assert_true(g.n <= f.n);
        for (int64_t x = 0; x < size; x++) assert_int_equal(by_definition(&f, x), tg_digits_eval(&g, x));
        tg_digits h = g;
        tg_digits_coalesce(&h);
        assert_int_equal(h.n, g.n);
    }
}

static void test_cut_is_a_sum(void **unused) {
    (void)unused;
    int64_t cuts = 0;
    for (int k = 0; k < 200000; k++) {
        const int64_t high = 1 + draw(5), low = 1 + draw(5), size = high * low;
        int64_t       s[32];
        tg_digits     f = {.n = 0, .size = size}, hi, lo;
        for (int i = 0; i < 32; i++) s[i] = draw(9) - 2;
        for (int64_t w = size; w >= 1; w--) {
            if (w != 1 && (w == size || draw(4) != 0)) continue;
            f.weight[f.n] = w;
            f.stride[f.n] = s[f.n];
            f.n++;
        }
        if (!tg_digits_cut(&hi, &lo, &f, low)) continue;
        cuts++;
        for (int64_t x = 0; x < size; x++)
            assert_int_equal(by_definition(&f, x), tg_digits_eval(&hi, x / low) + tg_digits_eval(&lo, x % low));
    }
    assert_true(cuts > 10000);
}

/* Sizes far beyond looking: 10^12 and more, tiles of 48 against 64. */
static void test_large(void **unused) {
    (void)unused;
    const tg_digits tiles64 = {3, INT64_C(1000000000000), {4096, 64, 1}, {1 << 20, 128, 1}};
    const tg_digits tiles48 = {3, INT64_C(1000000000000), {4096, 48, 1}, {1 << 20, 128, 1}};
    tg_digits       other = tiles64;
    bool            equal;
    int64_t         x = -1;
    assert_int_equal(tg_digits_equal(&equal, &x, &tiles64, &tiles64, NULL), TG_OK);
    assert_true(equal);
    assert_int_equal(tg_digits_equal(&equal, &x, &tiles64, &tiles48, NULL), TG_OK);
    assert_false(equal);
    assert_int_not_equal(tg_digits_eval(&tiles64, x), tg_digits_eval(&tiles48, x));
    other.stride[0]++;
    assert_int_equal(tg_digits_equal(&equal, &x, &tiles64, &other, NULL), TG_OK);
    assert_false(equal);
    assert_int_not_equal(tg_digits_eval(&tiles64, x), tg_digits_eval(&other, x));
}

int main(void) {
    state = seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exhaustive),       cmocka_unit_test(test_equal_by_construction),
        cmocka_unit_test(test_coalesce_keeps_the_function), cmocka_unit_test(test_cut_is_a_sum),
        cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
