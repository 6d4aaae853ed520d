/* tegula.dci: torch-spyre's DCI object as a dict, field for field what `tegula dma --dci` prints. */
#include "py_dma.h"

static PyObject *plain(const tg_dci_field *field) {
    switch (field->kind) {
    case TG_DCI_TEXT: return PyUnicode_FromString(field->text);
    case TG_DCI_INTS: return core_list(field->values, field->n);
    default: return PyLong_FromLongLong(field->value);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

static PyObject *entry(const tg_dci *dci, tg_dma_direction direction) {
    PyObject    *dict = PyDict_New();
    tg_dci_field field;
    for (int32_t i = 0; dict != NULL && tg_dci_get_entry_field(&field, i, dci, direction); i++)
        if (core_put(dict, field.name, plain(&field)) != 0) Py_CLEAR(dict);
    return dict;
}

/* Of the tensor that is moved; NULL: it is not strided, or the layout's own. */
static const int64_t *host_strides(const core_program *p) {
    const core_layout *host = p->host;
    return host->has_notation && host->desc.notation == TG_NOTATION_STRIDED ? host->desc.host.strides : NULL;
}

static int append_entries(PyObject *list, core_state *state, const core_program *p, const tg_dma *chunk, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tg_dci   dci;
        tg_error err;
        if (tg_dci_from_dma(&dci, &chunk[i], &p->device->desc, host_strides(p), &err) != TG_OK)
            return (void)core_raise(state, &err, NULL), -1;
        if (core_append(list, entry(&dci, p->direction)) != 0) return -1;
    }
    return 0;
}

static PyObject *entries(core_state *state, const core_program *p) {
    PyObject *list = PyList_New(0);
    tg_dma    chunk[DMA_CHUNK];
    size_t    n;
    for (size_t first = 0; list != NULL && first < p->count; first += n)
        if (dma_get(chunk, DMA_CHUNK, &n, p, state, first) != 0 || append_entries(list, state, p, chunk, n) != 0)
            Py_CLEAR(list);
    return list;
}

/* ---- the object -------------------------------------------------------------------------------- */

static bool get_field(tg_dci_field *out, int32_t index, const core_program *p) {
    return tg_dci_get_field(out, index, &p->device->desc, &p->host->desc.layout, p->direction);
}

/* The fields [*index, end), and *index moves there. */
static PyObject *object(core_state *state, const core_program *p, int32_t *index, int32_t end) {
    PyObject    *dict = PyDict_New(), *value;
    tg_dci_field field;
    while (dict != NULL && *index < end && get_field(&field, *index, p)) {
        ++*index;
        if (field.kind == TG_DCI_ENTRIES) value = entries(state, p);
        else if (field.kind == TG_DCI_OBJECT) value = object(state, p, index, *index + field.n);
        else value = plain(&field);
        if (core_put(dict, field.name, value) != 0) Py_CLEAR(dict);
    }
    return dict;
}

static PyObject *raise_none(core_state *state, const core_program *p) {
    const char *name = p->device->has_notation ? tg_notation_name(p->device->desc.notation) : "in no notation";
    return core_raise_argument(state, "only a Spyre layout has DCI, this one is %s", name);
}

PyObject *dma_dci_dict(core_state *state, const dma_wish *wish) {
    int32_t       index = 0;
    core_program *p = dma_program(state, wish);
    if (p == NULL) return NULL;
    const bool is_spyre = p->device->has_notation && p->device->desc.notation == TG_NOTATION_SPYRE;
    PyObject  *dict = is_spyre ? object(state, p, &index, INT32_MAX) : raise_none(state, p);
    Py_DECREF((PyObject *)p);
    return dict;
}

PyObject *dma_dci(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"layout", "host", "direction", NULL};
    dma_wish     wish = {NULL, NULL, NULL, 1};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OO:dci", names, &wish.layout, &wish.host, &wish.direction))
        return NULL;
    return dma_dci_dict(core_module_state(module), &wish);
}
