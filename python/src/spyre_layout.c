/* SpyreTensorLayout, as torch_spyre._C has it: an immutable value around tg_spyre.
 *
 * One name, four ways to call it, told apart by the arguments alone:
 *
 *     (host_size, dtype [, dim_order])                                  dense host; dim_order as the first documents
 *     (host_size, host_strides, dtype, dim_order [, element_arrangement])
 *     (device_size, stride_map, device_dtype [, element_arrangement])   stored as given
 *
 * The second argument is a sequence in the last two, and their third is a DataFormats only in the last. */
#include "spyre.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

typedef struct layout_object {
    PyObject_HEAD
    tg_spyre spyre;
    bool     has_host;
    PyObject *weakrefs;
    tg_host  host; /* no part of the value: neither compared nor kept by pickle */
} layout_object;

/* ---- reading Python values ---- */

/* PyTorch's quantised types hold integers; the host side of their layouts is a stand-in of the same width. */
static const struct { const char *name; tg_dtype dtype; tg_format format; } quantised[] = {
    {"qint8", TG_S8, TG_SENINT8}, {"quint8", TG_U8, TG_SENUINT32},
    {"quint4x2", TG_U4, TG_SENUINT2}, {"quint2x4", TG_U2, TG_SENUINT2},
};

int spyre_get_dtype(tg_dtype *dtype, tg_format *format, core_state *state, PyObject *object) {
    PyObject   *text = PyObject_Str(object);
    const char *name = text != NULL ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    *format = TG_FORMAT_INVALID;
    for (size_t i = 0; name != NULL && i < sizeof quantised / sizeof quantised[0]; i++)
        if (strncmp(name, "torch.", 6) == 0 && strcmp(name + 6, quantised[i].name) == 0)
            *dtype = quantised[i].dtype, *format = quantised[i].format;
    if (name != NULL && *format == TG_FORMAT_INVALID) {
        const bool known = core_get_dtype(dtype, state, object) == 0;
        if (known) *format = tg_format_for_dtype(*dtype);
        else if (strncmp(name, "torch.", 6) == 0) PyErr_Clear(); /* a type of PyTorch's that Tegula has no name for */
        if (*format == TG_FORMAT_INVALID && !PyErr_Occurred())
            PyErr_Format(PyExc_RuntimeError, "Spyre backend does not support dtype %U", text);
    }
    Py_XDECREF(text);
    return *format == TG_FORMAT_INVALID ? -1 : 0;
}

/* The number of a DataFormats or ElementArrangement member, or of anything that has an index. */
static int get_number(int *out, PyObject *object) {
    PyObject *number = PyNumber_Index(object);
    if (number == NULL) return -1;
    const long value = PyLong_AsLong(number);
    Py_DECREF(number);
    if (value == -1 && PyErr_Occurred()) return -1;
    if (value < INT16_MIN || value > INT16_MAX) {
        PyErr_Format(PyExc_ValueError, "%R is not an element arrangement or data format", object);
        return -1;
    }
    *out = (int)value;
    return 0;
}

static int get_arrangement_of(tg_arrangement *out, PyObject *object) {
    int value = TG_STANDARD;
    if (object != NULL && object != Py_None && get_number(&value, object) < 0) return -1;
    if (tg_arrangement_name((tg_arrangement)value) == NULL) {
        PyErr_Format(PyExc_ValueError, "%d is not an element arrangement", value);
        return -1;
    }
    *out = (tg_arrangement)value;
    return 0;
}

/* "keep", "drop" or None. */
static int get_unit_dims(bool *keep, PyObject *object) {
    *keep = false;
    if (object == NULL || object == Py_None) return 0;
    if (PyUnicode_Check(object)) {
        *keep = PyUnicode_CompareWithASCIIString(object, "keep") == 0;
        if (*keep || PyUnicode_CompareWithASCIIString(object, "drop") == 0) return 0;
    }
    PyErr_Format(PyExc_ValueError, "unit_dims is %R; it must be 'drop' or 'keep'", object);
    return -1;
}

/* ---- the constructors ---- */

/* Kept from then on. */
PyObject *core_enumeration(core_state *state, const char *name) {
    PyObject **slot = strcmp(name, "DataFormats") == 0 ? &state->spyre_formats : &state->spyre_arrangements;
    if (*slot == NULL) {
        PyObject *names = PyImport_ImportModule("tegula._spyre_names");
        if (names != NULL) *slot = PyObject_GetAttrString(names, name);
        Py_XDECREF(names);
    }
    return *slot;
}

static PyObject *format_member(core_state *state, tg_format format) {
    PyObject *type = core_enumeration(state, "DataFormats");
    return type != NULL ? PyObject_CallFunction(type, "i", (int)format) : NULL;
}

static PyObject *arrangement_member(core_state *state, tg_arrangement arrangement) {
    PyObject *type = core_enumeration(state, "ElementArrangement");
    return type != NULL ? PyObject_CallFunction(type, "i", (int)arrangement) : NULL;
}

/* 1 if the object is a DataFormats, 0 if not, -1 with an exception. */
static int is_format(core_state *state, PyObject *object) {
    PyObject *type = core_enumeration(state, "DataFormats");
    return type != NULL ? PyObject_IsInstance(object, type) : -1;
}

typedef struct host_arguments {
    PyObject *size, *strides, *dtype, *order, *arrangement, *unit_dims;
} host_arguments;

/* The strides of an argument, if it is there, in place of the dense ones. */
static int get_strides(tg_host *host, core_state *state, PyObject *object) {
    int64_t strides[TG_MAX_NDIM];
    int32_t n = 0;
    if (object == NULL || object == Py_None) return 0;
    if (core_get_ints(strides, &n, TG_MAX_NDIM, state, object, "host_strides") != 0) return -1;
    if (n != host->ndim) {
        (void)core_raise_argument(state, "host_strides has %d entries for %d", (int)n, (int)host->ndim);
        return -1;
    }
    memcpy(host->strides, strides, (size_t)n * sizeof strides[0]);
    return 0;
}

static int get_host(tg_host *host, core_state *state, tg_dtype dtype, PyObject *size, PyObject *strides) {
    int64_t  shape[TG_MAX_NDIM];
    int32_t  ndim = 0;
    tg_error err;
    if (core_get_ints(shape, &ndim, TG_MAX_NDIM, state, size, "host_size") != 0) return -1;
    if (tg_host_contiguous(host, dtype, ndim, shape, &err) != TG_OK) return core_raise(state, &err, NULL), -1;
    return get_strides(host, state, strides);
}

static int from_host(tg_spyre *out, tg_host *host, core_state *state, const host_arguments *a) {
    int32_t         order[TG_MAX_NDIM + 1];
    tg_error        err;
    tg_dtype        dtype;
    tg_spyre_params params = {.has_device_dtype = true};
    if (spyre_get_dtype(&dtype, &params.device_dtype, state, a->dtype) < 0) return -1;
    if (get_arrangement_of(&params.arrangement, a->arrangement) < 0) return -1;
    if (get_unit_dims(&params.keep_unit_dims, a->unit_dims) < 0) return -1;
    if (get_host(host, state, dtype, a->size, a->strides) < 0) return -1;
    if (a->order != NULL && a->order != Py_None) {
        if (core_get_ints32(order, &params.norder, TG_MAX_NDIM + 1, state, a->order, "dim_order") != 0) return -1;
        params.dim_order = order;
    }
    return tg_spyre_default(out, host, &params, &err) == TG_OK ? 0 : (core_raise(state, &err, NULL), -1);
}

/* Sizes are not negative, both vectors are as long, and the format has sticks. The rest needs a host tensor. */
static int from_device(tg_spyre *out, core_state *state, PyObject *device_size, PyObject *stride_map, PyObject *format,
                       PyObject *arrangement) {
    int     value = 0;
    int32_t n = 0;
    memset(out, 0, sizeof *out);
    if (core_get_ints(out->device_size, &out->rank, TG_SPYRE_MAX_RANK, state, device_size, "device_size") != 0 ||
        core_get_ints(out->stride_map, &n, TG_SPYRE_MAX_RANK, state, stride_map, "stride_map") != 0 ||
        get_number(&value, format) < 0 || get_arrangement_of(&out->arrangement, arrangement) < 0)
        return -1;
    if (n != out->rank) {
        (void)core_raise_argument(state, "stride_map has %d entries for %d", (int)n, (int)out->rank);
        return -1;
    }
    if (n == 0) {
        (void)core_raise_argument(state, "device_size has no entries; a device layout has at least its stick");
        return -1;
    }
    for (int32_t k = 0; k < n; k++)
        if (out->device_size[k] < 0) {
            (void)core_raise_argument(state, "device dimension %d has negative size %lld", (int)k,
                                      (long long)out->device_size[k]);
            return -1;
        }
    out->device_dtype = (tg_format)value;
    if (tg_format_bits(out->device_dtype) != 0) return 0;
    (void)core_raise_argument(state, "device format %R has no stick geometry", format);
    return -1;
}

static bool has_key(PyObject *kwargs, const char *key) {
    return kwargs != NULL && PyDict_GetItemString(kwargs, key) != NULL;
}

/* 1 with the host tensor, 0 without one, -1 with an exception. */
static int from_arguments(tg_spyre *out, tg_host *host, core_state *state, PyObject *args, PyObject *kwargs) {
    static char *short_names[] = {"host_size", "dtype", "dim_order", "element_arrangement", "unit_dims", NULL};
    static char *long_names[] = {"host_size", "host_strides", "dtype", "dim_order", "element_arrangement",
                                 "unit_dims", NULL};
    static char *device_names[] = {"device_size", "stride_map", "device_dtype", "element_arrangement", NULL};
    PyObject        *device_size, *stride_map, *format, *arrangement = NULL;
    host_arguments   a = {0};
    const Py_ssize_t n = PyTuple_Size(args);
    const bool       second_is_list = n >= 2 && PySequence_Check(PyTuple_GetItem(args, 1)) &&
                                !PyUnicode_Check(PyTuple_GetItem(args, 1));
    int device = has_key(kwargs, "device_size") || has_key(kwargs, "stride_map") || has_key(kwargs, "device_dtype");
    if (!device && second_is_list && n >= 3 && (device = is_format(state, PyTuple_GetItem(args, 2))) < 0) return -1;
    if (device) {
        if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O:SpyreTensorLayout", device_names, &device_size,
                                         &stride_map, &format, &arrangement))
            return -1;
        return from_device(out, state, device_size, stride_map, format, arrangement);
    }
    const int ok = second_is_list || has_key(kwargs, "host_strides")
                       ? PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO|OO:SpyreTensorLayout", long_names, &a.size,
                                                     &a.strides, &a.dtype, &a.order, &a.arrangement, &a.unit_dims)
                       : PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OOO:SpyreTensorLayout", short_names, &a.size,
                                                     &a.dtype, &a.order, &a.arrangement, &a.unit_dims);
    return ok && from_host(out, host, state, &a) == 0 ? 1 : -1;
}

PyObject *spyre_layout_new(core_state *state, const tg_spyre *spyre, const tg_host *host) {
    layout_object *self = (layout_object *)PyType_GenericAlloc((PyTypeObject *)state->spyre_layout_type, 0);
    if (self == NULL) return NULL;
    self->spyre = *spyre;
    self->has_host = host != NULL;
    if (host != NULL) self->host = *host;
    return (PyObject *)self;
}

static PyObject *layout_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    tg_spyre    spyre;
    tg_host     host;
    core_state *state = PyType_GetModuleState(type);
    const int   made = from_arguments(&spyre, &host, state, args, kwargs);
    return made < 0 ? NULL : spyre_layout_new(state, &spyre, made > 0 ? &host : NULL);
}

static void layout_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_ClearWeakRefs(self);
    freefunc      release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- reading it ---- */

static const tg_spyre *value_of(PyObject *self) { return &((layout_object *)self)->spyre; }

static PyObject *list_of(const int64_t *values, int32_t n) {
    PyObject *tuple = core_ints(values, n), *list = tuple != NULL ? PySequence_List(tuple) : NULL;
    Py_XDECREF(tuple);
    return list;
}

static PyObject *get_device_size(PyObject *self, void *closure) {
    (void)closure;
    return list_of(value_of(self)->device_size, value_of(self)->rank);
}

static PyObject *get_stride_map(PyObject *self, void *closure) {
    (void)closure;
    return list_of(value_of(self)->stride_map, value_of(self)->rank);
}

static PyObject *get_device_dtype(PyObject *self, void *closure) {
    (void)closure;
    return format_member(core_get_state(self), value_of(self)->device_dtype);
}

static PyObject *get_arrangement(PyObject *self, void *closure) {
    (void)closure;
    return arrangement_member(core_get_state(self), value_of(self)->arrangement);
}

/* 128 bytes for every position of the dimensions outside the stick. The product may be too large for 64 bits. */
static PyObject *get_nbytes(PyObject *self, void *closure) {
    const tg_spyre *s = value_of(self);
    PyObject       *bytes = PyLong_FromLong(TG_SPYRE_STICK_BYTES);
    (void)closure;
    for (int32_t k = 0; bytes != NULL && k + 1 < s->rank; k++) {
        PyObject *size = PyLong_FromLongLong(s->device_size[k]), *old = bytes;
        bytes = size != NULL ? PyNumber_Multiply(old, size) : NULL;
        Py_XDECREF(size);
        Py_DECREF(old);
    }
    return bytes;
}

static PyObject *layout_repr(PyObject *self) {
    char         buf[2048];
    const size_t need = tg_spyre_str(buf, sizeof buf, value_of(self));
    return PyUnicode_FromStringAndSize(buf, (Py_ssize_t)(need < sizeof buf ? need : sizeof buf - 1));
}

static bool same(const tg_spyre *a, const tg_spyre *b) {
    const size_t bytes = (size_t)a->rank * sizeof a->device_size[0];
    return a->rank == b->rank && a->device_dtype == b->device_dtype && a->arrangement == b->arrangement &&
           memcmp(a->device_size, b->device_size, bytes) == 0 && memcmp(a->stride_map, b->stride_map, bytes) == 0;
}

static PyObject *layout_compare(PyObject *a, PyObject *b, int op) {
    if ((op != Py_EQ && op != Py_NE) || !PyObject_TypeCheck(b, Py_TYPE(a))) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong(same(value_of(a), value_of(b)) == (op == Py_EQ));
}

/* FNV-1a over the numbers that make the value. */
static Py_hash_t layout_hash(PyObject *self) {
    const tg_spyre *s = value_of(self);
    uint64_t        h = 14695981039346656037u;
    for (int32_t k = 0; k < s->rank; k++) h = (h ^ (uint64_t)s->device_size[k]) * 1099511628211u;
    for (int32_t k = 0; k < s->rank; k++) h = (h ^ (uint64_t)s->stride_map[k]) * 1099511628211u;
    h = (h ^ (uint64_t)(int)s->device_dtype) * 1099511628211u;
    h = (h ^ (uint64_t)(int)s->arrangement) * 1099511628211u;
    return (Py_hash_t)h == -1 ? -2 : (Py_hash_t)h;
}

static PyObject *elems_per_stick(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(8 * TG_SPYRE_STICK_BYTES / tg_format_bits(value_of(self)->device_dtype));
}

static PyObject *with_arrangement(PyObject *self, PyObject *arrangement) {
    tg_spyre             spyre = *value_of(self);
    const layout_object *from = (const layout_object *)self;
    if (get_arrangement_of(&spyre.arrangement, arrangement) < 0) return NULL;
    return spyre_layout_new(core_get_state(self), &spyre, from->has_host ? &from->host : NULL);
}

static PyObject *dim_map(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"host_size", "host_strides", NULL};
    PyObject    *size, *strides = NULL;
    int64_t      map[TG_SPYRE_MAX_RANK];
    tg_host      host;
    tg_error     err;
    core_state  *state = core_get_state(self);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:dim_map", names, &size, &strides)) return NULL;
    if (get_host(&host, state, TG_F16, size, strides) < 0) return NULL;
    if (tg_spyre_dim_map(map, value_of(self), &host, &err) != TG_OK) return core_raise(state, &err, NULL);
    return list_of(map, value_of(self)->rank);
}

/* ---- the tensor that it was made for ---- */

/* The next dimension from d on whose size is not 1: those of size 1 say nothing. */
static int32_t next_dim(const tg_host *host, int32_t d) {
    while (d < host->ndim && host->shape[d] == 1) d++;
    return d;
}

static bool same_tensor(const tg_host *a, const tg_host *b) {
    int32_t i = next_dim(a, 0), k = next_dim(b, 0);
    for (; i < a->ndim && k < b->ndim; i = next_dim(a, i + 1), k = next_dim(b, k + 1))
        if (a->shape[i] != b->shape[k] || a->strides[i] != b->strides[k]) return false;
    return i == a->ndim && k == b->ndim;
}

static void *refuse_tensor(core_state *state, const tg_host *made_for, const tg_host *host) {
    PyObject *sizes = core_ints(made_for->shape, made_for->ndim), *steps = core_ints(made_for->strides, made_for->ndim);
    PyObject *size = core_ints(host->shape, host->ndim), *strides = core_ints(host->strides, host->ndim);
    if (sizes != NULL && steps != NULL && size != NULL && strides != NULL)
        (void)core_raise_argument(state,
                                  "device_layout is that of a tensor of size %R with strides %R, and this one has "
                                  "size %R and strides %R", sizes, steps, size, strides);
    Py_XDECREF(sizes);
    Py_XDECREF(steps);
    Py_XDECREF(size);
    Py_XDECREF(strides);
    return NULL;
}

int spyre_layout_check(core_state *state, PyObject *layout, const tg_host *host, tg_format format) {
    const layout_object *l = (const layout_object *)layout;
    if (l->has_host && !same_tensor(&l->host, host)) {
        (void)refuse_tensor(state, &l->host, host);
        return -1;
    }
    if (l->spyre.device_dtype == format) return 0;
    (void)core_raise_argument(state, "device_layout is in %s, and %s is %s on the device",
                              tg_format_name(l->spyre.device_dtype), tg_dtype_name(host->dtype),
                              tg_format_name(format));
    return -1;
}

/* The strides to give a new tensor of that many dimensions; None if the layout does not say. */
static PyObject *host_strides(PyObject *self, PyObject *ndim) {
    const layout_object *l = (const layout_object *)self;
    const long           n = PyLong_AsLong(ndim);
    if (n == -1 && PyErr_Occurred()) return NULL;
    return l->has_host && l->host.ndim == n ? core_ints(l->host.strides, l->host.ndim) : Py_NewRef(Py_None);
}

/* ---- pickling: (version, device_size, stride_map, device_dtype, element_arrangement) ---- */

enum { PICKLE_VERSION = 3 };

static PyObject *layout_reduce(PyObject *self, PyObject *unused) {
    const tg_spyre *s = value_of(self);
    (void)unused;
    PyObject *restore = PyObject_GetAttrString((PyObject *)Py_TYPE(self), "_restore");
    PyObject *sizes = list_of(s->device_size, s->rank), *map = list_of(s->stride_map, s->rank), *result = NULL;
    if (restore != NULL && sizes != NULL && map != NULL)
        result = Py_BuildValue("O((iOOii))", restore, PICKLE_VERSION, sizes, map, (int)s->device_dtype,
                               (int)s->arrangement);
    Py_XDECREF(restore);
    Py_XDECREF(sizes);
    Py_XDECREF(map);
    return result;
}

static PyObject *layout_restore(PyObject *type, PyObject *state) {
    PyObject   *sizes, *map, *format, *arrangement = NULL;
    int         version;
    tg_spyre    spyre;
    core_state *core = PyType_GetModuleState((PyTypeObject *)type);
    if (!PyTuple_Check(state)) return PyErr_Format(PyExc_TypeError, "the state of a SpyreTensorLayout is a tuple");
    if (!PyArg_ParseTuple(state, "iOOO|O:_restore", &version, &sizes, &map, &format, &arrangement)) return NULL;
    if (version < 2 || version > PICKLE_VERSION)
        return PyErr_Format(PyExc_ValueError, "a pickled SpyreTensorLayout of version %d; 2 and 3 can be read%s",
                            version, version == 1 ? " (1 has a dim_map, which needs the host tensor)" : "");
    return from_device(&spyre, core, sizes, map, format, arrangement) < 0 ? NULL
                                                                          : spyre_layout_new(core, &spyre, NULL);
}

static PyGetSetDef layout_getset[] = {
    {"device_size", get_device_size, NULL, "Extents of device memory, outermost first; the last is the stick.", NULL},
    {"stride_map", get_stride_map, NULL, "Host elements that one step along each device dimension advances.", NULL},
    {"device_dtype", get_device_dtype, NULL, "The DataFormats that elements are stored in.", NULL},
    {"element_arrangement", get_arrangement, NULL, "The ElementArrangement inside sticks.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of device memory, padding included.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef layout_methods[] = {
    {"elems_per_stick", elems_per_stick, METH_NOARGS, "elems_per_stick()\n--\n\nElements in 128 bytes."},
    {"with_element_arrangement", with_arrangement, METH_O,
     "with_element_arrangement(element_arrangement, /)\n--\n\nThe same layout with another arrangement."},
    {"dim_map", (PyCFunction)(void (*)(void))dim_map, METH_VARARGS | METH_KEYWORDS,
     "dim_map(host_size, host_strides=None)\n--\n\n"
     "The host dimension of each device dimension, for a host tensor of that size; -1: none."},
    {"_host_strides", host_strides, METH_O, NULL},
    {"__reduce__", layout_reduce, METH_NOARGS, NULL},
    {"_restore", layout_restore, METH_O | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef layout_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(layout_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot layout_slots[] = {
    {Py_tp_doc, "SpyreTensorLayout(host_size, dtype, dim_order=None, *, unit_dims='drop')\n"
                "SpyreTensorLayout(host_size, host_strides, dtype, dim_order, element_arrangement=STANDARD)\n"
                "SpyreTensorLayout(device_size, stride_map, device_dtype, element_arrangement=STANDARD)\n\n"
                "How a tensor lies in the tiled memory of a Spyre device."},
    {Py_tp_new, layout_new},
    {Py_tp_dealloc, layout_free},
    {Py_tp_repr, layout_repr},
    {Py_tp_richcompare, layout_compare},
    {Py_tp_hash, layout_hash},
    {Py_tp_getset, layout_getset},
    {Py_tp_members, layout_members},
    {Py_tp_methods, layout_methods},
    {0, NULL},
};

static PyType_Spec layout_spec = {
    .name = "tegula.SpyreTensorLayout",
    .basicsize = sizeof(layout_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = layout_slots,
};

const tg_spyre *spyre_layout_get(core_state *state, PyObject *layout) {
    if (PyObject_TypeCheck(layout, (PyTypeObject *)state->spyre_layout_type)) return value_of(layout);
    PyErr_Format(PyExc_TypeError, "device_layout must be a SpyreTensorLayout, not %R", layout);
    return NULL;
}

/* ---- functions on names ---- */

static PyObject *device_dtype_of(PyObject *module, PyObject *dtype) {
    tg_dtype    host;
    tg_format   format;
    core_state *state = core_module_state(module);
    return spyre_get_dtype(&host, &format, state, dtype) < 0 ? NULL : format_member(state, format);
}

static PyObject *elems_of(PyObject *module, PyObject *dtype) {
    tg_dtype  host;
    tg_format format;
    if (spyre_get_dtype(&host, &format, core_module_state(module), dtype) < 0) return NULL;
    return PyLong_FromLong(8 * TG_SPYRE_STICK_BYTES / tg_format_bits(format));
}

/* Both tables: {name: (value, bits)} of the formats, {name: value} of the arrangements. */
static PyObject *names(PyObject *module, PyObject *unused) {
    PyObject *formats = PyDict_New(), *arrangements = PyDict_New(), *result = NULL;
    bool      ok = formats != NULL && arrangements != NULL;
    (void)module;
    (void)unused;
    for (int i = 0; ok && tg_format_name((tg_format)i) != NULL; i++) {
        PyObject *pair = Py_BuildValue("ii", i, (int)tg_format_bits((tg_format)i));
        ok = pair != NULL && PyDict_SetItemString(formats, tg_format_name((tg_format)i), pair) == 0;
        Py_XDECREF(pair);
    }
    for (int i = 0; ok && tg_arrangement_name((tg_arrangement)i) != NULL; i++) {
        PyObject *value = PyLong_FromLong(i);
        ok = value != NULL && PyDict_SetItemString(arrangements, tg_arrangement_name((tg_arrangement)i), value) == 0;
        Py_XDECREF(value);
    }
    if (ok) result = PyTuple_Pack(2, formats, arrangements);
    Py_XDECREF(formats);
    Py_XDECREF(arrangements);
    return result;
}

PyMethodDef spyre_layout_methods[] = {
    {"_spyre_device_dtype", device_dtype_of, METH_O, "The DataFormats of a PyTorch dtype."},
    {"_spyre_elems_per_stick", elems_of, METH_O, "Elements of a PyTorch dtype in a stick."},
    {"_spyre_names", names, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int core_add_spyre(PyObject *module) {
    core_state *state = core_module_state(module);
    if (core_add_type(module, &state->spyre_layout_type, &layout_spec) != 0) return -1;
    if (PyModule_AddFunctions(module, spyre_layout_methods) != 0) return -1;
    if (PyModule_AddFunctions(module, spyre_memory_methods) != 0) return -1;
    return PyModule_AddFunctions(module, spyre_copy_methods);
}
