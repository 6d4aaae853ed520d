/* sim.h - the Spyre device, simulated: runs the kernels of a planned graph, and says how far the numbers are off.
 *
 * A graph says loops and accesses; a program says which function each node calculates. A simulation keeps every tensor
 * in the layout and the format that the plan gives it, moves them with the movers of tegula.h, and works on sticks as
 * the device does: lane by lane, padding included. Memory that nobody wrote is poisoned: NaN, or an integer that no
 * one expects. So a plan that forgets a copy, a fill or a mask gives wrong numbers, and loudly.
 *
 *     tg_program_create(&program, &err);
 *     tg_program_add_hlo(program, graph, module, &err);        nodes, and what they calculate
 *     tg_graph_plan_create(&plan, graph, &params, &err);
 *     tg_sim_create(&sim, graph, plan, program, NULL, &err);
 *     tg_sim_write(sim, input, elements, &err);                for every input
 *     tg_sim_run(sim, &err);
 *     tg_sim_read(sim, 0, result, &err);                       output 0 of the graph
 *     tg_sim_check(&difference, sim, 0, &err);                 against the same in float64, without any layout
 *
 * What the device is taken to do: docs/plan.md, "Running a plan". Conventions of tegula.h hold. */
#ifndef TEGULA_SIM_H
#define TEGULA_SIM_H

#include <tegula/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what a node calculates ------------------------------------------------------------ */

/* Append-only. Comparisons give pred. On pred, and, or, xor and not are logical. */
typedef enum tg_op {
    TG_OP_NONE = 0, /* not told: a simulation refuses the node, with its name */
    TG_OP_INPUT, TG_OP_CONSTANT, TG_OP_IOTA,
    TG_OP_COPY,     /* operand 0, converted to the type of the result */
    TG_OP_ABS, TG_OP_ACOS, TG_OP_ACOSH, TG_OP_ASIN, TG_OP_ASINH, TG_OP_ATAN, TG_OP_ATANH, TG_OP_CBRT, TG_OP_CEIL,
    TG_OP_COS, TG_OP_COSH, TG_OP_ERF, TG_OP_EXP, TG_OP_EXPM1, TG_OP_FLOOR, TG_OP_IS_FINITE, TG_OP_LOG, TG_OP_LOG1P,
    TG_OP_LOGISTIC, TG_OP_NEGATE, TG_OP_NOT, TG_OP_ROUND_AWAY, TG_OP_ROUND_EVEN, TG_OP_RSQRT, TG_OP_SIGN, TG_OP_SIN,
    TG_OP_SINH, TG_OP_SQRT, TG_OP_TAN, TG_OP_TANH, TG_OP_RELU, TG_OP_RECIPROCAL,
    TG_OP_ADD, TG_OP_AND, TG_OP_ATAN2, TG_OP_DIVIDE, TG_OP_MAXIMUM, TG_OP_MINIMUM, TG_OP_MULTIPLY, TG_OP_OR,
    TG_OP_POWER, TG_OP_REMAINDER, TG_OP_SHIFT_LEFT, TG_OP_SHIFT_RIGHT, TG_OP_SHIFT_RIGHT_LOGICAL, TG_OP_SUBTRACT,
    TG_OP_XOR, TG_OP_EQ, TG_OP_NE, TG_OP_LT, TG_OP_LE, TG_OP_GT, TG_OP_GE,
    TG_OP_SELECT,   /* operand 0 ? operand 1 : operand 2 */
    TG_OP_CLAMP,    /* operand 0 <= operand 1 <= operand 2 */
    TG_OP_REDUCE,   /* operand 0, over the loops that the result does not have, and windows, from what is neutral on */
    TG_OP_PRODUCT,  /* operand 0 * operand 1, summed up over such loops */
    TG_OP_PAD,      /* operand 0 where the access of the result goes, `start` elsewhere */
    TG_OP_PIECES,   /* the last operand that has an element there: see tg_piece. Those behind all pieces do not count */
    TG_OP_FORMULA   /* several that work element by element, with numbers: see tg_formula_step */
} tg_op;

/* "add"; NULL if none. */
TG_API const char *tg_op_name(tg_op op);
/* Operands of an operation that works element by element; -1 for the others. */
TG_API int32_t     tg_op_arity(tg_op op);

#define TG_MAX_STEPS 32
#define TG_NUMBER (-1)

/* A step of a formula: an operation that works element by element, between results that are not rounded. The values
 * of a formula are numbered: first what it begins with, then the results of its steps; the last one is the result.
 * TG_OP_FORMULA begins with the operands of the node, every other operation with its own result, as value 0.
 *
 *     mean of 7: TG_OP_REDUCE, then {TG_OP_DIVIDE, {0, TG_NUMBER}, {0, 7}}
 *     a * 2 + b: TG_OP_FORMULA, {TG_OP_MULTIPLY, {0, TG_NUMBER}, {0, 2}}, {TG_OP_ADD, {2, 1}} */
typedef struct tg_formula_step {
    tg_op   op;
    int32_t from[3];   /* values before this one, or TG_NUMBER */
    double  number[3]; /* where there is none. Infinity is the largest number where an operand has no infinity */
} tg_formula_step;

/* What becomes of a number that is no place. */
typedef enum tg_index_rule {
    TG_INDEX_CLAMP = 0, /* the nearest place */
    TG_INDEX_STRICT,    /* an error */
    TG_INDEX_WRAP       /* one below 0 counts from the end; else an error */
} tg_index_rule;

/* A number that the data says: an element of a tensor of integers. In [0, limit], times `step`, it is added to where
 * operand `operand` is read. It stands for the terms of TG_LOOP_UNKNOWN, which are passed over. */
typedef struct tg_index {
    int32_t       operand;
    int64_t       step, limit;
    tg_access     from; /* in the loops of the node */
    tg_index_rule rule;
} tg_index;

/* Where operand k of TG_OP_PIECES lies in the result: loop l goes from `first` to first + size there, and the operand
 * is read at loop - first. has_from: first is an element of the data, clamped to [0, range - size]. */
typedef struct tg_piece {
    int32_t   operand, loop;
    int64_t   first, size;
    bool      has_from;
    tg_access from; /* one integer */
} tg_piece;

typedef struct tg_compute { /* zero-initialise what is not needed. Everything is copied */
    tg_op            op;
    const void      *data;     /* TG_OP_CONSTANT: the elements, dense row-major, as their dtype has them on the host */
    size_t           nbytes;   /* of data; those of one element: all have it */
    int32_t          loop;     /* TG_OP_IOTA: the loop that counts */
    tg_reduction     reduction; /* of TG_OP_REDUCE */
    bool             has_start;
    tg_access start; /* of TG_OP_PAD: the element that it writes */
    int32_t          nindices, npieces;
    const tg_index  *indices;
    const tg_piece  *pieces;
    int32_t                nsteps; /* at most TG_MAX_STEPS */
    const tg_formula_step *steps;
    tg_dtype               dtype; /* that is calculated in; TG_INVALID: that of operand 0, or of 1 if it is a select */
} tg_compute;

/* ---- programs ---------------------------------------------------------------------------- */

typedef struct tg_program tg_program;

TG_API tg_status tg_program_create(tg_program **out, tg_error *err);
TG_API void      tg_program_destroy(tg_program **program); /* *program may be NULL */

/* Say what a node calculates; the last word counts. Inputs need none. That it suits the node is seen by tg_sim_create.
 * TG_ERR_ARGUMENT for an operation that is none, counts and ids below 0. */
TG_API tg_status tg_program_set(tg_program *program, int64_t node, const tg_compute *compute, tg_error *err);

/* The inputs in their order, which need not be that of the nodes. */
TG_API tg_status tg_program_add_input(tg_program *program, int64_t node, tg_error *err);
TG_API int64_t   tg_program_ninputs(const tg_program *program);
TG_API int64_t   tg_program_input(const tg_program *program, int64_t i); /* pre: 0 <= i < ninputs */

/* tg_graph_add_hlo, with everything that the nodes calculate; parameters are inputs in the order of their
 * numbers. What no tg_op says stays TG_OP_NONE. On failure nodes may have been added. */
TG_API tg_status tg_program_add_hlo(tg_program *program, tg_graph *graph, const tg_hlo_module *module, tg_error *err);

/* ---- simulations --------------------------------------------------------------------------- */

typedef struct tg_sim tg_sim;

typedef struct tg_sim_params { /* zero-initialise for defaults; NULL is the same */
    tg_division_params division;
    const tg_division *divisions; /* of every node, instead of what tg_graph_plan_divide says: splits and tiles (0: 1);
                                   * kept */
    uint64_t           seed;      /* of the order in which the slices of a node run: no result depends on it */
    int64_t            max_bytes; /* of memory for tensors; 0: 8 GiB */
    bool               in_parts;  /* for tg_sim_run_part, and nothing else: tensors have no memory meanwhile */
    int64_t            nleft_out; /* paddings of the plan that are not made, to see that somebody would notice */
    const int64_t     *left_out;
} tg_sim_params;

/* graph, plan and program are kept, and are not to change. Everything is checked before anything runs: TG_ERR_ARGUMENT
 * for a plan that is not feasible, accesses outside of their tensors, computations that do not suit their node;
 * TG_ERR_UNSUPPORTED names a node that nothing calculates; TG_ERR_LIMIT for memory. */
TG_API tg_status tg_sim_create(tg_sim **out, const tg_graph *graph, const tg_graph_plan *plan,
                               const tg_program *program, const tg_sim_params *params, tg_error *err);
TG_API void      tg_sim_destroy(tg_sim **sim); /* *sim may be NULL */

/* The elements of an input, as its host tensor has them: data points at the element of offset 0. */
TG_API tg_status tg_sim_write(tg_sim *sim, int64_t node, const void *data, tg_error *err);

/* Writes all inputs, in the order of the program if it lists them: numbers that are drawn at random, the same for the
 * same seed. Floats are such that products have about the size of what is multiplied; integers are 0 to 3. */
TG_API tg_status tg_sim_draw(tg_sim *sim, uint64_t seed, tg_error *err);

/* Bytes that tg_sim_write reads. pre: 0 <= node < count. */
TG_API int64_t tg_sim_nbytes(const tg_sim *sim, int64_t node);

/* Runs everything from the inputs on; again, if it was run before. TG_ERR_ARGUMENT if an input was not written;
 * TG_ERR_LIMIT for a loop that does not end within 65536 rounds, TG_ERR_UNSUPPORTED for one whose test is no scalar. */
TG_API tg_status tg_sim_run(tg_sim *sim, tg_error *err);

/* ---- parts --------------------------------------------------------------------------------- */

/* Memory of the caller's for the result of a node or a restickify, as long as its layout says, while a part runs. */
typedef struct tg_sim_lent {
    int64_t index;   /* of the node, or of the restickify */
    bool    copy;    /* it is for a restickify */
    bool    made;    /* what it is for is there, and read; else it is written, if the part has the node or a reader */
    bool    bare;    /* made: what is behind the ends of dimensions is poison, whatever it is */
    bool    settles; /* made: the one code of a format for infinity and NaN is its largest number, with its sign */
    void   *storage;
} tg_sim_lent;

/* Whether a part may have this node: TG_OK, or why not. pre: in_parts; 0 <= node < count. */
TG_API tg_status tg_sim_can_run(const tg_sim *sim, int64_t node, tg_error *err);

/* Runs these nodes, which follow the order of the graph, with the copies and fills that they read. What they read of
 * others is lent; what is not lent is forgotten. One part at a time. TG_ERR_ARGUMENT for inputs, nodes that
 * tg_sim_can_run refuses, operands that nobody has made, indices that are no places; lent results are undefined then.
 * pre: in_parts. */
TG_API tg_status tg_sim_run_part(tg_sim *sim, int64_t nnodes, const int64_t *nodes, int64_t nlent,
                                 const tg_sim_lent *lent, tg_error *err);

/* ---- results ------------------------------------------------------------------------------- */

/* Output i of the graph, dense row-major, elements as its dtype has them on the host. pre: tg_sim_run was TG_OK. */
TG_API tg_status tg_sim_read(tg_sim *sim, int64_t i, void *data, tg_error *err);
/* All elements of a node's result, as its host tensor has them; those between its strides are left as they are.
 * pre: tg_sim_run was TG_OK. */
TG_API tg_status tg_sim_read_node(tg_sim *sim, int64_t node, void *data, tg_error *err);
/* What the plan keeps of a node: its storage, and how long it is. NULL if it is not on the device. */
TG_API const void *tg_sim_storage(const tg_sim *sim, int64_t node, int64_t *nbytes);

typedef struct tg_sim_difference {
    int64_t elements;
    int64_t lost;     /* elements that are finite by definition and not so on the device */
    double  largest;  /* of |device - definition|, lost ones left out */
    double  scale;    /* the largest |definition| that is finite */
    double  mean_square, mean_error_square; /* of definition and difference, over all finite elements */
} tg_sim_difference;

/* The root of the mean square of the error, as a share of that of the definition; of zeros 0 or 1. */
TG_API double tg_sim_average_error(const tg_sim_difference *difference);

/* What a plan that is right gives, whatever rounds: no number is lost, and the average error is a sixteenth at most, or
 * the largest one below what formats of 16 bits have (2^-24). */
TG_API bool tg_sim_is_right(const tg_sim_difference *difference);

/* Output i against the definition: every node calculated in float64 (integers: int64) on host elements, from the
 * inputs as they were written, with loops and accesses alone. pre: tg_sim_run was TG_OK. */
TG_API tg_status tg_sim_check(tg_sim_difference *out, tg_sim *sim, int64_t i, tg_error *err);
TG_API tg_status tg_sim_check_node(tg_sim_difference *out, tg_sim *sim, int64_t node, tg_error *err);

#ifdef __cplusplus
}
#endif

#endif /* TEGULA_SIM_H */
