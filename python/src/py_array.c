/* Arrays of others, opened without a copy: what they are as a strided layout, and where.
 *
 * Asked in this order: tegula.Buffer; the buffer protocol; __array_interface__, which NumPy has also for arrays whose
 * element type the buffer protocol cannot say (those of ml_dtypes); DLPack. */
#include "py_array.h"

#include <string.h>

/* ---- describing --------------------------------------------------------------------------- */

static bool is_dense(const tg_host *host) {
    tg_host dense;
    if (tg_host_contiguous(&dense, host->dtype, host->ndim, host->shape, NULL) != TG_OK) return false;
    for (int32_t d = 0; d < host->ndim; d++) {
        if (host->shape[d] == 0) return true;
        if (host->shape[d] > 1 && host->strides[d] != dense.strides[d]) return false;
    }
    return true;
}

int64_t core_lowest_offset(const tg_layout *layout, const tg_host *host) {
    int64_t coord[TG_MAX_NDIM] = {0};
    if (tg_layout_numel(layout) == 0) return 0;
    for (int32_t d = 0; d < host->ndim; d++)
        if (host->strides[d] < 0) coord[d] = host->shape[d] - 1;
    return tg_layout_offset(layout, coord);
}

static tg_status make_layout(core_memory *m, tg_error *err) {
    const tg_host *h = &m->host;
    const tg_status s = tg_layout_strided(&m->layout, h->dtype, h->ndim, h->shape, h->strides, h->offset, err);
    return s == TG_OK ? tg_layout_nbytes(&m->nbytes, &m->layout, err) : s;
}

int core_memory_describe(core_memory *m, core_state *state, tg_dtype dtype, int32_t ndim, const int64_t *shape,
                         const int64_t *strides) {
    tg_error err;
    if (ndim < 0 || ndim > TG_MAX_NDIM) {
        (void)core_raise_argument(state, "an array of %d dimensions; the limit is %d", (int)ndim, TG_MAX_NDIM);
        return -1;
    }
    m->host = (tg_host){.dtype = dtype, .ndim = ndim};
    memcpy(m->host.shape, shape, (size_t)ndim * sizeof shape[0]);
    memcpy(m->host.strides, strides, (size_t)ndim * sizeof strides[0]);
    tg_status s = make_layout(m, &err);
    if (s == TG_OK && m->bytes == NULL && tg_layout_numel(&m->layout) != 0) {
        (void)core_raise_argument(state, "an array of %lld elements at the address 0",
                                  (long long)tg_layout_numel(&m->layout));
        return -1;
    }
    const int64_t lowest = s == TG_OK ? core_lowest_offset(&m->layout, &m->host) : 0;
    if (lowest < 0) {
        m->bytes += lowest * (tg_dtype_storage_bits(dtype) / 8);
        m->host.offset = -lowest;
        s = make_layout(m, &err);
    }
    m->contiguous = lowest == 0 && is_dense(&m->host);
    if (s != TG_OK) (void)core_raise(state, &err, NULL);
    return s == TG_OK ? 0 : -1;
}

/* Strides in bytes become strides in elements. */
static int describe_bytes(core_memory *m, core_state *state, tg_dtype dtype, int32_t ndim, const int64_t *shape,
                          const int64_t *byte_strides, const char *what) {
    const int64_t width = tg_dtype_storage_bits(dtype) / 8;
    int64_t       strides[TG_MAX_NDIM];
    for (int32_t d = 0; d < ndim && d < TG_MAX_NDIM; d++) {
        strides[d] = byte_strides[d] / width;
        if (byte_strides[d] % width == 0) continue;
        if (shape[d] > 1) {
            (void)core_raise_argument(state, "%s: dimension %d steps by %lld bytes, which is no whole number of %s",
                                      what, (int)d, (long long)byte_strides[d], tg_dtype_name(dtype));
            return -1;
        }
        strides[d] = 1;
    }
    return core_memory_describe(m, state, dtype, ndim, shape, strides);
}

/* In C order and without gaps. */
static int describe_dense(core_memory *m, core_state *state, tg_dtype dtype, int32_t ndim, const int64_t *shape) {
    tg_host  dense;
    tg_error err;
    if (tg_host_contiguous(&dense, dtype, ndim, shape, &err) == TG_OK)
        return core_memory_describe(m, state, dtype, ndim, shape, dense.strides);
    (void)core_raise(state, &err, NULL);
    return -1;
}

/* ---- the buffer protocol ------------------------------------------------------------------- */

/* Exporters may leave out what was asked for, as those of ctypes do: no strides are those of C order, and no sizes
 * one dimension of all elements. */
static int describe_view(core_memory *m, core_state *state, const char *what) {
    const Py_buffer *v = &m->view;
    int64_t          shape[TG_MAX_NDIM], strides[TG_MAX_NDIM];
    const tg_dtype   dtype = core_dtype_of_format(v->format, v->itemsize);
    if (core_is_big_endian(v->format, v->itemsize)) return core_raise_big_endian(state, what), -1;
    if (dtype == TG_INVALID) {
        (void)core_raise_argument(state, "%s: elements of the format '%s' and %zd bytes are no type of ours", what,
                                  v->format != NULL ? v->format : "", v->itemsize);
        return -1;
    }
    m->bytes = v->buf;
    m->read_only = v->readonly;
    for (int d = 0; d < v->ndim && d < TG_MAX_NDIM; d++) {
        shape[d] = v->shape != NULL ? v->shape[d] : v->len / v->itemsize;
        strides[d] = v->strides != NULL ? v->strides[d] : 0;
    }
    if (v->ndim > 0 && v->shape == NULL) return describe_dense(m, state, dtype, 1, shape);
    if (v->strides == NULL) return describe_dense(m, state, dtype, v->ndim, shape);
    return describe_bytes(m, state, dtype, v->ndim, shape, strides, what);
}

/* 1 opened, 0 there is no such buffer, -1 failed. */
static int open_view(core_memory *m, core_state *state, PyObject *object, const char *what) {
    if (!PyObject_CheckBuffer(object)) return 0;
    if (PyObject_GetBuffer(object, &m->view, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        PyErr_Clear(); /* a type that has no format, as of ml_dtypes */
        return 0;
    }
    m->has_view = true;
    return describe_view(m, state, what) == 0 ? 1 : -1;
}

/* ---- NumPy's interface ----------------------------------------------------------------------- */

/* The first item of interface["data"] is the address, the second whether it is read-only. */
static int read_data(core_memory *m, PyObject *interface) {
    PyObject *data = PyDict_GetItemString(interface, "data");
    PyObject *address =
        data != NULL && PyTuple_Check(data) && PyTuple_Size(data) == 2 ? PyTuple_GetItem(data, 0) : NULL;
    if (address == NULL) return -1;
    m->bytes = PyLong_AsVoidPtr(address);
    m->read_only = PyObject_IsTrue(PyTuple_GetItem(data, 1)) != 0;
    return PyErr_Occurred() ? -1 : 0;
}

static int read_interface(core_memory *m, core_state *state, PyObject *object, PyObject *interface, const char *what) {
    int64_t   shape[TG_MAX_NDIM], strides[TG_MAX_NDIM];
    int32_t   ndim = 0, n = 0;
    tg_dtype  dtype = TG_INVALID;
    PyObject *sizes = PyDict_GetItemString(interface, "shape"), *steps = PyDict_GetItemString(interface, "strides");
    PyObject *type = PyObject_GetAttrString(object, "dtype");
    const int known = type != NULL ? core_get_dtype_of(&dtype, state, type, what) : -1;
    Py_XDECREF(type);
    if (known != 0 || sizes == NULL || read_data(m, interface) != 0) return -1;
    if (core_get_ints(shape, &ndim, TG_MAX_NDIM, state, sizes, "shape") != 0) return -1;
    if (steps != NULL && steps != Py_None) {
        if (core_get_ints(strides, &n, TG_MAX_NDIM, state, steps, "strides") != 0 || n != ndim) return -1;
        return describe_bytes(m, state, dtype, ndim, shape, strides, what);
    }
    return describe_dense(m, state, dtype, ndim, shape);
}

/* 1 opened, 0 there is none, -1 failed. */
static int open_interface(core_memory *m, core_state *state, PyObject *object, const char *what) {
    PyObject *interface = PyObject_GetAttrString(object, "__array_interface__");
    if (interface == NULL || !PyDict_Check(interface)) {
        Py_XDECREF(interface);
        PyErr_Clear();
        return 0;
    }
    const int failed = read_interface(m, state, object, interface, what);
    m->owner = Py_NewRef(object);
    Py_DECREF(interface);
    if (failed != 0 && !PyErr_Occurred())
        (void)core_raise_argument(state, "%s: its __array_interface__ is not what it should be", what);
    return failed != 0 ? -1 : 1;
}

/* ---- all ---------------------------------------------------------------------------------------- */

static bool is_buffer(core_state *state, PyObject *object) {
    return Py_IS_TYPE(object, (PyTypeObject *)state->buffer_type);
}

/* A Buffer knows its layout, also one of a type that has no format. */
static int open_buffer(core_memory *m, core_state *state, PyObject *object, const char *what) {
    core_buffer   *buffer = (core_buffer *)object;
    const tg_desc *desc = &buffer->layout->desc;
    if (!buffer->is_array) {
        (void)core_raise_argument(
            state, "%s: only a Buffer of a strided layout is an array; relayout it, or take its .storage", what);
        return -1;
    }
    m->owner = Py_NewRef(object);
    m->bytes = core_block_bytes(buffer->block);
    m->host = desc->host;
    m->layout = desc->layout;
    m->contiguous = m->host.offset == 0 && is_dense(&m->host);
    const int64_t width = tg_dtype_storage_bits(m->host.dtype) / 8;
    m->nbytes = m->layout.span * width;
    return 1;
}

static int open_any(core_memory *m, core_state *state, PyObject *object, const char *what) {
    if (is_buffer(state, object)) return open_buffer(m, state, object, what);
    int opened = open_view(m, state, object, what);
    if (opened == 0) opened = open_interface(m, state, object, what);
    if (opened == 0) opened = core_memory_open_dlpack(m, state, object, what);
    return opened;
}

int core_memory_open(core_memory *out, core_state *state, PyObject *object, bool writable, const char *what) {
    memset(out, 0, offsetof(core_memory, view));
    out->has_view = false;
    out->owner = NULL;
    out->managed = NULL;
    out->versioned = NULL;
    const int opened = open_any(out, state, object, what);
    if (opened == 0)
        PyErr_Format(PyExc_TypeError, "%s must be an array (buffer protocol or DLPack), not %R", what, Py_TYPE(object));
    else if (opened == 1 && writable && out->read_only)
        (void)core_raise_argument(state, "%s is read-only", what);
    else if (opened == 1) return 0;
    core_memory_close(out);
    return -1;
}

/* A deleter may run Python code, which must not find an exception under way. */
void core_memory_close(core_memory *memory) {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (memory->has_view) PyBuffer_Release(&memory->view);
    if (memory->managed != NULL && memory->managed->deleter != NULL) memory->managed->deleter(memory->managed);
    if (memory->versioned != NULL && memory->versioned->deleter != NULL)
        memory->versioned->deleter(memory->versioned);
    memory->has_view = false;
    memory->managed = NULL;
    memory->versioned = NULL;
    Py_CLEAR(memory->owner);
    PyErr_Restore(type, value, traceback);
}

/* ---- as the storage of a layout -------------------------------------------------------------------- */

static bool same_shape(const tg_layout *a, const tg_layout *b) {
    return a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof a->shape[0]) == 0;
}

/* Bytes that are the same are the quick case, and the usual one. */
static bool same_map(const tg_layout *a, const tg_layout *b) {
    bool equal = false;
    if (memcmp(a, b, sizeof *a) == 0) return true;
    return tg_layout_equal(&equal, NULL, a, b, false, NULL) == TG_OK && equal;
}

static int fail_as(core_state *state, const core_layout *layout, const char *what, const char *why, int64_t has,
                   int64_t takes) {
    PyObject *text = PyObject_Str((PyObject *)layout);
    if (text == NULL) return -1;
    if (why != NULL) (void)core_raise_argument(state, "%s is not %U: %s", what, text, why);
    else
        (void)core_raise_argument(state, "%s has %lld bytes, and the storage of %U takes %lld", what, (long long)has,
                                  text, (long long)takes);
    Py_DECREF(text);
    return -1;
}

static int fail_type(core_state *state, const core_layout *layout, const char *what, tg_dtype dtype) {
    const tg_layout *l = &layout->desc.layout;
    const char      *device = l->format != TG_FORMAT_NATIVE ? tg_format_name(l->format) : NULL;
    char             why[120];
    PyOS_snprintf(why, sizeof why, "its elements are %s%s%s", tg_dtype_name(dtype), device != NULL ? ", not " : "",
                  device != NULL ? device : "");
    return fail_as(state, layout, what, why, 0, 0);
}

static int buffer_as(core_memory *out, core_state *state, PyObject *object, const core_layout *layout,
                     const char *what) {
    core_buffer *buffer = (core_buffer *)object;
    const tg_layout *a = &buffer->layout->desc.layout, *b = &layout->desc.layout;
    const bool equal = a->dtype == b->dtype && a->format == b->format && a->span == b->span && same_map(a, b);
    if (!equal) return fail_as(state, layout, what, "the Buffer has another layout", 0, 0);
    out->owner = Py_NewRef(object);
    out->bytes = core_block_bytes(buffer->block);
    return 0;
}

static int fail_shape(core_state *state, const core_layout *layout, const char *what, const tg_layout *array) {
    PyObject *text = PyObject_Str((PyObject *)layout), *shape = core_ints(array->shape, array->ndim);
    if (text != NULL && shape != NULL)
        (void)core_raise_argument(state, "%s is not %U: its shape is %R, which is neither the tensor's nor flat memory",
                                  what, text, shape);
    Py_XDECREF(text);
    Py_XDECREF(shape);
    return -1;
}

/* Whether elements of that type may be bits of the layout's: of its own type, of unsigned numbers as bytes and words of
 * memory have them, or of signed ones as wide. float32 is no memory for int32, and float16 none for DLFloat16. */
static bool may_hold(const tg_layout *array, const tg_layout *wanted) {
    const tg_dtype_class class = tg_dtype_get_class(array->dtype);
    if (class == TG_CLASS_UINT) return true;
    if (array->dtype == wanted->dtype && tg_layout_stored_format(array) == tg_layout_stored_format(wanted)) return true;
    return class == TG_CLASS_INT && (array->elem_bits == 8 || array->elem_bits == wanted->elem_bits);
}

/* Whether an array in C order is the storage by its shape: flat, or with a dimension for each mode of memory. */
static bool is_shaped_as_memory(const tg_layout *array, const tg_layout *wanted) {
    int32_t d = 0;
    if (array->ndim <= 1) return true;
    for (int32_t m = 0; m < wanted->nmodes; m++) {
        if (wanted->mode[m].into != TG_TO_MEMORY) continue;
        if (d == array->ndim || array->shape[d++] != wanted->mode[m].size) return false;
    }
    return d == array->ndim;
}

/* An array of the same shape and type must be the same map; any other is memory, if it is plain. One of the same type
 * and another shape is most likely a mistake. */
static int check_as(const core_memory *m, core_state *state, const core_layout *layout, int64_t takes,
                    const char *what) {
    const tg_layout *wanted = &layout->desc.layout;
    const bool       same_type = m->layout.dtype == wanted->dtype;
    const bool       is_tensor = same_type && same_shape(&m->layout, wanted) && m->layout.ndim > 1;
    const bool       native = wanted->format == TG_FORMAT_NATIVE && m->layout.elem_bits == wanted->elem_bits;
    if (native && same_type && same_map(&m->layout, wanted) && m->layout.span >= wanted->span) return 0;
    if (is_tensor && native && layout->has_notation && layout->desc.notation == TG_NOTATION_STRIDED)
        return fail_as(state, layout, what, "an array of this shape with other strides", 0, 0);
    if (is_tensor && m->nbytes == takes)
        return fail_as(state, layout, what,
                       "it has the tensor's shape and type, but its elements lie in another order", 0, 0);
    if (!may_hold(&m->layout, wanted))
        return fail_type(state, layout, what, m->layout.dtype);
    if (!m->contiguous) return fail_as(state, layout, what, "its elements are not in order and without gaps", 0, 0);
    if (m->nbytes != takes) return fail_as(state, layout, what, NULL, m->nbytes, takes);
    return same_type && !is_shaped_as_memory(&m->layout, wanted) ? fail_shape(state, layout, what, &m->layout) : 0;
}

int core_memory_open_as(core_memory *out, core_state *state, PyObject *object, const core_layout *layout, bool writable,
                        const char *what) {
    int64_t  nbytes = 0;
    tg_error err;
    if (tg_layout_nbytes(&nbytes, &layout->desc.layout, &err) != TG_OK) {
        (void)core_raise(state, &err, NULL);
        return -1;
    }
    if (is_buffer(state, object)) {
        memset(out, 0, sizeof *out);
        if (buffer_as(out, state, object, layout, what) != 0) return -1;
    } else {
        if (core_memory_open(out, state, object, writable, what) != 0) return -1;
        if (check_as(out, state, layout, nbytes, what) != 0) {
            core_memory_close(out);
            return -1;
        }
    }
    out->nbytes = nbytes;
    return 0;
}

/* ---- two of them --------------------------------------------------------------------------------------- */

static int open_pair(core_memory memory[2], core_state *state, const core_side *first, const core_side *second) {
    const core_side *const side[2] = {first, second};
    for (int i = 1; i >= 0; i--) { /* what is read, mostly, before what is written */
        const core_side *s = side[i];
        if (core_memory_open_as(&memory[i], state, s->object, s->layout, s->writable, s->what) == 0) continue;
        if (i == 0) core_memory_close(&memory[1]);
        return -1;
    }
    return 0;
}

int core_memory_open_pair(core_memory memory[2], core_state *state, const core_side *first, const core_side *second) {
    core_side a = *first, b = *second;
    PyObject *type, *error, *traceback;
    if (open_pair(memory, state, first, second) == 0) return 0;
    if (!PyErr_ExceptionMatches(state->errors[TG_ERR_ARGUMENT])) return -1;
    PyErr_Fetch(&type, &error, &traceback);
    a.object = second->object;
    b.object = first->object;
    if (open_pair(memory, state, &a, &b) != 0) {
        PyErr_Restore(type, error, traceback);
        return -1;
    }
    core_memory_close(&memory[0]);
    core_memory_close(&memory[1]);
    (void)core_raise_argument(state,
                              "%s and %s are the other way round: %s comes first, unless %s= and %s= say which is "
                              "which (%S)",
                              a.what, b.what, a.what, a.what, b.what, error);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return -1;
}
