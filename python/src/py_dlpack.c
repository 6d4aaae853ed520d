/* DLPack: capsules of others opened, and ours made.
 *
 * A capsule that is consumed is renamed, and from then on the consumer calls the deleter. Of a major version that is
 * not ours nothing but the deleter may be touched. Our deleter runs on any thread and without the GIL: it releases the
 * block of memory, which is no Python object. */
#include "py_array.h"

#include <stdlib.h>
#include <string.h>

/* ---- theirs ---------------------------------------------------------------------------------- */

static int check_kind(core_state *state, int64_t type, const char *what) {
    if (type == DL_CPU || type == DL_CUDA_HOST || type == DL_ROCM_HOST) return 0;
    (void)core_raise_argument(state, "%s is in the memory of another device (DLPack type %lld)", what, (long long)type);
    return -1;
}

static int check_device(core_state *state, PyObject *object, const char *what) {
    PyObject *device = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    PyObject *kind = device != NULL && PyTuple_Check(device) ? PyTuple_GetItem(device, 0) : NULL;
    int64_t   type = 0;
    int       failed = kind == NULL || core_get_int(&type, state, kind, "the type of __dlpack_device__()") != 0;
    Py_XDECREF(device);
    if (!failed) failed = check_kind(state, type, what) != 0;
    if (failed && !PyErr_Occurred())
        (void)core_raise_argument(state, "%s: its __dlpack_device__ gives no device", what);
    return failed ? -1 : 0;
}

/* With the version that we know; exporters from before versions take no argument. */
static PyObject *get_capsule(PyObject *object) {
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    PyObject *args = method != NULL ? PyTuple_New(0) : NULL;
    PyObject *names = args != NULL ? Py_BuildValue("{s(ii)}", "max_version", DL_MAJOR, DL_MINOR) : NULL;
    PyObject *capsule = names != NULL ? PyObject_Call(method, args, names) : NULL;
    if (capsule == NULL && names != NULL && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        capsule = PyObject_Call(method, args, NULL);
    }
    Py_XDECREF(names);
    Py_XDECREF(args);
    Py_XDECREF(method);
    return capsule;
}

static int consume(core_memory *m, core_state *state, PyObject *capsule, const char *what) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        m->versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (PyCapsule_SetName(capsule, "used_dltensor_versioned") != 0) return -1;
        if (m->versioned->major == DL_MAJOR) return 0;
        (void)core_raise_argument(state, "%s comes in DLPack %u.%u, and only version %d is known", what,
                                  m->versioned->major, m->versioned->minor, DL_MAJOR);
        return -1;
    }
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        m->managed = PyCapsule_GetPointer(capsule, "dltensor");
        return PyCapsule_SetName(capsule, "used_dltensor");
    }
    (void)core_raise_argument(state, "%s: its __dlpack__ gives no DLPack capsule that is unused", what);
    return -1;
}

static int describe_tensor(core_memory *m, core_state *state, const dl_tensor *t, uint64_t flags, const char *what) {
    const tg_dtype dtype = core_dtype_of_dl(t->dtype, flags);
    tg_host        dense;
    tg_error       err;
    if (check_kind(state, t->device.type, what) != 0) return -1;
    if (dtype == TG_INVALID) {
        (void)core_raise_argument(state, "%s: DLPack type %d of %d bits in %d lanes is no type of ours", what,
                                  (int)t->dtype.code, (int)t->dtype.bits, (int)t->dtype.lanes);
        return -1;
    }
    if (t->ndim < 0 || (t->ndim > 0 && t->shape == NULL)) {
        (void)core_raise_argument(state, "%s: a DLPack tensor of %d dimensions without a shape", what, (int)t->ndim);
        return -1;
    }
    m->bytes = t->data != NULL ? (unsigned char *)t->data + t->byte_offset : NULL;
    m->read_only = (flags & DL_READ_ONLY) != 0;
    if (t->strides != NULL || t->ndim == 0) {
        const int64_t none = 0;
        return core_memory_describe(m, state, dtype, t->ndim, t->ndim > 0 ? t->shape : &none,
                                    t->ndim > 0 ? t->strides : &none);
    }
    if (tg_host_contiguous(&dense, dtype, t->ndim, t->shape, &err) != TG_OK) {
        (void)core_raise(state, &err, NULL);
        return -1;
    }
    return core_memory_describe(m, state, dtype, t->ndim, t->shape, dense.strides);
}

/* The arrays of JAX are immutable, and their capsules do not say so. */
static bool is_immutable(PyObject *object) {
    PyObject   *module = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__module__");
    const char *name = module != NULL && PyUnicode_Check(module) ? PyUnicode_AsUTF8AndSize(module, NULL) : NULL;
    const bool  is_jax = name != NULL && strncmp(name, "jax", 3) == 0;
    PyErr_Clear();
    Py_XDECREF(module);
    return is_jax;
}

int core_memory_open_dlpack(core_memory *out, core_state *state, PyObject *object, const char *what) {
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    if (method == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(method);
    if (check_device(state, object, what) != 0) return -1;
    PyObject *capsule = get_capsule(object);
    if (capsule == NULL) return -1;
    const int failed = consume(out, state, capsule, what);
    Py_DECREF(capsule);
    if (failed != 0) return -1;
    const dl_tensor *tensor = out->versioned != NULL ? &out->versioned->tensor : &out->managed->tensor;
    const uint64_t   flags = out->versioned != NULL ? out->versioned->flags : 0;
    if (describe_tensor(out, state, tensor, flags, what) != 0) return -1;
    out->read_only = out->read_only || is_immutable(object);
    return 1;
}

/* ---- ours ---------------------------------------------------------------------------------------- */

/* One piece of memory for either struct and what it points to. */
typedef struct export {
    union {
        dl_managed   managed;
        dl_versioned versioned;
    } as; /* first: a pointer to it is one to all */
    core_block *block;
    int64_t     shape[TG_MAX_NDIM], strides[TG_MAX_NDIM];
} export;

static void drop(export *e) {
    core_block_release(e->block);
    free(e);
}

static void delete_managed(dl_managed *self) { drop((export *)(void *)self); }
static void delete_versioned(dl_versioned *self) { drop((export *)(void *)self); }

/* What nobody consumed is ours to delete. */
static void destroy_capsule(PyObject *capsule) {
    const char *name = PyCapsule_GetName(capsule);
    if (name != NULL && (strcmp(name, "dltensor") == 0 || strcmp(name, "dltensor_versioned") == 0))
        drop(PyCapsule_GetPointer(capsule, name));
}

static void fill(dl_tensor *t, export *e, const core_buffer *buffer, dl_type type) {
    const tg_host *host = &buffer->layout->desc.host;
    memcpy(e->shape, host->shape, sizeof e->shape);
    memcpy(e->strides, host->strides, sizeof e->strides);
    *t = (dl_tensor){.data = core_block_bytes(buffer->block),
                     .device = {DL_CPU, 0},
                     .ndim = host->ndim,
                     .dtype = type,
                     .shape = e->shape,
                     .strides = e->strides,
                     .byte_offset = (uint64_t)core_first_byte(buffer->layout)};
}

static PyObject *make_capsule(const core_buffer *buffer, bool versioned) {
    dl_type  type;
    uint64_t flags = 0;
    if (!buffer->is_array || !core_dl_of_dtype(&type, &flags, buffer->layout->desc.host.dtype))
        return PyErr_Format(PyExc_BufferError, "DLPack has arrays of strided layouts only (see Buffer.storage)");
    if (flags != 0 && !versioned)
        return PyErr_Format(PyExc_BufferError, "elements of %d bits need DLPack 1.1 (max_version)", (int)type.bits);
    export *e = calloc(1, sizeof *e);
    if (e == NULL) return PyErr_NoMemory();
    e->block = buffer->block;
    core_block_retain(e->block);
    if (versioned) {
        e->as.versioned =
            (dl_versioned){.major = DL_MAJOR, .minor = DL_MINOR, .deleter = delete_versioned, .flags = flags};
        fill(&e->as.versioned.tensor, e, buffer, type);
    } else {
        e->as.managed = (dl_managed){.deleter = delete_managed};
        fill(&e->as.managed.tensor, e, buffer, type);
    }
    PyObject *capsule = PyCapsule_New(e, versioned ? "dltensor_versioned" : "dltensor", destroy_capsule);
    if (capsule == NULL) drop(e);
    return capsule;
}

/* A tuple (major, minor), or None. */
static int get_version(bool *versioned, PyObject *version) {
    *versioned = false;
    if (version == Py_None) return 0;
    PyObject *major = PySequence_GetItem(version, 0);
    if (major == NULL) return -1;
    const long value = PyLong_AsLong(major);
    Py_DECREF(major);
    *versioned = value >= DL_MAJOR;
    return value == -1 && PyErr_Occurred() ? -1 : 0;
}

static int check_wish(PyObject *device, PyObject *copy) {
    int type = DL_CPU, id = 0;
    if (device != Py_None && !PyTuple_Check(device))
        return PyErr_Format(PyExc_TypeError, "dl_device is a tuple (type, id), not %R", device), -1;
    if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id)) return -1;
    if (type != DL_CPU) return PyErr_Format(PyExc_BufferError, "the memory of a Buffer is the processor's"), -1;
    if (copy == Py_True) return PyErr_Format(PyExc_BufferError, "a Buffer is handed over without a copy"), -1;
    return 0;
}

PyObject *core_buffer_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject    *stream = Py_None, *version = Py_None, *device = Py_None, *copy = Py_None;
    bool         versioned = false;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, &stream, &version, &device, &copy))
        return NULL;
    if (stream != Py_None) return PyErr_Format(PyExc_BufferError, "the processor has no streams");
    if (get_version(&versioned, version) != 0 || check_wish(device, copy) != 0) return NULL;
    return make_capsule((core_buffer *)self, versioned);
}
