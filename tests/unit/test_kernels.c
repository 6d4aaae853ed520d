/* Kernels against definitions that are written here in other ways: floats by double arithmetic, moves
 * element by element with the loads and stores of ref.c, which have tests of their own. */
#include "kernels/kernels.h"
#include "kernels/stream.h"
#include "random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- floats by double arithmetic ---- */

typedef struct spec {
    tg_kind kind;
    int     bits, fraction, bias, last; /* last exponent code */
} spec;

static const spec specs[] = {
    {TG_KIND_F16, 16, 10, 15, 31},   {TG_KIND_BF16, 16, 7, 127, 255}, {TG_KIND_F32, 32, 23, 127, 255},
    {TG_KIND_DLF16, 16, 9, 31, 63},  {TG_KIND_F8E4M3FN, 8, 3, 7, 15}, {TG_KIND_F8E5M2, 8, 2, 15, 31},
};
enum { SPECS = sizeof specs / sizeof specs[0] };

static const spec *spec_of(tg_kind kind) {
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        if (specs[i].kind == kind) return &specs[i];
    return NULL;
}

static double value_of(const spec *f, uint32_t bits) {
    const uint32_t exponent = bits >> f->fraction & (uint32_t)f->last, fraction = bits & ((1u << f->fraction) - 1);
    const double   sign = bits >> (f->bits - 1) & 1 ? -1.0 : 1.0;
    const double   mantissa = (double)fraction / (double)(1u << f->fraction);
    if (f->kind == TG_KIND_DLF16) {
        if (exponent == 63 && fraction == 511) return copysign((double)NAN, sign);
        if (exponent == 0 && fraction == 0) return sign * 0.0;
        return sign * ldexp(1.0 + mantissa, (int)exponent - 31);
    }
    if (f->kind == TG_KIND_F8E4M3FN && exponent == 15)
        return fraction == 7 ? copysign((double)NAN, sign) : sign * ldexp(1.0 + mantissa, 15 - f->bias);
    if (exponent == (uint32_t)f->last) return fraction == 0 ? sign * (double)INFINITY : copysign((double)NAN, sign);
    if (exponent == 0) return sign * ldexp(mantissa, 1 - f->bias);
    return sign * ldexp(1.0 + mantissa, (int)exponent - f->bias);
}

static uint32_t sign_of(const spec *f, double v) { return signbit(v) ? 1u << (f->bits - 1) : 0; }

static uint32_t dlf16_of(double v) {
    const uint32_t sign = signbit(v) ? 0x8000u : 0;
    if (!isfinite(v)) return sign | 0x7fffu;
    if (v == 0) return sign;
    int          e;
    const double m = frexp(fabs(v), &e); /* in [0.5, 1): exponent e - 1 */
    double       q = floor(ldexp(m, 10) + 0.5);
    e--;
    if (q == 1024) {
        q = 512;
        e++;
    }
    if (e < -31) return sign;
    const double code = (e + 31) * 512.0 + (q - 512);
    return sign | (code >= 0x7fff ? 0x7fffu : (uint32_t)code);
}

/* NaNs are judged apart. nearbyint rounds halves to even. f8e4m3fn has its NaN for infinity. */
static uint32_t ieee_of(const spec *f, double v) {
    const uint32_t infinity = ((uint32_t)f->last << f->fraction) + (f->kind == TG_KIND_F8E4M3FN ? 7 : 0);
    if (isinf(v)) return sign_of(f, v) | infinity;
    int e;
    (void)frexp(v, &e);
    int exponent = v == 0 ? 1 : e - 1 + f->bias;
    if (exponent < 1) exponent = 1;
    const double   ulp = ldexp(1.0, exponent - f->bias - f->fraction), q = nearbyint(fabs(v) / ulp);
    const double   code = (exponent - 1) * ldexp(1.0, f->fraction) + q;
    return sign_of(f, v) | (code > infinity ? infinity : (uint32_t)code);
}

static uint32_t expected_float(const spec *to, const spec *from, uint32_t bits) {
    const double v = value_of(from, bits);
    if (to->kind == TG_KIND_DLF16) return dlf16_of(v);
    if (!isnan(v)) return ieee_of(to, v);
    if (to->kind == TG_KIND_F32 && from->kind == TG_KIND_BF16) return bits << 16;
    if (to->kind == TG_KIND_F8E4M3FN) return sign_of(to, v) | 0x7f;
    const uint32_t quiet = (uint32_t)to->last << to->fraction | 1u << (to->fraction - 1);
    if (from->kind == TG_KIND_DLF16 || from->kind == TG_KIND_F8E4M3FN) return sign_of(to, v) | quiet;
    const uint32_t payload = bits & ((1u << from->fraction) - 1);
    const int      up = to->fraction - from->fraction;
    return sign_of(to, v) | quiet | (up >= 0 ? payload << up : payload >> -up);
}

static tg_encoding float_encoding(tg_kind kind) {
    const int32_t     bits = spec_of(kind)->bits;
    const tg_encoding e = {kind, bits, bits};
    return e;
}

static void check_floats(const spec *to, const spec *from, const uint32_t *in, int64_t n) {
    tg_kernel         k;
    const tg_encoding d = float_encoding(to->kind), s = float_encoding(from->kind);
    uint8_t *const    src = malloc((size_t)(n * 4 + 8)), *const dst = malloc((size_t)(n * 4 + 8));
    assert_true(tg_kernel_convert(&k, d, s));
    for (int64_t i = 0; i < n; i++) tg_ref_store(src, i, s.bits, (tg_word){in[i], 0});
    const tg_rect r = {1, n, {0, 0, 1}, {0, 0, 1}};
    assert_int_equal(k.move(&k, dst, src, &r), -1);
    for (int64_t i = 0; i < n; i++) {
        const uint32_t want = expected_float(to, from, in[i]), got = (uint32_t)tg_ref_load(dst, i, d.bits).lo;
        tg_word        ref;
        assert_true(tg_ref_convert(&ref, d, s, (tg_word){in[i], 0}));
        if (got != want || ref.lo != want)
            fail_msg("kind %d to %d: %08x gives %08x, ref %08x, want %08x", (int)from->kind, (int)to->kind, in[i], got,
                     (uint32_t)ref.lo, want);
    }
    free(src);
    free(dst);
}

static void test_every_small_float(void **state) {
    (void)state;
    enum { N = 65536 };
    static uint32_t in[N];
    for (uint32_t i = 0; i < N; i++) in[i] = i;
    for (size_t f = 0; f < SPECS; f++)
        for (size_t t = 0; t < SPECS; t++)
            if (f != t && specs[f].bits < 32) check_floats(&specs[t], &specs[f], in, specs[f].bits == 8 ? 256 : N);
}

/* The ends of f8e4m3fn and f8e5m2 in numbers, to judge what judges. Source: the OCP 8-bit floating point paper. */
static void test_fp8_vectors(void **state) {
    (void)state;
    static const struct { tg_kind kind; uint32_t code; double value; } decode[] = {
        {TG_KIND_F8E4M3FN, 0x7e, 448.0},  {TG_KIND_F8E4M3FN, 0x08, 0x1p-6},  {TG_KIND_F8E4M3FN, 0x07, 0.875 * 0x1p-6},
        {TG_KIND_F8E4M3FN, 0x01, 0x1p-9}, {TG_KIND_F8E4M3FN, 0x38, 1.0},     {TG_KIND_F8E5M2, 0x7b, 57344.0},
        {TG_KIND_F8E5M2, 0x04, 0x1p-14},  {TG_KIND_F8E5M2, 0x03, 0x1.8p-15}, {TG_KIND_F8E5M2, 0x01, 0x1p-16},
    };
    static const struct { tg_kind kind; double value; uint32_t code; } encode[] = {
        {TG_KIND_F8E4M3FN, 464.0, 0x7e},   {TG_KIND_F8E4M3FN, 465.0, 0x7f},       {TG_KIND_F8E4M3FN, 1e30, 0x7f},
        {TG_KIND_F8E4M3FN, 0x1p-10, 0x00}, {TG_KIND_F8E4M3FN, 0x1.8p-9, 0x02},    {TG_KIND_F8E4M3FN, -0.0, 0x80},
        {TG_KIND_F8E5M2, 61439.0, 0x7b},   {TG_KIND_F8E5M2, 61440.0, 0x7c},       {TG_KIND_F8E5M2, 0x1p-17, 0x00},
    };
    for (size_t i = 0; i < sizeof decode / sizeof decode[0]; i++) {
        assert_true(value_of(spec_of(decode[i].kind), decode[i].code) == decode[i].value);
        check_floats(spec_of(TG_KIND_F32), spec_of(decode[i].kind), &decode[i].code, 1);
    }
    for (size_t i = 0; i < sizeof encode / sizeof encode[0]; i++) {
        const float value = (float)encode[i].value;
        uint32_t    bits;
        memcpy(&bits, &value, sizeof bits);
        assert_int_equal(expected_float(spec_of(encode[i].kind), spec_of(TG_KIND_F32), bits), encode[i].code);
        check_floats(spec_of(encode[i].kind), spec_of(TG_KIND_F32), &bits, 1);
    }
}

/* Around every boundary of the upper half: where halves, carries and limits lie. */
static void test_float32(void **state) {
    (void)state;
    enum { N = 65536 };
    static const uint32_t low[] = {0,      1,      0x0fff, 0x1000, 0x1001, 0x1fff, 0x2000,
                                   0x2001, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff};
    static uint32_t       in[N];
    for (size_t k = 0; k <= sizeof low / sizeof low[0]; k++) {
        const bool fixed = k < sizeof low / sizeof low[0];
        for (uint32_t i = 0; i < N; i++) in[i] = i << 16 | (fixed ? low[k] : (uint32_t)random_bits() & 0xffff);
        for (size_t t = 0; t < SPECS; t++)
            if (specs[t].kind != TG_KIND_F32) check_floats(&specs[t], spec_of(TG_KIND_F32), in, N);
    }
}

/* Source: docs/sources.md, DLFloat16; the same rows are in tests/spec/spyre_layouts.json. */
static void test_dlfloat16_vectors(void **state) {
    (void)state;
    static const struct { uint32_t f32, dlf16; } encode[] = {
        {0x00000000, 0x0000}, {0x3f800000, 0x3e00}, {0x3f000000, 0x3c00}, {0x3eaaaaab, 0x3aab}, {0x3727c5ac, 0x1c9f},
        {0x4e6e6b28, 0x79ba}, {0x4fffb434, 0x7fff}, {0x7f800000, 0x7fff}, {0x7fc00000, 0x7fff}, {0x30004000, 0x0001},
        {0x2f800000, 0x0000}, {0x38800000, 0x2200}, {0x3f802000, 0x3e01}, {0x3f806000, 0x3e02}, {0x437fc000, 0x4dff},
    };
    static const struct { uint32_t dlf16; double value; } decode[] = {
        {0x0000, 0.0}, {0x0001, 4.665707820095122e-10}, {0x01ff, 9.304130799137056e-10}, {0x3e00, 1.0}, {0x3c00, 0.5},
        {0x7ffe, 8573157376.0}, {0x7fff, (double)NAN}, {0x7e00, 4294967296.0},
    };
    const spec *const dl = spec_of(TG_KIND_DLF16), *const f32 = spec_of(TG_KIND_F32);
    for (size_t i = 0; i < sizeof encode / sizeof encode[0]; i++) {
        assert_int_equal(expected_float(dl, f32, encode[i].f32), encode[i].dlf16);
        check_floats(dl, f32, &encode[i].f32, 1);
    }
    for (size_t i = 0; i < sizeof decode / sizeof decode[0]; i++) {
        const double v = value_of(dl, decode[i].dlf16);
        assert_true(isnan(v) ? isnan(decode[i].value) : v == decode[i].value);
        check_floats(f32, dl, &decode[i].dlf16, 1);
    }
}

/* A block of 64 is done again when it meets a subnormal: one at every place, and none. */
static void test_rare_blocks(void **state) {
    (void)state;
    uint32_t in[200];
    for (int place = -1; place < 200; place++) {
        for (int i = 0; i < 200; i++) in[i] = i == place ? 0x0123u : (uint32_t)random_bits() & 0xffffu;
        check_floats(spec_of(TG_KIND_DLF16), spec_of(TG_KIND_F16), in, 200);
        check_floats(spec_of(TG_KIND_F16), spec_of(TG_KIND_DLF16), in, 200);
    }
}

/* ---- every pair of encodings, every shape of rectangle ---- */

static const tg_encoding encodings[] = {
    {TG_KIND_BITS, 1, 1},     {TG_KIND_BITS, 2, 2},    {TG_KIND_BITS, 4, 4},   {TG_KIND_BITS, 8, 4},
    {TG_KIND_BITS, 8, 8},     {TG_KIND_BITS, 16, 16},  {TG_KIND_BITS, 32, 32}, {TG_KIND_BITS, 64, 64},
    {TG_KIND_BITS, 128, 128}, {TG_KIND_SINT, 1, 1},    {TG_KIND_SINT, 8, 1},   {TG_KIND_SINT, 2, 2},
    {TG_KIND_SINT, 8, 2},     {TG_KIND_SINT, 4, 4},    {TG_KIND_SINT, 8, 4},   {TG_KIND_SINT, 8, 8},
    {TG_KIND_SINT, 16, 16},   {TG_KIND_SINT, 32, 32},  {TG_KIND_SINT, 64, 64}, {TG_KIND_UINT, 1, 1},
    {TG_KIND_UINT, 2, 2},     {TG_KIND_UINT, 4, 4},    {TG_KIND_UINT, 8, 4},   {TG_KIND_UINT, 8, 8},
    {TG_KIND_UINT, 32, 32},   {TG_KIND_UINT, 64, 64},  {TG_KIND_BOOL, 1, 1},   {TG_KIND_BOOL, 8, 1},
    {TG_KIND_BOOL, 16, 1},    {TG_KIND_BOOL, 32, 1},   {TG_KIND_F16, 16, 16},  {TG_KIND_BF16, 16, 16},
    {TG_KIND_F32, 32, 32},    {TG_KIND_DLF16, 16, 16}, {TG_KIND_F8E4M3FN, 8, 8}, {TG_KIND_F8E5M2, 8, 8},
};
enum { ENCODINGS = sizeof encodings / sizeof encodings[0], ARENA = 1 << 15, MARGIN = 64 };

/* Steps for rows lines of cols elements that do not meet, and the number of elements they reach over. */
static int64_t random_line(tg_line *line, int64_t rows, int64_t cols) {
    const int64_t gap = random_below(3) == 0 ? 1 + random_below(3) : 1;
    line->first = random_below(9);
    if (random_below(2) == 0) {
        line->col = gap;
        line->row = cols * gap + random_below(5);
        return line->first + rows * line->row;
    }
    line->row = gap;
    line->col = rows * gap + random_below(5);
    return line->first + cols * line->col;
}

static tg_word fitting(tg_encoding to, tg_encoding from) {
    for (;;) {
        const tg_word any = {random_bits(), random_bits()};
        uint8_t       cell[16] = {0};
        tg_word       w, out;
        tg_ref_store(cell, 0, from.bits, any);
        w = tg_ref_load(cell, 0, from.bits);
        if (random_below(4) == 0 && from.bits > 8) w.lo &= 0x3f;
        if (tg_ref_convert(&out, to, from, w)) return w;
    }
}

static void check_rect(tg_encoding d, tg_encoding s, int64_t rows, int64_t cols) {
    static uint8_t src[ARENA], dst[ARENA], want[ARENA];
    tg_kernel      k;
    tg_rect        r = {rows, cols, {0, 0, 0}, {0, 0, 0}};
    if (!tg_kernel_convert(&k, d, s)) return;
    k.stream = random_below(3) == 0;
    const int64_t shift = random_below(8), dst_n = random_line(&r.dst, rows, cols),
                  src_n = random_line(&r.src, rows, cols);
    assert_true((dst_n * d.bits + 7) / 8 + 2 * MARGIN < ARENA && (src_n * s.bits + 7) / 8 + 2 * MARGIN < ARENA);
    for (int64_t i = 0; i < src_n; i++) tg_ref_store(src + shift, i, s.bits, fitting(d, s));
    for (int64_t i = 0; i < ARENA; i++) dst[i] = want[i] = (uint8_t)random_bits();
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < cols; x++) {
            tg_word w;
            assert_true(tg_ref_convert(&w, d, s,
                                       tg_ref_load(src + shift, r.src.first + y * r.src.row + x * r.src.col, s.bits)));
            tg_ref_store(want + MARGIN + shift, r.dst.first + y * r.dst.row + x * r.dst.col, d.bits, w);
        }
    assert_int_equal(k.move(&k, dst + MARGIN + shift, src + shift, &r), -1);
    tg_stream_end();
    if (memcmp(dst, want, ARENA) != 0)
        fail_msg("%d/%d bits to %d/%d bits, %dx%d, dst %d+%d,%d src %d+%d,%d", (int)s.kind, s.bits, (int)d.kind, d.bits,
                 (int)rows, (int)cols, (int)r.dst.first, (int)r.dst.row, (int)r.dst.col, (int)r.src.first,
                 (int)r.src.row, (int)r.src.col);
}

static void test_every_pair(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{1, 1},   {1, 7},   {3, 64}, {2, 63}, {1, 65}, {5, 33},
                                       {1, 257}, {1, 512}, {0, 3},  {2, 0},  {4, 16}};
    for (int d = 0; d < ENCODINGS; d++)
        for (int s = 0; s < ENCODINGS; s++)
            for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
                if (encodings[d].bits + encodings[s].bits < 129 || sizes[i][1] < 100)
                    check_rect(encodings[d], encodings[s], sizes[i][0], sizes[i][1]);
    for (int i = 0; i < 3000; i++) {
        const tg_encoding e = encodings[random_below(ENCODINGS)];
        check_rect(e, e, 1 + random_below(5), 1 + random_below(40));
    }
}

static void test_no_such_pair(void **state) {
    (void)state;
    tg_kernel   k;
    tg_encoding f16 = {TG_KIND_F16, 16, 16}, s8 = {TG_KIND_SINT, 8, 8}, none = {TG_KIND_NONE, 16, 0},
                odd = {TG_KIND_BITS, 6, 6};
    assert_false(tg_kernel_convert(&k, f16, s8));
    assert_false(tg_kernel_convert(&k, s8, f16));
    assert_false(tg_kernel_convert(&k, none, f16));
    assert_false(tg_kernel_convert(&k, odd, odd));
    assert_false(tg_kernel_copy(&k, 24));
}

/* ---- integers out of range ---- */

static void test_range(void **state) {
    (void)state;
    static const struct { tg_encoding to, from; int64_t value; bool fits; } rows[] = {
        {{TG_KIND_SINT, 32, 32}, {TG_KIND_SINT, 64, 64}, INT32_MAX, true},
        {{TG_KIND_SINT, 32, 32}, {TG_KIND_SINT, 64, 64}, (int64_t)INT32_MAX + 1, false},
        {{TG_KIND_SINT, 32, 32}, {TG_KIND_SINT, 64, 64}, INT32_MIN, true},
        {{TG_KIND_SINT, 32, 32}, {TG_KIND_SINT, 64, 64}, (int64_t)INT32_MIN - 1, false},
        {{TG_KIND_SINT, 32, 32}, {TG_KIND_SINT, 64, 64}, INT64_MIN, false},
        {{TG_KIND_UINT, 32, 32}, {TG_KIND_SINT, 64, 64}, UINT32_MAX, true},
        {{TG_KIND_UINT, 32, 32}, {TG_KIND_SINT, 64, 64}, (int64_t)UINT32_MAX + 1, false},
        {{TG_KIND_UINT, 32, 32}, {TG_KIND_SINT, 64, 64}, -1, false},
        {{TG_KIND_UINT, 8, 8}, {TG_KIND_UINT, 32, 32}, 255, true},
        {{TG_KIND_UINT, 8, 8}, {TG_KIND_UINT, 32, 32}, 256, false},
        {{TG_KIND_SINT, 64, 64}, {TG_KIND_SINT, 32, 32}, INT32_MIN, true},
        {{TG_KIND_SINT, 32, 32}, {TG_KIND_UINT, 64, 64}, -1, false}, /* as bits: 2^64 - 1 */
        {{TG_KIND_SINT, 64, 64}, {TG_KIND_UINT, 64, 64}, INT64_MIN, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int64_t place = 0; place < 600; place += 37) {
            static uint8_t src[8 * 700], dst[8 * 700];
            tg_kernel      k;
            tg_word        w;
            const tg_rect  r = {2, 300, {0, 300, 1}, {0, 300, 1}};
            memset(src, 0, sizeof src);
            tg_ref_store(src, place, rows[i].from.bits, (tg_word){(uint64_t)rows[i].value, 0});
            assert_true(tg_kernel_convert(&k, rows[i].to, rows[i].from));
            assert_int_equal(k.move(&k, dst, src, &r), rows[i].fits ? -1 : place);
            assert_int_equal(tg_ref_convert(&w, rows[i].to, rows[i].from, tg_ref_load(src, place, rows[i].from.bits)),
                             rows[i].fits);
            assert_true(tg_ref_int(rows[i].from, tg_ref_load(src, place, rows[i].from.bits)) == rows[i].value);
        }
}

/* int4 keeps its value in wider and in packed stores; what an unpacked store has above it is ignored. */
static void test_nibbles(void **state) {
    (void)state;
    const tg_encoding packed = {TG_KIND_SINT, 4, 4}, bytes = {TG_KIND_SINT, 8, 4};
    const uint8_t     src[] = {0x21, 0x8f}, loose[] = {0x01, 0x12, 0xff, 0xf8};
    const uint8_t     want[] = {0x01, 0x02, 0xff, 0xf8};
    uint8_t           out[4];
    tg_kernel         k;
    const tg_rect     r = {1, 4, {0, 0, 1}, {0, 0, 1}};
    assert_true(tg_kernel_convert(&k, bytes, packed));
    assert_int_equal(k.move(&k, out, src, &r), -1);
    assert_memory_equal(out, want, 4);
    assert_true(tg_kernel_convert(&k, packed, bytes));
    assert_int_equal(k.move(&k, out, loose, &r), -1);
    assert_memory_equal(out, src, 2);
}

/* From f8e5m2 (to 57344, from 2^-16) to f8e4m3fn: what is above 464, and what is not above 2^-10. */
static void test_losses_of_bytes(void **state) {
    (void)state;
    const tg_encoding e4m3 = {TG_KIND_F8E4M3FN, 8, 8}, e5m2 = {TG_KIND_F8E5M2, 8, 8};
    uint8_t           codes[256];
    int64_t           over = 0, gone = 0, want_over = 0, want_gone = 0;
    tg_losses         losses;
    for (uint32_t i = 0; i < 256; i++) {
        const double m = fabs(value_of(spec_of(TG_KIND_F8E5M2), i));
        codes[i] = (uint8_t)i;
        want_over += isfinite(m) && m > 464;
        want_gone += m > 0 && m <= 0x1p-10;
    }
    assert_true(tg_losses_of(&losses, e4m3, e5m2));
    tg_losses_count(&over, &gone, &losses, codes, 0, 256);
    assert_true(over == want_over && gone == want_gone && over > 0 && gone > 0);
    assert_false(tg_losses_of(&losses, (tg_encoding){TG_KIND_F16, 16, 16}, e4m3));
    assert_false(tg_losses_of(&losses, e4m3, e4m3));
}

/* ---- loads, stores, filling, names ---- */

static void test_load_store(void **state) {
    (void)state;
    const uint8_t bytes[] = {0xb4, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07,
                             0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f};
    assert_int_equal(tg_ref_load(bytes, 2, 1).lo, 1);
    assert_int_equal(tg_ref_load(bytes, 3, 1).lo, 0);
    assert_int_equal(tg_ref_load(bytes, 1, 2).lo, 1);
    assert_int_equal(tg_ref_load(bytes, 0, 4).lo, 4);
    assert_int_equal(tg_ref_load(bytes, 1, 4).lo, 0xb);
    assert_int_equal(tg_ref_load(bytes, 1, 16).lo, 0x0302);
    assert_true(tg_ref_load(bytes, 0, 128).lo == 0x07060504030201b4u &&
                tg_ref_load(bytes, 0, 128).hi == 0x0f0e0d0c0b0a0908u);
    uint8_t copy[16] = {0};
    for (int64_t i = 0; i < 32; i++) tg_ref_store(copy, i, 4, tg_ref_load(bytes, i, 4));
    assert_memory_equal(copy, bytes, 16);
    tg_ref_store(copy, 0, 128, tg_ref_load(bytes, 0, 128));
    assert_memory_equal(copy, bytes, 16);
}

static void test_fill(void **state) {
    (void)state;
    static const int32_t widths[] = {1, 2, 4, 8, 16, 32, 64, 128};
    static uint8_t       got[1 << 15], want[1 << 15];
    for (size_t w = 0; w < 8; w++)
        for (int i = 0; i < 60; i++) {
            const int64_t first = random_below(20), n = i < 4 ? i : random_below(i < 50 ? 70 : 1500);
            uint8_t       element[16];
            for (int b = 0; b < 16; b++) element[b] = (uint8_t)random_bits();
            for (size_t b = 0; b < sizeof got; b++) got[b] = want[b] = (uint8_t)random_bits();
            for (int64_t k = 0; k < n; k++)
                tg_ref_store(want + 1, first + k, widths[w], tg_ref_load(element, 0, widths[w]));
            assert_true(tg_fill(got + 1, first, n, element, widths[w]));
            assert_memory_equal(got, want, sizeof got);
        }
    assert_false(tg_fill(got, 0, 1, got, 12));
}

static void test_encodings(void **state) {
    (void)state;
    static const struct { tg_dtype dtype; tg_format format; int32_t bits; tg_encoding want;
    } rows[] = {
        {TG_F16, TG_FORMAT_NATIVE, 16, {TG_KIND_F16, 16, 16}},
        {TG_F16, TG_SEN169_FP16, 16, {TG_KIND_DLF16, 16, 16}},
        {TG_F16, TG_FORMAT_NATIVE, 32, {TG_KIND_NONE, 32, 16}},
        {TG_S4, TG_FORMAT_NATIVE, 4, {TG_KIND_SINT, 4, 4}},
        {TG_S4, TG_FORMAT_NATIVE, 8, {TG_KIND_SINT, 8, 4}},
        {TG_PRED, TG_FORMAT_NATIVE, 32, {TG_KIND_BOOL, 32, 1}},
        {TG_PRED, TG_BOOL, 8, {TG_KIND_BOOL, 8, 1}},
        {TG_C128, TG_FORMAT_NATIVE, 128, {TG_KIND_BITS, 128, 128}},
        {TG_F4E2M1FN, TG_FORMAT_NATIVE, 4, {TG_KIND_BITS, 4, 4}},
        {TG_F32, TG_SENINT8, 8, {TG_KIND_NONE, 8, 0}},
        {TG_F8E4M3FN, TG_FORMAT_NATIVE, 8, {TG_KIND_F8E4M3FN, 8, 8}},
        {TG_F8E5M2, TG_FORMAT_NATIVE, 8, {TG_KIND_F8E5M2, 8, 8}},
        {TG_F8E5M2FNUZ, TG_FORMAT_NATIVE, 8, {TG_KIND_BITS, 8, 8}},
        {TG_F32, TG_SEN143_FP8, 8, {TG_KIND_F8E4M3FN, 8, 8}},
        {TG_U8, TG_SENUINT32, 32, {TG_KIND_UINT, 32, 32}},
        {TG_INVALID, TG_FORMAT_NATIVE, 8, {TG_KIND_NONE, 8, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tg_encoding e = tg_encoding_of(rows[i].dtype, rows[i].format, rows[i].bits);
        assert_int_equal(e.kind, rows[i].want.kind);
        if (e.kind != TG_KIND_NONE) assert_true(tg_encoding_same(e, rows[i].want));
    }
    /* Every format that Spyre gives a type is one that we convert to. */
    for (int t = 0; t < 40; t++) {
        const tg_format f = tg_format_for_dtype((tg_dtype)t);
        tg_kernel       k;
        if (f == TG_FORMAT_INVALID) continue;
        const tg_encoding native = tg_encoding_of((tg_dtype)t, TG_FORMAT_NATIVE, tg_dtype_storage_bits((tg_dtype)t));
        const tg_encoding device = tg_encoding_of((tg_dtype)t, f, tg_format_bits(f));
        assert_true(tg_kernel_convert(&k, device, native));
        assert_true(tg_kernel_convert(&k, native, device));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_float),
        cmocka_unit_test(test_float32),
        cmocka_unit_test(test_fp8_vectors),
        cmocka_unit_test(test_dlfloat16_vectors),
        cmocka_unit_test(test_rare_blocks),
        cmocka_unit_test(test_every_pair),
        cmocka_unit_test(test_no_such_pair),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_nibbles),
        cmocka_unit_test(test_losses_of_bytes),
        cmocka_unit_test(test_load_store),
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_encodings),
    };
    random_state = 20260801;
    return cmocka_run_group_tests_name("kernels", tests, NULL, NULL);
}
