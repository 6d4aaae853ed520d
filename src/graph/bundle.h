/* A plan as kernels, as it is kept. A kernel is made anew whenever it is asked for: it is its step, and which piece of
 * it. */
#ifndef TG_GRAPH_BUNDLE_H
#define TG_GRAPH_BUNDLE_H

#include "graph/plan.h"

#include <tegula/sdsc.h>

typedef struct tg_bundle_row {
    tg_duty  duty;
    bool     in_lx;
    int64_t  address;
    int64_t  core_bytes; /* in LX: of each core */
    int64_t  first_kernel, nkernels;
    size_t   why; /* in chars */
    uint32_t why_len;
    int64_t  in_place_of; /* the step whose tensor has given it its place, -1 */
    bool     goes, comes; /* there is DCI of its tensor, to the device and back */
    size_t   refused;     /* in chars: why there is none where it was wanted */
    uint32_t refused_len;
} tg_bundle_row;

typedef struct tg_piece_row {
    int64_t step, piece;
} tg_piece_row;

TG_HLO_TABLE(tg_bundle_rows, tg_bundle_row)
TG_HLO_TABLE(tg_transfer_rows, tg_bundle_transfer)
TG_HLO_TABLE(tg_piece_rows, tg_piece_row)

struct tg_bundle {
    const tg_graph      *graph;
    const tg_graph_plan *plan;
    tg_bundle_params     params;
    tg_bundle_rows       steps;
    tg_piece_rows        kernels;
    tg_transfer_rows     transfers;
    tg_char_rows         chars;
    tg_output_rows       outputs; /* those of the graph, or what nobody reads */
    int64_t              zeros; /* address of a stick of zeros */
};

/* A kernel with room for what it points to. */
typedef struct tg_build {
    tg_kernel        kernel;
    int64_t          ranges[TG_MAX_LOOPS], splits[TG_MAX_LOOPS];
    tg_kernel_tensor tensors[TG_KERNEL_MAX_TENSORS];
    tg_term          terms[TG_MAX_NDIM];
    tg_term          walked[2][2 * TG_MAX_LOOPS + TG_MAX_NDIM]; /* by operands of a convolution */
    tg_kernel_window windows[TG_MAX_NDIM];
} tg_build;

/* bundle_pieces.c: how many kernels a step takes. */
int64_t tg_count_pieces(const tg_bundle *b, int64_t step);

/* bundle_build.c: one of them. TG_ERR_UNSUPPORTED and TG_ERR_UNREPRESENTABLE where there is none. */
tg_status tg_build_kernel(tg_build *out, const tg_bundle *b, int64_t step, int64_t piece, tg_error *err);

/* bundle_pieces.c: copies and concatenations. */
tg_status tg_build_restickify(tg_build *out, const tg_bundle *b, int64_t step, tg_error *err);
tg_status tg_build_fill(tg_build *out, const tg_bundle *b, int64_t step, int64_t piece, tg_error *err);
tg_status tg_build_concatenation(tg_build *out, const tg_bundle *b, int64_t step, int64_t piece, tg_error *err);

/* bundle_build.c: the tensor of a step, as it is touched by an access; false if it is not on the device. */
bool tg_take_tensor(tg_kernel_tensor *out, const tg_bundle *b, int64_t step, const tg_access *access);

/* A copy: identity, or a restickify where the sticks differ. Both tensors are there. */
void tg_choose_copy(tg_build *out);

/* Loops of a kernel that is no node are shared out by size, sticks at sticks. What a restickify pads stays whole. */
void tg_split_copy(tg_build *out, const tg_bundle *b);

/* Can the kernel of a step work from the scratchpad, whatever its tensors' addresses are? *shares: several cores meet
 * in one piece of the result, each with a part of a sum; no core has it then. */
bool tg_step_uses_lx(bool *shares, const tg_graph *graph, const tg_graph_plan *plan,
                     const tg_division_params *division, int64_t step);

/* bundle_functions.c: the device's name of what a pointwise node or a reduction calculates, for tensors of these
 * formats, the result's last. *op is NULL where it has none: why is in the error. */
tg_status tg_find_function(const char **op, const tg_node_info *info, tg_reduction reduction, const tg_format *formats,
                           int32_t nformats, tg_error *err);

/* Can the function be had in this format? */
tg_status tg_check_format(const char *op, tg_format format, tg_error *err);

/* bundle_windows.c: of a node of which loops and tensors are there. */
tg_status tg_build_convolution(tg_build *b, const tg_graph *graph, int64_t node, tg_error *err);

/* bundle_transfers.c: what is carried to the device and back. False without memory. */
bool tg_list_transfers(tg_bundle *b);

/* bundle_place.c: addresses of all tensors. TG_ERR_LIMIT, TG_ERR_OVERFLOW, TG_ERR_NOMEM. */
tg_status tg_bundle_place(tg_bundle *b, tg_error *err);

#endif
