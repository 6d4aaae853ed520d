/* How fast moves are, against memcpy in the same run.
 *
 *   bench_relayout [--quick] [--json FILE]
 *
 * Method: GB/s counts bytes read once and written once, padding included.
 * memcpy moves (in + out) / 2 bytes between the same two buffers with the same number of threads, and
 * takes turns with the move: the ratio is the median over rounds of memcpy's time over the move's
 * time in the same round, so what else the machine does hits both. Before each sample of a large move
 * a third buffer is read, so that the source is not in the cache. Buffers are 2 MiB aligned, huge pages
 * where the system gives them, and touched before. Every result is verified by tg_plan_verify before it
 * is timed, on one thread; on more threads it must be the same bytes. */
#define _DEFAULT_SOURCE
#include <tegula/tegula.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef BENCH_FLAGS
#  define BENCH_FLAGS "not recorded"
#endif

enum { MAX_ROUNDS = 31, MAX_THREADS = 2 };

/* ---- layouts ---- */

static void need(tg_status s, const tg_error *err) {
    if (s == TG_OK) return;
    fprintf(stderr, "bench_relayout: %s\n", err->message);
    exit(1);
}

static tg_layout row_major(tg_dtype dtype, int64_t rows, int64_t cols) {
    const int64_t shape[] = {rows, cols};
    tg_layout     l;
    tg_error      err;
    need(tg_layout_strided(&l, dtype, 2, shape, NULL, 0, &err), &err);
    return l;
}

/* Split both dimensions (1: not at all) and put the digits in an order: modes are rows / tile,
 * rows % tile, cols / tile, cols % tile. */
static tg_layout tiled(tg_dtype dtype, int64_t rows, int64_t cols, int64_t row_tile, int64_t col_tile,
                       const int32_t *order) {
    tg_layout l = row_major(dtype, rows, cols);
    tg_error  err;
    need(tg_layout_split(&l, &l, 1, col_tile, &err), &err);
    need(tg_layout_split(&l, &l, 0, row_tile, &err), &err);
    need(tg_layout_reorder(&l, &l, order, &err), &err);
    return l;
}

typedef struct workload {
    const char *name;
    tg_dtype    dtype;
    int64_t     large[2], small[2]; /* rows, columns */
    int64_t     tile[2];
    int32_t     order[4];
    tg_format   format;             /* of the tiled side */
    bool        back;               /* tiled to row-major */
} workload;

static const workload workloads[] = {
    {"stick", TG_F16, {16384, 8192}, {512, 512}, {1, 64}, {2, 0, 1, 3}, TG_FORMAT_NATIVE, false},
    {"stick, ragged", TG_F16, {16384, 8150}, {512, 500}, {1, 64}, {2, 0, 1, 3}, TG_FORMAT_NATIVE, false},
    {"stick to DLFloat16", TG_F16, {16384, 8192}, {512, 512}, {1, 64}, {2, 0, 1, 3}, TG_SEN169_FP16, false},
    {"unstick", TG_F16, {16384, 8192}, {512, 512}, {1, 64}, {2, 0, 1, 3}, TG_FORMAT_NATIVE, true},
    {"unstick from DLFloat16", TG_F16, {16384, 8192}, {512, 512}, {1, 64}, {2, 0, 1, 3}, TG_SEN169_FP16, true},
    {"T(8,128)", TG_F32, {8192, 8192}, {256, 512}, {8, 128}, {0, 2, 1, 3}, TG_FORMAT_NATIVE, false},
    {"stick on dimension 0", TG_F16, {16384, 8192}, {256, 1024}, {64, 1}, {0, 2, 3, 1}, TG_FORMAT_NATIVE, false},
};
enum { WORKLOADS = sizeof workloads / sizeof workloads[0] };

static void make_layouts(tg_layout *dst, tg_layout *src, const workload *w, const int64_t *size) {
    tg_layout plain = row_major(w->dtype, size[0], size[1]);
    tg_layout tiles = tiled(w->dtype, size[0], size[1], w->tile[0], w->tile[1], w->order);
    tiles.format = w->format;
    *dst = w->back ? plain : tiles;
    *src = w->back ? tiles : plain;
}

/* ---- buffers ---- */

static void *buffer_make(size_t size) {
    const size_t huge = (size_t)2 << 20, rounded = (size + huge - 1) / huge * huge;
    void *const  p = aligned_alloc(huge, rounded);
    if (p == NULL) {
        fprintf(stderr, "bench_relayout: no memory for %zu bytes\n", rounded);
        exit(1);
    }
    (void)madvise(p, rounded, MADV_HUGEPAGE);
    memset(p, 1, rounded);
    return p;
}

/* Finite, normal numbers in float16, float32 and DLFloat16. */
static void fill_source(uint8_t *p, size_t size, tg_dtype dtype) {
    uint64_t x = 88172645463325252u;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const uint64_t v = dtype == TG_F32 ? (x & 0xbfffffffbfffffffu) | 0x2000000020000000u
                                           : (x & 0xb7ffb7ffb7ffb7ffu) | 0x2400240024002400u;
        memcpy(p + i, &v, 8);
    }
}

static uint64_t checksum(const uint8_t *p, size_t size) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t v;
        memcpy(&v, p + i, 8);
        h = (h ^ v) * 1099511628211u;
        h ^= h >> 29;
    }
    return h;
}

/* ---- time ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof v[0], by_value);
    return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

typedef struct copy_job {
    uint8_t       *dst;
    const uint8_t *src;
    size_t         size, parts;
} copy_job;

static void copy_part(void *arg, size_t i) {
    const copy_job *c = arg;
    const size_t    part = c->size / c->parts & ~(size_t)63, from = part * i;
    memcpy(c->dst + from, c->src + from, i + 1 == c->parts ? c->size - from : part);
}

typedef struct bench {
    const tg_plan     *plan;
    const tg_executor *executor;
    uint8_t           *dst, *src, *flush;
    size_t             dst_size, src_size, flush_size;
    copy_job           copy;
    int                repeats;
} bench;

static volatile uint64_t sink;

static void flush_cache(const bench *b) {
    uint64_t sum = 0;
    for (size_t i = 0; i < b->flush_size; i += 64) sum += b->flush[i];
    sink = sum;
}

static double time_copy(bench *b) {
    flush_cache(b);
    const double t = now();
    for (int i = 0; i < b->repeats; i++) {
        if (b->executor == NULL) copy_part(&b->copy, 0);
        else b->executor->run(b->executor->context, copy_part, &b->copy, b->copy.parts);
    }
    return (now() - t) / b->repeats;
}

static double time_move(bench *b) {
    tg_error err;
    flush_cache(b);
    const double t = now();
    for (int i = 0; i < b->repeats; i++) need(tg_plan_run(b->plan, b->dst, b->src, b->executor, &err), &err);
    return (now() - t) / b->repeats;
}

/* ---- results ---- */

typedef struct result {
    const workload *w;
    int64_t         rows, cols;
    int32_t         threads;
    double          gbps, memcpy_gbps, ratio, spread; /* spread: median time over best time */
    bool            verified;
} result;

static void measure(result *r, bench *b, int rounds) {
    double move[MAX_ROUNDS], copy[MAX_ROUNDS], ratio[MAX_ROUNDS];
    (void)time_copy(b);
    (void)time_move(b);
    for (int i = 0; i < rounds; i++) {
        copy[i] = time_copy(b);
        move[i] = time_move(b);
        ratio[i] = copy[i] / move[i];
    }
    const double bytes = (double)(b->dst_size + b->src_size), m = median(move, rounds);
    r->gbps = bytes / m * 1e-9;
    r->memcpy_gbps = bytes / median(copy, rounds) * 1e-9;
    r->ratio = median(ratio, rounds);
    r->spread = m / move[0]; /* median() sorted */
}

static void print_header(FILE *f) {
    char  model[128] = "unknown CPU", line[256];
    FILE *info = fopen("/proc/cpuinfo", "r");
    while (info != NULL && fgets(line, sizeof line, info) != NULL) {
        if (strncmp(line, "model name", 10) != 0 || strchr(line, ':') == NULL) continue;
        snprintf(model, sizeof model, "%s", strchr(line, ':') + 2);
        model[strcspn(model, "\n")] = '\0';
        break;
    }
    if (info != NULL) fclose(info);
    fprintf(f, "tegula %s, %s, %ld CPUs, compiler %s, flags %s", tg_version(), model, sysconf(_SC_NPROCESSORS_ONLN),
            __VERSION__, BENCH_FLAGS);
}

static void print_row(const result *r, tg_dtype dtype) {
    printf("%-24s %-5s %6lldx%-6lld %7.1f %4d %8.1f %8.1f %6.2f %7.2f  %s\n", r->w->name, tg_dtype_name(dtype),
           (long long)r->rows, (long long)r->cols,
           (double)(r->rows * r->cols * tg_dtype_storage_bits(dtype) / 8) / 1048576.0, (int)r->threads, r->gbps,
           r->memcpy_gbps, r->ratio, r->spread, r->verified ? "verified" : "WRONG");
    fflush(stdout);
}

static void write_json(FILE *f, const result *r, int n) {
    fprintf(f, "{\"schema\":\"tegula.bench/1\",\"machine\":\"");
    print_header(f);
    fprintf(f, "\",\"results\":[");
    for (int i = 0; i < n; i++)
        fprintf(f,
                "%s\n{\"workload\":\"%s\",\"dtype\":\"%s\",\"shape\":[%lld,%lld],\"threads\":%d,\"gb_per_s\":%.3f,"
                "\"memcpy_gb_per_s\":%.3f,\"ratio\":%.4f,\"spread\":%.4f,\"verified\":%s}",
                i == 0 ? "" : ",", r[i].w->name, tg_dtype_name(r[i].w->dtype), (long long)r[i].rows,
                (long long)r[i].cols, (int)r[i].threads, r[i].gbps, r[i].memcpy_gbps, r[i].ratio, r[i].spread,
                r[i].verified ? "true" : "false");
    fprintf(f, "\n]}\n");
}

/* ---- the run ---- */

static void run_threads(result *r, bench *b, int rounds, uint64_t *expected) {
    tg_error err;
    memset(b->dst, 0xa5, b->dst_size);
    need(tg_plan_run(b->plan, b->dst, b->src, b->executor, &err), &err);
    const uint64_t sum = checksum(b->dst, b->dst_size);
    r->verified = sum == *expected;
    if (r->threads == 1) {
        need(tg_plan_verify(&r->verified, NULL, NULL, b->plan, b->dst, b->src, &err), &err);
        *expected = sum;
    }
    measure(r, b, rounds);
    print_row(r, r->w->dtype);
}

static bool run_workload(result *results, const workload *w, bool large, bool quick, const bench *shared,
                         const tg_executor *pool) {
    const int64_t *size = large ? w->large : w->small;
    tg_layout      dst, src;
    tg_error       err;
    tg_plan       *plan = NULL;
    bench          b = *shared;
    int64_t        dst_size, src_size;
    uint64_t       expected = 0;
    bool           right = true;
    make_layouts(&dst, &src, w, size);
    const tg_plan_params params = {&dst, &src, NULL, 0, 0};
    need(tg_plan_create(&plan, &params, &err), &err);
    need(tg_layout_nbytes(&dst_size, &dst, &err), &err);
    need(tg_layout_nbytes(&src_size, &src, &err), &err);
    fill_source(b.src, (size_t)src_size, w->dtype);
    b.plan = plan;
    b.dst_size = (size_t)dst_size;
    b.src_size = (size_t)src_size;
    b.flush_size = large ? b.flush_size : 0;
    b.repeats = large ? 1 : quick ? 4 : 60;
    for (int32_t t = 1; t <= MAX_THREADS; t++) {
        const copy_job copy = {b.dst, b.src, (size_t)(dst_size + src_size) / 2, (size_t)t};
        const result   r = {w, size[0], size[1], t, 0, 0, 0, 0, false};
        b.executor = t == 1 ? NULL : pool;
        b.copy = copy;
        results[t - 1] = r;
        run_threads(&results[t - 1], &b, quick ? 3 : large ? 7 : 15, &expected);
        right = right && results[t - 1].verified;
    }
    tg_plan_destroy(&plan);
    return right;
}

int main(int argc, char **argv) {
    static result results[2 * WORKLOADS * MAX_THREADS];
    bool          quick = false, right = true;
    const char   *json = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0) quick = true;
        else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) json = argv[++i];
        else {
            fprintf(stderr, "usage: bench_relayout [--quick] [--json FILE]\n");
            return 2;
        }
    }
    const size_t      most = quick ? (size_t)1 << 20 : (size_t)256 << 20;
    bench b = {NULL, NULL, buffer_make(most), buffer_make(most), buffer_make(most), 0, 0, most, {NULL, NULL, 0, 0}, 1};
    tg_threads       *threads = NULL;
    tg_error          err;
    need(tg_threads_create(&threads, MAX_THREADS, &err), &err);
    const tg_executor pool = tg_threads_executor(threads);
    print_header(stdout);
    printf("\nGB/s: bytes read + written; ratio: to memcpy of the same bytes in the same round; spread: median / "
           "best\n\n");
    printf("%-24s %-5s %13s %7s %4s %8s %8s %6s %7s\n", "workload", "type", "shape", "MiB", "thr", "GB/s", "memcpy",
           "ratio", "spread");
    int n = 0;
    for (int large = quick ? 0 : 1; large >= 0; large--)
        for (int i = 0; i < WORKLOADS; i++, n += MAX_THREADS)
            right = run_workload(&results[n], &workloads[i], large == 1, quick, &b, &pool) && right;
    if (json != NULL) {
        FILE *f = fopen(json, "w");
        if (f == NULL) {
            perror(json);
            return 4;
        }
        write_json(f, results, n);
        if (fclose(f) != 0) return 4;
    }
    tg_threads_destroy(&threads);
    free(b.dst);
    free(b.src);
    free(b.flush);
    return right ? 0 : 1;
}
