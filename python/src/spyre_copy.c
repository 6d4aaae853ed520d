/* Transfers between host memory and the memory of the device.
 *
 * A view that is a box of a layout (spyre_view.c) moves in one plan of libtegula, format conversion included. A piece
 * that starts inside a stick is read into a buffer first. What no box says is left to the caller, who goes through
 * the image: the whole storage as a line of host elements. The GIL is released while anything moves. */
#include "py_plan.h"
#include "spyre.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic int32_t wanted_threads = 1;

static tg_status move(const tg_layout *dst_layout, void *dst, const tg_layout *src_layout, const void *src,
                      const int64_t *begin, const int64_t *end, tg_error *err) {
    const tg_plan_params params = {.dst = dst_layout, .src = src_layout, .begin = begin, .end = end};
    tg_plan              plan;
    const int32_t        threads = atomic_load(&wanted_threads);
    const tg_executor    executor = core_executor(&threads);
    const tg_status      s = tg_plan_init(&plan, &params, err);
    return s != TG_OK ? s : tg_plan_run(&plan, dst, src, threads > 1 ? &executor : NULL, err);
}

/* ---- images ---- */

static tg_status host_layout(tg_layout *out, const tg_host *host, tg_error *err) {
    return tg_layout_strided(out, host->dtype, host->ndim, host->shape, host->strides, 0, err);
}

tg_status spyre_read_image(const spyre_block *block, void *image, tg_error *err) {
    tg_layout host;
    if (block->raw || block->gaps) memcpy(image, block->raw ? block->data : block->host_image, (size_t)block->nbytes);
    if (block->raw || block->nbytes == 0) return TG_OK;
    const tg_status s = host_layout(&host, &block->host, err);
    return s != TG_OK ? s : move(&host, image, &block->map, block->data, NULL, NULL, err);
}

tg_status spyre_write_image(const spyre_block *block, const void *image, tg_error *err) {
    tg_layout host;
    if (block->raw || block->gaps) memcpy(block->raw ? block->data : block->host_image, image, (size_t)block->nbytes);
    if (block->raw || block->nbytes == 0) return TG_OK;
    const tg_status s = host_layout(&host, &block->host, err);
    return s != TG_OK ? s : move(&block->map, block->data, &host, image, NULL, NULL, err);
}

/* ---- images of which a part counts ---- */

/* Elements of `width` bytes that are not wanted are not written, not even as they are: other threads may. The compiler
 * knows the width where it is called. */
static inline void copy_elements(unsigned char *out, const unsigned char *in, const unsigned char *wanted, size_t bytes,
                                 size_t width) {
    for (size_t i = 0; i < bytes; i += width)
        if (wanted[i] != 0) memcpy(out + i, in + i, width);
}

static void copy_where(unsigned char *out, const unsigned char *in, const unsigned char *wanted, int64_t bytes,
                       int64_t width) {
    if (width == 2) copy_elements(out, in, wanted, (size_t)bytes, 2);
    else if (width == 4) copy_elements(out, in, wanted, (size_t)bytes, 4);
    else copy_elements(out, in, wanted, (size_t)bytes, 1);
}

/* Elements of `to` bytes are 255 where one of the `from` bytes is set. Both are 1, 2, 4 or 8, which the compiler knows
 * where it is called. */
static inline void mark_elements(unsigned char *line, const unsigned char *touched, int64_t n, size_t from, size_t to) {
    for (int64_t i = 0; i < n; i++) {
        uint64_t seen = 0;
        memcpy(&seen, touched + (size_t)i * from, from);
        seen = seen != 0 ? UINT64_MAX : 0;
        memcpy(line + (size_t)i * to, &seen, to);
    }
}

static void mark_line(unsigned char *line, const unsigned char *touched, int64_t n, int64_t from, int64_t to) {
    if (from == 2 && to == 2) mark_elements(line, touched, n, 2, 2);
    else if (from == 4 && to == 4) mark_elements(line, touched, n, 4, 4);
    else mark_elements(line, touched, n, (size_t)from, (size_t)to);
}

/* A layout of elements of the same places that are nothing but bits. */
static bool as_bits(tg_layout *layout) {
    static const struct { uint32_t bits; tg_dtype dtype; } rows[] = {{8, TG_U8}, {16, TG_U16}, {32, TG_U32}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((uint32_t)layout->elem_bits == rows[i].bits) {
            layout->dtype = rows[i].dtype;
            layout->format = TG_FORMAT_NATIVE;
            return true;
        }
    return false;
}

/* Memory of the device whose bytes are 255 in the elements that have a byte marked, else 0. line: room for one
 * element of the device per element of the host. */
static tg_status mark_device(unsigned char *marked, unsigned char *line, const spyre_block *block,
                             const unsigned char *touched, tg_error *err) {
    tg_layout     map = block->map, host;
    tg_host       bits = block->host;
    const int64_t width = tg_dtype_storage_bits(bits.dtype) / 8, bytes = map.elem_bits / 8;
    if (!as_bits(&map)) return TG_ERR_UNSUPPORTED;
    mark_line(line, touched, block->nbytes / width, width, bytes);
    memset(marked, 0, (size_t)block->device_bytes);
    bits.dtype = map.dtype;
    const tg_status s = host_layout(&host, &bits, err);
    return s != TG_OK ? s : move(&map, marked, &host, line, NULL, NULL, err);
}

/* The whole image is converted beside the device's memory, and what was touched goes there. */
static tg_status write_marked(const spyre_block *block, const unsigned char *image, const unsigned char *touched,
                              unsigned char *fresh, unsigned char *marked, unsigned char *line, tg_error *err) {
    tg_layout host;
    tg_status s = host_layout(&host, &block->host, err);
    if (s == TG_OK) s = move(&block->map, fresh, &host, image, NULL, NULL, err);
    if (s == TG_OK) s = mark_device(marked, line, block, touched, err);
    if (s != TG_OK) return s;
    if (block->gaps) copy_where(block->host_image, image, touched, block->nbytes, 1);
    copy_where(block->data, fresh, marked, block->device_bytes, block->map.elem_bits / 8);
    return TG_OK;
}

static tg_status no_memory(tg_error *err) {
    *err = (tg_error){.status = TG_ERR_NOMEM, .dim = -1, .message = "no memory for a transfer"};
    return TG_ERR_NOMEM;
}

tg_status spyre_write_touched(const spyre_block *block, const void *image, const unsigned char *touched,
                              tg_error *err) {
    if (block->raw) copy_where(block->data, image, touched, block->nbytes, 1);
    if (block->raw || block->nbytes == 0) return TG_OK;
    const int64_t elements = block->nbytes / (tg_dtype_storage_bits(block->host.dtype) / 8);
    const int64_t device = block->device_bytes, lines = elements * (block->map.elem_bits / 8);
    void         *fresh = spyre_take(device), *marked = spyre_take(device), *line = spyre_take(lines);
    const bool    room = fresh != NULL && marked != NULL && line != NULL;
    const tg_status s = room ? write_marked(block, image, touched, fresh, marked, line, err) : no_memory(err);
    spyre_give(fresh, device);
    spyre_give(marked, device);
    spyre_give(line, lines);
    return s;
}

/* ---- padding ---- */

enum { SMALL_BYTES = 1 << 14 }; /* up to here, and where most is padding, clearing all is quicker than a plan */

/* Positions of memory that dimension d has, or 0 if it has no more than coordinates. */
static int64_t positions_beyond(const tg_layout *map, int32_t d) {
    int64_t n = 1;
    for (int32_t i = 0; i < map->nmodes; i++)
        if (map->mode[i].axis == d) n *= map->mode[i].size;
    return n > map->shape[d] ? n : 0;
}

/* Nothing but the positions of dimensions beyond their coordinates is padding. */
static bool ends_alone(const tg_layout *map) {
    for (int32_t i = 0; i < map->nmodes; i++)
        if (map->mode[i].axis == TG_AXIS_PAD && map->mode[i].size > 1) return false;
    return map->naxes == map->ndim;
}

/* The last coordinates of dimension d, and the padding behind them. */
static tg_status zero_end(const spyre_block *block, int32_t d) {
    static const unsigned char zero[16];
    const tg_layout *map = &block->map;
    tg_layout        source;
    tg_plan          plan;
    int64_t          begin[TG_MAX_NDIM] = {0}, none[TG_MAX_NDIM] = {0};
    begin[d] = map->shape[d] - 1;
    const tg_plan_params params = {.dst = map, .src = &source, .pad = zero, .begin = begin, .end = map->shape};
    tg_status s = tg_layout_strided(&source, map->dtype, map->ndim, map->shape, none, 0, NULL);
    if (s == TG_OK) s = tg_plan_init(&plan, &params, NULL);
    return s != TG_OK ? s : tg_plan_run(&plan, block->data, zero, NULL, NULL);
}

void spyre_zero_padding(const spyre_block *block) {
    const tg_layout *map = &block->map;
    tg_status        s = TG_OK;
    const int64_t    elements = tg_layout_numel(map);
    const bool       all = block->host.dtype == TG_U8;
    if (elements == map->span && !all) return;
    if (block->device_bytes > SMALL_BYTES && elements > map->span / 2 && ends_alone(map) && !all) {
        for (int32_t d = 0; d < map->ndim && s == TG_OK; d++)
            if (positions_beyond(map, d) != 0) s = zero_end(block, d);
        if (s == TG_OK) return;
    }
    memset(block->data, 0, (size_t)block->device_bytes);
}

/* ---- boxes ---- */

typedef struct transfer {
    spyre_block  *block;
    unsigned char *memory;                /* on the host */
    tg_dtype      dtype;
    spyre_view    view;                   /* on the device */
    int64_t       stride[TG_MAX_NDIM];    /* on the host, in elements, of the dimensions of the view */
    int64_t       width;                  /* bytes of a host element */
} transfer;

/* The host side over the dimensions of the box, from coordinate 0 on: where the box starts lies at `memory`. */
static tg_status host_side(tg_layout *out, int64_t *shift, const transfer *t, const spyre_box *box, tg_error *err) {
    int64_t stride[TG_MAX_NDIM];
    *shift = 0;
    for (int32_t d = 0; d < box->layout.ndim; d++) {
        stride[d] = box->dim[d] >= 0 ? t->stride[box->dim[d]] : 0;
        *shift += box->begin[d] * stride[d];
    }
    return tg_layout_strided(out, t->dtype, box->layout.ndim, box->layout.shape, stride, 0, err);
}

static void *shifted(void *memory, int64_t elements, int64_t width) {
    return (void *)((uintptr_t)memory - (uintptr_t)(elements * width));
}

static bool row_fits(const int64_t *from, int64_t n, int64_t stride) {
    uint64_t beyond = 0; /* bits above 32 of the numbers, counted from the least of 32 bits */
    if (stride == 1)
        for (int64_t i = 0; i < n; i++) beyond |= (uint64_t)from[i] + (UINT64_C(1) << 31);
    else
        for (int64_t i = 0; i < n; i++) beyond |= (uint64_t)from[i * stride] + (UINT64_C(1) << 31);
    return beyond >> 32 == 0;
}

/* Whether int64 numbers are all of 32 bits, which is what the device has for them. The last dimension is a loop of its
 * own; `at` counts the others. */
static bool fits(const transfer *t) {
    const spyre_view *v = &t->view;
    const int64_t    *from = (const void *)t->memory;
    int64_t           at[TG_MAX_NDIM] = {0};
    const int32_t     last = v->ndim - 1;
    if (t->dtype != TG_S64) return true;
    for (;;) {
        if (!row_fits(from, last >= 0 ? v->size[last] : 1, last >= 0 ? t->stride[last] : 0)) return false;
        int32_t d = last - 1;
        for (; d >= 0 && ++at[d] == v->size[d]; d--) {
            from -= (v->size[d] - 1) * t->stride[d];
            at[d] = 0;
        }
        if (d < 0) return true;
        from += t->stride[d];
    }
}

static tg_status write_box_at(unsigned char *device, const transfer *t, const spyre_box *box, tg_error *err) {
    tg_layout       host;
    int64_t         shift;
    const tg_status s = host_side(&host, &shift, t, box, err);
    if (s != TG_OK) return s;
    return move(&box->layout, device, &host, shifted(t->memory, shift, t->width), box->whole ? NULL : box->begin,
                box->whole ? NULL : box->end, err);
}

/* A number that does not fit is found before anything is written: the plan that names it writes beside. */
static tg_status write_box(const transfer *t, const spyre_box *box, tg_error *err) {
    if (!fits(t)) {
        void *beside = spyre_take(t->block->device_bytes);
        const tg_status s = beside != NULL ? write_box_at(beside, t, box, err) : no_memory(err);
        spyre_give(beside, t->block->device_bytes);
        if (s != TG_OK) return s;
    }
    return write_box_at(t->block->data, t, box, err);
}

static tg_status read_whole(const transfer *t, const spyre_box *box, tg_error *err) {
    tg_layout       host;
    int64_t         shift;
    const tg_status s = host_side(&host, &shift, t, box, err);
    return s != TG_OK ? s : move(&host, t->memory, &box->layout, t->block->data, NULL, NULL, err);
}

/* Bounds that the layout does not know: dense memory for the frame gives every coordinate a place of its own, of
 * which the box touches a part; that part is then moved on. */
static tg_status read_part(const transfer *t, const spyre_box *box, tg_error *err) {
    tg_layout frame, from, to;
    int64_t   size[TG_MAX_NDIM], stride[TG_MAX_NDIM], host[TG_MAX_NDIM], first = 0, last = 0;
    tg_status s = tg_layout_strided(&frame, t->dtype, box->layout.ndim, box->layout.shape, NULL, 0, err);
    if (s != TG_OK) return s;
    for (int32_t d = 0; d < frame.ndim; d++) {
        stride[d] = frame.mode[d].stride;
        size[d] = box->end[d] - box->begin[d];
        host[d] = box->dim[d] >= 0 ? t->stride[box->dim[d]] : 0;
        first += box->begin[d] * stride[d];
        last += (box->end[d] - 1) * stride[d];
    }
    const int64_t bytes = (last - first + 1) * t->width;
    void         *part = spyre_take(bytes);
    if (part == NULL) return no_memory(err);
    s = move(&frame, shifted(part, first, t->width), &box->layout, t->block->data, box->begin, box->end, err);
    if (s == TG_OK) s = tg_layout_strided(&from, t->dtype, frame.ndim, size, stride, 0, err);
    if (s == TG_OK) s = tg_layout_strided(&to, t->dtype, frame.ndim, size, host, 0, err);
    if (s == TG_OK) s = move(&to, t->memory, &from, part, NULL, NULL, err);
    spyre_give(part, bytes);
    return s;
}

/* ---- from Python ---- */

enum { MANY_DIMS = 64 }; /* PyTorch's limit */

/* Dimensions of size 1 are left out: they say nothing, and there may be more than a layout has room for. 1, 0 if the
 * view has too many dimensions, -1 with an exception. */
static int get_view(transfer *t, core_state *state, PyObject *size, PyObject *stride, PyObject *host_stride) {
    int64_t sizes[MANY_DIMS], strides[MANY_DIMS], hosts[MANY_DIMS];
    int32_t n = 0, m = 0, k = 0;
    if (core_get_ints(sizes, &n, MANY_DIMS, state, size, "size") != 0 ||
        core_get_ints(strides, &m, MANY_DIMS, state, stride, "stride") != 0 ||
        core_get_ints(hosts, &k, MANY_DIMS, state, host_stride, "stride") != 0)
        return -1;
    if (m != n || k != n) {
        (void)core_raise_argument(state, "%d sizes with %d and %d strides", (int)n, (int)m, (int)k);
        return -1;
    }
    t->view.ndim = 0;
    for (int32_t i = 0; i < n; i++) {
        if (sizes[i] == 1) continue;
        if (t->view.ndim == TG_MAX_NDIM) return 0;
        t->view.size[t->view.ndim] = sizes[i];
        t->view.stride[t->view.ndim] = strides[i];
        t->stride[t->view.ndim++] = hosts[i];
    }
    return 1;
}

static bool is_empty(const spyre_view *view) {
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->size[i] == 0) return true;
    return false;
}

static bool repeats(const spyre_view *view) {
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->stride[i] == 0) return true;
    return false;
}

/* (key, size, stride, offset, dtype, memory, strides of memory): 1 and a block that is held, 0 if no box can say it or
 * the tensor reads the storage as another type, -1 with an exception. */
static int get_transfer(transfer *t, core_state *state, PyObject *args) {
    PyObject *key, *size, *stride, *dtype, *memory, *host_stride;
    long long offset;
    if (!PyArg_ParseTuple(args, "OOOLOOO", &key, &size, &stride, &offset, &dtype, &memory, &host_stride)) return -1;
    if (core_get_dtype(&t->dtype, state, dtype) != 0) return -1;
    t->memory = PyLong_AsVoidPtr(memory);
    if (PyErr_Occurred()) return -1;
    const int known = get_view(t, state, size, stride, host_stride);
    if (known <= 0) return known;
    t->view.offset = offset;
    t->width = tg_dtype_storage_bits(t->dtype) / 8;
    t->block = spyre_acquire(key);
    if (t->block == NULL) return -1;
    if (!t->block->raw && t->dtype == t->block->host.dtype) return 1;
    spyre_release(t->block);
    return 0;
}

static tg_status run_box(const transfer *t, const spyre_box *box, bool to_device, tg_error *err) {
    if (to_device) return write_box(t, box, err);
    return box->whole ? read_whole(t, box, err) : read_part(t, box, err);
}

/* PyTorch has tensors without memory; they are for the caller to see to. */
static bool has_memory(const transfer *t) { return t->memory != NULL || is_empty(&t->view); }

static PyObject *run_transfer(PyObject *module, PyObject *args, bool to_device) {
    transfer    t;
    spyre_box   box;
    tg_error    err;
    tg_status   s = TG_OK;
    core_state *state = core_module_state(module);
    const int   known = get_transfer(&t, state, args);
    if (known <= 0) return known < 0 ? NULL : Py_NewRef(Py_False);
    if (!has_memory(&t)) {
        spyre_release(t.block);
        return core_raise_argument(state, "a tensor without memory cannot be moved");
    }
    bool done = is_empty(&t.view);
    if (!done && !(to_device && repeats(&t.view))) {
        Py_BEGIN_ALLOW_THREADS
        done = spyre_view_box(&box, t.block, &t.view);
        if (done) s = run_box(&t, &box, to_device, &err);
        Py_END_ALLOW_THREADS
    }
    spyre_release(t.block);
    /* Bounds that a plan cannot have: the image can. */
    if (s == TG_ERR_UNSUPPORTED || s == TG_ERR_ARGUMENT) Py_RETURN_FALSE;
    return s == TG_OK ? PyBool_FromLong(done) : core_raise(state, &err, NULL);
}

static PyObject *copy_in(PyObject *module, PyObject *args) {
    return run_transfer(module, args, true);
}

static PyObject *copy_out(PyObject *module, PyObject *args) {
    return run_transfer(module, args, false);
}

typedef enum direction { READ, WRITE, WRITE_TOUCHED } direction;

static tg_status image_way(const spyre_block *block, direction way, void *image, const void *touched, tg_error *err) {
    if (way == READ) return spyre_read_image(block, image, err);
    return way == WRITE ? spyre_write_image(block, image, err) : spyre_write_touched(block, image, touched, err);
}

static PyObject *run_image(PyObject *module, PyObject *args, direction way) {
    PyObject *key, *memory, *mask = NULL;
    long long bytes;
    tg_error  err;
    tg_status s = TG_OK;
    if (!PyArg_ParseTuple(args, way == WRITE_TOUCHED ? "OOLO" : "OOL", &key, &memory, &bytes, &mask)) return NULL;
    void        *image = PyLong_AsVoidPtr(memory);
    const void  *touched = mask != NULL && !PyErr_Occurred() ? PyLong_AsVoidPtr(mask) : NULL;
    spyre_block *block = PyErr_Occurred() ? NULL : spyre_acquire(key);
    if (block == NULL) return NULL;
    if (bytes != block->nbytes) {
        PyErr_Format(PyExc_ValueError, "an image of %lld bytes for a storage of %lld", bytes, (long long)block->nbytes);
        spyre_release(block);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    s = image_way(block, way, image, touched, &err);
    Py_END_ALLOW_THREADS
    spyre_release(block);
    if (s != TG_OK) return core_raise(core_module_state(module), &err, NULL);
    Py_RETURN_NONE;
}

static PyObject *read_image(PyObject *module, PyObject *args) { return run_image(module, args, READ); }

static PyObject *write_image(PyObject *module, PyObject *args) { return run_image(module, args, WRITE); }

static PyObject *write_touched(PyObject *module, PyObject *args) { return run_image(module, args, WRITE_TOUCHED); }

/* The dimensions of the box in the order of the view's; those of the frame that the view has not are left out. */
static tg_status in_order(tg_layout *out, const spyre_box *box, const spyre_view *view, tg_error *err) {
    int32_t order[TG_MAX_NDIM], n = 0;
    for (int32_t i = 0; i < view->ndim; i++)
        for (int32_t d = 0; d < box->layout.ndim; d++)
            if (box->dim[d] == i) order[n++] = d;
    for (int32_t d = 0; d < box->layout.ndim; d++)
        if (box->dim[d] < 0) order[n++] = d;
    tg_status s = tg_layout_permute(out, &box->layout, order, err);
    while (s == TG_OK && out->ndim > view->ndim) s = tg_layout_squeeze(out, out, out->ndim - 1, err);
    return s;
}

/* One plan between two views in the format of the device; TG_ERR_UNSUPPORTED if no plan says it. */
static tg_status move_views(spyre_block *dst, const spyre_view *to, spyre_block *src, const spyre_view *from,
                            tg_error *err) {
    spyre_box box;
    tg_layout dst_layout, src_layout;
    if (!spyre_view_box(&box, dst, to) || !box.whole) return TG_ERR_UNSUPPORTED;
    tg_status s = in_order(&dst_layout, &box, to, err);
    if (s != TG_OK || !spyre_view_box(&box, src, from) || !box.whole) return TG_ERR_UNSUPPORTED;
    s = in_order(&src_layout, &box, from, err);
    return s != TG_OK ? s : move(&dst_layout, dst->data, &src_layout, src->data, NULL, NULL, err);
}

/* Both are of that type, in formats of the device, and no byte is of both. */
static bool in_formats(const spyre_block *a, const spyre_block *b, tg_dtype dtype) {
    return a != b && !a->raw && !b->raw && a->host.dtype == dtype && b->host.dtype == dtype;
}

/* (key, stride, offset, key of the source, its stride, its offset, size, dtype) */
static PyObject *copy_device(PyObject *module, PyObject *args) {
    PyObject   *to, *from, *to_stride, *from_stride, *size, *object;
    long long   to_offset, from_offset;
    transfer    t;
    tg_error    err;
    tg_status   s = TG_ERR_UNSUPPORTED;
    core_state *state = core_module_state(module);
    if (!PyArg_ParseTuple(args, "OOLOOLOO:_spyre_copy_device", &to, &to_stride, &to_offset, &from, &from_stride,
                          &from_offset, &size, &object) ||
        core_get_dtype(&t.dtype, state, object) != 0)
        return NULL;
    const int known = get_view(&t, state, size, to_stride, from_stride);
    if (known <= 0) return known < 0 ? NULL : Py_NewRef(Py_False);
    spyre_view source = t.view;
    memcpy(source.stride, t.stride, sizeof source.stride);
    t.view.offset = to_offset;
    source.offset = from_offset;
    spyre_block *dst = spyre_acquire(to), *src = dst != NULL ? spyre_acquire(from) : NULL;
    if (src != NULL && is_empty(&source)) s = TG_OK;
    else if (src != NULL && in_formats(dst, src, t.dtype) && !repeats(&t.view)) {
        Py_BEGIN_ALLOW_THREADS
        s = move_views(dst, &t.view, src, &source, &err);
        Py_END_ALLOW_THREADS
    }
    if (src != NULL) spyre_release(src);
    if (dst != NULL) spyre_release(dst);
    if (src == NULL) return NULL;
    if (s != TG_OK && s != TG_ERR_UNSUPPORTED && s != TG_ERR_ARGUMENT) return core_raise(state, &err, NULL);
    return PyBool_FromLong(s == TG_OK);
}

static PyObject *set_threads(PyObject *module, PyObject *arg) {
    int64_t n = 0;
    if (core_get_int(&n, core_module_state(module), arg, "the number of threads") != 0) return NULL;
    if (n < 1)
        return core_raise_argument(core_module_state(module), "%lld threads; at least 1 is needed", (long long)n);
    atomic_store(&wanted_threads, n < MOST_THREADS ? (int32_t)n : MOST_THREADS);
    Py_RETURN_NONE;
}

PyMethodDef spyre_copy_methods[] = {
    {"_spyre_copy_in", copy_in, METH_VARARGS,
     "(key, size, stride, offset, dtype, address, strides) -> False if it has to go through the image"},
    {"_spyre_copy_out", copy_out, METH_VARARGS, "as spyre_copy_in, from the device"},
    {"_spyre_copy_device", copy_device, METH_VARARGS,
     "(key, stride, offset, key, stride, offset of the source, size, dtype) -> False if it has to go another way"},
    {"_spyre_read_image", read_image, METH_VARARGS, "(key, address, bytes): the storage as host elements"},
    {"_spyre_write_image", write_image, METH_VARARGS, "(key, address, bytes)"},
    {"_spyre_write_touched", write_touched, METH_VARARGS,
     "(key, address, bytes, address of as many): only elements that have a byte there which is not 0"},
    {"_spyre_set_threads", set_threads, METH_O, "how many threads large transfers use"},
    {NULL, NULL, 0, NULL},
};
