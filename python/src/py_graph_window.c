/* Windows of nodes: tuples with the fields of tg_window. */
#include "py_graph.h"

enum { FEWEST = 9, MOST = 10 };

static int32_t small(int64_t x) { return x < INT32_MIN || x > INT32_MAX ? INT32_MIN : (int32_t)x; }

static int read_window(tg_window *out, core_state *state, PyObject *row) {
    int64_t n[MOST] = {0};
    bool    ok = PyTuple_Check(row) && PyTuple_Size(row) >= FEWEST && PyTuple_Size(row) <= MOST;
    if (!ok)
        return (void)core_raise_argument(state, "a window is a tuple of %d or %d numbers, not %R", FEWEST, MOST, row),
               -1;
    for (Py_ssize_t i = 0; i < PyTuple_Size(row); i++)
        if (core_get_int(&n[i], state, PyTuple_GetItem(row, i), "a number of a window") != 0) return -1;
    *out = (tg_window){.loop = small(n[0]), .size = n[1], .stride = n[2], .dilation = n[3], .base_dilation = n[4],
                       .low = n[5], .step = n[6], .extent = n[7], .kernel_step = n[8], .reversed = n[9] != 0};
    return 0;
}

int graph_read_windows(tg_window out[TG_MAX_NDIM], int32_t *n, core_state *state, PyObject *object) {
    PyObject *rows = PyUnicode_Check(object) || PyBytes_Check(object) ? NULL : PySequence_Tuple(object);
    if (rows == NULL) {
        if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "windows are a sequence, not %R", Py_TYPE(object));
        return -1;
    }
    int failed = PyTuple_Size(rows) > TG_MAX_NDIM;
    if (failed) (void)core_raise_argument(state, "a node has at most %d windows", TG_MAX_NDIM);
    for (*n = 0; !failed && *n < PyTuple_Size(rows); (*n)++)
        failed = read_window(&out[*n], state, PyTuple_GetItem(rows, *n)) != 0;
    Py_DECREF(rows);
    return failed ? -1 : 0;
}

static PyObject *window(const tg_window *w) {
    return Py_BuildValue("(iLLLLLLLLO)", (int)w->loop, (long long)w->size, (long long)w->stride,
                         (long long)w->dilation, (long long)w->base_dilation, (long long)w->low, (long long)w->step,
                         (long long)w->extent, (long long)w->kernel_step, w->reversed ? Py_True : Py_False);
}

PyObject *graph_windows(const tg_node_info *info) {
    PyObject *tuple = PyTuple_New(info->nwindows);
    for (int32_t i = 0; i < info->nwindows && tuple != NULL; i++) {
        PyObject *one = window(&info->windows[i]);
        if (one == NULL || PyTuple_SetItem(tuple, i, one) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}
