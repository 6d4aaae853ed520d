/* Device memory: a registry of storages, keyed by the address that PyTorch holds.
 *
 * PyTorch drops a tensor on whatever thread lets go of it last, often one of autograd's, and without the GIL. So the
 * deleter touches no Python object, and everything here is guarded by one lock of our own. The rule that makes
 * addresses safe as keys: an entry leaves the registry before its memory is given back. An address that malloc hands
 * out again can therefore never find the layout of its last owner.
 *
 *     slot      what a storage is: its key, and the block that is current. Lives as long as the storage.
 *     block     memory and layout, never changed; a new layout makes a new block, and readers of the old one keep it
 *               alive by a count. */
#include "spyre.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- DLPack: the part of the ABI that a tensor of one dimension needs. Source: dmlc/dlpack dlpack.h ---- */

enum { DL_EXT_DEV = 12 }; /* kDLExtDev, which PyTorch takes for its PrivateUse1 */

typedef struct dl_tensor {
    void *data;
    struct { int32_t type, id; } device;
    int32_t ndim;
    struct { uint8_t code, bits; uint16_t lanes; } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void     *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

/* ---- the registry ---- */

typedef struct slot {
    struct slot   *next;
    unsigned char *key;
    int64_t        bytes; /* of the memory at key */
    spyre_block   *block;
    dl_managed     managed;
    int64_t        shape[1], strides[1];
} slot;

/* Blocks of device memory, or their bytes. */
typedef struct tally {
    int64_t now, peak; /* held; the most so far */
    int64_t came, went; /* all that ever did */
} tally;

static struct {
    pthread_mutex_t lock;
    slot          **buckets;
    size_t          nbuckets, count;
    tally           blocks, bytes;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t hash_of(const void *key) { return ((uintptr_t)key >> 8) * (size_t)0x9E3779B97F4A7C15u >> 16; }

/* With the lock held. */
static slot **place_of(const void *key) {
    slot **at = &registry.buckets[hash_of(key) & (registry.nbuckets - 1)];
    while (*at != NULL && (*at)->key != key) at = &(*at)->next;
    return at;
}

/* With the lock held. False without memory; the table stays as it is. */
static bool grow(void) {
    const size_t n = registry.nbuckets == 0 ? 1024 : 2 * registry.nbuckets;
    slot       **buckets = calloc(n, sizeof *buckets);
    if (buckets == NULL) return registry.nbuckets != 0;
    for (size_t i = 0; i < registry.nbuckets; i++)
        while (registry.buckets[i] != NULL) {
            slot *s = registry.buckets[i];
            registry.buckets[i] = s->next;
            s->next = buckets[hash_of(s->key) & (n - 1)];
            buckets[hash_of(s->key) & (n - 1)] = s;
        }
    free(registry.buckets);
    registry.buckets = buckets;
    registry.nbuckets = n;
    return true;
}

static void count(tally *of, int64_t n) {
    of->now += n;
    if (n > 0) of->came += n;
    else of->went -= n;
    if (of->now > of->peak) of->peak = of->now;
}

/* With the lock held: a block that came (1) or went (-1). */
static void account(const spyre_block *block, int sign) {
    count(&registry.blocks, sign);
    count(&registry.bytes, sign * block->device_bytes);
}

static bool insert(slot *s) {
    pthread_mutex_lock(&registry.lock);
    const bool ok = registry.count < registry.nbuckets || grow();
    if (ok) {
        slot **bucket = &registry.buckets[hash_of(s->key) & (registry.nbuckets - 1)];
        s->next = *bucket;
        *bucket = s;
        registry.count++;
        account(s->block, 1);
    }
    pthread_mutex_unlock(&registry.lock);
    return ok;
}

static void free_block(spyre_block *block) {
    if (block->owns) spyre_give(block->data, block->device_bytes);
    free(block);
}

/* With the lock held: true if the caller has to free the block. */
static bool unref(spyre_block *block) {
    if (--block->refs > 0) return false;
    account(block, -1);
    return true;
}

void spyre_release(spyre_block *block) {
    pthread_mutex_lock(&registry.lock);
    const bool last = unref(block);
    pthread_mutex_unlock(&registry.lock);
    if (last) free_block(block);
}

spyre_block *spyre_acquire(PyObject *object) {
    void        *key = PyLong_AsVoidPtr(object);
    spyre_block *block = NULL;
    if (PyErr_Occurred()) return NULL;
    pthread_mutex_lock(&registry.lock);
    slot *s = registry.nbuckets != 0 ? *place_of(key) : NULL;
    if (s != NULL) {
        block = s->block;
        block->refs++;
    }
    pthread_mutex_unlock(&registry.lock);
    if (block == NULL) PyErr_Format(PyExc_RuntimeError, "%p is not the storage of a Spyre tensor", key);
    return block;
}

/* What PyTorch calls when a storage dies: any thread, no GIL. */
static void drop(dl_managed *managed) {
    slot *s = managed->context;
    pthread_mutex_lock(&registry.lock);
    slot **at = place_of(s->key);
    if (*at == s) {
        *at = s->next;
        registry.count--;
    }
    const bool last = unref(s->block);
    pthread_mutex_unlock(&registry.lock);
    if (last) free_block(s->block);
    spyre_give(s->key, s->bytes);
    free(s);
}

/* A capsule that nobody took. */
static void drop_capsule(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
}

/* ---- making storages ---- */

/* PyTorch's code of an element type in DLPack, with its bits. Source: dlpack.h DLDataTypeCode. */
static const struct { tg_dtype dtype; uint8_t code; } codes[] = {
    {TG_S8, 0}, {TG_S16, 0}, {TG_S32, 0}, {TG_S64, 0}, {TG_U8, 1}, {TG_F16, 2}, {TG_F32, 2}, {TG_BF16, 4},
    {TG_PRED, 6}, {TG_F8E4M3FN, 10}, {TG_F8E5M2FNUZ, 13},
};

static bool set_code(dl_tensor *tensor, tg_dtype dtype) {
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].dtype != dtype) continue;
        tensor->dtype.code = codes[i].code;
        tensor->dtype.bits = (uint8_t)tg_dtype_storage_bits(dtype);
        tensor->dtype.lanes = 1;
        return true;
    }
    return false;
}

/* The memory at the key of a block. */
static int64_t slot_bytes(const spyre_block *block) {
    return block->gaps || block->nbytes > block->device_bytes ? block->nbytes : block->device_bytes;
}

static PyObject *refuse_block(spyre_block *block) {
    spyre_give(block->host_image, slot_bytes(block));
    free_block(block);
    return PyErr_NoMemory();
}

/* Takes the block over. A capsule that PyTorch imports as a line of `count` elements, or NULL with an exception. */
static PyObject *make_capsule(spyre_block *block, tg_dtype dtype, int64_t count) {
    slot *s = calloc(1, sizeof *s);
    if (s == NULL) return refuse_block(block);
    s->key = block->host_image;
    s->bytes = slot_bytes(block);
    s->block = block;
    s->shape[0] = count;
    s->strides[0] = 1;
    s->managed = (dl_managed){.tensor = {.data = s->key, .device = {DL_EXT_DEV, 0}, .ndim = 1, .shape = s->shape,
                                         .strides = s->strides},
                              .context = s, .deleter = drop};
    if (!set_code(&s->managed.tensor, dtype) || !insert(s)) {
        free(s);
        return refuse_block(block);
    }
    PyObject *capsule = PyCapsule_New(&s->managed, "dltensor", drop_capsule);
    if (capsule == NULL) drop(&s->managed);
    return capsule;
}

/* ---- what lies where ---- */

/* No two coordinates share an element; *dense: every element up to the last is some coordinate's. */
static bool injective(const tg_host *host, bool *dense) {
    bool used[TG_MAX_NDIM] = {false};
    int64_t next = 1;
    *dense = true;
    for (int32_t i = 0; i < host->ndim; i++) {
        int32_t least = -1;
        for (int32_t d = 0; d < host->ndim; d++)
            if (!used[d] && (least < 0 || host->strides[d] < host->strides[least] ||
                             (host->strides[d] == host->strides[least] && host->shape[d] < host->shape[least])))
                least = d;
        used[least] = true;
        if (host->shape[least] <= 1) continue;
        if (host->strides[least] < next) return false;
        if (host->strides[least] > next) *dense = false;
        next = host->strides[least] * host->shape[least];
    }
    return true;
}

/* The map of a block's host tensor, and what memory it takes. */
static tg_status map_block(spyre_block *block, tg_error *err) {
    bool dense = true;
    for (int32_t d = 0; d < block->host.ndim; d++)
        if (block->host.strides[d] == 0) block->host.shape[d] = block->host.shape[d] > 0 ? 1 : 0;
    if (!injective(&block->host, &dense)) {
        block->raw = true; /* overlapping strides: an element has no home of its own in any tiling */
        return TG_OK;
    }
    block->gaps = !dense;
    tg_status s = tg_layout_from_spyre(&block->map, &block->spyre, &block->host, err);
    if (s == TG_OK) s = tg_layout_nbytes(&block->device_bytes, &block->map, err);
    return s;
}

/* Fills data and host_image; the one allocation of a storage is the larger of both. */
static bool allocate_block(spyre_block *block) {
    const int64_t device = block->raw ? block->nbytes : block->device_bytes;
    block->device_bytes = device;
    block->host_image = spyre_take(slot_bytes(block));
    if (block->host_image == NULL) return false;
    block->owns = block->gaps;
    block->data = block->gaps ? spyre_take(device) : block->host_image;
    if (block->data == NULL) {
        spyre_give(block->host_image, slot_bytes(block));
        return false;
    }
    return true;
}

/* Memory that is handed out again holds what its last owner left. Elements are the caller's to write, but nobody writes
 * what lies between them, and files have it. */
static void define(const spyre_block *block) {
    if (block->raw || block->gaps) memset(block->host_image, 0, (size_t)block->nbytes);
    if (!block->raw) spyre_zero_padding(block);
}

/* Gaps between elements have memory, too: then the image of the host is what takes most. */
static PyObject *no_memory(const spyre_block *block) {
    const long long device = (long long)block->device_bytes, image = (long long)slot_bytes(block);
    if (image <= device)
        return PyErr_Format(PyExc_MemoryError, "Spyre: %lld bytes of device memory could not be allocated", device);
    return PyErr_Format(PyExc_MemoryError,
                        "Spyre: %lld bytes of device memory, and %lld of the host's image of the storage, could not be "
                        "allocated",
                        device, image);
}

/* Elements up to the last one of the tensor. */
static int64_t span_of(const tg_host *host) {
    int64_t last = 0;
    for (int32_t d = 0; d < host->ndim; d++) {
        if (host->shape[d] == 0) return 0;
        last += (host->shape[d] - 1) * host->strides[d];
    }
    return last + 1;
}

/* The host tensor. 0, or -1 with an exception. */
static int get_host(tg_host *host, core_state *state, tg_dtype dtype, PyObject *size, PyObject *strides) {
    tg_error  err;
    tg_layout strided;
    int64_t   shape[TG_MAX_NDIM], stride[TG_MAX_NDIM];
    int32_t   ndim = 0, n = 0;
    if (core_get_ints(shape, &ndim, TG_MAX_NDIM, state, size, "size") != 0) return -1;
    if (strides != Py_None && core_get_ints(stride, &n, TG_MAX_NDIM, state, strides, "stride") != 0) return -1;
    if (strides != Py_None && n != ndim) {
        (void)core_raise_argument(state, "stride has %d entries for %d", (int)n, (int)ndim);
        return -1;
    }
    if (tg_host_contiguous(host, dtype, ndim, shape, &err) != TG_OK) return core_raise(state, &err, NULL), -1;
    if (strides != Py_None) memcpy(host->strides, stride, (size_t)n * sizeof stride[0]);
    /* Sizes and strides that fit: all that comes later may multiply them. */
    const tg_status s = tg_layout_strided(&strided, dtype, ndim, host->shape, host->strides, 0, &err);
    return s == TG_OK ? 0 : (core_raise(state, &err, NULL), -1);
}

/* The tensor and its layout: the one given, or the default. 0, or -1 with an exception. */
static int get_tensor(spyre_block *block, core_state *state, PyObject *size, PyObject *strides, PyObject *dtype,
                      PyObject *layout, int keep_unit_dims) {
    tg_error        err;
    tg_dtype        host_dtype;
    tg_spyre_params params = {.has_device_dtype = true, .keep_unit_dims = keep_unit_dims != 0};
    if (spyre_get_dtype(&host_dtype, &params.device_dtype, state, dtype) < 0) return -1;
    if (get_host(&block->host, state, host_dtype, size, strides) < 0) return -1;
    block->nbytes = span_of(&block->host) * (tg_dtype_storage_bits(host_dtype) / 8);
    block->has_spyre = true;
    if (layout != Py_None) {
        const tg_spyre *given = spyre_layout_get(state, layout);
        if (given == NULL || spyre_layout_check(state, layout, &block->host, params.device_dtype) < 0) return -1;
        block->spyre = *given;
    } else if (tg_spyre_default(&block->spyre, &block->host, &params, &err) != TG_OK) {
        return core_raise(state, &err, NULL), -1;
    }
    return map_block(block, &err) == TG_OK ? 0 : (core_raise(state, &err, NULL), -1);
}

static spyre_block *new_block(void) {
    spyre_block *block = calloc(1, sizeof *block);
    if (block == NULL) (void)PyErr_NoMemory();
    else block->refs = 1;
    return block;
}

static PyObject *alloc(PyObject *module, PyObject *args) {
    PyObject *size, *strides, *dtype, *layout;
    int       keep_unit_dims = 0;
    if (!PyArg_ParseTuple(args, "OOOO|p:_spyre_alloc", &size, &strides, &dtype, &layout, &keep_unit_dims)) return NULL;
    spyre_block *block = new_block();
    if (block == NULL) return NULL;
    if (get_tensor(block, core_module_state(module), size, strides, dtype, layout, keep_unit_dims) == 0) {
        if (allocate_block(block)) {
            define(block);
            return make_capsule(block, block->host.dtype,
                                block->nbytes / (tg_dtype_storage_bits(block->host.dtype) / 8));
        }
        (void)no_memory(block);
    }
    free(block);
    return NULL;
}

/* Whether alloc would take these: None, or its exception. */
static PyObject *check(PyObject *module, PyObject *args) {
    PyObject *size, *strides, *dtype, *layout;
    if (!PyArg_ParseTuple(args, "OOOO:_spyre_check", &size, &strides, &dtype, &layout)) return NULL;
    spyre_block *block = new_block();
    if (block == NULL) return NULL;
    const int failed = get_tensor(block, core_module_state(module), size, strides, dtype, layout, 0);
    free(block);
    return failed != 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *alloc_raw(PyObject *module, PyObject *arg) {
    const long long bytes = PyLong_AsLongLong(arg);
    (void)module;
    if (bytes == -1 && PyErr_Occurred()) return NULL;
    if (bytes < 0) return PyErr_Format(PyExc_ValueError, "a storage of %lld bytes", bytes);
    spyre_block *block = new_block();
    if (block == NULL) return NULL;
    block->raw = true;
    block->nbytes = bytes;
    if (!allocate_block(block)) {
        (void)no_memory(block);
        free(block);
        return NULL;
    }
    define(block);
    return make_capsule(block, TG_U8, bytes);
}

/* A storage of the same bytes in the same layout. */
static PyObject *copy_storage(PyObject *module, PyObject *key) {
    spyre_block *from = spyre_acquire(key), *block = from != NULL ? new_block() : NULL;
    PyObject    *capsule = NULL;
    (void)module;
    if (block != NULL) {
        *block = *from;
        block->refs = 1;
        block->owns = false;
        if (allocate_block(block)) {
            Py_BEGIN_ALLOW_THREADS
            memcpy(block->data, from->data, (size_t)from->device_bytes);
            if (block->gaps) memcpy(block->host_image, from->host_image, (size_t)from->nbytes);
            Py_END_ALLOW_THREADS
            capsule = make_capsule(block, TG_U8, block->nbytes);
        } else {
            (void)no_memory(block);
            free(block);
        }
    }
    if (from != NULL) spyre_release(from);
    return capsule;
}

/* The old content into a new block, which has the slot's memory for what lies between and behind its elements. */
static int relay(spyre_block *block, const spyre_block *old, core_state *state) {
    tg_error  err;
    tg_status s = TG_OK;
    block->gaps = !block->raw && (block->gaps || block->nbytes < old->nbytes);
    if (block->raw) block->device_bytes = old->nbytes;
    block->nbytes = old->nbytes;
    block->host_image = old->host_image;
    block->owns = true;
    block->data = spyre_take(block->device_bytes);
    void *image = spyre_take(old->nbytes);
    if (block->data != NULL && image != NULL) {
        Py_BEGIN_ALLOW_THREADS
        if (!block->raw) spyre_zero_padding(block);
        s = spyre_read_image(old, image, &err);
        if (s == TG_OK) s = spyre_write_image(block, image, &err);
        Py_END_ALLOW_THREADS
        if (s != TG_OK) (void)core_raise(state, &err, NULL);
    } else {
        (void)no_memory(block);
    }
    spyre_give(image, old->nbytes);
    return PyErr_Occurred() ? -1 : 0;
}

/* The slot of old gets the new block, and lets go of the one it has: another thread's where one came first, since the
 * GIL was away. The caller's count of old goes as well. */
static void replace(spyre_block *block, spyre_block *old) {
    pthread_mutex_lock(&registry.lock);
    slot        *s = *place_of(old->host_image);
    spyre_block *held = s->block;
    s->block = block;
    account(block, 1);
    const bool last_held = unref(held), last_old = unref(old);
    pthread_mutex_unlock(&registry.lock);
    if (last_held) free_block(held);
    if (last_old) free_block(old);
}

/* Give a storage another layout; what it holds stays. */
static PyObject *set_layout(PyObject *module, PyObject *args) {
    PyObject *key, *size, *strides, *dtype, *layout;
    if (!PyArg_ParseTuple(args, "OOOOO:_spyre_set_layout", &key, &size, &strides, &dtype, &layout)) return NULL;
    spyre_block *old = spyre_acquire(key), *block = old != NULL ? new_block() : NULL;
    core_state  *state = core_module_state(module);
    bool         ok = block != NULL && get_tensor(block, state, size, strides, dtype, layout, 0) == 0;
    if (ok && block->nbytes > old->nbytes) {
        (void)core_raise_argument(state, "a tensor of %lld bytes does not fit a storage of %lld",
                                  (long long)block->nbytes, (long long)old->nbytes);
        ok = false;
    }
    ok = ok && relay(block, old, state) == 0;
    if (ok) {
        replace(block, old);
        Py_RETURN_NONE;
    }
    if (block != NULL) free_block(block);
    if (old != NULL) spyre_release(old);
    return NULL;
}

/* ---- questions ---- */

/* (device_size, stride_map, device_dtype, arrangement, host size, host strides, host dtype), None for raw bytes. */
static PyObject *describe(PyObject *module, PyObject *key) {
    spyre_block *block = spyre_acquire(key);
    (void)module;
    if (block == NULL) return NULL;
    PyObject *result = NULL;
    if (!block->has_spyre) {
        result = Py_NewRef(Py_None);
    } else {
        const tg_spyre *s = &block->spyre;
        result =
            Py_BuildValue("(NNiiNNs)", core_ints(s->device_size, s->rank), core_ints(s->stride_map, s->rank),
                          (int)s->device_dtype, (int)s->arrangement, core_ints(block->host.shape, block->host.ndim),
                          core_ints(block->host.strides, block->host.ndim), tg_dtype_name(block->host.dtype));
    }
    spyre_release(block);
    return result;
}

static PyObject *layout_of(PyObject *module, PyObject *key) {
    spyre_block *block = spyre_acquire(key);
    if (block == NULL) return NULL;
    PyObject *result = Py_None;
    if (block->has_spyre)
        result = spyre_layout_new(core_module_state(module), &block->spyre, block->raw ? NULL : &block->host);
    else Py_INCREF(result);
    spyre_release(block);
    return result;
}

/* The bytes of device memory, padding included, as the device has them. */
static PyObject *device_bytes(PyObject *module, PyObject *key) {
    spyre_block *block = spyre_acquire(key);
    (void)module;
    if (block == NULL) return NULL;
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)block->data, (Py_ssize_t)block->device_bytes);
    spyre_release(block);
    return bytes;
}

/* Device memory gets these bytes, all of it. */
static PyObject *set_device_bytes(PyObject *module, PyObject *args) {
    PyObject *key, *bytes;
    if (!PyArg_ParseTuple(args, "OS:_spyre_set_device_bytes", &key, &bytes)) return NULL;
    spyre_block *block = spyre_acquire(key);
    if (block == NULL) return NULL;
    const bool fits = PyBytes_Size(bytes) == (Py_ssize_t)block->device_bytes;
    if (fits) memcpy(block->data, PyBytes_AsString(bytes), (size_t)block->device_bytes);
    else
        (void)core_raise_argument(core_module_state(module), "%lld bytes for a device memory of %lld",
                                  (long long)PyBytes_Size(bytes), (long long)block->device_bytes);
    spyre_release(block);
    return fits ? Py_NewRef(Py_None) : NULL;
}

/* Whether elements of that type go through a format of the device, and are not bytes as the host has them. */
static PyObject *converts(PyObject *module, PyObject *args) {
    PyObject *key, *object;
    tg_dtype  dtype;
    if (!PyArg_ParseTuple(args, "OO:_spyre_converts", &key, &object)) return NULL;
    if (core_get_dtype(&dtype, core_module_state(module), object) != 0) return NULL;
    spyre_block *block = spyre_acquire(key);
    if (block == NULL) return NULL;
    const bool does = !block->raw && block->host.dtype == dtype;
    spyre_release(block);
    return PyBool_FromLong(does);
}

static PyObject *stats(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    pthread_mutex_lock(&registry.lock);
    const size_t  n = registry.count;
    const int64_t bytes = registry.bytes.now, peak = registry.bytes.peak;
    pthread_mutex_unlock(&registry.lock);
    return Py_BuildValue("nLL", (Py_ssize_t)n, (long long)bytes, (long long)peak);
}

/* All that is counted, by PyTorch's names for it. */
static PyObject *memory_stats(PyObject *module, PyObject *unused) {
    int64_t reserved = 0, reserved_peak = 0;
    (void)module;
    (void)unused;
    pthread_mutex_lock(&registry.lock);
    const tally blocks = registry.blocks, bytes = registry.bytes;
    pthread_mutex_unlock(&registry.lock);
    spyre_held(&reserved, &reserved_peak);
    const struct { const char *name; int64_t value; } rows[] = {
        {"allocation.all.current", blocks.now},         {"allocation.all.peak", blocks.peak},
        {"allocation.all.allocated", blocks.came},      {"allocation.all.freed", blocks.went},
        {"allocated_bytes.all.current", bytes.now},     {"allocated_bytes.all.peak", bytes.peak},
        {"allocated_bytes.all.allocated", bytes.came},  {"allocated_bytes.all.freed", bytes.went},
        {"reserved_bytes.all.current", reserved},       {"reserved_bytes.all.peak", reserved_peak},
    };
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict != NULL && i < sizeof rows / sizeof rows[0]; i++)
        if (core_put(dict, rows[i].name, PyLong_FromLongLong(rows[i].value)) != 0) Py_CLEAR(dict);
    return dict;
}

static PyObject *empty_cache(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    spyre_give_up();
    Py_RETURN_NONE;
}

static PyObject *reset_peak(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    pthread_mutex_lock(&registry.lock);
    registry.blocks.peak = registry.blocks.now;
    registry.bytes.peak = registry.bytes.now;
    pthread_mutex_unlock(&registry.lock);
    spyre_forget_peak();
    Py_RETURN_NONE;
}

static PyObject *reset_accumulated(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    pthread_mutex_lock(&registry.lock);
    registry.blocks.came = registry.blocks.went = registry.bytes.came = registry.bytes.went = 0;
    pthread_mutex_unlock(&registry.lock);
    Py_RETURN_NONE;
}

PyMethodDef spyre_memory_methods[] = {
    {"_spyre_alloc", alloc, METH_VARARGS, "(size, strides or None, dtype, layout or None, keep unit dims) -> capsule"},
    {"_spyre_check", check, METH_VARARGS, "(size, strides or None, dtype, layout or None): what _spyre_alloc refuses"},
    {"_spyre_alloc_raw", alloc_raw, METH_O, "(bytes) -> capsule of a storage without layout"},
    {"_spyre_clone", copy_storage, METH_O, "(key) -> capsule of a copy in the same layout"},
    {"_spyre_set_layout", set_layout, METH_VARARGS, "(key, size, strides, dtype, layout)"},
    {"_spyre_describe", describe, METH_O, "(key) -> numbers of the layout and its host tensor, None if it has none"},
    {"_spyre_layout_of", layout_of, METH_O, "(key) -> SpyreTensorLayout or None"},
    {"_spyre_device_bytes", device_bytes, METH_O, "(key) -> device memory, padding included"},
    {"_spyre_set_device_bytes", set_device_bytes, METH_VARARGS, "(key, bytes): device memory, padding included"},
    {"_spyre_converts", converts, METH_VARARGS, "(key, dtype) -> whether elements of it are in a format of the device"},
    {"_spyre_stats", stats, METH_NOARGS, "-> (storages, bytes, most bytes so far)"},
    {"_spyre_memory_stats", memory_stats, METH_NOARGS, "-> dict by the names of torch.accelerator.memory_stats()"},
    {"_spyre_empty_cache", empty_cache, METH_NOARGS, "give up the memory that is kept for later tensors"},
    {"_spyre_reset_peak", reset_peak, METH_NOARGS, "forget the most bytes so far"},
    {"_spyre_reset_accumulated", reset_accumulated, METH_NOARGS, "forget what ever came and went"},
    {NULL, NULL, 0, NULL},
};
