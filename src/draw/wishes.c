/* The wishes that the notation of a layout has by itself. */
#include "draw/scene.h"

#include <string.h>

static bool is_tiled(const tg_desc *desc) {
    return desc->notation == TG_NOTATION_SPYRE ||
           (desc->notation == TG_NOTATION_XLA && desc->xla.layout.ntiles > 0);
}

tg_status tg_picture_params_init(tg_picture_params *params, tg_layout *host, const tg_desc *desc, tg_error *err) {
    tg_host tensor;
    memset(params, 0, sizeof *params);
    params->unit_name = desc->notation == TG_NOTATION_SPYRE ? "stick" : "tile";
    params->unit = tg_desc_unit(desc);
    if (!is_tiled(desc)) return TG_OK;
    tg_status s = tg_desc_host(&tensor, desc, err);
    if (s == TG_OK)
        s = tg_layout_strided(host, tensor.dtype, tensor.ndim, tensor.shape, tensor.strides, tensor.offset, err);
    if (s == TG_OK) params->host = host;
    return s;
}
