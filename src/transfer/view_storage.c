/* The host storage of a tensor as one number, and where on the device that number goes.
 *
 * Host dimensions by decreasing stride make the levels of x = host offset - base; they nest, that is each steps over
 * all that lies below it. Dimensions that follow each other without a gap are a run, and the layout's digits of their
 * row-major number (tg_digits_of_dims), times the stride of the last, are digits of x:
 *
 *     f16[5,100,150] spyre     one run: 15000 (64), 150 (960), 64 (320), 1 (1)        weight (device stride)
 *     the same of rows 200 apart        two: 20000, 200 | 64, 1
 *
 * Between runs are gaps, where no element lies. Whether a view touches one is a linear equation in its coordinates, the
 * digits above and the place in the gap (tg_solve_box), and so is whether it leaves the storage; the first solution in
 * row-major order is the answer.
 *
 * A strided tensor has no digits but x itself, so its elements may share places as windows do: dimensions that take the
 * multiples of one stride up to some, each or together, are one level. */
#include "transfer/viewing.h"

enum { MAX_STEPS = 1 << 20 };

/* ---- levels ---- */

static void insert_level(tg_storage *s, int32_t *dims, int32_t dim, int64_t size, int64_t stride) {
    int32_t i = s->nlevels++;
    for (; i > 0 && s->stride[i - 1] < stride; i--) {
        s->stride[i] = s->stride[i - 1];
        s->size[i] = s->size[i - 1];
        dims[i] = dims[i - 1];
    }
    s->stride[i] = stride;
    s->size[i] = size;
    dims[i] = dim;
}

/* Levels i and i + 1 as one, if their sums are the multiples of the lower stride up to some. */
static bool join_levels(tg_storage *s, int32_t i) {
    const int64_t times = s->stride[i] / s->stride[i + 1];
    if (s->stride[i] % s->stride[i + 1] != 0 || times > s->size[i + 1]) return false;
    s->size[i + 1] += times * (s->size[i] - 1);
    s->nlevels--;
    for (int32_t k = i; k < s->nlevels; k++) {
        s->size[k] = s->size[k + 1];
        s->stride[k] = s->stride[k + 1];
    }
    return true;
}

/* Sets extent and has_gaps, and joins levels where that is allowed; false if even so they do not nest. */
static bool measure(tg_storage *s, bool may_join) {
    s->extent = 1;
    s->has_gaps = false;
    for (int32_t i = s->nlevels; i-- > 0;) {
        const int64_t length = s->stride[i] * (s->size[i] - 1); /* fits: offsets of the host tensor do */
        if (!may_join || i + 1 == s->nlevels || !join_levels(s, i)) {
            if (s->stride[i] < s->extent) return false;
            s->has_gaps = s->has_gaps || s->stride[i] > s->extent;
        }
        s->extent += length;
    }
    return true;
}

static tg_status find_levels(tg_storage *out, int32_t *dims, const tg_view *host, bool strided, tg_error *err) {
    out->nlevels = 0;
    out->base = host->offset;
    for (int32_t d = 0; d < host->ndim; d++) {
        const int64_t size = host->shape[d], stride = host->strides[d];
        if (size <= 1 || stride == 0) continue;
        if (stride < 0 && !strided)
            return tg_fail_dim(err, TG_ERR_UNSUPPORTED, d, "dimension %d of the host tensor runs backwards",
                               (int64_t)d);
        if (stride < 0) out->base += stride * (size - 1);
        insert_level(out, dims, d, size, stride < 0 ? -stride : stride);
    }
    if (measure(out, strided)) return TG_OK;
    return tg_fail(err, TG_ERR_UNSUPPORTED, "elements of the host tensor %v with strides %v share places or interleave",
                   host->shape, host->ndim, host->strides, host->ndim);
}

/* ---- digits ---- */

static int32_t mode_of(const tg_layout *l, int64_t stride) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (tg_is_memory(m) && m->axis >= 0 && m->count > 1 && m->stride == stride) return i;
    }
    return -1;
}

static void push_digit(tg_digit_list *l, int64_t weight, int64_t stride, int32_t mode) {
    l->at[l->n++] = (tg_digit){weight, stride, stride == 0 ? -1 : mode, false};
}

/* Levels [first, last) as digits of x; false if a fold wants others with them, or another order. */
static bool push_run(tg_storage *s, const tg_layout *l, const int32_t *dims, int32_t first, int32_t last) {
    tg_digits f;
    if (!tg_digits_of_dims(&f, l, dims + first, last - first) || s->digits.n + f.n > TG_MAX_DIGITS) return false;
    for (int32_t i = 0; i < f.n; i++)
        push_digit(&s->digits, f.weight[i] * s->stride[last - 1], f.stride[i], mode_of(l, f.stride[i]));
    return true;
}

static tg_status push_runs(tg_storage *s, const tg_layout *l, const int32_t *dims, tg_error *err) {
    for (int32_t first = 0, last; first < s->nlevels; first = last) {
        for (last = first + 1; last < s->nlevels && s->stride[last - 1] == s->stride[last] * s->size[last]; last++)
            continue;
        if (push_run(s, l, dims, first, last)) continue;
        for (int32_t i = first; i < last; i++)
            if (!push_run(s, l, dims, i, i + 1))
                return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, dims[i],
                                   "the layout folds dimension %d with others in an order that the host storage "
                                   "does not have", (int64_t)dims[i]);
    }
    return TG_OK;
}

tg_status tg_storage_of(tg_storage *out, const tg_desc *tensor, tg_error *err) {
    const bool strided = tensor->notation == TG_NOTATION_STRIDED;
    int32_t    dims[TG_MAX_NDIM];
    tg_view    host;
    tg_status  s = tg_view_of(&host, tensor, err);
    if (s == TG_OK) s = find_levels(out, dims, &host, strided, err);
    if (s != TG_OK) return s;
    out->digits.n = 0;
    out->device_base = strided ? out->base : tensor->layout.offset;
    if (strided) push_digit(&out->digits, 1, 1, -1);
    if (tg_view_is_empty(&host)) out->extent = 0;
    else if (!strided) return push_runs(out, &tensor->layout, dims, err);
    return TG_OK;
}

int64_t tg_digits_at(const tg_digit_list *digits, int64_t x) {
    int64_t sum = 0;
    for (int32_t i = 0; i < digits->n; i++) {
        sum += x / digits->at[i].weight * digits->at[i].stride;
        x %= digits->at[i].weight;
    }
    return sum;
}

static bool joins(const tg_digit *a, const tg_digit *b, int64_t stick) {
    int64_t stride;
    if (b->stride == 0 || (a->stride < stick) != (b->stride < stick)) return false;
    return a->weight % b->weight == 0 && tg_mul(&stride, b->stride, a->weight / b->weight) && stride == a->stride;
}

void tg_digits_join(tg_digit_list *digits, int64_t stick) {
    for (int32_t i = digits->n - 1; i-- > 0;) {
        if (!joins(&digits->at[i], &digits->at[i + 1], stick)) continue;
        digits->n--;
        for (int32_t k = i; k < digits->n; k++) digits->at[k] = digits->at[k + 1];
        digits->at[i].joined = true;
    }
}

/* ---- elements that are not there ---- */

/* The equation x(p) = sum of level stride * digit + y, for levels [0, depth) and y in [low, high]. The last of these
 * levels does without its last digit: y lies before the next one. */
typedef struct equation {
    int32_t n;
    int64_t stride[2 * TG_MAX_NDIM + 1], low[2 * TG_MAX_NDIM + 1], high[2 * TG_MAX_NDIM + 1];
} equation;

static void push_unknown(equation *e, int64_t stride, int64_t low, int64_t high) {
    e->stride[e->n] = stride;
    e->low[e->n] = low;
    e->high[e->n++] = high;
}

/* Keep the first coordinate of the view at which x is such a number. */
static tg_status look(tg_view_answer *answer, const tg_storage *s, const tg_view *view, int32_t depth, int64_t low,
                      int64_t high, tg_error *err) {
    equation e = {.n = 0};
    int64_t  v[2 * TG_MAX_NDIM + 1];
    bool     before = answer->reason == TG_VIEW_FITS;
    if (low > high) return TG_OK;
    for (int32_t d = 0; d < view->ndim; d++) push_unknown(&e, view->strides[d], 0, view->shape[d] - 1);
    for (int32_t i = 0; i < depth; i++) push_unknown(&e, -s->stride[i], 0, s->size[i] - 1 - (i == depth - 1));
    push_unknown(&e, -1, low, high);
    tg_solve        problem = {e.n, e.stride, e.low, e.high, NULL, NULL, MAX_STEPS};
    const tg_solved solved = tg_solve_box(v, &problem, s->base - view->offset); /* fits: checked below */
    if (solved == TG_SOLVED_UNDECIDED)
        return tg_fail(err, TG_ERR_LIMIT, "whether the view leaves the tensor takes over %d steps to see",
                       (int64_t)MAX_STEPS);
    if (solved == TG_SOLVED_NO) return TG_OK;
    for (int32_t d = 0; d < view->ndim && !before; d++) {
        if (v[d] > answer->coord[d]) return TG_OK;
        before = v[d] < answer->coord[d];
    }
    answer->host_offset = view->offset;
    for (int32_t d = 0; d < view->ndim; d++) {
        answer->coord[d] = v[d];
        answer->host_offset += v[d] * view->strides[d];
    }
    const int64_t x = answer->host_offset - s->base;
    answer->reason = x >= 0 && x < s->extent ? TG_VIEW_GAP : TG_VIEW_OUTSIDE;
    return TG_OK;
}

/* Least and greatest x of the view. */
static tg_status measure_view(int64_t *low, int64_t *high, const tg_storage *s, const tg_view *view, tg_error *err) {
    int64_t l = 0, h = 0, back;
    if (tg_view_bounds(&l, &h, view) && tg_sub(low, l, s->base) && tg_sub(high, h, s->base) &&
        tg_sub(&back, s->base, view->offset))
        return TG_OK;
    return tg_fail(err, TG_ERR_OVERFLOW, "the view begins at %d and the tensor at %d, which is too far apart",
                   view->offset, s->base);
}

/* Between the elements along level i there is nothing but what the levels below take. */
static tg_status check_gaps(tg_view_answer *answer, const tg_storage *s, const tg_view *view, tg_error *err) {
    tg_status status = TG_OK;
    int64_t   below = 1;
    for (int32_t i = s->nlevels; i-- > 0 && status == TG_OK;) {
        status = look(answer, s, view, i + 1, below, s->stride[i] - 1, err);
        below += s->stride[i] * (s->size[i] - 1);
    }
    return status;
}

tg_status tg_storage_check(tg_view_answer *answer, const tg_storage *s, const tg_view *view, tg_error *err) {
    int64_t   low = 0, high = 0;
    tg_status status = measure_view(&low, &high, s, view, err);
    if (status != TG_OK) return status;
    answer->reason = TG_VIEW_FITS;
    answer->low = s->base;
    if (!tg_add(&answer->high, s->base, s->extent)) answer->high = INT64_MAX; /* the last element is the last number */
    status = look(answer, s, view, 0, low, -1, err);
    if (status == TG_OK) status = look(answer, s, view, 0, s->extent, high, err);
    return status == TG_OK && s->has_gaps ? check_gaps(answer, s, view, err) : status;
}
