/* Views of views: sizes, strides and an offset, as PyTorch makes them. */
#include "transfer/viewing.h"

/* ---- checking ---- */

bool tg_view_is_empty(const tg_view *view) {
    for (int32_t d = 0; d < view->ndim; d++)
        if (view->shape[d] == 0) return true;
    return false;
}

bool tg_view_bounds(int64_t *low, int64_t *high, const tg_view *view) {
    int64_t l = view->offset, h = view->offset;
    for (int32_t d = 0; d < view->ndim; d++) {
        int64_t *end = view->strides[d] < 0 ? &l : &h;
        if (!tg_muladd(end, *end, view->strides[d], view->shape[d] - 1)) return false;
    }
    *low = l;
    *high = h;
    return true;
}

tg_status tg_view_check(const tg_view *view, tg_error *err) {
    int64_t low, high;
    if (view->ndim < 0 || view->ndim > TG_MAX_NDIM)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d dimensions of a view are not in [0, %d]", (int64_t)view->ndim,
                       (int64_t)TG_MAX_NDIM);
    for (int32_t d = 0; d < view->ndim; d++)
        if (view->shape[d] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "size %d of dimension %d is negative", view->shape[d],
                               (int64_t)d);
    bool fits = tg_view_is_empty(view) || tg_view_bounds(&low, &high, view);
    for (int32_t d = 0; d < view->ndim; d++) fits = fits && view->strides[d] != INT64_MIN; /* it has no magnitude */
    if (!fits)
        return tg_fail(err, TG_ERR_OVERFLOW, "sizes %v with strides %v from %d on do not fit 63 bits",
                       view->shape, view->ndim, view->strides, view->ndim, view->offset);
    return TG_OK;
}

static tg_status check_dim(int32_t dim, int32_t ndim, const char *what, tg_error *err) {
    if (dim >= 0 && dim < ndim) return TG_OK;
    return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "%s: dimension %d is not in [0, %d)", what, (int64_t)dim,
                       (int64_t)ndim);
}

static tg_status check_room(int32_t ndim, const char *what, tg_error *err) {
    if (ndim <= TG_MAX_NDIM) return TG_OK;
    return tg_fail(err, TG_ERR_LIMIT, "%s: %d dimensions are over the limit of %d", what, (int64_t)ndim,
                   (int64_t)TG_MAX_NDIM);
}

/* ---- dimensions come and go ---- */

static void insert_dim(tg_view *v, int32_t at, int64_t size, int64_t stride) {
    for (int32_t d = v->ndim++; d > at; d--) {
        v->shape[d] = v->shape[d - 1];
        v->strides[d] = v->strides[d - 1];
    }
    v->shape[at] = size;
    v->strides[at] = stride;
}

static void remove_dim(tg_view *v, int32_t at) {
    v->ndim--;
    for (int32_t d = at; d < v->ndim; d++) {
        v->shape[d] = v->shape[d + 1];
        v->strides[d] = v->strides[d + 1];
    }
    v->shape[v->ndim] = v->strides[v->ndim] = 0;
}

tg_status tg_view_of(tg_view *out, const tg_desc *tensor, tg_error *err) {
    tg_view   v = {0};
    tg_host   host = tensor->host;
    tg_status s = TG_OK;
    if (tensor->notation == TG_NOTATION_XLA)
        s = tg_host_contiguous(&host, tensor->layout.dtype, tensor->layout.ndim, tensor->layout.shape, err);
    if (s != TG_OK) return s;
    v.offset = host.offset;
    for (int32_t d = 0; d < host.ndim; d++) insert_dim(&v, d, host.shape[d], host.strides[d]);
    *out = v;
    return TG_OK;
}

tg_status tg_view_permute(tg_view *out, const tg_view *in, const int32_t *perm, tg_error *err) {
    tg_view  v = *in;
    uint32_t taken = 0;
    for (int32_t d = 0; d < in->ndim; d++) {
        const tg_status s = check_dim(perm[d], in->ndim, "permute", err);
        if (s != TG_OK) return s;
        if (taken >> perm[d] & 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, perm[d], "permute: dimension %d is listed twice",
                               (int64_t)perm[d]);
        taken |= (uint32_t)1 << perm[d];
        v.shape[d] = in->shape[perm[d]];
        v.strides[d] = in->strides[perm[d]];
    }
    *out = v;
    return TG_OK;
}

tg_status tg_view_transpose(tg_view *out, const tg_view *in, int32_t dim0, int32_t dim1, tg_error *err) {
    int32_t   perm[TG_MAX_NDIM];
    tg_status s = check_dim(dim0, in->ndim, "transpose", err);
    if (s == TG_OK) s = check_dim(dim1, in->ndim, "transpose", err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < in->ndim; d++) perm[d] = d == dim0 ? dim1 : d == dim1 ? dim0 : d;
    return tg_view_permute(out, in, perm, err);
}

tg_status tg_view_squeeze(tg_view *out, const tg_view *in, int32_t dim, tg_error *err) {
    const tg_status s = check_dim(dim, in->ndim, "squeeze", err);
    if (s != TG_OK) return s;
    if (in->shape[dim] != 1)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "squeeze: dimension %d has size %d, not 1", (int64_t)dim,
                           in->shape[dim]);
    *out = *in;
    remove_dim(out, dim);
    return TG_OK;
}

tg_status tg_view_unsqueeze(tg_view *out, const tg_view *in, int32_t dim, tg_error *err) {
    tg_status s = check_dim(dim, in->ndim + 1, "unsqueeze", err);
    if (s == TG_OK) s = check_room(in->ndim + 1, "unsqueeze", err);
    if (s != TG_OK) return s;
    int64_t stride = 1;
    if (dim < in->ndim && !tg_mul(&stride, in->shape[dim], in->strides[dim])) stride = in->strides[dim];
    *out = *in;
    insert_dim(out, dim, 1, stride);
    return TG_OK;
}

/* ---- elements ---- */

static int64_t range_length(int64_t start, int64_t stop, int64_t step) {
    if (step > 0) return stop > start ? (stop - start - 1) / step + 1 : 0;
    return start > stop ? (start - stop - 1) / -step + 1 : 0;
}

tg_status tg_view_slice(tg_view *out, const tg_view *in, int32_t dim, int64_t start, int64_t stop, int64_t step,
                        tg_error *err) {
    tg_view   v = *in;
    tg_status s = check_dim(dim, in->ndim, "slice", err);
    if (s != TG_OK) return s;
    const int64_t size = in->shape[dim];
    if (step == 0 || step == INT64_MIN)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "slice: step %d is not allowed", step);
    const bool inside = step > 0 ? start >= 0 && start <= size && stop >= 0 && stop <= size
                                 : start >= -1 && start < size && stop >= -1 && stop < size;
    if (!inside)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim,
                           "slice: start %d and stop %d with step %d leave dimension %d of size %d", start, stop, step,
                           (int64_t)dim, size);
    v.shape[dim] = range_length(start, stop, step);
    if (!tg_muladd(&v.offset, in->offset, start, in->strides[dim]) ||
        (v.shape[dim] > 1 && !tg_mul(&v.strides[dim], in->strides[dim], step)))
        return tg_fail_dim(err, TG_ERR_OVERFLOW, dim, "slice: stride %d from %d on in steps of %d does not fit 63 bits",
                           in->strides[dim], start, step);
    *out = v;
    return TG_OK;
}

tg_status tg_view_select(tg_view *out, const tg_view *in, int32_t dim, int64_t index, tg_error *err) {
    tg_view   v;
    tg_status s = check_dim(dim, in->ndim, "select", err);
    if (s != TG_OK) return s;
    if (index < 0 || index >= in->shape[dim])
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "select: %d is not in [0, %d), the range of dimension %d", index,
                           in->shape[dim], (int64_t)dim);
    if ((s = tg_view_slice(&v, in, dim, index, index + 1, 1, err)) != TG_OK) return s;
    remove_dim(&v, dim);
    *out = v;
    return TG_OK;
}

tg_status tg_view_expand(tg_view *out, const tg_view *in, int32_t ndim, const int64_t *shape, tg_error *err) {
    tg_view         v = *in;
    const int32_t   added = ndim - in->ndim;
    const tg_status s = check_room(ndim, "expand", err);
    if (s != TG_OK) return s;
    if (added < 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "expand: %d sizes are fewer than the %d dimensions", (int64_t)ndim,
                       (int64_t)in->ndim);
    for (int32_t d = 0; d < added; d++) insert_dim(&v, d, 1, 0);
    for (int32_t d = 0; d < ndim; d++) {
        const int64_t old = v.shape[d], size = shape[d] == -1 && d >= added ? old : shape[d];
        if (size < 0 || (old != 1 && old != size))
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "expand: dimension %d has size %d; only size 1 can become %d",
                               (int64_t)d, old, shape[d]);
        if (size != old) v.strides[d] = 0;
        v.shape[d] = size;
    }
    *out = v;
    return TG_OK;
}

tg_status tg_view_unfold(tg_view *out, const tg_view *in, int32_t dim, int64_t size, int64_t step, tg_error *err) {
    tg_view   v = *in;
    tg_status s = check_dim(dim, in->ndim, "unfold", err);
    if (s == TG_OK) s = check_room(in->ndim + 1, "unfold", err);
    if (s != TG_OK) return s;
    if (size < 0 || size > in->shape[dim] || step < 1)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim,
                           "unfold: windows of %d in steps of %d do not fit dimension %d of size %d", size, step,
                           (int64_t)dim, in->shape[dim]);
    v.shape[dim] = (in->shape[dim] - size) / step + 1;
    if (v.shape[dim] > 1 && !tg_mul(&v.strides[dim], in->strides[dim], step))
        return tg_fail_dim(err, TG_ERR_OVERFLOW, dim, "unfold: stride %d times step %d does not fit 63 bits",
                           in->strides[dim], step);
    insert_dim(&v, in->ndim, size, in->strides[dim]);
    *out = v;
    return TG_OK;
}

/* ---- reshape ---- */

/* Put a size in the place of a -1. */
static tg_status infer_size(int64_t *sizes, int64_t *numel, const tg_view *in, int32_t ndim, const int64_t *shape,
                            tg_error *err) {
    int32_t inferred = -1;
    int64_t known = 1;
    for (int32_t d = 0; d < ndim; d++) {
        sizes[d] = shape[d];
        if (shape[d] < -1 || (shape[d] == -1 && inferred >= 0))
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "reshape: size %d of dimension %d; only one may be -1",
                               shape[d], (int64_t)d);
        if (shape[d] == -1) {
            inferred = d;
            sizes[d] = 1;
        }
    }
    const bool fits = tg_product(numel, in->shape, in->ndim) && tg_product(&known, sizes, ndim);
    if (fits && inferred >= 0 && known > 0) sizes[inferred] = *numel / known;
    if (fits && (inferred >= 0 ? known > 0 && *numel % known == 0 : known == *numel)) return TG_OK;
    return tg_fail(err, TG_ERR_ARGUMENT, "reshape: %v does not have the elements of %v", shape, ndim, in->shape,
                   in->ndim);
}

/* Row-major strides, innermost `unit`, for the sizes at [first, last). */
static tg_status fill_strides(tg_view *v, int32_t first, int32_t last, int64_t unit, tg_error *err) {
    for (int32_t d = last; d-- > first;) {
        v->strides[d] = unit;
        if (v->shape[d] > 1 && !tg_mul(&unit, unit, v->shape[d]))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, d, "reshape: the strides of %v do not fit 63 bits", v->shape,
                               v->ndim);
    }
    return TG_OK;
}

/* From the back, each run of dimensions whose elements are evenly spaced takes as many new dimensions as fill it. */
static tg_status regroup(tg_view *v, const tg_view *in, tg_error *err) {
    int32_t   last = v->ndim;
    tg_status s = TG_OK;
    for (int32_t d = in->ndim; d-- > 0 && s == TG_OK;) {
        int64_t       evenly = in->shape[d], filled = 1;
        const int64_t unit = in->strides[d];
        int32_t       first = last;
        if (in->shape[d] == 1) continue;
        for (; d > 0 && (in->shape[d - 1] == 1 || in->strides[d - 1] == unit * evenly); d--) evenly *= in->shape[d - 1];
        while (first > 0 && (filled < evenly || v->shape[first - 1] == 1)) filled *= v->shape[--first];
        if (filled != evenly)
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d,
                               "reshape: %v with strides %v has no view of sizes %v; PyTorch would copy", in->shape,
                               in->ndim, in->strides, in->ndim, v->shape, v->ndim);
        s = fill_strides(v, first, last, unit, err);
        last = first;
    }
    return s != TG_OK ? s : fill_strides(v, 0, last, 1, err); /* sizes of 1 are left, or none */
}

tg_status tg_view_reshape(tg_view *out, const tg_view *in, int32_t ndim, const int64_t *shape, tg_error *err) {
    tg_view   v = {.ndim = ndim, .offset = in->offset};
    int64_t   numel;
    tg_status s = check_room(ndim, "reshape", err);
    if (s == TG_OK) s = infer_size(v.shape, &numel, in, ndim, shape, err);
    if (s != TG_OK) return s;
    if (numel == 0) s = fill_strides(&v, 0, ndim, 1, err);
    else s = regroup(&v, in, err);
    if (s == TG_OK) *out = v;
    return s;
}
