/* Converting movers against the definition of ref.c: every value of the small formats, and blocks of every
 * shape between guard pages, for every set of instructions that this processor has. */
#define _DEFAULT_SOURCE
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
#include <sys/mman.h>

#include <cmocka.h>

static const uint32_t sets[] = {0, TG_CPU_AVX2, TG_CPU_AVX2 | TG_CPU_AVX512,
                                TG_CPU_AVX2 | TG_CPU_AVX512 | TG_CPU_BF16, TG_CPU_NEON};
enum { SETS = sizeof sets / sizeof sets[0] };

static bool has(uint32_t set) { return (tg_cpu_features() & set) == set; }

static const tg_encoding encodings[] = {
    {TG_KIND_F16, 16, 16},    {TG_KIND_BF16, 16, 16},  {TG_KIND_F32, 32, 32},  {TG_KIND_DLF16, 16, 16},
    {TG_KIND_F8E4M3FN, 8, 8}, {TG_KIND_F8E5M2, 8, 8},  {TG_KIND_SINT, 64, 64}, {TG_KIND_SINT, 32, 32},
    {TG_KIND_SINT, 16, 16},   {TG_KIND_SINT, 8, 8},    {TG_KIND_SINT, 8, 4},   {TG_KIND_SINT, 4, 4},
    {TG_KIND_SINT, 8, 2},     {TG_KIND_SINT, 2, 2},    {TG_KIND_SINT, 8, 1},   {TG_KIND_SINT, 1, 1},
    {TG_KIND_UINT, 64, 64},   {TG_KIND_UINT, 32, 32},  {TG_KIND_UINT, 16, 16}, {TG_KIND_UINT, 8, 8},
    {TG_KIND_UINT, 8, 4},     {TG_KIND_UINT, 4, 4},    {TG_KIND_UINT, 8, 2},   {TG_KIND_UINT, 2, 2},
    {TG_KIND_UINT, 8, 1},     {TG_KIND_UINT, 1, 1},    {TG_KIND_BOOL, 1, 1},   {TG_KIND_BOOL, 8, 1},
    {TG_KIND_BOOL, 16, 1},    {TG_KIND_BOOL, 32, 1},   {TG_KIND_BITS, 1, 1},   {TG_KIND_BITS, 2, 2},
    {TG_KIND_BITS, 4, 4},     {TG_KIND_BITS, 8, 1},    {TG_KIND_BITS, 8, 2},   {TG_KIND_BITS, 8, 4},
    {TG_KIND_BITS, 8, 8},     {TG_KIND_BITS, 64, 64},  {TG_KIND_BITS, 128, 128},
};
enum { ENCODINGS = sizeof encodings / sizeof encodings[0] };

/* ---- memory between pages that nobody may touch ---- */

enum { PAGE = 4096, ROOM = 1 << 22 };

typedef struct guarded {
    uint8_t *begin; /* ROOM bytes */
} guarded;

static guarded guarded_new(void) {
    uint8_t *const p = mmap(NULL, ROOM + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    assert_int_equal(mprotect(p, PAGE, PROT_NONE), 0);
    assert_int_equal(mprotect(p + PAGE + ROOM, PAGE, PROT_NONE), 0);
    return (guarded){p + PAGE};
}

static void guarded_free(guarded g) { assert_int_equal(munmap(g.begin - PAGE, ROOM + 2 * PAGE), 0); }

/* The first of n bytes in which a and b differ, or n. */
TG_UNCHECKED static int64_t first_difference(const uint8_t *a, const uint8_t *b, int64_t n) {
    int64_t i = 0;
    while (i < n && a[i] == b[i]) i++;
    return i;
}

/* n bytes that touch one of the two pages. */
static uint8_t *place(guarded g, int64_t n, bool at_end) { return at_end ? g.begin + ROOM - n : g.begin; }

/* ---- values ---- */

static void check_values(tg_encoding d, tg_encoding s, const uint8_t *src, int64_t n) {
    const int64_t     bytes = n * d.bits / 8;
    uint8_t *const    want = malloc((size_t)bytes), *const got = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    const tg_block    b = {1, 1, n, 0, 0, d.bits / 8, 0, 0, s.bits / 8, 0, NULL, TG_RAGGED_NOT, 0};
    for (int64_t i = 0; i < n; i++) {
        tg_word w;
        assert_true(tg_ref_convert(&w, d, s, tg_ref_load(src, i, s.bits)));
        tg_ref_store(want, i, d.bits, w);
    }
    for (int set = 0; set < SETS; set++)
        for (int stream = 0; stream < 2 && has(sets[set]); stream++) {
            tg_mover m;
            assert_true(tg_mover_convert(&m, d, s, sets[set], stream != 0, false));
            memset(got, 0xee, (size_t)bytes);
            assert_null(m.move(&m, got, src, &b));
            tg_stream_end();
            for (int64_t i = 0; i < n && memcmp(got, want, (size_t)bytes) != 0; i++) {
                const uint64_t have = tg_ref_load(got, i, d.bits).lo, ref = tg_ref_load(want, i, d.bits).lo;
                if (have != ref)
                    fail_msg("%s: %llx gives %llx, want %llx", m.name,
                             (unsigned long long)tg_ref_load(src, i, s.bits).lo, (unsigned long long)have,
                             (unsigned long long)ref);
            }
        }
    free(want);
    free(got);
}

static bool converts(tg_encoding d, tg_encoding s) {
    tg_mover m;
    return tg_mover_convert(&m, d, s, 0, false, false);
}

static void test_every_small_float(void **state) {
    (void)state;
    enum { N = 65536 };
    static uint8_t src[2 * N];
    for (int s = 0; s < ENCODINGS; s++) {
        if (!tg_is_float(encodings[s].kind) || encodings[s].bits > 16) continue;
        for (int64_t i = 0; i < N; i++) tg_ref_store(src, i, encodings[s].bits, (tg_word){(uint64_t)i, 0});
        for (int d = 0; d < ENCODINGS; d++)
            if (converts(encodings[d], encodings[s]) && encodings[d].bits >= 8)
                check_values(encodings[d], encodings[s], src, N);
    }
}

/* Bits that stand for what a rounding can meet: nothing, half an ulp of every format, and their neighbours. */
static int64_t add_fractions(uint32_t *out, uint32_t high) {
    int64_t n = 0;
    for (int bit = 10; bit < 24; bit++)
        for (int k = -1; k <= 1; k++)
            for (int odd = 0; odd < 4; odd++)
                out[n++] = high | (((1u << bit) + (uint32_t)k + ((unsigned)odd << (bit + 1))) & 0x7fffffu);
    return n;
}

static void test_float32(void **state) {
    (void)state;
    enum { RANDOM = 1 << 20, ALL = RANDOM + 512 * 14 * 12 + 64 };
    uint32_t *const values = malloc(ALL * sizeof values[0]);
    int64_t         n = 0;
    for (uint32_t high = 0; high < 512; high++) n += add_fractions(values + n, high << 23);
    for (int i = 0; i < RANDOM; i++) values[n++] = (uint32_t)random_bits();
    const tg_encoding f32 = {TG_KIND_F32, 32, 32};
    for (int d = 0; d < ENCODINGS; d++)
        if (converts(encodings[d], f32) && encodings[d].kind != TG_KIND_F32 && encodings[d].bits >= 8)
            check_values(encodings[d], f32, (const uint8_t *)values, n);
    free(values);
}

/* ---- blocks ---- */

/* Steps of one side, and how many bytes it reaches over. The first element is `first` bytes from the lowest. */
typedef struct side {
    int64_t outer, row, first, bytes;
} side;

static int64_t random_gap(int64_t row) {
    switch (random_below(5)) {
    case 0: return random_below(7);
    case 1: return (64 - row % 64) % 64;
    default: return 0;
    }
}

static side random_side(int64_t outer, int64_t rows, int64_t row_bytes, bool is_src) {
    const int64_t inner = row_bytes + random_gap(row_bytes);
    const bool    by_outer = random_below(2) == 0; /* the block's outer loop is the inner one here */
    const int64_t counts[2] = {by_outer ? outer : rows, by_outer ? rows : outer};
    int64_t       steps[2] = {inner, inner * counts[0] + random_gap(inner * counts[0])};
    side          s = {0, 0, 0, row_bytes};
    if (is_src && random_below(8) == 0) steps[random_below(2)] = 0;
    for (int i = 0; i < 2; i++) {
        s.bytes += steps[i] * (counts[i] - 1);
        if (random_below(8) != 0) continue;
        s.first += steps[i] * (counts[i] - 1);
        steps[i] = -steps[i];
    }
    s.outer = steps[by_outer ? 0 : 1];
    s.row = steps[by_outer ? 1 : 0];
    return s;
}

static int64_t random_cols(void) {
    static const int64_t edges[] = {8, 16, 32, 64, 64, 128, 256, 512, 22, 150};
    const int64_t        edge = edges[random_below(10)];
    switch (random_below(8)) {
    case 0: return 1 + random_below(16);
    case 1: return edge - 1;
    case 2: return edge + 1;
    case 3: return 1 + random_below(700);
    default: return edge;
    }
}

/* A source element that dst can hold. */
static void put_fitting(uint8_t *cell, int64_t index, tg_encoding d, tg_encoding s) {
    tg_word w, out;
    do {
        uint8_t element[16] = {0};
        tg_ref_store(element, 0, s.bits, (tg_word){random_bits(), random_bits()});
        w = tg_ref_load(element, 0, s.bits);
        if (random_below(2) == 0 && s.bits > 8) w.lo &= random_below(2) == 0 ? 0x7fffffff : 0x7f;
        if (random_below(8) == 0) w.lo = 0;
    } while (!tg_ref_convert(&out, d, s, w));
    tg_ref_store(cell, index, s.bits, w);
}

typedef struct shape {
    int64_t outer, rows, cols, tail;
    side    dst, src;
} shape;

static shape random_shape(tg_encoding d, tg_encoding s) {
    shape h = {1 + random_below(4), 1 + random_below(6), random_cols(), 0, {0}, {0}};
    if (random_below(16) == 0) h = (shape){1, 1, 1 + random_below(9000), 0, {0}, {0}};
    if (random_below(16) == 0) h = (shape){2, 2, 64 * (1 + random_below(80)), 0, {0}, {0}};
    if (random_below(16) == 0)
        h = (shape){1 + random_below(20), 1 + random_below(70), 1 + random_below(66), 0, {0}, {0}};
    if (random_below(16) == 0)
        h = (shape){1 + random_below(4), 65 + random_below(80), 1 + random_below(66), 0, {0}, {0}};
    const bool sticks = random_below(8) == 0 && 1024 / d.bits * h.outer * s.bits < 4096;
    if (sticks) h = (shape){h.outer, 62 + random_below(20), 1024 / d.bits, 0, {0}, {0}};
    if (!sticks && random_below(3) == 0 && h.cols * d.bits % 8 == 0)
        h.tail = random_below(3) == 0 ? random_below(200) : 64 - h.cols % 64;
    h.dst = random_side(h.outer, h.rows, ((h.cols + h.tail) * d.bits + 7) / 8, false);
    h.src = random_side(h.outer, h.rows, (h.cols * s.bits + 7) / 8, true);
    return h;
}

/* What should be at want (same offsets as dst), by the definition. */
static void expect(uint8_t *want, const uint8_t *src, const shape *h, tg_encoding d, tg_encoding s,
                   const uint8_t *pad) {
    for (int64_t o = 0; o < h->outer; o++)
        for (int64_t r = 0; r < h->rows; r++) {
            uint8_t *const       to = want + h->dst.first + o * h->dst.outer + r * h->dst.row;
            const uint8_t *const from = src + h->src.first + o * h->src.outer + r * h->src.row;
            for (int64_t c = 0; c < h->cols; c++) {
                tg_word w;
                assert_true(tg_ref_convert(&w, d, s, tg_ref_load(from, c, s.bits)));
                tg_ref_store(to, c, d.bits, w);
            }
            for (int64_t c = 0; c < h->tail; c++)
                tg_ref_store(to, h->cols + c, d.bits, tg_ref_load(pad, 0, d.bits));
        }
}

static void check_block(guarded dst_room, guarded src_room, tg_encoding d, tg_encoding s) {
    static uint8_t want[ROOM], before[ROOM];
    uint8_t        pad[TG_PAD_PATTERN];
    const uint64_t seed = random_state;
    const shape    h = random_shape(d, s);
    const int64_t  anywhere = random_below(2) == 0 ? random_below(64) : random_below(8) * 8;
    assert_true(h.dst.bytes + 64 < ROOM && h.src.bytes < ROOM);
    uint8_t *const src = place(src_room, h.src.bytes, random_below(2) == 0);
    for (int64_t o = 0; o < h.outer; o++)
        for (int64_t r = 0; r < h.rows; r++)
            for (int64_t c = 0; c < h.cols; c++)
                put_fitting(src + h.src.first + o * h.src.outer + r * h.src.row, c, d, s);
    const tg_word element = {random_bits(), random_bits()};
    for (int64_t i = 0; i < TG_PAD_PATTERN * 8 / d.bits; i++) tg_ref_store(pad, i, d.bits, element);
    for (int64_t i = 0; i < h.dst.bytes; i++) before[i] = want[i] = (uint8_t)random_bits();
    expect(want, src, &h, d, s, pad);
    const tg_block b = {h.outer,     h.rows,    h.cols, h.dst.outer, h.dst.row, d.bits / 8,
                        h.src.outer, h.src.row, s.bits / 8, h.tail, pad, TG_RAGGED_NOT, 0};
    for (int set = 0; set < SETS; set++)
        for (int way = 0; way < 4 && has(sets[set]); way++) {
            /* at a line, or at the end where the guard is, or anywhere in a line */
            uint8_t *const dst = place(dst_room, way == 1 ? (h.dst.bytes + 63) / 64 * 64 : h.dst.bytes,
                                       way == 1 || way == 2) + (way == 3 ? anywhere : 0);
            tg_mover       m;
            assert_true(tg_mover_convert(&m, d, s, sets[set], way < 2 || random_below(2) == 0, random_below(2) == 0));
            m.sparing = (h.dst.bytes + way) % 2 == 0; /* whatever this processor is */
            m.few_streams = (h.dst.bytes / 2 + way) % 2 == 0;
            m.claims = (m.stream || !m.far) && (h.dst.bytes / 4 + h.rows + way) % 2 == 0;
            memcpy(dst, before, (size_t)h.dst.bytes);
            assert_null(m.move(&m, dst + h.dst.first, src + h.src.first, &b));
            tg_stream_end();
            const int64_t i = first_difference(dst, want, h.dst.bytes);
            if (i < h.dst.bytes)
                fail_msg("%s %d/%d from %d/%d: seed %llu, %dx%dx%d+%d, stream %d, way %d: byte %d is %02x, want %02x",
                         m.name, (int)d.kind, d.bits, (int)s.kind, s.bits, (unsigned long long)seed, (int)h.outer,
                         (int)h.rows, (int)h.cols, (int)h.tail, m.stream, way, (int)i, dst[i], want[i]);
        }
}

static void test_blocks(void **state) {
    (void)state;
    const guarded dst = guarded_new(), src = guarded_new();
    for (int d = 0; d < ENCODINGS; d++)
        for (int s = 0; s < ENCODINGS; s++)
            for (int i = 0; i < 16 / SAMPLED && converts(encodings[d], encodings[s]); i++)
                check_block(dst, src, encodings[d], encodings[s]);
    guarded_free(dst);
    guarded_free(src);
}

/* ---- what does not fit ---- */

static const struct { tg_encoding to, from; uint64_t bad; } misfits[] = {
    {{TG_KIND_SINT, 32, 32}, {TG_KIND_SINT, 64, 64}, 0x80000000u},
    {{TG_KIND_SINT, 32, 32}, {TG_KIND_SINT, 64, 64}, 0xffffffff7fffffffu},
    {{TG_KIND_SINT, 32, 32}, {TG_KIND_SINT, 64, 64}, 0x8000000000000000u},
    {{TG_KIND_SINT, 32, 32}, {TG_KIND_UINT, 64, 64}, 0xffffffffffffffffu},
    {{TG_KIND_UINT, 32, 32}, {TG_KIND_SINT, 64, 64}, 0x100000000u},
    {{TG_KIND_UINT, 32, 32}, {TG_KIND_SINT, 64, 64}, 0xffffffffffffffffu},
    {{TG_KIND_UINT, 32, 32}, {TG_KIND_UINT, 64, 64}, 0x8000000000000000u},
    {{TG_KIND_UINT, 8, 8}, {TG_KIND_UINT, 32, 32}, 256},
    {{TG_KIND_UINT, 8, 8}, {TG_KIND_UINT, 32, 32}, 0x80000001u},
    {{TG_KIND_SINT, 16, 16}, {TG_KIND_SINT, 32, 32}, 0x8000u},
};

/* Two bad ones: the first in the order of the loops counts, wherever it is in memory. */
static void check_misfit(size_t k, uint32_t set, bool stream) {
    enum { OUTER = 3, ROWS = 5, MOST = 70 };
    static uint8_t    src[OUTER * ROWS * MOST * 8], dst[OUTER * ROWS * MOST * 8 + 64];
    const int64_t     cols = random_below(2) == 0 ? 64 : MOST, N = OUTER * ROWS * cols;
    const tg_encoding to = misfits[k].to, from = misfits[k].from;
    const int64_t     size = from.bits / 8, out = to.bits / 8, a = random_below(N), c = random_below(N);
    const tg_block    b = {OUTER, ROWS, cols, cols * out, OUTER * cols * out, out, cols * size, OUTER * cols * size,
                           size, 0, NULL, TG_RAGGED_NOT, 0}; /* outer walks within a row of memory */
    tg_mover          m;
    memset(src, 0, sizeof src);
    const int64_t first = a < c ? a : c;
    int64_t       at = 0;
    for (int64_t i = 0; i < N; i++) {
        const int64_t o = i / (ROWS * cols), r = i / cols % ROWS, place_ = (r * OUTER + o) * cols + i % cols;
        if (i == a || i == c) tg_ref_store(src, place_, from.bits, (tg_word){misfits[k].bad, 0});
        if (i == first) at = place_;
    }
    assert_true(tg_mover_convert(&m, to, from, set, stream, false));
    assert_ptr_equal(m.move(&m, dst + random_below(64), src, &b), src + at * size);
    memset(src, 0, sizeof src);
    assert_null(m.move(&m, dst, src, &b));
}

/* The same in narrow rows with padding, which are converted side by side, out of one run of src or not. */
static void check_narrow_misfit(size_t k, uint32_t set, bool stream) {
    enum { ROWS = 700, MOST = 9, PITCH = 128 };
    static uint8_t    src[ROWS * MOST * 8], dst[ROWS * PITCH + 64];
    static const uint8_t pad[TG_PAD_PATTERN];
    const tg_encoding to = misfits[k].to, from = misfits[k].from;
    const int64_t     size = from.bits / 8, out = to.bits / 8, cols = 1 + random_below(MOST - 1);
    const int64_t     pitch = random_below(2) == 0 ? cols : MOST, a = random_below(ROWS * cols);
    const int64_t     at = (a / cols * pitch + a % cols) * size;
    const tg_block    b = {1, ROWS, cols, 0, PITCH, out, 0, pitch * size, size, PITCH / out - cols, pad,
                           TG_RAGGED_NOT, 0};
    tg_mover          m;
    memset(src, 0, sizeof src);
    assert_true(tg_mover_convert(&m, to, from, set, stream, false));
    assert_null(m.move(&m, dst + random_below(64), src, &b));
    tg_ref_store(src, at / size, from.bits, (tg_word){misfits[k].bad, 0});
    assert_ptr_equal(m.move(&m, dst + random_below(64), src, &b), src + at);
}

static void test_misfits(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof misfits / sizeof misfits[0]; k++)
        for (int set = 0; set < SETS; set++)
            for (int i = 0; i < 40 && has(sets[set]); i++) {
                check_misfit(k, sets[set], i % 2 == 0);
                check_narrow_misfit(k, sets[set], i % 2 == 0);
            }
}

/* Numbers at the ends of what 0 to 63 bits hold, cut to so many bits. */
static int64_t edges(uint64_t *out, int32_t bits) {
    const uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
    int64_t        n = 0;
    for (int k = 0; k < 64; k++)
        for (int more = -1; more <= 1; more++) {
            out[n++] = (((uint64_t)1 << k) + (uint64_t)more) & mask;
            out[n++] = (0 - ((uint64_t)1 << k) + (uint64_t)more) & mask;
        }
    return n;
}

/* One number that does not fit, anywhere among zeros. */
static void check_one_misfit(tg_encoding d, tg_encoding s, uint64_t value) {
    enum { N = 192 };
    static uint8_t src[N * 8], dst[N * 8] __attribute__((aligned(64)));
    const tg_block b = {1, 1, N, 0, 0, d.bits / 8, 0, 0, s.bits / 8, 0, NULL, TG_RAGGED_NOT, 0};
    for (int set = 0; set < SETS; set++)
        for (int stream = 0; stream < 2 && has(sets[set]); stream++) {
            const int64_t at = random_below(N);
            tg_mover      m;
            memset(src, 0, sizeof src);
            tg_ref_store(src, at, s.bits, (tg_word){value, 0});
            assert_true(tg_mover_convert(&m, d, s, sets[set], stream != 0, false));
            assert_ptr_equal(m.move(&m, dst, src, &b), src + at * s.bits / 8);
            tg_stream_end();
        }
}

static void check_integers(tg_encoding d, tg_encoding s) {
    enum { EDGES = 64 * 6, N = 4 * EDGES };
    static uint8_t src[N * 8];
    uint64_t       values[EDGES], fits[EDGES];
    const int64_t  n = edges(values, s.bits);
    int64_t        n_fits = 0;
    for (int64_t i = 0; i < n; i++) {
        tg_word    w;
        const bool fit = tg_ref_convert(&w, d, s, (tg_word){values[i], 0});
        if (fit) fits[n_fits++] = values[i];
        else if (s.bits >= 8) check_one_misfit(d, s, values[i]);
    }
    for (int64_t i = 0; i < N; i++) tg_ref_store(src, i, s.bits, (tg_word){fits[random_below(n_fits)], 0});
    check_values(d, s, src, N);
}

static bool is_integer(tg_encoding e) { return e.kind == TG_KIND_SINT || e.kind == TG_KIND_UINT; }

static bool is_whole_integer(tg_encoding e) { return is_integer(e) && e.bits >= 8 && e.value_bits == e.bits; }

static void test_integers(void **state) {
    (void)state;
    for (int d = 0; d < ENCODINGS; d++)
        for (int s = 0; s < ENCODINGS; s++)
            if (is_integer(encodings[d]) && is_integer(encodings[s])) check_integers(encodings[d], encodings[s]);
}

/* ---- names ---- */

/* What must be fast has a loop of its own. */
static void test_fast_pairs(void **state) {
    (void)state;
    const uint32_t cpu = tg_cpu_features();
    for (int d = 0; d < 6; d++)
        for (int s = 0; s < 6; s++) {
            tg_mover plain, fast;
            assert_true(tg_mover_convert(&plain, encodings[d], encodings[s], 0, false, false));
            assert_true(tg_mover_convert(&fast, encodings[d], encodings[s], cpu, true, true));
            assert_string_equal(plain.name, "convert plain");
            assert_true((strcmp(fast.name, plain.name) != 0) == (d != s && cpu != 0));
            assert_true(fast.stream && fast.far && !plain.stream && !plain.far);
            assert_int_equal(fast.dst_width, encodings[d].bits / 8);
        }
    for (int d = 0; d < ENCODINGS; d++)
        for (int s = 0; s < ENCODINGS; s++) {
            tg_mover m;
            if (!is_whole_integer(encodings[d]) || !is_whole_integer(encodings[s])) continue;
            const bool same = encodings[d].bits == encodings[s].bits && encodings[d].kind == encodings[s].kind;
            assert_true(tg_mover_convert(&m, encodings[d], encodings[s], cpu, false, false));
            assert_true((strcmp(m.name, "convert plain") != 0) == (!same && cpu != 0));
        }
    assert_false(converts((tg_encoding){TG_KIND_F16, 16, 16}, (tg_encoding){TG_KIND_SINT, 8, 8}));
    assert_false(converts((tg_encoding){TG_KIND_NONE, 16, 0}, (tg_encoding){TG_KIND_F16, 16, 16}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_float), cmocka_unit_test(test_float32),    cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_misfits),           cmocka_unit_test(test_integers),   cmocka_unit_test(test_fast_pairs),
    };
    const char *const given = getenv("TG_SEED");
    random_state = given != NULL ? (uint64_t)strtoull(given, NULL, 0) : 20260803;
    print_message("TG_SEED=%llu\n", (unsigned long long)random_state);
    return cmocka_run_group_tests_name("convert", tests, NULL, NULL);
}
