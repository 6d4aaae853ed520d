/* The innermost stretch of memory, a stick or a tile, and what it holds of a dimension. */
#include "layout/layout.h"

int64_t tg_weight_above(const tg_layout *l, int32_t m) {
    int64_t above = 0;
    for (int32_t k = 0; k < l->nmodes; k++) {
        const tg_mode *other = &l->mode[k];
        if (other->axis != l->mode[m].axis || other->weight <= l->mode[m].weight || other->count <= 1) continue;
        if (above == 0 || other->weight < above) above = other->weight;
    }
    return above;
}

static bool lies_inside(const tg_mode *mode, int64_t unit) {
    return tg_is_memory(mode) && mode->size > 1 && mode->stride < unit;
}

/* The digits in the unit must be the least significant ones, without one missing between. */
int64_t tg_unit_span(const tg_layout *l, int64_t unit, int32_t d) {
    int64_t places = 1, reach = 1;
    bool    has_ones = false;
    for (int32_t m = 0; m < l->nmodes; m++) {
        const tg_mode *mode = &l->mode[m];
        int64_t        end = tg_weight_above(l, m);
        if (mode->axis != d || !lies_inside(mode, unit)) continue;
        if (end == 0 && !tg_mul(&end, mode->weight, mode->size)) return 1;
        reach = tg_max(reach, end);
        places *= mode->size; /* fits: a part of the unit */
        has_ones = has_ones || mode->weight == 1;
    }
    return has_ones && places >= reach ? reach : 1;
}

/* Whether digits of the axis, or of one it is folded into, lie in the unit. */
static bool reaches_inside(const tg_layout *l, int64_t unit, int32_t axis) {
    for (int32_t m = 0; m < l->nmodes; m++) {
        const tg_mode *mode = &l->mode[m];
        if (mode->axis != axis || mode->count <= 1) continue;
        if (tg_is_memory(mode) ? lies_inside(mode, unit) : reaches_inside(l, unit, mode->into)) return true;
    }
    return false;
}

bool tg_unit_scatters(const tg_layout *l, int64_t unit, int32_t d) {
    return reaches_inside(l, unit, d) && tg_unit_span(l, unit, d) == 1;
}
