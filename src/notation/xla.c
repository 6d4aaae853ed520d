/* XLA's minor_to_major and tiles -> the layout value.
 *
 * This follows the definition (xla/layout.h, docs/notation-xla.md): a list of positions, one per
 * physical dimension, most major first; each tile level first folds positions under `*` into the
 * next more minor one, then replaces the last k positions D by the tile counts ceil(D / t) followed
 * by the places inside the tile t. A position is always a digit of some axis, so a level only
 * inserts weights:
 *
 *     bf16[32,4096]{1,0:T(8,128)(2,1)}     positions (axis / weight : size), most major first
 *     start                                0/1:32   1/1:4096
 *     (8,128)                              0/8:4    1/128:32  0/1:8   1/1:128
 *     (2,1)                                0/8:4    1/128:32  0/2:4   1/1:128  0/1:2  pad:1
 */
#include "notation/xla_map.h"

#include <string.h>

static tg_status too_many(tg_error *err) {
    return tg_fail(err, TG_ERR_LIMIT, "the tiles make more than %d dimensions", (int64_t)TG_MAX_MODES);
}

static tg_status prepend_ones(tg_positions *p, int32_t n, tg_error *err) {
    const int32_t more = n - p->n;
    if (more <= 0) return TG_OK;
    if (n > TG_MAX_MODES) return too_many(err);
    memmove(&p->at[more], &p->at[0], (size_t)p->n * sizeof p->at[0]);
    for (int32_t i = 0; i < more; i++) p->at[i] = tg_always_zero(1);
    p->n = n;
    return TG_OK;
}

/* a directly above b in one axis: together they are one digit. */
static bool joins(const tg_position *a, const tg_position *b) {
    int64_t weight;
    return a->axis >= 0 && a->axis == b->axis && tg_mul(&weight, b->weight, b->size) && a->weight == weight;
}

/* The live positions among first .. last, neighbours that join taken together, with their strides in
 * the combined number; *size is its range. */
static bool gather_live(tg_positions *live, int64_t *stride, int64_t *size, const tg_positions *p, int32_t first,
                        int32_t last) {
    *size = 1;
    live->n = 0;
    for (int32_t i = last + 1; i-- > first;) { /* least significant first */
        const tg_position *at = &p->at[i];
        tg_position       *below = live->n > 0 ? &live->at[live->n - 1] : NULL;
        const bool      adjacent = below != NULL && i < last && p->at[i + 1].axis >= 0;
        const int64_t   step = *size;
        if (!tg_mul(size, *size, at->size)) return false;
        if (at->axis < 0) continue;
        if (adjacent && joins(at, below)) {
            below->size *= at->size; /* fits: divides *size */
            below->limit = at->limit;
            continue;
        }
        live->at[live->n] = *at;
        stride[live->n++] = step;
    }
    return true;
}

/* Fold positions first .. last (most significant first) into one; digits that are always 0 only
 * widen it. */
static tg_status fold_run(tg_position *out, tg_layout *l, const tg_positions *p, int32_t first, int32_t last,
                          tg_error *err) {
    tg_positions live;
    int64_t   size, stride[TG_MAX_MODES];
    if (!gather_live(&live, stride, &size, p, first, last))
        return tg_fail(err, TG_ERR_OVERFLOW, "the dimensions combined by `*` have more than 2^63 elements");
    *out = tg_always_zero(size);
    if (live.n == 0) return TG_OK;
    if (live.n == 1 && stride[0] == 1) {
        *out = live.at[0];
        out->size = size;
        return TG_OK;
    }
    tg_status s = tg_layout_push_axis(l, &out->axis, err);
    for (int32_t i = live.n; i-- > 0 && s == TG_OK;) {
        const tg_position *at = &live.at[i];
        const tg_mode   m = {at->size, 0, at->weight, stride[i], at->axis, out->axis};
        const int64_t   count = tg_ceil_div(at->limit, at->weight);
        out->limit += tg_max(count - 1, 0) * stride[i]; /* fits: below size */
        s = tg_layout_push(l, m, err);
    }
    return s;
}

/* Remove the positions under `*`, and the `*`s. */
static tg_status combine(tg_positions *p, tg_layout *l, int64_t *tile, int32_t *k, tg_error *err) {
    tg_positions kept = {.n = p->n - *k};
    int64_t   numbers[TG_XLA_MAX_TILE_DIMS];
    int32_t   n = 0;
    memcpy(kept.at, p->at, (size_t)kept.n * sizeof kept.at[0]);
    for (int32_t i = 0, first = 0; i < *k; i++) {
        if (tile[i] == TG_XLA_COMBINE) continue;
        const int32_t   base = p->n - *k;
        const tg_status s = fold_run(&kept.at[kept.n++], l, p, base + first, base + i, err);
        if (s != TG_OK) return s;
        numbers[n++] = tile[i];
        first = i + 1;
    }
    memcpy(tile, numbers, (size_t)n * sizeof tile[0]);
    *k = n;
    *p = kept;
    return TG_OK;
}

static tg_status apply_level(tg_positions *p, tg_layout *l, const int64_t *numbers, int32_t count, tg_error *err) {
    int64_t   tile[TG_XLA_MAX_TILE_DIMS];
    int32_t   k = count;
    tg_status s = prepend_ones(p, k, err);
    if (s != TG_OK) return s;
    memcpy(tile, numbers, (size_t)k * sizeof tile[0]);
    if ((s = combine(p, l, tile, &k, err)) != TG_OK) return s;
    if (p->n + k > TG_MAX_MODES) return too_many(err);
    for (int32_t i = 0; i < k; i++) {
        tg_position *outer = &p->at[p->n - k + i], *inner = &p->at[p->n + i];
        *inner = *outer;
        inner->size = tile[i];
        outer->size = tg_ceil_div(outer->size, tile[i]);
        if (outer->axis < 0) continue;
        if (tile[i] == 1) {
            *inner = tg_always_zero(1);
        } else if (tile[i] >= tg_ceil_div(outer->limit, outer->weight)) {
            *outer = tg_always_zero(outer->size);
        } else {
            outer->weight *= tile[i]; /* fits: below limit */
            inner->limit = outer->weight;
        }
    }
    p->n += k;
    return TG_OK;
}

tg_status tg_xla_apply_tiles(tg_positions *p, tg_layout *l, const tg_xla_layout *x, tg_error *err) {
    const bool empty = tg_layout_numel(l) == 0; /* then no digit moves: sizes are all there is */
    p->n = x->ndim;
    for (int32_t i = 0; i < x->ndim; i++) {
        const int32_t d = x->minor_to_major[x->ndim - 1 - i];
        p->at[i] = empty ? tg_always_zero(l->shape[d]) : (tg_position){d, 1, l->shape[d], l->shape[d]};
    }
    tg_status      s = TG_OK;
    const int64_t *numbers = x->tile_dims;
    for (int32_t t = 0; t < x->ntiles && s == TG_OK; t++) {
        s = apply_level(p, l, numbers, x->tile_ndim[t], err);
        numbers += x->tile_ndim[t];
    }
    return s;
}

static tg_status push_positions(tg_layout *l, const tg_positions *p, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t i = 0; i < p->n && s == TG_OK; i++) {
        const tg_mode m = {p->at[i].size, 0, p->at[i].weight, 0, p->at[i].axis, TG_TO_MEMORY};
        s = tg_layout_push(l, m, err);
    }
    return s;
}

tg_status tg_layout_from_xla(tg_layout *out, const tg_xla_shape *array, tg_error *err) {
    tg_layout l;
    tg_positions p;
    if (array->kind != TG_XLA_ARRAY) return tg_fail(err, TG_ERR_UNREPRESENTABLE, "only array shapes have a layout");
    tg_status s = tg_xla_shape_validate(array, 1, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < array->ndim; d++)
        if (array->dims[d] == TG_XLA_UNBOUNDED)
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d, "dimension %d is unbounded: its layout has no size",
                               (int64_t)d);
    const tg_xla_layout *x = &array->layout;
    if (x->memory_space < INT8_MIN || x->memory_space > INT8_MAX)
        return tg_fail(err, TG_ERR_ARGUMENT, "memory space does not fit int8: %d", x->memory_space);
    enum { MAX_ELEMENT_BITS = 4096 }; /* as tg_layout_validate */
    if (x->element_size_in_bits > MAX_ELEMENT_BITS)
        return tg_fail(err, TG_ERR_LIMIT, "an element size of %d bits is over the limit of %d", x->element_size_in_bits,
                       (int64_t)MAX_ELEMENT_BITS);
    const int32_t bits =
        x->element_size_in_bits > 0 ? (int32_t)x->element_size_in_bits : tg_dtype_storage_bits(array->dtype);
    if ((s = tg_layout_begin(&l, array->dtype, TG_FORMAT_NATIVE, bits, array->ndim, array->dims, err)) != TG_OK)
        return s;
    l.memory_space = (int32_t)x->memory_space;
    if ((s = tg_xla_apply_tiles(&p, &l, x, err)) != TG_OK || (s = push_positions(&l, &p, err)) != TG_OK) return s;
    if ((s = tg_layout_make_dense(&l, err)) != TG_OK) return s;
    if (!tg_round_up(&l.span, l.span, x->tail_padding))
        return tg_fail(err, TG_ERR_OVERFLOW, "%d elements rounded up to a multiple of %d do not fit 63 bits", l.span,
                       x->tail_padding);
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}

