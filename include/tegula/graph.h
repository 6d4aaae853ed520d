/* graph.h - operations on tensors, and the Spyre layout that each tensor gets.
 *
 * A graph is a list of nodes in the order in which they run; each node has one result, so the id of a node is also the
 * id of its tensor. A node says what it does as loops and accesses, in host elements. Views (transpose, reshape,
 * broadcast, slice) are no nodes: they change the access of who reads.
 *
 *     c[i,j] = a[j,i] + b[i,j]        loops i < 128, j < 256
 *       operand a: terms i*1 + j*128        operand b, result: i*256 + j*1
 *
 * Planning chooses one layout for every tensor. The device works on sticks of 128 bytes, and the operands of an
 * operation must agree on the loop that runs inside them; where they do not, a tensor is copied into another layout
 * (restickify). The plan has the fewest bytes of such copies, and says what no plan can undercut (lower_bound).
 * docs/plan.md tells the rules.
 *
 * Conventions of tegula.h hold. */
#ifndef TEGULA_GRAPH_H
#define TEGULA_GRAPH_H

#include <tegula/hlo.h>
#include <tegula/tegula.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TG_MAX_LOOPS 32
#define TG_LOOP_UNKNOWN (-1) /* an index that only the data knows */
#define TG_NODE_NONE (-1)

typedef struct tg_graph tg_graph;

/* ---- nodes -------------------------------------------------------------------- */

/* What a node asks of the layouts around it; the whole table is in docs/plan.md. */
typedef enum tg_node_kind {
    TG_NODE_INPUT = 0,   /* comes with its layout */
    TG_NODE_POINTWISE,   /* all operands and the result agree on the loop in the stick */
    TG_NODE_REDUCE,      /* loops that the result does not have are summed up, or the like */
    TG_NODE_MATMUL,      /* x[.., m, k] y[.., k, n]: x has k in the stick, y and the result n */
    TG_NODE_CONVOLUTION, /* in-channel in the stick of operand 0, out-channel in that of 1 and of the result */
    TG_NODE_GATHER,      /* operand 0 is a table, of which the data picks rows */
    TG_NODE_CONCATENATE, /* as pointwise; operands are pieces of the result */
    TG_NODE_CLONE,       /* reads any layout, writes the default one */
    TG_NODE_CONSTANT,    /* any layout that suits its readers, for nothing */
    TG_NODE_DEFAULT,     /* reads any layout; the result has the default one */
    TG_NODE_BOUNDARY,    /* the same, because nothing is known of the operation */
    TG_NODE_SEARCH,      /* looks along loops (no_stick) for the largest, or for an order: those are in no sticks */
    TG_NODE_SCATTER,     /* operand 0 with the rows of operand 2 at places that the data says (operand 1) */
    TG_NODE_CARRY,       /* operand 1 written over operand 0, whose layout it keeps: what a loop carries on */
    TG_NODE_STATISTICS,  /* exx2: sums of x and x * x over loops that the result does not have, for a layer norm */
    TG_NODE_NORMALIZE    /* layernormnorm: x (operand 0) with statistics, along its last dimension */
} tg_node_kind;

TG_API const char *tg_node_kind_name(tg_node_kind kind); /* "pointwise"; NULL if none */
TG_API const char *tg_node_kind_rule(tg_node_kind kind); /* the rule in one sentence; NULL if none */

/* step * (number of the loop) host elements. */
typedef struct tg_term {
    int32_t loop;    /* [0, nloops) or TG_LOOP_UNKNOWN */
    int64_t step;    /* >= 0; 0 is as if the term were not there */
    int64_t modulus; /* the loop counts modulo this; 0: it does not */
    int64_t extent;  /* the number stays below this; 0: the range of the loop. At least 1 for TG_LOOP_UNKNOWN */
} tg_term;

/* Which host element of a tensor is touched: offset + the sum of the terms. */
typedef struct tg_access {
    int64_t        node;   /* whose result is read; not used for the result itself */
    int64_t        offset; /* >= 0 */
    int32_t        nterms;
    const tg_term *terms;
} tg_access;

/* A window along one dimension: one more loop, w < size. Operand 0 is read at place (loop * stride + w * dilation -
 * low) / base_dilation of a dimension of `extent` places `step` apart, operand 1 (of a product) at w * kernel_step.
 * Places that are none count for nothing. So loop and w stand for a term of TG_LOOP_UNKNOWN in both accesses; they take
 * part in no rule of sticks.
 *
 *     3 wide, in steps of 2, one place of padding in front     size 3, stride 2, dilation 1, base_dilation 1, low 1 */
typedef struct tg_window {
    int32_t loop;
    int64_t size, stride, dilation, base_dilation, low; /* stride below 0: it moves backwards */
    int64_t step, extent, kernel_step;
    bool    reversed; /* operand 1 is read at (size - 1 - w) * kernel_step */
} tg_window;

/* How a reduction puts two elements together. */
typedef enum tg_reduction {
    TG_REDUCE_SUM = 0, TG_REDUCE_MAX, TG_REDUCE_MIN, TG_REDUCE_PRODUCT, TG_REDUCE_AND, TG_REDUCE_OR, TG_REDUCE_XOR
} tg_reduction;

/* A loop that is to be in so many slices, or tiles. */
typedef struct tg_split {
    int32_t loop;
    int64_t slices;
} tg_split;

/* A node to be added. Everything is copied. */
typedef struct tg_node {
    tg_node_kind     kind; /* not TG_NODE_INPUT */
    tg_hlo_text      name, opcode; /* for reports; may be empty */
    tg_host          host; /* the result: dense row-major unless its strides say otherwise */
    int32_t          nloops;
    const int64_t   *ranges;
    int32_t          noperands;
    const tg_access *operands;
    tg_access        result;
    uint32_t         no_stick; /* bit l: loop l cannot run inside the sticks of the result */
    int32_t          in_channel, out_channel; /* loops, of a convolution */
    tg_reduction     reduction; /* of TG_NODE_REDUCE */
    uint32_t         no_split; /* bit l: loop l is not shared out among cores */
    bool             has_format;
    tg_format        format; /* of the result on the device, if has_format; else that of its dtype */
    tg_hlo_text      variant; /* what the opcode leaves open: "GT" of a compare; may be empty */
    int64_t          times;  /* how often copies of its result are made, if any: in a loop of 6 rounds 6. 0: once */
    tg_hlo_text      reason; /* of a boundary: why, for reports */
    int32_t          npins;
    const tg_split  *pins;   /* loops that are in just so many slices, or in one where there are fewer cores */
    int32_t          nwishes;
    const tg_split  *wishes; /* splits that the user wants; tg_division_params has others */
    int32_t          ntiles;
    const tg_split  *tiles;  /* the same of tiles, which are done one after the other */
    const tg_spyre  *layout; /* that the user wants for the result; NULL: any */
    int32_t          nwindows; /* at most TG_MAX_NDIM */
    const tg_window *windows;
} tg_node;

TG_API tg_status tg_graph_create(tg_graph **out, tg_error *err);
TG_API void      tg_graph_destroy(tg_graph **graph); /* *graph may be NULL */

/* Another graph with the same nodes, outputs and loops. */
TG_API tg_status tg_graph_copy(tg_graph **out, const tg_graph *graph, tg_error *err);

/* A tensor that is there already. layout == NULL: the default layout of its host tensor. */
TG_API tg_status tg_graph_add_input(int64_t *id, tg_graph *graph, tg_hlo_text name, const tg_host *host,
                                    const tg_spyre *layout, tg_error *err);

/* TG_ERR_ARGUMENT for operands that do not exist, loops, terms and windows out of range, a table that is missing. An
 * access must stay inside its tensor, and windows within it. A tensor whose dtype has no device format makes its node,
 * and those that read it, boundaries. On failure the graph is as it was. */
TG_API tg_status tg_graph_add(int64_t *id, tg_graph *graph, const tg_node *node, tg_error *err);

/* What the graph is there for. */
typedef struct tg_output {
    int64_t node;
    tg_host view; /* the host tensor that comes out: strides and offset count elements of the node's host tensor */
} tg_output;

/* The result of a node is wanted outside: it is there when everything has run. view == NULL: all of it, as it is.
 * TG_ERR_ARGUMENT for nodes that do not exist, and views that leave the tensor. */
TG_API tg_status tg_graph_add_output(tg_graph *graph, int64_t node, const tg_host *view, tg_error *err);

/* Nodes [first, end) run in rounds, one after the other. What a round hands on to the next one are TG_NODE_CARRY among
 * them, written over their operand 0, which is made before the loop. */
typedef struct tg_loop {
    int64_t first, end;
    int64_t test; /* a round that makes this node false ends there, and is the last one; -1: not known */
} tg_loop;

/* TG_ERR_ARGUMENT for nodes that do not exist, no nodes at all, loops that are neither apart nor one in the other. */
TG_API tg_status tg_graph_add_loop(tg_graph *graph, const tg_loop *loop, tg_error *err);

/* The nodes of the module's entry computation: calls, fusions and the branches of conditionals inlined, the body of a
 * loop once, views folded into accesses, operations that are not known as boundaries. Parameters are inputs: the host
 * strides are those of their XLA layout, the device layout is the default one, or what
 * frontend_attributes={spyre_layout="spyre dim_order=[1,0]"} says (notation of docs/notation.md, behind the shape). The
 * same is wanted of the result of another instruction, spyre_splits="p0=8,p1=4" of how its loops are split, and
 * spyre_tiles="p0=2" of the tiles that its work is done in.
 * TG_ERR_UNSUPPORTED names what cannot be told: shapes without a size, operands that nothing defines. An
 * error about an instruction names it and its shapes, and error.pos is its place in the text. The arrays of the root
 * are outputs. On failure nodes may have been added. */
TG_API tg_status tg_graph_add_hlo(tg_graph *graph, const tg_hlo_module *module, tg_error *err);

/* Nodes for which the device has no kernel in their format (tg_has_kernel, tg_cast_kernel of rules.h) become
 * boundaries, with that reason, and plans will copy nothing but tensors in SEN169_FP16, as the device does. Without it
 * a plan tells what layouts alone would need. Call it when all nodes are there. */
TG_API tg_status tg_graph_keep_to_device(tg_graph *graph, tg_error *err);

/* Give up one node: it becomes a boundary. TG_ERR_ARGUMENT for an input. */
TG_API tg_status tg_graph_make_boundary(tg_graph *graph, int64_t node, tg_hlo_text reason, tg_error *err);

typedef struct tg_node_info {
    tg_node_kind kind;
    tg_hlo_text  name, opcode;
    tg_host      host;
    int32_t      nloops, noperands;
    bool         on_device; /* its dtype has a device format */
    int64_t      ranges[TG_MAX_LOOPS];
    tg_hlo_text  variant;
    int64_t      times;     /* at least 1 */
    tg_hlo_text  reason;    /* of a boundary; empty if none was given */
    int32_t      nwindows;
    const tg_window *windows; /* live as long as the texts do */
} tg_node_info;

TG_API int64_t tg_graph_count(const tg_graph *graph);
/* pre: 0 <= id < count. The texts live as long as the graph does and gets no new nodes. */
TG_API tg_node_info tg_graph_get(const tg_graph *graph, int64_t id);
/* The first node of this name, which may begin with HLO's %; else the one node whose name ends with it, behind a '/':
 * "add.1" for "fusion.3/add.1". TG_NODE_NONE if there is none, or several. */
TG_API int64_t tg_graph_find(const tg_graph *graph, tg_hlo_text name);
/* Outputs in the order in which they were added; pre: 0 <= i < count. */
TG_API int64_t   tg_graph_output_count(const tg_graph *graph);
TG_API tg_output tg_graph_output(const tg_graph *graph, int64_t i);
/* Loops, outer ones first, then by their first node; pre: 0 <= i < count. */
TG_API int64_t tg_graph_loop_count(const tg_graph *graph);
TG_API tg_loop tg_graph_loop(const tg_graph *graph, int64_t i);
/* The node that operand k reads. */
TG_API int64_t tg_graph_operand(const tg_graph *graph, int64_t id, int32_t k);
/* How operand k is read, or for k == -1 the result written. The terms live as long as the texts do; those that never
 * move are not among them. */
TG_API tg_access tg_graph_access(const tg_graph *graph, int64_t id, int32_t k);

/* ---- coordinates --------------------------------------------------------------- */

/* The coordinate of one dimension under an access, as text in the loops p0, p1, ...:
 *     size [256,64,2,64] stride [4096,64,1048576,1], 1048576*p0 + 128*p1 + 4096*p2 + p3: dimension 1 is
 *     "2*p1 + floor(p3/64)"
 * stride has -1 or 0 for dimensions that no element is found by: these, and those of size 1, are at "0". Terms larger
 * than a dimension run on in the next larger one. TG_ERR_ARGUMENT for what runs backwards.
 * Source: torch-spyre, compute_coordinates. */
TG_API tg_status tg_coordinate_format(char *buf, size_t cap, size_t *need, int32_t ndim, const int64_t *size,
                                      const int64_t *stride, int32_t dim, int32_t nloops, const int64_t *ranges,
                                      const tg_access *access, tg_error *err);

/* The layout of the same host tensor with the stick on host dimension dim: in *from, the dimension in the sticks and
 * dim change places. TG_ERR_UNREPRESENTABLE where from is sparse, or one of the two has no device dimension of
 * its own. Source: torch-spyre, restickify. */
TG_API tg_status tg_spyre_restickify(tg_spyre *out, const tg_spyre *from, const tg_host *host, int32_t dim,
                                     tg_error *err);

/* ---- planning ------------------------------------------------------------------- */

typedef enum tg_model {
    TG_MODEL_TEGULA = 0,   /* a copy serves all who need it; priced in bytes of the source's storage */
    TG_MODEL_TORCH_SPYRE   /* each reader has its own copy; priced in elements of the host tensor */
} tg_model;

typedef enum tg_method {
    TG_METHOD_EXACT = 0, /* proves its plan optimal, or says how far it may be off; post: it costs no more than those
                            of the other two */
    TG_METHOD_GREEDY,    /* torch-spyre's: node by node, the cheapest at that moment */
    TG_METHOD_BEAM       /* torch-spyre's: the best `width` partial plans go on */
} tg_method;

typedef struct tg_graph_params { /* zero-initialise for defaults */
    tg_model  model;
    tg_method method;
    bool      keep_unit_dims;    /* dimensions of size 1 keep a device dimension, as torch-spyre does today */
    bool      relay_reductions;  /* operands of a reduction may be restickified too */
    int32_t   width;             /* of the beam; 0: 200 */
    int64_t   max_branches;      /* of the search where a graph is too wide to be solved exactly; 0: as many as about
                                    10^9 costs that are read allow, some seconds */
} tg_graph_params;

typedef struct tg_graph_plan tg_graph_plan;

typedef struct tg_plan_summary {
    bool    feasible, optimal;
    int64_t cost;        /* of the restickifies, in the unit of the model */
    int64_t lower_bound; /* no plan of this graph costs less; post: lower_bound == cost if optimal */
    int64_t
        restickify_elements; /* of the copied tensors: of their storage (tegula), of their host size (torch-spyre) */
    int64_t restickify_bytes;    /* of the copied tensors' storage; both as often as they are copied */
    int64_t nrestickifies;
    int64_t nboundaries;
    int64_t npaddings;
    int64_t width;    /* tensors that had to be decided together, at most */
    int64_t branches; /* of the search; 0: not needed */
} tg_plan_summary;

typedef struct tg_restickify {
    int64_t  producer;    /* the node whose result is copied */
    tg_spyre from, to;
    int32_t  stick_dim;   /* host dimension in the sticks of the copy */
    int64_t  elements, bytes; /* of one copy */
    int64_t  first_reader, nreaders;
    int64_t  times;           /* it is made: more than once in a loop */
} tg_restickify;

typedef struct tg_reader {
    int64_t node;
    int32_t operand;
} tg_reader;

/* How a node's layouts are chosen. TG_ERR_ARGUMENT for a wanted layout that the rule of its node does not give; the
 * message names node, layout and rule. TG_OK also where no plan exists: summary.feasible is then false, and the
 * conflict says why. TG_ERR_OVERFLOW where the cost does not fit; TG_ERR_NOMEM. */
TG_API tg_status tg_graph_plan_create(tg_graph_plan **out, const tg_graph *graph, const tg_graph_params *params,
                                      tg_error *err);
TG_API void      tg_graph_plan_destroy(tg_graph_plan **plan); /* *plan may be NULL */

TG_API tg_plan_summary tg_graph_plan_summary(const tg_graph_plan *plan);
TG_API tg_graph_params tg_graph_plan_params(const tg_graph_plan *plan); /* defaults filled in */

/* The layout of a node's result; false if it has none: not on the device, or the plan is not feasible. */
TG_API bool tg_graph_plan_layout(tg_spyre *out, const tg_graph_plan *plan, int64_t node);

/* The loop in the sticks of the node's work; -1 if none is (also for inputs and boundaries). */
TG_API int32_t tg_graph_plan_stick(const tg_graph_plan *plan, int64_t node);

/* pre: 0 <= i < nrestickifies; 0 <= r < nreaders + first_reader. */
TG_API tg_restickify tg_graph_plan_restickify(const tg_graph_plan *plan, int64_t i);
TG_API tg_reader     tg_graph_plan_reader(const tg_graph_plan *plan, int64_t r);

/* How elements stand in the sticks of each node's result; out and faults have room for all nodes. pre: the plan is
 * feasible. faults: the nodes, in order, whose operands do not go together; what they make is then taken as if the host
 * did, as it does after tg_graph_make_boundary and another plan. */
TG_API tg_status tg_graph_plan_arrangements(tg_arrangement *out, int64_t *faults, int64_t *nfaults,
                                            const tg_graph *graph, const tg_graph_plan *plan, tg_error *err);

/* tg_graph_keep_to_device, and a plan of that, until all operands go together: nodes where they do not become
 * boundaries, and the graph is planned again. On failure nodes may have become boundaries. arrangements has room for
 * all nodes, and is written where the plan is feasible. */
TG_API tg_status tg_graph_plan_for_device(tg_graph_plan **out, tg_arrangement *arrangements, tg_graph *graph,
                                          const tg_graph_params *params, tg_error *err);

/* ---- padding -------------------------------------------------------------------- */

typedef enum tg_pad_value { TG_PAD_ZERO = 0, TG_PAD_ONE, TG_PAD_LOWEST, TG_PAD_HIGHEST } tg_pad_value;

TG_API const char *tg_pad_value_name(tg_pad_value value); /* "0", "1", "-inf", "+inf"; NULL if none */

/* What has to be behind the end of a dimension, because somebody would see it. */
typedef struct tg_plan_padding {
    bool         mask;          /* the reader masks it; else the tensor is filled: a copy of it goes on that far */
    int64_t      tensor;        /* the node whose result it is */
    int32_t      dim;           /* of its host tensor */
    int64_t      valid, padded; /* elements; padded is whole sticks */
    tg_pad_value value;
    int64_t      node;          /* the first reader */
    int32_t      operand;
    int64_t      nreaders;
} tg_plan_padding;

/* pre: 0 <= i < summary.npaddings. */
TG_API tg_plan_padding tg_graph_plan_padding(const tg_graph_plan *plan, int64_t i);

/* ---- the program ----------------------------------------------------------------- */

typedef enum tg_step_kind {
    TG_STEP_NODE = 0,   /* the node itself; inputs and constants are steps that do nothing */
    TG_STEP_RESTICKIFY, /* a copy into another layout */
    TG_STEP_FILL        /* a copy with what has to be behind the end of a dimension */
} tg_step_kind;

TG_API const char *tg_step_kind_name(tg_step_kind kind); /* "restickify"; NULL if none */

/* The plan as it runs: the nodes in their order, each copy directly before the node that reads it first. A step makes
 * one tensor, whose number is that of the step, and reads those of earlier steps. */
typedef struct tg_plan_step {
    tg_step_kind kind;
    int64_t      index;     /* of the node, the restickify, or the padding */
    int64_t      node;      /* whose result the step makes, or a copy of it */
    int32_t      noperands; /* those of the node; 1 of a copy */
    bool         on_device;
    tg_spyre     layout;    /* of the tensor, if on_device; a fill has more rows than its host tensor */
    int64_t      bytes;     /* of its storage; 0 if it is not on the device */
} tg_plan_step;

/* pre: the plan is feasible; 0 <= i < count; 0 <= k < noperands. */
TG_API int64_t      tg_graph_plan_step_count(const tg_graph_plan *plan);
TG_API tg_plan_step tg_graph_plan_step(const tg_graph_plan *plan, int64_t i);
/* The step whose tensor operand k reads; post: it is less than i. */
TG_API int64_t tg_graph_plan_step_operand(const tg_graph_plan *plan, int64_t i, int32_t k);
/* The step of a node. */
TG_API int64_t tg_graph_plan_node_step(const tg_graph_plan *plan, int64_t node);

/* ---- work division --------------------------------------------------------------- */

#define TG_MAX_CORES 32
#define TG_MAX_SPAN_BYTES (65535 * INT64_C(4096)) /* that a core reaches in one tensor */

#define TG_MAX_SPAN_BYTES_JUNE INT64_C(268435456) /* the same before August 2026 */

/* How torch-spyre estimates what a product costs: since August 2026, and before. */
typedef enum tg_cost_formula { TG_COST_AUGUST = 0, TG_COST_JUNE } tg_cost_formula;

typedef struct tg_division_params { /* zero-initialise for defaults */
    int32_t         cores;          /* 1 to TG_MAX_CORES; 0: all */
    int64_t         max_span_bytes; /* 0: TG_MAX_SPAN_BYTES */
    tg_cost_formula formula;
    int32_t         nsplits;
    const tg_split *splits;         /* wishes, in place of those of the node; loops without one are left to the rules */
    int32_t         ntiles;
    const tg_split *tiles;          /* the same of tiles */
} tg_division_params;

typedef struct tg_division {
    int32_t nloops;
    int64_t
        splits[TG_MAX_LOOPS]; /* slices of each loop; their product is `cores`. A loop in sticks is split at sticks */
    int64_t cores;                /* at work */
    bool    in_span;              /* false: some tensor is too long for a core, however a wanted tile of it is split */
    int64_t span_bytes;           /* the longest that a core reaches in a tensor */
    bool    tiled;                /* the work is done in tiles, one after the other: as is wanted, or as nothing is too
                                   * long then */
    int64_t tiles[TG_MAX_LOOPS];  /* of each loop; the splits are then those of a tile */
} tg_division;

/* How the loops of a node are shared out. pre: the plan is feasible. Inputs and boundaries are not split.
 * TG_ERR_ARGUMENT for splits and tiles that are wanted or pinned and cannot be: the message names the loop, the numbers
 * and the rule. */
TG_API tg_status tg_graph_plan_divide(tg_division *out, const tg_graph *graph, const tg_graph_plan *plan, int64_t node,
                                      const tg_division_params *params, tg_error *err);

/* ---- a second opinion ---------------------------------------------------------------- */

/* Judge a feasible plan by the rules alone: every operand, as it is read, stick-compatible with the others and with the
 * result. *ok is false with the first fault in *why (snprintf rule; may be NULL if cap is 0). Knows nothing of how
 * plans are found. */
TG_API tg_status tg_graph_plan_verify(bool *ok, char *why, size_t cap, const tg_graph *graph,
                                      const tg_graph_plan *plan, tg_error *err);

/* ---- why there is no plan --------------------------------------------------------- */

/* pre of all: the plan is not feasible. The nodes of a conflict are as few as possible: without any one of them the
 * others could agree. They are listed in the order in which they run. */
TG_API int64_t tg_graph_plan_conflict_count(const tg_graph_plan *plan);
TG_API int64_t tg_graph_plan_conflict(const tg_graph_plan *plan, int64_t i);

/* Candidate layouts of a node's result. */
TG_API int64_t  tg_graph_plan_candidate_count(const tg_graph_plan *plan, int64_t node);
TG_API tg_spyre tg_graph_plan_candidate(const tg_graph_plan *plan, int64_t node, int64_t i);

/* What keeps operand k of the node from working with the stick on the given loop (-1: on none) while its producer has
 * candidate i: the rule that fails, in words; empty if nothing does. A restickify in between is no obstacle. */
TG_API size_t tg_graph_plan_obstacle(char *buf, size_t cap, const tg_graph_plan *plan, const tg_graph *graph,
                                     int64_t node, int32_t k, int64_t i, int32_t loop);

/* The loops that the node may have in its sticks, -1 for none; nmodes of them are written, at most TG_MAX_LOOPS + 1. */
TG_API int32_t tg_graph_plan_modes(int32_t *loops, const tg_graph_plan *plan, int64_t node);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_GRAPH_H */
