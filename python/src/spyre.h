/* Private to the simulated device: the memory of its tensors, their layouts, and how they move.
 *
 * A PyTorch storage is a line of host elements: element i of the storage of a Spyre tensor is what PyTorch would find
 * i elements behind its data pointer. Where element i lives in device memory is the business of a tg_spyre alone, so
 * every view (a size, strides and an offset in host elements) stays valid, whatever the layout. PyTorch sees the key:
 * an address that it never reads through. */
#ifndef TG_PYTHON_SPYRE_H
#define TG_PYTHON_SPYRE_H

#include "core.h"

/* ---- spyre_memory.c: storages ---- */

/* Device memory and its layout. Never changes once made; a new layout is a new block. */
typedef struct spyre_block {
    int32_t        refs;        /* guarded by the lock of the registry */
    bool           raw;         /* bytes as the host has them: no layout maps them */
    bool           gaps;        /* host elements between the strides live in the slot's own memory */
    bool           owns;        /* data is not the slot's memory */
    bool           has_spyre;   /* a raw block may still have a layout to answer with */
    int64_t        nbytes;      /* of the storage, as PyTorch counts them */
    int64_t        device_bytes;
    unsigned char *data;
    unsigned char *host_image;  /* the slot's memory: nbytes at least */
    tg_host        host;        /* the tensor that the memory was made for; dimensions of stride 0 have size 1 */
    tg_spyre       spyre;
    tg_layout      map;         /* unless raw: host coordinates to device elements */
} spyre_block;

/* The block behind a key, an address as an int, or NULL with an exception; give it back with spyre_release. */
spyre_block *spyre_acquire(PyObject *key);
void         spyre_release(spyre_block *block);

extern PyMethodDef spyre_memory_methods[];

/* ---- spyre_pool.c: memory. No GIL needed. ---- */

void *spyre_take(int64_t bytes); /* NULL without memory; never for 0 bytes */
void  spyre_give(void *memory, int64_t bytes); /* as many as were taken; memory may be NULL */
void  spyre_give_up(void); /* all that is kept for later goes back to the operating system */
void  spyre_held(int64_t *bytes, int64_t *peak); /* that the operating system has given, kept or in use; the most */
void  spyre_forget_peak(void);

/* ---- spyre_view.c: strided views as layouts ---- */

typedef struct spyre_view {
    int32_t ndim;
    int64_t size[TG_MAX_NDIM], stride[TG_MAX_NDIM]; /* stride in host elements */
    int64_t offset;
} spyre_view;

/* A layout of the dimensions of the map's frame, and the box of it that the view is. Dimension d of the frame is
 * dimension dim[d] of the view, or -1. */
typedef struct spyre_box {
    tg_layout layout;
    int32_t   dim[TG_MAX_NDIM];
    int64_t   begin[TG_MAX_NDIM], end[TG_MAX_NDIM];
    bool      whole;
} spyre_box;

/* False if no box says it: the caller goes through the image of the whole storage. */
bool spyre_view_box(spyre_box *out, const spyre_block *block, const spyre_view *view);

/* ---- spyre_copy.c: transfers ---- */

/* Host memory is dense over block->host's strides, nbytes long. No GIL needed. */
tg_status spyre_read_image(const spyre_block *block, void *image, tg_error *err);
tg_status spyre_write_image(const spyre_block *block, const void *image, tg_error *err);

/* Only elements of which a byte of `touched`, nbytes long, is not 0: the others keep their codes, of which the host may
 * not have all. Nothing is written if a number does not fit. */
tg_status spyre_write_touched(const spyre_block *block, const void *image, const unsigned char *touched, tg_error *err);

/* What no element is written to becomes 0, and where that is quicker elements do as well; those of uint8 always do,
 * since they have 32 bits on the device, of which their host type has not all numbers. pre: not raw. */
void spyre_zero_padding(const spyre_block *block);

extern PyMethodDef spyre_copy_methods[];

/* ---- spyre_layout.c: the type SpyreTensorLayout ---- */

/* host: the tensor that the layout was made for, which is no part of its value; NULL if that is not known. */
PyObject       *spyre_layout_new(core_state *state, const tg_spyre *spyre, const tg_host *host);
const tg_spyre *spyre_layout_get(core_state *state, PyObject *layout); /* NULL with TypeError if it is none */

/* 0 if the layout may be that of the tensor: for what is known of the tensor it was made for, and in the format of the
 * element type. -1 with tegula.ArgumentError that tells both sides. */
int spyre_layout_check(core_state *state, PyObject *layout, const tg_host *host, tg_format format);

/* The element type, and the format that Spyre keeps it in. 0, or -1: no dtype, or one without a device format. */
int spyre_get_dtype(tg_dtype *dtype, tg_format *format, core_state *state, PyObject *object);

extern PyMethodDef spyre_layout_methods[];

#endif
