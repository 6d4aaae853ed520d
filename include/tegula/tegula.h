/* tegula.h - tensor memory layouts of tiled accelerators: describe, query, transform, move.
 *
 * Conventions, stated once and true of every function below:
 *  - Dimensions count from 0; dimension 0 is listed first, as in PyTorch and DLPack.
 *  - Sizes, strides and offsets are int64_t counts of ELEMENTS; names ending in _bytes or
 *    _bits say otherwise. Strides may be zero or negative.
 *  - Outputs come first, inputs are const. An output may alias an input of the same type.
 *  - A function that can fail returns tg_status and takes a tg_error * last (NULL is
 *    allowed). On failure no output is written unless it says so, and the error message is always set.
 *  - Nothing prints, aborts, reads the environment or keeps global state, but for what the
 *    processor can do, which is asked once and always the same. Functions on values are pure: safe on any thread, no
 * allocation. Only the create function of a handle (tg_threads) allocates.
 *  - Pointers must not be NULL unless it says so. A coordinate that is written needs room for
 *    ndim numbers, TG_MAX_NDIM always suffices.
 *  - Text is UTF-8 with an explicit length and needs no terminator. Functions that write
 *    text follow snprintf: they write at most cap bytes, always terminate when cap > 0, and
 *    return the length of the whole text without the terminator.
 *  - Structs are plain values: copy them with =. Unused array entries are zero in values that
 *    this library made; comparing with memcmp is not supported, use the functions.
 *
 * docs/algebra.md tells the idea behind tg_layout with worked tables.
 */
#ifndef TEGULA_TEGULA_H
#define TEGULA_TEGULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_VERSION_MAJOR 0
#define TG_VERSION_MINOR 1
#define TG_VERSION_PATCH 0

#if !defined(TG_API)
#  if defined(_WIN32)
#    define TG_API
#  else
#    define TG_API __attribute__((visibility("default")))
#  endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library in use, such as "0.1.0"; differs from TG_VERSION_* after a bad install. */
TG_API const char *tg_version(void);

/* ---- errors ---------------------------------------------------------------- */

/* Append-only: a value never changes its meaning. */
typedef enum tg_status {
    TG_OK = 0,
    TG_ERR_ARGUMENT,        /* the caller broke a documented precondition */
    TG_ERR_OVERFLOW,        /* a size, stride, offset or count of bytes does not fit int64_t */
    TG_ERR_PARSE,           /* the text is not what it should be; error.pos is the place */
    TG_ERR_LIMIT,           /* well defined, but over a limit of this library; the message names it */
    TG_ERR_UNREPRESENTABLE, /* well defined, but the wanted form cannot express it */
    TG_ERR_UNSUPPORTED,     /* valid, but this build has no code for it */
    TG_ERR_NOMEM,
    TG_ERR_IO               /* the operating system refused; the message carries its reason */
} tg_status;

/* Caller-owned, may live on the stack. Untouched on success. */
typedef struct tg_error {
    tg_status status;
    int32_t   dim;          /* dimension or mode at fault, -1 if none */
    size_t    pos;          /* of errors about a text: byte position in it, in [0, len]; else 0 */
    char      message[248]; /* lower case, one line, names the rule and the offending values */
} tg_error;

/* Stable identifier such as "TG_ERR_OVERFLOW"; never NULL, also for unknown values. */
TG_API const char *tg_status_name(tg_status status);

/* ---- element types ---------------------------------------------------------- */

/* Values are XLA's PrimitiveType numbers. Source: xla_data.proto. */
typedef enum tg_dtype {
    TG_INVALID = 0,
    TG_PRED = 1, TG_S8 = 2, TG_S16 = 3, TG_S32 = 4, TG_S64 = 5,
    TG_U8 = 6, TG_U16 = 7, TG_U32 = 8, TG_U64 = 9,
    TG_F16 = 10, TG_F32 = 11, TG_F64 = 12,
    TG_C64 = 15, TG_BF16 = 16, TG_C128 = 18,
    TG_F8E5M2 = 19, TG_F8E4M3FN = 20, TG_S4 = 21, TG_U4 = 22, TG_F8E4M3B11FNUZ = 23,
    TG_F8E5M2FNUZ = 24, TG_F8E4M3FNUZ = 25, TG_S2 = 26, TG_U2 = 27, TG_F8E4M3 = 28,
    TG_F8E3M4 = 29, TG_S1 = 30, TG_U1 = 31, TG_F4E2M1FN = 32, TG_F8E8M0FNU = 33,
    TG_F6E3M2FN = 35, TG_F6E2M3FN = 36
} tg_dtype;

typedef enum tg_dtype_class {
    TG_CLASS_NONE = 0, TG_CLASS_PRED, TG_CLASS_INT, TG_CLASS_UINT, TG_CLASS_FLOAT, TG_CLASS_COMPLEX
} tg_dtype_class;

/* XLA's name, such as "bf16"; NULL if dtype is none of the above. */
TG_API const char *tg_dtype_name(tg_dtype dtype);

/* Bits of information of one element (pred: 1); 0 if dtype is none of the above. */
TG_API int32_t tg_dtype_bits(tg_dtype dtype);

/* Bits that one element takes in memory when nothing packs it: a whole number of bytes (s4: 8). */
TG_API int32_t tg_dtype_storage_bits(tg_dtype dtype);

TG_API tg_dtype_class tg_dtype_get_class(tg_dtype dtype);

/* The finite numbers of a type, for messages: "-128 to 127"; those of each part of a complex type. NULL if dtype is
 * none of the above. */
TG_API const char *tg_dtype_range(tg_dtype dtype);

/* XLA's names, and PyTorch's and NumPy's as synonyms ("float16", "half", "int8", "bool", ...);
 * TG_INVALID if the text is none of them. */
TG_API tg_dtype tg_dtype_from_name(const char *text, size_t len);

/* Spyre device data formats; values are torch-spyre's DataFormats numbers. */
typedef enum tg_format {
    TG_SEN169_FP16 = 0, TG_IEEE_FP32 = 1, TG_FORMAT_INVALID = 2, TG_SEN143_FP8 = 3,
    TG_SEN152_FP8 = 4, TG_SEN153_FP9 = 5, TG_SENINT2 = 6, TG_SENINT4 = 7, TG_SENINT8 = 8,
    TG_SENINT16 = 9, TG_SENINT24 = 10, TG_IEEE_INT64 = 11, TG_IEEE_INT32 = 12,
    TG_SENUINT32 = 13, TG_SENUINT2 = 14, TG_IEEE_FP16 = 15, TG_BOOL = 16, TG_BFLOAT16 = 17,
    TG_SEN18F_FP24 = 18,
    TG_FORMAT_NATIVE = -1 /* not a device format: the elements are stored as their dtype says */
} tg_format;

/* "SEN169_FP16"; NULL if the value has no name. */
TG_API const char *tg_format_name(tg_format format);
TG_API tg_format   tg_format_from_name(const char *text, size_t len); /* or TG_FORMAT_INVALID */

/* The same as tg_dtype_range; NULL if it is not known. */
TG_API const char *tg_format_range(tg_format format);

/* Bits per element, 1024 / elements per stick; 0 for formats without stick geometry. */
TG_API int32_t tg_format_bits(tg_format format);

/* The format in which Spyre keeps a PyTorch tensor of this type, TG_FORMAT_INVALID if it has none. */
TG_API tg_format tg_format_for_dtype(tg_dtype dtype);

/* The number of the format in which the host itself keeps this type, such as TG_IEEE_FP16 for f16; TG_FORMAT_INVALID if
 * there is none. */
TG_API tg_format tg_format_of_native(tg_dtype dtype);

/* ---- layouts: plain values --------------------------------------------------- */

#define TG_MAX_NDIM  16
#define TG_MAX_AXES  32
#define TG_MAX_MODES 48

#define TG_AXIS_PAD  (-1) /* synthetic mode: only position 0 holds data, the rest is padding */
#define TG_AXIS_COPY (-2) /* replicating mode: every position holds the same data */
#define TG_TO_MEMORY (-1)

/* One digit of a coordinate, and where it goes.
 *
 * An axis is a coordinate that digits are taken from: axis d < ndim is logical dimension d.
 * The modes of one axis have strictly decreasing weights w0 > w1 > ... > 1 (in chain order) and
 * cut its coordinate x greedily, like coins: q0 = x / w0, r = x % w0, q1 = r / w1, ... The last
 * weight is 1. `count` is the number of values q takes; `size` >= count the number of positions
 * that memory has for it; what is beyond is padding.
 *
 * A mode goes to memory (into == TG_TO_MEMORY: one step moves `stride` elements), or it is folded
 * into a later axis (into >= ndim: one step adds `stride` to that axis' coordinate).
 * Folds are how XLA's `*` tiles and flattened Spyre hosts are said; most layouts have none. */
typedef struct tg_mode {
    int64_t size;   /* positions, padding included, >= 0 */
    int64_t count;  /* positions that can hold data, [0, size] */
    int64_t weight; /* what one step adds to the coordinate of `axis`, >= 1; 1 if axis < 0 */
    int64_t stride; /* what one step adds to the target */
    int32_t axis;   /* [0, naxes), TG_AXIS_PAD or TG_AXIS_COPY */
    int32_t into;   /* TG_TO_MEMORY, or an axis in [ndim, naxes) above `axis` */
} tg_mode;

/* A map from logical coordinates to element offsets in a storage of `span` elements.
 * Build one with the functions below, or fill it in and call tg_layout_validate().
 *
 * Example, the Spyre default for float16 of shape (5, 100, 150), 64 elements per stick:
 *     mode     0    1    2    3
 *     size   100    3    5   64      position (99, 2, 4, 21) <-> coordinate (4, 99, 149)
 *     axis     1    2    0    2      offset 99*960 + 2*320 + 4*64 + 21 = 95957
 *     weight   1   64    1    1      span 96000, of which 75000 hold data
 *     stride 960  320   64    1
 * Source: torch-spyre documentation, "Default Layout Example".
 *
 * Memory modes of Spyre and XLA layouts stand outermost first, one per device or physical dimension,
 * those of size 1 included (an element arrangement adds some; a Spyre tensor without elements has one per
 * dimension of size 0); a strided layout has mode d for dimension d. */
typedef struct tg_layout {
    int32_t   ndim;                   /* logical dimensions, [0, TG_MAX_NDIM] */
    int32_t   naxes;                  /* axes, [ndim, TG_MAX_AXES] */
    int32_t   nmodes;                 /* modes, [0, TG_MAX_MODES] */
    tg_dtype  dtype;                  /* logical element type */
    tg_format format;                 /* how elements are stored, TG_FORMAT_NATIVE as a rule */
    int32_t   elem_bits;              /* bits per stored element, > 0; below 8 packed, low bits first */
    int32_t   memory_space;           /* XLA's S(n); 0 is the default space */
    int64_t   offset;                 /* of coordinate (0, ..., 0) */
    int64_t   span;                   /* elements of storage, padding included, >= 0 */
    int64_t   shape[TG_MAX_NDIM];     /* logical sizes, padding excluded */
    int64_t   axis_size[TG_MAX_AXES]; /* range of each axis: shape[d] for d < ndim */
    tg_mode   mode[TG_MAX_MODES];     /* memory modes, then folded ones; their order is told above */
    uint8_t   chain[TG_MAX_MODES];    /* the modes with axis >= 0, by axis, then decreasing weight */
} tg_layout;

/* A strided array. strides == NULL means row-major and dense. elem_bits is the storage width of
 * dtype. span counts from offset 0 (or the lowest offset, if negative) to the highest one. */
TG_API tg_status tg_layout_strided(tg_layout *out, tg_dtype dtype, int32_t ndim, const int64_t *shape,
                                   const int64_t *strides, int64_t offset, tg_error *err);

/* TG_OK if every invariant holds: the struct's comments, sizes and offsets that fit int64_t, and
 * every coordinate reachable. Values made by this library need no check. */
TG_API tg_status tg_layout_validate(const tg_layout *in, tg_error *err);

/* pre of all queries: tg_layout_validate(in) is TG_OK. */

TG_API int64_t   tg_layout_numel(const tg_layout *in); /* logical elements */
TG_API tg_status tg_layout_nbytes(int64_t *out, const tg_layout *in, tg_error *err); /* of storage, rounded up */

/* The format in which elements are stored: the layout's own, or that in which the host keeps their type;
 * TG_FORMAT_INVALID where that has no number. Between layouts of one type a move converts where they differ. */
TG_API tg_format tg_layout_stored_format(const tg_layout *in);

/* pre: 0 <= coord[d] < shape[d] for every d. The first copy, if the layout replicates. */
TG_API int64_t tg_layout_offset(const tg_layout *in, const int64_t *coord);

/* True if every coord[d] is in [0, shape[d]); else the error names the dimension. */
TG_API bool tg_layout_in_bounds(const tg_layout *in, const int64_t *coord, tg_error *err);

typedef enum tg_slot {
    TG_SLOT_DATA = 0, /* holds the element of the coordinate that was written */
    TG_SLOT_PADDING,  /* inside the storage, but no element lives there */
    TG_SLOT_OUTSIDE   /* not in the storage */
} tg_slot;

/* Inverse: what lives at `offset`. The first coordinate in row-major order if several do; coord is
 * written for TG_SLOT_DATA only. Fails with TG_ERR_LIMIT only for overlapping strides that need more than 2^20 steps of
 * search. */
TG_API tg_status tg_layout_coord(tg_slot *slot, int64_t *coord, const tg_layout *in, int64_t offset,
                                 tg_error *err);

/* unique: no two coordinates share an offset. exhaustive: every offset of the storage holds data.
 * data: number of distinct offsets that hold data (copies counted), so span - data is padding.
 * Any output may be NULL. TG_ERR_LIMIT as for tg_layout_coord. */
TG_API tg_status tg_layout_coverage(bool *unique, bool *exhaustive, int64_t *data, const tg_layout *in,
                                    tg_error *err);

typedef enum tg_difference {
    TG_SAME = 0,
    TG_DIFFERENT_SHAPE,
    TG_DIFFERENT_WIDTH,  /* elem_bits; a, b are the two */
    TG_DIFFERENT_MAP,    /* coord is at offset a in the one and b in the other */
    TG_DIFFERENT_COPIES, /* only one has a copy of coord at this offset; the other of a, b is -1 */
    TG_DIFFERENT_SPAN    /* a, b are the two */
} tg_difference;

/* How two layouts differ; coord is a coordinate that shows it, not necessarily the first that does. */
typedef struct tg_witness {
    tg_difference what;
    int64_t       coord[TG_MAX_NDIM];
    int64_t       a, b;
} tg_witness;

/* Decide equality as maps: same shape, elem_bits, and the same offset for every coordinate (and the
 * same copies). With `storage`, also the same span. Never enumerates the tensor. witness may be NULL.
 * post: *equal == false implies the witness shows it. dtype and memory space are not compared.
 * Fails with TG_ERR_LIMIT only where both layouts fold digits in conflicting orders with tiles so
 * large that 2^22 coordinates would have to be compared. */
TG_API tg_status tg_layout_equal(bool *equal, tg_witness *witness, const tg_layout *a, const tg_layout *b,
                                 bool storage, tg_error *err);

/* ---- algebra: on modes ------------------------------------------------------- */

/* Split memory mode m into ceil(size / tile) outer steps and `tile` inner ones, tile >= 1.
 * post: offset(out, c) == offset(in, c) for every coordinate c. */
TG_API tg_status tg_layout_split(tg_layout *out, const tg_layout *in, int32_t m, int64_t tile, tg_error *err);

/* Merge memory modes m and m + 1, which must be neighbouring digits of one axis with nested
 * strides; TG_ERR_UNREPRESENTABLE otherwise. post: as for split. */
TG_API tg_status tg_layout_merge(tg_layout *out, const tg_layout *in, int32_t m, tg_error *err);

/* Reorder memory modes to order[0], order[1], ... (a permutation) and give them dense row-major
 * strides, offset 0 and a span without gaps: this is how a tiled layout is made from a strided one. */
TG_API tg_status tg_layout_reorder(tg_layout *out, const tg_layout *in, const int32_t *order, tg_error *err);

/* Normal form: modes of one position dropped, digits merged and folds undone where the map allows,
 * memory modes by decreasing |stride|. post: as for split; idempotent; same span. */
TG_API tg_status tg_layout_coalesce(tg_layout *out, const tg_layout *in, tg_error *err);

/* ---- algebra: views, which change coordinates and leave memory alone ---------- */

/* All: offset(out, view(c)) == offset(in, c); TG_ERR_UNREPRESENTABLE with the reason where this
 * library finds no layout that says it. span is unchanged. */

/* Dimension d of out is dimension perm[d] of in; perm is a permutation of [0, ndim). */
TG_API tg_status tg_layout_permute(tg_layout *out, const tg_layout *in, const int32_t *perm, tg_error *err);
/* Dimensions dim0 and dim1, in [0, ndim), change places. */
TG_API tg_status tg_layout_transpose(tg_layout *out, const tg_layout *in, int32_t dim0, int32_t dim1, tg_error *err);
/* The same row-major number of every element; the products must agree, no size is -1. */
TG_API tg_status tg_layout_reshape(tg_layout *out, const tg_layout *in, int32_t ndim, const int64_t *shape,
                                   tg_error *err);
/* Coordinates start, start + step, ... below stop (above, if step < 0), as Python's range(start, stop,
 * step), which may be empty: start and stop in [0, size], for step < 0 in [-1, size); step is not 0. */
TG_API tg_status tg_layout_slice(tg_layout *out, const tg_layout *in, int32_t dim, int64_t start,
                                 int64_t stop, int64_t step, tg_error *err);
/* Dimension dim, of size 1 (or already of that size), becomes `size` times the same elements. */
TG_API tg_status tg_layout_expand(tg_layout *out, const tg_layout *in, int32_t dim, int64_t size, tg_error *err);
/* Dimension dim, of size 1, goes away. */
TG_API tg_status tg_layout_squeeze(tg_layout *out, const tg_layout *in, int32_t dim, tg_error *err);
/* A dimension of size 1 comes before dimension dim in [0, ndim]. */
TG_API tg_status tg_layout_unsqueeze(tg_layout *out, const tg_layout *in, int32_t dim, tg_error *err);

/* ---- notation: XLA ------------------------------------------------------------ */

#define TG_XLA_MAX_TILES     8  /* tile levels */
#define TG_XLA_MAX_TILE_DIMS 32 /* numbers in all levels together */
#define TG_XLA_MAX_SPLITS    8
#define TG_XLA_MAX_SPLIT_INDICES 32
#define TG_XLA_COMBINE INT64_MIN /* `*` in a tile. Source: xla/layout.h kCombineDimension */
#define TG_XLA_UNBOUNDED INT64_MIN /* size of a `?` dimension */

/* What stands between { and } of an XLA shape. Zero-initialised and with tail_padding 1 it is the
 * layout of a scalar. Source: xla_data.proto LayoutProto; spec of the text: docs/notation.md. */
typedef struct tg_xla_layout {
    int32_t  ndim;                           /* length of minor_to_major */
    int32_t  ntiles;                         /* tile levels */
    int32_t  nsplits;
    int32_t  minor_to_major[TG_MAX_NDIM];
    int32_t  tile_ndim[TG_XLA_MAX_TILES];    /* numbers of each level */
    int64_t  tile_dims[TG_XLA_MAX_TILE_DIMS];/* of all levels in turn; TG_XLA_COMBINE for `*` */
    int64_t  tail_padding;                   /* L(n), in elements; 1 if absent */
    tg_dtype index_type, pointer_type;       /* #(type), *(type): remnants; TG_INVALID if absent */
    int64_t  element_size_in_bits;           /* E(n); 0 if absent */
    int64_t  memory_space;                   /* S(n), -128 .. 127 */
    int64_t  split_dim[TG_XLA_MAX_SPLITS];   /* SC(d: ...): physical dimension, 0 = most major */
    int32_t  split_nindices[TG_XLA_MAX_SPLITS];
    int64_t  split_indices[TG_XLA_MAX_SPLIT_INDICES]; /* of all splits in turn */
    int64_t  metadata_prefix_bytes;          /* M(n) */
} tg_xla_layout;

typedef enum tg_xla_kind { TG_XLA_ARRAY = 0, TG_XLA_TUPLE, TG_XLA_TOKEN, TG_XLA_OPAQUE, TG_XLA_BUFFER } tg_xla_kind;

/* One node of a shape tree in pre-order: a tuple is followed by its elements, a buffer by its array. */
typedef struct tg_xla_shape {
    tg_xla_kind   kind;
    tg_dtype      dtype;                    /* arrays */
    int32_t       ndim;                     /* arrays */
    int32_t       nchildren;                /* tuple: elements; buffer: 1 */
    int64_t       dims[TG_MAX_NDIM];        /* TG_XLA_UNBOUNDED for `?` */
    bool          dynamic[TG_MAX_NDIM];     /* `<=N` and `?` */
    bool          has_layout;               /* arrays read from text always have one */
    size_t        pos;                      /* byte position in the text it was read from */
    tg_xla_layout layout;
} tg_xla_shape;

/* Read one shape to the end of the text: every form of XLA's ParseShape (all element types, dynamic
 * dimensions, tuples, token, opaque, buffers, every layout property). Strict where upstream crashes
 * or is lax (docs/notation-xla.md lists it). Writes at most cap nodes (nodes may be NULL if cap is 0)
 * and sets *count to the number the text has; *count > cap is not an error. */
TG_API tg_status tg_xla_shape_parse(tg_xla_shape *nodes, size_t cap, size_t *count, const char *text,
                                    size_t len, tg_error *err);

/* Print as XLA does, with layouts or without (HumanString). Empty text for nodes that are no tree. */
TG_API size_t tg_xla_shape_format(char *buf, size_t cap, const tg_xla_shape *nodes, size_t count, bool with_layout);

/* XLA's ParseLayout and Layout::ToString, for the braces alone. */
TG_API tg_status tg_xla_layout_parse(tg_xla_layout *out, const char *text, size_t len, tg_error *err);
TG_API size_t    tg_xla_layout_format(char *buf, size_t cap, const tg_xla_layout *layout);

/* XLA's ValidateLayoutForShape and ValidateShape for a tree, rules in the same order; stricter for
 * `*` in the last place of a tile. Error texts follow XLA's. */
TG_API tg_status tg_xla_shape_validate(const tg_xla_shape *nodes, size_t count, tg_error *err);

/* The exact map of an array shape: all tile levels, padding at each, `*`, tail padding, E(n).
 * Bounded dynamic dimensions count with their bound; unbounded ones are TG_ERR_UNREPRESENTABLE. */
TG_API tg_status tg_layout_from_xla(tg_layout *out, const tg_xla_shape *array, tg_error *err);

/* An XLA shape with the same map, or TG_ERR_UNREPRESENTABLE with the reason. */
TG_API tg_status tg_xla_from_layout(tg_xla_shape *out, const tg_layout *in, tg_error *err);

/* ---- notation: Spyre ----------------------------------------------------------- */

#define TG_SPYRE_STICK_BYTES 128
#define TG_SPYRE_MAX_RANK 32

/* How elements are permuted inside sticks; values are torch-spyre's ElementArrangement numbers. */
typedef enum tg_arrangement {
    TG_STANDARD = 0, TG_DL16_TO_FP32, TG_QFP8CH, TG_EXX2, TG_FP32_TO_DL16, TG_QFP8WT
} tg_arrangement;

TG_API const char *tg_arrangement_name(tg_arrangement a); /* "STANDARD"; NULL if none */
TG_API bool        tg_arrangement_from_name(tg_arrangement *out, const char *text, size_t len);

/* torch-spyre's SpyreTensorLayout. Memory is dense row-major over device_size. stride_map[k] is how
 * many HOST elements one step along device dimension k advances: -1 none (synthetic, or a host
 * dimension of size 1), 0 replicate. Source: torch-spyre documentation, "Tensor Layouts". */
typedef struct tg_spyre {
    int32_t        rank;
    tg_format      device_dtype;
    tg_arrangement arrangement;
    int64_t        device_size[TG_SPYRE_MAX_RANK];
    int64_t        stride_map[TG_SPYRE_MAX_RANK];
} tg_spyre;

/* The host tensor that a Spyre layout belongs to. */
typedef struct tg_host {
    tg_dtype dtype;
    int32_t  ndim;
    int64_t  shape[TG_MAX_NDIM];
    int64_t  strides[TG_MAX_NDIM];
    int64_t  offset;
} tg_host;

/* Row-major dense strides for shape, offset 0. */
TG_API tg_status tg_host_contiguous(tg_host *out, tg_dtype dtype, int32_t ndim, const int64_t *shape, tg_error *err);

typedef struct tg_spyre_params { /* zero-initialise for the default layout */
    const int32_t *dim_order; /* NULL: 0, 1, ...; the last entry is the stick, -1 there is sparse */
    int32_t        norder;    /* entries of dim_order: ndim, or ndim + 1 if sparse */
    bool           keep_unit_dims; /* size-1 dimensions keep a device dimension, as torch-spyre does today */
    bool           has_device_dtype;
    tg_format      device_dtype;   /* if has_device_dtype; else the format of the host dtype */
    tg_arrangement arrangement;
} tg_spyre_params;

/* torch-spyre's (size, stride, dtype, dim_order) constructor for any number of dimensions. */
TG_API tg_status tg_spyre_default(tg_spyre *out, const tg_host *host, const tg_spyre_params *params, tg_error *err);

/* The stride_map of a legacy (device_size, dim_map) pair; dim_map[k] in [-1, ndim). A device dimension
 * that only counts past the end of its host dimension gets -1. */
TG_API tg_status tg_spyre_from_dim_map(tg_spyre *out, const tg_host *host, int32_t rank, const int64_t *device_size,
                                       const int64_t *dim_map, const tg_spyre_params *params, tg_error *err);

/* The dim_map of a layout; TG_ERR_UNREPRESENTABLE where a device dimension walks several host
 * dimensions, replicates, or the tiles are not the products of the sizes to their right. */
TG_API tg_status tg_spyre_dim_map(int64_t *dim_map, const tg_spyre *spyre, const tg_host *host, tg_error *err);

/* The map from logical coordinates to device elements. Validates: every host element must be
 * reachable as host_offset = dot(device_coordinates, stride_map); which host dimension a device
 * dimension walks follows from strides and extents alone, never from its position. */
TG_API tg_status tg_layout_from_spyre(tg_layout *out, const tg_spyre *spyre, const tg_host *host, tg_error *err);

/* A Spyre layout (over a row-major host, or over *host if not NULL) with the same map, or
 * TG_ERR_UNREPRESENTABLE with the reason. */
TG_API tg_status tg_spyre_from_layout(tg_spyre *out, const tg_layout *in, const tg_host *host, tg_error *err);

/* "SpyreTensorLayout(device_size=[100, 3, 5, 64], stride_map =[...], device_dtype=DataFormats....)",
 * as torch-spyre prints it. */
TG_API size_t tg_spyre_str(char *buf, size_t cap, const tg_spyre *spyre);

/* ---- notation: one line of text ------------------------------------------------ */

typedef enum tg_notation { TG_NOTATION_STRIDED = 0, TG_NOTATION_XLA, TG_NOTATION_SPYRE, TG_NOTATION_CUTE } tg_notation;

TG_API const char *tg_notation_name(tg_notation n); /* "strided"; NULL if none */

/* A layout as one of the notations says it: the map, and what only that notation has. */
typedef struct tg_desc {
    tg_notation  notation;
    tg_layout    layout;
    tg_host      host;  /* strided: the tensor itself. spyre: its host tensor. xla: strides unused */
    tg_spyre     spyre; /* spyre only */
    tg_xla_shape xla;   /* xla only */
} tg_desc;

/* Read one line of notation (contract: docs/notation.md); blanks between tokens are free. XLA text
 * must be an array here; use tg_xla_shape_parse for tuples. Error positions are in the text. */
TG_API tg_status tg_desc_parse(tg_desc *out, const char *text, size_t len, tg_error *err);

/* Canonical text: unique for a value, reads back to the same value. */
TG_API size_t tg_desc_format(char *buf, size_t cap, const tg_desc *desc);

/* The same map in another notation, or TG_ERR_UNREPRESENTABLE with the reason. Not for CuTe. */
TG_API tg_status tg_desc_convert(tg_desc *out, const tg_desc *in, tg_notation to, tg_error *err);

/* The tensor before it was tiled: of a Spyre layout the host tensor that it was made for; else row-major and dense, of
 * the same shape. TG_ERR_OVERFLOW. */
TG_API tg_status tg_desc_host(tg_host *out, const tg_desc *desc, tg_error *err);

/* Places of one stick or tile, its padding included; 0: it has none, or `*` leaves that to the sizes. */
TG_API int64_t tg_desc_unit(const tg_desc *desc);

/* Divide a Spyre tensor among cores, as torch-spyre does for an operation on single elements while a core's part is
 * within the limits of its memory span: dimensions by decreasing size, the stick's counted in sticks, each get the
 * largest divisor that the cores which are left allow. splits[d] is into how many parts dimension d is cut.
 * TG_ERR_ARGUMENT: cores not in [1, 65536], no Spyre layout, no elements, or a dimension to divide of which a stick has
 * elements that are not side by side: its stick would belong to several cores. */
TG_API tg_status tg_spyre_divide(int64_t *splits, const tg_desc *desc, int64_t cores, tg_error *err);

/* CuTe text "(shape):(stride)", first mode fastest. *need is the length of the text (snprintf rule).
 * TG_ERR_UNREPRESENTABLE where the map has padding inside a digit, or folds. */
TG_API tg_status tg_cute_format(char *buf, size_t cap, size_t *need, const tg_layout *in, tg_error *err);

/* ---- relayout: moving a tensor from one layout to another ----------------------- */

/* Instruction sets that movers are written for, as bits. */
typedef enum tg_cpu {
    TG_CPU_AVX2 = 1,   /* and FMA, F16C, BMI2 */
    TG_CPU_AVX512 = 2, /* F, BW, DQ, VL, VBMI: Ice Lake, Zen 4 and later */
    TG_CPU_NEON = 4
} tg_cpu;

#define TG_PLAN_WORDS 1408 /* 11 KiB */

/* How to move one layout into another. A plain value that the caller owns, with nothing to destroy:
 * making one takes about as long as copying some kilobytes and allocates nothing. Once made it is only read, so one
 * plan may run on many threads at once; it keeps no pointer into its parameters, but some into the code of this
 * library: use it in the process that made it. Do not look inside. */
typedef struct tg_plan {
    uint64_t opaque[TG_PLAN_WORDS];
} tg_plan;

/* A way to run ntasks calls task(arg, 0 .. ntasks - 1) and return when all are done. */
typedef struct tg_executor {
    void (*run)(void *context, void (*task)(void *arg, size_t index), void *arg, size_t ntasks);
    void  *context;
    int32_t threads; /* about how many run at once, >= 1; 1: everything stays on the calling thread */
} tg_executor;

/* Who reads dst next. Without a hint large moves write around the caches: from 2.5 to 24 MiB on, both sides together,
 * by processor and by what is moved (docs/relayout.md). */
typedef enum tg_hint {
    TG_HINT_CACHED = 1, /* the CPU does, soon, and dst fits into its caches: never write around them. Where dst does not
                         * fit, that takes up to several times as long */
    TG_HINT_DEVICE = 2 /* a DMA engine does: write around the caches whatever the size, where whole lines are written */
} tg_hint;

typedef struct tg_plan_params { /* zero-initialise for defaults; read during init only */
    const tg_layout *dst, *src; /* same shape, and same dtype unless `convert`; dst must be unique */
    const void *pad; /* one element, at any address, in dst's format (its low bits, if below 8) for dst's padding; NULL:
                      * padding is left as it is */
    const int64_t *begin, *end; /* move only coordinates begin[d] <= x[d] < end[d], within [0, shape[d]]; NULL: 0,
                                 * shape. Of the padding, what lies beside these coordinates: a dimension's padding
                                 * belongs to the box that reaches its end (an empty one at the end too); in tiles of
                                 * tiles each place belongs to the coordinate that has the other digits of it. So boxes
                                 * that share out the tensor share out the padding. TG_ERR_UNSUPPORTED if the box is not
                                 * everything, pad is given, and padding is not of that kind (gaps between strides,
                                 * folds), the box cuts a byte of packed elements, tiles do not nest, or there are too
                                 * many edges */
    uint32_t         hint;      /* one of tg_hint, or 0 */
    uint32_t         without;   /* tg_cpu bits that must not be used, and no others: for tests */
    int32_t          threads;   /* as many as the executor will have, if that is known; 0: it is not. At least so many
                                 * tasks, where the work is large enough; the executor's threads may make them more.
                                 * More than 1 also tells that threads share the caches and the memory, which on some
                                 * processors is a reason to write into the caches */
    bool convert; /* the element types may differ: f32, f16, bf16, f8e4m3fn and f8e5m2 become each other or pred,
                   * pred becomes one of them, integers of any width and sign become integers */
} tg_plan_params;

/* Where the formats of src and dst differ (float16 to DLFloat16, s4 to packed s4, ...) elements are
 * converted; TG_ERR_UNSUPPORTED names pairs that have no conversion. Floats are rounded: to DLFloat16
 * (SEN169_FP16: 1 sign, 6 exponent, 9 fraction bits) halves away from zero, below its smallest to 0, above
 * its largest (8573157376) as infinity and NaN to NINF, which reads back as NaN; to other formats to the
 * nearest, halves to even, past the largest to infinity (f8e4m3fn: NaN). tg_plan_losses counts what becomes infinite or
 * 0 by that. Integers that do not fit are errors; of an s4 or u2 in a byte of its own only the low bits count, as in
 * XLA. On failure *out is a plan that moves nothing: TG_ERR_ARGUMENT for layouts that are no layouts, of different
 * shapes or (without `convert`) types, with offsets outside their storage, for a dst that is not unique, and for fields
 * out of range. TG_ERR_OVERFLOW: a storage of 2^62 bytes or more. */
TG_API tg_status tg_plan_init(tg_plan *out, const tg_plan_params *params, tg_error *err);

/* Copy src to dst, which must not overlap and hold nbytes(layout) each, also where only a box is moved. src points at
 * offset 0 of its layout, dst likewise, at any byte address; layouts with negative offsets are refused by init. Large
 * moves are fastest where dst begins at a multiple of 64 (what malloc gives often lies 16 past one); elsewhere they
 * take up to twice as long. executor == NULL runs on the calling thread; small moves do so in any case, and the
 * executor may be called twice in turn, each time to return when all tasks are done. Each task ends with a fence where
 * it has stored around the caches, so an executor needs no other fences than its own. dst and src may be NULL where
 * they hold 0 bytes. Needs less than 96 KiB of stack on each thread that runs tasks, or 224 KiB where stores go around
 * the caches (both sides together have 2.5 MiB or more, or hint is TG_HINT_DEVICE). Fails only with TG_ERR_OVERFLOW: an
 * integer out of range of dst's format (one of them is named; the rest of dst is then unspecified); and with
 * TG_ERR_ARGUMENT, before anything is moved: an executor of fewer than 1 threads, or of more without `run`. */
TG_API tg_status tg_plan_run(const tg_plan *plan, void *dst, const void *src, const tg_executor *executor,
                             tg_error *err);

/* The same in `tg_plan_steps` pieces, for streaming and progress: step i in [0, steps) touches a
 * bounded part of both, which is not told; all steps together are one run. Step 0 comes first: where padding lies
 * between strides or folds, it may fill all of dst before. The others may come in any order, and at the same time
 * unless dst's elements share bytes; the same is true of plans for boxes of one tensor. A plan with nothing to move has
 * one step. TG_ERR_ARGUMENT also if step is not in [0, steps). */
TG_API int64_t   tg_plan_steps(const tg_plan *plan);
TG_API tg_status tg_plan_run_step(const tg_plan *plan, int64_t step, void *dst, const void *src,
                                  const tg_executor *executor, tg_error *err);

/* What the plan does, for people: a line about the whole, then one for each part (the loops, the kernel, why). The
 * words may change from version to version. */
TG_API size_t tg_plan_describe(char *buf, size_t cap, const tg_plan *plan);

/* pre of both: tg_plan_init accepts params. Both look at begin and end, and not at hint, without and threads. */

/* How many finite values of src (in the box) the conversion makes infinite (or NINF), and how many that are not 0 it
 * makes 0. Both are 0 where nothing is converted between floats. */
TG_API tg_status tg_plan_losses(int64_t *overflowed, int64_t *vanished, const tg_plan_params *params, const void *src,
                                tg_error *err);

/* Compare dst with src element by element from the definition (tg_layout_offset and the scalar
 * conversion), through no code that the fast path uses, and much slower: some 20 to 35 ns for each element; also the
 * padding, if pad was given. Within the box, if params has one (begin or end is not NULL); padding is then not looked
 * at. An integer that does not fit is a difference. coord (room for TG_MAX_NDIM; may be NULL) receives the first
 * element that differs; for padding, coord[0] = -1, also if there are no dimensions. *offset (may be NULL) is where in
 * dst. */
TG_API tg_status tg_plan_verify(bool *equal, int64_t *coord, int64_t *offset, const tg_plan_params *params,
                                const void *dst, const void *src, tg_error *err);

/* One element of `layout` that says a number, for `pad`: first the nearest one that the element type has, halves to
 * even, and then as a plan stores it; f8e8m0fnu has powers of two alone and takes no other numbers. *number is, for a
 * pred or an integer, of type TG_S64 or TG_U64, for a float TG_F64, for a complex TG_F64 or TG_C128; otherwise
 * TG_ERR_ARGUMENT. Writes whole bytes, (elem_bits + 7) / 8. TG_ERR_OVERFLOW if the element type does not hold it, or
 * not the format in which the layout stores it, also of an infinity or a NaN: the message tells which of the two (of
 * both, the narrower), and its numbers. */
TG_API tg_status tg_element_from_number(void *out, const tg_layout *layout, tg_dtype type, const void *number,
                                        tg_error *err);

/* A pool of n threads (pthreadpool), n >= 1, as an executor. The calling thread is one of them. They spin while they
 * wait, so n should be no more than the processors that the process may use: two on one take milliseconds for each run.
 * Runs that several threads give to one pool queue; a task must not give it another. */
typedef struct tg_threads tg_threads;
TG_API tg_status   tg_threads_create(tg_threads **out, int32_t n, tg_error *err);
TG_API tg_executor tg_threads_executor(tg_threads *threads);
TG_API void        tg_threads_destroy(tg_threads **threads);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_TEGULA_H */
