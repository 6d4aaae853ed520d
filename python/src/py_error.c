/* Exceptions: one class for each tg_status, all of them tegula.Error and so ValueError.
 *
 * A library error tells rule, values and place in one message. Here it becomes an exception with the attributes
 * status, message, dim, pos and text; the text of one about a text goes on with the line and a caret:
 *
 *     tegula.ParseError: the last device dimension is the stick: it has 64 elements of SEN169_FP16, not 32
 *       f16[60] spyre device_size=[2,32] stride_map=[32,1]
 *                                    ^
 *
 * Positions count bytes in C and characters in Python. */
#include "core.h"

#include <stdarg.h>
#include <string.h>

typedef struct error_class {
    tg_status   status;
    const char *name, *doc;
    PyObject  **also; /* a built-in exception that it is as well */
} error_class;

/* What TG_ERR_NOMEM raises is MemoryError itself. */
static int add_classes(PyObject *module, core_state *state) {
    const error_class classes[] = {
        {TG_ERR_ARGUMENT, "ArgumentError", "An argument breaks a rule that the message names.", NULL},
        {TG_ERR_OVERFLOW, "OverflowError", "A size, stride, offset, count or element does not fit.",
         &PyExc_OverflowError},
        {TG_ERR_PARSE, "ParseError", "A text is not what it should be; .pos is the place in .text.", NULL},
        {TG_ERR_LIMIT, "LimitError", "Well defined, but over a limit of this library, which the message names.", NULL},
        {TG_ERR_UNREPRESENTABLE, "NotRepresentable", "Well defined, but the wanted form cannot express it.", NULL},
        {TG_ERR_UNSUPPORTED, "Unsupported", "Valid, but there is no code for it.", &PyExc_NotImplementedError},
    };
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        const error_class *c = &classes[i];
        PyObject *bases = c->also != NULL ? PyTuple_Pack(2, state->error, *c->also) : PyTuple_Pack(1, state->error);
        PyObject *name = PyUnicode_FromFormat("tegula.%s", c->name);
        const char *full = name != NULL ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
        PyObject *type = bases != NULL && full != NULL ? PyErr_NewExceptionWithDoc(full, c->doc, bases, NULL) : NULL;
        Py_XDECREF(name);
        Py_XDECREF(bases);
        if (type == NULL) return -1;
        state->errors[c->status] = type;
        if (PyModule_AddObjectRef(module, c->name, type) != 0) return -1;
    }
    return 0;
}

int core_add_errors(PyObject *module) {
    static const char doc[] = "What Tegula refuses: .message (the rule and the values), .status, .dim (or None), .pos\n"
                              "and .text (of errors about a text, else None).";
    core_state *state = core_module_state(module);
    state->error = PyErr_NewExceptionWithDoc("tegula.Error", doc, PyExc_ValueError, NULL);
    if (state->error == NULL || PyModule_AddObjectRef(module, "Error", state->error) != 0) return -1;
    if (add_classes(module, state) != 0) return -1;
    state->errors[TG_ERR_NOMEM] = Py_NewRef(PyExc_MemoryError);
    for (int i = 0; i < CORE_STATUSES; i++)
        if (state->errors[i] == NULL) state->errors[i] = Py_NewRef(state->error);
    return 0;
}

/* ---- raising ----------------------------------------------------------------------- */

enum { WINDOW = 100 }; /* characters of a line that are shown on either side of the place */

static bool is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

static Py_ssize_t count_characters(const char *bytes, size_t n) {
    Py_ssize_t count = 0;
    for (size_t i = 0; i < n; i++) count += !is_continuation(bytes[i]);
    return count;
}

/* The line of the text with the place in it, and a caret under it; line ends and tabs are blanks. A new reference. */
static PyObject *point_at(const char *message, const char *bytes, size_t len, size_t pos) {
    size_t first = pos, end = pos;
    while (first > 0 && bytes[first - 1] != '\n' && pos - first < WINDOW) first--;
    while (end < len && bytes[end] != '\n' && end - pos < WINDOW) end++;
    while (first < pos && is_continuation(bytes[first])) first++;
    while (end > pos && end < len && is_continuation(bytes[end])) end--;
    PyObject *line = PyUnicode_DecodeUTF8(bytes + first, (Py_ssize_t)(end - first), "replace");
    if (line == NULL) return NULL;
    char blanks[WINDOW + 1];
    const Py_ssize_t before = count_characters(bytes + first, pos - first);
    memset(blanks, ' ', (size_t)before);
    blanks[before] = '\0';
    PyObject *said = PyUnicode_FromFormat("%s\n  %U\n  %s^", message, line, blanks);
    Py_DECREF(line);
    return said;
}

static int set_and_drop(PyObject *object, const char *name, PyObject *value) {
    const int failed = value == NULL || PyObject_SetAttrString(object, name, value) != 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

static PyObject *int_or_none(bool known, Py_ssize_t value) {
    return known ? PyLong_FromSsize_t(value) : Py_NewRef(Py_None);
}

static void raise_with(PyObject *type, const tg_error *err, const char *message, PyObject *said, PyObject *text,
                       Py_ssize_t pos) {
    PyObject *error = PyObject_CallFunctionObjArgs(type, said, NULL);
    if (error == NULL) return;
    if (set_and_drop(error, "status", core_name(tg_status_name(err->status))) == 0 &&
        set_and_drop(error, "message", PyUnicode_FromString(message)) == 0 &&
        set_and_drop(error, "dim", int_or_none(err->dim >= 0, err->dim)) == 0 &&
        set_and_drop(error, "pos", int_or_none(text != NULL, pos)) == 0 &&
        set_and_drop(error, "text", Py_NewRef(text != NULL ? text : Py_None)) == 0)
        PyErr_SetObject(type, error);
    Py_DECREF(error);
}

void *core_raise(core_state *state, const tg_error *err, PyObject *text) {
    const bool  known = err->status > TG_OK && (int)err->status < CORE_STATUSES;
    PyObject   *type = known ? state->errors[err->status] : state->error;
    Py_ssize_t  len = 0, pos = 0;
    const char *bytes = text != NULL ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    if (text != NULL && bytes == NULL) return NULL;
    if (err->status == TG_ERR_NOMEM) {
        PyErr_SetString(PyExc_MemoryError, err->message[0] != '\0' ? err->message : "out of memory");
        return NULL;
    }
    /* What the library puts before the rules of plans: there is no such word in what was called. */
    const char  *message = strncmp(err->message, "plan: ", 6) == 0 ? err->message + 6 : err->message;
    const size_t at = err->pos <= (size_t)len ? err->pos : (size_t)len;
    if (bytes != NULL) pos = count_characters(bytes, at);
    PyObject *said = bytes != NULL ? point_at(message, bytes, (size_t)len, at)
                                   : PyUnicode_FromString(message);
    if (said != NULL) raise_with(type, err, message, said, text, pos);
    Py_XDECREF(said);
    return NULL;
}

void *core_raise_argument(core_state *state, const char *format, ...) {
    tg_error err = {.status = TG_ERR_ARGUMENT, .dim = -1};
    va_list  args;
    va_start(args, format);
    PyObject *message = PyUnicode_FromFormatV(format, args);
    va_end(args);
    const char *bytes = message != NULL ? PyUnicode_AsUTF8AndSize(message, NULL) : NULL;
    if (bytes != NULL) {
        size_t n = strlen(bytes);
        if (n >= sizeof err.message) {
            n = sizeof err.message - 1;
            while (n > 0 && is_continuation(bytes[n])) n--;
        }
        memcpy(err.message, bytes, n);
        err.message[n] = '\0';
        (void)core_raise(state, &err, NULL);
    }
    Py_XDECREF(message);
    return NULL;
}
