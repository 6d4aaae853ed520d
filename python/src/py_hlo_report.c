/* The reports on an HLO text, as `tegula hlo --report ... --json` prints them, field for field. */
#include "py_hlo.h"

#include <string.h>
#include <tegula/padding.h>
#include <tegula/xla.h>

static const tg_hlo_module *module_of(PyObject *object) { return ((core_hlo *)object)->module; }

/* ---- shapes --------------------------------------------------------------------------------------- */

/* The tree of the shape that was asked for last: tuples may have thousands of elements, and rows about each. */
typedef struct tree {
    int64_t       shape;
    size_t        count;
    tg_xla_shape *nodes;
} tree;

static int get_tree(tree *t, core_state *state, const tg_hlo_module *module, int64_t shape) {
    tg_error err;
    if (t->nodes != NULL && t->shape == shape) return 0;
    const size_t n = (size_t)tg_hlo_get_shape(module, shape).nnodes;
    PyMem_Free(t->nodes);
    t->shape = shape;
    t->nodes = PyMem_Malloc((n + 1) * sizeof *t->nodes);
    if (t->nodes == NULL) {
        (void)PyErr_NoMemory();
        return -1;
    }
    if (tg_hlo_shape(t->nodes, n, &t->count, module, shape, &err) == TG_OK) return 0;
    PyMem_Free(t->nodes);
    t->nodes = NULL;
    (void)core_raise(state, &err, NULL);
    return -1;
}

static PyObject *node_text(const tg_xla_shape *node) {
    const size_t need = tg_xla_shape_format(NULL, 0, node, 1, true);
    char        *text = PyMem_Malloc(need + 1);
    if (text == NULL) return PyErr_NoMemory();
    (void)tg_xla_shape_format(text, need + 1, node, 1, true);
    PyObject *answer = core_text(text, need);
    PyMem_Free(text);
    return answer;
}

/* ---- padding ---------------------------------------------------------------------------------------- */

/* All that is said of the arrays of one layout. */
typedef struct finding {
    tg_padding        padding;
    bool              advised;
    tg_padding_advice advice;
} finding;

static int find(finding *out, core_state *state, const tg_xla_shape *array) {
    tg_error err;
    const tg_status measured = tg_padding_measure(&out->padding, array, &err);
    out->advised = measured == TG_OK && tg_padding_advise(&out->advice, array, &err) == TG_OK;
    if (measured == TG_OK && (out->advised || err.status != TG_ERR_NOMEM)) return 0;
    (void)core_raise(state, &err, NULL);
    return -1;
}

static PyObject *dims_of(uint32_t dims) {
    int64_t list[32];
    int     n = 0;
    for (int d = 0; d < 32; d++)
        if ((dims >> d & 1) != 0) list[n++] = d;
    return core_list(list, n);
}

static PyObject *part(const tg_padding_part *p) {
    return Py_BuildValue("{sisNsLsLsLsL}", "tile_index", (int)p->level, "dimensions", dims_of(p->dims), "size",
                         (long long)p->size, "tile", (long long)p->tile, "padded", (long long)p->padded, "bytes",
                         (long long)p->bytes);
}

static PyObject *parts(const tg_padding *p) {
    PyObject *list = PyList_New(0);
    for (int32_t i = 0; list != NULL && i < p->nparts; i++)
        if (p->part[i].bytes != 0 && core_append(list, part(&p->part[i])) != 0) Py_CLEAR(list);
    return list;
}

static PyObject *choice(const finding *f, const tg_padding_choice *c) {
    char text[1024];
    if (!f->advised) return Py_NewRef(Py_None);
    (void)tg_xla_layout_format(text, sizeof text, &c->layout);
    return Py_BuildValue("{sssLsL}", "layout", text, "physical_bytes", (long long)c->physical_bytes, "saved_bytes",
                         (long long)c->saved_bytes);
}

/* The element numbers that lead to the array in a tuple; none where the shape is the array. */
static PyObject *path_of(const tree *t, size_t node) {
    int64_t path[TG_HLO_MAX_DEPTH];
    size_t  n = 0;
    if (t->count == 1) return PyList_New(0);
    (void)tg_xla_shape_index(path, TG_MAX_NDIM, &n, t->nodes, t->count, node, NULL);
    return core_list(path, n < TG_MAX_NDIM ? (Py_ssize_t)n : TG_MAX_NDIM);
}

static PyObject *put_all(PyObject *dict, const char *const *keys, PyObject **values, int n) {
    int failed = dict == NULL;
    for (int i = 0; i < n; i++) {
        if (!failed && core_put(dict, keys[i], values[i]) != 0) failed = 1;
        else if (failed) Py_XDECREF(values[i]);
    }
    if (failed) Py_CLEAR(dict);
    return dict;
}

static PyObject *padding_row(const tg_hlo_module *module, const tg_hlo_buffer *b, const finding *f, const tree *t) {
    static const char *const keys[] = {
        "computation", "instruction", "opcode", "path", "shape", "memory_space", "logical_bytes", "physical_bytes",
        "padding_bytes", "expansion", "widening_bytes", "tail_bytes", "parts", "cheapest_order", "cheapest_tiling"};
    const tg_hlo_instruction i = tg_hlo_get_instruction(module, b->instruction);
    PyObject                *values[] = {hlo_piece(hlo_computation_of(module, b->instruction).name),
                                         hlo_piece(i.name),
                                         hlo_piece(i.opcode),
                                         path_of(t, b->node),
                                         node_text(&t->nodes[b->node]),
                                         PyLong_FromLongLong(b->memory_space),
                                         PyLong_FromLongLong(b->logical_bytes),
                                         PyLong_FromLongLong(b->physical_bytes),
                                         PyLong_FromLongLong(b->physical_bytes - b->logical_bytes),
                                         PyFloat_FromDouble(tg_padding_expansion(&f->padding)),
                                         PyLong_FromLongLong(f->padding.widening_bytes),
                                         PyLong_FromLongLong(f->padding.tail_bytes),
                                         parts(&f->padding),
                                         choice(f, &f->advice.order),
                                         choice(f, &f->advice.tiling)};
    return put_all(PyDict_New(), keys, values, (int)(sizeof keys / sizeof keys[0]));
}

static PyObject *spaces(const tg_hlo_buffers *list) {
    PyObject *all = PyList_New(0);
    for (int64_t i = 0; all != NULL && i < list->nspaces; i++) {
        const tg_hlo_space *s = &list->space[i];
        PyObject *one = Py_BuildValue("{sLsLsLsL}", "memory_space", (long long)s->memory_space, "arrays",
                                      (long long)s->nbuffers, "logical_bytes", (long long)s->logical_bytes,
                                      "physical_bytes", (long long)s->physical_bytes);
        if (core_append(all, one) != 0) Py_CLEAR(all);
    }
    return all;
}

/* Arrays of one layout stand together, and what is known of it serves them all. */
static PyObject *arrays(core_state *state, const tg_hlo_module *module, const tg_hlo_buffers *list, int64_t limit) {
    PyObject *rows = PyList_New(0);
    tree      t = {TG_HLO_NONE, 0, NULL};
    finding   f;
    for (int64_t at = 0; rows != NULL && at < list->nbuffers && (limit < 0 || at < limit); at++) {
        const tg_hlo_buffer *b = &list->buffer[at];
        const bool           is_new = at == 0 || list->buffer[at - 1].layout != b->layout;
        if (get_tree(&t, state, module, tg_hlo_get_instruction(module, b->instruction).shape) != 0 ||
            (is_new && find(&f, state, &t.nodes[b->node]) != 0) ||
            core_append(rows, padding_row(module, b, &f, &t)) != 0)
            Py_CLEAR(rows);
    }
    PyMem_Free(t.nodes);
    return rows;
}

PyObject *hlo_padding(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const keys[] = {"schema", "module", "memory_spaces", "unmeasured", "arrays"};
    const tg_hlo_module     *module = module_of(self);
    hlo_wish                 w;
    tg_hlo_buffers           list;
    tg_status                s;
    tg_error                 err;
    if (hlo_get_wish(&w, self, args, kwargs) != 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    s = tg_hlo_buffers_list(&list, module, &w.filter, &err);
    Py_END_ALLOW_THREADS
    if (s != TG_OK) return core_raise(core_get_state(self), &err, NULL);
    PyObject *values[] = {PyUnicode_FromString("tegula.hlo.padding/1"), hlo_piece(tg_hlo_get_header(module).name),
                          spaces(&list), PyLong_FromLongLong(list.unmeasured),
                          arrays(core_get_state(self), module, &list, w.limit)};
    tg_hlo_buffers_free(&list);
    return put_all(PyDict_New(), keys, values, (int)(sizeof keys / sizeof keys[0]));
}

/* ---- copies ------------------------------------------------------------------------------------------- */

static PyObject *shape_text(const tg_hlo_module *module, int64_t shape) {
    return shape == TG_HLO_NONE ? PyUnicode_FromString("?") : hlo_piece(tg_hlo_get_shape(module, shape).text);
}

/* The element of a tuple that a path leads to; NULL without an exception if there is none. */
static PyObject *element_text(core_state *state, const tg_hlo_module *module, int64_t shape, tg_hlo_text path_text) {
    int64_t   path[TG_MAX_NDIM];
    size_t    npath = 0, first = 0, length = 0;
    tree      t = {TG_HLO_NONE, 0, NULL};
    PyObject *text = NULL;
    if (shape == TG_HLO_NONE || get_tree(&t, state, module, shape) != 0) return NULL;
    if (tg_hlo_read_path(path, TG_MAX_NDIM, &npath, path_text, NULL) == TG_OK && npath <= TG_MAX_NDIM &&
        tg_xla_subshape(&first, &length, t.nodes, t.count, path, npath, NULL) == TG_OK && length == 1)
        text = node_text(&t.nodes[first]);
    PyMem_Free(t.nodes);
    return text;
}

/* What the bytes come from. */
static PyObject *source_text(core_state *state, const tg_hlo_module *module, const tg_hlo_move *m) {
    const tg_hlo_operand o = tg_hlo_get_operand(module, m->operand);
    const int64_t        shape = o.shape != TG_HLO_NONE ? o.shape : tg_hlo_get_instruction(module, o.instruction).shape;
    PyObject            *text = o.path.len > 0 ? element_text(state, module, shape, o.path) : NULL;
    if (text != NULL || PyErr_Occurred()) return text;
    return shape_text(module, o.instruction == TG_HLO_NONE ? o.shape : shape);
}

static PyObject *copies_row(core_state *state, const tg_hlo_module *module, const tg_hlo_move *m) {
    static const char *const keys[] = {"computation", "instruction", "opcode", "operand", "from", "to", "kind",
                                       "false_bitcast", "read_bytes", "written_bytes", "why"};
    const tg_hlo_instruction i = tg_hlo_get_instruction(module, m->instruction);
    const tg_hlo_operand     from = tg_hlo_get_operand(module, m->operand);
    PyObject                *values[] = {hlo_piece(hlo_computation_of(module, m->instruction).name),
                                         hlo_piece(i.name),
                                         hlo_piece(i.opcode),
                                         hlo_operand_name(&from),
                                         source_text(state, module, m),
                                         shape_text(module, i.shape),
                                         core_name(tg_hlo_move_kind_name(m->kind)),
                                         PyBool_FromLong(m->is_false_bitcast),
                                         PyLong_FromLongLong(m->read_bytes),
                                         PyLong_FromLongLong(m->written_bytes),
                                         core_name(m->why)};
    return put_all(PyDict_New(), keys, values, (int)(sizeof keys / sizeof keys[0]));
}

static PyObject *moves(core_state *state, const tg_hlo_module *module, const tg_hlo_moves *list, int64_t limit) {
    PyObject *rows = PyList_New(0);
    for (int64_t i = 0; rows != NULL && i < list->nmoves && (limit < 0 || i < limit); i++)
        if (core_append(rows, copies_row(state, module, &list->move[i])) != 0) Py_CLEAR(rows);
    return rows;
}

PyObject *hlo_copies(PyObject *self, PyObject *args, PyObject *kwargs) {
    static const char *const keys[] = {"schema", "module", "moves"};
    const tg_hlo_module     *module = module_of(self);
    hlo_wish                 w;
    tg_hlo_moves             list;
    tg_status                s;
    tg_error                 err;
    if (hlo_get_wish(&w, self, args, kwargs) != 0) return NULL;
    Py_BEGIN_ALLOW_THREADS
    s = tg_hlo_moves_list(&list, module, &w.filter, &err);
    Py_END_ALLOW_THREADS
    if (s != TG_OK) return core_raise(core_get_state(self), &err, NULL);
    PyObject *values[] = {PyUnicode_FromString("tegula.hlo.copies/1"), hlo_piece(tg_hlo_get_header(module).name),
                          moves(core_get_state(self), module, &list, w.limit)};
    tg_hlo_moves_free(&list);
    return put_all(PyDict_New(), keys, values, (int)(sizeof keys / sizeof keys[0]));
}
