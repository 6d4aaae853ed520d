/* Which dimensions belong together.
 *
 * Most stand alone. Folds (Spyre's flattened hosts, XLA's `*`) make one number of several: then these are a group. In
 * which order they make the number, the fold says; the other side must be digits of the same number, which a side
 * without folds always is. Where two folds conflict no such number exists. */
#include "transfer/dma.h"

/* For every axis the set of logical dimensions that reach it, as bits. */
static void find_sources(uint32_t *sources, const tg_layout *l) {
    for (int32_t a = 0; a < l->naxes; a++) sources[a] = a < l->ndim ? (uint32_t)1 << a : 0;
    for (int32_t i = 0; i < l->nmodes; i++) { /* in chain order an axis is complete before its own digits */
        const tg_mode *m = &l->mode[l->chain[i]];
        if (m->axis >= 0 && m->into >= 0 && m->count > 1) sources[m->into] |= sources[m->axis];
    }
}

/* Join the sets of dimensions that an axis of l folds together; true if one became larger. */
static bool join(uint32_t *set, const tg_layout *l) {
    uint32_t sources[TG_MAX_AXES];
    bool     larger = false;
    if (l->naxes == l->ndim) return false;
    find_sources(sources, l);
    for (int32_t a = l->ndim; a < l->naxes; a++) {
        uint32_t all = sources[a];
        for (int32_t d = 0; d < l->ndim; d++)
            if (set[d] & sources[a]) all |= set[d];
        for (int32_t d = 0; d < l->ndim; d++) {
            if (!(all >> d & 1)) continue;
            larger |= set[d] != all;
            set[d] = all;
        }
    }
    return larger;
}

static bool are_digits(tg_group *g, const tg_layout *device, const tg_layout *host) {
    g->is_number = tg_digits_of_dims(&g->device, device, g->dims, g->n) &&
                   tg_digits_of_dims(&g->host, host, g->dims, g->n);
    return g->is_number;
}

/* Dimensions folded into `axis` by decreasing stride, those that are not before them. */
static void order_by_fold(tg_group *g, const tg_layout *l, int32_t axis) {
    int64_t key[TG_MAX_NDIM];
    for (int32_t i = 0; i < g->n; i++) {
        key[i] = INT64_MAX;
        for (int32_t k = 0; k < l->nmodes; k++)
            if (l->mode[k].axis == g->dims[i] && l->mode[k].into == axis) key[i] = l->mode[k].stride;
    }
    for (int32_t i = 1; i < g->n; i++) {
        const int64_t k = key[i];
        const int32_t d = g->dims[i];
        int32_t       j = i;
        for (; j > 0 && key[j - 1] < k; j--) {
            key[j] = key[j - 1];
            g->dims[j] = g->dims[j - 1];
        }
        key[j] = k;
        g->dims[j] = d;
    }
}

static bool order_by_folds_of(tg_group *g, const tg_layout *l, const tg_layout *device, const tg_layout *host) {
    for (int32_t a = l->ndim; a < l->naxes; a++) {
        order_by_fold(g, l, a);
        if (are_digits(g, device, host)) return true;
    }
    return false;
}

void tg_groups_find(tg_groups *out, const tg_layout *device, const tg_layout *host) {
    uint32_t set[TG_MAX_NDIM], done = 0;
    out->n = 0;
    for (int32_t d = 0; d < device->ndim; d++) set[d] = (uint32_t)1 << d;
    while (join(set, device) || join(set, host)) continue;
    for (int32_t d = 0; d < device->ndim; d++) {
        if (done >> d & 1 || (set[d] == (uint32_t)1 << d && device->shape[d] <= 1)) continue;
        tg_group *g = &out->at[out->n++];
        g->n = 0;
        for (int32_t e = 0; e < device->ndim; e++)
            if (set[d] >> e & 1) g->dims[g->n++] = e;
        done |= set[d];
        if (are_digits(g, device, host) || order_by_folds_of(g, device, device, host)) continue;
        (void)order_by_folds_of(g, host, device, host);
    }
}
