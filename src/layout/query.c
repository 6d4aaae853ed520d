/* The forward map and what follows from sizes alone. */
#include "layout/layout.h"

#include <string.h>

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

bool tg_bytes_of(int64_t *out, int64_t span, int32_t bits) {
    /* by eights, because the number of bits may be past 2^63 where that of bytes is not */
    return tg_muladd(out, (span % 8 * bits + 7) / 8, span / 8, bits);
}

tg_status tg_layout_nbytes(int64_t *out, const tg_layout *in, tg_error *err) {
    if (!tg_bytes_of(out, in->span, in->elem_bits))
        return tg_fail(err, TG_ERR_OVERFLOW, "the bytes of %d elements of %d bits do not fit 63 bits", in->span,
                       (int64_t)in->elem_bits);
    return TG_OK;
}

tg_format tg_layout_stored_format(const tg_layout *in) {
    return in->format != TG_FORMAT_NATIVE ? in->format : tg_format_of_native(in->dtype);
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

/* The digits as above; `moves` is what one more of the coordinate adds to an axis. */
int64_t tg_layout_steady(int64_t *step, const tg_layout *l, const int64_t *coord) {
    int64_t rest[TG_MAX_AXES] = {0}, moves[TG_MAX_AXES] = {0}, n = INT64_MAX;
    moves[l->ndim - 1] = 1;
    memcpy(rest, coord, (size_t)l->ndim * sizeof rest[0]);
    *step = 0;
    for (int32_t i = 0; i < l->nmodes && n > 1 && l->mode[l->chain[i]].axis >= 0; i++) {
        const tg_mode *m = &l->mode[l->chain[i]];
        int64_t        q = rest[m->axis], moved = moves[m->axis];
        if (m->weight != 1) {
            q /= m->weight;
            rest[m->axis] -= q * m->weight;
            if (moved > 0) n = tg_min(n, (m->weight - rest[m->axis] - 1) / moved + 1);
            moved = 0;
        }
        if (m->into == TG_TO_MEMORY) {
            *step += moved * m->stride;
        } else {
            rest[m->into] += q * m->stride;
            moves[m->into] += moved * m->stride;
        }
    }
    return n;
}

bool tg_layout_in_bounds(const tg_layout *in, const int64_t *coord, tg_error *err) {
    for (int32_t d = 0; d < in->ndim; d++) {
        if (coord[d] >= 0 && coord[d] < in->shape[d]) continue;
        (void)tg_fail_dim(err, TG_ERR_ARGUMENT, d, "coordinate %d of dimension %d is not in [0, %d)", coord[d],
                          (int64_t)d, in->shape[d]);
        return false;
    }
    return true;
}

/* Least (sign -1) or greatest (sign 1) value, times sign, that the digits of one axis add to memory.
 * Chain positions first .. last - 1 are the axis' digits. Below a weight all remainders occur, so from
 * the last digit up: full = the best over remainders below the weight before. Only the topmost value
 * of a digit has fewer remainders, and that is followed along one path. */
static int64_t best_of_axis(const tg_layout *l, int32_t first, int32_t last, int64_t sign) {
    int64_t full[TG_MAX_MODES + 1];
    full[last] = 0;
    for (int32_t i = last; i-- > first;) {
        int64_t best = 0, above = 0, n = tg_chain_bound(l, i);
        for (int32_t k = i; k < last && n > 0; k++) {
            const tg_mode *m = &l->mode[l->chain[k]];
            const int64_t  step = m->into == TG_TO_MEMORY ? sign * m->stride : 0, top = (n - 1) / m->weight;
            if (top > 0) best = tg_max(best, above + (step > 0 ? step * (top - 1) : 0) + full[k + 1]);
            above += step * top; /* fits: positions have offsets */
            n -= top * m->weight;
        }
        full[i] = tg_max(best, above);
    }
    return full[first];
}

void tg_layout_bounds(const tg_layout *l, int64_t *lowest, int64_t *highest) {
    *lowest = *highest = l->offset;
    if (tg_layout_numel(l) == 0) return;
    for (int32_t first = 0, last; first < l->nmodes; first = last) {
        const int32_t axis = l->mode[l->chain[first]].axis;
        for (last = first + 1; last < l->nmodes && l->mode[l->chain[last]].axis == axis; last++) {}
        if (axis >= 0) {
            *lowest -= best_of_axis(l, first, last, -1);
            *highest += best_of_axis(l, first, last, 1);
        }
    }
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->axis != TG_AXIS_COPY || m->size <= 1) continue;
        *(m->stride < 0 ? lowest : highest) += (m->size - 1) * m->stride;
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
