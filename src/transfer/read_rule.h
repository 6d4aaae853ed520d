/* How torch-spyre reads a layout through an access, term by term and dimension by dimension: the one place that says
 * so. Views ask what that rule reads (view_naive.c); plans are made with it (graph/coordinate.h).
 *
 * An access is one number, offset + step * v + ...; a dimension of stride s finds its coordinate as the digit of that
 * number at s. Each term finds its digits for itself:
 *
 *     size [256,64,2,64] stride [4096,64,1048576,1], v < 32 with step 128, w < 128 with step 1
 *       128 v   the largest stride up to 128 is 64: dimension 1 has 2v; the term ends at 4096, no larger stride below
 *       w       dimension 3 has w mod 64, and dimension 1, whose stride is below the end 128, has w / 64
 *
 * which is right as long as the terms do not carry into each other's digits: a digit with an offset may run over its
 * size. Where strides do not nest (64 in a dimension of 100) a digit is no simple one for terms that go round both;
 * such a part is marked as uneven. Source: torch-spyre, compute_coordinates, which overlooks that. */
#ifndef TG_TRANSFER_READ_RULE_H
#define TG_TRANSFER_READ_RULE_H

#include <tegula/view.h>

/* Sizes and strides that coordinates are asked for. Dimensions of size 1 or without a stride above 0 stay at 0. */
typedef struct tg_dims {
    int32_t        ndim;
    const int64_t *size, *stride;
} tg_dims;

bool tg_dims_walked(const tg_dims *dims, int32_t d);

/* floor(((step * v) mod wrap) / stride); wrap 0: no mod. */
typedef struct tg_digit_part {
    int64_t step, wrap, stride;
    bool    uneven; /* it is not quite that */
} tg_digit_part;

/* What a dimension with this stride has of a term that makes `range` steps; false if it has nothing. pre: step >= 0. */
bool tg_read_term(tg_digit_part *out, const tg_dims *dims, int64_t stride, int64_t step, int64_t range);

/* Whether the rule has all of such a step: it is whole digits of one dimension. Of rows of 77 one after the other, in
 * sticks of 32, the rule says that a row begins 77 / 32 sticks after the one before, and forgets the 13 that are left.
 * pre: step >= 0. */
bool tg_reads_whole(const tg_dims *dims, int64_t step);

/* The digit of an offset at a stride as the rule has it: what the next larger stride leaves of it. */
int64_t tg_read_offset(const tg_dims *dims, int64_t offset, int64_t stride);

/* The same where it matters: what all larger strides leave of it, from the largest on. They differ where strides do not
 * nest: of 300 in rows of 100 with sticks of 64 nothing is left in the stick, and the rule says 44. */
int64_t tg_exact_offset(const tg_dims *dims, int64_t offset, int64_t stride);

/* The coordinate of the place in a stick. */
typedef struct tg_stick_place {
    bool    moves;   /* some variable is in it */
    bool    single;  /* it is one variable, or that modulo `modulus` (0: no mod), besides the offset */
    int64_t modulus, range; /* of the variable */
    int64_t offset;
} tg_stick_place;

tg_stick_kind tg_judge_stick(const tg_stick_place *place, int64_t stick);

#endif
