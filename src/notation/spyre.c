/* Spyre's device layouts: names, the text that torch-spyre prints, and the constructors.
 *
 * The default layout of an order o has the device dimensions o[1], ..., o[last], o[0], o[last]: tiled
 * along the first dimension of the order, the last one cut into sticks. Source: docs/sources.md, torch-spyre. */
#include "notation/spyre.h"

#include <string.h>

/* ---- names ---- */

static const char *const arrangement_names[] = {"STANDARD", "DL16_TO_FP32", "QFP8CH", "EXX2", "FP32_TO_DL16", "QFP8WT"};

enum { ARRANGEMENTS = (int)(sizeof arrangement_names / sizeof arrangement_names[0]) };

const char *tg_arrangement_name(tg_arrangement a) {
    return (int)a >= 0 && (int)a < ARRANGEMENTS ? arrangement_names[a] : NULL;
}

bool tg_arrangement_from_name(tg_arrangement *out, const char *text, size_t len) {
    for (int i = 0; i < ARRANGEMENTS; i++) {
        if (!tg_text_equal(text, len, arrangement_names[i])) continue;
        *out = (tg_arrangement)i;
        return true;
    }
    return false;
}

size_t tg_spyre_str(char *buf, size_t cap, const tg_spyre *spyre) {
    tg_writer   w = tg_writer_make(buf, cap);
    const char *format = tg_format_name(spyre->device_dtype), *arrangement = tg_arrangement_name(spyre->arrangement);
    tg_put_text(&w, "SpyreTensorLayout(device_size=[");
    tg_put_ints(&w, spyre->device_size, spyre->rank, ", ");
    tg_put_text(&w, "], stride_map =["); /* the blank is torch-spyre's */
    tg_put_ints(&w, spyre->stride_map, spyre->rank, ", ");
    tg_put_text(&w, "], device_dtype=DataFormats.");
    tg_put_text(&w, format != NULL ? format : "INVALID");
    if (spyre->arrangement != TG_STANDARD) {
        tg_put_text(&w, ", element_arrangement=ElementArrangement.");
        tg_put_text(&w, arrangement != NULL ? arrangement : "STANDARD");
    }
    tg_put_char(&w, ')');
    return tg_writer_end(&w);
}

/* ---- constructors ---- */

tg_status tg_host_contiguous(tg_host *out, tg_dtype dtype, int32_t ndim, const int64_t *shape, tg_error *err) {
    tg_layout       l;
    tg_host         host;
    const tg_status s = tg_layout_strided(&l, dtype, ndim, shape, NULL, 0, err);
    if (s != TG_OK) return s;
    memset(&host, 0, sizeof host);
    host.dtype = dtype;
    host.ndim = ndim;
    for (int32_t d = 0; d < ndim; d++) {
        host.shape[d] = shape[d];
        host.strides[d] = l.mode[d].stride;
    }
    *out = host;
    return TG_OK;
}

static tg_status pick_format(tg_spyre *out, const tg_host *host, const tg_spyre_params *params, tg_error *err) {
    out->device_dtype =
        params != NULL && params->has_device_dtype ? params->device_dtype : tg_format_for_dtype(host->dtype);
    out->arrangement = params != NULL ? params->arrangement : TG_STANDARD;
    const char *name = tg_dtype_name(host->dtype);
    if (out->device_dtype == TG_FORMAT_INVALID)
        return tg_fail(err, TG_ERR_ARGUMENT, "Spyre backend does not support dtype %s: it has no device format",
                       name != NULL ? name : "?");
    if (tg_format_bits(out->device_dtype) == 0) {
        name = tg_format_name(out->device_dtype);
        return tg_fail(err, TG_ERR_ARGUMENT, "device format %s has no stick geometry", name != NULL ? name : "?");
    }
    return TG_OK;
}

int64_t tg_spyre_stick(tg_format format) { return 8 * TG_SPYRE_STICK_BYTES / tg_format_bits(format); }

/* The order without size-1 dimensions unless they are kept; -1 may end it. */
static tg_status read_order(int32_t *order, int32_t *n, const tg_host *host, const tg_spyre_params *params,
                            tg_error *err) {
    const bool    given = params != NULL && params->dim_order != NULL;
    const int32_t m = given ? params->norder : host->ndim;
    bool          taken[TG_MAX_NDIM] = {false};
    const bool    sparse = given && m == host->ndim + 1 && params->dim_order[m - 1] == -1;
    if (given && m != host->ndim && !sparse)
        return tg_fail(
            err, TG_ERR_ARGUMENT,
            "Incompatible host_size and dim_order: %d dimensions and %d entries (one more only if the last is -1)",
            (int64_t)host->ndim, (int64_t)m);
    *n = 0;
    for (int32_t i = 0; i < m; i++) {
        const int32_t d = given ? params->dim_order[i] : i;
        if (sparse && i == m - 1) {
            order[(*n)++] = -1;
            continue;
        }
        if (d < 0 || d >= host->ndim)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "dim_order entry %d is %d, which is not in [0, %d)", (int64_t)i,
                               (int64_t)d, (int64_t)host->ndim);
        if (taken[d]) return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "dim_order lists dimension %d twice", (int64_t)d);
        taken[d] = true;
        if (host->shape[d] != 1 || (params != NULL && params->keep_unit_dims)) order[(*n)++] = d;
    }
    return TG_OK;
}

/* Which host dimension each device dimension walks, the innermost two apart; see the rule in
 * docs/notation.md: all of the order but its first, then its first, then its last again. */
static void place_dims(int32_t *dims, int32_t *rank, const int32_t *order, int32_t n) {
    *rank = 0;
    for (int32_t i = 1; i < n; i++) dims[(*rank)++] = order[i];
    dims[(*rank)++] = n > 0 ? order[0] : -1;
    dims[(*rank)++] = n > 0 ? order[n - 1] : -1;
}

/* Host strides of device dimensions: the first visit of a host dimension, from the innermost, has
 * its stride; each later one the previous times the extent that it covered. */
static tg_status fill_stride_map(tg_spyre *out, const int32_t *dims, const tg_host *host, tg_error *err) {
    int64_t next[TG_MAX_NDIM];
    bool    fits[TG_MAX_NDIM];
    for (int32_t d = 0; d < host->ndim; d++) {
        next[d] = host->strides[d];
        fits[d] = true;
    }
    for (int32_t k = out->rank; k-- > 0;) {
        const int32_t d = dims[k];
        out->stride_map[k] = -1;
        if (d < 0 || host->shape[d] == 1) continue;
        if (!fits[d])
            return tg_fail_dim(err, TG_ERR_OVERFLOW, k, "the host stride of device dimension %d does not fit 63 bits",
                               (int64_t)k);
        out->stride_map[k] = next[d];
        fits[d] = tg_mul(&next[d], next[d], out->device_size[k]);
    }
    return TG_OK;
}

tg_status tg_spyre_check_host(const tg_host *host, tg_error *err) {
    tg_layout       l;
    const tg_status s = tg_layout_strided(&l, host->dtype, host->ndim, host->shape, host->strides, host->offset, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < host->ndim; d++)
        if (host->strides[d] < 0 && host->shape[d] > 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d,
                               "host dimension %d has stride %d; a Spyre layout needs host strides of at least 0",
                               (int64_t)d, host->strides[d]);
    return TG_OK;
}

tg_status tg_spyre_default(tg_spyre *out, const tg_host *host, const tg_spyre_params *params, tg_error *err) {
    int32_t   order[TG_MAX_NDIM + 1], dims[TG_MAX_NDIM + 2], n = 0;
    tg_spyre  spyre;
    memset(&spyre, 0, sizeof spyre);
    tg_status s = tg_spyre_check_host(host, err);
    if (s == TG_OK) s = pick_format(&spyre, host, params, err);
    if (s == TG_OK) s = read_order(order, &n, host, params, err);
    if (s != TG_OK) return s;
    place_dims(dims, &spyre.rank, order, n);
    const int64_t eps = tg_spyre_stick(spyre.device_dtype);
    const int32_t stick = dims[spyre.rank - 1];
    for (int32_t k = 0; k < spyre.rank; k++) {
        const int64_t size = dims[k] < 0 ? 1 : host->shape[dims[k]];
        spyre.device_size[k] = k == spyre.rank - 1 ? eps : dims[k] == stick ? tg_ceil_div(size, eps) : size;
    }
    if ((s = fill_stride_map(&spyre, dims, host, err)) != TG_OK) return s;
    *out = spyre;
    return TG_OK;
}

tg_status tg_spyre_check_rank(int32_t rank, tg_error *err) {
    if (rank < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "device_size has no entries; a device layout has at least its stick");
    if (rank > TG_SPYRE_MAX_RANK)
        return tg_fail(err, TG_ERR_LIMIT, "%d device dimensions are over the limit of %d", (int64_t)rank,
                       (int64_t)TG_SPYRE_MAX_RANK);
    return TG_OK;
}

/* A device dimension that only counts past the end of its host dimension holds padding. Its stride would
 * be one of other host dimensions too; -1 says what is meant. */
static void drop_past_the_end(tg_spyre *out, const int32_t *dims, const tg_host *host) {
    for (int32_t k = 0; k < out->rank; k++) {
        const int32_t d = dims[k];
        if (d < 0 || out->device_size[k] <= 1 || host->strides[d] < 1 || out->stride_map[k] < 0) continue;
        if (out->stride_map[k] / host->strides[d] >= host->shape[d]) out->stride_map[k] = -1;
    }
}

tg_status tg_spyre_from_dim_map(tg_spyre *out, const tg_host *host, int32_t rank, const int64_t *device_size,
                                const int64_t *dim_map, const tg_spyre_params *params, tg_error *err) {
    int32_t  dims[TG_SPYRE_MAX_RANK];
    tg_spyre spyre;
    memset(&spyre, 0, sizeof spyre);
    tg_status s = tg_spyre_check_host(host, err);
    if (s == TG_OK) s = pick_format(&spyre, host, params, err);
    if (s == TG_OK) s = tg_spyre_check_rank(rank, err);
    if (s != TG_OK) return s;
    spyre.rank = rank;
    for (int32_t k = 0; k < rank; k++) {
        if (dim_map[k] < -1 || dim_map[k] >= host->ndim)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "dim_map entry %d is %d, which is not in [-1, %d)", (int64_t)k,
                               dim_map[k], (int64_t)host->ndim);
        if (device_size[k] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "device dimension %d has negative size %d", (int64_t)k,
                               device_size[k]);
        spyre.device_size[k] = device_size[k];
        dims[k] = (int32_t)dim_map[k];
    }
    if ((s = fill_stride_map(&spyre, dims, host, err)) != TG_OK) return s;
    drop_past_the_end(&spyre, dims, host);
    *out = spyre;
    return TG_OK;
}

