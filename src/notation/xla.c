/* XLA's minor_to_major and tiles <-> the layout value.
 *
 * Reading follows the definition (xla/layout.h, docs/notation-xla.md): a list of positions, one per
 * physical dimension, most major first; each tile level first folds positions under `*` into the
 * next more minor one, then replaces the last k positions D by the tile counts ceil(D / t) followed
 * by the places inside the tile t. A position is always a digit of some axis, so a level only
 * inserts weights:
 *
 *     bf16[32,4096]{1,0:T(8,128)(2,1)}     positions (axis / weight : size), most major first
 *     start                                0/1:32   1/1:4096
 *     (8,128)                              0/8:4    1/128:32  0/1:8   1/1:128
 *     (2,1)                                0/8:4    1/128:32  0/2:4   1/1:128  0/1:2  pad:1
 *
 * Writing searches for an order and tiles whose positions are the layout's digits, and accepts an
 * answer only if reading it back gives an equal map. */
#include "notation/notation.h"

#include <string.h>

/* A digit that a level may still cut: (coordinate of axis % limit) / weight, which is below size.
 * axis < 0: always 0. */
typedef struct position {
    int32_t axis;
    int64_t weight;
    int64_t size;
    int64_t limit;
} position;

static position always_zero(int64_t size) { return (position){TG_AXIS_PAD, 1, size, 1}; }

typedef struct positions {
    int32_t  n;
    position at[TG_MAX_MODES];
} positions;

static tg_status too_many(tg_error *err) {
    return tg_fail(err, TG_ERR_LIMIT, "the tiles make more than %d dimensions", (int64_t)TG_MAX_MODES);
}

static tg_status prepend_ones(positions *p, int32_t n, tg_error *err) {
    const int32_t more = n - p->n;
    if (more <= 0) return TG_OK;
    if (n > TG_MAX_MODES) return too_many(err);
    memmove(&p->at[more], &p->at[0], (size_t)p->n * sizeof p->at[0]);
    for (int32_t i = 0; i < more; i++) p->at[i] = always_zero(1);
    p->n = n;
    return TG_OK;
}

/* a directly above b in one axis: together they are one digit. */
static bool joins(const position *a, const position *b) {
    int64_t weight;
    return a->axis >= 0 && a->axis == b->axis && tg_mul(&weight, b->weight, b->size) && a->weight == weight;
}

/* The live positions among first .. last, neighbours that join taken together, with their strides in
 * the combined number; *size is its range. */
static bool gather_live(positions *live, int64_t *stride, int64_t *size, const positions *p, int32_t first,
                        int32_t last) {
    *size = 1;
    live->n = 0;
    for (int32_t i = last + 1; i-- > first;) { /* least significant first */
        const position *at = &p->at[i];
        position       *below = live->n > 0 ? &live->at[live->n - 1] : NULL;
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
static tg_status fold_run(position *out, tg_layout *l, const positions *p, int32_t first, int32_t last, tg_error *err) {
    positions live;
    int64_t   size, stride[TG_MAX_MODES];
    if (!gather_live(&live, stride, &size, p, first, last))
        return tg_fail(err, TG_ERR_OVERFLOW, "the dimensions combined by `*` have more than 2^63 elements");
    *out = always_zero(size);
    if (live.n == 0) return TG_OK;
    if (live.n == 1 && stride[0] == 1) {
        *out = live.at[0];
        out->size = size;
        return TG_OK;
    }
    tg_status s = tg_layout_push_axis(l, &out->axis, err);
    for (int32_t i = live.n; i-- > 0 && s == TG_OK;) {
        const position *at = &live.at[i];
        const tg_mode   m = {at->size, 0, at->weight, stride[i], at->axis, out->axis};
        const int64_t   count = tg_ceil_div(at->limit, at->weight);
        out->limit += tg_max(count - 1, 0) * stride[i]; /* fits: below size */
        s = tg_layout_push(l, m, err);
    }
    return s;
}

/* Remove the positions under `*`, and the `*`s. */
static tg_status combine(positions *p, tg_layout *l, int64_t *tile, int32_t *k, tg_error *err) {
    positions kept = {.n = p->n - *k};
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

static tg_status apply_level(positions *p, tg_layout *l, const int64_t *numbers, int32_t count, tg_error *err) {
    int64_t   tile[TG_XLA_MAX_TILE_DIMS];
    int32_t   k = count;
    tg_status s = prepend_ones(p, k, err);
    if (s != TG_OK) return s;
    memcpy(tile, numbers, (size_t)k * sizeof tile[0]);
    if ((s = combine(p, l, tile, &k, err)) != TG_OK) return s;
    if (p->n + k > TG_MAX_MODES) return too_many(err);
    for (int32_t i = 0; i < k; i++) {
        position *outer = &p->at[p->n - k + i], *inner = &p->at[p->n + i];
        *inner = *outer;
        inner->size = tile[i];
        outer->size = tg_ceil_div(outer->size, tile[i]);
        if (outer->axis < 0) continue;
        if (tile[i] == 1) {
            *inner = always_zero(1);
        } else if (tile[i] >= tg_ceil_div(outer->limit, outer->weight)) {
            *outer = always_zero(outer->size);
        } else {
            outer->weight *= tile[i]; /* fits: below limit */
            inner->limit = outer->weight;
        }
    }
    p->n += k;
    return TG_OK;
}

static tg_status apply_tiles(positions *p, tg_layout *l, const tg_xla_layout *x, tg_error *err) {
    const bool empty = tg_layout_numel(l) == 0; /* then no digit moves: sizes are all there is */
    p->n = x->ndim;
    for (int32_t i = 0; i < x->ndim; i++) {
        const int32_t d = x->minor_to_major[x->ndim - 1 - i];
        p->at[i] = empty ? always_zero(l->shape[d]) : (position){d, 1, l->shape[d], l->shape[d]};
    }
    tg_status      s = TG_OK;
    const int64_t *numbers = x->tile_dims;
    for (int32_t t = 0; t < x->ntiles && s == TG_OK; t++) {
        s = apply_level(p, l, numbers, x->tile_ndim[t], err);
        numbers += x->tile_ndim[t];
    }
    return s;
}

static tg_status push_positions(tg_layout *l, const positions *p, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t i = 0; i < p->n && s == TG_OK; i++) {
        const tg_mode m = {p->at[i].size, 0, p->at[i].weight, 0, p->at[i].axis, TG_TO_MEMORY};
        s = tg_layout_push(l, m, err);
    }
    return s;
}

tg_status tg_layout_from_xla(tg_layout *out, const tg_xla_shape *array, tg_error *err) {
    tg_layout l;
    positions p;
    if (array->kind != TG_XLA_ARRAY) return tg_fail(err, TG_ERR_UNREPRESENTABLE, "only array shapes have a layout");
    tg_status s = tg_xla_shape_validate(array, 1, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < array->ndim; d++)
        if (array->dims[d] == TG_XLA_UNBOUNDED)
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d, "dimension %d is unbounded: its layout has no size",
                               (int64_t)d);
    const tg_xla_layout *x = &array->layout;
    const int32_t        bits = x->element_size_in_bits > 0 ? (int32_t)tg_min(x->element_size_in_bits, INT32_MAX)
                                                            : tg_dtype_storage_bits(array->dtype);
    if ((s = tg_layout_begin(&l, array->dtype, TG_FORMAT_NATIVE, bits, array->ndim, array->dims, err)) != TG_OK)
        return s;
    l.memory_space = (int32_t)x->memory_space;
    if ((s = apply_tiles(&p, &l, x, err)) != TG_OK || (s = push_positions(&l, &p, err)) != TG_OK) return s;
    if ((s = tg_layout_make_dense(&l, err)) != TG_OK) return s;
    if (!tg_round_up(&l.span, l.span, x->tail_padding))
        return tg_fail(err, TG_ERR_OVERFLOW, "%d elements rounded up to a multiple of %d do not fit 63 bits", l.span,
                       x->tail_padding);
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}

/* ---- from a layout ---- */

/* Physical units: a dimension, or dimensions folded whole into one axis (most significant first). */
typedef struct unit {
    int32_t n;
    int32_t dims[TG_MAX_NDIM];
} unit;

typedef struct writer_state {
    const tg_layout *in; /* normal form */
    unit             units[TG_MAX_AXES]; /* by axis; n == 0: not a unit by itself */
    positions        goal;               /* digits, most major first, sizes from strides */
} writer_state;

static tg_status find_units(writer_state *w, tg_error *err) {
    const tg_layout *l = w->in;
    int64_t          strides[TG_MAX_NDIM];
    for (int32_t d = 0; d < l->ndim; d++)
        if (l->shape[d] > 1) w->units[d] = (unit){1, {d}};
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (tg_is_memory(m)) continue;
        if (m->axis >= l->ndim || m->weight != 1)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "digits of dimension %d are folded with others",
                           (int64_t)m->axis);
        w->units[m->axis].n = 0;
    }
    for (int32_t a = l->ndim; a < l->naxes; a++) {
        unit *u = &w->units[a];
        for (int32_t i = 0; i < l->nmodes; i++) {
            const tg_mode *m = &l->mode[i];
            if (m->into != a) continue;
            int32_t j = u->n++;
            for (; j > 0 && strides[j - 1] < m->stride; j--) {
                strides[j] = strides[j - 1];
                u->dims[j] = u->dims[j - 1];
            }
            strides[j] = m->stride;
            u->dims[j] = m->axis;
        }
    }
    return TG_OK;
}

/* The digits in memory order; every stride must be a multiple of the next. */
static tg_status find_goal(writer_state *w, tg_error *err) {
    const tg_layout *l = w->in;
    positions       *g = &w->goal;
    int64_t          above = 0;
    g->n = 0;
    if (l->offset != 0)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "an XLA layout starts at offset 0, not %d", l->offset);
    for (int32_t i = 0; i < l->nmodes; i++) { /* normal form: by decreasing |stride| */
        const tg_mode *m = &l->mode[i];
        if (!tg_is_memory(m) || m->count <= 1) continue;
        if (m->axis == TG_AXIS_COPY)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "an XLA layout holds one copy of each element");
        if (m->stride < 1)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "an XLA layout has no stride %d", m->stride);
        const int64_t room = g->n > 0 ? above / m->stride : l->span % m->stride == 0 ? l->span / m->stride : m->count;
        if ((g->n > 0 && above % m->stride != 0) || room < m->count)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                           "stride %d of one digit is not a multiple of stride %d of the next", above, m->stride);
        g->at[g->n++] = (position){m->axis, m->weight, room, 0};
        above = m->stride;
    }
    if (above > 1 && g->n < TG_MAX_MODES) g->at[g->n++] = always_zero(above);
    return TG_OK;
}

static int32_t find_axis(const positions *p, int32_t first, int32_t last, int32_t axis) {
    for (int32_t i = first; i < last; i++)
        if (p->at[i].axis == axis) return i;
    return -1;
}

/* The order of units that both the tile counts (head) and the places inside the tile (tail) have. */
static bool merge_orders(int32_t *order, int32_t *n, const positions *p, int32_t split) {
    int32_t i = 0, j = split;
    *n = 0;
    while (j < p->n && p->at[j].axis < 0) j++;
    while (i < split || j < p->n) {
        const bool head = i < split, tail = j < p->n;
        if (head && tail && p->at[i].axis == p->at[j].axis) {
            order[(*n)++] = p->at[i++].axis;
            j++;
        } else if (head && find_axis(p, split, p->n, p->at[i].axis) < 0) {
            order[(*n)++] = p->at[i++].axis;
        } else if (tail && find_axis(p, 0, split, p->at[j].axis) < 0) {
            order[(*n)++] = p->at[j++].axis;
        } else {
            return false;
        }
    }
    return true;
}

/* Are the last positions (from split on) the places inside one tile, the others whole or counts? */
static bool is_one_level(const positions *p, int32_t split) {
    for (int32_t j = split; j < p->n; j++) {
        if (p->at[j].axis < 0) { /* padding dimensions can only be prepended */
            if (j > split && p->at[j - 1].axis >= 0) return false;
            continue;
        }
        if (p->at[j].weight != 1 || find_axis(p, split, j, p->at[j].axis) >= 0) return false;
    }
    for (int32_t i = 0; i < split; i++) {
        if (p->at[i].axis < 0 || find_axis(p, 0, i, p->at[i].axis) >= 0) return false;
        const int32_t inside = find_axis(p, split, p->n, p->at[i].axis);
        if (p->at[i].weight != (inside < 0 ? 1 : p->at[inside].size)) return false;
    }
    return true;
}

static bool add_tile(tg_xla_layout *x, const int64_t *numbers, int32_t n) {
    int32_t used = 0;
    for (int32_t t = 0; t < x->ntiles; t++) used += x->tile_ndim[t];
    if (x->ntiles >= TG_XLA_MAX_TILES || used + n > TG_XLA_MAX_TILE_DIMS) return false;
    memcpy(&x->tile_dims[used], numbers, (size_t)n * sizeof numbers[0]);
    x->tile_ndim[x->ntiles++] = n;
    return true;
}

/* minor_to_major and the first tile level for the split; positions before it are counts. */
static bool write_one_level(tg_xla_layout *x, const writer_state *w, const positions *p, int32_t split) {
    int32_t order[TG_MAX_AXES], n, k = 0, first = -1;
    int64_t tile[TG_XLA_MAX_TILE_DIMS];
    if (!is_one_level(p, split) || !merge_orders(order, &n, p, split)) return false;
    memset(x, 0, sizeof *x);
    x->tail_padding = 1;
    x->ndim = w->in->ndim;
    int32_t place = x->ndim; /* minor_to_major is filled from the most minor: its end is most major */
    for (int32_t d = 0; d < w->in->ndim; d++)
        if (w->in->shape[d] == 1) x->minor_to_major[--place] = d;
    int32_t pads = 0;
    while (split + pads < p->n && p->at[split + pads].axis < 0) pads++;
    for (int32_t i = 0; i < n; i++) {
        const unit   *u = &w->units[order[i]];
        const int32_t inside = find_axis(p, split, p->n, order[i]);
        if (inside >= 0 && first < 0) first = i;
        for (int32_t c = 0; c < u->n; c++) x->minor_to_major[--place] = u->dims[c];
        if (u->n > 1 && inside < 0) return false;
    }
    if (place != 0 || (first < 0 && pads == 0)) return place == 0;
    for (int32_t i = 0; i < pads; i++) tile[k++] = p->at[split + i].size;
    for (int32_t i = pads > 0 ? 0 : first; i < n; i++) {
        const unit   *u = &w->units[order[i]];
        const int32_t inside = find_axis(p, split, p->n, order[i]);
        if (k + u->n > TG_XLA_MAX_TILE_DIMS) return false;
        for (int32_t c = 0; c + 1 < u->n; c++) tile[k++] = TG_XLA_COMBINE;
        tile[k++] = inside >= 0 ? p->at[inside].size : 1;
    }
    return add_tile(x, tile, k);
}

/* Undo a last level whose places are the last j positions: join each with its count. */
static bool undo_level(positions *out, const positions *p, int32_t j) {
    const int32_t split = p->n - j;
    int32_t       place = -1; /* where in out the previous place's position stands */
    out->n = split;
    memcpy(out->at, p->at, (size_t)split * sizeof p->at[0]);
    for (int32_t i = split; i < p->n; i++) {
        const position *inner = &p->at[i];
        int64_t         weight;
        if (inner->axis < 0 || !tg_mul(&weight, inner->weight, inner->size)) return false;
        int32_t k = 0;
        while (k < out->n && !(out->at[k].axis == inner->axis && out->at[k].weight == weight)) k++;
        if (k <= place) return false;
        if (k < out->n) {
            if (!tg_mul(&out->at[k].size, out->at[k].size, inner->size)) return false;
            out->at[k].weight = inner->weight;
        } else { /* it has one tile: the position itself */
            if (out->n >= TG_MAX_MODES) return false;
            out->at[out->n++] = *inner;
        }
        place = k;
    }
    return true;
}

/* The tile that turns the positions x gives into those that end with the last j of p. */
static bool write_next_level(tg_xla_layout *x, const writer_state *w, const positions *p, int32_t j) {
    tg_layout l = *w->in;
    positions now;
    int64_t   tile[TG_XLA_MAX_TILE_DIMS];
    int32_t   first = -1, i = p->n - j;
    l.nmodes = 0;
    l.naxes = l.ndim;
    if (apply_tiles(&now, &l, x, NULL) != TG_OK) return false;
    for (int32_t k = 0; k < now.n; k++) {
        const int32_t at = k - (first < 0 ? k : first);
        if (at >= TG_XLA_MAX_TILE_DIMS) return false;
        const bool match =
            i < p->n && now.at[k].axis >= 0 && now.at[k].axis == p->at[i].axis && now.at[k].weight == p->at[i].weight;
        if (match && first < 0) first = k;
        if (first >= 0) tile[k - first] = match ? p->at[i].size : 1;
        i += match;
    }
    return i == p->n && first >= 0 && add_tile(x, tile, now.n - first);
}

static bool same_map(const tg_xla_shape *shape, const tg_layout *in) {
    tg_layout back;
    bool      equal = false;
    return tg_layout_from_xla(&back, shape, NULL) == TG_OK &&
           tg_layout_equal(&equal, NULL, &back, in, false, NULL) == TG_OK && equal;
}

/* Find tiles of up to `levels` levels whose positions are p. */
static bool write_levels(tg_xla_layout *x, const writer_state *w, const positions *p, int32_t levels) {
    if (levels <= 1) {
        for (int32_t split = p->n + 1; split-- > 0;)
            if (write_one_level(x, w, p, split)) return true;
        return false;
    }
    for (int32_t j = 1; j < p->n; j++) {
        positions before;
        if (undo_level(&before, p, j) && write_levels(x, w, &before, levels - 1) && write_next_level(x, w, p, j))
            return true;
    }
    return false;
}

tg_status tg_xla_from_layout(tg_xla_shape *out, const tg_layout *in, tg_error *err) {
    tg_layout    normal;
    writer_state w;
    tg_xla_shape shape;
    memset(&w, 0, sizeof w);
    memset(&shape, 0, sizeof shape);
    tg_status s = tg_layout_coalesce(&normal, in, err);
    if (s != TG_OK) return s;
    shape.kind = TG_XLA_ARRAY;
    shape.dtype = in->dtype;
    shape.ndim = in->ndim;
    shape.has_layout = true;
    memcpy(shape.dims, in->shape, sizeof shape.dims);
    w.in = &normal;
    if ((s = find_units(&w, err)) != TG_OK) return s;
    const bool empty = tg_layout_numel(in) == 0;
    if (!empty && (s = find_goal(&w, err)) != TG_OK) return s;
    for (int32_t levels = 1; levels <= 3; levels++) {
        if (empty) { /* any order will do */
            shape.layout.ndim = in->ndim;
            shape.layout.tail_padding = 1;
            for (int32_t d = 0; d < in->ndim; d++) shape.layout.minor_to_major[d] = in->ndim - 1 - d;
        } else if (!write_levels(&shape.layout, &w, &w.goal, levels)) {
            continue;
        }
        shape.layout.memory_space = in->memory_space;
        shape.layout.element_size_in_bits = in->elem_bits == tg_dtype_storage_bits(in->dtype) ? 0 : in->elem_bits;
        if (!same_map(&shape, in)) continue;
        *out = shape;
        return TG_OK;
    }
    return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                   "no minor_to_major and tiles of up to 3 levels have these digits in this order");
}
