/* tegula.Picture: a layout as a person sees it, as text or as SVG.
 *
 * A Picture keeps what was wished for, and is drawn when it is shown: text and SVG have other widths, unless one is
 * asked for. In a notebook a Layout shows its usual Picture, as an image (tegula/_notebook.py). */
#include "py_layout.h"

#include <string.h>
#include <tegula/draw.h>

enum { TEXT_WIDTH = 100, SVG_WIDTH = 132 }; /* characters; as the command has them for files */

typedef struct core_picture {
    PyObject_HEAD
    core_layout      *layout, *other; /* other may be NULL */
    PyObject         *title;
    bool              ascii;
    tg_theme          theme;
    tg_layout         host; /* params point to these */
    int64_t           follow[TG_MAX_NDIM], slice[TG_MAX_NDIM], splits[TG_MAX_NDIM];
    tg_picture_params params;
} core_picture;

static core_picture *picture_of(PyObject *object) { return (core_picture *)object; }

/* What may be said; NULL or None where nothing is. */
typedef struct wishes {
    PyObject *view, *highlight, *slice, *label, *diff, *cores, *theme, *width;
    int       order, ascii;
} wishes;

static bool is_given(PyObject *object) { return object != NULL && object != Py_None; }

/* ---- words ------------------------------------------------------------------------------------ */

/* Which of names a word is; -1 with an exception if none. */
static int choose(core_state *state, const char *what, PyObject *word, const char *const *names, const char *all) {
    for (int i = 0; PyUnicode_Check(word) && names[i] != NULL; i++)
        if (PyUnicode_CompareWithASCIIString(word, names[i]) == 0) return i;
    (void)core_raise_argument(state, "%s is %s, not %R", what, all, word);
    return -1;
}

/* "logical,device", or a sequence of such words; a new reference. */
static PyObject *split_words(PyObject *view) {
    if (!PyUnicode_Check(view)) return PySequence_List(view);
    PyObject *comma = PyUnicode_FromString(","), *words = comma != NULL ? PyUnicode_Split(view, comma, -1) : NULL;
    Py_XDECREF(comma);
    return words;
}

static int get_views(uint32_t *out, core_state *state, PyObject *view) {
    static const char *const names[] = {"logical", "host", "device", "inside", "all", NULL};
    int                      which = 0;
    if (!is_given(view)) return 0;
    PyObject *words = split_words(view);
    if (words == NULL) return -1;
    for (Py_ssize_t i = 0; which >= 0 && i < PyList_Size(words); i++) {
        which = choose(state, "view", PyList_GetItem(words, i), names,
                       "'logical', 'host', 'device', 'inside', several of them, or 'all'");
        if (which >= 0 && which < 4) *out |= 1u << which;
    }
    Py_DECREF(words);
    return which >= 0 ? 0 : -1;
}

static int get_label(tg_draw_label *out, core_state *state, const wishes *w) {
    static const char *const names[] = {"coord", "offset", "byte", NULL};
    *out = w->order ? TG_LABEL_ORDER : TG_LABEL_USUAL;
    if (!is_given(w->label)) return 0;
    if (w->order) {
        (void)core_raise_argument(state, "the numbers of order would take the place of label; give one of the two");
        return -1;
    }
    const int which = choose(state, "label", w->label, names, "'coord', 'offset' or 'byte'");
    *out = (tg_draw_label)(TG_LABEL_COORD + which);
    return which >= 0 ? 0 : -1;
}

static int get_theme(tg_theme *out, core_state *state, PyObject *theme) {
    static const char *const names[] = {"auto", "light", "dark", NULL};
    const int which = is_given(theme) ? choose(state, "theme", theme, names, "'auto', 'light' or 'dark'") : 0;
    *out = (tg_theme)which;
    return which >= 0 ? 0 : -1;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

static int check_count(core_state *state, const core_picture *self, int32_t n, const char *what) {
    const int32_t ndim = self->layout->desc.layout.ndim;
    if (n == ndim) return 0;
    (void)core_raise_argument(state, "%s: %d number%s for %d dimension%s", what, (int)n, n == 1 ? "" : "s", (int)ndim,
                              ndim == 1 ? "" : "s");
    return -1;
}

static int get_follow(core_picture *self, core_state *state, PyObject *highlight) {
    int32_t n = 0;
    if (!is_given(highlight)) return 0;
    if (core_get_ints(self->follow, &n, TG_MAX_NDIM, state, highlight, "highlight") != 0) return -1;
    self->params.follow = self->follow;
    return check_count(state, self, n, "highlight");
}

/* A place, or -1 for None and `:`, which show the dimension. */
static int get_part(int64_t *out, core_state *state, PyObject *part, PyObject *whole) {
    *out = -1;
    const int is_whole = PyObject_RichCompareBool(part, whole, Py_EQ);
    if (part == Py_None || is_whole != 0) return is_whole < 0 ? -1 : 0;
    if (core_get_int(out, state, part, "a place of slice") != 0) return -1;
    if (*out >= 0) return 0;
    (void)core_raise_argument(state, "slice: there is no place %lld; None shows a dimension", (long long)*out);
    return -1;
}

static int get_parts(int64_t *out, core_state *state, PyObject *parts) {
    PyObject *whole = PySlice_New(NULL, NULL, NULL);
    int       failed = whole == NULL;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(parts); i++)
        failed = get_part(&out[i], state, PyTuple_GetItem(parts, i), whole);
    Py_XDECREF(whole);
    return failed ? -1 : 0;
}

/* (4, None, None), or numpy.s_[4, :, :]. */
static int get_slice(core_picture *self, core_state *state, PyObject *slice) {
    if (!is_given(slice)) return 0;
    PyObject *parts = PyUnicode_Check(slice) ? NULL : PySequence_Tuple(slice);
    if (parts == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "the slice is a sequence of places, with None for a dimension to show");
    if (parts == NULL) return -1;
    const Py_ssize_t n = PyTuple_Size(parts);
    int              failed = check_count(state, self, n <= TG_MAX_NDIM ? (int32_t)n : TG_MAX_NDIM + 1, "slice");
    if (!failed) failed = get_parts(self->slice, state, parts);
    Py_DECREF(parts);
    self->params.slice = self->slice;
    return failed;
}

static int get_cores(core_picture *self, core_state *state, PyObject *object) {
    int64_t  cores = 0;
    tg_error err;
    if (!is_given(object)) return 0;
    if (core_get_int(&cores, state, object, "cores") != 0) return -1;
    self->params.splits = self->splits;
    if (tg_spyre_divide(self->splits, &self->layout->desc, cores, &err) == TG_OK) return 0;
    (void)core_raise(state, &err, NULL);
    return -1;
}

static int get_width(core_picture *self, core_state *state, PyObject *object) {
    enum { WIDEST = 400 };
    int64_t width = 0;
    if (!is_given(object)) return 0;
    if (core_get_int(&width, state, object, "width") != 0) return -1;
    self->params.width = (int32_t)width;
    if (width >= 1 && width <= WIDEST) return 0; /* the library knows the lower limit */
    (void)core_raise_argument(state, "width: a line has 40 to %d characters, not %lld", (int)WIDEST, (long long)width);
    return -1;
}

/* ---- making ---------------------------------------------------------------------------------------- */

static int get_other(core_picture *self, core_state *state, PyObject *diff) {
    if (!is_given(diff)) return 0;
    self->other = core_get_layout(state, diff, "diff");
    if (self->other == NULL) return -1;
    self->params.other = &self->other->desc.layout;
    self->params.other_unit = tg_desc_unit(&self->other->desc);
    self->params.other_unit_name = self->other->desc.notation == TG_NOTATION_SPYRE ? "stick" : "tile";
    return 0;
}

/* The layout, or both of a comparison. */
static int set_title(core_picture *self) {
    PyObject *layout = (PyObject *)self->layout, *other = (PyObject *)self->other;
    self->title = other == NULL ? PyObject_Str(layout) : PyUnicode_FromFormat("%S  ->  %S", layout, other);
    if (self->title == NULL) return -1;
    self->params.title = PyUnicode_AsUTF8AndSize(self->title, NULL);
    return self->params.title != NULL ? 0 : -1;
}

static int fill(core_picture *self, core_state *state, const wishes *w) {
    tg_error err;
    if (tg_picture_params_init(&self->params, &self->host, &self->layout->desc, &err) != TG_OK) {
        (void)core_raise(state, &err, NULL);
        return -1;
    }
    self->ascii = w->ascii != 0;
    if (get_views(&self->params.views, state, w->view) != 0 || get_label(&self->params.label, state, w) != 0) return -1;
    if (get_theme(&self->theme, state, w->theme) != 0 || get_width(self, state, w->width) != 0) return -1;
    if (get_cores(self, state, w->cores) != 0 || get_follow(self, state, w->highlight) != 0) return -1;
    if (get_slice(self, state, w->slice) != 0 || get_other(self, state, w->diff) != 0) return -1;
    return set_title(self);
}

/* The panels, to be destroyed; NULL with an exception. */
static tg_picture *make_panels(const core_picture *self, core_state *state, int32_t usual_width) {
    tg_picture_params params = self->params;
    tg_picture       *panels = NULL;
    tg_status         s;
    tg_error          err;
    if (params.width == 0) params.width = usual_width;
    Py_BEGIN_ALLOW_THREADS
    s = tg_picture_create(&panels, &self->layout->desc.layout, &params, &err);
    Py_END_ALLOW_THREADS
    return s == TG_OK ? panels : core_raise(state, &err, NULL);
}

/* Everything that can be refused is refused here. */
static PyObject *new_picture(core_state *state, core_layout *layout, const wishes *w) {
    core_picture *self = PyObject_New(core_picture, (PyTypeObject *)state->picture_type);
    if (self == NULL) return NULL;
    self->layout = (core_layout *)Py_NewRef((PyObject *)layout);
    self->other = NULL;
    self->title = NULL;
    tg_picture *panels = fill(self, state, w) == 0 ? make_panels(self, state, TEXT_WIDTH) : NULL;
    const bool  failed = panels == NULL;
    tg_picture_destroy(&panels);
    if (!failed) return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return NULL;
}

static void picture_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    Py_XDECREF((PyObject *)picture_of(object)->layout);
    Py_XDECREF((PyObject *)picture_of(object)->other);
    Py_XDECREF(picture_of(object)->title);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* Of the function; the method has its layout already, and the names behind it. */
static char *names[] = {"layout", "view", "highlight", "slice", "label", "order", "diff",
                        "cores",  "theme", "width",    "ascii", NULL};

static PyObject *draw(PyObject *module, PyObject *args, PyObject *kwargs) {
    core_state *state = core_module_state(module);
    PyObject   *object = NULL;
    wishes      w = {.order = 0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$OOOOpOOOOp:draw", names, &object, &w.view, &w.highlight,
                                     &w.slice, &w.label, &w.order, &w.diff, &w.cores, &w.theme, &w.width, &w.ascii))
        return NULL;
    core_layout *layout = core_get_layout(state, object, "layout");
    if (layout == NULL) return NULL;
    PyObject *picture = new_picture(state, layout, &w);
    Py_DECREF((PyObject *)layout);
    return picture;
}

PyObject *layout_draw(PyObject *self, PyObject *args, PyObject *kwargs) {
    wishes w = {.order = 0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOpOOOOp:draw", names + 1, &w.view, &w.highlight, &w.slice,
                                     &w.label, &w.order, &w.diff, &w.cores, &w.theme, &w.width, &w.ascii))
        return NULL;
    return new_picture(core_get_state(self), (core_layout *)self, &w);
}

/* ---- showing --------------------------------------------------------------------------------------------- */

/* Takes the panels. Text comes without the end of its last line, as print() wants it. */
static PyObject *render(tg_picture *panels, bool svg, tg_theme theme, uint32_t style) {
    const size_t need = svg ? tg_picture_svg(NULL, 0, panels, theme) : tg_picture_text(NULL, 0, panels, style);
    char        *text = PyMem_Malloc(need + 1);
    if (text != NULL && svg) (void)tg_picture_svg(text, need + 1, panels, theme);
    else if (text != NULL) (void)tg_picture_text(text, need + 1, panels, style);
    tg_picture_destroy(&panels);
    PyObject *answer = text != NULL ? core_text(text, need - (svg ? 0 : 1)) : PyErr_NoMemory();
    PyMem_Free(text);
    return answer;
}

static PyObject *show_text(PyObject *object, uint32_t style) {
    const core_picture *self = picture_of(object);
    tg_picture         *panels = make_panels(self, core_get_state(object), TEXT_WIDTH);
    if (panels == NULL) return NULL;
    return render(panels, false, self->theme, style | (self->ascii ? TG_TEXT_ASCII : 0));
}

static PyObject *picture_str(PyObject *self) { return show_text(self, 0); }

static PyObject *picture_text(PyObject *self, PyObject *args, PyObject *kwargs) {
    static char *options[] = {"colour", NULL};
    int          colour = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:text", options, &colour)) return NULL;
    return show_text(self, colour ? TG_TEXT_COLOUR : 0);
}

static PyObject *picture_svg(PyObject *object, PyObject *unused) {
    tg_picture *panels = make_panels(picture_of(object), core_get_state(object), SVG_WIDTH);
    (void)unused;
    return panels != NULL ? render(panels, true, picture_of(object)->theme, 0) : NULL;
}

static PyObject *get_about(PyObject *object, void *unused) {
    tg_picture *panels = make_panels(picture_of(object), core_get_state(object), SVG_WIDTH);
    PyObject   *about = panels != NULL ? PyUnicode_FromString(panels->about) : NULL;
    (void)unused;
    tg_picture_destroy(&panels);
    return about;
}

static PyObject *picture_repr(PyObject *self) {
    return PyUnicode_FromFormat("<tegula.Picture of %U>", picture_of(self)->title);
}

/* ---- in notebooks ------------------------------------------------------------------------------------------ */

static PyObject *picture_html(PyObject *self, PyObject *unused) {
    PyObject *module = PyImport_ImportModule("tegula._notebook");
    PyObject *image = module != NULL ? PyObject_GetAttrString(module, "image") : NULL;
    PyObject *svg = image != NULL ? picture_svg(self, unused) : NULL,
             *about = svg != NULL ? get_about(self, NULL) : NULL;
    PyObject *html = about != NULL ? PyObject_CallFunctionObjArgs(image, svg, about, NULL) : NULL;
    Py_XDECREF(about);
    Py_XDECREF(svg);
    Py_XDECREF(image);
    Py_XDECREF(module);
    return html;
}

PyObject *layout_html(PyObject *self, PyObject *unused) {
    const wishes usual = {.order = 0};
    PyObject    *picture = new_picture(core_get_state(self), (core_layout *)self, &usual);
    PyObject    *html = picture != NULL ? picture_html(picture, unused) : NULL;
    Py_XDECREF(picture);
    return html;
}

PyObject *layout_svg(PyObject *self, PyObject *unused) {
    const wishes usual = {.order = 0};
    PyObject    *picture = new_picture(core_get_state(self), (core_layout *)self, &usual);
    PyObject    *svg = picture != NULL ? picture_svg(picture, unused) : NULL;
    Py_XDECREF(picture);
    return svg;
}

/* ---- the type ------------------------------------------------------------------------------------------------ */

#define CALL(function) ((PyCFunction)(void (*)(void))(function))

static PyObject *get_layout(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)picture_of(self)->layout);
}

static PyGetSetDef getset[] = {
    {"layout", get_layout, NULL, "What is drawn.", NULL},
    {"about", get_about, NULL, "The picture in words, for those who do not see it.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"text", CALL(picture_text), METH_VARARGS | METH_KEYWORDS,
     "text(*, colour=False)\n--\n\nAs str() has it; with colour, in the escape sequences of terminals."},
    {"svg", picture_svg, METH_NOARGS, "svg()\n--\n\nThe picture as one SVG file."},
    {"_repr_svg_", picture_svg, METH_NOARGS, "_repr_svg_()\n--\n\nThe SVG file, for notebooks."},
    {"_repr_html_", picture_html, METH_NOARGS, "_repr_html_()\n--\n\nAn image, for notebooks."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A layout as a picture; str() is its text. Made by Layout.draw and tegula.draw."},
    {Py_tp_dealloc, picture_dealloc},
    {Py_tp_str, picture_str},
    {Py_tp_repr, picture_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Picture",
    .basicsize = sizeof(core_picture),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

static PyMethodDef functions[] = {
    {"draw", CALL(draw), METH_VARARGS | METH_KEYWORDS,
     "draw(layout, *, view=None, highlight=None, slice=None, label=None, order=False, diff=None, cores=None, "
     "theme='auto',\n     width=None, ascii=False)\n--\n\nThe Picture of a layout; docs/pictures.md tells how to read "
     "one."},
    {NULL, NULL, 0, NULL},
};

int core_add_draw(PyObject *module) {
    if (core_add_type(module, &core_module_state(module)->picture_type, &spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
