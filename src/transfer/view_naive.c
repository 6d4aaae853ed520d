/* What naive readings read, and the first element that they get wrong.
 *
 * Both readings are sums of functions of one variable, and so is the truth wherever a view is free. So "the reading is
 * right in this box of coordinates" can be proved without looking: the digits of the box neither carry nor run over an
 * edge, the two agree in its corner, and for each variable the two sums have the same normal form. The boxes are
 *
 *     {(c0, ..., c[k-1], p, any, ...): p < n}      in row-major order: what comes before (c0, ..., c[k-1], n, 0, ...)
 *
 * and the greatest n for which the proof goes through is found by halving; then c[k] = n, and the same for k + 1. At
 * the end stands the first coordinate that is not proved right. As a rule it is wrong; if not, the elements behind it
 * are looked at one by one. */
#include "transfer/read_rule.h"
#include "transfer/viewing.h"

enum { MAX_LOOKS = 1 << 20 };

/* A function of coordinates: constant + a sum for each dimension, or any layout. */
typedef struct reading {
    const tg_storage *storage;
    tg_digit_list     digits; /* of the storage, joined as far as they can be */
    const tg_view    *view;
    const tg_layout  *layout; /* if not NULL, the reading is this layout and has no sums */
    uint64_t          constant;
    tg_sum            sum[TG_MAX_NDIM];
} reading;

/* ---- both sides ---- */

static int64_t read_at(const reading *r, const int64_t *coord) {
    uint64_t offset = r->constant; /* modulo 2^64: an absurd reading need not fit */
    if (r->layout != NULL) return tg_layout_offset(r->layout, coord);
    for (int32_t d = 0; d < r->view->ndim; d++)
        for (int32_t i = 0; i < r->sum[d].n; i++)
            offset += (uint64_t)r->sum[d].gain[i] * (uint64_t)tg_term_at(&r->sum[d].term[i], coord[d]);
    return (int64_t)offset;
}

static int64_t number_at(const reading *r, const int64_t *coord) {
    int64_t x = r->view->offset - r->storage->base;
    for (int32_t d = 0; d < r->view->ndim; d++) x += r->view->strides[d] * coord[d];
    return x;
}

static int64_t right_at(const reading *r, const int64_t *coord) {
    return r->storage->device_base + tg_digits_at(&r->digits, number_at(r, coord));
}

/* ---- proof ---- */

static void truth_of(tg_sum *out, const tg_digit_cut *cut, int32_t ndigits, int32_t k) {
    out->n = 0;
    for (int32_t i = 0; i < ndigits; i++)
        for (int32_t t = 0; t < cut->at[i].nterms; t++)
            if (cut->at[i].term[t].dim == k) {
                out->gain[out->n] = cut->at[i].stride;
                out->term[out->n++] = cut->at[i].term[t];
            }
}

/* Is the reading right wherever coordinates before k are those of coord, that of k is below n, and the rest is any? */
static bool is_proved(const reading *r, const int64_t *coord, int32_t k, int64_t n) {
    tg_number number = {.ndim = r->view->ndim - k};
    int64_t   corner[TG_MAX_NDIM] = {0};
    tg_digit_cut    cut;
    if (n == 0) return true;
    for (int32_t d = 0; d < k; d++) corner[d] = coord[d];
    for (int32_t d = k; d < r->view->ndim; d++) {
        number.step[d - k] = r->view->strides[d];
        number.n[d - k] = d == k ? n : r->view->shape[d];
    }
    number.x = number_at(r, corner);
    if (read_at(r, corner) != right_at(r, corner)) return false;
    tg_cut_digits(&cut, &r->digits, &number);
    if (cut.reason != TG_VIEW_FITS) return false;
    for (int32_t d = k; d < r->view->ndim; d++) {
        tg_sum truth, read = r->sum[d];
        truth_of(&truth, &cut, r->digits.n, d - k);
        tg_sum_normalize(&truth, number.n[d - k]);
        tg_sum_normalize(&read, number.n[d - k]);
        if (!tg_sum_same(&truth, &read)) return false;
    }
    return true;
}

/* The greatest n that is proved, at most the size of dimension k. */
static int64_t greatest_proved(const reading *r, const int64_t *coord, int32_t k) {
    int64_t proved = 0, open = r->view->shape[k];
    if (is_proved(r, coord, k, open)) return open;
    while (open - proved > 1) {
        const int64_t middle = proved + (open - proved) / 2;
        if (is_proved(r, coord, k, middle)) proved = middle;
        else open = middle;
    }
    return proved;
}

/* A coordinate before which all is proved; false if everything is. */
static bool first_open(int64_t *coord, const reading *r) {
    for (int32_t d = 0; d < r->view->ndim; d++) coord[d] = 0;
    if (r->layout != NULL) return true;
    for (int32_t k = 0; k < r->view->ndim; k++) {
        coord[k] = greatest_proved(r, coord, k);
        if (coord[k] < r->view->shape[k]) continue;
        if (k == 0) return false;
        for (; k < r->view->ndim; k++) coord[k] = r->view->shape[k] - 1; /* open in a larger box, and proved alone */
    }
    return r->view->ndim > 0 || read_at(r, coord) != right_at(r, coord);
}

static void judge(tg_naive *out, const reading *r) {
    tg_naive wrong = {.state = TG_NAIVE_WRONG};
    *out = (tg_naive){.state = TG_NAIVE_RIGHT};
    if (!first_open(wrong.coord, r)) return;
    for (int64_t looks = 0; looks < MAX_LOOKS; looks++) {
        wrong.right = right_at(r, wrong.coord);
        wrong.read = read_at(r, wrong.coord);
        if (wrong.right != wrong.read) {
            *out = wrong;
            return;
        }
        if (!tg_next_coord(wrong.coord, r->view->shape, r->view->ndim)) return;
    }
    out->state = TG_NAIVE_UNKNOWN;
}

static void begin(reading *r, const tg_storage *storage, const tg_view *view) {
    r->storage = storage;
    r->view = view;
    r->layout = NULL;
    r->constant = 0;
    r->digits = storage->digits;
    tg_digits_join(&r->digits, 0);
    for (int32_t d = 0; d < view->ndim; d++) r->sum[d].n = 0;
}

static void push(reading *r, int32_t dim, int64_t gain, int64_t step, int64_t wrap, int64_t stride) {
    tg_sum *s = &r->sum[dim];
    if (s->n == TG_MAX_MODES) return; /* never: one for each device dimension */
    s->gain[s->n] = gain;
    s->term[s->n++] = (tg_view_term){0, step, 0, wrap, stride};
}

/* ---- the rule ---- */

/* Device dimensions as the rule sees them: positions, host elements per step, device elements per step. */
typedef struct rule_dims {
    int32_t n;
    int64_t size[TG_MAX_MODES + TG_MAX_NDIM], host[TG_MAX_MODES + TG_MAX_NDIM], device[TG_MAX_MODES + TG_MAX_NDIM];
} rule_dims;

static void push_rule_dim(rule_dims *dims, int64_t size, int64_t host, int64_t device) {
    if (size == 1 || host <= 0) return; /* always at 0 */
    dims->size[dims->n] = size;
    dims->host[dims->n] = host;
    dims->device[dims->n++] = device;
}

static void rule_dims_of(rule_dims *out, const tg_storage *storage, const tg_desc *tensor) {
    out->n = 0;
    if (tensor->notation != TG_NOTATION_SPYRE) {
        for (int32_t i = 0; i < storage->digits.n; i++)
            push_rule_dim(out, 0, storage->digits.at[i].weight, storage->digits.at[i].stride);
        return;
    }
    uint64_t stride = 1;
    for (int32_t i = tensor->spyre.rank; i-- > 0;) {
        push_rule_dim(out, tensor->spyre.device_size[i], tensor->spyre.stride_map[i], (int64_t)stride);
        stride *= (uint64_t)tensor->spyre.device_size[i];
    }
}

static tg_dims host_dims(const rule_dims *dims) { return (tg_dims){dims->n, dims->size, dims->host}; }

static void apply_rule(reading *r, const rule_dims *dims, int32_t d) {
    const tg_dims host = host_dims(dims);
    for (int32_t i = 0; i < dims->n; i++) {
        tg_digit_part p;
        if (tg_read_term(&p, &host, dims->host[i], r->view->strides[d], r->view->shape[d]))
            push(r, d, dims->device[i], p.step, p.wrap, p.stride);
    }
}

void tg_naive_rule(tg_naive *out, const tg_storage *storage, const tg_desc *tensor, const tg_view *view) {
    reading       r;
    rule_dims     dims;
    const int64_t start = view->offset - storage->base;
    begin(&r, storage, view);
    rule_dims_of(&dims, storage, tensor);
    r.constant = (uint64_t)storage->device_base;
    for (int32_t d = 0; d < view->ndim; d++) {
        if (view->shape[d] > 1 && view->strides[d] < 0) {
            *out = (tg_naive){.state = TG_NAIVE_REFUSED};
            return;
        }
        apply_rule(&r, &dims, d);
    }
    const tg_dims host = host_dims(&dims);
    for (int32_t i = 0; i < dims.n; i++)
        r.constant += (uint64_t)tg_read_offset(&host, start, dims.host[i]) * (uint64_t)dims.device[i];
    judge(out, &r);
}

/* ---- a layout of its own ---- */

/* The digits of a layout's dimensions; false where it folds, or tiles do not nest. */
static bool push_layout(reading *r, const tg_layout *l) {
    int64_t wrap = 0;
    int32_t axis = -1;
    r->constant = (uint64_t)l->offset;
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[l->chain[i]];
        if (m->axis < 0 || m->count <= 1) continue;
        if (!tg_is_memory(m)) return false;
        if (m->axis != axis) wrap = 0;
        axis = m->axis;
        if (wrap % m->weight != 0) return false;
        push(r, axis, m->stride, 1, wrap, m->weight);
        wrap = m->weight;
    }
    return true;
}

void tg_naive_own(tg_naive *out, const tg_storage *storage, const tg_desc *tensor, const tg_view *view) {
    reading r;
    tg_desc own;
    if (tg_view_target(&own, tensor, view, NULL) != TG_OK) {
        *out = (tg_naive){.state = TG_NAIVE_REFUSED};
        return;
    }
    begin(&r, storage, view);
    if (!push_layout(&r, &own.layout)) r.layout = &own.layout;
    judge(out, &r);
}
