/* Blocks of short rows or few columns: rows of a cache line or less, alone and with padding behind them, rows that take
 * turns, all of them or some, and back; units with padding, runs near each other, many small matrices. */
#define _GNU_SOURCE
#include "checked_block.h"

/* Rows that take turns, and back: whole vectors, less than one, and what is left behind them. */
static void check_turns(int32_t width) {
    const int64_t ways[] = {2, 3, 4, 8, 16}, bytes[] = {16, 32, 64, 256, 337 * 16};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        for (size_t k = 0; k < sizeof bytes / sizeof bytes[0]; k++) {
            const int64_t w = ways[i], n = bytes[k] / width + (k == 4 ? 1 : 0), pitch = 3 * n + 1;
            const named   turns = {"turns", TRANSPOSE, {3, n, w, n * w, w, 1, n, 1, pitch, 0, NULL, 0, 0}};
            const named   back = {"back", TRANSPOSE, {3, w, n, n, pitch, 1, n * w, 1, w, 0, NULL, 0, 0}};
            const int64_t align[] = {128, 32, 16, width};
            for (size_t j = 0; j < sizeof align / sizeof align[0]; j++) {
                check(TRANSPOSE, width, scaled(&turns, width), align[j]);
                check(TRANSPOSE, width, scaled(&back, width), align[j]);
            }
        }
}

/* Rows of few columns: all counts of them, and around the sizes of pieces; with and without gaps, batches that follow
 * each other, and more rows than fit into a buffer. */
static void check_narrow(int32_t width) {
    enum { FEW = 40 };
    const int64_t bytes[] = {48, 63, 64, 65, 96, 100, 127, 129, 192, 300};
    const int64_t line = 64 / width, rows[] = {line - 1, line, line + 1, 7 * line - 1, 40 * line + line / 2};
    for (int64_t i = 1; i <= FEW + (int64_t)(sizeof bytes / sizeof bytes[0]); i++)
        for (size_t k = 0; (i <= FEW || bytes[i - FEW - 1] % width == 0) && k < sizeof rows / sizeof rows[0]; k++) {
            const int64_t cols = i <= FEW ? i : bytes[i - FEW - 1] / width, n = rows[k] > 0 ? rows[k] : 1;
            const int64_t gap = random_below(3);
            if (n > 8 * line && (i + width) % 3 != 0) continue; /* they take most of the time */
            const named   batches[] = {
                {"dense", TRANSPOSE, {3, n, cols, n * cols, cols, 1, n * cols, 1, n, 0, NULL, 0, 0}},
                {"apart", TRANSPOSE, {2, n, cols, n * cols + 1, cols, 1, n, 1, 2 * n + 1, 0, NULL, 0, 0}},
                {"back", TRANSPOSE, {2, cols, n, n, 2 * n + gap, 1, n * cols, 1, cols, 0, NULL, 0, 0}},
                {"back, padded", TRANSPOSE, {2, cols, n, n + 5, 2 * n + 9, 1, n * cols, 1, cols, 4, NULL, 0, 0}},
                {"back, apart",
                 TRANSPOSE, {3, cols, n, n + 9, 3 * n + 40, 1, 7 * cols, 1, 21 * cols + gap, 9, NULL, 0, 0}},
                {"gaps", TRANSPOSE, {2, n, cols, n * (cols + gap), cols + gap, 1, n, 1, 2 * n, 0, NULL, 0, 0}},
            };
            for (size_t j = 0; j < sizeof batches / sizeof batches[0]; j++) {
                check(TRANSPOSE, width, scaled(&batches[j], width), random_below(2) == 0 ? 1 : 64);
            }
        }
}

/* Rows of a cache line or less, n bytes: to tiles and from them, in the order of src and in others, in one band and in
 * several. */
static void check_short_rows(int64_t n) {
    enum { SEVERAL = 20 << 10 }; /* bytes: more than a small block has */
    const int64_t counts[][2] = {{1, 1}, {3, 6}, {7, 3}, {5, 19}, {SEVERAL / (37 * n) + 1, 37}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const int64_t  outer = counts[i][0], rows = counts[i][1], tile = rows * n, all = outer * n;
        const tg_block blocks[] = {
            {outer, rows, n, tile, n, 1, n, all, 1, 0, NULL, 0, 0},         /* to tiles */
            {outer, rows, n, n, all, 1, tile, n, 1, 0, NULL, 0, 0},         /* from tiles */
            {outer, rows, n, tile + 1, n, 1, n, all, 1, 0, NULL, 0, 0},     /* to tiles with gaps */
            {outer, rows, n, n, all + 1, 1, tile, n, 1, 0, NULL, 0, 0},     /* from tiles to rows with gaps */
            {outer, rows, n, rows * (n + 3), n + 3, 1, n, all, 1, 0, NULL, 0, 0},
            {outer, rows, n, tile, n, 1, -n, -all, 1, 0, NULL, 0, 0},
            {outer, rows, n, tile, n, 1, -n, all, 1, 0, NULL, 0, 0},
            {outer, rows, n, -tile, n, 1, n, -all, 1, 0, NULL, 0, 0},
            {outer, rows, n, tile, n, 1, 0, 1, 1, 0, NULL, 0, 0},
        };
        for (size_t j = 0; j < sizeof blocks / sizeof blocks[0]; j++) check(ROWS, 1, blocks[j], 1);
    }
}

static void test_short_rows(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 66; n++) check_short_rows(n);
}

/* Rows of n bytes that fill a unit with the padding behind them: as many as make vectors and some more, close together
 * in src or not, in one run of dst or not. */
static void check_units(int64_t unit, int64_t n) {
    const int64_t steps[] = {n, n + 1, unit, unit + 3, 17, 64, 500, 0, -n - 2}, rows = 261, pad = unit - n;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        const int64_t  step = steps[i], all = rows * step;
        const tg_block blocks[] = {
            {3, rows, n, rows * unit, unit, 1, all + 1, step, 1, pad, NULL, 0, 0},
            {rows, 2, n, unit, rows * unit + 64, 1, step, all, 1, pad, NULL, 0, 0},
            {2, rows, n, 2000 * unit, 2 * unit, 1, all, step, 1, pad, NULL, 0, 0},
            {2, 5, n, 5 * unit, unit, 1, 5 * step, step, 1, pad, NULL, 0, 0},
        };
        for (size_t j = 0; j < sizeof blocks / sizeof blocks[0]; j++)
            check(ROWS, 1, blocks[j], random_below(2) == 0 ? 1 : 64);
    }
}

/* Short rows near each other on both sides, with gaps in dst, which stay as they are. */
static void check_near(int64_t n) {
    for (int64_t to = n; to <= 22; to += 1 + random_below(3))
        for (int64_t from = 1; from < 90; from += 1 + random_below(13)) {
            const int64_t  rows = 130 + random_below(20);
            const tg_block blocks[] = {
                {3, rows, n, rows * to + 5, to, 1, rows * from, from, 1, 0, NULL, 0, 0},
                {rows, 3, n, to, rows * to, 1, from, rows * from + 1, 1, 0, NULL, 0, 0},
            };
            for (size_t j = 0; j < sizeof blocks / sizeof blocks[0]; j++) check(ROWS, 1, blocks[j], 1);
        }
}

static void test_units(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 17; n++) check_near(n);
    for (int64_t unit = 2; unit <= 16; unit *= 2)
        for (int64_t n = 1; n < unit; n++) check_units(unit, n);
}

/* Of some ways only the first rows: the others are padding, or stay, or are passed over. */
static void check_some_turns(int32_t width, int64_t ways, int64_t rows) {
    const int64_t counts[] = {1, 16 / width + 1, 64 / width, 128 / width + 3, 500};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const int64_t n = counts[i], pitch = 3 * n + 1;
        const named   turns[] = {
            {"turns", TRANSPOSE, {3, n, rows, n * ways, ways, 1, n, 1, pitch, ways - rows, NULL, 0, 0}},
            {"turns apart", TRANSPOSE, {2, n, rows, n * ways + 64, ways, 1, n, 1, pitch, ways - rows, NULL, 0, 0}},
            {"gaps", TRANSPOSE, {3, n, rows, n * ways + 5, ways, 1, n, 1, pitch, 0, NULL, 0, 0}},
            {"back", TRANSPOSE, {3, rows, n, n, pitch, 1, n * ways, 1, ways, 0, NULL, 0, 0}}};
        for (size_t k = 0; k < sizeof turns / sizeof turns[0]; k++)
            for (int64_t align = width; align <= 64; align *= 64 / width)
                check(TRANSPOSE, width, scaled(&turns[k], width), align);
    }
}

static void test_some_turns(void **state) {
    (void)state;
    for (int32_t width = 1; width <= 8; width *= 2)
        for (int64_t ways = 2; ways <= 8; ways *= 2)
            for (int64_t rows = 1; rows < ways; rows++) check_some_turns(width, ways, rows);
}

/* Many small matrices, with nothing between them or something; also of more bytes than go at once. */
static void check_small(int32_t width, int64_t rows, int64_t cols) {
    const int64_t all = rows * cols, outer = 16 + random_below(70), gap = 1 + random_below(5);
    const named   matrices[] = {
        {"small", TRANSPOSE, {outer, rows, cols, all, cols, 1, all, 1, rows, 0, NULL, 0, 0}},
        {"small, apart", TRANSPOSE, {outer, rows, cols, all + gap, cols, 1, all + 1, 1, rows, 0, NULL, 0, 0}},
        {"small, backwards", TRANSPOSE, {outer, rows, cols, -all, cols, 1, all, 1, rows, 0, NULL, 0, 0}},
    };
    for (size_t k = 0; k < sizeof matrices / sizeof matrices[0]; k++)
        for (int64_t align = width; align <= 64; align += 64 - width)
            check(TRANSPOSE, width, scaled(&matrices[k], width), align);
}

static void test_small(void **state) {
    (void)state;
    for (int32_t width = 1; width <= 16; width *= 2)
        for (int64_t rows = 2; rows <= 17; rows++)
            for (int64_t cols = 2 + random_below(2); cols <= 17; cols += 1 + random_below(4))
                if (rows * cols * width <= 300) check_small(width, rows, cols);
}

static void test_turns(void **state) {
    (void)state;
    for (int32_t width = 1; width <= 16; width *= 2) check_turns(width);
}

static void test_narrow(void **state) {
    (void)state;
    for (int32_t width = 1; width <= 16; width *= 2) check_narrow(width);
}

/* Elements of any width out of 4 to 17 lines that follow each other in dst, or to as many rows that do in src, of less
 * and more than a lane of 16 bytes. */
static void check_few_lanes(int32_t width, int64_t lines) {
    const int64_t lane = 16 / width, counts[] = {1, lane, lane + 1, 2 * lane, 5 * lane - 1, 100 + random_below(9)};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const int64_t n = counts[i], gap = random_below(3), all = n * lines;
        const named   blocks[] = {
            {"lines", TRANSPOSE, {3, n, lines, all, lines, 1, all, 1, n, 0, NULL, 0, 0}},
            {"lines apart", TRANSPOSE, {2, n, lines, all + gap, lines, 1, n + gap, 1, 3 * n + 7, 0, NULL, 0, 0}},
            {"lines backwards", TRANSPOSE, {2, n, lines, all, lines, 1, n, 1, -2 * n - 3, 0, NULL, 0, 0}},
            {"rows", TRANSPOSE, {3, lines, n, all, n, 1, all, 1, lines, 0, NULL, 0, 0}},
            {"rows apart", TRANSPOSE, {2, lines, n, n + gap, 3 * n + 7, 1, all + gap, 1, lines, 0, NULL, 0, 0}},
            {"rows backwards", TRANSPOSE, {2, lines, n, -n, 3 * n, 1, all, 1, lines, 0, NULL, 0, 0}},
        };
        for (size_t k = 0; k < sizeof blocks / sizeof blocks[0]; k++)
            check(TRANSPOSE, width, scaled(&blocks[k], width), 1);
    }
}

static void test_few_lanes(void **state) {
    (void)state;
    for (int32_t width = 1; width <= 16; width++)
        for (int64_t lines = 4; lines <= 17; lines++) check_few_lanes(width, lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_rows), cmocka_unit_test(test_units),  cmocka_unit_test(test_some_turns),
        cmocka_unit_test(test_turns),      cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_small),      cmocka_unit_test(test_few_lanes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
