/* Orders of dimensions: permutations, minor_to_major, and questions that it answers alone. */
#include "hlo/shape.h"

#include <string.h>

/* ---- permutations --------------------------------------------------------------------- */

tg_status tg_xla_permute(int64_t *out, const int64_t *in, const int32_t *perm, int32_t n, tg_error *err) {
    int64_t         result[TG_MAX_NDIM];
    const tg_status s = tg_shape_need_permutation(perm, n, "permute", err);
    if (s != TG_OK) return s;
    for (int32_t i = 0; i < n; i++) result[i] = in[perm[i]];
    memcpy(out, result, (size_t)n * sizeof result[0]);
    return TG_OK;
}

tg_status tg_xla_compose(int32_t *out, const int32_t *p, const int32_t *q, int32_t n, tg_error *err) {
    int32_t   result[TG_MAX_NDIM];
    tg_status s = tg_shape_need_permutation(p, n, "compose", err);
    if (s == TG_OK) s = tg_shape_need_permutation(q, n, "compose", err);
    if (s != TG_OK) return s;
    for (int32_t i = 0; i < n; i++) result[i] = p[q[i]];
    memcpy(out, result, (size_t)n * sizeof result[0]);
    return TG_OK;
}

tg_status tg_xla_inverse(int32_t *out, const int32_t *p, int32_t n, tg_error *err) {
    int32_t         result[TG_MAX_NDIM];
    const tg_status s = tg_shape_need_permutation(p, n, "inverse", err);
    if (s != TG_OK) return s;
    for (int32_t i = 0; i < n; i++) result[p[i]] = i;
    memcpy(out, result, (size_t)n * sizeof result[0]);
    return TG_OK;
}

/* ---- minor_to_major --------------------------------------------------------------------- */

tg_status tg_xla_major_to_minor(int32_t *out, const tg_xla_layout *layout, tg_error *err) {
    const tg_status s = tg_shape_need_order(layout, err);
    for (int32_t p = 0; p < layout->ndim && s == TG_OK; p++) out[p] = layout->minor_to_major[layout->ndim - 1 - p];
    return s;
}

tg_status tg_xla_logical_to_physical(int32_t *out, const tg_xla_layout *layout, tg_error *err) {
    const tg_status s = tg_xla_major_to_minor(out, layout, err);
    return s != TG_OK ? s : tg_xla_inverse(out, out, layout->ndim, err);
}

static bool counts_by(const tg_xla_layout *layout, int32_t first, int32_t step) {
    if (layout->ndim < 0 || layout->ndim > TG_MAX_NDIM) return false;
    for (int32_t i = 0; i < layout->ndim; i++)
        if (layout->minor_to_major[i] != first + i * step) return false;
    return true;
}

bool tg_xla_is_descending(const tg_xla_layout *layout) { return counts_by(layout, layout->ndim - 1, -1); }

bool tg_xla_is_ascending(const tg_xla_layout *layout) { return counts_by(layout, 0, 1); }

static int32_t place_of(const tg_xla_layout *layout, int32_t dim) {
    int32_t i = 0;
    while (layout->minor_to_major[i] != dim) i++;
    return i;
}

tg_status tg_xla_dims_are_consecutive(bool *out, const tg_xla_layout *layout, const int32_t *dims, int32_t n,
                                      tg_error *err) {
    uint32_t  places = 0;
    tg_status s = tg_shape_need_order(layout, err);
    for (int32_t i = 0; i < n && s == TG_OK; i++) {
        if ((s = tg_shape_need_dim(dims[i], layout->ndim, "consecutive dimensions", err)) != TG_OK) return s;
        const uint32_t place = (uint32_t)1 << place_of(layout, dims[i]);
        if ((places & place) != 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, dims[i], "consecutive dimensions: dimension %d is listed twice",
                               (int64_t)dims[i]);
        places |= place;
    }
    if (s != TG_OK) return s;
    while (places != 0 && (places & 1) == 0) places >>= 1;
    *out = (places & (places + 1)) == 0; /* a run of ones */
    return TG_OK;
}

/* ---- moving a dimension ------------------------------------------------------------------ */

/* Physical number p stands where it stood before dimension p0 went to p1. */
static int64_t moved_place(int64_t p, int64_t p0, int64_t p1) {
    if (p == p0) return p1;
    if (p0 < p1) return p > p0 && p <= p1 ? p - 1 : p;
    return p >= p1 && p < p0 ? p + 1 : p;
}

/* Dimension dim goes to place `to` of minor_to_major. */
static tg_status move_dim(tg_xla_layout *out, const tg_xla_layout *in, int32_t dim, bool to_major, tg_error *err) {
    tg_status s = tg_shape_need_order(in, err);
    if (s == TG_OK) s = tg_shape_need_dim(dim, in->ndim, to_major ? "move to major" : "move to minor", err);
    if (s != TG_OK) return s;
    tg_xla_layout l = *in;
    const int32_t last = in->ndim - 1, from = place_of(in, dim), to = to_major ? last : 0;
    for (int32_t i = 0; i < in->ndim; i++) l.minor_to_major[moved_place(i, from, to)] = in->minor_to_major[i];
    for (int32_t i = 0; i < in->nsplits; i++) l.split_dim[i] = moved_place(in->split_dim[i], last - from, last - to);
    *out = l;
    return TG_OK;
}

tg_status tg_xla_move_dim_to_major(tg_xla_layout *out, const tg_xla_layout *in, int32_t dim, tg_error *err) {
    return move_dim(out, in, dim, true, err);
}

tg_status tg_xla_move_dim_to_minor(tg_xla_layout *out, const tg_xla_layout *in, int32_t dim, tg_error *err) {
    return move_dim(out, in, dim, false, err);
}

/* ---- arrays ------------------------------------------------------------------------------- */

int32_t tg_xla_true_ndim(const tg_xla_shape *array) {
    int32_t n = 0;
    if (array->kind != TG_XLA_ARRAY) return 0;
    for (int32_t d = 0; d < array->ndim && d < TG_MAX_NDIM; d++) n += array->dims[d] != 1;
    return n;
}

tg_status tg_xla_last_dim_is_minor_most(bool *out, const tg_xla_shape *array, tg_error *err) {
    const tg_status s = tg_shape_need_array(array, err);
    if (s == TG_OK) *out = array->ndim == 0 || array->layout.minor_to_major[0] == array->ndim - 1;
    return s;
}

tg_status tg_xla_is_effectively_most_major(bool *out, const tg_xla_shape *array, int32_t dim, tg_error *err) {
    tg_status s = tg_shape_need_array(array, err);
    if (s == TG_OK) s = tg_shape_need_dim(dim, array->ndim, "most major dimension", err);
    if (s != TG_OK) return s;
    int32_t i = array->ndim - 1;
    while (array->layout.minor_to_major[i] != dim && array->dims[array->layout.minor_to_major[i]] == 1) i--;
    *out = array->layout.minor_to_major[i] == dim;
    return TG_OK;
}
