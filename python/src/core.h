/* core.h - what the files of the extension share.
 *
 * The extension `tegula._core` says in Python what the public headers say in C, and decides nothing itself: where
 * Python needs arithmetic on layouts, the library has a function for it. One file for each type or topic; each adds
 * what it has to the module in a function core_add_*, which py_module.c lists.
 *
 * Rules of all files:
 *  - The limited API of CPython 3.11. No static PyObject *: what must be found again is in core_state, one for each
 *    module object. Types are heap types and not to be subclassed, so that core_get_state works on every object.
 *  - Functions return NULL or -1 with an exception set, as CPython's do.
 *  - Numbers come in through core_get_int and core_get_ints, dtypes through core_get_dtype, layouts through
 *    core_get_layout; nothing else reads them. */
#ifndef TEGULA_PYTHON_CORE_H
#define TEGULA_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <tegula/tegula.h>

/* ---- the module ------------------------------------------------------------------ */

enum { CORE_STATUSES = TG_ERR_IO + 1 };

/* Objects that the module owns. A file that adds a type keeps it here; py_module.c visits all of them. */
#define CORE_OBJECTS(X)                                                                                                \
    X(error)           /* tegula.Error, the base */                                                                    \
    X(layout_type)                                                                                                     \
    X(mode_type)                                                                                                       \
    X(difference_type)                                                                                                 \
    X(buffer_type)                                                                                                     \
    X(storage_type)                                                                                                    \
    X(plan_type)                                                                                                       \
    X(losses_type)                                                                                                     \
    X(mismatch_type)                                                                                                   \
    X(module_type)                                                                                                     \
    X(descriptor_type)                                                                                                 \
    X(program_type)                                                                                                    \
    X(picture_type)                                                                                                    \
    X(spyre_layout_type)                                                                                               \
    X(graph_type)                                                                                                      \
    X(graph_node_type)                                                                                                 \
    X(access_type)                                                                                                     \
    X(term_type)                                                                                                       \
    X(graph_plan_type)                                                                                                 \
    X(restickify_type)                                                                                                 \
    X(reader_type)                                                                                                     \
    X(padding_type)                                                                                                    \
    X(division_type)                                                                                                   \
    X(conflict_type)                                                                                                   \
    X(obstacle_type)                                                                                                   \
    X(residence_type)                                                                                                  \
    X(memory_type)                                                                                                     \
    X(simulator_type)                                                                                                  \
    X(deviation_type)                                                                                                  \
    X(bundle_type)                                                                                                     \
    X(transfer_type)                                                                                                   \
    X(loop_type)                                                                                                       \
    X(infeasible)      /* tegula.PlanInfeasible */                                                                     \
    X(spyre_formats)   /* the enumerations of tegula._spyre_names, once somebody asked for a member */                 \
    X(spyre_arrangements)

typedef struct core_state {
#define X(name) PyObject *name;
    CORE_OBJECTS(X)
#undef X
    PyObject *errors[CORE_STATUSES]; /* by tg_status: the exception that carries it */
} core_state;

/* Of the module, or of an object whose type this module made. */
core_state *core_module_state(PyObject *module);
core_state *core_get_state(PyObject *object);

/* Make a type from its spec, put it into the module under its name, and into *slot. */
int core_add_type(PyObject *module, PyObject **slot, PyType_Spec *spec);

int core_add_errors(PyObject *module);
int core_add_layout(PyObject *module);
int core_add_buffer(PyObject *module);
int core_add_plan(PyObject *module);
int core_add_hlo(PyObject *module);
int core_add_dma(PyObject *module);
int core_add_draw(PyObject *module);
int core_add_spyre(PyObject *module);
int core_add_graph(PyObject *module);
int core_add_sim(PyObject *module);

/* ---- errors ---------------------------------------------------------------------- */

/* Raise the exception for err->status. text (NULL if there is none) is what err->pos counts bytes of. NULL. */
void *core_raise(core_state *state, const tg_error *err, PyObject *text);

/* Raise tegula.ArgumentError with a message as of PyUnicode_FromFormat. NULL. */
void *core_raise_argument(core_state *state, const char *format, ...);

/* The error of an array or a dtype whose bytes stand the other way round. NULL. */
void *core_raise_big_endian(core_state *state, const char *what);

/* ---- values ---------------------------------------------------------------------- */

/* An int, or anything with __index__, which messages call `what`. 0, or -1: TypeError, and tegula.OverflowError beyond
 * int64. */
int core_get_int(int64_t *out, core_state *state, PyObject *object, const char *what);

/* An int among the arguments of PyArg_ParseTuple, as "O&" with core_convert_int. */
typedef struct core_int {
    core_state *state;
    const char *what;
    int64_t     value;
} core_int;

int core_convert_int(PyObject *object, void *number);

/* The same for entry i of a list. */
int core_get_entry(int64_t *out, core_state *state, PyObject *object, Py_ssize_t i, const char *what);

/* A sequence of ints; *n is how many. More than cap are tegula.LimitError. */
int core_get_ints(int64_t *out, int32_t *n, int32_t cap, core_state *state, PyObject *object, const char *what);
int core_get_ints32(int32_t *out, int32_t *n, int32_t cap, core_state *state, PyObject *object, const char *what);

/* A name, or what has one: dtypes of NumPy and PyTorch, scalar types of NumPy, JAX and ml_dtypes. */
int core_get_dtype(tg_dtype *out, core_state *state, PyObject *object);

/* Likewise, of an array; errors name the argument that it is, `what`. */
int core_get_dtype_of(tg_dtype *out, core_state *state, PyObject *object, const char *what);

/* repr(value) for a message, not longer than one can read: an int has as many digits as it likes. */
PyObject *core_shown(PyObject *value);

/* The bytes of a str; NULL with TypeError, in which `what` calls the argument, if the object is none. */
const char *core_get_word(Py_ssize_t *len, PyObject *object, const char *what);

/* An enumeration of tegula._spyre_names: "DataFormats", "ElementArrangement". Borrowed, or NULL with an exception. */
PyObject *core_enumeration(core_state *state, const char *name);

/* By name, by torch-spyre's number, or a member of the enumeration. */
int core_get_format(tg_format *out, core_state *state, PyObject *object);
int core_get_arrangement(tg_arrangement *out, core_state *state, PyObject *object);

PyObject *core_ints(const int64_t *values, Py_ssize_t n); /* a tuple */
PyObject *core_ints32(const int32_t *values, Py_ssize_t n);
PyObject *core_list(const int64_t *values, Py_ssize_t n);
PyObject *core_name(const char *name); /* a str; None for NULL */
PyObject *core_text(const char *bytes, size_t len); /* what is no UTF-8 becomes U+FFFD */

/* Put a new reference into a dict, append one to a list; NULL if making it failed. 0, or -1. */
int core_put(PyObject *dict, const char *key, PyObject *value);
int core_append(PyObject *list, PyObject *value);

/* ---- layouts --------------------------------------------------------------------- */

/* tegula.Layout, an immutable value: a layout, and the notation that says it if one does. */
typedef struct core_layout {
    PyObject_HEAD
    bool      has_notation; /* else desc.layout alone counts */
    Py_hash_t hash;         /* -1: not known yet */
    tg_desc   desc;
    PyObject *weakrefs;
} core_layout;

PyObject *core_layout_new(core_state *state, const tg_desc *desc, bool has_notation);

PyObject *core_layout_strided(core_state *state, const tg_host *host);
PyObject *core_layout_of_host(core_state *state, const tg_host *host, const tg_layout *layout); /* of the former */
PyObject *core_layout_spyre(core_state *state, const tg_spyre *spyre, const tg_host *host);
PyObject *core_layout_xla(core_state *state, const tg_xla_shape *array);

/* A new reference to a Layout: the object itself if it is one, else its text read. `name` is that of the argument, NULL
 * where the call is about this layout alone. */
core_layout *core_get_layout(core_state *state, PyObject *object, const char *name);

#endif
