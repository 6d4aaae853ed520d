#include "transfer/read_rule.h"

#include "base/checked.h"

bool tg_dims_walked(const tg_dims *dims, int32_t d) { return dims->stride[d] > 0 && dims->size[d] != 1; }

/* The smallest stride above `stride`; 0 if there is none. */
static int64_t next_larger(const tg_dims *dims, int64_t stride) {
    int64_t next = 0;
    for (int32_t d = 0; d < dims->ndim; d++)
        if (tg_dims_walked(dims, d) && dims->stride[d] > stride && (next == 0 || dims->stride[d] < next))
            next = dims->stride[d];
    return next;
}

/* The largest stride up to `step`; 0 if there is none. */
static int64_t primary_stride(const tg_dims *dims, int64_t step) {
    int64_t stride = 0;
    for (int32_t d = 0; d < dims->ndim; d++)
        if (tg_dims_walked(dims, d) && dims->stride[d] <= step && dims->stride[d] > stride) stride = dims->stride[d];
    return stride;
}

/* Does a term that reaches `limit` go round digits that do not nest in `next`? */
static bool is_uneven(const tg_dims *dims, int64_t next, int64_t limit) {
    for (int32_t d = 0; d < dims->ndim; d++)
        if (tg_dims_walked(dims, d) && dims->stride[d] > next && dims->stride[d] < limit &&
            dims->stride[d] % next != 0)
            return true;
    return false;
}

bool tg_read_term(tg_digit_part *out, const tg_dims *dims, int64_t stride, int64_t step, int64_t range) {
    const int64_t next = next_larger(dims, stride);
    int64_t       limit = INT64_MAX;
    if (range <= 1 || step == 0) return false;
    (void)tg_mul(&limit, step, range);
    const bool primary = stride == primary_stride(dims, step);
    if (!primary && (stride <= step || stride >= limit)) return false;
    const bool wraps = next > 0 && limit > next;
    *out = (tg_digit_part){step, wraps ? next : 0, stride, wraps && is_uneven(dims, next, limit)};
    return true;
}

bool tg_reads_whole(const tg_dims *dims, int64_t step) {
    const int64_t stride = primary_stride(dims, step);
    return stride == 0 || primary_stride(dims, step % stride) == 0;
}

int64_t tg_read_offset(const tg_dims *dims, int64_t offset, int64_t stride) {
    const int64_t next = next_larger(dims, stride);
    return (next > 0 ? offset % next : offset) / stride;
}

int64_t tg_exact_offset(const tg_dims *dims, int64_t offset, int64_t stride) {
    for (int64_t above; (above = primary_stride(dims, offset)) > stride;) offset %= above;
    return offset / stride;
}

tg_stick_kind tg_judge_stick(const tg_stick_place *place, int64_t stick) {
    if (!place->moves && place->offset == 0) return TG_STICK_NONE;
    if (!place->single || (place->modulus != 0 && place->modulus != stick)) return TG_STICK_BAD;
    if (place->modulus == 0 && place->range > stick) return TG_STICK_BAD;
    return place->offset == 0 ? TG_STICK_LOOP : TG_STICK_OFFSET;
}
