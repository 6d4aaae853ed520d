/* A Layout and arrays: the layout of one, and places and coordinates by the million. */
#include "py_layout.h"

#include "py_array.h"

#include <string.h>

static const tg_layout *map_of(PyObject *object) { return &((core_layout *)object)->desc.layout; }

PyObject *layout_of_array(PyObject *type, PyObject *object) {
    core_state *state = PyType_GetModuleState((PyTypeObject *)type);
    core_memory m;
    if (Py_IS_TYPE(object, (PyTypeObject *)state->buffer_type))
        return Py_NewRef((PyObject *)((core_buffer *)object)->layout);
    if (core_memory_open(&m, state, object, false, "the array") != 0) return NULL;
    PyObject *layout = core_layout_of_host(state, &m.host, &m.layout);
    core_memory_close(&m);
    return layout;
}

/* ---- tables of numbers ------------------------------------------------------------------------ */

/* A new Buffer of int64, [n] or [n,width]. */
static PyObject *new_table(core_state *state, int64_t n, int32_t width, bool has_width) {
    const int64_t shape[] = {n, width};
    tg_host       host;
    tg_error      err;
    if (tg_host_contiguous(&host, TG_S64, has_width ? 2 : 1, shape, &err) != TG_OK)
        return core_raise(state, &err, NULL);
    PyObject *layout = core_layout_strided(state, &host);
    PyObject *table = layout != NULL ? core_buffer_new(state, (core_layout *)layout, false) : NULL;
    Py_XDECREF(layout);
    return table;
}

static int64_t *numbers_of(PyObject *table) {
    return (int64_t *)(void *)core_block_bytes(((core_buffer *)table)->block);
}

/* An array of int64, open for reading, whose last dimension of `width` is one coordinate if has_width. */
static int open_numbers(core_memory *m, core_state *state, PyObject *object, int32_t width, bool has_width) {
    const char *what = has_width ? "the coordinates" : "the offsets";
    const int   ndim = has_width ? 2 : 1;
    if (core_memory_open(m, state, object, false, what) != 0) return -1;
    if (m->host.dtype == TG_S64 && m->host.ndim == ndim && (!has_width || m->host.shape[1] == width)) return 0;
    core_memory_close(m);
    if (has_width) (void)core_raise_argument(state, "%s must be an int64 array [n,%d]", what, (int)width);
    else (void)core_raise_argument(state, "%s must be an int64 array [n]", what);
    return -1;
}

/* Element (i, j), wherever strides put it. */
static int64_t number_at(const core_memory *m, int64_t i, int32_t j) {
    int64_t       value;
    const int64_t at = m->host.offset + i * m->host.strides[0] + (m->host.ndim > 1 ? j * m->host.strides[1] : 0);
    memcpy(&value, m->bytes + at * (int64_t)sizeof value, sizeof value);
    return value;
}

/* ---- offsets ------------------------------------------------------------------------------------ */

static tg_status find_offsets(int64_t *out, const tg_layout *l, const core_memory *coords, tg_error *err) {
    int64_t coord[TG_MAX_NDIM];
    for (int64_t i = 0; i < coords->host.shape[0]; i++) {
        for (int32_t d = 0; d < l->ndim; d++) coord[d] = number_at(coords, i, d);
        if (!tg_layout_in_bounds(l, coord, err)) return TG_ERR_ARGUMENT;
        out[i] = tg_layout_offset(l, coord);
    }
    return TG_OK;
}

PyObject *layout_offsets(PyObject *self, PyObject *object) {
    core_state *state = core_get_state(self);
    core_memory coords;
    tg_status   s;
    tg_error    err;
    if (open_numbers(&coords, state, object, map_of(self)->ndim, true) != 0) return NULL;
    PyObject *table = new_table(state, coords.host.shape[0], 1, false);
    if (table != NULL) {
        int64_t *const out = numbers_of(table);
        Py_BEGIN_ALLOW_THREADS
        s = find_offsets(out, map_of(self), &coords, &err);
        Py_END_ALLOW_THREADS
        if (s != TG_OK) {
            Py_CLEAR(table);
            (void)core_raise(state, &err, NULL);
        }
    }
    core_memory_close(&coords);
    return table;
}

/* ---- coordinates ---------------------------------------------------------------------------------- */

/* Padding is -1 in every dimension; *outside is an offset that is in no storage. */
static tg_status find_coords(int64_t *out, const tg_layout *l, const core_memory *offsets, bool *is_outside,
                             int64_t *outside, tg_error *err) {
    for (int64_t i = 0; i < offsets->host.shape[0] && !*is_outside; i++, out += l->ndim) {
        const int64_t   offset = number_at(offsets, i, 0);
        tg_slot         slot = TG_SLOT_OUTSIDE;
        int64_t         coord[TG_MAX_NDIM];
        const tg_status s = tg_layout_coord(&slot, coord, l, offset, err);
        if (s != TG_OK) return s;
        for (int32_t d = 0; d < l->ndim; d++) out[d] = slot == TG_SLOT_DATA ? coord[d] : -1;
        *is_outside = slot == TG_SLOT_OUTSIDE;
        *outside = offset;
    }
    return TG_OK;
}

PyObject *layout_coords(PyObject *self, PyObject *object) {
    core_state      *state = core_get_state(self);
    const tg_layout *l = map_of(self);
    core_memory      offsets;
    bool             is_outside = false;
    int64_t          outside = 0;
    tg_status        s;
    tg_error         err;
    if (open_numbers(&offsets, state, object, 1, false) != 0) return NULL;
    PyObject *table = new_table(state, offsets.host.shape[0], l->ndim, true);
    if (table != NULL) {
        int64_t *const out = numbers_of(table);
        Py_BEGIN_ALLOW_THREADS
        s = find_coords(out, l, &offsets, &is_outside, &outside, &err);
        Py_END_ALLOW_THREADS
        if (s != TG_OK || is_outside) Py_CLEAR(table);
        if (s != TG_OK) (void)core_raise(state, &err, NULL);
        else if (is_outside) (void)layout_raise_outside(state, l, outside);
    }
    core_memory_close(&offsets);
    return table;
}
