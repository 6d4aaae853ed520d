/* Where the tensors of a GraphPlan live: the records Memory and Residence. It is planned when somebody asks first. */
#include "py_graph.h"

enum { REASON = 1024 };

const tg_memory *plan_memory_of(core_graph_plan *self) {
    core_graph *graph = self->graph;
    tg_memory  *made = NULL;
    tg_status   s;
    tg_error    err;
    if (self->memory != NULL) return self->memory;
    graph->planning++;
    Py_BEGIN_ALLOW_THREADS
    s = tg_memory_create(&made, graph->graph, self->plan, &self->params, &err);
    Py_END_ALLOW_THREADS
    graph->planning--;
    if (s != TG_OK) return core_raise(core_get_state((PyObject *)self), &err, NULL);
    if (self->memory == NULL) self->memory = made; /* another thread may have been faster */
    else tg_memory_destroy(&made);
    return self->memory;
}

bool plan_is_current(core_graph_plan *self, const char *what) {
    core_state   *state = core_get_state((PyObject *)self);
    const int64_t now = tg_graph_count(self->graph->graph);
    if (!tg_graph_plan_summary(self->plan).feasible)
        (void)core_raise_argument(state, "the graph has no plan, so there is no %s", what);
    else if (now != self->count)
        (void)core_raise_argument(state, "the graph had %lld nodes when it was planned, and has %lld now",
                                  (long long)self->count, (long long)now);
    else return true;
    return false;
}

static PyObject *number(int64_t value, bool there) {
    return there ? PyLong_FromLongLong(value) : Py_NewRef(Py_None);
}

static PyObject *residence(core_graph_plan *self, int64_t i) {
    core_state        *state = core_get_state((PyObject *)self);
    const tg_plan_step step = tg_graph_plan_step(self->plan, i);
    const tg_residence r = tg_memory_get(self->memory, i);
    char               reason[REASON];
    const size_t       need = tg_memory_why(reason, sizeof reason, self->memory, i);
    PyObject          *values[] = {core_name(tg_step_kind_name(step.kind)),
                                   graph_node(state, self->graph, step.node),
                                   core_name(tg_home_name(r.home)),
                                   number(r.address, r.address >= 0),
                                   PyLong_FromLongLong(r.bytes),
                                   PyLong_FromLongLong(r.first),
                                   PyLong_FromLongLong(r.last),
                                   number(r.in_place_of, r.in_place_of >= 0),
                                   core_text(reason, need < sizeof reason ? need : sizeof reason - 1)};
    return graph_record(state->residence_type, 9, values);
}

static PyObject *tensors(core_graph_plan *self) {
    const int64_t n = tg_graph_plan_step_count(self->plan);
    PyObject     *tuple = PyTuple_New((Py_ssize_t)n);
    for (int64_t i = 0; i < n && tuple != NULL; i++) {
        PyObject *one = residence(self, i);
        if (one == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, one) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *plan_memory(PyObject *object, void *unused) {
    core_graph_plan *self = graph_plan_of(object);
    (void)unused;
    if (!plan_is_current(self, "memory") || plan_memory_of(self) == NULL) return NULL;
    const tg_memory_summary s = tg_memory_get_summary(self->memory);
    PyObject               *values[] = {tensors(self),
                                        PyLong_FromLongLong(s.lx_count),
                                        PyLong_FromLongLong(s.lx_capacity),
                                        PyLong_FromLongLong(s.lx_peak),
                                        PyLong_FromLongLong(s.lx_bytes),
                                        PyLong_FromLongLong(s.saved_bytes),
                                        PyLong_FromLongLong(s.traffic_bytes),
                                        number(s.bound_bytes, s.bound_bytes < INT64_MAX),
                                        PyBool_FromLong(s.optimal),
                                        PyLong_FromLongLong(s.pool_count),
                                        PyLong_FromLongLong(s.pool_peak),
                                        PyLong_FromLongLong(s.own_count),
                                        PyLong_FromLongLong(s.own_bytes),
                                        PyLong_FromLongLong(s.none_count),
                                        PyLong_FromLongLong(s.none_bytes)};
    return graph_record(core_get_state(object)->memory_type, 15, values);
}

/* ---- the records ------------------------------------------------------------------------------------------------- */

static PyStructSequence_Field residence_fields[] = {
    {"kind", "of the step that makes it: 'node', 'restickify' or 'fill'"},
    {"node", "whose result it is, or a copy of it"},
    {"home", "'lx', 'pool', 'own', 'host' or 'none'"},
    {"address", "bytes; None without one"},
    {"bytes", "there: of LX a core's piece"},
    {"first", "the step that writes it"},
    {"last", "the step that reads it last"},
    {"in_place_of", "the step whose tensor has given it its place; None: it has its own"},
    {"why", "it lives there"},
    {NULL, NULL}};
static PyStructSequence_Field memory_fields[] = {
    {"tensors", "a tuple of Residence, one for each step of the program"},
    {"lx_count", "tensors in LX"},
    {"lx_capacity", "bytes of each core"},
    {"lx_peak", "bytes of each core"},
    {"lx_bytes", "of the tensors there, all cores together"},
    {"saved_bytes", "of traffic to HBM"},
    {"traffic_bytes", "that is left"},
    {"bound_bytes", "no placement saves more; None for baselines"},
    {"optimal", "whether that is proven"},
    {"pool_count", "tensors in the HBM pool"},
    {"pool_peak", "bytes"},
    {"own_count", "tensors with HBM of their own"},
    {"own_bytes", "of them"},
    {"none_count", "tensors for which there is no room"},
    {"none_bytes", "of them"},
    {NULL, NULL}};

int graph_add_memory(PyObject *module) {
    static PyStructSequence_Desc residence_desc = {
        "tegula.Residence", "Where a tensor lives, from when to when, and why.", residence_fields, 9};
    static PyStructSequence_Desc memory_desc = {"tegula.Memory", "Where the tensors of a plan live.", memory_fields,
                                                15};
    core_state *state = core_module_state(module);
    if (graph_add_record(module, &state->residence_type, &residence_desc) != 0) return -1;
    return graph_add_record(module, &state->memory_type, &memory_desc);
}
