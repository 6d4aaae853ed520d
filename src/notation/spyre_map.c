/* Spyre's device_size + stride_map over a strided host tensor <-> the layout value.
 *
 * A SpyreTensorLayout says, for each device dimension, how many HOST elements one step advances, and
 * nothing more: host_offset = dot(device_coordinates, stride_map). Which host dimension a device
 * dimension walks is found from strides and extents alone:
 *
 *   1. Each host dimension by itself: device dimensions whose strides are multiples of its stride are
 *      digits of its coordinate, cut greedily by decreasing stride. In a dense [5,100,150]
 *          device_size [100, 3, 5, 64]   stride_map [150, 64, 15000, 1]
 *          15000 walks dimension 0, 150 dimension 1, 64 and 1 dimension 2: ceil(150/64) = 3 and 64 values
 *      A device dimension that steps past the end of its host dimension is padding (two sticks for 60
 *      columns). This must reach every element.
 *   2. Else the host tensor is flattened: its offset is one number, 15000 c0 + 150 c1 + c2, also over rows
 *      with gaps as long as the strides nest, and its digits are cut in the same way ([40,60] on [38,64] /
 *      [64,1]). Where the digits respect the edges of the dimensions the number is taken apart again.
 *   3. Each digit must have the positions it needs; what an extent has beyond is padding.
 *
 * Host strides that do not nest (overlapping windows) are flattened in groups that lie densely in each
 * other, and a search finds which device dimension walks which.
 *
 * So padding is decided by coordinates, never by the host offset alone: position (0,2,0,63) would be
 * host offset 191, an element of the next row; its digit at 64 leaves 63, and 128 + 63 >= 150. */
#include "notation/spyre.h"

#include <string.h>

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
static void complete_run(tg_run *r, const tg_host *host, int64_t base) {
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
void tg_find_dense_runs(tg_runs *out, const tg_host *host) {
    int32_t order[TG_MAX_NDIM];
    const int32_t n = walked_dims(order, host);
    out->n = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t d = order[i];
        int64_t step;
        const bool dense =
            i > 0 && tg_mul(&step, host->strides[d], host->shape[d]) && host->strides[order[i - 1]] == step;
        if (!dense) out->at[out->n++] = (tg_run){.n = 0};
        tg_run *last = &out->at[out->n - 1];
        last->dims[last->n++] = d;
    }
    for (int32_t u = 0; u < out->n; u++) {
        tg_run *r = &out->at[u];
        complete_run(r, host, host->strides[r->dims[r->n - 1]]);
    }
}

/* One run of all dimensions if their strides nest, else the dense ones. */
/* Every host dimension by itself. */
static void find_single_runs(tg_runs *out, const tg_host *host) {
    int32_t order[TG_MAX_NDIM];
    out->n = walked_dims(order, host);
    for (int32_t u = 0; u < out->n; u++) {
        out->at[u] = (tg_run){.n = 1, .dims = {order[u]}};
        complete_run(&out->at[u], host, host->strides[order[u]]);
    }
}

/* All of them as one number of host elements counted in `base`; false if their strides do not nest. */
static bool find_number(tg_runs *out, const tg_host *host, bool in_ones) {
    tg_run all = {.n = 0};
    int64_t base = 0;
    all.n = walked_dims(all.dims, host);
    if (all.n == 0) return false;
    for (int32_t i = 0; i < all.n; i++) base = tg_gcd(base, host->strides[all.dims[i]]);
    if (in_ones && base == 1) return false; /* no other number */
    complete_run(&all, host, in_ones ? 1 : base);
    for (int32_t i = 0; i < all.n; i++)
        if (all.weight[i] <= all.behind[i]) return false;
    out->n = 1;
    out->at[0] = all;
    return true;
}

enum { MAX_SEARCH = 10000 };

static tg_status check_spyre(const tg_spyre *spyre, tg_error *err) {
    tg_status s = tg_spyre_check_rank(spyre->rank, err);
    if (s != TG_OK) return s;
    for (int32_t k = 0; k < spyre->rank; k++) {
        if (spyre->device_size[k] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "device dimension %d has negative size %d", (int64_t)k,
                               spyre->device_size[k]);
        if (spyre->stride_map[k] < -1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, k, "stride_map entry %d is %d; entries are at least -1",
                               (int64_t)k, spyre->stride_map[k]);
    }
    if (tg_arrangement_name(spyre->arrangement) == NULL)
        return tg_fail(err, TG_ERR_ARGUMENT, "element arrangement %d is not known", (int64_t)spyre->arrangement);
    const char *name = tg_format_name(spyre->device_dtype);
    if (tg_format_bits(spyre->device_dtype) == 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "device format %s has no stick geometry", name != NULL ? name : "?");
    const int32_t last = spyre->rank - 1;
    int64_t stick = spyre->device_size[last];
    const bool two = spyre->arrangement == TG_QFP8WT && last > 0 && stick != tg_spyre_stick(spyre->device_dtype);
    if (two && !tg_mul(&stick, stick, spyre->device_size[last - 1])) stick = -1;
    if (stick != tg_spyre_stick(spyre->device_dtype))
        return tg_fail_dim(err, TG_ERR_ARGUMENT, last,
                           "the last device dimension is the stick: it has %d elements of %s, not %d",
                           tg_spyre_stick(spyre->device_dtype), name, spyre->device_size[last]);
    return TG_OK;
}

static tg_status make_loops(tg_loops *out, int64_t *span, const tg_spyre *spyre, tg_error *err) {
    bool empty = false;
    *span = 1;
    out->n = spyre->rank;
    for (int32_t k = spyre->rank; k-- > 0;) {
        out->at[k] = (tg_loop){spyre->device_size[k], spyre->stride_map[k], *span, k, -1};
        empty = empty || spyre->device_size[k] == 0;
        if (!tg_mul(span, *span, tg_max(spyre->device_size[k], 1)))
            return tg_fail_dim(err, TG_ERR_OVERFLOW, k,
                               "the device tensor does not fit 63 bits: %d positions of device dimension %d times %d",
                               spyre->device_size[k], (int64_t)k, *span);
    }
    if (empty) *span = 0;
    return TG_OK;
}

/* ---- ownership: which run each loop walks ---- */

typedef struct ownership {
    tg_loops *l;
    const tg_runs *r;
    int32_t order[MAX_LOOPS]; /* loops by decreasing map, outermost first */
    int32_t n;
    int64_t bound[TG_MAX_NDIM]; /* of each run: what is left of its number is below */
    int32_t steps;
    const tg_loop *failed; /* the first shortage met, for the message */
    int64_t failed_need;
} ownership;

/* Do the digits of run u with weights in [least, top), and its dimensions begin .. i - 1, count whole
 * multiples of the i-th dimension's weight? */
static bool counts_whole(const tg_loops *l, const tg_run *r, int32_t u, int32_t begin, int32_t i, int64_t least,
                         int64_t top) {
    const int64_t edge = r->weight[i];
    for (int32_t j = begin; j < i; j++)
        if (r->weight[j] % edge != 0) return false;
    for (int32_t k = 0; k < l->n; k++) {
        const int64_t weight = l->at[k].run == u ? l->at[k].map / r->base : 0;
        if (weight >= least && weight < top && weight % edge != 0) return false;
    }
    return true;
}

static bool has_digit(const tg_loops *l, const tg_run *r, int32_t u, int64_t weight) {
    for (int32_t k = 0; k < l->n; k++)
        if (l->at[k].run == u && l->at[k].map / r->base == weight) return true;
    return false;
}

void tg_clean_edges(bool *clean, const tg_loops *l, const tg_run *r, int32_t u) {
    int64_t top = INT64_MAX;
    for (int32_t begin = 0, i = 0; i < r->n; i++) {
        clean[i] = has_digit(l, r, u, r->weight[i]) && counts_whole(l, r, u, begin, i, r->weight[i], top);
        if (!clean[i]) continue;
        begin = i + 1;
        top = r->weight[i];
    }
}

/* What is left of the number behind the digit of this weight is below the result. Behind a multiple
 * of a dimension's weight, only whole steps of it and what follows it are left: gaps are not reached. */
static int64_t bound_behind(const tg_loops *l, const tg_run *r, int32_t u, int64_t weight, int64_t bound) {
    bool clean[TG_MAX_NDIM];
    int32_t i = 0, begin = 0;
    int64_t top = INT64_MAX, left = weight;
    tg_clean_edges(clean, l, r, u);
    for (; i < r->n && r->weight[i] > weight; i++) {
        if (!clean[i]) continue;
        begin = i + 1;
        top = r->weight[i];
    }
    if (i < r->n && weight % r->weight[i] == 0 && counts_whole(l, r, u, begin, i, weight, top))
        left = weight - r->weight[i] + r->behind[i] + 1;
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
    tg_loop *l = &o->l->at[o->order[i]];
    bool idle = true;
    for (int32_t u = 0; u < o->r->n; u++) {
        const tg_run *r = &o->r->at[u];
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
        return tg_fail(err, TG_ERR_LIMIT, "finding the host dimensions of the stride_map takes over %d steps",
                       (int64_t)MAX_SEARCH);
    if (o->failed != NULL)
        return tg_fail_dim(
            err, TG_ERR_ARGUMENT, o->failed->dim,
            "not every host element is reachable: device dimension %d steps by %d and would need %d positions, not %d",
            (int64_t)o->failed->dim, o->failed->map, o->failed_need, o->failed->size);
    for (int32_t u = 0; u < o->r->n; u++) {
        const tg_run *r = &o->r->at[u];
        for (int32_t i = 0; i < r->n; i++) {
            const int64_t stride = r->weight[i] * r->base;
            bool walked = false;
            for (int32_t k = 0; k < o->l->n; k++)
                walked = walked || (o->l->at[k].map > 0 && o->l->at[k].size > 1 && o->l->at[k].map <= stride);
            if (!walked)
                return tg_fail_dim(err, TG_ERR_ARGUMENT, r->dims[i],
                                   "not every host element is reachable: no device dimension steps by %d or less, the "
                                   "stride of host dimension %d",
                                   stride, (int64_t)r->dims[i]);
        }
    }
    return tg_fail(err, TG_ERR_ARGUMENT, "not every host element of %v is reachable through the stride_map",
                   host->shape, (int)host->ndim);
}

static bool try_runs(ownership *o, tg_loops *l, const tg_runs *r) {
    *o = (ownership){.l = l, .r = r, .steps = MAX_SEARCH};
    for (int32_t u = 0; u < r->n; u++) o->bound[u] = r->at[u].size;
    for (int32_t k = 0; k < l->n; k++) {
        l->at[k].run = -1;
        if (l->at[k].map <= 0 || l->at[k].size <= 1) continue;
        int32_t j = o->n++;
        for (; j > 0 && l->at[o->order[j - 1]].map < l->at[k].map; j--) o->order[j] = o->order[j - 1];
        o->order[j] = k;
    }
    return own(o, 0);
}

/* Each host dimension by itself; else flattened, by the number that they make or the dense groups. */
static tg_status find_owners(tg_runs *r, tg_loops *l, const tg_host *host, tg_error *err) {
    ownership o;
    find_single_runs(r, host);
    if (try_runs(&o, l, r)) return TG_OK;
    if (find_number(r, host, true) && try_runs(&o, l, r)) return TG_OK;
    if (!find_number(r, host, false)) tg_find_dense_runs(r, host);
    return try_runs(&o, l, r) ? TG_OK : not_reachable(&o, host, err);
}

/* ---- putting the modes together ---- */

/* The run's dimensions, in groups between clean edges: each group is an axis. Writes the axis and
 * weight of every loop that walks the run into modes. */
static tg_status push_run(tg_layout *out, tg_mode *modes, const tg_loops *l, const tg_run *r, int32_t u,
                          const tg_host *host, tg_error *err) {
    bool clean[TG_MAX_NDIM];
    int64_t top = INT64_MAX;
    tg_clean_edges(clean, l, r, u);
    for (int32_t begin = 0, i = 0; i < r->n; i++) {
        const bool last = i + 1 == r->n;
        if (!last && !clean[i]) continue;
        const int64_t least = clean[i] ? r->weight[i] : 1;
        int32_t axis = r->dims[i];
        tg_status s = TG_OK;
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
static void assign_stride_zero(tg_mode *modes, const tg_loops *l, const tg_host *host, bool *walked) {
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

static tg_status push_modes(tg_layout *out, const tg_loops *l, const tg_runs *r, const tg_host *host, tg_error *err) {
    tg_mode modes[MAX_LOOPS];
    bool walked[TG_MAX_NDIM] = {false};
    tg_status s = TG_OK;
    for (int32_t k = 0; k < l->n; k++)
        modes[k] = (tg_mode){l->at[k].size, 0, 1, l->at[k].stride, TG_AXIS_PAD, TG_TO_MEMORY};
    for (int32_t u = 0; u < r->n && s == TG_OK; u++) s = push_run(out, modes, l, &r->at[u], u, host, err);
    assign_stride_zero(modes, l, host, walked);
    for (int32_t k = 0; k < l->n && s == TG_OK; k++) s = tg_layout_push(out, modes[k], err);
    for (int32_t d = 0; d < host->ndim && s == TG_OK; d++) { /* expanded host dimensions share what the others reach */
        const tg_mode still = {host->shape[d], 0, 1, 0, d, TG_TO_MEMORY};
        if (host->strides[d] == 0 && host->shape[d] > 1 && !walked[d]) s = tg_layout_push(out, still, err);
    }
    return s;
}

/* ---- arrangements ---- */

/* Element arrangements permute elements inside sticks: the digits of the stick in another order.
 *   DL16_TO_FP32: column 64 pair + 8 g + 4 sp + e is element 4 g + e of stick 2 pair + sp
 *   FP32_TO_DL16: column 64 stick + 32 half + 4 g + e is element 8 g + 4 half + e
 * The others leave elements where the extents put them. Source: docs/sources.md, torch-spyre. */
typedef struct piece {
    int64_t factor; /* columns per step */
    int64_t size, stride;
} piece;

/* Put pieces of the axis of mode m in its place; those that count past `columns` never move. */
static tg_status put_pieces(tg_layout *l, int32_t m, int32_t axis, int64_t weight, int64_t columns, const piece *pieces,
                            int32_t n, tg_error *err) {
    tg_status s = TG_OK;
    for (int32_t i = 0; i < n && s == TG_OK; i++) {
        const piece *p = &pieces[i];
        const bool moves = p->factor == 1 || p->factor < columns;
        const tg_mode mode = {p->size,     0, moves ? p->factor * weight : 1, p->stride, moves ? axis : TG_AXIS_PAD,
                              TG_TO_MEMORY};
        if (i > 0 && (s = tg_layout_push(l, mode, err)) == TG_OK)
            memmove(&l->mode[m + i + 1], &l->mode[m + i], (size_t)(l->nmodes - 1 - m - i) * sizeof l->mode[0]);
        if (s == TG_OK) l->mode[m + i] = mode;
    }
    return s;
}

/* How many columns the digits from mode m down count. */
static int64_t columns_from(const tg_layout *l, int32_t m, int64_t weight) {
    for (int32_t i = 0; i < l->nmodes; i++)
        if (l->chain[i] == m) return tg_ceil_div(tg_chain_bound(l, i), weight);
    return 1;
}

static tg_status arrange_pairs(tg_layout *l, const tg_spyre *spyre, tg_error *err) {
    const int32_t last = spyre->rank - 1;
    const tg_mode in = l->mode[last];
    for (int32_t k = 0; k < last; k++) {
        const tg_mode sticks = l->mode[k];
        if (spyre->stride_map[k] / 32 != spyre->stride_map[last] || spyre->stride_map[k] % 32 != 0) continue;
        if ((sticks.axis != in.axis && sticks.axis != TG_AXIS_PAD) || sticks.size % 2 != 0) continue;
        const int64_t columns = sticks.axis == in.axis ? columns_from(l, k, in.weight) : in.count;
        const piece inside[2] = {{8, 8, 4}, {1, 4, 1}};
        const piece outside[2] = {{64, sticks.size / 2, 2 * sticks.stride}, {4, 2, sticks.stride}};
        tg_status s = put_pieces(l, last, in.axis, in.weight, columns, inside, 2, err);
        if (s == TG_OK) s = put_pieces(l, k, in.axis, in.weight, columns, outside, 2, err);
        return s == TG_OK ? tg_layout_end(l, err) : s;
    }
    return tg_fail(err, TG_ERR_ARGUMENT, "DL16_TO_FP32 needs an even number of sticks along the stick dimension");
}

static tg_status arrange(tg_layout *l, const tg_spyre *spyre, tg_error *err) {
    const int32_t last = spyre->rank - 1;
    const tg_mode in = l->mode[last];
    const int64_t wanted = spyre->arrangement == TG_FP32_TO_DL16 ? 64 : 32;
    if (spyre->arrangement != TG_FP32_TO_DL16 && spyre->arrangement != TG_DL16_TO_FP32) return TG_OK;
    if (in.axis < 0) return TG_OK; /* one element per stick, or copies: nothing to permute */
    if (in.size != wanted)
        return tg_fail(err, TG_ERR_ARGUMENT, "%s arranges sticks of %d elements, not %d",
                       tg_arrangement_name(spyre->arrangement), wanted, in.size);
    if (spyre->arrangement == TG_DL16_TO_FP32) return arrange_pairs(l, spyre, err);
    const piece pieces[3] = {{4, 8, 8}, {32, 2, 4}, {1, 4, 1}};
    const tg_status s = put_pieces(l, last, in.axis, in.weight, in.count, pieces, 3, err);
    return s == TG_OK ? tg_layout_end(l, err) : s;
}

/* ---- all of it ---- */

tg_status tg_spyre_to_layout(tg_layout *out, tg_loops *l, tg_runs *r, const tg_spyre *spyre, const tg_host *host,
                             tg_error *err) {
    tg_layout layout;
    int64_t span, numel = 0;
    tg_status s = tg_spyre_check_host(host, err);
    if (s == TG_OK) s = check_spyre(spyre, err);
    if (s == TG_OK) s = make_loops(l, &span, spyre, err);
    if (s == TG_OK)
        s = tg_layout_begin(&layout, host->dtype, spyre->device_dtype, tg_format_bits(spyre->device_dtype), host->ndim,
                            host->shape, err);
    if (s != TG_OK) return s;
    layout.span = span;
    (void)tg_product(&numel, host->shape, host->ndim);
    if (numel == 0) {
        if ((s = tg_layout_make_empty(&layout, span, err)) == TG_OK) *out = layout;
        return s;
    }
    if ((s = find_owners(r, l, host, err)) != TG_OK) return s;
    if ((s = push_modes(&layout, l, r, host, err)) != TG_OK || (s = tg_layout_end(&layout, err)) != TG_OK) return s;
    if ((s = arrange(&layout, spyre, err)) != TG_OK) return s;
    *out = layout;
    return TG_OK;
}

tg_status tg_layout_from_spyre(tg_layout *out, const tg_spyre *spyre, const tg_host *host, tg_error *err) {
    tg_loops l;
    tg_runs r;
    return tg_spyre_to_layout(out, &l, &r, spyre, host, err);
}
