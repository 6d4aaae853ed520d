/* Layouts from arguments instead of text. The structs are filled in here, and made into layouts by the library. */
#include "py_layout.h"

#include <string.h>
#include <tegula/xla.h>

static core_state *state_of(PyObject *type) { return PyType_GetModuleState((PyTypeObject *)type); }

static int fail(core_state *state, const tg_error *err) {
    (void)core_raise(state, err, NULL);
    return -1;
}

static bool is_given(PyObject *object) { return object != NULL && object != Py_None; }

/* ---- strided ------------------------------------------------------------------------------- */

/* shape, dtype, strides (or None) and offset, as a host tensor. */
static int get_host(tg_host *out, core_state *state, PyObject *shape, PyObject *dtype, PyObject *strides,
                    int64_t offset) {
    int64_t  sizes[TG_MAX_NDIM], steps[TG_MAX_NDIM];
    int32_t  ndim = 0, nsteps = 0;
    tg_dtype type = TG_INVALID;
    tg_error err;
    memset(out, 0, sizeof *out);
    if (core_get_ints(sizes, &ndim, TG_MAX_NDIM, state, shape, "shape") != 0) return -1;
    if (core_get_dtype(&type, state, dtype) != 0) return -1;
    if (!is_given(strides)) {
        if (tg_host_contiguous(out, type, ndim, sizes, &err) != TG_OK)
            return fail(state, &err);
    } else {
        if (core_get_ints(steps, &nsteps, TG_MAX_NDIM, state, strides, "strides") != 0) return -1;
        if (nsteps != ndim) {
            (void)core_raise_argument(state, "%d strides for %d dimension%s", (int)nsteps, (int)ndim,
                                      ndim == 1 ? "" : "s");
            return -1;
        }
        out->dtype = type;
        out->ndim = ndim;
        memcpy(out->shape, sizes, (size_t)ndim * sizeof sizes[0]);
        memcpy(out->strides, steps, (size_t)ndim * sizeof steps[0]);
    }
    out->offset = offset;
    return 0;
}

PyObject *core_layout_strided(core_state *state, const tg_host *host) {
    tg_desc  desc;
    tg_error err;
    memset(&desc, 0, sizeof desc);
    desc.notation = TG_NOTATION_STRIDED;
    desc.host = *host;
    if (tg_layout_strided(&desc.layout, host->dtype, host->ndim, host->shape, host->strides, host->offset, &err) !=
        TG_OK)
        return core_raise(state, &err, NULL);
    return core_layout_new(state, &desc, true);
}

PyObject *core_layout_of_host(core_state *state, const tg_host *host, const tg_layout *layout) {
    tg_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.notation = TG_NOTATION_STRIDED;
    desc.host = *host;
    desc.layout = *layout;
    return core_layout_new(state, &desc, true);
}

PyObject *layout_strided(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"shape", "dtype", "strides", "offset", NULL};
    core_state  *state = state_of(type);
    PyObject    *shape = NULL, *dtype = NULL, *strides = NULL;
    core_int     offset = {state, "offset", 0};
    tg_host      host;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO&:strided", names, &shape, &dtype, &strides, core_convert_int,
                                     &offset))
        return NULL;
    if (get_host(&host, state, shape, dtype, strides, offset.value) != 0) return NULL;
    return core_layout_strided(state, &host);
}

/* ---- Spyre ----------------------------------------------------------------------------------- */

/* What the arguments of Layout.spyre say beside the host tensor. */
typedef struct spyre_words {
    PyObject       *order, *unit_dims, *device_dtype, *arrangement, *device_size, *stride_map, *dim_map;
    int32_t         entries[TG_MAX_NDIM + 1];
    tg_spyre_params params;
} spyre_words;

/* One of the library's words: its number, or else its name. 0, or -1. */
static int get_member(int64_t *value, const char **name, Py_ssize_t *len, core_state *state, PyObject *object,
                      const char *enumeration) {
    *name = NULL;
    if (PyUnicode_Check(object)) {
        *name = PyUnicode_AsUTF8AndSize(object, len);
        return *name != NULL ? 0 : -1;
    }
    PyObject *type = PyLong_Check(object) ? (PyObject *)&PyLong_Type : core_enumeration(state, enumeration);
    const int known = type != NULL ? PyObject_IsInstance(object, type) : -1;
    if (known == 0)
        PyErr_Format(PyExc_TypeError, "a member of %s is needed, its name or its number, not %R", enumeration, object);
    return known == 1 ? core_get_int(value, state, object, enumeration) : -1;
}

int core_get_format(tg_format *out, core_state *state, PyObject *object) {
    Py_ssize_t  len = 0;
    int64_t     value = 0;
    const char *name;
    if (get_member(&value, &name, &len, state, object, "DataFormats") != 0) return -1;
    if (name != NULL) *out = tg_format_from_name(name, (size_t)len);
    else *out = value >= 0 && value <= TG_SEN18F_FP24 ? (tg_format)value : TG_FORMAT_INVALID;
    if (tg_format_bits(*out) > 0) return 0;
    (void)core_raise_argument(state, "%R is not a device format with stick geometry, such as SEN169_FP16 or IEEE_FP32",
                              object);
    return -1;
}

int core_get_arrangement(tg_arrangement *out, core_state *state, PyObject *object) {
    Py_ssize_t  len = 0;
    int64_t     value = 0;
    const char *name;
    if (get_member(&value, &name, &len, state, object, "ElementArrangement") != 0) return -1;
    if (name != NULL && tg_arrangement_from_name(out, name, (size_t)len)) return 0;
    *out = (tg_arrangement)value;
    if (name == NULL && value >= 0 && value <= TG_QFP8WT) return 0;
    (void)core_raise_argument(state,
                              "%R is not an element arrangement; there are STANDARD, DL16_TO_FP32, QFP8CH, EXX2, "
                              "FP32_TO_DL16, QFP8WT",
                              object);
    return -1;
}

static int get_unit_dims(bool *keep, core_state *state, PyObject *object) {
    Py_ssize_t  len = 0;
    const char *word = core_get_word(&len, object, "unit_dims");
    if (word == NULL) return -1;
    *keep = strcmp(word, "keep") == 0;
    if (*keep || strcmp(word, "drop") == 0) return 0;
    (void)core_raise_argument(state, "unit_dims is 'keep' or 'drop', not %R", object);
    return -1;
}

static int get_params(spyre_words *w, core_state *state) {
    tg_spyre_params *p = &w->params;
    if (is_given(w->order)) {
        if (core_get_ints32(w->entries, &p->norder, TG_MAX_NDIM + 1, state, w->order, "dim_order") != 0) return -1;
        p->dim_order = w->entries;
    }
    if (is_given(w->unit_dims) && get_unit_dims(&p->keep_unit_dims, state, w->unit_dims) != 0) return -1;
    if (is_given(w->arrangement) && core_get_arrangement(&p->arrangement, state, w->arrangement) != 0) return -1;
    p->has_device_dtype = is_given(w->device_dtype);
    return p->has_device_dtype ? core_get_format(&p->device_dtype, state, w->device_dtype) : 0;
}

static int check_words(const spyre_words *w, core_state *state) {
    const bool has_map = is_given(w->stride_map) || is_given(w->dim_map);
    if (is_given(w->stride_map) && is_given(w->dim_map))
        return (void)core_raise_argument(state, "stride_map and dim_map exclude each other"), -1;
    if (is_given(w->device_size) != has_map)
        return (void)core_raise_argument(state, "device_size and a stride_map (or dim_map) go together"), -1;
    if (has_map && (is_given(w->order) || is_given(w->unit_dims)))
        return (void)core_raise_argument(
                   state, "dim_order and unit_dims choose a default layout; device_size says it explicitly"), -1;
    return 0;
}

/* device_size with a stride_map or a dim_map. */
static int get_explicit(tg_spyre *out, const tg_host *host, const spyre_words *w, core_state *state) {
    int64_t    size[TG_SPYRE_MAX_RANK], map[TG_SPYRE_MAX_RANK];
    int32_t    rank = 0, n = 0;
    const bool is_stride_map = is_given(w->stride_map);
    tg_error   err;
    if (core_get_ints(size, &rank, TG_SPYRE_MAX_RANK, state, w->device_size, "device_size") != 0 ||
        core_get_ints(map, &n, TG_SPYRE_MAX_RANK, state, is_stride_map ? w->stride_map : w->dim_map, "map") != 0)
        return -1;
    if (n != rank) {
        (void)core_raise_argument(state, "%s has %d entries for %d", is_stride_map ? "stride_map" : "dim_map", (int)n,
                                  (int)rank);
        return -1;
    }
    if (!is_stride_map) {
        if (tg_spyre_from_dim_map(out, host, rank, size, map, &w->params, &err) == TG_OK) return 0;
        return fail(state, &err);
    }
    memset(out, 0, sizeof *out);
    out->rank = rank;
    out->arrangement = w->params.arrangement;
    out->device_dtype = w->params.has_device_dtype ? w->params.device_dtype : tg_format_for_dtype(host->dtype);
    memcpy(out->device_size, size, (size_t)rank * sizeof size[0]);
    memcpy(out->stride_map, map, (size_t)rank * sizeof map[0]);
    if (out->device_dtype != TG_FORMAT_INVALID) return 0;
    (void)core_raise_argument(state,
                              "Spyre has no device format for %s; say device_dtype=", tg_dtype_name(host->dtype));
    return -1;
}

PyObject *core_layout_spyre(core_state *state, const tg_spyre *spyre, const tg_host *host) {
    tg_desc  desc;
    tg_error err;
    memset(&desc, 0, sizeof desc);
    desc.notation = TG_NOTATION_SPYRE;
    desc.host = *host;
    desc.spyre = *spyre;
    if (tg_layout_from_spyre(&desc.layout, spyre, host, &err) != TG_OK) return core_raise(state, &err, NULL);
    return core_layout_new(state, &desc, true);
}

PyObject *layout_spyre(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"shape", "dtype", "dim_order", "strides", "offset", "unit_dims", "device_dtype",
                            "arrangement", "device_size", "stride_map", "dim_map", NULL};
    core_state  *state = state_of(type);
    PyObject    *shape = NULL, *dtype = NULL, *strides = NULL;
    core_int     offset = {state, "offset", 0};
    spyre_words  w;
    tg_host      host;
    tg_spyre     spyre;
    tg_error     err;
    memset(&w, 0, sizeof w);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O$OO&OOOOOO:spyre", names, &shape, &dtype, &w.order, &strides,
                                     core_convert_int, &offset, &w.unit_dims, &w.device_dtype, &w.arrangement,
                                     &w.device_size, &w.stride_map, &w.dim_map))
        return NULL;
    if (get_host(&host, state, shape, dtype, strides, offset.value) != 0 || get_params(&w, state) != 0 ||
        check_words(&w, state) != 0)
        return NULL;
    if (is_given(w.device_size)) {
        if (get_explicit(&spyre, &host, &w, state) != 0) return NULL;
    } else if (tg_spyre_default(&spyre, &host, &w.params, &err) != TG_OK) {
        return core_raise(state, &err, NULL);
    }
    return core_layout_spyre(state, &spyre, &host);
}

/* ---- XLA ----------------------------------------------------------------------------------------- */

/* One number of a tile, or "*". */
static int get_tile_number(int64_t *out, core_state *state, PyObject *object) {
    if (PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, "*") == 0) {
        *out = TG_XLA_COMBINE;
        return 0;
    }
    return core_get_int(out, state, object, "a number of tiles");
}

/* The items of tiles, or of one of them. */
static PyObject *get_tile_items(PyObject *object) {
    PyObject *items = PyUnicode_Check(object) || PyBytes_Check(object) ? NULL : PySequence_List(object);
    if (items == NULL && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)))
        PyErr_Format(PyExc_TypeError,
                     "tiles are a sequence of levels, and a level one of numbers, as [(8, 128), (2, 1)]; "
                     "%R is neither",
                     Py_TYPE(object));
    return items;
}

static int add_tile(tg_xla_layout *out, int32_t *used, core_state *state, PyObject *object) {
    PyObject *numbers = get_tile_items(object);
    if (numbers == NULL) return -1;
    const Py_ssize_t n = PyList_Size(numbers);
    int              failed = n > TG_XLA_MAX_TILE_DIMS - *used || out->ntiles >= TG_XLA_MAX_TILES;
    if (failed)
        (void)core_raise_argument(state, "tiles have at most %d levels and %d numbers", TG_XLA_MAX_TILES,
                                  TG_XLA_MAX_TILE_DIMS);
    for (Py_ssize_t i = 0; i < n && !failed; i++)
        failed = get_tile_number(&out->tile_dims[(*used)++], state, PyList_GetItem(numbers, i));
    if (!failed) out->tile_ndim[out->ntiles++] = (int32_t)n;
    Py_DECREF(numbers);
    return failed ? -1 : 0;
}

static int get_tiles(tg_xla_layout *out, core_state *state, PyObject *object) {
    PyObject *levels = get_tile_items(object);
    if (levels == NULL) return -1;
    int32_t used = 0;
    int     failed = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(levels) && !failed; i++)
        failed = add_tile(out, &used, state, PyList_GetItem(levels, i));
    Py_DECREF(levels);
    return failed ? -1 : 0;
}

/* minor_to_major, or None for the default, and the tiles. */
static int get_xla_layout(tg_xla_layout *out, core_state *state, int32_t ndim, PyObject *order, PyObject *levels) {
    int32_t   dims[TG_MAX_NDIM], n = ndim;
    tg_error  err;
    tg_status s = TG_OK;
    if (is_given(order)) {
        if (core_get_ints32(dims, &n, TG_MAX_NDIM, state, order, "minor_to_major") != 0) return -1;
        s = tg_xla_layout_from_minor_to_major(out, n, dims, &err);
    } else {
        s = tg_xla_layout_descending(out, ndim, &err);
    }
    if (s != TG_OK) return fail(state, &err);
    return is_given(levels) ? get_tiles(out, state, levels) : 0;
}

PyObject *core_layout_xla(core_state *state, const tg_xla_shape *array) {
    tg_desc  desc;
    tg_error err;
    memset(&desc, 0, sizeof desc);
    if (tg_layout_from_xla(&desc.layout, array, &err) != TG_OK) return core_raise(state, &err, NULL);
    desc.notation = TG_NOTATION_XLA;
    desc.xla = *array;
    desc.xla.pos = 0;
    desc.host.dtype = array->dtype;
    desc.host.ndim = array->ndim;
    memcpy(desc.host.shape, array->dims, sizeof array->dims);
    return core_layout_new(state, &desc, true);
}

PyObject *layout_xla(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char  *names[] = {"shape", "dtype", "minor_to_major", "tiles", "tail_padding", "element_size_in_bits",
                             "memory_space", NULL};
    core_state   *state = state_of(type);
    PyObject     *shape = NULL, *dtype = NULL, *order = NULL, *levels = NULL;
    core_int      tail = {state, "tail_padding", 1}, bits = {state, "element_size_in_bits", 0};
    core_int      space = {state, "memory_space", 0};
    int64_t       dims[TG_MAX_NDIM];
    int32_t       ndim = 0;
    tg_dtype      element = TG_INVALID;
    tg_xla_layout layout;
    tg_xla_shape  array;
    tg_error      err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OO$O&O&O&:xla", names, &shape, &dtype, &order, &levels,
                                     core_convert_int, &tail, core_convert_int, &bits, core_convert_int, &space))
        return NULL;
    if (core_get_ints(dims, &ndim, TG_MAX_NDIM, state, shape, "shape") != 0 ||
        core_get_dtype(&element, state, dtype) != 0 || get_xla_layout(&layout, state, ndim, order, levels) != 0)
        return NULL;
    layout.tail_padding = tail.value;
    layout.element_size_in_bits = bits.value;
    layout.memory_space = space.value;
    if (tg_xla_array(&array, element, ndim, dims, &layout, &err) != TG_OK) return core_raise(state, &err, NULL);
    return core_layout_xla(state, &array);
}

/* ---- modes ------------------------------------------------------------------------------------------- */

static int get_mode(tg_mode *out, core_state *state, PyObject *object) {
    int64_t v[6];
    int32_t n = 0;
    if (core_get_ints(v, &n, 6, state, object, "mode") != 0) return -1;
    if (n != 6 || v[4] < INT32_MIN || v[4] > INT32_MAX || v[5] < INT32_MIN || v[5] > INT32_MAX) {
        (void)core_raise_argument(state, "a mode is (size, count, weight, stride, axis, into), not %R", object);
        return -1;
    }
    *out = (tg_mode){v[0], v[1], v[2], v[3], (int32_t)v[4], (int32_t)v[5]};
    return 0;
}

static int get_modes(tg_layout *out, core_state *state, PyObject *object) {
    PyObject *modes = PySequence_List(object);
    if (modes == NULL) return -1;
    const Py_ssize_t n = PyList_Size(modes);
    int              failed = n > TG_MAX_MODES;
    if (failed) (void)core_raise_argument(state, "%zd modes; the limit is %d", n, TG_MAX_MODES);
    for (Py_ssize_t m = 0; m < n && !failed; m++) failed = get_mode(&out->mode[m], state, PyList_GetItem(modes, m));
    out->nmodes = failed ? 0 : (int32_t)n;
    Py_DECREF(modes);
    return failed ? -1 : 0;
}

/* The evaluation order that the struct holds beside the modes: by axis, then by decreasing weight; those without axis
 * last. tg_layout_validate refuses any other. */
static bool comes_before(const tg_mode *a, const tg_mode *b) {
    if (a->axis < 0 || b->axis < 0) return a->axis >= 0 && b->axis < 0;
    return a->axis != b->axis ? a->axis < b->axis : a->weight > b->weight;
}

static void order_chain(tg_layout *l) {
    for (int32_t m = 0; m < l->nmodes; m++) {
        int32_t at = m;
        for (; at > 0 && comes_before(&l->mode[m], &l->mode[l->chain[at - 1]]); at--) l->chain[at] = l->chain[at - 1];
        l->chain[at] = (uint8_t)m;
    }
}

static int get_axes(tg_layout *l, core_state *state, PyObject *shape, PyObject *axes) {
    int32_t more = 0;
    if (core_get_ints(l->shape, &l->ndim, TG_MAX_NDIM, state, shape, "shape") != 0) return -1;
    memcpy(l->axis_size, l->shape, sizeof l->shape);
    if (is_given(axes) && core_get_ints(l->axis_size + l->ndim, &more, TG_MAX_AXES - l->ndim, state, axes, "axes") != 0)
        return -1;
    l->naxes = l->ndim + more;
    return 0;
}

PyObject *layout_from_modes(PyObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"dtype", "shape", "modes", "span", "offset", "axes", "element_bits", "format",
                            "memory_space", NULL};
    core_state  *state = state_of(type);
    PyObject    *dtype = NULL, *shape = NULL, *modes = NULL, *axes = NULL, *format = NULL;
    core_int     span = {state, "span", 0}, offset = {state, "offset", 0};
    int          bits = 0, space = 0;
    tg_desc      desc;
    tg_error     err;
    tg_layout   *l = &desc.layout;
    memset(&desc, 0, sizeof desc);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO&|$O&OiOi:from_modes", names, &dtype, &shape, &modes,
                                     core_convert_int, &span, core_convert_int, &offset, &axes, &bits, &format, &space))
        return NULL;
    if (core_get_dtype(&l->dtype, state, dtype) != 0 || get_axes(l, state, shape, axes) != 0 ||
        get_modes(l, state, modes) != 0)
        return NULL;
    l->format = TG_FORMAT_NATIVE;
    if (is_given(format) && core_get_format(&l->format, state, format) != 0) return NULL;
    l->span = span.value;
    l->offset = offset.value;
    l->memory_space = space;
    l->elem_bits = bits != 0 ? bits
                   : l->format == TG_FORMAT_NATIVE ? tg_dtype_storage_bits(l->dtype) : tg_format_bits(l->format);
    order_chain(l);
    if (tg_layout_validate(l, &err) != TG_OK) return core_raise(state, &err, NULL);
    return core_layout_new(state, &desc, false);
}
