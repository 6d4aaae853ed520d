/* Memory that others own, for as long as we use it. */
#ifndef TEGULA_PYTHON_ARRAY_H
#define TEGULA_PYTHON_ARRAY_H

#include "core.h"

#include "dlpack.h"

/* The memory of an array, open until core_memory_close. bytes is offset 0 of layout, whose offsets are not negative. */
typedef struct core_memory {
    unsigned char *bytes;
    int64_t        nbytes; /* of layout */
    tg_host        host;   /* the strided array; strides in elements, as layout */
    tg_layout      layout;
    bool           contiguous; /* row-major and dense: bytes are nothing but the elements, in order */
    bool           read_only;
    Py_buffer      view;      /* what keeps it open: one of these */
    bool           has_view;
    PyObject      *owner;
    dl_managed    *managed;
    dl_versioned  *versioned;
} core_memory;

/* Open the array of any object that has one: tegula.Buffer with a strided layout, the buffer protocol, NumPy arrays of
 * ml_dtypes, DLPack. `what` is for messages: "src". 0, or -1. */
int  core_memory_open(core_memory *out, core_state *state, PyObject *object, bool writable, const char *what);
void core_memory_close(core_memory *memory);

/* Open an object as the storage of a layout: an array that is this layout, a tegula.Buffer of it, or plain memory of
 * exactly its bytes. post: bytes is offset 0 of `layout`, nbytes its size; the other fields are of no meaning. */
int core_memory_open_as(core_memory *out, core_state *state, PyObject *object, const core_layout *layout, bool writable,
                        const char *what);

/* Open the storages of a move, memory[0] of `first` and memory[1] of `second`, which are arguments in this order.
 * Memory that would fit the other way round is refused with an error that says so. 0, or -1 and both are closed. */
typedef struct core_side {
    PyObject          *object;
    const core_layout *layout;
    bool               writable;
    const char        *what;
} core_side;

int core_memory_open_pair(core_memory memory[2], core_state *state, const core_side *first, const core_side *second);

/* Fill host, layout, nbytes and contiguous for an array whose element 0 is at bytes, NULL if it has none. 0, or -1. */
int core_memory_describe(core_memory *m, core_state *state, tg_dtype dtype, int32_t ndim, const int64_t *shape,
                         const int64_t *strides);

/* The offset of the lowest element of a strided layout; negative strides bring it below that of element 0. */
int64_t core_lowest_offset(const tg_layout *layout, const tg_host *host);

/* py_dlpack.c: 1 opened, 0 the object has no DLPack, -1 failed. */
int core_memory_open_dlpack(core_memory *out, core_state *state, PyObject *object, const char *what);

/* py_format.c. Formats of the struct module; big-endian elements are no type of ours, but for those of one byte. */
bool        core_is_big_endian(const char *format, Py_ssize_t itemsize);
tg_dtype    core_dtype_of_format(const char *format, Py_ssize_t itemsize); /* or TG_INVALID */
const char *core_format_of_dtype(tg_dtype dtype);                          /* NULL if it has none */
tg_dtype    core_dtype_of_dl(dl_type type, uint64_t flags);                /* or TG_INVALID */
bool        core_dl_of_dtype(dl_type *out, uint64_t *flags, tg_dtype dtype);

/* py_buffer.c */
typedef struct core_block core_block; /* bytes, and how many use them */

typedef struct core_buffer {
    PyObject_HEAD
    core_layout *layout;
    core_block  *block;
    bool         is_array; /* strided and of plain elements: exported as an array; else as bytes */
    Py_ssize_t   shape[TG_MAX_NDIM], strides[TG_MAX_NDIM]; /* strides in bytes */
} core_buffer;

/* Memory for a layout; with `zero`, of zeros, else of anything. */
PyObject *core_buffer_new(core_state *state, core_layout *layout, bool zero);

/* Of element 0 of an array, from the start of its bytes. */
int64_t core_first_byte(const core_layout *layout);

unsigned char *core_block_bytes(const core_block *block);
void           core_block_retain(core_block *block);
void           core_block_release(core_block *block); /* on any thread, without the GIL */

/* py_dlpack.c */
PyObject *core_buffer_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
