/* Layouts from layouts: views, the algebra of modes, other notations.
 *
 * A view is of the map; then a notation is looked for that says the result:
 *   - of a strided layout: strides, if they exist. The storage then ends at the last element of the view.
 *   - of a Spyre layout: the same device layout over the same view of the host tensor, if that is the same map. This is
 *     what PyTorch does with a view of a device tensor.
 *   - of an XLA layout: minor_to_major and tiles with the same map and storage, if they exist.
 * Else, and after an operation on modes, the modes alone are the layout. */
#include "py_layout.h"

#include <string.h>
#include <tegula/xla.h>

static const core_layout *layout_of(PyObject *object) { return (const core_layout *)object; }

/* One view, so that it can be done to several layouts. */
typedef struct view {
    enum { PERMUTE, TRANSPOSE, RESHAPE, SLICE, SELECT, EXPAND, SQUEEZE, UNSQUEEZE } what;
    int32_t n, dim, dim1, perm[TG_MAX_NDIM];
    int64_t size[TG_MAX_NDIM], start, stop, step;
} view;

static tg_status apply_select(tg_layout *out, const tg_layout *in, const view *v, tg_error *err) {
    tg_layout       one;
    const tg_status s = tg_layout_slice(&one, in, v->dim, v->start, v->stop, 1, err);
    return s == TG_OK ? tg_layout_squeeze(out, &one, v->dim, err) : s;
}

static tg_status apply(tg_layout *out, const tg_layout *in, const view *v, tg_error *err) {
    switch (v->what) {
    case PERMUTE: return tg_layout_permute(out, in, v->perm, err);
    case TRANSPOSE: return tg_layout_transpose(out, in, v->dim, v->dim1, err);
    case RESHAPE: return tg_layout_reshape(out, in, v->n, v->size, err);
    case SLICE: return tg_layout_slice(out, in, v->dim, v->start, v->stop, v->step, err);
    case SELECT: return apply_select(out, in, v, err);
    case EXPAND: return tg_layout_expand(out, in, v->dim, v->size[0], err);
    case SQUEEZE: return tg_layout_squeeze(out, in, v->dim, err);
    case UNSQUEEZE: return tg_layout_unsqueeze(out, in, v->dim, err);
    }
    return TG_ERR_ARGUMENT;
}

static bool same(const tg_layout *a, const tg_layout *b) {
    bool equal = false;
    return a->dtype == b->dtype && a->memory_space == b->memory_space && a->format == b->format &&
           tg_layout_equal(&equal, NULL, a, b, true, NULL) == TG_OK && equal;
}

/* ---- the notation of a view ------------------------------------------------------------------ */

static bool say_strided(tg_desc *out, const tg_layout *layout) {
    const tg_desc bare = {.notation = TG_NOTATION_CUTE, .layout = *layout};
    return tg_desc_convert(out, &bare, TG_NOTATION_STRIDED, NULL) == TG_OK;
}

static bool view_host(tg_host *out, const tg_host *host, const view *v) {
    tg_layout layout;
    tg_desc   strided;
    if (tg_layout_strided(&layout, host->dtype, host->ndim, host->shape, host->strides, host->offset, NULL) != TG_OK ||
        apply(&layout, &layout, v, NULL) != TG_OK || !say_strided(&strided, &layout))
        return false;
    *out = strided.host;
    return true;
}

static bool say_spyre(tg_desc *out, const tg_layout *layout, const tg_desc *from, const view *v) {
    memset(out, 0, sizeof *out);
    out->notation = TG_NOTATION_SPYRE;
    out->spyre = from->spyre;
    return view_host(&out->host, &from->host, v) &&
           tg_layout_from_spyre(&out->layout, &out->spyre, &out->host, NULL) == TG_OK && same(&out->layout, layout);
}

/* Permuting keeps all that XLA says; other views keep what is in the map. */
static bool say_xla(tg_desc *out, const tg_layout *layout, const tg_desc *from, const view *v) {
    const tg_desc bare = {.notation = TG_NOTATION_CUTE, .layout = *layout};
    if (v->what != PERMUTE)
        return tg_desc_convert(out, &bare, TG_NOTATION_XLA, NULL) == TG_OK && same(&out->layout, layout);
    *out = *from;
    if (tg_xla_permute_dimensions(&out->xla, &from->xla, v->perm, NULL) != TG_OK ||
        tg_layout_from_xla(&out->layout, &out->xla, NULL) != TG_OK)
        return false;
    memcpy(out->host.shape, out->xla.dims, sizeof out->host.shape);
    return same(&out->layout, layout);
}

static bool say(tg_desc *out, const tg_layout *layout, const core_layout *from, const view *v) {
    if (!from->has_notation) return false;
    switch (from->desc.notation) {
    case TG_NOTATION_STRIDED: return say_strided(out, layout);
    case TG_NOTATION_SPYRE: return say_spyre(out, layout, &from->desc, v);
    case TG_NOTATION_XLA: return say_xla(out, layout, &from->desc, v);
    case TG_NOTATION_CUTE: break;
    }
    return false;
}

static PyObject *new_from_modes(PyObject *self, const tg_layout *layout) {
    const tg_desc desc = {.layout = *layout};
    return core_layout_new(core_get_state(self), &desc, false);
}

static PyObject *take_view(PyObject *self, const view *v) {
    tg_layout layout;
    tg_desc   said;
    tg_error  err;
    if (apply(&layout, &layout_of(self)->desc.layout, v, &err) != TG_OK)
        return core_raise(core_get_state(self), &err, NULL);
    if (say(&said, &layout, layout_of(self), v)) return core_layout_new(core_get_state(self), &said, true);
    return new_from_modes(self, &layout);
}

/* ---- arguments ---------------------------------------------------------------------------------- */

static int32_t narrow(int64_t value) {
    return value < INT32_MIN ? INT32_MIN : value > INT32_MAX ? INT32_MAX : (int32_t)value;
}

/* As everywhere in Python, -1 is the last one of n. What is out of range stays so. */
static int32_t from_end(int64_t dim, int32_t n) { return narrow(dim < 0 ? dim + n : dim); }

static int32_t ndim_of(PyObject *self) { return layout_of(self)->desc.layout.ndim; }

/* f(1, 2, 3), and f((1, 2, 3)). */
static int get_numbers(int64_t *out, int32_t *n, int32_t cap, PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                       const char *what) {
    core_state *state = core_get_state(self);
    if (nargs == 1 && !PyIndex_Check(args[0])) return core_get_ints(out, n, cap, state, args[0], what);
    if (nargs > cap) {
        (void)core_raise_argument(state, "%zd numbers for the %s; the limit is %d", nargs, what, (int)cap);
        return -1;
    }
    for (Py_ssize_t i = 0; i < nargs; i++)
        if (core_get_entry(&out[i], state, args[i], i, what) != 0) return -1;
    *n = (int32_t)nargs;
    return 0;
}

static int check_count(PyObject *self, int32_t n, int32_t wanted, const char *what) {
    if (n == wanted) return 0;
    (void)core_raise_argument(core_get_state(self), "%d numbers for %d %s", (int)n, (int)wanted, what);
    return -1;
}

/* ---- views ------------------------------------------------------------------------------------------ */

PyObject *layout_permute(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    view    v = {.what = PERMUTE};
    int64_t dims[TG_MAX_NDIM];
    if (get_numbers(dims, &v.n, TG_MAX_NDIM, self, args, n, "permutation") != 0 ||
        check_count(self, v.n, ndim_of(self), "dimensions") != 0)
        return NULL;
    for (int32_t i = 0; i < v.n; i++) v.perm[i] = from_end(dims[i], v.n);
    return take_view(self, &v);
}

PyObject *layout_transpose(PyObject *self, PyObject *args) {
    core_state *state = core_get_state(self);
    core_int    dim0 = {state, "dim0", 0}, dim1 = {state, "dim1", 0};
    if (!PyArg_ParseTuple(args, "O&O&:transpose", core_convert_int, &dim0, core_convert_int, &dim1)) return NULL;
    const int32_t n = ndim_of(self), a = from_end(dim0.value, n), b = from_end(dim1.value, n);
    if (a < 0 || a >= n || b < 0 || b >= n) { /* the library's own words for it */
        const view v = {.what = TRANSPOSE, .dim = a, .dim1 = b};
        return take_view(self, &v);
    }
    view v = {.what = PERMUTE, .n = n};
    for (int32_t i = 0; i < n; i++) v.perm[i] = i == a ? b : i == b ? a : i;
    return take_view(self, &v);
}

/* One size may be -1: what the others leave of the elements. 0, or -1 with an exception. */
static int infer_size(view *v, PyObject *self) {
    const int64_t numel = tg_layout_numel(&layout_of(self)->desc.layout);
    int64_t       rest = numel;
    int32_t       at = -1;
    for (int32_t d = 0; d < v->n; d++) {
        if (v->size[d] != -1) continue;
        if (at >= 0) return core_raise_argument(core_get_state(self), "only one size can be -1"), -1;
        at = d;
    }
    for (int32_t d = 0; at >= 0 && d < v->n; d++) {
        if (d == at) continue;
        if (v->size[d] <= 0 || rest % v->size[d] != 0) {
            (void)core_raise_argument(core_get_state(self),
                                      "the size of dimension %d cannot be told: the others do not divide %lld elements",
                                      (int)at, (long long)numel);
            return -1;
        }
        rest /= v->size[d];
    }
    if (at >= 0) v->size[at] = rest;
    return 0;
}

PyObject *layout_reshape(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    view v = {.what = RESHAPE};
    if (get_numbers(v.size, &v.n, TG_MAX_NDIM, self, args, n, "shape") != 0 || infer_size(&v, self) != 0) return NULL;
    return take_view(self, &v);
}

PyObject *layout_flatten(PyObject *self, PyObject *none) {
    const view v = {.what = RESHAPE, .n = 1, .size = {tg_layout_numel(&layout_of(self)->desc.layout)}};
    (void)none;
    return take_view(self, &v);
}

PyObject *layout_slice(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"dim", "start", "stop", "step", NULL};
    core_state  *state = core_get_state(self);
    core_int     n[] = {{state, "dim", 0}, {state, "start", 0}, {state, "stop", 0}, {state, "step", 1}};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&O&|O&:slice", names, core_convert_int, &n[0], core_convert_int,
                                     &n[1], core_convert_int, &n[2], core_convert_int, &n[3]))
        return NULL;
    const view v = {.what = SLICE,
                    .dim = from_end(n[0].value, ndim_of(self)),
                    .start = n[1].value,
                    .stop = n[2].value,
                    .step = n[3].value};
    return take_view(self, &v);
}

PyObject *layout_select(PyObject *self, PyObject *args) {
    core_state *state = core_get_state(self);
    core_int    dim = {state, "dim", 0}, place = {state, "index", 0};
    if (!PyArg_ParseTuple(args, "O&O&:select", core_convert_int, &dim, core_convert_int, &place)) return NULL;
    const tg_layout *l = &layout_of(self)->desc.layout;
    const int32_t    d = from_end(dim.value, l->ndim);
    if (d < 0 || d >= l->ndim)
        return core_raise_argument(state, "there is no dimension %lld in %d dimensions", (long long)dim.value,
                                   (int)l->ndim);
    const int64_t index = place.value < 0 ? place.value + l->shape[d] : place.value;
    if (index < 0 || index >= l->shape[d])
        return core_raise_argument(state, "dimension %d has %lld places, and no place %lld", (int)d,
                                   (long long)l->shape[d], (long long)index);
    const view v = {.what = SELECT, .dim = d, .start = index, .stop = index + 1};
    return take_view(self, &v);
}

PyObject *layout_expand(PyObject *self, PyObject *args) {
    core_state *state = core_get_state(self);
    core_int    dim = {state, "dim", 0}, size = {state, "size", 0};
    if (!PyArg_ParseTuple(args, "O&O&:expand", core_convert_int, &dim, core_convert_int, &size)) return NULL;
    const view v = {.what = EXPAND, .dim = from_end(dim.value, ndim_of(self)), .size = {size.value}};
    return take_view(self, &v);
}

PyObject *layout_squeeze(PyObject *self, PyObject *dim) {
    int64_t d = 0;
    if (core_get_int(&d, core_get_state(self), dim, "dim") != 0) return NULL;
    const view v = {.what = SQUEEZE, .dim = from_end(d, ndim_of(self))};
    return take_view(self, &v);
}

PyObject *layout_unsqueeze(PyObject *self, PyObject *dim) {
    int64_t d = 0;
    if (core_get_int(&d, core_get_state(self), dim, "dim") != 0) return NULL;
    const view v = {.what = UNSQUEEZE, .dim = from_end(d, ndim_of(self) + 1)};
    return take_view(self, &v);
}

/* ---- modes --------------------------------------------------------------------------------------------- */

static PyObject *finish(PyObject *self, tg_status s, const tg_layout *layout, const tg_error *err) {
    return s == TG_OK ? new_from_modes(self, layout) : core_raise(core_get_state(self), err, NULL);
}

PyObject *layout_split(PyObject *self, PyObject *args) {
    core_state *state = core_get_state(self);
    core_int    mode = {state, "mode", 0}, tile = {state, "tile", 0};
    tg_layout   out;
    tg_error    err;
    if (!PyArg_ParseTuple(args, "O&O&:split", core_convert_int, &mode, core_convert_int, &tile)) return NULL;
    const tg_status s =
        tg_layout_split(&out, &layout_of(self)->desc.layout, narrow(mode.value), tile.value, &err);
    return finish(self, s, &out, &err);
}

PyObject *layout_merge(PyObject *self, PyObject *mode) {
    int64_t   m = 0;
    tg_layout out;
    tg_error  err;
    if (core_get_int(&m, core_get_state(self), mode, "mode") != 0) return NULL;
    const tg_status s = tg_layout_merge(&out, &layout_of(self)->desc.layout, narrow(m), &err);
    return finish(self, s, &out, &err);
}

static int32_t count_memory_modes(const tg_layout *l) {
    int32_t n = 0;
    for (int32_t m = 0; m < l->nmodes; m++) n += l->mode[m].into == TG_TO_MEMORY;
    return n;
}

PyObject *layout_reorder(PyObject *self, PyObject *const *args, Py_ssize_t nargs) {
    const tg_layout *l = &layout_of(self)->desc.layout;
    int64_t          wide[TG_MAX_MODES];
    int32_t          order[TG_MAX_MODES], n = 0;
    tg_layout        out;
    tg_error         err;
    if (get_numbers(wide, &n, TG_MAX_MODES, self, args, nargs, "order") != 0 ||
        check_count(self, n, count_memory_modes(l), "modes in memory") != 0)
        return NULL;
    for (int32_t i = 0; i < n; i++) order[i] = narrow(wide[i]);
    const tg_status s = tg_layout_reorder(&out, l, order, &err);
    return finish(self, s, &out, &err);
}

PyObject *layout_coalesce(PyObject *self, PyObject *none) {
    tg_layout out;
    tg_error  err;
    (void)none;
    const tg_status s = tg_layout_coalesce(&out, &layout_of(self)->desc.layout, &err);
    return finish(self, s, &out, &err);
}

/* ---- notations ------------------------------------------------------------------------------------------- */

static int get_notation(tg_notation *out, PyObject *self, PyObject *name) {
    Py_ssize_t  len = 0;
    const char *word = core_get_word(&len, name, "a notation");
    if (word == NULL) return -1;
    for (int n = TG_NOTATION_STRIDED; n < TG_NOTATION_CUTE; n++)
        if (strcmp(word, tg_notation_name((tg_notation)n)) == 0) {
            *out = (tg_notation)n;
            return 0;
        }
    (void)core_raise_argument(core_get_state(self), "no notation %R; there are 'strided', 'xla' and 'spyre'", name);
    return -1;
}

PyObject *layout_convert(PyObject *self, PyObject *to) {
    tg_notation notation;
    tg_desc     in = layout_of(self)->desc, out;
    tg_error    err;
    if (get_notation(&notation, self, to) != 0) return NULL;
    if (!layout_of(self)->has_notation) in.notation = TG_NOTATION_CUTE; /* one that is never the wanted one */
    if (tg_desc_convert(&out, &in, notation, &err) != TG_OK) return core_raise(core_get_state(self), &err, NULL);
    return core_layout_new(core_get_state(self), &out, true);
}

PyObject *layout_cute(PyObject *self, PyObject *none) {
    char     buf[4096]; /* 48 modes of two numbers of 20 digits, and their punctuation */
    size_t   need = 0;
    tg_error err;
    (void)none;
    if (tg_cute_format(buf, sizeof buf, &need, &layout_of(self)->desc.layout, &err) != TG_OK)
        return core_raise(core_get_state(self), &err, NULL);
    return PyUnicode_FromStringAndSize(buf, (Py_ssize_t)(need < sizeof buf ? need : sizeof buf - 1));
}
