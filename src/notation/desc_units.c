/* What a notation knows beside its map: the tensor before it was tiled, how large a stick or tile is, and how
 * torch-spyre divides sticks among cores. Pictures and transfers ask for it. */
#include "notation/notation.h"

#include "base/checked.h"
#include "base/error.h"

#include <string.h>

tg_status tg_desc_host(tg_host *out, const tg_desc *desc, tg_error *err) {
    const tg_layout *l = &desc->layout;
    if (desc->notation != TG_NOTATION_SPYRE) return tg_host_contiguous(out, l->dtype, l->ndim, l->shape, err);
    *out = desc->host;
    return TG_OK;
}

/* ---- sticks and tiles ---- */

/* Memory modes of an XLA layout: the dimensions, or as many as the first tile has, then what is inside of tiles. */
static int64_t tile_places(const tg_desc *desc) {
    const tg_xla_layout *xla = &desc->xla.layout;
    const int32_t        ndim = desc->layout.ndim;
    int64_t              places = 1;
    int32_t              outer = xla->tile_ndim[0] > ndim ? xla->tile_ndim[0] : ndim;
    for (int32_t k = 0; k < TG_XLA_MAX_TILE_DIMS; k++)
        if (xla->tile_dims[k] == TG_XLA_COMBINE) return 0;
    for (int32_t m = 0; m < desc->layout.nmodes; m++) {
        if (desc->layout.mode[m].into != TG_TO_MEMORY || outer-- > 0) continue;
        if (!tg_mul(&places, places, desc->layout.mode[m].size)) return 0;
    }
    return places;
}

int64_t tg_desc_unit(const tg_desc *desc) {
    const int32_t bits = desc->notation == TG_NOTATION_SPYRE ? tg_format_bits(desc->spyre.device_dtype) : 0;
    if (bits > 0) return 8 * TG_SPYRE_STICK_BYTES / bits;
    return desc->notation == TG_NOTATION_XLA && desc->xla.layout.ntiles > 0 ? tile_places(desc) : 0;
}

/* ---- cores ---- */

enum { MOST_CORES = 1 << 16 };

static int64_t largest_divisor(int64_t n, int64_t most) {
    int64_t divisor = most < n ? most : n;
    while (n % divisor != 0) divisor--;
    return divisor;
}

/* The dimension that sticks lie along; -1: every stick has one element. */
static int32_t stick_dim(const tg_layout *l) {
    for (int32_t d = 0; d < l->ndim; d++)
        for (int32_t m = 0; m < l->nmodes; m++) {
            const tg_mode *mode = &l->mode[m];
            if (mode->axis == d && mode->into == TG_TO_MEMORY && mode->stride == 1 && mode->size > 1) return d;
        }
    return -1;
}

static int64_t elements_of_stick(const tg_layout *l, int64_t unit, int32_t d) {
    return tg_unit_scatters(l, unit, d) ? unit : tg_unit_span(l, unit, d);
}

static int32_t largest_undivided(const int64_t *splits, const int64_t *size, int32_t ndim) {
    int32_t largest = -1;
    for (int32_t d = 0; d < ndim; d++)
        if (splits[d] == 0 && (largest < 0 || size[d] > size[largest])) largest = d;
    return largest;
}

tg_status tg_spyre_divide(int64_t *splits, const tg_desc *desc, int64_t cores, tg_error *err) {
    const tg_layout *l = &desc->layout;
    const int64_t    unit = tg_desc_unit(desc);
    int64_t          size[TG_MAX_NDIM], parts[TG_MAX_NDIM] = {0};
    if (desc->notation != TG_NOTATION_SPYRE || unit == 0 || tg_layout_numel(l) == 0)
        return tg_fail(err, TG_ERR_ARGUMENT, "division among cores is for tensors of Spyre that have elements");
    if (cores < 1 || cores > MOST_CORES)
        return tg_fail(err, TG_ERR_ARGUMENT, "cores are 1 to %d, not %d", (int64_t)MOST_CORES, cores);
    memcpy(size, l->shape, sizeof size);
    const int32_t stick = stick_dim(l);
    if (stick >= 0) size[stick] = tg_ceil_div(l->shape[stick], elements_of_stick(l, unit, stick));
    for (int32_t k = 0; k < l->ndim; k++) {
        const int32_t d = largest_undivided(parts, size, l->ndim);
        parts[d] = largest_divisor(size[d], cores);
        cores /= parts[d];
        if (parts[d] > 1 && tg_unit_scatters(l, unit, d))
            return tg_fail_dim(err, TG_ERR_ARGUMENT, d,
                               "%d parts of dimension %d would share sticks: a stick has elements that are not side by "
                               "side",
                               parts[d], (int64_t)d);
    }
    memcpy(splits, parts, (size_t)l->ndim * sizeof splits[0]);
    return TG_OK;
}
