/* Two lines of notation become a device and a host layout, and programs for both directions: every place that the
 * definition says is written once, from where it says. */
#include <tegula/transfer.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_SPAN = 1 << 12, MAX_PROGRAM = 256 };

static tg_dma  program[MAX_PROGRAM];
static int64_t from[MAX_SPAN];

static void require(bool holds) {
    if (!holds) abort();
}

static bool next(int64_t *coord, const int64_t *shape, int32_t ndim) {
    for (int32_t d = ndim; d-- > 0;) {
        if (++coord[d] < shape[d]) return true;
        coord[d] = 0;
    }
    return false;
}

/* Where each place of `to` comes from: the first copy of it in `src`; -1: from nowhere. Copies of `to` are left out. */
static void expect(const tg_layout *to, const tg_layout *src) {
    int64_t coord[TG_MAX_NDIM] = {0};
    for (int i = 0; i < MAX_SPAN; i++) from[i] = -1;
    if (tg_layout_numel(to) == 0) return;
    do {
        int64_t *place = &from[tg_layout_offset(to, coord)];
        if (*place < 0) *place = tg_layout_offset(src, coord);
    } while (next(coord, to->shape, to->ndim));
}

static bool has_copies(const tg_layout *l) {
    for (int32_t i = 0; i < l->nmodes; i++)
        if (l->mode[i].axis == TG_AXIS_COPY) return true;
    return false;
}

static void walk(const tg_dma *dma, int32_t level, bool to_device, int64_t device, int64_t host) {
    if (level < dma->nloops) {
        const tg_dma_loop *l = &dma->loop[level];
        for (int64_t i = 0; i < l->range; i++)
            walk(dma, level + 1, to_device, device + i * l->device_stride, host + i * l->host_stride);
        return;
    }
    const int64_t to = to_device ? device : host, src = to_device ? host : device;
    require(to >= 0 && to < MAX_SPAN && from[to] == src);
    from[to] = -1;
}

static void check(const tg_layout *device, const tg_layout *host, tg_dma_direction direction, bool per_mode) {
    const tg_dma_params params = {device, host, direction, per_mode, 0};
    const bool          to_device = direction == TG_HOST_TO_DEVICE;
    size_t              count;
    tg_error            err = {.message = ""};
    if (tg_dma_build(program, MAX_PROGRAM, &count, &params, &err) != TG_OK) {
        require(err.message[0] != '\0');
        return;
    }
    if (count > MAX_PROGRAM || device->span > MAX_SPAN || host->span > MAX_SPAN) return;
    for (size_t i = 0; i < count; i++) {
        char text[256];
        (void)tg_dma_format(text, sizeof text, &program[i]);
        (void)tg_dma_format_loops(text, sizeof text, &program[i], direction);
    }
    int64_t coord[TG_MAX_NDIM] = {0};
    if (tg_layout_numel(device) == 0 || tg_layout_offset(device, coord) < 0 || tg_layout_offset(host, coord) < 0)
        return;
    if (has_copies(device) || has_copies(host) || device->offset < 0 || host->offset < 0) return;
    for (int32_t i = 0; i < device->nmodes; i++) if (device->mode[i].stride < 0) return;
    for (int32_t i = 0; i < host->nmodes; i++) if (host->mode[i].stride < 0) return;
    if (to_device) expect(device, host);
    else expect(host, device);
    for (size_t i = 0; i < count; i++)
        walk(&program[i], 0, to_device, program[i].device_offset, program[i].host_offset);
    for (int i = 0; i < MAX_SPAN; i++) require(from[i] < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tg_desc device, host;
    const uint8_t *line = memchr(data, '\n', size);
    const size_t   n = line != NULL ? (size_t)(line - data) : size;
    if (tg_desc_parse(&device, (const char *)data, n, NULL) != TG_OK) return 0;
    if (line != NULL) {
        if (tg_desc_parse(&host, (const char *)line + 1, size - n - 1, NULL) != TG_OK) return 0;
    } else if (tg_layout_strided(&host.layout, device.layout.dtype, device.layout.ndim, device.layout.shape, NULL, 0,
                                 NULL) != TG_OK) {
        return 0;
    }
    for (int i = 0; i < 4; i++)
        check(&device.layout, &host.layout, i % 2 == 0 ? TG_HOST_TO_DEVICE : TG_DEVICE_TO_HOST, i >= 2);
    return 0;
}
