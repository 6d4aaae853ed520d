/* Convolutions: windows, and what a SuperDSC says of them.
 *
 *     3 wide, steps of 1, 8 places and one in front; 8 positions     totalSize_ 10, padFront_ 1, padBack_ 1
 *     the same in 2 slices                                           totalSize_ 6 of a core, padFront_ -1, padBack_ -1
 *
 * How far a dimension of x goes is the extent of the result there, as torch-spyre has it; padding says what x has.
 * Source: torch-spyre, convolutions (superdsc.py) and its description of padding; docs/sources.md. */
#include "graph/kernel.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

enum { MOST_WINDOWS = 2 };

static const char *const position_names[MOST_WINDOWS] = {"i", "j"};
static const char *const within_names[MOST_WINDOWS] = {"ki", "kj"};

/* ---- checks ----------------------------------------------------------------------------- */

/* Places from the first to the last one of so many positions, window and all; false if that does not fit 63 bits. */
static bool places_of(int64_t *out, const tg_kernel *k, const tg_kernel_window *w, int64_t positions) {
    int64_t window;
    return tg_mul(&window, w->dilation, k->ranges[w->within] - 1) && tg_muladd(out, 1, w->stride, positions - 1) &&
           tg_add(out, *out, window);
}

static bool is_loop(const tg_kernel *k, int32_t loop) { return loop >= 0 && loop < k->nloops && k->ranges[loop] > 1; }

static tg_status check_window(const tg_kernel *k, const tg_kernel_window *w, tg_error *err) {
    int64_t places;
    if (!is_loop(k, w->position) || !is_loop(k, w->within))
        return tg_fail(err, TG_ERR_ARGUMENT, "a window moves with loops %d and %d, which are none of 2 rounds or more",
                       (int64_t)w->position, (int64_t)w->within);
    if (w->stride < 1 || w->dilation < 1 || w->low < 0 || w->extent < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "a window in steps of %d, dilated by %d, with %d of %d places in front",
                       w->stride, w->dilation, w->low, w->extent);
    if (!places_of(&places, k, w, k->ranges[w->position]) || !tg_add(&places, w->low, w->extent))
        return tg_fail(err, TG_ERR_OVERFLOW, "the places of a window do not fit 63 bits");
    if (k->splits != NULL && k->splits[w->within] > 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "loop %d is in %d slices; a window is summed up by one core",
                       (int64_t)w->within, k->splits[w->within]);
    return TG_OK;
}

tg_status tg_sdsc_check_windows(const tg_kernel *k, tg_error *err) {
    tg_status s = TG_OK;
    if (k->kind != TG_KERNEL_CONVOLUTION) {
        if (k->nwindows == 0) return TG_OK;
        return tg_fail(err, TG_ERR_ARGUMENT, "nothing but a convolution has windows");
    }
    if (k->nwindows < 1 || k->nwindows > MOST_WINDOWS)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "there are names for windows along %d dimensions, not %d",
                       (int64_t)MOST_WINDOWS, (int64_t)k->nwindows);
    for (int32_t i = 0; i < k->nwindows && s == TG_OK; i++) s = check_window(k, &k->windows[i], err);
    return s;
}

/* ---- what moves ------------------------------------------------------------------------- */

const tg_kernel_window *tg_sdsc_window(const tg_sdsc *s, int32_t k, int32_t dim) {
    for (int32_t i = 0; k == 0 && i < s->kernel->nwindows; i++)
        if (s->kernel->windows[i].position == s->loop[dim]) return &s->kernel->windows[i];
    return NULL;
}

int64_t tg_sdsc_places(const tg_sdsc *s, int32_t k, int32_t dim) {
    const tg_kernel_window *w = tg_sdsc_window(s, k, dim);
    return w != NULL ? w->extent : s->extent[dim];
}

bool tg_sdsc_padding_of(tg_sdsc_padding *out, const tg_sdsc *s, int32_t dim, bool per_core) {
    const tg_kernel_window *w = tg_sdsc_window(s, 0, dim);
    int64_t                 needed = 0;
    if (w == NULL) return false;
    (void)places_of(&needed, s->kernel, w, s->extent[dim]); /* fits: it was checked */
    const int64_t there = w->low + w->extent;
    *out = (tg_sdsc_padding){.front = w->low, .back = tg_max(needed - there, 0), .total = tg_max(needed, there),
                             .stride = w->stride, .dilation = w->dilation};
    for (int32_t i = 0; i < s->kernel->nwindows; i++)
        if (&s->kernel->windows[i] == w) out->window = within_names[i];
    if (per_core && s->split[dim] > 1) {
        if (out->front > 0 || out->back > 0) out->front = out->back = -1;
        (void)places_of(&needed, s->kernel, w, s->extent[dim] / s->split[dim]);
        out->total = needed;
    }
    out->unneeded = out->total - needed;
    return true;
}

void tg_sdsc_put_padding(tg_json *j, const tg_sdsc *s, bool per_core) {
    tg_sdsc_padding p;
    tg_json_open(j, "paddingSizes_", '{');
    for (int32_t d = 0; d < s->ndims; d++) {
        if (!tg_sdsc_padding_of(&p, s, d, per_core)) continue;
        tg_json_open(j, s->name[d], '{');
        tg_json_int(j, "padFront_", p.front);
        tg_json_int(j, "padBack_", p.back);
        tg_json_int(j, "unneededPad_", p.unneeded);
        tg_json_int(j, "unneededPadFront_", 0);
        tg_json_int(j, "unneededPadBack_", 0);
        tg_json_int(j, "totalSize_", p.total);
        tg_json_int(j, "stride_", p.stride);
        tg_json_int(j, "dilation_", p.dilation);
        tg_json_text(j, "windowDim_", p.window);
        tg_json_close(j, '}');
    }
    tg_json_close(j, '}');
}

/* ---- names -------------------------------------------------------------------------------- */

/* Rows: the batch, and dimensions that no window moves along. */
static tg_status name_rows(tg_sdsc *s, tg_error *err) {
    const char *free_names[MOST_WINDOWS] = {"mb", s->kernel->nwindows < MOST_WINDOWS ? position_names[1] : NULL};
    int32_t     next = 0;
    for (int32_t d = 0; d < s->ndims; d++) {
        if (s->name[d] != NULL) continue;
        if (next == MOST_WINDOWS || free_names[next] == NULL)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "a convolution has no name for loop %d", (int64_t)s->loop[d]);
        s->name[d] = free_names[next++];
    }
    return TG_OK;
}

tg_status tg_sdsc_name_convolution(tg_sdsc *s, tg_error *err) {
    for (int32_t d = 0; d < s->ndims; d++) {
        if (s->loop[d] == TG_NO_DIM)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "sticks of a convolution that lie apart have no name");
        if (d == s->tensor[0].stick) s->name[d] = "in";
        if (d == s->tensor[2].stick) s->name[d] = "out";
        for (int32_t i = 0; i < s->kernel->nwindows; i++) {
            if (s->loop[d] == s->kernel->windows[i].position) s->name[d] = position_names[i];
            if (s->loop[d] == s->kernel->windows[i].within) s->name[d] = within_names[i];
        }
    }
    return name_rows(s, err);
}
