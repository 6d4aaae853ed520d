/* A Python number as one element of a layout, in the format that the layout stores: a double, a complex number of two,
 * or a whole number of 64 bits, of which the library makes the element. */
#include "py_plan.h"

#include <float.h>
#include <string.h>

static int fail_range(core_state *state, PyObject *value, const char *why) {
    PyObject *const shown = core_shown(value);
    if (shown != NULL) (void)core_raise_argument(state, "pad: %U does not fit: %s", shown, why);
    Py_XDECREF(shown);
    return -1;
}

static int store(unsigned char *out, core_state *state, const tg_layout *layout, tg_dtype type, const void *number,
                 PyObject *value) {
    tg_error        err;
    const tg_status s = tg_element_from_number(out, layout, type, number, &err);
    if (s == TG_ERR_OVERFLOW) return fail_range(state, value, err.message);
    if (s != TG_OK) (void)core_raise(state, &err, NULL);
    return s == TG_OK ? 0 : -1;
}

/* The value is beyond all numbers of `type`; it is refused as `last`, the last of them, or, where the elements hold
 * that one, for the range of their own type. */
static int fail_beyond(core_state *state, const tg_layout *layout, tg_dtype type, const void *last, PyObject *value) {
    unsigned char unused[PAD_BYTES];
    char          why[128];
    if (store(unused, state, layout, type, last, value) != 0) return -1;
    PyOS_snprintf(why, sizeof why, "the numbers of %s are %s", tg_dtype_name(layout->dtype),
                  tg_dtype_range(layout->dtype));
    return fail_range(state, value, why);
}

/* The bool that a numpy.bool_ holds, which is no index; a new reference, NULL without an exception if it is none. */
static PyObject *bool_of(PyObject *value) {
    PyObject *item = PyIndex_Check(value) ? NULL : PyObject_CallMethod(value, "item", NULL);
    if (item != NULL && !PyBool_Check(item)) Py_CLEAR(item);
    PyErr_Clear();
    return item;
}

static int store_integer(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    int             overflow = 0;
    const long long wide = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (wide == -1 && overflow == 0 && PyErr_Occurred()) return -1;
    if (overflow == 0) return store(out, state, layout, TG_S64, &wide, value);
    if (overflow < 0) {
        const int64_t lowest = INT64_MIN;
        return fail_beyond(state, layout, TG_S64, &lowest, value);
    }
    const uint64_t top = PyLong_AsUnsignedLongLong(value);
    if (!PyErr_Occurred()) return store(out, state, layout, TG_U64, &top, value);
    PyErr_Clear();
    return fail_beyond(state, layout, TG_U64, &top, value);
}

/* Whole numbers of Python may be beyond a double. */
static int fail_double(core_state *state, const tg_layout *layout, PyObject *value) {
    const double largest = DBL_MAX;
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return -1;
    PyErr_Clear();
    return fail_beyond(state, layout, TG_F64, &largest, value);
}

static int store_float(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    const double number = PyFloat_AsDouble(value);
    if (number == -1 && PyErr_Occurred()) return fail_double(state, layout, value);
    return store(out, state, layout, TG_F64, &number, value);
}

/* As complex(value) has it, which asks __complex__, and would read text. */
static int store_complex(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    if (PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "pad: expected a number, not %R", Py_TYPE(value));
        return -1;
    }
    PyObject *const z = PyObject_CallFunctionObjArgs((PyObject *)&PyComplex_Type, value, NULL);
    if (z == NULL) return fail_double(state, layout, value);
    const double number[2] = {PyComplex_RealAsDouble(z), PyComplex_ImagAsDouble(z)};
    Py_DECREF(z);
    return store(out, state, layout, TG_C128, number, value);
}

static int copy_element(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    char      *bytes = NULL;
    Py_ssize_t n = 0;
    const int  wanted = (layout->elem_bits + 7) / 8;
    if (PyBytes_AsStringAndSize(value, &bytes, &n) != 0) return -1;
    if (wanted > PAD_BYTES) {
        (void)core_raise_argument(state, "pad: elements have %d bits here, and at most %d are moved",
                                  (int)layout->elem_bits, 8 * PAD_BYTES);
        return -1;
    }
    if (n != wanted) {
        (void)core_raise_argument(state, "pad: one element has %d byte%s, not %zd", wanted, wanted == 1 ? "" : "s", n);
        return -1;
    }
    memcpy(out, bytes, (size_t)n);
    return 0;
}

static int store_whole(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    PyObject *const truth = bool_of(value);
    const int       failed = store_integer(out, state, layout, truth != NULL ? truth : value);
    Py_XDECREF(truth);
    return failed;
}

static int store_number(unsigned char *out, core_state *state, const tg_layout *layout, PyObject *value) {
    switch (tg_dtype_get_class(layout->dtype)) {
    case TG_CLASS_PRED:
    case TG_CLASS_INT:
    case TG_CLASS_UINT: return store_whole(out, state, layout, value);
    case TG_CLASS_FLOAT: return store_float(out, state, layout, value);
    case TG_CLASS_COMPLEX: return store_complex(out, state, layout, value);
    case TG_CLASS_NONE: break;
    }
    (void)core_raise_argument(state, "pad: the layout has no element type");
    return -1;
}

int core_get_pad(unsigned char out[PAD_BYTES], core_state *state, const tg_layout *layout, PyObject *value) {
    const tg_dtype_class class = tg_dtype_get_class(layout->dtype);
    memset(out, 0, PAD_BYTES);
    if (PyBytes_Check(value)) return copy_element(out, state, layout, value);
    if (store_number(out, state, layout, value) == 0) return 0;
    if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "pad must be %s for %s, the bytes of an element, or None, not %R",
                     class == TG_CLASS_FLOAT || class == TG_CLASS_COMPLEX ? "a number" : "a whole number",
                     tg_dtype_name(layout->dtype), Py_TYPE(value));
    return -1;
}
