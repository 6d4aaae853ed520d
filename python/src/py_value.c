/* Numbers, lists of numbers and names of dtypes, from Python and to Python. */
#include "core.h"

#include <string.h>

enum { SHOWN_BITS = 128, SHOWN_CHARACTERS = 48 };

static PyObject *show_int(PyObject *value) {
    PyObject *const bits = PyObject_CallMethod(value, "bit_length", NULL);
    const long long n = bits != NULL ? PyLong_AsLongLong(bits) : -1;
    Py_XDECREF(bits);
    if (n < 0) return NULL;
    return n > SHOWN_BITS ? PyUnicode_FromFormat("an int of %lld bits", n) : PyObject_Repr(value);
}

/* The text as it is, or its beginning; takes the reference. */
static PyObject *cut_short(PyObject *text) {
    if (text == NULL || PyUnicode_GetLength(text) <= SHOWN_CHARACTERS) return text;
    PyObject *const begin = PyUnicode_Substring(text, 0, SHOWN_CHARACTERS);
    Py_DECREF(text);
    PyObject *const shown = begin != NULL ? PyUnicode_FromFormat("%U...", begin) : NULL;
    Py_XDECREF(begin);
    return shown;
}

PyObject *core_shown(PyObject *value) {
    if (PyLong_Check(value)) return show_int(value);
    PyObject *const text = PyObject_Repr(value);
    if (text != NULL || !PyErr_ExceptionMatches(PyExc_ValueError)) return cut_short(text);
    PyErr_Clear(); /* a Fraction, say, of ints that Python does not print */
    return PyUnicode_FromFormat("a value of %R", Py_TYPE(value));
}

static void raise_overflow(core_state *state, PyObject *object, const char *what) {
    tg_error        err = {.status = TG_ERR_OVERFLOW, .dim = -1};
    PyObject *const number = PyNumber_Index(object);
    PyObject *const shown = number != NULL ? core_shown(number) : NULL;
    const char     *text = shown != NULL ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
    if (text != NULL) {
        PyOS_snprintf(err.message, sizeof err.message, "%s is %s, and an integer has 64 bits: -2^63 to 2^63-1", what,
                      text);
        (void)core_raise(state, &err, NULL);
    }
    Py_XDECREF(shown);
    Py_XDECREF(number);
}

int core_get_int(int64_t *out, core_state *state, PyObject *object, const char *what) {
    int             overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow != 0) raise_overflow(state, object, what);
    else if (value == -1 && PyErr_Occurred() && !PyIndex_Check(object))
        PyErr_Format(PyExc_TypeError, "%s must be an int, not %R", what, Py_TYPE(object));
    if (overflow != 0 || (value == -1 && PyErr_Occurred())) return -1;
    *out = value;
    return 0;
}

int core_convert_int(PyObject *object, void *number) {
    core_int *const out = number;
    return core_get_int(&out->value, out->state, object, out->what) == 0;
}

int core_get_entry(int64_t *out, core_state *state, PyObject *object, Py_ssize_t i, const char *what) {
    char entry[64];
    PyOS_snprintf(entry, sizeof entry, "entry %d of %s", (int)i, what);
    return core_get_int(out, state, object, entry);
}

static void *raise_limit(core_state *state, const char *what, Py_ssize_t n, int32_t cap) {
    tg_error err = {.status = TG_ERR_LIMIT, .dim = -1};
    PyOS_snprintf(err.message, sizeof err.message, "%s has %lld entries; the limit is %d", what, (long long)n, cap);
    return core_raise(state, &err, NULL);
}

/* A list or tuple with the items, or NULL. Text is a sequence too, and never of numbers. */
static PyObject *get_sequence(PyObject *object, const char *what) {
    PyObject *items = PyUnicode_Check(object) || PyBytes_Check(object) ? NULL : PySequence_List(object);
    if (items != NULL) return items;
    if (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "%s must be a sequence of integers, not %R", what, Py_TYPE(object));
    return NULL;
}

int core_get_ints(int64_t *out, int32_t *n, int32_t cap, core_state *state, PyObject *object, const char *what) {
    PyObject *items = get_sequence(object, what);
    if (items == NULL) return -1;
    const Py_ssize_t count = PyList_Size(items);
    int              failed = count > cap;
    if (failed) (void)raise_limit(state, what, count, cap);
    for (Py_ssize_t i = 0; i < count && !failed; i++)
        failed = core_get_entry(&out[i], state, PyList_GetItem(items, i), i, what);
    Py_DECREF(items);
    *n = (int32_t)count;
    return failed ? -1 : 0;
}

int core_get_ints32(int32_t *out, int32_t *n, int32_t cap, core_state *state, PyObject *object, const char *what) {
    int64_t wide[TG_MAX_MODES + 1];
    if (cap > TG_MAX_MODES + 1) cap = TG_MAX_MODES + 1;
    if (core_get_ints(wide, n, cap, state, object, what) != 0) return -1;
    for (int32_t i = 0; i < *n; i++) {
        if (wide[i] < INT32_MIN || wide[i] > INT32_MAX) {
            (void)core_raise_argument(state, "entry %d of %s is %lld, which is out of range", (int)i, what,
                                      (long long)wide[i]);
            return -1;
        }
        out[i] = (int32_t)wide[i];
    }
    return 0;
}

/* ---- words ---------------------------------------------------------------------------- */

const char *core_get_word(Py_ssize_t *len, PyObject *object, const char *what) {
    if (PyUnicode_Check(object)) return PyUnicode_AsUTF8AndSize(object, len);
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", what, Py_TYPE(object));
    return NULL;
}

/* ---- dtypes -------------------------------------------------------------------------- */

/* The attribute as a str, or NULL without an exception if there is none. */
static PyObject *text_attribute(PyObject *object, const char *name) {
    PyObject *value = PyObject_GetAttrString(object, name);
    if (value != NULL && PyUnicode_Check(value)) return value;
    Py_XDECREF(value);
    PyErr_Clear();
    return NULL;
}

/* What calls a dtype by its name: "bfloat16" of numpy.dtype, "float16" of the scalar type numpy.float16 and of JAX's,
 * "torch.float16" of a torch.dtype, which has nothing but its text. */
static PyObject *dtype_text(PyObject *object) {
    if (PyUnicode_Check(object)) return Py_NewRef(object);
    PyObject *text = text_attribute(object, "name");
    if (text == NULL) text = text_attribute(object, "__name__");
    return text != NULL ? text : PyObject_Str(object);
}

/* Of a numpy.dtype; other dtypes have no byte order. */
static bool is_big_endian(PyObject *object) {
    PyObject  *order = PyUnicode_Check(object) ? NULL : text_attribute(object, "byteorder");
    const bool big = order != NULL && PyUnicode_CompareWithASCIIString(order, ">") == 0;
    Py_XDECREF(order);
    return big;
}

static void raise_dtype(core_state *state, PyObject *text, const char *bytes, const char *what) {
    const char *const colon = what[0] != '\0' ? ": " : "";
    if (strchr("<>=|", bytes[0]) != NULL && bytes[0] != '\0')
        (void)core_raise_argument(
            state,
            "%s%s`%U` is a code of NumPy, and these are not read; give a name, such as f32 or float32, or a "
            "numpy.dtype",
            what, colon, text);
    else
        (void)core_raise_argument(
            state, "%s%s`%U` is not an element type; there are f16, bf16, f32, s8, u8, s4, pred, f8e4m3fn, ...", what,
            colon, text);
}

int core_get_dtype(tg_dtype *out, core_state *state, PyObject *object) {
    return core_get_dtype_of(out, state, object, "");
}

int core_get_dtype_of(tg_dtype *out, core_state *state, PyObject *object, const char *what) {
    PyObject   *text = dtype_text(object);
    Py_ssize_t  len = 0;
    const char *bytes = text != NULL ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    *out = TG_INVALID;
    if (bytes != NULL && is_big_endian(object)) {
        (void)core_raise_big_endian(state, what[0] != '\0' ? what : "dtype");
    } else if (bytes != NULL) {
        const size_t skipped = !PyUnicode_Check(object) && strncmp(bytes, "torch.", 6) == 0 ? 6 : 0;
        *out = tg_dtype_from_name(bytes + skipped, (size_t)len - skipped);
        if (*out == TG_INVALID) raise_dtype(state, text, bytes, what);
    }
    Py_XDECREF(text);
    return *out != TG_INVALID ? 0 : -1;
}

void *core_raise_big_endian(core_state *state, const char *what) {
    return core_raise_argument(
        state,
        "%s: its elements are big-endian, and swapping bytes is no layout; a.astype(a.dtype.newbyteorder('<')) does",
        what);
}

/* ---- to Python ------------------------------------------------------------------------- */

PyObject *core_ints(const int64_t *values, Py_ssize_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *value = PyLong_FromLongLong(values[i]);
        if (value == NULL || PyTuple_SetItem(tuple, i, value) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *core_ints32(const int32_t *values, Py_ssize_t n) {
    int64_t wide[TG_MAX_MODES];
    for (Py_ssize_t i = 0; i < n; i++) wide[i] = values[i];
    return core_ints(wide, n);
}

PyObject *core_name(const char *name) { return name != NULL ? PyUnicode_FromString(name) : Py_NewRef(Py_None); }

PyObject *core_text(const char *bytes, size_t len) {
    return PyUnicode_DecodeUTF8(len > 0 ? bytes : "", (Py_ssize_t)len, "replace");
}

int core_put(PyObject *dict, const char *key, PyObject *value) {
    const int failed = value == NULL || PyDict_SetItemString(dict, key, value) != 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

int core_append(PyObject *list, PyObject *value) {
    const int failed = value == NULL || PyList_Append(list, value) != 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

PyObject *core_list(const int64_t *values, Py_ssize_t n) {
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < n; i++)
        if (core_append(list, PyLong_FromLongLong(values[i])) != 0) Py_CLEAR(list);
    return list;
}
