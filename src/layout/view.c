/* Views: other coordinates for the same memory.
 *
 * Permuting, expanding, squeezing and unsqueezing rename axes. A reshape makes one number of the
 * dimensions that share their elements, and cuts it at the new sizes; where a digit counts through
 * two new dimensions, these are folded into one axis, so that only folds in conflicting orders stop
 * it. A slice walks x = start + step * y: each digit of x must again be a digit of y. */
#include "layout/layout.h"

#include <string.h>

static tg_status check_dim(int32_t dim, int32_t ndim, const char *what, tg_error *err) {
    if (dim >= 0 && dim < ndim) return TG_OK;
    return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "%s: dimension %d is not in [0, %d)", what, (int64_t)dim,
                       (int64_t)ndim);
}

/* The same layout with other dimensions: axis a of in is number[a] of out; -1 drops its digits. */
static tg_status renumber(tg_layout *out, const tg_layout *in, int32_t ndim, const int64_t *shape,
                          const int32_t *number, tg_error *err) {
    tg_layout l;
    tg_status s = tg_layout_begin(&l, in->dtype, in->format, in->elem_bits, ndim, shape, err);
    if (s != TG_OK) return s;
    l.memory_space = in->memory_space;
    l.offset = in->offset;
    l.span = in->span;
    for (int32_t a = in->ndim, axis; a < in->naxes; a++)
        if ((s = tg_layout_push_axis(&l, &axis, err)) != TG_OK) return s;
    const int32_t shift = ndim - in->ndim;
    for (int32_t i = 0; i < in->nmodes; i++) {
        tg_mode m = in->mode[i];
        if (m.axis >= 0 && m.axis < in->ndim && number[m.axis] < 0) {
            if (!tg_is_memory(&m)) continue;
            m.axis = TG_AXIS_PAD;
            m.weight = 1;
        } else if (m.axis >= 0) {
            m.axis = m.axis < in->ndim ? number[m.axis] : m.axis + shift;
        }
        if (m.into >= 0) m.into += shift;
        if ((s = tg_layout_push(&l, m, err)) != TG_OK) return s;
    }
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}

tg_status tg_layout_permute(tg_layout *out, const tg_layout *in, const int32_t *perm, tg_error *err) {
    int32_t number[TG_MAX_NDIM];
    int64_t shape[TG_MAX_NDIM];
    bool    taken[TG_MAX_NDIM] = {false};
    for (int32_t d = 0; d < in->ndim; d++) {
        const tg_status s = check_dim(perm[d], in->ndim, "permute", err);
        if (s != TG_OK) return s;
        if (taken[perm[d]])
            return tg_fail_dim(err, TG_ERR_ARGUMENT, perm[d], "permute: dimension %d is listed twice",
                               (int64_t)perm[d]);
        taken[perm[d]] = true;
        number[perm[d]] = d;
        shape[d] = in->shape[perm[d]];
    }
    return renumber(out, in, in->ndim, shape, number, err);
}

tg_status tg_layout_transpose(tg_layout *out, const tg_layout *in, int32_t dim0, int32_t dim1, tg_error *err) {
    int32_t   perm[TG_MAX_NDIM];
    tg_status s = check_dim(dim0, in->ndim, "transpose", err);
    if (s == TG_OK) s = check_dim(dim1, in->ndim, "transpose", err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < in->ndim; d++) perm[d] = d == dim0 ? dim1 : d == dim1 ? dim0 : d;
    return tg_layout_permute(out, in, perm, err);
}

tg_status tg_layout_expand(tg_layout *out, const tg_layout *in, int32_t dim, int64_t size, tg_error *err) {
    tg_status s = check_dim(dim, in->ndim, "expand", err);
    if (s != TG_OK) return s;
    if (size < 0 || (in->shape[dim] != 1 && in->shape[dim] != size))
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "expand: dimension %d has size %d; only size 1 can become %d",
                           (int64_t)dim, in->shape[dim], size);
    if (in->shape[dim] == size) {
        *out = *in;
        return TG_OK;
    }
    tg_layout l;
    if ((s = tg_layout_squeeze(&l, in, dim, err)) != TG_OK || (s = tg_layout_unsqueeze(&l, &l, dim, err)) != TG_OK)
        return s;
    l.shape[dim] = l.axis_size[dim] = size;
    for (int32_t i = 0; i < l.nmodes; i++)
        if (l.mode[i].axis == dim) l.mode[i].size = size;
    if (size == 0 && (s = tg_layout_make_empty(&l, in->span, err)) != TG_OK) return s;
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}

tg_status tg_layout_squeeze(tg_layout *out, const tg_layout *in, int32_t dim, tg_error *err) {
    int32_t   number[TG_MAX_NDIM];
    int64_t   shape[TG_MAX_NDIM] = {0};
    tg_status s = check_dim(dim, in->ndim, "squeeze", err);
    if (s != TG_OK) return s;
    if (in->shape[dim] != 1)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "squeeze: dimension %d has size %d, not 1", (int64_t)dim,
                           in->shape[dim]);
    for (int32_t d = 0; d < in->ndim; d++) {
        number[d] = d < dim ? d : d == dim ? -1 : d - 1;
        if (d != dim) shape[number[d]] = in->shape[d];
    }
    return renumber(out, in, in->ndim - 1, shape, number, err);
}

tg_status tg_layout_unsqueeze(tg_layout *out, const tg_layout *in, int32_t dim, tg_error *err) {
    int32_t   number[TG_MAX_NDIM];
    int64_t   shape[TG_MAX_NDIM];
    tg_status s = check_dim(dim, in->ndim + 1, "unsqueeze", err);
    if (s != TG_OK) return s;
    if (in->ndim == TG_MAX_NDIM)
        return tg_fail_dim(err, TG_ERR_LIMIT, dim, "unsqueeze: %d dimensions are the limit", (int64_t)TG_MAX_NDIM);
    for (int32_t d = 0; d < in->ndim; d++) {
        number[d] = d < dim ? d : d + 1;
        shape[number[d]] = in->shape[d];
    }
    shape[dim] = 1;
    tg_layout l;
    if ((s = renumber(&l, in, in->ndim + 1, shape, number, err)) != TG_OK) return s;
    const tg_mode m = {1, 1, 1, 0, dim, TG_TO_MEMORY};
    if ((s = tg_layout_push(&l, m, err)) != TG_OK || (s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}

/* ---- reshape ---- */

static int32_t without_units(int32_t *dims, int64_t *sizes, const int64_t *shape, int32_t ndim) {
    int32_t n = 0;
    for (int32_t d = 0; d < ndim; d++) {
        if (shape[d] == 1) continue;
        dims[n] = d;
        sizes[n++] = shape[d];
    }
    return n;
}

/* What a reshape does to groups of dimensions: those that stay whole keep their digits under a new
 * number; the others become one number and are cut anew. */
typedef struct regrouping {
    int32_t old[TG_MAX_NDIM], new[TG_MAX_NDIM]; /* dimensions without those of size 1 */
    int64_t old_size[TG_MAX_NDIM], new_size[TG_MAX_NDIM];
    int32_t nold, nnew;
    int32_t number[TG_MAX_NDIM]; /* of an old dimension that stays whole; else -1 */
} regrouping;

/* Widen the groups [i, *a) and [j, *b) until their products agree. */
static void match_products(const regrouping *g, int32_t i, int32_t j, int32_t *a, int32_t *b) {
    int64_t left = 1, right = 1;
    for (int32_t k = i; k < *a; k++) left *= g->old_size[k];
    for (int32_t k = j; k < *b; k++) right *= g->new_size[k];
    while (left != right) {
        if (left < right) left *= g->old_size[(*a)++];
        else right *= g->new_size[(*b)++];
    }
}

/* Cut anew whatever does not stay whole; with `together`, everything as one number. */
static tg_status regroup(tg_layout *l, regrouping *g, const tg_layout *in, bool together, tg_error *err) {
    for (int32_t i = 0, j = 0, a, b; i < g->nold; i = a, j = b) {
        tg_digits f;
        a = together ? g->nold : i + 1;
        b = together ? g->nnew : j + 1;
        match_products(g, i, j, &a, &b);
        if (a - i == 1 && b - j == 1) {
            g->number[g->old[i]] = g->new[j];
            continue;
        }
        while (!tg_digits_of_dims(&f, in, g->old + i, a - i)) { /* a fold reaches further: widen the group */
            if (a == g->nold)
                return tg_fail_dim(
                    err, TG_ERR_UNREPRESENTABLE, g->old[i],
                    "reshape: dimensions from %d on are folded in an order that row-major numbers do not have",
                    (int64_t)g->old[i]);
            a++;
            match_products(g, i, j, &a, &b);
        }
        tg_digits_coalesce(&f);
        const tg_status s = tg_layout_push_dims(l, g->new + j, g->new_size + j, b - j, &f, err);
        if (s != TG_OK) return s;
    }
    return TG_OK;
}

/* The modes of dimensions that stay whole, of the folds they go into, and those without a dimension. */
static tg_status keep_modes(tg_layout *l, const regrouping *g, const tg_layout *in, tg_error *err) {
    int32_t   number[TG_MAX_AXES];
    tg_status s = TG_OK;
    for (int32_t axis = 0; axis < in->naxes && s == TG_OK; axis++) {
        bool kept = axis < in->ndim && g->number[axis] >= 0;
        for (int32_t i = 0; i < in->nmodes; i++)
            kept = kept || (in->mode[i].into == axis && number[in->mode[i].axis] >= 0);
        number[axis] = axis < in->ndim ? g->number[axis] : -1;
        if (kept && axis >= in->ndim) s = tg_layout_push_axis(l, &number[axis], err);
    }
    for (int32_t i = 0; i < in->nmodes && s == TG_OK; i++) {
        tg_mode m = in->mode[i];
        if (m.axis >= 0 && number[m.axis] < 0) continue;
        if (m.axis >= 0) m.axis = number[m.axis];
        if (m.into >= 0) m.into = number[m.into];
        s = tg_layout_push(l, m, err);
    }
    return s;
}

/* Every dimension has a mode, also those of size 1. */
static tg_status add_units(tg_layout *l, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t d = 0; d < l->ndim && s == TG_OK; d++) {
        const tg_mode unit = {1, 1, 1, 0, d, TG_TO_MEMORY};
        if (l->shape[d] == 1) s = tg_layout_push(l, unit, err);
    }
    return s;
}

static tg_status reshape(tg_layout *out, const tg_layout *begun, regrouping *g, const tg_layout *in, bool together,
                         tg_error *err) {
    tg_layout l = *begun;
    for (int32_t d = 0; d < TG_MAX_NDIM; d++) g->number[d] = -1;
    tg_status s = regroup(&l, g, in, together, err);
    if (s == TG_OK) s = keep_modes(&l, g, in, err);
    if (s == TG_OK) s = add_units(&l, err);
    if (s == TG_OK) s = tg_layout_end(&l, err);
    if (s == TG_OK) *out = l;
    return s;
}

tg_status tg_layout_reshape(tg_layout *out, const tg_layout *in, int32_t ndim, const int64_t *shape, tg_error *err) {
    tg_layout  l;
    regrouping g;
    int64_t    numel;
    tg_status  s = tg_layout_begin(&l, in->dtype, in->format, in->elem_bits, ndim, shape, err);
    if (s != TG_OK) return s;
    if (!tg_product(&numel, shape, ndim) || numel != tg_layout_numel(in))
        return tg_fail(err, TG_ERR_ARGUMENT, "reshape: %v does not have the %d elements of %v", shape, (int)ndim,
                       tg_layout_numel(in), in->shape, (int)in->ndim);
    l.memory_space = in->memory_space;
    l.offset = in->offset;
    l.span = in->span;
    if (numel == 0) {
        if ((s = tg_layout_make_empty(&l, in->span, err)) == TG_OK) *out = l;
        return s;
    }
    g.nold = without_units(g.old, g.old_size, in->shape, in->ndim);
    g.nnew = without_units(g.new, g.new_size, shape, ndim);
    s = reshape(out, &l, &g, in, false, err);
    return s == TG_ERR_UNREPRESENTABLE ? reshape(out, &l, &g, in, true, err) : s;
}

/* ---- slice ---- */

/* y -> f(start + step * y), 0 <= y < n, step >= 1, as digits; *at0 receives the value at y = 0. */
static bool slice_digits(tg_digits *out, int64_t *at0, const tg_digits *f, int64_t start, int64_t step, int64_t n) {
    out->n = 0;
    out->size = n;
    *at0 = tg_digits_eval(f, start);
    int64_t left = n; /* values that y takes below the digit at hand */
    for (int32_t i = 0; i < f->n; i++) {
        const int64_t w = f->weight[i], first = start % w;
        int64_t       last;
        if (left <= 1) break;
        if (!tg_muladd(&last, start, step, left - 1)) return false;
        if (last / w == start / w) { /* this digit does not move */
            start = first;
            continue;
        }
        int64_t weight, stride;
        if (step % w == 0) { /* whole steps of this digit; the lower ones stand still */
            weight = 1;
            if (!tg_mul(&stride, f->stride[i], step / w)) return false;
        } else if (w % step == 0 && first < step) { /* whole tiles of y */
            weight = w / step;
            stride = f->stride[i];
        } else {
            return false;
        }
        out->weight[out->n] = weight;
        out->stride[out->n++] = stride;
        if (weight == 1) return true;
        left = tg_min(left, weight);
        start = first;
    }
    if (out->n == 0 || out->weight[out->n - 1] != 1) {
        if (out->n == TG_MAX_MODES) return false;
        out->weight[out->n] = 1;
        out->stride[out->n++] = 0;
    }
    return true;
}

/* z -> f(n - 1 - z): every digit counts down. *at0 grows by what f(n - 1) adds. */
static bool reverse_digits(tg_digits *f, int64_t *at0) {
    for (int32_t i = 0; i < f->n; i++) {
        const int64_t bound = i == 0 ? f->size : tg_min(f->size, f->weight[i - 1]);
        if (bound % f->weight[i] != 0) return false;
    }
    *at0 += tg_digits_eval(f, f->size - 1);
    for (int32_t i = 0; i < f->n; i++) f->stride[i] = -f->stride[i];
    return true;
}

static int64_t range_length(int64_t start, int64_t stop, int64_t step) {
    if (step > 0) return stop > start ? (stop - start - 1) / step + 1 : 0;
    return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

static tg_status check_range(const tg_layout *in, int32_t dim, int64_t start, int64_t stop, int64_t step,
                             tg_error *err) {
    const int64_t size = in->shape[dim];
    if (step == 0 || step == INT64_MIN)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "slice: step %d is not allowed", step);
    const bool inside = step > 0 ? start >= 0 && start <= size && stop >= 0 && stop <= size
                                 : start >= -1 && start < size && stop >= -1 && stop < size;
    if (inside) return TG_OK;
    return tg_fail_dim(err, TG_ERR_ARGUMENT, dim,
                       "slice: start %d and stop %d with step %d leave dimension %d of size %d", start, stop, step,
                       (int64_t)dim, size);
}

/* A dimension that is folded whole can be thinned from its first element, not shifted. */
static tg_status slice_folded(tg_layout *l, int32_t dim, int64_t start, int64_t step, int64_t n, tg_error *err) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        tg_mode *m = &l->mode[i];
        if (m->axis != dim || m->count <= 1) continue;
        if (m->weight != 1 || (start != 0 && n > 0) || step < 0)
            return tg_fail_dim(
                err, TG_ERR_UNREPRESENTABLE, dim,
                "slice: dimension %d is folded with others; only slices from 0 with a positive step keep that",
                (int64_t)dim);
        m->size = n;
        if (n > 1 && !tg_mul(&m->stride, m->stride, step))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, dim, "slice: stride %d times step %d does not fit 63 bits",
                               m->stride, step);
    }
    return tg_layout_end(l, err);
}

tg_status tg_layout_slice(tg_layout *out, const tg_layout *in, int32_t dim, int64_t start, int64_t stop, int64_t step,
                          tg_error *err) {
    tg_status s = check_dim(dim, in->ndim, "slice", err);
    if (s == TG_OK) s = check_range(in, dim, start, stop, step, err);
    if (s != TG_OK) return s;
    tg_layout     l = *in;
    const int64_t n = range_length(start, stop, step);
    l.shape[dim] = l.axis_size[dim] = n;
    if (n == 0 || tg_layout_numel(in) == 0) {
        if ((s = tg_layout_make_empty(&l, in->span, err)) == TG_OK) *out = l;
        return s;
    }
    if (start == 0 && (step == 1 || n == 1)) { /* fewer values of the same digits */
        if ((s = tg_layout_end(&l, err)) == TG_OK) *out = l;
        return s;
    }
    for (int32_t i = 0; i < in->nmodes; i++)
        if (in->mode[i].axis == dim && in->mode[i].count > 1 && !tg_is_memory(&in->mode[i])) {
            if ((s = slice_folded(&l, dim, start, step, n, err)) == TG_OK) *out = l;
            return s;
        }
    tg_digits f, g;
    int64_t   at0;
    if (!tg_digits_of_dims(&f, in, &dim, 1)) /* not folded: cannot fail */
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, dim, "slice: dimension %d is folded with others", (int64_t)dim);
    tg_digits_coalesce(&f);
    const int64_t lowest = step > 0 ? start : start + step * (n - 1);
    if (!slice_digits(&g, &at0, &f, lowest, step > 0 ? step : -step, n) || (step < 0 && !reverse_digits(&g, &at0)))
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, dim,
                           "slice: start %d, step %d of dimension %d does not fall on the edges of its tiles of %d",
                           start, step, (int64_t)dim, f.n > 1 ? f.weight[f.n - 2] : 1);
    for (int32_t i = l.nmodes; i-- > 0;)
        if (l.mode[i].axis == dim) {
            memmove(&l.mode[i], &l.mode[i + 1], (size_t)(l.nmodes - 1 - i) * sizeof l.mode[0]);
            l.nmodes--;
        }
    if (!tg_add(&l.offset, l.offset, at0))
        return tg_fail(err, TG_ERR_OVERFLOW, "slice: the offset does not fit 63 bits");
    if ((s = tg_layout_push_dims(&l, &dim, &n, 1, &g, err)) != TG_OK || (s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}
