/* Cost networks: the least sum is the one that trying all labels finds, however little room the solver is given; bounds
 * are bounds. Random networks from a seed that is printed where one fails. */
#include "graph/network.h"

#include "random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST_VARS = 9 };

static tg_network random_network(uint64_t seed) {
    tg_network net;
    memset(&net, 0, sizeof net);
    random_state = seed;
    const uint32_t n = 1 + (uint32_t)random_below(MOST_VARS);
    for (uint32_t v = 0; v < n; v++) assert_true(tg_var_rows_push(&net.nlabels, 2 + (uint32_t)random_below(3)));
    const int64_t nfactors = random_below(3 * (int64_t)n) + 1;
    for (int64_t i = 0; i < nfactors; i++) {
        uint32_t scope[3], k = 0;
        uint64_t table = 0;
        size_t   entries = 1;
        for (uint32_t v = (uint32_t)random_below(n); v < n && k < 3; v += 1 + (uint32_t)random_below(3)) scope[k++] = v;
        assert_true(tg_network_add(&table, &net, k, scope));
        for (uint32_t j = 0; j < k; j++) entries *= net.nlabels.rows[scope[j]];
        for (size_t j = 0; j < entries; j++)
            net.costs.rows[table + j] = random_below(6) == 0 ? TG_INFINITE : random_below(10);
    }
    return net;
}

/* The least sum of all labellings. */
static int64_t try_all(const tg_network *net) {
    uint32_t labels[MOST_VARS] = {0};
    int64_t  best = TG_INFINITE;
    for (size_t v = 0; v < net->nlabels.count;) {
        const int64_t cost = tg_network_cost(net, labels);
        if (cost < best) best = cost;
        for (v = 0; v < net->nlabels.count && ++labels[v] == net->nlabels.rows[v]; v++) labels[v] = 0;
    }
    return best;
}

static void check_network(uint64_t seed, const tg_effort *effort) {
    tg_network    net = random_network(seed);
    uint32_t      labels[MOST_VARS] = {0};
    tg_solution   found;
    tg_error      err;
    const int64_t wanted = try_all(&net);
    if (tg_network_solve(&found, labels, &net, effort, &err) != TG_OK) fail_msg("seed %d: %s", (int)seed, err.message);
    if (found.cost != wanted || found.bound != wanted)
        fail_msg("seed %d: cost %lld, bound %lld, trying all finds %lld", (int)seed, (long long)found.cost,
                 (long long)found.bound, (long long)wanted);
    if (wanted < TG_INFINITE && tg_network_cost(&net, labels) != wanted)
        fail_msg("seed %d: the labels cost %lld", (int)seed, (long long)tg_network_cost(&net, labels));
    tg_network_free(&net);
}

/* Enough room for all tables; for pairs alone, so that most of it is searched; for next to nothing. */
static void test_least_sum(void **unused) {
    static const tg_effort efforts[] = {
        {.branches = 1},
        {.exact = 16, .bound = 16, .branches = 1 << 20},
        {.exact = 3, .bound = 4, .branches = 1 << 20},
    };
    (void)unused;
    for (uint64_t seed = 1; seed <= 3000; seed++) check_network(seed, &efforts[seed % 3]);
}

/* Whatever is given up, the bound is none above the least sum, and the cost is that of the labels. */
static void test_giving_up(void **unused) {
    const tg_effort little = {.exact = 3, .bound = 4, .branches = 2};
    int64_t         gave_up = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        tg_network    net = random_network(seed);
        uint32_t      labels[MOST_VARS] = {0};
        tg_solution   found;
        const int64_t wanted = try_all(&net);
        assert_int_equal(tg_network_solve(&found, labels, &net, &little, NULL), TG_OK);
        if (found.bound > wanted || found.cost < wanted || found.branches > 8)
            fail_msg("seed %d: %lld in [%lld, %lld]", (int)seed, (long long)wanted, (long long)found.bound,
                     (long long)found.cost);
        if (found.cost < TG_INFINITE) assert_int_equal(tg_network_cost(&net, labels), found.cost);
        gave_up += found.bound < found.cost;
        tg_network_free(&net);
    }
    assert_true(gave_up > 0);
}

/* Where labels are known, cheaper ones are found or it is proven that there are none. */
static void test_known_cost(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        tg_network    net = random_network(seed);
        uint32_t      labels[MOST_VARS] = {0};
        tg_solution   found;
        const int64_t wanted = try_all(&net), known = wanted + (int64_t)(seed % 3);
        tg_effort     effort = {.exact = 3, .bound = 4, .branches = 1 << 20, .known = known};
        assert_int_equal(tg_network_solve(&found, labels, &net, &effort, NULL), TG_OK);
        if (wanted < TG_INFINITE && (found.cost != wanted || found.bound != wanted)) fail_msg("seed %d", (int)seed);
        if (wanted < known && wanted < TG_INFINITE) assert_int_equal(tg_network_cost(&net, labels), wanted);
        tg_network_free(&net);
    }
}

/* Work that is spent ends the search, whatever branches are left. */
static void test_work(void **unused) {
    int64_t gave_up = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        tg_network      net = random_network(seed);
        uint32_t        labels[MOST_VARS] = {0};
        tg_solution     found;
        const tg_effort effort = {.exact = 3, .bound = 4, .branches = INT64_MAX, .work = 1};
        const int64_t   wanted = try_all(&net);
        assert_int_equal(tg_network_solve(&found, labels, &net, &effort, NULL), TG_OK);
        if (found.bound > wanted || found.cost < wanted || found.branches > 0) fail_msg("seed %d", (int)seed);
        gave_up += found.bound < found.cost;
        tg_network_free(&net);
    }
    assert_true(gave_up > 0);
}

/* A bound of split tables is none above the least sum. */
static void test_bounds(void **unused) {
    int64_t split = 0;
    (void)unused;
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        tg_network     net = random_network(seed);
        tg_elimination e;
        assert_true(tg_eliminate(&e, &net, 4, false));
        const int64_t wanted = try_all(&net);
        if (e.net.constant > wanted || (e.split < 0 && e.net.constant != wanted)) fail_msg("seed %d", (int)seed);
        split += e.split >= 0;
        tg_elimination_free(&e);
        tg_network_free(&net);
    }
    assert_true(split > 0);
}

static void test_overflow(void **unused) {
    tg_network  net = random_network(1);
    tg_solution found;
    uint32_t    labels[MOST_VARS];
    tg_error    err;
    const tg_effort effort = {.branches = 1};
    (void)unused;
    for (size_t i = 0; i < net.costs.count; i++) net.costs.rows[i] = TG_INFINITE - 1;
    assert_true(net.factors.count > 1);
    assert_int_equal(tg_network_solve(&found, labels, &net, &effort, &err), TG_ERR_OVERFLOW);
    tg_network_free(&net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_least_sum),
        cmocka_unit_test(test_giving_up),
        cmocka_unit_test(test_known_cost),
        cmocka_unit_test(test_work),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
