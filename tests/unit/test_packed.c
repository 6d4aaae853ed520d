/* Transposes of packed elements, and lines of them as bytes or where bytes begin, against the definition, element by
 * element, for every processor mask, between guard pages. */
#define _GNU_SOURCE
#include "base/checked.h"
#include "kernels/move.h"
#include "kernels/stream.h"
#include "random.h"
#include "relayout/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARENA = 1 << 20 };
#include "arenas.h"

static bool chance(int64_t one_in) { return random_below(one_in) == 0; }

static unsigned get(const uint8_t *p, int64_t i, int bits) {
    return p[i * bits / 8] >> i * bits % 8 & ((1 << bits) - 1);
}

static void put(uint8_t *p, int64_t i, int bits, unsigned value) {
    const int      shift = (int)(i * bits % 8);
    const unsigned mask = ((1u << bits) - 1) << shift;
    p[i * bits / 8] = (uint8_t)((p[i * bits / 8] & ~mask) | value << shift);
}

static void naive(uint8_t *d, const uint8_t *s, const tg_block *b, int bits) {
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer)
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t c = 0; c < b->cols; c++) put(d + r * b->dst_row, c, bits, get(s + c * b->src_col, r, bits));
}

/* Bytes from the lowest one to behind the highest one, where the first element is at 0 or before it. */
static int64_t reach(int64_t *low, int64_t first, const int64_t *n, const int64_t *step) {
    int64_t high = first;
    *low = 0;
    for (int i = 0; i < 2; i++) *(step[i] < 0 ? low : &high) += (n[i] - 1) * step[i];
    return high - *low;
}

/* Where the lowest byte goes: at either end of the arena, or somewhere near a line. */
static uint8_t *place(uint8_t *arena, int64_t low, int64_t bytes) {
    if (chance(3)) return arena - low;
    if (chance(2)) return arena + ARENA - bytes - low;
    return arena + (chance(2) ? 128 : random_below(200)) - low;
}

static const uint32_t sets[] = {0, TG_CPU_AVX2, TG_CPU_AVX2 | TG_CPU_AVX512, TG_CPU_NEON};

static void check(const tg_block *b, int bits) {
    const int64_t per = 8 / bits;
    const int64_t dst_n[] = {b->outer, b->rows}, dst_step[] = {b->dst_outer, b->dst_row};
    const int64_t src_n[] = {b->outer, b->cols}, src_step[] = {b->src_outer, b->src_col};
    int64_t       dst_low, src_low;
    const int64_t dst_bytes = reach(&dst_low, b->cols / per, dst_n, dst_step);
    const int64_t src_bytes = reach(&src_low, (b->rows + per - 1) / per, src_n, src_step);
    if (dst_bytes > ARENA - 512 || src_bytes > ARENA - 512) return;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        for (int kind = 0; kind < 4; kind++) {
            tg_mover m;
            if ((sets[i] & ~tg_cpu_features()) != 0) continue;
            assert_true(tg_mover_packed(&m, bits, sets[i], (kind & 1) != 0, (kind & 2) != 0));
            uint8_t *const       d = place(dst_arena, dst_low, dst_bytes);
            const uint8_t *const s = place(src_arena, src_low, src_bytes);
            const int            canary = (int)random_below(256);
            memset(dst_arena, canary, ARENA);
            memset(want_arena, canary, ARENA);
            naive(want_arena + (d - dst_arena), s, b, bits);
            assert_null(m.move(&m, d, s, b));
            tg_stream_end();
            if (memcmp(dst_arena, want_arena, ARENA) == 0) continue;
            fail_msg("%s stream %d far %d: %lld x %lld x %lld, dst %lld %lld, src %lld %lld", m.name, m.stream, m.far,
                     (long long)b->outer, (long long)b->rows, (long long)b->cols, (long long)b->dst_outer,
                     (long long)b->dst_row, (long long)b->src_outer, (long long)b->src_col);
        }
}

static int64_t gap(void) { return chance(2) ? 0 : chance(2) ? 64 * random_below(3) : random_below(40); }

static int64_t count(int64_t per) {
    if (chance(3)) return per * (1 + random_below(5));
    return chance(2) ? 1 + random_below(3 * per) : 1 + random_below(700);
}

/* Rows of dst one after the other, or beside those of the next step; lines of src likewise. */
static tg_block random_block(int64_t per) {
    tg_block b = {.outer = chance(2) ? 1 : 1 + random_below(12), .rows = count(per)};
    b.cols = (count(per) + per - 1) / per * per;
    const int64_t run = b.cols / per, line = (b.rows + per - 1) / per;
    if (chance(2)) {
        b.dst_row = run + gap();
        b.dst_outer = b.rows * b.dst_row + gap();
    } else {
        b.dst_outer = run + gap();
        b.dst_row = b.outer * b.dst_outer + gap();
    }
    if (chance(2)) {
        b.src_col = line + gap();
        b.src_outer = b.cols * b.src_col + gap();
    } else {
        b.src_outer = line + gap();
        b.src_col = b.outer * b.src_outer + gap();
    }
    if (chance(8)) b.src_col = -b.src_col;
    if (chance(8)) b.src_outer = -b.src_outer;
    if (chance(16)) *(chance(2) ? &b.src_col : &b.src_outer) = 0;
    return b;
}

static void test_random_blocks(void **state) {
    (void)state;
    const char *const given = getenv("TG_SEED");
    const uint64_t    seed = given != NULL ? (uint64_t)strtoull(given, NULL, 0) : 20261124;
    print_message("TG_SEED=%llu\n", (unsigned long long)seed);
    random_state = seed;
    for (int i = 0; i < 1500 / SAMPLED; i++) {
        const int      bits = 1 << random_below(3);
        const tg_block b = random_block(8 / bits);
        check(&b, bits);
    }
}

/* Of matrices and of tiles: rows of dst that take turns, short lines, steps that go on on either side. */
static void test_blocks_of_planners(void **state) {
    (void)state;
    for (int bits = 1; bits <= 4; bits *= 2) {
        const int64_t  e = 8 / bits, n = 256;
        const tg_block blocks[] = {
            {.outer = 1, .rows = 4 * n, .cols = 2 * n, .dst_row = 2 * n / e, .src_col = 4 * n / e},
            {.outer = 1, .rows = 5 * n + e, .cols = 3 * n + e, .dst_row = 4 * n / e, .src_col = 6 * n / e},
            {.outer = 1, .rows = 5 * n + 1, .cols = 3 * n, .dst_row = 4 * n / e, .src_col = 6 * n / e},
            {.outer = 9, .rows = 128, .cols = 8, .dst_outer = 128 * 8 / e, .dst_row = 8 / e, .src_outer = 128 / e,
             .src_col = 9 * 128 / e},
            {.outer = 70, .rows = 128, .cols = e, .dst_outer = 512, .dst_row = 1, .src_outer = 128 / e,
             .src_col = 70 * 128 / e},
            {.outer = 70, .rows = e, .cols = 128, .dst_outer = 128 / e, .dst_row = 70 * 128 / e, .src_outer = 512,
             .src_col = 1},
            {.outer = 3, .rows = 8, .cols = 4096, .dst_outer = 8 * 4096 / e, .dst_row = 4096 / e,
             .src_outer = 8 * 4096 / e, .src_col = 8 / e},
        };
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
            for (int k = 0; k < 10 / SAMPLED; k++) check(&blocks[i], bits);
    }
}

/* ---- rows that take turns ---- */

/* Element i of row k is element i * rows + k where they take turns. */
static void naive_turns(uint8_t *d, const uint8_t *s, const tg_block *b, int bits, int rows, bool back) {
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const       to = d + o * b->dst_outer + r * b->dst_row;
            const uint8_t *const from = s + o * b->src_outer + r * b->src_row;
            for (int64_t i = 0; i < b->cols * 8 / bits; i++)
                for (int k = 0; k < rows; k++)
                    if (back) put(to + k * b->dst_col, i, bits, get(from, i * rows + k, bits));
                    else put(to, i * rows + k, bits, get(from + k * b->src_col, i, bits));
        }
}

static int64_t whole_gap(int64_t bytes) { return chance(2) ? (bytes + 63) / 64 * 64 : bytes + gap(); }

static void check_turns(int bits, int rows, bool back) {
    tg_block      b = {.outer = 1 + random_below(3), .rows = 1 + random_below(9)};
    b.cols = chance(3) ? 16 << random_below(4) : 1 + random_below(chance(2) ? 20 : 300);
    const int64_t apart = whole_gap(b.cols), of_set = apart * rows, mixed = b.cols * rows;
    int64_t *const step[2][2] = {{&b.dst_row, &b.dst_outer}, {&b.src_row, &b.src_outer}};
    *(back ? &b.dst_col : &b.src_col) = apart;
    for (int side = 0; side < 2; side++) {
        *step[side][0] = whole_gap((side == 0) == back ? of_set : mixed);
        *step[side][1] = whole_gap(b.rows * *step[side][0]);
    }
    const int64_t dst_bytes = (b.outer - 1) * b.dst_outer + (b.rows - 1) * b.dst_row +
                              (back ? (rows - 1) * apart + b.cols : mixed);
    const int64_t src_bytes = (b.outer - 1) * b.src_outer + (b.rows - 1) * b.src_row +
                              (back ? mixed : (rows - 1) * apart + b.cols);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        for (int kind = 0; kind < 3; kind++) {
            tg_mover m;
            if ((sets[i] & ~tg_cpu_features()) != 0) continue;
            assert_true(tg_mover_turns(&m, bits, rows, back, sets[i], kind == 1, kind == 1));
            m.claims = kind == 2;
            uint8_t *const       d = place(dst_arena, 0, dst_bytes);
            const uint8_t *const s = place(src_arena, 0, src_bytes);
            const int            canary = (int)random_below(256);
            memset(dst_arena, canary, ARENA);
            memset(want_arena, canary, ARENA);
            naive_turns(want_arena + (d - dst_arena), s, &b, bits, rows, back);
            assert_null(m.move(&m, d, s, &b));
            tg_stream_end();
            if (memcmp(dst_arena, want_arena, ARENA) == 0) continue;
            fail_msg("%s back %d kind %d: %lld x %lld x %lld bytes of %d rows, dst %lld %lld, src %lld %lld", m.name,
                     back, kind, (long long)b.outer, (long long)b.rows, (long long)b.cols, rows, (long long)b.dst_outer,
                     (long long)b.dst_row, (long long)b.src_outer, (long long)b.src_row);
        }
}

/* Up to eight rows, in words of eight or of as many: the element of row k, column i is number i * turns + k. */
static void naive_eights(uint8_t *d, const uint8_t *s, const tg_block *b, int bits, int rows, tg_eights way) {
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const       to = d + o * b->dst_outer + r * b->dst_row;
            const uint8_t *const from = s + o * b->src_outer + r * b->src_row;
            for (int64_t i = 0; i < b->cols * 8 / bits; i++) {
                for (int k = 0; k < rows; k++) {
                    const unsigned x = way == TG_EIGHTS_MIX ? get(from + k * b->src_col, i, bits)
                                                            : get(from, i * b->src_col + k, bits);
                    if (way == TG_EIGHTS_PART) put(to + k * b->dst_col, i, bits, x);
                    else put(to, i * b->dst_col + k, bits, x);
                }
                for (int k = rows; way != TG_EIGHTS_PART && k < b->dst_col; k++)
                    put(to, i * b->dst_col + k, bits, get(b->pad, 0, bits));
            }
        }
}

static void check_eights(int bits, int rows, tg_eights way, bool dst_dense, bool src_dense) {
    uint8_t       pad[TG_PAD_PATTERN];
    const int     dst_turns = dst_dense ? rows : 8, src_turns = src_dense ? rows : 8;
    tg_block      b = {.outer = 1 + random_below(3), .rows = 1 + random_below(5), .pad = pad};
    memset(pad, 0xff / ((1 << bits) - 1) * (int)random_below(1 << bits), sizeof pad);
    b.cols = chance(3) ? 64 * (1 + random_below(3)) : 1 + random_below(chance(2) ? 70 : 300);
    const int64_t apart = whole_gap(b.cols), parted = (rows - 1) * apart + b.cols;
    const int64_t dst_run = way == TG_EIGHTS_PART ? parted : b.cols * dst_turns,
                  src_run = way == TG_EIGHTS_MIX ? parted : b.cols * src_turns;
    b.dst_col = way == TG_EIGHTS_PART ? apart : dst_turns;
    b.src_col = way == TG_EIGHTS_MIX ? apart : src_turns;
    b.dst_row = whole_gap(dst_run);
    b.src_row = whole_gap(src_run);
    b.dst_outer = whole_gap(b.rows * b.dst_row);
    b.src_outer = whole_gap(b.rows * b.src_row);
    const int64_t dst_bytes = (b.outer - 1) * b.dst_outer + (b.rows - 1) * b.dst_row + dst_run;
    const int64_t src_bytes = (b.outer - 1) * b.src_outer + (b.rows - 1) * b.src_row + src_run;
    for (int kind = 0; kind < 3; kind++) {
        tg_mover m;
        assert_true(tg_mover_eights(&m, bits, rows, way, TG_CPU_AVX2 | TG_CPU_AVX512, kind == 1, kind == 1));
        m.claims = kind == 2;
        uint8_t *const       d = place(dst_arena, 0, dst_bytes);
        const uint8_t *const s = place(src_arena, 0, src_bytes);
        const int            canary = (int)random_below(256);
        memset(dst_arena, canary, ARENA);
        memset(want_arena, canary, ARENA);
        naive_eights(want_arena + (d - dst_arena), s, &b, bits, rows, way);
        assert_null(m.move(&m, d, s, &b));
        tg_stream_end();
        if (memcmp(dst_arena, want_arena, ARENA) == 0) continue;
        fail_msg("%s way %d kind %d: %lld x %lld x %lld bytes of %d rows, turns %d from %d, dst %lld %lld, "
                 "src %lld %lld",
                 m.name, (int)way, kind, (long long)b.outer, (long long)b.rows, (long long)b.cols, rows, dst_turns,
                 src_turns, (long long)b.dst_outer, (long long)b.dst_row, (long long)b.src_outer, (long long)b.src_row);
    }
}

static void test_eights(void **state) {
    (void)state;
    tg_mover   m;
    const bool there = (tg_cpu_features() & TG_CPU_AVX512) != 0;
    for (int i = 0; there && i < 6; i++)
        for (int bits = 1; bits <= 4; bits *= 2)
            for (int rows = 2; rows <= 8; rows++)
                for (int dense = 0; dense < 2; dense++) {
                    check_eights(bits, rows, TG_EIGHTS_MIX, dense == 0, false);
                    check_eights(bits, rows, TG_EIGHTS_PART, false, dense == 0);
                    if (rows < 8) check_eights(bits, rows, TG_EIGHTS_PAD, dense == 0, dense != 0);
                }
    assert_false(tg_mover_eights(&m, 4, 8, TG_EIGHTS_MIX, TG_CPU_AVX2, false, false));
    assert_false(tg_mover_eights(&m, 4, 1, TG_EIGHTS_MIX, TG_CPU_AVX512, false, false));
    assert_false(tg_mover_eights(&m, 4, 9, TG_EIGHTS_MIX, TG_CPU_AVX512, false, false));
}

static void test_turns(void **state) {
    (void)state;
    tg_mover m;
    for (int i = 0; i < 40; i++)
        for (int bits = 1; bits <= 4; bits *= 2)
            for (int rows = 2; rows <= 4; rows *= 2) {
                check_turns(bits, rows, false);
                check_turns(bits, rows, true);
            }
    assert_false(tg_mover_turns(&m, 8, 2, false, 0, false, false));
    assert_false(tg_mover_turns(&m, 4, 3, false, 0, false, false));
}

/* ---- lines of packed elements, and bytes ---- */

typedef struct lines {
    int     bits;
    tg_kind kind;
    int64_t count, n, at, step, pitch; /* elements, and bytes in the buffer */
} lines;

static lines random_lines(void) {
    static const tg_kind kinds[] = {TG_KIND_BITS, TG_KIND_SINT, TG_KIND_UINT, TG_KIND_BOOL};
    lines l = {1 << random_below(3), kinds[random_below(4)], 1 + random_below(9), 0, random_below(20), 0, 0};
    if (l.kind == TG_KIND_BOOL) l.bits = 1;
    l.n = chance(2) ? 1 + random_below(40) : 1 + random_below(700);
    l.step = l.n + (chance(2) ? random_below(9) : random_below(200));
    if (chance(4)) { /* whole lines of the cache */
        const int64_t unit = 512 / l.bits;
        l.at = chance(2) ? 0 : unit;
        l.n = unit * (1 + random_below(3));
        l.step = l.n + unit * random_below(2);
    }
    l.pitch = l.n + TG_SPREAD_BEFORE + random_below(70);
    if (chance(4)) { /* downwards */
        l.at += (l.count - 1) * l.step;
        l.step = -l.step;
    }
    return l;
}

static uint8_t as_byte(const lines *l, unsigned value) {
    const unsigned sign = 1u << (l->bits - 1);
    return l->kind == TG_KIND_SINT ? (uint8_t)((value ^ sign) - sign) : (uint8_t)value;
}

/* The packed side ends where a page does, which nothing beyond it may touch. */
static uint8_t *place_lines(uint8_t *arena, const lines *l) {
    const int64_t end = l->at + tg_max((l->count - 1) * l->step, 0) + l->n, bytes = (end * l->bits + 7) / 8;
    return arena + ARENA - bytes;
}

static void test_spread(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        const lines       l = random_lines();
        const tg_encoding packed = {l.kind, l.bits, l.bits}, bytes = {l.kind, 8, l.bits};
        const tg_block    b = {.outer = 1, .rows = l.count, .cols = l.n, .dst_row = l.pitch, .src_outer = l.at,
                               .src_row = l.step};
        uint8_t *const       d = dst_arena + 64 + random_below(64);
        const uint8_t *const s = place_lines(src_arena, &l);
        for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
            tg_mover m;
            if ((sets[k] & ~tg_cpu_features()) != 0) continue;
            assert_true(tg_mover_spread(&m, bytes, packed, sets[k]));
            memset(dst_arena, 0xa5, 1 << 16); /* all that lines and their surroundings take */
            assert_null(m.move(&m, d, s, &b));
            for (int64_t r = 0; r < l.count; r++)
                for (int64_t c = 0; c < l.n; c++)
                    if (d[r * l.pitch + c] != as_byte(&l, get(s, l.at + r * l.step + c, l.bits)))
                        fail_msg("%s: element %d of line %d, %d each from %d", m.name, (int)c, (int)r, (int)l.n,
                                 (int)l.at);
            for (int64_t c = TG_SPREAD_BEFORE + 1; c < 64; c++) assert_int_equal(d[-c], 0xa5);
            assert_int_equal(d[(l.count - 1) * l.pitch + l.n + TG_SPREAD_BEHIND], 0xa5);
        }
    }
}

static void test_join(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        const lines       l = random_lines();
        const tg_encoding packed = {l.kind, l.bits, l.bits}, bytes = {l.kind, 8, l.bits};
        const tg_block    b = {.outer = 1, .rows = l.count, .cols = l.n, .src_row = l.pitch, .dst_outer = l.at,
                               .dst_row = l.step};
        uint8_t *const       d = place_lines(dst_arena, &l);
        const uint8_t *const s = src_arena + 64 + random_below(64);
        for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
            tg_mover m;
            if ((sets[k] & ~tg_cpu_features()) != 0) continue;
            assert_true(tg_mover_join(&m, packed, bytes, sets[k]));
            m.stream = chance(2);
            const int canary = (int)random_below(256);
            memset(dst_arena, canary, ARENA);
            memset(want_arena, canary, ARENA);
            for (int64_t r = 0; r < l.count; r++)
                for (int64_t c = 0; c < l.n; c++) {
                    const unsigned byte = s[r * l.pitch + c];
                    put(want_arena + (d - dst_arena), l.at + r * l.step + c, l.bits,
                        l.kind == TG_KIND_BOOL ? byte != 0 : byte & ((1u << l.bits) - 1));
                }
            assert_null(m.move(&m, d, s, &b));
            tg_stream_end();
            if (memcmp(dst_arena, want_arena, ARENA) != 0)
                fail_msg("%s: %d lines of %d from %d, %d apart", m.name, (int)l.count, (int)l.n, (int)l.at,
                         (int)l.step);
        }
    }
}

/* ---- matrices that begin anywhere ---- */

/* Rows of dst and lines of src, in elements: any steps, so that all of it lies in the arenas, which it may fill. */
typedef struct anywhere {
    int      bits;
    bool     bytes; /* src is such */
    tg_kind  kind;
    tg_block b;
    int64_t  dst_bytes, src_bytes;
} anywhere;

static anywhere begin_anywhere(int bits, bool bytes) {
    static const tg_kind kinds[] = {TG_KIND_BITS, TG_KIND_SINT, TG_KIND_BOOL};
    return (anywhere){.bits = bits, .bytes = bytes, .kind = kinds[random_below(3)]};
}

static void choose_steps(anywhere *v, int64_t rows, int64_t cols) {
    anywhere      w = *v;
    const int64_t per = 8 / w.bits, of_src = w.bytes ? 1 : per;
    w.b = (tg_block){.outer = 1, .rows = rows, .cols = cols};
    w.b.dst_outer = random_below(20);
    w.b.src_outer = random_below(20);
    w.b.dst_row = cols + (chance(2) ? 0 : random_below(200));
    w.b.src_col = rows + (chance(2) ? 0 : random_below(200));
    if (chance(4)) { /* whole bytes, or whole lines */
        const int64_t unit = chance(2) ? per : 64 * per;
        w.b.dst_row = (w.b.dst_row + unit - 1) / unit * unit;
        w.b.dst_outer = 0;
    }
    if (chance(8)) w.b.src_col = rows / 2; /* lines may overlap */
    if (chance(4)) w.b.src_col = -w.b.src_col;
    const int64_t last = (cols - 1) * w.b.src_col;
    if (last < 0) w.b.src_outer -= last;
    w.src_bytes = (w.b.src_outer + tg_max(last, 0) + rows + of_src - 1) / of_src;
    w.dst_bytes = (w.b.dst_outer + (rows - 1) * w.b.dst_row + cols + per - 1) / per;
    *v = w;
}

static anywhere random_anywhere(void) {
    const int     bits = 1 << random_below(3);
    anywhere      w = begin_anywhere(bits, chance(2));
    const int64_t rows = chance(2) ? 1 + random_below(90) : 1 + random_below(700);
    choose_steps(&w, rows, chance(2) ? 1 + random_below(90) : 1 + random_below(chance(2) ? 300 : 1500));
    return w;
}

static bool has_room(const anywhere *w) { return w->src_bytes <= ARENA - 512 && w->dst_bytes <= ARENA - 512; }

/* Several bands of so many lines that these are turned in regions, or nearly. */
static anywhere random_regions(int bits, bool bytes) {
    anywhere      w = begin_anywhere(bits, bytes);
    const int64_t band = tg_band_rows(bits, !bytes), most = tg_min(TG_BANDS_ROWS / band - 1, 2);
    do choose_steps(&w, band * (1 + random_below(most)) + 1 + random_below(60), 4000 + random_below(1500));
    while (!has_room(&w));
    return w;
}

static unsigned value_of(const anywhere *w, const uint8_t *s, int64_t at) {
    if (!w->bytes) return get(s, at, w->bits);
    return w->kind == TG_KIND_BOOL ? s[at] != 0 : s[at] & ((1u << w->bits) - 1);
}

static void check_bands(const anywhere *w) {
    const tg_block   *b = &w->b;
    const tg_encoding to = {w->kind, w->bits, w->bits}, from = {w->kind, w->bytes ? 8 : w->bits, w->bits};
    if (!has_room(w)) return;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        for (int kind = 0; kind < 3; kind++) {
            tg_mover m;
            if ((sets[i] & ~tg_cpu_features()) != 0) continue;
            assert_true(tg_mover_bands(&m, to, from, sets[i], kind == 1, chance(2)));
            m.claims = kind == 2;
            m.halves = chance(2);
            m.fetches = m.far && chance(2);
            uint8_t *const       d = place(dst_arena, 0, w->dst_bytes);
            const uint8_t *const s = place(src_arena, 0, w->src_bytes);
            uint8_t *const       want = want_arena + (d - dst_arena);
            const int            canary = (int)random_below(256);
            memset(dst_arena, canary, ARENA);
            memset(want_arena, canary, ARENA);
            for (int64_t r = 0; r < b->rows; r++)
                for (int64_t c = 0; c < b->cols; c++)
                    put(want, b->dst_outer + r * b->dst_row + c, w->bits,
                        value_of(w, s, b->src_outer + c * b->src_col + r));
            assert_null(m.move(&m, d, s, b));
            tg_stream_end();
            if (memcmp(dst_arena, want_arena, ARENA) == 0) continue;
            int64_t bad = 0;
            while (dst_arena[bad] == want_arena[bad]) bad++;
            fail_msg("%s, kind %d: %d rows from %d, %d apart, %d columns from %d, %d apart: byte %d of dst, at %d",
                     m.name, kind, (int)b->rows, (int)b->dst_outer, (int)b->dst_row, (int)b->cols, (int)b->src_outer,
                     (int)b->src_col, (int)(bad - (d - dst_arena)), (int)((uintptr_t)d % 64));
        }
}

static void test_bands(void **state) {
    tg_mover          m;
    const tg_encoding four = {TG_KIND_BITS, 4, 4}, two = {TG_KIND_BITS, 2, 2}, byte = {TG_KIND_BITS, 8, 8};
    (void)state;
    for (int i = 0; i < 400; i++) {
        const anywhere w = random_anywhere();
        check_bands(&w);
    }
    for (int i = 0; i < 36; i++) {
        const anywhere w = random_regions(4 >> i % 3, chance(4));
        check_bands(&w);
    }
    assert_false(tg_mover_bands(&m, byte, byte, 0, false, false));
    assert_false(tg_mover_bands(&m, four, two, 0, false, false));
}

static void test_variants(void **state) {
    (void)state;
    tg_mover plain, fast;
    assert_false(tg_mover_packed(&plain, 8, tg_cpu_features(), false, false));
    assert_false(tg_mover_packed(&plain, 3, tg_cpu_features(), false, false));
    for (int bits = 1; bits <= 4; bits *= 2) {
        assert_true(tg_mover_packed(&plain, bits, 0, false, false));
        assert_true(tg_mover_packed(&fast, bits, tg_cpu_features(), false, false));
        if ((tg_cpu_features() & (TG_CPU_AVX2 | TG_CPU_NEON)) == 0) continue;
        assert_true(fast.move != plain.move && strcmp(fast.name, plain.name) != 0);
    }
}

/* ---- threads ---- */

/* Runs one of the tasks, and counts them. */
typedef struct one_task {
    size_t wanted, tasks;
} one_task;

static void run_one(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    one_task *const one = context;
    one->tasks = ntasks;
    if (one->wanted < ntasks) task(arg, one->wanted);
}

/* What of dst a task writes: bits that are the same, whatever was there. */
static void run_twice(uint8_t *written, const tg_plan *p, int64_t bytes, const uint8_t *s, one_task *one) {
    static uint8_t    ones[1 << 21], zeros[1 << 21];
    const tg_executor e = {run_one, one, 4};
    assert_true(bytes <= (int64_t)sizeof ones);
    memset(ones, 0xff, sizeof ones);
    memset(zeros, 0, sizeof zeros);
    assert_int_equal(tg_plan_run(p, ones, s, &e, NULL), TG_OK);
    assert_int_equal(tg_plan_run(p, zeros, s, &e, NULL), TG_OK);
    for (int64_t i = 0; i < bytes; i++) written[i] = (uint8_t)~(ones[i] ^ zeros[i]);
}

/* No byte is written by two tasks, and where rows begin inside of bytes there are several tasks all the same. */
static void test_tasks_share_no_byte(void **state) {
    static const struct {
        const char *src, *dst;
        bool        apart;
    } moves[] = {
        {"s4[101,109]{1,0:E(4)}", "s4[101,109]{0,1:E(4)}", true},
        {"s4[101,109]{0,1}", "s4[101,109]{1,0:E(4)}", true},
        {"s4[512,257]{0,1:E(4)}", "s4[512,257]{1,0:T(1,8192)E(4)}", true},
        {"u2[131,203]{1,0:E(2)}", "u2[131,203]{0,1:E(2)}", true},
        {"pred[131,203]{1,0:E(1)}", "pred[131,203]{0,1:E(1)}", true},
        {"u2[7,99,35]{2,1,0:E(2)}", "u2[7,99,35]{1,2,0:E(2)}", false},
        {"u2[99,7,35]{2,1,0:E(2)}", "u2[99,7,35]{1,2,0:E(2)}", true},
        {"s4[501,301]{1,0:T(8,128)E(4)}", "s4[501,301]{1,0:E(4)}", true},
        {"s4[101,301]{1,0:E(4)}", "s4[101,301]{1,0:T(7,133)E(4)}", false},
        {"u2[101,301]{1,0:T(7,133)E(2)}", "u2[101,301]{0,1:E(2)}", false},
        {"s4[9,11,13,15]{3,2,1,0:E(4)}", "s4[9,11,13,15]{0,2,3,1:E(4)}", false},
    };
    static const uint64_t pad[2] = {9, 0};
    (void)state;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        tg_desc         dst, src;
        tg_plan         p;
        tg_tuning       t = tg_default_tuning;
        one_task        one = {0, 1};
        static uint8_t  written[1 << 21], all[1 << 21];
        int64_t         bytes;
        tg_plan_params  params = {.pad = pad, .convert = true, .threads = 4};
        assert_int_equal(tg_desc_parse(&src, moves[i].src, strlen(moves[i].src), NULL), TG_OK);
        assert_int_equal(tg_desc_parse(&dst, moves[i].dst, strlen(moves[i].dst), NULL), TG_OK);
        params.dst = &dst.layout;
        params.src = &src.layout;
        t.block_bytes_min = t.group_bytes_min = t.task_bytes = 256;
        t.block_bytes = 512;
        assert_int_equal(tg_layout_nbytes(&bytes, params.dst, NULL), TG_OK);
        assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
        memset(all, 0, sizeof all);
        for (one.wanted = 0; one.wanted < one.tasks; one.wanted++) {
            run_twice(written, &p, bytes, src_arena, &one);
            for (int64_t k = 0; k < bytes; k++) {
                if (one.tasks > 1 && all[k] != 0 && written[k] != 0)
                    fail_msg("%s: byte %d of %d belongs to two tasks", moves[i].dst, (int)k, (int)bytes);
                all[k] |= written[k];
            }
            if (one.tasks == 1) break;
        }
        if (moves[i].apart && one.tasks == 1) fail_msg("%s to %s: one task", moves[i].src, moves[i].dst);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_of_planners),
        cmocka_unit_test(test_random_blocks),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_eights),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_bands),
        cmocka_unit_test(test_variants),
        cmocka_unit_test(test_tasks_share_no_byte),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
