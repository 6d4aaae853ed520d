/* The algebra on modes: split, merge, reorder, and the normal form.
 *
 * All but reorder leave the map alone; reorder makes a new one, and is how tiled layouts are built:
 * split what is to be tiled, put the digits in the order of memory, and count again from 0. */
#include "layout/layout.h"

#include <string.h>

static int32_t memory_modes(const tg_layout *l) {
    int32_t n = 0;
    while (n < l->nmodes && tg_is_memory(&l->mode[n])) n++;
    return n;
}

static tg_status check_index(const tg_layout *in, int32_t m, const char *what, tg_error *err) {
    const int32_t n = memory_modes(in);
    if (m >= 0 && m < n) return TG_OK;
    return tg_fail_dim(err, TG_ERR_ARGUMENT, m, "%s: mode %d is not a memory mode; there are %d", what, (int64_t)m,
                       (int64_t)n);
}

static tg_status insert(tg_layout *l, int32_t at, tg_mode mode, tg_error *err) {
    const tg_status s = tg_layout_push(l, mode, err);
    if (s != TG_OK) return s;
    memmove(&l->mode[at + 1], &l->mode[at], (size_t)(l->nmodes - 1 - at) * sizeof l->mode[0]);
    l->mode[at] = mode;
    return TG_OK;
}

static void erase(tg_layout *l, int32_t at) {
    memmove(&l->mode[at], &l->mode[at + 1], (size_t)(l->nmodes - 1 - at) * sizeof l->mode[0]);
    memset(&l->mode[--l->nmodes], 0, sizeof l->mode[0]);
}

tg_status tg_layout_split(tg_layout *out, const tg_layout *in, int32_t m, int64_t tile, tg_error *err) {
    tg_layout l = *in;
    tg_status s = check_index(in, m, "split", err);
    if (s != TG_OK) return s;
    if (tile < 1)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, m, "split: tile %d of mode %d must be positive", tile, (int64_t)m);
    tg_mode *inner = &l.mode[m];
    if (inner->axis == TG_AXIS_COPY && inner->size % tile != 0)
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, m, "split: tile %d does not divide the %d copies of mode %d",
                           tile, inner->size, (int64_t)m);
    tg_mode outer = *inner;
    outer.size = tg_ceil_div(inner->size, tile);
    const bool idle = outer.axis == TG_AXIS_PAD || (outer.axis >= 0 && tile >= inner->count);
    if (tile == 1 && !idle) { /* the inner step is never taken */
        inner->axis = TG_AXIS_PAD;
        inner->weight = 1;
    } else if (idle) { /* the outer step is never taken */
        outer.axis = TG_AXIS_PAD;
        outer.weight = 1;
    } else if (outer.axis >= 0 && !tg_mul(&outer.weight, inner->weight, tile)) {
        return tg_fail_dim(err, TG_ERR_OVERFLOW, m, "split: weight %d times tile %d does not fit 63 bits",
                           inner->weight, tile);
    }
    if (!tg_mul(&outer.stride, inner->stride, tile)) {
        if (outer.size > 1)
            return tg_fail_dim(err, TG_ERR_OVERFLOW, m, "split: stride %d times tile %d does not fit 63 bits",
                               inner->stride, tile);
        outer.stride = 0; /* one position: the stride is never used */
    }
    inner->size = tile;
    if ((s = insert(&l, m, outer, err)) != TG_OK || (s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}

/* Chain neighbours of one axis, the second right behind the first. */
static bool adjacent(const tg_layout *l, int32_t outer, int32_t inner) {
    for (int32_t i = 0; i + 1 < l->nmodes; i++)
        if (l->chain[i] == outer) return l->chain[i + 1] == inner && l->mode[inner].axis == l->mode[outer].axis;
    return false;
}

tg_status tg_layout_merge(tg_layout *out, const tg_layout *in, int32_t m, tg_error *err) {
    tg_status s = check_index(in, m, "merge", err);
    if (s == TG_OK) s = check_index(in, m + 1, "merge", err);
    if (s != TG_OK) return s;
    tg_layout      l = *in;
    const tg_mode *a = &l.mode[m];
    tg_mode       *b = &l.mode[m + 1];
    int64_t        step;
    if (!tg_mul(&step, b->stride, b->size) || (a->stride != step && a->size > 1))
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, m,
                           "merge: stride %d of mode %d is not stride %d times size %d of mode %d", a->stride,
                           (int64_t)m, b->stride, b->size, (int64_t)m + 1);
    /* a padding mode is what split leaves above a digit that one tile holds */
    const bool idle = a->axis == TG_AXIS_PAD && (a->size <= 1 || b->axis != TG_AXIS_COPY);
    const bool nested =
        a->axis >= 0 && adjacent(&l, m, m + 1) && a->weight / b->weight == b->size && a->weight % b->weight == 0;
    const bool copies = a->axis == TG_AXIS_COPY && b->axis == TG_AXIS_COPY;
    if (!idle && !nested && !copies)
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, m,
                           "merge: modes %d and %d are not neighbouring digits of one axis", (int64_t)m,
                           (int64_t)m + 1);
    int64_t size;
    if (!tg_mul(&size, a->size, b->size))
        return tg_fail_dim(err, TG_ERR_OVERFLOW, m, "merge: %d times %d positions do not fit 63 bits", a->size,
                           b->size);
    b->size = size;
    erase(&l, m);
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}

tg_status tg_layout_reorder(tg_layout *out, const tg_layout *in, const int32_t *order, tg_error *err) {
    tg_layout     l = *in;
    bool          taken[TG_MAX_MODES] = {false};
    const int32_t n = memory_modes(in);
    for (int32_t i = 0; i < n; i++) {
        const tg_status s = check_index(in, order[i], "reorder", err);
        if (s != TG_OK) return s;
        if (taken[order[i]])
            return tg_fail_dim(err, TG_ERR_ARGUMENT, order[i], "reorder: mode %d is listed twice", (int64_t)order[i]);
        taken[order[i]] = true;
        l.mode[i] = in->mode[order[i]];
    }
    tg_status s = tg_layout_make_dense(&l, err);
    if (s == TG_OK) s = tg_layout_end(&l, err);
    if (s == TG_OK) *out = l;
    return s;
}

/* ---- normal form ---- */

/* The dimensions folded whole into `axis`, most significant first; 0 if there are other parts. */
static int32_t whole_parts(int32_t *dims, const tg_layout *l, int32_t axis) {
    int32_t n = 0;
    int64_t stride[TG_MAX_NDIM];
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->into != axis || m->count <= 1) continue;
        if (m->axis >= l->ndim || n >= TG_MAX_NDIM) return 0;
        int32_t j = n++;
        for (; j > 0 && stride[j - 1] < m->stride; j--) {
            stride[j] = stride[j - 1];
            dims[j] = dims[j - 1];
        }
        stride[j] = m->stride;
        dims[j] = m->axis;
    }
    return n;
}

static void drop_axis(tg_layout *l, int32_t axis) {
    for (int32_t i = l->nmodes; i-- > 0;)
        if (l->mode[i].axis == axis || l->mode[i].into == axis) erase(l, i);
}

/* Take a fold apart where its digits respect the edges of the dimensions. */
static tg_status unfold(tg_layout *l, int32_t axis, tg_error *err) {
    int32_t       dims[TG_MAX_NDIM];
    int64_t       sizes[TG_MAX_NDIM], low = 1;
    const int32_t n = whole_parts(dims, l, axis);
    tg_digits     f, hi, lo;
    bool          apart = n == 1;
    if (n == 0 || !tg_digits_of_dims(&f, l, dims, n)) return TG_OK;
    tg_digits_coalesce(&f);
    for (int32_t i = n; i-- > 0; low *= sizes[i]) {
        sizes[i] = l->shape[dims[i]];
        apart = apart || (i + 1 < n && tg_digits_cut(&hi, &lo, &f, low));
    }
    if (!apart) return TG_OK;
    drop_axis(l, axis);
    return tg_layout_push_dims(l, dims, sizes, n, &f, err);
}

/* Axes without digits and parts left behind by unfold are renumbered away. */
static void compact_axes(tg_layout *l) {
    int32_t number[TG_MAX_AXES], n = l->ndim;
    for (int32_t a = 0; a < l->naxes; a++) {
        bool used = a < l->ndim;
        for (int32_t i = 0; i < l->nmodes; i++) used = used || l->mode[i].into == a;
        number[a] = a < l->ndim ? a : used ? n++ : -1;
    }
    for (int32_t i = 0; i < l->nmodes; i++) {
        if (l->mode[i].axis >= 0) l->mode[i].axis = number[l->mode[i].axis];
        if (l->mode[i].into >= 0) l->mode[i].into = number[l->mode[i].into];
    }
    l->naxes = n;
}

/* Merge the digits of one axis that all go to memory. */
static tg_status coalesce_axis(tg_layout *l, int32_t axis, tg_error *err) {
    tg_digits f = {.n = 0, .size = l->axis_size[axis]};
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[l->chain[i]];
        if (m->axis != axis) continue;
        if (!tg_is_memory(m)) return TG_OK;
        f.weight[f.n] = m->weight;
        f.stride[f.n++] = m->stride;
    }
    if (f.n == 0) return TG_OK;
    tg_digits_coalesce(&f);
    for (int32_t i = l->nmodes; i-- > 0;)
        if (l->mode[i].axis == axis) erase(l, i);
    return tg_layout_push_digits(l, axis, &f, err);
}

static bool nests_copies(const tg_mode *a, const tg_mode *b) { return a->stride == b->stride * b->size; }

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static bool sorts_before(const tg_mode *a, const tg_mode *b) {
    if (magnitude(a->stride) != magnitude(b->stride)) return magnitude(a->stride) > magnitude(b->stride);
    return a->axis != b->axis ? a->axis < b->axis : a->weight > b->weight;
}

static void sort_by_stride(tg_layout *l) {
    for (int32_t i = 1; i < l->nmodes; i++)
        for (int32_t j = i; j > 0 && sorts_before(&l->mode[j], &l->mode[j - 1]); j--) {
            const tg_mode t = l->mode[j];
            l->mode[j] = l->mode[j - 1];
            l->mode[j - 1] = t;
        }
}

/* Copies in one stride become one mode; padding modes say nothing about the map. */
static void tidy(tg_layout *l) {
    for (int32_t i = l->nmodes; i-- > 0;) {
        tg_mode   *m = &l->mode[i];
        const bool still = m->axis == TG_AXIS_COPY && (m->size <= 1 || m->stride == 0);
        if (m->axis == TG_AXIS_PAD || still) {
            erase(l, i);
        } else {
            m->size = m->count;
        }
    }
    sort_by_stride(l);
    for (int32_t i = l->nmodes - 1; i-- > 0;) {
        tg_mode *a = &l->mode[i], *b = &l->mode[i + 1];
        if (a->axis != TG_AXIS_COPY || b->axis != TG_AXIS_COPY || !nests_copies(a, b)) continue;
        b->size *= a->size; /* fits: positions have offsets */
        erase(l, i);
    }
}

tg_status tg_layout_coalesce(tg_layout *out, const tg_layout *in, tg_error *err) {
    tg_layout l = *in;
    tg_status s;
    if (tg_layout_numel(in) == 0) {
        if ((s = tg_layout_make_empty(&l, in->span, err)) != TG_OK) return s;
        *out = l;
        return TG_OK;
    }
    for (int32_t i = l.nmodes; i-- > 0;) /* digits that are always 0 */
        if (l.mode[i].axis >= 0 && l.mode[i].count <= 1) erase(&l, i);
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    const int32_t folds = l.naxes;
    for (int32_t a = l.ndim; a < folds; a++)
        if ((s = unfold(&l, a, err)) != TG_OK || (s = tg_layout_end(&l, err)) != TG_OK) return s;
    compact_axes(&l);
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    for (int32_t a = 0; a < l.naxes; a++)
        if ((s = coalesce_axis(&l, a, err)) != TG_OK || (s = tg_layout_end(&l, err)) != TG_OK) return s;
    tidy(&l);
    if ((s = tg_layout_end(&l, err)) != TG_OK) return s;
    *out = l;
    return TG_OK;
}
