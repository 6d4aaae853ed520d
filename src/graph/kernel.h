/* What a SuperDSC says of a kernel, worked out: the loops become named dimensions, and a tensor is walked dimension by
 * dimension. */
#ifndef TG_GRAPH_KERNEL_H
#define TG_GRAPH_KERNEL_H

#include "graph/coordinate.h"
#include "graph/json_text.h"

#include <tegula/sdsc.h>

enum { TG_SDSC_DIMS = TG_KERNEL_MAX_LOOPS, TG_SDSC_LABELS = 4, TG_NO_DIM = -1 };

/* How a tensor is walked; what is said of a dimension stands at its number. */
typedef struct tg_sdsc_tensor {
    int32_t ndims, order[TG_SDSC_DIMS]; /* dimensions innermost first; those that the tensor does not have come last */
    int32_t scale[TG_SDSC_DIMS];  /* 1; -1: not in the tensor; -2: and in the sticks of the others; 0: not in `order` */
    int64_t stride[TG_SDSC_DIMS]; /* elements from one step to the next; where sticks lie, from one stick */
    int64_t gap[TG_SDSC_DIMS];    /* elements that the tensor has behind those of the loop */
    int32_t stick;                /* the dimension in its sticks, or TG_NO_DIM */
    int64_t eps;                  /* elements of a stick */
    int64_t offset;               /* of the first element that is touched */
    int32_t label;
} tg_sdsc_tensor;

typedef struct tg_sdsc {
    const tg_kernel *kernel;
    int32_t          ndims, loop[TG_SDSC_DIMS]; /* TG_NO_DIM: none; these dimensions come last */
    const char      *name[TG_SDSC_DIMS];
    int64_t          extent[TG_SDSC_DIMS], split[TG_SDSC_DIMS]; /* extents are whole sticks where sticks lie */
    int64_t          ncores;
    int32_t          fastest; /* the dimension whose slices are numbered first; the others follow in their order */
    int32_t          stick;   /* of the kernel; those of a product differ */
    tg_sdsc_tensor   tensor[TG_KERNEL_MAX_TENSORS];
    int32_t          nlabels;
    int32_t          first[TG_SDSC_LABELS]; /* the tensor that a label was made for */
    const char      *label[TG_SDSC_LABELS];
} tg_sdsc;

/* kernel_make.c */
tg_status tg_sdsc_make(tg_sdsc *out, const tg_kernel *kernel, tg_error *err);

/* The slice of each dimension that a core has. */
void tg_sdsc_slices(int64_t slice[TG_SDSC_DIMS], const tg_sdsc *s, int64_t core);

/* The dimensions in the order in which slices are numbered. */
void tg_sdsc_numbering(int32_t dim[TG_SDSC_DIMS], const tg_sdsc *s);

/* False if it does not fit 63 bits. */
bool tg_sdsc_address(int64_t *address, const tg_sdsc *s, int32_t tensor, int64_t core);

/* Is each channel convolved by itself? */
bool tg_sdsc_is_depthwise(const tg_sdsc *s);

/* Is the result reduced across sticks? */
bool tg_sdsc_is_nonstick(const tg_sdsc *s);

/* The window that moves over tensor k along a dimension; NULL if none does. */
const tg_kernel_window *tg_sdsc_window(const tg_sdsc *s, int32_t k, int32_t dim);

/* How far tensor k goes along a dimension that it has: less or more than the kernel where a window moves. */
int64_t tg_sdsc_places(const tg_sdsc *s, int32_t k, int32_t dim);

/* kernel_window.c */
tg_status tg_sdsc_check_windows(const tg_kernel *k, tg_error *err);

/* mb, i, j, out, in, ki, kj. TG_ERR_UNREPRESENTABLE where there are more dimensions than names. */
tg_status tg_sdsc_name_convolution(tg_sdsc *s, tg_error *err);

/* Where a window begins, counted from the first place that counts; how many it needs; behind the last place. */
typedef struct tg_sdsc_padding {
    int64_t front, back, unneeded; /* -1, -1: the cores have different ones */
    int64_t total, stride, dilation;
    const char *window; /* the name of its places */
} tg_sdsc_padding;

/* Of dimension dim of x, for all of it or for one core; false if no window moves along it. */
bool tg_sdsc_padding_of(tg_sdsc_padding *out, const tg_sdsc *s, int32_t dim, bool per_core);

/* All of them, as "paddingSizes_". */
void tg_sdsc_put_padding(tg_json *j, const tg_sdsc *s, bool per_core);

/* kernel_walk.c: how tensor k is touched; s has its dimensions, without extents. */
tg_status tg_sdsc_walk(tg_sdsc *s, int32_t k, tg_error *err);

/* The same, once extents are known: gaps, and whether the dimensions nest. */
tg_status tg_sdsc_nest(tg_sdsc *s, int32_t k, tg_error *err);

/* The tensor as messages name it: "operand 0", "the result". */
const char *tg_sdsc_tensor_name(const tg_sdsc *s, int32_t k);

#endif
