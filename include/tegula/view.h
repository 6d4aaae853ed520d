/* view.h - views of a tensor that lies in a device layout: may they be read where they are?
 *
 * A view is PyTorch's: sizes, strides and an offset over the host storage of a tensor, one number for each element,
 *     x = offset + stride[0] * p0 + stride[1] * p1 + ...
 * On the device that storage does not exist in one piece. The layout cuts x into digits, one for each device dimension:
 * of f16[5,100,150] in Spyre's default layout
 *     x = 15000 * q2 + 150 * q0 + 64 * q1 + q3      device dimensions [q0,q1,q2,q3] of sizes [100,3,5,64]
 * and a view is free if every digit is a constant plus one term for each variable p alone, for every element:
 *     floor(((step * p + shift) mod wrap) / stride)
 * Two things prevent that. A carry: two variables add up past the end of a digit, as 32 * p0 + p1 with p1 < 40 does in
 * a stick of 64. A ragged edge: one variable runs from a digit into a larger one that is no multiple of it, as p0 <
 * 15000 with stride 1 does above, because a row of 150 is no whole number of sticks. Digits that count on where another
 * ends, in value as in place (rows of 192, which are 3 sticks), may be taken as one: a view is free if it is so with
 * the digits as they are, or with all such neighbours joined. A place in a stick is never joined with what is outside
 * of it.
 *
 * Conventions are those of tegula.h. docs/views.md tells more.
 * Source: PyTorch documentation, "Tensor Views" and torch.as_strided; torch-spyre, compute_coordinates. */
#ifndef TEGULA_VIEW_H
#define TEGULA_VIEW_H

#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- views -------------------------------------------------------------------- */

/* torch.as_strided(tensor, shape, strides, offset). Strides may be 0 or negative. */
typedef struct tg_view {
    int32_t ndim; /* [0, TG_MAX_NDIM] */
    int64_t shape[TG_MAX_NDIM], strides[TG_MAX_NDIM], offset;
} tg_view;

/* The tensor itself: its host sizes, strides and offset; row-major for XLA. */
TG_API tg_status tg_view_of(tg_view *out, const tg_desc *tensor, tg_error *err);

/* Views of views, as PyTorch makes them. None looks at a layout. Dimensions are in [0, ndim), not negative. */
TG_API tg_status tg_view_permute(tg_view *out, const tg_view *in, const int32_t *perm, tg_error *err);
TG_API tg_status tg_view_transpose(tg_view *out, const tg_view *in, int32_t dim0, int32_t dim1, tg_error *err);
/* One size may be -1. TG_ERR_UNREPRESENTABLE where torch.Tensor.view refuses, that is where reshape would copy. */
TG_API tg_status tg_view_reshape(tg_view *out, const tg_view *in, int32_t ndim, const int64_t *shape, tg_error *err);
/* range(start, stop, step) as tg_layout_slice has it; PyTorch's slices with negative or large bounds are read by
 * tg_view_parse. */
TG_API tg_status tg_view_slice(tg_view *out, const tg_view *in, int32_t dim, int64_t start, int64_t stop, int64_t step,
                               tg_error *err);
/* Element `index` of dimension dim, which goes away. */
TG_API tg_status tg_view_select(tg_view *out, const tg_view *in, int32_t dim, int64_t index, tg_error *err);
/* torch.Tensor.expand: ndim may grow in front, -1 keeps a size, only size 1 can change. */
TG_API tg_status tg_view_expand(tg_view *out, const tg_view *in, int32_t ndim, const int64_t *shape, tg_error *err);
TG_API tg_status tg_view_squeeze(tg_view *out, const tg_view *in, int32_t dim, tg_error *err); /* its size must be 1 */
TG_API tg_status tg_view_unsqueeze(tg_view *out, const tg_view *in, int32_t dim, tg_error *err); /* dim in [0, ndim] */
/* Windows of `size` elements, `step` apart, along dim; the window is a new last dimension. */
TG_API tg_status tg_view_unfold(tg_view *out, const tg_view *in, int32_t dim, int64_t size, int64_t step,
                                tg_error *err);

/* A view of `in` as PyTorch writes it: ".t()[:, 3:9].reshape(-1, 2)", with or without a name in front ("x.t()").
 * Methods: as_strided diagonal expand flatten movedim narrow permute reshape select squeeze swapaxes swapdims t
 * transpose unflatten unfold unsqueeze view, and .T, .mT; indices: numbers, slices, `...`, None. Numbers may be
 * negative where PyTorch takes them, sizes in brackets or not. TG_ERR_PARSE and what the functions above return;
 * err->pos is the place of the method or index at fault. */
TG_API tg_status tg_view_parse(tg_view *out, const tg_view *in, const char *text, size_t len, tg_error *err);

/* ---- the question --------------------------------------------------------------- */

typedef enum tg_view_verdict {
    TG_VIEW_FREE = 0,  /* read it where it is; `device` says how */
    TG_VIEW_RELAYOUT,  /* must be copied first: tg_view_target has a layout for the copy */
    TG_VIEW_IMPOSSIBLE /* has elements that the tensor does not have */
} tg_view_verdict;

typedef enum tg_view_reason {
    TG_VIEW_FITS = 0,
    TG_VIEW_CARRY,   /* relayout: the variables in `dims` carry into each other */
    TG_VIEW_RAGGED,  /* relayout: the variable in `dims` runs over a ragged edge */
    TG_VIEW_OUTSIDE, /* impossible: element `coord` is at `host_offset`, outside of [low, high), where the tensor lies
                      */
    TG_VIEW_GAP      /* impossible: there, between two elements of the tensor, none lies */
} tg_view_reason;

/* floor(((step * p + shift) mod wrap) / stride), p = coordinate of the view's dimension `dim`. mod as in mathematics.
 */
typedef struct tg_view_term {
    int32_t dim;
    int64_t step, shift;
    int64_t wrap;   /* 0: no mod */
    int64_t stride; /* >= 1 */
} tg_view_term;

/* Coordinate of one device dimension: offset + the sum of the terms. */
typedef struct tg_view_coordinate {
    int32_t      mode;   /* the memory mode of the layout, or -1: several modes (or all of a strided tensor) as one */
    int64_t      stride; /* device elements per step */
    int64_t      offset;
    int32_t      nterms;
    tg_view_term term[TG_MAX_NDIM]; /* by dim */
} tg_view_coordinate;

/* What the view has in the sticks of a Spyre layout, as kernels see it. Source: torch-spyre, stick expressions. */
typedef enum tg_stick_kind {
    TG_STICK_NONE = 0, /* 0: always the first place */
    TG_STICK_LOOP,     /* p, or p mod elements per stick */
    TG_STICK_OFFSET,   /* the same plus a constant: only copies take it */
    TG_STICK_BAD       /* anything else: no kernel takes it */
} tg_stick_kind;

/* What becomes of a reader that does not look at carries and edges. */
typedef enum tg_naive_state {
    TG_NAIVE_RIGHT = 0, /* it reads every element right */
    TG_NAIVE_WRONG,     /* not the element at `coord`, the first in row-major order that it gets wrong */
    TG_NAIVE_REFUSED,   /* it has no answer */
    TG_NAIVE_UNKNOWN    /* not found within 2^20 elements from where the proof of "right" stops */
} tg_naive_state;

typedef struct tg_naive {
    tg_naive_state state;
    int64_t        coord[TG_MAX_NDIM]; /* if wrong */
    int64_t        right, read;        /* device offsets of that element: where it is, and where it is read */
} tg_naive;

/* 32 KiB. */
typedef struct tg_view_answer {
    tg_view_verdict verdict;
    tg_view_reason  reason;
    int32_t         ndim; /* of the view */
    uint32_t        dims; /* CARRY, RAGGED: dimensions of the view, as bits */
    int32_t         mode; /* CARRY, RAGGED: the memory mode of the digit that overflows; -1 as above */
    int64_t         digit, edge; /* host elements: one step of that digit; RAGGED: one step of the digit above it */
    int64_t         coord[TG_MAX_NDIM]; /* OUTSIDE, GAP: the first such element in row-major order */
    int64_t         host_offset, low, high;

    /* FREE: the element at p is at offset + the sum of stride * coordinate. Dimensions are those of the layout's
     * memory, outermost first, also those where the coordinate is always 0; joined ones stand at the place of the last.
     */
    int64_t            offset;
    int32_t            ndevice;
    bool               joined; /* some stand for several */
    tg_view_coordinate device[TG_MAX_MODES];

    bool          has_stick; /* the layout is Spyre's, in standard arrangement, and the view is free */
    tg_stick_kind stick;
    int32_t       stick_dim; /* LOOP, OFFSET: the dimension of the view that runs inside sticks; else -1 */

    /* Two naive readings, unless the view is impossible.
     * rule: torch-spyre's compute_coordinates over (device_size, stride_map), for other notations over the sizes of the
     * memory modes and their host strides: term by term, no carries, as docs/views.md restates it. It refuses views
     * that run backwards. Bare coordinates are taken at their word: a place in the stick beyond its end is in what
     * follows. own: as if the view had been laid out by itself, in the layout of tg_view_target. */
    tg_naive rule, own;
} tg_view_answer;

/* Decide. Never looks at all elements: the cost depends on the dimensions, but for what tg_naive_state says.
 * TG_ERR_ARGUMENT: a view with sizes below 0 or more dimensions than there may be; TG_ERR_OVERFLOW: its offsets do not
 * fit int64. TG_ERR_UNSUPPORTED: a host tensor that runs backwards, or whose dimensions do not nest, each stepping over
 * the smaller ones, because elements share places (other than by stride 0) or interleave. A strided tensor may run
 * backwards, and share places as windows do: dimensions that together take the multiples of one stride up to some count
 * as one. TG_ERR_UNREPRESENTABLE: a layout that folds dimensions in another order than the host storage has them.
 * TG_ERR_LIMIT: a view that overlaps itself so that it takes over 2^20 steps to see whether it touches a gap. */
TG_API tg_status tg_view_judge(tg_view_answer *out, const tg_desc *tensor, const tg_view *view, tg_error *err);

/* pre: the verdict is TG_VIEW_FREE, coord is in the view. The device offset of an element, by the expressions. */
TG_API int64_t tg_view_device_offset(const tg_view_answer *answer, const int64_t *coord);

/* "[p1, floor(p2/64), p0, Mod(p2, 64)]", as torch-spyre prints coordinates; empty if the verdict is not FREE. */
TG_API size_t tg_view_format_access(char *buf, size_t cap, const tg_view_answer *answer);

/* A layout for a copy of the view, contiguous on the host: the default one of the tensor's notation. Spyre: with the
 * tensor's device format, and with dimensions of size 1 kept if the tensor's layout is what keeping them gives; XLA:
 * row-major with the tensor's tiles, without those that have more dimensions than the view; strided: row-major. */
TG_API tg_status tg_view_target(tg_desc *out, const tg_desc *tensor, const tg_view *view, tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_VIEW_H */
