/* One move between two layouts against a naive loop: at once, on threads, in steps, in boxes, one box alone, and by the
 * judge, of plans as they are by default and of plans cut to pieces; with canaries around buffers that begin at any
 * byte. For tests on cmocka. */
#ifndef TG_TESTS_CHECKED_MOVE_H
#define TG_TESTS_CHECKED_MOVE_H

#include "crew.h"
#include "layout/layout.h"
#include "random.h"
#include "relayout/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t move_seed; /* set random_state to move_seed to have a move again */

/* ---- the naive move ---- */

enum { MARGIN = 40 };

typedef struct buffer {
    uint8_t *memory, *data; /* data is MARGIN and some bytes in */
    size_t   size;
} buffer;

static buffer buffer_make(const tg_layout *l) {
    int64_t n;
    assert_int_equal(tg_layout_nbytes(&n, l, NULL), TG_OK);
    buffer b = {NULL, NULL, (size_t)n + 3 * MARGIN};
    b.memory = malloc(b.size);
    for (size_t i = 0; i < b.size; i++) b.memory[i] = (uint8_t)random_bits();
    b.data = b.memory + MARGIN + random_below(MARGIN);
    return b;
}

static buffer buffer_copy(buffer in) {
    buffer b = {malloc(in.size), NULL, in.size};
    memcpy(b.memory, in.memory, in.size);
    b.data = b.memory + (in.data - in.memory);
    return b;
}

static void put_copies(uint8_t *data, const tg_layout *l, int32_t m, int64_t offset, tg_word w, uint8_t *seen) {
    for (; m < l->nmodes; m++) {
        if (l->mode[m].axis != TG_AXIS_COPY) continue;
        for (int64_t i = 0; i < l->mode[m].size; i++)
            put_copies(data, l, m + 1, offset + i * l->mode[m].stride, w, seen);
        return;
    }
    tg_ref_store(data, offset, l->elem_bits, w);
    seen[offset] = 1;
}

static void naive(uint8_t *dst, const uint8_t *src, const tg_layout *d, const tg_layout *s, const void *pad) {
    int64_t        coord[TG_MAX_NDIM] = {0};
    uint8_t *const seen = calloc((size_t)d->span + 1, 1);
    const bool     same = d->dtype == s->dtype && d->format == s->format && d->elem_bits == s->elem_bits;
    if (tg_layout_numel(d) > 0) {
        do {
            tg_word w = tg_ref_load(src, tg_layout_offset(s, coord), s->elem_bits);
            if (!same)
                assert_true(tg_ref_convert(&w, tg_encoding_of(d->dtype, d->format, d->elem_bits),
                                           tg_encoding_of(s->dtype, s->format, s->elem_bits), w));
            put_copies(dst, d, 0, tg_layout_offset(d, coord), w, seen);
        } while (tg_next_coord(coord, d->shape, d->ndim));
    }
    for (int64_t i = 0; pad != NULL && i < d->span; i++)
        if (!seen[i]) tg_ref_store(dst, i, d->elem_bits, tg_ref_load(pad, 0, d->elem_bits));
    free(seen);
}

/* ---- plans and their moves ---- */

/* Sizes that cut even small moves into many blocks, groups, steps and tasks, and make any of them stream. */
static tg_tuning random_tuning(void) {
    const tg_tuning t = {.block_bytes = 1 + random_below(3000),
                         .block_bytes_min = 1 + random_below(200),
                         .run_grain = TG_PAD_PATTERN * (1 + random_below(4)),
                         .copy_rows = 1 + random_below(20),
                         .transpose_bytes = 1 + random_below(256),
                         .group_bytes = 1 + random_below(2000),
                         .group_bytes_min = 1 + random_below(300),
                         .slab_bytes = 1 + random_below(random_below(2) == 0 ? 300 : 3000),
                         .step_bytes = 1 + random_below(4000),
                         .task_bytes = 1 + random_below(2000),
                         .shared_bytes = random_below(2) == 0 ? 0 : INT64_MAX,
                         .combine = random_below(2) == 0,
                         .combined_bytes = 1 + random_below(3000),
                         .stream_bytes = random_below(2) == 0 ? 0 : INT64_MAX,
                         .far_bytes = random_below(2) == 0 ? 0 : INT64_MAX,
                         .memory_bytes = random_below(2) == 0 ? 0 : INT64_MAX};
    return t;
}

static int shared_out; /* calls of executors, which are given several tasks each */

static void run_backwards(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    ++*(int *)context;
    while (ntasks-- > 0) task(arg, ntasks);
}

static void expect_same(const char *what, const tg_plan_params *p, const tg_plan *plan, buffer got, buffer want) {
    char text[2000];
    if (memcmp(got.memory, want.memory, got.size) == 0) return;
    size_t i = 0;
    while (got.memory[i] == want.memory[i]) i++;
    (void)tg_plan_describe(text, sizeof text, plan);
    fail_msg("%s: byte %d of %d differs; %d dimensions, %d to %d bits; seed %llu\n%s", what,
             (int)(got.memory + i - got.data), (int)got.size - 3 * MARGIN, p->dst->ndim, p->src->elem_bits,
             p->dst->elem_bits, (unsigned long long)move_seed, text);
}

static void check_verify(const tg_plan_params *p, buffer dst, buffer src, bool padded) {
    bool             equal = false;
    int64_t          coord[TG_MAX_NDIM], offset = -1;
    tg_error         err;
    const tg_layout *d = p->dst;
    assert_int_equal(tg_plan_verify(&equal, coord, &offset, p, dst.data, src.data, &err), TG_OK);
    assert_true(equal);
    if (d->span == 0) return;
    const int64_t at = random_below(d->span);
    tg_slot       slot;
    int64_t       c[TG_MAX_NDIM];
    assert_int_equal(tg_layout_coord(&slot, c, d, at, &err), TG_OK);
    tg_word w = tg_ref_load(dst.data, at, d->elem_bits);
    w.lo ^= 1;
    tg_ref_store(dst.data, at, d->elem_bits, w);
    assert_int_equal(tg_plan_verify(&equal, coord, &offset, p, dst.data, src.data, &err), TG_OK);
    assert_int_equal(equal, slot != TG_SLOT_DATA && !padded);
    if (!equal) assert_int_equal(offset, at);
    if (!equal && slot == TG_SLOT_DATA) assert_memory_equal(coord, c, (size_t)d->ndim * sizeof c[0]);
    if (!equal && slot != TG_SLOT_DATA) assert_int_equal(coord[0], -1);
    w.lo ^= 1;
    tg_ref_store(dst.data, at, d->elem_bits, w);
}

static void make_plan(tg_plan *p, const tg_plan_params *params, bool tuned) {
    const tg_tuning t = tuned ? random_tuning() : tg_default_tuning;
    tg_error        err;
    if (tg_plan_tuned(p, params, &t, &err) != TG_OK)
        fail_msg("%s; seed %llu", err.message, (unsigned long long)move_seed);
}

/* One box after the other, of a grid that cuts every dimension at random places. */
static bool move_boxes(const tg_plan_params *whole, uint8_t *dst, const uint8_t *src, int32_t dim, int64_t *begin,
                       int64_t *end) {
    if (dim == whole->dst->ndim) {
        tg_plan_params params = *whole;
        tg_plan        p;
        tg_error       err;
        const tg_tuning t = random_tuning();
        params.begin = begin;
        params.end = end;
        const tg_status s = tg_plan_tuned(&p, &params, &t, &err);
        if (s == TG_ERR_UNSUPPORTED && strstr(err.message, "cannot be shared out") != NULL) return false;
        if (s != TG_OK || tg_plan_run(&p, dst, src, NULL, &err) != TG_OK) fail_msg("%s", err.message);
        return true;
    }
    const int64_t size = whole->dst->shape[dim];
    for (int64_t at = 0; at < size || at == 0;) {
        const int64_t next = random_below(2) == 0 ? size : at + 1 + random_below(tg_max(size - at, 1));
        begin[dim] = at;
        end[dim] = tg_min(next, size);
        if (!move_boxes(whole, dst, src, dim + 1, begin, end)) return false;
        at = tg_max(next, 1);
    }
    return true;
}

static bool can_box(const tg_plan_params *params) {
    tg_plan_params part = *params;
    tg_plan        p;
    int64_t        end[TG_MAX_NDIM];
    memcpy(end, params->dst->shape, sizeof end);
    for (int32_t d = 0; d < params->dst->ndim; d++) end[d] -= end[d] > 1;
    part.end = end;
    return tg_plan_init(&p, &part, NULL) == TG_OK;
}

static void check_boxes(const tg_plan_params *params, buffer blank, buffer src, buffer want) {
    int64_t      begin[TG_MAX_NDIM] = {0}, end[TG_MAX_NDIM] = {0};
    tg_plan      p;
    if (!can_box(params)) return;
    const buffer dst = buffer_copy(blank);
    make_plan(&p, params, false);
    if (move_boxes(params, dst.data, src.data, 0, begin, end)) expect_same("in boxes", params, &p, dst, want);
    free(dst.memory);
}

/* One box, and nothing else is touched. */
static void check_one_box(const tg_plan_params *whole, buffer blank, buffer src) {
    int64_t          begin[TG_MAX_NDIM], end[TG_MAX_NDIM], coord[TG_MAX_NDIM] = {0};
    const tg_layout *d = whole->dst, *s = whole->src;
    tg_plan_params   params = *whole;
    tg_plan          p;
    bool             equal;
    params.pad = NULL;
    params.begin = begin;
    params.end = end;
    for (int32_t i = 0; i < d->ndim; i++) {
        begin[i] = random_below(d->shape[i] + 1);
        end[i] = begin[i] + random_below(d->shape[i] - begin[i] + 1);
    }
    const buffer   dst = buffer_copy(blank), want = buffer_copy(blank);
    uint8_t *const seen = calloc((size_t)d->span + 1, 1);
    const bool     same = d->dtype == s->dtype && d->format == s->format && d->elem_bits == s->elem_bits;
    if (tg_layout_numel(d) > 0) {
        do {
            bool in = true;
            for (int32_t i = 0; i < d->ndim; i++) in = in && coord[i] >= begin[i] && coord[i] < end[i];
            if (!in) continue;
            tg_word w = tg_ref_load(src.data, tg_layout_offset(s, coord), s->elem_bits);
            if (!same) (void)tg_ref_convert(&w, tg_encoding_of(d->dtype, d->format, d->elem_bits),
                                            tg_encoding_of(s->dtype, s->format, s->elem_bits), w);
            put_copies(want.data, d, 0, tg_layout_offset(d, coord), w, seen);
        } while (tg_next_coord(coord, d->shape, d->ndim));
    }
    make_plan(&p, &params, true);
    assert_int_equal(tg_plan_run(&p, dst.data, src.data, NULL, NULL), TG_OK);
    expect_same("one box", &params, &p, dst, want);
    assert_int_equal(tg_plan_verify(&equal, NULL, NULL, &params, dst.data, src.data, NULL), TG_OK);
    assert_true(equal);
    free(seen);
    free(dst.memory);
    free(want.memory);
}

static const uint32_t cpus[] = {0, TG_CPU_AVX512, TG_CPU_AVX512 | TG_CPU_AVX2, TG_CPU_NEON};

/* A plan as it would be made by default, or cut to pieces; all of it, or in steps. */
typedef struct way {
    const char        *name;
    bool               tuned, steps;
    const tg_executor *executor;
} way;

static const tg_executor backwards = {run_backwards, &shared_out, 3}, crowd = {crew_run, &shared_out, CREW};

/* Where sanitizers look, which takes ten times as long, those that differ most. That of threads sees one way alone, and
 * bytes are for other builds to judge. */
static const way ways[] = {
    {"on threads", true, false, &crowd}, /* the first one: run_on_threads */
    {"at once", false, false, NULL},       {"in steps", true, true, &backwards},
#if !defined(TG_SANITIZED) && !defined(TG_TESTS_IMITATED)
    {"tuned", true, false, NULL},          {"backwards", true, false, &backwards},
#endif
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void run_way(const way *w, const tg_plan *p, buffer dst, buffer src) {
    tg_error err;
    if (!w->steps) {
        assert_int_equal(tg_plan_run(p, dst.data, src.data, w->executor, &err), TG_OK);
        return;
    }
    for (int64_t i = 0, n = tg_plan_steps(p); i < n; i++) /* 0, then backwards */
        assert_int_equal(tg_plan_run_step(p, i == 0 ? 0 : n - i, dst.data, src.data, w->executor, &err), TG_OK);
}

/* Boxes as they are without slabs, which have none of padding. */
static inline const tg_nest *hinted_nest(tg_plan *plan, const tg_layout *dst, const tg_layout *src, uint32_t hint) {
    static const uint64_t pad[2];
    const tg_plan_params  params = {.dst = dst, .src = src, .pad = pad, .hint = hint};
    tg_tuning             t = tg_default_tuning;
    t.slab_bytes = 0;
    assert_int_equal(tg_plan_tuned(plan, &params, &t, NULL), TG_OK);
    assert_int_equal(tg_plan_see(plan)->way, TG_WAY_NEST);
    return &tg_plan_see(plan)->as.nest;
}

static void run_on_threads(const tg_plan_params *params, buffer dst, buffer src) {
    tg_plan p;
    make_plan(&p, params, true);
    run_way(&ways[0], &p, dst, src);
}

static void check_all(const tg_plan_params *params, buffer blank, buffer src) {
    const buffer want = buffer_copy(blank);
    tg_plan      p;
    naive(want.data, src.data, params->dst, params->src, params->pad);
    for (int i = 0; i < WAYS; i++) {
        const buffer dst = buffer_copy(blank);
        make_plan(&p, params, ways[i].tuned);
        run_way(&ways[i], &p, dst, src);
        expect_same(ways[i].name, params, &p, dst, want);
        if (i == 0) check_verify(params, dst, src, params->pad != NULL);
        free(dst.memory);
    }
    check_boxes(params, blank, src, want);
    check_one_box(params, blank, src);
    free(want.memory);
}

static void check_move(const tg_layout *d, const tg_layout *s) {
    uint8_t        pad[16];
    const bool     padded = random_below(2) == 0;
    tg_plan_params params = {
        .dst = d, .src = s, .pad = padded ? pad : NULL, .threads = (int32_t)random_below(4), .convert = true};
    for (size_t i = 0; i < sizeof pad; i++) pad[i] = (uint8_t)random_bits();
    params.without = cpus[random_below(4)];
    params.hint = (uint32_t)random_below(3);
    const buffer src = buffer_make(s), blank = buffer_make(d);
    if (THREAD_SANITIZER) run_on_threads(&params, blank, src);
    else check_all(&params, blank, src);
    free(src.memory);
    free(blank.memory);
}

/* As in memory, for each processor. */
static inline void check_far(const tg_layout *d, const tg_layout *s) {
    const buffer   src = buffer_make(s), blank = buffer_make(d), want = buffer_copy(blank);
    tg_plan_params params = {.dst = d, .src = s};
    tg_tuning      t = tg_default_tuning;
    t.stream_bytes = t.far_bytes = 0;
    t.memory_bytes = random_below(2) == 0 ? 0 : INT64_MAX;
    t.block_bytes = (int64_t)4096 << random_below(9);
    naive(want.data, src.data, d, s, NULL);
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        const buffer dst = buffer_copy(blank);
        tg_plan      p;
        params.without = cpus[i];
        assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
        run_way(&ways[1], &p, dst, src);
        expect_same("far", &params, &p, dst, want);
        free(dst.memory);
    }
    free(src.memory);
    free(blank.memory);
    free(want.memory);
}

#endif
