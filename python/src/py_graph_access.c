/* How the nodes of a plan reach their tensors: the layout that an operand is read in, which a copy may have, and the
 * device coordinates. */
#include "py_graph.h"

enum { COORDINATE = 1024 };

/* The restickify that serves operand k of a node; -1 if none does. */
static int64_t find_copy(const core_graph_plan *self, int64_t node, int32_t k) {
    const int64_t n = tg_graph_plan_summary(self->plan).nrestickifies;
    for (int64_t i = 0; i < n; i++) {
        const tg_restickify r = tg_graph_plan_restickify(self->plan, i);
        for (int64_t j = r.first_reader; j < r.first_reader + r.nreaders; j++) {
            const tg_reader reader = tg_graph_plan_reader(self->plan, j);
            if (reader.node == node && reader.operand == k) return i;
        }
    }
    return -1;
}

/* The number of an operand. 0, or -1. */
static int get_operand(int32_t *k, core_graph_plan *self, int64_t node, PyObject *object) {
    core_state   *state = core_get_state((PyObject *)self);
    const int32_t n = tg_graph_get(self->graph->graph, node).noperands;
    int64_t       number = 0;
    if (core_get_int(&number, state, object, "an operand") != 0) return -1;
    *k = (int32_t)number;
    if (number >= 0 && number < n) return 0;
    (void)core_raise_argument(state, "node %lld has no operand %lld; it has %d", (long long)node, (long long)number,
                              (int)n);
    return -1;
}

/* Of operand k, or of the result for -1; false if that is not on the device. */
static bool layout_of(tg_spyre *out, int64_t *producer, const core_graph_plan *self, int64_t node, int32_t k) {
    *producer = k < 0 ? node : tg_graph_operand(self->graph->graph, node, k);
    const int64_t copy = k < 0 ? -1 : find_copy(self, node, k);
    if (copy < 0) return tg_graph_plan_layout(out, self->plan, *producer);
    *out = tg_graph_plan_restickify(self->plan, copy).to;
    return true;
}

PyObject *plan_operand_layout(PyObject *object, PyObject *args) {
    core_graph_plan *self = graph_plan_of(object);
    PyObject        *which = NULL, *operand = NULL;
    int64_t          node = 0, producer = 0;
    int32_t          k = 0;
    tg_spyre         layout;
    if (!PyArg_ParseTuple(args, "OO:operand_layout", &which, &operand)) return NULL;
    if (graph_get_node(&node, self->graph, which, self->count) != 0) return NULL;
    if (get_operand(&k, self, node, operand) != 0) return NULL;
    return layout_of(&layout, &producer, self, node, k) ? plan_layout(self, producer, &layout) : Py_NewRef(Py_None);
}

static PyObject *coordinate(core_graph_plan *self, const tg_spyre *layout, const tg_node_info *info,
                            const tg_access *access, int32_t dim) {
    char     text[COORDINATE];
    size_t   need = 0;
    tg_error err;
    if (tg_coordinate_format(text, sizeof text, &need, layout->rank, layout->device_size, layout->stride_map, dim,
                             info->nloops, info->ranges, access, &err) != TG_OK)
        return core_raise(core_get_state((PyObject *)self), &err, NULL);
    return core_text(text, need < sizeof text ? need : sizeof text - 1);
}

PyObject *plan_coordinates(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char     *names[] = {"node", "operand", NULL};
    core_graph_plan *self = graph_plan_of(object);
    PyObject        *which = NULL, *operand = Py_None;
    int64_t          node = 0, producer = 0;
    int32_t          k = -1;
    tg_spyre         layout;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:coordinates", names, &which, &operand)) return NULL;
    if (graph_get_node(&node, self->graph, which, self->count) != 0) return NULL;
    if (operand != Py_None && get_operand(&k, self, node, operand) != 0) return NULL;
    if (!layout_of(&layout, &producer, self, node, k)) Py_RETURN_NONE;
    const tg_node_info info = tg_graph_get(self->graph->graph, node);
    const tg_access    access = tg_graph_access(self->graph->graph, node, k);
    PyObject          *tuple = PyTuple_New(layout.rank);
    for (int32_t d = 0; d < layout.rank && tuple != NULL; d++) {
        PyObject *one = coordinate(self, &layout, &info, &access, d);
        if (one == NULL || PyTuple_SetItem(tuple, d, one) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}
