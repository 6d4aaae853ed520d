/* Movers: blocks as planners make them, and random ones; fills, pieces, packed runs. */
#define _GNU_SOURCE
#include "base/checked.h"
#include "checked_block.h"
#include "kernels/pieces.h"
#include "kernels/pipeline.h"

static bool chance(int64_t one_in) { return random_below(one_in) == 0; }

/* ---- the blocks that planners make, small ---- */

/* `n` of them, of elements of so many bytes. */
static void check_blocks(const named *blocks, size_t n, int32_t width) {
    static const int32_t align[] = {128, 128, 128, 128, 16, 16, 4, 4, 1, 1};
    for (size_t i = 0; i < n; i++) {
        const tg_block b = scaled(&blocks[i], width);
        for (size_t k = 0; k < sizeof align / sizeof align[0]; k++) check(blocks[i].family, width, b, align[k]);
    }
}

#define CHECK_BLOCKS(blocks, width) check_blocks(blocks, sizeof(blocks) / sizeof((blocks)[0]), width)

/* Runs of bytes: sticks, tiles, long rows. */
static void check_rows(int32_t width) {
    const int64_t e = 128 / width, R = 3 * e + 5, C = 2 * e, odd = C + 3;
    const named blocks[] = {
        {"stick", ROWS, {C / e, 16, e, R * e, e, 1, e, C, 1, 0, NULL, 0, 0}},
        {"stick of odd rows", ROWS, {C / e, R, e, R * e, e, 1, e, odd, 1, 0, NULL, 0, 0}},
        {"unstick", ROWS, {C / e, 16, e, e, C, 1, R * e, e, 1, 0, NULL, 0, 0}},
        {"unstick to odd rows", ROWS, {C / e, 16, e, e, odd, 1, R * e, e, 1, 0, NULL, 0, 0}},
        {"unstick, wide", ROWS, {19, 5, e, e, 19 * e, 1, 5 * e, e, 1, 0, NULL, 0, 0}},
        {"unstick to odd rows, wide", ROWS, {19, 7, e, e, 19 * e + 3, 1, 7 * e, e, 1, 0, NULL, 0, 0}},
        {"unstick to odd rows, deep", ROWS, {9, 40, e, e, 9 * e + 1, 1, 40 * e, e, 1, 0, NULL, 0, 0}},
        {"half sticks to odd rows", ROWS, {19, 7, e / 2, e / 2, 19 * e / 2 + 3, 1, 7 * e, e, 1, 0, NULL, 0, 0}},
        {"stick3d", ROWS, {4, 8, e, 8 * e, e, 1, e, 3 * 4 * e, 1, 0, NULL, 0, 0}},
        {"unstick3d", ROWS, {4, 8, e, e, 3 * 4 * e, 1, 8 * e, e, 1, 0, NULL, 0, 0}},
        {"T(8,128)", ROWS, {3, 8, 128, 1024, 128, 1, 128, 3 * 128, 1, 0, NULL, 0, 0}},
        {"unstick to few runs", ROWS, {35, 3, e, e, 40 * e, 1, 3 * e, e, 1, 0, NULL, 0, 0}},
        {"tiles of long rows", ROWS, {3, 17, 4 * e, 17 * 4 * e, 4 * e, 1, 4 * e, 12 * e, 1, 0, NULL, 0, 0}},
        {"long row", ROWS, {1, 1, 70001, 0, 0, 1, 0, 0, 1, 0, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Each run has padding behind it. */
static void check_padded_rows(int32_t width) {
    const int64_t e = 128 / width, C = 2 * e;
    const named blocks[] = {
        {"last stick", ROWS, {1, 40, (e + 1) / 2, 40 * e, e, 1, 0, C, 1, e - (e + 1) / 2, NULL, 0, 0}},
        {"last stick to nowhere", ROWS, {1, 9, 1, 9 * e, e, 1, 0, C, 1, 5 * e, NULL, 0, 0}},
        {"padded tiles", ROWS, {3, 8, 2 * e + 1, 24 * e, 3 * e, 1, 3 * e, 9 * e, 1, e - 1, NULL, 0, 0}},
        {"padded tiles, half sticks", ROWS, {2, 5, e, 15 * e / 2, 3 * e / 2, 1, e, 2 * e, 1, e / 2, NULL, 0, 0}},
        {"sparse", ROWS, {1, 100, 1, 0, e, 1, 0, 1, 1, e - 1, NULL, 0, 0}},
        {"long row and tail", ROWS, {1, 2, 5001, 0, 6000, 1, 0, 6000, 1, 99, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Runs of which the last one is shorter, with padding behind it or without. */
static void check_ragged_rows(int32_t width) {
    const int64_t e = 128 / width, C = 2 * e;
    const named blocks[] = {
        {"ragged stick", ROWS, {3, 17, e, 17 * e, e, 1, e, C + e - 1, 1, 1, NULL, TG_RAGGED_OUTER, e - 1}},
        {"ragged stick of rows",
         ROWS,
         {17, 3, e, e, 17 * e, 1, C + e / 2, e, 1, e - e / 2, NULL, TG_RAGGED_ROWS, e / 2}},
        {"ragged unstick", ROWS, {40, 3, e, C + e - 1, e, 1, e, 40 * e, 1, 0, NULL, TG_RAGGED_ROWS, e - 1}},
        {"ragged unstick, long", ROWS, {9, 20, e, 19 * e + 1, e, 1, e, 9 * e, 1, 0, NULL, TG_RAGGED_ROWS, 1}},
        {"ragged unstick, more than a line",
         ROWS, {9, 10, e, 9 * e + e / 2 + 1, e, 1, e, 9 * e, 1, 0, NULL, TG_RAGGED_ROWS, e / 2 + 1}},
        {"ragged unstick, one element", ROWS, {5, 2, e, e + 1, e, 1, e, 5 * e, 1, 0, NULL, TG_RAGGED_ROWS, 1}},
        {"ragged T(8,128)", ROWS, {3, 8, 128, 1024, 128, 1, 128, 2 * 128 + 9, 1, 119, NULL, TG_RAGGED_OUTER, 9}},
        {"ragged, no tail", ROWS, {3, 8, 128, 1024, 128, 1, 128, 2 * 128 + 9, 1, 0, NULL, TG_RAGGED_OUTER, 9}},
        {"ragged, little tail", ROWS, {3, 8, 48, 999, 50, 1, 48, 2 * 128, 1, 3, NULL, TG_RAGGED_OUTER, 20}},
        {"only the ragged end", ROWS, {9, 1, e, e, e, 1, e, e, 1, e - 1, NULL, TG_RAGGED_ROWS, 1}},
        {"padded rows of sticks",
         ROWS,
         {9, 3, e, 3 * e, e, 1, 3 * e - 1, e, 1, e - e / 2, NULL, TG_RAGGED_ROWS, e / 2}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Transposes to and from sticks, and of sticks. */
static void check_sticks(int32_t width) {
    const int64_t e = 128 / width, R = 3 * e + 5;
    const named blocks[] = {
        {"transposing stick", TRANSPOSE, {1, R, e, 0, e, 1, 0, 1, R, 0, NULL, 0, 0}},
        {"transposing stick, long", TRANSPOSE, {1, 330, e, 0, e, 1, 0, 1, 331, 0, NULL, 0, 0}},
        {"transposing stick, long and ragged",
         TRANSPOSE,
         {2, 331, e - 1, 331 * e, e, 1, 331 * e, 1, 331, 1, NULL, 0, 0}},
        {"sticks back", TRANSPOSE, {2, e, 5 * e + 3, e * (5 * e + 4), 5 * e + 4, 1, 6 * e * e, 1, e, 0, NULL, 0, 0}},
        {"transposing stick, page pitch", TRANSPOSE, {1, 2 * e, e, 0, e, 1, 0, 1, 4096 / width, 0, NULL, 0, 0}},
        {"transposing sticks, half a page apart, in fours and a rest",
         TRANSPOSE, {1, 9 * e + 5, 2 * e, 0, 2 * e, 1, 0, 1, 2048 / width, 0, NULL, 0, 0}},
        {"restick in two parts", TRANSPOSE, {2, e / 2, e, 3 * e * e, e, 1, e / 2, 1, e, 0, NULL, 0, 0}},
        {"restick", TRANSPOSE, {5, e, e, 3 * e * e, e, 1, e * e, 1, e, 0, NULL, 0, 0}},
        {"restick, matrices that follow each other",
         TRANSPOSE, {5, e, e, e * e, e, 1, e * e, 1, e, 0, NULL, 0, 0}},
        {"transposing sticks that follow each other",
         TRANSPOSE, {3, R + 3, e, (R + 3) * e, e, 1, (R + 3) * e, 1, R + 3, 0, NULL, 0, 0}},
        {"restick of two sticks", TRANSPOSE, {3, e, 2 * e, 7 * e * e, 2 * e, 1, 2 * e * e, 1, e, 0, NULL, 0, 0}},
        {"restick of half a stick", TRANSPOSE, {3, e, e / 2, 7 * e * e, e / 2, 1, e * e, 1, e, 0, NULL, 0, 0}},
        {"sticks to ragged rows",
         TRANSPOSE,
         {2, R, 9 * e + 3, R * (9 * e + 5), 9 * e + 5, 1, 10 * e * e * 4, 1, 4 * e, 0, NULL, 0, 0}},
        {"sticks to ragged rows, few", TRANSPOSE, {1, 3, 9 * e, 0, 9 * e + 1, 1, 0, 1, 4 * e, 0, NULL, 0, 0}},
        {"sticks to one long row", TRANSPOSE, {3, 1, 8 * e + 1, 9 * e + 1, 9 * e, 1, 12 * e, 1, e, 0, NULL, 0, 0}},
        {"ragged stick", TRANSPOSE, {1, R, e / 2 + 1, 0, e, 1, 0, 1, R + 1, e - e / 2 - 1, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Transposes whose rows and lines crowd each other in a cache: one square and some more, of several stages. */
static void check_cramped(int32_t width) {
    const int64_t n = tg_max(64 / width, 1), page = 4096 / width, half = page / 2;
    const named blocks[] = {
        {"a page and an element apart", TRANSPOSE, {1, n, n, 0, page + 1, 1, 0, 1, page + 1, 0, NULL, 0, 0}},
        {"a page without one",
         TRANSPOSE, {2, n + 1, n + 7, n + 7, page - 1, 1, n + 1, 1, page - 1, 0, NULL, 0, 0}},
        {"backwards", TRANSPOSE, {1, 66, 2 * n, 0, half + 1, 1, 0, 1, -half - 1, 0, NULL, 0, 0}},
        {"more rows", TRANSPOSE, {1, n + 66, n + 1, 0, 2 * page + 1, 1, 0, 1, page + 2, 0, NULL, 0, 0}},
        {"more columns", TRANSPOSE, {1, 2 * n + 3, 10 * n + n / 2 + 1, 0, page + 1, 1, 0, 1, half + 1, 0, NULL, 0, 0}},
        {"last columns are less than a square", /* of eight bytes; others have no room */
         TRANSPOSE, {1, n + 1, 90 * n + 1, 0, 2 * page + 1, 1, 0, 1, half + 1, 0, NULL, 0, 0}},
        {"an eighth of a page, more squares",
         TRANSPOSE, {1, 3 * n + 70, 4 * n + 9, 0, page / 8 + 1, 1, 0, 1, 3 * n + 77, 0, NULL, 0, 0}},
        {"a quarter of a page", TRANSPOSE, {1, 67, 61, 0, page / 4 + 1, 1, 0, 1, 5 * page / 4 + 1, 0, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Transposes to and from larger tiles, and of whole matrices. */
static void check_tiles(int32_t width) {
    const int64_t e = 128 / width, R = 3 * e + 5, odd = 2 * e + 3;
    const named blocks[] = {
        {"column major to T(8,128)", TRANSPOSE, {9, 8, 128, 3 * 1024, 128, 1, 8, 1, 72, 0, NULL, 0, 0}},
        {"column major to T(8,128), page pitch",
         TRANSPOSE,
         {17, 8, 128, 1024, 128, 1, 8, 1, 4096 / width, 0, NULL, 0, 0}},
        {"column major to T(8,128), narrow", TRANSPOSE, {9, 8, 128, 1024, 128, 1, 8, 1, 72, 0, NULL, 0, 0}},
        {"column major to rows apart",
         TRANSPOSE,
         {2, 3 * e, 4 * e, 16 * e * e, 5 * e, 1, 3 * e * 4 * e, 1, 3 * e, 0, NULL, 0, 0}},
        {"column major to T(8,128) that follow each other",
         TRANSPOSE, {3, 16, 128, 2048, 128, 1, 16 * 128, 1, 16, 0, NULL, 0, 0}},
        {"column major to groups of 16 long rows",
         TRANSPOSE, {5, 16, 3 * e, 3 * 16 * 3 * e, 3 * e, 1, 16, 1, 80, 0, NULL, 0, 0}},
        {"T(8,128) to column major", TRANSPOSE, {9, 128, 8, 8, 72, 1, 3 * 1024, 1, 128, 0, NULL, 0, 0}},
        {"T(8,128) to odd rows", TRANSPOSE, {9, 128, 8, 8, 75, 1, 3 * 1024, 1, 128, 0, NULL, 0, 0}},
        {"odd to odd rows", TRANSPOSE, {1, R, odd, 0, odd, 1, 0, 1, R, 0, NULL, 0, 0}},
        {"short lines side by side to long ragged rows",
         TRANSPOSE, {5, 24, 9 * e + 3, 9 * e + 5, 5 * (9 * e + 5), 1, 24, 1, 5 * 24, 0, NULL, 0, 0}},
        {"lines side by side to long ragged rows, more than a tile of them",
         TRANSPOSE, {3, 65, 8 * e + 1, 65 * (8 * e + 1), 8 * e + 1, 1, 65, 1, 3 * 65 + 2, 0, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Transposes with few columns, or with lines of a few elements. */
static void check_short_runs(int32_t width) {
    const int64_t e = 128 / width;
    const named blocks[] = {
        {"T(8,128) to five channels last", TRANSPOSE, {21, e, 5, 5, 21 * 5 + 2, 1, e, 1, 21 * e, 0, NULL, 0, 0}},
        {"three channels to padded tiles", TRANSPOSE, {8, 3, e - 1, e, 8 * e, 1, 3 * e - 3, 1, 3, 1, NULL, 0, 0}},
        {"short lines apart to padded sticks", TRANSPOSE, {5, 12, 45, 64, 5 * 64, 1, 13, 1, 5 * 13, 19, NULL, 0, 0}},
        {"short lines backwards", TRANSPOSE, {5, 3, 45, 45, 5 * 45, 1, 4, 1, -20, 0, NULL, 0, 0}},
        {"short lines of many matrices",
         TRANSPOSE, {64 / width / 3, 2, e + 5, 2 * e, 64 * e, 1, 2, 1, 2 * e / 3 + 5, 1, NULL, 0, 0}},
        {"short runs of five columns", TRANSPOSE, {5, 64, 5, 323, 5, 1, 66, 1, 5 * 66, 0, NULL, 0, 0}},
        {"short runs of columns backwards", TRANSPOSE, {5, 20, 11, 223, 11, 1, 21, 1, -5 * 21, 0, NULL, 0, 0}},
        {"tiles of four rows to columns of six", TRANSPOSE, {3, 128, 4, 6 * 128, 6, 1, 512, 1, 128, 0, NULL, 0, 0}},
        {"rows of a line and more, apart",
         TRANSPOSE, {2, e + 5, e / 2 + 3, (e + 5) * (e + 1), e + 1, 1, e + 5, 1, 2 * e + 11, 0, NULL, 0, 0}},
        {"short rows, apart",
         TRANSPOSE, {2, e + 5, 3 * e / 8, e / 2 * (e + 5), e / 2, 1, e + 5, 1, 2 * e + 11, 0, NULL, 0, 0}},
        {"half sticks and a line of padding",
         TRANSPOSE, {3, e / 2 + 3, e / 2, e, 3 * e, 1, e / 2 + 3, 1, 2 * e + 11, e / 2, NULL, 0, 0}},
        {"half sticks and three lines of padding",
         TRANSPOSE, {3, e / 2 + 3, e / 2, 2 * e, 6 * e, 1, e / 2 + 3, 1, 2 * e + 11, 3 * e / 2, NULL, 0, 0}},
        {"half sticks and five lines of padding",
         TRANSPOSE, {2, e / 2 + 3, e / 2, 3 * e, 6 * e, 1, e / 2 + 3, 1, 2 * e + 11, 5 * e / 2, NULL, 0, 0}},
        {"columns of two loops", TRANSPOSE, {8, e + 1, e / 16, e / 16, e / 2, 1, e + 3, 1, 9 * e, 0, NULL, 0, 0}},
        {"columns of two loops, apart",
         TRANSPOSE, {3, e + 1, e / 4 - 1, e / 4 - 1, e - 1, 1, e + 3, 1, 9 * e, 0, NULL, 0, 0}},
        {"much padding", TRANSPOSE, {2, 9, 3, 9 * 3 * e, 3 * e, 1, 9, 1, 18, 3 * e - 3, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Transposes of elements that are no power of two of bytes: whole squares and parts of them, matrices side by side on
 * either side, and many small ones. */
static void check_uneven(int32_t width) {
    const named blocks[] = {
        {"matrix", TRANSPOSE, {1, 48, 64, 0, 64, 1, 0, 1, 48, 0, NULL, 0, 0}},
        {"ragged matrix", TRANSPOSE, {1, 37, 45, 0, 47, 1, 0, 1, 39, 0, NULL, 0, 0}},
        {"more columns than lines are listed", TRANSPOSE, {1, 21, 300, 0, 301, 1, 0, 1, 21, 0, NULL, 0, 0}},
        {"more rows than are listed", TRANSPOSE, {1, 300, 5, 0, 5, 1, 0, 1, 301, 0, NULL, 0, 0}},
        {"pieces both ways", TRANSPOSE, {1, 140, 290, 0, 293, 1, 0, 1, 141, 0, NULL, 0, 0}},
        {"pieces of matrices", TRANSPOSE, {2, 130, 140, 130 * 141, 141, 1, 130 * 140, 1, 130, 0, NULL, 0, 0}},
        {"as many lines as are listed", TRANSPOSE, {17, 2, 128, 260, 130, 1, 2, 1, 34, 0, NULL, 0, 0}},
        {"as many, along rows", TRANSPOSE, {16, 30, 8, 8, 129, 1, 999, 1, 31, 0, NULL, 0, 0}},
        {"lines that crowd a cache", TRANSPOSE, {1, 700, 67, 0, 67, 1, 0, 1, 1024, 0, NULL, 0, 0}},
        {"images", TRANSPOSE, {3, 33, 50, 33 * 50, 50, 1, 33 * 50, 1, 33, 0, NULL, 0, 0}},
        {"matrices along short rows", TRANSPOSE, {40, 30, 3, 3, 121, 1, 999, 1, 31, 0, NULL, 0, 0}},
        {"matrices along short lines", TRANSPOSE, {40, 3, 30, 100, 31, 1, 3, 1, 121, 0, NULL, 0, 0}},
        {"small matrices", TRANSPOSE, {100, 2, 4, 8, 4, 1, 8, 1, 2, 0, NULL, 0, 0}},
        {"small matrices apart", TRANSPOSE, {20, 2, 3, 9, 3, 1, 11, 1, 2, 0, NULL, 0, 0}},
        {"lines backwards", TRANSPOSE, {2, 20, 20, 500, 21, 1, 500, 1, -20, 0, NULL, 0, 0}},
        {"padding", TRANSPOSE, {2, 20, 20, 500, 25, 1, 500, 1, 20, 4, NULL, 0, 0}},
        {"padding of rows that go on", TRANSPOSE, {3, 40, 5, 40 * 9, 9, 1, 40, 1, 3 * 40, 4, NULL, 0, 0}},
        {"one column", TRANSPOSE, {1, 70, 1, 0, 2, 1, 0, 1, 70, 0, NULL, 0, 0}},
        {"one row", TRANSPOSE, {1, 1, 70, 0, 70, 1, 0, 1, 2, 0, NULL, 0, 0}},
    };
    if (is_uneven(width)) CHECK_BLOCKS(blocks, width);
}

static void test_uneven(void **state) {
    (void)state;
    for (int32_t width = 3; width < 32; width++) check_uneven(width);
}

/* Rows that take turns, and back. */
static void check_turns(int32_t width) {
    const named blocks[] = {
        {"(2,1)", TRANSPOSE, {3, 128, 2, 256, 2, 1, 128, 1, 3 * 128, 0, NULL, 0, 0}},
        {"(4,1)", TRANSPOSE, {3, 128, 4, 512, 4, 1, 128, 1, 3 * 128, 0, NULL, 0, 0}},
        {"(2,1) back", TRANSPOSE, {3, 2, 128, 128, 3 * 128, 1, 256, 1, 2, 0, NULL, 0, 0}},
        {"(4,1) back", TRANSPOSE, {3, 4, 128, 128, 3 * 128, 1, 512, 1, 4, 0, NULL, 0, 0}},
        {"three planes", TRANSPOSE, {2, 331, 3, 1000, 3, 1, 400, 1, 900, 0, NULL, 0, 0}},
        {"three planes back", TRANSPOSE, {2, 3, 331, 400, 900, 1, 1000, 1, 3, 0, NULL, 0, 0}},
        {"three planes of lines", TRANSPOSE, {2, 256, 3, 768, 3, 1, 256, 1, 512, 0, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Elements that are apart on one side. */
static void check_gathers(int32_t width) {
    const int64_t e = 128 / width;
    const named blocks[] = {
        {"gather", STRIDED, {1, 1, 1000, 0, 0, 1, 0, 0, e, 0, NULL, 0, 0}},
        {"gather with rows", STRIDED, {2, 3, 67, 201, 67, 1, 999, 3, e, 0, NULL, 0, 0}},
        {"gather of every second one", STRIDED, {2, 3, 331, 993, 331, 1, 2222, 700, 2, 0, NULL, 0, 0}},
        {"gather of every third one", STRIDED, {1, 2, 640, 0, 640, 1, 0, 1920, 3, 0, NULL, 0, 0}},
        {"gather backwards", STRIDED, {1, 2, 333, 0, 400, 1, 0, 2000, -5, 0, NULL, 0, 0}},
        {"scatter", STRIDED, {1, 1, 500, 0, 0, e, 0, 0, 1, 0, NULL, 0, 0}},
        {"scatter to every second one", STRIDED, {2, 3, 331, 2222, 700, 2, 993, 331, 1, 0, NULL, 0, 0}},
        {"scatter to every third one", STRIDED, {1, 2, 640, 0, 1920, 3, 0, 640, 1, 0, NULL, 0, 0}},
        {"scatter backwards", STRIDED, {1, 2, 333, 0, 2000, 5, 0, 400, -1, 0, NULL, 0, 0}},
        {"short rows of every second one", STRIDED, {2, 20, 13, 400, 17, 1, 900, 31, 2, 0, NULL, 0, 0}},
        {"short rows of every third one, backwards", STRIDED, {1, 30, 15, 0, 15, 1, 0, 50, -3, 0, NULL, 0, 0}},
        {"rows of nearly a vector", STRIDED, {3, 20, 64 / width - 1, 1300, 65, 1, 7000, 333, 5, 0, NULL, 0, 0}},
        {"scatter of short rows", STRIDED, {2, 20, 13, 900, 31, 2, 400, 17, 1, 0, NULL, 0, 0}},
        {"scatter of short rows, backwards", STRIDED, {1, 30, 15, 0, 50, 3, 0, 15, -1, 0, NULL, 0, 0}},
        {"scatter of nearly a vector", STRIDED, {3, 20, 64 / width - 1, 7000, 333, 5, 1300, 65, 1, 0, NULL, 0, 0}},
        {"both odd", STRIDED, {3, 5, 31, 1, 93 * 3, 3, 7, 11, -5, 0, NULL, 0, 0}},
        {"backwards", STRIDED, {1, 3, 31, 0, 31, 1, 0, 31, -1, 0, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Elements that are apart on both sides, along different loops, or whose lines are short. */
static void check_apart(int32_t width) {
    const named blocks[] = {
        {"lines of every second one to rows", STRIDED, {1, 331, 9, 0, 9, 1, 0, 2, 700, 0, NULL, 0, 0}},
        {"lines of every third one to runs of two loops", STRIDED, {7, 200, 4, 4, 30, 1, 9, 3, 700, 0, NULL, 0, 0}},
        {"lines of two loops to short rows", STRIDED, {40, 6, 9, 72, 12, 1, 12, 2, 500, 0, NULL, 0, 0}},
        {"short lines of every second one", STRIDED, {3, 17, 70, 1250, 70, 1, 9000, 2, 40, 0, NULL, 0, 0}},
        {"lines backwards to rows", STRIDED, {2, 130, 40, 5200, 40, 1, 12000, -2, 290, 0, NULL, 0, 0}},
        {"lines to rows of every second one", STRIDED, {8, 3, 210, 1400, 450, 2, 3, 1, 24, 0, NULL, 0, 0}},
        {"rows of every second one, short", STRIDED, {1, 300, 5, 0, 11, 2, 0, 1, 310, 0, NULL, 0, 0}},
        {"every second one to every second one", STRIDED, {3, 90, 40, 80, 250, 2, 9000, 2, 200, 0, NULL, 0, 0}},
        {"many lines to long rows", STRIDED, {1, 20, 500, 0, 501, 1, 0, 2, 41, 0, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

/* Elements that stand still in src. */
static void check_broadcasts(int32_t width) {
    const int64_t e = 128 / width;
    const named blocks[] = {
        {"broadcast of sticks", STRIDED, {3, 17, e, 17 * e, e, 1, 17, 1, 0, 0, NULL, 0, 0}},
        {"broadcast of short rows", STRIDED, {3, 17, e / 8, e * 4, e / 4, 1, 17, 1, 0, 0, NULL, 0, 0}},
        {"broadcast", STRIDED, {2, 3, 301, 903, 301, 1, 1, 2, 0, 0, NULL, 0, 0}},
    };
    CHECK_BLOCKS(blocks, width);
}

#define DEFINE_TEST_OF(what)                                                              \
    static void test_##what(void **state) {                                               \
        (void)state;                                                                      \
        for (int32_t width = 1; width <= 16; width *= 2) check_##what(width);             \
    }
DEFINE_TEST_OF(rows)
DEFINE_TEST_OF(padded_rows)
DEFINE_TEST_OF(ragged_rows)
DEFINE_TEST_OF(sticks)
DEFINE_TEST_OF(cramped)
DEFINE_TEST_OF(tiles)
DEFINE_TEST_OF(short_runs)
DEFINE_TEST_OF(turns)
DEFINE_TEST_OF(gathers)
DEFINE_TEST_OF(apart)
DEFINE_TEST_OF(broadcasts)

/* ---- what is fetched of a line, four tiles at a time ---- */

/* Each byte of it is, from the tile on where fetching begins, by the tile it is in, or by one of the three before. */
static void check_fetched(int64_t n, int64_t begin) {
    const matrix a = {.width = 1, .dst = {.n = n}};
    int64_t      end = tg_min(begin, n - STICK);
    for (int64_t r = begin; r < n; r += STICK) {
        const int64_t first = tg_min(r, n - STICK), bytes = bytes_of_four(&a, first, r == begin);
        assert_true(bytes == 0 || (first <= end && bytes <= 4 * STICK));
        end = tg_max(end, first + bytes);
        assert_true(end >= first + STICK && end <= n);
    }
    assert_int_equal(end, n);
}

static void test_fetched_by_fours(void **state) {
    (void)state;
    for (int64_t n = STICK; n <= 2500; n++)
        for (int64_t begin = 0; begin < n; begin += STICK) check_fetched(n, begin);
}

/* ---- random blocks ---- */

static int64_t random_count(void) {
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200, 257};
    return chance(3) ? 1 + random_below(20) : sizes[random_below((int64_t)(sizeof sizes / sizeof sizes[0]))];
}

static int64_t random_gap(int64_t width) {
    switch (random_below(4)) {
    case 0: return random_below(3) * width;
    case 1: return random_below(200);
    default: return 0;
    }
}

/* A step beyond `size` bytes; *size becomes what n steps reach over. */
static int64_t random_step(int64_t *size, int64_t n, int64_t width) {
    int64_t step = *size + random_gap(width);
    if (chance(3)) step = (step + 127) / 128 * 128;
    *size = (n - 1) * step + *size;
    return chance(6) ? -step : step;
}

static void random_dst(tg_block *b, family f, int64_t width) {
    int64_t size = width;
    b->dst_col = width;
    if (f == STRIDED && chance(2)) {
        const bool first = chance(2);
        if (first) b->dst_row = random_step(&size, b->rows, width);
        b->dst_col = random_step(&size, b->cols, width);
        if (!first) b->dst_row = random_step(&size, b->rows, width);
        b->dst_outer = random_step(&size, b->outer, width);
        return;
    }
    size = (b->cols + b->tail) * width;
    const bool first = chance(2);
    if (first) b->dst_row = random_step(&size, b->rows, width);
    b->dst_outer = random_step(&size, b->outer, width);
    if (!first) b->dst_row = random_step(&size, b->rows, width);
}

static int64_t any_step(int64_t width, int64_t limit) {
    return chance(8) ? 0 : (chance(2) ? width : 1) * (random_below(2 * limit) - limit);
}

static void random_src(tg_block *b, family f, int64_t width) {
    int64_t size = width;
    if (f == ROWS) {
        b->src_col = 1;
        size = b->cols;
        b->src_row = chance(4) ? any_step(width, 500) : random_step(&size, b->rows, width);
    } else if (f == TRANSPOSE) {
        b->src_row = width;
        size = b->rows * width;
        if (chance(3)) { /* the run goes on through outer */
            b->src_outer = size;
            size *= b->outer;
            b->src_col = random_step(&size, b->cols, width);
            return;
        }
        b->src_col = chance(4) ? any_step(width, 500) : random_step(&size, b->cols, width);
    } else {
        b->src_row = any_step(width, 300);
        b->src_col = chance(2) ? any_step(width, 300) : chance(2) ? width * (random_below(9) - 4) : any_step(1, 64);
        if (b->dst_col != width && chance(2)) b->src_col = chance(3) ? -width : width;
    }
    b->src_outer = chance(4) ? any_step(width, 500) : random_step(&size, b->outer, width);
}

/* Elements that are near each other along rows in src, and along columns in dst; the third loop goes on, or not. */
static void random_apart(tg_block *b, int64_t width) {
    int64_t size = width;
    b->dst_col = width * (1 + random_below(3));
    size += (b->cols - 1) * b->dst_col;
    if (chance(2)) {
        b->dst_outer = b->cols * b->dst_col;
        size += (b->outer - 1) * b->dst_outer;
    }
    b->dst_row = size + random_gap(width);
    if (b->dst_outer == 0) b->dst_outer = b->rows * b->dst_row;
    b->src_row = (chance(5) ? -1 : 1) * (chance(2) ? width * (1 + random_below(4)) : width + random_below(20));
    b->src_outer = chance(2) ? b->rows * b->src_row : any_step(width, 300);
    b->src_col = chance(2) ? any_step(width, 300) : b->rows * b->src_row + random_gap(width);
}

/* As planners make them, the padding fills up what is missing; or there is none. */
static void make_ragged(tg_block *b, int64_t width) {
    if (chance(2)) b->cols = 128;
    if (b->cols == width) return;
    b->ragged = chance(2) ? TG_RAGGED_ROWS : TG_RAGGED_OUTER;
    b->last = (1 + random_below(b->cols / width - 1)) * width;
    b->tail = chance(3) ? 0 : chance(2) ? b->cols - b->last : random_count() * width;
}

static void test_random_blocks(void **state) {
    (void)state;
    const char *const given = getenv("TG_SEED");
    const uint64_t    seed = given != NULL ? (uint64_t)strtoull(given, NULL, 0) : 20261123;
    print_message("TG_SEED=%llu\n", (unsigned long long)seed);
    random_state = seed;
    for (int i = 0; i < 6000; i++) {
        const family  f = (family)random_below(FAMILIES);
        const int32_t width = f == TRANSPOSE && chance(3) ? 1 + (int32_t)random_below(31) : 1 << random_below(5);
        tg_block b = {chance(2) ? 1 : 1 + random_below(9),
                      random_count(),
                      random_count(),
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      0,
                      NULL,
                      TG_RAGGED_NOT,
                      0};
        if (f != STRIDED && chance(3)) b.tail = random_count();
        if (f == ROWS) {
            b.cols *= width;
            b.tail *= width;
        }
        if (b.outer * b.rows * (b.cols + b.tail) > 1 << 16) b.outer = 1;
        if (f == ROWS && chance(2)) make_ragged(&b, width);
        random_dst(&b, f, f == ROWS ? 1 : width);
        random_src(&b, f, f == ROWS ? 1 : width);
        if (f == STRIDED && chance(3) && b.outer * b.rows * b.cols < 1 << 13) {
            b.dst_outer = 0;
            random_apart(&b, width);
        }
        check(f, width, b, chance(2) ? 128 : chance(2) ? width : 1);
    }
}

/* Blocks whose rows take turns, and whose runs follow each other in dst with `gap` bytes between them: those that are
 * one run, which begins inside of a line, are moved together, the others not at all. */
static void check_together(const tg_mover *m, bool can, int64_t ways, int64_t rows, int64_t outer, int64_t blocks,
                           int64_t gap) {
    const int64_t  width = m->dst_width, n = rows * width, run = n * ways, row = outer * n + width * random_below(9);
    const int64_t  step = run + gap, size = outer * blocks * step, src_size = (blocks * ways - 1) * row + outer * n;
    const tg_block b = {outer, rows, ways, blocks * step, ways * width, width, n, width, row, 0, NULL,
                        TG_RAGGED_NOT, 0};
    const int64_t  at = chance(2) ? random_below(130) : ARENA - size, from = chance(2) ? 0 : ARENA - src_size;
    const int64_t  low = at < 64 ? 0 : at - 64, high = tg_min(at + size + 64, ARENA);
    const bool     wants = can && (ways == 2 || ways == 4) && width <= 4 && n % 64 == 0 && at % 64 != 0 &&
                       (gap == 0 || (blocks == 1 && outer == 1));
    memset(dst_arena + low, 0x5a, (size_t)(high - low));
    memset(want_arena + low, 0x5a, (size_t)(high - low));
    for (int64_t i = 0; i < blocks && wants; i++)
        naive(want_arena + at + i * step, src_arena + from + i * ways * row, &b, width);
    const bool moved = tg_transpose_together(m, dst_arena + at, src_arena + from, &b, blocks, step, ways * row);
    tg_stream_end();
    if (moved == wants && memcmp(dst_arena + low, want_arena + low, (size_t)(high - low)) == 0) return;
    fail_msg("%s stream %d: %lld times %lld runs of %lld elements, %lld rows: %s", m->name, m->stream, (long long)outer,
             (long long)blocks, (long long)rows, (long long)ways, moved == wants ? "other bytes" : "moved, or not");
}

static void test_together(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        for (int32_t width = 1; width <= 8; width *= 2)
            for (int times = 0; times < 400; times++) {
                tg_mover   m;
                const bool can = (masks[i] & TG_CPU_AVX512) != 0;
                if ((masks[i] & ~tg_cpu_features()) != 0) continue;
                assert_true(tg_mover_transpose(&m, width, masks[i], chance(2), chance(2)));
                m.to_dst = !chance(9);
                m.claims = m.to_dst && chance(2);
                check_together(&m, can && m.to_dst, 2 + random_below(3), random_below(9) * 32 + 64 / width,
                               1 + random_below(4), 1 + random_below(5), chance(5) ? 64 : 0);
            }
}

/* What the processor has is used; otherwise all of these tests would test plain C again and again. */
static void test_variants(void **state) {
    (void)state;
#ifdef __aarch64__
    assert_int_equal(tg_cpu_features(), TG_CPU_NEON);
#endif
    for (size_t i = 1; i < sizeof masks / sizeof masks[0]; i++) {
        tg_mover plain, fast;
        if ((masks[i] & ~tg_cpu_features()) != 0) continue;
        assert_true(tg_mover_rows(&plain, 0, false, false) && tg_mover_rows(&fast, masks[i], false, false));
        assert_true(fast.move != plain.move && strcmp(fast.name, plain.name) != 0);
        for (int32_t width = 1; width <= 16; width *= 2) {
            assert_true(tg_mover_transpose(&plain, width, 0, false, false));
            assert_true(tg_mover_transpose(&fast, width, masks[i], false, false));
            assert_true(fast.move != plain.move && strcmp(fast.name, plain.name) != 0);
            assert_true(tg_mover_strided(&plain, width, 0, false, false));
            assert_true(tg_mover_strided(&fast, width, masks[i], false, false));
            assert_true(fast.move != plain.move && strcmp(fast.name, plain.name) != 0);
        }
    }
}

static void test_no_such_width(void **state) {
    (void)state;
    tg_mover m;
    static const int32_t widths[] = {-1, 0, 3, 5, 12, 31, 32, 33};
    const uint32_t       cpu = tg_cpu_features();
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        const bool uneven = widths[i] > 0 && widths[i] < 32 && (cpu & TG_CPU_AVX512) != 0;
        assert_int_equal(tg_mover_transpose(&m, widths[i], cpu, false, false), uneven);
        assert_false(tg_mover_transpose(&m, widths[i], cpu & ~(uint32_t)TG_CPU_AVX512, false, false));
        assert_false(tg_mover_strided(&m, widths[i], tg_cpu_features(), false, false));
    }
}

static void test_fill(void **state) {
    (void)state;
    uint8_t pattern[TG_PAD_PATTERN];
    for (int i = 0; i < TG_PAD_PATTERN; i++) pattern[i] = (uint8_t)random_bits();
    for (int64_t n = 0; n < 400; n++)
        for (int64_t at = 0; at < 130; at += at < 70 ? 1 : 7)
            for (int stream = 0; stream < 2; stream++) {
                uint8_t *const d = chance(2) ? dst_arena + at : dst_arena + ARENA - n;
                if (d > dst_arena) d[-1] = 0x5a;
                if (d + n < dst_arena + ARENA) d[n] = 0xa5;
                memset(d, 0x77, (size_t)n);
                tg_fill_bytes(d, n, pattern, stream != 0);
                tg_stream_end();
                for (int64_t i = 0; i < n; i++) assert_int_equal(d[i], pattern[i % TG_PAD_PATTERN]);
                if (d > dst_arena) assert_int_equal(d[-1], 0x5a);
                if (d + n < dst_arena + ARENA) assert_int_equal(d[n], 0xa5);
            }
}

/* ---- pieces ---- */

/* Pieces of n bytes for lines at random places of src, and at places of dst that lie apart, in any order. */
static void check_piece(int64_t n, int64_t lines, bool stream) {
    enum { MAX_LINES = 100 };
    tg_place      line[MAX_LINES];
    const int64_t gap = random_below(3) == 0 ? 0 : random_below(100), step = n + gap, all = (lines - 1) * step + n;
    const int64_t first = random_below(2) == 0 ? ARENA - all : random_below(100), turn = random_below(lines);
    const int     canary = (int)random_below(256);
    assert_true(lines <= MAX_LINES && first + all <= ARENA);
    for (int64_t i = 0; i < lines; i++)
        line[i] = (tg_place){(i + turn) % lines * step, random_below(4) == 0 ? 0 : random_below(ARENA - n + 1)};
    line[0].src = ARENA - n;
    memset(dst_arena, canary, ARENA);
    memset(want_arena, canary, ARENA);
    for (int64_t i = 0; i < lines; i++) memcpy(want_arena + first + line[i].dst, src_arena + line[i].src, (size_t)n);
    tg_copy_piece(dst_arena + first, src_arena, n, line, lines, stream);
    tg_stream_end();
    for (int64_t i = 0; i < ARENA; i++)
        if (dst_arena[i] != want_arena[i])
            fail_msg("%lld bytes of %lld lines, stream %d: byte %lld", (long long)n, (long long)lines, stream,
                     (long long)(i - first));
}

static void test_pieces(void **state) {
    (void)state;
    static const int64_t longer[] = {191, 192, 255, 256, 257, 1000, 1023, 1024, 1087, 4000};
    for (int64_t n = 1; n < 132; n++)
        for (int stream = 0; stream < 2; stream++) check_piece(n, 1 + random_below(40), stream != 0);
    for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++)
        for (int stream = 0; stream < 2; stream++) check_piece(longer[i], 1 + random_below(100), stream != 0);
}

/* Packed runs from any bit to any bit, at either end of both arenas; the other bits of their bytes stay. */
static void check_packed_run(int64_t n, int32_t bits) {
    enum { SIDE = 400 };
    const int64_t  room = SIDE * 8 / bits;
    const bool     end = random_below(2) == 0, src_end = random_below(2) == 0;
    const int64_t  to = end ? room - n - random_below(3) : random_below(40);
    const int64_t  from = src_end ? room - n - random_below(3) : random_below(40);
    uint8_t *const dst = end ? dst_arena + ARENA - SIDE : dst_arena;
    uint8_t *const src = src_end ? src_arena + ARENA - SIDE : src_arena;
    assert_true(to >= 0 && from >= 0 && to + n <= room && from + n <= room);
    for (int64_t i = 0; i < SIDE; i++) dst[i] = want_arena[i] = (uint8_t)random_bits();
    for (int64_t i = 0; i < n; i++)
        tg_ref_store(want_arena, to + i, bits, tg_ref_load(src, from + i, bits));
    tg_copy_packed(dst, to, src, from, n, bits);
    for (int64_t i = 0; i < SIDE; i++)
        if (dst[i] != want_arena[i])
            fail_msg("%lld of %d bits from %lld to %lld: byte %lld", (long long)n, (int)bits, (long long)from,
                     (long long)to, (long long)i);
}

static void test_packed_runs(void **state) {
    (void)state;
    for (int32_t bits = 1; bits <= 4; bits *= 2)
        for (int64_t n = 0; n < 340; n++)
            for (int times = 0; times < 8; times++) check_packed_run(n, bits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_packed_runs),
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_no_such_width),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_padded_rows),
        cmocka_unit_test(test_ragged_rows),
        cmocka_unit_test(test_sticks),
        cmocka_unit_test(test_cramped),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_short_runs),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_broadcasts),
        cmocka_unit_test(test_fetched_by_fours),
        cmocka_unit_test(test_random_blocks),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
