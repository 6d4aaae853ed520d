/* Nodes from shapes: Graph.pointwise, reduce, matmul and concatenate. The library knows their loops
 * (<tegula/graph_ops.h>); here operands are read, each of them a node and a view of it. */
#include "py_graph.h"

#include <string.h>

static bool is_given(PyObject *object) { return object != NULL && object != Py_None; }

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static int view_of_text(tg_view *view, core_state *state, PyObject *text) {
    const tg_view whole = *view;
    Py_ssize_t    len = 0;
    tg_error      err;
    const char   *chars = PyUnicode_AsUTF8AndSize(text, &len);
    if (chars == NULL) return -1;
    if (tg_view_parse(view, &whole, chars, (size_t)len, &err) == TG_OK) return 0;
    (void)core_raise(state, &err, text);
    return -1;
}

static int view_of_layout(tg_view *view, core_state *state, const core_layout *layout) {
    const tg_host *host = &layout->desc.host;
    if (!layout->has_notation || layout->desc.notation != TG_NOTATION_STRIDED) {
        (void)core_raise_argument(state, "a view is a strided layout, not %S", (PyObject *)layout);
        return -1;
    }
    view->ndim = host->ndim;
    view->offset = host->offset;
    memcpy(view->shape, host->shape, sizeof view->shape);
    memcpy(view->strides, host->strides, sizeof view->strides);
    return 0;
}

/* (node, shape, strides[, offset]) */
static int view_of_numbers(tg_view *view, core_state *state, PyObject *operand) {
    int32_t nstrides = 0;
    view->offset = 0;
    if (core_get_ints(view->shape, &view->ndim, TG_MAX_NDIM, state, PyTuple_GetItem(operand, 1), "shape") != 0 ||
        core_get_ints(view->strides, &nstrides, TG_MAX_NDIM, state, PyTuple_GetItem(operand, 2), "strides") != 0)
        return -1;
    if (nstrides != view->ndim) {
        (void)core_raise_argument(state, "%d strides for %d dimension%s", (int)nstrides, (int)view->ndim,
                                  view->ndim == 1 ? "" : "s");
        return -1;
    }
    return PyTuple_Size(operand) == 4 ? core_get_int(&view->offset, state, PyTuple_GetItem(operand, 3), "offset") : 0;
}

static int read_view(tg_view *view, core_state *state, PyObject *operand) {
    PyObject        *second = PyTuple_GetItem(operand, 1);
    const Py_ssize_t n = PyTuple_Size(operand);
    if (n == 2 && PyUnicode_Check(second)) return view_of_text(view, state, second);
    if (n == 2 && Py_IS_TYPE(second, (PyTypeObject *)state->layout_type))
        return view_of_layout(view, state, (const core_layout *)second);
    if (n == 3 || n == 4) return view_of_numbers(view, state, operand);
    PyErr_Format(PyExc_TypeError, "a view is PyTorch's text, a strided Layout, or shape, strides and offset, not %R",
                 second);
    return -1;
}

static int read_operand(tg_operand *out, core_graph *self, PyObject *object) {
    core_state      *state = core_get_state((PyObject *)self);
    const Py_ssize_t n = PyTuple_Check(object) ? PyTuple_Size(object) : 1;
    PyObject        *node = PyTuple_Check(object) && n > 0 ? PyTuple_GetItem(object, 0) : object;
    int64_t          id = 0;
    if (n < 1 || n > 4)
        return (void)core_raise_argument(state, "an operand is a node or (node, view), not %R", object), -1;
    if (graph_get_node(&id, self, node, tg_graph_count(self->graph)) != 0) return -1;
    *out = tg_graph_whole(self->graph, id);
    return n > 1 ? read_view(&out->view, state, object) : 0;
}

static tg_dtype dtype_of(const core_graph *self, const tg_operand *o) {
    return tg_graph_get(self->graph, o->node).host.dtype;
}

/* A list of operands, in memory of its own; NULL with an exception. */
static tg_operand *read_operands(int32_t *count, core_graph *self, PyObject *object) {
    if (PyUnicode_Check(object) || !PySequence_Check(object))
        return (tg_operand *)PyErr_Format(PyExc_TypeError, "operands are a sequence, not %R", Py_TYPE(object));
    PyObject *items = PySequence_Tuple(object);
    if (items == NULL) return NULL;
    const Py_ssize_t n = PyTuple_Size(items);
    tg_operand      *operands = n < INT32_MAX ? PyMem_Malloc(((size_t)n + 1) * sizeof *operands) : NULL;
    int              failed = operands == NULL;
    if (failed) (void)PyErr_NoMemory();
    for (Py_ssize_t k = 0; k < n && !failed; k++)
        failed = read_operand(&operands[k], self, PyTuple_GetItem(items, k)) != 0;
    Py_DECREF(items);
    if (!failed) return *count = (int32_t)n, operands;
    PyMem_Free(operands);
    return NULL;
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

static PyObject *add_pointwise(core_graph *self, const tg_node *node, int32_t n, const tg_operand *operands,
                               PyObject *tag) {
    int64_t  id = 0;
    tg_error err;
    if (graph_make_room(self) != 0) return NULL;
    const tg_status s = tg_graph_add_pointwise(&id, self->graph, node, n, operands, &err);
    return graph_added(self, s, &err, id, tag);
}

PyObject *graph_pointwise(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"operands", "kind", NODE_WORD_NAMES};
    core_graph  *self = graph_of(object);
    PyObject    *list = NULL, *kind = NULL, *added = NULL;
    node_words   w = {.name = NULL};
    tg_node      node = {.kind = TG_NODE_POINTWISE};
    int32_t      n = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$O" NODE_WORD_FORMAT ":pointwise",
                                     names, &list, &kind, NODE_WORDS_OF(w)))
        return NULL;
    if (is_given(kind) && graph_read_kind(&node.kind, core_get_state(object), kind) != 0) return NULL;
    tg_operand *operands = read_operands(&n, self, list);
    if (operands == NULL) return NULL;
    if (graph_read_words(&node, self, &w, n > 0 ? dtype_of(self, &operands[0]) : TG_INVALID) == 0)
        added = add_pointwise(self, &node, n, operands, w.tag);
    PyMem_Free(operands);
    return added;
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* None is all; negative ones count from the end. */
static int read_dims(int32_t *dims, int32_t *n, core_state *state, PyObject *object, int32_t ndim) {
    if (!is_given(object)) {
        for (*n = 0; *n < ndim; ++*n) dims[*n] = *n;
        return 0;
    }
    if (PyIndex_Check(object)) {
        int64_t dim = 0;
        if (core_get_int(&dim, state, object, "dim") != 0) return -1;
        dims[0] = dim < INT32_MIN || dim > INT32_MAX ? INT32_MAX : (int32_t)dim;
        *n = 1;
    } else if (core_get_ints32(dims, n, TG_MAX_NDIM, state, object, "list of dimensions") != 0) {
        return -1;
    }
    for (int32_t i = 0; i < *n; i++)
        if (dims[i] < 0 && dims[i] >= -ndim) dims[i] += ndim;
    return 0;
}

PyObject *graph_reduction(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"operand", "dims", "reduction", "keep_dims", NODE_WORD_NAMES};
    core_graph  *self = graph_of(object);
    core_state  *state = core_get_state(object);
    PyObject    *which = NULL, *list = NULL, *reduction = NULL;
    node_words   w = {.name = NULL};
    tg_node      node = {.kind = TG_NODE_REDUCE};
    tg_operand   operand;
    int32_t      dims[TG_MAX_NDIM], n = 0;
    int          keep_dims = 0;
    int64_t      id = 0;
    tg_error     err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O$p" NODE_WORD_FORMAT ":reduce",
                                     names, &which, &list, &reduction,
                                     &keep_dims, NODE_WORDS_OF(w)))
        return NULL;
    if (read_operand(&operand, self, which) != 0) return NULL;
    if (read_dims(dims, &n, state, list, operand.view.ndim) != 0) return NULL;
    if (graph_read_reduction(&node.reduction, state, reduction) != 0) return NULL;
    if (graph_read_words(&node, self, &w, dtype_of(self, &operand)) != 0 || graph_make_room(self) != 0) return NULL;
    const tg_status s = tg_graph_add_reduce(&id, self->graph, &node, &operand, n, dims, keep_dims != 0, &err);
    return graph_added(self, s, &err, id, w.tag);
}

/* ---- products and pieces ----------------------------------------------------------------------------------------- */

PyObject *graph_matmul(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"x", "y", NODE_WORD_NAMES};
    core_graph  *self = graph_of(object);
    PyObject    *first = NULL, *second = NULL;
    node_words   w = {.name = NULL};
    tg_node      node = {.kind = TG_NODE_MATMUL};
    tg_operand   x, y;
    int64_t      id = 0;
    tg_error     err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$" NODE_WORD_FORMAT ":matmul",
                                     names, &first, &second, NODE_WORDS_OF(w)))
        return NULL;
    if (read_operand(&x, self, first) != 0 || read_operand(&y, self, second) != 0) return NULL;
    if (graph_read_words(&node, self, &w, dtype_of(self, &x)) != 0 || graph_make_room(self) != 0) return NULL;
    const tg_status s = tg_graph_add_matmul(&id, self->graph, &node, &x, &y, &err);
    return graph_added(self, s, &err, id, w.tag);
}

static PyObject *add_concatenate(core_graph *self, const tg_node *node, int32_t n, const tg_operand *operands,
                                 int64_t dim, PyObject *tag) {
    const int32_t ndim = n > 0 ? operands[0].view.ndim : 0;
    int64_t       id = 0;
    tg_error      err;
    if (dim < 0 && dim >= -ndim) dim += ndim;
    if (dim < INT32_MIN || dim > INT32_MAX) dim = INT32_MAX;
    if (graph_make_room(self) != 0) return NULL;
    const tg_status s = tg_graph_add_concatenate(&id, self->graph, node, n, operands, (int32_t)dim, &err);
    return graph_added(self, s, &err, id, tag);
}

PyObject *graph_concatenate(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"operands", "dim", NODE_WORD_NAMES};
    core_graph  *self = graph_of(object);
    PyObject    *list = NULL, *added = NULL;
    node_words   w = {.name = NULL};
    tg_node      node = {.kind = TG_NODE_CONCATENATE};
    long long    dim = 0;
    int32_t      n = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|L$" NODE_WORD_FORMAT ":concatenate",
                                     names, &list, &dim, NODE_WORDS_OF(w)))
        return NULL;
    tg_operand *operands = read_operands(&n, self, list);
    if (operands == NULL) return NULL;
    if (n == 0) (void)core_raise_argument(core_get_state(object), "there is nothing to concatenate");
    else if (graph_read_words(&node, self, &w, dtype_of(self, &operands[0])) == 0)
        added = add_concatenate(self, &node, n, operands, dim, w.tag);
    PyMem_Free(operands);
    return added;
}

/* ---- what the graph is there for, and what runs in rounds -------------------------------------------------------- */

PyObject *graph_add_output(PyObject *object, PyObject *which) {
    core_graph *self = graph_of(object);
    tg_operand  o;
    tg_error    err;
    if (read_operand(&o, self, which) != 0 || graph_make_room(self) != 0) return NULL;
    tg_host view = {.dtype = dtype_of(self, &o), .ndim = o.view.ndim, .offset = o.view.offset};
    memcpy(view.shape, o.view.shape, sizeof view.shape);
    memcpy(view.strides, o.view.strides, sizeof view.strides);
    if (tg_graph_add_output(self->graph, o.node, &view, &err) == TG_OK) Py_RETURN_NONE;
    return core_raise(core_get_state(object), &err, NULL);
}

PyObject *graph_outputs(PyObject *object, void *unused) {
    core_graph   *self = graph_of(object);
    core_state   *state = core_get_state(object);
    const int64_t n = tg_graph_output_count(self->graph);
    PyObject     *tuple = PyTuple_New((Py_ssize_t)n);
    (void)unused;
    for (int64_t i = 0; i < n && tuple != NULL; i++) {
        const tg_output out = tg_graph_output(self->graph, i);
        PyObject       *node = graph_node(state, self, out.node), *view = core_layout_strided(state, &out.view);
        PyObject       *pair = node != NULL && view != NULL ? PyTuple_Pack(2, node, view) : NULL;
        Py_XDECREF(node);
        Py_XDECREF(view);
        if (pair == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, pair) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *graph_add_loop(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char  *names[] = {"first", "last", "test", NULL};
    core_graph   *self = graph_of(object);
    const int64_t count = tg_graph_count(self->graph);
    PyObject     *first = NULL, *last = NULL, *test = NULL;
    tg_loop       loop = {.test = -1};
    tg_error      err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$O:add_loop", names, &first, &last, &test)) return NULL;
    if (graph_get_node(&loop.first, self, first, count) != 0 || graph_get_node(&loop.end, self, last, count) != 0 ||
        (is_given(test) && graph_get_node(&loop.test, self, test, count) != 0) || graph_make_room(self) != 0)
        return NULL;
    loop.end++;
    if (tg_graph_add_loop(self->graph, &loop, &err) == TG_OK) Py_RETURN_NONE;
    return core_raise(core_get_state(object), &err, NULL);
}

static PyObject *loop_of(core_graph *self, int64_t i) {
    core_state   *state = core_get_state((PyObject *)self);
    const tg_loop loop = tg_graph_loop(self->graph, i);
    PyObject     *values[] = {graph_node(state, self, loop.first), graph_node(state, self, loop.end - 1),
                              loop.test >= 0 ? graph_node(state, self, loop.test) : Py_NewRef(Py_None)};
    return graph_record(state->loop_type, 3, values);
}

PyObject *graph_loops(PyObject *object, void *unused) {
    const int64_t n = tg_graph_loop_count(graph_of(object)->graph);
    PyObject     *tuple = PyTuple_New((Py_ssize_t)n);
    (void)unused;
    for (int64_t i = 0; i < n && tuple != NULL; i++) {
        PyObject *loop = loop_of(graph_of(object), i);
        if (loop == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, loop) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}
