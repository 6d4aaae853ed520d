/* How large is it? Elements, bytes without padding, bytes of storage; and how XLA's allocators count. */
#include "hlo/shape.h"

#include "notation/xla_text.h"

/* ---- elements ---------------------------------------------------------------------------- */

static tg_status fail_unbounded(const tg_xla_shape *array, int32_t d, tg_error *err) {
    if (array->dims[d] != TG_XLA_UNBOUNDED) return TG_OK;
    return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d, "dimension %d is unbounded: it has no size", (int64_t)d);
}

static tg_status elements_of(int64_t *out, const tg_xla_shape *array, tg_error *err) {
    tg_status s = tg_shape_need_sizes(array, err);
    for (int32_t d = 0; s == TG_OK && d < array->ndim; d++) s = fail_unbounded(array, d, err);
    if (s != TG_OK) return s;
    (void)tg_product(out, array->dims, array->ndim); /* fits: validated */
    return TG_OK;
}

tg_status tg_xla_elements(int64_t *out, const tg_xla_shape *nodes, size_t count, tg_error *err) {
    int64_t   total = 0, n;
    tg_status s = tg_xla_check_tree(nodes, count, err);
    for (size_t i = 0; i < count && s == TG_OK; i++) {
        if (nodes[i].kind != TG_XLA_ARRAY || (s = elements_of(&n, &nodes[i], err)) != TG_OK) continue;
        if (!tg_add(&total, total, n)) s = tg_fail(err, TG_ERR_OVERFLOW, "the elements do not fit 63 bits");
    }
    if (s == TG_OK) *out = total;
    return s;
}

/* ---- bytes -------------------------------------------------------------------------------- */

/* Of n elements as the array stores them; XLA has no limit on E(n), tg_layout has. */
static tg_status bytes_of(int64_t *out, int64_t n, const tg_xla_shape *array, tg_error *err) {
    enum { MAX_ELEMENT_BITS = 4096 }; /* as tg_layout_validate */
    const bool    given = array->has_layout && array->layout.element_size_in_bits != 0;
    const int64_t bits = given ? array->layout.element_size_in_bits : tg_dtype_storage_bits(array->dtype);
    if (bits > MAX_ELEMENT_BITS)
        return tg_fail(err, TG_ERR_LIMIT, "an element size of %d bits is over the limit of %d", bits,
                       (int64_t)MAX_ELEMENT_BITS);
    if (!tg_bytes_of(out, n, (int32_t)bits))
        return tg_fail(err, TG_ERR_OVERFLOW, "the bytes of %d elements of %d bits do not fit 63 bits", n, bits);
    return TG_OK;
}

tg_status tg_xla_byte_size(int64_t *out, const tg_xla_shape *nodes, size_t count, int64_t pointer_bytes,
                           tg_error *err) {
    int64_t   n;
    tg_status s = tg_xla_check_tree(nodes, count, err);
    if (s != TG_OK) return s;
    const tg_xla_shape *array = nodes->kind == TG_XLA_BUFFER ? nodes + 1 : nodes;
    if (array->kind == TG_XLA_ARRAY) {
        s = elements_of(&n, array, err);
        return s != TG_OK ? s : bytes_of(out, n, array, err);
    }
    n = nodes->kind == TG_XLA_TUPLE ? nodes->nchildren : nodes->kind == TG_XLA_OPAQUE;
    if (n > 0 && pointer_bytes < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "a pointer of %d bytes", pointer_bytes);
    if (n == 0) *out = 0;
    else if (!tg_mul(out, n, pointer_bytes))
        return tg_fail(err, TG_ERR_OVERFLOW, "%d pointers of %d bytes do not fit 63 bits", n, pointer_bytes);
    return TG_OK;
}

/* ---- storage ------------------------------------------------------------------------------- */

tg_status tg_xla_array_size(int64_t *out, const tg_xla_shape *array, tg_error *err) {
    tg_layout       map;
    const tg_status s = tg_shape_map(&map, array, TG_SHAPE_ALL_TILES, err);
    return s != TG_OK ? s : tg_layout_nbytes(out, &map, err);
}

/* The largest piece of a dimension of this size between cuts. */
static int64_t largest_piece(const int64_t *cuts, int32_t n, int64_t size) {
    int64_t largest = 0, from = 0;
    for (int32_t i = 0; i < n; i++) {
        largest = tg_max(largest, cuts[i] - from);
        from = cuts[i];
    }
    return tg_max(largest, size - from);
}

/* pre: valid. pieces[d] for every logical dimension; unbounded ones stay so. */
static void find_pieces(int64_t *pieces, const tg_xla_shape *array) {
    const tg_xla_layout *l = &array->layout;
    const int64_t       *cuts = l->split_indices;
    for (int32_t d = 0; d < array->ndim; d++) pieces[d] = array->dims[d];
    for (int32_t i = 0; i < l->nsplits; cuts += l->split_nindices[i++]) {
        const int32_t d = l->minor_to_major[l->ndim - 1 - l->split_dim[i]];
        pieces[d] = largest_piece(cuts, l->split_nindices[i], array->dims[d]);
    }
}

tg_status tg_xla_max_split_size(int64_t *out, const tg_xla_shape *array, int32_t dim, tg_error *err) {
    int64_t   pieces[TG_MAX_NDIM];
    tg_status s = tg_shape_need_array(array, err);
    if (s == TG_OK) s = tg_shape_need_dim(dim, array->ndim, "split size", err);
    if (s == TG_OK) s = fail_unbounded(array, dim, err);
    if (s != TG_OK) return s;
    find_pieces(pieces, array);
    *out = pieces[dim];
    return TG_OK;
}

/* The array that the largest piece is. */
static tg_status largest_split(tg_xla_shape *out, const tg_xla_shape *array, tg_error *err) {
    tg_status s = tg_shape_need_array(array, err);
    for (int32_t d = 0; s == TG_OK && d < array->ndim; d++) s = fail_unbounded(array, d, err);
    if (s != TG_OK) return s;
    *out = *array;
    find_pieces(out->dims, array);
    out->layout.nsplits = 0;
    return TG_OK;
}

tg_status tg_xla_max_elements_per_split(int64_t *out, const tg_xla_shape *array, tg_error *err) {
    tg_xla_shape    piece;
    const tg_status s = largest_split(&piece, array, err);
    return s != TG_OK ? s : elements_of(out, &piece, err);
}

tg_status tg_xla_array_size_per_split(int64_t *out, const tg_xla_shape *array, tg_error *err) {
    tg_xla_shape    piece;
    const tg_status s = largest_split(&piece, array, err);
    return s != TG_OK ? s : tg_xla_array_size(out, &piece, err);
}

/* Slots by the first tile level: each dimension under it rounded up, counting from the most minor one; a tile that
 * is longer than the shape covers dimensions of size 1. */
static bool first_tile_slots(int64_t *out, const tg_xla_shape *piece) {
    const tg_xla_layout *l = &piece->layout;
    const int32_t        k = l->tile_ndim[0], n = k > piece->ndim ? k : piece->ndim;
    int64_t              padded[TG_XLA_MAX_TILE_DIMS + TG_MAX_NDIM];
    for (int32_t i = 0; i < n; i++) {
        padded[i] = i < piece->ndim ? piece->dims[l->minor_to_major[i]] : 1;
        if (i < k && !tg_round_up(&padded[i], padded[i], l->tile_dims[k - 1 - i])) return false;
    }
    return tg_product(out, padded, n) && tg_round_up(out, *out, l->tail_padding);
}

tg_status tg_xla_array_size_first_tile(int64_t *out, const tg_xla_shape *array, tg_error *err) {
    tg_xla_shape piece;
    int64_t      slots;
    tg_status    s = tg_shape_need_array(array, err);
    if (s == TG_OK && array->layout.ntiles == 0) return tg_xla_byte_size(out, array, 1, 0, err);
    if (s == TG_OK) s = largest_split(&piece, array, err);
    if (s != TG_OK) return s;
    for (int32_t i = 0; i < piece.layout.tile_ndim[0]; i++)
        if (piece.layout.tile_dims[i] == TG_XLA_COMBINE)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "the first tile has `*`: XLA's size of that is 0");
    if (!first_tile_slots(&slots, &piece))
        return tg_fail(err, TG_ERR_OVERFLOW, "the slots of the tiled array do not fit 63 bits");
    return bytes_of(out, slots, array, err);
}

/* The highest slot that holds an element. Where digits are folded tg_layout_bounds may be above it. */
static tg_status highest_slot(int64_t *out, const tg_layout *map, tg_error *err) {
    enum { MAX_SEARCHED = 1 << 16 };
    int64_t low, high, coord[TG_MAX_NDIM];
    tg_slot slot = TG_SLOT_PADDING;
    tg_layout_bounds(map, &low, &high);
    const bool exact = map->naxes == map->ndim;
    for (int32_t i = 0; !exact && slot != TG_SLOT_DATA; i++) {
        if (i == MAX_SEARCHED)
            return tg_fail(err, TG_ERR_LIMIT, "no element in %d slots at the end of the storage", (int64_t)i);
        const tg_status s = tg_layout_coord(&slot, coord, map, high, err);
        if (s != TG_OK) return s;
        high -= slot != TG_SLOT_DATA;
    }
    *out = high;
    return TG_OK;
}

static tg_status data_size(int64_t *out, const tg_xla_shape *array, tg_shape_tiles tiles, tg_error *err) {
    tg_layout map;
    int64_t   high = -1, last[TG_MAX_NDIM];
    tg_status s = tg_shape_map(&map, array, tiles, err);
    if (s == TG_OK && tg_layout_numel(&map) > 0 && tiles == TG_SHAPE_ALL_TILES) {
        s = highest_slot(&high, &map, err);
    } else if (s == TG_OK && tg_layout_numel(&map) > 0) { /* XLA takes the last element for the highest */
        for (int32_t d = 0; d < map.ndim; d++) last[d] = map.shape[d] - 1;
        high = tg_layout_offset(&map, last);
    }
    return s != TG_OK ? s : bytes_of(out, high + 1, array, err);
}

tg_status tg_xla_array_data_size(int64_t *out, const tg_xla_shape *array, tg_error *err) {
    return data_size(out, array, TG_SHAPE_ALL_TILES, err);
}

tg_status tg_xla_array_data_size_first_tile(int64_t *out, const tg_xla_shape *array, tg_error *err) {
    return data_size(out, array, TG_SHAPE_FIRST_TILE, err);
}

/* ---- what tiles do --------------------------------------------------------------------------- */

tg_status tg_xla_is_untiled(bool *out, const tg_xla_shape *array, tg_error *err) {
    tg_layout    tiled, plain;
    tg_xla_shape without = *array;
    tg_status    s = tg_shape_map(&tiled, array, TG_SHAPE_ALL_TILES, err);
    without.layout.ntiles = 0;
    if (s == TG_OK) s = tg_shape_map(&plain, &without, TG_SHAPE_ALL_TILES, err);
    return s != TG_OK ? s : tg_layout_equal(out, NULL, &tiled, &plain, true, err);
}

tg_status tg_xla_packed_factor(int64_t *out, const tg_xla_shape *array, tg_error *err) {
    const tg_xla_layout *l = &array->layout;
    const tg_status      s = tg_shape_need_array(array, err);
    if (s != TG_OK) return s;
    if (array->ndim != 1 || l->ntiles != 3 || l->tile_ndim[2] != 2)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                       "not a 1D interleaved array: %d dimensions, %d tile levels (1, and 3 with a third of 2 numbers, "
                       "are one)",
                       (int64_t)array->ndim, (int64_t)l->ntiles);
    *out = l->tile_dims[l->tile_ndim[0] + l->tile_ndim[1]];
    return TG_OK;
}
