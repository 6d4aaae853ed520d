/* tegula.GraphNode, and how it is read and written: the records Access and Term. */
#include "py_graph.h"

#include <string.h>

static core_node *node_of(PyObject *object) { return (core_node *)object; }

static tg_node_info info_of(PyObject *self) { return tg_graph_get(node_of(self)->graph->graph, node_of(self)->id); }

PyObject *graph_node(core_state *state, core_graph *graph, int64_t id) {
    core_node *self = (core_node *)PyType_GenericAlloc((PyTypeObject *)state->graph_node_type, 0);
    if (self == NULL) return NULL;
    self->graph = (core_graph *)Py_NewRef((PyObject *)graph);
    self->id = id;
    return (PyObject *)self;
}

static PyObject *text_of(tg_hlo_text text) { return core_text(text.chars, text.len); }

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

static PyObject *term(core_state *state, const tg_term *t) {
    PyObject *loop = t->loop == TG_LOOP_UNKNOWN ? Py_NewRef(Py_None) : PyLong_FromLong(t->loop);
    PyObject *values[] = {loop, PyLong_FromLongLong(t->step), PyLong_FromLongLong(t->modulus),
                          PyLong_FromLongLong(t->extent)};
    return graph_record(state->term_type, 4, values);
}

static PyObject *terms(core_state *state, const tg_access *a) {
    PyObject *tuple = PyTuple_New(a->nterms);
    for (int32_t i = 0; i < a->nterms && tuple != NULL; i++) {
        PyObject *one = term(state, &a->terms[i]);
        if (one == NULL || PyTuple_SetItem(tuple, i, one) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *access_of(PyObject *self, int32_t k) {
    core_state     *state = core_get_state(self);
    core_graph     *graph = node_of(self)->graph;
    const int64_t   id = k < 0 ? node_of(self)->id : tg_graph_operand(graph->graph, node_of(self)->id, k);
    const tg_access a = tg_graph_access(graph->graph, node_of(self)->id, k);
    PyObject       *values[] = {graph_node(state, graph, id), terms(state, &a), PyLong_FromLongLong(a.offset)};
    return graph_record(state->access_type, 3, values);
}

static PyObject *get_operands(PyObject *self, void *unused) {
    const int32_t n = info_of(self).noperands;
    PyObject     *tuple = PyTuple_New(n);
    (void)unused;
    for (int32_t k = 0; k < n && tuple != NULL; k++) {
        PyObject *one = access_of(self, k);
        if (one == NULL || PyTuple_SetItem(tuple, k, one) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_inputs(PyObject *self, void *unused) {
    core_graph   *graph = node_of(self)->graph;
    const int32_t n = info_of(self).noperands;
    PyObject     *tuple = PyTuple_New(n);
    (void)unused;
    for (int32_t k = 0; k < n && tuple != NULL; k++) {
        PyObject *one = graph_node(core_get_state(self), graph, tg_graph_operand(graph->graph, node_of(self)->id, k));
        if (one == NULL || PyTuple_SetItem(tuple, k, one) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_result(PyObject *self, void *unused) {
    (void)unused;
    return access_of(self, -1);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

enum { KIND, RULE, NAME, OPCODE, DTYPE, SHAPE, STRIDES, LOOPS, ON_DEVICE, INDEX, VARIANT, REASON, TIMES, WINDOWS };

static PyObject *get_field(PyObject *self, void *field) {
    const tg_node_info info = info_of(self);
    switch ((int)(intptr_t)field) {
    case KIND: return core_name(tg_node_kind_name(info.kind));
    case RULE: return core_name(tg_node_kind_rule(info.kind));
    case NAME: return text_of(info.name);
    case OPCODE: return text_of(info.opcode);
    case DTYPE: return core_name(tg_dtype_name(info.host.dtype));
    case SHAPE: return core_ints(info.host.shape, info.host.ndim);
    case STRIDES: return core_ints(info.host.strides, info.host.ndim);
    case LOOPS: return core_ints(info.ranges, info.nloops);
    case VARIANT: return text_of(info.variant);
    case REASON: return text_of(info.reason);
    case TIMES: return PyLong_FromLongLong(info.times);
    case WINDOWS: return graph_windows(&info);
    case ON_DEVICE: return PyBool_FromLong(info.on_device);
    default: return PyLong_FromLongLong(node_of(self)->id);
    }
}

static PyObject *get_host(PyObject *self, void *unused) {
    tg_host host = info_of(self).host;
    (void)unused;
    host.offset = 0;
    return core_layout_strided(core_get_state(self), &host);
}

static PyObject *get_graph(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)node_of(self)->graph);
}

static PyObject *get_tag(PyObject *self, void *unused) {
    const core_graph *graph = node_of(self)->graph;
    const int64_t     id = node_of(self)->id;
    (void)unused;
    return Py_NewRef(id < graph->room && graph->tags[id] != NULL ? graph->tags[id] : Py_None);
}

/* Nodes of an HLO text have no room for tags until one is given. */
static int set_tag(PyObject *self, PyObject *tag, void *unused) {
    core_graph   *graph = node_of(self)->graph;
    const int64_t room = tg_graph_count(graph->graph);
    (void)unused;
    if (node_of(self)->id >= graph->room) {
        PyObject **more = PyMem_Realloc(graph->tags, (size_t)room * sizeof *more);
        if (more == NULL) return (void)PyErr_NoMemory(), -1;
        memset(more + graph->room, 0, (size_t)(room - graph->room) * sizeof *more);
        graph->tags = more;
        graph->room = room;
    }
    PyObject *old = graph->tags[node_of(self)->id];
    graph->tags[node_of(self)->id] = tag == NULL || tag == Py_None ? NULL : Py_NewRef(tag);
    Py_XDECREF(old);
    return 0;
}

static PyObject *node_index(PyObject *self) { return PyLong_FromLongLong(node_of(self)->id); }

static PyObject *node_repr(PyObject *self) {
    const tg_node_info info = info_of(self);
    PyObject          *name = text_of(info.name), *shape = core_ints(info.host.shape, info.host.ndim), *repr = NULL;
    if (name != NULL && shape != NULL)
        repr = PyUnicode_FromFormat("<GraphNode %lld%s%U: %s %s%R>", (long long)node_of(self)->id,
                                    info.name.len > 0 ? " " : "", name, tg_node_kind_name(info.kind),
                                    tg_dtype_name(info.host.dtype), shape);
    Py_XDECREF(name);
    Py_XDECREF(shape);
    return repr;
}

static PyObject *node_richcompare(PyObject *a, PyObject *b, int op) {
    if ((op != Py_EQ && op != Py_NE) || !Py_IS_TYPE(b, Py_TYPE(a))) Py_RETURN_NOTIMPLEMENTED;
    const bool same = node_of(a)->graph == node_of(b)->graph && node_of(a)->id == node_of(b)->id;
    return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t node_hash(PyObject *self) {
    const uintptr_t graph = (uintptr_t)node_of(self)->graph >> 4;
    const Py_hash_t hash = (Py_hash_t)(graph * 1000003u + (uintptr_t)node_of(self)->id);
    return hash == -1 ? -2 : hash;
}

static int node_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)node_of(self)->graph);
    return 0;
}

/* It always has its graph: in a cycle it is the graph that lets go, of its tags. */
static void node_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_XDECREF((PyObject *)node_of(self)->graph);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* ---- the types --------------------------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"__reduce__", graph_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"graph", get_graph, NULL, "The Graph that it is in.", NULL},
    {"index", get_field, NULL, "Its place there; int(node) too.", (void *)INDEX},
    {"kind", get_field, NULL, "'pointwise', 'matmul', ...", (void *)KIND},
    {"rule", get_field, NULL, "What its kind asks of layouts, in a sentence.", (void *)RULE},
    {"name", get_field, NULL, "'' if it has none.", (void *)NAME},
    {"opcode", get_field, NULL, "What it does, in the words of who made it.", (void *)OPCODE},
    {"variant", get_field, NULL, "What the opcode leaves open: 'GT' of a compare; '' if nothing.", (void *)VARIANT},
    {"reason", get_field, NULL, "Of a boundary: why it is one; '' if nobody said.", (void *)REASON},
    {"times", get_field, NULL, "How often it runs, in loops.", (void *)TIMES},
    {"dtype", get_field, NULL, "Of its result.", (void *)DTYPE},
    {"shape", get_field, NULL, "Of its result.", (void *)SHAPE},
    {"strides", get_field, NULL, "Of its result on the host, in elements.", (void *)STRIDES},
    {"host", get_host, NULL, "Its result on the host, as a strided Layout.", NULL},
    {"on_device", get_field, NULL, "Whether its dtype has a device format.", (void *)ON_DEVICE},
    {"loops", get_field, NULL, "The range of each loop.", (void *)LOOPS},
    {"windows", get_field, NULL, "Its windows, as Graph.add takes them.", (void *)WINDOWS},
    {"operands", get_operands, NULL, "What it reads: a tuple of Access.", NULL},
    {"result", get_result, NULL, "How it writes: an Access.", NULL},
    {"inputs", get_inputs, NULL, "The nodes that its operands read.", NULL},
    {"tag", get_tag, set_tag, "Any object, for the user; None if there is none.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A node of a Graph: an operation, and the tensor that is its result."},
    {Py_tp_dealloc, node_dealloc},
    {Py_tp_traverse, node_traverse},
    {Py_tp_repr, node_repr},
    {Py_tp_richcompare, node_richcompare},
    {Py_tp_hash, node_hash},
    {Py_nb_index, node_index},
    {Py_nb_int, node_index},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.GraphNode",
    .basicsize = sizeof(core_node),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

int graph_add_nodes(PyObject *module) {
    static PyStructSequence_Field term_fields[] = {
        {"loop", "its number; None: only the data knows"}, {"step", "host elements for each of its rounds"},
        {"modulus", "the loop counts modulo this; 0: it does not"},
        {"extent", "the number stays below this; 0: the range of the loop"}, {NULL, NULL}};
    static PyStructSequence_Field access_fields[] = {
        {"node", "whose result it is"}, {"terms", "a tuple of Term"}, {"offset", "host elements"}, {NULL, NULL}};
    static PyStructSequence_Field loop_fields[] = {
        {"first", "node that runs in rounds"}, {"last", "such node"},
        {"test", "the node that ends the loop when it is false; None: not known"}, {NULL, NULL}};
    static PyStructSequence_Desc loop_desc = {"tegula.Loop", "Nodes that run in rounds, one after the other.",
                                              loop_fields, 3};
    static PyStructSequence_Desc term_desc = {"tegula.Term", "step * (number of the loop) host elements.", term_fields,
                                              4};
    static PyStructSequence_Desc access_desc = {
        "tegula.Access", "Which host element is touched: the offset and the sum of the terms.", access_fields, 3};
    core_state *state = core_module_state(module);
    if (graph_add_record(module, &state->term_type, &term_desc) != 0) return -1;
    if (graph_add_record(module, &state->access_type, &access_desc) != 0) return -1;
    if (graph_add_record(module, &state->loop_type, &loop_desc) != 0) return -1;
    return core_add_type(module, &state->graph_node_type, &spec);
}
