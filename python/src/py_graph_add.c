/* Nodes as graph.h has them, from Python: Graph.add_input and Graph.add. Everything is read first, and then added in
 * one step in which no Python code runs. */
#include "py_graph.h"

#include "spyre.h"

#include <string.h>

static bool is_given(PyObject *object) { return object != NULL && object != Py_None; }

/* ---- adding ------------------------------------------------------------------------------------------------------ */

int graph_make_room(core_graph *self) {
    const int64_t count = tg_graph_count(self->graph);
    if (self->planning > 0) {
        PyErr_SetString(PyExc_RuntimeError,
                        "another thread is planning this graph; it takes new nodes when that is done");
        return -1;
    }
    if (count < self->room) return 0;
    const int64_t room = 2 * count + 8;
    PyObject    **more = PyMem_Realloc(self->tags, (size_t)room * sizeof *more);
    if (more == NULL) return (void)PyErr_NoMemory(), -1;
    memset(more + self->room, 0, (size_t)(room - self->room) * sizeof *more);
    self->tags = more;
    self->room = room;
    return 0;
}

PyObject *graph_added(core_graph *self, tg_status s, const tg_error *err, int64_t id, PyObject *tag) {
    core_state *state = core_get_state((PyObject *)self);
    if (s != TG_OK) return core_raise(state, err, NULL);
    if (is_given(tag)) self->tags[id] = Py_NewRef(tag);
    return graph_node(state, self, id);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static int read_choice(int *out, core_state *state, PyObject *word, const char *const *names, const char *what) {
    const char *text = PyUnicode_Check(word) ? PyUnicode_AsUTF8AndSize(word, NULL) : NULL;
    if (text == NULL) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "the %s is a str, not %R", what, Py_TYPE(word));
        return -1;
    }
    for (*out = 0; names[*out] != NULL; ++*out)
        if (strcmp(names[*out], text) == 0) return 0;
    (void)core_raise_argument(state, "%R is no %s", word, what);
    return -1;
}

int graph_read_kind(tg_node_kind *out, core_state *state, PyObject *name) {
    const char *names[GRAPH_KINDS] = {NULL};
    int         choice = 0;
    for (int kind = 0; (names[kind] = tg_node_kind_name((tg_node_kind)kind)) != NULL;) kind++;
    if (read_choice(&choice, state, name, names, "kind of node") != 0) return -1;
    *out = (tg_node_kind)choice;
    return 0;
}

int graph_read_reduction(tg_reduction *out, core_state *state, PyObject *name) {
    static const char *const names[] = {"sum", "max", "min", "product", "and", "or", "xor", NULL};
    int                      choice = 0;
    if (is_given(name) && read_choice(&choice, state, name, names, "reduction") != 0) return -1;
    *out = (tg_reduction)choice;
    return 0;
}

/* Bit l for every loop l that is listed. */
static int read_loops(uint32_t *out, core_state *state, PyObject *loops, const char *what) {
    int64_t numbers[TG_MAX_LOOPS];
    int32_t n = 0;
    *out = 0;
    if (!is_given(loops)) return 0;
    if (PyTuple_CheckExact(loops) && PyTuple_Size(loops) == 0) return 0;
    if (core_get_ints(numbers, &n, TG_MAX_LOOPS, state, loops, what) != 0) return -1;
    for (int32_t i = 0; i < n; i++) {
        if (numbers[i] < 0 || numbers[i] >= TG_MAX_LOOPS) {
            (void)core_raise_argument(state, "%s names loop %lld; loops are 0 to %d", what, (long long)numbers[i],
                                      TG_MAX_LOOPS - 1);
            return -1;
        }
        *out |= UINT32_C(1) << numbers[i];
    }
    return 0;
}

/* dtype and, if they are given, shape and strides; else ndim is -1. */
static int read_host(tg_host *out, core_state *state, PyObject *shape, PyObject *strides, tg_dtype dtype) {
    int64_t  sizes[TG_MAX_NDIM];
    int32_t  ndim = 0, nstrides = 0;
    tg_error err;
    out->dtype = dtype;
    out->ndim = -1;
    if (!is_given(shape)) {
        if (!is_given(strides)) return 0;
        return (void)core_raise_argument(state, "strides need a shape"), -1;
    }
    if (core_get_ints(sizes, &ndim, TG_MAX_NDIM, state, shape, "shape") != 0) return -1;
    if (tg_host_contiguous(out, dtype, ndim, sizes, &err) != TG_OK) return (void)core_raise(state, &err, NULL), -1;
    if (!is_given(strides)) return 0;
    if (core_get_ints(out->strides, &nstrides, TG_MAX_NDIM, state, strides, "strides") != 0) return -1;
    if (nstrides == ndim) return 0;
    (void)core_raise_argument(state, "%d strides for %d dimension%s", (int)nstrides, (int)ndim, ndim == 1 ? "" : "s");
    return -1;
}

int graph_read_splits(tg_split *out, int32_t *n, core_state *state, PyObject *object, const char *what) {
    PyObject *items = PyDict_Check(object) ? PyMapping_Items(object) : NULL;
    *n = 0;
    if (!PyDict_Check(object))
        PyErr_Format(PyExc_TypeError, "%s are a dict {loop: %s}, not %R", what,
                     strcmp(what, "tiles") == 0 ? "tiles" : "slices", Py_TYPE(object));
    if (items == NULL) return -1;
    const Py_ssize_t count = PyList_Size(items);
    bool             ok = count <= TG_MAX_LOOPS;
    if (!ok) (void)core_raise_argument(state, "%zd loops are to be split, of at most %d", count, TG_MAX_LOOPS);
    for (Py_ssize_t i = 0; i < count && ok; i++) {
        PyObject *pair = PyList_GetItem(items, i);
        int64_t   loop = 0;
        ok = core_get_int(&loop, state, PyTuple_GetItem(pair, 0), "a loop") == 0 &&
             core_get_int(&out[i].slices, state, PyTuple_GetItem(pair, 1), "slices of a loop") == 0;
        out[i].loop = loop >= 0 && loop < TG_MAX_LOOPS ? (int32_t)loop : TG_MAX_LOOPS;
        *n = (int32_t)i + 1;
    }
    Py_DECREF(items);
    return ok ? 0 : -1;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* The layout that stands in the place of a shape, or behind layout=. */
static int take_layout(tg_host *host, tg_spyre *spyre, bool *has_spyre, core_state *state, PyObject *object) {
    core_layout *layout = core_get_layout(state, object, "layout");
    int          done = -1;
    if (layout == NULL) return -1;
    const bool strided = layout->has_notation && layout->desc.notation == TG_NOTATION_STRIDED;
    *has_spyre = layout->has_notation && layout->desc.notation == TG_NOTATION_SPYRE;
    if (strided || *has_spyre) {
        *host = layout->desc.host;
        *spyre = layout->desc.spyre;
        done = 0;
    } else {
        (void)core_raise_argument(state, "an input has a strided or a Spyre layout, not %S", (PyObject *)layout);
    }
    Py_DECREF((PyObject *)layout);
    return done;
}

static bool same_host(const tg_host *a, const tg_host *b) {
    const size_t bytes = (size_t)a->ndim * sizeof a->shape[0];
    return a->dtype == b->dtype && a->ndim == b->ndim && memcmp(a->shape, b->shape, bytes) == 0 &&
           memcmp(a->strides, b->strides, bytes) == 0;
}

/* layout=: a SpyreTensorLayout, or a Layout whose host tensor is this one. */
static int read_device_layout(tg_spyre *spyre, bool *has_spyre, core_state *state, const tg_host *host,
                              PyObject *layout) {
    tg_host own;
    if (PyObject_TypeCheck(layout, (PyTypeObject *)state->spyre_layout_type)) {
        *spyre = *spyre_layout_get(state, layout);
        *has_spyre = true;
        return 0;
    }
    if (take_layout(&own, spyre, has_spyre, state, layout) != 0) return -1;
    if (!*has_spyre) return (void)core_raise_argument(state, "layout= is a Spyre layout, not %S", layout), -1;
    if (same_host(&own, host)) return 0;
    (void)core_raise_argument(state, "the layout %S is not of the input's shape, strides and dtype", layout);
    return -1;
}

/* layout=: what the result is to have. A Layout says the shape, too, where nobody else does. */
static int read_wanted(tg_node *out, core_state *state, node_words *w) {
    const tg_host said = out->host;
    bool          has_spyre = false;
    if (said.ndim >= 0 || PyObject_TypeCheck(w->layout, (PyTypeObject *)state->spyre_layout_type)) {
        if (read_device_layout(&w->wanted, &has_spyre, state, &said, w->layout) != 0) return -1;
    } else {
        if (take_layout(&out->host, &w->wanted, &has_spyre, state, w->layout) != 0) return -1;
        if (!has_spyre) return (void)core_raise_argument(state, "layout= is a Spyre layout, not %S", w->layout), -1;
        if (out->host.dtype != said.dtype) {
            (void)core_raise_argument(state, "the layout %S is of %s, the result of %s", w->layout,
                                      tg_dtype_name(out->host.dtype), tg_dtype_name(said.dtype));
            return -1;
        }
    }
    out->layout = &w->wanted;
    return 0;
}

int graph_read_words(tg_node *out, core_graph *self, node_words *w, tg_dtype usual) {
    core_state *state = core_get_state((PyObject *)self);
    tg_dtype    dtype = usual;
    if (is_given(w->dtype) && core_get_dtype(&dtype, state, w->dtype) != 0) return -1;
    if (dtype == TG_INVALID) return (void)core_raise_argument(state, "a node without operands needs a dtype"), -1;
    if (read_host(&out->host, state, w->shape, w->strides, dtype) != 0) return -1;
    out->has_format = is_given(w->device_dtype);
    if (out->has_format && core_get_format(&out->format, state, w->device_dtype) != 0) return -1;
    if (read_loops(&out->no_stick, state, w->no_stick, "no_stick") != 0) return -1;
    if (read_loops(&out->no_split, state, w->no_split, "no_split") != 0) return -1;
    if (is_given(w->splits) && graph_read_splits(w->wished, &out->nwishes, state, w->splits, "splits") != 0) return -1;
    if (is_given(w->tiles) && graph_read_splits(w->tiled, &out->ntiles, state, w->tiles, "tiles") != 0) return -1;
    if (is_given(w->pins) && graph_read_splits(w->pinned, &out->npins, state, w->pins, "pins") != 0) return -1;
    out->wishes = w->wished;
    out->tiles = w->tiled;
    out->pins = w->pinned;
    out->times = w->times;
    out->variant = (tg_hlo_text){w->variant, (size_t)w->variant_len};
    out->reason = (tg_hlo_text){w->reason, (size_t)w->reason_len};
    out->name = (tg_hlo_text){w->name, (size_t)w->name_len};
    out->opcode = (tg_hlo_text){w->opcode, (size_t)w->opcode_len};
    return is_given(w->layout) ? read_wanted(out, state, w) : 0;
}

typedef struct input_words {
    PyObject *shape, *dtype, *strides, *layout, *tag;
} input_words;

static int read_input(tg_host *host, tg_spyre *spyre, bool *has_spyre, core_state *state, const input_words *w) {
    tg_dtype dtype = TG_INVALID;
    *has_spyre = false;
    if (PyUnicode_Check(w->shape) || Py_IS_TYPE(w->shape, (PyTypeObject *)state->layout_type)) {
        if (is_given(w->dtype) || is_given(w->strides) || is_given(w->layout))
            return (void)core_raise_argument(state, "a Layout says dtype, strides and layout itself"), -1;
        return take_layout(host, spyre, has_spyre, state, w->shape);
    }
    if (!is_given(w->dtype)) return (void)core_raise_argument(state, "an input needs a dtype"), -1;
    if (core_get_dtype(&dtype, state, w->dtype) != 0) return -1;
    if (read_host(host, state, w->shape, w->strides, dtype) != 0) return -1;
    return is_given(w->layout) ? read_device_layout(spyre, has_spyre, state, host, w->layout) : 0;
}

PyObject *graph_add_input(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"shape", "dtype", "strides", "layout", "name", "tag", NULL};
    core_graph  *self = graph_of(object);
    input_words  w = {NULL, NULL, NULL, NULL, NULL};
    const char  *name = NULL;
    Py_ssize_t   len = 0;
    tg_host      host = {.ndim = 0};
    tg_spyre     spyre;
    bool         has_spyre = false;
    int64_t      id = 0;
    tg_error     err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$OOz#O:add_input", names, &w.shape, &w.dtype, &w.strides,
                                     &w.layout, &name, &len, &w.tag))
        return NULL;
    if (w.shape == Py_None) return PyErr_Format(PyExc_TypeError, "an input needs a shape, or a Layout");
    if (read_input(&host, &spyre, &has_spyre, core_get_state(object), &w) != 0) return NULL;
    if (graph_make_room(self) != 0) return NULL;
    const tg_status s = tg_graph_add_input(&id, self->graph, (tg_hlo_text){name, (size_t)len}, &host,
                                           has_spyre ? &spyre : NULL, &err);
    return graph_added(self, s, &err, id, w.tag);
}

/* ---- accesses ---------------------------------------------------------------------------------------------------- */

/* A new tuple with the items of a sequence; NULL for texts and what is none. */
static PyObject *items_of(PyObject *object, const char *what) {
    PyObject *items = PyUnicode_Check(object) || PyBytes_Check(object) ? NULL : PySequence_Tuple(object);
    if (items == NULL && (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)))
        PyErr_Format(PyExc_TypeError, "%s, not %R", what, Py_TYPE(object));
    return items;
}

static int read_term(tg_term *out, core_state *state, PyObject *object) {
    PyObject        *items = items_of(object, "a term is (loop, step[, modulus[, extent]])");
    const Py_ssize_t n = items != NULL ? PyTuple_Size(items) : 0;
    int64_t          numbers[4] = {0, 0, 0, 0};
    bool             ok = n >= 2 && n <= 4;
    if (items == NULL) return -1;
    if (!ok) (void)core_raise_argument(state, "a term is (loop, step[, modulus[, extent]]), not %R", object);
    for (Py_ssize_t i = 0; i < n && ok; i++) {
        PyObject *item = PyTuple_GetItem(items, i);
        if (i == 0 && item == Py_None) numbers[0] = TG_LOOP_UNKNOWN;
        else ok = core_get_int(&numbers[i], state, item, "a number of a term") == 0;
    }
    Py_DECREF(items);
    if (ok && (numbers[0] < TG_LOOP_UNKNOWN || numbers[0] >= TG_MAX_LOOPS)) {
        (void)core_raise_argument(state, "a term names loop %lld; loops are 0 to %d", (long long)numbers[0],
                                  TG_MAX_LOOPS - 1);
        ok = false;
    }
    *out = (tg_term){(int32_t)numbers[0], numbers[1], numbers[2], numbers[3]};
    return ok ? 0 : -1;
}

/* Terms of a sequence, in memory of their own. */
static int read_terms(tg_access *out, core_state *state, PyObject *object) {
    PyObject        *items = items_of(object, "the terms of an access are a sequence");
    const Py_ssize_t n = items != NULL ? PyTuple_Size(items) : 0;
    tg_term         *terms = NULL;
    int              failed = items == NULL;
    if (!failed && n > 2 * TG_MAX_LOOPS) {
        (void)core_raise_argument(state, "an access has %zd terms; the limit is %d", n, 2 * TG_MAX_LOOPS);
        failed = 1;
    }
    if (!failed && (terms = PyMem_Malloc(((size_t)n + 1) * sizeof *terms)) == NULL) {
        (void)PyErr_NoMemory();
        failed = 1;
    }
    for (Py_ssize_t i = 0; i < n && !failed; i++) failed = read_term(&terms[i], state, PyTuple_GetItem(items, i)) != 0;
    Py_XDECREF(items);
    if (failed) PyMem_Free(terms);
    else out->terms = terms;
    out->nterms = failed ? 0 : (int32_t)n;
    return failed ? -1 : 0;
}

/* Dimension d by loop d. */
static int terms_of_whole(tg_access *out, int32_t ndim, const int64_t *strides) {
    tg_term *terms = PyMem_Malloc(((size_t)ndim + 1) * sizeof *terms);
    if (terms == NULL) return (void)PyErr_NoMemory(), -1;
    for (int32_t d = 0; d < ndim; d++) terms[d] = (tg_term){.loop = d, .step = strides[d]};
    out->terms = terms;
    out->nterms = ndim;
    return 0;
}

int graph_read_access(tg_access *out, core_graph *self, PyObject *object) {
    core_state      *state = core_get_state((PyObject *)self);
    const int64_t    count = tg_graph_count(self->graph);
    const Py_ssize_t n = PyTuple_Check(object) ? PyTuple_Size(object) : 0;
    if (!PyTuple_Check(object)) {
        if (graph_get_node(&out->node, self, object, count) != 0) return -1;
        const tg_host host = tg_graph_get(self->graph, out->node).host;
        return terms_of_whole(out, host.ndim, host.strides);
    }
    if (n < 2 || n > 3)
        return (void)core_raise_argument(state, "an operand is a node or (node, terms[, offset]), not %R", object), -1;
    if (graph_get_node(&out->node, self, PyTuple_GetItem(object, 0), count) != 0) return -1;
    if (n == 3 && core_get_int(&out->offset, state, PyTuple_GetItem(object, 2), "offset") != 0) return -1;
    return read_terms(out, state, PyTuple_GetItem(object, 1));
}

static void free_accesses(tg_access *accesses, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) PyMem_Free((void *)(uintptr_t)accesses[i].terms);
    PyMem_Free(accesses);
}

/* ---- any node ---------------------------------------------------------------------------------------------------- */

typedef struct add_words {
    PyObject  *kind, *loops, *operands, *result, *reduction, *in_channel, *out_channel, *windows;
    long long  result_offset;
    node_words node;
} add_words;

/* What is made of them; accesses: of the operands, and last of the result. */
typedef struct reading {
    tg_node    node;
    int64_t    ranges[TG_MAX_LOOPS];
    tg_window  windows[TG_MAX_NDIM];
    tg_access *accesses;
    Py_ssize_t noperands;
} reading;

static int read_channel(int32_t *out, core_state *state, PyObject *object, const char *what) {
    int64_t loop = -1;
    if (is_given(object) && core_get_int(&loop, state, object, what) != 0) return -1;
    *out = loop >= 0 && loop < TG_MAX_LOOPS ? (int32_t)loop : -1;
    return 0;
}

static int read_numbers(reading *r, core_graph *self, add_words *w) {
    core_state *state = core_get_state((PyObject *)self);
    if (graph_read_kind(&r->node.kind, state, w->kind) != 0) return -1;
    if (r->node.kind == TG_NODE_INPUT) return (void)core_raise_argument(state, "inputs come by add_input"), -1;
    if (graph_read_words(&r->node, self, &w->node, TG_INVALID) != 0) return -1;
    if (r->node.host.ndim < 0) return (void)core_raise_argument(state, "a node needs a shape"), -1;
    if (graph_read_reduction(&r->node.reduction, state, w->reduction) != 0) return -1;
    if (read_channel(&r->node.in_channel, state, w->in_channel, "in_channel") != 0) return -1;
    if (read_channel(&r->node.out_channel, state, w->out_channel, "out_channel") != 0) return -1;
    r->node.windows = r->windows;
    if (is_given(w->windows) && graph_read_windows(r->windows, &r->node.nwindows, state, w->windows) != 0) return -1;
    r->node.ranges = r->ranges;
    if (is_given(w->loops))
        return core_get_ints(r->ranges, &r->node.nloops, TG_MAX_LOOPS, state, w->loops, "list of loops");
    r->node.nloops = r->node.host.ndim;
    memcpy(r->ranges, r->node.host.shape, (size_t)r->node.nloops * sizeof *r->ranges);
    return 0;
}

static int read_result(tg_access *out, core_graph *self, const reading *r, const add_words *w) {
    core_state *state = core_get_state((PyObject *)self);
    out->offset = w->result_offset;
    if (!is_given(w->result)) return terms_of_whole(out, r->node.host.ndim, r->node.host.strides);
    if (!Py_IS_TYPE(w->result, (PyTypeObject *)state->access_type)) return read_terms(out, state, w->result);
    if (core_get_int(&out->offset, state, PyTuple_GetItem(w->result, 2), "offset") != 0) return -1;
    return read_terms(out, state, PyTuple_GetItem(w->result, 1));
}

static int read_accesses(reading *r, core_graph *self, const add_words *w) {
    PyObject *items = is_given(w->operands) ? items_of(w->operands, "operands are a sequence") : PyTuple_New(0);
    if (items == NULL) return -1;
    const Py_ssize_t n = PyTuple_Size(items);
    int              failed = n > INT32_MAX;
    r->accesses = failed ? NULL : PyMem_Calloc((size_t)n + 1, sizeof *r->accesses);
    if (r->accesses == NULL) {
        Py_DECREF(items);
        return (void)PyErr_NoMemory(), -1;
    }
    r->noperands = n;
    for (Py_ssize_t k = 0; k < n && !failed; k++)
        failed = graph_read_access(&r->accesses[k], self, PyTuple_GetItem(items, k)) != 0;
    Py_DECREF(items);
    if (failed || read_result(&r->accesses[n], self, r, w) != 0) return -1;
    r->node.noperands = (int32_t)n;
    r->node.operands = r->accesses;
    r->node.result = r->accesses[n];
    return 0;
}

static PyObject *add_reading(core_graph *self, const reading *r, PyObject *tag) {
    int64_t  id = 0;
    tg_error err;
    if (graph_make_room(self) != 0) return NULL;
    const tg_status s = tg_graph_add(&id, self->graph, &r->node, &err);
    return graph_added(self, s, &err, id, tag);
}

PyObject *graph_add(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"kind", "shape", "dtype", "loops", "operands", "result", "result_offset", "strides",
                            "device_dtype", "reduction", "in_channel", "out_channel", "no_stick", "no_split", "name",
                            "opcode", "tag", "splits", "tiles", "pins", "layout", "variant", "reason", "times",
                            "windows", NULL};
    add_words    w = {.result_offset = 0};
    reading      r;
    node_words  *n = &w.node;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|$OOOLOOOOOOOz#z#OOOOOz#z#LO:add", names, &w.kind, &n->shape,
                                     &n->dtype, &w.loops, &w.operands, &w.result, &w.result_offset, &n->strides,
                                     &n->device_dtype, &w.reduction, &w.in_channel, &w.out_channel, &n->no_stick,
                                     &n->no_split, &n->name, &n->name_len, &n->opcode, &n->opcode_len, &n->tag,
                                     &n->splits, &n->tiles, &n->pins, &n->layout, &n->variant, &n->variant_len,
                                     &n->reason, &n->reason_len, &n->times, &w.windows))
        return NULL;
    memset(&r, 0, sizeof r);
    PyObject *node = NULL;
    if (read_numbers(&r, graph_of(object), &w) == 0 && read_accesses(&r, graph_of(object), &w) == 0)
        node = add_reading(graph_of(object), &r, n->tag);
    if (r.accesses != NULL) free_accesses(r.accesses, r.noperands + 1);
    return node;
}
