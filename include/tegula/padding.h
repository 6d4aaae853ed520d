/* tegula/padding.h - where the storage of an XLA array is lost to padding, and what would be cheaper.
 *
 * The conventions of tegula.h hold, with one addition: tg_padding_advise may allocate while it works (up to 1 MiB,
 * given back before it returns) and so may fail with TG_ERR_NOMEM.
 *
 * Storage grows in steps, each of which rounds one number up, and the bytes of a step are what it alone adds to the
 * steps before it:
 *   1. every element gets the bits that it is stored in: "widening", E(32) of a pred for example;
 *   2. the tile levels in their order, and inside a level the sizes that the tile covers, from most minor to most
 *      major: each is rounded up to a multiple of its number in the tile;
 *   3. the storage is rounded up to L(n) elements: the tail.
 * So logical bytes and the bytes of all steps are together exactly the physical bytes:
 *
 *     pred[100,100]{1,0:T(8,128)E(32)}       10000 bytes
 *     element of 8 bits in 32                +30000
 *     level 0, dimension 1: 100 -> 128       +11200
 *     level 0, dimension 0: 100 -> 104        +2048     53248 bytes
 */
#ifndef TEGULA_PADDING_H
#define TEGULA_PADDING_H

#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One size rounded up by one tile level. */
typedef struct tg_padding_part {
    int32_t  level;  /* of the tile, 0 is the first */
    int32_t  place;  /* of its number in the tile, 0 is most major */
    uint32_t dims;   /* whose size it is, bit d for logical dimension d; several where `*` combines them, none for a
                      * size of 1 that a tile with more numbers than there are sizes puts in front */
    int64_t  size;   /* before, >= 0 */
    int64_t  tile;   /* >= 1 */
    int64_t  padded; /* the next multiple of tile */
    int64_t  bytes;  /* that this adds, >= 0 */
} tg_padding_part;

/* post: logical_bytes + widening_bytes + the parts' bytes + tail_bytes == physical_bytes. */
typedef struct tg_padding {
    int64_t         elements;       /* logical; bounds count as sizes */
    int64_t         logical_bytes;  /* of elements of logical_bits, rounded up once */
    int64_t         physical_bytes; /* tg_layout_nbytes */
    int64_t         widening_bytes;
    int64_t         tail_bytes;
    int32_t         logical_bits; /* of an element that nothing packs, or E(n) if that is less */
    int32_t         stored_bits;
    int32_t         nparts; /* one for each number of the tiles that is not `*` */
    tg_padding_part part[TG_XLA_MAX_TILE_DIMS];
} tg_padding;

/* Fails as tg_layout_from_xla and tg_layout_nbytes do: unbounded dimensions, sizes beyond int64. */
TG_API tg_status tg_padding_measure(tg_padding *out, const tg_xla_shape *array, tg_error *err);

/* physical_bytes / logical_bytes; 1 if there are no elements. */
TG_API double tg_padding_expansion(const tg_padding *in);

/* The part with the largest padded / size, the first of equals; -1 if no part pads. Unlike the bytes it does not depend
 * on the order of the steps. */
TG_API int32_t tg_padding_worst(const tg_padding *in);

/* A layout for the same elements. L, S and M are those of the given one, and splits stay with their dimension. */
typedef struct tg_padding_choice {
    tg_xla_layout layout;
    int64_t       physical_bytes;
    int64_t       saved_bytes; /* against the given layout, >= 0; 0 means that this is the given layout */
} tg_padding_choice;

typedef struct tg_padding_advice {
    tg_padding_choice order;  /* the same tiles and E, and the order of dimensions that is cheapest with them */
    tg_padding_choice tiling; /* the cheapest standard tiling with the order that is cheapest with it, if that is
                               * smaller than `order`; else the same as `order` */
} tg_padding_advice;

/* What would be cheaper. Every order is considered, for any number of dimensions. Of orders with the same number of
 * elements before L(n) the one that changes fewest entries of minor_to_major is taken, of these the first as a list of
 * numbers; of tilings with the same bytes the one whose order changes fewest entries, then the first of this list:
 *
 *     stored in  dimensions  tilings
 *     32 bits    2 or more   T(8,128) T(4,128) T(2,128) T(1,128)
 *                1           T(1024) T(512) T(256) T(128)
 *     16 bits    2 or more   T(8,128)(2,1) T(4,128)(2,1) T(2,128)(2,1)
 *                1           T(1024)(128)(2,1)
 *     8 bits     2 or more   T(8,128)(4,1) T(32,128)(4,1)           (also pred)
 *     4 bits     2 or more   T(8,128)(8,1)E(4) T(64,128)(8,1)E(4)
 *     4 to 32    0           T(128) T(256)                          (4 bits: with E(4))
 *
 * by the bits of the element type; other widths have no standard tiling. Whether a compiler accepts a choice is its
 * affair: that of TPUs takes T(2,128) and T(4,128) for few rows only. Source: tilings in public TPU dumps, and
 * docs/tiled_layout of XLA. Fails as tg_padding_measure, and with TG_ERR_LIMIT where tiles combine so many dimensions
 * behind the first level that 2^20 orders would have to be compared. */
TG_API tg_status tg_padding_advise(tg_padding_advice *out, const tg_xla_shape *array, tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_PADDING_H */
