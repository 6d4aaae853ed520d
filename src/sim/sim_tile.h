/* Tensors on the device, and how their elements are laid out for calculating.
 *
 * A tile is a tensor unpacked: float32, or int64 for formats of integers, dense, the dimension in sticks innermost and
 * as long as its sticks are. What lies behind the end of that dimension is in it, too, as the storage has it:
 *
 *     f16[5,100] in sticks of 64: storage [2,5,64]    tile [5,128], of which [., 100..127] is padding
 *
 * Storage becomes a tile, and a tile storage, by the movers. */
#ifndef TG_SIM_SIM_TILE_H
#define TG_SIM_SIM_TILE_H

#include "sim/numbers.h"

enum { TG_NO_DIM = -1 };

/* The format has no infinity. */
#define TG_LARGEST_SEN169 8573157376.0f

/* A tensor in device memory. */
typedef struct tg_tensor {
    tg_host   host;
    tg_layout layout;    /* of the tensor, its element type one that is calculated with */
    tg_layout lanes;     /* of the same storage, all sticks as full as they are */
    tg_dtype  carrier;   /* TG_F32 or TG_S64 */
    int32_t   stick_dim; /* host dimension in the sticks; TG_NO_DIM: sparse */
    int64_t   stick;     /* elements of a stick */
    int32_t   fill_dim;  /* that goes on behind its end, or TG_NO_DIM */
    int64_t   nbytes;
    void     *storage;
    bool      bare;    /* what the storage has behind the ends of dimensions is poison, whatever it is */
    bool      settles; /* elements that are no numbers are the largest number of a format that has one code for both */
} tg_tensor;

/* TG_ERR_UNSUPPORTED for layouts whose sticks are no run of one dimension, and formats without a conversion. No
 * storage yet. */
tg_status tg_tensor_make(tg_tensor *out, const tg_spyre *spyre, const tg_host *host, tg_error *err);

/* The same tensor, with room for `padded` elements along dim at least. */
tg_status tg_tensor_extend(tg_tensor *out, const tg_tensor *in, int32_t dim, int64_t padded, tg_error *err);

tg_status tg_tensor_allocate(tg_tensor *t, tg_error *err);
void      tg_tensor_poison(tg_tensor *t);

/* The elements of src, of the same host tensor; padding is left as it is. */
tg_status tg_tensor_copy(tg_tensor *dst, const tg_tensor *src, tg_error *err);
/* `value` behind the end of dimension dim: from `valid` to `padded`. */
tg_status tg_tensor_fill(tg_tensor *t, int32_t dim, int64_t valid, int64_t padded, float value, tg_error *err);
/* From host elements of its dtype. */
tg_status tg_tensor_write(tg_tensor *t, const void *data, tg_error *err);
/* All elements as numbers in the order of host storage, and back. Numbers between them are left as they are. */
tg_status tg_tensor_get(tg_number *out, const tg_tensor *t, tg_error *err);
tg_status tg_tensor_put(tg_tensor *t, const tg_number *in, tg_error *err);

typedef struct tg_tile {
    const tg_tensor *tensor;
    bool     whole;
    int64_t  count, shape[TG_MAX_NDIM], stride[TG_MAX_NDIM];
    float   *real;  /* one of the two */
    int64_t *integer;
} tg_tile;

/* A tile of a tensor: all poison. Free it with tg_tile_free. */
tg_status tg_tile_make(tg_tile *out, const tg_tensor *t, tg_error *err);
void      tg_tile_free(tg_tile *tile);
tg_status tg_tile_unpack(tg_tile *tile, tg_error *err);
/* Rounds to the device format. An infinity becomes the largest number of a format that has none; integers wrap. */
tg_status tg_tile_pack(const tg_tile *tile, tg_error *err);

/* What stands where nothing was written, in a tile of integers. */
int64_t tg_poison_of(const tg_tensor *t);

#endif
