/* tegula.Bundle: what the device runs of a GraphPlan. Kernels and transfers are made when they are asked for. */
#include "py_graph.h"

#include "py_dma.h"

#include <tegula/sdsc.h>

typedef struct core_bundle {
    PyObject_HEAD
    core_graph_plan *plan;
    tg_bundle       *bundle;
} core_bundle;

static core_bundle *bundle_of(PyObject *object) { return (core_bundle *)object; }

/* ---- making ------------------------------------------------------------------------------------------------------ */

static int make(core_bundle *self, core_state *state) {
    core_graph_plan *plan = self->plan;
    core_graph      *graph = plan->graph;
    tg_status        s;
    tg_error         err;
    if (!plan_is_current(plan, "bundle") || plan_memory_of(plan) == NULL) return -1;
    const tg_bundle_params params = {.division = plan->params.division, .memory = plan->memory};
    graph->planning++;
    Py_BEGIN_ALLOW_THREADS
    s = tg_bundle_create(&self->bundle, graph->graph, plan->plan, &params, &err);
    Py_END_ALLOW_THREADS
    graph->planning--;
    if (s == TG_OK) return 0;
    (void)core_raise(state, &err, NULL);
    return -1;
}

PyObject *plan_bundle(PyObject *plan, PyObject *unused) {
    core_state  *state = core_get_state(plan);
    core_bundle *self = (core_bundle *)PyType_GenericAlloc((PyTypeObject *)state->bundle_type, 0);
    (void)unused;
    if (self == NULL) return NULL;
    self->plan = (core_graph_plan *)Py_NewRef(plan);
    if (make(self, state) == 0) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

typedef tg_status write_kernel(char *buf, size_t cap, size_t *need, const tg_bundle *bundle, int64_t i, tg_error *err);

static PyObject *text_of(core_bundle *self, write_kernel *write, int64_t i) {
    size_t   len = 0;
    char    *chars = NULL;
    tg_error err;
    if (write(NULL, 0, &len, self->bundle, i, &err) != TG_OK)
        return core_raise(core_get_state((PyObject *)self), &err, NULL);
    if ((chars = PyMem_Malloc(len + 1)) == NULL) return PyErr_NoMemory();
    (void)write(chars, len + 1, &len, self->bundle, i, NULL);
    PyObject *text = core_text(chars, len);
    PyMem_Free(chars);
    return text;
}

/* What `one` makes of 0 to n, as a tuple. */
static PyObject *list(core_bundle *self, int64_t n, PyObject *(*one)(core_bundle *self, int64_t i)) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (int64_t i = 0; i < n && tuple != NULL; i++) {
        PyObject *item = one(self, i);
        if (item == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, item) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *kernel_name(core_bundle *self, int64_t i) { return text_of(self, tg_bundle_format_name, i); }

static PyObject *get_kernels(PyObject *self, void *unused) {
    (void)unused;
    return list(bundle_of(self), tg_bundle_kernel_count(bundle_of(self)->bundle), kernel_name);
}

/* A number below n. 0, or -1. */
static int get_number(int64_t *out, PyObject *self, PyObject *object, int64_t n, const char *what) {
    core_state *state = core_get_state(self);
    if (core_get_int(out, state, object, what) != 0) return -1;
    if (*out >= 0 && *out < n) return 0;
    (void)core_raise_argument(state, "there is no %s %lld; there are %lld", what, (long long)*out, (long long)n);
    return -1;
}

static PyObject *get_sdsc(PyObject *self, PyObject *number) {
    int64_t i = 0;
    if (get_number(&i, self, number, tg_bundle_kernel_count(bundle_of(self)->bundle), "kernel") != 0) return NULL;
    PyObject *text = text_of(bundle_of(self), tg_bundle_format_sdsc, i);
    PyObject *dict = text != NULL ? plan_load_json(text) : NULL;
    Py_XDECREF(text);
    return dict;
}

/* ---- transfers --------------------------------------------------------------------------------------------------- */

static PyObject *layout_of(core_bundle *self, int64_t i) {
    const int64_t      step = tg_bundle_get_transfer(self->bundle, i).step;
    const tg_plan_step made = tg_graph_plan_step(self->plan->plan, step);
    return plan_layout(self->plan, made.node, &made.layout);
}

static PyObject *direction_of(core_bundle *self, int64_t i) {
    return core_name(tg_bundle_get_transfer(self->bundle, i).to_device ? "h2d" : "d2h");
}

static PyObject *transfer(core_bundle *self, int64_t i) {
    core_state              *state = core_get_state((PyObject *)self);
    const tg_bundle_transfer t = tg_bundle_get_transfer(self->bundle, i);
    const tg_bundle_step     at = tg_bundle_get_step(self->bundle, t.step);
    PyObject                *values[] = {PyLong_FromLongLong(t.step), direction_of(self, i),
                                         graph_node(state, self->plan->graph,
                                                    tg_graph_plan_step(self->plan->plan, t.step).node),
                                         layout_of(self, i), PyLong_FromLongLong(at.address)};
    return graph_record(state->transfer_type, 5, values);
}

static PyObject *get_transfers(PyObject *self, void *unused) {
    (void)unused;
    return list(bundle_of(self), tg_bundle_transfer_count(bundle_of(self)->bundle), transfer);
}

static PyObject *get_dci(PyObject *self, PyObject *number) {
    int64_t i = 0;
    if (get_number(&i, self, number, tg_bundle_transfer_count(bundle_of(self)->bundle), "transfer") != 0) return NULL;
    PyObject      *layout = layout_of(bundle_of(self), i), *direction = direction_of(bundle_of(self), i), *dict = NULL;
    const dma_wish wish = {layout, NULL, direction, 1};
    if (layout != NULL && direction != NULL) dict = dma_dci_dict(core_get_state(self), &wish);
    Py_XDECREF(layout);
    Py_XDECREF(direction);
    return dict;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static PyObject *get_manifest(PyObject *object, PyObject *unused) {
    core_bundle *self = bundle_of(object);
    PyObject    *name = self->plan->graph->name;
    Py_ssize_t   len = 0;
    const char  *chars = name != NULL ? PyUnicode_AsUTF8AndSize(name, &len) : "";
    (void)unused;
    if (chars == NULL) return NULL;
    const tg_hlo_text module = {chars, (size_t)len};
    const size_t      need = tg_bundle_format_manifest(NULL, 0, self->bundle, module);
    char             *room = PyMem_Malloc(need + 1);
    if (room == NULL) return PyErr_NoMemory();
    (void)tg_bundle_format_manifest(room, need + 1, self->bundle, module);
    PyObject *text = core_text(room, need);
    PyMem_Free(room);
    PyObject *dict = text != NULL ? plan_load_json(text) : NULL;
    Py_XDECREF(text);
    return dict;
}

static PyObject *write_files(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"directory", "force", NULL};
    PyObject    *directory = NULL;
    int          force = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$p:write", names, &directory, &force)) return NULL;
    PyObject *module = PyImport_ImportModule("tegula._bundle");
    PyObject *done = module != NULL ? PyObject_CallMethod(module, "write", "OOi", self, directory, force) : NULL;
    Py_XDECREF(module);
    return done;
}

static PyObject *get_plan(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)bundle_of(self)->plan);
}

static PyObject *bundle_repr(PyObject *self) {
    const int64_t kernels = tg_bundle_kernel_count(bundle_of(self)->bundle);
    const int64_t transfers = tg_bundle_transfer_count(bundle_of(self)->bundle);
    return PyUnicode_FromFormat("<tegula.Bundle: %lld kernel%s, %lld transfer%s>", (long long)kernels,
                                kernels == 1 ? "" : "s", (long long)transfers, transfers == 1 ? "" : "s");
}

/* ---- the type ---------------------------------------------------------------------------------------------------- */

static int bundle_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)bundle_of(self)->plan);
    return 0;
}

static void bundle_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    tg_bundle_destroy(&bundle_of(self)->bundle);
    Py_XDECREF((PyObject *)bundle_of(self)->plan);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"sdsc", get_sdsc, METH_O, "sdsc(kernel, /)\n--\n\nThe SuperDSC of a kernel, by its number, as a dict."},
    {"dci", get_dci, METH_O, "dci(transfer, /)\n--\n\nThe DCI of a transfer, by its number, as a dict."},
    {"manifest", get_manifest, METH_NOARGS,
     "manifest()\n--\n\nHow all of it belongs together: the object in bundle.json of `tegula plan --out`."},
    {"write", (PyCFunction)(void (*)(void))write_files, METH_VARARGS | METH_KEYWORDS,
     "write(directory, *, force=False)\n--\n\nThe files of `tegula plan --out`, into a new or empty directory, whole\n"
     "or not at all; with force=True in place of an earlier bundle."},
    {"__reduce__", graph_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"plan", get_plan, NULL, "The GraphPlan that it is of.", NULL},
    {"kernels", get_kernels, NULL, "Names, in the order in which they run.", NULL},
    {"transfers", get_transfers, NULL, "What is carried to the device and back: a tuple of Transfer.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What the device runs of a GraphPlan: kernels, and what is carried to it and back. Made by\n"
                "GraphPlan.bundle."},
    {Py_tp_dealloc, bundle_dealloc},
    {Py_tp_traverse, bundle_traverse},
    {Py_tp_repr, bundle_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Bundle",
    .basicsize = sizeof(core_bundle),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

static PyStructSequence_Field transfer_fields[] = {
    {"step", "of the program, whose tensor it is"}, {"direction", "'h2d' or 'd2h'"},
    {"node", "whose result it is"}, {"layout", "on the device"}, {"address", "there, bytes"}, {NULL, NULL}};

int graph_add_bundles(PyObject *module) {
    static PyStructSequence_Desc transfer_desc = {
        "tegula.Transfer", "A tensor that is carried between host and device.", transfer_fields, 5};
    core_state *state = core_module_state(module);
    if (graph_add_record(module, &state->transfer_type, &transfer_desc) != 0) return -1;
    return core_add_type(module, &state->bundle_type, &spec);
}
