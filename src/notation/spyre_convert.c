/* From layouts back to Spyre's terms: a stride_map for a map that was said otherwise, and the legacy
 * dim_map for a stride_map. Both are refused with the reason where they do not exist, and both are
 * checked by going back. */
#include "notation/spyre.h"

#include <string.h>

/* ---- dim_map ---- */

/* The host dimension that a step of `map` host elements walks: the one with the largest stride that
 * divides it. */
static int32_t dim_of_step(const tg_host *host, int64_t map) {
    int32_t best = -1;
    for (int32_t d = 0; d < host->ndim; d++) {
        const int64_t h = host->strides[d];
        if (host->shape[d] <= 1 || h <= 0 || h > map || map % h != 0) continue;
        if (best < 0 || h > host->strides[best]) best = d;
    }
    return best;
}

/* For a walking loop the axis decides; for an idle one, any dimension that fits the products does. */
static tg_status dim_of_loop(int64_t *dim, const tg_loops *l, int32_t k, const tg_runs *r, const tg_host *host,
                             tg_error *err) {
    const tg_loop *at = &l->at[k];
    *dim = -1;
    if (at->map == 0)
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k, "device dimension %d replicates; a dim_map cannot say that",
                           (int64_t)k);
    if (at->map < 0) return TG_OK;
    if (at->run < 0) {
        *dim = dim_of_step(host, at->map);
        return TG_OK;
    }
    const tg_run *owner = &r->at[at->run];
    const int64_t weight = at->map / owner->base;
    int32_t i = 0;
    while (i < owner->n && owner->weight[i] > weight) i++;
    bool clean[TG_MAX_NDIM];
    tg_clean_edges(clean, l, owner, at->run);
    if (i >= owner->n || !clean[i] || (i > 0 && !clean[i - 1]))
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k, "device dimension %d walks several host dimensions",
                           (int64_t)k);
    *dim = owner->dims[i];
    return TG_OK;
}

tg_status tg_spyre_dim_map(int64_t *dim_map, const tg_spyre *spyre, const tg_host *host, tg_error *err) {
    tg_layout layout;
    tg_loops l;
    tg_runs r;
    tg_spyre back;
    int64_t map[TG_SPYRE_MAX_RANK];
    tg_spyre plain = *spyre;
    tg_spyre_params params = {.has_device_dtype = true, .device_dtype = spyre->device_dtype};
    plain.arrangement =
        spyre->arrangement == TG_QFP8WT ? TG_QFP8WT : TG_STANDARD; /* a dim_map does not see inside sticks */
    tg_status s = tg_spyre_to_layout(&layout, &l, &r, &plain, host, err);
    if (s != TG_OK) return s;
    for (int32_t k = 0; k < spyre->rank; k++)
        if ((s = dim_of_loop(&map[k], &l, k, &r, host, err)) != TG_OK) return s;
    if ((s = tg_spyre_from_dim_map(&back, host, spyre->rank, spyre->device_size, map, &params, err)) != TG_OK) return s;
    for (int32_t k = 0; k < spyre->rank; k++)
        if (spyre->device_size[k] > 1 && back.stride_map[k] != spyre->stride_map[k])
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k,
                               "device dimension %d steps by %d; the product of the tiles to its right would be %d",
                               (int64_t)k, spyre->stride_map[k], back.stride_map[k]);
    memcpy(dim_map, map, (size_t)spyre->rank * sizeof map[0]);
    return TG_OK;
}

/* ---- from a layout ---- */

static tg_status add_loop(tg_loops *l, int64_t size, int64_t map, int64_t stride, tg_error *err) {
    if (l->n >= TG_SPYRE_MAX_RANK)
        return tg_fail(err, TG_ERR_LIMIT, "the layout needs more than %d device dimensions",
                       (int64_t)TG_SPYRE_MAX_RANK);
    int32_t j = l->n++;
    for (; j > 0 && l->at[j - 1].stride < stride; j--) l->at[j] = l->at[j - 1];
    l->at[j] = (tg_loop){size, map, stride, 0, 0};
    return TG_OK;
}

/* The digits of every run of host dimensions, as loops by decreasing device stride. */
static tg_status collect_loops(tg_loops *l, const tg_layout *in, const tg_host *host, tg_error *err) {
    tg_runs r;
    tg_find_dense_runs(&r, host);
    l->n = 0;
    tg_status s = TG_OK;
    for (int32_t u = 0; u < r.n && s == TG_OK; u++) {
        tg_digits f;
        if (!tg_digits_of_dims(&f, in, r.at[u].dims, r.at[u].n))
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, r.at[u].dims[0],
                               "dimension %d is folded with others in an order that host strides do not have",
                               (int64_t)r.at[u].dims[0]);
        tg_digits_coalesce(&f);
        for (int32_t i = 0; i < f.n && s == TG_OK; i++) {
            const int64_t bound = i == 0 ? f.size : tg_min(f.size, f.weight[i - 1]);
            int64_t map;
            if (f.stride[i] < 1)
                return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                               "a device stride of %d: device memory is dense and row-major", f.stride[i]);
            if (!tg_mul(&map, f.weight[i], r.at[u].base))
                return tg_fail(err, TG_ERR_OVERFLOW, "a host stride does not fit 63 bits");
            s = add_loop(l, tg_ceil_div(bound, f.weight[i]), map, f.stride[i], err);
        }
    }
    for (int32_t i = 0; i < in->nmodes && s == TG_OK; i++)
        if (in->mode[i].axis == TG_AXIS_COPY) s = add_loop(l, in->mode[i].size, 0, in->mode[i].stride, err);
    return s;
}

static tg_status widen_loops(tg_loops *l, int64_t span, tg_error *err) {
    for (int32_t k = 0; k < l->n; k++) {
        tg_loop *at = &l->at[k];
        const int64_t above = k > 0 ? l->at[k - 1].stride : span % at->stride == 0 ? span : 0;
        if (k > 0 && above % at->stride != 0)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                           "device stride %d is not a multiple of the next one, %d: memory would not be dense", above,
                           at->stride);
        if (k > 0 && above / at->stride < at->size)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                           "%d steps of %d have no place before the next step of %d: elements would share places, and "
                           "device memory has one for each", at->size, at->stride, above);
        if (above > 0) at->size = tg_max(at->size, above / at->stride);
    }
    return TG_OK;
}

/* End the loops with one that is exactly a stick; `values` is how many values the last digit takes. */
static tg_status end_with_stick(tg_loops *l, int64_t values, int64_t eps, tg_error *err) {
    tg_loop *last = l->n > 0 ? &l->at[l->n - 1] : NULL;
    if (last == NULL || last->stride > 1) { /* one element per stick, or per several */
        const int64_t room = last != NULL ? last->stride : eps;
        if (room % eps != 0)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "the last stride is %d elements; a stick has %d", room, eps);
        if (room > eps) {
            const tg_status s = add_loop(l, room / eps, -1, eps, err);
            if (s != TG_OK) return s;
        }
        return add_loop(l, eps, -1, 1, err);
    }
    if (last->size == eps) return TG_OK;
    if (l->n > 1 && last->size % eps != 0)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE,
                       "the innermost digit has %d positions, which is not a whole number of sticks of %d", last->size,
                       eps);
    const int64_t sticks = tg_ceil_div(last->size, eps);
    int64_t map;
    if (!tg_mul(&map, tg_max(last->map, 0), eps))
        return tg_fail(err, TG_ERR_OVERFLOW, "a host stride does not fit 63 bits");
    last->size = eps;
    if (values <= eps) map = -1; /* one stick holds them; the others are padding */
    return sticks > 1 ? add_loop(l, sticks, map, eps, err) : TG_OK;
}

tg_status tg_spyre_from_layout(tg_spyre *out, const tg_layout *in, const tg_host *host, tg_error *err) {
    tg_host dense;
    tg_layout normal, back;
    tg_loops l;
    tg_spyre spyre;
    bool equal = false;
    memset(&spyre, 0, sizeof spyre);
    tg_status s = host == NULL ? tg_host_contiguous(&dense, in->dtype, in->ndim, in->shape, err) : TG_OK;
    if (s != TG_OK) return s;
    if (host == NULL) host = &dense;
    spyre.device_dtype = in->format != TG_FORMAT_NATIVE ? in->format : tg_format_for_dtype(in->dtype);
    if (tg_format_bits(spyre.device_dtype) != in->elem_bits)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "Spyre has no device format for %s in %d bits",
                       tg_dtype_name(in->dtype), (int64_t)in->elem_bits);
    if (in->offset != 0)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "a Spyre layout starts at offset 0, not %d", in->offset);
    const int64_t eps = tg_spyre_stick(spyre.device_dtype);
    if (tg_layout_numel(in) == 0) {
        s = tg_spyre_default(&spyre, host, NULL, err);
    } else {
        if ((s = tg_layout_coalesce(&normal, in, err)) != TG_OK || (s = collect_loops(&l, &normal, host, err)) != TG_OK)
            return s;
        const int64_t values = l.n > 0 ? l.at[l.n - 1].size : 1;
        if ((s = widen_loops(&l, in->span, err)) != TG_OK || (s = end_with_stick(&l, values, eps, err)) != TG_OK)
            return s;
        if (l.n == 1) { /* a stick alone: its number of sticks is 1 */
            int64_t map;
            if (!tg_mul(&map, l.at[0].map, l.at[0].map > 0 ? eps : 1)) map = -1;
            if ((s = add_loop(&l, 1, map, eps, err)) != TG_OK) return s;
        }
        spyre.rank = l.n;
        for (int32_t k = 0; k < l.n; k++) {
            spyre.device_size[k] = l.at[k].size;
            spyre.stride_map[k] = l.at[k].map;
        }
    }
    if (s != TG_OK) return s;
    if (tg_layout_from_spyre(&back, &spyre, host, NULL) != TG_OK)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "no stride_map over this host walks these digits");
    if ((s = tg_layout_equal(&equal, NULL, &back, in, false, err)) != TG_OK) return s;
    if (!equal) return tg_fail(err, TG_ERR_UNREPRESENTABLE, "no stride_map over this host walks these digits");
    *out = spyre;
    return TG_OK;
}
