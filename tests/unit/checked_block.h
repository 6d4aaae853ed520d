/* One block by one mover against three plain loops, for every processor mask, between guard pages: a byte read or
 * written outside of the block is a fault, a byte changed in a gap of dst is a difference. For tests on cmocka. */
#ifndef TG_TESTS_CHECKED_BLOCK_H
#define TG_TESTS_CHECKED_BLOCK_H

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

enum { ARENA = 1 << 21 };
#include "arenas.h"

typedef enum family { ROWS, TRANSPOSE, STRIDED, FAMILIES } family;

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
    case 16: memcpy(d, s, 16); break;
    default: memcpy(d, s, (size_t)width); break;
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
    fail_msg("%s stream %d far %d sparing %d few streams %d to dst %d claims %d at hand %d memory %d: %lld x %lld x "
             "%lld + %lld "
             "(ragged %d, "
             "last %lld), dst %lld %lld %lld, src %lld %lld %lld: byte %lld",
             m->name, m->stream, m->far, m->sparing, m->few_streams, m->to_dst, m->claims, m->at_hand, m->memory,
             (long long)b->outer, (long long)b->rows, (long long)b->cols, (long long)b->tail, (int)b->ragged,
             (long long)b->last, (long long)b->dst_outer, (long long)b->dst_row, (long long)b->dst_col,
             (long long)b->src_outer, (long long)b->src_row, (long long)b->src_col, (long long)at);
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

/* Elements of which a few processors transpose blocks, and no other movers move any. */
static bool is_uneven(int64_t width) { return (width & (width - 1)) != 0; }

/* `align`: of dst, so that whole lines may be streamed. */
static void check(family f, int32_t width, tg_block b, int64_t align) {
    static uint8_t pad[TG_PAD_PATTERN];
    const int64_t  size = f == ROWS ? 1 : width;
    const uint64_t element[2] = {random_bits(), random_bits()};
    const int64_t  unit = width & -width; /* of uneven elements, the largest one that they may be made of */
    for (int64_t i = 0; i < TG_PAD_PATTERN; i += unit) memcpy(pad + i, element, (size_t)unit);
    b.pad = b.tail > 0 ? pad : NULL;
    const extent de = dst_extent(&b, size), se = src_extent(&b, size);
    if (de.high - de.low > ARENA - 512 || se.high - se.low > ARENA - 512) return;
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        for (int kind = 0; kind <= 32; kind++) {
            tg_mover m;
            if ((masks[i] & ~tg_cpu_features()) != 0) continue;
            if (is_uneven(size) && (masks[i] & TG_CPU_AVX512) == 0) continue;
            if (SAMPLED > 1 && random_below(SAMPLED) != 0) continue;
            assert_true(make_mover(&m, f, width, masks[i], (kind & 1) != 0, (kind & 2) != 0));
            m.sparing = m.staged = (kind & 4) != 0; /* whatever this processor is */
            m.few_streams = (kind & 8) != 0;
            m.to_dst = (kind & 16) != 0;
            m.claims = m.to_dst && random_below(3) != 0;
            m.at_hand = (kind & 32) != 0;
            m.memory = random_below(2) == 0;
            m.few_pieces = random_below(2) == 0;
            m.apart = random_below(4) != 0;
            if (m.sparing && (!m.stream || !m.far)) continue; /* only then it matters */
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

#endif
