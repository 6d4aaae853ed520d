/* How fast moves are, against memcpy and against a copy that goes around the caches, in the same run.
 *
 *   bench_relayout [--size LNMSHT] [--threads 1,2] [--filter TEXT] [--rounds N] [--cpu MASK] [--lines]
 *                  [--json FILE] [--quick]
 *   bench_relayout --moves FILE [--threads 1,2] [--rounds N] [--cpu MASK] [--lines] [--json FILE] [--quick]
 *   bench_relayout --list | --help
 *
 * GB/s counts bytes read once and written once, padding included. memcpy moves (in + out) / 2 bytes between the
 * same two buffers with the same number of threads. All contenders take turns, round by round (rounds.h); ratios
 * are medians over rounds of the times inside one round. At L and N a third buffer is read before each sample, so
 * that the source is not in the cache, and a sample is one call (L) or at least 3 ms of calls; at T planning
 * is timed too. With two threads each has a CPU of its own. Padding is written in all of them. Every result is
 * verified by tg_plan_verify before it is timed, on one thread; on more threads, and from oneDNN, it must be the
 * same bytes.
 *
 * --lines adds copies of the lines that the move touches, without any work on elements, in the three fastest of
 * several ways (line_copies.h), and the work on elements alone, in the first-level cache (work.h). x limit is to the
 * fastest copy or the work, whichever is slower: below 1 is what is left to win (limits.h). Transposes, and moves of
 * sticks into the middle of lines of dst, have x_loop in the JSON: to the fastest loop that does nothing else.
 *
 * Where dst begins past a cache line, so it does for all contenders but one: x aligned is to the same move with dst at
 * a line, in the same rounds.
 *
 * --quick moves and verifies everything, at S and T if no sizes are given, and times one call of each contender: it
 * shows that all of them work. Nothing that it measures is printed; the JSON has it, marked as quick.
 *
 * --moves FILE measures others instead of the workloads, one a line, "SRC -> DST" (- is standard input, # begins a
 * comment), each as the size whose bytes its larger side comes near to. With --lines: how near is any move to what the
 * machine allows?
 *
 * --list prints every case as JSON for bench_peers.py, which does the same with NumPy and PyTorch. */
#define _DEFAULT_SOURCE
#include "copies.h"
#include "limits.h"
#include "listing.h"
#include "machine.h"
#include "moves.h"
#include "onednn.h"
#include "pinning.h"
#include "rounds.h"
#include "subject.h"
#include "workloads.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_NONE, POOL_OURS, POOL_OPENMP };
enum { FLUSH_BYTES = 256 << 20, EDGE_BYTES = 4 << 10 };

static const uint32_t ALL_CPU = TG_CPU_AVX2 | TG_CPU_AVX512 | TG_CPU_NEON;

typedef struct options {
    bool        quick, list, lines, help;
    const char *sizes, *filter, *json, *moves;
    bool        threads[3]; /* by number */
    int         rounds;     /* 0: by size */
    uint32_t    cpu;        /* bits of tg_cpu that may be used */
    bool        cpu_given;
} options;

/* Everything that rows share. */
typedef struct stage {
    options           opt;
    uint8_t          *src, *dst, *flush;
    size_t            side, flush_bytes; /* of src, and of dst, with some more for tiles at edges; of flush */
    const tg_executor *executor;
    FILE             *json;
    int               rows, wrong;
} stage;

/* ---- one row ---- */

typedef struct row {
    const workload *w;
    int             size;
    int32_t         threads;
    subject         tegula, aligned; /* aligned: the same, with dst at a cache line */
    onednn         *peer;
    limits          limits;
    bool            verified;
    uint64_t        sum; /* of the right result */
    rounds          r;
} row;

static void row_layouts(row *x, const stage *st) {
    char src[WORKLOAD_TEXT], dst[WORKLOAD_TEXT];
    workload_text(src, sizeof src, x->w->src, x->w, x->size);
    workload_text(dst, sizeof dst, x->w->dst, x->w, x->size);
    subject_layouts(&x->tegula, src, dst, ALL_CPU & ~st->opt.cpu);
    x->tegula.src = st->src;
    x->tegula.dst = st->dst + x->w->dst_offset;
}

static void row_threads(row *x, const stage *st, int32_t threads) {
    x->threads = threads;
    x->tegula.params.threads = threads;
    x->tegula.executor = threads == 1 ? NULL : st->executor;
    subject_plan(&x->tegula);
    x->aligned = x->tegula;
    x->aligned.dst = st->dst;
}

static bool same_result(const row *x) {
    return buffer_checksum(x->tegula.dst, (size_t)x->tegula.dst_bytes) == x->sum;
}

static void spoil(const row *x) { memset(x->tegula.dst, 0xa5, (size_t)x->tegula.dst_bytes); }

/* On one thread, against the definition. */
static bool row_verify(row *x, const stage *st) {
    row_threads(x, st, 1);
    buffer_fill(st->src, (size_t)x->tegula.src_bytes, x->tegula.src_layout.dtype);
    spoil(x);
    subject_run(&x->tegula);
    x->sum = buffer_checksum(x->tegula.dst, (size_t)x->tegula.dst_bytes);
    x->verified = subject_verify(&x->tegula);
    return x->verified;
}

static void row_onednn(row *x, const stage *st) {
    x->peer = onednn_create(&x->tegula.dst_layout, &x->tegula.src_layout, x->tegula.dst, st->src, x->threads);
    if (x->peer == NULL) return;
    spoil(x);
    onednn_run(x->peer);
    if (same_result(x)) return;
    fprintf(stderr, "%s: oneDNN gives other bytes, left out\n", x->w->name);
    onednn_destroy(x->peer);
    x->peer = NULL;
}

static void add_contenders(row *x, const stage *st, copy_job *jobs) {
    rounds *const  r = &x->r;
    const int      ours = x->threads == 1 ? POOL_NONE : POOL_OURS;
    const bool     tiny = x->size == SIZE_T;
    const copy_job copy = {x->tegula.dst, x->tegula.src, (size_t)(x->tegula.src_bytes + x->tegula.dst_bytes) / 2,
                           x->tegula.executor, part_memcpy};
    for (int i = 0; i < 4; i++) jobs[i] = copy;
    rounds_add(r, "memcpy", copy_run, &jobs[0], ours);
    rounds_add(r, "tegula", subject_run, &x->tegula, ours);
    if (part_ntcopy(1) != NULL) {
        jobs[1].part = part_ntcopy(1);
        rounds_add(r, "ntcopy", copy_run, &jobs[1], ours);
    }
    if (part_ntcopy(8) != NULL && !tiny) {
        jobs[2].part = part_ntcopy(8);
        rounds_add(r, "ntcopy8", copy_run, &jobs[2], ours);
    }
    if (x->w->dst_offset != 0) rounds_add(r, "aligned", subject_run, &x->aligned, ours);
    if (x->tegula.dst_bytes > 2 * x->tegula.src_bytes) { /* it writes, more than it reads */
        jobs[3].part = part_memset;
        jobs[3].size = (size_t)x->tegula.dst_bytes;
        rounds_add(r, "memset", copy_run, &jobs[3], ours);
    }
    if (tiny) rounds_add(r, "plan", subject_plan, &x->tegula, POOL_NONE);
    if (tiny) rounds_add(r, "plan+run", subject_plan_and_run, &x->tegula, POOL_NONE);
    if (st->opt.lines) limits_add(&x->limits, r, &x->tegula, x->w, st->side, ours);
    if (x->peer != NULL) rounds_add(r, "onednn", onednn_run, x->peer, x->threads == 1 ? POOL_NONE : POOL_OPENMP);
}

static void set_method(row *x, const stage *st) {
    rounds *const r = &x->r;
    const bool    cold = x->size == SIZE_L || x->size == SIZE_N;
    r->count = st->opt.rounds > 0 ? st->opt.rounds : st->opt.quick ? 1 : x->size == SIZE_L ? 7 : 15;
    r->sample_seconds = x->size == SIZE_L || st->opt.quick ? 0 : 3e-3;
    r->flush = st->flush;
    r->flush_bytes = cold ? st->flush_bytes : 0;
    r->guard = !st->opt.quick;
}

static void row_measure(row *x, const stage *st) {
    copy_job jobs[4];
    memset(&x->r, 0, sizeof x->r);
    if (!st->opt.quick || x->threads == 1) row_onednn(x, st);
    set_method(x, st);
    pin_threads(x->threads);
    add_contenders(x, st, jobs);
    rounds_run(&x->r);
    pin_threads(1);
    onednn_destroy(x->peer);
    x->peer = NULL;
}

/* ---- output ---- */

static double ratio_to(const row *x, const char *name) {
    const contender *c = rounds_find(&x->r, name);
    return c == NULL ? 0 : contender_ratio(c, rounds_find(&x->r, "tegula"), x->r.count);
}

/* To the faster one. */
static double ratio_to_both(const row *x, const char *name, const char *other) {
    const double a = ratio_to(x, name), b = ratio_to(x, other);
    return b > 0 && b < a ? b : a;
}

static double row_bytes(const row *x) { return (double)(x->tegula.src_bytes + x->tegula.dst_bytes); }

static void print_cpu(uint32_t cpu) {
    printf("--cpu %u: instruction sets that may be used:%s%s%s%s\n", (unsigned)cpu, cpu == 0 ? " none" : "",
           cpu & TG_CPU_AVX2 ? " AVX2" : "", cpu & TG_CPU_AVX512 ? " AVX-512" : "", cpu & TG_CPU_NEON ? " NEON" : "");
}

static void print_head(const options *opt) {
    if (opt->quick) printf("--quick: one call of each, to see that everything works; no number would mean anything\n");
    if (opt->cpu_given) print_cpu(opt->cpu);
    printf("\n%-22s %-11s %-4s %3s", "workload", "type", "size", "thr");
    if (!opt->quick)
        printf(" %9s %9s %8s %8s %8s %8s %7s", "GB/s", "ns", "x memcpy", "x ntcopy", "x limit", "x oneDNN", "spread");
    printf("\n");
}

static void print_ratio(double x) {
    if (x > 0) printf(" %8.2f", x);
    else printf(" %8s", "-");
}

static void print_times(const row *x) {
    const contender *c = rounds_find(&x->r, "tegula");
    const double     m = contender_median(c, x->r.count), aligned = ratio_to(x, "aligned");
    printf(" %9.1f %9.0f", row_bytes(x) / m * 1e-9, m * 1e9);
    print_ratio(ratio_to(x, "memcpy"));
    print_ratio(ratio_to_both(x, "ntcopy", "ntcopy8"));
    print_ratio(limits_of(&x->limits, &x->r, "tegula").all.x);
    print_ratio(ratio_to(x, "onednn"));
    printf(" %7.2f", m / contender_best(c, x->r.count));
    if (aligned > 0) printf(" x aligned %.2f,", aligned);
}

static void print_row(const row *x, bool quick) {
    printf("%-22s %-11s %-4c %3d", x->w->name, x->w->type, size_letters[x->size], (int)x->threads);
    if (!quick) print_times(x);
    printf(" %s%s\n", x->verified ? "verified" : "WRONG", x->r.noisy > 0 ? ", noisy" : "");
    fflush(stdout);
}

static void json_bound(FILE *f, const char *name, const bound *b) {
    if (b->name != NULL) fprintf(f, "   \"%s\": \"%s\", \"x_%s\": %.4f,\n", name, b->name, name, b->x);
}

static void json_limits(FILE *f, const row *x) {
    const bounds b = limits_of(&x->limits, &x->r, "tegula");
    json_bound(f, "limit", &b.all);
    json_bound(f, "machine", &b.machine);
    json_bound(f, "loop", &b.loop);
}

static void json_seconds(FILE *f, const row *x) {
    fprintf(f, "   \"seconds\": {");
    for (int k = 0; k < x->r.ncontenders; k++)
        fprintf(f, "%s\n    \"%s\": {\"median\": %.4g, \"best\": %.4g, \"x\": %.4f}", k == 0 ? "" : ",",
                x->r.c[k].name, contender_median(&x->r.c[k], x->r.count), contender_best(&x->r.c[k], x->r.count),
                ratio_to(x, x->r.c[k].name));
    fprintf(f, "}");
}

/* Notation text may have comments, with any characters. */
static void json_text(FILE *f, const char *text) {
    fputc('"', f);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fprintf(f, "\\%c", *text);
        else if ((unsigned char)*text < ' ') fprintf(f, "\\u%04x", (unsigned)*text);
        else fputc(*text, f);
    }
    fputc('"', f);
}

static void json_shape(FILE *f, const tg_layout *l) {
    for (int32_t d = 0; d < l->ndim; d++) fprintf(f, "%s%lld", d == 0 ? "" : ",", (long long)l->shape[d]);
}

static void json_row(FILE *f, const row *x, bool first) {
    char src[WORKLOAD_TEXT], dst[WORKLOAD_TEXT];
    workload_text(src, sizeof src, x->w->src, x->w, x->size);
    workload_text(dst, sizeof dst, x->w->dst, x->w, x->size);
    fprintf(f, "%s\n  {\"workload\": \"%s\", \"type\": \"%s\", \"size\": \"%c\", \"shape\": [", first ? "" : ",",
            x->w->name, x->w->type, size_letters[x->size]);
    json_shape(f, &x->tegula.src_layout);
    fprintf(f, "], \"threads\": %d,\n   \"src\": ", (int)x->threads);
    json_text(f, src);
    fprintf(f, ", \"dst\": ");
    json_text(f, dst);
    fprintf(f, ", ");
    fprintf(f, "\"bytes_src\": %lld, \"bytes_dst\": %lld, \"dst_offset\": %d,\n", (long long)x->tegula.src_bytes,
            (long long)x->tegula.dst_bytes, (int)x->w->dst_offset);
    fprintf(f, "   \"verified\": %s, \"rounds\": %d, \"noisy_rounds\": %d, \"others\": %.3f,\n",
            x->verified ? "true" : "false", x->r.count, x->r.noisy, x->r.others);
    json_limits(f, x);
    json_seconds(f, x);
    fprintf(f, "}");
    fflush(f);
}

/* ---- the run ---- */

static void report_row(stage *st, const row *x) {
    print_row(x, st->opt.quick);
    if (st->json != NULL) json_row(st->json, x, st->rows == 0);
    st->rows++;
    st->wrong += x->verified ? 0 : 1;
}

static int32_t most_threads(int size) { return size == SIZE_T ? 1 : 2; }

/* Is there a row of this size with the threads that were asked for? */
static bool has_threads(const options *opt, int size) {
    return opt->threads[1] || (opt->threads[2] && most_threads(size) == 2);
}

/* Whether w has a row at this size among those that were asked for. */
static bool is_chosen(const options *opt, const workload *w, int size) {
    return has_threads(opt, size) && workload_chosen(w, size, opt->sizes, opt->filter);
}

static void run_case(stage *st, const workload *w, int size) {
    static row x;
    memset(&x, 0, sizeof x);
    x.w = w;
    x.size = size;
    row_layouts(&x, st);
    if (!row_verify(&x, st)) fprintf(stderr, "%s, size %c: WRONG\n", w->name, size_letters[size]);
    for (int32_t t = 1; t <= most_threads(size); t++) {
        if (!st->opt.threads[t]) continue;
        row_threads(&x, st, t);
        spoil(&x);
        subject_run(&x.tegula);
        x.verified = x.verified && same_result(&x);
        row_measure(&x, st);
        report_row(st, &x);
    }
}

/* What the largest chosen case needs on one side; 0 if none is chosen. */
static size_t largest_side(const options *opt) {
    row    x;
    stage  st = {.opt = *opt};
    size_t most = 0;
    for (int i = 0; i < workload_count() * SIZES; i++) {
        const workload w = workload_at(i / SIZES);
        memset(&x, 0, sizeof x);
        x.w = &w;
        x.size = i % SIZES;
        if (!is_chosen(opt, x.w, x.size)) continue;
        row_layouts(&x, &st);
        if ((size_t)x.tegula.src_bytes > most) most = (size_t)x.tegula.src_bytes;
        if ((size_t)x.tegula.dst_bytes > most) most = (size_t)x.tegula.dst_bytes;
    }
    return most;
}

static void make_buffers(stage *st, size_t most, bool cold) {
    st->side = most + EDGE_BYTES;
    st->src = buffer_make(st->side);
    st->dst = buffer_make(st->side);
    if (!cold || st->opt.quick || st->flush != NULL) return;
    st->flush_bytes = FLUSH_BYTES;
    st->flush = buffer_make(FLUSH_BYTES);
}

static void free_buffers(stage *st) {
    free(st->src);
    free(st->dst);
    st->src = st->dst = NULL;
}

static void print_start(const stage *st) {
    machine_print(stdout);
    print_head(&st->opt);
}

static bool run_workloads(stage *st) {
    make_buffers(st, largest_side(&st->opt), strpbrk(st->opt.sizes, "LN") != NULL);
    print_start(st);
    for (int size = 0; size < SIZES; size++)
        for (int32_t i = 0; i < workload_count(); i++) {
            const workload w = workload_at(i);
            if (is_chosen(&st->opt, &w, size)) run_case(st, &w, size);
        }
    free_buffers(st);
    return true;
}

/* ---- other moves ---- */

/* The size that so many bytes on the larger side come near to; below 64 KiB planning matters, as at T. */
static int size_near(int64_t bytes) {
    static const int64_t least[SIZES] = {128 << 20, 24 << 20, 2 << 20, 384 << 10, 64 << 10, 0};
    int                  size = 0;
    while (bytes < least[size]) size++;
    return size;
}

static bool run_line(void *context, int number, const char *text, const char *src, const char *dst) {
    stage *const st = context;
    char         name[32], type[32];
    subject      s;
    if (strlen(src) >= WORKLOAD_TEXT || strlen(dst) >= WORKLOAD_TEXT)
        return fprintf(stderr, "bench_relayout: line %d: a layout has more than %d characters\n", number,
                       WORKLOAD_TEXT - 1), false;
    snprintf(name, sizeof name, "line %d", number);
    if (!subject_can(&s, src, dst, ALL_CPU & ~st->opt.cpu, name)) return false;
    const char *const from = tg_dtype_name(s.src_layout.dtype), *const to = tg_dtype_name(s.dst_layout.dtype);
    const int64_t     most = s.src_bytes > s.dst_bytes ? s.src_bytes : s.dst_bytes;
    const workload    w = {.name = name, .type = type, .src = src, .dst = dst};
    const int         size = size_near(most);
    if (!buffers_fit("bench_relayout", text, most)) return false;
    if (!has_threads(&st->opt, size))
        return fprintf(stderr, "bench_relayout: line %d: so small a move is timed on one thread only\n", number), false;
    snprintf(type, sizeof type, strcmp(from, to) == 0 ? "%s" : "%s > %s", from, to);
    printf("%s\n", text);
    make_buffers(st, (size_t)most, size <= SIZE_N);
    run_case(st, &w, size);
    free_buffers(st);
    return true;
}

static bool run_moves(stage *st) {
    print_start(st);
    return moves_read("bench_relayout", st->opt.moves, run_line, st);
}

/* ---- command line ---- */

static void print_usage(void) {
    printf("usage: bench_relayout [--size LNMSHT] [--threads 1,2] [--filter TEXT] [--rounds N]\n"
           "                      [--cpu MASK] [--lines] [--json FILE] [--quick]\n"
           "       bench_relayout --moves FILE [--threads 1,2] [--rounds N] [--cpu MASK] [--lines]\n"
           "                      [--json FILE] [--quick]\n"
           "       bench_relayout --list | --help\n"
           "sizes: L 256 MiB, N 64 MiB, M 8 MiB, S 512 KiB, H 256 KiB,\n"
           "  T 4 KiB (one thread only); --filter: part of the name\n"
           "--rounds: at most %d; 0: by size\n"
           "--cpu: sum of instruction sets that may be used: 0 none, 1 AVX2, 2 AVX-512, 4 NEON\n"
           "--lines: also copy the lines that a move touches, without work on elements, do the\n"
           "  work on elements alone, and for transposes and sticks inside of lines both in a loop\n"
           "--moves: instead of workloads, lines 'SRC -> DST' of FILE, but for comments (#); - is\n"
           "  standard input\n"
           "--quick: does everything work? One call of each, at S and T unless --size is given;\n"
           "  no times and no ratios, since those of one call stand for nothing\n",
           MAX_ROUNDS);
}

/* Digits and nothing else; base 0: hexadecimal as well, after 0x. */
static bool read_number(unsigned long *out, const char *text, int base, unsigned long most) {
    char *end = NULL;
    *out = isdigit((unsigned char)text[0]) ? strtoul(text, &end, base) : 0;
    return end != NULL && *end == '\0' && *out <= most;
}

static bool set_sizes(options *o, const char *value) {
    o->sizes = value;
    return value[0] != '\0' && value[strspn(value, size_letters)] == '\0';
}

static bool set_threads(options *o, const char *value) {
    o->threads[1] = o->threads[2] = false;
    for (const char *c = value; *c == '1' || *c == '2'; c += 2) {
        o->threads[*c - '0'] = true;
        if (c[1] != ',') return c[1] == '\0';
    }
    return false;
}

static bool set_filter(options *o, const char *value) {
    o->filter = value;
    return true;
}

static bool set_rounds(options *o, const char *value) {
    unsigned long n;
    if (!read_number(&n, value, 10, MAX_ROUNDS)) return false;
    o->rounds = (int)n;
    return true;
}

static bool set_cpu(options *o, const char *value) {
    unsigned long mask;
    if (!read_number(&mask, value, 0, ALL_CPU)) return false;
    o->cpu = (uint32_t)mask;
    o->cpu_given = true;
    return true;
}

static bool set_moves(options *o, const char *value) {
    o->moves = value;
    return value[0] != '\0';
}

static bool set_json(options *o, const char *value) {
    o->json = value;
    return value[0] != '\0';
}

typedef struct valued_option {
    const char *name, *wanted;
    bool (*set)(options *o, const char *value); /* false: value is not what is wanted */
} valued_option;

_Static_assert(MAX_ROUNDS == 64, "a sentence below says so");
static const valued_option valued_options[] = {
    {"--size", "some of the letters LNMSHT", set_sizes},
    {"--threads", "1, 2 or 1,2", set_threads},
    {"--filter", "part of a workload's name", set_filter},
    {"--rounds", "a number from 0, which is by size, to 64", set_rounds},
    {"--cpu", "a number from 0 to 7, the sum of 1 AVX2, 2 AVX-512 and 4 NEON", set_cpu},
    {"--json", "the name of a file", set_json},
    {"--moves", "the name of a file", set_moves},
};

/* value: NULL at the end of the command line. */
static bool set_option(options *o, const char *name, const char *value) {
    for (size_t i = 0; i < sizeof valued_options / sizeof valued_options[0]; i++) {
        const valued_option *const v = &valued_options[i];
        if (strcmp(name, v->name) != 0) continue;
        if (value != NULL && v->set(o, value)) return true;
        if (value == NULL) fprintf(stderr, "bench_relayout: %s wants %s\n", name, v->wanted);
        else fprintf(stderr, "bench_relayout: %s wants %s, not '%s'\n", name, v->wanted, value);
        return false;
    }
    fprintf(stderr, "bench_relayout: there is no option '%s'; --help lists them\n", name);
    return false;
}

static bool *flag_of(options *o, const char *name) {
    return strcmp(name, "--quick") == 0   ? &o->quick
           : strcmp(name, "--lines") == 0 ? &o->lines
           : strcmp(name, "--list") == 0  ? &o->list
           : strcmp(name, "--help") == 0  ? &o->help
                                          : NULL;
}

static bool read_options(options *o, int argc, char **argv) {
    const options defaults = {.threads = {false, true, true}, .cpu = UINT32_MAX};
    *o = defaults;
    for (int i = 1; i < argc && !o->help; i++) {
        bool *const flag = flag_of(o, argv[i]);
        if (flag != NULL) *flag = true;
        else if (!set_option(o, argv[i], argv[i + 1])) return false;
        else i++;
    }
    if (o->moves != NULL && (o->sizes != NULL || o->filter != NULL || o->list))
        return fprintf(stderr,
                       "bench_relayout: --size, --filter and --list are for workloads, and --moves reads others\n"),
               false;
    if (o->sizes == NULL) o->sizes = o->quick ? "ST" : size_letters;
    return true;
}

static bool open_json(stage *st) {
    if (st->opt.json == NULL) return true;
    st->json = fopen(st->opt.json, "w");
    if (st->json == NULL) {
        perror(st->opt.json);
        return false;
    }
    fprintf(st->json, "{\"schema\": \"tegula.bench/1\",%s ", st->opt.quick ? " \"quick\": true," : "");
    if (st->opt.cpu_given) fprintf(st->json, "\"cpu_mask\": %u, ", (unsigned)st->opt.cpu);
    fprintf(st->json, "\"machine\": ");
    machine_json(st->json);
    fprintf(st->json, ",\n \"rows\": [");
    return true;
}

static bool close_json(stage *st) {
    if (st->json == NULL) return true;
    fprintf(st->json, "\n]}\n");
    if (fclose(st->json) == 0) return true;
    perror(st->opt.json);
    return false;
}

/* Is there anything to measure? If not, files stay as they are. */
static bool can_start(const options *o) {
    if (o->moves != NULL) return moves_can_read("bench_relayout", o->moves);
    if (largest_side(o) > 0) return true;
    fprintf(stderr, "bench_relayout: no workload of such a name has such sizes and threads\n");
    return false;
}

int main(int argc, char **argv) {
    stage st = {.rows = 0};
    if (!read_options(&st.opt, argc, argv)) return 2;
    if (st.opt.help) return print_usage(), 0;
    if (st.opt.list) return list_cases(st.opt.sizes, st.opt.filter), 0;
    if (st.opt.threads[2] && pin_cpus() < 2) {
        fprintf(stderr, "bench_relayout: there is one CPU to use; rows of two threads are left out\n");
        st.opt.threads[2] = false;
    }
    tg_threads *threads = NULL;
    tg_error    err;
    need(tg_threads_create(&threads, 2, &err), &err);
    const tg_executor pool = tg_threads_executor(threads);
    st.executor = &pool;
    if (!can_start(&st.opt)) return 2;
    if (!open_json(&st)) return 4;
    const bool all = st.opt.moves != NULL ? run_moves(&st) : run_workloads(&st);
    const bool written = close_json(&st);
    tg_threads_destroy(&threads);
    free(st.flush);
    return st.wrong > 0 ? 1 : !all ? 2 : written ? 0 : 4;
}
