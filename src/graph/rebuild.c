/* Layouts made from layouts, when their tensor gets another format or size, or an access needs fewer dimensions.
 *
 * What each device dimension does for the host tensor is read off its coordinate, with every host dimension in a loop
 * of its own: it walks one, or counts the sticks of one, or stands still.
 *
 *     [512,88]   device_size [2,512,64]  stride_map [64,88,1]
 *                            |   |   in the sticks: 1
 *                            |   walks 0
 *                            counts sticks of 1 */
#include <tegula/rules.h>

#include "base/checked.h"
#include "base/error.h"
#include "graph/coordinate.h"
#include "graph/restickify.h"

#include <string.h>

enum { NONE = -1 };

typedef struct roles {
    int32_t stick;                  /* the host dimension in the sticks; NONE if none is */
    int32_t dim[TG_SPYRE_MAX_RANK]; /* of each device dimension; NONE: it stands still */
} roles;

static tg_status read_roles(roles *out, const tg_spyre *layout, const tg_host *host, tg_error *err) {
    tg_layout       map;
    const tg_status s = tg_layout_from_spyre(&map, layout, host, err);
    if (s != TG_OK) return s;
    const tg_dims dims = tg_device_dims(layout);
    out->stick = tg_stick_dim(layout, host);
    for (int32_t k = 0; k < layout->rank; k++) {
        tg_term         terms[TG_MAX_NDIM];
        const tg_access access = tg_identity_access(terms, host);
        tg_coordinate   c;
        tg_coordinate_of(&c, &dims, k, host->shape, &access);
        if (k == layout->rank - 1 && c.nparts > 0 && out->stick == NONE)
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k,
                               "no dimension of the host tensor runs in its sticks alone");
        const uint32_t loops = tg_coordinate_loops(&c);
        out->dim[k] = NONE;
        for (int32_t d = 0; d < host->ndim; d++)
            if ((loops >> d & 1) != 0) out->dim[k] = d;
        if ((loops & (loops - 1)) != 0)
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k, "device dimension %d walks several host dimensions",
                               (int64_t)k);
    }
    return TG_OK;
}

/* The device dimension that counts sticks of the host dimension in them; else one of size 1 that is free to, at best
 * with the step of a stick; NONE if there is none. */
static int32_t stick_count(const tg_spyre *layout, const roles *r, int64_t step) {
    int32_t found = NONE;
    for (int32_t k = 0; k < layout->rank - 1; k++)
        if (r->stick != NONE && r->dim[k] == r->stick) return k;
    for (int32_t k = layout->rank - 1; k-- > 0;)
        if (layout->device_size[k] == 1 && r->dim[k] == NONE && (found == NONE || layout->stride_map[found] != step))
            found = k;
    return found;
}

/* ---- another format ------------------------------------------------------------------- */

tg_status tg_spyre_convert(tg_spyre *out, const tg_spyre *from, const tg_host *host, tg_format format,
                           tg_error *err) {
    const int32_t last = from->rank - 1, bits = tg_format_bits(format);
    tg_spyre      to = *from;
    roles         r;
    int64_t       step = 0;
    if (bits <= 0)
        return tg_fail(err, TG_ERR_UNSUPPORTED, "format %d has no sticks on the device", (int64_t)format);
    const tg_status s = read_roles(&r, from, host, err);
    if (s != TG_OK) return s;
    const int64_t old = from->device_size[last], stick = 8 * TG_SPYRE_STICK_BYTES / bits;
    to.device_dtype = format;
    to.arrangement = TG_STANDARD;
    to.device_size[last] = stick;
    const int64_t one = from->stride_map[last];
    if (one > 0) {
        if (!tg_mul(&step, one, stick)) return tg_fail(err, TG_ERR_OVERFLOW, "its strides do not fit 63 bits");
        const int32_t k = stick_count(from, &r, one * old);
        const int64_t count = r.stick != NONE ? tg_ceil_div(host->shape[r.stick], stick) : 1;
        if (k == NONE && count > 1)
            return tg_fail(err, TG_ERR_UNREPRESENTABLE, "no device dimension is free to count %d sticks", count);
        if (k != NONE && (count > 1 || from->stride_map[k] == one * old)) {
            to.device_size[k] = count;
            to.stride_map[k] = step;
        }
    }
    *out = to;
    return TG_OK;
}

/* ---- another size --------------------------------------------------------------------- */

static bool is_dense(const tg_host *host) {
    int64_t step = 1;
    for (int32_t d = host->ndim; d-- > 0;) {
        if (host->shape[d] != 1 && host->strides[d] != step) return false;
        step *= host->shape[d] > 0 ? host->shape[d] : 1;
    }
    return host->offset == 0;
}

static tg_status resize_host(tg_host *out, const tg_host *host, const int64_t *shape, tg_error *err) {
    tg_layout l;
    for (int32_t d = 0; d < host->ndim; d++)
        if (shape[d] < 1)
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d, "dimension %d gets size %d", (int64_t)d, shape[d]);
    if (is_dense(host)) return tg_host_contiguous(out, host->dtype, host->ndim, shape, err);
    tg_host to = *host;
    memcpy(to.shape, shape, (size_t)host->ndim * sizeof *shape);
    const tg_status s = tg_layout_strided(&l, to.dtype, to.ndim, to.shape, to.strides, to.offset, err);
    if (s == TG_OK) *out = to;
    return s;
}

/* A dimension of size 1 that grows takes the one device dimension that stands still. */
static tg_status find_place(int32_t *place, const tg_spyre *layout, const roles *r, int32_t count, int32_t dim,
                            tg_error *err) {
    *place = NONE;
    for (int32_t k = 0; k < layout->rank - 1; k++) {
        if (r->dim[k] != NONE || layout->device_size[k] != 1 || k == count) continue;
        if (*place != NONE)
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, dim,
                               "dimension %d of size 1 could grow in device dimension %d or %d", (int64_t)dim,
                               (int64_t)*place, (int64_t)k);
        *place = k;
    }
    if (*place == NONE)
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, dim,
                           "dimension %d of size 1 has no device dimension to grow in", (int64_t)dim);
    return TG_OK;
}

static void put_dim(tg_spyre *to, const tg_host *host, int32_t k, int32_t d) {
    to->device_size[k] = host->shape[d];
    to->stride_map[k] = host->shape[d] == 1 ? -1 : host->strides[d];
}

/* The sticks and their number; *count: the device dimension that has it. */
static tg_status resize_sticks(tg_spyre *to, int32_t *count, const roles *r, const tg_host *host, tg_error *err) {
    const int32_t last = to->rank - 1;
    *count = NONE;
    if (r->stick == NONE && to->stride_map[last] > 0)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "nothing says which host dimension is in the sticks");
    if (r->stick == NONE) return TG_OK;
    const int64_t stick = to->device_size[last], sticks = tg_ceil_div(host->shape[r->stick], stick);
    const int64_t step = host->strides[r->stick];
    *count = stick_count(to, r, stick * to->stride_map[last]);
    if (*count == NONE && sticks > 1)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "no device dimension is free to count %d sticks", sticks);
    to->stride_map[last] = step;
    if (*count == NONE) return TG_OK;
    to->device_size[*count] = sticks;
    if (tg_mul(&to->stride_map[*count], step, stick)) return TG_OK;
    return tg_fail(err, TG_ERR_OVERFLOW, "its strides do not fit 63 bits");
}

/* The other dimensions that are there; *placed gets theirs. */
static tg_status resize_dims(tg_spyre *to, uint32_t *placed, const roles *r, const tg_host *old, const tg_host *host,
                             tg_error *err) {
    for (int32_t k = 0; k < to->rank - 1; k++) {
        const int32_t d = r->dim[k];
        if (d == NONE || d == r->stick) continue;
        if ((*placed >> d & 1) != 0 || to->stride_map[k] != old->strides[d])
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, d, "several device dimensions walk dimension %d",
                               (int64_t)d);
        put_dim(to, host, k, d);
        *placed |= UINT32_C(1) << d;
    }
    return TG_OK;
}

tg_status tg_spyre_resize(tg_spyre *out, tg_host *resized, const tg_spyre *from, const tg_host *host,
                          const int64_t *shape, tg_error *err) {
    tg_spyre  to = *from;
    tg_host   to_host;
    roles     r;
    int32_t   count = NONE;
    tg_status s = read_roles(&r, from, host, err);
    if (s == TG_OK) s = resize_host(&to_host, host, shape, err);
    if (s == TG_OK) s = resize_sticks(&to, &count, &r, &to_host, err);
    if (s != TG_OK) return s;
    uint32_t placed = r.stick != NONE ? UINT32_C(1) << r.stick : 0;
    s = resize_dims(&to, &placed, &r, host, &to_host, err);
    for (int32_t d = 0; d < host->ndim && s == TG_OK; d++) {
        int32_t place = NONE;
        if ((placed >> d & 1) != 0 || shape[d] == host->shape[d]) continue;
        s = find_place(&place, from, &r, count, d, err);
        if (s != TG_OK) return s;
        put_dim(&to, &to_host, place, d);
        r.dim[place] = d;
    }
    if (s != TG_OK) return s;
    *out = to;
    if (resized != NULL) *resized = to_host;
    return TG_OK;
}

/* ---- tiles ------------------------------------------------------------------------------ */

tg_status tg_spyre_advance(int64_t *out, const tg_spyre *layout, int64_t step, int64_t count, tg_error *err) {
    const tg_dims   dims = tg_device_dims(layout);
    const tg_term   term = {.loop = 0, .step = step};
    const tg_access access = {.nterms = 1, .terms = &term};
    int64_t         device_step = 1, found = 0;
    bool            moves = false;
    if (step < 0 || count < 1)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d tiles, %d host elements apart", count, step);
    for (int32_t k = layout->rank; k-- > 0; device_step *= layout->device_size[k]) {
        tg_coordinate c;
        tg_coordinate_of(&c, &dims, k, &count, &access);
        if (c.nparts == 0) continue;
        const tg_part *p = &c.part[0];
        const int64_t  positions = step / p->stride;
        int64_t        reach = 0;
        if (moves || p->wrap != 0 || step % p->stride != 0 || !tg_mul(&reach, positions, count - 1) ||
            reach >= layout->device_size[k])
            return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, k,
                               "%d tiles, %d host elements apart, do not all begin at a step of device dimension %d",
                               count, step, (int64_t)k);
        found = positions * device_step; /* fits: it is within the storage */
        moves = true;
    }
    if (!moves && step > 0 && count > 1)
        return tg_fail(err, TG_ERR_UNREPRESENTABLE, "no device dimension moves in %d host elements", step);
    *out = found;
    return TG_OK;
}

/* ---- fewer dimensions -------------------------------------------------------------------- */

/* Does b go on where a is between two of its positions? */
static bool continues(const tg_coordinate *a, const tg_coordinate *b, int64_t size) {
    if (a->nparts != 1 || b->nparts != 1 || a->offset != 0 || b->offset != 0) return false;
    const tg_part *p = &a->part[0], *q = &b->part[0];
    int64_t        whole = 0;
    return p->loop != TG_LOOP_UNKNOWN && p->loop == q->loop && p->step == q->step && p->modulus == q->modulus &&
           !p->uneven && !q->uneven && q->wrap == p->stride && tg_mul(&whole, q->stride, size) && whole == p->stride;
}

tg_status tg_spyre_join(tg_spyre *out, const tg_spyre *layout, int32_t nloops, const int64_t *ranges,
                        const tg_access *access, tg_error *err) {
    const tg_dims   dims = tg_device_dims(layout);
    tg_coordinate   before = {0}, here;
    tg_spyre        to = *layout;
    const tg_status s = tg_check_access(nloops, access, err);
    if (s != TG_OK) return s;
    to.rank = 0;
    for (int32_t k = 0; k < layout->rank; k++) {
        const bool last = k == layout->rank - 1;
        int64_t    size = layout->device_size[k];
        if (size == 1 && !last) continue;
        tg_coordinate_of(&here, &dims, k, ranges, access);
        if (!last && to.rank > 0 && continues(&before, &here, size)) {
            size *= to.device_size[--to.rank]; /* fits: it is within the storage */
            here.part[0].wrap = before.part[0].wrap;
        }
        to.device_size[to.rank] = size;
        to.stride_map[to.rank++] = layout->stride_map[k];
        before = here;
    }
    *out = to;
    return TG_OK;
}
