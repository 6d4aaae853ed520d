/* In a layout, two device dimensions besides the stick matter: the one that counts the sticks of the old dimension a,
 * and the one that walks the new dimension b. They swap roles, everything else stays:
 *
 *     [128,256], stick on 1        device_size [4,128,64]   stride_map [64,256,1]
 *                                       A: counts sticks of a = 1    B: walks b = 0
 *     stick on 0                               [2,256,64]              [16384,1,256]
 *
 * A tensor whose old stick dimension fits one stick may have no A; the first idle device dimension becomes it.
 * Source: torch-spyre, restickify. */
#include "graph/restickify.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/coordinate.h"

#include <string.h>

enum { NONE = -1 };

tg_access tg_identity_access(tg_term terms[TG_MAX_NDIM], const tg_host *host) {
    for (int32_t d = 0; d < host->ndim; d++) terms[d] = (tg_term){.loop = d, .step = host->strides[d]};
    return (tg_access){.nterms = host->ndim, .terms = terms};
}

int32_t tg_stick_dim(const tg_spyre *layout, const tg_host *host) {
    tg_term         terms[TG_MAX_NDIM];
    const tg_access access = tg_identity_access(terms, host);
    tg_stick        stick;
    tg_stick_of(&stick, layout, host->shape, &access);
    return stick.kind == TG_STICK_LOOP ? stick.loop : NONE;
}

bool tg_storage_elements(int64_t *out, const tg_spyre *layout) {
    int64_t n = 1;
    for (int32_t k = 0; k < layout->rank; k++)
        if (!tg_mul(&n, n, layout->device_size[k])) return false;
    *out = n;
    return true;
}

/* The one outer device dimension that has host dimension d; NONE if no or several ones have. *idle: the first that
 * has nothing. */
static int32_t find_slot(int32_t *idle, int32_t *carriers, const tg_spyre *layout, const tg_host *host, int32_t dim) {
    tg_term         terms[TG_MAX_NDIM];
    const tg_access access = tg_identity_access(terms, host);
    const tg_dims   dims = tg_device_dims(layout);
    int32_t         slot = NONE;
    *idle = NONE;
    *carriers = 0;
    for (int32_t k = 0; k < layout->rank - 1; k++) {
        tg_coordinate c;
        tg_coordinate_of(&c, &dims, k, host->shape, &access);
        const uint32_t loops = tg_coordinate_loops(&c);
        if (loops == 0 && *idle == NONE) *idle = k;
        if ((loops >> dim & 1) == 0) continue;
        slot = loops == UINT32_C(1) << dim ? k : NONE;
        ++*carriers;
    }
    return *carriers == 1 ? slot : NONE;
}

/* Why it cannot be done; NULL if it can. */
static const char *restickify(tg_spyre *out, const tg_spyre *from, const tg_host *host, int32_t dim) {
    const int32_t last = from->rank - 1, old = tg_stick_dim(from, host);
    int32_t       idle, other, counters, walkers;
    const int64_t stick = from->device_size[last];
    if (old == NONE) return "no dimension of the host tensor runs in its sticks alone";
    int32_t a = find_slot(&idle, &counters, from, host, old);
    if (counters == 0) a = idle;
    const int32_t b = find_slot(&other, &walkers, from, host, dim);
    if (b == NONE) return "no device dimension walks the new stick dimension alone";
    if (a == NONE || a == b) return "no device dimension is free to count the new sticks";
    *out = *from;
    out->arrangement = TG_STANDARD;
    out->device_size[a] = tg_ceil_div(host->shape[dim], stick);
    out->device_size[b] = host->shape[old];
    out->stride_map[b] = host->strides[old];
    out->stride_map[last] = host->strides[dim];
    return tg_mul(&out->stride_map[a], host->strides[dim], stick) ? NULL : "its strides do not fit 63 bits";
}

bool tg_restickify_to(tg_spyre *out, const tg_spyre *from, const tg_host *host, int32_t dim) {
    tg_spyre to;
    if (restickify(&to, from, host, dim) != NULL) return false;
    *out = to;
    return true;
}

tg_status tg_spyre_restickify(tg_spyre *out, const tg_spyre *from, const tg_host *host, int32_t dim, tg_error *err) {
    tg_layout       l;
    const tg_status s = tg_layout_from_spyre(&l, from, host, err);
    if (s != TG_OK) return s;
    if (dim < 0 || dim >= host->ndim || host->shape[dim] == 1)
        return tg_fail_dim(err, TG_ERR_ARGUMENT, dim, "there is no dimension %d of more than one element",
                           (int64_t)dim);
    if (tg_stick_dim(from, host) == dim) {
        *out = *from;
        return TG_OK;
    }
    tg_spyre    to;
    const char *why = restickify(&to, from, host, dim);
    if (why != NULL)
        return tg_fail_dim(err, TG_ERR_UNREPRESENTABLE, dim, "cannot move the stick to dimension %d: %s", (int64_t)dim,
                           why);
    *out = to;
    return TG_OK;
}

/* ---- gather ------------------------------------------------------------------------- */

static bool put_dim(tg_spyre *l, int64_t size, int64_t stride) {
    if (l->rank == TG_SPYRE_MAX_RANK) return false;
    l->device_size[l->rank] = size;
    l->stride_map[l->rank++] = size == 1 ? -1 : stride;
    return true;
}

bool tg_gather_layout(tg_spyre *out, const tg_host *host, tg_format format, uint32_t indexed, int32_t dim) {
    const int64_t stick = 8 * TG_SPYRE_STICK_BYTES / tg_format_bits(format);
    tg_spyre      l;
    int64_t       count = 0;
    memset(&l, 0, sizeof l);
    l.device_dtype = format;
    for (int32_t pass = 0; pass < 2; pass++)
        for (int32_t d = 0; d < host->ndim; d++)
            if (d != dim && (int32_t)(indexed >> d & 1) == 1 - pass && host->shape[d] != 1 &&
                !put_dim(&l, host->shape[d], host->strides[d]))
                return false;
    if (!tg_mul(&count, host->strides[dim], stick)) return false;
    if (!put_dim(&l, tg_ceil_div(host->shape[dim], stick), count) || !put_dim(&l, stick, host->strides[dim]))
        return false;
    *out = l;
    return true;
}
