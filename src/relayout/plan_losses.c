/* Counting what a plan's conversion loses in a tensor.
 *
 * The storage is scanned in one piece first; where nothing in it would be lost, or all of it is elements,
 * that is the answer. Otherwise padding or copies were counted too, and the elements are visited one
 * by one. */
#include "relayout/plan.h"

#include "layout/layout.h"

#include <string.h>

static tg_status holds_elements_once(bool *answer, const tg_layout *l, tg_error *err) {
    bool            unique, exhaustive;
    const tg_status s = tg_layout_coverage(&unique, &exhaustive, NULL, l, err);
    for (int32_t m = 0; m < l->nmodes; m++)
        unique = unique && !(l->mode[m].axis == TG_AXIS_COPY && l->mode[m].size > 1);
    *answer = unique && exhaustive;
    return s;
}

static void count_elements(int64_t *overflowed, int64_t *vanished, const tg_losses *losses, const tg_layout *l,
                           const void *src) {
    int64_t coord[TG_MAX_NDIM] = {0};
    if (tg_layout_numel(l) == 0) return;
    do tg_losses_count(overflowed, vanished, losses, src, tg_layout_offset(l, coord), 1);
    while (tg_next_coord(coord, l->shape, l->ndim));
}

tg_status tg_plan_losses(int64_t *overflowed, int64_t *vanished, const tg_plan *plan, const void *src, tg_error *err) {
    const tg_layout *l = &plan->src_layout;
    const bool       copied = plan->dst_layout.format == l->format && plan->dst_layout.elem_bits == l->elem_bits;
    tg_losses        losses;
    int64_t          over = 0, gone = 0;
    bool             exact = true;
    if (!copied && tg_losses_of(&losses, plan->dst_encoding, plan->src_encoding)) {
        tg_losses_count(&over, &gone, &losses, src, 0, l->span);
        const tg_status s = over + gone > 0 ? holds_elements_once(&exact, l, err) : TG_OK;
        if (s != TG_OK) return s;
    }
    if (!exact) {
        over = gone = 0;
        count_elements(&over, &gone, &losses, l, src);
    }
    *overflowed = over;
    *vanished = gone;
    return TG_OK;
}
