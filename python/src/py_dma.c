/* tegula.Program and tegula.dma: the loops that carry a tensor between host memory and a layout. */
#include "py_dma.h"

#include <string.h>

static const core_program *program_of(PyObject *object) { return (const core_program *)object; }

/* ---- making ------------------------------------------------------------------------------------ */

static int get_direction(tg_dma_direction *out, core_state *state, PyObject *direction) {
    *out = TG_HOST_TO_DEVICE;
    if (direction == NULL) return 0;
    if (PyUnicode_Check(direction) && PyUnicode_CompareWithASCIIString(direction, "h2d") == 0) return 0;
    *out = TG_DEVICE_TO_HOST;
    if (PyUnicode_Check(direction) && PyUnicode_CompareWithASCIIString(direction, "d2h") == 0) return 0;
    (void)core_raise_argument(state, "direction is 'h2d' (host to device) or 'd2h' (device to host), not %R",
                              direction);
    return -1;
}

/* The host tensor that is named, or that the layout names. */
static core_layout *get_host(core_state *state, PyObject *object, const core_layout *device) {
    tg_host  host;
    tg_error err;
    if (object != NULL && object != Py_None) return core_get_layout(state, object, "host");
    if (tg_desc_host(&host, &device->desc, &err) != TG_OK) return core_raise(state, &err, NULL);
    return (core_layout *)core_layout_strided(state, &host);
}

static tg_status build(tg_dma *out, size_t cap, size_t *count, const core_program *p, size_t first, tg_error *err) {
    const tg_dma_params params = {&p->device->desc.layout, &p->host->desc.layout, p->direction, p->per_mode, first};
    tg_status           s;
    Py_BEGIN_ALLOW_THREADS
    s = tg_dma_build(out, cap, count, &params, err);
    Py_END_ALLOW_THREADS
    return s;
}

int dma_get(tg_dma *out, size_t cap, size_t *n, const core_program *program, core_state *state, size_t first) {
    size_t   count = 0;
    tg_error err;
    *n = first >= program->count ? 0 : program->count - first < cap ? program->count - first : cap;
    if (*n == 0 || build(out, *n, &count, program, first, &err) == TG_OK) return 0;
    (void)core_raise(state, &err, NULL);
    return -1;
}

static int fill(core_program *self, core_state *state, const dma_wish *wish) {
    tg_error err;
    self->per_mode = wish->per_mode != 0;
    if (get_direction(&self->direction, state, wish->direction) != 0) return -1;
    self->device = core_get_layout(state, wish->layout, "layout");
    if (self->device == NULL) return -1;
    self->host = get_host(state, wish->host, self->device);
    if (self->host == NULL) return -1;
    if (build(NULL, 0, &self->count, self, 0, &err) == TG_OK) return 0;
    (void)core_raise(state, &err, NULL);
    return -1;
}

core_program *dma_program(core_state *state, const dma_wish *wish) {
    core_program *self = PyObject_New(core_program, (PyTypeObject *)state->program_type);
    if (self == NULL) return NULL;
    self->device = self->host = NULL;
    self->count = 0;
    if (fill(self, state, wish) == 0) return self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static PyObject *dma(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"layout", "host", "direction", "per_mode", NULL};
    dma_wish     wish = {NULL, NULL, NULL, 0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOp:dma", names, &wish.layout, &wish.host, &wish.direction,
                                     &wish.per_mode))
        return NULL;
    return (PyObject *)dma_program(core_module_state(module), &wish);
}

static void program_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF((PyObject *)program_of(self)->device);
    Py_XDECREF((PyObject *)program_of(self)->host);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- a sequence ---------------------------------------------------------------------------------- */

static Py_ssize_t program_length(PyObject *self) {
    const size_t count = program_of(self)->count;
    if (count <= (size_t)PY_SSIZE_T_MAX) return (Py_ssize_t)count;
    PyErr_SetString(PyExc_OverflowError, "more descriptors than Python can count");
    return -1;
}

static PyObject *program_item(PyObject *self, Py_ssize_t index) {
    core_state *state = core_get_state(self);
    tg_dma      one;
    size_t      n = 0;
    if (index >= 0 && dma_get(&one, 1, &n, program_of(self), state, (size_t)index) != 0) return NULL;
    if (n == 1) return dma_descriptor(state, &one, program_of(self)->direction);
    PyErr_SetString(PyExc_IndexError, "the program has no such descriptor");
    return NULL;
}

/* What `one` makes of every descriptor, as a list. */
static PyObject *list_all(PyObject *self, PyObject *(*one)(const tg_dma *, tg_dma_direction)) {
    const core_program *p = program_of(self);
    tg_dma              chunk[DMA_CHUNK];
    size_t              n;
    PyObject           *list = PyList_New(0);
    for (size_t first = 0; list != NULL && first < p->count; first += n) {
        if (dma_get(chunk, DMA_CHUNK, &n, p, core_get_state(self), first) != 0) Py_CLEAR(list);
        for (size_t i = 0; list != NULL && i < n; i++)
            if (core_append(list, one(&chunk[i], p->direction)) != 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *dict_of(const tg_dma *descriptor, tg_dma_direction direction) {
    (void)direction;
    return dma_descriptor_dict(descriptor);
}

static PyObject *text_of(const tg_dma *descriptor, tg_dma_direction direction) {
    (void)direction;
    return dma_descriptor_text(descriptor);
}

static PyObject *program_to_dict(PyObject *self, PyObject *unused) {
    PyObject *dict = PyDict_New();
    (void)unused;
    if (dict != NULL && core_put(dict, "descriptors", list_all(self, dict_of)) != 0) Py_CLEAR(dict);
    return dict;
}

/* ---- text ------------------------------------------------------------------------------------------ */

/* Takes the reference to texts. */
static PyObject *join(const char *between, PyObject *texts) {
    PyObject *separator = texts != NULL ? PyUnicode_FromString(between) : NULL;
    PyObject *text = separator != NULL ? PyUnicode_Join(separator, texts) : NULL;
    Py_XDECREF(separator);
    Py_XDECREF(texts);
    return text;
}

static PyObject *program_str(PyObject *self) { return join("\n", list_all(self, text_of)); }

static PyObject *program_loops(PyObject *self, PyObject *unused) {
    (void)unused;
    return join("\n\n", list_all(self, dma_descriptor_loops));
}

static const char *direction_name(PyObject *self) {
    return program_of(self)->direction == TG_HOST_TO_DEVICE ? "h2d" : "d2h";
}

static PyObject *program_repr(PyObject *self) {
    const core_program *p = program_of(self);
    return PyUnicode_FromFormat("<tegula.Program %s of %S: %zu descriptor%s>", direction_name(self),
                                (PyObject *)p->device, p->count, p->count == 1 ? "" : "s");
}

/* ---- the type ---------------------------------------------------------------------------------------- */

static PyObject *get_layout(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)program_of(self)->device);
}

static PyObject *get_host_layout(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)program_of(self)->host);
}

static PyObject *get_direction_name(PyObject *self, void *unused) {
    (void)unused;
    return core_name(direction_name(self));
}

#define CALL(function) ((PyCFunction)(void (*)(void))(function))

static PyGetSetDef getset[] = {
    {"layout", get_layout, NULL, "Of the device.", NULL},
    {"host", get_host_layout, NULL, "Of the tensor in host memory.", NULL},
    {"direction", get_direction_name, NULL, "'h2d' or 'd2h'.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"loops", program_loops, METH_NOARGS, "loops()\n--\n\nAll loops as a person reads them."},
    {"to_dict", program_to_dict, METH_NOARGS, "to_dict()\n--\n\nThe object of `tegula dma --json`."},
    {"emit_c", CALL(dma_emit_c), METH_VARARGS | METH_KEYWORDS,
     "emit_c(name=None)\n--\n\nThe program as a C function; `tegula dma --emit c`."},
    {"run", CALL(dma_run), METH_VARARGS | METH_KEYWORDS,
     "run(device, host)\n--\n\nExecute the loops as they stand, one element after the other: slow, and the judge of "
     "what is fast."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A sequence of Descriptors, which together carry every element once. Made by tegula.dma."},
    {Py_tp_dealloc, program_dealloc},
    {Py_tp_str, program_str},
    {Py_tp_repr, program_repr},
    {Py_tp_iter, PySeqIter_New},
    {Py_sq_length, program_length},
    {Py_sq_item, program_item},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Program",
    .basicsize = sizeof(core_program),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

static PyMethodDef functions[] = {
    {"dma", CALL(dma), METH_VARARGS | METH_KEYWORDS,
     "dma(layout, *, host=None, direction='h2d', per_mode=False)\n--\n\n"
     "The Program that carries a tensor between host memory and a layout. per_mode: each loop walks one device "
     "dimension."},
    {"dci", CALL(dma_dci), METH_VARARGS | METH_KEYWORDS,
     "dci(layout, *, host=None, direction='h2d')\n--\n\nThe program as torch-spyre's DCI object, a dict; `tegula dma "
     "--dci`."},
    {NULL, NULL, 0, NULL},
};

int core_add_dma(PyObject *module) {
    if (dma_add_descriptor(module) != 0) return -1;
    if (core_add_type(module, &core_module_state(module)->program_type, &spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
