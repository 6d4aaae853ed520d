/* Views as PyTorch writes them: x.t()[:, 3:9].reshape(-1, 2).
 *
 * A chain of methods and indices, each of which makes a view of the view before it. Only what PyTorch does without
 * copying is here; reshape is torch.Tensor.view. Numbers are Python's: negative dimensions, indices and bounds count
 * from the end, and bounds of slices are cut at the edges. */
#include "transfer/viewing.h"

#include "base/text.h"

#include <string.h>

enum { MAX_NUMBERS = 3 * TG_MAX_NDIM + 1, MAX_ITEMS = MAX_NUMBERS };

/* What stands between the parentheses: numbers, and numbers in brackets. */
typedef struct item {
    bool    is_list;
    int32_t first, n; /* of its numbers */
    size_t  at;
} item;

typedef struct arguments {
    int32_t n, nnumbers;
    item    item[MAX_ITEMS];
    int64_t number[MAX_NUMBERS];
} arguments;

typedef struct reader {
    tg_cursor   c;
    tg_view     view;
    const char *name; /* of the method at hand */
    size_t      len, at;
    tg_error   *err;
} reader;

/* ---- numbers ---- */

static tg_status take_number(reader *r, int64_t *value, const char *what) {
    bool found = false;
    tg_skip_blanks(&r->c);
    const size_t at = r->c.pos;
    if (!tg_take_int(&r->c, value, &found)) return tg_fail_at(r->err, at, "this number does not fit 64 bits");
    return found ? TG_OK : tg_fail_at(r->err, at, "expected %s", what);
}

static tg_status push_number(reader *r, arguments *a) {
    if (a->nnumbers == MAX_NUMBERS)
        return tg_fail_at(r->err, r->c.pos, "more than %d numbers, the limit", (int64_t)MAX_NUMBERS);
    return take_number(r, &a->number[a->nnumbers++], "a number");
}

static char closing(tg_cursor *c) {
    if (tg_take_char(c, '(')) return ')';
    return (char)(tg_take_char(c, '[') ? ']' : '\0');
}

/* "1", "(1, 2)", "[1, 2]" */
static tg_status take_item(reader *r, arguments *a) {
    if (a->n == MAX_ITEMS) return tg_fail_at(r->err, r->c.pos, "more than %d arguments, the limit", (int64_t)MAX_ITEMS);
    item *it = &a->item[a->n++];
    tg_skip_blanks(&r->c);
    *it = (item){false, a->nnumbers, 1, r->c.pos};
    const char close = closing(&r->c);
    if (close == '\0') return push_number(r, a);
    it->is_list = true;
    while (!tg_take_char(&r->c, close)) {
        const tg_status s = push_number(r, a);
        if (s != TG_OK) return s;
        if (tg_take_char(&r->c, ',') || tg_take_char(&r->c, close)) {
            if (r->c.text[r->c.pos - 1] == close) break;
            continue;
        }
        return tg_fail_at(r->err, r->c.pos, close == ')' ? "expected `,` or `)`" : "expected `,` or `]`");
    }
    it->n = a->nnumbers - it->first;
    return TG_OK;
}

static tg_status take_arguments(reader *r, arguments *a) {
    a->n = a->nnumbers = 0;
    if (!tg_take_char(&r->c, '(')) return tg_fail_at(r->err, r->c.pos, "expected `(` behind %t", r->name, r->len);
    if (tg_take_char(&r->c, ')')) return TG_OK;
    for (;;) {
        const tg_status s = take_item(r, a);
        if (s != TG_OK) return s;
        if (tg_take_char(&r->c, ')')) return TG_OK;
        if (!tg_take_char(&r->c, ',')) return tg_fail_at(r->err, r->c.pos, "expected `,` or `)`");
        if (tg_take_char(&r->c, ')')) return TG_OK;
    }
}

/* ---- what a method wants ---- */

static tg_status want(reader *r, const arguments *a, int32_t least, int32_t most, const char *how) {
    for (int32_t i = 0; i < a->n; i++)
        if (a->item[i].is_list) return tg_fail_at(r->err, a->item[i].at, "expected %t%s", r->name, r->len, how);
    if (a->n >= least && a->n <= most) return TG_OK;
    return tg_fail_at(r->err, r->at, "expected %t%s", r->name, r->len, how);
}

/* A dimension in [-ndim, ndim) as one in [0, ndim). */
static tg_status take_dim(reader *r, int32_t *dim, int64_t given, int32_t ndim) {
    if (given < -ndim || given >= ndim)
        return tg_fail_at(r->err, r->at, "%t: dimension %d is not in [%d, %d)", r->name, r->len, given, (int64_t)-ndim,
                          (int64_t)ndim);
    *dim = (int32_t)(given < 0 ? given + ndim : given);
    return TG_OK;
}

/* The numbers of (1, 2) or ((1, 2)). */
static tg_status want_sizes(reader *r, const arguments *a, const int64_t **sizes, int32_t *n) {
    *sizes = a->number;
    *n = a->nnumbers;
    for (int32_t i = 0; i < a->n; i++)
        if (a->item[i].is_list && a->n > 1)
            return tg_fail_at(r->err, a->item[i].at, "expected one list of numbers, not several");
    if (a->nnumbers <= TG_MAX_NDIM) return TG_OK;
    return tg_fail_at(r->err, r->at, "%t: %d numbers are over the limit of %d dimensions", r->name, r->len,
                      (int64_t)a->nnumbers, (int64_t)TG_MAX_NDIM);
}

/* ---- methods ---- */

typedef tg_status (*method)(reader *r, const arguments *a);

static tg_status do_transpose(reader *r, const arguments *a) {
    int32_t   dim0 = 0, dim1 = 0;
    tg_status s = want(r, a, 2, 2, "(dim0, dim1)");
    if (s == TG_OK) s = take_dim(r, &dim0, a->number[0], r->view.ndim);
    if (s == TG_OK) s = take_dim(r, &dim1, a->number[1], r->view.ndim);
    return s == TG_OK ? tg_view_transpose(&r->view, &r->view, dim0, dim1, r->err) : s;
}

static tg_status reverse_dims(reader *r) {
    int32_t perm[TG_MAX_NDIM];
    for (int32_t d = 0; d < r->view.ndim; d++) perm[d] = r->view.ndim - 1 - d;
    return tg_view_permute(&r->view, &r->view, perm, r->err);
}

static tg_status do_t(reader *r, const arguments *a) {
    const tg_status s = want(r, a, 0, 0, "()");
    if (s != TG_OK) return s;
    if (r->view.ndim > 2) return tg_fail_at(r->err, r->at, "t: %d dimensions are more than 2", (int64_t)r->view.ndim);
    return reverse_dims(r);
}

static tg_status do_permute(reader *r, const arguments *a) {
    const int64_t *given;
    int32_t        n, perm[TG_MAX_NDIM];
    tg_status      s = want_sizes(r, a, &given, &n);
    if (s != TG_OK) return s;
    if (n != r->view.ndim)
        return tg_fail_at(r->err, r->at, "permute: %d dimensions are listed, and there are %d", (int64_t)n,
                          (int64_t)r->view.ndim);
    for (int32_t d = 0; d < n && s == TG_OK; d++) s = take_dim(r, &perm[d], given[d], n);
    return s == TG_OK ? tg_view_permute(&r->view, &r->view, perm, r->err) : s;
}

static tg_status do_movedim(reader *r, const arguments *a) {
    int32_t   from = 0, to = 0, n = 0, perm[TG_MAX_NDIM];
    tg_status s = want(r, a, 2, 2, "(source, destination)");
    if (s == TG_OK) s = take_dim(r, &from, a->number[0], r->view.ndim);
    if (s == TG_OK) s = take_dim(r, &to, a->number[1], r->view.ndim);
    if (s != TG_OK) return s;
    for (int32_t d = 0, k = 0; d < r->view.ndim; d++) {
        if (d == to) perm[n++] = from;
        else {
            k += k == from;
            perm[n++] = k++;
        }
    }
    return tg_view_permute(&r->view, &r->view, perm, r->err);
}

static tg_status do_reshape(reader *r, const arguments *a) {
    const int64_t  *sizes;
    int32_t         n;
    const tg_status s = want_sizes(r, a, &sizes, &n);
    return s == TG_OK ? tg_view_reshape(&r->view, &r->view, n, sizes, r->err) : s;
}

static tg_status do_expand(reader *r, const arguments *a) {
    const int64_t  *sizes;
    int32_t         n;
    const tg_status s = want_sizes(r, a, &sizes, &n);
    return s == TG_OK ? tg_view_expand(&r->view, &r->view, n, sizes, r->err) : s;
}

/* Dimensions [first, last] become those of these sizes. */
static tg_status replace_dims(reader *r, int32_t first, int32_t last, const int64_t *sizes, int32_t n) {
    int64_t shape[2 * TG_MAX_NDIM];
    int32_t ndim = 0;
    for (int32_t d = 0; d < first; d++) shape[ndim++] = r->view.shape[d];
    for (int32_t i = 0; i < n; i++) shape[ndim++] = sizes[i];
    for (int32_t d = last + 1; d < r->view.ndim; d++) shape[ndim++] = r->view.shape[d];
    return tg_view_reshape(&r->view, &r->view, ndim, shape, r->err);
}

static tg_status do_flatten(reader *r, const arguments *a) {
    const int64_t begin = a->n > 0 ? a->number[0] : 0, end = a->n > 1 ? a->number[1] : -1;
    int32_t       first = 0, last = 0;
    int64_t       size = 1;
    tg_status     s = want(r, a, 0, 2, "(start_dim, end_dim)");
    if (s != TG_OK) return s;
    if (r->view.ndim == 0) return replace_dims(r, 0, -1, &size, 1);
    if (s == TG_OK) s = take_dim(r, &first, begin, r->view.ndim);
    if (s == TG_OK) s = take_dim(r, &last, end, r->view.ndim);
    if (s != TG_OK) return s;
    if (first > last)
        return tg_fail_at(r->err, r->at, "flatten: dimension %d is behind %d", (int64_t)first, (int64_t)last);
    if (!tg_product(&size, r->view.shape + first, last + 1 - first))
        return tg_fail(r->err, TG_ERR_OVERFLOW, "flatten: the elements do not fit 63 bits");
    return replace_dims(r, first, last, &size, 1);
}

static tg_status do_unflatten(reader *r, const arguments *a) {
    int32_t   dim = 0;
    int64_t   sizes[TG_MAX_NDIM], known = 1;
    tg_status s = TG_OK;
    if (a->n != 2 || a->item[0].is_list || !a->item[1].is_list || a->item[1].n > TG_MAX_NDIM || a->item[1].n == 0)
        return tg_fail_at(r->err, r->at, "expected unflatten(dim, (sizes))");
    if ((s = take_dim(r, &dim, a->number[0], r->view.ndim)) != TG_OK) return s;
    for (int32_t i = 0; i < a->item[1].n; i++) {
        sizes[i] = a->number[a->item[1].first + i];
        if (sizes[i] > 0 && !tg_mul(&known, known, sizes[i])) known = INT64_MAX;
    }
    for (int32_t i = 0; i < a->item[1].n; i++)
        if (sizes[i] == -1) sizes[i] = r->view.shape[dim] / known;
    int64_t product = 0;
    if (!tg_product(&product, sizes, a->item[1].n) || product != r->view.shape[dim])
        return tg_fail_at(r->err, r->at, "unflatten: %v do not make %d, the size of dimension %d", sizes, a->item[1].n,
                          r->view.shape[dim], (int64_t)dim);
    return replace_dims(r, dim, dim, sizes, a->item[1].n);
}

static tg_status do_squeeze(reader *r, const arguments *a) {
    int32_t   dim = 0;
    tg_status s = want(r, a, 0, 1, "() or (dim)");
    if (s != TG_OK) return s;
    if (a->n == 1) {
        if (r->view.ndim == 0 && (a->number[0] == 0 || a->number[0] == -1)) return TG_OK;
        if ((s = take_dim(r, &dim, a->number[0], r->view.ndim)) != TG_OK) return s;
        return r->view.shape[dim] != 1 ? TG_OK : tg_view_squeeze(&r->view, &r->view, dim, r->err);
    }
    for (int32_t d = r->view.ndim; d-- > 0 && s == TG_OK;)
        if (r->view.shape[d] == 1) s = tg_view_squeeze(&r->view, &r->view, d, r->err);
    return s;
}

static tg_status do_unsqueeze(reader *r, const arguments *a) {
    int32_t   dim = 0;
    tg_status s = want(r, a, 1, 1, "(dim)");
    if (s == TG_OK) s = take_dim(r, &dim, a->number[0], r->view.ndim + 1);
    return s == TG_OK ? tg_view_unsqueeze(&r->view, &r->view, dim, r->err) : s;
}

/* Element `given` of a dimension, counted from the end if negative. */
static tg_status select_element(reader *r, int32_t dim, int64_t given) {
    const int64_t size = r->view.shape[dim];
    if (given < -size || given >= size)
        return tg_fail_at(r->err, r->at, "index %d is out of dimension %d, which has size %d", given, (int64_t)dim,
                          size);
    return tg_view_select(&r->view, &r->view, dim, given < 0 ? given + size : given, r->err);
}

static tg_status do_select(reader *r, const arguments *a) {
    int32_t   dim = 0;
    tg_status s = want(r, a, 2, 2, "(dim, index)");
    if (s == TG_OK) s = take_dim(r, &dim, a->number[0], r->view.ndim);
    return s == TG_OK ? select_element(r, dim, a->number[1]) : s;
}

static tg_status do_narrow(reader *r, const arguments *a) {
    int32_t   dim = 0;
    tg_status s = want(r, a, 3, 3, "(dim, start, length)");
    if (s == TG_OK) s = take_dim(r, &dim, a->number[0], r->view.ndim);
    if (s != TG_OK) return s;
    const int64_t size = r->view.shape[dim], length = a->number[2];
    const int64_t start = a->number[1] < 0 ? a->number[1] + size : a->number[1];
    if (start < 0 || start > size || length < 0 || length > size - start)
        return tg_fail_at(r->err, r->at, "narrow: %d elements from %d on leave dimension %d of size %d", length,
                          a->number[1], (int64_t)dim, size);
    return tg_view_slice(&r->view, &r->view, dim, start, start + length, 1, r->err);
}

static tg_status do_unfold(reader *r, const arguments *a) {
    int32_t   dim = 0;
    tg_status s = want(r, a, 3, 3, "(dim, size, step)");
    if (s == TG_OK) s = take_dim(r, &dim, a->number[0], r->view.ndim);
    return s == TG_OK ? tg_view_unfold(&r->view, &r->view, dim, a->number[1], a->number[2], r->err) : s;
}

static tg_status do_diagonal(reader *r, const arguments *a) {
    const int64_t offset = a->n > 0 ? a->number[0] : 0;
    int32_t       dim0 = 0, dim1 = 0;
    tg_status     s = want(r, a, 0, 3, "(offset, dim1, dim2)");
    if (s == TG_OK) s = take_dim(r, &dim0, a->n > 1 ? a->number[1] : 0, r->view.ndim);
    if (s == TG_OK) s = take_dim(r, &dim1, a->n > 2 ? a->number[2] : 1, r->view.ndim);
    if (s != TG_OK) return s;
    if (dim0 == dim1) return tg_fail_at(r->err, r->at, "diagonal: both dimensions are %d", (int64_t)dim0);
    tg_view       v = r->view;
    const int64_t down = offset < 0 ? -tg_max(offset, -v.shape[dim0]) : 0;
    const int64_t right = offset > 0 ? tg_min(offset, v.shape[dim1]) : 0;
    const int64_t n = tg_min(v.shape[dim0] - down, v.shape[dim1] - right);
    int64_t       stride = 0;
    if ((s = tg_view_slice(&v, &v, dim0, down, down + n, 1, r->err)) != TG_OK ||
        (s = tg_view_slice(&v, &v, dim1, right, right + n, 1, r->err)) != TG_OK)
        return s;
    if (!tg_add(&stride, v.strides[dim0], v.strides[dim1]))
        return tg_fail(r->err, TG_ERR_OVERFLOW, "diagonal: its stride does not fit 63 bits");
    v.shape[dim0] = v.shape[dim1] = 1; /* both go, and the diagonal comes last */
    s = tg_view_squeeze(&v, &v, (int32_t)tg_max(dim0, dim1), r->err);
    if (s == TG_OK) s = tg_view_squeeze(&v, &v, (int32_t)tg_min(dim0, dim1), r->err);
    if (s == TG_OK) s = tg_view_unsqueeze(&v, &v, v.ndim, r->err);
    if (s != TG_OK) return s;
    v.shape[v.ndim - 1] = n;
    v.strides[v.ndim - 1] = stride;
    r->view = v;
    return TG_OK;
}

static tg_status do_as_strided(reader *r, const arguments *a) {
    tg_view v = {.offset = r->view.offset};
    if (a->n < 2 || a->n > 3 || !a->item[0].is_list || !a->item[1].is_list || (a->n == 3 && a->item[2].is_list) ||
        a->item[0].n != a->item[1].n || a->item[0].n > TG_MAX_NDIM)
        return tg_fail_at(r->err, r->at, "expected as_strided((sizes), (as many strides), offset)");
    v.ndim = a->item[0].n;
    for (int32_t d = 0; d < v.ndim; d++) {
        v.shape[d] = a->number[a->item[0].first + d];
        v.strides[d] = a->number[a->item[1].first + d];
    }
    if (a->n == 3) v.offset = a->number[a->item[2].first];
    const tg_status s = tg_view_check(&v, r->err);
    if (s == TG_OK) r->view = v;
    return s;
}

static const struct {
    const char *name;
    method      run;
} methods[] = {
    {"as_strided", do_as_strided}, {"diagonal", do_diagonal},   {"expand", do_expand},       {"flatten", do_flatten},
    {"movedim", do_movedim},       {"narrow", do_narrow},       {"permute", do_permute},     {"reshape", do_reshape},
    {"select", do_select},         {"squeeze", do_squeeze},     {"swapaxes", do_transpose},  {"swapdims", do_transpose},
    {"t", do_t},                   {"transpose", do_transpose}, {"unflatten", do_unflatten}, {"unfold", do_unfold},
    {"unsqueeze", do_unsqueeze},   {"view", do_reshape},
};

/* .T and .mT */
static tg_status transpose_property(reader *r) {
    if (r->len == 1) return reverse_dims(r);
    if (r->view.ndim < 2) return tg_fail_at(r->err, r->at, "mT: %d dimensions are less than 2", (int64_t)r->view.ndim);
    return tg_view_transpose(&r->view, &r->view, r->view.ndim - 2, r->view.ndim - 1, r->err);
}

static tg_status read_method(reader *r) {
    arguments a;
    tg_skip_blanks(&r->c);
    r->at = r->c.pos;
    r->len = tg_take_name(&r->c, &r->name);
    if (r->len == 0) return tg_fail_at(r->err, r->at, "expected the name of a view, such as transpose");
    if (tg_text_equal(r->name, r->len, "T") || tg_text_equal(r->name, r->len, "mT")) return transpose_property(r);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (!tg_text_equal(r->name, r->len, methods[i].name)) continue;
        const tg_status s = take_arguments(r, &a);
        return s == TG_OK ? methods[i].run(r, &a) : s;
    }
    return tg_fail_at(r->err, r->at,
                      "%t is not known here; known are as_strided, diagonal, expand, flatten, movedim, narrow, "
                      "permute, reshape, select, squeeze, t, transpose, unflatten, unfold, unsqueeze, view",
                      r->name, r->len);
}

/* ---- indices ---- */

/* A bound of a slice in a dimension of this size: counted from the end if negative, and cut at the edges. */
static int64_t cut_bound(int64_t given, int64_t size, int64_t step) {
    const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
    return tg_min(tg_max(given < 0 ? given + size : given, least), most);
}

static bool ends_bound(const tg_cursor *c) {
    const int ch = tg_peek(c);
    return ch == ':' || ch == ',' || ch == ']';
}

/* "a:b:c" behind its first number, if it has one. */
static tg_status read_slice(reader *r, int32_t dim, bool has_start, int64_t start) {
    const int64_t size = r->view.shape[dim];
    int64_t       stop = 0, step = 1;
    bool          has_stop = false;
    tg_status     s = TG_OK;
    (void)tg_take_char(&r->c, ':');
    tg_skip_blanks(&r->c);
    if (!ends_bound(&r->c)) {
        has_stop = true;
        s = take_number(r, &stop, "a number, `:`, `,` or `]`");
    }
    if (s == TG_OK && tg_take_char(&r->c, ':')) {
        tg_skip_blanks(&r->c);
        if (!ends_bound(&r->c)) s = take_number(r, &step, "a number, `,` or `]`");
    }
    if (s != TG_OK) return s;
    if (step == 0 || step == INT64_MIN) return tg_fail_at(r->err, r->at, "slice: step %d is not allowed", step);
    start = has_start ? cut_bound(start, size, step) : step > 0 ? 0 : size - 1;
    stop = has_stop ? cut_bound(stop, size, step) : step > 0 ? size : -1;
    if (size == 0) {
        start = stop = 0;
        step = 1;
    }
    return tg_view_slice(&r->view, &r->view, dim, start, stop, step, r->err);
}

/* How many dimensions the indices up to `]` name. */
static int32_t count_indices(tg_cursor c) {
    int32_t n = 0;
    bool    any = false;
    for (; !tg_at_end(&c) && tg_peek(&c) != ']'; c.pos++) {
        if (tg_peek(&c) == ',') {
            n += any;
            any = false;
        } else if (tg_peek(&c) == 'N' || tg_peek(&c) == '.') {
            any = false;
            while (!tg_at_end(&c) && tg_peek(&c) != ',' && tg_peek(&c) != ']') c.pos++;
            c.pos--;
        } else if (tg_peek(&c) != ' ') {
            any = true;
        }
    }
    return n + any;
}

static tg_status check_index_dim(reader *r, int32_t dim) {
    if (dim < r->view.ndim) return TG_OK;
    return tg_fail_at(r->err, r->at, "too many indices: there are %d dimensions left", (int64_t)r->view.ndim);
}

/* One index at dimension *dim, which goes on. *left: dimensions that this index and those behind it name. */
static tg_status read_index(reader *r, int32_t *dim, int32_t *left) {
    int64_t number = 0;
    bool    found = false;
    tg_skip_blanks(&r->c);
    r->at = r->c.pos;
    if (r->c.len - r->c.pos >= 3 && memcmp(r->c.text + r->c.pos, "...", 3) == 0) {
        r->c.pos += 3;
        if (*left > r->view.ndim - *dim) return check_index_dim(r, r->view.ndim);
        *dim = r->view.ndim - *left;
        return TG_OK;
    }
    if (tg_take_word(&r->c, "None")) return tg_view_unsqueeze(&r->view, &r->view, (*dim)++, r->err);
    if (!tg_take_int(&r->c, &number, &found)) return tg_fail_at(r->err, r->at, "this number does not fit 64 bits");
    tg_skip_blanks(&r->c);
    if (!found && tg_peek(&r->c) != ':')
        return tg_fail_at(r->err, r->at, "expected a number, a slice such as 3:9, `...` or None");
    const tg_status s = check_index_dim(r, *dim);
    if (s != TG_OK) return s;
    --*left;
    if (tg_peek(&r->c) == ':') return read_slice(r, (*dim)++, found, number);
    return select_element(r, *dim, number);
}

static tg_status read_indices(reader *r) {
    int32_t dim = 0, left = count_indices(r->c);
    for (;;) {
        const tg_status s = read_index(r, &dim, &left);
        if (s != TG_OK) return s;
        if (tg_take_char(&r->c, ']')) return TG_OK;
        if (!tg_take_char(&r->c, ',')) return tg_fail_at(r->err, r->c.pos, "expected `,` or `]`");
        if (tg_take_char(&r->c, ']')) return TG_OK;
    }
}

/* ---- the chain ---- */

/* A failure of a view, at the place of what asked for it. */
static tg_status place_error(reader *r, tg_status s) {
    if (s != TG_OK && s != TG_ERR_PARSE && r->err != NULL) r->err->pos = r->at;
    return s;
}

tg_status tg_view_parse(tg_view *out, const tg_view *in, const char *text, size_t len, tg_error *err) {
    reader      r = {.c = tg_cursor_make(text, len), .view = *in, .err = err};
    const char *name = NULL;
    tg_status   s = tg_view_check(in, err);
    if (s != TG_OK) return s;
    (void)tg_take_name(&r.c, &name); /* the tensor, whatever it is called */
    while (s == TG_OK) {
        tg_skip_blanks(&r.c);
        if (tg_at_end(&r.c)) break;
        r.at = r.c.pos;
        if (tg_take_char(&r.c, '.')) s = place_error(&r, read_method(&r));
        else if (tg_take_char(&r.c, '[')) s = place_error(&r, read_indices(&r));
        else s = tg_fail_at(err, r.c.pos, "expected `.` and a view, or `[` and indices");
    }
    if (s == TG_OK) *out = r.view;
    return s;
}
