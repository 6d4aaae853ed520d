/* Making shapes and giving them layouts; and what all files here ask of their inputs.
 *
 * Rules and their texts are those of tg_xla_shape_validate. Whatever a function here writes satisfies them. */
#include "hlo/shape.h"

#include "notation/xla_text.h"

#include <string.h>

/* ---- checked inputs ----------------------------------------------------------------- */

static tg_status need_kind(const tg_xla_shape *array, tg_error *err) {
    if (array->kind == TG_XLA_ARRAY) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "an array is needed here, not a shape of kind %d", (int64_t)array->kind);
}

tg_status tg_shape_need_array(const tg_xla_shape *array, tg_error *err) {
    const tg_status s = need_kind(array, err);
    return s != TG_OK ? s : tg_xla_shape_validate(array, 1, err);
}

tg_status tg_shape_need_sizes(const tg_xla_shape *array, tg_error *err) {
    const tg_status s = need_kind(array, err);
    return s != TG_OK ? s : tg_xla_shape_validate_optional_layout(array, 1, err);
}

tg_status tg_shape_need_dim(int32_t dim, int32_t ndim, const char *what, tg_error *err) {
    if (dim >= 0 && dim < ndim) return TG_OK;
    return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "%s: dimension %d is not in [0, %d)", what, (int64_t)dim,
                       (int64_t)ndim);
}

static tg_status need_ndim(int32_t ndim, tg_error *err) {
    if (ndim >= 0 && ndim <= TG_MAX_NDIM) return TG_OK;
    return tg_fail(err, ndim < 0 ? TG_ERR_ARGUMENT : TG_ERR_LIMIT, "%d dimensions; possible are 0 to %d", (int64_t)ndim,
                   (int64_t)TG_MAX_NDIM);
}

tg_status tg_shape_need_permutation(const int32_t *p, int32_t n, const char *what, tg_error *err) {
    uint32_t  seen = 0;
    tg_status s = need_ndim(n, err);
    for (int32_t i = 0; i < n && s == TG_OK; i++) {
        if ((s = tg_shape_need_dim(p[i], n, what, err)) != TG_OK) break;
        if ((seen >> p[i] & 1) != 0)
            s = tg_fail_dim(err, TG_ERR_ARGUMENT, p[i], "%s: dimension %d is listed twice", what, (int64_t)p[i]);
        seen |= (uint32_t)1 << p[i];
    }
    return s;
}

tg_status tg_shape_need_order(const tg_xla_layout *layout, tg_error *err) {
    if (!tg_xla_layout_is_bounded(layout))
        return tg_fail(err, TG_ERR_ARGUMENT, "a layout whose counts do not lie in its arrays");
    return tg_shape_need_permutation(layout->minor_to_major, layout->ndim, "minor_to_major", err);
}

/* ---- layouts and arrays ------------------------------------------------------------- */

tg_status tg_xla_layout_from_minor_to_major(tg_xla_layout *out, int32_t ndim, const int32_t *order, tg_error *err) {
    const tg_status s = tg_shape_need_permutation(order, ndim, "minor_to_major", err);
    if (s != TG_OK) return s;
    tg_xla_layout l;
    memset(&l, 0, sizeof l);
    l.tail_padding = 1;
    l.ndim = ndim;
    for (int32_t i = 0; i < ndim; i++) l.minor_to_major[i] = order[i];
    *out = l;
    return TG_OK;
}

/* As above, for the list from its last entry to its first. */
tg_status tg_xla_layout_from_major_to_minor(tg_xla_layout *out, int32_t ndim, const int32_t *order, tg_error *err) {
    int32_t         reversed[TG_MAX_NDIM];
    const tg_status s = tg_shape_need_permutation(order, ndim, "major_to_minor", err);
    if (s != TG_OK) return s;
    for (int32_t i = 0; i < ndim; i++) reversed[i] = order[ndim - 1 - i];
    return tg_xla_layout_from_minor_to_major(out, ndim, reversed, err);
}

static const int32_t counting[TG_MAX_NDIM] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

tg_status tg_xla_layout_ascending(tg_xla_layout *out, int32_t ndim, tg_error *err) {
    return tg_xla_layout_from_minor_to_major(out, ndim, counting, err);
}

tg_status tg_xla_layout_descending(tg_xla_layout *out, int32_t ndim, tg_error *err) {
    return tg_xla_layout_from_major_to_minor(out, ndim, counting, err);
}

tg_status tg_xla_array(tg_xla_shape *out, tg_dtype dtype, int32_t ndim, const int64_t *dims,
                       const tg_xla_layout *layout, tg_error *err) {
    tg_xla_shape shape;
    tg_status    s = need_ndim(ndim, err);
    if (s != TG_OK) return s;
    memset(&shape, 0, sizeof shape);
    shape.kind = TG_XLA_ARRAY;
    shape.dtype = dtype;
    shape.ndim = ndim;
    shape.has_layout = true;
    for (int32_t d = 0; d < ndim; d++) {
        shape.dims[d] = dims[d];
        shape.dynamic[d] = dims[d] == TG_XLA_UNBOUNDED;
    }
    if (layout != NULL) shape.layout = *layout;
    else s = tg_xla_layout_descending(&shape.layout, ndim, err);
    if (s == TG_OK) s = tg_xla_shape_validate(&shape, 1, err);
    if (s == TG_OK) *out = shape;
    return s;
}

/* ---- rules ---------------------------------------------------------------------------- */

tg_status tg_xla_layout_validate(const tg_xla_layout *layout, const tg_xla_shape *shape, tg_error *err) {
    tg_xla_shape with = *shape;
    if (shape->kind == TG_XLA_TUPLE)
        return tg_fail(err, TG_ERR_ARGUMENT, "a single Layout is not valid for tuple shapes");
    if (shape->kind != TG_XLA_ARRAY) return TG_OK;
    with.has_layout = true;
    with.layout = *layout;
    return tg_xla_shape_validate(&with, 1, err);
}

tg_status tg_xla_shape_validate_optional_layout(const tg_xla_shape *nodes, size_t count, tg_error *err) {
    tg_status s = tg_xla_check_tree(nodes, count, err);
    for (size_t i = 0; i < count && s == TG_OK; i++) {
        if (nodes[i].kind != TG_XLA_ARRAY) continue;
        s = nodes[i].has_layout ? tg_xla_shape_validate(&nodes[i], 1, err) : tg_xla_check_element(&nodes[i], err);
    }
    return s;
}

/* ---- layouts of trees ------------------------------------------------------------------ */

tg_status tg_xla_set_default_layouts(tg_xla_shape *nodes, size_t count, tg_error *err) {
    const tg_status s = tg_xla_check_tree(nodes, count, err);
    for (size_t i = 0; i < count && s == TG_OK; i++) {
        if (nodes[i].kind != TG_XLA_ARRAY) continue;
        nodes[i].has_layout = true;
        (void)tg_xla_layout_descending(&nodes[i].layout, nodes[i].ndim, NULL); /* in range: the tree is checked */
    }
    return s;
}

static tg_status check_copy(const tg_xla_shape *to, const tg_xla_shape *from, tg_error *err) {
    if (to->kind != from->kind)
        return tg_fail(err, TG_ERR_ARGUMENT, "cannot copy layout from shape: shape structure differs: kinds %d and %d",
                       (int64_t)to->kind, (int64_t)from->kind);
    if (to->nchildren != from->nchildren)
        return tg_fail(err, TG_ERR_ARGUMENT, "cannot copy layout from shape: tuple element count differs: %d and %d",
                       (int64_t)to->nchildren, (int64_t)from->nchildren);
    if (to->kind != TG_XLA_ARRAY) return TG_OK;
    if (to->ndim != from->ndim)
        return tg_fail(err, TG_ERR_ARGUMENT, "cannot copy layout from shape: ranks differ: %d and %d",
                       (int64_t)to->ndim, (int64_t)from->ndim);
    return from->has_layout ? tg_xla_layout_validate(&from->layout, to, err) : TG_OK;
}

tg_status tg_xla_copy_layouts(tg_xla_shape *nodes, size_t count, const tg_xla_shape *from, size_t nfrom,
                              tg_error *err) {
    tg_status s = tg_xla_check_tree(nodes, count, err);
    if (s == TG_OK) s = tg_xla_check_tree(from, nfrom, err);
    /* trees whose nodes have the same numbers of elements have the same number of nodes */
    for (size_t i = 0; i < count && i < nfrom && s == TG_OK; i++) s = check_copy(&nodes[i], &from[i], err);
    for (size_t i = 0; i < count && s == TG_OK; i++) {
        nodes[i].has_layout = from[i].has_layout;
        nodes[i].layout = from[i].layout;
    }
    return s;
}

tg_status tg_xla_set_packing(tg_xla_shape *nodes, size_t count, bool pack, tg_error *err) {
    const tg_status s = tg_xla_check_tree(nodes, count, err);
    for (size_t i = 0; i < count && s == TG_OK; i++) {
        const int32_t bits = tg_dtype_bits(nodes[i].dtype);
        if (nodes[i].kind != TG_XLA_ARRAY || !nodes[i].has_layout) continue;
        nodes[i].layout.element_size_in_bits = pack && bits < 8 && nodes[i].dtype != TG_PRED ? bits : 0;
    }
    return s;
}

static void remove_tiles(tg_xla_layout *l) {
    l->ntiles = 0;
    memset(l->tile_ndim, 0, sizeof l->tile_ndim);
    memset(l->tile_dims, 0, sizeof l->tile_dims);
}

tg_status tg_xla_device_to_host(tg_xla_shape *nodes, size_t count, tg_error *err) {
    const tg_status s = tg_xla_check_tree(nodes, count, err);
    for (size_t i = 0; i < count && s == TG_OK; i++) {
        tg_xla_layout *l = &nodes[i].layout;
        if (nodes[i].kind != TG_XLA_ARRAY || !nodes[i].has_layout) continue;
        remove_tiles(l);
        l->memory_space = 0;
        l->element_size_in_bits = 0;
        l->tail_padding = 1;
        l->metadata_prefix_bytes = 0;
    }
    return s;
}

tg_status tg_xla_copy_tiles(tg_xla_layout *layout, const tg_xla_layout *from, tg_error *err) {
    if (!tg_xla_layout_is_bounded(from))
        return tg_fail(err, TG_ERR_ARGUMENT, "a layout whose counts do not lie in its arrays");
    layout->ntiles = from->ntiles;
    memmove(layout->tile_ndim, from->tile_ndim, sizeof from->tile_ndim);
    memmove(layout->tile_dims, from->tile_dims, sizeof from->tile_dims);
    return TG_OK;
}
