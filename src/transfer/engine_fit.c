/* A program made to fit an engine.
 *
 * A descriptor that fits stays. Another is brought to one form first: no loops of one step, none that another one goes
 * on where it ends, steps in the direction that the engine wants. Then it is cut (engine_cut.c) and its pieces are
 * placed in the engine's nest (engine_place.c), each of which checks what it made against the rules. */
#include "transfer/engine.h"

#include "base/error.h"
#include "transfer/dma.h"

enum { MAX_TURNED = 4 };

/* ---- one form ---- */

/* A loop walked from its other end. */
static void turn(tg_dma *dma, tg_dma_loop *l) {
    dma->device_offset += (l->range - 1) * l->device_stride; /* an offset of an element: fits */
    dma->host_offset += (l->range - 1) * l->host_stride;
    l->device_stride = -l->device_stride;
    l->host_stride = -l->host_stride;
    if (!tg_sub(&l->step, 0, l->step)) l->dim = -1;
}

static void remove_loop(tg_dma *dma, int32_t i) {
    dma->nloops--;
    for (; i < dma->nloops; i++) dma->loop[i] = dma->loop[i + 1];
}

static void fuse_all(tg_dma *dma) {
    for (int32_t i = 0; i < dma->nloops; i++)
        for (int32_t j = 0; j < dma->nloops; j++) {
            if (i == j || !tg_dma_fuse(&dma->loop[i], &dma->loop[j])) continue;
            remove_loop(dma, i);
            i = -1;
            break;
        }
}

static void sort(tg_dma *dma) {
    for (int32_t i = 1; i < dma->nloops; i++) {
        const tg_dma_loop l = dma->loop[i];
        int32_t           j = i;
        for (; j > 0 && tg_dma_is_outside(&l, &dma->loop[j - 1]); j--) dma->loop[j] = dma->loop[j - 1];
        dma->loop[j] = l;
    }
}

/* Of the loops that go backwards on a side, those in the set `turned` are walked from their other ends. Returns how
 * many such loops there are. */
static int32_t normalise(tg_dma *dma, uint32_t turned) {
    int32_t n = 0;
    for (int32_t i = dma->nloops - 1; i >= 0; i--)
        if (dma->loop[i].range == 1) remove_loop(dma, i);
    fuse_all(dma);
    for (int32_t i = 0; i < dma->nloops; i++) {
        tg_dma_loop *l = &dma->loop[i];
        if (l->device_stride >= 0 && l->host_stride >= 0) continue;
        if (n < MAX_TURNED && turned >> n & 1) turn(dma, l);
        n++;
    }
    fuse_all(dma);
    sort(dma);
    return (int32_t)tg_min(n, MAX_TURNED);
}

/* ---- what cannot be done ---- */

static bool set_breach(tg_breach *out, tg_rule rule, int32_t loop, int64_t value, int64_t limit) {
    *out = (tg_breach){rule, loop, 0, value, limit};
    return true;
}

/* The loop of a stride of 1 on this side, or -1. */
static int32_t find_run(const tg_side *s, const tg_dma *dma) {
    for (int32_t i = 0; i < dma->nloops; i++)
        if (tg_side_stride(s, &dma->loop[i]) == 1) return i;
    return -1;
}

/* The rule about whole granules that no cut can mend. */
static bool breaks_granule(tg_breach *out, const tg_side *s, const tg_side *other, const tg_dma *dma) {
    (void)other;
    const int32_t granule = s->rules->granule, run = find_run(s, dma);
    int32_t       loop = -1;
    int64_t       want = 1;
    if (s->rules->linear && tg_side_is_dense(s, dma, &loop, &want)) {
        const int64_t all = tg_dma_elements(dma);
        return !tg_side_is_whole(s, all, granule) && set_breach(out, TG_RULE_RUN_LENGTH, dma->nloops - 1, all, granule);
    }
    if (!tg_side_is_whole(s, 1, granule)) {
        if (dma->nloops == 0) return set_breach(out, TG_RULE_RUN_LENGTH, -1, 1, granule);
        const tg_dma_loop *l = &dma->loop[run < 0 ? dma->nloops - 1 : run];
        if (run < 0) return set_breach(out, TG_RULE_RUN_STRIDE, dma->nloops - 1, tg_side_stride(s, l), 1);
        if (!tg_side_is_whole(s, l->range, granule)) return set_breach(out, TG_RULE_RUN_LENGTH, run, l->range, granule);
    }
    for (int32_t i = 0; i < dma->nloops; i++)
        if (i != run && !tg_side_is_whole(s, tg_side_stride(s, &dma->loop[i]), granule))
            return set_breach(out, TG_RULE_STRIDE_UNIT, i, tg_side_stride(s, &dma->loop[i]), granule);
    return false;
}

static bool breaks_offset(tg_breach *out, const tg_side *s, const tg_side *other, const tg_dma *dma) {
    (void)other;
    const int64_t offset = tg_side_offset(s, dma);
    return !tg_side_is_whole(s, offset, s->rules->alignment) &&
           set_breach(out, TG_RULE_OFFSET, -1, offset, s->rules->alignment);
}

/* Single elements are too small for this side, and where the other side must walk from neighbour to neighbour, this one
 * does not. */
static bool breaks_runs(tg_breach *out, const tg_side *s, const tg_side *other, const tg_dma *dma) {
    const int32_t run = find_run(other, dma);
    const bool    needs_both = !tg_side_is_whole(s, 1, s->rules->granule) &&
                            (other->rules->dense || !tg_side_is_whole(other, 1, other->rules->granule));
    return run >= 0 && needs_both && tg_side_stride(s, &dma->loop[run]) != 1 &&
           set_breach(out, TG_RULE_RUN_STRIDE, run, tg_side_stride(s, &dma->loop[run]), 1);
}

/* A loop that cannot be unrolled, as its steps are no places where descriptors may start. */
static bool breaks_alignment(tg_breach *out, const tg_side *s, const tg_side *other, const tg_dma *dma) {
    (void)other;
    const int32_t run = find_run(s, dma), unit = s->rules->alignment;
    for (int32_t i = 0; i < dma->nloops; i++)
        if (i != run && !tg_side_is_whole(s, tg_side_stride(s, &dma->loop[i]), unit))
            return set_breach(out, TG_RULE_STRIDE_UNIT, i, tg_side_stride(s, &dma->loop[i]), unit);
    return false;
}

typedef bool rule(tg_breach *, const tg_side *s, const tg_side *other, const tg_dma *);

static bool breaks_any(tg_breach *out, const tg_side *s, const tg_side *other, const tg_dma *dma) {
    (void)other;
    return tg_side_breaks(out, s, dma);
}

static tg_status blame(const tg_sides *sides, const tg_dma *dma, size_t i, tg_error *err) {
    static rule *const rules[] = {breaks_offset, breaks_granule, breaks_runs, breaks_alignment, breaks_any};
    tg_breach          b;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++)
        for (int32_t k = 0; k < TG_SIDES; k++) {
            const tg_side *s = &sides->at[k];
            if (rules[r](&b, s, &sides->at[1 - k], dma))
                return tg_side_complain(sides, s, &b, i, err);
        }
    return tg_fail(err, TG_ERR_LIMIT, "descriptor %d: no way was found to cut it for %s", (int64_t)i, sides->name);
}

/* ---- writing ---- */

typedef struct job {
    const tg_sides *sides;
    tg_dma         *out;
    size_t          cap;
    int64_t         count;
    tg_cuts         cuts;
    tg_dma          dma; /* the one that is cut */
} job;

static tg_status overflow(tg_error *err) {
    return tg_fail(err, TG_ERR_OVERFLOW, "the number of descriptors does not fit");
}

static tg_status count_more(job *j, int64_t n, tg_error *err) {
    return tg_add(&j->count, j->count, n) ? TG_OK : overflow(err);
}

static bool has_room(const job *j) { return (uint64_t)j->count < j->cap; }

static tg_status write_node(job *j, int32_t node, tg_error *err);

/* `n` times the node, `range` steps of the loop that is cut in each, from step `first` on. Without room they are only
 * counted. */
static tg_status write_pieces(job *j, const tg_cut *cut, int32_t node, int64_t first, int64_t range, int64_t n,
                              tg_error *err) {
    tg_dma_loop *const l = &j->dma.loop[cut->loop];
    const int64_t      whole = l->range, device = j->dma.device_offset, host = j->dma.host_offset;
    tg_status          s = TG_OK;
    int64_t            i = 0, more;
    l->range = range;
    for (; i < n && s == TG_OK && has_room(j); i++) {
        j->dma.device_offset = device + (first + i * range) * l->device_stride; /* an element: fits */
        j->dma.host_offset = host + (first + i * range) * l->host_stride;
        s = write_node(j, node, err);
    }
    l->range = whole;
    j->dma.device_offset = device;
    j->dma.host_offset = host;
    if (s != TG_OK) return s;
    return tg_mul(&more, n - i, j->cuts.at[node].count) ? count_more(j, more, err) : overflow(err);
}

static tg_status write_node(job *j, int32_t node, tg_error *err) {
    const tg_cut *const cut = &j->cuts.at[node];
    if (!has_room(j)) return count_more(j, cut->count, err);
    if (cut->loop < 0) {
        int32_t work = INT32_MAX; /* it was found before */
        (void)tg_sides_place(&j->out[j->count], &j->dma, j->sides, &work);
        return count_more(j, 1, err);
    }
    const int64_t   range = j->dma.loop[cut->loop].range, n = range / cut->step;
    const tg_status s = write_pieces(j, cut, cut->piece, 0, cut->step, n, err);
    if (s != TG_OK || cut->rest < 0) return s;
    return write_pieces(j, cut, cut->rest, n * cut->step, range % cut->step, 1, err);
}

/* Cut the descriptor, its backward loops turned in the way that gives the fewest pieces; false if there is no way. */
static bool cut_turned(job *j, const tg_dma *dma) {
    int64_t  fewest = 0;
    uint32_t best = 0, ways = 1;
    for (uint32_t turned = 0; turned < ways; turned++) {
        j->dma = *dma;
        ways = (uint32_t)1 << normalise(&j->dma, turned);
        if (!tg_cuts_find(&j->cuts, &j->dma, j->sides)) continue;
        if (fewest != 0 && j->cuts.at[0].count >= fewest) continue;
        fewest = j->cuts.at[0].count;
        best = turned;
    }
    j->dma = *dma;
    (void)normalise(&j->dma, best);
    return fewest != 0 && (ways == 1 || tg_cuts_find(&j->cuts, &j->dma, j->sides));
}

static tg_status fit_one(job *j, const tg_dma *dma, size_t i, tg_error *err) {
    tg_breach b;
    if (!tg_side_breaks(&b, &j->sides->at[TG_DEVICE_SIDE], dma) &&
        !tg_side_breaks(&b, &j->sides->at[TG_HOST_SIDE], dma)) {
        if (has_room(j)) j->out[j->count] = *dma;
        return count_more(j, 1, err);
    }
    if (!cut_turned(j, dma)) return blame(j->sides, &j->dma, i, err);
    return write_node(j, 0, err);
}

static tg_status fit_all(job *j, size_t cap, const tg_dma *program, size_t n, tg_error *err) {
    tg_status s = TG_OK;
    j->cap = cap;
    j->count = 0;
    for (size_t i = 0; i < n && s == TG_OK; i++) s = fit_one(j, &program[i], i, err);
    return s;
}

tg_status tg_engine_fit(tg_dma *out, size_t cap, size_t *count, const tg_dma *program, size_t n,
                        const tg_engine *engine, int32_t device_bits, int32_t host_bits, tg_error *err) {
    tg_sides  sides;
    job       j;
    tg_status s = tg_sides_make(&sides, engine, device_bits, host_bits, program, n, err);
    if (s != TG_OK) return s;
    j.sides = &sides;
    j.out = out;
    if ((s = fit_all(&j, 0, program, n, err)) != TG_OK) return s; /* nothing is written unless all can be */
    if (engine->max_descriptors != 0 && j.count > engine->max_descriptors)
        return tg_sides_too_many(sides.name, j.count, engine->max_descriptors, err);
    if (cap > 0) s = fit_all(&j, cap, program, n, err);
    if (s == TG_OK) *count = (size_t)j.count;
    return s;
}
