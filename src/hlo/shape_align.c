/* Telling a bitcast as operations, and finding the layout that makes a reshape one.
 *
 * Reading the bytes of one shape as another is a transpose to physical order, a reshape, and a transpose from physical
 * order. The transposes move nothing whatever the tiles are; the reshape between them is what may. */
#include "hlo/shape.h"

#include <string.h>

/* ---- a bitcast as operations -------------------------------------------------------------------- */

/* Transposes to and from physical order; pre: valid arrays. */
static tg_status fill_trt(tg_xla_bitcast *out, const tg_xla_shape *a, const tg_xla_shape *b, tg_error *err) {
    tg_status s = tg_xla_make_descending(&out->transpose1_shape, a, err);
    if (s == TG_OK) s = tg_xla_make_descending(&out->reshape_shape, b, err);
    if (s == TG_OK) s = tg_xla_major_to_minor(out->transpose1, &a->layout, err);
    if (s == TG_OK) s = tg_xla_logical_to_physical(out->transpose2, &b->layout, err);
    return s;
}

static void keep_only(tg_xla_bitcast *out, tg_xla_bitcast_kind kind) {
    const tg_xla_bitcast all = *out;
    if (kind != TG_XLA_BITCAST_TRT) memset(out, 0, sizeof *out);
    if (kind == TG_XLA_BITCAST_TRANSPOSE) memcpy(out->transpose1, all.transpose1, sizeof all.transpose1);
    out->kind = kind;
}

tg_status tg_xla_decompose_bitcast(tg_xla_bitcast *out, const tg_xla_shape *a, const tg_xla_shape *b, tg_error *err) {
    tg_xla_bitcast result;
    bool           yes;
    tg_status      s = tg_xla_reshape_is_bitcast(&yes, NULL, a, b, true, err);
    memset(&result, 0, sizeof result);
    if (s == TG_OK && yes) result.kind = TG_XLA_BITCAST_RESHAPE;
    if (s == TG_OK && !yes) {
        s = tg_xla_deduce_transpose(&yes, result.transpose1, a, b, err);
        if (yes) result.kind = TG_XLA_BITCAST_TRANSPOSE;
    }
    if (s == TG_OK && result.kind == TG_XLA_BITCAST_NONE && (s = fill_trt(&result, a, b, err)) == TG_OK) {
        s = tg_xla_reshape_is_bitcast(&yes, NULL, &result.transpose1_shape, &result.reshape_shape, true, err);
        if (yes) result.kind = TG_XLA_BITCAST_TRT;
    }
    if (s != TG_OK) return s;
    keep_only(&result, result.kind);
    *out = result;
    return TG_OK;
}

tg_status tg_xla_decompose_bitcast_untiled(tg_xla_bitcast *out, const tg_xla_shape *a, const tg_xla_shape *b,
                                           tg_error *err) {
    tg_xla_bitcast result;
    int64_t        left, right;
    bool           yes = false;
    tg_status      s = tg_xla_reshape_is_bitcast_untiled(&yes, a, b, true, err);
    memset(&result, 0, sizeof result);
    if (s == TG_OK) s = tg_xla_elements(&left, a, 1, err);
    if (s == TG_OK) s = tg_xla_elements(&right, b, 1, err);
    if (s != TG_OK) return s;
    tg_xla_bitcast_kind kind = yes ? TG_XLA_BITCAST_RESHAPE : TG_XLA_BITCAST_NONE;
    if (!yes && left == right) {
        s = tg_xla_deduce_transpose_untiled(&yes, result.transpose1, a, b, err);
        kind = yes ? TG_XLA_BITCAST_TRANSPOSE : TG_XLA_BITCAST_TRT;
        if (s == TG_OK && !yes) s = fill_trt(&result, a, b, err);
    }
    if (s != TG_OK) return s;
    keep_only(&result, kind);
    *out = result;
    return TG_OK;
}

/* ---- layouts for reshapes -------------------------------------------------------------------------- */

/* minor_to_major by strides that are those of a dense array; sizes of 1 come last, in descending order. False if there
 * is no such order. */
static bool order_of(int32_t *order, const tg_layout *map) {
    int64_t strides[TG_MAX_NDIM];
    int32_t descending[TG_MAX_NDIM], n = 0;
    int64_t step = 1;
    for (int32_t i = 0; i < map->ndim; i++) descending[i] = map->ndim - 1 - i;
    if (tg_shape_strides(strides, map, descending, NULL) != TG_OK) return false;
    for (int32_t i = 0; i < map->ndim; i++) { /* insertion by stride */
        const int32_t d = descending[i];
        int32_t       at = n;
        if (map->shape[d] == 1) continue;
        for (; at > 0 && strides[order[at - 1]] > strides[d]; at--) order[at] = order[at - 1];
        order[at] = d;
        n++;
    }
    for (int32_t i = 0; i < n; i++) {
        if (strides[order[i]] != step) return false;
        step *= map->shape[order[i]]; /* fits: a divisor of the number of elements */
    }
    for (int32_t i = 0; i < map->ndim; i++)
        if (map->shape[descending[i]] == 1) order[n++] = descending[i];
    return true;
}

/* Without elements every order will do: a's if the sizes are a's, else the default. */
static void order_of_nothing(int32_t *order, const tg_xla_shape *a, const tg_xla_shape *out) {
    const bool same = a->ndim == out->ndim && memcmp(a->dims, out->dims, (size_t)a->ndim * sizeof a->dims[0]) == 0;
    for (int32_t i = 0; i < out->ndim; i++) order[i] = same ? a->layout.minor_to_major[i] : out->ndim - 1 - i;
}

/* out: a valid shape of the new sizes in default layout. Its order becomes the one that makes the reshape a bitcast if
 * tiles are absent. */
static tg_status align_order(bool *found, tg_xla_shape *out, const tg_xla_shape *a, tg_error *err) {
    tg_layout map;
    int32_t   order[TG_MAX_NDIM];
    tg_status s = tg_shape_map(&map, a, TG_SHAPE_UNTILED, err);
    if (s == TG_OK) s = tg_layout_reshape(&map, &map, out->ndim, out->dims, err);
    if (s != TG_OK) return s;
    *found = tg_layout_numel(&map) == 0 || order_of(order, &map);
    if (tg_layout_numel(&map) == 0) order_of_nothing(order, a, out);
    if (*found) memcpy(out->layout.minor_to_major, order, (size_t)out->ndim * sizeof order[0]);
    return TG_OK;
}

/* The sizes as a shape of a's type; they must have a's number of elements. */
static tg_status begin(tg_xla_shape *out, const tg_xla_shape *a, int32_t ndim, const int64_t *dims, tg_error *err) {
    int64_t   left, right;
    tg_status s = tg_shape_need_array(a, err);
    if (s == TG_OK) s = tg_xla_array(out, a->dtype, ndim, dims, NULL, err);
    if (s == TG_OK) s = tg_xla_elements(&left, a, 1, err);
    if (s == TG_OK) s = tg_xla_elements(&right, out, 1, err);
    if (s == TG_OK && left != right)
        s = tg_fail(err, TG_ERR_ARGUMENT, "align layouts: %v has %d elements, and %v has %d", a->dims, (int)a->ndim,
                    left, dims, (int)ndim, right);
    return s;
}

tg_status tg_xla_align_layouts_untiled(bool *found, tg_xla_shape *out, const tg_xla_shape *a, int32_t ndim,
                                       const int64_t *dims, tg_error *err) {
    tg_xla_shape shape;
    bool         ok;
    tg_status    s = begin(&shape, a, ndim, dims, err);
    if (s == TG_OK) s = align_order(&ok, &shape, a, err);
    if (s != TG_OK) return s;
    *found = ok;
    if (ok) *out = shape;
    return TG_OK;
}

/* With a's properties: those of its memory, and with `tiles` its tiles. */
static void dress(tg_xla_shape *shape, const tg_xla_shape *a, bool tiles) {
    const tg_xla_shape bare = *shape;
    shape->layout = a->layout;
    shape->layout.ndim = bare.layout.ndim;
    memcpy(shape->layout.minor_to_major, bare.layout.minor_to_major, sizeof bare.layout.minor_to_major);
    if (!tiles) {
        shape->layout.ntiles = 0;
        memset(shape->layout.tile_ndim, 0, sizeof shape->layout.tile_ndim);
        memset(shape->layout.tile_dims, 0, sizeof shape->layout.tile_dims);
    }
}

/* The order of XLA, with a's tiles or without any, if that moves nothing. */
static bool try_order(tg_xla_shape *out, const tg_xla_shape *ordered, const tg_xla_shape *a, bool tiles) {
    tg_xla_shape shape = *ordered;
    bool         yes = false;
    dress(&shape, a, tiles);
    if (tg_xla_reshape_is_bitcast(&yes, NULL, a, &shape, false, NULL) != TG_OK || !yes) return false;
    *out = shape;
    return true;
}

tg_status tg_xla_align_layouts(bool *found, tg_xla_shape *out, const tg_xla_shape *a, int32_t ndim,
                               const int64_t *dims, tg_error *err) {
    tg_xla_shape shape;
    tg_layout    map;
    bool         ordered;
    tg_status    s = begin(&shape, a, ndim, dims, err);
    if (s == TG_OK) s = align_order(&ordered, &shape, a, err);
    if (s == TG_OK) s = tg_shape_map(&map, a, TG_SHAPE_ALL_TILES, err);
    if (s != TG_OK) return s;
    if (ordered && (try_order(out, &shape, a, true) || try_order(out, &shape, a, false))) {
        *found = true;
        return TG_OK;
    }
    dress(&shape, a, false);
    *found = tg_layout_coalesce(&map, &map, NULL) == TG_OK &&
             tg_layout_reshape(&map, &map, ndim, dims, NULL) == TG_OK && tg_shape_from_map(out, &map, &shape);
    return TG_OK;
}
