/* tegula/xla.h - working with XLA shapes and layouts: comparing, ordering, editing, bitcasts, indices, sizes.
 *
 * The questions that XLA answers in Layout, LayoutUtil, ShapeUtil and IndexUtil, on the structs of tegula.h, without
 * XLA. The conventions of tegula.h hold, and:
 *  - Answers are exact: all tile levels, `*`, tail padding and E(n) count, since each is asked of the one map that
 *    tg_layout_from_xla makes. XLA often looks at minor_to_major alone, or at the first tile level. Where that gives
 *    another answer it can be had too, from a function whose name ends in _untiled, _first_tile or _fields.
 *  - `array` is one node of kind TG_XLA_ARRAY. What a function needs of its input it checks, by the rules and with the
 *    texts of tg_xla_shape_validate: TG_ERR_ARGUMENT, TG_ERR_OVERFLOW or TG_ERR_LIMIT, which are not repeated below.
 *  - A tree is `nodes` and `count`, in pre-order, as tg_xla_shape_parse writes it.
 *  - A bounded dynamic dimension counts with its bound. An unbounded one is TG_ERR_UNREPRESENTABLE where its size
 *    matters.
 *  - Lists of dimensions have at most TG_MAX_NDIM entries; that much room always suffices for one that is written.
 *  - "XLA:" names the function whose contract it is. Source of all: the files xla/{layout,layout_util,shape,shape_util,
 *    index_util,permutation_util,util}.h of openxla/xla, August 2026; differences are told where they are.
 */
#ifndef TEGULA_XLA_H
#define TEGULA_XLA_H

#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- making ---------------------------------------------------------------------- */

/* minor_to_major {ndim-1, ..., 0} (row-major: XLA's default), {0, ..., ndim-1}, or as given; no tiles, all other
 * properties absent. XLA: MakeDescendingLayout, MakeAscendingLayout, MakeLayout, MakeLayoutFromMajorToMinor. */
TG_API tg_status tg_xla_layout_descending(tg_xla_layout *out, int32_t ndim, tg_error *err);
TG_API tg_status tg_xla_layout_ascending(tg_xla_layout *out, int32_t ndim, tg_error *err);
TG_API tg_status tg_xla_layout_from_minor_to_major(tg_xla_layout *out, int32_t ndim, const int32_t *order,
                                                   tg_error *err);
TG_API tg_status tg_xla_layout_from_major_to_minor(tg_xla_layout *out, int32_t ndim, const int32_t *order,
                                                   tg_error *err);

/* An array of static dimensions (TG_XLA_UNBOUNDED: `?`; for `<=N` set dynamic[d] afterwards) with this layout, or the
 * default one if layout is NULL. Unlike XLA, which drops an E(n) of the natural width, the layout is kept as it is.
 * XLA: MakeValidatedShape, MakeValidatedShapeWithDenseLayout. */
TG_API tg_status tg_xla_array(tg_xla_shape *out, tg_dtype dtype, int32_t ndim, const int64_t *dims,
                              const tg_xla_layout *layout, tg_error *err);

/* TG_OK if this layout may be that of `shape`, whose own layout is not looked at: tuples have none, everything else
 * that is no array may have any. XLA: ValidateLayoutForShape. */
TG_API tg_status tg_xla_layout_validate(const tg_xla_layout *layout, const tg_xla_shape *shape, tg_error *err);

/* As tg_xla_shape_validate, but arrays may lack a layout. XLA: ValidateShapeWithOptionalLayout. */
TG_API tg_status tg_xla_shape_validate_optional_layout(const tg_xla_shape *nodes, size_t count, tg_error *err);

/* Give every array of the tree the default layout. XLA: SetToDefaultLayout. */
TG_API tg_status tg_xla_set_default_layouts(tg_xla_shape *nodes, size_t count, tg_error *err);

/* Give every array of the tree the layout (or none) of the array at the same place of `from`, a tree of the same
 * structure and ranks; each must be valid there. XLA: CopyLayoutBetweenShapes. */
TG_API tg_status tg_xla_copy_layouts(tg_xla_shape *nodes, size_t count, const tg_xla_shape *from, size_t nfrom,
                                     tg_error *err);

/* With pack, arrays of types below 8 bits (pred is none) get E(bits); all others, and all without pack, get no E.
 * XLA: UpdateElementSizeInBits. */
TG_API tg_status tg_xla_set_packing(tg_xla_shape *nodes, size_t count, bool pack, tg_error *err);

/* What the host sees of a device shape: tiles, memory space, E, L and M go; minor_to_major and splits stay.
 * XLA: DeviceShapeToHostShape. */
TG_API tg_status tg_xla_device_to_host(tg_xla_shape *nodes, size_t count, tg_error *err);

/* Give `layout` the tile levels of `from`, whatever they cover there. */
TG_API tg_status tg_xla_copy_tiles(tg_xla_layout *layout, const tg_xla_layout *from, tg_error *err);

/* ---- comparing ------------------------------------------------------------------- */

/* What tg_xla_layout_equal_fields and tg_xla_shape_equal_fields leave out; bits. XLA: Layout::Equal, Shape::Equal. */
typedef enum tg_xla_equal_options {
    TG_XLA_IGNORE_TILES = 1 << 0,
    TG_XLA_IGNORE_TAIL_PADDING = 1 << 1,
    TG_XLA_IGNORE_INDEX_TYPE = 1 << 2,
    TG_XLA_IGNORE_POINTER_TYPE = 1 << 3,
    TG_XLA_IGNORE_ELEMENT_SIZE = 1 << 4,
    TG_XLA_IGNORE_MEMORY_SPACE = 1 << 5,
    TG_XLA_IGNORE_SPLITS = 1 << 6,
    TG_XLA_MINOR_TO_MAJOR_ONLY = (1 << 7) - 1, /* all of the above */
    TG_XLA_COMPARE_METADATA_PREFIX = 1 << 7,   /* M(n), which XLA never compares */
    /* of shapes */
    TG_XLA_IGNORE_LAYOUT = 1 << 8,
    TG_XLA_IGNORE_ELEMENT_TYPE = 1 << 9,
    TG_XLA_IGNORE_FP_PRECISION = 1 << 10,    /* all floating-point types are alike */
    TG_XLA_IGNORE_DYNAMIC_DIMENSION = 1 << 11, /* flags are not compared, and `?` matches any size */
    TG_XLA_IGNORE_DIMENSIONS = 1 << 12,        /* but not their number */
    TG_XLA_IGNORE_BUFFER = 1 << 13,            /* b(array) is the array */
    TG_XLA_COMPATIBLE = TG_XLA_IGNORE_LAYOUT | TG_XLA_IGNORE_DYNAMIC_DIMENSION /* XLA: Compatible */
} tg_xla_equal_options;

/* Same minor_to_major and, but for options, the same properties, number by number. options == 0 is XLA's `==`. */
TG_API tg_status tg_xla_layout_equal_fields(bool *equal, const tg_xla_layout *a, const tg_xla_layout *b,
                                            uint32_t options, tg_error *err);

/* Same tree of the same types, sizes and layouts as written, but for options. {1,0:T(8,128)} and {1,0} differ for
 * f32[8,128], although every byte is in the same place: tg_xla_shape_equal decides that. */
TG_API tg_status tg_xla_shape_equal_fields(bool *equal, const tg_xla_shape *a, size_t na, const tg_xla_shape *b,
                                           size_t nb, uint32_t options, tg_error *err);

typedef enum tg_xla_difference {
    TG_XLA_SAME = 0,
    TG_XLA_DIFFERENT_TREE,         /* kinds or numbers of elements */
    TG_XLA_DIFFERENT_ELEMENT_TYPE,
    TG_XLA_DIFFERENT_DIMENSIONS,   /* sizes; of a reshape: numbers of elements, which are a and b */
    TG_XLA_DIFFERENT_DYNAMIC,      /* flags */
    TG_XLA_DIFFERENT_MEMORY_SPACE, /* a, b are the two; likewise for the prefix, the width and the span */
    TG_XLA_DIFFERENT_METADATA_PREFIX,
    TG_XLA_DIFFERENT_SPLITS,
    TG_XLA_DIFFERENT_WIDTH, /* bits of a stored element */
    TG_XLA_DIFFERENT_MAP,   /* coord is at slot a in the one and b in the other */
    TG_XLA_DIFFERENT_SPAN   /* slots of storage */
} tg_xla_difference;

/* Why two shapes do not hold the same bytes. */
typedef struct tg_xla_witness {
    tg_xla_difference what;
    size_t            node;               /* of both trees; 0 where arrays are compared */
    int64_t           coord[TG_MAX_NDIM]; /* TG_XLA_DIFFERENT_MAP: of the second shape; not necessarily the first */
    int64_t           a, b;
} tg_xla_witness;

/* Decide whether every byte of the two shapes means the same: same tree, types, sizes, dynamic flags, memory spaces,
 * prefixes M(n), and layouts with the same map and storage, however they are written. Arrays that are split over
 * memories (SC) are the same only if physical dimensions, tiles and splits are. witness may be NULL. */
TG_API tg_status tg_xla_shape_equal(bool *equal, tg_xla_witness *witness, const tg_xla_shape *a, size_t na,
                                    const tg_xla_shape *b, size_t nb, tg_error *err);

/* Trees of one structure, where every array of the one that is dynamic has at its place in the other an array of the
 * same rank and no smaller sizes (`?`, as XLA stores it, is below all). XLA: DynamicShapeIsCompatible. */
TG_API tg_status tg_xla_dynamic_is_compatible(bool *compatible, const tg_xla_shape *dynamic, size_t ndynamic,
                                              const tg_xla_shape *bounded, size_t nbounded, tg_error *err);

/* ---- orders and permutations ------------------------------------------------------- */

/* out[i] = in[perm[i]]; out[i] = p[q[i]]; out[p[i]] = i. Each list is a permutation of [0, n), n <= TG_MAX_NDIM; out
 * may be any of the inputs. XLA: Permute, ComposePermutations, InversePermutation. */
TG_API tg_status tg_xla_permute(int64_t *out, const int64_t *in, const int32_t *perm, int32_t n, tg_error *err);
TG_API tg_status tg_xla_compose(int32_t *out, const int32_t *p, const int32_t *q, int32_t n, tg_error *err);
TG_API tg_status tg_xla_inverse(int32_t *out, const int32_t *p, int32_t n, tg_error *err);

/* Logical dimensions in physical order, most major first: minor_to_major reversed. */
TG_API tg_status tg_xla_major_to_minor(int32_t *out, const tg_xla_layout *layout, tg_error *err);

/* out[d] is the physical number of dimension d, 0 = most major. XLA: MakeLogicalToPhysical. */
TG_API tg_status tg_xla_logical_to_physical(int32_t *out, const tg_xla_layout *layout, tg_error *err);

/* minor_to_major is {n-1, ..., 0}; is {0, ..., n-1}. XLA: IsMonotonicWithDim0Major, IsMonotonicWithDim0Minor. */
TG_API bool tg_xla_is_descending(const tg_xla_layout *layout);
TG_API bool tg_xla_is_ascending(const tg_xla_layout *layout);

/* dims[0..n) are neighbours in minor_to_major, in whatever order. XLA: AreDimensionsConsecutive. */
TG_API tg_status tg_xla_dims_are_consecutive(bool *out, const tg_xla_layout *layout, const int32_t *dims, int32_t n,
                                             tg_error *err);

/* Dimension dim becomes the physically most major (minor) one, the others keep their order. This is another layout, not
 * another view of the bytes: tile numbers stay at their physical places, a split goes where its dimension goes.
 * XLA: MoveDimToMajor, MoveDimToMinor. */
TG_API tg_status tg_xla_move_dim_to_major(tg_xla_layout *out, const tg_xla_layout *in, int32_t dim, tg_error *err);
TG_API tg_status tg_xla_move_dim_to_minor(tg_xla_layout *out, const tg_xla_layout *in, int32_t dim, tg_error *err);

/* Dimensions whose size is not 1; 0 for what is no array. XLA: TrueNumDimensions. */
TG_API int32_t tg_xla_true_ndim(const tg_xla_shape *array);

/* The last dimension is the first of minor_to_major; true without dimensions. XLA: LastDimIsMinorMost. */
TG_API tg_status tg_xla_last_dim_is_minor_most(bool *out, const tg_xla_shape *array, tg_error *err);

/* All dimensions that are physically more major than dim have size 1. XLA: IsEffectivelyMostMajorDimension. */
TG_API tg_status tg_xla_is_effectively_most_major(bool *out, const tg_xla_shape *array, int32_t dim, tg_error *err);

/* ---- editing dimensions -------------------------------------------------------------- */

/* Tile numbers follow the dimensions that they cut: a dimension that goes takes its numbers at every level along
 * (a number that it shared by `*` stays with the rest), a new dimension is not cut (number 1; between dimensions that
 * `*` joins it is joined too). So, without `*`, what remains is ordered as before; a dimension put in and taken out
 * again leaves the map as it was. XLA leaves tiles as they are, where they then cut other dimensions: bf16[16,32,256]
 * {2,1,0:T(8,128)(2,1)} without dimension 1 is bf16[16,256]{1,0:T(128)} here and {1,0:T(8,128)(2,1)} there;
 * tg_xla_copy_tiles(&out->layout, &in->layout, err) gives XLA's. Arrays without a layout stay without. */

/* Remove dims[0..n) (each once, any order), or all d with !keep[d]. XLA: DeleteDimensions, FilterDimensions. */
TG_API tg_status tg_xla_delete_dimensions(tg_xla_shape *out, const tg_xla_shape *in, const int32_t *dims, int32_t n,
                                          tg_error *err);
TG_API tg_status tg_xla_filter_dimensions(tg_xla_shape *out, const tg_xla_shape *in, const bool *keep, tg_error *err);

/* New static dimensions of these sizes become dimensions index, index + 1, ...; physically they stand in that order
 * directly before (more major than) what was dimension index, or are the most minor ones if index == ndim.
 * XLA: InsertDimensionsAtIndex; with index == ndim and n == 1 AppendMinorDimension. */
TG_API tg_status tg_xla_insert_dimensions(tg_xla_shape *out, const tg_xla_shape *in, int32_t index,
                                          const int64_t *sizes, int32_t n, tg_error *err);

/* A new, physically most major dimension, which is logically the last (append) or the first (prepend).
 * XLA: AppendMajorDimension, PrependMajorDimension. */
TG_API tg_status tg_xla_append_major_dimension(tg_xla_shape *out, const tg_xla_shape *in, int64_t size, tg_error *err);
TG_API tg_status tg_xla_prepend_major_dimension(tg_xla_shape *out, const tg_xla_shape *in, int64_t size,
                                                tg_error *err);

/* Remove all dimensions of size 1 so that every byte stays where it is. Tiles are XLA's (unchanged) if they do that,
 * else those that followed their dimensions, else any that do (also with L(n)); TG_ERR_UNREPRESENTABLE if this library
 * finds none. f32[16,1,256]{2,1,0:T(8,128)} pads each row to 8: its answer is not XLA's f32[16,256]{1,0:T(8,128)}, an
 * eighth of the storage, but f32[16,256]{1,0:T(128)(1024)}. XLA: DropDegenerateDimensions. */
TG_API tg_status tg_xla_drop_degenerate_dimensions(tg_xla_shape *out, const tg_xla_shape *in, tg_error *err);

/* New dimension i is old dimension perm[i], and the layout is renumbered: every byte stays where it is.
 * XLA: PermuteDimensions, and ReorderLogicalDimensions since June 2026. */
TG_API tg_status tg_xla_permute_dimensions(tg_xla_shape *out, const tg_xla_shape *in, const int32_t *perm,
                                           tg_error *err);
/* The same with the layout as it is: elements move. XLA: PermuteDimensionsIgnoringLayout. */
TG_API tg_status tg_xla_permute_dimensions_ignoring_layout(tg_xla_shape *out, const tg_xla_shape *in,
                                                           const int32_t *perm, tg_error *err);
/* The dimensions permuted to physical order, so that minor_to_major is descending and every byte stays where it is.
 * XLA: MakeShapeWithDescendingLayoutAndSamePhysicalLayout. */
TG_API tg_status tg_xla_make_descending(tg_xla_shape *out, const tg_xla_shape *in, tg_error *err);

/* ---- reshapes and transposes that move nothing ------------------------------------------ */

/* The same elements in row-major order lie at the same places of equal storages: element type (unless ignored; widths
 * count), memory space, M(n), splits (as for tg_xla_shape_equal), width, map and span. witness may be NULL.
 * TG_ERR_LIMIT where `*` combines dimensions that the reshape cuts and 2^22 elements do not decide.
 * XLA: ReshapeIsBitcast. */
TG_API tg_status tg_xla_reshape_is_bitcast(bool *bitcast, tg_xla_witness *witness, const tg_xla_shape *a,
                                           const tg_xla_shape *b, bool ignore_element_type, tg_error *err);
/* XLA's answer: minor_to_major alone. Yes for f32[16,256]{1,0:T(8,128)} and f32[4096]{0}, whose bytes differ. */
TG_API tg_status tg_xla_reshape_is_bitcast_untiled(bool *bitcast, const tg_xla_shape *a, const tg_xla_shape *b,
                                                   bool ignore_element_type, tg_error *err);

/* The same for b = transpose(a, perm): dimension i of b is dimension perm[i] of a. XLA: TransposeIsBitcast. */
TG_API tg_status tg_xla_transpose_is_bitcast(bool *bitcast, tg_xla_witness *witness, const tg_xla_shape *a,
                                             const tg_xla_shape *b, const int32_t *perm, bool ignore_element_type,
                                             tg_error *err);
/* XLA's answer: the orders agree; neither sizes nor tiles are compared. */
TG_API tg_status tg_xla_transpose_is_bitcast_untiled(bool *bitcast, const tg_xla_shape *a, const tg_xla_shape *b,
                                                     const int32_t *perm, bool ignore_element_type, tg_error *err);

/* A perm with which b is a transpose of a that moves nothing, whatever the element types (of equal width); *found is
 * false, and perm not written, exactly if there is none. Dimensions of size 1 are matched in order.
 * XLA: DeduceTransposeDimensionsForBitcast. */
TG_API tg_status tg_xla_deduce_transpose(bool *found, int32_t *perm, const tg_xla_shape *a, const tg_xla_shape *b,
                                         tg_error *err);
/* XLA's answer: the one perm that the two orders give, if the sizes agree with it. */
TG_API tg_status tg_xla_deduce_transpose_untiled(bool *found, int32_t *perm, const tg_xla_shape *a,
                                                 const tg_xla_shape *b, tg_error *err);

typedef enum tg_xla_bitcast_kind {
    TG_XLA_BITCAST_NONE = 0,  /* none of the following */
    TG_XLA_BITCAST_RESHAPE,   /* b = reshape(a) */
    TG_XLA_BITCAST_TRANSPOSE, /* b = transpose(a, transpose1) */
    TG_XLA_BITCAST_TRT        /* b = transpose(reshape(transpose(a, transpose1)), transpose2) */
} tg_xla_bitcast_kind;

/* A bitcast told as operations on elements, none of which moves a byte. */
typedef struct tg_xla_bitcast {
    tg_xla_bitcast_kind kind;
    int32_t             transpose1[TG_MAX_NDIM];
    int32_t             transpose2[TG_MAX_NDIM];
    tg_xla_shape        transpose1_shape; /* TG_XLA_BITCAST_TRT: a in physical order, after transpose1 */
    tg_xla_shape        reshape_shape;    /* TG_XLA_BITCAST_TRT: b in physical order, before transpose2 */
} tg_xla_bitcast;

/* The first of these kinds that says what reading the bytes of a as b does to the elements. Element types may differ,
 * widths not. Where tiles cut a and b differently there may be none. XLA: DecomposeBitcast. */
TG_API tg_status tg_xla_decompose_bitcast(tg_xla_bitcast *out, const tg_xla_shape *a, const tg_xla_shape *b,
                                          tg_error *err);
/* XLA's answer, which takes tiles for absent: only with different numbers of elements is there none. */
TG_API tg_status tg_xla_decompose_bitcast_untiled(tg_xla_bitcast *out, const tg_xla_shape *a, const tg_xla_shape *b,
                                                  tg_error *err);

/* A shape of the sizes dims[0..ndim), whose product is a's number of elements, with a layout that makes the reshape of
 * a to it move nothing. XLA's order and a's tiles if that does it, then the order without tiles, then whatever tiles do
 * it. *found is false, and out not written, if this library finds none. XLA: AlignLayouts. */
TG_API tg_status tg_xla_align_layouts(bool *found, tg_xla_shape *out, const tg_xla_shape *a, int32_t ndim,
                                      const int64_t *dims, tg_error *err);
/* XLA's answer: a's tiles are taken for absent, and out has none; *found is false exactly if there is no such layout.
 * Dimensions of size 1 become the most major ones. */
TG_API tg_status tg_xla_align_layouts_untiled(bool *found, tg_xla_shape *out, const tg_xla_shape *a, int32_t ndim,
                                              const int64_t *dims, tg_error *err);

/* ---- what a reshape or transpose leaves whole --------------------------------------------- */

/* Layouts are not looked at. Two shapes must have the same number of elements, else TG_ERR_ARGUMENT. */

typedef struct tg_xla_pair {
    int32_t a, b;
} tg_xla_pair;

/* Cut two lists of sizes with the same product into the smallest groups whose products agree: group g is
 * a[pairs[g].a .. pairs[g+1].a) and b[pairs[g].b .. pairs[g+1].b). Equal beginnings are cut singly; sizes of 1 that
 * remain are groups alone; after the equal beginning everything is one group if there a size is 0, and all from the
 * start if the products differ there. pairs has room for na + nb + 1 entries. Example: [2,5,1,3] and [1,10,3,1] give
 * (0,0) (0,1) (2,2) (3,2) (4,3) (4,4). XLA: CommonFactors. */
TG_API tg_status tg_xla_common_factors(int32_t *npairs, tg_xla_pair *pairs, const int64_t *a, int32_t na,
                                       const int64_t *b, int32_t nb, tg_error *err);

/* The pairs of dimensions that are a common factor alone, in order; room for TG_MAX_NDIM pairs suffices.
 * XLA: DimensionsUnmodifiedByReshape. */
TG_API tg_status tg_xla_dims_unmodified_by_reshape(int32_t *npairs, tg_xla_pair *pairs, const tg_xla_shape *a,
                                                   const tg_xla_shape *b, tg_error *err);

/* *unmodified, and then images[i] is the dimension of b that dims[i] of a became; else images is not written.
 * XLA: ReshapeLeavesDimensionsUnmodified, for dims in any order. */
TG_API tg_status tg_xla_reshape_leaves_dims(bool *unmodified, int32_t *images, const tg_xla_shape *a,
                                            const tg_xla_shape *b, const int32_t *dims, int32_t n, tg_error *err);

typedef struct tg_xla_unit_dims {
    int32_t ndeleted, ninserted;
    int32_t deleted[TG_MAX_NDIM];  /* dimensions of a */
    int32_t inserted[TG_MAX_NDIM]; /* dimensions of b */
} tg_xla_unit_dims;

/* *only if b is a with dimensions of size 1 taken out and put in, and which; among neighbours of size 1 the last ones
 * of the longer row. out is written only then. XLA: InsertedOrDeleted1SizedDimensions. */
TG_API tg_status tg_xla_inserted_or_deleted_units(bool *only, tg_xla_unit_dims *out, const tg_xla_shape *a,
                                                  const tg_xla_shape *b, tg_error *err);

/* A transpose with result `output` and dimensions `perm`, without sizes of 1 and with dimensions that stay neighbours
 * merged: dims[0..*ndim) of the result, and its perm. Example: [32,1,10,11] and {3,1,0,2} become [32,110] and {1,0}.
 * XLA: GetNormalizedLogicalTransposeShape. */
TG_API tg_status tg_xla_normalize_transpose(int32_t *ndim, int64_t *dims, int32_t *normalized_perm,
                                            const tg_xla_shape *output, const int32_t *perm, tg_error *err);

/* ---- indices ----------------------------------------------------------------------------- */

/* The slot, in elements, of the element at index[0..ndim); the index must be in bounds. Each call reads the shape anew:
 * for many, take tg_layout_from_xla once and then tg_layout_offset.
 * Tile levels that count: all (XLA: LinearIndexForNestedTiling, which cannot do `*`); none
 * (XLA: MultidimensionalIndexToLinearIndex); the first, and none if ndim < 2 (XLA: LinearIndex). */
TG_API tg_status tg_xla_linear_index(int64_t *out, const tg_xla_shape *array, const int64_t *index, tg_error *err);
TG_API tg_status tg_xla_linear_index_untiled(int64_t *out, const tg_xla_shape *array, const int64_t *index,
                                             tg_error *err);
TG_API tg_status tg_xla_linear_index_first_tile(int64_t *out, const tg_xla_shape *array, const int64_t *index,
                                                tg_error *err);

/* The index of what lives at slot `linear`, written for TG_SLOT_DATA only. XLA: DelinearizeIndexForNestedTiling, which
 * takes some padding for elements; LinearIndexToMultidimensionalIndex. */
TG_API tg_status tg_xla_multi_index(tg_slot *slot, int64_t *index, const tg_xla_shape *array, int64_t linear,
                                    tg_error *err);
TG_API tg_status tg_xla_multi_index_untiled(tg_slot *slot, int64_t *index, const tg_xla_shape *array, int64_t linear,
                                            tg_error *err);

/* True if n == ndim and every index[d] is in [0, dims[d]); else the error names the dimension. Unlike XLA's
 * IndexInBounds it takes no negative index. */
TG_API bool tg_xla_index_in_bounds(const tg_xla_shape *array, const int64_t *index, int32_t n, tg_error *err);

/* The next index in logical order, the last dimension fastest; false after the last one, which wraps to zeros.
 * pre: the index is in bounds. XLA: BumpIndices. */
TG_API bool tg_xla_bump_index(int64_t *index, const tg_xla_shape *array);

/* -1, 0 or 1 as a comes before, is, or comes after b in lexicographic order. XLA: CompareIndices (whose comment says
 * the opposite of what it does). */
TG_API int tg_xla_compare_indices(const int64_t *a, const int64_t *b, int32_t n);

/* What one step along each dimension adds: in bytes, where the map is that of a strided array of whole bytes, else
 * TG_ERR_UNREPRESENTABLE with the reason; in elements, tiles taken for absent; the same in bytes of unpacked elements.
 * A dimension of size 1 steps over the next more minor one. XLA: ByteStrides; GetDimensionStride; UnpackedByteStrides.
 */
TG_API tg_status tg_xla_byte_strides(int64_t *strides, const tg_xla_shape *array, tg_error *err);
TG_API tg_status tg_xla_strides_untiled(int64_t *strides, const tg_xla_shape *array, tg_error *err);
TG_API tg_status tg_xla_byte_strides_untiled(int64_t *strides, const tg_xla_shape *array, tg_error *err);

/* ---- sizes ------------------------------------------------------------------------------- */

/* Elements of all arrays of the tree, without padding. XLA: ElementsIn, ElementsInRecursive (which counts no buffers).
 */
TG_API tg_status tg_xla_elements(int64_t *out, const tg_xla_shape *nodes, size_t count, tg_error *err);

/* Bytes of the elements of an array or buffer, packed if E(n) says so, without padding; of a tuple its table of
 * pointers alone; of an opaque one pointer; of a token 0. pointer_bytes is not looked at for arrays. XLA: ByteSizeOf.
 */
TG_API tg_status tg_xla_byte_size(int64_t *out, const tg_xla_shape *nodes, size_t count, int64_t pointer_bytes,
                                  tg_error *err);

/* Bytes of storage, padding of every level and of L(n) included, M(n) not: tg_layout_nbytes of the map. With splits, as
 * if all were in one memory. */
TG_API tg_status tg_xla_array_size(int64_t *out, const tg_xla_shape *array, tg_error *err);
/* XLA's answer, which its allocators use: the first level alone; L(n) only with tiles; with tiles, the largest piece of
 * each split dimension. TG_ERR_UNREPRESENTABLE for `*` in that level, where XLA says 0. XLA: ArraySize. */
TG_API tg_status tg_xla_array_size_first_tile(int64_t *out, const tg_xla_shape *array, tg_error *err);
/* tg_xla_array_size of the largest piece of an array that is split over memories. */
TG_API tg_status tg_xla_array_size_per_split(int64_t *out, const tg_xla_shape *array, tg_error *err);

/* Bytes up to the end of the highest element, or of the last element by XLA's linear index; 0 without elements.
 * TG_ERR_LIMIT if `*` joins parts of dimensions and 2^16 slots above the highest element are not known to be padding.
 * XLA: ArrayDataSize. */
TG_API tg_status tg_xla_array_data_size(int64_t *out, const tg_xla_shape *array, tg_error *err);
TG_API tg_status tg_xla_array_data_size_first_tile(int64_t *out, const tg_xla_shape *array, tg_error *err);

/* The largest piece of dimension dim (logical), or the product of these. XLA: MaxSplitSize, MaxElementsInPerSplit. */
TG_API tg_status tg_xla_max_split_size(int64_t *out, const tg_xla_shape *array, int32_t dim, tg_error *err);
TG_API tg_status tg_xla_max_elements_per_split(int64_t *out, const tg_xla_shape *array, tg_error *err);

/* The tiles change neither the place of an element nor the storage. XLA: IsUntiledLayout, which misses cases. */
TG_API tg_status tg_xla_is_untiled(bool *out, const tg_xla_shape *array, tg_error *err);

/* The first number of the third level of a 1-D array with exactly three levels, the third of two numbers, such as 2 of
 * bf16[2048]{0:T(1024)(128)(2,1)}; TG_ERR_UNREPRESENTABLE for others. XLA: PackedFactorFor1DInterleavedArray. */
TG_API tg_status tg_xla_packed_factor(int64_t *out, const tg_xla_shape *array, tg_error *err);

/* ---- trees --------------------------------------------------------------------------------- */

/* Nodes that are no tuples; b(array) is one. XLA: GetLeafCount. */
TG_API tg_status tg_xla_leaf_count(size_t *out, const tg_xla_shape *nodes, size_t count, tg_error *err);

/* The shape that the element numbers path[0..npath) lead to, tuple by tuple: nodes[*first .. *first + *length).
 * XLA: GetSubshape, IndexIsValid. */
TG_API tg_status tg_xla_subshape(size_t *first, size_t *length, const tg_xla_shape *nodes, size_t count,
                                 const int64_t *path, size_t npath, tg_error *err);

/* The element numbers that lead to a node: writes at most cap of them (path may be NULL if cap is 0) and sets *npath to
 * how many there are; *npath > cap is not an error. The array of a buffer has the path of the buffer. */
TG_API tg_status tg_xla_shape_index(int64_t *path, size_t cap, size_t *npath, const tg_xla_shape *nodes, size_t count,
                                    size_t node, tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_XLA_H */
