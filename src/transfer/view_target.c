/* A layout for a copy of a view: the default one of the tensor's notation. */
#include "transfer/viewing.h"

#include <string.h>

static bool same_device(const tg_spyre *a, const tg_spyre *b) {
    bool same = a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++)
        same = a->device_size[i] == b->device_size[i] && a->stride_map[i] == b->stride_map[i];
    return same;
}

/* Is the layout what keeping dimensions of size 1 gives, and not what dropping them does? */
static bool keeps_units(const tg_desc *tensor, tg_spyre_params params) {
    tg_spyre kept, dropped;
    params.keep_unit_dims = true;
    if (tg_spyre_default(&kept, &tensor->host, &params, NULL) != TG_OK) return false;
    params.keep_unit_dims = false;
    if (tg_spyre_default(&dropped, &tensor->host, &params, NULL) != TG_OK) return true;
    return same_device(&kept, &tensor->spyre) && !same_device(&dropped, &tensor->spyre);
}

static tg_status make_spyre(tg_desc *out, const tg_desc *tensor, tg_error *err) {
    tg_spyre_params params = {.has_device_dtype = true, .device_dtype = tensor->spyre.device_dtype};
    params.keep_unit_dims = keeps_units(tensor, params);
    const tg_status s = tg_spyre_default(&out->spyre, &out->host, &params, err);
    return s == TG_OK ? tg_layout_from_spyre(&out->layout, &out->spyre, &out->host, err) : s;
}

static tg_status make_xla(tg_desc *out, const tg_desc *tensor, tg_error *err) {
    tg_xla_shape *x = &out->xla;
    *x = tensor->xla;
    x->ndim = x->layout.ndim = out->host.ndim;
    x->layout.nsplits = 0;
    for (int32_t d = 0; d < x->ndim; d++) {
        x->dims[d] = out->host.shape[d];
        x->dynamic[d] = false;
        x->layout.minor_to_major[d] = x->ndim - 1 - d;
    }
    for (int32_t i = 0; i < x->layout.ntiles; i++)
        if (x->layout.tile_ndim[i] > x->ndim) x->layout.ntiles = 0;
    memset(out->host.strides, 0, sizeof out->host.strides);
    return tg_layout_from_xla(&out->layout, x, err);
}

tg_status tg_view_target(tg_desc *out, const tg_desc *tensor, const tg_view *view, tg_error *err) {
    tg_desc   desc;
    tg_status s = tg_view_check(view, err);
    memset(&desc, 0, sizeof desc);
    desc.notation = tensor->notation;
    if (s == TG_OK) s = tg_host_contiguous(&desc.host, tensor->layout.dtype, view->ndim, view->shape, err);
    if (s != TG_OK) return s;
    switch (tensor->notation) {
    case TG_NOTATION_SPYRE: s = make_spyre(&desc, tensor, err); break;
    case TG_NOTATION_XLA: s = make_xla(&desc, tensor, err); break;
    case TG_NOTATION_STRIDED:
    case TG_NOTATION_CUTE:
        s = tg_layout_strided(&desc.layout, tensor->layout.dtype, view->ndim, view->shape, NULL, 0, err);
        break;
    }
    if (s == TG_OK) *out = desc;
    return s;
}
