/* Which dimensions does a reshape or a transpose leave whole? Sizes alone decide, layouts are not looked at. */
#include "hlo/shape.h"

#include <string.h>

/* ---- common factors ------------------------------------------------------------------------ */

static tg_status check_sizes(const int64_t *sizes, int32_t n, int64_t *product, tg_error *err) {
    for (int32_t i = 0; i < n; i++)
        if (sizes[i] < 0)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, i, "common factors: size %d of entry %d is negative", sizes[i],
                               (int64_t)i);
    if (n < 0) return tg_fail(err, TG_ERR_ARGUMENT, "common factors: a list of %d entries", (int64_t)n);
    if (!tg_product(product, sizes, n))
        return tg_fail(err, TG_ERR_OVERFLOW, "common factors: the product of %v does not fit 63 bits", sizes, (int)n);
    return TG_OK;
}

/* Two lists walked side by side. */
typedef struct factors {
    const int64_t *a, *b;
    int32_t        na, nb, i, j;
    tg_xla_pair   *pairs;
    int32_t        n;
} factors;

static void note(factors *f) { f->pairs[f->n++] = (tg_xla_pair){f->i, f->j}; }

static void note_end(factors *f) {
    f->i = f->na;
    f->j = f->nb;
    note(f);
}

/* Whichever product is behind takes its next size; where they agree, the smaller of the two next sizes is taken, or
 * both. Products are below the whole ones, which fit. */
static void walk(factors *f) {
    int64_t left = 1, right = 1;
    while (f->i < f->na || f->j < f->nb) {
        const bool more_a = f->i < f->na, more_b = f->j < f->nb, even = left == right;
        const bool take_a = more_a && (left < right || (even && (!more_b || f->a[f->i] <= f->b[f->j])));
        const bool take_b = more_b && (right < left || (even && (!more_a || f->b[f->j] <= f->a[f->i])));
        if (take_a) left *= f->a[f->i++];
        if (take_b) right *= f->b[f->j++];
        if (left == right) note(f);
    }
}

tg_status tg_xla_common_factors(int32_t *npairs, tg_xla_pair *pairs, const int64_t *a, int32_t na, const int64_t *b,
                                int32_t nb, tg_error *err) {
    factors   f = {a, b, na, nb, 0, 0, pairs, 0};
    int64_t   left, right;
    tg_status s = check_sizes(a, na, &left, err);
    if (s == TG_OK) s = check_sizes(b, nb, &right, err);
    if (s != TG_OK) return s;
    if (left != right)
        return tg_fail(err, TG_ERR_ARGUMENT, "common factors: products %d and %d differ", left, right);
    note(&f);
    for (; f.i < na && f.j < nb && a[f.i] == b[f.j]; note(&f)) f.i++, f.j++;
    /* What is left of two products 0 may differ, or not fit. */
    const bool fits = tg_product(&left, a + f.i, na - f.i) && tg_product(&right, b + f.j, nb - f.j);
    if (!fits || left != right) {
        f.n = 1;
        note_end(&f);
    } else if (left == 0) {
        note_end(&f);
    } else {
        walk(&f);
    }
    *npairs = f.n;
    return TG_OK;
}

/* ---- dimensions that a reshape leaves whole --------------------------------------------------- */

static tg_status check_pair(const tg_xla_shape *a, const tg_xla_shape *b, tg_error *err) {
    int64_t   left, right;
    tg_status s = tg_shape_need_sizes(a, err);
    if (s == TG_OK) s = tg_shape_need_sizes(b, err);
    if (s == TG_OK) s = tg_xla_elements(&left, a, 1, err);
    if (s == TG_OK) s = tg_xla_elements(&right, b, 1, err);
    if (s == TG_OK && left != right)
        s = tg_fail(err, TG_ERR_ARGUMENT, "reshape: %v has %d elements, and %v has %d", a->dims, (int)a->ndim, left,
                    b->dims, (int)b->ndim, right);
    return s;
}

/* pairs has room for 2 * TG_MAX_NDIM + 1. */
static tg_status unmodified(int32_t *npairs, tg_xla_pair *pairs, const tg_xla_shape *a, const tg_xla_shape *b,
                            tg_error *err) {
    int32_t   n, kept = 0;
    tg_status s = check_pair(a, b, err);
    if (s == TG_OK) s = tg_xla_common_factors(&n, pairs, a->dims, a->ndim, b->dims, b->ndim, err);
    if (s != TG_OK) return s;
    for (int32_t g = 0; g + 1 < n; g++)
        if (pairs[g + 1].a == pairs[g].a + 1 && pairs[g + 1].b == pairs[g].b + 1) pairs[kept++] = pairs[g];
    *npairs = kept;
    return TG_OK;
}

tg_status tg_xla_dims_unmodified_by_reshape(int32_t *npairs, tg_xla_pair *pairs, const tg_xla_shape *a,
                                            const tg_xla_shape *b, tg_error *err) {
    tg_xla_pair     all[2 * TG_MAX_NDIM + 1];
    int32_t         n;
    const tg_status s = unmodified(&n, all, a, b, err);
    if (s != TG_OK) return s;
    memcpy(pairs, all, (size_t)n * sizeof all[0]);
    *npairs = n;
    return TG_OK;
}

tg_status tg_xla_reshape_leaves_dims(bool *unmodified_too, int32_t *images, const tg_xla_shape *a,
                                     const tg_xla_shape *b, const int32_t *dims, int32_t n, tg_error *err) {
    tg_xla_pair pairs[2 * TG_MAX_NDIM + 1];
    int32_t     npairs, image[TG_MAX_NDIM], result[TG_MAX_NDIM];
    tg_status   s = unmodified(&npairs, pairs, a, b, err);
    if (s == TG_OK && (n < 0 || n > TG_MAX_NDIM))
        s = tg_fail(err, TG_ERR_ARGUMENT, "reshape: a list of %d dimensions", (int64_t)n);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < a->ndim; d++) image[d] = -1;
    for (int32_t i = 0; i < npairs; i++) image[pairs[i].a] = pairs[i].b;
    bool all = true;
    for (int32_t i = 0; i < n; i++) {
        if ((s = tg_shape_need_dim(dims[i], a->ndim, "reshape", err)) != TG_OK) return s;
        result[i] = image[dims[i]];
        all = all && result[i] >= 0;
    }
    *unmodified_too = all;
    if (all && n > 0) memcpy(images, result, (size_t)n * sizeof result[0]);
    return TG_OK;
}

/* ---- dimensions of size 1 ------------------------------------------------------------------------ */

static int32_t skip_units(const tg_xla_shape *array, int32_t from) {
    while (from < array->ndim && array->dims[from] == 1) from++;
    return from;
}

/* Rows of neighbouring dimensions of size 1 stand between the others; of two rows the surplus is taken out or put in.
 */
tg_status tg_xla_inserted_or_deleted_units(bool *only, tg_xla_unit_dims *out, const tg_xla_shape *a,
                                           const tg_xla_shape *b, tg_error *err) {
    tg_xla_unit_dims u = {.ndeleted = 0};
    const tg_status  s = check_pair(a, b, err);
    if (s != TG_OK) return s;
    for (int32_t i = 0, j = 0;; i++, j++) {
        const int32_t next_i = skip_units(a, i), next_j = skip_units(b, j);
        const int32_t both = next_i - i < next_j - j ? next_i - i : next_j - j;
        for (int32_t d = i + both; d < next_i; d++) u.deleted[u.ndeleted++] = d;
        for (int32_t d = j + both; d < next_j; d++) u.inserted[u.ninserted++] = d;
        i = next_i;
        j = next_j;
        const bool end = i == a->ndim || j == b->ndim;
        *only = end ? i == a->ndim && j == b->ndim : a->dims[i] == b->dims[j];
        if (end || !*only) break;
    }
    if (*only) *out = u;
    return TG_OK;
}

/* ---- transposes ------------------------------------------------------------------------------------ */

/* Numbers of the input's dimensions without those of size 1. */
static void number_without_units(int32_t *number, const tg_xla_shape *output, const int32_t *perm) {
    int64_t input[TG_MAX_NDIM];
    for (int32_t i = 0; i < output->ndim; i++) input[perm[i]] = output->dims[i];
    for (int32_t d = 0, next = 0; d < output->ndim; d++) number[d] = input[d] != 1 ? next++ : -1;
}

/* pos[i] becomes its rank among all of them. */
static void rank(int32_t *perm, const int32_t *first, int32_t n) {
    for (int32_t i = 0; i < n; i++) {
        perm[i] = 0;
        for (int32_t k = 0; k < n; k++) perm[i] += first[k] < first[i];
    }
}

tg_status tg_xla_normalize_transpose(int32_t *ndim, int64_t *dims, int32_t *normalized_perm,
                                     const tg_xla_shape *output, const int32_t *perm, tg_error *err) {
    int32_t   number[TG_MAX_NDIM], first[TG_MAX_NDIM], n = 0, last = -1; /* first: the first number of each segment */
    int64_t   size[TG_MAX_NDIM], numel;
    tg_status s = tg_xla_elements(&numel, output, 1, err);
    if (s == TG_OK) s = tg_shape_need_permutation(perm, output->ndim, "transpose", err);
    if (s != TG_OK) return s;
    number_without_units(number, output, perm);
    for (int32_t i = 0; i < output->ndim; i++) {
        if (output->dims[i] == 1) continue;
        const bool goes_on = n > 0 && number[perm[i]] == last + 1;
        last = number[perm[i]];
        if (!goes_on) {
            first[n] = last;
            size[n++] = output->dims[i];
        } else if (!tg_mul(&size[n - 1], size[n - 1], output->dims[i])) {
            return tg_fail_dim(err, TG_ERR_OVERFLOW, i, "the merged dimensions do not fit 63 bits");
        }
    }
    *ndim = n;
    memcpy(dims, size, (size_t)n * sizeof size[0]);
    rank(normalized_perm, first, n);
    return TG_OK;
}
