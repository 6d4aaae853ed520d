/* What is true of loops wherever they come from: which is the outer one, and when two are one. */
#include "transfer/dma.h"

static int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; } /* never INT64_MIN */

bool tg_dma_is_outside(const tg_dma_loop *a, const tg_dma_loop *b) {
    const int64_t x = magnitude(a->device_stride), y = magnitude(b->device_stride);
    return x != y ? x > y : magnitude(a->host_stride) > magnitude(b->host_stride);
}

bool tg_dma_fuse(const tg_dma_loop *a, tg_dma_loop *b) {
    int64_t device, host, range, step;
    if (!tg_mul(&device, b->device_stride, b->range) || device != a->device_stride) return false;
    if (!tg_mul(&host, b->host_stride, b->range) || host != a->host_stride) return false;
    if (!tg_mul(&range, a->range, b->range)) return false;
    if (a->dim != b->dim || !tg_mul(&step, b->step, b->range) || step != a->step) b->dim = -1;
    b->range = range;
    b->mode = -1;
    return true;
}
