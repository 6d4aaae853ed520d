/* Which core works on what: the digits of its number, in a mixed radix.
 *
 *     splits [2,3]   core 0: [0,0]   1: [1,0]   2: [0,1]   3: [1,1]   4: [0,2]   5: [1,2]   6: [0,0] again
 *
 * Source: torch-spyre, work division. */
#include <tegula/rules.h>

#include "base/checked.h"
#include "base/error.h"

static tg_status check_cores(int32_t n, const int64_t *splits, int32_t fastest, int64_t core, int64_t cores,
                             tg_error *err) {
    int64_t product = 1;
    if (n < 0 || n > TG_MAX_LOOPS || fastest < -1 || fastest >= n)
        return tg_fail(err, TG_ERR_ARGUMENT, "loop %d of %d loops is to vary fastest; there may be %d",
                       (int64_t)fastest, (int64_t)n, (int64_t)TG_MAX_LOOPS);
    for (int32_t l = 0; l < n; l++) {
        if (splits[l] < 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, l, "loop %d is in %d slices", (int64_t)l, splits[l]);
        if (!tg_mul(&product, product, splits[l]))
            return tg_fail(err, TG_ERR_OVERFLOW, "the number of slices does not fit 63 bits");
    }
    if (cores < 1 || cores % product != 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d cores are no multiple of %d slices", cores, product);
    if (core < 0 || core >= cores)
        return tg_fail(err, TG_ERR_ARGUMENT, "core %d is not in [0, %d)", core, cores);
    return TG_OK;
}

tg_status tg_core_slices(int64_t *slice, int32_t n, const int64_t *splits, int32_t fastest, int64_t core,
                         int64_t cores, tg_error *err) {
    const tg_status s = check_cores(n, splits, fastest, core, cores, err);
    if (s != TG_OK) return s;
    if (fastest >= 0) {
        slice[fastest] = core % splits[fastest];
        core /= splits[fastest];
    }
    for (int32_t l = 0; l < n; l++) {
        if (l == fastest) continue;
        slice[l] = core % splits[l];
        core /= splits[l];
    }
    return TG_OK;
}

/* ---- loops by their steps ---------------------------------------------------------------- */

/* The step of a loop in an access; 0 if it is not there. */
static int64_t step_of(const tg_access *a, int32_t loop) {
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop == loop) return a->terms[i].step;
    return 0;
}

int32_t tg_splits_to_steps(tg_step_split *out, int32_t nloops, const int64_t *splits, const tg_access *result,
                           const tg_access *operand) {
    int32_t count = 0;
    for (int32_t l = 0; l < nloops; l++) {
        const int64_t written = step_of(result, l), read = step_of(operand, l);
        if (splits[l] <= 1 || (written == 0 && read == 0)) continue;
        out[count++] = (tg_step_split){written == 0, written != 0 ? written : read, splits[l]};
    }
    return count;
}

static int32_t find_loop(int32_t nloops, const int64_t *ranges, const tg_access *result, const tg_access *operand,
                         const tg_step_split *s) {
    for (int32_t l = 0; l < nloops; l++) {
        const int64_t written = step_of(result, l);
        if (ranges[l] <= 1 || s->step == 0 || (written != 0) == s->summed) continue;
        if ((s->summed ? step_of(operand, l) : written) == s->step) return l;
    }
    return -1;
}

tg_status tg_splits_from_steps(int64_t *splits, int32_t nloops, const int64_t *ranges, const tg_access *result,
                               const tg_access *operand, int32_t count, const tg_step_split *steps, tg_error *err) {
    int64_t found[TG_MAX_LOOPS];
    if (nloops < 0 || nloops > TG_MAX_LOOPS)
        return tg_fail(err, TG_ERR_LIMIT, "%d loops; the limit is %d", (int64_t)nloops, (int64_t)TG_MAX_LOOPS);
    for (int32_t l = 0; l < nloops; l++) found[l] = 1;
    for (int32_t i = 0; i < count; i++) {
        const int32_t l = find_loop(nloops, ranges, result, operand, &steps[i]);
        if (l < 0)
            return tg_fail(err, TG_ERR_ARGUMENT, "no loop makes steps of %d in the %s", steps[i].step,
                           steps[i].summed ? "operand alone" : "result");
        found[l] = steps[i].slices;
    }
    for (int32_t l = 0; l < nloops; l++) splits[l] = found[l];
    return TG_OK;
}
