/* The table of operations. float32 and float64 are the same words of C twice, once on rows; NaN goes through everything
 * but comparisons, so that poison is seen. */
#include "sim/ops.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

/* ---- one operand ---------------------------------------------------------------------- */

#define UNARY(name, expression_f, expression)                                              \
    static void rows_##name(float *restrict r, const float *const *in, int64_t n) {        \
        const float *restrict a = in[0];                                                   \
        for (int64_t i = 0; i < n; i++) {                                                  \
            const float x = a[i];                                                          \
            r[i] = (expression_f);                                                         \
        }                                                                                  \
    }                                                                                      \
    static double real_##name(const double *in) {                                          \
        const double x = in[0];                                                            \
        return (expression);                                                               \
    }

#define CALL(name, function) UNARY(name, function##f(x), function(x))

CALL(abs, fabs)
CALL(acos, acos)
CALL(acosh, acosh)
CALL(asin, asin)
CALL(asinh, asinh)
CALL(atan, atan)
CALL(atanh, atanh)
CALL(cbrt, cbrt)
CALL(ceil, ceil)
CALL(cos, cos)
CALL(cosh, cosh)
CALL(erf, erf)
CALL(exp, exp)
CALL(expm1, expm1)
CALL(floor, floor)
CALL(log, log)
CALL(log1p, log1p)
CALL(sin, sin)
CALL(sinh, sinh)
CALL(sqrt, sqrt)
CALL(tan, tan)
CALL(tanh, tanh)
CALL(round_away, round)
CALL(round_even, nearbyint)
UNARY(is_finite, isfinite(x) ? 1.0f : 0.0f, isfinite(x) ? 1.0 : 0.0)
UNARY(logistic, 1.0f / (1.0f + expf(-x)), 1.0 / (1.0 + exp(-x)))
UNARY(negate, -x, -x)
UNARY(not, x != x ? x : (x == 0.0f ? 1.0f : 0.0f), x == 0.0 ? 1.0 : 0.0)
UNARY(rsqrt, 1.0f / sqrtf(x), 1.0 / sqrt(x))
UNARY(sign, x > 0.0f ? 1.0f : (x < 0.0f ? -1.0f : x), x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x))
UNARY(relu, x < 0.0f ? 0.0f : x, x < 0.0 ? 0.0 : x)
UNARY(reciprocal, 1.0f / x, 1.0 / x)
UNARY(copy, x, x)

/* ---- two operands ------------------------------------------------------------------------ */

#define BINARY(name, expression_f, expression)                                             \
    static void rows_##name(float *restrict r, const float *const *in, int64_t n) {        \
        const float *a = in[0], *b = in[1];                                                \
        for (int64_t i = 0; i < n; i++) {                                                  \
            const float x = a[i], y = b[i];                                                \
            r[i] = (expression_f);                                                         \
        }                                                                                  \
    }                                                                                      \
    static double real_##name(const double *in) {                                          \
        const double x = in[0], y = in[1];                                                 \
        return (expression);                                                               \
    }

#define SAME(name, expression) BINARY(name, expression, expression)
#define LOGICAL(name, expression) BINARY(name, x != x || y != y ? x + y : (float)(expression), (double)(expression))
#define COMPARE(name, operation) BINARY(name, x operation y ? 1.0f : 0.0f, x operation y ? 1.0 : 0.0)

SAME(add, x + y)
SAME(subtract, x - y)
SAME(multiply, x * y)
SAME(divide, x / y)
SAME(maximum, x > y || x != x ? x : y)
SAME(minimum, x < y || x != x ? x : y)
BINARY(atan2, atan2f(x, y), atan2(x, y))
BINARY(power, powf(x, y), pow(x, y))
BINARY(remainder, fmodf(x, y), fmod(x, y))
LOGICAL(and, x != 0 && y != 0)
LOGICAL(or, x != 0 || y != 0)
LOGICAL(xor, (x != 0) != (y != 0))
COMPARE(lt, <)
COMPARE(le, <=)
COMPARE(gt, >)
COMPARE(ge, >=)
SAME(eq, x == y)
SAME(ne, x != y)

/* ---- three ---------------------------------------------------------------------------------- */

static void rows_select(float *restrict r, const float *const *in, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const float c = in[0][i];
        r[i] = c != c ? c : (c != 0.0f ? in[1][i] : in[2][i]);
    }
}

static double real_select(const double *in) { return in[0] != 0 ? in[1] : in[2]; }

static void rows_clamp(float *restrict r, const float *const *in, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const float x = in[1][i] < in[0][i] ? in[0][i] : in[1][i];
        r[i] = x > in[2][i] ? in[2][i] : x;
    }
}

static double real_clamp(const double *in) {
    const double x = in[1] < in[0] ? in[0] : in[1];
    return x > in[2] ? in[2] : x;
}

/* ---- integers ---------------------------------------------------------------------------------- */

int64_t tg_wrap(int64_t x, int32_t bits, bool is_signed) {
    if (bits >= 64) return x;
    const uint64_t mask = (UINT64_C(1) << bits) - 1, low = (uint64_t)x & mask;
    const bool     negative = is_signed && (low >> (bits - 1) & 1) != 0;
    return (int64_t)(negative ? low | ~mask : low);
}

int64_t tg_to_whole(double x) {
    if (x != x) return 0;
    if (x >= 9223372036854775808.0) return INT64_MAX;
    return x <= -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

static uint64_t shifted_out(int32_t bits, int64_t by) { return by < 0 || by >= bits; }

#define WHOLE(name, expression)                                         \
    static int64_t whole_##name(const int64_t *x, int32_t bits) {       \
        (void)bits;                                                     \
        return (int64_t)(expression);                                   \
    }

#define U(i) ((uint64_t)x[i])

WHOLE(copy, x[0])
WHOLE(abs, x[0] < 0 ? -U(0) : U(0))
WHOLE(negate, -U(0))
WHOLE(not, ~U(0))
WHOLE(sign, (x[0] > 0) - (x[0] < 0))
WHOLE(relu, x[0] > 0 ? x[0] : 0)
WHOLE(add, U(0) + U(1))
WHOLE(subtract, U(0) - U(1))
WHOLE(multiply, U(0) * U(1))
WHOLE(divide, x[1] == 0 ? -1 : (x[1] == -1 ? (int64_t)-U(0) : x[0] / x[1]))
WHOLE(remainder, x[1] == 0 ? x[0] : (x[1] == -1 ? 0 : x[0] % x[1]))
WHOLE(maximum, tg_max(x[0], x[1]))
WHOLE(minimum, tg_min(x[0], x[1]))
WHOLE(and, x[0] & x[1])
WHOLE(or, x[0] | x[1])
WHOLE(xor, x[0] ^ x[1])
WHOLE(shift_left, shifted_out(bits, x[1]) ? 0 : U(0) << x[1])
WHOLE(shift_right, x[0] >> (shifted_out(bits, x[1]) ? 63 : x[1]))
WHOLE(shift_right_logical, shifted_out(bits, x[1]) ? 0 : (uint64_t)tg_wrap(x[0], bits, false) >> x[1])
WHOLE(eq, x[0] == x[1])
WHOLE(ne, x[0] != x[1])
WHOLE(lt, x[0] < x[1])
WHOLE(le, x[0] <= x[1])
WHOLE(gt, x[0] > x[1])
WHOLE(ge, x[0] >= x[1])
WHOLE(select, x[0] != 0 ? x[1] : x[2])
WHOLE(clamp, tg_min(tg_max(x[0], x[1]), x[2]))

/* ---- the table -------------------------------------------------------------------------------------- */

#define FLOATS(op, name, arity) {op, #name, arity, rows_##name, real_##name, NULL}
#define BOTH(op, name, arity) {op, #name, arity, rows_##name, real_##name, whole_##name}
#define INTEGERS(op, name, arity) {op, #name, arity, NULL, NULL, whole_##name}
#define OTHER(op, name) {op, #name, -1, NULL, NULL, NULL}

static const tg_op_row table[] = {
    OTHER(TG_OP_NONE, none), OTHER(TG_OP_INPUT, input), OTHER(TG_OP_CONSTANT, constant), OTHER(TG_OP_IOTA, iota),
    BOTH(TG_OP_COPY, copy, 1), BOTH(TG_OP_ABS, abs, 1), FLOATS(TG_OP_ACOS, acos, 1), FLOATS(TG_OP_ACOSH, acosh, 1),
    FLOATS(TG_OP_ASIN, asin, 1), FLOATS(TG_OP_ASINH, asinh, 1), FLOATS(TG_OP_ATAN, atan, 1),
    FLOATS(TG_OP_ATANH, atanh, 1), FLOATS(TG_OP_CBRT, cbrt, 1), FLOATS(TG_OP_CEIL, ceil, 1),
    FLOATS(TG_OP_COS, cos, 1), FLOATS(TG_OP_COSH, cosh, 1), FLOATS(TG_OP_ERF, erf, 1), FLOATS(TG_OP_EXP, exp, 1),
    FLOATS(TG_OP_EXPM1, expm1, 1), FLOATS(TG_OP_FLOOR, floor, 1), FLOATS(TG_OP_IS_FINITE, is_finite, 1),
    FLOATS(TG_OP_LOG, log, 1), FLOATS(TG_OP_LOG1P, log1p, 1), FLOATS(TG_OP_LOGISTIC, logistic, 1),
    BOTH(TG_OP_NEGATE, negate, 1), BOTH(TG_OP_NOT, not, 1), FLOATS(TG_OP_ROUND_AWAY, round_away, 1),
    FLOATS(TG_OP_ROUND_EVEN, round_even, 1), FLOATS(TG_OP_RSQRT, rsqrt, 1), BOTH(TG_OP_SIGN, sign, 1),
    FLOATS(TG_OP_SIN, sin, 1), FLOATS(TG_OP_SINH, sinh, 1), FLOATS(TG_OP_SQRT, sqrt, 1), FLOATS(TG_OP_TAN, tan, 1),
    FLOATS(TG_OP_TANH, tanh, 1), BOTH(TG_OP_RELU, relu, 1), FLOATS(TG_OP_RECIPROCAL, reciprocal, 1),
    BOTH(TG_OP_ADD, add, 2), BOTH(TG_OP_AND, and, 2), FLOATS(TG_OP_ATAN2, atan2, 2), BOTH(TG_OP_DIVIDE, divide, 2),
    BOTH(TG_OP_MAXIMUM, maximum, 2), BOTH(TG_OP_MINIMUM, minimum, 2), BOTH(TG_OP_MULTIPLY, multiply, 2),
    BOTH(TG_OP_OR, or, 2), FLOATS(TG_OP_POWER, power, 2), BOTH(TG_OP_REMAINDER, remainder, 2),
    INTEGERS(TG_OP_SHIFT_LEFT, shift_left, 2), INTEGERS(TG_OP_SHIFT_RIGHT, shift_right, 2),
    INTEGERS(TG_OP_SHIFT_RIGHT_LOGICAL, shift_right_logical, 2), BOTH(TG_OP_SUBTRACT, subtract, 2),
    BOTH(TG_OP_XOR, xor, 2), BOTH(TG_OP_EQ, eq, 2), BOTH(TG_OP_NE, ne, 2), BOTH(TG_OP_LT, lt, 2),
    BOTH(TG_OP_LE, le, 2), BOTH(TG_OP_GT, gt, 2), BOTH(TG_OP_GE, ge, 2), BOTH(TG_OP_SELECT, select, 3),
    BOTH(TG_OP_CLAMP, clamp, 3), OTHER(TG_OP_REDUCE, reduce), OTHER(TG_OP_PRODUCT, product), OTHER(TG_OP_PAD, pad),
    OTHER(TG_OP_PIECES, pieces), OTHER(TG_OP_FORMULA, formula),
};

enum { COUNT = sizeof table / sizeof table[0] };

const tg_op_row *tg_op_find(tg_op op) {
    return (int)op >= 0 && (int)op < COUNT ? &table[op] : NULL; /* in the order of tg_op; the tests see to that */
}

const char *tg_op_name(tg_op op) { return tg_op_find(op) != NULL ? table[op].name : NULL; }

int32_t tg_op_arity(tg_op op) { return tg_op_find(op) != NULL ? table[op].arity : -1; }

/* ---- HLO ----------------------------------------------------------------------------------------------- */

/* Opcodes with another name than the operation. */
static const struct { const char *opcode; tg_op op; } spelled[] = {
    {"convert", TG_OP_COPY}, {"cosine", TG_OP_COS}, {"exponential", TG_OP_EXP},
    {"exponential-minus-one", TG_OP_EXPM1}, {"is-finite", TG_OP_IS_FINITE}, {"log-plus-one", TG_OP_LOG1P},
    {"round-nearest-afz", TG_OP_ROUND_AWAY}, {"round-nearest-even", TG_OP_ROUND_EVEN}, {"sine", TG_OP_SIN},
    {"shift-left", TG_OP_SHIFT_LEFT}, {"shift-right-arithmetic", TG_OP_SHIFT_RIGHT},
    {"shift-right-logical", TG_OP_SHIFT_RIGHT_LOGICAL},
};

static tg_op comparison(tg_hlo_text direction) {
    static const char *const names[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};
    for (int i = 0; i < 6; i++)
        if (tg_hlo_text_is(direction, names[i])) return (tg_op)(TG_OP_EQ + i);
    return TG_OP_NONE;
}

tg_op tg_op_of_hlo(tg_hlo_text opcode, tg_hlo_text direction) {
    if (tg_hlo_text_is(opcode, "compare")) return comparison(direction);
    for (size_t i = 0; i < sizeof spelled / sizeof spelled[0]; i++)
        if (tg_hlo_text_is(opcode, spelled[i].opcode)) return spelled[i].op;
    for (int i = TG_OP_ABS; i < COUNT; i++) {
        const bool ours = (i >= TG_OP_EQ && i <= TG_OP_GE) || i == TG_OP_RELU || i == TG_OP_RECIPROCAL;
        if (table[i].arity > 0 && !ours && tg_hlo_text_is(opcode, table[i].name)) return table[i].op;
    }
    return TG_OP_NONE;
}

/* ---- reductions -------------------------------------------------------------------------------------------- */

#define REDUCE(type, isnan_a)                                 \
    switch (r) {                                              \
    case TG_REDUCE_SUM: return (type)(a + b);                 \
    case TG_REDUCE_MAX: return a > b || (isnan_a) ? a : b;    \
    case TG_REDUCE_MIN: return a < b || (isnan_a) ? a : b;    \
    case TG_REDUCE_PRODUCT: return (type)(a * b);             \
    case TG_REDUCE_AND: break;                                \
    case TG_REDUCE_OR: break;                                 \
    case TG_REDUCE_XOR: break;                                \
    }

float tg_reduce_float(tg_reduction r, float a, float b) {
    REDUCE(float, a != a)
    if (a != a || b != b) return a + b;
    if (r == TG_REDUCE_AND) return a != 0 && b != 0;
    return r == TG_REDUCE_OR ? a != 0 || b != 0 : (a != 0) != (b != 0);
}

double tg_reduce_real(tg_reduction r, double a, double b) {
    REDUCE(double, a != a)
    return NAN; /* truth values are integers there */
}

int64_t tg_reduce_whole(tg_reduction r, int64_t a, int64_t b) {
    if (r == TG_REDUCE_SUM) return (int64_t)((uint64_t)a + (uint64_t)b);
    if (r == TG_REDUCE_PRODUCT) return (int64_t)((uint64_t)a * (uint64_t)b);
    REDUCE(int64_t, false)
    if (r == TG_REDUCE_AND) return a & b;
    return r == TG_REDUCE_OR ? a | b : a ^ b;
}

double tg_neutral_real(tg_reduction r) {
    static const double values[] = {0, -INFINITY, INFINITY, 1, 1, 0, 0};
    return values[r];
}

int64_t tg_neutral_whole(tg_reduction r, tg_dtype dtype) {
    const int32_t bits = tg_dtype_bits(dtype);
    const bool    is_signed = tg_dtype_get_class(dtype) == TG_CLASS_INT;
    const int64_t most = bits >= 64 ? INT64_MAX : (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
    const int64_t least = is_signed || bits >= 64 ? -most - 1 : 0;
    const int64_t values[] = {0, least, most, 1, -1, 0, 0};
    return values[r];
}
