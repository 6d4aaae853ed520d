/* The rules of a well-formed XLA shape, in XLA's order and with its texts.
 *
 * Reading and judging are apart, as they are in XLA: `f32[2,2]{0,0}` is a shape that can be read,
 * printed and reported, but its layout is no permutation, and only these rules say so. XLA itself
 * applies them while reading in one place, to the elements of a tuple; so does our reader.
 *
 * One rule is ours: `*` in the last place of a tile, which means "combine with the next more minor
 * dimension" where there is none. XLA accepts it and later divides by INT64_MIN. */
#include "notation/xla_text.h"

#include "base/checked.h"
#include "base/error.h"

enum { SHOWN_SHAPE = 96 };

/* A shape as a piece of a message. */
typedef struct shown {
    char text[SHOWN_SHAPE];
} shown;

static shown show(const tg_xla_shape *array) {
    shown s;
    (void)tg_xla_shape_format(s.text, sizeof s.text, array, 1, false);
    return s;
}

/* ---- counts: may the arrays be read at all? -------------------------------------- */

static bool in_range(int32_t n, int32_t max) { return n >= 0 && n <= max; }

static bool are_tiles_bounded(const tg_xla_layout *layout) {
    if (!in_range(layout->ntiles, TG_XLA_MAX_TILES)) return false;
    int32_t room = TG_XLA_MAX_TILE_DIMS;
    for (int32_t i = 0; i < layout->ntiles; i++) {
        if (!in_range(layout->tile_ndim[i], room)) return false;
        room -= layout->tile_ndim[i];
    }
    return true;
}

static bool are_splits_bounded(const tg_xla_layout *layout) {
    if (!in_range(layout->nsplits, TG_XLA_MAX_SPLITS)) return false;
    int32_t room = TG_XLA_MAX_SPLIT_INDICES;
    for (int32_t i = 0; i < layout->nsplits; i++) {
        if (!in_range(layout->split_nindices[i], room)) return false;
        room -= layout->split_nindices[i];
    }
    return true;
}

bool tg_xla_layout_is_bounded(const tg_xla_layout *layout) {
    return in_range(layout->ndim, TG_MAX_NDIM) && are_tiles_bounded(layout) && are_splits_bounded(layout);
}

static tg_status check_array_counts(const tg_xla_shape *node, tg_error *err) {
    if (!in_range(node->ndim, TG_MAX_NDIM))
        return tg_fail(err, TG_ERR_ARGUMENT, "an array of %d dimensions; possible are 0 to %d", (int64_t)node->ndim,
                       (int64_t)TG_MAX_NDIM);
    if (node->has_layout && !tg_xla_layout_is_bounded(&node->layout))
        return tg_fail(err, TG_ERR_ARGUMENT, "a layout whose counts do not lie in its arrays");
    return TG_OK;
}

static tg_status check_no_array_fields(const tg_xla_shape *node, tg_error *err) {
    if (node->has_layout && node->kind == TG_XLA_TUPLE)
        return tg_fail(err, TG_ERR_ARGUMENT, "a single Layout is not valid for tuple shapes");
    if (node->has_layout || node->ndim != 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "only arrays have dimensions and a layout of their own");
    return TG_OK;
}

static tg_status check_children(const tg_xla_shape *node, tg_error *err) {
    const int64_t n = node->nchildren;
    if (node->kind == TG_XLA_TUPLE ? n < 0 : n != (node->kind == TG_XLA_BUFFER))
        return tg_fail(err, TG_ERR_ARGUMENT, "a shape of kind %d with %d elements", (int64_t)node->kind, n);
    return TG_OK;
}

static tg_status check_node(const tg_xla_shape *node, tg_error *err) {
    if ((int)node->kind < TG_XLA_ARRAY || node->kind > TG_XLA_BUFFER)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d is no kind of shape", (int64_t)node->kind);
    const tg_status status = check_children(node, err);
    if (status != TG_OK) return status;
    return node->kind == TG_XLA_ARRAY ? check_array_counts(node, err) : check_no_array_fields(node, err);
}

/* ---- the tree ------------------------------------------------------------------ */

/* The tuples and buffers that are open at a node, with the elements that each still wants. */
typedef struct open_shapes {
    int32_t depth;
    int32_t wanted[TG_XLA_MAX_DEPTH];
} open_shapes;

static bool open_shape(open_shapes *open, const tg_xla_shape *node) {
    if (open->depth > 0) open->wanted[open->depth - 1]--;
    if (node->kind == TG_XLA_TUPLE || node->kind == TG_XLA_BUFFER) {
        if (open->depth == TG_XLA_MAX_DEPTH) return false;
        open->wanted[open->depth++] = node->nchildren;
    }
    while (open->depth > 0 && open->wanted[open->depth - 1] == 0) open->depth--;
    return true;
}

static tg_status check_buffers(const tg_xla_shape *nodes, size_t count, tg_error *err) {
    for (size_t i = 0; i + 1 < count; i++)
        if (nodes[i].kind == TG_XLA_BUFFER && nodes[i + 1].kind != TG_XLA_ARRAY)
            return tg_fail(err, TG_ERR_ARGUMENT, "Buffer shape must have array shape.");
    return TG_OK;
}

tg_status tg_xla_check_tree(const tg_xla_shape *nodes, size_t count, tg_error *err) {
    open_shapes open = {.depth = 0};
    for (size_t i = 0; i < count; i++) {
        const tg_status status = check_node(&nodes[i], err);
        if (status != TG_OK) return status;
        if (i > 0 && open.depth == 0)
            return tg_fail(err, TG_ERR_ARGUMENT, "%d nodes, but the shape ends after %d", (int64_t)count, (int64_t)i);
        if (!open_shape(&open, &nodes[i]))
            return tg_fail(err, TG_ERR_LIMIT, "more than %d tuples inside each other, a limit of this library",
                           (int64_t)TG_XLA_MAX_DEPTH);
    }
    if (count == 0 || open.depth > 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d nodes, but the shape needs more", (int64_t)count);
    return check_buffers(nodes, count, err);
}

/* ---- element type and sizes ---------------------------------------------------- */

static tg_status check_dims(const tg_xla_shape *array, tg_error *err) {
    for (int32_t d = 0; d < array->ndim; d++) {
        const int64_t size = array->dims[d];
        if (size >= 0 || (size == TG_XLA_UNBOUNDED && array->dynamic[d])) continue;
        return tg_fail_dim(err, TG_ERR_ARGUMENT, d,
                           "not a valid shape: Shape Error: Invalid dimension size %d, is_dynamic=%s", size,
                           array->dynamic[d] ? "true" : "false");
    }
    return TG_OK;
}

/* A bounded dynamic dimension counts with its bound, an unbounded one not at all. */
static tg_status check_overflow(const tg_xla_shape *array, tg_error *err) {
    int64_t elements = 1;
    for (int32_t d = 0; d < array->ndim; d++) {
        if (array->dims[d] == TG_XLA_UNBOUNDED) continue;
        if (!tg_mul(&elements, elements, array->dims[d]))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, d,
                               "not a valid shape: Shape Error: Dimensions overflow. Shape: %s", show(array).text);
    }
    int64_t bytes;
    if (!tg_mul(&bytes, elements, tg_dtype_storage_bits(array->dtype) / 8))
        return tg_fail(err, TG_ERR_OVERFLOW, "not a valid shape: Shape Error: Shape %s size may overflow int64_t.",
                       show(array).text);
    return TG_OK;
}

static tg_status check_sizes(const tg_xla_shape *array, tg_error *err) {
    if (tg_dtype_name(array->dtype) == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "not a valid shape: Shape Error: Invalid element type. %d",
                       (int64_t)array->dtype);
    const tg_status status = check_dims(array, err);
    return status != TG_OK ? status : check_overflow(array, err);
}

/* ---- the layout ---------------------------------------------------------------- */

static tg_status fail_order(const tg_xla_shape *array, const char *rule, tg_error *err) {
    int64_t order[TG_MAX_NDIM];
    for (int32_t i = 0; i < array->layout.ndim; i++) order[i] = array->layout.minor_to_major[i];
    return tg_fail(err, TG_ERR_ARGUMENT, "layout minor_to_major field %s: %v; shape: %s", rule, order,
                   (int)array->layout.ndim, show(array).text);
}

static tg_status check_order(const tg_xla_shape *array, tg_error *err) {
    const tg_xla_layout *layout = &array->layout;
    if (layout->ndim != array->ndim)
        return tg_fail(err, TG_ERR_ARGUMENT,
                       "layout minor_to_major field contains %d elements, but shape has %d dimensions; shape: %s",
                       (int64_t)layout->ndim, (int64_t)array->ndim, show(array).text);
    for (int32_t i = 0; i < layout->ndim; i++)
        if (layout->minor_to_major[i] < 0 || layout->minor_to_major[i] >= layout->ndim)
            return fail_order(array, "has out-of-bounds value", err);
    uint32_t seen = 0;
    for (int32_t i = 0; i < layout->ndim; i++) {
        const uint32_t bit = (uint32_t)1 << layout->minor_to_major[i];
        if ((seen & bit) != 0) return fail_order(array, "has duplicate values", err);
        seen |= bit;
    }
    return TG_OK;
}

static tg_status check_remnants(const tg_xla_layout *layout, tg_error *err) {
    if (layout->tail_padding <= 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "layout tail_padding_alignment_in_elements field is <= 0: {%d}",
                       layout->tail_padding);
    if (layout->index_type != TG_INVALID)
        return tg_fail(err, TG_ERR_ARGUMENT, "layout has a index_primitive_type, but is not a sparse array");
    if (layout->pointer_type != TG_INVALID)
        return tg_fail(err, TG_ERR_ARGUMENT, "layout has a pointer_primitive_type, but is not a sparse array");
    return TG_OK;
}

static tg_status check_tile(const int64_t *dims, int32_t n, tg_error *err) {
    if (n == 0) return tg_fail(err, TG_ERR_ARGUMENT, "layout has invalid tiles: a tile without dimensions");
    for (int32_t i = 0; i < n; i++)
        if (dims[i] <= 0 && dims[i] != TG_XLA_COMBINE)
            return tg_fail(err, TG_ERR_ARGUMENT,
                           "layout has invalid tiles: tile dimension %d must be positive or `*`",
                           dims[i]);
    return TG_OK;
}

static tg_status check_last_place(const int64_t *dims, int32_t n, tg_error *err) {
    if (dims[n - 1] != TG_XLA_COMBINE) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT,
                   "layout has invalid tiles: `*` in the last place of a tile has no more minor dimension to join");
}

static tg_status each_tile(const tg_xla_layout *layout, tg_status (*check)(const int64_t *, int32_t, tg_error *),
                           tg_error *err) {
    const int64_t *dims = layout->tile_dims;
    for (int32_t i = 0; i < layout->ntiles; dims += layout->tile_ndim[i++]) {
        const tg_status status = check(dims, layout->tile_ndim[i], err);
        if (status != TG_OK) return status;
    }
    return TG_OK;
}

/* Where a split cuts: `size` elements, strictly between them and from left to right. */
static tg_status check_split_indices(const int64_t *indices, int32_t n, int64_t size, tg_error *err) {
    for (int32_t i = 0; i < n; i++)
        if (indices[i] <= (i > 0 ? indices[i - 1] : 0))
            return tg_fail(err, TG_ERR_ARGUMENT,
                           "split config split indices must be strictly increasing and positive: %v", indices, (int)n);
    if (n > 0 && indices[n - 1] >= size)
        return tg_fail(err, TG_ERR_ARGUMENT, "split config split index is out of bounds: %d (dim size %d)",
                       indices[n - 1], size);
    return TG_OK;
}

/* Physical dimension p, 0 = most major, is logical dimension minor_to_major[n - 1 - p]. */
static tg_status check_splits(const tg_xla_shape *array, tg_error *err) {
    const tg_xla_layout *layout = &array->layout;
    const int64_t       *indices = layout->split_indices;
    uint32_t             seen = 0;
    for (int32_t i = 0; i < layout->nsplits; indices += layout->split_nindices[i++]) {
        const int64_t p = layout->split_dim[i];
        if (p < 0 || p >= layout->ndim)
            return tg_fail(err, TG_ERR_ARGUMENT, "split config has out-of-bounds physical dimension: %d", p);
        if ((seen >> p & 1) != 0)
            return tg_fail(err, TG_ERR_ARGUMENT, "split config has duplicate physical dimension: %d", p);
        seen |= (uint32_t)1 << p;
        const int64_t   size = array->dims[layout->minor_to_major[layout->ndim - 1 - p]];
        const tg_status status = check_split_indices(indices, layout->split_nindices[i], size, err);
        if (status != TG_OK) return status;
    }
    return TG_OK;
}

static tg_status check_layout(const tg_xla_shape *array, tg_error *err) {
    const tg_xla_layout *layout = &array->layout;
    tg_status            status = check_order(array, err);
    if (status == TG_OK) status = check_remnants(layout, err);
    if (status == TG_OK) status = each_tile(layout, check_tile, err);
    if (status == TG_OK && layout->element_size_in_bits < 0)
        status = tg_fail(err, TG_ERR_ARGUMENT, "layout element_size_in_bits field is negative: %d",
                         layout->element_size_in_bits);
    if (status == TG_OK) status = check_splits(array, err);
    return status;
}

tg_status tg_xla_check_element(const tg_xla_shape *array, tg_error *err) {
    const tg_status status = check_sizes(array, err);
    return status != TG_OK || !array->has_layout ? status : check_layout(array, err);
}

/* ---- a whole shape ------------------------------------------------------------- */

static tg_status check_whole_layout(const tg_xla_shape *array, tg_error *err) {
    if (!array->has_layout)
        return tg_fail(err, TG_ERR_ARGUMENT, "shape %s does not have a layout", show(array).text);
    const tg_status status = check_layout(array, err);
    return status != TG_OK ? status : each_tile(&array->layout, check_last_place, err);
}

tg_status tg_xla_shape_validate(const tg_xla_shape *nodes, size_t count, tg_error *err) {
    tg_status status = tg_xla_check_tree(nodes, count, err);
    for (size_t i = 0; status == TG_OK && i < count; i++)
        if (nodes[i].kind == TG_XLA_ARRAY) status = check_sizes(&nodes[i], err);
    for (size_t i = 0; status == TG_OK && i < count; i++)
        if (nodes[i].kind == TG_XLA_ARRAY) status = check_whole_layout(&nodes[i], err);
    return status;
}
