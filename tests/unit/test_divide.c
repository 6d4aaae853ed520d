/* Work division: torch-spyre's numbers. Source: its tests and documents, by way of tests/spec; those marked derived
 * were worked out by its rules. */
#include "graph/divide.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void test_core_split(void **unused) {
    static const struct { int64_t size, most, split; } rows[] = {
        {128, 32, 32}, {7, 32, 7}, {64, 8, 8}, {3, 2, 1}, {48, 32, 24}, {37, 32, 1}, {96, 5, 4}, {100, 32, 25},
        {33, 32, 11}, {1, 32, 1},
    };
    (void)unused;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (tg_core_split(rows[i].size, rows[i].most) != rows[i].split)
            fail_msg("%lld", (long long)rows[i].size);
}

static void test_distribute(void **unused) {
    static const struct {
        const char *name;
        int64_t     sizes[3], splits[3], cores;
        uint32_t    outputs, reductions;
    } rows[] = {
        {"two of the result", {16, 16, 8}, {16, 2, 1}, 32, 3, 4},
        {"no reduction", {8, 8, 1}, {8, 4, 1}, 32, 3, 0},
        {"rows and sticks", {128, 4, 1}, {32, 1, 1}, 32, 3, 0},
        {"primes", {3, 5, 7}, {3, 1, 7}, 32, 7, 0}, /* derived */
        {"one reduction of two", {6, 4, 16}, {6, 4, 1}, 24, 1, 6}, /* derived */
        {"a reduction takes what is left", {4, 8, 1}, {4, 8, 1}, 32, 1, 2},
    };
    (void)unused;
    for (size_t i = 0; i < COUNT(rows); i++) {
        tg_work w = {.nloops = 3, .outputs = rows[i].outputs, .reductions = rows[i].reductions, .cores = rows[i].cores};
        for (int l = 0; l < 3; l++) {
            w.sizes[l] = rows[i].sizes[l];
            w.splits[l] = 1;
        }
        tg_distribute(&w);
        if (memcmp(w.splits, rows[i].splits, sizeof rows[i].splits) != 0)
            fail_msg("%s: %lld, %lld, %lld", rows[i].name, (long long)w.splits[0], (long long)w.splits[1],
                     (long long)w.splits[2]);
    }
}

static tg_product product(int64_t b, int64_t m, int64_t n, int64_t k, bool shared) {
    return (tg_product){.b = b, .m = m, .n = n, .k = k, .n_sticks = (n + 63) / 64, .k_sticks = (k + 63) / 64,
                        .shared = shared, .cores = 32};
}

static void test_product_cost(void **unused) {
    static const struct { int64_t b, m, n, k, splits[4]; bool shared; double cost; } rows[] = {
        {1, 512, 4096, 4096, {1, 16, 2, 1}, true, 579.220193343},
        {1, 512, 4096, 4096, {1, 8, 4, 1}, true, 414.562666667},
        {1, 512, 4096, 4096, {1, 8, 2, 2}, true, 570.634666667},
        {32, 512, 512, 128, {8, 4, 1, 1}, false, 194.725333333},
        {1, 1, 4096, 4096, {1, 1, 16, 2}, true, 416.445893161},
    };
    (void)unused;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const tg_product p = product(rows[i].b, rows[i].m, rows[i].n, rows[i].k, rows[i].shared);
        const double     cost = tg_product_cost(&p, rows[i].splits);
        if (fabs(cost - rows[i].cost) > 1e-6 * rows[i].cost) fail_msg("row %zu: %.9f", i, cost);
    }
}

static void test_product_split(void **unused) {
    static const struct { int64_t b, m, n, k, splits[4]; bool shared; double cost; } rows[] = {
        {1, 512, 4096, 4096, {1, 4, 8, 1}, true, 399.562667},
        {1, 512, 4096, 12800, {1, 8, 4, 1}, true, 1210.490457},
        {1, 64, 4096, 4096, {1, 4, 8, 1}, true, 196.429052},
        {1, 128, 128, 128, {1, 8, 2, 2}, true, 1.55765},
        {32, 512, 128, 512, {1, 32, 1, 1}, false, 150.349052},
        {8, 128, 64, 128, {2, 8, 1, 2}, false, 13.184202},
        {1, 2048, 49152, 4096, {1, 4, 8, 1}, true, 11529.272063},
        {4, 128, 256, 64, {1, 8, 4, 1}, false, 2.454602},
    };
    (void)unused;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const tg_product p = product(rows[i].b, rows[i].m, rows[i].n, rows[i].k, rows[i].shared);
        int64_t          splits[4] = {0};
        tg_product_split(splits, &p);
        const double cost = tg_product_cost(&p, splits);
        if (memcmp(splits, rows[i].splits, sizeof splits) != 0 || fabs(cost - rows[i].cost) > 1e-5 * rows[i].cost)
            fail_msg("row %zu: %lld %lld %lld %lld, %.6f", i, (long long)splits[0], (long long)splits[1],
                     (long long)splits[2], (long long)splits[3], cost);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core_split),
        cmocka_unit_test(test_distribute),
        cmocka_unit_test(test_product_cost),
        cmocka_unit_test(test_product_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
