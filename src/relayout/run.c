/* Running a plan: units to rectangles to kernel calls, and the padding before them.
 *
 * A unit walks its block of rows and its chunk of columns by the linear steps of both sides; where
 * neither side's digits carry, that is one kernel call. The offsets of a side advance by its slope and
 * are evaluated again only where the side itself carries. */
#include "relayout/plan.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/stream.h"

#include <string.h>

enum {
    TASK_BYTES = 64 << 10, /* a task with less work than this costs more than it brings */
    TASKS_PER_THREAD = 4,  /* so that threads end together */
    FILL_BYTES = 1 << 20
};

typedef struct job {
    const tg_plan *plan;
    uint8_t       *dst;
    const uint8_t *src;
    int64_t        first, count; /* units, or for filling elements */
    int64_t        tasks;
    int64_t        bad;          /* src offset of an integer that did not fit, or -1; atomic */
} job;

/* A side's place along one dimension, and how many positions its current step still holds. */
typedef struct walker {
    const tg_side *side;
    int32_t        dim; /* TG_NO_ROW: a single position */
    tg_step        now;
} walker;

static void walker_look(walker *w, const int64_t *x) {
    const tg_step still = {0, 0, INT64_MAX};
    w->now = w->dim == TG_NO_ROW ? still : tg_side_step(w->side, w->dim, x);
}

/* Go n positions on, n <= now.length; x is the coordinate there. */
static void walker_advance(walker *w, int64_t n, const int64_t *x) {
    if (w->now.length == n) {
        walker_look(w, x);
        return;
    }
    w->now.offset += w->now.slope * n;
    w->now.length -= n;
}

/* ---- one unit ---- */

typedef struct window {
    int64_t row, rows_end, col, cols_end;
} window;

static void report(job *j, int64_t src_offset) {
    int64_t none = -1;
    (void)__atomic_compare_exchange_n(&j->bad, &none, src_offset, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static bool move_rect(job *j, const tg_rect *r) {
    const tg_kernel *k = &j->plan->kernel;
    const int64_t    bad = k->move(k, j->dst, j->src, r);
    if (bad < 0) return true;
    report(j, r->src.first + bad / r->cols * r->src.row + bad % r->cols * r->src.col);
    return false;
}

/* All columns of some rows along which both sides are linear. */
static bool move_rows(job *j, tg_rect *r, int64_t dst_first, int64_t src_first, int64_t *x, const window *w) {
    const tg_plan *p = j->plan;
    walker         d = {&p->dst, p->col, {0, 0, 0}}, s = {&p->src, p->col, {0, 0, 0}};
    x[p->col] = w->col;
    walker_look(&d, x);
    walker_look(&s, x);
    for (;;) {
        const int64_t left = w->cols_end - x[p->col];
        r->cols = tg_min(tg_min(left, p->tile_cols), tg_min(d.now.length, s.now.length));
        r->dst.first = dst_first + d.now.offset;
        r->src.first = src_first + s.now.offset;
        r->dst.col = d.now.slope;
        r->src.col = s.now.slope;
        if (!move_rect(j, r)) return false;
        if (r->cols == left) return true;
        x[p->col] += r->cols;
        walker_advance(&d, r->cols, x);
        walker_advance(&s, r->cols, x);
    }
}

static bool move_window(job *j, int64_t *x, const window *w) {
    const tg_plan *p = j->plan;
    const int32_t  fixed = p->row == TG_NO_ROW ? p->col : p->row;
    const int64_t dst_base = tg_side_base(&p->dst, p->col, fixed, x),
                  src_base = tg_side_base(&p->src, p->col, fixed, x);
    walker         d = {&p->dst, p->row, {0, 0, 0}}, s = {&p->src, p->row, {0, 0, 0}};
    for (int64_t row = w->row; row < w->rows_end;) {
        if (p->row != TG_NO_ROW) x[p->row] = row;
        walker_look(&d, x);
        walker_look(&s, x);
        tg_rect r = {tg_min(w->rows_end - row, tg_min(d.now.length, s.now.length)), 0,
                     {0, d.now.slope, 0}, {0, s.now.slope, 0}};
        if (!move_rows(j, &r, dst_base + d.now.offset, src_base + s.now.offset, x, w)) return false;
        row += r.rows;
    }
    return true;
}

/* Units [first, end); those that only continue the columns of one block of rows are done at once. */
static void move_units(job *j, int64_t first, int64_t end) {
    const tg_plan *p = j->plan;
    const int64_t  rows = p->row == TG_NO_ROW ? 1 : p->size[p->row];
    while (first < end && __atomic_load_n(&j->bad, __ATOMIC_RELAXED) < 0) {
        int64_t       x[TG_MOVE_DIMS];
        const int64_t chunk = first % p->col_chunks, chunks = tg_min(end - first, p->col_chunks - chunk);
        int64_t       rest = first / p->col_chunks;
        const int64_t block = rest % p->row_blocks;
        rest /= p->row_blocks;
        memset(x, 0, (size_t)p->ndim * sizeof x[0]);
        for (int32_t i = p->nouter; i-- > 0; rest /= p->size[p->outer[i]]) x[p->outer[i]] = rest % p->size[p->outer[i]];
        const window w = {block * p->row_block, tg_min((block + 1) * p->row_block, rows), chunk * p->col_chunk,
                          tg_min((chunk + chunks) * p->col_chunk, p->size[p->col])};
        if (!move_window(j, x, &w)) return;
        first += chunks;
    }
}

/* ---- tasks ---- */

/* Where task i of n begins when `count` things are shared out. count * n fits: n is small. */
static int64_t share(int64_t count, int64_t n, int64_t i) { return count / n * i + tg_min(count % n, i); }

static void move_task(void *arg, size_t index) {
    job          *j = arg;
    const int64_t i = (int64_t)index;
    move_units(j, j->first + share(j->count, j->tasks, i), j->first + share(j->count, j->tasks, i + 1));
    if (j->plan->kernel.stream) tg_stream_end();
}

static void fill_task(void *arg, size_t index) {
    job          *j = arg;
    const int64_t i = (int64_t)index, from = share(j->count, j->tasks, i);
    (void)tg_fill(j->dst, from, share(j->count, j->tasks, i + 1) - from, j->plan->pad, j->plan->dst_layout.elem_bits);
}

static void run_tasks(job *j, const tg_executor *e, void (*task)(void *, size_t), int64_t bytes) {
    const tg_plan *p = j->plan;
    const int64_t  threads = e == NULL || p->serial ? 1 : e->threads;
    int64_t        tasks = threads > 1 ? tg_min(threads * TASKS_PER_THREAD, bytes / TASK_BYTES) : 1;
    if (tasks > 1) tasks = tg_max(tasks, tg_min(p->threads, bytes / TASK_BYTES));
    j->tasks = tg_max(tg_min(tasks, j->count), 1);
    if (j->tasks == 1) task(j, 0);
    else e->run(e->context, task, j, (size_t)j->tasks);
}

static void fill_padding(const tg_plan *p, void *dst, const tg_executor *e) {
    job j = {p, dst, NULL, 0, p->dst_layout.span, 1, -1};
    run_tasks(&j, e, fill_task, p->dst_layout.span / 8 * p->dst_layout.elem_bits);
}

static tg_status run_units(const tg_plan *p, int64_t first, int64_t end, void *dst, const void *src,
                           const tg_executor *e, tg_error *err) {
    job j = {p, dst, src, first, end - first, 1, -1};
    if (end <= first) return TG_OK;
    int64_t bytes;
    if (!tg_mul(&bytes, end - first, p->unit_bytes)) bytes = INT64_MAX;
    run_tasks(&j, e, move_task, bytes);
    if (j.bad < 0) return TG_OK;
    const tg_word word = tg_ref_load(src, j.bad, p->src_layout.elem_bits);
    return tg_fail(err, TG_ERR_OVERFLOW, "value %d at element %d of src does not fit %s in %d bits",
                   tg_ref_int(p->src_encoding, word), j.bad,
                   p->dst_layout.format == TG_FORMAT_NATIVE ? tg_dtype_name(p->dst_layout.dtype)
                                                            : tg_format_name(p->dst_layout.format),
                   (int64_t)p->dst_layout.elem_bits);
}

tg_status tg_plan_run(const tg_plan *plan, void *dst, const void *src, const tg_executor *executor, tg_error *err) {
    if (plan->write_pad) fill_padding(plan, dst, executor);
    return run_units(plan, 0, plan->units, dst, src, executor, err);
}

tg_status tg_plan_run_step(const tg_plan *plan, int64_t step, void *dst, const void *src, const tg_executor *executor,
                           tg_error *err) {
    if (step < 0 || step >= plan->steps)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: step %d is not in [0, %d)", step, plan->steps);
    if (step == 0 && plan->write_pad) fill_padding(plan, dst, executor);
    const int64_t first = step * plan->units_per_step;
    return run_units(plan, first, tg_min(plan->units, first + plan->units_per_step), dst, src, executor, err);
}
