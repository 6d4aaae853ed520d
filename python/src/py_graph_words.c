/* What a GraphPlan says in words: the report and the explanation of a node, as the command prints them, and to_dict,
 * the object that `tegula plan --json` prints. */
#include "py_graph.h"

#include <tegula/plan_report.h>

/* The text that the library writes, by the snprintf rule; NULL with an exception. */
typedef size_t write_text(char *buf, size_t cap, const tg_plan_report *report, int64_t node);

static PyObject *text_of(write_text *write, const tg_plan_report *report, int64_t node) {
    const size_t len = write(NULL, 0, report, node);
    char        *chars = PyMem_Malloc(len + 1);
    if (chars == NULL) return PyErr_NoMemory();
    (void)write(chars, len + 1, report, node);
    PyObject *text = core_text(chars, len);
    PyMem_Free(chars);
    return text;
}

static size_t write_report(char *buf, size_t cap, const tg_plan_report *report, int64_t node) {
    (void)node;
    return tg_plan_report_text(buf, cap, report);
}

static size_t write_json(char *buf, size_t cap, const tg_plan_report *report, int64_t node) {
    (void)node;
    return tg_plan_report_json(buf, cap, report);
}

/* Memory is said where the graph is still the one of the plan. 0, or -1. */
static int make_report(tg_plan_report *out, core_graph_plan *self) {
    PyObject        *name = self->graph->name;
    Py_ssize_t       len = 0;
    const char      *chars = name != NULL ? PyUnicode_AsUTF8AndSize(name, &len) : "";
    const tg_memory *memory = NULL;
    if (chars == NULL) return -1;
    if (tg_graph_plan_summary(self->plan).feasible && tg_graph_count(self->graph->graph) == self->count &&
        (memory = plan_memory_of(self)) == NULL)
        return -1;
    *out = (tg_plan_report){.graph = self->graph->graph,
                            .plan = self->plan,
                            .module = {chars, (size_t)len},
                            .division = self->params.division,
                            .memory = memory,
                            .arrangements = self->arrangements,
                            .relayed = self->relayed,
                            .relay_option = "restickify_reductions=True"};
    return 0;
}

static size_t write_conflict(char *buf, size_t cap, const tg_plan_report *report, int64_t node) {
    (void)node;
    return tg_plan_report_conflict(buf, cap, report);
}

PyObject *plan_complaint(core_graph_plan *self) {
    tg_plan_report report;
    PyObject      *text = make_report(&report, self) == 0 ? text_of(write_conflict, &report, 0) : NULL;
    PyObject      *stripped = text != NULL ? PyObject_CallMethod(text, "rstrip", "s", "\n") : NULL;
    Py_XDECREF(text);
    return stripped;
}

PyObject *plan_report(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char   *names[] = {"limit", "memory", NULL};
    PyObject      *limit = Py_None;
    int            list_memory = 0;
    tg_plan_report report;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$Op:report", names, &limit, &list_memory)) return NULL;
    if (make_report(&report, graph_plan_of(self)) != 0) return NULL;
    report.has_limit = limit != Py_None;
    report.list_memory = list_memory != 0;
    if (report.has_limit && core_get_int(&report.limit, core_get_state(self), limit, "limit") != 0) return NULL;
    if (report.limit < 0) return core_raise_argument(core_get_state(self), "limit is %R; it is 0 or more", limit);
    return text_of(write_report, &report, 0);
}

PyObject *plan_str(PyObject *self) {
    tg_plan_report report;
    return make_report(&report, graph_plan_of(self)) == 0 ? text_of(write_report, &report, 0) : NULL;
}

PyObject *plan_to_dict(PyObject *self, PyObject *unused) {
    tg_plan_report report;
    (void)unused;
    PyObject *words = make_report(&report, graph_plan_of(self)) == 0 ? text_of(write_json, &report, 0) : NULL;
    PyObject *dict = words != NULL ? plan_load_json(words) : NULL;
    Py_XDECREF(words);
    return dict;
}

PyObject *plan_load_json(PyObject *text) {
    PyObject *module = PyImport_ImportModule("json");
    PyObject *dict = module != NULL ? PyObject_CallMethod(module, "loads", "O", text) : NULL;
    Py_XDECREF(module);
    return dict;
}

/* A name may be the last part of one, as in the command. */
static int find_node(int64_t *id, core_graph_plan *self, PyObject *object) {
    Py_ssize_t  len = 0;
    const char *chars = PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &len) : NULL;
    if (!PyUnicode_Check(object)) return graph_get_node(id, self->graph, object, self->count);
    if (chars == NULL) return -1;
    *id = tg_graph_find(self->graph->graph, (tg_hlo_text){chars, (size_t)len});
    if (*id >= 0 && *id < self->count) return 0;
    (void)core_raise_argument(core_get_state((PyObject *)self), "there is no one node named %R", object);
    return -1;
}

PyObject *plan_explain(PyObject *self, PyObject *node) {
    tg_plan_report report;
    int64_t        id = 0;
    if (find_node(&id, graph_plan_of(self), node) != 0) return NULL;
    if (!tg_graph_plan_summary(graph_plan_of(self)->plan).feasible)
        return core_raise_argument(core_get_state(self), "the graph has no plan, which could explain a node");
    return make_report(&report, graph_plan_of(self)) == 0 ? text_of(tg_plan_report_node, &report, id) : NULL;
}
