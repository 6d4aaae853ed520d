/* Descriptors as torch-spyre writes them: one entry for each device dimension, innermost first.
 *
 * Its readers know the device dimensions by position, so nothing is fused, and dimensions of one step are listed; what
 * their host step says does not matter, and is what torch-spyre prints: the stride_map's number, 1 for -1, and the
 * stride of the tensor that is moved where that number is the stride of a dimension. */
#include "transfer/dma.h"

#include "base/error.h"

/* What a step along device dimension k is for the host, also if there is none. */
static int64_t host_step(const tg_desc *desc, const int64_t *strides, int32_t k) {
    const int64_t map = desc->spyre.stride_map[k];
    if (map == -1) return 1;
    for (int32_t d = 0; d < desc->host.ndim; d++)
        if (strides != NULL && map == desc->host.strides[d]) return strides[d];
    return map;
}

static void begin_entries(tg_dci *out, const tg_desc *desc, const int64_t *strides) {
    const tg_layout *l = &desc->layout;
    int32_t          n = 0; /* memory modes stand first */
    while (n < l->nmodes && tg_is_memory(&l->mode[n])) n++;
    const bool is_standard = n == desc->spyre.rank; /* an arrangement cuts device dimensions further */
    out->n = n;
    for (int32_t i = 0; i < n; i++) {
        const int32_t k = n - 1 - i;
        out->size[i] = 1;
        out->device_stride[i] = l->mode[k].stride;
        out->host_stride[i] = is_standard ? host_step(desc, strides, k) : 1;
    }
}

static bool set_entry(tg_dci *out, int32_t i, const tg_dma_loop *loop) {
    if (i >= TG_DMA_MAX_LOOPS) return false;
    out->size[i] = loop->range;
    out->device_stride[i] = loop->device_stride;
    out->host_stride[i] = loop->host_stride;
    return true;
}

tg_status tg_dci_from_dma(tg_dci *out, const tg_dma *dma, const tg_desc *desc, const int64_t *host_strides,
                          tg_error *err) {
    if (desc->notation != TG_NOTATION_SPYRE)
        return tg_fail(err, TG_ERR_ARGUMENT, "only a Spyre layout has DCI, this one is %s",
                       tg_notation_name(desc->notation));
    begin_entries(out, desc, host_strides);
    const int32_t nmodes = out->n;
    out->device_offset = dma->device_offset;
    out->host_offset = dma->host_offset;
    for (int32_t i = dma->nloops; i-- > 0;) {
        const tg_dma_loop *loop = &dma->loop[i];
        const int32_t      at = loop->mode >= 0 && loop->mode < nmodes ? nmodes - 1 - loop->mode : -1;
        const bool         is_free = at >= 0 && out->size[at] == 1;
        if (!set_entry(out, is_free ? at : out->n++, loop))
            return tg_fail(err, TG_ERR_LIMIT, "a DCI descriptor needs more than %d entries",
                           (int64_t)TG_DMA_MAX_LOOPS);
    }
    return TG_OK;
}
