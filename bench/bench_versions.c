/* Several builds of the library, one process: what a change brought.
 *
 *     ninja -C build bench/bench_versions
 *     build/bench/bench_versions --size S --filter c.tstick old/libtegula.so build/libtegula.so
 *     echo 'f16[640,777] -> f16[640,777]{0,1}' | build/bench/bench_versions --moves - OLD NEW
 *
 * One thread, or with --threads 2 two, each on a CPU of its own, of one pool for all. All builds and memcpy of (in +
 * out) / 2 bytes take turns (rounds.h); printed are the ratio of each to memcpy, and how many times faster the last
 * build is than the first one. With --plain the last LIB goes once more, as the last build, without any instruction
 * set: loops in C, which no move should be slower than. --plan times plans instead of moves, in nanoseconds. Where dst
 * begins inside of a line (workloads m) the same move of the last build to a dst at a line takes the place of memcpy.
 * Results are compared with those of the first build, not with the definition: that is the tests' work. Builds must
 * have the same header. */
#define _GNU_SOURCE
#include "copies.h"
#include "moves.h"
#include "pinning.h"
#include "rounds.h"
#include "workloads.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(SIZES == 6, "a sentence below names them");
enum { MAX_BUILDS = 6, ROUNDS = 15, LARGE_ROUNDS = 7, LARGE_SIDE = 32 << 20, FLUSH_SIDE = 256 << 20 };

typedef struct build {
    const char *path;
    uint32_t    without; /* instruction sets, tg_cpu */
    __typeof__(&tg_desc_parse)    parse;
    __typeof__(&tg_layout_nbytes) nbytes;
    __typeof__(&tg_plan_init)     plan_init;
    __typeof__(&tg_plan_run)      plan_run;
} build;

typedef struct move {
    const build   *by;
    const char    *name; /* for people */
    tg_desc        src_desc, dst_desc;
    tg_plan_params params;
    tg_plan        plan;
    int64_t        src_bytes, dst_bytes;
    void          *dst;
    const void    *src;
    const tg_executor *executor; /* NULL: the calling thread */
} move;

typedef struct options {
    const char *sizes, *filter, *moves, *threads;
    bool        plan, plain;
    tg_executor pool; /* of one thread: none */
    build       builds[MAX_BUILDS];
    int         nbuilds;
} options;

static void *symbol_of(void *library, const char *path, const char *name) {
    void *const symbol = dlsym(library, name);
    if (symbol == NULL) fprintf(stderr, "bench_versions: %s has no %s\n", path, name), exit(2);
    return symbol;
}

static void build_open(build *b, const char *path) {
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (library == NULL) fprintf(stderr, "bench_versions: %s\n", dlerror()), exit(2);
    b->path = path;
    *(void **)&b->parse = symbol_of(library, path, "tg_desc_parse");
    *(void **)&b->nbytes = symbol_of(library, path, "tg_layout_nbytes");
    *(void **)&b->plan_init = symbol_of(library, path, "tg_plan_init");
    *(void **)&b->plan_run = symbol_of(library, path, "tg_plan_run");
}

static bool good(const move *m, tg_status status, const tg_error *err) {
    if (status != TG_OK) fprintf(stderr, "bench_versions: %s: %s: %s\n", m->name, m->by->path, err->message);
    return status == TG_OK;
}

static const tg_executor *executor_of(const options *o) { return o->pool.threads > 1 ? &o->pool : NULL; }

static bool move_init(move *m, const options *o, const build *by, const char *name, const char *src,
                      const char *dst) {
    static const uint64_t zero[2];
    tg_error              err;
    memset(m, 0, sizeof *m);
    m->by = by;
    m->name = name;
    m->executor = executor_of(o);
    m->params = (tg_plan_params){.pad = zero, .convert = true, .threads = o->pool.threads, .without = by->without};
    m->params.src = &m->src_desc.layout;
    m->params.dst = &m->dst_desc.layout;
    return good(m, by->parse(&m->src_desc, src, strlen(src), &err), &err) &&
           good(m, by->parse(&m->dst_desc, dst, strlen(dst), &err), &err) &&
           good(m, by->nbytes(&m->src_bytes, m->params.src, &err), &err) &&
           good(m, by->nbytes(&m->dst_bytes, m->params.dst, &err), &err) &&
           good(m, by->plan_init(&m->plan, &m->params, &err), &err);
}

static void run_move(void *context) {
    move *const m = context;
    tg_error    err;
    if (!good(m, m->by->plan_run(&m->plan, m->dst, m->src, m->executor, &err), &err)) exit(1);
}

static void run_plan(void *context) {
    move *const m = context;
    tg_error    err;
    if (!good(m, m->by->plan_init(&m->plan, &m->params, &err), &err)) exit(1);
}

/* All builds must make the same bytes. false: they do not, which is said. */
static bool same_bytes(move *moves, int n) {
    uint64_t first = 0;
    for (int i = 0; i < n; i++) {
        memset(moves[i].dst, 0xA5, (size_t)moves[i].dst_bytes);
        run_move(&moves[i]);
        const uint64_t sum = buffer_checksum(moves[i].dst, (size_t)moves[i].dst_bytes);
        if (i == 0) first = sum;
        if (sum != first) return fprintf(stderr, "bench_versions: %s makes other bytes\n", moves[i].by->path), false;
    }
    return true;
}

/* The first contender is the one that the others are compared with. */
static void print_row(const options *o, const rounds *r, const char *name, int64_t bytes) {
    printf("%-44s %9.1f", name, o->plan ? 0.0 : (double)(2 * bytes) / contender_median(&r->c[0], r->count) * 1e-9);
    for (int i = 1; i <= o->nbuilds; i++)
        printf(" %8.2f", o->plan ? contender_median(&r->c[i], r->count) * 1e9
                                 : contender_ratio(&r->c[0], &r->c[i], r->count));
    printf("   x %.2f\n", contender_ratio(&r->c[1], &r->c[o->nbuilds], r->count));
    fflush(stdout);
}

/* false: the move cannot be made, or not by all in the same way. */
static bool compare(const options *o, const char *name, const char *src_text, const char *dst_text, int offset) {
    static move moves[MAX_BUILDS + 1];
    static void *flush;
    for (int i = 0; i < o->nbuilds; i++)
        if (!move_init(&moves[i], o, &o->builds[i], name, src_text, dst_text)) return false;
    move *const aligned = &moves[o->nbuilds];
    if (!move_init(aligned, o, &o->builds[o->nbuilds - 1], name, src_text, dst_text)) return false;
    const int64_t src_bytes = moves[0].src_bytes, dst_bytes = moves[0].dst_bytes;
    const int64_t most = src_bytes > dst_bytes ? src_bytes : dst_bytes;
    const bool    large = most >= LARGE_SIDE && !o->plan;
    if (!buffers_fit("bench_versions", name, most)) return false;
    if (large && flush == NULL) flush = buffer_make(FLUSH_SIDE);
    void *const src = buffer_make((size_t)most), *const dst = buffer_make((size_t)(most + offset));
    buffer_fill(src, (size_t)src_bytes, moves[0].params.src->dtype);
    copy_job copy = {dst, src, (size_t)((src_bytes + dst_bytes) / 2), executor_of(o), part_memcpy};
    rounds   r = {.count = large ? LARGE_ROUNDS : ROUNDS, .sample_seconds = large ? 0 : 3e-3};
    r.flush = flush;
    r.flush_bytes = large ? FLUSH_SIDE : 0;
    aligned->src = src;
    aligned->dst = dst;
    if (offset > 0) rounds_add(&r, "aligned", o->plan ? run_plan : run_move, aligned, 0);
    else rounds_add(&r, "memcpy", copy_run, &copy, 0);
    for (int i = 0; i < o->nbuilds; i++) {
        moves[i].src = src;
        moves[i].dst = (uint8_t *)dst + offset;
        rounds_add(&r, o->builds[i].path, o->plan ? run_plan : run_move, &moves[i], 0);
    }
    const bool same = same_bytes(moves, o->nbuilds);
    if (same) {
        rounds_run(&r);
        print_row(o, &r, name, (src_bytes + dst_bytes) / 2);
    }
    free(src);
    free(dst);
    return same;
}

static bool compare_table(const options *o) {
    bool all = true, none = true;
    for (int32_t i = 0; i < workload_count(); i++) {
        const workload w = workload_at(i);
        for (int size = 0; size < SIZES; size++) {
            char src[WORKLOAD_TEXT], dst[WORKLOAD_TEXT], name[WORKLOAD_TEXT];
            if (!workload_chosen(&w, size, o->sizes, o->filter)) continue;
            none = false;
            workload_text(src, sizeof src, w.src, &w, size);
            workload_text(dst, sizeof dst, w.dst, &w, size);
            snprintf(name, sizeof name, "%s %c", w.name, size_letters[size]);
            all &= compare(o, name, src, dst, w.dst_offset);
        }
    }
    if (none)
        fprintf(stderr, "bench_versions: no workload of these sizes (%s) has '%s' in its name\n", o->sizes, o->filter);
    return all && !none;
}

static bool compare_line(void *context, int number, const char *text, const char *src, const char *dst) {
    (void)number;
    return compare(context, text, src, dst, 0);
}

static const char **value_of(options *o, const char *name) {
    return strcmp(name, "--size") == 0      ? &o->sizes
           : strcmp(name, "--filter") == 0  ? &o->filter
           : strcmp(name, "--moves") == 0   ? &o->moves
           : strcmp(name, "--threads") == 0 ? &o->threads
                                            : NULL;
}

static bool wrong(const char *option, const char *why, const char *value) {
    fprintf(stderr, "bench_versions: %s %s: '%s'\n", option, why, value);
    return false;
}

static bool add_plain(options *o) {
    if (o->nbuilds == 0) return true; /* which is said later */
    if (o->nbuilds == MAX_BUILDS) return wrong("up to 5 LIBs", "are compared with --plain, not", o->builds[5].path);
    o->builds[o->nbuilds] = o->builds[o->nbuilds - 1];
    o->builds[o->nbuilds++].without = TG_CPU_AVX2 | TG_CPU_AVX512 | TG_CPU_NEON;
    return true;
}

static bool check_options(const options *o) {
    if (o->nbuilds == 0) return fprintf(stderr, "bench_versions: no LIB is given\n"), false;
    if (o->sizes[0] == '\0' || strspn(o->sizes, size_letters) != strlen(o->sizes))
        return wrong("--size", "wants some of the letters LNMSHT", o->sizes);
    if (strcmp(o->threads, "1") != 0 && strcmp(o->threads, "2") != 0)
        return wrong("--threads", "wants 1 or 2", o->threads);
    if (o->moves != NULL && (o->sizes != size_letters || o->filter != NULL))
        return wrong("--size and --filter", "choose workloads, and --moves reads others", o->moves);
    return true;
}

static bool read_options(options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char **const value = value_of(o, argv[i]);
        if (value != NULL && argv[i + 1] == NULL) return wrong("a value", "is missing behind", argv[i]);
        if (value != NULL) *value = argv[++i];
        else if (strcmp(argv[i], "--plan") == 0) o->plan = true;
        else if (strcmp(argv[i], "--plain") == 0) o->plain = true;
        else if (argv[i][0] == '-') return wrong("there", "is no such option", argv[i]);
        else if (o->nbuilds == MAX_BUILDS) return wrong("up to 6 LIBs", "are compared, this is one more", argv[i]);
        else build_open(&o->builds[o->nbuilds++], argv[i]);
    }
    return (!o->plain || add_plain(o)) && check_options(o);
}

/* Its threads end with the process. */
static tg_executor pool_of_two(void) {
    tg_threads *threads = NULL;
    tg_error    err;
    if (tg_threads_create(&threads, 2, &err) != TG_OK) fprintf(stderr, "bench_versions: %s\n", err.message), exit(2);
    if (pin_cpus() < 2) fprintf(stderr, "bench_versions: two threads share the one CPU that this process may use\n");
    pin_threads(2);
    return tg_threads_executor(threads);
}

int main(int argc, char **argv) {
    static options o = {.sizes = size_letters, .threads = "1", .pool.threads = 1};
    if (!read_options(&o, argc, argv)) {
        fprintf(stderr, "usage: bench_versions [--size LNMSHT] [--filter NAME] [--moves FILE] [--plan]\n"
                        "                      [--plain] [--threads 1|2] LIB [LIB ...]\n"
                        "LIB: up to 6 files libtegula.so; FILE: lines 'SRC -> DST', - is standard input\n");
        return 2;
    }
    if (o.threads[0] == '2') o.pool = pool_of_two();
    printf("%-44s %9s", "move", o.plan ? "" : "memcpy GB/s");
    for (int i = 0; i < o.nbuilds; i++) printf(" %8.8s", o.plan ? "ns" : "x memcpy");
    printf("   last x first\n");
    const bool all = o.moves != NULL ? moves_read("bench_versions", o.moves, compare_line, &o) : compare_table(&o);
    return all ? 0 : 1;
}
