/* tegula.Plan, and tegula.relayout, which is a plan that is run once.
 *
 * Nothing is copied on the way: arrays are opened where they are (py_array.c), and held open while the library moves
 * without the GIL. */
#include "py_plan.h"

#include <stddef.h>
#include <string.h>

/* What a plan is made of; the params point into it. */
typedef struct recipe {
    core_layout   *src, *dst;
    unsigned char  pad[PAD_BYTES];
    int64_t        begin[TG_MAX_NDIM], end[TG_MAX_NDIM];
    int32_t        threads;
    bool           has_src_layout;
    tg_plan_params params;
} recipe;

typedef struct core_plan {
    PyObject_HEAD
    recipe  recipe;
    tg_plan plan;
} core_plan;

/* ---- arguments ------------------------------------------------------------------------------------ */

/* The optional ones, which Plan and relayout have in common. */
typedef struct wishes {
    PyObject *pad, *begin, *end, *hint, *threads;
    int       convert;
} wishes;

static bool is_given(PyObject *object) { return object != NULL && object != Py_None; }

static bool is_zero(PyObject *pad) {
    int overflow = 0;
    return PyLong_CheckExact(pad) && PyLong_AsLongAndOverflow(pad, &overflow) == 0;
}

static int get_padding(recipe *r, core_state *state, PyObject *pad) {
    if (pad == Py_None) return 0;
    r->params.pad = r->pad;
    memset(r->pad, 0, sizeof r->pad);
    if (pad == NULL) return 0; /* bytes of zeros: the number 0, but in f8e8m0fnu, which has none */
    if (is_zero(pad) && r->dst->desc.layout.dtype != TG_F8E8M0FNU) return 0;
    return core_get_pad(r->pad, state, &r->dst->desc.layout, pad);
}

static int get_corner(int64_t *out, const int64_t **corner, core_state *state, const recipe *r, PyObject *object,
                      const char *what) {
    int32_t       n = 0;
    const int32_t ndim = r->dst->desc.layout.ndim;
    if (!is_given(object)) return 0;
    if (core_get_ints(out, &n, TG_MAX_NDIM, state, object, what) != 0) return -1;
    *corner = out;
    if (n == ndim) return 0;
    (void)core_raise_argument(state, "%s has %d number%s for %d dimension%s", what, (int)n, n == 1 ? "" : "s",
                              (int)ndim, ndim == 1 ? "" : "s");
    return -1;
}

static int fail_corner(core_state *state, const char *what, int64_t at, int32_t d, int64_t size) {
    (void)core_raise_argument(state, "%s is %lld in dimension %d, which has size %lld", what, (long long)at, (int)d,
                              (long long)size);
    return -1;
}

static int check_box(core_state *state, const tg_plan_params *params) {
    for (int32_t d = 0; d < params->dst->ndim; d++) {
        const int64_t size = params->dst->shape[d];
        const int64_t low = params->begin != NULL ? params->begin[d] : 0;
        const int64_t high = params->end != NULL ? params->end[d] : size;
        if (low < 0 || low > size) return fail_corner(state, "begin", low, d, size);
        if (high < 0 || high > size) return fail_corner(state, "end", high, d, size);
        if (low <= high) continue;
        (void)core_raise_argument(state, "begin is %lld and end %lld in dimension %d", (long long)low, (long long)high,
                                  (int)d);
        return -1;
    }
    return 0;
}

static int get_hint(uint32_t *out, core_state *state, PyObject *hint) {
    if (!is_given(hint)) return 0;
    if (PyUnicode_Check(hint) && PyUnicode_CompareWithASCIIString(hint, "cached") == 0) *out = TG_HINT_CACHED;
    else if (PyUnicode_Check(hint) && PyUnicode_CompareWithASCIIString(hint, "device") == 0) *out = TG_HINT_DEVICE;
    else return (void)core_raise_argument(state, "hint is 'cached' or 'device', not %R", hint), -1;
    return 0;
}

/* Without one *out stays. */
static int get_threads(int32_t *out, core_state *state, PyObject *object) {
    int64_t threads = 0;
    if (object == NULL) return 0;
    if (core_get_int(&threads, state, object, "threads") != 0) return -1;
    if (threads < 1 || threads > MOST_THREADS) {
        (void)core_raise_argument(state, "threads must be 1 to %d, not %lld", MOST_THREADS, (long long)threads);
        return -1;
    }
    *out = (int32_t)threads;
    return 0;
}

/* src and dst are set. */
static int get_params(recipe *r, core_state *state, const wishes *w) {
    r->threads = 1;
    if (get_threads(&r->threads, state, w->threads) != 0) return -1;
    r->params = (tg_plan_params){.dst = &r->dst->desc.layout, .src = &r->src->desc.layout, .convert = w->convert != 0,
                                 .threads = r->threads};
    if (get_padding(r, state, w->pad) != 0) return -1;
    if (get_corner(r->begin, &r->params.begin, state, r, w->begin, "begin") != 0) return -1;
    if (get_corner(r->end, &r->params.end, state, r, w->end, "end") != 0) return -1;
    if (check_box(state, &r->params) != 0) return -1;
    return get_hint(&r->params.hint, state, w->hint);
}

static void drop_recipe(recipe *r) {
    Py_XDECREF((PyObject *)r->src);
    Py_XDECREF((PyObject *)r->dst);
}

/* ---- running ---------------------------------------------------------------------------------------- */

static bool overlap(const core_memory *a, const core_memory *b) {
    const uintptr_t x = (uintptr_t)a->bytes, y = (uintptr_t)b->bytes;
    return a->nbytes > 0 && b->nbytes > 0 && x < y + (uintptr_t)b->nbytes && y < x + (uintptr_t)a->nbytes;
}

static int run_open(core_state *state, const tg_plan *plan, const core_memory *dst, const core_memory *src,
                    int32_t threads) {
    tg_status         s;
    tg_error          err;
    const tg_executor executor = core_executor(&threads);
    if (overlap(dst, src)) {
        (void)core_raise_argument(state, "dst and src share memory");
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    s = tg_plan_run(plan, dst->bytes, src->bytes, threads > 1 ? &executor : NULL, &err);
    Py_END_ALLOW_THREADS
    if (s != TG_OK) (void)core_raise(state, &err, NULL);
    return s == TG_OK ? 0 : -1;
}

/* Open both sides, memory[0] dst and memory[1] src; 0, or -1 and both are closed. */
static int open_both(core_memory memory[2], core_state *state, const recipe *r, PyObject *to, PyObject *from,
                     bool writable) {
    const core_side dst = {to, r->dst, writable, "dst"}, src = {from, r->src, false, "src"};
    return core_memory_open_pair(memory, state, &dst, &src);
}

/* ---- relayout ------------------------------------------------------------------------------------------ */

/* The layout of the source: the one that is said, or the array's own. Opens the source. */
static int open_source(recipe *r, core_memory *src, core_state *state, PyObject *object, PyObject *src_layout) {
    if (!is_given(src_layout) && Py_IS_TYPE(object, (PyTypeObject *)state->buffer_type))
        src_layout = (PyObject *)((core_buffer *)object)->layout;
    r->has_src_layout = is_given(src_layout);
    if (r->has_src_layout) {
        r->src = core_get_layout(state, src_layout, "src_layout");
        return r->src != NULL ? core_memory_open_as(src, state, object, r->src, false, "src") : -1;
    }
    if (core_memory_open(src, state, object, false, "src") != 0) return -1;
    r->src = (core_layout *)core_layout_of_host(state, &src->host, &src->layout);
    if (r->src != NULL) return 0;
    core_memory_close(src);
    return -1;
}

static bool is_layout_like(core_state *state, PyObject *object) {
    return PyUnicode_Check(object) || Py_IS_TYPE(object, (PyTypeObject *)state->layout_type);
}

static void append(tg_error *err, const char *words) {
    const size_t len = strlen(err->message);
    PyOS_snprintf(err->message + len, sizeof err->message - len, "%s", words);
}

/* Of element types that differ the library says that `convert` is not set; where it would not help, why not. */
static tg_status init_plan(tg_plan *plan, const recipe *r, tg_error *err) {
    const tg_status s = tg_plan_init(plan, &r->params, err);
    if (s != TG_OK && r->params.src->dtype != r->params.dst->dtype && !r->params.convert) {
        tg_plan_params converting = r->params;
        tg_error       other;
        converting.convert = true;
        if (tg_plan_init(plan, &converting, &other) != TG_OK) *err = other;
    }
    if (s != TG_OK && strstr(err->message, "there is no conversion") != NULL)
        append(err, ": f32, f16, bf16, f8e4m3fn, f8e5m2 and pred become each other, and integers become integers");
    return s != TG_OK ? err->status : TG_OK;
}

/* Bytes are read as a tensor of u8, which is seldom meant. */
static void advise_bytes(tg_error *err, const recipe *r) {
    const tg_layout *src = &r->src->desc.layout;
    if (!r->has_src_layout && src->dtype == TG_U8 && src->ndim == 1)
        append(err, "; src is flat bytes: src_layout= says what layout they hold");
}

/* The library's `dst` is `to` where that is the argument's name. */
static void say_to(char *message) {
    for (char *at = message; (at = strstr(at, "dst")) != NULL; at += 2) {
        memcpy(at, "to", 2);
        memmove(at + 2, at + 3, strlen(at + 3) + 1);
    }
}

/* With both sides open. A new reference to what was written. */
static PyObject *move(core_state *state, const recipe *r, const core_memory *src, PyObject *out) {
    tg_plan     plan;
    tg_error    err;
    core_memory dst;
    if (init_plan(&plan, r, &err) != TG_OK) {
        say_to(err.message);
        advise_bytes(&err, r);
        return core_raise(state, &err, NULL);
    }
    PyObject *object =
        is_given(out)
            ? Py_NewRef(out)
            : core_buffer_new(state, r->dst, r->params.pad == NULL || r->params.begin != NULL || r->params.end != NULL);
    if (object == NULL) return NULL;
    int failed = core_memory_open_as(&dst, state, object, r->dst, true, "out");
    if (failed == 0) {
        failed = run_open(state, &plan, &dst, src, r->threads);
        core_memory_close(&dst);
    }
    if (failed != 0) Py_CLEAR(object);
    return object;
}

static PyObject *relayout(PyObject *module, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"src",     "to",    "out", "src_layout", "pad", "convert",
                            "threads", "begin", "end", "hint",       NULL};
    core_state  *state = core_module_state(module);
    PyObject    *object = NULL, *to = NULL, *out = NULL, *src_layout = NULL, *written = NULL;
    wishes       w = {.convert = 0};
    core_memory  src;
    recipe       r;
    r.src = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOOpOOOO:relayout", names, &object, &to, &out, &src_layout,
                                     &w.pad, &w.convert, &w.threads, &w.begin, &w.end, &w.hint))
        return NULL;
    if (is_layout_like(state, object) && !is_layout_like(state, to)) {
        PyErr_SetString(PyExc_TypeError,
                        "src and to are the other way round: src is an array, and to is its new layout");
        return NULL;
    }
    r.dst = core_get_layout(state, to, "to");
    if (r.dst == NULL) return NULL;
    if (open_source(&r, &src, state, object, src_layout) == 0) {
        if (get_params(&r, state, &w) == 0) written = move(state, &r, &src, out);
        core_memory_close(&src);
    }
    drop_recipe(&r);
    return written;
}

/* ---- tegula.Plan -------------------------------------------------------------------------------------------- */

static core_plan *plan_of(PyObject *object) { return (core_plan *)object; }

static int make_plan(core_plan *self, core_state *state, PyObject *src, PyObject *dst, const wishes *w) {
    recipe  *r = &self->recipe;
    tg_error err;
    r->src = core_get_layout(state, src, "src");
    if (r->src == NULL) return -1;
    r->dst = core_get_layout(state, dst, "dst");
    if (r->dst == NULL || get_params(r, state, w) != 0) return -1;
    if (init_plan(&self->plan, r, &err) == TG_OK) return 0;
    (void)core_raise(state, &err, NULL);
    return -1;
}

static PyObject *plan_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"src", "dst", "pad", "convert", "threads", "begin", "end", "hint", NULL};
    PyObject    *src = NULL, *dst = NULL;
    wishes       w = {.convert = 0};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OpOOOO:Plan", names, &src, &dst, &w.pad, &w.convert, &w.threads,
                                     &w.begin, &w.end, &w.hint))
        return NULL;
    core_plan *self = PyObject_New(core_plan, type);
    if (self == NULL) return NULL;
    self->recipe.src = self->recipe.dst = NULL;
    if (make_plan(self, PyType_GetModuleState(type), src, dst, &w) == 0) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void plan_dealloc(PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    drop_recipe(&plan_of(object)->recipe);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *plan_run(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char     *names[] = {"dst", "src", "threads", NULL};
    const core_plan *self = plan_of(object);
    core_state      *state = core_get_state(object);
    core_memory      memory[2];
    PyObject        *to = NULL, *from = NULL, *wish = NULL;
    int32_t          threads = self->recipe.threads;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$O:run", names, &to, &from, &wish)) return NULL;
    if (get_threads(&threads, state, is_given(wish) ? wish : NULL) != 0) return NULL;
    if (open_both(memory, state, &self->recipe, to, from, true) != 0) return NULL;
    const int failed = run_open(state, &self->plan, &memory[0], &memory[1], threads);
    core_memory_close(&memory[0]);
    core_memory_close(&memory[1]);
    if (failed != 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *plan_describe(PyObject *object, PyObject *unused) {
    const tg_plan *plan = &plan_of(object)->plan;
    const size_t   need = tg_plan_describe(NULL, 0, plan);
    char          *text = PyMem_Malloc(need + 1);
    (void)unused;
    if (text == NULL) return PyErr_NoMemory();
    (void)tg_plan_describe(text, need + 1, plan);
    PyObject *answer = PyUnicode_FromStringAndSize(text, (Py_ssize_t)need);
    PyMem_Free(text);
    return answer;
}

/* Two values as a record of `type`; takes the references, either of which may be NULL. */
static PyObject *record(PyObject *type, PyObject *a, PyObject *b) {
    PyObject *r = a != NULL && b != NULL ? PyStructSequence_New((PyTypeObject *)type) : NULL;
    if (r == NULL) {
        Py_XDECREF(a);
        Py_XDECREF(b);
        return NULL;
    }
    PyStructSequence_SetItem(r, 0, a);
    PyStructSequence_SetItem(r, 1, b);
    return r;
}

static PyObject *plan_losses(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char  *names[] = {"src", NULL};
    const recipe *r = &plan_of(object)->recipe;
    core_state   *state = core_get_state(object);
    core_memory   src;
    PyObject     *from = NULL;
    int64_t       overflowed = 0, vanished = 0;
    tg_status     s;
    tg_error      err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:losses", names, &from)) return NULL;
    if (core_memory_open_as(&src, state, from, r->src, false, "src") != 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    s = tg_plan_losses(&overflowed, &vanished, &r->params, src.bytes, &err);
    Py_END_ALLOW_THREADS
    core_memory_close(&src);
    if (s != TG_OK) return core_raise(state, &err, NULL);
    return record(state->losses_type, PyLong_FromLongLong(overflowed), PyLong_FromLongLong(vanished));
}

static PyObject *plan_verify(PyObject *object, PyObject *args, PyObject *kwargs) {
    static char  *names[] = {"dst", "src", NULL};
    const recipe *r = &plan_of(object)->recipe;
    core_state   *state = core_get_state(object);
    core_memory   memory[2];
    PyObject     *to = NULL, *from = NULL;
    bool          equal = false;
    int64_t       coord[TG_MAX_NDIM] = {0}, offset = 0;
    tg_status     s;
    tg_error      err;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:verify", names, &to, &from)) return NULL;
    if (open_both(memory, state, r, to, from, false) != 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    s = tg_plan_verify(&equal, coord, &offset, &r->params, memory[0].bytes, memory[1].bytes, &err);
    Py_END_ALLOW_THREADS
    core_memory_close(&memory[0]);
    core_memory_close(&memory[1]);
    if (s != TG_OK) return core_raise(state, &err, NULL);
    if (equal) Py_RETURN_NONE;
    PyObject *place = coord[0] == -1 ? Py_NewRef(Py_None) : core_ints(coord, r->dst->desc.layout.ndim);
    return record(state->mismatch_type, place, PyLong_FromLongLong(offset));
}

static PyObject *get_src(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)plan_of(self)->recipe.src);
}

static PyObject *get_dst(PyObject *self, void *unused) {
    (void)unused;
    return Py_NewRef((PyObject *)plan_of(self)->recipe.dst);
}

static PyObject *plan_repr(PyObject *self) {
    const recipe *r = &plan_of(self)->recipe;
    return PyUnicode_FromFormat("<Plan from %S to %S>", (PyObject *)r->src, (PyObject *)r->dst);
}

/* ---- the types ---------------------------------------------------------------------------------------------- */

#define CALL(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"run", CALL(plan_run), METH_VARARGS | METH_KEYWORDS,
     "run(dst, src, *, threads=None)\n--\n\n"
     "Move src to dst, without the GIL; many threads may run one plan. threads=None: as many as the plan was told."},
    {"describe", plan_describe, METH_NOARGS, "describe()\n--\n\nWhat the plan does, for people."},
    {"losses", CALL(plan_losses), METH_VARARGS | METH_KEYWORDS,
     "losses(src)\n--\n\nHow many numbers the other format makes infinite, and how many 0."},
    {"verify", CALL(plan_verify), METH_VARARGS | METH_KEYWORDS,
     "verify(dst, src)\n--\n\nNone if dst is src moved, by the definition of both layouts; else the first difference."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"src", get_src, NULL, "The layout that is read.", NULL},
    {"dst", get_dst, NULL, "The layout that is written.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Plan(src, dst, *, pad=0, convert=False, threads=1, begin=None, end=None, hint=None)\n--\n\n"
                "How to move one layout into another, made once and run often. pad=None leaves padding alone."},
    {Py_tp_new, plan_new},
    {Py_tp_dealloc, plan_dealloc},
    {Py_tp_repr, plan_repr},
    {Py_tp_methods, methods},
    {Py_tp_getset, getset},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "tegula.Plan",
    .basicsize = sizeof(core_plan),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

static const char relayout_doc[] =
    "relayout(src, to, *, out=None, src_layout=None, pad=0, convert=False, threads=1, begin=None, end=None, "
    "hint=None)\n--\n\n"
    "The tensor in another layout: a new Buffer, or written into out, which is returned.\n"
    "\n"
    "  src         an array: anything with the buffer protocol or DLPack (NumPy, PyTorch and\n"
    "              JAX on the CPU, bytes, ...), read where it lies, with any strides; or a Buffer\n"
    "  to          the Layout to write, or its text; of the shape of src, and of its element\n"
    "              type unless convert is set. No two elements may share a place\n"
    "  out         write into this array, or into memory of exactly the bytes of the layout;\n"
    "              not where src lies\n"
    "  src_layout  src is the storage of this layout; without it an array is what its strides\n"
    "              say, and a Buffer knows its layout\n"
    "  pad         what padding becomes: a number, bytes of one element, or None to leave it\n"
    "  convert     element types may differ: f32, f16, bf16, f8e4m3fn and f8e5m2 become each\n"
    "              other or pred, pred becomes one of them, integers become integers\n"
    "  threads     how many a large move may use, 1 to 1024; they live as long as the call\n"
    "  begin, end  move only coordinates in this box, a number for each dimension; the rest\n"
    "              of out stays as it is, and is zero in a new Buffer\n"
    "  hint        who reads it next: 'cached', the CPU, or 'device', a DMA engine\n"
    "\n"
    "A Spyre layout stores elements in its device format, f16 as DLFloat16 unless it says\n"
    "another: they are converted on the way, there and back, and rounded.\n"
    "\n"
    "ArgumentError: another shape or element type, an array that is not what it should be, out\n"
    "of another size or over src, numbers out of range. OverflowError: an integer that does not\n"
    "fit; out is then written in part. Unsupported: a conversion or a box that there is no code\n"
    "for. ParseError: a text that is no layout. TypeError: no array, or no number.\n"
    "\n"
    "    >>> import numpy, tegula\n"
    "    >>> array = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)\n"
    "    >>> tiles = tegula.relayout(array, \"f32[3,4]{1,0:T(2,2)}\", pad=-1)\n"
    "    >>> tiles.numpy()                       # the storage: tile by tile, with padding\n"
    "    array([ 0.,  1.,  4.,  5.,  2.,  3.,  6.,  7.,  8.,  9., -1., -1., 10.,\n"
    "           11., -1., -1.], dtype=float32)\n"
    "    >>> back = tegula.relayout(tiles, \"f32[3,4]\", out=numpy.empty((3, 4), numpy.float32))\n"
    "    >>> numpy.array_equal(back, array)\n"
    "    True\n"
    "\n"
    "Moves that are done often are a Plan; docs/python.md tells more.";

static PyMethodDef functions[] = {
    {"relayout", CALL(relayout), METH_VARARGS | METH_KEYWORDS, relayout_doc},
    {NULL, NULL, 0, NULL},
};

static int add_record(PyObject *module, PyObject **slot, PyStructSequence_Desc *desc) {
    *slot = (PyObject *)PyStructSequence_NewType(desc);
    return *slot != NULL ? PyModule_AddType(module, (PyTypeObject *)*slot) : -1;
}

int core_add_plan(PyObject *module) {
    static PyStructSequence_Field losses_fields[] = {
        {"overflowed", "finite numbers that become infinite"}, {"vanished", "numbers that become 0"}, {NULL, NULL}};
    static PyStructSequence_Field mismatch_fields[] = {
        {"coord", "of the element that differs; None for padding"}, {"offset", "where in dst"}, {NULL, NULL}};
    static PyStructSequence_Desc losses = {"tegula.Losses", "What a conversion takes away.", losses_fields, 2};
    static PyStructSequence_Desc mismatch = {"tegula.Mismatch", "A place that is not as it should be.", mismatch_fields,
                                             2};
    core_state *state = core_module_state(module);
    if (add_record(module, &state->losses_type, &losses) != 0) return -1;
    if (add_record(module, &state->mismatch_type, &mismatch) != 0) return -1;
    if (core_add_type(module, &state->plan_type, &spec) != 0) return -1;
    return PyModule_AddFunctions(module, functions);
}
