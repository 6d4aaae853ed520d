/* Spyre's device_size + stride_map over a strided host tensor <-> the layout value.
 *
 * A SpyreTensorLayout says, for each device dimension, how many HOST elements one step advances, and
 * nothing more: host_offset = dot(device_coordinates, stride_map). Which host dimension a device
 * dimension walks is found from strides and extents alone:
 *
 *   1. The host offset is one number, made of the host coordinates: offset = 15000 c0 + 150 c1 + c2
 *      for a dense [5,100,150]. Rows may have gaps ([15000,200,1]) as long as the strides nest.
 *   2. A device dimension is the digit of that number whose weight is its stride. By decreasing
 *      stride the digits are cut greedily, which is the identity read backwards:
 *          device_size [100, 3, 5, 64]   stride_map [150, 64, 15000, 1]
 *          15000: 5 values, 150: 100 values, 64: ceil(150/64) = 3 values, 1: 64 values
 *   3. Each digit must have the positions it needs; what an extent has beyond is padding.
 *   4. Where the digits respect the edges of the host dimensions (here 15000 and 150 do), the number
 *      is taken apart again; elsewhere the dimensions stay folded ([40,60] on [38,64] / [64,1]).
 *
 * Host strides that do not nest (overlapping windows) are several numbers, one for each group of
 * dimensions that lie densely in each other, and a search finds which device dimension walks which.
 *
 * So padding is decided by coordinates, never by the host offset alone: position (0,2,0,63) would be
 * host offset 191, an element of the next row; its digit at 64 leaves 63, and 128 + 63 >= 150. */
#include "notation/notation.h"

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
    out->device_dtype = params != NULL && params->has_device_dtype ? params->device_dtype : tg_format_for_dtype(host->dtype);
    out->arrangement = params != NULL ? params->arrangement : TG_STANDARD;
    const char *name = tg_dtype_name(host->dtype);
    if (out->device_dtype == TG_FORMAT_INVALID)
        return tg_fail(err, TG_ERR_ARGUMENT, "Spyre backend does not support dtype %s: it has no device format", name != NULL ? name : "?");
    if (tg_format_bits(out->device_dtype) == 0) {
        name = tg_format_name(out->device_dtype);
        return tg_fail(err, TG_ERR_ARGUMENT, "device format %s has no stick geometry", name != NULL ? name : "?");
    }
    return TG_OK;
}

static int64_t stick_elements(tg_format format) { return 8 * TG_SPYRE_STICK_BYTES / tg_format_bits(format); }

/* The order without size-1 dimensions unless they are kept; -1 may end it. */
static tg_status read_order(int32_t *order, int32_t *n, const tg_host *host, const tg_spyre_params *params, tg_error *err) {
    const bool    given = params != NULL && params->dim_order != NULL;
    const int32_t m = given ? params->norder : host->ndim;
    bool          taken[TG_MAX_NDIM] = {false};
    const bool    sparse = given && m == host->ndim + 1 && params->dim_order[m - 1] == -1;
    if (given && m != host->ndim && !sparse)
        return tg_fail(err, TG_ERR_ARGUMENT,
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
            return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "dim_order entry %d is %d, which is not in [0, %d)", (int64_t)i, (int64_t)d,
                               (int64_t)host->ndim);
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
            return tg_fail_dim(err, TG_ERR_OVERFLOW, k, "the host stride of device dimension %d does not fit 63 bits", (int64_t)k);
        out->stride_map[k] = next[d];
        fits[d] = tg_mul(&next[d], next[d], out->device_size[k]);
    }
    return TG_OK;
}

static tg_status check_host(const tg_host *host, tg_error *err) {
    tg_layout       l;
    const tg_status s = tg_layout_strided(&l, host->dtype, host->ndim, host->shape, host->strides, host->offset, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < host->ndim; d++)
        if (host->strides[d] < 0 && host->shape[d] > 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "host dimension %d has stride %d; a Spyre layout needs host strides of at least 0",
                               (int64_t)d, host->strides[d]);
    return TG_OK;
}

tg_status tg_spyre_default(tg_spyre *out, const tg_host *host, const tg_spyre_params *params, tg_error *err) {
    int32_t   order[TG_MAX_NDIM + 1], dims[TG_MAX_NDIM + 2], n = 0;
    tg_spyre  spyre;
    memset(&spyre, 0, sizeof spyre);
    tg_status s = check_host(host, err);
    if (s == TG_OK) s = pick_format(&spyre, host, params, err);
    if (s == TG_OK) s = read_order(order, &n, host, params, err);
    if (s != TG_OK) return s;
    place_dims(dims, &spyre.rank, order, n);
    const int64_t eps = stick_elements(spyre.device_dtype);
    const int32_t stick = dims[spyre.rank - 1];
    for (int32_t k = 0; k < spyre.rank; k++) {
        const int64_t size = dims[k] < 0 ? 1 : host->shape[dims[k]];
        spyre.device_size[k] = k == spyre.rank - 1 ? eps : dims[k] == stick ? tg_ceil_div(size, eps) : size;
    }
    if ((s = fill_stride_map(&spyre, dims, host, err)) != TG_OK) return s;
    *out = spyre;
    return TG_OK;
}

static tg_status check_rank(int32_t rank, const char *what, tg_error *err) {
    if (rank < 1) return tg_fail(err, TG_ERR_ARGUMENT, "%s has no entries; a device layout has at least its stick", what);
    if (rank > TG_SPYRE_MAX_RANK)
        return tg_fail(err, TG_ERR_LIMIT, "%d device dimensions are over the limit of %d", (int64_t)rank, (int64_t)TG_SPYRE_MAX_RANK);
    return TG_OK;
}

tg_status tg_spyre_from_dim_map(tg_spyre *out, const tg_host *host, int32_t rank, const int64_t *device_size,
                                const int64_t *dim_map, const tg_spyre_params *params, tg_error *err) {
    int32_t  dims[TG_SPYRE_MAX_RANK];
    tg_spyre spyre;
    memset(&spyre, 0, sizeof spyre);
    tg_status s = check_host(host, err);
    if (s == TG_OK) s = pick_format(&spyre, host, params, err);
    if (s == TG_OK) s = check_rank(rank, "device_size", err);
    if (s != TG_OK) return s;
    spyre.rank = rank;
    for (int32_t k = 0; k < rank; k++) {
        if (dim_map[k] < -1 || dim_map[k] >= host->ndim)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "dim_map entry %d is %d, which is not in [-1, %d)", (int64_t)k, dim_map[k],
                               (int64_t)host->ndim);
        if (device_size[k] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "device dimension %d has negative size %d", (int64_t)k, device_size[k]);
        spyre.device_size[k] = device_size[k];
        dims[k] = (int32_t)dim_map[k];
    }
    if ((s = fill_stride_map(&spyre, dims, host, err)) != TG_OK) return s;
    *out = spyre;
    return TG_OK;
}

/* ---- to a layout ---- */

/* Host dimensions that make one number, most significant first: number = sum of coordinate * weight,
 * and the host offset is base times the number. Weights nest: each is above what those behind reach. */
typedef struct run {
    int32_t n;
    int32_t dims[TG_MAX_NDIM];
    int64_t weight[TG_MAX_NDIM];
    int64_t behind[TG_MAX_NDIM]; /* the largest number that the dimensions behind this one make */
    int64_t base;
    int64_t size; /* the number is below */
} run;

typedef struct runs {
    int32_t n;
    run     at[TG_MAX_NDIM];
} runs;

/* Host dimensions by decreasing stride; those of size 1 or stride 0 walk nothing. */
static int32_t walked_dims(int32_t *order, const tg_host *host) {
    int32_t n = 0;
    for (int32_t d = 0; d < host->ndim; d++) {
        if (host->shape[d] == 1 || host->strides[d] == 0) continue;
        int32_t j = n++;
        for (; j > 0 && host->strides[order[j - 1]] < host->strides[d]; j--) order[j] = order[j - 1];
        order[j] = d;
    }
    return n;
}

/* Weights and reaches of a run whose dims are set, for the given base. */
static void complete_run(run *r, const tg_host *host, int64_t base) {
    int64_t reach = 0; /* fits: the host was checked */
    r->base = base;
    for (int32_t i = r->n; i-- > 0;) {
        const int32_t d = r->dims[i];
        r->weight[i] = host->strides[d] / base;
        r->behind[i] = reach;
        reach += (host->shape[d] - 1) * r->weight[i];
    }
    r->size = reach + 1;
}

/* Runs of dimensions that lie densely in each other: stride = stride * size of the next. */
static void find_dense_runs(runs *out, const tg_host *host) {
    int32_t       order[TG_MAX_NDIM];
    const int32_t n = walked_dims(order, host);
    out->n = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t d = order[i];
        int64_t       step;
        const bool    dense = i > 0 && tg_mul(&step, host->strides[d], host->shape[d]) && host->strides[order[i - 1]] == step;
        if (!dense) out->at[out->n++] = (run){.n = 0};
        run *last = &out->at[out->n - 1];
        last->dims[last->n++] = d;
    }
    for (int32_t u = 0; u < out->n; u++) {
        run *r = &out->at[u];
        complete_run(r, host, host->strides[r->dims[r->n - 1]]);
    }
}

/* One run of all dimensions if their strides nest, else the dense ones. */
static void find_runs(runs *out, const tg_host *host) {
    run     all = {.n = 0};
    int64_t base = 0;
    all.n = walked_dims(all.dims, host);
    for (int32_t i = 0; i < all.n; i++) base = tg_gcd(base, host->strides[all.dims[i]]);
    if (all.n > 0) complete_run(&all, host, base);
    bool nests = true;
    for (int32_t i = 0; i < all.n; i++) nests = nests && all.weight[i] > all.behind[i];
    if (!nests) {
        find_dense_runs(out, host);
        return;
    }
    out->n = all.n > 0;
    out->at[0] = all;
}

/* One loop over device memory. */
typedef struct loop {
    int64_t size;
    int64_t map;    /* host elements per step; -1 none, 0 replicate */
    int64_t stride; /* device elements per step */
    int32_t dim;    /* device dimension it came from */
    int32_t run;    /* the run it walks, or -1: idle */
} loop;

enum { MAX_LOOPS = TG_SPYRE_MAX_RANK + 2, MAX_SEARCH = 10000 };

typedef struct loops {
    int32_t n;
    loop    at[MAX_LOOPS];
} loops;

/* Replace loop k by n loops, outermost first. */
static void replace_loop(loops *l, int32_t k, const loop *with, int32_t n) {
    memmove(&l->at[k + n], &l->at[k + 1], (size_t)(l->n - k - 1) * sizeof l->at[0]);
    memcpy(&l->at[k], with, (size_t)n * sizeof with[0]);
    l->n += n - 1;
}

/* Element arrangements permute elements inside sticks: they are loops in another order.
 *   DL16_TO_FP32: column 64 pair + 8 g + 4 sp + e is element 4 g + e of stick 2 pair + sp
 *   FP32_TO_DL16: column 64 stick + 32 half + 4 g + e is element 8 g + 4 half + e
 * The others leave elements where the extents put them. Source: spec/spyre.md 2.6. */
static tg_status arrange(loops *l, const tg_spyre *spyre, tg_error *err) {
    const int32_t last = l->n - 1;
    const loop    in = l->at[last];
    if (in.map <= 0) return TG_OK; /* one element per stick: nothing to permute */
    if (spyre->arrangement == TG_FP32_TO_DL16) {
        if (in.size != 64)
            return tg_fail(err, TG_ERR_ARGUMENT, "FP32_TO_DL16 arranges sticks of 64 elements, not %d", in.size);
        const loop with[3] = {{8, 4 * in.map, 8, in.dim, -1}, {2, 32 * in.map, 4, in.dim, -1}, {4, in.map, 1, in.dim, -1}};
        replace_loop(l, last, with, 3);
    }
    if (spyre->arrangement != TG_DL16_TO_FP32) return TG_OK;
    if (in.size != 32) return tg_fail(err, TG_ERR_ARGUMENT, "DL16_TO_FP32 arranges sticks of 32 elements, not %d", in.size);
    for (int32_t k = 0; k < last; k++) {
        const loop sticks = l->at[k];
        if (sticks.map != 32 * in.map) continue;
        if (sticks.size % 2 != 0) break;
        const loop inside[2] = {{8, 8 * in.map, 4, in.dim, -1}, {4, in.map, 1, in.dim, -1}};
        const loop outside[2] = {{sticks.size / 2, 64 * in.map, 2 * sticks.stride, k, -1}, {2, 4 * in.map, sticks.stride, k, -1}};
        replace_loop(l, last, inside, 2);
        replace_loop(l, k, outside, 2);
        return TG_OK;
    }
    return tg_fail(err, TG_ERR_ARGUMENT, "DL16_TO_FP32 needs an even number of sticks along the stick dimension");
}

static tg_status check_spyre(const tg_spyre *spyre, tg_error *err) {
    tg_status s = check_rank(spyre->rank, "device_size", err);
    if (s != TG_OK) return s;
    for (int32_t k = 0; k < spyre->rank; k++) {
        if (spyre->device_size[k] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "device dimension %d has negative size %d", (int64_t)k, spyre->device_size[k]);
        if (spyre->stride_map[k] < -1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "stride_map entry %d is %d; entries are at least -1", (int64_t)k, spyre->stride_map[k]);
    }
    if (tg_arrangement_name(spyre->arrangement) == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "element arrangement %d is not known", (int64_t)spyre->arrangement);
    const char *name = tg_format_name(spyre->device_dtype);
    if (tg_format_bits(spyre->device_dtype) == 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "device format %s has no stick geometry", name != NULL ? name : "?");
    const int32_t last = spyre->rank - 1;
    int64_t       stick = spyre->device_size[last];
    const bool    two = spyre->arrangement == TG_QFP8WT && last > 0 && stick != stick_elements(spyre->device_dtype);
    if (two && !tg_mul(&stick, stick, spyre->device_size[last - 1])) stick = -1;
    if (stick != stick_elements(spyre->device_dtype))
        return tg_fail_dim(err, TG_ERR_ARGUMENT, last, "the last device dimension is the stick: it has %d elements of %s, not %d",
                           stick_elements(spyre->device_dtype), name, spyre->device_size[last]);
    return TG_OK;
}

static tg_status make_loops(loops *out, int64_t *span, const tg_spyre *spyre, tg_error *err) {
    bool empty = false;
    *span = 1;
    out->n = spyre->rank;
    for (int32_t k = spyre->rank; k-- > 0;) {
        out->at[k] = (loop){spyre->device_size[k], spyre->stride_map[k], *span, k, -1};
        empty = empty || spyre->device_size[k] == 0;
        if (!tg_mul(span, *span, tg_max(spyre->device_size[k], 1)))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, k, "the device tensor does not fit 63 bits: %d positions of device dimension %d times %d",
                               spyre->device_size[k], (int64_t)k, *span);
        int64_t furthest; /* also the arranged maps, at most 64 times larger, must fit */
        if (!tg_mul(&furthest, tg_max(spyre->stride_map[k], 1), 64))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, k, "stride_map entry %d is %d, too large to tile", (int64_t)k, spyre->stride_map[k]);
    }
    if (empty) *span = 0;
    return spyre->arrangement == TG_STANDARD ? TG_OK : arrange(out, spyre, err);
}

/* ---- ownership: which run each loop walks ---- */

typedef struct ownership {
    loops      *l;
    const runs *r;
    int32_t     order[MAX_LOOPS]; /* loops by decreasing map, outermost first */
    int32_t     n;
    int64_t     bound[TG_MAX_NDIM]; /* of each run: what is left of its number is below */
    int32_t     steps;
    const loop *failed; /* the first shortage met, for the message */
    int64_t     failed_need;
} ownership;

/* May the number of run u be cut at the weight of its i-th dimension, as far as digits of at least
 * `least` go? They count whole multiples of it, and so do the dimensions before. */
static bool counts_whole(const loops *l, const run *r, int32_t u, int32_t i, int64_t least) {
    const int64_t edge = r->weight[i];
    for (int32_t j = 0; j < i; j++)
        if (r->weight[j] % edge != 0) return false;
    for (int32_t k = 0; k < l->n; k++) {
        const int64_t weight = l->at[k].run == u ? l->at[k].map / r->base : 0;
        if (weight >= least && weight % edge != 0) return false;
    }
    return true;
}

/* What is left of the number behind the digit of this weight is below the result. Below a multiple of
 * a dimension's weight, only whole steps of it and what is behind it are left: gaps are not reached. */
static int64_t bound_behind(const loops *l, const run *r, int32_t u, int64_t weight, int64_t bound) {
    int32_t i = 0;
    while (i < r->n && r->weight[i] > weight) i++;
    int64_t left = weight;
    if (i < r->n && weight % r->weight[i] == 0 && counts_whole(l, r, u, i, weight)) left = weight - r->weight[i] + r->behind[i] + 1;
    return tg_min(left, bound);
}

/* Loop i of the order takes its digit of some run; idle if it is past the end of all. Then the rest. */
static bool own(ownership *o, int32_t i) {
    if (o->steps-- <= 0) return false;
    if (i == o->n) {
        for (int32_t u = 0; u < o->r->n; u++)
            if (o->bound[u] > 1) return false;
        return true;
    }
    loop *l = &o->l->at[o->order[i]];
    bool  idle = true;
    for (int32_t u = 0; u < o->r->n; u++) {
        const run    *r = &o->r->at[u];
        const int64_t bound = o->bound[u], weight = l->map / r->base;
        if (l->map % r->base != 0 || weight >= bound) continue;
        const int64_t need = tg_ceil_div(bound, weight);
        idle = false;
        if (need > l->size) {
            if (o->failed == NULL) {
                o->failed = l;
                o->failed_need = need;
            }
            continue;
        }
        l->run = u;
        o->bound[u] = bound_behind(o->l, r, u, weight, bound);
        if (own(o, i + 1)) return true;
        o->bound[u] = bound;
        l->run = -1;
    }
    return idle && own(o, i + 1);
}

static tg_status not_reachable(const ownership *o, const tg_host *host, tg_error *err) {
    if (o->steps <= 0)
        return tg_fail(err, TG_ERR_LIMIT, "finding the host dimensions of the stride_map takes over %d steps", (int64_t)MAX_SEARCH);
    if (o->failed != NULL)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, o->failed->dim,
                           "not every host element is reachable: device dimension %d steps by %d and would need %d positions, not %d",
                           (int64_t)o->failed->dim, o->failed->map, o->failed_need, o->failed->size);
    for (int32_t u = 0; u < o->r->n; u++) {
        const run *r = &o->r->at[u];
        for (int32_t i = 0; i < r->n; i++) {
            const int64_t stride = r->weight[i] * r->base;
            bool          walked = false;
            for (int32_t k = 0; k < o->l->n; k++) walked = walked || (o->l->at[k].map > 0 && o->l->at[k].size > 1 && o->l->at[k].map <= stride);
            if (!walked)
                return tg_fail_dim(err, TG_ERR_ARGUMENT, r->dims[i],
                                   "not every host element is reachable: no device dimension steps by %d or less, the stride of host dimension %d",
                                   stride, (int64_t)r->dims[i]);
        }
    }
    return tg_fail(err, TG_ERR_ARGUMENT, "not every host element of %v is reachable through the stride_map", host->shape, (int)host->ndim);
}

static tg_status find_owners(loops *l, const runs *r, const tg_host *host, tg_error *err) {
    ownership o = {.l = l, .r = r, .steps = MAX_SEARCH};
    for (int32_t u = 0; u < r->n; u++) o.bound[u] = r->at[u].size;
    for (int32_t k = 0; k < l->n; k++) {
        if (l->at[k].map <= 0 || l->at[k].size <= 1) continue;
        int32_t j = o.n++;
        for (; j > 0 && l->at[o.order[j - 1]].map < l->at[k].map; j--) o.order[j] = o.order[j - 1];
        o.order[j] = k;
    }
    return own(&o, 0) ? TG_OK : not_reachable(&o, host, err);
}

/* ---- putting the modes together ---- */

/* May the number be cut behind the i-th dimension: a digit has its weight, the others respect it? */
static bool edge_is_clean(const loops *l, const run *r, int32_t u, int32_t i) {
    for (int32_t k = 0; k < l->n; k++)
        if (l->at[k].run == u && l->at[k].map / r->base == r->weight[i]) return counts_whole(l, r, u, i, r->weight[i]);
    return false;
}

/* The run's dimensions, in groups between clean edges: each group is an axis. Writes the axis and
 * weight of every loop that walks the run into modes. */
static tg_status push_run(tg_layout *out, tg_mode *modes, const loops *l, const run *r, int32_t u, const tg_host *host, tg_error *err) {
    int64_t top = INT64_MAX;
    for (int32_t begin = 0, i = 0; i < r->n; i++) {
        const bool last = i + 1 == r->n;
        if (!last && !edge_is_clean(l, r, u, i)) continue;
        const int64_t least = last && !edge_is_clean(l, r, u, i) ? 1 : r->weight[i];
        int32_t       axis = r->dims[i];
        tg_status     s = TG_OK;
        if (i > begin || least != r->weight[i]) s = tg_layout_push_axis(out, &axis, err);
        for (int32_t k = begin; axis != r->dims[i] && k <= i && s == TG_OK; k++) {
            const int64_t size = host->shape[r->dims[k]];
            const tg_mode part = {size, 0, 1, r->weight[k] / least, r->dims[k], axis};
            s = tg_layout_push(out, part, err);
        }
        if (s != TG_OK) return s;
        for (int32_t k = 0; k < l->n; k++) {
            const int64_t weight = l->at[k].run == u ? l->at[k].map / r->base : 0;
            if (weight < least || weight >= top) continue;
            modes[k].axis = axis;
            modes[k].weight = weight / least;
        }
        top = least;
        begin = i + 1;
    }
    return TG_OK;
}

/* Loops with map 0 walk host dimensions of stride 0 that they have room for; others replicate. */
static void assign_stride_zero(tg_mode *modes, const loops *l, const tg_host *host, bool *walked) {
    for (int32_t k = 0; k < l->n; k++) {
        if (l->at[k].map != 0) continue;
        modes[k].axis = TG_AXIS_COPY;
        for (int32_t d = 0; d < host->ndim; d++) {
            if (walked[d] || host->strides[d] != 0 || host->shape[d] <= 1 || l->at[k].size < host->shape[d]) continue;
            walked[d] = true;
            modes[k].axis = d;
            break;
        }
    }
}

static tg_status push_modes(tg_layout *out, const loops *l, const runs *r, const tg_host *host, tg_error *err) {
    tg_mode   modes[MAX_LOOPS];
    bool      walked[TG_MAX_NDIM] = {false};
    tg_status s = TG_OK;
    for (int32_t k = 0; k < l->n; k++) modes[k] = (tg_mode){l->at[k].size, 0, 1, l->at[k].stride, TG_AXIS_PAD, TG_TO_MEMORY};
    for (int32_t u = 0; u < r->n && s == TG_OK; u++) s = push_run(out, modes, l, &r->at[u], u, host, err);
    assign_stride_zero(modes, l, host, walked);
    for (int32_t k = 0; k < l->n && s == TG_OK; k++) s = tg_layout_push(out, modes[k], err);
    for (int32_t d = 0; d < host->ndim && s == TG_OK; d++) { /* expanded host dimensions share what the others reach */
        const tg_mode still = {host->shape[d], 0, 1, 0, d, TG_TO_MEMORY};
        if (host->strides[d] == 0 && host->shape[d] > 1 && !walked[d]) s = tg_layout_push(out, still, err);
    }
    return s;
}

static tg_status to_layout(tg_layout *out, loops *l, const tg_spyre *spyre, const tg_host *host, tg_error *err) {
    tg_layout layout;
    runs      r;
    int64_t   span, numel = 0;
    tg_status s = check_host(host, err);
    if (s == TG_OK) s = check_spyre(spyre, err);
    if (s == TG_OK) s = make_loops(l, &span, spyre, err);
    if (s == TG_OK)
        s = tg_layout_begin(&layout, host->dtype, spyre->device_dtype, tg_format_bits(spyre->device_dtype), host->ndim, host->shape, err);
    if (s != TG_OK) return s;
    layout.span = span;
    (void)tg_product(&numel, host->shape, host->ndim);
    if (numel == 0) {
        if ((s = tg_layout_make_empty(&layout, span, err)) == TG_OK) *out = layout;
        return s;
    }
    find_runs(&r, host);
    if ((s = find_owners(l, &r, host, err)) != TG_OK) return s;
    if ((s = push_modes(&layout, l, &r, host, err)) != TG_OK || (s = tg_layout_end(&layout, err)) != TG_OK) return s;
    *out = layout;
    return TG_OK;
}

tg_status tg_layout_from_spyre(tg_layout *out, const tg_spyre *spyre, const tg_host *host, tg_error *err) {
    loops l;
    return to_layout(out, &l, spyre, host, err);
}

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
static tg_status dim_of_loop(int64_t *dim, const loops *l, int32_t k, const runs *r, const tg_host *host, tg_error *err) {
    const loop *at = &l->at[k];
    *dim = -1;
    if (at->map == 0) return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k, "device dimension %d replicates; a dim_map cannot say that", (int64_t)k);
    if (at->map < 0) return TG_OK;
    if (at->run < 0) {
        *dim = dim_of_step(host, at->map);
        return TG_OK;
    }
    const run    *owner = &r->at[at->run];
    const int64_t weight = at->map / owner->base;
    int32_t       i = 0;
    while (i < owner->n && owner->weight[i] > weight) i++;
    const bool below = i < owner->n && edge_is_clean(l, owner, at->run, i);
    if (!below || (i > 0 && !edge_is_clean(l, owner, at->run, i - 1)))
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k, "device dimension %d walks several host dimensions", (int64_t)k);
    *dim = owner->dims[i];
    return TG_OK;
}

tg_status tg_spyre_dim_map(int64_t *dim_map, const tg_spyre *spyre, const tg_host *host, tg_error *err) {
    tg_layout       layout;
    loops           l;
    runs            r;
    tg_spyre        back;
    int64_t         map[TG_SPYRE_MAX_RANK];
    tg_spyre        plain = *spyre;
    tg_spyre_params params = {.has_device_dtype = true, .device_dtype = spyre->device_dtype};
    plain.arrangement = spyre->arrangement == TG_QFP8WT ? TG_QFP8WT : TG_STANDARD; /* a dim_map does not see inside sticks */
    tg_status s = to_layout(&layout, &l, &plain, host, err);
    if (s != TG_OK) return s;
    find_runs(&r, host);
    for (int32_t k = 0; k < spyre->rank; k++)
        if ((s = dim_of_loop(&map[k], &l, k, &r, host, err)) != TG_OK) return s;
    if ((s = tg_spyre_from_dim_map(&back, host, spyre->rank, spyre->device_size, map, &params, err)) != TG_OK) return s;
    for (int32_t k = 0; k < spyre->rank; k++)
        if (spyre->device_size[k] > 1 && back.stride_map[k] != spyre->stride_map[k])
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k,
                               "device dimension %d steps by %d; the product of the tiles to its right would be %d", (int64_t)k,
                               spyre->stride_map[k], back.stride_map[k]);
    memcpy(dim_map, map, (size_t)spyre->rank * sizeof map[0]);
    return TG_OK;
}

/* ---- from a layout ---- */

static tg_status add_loop(loops *l, int64_t size, int64_t map, int64_t stride, tg_error *err) {
    if (l->n >= TG_SPYRE_MAX_RANK)
        return tg_fail(err, TG_ERR_LIMIT, "the layout needs more than %d device dimensions", (int64_t)TG_SPYRE_MAX_RANK);
    int32_t j = l->n++;
    for (; j > 0 && l->at[j - 1].stride < stride; j--) l->at[j] = l->at[j - 1];
    l->at[j] = (loop){size, map, stride, 0, 0};
    return TG_OK;
}

/* The digits of every run of host dimensions, as loops by decreasing device stride. */
static tg_status collect_loops(loops *l, const tg_layout *in, const tg_host *host, tg_error *err) {
    runs r;
    find_dense_runs(&r, host);
    l->n = 0;
    tg_status s = TG_OK;
    for (int32_t u = 0; u < r.n && s == TG_OK; u++) {
        tg_digits f;
        if (!tg_digits_of_dims(&f, in, r.at[u].dims, r.at[u].n))
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, r.at[u].dims[0],
                               "dimension %d is folded with others in an order that host strides do not have", (int64_t)r.at[u].dims[0]);
        tg_digits_coalesce(&f);
        for (int32_t i = 0; i < f.n && s == TG_OK; i++) {
            const int64_t bound = i == 0 ? f.size : tg_min(f.size, f.weight[i - 1]);
            int64_t       map;
            if (f.stride[i] < 1)
                return tg_fail(err, TG_ERR_UNREPRESENTABLE, "a device stride of %d: device memory is dense and row-major", f.stride[i]);
            if (!tg_mul(&map, f.weight[i], r.at[u].base)) return tg_fail(err, TG_ERR_OVERFLOW, "a host stride does not fit 63 bits");
            s = add_loop(l, tg_ceil_div(bound, f.weight[i]), map, f.stride[i], err);
        }
    }
    for (int32_t i = 0; i < in->nmodes && s == TG_OK; i++)
        if (in->mode[i].axis == TG_AXIS_COPY) s = add_loop(l, in->mode[i].size, 0, in->mode[i].stride, err);
    return s;
}

static tg_status widen_loops(loops *l, int64_t span, tg_error *err) {
    for (int32_t k = 0; k < l->n; k++) {
        loop         *at = &l->at[k];
        const int64_t above = k > 0 ? l->at[k - 1].stride : span % at->stride == 0 ? span : 0;
        if (k > 0 && (above % at->stride != 0 || above / at->stride < at->size))
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "device stride %d is not a multiple of the next one, %d: memory would not be dense", above,
                           at->stride);
        if (above > 0) at->size = tg_max(at->size, above / at->stride);
    }
    return TG_OK;
}

/* End the loops with one that is exactly a stick. */
static tg_status end_with_stick(loops *l, int64_t eps, tg_error *err) {
    loop *last = l->n > 0 ? &l->at[l->n - 1] : NULL;
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
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "the innermost digit has %d positions, which is not a whole number of sticks of %d", last->size, eps);
    const int64_t sticks = tg_ceil_div(last->size, eps);
    int64_t       map;
    if (!tg_mul(&map, tg_max(last->map, 0), eps)) return tg_fail(err, TG_ERR_OVERFLOW, "a host stride does not fit 63 bits");
    last->size = eps;
    return sticks > 1 ? add_loop(l, sticks, map, eps, err) : TG_OK;
}

tg_status tg_spyre_from_layout(tg_spyre *out, const tg_layout *in, const tg_host *host, tg_error *err) {
    tg_host   dense;
    tg_layout normal, back;
    loops     l;
    tg_spyre  spyre;
    bool      equal = false;
    memset(&spyre, 0, sizeof spyre);
    tg_status s = host == NULL ? tg_host_contiguous(&dense, in->dtype, in->ndim, in->shape, err) : TG_OK;
    if (s != TG_OK) return s;
    if (host == NULL) host = &dense;
    spyre.device_dtype = in->format != TG_FORMAT_NATIVE ? in->format : tg_format_for_dtype(in->dtype);
    if (tg_format_bits(spyre.device_dtype) != in->elem_bits)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "Spyre has no device format for %s in %d bits", tg_dtype_name(in->dtype), (int64_t)in->elem_bits);
    if (in->offset != 0) return tg_fail(err, TG_ERR_UNREPRESENTABLE, "a Spyre layout starts at offset 0, not %d", in->offset);
    const int64_t eps = stick_elements(spyre.device_dtype);
    if (tg_layout_numel(in) == 0) {
        s = tg_spyre_default(&spyre, host, NULL, err);
    } else {
        if ((s = tg_layout_coalesce(&normal, in, err)) != TG_OK || (s = collect_loops(&l, &normal, host, err)) != TG_OK) return s;
        if ((s = widen_loops(&l, in->span, err)) != TG_OK || (s = end_with_stick(&l, eps, err)) != TG_OK) return s;
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
    if (s != TG_OK || (s = tg_layout_from_spyre(&back, &spyre, host, err)) != TG_OK) return s;
    if ((s = tg_layout_equal(&equal, NULL, &back, in, false, err)) != TG_OK) return s;
    if (!equal) return tg_fail(err, TG_ERR_UNREPRESENTABLE, "no stride_map over this host walks these digits");
    *out = spyre;
    return TG_OK;
}
