/* The map of a shape, in the readings that XLA has of a layout; and shapes that have a given map.
 *
 * There is one map, tg_layout_from_xla's. A narrower reading is the exact map of a shape from which something was
 * taken away:
 *
 *     bf16[16,300]{1,0:T(2,128)(2,1)L(8)}     all tiles    as it is
 *                                             first tile   bf16[16,300]{1,0:T(2,128)}
 *                                             untiled      bf16[16,300]{1,0}
 *
 * Of arrays of rank 0 and 1 XLA's first-tile index takes no tile at all. */
#include "hlo/shape.h"

#include <string.h>

static void keep_tiles(tg_xla_layout *l, int32_t n) {
    if (l->ntiles > n) l->ntiles = n;
    l->tail_padding = 1;
    l->element_size_in_bits = 0;
}

tg_status tg_shape_map(tg_layout *out, const tg_xla_shape *array, tg_shape_tiles tiles, tg_error *err) {
    const tg_status s = tg_shape_need_array(array, err);
    if (s != TG_OK) return s;
    if (tiles == TG_SHAPE_ALL_TILES) return tg_layout_from_xla(out, array, err);
    tg_xla_shape reduced = *array;
    keep_tiles(&reduced.layout, tiles == TG_SHAPE_FIRST_TILE && array->ndim >= 2 ? 1 : 0);
    return tg_layout_from_xla(out, &reduced, err);
}

/* ---- the way back ------------------------------------------------------------------------ */

bool tg_shape_has_map(const tg_xla_shape *shape, const tg_layout *wanted) {
    tg_layout map;
    bool      equal = false;
    return tg_shape_map(&map, shape, TG_SHAPE_ALL_TILES, NULL) == TG_OK &&
           tg_layout_equal(&equal, NULL, &map, wanted, true, NULL) == TG_OK && equal;
}

/* Any tiles: those that a search finds, with tail padding where storage goes on behind them. Dynamic flags and what
 * else is no affair of the map come from `like`. */
bool tg_shape_from_map(tg_xla_shape *out, const tg_layout *wanted, const tg_xla_shape *like) {
    tg_xla_shape found;
    if (like->layout.nsplits > 0 || tg_xla_from_layout(&found, wanted, NULL) != TG_OK) return false;
    memcpy(found.dynamic, like->dynamic, sizeof found.dynamic);
    found.layout.element_size_in_bits = like->layout.element_size_in_bits;
    found.layout.metadata_prefix_bytes = like->layout.metadata_prefix_bytes;
    found.layout.tail_padding = like->layout.tail_padding;
    if (!tg_shape_has_map(&found, wanted)) found.layout.tail_padding = tg_max(wanted->span, 1);
    if (!tg_shape_has_map(&found, wanted)) return false;
    *out = found;
    return true;
}

/* ---- strides -------------------------------------------------------------------------------- */

/* Why these are not the strides of the map. */
static tg_status fail_strides(const tg_layout *map, const tg_witness *w, tg_error *err) {
    tg_layout normal;
    tg_digits f;
    for (int32_t d = 0; tg_layout_coalesce(&normal, map, NULL) == TG_OK && d < map->ndim; d++) {
        if (map->shape[d] == 1 || !tg_digits_of_dims(&f, &normal, &d, 1)) continue;
        tg_digits_coalesce(&f);
        if (f.n > 1) return tg_digits_fail_cut(&f, d, err);
    }
    return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                   "no strides: element %v is at slot %d, where steps along single dimensions add up to %d", w->coord,
                   (int)map->ndim, w->a, w->b);
}

/* Steps from 0 to 1 are the only candidates. A dimension of one element, and every dimension of an array without
 * elements, steps over the next more minor one. */
tg_status tg_shape_strides(int64_t *strides, const tg_layout *map, const int32_t *order, tg_error *err) {
    int64_t    result[TG_MAX_NDIM], coord[TG_MAX_NDIM] = {0}, step = 1;
    const bool empty = tg_layout_numel(map) == 0;
    for (int32_t i = 0; i < map->ndim; i++) {
        const int32_t d = order[i];
        coord[d] = 1;
        result[d] = map->shape[d] > 1 && !empty ? tg_layout_offset(map, coord) : step;
        coord[d] = 0;
        if (!tg_mul(&step, result[d], map->shape[d]))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, d, "stride %d times size %d does not fit 63 bits", result[d],
                               map->shape[d]);
    }
    tg_layout  strided;
    tg_witness w = {.what = TG_SAME};
    bool       equal = true;
    tg_status  s = tg_layout_strided(&strided, map->dtype, map->ndim, map->shape, result, 0, err);
    if (s != TG_OK) return s;
    strided.elem_bits = map->elem_bits;
    if (!empty) s = tg_layout_equal(&equal, &w, map, &strided, false, err);
    if (s != TG_OK || !equal) return s != TG_OK ? s : fail_strides(map, &w, err);
    memcpy(strides, result, (size_t)map->ndim * sizeof result[0]);
    return TG_OK;
}
