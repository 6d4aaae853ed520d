/* What each operation is, for one element and for a row of them.
 *
 * The device calculates in float32 or integers, row by row; the definition in float64 or integers, one by one. */
#ifndef TG_SIM_OPS_H
#define TG_SIM_OPS_H

#include <tegula/sim.h>

enum { TG_MAX_ARITY = 3 };

/* r[i] = f(in[0][i], in[1][i], ...) for i < n. */
typedef void    tg_float_rows(float *restrict r, const float *const *in, int64_t n);
typedef double  tg_real(const double *x);
typedef int64_t tg_whole(const int64_t *x, int32_t bits); /* of the type */

typedef struct tg_op_row {
    tg_op          op;
    const char    *name;
    int32_t        arity; /* -1: not element by element */
    tg_float_rows *rows;
    tg_real       *real;
    tg_whole      *whole; /* NULL: not for integers */
} tg_op_row;

/* NULL if there is no such operation. */
const tg_op_row *tg_op_find(tg_op op);

/* The operation of an HLO opcode that works element by element; `direction` of a compare. TG_OP_NONE if none does. */
tg_op tg_op_of_hlo(tg_hlo_text opcode, tg_hlo_text direction);

/* x as an integer of so many bits has it: wrapped around. */
int64_t tg_wrap(int64_t x, int32_t bits, bool is_signed);

/* Towards zero, the nearest integer where there is none; NaN is 0. Source: XLA, convert. */
int64_t tg_to_whole(double x);

/* How a reduction goes on, and what it starts with: of integers the least or the most that their type has, since that
 * stays where nothing is reduced. */
float   tg_reduce_float(tg_reduction r, float a, float b);
double  tg_reduce_real(tg_reduction r, double a, double b);
int64_t tg_reduce_whole(tg_reduction r, int64_t a, int64_t b);
double  tg_neutral_real(tg_reduction r);
int64_t tg_neutral_whole(tg_reduction r, tg_dtype dtype);

#endif
