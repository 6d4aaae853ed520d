/* Running a plan: ranges of groups as tasks. */
#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "kernels/stream.h"
#include "relayout/plan.h"

enum {
    TASKS_PER_THREAD = 4, /* where work is shared out in several tasks for each */
    FILL_GRAIN = 4096     /* elements */
};

typedef struct job {
    const tg_plan_private *plan;
    uint8_t               *dst;
    const uint8_t         *src;
    int64_t                first, count, grain; /* groups; for filling, elements in multiples of grain */
    int64_t                tasks;
    int64_t                bad;                 /* src offset of an integer that did not fit, or -1; atomic */
} job;

/* Where task i of n begins when `count` things are shared out in multiples of `grain`. i <= n, both small. */
static int64_t share(int64_t count, int64_t n, int64_t i, int64_t grain) {
    if (i == n) return count;
    return (count / n * i + count % n * i / n) / grain * grain;
}

static void report(job *j, int64_t offset) {
    int64_t none = -1;
    (void)__atomic_compare_exchange_n(&j->bad, &none, offset, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* The integer at `bad` that does not fit; of packed ones, the first such one in that byte. */
static int64_t find_element(const tg_plan_private *p, const uint8_t *src, const uint8_t *bad) {
    const int64_t first = (bad - src) * 8 / p->src_bits, others = p->src_bits < 8 ? 8 / p->src_bits - 1 : 0;
    int64_t       i = first;
    tg_word       out;
    while (i < first + others &&
           tg_ref_convert(&out, p->dst_encoding, p->src_encoding, tg_ref_load(src, i, p->src_bits)))
        i++;
    return i;
}

static void move_groups(job *j, int64_t first, int64_t end) {
    const tg_plan_private *p = j->plan;
    if (p->way == TG_WAY_WALK) {
        int64_t       bad = -1;
        const int64_t units = p->as.walk.units;
        if (!tg_walk_run(p, j->dst, j->src, share(units, p->groups, first, 1), share(units, p->groups, end, 1), &bad))
            report(j, bad);
        return;
    }
    const uint8_t *bad = tg_nest_run(p, j->dst, j->src, first, end);
    if (bad != NULL) report(j, find_element(p, j->src, bad));
}

static void move_between(job *j, int64_t first, int64_t end) {
    move_groups(j, first, end);
    if (j->plan->stream_turned) tg_stream_end(); /* as soon as any mover streams */
}

static void move_task(void *arg, size_t index) {
    job          *j = arg;
    const int64_t i = (int64_t)index;
    if (__atomic_load_n(&j->bad, __ATOMIC_RELAXED) >= 0) return;
    move_between(j, j->first + share(j->count, j->tasks, i, j->grain),
                 j->first + share(j->count, j->tasks, i + 1, j->grain));
}

static void fill_task(void *arg, size_t index) {
    job          *j = arg;
    const int64_t i = (int64_t)index, from = share(j->count, j->tasks, i, j->grain);
    (void)tg_fill(j->dst, from, share(j->count, j->tasks, i + 1, j->grain) - from, j->plan->pad, j->plan->dst_bits);
}

static void run_tasks(job *j, const tg_executor *e, void (*task)(void *, size_t), int64_t bytes) {
    const tg_plan_private *p = j->plan;
    const int64_t          threads = e == NULL || p->serial ? 1 : e->threads;
    const int64_t          each = bytes / threads >= p->shared_bytes ? TASKS_PER_THREAD : 1;
    int64_t                tasks = threads > 1 ? tg_min(threads * each, bytes / p->task_bytes) : 1;
    if (tasks > 1) tasks = tg_max(tasks, tg_min(p->threads, bytes / p->task_bytes));
    j->tasks = tg_max(tg_min(tasks, j->count / j->grain), 1);
    if (j->tasks == 1) task(j, 0);
    else e->run(e->context, task, j, (size_t)j->tasks);
}

static void fill_all(const tg_plan_private *p, void *dst, const tg_executor *e) {
    job j = {p, dst, NULL, 0, p->span, FILL_GRAIN, 1, -1};
    run_tasks(&j, e, fill_task, p->span / 8 * p->dst_bits);
}

static tg_status fail_misfit(const tg_plan_private *p, const void *src, int64_t bad, tg_error *err) {
    const tg_word word = tg_ref_load(src, bad, p->src_bits);
    const bool    large = p->src_encoding.kind == TG_KIND_UINT && word.lo > INT64_MAX && p->src_bits == 64;
    char          value[24];
    tg_writer     w = tg_writer_make(value, sizeof value);
    if (large) tg_put_int(&w, (int64_t)(word.lo / 10)); /* int64_t cannot hold it */
    tg_put_int(&w, large ? (int64_t)(word.lo % 10) : tg_ref_int(p->src_encoding, word));
    (void)tg_writer_end(&w);
    return tg_fail(err, TG_ERR_OVERFLOW, "value %s at element %d of src does not fit %s in %d bits", value, bad,
                   p->dst_format == TG_FORMAT_NATIVE ? tg_dtype_name(p->dtype) : tg_format_name(p->dst_format),
                   (int64_t)p->dst_bits);
}

static tg_status run_groups(const tg_plan_private *p, int64_t first, int64_t end, void *dst, const void *src,
                            const tg_executor *e, tg_error *err) {
    job j = {p, dst, src, first, end - first, 1, 1, -1};
    if (p->way == TG_WAY_NOTHING) return TG_OK;
    if (p->groups == 1) move_between(&j, first, end); /* small: no division */
    else run_tasks(&j, e, move_task, p->work / p->groups * (end - first));
    return j.bad < 0 ? TG_OK : fail_misfit(p, src, j.bad, err);
}

/* Blocks in the plan have no padding, which is the plan's, but movers of families ..EIGHTS write some without a tail.
 */
static void run_direct(const tg_plan_private *p, uint8_t *dst, const uint8_t *src) {
    const tg_nest *nest = &p->as.nest;
    for (int32_t i = 0; i < nest->nboxes; i++) {
        const tg_box *box = &nest->box[i];
        if (box->route == TG_ROUTE_MOVE && box->block.tail == 0 && !tg_is_of_eights(box->family)) {
            const tg_mover *mover = &nest->mover[box->mover];
            (void)tg_mover_run(mover, dst + box->dst, src + box->src, &box->block);
        } else {
            (void)tg_nest_block(p, box, dst, src);
        }
    }
}

static tg_status check_executor(const tg_executor *e, tg_error *err) {
    if (e == NULL || e->threads == 1 || (e->threads > 1 && e->run != NULL)) return TG_OK;
    if (e->threads > 1) return tg_fail(err, TG_ERR_ARGUMENT, "plan: `run` of the executor is NULL");
    return tg_fail(err, TG_ERR_ARGUMENT, "plan: the executor has %d threads; at least 1 is needed",
                   (int64_t)e->threads);
}

tg_status tg_plan_run(const tg_plan *plan, void *dst, const void *src, const tg_executor *executor, tg_error *err) {
    const tg_plan_private *p = tg_plan_see(plan);
    const tg_status        s = check_executor(executor, err);
    if (s != TG_OK) return s;
    if (p->direct) {
        run_direct(p, dst, src);
        return TG_OK;
    }
    if (p->fill_first) fill_all(p, dst, executor);
    return run_groups(p, 0, p->groups, dst, src, executor, err);
}

tg_status tg_plan_run_step(const tg_plan *plan, int64_t step, void *dst, const void *src, const tg_executor *executor,
                           tg_error *err) {
    const tg_plan_private *p = tg_plan_see(plan);
    if (step < 0 || step >= p->steps)
        return tg_fail(err, TG_ERR_ARGUMENT, "plan: step %d is not in [0, %d)", step, p->steps);
    const tg_status s = check_executor(executor, err);
    if (s != TG_OK) return s;
    if (step == 0 && p->fill_first) fill_all(p, dst, executor);
    const int64_t first = step * p->groups_per_step;
    return run_groups(p, first, tg_min(p->groups, first + p->groups_per_step), dst, src, executor, err);
}
