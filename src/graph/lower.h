/* From HLO to nodes. An instruction is a view of some node's result, or makes a node; a tuple is a list of such.
 *
 * A view says which element of a node's host tensor each coordinate is: offset + the sum of coordinate * step. Reading
 * a view needs no copy, as in PyTorch:
 *
 *     a = f16[256,128] parameter      node 0, steps [128,1]
 *     t = f16[128,256] transpose(a)   node 0, steps [1,128]
 *     b = f16[4,128,256] broadcast(t) node 0, steps [0,1,128]
 *
 * A reshape that no steps can say, or that would cut sticks, becomes a clone. */
#ifndef TG_GRAPH_LOWER_H
#define TG_GRAPH_LOWER_H

#include "graph/model.h"

typedef struct tg_node_view {
    int64_t  node;
    tg_dtype dtype;
    int32_t  ndim;
    int64_t  shape[TG_MAX_NDIM], step[TG_MAX_NDIM];
    int64_t  offset;
} tg_node_view;

typedef enum tg_thing_kind { TG_NOTHING = 0, TG_ARRAY, TG_TUPLE } tg_thing_kind;

/* The value of an instruction: a view, or rows [first, first + count) of things. */
typedef struct tg_thing {
    tg_thing_kind kind; /* NOTHING: a token, or what has not been worked out */
    uint32_t      first, count;
} tg_thing;

TG_HLO_TABLE(tg_rows, tg_node_view)
TG_HLO_TABLE(tg_thing_rows, tg_thing)

/* Where a node comes from: the instruction that made it, or TG_HLO_NONE for the copy of a view. */
typedef struct tg_origin {
    int64_t  instruction;
    uint32_t first, count; /* views that are its operands, all of the instruction's; no array: node TG_NODE_NONE */
} tg_origin;

TG_HLO_TABLE(tg_origin_rows, tg_origin)

/* Kept for who wants to calculate what the nodes mean. */
typedef struct tg_trace {
    int64_t        first;   /* node that origin 0 is of */
    tg_origin_rows origins;
    tg_rows        views;
} tg_trace;

/* A node that is being put together: terms and accesses are in the lowering's tables. */
typedef struct tg_draft {
    tg_node   node;
    int64_t   ranges[TG_MAX_LOOPS];
    tg_window windows[TG_MAX_NDIM];
    size_t    first_access, first_term;
} tg_draft;

/* The instruction that says the elements of a node. */
typedef struct tg_constant {
    int64_t node, instruction;
} tg_constant;

TG_HLO_TABLE(tg_constant_rows, tg_constant)

/* An array shape of the text, which many instructions have. */
typedef struct tg_shape_memo {
    bool         read, judged; /* its sizes are known; they fit a tensor, whose steps are known, too */
    tg_node_view view;
} tg_shape_memo;

typedef struct tg_lowering {
    tg_graph            *graph;
    const tg_hlo_module *module;
    tg_rows         views;
    tg_thing_rows        things;
    tg_char_rows         name;     /* of the instruction at hand, with those of the calls around it */
    size_t               prefix;   /* what of it are the calls */
    tg_access_rows       accesses; /* of the draft */
    tg_term_rows         terms;
    tg_constant_rows     constants; /* in the order of nodes */
    tg_shape_memo       *shapes;    /* of each number of a shape */
    int64_t              times;    /* that what is looked at runs */
    int64_t              loop;     /* nodes before this one are there before the loop that is being closed */
    int64_t              budget;   /* tuples and arrays of the root that may still be looked at */
    int64_t              leaves;   /* of tuples, that the instruction may still look at */
    int32_t              depth;
    bool                 told;     /* what went wrong has a place */
    tg_trace            *trace;    /* NULL: nobody wants it */
    tg_error            *err;
} tg_lowering;

/* A computation that is being looked at. */
typedef struct tg_frame {
    int64_t         first; /* its first instruction */
    int64_t         count;
    tg_thing       *things; /* of its instructions */
    const tg_thing *args;
    size_t          nargs;
    bool            entry;
} tg_frame;

/* An instruction, and everything to work it out with. */
typedef struct tg_order {
    tg_lowering       *l;
    tg_frame          *frame;
    int64_t            id;
    tg_hlo_instruction at;
    tg_thing          *out;
    const char        *reason; /* why it is a boundary; NULL: it is not known */
} tg_order;

typedef tg_status tg_lower(tg_order *o);

/* ---- lower.c ---- */

tg_status tg_lower_fail(const tg_order *o, const char *what); /* TG_ERR_UNSUPPORTED, with the instruction's name */
tg_status tg_lower_no_memory(const tg_order *o);

/* One more tuple or array of an operand is looked at, in tuples at this depth. TG_ERR_LIMIT: a few instructions make
 * tuples with very many arrays, (x,x) of (x,x) and so on. */
tg_status tg_lower_look(const tg_order *o, int32_t depth);

/* A boundary, for this reason. */
tg_status tg_lower_refuse(tg_order *o, const char *reason);

/* A text of the library. */
tg_hlo_text tg_text_of(const char *text);

/* "#2" behind the name, for an element of a tuple. */
tg_status tg_lower_name_element(const tg_order *o, uint32_t i);

/* Every array of the instruction's result, in turn; `alone`: there is no other. */
typedef tg_status tg_make_leaf(tg_thing *out, const tg_order *o, const tg_xla_shape *shape, bool alone);
tg_status tg_lower_result(tg_order *o, tg_make_leaf *make);

/* The shape of an array as a view; its steps are those of a dense row-major tensor. */
tg_status tg_lower_view_of_shape(tg_node_view *out, const tg_order *o, const tg_xla_shape *shape);

/* The value of operand k. */
tg_status tg_lower_operand(tg_thing *out, const tg_order *o, int64_t k);
/* The same, which must be an array. */
tg_status tg_lower_view(tg_node_view *out, const tg_order *o, int64_t k);

/* Type and sizes of the shape of this number, which is that of an array. */
tg_status tg_lower_sizes(tg_node_view *out, const tg_order *o, int64_t shape);

/* The array shape of the instruction; its steps are those of a dense row-major tensor. */
tg_status tg_lower_shape(tg_node_view *out, const tg_order *o);

/* Integers of an attribute; none if it is not there. */
tg_status tg_lower_ints(int64_t *out, int32_t *count, const tg_order *o, const char *key);

/* The computation that an attribute names; TG_HLO_NONE if none does. */
int64_t tg_lower_callee(const tg_order *o, const char *key);

/* What a reduction applies; false if that is none of those that are known. */
bool tg_lower_reduction(tg_reduction *out, const tg_order *o);

tg_status tg_lower_put_view(const tg_order *o, const tg_node_view *view);

/* Look at a computation with these arguments. */
tg_status tg_lower_computation(tg_thing *out, tg_lowering *l, int64_t computation, const tg_thing *args, size_t nargs);

/* ---- lower_error.c ---- */

/* An error about an instruction, which may be NULL: who it is, if the message does not begin with that, the shapes that
 * it takes and gives, and the place of its name. */
void tg_lower_tell(tg_error *err, const tg_hlo_module *module, int64_t id);

/* ---- lower_check.c ---- */

/* The text says what is so: of the shapes that it gives operands, and of what the instruction has made. */
tg_status tg_lower_check_operands(const tg_order *o);
tg_status tg_lower_check_result(const tg_order *o);

bool tg_lower_same_sizes(const tg_node_view *a, const tg_node_view *b);
/* XLA lets floats of several precisions go together, and nothing else. */
bool tg_lower_alike(tg_dtype a, tg_dtype b);
bool tg_lower_is_whole(tg_dtype dtype);

/* What is so comes first, then what it has to be; of a result that is what the text says. In turn: `what` has these
 * sizes and exactly this type; a type that is alike; a dimension of the result has the size that is said; operand k is
 * a scalar. */
tg_status tg_lower_expect(const tg_order *o, const char *what, const tg_node_view *is, const tg_node_view *wanted);
tg_status tg_lower_expect_type(const tg_order *o, const char *what, tg_dtype is, tg_dtype wanted);
tg_status tg_lower_expect_size(const tg_order *o, int32_t dim, int64_t said, int64_t is);
tg_status tg_lower_expect_scalar(const tg_order *o, const char *what, int64_t k, tg_dtype dtype);

/* The computation has as many parameters. */
tg_status tg_lower_check_call(const tg_order *o, int64_t computation, size_t nargs);
/* The operands from k on say where something begins in so many dimensions. */
tg_status tg_lower_check_indices(const tg_order *o, int64_t k, int32_t ndim);
/* What is left of a view without these dimensions; false if it does not have them, each once. */
bool tg_lower_reduced(tg_node_view *out, const tg_node_view *view, const int64_t *dims, int32_t ndims);
/* Half of the operands are arrays of the same sizes, the other half scalars to start with. */
tg_status tg_lower_check_starts(const tg_order *o);
/* The instruction has made n arrays, of the types of its first operands. */
tg_status tg_lower_check_results(const tg_order *o, int64_t n);
tg_status tg_lower_check_pointwise(const tg_order *o, const tg_node_view *result);

/* Places of a window along a dimension of this size; false if it is no window, or they are too many to count. */
bool tg_lower_count_windows(int64_t *out, int64_t extent, const tg_hlo_window_dim *window);

/* ---- lower_count.c ---- */

/* Instructions of the entry, and of what it calls as often as that is called; INT64_MAX if there are more.
 * TG_ERR_UNSUPPORTED where a name or the number of a parameter is there twice, or a number is too large, or a named
 * computation is not there. */
tg_status tg_lower_count(int64_t *out, const tg_hlo_module *module, tg_error *err);

/* ---- lower_hints.c ---- */

/* The layout that a tensor comes with or is to have, if the text says one. */
tg_status tg_lower_read_layout(tg_spyre *out, bool *given, const tg_order *o, const tg_host *host);

/* What the user wants of the node that the instruction has made; `before`: nodes that were there before it. */
tg_status tg_lower_take_hints(const tg_order *o, int64_t before);

/* tg_graph_add_hlo, with where the nodes come from; *trace is to be all zero, and its tables are the caller's. */
tg_status tg_graph_trace_hlo(tg_graph *graph, const tg_hlo_module *module, tg_trace *trace, tg_error *err);

/* ---- trace.c: where nodes come from; false without memory ---- */

bool tg_trace_instruction(const tg_order *o); /* all nodes that have no origin yet are its own */
bool tg_trace_copy(const tg_order *o, const tg_node_view *view); /* behind the node */

/* ---- draft.c: nodes ---- */

/* A node whose result has the shape of `result`; its first loops are the dimensions of the result. */
void tg_draft_start(tg_draft *d, const tg_order *o, tg_node_kind kind, const tg_node_view *result);

/* One more loop; its number, or -1 if there are too many. */
int32_t tg_draft_loop(tg_draft *d, int64_t range);

/* An operand whose dimension i is walked by loop[i]; TG_LOOP_NONE for a dimension that stays at 0, TG_LOOP_UNKNOWN for
 * one that the data picks. False without memory. */
enum { TG_LOOP_NONE = -2 };
bool tg_draft_operand(tg_draft *d, const tg_order *o, const tg_node_view *view, const int32_t *loop);

/* The same for a view of the result's shape. */
bool tg_draft_same(tg_draft *d, const tg_order *o, const tg_node_view *view);

/* A window along dimension dim of operand 0, which is this view; it moves with a loop. One more of them, to which more
 * can be told. pre: there are less than TG_MAX_NDIM. */
tg_window *tg_draft_window(tg_draft *d, const tg_hlo_window_dim *window, int32_t loop, const tg_node_view *view,
                           int32_t dim);

/* The result has this shape, and the format of `node`. */
void tg_draft_reshape(tg_draft *d, const tg_order *o, int64_t node, const tg_node_view *result);

/* A view, read by loops of its own: one for each dimension. */
tg_access tg_view_access(tg_term terms[TG_MAX_NDIM], const tg_node_view *view);

/* Elements of a stick of its tensor; 1 of one that is not on the device. */
int64_t tg_stick_length(const tg_node_view *view, const tg_order *o);

/* Operands of the instruction from k on, which are read as the instruction says and not loop by loop: indices, what
 * stands around a tensor, what a search starts with. */
tg_status tg_draft_rest(tg_draft *d, const tg_order *o, int64_t k);

/* Adds the node; *result becomes a view of all of it. */
tg_status tg_draft_finish(tg_node_view *result, tg_draft *d, const tg_order *o);
/* The same, for what is all of the instruction's result. */
tg_status tg_draft_end(const tg_order *o, tg_draft *d);

/* A view as a node of its own: `kind` reads all of it. */
tg_status tg_draft_copy(tg_node_view *view, const tg_order *o, tg_node_kind kind);

/* A truth value has the format of what it was found from. */
void tg_draft_choose_format(tg_draft *d, const tg_order *o, const tg_node_view *operand);

/* ---- views.c ---- */

/* Row-major steps. */
void tg_rows_dense(tg_node_view *view);
/* False if no steps say it; *cuts: it cuts or joins runs that do not end with sticks of so many elements. */
bool tg_rows_reshape(tg_node_view *out, bool *cuts, const tg_node_view *in, int32_t ndim, const int64_t *shape,
                     int64_t stick);

/* Does the layout, if there is one, list each dimension once? */
bool tg_lower_is_layout(const tg_xla_shape *shape);

tg_lower tg_lower_broadcast, tg_lower_transpose, tg_lower_reshape, tg_lower_bitcast, tg_lower_slice, tg_lower_same,
    tg_lower_copy_start, tg_lower_copy_done;

/* Whether d is one of n dimensions. */
static inline bool tg_lower_lists(const int64_t *dims, int32_t n, int64_t d) {
    for (int32_t i = 0; i < n; i++)
        if (dims[i] == d) return true;
    return false;
}

/* ---- lower_ops.c ---- */

tg_lower tg_lower_pointwise, tg_lower_constant, tg_lower_iota, tg_lower_reduce, tg_lower_concatenate, tg_lower_pad,
    tg_lower_dynamic_slice, tg_lower_dynamic_update_slice, tg_lower_boundary;

/* ---- lower_start.c ---- */

/* What a reduction has made, put together with operand k of the instruction, which it starts with: one more node,
 * unless that changes nothing. */
tg_status tg_lower_put_start(tg_node_view *view, const tg_order *o, tg_reduction reduction, int64_t k);

/* Whether operand k changes nothing. */
bool tg_lower_is_neutral(const tg_order *o, tg_reduction reduction, int64_t k);

/* ---- lower_literal.c ---- */

/* Why a text is not the elements of a constant of this shape; NULL: it is, or it leaves them out ("{...}"). */
const char *tg_literal_fault(tg_hlo_text text, const tg_node_view *shape);

/* ---- lower_reach.c ---- */

/* Sets of loops of a view, as bits; the last one stands for none of them in the sticks. */
#define TG_ALL_LOOPS UINT32_MAX
#define TG_NO_LOOPS  (UINT32_C(1) << 31)

/* Dimensions of which more than one place is read. */
uint32_t tg_walked_loops(const tg_node_view *view);

/* Can sticks lie along dimension d of the view, or be brought there? */
bool tg_can_be_stick(const tg_node_view *view, const tg_order *o, int32_t d);

/* Loops that a node which reads this view can have in its sticks; `as_it_is`: it is not to be cut inside of the sticks
 * that it comes with. Of what may be without sticks nothing is known, and all loops are there. */
uint32_t tg_lower_reach(const tg_node_view *view, const tg_order *o, bool as_it_is);

/* The view as a clone with dimension d in its sticks. */
tg_status tg_lower_bring(tg_node_view *view, const tg_order *o, int32_t d);

/* ---- lower_spread.c ---- */

/* Of operands whose dimensions are one node's loops: some become tensors of their own, so that there is a loop outside
 * of `barred` that all can have in their sticks. */
tg_status tg_lower_spread(tg_node_view *views, int64_t n, const tg_order *o, uint32_t barred, bool as_it_is);

/* ---- lower_products.c ---- */

tg_lower tg_lower_dot, tg_lower_convolution;

/* ---- lower_indexed.c ---- */

tg_lower tg_lower_gather, tg_lower_scatter;

/* ---- lower_search.c ---- */

tg_lower tg_lower_sort, tg_lower_topk, tg_lower_reduce_several, tg_lower_reduce_windows, tg_lower_reverse,
    tg_lower_select_and_scatter;

/* ---- lower_control.c ---- */

tg_lower tg_lower_while, tg_lower_conditional, tg_lower_all_gather;

#endif
