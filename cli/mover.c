/* Moving and checking a tensor while a person watches.
 *
 * Memory: both files are maps, and pages that were touched count as this process's memory until they are given
 * back. So they are given back after every RELEASE_BYTES that are moved; the contents stay in the files. A check may go
 * along columns, and come back to each page for each row: there they are given back when they are a good part of what
 * the machine has (u8[20000,20971] to {0,1}: 9.1 s, where they were given back every 25 ms; so 7.0 s).
 *
 * Interruption: a signal is only noted, and looked at between the steps of the plan. Looking over the whole tensor,
 * for the check and for losses, has no steps, so it is done in a child process, which can be ended at any time; a
 * thread in it looks after its memory.
 *
 * An input that another program makes shorter: touching what is gone raises SIGBUS. Zeros take its place, so that the
 * thread that met it can go on to the end of the step, and then the move fails, and cleans up, as for any other reason.
 *
 * Threads: no more than there are processors, since their waiting spins, and none for work that is done before
 * they have started. The library would take a second one earlier (256 KiB), where there is a pool already. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "mover.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RELEASE_BYTES = 64 << 20, WORTH_THREADS = 4 << 20 /* bytes */, TICK_MS = 100, PATIENCE_MS = 500, BAR = 32 };

/* ---- signals ------------------------------------------------------------------------------------- */

static volatile sig_atomic_t noted_signal = 0;

static void note_signal(int number) { noted_signal = number; }

void mover_watch_signals(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction now, then;
        memset(&now, 0, sizeof now);
        now.sa_handler = note_signal; /* no SA_RESTART: read() and write() return */
        /* What was ignored stays so, as for a program started with nohup. */
        if (sigaction(numbers[i], NULL, &then) == 0 && then.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &now, NULL);
    }
}

int mover_interrupted(void) { return noted_signal != 0 ? 128 + noted_signal : 0; }

bool mover_wait(int fd) {
    struct pollfd wait = {fd, POLLIN, 0};
    return poll(&wait, 1, TICK_MS) > 0;
}

/* ---- an input that becomes shorter ------------------------------------------------------------------ */

static uintptr_t input_begin, input_end, page_bytes;
static bool      input_lost; /* set by any thread */

static void stand_in(int number, siginfo_t *info, void *context) {
    const uintptr_t at = (uintptr_t)info->si_addr, page = at & ~(page_bytes - 1);
    (void)context;
    __atomic_store_n(&input_lost, true, __ATOMIC_RELAXED);
    if (at < input_begin || at >= input_end ||
        mmap((void *)page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        (void)signal(number, SIG_DFL); /* it comes again */
}

static void watch_input(tg_file *in) {
    struct sigaction now;
    memset(&now, 0, sizeof now);
    now.sa_sigaction = stand_in;
    now.sa_flags = SA_SIGINFO;
    page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    input_begin = (uintptr_t)tg_file_bytes(in);
    input_end = input_begin + (uintptr_t)tg_file_nbytes(in);
    (void)sigaction(SIGBUS, &now, NULL);
}

static bool is_input_lost(void) { return __atomic_load_n(&input_lost, __ATOMIC_RELAXED); }

static int check_input(void) {
    if (!is_input_lost()) return CLI_OK;
    return cli_fail(CLI_IO, "the input", "another program has made it shorter meanwhile");
}

/* ---- progress -------------------------------------------------------------------------------------- */

static double now_seconds(void) {
    struct timespec t = {0, 0};
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct progress {
    bool   shown, wanted;
    double start, last;
} progress;

static progress progress_start(void) {
    const double   now = now_seconds();
    const progress p = {false, cli_is_terminal(stderr), now, now};
    return p;
}

/* Whether it is time to draw again. */
static bool progress_is_due(progress *p) {
    const double now = now_seconds();
    if (!p->wanted || (now - p->start) * 1000 < PATIENCE_MS || (now - p->last) * 1000 < TICK_MS) return false;
    p->last = now;
    p->shown = true;
    return true;
}

const char *mover_speed(char *buf, int64_t bytes, double seconds) {
    enum { CAP = 32 };
    const double rate = seconds > 0 ? (double)bytes / seconds : 0;
    (void)snprintf(buf, CAP, rate < 1e9 ? "%.0f MB/s" : "%.1f GB/s", rate < 1e9 ? rate * 1e-6 : rate * 1e-9);
    return buf;
}

static void progress_draw(progress *p, double part, int64_t bytes) {
    char      bar[BAR + 1], speed[32];
    const int full = (int)(part * BAR);
    if (!progress_is_due(p)) return;
    for (int i = 0; i < BAR; i++) bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    (void)mover_speed(speed, (int64_t)(part * (double)bytes), p->last - p->start);
    fprintf(stderr, "\r  moving [%s] %3.0f %%  %s ", bar, 100 * part, speed);
    (void)fflush(stderr);
}

static void progress_tick(progress *p, const char *what) {
    if (!progress_is_due(p)) return;
    fprintf(stderr, "\r  %s, %.0f s ", what, p->last - p->start);
    (void)fflush(stderr);
}

static void progress_end(const progress *p) {
    if (p->shown) fputs("\r\033[K", stderr);
}

const char *mover_what(const tg_plan_params *params) {
    return params->dst->dtype != params->src->dtype ? "--convert" : "relayout";
}

/* ---- moving ------------------------------------------------------------------------------------------ */

static void release(const mover *m) {
    tg_file_release(m->in);
    tg_file_release(m->out);
}

static int run_steps(mover *m, const tg_executor *executor) {
    const int64_t steps = tg_plan_steps(m->plan);
    const double  bytes_per_step = steps > 0 ? (double)m->bytes / (double)steps : 0;
    double        held = 0;
    progress      p = progress_start();
    tg_error      err;
    int           status = CLI_OK;
    watch_input(m->in);
    for (int64_t i = 0; i < steps && status == CLI_OK && !is_input_lost(); i++) {
        const tg_status run = tg_plan_run_step(m->plan, i, m->dst, m->src, executor, &err);
        held += bytes_per_step;
        if (held >= RELEASE_BYTES) {
            release(m);
            held = 0;
        }
        progress_draw(&p, (double)(i + 1) / (double)steps, m->bytes);
        if (run != TG_OK) status = CLI_NO;
        else status = mover_interrupted();
    }
    m->seconds = now_seconds() - p.start;
    progress_end(&p);
    if (is_input_lost()) return check_input();
    if (status == CLI_NO) (void)cli_fail_library(mover_what(m->params), &err, "the input");
    return status;
}

int mover_run(mover *m) {
    tg_threads *threads = NULL;
    tg_error    err;
    if (m->threads <= 1 || m->bytes < WORTH_THREADS) return run_steps(m, NULL);
    if (tg_threads_create(&threads, m->threads, &err) != TG_OK) return cli_fail_library("--threads", &err, "");
    const tg_executor executor = tg_threads_executor(threads);
    const int         status = run_steps(m, &executor);
    tg_threads_destroy(&threads);
    return status;
}

/* ---- looking over the whole tensor ----------------------------------------------------------------- */

/* What the child tells; one write() to a pipe, so it arrives whole. */
typedef struct verdict {
    tg_status     status;
    bool          lost; /* the input became shorter */
    mover_finding finding;
    mover_losses  losses;
    tg_error      error;
} verdict;

_Static_assert(sizeof(verdict) <= 512, "POSIX writes this much to a pipe in one piece");

/* A question about source and destination, and what it is called while it takes long. */
typedef struct question {
    const char *name, *doing;
    void (*ask)(verdict *out, const mover *m);
} question;

static void ask_finding(verdict *v, const mover *m) {
    mover_finding *f = &v->finding;
    v->status = tg_plan_verify(&f->equal, f->coord, &f->offset, m->params, m->dst, m->src, &v->error);
}

static void ask_losses(verdict *v, const mover *m) {
    v->status = tg_plan_losses(&v->losses.overflowed, &v->losses.vanished, m->params, m->src, &v->error);
}

/* Does this process hold more of the machine's memory than a part of it? If nobody knows, it does. */
static bool holds_much(void) {
    enum { PART = 8 };
    const int64_t all = sysconf(_SC_PHYS_PAGES);
    long long     pages = -1; /* that are resident: the second number */
    FILE *const   file = fopen("/proc/self/statm", "r");
    if (file == NULL) return true;
    const bool known = fscanf(file, "%*d %lld", &pages) == 1 && all > 0;
    (void)fclose(file);
    return !known || pages > all / PART;
}

static void *keep_releasing(void *context) {
    const struct timespec tick = {0, TICK_MS * 1000000L / 4};
    for (;;) {
        (void)nanosleep(&tick, NULL);
        if (holds_much()) release(context);
    }
    return NULL;
}

/* The child's work; does not return. */
static void answer_and_end(int to, const question *q, const mover *m) {
    mover     copy = *m;
    verdict   v;
    pthread_t releaser;
    memset(&v, 0, sizeof v);
    (void)pthread_create(&releaser, NULL, keep_releasing, &copy); /* if not, it only takes more memory */
    q->ask(&v, m);
    v.lost = is_input_lost();
    _exit(write(to, &v, sizeof v) == (ssize_t)sizeof v ? 0 : 1);
}

/* Wait for the verdict; a status, or the one of a signal. */
static int listen_to(verdict *out, int from, const question *q) {
    progress      p = progress_start();
    ssize_t       got = -1;
    while (mover_interrupted() == 0 && !mover_wait(from)) progress_tick(&p, q->doing);
    if (mover_interrupted() == 0) got = read(from, out, sizeof *out);
    progress_end(&p);
    if (mover_interrupted() != 0) return mover_interrupted();
    return got == (ssize_t)sizeof *out ? CLI_OK
                                       : cli_fail(CLI_IO, q->name, "the child process ended before it was done");
}

static int ask_child(verdict *out, const question *q, const mover *m) {
    int ends[2];
    if (pipe(ends) != 0) return cli_fail(CLI_IO, q->name, "%s", strerror(errno));
    (void)fflush(NULL); /* or the child would print it again */
    const pid_t child = fork();
    if (child == 0) answer_and_end(ends[1], q, m);
    (void)close(ends[1]);
    int status = child > 0 ? listen_to(out, ends[0], q) : cli_fail(CLI_IO, q->name, "%s", strerror(errno));
    (void)close(ends[0]);
    if (child > 0) {
        (void)kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    }
    if (status == CLI_OK && out->lost) input_lost = true;
    if (status == CLI_OK) status = check_input();
    if (status == CLI_OK && out->status != TG_OK) status = cli_fail_library(q->name, &out->error, "the input");
    return status;
}

int mover_verify(mover_finding *out, mover *m) {
    static const question q = {"verify", "verifying", ask_finding};
    const double          start = now_seconds();
    verdict               v;
    const int             status = ask_child(&v, &q, m);
    if (status != CLI_OK) return status;
    m->verify_seconds = now_seconds() - start;
    *out = v.finding;
    return CLI_OK;
}

int mover_count_losses(mover_losses *out, const mover *m) {
    static const question q = {"relayout", "counting what the format does not hold", ask_losses};
    verdict               v;
    const int             status = ask_child(&v, &q, m);
    if (status == CLI_OK) *out = v.losses;
    return status;
}
