/* The module `tegula._core`: its state, and the list of what the files add to it. */
#include "core.h"

/* One line for each file that has something to add. Errors come first, since the others raise them. */
static int (*const additions[])(PyObject *module) = {
    core_add_errors,
    core_add_layout,
    core_add_buffer,
    core_add_plan,
    core_add_hlo,
    core_add_dma,
    core_add_draw,
    core_add_spyre,
    core_add_graph,
    core_add_sim,
};

core_state *core_module_state(PyObject *module) { return PyModule_GetState(module); }

core_state *core_get_state(PyObject *object) { return PyType_GetModuleState(Py_TYPE(object)); }

int core_add_type(PyObject *module, PyObject **slot, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type == NULL) return -1;
    *slot = type;
    return PyModule_AddType(module, (PyTypeObject *)type);
}

static int add_everything(PyObject *module) {
    for (size_t i = 0; i < sizeof additions / sizeof additions[0]; i++)
        if (additions[i](module) != 0) return -1;
    return PyModule_AddStringConstant(module, "__version__", tg_version());
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    core_state *state = core_module_state(module);
    if (state == NULL) return 0;
#define X(name) Py_VISIT(state->name);
    CORE_OBJECTS(X)
#undef X
    for (int i = 0; i < CORE_STATUSES; i++) Py_VISIT(state->errors[i]);
    return 0;
}

static int clear(PyObject *module) {
    core_state *state = core_module_state(module);
    if (state == NULL) return 0;
#define X(name) Py_CLEAR(state->name);
    CORE_OBJECTS(X)
#undef X
    for (int i = 0; i < CORE_STATUSES; i++) Py_CLEAR(state->errors[i]);
    return 0;
}

static void destroy(void *module) { (void)clear(module); }

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, add_everything},
    {0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tegula._core",
    .m_doc = "Tegula's C library; `import tegula` has all of it.",
    .m_size = sizeof(core_state),
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = destroy,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
