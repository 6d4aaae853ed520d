/* tegula.Buffer: memory with a layout.
 *
 * A Buffer with a strided layout and plain elements is an array to others: the buffer protocol and DLPack show shape,
 * strides and type. Every other Buffer is its bytes, padding included. Types that the buffer protocol cannot name
 * (bf16, float8, 4 bits) go through __array__ (ml_dtypes) and DLPack; .storage is the bytes of any Buffer.
 *
 * The bytes are a block that counts its users, so that a consumer of DLPack can drop it on any thread. */
#include "py_array.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 128 }; /* of a Spyre stick; two cache lines */

struct core_block {
    atomic_size_t  users;
    unsigned char *bytes;
};

static core_block *new_block(int64_t nbytes, bool zero) {
    const size_t size = ((size_t)nbytes / ALIGNMENT + 1) * ALIGNMENT; /* never 0 */
    core_block  *block = malloc(sizeof *block);
    if (block == NULL) return NULL;
    atomic_init(&block->users, 1);
    block->bytes = (size_t)nbytes <= size ? aligned_alloc(ALIGNMENT, size) : NULL;
    if (block->bytes == NULL) {
        free(block);
        return NULL;
    }
    if (zero) memset(block->bytes, 0, size);
    else memset(block->bytes + size - ALIGNMENT, 0, ALIGNMENT); /* bits behind packed elements */
    return block;
}

unsigned char *core_block_bytes(const core_block *block) { return block->bytes; }

void core_block_retain(core_block *block) { (void)atomic_fetch_add_explicit(&block->users, 1, memory_order_relaxed); }

void core_block_release(core_block *block) {
    if (block == NULL || atomic_fetch_sub_explicit(&block->users, 1, memory_order_acq_rel) != 1) return;
    free(block->bytes);
    free(block);
}

/* ---- making ------------------------------------------------------------------------------------ */

static core_buffer *buffer_of(PyObject *object) { return (core_buffer *)object; }

/* Strides of dimensions that are never stepped along may be anything. */
static Py_ssize_t byte_stride(int64_t stride, int64_t width) {
    int64_t product;
    return __builtin_mul_overflow(stride, width, &product) ? (Py_ssize_t)width : (Py_ssize_t)product;
}

int64_t core_first_byte(const core_layout *layout) {
    const tg_layout *l = &layout->desc.layout;
    return tg_layout_numel(l) > 0 ? l->offset * (l->elem_bits / 8) : 0;
}

static void describe(core_buffer *self) {
    const tg_desc *desc = &self->layout->desc;
    const int32_t  bits = desc->layout.elem_bits;
    self->is_array = self->layout->has_notation && desc->notation == TG_NOTATION_STRIDED && bits % 8 == 0;
    if (!self->is_array) return;
    for (int32_t d = 0; d < desc->host.ndim; d++) {
        self->shape[d] = (Py_ssize_t)desc->host.shape[d];
        self->strides[d] = byte_stride(desc->host.strides[d], bits / 8);
    }
}

PyObject *core_buffer_new(core_state *state, core_layout *layout, bool zero) {
    const tg_layout *l = &layout->desc.layout;
    int64_t          nbytes = 0;
    tg_error         err;
    if (tg_layout_nbytes(&nbytes, l, &err) != TG_OK) return core_raise(state, &err, NULL);
    if (layout->has_notation && layout->desc.notation == TG_NOTATION_STRIDED &&
        core_lowest_offset(l, &layout->desc.host) < 0)
        return core_raise_argument(state, "a Buffer begins at offset 0, and an element of this layout is at %lld",
                                   (long long)core_lowest_offset(l, &layout->desc.host));
    core_buffer *self = PyObject_New(core_buffer, (PyTypeObject *)state->buffer_type);
    if (self == NULL) return NULL;
    self->layout = (core_layout *)Py_NewRef((PyObject *)layout);
    self->block = new_block(nbytes, zero);
    describe(self);
    if (self->block != NULL) return (PyObject *)self;
    Py_DECREF(self);
    return PyErr_Format(PyExc_MemoryError, "%lld bytes for a Buffer could not be allocated", (long long)nbytes);
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"layout", NULL};
    core_state  *state = PyType_GetModuleState(type);
    PyObject    *object = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Buffer", names, &object)) return NULL;
    core_layout *layout = core_get_layout(state, object, "layout");
    if (layout == NULL) return NULL;
    PyObject *self = core_buffer_new(state, layout, true);
    Py_DECREF(layout);
    return self;
}

static void buffer_dealloc(PyObject *object) {
    core_buffer  *self = buffer_of(object);
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF((PyObject *)self->layout);
    core_block_release(self->block);
    PyObject_Free(self);
    Py_DECREF(type);
}

static Py_ssize_t nbytes_of(const core_buffer *self) {
    int64_t nbytes = 0;
    (void)tg_layout_nbytes(&nbytes, &self->layout->desc.layout, NULL); /* it was asked before */
    return (Py_ssize_t)nbytes;
}

/* ---- the buffer protocol ------------------------------------------------------------------------ */

static int fail_export(Py_buffer *view, const char *why) {
    view->obj = NULL;
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
}

static int export_array(core_buffer *self, Py_buffer *view, int flags) {
    const tg_layout *l = &self->layout->desc.layout;
    const tg_host   *host = &self->layout->desc.host;
    const int64_t    width = l->elem_bits / 8;
    const char      *format = core_format_of_dtype(l->dtype);
    if (format == NULL && (flags & PyBUF_FORMAT) != 0)
        return fail_export(view,
                           "the buffer protocol has no name for this element type; take DLPack, numpy() or storage");
    *view = (Py_buffer){.buf = core_block_bytes(self->block) + core_first_byte(self->layout),
                        .len = (Py_ssize_t)(tg_layout_numel(l) * width),
                        .itemsize = (Py_ssize_t)width,
                        .ndim = host->ndim,
                        .format = (char *)(uintptr_t)format,
                        .shape = self->shape,
                        .strides = self->strides};
    const bool strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    const bool c = (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS || !strides;
    const bool f = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
    const bool any = (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    if ((c && !PyBuffer_IsContiguous(view, 'C')) || (f && !PyBuffer_IsContiguous(view, 'F')) ||
        (any && !PyBuffer_IsContiguous(view, 'A')))
        return fail_export(view, "the elements of this Buffer are not in the wanted order, or with gaps");
    if ((flags & PyBUF_FORMAT) == 0) view->format = NULL;
    if ((flags & PyBUF_ND) == 0) view->shape = NULL;
    if (!strides) view->strides = NULL;
    view->obj = Py_NewRef((PyObject *)self);
    return 0;
}

static int buffer_getbuffer(PyObject *object, Py_buffer *view, int flags) {
    core_buffer *self = buffer_of(object);
    if (view == NULL) return PyErr_Format(PyExc_BufferError, "no view"), -1;
    if (self->is_array) return export_array(self, view, flags);
    return PyBuffer_FillInfo(view, object, core_block_bytes(self->block), nbytes_of(self), 0, flags);
}

/* ---- .storage ---------------------------------------------------------------------------------------- */

/* What a memoryview of the bytes holds on to. */
typedef struct storage {
    PyObject_HEAD
    PyObject *buffer;
} storage;

static int storage_getbuffer(PyObject *object, Py_buffer *view, int flags) {
    core_buffer *buffer = buffer_of(((storage *)object)->buffer);
    return PyBuffer_FillInfo(view, object, core_block_bytes(buffer->block), nbytes_of(buffer), 0, flags);
}

static void storage_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF(((storage *)object)->buffer);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *get_storage(PyObject *self, void *unused) {
    storage *s = PyObject_New(storage, (PyTypeObject *)core_get_state(self)->storage_type);
    (void)unused;
    if (s == NULL) return NULL;
    s->buffer = Py_NewRef(self);
    PyObject *view = PyMemoryView_FromObject((PyObject *)s);
    Py_DECREF(s);
    return view;
}

/* ---- attributes ----------------------------------------------------------------------------------------- */

static PyObject *get_layout(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)buffer_of(self)->layout);
}

static PyObject *get_nbytes(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromSsize_t(nbytes_of(buffer_of(self)));
}

static PyObject *get_address(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromVoidPtr(core_block_bytes(buffer_of(self)->block));
}

static PyObject *buffer_repr(PyObject *self) {
    return PyUnicode_FromFormat("Buffer(%R)", (PyObject *)buffer_of(self)->layout);
}

static PyObject *buffer_dlpack_device(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return Py_BuildValue("(ii)", DL_CPU, 0);
}

/* Other memory with the same bytes; the layout, which never changes, is the same object. */
static PyObject *buffer_copy(PyObject *self, PyObject *unused) {
    core_buffer *from = buffer_of(self);
    PyObject    *made = core_buffer_new(core_get_state(self), from->layout, false);
    (void)unused;
    if (made == NULL) return NULL;
    const size_t nbytes = (size_t)nbytes_of(from);
    Py_BEGIN_ALLOW_THREADS
    memcpy(core_block_bytes(buffer_of(made)->block), core_block_bytes(from->block), nbytes);
    Py_END_ALLOW_THREADS
    return made;
}

/* NumPy is asked in Python: tegula/_numpy.py. */
static PyObject *call_numpy(PyObject *self, const char *function, PyObject *args) {
    PyObject *module = PyImport_ImportModule("tegula._numpy");
    PyObject *callable = module != NULL ? PyObject_GetAttrString(module, function) : NULL;
    PyObject *answer = callable != NULL ? PyObject_CallFunctionObjArgs(callable, self, args, NULL) : NULL;
    Py_XDECREF(callable);
    Py_XDECREF(module);
    return answer;
}

static PyObject *buffer_numpy(PyObject *self, PyObject *unused) {
    (void)unused;
    return call_numpy(self, "as_array", NULL);
}

static PyObject *buffer_array(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"dtype", "copy", NULL};
    PyObject    *dtype = Py_None, *copy = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", names, &dtype, &copy)) return NULL;
    PyObject *wish = PyTuple_Pack(2, dtype, copy);
    PyObject *array = wish != NULL ? call_numpy(self, "as_wished", wish) : NULL;
    Py_XDECREF(wish);
    return array;
}

/* ---- the types --------------------------------------------------------------------------------------------- */

#define CALL(function) ((PyCFunction)(void (*)(void))(function))

static PyGetSetDef getset[] = {
    {"layout", get_layout, NULL, "Where its elements are.", NULL},
    {"nbytes", get_nbytes, NULL, "Bytes of storage, padding included.", NULL},
    {"address", get_address, NULL, "Of offset 0, a multiple of 128.", NULL},
    {"storage", get_storage, NULL, "The bytes, padding included, as a memoryview.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"numpy", buffer_numpy, METH_NOARGS,
     "numpy()\n--\n\nA NumPy array of this memory: the elements of a strided layout, the stored ones in a row of any "
     "other."},
    {"__array__", CALL(buffer_array), METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack__", CALL(core_buffer_dlpack), METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", buffer_dlpack_device, METH_NOARGS, NULL},
    {"__copy__", buffer_copy, METH_NOARGS, NULL},
    {"__deepcopy__", buffer_copy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Buffer(layout)\n--\n\nMemory for a layout, of zeros."},
    {Py_tp_new, buffer_new},
    {Py_tp_dealloc, buffer_dealloc},
    {Py_tp_repr, buffer_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_bf_getbuffer, buffer_getbuffer},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Buffer",
    .basicsize = sizeof(core_buffer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

static PyType_Slot storage_slots[] = {
    {Py_tp_dealloc, storage_dealloc},
    {Py_bf_getbuffer, storage_getbuffer},
    {0, NULL},
};

static PyType_Spec storage_spec = {
    .name = "tegula._core.Storage",
    .basicsize = sizeof(storage),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = storage_slots,
};

int core_add_buffer(PyObject *module) {
    core_state *state = core_module_state(module);
    state->storage_type = PyType_FromModuleAndSpec(module, &storage_spec, NULL); /* nobody's to make */
    if (state->storage_type == NULL) return -1;
    return core_add_type(module, &state->buffer_type, &spec);
}
