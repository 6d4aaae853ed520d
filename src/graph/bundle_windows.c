/* The kernel of a convolution, of all channels or of each by itself. Windows of more than one place are its windows,
 * and their places are loops that the weights have. Where there is none, all channels are a product of matrices, and
 * each by itself is multiplied:
 *
 *     y[n,h,w,o] = sum of x[n,h,w,i] * k[i,o]      rows n, h and w, columns o
 *
 * What the device's convolution does not do is for the host. Source: torch-spyre, conv2d. */
#include "graph/bundle.h"

#include "base/checked.h"
#include "base/error.h"
#include "graph/rules.h"

#include <string.h>

static tg_status refuse(tg_error *err, const char *why) { return tg_fail(err, TG_ERR_UNSUPPORTED, "%s", why); }

/* Reads one place after the other, each for one position. */
static bool is_still(const tg_window *w, int64_t positions) {
    return w->size == 1 && w->stride == w->base_dilation && w->low == 0 && positions <= w->extent;
}

static const char *find_obstacle(const tg_window *w, int64_t positions) {
    if (is_still(w, positions)) return NULL;
    if (w->base_dilation != 1) return "its activation is spread out, as that of a transposed convolution";
    if (w->reversed && w->size > 1) return "its weights are read backwards";
    if (w->size <= 1) return "a window of one place that moves in steps, or over padding";
    if (positions <= 1) return "a window has one position only";
    return NULL;
}

/* Loops that all three have: rows of each group, or channels that are not summed up. */
static uint32_t groups_of(const tg_build *b) {
    const uint32_t x = tg_access_loops(&b->tensors[0].access), y = tg_access_loops(&b->tensors[1].access);
    return x & y & tg_access_loops(&b->tensors[2].access);
}

/* The terms that windows stand for come behind those that are known. */
static void keep_known(tg_build *b, int32_t k) {
    tg_access *a = &b->tensors[k].access;
    int32_t    n = 0;
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop != TG_LOOP_UNKNOWN) b->walked[k][n++] = a->terms[i];
    a->nterms = n;
    a->terms = b->walked[k];
}

static void walk(tg_build *b, int32_t k, int32_t loop, int64_t step) {
    if (step > 0) b->walked[k][b->tensors[k].access.nterms++] = (tg_term){.loop = loop, .step = step};
}

/* Padding below 0 in front leaves out the first places. */
static void add_window(tg_build *b, const tg_window *w) {
    const int64_t cut = tg_min(tg_max(-w->low, 0), w->extent);
    const int32_t within = b->kernel.nloops++;
    b->ranges[within] = w->size;
    b->splits[within] = 1;
    b->tensors[0].access.offset += cut * w->step;
    walk(b, 0, w->loop, w->step);
    walk(b, 1, within, w->kernel_step);
    b->windows[b->kernel.nwindows++] = (tg_kernel_window){w->loop, within, w->stride, w->dilation, tg_max(w->low, 0),
                                                          w->extent - cut};
}

tg_status tg_build_convolution(tg_build *b, const tg_graph *graph, int64_t node, tg_error *err) {
    const tg_node_row *n = tg_node_at(graph, node);
    const tg_window   *windows = tg_node_windows(graph, n);
    for (uint32_t i = 0; i < n->nwindows; i++) {
        const char *why = find_obstacle(&windows[i], b->ranges[windows[i].loop]);
        if (why != NULL) return refuse(err, why);
    }
    if (n->nwindows == 0 || b->kernel.nloops + (int32_t)n->nwindows > TG_MAX_LOOPS)
        return refuse(err, "nothing is known of its windows");
    const bool depthwise = n->in_channel == n->out_channel;
    if (groups_of(b) != (depthwise ? UINT32_C(1) << n->out_channel : 0))
        return refuse(err, "the device convolves all channels, or each by itself, and no groups of them");
    const tg_spyre *x = &b->tensors[0].layout;
    if (!depthwise && b->ranges[n->in_channel] % x->device_size[x->rank - 1] != 0)
        return refuse(err, "its in-channels are no whole sticks, and nothing fills its weights");
    for (int32_t k = 0; k < 2; k++) keep_known(b, k);
    for (uint32_t i = 0; i < n->nwindows; i++) {
        const tg_window *w = &windows[i];
        if (is_still(w, b->ranges[w->loop])) walk(b, 0, w->loop, w->step);
        else add_window(b, w);
    }
    b->kernel.windows = b->windows;
    if (b->kernel.nwindows > 0) {
        b->kernel.kind = TG_KERNEL_CONVOLUTION;
        b->kernel.op = depthwise ? "depthwiseconv2dnative" : "conv2d";
    } else {
        b->kernel.kind = depthwise ? TG_KERNEL_POINTWISE : TG_KERNEL_MATMUL;
        b->kernel.op = depthwise ? "mul" : "batchmatmul";
    }
    return TG_OK;
}
