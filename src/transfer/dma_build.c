/* From two layouts to a program.
 *
 * Each group of dimensions becomes pieces (dma_cut.c); a descriptor is a choice of one piece for each group, so two
 * ragged dimensions give four. What every descriptor has besides are the copies that the written side keeps. Loops are
 * ordered by their steps in device memory, and those that walk on where an inner one ends are fused:
 *
 *     f16[1024,256] to [4][1024][64]    dimension 0: (1024; 64, 256)
 *                                       dimension 1: (4; 65536, 64) (64; 1, 1)
 *     sorted                            (4; 65536, 64) (1024; 64, 256) (64; 1, 1)      nothing to fuse */
#include "transfer/dma.h"

#include "base/error.h"

/* What a program is made of. */
typedef struct job {
    const tg_dma_params *params;
    tg_layout            device, host; /* dimensions that are written once although expanded are cut to size 1 */
    tg_groups            groups;
    tg_pieces            pieces;
    int32_t              first[TG_MAX_NDIM + 1]; /* pieces of group g: [first[g], first[g + 1]) */
} job;

static bool is_to_device(const job *j) { return j->params->direction == TG_HOST_TO_DEVICE; }
static const tg_layout *written(const job *j) { return is_to_device(j) ? &j->device : &j->host; }

/* ---- checking ---- */

static tg_status check_shapes(const tg_layout *device, const tg_layout *host, tg_error *err) {
    bool same = device->ndim == host->ndim;
    for (int32_t d = 0; same && d < device->ndim; d++) same = device->shape[d] == host->shape[d];
    return same ? TG_OK
                : tg_fail(err, TG_ERR_ARGUMENT, "the device layout has shape %v and the host layout %v", device->shape,
                          device->ndim, host->shape, host->ndim);
}

static bool is_expanded(const tg_layout *l, int32_t d) {
    if (l->shape[d] <= 1) return false;
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->axis == d && m->count > 1 && (!tg_is_memory(m) || m->stride != 0)) return false;
    }
    return true;
}

/* Folds that are none (XLA's `*` before a tile that fits) are undone, so that they join no dimensions. What stays is
 * the map; which mode of the device a loop walks is asked of the layout that was given. */
static tg_status undo_folds(job *j, tg_error *err) {
    tg_status s = TG_OK;
    if (j->device.naxes > j->device.ndim) s = tg_layout_coalesce(&j->device, &j->device, err);
    if (s == TG_OK && j->host.naxes > j->host.ndim) s = tg_layout_coalesce(&j->host, &j->host, err);
    return s;
}

/* With a loop for each mode, folds stay where they can. */
static tg_status find_groups(job *j, tg_error *err) {
    bool are_numbers = j->params->per_mode;
    if (are_numbers) tg_groups_find(&j->groups, &j->device, &j->host);
    for (int32_t g = 0; are_numbers && g < j->groups.n; g++) are_numbers = j->groups.at[g].is_number;
    if (are_numbers) return TG_OK;
    const tg_status s = undo_folds(j, err);
    if (s == TG_OK) tg_groups_find(&j->groups, &j->device, &j->host);
    return s;
}

/* Dimensions of the written side that all go to the same place are written once. */
static tg_status write_once(job *j, tg_error *err) {
    for (int32_t d = 0; d < written(j)->ndim; d++) {
        if (!is_expanded(written(j), d)) continue;
        tg_status s = tg_layout_slice(&j->device, &j->device, d, 0, 1, 1, err);
        if (s == TG_OK) s = tg_layout_slice(&j->host, &j->host, d, 0, 1, 1, err);
        if (s != TG_OK) return s;
    }
    return TG_OK;
}

static tg_status check_unique(const job *j, tg_error *err) {
    int64_t   span;
    tg_extent extent;
    bool      unique = false;
    if (tg_layout_dense(&span, written(j)) && tg_layout_quick(&extent, written(j))) return TG_OK;
    const tg_status s = tg_layout_coverage(&unique, NULL, NULL, written(j), err);
    if (s != TG_OK || unique) return s;
    return tg_fail(err, TG_ERR_ARGUMENT, "the %s layout has two elements in one place and cannot be written",
                   is_to_device(j) ? "device" : "host");
}

/* ---- pieces ---- */

static bool cut_group(job *j, const tg_group *g) {
    tg_digits device = g->device, host = g->host;
    if (!g->is_number) return tg_pieces_enumerate(&j->pieces, &j->device, &j->host, g->dims, g->n);
    if (!j->params->per_mode) tg_digits_coalesce(&device);
    tg_digits_coalesce(&host);
    return tg_pieces_cut(&j->pieces, &device, &host);
}

static tg_status cut_groups(job *j, tg_error *err) {
    j->pieces.n = j->pieces.nloops = 0;
    for (int32_t i = 0; i < j->groups.n; i++) {
        const tg_group *g = &j->groups.at[i];
        j->first[i] = j->pieces.n;
        if (!cut_group(j, g))
            return tg_fail_dim(err, TG_ERR_LIMIT, g->dims[0],
                               "dimension %d is cut so differently by host and device that it needs over %d pieces",
                               (int64_t)g->dims[0], (int64_t)TG_MAX_PIECES);
        if (!j->params->per_mode) tg_pieces_merge(&j->pieces, j->first[i]);
    }
    j->first[j->groups.n] = j->pieces.n;
    return TG_OK;
}

/* ---- descriptors ---- */

static bool insert_loop(tg_dma *out, tg_dma_loop loop) {
    if (loop.range == 1) return true;
    if (out->nloops == TG_DMA_MAX_LOOPS) return false;
    int32_t i = out->nloops++;
    for (; i > 0 && tg_dma_is_outside(&loop, &out->loop[i - 1]); i--) out->loop[i] = out->loop[i - 1];
    out->loop[i] = loop;
    return true;
}

static void fuse(tg_dma *out) {
    for (int32_t i = out->nloops - 1; i > 0; i--) {
        if (!tg_dma_fuse(&out->loop[i - 1], &out->loop[i])) continue;
        out->nloops--;
        for (int32_t k = i - 1; k < out->nloops; k++) out->loop[k] = out->loop[k + 1];
    }
}

/* The memory mode that a step of this size walks, or -1. */
static int32_t mode_of(const tg_layout *device, int64_t stride, int64_t range) {
    for (int32_t i = 0; i < device->nmodes; i++) {
        const tg_mode *m = &device->mode[i];
        if (tg_is_memory(m) && m->size > 1 && m->stride == stride && range <= m->size) return i;
    }
    return -1;
}

static bool add_piece(tg_dma *out, const job *j, const tg_group *g, const tg_piece *p) {
    out->device_offset += p->device; /* fit: these are offsets of elements */
    out->host_offset += p->host;
    for (int32_t i = 0; i < p->nloops; i++) {
        const tg_piece_loop *l = &j->pieces.loop[p->first + i];
        const tg_dma_loop    loop = {l->n, l->device, l->host, mode_of(j->params->device, l->device, l->n),
                                  g->n == 1 ? g->dims[0] : -1, l->step};
        if (!insert_loop(out, loop)) return false;
    }
    return true;
}

static bool add_copies_of(tg_dma *out, const tg_layout *l, bool is_device) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->axis != TG_AXIS_COPY) continue;
        const tg_dma_loop loop = {m->size, is_device ? m->stride : 0, is_device ? 0 : m->stride, is_device ? i : -1, -1,
                                  0};
        if (!insert_loop(out, loop)) return false;
    }
    return true;
}

/* Every copy of the written side; of the read side the first, or all where every mode has its loop. */
static bool add_copies(tg_dma *out, const job *j) {
    const bool device = is_to_device(j) || j->params->per_mode;
    return (!device || add_copies_of(out, &j->device, true)) &&
           (is_to_device(j) || add_copies_of(out, &j->host, false));
}

static tg_status make(tg_dma *out, const job *j, const int32_t *chosen, tg_error *err) {
    out->nloops = 0;
    out->device_offset = j->device.offset;
    out->host_offset = j->host.offset;
    bool done = add_copies(out, j);
    for (int32_t g = 0; done && g < j->groups.n; g++)
        done = add_piece(out, j, &j->groups.at[g], &j->pieces.at[chosen[g]]);
    if (!done)
        return tg_fail(err, TG_ERR_LIMIT, "a descriptor needs more than %d loops", (int64_t)TG_DMA_MAX_LOOPS);
    if (!j->params->per_mode) fuse(out);
    return TG_OK;
}

static tg_status count_descriptors(size_t *count, const job *j, tg_error *err) {
    *count = 1;
    for (int32_t g = 0; g < j->groups.n; g++)
        if (__builtin_mul_overflow(*count, (size_t)(j->first[g + 1] - j->first[g]), count))
            return tg_fail(err, TG_ERR_OVERFLOW, "the number of descriptors does not fit");
    return TG_OK;
}

/* Choices are counted with the last group first. */
static void choose(int32_t *chosen, const job *j, size_t number) {
    for (int32_t g = j->groups.n; g-- > 0;) {
        const size_t n = (size_t)(j->first[g + 1] - j->first[g]);
        chosen[g] = j->first[g] + (int32_t)(number % n);
        number /= n;
    }
}

static tg_status make_all(tg_dma *out, size_t cap, size_t *count, job *j, tg_error *err) {
    const size_t first = j->params->first;
    int32_t      chosen[TG_MAX_NDIM];
    size_t       n;
    tg_status    s = count_descriptors(&n, j, err);
    for (size_t i = 0; s == TG_OK && i < cap && first < n && i < n - first; i++) {
        choose(chosen, j, first + i);
        s = make(&out[i], j, chosen, err);
    }
    if (s == TG_OK) *count = n;
    return s;
}

tg_status tg_dma_build(tg_dma *out, size_t cap, size_t *count, const tg_dma_params *params, tg_error *err) {
    job       j;
    tg_status s;
    j.params = params;
    if (params->direction != TG_HOST_TO_DEVICE && params->direction != TG_DEVICE_TO_HOST)
        return tg_fail(err, TG_ERR_ARGUMENT, "%d is no direction", (int64_t)params->direction);
    if ((s = tg_layout_validate(params->device, err)) != TG_OK) return s;
    if ((s = tg_layout_validate(params->host, err)) != TG_OK) return s;
    if ((s = check_shapes(params->device, params->host, err)) != TG_OK) return s;
    if ((s = tg_dma_check_formats(params->device, params->host, err)) != TG_OK) return s;
    if (tg_layout_numel(params->device) == 0) {
        *count = 0;
        return TG_OK;
    }
    j.device = *params->device;
    j.host = *params->host;
    if ((s = write_once(&j, err)) != TG_OK || (s = check_unique(&j, err)) != TG_OK) return s;
    if ((s = find_groups(&j, err)) != TG_OK || (s = cut_groups(&j, err)) != TG_OK) return s;
    return make_all(out, cap, count, &j, err);
}

int64_t tg_dma_elements(const tg_dma *dma) {
    int64_t n = 1;
    for (int32_t i = 0; i < dma->nloops; i++)
        if (!tg_mul(&n, n, dma->loop[i].range)) return -1;
    return n;
}
