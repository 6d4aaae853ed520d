/* How a layout is cut: the sticks or tiles of its memory, and how far its dimensions reach with their padding.
 *
 * A unit is a product of innermost memory modes. Its size is given by who knows the notation (a stick has 128 bytes, a
 * tile the product of its numbers), or follows from the digits: from the innermost mode outwards, as long as the mode
 * is no most significant digit, or has room to spare. f16[5,100,150] of Spyre, innermost last:
 *
 *     mode         100  3      5   64
 *     digit        d1   d2/64  d0  d2%64
 *     inside       no   no     no  yes: there is a digit d2/64 above      unit = 64 places, 64 of d2
 *
 * Only a dense memory has units: elsewhere places would belong to none, or to two. */
#include "draw/scene.h"

/* Memory modes of more than one position, innermost first. */
static int32_t by_stride(int32_t order[TG_MAX_MODES], const tg_layout *l) {
    int32_t n = 0;
    for (int32_t m = 0; m < l->nmodes; m++) {
        if (!tg_is_memory(&l->mode[m]) || l->mode[m].size <= 1) continue;
        int32_t j = n++;
        for (; j > 0 && l->mode[order[j - 1]].stride > l->mode[m].stride; j--) order[j] = order[j - 1];
        order[j] = m;
    }
    return n;
}

static bool is_inside(const tg_layout *l, int32_t m) {
    const tg_mode *mode = &l->mode[m];
    return mode->axis < 0 || mode->size > mode->count || tg_weight_above(l, m) > 0;
}

/* How many of the innermost modes make a unit of `wanted` places, or one by their own nature. */
static int32_t unit_modes(int64_t *unit, const tg_layout *l, const int32_t *order, int32_t n, int64_t wanted) {
    int64_t places = 1;
    int32_t k = 0;
    for (; k < n && places < wanted; k++) places *= l->mode[order[k]].size; /* fits: it is at most the span */
    *unit = places;
    if (wanted > 1 && places == wanted && places <= TG_LARGEST_CELL) return k;
    for (k = 0, places = 1; k < n && is_inside(l, order[k]); k++) {
        if (places * l->mode[order[k]].size > TG_LARGEST_CELL) break;
        places *= l->mode[order[k]].size;
    }
    *unit = places;
    return k;
}

/* The mode of dimension d with the least weight that is more than `weight`; -1 if there is none. */
static int32_t next_digit(const tg_layout *l, int32_t d, int64_t weight) {
    int32_t next = -1;
    for (int32_t m = 0; m < l->nmodes; m++) {
        if (l->mode[m].axis != d || l->mode[m].weight <= weight) continue;
        if (next < 0 || l->mode[m].weight < l->mode[next].weight) next = m;
    }
    return next;
}

/* The size that the digits of dimension d have room for. A digit that is padded itself may reach into the next one;
 * then there are places that no coordinate has: three rows as two pairs, twice, are six rows and not seven. */
static int64_t padded_size(const tg_layout *l, int32_t d) {
    int64_t reach = 1;
    for (int32_t m = next_digit(l, d, 0); m >= 0; m = next_digit(l, d, l->mode[m].weight)) {
        const tg_mode *mode = &l->mode[m];
        reach = tg_min(reach, mode->weight);
        if (!tg_is_memory(mode) || !tg_muladd(&reach, reach, mode->size - 1, mode->weight)) return l->shape[d];
    }
    return tg_max(reach, l->shape[d]);
}

/* Lines of a memory with gaps or overlaps: its smallest step of more than one place. */
static int64_t loose_line(const tg_layout *l) {
    int64_t line = 0;
    for (int32_t m = 0; m < l->nmodes; m++) {
        const int64_t stride = l->mode[m].stride, step = stride < 0 ? -stride : stride;
        if (!tg_is_memory(&l->mode[m]) || l->mode[m].size <= 1 || step <= 1) continue;
        if (line == 0 || step < line) line = step;
    }
    return line > 0 ? line : tg_max(l->span, 1);
}

void tg_grain_find(tg_grain *out, const tg_layout *l, int64_t unit) {
    const tg_grain none = {0};
    int32_t        order[TG_MAX_MODES];
    *out = none;
    for (int32_t d = 0; d < l->ndim; d++) {
        out->tile[d] = 1;
        out->padded[d] = l->shape[d];
    }
    out->unit = 1;
    out->dense = tg_layout_numel(l) > 0 && tg_layout_dense(&out->filled, l);
    if (!out->dense) {
        out->line = loose_line(l);
        return;
    }
    for (int32_t d = 0; d < l->ndim; d++) out->padded[d] = padded_size(l, d);
    const int32_t n = by_stride(order, l), k = unit_modes(&out->unit, l, order, n, unit);
    for (int32_t d = 0; d < l->ndim; d++) out->tile[d] = tg_unit_span(l, out->unit, d);
    const bool small = out->unit > 1 && out->unit <= TG_SMALL_UNIT;
    out->line = out->unit * (k < n && !small ? l->mode[order[k]].size : 1);
}
