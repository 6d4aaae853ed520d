/* What the files on XLA shapes share: checked inputs, the map to ask, and tiles that follow dimensions. */
#ifndef TG_HLO_SHAPE_H
#define TG_HLO_SHAPE_H

#include <tegula/xla.h>

#include "layout/layout.h"

/* ---- checked inputs (shape_make.c) ---- */

/* A valid array with a layout. */
tg_status tg_shape_need_array(const tg_xla_shape *array, tg_error *err);

/* A valid array, with a valid layout or without. */
tg_status tg_shape_need_sizes(const tg_xla_shape *array, tg_error *err);

/* minor_to_major is a permutation, and counts lie in their arrays. */
tg_status tg_shape_need_order(const tg_xla_layout *layout, tg_error *err);

/* p[0..n) is a permutation; `what` begins the complaint. */
tg_status tg_shape_need_permutation(const int32_t *p, int32_t n, const char *what, tg_error *err);

tg_status tg_shape_need_dim(int32_t dim, int32_t ndim, const char *what, tg_error *err);

/* ---- the map (shape_map.c) ---- */

typedef enum tg_shape_tiles { TG_SHAPE_ALL_TILES, TG_SHAPE_FIRST_TILE, TG_SHAPE_UNTILED } tg_shape_tiles;

/* tg_layout_from_xla with all tile levels and tail padding; or, as XLA's narrower questions see the array, with the
 * first level alone, or with minor_to_major alone. */
tg_status tg_shape_map(tg_layout *out, const tg_xla_shape *array, tg_shape_tiles tiles, tg_error *err);

/* The exact map of shape is this one, storage included. */
bool tg_shape_has_map(const tg_xla_shape *shape, const tg_layout *wanted);

/* A shape of `like`'s type, space, prefix and width with this map, by whatever order and tiles say it; wanted->shape is
 * its shape, `like`'s dynamic flags are its flags. False if none is found. out may be like. */
bool tg_shape_from_map(tg_xla_shape *out, const tg_layout *wanted, const tg_xla_shape *like);

/* The stride of every dimension, if each has one; order is minor_to_major, which decides for sizes of 1. */
tg_status tg_shape_strides(int64_t *strides, const tg_layout *map, const int32_t *order, tg_error *err);

/* ---- the same memory? (shape_equal.c) ---- */

/* What decides on the bytes of two arrays besides element type and map: memory space, M(n), splits. */
tg_xla_witness tg_shape_compare_memory(const tg_xla_shape *a, const tg_xla_shape *b);

/* The maps of two arrays with the same sizes, storage included. */
tg_status tg_shape_compare_maps(tg_xla_witness *out, const tg_layout *a, const tg_layout *b, tg_error *err);

/* ---- tiles that follow dimensions (shape_tiles.c) ---- */

typedef enum tg_shape_place { TG_PLACE_STAYS, TG_PLACE_GOES, TG_PLACE_COMES } tg_shape_place;

/* Edit the tile numbers of `layout` for dimensions that go and come; places: the physical dimensions, most major
 * first, with those that go and those that come. */
tg_status tg_shape_retile(tg_xla_layout *layout, const tg_shape_place *places, int32_t n, tg_error *err);

#endif
