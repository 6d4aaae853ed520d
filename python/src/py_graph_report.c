/* What a GraphPlan lists, as records: Restickify, Padding, Division, Conflict. Each is made when it is asked for. */
#include "py_graph.h"

enum { REASON = 256 };

static core_state *state_of(core_graph_plan *self) { return core_get_state((PyObject *)self); }

static PyObject *node_of(core_graph_plan *self, int64_t id) { return graph_node(state_of(self), self->graph, id); }

PyObject *plan_layout(core_graph_plan *self, int64_t node, const tg_spyre *layout) {
    const tg_host host = tg_graph_get(self->graph->graph, node).host;
    return core_layout_spyre(state_of(self), layout, &host);
}

PyObject *plan_division(core_graph_plan *self, int64_t node, const tg_division_params *params) {
    tg_division d;
    tg_error    err;
    if (tg_graph_plan_divide(&d, self->graph->graph, self->plan, node, params, &err) != TG_OK)
        return core_raise(state_of(self), &err, NULL);
    PyObject *values[] = {core_ints(d.splits, d.nloops), PyLong_FromLongLong(d.cores), PyBool_FromLong(d.in_span),
                          d.tiled ? core_ints(d.tiles, d.nloops) : Py_NewRef(Py_None),
                          PyLong_FromLongLong(d.span_bytes)};
    return graph_record(state_of(self)->division_type, 5, values);
}

/* n of what `one` makes, as a tuple. */
static PyObject *list(core_graph_plan *self, int64_t n, PyObject *(*one)(core_graph_plan *self, int64_t i)) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (int64_t i = 0; i < n && tuple != NULL; i++) {
        PyObject *item = one(self, i);
        if (item == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, item) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

/* ---- copies and padding ------------------------------------------------------------------------------------------ */

static PyObject *reader(core_graph_plan *self, int64_t r) {
    const tg_reader who = tg_graph_plan_reader(self->plan, r);
    PyObject       *values[] = {node_of(self, who.node), PyLong_FromLong(who.operand)};
    return graph_record(state_of(self)->reader_type, 2, values);
}

static PyObject *readers(core_graph_plan *self, int64_t first, int64_t n) {
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (int64_t i = 0; i < n && tuple != NULL; i++) {
        PyObject *item = reader(self, first + i);
        if (item == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, item) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *restickify(core_graph_plan *self, int64_t i) {
    const tg_restickify r = tg_graph_plan_restickify(self->plan, i);
    PyObject           *values[] = {node_of(self, r.producer),
                                    readers(self, r.first_reader, r.nreaders),
                                    plan_layout(self, r.producer, &r.from),
                                    plan_layout(self, r.producer, &r.to),
                                    PyLong_FromLong(r.stick_dim),
                                    PyLong_FromLongLong(r.elements),
                                    PyLong_FromLongLong(r.bytes),
                                    PyLong_FromLongLong(r.times)};
    return graph_record(state_of(self)->restickify_type, 8, values);
}

PyObject *plan_restickifies(PyObject *self, void *unused) {
    (void)unused;
    return list(graph_plan_of(self), tg_graph_plan_summary(graph_plan_of(self)->plan).nrestickifies, restickify);
}

static PyObject *padding(core_graph_plan *self, int64_t i) {
    const tg_plan_padding p = tg_graph_plan_padding(self->plan, i);
    PyObject             *values[] = {PyUnicode_FromString(p.mask ? "mask" : "fill"),
                                      node_of(self, p.tensor),
                                      PyLong_FromLong(p.dim),
                                      PyLong_FromLongLong(p.valid),
                                      PyLong_FromLongLong(p.padded),
                                      core_name(tg_pad_value_name(p.value)),
                                      node_of(self, p.node),
                                      PyLong_FromLong(p.operand),
                                      PyLong_FromLongLong(p.nreaders)};
    return graph_record(state_of(self)->padding_type, 9, values);
}

PyObject *plan_paddings(PyObject *self, void *unused) {
    (void)unused;
    return list(graph_plan_of(self), tg_graph_plan_summary(graph_plan_of(self)->plan).npaddings, padding);
}

/* ---- why there is no plan ---------------------------------------------------------------------------------------- */

static PyObject *obstacle(core_graph_plan *self, int64_t node, int32_t k, int64_t candidate, int32_t loop) {
    char           reason[REASON];
    const int64_t  from = tg_graph_operand(self->graph->graph, node, k);
    const tg_spyre layout = tg_graph_plan_candidate(self->plan, from, candidate);
    const size_t   need = tg_graph_plan_obstacle(reason, sizeof reason, self->plan, self->graph->graph, node, k,
                                                 candidate, loop);
    const size_t   len = need < sizeof reason ? need : sizeof reason - 1;
    PyObject      *values[] = {PyLong_FromLong(k), node_of(self, from), plan_layout(self, from, &layout),
                               loop >= 0 ? PyLong_FromLong(loop) : Py_NewRef(Py_None),
                               len > 0 ? core_text(reason, len) : Py_NewRef(Py_None)};
    return graph_record(state_of(self)->obstacle_type, 5, values);
}

static int add_obstacles(PyObject *rows, core_graph_plan *self, int64_t node, int32_t k) {
    const int64_t from = tg_graph_operand(self->graph->graph, node, k);
    const int64_t ncandidates = tg_graph_plan_candidate_count(self->plan, from);
    int32_t       loops[TG_MAX_LOOPS + 1];
    const int32_t nloops = tg_graph_plan_modes(loops, self->plan, node);
    for (int32_t m = 0; m < nloops; m++)
        for (int64_t i = 0; i < ncandidates; i++)
            if (core_append(rows, obstacle(self, node, k, i, loops[m])) != 0) return -1;
    return 0;
}

static PyObject *conflict(core_graph_plan *self, int64_t i) {
    const int64_t      node = tg_graph_plan_conflict(self->plan, i);
    const tg_node_info info = tg_graph_get(self->graph->graph, node);
    PyObject          *rows = PyList_New(0);
    for (int32_t k = 0; k < info.noperands && rows != NULL; k++)
        if (add_obstacles(rows, self, node, k) != 0) Py_CLEAR(rows);
    PyObject *values[] = {node_of(self, node), core_name(tg_node_kind_rule(info.kind)),
                          rows != NULL ? PyList_AsTuple(rows) : NULL};
    Py_XDECREF(rows);
    return graph_record(state_of(self)->conflict_type, 3, values);
}

PyObject *plan_conflict(PyObject *self, void *unused) {
    const tg_graph_plan *plan = graph_plan_of(self)->plan;
    (void)unused;
    const int64_t n = tg_graph_plan_summary(plan).feasible ? 0 : tg_graph_plan_conflict_count(plan);
    return list(graph_plan_of(self), n, conflict);
}

/* ---- the records ------------------------------------------------------------------------------------------------- */

static PyStructSequence_Field reader_fields[] = {
    {"node", "who reads"}, {"operand", "which of its operands"}, {NULL, NULL}};
static PyStructSequence_Field restickify_fields[] = {
    {"producer", "the node whose result is copied"}, {"readers", "a tuple of Reader"},
    {"src", "the Layout that is copied"}, {"dst", "the Layout of the copy"},
    {"stick_dim", "the dimension in the sticks of the copy"}, {"elements", "that are copied"}, {"bytes", "the same"},
    {"times", "that it is made, in a loop"},
    {NULL, NULL}};
static PyStructSequence_Field padding_fields[] = {
    {"kind", "'fill' (the tensor is) or 'mask' (the reader does)"}, {"tensor", "the node whose result it is"},
    {"dim", "of the tensor"}, {"valid", "elements that are there"}, {"padded", "elements with the padding"},
    {"value", "'0', '1', '-inf' or '+inf'"}, {"reader", "the first node that reads it"},
    {"operand", "of this node"}, {"readers", "how many there are"}, {NULL, NULL}};
static PyStructSequence_Field division_fields[] = {
    {"splits", "slices of each loop"}, {"cores", "at work"},
    {"in_span", "whether each core reaches all of its work"},
    {"tiles", "of each loop, one after the other, if they are wanted or bring it within reach; else None"},
    {"span_bytes", "the longest that a core reaches in a tensor"}, {NULL, NULL}};
static PyStructSequence_Field conflict_fields[] = {
    {"node", "that cannot agree"}, {"rule", "what its kind asks of layouts"}, {"obstacles", "a tuple of Obstacle"},
    {NULL, NULL}};
static PyStructSequence_Field obstacle_fields[] = {
    {"operand", "its number"}, {"producer", "the node that it reads"}, {"layout", "a candidate of the producer"},
    {"stick_loop", "the loop in the sticks; None for none"}, {"reason", "why that does not work; None if it does"},
    {NULL, NULL}};

int graph_add_plan_records(PyObject *module) {
    static PyStructSequence_Desc reader_desc = {"tegula.Reader", "An operand of a node.", reader_fields, 2};
    static PyStructSequence_Desc restickify_desc = {"tegula.Restickify", "A tensor that is copied into another layout.",
                                                    restickify_fields, 8};
    static PyStructSequence_Desc padding_desc = {
        "tegula.Padding", "What has to be behind the end of a dimension, because somebody would see it.",
        padding_fields, 9};
    static PyStructSequence_Desc division_desc = {"tegula.Division", "How the work of a node is shared out.",
                                                  division_fields, 3};
    static PyStructSequence_Desc conflict_desc = {"tegula.Conflict", "A node that cannot agree with others.",
                                                  conflict_fields, 3};
    static PyStructSequence_Desc obstacle_desc = {
        "tegula.Obstacle", "Whether an operand can be read with a layout and a loop in the sticks.", obstacle_fields,
        5};
    core_state *state = core_module_state(module);
    if (graph_add_record(module, &state->reader_type, &reader_desc) != 0) return -1;
    if (graph_add_record(module, &state->restickify_type, &restickify_desc) != 0) return -1;
    if (graph_add_record(module, &state->padding_type, &padding_desc) != 0) return -1;
    if (graph_add_record(module, &state->division_type, &division_desc) != 0) return -1;
    if (graph_add_record(module, &state->conflict_type, &conflict_desc) != 0) return -1;
    return graph_add_record(module, &state->obstacle_type, &obstacle_desc);
}
