/* Moves on several threads give what one thread gives. Under the thread sanitizer only our own executor
 * runs: the system's pthreadpool is not instrumented, and its synchronisation would not be seen. */
#define _POSIX_C_SOURCE 200809L /* pthread_attr_setstack */
#include "crew.h"
#include "kernels/target.h"
#include "relayout/plan.h"

#include <tegula/tegula.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sanitizers and compilers that do not optimise take more stack. */
#if defined(TG_SANITIZED) || !defined(__OPTIMIZE__)
#  define FRAMES_ARE_LARGER 1
#else
#  define FRAMES_ARE_LARGER 0
#endif

/* ---- moves ---- */

enum { ROWS = 520, COLS = 384 };

/* [ROWS, COLS] -> [COLS/tile][ROWS][tile], or the same with the dimensions exchanged */
static tg_layout tiled(tg_dtype dtype, int64_t tile, bool across) {
    const int64_t shape[] = {ROWS, COLS};
    const int32_t along_cols[] = {1, 0, 2}, along_rows[] = {0, 2, 1};
    tg_layout     l;
    assert_int_equal(tg_layout_strided(&l, dtype, 2, shape, NULL, 0, NULL), TG_OK);
    assert_int_equal(tg_layout_split(&l, &l, across ? 0 : 1, tile, NULL), TG_OK);
    assert_int_equal(tg_layout_reorder(&l, &l, across ? along_rows : along_cols, NULL), TG_OK);
    return l;
}

typedef struct move {
    const char *name;
    tg_layout   dst, src;
} move;

static move make_move(int i) {
    const int64_t shape[] = {ROWS, COLS};
    move          m = {"sticks", tiled(TG_F16, 64, false), {0}};
    assert_int_equal(tg_layout_strided(&m.src, TG_F16, 2, shape, NULL, 0, NULL), TG_OK);
    if (i == 1) {
        m.name = "converted";
        m.dst.format = TG_SEN169_FP16;
    } else if (i == 2) {
        m.name = "across";
        m.dst = tiled(TG_F16, 40, true);
    } else if (i == 3) {
        m.name = "packed: one task";
        assert_int_equal(tg_layout_strided(&m.src, TG_S4, 2, shape, NULL, 0, NULL), TG_OK);
        m.dst = tiled(TG_S4, 8, false);
        m.dst.elem_bits = 4;
    } else if (i == 4) {
        m.name = "back";
        const tg_layout t = m.src;
        m.src = m.dst;
        m.dst = t;
    }
    return m;
}

enum { MOVES = 5, BYTES = ROWS * COLS * 2, MOST_BYTES = 4 << 20 };

static uint8_t src[MOST_BYTES], want[BYTES], got[MOST_BYTES];

static const uint16_t zero = 0;

static tg_plan_params params_of(const move *m, int32_t threads) {
    const tg_plan_params p = {.dst = &m->dst, .src = &m->src, .pad = &zero, .threads = threads};
    return p;
}

static tg_plan plan_of(const tg_plan_params *params, const char *name) {
    tg_plan  p;
    tg_error err;
    if (tg_plan_init(&p, params, &err) != TG_OK) fail_msg("%s: %s", name, err.message);
    return p;
}

static void check_executor(const tg_executor *e) {
    for (int i = 0; i < MOVES; i++) {
        const move m = make_move(i);
        for (int32_t threads = 0; threads < 20; threads += 7) {
            const tg_plan_params params = params_of(&m, threads);
            const tg_plan        p = plan_of(&params, m.name);
            bool                 equal = false;
            memset(want, 0xa5, BYTES);
            memset(got, 0xa5, BYTES);
            assert_int_equal(tg_plan_run(&p, want, src, NULL, NULL), TG_OK);
            assert_int_equal(tg_plan_verify(&equal, NULL, NULL, &params, want, src, NULL), TG_OK);
            assert_true(equal);
            assert_int_equal(tg_plan_run(&p, got, src, e, NULL), TG_OK);
            if (memcmp(got, want, BYTES) != 0) fail_msg("%s with %d threads", m.name, (int)e->threads);
        }
    }
}

static void test_own_executor(void **state) {
    (void)state;
    int               calls = 0;
    const tg_executor e = {crew_run, &calls, CREW}, alone = {.threads = 1};
    check_executor(&e);
    assert_true(calls > 0);
    check_executor(&alone); /* calls nobody */
}

static void expect_no_run(const tg_executor *e, const char *words) {
    for (int i = 0; i < MOVES; i++) {
        const move           m = make_move(i);
        const tg_plan_params params = params_of(&m, 0);
        const tg_plan        p = plan_of(&params, m.name);
        tg_error             err = {TG_OK, 0, 0, ""};
        memset(want, 0xa5, BYTES);
        memset(got, 0xa5, BYTES);
        assert_int_equal(tg_plan_run(&p, got, src, e, &err), TG_ERR_ARGUMENT);
        assert_non_null(strstr(err.message, words));
        assert_int_equal(tg_plan_run_step(&p, 0, got, src, e, NULL), TG_ERR_ARGUMENT);
        assert_memory_equal(got, want, BYTES);
    }
}

static void test_no_executor(void **state) {
    (void)state;
    int               calls = 0;
    const tg_executor none = {.run = crew_run, .context = &calls}, fewer = {crew_run, &calls, -1},
                      nobody = {.threads = 2};
    expect_no_run(&none, "the executor has 0 threads; at least 1 is needed");
    expect_no_run(&fewer, "the executor has -1 threads");
    expect_no_run(&nobody, "`run` of the executor is NULL");
    assert_int_equal(calls, 0);
}

static void test_pool(void **state) {
    (void)state;
    for (int32_t n = 1; n <= (THREAD_SANITIZER ? 0 : 4); n++) {
        tg_threads *threads = NULL;
        assert_int_equal(tg_threads_create(&threads, n, NULL), TG_OK);
        const tg_executor e = tg_threads_executor(threads);
        assert_int_equal(e.threads, n);
        check_executor(&e);
        tg_threads_destroy(&threads);
        assert_null(threads);
        tg_threads_destroy(&threads);
    }
}

static void test_pool_refused(void **state) {
    (void)state;
    tg_threads *threads = NULL;
    tg_error    err = {TG_OK, 0, 0, ""};
    assert_int_equal(tg_threads_create(&threads, 0, &err), TG_ERR_ARGUMENT);
    assert_string_equal(err.message, "threads: 0 threads; at least 1 is needed");
    assert_null(threads);
    assert_int_equal(tg_threads_create(NULL, 2, &err), TG_ERR_ARGUMENT);
}

/* ---- one plan on many threads at once ---- */

typedef struct runner {
    const tg_plan *plan;
    uint8_t       *dst;
} runner;

static void *run_alone(void *arg) {
    const runner *r = arg;
    for (int i = 0; i < 5; i++)
        if (tg_plan_run(r->plan, r->dst, src, NULL, NULL) != TG_OK) return arg;
    return NULL;
}

static void test_shared_plan(void **state) {
    (void)state;
    const move m = make_move(1);
    const tg_plan_params params = params_of(&m, 0);
    const tg_plan        p = plan_of(&params, m.name);
    pthread_t  thread[4];
    runner     r[4];
    assert_int_equal(tg_plan_run(&p, want, src, NULL, NULL), TG_OK);
    for (int i = 0; i < 4; i++) {
        r[i].plan = &p;
        r[i].dst = malloc(BYTES);
        assert_int_equal(pthread_create(&thread[i], NULL, run_alone, &r[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        assert_int_equal(pthread_join(thread[i], &failed), 0);
        assert_null(failed);
        assert_memory_equal(r[i].dst, want, BYTES);
        free(r[i].dst);
    }
}

/* Bytes of its stack that a thread touches which does the move, some of them for itself; in slabs of so many bytes, or
 * 0. */
static size_t stack_of(int64_t *slab, const char *from, const char *to, const tg_tuning *tuning) {
    enum { STACK = 256 << 10 };
    static uint8_t stack[STACK] __attribute__((aligned(4096)));
    tg_desc        s, d;
    pthread_attr_t attributes;
    pthread_t      thread;
    void          *failed;
    size_t         untouched = 0;
    assert_int_equal(tg_desc_parse(&s, from, strlen(from), NULL), TG_OK);
    assert_int_equal(tg_desc_parse(&d, to, strlen(to), NULL), TG_OK);
    int64_t written, read;
    assert_int_equal(tg_layout_nbytes(&written, &d.layout, NULL), TG_OK);
    assert_int_equal(tg_layout_nbytes(&read, &s.layout, NULL), TG_OK);
    assert_true(written <= MOST_BYTES && read <= MOST_BYTES);
    static const uint64_t nothing[2];
    const tg_plan_params  params = {.dst = &d.layout, .src = &s.layout, .pad = nothing, .convert = true};
    tg_plan               p;
    const runner          r = {&p, got};
    assert_int_equal(tg_plan_tuned(&p, &params, tuning, NULL), TG_OK);
    const tg_slabs *w = &tg_plan_see(&p)->as.nest.slabs;
    const bool      any = tg_plan_see(&p)->way == TG_WAY_NEST && w->nloops > 0;
    *slab = any ? w->parts * w->steps * w->dst_step : 0;
    memset(stack, 0xa5, STACK);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_alone, (void *)&r), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
    while (untouched < STACK && stack[untouched] == 0xa5) untouched++;
    return STACK - untouched;
}

/* The header says 96 KiB, and 224 where stores go around the caches. Stages, and buffers of movers that are called for
 * what is in one, add up: a move through a stage took 110 KiB when every transpose held the 40 KiB of a pipeline, too,
 * and 105 when it held the buffers of rows of few columns beside its own. */
static void test_stack(void **state) {
    (void)state;
    enum {
        MOST = 90 << 10,
        LEAST_COMBINED = 64 << 10,
        MOST_COMBINED = 210 << 10,
        LEAST_OF_SLABS = 32 << 10,
        MOST_OF_SLABS = MOST + (40 << 10) /* of usual ones: as into a cache, and the buffer */
    };
    static const char *const moves[][2] = {
        {"s16[4,4,4,4,4,4]", "s16[4,4,4,4,4,4]{0,1,2,3,4,5}"},
        {"f32[12,1024]", "bf16[12,1024]{0,1}"},
        {"s4[24,4096]{1,0:E(4)}", "s4[24,4096]{0,1:E(4)}"},
        {"s4[333,777]{1,0:E(4)}", "s4[333,777]{0,1:E(4)}"},
        {"u2[24,4096]{1,0:E(2)}", "u2[24,4096]{1,0:T(8,128)(2,1)E(2)}"},
        {"u2[333,777]{1,0:E(2)}", "u2[333,777]{0,1:E(2)}"},
        {"pred[333,777]{1,0:E(1)}", "pred[333,777]{0,1:E(1)}"},
        {"pred[333,777]{0,1}", "pred[333,777]{1,0:E(1)}"},
        {"s4[5,7,9,11,13]{4,3,2,1,0:E(4)}", "s4[5,7,9,11,13]{0,1,2,3,4:E(4)}"},
        {"f16[64,256]", "f16[64,256] spyre dim_order=[1,0]"},
        {"f16[100,60] strides=[2,300]", "f32[100,60]"}, /* apart, on the way to a conversion */
        {"u8[300,66] strides=[2,700]", "u16[300,66]"},
        {"f16[100,60] strides=[2,300]", "f16[100,60]"},
        {"u2[272,5,64]{2,1,0:T(8,128)(4,1)E(2)}", "u2[272,5,64]{0,2,1:E(2)}"},
        {"bf16[2,3,40,80]{1,3,2,0}", "bf16[2,3,40,80]{3,2,1,0:T(8,128)(2,1)}"}, /* two transposes */
        {"u8[2,2,100,100]{1,0,3,2}", "u8[2,2,100,100]{0,1,2,3}"}, /* cells, and transposed */
        {"f32[2,2,40,50]{1,0,3,2}", "f32[2,2,40,50]{0,1,2,3}"},
        {"u8[3,3,60,70]{1,0,3,2}", "u8[3,3,60,70]{0,1,2,3}"},
        {"u8[8,8,8,8,8]{2,1,0,4,3}", "u8[8,8,8,8,8]{0,1,2,3,4}"},
        {"u8[100,300] strides=[3,301]", "u8[100,300]{1,0:T(8,128)(4,1)}"}, /* gathered, and transposed */
        {"bf16[128,256]{0,1:T(8,128)(2,1)}", "bf16[128,256]{1,0:T(8,128)(2,1)}"},
    };
    static const char *const combined[][2] = {
        {"u8[3,3,64,255]{3,2,1,0:T(8,128)(2,1)}", "u8[3,3,64,255]{1,3,2,0}"},
        {"bf16[2000,90]{0,1:T(8,128)(2,1)}", "bf16[2000,90]"},
        {"bf16[2,3,60,200]{3,2,1,0:T(8,128)(2,1)}", "bf16[2,3,60,200]{1,3,2,0}"},
        {"f32[10,86,50] strides=[172,2,1726]", "f32[10,86,50]{0,1,2:T(10,9)}"}, /* no panel besides */
        {"u8[202,900]{1,0:T(8,128)(4,1)}", "u8[202,900]{0,1:T(8,128)}"}, /* listed tiles */
        {"u8[278,1024]{1,0:T(8,128)}", "u8[278,1024]{0,1}"},
    };
    static const char *const slabs[][2] = {
        {"f16[133,2,64,45]{2,3,1,0:T(8,128)(2,1)}", "f16[133,2,64,45] spyre"},
        {"bf16[3,12,64,45]{1,3,2,0}", "bf16[3,12,64,45]{3,2,1,0:T(8,128)(2,1)}"},
        {"f32[16,256,63]{1,2,0:T(8,128)}", "f32[16,256,63] spyre"}, /* large ones */
        {"u8[59,8,2000]{2,0,1}", "u8[59,8,2000]{0,1,2:T(8,128)(4,1)}"},
        {"s4[7,9000]{1,0:T(8,128)(8,1)E(4)}", "s4[7,9000]{0,1:T(8,128)(8,1)E(4)}"},
        {"f16[64,150,77]{2,0,1:T(8,128)(2,1)}", "f16[64,150,77]{0,2,1:T(8,128)(2,1)}"}, /* cells in a buffer */
        {"u8[3,224,40,3]{1,3,2,0}", "u8[3,224,40,3]{3,2,1,0:T(8,128)(4,1)}"},
    };
    tg_tuning together = tg_default_tuning;
    together.stream_bytes = together.far_bytes = together.memory_bytes = 0;
    together.combine = true;
    int64_t slab;
    if (FRAMES_ARE_LARGER) skip();
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const size_t bytes = stack_of(&slab, moves[i][0], moves[i][1], &tg_default_tuning);
        if (bytes > MOST) fail_msg("%s to %s: %d bytes of stack", moves[i][0], moves[i][1], (int)bytes);
    }
    for (size_t i = 0; i < sizeof combined / sizeof combined[0]; i++) {
        const size_t bytes = stack_of(&slab, combined[i][0], combined[i][1], &together);
        if (bytes > MOST_COMBINED || bytes < LEAST_COMBINED)
            fail_msg("%s to %s: %d bytes of stack", combined[i][0], combined[i][1], (int)bytes);
    }
    for (size_t i = 0; i < sizeof slabs / sizeof slabs[0]; i++) {
        const size_t bytes = stack_of(&slab, slabs[i][0], slabs[i][1], &together);
        assert_true(slab > 0);
        const size_t most = slab > TG_SLAB_BYTES ? MOST_COMBINED : MOST_OF_SLABS;
        if (bytes > most || bytes < LEAST_OF_SLABS)
            fail_msg("%s to %s: %d bytes of stack", slabs[i][0], slabs[i][1], (int)bytes);
    }
}

/* Several tasks meet a bad value; one of them is reported. */
static void test_overflow(void **state) {
    (void)state;
    enum { N = 100000 };
    const int64_t shape[] = {N};
    tg_layout     s, d;
    int           calls = 0;
    const tg_executor e = {crew_run, &calls, CREW};
    assert_int_equal(tg_layout_strided(&s, TG_S64, 1, shape, NULL, 0, NULL), TG_OK);
    d = s;
    d.format = TG_IEEE_INT32;
    d.elem_bits = 32;
    const tg_plan_params params = {.dst = &d, .src = &s, .threads = 8};
    tg_plan              p;
    tg_error             err = {TG_OK, 0, 0, ""};
    int64_t *const       in = malloc(N * sizeof in[0]);
    int32_t *const       out = malloc(N * sizeof out[0]);
    assert_int_equal(tg_plan_init(&p, &params, NULL), TG_OK);
    for (int i = 0; i < N; i++) in[i] = i % 10000 == 9999 ? INT64_MAX : i;
    assert_int_equal(tg_plan_run(&p, out, in, &e, &err), TG_ERR_OVERFLOW);
    assert_non_null(strstr(err.message, "value 9223372036854775807"));
    free(in);
    free(out);
}

/* ---- shares ---- */

typedef struct shares {
    const uint8_t *dst;
    size_t         size;
    size_t         written[2];
} shares;

/* Two threads one after the other; what the first one left 0xa5 and the second one did not is the second one's. */
static void count_shares(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    shares *const c = context;
    assert_int_equal(ntasks, 2);
    for (size_t i = 0; i < ntasks; i++) {
        task(arg, i);
        c->written[i] = 0;
        for (size_t k = 0; k < c->size; k++) c->written[i] += c->dst[k] != 0xa5;
    }
    c->written[1] -= c->written[0];
}

static void layout_of(tg_layout *out, const char *text) {
    tg_desc  desc;
    tg_error err;
    if (tg_desc_parse(&desc, text, strlen(text), &err) != TG_OK) fail_msg("%s: %s", text, err.message);
    *out = desc.layout;
}

/* A move of zeros to dst full of 0xa5, for two threads. */
typedef struct zeros {
    tg_plan  plan;
    uint8_t *in, *out;
    size_t   size; /* of out */
} zeros;

static zeros zeros_for_two(const char *const pair[2]) {
    static const uint64_t nothing[2];
    tg_layout             d, s;
    int64_t               from, to;
    layout_of(&s, pair[0]);
    layout_of(&d, pair[1]);
    assert_int_equal(tg_layout_nbytes(&from, &s, NULL), TG_OK);
    assert_int_equal(tg_layout_nbytes(&to, &d, NULL), TG_OK);
    const tg_plan_params params = {.dst = &d, .src = &s, .pad = nothing, .threads = 2};
    zeros                z = {plan_of(&params, pair[1]), calloc((size_t)from, 1), malloc((size_t)to), (size_t)to};
    assert_true(z.in != NULL && z.out != NULL);
    memset(z.out, 0xa5, z.size);
    return z;
}

static void zeros_run(const zeros *z, void (*run)(void *, void (*)(void *, size_t), void *, size_t), void *context) {
    const tg_executor e = {run, context, 2};
    assert_int_equal(tg_plan_run(&z->plan, z->out, z->in, &e, NULL), TG_OK);
}

static void zeros_free(zeros *z) {
    free(z->in);
    free(z->out);
}

/* What the first one of two threads wrote, and behind what byte it ends. */
typedef struct first_share {
    const uint8_t *dst;
    size_t         size, written, end;
} first_share;

static void look_at_first(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks) {
    first_share *const c = context;
    assert_int_equal(ntasks, 2);
    task(arg, 0);
    for (size_t k = 0; k < c->size; k++)
        if (c->dst[k] != 0xa5) c->written++, c->end = k + 1;
    task(arg, 1);
}

/* Ragged edges are boxes of their own, and each has to be shared out evenly. */
static void test_even_shares(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"f16[512,512]", "f16[512,512]{1,0:T(512,64)}"}, {"f16[512,500]", "f16[512,500]{1,0:T(512,64)}"},
        {"f16[256,500]", "f16[256,500]{1,0:T(256,64)}"}, {"f16[512,500]{1,0:T(512,64)}", "f16[512,500]"},
        {"f16[250,1000]", "f16[250,1000]{0,1:T(1000,64)}"}, {"f32[254,500]", "f32[254,500]{1,0:T(8,128)}"},
        {"f32[254,512]{0,1}", "f32[254,512]{1,0:T(8,128)}"}, {"f16[640,900]", "f16[640,900]{1,0:T(640,64)}"},
        {"f16[512,320]", "f16[512,320]{1,0:T(512,64)}"}, /* five sticks */
        {"f16[4096] strides=[64]", "f16[4096]"}, {"f16[300,500] strides=[2000,4]", "f16[300,500]{1,0:T(300,64)}"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        zeros  z = zeros_for_two(pairs[i]);
        shares c = {z.out, z.size, {0, 0}};
        zeros_run(&z, count_shares, &c);
        assert_int_equal(c.written[0] + c.written[1], z.size);
        const size_t more = c.written[0] > c.written[1] ? c.written[0] : c.written[1];
        if (more * 100 > z.size * 55)
            fail_msg("%s: %d of %d bytes are one thread's", pairs[i][1], (int)more, (int)z.size);
        zeros_free(&z);
    }
}

/* In caches each thread writes one piece of dst, whatever src is. */
static void test_one_piece_each(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"f16[512,512]", "f16[512,512]{1,0:T(512,64)}"}, {"f16[256,500]", "f16[256,500]{1,0:T(256,64)}"},
        {"f64[128,256]", "f64[128,256]{1,0:T(128,16)}"}, {"f16[512,512]{1,0:T(512,64)}", "f16[512,512]"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        zeros       z = zeros_for_two(pairs[i]);
        first_share c = {z.out, z.size, 0, 0};
        zeros_run(&z, look_at_first, &c);
        if (c.written != z.size / 2 || c.end != z.size / 2)
            fail_msg("%s: the first thread wrote %d bytes, the last one at %d of %d", pairs[i][1], (int)c.written,
                     (int)c.end, (int)z.size);
        zeros_free(&z);
    }
}

/* Elements that lie apart count as much as the lines that they lie in, and no more: the steps of a plan are some 64 MiB
 * each, and so few bytes are not shared out. */
static void test_work_of_elements_apart(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"f16[4000,1500] strides=[3000,2]", "f16[4000,1500]{1,0:T(8,128)}"},
        {"f16[262144] strides=[64]", "f16[262144]"}, {"f16[256] strides=[64]", "f16[256]"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        tg_layout d, s;
        char      text[2048];
        layout_of(&s, pairs[i][0]);
        layout_of(&d, pairs[i][1]);
        const tg_plan_params params = {.dst = &d, .src = &s, .threads = 2};
        const tg_plan        p = plan_of(&params, pairs[i][1]);
        assert_int_equal(tg_plan_steps(&p), 1);
        assert_true(tg_plan_describe(text, sizeof text, &p) < sizeof text);
        const char *const groups = strstr(text, " group"), *at = groups;
        assert_non_null(groups);
        while (at > text && at[-1] >= '0' && at[-1] <= '9') at--;
        if (groups - at > 3) fail_msg("%s: %s", pairs[i][0], text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_even_shares),  cmocka_unit_test(test_work_of_elements_apart),
        cmocka_unit_test(test_one_piece_each),
        cmocka_unit_test(test_own_executor), cmocka_unit_test(test_no_executor),
        cmocka_unit_test(test_pool),         cmocka_unit_test(test_pool_refused),
        cmocka_unit_test(test_shared_plan),  cmocka_unit_test(test_overflow), cmocka_unit_test(test_stack),
    };
    for (uint32_t i = 0, x = 1; i < BYTES; i++, x = x * 1664525u + 1013904223u) src[i] = (uint8_t)(x >> 24);
    return cmocka_run_group_tests_name("relayout threads", tests, NULL, NULL);
}
