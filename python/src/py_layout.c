/* tegula.Layout: how it is made, compared, printed and kept. What it answers is in py_layout_ask.c, what it is made
 * into in py_layout_view.c.
 *
 * Two Layouts are == if they are the same value: the same canonical text, or, where no notation says the layout, the
 * same modes. `equal` is the other question, whether they are the same map. */
#include "py_layout.h"

#include <stddef.h>
#include <string.h>
#include <structmember.h>

PyObject *core_layout_new(core_state *state, const tg_desc *desc, bool has_notation) {
    core_layout *self = PyObject_New(core_layout, (PyTypeObject *)state->layout_type);
    if (self == NULL) return NULL;
    self->has_notation = has_notation;
    self->hash = -1;
    self->desc = *desc;
    self->weakrefs = NULL;
    return (PyObject *)self;
}

/* The message of `err`, after the name of the argument that it is about. */
static void put_name(tg_error *err, const char *name) {
    tg_error named = *err;
    PyOS_snprintf(named.message, sizeof named.message, "%s: %s", name, err->message);
    *err = named;
}

static PyObject *parse_text(core_state *state, PyObject *text, const char *name) {
    tg_desc     desc;
    tg_error    err;
    Py_ssize_t  len = 0;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &len);
    if (bytes == NULL) return NULL;
    if (tg_desc_parse(&desc, bytes, (size_t)len, &err) == TG_OK) return core_layout_new(state, &desc, true);
    if (name != NULL) put_name(&err, name);
    return core_raise(state, &err, text);
}

core_layout *core_get_layout(core_state *state, PyObject *object, const char *name) {
    if (Py_IS_TYPE(object, (PyTypeObject *)state->layout_type)) return (core_layout *)Py_NewRef(object);
    if (PyUnicode_Check(object)) return (core_layout *)parse_text(state, object, name);
    return (core_layout *)PyErr_Format(PyExc_TypeError, "%s must be a Layout or its text, not %R",
                                       name != NULL ? name : "a layout", Py_TYPE(object));
}

static PyObject *layout_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"text", NULL};
    PyObject    *text = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Layout", names, &text)) return NULL;
    if (!PyDict_Check(text)) return (PyObject *)core_get_layout(PyType_GetModuleState(type), text, NULL);
    PyObject *none = PyTuple_New(0); /* what __reduce__ wrote of a layout without notation */
    PyObject *layout = none != NULL ? layout_from_modes((PyObject *)type, none, text) : NULL;
    Py_XDECREF(none);
    return layout;
}

static PyObject *layout_parse(PyObject *type, PyObject *text) {
    if (!PyUnicode_Check(text)) return PyErr_Format(PyExc_TypeError, "expected text, not %R", Py_TYPE(text));
    return parse_text(PyType_GetModuleState((PyTypeObject *)type), text, NULL);
}

static void layout_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_ClearWeakRefs(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* ---- text ------------------------------------------------------------------------------ */

enum { SHORT = 512 };

static PyObject *canonical_text(const tg_desc *desc) {
    char         buf[SHORT];
    const size_t need = tg_desc_format(buf, sizeof buf, desc);
    if (need < sizeof buf) return PyUnicode_FromStringAndSize(buf, (Py_ssize_t)need);
    char *more = PyMem_Malloc(need + 1);
    if (more == NULL) return PyErr_NoMemory();
    (void)tg_desc_format(more, need + 1, desc);
    PyObject *text = PyUnicode_FromStringAndSize(more, (Py_ssize_t)need);
    PyMem_Free(more);
    return text;
}

/* Layout.from_modes(...) with all that is not as usual. */
static PyObject *modes_repr(const core_layout *self) {
    const tg_layout *l = &self->desc.layout;
    const bool       native = l->format == TG_FORMAT_NATIVE;
    char             offset[40] = "", bits[40] = "", format[64] = "", space[40] = "";
    const int32_t    usual = native ? tg_dtype_storage_bits(l->dtype) : tg_format_bits(l->format);
    if (l->offset != 0) PyOS_snprintf(offset, sizeof offset, ", offset=%lld", (long long)l->offset);
    if (l->elem_bits != usual) PyOS_snprintf(bits, sizeof bits, ", element_bits=%d", l->elem_bits);
    if (!native) PyOS_snprintf(format, sizeof format, ", format='%s'", tg_format_name(l->format));
    if (l->memory_space != 0) PyOS_snprintf(space, sizeof space, ", memory_space=%d", l->memory_space);
    PyObject *shape = core_ints(l->shape, l->ndim), *modes = layout_modes(self, true);
    PyObject *axes = core_ints(l->axis_size + l->ndim, l->naxes - l->ndim);
    PyObject *repr = NULL;
    if (shape != NULL && modes != NULL && axes != NULL && l->naxes > l->ndim)
        repr = PyUnicode_FromFormat("Layout.from_modes('%s', %R, %R, %lld, axes=%R%s%s%s%s)", tg_dtype_name(l->dtype),
                                    shape, modes, (long long)l->span, axes, offset, bits, format, space);
    else if (shape != NULL && modes != NULL && axes != NULL)
        repr = PyUnicode_FromFormat("Layout.from_modes('%s', %R, %R, %lld%s%s%s%s)", tg_dtype_name(l->dtype), shape,
                                    modes, (long long)l->span, offset, bits, format, space);
    Py_XDECREF(shape);
    Py_XDECREF(modes);
    Py_XDECREF(axes);
    return repr;
}

static PyObject *layout_repr(PyObject *object) {
    const core_layout *self = (const core_layout *)object;
    if (!self->has_notation) return modes_repr(self);
    PyObject *text = canonical_text(&self->desc);
    PyObject *repr = text != NULL ? PyUnicode_FromFormat("Layout(%R)", text) : NULL;
    Py_XDECREF(text);
    return repr;
}

static PyObject *layout_str(PyObject *object) {
    const core_layout *self = (const core_layout *)object;
    return self->has_notation ? canonical_text(&self->desc) : modes_repr(self);
}

/* ---- one value or two ---------------------------------------------------------------------- */

static Py_hash_t layout_hash(PyObject *object) {
    core_layout *self = (core_layout *)object;
    if (self->hash == -1) {
        PyObject *text = layout_str(object);
        if (text == NULL) return -1;
        self->hash = PyObject_Hash(text);
        Py_DECREF(text);
    }
    return self->hash;
}

static PyObject *layout_richcompare(PyObject *a, PyObject *b, int op) {
    if ((op != Py_EQ && op != Py_NE) || !Py_IS_TYPE(b, Py_TYPE(a))) Py_RETURN_NOTIMPLEMENTED;
    if (a == b) return PyBool_FromLong(op == Py_EQ);
    PyObject *x = layout_str(a), *y = layout_str(b);
    PyObject *answer = x != NULL && y != NULL ? PyObject_RichCompare(x, y, op) : NULL;
    Py_XDECREF(x);
    Py_XDECREF(y);
    return answer;
}

static PyObject *layout_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    return Py_NewRef(self);
}

/* (dtype, shape, modes, span) and the rest by name: what from_modes takes. */
static PyObject *modes_state(const core_layout *self) {
    const tg_layout *l = &self->desc.layout;
    PyObject *dict = PyDict_New();
    if (dict == NULL) return NULL;
    if (core_put(dict, "dtype", core_name(tg_dtype_name(l->dtype))) != 0 ||
        core_put(dict, "shape", core_ints(l->shape, l->ndim)) != 0 ||
        core_put(dict, "modes", layout_modes(self, true)) != 0 ||
        core_put(dict, "span", PyLong_FromLongLong(l->span)) != 0 ||
        core_put(dict, "offset", PyLong_FromLongLong(l->offset)) != 0 ||
        core_put(dict, "axes", core_ints(l->axis_size + l->ndim, l->naxes - l->ndim)) != 0 ||
        core_put(dict, "element_bits", PyLong_FromLong(l->elem_bits)) != 0 ||
        core_put(dict, "format", core_name(tg_format_name(l->format))) != 0 ||
        core_put(dict, "memory_space", PyLong_FromLong(l->memory_space)) != 0)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *layout_reduce(PyObject *object, PyObject *unused) {
    const core_layout *self = (const core_layout *)object;
    PyObject          *what = self->has_notation ? canonical_text(&self->desc) : modes_state(self);
    (void)unused;
    if (what == NULL) return NULL;
    PyObject *type = (PyObject *)Py_TYPE(object);
    PyObject *answer = Py_BuildValue("O(N)", type, what);
    return answer;
}

/* ---- the type --------------------------------------------------------------------------------- */

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"parse", layout_parse, METH_O | METH_CLASS, "parse(text, /)\n--\n\nRead one line of notation."},
    {"of", layout_of_array, METH_O | METH_CLASS,
     "of(array, /)\n--\n\nThe layout of an array's memory, or of a Buffer."},
    {"strided", FAST(layout_strided), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "strided(shape, dtype, strides=None, offset=0)\n--\n\nA strided array; row-major and dense without strides."},
    {"spyre", FAST(layout_spyre), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "spyre(shape, dtype, dim_order=None, *, strides=None, offset=0, unit_dims='drop', device_dtype=None,\n"
     "      arrangement='STANDARD', device_size=None, stride_map=None, dim_map=None)\n--\n\n"
     "A Spyre layout of a host tensor: the default one, or that of device_size and stride_map (or dim_map)."},
    {"xla", FAST(layout_xla), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "xla(shape, dtype, minor_to_major=None, tiles=(), *, tail_padding=1, element_size_in_bits=0, memory_space=0)\n"
     "--\n\nAn XLA layout; row-major without minor_to_major. '*' in a tile combines."},
    {"from_modes", FAST(layout_from_modes), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "from_modes(dtype, shape, modes, span, *, offset=0, axes=(), element_bits=0, format=None, memory_space=0)\n--\n\n"
     "The layout of these modes (size, count, weight, stride, axis, into), if they are one."},
    {"to_dict", layout_to_dict, METH_NOARGS, "to_dict()\n--\n\nThe object of `tegula show --json`."},
    {"offset", FAST(layout_offset), METH_FASTCALL,
     "offset(*coord)\n--\n\nWhere the element is, in elements; offset(1, 2) or offset((1, 2))."},
    {"coord", layout_coord, METH_O,
     "coord(offset, /)\n--\n\nWhich element is there; None for padding. The first one if several are."},
    {"offsets", layout_offsets, METH_O,
     "offsets(coords, /)\n--\n\nOf an int64 array [n,ndim] of coordinates: a Buffer s64[n]."},
    {"coords", layout_coords, METH_O,
     "coords(offsets, /)\n--\n\nOf an int64 array [n] of offsets: a Buffer s64[n,ndim], with -1 for padding."},
    {"equal", FAST(layout_equal), METH_VARARGS | METH_KEYWORDS,
     "equal(other, *, storage=False)\n--\n\nWhether both are the same map; with storage, also of the same span."},
    {"difference", FAST(layout_difference), METH_VARARGS | METH_KEYWORDS,
     "difference(other, *, storage=False)\n--\n\nNone if they are equal, else a tegula.Difference that shows it."},
    {"permute", FAST(layout_permute), METH_FASTCALL, "permute(*dims)\n--\n\nDimension i is dimension dims[i] of this."},
    {"transpose", layout_transpose, METH_VARARGS, "transpose(dim0, dim1, /)\n--\n\nTwo dimensions change places."},
    {"reshape", FAST(layout_reshape), METH_FASTCALL,
     "reshape(*shape)\n--\n\nThe same row-major number of every element; one size may be -1, which is the rest."},
    {"flatten", layout_flatten, METH_NOARGS, "flatten()\n--\n\nOne dimension, in row-major order."},
    {"slice", FAST(layout_slice), METH_VARARGS | METH_KEYWORDS,
     "slice(dim, start, stop, step=1)\n--\n\nThe coordinates range(start, stop, step) of a dimension."},
    {"select", layout_select, METH_VARARGS, "select(dim, index, /)\n--\n\nOne place of a dimension, which goes away."},
    {"expand", layout_expand, METH_VARARGS, "expand(dim, size, /)\n--\n\nA dimension of size 1 repeats."},
    {"squeeze", layout_squeeze, METH_O, "squeeze(dim, /)\n--\n\nA dimension of size 1 goes away."},
    {"unsqueeze", layout_unsqueeze, METH_O, "unsqueeze(dim, /)\n--\n\nA dimension of size 1 comes before dim."},
    {"split", layout_split, METH_VARARGS,
     "split(mode, tile, /)\n--\n\nA mode as ceil(size / tile) outer and tile inner steps."},
    {"merge", layout_merge, METH_O, "merge(mode, /)\n--\n\nThis mode and the next one as one."},
    {"reorder", FAST(layout_reorder), METH_FASTCALL,
     "reorder(*order)\n--\n\nModes in this order, dense and row-major: how a tiled layout is made."},
    {"coalesce", layout_coalesce, METH_NOARGS, "coalesce()\n--\n\nThe normal form: as few modes as can be."},
    {"convert", layout_convert, METH_O, "convert(to, /)\n--\n\nThe same map as 'strided', 'xla' or 'spyre'."},
    {"cute", layout_cute, METH_NOARGS, "cute()\n--\n\nCuTe's text (shape):(stride), first mode fastest."},
    {"draw", FAST(layout_draw), METH_VARARGS | METH_KEYWORDS,
     "draw(*, view=None, highlight=None, slice=None, label=None, order=False, diff=None, cores=None, theme='auto',\n"
     "     width=None, ascii=False)\n--\n\nA tegula.Picture: print it, or take its svg()."},
    {"_repr_svg_", layout_svg, METH_NOARGS, "_repr_svg_()\n--\n\nIts picture as an SVG file, for notebooks."},
    {"_repr_html_", layout_html, METH_NOARGS, "_repr_html_()\n--\n\nIts picture as an image, for notebooks."},
    {"__reduce__", layout_reduce, METH_NOARGS, NULL},
    {"__copy__", layout_copy, METH_NOARGS, NULL},
    {"__deepcopy__", layout_copy, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(core_layout, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Layout(text)\n--\n\nWhere every element of a tensor is. Immutable."},
    {Py_tp_new, layout_new},
    {Py_tp_dealloc, layout_dealloc},
    {Py_tp_str, layout_str},
    {Py_tp_repr, layout_repr},
    {Py_tp_hash, layout_hash},
    {Py_tp_richcompare, layout_richcompare},
    {Py_tp_methods, methods},
    {Py_tp_getset, layout_getset},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Layout",
    .basicsize = sizeof(core_layout),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int core_add_layout(PyObject *module) {
    if (layout_add_records(module) != 0) return -1;
    return core_add_type(module, &core_module_state(module)->layout_type, &spec);
}
