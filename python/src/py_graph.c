/* tegula.Graph: a sequence of nodes. How nodes are added is in py_graph_add.c and py_graph_ops.c, what a node answers
 * in py_graph_node.c, planning in py_graph_plan.c. */
#include "py_graph.h"

#include "py_hlo.h"

#include <structmember.h>
#include <string.h>

/* ---- records, and what they have in common ----------------------------------------------------------------------- */

int graph_add_record(PyObject *module, PyObject **slot, PyStructSequence_Desc *desc) {
    *slot = (PyObject *)PyStructSequence_NewType(desc);
    return *slot != NULL ? PyModule_AddType(module, (PyTypeObject *)*slot) : -1;
}

PyObject *graph_record(PyObject *type, int n, PyObject **values) {
    bool      ok = true;
    for (int i = 0; i < n; i++) ok = ok && values[i] != NULL;
    PyObject *record = ok ? PyStructSequence_New((PyTypeObject *)type) : NULL;
    for (int i = 0; i < n; i++) {
        if (record != NULL) PyStructSequence_SetItem(record, i, values[i]);
        else Py_XDECREF(values[i]);
    }
    return record;
}

PyObject *graph_reduce(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyErr_Format(PyExc_TypeError, "cannot pickle or copy a %R object: it belongs to the process that made it",
                        Py_TYPE(self));
}

/* ---- which node -------------------------------------------------------------------------------------------------- */

static bool has_name(const tg_graph *graph, int64_t id, const char *name, size_t len) {
    const tg_hlo_text own = tg_graph_get(graph, id).name;
    return own.len == len && memcmp(own.chars, name, len) == 0;
}

/* The first one with this name; -1 if none has it, -2 with an exception. */
static int64_t find_name(const core_graph *self, PyObject *name, int64_t count) {
    Py_ssize_t  len = 0;
    const char *chars = core_get_word(&len, name, "the name of a node");
    if (chars == NULL) return -2;
    const size_t skipped = len > 0 && *chars == '%'; /* HLO writes it before names */
    for (int64_t id = 0; len > 0 && id < count; id++)
        if (has_name(self->graph, id, chars + skipped, (size_t)len - skipped)) return id;
    return -1;
}

static bool is_node(core_state *state, PyObject *object) {
    return Py_IS_TYPE(object, (PyTypeObject *)state->graph_node_type);
}

/* A node of this graph, or of the one that it is a copy of. */
static bool is_of(const core_node *node, const core_graph *self) {
    return node->graph == self || (self->origin != NULL && (PyObject *)node->graph == self->origin);
}

int graph_get_node(int64_t *id, core_graph *self, PyObject *object, int64_t count) {
    core_state *state = core_get_state((PyObject *)self);
    if (is_node(state, object)) {
        *id = ((core_node *)object)->id;
        if (!is_of((core_node *)object, self))
            return (void)core_raise_argument(state, "%R is a node of another graph", object), -1;
    } else if (PyUnicode_Check(object)) {
        *id = find_name(self, object, count);
        if (*id == -1) (void)core_raise_argument(state, "there is no node named %R", object);
        return *id >= 0 ? 0 : -1;
    } else if (PyBool_Check(object) || !PyIndex_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a node is a GraphNode, its number or its name, not %R", Py_TYPE(object));
        return -1;
    } else if (core_get_int(id, state, object, "a node") != 0) {
        return -1;
    }
    if (*id >= 0 && *id < count) return 0;
    (void)core_raise_argument(state, "there is no node %lld; there are %lld", (long long)*id, (long long)count);
    return -1;
}

/* ---- a sequence -------------------------------------------------------------------------------------------------- */

static Py_ssize_t graph_length(PyObject *self) { return (Py_ssize_t)tg_graph_count(graph_of(self)->graph); }

static PyObject *graph_item(PyObject *self, Py_ssize_t index) {
    if (index >= 0 && index < graph_length(self)) return graph_node(core_get_state(self), graph_of(self), index);
    PyErr_Format(PyExc_IndexError, "the graph has %zd nodes, and no node %zd", graph_length(self), index);
    return NULL;
}

static PyObject *graph_subscript(PyObject *self, PyObject *key) {
    if (PyUnicode_Check(key)) {
        const int64_t id = find_name(graph_of(self), key, graph_length(self));
        if (id == -1) PyErr_SetObject(PyExc_KeyError, key);
        return id >= 0 ? graph_item(self, (Py_ssize_t)id) : NULL;
    }
    if (!PyIndex_Check(key))
        return PyErr_Format(PyExc_TypeError, "nodes are found by number or name, not by %R", Py_TYPE(key));
    const Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) return NULL;
    return graph_item(self, index < 0 ? index + graph_length(self) : index);
}

static int graph_contains(PyObject *self, PyObject *object) {
    if (PyUnicode_Check(object)) {
        const int64_t id = find_name(graph_of(self), object, graph_length(self));
        return id == -2 ? -1 : id >= 0;
    }
    return is_node(core_get_state(self), object) && ((core_node *)object)->graph == graph_of(self);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static core_graph *new_graph(core_state *state) {
    core_graph *self = (core_graph *)PyType_GenericAlloc((PyTypeObject *)state->graph_type, 0);
    tg_error    err;
    if (self == NULL || tg_graph_create(&self->graph, &err) == TG_OK) return self;
    Py_DECREF((PyObject *)self);
    return core_raise(state, &err, NULL);
}

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Graph", names)) return NULL;
    return (PyObject *)new_graph(PyType_GetModuleState(type));
}

core_graph *graph_copy(core_graph *self) {
    core_graph *made = (core_graph *)PyType_GenericAlloc(Py_TYPE((PyObject *)self), 0);
    tg_error    err;
    if (made == NULL) return NULL;
    made->origin = Py_NewRef((PyObject *)self);
    made->name = Py_XNewRef(self->name);
    made->hlo = Py_XNewRef(self->hlo);
    made->tags = PyMem_Calloc((size_t)self->room + 1, sizeof *made->tags);
    if (made->tags == NULL) (void)PyErr_NoMemory();
    else if (tg_graph_copy(&made->graph, self->graph, &err) != TG_OK)
        (void)core_raise(core_get_state((PyObject *)self), &err, NULL);
    for (made->room = 0; made->graph != NULL && made->room < self->room; made->room++)
        made->tags[made->room] = Py_XNewRef(self->tags[made->room]);
    if (made->graph != NULL) return made;
    Py_DECREF((PyObject *)made);
    return NULL;
}

static int read_module(core_graph *self, core_state *state, const tg_hlo_module *module) {
    tg_status s;
    tg_error  err;
    Py_BEGIN_ALLOW_THREADS /* nobody else has seen this graph yet */
    s = tg_graph_add_hlo(self->graph, module, &err);
    Py_END_ALLOW_THREADS
    if (s != TG_OK) return (void)core_raise(state, &err, NULL), -1;
    self->name = hlo_piece(tg_hlo_get_header(module).name);
    return self->name != NULL ? 0 : -1;
}

static PyObject *graph_from_hlo(PyObject *type, PyObject *hlo) {
    core_state *state = PyType_GetModuleState((PyTypeObject *)type);
    PyObject   *module = Py_IS_TYPE(hlo, (PyTypeObject *)state->module_type) ? Py_NewRef(hlo) : hlo_parse(state, hlo);
    core_graph *self = module != NULL ? new_graph(state) : NULL;
    if (self != NULL && read_module(self, state, ((core_hlo *)module)->module) != 0) {
        Py_DECREF((PyObject *)self);
        self = NULL;
    }
    if (self != NULL) self->hlo = Py_NewRef(module);
    Py_XDECREF(module);
    return (PyObject *)self;
}

/* ---- the type ---------------------------------------------------------------------------------------------------- */

static int graph_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(graph_of(self)->origin);
    for (int64_t i = 0; i < graph_of(self)->room; i++) Py_VISIT(graph_of(self)->tags[i]);
    return 0;
}

static int graph_clear(PyObject *self) {
    for (int64_t i = 0; i < graph_of(self)->room; i++) Py_CLEAR(graph_of(self)->tags[i]);
    return 0;
}

static void graph_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (graph_of(self)->weakrefs != NULL) PyObject_ClearWeakRefs(self);
    (void)graph_clear(self);
    PyMem_Free(graph_of(self)->tags);
    Py_XDECREF(graph_of(self)->name);
    Py_XDECREF(graph_of(self)->hlo);
    Py_XDECREF(graph_of(self)->origin);
    tg_graph_destroy(&graph_of(self)->graph);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *get_name(PyObject *self, void *unused) {
    PyObject *name = graph_of(self)->name;
    (void)unused;
    return name != NULL ? Py_NewRef(name) : PyUnicode_FromString("");
}

/* "Graph attention: 16 nodes (4 input, 3 pointwise, ...)" */
static PyObject *graph_repr(PyObject *self) {
    const tg_graph *graph = graph_of(self)->graph;
    const int64_t   n = tg_graph_count(graph);
    int64_t         count[GRAPH_KINDS] = {0};
    const char     *before = " (";
    for (int64_t id = 0; id < n; id++) count[tg_graph_get(graph, id).kind]++;
    PyObject *name = get_name(self, NULL);
    PyObject *text = name == NULL ? NULL
                                  : PyUnicode_FromFormat("<tegula.Graph%s%U: %lld node%s",
                                                         PyUnicode_GetLength(name) > 0 ? " " : "", name, (long long)n,
                                                         n == 1 ? "" : "s");
    Py_XDECREF(name);
    for (int kind = 0; tg_node_kind_name((tg_node_kind)kind) != NULL && text != NULL; kind++) {
        if (count[kind] == 0) continue;
        PyObject *old = text;
        text = PyUnicode_FromFormat("%U%s%lld %s", old, before, (long long)count[kind],
                                    tg_node_kind_name((tg_node_kind)kind));
        Py_DECREF(old);
        before = ", ";
    }
    PyObject *whole = text != NULL ? PyUnicode_FromFormat("%U%s", text, n > 0 ? ")>" : ">") : NULL;
    Py_XDECREF(text);
    return whole;
}

#define CALL(function) ((PyCFunction)(void (*)(void))(function))
#define NODE_WORDS                                                                                                     \
    "shape=None, strides=None, dtype=None, device_dtype=None, no_stick=(), no_split=(), name='', opcode='',\n"         \
    "    tag=None, splits=None, tiles=None, pins=None, layout=None, variant='', reason='', times=0"

static PyMethodDef methods[] = {
    {"from_hlo", graph_from_hlo, METH_O | METH_CLASS,
     "from_hlo(hlo, /)\n--\n\nThe graph of HLO text (str or bytes) or of a tegula.hlo.Module."},
    {"add_input", CALL(graph_add_input), METH_VARARGS | METH_KEYWORDS,
     "add_input(shape, dtype=None, *, strides=None, layout=None, name='', tag=None)\n--\n\n"
     "A tensor that is there already: shape and dtype, or a Layout. Without a device layout it has the default one."},
    {"add", CALL(graph_add), METH_VARARGS | METH_KEYWORDS,
     "add(kind, shape, dtype, *, loops=None, operands=(), result=None, result_offset=0, strides=None, "
     "device_dtype=None,\n    reduction='sum', in_channel=None, out_channel=None, no_stick=(), no_split=(), name='', "
     "opcode='', tag=None,\n    splits=None, tiles=None, pins=None, layout=None, variant='', reason='', times=0,\n"
     "    windows=())\n--\n\n"
     "Any node, by its loops and accesses. An operand is a node, or (node, terms[, offset]); a term is (loop, step[,\n"
     "modulus[, extent]]), with None for a loop that only the data knows, or a window. A window is (loop, size,\n"
     "stride, dilation, base_dilation, low, step, extent, kernel_step[, reversed])."},
    {"pointwise", CALL(graph_pointwise), METH_VARARGS | METH_KEYWORDS,
     "pointwise(operands, *, kind='pointwise', " NODE_WORDS ")\n--\n\n"
     "Element by element; operands are broadcast. An operand is a node or (node, view): PyTorch's text ('.mT'), a\n"
     "strided Layout, or shape, strides and offset."},
    {"reduce", CALL(graph_reduction), METH_VARARGS | METH_KEYWORDS,
     "reduce(operand, dims, reduction='sum', *, keep_dims=False, " NODE_WORDS ")\n--\n\n"
     "Over some dimensions; None is all of them."},
    {"matmul", CALL(graph_matmul), METH_VARARGS | METH_KEYWORDS,
     "matmul(x, y, *, " NODE_WORDS ")\n--\n\nThe product, as NumPy has it."},
    {"concatenate", CALL(graph_concatenate), METH_VARARGS | METH_KEYWORDS,
     "concatenate(operands, dim=0, *, " NODE_WORDS ")\n--\n\nOne operand behind the other."},
    {"add_output", graph_add_output, METH_O,
     "add_output(operand, /)\n--\n\nA node, or (node, view), is wanted outside: it is there when everything has run."},
    {"add_loop", CALL(graph_add_loop), METH_VARARGS | METH_KEYWORDS,
     "add_loop(first, last, *, test=None)\n--\n\nNodes from the first to the last run in rounds; one that makes `test` "
     "false is the last.\nWhat a round hands on to the next are nodes of kind 'carry'."},
    {"plan", CALL(graph_plan), METH_VARARGS | METH_KEYWORDS,
     "plan(" GRAPH_PLAN_WORDS ")\n--\n\n"
     "The cheapest layouts, as a GraphPlan; PlanInfeasible if there are none."},
    {"__reduce__", graph_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"outputs", graph_outputs, NULL, "What is wanted outside: pairs of GraphNode and a strided Layout.", NULL},
    {"loops", graph_loops, NULL, "Nodes that run in rounds: a tuple of Loop, outer ones first.", NULL},
    {"name", get_name, NULL, "Of the HLO module; '' without one.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(core_graph, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Graph()\n--\n\nOperations on tensors, in the order in which they run; a sequence of GraphNode."},
    {Py_tp_new, graph_new},
    {Py_tp_dealloc, graph_dealloc},
    {Py_tp_traverse, graph_traverse},
    {Py_tp_clear, graph_clear},
    {Py_tp_repr, graph_repr},
    {Py_tp_iter, PySeqIter_New},
    {Py_sq_length, graph_length},
    {Py_sq_item, graph_item},
    {Py_sq_contains, graph_contains},
    {Py_mp_length, graph_length},
    {Py_mp_subscript, graph_subscript},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Graph",
    .basicsize = sizeof(core_graph),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

int core_add_graph(PyObject *module) {
    if (core_add_type(module, &core_module_state(module)->graph_type, &spec) != 0) return -1;
    if (graph_add_nodes(module) != 0) return -1;
    return graph_add_plans(module);
}
