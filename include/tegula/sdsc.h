/* sdsc.h - kernels of the Spyre device, and SuperDSC, the JSON that its back end reads.
 *
 * A kernel is one operation on tensors that lie in memory: its loops, into how many slices each of them is cut for the
 * cores, and of each tensor the layout, the address, and how the loops touch it:
 *
 *     add, 128 rows in 2 slices, 256 columns in 2      core 0 1 2 3 has slice (0,0) (1,0) (0,1) (1,1)
 *     x at 0x400000000, device_size [4,128,64]         core 1 begins 64 rows on, 64 * 128 bytes;
 *                                                      core 2 two columns of sticks on, 2 * 128 * 128 bytes
 *
 * Numbers of loops are as in graph.h. Loops of range 1 count for nothing. docs/plan.md tells what the fields of a
 * SuperDSC say. Conventions of tegula.h hold.
 * Source: torch-spyre, code generation (superdsc.py, compute_ops.py); docs/sources.md. */
#ifndef TEGULA_SDSC_H
#define TEGULA_SDSC_H

#include <tegula/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TG_KERNEL_MAX_TENSORS 8
#define TG_KERNEL_MAX_LOOPS 8 /* of range above 1 */

typedef enum tg_kernel_kind {
    TG_KERNEL_POINTWISE = 0, /* every tensor has the same loop in its sticks, or none */
    TG_KERNEL_REDUCTION,     /* tensor 0 has all loops; the result lacks some */
    TG_KERNEL_MATMUL,        /* x, y, result; x has the summed loop in its sticks, y and the result the columns */
    TG_KERNEL_RESTICKIFY,    /* one tensor into another one, with another loop in the sticks */
    TG_KERNEL_CONVOLUTION    /* a product whose windows move over x; y has their places as loops. Each channel is
                                convolved by itself where x has those of the result in its sticks, too */
} tg_kernel_kind;

typedef struct tg_kernel_tensor {
    tg_spyre  layout;
    tg_access access;  /* in host elements; its node is not looked at */
    int64_t   address; /* of the tensor's first byte: in HBM, or in the scratchpad of each core */
    bool      in_lx;   /* in the scratchpad, where each core has its own slice */
} tg_kernel_tensor;

/* A window that moves over x of a convolution: in round p of loop `position` and w of `within` it is at place
 * p * stride + w * dilation - low of a dimension of `extent` places. What is in front of the first and behind the last
 * place counts as 0. The access of x walks that dimension by `position`, one place a round. */
typedef struct tg_kernel_window {
    int32_t position, within; /* loops; x does not have `within` */
    int64_t stride, dilation, low, extent;
} tg_kernel_window;

typedef struct tg_kernel {
    const char             *op;     /* opFuncName, letters and digits; "nonstick" is added where it belongs */
    tg_kernel_kind          kind;
    int32_t                 nloops; /* [0, TG_MAX_LOOPS] */
    const int64_t          *ranges, *splits; /* splits NULL: all 1 */
    int32_t                 ntensors;        /* [1, TG_KERNEL_MAX_TENSORS] */
    const tg_kernel_tensor *tensors;         /* the result last */
    uint32_t                masked;          /* bit l: what is behind the end of loop l counts as mask_value */
    tg_pad_value            mask_value;
    int32_t                 nwindows; /* of a convolution: 1 or 2 */
    const tg_kernel_window *windows;
} tg_kernel;

/* The SuperDSC of the kernel, {"<number>_<op>": ...}, as one line of JSON without a newline; *need is its length
 * (snprintf rule). TG_ERR_UNREPRESENTABLE where a SuperDSC has no words for it: a tensor that does not begin at a whole
 * stick, is read in steps, or by loops that do not nest; loops that run past the end of a tensor; more than
 * TG_KERNEL_MAX_LOOPS loops. TG_ERR_ARGUMENT where the kernel is not sound: splits that do not divide (loops in sticks:
 * the number of sticks), more than TG_MAX_CORES slices, two loops in the sticks of a pointwise kernel, windows
 * that leave x. TG_ERR_OVERFLOW for sizes and addresses over 63 bits. */
TG_API tg_status tg_kernel_format_sdsc(char *buf, size_t cap, size_t *need, const tg_kernel *kernel, int64_t number,
                                       tg_error *err);

/* Its name, "<number>_<op>", by the same rules. */
TG_API tg_status tg_kernel_format_name(char *buf, size_t cap, size_t *need, const tg_kernel *kernel, int64_t number,
                                       tg_error *err);

/* How many cores are at work, and of each loop the slice that a core has; loops of range 1 have slice 0. */
TG_API tg_status tg_kernel_slices(int64_t *slices, int64_t *ncores, const tg_kernel *kernel, int64_t core,
                                  tg_error *err);

/* Where a core begins in a tensor: the byte address of the first element of its slice; in the scratchpad the tensor's
 * own. */
TG_API tg_status tg_kernel_address(int64_t *address, const tg_kernel *kernel, int32_t tensor, int64_t core,
                                   tg_error *err);

/* ---- a plan as kernels ---------------------------------------------------------------- */

/* Who does the work of a step. */
typedef enum tg_duty {
    TG_DUTY_NONE = 0, /* nobody: its tensor is there, an input or a constant */
    TG_DUTY_DEVICE,   /* kernels */
    TG_DUTY_HOST      /* the host, because a SuperDSC cannot say it */
} tg_duty;

TG_API const char *tg_duty_name(tg_duty duty); /* "device"; NULL if none */

/* The steps of a plan (tg_graph_plan_step) as kernels, and where their tensors lie. */
typedef struct tg_bundle tg_bundle;

typedef struct tg_bundle_params { /* zero-initialise for defaults */
    tg_division_params division;
    const tg_memory   *memory; /* of this plan, with the same division; NULL: one with defaults. Read in create only */
} tg_bundle_params;

/* pre: the plan is feasible, and is one of this graph, which stays as it is as long as the bundle is asked.
 * TG_ERR_LIMIT where the device has no room; TG_ERR_ARGUMENT, TG_ERR_OVERFLOW, TG_ERR_NOMEM. */
TG_API tg_status tg_bundle_create(tg_bundle **out, const tg_graph *graph, const tg_graph_plan *plan,
                                  const tg_bundle_params *params, tg_error *err);
TG_API void      tg_bundle_destroy(tg_bundle **bundle); /* *bundle may be NULL */

typedef struct tg_bundle_step {
    tg_duty     duty;
    int64_t     first_kernel, nkernels; /* a concatenation has one for each piece, a fill one for the rows behind it */
    tg_hlo_text why;                    /* of TG_DUTY_HOST; lives as long as the bundle */
    int64_t     address;                /* of its tensor, bytes; -1: it has no place on the device */
    bool        in_lx;
} tg_bundle_step;

/* pre: 0 <= step < tg_graph_plan_step_count(plan). */
TG_API tg_bundle_step tg_bundle_get_step(const tg_bundle *bundle, int64_t step);

/* One stick of zeros, which fills read; -1 if none does. */
TG_API int64_t tg_bundle_zeros(const tg_bundle *bundle);

/* Kernels in the order in which they run, and the step that each is of; pre: 0 <= i < count. */
TG_API int64_t tg_bundle_kernel_count(const tg_bundle *bundle);
TG_API int64_t tg_bundle_kernel_step(const tg_bundle *bundle, int64_t i);

/* SuperDSC and name of kernel i; i is its number. */
TG_API tg_status tg_bundle_format_sdsc(char *buf, size_t cap, size_t *need, const tg_bundle *bundle, int64_t i,
                                       tg_error *err);
TG_API tg_status tg_bundle_format_name(char *buf, size_t cap, size_t *need, const tg_bundle *bundle, int64_t i,
                                       tg_error *err);

/* ---- what the host does ------------------------------------------------------------------ */

/* A tensor that is carried, whole: inputs and constants to the device, outputs back; and of a step that the host does
 * what it reads and what it makes. DCI of transfer.h says how; the layout is that of the step. */
typedef struct tg_bundle_transfer {
    int64_t step;
    bool    to_device;
} tg_bundle_transfer;

/* Each tensor at most once in each direction; pre: 0 <= i < count. */
TG_API int64_t            tg_bundle_transfer_count(const tg_bundle *bundle);
TG_API tg_bundle_transfer tg_bundle_get_transfer(const tg_bundle *bundle, int64_t i);

/* How all of it belongs together: JSON, "tegula.bundle/1", whose last line has no end (snprintf rule). Files are named
 * after kernels, "0_add.json", and after steps, "dci_3_h2d.json", "dci_9_d2h.json"; the report is "report.txt". What is
 * no UTF-8 in names becomes '?'. docs/plan.md lists the fields. */
TG_API size_t tg_bundle_format_manifest(char *buf, size_t cap, const tg_bundle *bundle, tg_hlo_text module);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_SDSC_H */
