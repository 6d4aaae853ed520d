/* Private to the views of the transfer room: terms of one variable, digits of a storage, readings.
 *
 * view_shape.c, view_text.c   views of views
 * view_terms.c                functions of one variable
 * view_storage.c              a tensor's host storage as a number, and its digits on the device
 * view_cut.c                  the digits of a view: terms, carries and ragged edges
 * view_naive.c                what naive readers read
 * view_judge.c                the answer */
#ifndef TG_TRANSFER_VIEWING_H
#define TG_TRANSFER_VIEWING_H

#include "layout/layout.h"

#include <tegula/view.h>

/* ---- terms (view_terms.c) ---- */

/* Rounded down, and the remainder in [0, b); b >= 1. */
static inline int64_t tg_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }
static inline int64_t tg_floor_mod(int64_t a, int64_t b) { return a % b < 0 ? a % b + b : a % b; }

int64_t tg_term_at(const tg_view_term *t, int64_t p);

/* Least and greatest (step * p + shift) mod wrap for p in [0, n), n >= 1; in some 60 steps whatever n is. */
void tg_term_range(int64_t *low, int64_t *high, const tg_view_term *t, int64_t n);

/* The same function on [0, n) with smaller numbers, less what it adds to *constant: no mod that does nothing, no common
 * factors, shift in [0, wrap), or [0, stride) without wrap. False if nothing but a constant is left. */
bool tg_term_simplify(tg_view_term *t, int64_t *constant, int64_t n);

/* gain * term + ... */
typedef struct tg_sum {
    int32_t      n;
    int64_t      gain[TG_MAX_MODES];
    tg_view_term term[TG_MAX_MODES];
} tg_sum;

/* Normal form of the sum on [0, n) less its value at 0. Equal normal forms are equal functions; the converse is not
 * promised, but holds where terms are digits of one number. */
void tg_sum_normalize(tg_sum *s, int64_t n);
bool tg_sum_same(const tg_sum *a, const tg_sum *b);

/* ---- storage (view_storage.c) ---- */

enum { TG_MAX_DIGITS = TG_MAX_MODES + TG_MAX_NDIM };

typedef struct tg_digit {
    int64_t weight; /* host elements per step */
    int64_t stride; /* device elements per step */
    int32_t mode;   /* memory mode, or the last of those that are joined here; -1: of none */
    bool    joined;
} tg_digit;

/* Greedy digits of x = host offset - base, outermost first. */
typedef struct tg_digit_list {
    int32_t  n;
    tg_digit at[TG_MAX_DIGITS];
} tg_digit_list;

typedef struct tg_storage {
    int64_t       base, extent; /* all elements have host offsets in [base, base + extent) */
    int64_t       device_base;  /* device offset of base */
    bool          has_gaps;     /* `level` tells all that lies there */
    int32_t       nlevels;
    int64_t       size[TG_MAX_NDIM], stride[TG_MAX_NDIM]; /* >= 2; by decreasing stride; they nest */
    tg_digit_list digits;
} tg_storage;

tg_status tg_storage_of(tg_storage *out, const tg_desc *tensor, tg_error *err);

/* Device offset of the element at base + x. */
int64_t tg_digits_at(const tg_digit_list *digits, int64_t x);

/* Join neighbours that are one digit; a digit inside sticks of so many elements (0: no sticks) stays apart from one
 * outside. */
void tg_digits_join(tg_digit_list *digits, int64_t stick);

/* The first element in row-major order that the tensor does not have: answer->reason, coord, host_offset, low, high.
 * reason is TG_VIEW_FITS if there is none. TG_ERR_LIMIT. pre: the view has elements, and its offsets fit. */
tg_status tg_storage_check(tg_view_answer *answer, const tg_storage *storage, const tg_view *view, tg_error *err);

/* Least and greatest host offset of a view with elements; false where they do not fit. */
bool tg_view_bounds(int64_t *low, int64_t *high, const tg_view *view);

bool tg_view_is_empty(const tg_view *view);

/* TG_OK if there are not too many dimensions, no size is negative, and all offsets fit. */
tg_status tg_view_check(const tg_view *view, tg_error *err);

/* ---- digits of a view (view_cut.c) ---- */

/* x + sum of step * p, p[k] in [0, n[k]); n[k] >= 1. */
typedef struct tg_number {
    int64_t x;
    int32_t ndim;
    int64_t step[TG_MAX_NDIM], n[TG_MAX_NDIM];
} tg_number;

typedef struct tg_digit_cut {
    tg_view_reason     reason; /* FITS, CARRY, RAGGED */
    uint32_t           dims;
    int32_t            digit;  /* at fault, if any */
    int64_t            edge;
    tg_view_coordinate at[TG_MAX_DIGITS]; /* one for each digit; terms are not simplified, offset is the value at 0 */
} tg_digit_cut;

void tg_cut_digits(tg_digit_cut *out, const tg_digit_list *digits, const tg_number *number);

/* ---- naive readings (view_naive.c) ---- */

/* pre: the view is not impossible and has elements. */
void tg_naive_rule(tg_naive *out, const tg_storage *storage, const tg_desc *tensor, const tg_view *view);
void tg_naive_own(tg_naive *out, const tg_storage *storage, const tg_desc *tensor, const tg_view *view);

#endif
