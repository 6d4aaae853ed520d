/* Tiles of transposes whose rows and lines are listed, against two plain loops, for every processor mask, between guard
 * pages. */
#define _GNU_SOURCE
#include "kernels/move.h"
#include "kernels/stream.h"
#include "random.h"
#include "unchecked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARENA = 1 << 21, MOST = 200 /* rows, or lines, of a tile */, MOST_TILES = 3 };
#include "arenas.h"

static const uint32_t masks[] = {0, TG_CPU_AVX2, TG_CPU_AVX2 | TG_CPU_AVX512, TG_CPU_NEON};

/* Some tiles with the same lists, of which some use a part only. */
typedef struct tile_list {
    tg_tiles  tiles;
    int32_t   n, at;
    tg_listed tile[MOST_TILES];
} tile_list;

static bool next_of_list(tg_tiles *tiles, tg_listed *tile) {
    tile_list *const l = (tile_list *)(void *)tiles;
    if (l->at == l->n) return false;
    *tile = l->tile[l->at++];
    return true;
}

/* Multiples 0, 1, ... of the step, from a random one on, in runs of a power of two, which is returned. */
static int64_t turn_round(int64_t *list, int64_t n, int64_t step) {
    const int64_t most = n & -n, run = random_below(3) == 0 ? TG_ONE_RUN : most >> random_below(2) * (most > 1);
    const int64_t first = run < n ? random_below(n / run) * run : 0;
    for (int64_t i = 0; i < n; i++) list[i] = (i + first) % n * step;
    return run;
}

/* Fewer, but whole runs. */
static int64_t fewer(int64_t n, int64_t run) {
    return run == TG_ONE_RUN ? 1 + random_below(n) : run * (1 + random_below(n / run));
}

TG_UNCHECKED static void naive(const tg_listed *t, uint8_t *want, int64_t width) {
    for (int64_t r = 0; r < t->rows; r++)
        for (int64_t c = 0; c < t->cols; c++)
            memcpy(want + t->row[r] + c * width, t->src + t->line[c] + r * width, (size_t)width);
}

/* Mostly a multiple of 8, so that there are runs. */
static int64_t a_size(void) {
    const int64_t n = 1 + random_below(MOST);
    return n >= 8 && random_below(4) > 0 ? n / 8 * 8 : n;
}

/* Rows that are known to follow each other in dst, of all tiles; or 1. */
static int64_t rows_of_run(const tile_list *l, int64_t row_bytes) {
    const tg_tiles *t = &l->tiles;
    const bool      any = t->row_by == row_bytes && t->row_run != TG_ONE_RUN && t->least_cols == t->most_cols;
    return any && random_below(3) > 0 ? t->row_run : 1;
}

/* Lines are whole pages apart, or anything; tiles lie one behind the other in dst, or side by side in longer rows, up
 * to its end or from its beginning on, and anywhere in src. */
static void check_tiles(int32_t width, uint32_t cpu, bool stream, bool far, bool pages) {
    int64_t       row[MOST], line[MOST];
    const int64_t rows = a_size(), cols = a_size();
    const int64_t unit = random_below(2) == 0 ? 64 : width;
    const int64_t gap = random_below(2) == 0 ? 0 : random_below(100) / width * width;
    const bool    beside = random_below(2) == 0;
    const int64_t pitch = ((beside ? MOST_TILES : 1) * cols * width + gap + unit - 1) / unit * unit;
    const int64_t step = pages ? 4096 : rows * width + random_below(100), reach = (cols - 1) * step + rows * width;
    const int64_t all = rows * pitch * (beside ? 1 : MOST_TILES);
    const int64_t first = random_below(2) == 0 ? (ARENA - all) / 64 * 64 : 0;
    tile_list     l = {.tiles = {.next = next_of_list, .most_rows = rows, .most_cols = cols, .least_rows = rows,
                                 .least_cols = cols, .line_step = step & -step, .line_by = step, .row_by = pitch,
                                 .joined_bytes = random_below(2) << 20}};
    tg_mover      m;
    int64_t       at = first;
    assert_true(reach <= ARENA && all <= ARENA);
    l.tiles.row_run = turn_round(row, rows, pitch);
    l.tiles.line_run = turn_round(line, cols, step);
    memset(dst_arena, 0x5a, ARENA);
    memset(want_arena, 0x5a, ARENA);
    l.n = 1 + (int32_t)random_below(MOST_TILES);
    for (int32_t i = 0; i < l.n; i++) {
        tg_listed *t = &l.tile[i];
        *t = (tg_listed){dst_arena + at, src_arena + random_below(ARENA - reach + 1), rows, cols, row, line};
        if (i > 0 && random_below(3) == 0) t->rows = fewer(rows, l.tiles.row_run);
        if (i > 0 && random_below(3) == 0) t->cols = fewer(cols, l.tiles.line_run);
        if (t->rows < l.tiles.least_rows) l.tiles.least_rows = t->rows;
        if (t->cols < l.tiles.least_cols) l.tiles.least_cols = t->cols;
        l.tiles.at_lines = (i == 0 || l.tiles.at_lines) && t->cols * width % 64 == 0 && pitch % 64 == 0;
        naive(t, want_arena + at, width);
        at += beside ? t->cols * width : rows * pitch;
    }
    l.tiles.joined_rows = rows_of_run(&l, cols * width);
    assert_true(tg_mover_tiles(&m, width, cpu, stream, far));
    m.tiles(&m, &l.tiles);
    tg_stream_end();
    if (memcmp(dst_arena, want_arena, ARENA) == 0) return;
    int64_t i = 0;
    while (dst_arena[i] == want_arena[i]) i++;
    fail_msg("%s stream %d far %d: %d tiles of %lld x %lld, pitch %lld, step %lld, run %lld: byte %lld", m.name, stream,
             far, l.n, (long long)rows, (long long)cols, (long long)pitch, (long long)step,
             (long long)l.tiles.joined_rows, (long long)(i - first));
}

static void test_tiles(void **state) {
    (void)state;
    enum { TIMES = 400 };
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        if ((masks[i] & ~tg_cpu_features()) != 0) continue;
        for (int32_t width = 1; width <= 16; width *= 2)
            for (int times = 0; times < TIMES; times++)
                check_tiles(width, masks[i], times % 2 != 0, times / 2 % 2 != 0, times / 4 % 2 != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tiles)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
