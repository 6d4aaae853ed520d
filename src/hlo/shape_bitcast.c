/* Does a reshape or a transpose move bytes?
 *
 * A reshape moves none if the map of the one shape, seen through the coordinates of the other, is the other's map:
 * tg_layout_reshape changes the coordinates, tg_layout_equal decides. XLA compares the slots of unit indices by
 * minor_to_major alone, which is right for shapes without tiles, and says yes to f32[16,256]{1,0:T(8,128)} and
 * f32[4096]. Its answers are asked of the same map with the tiles taken away. */
#include "hlo/shape.h"

#include <string.h>

/* ---- reshape --------------------------------------------------------------------------------- */

/* A coordinate of `from` is, as a row-major number, this coordinate of `to`. */
static void renumber(int64_t *coord, const tg_layout *from, const tg_layout *to) {
    int64_t number = 0;
    for (int32_t d = 0; d < from->ndim; d++) number = number * from->shape[d] + coord[d]; /* fits: below numel */
    for (int32_t d = to->ndim; d-- > 0;) {
        coord[d] = number % to->shape[d];
        number /= to->shape[d];
    }
}

/* Both seen in the coordinates of b; else of a; else as one number. Folds by `*` may forbid some. */
static tg_status reshape_both(tg_layout *x, tg_layout *y, const tg_layout *a, const tg_layout *b, tg_error *err) {
    const int64_t  numel = tg_layout_numel(b);
    const int32_t  ndims[] = {b->ndim, a->ndim, 1};
    const int64_t *shapes[] = {b->shape, a->shape, &numel};
    tg_layout      left, right; /* with no more folds than needed */
    tg_status      s = tg_layout_coalesce(&left, a, err);
    if (s == TG_OK) s = tg_layout_coalesce(&right, b, err);
    if (s != TG_OK) return s;
    for (int32_t i = 0; i < 3; i++)
        if (tg_layout_reshape(x, &left, ndims[i], shapes[i], NULL) == TG_OK &&
            tg_layout_reshape(y, &right, ndims[i], shapes[i], NULL) == TG_OK)
            return TG_OK;
    return TG_ERR_UNREPRESENTABLE;
}

/* Element by element. */
static tg_status walk_both(tg_xla_witness *out, const tg_layout *a, const tg_layout *b, tg_error *err) {
    enum { MAX_WALKED = 1 << 22 };
    int64_t x[TG_MAX_NDIM] = {0}, y[TG_MAX_NDIM] = {0};
    *out = (tg_xla_witness){.what = TG_XLA_DIFFERENT_WIDTH, .a = a->elem_bits, .b = b->elem_bits};
    if (a->elem_bits != b->elem_bits) return TG_OK;
    *out = (tg_xla_witness){.what = TG_XLA_DIFFERENT_SPAN, .a = a->span, .b = b->span};
    if (a->span != b->span) return TG_OK;
    for (int32_t walked = 0; walked < MAX_WALKED; walked++) {
        *out = (tg_xla_witness){.what = TG_XLA_DIFFERENT_MAP, .a = tg_layout_offset(a, x), .b = tg_layout_offset(b, y)};
        memcpy(out->coord, y, sizeof y);
        if (out->a != out->b) return TG_OK;
        *out = (tg_xla_witness){.what = TG_XLA_SAME};
        const bool more = tg_next_coord(x, a->shape, a->ndim);
        if (!tg_next_coord(y, b->shape, b->ndim) || !more) return TG_OK;
    }
    return tg_fail(err, TG_ERR_LIMIT, "`*` combines dimensions that the reshape cuts: undecided after %d elements",
                   (int64_t)MAX_WALKED);
}

/* pre: the same number of elements; without any, a reshape cannot fail. */
static tg_status compare_reshaped(tg_xla_witness *out, const tg_layout *a, const tg_layout *b, tg_error *err) {
    tg_layout x, y;
    tg_status s = reshape_both(&x, &y, a, b, err);
    if (s == TG_ERR_UNREPRESENTABLE) return walk_both(out, a, b, err);
    if (s == TG_OK) s = tg_shape_compare_maps(out, &x, &y, err);
    if (s == TG_OK && out->what == TG_XLA_DIFFERENT_MAP) renumber(out->coord, &y, b);
    return s;
}

static bool differ_in_type(tg_xla_witness *out, const tg_xla_shape *a, const tg_xla_shape *b, bool ignore) {
    *out = (tg_xla_witness){.what = TG_XLA_DIFFERENT_ELEMENT_TYPE, .a = a->dtype, .b = b->dtype};
    return !ignore && a->dtype != b->dtype;
}

static bool differ_in_elements(tg_xla_witness *out, const tg_layout *a, const tg_layout *b) {
    const int64_t left = tg_layout_numel(a), right = tg_layout_numel(b);
    *out = (tg_xla_witness){.what = TG_XLA_DIFFERENT_DIMENSIONS, .a = left, .b = right};
    return left != right;
}

static bool differ_in_memory(tg_xla_witness *out, const tg_xla_shape *a, const tg_xla_shape *b) {
    *out = tg_shape_compare_memory(a, b);
    return out->what != TG_XLA_SAME;
}

static void answer(bool *bitcast, tg_xla_witness *witness, const tg_xla_witness *w) {
    *bitcast = w->what == TG_XLA_SAME;
    if (witness != NULL && !*bitcast) *witness = *w;
}

tg_status tg_xla_reshape_is_bitcast(bool *bitcast, tg_xla_witness *witness, const tg_xla_shape *a,
                                    const tg_xla_shape *b, bool ignore_element_type, tg_error *err) {
    tg_layout      x, y;
    tg_xla_witness w;
    tg_status      s = tg_shape_map(&x, a, TG_SHAPE_ALL_TILES, err);
    if (s == TG_OK) s = tg_shape_map(&y, b, TG_SHAPE_ALL_TILES, err);
    if (s != TG_OK) return s;
    if (!differ_in_type(&w, a, b, ignore_element_type) && !differ_in_elements(&w, &x, &y) &&
        !differ_in_memory(&w, a, b))
        s = compare_reshaped(&w, &x, &y, err);
    if (s == TG_OK) answer(bitcast, witness, &w);
    return s;
}

tg_status tg_xla_reshape_is_bitcast_untiled(bool *bitcast, const tg_xla_shape *a, const tg_xla_shape *b,
                                            bool ignore_element_type, tg_error *err) {
    tg_layout      x, y;
    tg_xla_witness w;
    tg_status      s = tg_shape_map(&x, a, TG_SHAPE_UNTILED, err);
    if (s == TG_OK) s = tg_shape_map(&y, b, TG_SHAPE_UNTILED, err);
    if (s != TG_OK) return s;
    x.elem_bits = y.elem_bits; /* the types have been compared, or must not be */
    if (!differ_in_type(&w, a, b, ignore_element_type) && !differ_in_elements(&w, &x, &y))
        s = compare_reshaped(&w, &x, &y, err);
    if (s == TG_OK) answer(bitcast, NULL, &w);
    return s;
}

/* ---- transpose -------------------------------------------------------------------------------- */

tg_status tg_xla_transpose_is_bitcast(bool *bitcast, tg_xla_witness *witness, const tg_xla_shape *a,
                                      const tg_xla_shape *b, const int32_t *perm, bool ignore_element_type,
                                      tg_error *err) {
    tg_layout      x, y;
    tg_xla_witness w;
    tg_status      s = tg_shape_map(&x, a, TG_SHAPE_ALL_TILES, err);
    if (s == TG_OK) s = tg_shape_map(&y, b, TG_SHAPE_ALL_TILES, err);
    if (s == TG_OK && a->ndim != b->ndim)
        s = tg_fail(err, TG_ERR_ARGUMENT, "transpose: %d dimensions cannot become %d", (int64_t)a->ndim,
                    (int64_t)b->ndim);
    if (s == TG_OK) s = tg_shape_need_permutation(perm, a->ndim, "transpose", err);
    if (s == TG_OK) s = tg_layout_permute(&x, &x, perm, err);
    if (s != TG_OK) return s;
    if (!differ_in_type(&w, a, b, ignore_element_type) && !differ_in_memory(&w, a, b))
        s = tg_shape_compare_maps(&w, &x, &y, err);
    if (s == TG_OK) answer(bitcast, witness, &w);
    return s;
}

static tg_status need_two(const tg_xla_shape *a, const tg_xla_shape *b, tg_error *err) {
    const tg_status s = tg_shape_need_array(a, err);
    return s != TG_OK ? s : tg_shape_need_array(b, err);
}

tg_status tg_xla_transpose_is_bitcast_untiled(bool *bitcast, const tg_xla_shape *a, const tg_xla_shape *b,
                                              const int32_t *perm, bool ignore_element_type, tg_error *err) {
    int32_t   order[TG_MAX_NDIM];
    tg_status s = need_two(a, b, err);
    if (s == TG_OK && a->ndim != b->ndim)
        s = tg_fail(err, TG_ERR_ARGUMENT, "transpose: %d dimensions cannot become %d", (int64_t)a->ndim,
                    (int64_t)b->ndim);
    if (s == TG_OK) s = tg_xla_compose(order, perm, b->layout.minor_to_major, a->ndim, err);
    if (s != TG_OK) return s;
    *bitcast = (ignore_element_type || a->dtype == b->dtype) &&
               memcmp(order, a->layout.minor_to_major, (size_t)a->ndim * sizeof order[0]) == 0;
    return TG_OK;
}

/* ---- which transpose? ---------------------------------------------------------------------------- */

/* Where the step from 0 to 1 of dimension d leads; -1 where there is none. Two dimensions with the same step would
 * have two elements in one slot, so sizes and steps leave one way to match dimensions, but for sizes of 1. */
static int64_t unit_step(const tg_layout *map, int32_t d) {
    int64_t coord[TG_MAX_NDIM] = {0};
    if (map->shape[d] <= 1 || tg_layout_numel(map) == 0) return -1;
    coord[d] = 1;
    return tg_layout_offset(map, coord);
}

static bool match_dims(int32_t *perm, const tg_layout *a, const tg_layout *b) {
    uint32_t taken = 0;
    for (int32_t i = 0; i < b->ndim; i++) {
        const int64_t step = unit_step(b, i);
        int32_t       d = 0;
        while (d < a->ndim &&
               ((taken >> d & 1) != 0 || a->shape[d] != b->shape[i] || unit_step(a, d) != step))
            d++;
        if (d == a->ndim) return false;
        taken |= (uint32_t)1 << d;
        perm[i] = d;
    }
    return true;
}

tg_status tg_xla_deduce_transpose(bool *found, int32_t *perm, const tg_xla_shape *a, const tg_xla_shape *b,
                                  tg_error *err) {
    int32_t   candidate[TG_MAX_NDIM];
    tg_layout x, y;
    bool      bitcast = false;
    tg_status s = tg_shape_map(&x, a, TG_SHAPE_ALL_TILES, err);
    if (s == TG_OK) s = tg_shape_map(&y, b, TG_SHAPE_ALL_TILES, err);
    if (s != TG_OK) return s;
    if (x.ndim == y.ndim && match_dims(candidate, &x, &y))
        s = tg_xla_transpose_is_bitcast(&bitcast, NULL, a, b, candidate, true, err);
    if (s != TG_OK) return s;
    *found = bitcast;
    if (bitcast) memcpy(perm, candidate, (size_t)x.ndim * sizeof perm[0]);
    return TG_OK;
}

tg_status tg_xla_deduce_transpose_untiled(bool *found, int32_t *perm, const tg_xla_shape *a, const tg_xla_shape *b,
                                          tg_error *err) {
    int32_t   candidate[TG_MAX_NDIM];
    tg_status s = need_two(a, b, err);
    bool      agree = a->ndim == b->ndim;
    if (s == TG_OK && agree) s = tg_xla_inverse(candidate, b->layout.minor_to_major, b->ndim, err);
    if (s == TG_OK && agree) s = tg_xla_compose(candidate, a->layout.minor_to_major, candidate, a->ndim, err);
    if (s != TG_OK) return s;
    for (int32_t i = 0; agree && i < b->ndim; i++) agree = b->dims[i] == a->dims[candidate[i]];
    *found = agree;
    if (agree) memcpy(perm, candidate, (size_t)b->ndim * sizeof perm[0]);
    return TG_OK;
}
