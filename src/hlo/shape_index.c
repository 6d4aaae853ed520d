/* From an index to a slot and back, in the readings that XLA has of a layout; and indices and strides as such. */
#include "hlo/shape.h"

#include <string.h>

/* ---- one index ------------------------------------------------------------------------ */

static tg_status linear_index(int64_t *out, const tg_xla_shape *array, const int64_t *index, tg_shape_tiles tiles,
                              tg_error *err) {
    tg_layout map;
    tg_status s = tg_shape_map(&map, array, tiles, err);
    if (s != TG_OK) return s;
    if (!tg_layout_in_bounds(&map, index, err)) return TG_ERR_ARGUMENT;
    *out = tg_layout_offset(&map, index);
    return TG_OK;
}

tg_status tg_xla_linear_index(int64_t *out, const tg_xla_shape *array, const int64_t *index, tg_error *err) {
    return linear_index(out, array, index, TG_SHAPE_ALL_TILES, err);
}

tg_status tg_xla_linear_index_untiled(int64_t *out, const tg_xla_shape *array, const int64_t *index, tg_error *err) {
    return linear_index(out, array, index, TG_SHAPE_UNTILED, err);
}

tg_status tg_xla_linear_index_first_tile(int64_t *out, const tg_xla_shape *array, const int64_t *index,
                                         tg_error *err) {
    return linear_index(out, array, index, TG_SHAPE_FIRST_TILE, err);
}

static tg_status multi_index(tg_slot *slot, int64_t *index, const tg_xla_shape *array, int64_t linear,
                             tg_shape_tiles tiles, tg_error *err) {
    tg_layout       map;
    const tg_status s = tg_shape_map(&map, array, tiles, err);
    return s != TG_OK ? s : tg_layout_coord(slot, index, &map, linear, err);
}

tg_status tg_xla_multi_index(tg_slot *slot, int64_t *index, const tg_xla_shape *array, int64_t linear, tg_error *err) {
    return multi_index(slot, index, array, linear, TG_SHAPE_ALL_TILES, err);
}

tg_status tg_xla_multi_index_untiled(tg_slot *slot, int64_t *index, const tg_xla_shape *array, int64_t linear,
                                     tg_error *err) {
    return multi_index(slot, index, array, linear, TG_SHAPE_UNTILED, err);
}

/* ---- indices without a layout ------------------------------------------------------------ */

bool tg_xla_index_in_bounds(const tg_xla_shape *array, const int64_t *index, int32_t n, tg_error *err) {
    if (tg_shape_need_sizes(array, err) != TG_OK) return false;
    if (n != array->ndim) {
        (void)tg_fail(err, TG_ERR_ARGUMENT, "an index of %d numbers for %d dimensions", (int64_t)n,
                      (int64_t)array->ndim);
        return false;
    }
    for (int32_t d = 0; d < n; d++) {
        if (index[d] >= 0 && index[d] < array->dims[d]) continue;
        (void)tg_fail_dim(err, TG_ERR_ARGUMENT, d, "coordinate %d of dimension %d is not in [0, %d)", index[d],
                          (int64_t)d, array->dims[d]);
        return false;
    }
    return true;
}

bool tg_xla_bump_index(int64_t *index, const tg_xla_shape *array) {
    return tg_next_coord(index, array->dims, array->ndim);
}

int tg_xla_compare_indices(const int64_t *a, const int64_t *b, int32_t n) {
    for (int32_t i = 0; i < n; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

/* ---- strides ---------------------------------------------------------------------------------- */

static tg_status to_bytes(int64_t *strides, int32_t n, int64_t bytes, tg_error *err) {
    int64_t result[TG_MAX_NDIM];
    for (int32_t d = 0; d < n; d++)
        if (!tg_mul(&result[d], strides[d], bytes))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, d, "%d elements of %d bytes do not fit 63 bits", strides[d],
                               bytes);
    memcpy(strides, result, (size_t)n * sizeof result[0]);
    return TG_OK;
}

tg_status tg_xla_byte_strides(int64_t *strides, const tg_xla_shape *array, tg_error *err) {
    int64_t   result[TG_MAX_NDIM];
    tg_layout map;
    tg_status s = tg_shape_map(&map, array, TG_SHAPE_ALL_TILES, err);
    if (s != TG_OK) return s;
    if (map.elem_bits % 8 != 0)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "elements of %d bits have no strides in bytes",
                       (int64_t)map.elem_bits);
    if ((s = tg_shape_strides(result, &map, array->layout.minor_to_major, err)) != TG_OK) return s;
    if ((s = to_bytes(result, map.ndim, map.elem_bits / 8, err)) != TG_OK) return s;
    memcpy(strides, result, (size_t)map.ndim * sizeof result[0]);
    return TG_OK;
}

tg_status tg_xla_strides_untiled(int64_t *strides, const tg_xla_shape *array, tg_error *err) {
    tg_layout       map;
    const tg_status s = tg_shape_map(&map, array, TG_SHAPE_UNTILED, err);
    return s != TG_OK ? s : tg_shape_strides(strides, &map, array->layout.minor_to_major, err);
}

tg_status tg_xla_byte_strides_untiled(int64_t *strides, const tg_xla_shape *array, tg_error *err) {
    int64_t   result[TG_MAX_NDIM];
    tg_status s = tg_xla_strides_untiled(result, array, err);
    if (s == TG_OK) s = to_bytes(result, array->ndim, tg_dtype_storage_bits(array->dtype) / 8, err);
    if (s == TG_OK) memcpy(strides, result, (size_t)array->ndim * sizeof result[0]);
    return s;
}
