/* What nodes calculate, from Python: the name of an operation, or a dict with the fields of tg_compute. */
#include "py_sim.h"

#include <math.h>
#include <string.h>

enum { MAX_ROWS = 1024 };

/* A computation with the memory that it points to. */
typedef struct reading {
    core_graph     *graph;
    core_state     *state;
    tg_compute      c;
    Py_buffer       data;
    tg_index       *indices;
    tg_piece       *pieces;
    tg_formula_step steps[TG_MAX_STEPS];
} reading;

static int read_op(tg_op *out, core_state *state, PyObject *name) {
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    if (text == NULL) {
        if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "an operation is a str, not %R", Py_TYPE(name));
        return -1;
    }
    for (int op = TG_OP_NONE + 1; tg_op_name((tg_op)op) != NULL; op++)
        if (strcmp(tg_op_name((tg_op)op), text) == 0) return *out = (tg_op)op, 0;
    return (void)core_raise_argument(state, "%R is no operation", name), -1;
}

/* A new tuple of the rows of a sequence, in which each row is a tuple of [least, most] items. */
static PyObject *read_rows(core_state *state, PyObject *object, const char *what, Py_ssize_t least, Py_ssize_t most) {
    PyObject *rows = PyUnicode_Check(object) ? NULL : PySequence_Tuple(object);
    if (rows == NULL) {
        if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s are a sequence, not %R", what, Py_TYPE(object));
        return NULL;
    }
    bool ok = PyTuple_Size(rows) <= MAX_ROWS;
    for (Py_ssize_t i = 0; ok && i < PyTuple_Size(rows); i++) {
        PyObject *row = PyTuple_GetItem(rows, i);
        ok = PyTuple_Check(row) && PyTuple_Size(row) >= least && PyTuple_Size(row) <= most;
    }
    if (ok) return rows;
    (void)core_raise_argument(state, "%s are at most %d tuples of %zd to %zd, not %R", what, MAX_ROWS, least, most,
                              object);
    Py_DECREF(rows);
    return NULL;
}

static int read_ints(int64_t *out, core_state *state, PyObject *row, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (core_get_int(&out[i], state, PyTuple_GetItem(row, i), "a number of a row") != 0) return -1;
    return 0;
}

static int32_t small(int64_t x) { return x < INT32_MIN || x > INT32_MAX ? INT32_MIN : (int32_t)x; }

/* ---- fields ------------------------------------------------------------------------------------ */

static int read_op_field(reading *r, PyObject *value) { return read_op(&r->c.op, r->state, value); }

static int read_dtype(reading *r, PyObject *value) { return core_get_dtype(&r->c.dtype, r->state, value); }

static int read_reduction(reading *r, PyObject *value) {
    return graph_read_reduction(&r->c.reduction, r->state, value);
}

static int read_loop(reading *r, PyObject *value) {
    int64_t loop = 0;
    if (core_get_int(&loop, r->state, value, "a loop") != 0) return -1;
    r->c.loop = small(loop);
    return 0;
}

static int read_data(reading *r, PyObject *value) {
    if (PyObject_GetBuffer(value, &r->data, PyBUF_C_CONTIGUOUS) != 0) return -1;
    r->c.data = r->data.buf;
    r->c.nbytes = (size_t)r->data.len;
    return 0;
}

static int read_start(reading *r, PyObject *value) {
    r->c.has_start = true;
    return graph_read_access(&r->c.start, r->graph, value);
}

static int read_indices(reading *r, PyObject *value) {
    static const char *const rules[] = {"clamp", "strict", "wrap"};
    PyObject *rows = read_rows(r->state, value, "indices", 4, 5);
    int       failed = rows == NULL;
    if (!failed) failed = (r->indices = PyMem_Calloc((size_t)PyTuple_Size(rows) + 1, sizeof *r->indices)) == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(rows); i++) {
        PyObject *row = PyTuple_GetItem(rows, i), *rule = PyTuple_Size(row) == 5 ? PyTuple_GetItem(row, 4) : NULL;
        tg_index *x = &r->indices[i];
        int64_t   numbers[3];
        int       which = 0;
        failed = read_ints(numbers, r->state, row, 3) != 0;
        if (!failed) failed = graph_read_access(&x->from, r->graph, PyTuple_GetItem(row, 3)) != 0;
        if (failed) break;
        r->c.nindices++;
        while (rule != NULL && which < 3 && PyUnicode_CompareWithASCIIString(rule, rules[which]) != 0) which++;
        if (which == 3) failed = core_raise_argument(r->state, "%R is no rule for indices", rule) == NULL;
        x->operand = small(numbers[0]);
        x->step = numbers[1];
        x->limit = numbers[2];
        x->rule = (tg_index_rule)which;
    }
    r->c.indices = r->indices;
    Py_XDECREF(rows);
    return failed ? -1 : 0;
}

static int read_pieces(reading *r, PyObject *value) {
    PyObject *rows = read_rows(r->state, value, "pieces", 4, 4);
    int       failed = rows == NULL;
    if (!failed) failed = (r->pieces = PyMem_Calloc((size_t)PyTuple_Size(rows) + 1, sizeof *r->pieces)) == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(rows); i++) {
        int64_t n[4];
        failed = read_ints(n, r->state, PyTuple_GetItem(rows, i), 4) != 0;
        if (!failed)
            r->pieces[r->c.npieces++] =
                (tg_piece){.operand = small(n[0]), .loop = small(n[1]), .first = n[2], .size = n[3]};
    }
    r->c.pieces = r->pieces;
    Py_XDECREF(rows);
    return failed ? -1 : 0;
}

/* "$3": value 3 of the formula; else a number. */
static int read_value(tg_formula_step *step, int i, core_state *state, PyObject *value) {
    step->from[i] = TG_NUMBER;
    if (!PyUnicode_Check(value)) {
        step->number[i] = PyFloat_AsDouble(value);
        return step->number[i] == -1.0 && PyErr_Occurred() ? -1 : 0;
    }
    const char *text = PyUnicode_AsUTF8AndSize(value, NULL);
    int32_t     n = 0, digits = 0;
    if (text == NULL) return -1;
    while (text[0] == '$' && digits < 4 && text[1 + digits] >= '0' && text[1 + digits] <= '9')
        n = 10 * n + (text[1 + digits++] - '0');
    if (digits == 0 || text[1 + digits] != '\0')
        return (void)core_raise_argument(state, "%R is no value of a formula; \"$0\" is the first one", value), -1;
    step->from[i] = n;
    return 0;
}

static int read_step(tg_formula_step *step, core_state *state, PyObject *row) {
    if (read_op(&step->op, state, PyTuple_GetItem(row, 0)) != 0) return -1;
    const Py_ssize_t n = PyTuple_Size(row) - 1;
    if (tg_op_arity(step->op) != n) {
        (void)core_raise_argument(state, "%R has another number of operands, or works not element by element", row);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_value(step, (int)i, state, PyTuple_GetItem(row, i + 1)) != 0) return -1;
    return 0;
}

static int read_steps(reading *r, PyObject *value) {
    PyObject *rows = read_rows(r->state, value, "steps", 2, 4);
    int       failed = rows == NULL;
    if (!failed && PyTuple_Size(rows) > TG_MAX_STEPS)
        failed = core_raise_argument(r->state, "a formula has at most %d steps", TG_MAX_STEPS) == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(rows); i++) {
        failed = read_step(&r->steps[i], r->state, PyTuple_GetItem(rows, i)) != 0;
        r->c.nsteps++;
    }
    r->c.steps = r->steps;
    Py_XDECREF(rows);
    return failed ? -1 : 0;
}

static const struct { const char *name; int (*read)(reading *, PyObject *); } fields[] = {
    {"op", read_op_field},     {"dtype", read_dtype},     {"reduction", read_reduction}, {"loop", read_loop},
    {"data", read_data},       {"start", read_start},     {"indices", read_indices},     {"pieces", read_pieces},
    {"steps", read_steps},
};

/* ---- the whole ----------------------------------------------------------------------------------- */

static int read_field(reading *r, PyObject *key, PyObject *value) {
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (PyUnicode_Check(key) && PyUnicode_CompareWithASCIIString(key, fields[i].name) == 0)
            return fields[i].read(r, value);
    (void)core_raise_argument(r->state, "%R says nothing of what a node calculates", key);
    return -1;
}

static int read_calculation(reading *r, PyObject *object) {
    PyObject  *key = NULL, *value = NULL;
    Py_ssize_t at = 0;
    if (!PyDict_Check(object)) return read_op(&r->c.op, r->state, object);
    while (PyDict_Next(object, &at, &key, &value))
        if (read_field(r, key, value) != 0) return -1;
    return 0;
}

static void free_terms(const tg_access *a) { PyMem_Free((void *)(uintptr_t)a->terms); }

static void clear(reading *r) {
    if (r->data.obj != NULL) PyBuffer_Release(&r->data);
    free_terms(&r->c.start);
    for (int32_t i = 0; r->indices != NULL && i < r->c.nindices; i++) free_terms(&r->indices[i].from);
    PyMem_Free(r->indices);
    PyMem_Free(r->pieces);
}

static int set_node(tg_program *program, core_graph *graph, PyObject *node, PyObject *object) {
    reading  r;
    int64_t  id = 0;
    tg_error err;
    memset(&r, 0, sizeof r);
    r.graph = graph;
    r.state = core_get_state((PyObject *)graph);
    if (graph_get_node(&id, graph, node, tg_graph_count(graph->graph)) != 0) return -1;
    int failed = read_calculation(&r, object);
    if (failed == 0 && tg_program_set(program, id, &r.c, &err) != TG_OK) {
        (void)core_raise(r.state, &err, NULL);
        failed = -1;
    }
    clear(&r);
    return failed;
}

int sim_read_program(tg_program *program, core_graph *graph, PyObject *calculations) {
    PyObject *items = PyMapping_Items(calculations);
    int       failed = items == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyList_Size(items); i++) {
        PyObject *item = PyList_GetItem(items, i);
        failed = set_node(program, graph, PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1)) != 0;
    }
    Py_XDECREF(items);
    return failed ? -1 : 0;
}
