/* From a layout to XLA's terms: which minor_to_major and tiles have these digits in this order?
 *
 * Two ways. A search for up to three levels finds what a person would write, such as T(8,128)(2,1). Where
 * it finds nothing, tiles are constructed: levels that cut every dimension into its digits, from the
 * top; levels that sort; and a level that pads. Sorting works because a level is a stable partition:
 * with the number 1 a position stays among the tile counts, with its own size it moves behind them, both
 * in order. Partitioning by the bits of the wanted rank, lowest first, is radix sort:
 *
 *     wanted A B C from C A B:   ranks 2 0 1   by bit 0: (C A) (B)   by bit 1: (A B) (C)
 *
 * Either way an answer counts only if reading it back gives an equal map. */
#include "notation/xla_map.h"

#include <string.h>

/* Physical units: a dimension, or dimensions folded whole into one axis (most significant first). */
typedef struct unit {
    int32_t n;
    int32_t dims[TG_MAX_NDIM];
} unit;

typedef struct writer_state {
    const tg_layout *in; /* normal form */
    unit             units[TG_MAX_AXES]; /* by axis; n == 0: not a unit by itself */
    tg_positions        goal;               /* digits, most major first, sizes from strides */
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
        int64_t step = 1;
        for (int32_t j = u->n; j-- > 0; step *= l->shape[u->dims[j]]) /* fits: the fold's range */
            if (strides[j] != step)
                return tg_fail(err, TG_ERR_UNREPRESENTABLE, "dimension %d is folded with gaps, which `*` has not",
                               (int64_t)u->dims[j]);
    }
    return TG_OK;
}

/* The digits in memory order; every stride must be a multiple of the next. */
static tg_status find_goal(writer_state *w, tg_error *err) {
    const tg_layout *l = w->in;
    tg_positions    *g = &w->goal;
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
        if (g->n > 0 && above % m->stride != 0)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                           "stride %d of one digit is not a multiple of stride %d of the next", above, m->stride);
        if (room < m->count)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                           "a digit of %d steps of %d has no place before the next step of %d: elements would share "
                           "places, and an XLA layout has one for each", m->count, m->stride,
                           g->n > 0 ? above : l->span);
        g->at[g->n++] = (tg_position){m->axis, m->weight, room, 0};
        above = m->stride;
    }
    if (above > 1 && g->n < TG_MAX_MODES) g->at[g->n++] = tg_always_zero(above);
    return TG_OK;
}

static int32_t find_axis(const tg_positions *p, int32_t first, int32_t last, int32_t axis) {
    for (int32_t i = first; i < last; i++)
        if (p->at[i].axis == axis) return i;
    return -1;
}

/* The order of units that both the tile counts (head) and the places inside the tile (tail) have. */
static bool merge_orders(int32_t *order, int32_t *n, const tg_positions *p, int32_t split) {
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
static bool is_one_level(const tg_positions *p, int32_t split) {
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

/* minor_to_major for the units in this order, most major first; false if some dimension is in none. */
static bool write_order(tg_xla_layout *x, const writer_state *w, const int32_t *order, int32_t n) {
    memset(x, 0, sizeof *x);
    x->tail_padding = 1;
    x->ndim = w->in->ndim;
    int32_t place = x->ndim; /* filled from its end, which is most major */
    for (int32_t d = 0; d < w->in->ndim; d++)
        if (w->in->shape[d] == 1) x->minor_to_major[--place] = d;
    for (int32_t i = 0; i < n; i++) {
        const unit *u = &w->units[order[i]];
        for (int32_t c = 0; c < u->n; c++) x->minor_to_major[--place] = u->dims[c];
    }
    return place == 0;
}

/* minor_to_major and the first tile level for the split; positions before it are counts. */
static bool write_one_level(tg_xla_layout *x, const writer_state *w, const tg_positions *p, int32_t split) {
    int32_t order[TG_MAX_AXES], n, k = 0, first = -1;
    int64_t tile[TG_XLA_MAX_TILE_DIMS];
    if (!is_one_level(p, split) || !merge_orders(order, &n, p, split)) return false;
    int32_t pads = 0;
    if (!write_order(x, w, order, n)) return false;
    while (split + pads < p->n && p->at[split + pads].axis < 0) pads++;
    for (int32_t i = 0; i < n; i++) {
        const unit   *u = &w->units[order[i]];
        const int32_t inside = find_axis(p, split, p->n, order[i]);
        if (inside >= 0 && first < 0) first = i;
        if (u->n > 1 && inside < 0) return false;
    }
    if (first < 0 && pads == 0) return true;
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
static bool undo_level(tg_positions *out, const tg_positions *p, int32_t j) {
    const int32_t split = p->n - j;
    int32_t       place = -1; /* where in out the previous place's position stands */
    out->n = split;
    memcpy(out->at, p->at, (size_t)split * sizeof p->at[0]);
    for (int32_t i = split; i < p->n; i++) {
        const tg_position *inner = &p->at[i];
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

/* The positions that x makes, named by the axes of the normal form. */
static bool positions_now(tg_positions *now, const writer_state *w, const tg_xla_layout *x) {
    tg_layout l = *w->in;
    l.nmodes = 0;
    l.naxes = l.ndim;
    if (tg_xla_apply_tiles(now, &l, x, NULL) != TG_OK) return false;
    for (int32_t k = 0; k < now->n; k++) {
        int32_t *axis = &now->at[k].axis;
        if (*axis < l.ndim) continue;
        int32_t part = 0;
        while (l.mode[part].into != *axis) part++;
        const int32_t d = l.mode[part].axis;
        *axis = -2; /* a fold that the layout does not have */
        for (int32_t a = l.ndim; a < w->in->naxes; a++)
            for (int32_t c = 0; c < w->units[a].n; c++)
                if (w->units[a].dims[c] == d) *axis = a;
    }
    return true;
}

/* The tile that turns the positions x gives into those that end with the last j of p. */
static bool write_next_level(tg_xla_layout *x, const writer_state *w, const tg_positions *p, int32_t j) {
    tg_positions now;
    int64_t      tile[TG_XLA_MAX_TILE_DIMS];
    int32_t      first = -1, i = p->n - j;
    if (!positions_now(&now, w, x)) return false;
    for (int32_t k = 0; k < now.n; k++) {
        const int32_t at = k - (first < 0 ? k : first);
        if (at >= TG_XLA_MAX_TILE_DIMS) return false;
        const bool match = i < p->n && now.at[k].axis >= 0 && now.at[k].axis == p->at[i].axis &&
                           now.at[k].weight == p->at[i].weight;
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
static bool write_levels(tg_xla_layout *x, const writer_state *w, const tg_positions *p, int32_t levels) {
    if (levels <= 1) {
        for (int32_t split = p->n + 1; split-- > 0;)
            if (write_one_level(x, w, p, split)) return true;
        return false;
    }
    for (int32_t j = 1; j < p->n; j++) {
        tg_positions before;
        if (undo_level(&before, p, j) && write_levels(x, w, &before, levels - 1) && write_next_level(x, w, p, j))
            return true;
    }
    return false;
}

/* ---- construction ---- */

/* The largest weight at which the goal cuts this position, or 0. */
static int64_t next_cut(const tg_positions *goal, const tg_position *at) {
    int64_t cut = 0;
    for (int32_t i = 0; i < goal->n; i++) {
        const tg_position *g = &goal->at[i];
        if (at->axis >= 0 && g->axis == at->axis && g->weight > at->weight && g->weight < at->limit)
            cut = tg_max(cut, g->weight);
    }
    return cut;
}

/* Append the numbers from the first that is not 1 on; true also if there is none. */
static bool add_level(tg_xla_layout *x, const int64_t *numbers, int32_t n) {
    int32_t first = 0;
    while (first < n && numbers[first] == 1) first++;
    return first == n || (n - first <= TG_XLA_MAX_TILE_DIMS && add_tile(x, numbers + first, n - first));
}

/* The first level: units in the order in which the goal first shows them; `*` where they are folds. */
static bool write_first_cuts(tg_xla_layout *x, const writer_state *w) {
    int32_t order[TG_MAX_AXES], n = 0, k = 0;
    int64_t tile[TG_MAX_MODES];
    for (int32_t i = 0; i < w->goal.n; i++)
        if (w->goal.at[i].axis >= 0 && find_axis(&w->goal, 0, i, w->goal.at[i].axis) < 0)
            order[n++] = w->goal.at[i].axis;
    for (int32_t i = 0; i < n; i++) {
        const tg_position whole = {order[i], 1, 0, w->in->axis_size[order[i]]};
        for (int32_t c = 1; c < w->units[order[i]].n; c++) tile[k++] = TG_XLA_COMBINE;
        tile[k++] = tg_max(next_cut(&w->goal, &whole), 1);
    }
    return write_order(x, w, order, n) && add_level(x, tile, k);
}

static bool write_cuts(tg_xla_layout *x, const writer_state *w) {
    if (!write_first_cuts(x, w)) return false;
    for (;;) {
        tg_positions now;
        int64_t      tile[TG_MAX_MODES];
        bool         done = true;
        if (!positions_now(&now, w, x)) return false;
        for (int32_t k = 0; k < now.n; k++) {
            const int64_t cut = next_cut(&w->goal, &now.at[k]);
            if (cut % now.at[k].weight != 0) return false; /* no tile cuts there: folded digits need not nest */
            tile[k] = cut > 0 ? cut / now.at[k].weight : 1;
            done = done && cut == 0;
        }
        if (done) return true;
        if (!add_level(x, tile, now.n)) return false;
    }
}

static int32_t rank_of(const tg_positions *goal, const tg_position *at) {
    for (int32_t i = 0; i < goal->n; i++)
        if (at->axis >= 0 && goal->at[i].axis == at->axis && goal->at[i].weight == at->weight) return i;
    return -1;
}

static bool is_sorted(const tg_positions *now, const tg_positions *goal) {
    int32_t last = -1;
    for (int32_t k = 0; k < now->n; k++) {
        const int32_t rank = rank_of(goal, &now->at[k]);
        if (rank < 0) continue;
        if (rank < last) return false;
        last = rank;
    }
    return true;
}

static bool write_sorting(tg_xla_layout *x, const writer_state *w) {
    tg_positions now;
    int64_t      tile[TG_MAX_MODES];
    for (int32_t bit = 1;; bit *= 2) {
        if (!positions_now(&now, w, x)) return false;
        if (is_sorted(&now, &w->goal)) return true;
        for (int32_t k = 0; k < now.n; k++) {
            const int32_t rank = rank_of(&w->goal, &now.at[k]);
            tile[k] = rank >= 0 && (rank & bit) != 0 ? now.at[k].size : 1;
        }
        if (!add_level(x, tile, now.n)) return false;
    }
}

/* Wider digits: all from the first of them on move behind the counts, in order, with their full size.
 * Then the padding behind all digits: one more dimension in front, and all others stay. */
static bool write_padding(tg_xla_layout *x, const writer_state *w) {
    tg_positions now;
    int64_t      tile[TG_MAX_MODES + 1];
    bool         wider = false;
    if (!positions_now(&now, w, x)) return false;
    for (int32_t k = 0; k < now.n; k++) {
        const int32_t rank = rank_of(&w->goal, &now.at[k]);
        wider = wider || (rank >= 0 && w->goal.at[rank].size != now.at[k].size);
        tile[k] = rank >= 0 && wider ? w->goal.at[rank].size : 1;
    }
    if (!add_level(x, tile, now.n)) return false;
    const tg_position *last = w->goal.n > 0 ? &w->goal.at[w->goal.n - 1] : NULL;
    if (last == NULL || last->axis >= 0) return true;
    if (!positions_now(&now, w, x)) return false;
    tile[0] = last->size;
    for (int32_t k = 0; k < now.n; k++) tile[k + 1] = 1;
    return add_level(x, tile, now.n + 1);
}

static bool construct(tg_xla_layout *x, const writer_state *w) {
    return write_cuts(x, w) && write_sorting(x, w) && write_padding(x, w);
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
    enum { SEARCHED_LEVELS = 3 };
    for (int32_t levels = 1; levels <= SEARCHED_LEVELS + 1; levels++) {
        if (empty) { /* any order will do */
            shape.layout.ndim = in->ndim;
            shape.layout.tail_padding = 1;
            for (int32_t d = 0; d < in->ndim; d++) shape.layout.minor_to_major[d] = in->ndim - 1 - d;
        } else if (!(levels <= SEARCHED_LEVELS ? write_levels(&shape.layout, &w, &w.goal, levels)
                                               : construct(&shape.layout, &w))) {
            continue;
        }
        shape.layout.memory_space = in->memory_space;
        shape.layout.element_size_in_bits =
            in->elem_bits == tg_dtype_storage_bits(in->dtype) ? 0 : in->elem_bits;
        if (!same_map(&shape, in)) continue;
        *out = shape;
        return TG_OK;
    }
    return tg_fail(err, TG_ERR_UNREPRESENTABLE, "the tiles for these digits need more than %d levels or %d numbers",
                   (int64_t)TG_XLA_MAX_TILES, (int64_t)TG_XLA_MAX_TILE_DIMS);
}
