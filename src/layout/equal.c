/* Equality of layouts as maps, decided without looking at the elements.
 *
 * The dimensions fall into components that folds of either side tie together; dimensions that no
 * fold touches stand alone. A map is the sum of its components, so equality is decided for each.
 * Where the folds of a component agree on an order, both sides are functions of one number, the
 * row-major number of its dimensions in that order, and digits.c decides.
 *
 * What is left are folds in conflicting orders, or folds of digits (XLA's `*` behind the first tile
 * level). There each dimension has a period P: stepping it by P changes the offset by a constant.
 * It is enough to compare the constants and one period of each dimension; the periods are products
 * of tile sizes, not sizes of tensors. */
#include "layout/layout.h"

#include <string.h>

enum { MAX_COMPARED = 1 << 22, MAX_COPIES = 1 << 20, PROBES = 64 };

static void set_difference(tg_witness *w, const tg_layout *a, const tg_layout *b, const int64_t *coord) {
    w->what = TG_DIFFERENT_MAP;
    for (int32_t d = 0; d < a->ndim; d++) w->coord[d] = coord[d];
    w->a = tg_layout_offset(a, coord);
    w->b = tg_layout_offset(b, coord);
}

static bool differs_at(tg_witness *w, const tg_layout *a, const tg_layout *b, const int64_t *coord) {
    if (tg_layout_offset(a, coord) == tg_layout_offset(b, coord)) return false;
    set_difference(w, a, b, coord);
    return true;
}

/* ---- components ---- */

static int32_t root(const int32_t *parent, int32_t x) {
    while (parent[x] != x) x = parent[x];
    return x;
}

/* Tie the dimensions that end up in one fold; deeper folds tie through the axes. */
static void tie(int32_t *parent, const tg_layout *l) {
    int32_t axis_root[TG_MAX_AXES];
    for (int32_t a = 0; a < l->naxes; a++) axis_root[a] = a < l->ndim ? a : -1;
    for (int32_t i = 0; i < l->nmodes; i++) { /* chain order: parts come before their fold's digits */
        const tg_mode *m = &l->mode[l->chain[i]];
        if (m->axis < 0 || m->into == TG_TO_MEMORY || m->count <= 1 || axis_root[m->axis] < 0) continue;
        if (axis_root[m->into] < 0) axis_root[m->into] = axis_root[m->axis];
        else parent[root(parent, axis_root[m->axis])] = root(parent, axis_root[m->into]);
    }
}

/* For each dimension that l folds whole, the next less significant one. False on conflict. */
static bool note_order(int32_t *next, int32_t *previous, const tg_layout *l) {
    for (int32_t a = l->ndim; a < l->naxes; a++) {
        int32_t last = -1;
        for (int64_t limit = INT64_MAX;;) {
            const tg_mode *part = NULL;
            for (int32_t i = 0; i < l->nmodes; i++) {
                const tg_mode *m = &l->mode[i];
                if (m->into == a && m->count > 1 && m->stride < limit && (part == NULL || m->stride > part->stride))
                    part = m;
            }
            if (part == NULL) break;
            limit = part->stride;
            if (part->axis >= l->ndim) return false;
            const int32_t d = part->axis;
            if (last >= 0) {
                if ((next[last] >= 0 && next[last] != d) || (previous[d] >= 0 && previous[d] != last)) return false;
                next[last] = d;
                previous[d] = last;
            }
            last = d;
        }
    }
    return true;
}

/* The component's dimensions in an order that the folds of both sides agree on. */
static bool common_order(int32_t *dims, const int32_t *component, int32_t n, const tg_layout *a, const tg_layout *b) {
    int32_t next[TG_MAX_NDIM], previous[TG_MAX_NDIM], k = 0;
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) next[d] = previous[d] = -1;
    if (!note_order(next, previous, a) || !note_order(next, previous, b)) return false;
    for (int32_t i = 0; i < n; i++) {
        if (previous[component[i]] >= 0) continue;
        for (int32_t d = component[i]; d >= 0 && k < n; d = next[d]) dims[k++] = d;
    }
    return k == n; /* fewer: the orders go in a circle */
}

/* ---- one period of each dimension ---- */

/* The least P for which stepping dimension d by P changes l's offset by a constant; at most `most`. */
static int64_t period(const tg_layout *l, int32_t d, int64_t most) {
    int64_t p = 1;
    for (bool again = true; again;) {
        int64_t step[TG_MAX_AXES] = {0};
        again = false;
        step[d] = p;
        for (int32_t i = 0; i < l->nmodes && !again; i++) {
            const tg_mode *m = &l->mode[l->chain[i]];
            if (m->axis < 0 || step[m->axis] == 0) continue;
            const int64_t moved = step[m->axis], remainder = moved % m->weight;
            if (remainder != 0) { /* the digit would move unevenly: take more steps at once */
                if (!tg_mul(&p, p, m->weight / tg_gcd(moved, m->weight)) || p >= most) return most;
                again = true;
            } else if (m->into != TG_TO_MEMORY &&
                       !tg_muladd(&step[m->into], step[m->into], moved / m->weight, m->stride)) {
                return most;
            }
            step[m->axis] = 0; /* the digits below do not move */
        }
    }
    return tg_min(p, most);
}

static bool common_period(int64_t *p, const tg_layout *a, const tg_layout *b, int32_t d) {
    const int64_t size = a->shape[d], pa = period(a, d, size), pb = period(b, d, size);
    if (!tg_mul(p, pa / tg_gcd(pa, pb), pb) || *p > size) *p = size;
    return *p < size;
}

/* A few coordinates that tell most layouts apart: corners, then pseudo-random ones. */
static bool probe(tg_witness *w, const tg_layout *a, const tg_layout *b, const int32_t *dims, int32_t n) {
    int64_t  coord[TG_MAX_NDIM] = {0};
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (int32_t k = 0; k < PROBES; k++) {
        for (int32_t i = 0; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            coord[dims[i]] =
                k < n ? (i == k ? a->shape[dims[i]] - 1 : 0) : (int64_t)((state >> 11) % (uint64_t)a->shape[dims[i]]);
        }
        if (differs_at(w, a, b, coord)) return true;
    }
    return false;
}

static tg_status compare_periods(bool *equal, tg_witness *w, const tg_layout *a, const tg_layout *b,
                                 const int32_t *dims, int32_t n, tg_error *err) {
    int64_t coord[TG_MAX_NDIM] = {0}, box[TG_MAX_NDIM], at[TG_MAX_NDIM] = {0}, total;
    *equal = false;
    if (probe(w, a, b, dims, n)) return TG_OK;
    for (int32_t i = 0; i < n; i++) {
        if (!common_period(&box[i], a, b, dims[i])) continue;
        coord[dims[i]] = box[i];
        if (differs_at(w, a, b, coord)) return TG_OK;
        coord[dims[i]] = 0;
    }
    if (!tg_product(&total, box, n) || total > MAX_COMPARED)
        return tg_fail_dim(err, TG_ERR_LIMIT, dims[0],
                           "the layouts fold dimension %d in conflicting orders with tiles so large that over %d "
                           "coordinates would have to be compared",
                           (int64_t)dims[0], (int64_t)MAX_COMPARED);
    do {
        for (int32_t i = 0; i < n; i++) coord[dims[i]] = at[i];
        if (differs_at(w, a, b, coord)) return TG_OK;
    } while (tg_next_coord(at, box, n));
    *equal = true;
    return TG_OK;
}

static tg_status compare_component(bool *equal, tg_witness *w, const tg_layout *a, const tg_layout *b,
                                   const int32_t *component, int32_t n, tg_error *err) {
    int32_t   dims[TG_MAX_NDIM];
    tg_digits f, g;
    int64_t   x, coord[TG_MAX_NDIM] = {0};
    if (!common_order(dims, component, n, a, b) || !tg_digits_of_dims(&f, a, dims, n) ||
        !tg_digits_of_dims(&g, b, dims, n))
        return compare_periods(equal, w, a, b, component, n, err);
    const tg_status s = tg_digits_equal(equal, &x, &f, &g, err);
    if (s != TG_OK || *equal) return s;
    for (int32_t i = n; i-- > 0;) {
        coord[dims[i]] = x % a->shape[dims[i]];
        x /= a->shape[dims[i]];
    }
    set_difference(w, a, b, coord);
    return TG_OK;
}

/* ---- copies ---- */

static int32_t copies_of(tg_mode *copies, const tg_layout *l) {
    int32_t n = 0;
    for (int32_t i = 0; i < l->nmodes; i++)
        if (l->mode[i].axis == TG_AXIS_COPY && l->mode[i].size > 1 && l->mode[i].stride != 0) copies[n++] = l->mode[i];
    return n;
}

static tg_solved has_copy(const tg_mode *copies, int32_t n, int64_t distance) {
    int64_t   stride[TG_MAX_MODES], lo[TG_MAX_MODES], hi[TG_MAX_MODES], v[TG_MAX_MODES];
    for (int32_t i = 0; i < n; i++) {
        stride[i] = copies[i].stride;
        lo[i] = 0;
        hi[i] = copies[i].size - 1;
    }
    tg_solve p = {n, stride, lo, hi, NULL, NULL, MAX_COPIES};
    return tg_solve_box(v, &p, distance);
}

/* A copy that x has and y has not: its distance from the first. */
static tg_status find_extra_copy(bool *found, int64_t *distance, const tg_layout *x, const tg_layout *y,
                                 tg_error *err) {
    tg_mode       of_x[TG_MAX_MODES], of_y[TG_MAX_MODES];
    const int32_t nx = copies_of(of_x, x), ny = copies_of(of_y, y);
    int64_t       size[TG_MAX_MODES], at[TG_MAX_MODES] = {0}, total;
    for (int32_t i = 0; i < nx; i++) size[i] = of_x[i].size;
    if (!tg_product(&total, size, nx) || total > MAX_COPIES)
        return tg_fail(err, TG_ERR_LIMIT, "comparing replicating layouts with over %d copies", (int64_t)MAX_COPIES);
    do {
        *distance = 0;
        for (int32_t i = 0; i < nx; i++) *distance += at[i] * of_x[i].stride;
        const tg_solved has = has_copy(of_y, ny, *distance);
        if (has == TG_SOLVED_UNDECIDED)
            return tg_fail(err, TG_ERR_LIMIT, "finding a copy at distance %d takes over %d steps", *distance,
                           (int64_t)MAX_COPIES);
        *found = has == TG_SOLVED_NO;
    } while (!*found && tg_next_coord(at, size, nx));
    return TG_OK;
}

static bool same_copies(const tg_layout *a, const tg_layout *b) {
    tg_mode       of_a[TG_MAX_MODES], of_b[TG_MAX_MODES];
    const int32_t n = copies_of(of_a, a);
    if (n != copies_of(of_b, b)) return false;
    for (int32_t i = 0; i < n; i++)
        if (of_a[i].size != of_b[i].size || of_a[i].stride != of_b[i].stride) return false;
    return true;
}

static tg_status compare_copies(bool *equal, tg_witness *w, const tg_layout *a, const tg_layout *b, tg_error *err) {
    bool      extra = false;
    int64_t   distance = 0;
    tg_status s = TG_OK;
    *equal = true;
    if (same_copies(a, b)) return TG_OK; /* in normal form, which settles nearly all */
    for (int side = 0; side < 2 && s == TG_OK && !extra; side++) {
        s = find_extra_copy(&extra, &distance, side == 0 ? a : b, side == 0 ? b : a, err);
        if (s != TG_OK || !extra) continue;
        *equal = false;
        w->what = TG_DIFFERENT_COPIES;
        w->a = side == 0 ? a->offset + distance : -1;
        w->b = side == 1 ? b->offset + distance : -1;
    }
    return s;
}

/* ---- all of it ---- */

/* Normal forms with the same digits are the same map; this settles folds of digits without looking. */
static bool same_digits(const tg_layout *a, const tg_layout *b) {
    if (a->nmodes != b->nmodes || a->naxes != b->naxes) return false;
    for (int32_t i = 0; i < a->nmodes; i++) {
        const tg_mode *m = &a->mode[a->chain[i]], *n = &b->mode[b->chain[i]];
        if (m->axis != n->axis || m->into != n->into || m->weight != n->weight || m->stride != n->stride) return false;
    }
    return true;
}

static tg_status compare_maps(bool *equal, tg_witness *w, const tg_layout *a, const tg_layout *b, tg_error *err) {
    int64_t   zero[TG_MAX_NDIM] = {0};
    int32_t   parent[TG_MAX_NDIM];
    tg_layout x, y;
    *equal = true;
    if (tg_layout_numel(a) == 0) return TG_OK;
    tg_status s = tg_layout_coalesce(&x, a, err);
    if (s == TG_OK) s = tg_layout_coalesce(&y, b, err);
    if (s != TG_OK) return s;
    if (differs_at(w, &x, &y, zero)) {
        *equal = false;
        return TG_OK;
    }
    if (same_digits(&x, &y)) return compare_copies(equal, w, &x, &y, err);
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) parent[d] = d;
    tie(parent, &x);
    tie(parent, &y);
    for (int32_t d = x.ndim; d-- > 0 && *equal;) {
        int32_t component[TG_MAX_NDIM], n = 0;
        if (root(parent, d) != d) continue;
        for (int32_t e = 0; e < x.ndim; e++)
            if (root(parent, e) == d && x.shape[e] > 1) component[n++] = e;
        if (n > 0 && (s = compare_component(equal, w, &x, &y, component, n, err)) != TG_OK) return s;
    }
    return *equal ? compare_copies(equal, w, &x, &y, err) : TG_OK;
}

/* What can be told without looking at the maps. */
static void compare_sizes(tg_witness *w, const tg_layout *a, const tg_layout *b) {
    if (a->ndim != b->ndim) w->what = TG_DIFFERENT_SHAPE;
    for (int32_t d = 0; d < a->ndim && w->what == TG_SAME; d++)
        if (a->shape[d] != b->shape[d]) w->what = TG_DIFFERENT_SHAPE;
    if (w->what != TG_SAME || a->elem_bits == b->elem_bits) return;
    w->what = TG_DIFFERENT_WIDTH;
    w->a = a->elem_bits;
    w->b = b->elem_bits;
}

static void compare_spans(tg_witness *w, const tg_layout *a, const tg_layout *b) {
    if (a->span == b->span) return;
    w->what = TG_DIFFERENT_SPAN;
    w->a = a->span;
    w->b = b->span;
}

tg_status tg_layout_equal(bool *equal, tg_witness *witness, const tg_layout *a, const tg_layout *b, bool storage,
                          tg_error *err) {
    tg_witness w;
    memset(&w, 0, sizeof w);
    compare_sizes(&w, a, b);
    if (w.what == TG_SAME) {
        bool            same = true;
        const tg_status s = compare_maps(&same, &w, a, b, err);
        if (s != TG_OK) return s;
    }
    if (w.what == TG_SAME && storage) compare_spans(&w, a, b);
    *equal = w.what == TG_SAME;
    if (witness != NULL) *witness = w;
    return TG_OK;
}
