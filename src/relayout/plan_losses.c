/* Counting what a plan's conversion loses in a tensor.
 *
 * The storage is scanned in one piece first; where nothing in it would be lost, or all of it is elements,
 * that is the answer. Otherwise padding or copies were counted too, and the elements are visited one
 * by one. */
#include "kernels/kernels.h"
#include "layout/layout.h"

static tg_status holds_elements_once(bool *answer, const tg_layout *l, tg_error *err) {
    bool            unique, exhaustive;
    const tg_status s = tg_layout_coverage(&unique, &exhaustive, NULL, l, err);
    for (int32_t m = 0; m < l->nmodes; m++)
        unique = unique && !(l->mode[m].axis == TG_AXIS_COPY && l->mode[m].size > 1);
    *answer = unique && exhaustive;
    return s;
}

static void count_elements(int64_t *overflowed, int64_t *vanished, const tg_losses *losses, const tg_layout *l,
                           const int64_t *begin, const int64_t *end, const void *src) {
    int64_t coord[TG_MAX_NDIM], shape[TG_MAX_NDIM], at[TG_MAX_NDIM] = {0};
    for (int32_t d = 0; d < l->ndim; d++) {
        shape[d] = end[d] - begin[d];
        if (shape[d] <= 0) return;
    }
    do {
        for (int32_t d = 0; d < l->ndim; d++) coord[d] = begin[d] + at[d];
        tg_losses_count(overflowed, vanished, losses, src, tg_layout_offset(l, coord), 1);
    } while (tg_next_coord(at, shape, l->ndim));
}

tg_status tg_plan_losses(int64_t *overflowed, int64_t *vanished, const tg_plan_params *params, const void *src,
                         tg_error *err) {
    const tg_layout *l = params->src, *d = params->dst;
    const int64_t    zeros[TG_MAX_NDIM] = {0};
    const bool       whole = params->begin == NULL && params->end == NULL;
    tg_losses        losses;
    int64_t          over = 0, gone = 0;
    bool             exact = true;
    if (tg_losses_of(&losses, tg_encoding_of(d->dtype, d->format, d->elem_bits),
                     tg_encoding_of(l->dtype, l->format, l->elem_bits))) {
        tg_losses_count(&over, &gone, &losses, src, 0, l->span);
        const tg_status s = over + gone > 0 && whole ? holds_elements_once(&exact, l, err) : TG_OK;
        if (s != TG_OK) return s;
        exact = exact && (whole || over + gone == 0);
    }
    if (!exact) {
        over = gone = 0;
        count_elements(&over, &gone, &losses, l, params->begin != NULL ? params->begin : zeros,
                       params->end != NULL ? params->end : l->shape, src);
    }
    *overflowed = over;
    *vanished = gone;
    return TG_OK;
}
