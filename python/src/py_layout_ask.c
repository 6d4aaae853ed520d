/* What a Layout tells: its attributes, which are those of `tegula show --json`, and places and coordinates. */
#include "py_layout.h"

#include <string.h>

static core_layout *layout_of(PyObject *object) { return (core_layout *)object; }

/* ---- what every layout has ------------------------------------------------------------- */

static PyObject *get_text(PyObject *self, void *unused) {
    (void)unused;
    return layout_of(self)->has_notation ? PyObject_Str(self) : Py_NewRef(Py_None);
}

static PyObject *get_notation(PyObject *self, void *unused) {
    (void)unused;
    return core_name(layout_of(self)->has_notation ? tg_notation_name(layout_of(self)->desc.notation) : NULL);
}

static PyObject *get_dtype(PyObject *self, void *unused) {
    (void)unused;
    return core_name(tg_dtype_name(layout_of(self)->desc.layout.dtype));
}

static PyObject *get_format(PyObject *self, void *unused) {
    (void)unused;
    return core_name(tg_format_name(layout_of(self)->desc.layout.format));
}

static PyObject *get_shape(PyObject *self, void *unused) {
    (void)unused;
    return core_ints(layout_of(self)->desc.layout.shape, layout_of(self)->desc.layout.ndim);
}

/* Without tiles each dimension is one mode, whose stride is the dimension's. */
static PyObject *untiled_strides(const tg_layout *layout) {
    int64_t strides[TG_MAX_NDIM] = {0};
    for (int32_t m = 0; m < layout->nmodes; m++) {
        const int32_t axis = layout->mode[m].axis;
        if (axis >= 0 && axis < layout->ndim) strides[axis] = layout->mode[m].stride;
    }
    return core_ints(strides, layout->ndim);
}

static PyObject *get_strides(PyObject *self, void *unused) {
    const core_layout *l = layout_of(self);
    (void)unused;
    if (!l->has_notation) return Py_NewRef(Py_None);
    if (l->desc.notation != TG_NOTATION_XLA) return core_ints(l->desc.host.strides, l->desc.host.ndim);
    return l->desc.xla.layout.ntiles == 0 ? untiled_strides(&l->desc.layout) : Py_NewRef(Py_None);
}

static PyObject *get_storage_offset(PyObject *self, void *unused) {
    const core_layout *l = layout_of(self);
    (void)unused;
    if (!l->has_notation) return PyLong_FromLongLong(l->desc.layout.offset);
    return PyLong_FromLongLong(l->desc.notation == TG_NOTATION_XLA ? 0 : l->desc.host.offset);
}

/* One of the numbers of the layout, chosen by the closure. */
enum { NDIM, ELEMENT_BITS, ELEMENTS, SPAN, MEMORY_SPACE };

static PyObject *get_number(PyObject *self, void *which) {
    const tg_layout *l = &layout_of(self)->desc.layout;
    switch ((int)(intptr_t)which) {
    case NDIM: return PyLong_FromLongLong(l->ndim);
    case ELEMENT_BITS: return PyLong_FromLongLong(l->elem_bits);
    case ELEMENTS: return PyLong_FromLongLong(tg_layout_numel(l));
    case SPAN: return PyLong_FromLongLong(l->span);
    default: return PyLong_FromLongLong(l->memory_space);
    }
}

static PyObject *get_bytes(PyObject *self, void *unused) {
    int64_t  nbytes = 0;
    tg_error err;
    (void)unused;
    if (tg_layout_nbytes(&nbytes, &layout_of(self)->desc.layout, &err) != TG_OK)
        return core_raise(core_get_state(self), &err, NULL);
    return PyLong_FromLongLong(nbytes);
}

enum { UNIQUE, EXHAUSTIVE, PADDING };

static PyObject *get_coverage(PyObject *self, void *which) {
    const tg_layout *l = &layout_of(self)->desc.layout;
    bool             unique = false, exhaustive = false;
    int64_t          data = 0;
    tg_error         err;
    if (tg_layout_coverage(&unique, &exhaustive, &data, l, &err) != TG_OK)
        return core_raise(core_get_state(self), &err, NULL);
    switch ((int)(intptr_t)which) {
    case UNIQUE: return PyBool_FromLong(unique);
    case EXHAUSTIVE: return PyBool_FromLong(exhaustive);
    default: return PyLong_FromLongLong(l->span - data);
    }
}

static PyObject *mode_record(core_state *state, const tg_mode *mode, bool plain) {
    const int64_t fields[] = {mode->size, mode->count, mode->weight, mode->stride, mode->axis, mode->into};
    const int     n = (int)(sizeof fields / sizeof fields[0]);
    if (plain) return core_ints(fields, n);
    PyObject *record = PyStructSequence_New((PyTypeObject *)state->mode_type);
    for (int i = 0; record != NULL && i < n; i++) {
        PyObject *value = PyLong_FromLongLong(fields[i]);
        if (value == NULL) Py_CLEAR(record);
        else PyStructSequence_SetItem(record, i, value);
    }
    return record;
}

PyObject *layout_modes(const core_layout *self, bool plain) {
    const tg_layout *l = &self->desc.layout;
    core_state      *state = PyType_GetModuleState(Py_TYPE((PyObject *)self));
    PyObject        *tuple = PyTuple_New(l->nmodes);
    for (int32_t m = 0; tuple != NULL && m < l->nmodes; m++) {
        PyObject *record = mode_record(state, &l->mode[m], plain);
        if (record == NULL || PyTuple_SetItem(tuple, m, record) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *get_modes(PyObject *self, void *unused) {
    (void)unused;
    return layout_modes(layout_of(self), false);
}

/* ---- what Spyre layouts have -------------------------------------------------------------- */

static const tg_spyre *spyre_of(PyObject *self) {
    const core_layout *l = layout_of(self);
    return l->has_notation && l->desc.notation == TG_NOTATION_SPYRE ? &l->desc.spyre : NULL;
}

enum { DEVICE_SIZE, STRIDE_MAP, DIM_MAP, DEVICE_DTYPE, PER_STICK, ARRANGEMENT, STR };

static PyObject *dim_map(PyObject *self, const tg_spyre *spyre) {
    int64_t map[TG_SPYRE_MAX_RANK];
    if (tg_spyre_dim_map(map, spyre, &layout_of(self)->desc.host, NULL) != TG_OK) return Py_NewRef(Py_None);
    return core_ints(map, spyre->rank);
}

static PyObject *spyre_text(const tg_spyre *spyre) {
    char         buf[2048]; /* 32 sizes and 32 steps of 20 digits and a comma, and the words */
    const size_t need = tg_spyre_str(buf, sizeof buf, spyre);
    return PyUnicode_FromStringAndSize(buf, (Py_ssize_t)(need < sizeof buf ? need : sizeof buf - 1));
}

static PyObject *get_spyre(PyObject *self, void *which) {
    const tg_spyre *spyre = spyre_of(self);
    if (spyre == NULL) return Py_NewRef(Py_None);
    const int32_t bits = tg_format_bits(spyre->device_dtype);
    switch ((int)(intptr_t)which) {
    case DEVICE_SIZE: return core_ints(spyre->device_size, spyre->rank);
    case STRIDE_MAP: return core_ints(spyre->stride_map, spyre->rank);
    case DIM_MAP: return dim_map(self, spyre);
    case DEVICE_DTYPE: return core_name(tg_format_name(spyre->device_dtype));
    case PER_STICK: return PyLong_FromLong(bits > 0 ? TG_SPYRE_STICK_BYTES * 8 / bits : 0);
    case ARRANGEMENT: return core_name(tg_arrangement_name(spyre->arrangement));
    default: return spyre_text(spyre);
    }
}

/* ---- what XLA layouts have ----------------------------------------------------------------- */

static const tg_xla_layout *xla_of(PyObject *self) {
    const core_layout *l = layout_of(self);
    return l->has_notation && l->desc.notation == TG_NOTATION_XLA ? &l->desc.xla.layout : NULL;
}

static PyObject *tile(const int64_t *dims, int32_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (int32_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *value = dims[i] == TG_XLA_COMBINE ? PyUnicode_FromString("*") : PyLong_FromLongLong(dims[i]);
        if (value == NULL || PyTuple_SetItem(tuple, i, value) != 0) Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *tiles(const tg_xla_layout *xla) {
    PyObject      *levels = PyTuple_New(xla->ntiles);
    const int64_t *dims = xla->tile_dims;
    for (int32_t i = 0; levels != NULL && i < xla->ntiles; dims += xla->tile_ndim[i++]) {
        PyObject *level = tile(dims, xla->tile_ndim[i]);
        if (level == NULL || PyTuple_SetItem(levels, i, level) != 0) Py_CLEAR(levels);
    }
    return levels;
}

static PyObject *physical_shape(const tg_layout *layout) {
    int64_t sizes[TG_MAX_MODES];
    int32_t n = 0;
    for (int32_t m = 0; m < layout->nmodes; m++)
        if (layout->mode[m].into == TG_TO_MEMORY) sizes[n++] = layout->mode[m].size;
    return core_ints(sizes, n);
}

enum { MINOR_TO_MAJOR, TILES, TAIL_PADDING, ELEMENT_SIZE, PHYSICAL_SHAPE };

static PyObject *get_xla(PyObject *self, void *which) {
    const tg_xla_layout *xla = xla_of(self);
    if (xla == NULL) return Py_NewRef(Py_None);
    switch ((int)(intptr_t)which) {
    case MINOR_TO_MAJOR: return core_ints32(xla->minor_to_major, xla->ndim);
    case TILES: return tiles(xla);
    case TAIL_PADDING: return PyLong_FromLongLong(xla->tail_padding);
    case ELEMENT_SIZE: return PyLong_FromLongLong(xla->element_size_in_bits);
    default: return physical_shape(&layout_of(self)->desc.layout);
    }
}

/* What few layouts have is only there when they have it. */
static PyObject *dynamic(const tg_xla_shape *array) {
    PyObject *list = PyList_New(0);
    for (int32_t d = 0; list != NULL && d < array->ndim; d++)
        if (core_append(list, PyBool_FromLong(array->dynamic[d])) != 0) Py_CLEAR(list);
    return list;
}

static PyObject *splits(const tg_xla_layout *xla) {
    PyObject      *list = PyList_New(0);
    const int64_t *indices = xla->split_indices;
    for (int32_t i = 0; list != NULL && i < xla->nsplits; indices += xla->split_nindices[i++]) {
        PyObject *split = Py_BuildValue("{sLsN}", "dimension", (long long)xla->split_dim[i], "indices",
                                        core_list(indices, xla->split_nindices[i]));
        if (core_append(list, split) != 0) Py_CLEAR(list);
    }
    return list;
}

static int put_rare(PyObject *dict, const tg_xla_shape *array) {
    const tg_xla_layout *x = &array->layout;
    bool                 is_dynamic = false;
    for (int32_t d = 0; d < array->ndim; d++) is_dynamic = is_dynamic || array->dynamic[d];
    if ((is_dynamic && core_put(dict, "dynamic", dynamic(array)) != 0) ||
        (x->index_type != TG_INVALID && core_put(dict, "index_type", core_name(tg_dtype_name(x->index_type))) != 0) ||
        (x->pointer_type != TG_INVALID &&
         core_put(dict, "pointer_type", core_name(tg_dtype_name(x->pointer_type))) != 0) ||
        (x->nsplits > 0 && core_put(dict, "splits", splits(x)) != 0) ||
        (x->metadata_prefix_bytes != 0 &&
         core_put(dict, "metadata_prefix_bytes", PyLong_FromLongLong(x->metadata_prefix_bytes)) != 0))
        return -1;
    return 0;
}

/* ---- all of them --------------------------------------------------------------------------- */

#define NUMBER(which) ((void *)(intptr_t)(which))

PyGetSetDef layout_getset[] = {
    {"text", get_text, NULL, "The canonical text, which reads back to the same value; None if no notation says it.",
     NULL},
    {"notation", get_notation, NULL, "'strided', 'xla' or 'spyre'; None if the layout is said by its modes alone.",
     NULL},
    {"dtype", get_dtype, NULL, "XLA's name of the element type.", NULL},
    {"format", get_format, NULL, "The device format that elements are stored in; None if it is their dtype.", NULL},
    {"shape", get_shape, NULL, "Sizes, padding excluded.", NULL},
    {"strides", get_strides, NULL, "In elements, of the (host) tensor; None for tiled XLA layouts and for modes.",
     NULL},
    {"storage_offset", get_storage_offset, NULL, "Of the (host) tensor, in elements.", NULL},
    {"ndim", get_number, NULL, "How many dimensions.", NUMBER(NDIM)},
    {"element_bits", get_number, NULL, "Bits of a stored element.", NUMBER(ELEMENT_BITS)},
    {"elements", get_number, NULL, "Logical elements.", NUMBER(ELEMENTS)},
    {"span", get_number, NULL, "Elements of storage, padding included.", NUMBER(SPAN)},
    {"memory_space", get_number, NULL, "XLA's S(n).", NUMBER(MEMORY_SPACE)},
    {"bytes", get_bytes, NULL, "Bytes of storage, padding included.", NULL},
    {"unique", get_coverage, NULL, "Whether no two coordinates share a place.", NUMBER(UNIQUE)},
    {"exhaustive", get_coverage, NULL, "Whether every place of the storage holds data.", NUMBER(EXHAUSTIVE)},
    {"padding_elements", get_coverage, NULL, "Places of the storage that hold no data.", NUMBER(PADDING)},
    {"modes", get_modes, NULL, "The layout itself, as tegula.Mode values.", NULL},
    {"device_size", get_spyre, NULL, "Spyre: extents, outermost first.", NUMBER(DEVICE_SIZE)},
    {"stride_map", get_spyre, NULL, "Spyre: host elements that a step of each device dimension advances.",
     NUMBER(STRIDE_MAP)},
    {"dim_map", get_spyre, NULL, "Spyre: the older form of stride_map, where it exists.", NUMBER(DIM_MAP)},
    {"device_dtype", get_spyre, NULL, "Spyre: the device data format.", NUMBER(DEVICE_DTYPE)},
    {"elements_per_stick", get_spyre, NULL, "Spyre: elements in 128 bytes.", NUMBER(PER_STICK)},
    {"element_arrangement", get_spyre, NULL, "Spyre: how elements are permuted inside sticks.", NUMBER(ARRANGEMENT)},
    {"minor_to_major", get_xla, NULL, "XLA: dimensions, the fastest first.", NUMBER(MINOR_TO_MAJOR)},
    {"tiles", get_xla, NULL, "XLA: the tile levels; '*' combines a dimension with the next one.", NUMBER(TILES)},
    {"tail_padding", get_xla, NULL, "XLA: L(n), 1 if absent.", NUMBER(TAIL_PADDING)},
    {"element_size_in_bits", get_xla, NULL, "XLA: E(n), 0 if absent.", NUMBER(ELEMENT_SIZE)},
    {"physical_shape", get_xla, NULL, "XLA: sizes in memory, tiles included.", NUMBER(PHYSICAL_SHAPE)},
    {NULL, NULL, NULL, NULL, NULL},
};

typedef struct entry {
    const char *key;
    PyObject *(*get)(PyObject *self, void *which);
    int which;
} entry;

/* JSON has lists; tuples in tuples become lists in lists. Takes the reference, which may be NULL. */
static PyObject *as_lists(PyObject *value) {
    if (value == NULL || !PyTuple_Check(value)) return value;
    PyObject *list = PyList_New(0);
    for (Py_ssize_t i = 0; list != NULL && i < PyTuple_Size(value); i++)
        if (core_append(list, as_lists(Py_NewRef(PyTuple_GetItem(value, i)))) != 0) Py_CLEAR(list);
    Py_DECREF(value);
    return list;
}

static int put_entries(PyObject *dict, PyObject *self, const entry *entries) {
    for (; entries->key != NULL; entries++) {
        PyObject *value = as_lists(entries->get(self, NUMBER(entries->which)));
        if (core_put(dict, entries->key, value) != 0) return -1;
    }
    return 0;
}

static PyObject *group(PyObject *self, const entry *entries) {
    PyObject *dict = PyDict_New();
    if (dict != NULL && put_entries(dict, self, entries) != 0) Py_CLEAR(dict);
    if (dict != NULL && xla_of(self) != NULL && put_rare(dict, &layout_of(self)->desc.xla) != 0) Py_CLEAR(dict);
    return dict;
}

/* As null where it takes too long to know. */
static PyObject *get_coverage_or_none(PyObject *self, void *which) {
    PyObject *value = get_coverage(self, which);
    if (value != NULL || !PyErr_ExceptionMatches(core_get_state(self)->errors[TG_ERR_LIMIT])) return value;
    PyErr_Clear();
    return Py_NewRef(Py_None);
}

PyObject *layout_to_dict(PyObject *self, PyObject *none) {
    static const entry all[] = {
        {"text", get_text, 0},
        {"notation", get_notation, 0},
        {"dtype", get_dtype, 0},
        {"element_bits", get_number, ELEMENT_BITS},
        {"shape", get_shape, 0},
        {"strides", get_strides, 0},
        {"offset", get_storage_offset, 0},
        {"elements", get_number, ELEMENTS},
        {"physical_elements", get_number, SPAN},
        {"bytes", get_bytes, 0},
        {"padding_elements", get_coverage_or_none, PADDING},
        {"unique", get_coverage_or_none, UNIQUE},
        {"exhaustive", get_coverage_or_none, EXHAUSTIVE},
        {"memory_space", get_number, MEMORY_SPACE},
        {NULL, NULL, 0},
    };
    static const entry spyre[] = {
        {"device_size", get_spyre, DEVICE_SIZE},
        {"stride_map", get_spyre, STRIDE_MAP},
        {"dim_map", get_spyre, DIM_MAP},
        {"device_dtype", get_spyre, DEVICE_DTYPE},
        {"elements_per_stick", get_spyre, PER_STICK},
        {"element_arrangement", get_spyre, ARRANGEMENT},
        {"str", get_spyre, STR},
        {NULL, NULL, 0},
    };
    static const entry xla[] = {
        {"minor_to_major", get_xla, MINOR_TO_MAJOR},
        {"tiles", get_xla, TILES},
        {"tail_padding", get_xla, TAIL_PADDING},
        {"element_size_in_bits", get_xla, ELEMENT_SIZE},
        {"physical_shape", get_xla, PHYSICAL_SHAPE},
        {NULL, NULL, 0},
    };
    PyObject *dict = PyDict_New();
    (void)none;
    if (dict == NULL) return NULL;
    if (core_put(dict, "schema", PyUnicode_FromString("tegula.layout/1")) != 0 || put_entries(dict, self, all) != 0 ||
        (spyre_of(self) != NULL && core_put(dict, "spyre", group(self, spyre)) != 0) ||
        (xla_of(self) != NULL && core_put(dict, "xla", group(self, xla)) != 0))
        Py_CLEAR(dict);
    return dict;
}

/* ---- places -------------------------------------------------------------------------------- */

/* offset(1, 2, 3), and offset((1, 2, 3)). */
static int get_coord(int64_t *coord, int32_t *n, core_state *state, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs == 1 && !PyLong_Check(args[0]) && !PyIndex_Check(args[0]))
        return core_get_ints(coord, n, TG_MAX_NDIM, state, args[0], "coordinate");
    for (Py_ssize_t i = 0; i < nargs && i < TG_MAX_NDIM; i++)
        if (core_get_int(&coord[i], state, args[i], "a coordinate") != 0) return -1;
    *n = (int32_t)(nargs <= TG_MAX_NDIM ? nargs : TG_MAX_NDIM + 1);
    return 0;
}

PyObject *layout_offset(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    const tg_layout *l = &layout_of(self)->desc.layout;
    core_state      *state = core_get_state(self);
    int64_t          coord[TG_MAX_NDIM];
    int32_t          ndim = 0;
    tg_error         err;
    if (get_coord(coord, &ndim, state, args, n) != 0) return NULL;
    if (ndim != l->ndim)
        return core_raise_argument(state, "a coordinate of %d number%s for %d dimension%s", (int)ndim,
                                   ndim == 1 ? "" : "s", (int)l->ndim, l->ndim == 1 ? "" : "s");
    if (!tg_layout_in_bounds(l, coord, &err)) return core_raise(state, &err, NULL);
    return PyLong_FromLongLong(tg_layout_offset(l, coord));
}

void *layout_raise_outside(core_state *state, const tg_layout *layout, int64_t offset) {
    return core_raise_argument(state, "offset %lld is outside the storage of %lld element%s", (long long)offset,
                               (long long)layout->span, layout->span == 1 ? "" : "s");
}

PyObject *layout_coord(PyObject *self, PyObject *offset) {
    const tg_layout *l = &layout_of(self)->desc.layout;
    core_state      *state = core_get_state(self);
    int64_t          at = 0, coord[TG_MAX_NDIM];
    tg_slot          slot = TG_SLOT_OUTSIDE;
    tg_error         err;
    if (core_get_int(&at, state, offset, "offset") != 0) return NULL;
    if (tg_layout_coord(&slot, coord, l, at, &err) != TG_OK) return core_raise(state, &err, NULL);
    if (slot == TG_SLOT_DATA) return core_ints(coord, l->ndim);
    if (slot == TG_SLOT_PADDING) Py_RETURN_NONE;
    return layout_raise_outside(state, l, at);
}

/* ---- equality -------------------------------------------------------------------------------- */

static const char *const differences[] = {"same", "shape", "width", "map", "copies", "storage"};

static PyObject *difference_record(core_state *state, const tg_witness *w, int32_t ndim) {
    const bool has_coord = w->what == TG_DIFFERENT_MAP || w->what == TG_DIFFERENT_COPIES;
    PyObject  *record = PyStructSequence_New((PyTypeObject *)state->difference_type);
    if (record == NULL) return NULL;
    PyObject *values[] = {PyUnicode_FromString(differences[w->what]),
                          has_coord ? core_ints(w->coord, ndim) : Py_NewRef(Py_None),
                          w->what == TG_DIFFERENT_SHAPE ? Py_NewRef(Py_None) : PyLong_FromLongLong(w->a),
                          w->what == TG_DIFFERENT_SHAPE ? Py_NewRef(Py_None) : PyLong_FromLongLong(w->b)};
    bool failed = false;
    for (int i = 0; i < 4; i++) {
        failed = failed || values[i] == NULL;
        PyStructSequence_SetItem(record, i, values[i] != NULL ? values[i] : Py_NewRef(Py_None));
    }
    if (failed) Py_CLEAR(record);
    return record;
}

static int compare(bool *equal, tg_witness *witness, PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"other", "storage", NULL};
    core_state  *state = core_get_state(self);
    PyObject    *object = NULL;
    int          storage = 0;
    tg_error     err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$p", names, &object, &storage)) return -1;
    core_layout *other = core_get_layout(state, object, "other");
    if (other == NULL) return -1;
    const tg_status s =
        tg_layout_equal(equal, witness, &layout_of(self)->desc.layout, &other->desc.layout, storage != 0, &err);
    Py_DECREF(other);
    if (s != TG_OK) (void)core_raise(state, &err, NULL);
    return s == TG_OK ? 0 : -1;
}

PyObject *layout_equal(PyObject *self, PyObject *args, PyObject *kwargs) {
    bool equal = false;
    return compare(&equal, NULL, self, args, kwargs) == 0 ? PyBool_FromLong(equal) : NULL;
}

PyObject *layout_difference(PyObject *self, PyObject *args, PyObject *kwargs) {
    bool       equal = false;
    tg_witness witness = {.what = TG_SAME};
    if (compare(&equal, &witness, self, args, kwargs) != 0) return NULL;
    if (equal) Py_RETURN_NONE;
    return difference_record(core_get_state(self), &witness, layout_of(self)->desc.layout.ndim);
}

/* ---- records ------------------------------------------------------------------------------------ */

static int add_record(PyObject *module, PyObject **slot, PyStructSequence_Desc *desc) {
    *slot = (PyObject *)PyStructSequence_NewType(desc);
    return *slot != NULL ? PyModule_AddType(module, (PyTypeObject *)*slot) : -1;
}

int layout_add_records(PyObject *module) {
    static PyStructSequence_Field mode_fields[] = {
        {"size", "positions, padding included"},
        {"count", "positions that can hold data"},
        {"weight", "what one step adds to the coordinate of `axis`"},
        {"stride", "what one step adds to the target"},
        {"axis", "dimension, or axis that modes fold into; -1 padding, -2 copies"},
        {"into", "-1 memory, else the axis it is folded into"},
        {NULL, NULL},
    };
    static PyStructSequence_Field difference_fields[] = {
        {"what", "'shape', 'width', 'map', 'copies' or 'storage'"},
        {"coord", "a coordinate that shows it, for 'map' and 'copies'"},
        {"a", "its place in the one, or the one's width or span"},
        {"b", "the same of the other"},
        {NULL, NULL},
    };
    static PyStructSequence_Desc mode = {"tegula.Mode", "One digit of a coordinate, and where it goes.", mode_fields,
                                         6};
    static PyStructSequence_Desc difference = {"tegula.Difference", "How two layouts differ.", difference_fields, 4};
    core_state *state = core_module_state(module);
    if (add_record(module, &state->mode_type, &mode) != 0) return -1;
    return add_record(module, &state->difference_type, &difference);
}
