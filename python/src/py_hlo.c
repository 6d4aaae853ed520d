/* tegula.hlo: HLO text as the dicts and lists that `tegula hlo --json` prints, field for field. */
#include "py_hlo.h"

#include <string.h>

static core_hlo *hlo_of(PyObject *object) { return (core_hlo *)object; }

PyObject *hlo_piece(tg_hlo_text text) { return core_text(text.chars, text.len); }

PyObject *hlo_operand_name(const tg_hlo_operand *o) {
    return o->name.len == 0 ? hlo_piece(o->text) : core_text(o->name.chars, o->name.len + o->path.len);
}

tg_hlo_computation hlo_computation_of(const tg_hlo_module *module, int64_t instruction) {
    int64_t first = 0, end = tg_hlo_get_header(module).ncomputations;
    while (first < end) { /* they come in the order of their instructions; empty ones may stand anywhere */
        const int64_t            middle = first + (end - first) / 2;
        const tg_hlo_computation c = tg_hlo_get_computation(module, middle);
        if (instruction >= c.first_instruction && instruction < c.first_instruction + c.ninstructions) return c;
        if (instruction < c.first_instruction) end = middle;
        else first = middle + 1;
    }
    return tg_hlo_get_computation(module, TG_HLO_NONE);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

/* The `%` that HLO writes before names is no part of them. */
static int get_word(tg_hlo_text *out, PyObject *object) {
    Py_ssize_t len = 0;
    if (object == NULL || object == Py_None) return 0;
    const char *word = core_get_word(&len, object, "a name of HLO");
    if (word == NULL) return -1;
    const size_t skipped = len > 0 && *word == '%';
    *out = (tg_hlo_text){word + skipped, (size_t)len - skipped};
    return 0;
}

static int check_computation(PyObject *self, PyObject *name, tg_hlo_text computation) {
    if (computation.len == 0 || tg_hlo_find_computation(hlo_of(self)->module, computation) != TG_HLO_NONE) return 0;
    (void)core_raise_argument(core_get_state(self), "there is no computation %R", name);
    return -1;
}

int hlo_get_wish(hlo_wish *out, PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"computation", "opcode", "limit", NULL};
    PyObject    *computation = NULL, *opcode = NULL, *limit = NULL;
    memset(out, 0, sizeof *out);
    out->limit = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOO", names, &computation, &opcode, &limit)) return -1;
    if (get_word(&out->filter.computation, computation) != 0 || get_word(&out->filter.opcode, opcode) != 0) return -1;
    if (check_computation(self, computation, out->filter.computation) != 0) return -1;
    if (limit == NULL || limit == Py_None) return 0;
    if (core_get_int(&out->limit, core_get_state(self), limit, "limit") != 0) return -1;
    if (out->limit >= 0) return 0;
    (void)core_raise_argument(core_get_state(self), "the limit is a number of rows, and not %lld",
                              (long long)out->limit);
    return -1;
}

/* ---- the listing ------------------------------------------------------------------------------- */

static bool is_wanted(const hlo_wish *w, const tg_hlo_instruction *i) {
    const tg_hlo_text opcode = w->filter.opcode;
    return opcode.len == 0 || (opcode.len == i->opcode.len && memcmp(opcode.chars, i->opcode.chars, opcode.len) == 0);
}

static PyObject *operands(const tg_hlo_module *module, const tg_hlo_instruction *i) {
    PyObject *list = PyList_New(0);
    for (int64_t k = 0; list != NULL && k < i->noperands; k++) {
        const tg_hlo_operand o = tg_hlo_get_operand(module, i->first_operand + k);
        if (core_append(list, hlo_operand_name(&o)) != 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *attributes(const tg_hlo_module *module, int64_t first, int64_t n) {
    PyObject *dict = PyDict_New();
    for (int64_t a = 0; dict != NULL && a < n; a++) {
        const tg_hlo_attribute attribute = tg_hlo_get_attribute(module, first + a);
        PyObject              *key = hlo_piece(attribute.key), *value = hlo_piece(attribute.value);
        if (key == NULL || value == NULL || PyDict_SetItem(dict, key, value) != 0) Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *shape_text(const tg_hlo_module *module, int64_t shape) {
    return shape != TG_HLO_NONE ? hlo_piece(tg_hlo_get_shape(module, shape).text) : Py_NewRef(Py_None);
}

static PyObject *instruction(const tg_hlo_module *module, int64_t id, const tg_hlo_instruction *i) {
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
    if (core_put(dict, "name", hlo_piece(i->name)) != 0 || core_put(dict, "opcode", hlo_piece(i->opcode)) != 0 ||
        core_put(dict, "shape", shape_text(module, i->shape)) != 0 ||
        (i->noperands == 0 && core_put(dict, "arguments", hlo_piece(tg_hlo_get_arguments(module, id))) != 0) ||
        core_put(dict, "operands", operands(module, i)) != 0 ||
        core_put(dict, "attributes", attributes(module, i->first_attribute, i->nattributes)) != 0 ||
        core_put(dict, "root", PyBool_FromLong(i->root)) != 0)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *instructions(const tg_hlo_module *module, const tg_hlo_computation *c, const hlo_wish *w) {
    PyObject *list = PyList_New(0);
    for (int64_t k = 0; list != NULL && k < c->ninstructions; k++) {
        const int64_t            id = c->first_instruction + k;
        const tg_hlo_instruction i = tg_hlo_get_instruction(module, id);
        if (is_wanted(w, &i) && core_append(list, instruction(module, id, &i)) != 0) Py_CLEAR(list);
    }
    return list;
}

/* NULL without an exception: nothing in it is wanted. */
static PyObject *computation(const tg_hlo_module *module, const tg_hlo_computation *c, const hlo_wish *w) {
    PyObject *list = instructions(module, c, w);
    if (list == NULL) return NULL;
    if (w->filter.opcode.len > 0 && PyList_Size(list) == 0) {
        Py_DECREF(list);
        return NULL;
    }
    PyObject *dict = PyDict_New();
    if (dict == NULL) {
        Py_DECREF(list);
        return NULL;
    }
    if (core_put(dict, "name", hlo_piece(c->name)) != 0 || core_put(dict, "entry", PyBool_FromLong(c->entry)) != 0) {
        Py_DECREF(list);
        Py_DECREF(dict);
        return NULL;
    }
    if (core_put(dict, "instructions", list) != 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *computations(const tg_hlo_module *module, const hlo_wish *w) {
    const tg_hlo_text name = w->filter.computation;
    const int64_t     only = name.len > 0 ? tg_hlo_find_computation(module, name) : TG_HLO_NONE;
    const int64_t     n = tg_hlo_get_header(module).ncomputations;
    PyObject         *list = PyList_New(0);
    for (int64_t id = 0; list != NULL && id < n; id++) {
        const tg_hlo_computation c = tg_hlo_get_computation(module, id);
        if (only != TG_HLO_NONE && id != only) continue;
        PyObject *dict = computation(module, &c, w);
        if (dict == NULL && !PyErr_Occurred()) continue;
        if (core_append(list, dict) != 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *hlo_to_dict(PyObject *self, PyObject *args, PyObject *kwargs) {
    const tg_hlo_module *module = hlo_of(self)->module;
    hlo_wish             w;
    if (hlo_get_wish(&w, self, args, kwargs) != 0) return NULL;
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
    if (core_put(dict, "schema", PyUnicode_FromString("tegula.hlo/1")) != 0 ||
        core_put(dict, "module", hlo_piece(tg_hlo_get_header(module).name)) != 0 ||
        core_put(dict, "computations", computations(module, &w)) != 0)
        Py_CLEAR(dict);
    return dict;
}

/* ---- the module ----------------------------------------------------------------------------------- */

static PyObject *get_name(PyObject *self, void *unused) {
    (void)unused;
    return hlo_piece(tg_hlo_get_header(hlo_of(self)->module).name);
}

static PyObject *get_computations(PyObject *self, void *unused) {
    const hlo_wish all = {.limit = -1};
    (void)unused;
    return computations(hlo_of(self)->module, &all);
}

static PyObject *get_attributes(PyObject *self, void *unused) {
    const tg_hlo_header header = tg_hlo_get_header(hlo_of(self)->module);
    (void)unused;
    return attributes(hlo_of(self)->module, header.first_attribute, header.nattributes);
}

/* Printed as XLA does: comments dropped, one instruction on a line. */
static PyObject *hlo_str(PyObject *self) {
    const size_t need = tg_hlo_print(NULL, 0, hlo_of(self)->module);
    char        *text = PyMem_Malloc(need + 1);
    if (text == NULL) return PyErr_NoMemory();
    (void)tg_hlo_print(text, need + 1, hlo_of(self)->module);
    PyObject *answer = core_text(text, need);
    PyMem_Free(text);
    return answer;
}

static PyObject *hlo_repr(PyObject *self) {
    const tg_hlo_header header = tg_hlo_get_header(hlo_of(self)->module);
    PyObject           *name = hlo_piece(header.name);
    PyObject           *repr = name == NULL ? NULL
                                            : PyUnicode_FromFormat("<tegula.hlo.Module %R: %lld instructions>", name,
                                                                   (long long)header.ninstructions);
    Py_XDECREF(name);
    return repr;
}

static void hlo_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    tg_hlo_destroy(&hlo_of(self)->module);
    Py_XDECREF(hlo_of(self)->text);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *raise_reading(core_state *state, const tg_error *err, PyObject *bytes) {
    PyObject *text = PyUnicode_FromEncodedObject(bytes, "utf-8", "replace");
    if (text == NULL) return NULL;
    (void)core_raise(state, err, text);
    Py_DECREF(text);
    return NULL;
}

/* Takes the reference to bytes. */
static PyObject *read_bytes(core_state *state, PyObject *bytes) {
    char          *chars = NULL;
    Py_ssize_t     len = 0;
    tg_hlo_module *module = NULL;
    tg_error       err;
    tg_status      s = TG_ERR_ARGUMENT;
    PyObject      *answer = NULL;
    if (PyBytes_AsStringAndSize(bytes, &chars, &len) == 0) {
        Py_BEGIN_ALLOW_THREADS
        s = tg_hlo_parse(&module, chars, (size_t)len, &err);
        Py_END_ALLOW_THREADS
        if (s != TG_OK) (void)raise_reading(state, &err, bytes);
    }
    if (s == TG_OK) answer = (PyObject *)PyObject_New(core_hlo, (PyTypeObject *)state->module_type);
    if (answer == NULL) {
        tg_hlo_destroy(&module);
        Py_DECREF(bytes);
        return NULL;
    }
    hlo_of(answer)->module = module;
    hlo_of(answer)->text = bytes;
    return answer;
}

PyObject *hlo_parse(core_state *state, PyObject *text) {
    if (!PyUnicode_Check(text) && !PyBytes_Check(text))
        return PyErr_Format(PyExc_TypeError, "HLO text is str or bytes, not %R", Py_TYPE(text));
    PyObject *bytes = PyUnicode_Check(text) ? PyUnicode_AsUTF8String(text) : Py_NewRef(text);
    return bytes != NULL ? read_bytes(state, bytes) : NULL;
}

static PyObject *parse_hlo(PyObject *module, PyObject *text) { return hlo_parse(core_module_state(module), text); }

#define CALL(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"to_dict", CALL(hlo_to_dict), METH_VARARGS | METH_KEYWORDS,
     "to_dict(*, computation=None, opcode=None, limit=None)\n--\n\nThe object of `tegula hlo --json`."},
    {"padding", CALL(hlo_padding), METH_VARARGS | METH_KEYWORDS,
     "padding(*, computation=None, opcode=None, limit=None)\n--\n\nThe object of `tegula hlo --report padding "
     "--json`."},
    {"copies", CALL(hlo_copies), METH_VARARGS | METH_KEYWORDS,
     "copies(*, computation=None, opcode=None, limit=None)\n--\n\nThe object of `tegula hlo --report copies --json`."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"name", get_name, NULL, "Of the module.", NULL},
    {"attributes", get_attributes, NULL, "Of the header, as they are written.", NULL},
    {"computations", get_computations, NULL, "As of to_dict().", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "An HLO text that was read; str() prints it as XLA does. Made by tegula.hlo.parse."},
    {Py_tp_dealloc, hlo_dealloc},
    {Py_tp_str, hlo_str},
    {Py_tp_repr, hlo_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.hlo.Module",
    .basicsize = sizeof(core_hlo),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

static PyMethodDef functions[] = {
    {"parse_hlo", parse_hlo, METH_O, "parse_hlo(text, /)\n--\n\nRead HLO text, str or bytes."},
    {NULL, NULL, 0, NULL},
};

int core_add_hlo(PyObject *module) {
    if (core_add_type(module, &core_module_state(module)->module_type, &spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
