/* Taking dimensions out, putting them in, and renaming them, with the layout kept right.
 *
 * minor_to_major is renumbered, splits keep to the physical dimension that they cut, and tile numbers follow theirs
 * (shape_tiles.c). What moves no byte by its contract is either a renaming or compared with the map of its input. */
#include "hlo/shape.h"

#include <string.h>

/* A changed shape must still be one: sizes, counts, overflow. */
static tg_status finish(tg_xla_shape *out, const tg_xla_shape *edited, tg_error *err) {
    const tg_status s = tg_shape_need_sizes(edited, err);
    if (s == TG_OK) *out = *edited;
    return s;
}

/* ---- taking out ---------------------------------------------------------------------------- */

/* Splits of physical dimension `to[p]`, -1 if p goes. */
static void filter_splits(tg_xla_layout *l, const int32_t *to) {
    const tg_xla_layout in = *l;
    const int64_t      *cuts = in.split_indices;
    int32_t             used = 0;
    l->nsplits = 0;
    memset(l->split_dim, 0, sizeof l->split_dim);
    memset(l->split_nindices, 0, sizeof l->split_nindices);
    memset(l->split_indices, 0, sizeof l->split_indices);
    for (int32_t i = 0; i < in.nsplits; cuts += in.split_nindices[i++]) {
        if (to[in.split_dim[i]] < 0) continue;
        l->split_dim[l->nsplits] = to[in.split_dim[i]];
        l->split_nindices[l->nsplits++] = in.split_nindices[i];
        memcpy(&l->split_indices[used], cuts, (size_t)in.split_nindices[i] * sizeof cuts[0]);
        used += in.split_nindices[i];
    }
}

/* All but tiles; number[d] is the new number of dimension d, -1 if it goes. */
static void filter_layout(tg_xla_layout *l, const int32_t *number) {
    const tg_xla_layout in = *l;
    int32_t             to[TG_MAX_NDIM], kept = 0; /* of physical dimensions, from the most major one */
    for (int32_t p = 0; p < in.ndim; p++) to[p] = number[in.minor_to_major[in.ndim - 1 - p]] < 0 ? -1 : kept++;
    memset(l->minor_to_major, 0, sizeof l->minor_to_major);
    l->ndim = 0;
    for (int32_t i = 0; i < in.ndim; i++)
        if (number[in.minor_to_major[i]] >= 0) l->minor_to_major[l->ndim++] = number[in.minor_to_major[i]];
    filter_splits(l, to);
}

/* With the tiles as they are. */
static void filter(tg_xla_shape *out, const tg_xla_shape *in, const bool *keep) {
    int32_t number[TG_MAX_NDIM];
    *out = *in;
    out->ndim = 0;
    memset(out->dims, 0, sizeof out->dims);
    memset(out->dynamic, 0, sizeof out->dynamic);
    for (int32_t d = 0; d < in->ndim; d++) {
        number[d] = keep[d] ? out->ndim : -1;
        if (!keep[d]) continue;
        out->dims[out->ndim] = in->dims[d];
        out->dynamic[out->ndim++] = in->dynamic[d];
    }
    if (in->has_layout) filter_layout(&out->layout, number);
}

static tg_status follow_kept(tg_xla_layout *layout, const tg_xla_layout *before, const bool *keep, tg_error *err) {
    tg_shape_place places[TG_MAX_NDIM];
    for (int32_t p = 0; p < before->ndim; p++)
        places[p] = keep[before->minor_to_major[before->ndim - 1 - p]] ? TG_PLACE_STAYS : TG_PLACE_GOES;
    return tg_shape_retile(layout, places, before->ndim, err);
}

tg_status tg_xla_filter_dimensions(tg_xla_shape *out, const tg_xla_shape *in, const bool *keep, tg_error *err) {
    tg_xla_shape shape;
    tg_status    s = tg_shape_need_sizes(in, err);
    if (s != TG_OK) return s;
    filter(&shape, in, keep);
    if (in->has_layout) s = follow_kept(&shape.layout, &in->layout, keep, err);
    return s != TG_OK ? s : finish(out, &shape, err);
}

tg_status tg_xla_delete_dimensions(tg_xla_shape *out, const tg_xla_shape *in, const int32_t *dims, int32_t n,
                                   tg_error *err) {
    bool      keep[TG_MAX_NDIM];
    tg_status s = tg_shape_need_sizes(in, err);
    if (s == TG_OK && n < 0)
        s = tg_fail(err, TG_ERR_ARGUMENT, "delete dimensions: a list of %d dimensions", (int64_t)n);
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) keep[d] = true;
    for (int32_t i = 0; i < n && s == TG_OK; i++) {
        if ((s = tg_shape_need_dim(dims[i], in->ndim, "delete dimensions", err)) != TG_OK) return s;
        if (!keep[dims[i]])
            return tg_fail_dim(err, TG_ERR_ARGUMENT, dims[i], "delete dimensions: dimension %d is listed twice",
                               (int64_t)dims[i]);
        keep[dims[i]] = false;
    }
    return s != TG_OK ? s : tg_xla_filter_dimensions(out, in, keep, err);
}

/* ---- dimensions of size 1, without moving a byte --------------------------------------------- */

/* The map of in without its dimensions of size 1. */
static tg_status map_without_units(tg_layout *out, const tg_xla_shape *in, tg_error *err) {
    tg_status s = tg_shape_map(out, in, TG_SHAPE_ALL_TILES, err);
    for (int32_t d = in->ndim; d-- > 0 && s == TG_OK;)
        if (in->dims[d] == 1) s = tg_layout_squeeze(out, out, d, err);
    return s;
}

tg_status tg_xla_drop_degenerate_dimensions(tg_xla_shape *out, const tg_xla_shape *in, tg_error *err) {
    tg_xla_shape shape;
    tg_layout    wanted;
    bool         keep[TG_MAX_NDIM] = {false};
    tg_status    s = tg_shape_need_sizes(in, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < in->ndim; d++) keep[d] = in->dims[d] != 1;
    filter(&shape, in, keep);
    if (!in->has_layout || in->layout.ntiles == 0) return finish(out, &shape, err);
    if ((s = map_without_units(&wanted, in, err)) != TG_OK) return s;
    if (tg_shape_has_map(&shape, &wanted)) return finish(out, &shape, err);
    if ((s = follow_kept(&shape.layout, &in->layout, keep, err)) != TG_OK) return s;
    if (tg_shape_has_map(&shape, &wanted) || tg_shape_from_map(&shape, &wanted, &shape))
        return finish(out, &shape, err);
    return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                   "tiles pad a dimension of size 1, and no tiles of the other dimensions are found that leave every "
                   "byte where it is");
}

/* ---- putting in ------------------------------------------------------------------------------- */

static void insert_place(tg_xla_layout *l, int32_t logical, int32_t place) {
    for (int32_t i = 0; i < l->ndim; i++) l->minor_to_major[i] += l->minor_to_major[i] >= logical;
    memmove(&l->minor_to_major[place + 1], &l->minor_to_major[place],
            (size_t)(l->ndim - place) * sizeof l->minor_to_major[0]);
    l->minor_to_major[place] = logical;
    l->ndim++;
    for (int32_t i = 0; i < l->nsplits; i++) l->split_dim[i] += l->split_dim[i] >= l->ndim - 1 - place;
}

/* One dimension becomes number `logical`, and place `place` of minor_to_major. pre: *shape is valid. */
static tg_status insert(tg_xla_shape *shape, int32_t logical, int32_t place, int64_t size, tg_error *err) {
    tg_shape_place places[TG_MAX_NDIM];
    if (shape->ndim == TG_MAX_NDIM)
        return tg_fail(err, TG_ERR_LIMIT, "a dimension more than the limit of %d", (int64_t)TG_MAX_NDIM);
    if (size < 0) return tg_fail_dim(err, TG_ERR_ARGUMENT, logical, "a new dimension of size %d", size);
    memmove(&shape->dims[logical + 1], &shape->dims[logical],
            (size_t)(shape->ndim - logical) * sizeof shape->dims[0]);
    memmove(&shape->dynamic[logical + 1], &shape->dynamic[logical],
            (size_t)(shape->ndim - logical) * sizeof shape->dynamic[0]);
    shape->dims[logical] = size;
    shape->dynamic[logical] = false;
    shape->ndim++;
    if (!shape->has_layout) return TG_OK;
    insert_place(&shape->layout, logical, place);
    for (int32_t p = 0; p < shape->ndim; p++)
        places[p] = p == shape->ndim - 1 - place ? TG_PLACE_COMES : TG_PLACE_STAYS;
    return tg_shape_retile(&shape->layout, places, shape->ndim, err);
}

static int32_t place_of(const tg_xla_layout *l, int32_t dim) {
    int32_t i = 0;
    while (i < l->ndim && l->minor_to_major[i] != dim) i++;
    return i;
}

tg_status tg_xla_insert_dimensions(tg_xla_shape *out, const tg_xla_shape *in, int32_t index, const int64_t *sizes,
                                   int32_t n, tg_error *err) {
    tg_xla_shape shape = *in;
    tg_status    s = tg_shape_need_sizes(in, err);
    if (s == TG_OK && n < 0) s = tg_fail(err, TG_ERR_ARGUMENT, "insert dimensions: a list of %d sizes", (int64_t)n);
    if (s == TG_OK && (index < 0 || index > in->ndim))
        s = tg_fail_dim(err, TG_ERR_ARGUMENT, index, "insert dimensions: index %d is not in [0, %d]", (int64_t)index,
                        (int64_t)in->ndim);
    /* from the last: each stands directly before what was dimension `index`, that is, before the one after it */
    for (int32_t i = n; i-- > 0 && s == TG_OK;) {
        const bool at_end = index == shape.ndim;
        s = insert(&shape, index, at_end || !in->has_layout ? 0 : place_of(&shape.layout, index) + 1, sizes[i], err);
    }
    return s != TG_OK ? s : finish(out, &shape, err);
}

static tg_status add_major(tg_xla_shape *out, const tg_xla_shape *in, bool first, int64_t size, tg_error *err) {
    tg_xla_shape shape = *in;
    tg_status    s = tg_shape_need_sizes(in, err);
    if (s == TG_OK) s = insert(&shape, first ? 0 : in->ndim, in->ndim, size, err);
    return s != TG_OK ? s : finish(out, &shape, err);
}

tg_status tg_xla_append_major_dimension(tg_xla_shape *out, const tg_xla_shape *in, int64_t size, tg_error *err) {
    return add_major(out, in, false, size, err);
}

tg_status tg_xla_prepend_major_dimension(tg_xla_shape *out, const tg_xla_shape *in, int64_t size, tg_error *err) {
    return add_major(out, in, true, size, err);
}

/* ---- renaming ------------------------------------------------------------------------------------ */

static tg_status permute(tg_xla_shape *out, const tg_xla_shape *in, const int32_t *perm, bool layout_too,
                         tg_error *err) {
    tg_xla_shape shape = *in;
    int32_t      inverse[TG_MAX_NDIM];
    tg_status    s = tg_shape_need_sizes(in, err);
    if (s == TG_OK) s = tg_xla_inverse(inverse, perm, in->ndim, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < in->ndim; d++) {
        shape.dims[d] = in->dims[perm[d]];
        shape.dynamic[d] = in->dynamic[perm[d]];
    }
    for (int32_t i = 0; i < in->ndim && layout_too && in->has_layout; i++)
        shape.layout.minor_to_major[i] = inverse[in->layout.minor_to_major[i]];
    return finish(out, &shape, err);
}

tg_status tg_xla_permute_dimensions(tg_xla_shape *out, const tg_xla_shape *in, const int32_t *perm, tg_error *err) {
    return permute(out, in, perm, true, err);
}

tg_status tg_xla_permute_dimensions_ignoring_layout(tg_xla_shape *out, const tg_xla_shape *in, const int32_t *perm,
                                                    tg_error *err) {
    return permute(out, in, perm, false, err);
}

tg_status tg_xla_make_descending(tg_xla_shape *out, const tg_xla_shape *in, tg_error *err) {
    int32_t   order[TG_MAX_NDIM];
    tg_status s = tg_shape_need_array(in, err);
    if (s == TG_OK) s = tg_xla_major_to_minor(order, &in->layout, err);
    return s != TG_OK ? s : permute(out, in, order, true, err);
}
