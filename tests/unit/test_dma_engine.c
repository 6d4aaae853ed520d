/* Programs made to fit an engine. The judges are written here from the header alone: which elements a program moves, by
 * walking it; whether a descriptor keeps an engine's rules; and the fewest descriptors that cutting loops at any places
 * can give, by trying all of them. */
#include "random.h"

#include <tegula/transfer.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_OUT = 4096, MAX_PAIRS = 1 << 21 };

typedef struct pair {
    int64_t device, host;
} pair;

static pair   pairs[2][MAX_PAIRS];
static tg_dma fitted[MAX_OUT];

/* ---- which elements ---- */

static size_t walk(pair *out, size_t n, const tg_dma *dma, int32_t level, int64_t device, int64_t host) {
    if (level == dma->nloops) {
        assert_true(n < MAX_PAIRS);
        out[n] = (pair){device, host};
        return n + 1;
    }
    const tg_dma_loop *l = &dma->loop[level];
    for (int64_t i = 0; i < l->range; i++)
        n = walk(out, n, dma, level + 1, device + i * l->device_stride, host + i * l->host_stride);
    return n;
}

static int compare(const void *a, const void *b) {
    const pair *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->host > y->host) - (x->host < y->host);
}

static size_t list(pair *out, const tg_dma *program, size_t count) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n = walk(out, n, &program[i], 0, program[i].device_offset, program[i].host_offset);
    qsort(out, n, sizeof *out, compare);
    return n;
}

static bool moves_the_same(const tg_dma *a, size_t na, const tg_dma *b, size_t nb) {
    const size_t n = list(pairs[0], a, na);
    return list(pairs[1], b, nb) == n && memcmp(pairs[0], pairs[1], n * sizeof(pair)) == 0;
}

/* ---- the rules, a second time ---- */

static int64_t stride_on(const tg_dma_loop *l, bool is_device) { return is_device ? l->device_stride : l->host_stride; }

static bool is_multiple(int64_t elements, int32_t bits, int32_t bytes) {
    return bytes == 0 || elements * bits % (bytes * 8) == 0;
}

static bool is_block(const tg_dma *dma, bool is_device) {
    int64_t next = 1;
    for (int32_t i = dma->nloops; i-- > 0;) {
        if (dma->loop[i].range == 1) continue;
        if (stride_on(&dma->loop[i], is_device) != next) return false;
        next *= dma->loop[i].range;
    }
    return true;
}

static bool allows_loop(const tg_engine_side *r, int32_t slot, int64_t stride, int64_t range, int32_t bits) {
    const int32_t last = TG_ENGINE_MAX_LOOPS - 1, at = slot < 0      ? 0
                                                       : slot > last ? last
                                                                     : slot; /* for gcc: never below 0 */
    const int64_t most = r->max_range[at];
    const bool    counts_units = slot == 0 && r->run_unit != 0;
    if (most != 0 && range * (counts_units ? bits : 1) > most * (counts_units ? r->run_unit * 8 : 1)) return false;
    if (range == 1) return true;
    if (stride < 0 && r->strides != TG_STRIDES_ANY) return false;
    if (stride == 0 && r->strides == TG_STRIDES_POSITIVE) return false;
    if (stride == 0 && r->strides == TG_STRIDES_POSITIVE_OR_REPEAT && slot != r->max_loops - 1) return false;
    return r->max_stride == 0 || llabs(stride) * bits <= r->max_stride * 8;
}

/* The innermost loop: a run of neighbours where the unit is not one element. */
static bool allows_run(const tg_engine_side *r, int64_t stride, int64_t range, int32_t bits) {
    const bool is_run = stride == 1 || range == 1;
    if (!is_run && (r->unit_run || (r->run_unit != 0 && r->run_unit * 8 != bits))) return false;
    if (is_run) return is_multiple(range, bits, r->granule);
    return is_multiple(1, bits, r->granule) && is_multiple(stride, bits, r->granule);
}

static bool allows(const tg_engine_side *r, const tg_dma *dma, bool is_device, int32_t bits) {
    int64_t all = 1, counted = 1;
    if (!is_multiple(is_device ? dma->device_offset : dma->host_offset, bits, r->alignment)) return false;
    for (int32_t i = 0; i < dma->nloops; i++) {
        all *= dma->loop[i].range;
        if (r->length_loops == 0 || dma->nloops - i <= r->length_loops) counted *= dma->loop[i].range;
    }
    if (r->dense && !is_block(dma, is_device)) return false;
    if (r->linear && is_block(dma, is_device))
        return is_multiple(all, bits, r->granule) && (r->max_bytes == 0 || all * bits <= r->max_bytes * 8);
    if (r->max_loops != 0 && dma->nloops > r->max_loops) return false;
    if (r->max_bytes != 0 && counted * bits > r->max_bytes * 8) return false;
    if (dma->nloops == 0) return allows_run(r, 1, 1, bits) && allows_loop(r, 0, 1, 1, bits);
    for (int32_t i = 0; i < dma->nloops; i++) {
        const tg_dma_loop *l = &dma->loop[i];
        const int64_t      stride = stride_on(l, is_device);
        const int32_t      slot = dma->nloops - 1 - i;
        if (slot == 0 && !allows_run(r, stride, l->range, bits)) return false;
        if (slot > 0 && l->range > 1 && !is_multiple(stride, bits, r->granule)) return false;
        if (!allows_loop(r, slot, stride, l->range, bits)) return false;
    }
    return true;
}

static bool fits(const tg_dma *dma, const tg_engine *e, int32_t device_bits, int32_t host_bits) {
    return allows(&e->device, dma, true, device_bits) && allows(&e->host, dma, false, host_bits);
}

/* ---- the fewest descriptors, by trying all ---- */

enum { LOOPS = 3, MAX_RANGE = 8, NEVER = 1 << 20 };

typedef struct question {
    const tg_engine *engine;
    int32_t          device_bits, host_bits;
    tg_dma           dma;
    int              known[MAX_RANGE + 1][MAX_RANGE + 1][MAX_RANGE + 1];
} question;

/* Any loops in any order, factored in any way, with loops of one step between them. */
static bool can_place(const question *q, const tg_dma_loop *left, tg_dma *nest, int32_t room) {
    bool is_done = true;
    for (int32_t i = 0; i < q->dma.nloops; i++) is_done &= left[i].range == 1;
    if (is_done && fits(nest, q->engine, q->device_bits, q->host_bits)) return true;
    if (is_done || room == 0) return false;
    tg_dma wider = *nest;
    for (int32_t i = 0; i < nest->nloops; i++) wider.loop[i + 1] = nest->loop[i];
    wider.nloops++;
    for (int32_t i = -1; i < q->dma.nloops; i++)
        for (int64_t f = 2; f <= (i < 0 ? 2 : left[i].range); f++) {
            tg_dma_loop rest[LOOPS];
            memcpy(rest, left, sizeof rest);
            wider.loop[0] = (tg_dma_loop){1, 0, 0, -1, -1, 0};
            if (i >= 0) {
                if (left[i].range % f != 0) continue;
                wider.loop[0] = left[i];
                wider.loop[0].range = f;
                rest[i].range /= f;
                rest[i].device_stride *= f;
                rest[i].host_stride *= f;
            }
            if (can_place(q, rest, &wider, room - 1)) return true;
        }
    return false;
}

static bool can_place_turned(const question *q, int32_t i) {
    if (i < q->dma.nloops) {
        question      turned = *q;
        tg_dma_loop  *l = &turned.dma.loop[i];
        if (can_place_turned(q, i + 1)) return true;
        if (l->device_stride >= 0 && l->host_stride >= 0) return false;
        turned.dma.device_offset += (l->range - 1) * l->device_stride;
        turned.dma.host_offset += (l->range - 1) * l->host_stride;
        l->device_stride = -l->device_stride;
        l->host_stride = -l->host_stride;
        return can_place_turned(&turned, i + 1);
    }
    tg_dma        nest = {0, q->dma.device_offset, q->dma.host_offset, {{0}}};
    const int32_t device = q->engine->device.max_loops, host = q->engine->host.max_loops;
    int32_t       room = q->dma.nloops + 2;
    if (device != 0 && !q->engine->device.linear && device < room) room = device;
    if (host != 0 && !q->engine->host.linear && host < room) room = host;
    return can_place(q, q->dma.loop, &nest, room);
}

static bool can_begin(const question *q, const tg_dma_loop *l, int64_t m) {
    return is_multiple(m * l->device_stride, q->device_bits, q->engine->device.alignment) &&
           is_multiple(m * l->host_stride, q->host_bits, q->engine->host.alignment);
}

static int count_fewest(question *q) {
    int64_t r[LOOPS] = {1, 1, 1};
    for (int32_t i = 0; i < q->dma.nloops; i++) r[i] = q->dma.loop[i].range;
    int *known = &q->known[r[0]][r[1]][r[2]];
    if (*known != 0) return *known;
    int fewest = can_place_turned(q, 0) ? 1 : NEVER;
    for (int32_t i = 0; i < q->dma.nloops && fewest > 1; i++)
        for (int64_t m = 1; m < r[i]; m++) {
            if (!can_begin(q, &q->dma.loop[i], m)) continue;
            q->dma.loop[i].range = m;
            const int a = count_fewest(q);
            q->dma.loop[i].range = r[i] - m;
            const int b = count_fewest(q);
            q->dma.loop[i].range = r[i];
            if (a + b < fewest) fewest = a + b;
        }
    return *known = fewest;
}

/* ---- random questions ---- */

static int64_t one_of(const int64_t *values, size_t n) { return values[random_below((int64_t)n)]; }
#define ONE_OF(...) one_of((const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static tg_engine_side random_side(void) {
    tg_engine_side s = {0};
    s.max_loops = (int32_t)ONE_OF(0, 1, 2, 2, 3, 3, 4);
    for (int32_t i = 0; i < TG_ENGINE_MAX_LOOPS; i++) s.max_range[i] = ONE_OF(0, 0, 0, 2, 3, 4, 5, 6);
    s.run_unit = (int32_t)ONE_OF(0, 0, 0, 1, 2, 4);
    s.max_stride = ONE_OF(0, 0, 0, 8, 12, 30);
    s.max_bytes = ONE_OF(0, 0, 0, 8, 24, 60);
    s.length_loops = (int32_t)ONE_OF(0, 0, 1, 2);
    s.granule = (int32_t)ONE_OF(0, 0, 0, 2, 4);
    s.alignment = (int32_t)ONE_OF(0, 0, 0, 1, 2, 4);
    s.strides = (tg_engine_strides)ONE_OF(TG_STRIDES_ANY, TG_STRIDES_ANY, TG_STRIDES_POSITIVE,
                                          TG_STRIDES_POSITIVE_OR_REPEAT);
    s.unit_run = random_below(4) == 0;
    s.dense = random_below(6) == 0;
    s.linear = random_below(6) == 0;
    return s;
}

static void random_descriptor(tg_dma *dma, int64_t max_range) {
    memset(dma, 0, sizeof *dma);
    dma->nloops = (int32_t)random_below(LOOPS + 1);
    dma->device_offset = ONE_OF(100, 100, 100, 104, 102, 101);
    dma->host_offset = ONE_OF(100, 100, 100, 104, 102, 101);
    int64_t device = 1, host = 1;
    for (int32_t i = dma->nloops; i-- > 0;) {
        const int64_t range = 1 + random_below(max_range);
        dma->loop[i] = (tg_dma_loop){range, ONE_OF(device, device, 1, 2, 4, 6, -1, -2, 0),
                                     ONE_OF(host, host, 1, 2, 4, 8, 9, -1, 0), -1, -1, 0};
        device *= range;
        host *= range + random_below(2);
    }
}

static const char *show(const tg_dma *dma) {
    static char text[512];
    (void)tg_dma_format(text, sizeof text, dma);
    return text;
}

static void put_side(char *buf, size_t cap, const tg_engine_side *s, int32_t bits) {
    (void)snprintf(
        buf, cap, "%d bits loops %d range %d %d %d %d unit %d stride %d bytes %d/%d granule %d align %d sign %d%s%s%s",
        bits, s->max_loops, (int)s->max_range[0], (int)s->max_range[1], (int)s->max_range[2], (int)s->max_range[3],
        s->run_unit, (int)s->max_stride, (int)s->max_bytes, s->length_loops, s->granule, s->alignment, (int)s->strides,
        s->unit_run ? " unit" : "", s->dense ? " dense" : "", s->linear ? " linear" : "");
}

static const char *show_engine(const question *q) {
    static char text[1024];
    char        device[400], host[400];
    put_side(device, sizeof device, &q->engine->device, q->device_bits);
    put_side(host, sizeof host, &q->engine->host, q->host_bits);
    (void)snprintf(text, sizeof text, "\n  device: %s\n  host: %s", device, host);
    return text;
}

static void test_random(void **unused) {
    const uint64_t seed = 20261122;
    int            refused = 0, cut = 0, excess = 0, fewest = 0;
    (void)unused;
    for (int round = 0; round < 2000; round++) {
        question  q;
        tg_engine e = {.name = "small", .device = random_side(), .host = random_side()};
        size_t    count = 0;
        tg_error  err;
        random_state = seed + (uint64_t)round;
        e.device = random_side();
        e.host = random_side();
        random_descriptor(&q.dma, MAX_RANGE);
        q.engine = &e;
        q.device_bits = (int32_t)ONE_OF(8, 16, 16, 32, 4, 64, 24);
        q.host_bits = (int32_t)ONE_OF(8, 16, 16, 32, 4, 64, 24);
        memset(q.known, 0, sizeof q.known);
        const tg_dma    before = q.dma;
        const tg_status as_is = tg_engine_check(&before, 1, &e, q.device_bits, q.host_bits, &err);
        if ((as_is == TG_OK) != fits(&before, &e, q.device_bits, q.host_bits))
            fail_msg("round %d: check says %s of %s", round, as_is == TG_OK ? "yes" : err.message, show(&before));
        const tg_status s =
            tg_engine_fit(fitted, MAX_OUT, &count, &before, 1, &e, q.device_bits, q.host_bits, &err);
        const int best = count_fewest(&q);
        if (s != TG_OK) {
            if (s != TG_ERR_UNREPRESENTABLE || best < NEVER)
                fail_msg("round %d: %s needs %d descriptors, but: %s%s", round, show(&before), best, err.message,
                         show_engine(&q));
            refused++;
            continue;
        }
        assert_true(count <= MAX_OUT);
        for (size_t i = 0; i < count; i++)
            if (!fits(&fitted[i], &e, q.device_bits, q.host_bits))
                fail_msg("round %d: %s breaks a rule", round, show(&fitted[i]));
        if (tg_engine_check(fitted, count, &e, q.device_bits, q.host_bits, &err) != TG_OK)
            fail_msg("round %d: %s", round, err.message);
        if (!moves_the_same(&before, 1, fitted, count)) fail_msg("round %d: %s moves others", round, show(&before));
        if (as_is == TG_OK) assert_true(count == 1 && memcmp(fitted, &before, sizeof before) == 0);
        cut += count > 1;
        if ((int)count < best) continue; /* loops that are one: the judge does not fuse them */
        excess += (int)count - best;
        fewest += best;
    }
    /* what the search finds today: half are impossible, a quarter need several descriptors, 0.3 % of which are too many
     */
    if (refused < 900 || cut < 500 || excess > fewest / 250)
        fail_msg("%d refused, %d cut, %d of %d descriptors too many", refused, cut, excess, fewest);
}

/* ---- every program of two loops on every engine of two slots ---- */

static const tg_engine *small_engine(tg_engine *e, int n) {
    static const int64_t ranges[] = {0, 2, 3};
    *e = (tg_engine){.name = "small"};
    e->host.max_loops = 1 + n % 2;
    e->host.max_range[0] = ranges[n / 2 % 3];
    e->host.max_range[1] = ranges[n / 6 % 3];
    e->host.granule = n / 18 % 2 * 2;
    e->host.alignment = e->host.granule;
    e->device.dense = n / 36 % 2;
    e->host.unit_run = n / 72 % 2;
    e->host.strides = n / 144 % 2 ? TG_STRIDES_POSITIVE : TG_STRIDES_ANY;
    return n < 288 ? e : NULL;
}

static void check_small(question *q) {
    size_t          count = 0;
    tg_error        err;
    const tg_dma    before = q->dma;
    const tg_status s = tg_engine_fit(fitted, MAX_OUT, &count, &before, 1, q->engine, 8, 8, &err);
    memset(q->known, 0, sizeof q->known);
    const int best = count_fewest(q);
    if ((s == TG_OK) != (best < NEVER) || (s == TG_OK && (int)count > best))
        fail_msg("%s: %zu and not %d%s", show(&before), count, best, show_engine(q));
    if (s != TG_OK) return;
    if (!moves_the_same(&before, 1, fitted, count)) fail_msg("%s moves others", show(&before));
    for (size_t i = 0; i < count; i++) assert_true(fits(&fitted[i], q->engine, 8, 8));
}

static void test_small(void **unused) {
    static const int64_t steps[][2] = {{1, 1}, {1, 2}, {4, 4}, {-1, 1}, {2, 0}};
    tg_engine            e;
    question             q;
    (void)unused;
    q.device_bits = q.host_bits = 8;
    for (int n = 0; (q.engine = small_engine(&e, n)) != NULL; n++)
        for (int a = 0; a < 5; a++)
            for (int b = 0; b < 5; b++)
                for (int64_t r = 1; r <= 16; r++) {
                    q.dma = (tg_dma){2, 64, 64, {{1 + (r - 1) / 4, steps[a][0], steps[a][1], -1, -1, 0},
                                                 {1 + (r - 1) % 4, steps[b][0], steps[b][1], -1, -1, 0}}};
                    check_small(&q);
                }
}

/* ---- shipped engines, real layouts ---- */

static size_t build(tg_dma *out, size_t cap, const char *device, const char *host) {
    tg_desc       d, h;
    tg_error      err;
    size_t        n = 0;
    tg_dma_params params = {.device = &d.layout, .host = &h.layout};
    if (tg_desc_parse(&d, device, strlen(device), &err) != TG_OK) fail_msg("%s: %s", device, err.message);
    if (tg_desc_parse(&h, host, strlen(host), &err) != TG_OK) fail_msg("%s: %s", host, err.message);
    if (tg_dma_build(out, cap, &n, &params, &err) != TG_OK) fail_msg("%s: %s", device, err.message);
    assert_true(n <= cap);
    return n;
}

/* `answer` is the first descriptor, or the complaint. */
static const struct {
    const char *engine, *device, *host;
    int32_t     bits;
    size_t      count;
    const char *answer;
} shipped[] = {
    {"spyre", "f16[1024,256] spyre", "f16[1024,256]", 16, 1, "((4, 1024, 64), (65536, 64, 1), (64, 256, 1))"},
    {"spyre", "f16[5,100,150] spyre", "f16[5,100,150]", 16, 2,
     "((100, 2, 5, 64), (960, 320, 64, 1), (150, 64, 15000, 1))"},
    /* a row longer than a stick is sticks */
    {"spyre", "f16[3,256]", "f16[3,256]", 16, 1, "((12, 64), (64, 1), (64, 1))"},
    /* sparse: one element in a stick */
    {"spyre", "f16[5] spyre dim_order=[0,-1]", "f16[5]", 16, 1, "((5, 1), (64, 0), (1, 0))"},
    {"spyre", "f16[100] strides=[1] offset=32", "f16[100]", 16, 0,
     "descriptor 0: device offset 32 is 64 bytes; spyre needs multiples of 128 bytes: 0 or 64 would do"},
    /* words of two elements; 100 is too much for the iteration, and 2 is not */
    {"aie", "f16[5,100,150] spyre", "f16[5,100,150]", 16, 2,
     "((2, 100, 5, 64), (320, 960, 64, 1), (64, 150, 15000, 1))"},
    {"aie", "f32[1024,256]{0,1}", "f32[1024,256]", 32, 1,
     "((4, 1, 1, 256, 256), (256, 0, 0, 1, 1024), (65536, 0, 0, 256, 1))"},
    {"aie", "f16[1024,256]{0,1}", "f16[1024,256]", 16, 0,
     "descriptor 0: the innermost device stride is 1024; aie needs a run of neighbours there: 1 would do"},
    {"aie", "f16[10,63]", "f16[10,63] strides=[64,1] offset=0", 16, 0,
     "descriptor 0: host run of 63 is 126 bytes; aie needs multiples of 4 bytes: 62 or 64 would do"},
    {"aie", "f32[2053,4096]", "f32[2053,4096] strides=[8192,1] offset=0", 32, 0,
     "65 descriptors; aie has 16: the program in 5 parts would do"},
    {"tma", "f16[1024,256] spyre", "f16[1024,256]", 16, 4, "((4, 256, 64), (16384, 64, 1), (65536, 256, 1))"},
    {"tma", "f32[1024,256]{1,0:T(8,128)}", "f32[1024,256]", 32, 5,
     "((28, 2, 8, 128), (2048, 1024, 128, 1), (2048, 128, 256, 1))"},
    {"tma", "f16[100,64] spyre", "f16[100,64] strides=[60,1] offset=0", 16, 0,
     "descriptor 0: host stride 60 is 120 bytes; tma needs multiples of 16 bytes: 56 or 64 would do"},
    {"tma", "f16[64,64]", "f16[64,64] strides=[64,1] offset=60", 16, 0,
     "descriptor 0: host offset 60 is 120 bytes; tma needs multiples of 16 bytes: 56 or 64 would do"},
    {"tma", "f32[64,64]{0,1}", "f32[64,64]", 32, 0,
     "descriptor 0: the innermost host stride is 64; tma needs a run of neighbours there: 1 would do"},
};

static void test_shipped(void **unused) {
    static tg_dma program[16];
    (void)unused;
    for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; i++) {
        const tg_engine *e = tg_engine_find(shipped[i].engine, strlen(shipped[i].engine));
        const size_t     n = build(program, 16, shipped[i].device, shipped[i].host);
        const int32_t    bits = shipped[i].bits;
        size_t           count = 0;
        tg_error         err;
        const tg_status  s = tg_engine_fit(fitted, MAX_OUT, &count, program, n, e, bits, bits, &err);
        if (strcmp(s == TG_OK ? show(&fitted[0]) : err.message, shipped[i].answer) != 0)
            fail_msg("%s: %s", shipped[i].device, s == TG_OK ? show(&fitted[0]) : err.message);
        assert_int_equal(s == TG_OK ? count : 0, shipped[i].count);
        if (s != TG_OK) continue;
        assert_int_equal(tg_engine_check(fitted, count, e, bits, bits, &err), TG_OK);
        assert_true(moves_the_same(program, n, fitted, count));
        for (size_t k = 0; k < count; k++) assert_true(fits(&fitted[k], e, bits, bits));
    }
}

/* ---- complaints of the check ---- */

static const struct {
    tg_engine   engine;
    int32_t     device_bits, host_bits;
    tg_dma      dma;
    const char *message;
} broken[] = {
    {{.name = "e", .host = {.max_loops = 1}},
     8,
     8,
     {2, 0, 0, {{2, 2, 2, -1, -1, 0}, {2, 1, 1, -1, -1, 0}}},
     "descriptor 0: 2 loops; e has 1 dimensions on the host: 1 would do"},
    {{.name = "e", .device = {.max_range = {7}}},
     8,
     8,
     {1, 0, 0, {{8, 1, 1, -1, -1, 0}}},
     "descriptor 0: range 8; e has at most 7 in dimension 0 of the device, the innermost being 0: 7 would do"},
    {{.host = {.max_stride = 16}},
     8,
     16,
     {1, 0, 0, {{2, 1, 9, -1, -1, 0}}},
     "descriptor 0: host stride 9 is 18 bytes; the engine has at most 16 bytes: 8 would do"},
    {{.name = "e", .host = {.strides = TG_STRIDES_POSITIVE}},
     8,
     8,
     {1, 0, 9, {{2, 1, -3, -1, -1, 0}}},
     "descriptor 0: host stride -3; e needs positive ones: 3, from the other end, would do"},
    {{.name = "e", .host = {.strides = TG_STRIDES_POSITIVE}},
     8,
     8,
     {1, 0, 9, {{2, 1, 0, -1, -1, 0}}},
     "descriptor 0: host stride 0; e needs positive ones: 1 or more, or a descriptor for each step, would do"},
    {{.name = "e", .host = {.max_loops = 3, .strides = TG_STRIDES_POSITIVE_OR_REPEAT}},
     8,
     8,
     {1, 0, 9, {{2, 1, 0, -1, -1, 0}}},
     "descriptor 0: host stride 0 in dimension 0; e repeats in dimension 2 alone: a stride of 1 or more, or the "
     "outermost "
     "place would do"},
    {{.name = "e", .device = {.dense = true}},
     8,
     8,
     {2, 0, 0, {{2, 5, 2, -1, -1, 0}, {4, 1, 1, -1, -1, 0}}},
     "descriptor 0: device stride 5; e leaves no gaps on the device: 4 would do"},
    {{.name = "e", .device = {.max_bytes = 10}},
     8,
     8,
     {1, 0, 0, {{11, 1, 1, -1, -1, 0}}},
     "descriptor 0: device length 11 is 11 bytes; e has at most 10 bytes: 10 would do"},
    {{.name = "e", .device = {.granule = 2}},
     4,
     4,
     {1, 0, 0, {{6, 1, 1, -1, -1, 0}}},
     "descriptor 0: device run of 6 is 3 bytes; e needs multiples of 2 bytes: 4 or 8 would do"},
    {{.name = "e", .device = {.granule = 2}},
     4,
     4,
     {1, 0, 0, {{5, 1, 1, -1, -1, 0}}},
     "descriptor 0: device run of 5 is 20 bits; e needs multiples of 2 bytes: 4 or 8 would do"},
    {{.name = "e", .same_width = true},
     16,
     32,
     {0, 0, 0, {{0}}},
     "elements have 16 bits on the device and 32 on the host, and e does not convert: 32 on both sides would do"},
    {{.name = "e", .max_bits = 64},
     128,
     128,
     {0, 0, 0, {{0}}},
     "elements have 128 bits, and e knows at most 64: parts of 64 would do"},
};

static void test_complaints(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        tg_error        err;
        const tg_status s = tg_engine_check(&broken[i].dma, 1, &broken[i].engine, broken[i].device_bits,
                                            broken[i].host_bits, &err);
        assert_int_equal(s, TG_ERR_UNREPRESENTABLE);
        assert_string_equal(err.message, broken[i].message);
    }
}

/* ---- edges ---- */

static void test_counts(void **unused) {
    /* as told in engine_cut.c: six loops for five dimensions of 256 */
    const tg_engine five = {.host = {.max_loops = 5, .max_range = {256, 256, 256, 256, 256}}};
    const tg_engine one = {.host = {.max_loops = 1}}, few = {.host = {.max_loops = 1}, .max_descriptors = 6};
    tg_dma          six = {6, 0, 0, {{0}}}, huge = {2, 0, 0, {{(int64_t)1 << 40, 8, 8, -1, -1, 0},
                                                              {(int64_t)1 << 22, 1, 1 << 4, -1, -1, 0}}};
    const int64_t   ranges[] = {5, 5, 300, 5, 5, 64};
    size_t          count = 0;
    tg_error        err;
    (void)unused;
    for (int i = 0; i < 6; i++) six.loop[i] = (tg_dma_loop){ranges[i], 1 << (24 - 4 * i), 3 << (24 - 4 * i), -1, -1, 0};
    assert_int_equal(tg_engine_fit(NULL, 0, &count, &six, 1, &five, 8, 8, &err), TG_OK);
    assert_int_equal(count, 10);
    /* more descriptors than anybody wants are counted, and as many written as there is room for */
    assert_int_equal(tg_engine_fit(fitted, 3, &count, &huge, 1, &one, 8, 8, &err), TG_OK);
    assert_int_equal(count, (size_t)1 << 22);
    assert_int_equal(fitted[2].device_offset, 2);
    assert_int_equal(fitted[2].host_offset, 32);
    assert_int_equal(tg_engine_fit(fitted, 3, &count, &six, 1, &few, 8, 8, &err), TG_ERR_UNREPRESENTABLE);
    assert_int_equal(tg_engine_fit(NULL, 0, &count, NULL, 0, &few, 8, 8, &err), TG_OK);
    assert_int_equal(count, 0);
}

static void test_arguments(void **unused) {
    const tg_engine any = {0}, odd = {.device = {.max_loops = TG_ENGINE_MAX_LOOPS + 1}};
    tg_dma          dma = {1, 0, 0, {{0, 1, 1, -1, -1, 0}}};
    size_t          count = 7;
    (void)unused;
    assert_int_equal(tg_engine_fit(NULL, 0, &count, &dma, 1, &any, 8, 8, NULL), TG_ERR_ARGUMENT);
    dma.loop[0] = (tg_dma_loop){2, INT64_MIN, 1, -1, -1, 0};
    assert_int_equal(tg_engine_fit(NULL, 0, &count, &dma, 1, &any, 8, 8, NULL), TG_ERR_OVERFLOW);
    dma.loop[0] = (tg_dma_loop){3, INT64_MAX / 2 + 1, 1, -1, -1, 0};
    assert_int_equal(tg_engine_check(&dma, 1, &any, 8, 8, NULL), TG_ERR_OVERFLOW);
    dma.loop[0].device_stride = 1;
    assert_int_equal(tg_engine_check(&dma, 1, &odd, 8, 8, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_engine_check(&dma, 1, &any, 0, 8, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_engine_check(&dma, 1, &any, 8, 8, NULL), TG_OK);
    assert_int_equal(count, 7);
    assert_null(tg_engine_find("spy", 3));
    assert_null(tg_engine_at(-1));
    for (int32_t i = 0; tg_engine_at(i) != NULL; i++)
        assert_ptr_equal(tg_engine_find(tg_engine_at(i)->name, strlen(tg_engine_at(i)->name)), tg_engine_at(i));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),     cmocka_unit_test(test_small),  cmocka_unit_test(test_shipped),
        cmocka_unit_test(test_complaints), cmocka_unit_test(test_counts), cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
