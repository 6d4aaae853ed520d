/* tegula.Simulator: a plan that runs on the simulated device. One thread at a time runs it; the others wait, and the
 * GIL is free meanwhile. */
#include "py_sim.h"

#include "py_hlo.h"
#include "spyre.h"

#include <pthread.h>
#include <structmember.h>
#include <string.h>

typedef struct core_sim {
    PyObject_HEAD
    PyObject        *weakrefs;
    core_graph_plan *plan;
    tg_program      *program;
    tg_sim          *sim;
    pthread_mutex_t  lock;
    bool             has_lock;
} core_sim;

static core_sim *sim_of(PyObject *object) { return (core_sim *)object; }

static core_graph *graph_of_sim(const core_sim *self) { return self->plan->graph; }

/* ---- making -------------------------------------------------------------------------------------- */

typedef struct sim_words {
    PyObject *plan, *calculations, *cores, *max_bytes, *left_out;
    unsigned long long seed;
    int in_parts;
} sim_words;

static int read_count(int64_t *out, core_state *state, PyObject *object, int64_t most, const char *what) {
    *out = 0;
    if (object == NULL) return 0;
    if (core_get_int(out, state, object, what) != 0) return -1;
    if (*out >= 0 && *out <= most) return 0;
    (void)core_raise_argument(state, "%s=%lld is not in [0, %lld]", what, (long long)*out, (long long)most);
    return -1;
}

/* The numbers of paddings, in memory of their own. */
static int read_left_out(tg_sim_params *params, core_state *state, const tg_graph_plan *plan, PyObject *object) {
    const int64_t n = tg_graph_plan_summary(plan).npaddings;
    PyObject     *items = object != NULL ? PySequence_Tuple(object) : PyTuple_New(0);
    if (items == NULL) return -1;
    const Py_ssize_t count = PyTuple_Size(items);
    int64_t         *numbers = PyMem_Malloc(((size_t)count + 1) * sizeof *numbers);
    int              failed = numbers == NULL;
    if (failed) (void)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < count && !failed; i++) {
        failed = core_get_int(&numbers[i], state, PyTuple_GetItem(items, i), "a padding") != 0;
        if (!failed && (numbers[i] < 0 || numbers[i] >= n))
            failed = core_raise_argument(state, "there is no padding %lld; the plan has %lld", (long long)numbers[i],
                                         (long long)n) == NULL;
    }
    Py_DECREF(items);
    if (failed) PyMem_Free(numbers);
    else params->left_out = numbers;
    params->nleft_out = (int64_t)count;
    return failed ? -1 : 0;
}

static int read_params(tg_sim_params *out, core_state *state, const core_graph_plan *plan, const sim_words *w) {
    int64_t cores = 0;
    memset(out, 0, sizeof *out);
    if (read_count(&cores, state, w->cores, TG_MAX_CORES, "cores") != 0 ||
        read_count(&out->max_bytes, state, w->max_bytes, INT64_MAX, "max_bytes") != 0)
        return -1;
    out->division = plan->params.division;
    if (cores > 0) out->division.cores = (int32_t)cores;
    out->seed = w->seed;
    out->in_parts = w->in_parts != 0;
    return read_left_out(out, state, plan->plan, w->left_out);
}

/* What the HLO says that the graph was read from. Its nodes have the same numbers wherever they are read into. */
static int read_hlo(tg_program *program, core_state *state, const core_graph *graph) {
    tg_graph *again = NULL;
    tg_status s;
    tg_error  err;
    if (graph->hlo == NULL)
        return (void)core_raise_argument(state, "the graph is not from HLO; calculations={node: operation} say what "
                                                "its nodes calculate"), -1;
    s = tg_graph_create(&again, &err);
    if (s == TG_OK) s = tg_program_add_hlo(program, again, ((core_hlo *)graph->hlo)->module, &err);
    const bool same = s == TG_OK && tg_graph_count(again) == tg_graph_count(graph->graph);
    tg_graph_destroy(&again);
    if (s != TG_OK) return (void)core_raise(state, &err, NULL), -1;
    if (same) return 0;
    (void)core_raise_argument(state, "the graph has nodes that its HLO does not have; calculations={node: operation} "
                                     "say what they calculate");
    return -1;
}

static int create(core_sim *self, core_state *state, const sim_words *w) {
    core_graph   *graph = graph_of_sim(self);
    tg_sim_params params;
    tg_status     s;
    tg_error      err;
    if (tg_graph_count(graph->graph) != self->plan->count)
        return (void)core_raise_argument(state, "the graph has got more nodes since it was planned"), -1;
    if (tg_program_create(&self->program, &err) != TG_OK) return (void)core_raise(state, &err, NULL), -1;
    const bool said = w->calculations != NULL && w->calculations != Py_None;
    if ((said ? sim_read_program(self->program, graph, w->calculations) : read_hlo(self->program, state, graph)) != 0)
        return -1;
    if (read_params(&params, state, self->plan, w) != 0) return -1;
    graph->planning++;
    Py_BEGIN_ALLOW_THREADS
    s = tg_sim_create(&self->sim, graph->graph, self->plan->plan, self->program, &params, &err);
    Py_END_ALLOW_THREADS
    graph->planning--;
    PyMem_Free((void *)(uintptr_t)params.left_out);
    return s == TG_OK ? 0 : ((void)core_raise(state, &err, NULL), -1);
}

static PyObject *sim_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"plan", "calculations", "cores", "seed", "max_bytes", "left_out", "in_parts", NULL};
    core_state  *state = PyType_GetModuleState(type);
    sim_words    w = {.plan = NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|O$OKOOp:Simulator", names, state->graph_plan_type, &w.plan,
                                     &w.calculations, &w.cores, &w.seed, &w.max_bytes, &w.left_out, &w.in_parts))
        return NULL;
    core_sim *self = (core_sim *)PyType_GenericAlloc(type, 0);
    if (self == NULL) return NULL;
    self->plan = (core_graph_plan *)Py_NewRef(w.plan);
    self->has_lock = pthread_mutex_init(&self->lock, NULL) == 0;
    if (!self->has_lock) (void)PyErr_NoMemory();
    if (self->has_lock && create(self, state, &w) == 0) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

/* ---- running ------------------------------------------------------------------------------------- */

static int get_node(int64_t *id, PyObject *self, PyObject *object) {
    return graph_get_node(id, graph_of_sim(sim_of(self)), object, sim_of(self)->plan->count);
}

static PyObject *finish(PyObject *self, tg_status s, const tg_error *err) {
    return s == TG_OK ? Py_NewRef(Py_None) : core_raise(core_get_state(self), err, NULL);
}

/* The graph takes no nodes, and nobody else runs. */
static void begin(core_sim *self) {
    graph_of_sim(self)->planning++;
    Py_BEGIN_ALLOW_THREADS
    (void)pthread_mutex_lock(&self->lock);
    Py_END_ALLOW_THREADS
}

static void end(core_sim *self) {
    (void)pthread_mutex_unlock(&self->lock);
    graph_of_sim(self)->planning--;
}

static PyObject *sim_write(PyObject *self, PyObject *args) {
    PyObject *node = NULL, *data = NULL;
    Py_buffer view;
    int64_t   id = 0;
    tg_status s;
    tg_error  err;
    if (!PyArg_ParseTuple(args, "OO:write", &node, &data) || get_node(&id, self, node) != 0) return NULL;
    if (PyObject_GetBuffer(data, &view, PyBUF_C_CONTIGUOUS) != 0) return NULL;
    const int64_t wanted = tg_sim_nbytes(sim_of(self)->sim, id);
    if (wanted != view.len) {
        (void)core_raise_argument(core_get_state(self), "node %lld has %lld bytes, not %zd", (long long)id,
                                  (long long)wanted, view.len);
        PyBuffer_Release(&view);
        return NULL;
    }
    begin(sim_of(self));
    Py_BEGIN_ALLOW_THREADS
    s = tg_sim_write(sim_of(self)->sim, id, view.buf, &err);
    Py_END_ALLOW_THREADS
    end(sim_of(self));
    PyBuffer_Release(&view);
    return finish(self, s, &err);
}

static PyObject *sim_draw(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char       *names[] = {"seed", NULL};
    unsigned long long seed = 1;
    tg_status          s;
    tg_error           err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|K:draw", names, &seed)) return NULL;
    begin(sim_of(self));
    Py_BEGIN_ALLOW_THREADS
    s = tg_sim_draw(sim_of(self)->sim, seed, &err);
    Py_END_ALLOW_THREADS
    end(sim_of(self));
    return finish(self, s, &err);
}

static PyObject *sim_run(PyObject *self, PyObject *unused) {
    tg_status s;
    tg_error  err;
    (void)unused;
    begin(sim_of(self));
    Py_BEGIN_ALLOW_THREADS
    s = tg_sim_run(sim_of(self)->sim, &err);
    Py_END_ALLOW_THREADS
    end(sim_of(self));
    return finish(self, s, &err);
}

static PyObject *sim_read(PyObject *self, PyObject *node) {
    int64_t   id = 0;
    tg_status s;
    tg_error  err;
    if (get_node(&id, self, node) != 0) return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)tg_sim_nbytes(sim_of(self)->sim, id));
    if (bytes == NULL) return NULL;
    char *data = PyBytes_AsString(bytes);
    begin(sim_of(self));
    Py_BEGIN_ALLOW_THREADS
    s = tg_sim_read_node(sim_of(self)->sim, id, data, &err);
    Py_END_ALLOW_THREADS
    end(sim_of(self));
    if (s == TG_OK) return bytes;
    Py_DECREF(bytes);
    return finish(self, s, &err);
}

static PyObject *sim_storage(PyObject *self, PyObject *node) {
    int64_t id = 0, nbytes = 0;
    if (get_node(&id, self, node) != 0) return NULL;
    begin(sim_of(self));
    const char *storage = tg_sim_storage(sim_of(self)->sim, id, &nbytes);
    PyObject   *bytes = storage != NULL ? PyBytes_FromStringAndSize(storage, (Py_ssize_t)nbytes) : Py_NewRef(Py_None);
    end(sim_of(self));
    return bytes;
}

typedef tg_status check(tg_sim_difference *out, tg_sim *sim, int64_t i, tg_error *err);

static PyObject *deviation_of(PyObject *self, check *how, int64_t i) {
    tg_sim_difference d;
    tg_status         s;
    tg_error          err;
    begin(sim_of(self));
    Py_BEGIN_ALLOW_THREADS
    s = how(&d, sim_of(self)->sim, i, &err);
    Py_END_ALLOW_THREADS
    end(sim_of(self));
    if (s != TG_OK) return finish(self, s, &err);
    PyObject *values[] = {PyLong_FromLongLong(d.elements), PyLong_FromLongLong(d.lost), PyFloat_FromDouble(d.largest),
                          PyFloat_FromDouble(d.scale), PyFloat_FromDouble(d.mean_square),
                          PyFloat_FromDouble(d.mean_error_square), PyFloat_FromDouble(tg_sim_average_error(&d)),
                          PyBool_FromLong(tg_sim_is_right(&d))};
    return graph_record(core_get_state(self)->deviation_type, 8, values);
}

static PyObject *sim_check(PyObject *self, PyObject *node) {
    int64_t id = 0;
    return get_node(&id, self, node) == 0 ? deviation_of(self, tg_sim_check_node, id) : NULL;
}

static PyObject *sim_check_outputs(PyObject *self, PyObject *unused) {
    const int64_t n = tg_graph_output_count(graph_of_sim(sim_of(self))->graph);
    PyObject     *tuple = PyTuple_New((Py_ssize_t)n);
    (void)unused;
    for (int64_t i = 0; i < n && tuple != NULL; i++) {
        PyObject *item = deviation_of(self, tg_sim_check, i);
        if (item == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, item) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

/* ---- a plan that runs by itself -------------------------------------------------------------------- */

static int write_inputs(PyObject *self, PyObject *inputs) {
    const tg_program *program = sim_of(self)->program;
    const int64_t     n = tg_program_ninputs(program);
    PyObject         *items = PySequence_Tuple(inputs);
    int               failed = items == NULL;
    if (!failed && PyTuple_Size(items) != n)
        failed = core_raise_argument(core_get_state(self), "the graph has %lld inputs, and inputs= %zd", (long long)n,
                                     PyTuple_Size(items)) == NULL;
    for (int64_t i = 0; i < n && !failed; i++) {
        PyObject *done = PyObject_CallMethod(self, "write", "LO", (long long)tg_program_input(program, i),
                                             PyTuple_GetItem(items, (Py_ssize_t)i));
        failed = done == NULL;
        Py_XDECREF(done);
    }
    Py_XDECREF(items);
    return failed ? -1 : 0;
}

static int draw_inputs(PyObject *self, unsigned long long seed) {
    PyObject *done = PyObject_CallMethod(self, "draw", "K", seed);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
}

PyObject *plan_run(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char       *names[] = {"inputs", "seed", NULL};
    PyObject          *inputs = Py_None, *done = NULL;
    unsigned long long seed = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O$K:run", names, &inputs, &seed)) return NULL;
    PyObject *plan = Py_BuildValue("(O)", self), *how = Py_BuildValue("{sK}", "seed", seed), *made = NULL;
    if (plan != NULL && how != NULL) made = PyObject_Call(core_get_state(self)->simulator_type, plan, how);
    Py_XDECREF(plan);
    Py_XDECREF(how);
    if (made != NULL && (inputs == Py_None ? draw_inputs(made, seed) : write_inputs(made, inputs)) == 0)
        done = sim_run(made, NULL);
    if (done == NULL) Py_CLEAR(made);
    Py_XDECREF(done);
    return made;
}

/* ---- parts ----------------------------------------------------------------------------------------- */

static PyObject *sim_obstacle(PyObject *self, PyObject *node) {
    int64_t   id = 0;
    tg_status s;
    tg_error  err;
    if (get_node(&id, self, node) != 0) return NULL;
    begin(sim_of(self));
    s = tg_sim_can_run(sim_of(self)->sim, id, &err);
    end(sim_of(self));
    return s == TG_OK ? Py_NewRef(Py_None) : core_text(err.message, strlen(err.message));
}

/* Tensors of the device that lend their memory. */
typedef struct loans {
    Py_ssize_t    n, made;
    tg_sim_lent  *rows;
    spyre_block **blocks;
} loans;

static void return_loans(loans *l) {
    for (Py_ssize_t i = 0; i < l->made; i++) spyre_release(l->blocks[i]);
    PyMem_Free(l->rows);
    PyMem_Free(l->blocks);
}

/* Made from the same layout, which needs no look at the maps. */
static bool same_source(const spyre_block *block, const tg_spyre *layout, const tg_host *host) {
    const size_t dims = (size_t)host->ndim * sizeof host->shape[0], rank = (size_t)layout->rank * sizeof dims;
    return block->spyre.rank == layout->rank && block->spyre.device_dtype == layout->device_dtype &&
           block->spyre.arrangement == layout->arrangement && block->host.ndim == host->ndim &&
           memcmp(block->spyre.device_size, layout->device_size, rank) == 0 &&
           memcmp(block->spyre.stride_map, layout->stride_map, rank) == 0 &&
           memcmp(block->host.shape, host->shape, dims) == 0 && memcmp(block->host.strides, host->strides, dims) == 0;
}

/* A block that lies in memory as the plan has the node, or the copy. */
static int check_block(core_sim *self, int64_t index, bool copy, const spyre_block *block) {
    core_state *state = core_get_state((PyObject *)self);
    tg_spyre    layout;
    tg_layout   map;
    tg_error    err;
    const int64_t id = copy ? tg_graph_plan_restickify(self->plan->plan, index).producer : index;
    const tg_host host = tg_graph_get(graph_of_sim(self)->graph, id).host;
    bool same = !block->raw && tg_graph_plan_layout(&layout, self->plan->plan, id) && block->host.dtype == host.dtype;
    if (copy) layout = tg_graph_plan_restickify(self->plan->plan, index).to;
    if (same && same_source(block, &layout, &host)) return 0;
    if (same && (tg_layout_from_spyre(&map, &layout, &host, &err) != TG_OK ||
                 tg_layout_equal(&same, NULL, &map, &block->map, true, &err) != TG_OK))
        return (void)core_raise(state, &err, NULL), -1;
    if (same) return 0;
    (void)core_raise_argument(state, "the tensor for node %lld does not lie in memory as the plan has it",
                              (long long)id);
    return -1;
}

/* (index, key of a storage, copy, made, bare, settles) */
static int read_loan(loans *l, core_sim *self, PyObject *row) {
    PyObject *key = NULL;
    long long index = 0;
    int       copy = 0, made = 0, bare = 0, settles = 0;
    if (!PyArg_ParseTuple(row, "LOpppp", &index, &key, &copy, &made, &bare, &settles)) return -1;
    const int64_t n = copy ? tg_graph_plan_summary(self->plan->plan).nrestickifies : self->plan->count;
    if (index < 0 || index >= n)
        return (void)core_raise_argument(core_get_state((PyObject *)self), "there is no tensor %lld", index), -1;
    spyre_block *block = spyre_acquire(key);
    if (block == NULL) return -1;
    l->blocks[l->made] = block;
    l->rows[l->made++] = (tg_sim_lent){.index = index, .copy = copy != 0, .made = made != 0, .bare = bare != 0,
                                       .settles = settles != 0, .storage = block->data};
    return check_block(self, index, copy != 0, block);
}

static int read_loans(loans *l, core_sim *self, PyObject *rows) {
    l->n = PyList_Size(rows);
    l->rows = PyMem_Calloc((size_t)l->n + 1, sizeof *l->rows);
    l->blocks = PyMem_Calloc((size_t)l->n + 1, sizeof(spyre_block *));
    if (l->rows == NULL || l->blocks == NULL) return (void)PyErr_NoMemory(), -1;
    for (Py_ssize_t i = 0; i < l->n; i++)
        if (read_loan(l, self, PyList_GetItem(rows, i)) != 0) return -1;
    return 0;
}

static int64_t *read_nodes(core_sim *self, PyObject *list) {
    const Py_ssize_t n = PyList_Size(list);
    int64_t         *nodes = PyMem_Malloc(((size_t)n + 1) * sizeof *nodes);
    if (nodes == NULL) return (int64_t *)PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++)
        if (get_node(&nodes[i], (PyObject *)self, PyList_GetItem(list, i)) != 0) {
            PyMem_Free(nodes);
            return NULL;
        }
    return nodes;
}

/* For tegula.torch, whose tensors lend their memory. */
static PyObject *sim_run_part(PyObject *object, PyObject *args) {
    core_sim *self = sim_of(object);
    PyObject *nodes_list = NULL, *rows = NULL;
    loans     l = {.n = 0};
    tg_status s = TG_OK;
    tg_error  err;
    if (!PyArg_ParseTuple(args, "O!O!:_run_part", &PyList_Type, &nodes_list, &PyList_Type, &rows)) return NULL;
    int64_t *nodes = read_nodes(self, nodes_list);
    if (nodes == NULL) return NULL;
    const int64_t n = PyList_Size(nodes_list);
    const bool    ok = read_loans(&l, self, rows) == 0;
    if (ok) {
        begin(self);
        Py_BEGIN_ALLOW_THREADS
        s = tg_sim_run_part(self->sim, n, nodes, l.made, l.rows, &err);
        Py_END_ALLOW_THREADS
        end(self);
    }
    return_loans(&l);
    PyMem_Free(nodes);
    return ok ? finish(object, s, &err) : NULL;
}

/* ---- the type -------------------------------------------------------------------------------------- */

static int sim_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)sim_of(self)->plan);
    return 0;
}

static void sim_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    core_sim     *self = sim_of(object);
    PyObject_GC_UnTrack(object);
    if (self->weakrefs != NULL) PyObject_ClearWeakRefs(object);
    tg_sim_destroy(&self->sim);
    tg_program_destroy(&self->program);
    if (self->has_lock) (void)pthread_mutex_destroy(&self->lock);
    Py_XDECREF((PyObject *)self->plan);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyObject *sim_repr(PyObject *self) {
    return PyUnicode_FromFormat("<tegula.Simulator of %lld nodes>", (long long)sim_of(self)->plan->count);
}

static PyObject *get_plan(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)sim_of(self)->plan);
}

static PyMethodDef methods[] = {
    {"write", sim_write, METH_VARARGS,
     "write(node, data, /)\n--\n\nThe elements of an input, as its host tensor has them: anything with a buffer."},
    {"draw", (PyCFunction)(void (*)(void))sim_draw, METH_VARARGS | METH_KEYWORDS,
     "draw(seed=1)\n--\n\nNumbers for all inputs, drawn at random: those of `tegula plan --run --seed N`."},
    {"run", sim_run, METH_NOARGS, "run()\n--\n\nEverything, from the inputs on."},
    {"read", sim_read, METH_O,
     "read(node, /)\n--\n\nThe elements of a node's result as its host tensor has them, as bytes."},
    {"storage", sim_storage, METH_O,
     "storage(node, /)\n--\n\nA node's result as the device has it, padding included, as bytes; None if it is not\n"
     "there."},
    {"check", sim_check, METH_O,
     "check(node, /)\n--\n\nA node's result against the same calculated in float64, without any layout: a Deviation."},
    {"check_outputs", sim_check_outputs, METH_NOARGS,
     "check_outputs()\n--\n\nThe outputs of the graph against the same: a Deviation of each."},
    {"obstacle", sim_obstacle, METH_O, "obstacle(node, /)\n--\n\nWhy the node cannot be run; None if it can."},
    {"_run_part", sim_run_part, METH_VARARGS,
     "_run_part(nodes, lent, /)\n--\n\n"
     "Some nodes; lent: (index, key of a storage, copy, made, bare, settles) as of tg_sim_lent."},
    {"__reduce__", graph_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"plan", get_plan, NULL, "The GraphPlan that it runs.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(core_sim, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static const char doc[] =
    "Simulator(plan, calculations=None, *, cores=0, seed=0, max_bytes=0, left_out=(), in_parts=False)\n--\n\n"
    "A GraphPlan on the simulated device. calculations says of nodes what they calculate: {node: operation};\n"
    "None: what the HLO says that the graph was read from.\n"
    "left_out: numbers of paddings of the plan that are not made, to see that somebody would notice.";

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)doc},
    {Py_tp_new, sim_new},
    {Py_tp_dealloc, sim_dealloc},
    {Py_tp_traverse, sim_traverse},
    {Py_tp_repr, sim_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Simulator",
    .basicsize = sizeof(core_sim),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

static PyStructSequence_Field deviation_fields[] = {
    {"elements", "That were compared."},
    {"lost", "Numbers by definition, and none on the device."},
    {"largest", "The largest difference, without those."},
    {"scale", "The largest number by definition."},
    {"mean_square", "Of the definition."},
    {"mean_error_square", "Of the differences."},
    {"average_error", "The root of their mean square, as a share of that of the definition."},
    {"right", "As `tegula plan --run` judges: nothing lost, and the average error a sixteenth at most, or nothing."},
    {NULL, NULL},
};

static PyStructSequence_Desc deviation = {
    "tegula.Deviation", "How far a result of the device is from its definition.", deviation_fields, 8};

int core_add_sim(PyObject *module) {
    core_state *state = core_module_state(module);
    if (core_add_type(module, &state->simulator_type, &spec) != 0) return -1;
    return graph_add_record(module, &state->deviation_type, &deviation);
}
