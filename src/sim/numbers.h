/* Elements as numbers: float64, or int64 for integers and truth values. */
#ifndef TG_SIM_NUMBERS_H
#define TG_SIM_NUMBERS_H

#include <tegula/tegula.h>

typedef union tg_number {
    double  real;
    int64_t whole;
} tg_number;

static inline bool tg_dtype_is_whole(tg_dtype dtype) {
    const tg_dtype_class c = tg_dtype_get_class(dtype);
    return c == TG_CLASS_PRED || c == TG_CLASS_INT || c == TG_CLASS_UINT;
}

/* False for complex numbers, and for what no float32 is made from. */
bool tg_dtype_is_number(tg_dtype dtype);

/* n elements that lie one after the other as the host keeps them. Floats are rounded, by way of float32, integers
 * wrap around. TG_ERR_NOMEM. */
tg_status tg_numbers_read(tg_number *out, tg_dtype dtype, int64_t n, const void *data, tg_error *err);
tg_status tg_numbers_write(void *data, tg_dtype dtype, int64_t n, const tg_number *in, tg_error *err);

#endif
