/* Movers against three plain loops, for every processor mask, between guard pages: a byte read or written
 * outside of the block is a fault, a byte changed in a gap of dst is a difference. */
#define _GNU_SOURCE
#include "kernels/move.h"
#include "kernels/pieces.h"
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

enum { ARENA = 1 << 21 };
#include "arenas.h"

typedef enum family { ROWS, TRANSPOSE, STRIDED, FAMILIES } family;

static bool chance(int64_t one_in) { return random_below(one_in) == 0; }

/* ---- one block ---- */

typedef struct extent {
    int64_t low, high; /* bytes from the first element: the lowest one, and behind the highest one */
} extent;

static void reach(extent *e, int64_t n, int64_t step) {
    if (step < 0)
        e->low += (n - 1) * step;
    else
        e->high += (n - 1) * step;
}

static extent even_extent(const tg_block *b, int64_t width, bool in_dst) {
    extent e = {0, width + (in_dst ? b->tail * width : 0)};
    reach(&e, b->outer, in_dst ? b->dst_outer : b->src_outer);
    reach(&e, b->rows, in_dst ? b->dst_row : b->src_row);
    reach(&e, b->cols, in_dst ? b->dst_col : b->src_col);
    return e;
}

/* Steps [first, first + n) of the ragged loop alone, and where they begin. */
static extent ragged_extent(tg_block b, int64_t first, int64_t n, bool in_dst) {
    const bool    rows = b.ragged == TG_RAGGED_ROWS;
    const int64_t dst = rows ? b.dst_row : b.dst_outer, src = rows ? b.src_row : b.src_outer;
    const int64_t at = first * (in_dst ? dst : src);
    *(rows ? &b.rows : &b.outer) = n;
    const extent e = even_extent(&b, 1, in_dst), moved = {e.low + at, e.high + at};
    return moved;
}

static extent extent_of(const tg_block *b, int64_t width, bool in_dst) {
    if (b->ragged == TG_RAGGED_NOT) return even_extent(b, width, in_dst);
    const int64_t n = b->ragged == TG_RAGGED_ROWS ? b->rows : b->outer;
    tg_block      whole = *b, last = *b;
    whole.tail = 0;
    last.cols = b->last;
    const extent e = ragged_extent(last, n - 1, 1, in_dst);
    if (n == 1) return e;
    const extent w = ragged_extent(whole, 0, n - 1, in_dst);
    const extent both = {w.low < e.low ? w.low : e.low, w.high > e.high ? w.high : e.high};
    return both;
}

static extent dst_extent(const tg_block *b, int64_t width) { return extent_of(b, width, true); }
static extent src_extent(const tg_block *b, int64_t width) { return extent_of(b, width, false); }

/* Of constant size, because a call for each element is most of the time of these tests in an emulator. */
TG_UNCHECKED static void copy_element(uint8_t *d, const uint8_t *s, int64_t width) {
    switch (width) {
    case 1: *d = *s; break;
    case 2: memcpy(d, s, 2); break;
    case 4: memcpy(d, s, 4); break;
    case 8: memcpy(d, s, 8); break;
    default: memcpy(d, s, 16); break;
    }
}

TG_UNCHECKED static void naive(uint8_t *dst, const uint8_t *src, const tg_block *b, int64_t width) {
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const       d = dst + o * b->dst_outer + r * b->dst_row;
            const uint8_t *const s = src + o * b->src_outer + r * b->src_row;
            const bool short_one = (b->ragged == TG_RAGGED_ROWS && r + 1 == b->rows) ||
                                   (b->ragged == TG_RAGGED_OUTER && o + 1 == b->outer);
            const int64_t cols = short_one ? b->last : b->cols;
            const int64_t tail = b->ragged == TG_RAGGED_NOT || short_one ? b->tail : 0;
            for (int64_t c = 0; c < cols; c++) copy_element(d + c * b->dst_col, s + c * b->src_col, width);
            for (int64_t i = 0; i < tail * width; i++) d[cols * width + i] = b->pad[i % TG_PAD_PATTERN];
        }
}

/* Where the lowest byte goes: at either end of the arena, or somewhere near a line. */
static int64_t place(const extent *e, int64_t align) {
    const int64_t room = ARENA - (e->high - e->low);
    assert_true(room >= 512);
    switch (random_below(3)) {
    case 0: return room / align * align;
    case 1: return 0;
    default: return random_below(512 / align) * align;
    }
}

static bool make_mover(tg_mover *m, family f, int32_t width, uint32_t cpu, bool stream, bool far) {
    switch (f) {
    case ROWS: return tg_mover_rows(m, cpu, stream, far);
    case TRANSPOSE: return tg_mover_transpose(m, width, cpu, stream, far);
    default: return tg_mover_strided(m, width, cpu, stream, far);
    }
}

static void complain(const tg_mover *m, const tg_block *b, int64_t at) {
    fail_msg(
        "%s stream %d far %d sparing %d few streams %d claims %d at hand %d: %lld x %lld x %lld + %lld (ragged %d, "
        "last %lld), dst %lld %lld %lld, src %lld %lld %lld: byte %lld",
        m->name, m->stream, m->far, m->sparing, m->few_streams, m->claims, m->at_hand, (long long)b->outer,
        (long long)b->rows, (long long)b->cols, (long long)b->tail, (int)b->ragged, (long long)b->last,
        (long long)b->dst_outer, (long long)b->dst_row, (long long)b->dst_col, (long long)b->src_outer,
        (long long)b->src_row, (long long)b->src_col, (long long)at);
}

static void check_mover(const tg_mover *m, const tg_block *b, int64_t align) {
    const int64_t width = m->dst_width;
    const extent  de = dst_extent(b, width), se = src_extent(b, width);
    const int64_t d = place(&de, align) - de.low, s = place(&se, 1) - se.low, n = de.high - de.low;
    const int64_t from = d + de.low < 64 ? 0 : d + de.low - 64,
                  to = d + de.high + 64 > ARENA ? ARENA : d + de.high + 64;
    const int canary = (int)random_below(256);
    memset(dst_arena + from, canary, (size_t)(to - from));
    memset(want_arena + from, canary, (size_t)(to - from));
    naive(want_arena + d, src_arena + s, b, width);
    assert_null(m->move(m, dst_arena + d, src_arena + s, b));
    tg_stream_end();
    if (n > 0 && memcmp(dst_arena + from, want_arena + from, (size_t)(to - from)) == 0) return;
    int64_t i = from;
    while (i < to && dst_arena[i] == want_arena[i]) i++;
    complain(m, b, i - d);
}

static const uint32_t masks[] = {0, TG_CPU_AVX2, TG_CPU_AVX2 | TG_CPU_AVX512, TG_CPU_NEON};

/* `align`: of dst, so that whole lines may be streamed. */
static void check(family f, int32_t width, tg_block b, int64_t align) {
    static uint8_t pad[TG_PAD_PATTERN];
    const int64_t  size = f == ROWS ? 1 : width;
    const uint64_t element[2] = {random_bits(), random_bits()};
    for (int64_t i = 0; i < TG_PAD_PATTERN; i += width) memcpy(pad + i, element, (size_t)width);
    b.pad = b.tail > 0 ? pad : NULL;
    const extent de = dst_extent(&b, size), se = src_extent(&b, size);
    if (de.high - de.low > ARENA - 512 || se.high - se.low > ARENA - 512) return;
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        for (int kind = 0; kind <= 32; kind++) {
            tg_mover m;
            if ((masks[i] & ~tg_cpu_features()) != 0) continue;
            assert_true(make_mover(&m, f, width, masks[i], (kind & 1) != 0, (kind & 2) != 0));
            m.sparing = m.staged = (kind & 4) != 0; /* whatever this processor is */
            m.few_streams = (kind & 8) != 0;
            m.claims = (kind & 16) != 0;
            m.at_hand = (kind & 32) != 0;
            if (m.sparing && (!m.stream || !m.far)) continue; /* only then it matters */
            if (m.claims && m.far && !m.stream) continue;
            assert_int_equal(m.dst_width, size);
            check_mover(&m, &b, align);
        }
}

/* ---- the blocks that planners make, small ---- */

typedef struct named {
    const char *name;
    family      family;
    tg_block    block; /* in elements of the width; scaled */
} named;

/* Steps in elements become bytes; in family rows counts of columns too. */
static tg_block scaled(const named *n, int64_t w) {
    tg_block b = n->block;
    int64_t *const steps[] = {&b.dst_outer, &b.dst_row, &b.dst_col, &b.src_outer, &b.src_row, &b.src_col};
    for (size_t i = 0; i < 6; i++) *steps[i] *= w;
    if (n->family == ROWS) {
        b.cols *= w;
        b.tail *= w;
        b.last *= w;
        b.dst_col = b.src_col = 1;
    }
    return b;
}

static void check_named(int32_t width) {
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
        {"last stick", ROWS, {1, 40, (e + 1) / 2, 40 * e, e, 1, 0, C, 1, e - (e + 1) / 2, NULL, 0, 0}},
        {"last stick to nowhere", ROWS, {1, 9, 1, 9 * e, e, 1, 0, C, 1, 5 * e, NULL, 0, 0}},
        {"ragged stick", ROWS, {3, 17, e, 17 * e, e, 1, e, C + e - 1, 1, 1, NULL, TG_RAGGED_OUTER, e - 1}},
        {"ragged stick of rows",
         ROWS,
         {17, 3, e, e, 17 * e, 1, C + e / 2, e, 1, e - e / 2, NULL, TG_RAGGED_ROWS, e / 2}},
        {"ragged unstick", ROWS, {40, 3, e, C + e - 1, e, 1, e, 40 * e, 1, 0, NULL, TG_RAGGED_ROWS, e - 1}},
        {"ragged unstick, long", ROWS, {9, 20, e, 19 * e + 1, e, 1, e, 9 * e, 1, 0, NULL, TG_RAGGED_ROWS, 1}},
        {"ragged unstick, more than a line",
         ROWS, {9, 10, e, 9 * e + e / 2 + 1, e, 1, e, 9 * e, 1, 0, NULL, TG_RAGGED_ROWS, e / 2 + 1}},
        {"unstick to few runs", ROWS, {35, 3, e, e, 40 * e, 1, 3 * e, e, 1, 0, NULL, 0, 0}},
        {"tiles of long rows", ROWS, {3, 17, 4 * e, 17 * 4 * e, 4 * e, 1, 4 * e, 12 * e, 1, 0, NULL, 0, 0}},
        {"ragged unstick, one element", ROWS, {5, 2, e, e + 1, e, 1, e, 5 * e, 1, 0, NULL, TG_RAGGED_ROWS, 1}},
        {"ragged T(8,128)", ROWS, {3, 8, 128, 1024, 128, 1, 128, 2 * 128 + 9, 1, 119, NULL, TG_RAGGED_OUTER, 9}},
        {"ragged, no tail", ROWS, {3, 8, 128, 1024, 128, 1, 128, 2 * 128 + 9, 1, 0, NULL, TG_RAGGED_OUTER, 9}},
        {"ragged, little tail", ROWS, {3, 8, 48, 999, 50, 1, 48, 2 * 128, 1, 3, NULL, TG_RAGGED_OUTER, 20}},
        {"only the ragged end", ROWS, {9, 1, e, e, e, 1, e, e, 1, e - 1, NULL, TG_RAGGED_ROWS, 1}},
        {"sparse", ROWS, {1, 100, 1, 0, e, 1, 0, 1, 1, e - 1, NULL, 0, 0}},
        {"long row", ROWS, {1, 1, 70001, 0, 0, 1, 0, 0, 1, 0, NULL, 0, 0}},
        {"long row and tail", ROWS, {1, 2, 5001, 0, 6000, 1, 0, 6000, 1, 99, NULL, 0, 0}},
        {"transposing stick", TRANSPOSE, {1, R, e, 0, e, 1, 0, 1, R, 0, NULL, 0, 0}},
        {"transposing stick, long", TRANSPOSE, {1, 330, e, 0, e, 1, 0, 1, 331, 0, NULL, 0, 0}},
        {"transposing stick, long and ragged",
         TRANSPOSE,
         {2, 331, e - 1, 331 * e, e, 1, 331 * e, 1, 331, 1, NULL, 0, 0}},
        {"sticks back", TRANSPOSE, {2, e, 5 * e + 3, e * (5 * e + 4), 5 * e + 4, 1, 6 * e * e, 1, e, 0, NULL, 0, 0}},
        {"transposing stick, page pitch", TRANSPOSE, {1, 2 * e, e, 0, e, 1, 0, 1, 4096 / width, 0, NULL, 0, 0}},
        {"restick in two parts", TRANSPOSE, {2, e / 2, e, 3 * e * e, e, 1, e / 2, 1, e, 0, NULL, 0, 0}},
        {"restick", TRANSPOSE, {5, e, e, 3 * e * e, e, 1, e * e, 1, e, 0, NULL, 0, 0}},
        {"column major to T(8,128)", TRANSPOSE, {9, 8, 128, 3 * 1024, 128, 1, 8, 1, 72, 0, NULL, 0, 0}},
        {"column major to T(8,128), page pitch",
         TRANSPOSE,
         {17, 8, 128, 1024, 128, 1, 8, 1, 4096 / width, 0, NULL, 0, 0}},
        {"column major to T(8,128), narrow", TRANSPOSE, {9, 8, 128, 1024, 128, 1, 8, 1, 72, 0, NULL, 0, 0}},
        {"column major to rows apart",
         TRANSPOSE,
         {2, 3 * e, 4 * e, 16 * e * e, 5 * e, 1, 3 * e * 4 * e, 1, 3 * e, 0, NULL, 0, 0}},
        {"restick, matrices that follow each other",
         TRANSPOSE, {5, e, e, e * e, e, 1, e * e, 1, e, 0, NULL, 0, 0}},
        {"transposing sticks that follow each other",
         TRANSPOSE, {3, R + 3, e, (R + 3) * e, e, 1, (R + 3) * e, 1, R + 3, 0, NULL, 0, 0}},
        {"column major to T(8,128) that follow each other",
         TRANSPOSE, {3, 16, 128, 2048, 128, 1, 16 * 128, 1, 16, 0, NULL, 0, 0}},
        {"column major to groups of 16 long rows",
         TRANSPOSE, {5, 16, 3 * e, 3 * 16 * 3 * e, 3 * e, 1, 16, 1, 80, 0, NULL, 0, 0}},
        {"restick of two sticks", TRANSPOSE, {3, e, 2 * e, 7 * e * e, 2 * e, 1, 2 * e * e, 1, e, 0, NULL, 0, 0}},
        {"restick of half a stick", TRANSPOSE, {3, e, e / 2, 7 * e * e, e / 2, 1, e * e, 1, e, 0, NULL, 0, 0}},
        {"sticks to ragged rows",
         TRANSPOSE,
         {2, R, 9 * e + 3, R * (9 * e + 5), 9 * e + 5, 1, 10 * e * e * 4, 1, 4 * e, 0, NULL, 0, 0}},
        {"sticks to ragged rows, few", TRANSPOSE, {1, 3, 9 * e, 0, 9 * e + 1, 1, 0, 1, 4 * e, 0, NULL, 0, 0}},
        {"sticks to one long row", TRANSPOSE, {3, 1, 8 * e + 1, 9 * e + 1, 9 * e, 1, 12 * e, 1, e, 0, NULL, 0, 0}},
        {"T(8,128) to column major", TRANSPOSE, {9, 128, 8, 8, 72, 1, 3 * 1024, 1, 128, 0, NULL, 0, 0}},
        {"(2,1)", TRANSPOSE, {3, 128, 2, 256, 2, 1, 128, 1, 3 * 128, 0, NULL, 0, 0}},
        {"(4,1)", TRANSPOSE, {3, 128, 4, 512, 4, 1, 128, 1, 3 * 128, 0, NULL, 0, 0}},
        {"(2,1) back", TRANSPOSE, {3, 2, 128, 128, 3 * 128, 1, 256, 1, 2, 0, NULL, 0, 0}},
        {"(4,1) back", TRANSPOSE, {3, 4, 128, 128, 3 * 128, 1, 512, 1, 4, 0, NULL, 0, 0}},
        {"three planes", TRANSPOSE, {2, 331, 3, 1000, 3, 1, 400, 1, 900, 0, NULL, 0, 0}},
        {"three planes back", TRANSPOSE, {2, 3, 331, 400, 900, 1, 1000, 1, 3, 0, NULL, 0, 0}},
        {"three planes of lines", TRANSPOSE, {2, 256, 3, 768, 3, 1, 256, 1, 512, 0, NULL, 0, 0}},
        {"ragged stick", TRANSPOSE, {1, R, e / 2 + 1, 0, e, 1, 0, 1, R + 1, e - e / 2 - 1, NULL, 0, 0}},
        {"much padding", TRANSPOSE, {2, 9, 3, 9 * 3 * e, 3 * e, 1, 9, 1, 18, 3 * e - 3, NULL, 0, 0}},
        {"gather", STRIDED, {1, 1, 1000, 0, 0, 1, 0, 0, e, 0, NULL, 0, 0}},
        {"gather with rows", STRIDED, {2, 3, 67, 201, 67, 1, 999, 3, e, 0, NULL, 0, 0}},
        {"gather of every second one", STRIDED, {2, 3, 331, 993, 331, 1, 2222, 700, 2, 0, NULL, 0, 0}},
        {"gather of every third one", STRIDED, {1, 2, 640, 0, 640, 1, 0, 1920, 3, 0, NULL, 0, 0}},
        {"gather backwards", STRIDED, {1, 2, 333, 0, 400, 1, 0, 2000, -5, 0, NULL, 0, 0}},
        {"scatter", STRIDED, {1, 1, 500, 0, 0, e, 0, 0, 1, 0, NULL, 0, 0}},
        {"scatter to every second one", STRIDED, {2, 3, 331, 2222, 700, 2, 993, 331, 1, 0, NULL, 0, 0}},
        {"scatter to every third one", STRIDED, {1, 2, 640, 0, 1920, 3, 0, 640, 1, 0, NULL, 0, 0}},
        {"scatter backwards", STRIDED, {1, 2, 333, 0, 2000, 5, 0, 400, -1, 0, NULL, 0, 0}},
        {"broadcast of sticks", STRIDED, {3, 17, e, 17 * e, e, 1, 17, 1, 0, 0, NULL, 0, 0}},
        {"broadcast of short rows", STRIDED, {3, 17, e / 8, e * 4, e / 4, 1, 17, 1, 0, 0, NULL, 0, 0}},
        {"broadcast", STRIDED, {2, 3, 301, 903, 301, 1, 1, 2, 0, 0, NULL, 0, 0}},
        {"both odd", STRIDED, {3, 5, 31, 1, 93 * 3, 3, 7, 11, -5, 0, NULL, 0, 0}},
        {"backwards", STRIDED, {1, 3, 31, 0, 31, 1, 0, 31, -1, 0, NULL, 0, 0}},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        const tg_block b = scaled(&blocks[i], width);
        static const int32_t align[] = {128, 128, 128, 128, 16, 16, 4, 4, 1, 1};
        for (size_t k = 0; k < sizeof align / sizeof align[0]; k++) check(blocks[i].family, width, b, align[k]);
    }
}

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
            const named   batches[] = {
                {"dense", TRANSPOSE, {3, n, cols, n * cols, cols, 1, n * cols, 1, n, 0, NULL, 0, 0}},
                {"apart", TRANSPOSE, {2, n, cols, n * cols + 1, cols, 1, n, 1, 2 * n + 1, 0, NULL, 0, 0}},
                {"back", TRANSPOSE, {2, cols, n, n, 2 * n + gap, 1, n * cols, 1, cols, 0, NULL, 0, 0}},
                {"gaps", TRANSPOSE, {2, n, cols, n * (cols + gap), cols + gap, 1, n, 1, 2 * n, 0, NULL, 0, 0}},
            };
            for (size_t j = 0; j < sizeof batches / sizeof batches[0]; j++) {
                check(TRANSPOSE, width, scaled(&batches[j], width), 64);
                check(TRANSPOSE, width, scaled(&batches[j], width), 1);
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

static void test_blocks_of_planners(void **state) {
    (void)state;
    for (int32_t width = 1; width <= 16; width *= 2) {
        check_named(width);
        check_turns(width);
        check_narrow(width);
    }
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
        const int32_t width = 1 << random_below(5);
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
        check(f, width, b, chance(2) ? 128 : chance(2) ? width : 1);
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
    static const int32_t widths[] = {-1, 0, 3, 5, 12, 32};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        assert_false(tg_mover_transpose(&m, widths[i], tg_cpu_features(), false, false));
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
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_no_such_width),
        cmocka_unit_test(test_blocks_of_planners),
        cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_random_blocks),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
