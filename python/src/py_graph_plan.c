/* tegula.GraphPlan: made by Graph.plan without the GIL, and immutable from then on. What it lists is in
 * py_graph_report.c. */
#include "py_graph.h"

#include "spyre.h"

#include <structmember.h>
#include <string.h>

static bool is_given(PyObject *object) { return object != NULL && object != Py_None; }

static bool is_feasible(const core_graph_plan *self) { return tg_graph_plan_summary(self->plan).feasible; }

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static const char *const models[] = {"tegula", "torch-spyre", NULL};
static const char *const methods_of_planning[] = {"exact", "greedy", "beam", NULL};
static const char *const releases[] = {"2026-08", "2026-06", NULL};
static const char *const solvers[] = {"exact", "greedy", "firstfit", "bestfit", NULL};

/* "'exact' or 'greedy' or 'beam'" */
static PyObject *list_names(const char *const *names) {
    PyObject *text = PyUnicode_FromFormat("'%s'", names[0]);
    for (int i = 1; names[i] != NULL && text != NULL; i++) {
        PyObject *old = text;
        text = PyUnicode_FromFormat("%U or '%s'", old, names[i]);
        Py_DECREF(old);
    }
    return text;
}

static int read_name(int *out, core_state *state, PyObject *word, const char *const *names, const char *what) {
    *out = 0;
    if (!is_given(word)) return 0;
    for (; PyUnicode_Check(word) && names[*out] != NULL; ++*out)
        if (PyUnicode_CompareWithASCIIString(word, names[*out]) == 0) return 0;
    PyObject *list = list_names(names);
    if (list != NULL) (void)core_raise_argument(state, "%s is %R; it can be %U", what, word, list);
    Py_XDECREF(list);
    return -1;
}

/* A number from 0 on, where 0 is the default. */
static int read_count(int64_t *out, core_state *state, PyObject *object, int64_t most, const char *what) {
    *out = 0;
    if (!is_given(object)) return 0;
    if (core_get_int(out, state, object, what) != 0) return -1;
    if (*out >= 0 && *out <= most) return 0;
    (void)core_raise_argument(state, "%s is %lld; it is 0 (the default) to %lld", what, (long long)*out,
                              (long long)most);
    return -1;
}

typedef struct plan_words {
    PyObject *model, *method, *width, *cores, *max_branches, *release, *solver, *lx_fraction;
    int       keep_unit_dims, restickify_reductions, device_formats;
} plan_words;

/* What a plan is made by. */
typedef struct wishes {
    tg_graph_params  graph;
    tg_memory_params memory;
    bool             device_formats;
} wishes;

static int read_params(tg_graph_params *out, core_state *state, const plan_words *w) {
    int     model = 0, method = 0;
    int64_t width = 0;
    if (read_name(&model, state, w->model, models, "model") != 0 ||
        read_name(&method, state, w->method, methods_of_planning, "method") != 0 ||
        read_count(&width, state, w->width, INT32_MAX, "width") != 0 ||
        read_count(&out->max_branches, state, w->max_branches, INT64_MAX, "max_branches") != 0)
        return -1;
    out->model = (tg_model)model;
    out->method = (tg_method)method;
    out->width = (int32_t)width;
    out->keep_unit_dims = w->keep_unit_dims != 0;
    out->relay_reductions = w->restickify_reductions != 0;
    return 0;
}

static int read_release(tg_division_params *out, core_state *state, PyObject *name) {
    int release = 0;
    if (read_name(&release, state, name, releases, "release") != 0) return -1;
    if (release == 0) return 0;
    out->max_span_bytes = TG_MAX_SPAN_BYTES_JUNE;
    out->formula = TG_COST_JUNE;
    return 0;
}

static int read_fraction(tg_memory_params *out, core_state *state, PyObject *fraction) {
    tg_error err;
    out->has_lx_bytes = is_given(fraction);
    if (!out->has_lx_bytes) return 0;
    const double value = PyFloat_AsDouble(fraction);
    if (value == -1.0 && PyErr_Occurred()) return -1;
    if (tg_lx_capacity(&out->lx_bytes, value, false, &err) == TG_OK) return 0;
    (void)core_raise(state, &err, NULL);
    return -1;
}

static int read_wishes(wishes *out, core_state *state, const plan_words *w) {
    int     solver = 0;
    int64_t cores = 0;
    memset(out, 0, sizeof *out);
    out->device_formats = w->device_formats != 0;
    if (read_params(&out->graph, state, w) != 0 ||
        read_count(&cores, state, w->cores, TG_MAX_CORES, "cores") != 0 ||
        read_release(&out->memory.division, state, w->release) != 0 ||
        read_name(&solver, state, w->solver, solvers, "solver") != 0)
        return -1;
    out->memory.division.cores = (int32_t)cores;
    out->memory.solver = (tg_solver)solver;
    return read_fraction(&out->memory, state, w->lx_fraction);
}

/* ---- planning ---------------------------------------------------------------------------------------------------- */

/* Of a graph without a plan: is there one if reductions may restickify? That it cannot be told is no error. */
static tg_graph_plan *try_relayed(const tg_graph *graph, tg_graph_params params) {
    tg_graph_plan *plan = NULL;
    tg_error       err;
    if (params.relay_reductions || params.method != TG_METHOD_EXACT) return NULL;
    params.relay_reductions = true;
    if (tg_graph_plan_create(&plan, graph, &params, &err) != TG_OK) return NULL;
    if (!tg_graph_plan_summary(plan).feasible) tg_graph_plan_destroy(&plan);
    return plan;
}

static tg_status make(core_graph_plan *self, const wishes *w, tg_error *err) {
    tg_graph *const graph = self->graph->graph;
    if (!w->device_formats) return tg_graph_plan_create(&self->plan, graph, &w->graph, err);
    return tg_graph_plan_for_device(&self->plan, self->arrangements, graph, &w->graph, err);
}

static int make_plan(core_graph_plan *self, core_state *state, const wishes *w) {
    core_graph *graph = self->graph;
    tg_status   s;
    tg_error    err;
    self->count = tg_graph_count(graph->graph);
    if (w->device_formats &&
        (self->arrangements = PyMem_Calloc((size_t)self->count + 1, sizeof *self->arrangements)) == NULL)
        return (void)PyErr_NoMemory(), -1;
    graph->planning++;
    Py_BEGIN_ALLOW_THREADS
    s = make(self, w, &err);
    if (s == TG_OK && !is_feasible(self)) self->relayed = try_relayed(graph->graph, w->graph);
    Py_END_ALLOW_THREADS
    graph->planning--;
    if (s == TG_OK) return 0;
    (void)core_raise(state, &err, NULL);
    return -1;
}

static int set_attribute(PyObject *object, const char *name, PyObject *value) {
    const int failed = value == NULL || PyObject_SetAttrString(object, name, value) != 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

/* Takes the reference to the plan. NULL. */
static PyObject *raise_infeasible(core_state *state, core_graph_plan *plan) {
    PyObject *message = plan_complaint(plan);
    PyObject *error = message != NULL ? PyObject_CallFunctionObjArgs(state->infeasible, message, NULL) : NULL;
    if (error != NULL && set_attribute(error, "message", Py_NewRef(message)) == 0 &&
        set_attribute(error, "status", PyUnicode_FromString("INFEASIBLE")) == 0 &&
        set_attribute(error, "dim", Py_NewRef(Py_None)) == 0 && set_attribute(error, "pos", Py_NewRef(Py_None)) == 0 &&
        set_attribute(error, "text", Py_NewRef(Py_None)) == 0 &&
        set_attribute(error, "conflict", plan_conflict((PyObject *)plan, NULL)) == 0 &&
        set_attribute(error, "plan", Py_NewRef((PyObject *)plan)) == 0)
        PyErr_SetObject(state->infeasible, error);
    Py_XDECREF(error);
    Py_XDECREF(message);
    Py_DECREF((PyObject *)plan);
    return NULL;
}

/* Takes the reference to the graph. For the formats of the device nodes become boundaries, in a copy. */
static PyObject *plan_of(core_graph *graph, const wishes *w) {
    core_state      *state = core_get_state((PyObject *)graph);
    core_graph_plan *self = (core_graph_plan *)PyType_GenericAlloc((PyTypeObject *)state->graph_plan_type, 0);
    if (self != NULL) self->graph = w->device_formats ? graph_copy(graph) : (core_graph *)Py_NewRef((PyObject *)graph);
    Py_DECREF((PyObject *)graph);
    if (self == NULL) return NULL;
    self->params = w->memory;
    if (self->graph == NULL || make_plan(self, state, w) != 0) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return is_feasible(self) ? (PyObject *)self : raise_infeasible(state, self);
}

#define PLAN_NAMES                                                                                                     \
    "model", "method", "width", "cores", "max_branches", "keep_unit_dims", "restickify_reductions", "device_formats",  \
        "release", "solver", "lx_fraction", NULL
#define PLAN_FORMAT "$OOOOOpppOOO"
#define PLAN_WORDS(w)                                                                                                  \
    &(w).model, &(w).method, &(w).width, &(w).cores, &(w).max_branches, &(w).keep_unit_dims,                           \
        &(w).restickify_reductions, &(w).device_formats, &(w).release, &(w).solver, &(w).lx_fraction

PyObject *graph_plan(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {PLAN_NAMES};
    plan_words   words = {.model = NULL};
    wishes       w;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|" PLAN_FORMAT ":plan", names, PLAN_WORDS(words))) return NULL;
    if (read_wishes(&w, core_get_state(self), &words) != 0) return NULL;
    return plan_of((core_graph *)Py_NewRef(self), &w);
}

/* tegula.plan */
static PyObject *plan(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"graph", PLAN_NAMES};
    core_state  *state = core_module_state(module);
    PyObject    *given = NULL;
    plan_words   words = {.model = NULL};
    wishes       w;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|" PLAN_FORMAT ":plan", names, &given, PLAN_WORDS(words)))
        return NULL;
    if (read_wishes(&w, state, &words) != 0) return NULL;
    PyObject *graph = Py_IS_TYPE(given, (PyTypeObject *)state->graph_type)
                          ? Py_NewRef(given)
                          : PyObject_CallMethod(state->graph_type, "from_hlo", "O", given);
    return graph != NULL ? plan_of(graph_of(graph), &w) : NULL;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static int get_node(int64_t *id, PyObject *self, PyObject *object) {
    return graph_get_node(id, graph_plan_of(self)->graph, object, graph_plan_of(self)->count);
}

static PyObject *get_layout(PyObject *self, PyObject *object) {
    tg_spyre layout;
    int64_t  id = 0;
    if (get_node(&id, self, object) != 0) return NULL;
    if (!tg_graph_plan_layout(&layout, graph_plan_of(self)->plan, id)) Py_RETURN_NONE;
    return plan_layout(graph_plan_of(self), id, &layout);
}

static PyObject *get_device_layout(PyObject *self, PyObject *object) {
    tg_spyre layout;
    int64_t  id = 0;
    if (get_node(&id, self, object) != 0) return NULL;
    if (!tg_graph_plan_layout(&layout, graph_plan_of(self)->plan, id)) Py_RETURN_NONE;
    const tg_host host = tg_graph_get(graph_plan_of(self)->graph->graph, id).host;
    return spyre_layout_new(core_get_state(self), &layout, &host);
}

static PyObject *get_stick_loop(PyObject *self, PyObject *object) {
    int64_t id = 0;
    if (get_node(&id, self, object) != 0) return NULL;
    const int32_t loop = is_feasible(graph_plan_of(self)) ? tg_graph_plan_stick(graph_plan_of(self)->plan, id) : -1;
    return loop >= 0 ? PyLong_FromLong(loop) : Py_NewRef(Py_None);
}

static PyObject *get_candidates(PyObject *self, PyObject *object) {
    const tg_graph_plan *plan = graph_plan_of(self)->plan;
    int64_t              id = 0;
    if (get_node(&id, self, object) != 0) return NULL;
    const int64_t n = tg_graph_plan_candidate_count(plan, id);
    PyObject     *tuple = PyTuple_New((Py_ssize_t)n);
    for (int64_t i = 0; i < n && tuple != NULL; i++) {
        const tg_spyre layout = tg_graph_plan_candidate(plan, id, i);
        PyObject      *one = plan_layout(graph_plan_of(self), id, &layout);
        if (one == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, one) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *divide(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char       *names[] = {"node", "cores", "max_span_bytes", "release", "splits", "tiles", NULL};
    core_state        *state = core_get_state(self);
    PyObject          *node = NULL, *cores = NULL, *span = NULL, *release = NULL, *splits = NULL, *tiles = NULL;
    tg_division_params params = graph_plan_of(self)->params.division;
    tg_split           wanted[TG_MAX_LOOPS], tiled[TG_MAX_LOOPS];
    int64_t            id = 0, most = 0, bytes = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOOO:divide", names, &node, &cores, &span, &release, &splits,
                                     &tiles))
        return NULL;
    if (is_given(release)) params = (tg_division_params){.cores = params.cores};
    if (get_node(&id, self, node) != 0 || read_count(&most, state, cores, TG_MAX_CORES, "cores") != 0 ||
        read_release(&params, state, release) != 0 ||
        read_count(&bytes, state, span, INT64_MAX, "max_span_bytes") != 0 ||
        (is_given(splits) && graph_read_splits(wanted, &params.nsplits, state, splits, "splits") != 0) ||
        (is_given(tiles) && graph_read_splits(tiled, &params.ntiles, state, tiles, "tiles") != 0))
        return NULL;
    if (most > 0) params.cores = (int32_t)most;
    if (bytes > 0) params.max_span_bytes = bytes;
    params.splits = wanted;
    params.tiles = tiled;
    if (!is_feasible(graph_plan_of(self)))
        return core_raise_argument(state, "the graph has no plan, so no work is shared");
    return plan_division(graph_plan_of(self), id, &params);
}

static PyObject *get_arrangement(PyObject *self, PyObject *object) {
    const tg_arrangement *arrangements = graph_plan_of(self)->arrangements;
    int64_t               id = 0;
    if (get_node(&id, self, object) != 0) return NULL;
    return core_name(tg_arrangement_name(arrangements != NULL ? arrangements[id] : TG_STANDARD));
}

static PyObject *verify(PyObject *object, PyObject *unused) {
    enum { CAP = 512 };
    core_graph_plan *self = graph_plan_of(object);
    core_graph      *graph = self->graph;
    char             why[CAP] = "";
    bool             ok = false;
    tg_status        s;
    tg_error         err;
    (void)unused;
    if (tg_graph_count(graph->graph) != self->count)
        return core_raise_argument(core_get_state(object),
                                   "the graph had %lld nodes when it was planned, and has %lld now",
                                   (long long)self->count, (long long)tg_graph_count(graph->graph));
    graph->planning++;
    Py_BEGIN_ALLOW_THREADS
    s = tg_graph_plan_verify(&ok, why, CAP, graph->graph, self->plan, &err);
    Py_END_ALLOW_THREADS
    graph->planning--;
    if (s != TG_OK) return core_raise(core_get_state(object), &err, NULL);
    return ok ? Py_NewRef(Py_None) : core_text(why, strlen(why));
}

static PyObject *plan_repr(PyObject *self) {
    const core_graph_plan *p = graph_plan_of(self);
    const tg_plan_summary  s = tg_graph_plan_summary(p->plan);
    if (!s.feasible) return PyUnicode_FromFormat("<tegula.GraphPlan of %lld nodes: infeasible>", (long long)p->count);
    return PyUnicode_FromFormat("<tegula.GraphPlan of %lld nodes: %lld restickif%s, %lld bytes%s>", (long long)p->count,
                                (long long)s.nrestickifies, s.nrestickifies == 1 ? "y" : "ies",
                                (long long)s.restickify_bytes, s.optimal ? ", optimal" : "");
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

enum { FEASIBLE, OPTIMAL, COST, LOWER_BOUND, ELEMENTS, BYTES, WIDTH, BRANCHES, MODEL, METHOD, CORES };

static PyObject *get_number(PyObject *self, void *field) {
    const tg_plan_summary s = tg_graph_plan_summary(graph_plan_of(self)->plan);
    const tg_graph_params p = tg_graph_plan_params(graph_plan_of(self)->plan);
    switch ((int)(intptr_t)field) {
    case FEASIBLE: return PyBool_FromLong(s.feasible);
    case OPTIMAL: return PyBool_FromLong(s.optimal);
    case COST: return PyLong_FromLongLong(s.cost);
    case LOWER_BOUND: return PyLong_FromLongLong(s.lower_bound);
    case ELEMENTS: return PyLong_FromLongLong(s.restickify_elements);
    case BYTES: return PyLong_FromLongLong(s.restickify_bytes);
    case WIDTH: return PyLong_FromLongLong(s.width);
    case BRANCHES: return PyLong_FromLongLong(s.branches);
    case MODEL: return core_name(models[p.model]);
    case METHOD: return core_name(methods_of_planning[p.method]);
    default: break;
    }
    const int32_t cores = graph_plan_of(self)->params.division.cores;
    return PyLong_FromLong(cores > 0 ? cores : TG_MAX_CORES);
}

static PyObject *get_graph(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)graph_plan_of(self)->graph);
}

static PyObject *get_boundaries(PyObject *self, void *unused) {
    const core_graph_plan *p = graph_plan_of(self);
    PyObject              *list = PyList_New(0);
    (void)unused;
    for (int64_t id = 0; id < p->count && list != NULL; id++)
        if (tg_graph_get(p->graph->graph, id).kind == TG_NODE_BOUNDARY &&
            core_append(list, graph_node(core_get_state(self), p->graph, id)) != 0)
            Py_CLEAR(list);
    PyObject *tuple = list != NULL ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

/* ---- the type ---------------------------------------------------------------------------------------------------- */

static int plan_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)graph_plan_of(self)->graph);
    return 0;
}

/* As with nodes, it is the graph that lets go in a cycle. */
static void plan_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (graph_plan_of(self)->weakrefs != NULL) PyObject_ClearWeakRefs(self);
    tg_memory_destroy(&graph_plan_of(self)->memory);
    PyMem_Free(graph_plan_of(self)->arrangements);
    tg_graph_plan_destroy(&graph_plan_of(self)->plan);
    tg_graph_plan_destroy(&graph_plan_of(self)->relayed);
    Py_XDECREF((PyObject *)graph_plan_of(self)->graph);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

#define CALL(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"layout", get_layout, METH_O,
     "layout(node, /)\n--\n\nThe Layout of a node's result; None if it has none. A node is itself, its number or "
     "name."},
    {"device_layout", get_device_layout, METH_O, "device_layout(node, /)\n--\n\nThe same as a SpyreTensorLayout."},
    {"stick_loop", get_stick_loop, METH_O,
     "stick_loop(node, /)\n--\n\nThe loop in the sticks of its work; None if none is."},
    {"operand_layout", plan_operand_layout, METH_VARARGS,
     "operand_layout(node, operand, /)\n--\n\nThe Layout that an operand is read in: the copy's, if there is one."},
    {"coordinates", CALL(plan_coordinates), METH_VARARGS | METH_KEYWORDS,
     "coordinates(node, operand=None)\n--\n\nWhere the operand is read (None: the result is written), for each device\n"
     "dimension: texts in the loops p0, p1, ... None for a tensor that is not on the device."},
    {"candidates", get_candidates, METH_O, "candidates(node, /)\n--\n\nThe Layouts that its result could have."},
    {"divide", CALL(divide), METH_VARARGS | METH_KEYWORDS,
     "divide(node, *, cores=0, max_span_bytes=0, release=None, splits=None, tiles=None)\n--\n\n"
     "How its work is shared out: a Division. splits={loop: slices} and tiles={loop: tiles} are what you want, in\n"
     "place of the node's own."},
    {"arrangement", get_arrangement, METH_O,
     "arrangement(node, /)\n--\n\nHow elements stand in its sticks; 'STANDARD' without device_formats=True."},
    {"run", CALL(plan_run), METH_VARARGS | METH_KEYWORDS,
     "run(inputs=None, *, seed=1)\n--\n\n"
     "As `tegula plan --run`: a Simulator that has run what the HLO says, with these inputs, in the order of its\n"
     "parameters, or with such as are drawn. check_outputs() tells how near the results are."},
    {"report", CALL(plan_report), METH_VARARGS | METH_KEYWORDS,
     "report(*, limit=None, memory=False)\n--\n\n"
     "What `tegula plan` prints, and str(plan) is: at most `limit` copies (20), with memory=True each tensor's home."},
    {"explain", plan_explain, METH_O,
     "explain(node, /)\n--\n\nOne operation in full, as `tegula plan --explain` prints it."},
    {"verify", verify, METH_NOARGS,
     "verify()\n--\n\nNone if the plan follows the rules, by a check that knows nothing of planning; else the fault."},
    {"bundle", plan_bundle, METH_NOARGS, "bundle()\n--\n\nWhat the device runs: a Bundle of kernels and transfers."},
    {"to_dict", plan_to_dict, METH_NOARGS, "to_dict()\n--\n\nThe object of `tegula plan --json`."},
    {"__reduce__", graph_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"graph", get_graph, NULL, "The Graph that was planned.", NULL},
    {"feasible", get_number, NULL, "False only for the plan of a PlanInfeasible.", (void *)FEASIBLE},
    {"optimal", get_number, NULL, "Whether it is proven that no plan costs less.", (void *)OPTIMAL},
    {"cost", get_number, NULL, "In the unit of the model: bytes, or elements for torch-spyre.", (void *)COST},
    {"lower_bound", get_number, NULL, "No plan costs less.", (void *)LOWER_BOUND},
    {"restickify_elements", get_number, NULL, "Of all copies.", (void *)ELEMENTS},
    {"restickify_bytes", get_number, NULL, "Of all copies.", (void *)BYTES},
    {"width", get_number, NULL, "Tensors that had to be decided together, at most.", (void *)WIDTH},
    {"branches", get_number, NULL, "Of the search; 0 if none was needed.", (void *)BRANCHES},
    {"model", get_number, NULL, "'tegula' or 'torch-spyre'.", (void *)MODEL},
    {"method", get_number, NULL, "'exact', 'greedy' or 'beam'.", (void *)METHOD},
    {"cores", get_number, NULL, "That share the work.", (void *)CORES},
    {"memory", plan_memory, NULL, "Where tensors live: a Memory.", NULL},
    {"restickifies", plan_restickifies, NULL, "The copies: a tuple of Restickify.", NULL},
    {"paddings", plan_paddings, NULL, "What has to be behind the end of dimensions: a tuple of Padding.", NULL},
    {"boundaries", get_boundaries, NULL, "The nodes that are not planned.", NULL},
    {"conflict", plan_conflict, NULL, "Where it is not feasible: what cannot agree, a tuple of Conflict.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(core_graph_plan, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A layout for every tensor of a Graph, and the copies that these need. Made by Graph.plan."},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_traverse, plan_traverse},
    {Py_tp_repr, plan_repr},
    {Py_tp_str, plan_str},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.GraphPlan",
    .basicsize = sizeof(core_graph_plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC,
    .slots = slots,
};

static PyMethodDef functions[] = {
    {"plan", CALL(plan), METH_VARARGS | METH_KEYWORDS,
     "plan(graph, " GRAPH_PLAN_WORDS ")\n--\n\n"
     "The GraphPlan of a Graph, of HLO text, or of a tegula.hlo.Module."},
    {NULL, NULL, 0, NULL},
};

static int add_infeasible(PyObject *module, core_state *state) {
    static const char doc[] = "No layouts suit all operations: .conflict says which cannot agree and why, .plan is\n"
                              "the GraphPlan with its candidates.";
    PyObject *bases = PyTuple_Pack(1, state->error);
    if (bases == NULL) return -1;
    state->infeasible = PyErr_NewExceptionWithDoc("tegula.PlanInfeasible", doc, bases, NULL);
    Py_DECREF(bases);
    return state->infeasible != NULL ? PyModule_AddObjectRef(module, "PlanInfeasible", state->infeasible) : -1;
}

int graph_add_plans(PyObject *module) {
    core_state *state = core_module_state(module);
    if (core_add_type(module, &state->graph_plan_type, &spec) != 0) return -1;
    if (add_infeasible(module, state) != 0 || graph_add_plan_records(module) != 0 ||
        graph_add_memory(module) != 0 || graph_add_bundles(module) != 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
