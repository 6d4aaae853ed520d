/* The forward map and what follows from sizes alone. */
#include "layout/layout.h"

bool tg_product(int64_t *out, const int64_t *values, int32_t n) {
    int64_t p = 1;
    bool    fits = true;
    for (int32_t i = 0; i < n; i++) {
        if (values[i] == 0) {
            *out = 0;
            return true;
        }
        fits = fits && tg_mul(&p, p, values[i]);
    }
    if (fits) *out = p;
    return fits;
}

int64_t tg_layout_numel(const tg_layout *in) {
    int64_t n = 0;
    (void)tg_product(&n, in->shape, in->ndim); /* fits: validated */
    return n;
}

tg_status tg_layout_nbytes(int64_t *out, const tg_layout *in, tg_error *err) {
    int64_t bits;
    if (!tg_mul(&bits, in->span, in->elem_bits) || !tg_add(&bits, bits, 7))
        return tg_fail(err, TG_ERR_OVERFLOW, "%d elements of %d bits do not fit 63 bits", in->span, (int64_t)in->elem_bits);
    *out = bits / 8;
    return TG_OK;
}

int64_t tg_layout_offset(const tg_layout *in, const int64_t *coord) {
    int64_t rest[TG_MAX_AXES];
    int64_t offset = in->offset;
    for (int32_t a = 0; a < in->naxes; a++) rest[a] = a < in->ndim ? coord[a] : 0;
    for (int32_t i = 0; i < in->nmodes; i++) {
        const tg_mode *m = &in->mode[in->chain[i]];
        if (m->axis < 0) break; /* chain order: the rest moves nothing */
        int64_t q = rest[m->axis];
        if (m->weight != 1) {
            q /= m->weight;
            rest[m->axis] -= q * m->weight;
        }
        if (m->into == TG_TO_MEMORY) offset += q * m->stride;
        else rest[m->into] += q * m->stride;
    }
    return offset;
}

bool tg_layout_in_bounds(const tg_layout *in, const int64_t *coord, tg_error *err) {
    for (int32_t d = 0; d < in->ndim; d++) {
        if (coord[d] >= 0 && coord[d] < in->shape[d]) continue;
        (void)tg_fail_dim(err, TG_ERR_ARGUMENT, d, "coordinate %d of dimension %d is not in [0, %d)", coord[d], (int64_t)d,
                          in->shape[d]);
        return false;
    }
    return true;
}

void tg_layout_bounds(const tg_layout *l, int64_t *lowest, int64_t *highest) {
    *lowest = *highest = l->offset;
    if (tg_layout_numel(l) == 0) return;
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->into != TG_TO_MEMORY || m->count <= 1) continue;
        const int64_t step = (m->count - 1) * m->stride; /* fits: validated */
        if (step < 0) *lowest += step;
        else *highest += step;
    }
}

int64_t tg_layout_base(const tg_layout *l) {
    int64_t low, high;
    tg_layout_bounds(l, &low, &high);
    return tg_min(low, 0);
}

bool tg_next_coord(int64_t *coord, const int64_t *shape, int32_t ndim) {
    for (int32_t d = ndim; d-- > 0;) {
        if (++coord[d] < shape[d]) return true;
        coord[d] = 0;
    }
    return false;
}
