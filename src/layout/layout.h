/* Private to the layout room and the rooms above it: how layouts are put together and taken apart. */
#ifndef TG_LAYOUT_LAYOUT_H
#define TG_LAYOUT_LAYOUT_H

#include "base/checked.h"
#include "base/error.h"

/* ---- putting together (build.c) ---- */

/* An empty layout of this shape: no modes yet, axes for the dimensions, offset 0, span 0. */
tg_status tg_layout_begin(tg_layout *out, tg_dtype dtype, tg_format format, int32_t elem_bits, int32_t ndim,
                          const int64_t *shape, tg_error *err);

/* Append a mode (count is computed by tg_layout_end). */
tg_status tg_layout_push(tg_layout *l, tg_mode mode, tg_error *err);

/* Append an axis that digits will be folded into; its size is computed by tg_layout_end. */
tg_status tg_layout_push_axis(tg_layout *l, int32_t *axis, tg_error *err);

/* Bring a value into its invariants: memory modes first (stable), chain order, axis sizes of folds,
 * counts; digits that are always 0 become padding modes. Checks everything tg_layout_validate does. */
tg_status tg_layout_end(tg_layout *l, tg_error *err);

/* Give the memory modes dense row-major strides by size, offset 0, span = product of sizes. */
tg_status tg_layout_make_dense(tg_layout *l, tg_error *err);

/* A layout with no elements: every dimension at stride 0, span kept from `span`. */
tg_status tg_layout_make_empty(tg_layout *l, int64_t span, tg_error *err);

/* ---- asking (query.c) ---- */

static inline bool tg_is_memory(const tg_mode *m) { return m->into == TG_TO_MEMORY; }

/* Lowest and highest offset of any coordinate (copies too); both equal offset if there is none. */
void tg_layout_bounds(const tg_layout *l, int64_t *lowest, int64_t *highest);

/* How many coordinates, from this one on along the last dimension, keep all digits but those of weight 1: at least 1,
 * and not bounded by the shape. *step, where there are more than 1: what each adds to tg_layout_offset. There is a
 * dimension. */
int64_t tg_layout_steady(int64_t *step, const tg_layout *l, const int64_t *coord);

/* First offset of the storage: 0, or the lowest offset if that is negative. */
int64_t tg_layout_base(const tg_layout *l);

/* Bytes of span >= 0 elements of at most 4096 bits each, rounded up; false on overflow. */
bool tg_bytes_of(int64_t *out, int64_t span, int32_t bits);

/* Product of a shape; false on overflow. A zero anywhere gives 0, whatever the rest. */
bool tg_product(int64_t *out, const int64_t *values, int32_t n);

/* Row-major coordinate stepping: false after the last one. */
bool tg_next_coord(int64_t *coord, const int64_t *shape, int32_t ndim);

/* Bound of the digit at chain position i: what its axis' coordinate (or the remainder that earlier
 * digits leave) is below. */
int64_t tg_chain_bound(const tg_layout *l, int32_t i);

/* ---- in a hurry (quick.c) ---- */

/* How many coordinates there are, and places for each (INT64_MAX if that is too many); and if that is seen at once,
 * dense as tg_layout_dense has it, and bit d: dimension d has one mode, of weight 1. */
typedef struct tg_extent {
    int64_t  numel, copies;
    uint32_t single;
    bool     dense;
    int64_t  dense_span;
} tg_extent;

/* True if l is valid, has no folds, at least one element, all its offsets lie in [0, span), and the storage is less
 * than 2^62 elements and 2^59 bytes. False says nothing. */
bool tg_layout_quick(tg_extent *out, const tg_layout *l);

/* True if the positions of the memory modes, padding included, are [0, *span), each once; *span <= l->span. */
bool tg_layout_dense(int64_t *span, const tg_layout *l);

/* ---- digits of a number (digits.c) ---- */

/* A function of one number x in [0, size): f(x) = sum stride[i] * q[i], q the greedy digits of x for
 * weight[0] > weight[1] > ... > weight[n-1] = 1. */
typedef struct tg_digits {
    int32_t n;
    int64_t size;
    int64_t weight[TG_MAX_MODES];
    int64_t stride[TG_MAX_MODES];
} tg_digits;

/* The part of l's map that the dimensions dims[0..n) make, as digits of their row-major number
 * (dims[0] most significant), all other coordinates 0 and without l->offset. False where that is no
 * such function: a fold that takes these dimensions in another order, or with others, or digits. */
bool tg_digits_of_dims(tg_digits *out, const tg_layout *l, const int32_t *dims, int32_t n);

int64_t tg_digits_eval(const tg_digits *f, int64_t x);

/* Merge digits where that leaves the function unchanged; drop those that are always 0. */
void tg_digits_coalesce(tg_digits *f);

/* TG_ERR_UNREPRESENTABLE: dimension d, of these two digits or more, has no stride of its own. */
tg_status tg_digits_fail_cut(const tg_digits *f, int32_t d, tg_error *err);

/* Cut f's number x = hi * low + lo into digits of hi and of lo, low >= 1 dividing f->size; f(x) =
 * hi's + lo's. False where a digit would need both. */
bool tg_digits_cut(tg_digits *hi, tg_digits *lo, const tg_digits *f, int64_t low);

/* Append f's digits as memory modes of `axis`, which has no others. */
tg_status tg_layout_push_digits(tg_layout *l, int32_t axis, const tg_digits *f, tg_error *err);

/* Give dims[0..n), of these sizes and without modes so far, the digits of f, a function of their row-major
 * number: apart where the digits respect the edges, folded otherwise. */
tg_status tg_layout_push_dims(tg_layout *l, const int32_t *dims, const int64_t *sizes, int32_t n, const tg_digits *f,
                              tg_error *err);

/* Decide f == g on [0, f->size); *x is where they differ. TG_ERR_LIMIT after 2^16 steps. */
tg_status tg_digits_equal(bool *equal, int64_t *x, const tg_digits *f, const tg_digits *g, tg_error *err);

/* ---- sticks and tiles (unit.c): the innermost `unit` places of a dense memory ---- */

/* The weight of the next more significant digit of the same axis; 0 if there is none. */
int64_t tg_weight_above(const tg_layout *l, int32_t m);

/* How much of dimension d a unit spans: 1 if it has one element of it, or several that are not side by side. */
int64_t tg_unit_span(const tg_layout *l, int64_t unit, int32_t d);

/* Whether a unit has elements of dimension d that are not side by side. */
bool tg_unit_scatters(const tg_layout *l, int64_t unit, int32_t d);

/* ---- whole numbers in boxes (solve.c) ---- */

/* Find values lo[i] <= v[i] <= hi[i] with sum stride[i] * v[i] == target, trying v[0], v[1], ... in
 * increasing order (so the first found is the lexicographically smallest that accept() likes).
 * accept may be NULL. *steps counts down; 0 left means undecided. */
typedef struct tg_solve {
    int32_t        n;
    const int64_t *stride, *lo, *hi;
    bool (*accept)(void *context, const int64_t *v);
    void   *context;
    int64_t steps;
} tg_solve;

typedef enum tg_solved { TG_SOLVED_NO = 0, TG_SOLVED_YES, TG_SOLVED_UNDECIDED } tg_solved;

tg_solved tg_solve_box(int64_t *v, tg_solve *problem, int64_t target);

#endif
