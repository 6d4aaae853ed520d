/* graph_ops.h - nodes of a graph from shapes: the loops and accesses of graph.h, written down by the library.
 *
 * An operand is a node and a view of its tensor, as PyTorch has views: a transposed operand is no operation.
 *
 *     scores[b,i,j] = sum over d of q[b,i,d] * k[b,j,d]      tg_graph_add_matmul of q and of k seen as ".mT"
 *       loops b, i, j, d
 *
 * In all of these, *node says what graph.h has in it: name, opcode, format, no_stick, no_split and the dtype in host.
 * Its loops, ranges, operands and result are not read. host.ndim == -1: the result is dense, and its shape follows
 * from the operands; else host is the result, whose strides may be any, and its shape must be the one that follows.
 * Without has_format a result of TG_PRED has the format of its first operand.
 * TG_ERR_ARGUMENT for shapes that do not go together, views that leave their tensor or run backwards; on failure the
 * graph is as it was. Conventions of tegula.h hold. */
#ifndef TEGULA_GRAPH_OPS_H
#define TEGULA_GRAPH_OPS_H

#include <tegula/graph.h>
#include <tegula/view.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_operand {
    int64_t node;
    tg_view view; /* strides and offset count host elements, from the first one of the node's tensor on */
} tg_operand;

/* All of a node's result as it is. pre: the node exists. */
TG_API tg_operand tg_graph_whole(const tg_graph *graph, int64_t node);

/* Element by element: loops are the dimensions of the result. Operands are broadcast as NumPy does; the result may be
 * larger than they are together. node->kind is TG_NODE_POINTWISE, _CLONE, _CONSTANT, _DEFAULT or _BOUNDARY; without
 * operands host must be given. */
TG_API tg_status tg_graph_add_pointwise(int64_t *id, tg_graph *graph, const tg_node *node, int32_t noperands,
                                        const tg_operand *operands, tg_error *err);

/* node->reduction over the dimensions dims of the operand, none of them twice; keep_dims leaves them with size 1.
 * Loops are the dimensions of the result, then those that are reduced. */
TG_API tg_status tg_graph_add_reduce(int64_t *id, tg_graph *graph, const tg_node *node, const tg_operand *operand,
                                     int32_t ndims, const int32_t *dims, bool keep_dims, tg_error *err);

/* x[..., m, k] y[..., k, n], as NumPy's matmul: what stands before is broadcast, and x may be [k], y may be [k]. Loops
 * are the dimensions of the result, then k. */
TG_API tg_status tg_graph_add_matmul(int64_t *id, tg_graph *graph, const tg_node *node, const tg_operand *x,
                                     const tg_operand *y, tg_error *err);

/* One operand behind the other along dimension dim. Where one begins within a stick, dim cannot be in the sticks; where
 * nothing else can, the node is a boundary. */
TG_API tg_status tg_graph_add_concatenate(int64_t *id, tg_graph *graph, const tg_node *node, int32_t noperands,
                                          const tg_operand *operands, int32_t dim, tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_GRAPH_OPS_H */
