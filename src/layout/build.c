/* Putting layouts together, and the one check of their invariants.
 *
 * Constructors push modes in the order of memory and call tg_layout_end, which derives what can be
 * derived (the order of evaluation, counts, ranges of folded axes) and refuses what cannot be a
 * layout. tg_layout_validate derives the same again and compares: there is one set of rules. */
#include "layout/layout.h"

#include <string.h>

tg_status tg_layout_begin(tg_layout *out, tg_dtype dtype, tg_format format, int32_t elem_bits, int32_t ndim,
                          const int64_t *shape, tg_error *err) {
    if (ndim < 0) return tg_fail(err, TG_ERR_ARGUMENT, "a layout has at least 0 dimensions, not %d", (int64_t)ndim);
    if (ndim > TG_MAX_NDIM)
        return tg_fail(err, TG_ERR_LIMIT, "%d dimensions are over the limit of %d", (int64_t)ndim,
                       (int64_t)TG_MAX_NDIM);
    if (tg_dtype_bits(dtype) == 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "element type %d is not known", (int64_t)dtype);
    for (int32_t d = 0; d < ndim; d++)
        if (shape[d] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "dimension %d has negative size %d", (int64_t)d, shape[d]);
    tg_layout l;
    memset(&l, 0, sizeof l);
    l.ndim = l.naxes = ndim;
    l.dtype = dtype;
    l.format = format;
    l.elem_bits = elem_bits;
    for (int32_t d = 0; d < ndim; d++) l.shape[d] = l.axis_size[d] = shape[d];
    *out = l;
    return TG_OK;
}

tg_status tg_layout_push(tg_layout *l, tg_mode mode, tg_error *err) {
    if (l->nmodes >= TG_MAX_MODES)
        return tg_fail(err, TG_ERR_LIMIT, "the layout needs more than %d modes", (int64_t)TG_MAX_MODES);
    l->mode[l->nmodes++] = mode;
    return TG_OK;
}

tg_status tg_layout_push_axis(tg_layout *l, int32_t *axis, tg_error *err) {
    if (l->naxes >= TG_MAX_AXES)
        return tg_fail(err, TG_ERR_LIMIT, "the layout needs more than %d axes", (int64_t)TG_MAX_AXES);
    *axis = l->naxes;
    l->axis_size[l->naxes++] = 0;
    return TG_OK;
}

/* Memory modes first, in order; then the folded ones. */
static void put_memory_first(tg_layout *l) {
    tg_mode sorted[TG_MAX_MODES];
    int32_t n = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t m = 0; m < l->nmodes; m++)
            if (tg_is_memory(&l->mode[m]) == (pass == 0)) sorted[n++] = l->mode[m];
    memcpy(l->mode, sorted, (size_t)n * sizeof sorted[0]);
}

/* Evaluation order: by axis, then decreasing weight; modes without an axis last. */
static bool comes_before(const tg_mode *a, const tg_mode *b) {
    if ((a->axis < 0) != (b->axis < 0)) return b->axis < 0;
    if (a->axis < 0) return false;
    return a->axis != b->axis ? a->axis < b->axis : a->weight > b->weight;
}

static void sort_chain(tg_layout *l) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        int32_t j = i;
        for (; j > 0 && comes_before(&l->mode[i], &l->mode[l->chain[j - 1]]); j--) l->chain[j] = l->chain[j - 1];
        l->chain[j] = (uint8_t)i;
    }
}

int64_t tg_chain_bound(const tg_layout *l, int32_t i) {
    const tg_mode *m = &l->mode[l->chain[i]];
    const int64_t  size = l->axis_size[m->axis];
    if (i == 0 || l->mode[l->chain[i - 1]].axis != m->axis) return size;
    return tg_min(size, l->mode[l->chain[i - 1]].weight);
}

/* Ranges of folded axes and counts of digits, in evaluation order, so that an axis is complete
 * before its own digits are counted. */
static tg_status derive(tg_layout *l, tg_error *err) {
    bool empty[TG_MAX_AXES] = {false};
    for (int32_t a = l->ndim; a < l->naxes; a++) l->axis_size[a] = 1;
    for (int32_t i = 0; i < l->nmodes; i++) {
        tg_mode *m = &l->mode[l->chain[i]];
        if (m->axis < 0) {
            m->count = m->axis == TG_AXIS_COPY ? m->size : tg_min(m->size, 1);
            continue;
        }
        if (m->axis >= l->ndim && empty[m->axis]) l->axis_size[m->axis] = 0;
        m->count = tg_ceil_div(tg_chain_bound(l, i), m->weight);
        if (m->into == TG_TO_MEMORY) continue;
        if (m->count == 0) empty[m->into] = true;
        else if (!tg_muladd(&l->axis_size[m->into], l->axis_size[m->into], m->count - 1, m->stride))
            return tg_fail(err, TG_ERR_OVERFLOW, "the range of a folded axis does not fit 63 bits");
    }
    return TG_OK;
}

static tg_status check_mode(const tg_layout *l, int32_t i, tg_error *err) {
    const tg_mode *m = &l->mode[i];
    if (m->axis < TG_AXIS_COPY || m->axis >= l->naxes)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "mode %d takes digits of axis %d, which is not in [0, %d)",
                           (int64_t)i, (int64_t)m->axis, (int64_t)l->naxes);
    if (m->into != TG_TO_MEMORY && (m->axis < 0 || m->into <= m->axis || m->into < l->ndim || m->into >= l->naxes))
        return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "mode %d of axis %d cannot be folded into axis %d", (int64_t)i,
                           (int64_t)m->axis, (int64_t)m->into);
    if (m->into != TG_TO_MEMORY && m->stride < 1)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "mode %d is folded with stride %d, which must be positive",
                           (int64_t)i, m->stride);
    if (m->size < 0 || m->weight < 1)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "mode %d has size %d and weight %d; they must be at least 0 and 1",
                           (int64_t)i, m->size, m->weight);
    if (m->stride == INT64_MIN)
        return tg_fail_dim(err, TG_ERR_OVERFLOW, i, "mode %d has stride %d, whose magnitude does not fit 63 bits",
                           (int64_t)i, m->stride);
    return TG_OK;
}

static tg_status check_counts(const tg_layout *l, tg_error *err) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const int32_t  index = l->chain[i];
        const tg_mode *m = &l->mode[index];
        if (m->axis < 0) continue;
        if (m->count > m->size)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, index, "mode %d has %d positions and needs %d", (int64_t)index,
                               m->size, m->count);
        const tg_mode *next = i + 1 < l->nmodes ? &l->mode[l->chain[i + 1]] : NULL;
        const bool     last = next == NULL || next->axis != m->axis;
        if (!last && next->weight == m->weight)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, index, "two modes of axis %d have weight %d", (int64_t)m->axis,
                               m->weight);
        if (last && m->weight != 1 && l->axis_size[m->axis] > 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, index, "the digits of axis %d end with weight %d, not 1",
                               (int64_t)m->axis, m->weight);
    }
    return TG_OK;
}

/* Every axis with more than one coordinate has digits; those folded into one axis nest. */
static tg_status check_axes(const tg_layout *l, tg_error *err) {
    bool    seen[TG_MAX_AXES] = {false};
    int64_t below[TG_MAX_AXES] = {0}, numel = 1;
    if (tg_product(&numel, l->shape, l->ndim) && numel == 0) return TG_OK; /* no coordinate to cut */
    for (int32_t i = 0; i < l->nmodes; i++)
        if (l->mode[i].axis >= 0) seen[l->mode[i].axis] = true;
    for (int32_t a = 0; a < l->naxes; a++)
        if (!seen[a] && l->axis_size[a] > 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, a, "axis %d of size %d has no digits", (int64_t)a,
                               l->axis_size[a]);
    for (int64_t floor = 0;;) { /* folded modes by increasing stride, each above all that is below it */
        const tg_mode *least = NULL;
        for (int32_t i = 0; i < l->nmodes; i++) {
            const tg_mode *m = &l->mode[i];
            if (m->into != TG_TO_MEMORY && m->stride > floor && (least == NULL || m->stride < least->stride)) least = m;
        }
        if (least == NULL) return TG_OK;
        floor = least->stride;
        for (int32_t i = 0; i < l->nmodes; i++) {
            const tg_mode *m = &l->mode[i];
            if (m->into == TG_TO_MEMORY || m->stride != floor || m->count <= 1) continue;
            if (below[m->into] >= m->stride)
                return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "the digits folded into axis %d overlap at stride %d",
                                   (int64_t)m->into, m->stride);
            below[m->into] += (m->count - 1) * m->stride; /* fits: derive() summed the same */
        }
    }
}

/* Offsets of every position, padding included, and the storage, fit int64, in elements and in bytes. */
static tg_status check_extent(const tg_layout *l, tg_error *err) {
    int64_t low = l->offset, high = l->offset, step, bytes;
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->into != TG_TO_MEMORY || m->size <= 1) continue;
        if (!tg_mul(&step, m->size - 1, m->stride) || !tg_add(step < 0 ? &low : &high, step < 0 ? low : high, step))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, i, "offsets overflow 63 bits at mode %d: size %d, stride %d",
                               (int64_t)i, m->size, m->stride);
    }
    if (!tg_sub(&step, high, low) || !tg_add(&step, step, 1))
        return tg_fail(err, TG_ERR_OVERFLOW, "offsets from %d to %d span more than 63 bits", low, high);
    if (l->span < 0) return tg_fail(err, TG_ERR_ARGUMENT, "the span %d is negative", l->span);
    if (l->elem_bits < 1 || l->elem_bits > 4096)
        return tg_fail(err, TG_ERR_ARGUMENT, "elements of %d bits; the width must be in [1, 4096]",
                       (int64_t)l->elem_bits);
    if (!tg_product(&step, l->shape, l->ndim))
        return tg_fail(err, TG_ERR_OVERFLOW, "the number of elements of %v does not fit 63 bits", l->shape,
                       (int)l->ndim);
    if (!tg_bytes_of(&bytes, l->span, l->elem_bits))
        return tg_fail(err, TG_ERR_OVERFLOW, "the bytes of %d elements of %d bits do not fit 63 bits", l->span,
                       (int64_t)l->elem_bits);
    if (step == 0) return TG_OK;
    tg_layout_bounds(l, &low, &high);
    const int64_t base = tg_min(low, 0);
    if (!tg_mul(&bytes, base / 8 - (base % 8 != 0), l->elem_bits))
        return tg_fail(err, TG_ERR_OVERFLOW, "the byte offset of element %d, of %d bits, does not fit 63 bits", base,
                       (int64_t)l->elem_bits);
    if (high - base >= l->span)
        return tg_fail(err, TG_ERR_ARGUMENT, "offsets from %d to %d do not lie in a storage of %d elements", low, high,
                       l->span);
    return TG_OK;
}

static tg_status check(const tg_layout *l, tg_error *err) {
    tg_status s = check_counts(l, err);
    if (s == TG_OK) s = check_axes(l, err);
    if (s == TG_OK) s = check_extent(l, err);
    return s;
}

/* A digit that is always 0 walks nothing: its positions beyond 0 are padding. */
static void retire_idle_digits(tg_layout *l) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        tg_mode *m = &l->mode[i];
        if (m->axis < 0 || m->count != 1 || m->weight == 1 || !tg_is_memory(m)) continue;
        m->axis = TG_AXIS_PAD;
        m->weight = 1;
    }
    sort_chain(l);
}

tg_status tg_layout_end(tg_layout *l, tg_error *err) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_status s = check_mode(l, i, err);
        if (s != TG_OK) return s;
    }
    put_memory_first(l);
    sort_chain(l);
    tg_status s = derive(l, err);
    if (s != TG_OK) return s;
    retire_idle_digits(l);
    return check(l, err);
}

tg_status tg_layout_validate(const tg_layout *in, tg_error *err) {
    tg_layout l;
    tg_status s = tg_layout_begin(&l, in->dtype, in->format, in->elem_bits, in->ndim, in->shape, err);
    if (s != TG_OK) return s;
    if (in->naxes < in->ndim || in->naxes > TG_MAX_AXES || in->nmodes < 0 || in->nmodes > TG_MAX_MODES)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d axes and %d modes; the limits are %d and %d", (int64_t)in->naxes,
                       (int64_t)in->nmodes, (int64_t)TG_MAX_AXES, (int64_t)TG_MAX_MODES);
    for (int32_t d = 0; d < in->ndim; d++)
        if (in->axis_size[d] != in->shape[d])
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "axis %d has size %d; its range is %d", (int64_t)d,
                               in->axis_size[d], in->shape[d]);
    l = *in;
    for (int32_t i = 0; i < l.nmodes; i++)
        if ((s = check_mode(&l, i, err)) != TG_OK) return s;
    for (int32_t i = 1; i < l.nmodes; i++)
        if (tg_is_memory(&l.mode[i]) && !tg_is_memory(&l.mode[i - 1]))
            return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "memory mode %d stands behind a folded mode", (int64_t)i);
    sort_chain(&l);
    if ((s = derive(&l, err)) != TG_OK) return s;
    for (int32_t i = 0; i < l.nmodes; i++) {
        if (l.chain[i] != in->chain[i])
            return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "chain entry %d is %d; in evaluation order it is %d",
                               (int64_t)i, (int64_t)in->chain[i], (int64_t)l.chain[i]);
        if (l.mode[i].count != in->mode[i].count)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "mode %d has count %d; its digit takes %d values", (int64_t)i,
                               in->mode[i].count, l.mode[i].count);
    }
    for (int32_t a = l.ndim; a < l.naxes; a++)
        if (l.axis_size[a] != in->axis_size[a])
            return tg_fail_dim(err, TG_ERR_ARGUMENT, a, "axis %d has size %d; its range is %d", (int64_t)a,
                               in->axis_size[a], l.axis_size[a]);
    return check(&l, err);
}

tg_status tg_layout_make_dense(tg_layout *l, tg_error *err) {
    int64_t span = 1;
    for (int32_t i = l->nmodes; i-- > 0;) {
        tg_mode *m = &l->mode[i];
        if (!tg_is_memory(m)) continue;
        m->stride = span;
        if (m->size > 0 && !tg_mul(&span, span, m->size))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, i,
                               "the storage does not fit 63 bits: mode %d of size %d on top of %d elements", (int64_t)i,
                               m->size, span);
    }
    for (int32_t i = 0; i < l->nmodes; i++)
        if (tg_is_memory(&l->mode[i]) && l->mode[i].size == 0) span = 0;
    l->offset = 0;
    l->span = span;
    return TG_OK;
}

static void row_major(int64_t *strides, const int64_t *shape, int32_t ndim, bool *fits) {
    int64_t step = 1;
    *fits = true;
    for (int32_t d = ndim; d-- > 0;) {
        strides[d] = step;
        if (!tg_mul(&step, step, tg_max(shape[d], 1))) *fits = false;
    }
}

tg_status tg_layout_strided(tg_layout *out, tg_dtype dtype, int32_t ndim, const int64_t *shape, const int64_t *strides,
                            int64_t offset, tg_error *err) {
    tg_layout l;
    int64_t   dense[TG_MAX_NDIM] = {0};
    bool      fits = true;
    tg_status s = tg_layout_begin(&l, dtype, TG_FORMAT_NATIVE, tg_dtype_storage_bits(dtype), ndim, shape, err);
    if (s != TG_OK) return s;
    if (strides == NULL) {
        row_major(dense, shape, ndim, &fits);
        if (!fits)
            return tg_fail(err, TG_ERR_OVERFLOW, "the strides of a dense %v do not fit 63 bits", shape, (int)ndim);
        strides = dense;
    }
    l.offset = offset;
    for (int32_t d = 0; d < ndim; d++) {
        const tg_mode m = {shape[d], shape[d], 1, strides[d], d, TG_TO_MEMORY};
        if ((s = tg_layout_push(&l, m, err)) != TG_OK) return s;
    }
    int64_t low = offset, high = offset, step;
    bool    empty = false;
    for (int32_t d = 0; d < ndim; d++) {
        empty = empty || shape[d] == 0;
        if (shape[d] <= 1) continue;
        if (!tg_mul(&step, shape[d] - 1, strides[d]) || !tg_add(step < 0 ? &low : &high, step < 0 ? low : high, step))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, d, "offsets overflow 63 bits at dimension %d: size %d, stride %d",
                               (int64_t)d, shape[d], strides[d]);
    }
    if (!empty && (!tg_sub(&l.span, high, tg_min(low, 0)) || !tg_add(&l.span, l.span, 1)))
        return tg_fail(err, TG_ERR_OVERFLOW, "offsets from %d to %d span more than 63 bits", low, high);
    if (!empty && l.span < 0) l.span = 0;
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}

tg_status tg_layout_make_empty(tg_layout *l, int64_t span, tg_error *err) {
    l->naxes = l->ndim;
    l->nmodes = 0;
    l->span = span;
    l->offset = 0;
    for (int32_t d = 0; d < l->ndim; d++) {
        l->axis_size[d] = l->shape[d];
        const tg_mode   m = {l->shape[d], l->shape[d], 1, 0, d, TG_TO_MEMORY};
        const tg_status s = tg_layout_push(l, m, err);
        if (s != TG_OK) return s;
    }
    return tg_layout_end(l, err);
}
