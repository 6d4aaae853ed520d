/* Do coordinates share offsets, does the storage have holes, and how many offsets hold data?
 *
 * Where the strides of the digits nest, both answers follow from counts. Expanded dimensions
 * (stride 0) are set aside. What is left are overlapping strides, as of sliding windows: there the
 * questions are answered by search and, for small tensors, by looking at every coordinate. */
#include "layout/layout.h"

enum { MAX_SEARCH = 1 << 20, MAX_ENUMERATED = 1 << 16 };

/* One digit that moves memory. */
typedef struct step {
    int64_t stride; /* magnitude */
    int64_t count;
} step;

typedef struct steps {
    int32_t n;
    bool    repeats; /* a digit with several values and stride 0: coordinates coincide */
    int64_t copies;
    step    by_size[TG_MAX_MODES]; /* by increasing stride */
} steps;

static void collect(steps *out, const tg_layout *l) {
    out->n = 0;
    out->repeats = false;
    out->copies = 1;
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (!tg_is_memory(m) || m->axis == TG_AXIS_PAD || m->count <= 1) continue;
        if (m->stride == 0) {
            out->repeats = out->repeats || m->axis >= 0;
            continue;
        }
        if (m->axis == TG_AXIS_COPY) out->copies *= m->count; /* fits: positions have offsets */
        const step s = {m->stride < 0 ? -m->stride : m->stride, m->count};
        int32_t    j = out->n++;
        for (; j > 0 && out->by_size[j - 1].stride > s.stride; j--) out->by_size[j] = out->by_size[j - 1];
        out->by_size[j] = s;
    }
}

static bool nests(const steps *s) {
    int64_t below = 0;
    for (int32_t i = 0; i < s->n; i++) {
        if (s->by_size[i].stride <= below) return false;
        below += (s->by_size[i].count - 1) * s->by_size[i].stride; /* fits: bounds of the layout */
    }
    return true;
}

/* Number of different ways in which the digits of one axis move memory (chain positions first ..
 * last - 1). Digits of stride 0 may stand at the top or at the bottom; false if between others. */
static bool moving_values(int64_t *out, const tg_layout *l, int32_t first, int32_t last) {
    const tg_mode *top, *bottom;
    int64_t        bound = l->axis_size[l->mode[l->chain[first]].axis];
    for (; first < last; first++) {
        top = &l->mode[l->chain[first]];
        if (!tg_is_memory(top) || top->stride != 0) break;
        bound = tg_min(bound, top->weight);
    }
    *out = 1;
    if (first == last) return true;
    for (bottom = &l->mode[l->chain[last - 1]]; tg_is_memory(bottom) && bottom->stride == 0;
         bottom = &l->mode[l->chain[last - 1]])
        last--;
    for (int32_t i = first; i < last; i++)
        if (tg_is_memory(&l->mode[l->chain[i]]) && l->mode[l->chain[i]].stride == 0) return false;
    for (int32_t i = first; i < last; i++) /* else the digits below the last moving one end early now and then */
        if (l->mode[l->chain[i]].weight % bottom->weight != 0) return false;
    *out = tg_ceil_div(bound, bottom->weight);
    return true;
}

/* Number of different values of the coordinates that move memory. False where digits of stride 0 make
 * that hard to say. */
static bool moving_numel(int64_t *out, const tg_layout *l) {
    *out = 1;
    for (int32_t i = 0; i < l->nmodes; i++) /* a digit of a fold at rest: folds mix dimensions */
        if (l->mode[i].axis >= l->ndim && l->mode[i].count > 1 && l->mode[i].stride == 0) return false;
    for (int32_t first = 0, last; first < l->nmodes; first = last) {
        const int32_t axis = l->mode[l->chain[first]].axis;
        int64_t       values;
        for (last = first + 1; last < l->nmodes && l->mode[l->chain[last]].axis == axis; last++) {}
        if (axis < 0 || axis >= l->ndim) continue;
        if (!moving_values(&values, l, first, last)) return false;
        *out *= values;
    }
    return true;
}

/* Every axis is one digit to memory: the digits fill a box. */
static bool is_box(const tg_layout *l) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->count > 1 && m->axis >= 0 && (m->into != TG_TO_MEMORY || m->count != l->axis_size[m->axis]))
            return false;
    }
    return l->naxes == l->ndim;
}

/* Two coordinates of a box share an offset iff differences d, not all 0, sum to nothing. */
static tg_solved box_collides(const steps *s) {
    int64_t  stride[TG_MAX_MODES], lo[TG_MAX_MODES], hi[TG_MAX_MODES], v[TG_MAX_MODES];
    tg_solve p = {0, stride, lo, hi, NULL, NULL, MAX_SEARCH};
    for (int32_t first = s->n; first-- > 0;) { /* the largest stride whose difference is not 0 */
        p.n = 0;
        for (int32_t i = first + 1; i-- > 0;) {
            stride[p.n] = s->by_size[i].stride;
            hi[p.n] = s->by_size[i].count - 1;
            lo[p.n] = i == first ? 1 : -hi[p.n];
            p.n++;
        }
        const tg_solved r = tg_solve_box(v, &p, 0);
        if (r != TG_SOLVED_NO) return r;
    }
    return TG_SOLVED_NO;
}

/* The sums of a box fill an interval of multiples of their divisor iff no stride jumps over what
 * the smaller ones cover. Then *out is how many there are. */
static bool box_is_interval(int64_t *out, const steps *s) {
    int64_t divisor = 0, covered = 1;
    for (int32_t i = 0; i < s->n; i++) divisor = tg_gcd(divisor, s->by_size[i].stride);
    for (int32_t i = 0; i < s->n; i++) {
        const int64_t stride = s->by_size[i].stride / divisor;
        if (stride > covered) return false;
        covered += stride * (s->by_size[i].count - 1);
    }
    *out = covered;
    return true;
}

/* Count the coordinates that are the first at their offset. */
static tg_status enumerate(bool *unique, int64_t *data, const tg_layout *l, tg_error *err) {
    int64_t coord[TG_MAX_NDIM] = {0}, first[TG_MAX_NDIM] = {0};
    if (tg_layout_numel(l) > MAX_ENUMERATED)
        return tg_fail(err, TG_ERR_LIMIT,
                       "counting the offsets of %d elements with overlapping strides needs over %d steps",
                       tg_layout_numel(l), (int64_t)MAX_ENUMERATED);
    *unique = true;
    *data = 0;
    do {
        tg_slot         slot;
        const tg_status s = tg_layout_coord(&slot, first, l, tg_layout_offset(l, coord), err);
        if (s != TG_OK) return s;
        bool same = true;
        for (int32_t d = 0; d < l->ndim; d++) same = same && first[d] == coord[d];
        *unique = *unique && same;
        *data += same;
    } while (tg_next_coord(coord, l->shape, l->ndim));
    return TG_OK;
}

static tg_status cover(bool *unique, int64_t *data, const tg_layout *in, tg_error *err) {
    tg_layout l;
    steps     s;
    *unique = true;
    *data = 0;
    if (tg_layout_numel(in) == 0) return TG_OK;
    collect(&s, in);
    if (nests(&s) && moving_numel(data, in)) {
        *unique = !s.repeats;
        *data *= s.copies;
        return TG_OK;
    }
    const tg_status status = tg_layout_coalesce(&l, in, err);
    if (status != TG_OK) return status;
    collect(&s, &l);
    if (nests(&s) && moving_numel(data, &l)) {
        *unique = !s.repeats;
        *data *= s.copies;
        return TG_OK;
    }
    if (s.copies == 1 && is_box(&l)) {
        const tg_solved r = s.repeats ? TG_SOLVED_YES : box_collides(&s);
        *unique = r == TG_SOLVED_NO;
        if (r == TG_SOLVED_NO && moving_numel(data, &l)) return TG_OK;
        if (r != TG_SOLVED_UNDECIDED && box_is_interval(data, &s)) return TG_OK;
    }
    if (s.copies > 1) return tg_fail(err, TG_ERR_LIMIT, "the copies of a replicating layout overlap its data");
    return enumerate(unique, data, &l, err);
}

tg_status tg_layout_coverage(bool *unique, bool *exhaustive, int64_t *data, const tg_layout *in, tg_error *err) {
    bool            one = true;
    int64_t         filled = 0;
    const tg_status s = cover(&one, &filled, in, err);
    if (s != TG_OK) return s;
    if (unique != NULL) *unique = one;
    if (exhaustive != NULL) *exhaustive = filled == in->span;
    if (data != NULL) *data = filled;
    return TG_OK;
}
