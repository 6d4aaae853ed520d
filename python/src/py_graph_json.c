/* GraphPlan.to_dict: the object that `tegula plan --json` prints, field for field. */
#include "py_graph.h"

enum { REASON = 256 };

/* A name, or "node 12" for a node that has none. */
static PyObject *name_of(const core_graph_plan *self, int64_t id) {
    const tg_hlo_text name = tg_graph_get(self->graph->graph, id).name;
    return name.len > 0 ? core_text(name.chars, name.len) : PyUnicode_FromFormat("node %lld", (long long)id);
}

static PyObject *layout_text(core_graph_plan *self, int64_t node, const tg_spyre *layout) {
    PyObject *object = plan_layout(self, node, layout), *text = object != NULL ? PyObject_Str(object) : NULL;
    Py_XDECREF(object);
    return text;
}

/* A number, or None for one below 0. */
static PyObject *loop_number(int32_t loop) { return loop >= 0 ? PyLong_FromLong(loop) : Py_NewRef(Py_None); }

/* n of what `one` makes, as a list. */
static PyObject *list(core_graph_plan *self, int64_t n, PyObject *(*one)(core_graph_plan *self, int64_t i)) {
    PyObject *items = PyList_New(0);
    for (int64_t i = 0; i < n && items != NULL; i++)
        if (core_append(items, one(self, i)) != 0) Py_CLEAR(items);
    return items;
}

/* ---- a plan ------------------------------------------------------------------------------------------------------ */

static PyObject *reader_names(core_graph_plan *self, const tg_restickify *r) {
    PyObject *names = PyList_New(0);
    for (int64_t i = r->first_reader; i < r->first_reader + r->nreaders && names != NULL; i++)
        if (core_append(names, name_of(self, tg_graph_plan_reader(self->plan, i).node)) != 0) Py_CLEAR(names);
    return names;
}

static PyObject *restickify(core_graph_plan *self, int64_t i) {
    const tg_restickify r = tg_graph_plan_restickify(self->plan, i);
    PyObject           *dict = PyDict_New();
    if (dict != NULL && (core_put(dict, "producer", name_of(self, r.producer)) != 0 ||
                         core_put(dict, "consumers", reader_names(self, &r)) != 0 ||
                         core_put(dict, "from", layout_text(self, r.producer, &r.from)) != 0 ||
                         core_put(dict, "to", layout_text(self, r.producer, &r.to)) != 0 ||
                         core_put(dict, "stick_dim", PyLong_FromLong(r.stick_dim)) != 0 ||
                         core_put(dict, "elements", PyLong_FromLongLong(r.elements)) != 0 ||
                         core_put(dict, "bytes", PyLong_FromLongLong(r.bytes)) != 0))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *padding(core_graph_plan *self, int64_t i) {
    const tg_plan_padding p = tg_graph_plan_padding(self->plan, i);
    PyObject             *dict = PyDict_New();
    if (dict != NULL && (core_put(dict, "kind", PyUnicode_FromString(p.mask ? "mask" : "fill")) != 0 ||
                         core_put(dict, "tensor", name_of(self, p.tensor)) != 0 ||
                         core_put(dict, "dim", PyLong_FromLong(p.dim)) != 0 ||
                         core_put(dict, "valid", PyLong_FromLongLong(p.valid)) != 0 ||
                         core_put(dict, "padded", PyLong_FromLongLong(p.padded)) != 0 ||
                         core_put(dict, "value", core_name(tg_pad_value_name(p.value))) != 0 ||
                         core_put(dict, "consumer", name_of(self, p.node)) != 0 ||
                         core_put(dict, "consumers", PyLong_FromLongLong(p.nreaders)) != 0))
        Py_CLEAR(dict);
    return dict;
}

/* {"p0": 32}: loops that are split. */
static PyObject *splits(const tg_division *d) {
    PyObject *dict = PyDict_New();
    for (int32_t l = 0; l < d->nloops && dict != NULL; l++) {
        char name[16];
        if (d->splits[l] == 1) continue;
        PyOS_snprintf(name, sizeof name, "p%d", (int)l);
        if (core_put(dict, name, PyLong_FromLongLong(d->splits[l])) != 0) Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *op_layout(core_graph_plan *self, int64_t id) {
    tg_spyre layout;
    return tg_graph_plan_layout(&layout, self->plan, id) ? layout_text(self, id, &layout) : Py_NewRef(Py_None);
}

static PyObject *op(core_graph_plan *self, int64_t id) {
    const tg_division_params params = {.cores = self->cores};
    const tg_node_info       info = tg_graph_get(self->graph->graph, id);
    tg_division              d = {.cores = 1, .in_span = true};
    PyObject                *dict = PyDict_New();
    (void)tg_graph_plan_divide(&d, self->graph->graph, self->plan, id, &params, NULL);
    if (dict != NULL && (core_put(dict, "name", name_of(self, id)) != 0 ||
                         core_put(dict, "opcode", core_text(info.opcode.chars, info.opcode.len)) != 0 ||
                         core_put(dict, "kind", core_name(tg_node_kind_name(info.kind))) != 0 ||
                         core_put(dict, "layout", op_layout(self, id)) != 0 ||
                         core_put(dict, "stick_loop", loop_number(tg_graph_plan_stick(self->plan, id))) != 0 ||
                         core_put(dict, "loops", core_list(info.ranges, info.nloops)) != 0 ||
                         core_put(dict, "splits", splits(&d)) != 0 ||
                         core_put(dict, "cores", PyLong_FromLongLong(d.cores)) != 0 ||
                         core_put(dict, "in_span", PyBool_FromLong(d.in_span)) != 0))
        Py_CLEAR(dict);
    return dict;
}

static PyObject *boundaries(core_graph_plan *self) {
    PyObject *names = PyList_New(0);
    for (int64_t id = 0; id < self->count && names != NULL; id++)
        if (tg_graph_get(self->graph->graph, id).kind == TG_NODE_BOUNDARY &&
            core_append(names, name_of(self, id)) != 0)
            Py_CLEAR(names);
    return names;
}

static int put_plan(PyObject *dict, core_graph_plan *self, const tg_plan_summary *s) {
    const bool    bytes = tg_graph_plan_params(self->plan).model == TG_MODEL_TEGULA;
    const int64_t bound = bytes ? s->lower_bound : s->optimal ? s->restickify_bytes : 0;
    if (core_put(dict, "model", PyUnicode_FromString(bytes ? "tegula" : "torch-spyre")) != 0 ||
        core_put(dict, "restickify_elements", PyLong_FromLongLong(s->restickify_elements)) != 0 ||
        core_put(dict, "restickify_bytes", PyLong_FromLongLong(s->restickify_bytes)) != 0 ||
        core_put(dict, "lower_bound_bytes", PyLong_FromLongLong(bound)) != 0 ||
        core_put(dict, "optimal", PyBool_FromLong(s->optimal)) != 0)
        return -1;
    if (core_put(dict, "restickifies", list(self, s->nrestickifies, restickify)) != 0 ||
        core_put(dict, "paddings", list(self, s->npaddings, padding)) != 0 ||
        core_put(dict, "boundaries", boundaries(self)) != 0)
        return -1;
    return core_put(dict, "ops", list(self, self->count, op));
}

/* ---- no plan ----------------------------------------------------------------------------------------------------- */

static PyObject *obstacle(core_graph_plan *self, int64_t node, int32_t k, int64_t candidate, int32_t loop) {
    char           reason[REASON];
    const int64_t  from = tg_graph_operand(self->graph->graph, node, k);
    const tg_spyre layout = tg_graph_plan_candidate(self->plan, from, candidate);
    PyObject      *dict = PyDict_New();
    (void)tg_graph_plan_obstacle(reason, sizeof reason, self->plan, self->graph->graph, node, k, candidate, loop);
    if (dict != NULL && (core_put(dict, "operand", PyLong_FromLong(k)) != 0 ||
                         core_put(dict, "producer", name_of(self, from)) != 0 ||
                         core_put(dict, "layout", layout_text(self, from, &layout)) != 0 ||
                         core_put(dict, "stick_loop", loop_number(loop)) != 0 ||
                         core_put(dict, "reason", core_name(reason[0] != '\0' ? reason : NULL)) != 0))
        Py_CLEAR(dict);
    return dict;
}

static int add_obstacles(PyObject *rows, core_graph_plan *self, int64_t node, int32_t k) {
    const int64_t from = tg_graph_operand(self->graph->graph, node, k);
    int32_t       loops[TG_MAX_LOOPS + 1];
    const int32_t nloops = tg_graph_plan_modes(loops, self->plan, node);
    for (int32_t m = 0; m < nloops; m++)
        for (int64_t i = 0; i < tg_graph_plan_candidate_count(self->plan, from); i++)
            if (core_append(rows, obstacle(self, node, k, i, loops[m])) != 0) return -1;
    return 0;
}

static PyObject *conflict(core_graph_plan *self, int64_t i) {
    const int64_t      node = tg_graph_plan_conflict(self->plan, i);
    const tg_node_info info = tg_graph_get(self->graph->graph, node);
    PyObject          *dict = PyDict_New(), *rows = PyList_New(0);
    for (int32_t k = 0; k < info.noperands && rows != NULL; k++)
        if (add_obstacles(rows, self, node, k) != 0) Py_CLEAR(rows);
    if (dict != NULL && (core_put(dict, "name", name_of(self, node)) != 0 ||
                         core_put(dict, "kind", core_name(tg_node_kind_name(info.kind))) != 0 ||
                         core_put(dict, "rule", core_name(tg_node_kind_rule(info.kind))) != 0))
        Py_CLEAR(dict);
    if (dict == NULL) Py_XDECREF(rows);
    else if (core_put(dict, "operands", rows) != 0) Py_CLEAR(dict);
    return dict;
}

static int put_conflict(PyObject *dict, core_graph_plan *self) {
    if (core_put(dict, "conflict", list(self, tg_graph_plan_conflict_count(self->plan), conflict)) != 0) return -1;
    return core_put(dict, "feasible_with_restickified_reductions", PyBool_FromLong(self->relayed != NULL));
}

PyObject *plan_to_dict(PyObject *object, PyObject *unused) {
    core_graph_plan      *self = graph_plan_of(object);
    const tg_plan_summary s = tg_graph_plan_summary(self->plan);
    PyObject             *dict = PyDict_New();
    PyObject             *name = self->graph->name;
    (void)unused;
    if (dict == NULL) return NULL;
    if (core_put(dict, "schema", PyUnicode_FromString("tegula.plan/1")) != 0 ||
        core_put(dict, "feasible", PyBool_FromLong(s.feasible)) != 0 ||
        core_put(dict, "module", name != NULL ? Py_NewRef(name) : PyUnicode_FromString("")) != 0 ||
        (s.feasible ? put_plan(dict, self, &s) : put_conflict(dict, self)) != 0)
        Py_CLEAR(dict);
    return dict;
}
