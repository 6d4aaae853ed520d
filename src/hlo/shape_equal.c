/* Are two shapes the same? As written, or byte by byte.
 *
 * As written is XLA's question: lists are compared, and options leave some out. Byte by byte is asked of the maps, so
 * that {1,0:T(8,128)} and {1,0} are the same for f32[8,128], which one tile holds. */
#include "hlo/shape.h"

#include "notation/xla_text.h"

#include <string.h>

/* ---- layouts, as written ---------------------------------------------------------------- */

static bool same_tiles(const tg_xla_layout *a, const tg_xla_layout *b) {
    int32_t numbers = 0;
    if (a->ntiles != b->ntiles) return false;
    for (int32_t t = 0; t < a->ntiles; t++) {
        if (a->tile_ndim[t] != b->tile_ndim[t]) return false;
        numbers += a->tile_ndim[t];
    }
    return memcmp(a->tile_dims, b->tile_dims, (size_t)numbers * sizeof a->tile_dims[0]) == 0;
}

static bool same_splits(const tg_xla_layout *a, const tg_xla_layout *b) {
    int32_t indices = 0;
    if (a->nsplits != b->nsplits) return false;
    for (int32_t i = 0; i < a->nsplits; i++) {
        if (a->split_dim[i] != b->split_dim[i] || a->split_nindices[i] != b->split_nindices[i]) return false;
        indices += a->split_nindices[i];
    }
    return memcmp(a->split_indices, b->split_indices, (size_t)indices * sizeof a->split_indices[0]) == 0;
}

/* M(n) is absent for n <= 0. */
static int64_t prefix_of(const tg_xla_layout *l) { return tg_max(l->metadata_prefix_bytes, 0); }

static bool same_layout(const tg_xla_layout *a, const tg_xla_layout *b, uint32_t options) {
    const uint32_t compared = ~options;
    if (a->ndim != b->ndim ||
        memcmp(a->minor_to_major, b->minor_to_major, (size_t)a->ndim * sizeof a->minor_to_major[0]) != 0)
        return false;
    if ((compared & TG_XLA_IGNORE_TILES) != 0 && !same_tiles(a, b)) return false;
    if ((compared & TG_XLA_IGNORE_TAIL_PADDING) != 0 && a->tail_padding != b->tail_padding) return false;
    if ((compared & TG_XLA_IGNORE_INDEX_TYPE) != 0 && a->index_type != b->index_type) return false;
    if ((compared & TG_XLA_IGNORE_POINTER_TYPE) != 0 && a->pointer_type != b->pointer_type) return false;
    if ((compared & TG_XLA_IGNORE_ELEMENT_SIZE) != 0 && a->element_size_in_bits != b->element_size_in_bits)
        return false;
    if ((compared & TG_XLA_IGNORE_MEMORY_SPACE) != 0 && a->memory_space != b->memory_space) return false;
    if ((compared & TG_XLA_IGNORE_SPLITS) != 0 && !same_splits(a, b)) return false;
    return (options & TG_XLA_COMPARE_METADATA_PREFIX) == 0 || prefix_of(a) == prefix_of(b);
}

tg_status tg_xla_layout_equal_fields(bool *equal, const tg_xla_layout *a, const tg_xla_layout *b, uint32_t options,
                                     tg_error *err) {
    if (!tg_xla_layout_is_bounded(a) || !tg_xla_layout_is_bounded(b))
        return tg_fail(err, TG_ERR_ARGUMENT, "a layout whose counts do not lie in its arrays");
    *equal = same_layout(a, b, options);
    return TG_OK;
}

/* ---- shapes, as written -------------------------------------------------------------------- */

static bool same_dtype(tg_dtype a, tg_dtype b, uint32_t options) {
    if (a == b || (options & TG_XLA_IGNORE_ELEMENT_TYPE) != 0) return true;
    return (options & TG_XLA_IGNORE_FP_PRECISION) != 0 && tg_dtype_get_class(a) == TG_CLASS_FLOAT &&
           tg_dtype_get_class(b) == TG_CLASS_FLOAT;
}

static bool same_dims(const tg_xla_shape *a, const tg_xla_shape *b, uint32_t options) {
    const bool any_dynamic = (options & TG_XLA_IGNORE_DYNAMIC_DIMENSION) != 0;
    if (a->ndim != b->ndim) return false;
    for (int32_t d = 0; d < a->ndim; d++) {
        const bool unbounded = a->dims[d] == TG_XLA_UNBOUNDED || b->dims[d] == TG_XLA_UNBOUNDED;
        if (!any_dynamic && a->dynamic[d] != b->dynamic[d]) return false;
        if ((options & TG_XLA_IGNORE_DIMENSIONS) != 0 || (any_dynamic && unbounded)) continue;
        if (a->dims[d] != b->dims[d]) return false;
    }
    return true;
}

static bool same_array(const tg_xla_shape *a, const tg_xla_shape *b, uint32_t options) {
    if (!same_dtype(a->dtype, b->dtype, options) || !same_dims(a, b, options)) return false;
    if ((options & TG_XLA_IGNORE_LAYOUT) != 0) return true;
    if (!a->has_layout || !b->has_layout) return a->has_layout == b->has_layout;
    return same_layout(&a->layout, &b->layout, options);
}

static bool same_node(const tg_xla_shape *a, const tg_xla_shape *b, uint32_t options) {
    if (a->kind != b->kind || a->nchildren != b->nchildren) return false;
    return a->kind != TG_XLA_ARRAY || same_array(a, b, options);
}

tg_status tg_xla_shape_equal_fields(bool *equal, const tg_xla_shape *a, size_t na, const tg_xla_shape *b, size_t nb,
                                    uint32_t options, tg_error *err) {
    const bool skip = (options & TG_XLA_IGNORE_BUFFER) != 0;
    size_t     i = 0, j = 0;
    tg_status  s = tg_xla_check_tree(a, na, err);
    if (s == TG_OK) s = tg_xla_check_tree(b, nb, err);
    if (s != TG_OK) return s;
    for (bool same = true; same && i < na && j < nb; i++, j++) {
        i += skip && a[i].kind == TG_XLA_BUFFER; /* its array follows */
        j += skip && b[j].kind == TG_XLA_BUFFER;
        if (!same_node(&a[i], &b[j], options)) {
            *equal = false;
            return TG_OK;
        }
    }
    *equal = true; /* trees whose nodes agree end together */
    return TG_OK;
}

static bool is_dynamic(const tg_xla_shape *array) {
    for (int32_t d = 0; d < array->ndim; d++)
        if (array->dynamic[d]) return true;
    return false;
}

/* Static arrays, tokens and opaques are compatible with whatever is no tuple. */
static bool is_within(const tg_xla_shape *dynamic, const tg_xla_shape *bounded) {
    if (dynamic->nchildren != bounded->nchildren) return false;
    if (dynamic->kind == TG_XLA_TUPLE || bounded->kind == TG_XLA_TUPLE) return dynamic->kind == bounded->kind;
    if (dynamic->kind != TG_XLA_ARRAY || !is_dynamic(dynamic)) return true;
    if (bounded->kind != TG_XLA_ARRAY || dynamic->ndim != bounded->ndim) return false;
    for (int32_t d = 0; d < dynamic->ndim; d++)
        if (dynamic->dims[d] > bounded->dims[d]) return false;
    return true;
}

tg_status tg_xla_dynamic_is_compatible(bool *compatible, const tg_xla_shape *dynamic, size_t ndynamic,
                                       const tg_xla_shape *bounded, size_t nbounded, tg_error *err) {
    bool      within = true;
    tg_status s = tg_xla_check_tree(dynamic, ndynamic, err);
    if (s == TG_OK) s = tg_xla_check_tree(bounded, nbounded, err);
    if (s != TG_OK) return s;
    for (size_t i = 0; within && i < ndynamic && i < nbounded; i++) within = is_within(&dynamic[i], &bounded[i]);
    *compatible = within;
    return TG_OK;
}

/* ---- byte by byte ----------------------------------------------------------------------------- */

static tg_xla_witness differ(tg_xla_difference what, int64_t a, int64_t b) {
    return (tg_xla_witness){.what = what, .a = a, .b = b};
}

static bool same_physical_sizes(const tg_xla_shape *a, const tg_xla_shape *b) {
    if (a->ndim != b->ndim) return false;
    for (int32_t i = 0; i < a->ndim; i++)
        if (a->dims[a->layout.minor_to_major[i]] != b->dims[b->layout.minor_to_major[i]]) return false;
    return true;
}

tg_xla_witness tg_shape_compare_memory(const tg_xla_shape *a, const tg_xla_shape *b) {
    const tg_xla_layout *x = &a->layout, *y = &b->layout;
    if (x->memory_space != y->memory_space)
        return differ(TG_XLA_DIFFERENT_MEMORY_SPACE, x->memory_space, y->memory_space);
    if (prefix_of(x) != prefix_of(y)) return differ(TG_XLA_DIFFERENT_METADATA_PREFIX, prefix_of(x), prefix_of(y));
    const bool split = x->nsplits > 0 || y->nsplits > 0;
    if (split && !(same_splits(x, y) && same_tiles(x, y) && same_physical_sizes(a, b)))
        return differ(TG_XLA_DIFFERENT_SPLITS, x->nsplits, y->nsplits);
    return differ(TG_XLA_SAME, 0, 0);
}

static tg_xla_difference translate(tg_difference what) {
    switch (what) {
    case TG_SAME: return TG_XLA_SAME;
    case TG_DIFFERENT_SHAPE: return TG_XLA_DIFFERENT_DIMENSIONS;
    case TG_DIFFERENT_WIDTH: return TG_XLA_DIFFERENT_WIDTH;
    case TG_DIFFERENT_SPAN: return TG_XLA_DIFFERENT_SPAN;
    case TG_DIFFERENT_MAP:
    case TG_DIFFERENT_COPIES: return TG_XLA_DIFFERENT_MAP; /* XLA layouts hold no copies */
    }
    return TG_XLA_DIFFERENT_MAP;
}

tg_status tg_shape_compare_maps(tg_xla_witness *out, const tg_layout *a, const tg_layout *b, tg_error *err) {
    bool            equal;
    tg_witness      w = {.what = TG_SAME};
    const tg_status s = tg_layout_equal(&equal, &w, a, b, true, err);
    if (s != TG_OK) return s;
    *out = equal ? differ(TG_XLA_SAME, 0, 0) : differ(translate(w.what), w.a, w.b);
    if (out->what == TG_XLA_DIFFERENT_MAP) memcpy(out->coord, w.coord, (size_t)b->ndim * sizeof w.coord[0]);
    return TG_OK;
}

static tg_status compare_arrays(tg_xla_witness *out, const tg_xla_shape *a, const tg_xla_shape *b, tg_error *err) {
    tg_layout x, y;
    tg_status s = tg_shape_map(&x, a, TG_SHAPE_ALL_TILES, err);
    if (s == TG_OK) s = tg_shape_map(&y, b, TG_SHAPE_ALL_TILES, err);
    if (s != TG_OK) return s;
    *out = differ(TG_XLA_DIFFERENT_ELEMENT_TYPE, a->dtype, b->dtype);
    if (a->dtype != b->dtype) return TG_OK;
    *out = differ(TG_XLA_DIFFERENT_DIMENSIONS, a->ndim, b->ndim);
    if (!same_dims(a, b, TG_XLA_IGNORE_DYNAMIC_DIMENSION)) return TG_OK;
    *out = differ(TG_XLA_DIFFERENT_DYNAMIC, 0, 0);
    if (!same_dims(a, b, 0)) return TG_OK;
    *out = tg_shape_compare_memory(a, b);
    return out->what != TG_XLA_SAME ? TG_OK : tg_shape_compare_maps(out, &x, &y, err);
}

tg_status tg_xla_shape_equal(bool *equal, tg_xla_witness *witness, const tg_xla_shape *a, size_t na,
                             const tg_xla_shape *b, size_t nb, tg_error *err) {
    tg_xla_witness w = differ(TG_XLA_SAME, 0, 0);
    tg_status      s = tg_xla_shape_validate(a, na, err);
    if (s == TG_OK) s = tg_xla_shape_validate(b, nb, err);
    for (size_t i = 0; s == TG_OK && w.what == TG_XLA_SAME && i < na && i < nb; i++) {
        if (a[i].kind != b[i].kind || a[i].nchildren != b[i].nchildren)
            w = differ(TG_XLA_DIFFERENT_TREE, a[i].nchildren, b[i].nchildren);
        else if (a[i].kind == TG_XLA_ARRAY) s = compare_arrays(&w, &a[i], &b[i], err);
        w.node = i;
    }
    if (s != TG_OK) return s;
    *equal = w.what == TG_XLA_SAME;
    if (witness != NULL && !*equal) *witness = w;
    return TG_OK;
}
