/* GraphPlan.to_dict: the object that `tegula plan --json` prints. */
#include "py_graph.h"

#include <tegula/plan_report.h>

static PyObject *load(const char *text, size_t len) {
    PyObject *module = PyImport_ImportModule("json"), *words = core_text(text, len);
    PyObject *dict = module != NULL && words != NULL ? PyObject_CallMethod(module, "loads", "O", words) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(words);
    return dict;
}

static PyObject *read_report(const tg_plan_report *report) {
    const size_t len = tg_plan_report_json(NULL, 0, report);
    char        *text = PyMem_Malloc(len + 1);
    if (text == NULL) return PyErr_NoMemory();
    (void)tg_plan_report_json(text, len + 1, report);
    PyObject *dict = load(text, len);
    PyMem_Free(text);
    return dict;
}

/* Memory is planned where the graph is still the one of the plan. */
static int plan_memory(tg_memory **out, const core_graph_plan *self) {
    const tg_memory_params params = {.division = {.cores = self->cores}};
    const tg_graph        *graph = self->graph->graph;
    tg_error               err;
    if (!tg_graph_plan_summary(self->plan).feasible || tg_graph_count(graph) != self->count) return 0;
    if (tg_memory_create(out, graph, self->plan, &params, &err) == TG_OK) return 0;
    (void)core_raise(core_get_state((PyObject *)self), &err, NULL);
    return -1;
}

PyObject *plan_to_dict(PyObject *object, PyObject *unused) {
    core_graph_plan *self = graph_plan_of(object);
    PyObject        *name = self->graph->name;
    tg_memory       *memory = NULL;
    Py_ssize_t       len = 0;
    const char      *chars = name != NULL ? PyUnicode_AsUTF8AndSize(name, &len) : "";
    (void)unused;
    if (chars == NULL || plan_memory(&memory, self) != 0) return NULL;
    const tg_plan_report report = {.graph = self->graph->graph,
                                   .plan = self->plan,
                                   .module = {chars, (size_t)len},
                                   .division = {.cores = self->cores},
                                   .memory = memory,
                                   .relayed = self->relayed};
    PyObject            *dict = read_report(&report);
    tg_memory_destroy(&memory);
    return dict;
}
