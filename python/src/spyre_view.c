/* A strided view of a storage, as a layout of the device memory behind it.
 *
 * A view is sizes, strides and an offset in host elements. The map of a block says where the coordinates of its host
 * tensor lie. Two frames are tried, each a set of dimensions (size, weight) that every host element is a mixed-radix
 * number of; a view is understood when each of its dimensions steps along one dimension of the frame:
 *
 *     the host tensor itself            x.t(), x[3], x[:, 5:80:2], x.permute(...)
 *     the storage cut at the strides    x.view(6, -1), x.flatten(), x.unflatten(...), and the same of those
 *
 *     example: host (5, 100, 150), view x[2, :, 64:128] = sizes (100, 64), strides (150, 1), offset 30064
 *     frame      5 x 15000    100 x 150    150 x 1
 *     offset         2            0           64
 *     view                      dim 0        dim 1
 *     taken       [2, 3)      [0, 100)    [64, 128)
 *
 * What a dimension takes is cut out of the layout where the algebra can say so; where it cannot (a piece that starts
 * inside a stick), it stays as bounds of the box. */
#include "spyre.h"

#include <string.h>

typedef struct frame {
    tg_layout layout;
    int32_t   n;
    int64_t   size[TG_MAX_NDIM], weight[TG_MAX_NDIM];
} frame;

static void host_frame(frame *out, const spyre_block *block) {
    out->layout = block->map;
    out->n = block->host.ndim;
    memcpy(out->size, block->host.shape, sizeof out->size);
    memcpy(out->weight, block->host.strides, sizeof out->weight);
}

/* Dimensions by decreasing stride; those of size 1 behind all others. */
static void by_stride(int32_t *order, const tg_host *host) {
    for (int32_t i = 0; i < host->ndim; i++) {
        int32_t at = i;
        for (; at > 0; at--) {
            const int32_t before = order[at - 1];
            if (host->shape[before] != 1 && (host->shape[i] == 1 || host->strides[before] >= host->strides[i])) break;
            order[at] = before;
        }
        order[at] = i;
    }
}

/* The distinct strides of a view, decreasing, ending in 1; each must divide the one before. Their number, or -1. */
static int32_t cuts_of(int64_t *cuts, const spyre_view *view) {
    int32_t n = 0;
    for (int32_t i = 0; i < view->ndim; i++) {
        const int64_t stride = view->stride[i];
        if (view->size[i] <= 1 || stride == 0) continue;
        int32_t at = 0;
        while (at < n && cuts[at] > stride) at++;
        if (at < n && cuts[at] == stride) continue;
        memmove(cuts + at + 1, cuts + at, (size_t)(n - at) * sizeof *cuts);
        cuts[at] = stride;
        n++;
    }
    if (n == 0 || cuts[n - 1] != 1) cuts[n++] = 1;
    for (int32_t i = 1; i < n; i++)
        if (cuts[i - 1] % cuts[i] != 0) return -1;
    return n;
}

/* The storage cut at the strides of the view. */
static bool cut_frame(frame *out, const spyre_block *block, const spyre_view *view) {
    int64_t       cuts[TG_MAX_NDIM + 1];
    int32_t       order[TG_MAX_NDIM];
    const int32_t n = cuts_of(cuts, view);
    const int64_t all = tg_layout_numel(&block->map);
    if (block->gaps || n < 0 || n > TG_MAX_NDIM || all % cuts[0] != 0) return false;
    out->n = n;
    for (int32_t i = 0; i < n; i++) {
        out->weight[i] = cuts[i];
        out->size[i] = (i == 0 ? all : cuts[i - 1]) / cuts[i];
    }
    by_stride(order, &block->host);
    return tg_layout_permute(&out->layout, &block->map, order, NULL) == TG_OK &&
           tg_layout_reshape(&out->layout, &out->layout, n, out->size, NULL) == TG_OK;
}

/* The frame dimension that a stride steps along: the widest free one that it is a multiple of. -1 if none. */
static int32_t along(const frame *f, const bool *taken, int64_t stride) {
    int32_t best = -1;
    for (int32_t d = 0; d < f->n; d++)
        if (!taken[d] && f->size[d] > 1 && f->weight[d] <= stride && stride % f->weight[d] == 0 &&
            (best < 0 || f->weight[d] > f->weight[best]))
            best = d;
    return best;
}

/* The coordinates of an offset. */
static bool split_offset(int64_t *begin, const frame *f, int64_t offset) {
    bool done[TG_MAX_NDIM] = {false};
    memset(begin, 0, TG_MAX_NDIM * sizeof *begin);
    for (int32_t i = 0; i < f->n && offset > 0; i++) {
        int32_t widest = -1;
        for (int32_t d = 0; d < f->n; d++)
            if (!done[d] && f->size[d] > 1 && (widest < 0 || f->weight[d] > f->weight[widest])) widest = d;
        if (widest < 0) break;
        done[widest] = true;
        begin[widest] = offset / f->weight[widest];
        offset %= f->weight[widest];
        if (begin[widest] >= f->size[widest]) return false;
    }
    return offset == 0;
}

/* Take `count` coordinates of dimension d: out of the layout if it can be said, else as bounds. */
static bool take(spyre_box *out, int32_t d, int64_t begin, int64_t count, int64_t step) {
    const int64_t stop = begin + (count - 1) * step + 1;
    out->begin[d] = 0;
    out->end[d] = count;
    if (begin == 0 && step == 1 && count == out->layout.shape[d]) return true;
    if (tg_layout_slice(&out->layout, &out->layout, d, begin, stop, step, NULL) == TG_OK) return true;
    out->begin[d] = begin;
    out->end[d] = stop;
    out->whole = false;
    return step == 1;
}

/* A dimension of stride 0: the same elements `size` times, as a last dimension. */
static bool repeat(spyre_box *out, int32_t view_dim, int64_t size) {
    const int32_t d = out->layout.ndim;
    if (d == TG_MAX_NDIM || tg_layout_unsqueeze(&out->layout, &out->layout, d, NULL) != TG_OK ||
        tg_layout_expand(&out->layout, &out->layout, d, size, NULL) != TG_OK)
        return false;
    out->dim[d] = view_dim;
    out->begin[d] = 0;
    out->end[d] = size;
    return true;
}

static bool place(spyre_box *out, const frame *f, const spyre_view *view) {
    bool    taken[TG_MAX_NDIM] = {false};
    int64_t begin[TG_MAX_NDIM], count[TG_MAX_NDIM], step[TG_MAX_NDIM];
    if (!split_offset(begin, f, view->offset)) return false;
    for (int32_t d = 0; d < f->n; d++) out->dim[d] = -1, count[d] = 1, step[d] = 1;
    for (int32_t i = 0; i < view->ndim; i++) {
        if (view->size[i] <= 1 || view->stride[i] == 0) continue;
        const int32_t d = along(f, taken, view->stride[i]);
        if (d < 0) return false;
        taken[d] = true;
        out->dim[d] = i;
        count[d] = view->size[i];
        step[d] = view->stride[i] / f->weight[d];
        if (count[d] > (f->size[d] - 1 - begin[d]) / step[d] + 1) return false;
    }
    out->layout = f->layout;
    out->whole = true;
    for (int32_t d = 0; d < f->n; d++)
        if (!take(out, d, begin[d], count[d], step[d])) return false;
    for (int32_t i = 0; i < view->ndim; i++)
        if (view->size[i] > 1 && view->stride[i] == 0 && !repeat(out, i, view->size[i])) return false;
    return true;
}

bool spyre_view_box(spyre_box *out, const spyre_block *block, const spyre_view *view) {
    frame f;
    memset(&f, 0, sizeof f);
    host_frame(&f, block);
    if (place(out, &f, view)) return true;
    return cut_frame(&f, block, view) && place(out, &f, view);
}
