/* tegula.Descriptor: one nest of loops, an immutable value. */
#include "py_dma.h"

typedef struct core_descriptor {
    PyObject_HEAD
    tg_dma_direction direction;
    tg_dma           dma;
} core_descriptor;

static const core_descriptor *descriptor_of(PyObject *object) { return (const core_descriptor *)object; }

PyObject *dma_descriptor(core_state *state, const tg_dma *dma, tg_dma_direction direction) {
    core_descriptor *self = PyObject_New(core_descriptor, (PyTypeObject *)state->descriptor_type);
    if (self == NULL) return NULL;
    self->direction = direction;
    self->dma = *dma;
    return (PyObject *)self;
}

static void descriptor_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- its numbers ------------------------------------------------------------------------------- */

enum { RANGES, DEVICE_STRIDES, HOST_STRIDES, DEVICE_OFFSET, HOST_OFFSET, ELEMENTS, FIELDS };

static int32_t list_of(int64_t *out, const tg_dma *dma, int which) {
    for (int32_t i = 0; i < dma->nloops; i++) {
        const tg_dma_loop *l = &dma->loop[i];
        out[i] = which == RANGES ? l->range : which == DEVICE_STRIDES ? l->device_stride : l->host_stride;
    }
    return dma->nloops;
}

static PyObject *field_of(const tg_dma *dma, int which) {
    int64_t values[TG_DMA_MAX_LOOPS];
    switch (which) {
    case DEVICE_OFFSET: return PyLong_FromLongLong(dma->device_offset);
    case HOST_OFFSET: return PyLong_FromLongLong(dma->host_offset);
    case ELEMENTS: return PyLong_FromLongLong(tg_dma_elements(dma));
    default: return core_ints(values, list_of(values, dma, which));
    }
}

static PyObject *get_field(PyObject *self, void *which) {
    return field_of(&descriptor_of(self)->dma, (int)(intptr_t)which);
}

PyObject *dma_descriptor_dict(const tg_dma *dma) {
    int64_t   values[TG_DMA_MAX_LOOPS];
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
    if (core_put(dict, "ranges", core_list(values, list_of(values, dma, RANGES))) != 0 ||
        core_put(dict, "device_strides", core_list(values, list_of(values, dma, DEVICE_STRIDES))) != 0 ||
        core_put(dict, "host_strides", core_list(values, list_of(values, dma, HOST_STRIDES))) != 0 ||
        core_put(dict, "device_offset", field_of(dma, DEVICE_OFFSET)) != 0 ||
        core_put(dict, "host_offset", field_of(dma, HOST_OFFSET)) != 0)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *descriptor_to_dict(PyObject *self, PyObject *unused) {
    (void)unused;
    return dma_descriptor_dict(&descriptor_of(self)->dma);
}

/* All of it, as a tuple, which is compared and hashed. */
static PyObject *key_of(PyObject *self) {
    const core_descriptor *d = descriptor_of(self);
    PyObject              *key = PyTuple_New(FIELDS);
    for (int i = 0; key != NULL && i < FIELDS; i++) {
        PyObject *value = i == ELEMENTS ? PyLong_FromLong(d->direction) : field_of(&d->dma, i);
        if (value == NULL || PyTuple_SetItem(key, i, value) != 0) Py_CLEAR(key);
    }
    return key;
}

static PyObject *descriptor_richcompare(PyObject *a, PyObject *b, int op) {
    if ((op != Py_EQ && op != Py_NE) || !Py_IS_TYPE(b, Py_TYPE(a))) Py_RETURN_NOTIMPLEMENTED;
    PyObject *x = key_of(a), *y = key_of(b);
    PyObject *answer = x != NULL && y != NULL ? PyObject_RichCompare(x, y, op) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return answer;
}

static Py_hash_t descriptor_hash(PyObject *self) {
    PyObject       *key = key_of(self);
    const Py_hash_t hash = key != NULL ? PyObject_Hash(key) : -1;
    Py_XDECREF(key);
    return hash;
}

/* ---- text ---------------------------------------------------------------------------------------- */

PyObject *dma_text(char *text, size_t len) {
    PyObject *answer = text != NULL ? PyUnicode_FromStringAndSize(text, (Py_ssize_t)len) : PyErr_NoMemory();
    PyMem_Free(text);
    return answer;
}

PyObject *dma_descriptor_text(const tg_dma *dma) {
    const size_t need = tg_dma_format(NULL, 0, dma);
    char        *text = PyMem_Malloc(need + 1);
    if (text != NULL) (void)tg_dma_format(text, need + 1, dma);
    return dma_text(text, need);
}

PyObject *dma_descriptor_loops(const tg_dma *dma, tg_dma_direction direction) {
    const size_t need = tg_dma_format_loops(NULL, 0, dma, direction);
    char        *text = PyMem_Malloc(need + 1);
    if (text != NULL) (void)tg_dma_format_loops(text, need + 1, dma, direction);
    return dma_text(text, need);
}

static PyObject *descriptor_str(PyObject *self) { return dma_descriptor_text(&descriptor_of(self)->dma); }

static PyObject *descriptor_loops(PyObject *self, PyObject *unused) {
    (void)unused;
    return dma_descriptor_loops(&descriptor_of(self)->dma, descriptor_of(self)->direction);
}

static PyObject *descriptor_repr(PyObject *self) {
    const tg_dma *dma = &descriptor_of(self)->dma;
    PyObject     *ranges = field_of(dma, RANGES), *device = field_of(dma, DEVICE_STRIDES);
    PyObject     *host = field_of(dma, HOST_STRIDES), *repr = NULL;
    if (ranges != NULL && device != NULL && host != NULL)
        repr = PyUnicode_FromFormat("tegula.Descriptor(ranges=%R, device_strides=%R, host_strides=%R, "
                                    "device_offset=%lld, host_offset=%lld)",
                                    ranges, device, host, (long long)dma->device_offset, (long long)dma->host_offset);
    Py_XDECREF(ranges);
    Py_XDECREF(device);
    Py_XDECREF(host);
    return repr;
}

/* ---- the type -------------------------------------------------------------------------------------- */

static PyGetSetDef getset[] = {
    {"ranges", get_field, NULL, "Steps of each loop, outermost first.", (void *)RANGES},
    {"device_strides", get_field, NULL, "Elements in device memory per step.", (void *)DEVICE_STRIDES},
    {"host_strides", get_field, NULL, "Elements in host memory per step.", (void *)HOST_STRIDES},
    {"device_offset", get_field, NULL, "Where it begins in device memory.", (void *)DEVICE_OFFSET},
    {"host_offset", get_field, NULL, "Where it begins in host memory.", (void *)HOST_OFFSET},
    {"elements", get_field, NULL, "How many it carries.", (void *)ELEMENTS},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"loops", descriptor_loops, METH_NOARGS, "loops()\n--\n\nThe loops as a person reads them."},
    {"to_dict", descriptor_to_dict, METH_NOARGS, "to_dict()\n--\n\nAs `tegula dma --json` prints it."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A nest of loops that carries elements; str() is three tuples, and the offsets if one is not 0."},
    {Py_tp_dealloc, descriptor_dealloc},
    {Py_tp_str, descriptor_str},
    {Py_tp_repr, descriptor_repr},
    {Py_tp_hash, descriptor_hash},
    {Py_tp_richcompare, descriptor_richcompare},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Descriptor",
    .basicsize = sizeof(core_descriptor),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

int dma_add_descriptor(PyObject *module) {
    return core_add_type(module, &core_module_state(module)->descriptor_type, &spec);
}
