/* The DCI object of torch-spyre as data: which fields it has, in which order, and what is in them. How it is written,
 * as JSON or as a dict, is the caller's.
 *
 * Source: torch-spyre issue 1303 (docs/sources.md). */
#include "transfer/dma.h"

#include <string.h>

/* What fills a field. */
enum { NOTHING, DIRECTION, SOURCE_FORMAT, TARGET_FORMAT, SOURCE_SHAPE, TARGET_SHAPE };

static const struct {
    const char *name;
    tg_dci_kind kind;
    int32_t     n; /* fields of an object */
    int         filled_by;
    int64_t     value;
} fields[] = {
    {"dsName_", TG_DCI_TEXT, 0, NOTHING, 0},
    {"isHostToSen_", TG_DCI_INT, 0, DIRECTION, 0},
    {"dataformat_src_", TG_DCI_INT, 0, SOURCE_FORMAT, 0},
    {"dataformat_dst_", TG_DCI_INT, 0, TARGET_FORMAT, 0},
    {"dcOpName_", TG_DCI_INT, 0, NOTHING, 0},
    {"pre_expand_dcsi_", TG_DCI_INTS, 0, NOTHING, 0},
    {"pre_input_shape_", TG_DCI_INTS, 0, NOTHING, 0},
    {"dcsi_", TG_DCI_ENTRIES, 0, NOTHING, 0},
    {"input_shape_", TG_DCI_INTS, 0, SOURCE_SHAPE, 0},
    {"output_shape_", TG_DCI_INTS, 0, TARGET_SHAPE, 0},
    {"post_slice_dcsi_", TG_DCI_INTS, 0, NOTHING, 0},
    {"post_output_shape_", TG_DCI_INTS, 0, NOTHING, 0},
    {"input_dimwise_ea_", TG_DCI_INTS, 0, NOTHING, 0},
    {"output_dimwise_ea_", TG_DCI_INTS, 0, NOTHING, 0},
    {"useSpi_", TG_DCI_INT, 0, NOTHING, 0},
    {"spi_", TG_DCI_OBJECT, 5, NOTHING, 0},
    {"valOrIdx_", TG_DCI_INT, 0, NOTHING, 0},
    {"numElems_", TG_DCI_INT, 0, NOTHING, 0},
    {"spBlkSize_", TG_DCI_INT, 0, NOTHING, 0},
    {"nonzeroElems_", TG_DCI_INT, 0, NOTHING, 0},
    {"spBlkStride_", TG_DCI_INT, 0, NOTHING, 0},
    {"gii_", TG_DCI_OBJECT, 7, NOTHING, 0},
    {"input_volume_", TG_DCI_INT, 0, NOTHING, 0},
    {"compress_factor_", TG_DCI_INT, 0, NOTHING, 1},
    {"expanded_idx_val_", TG_DCI_INT, 0, NOTHING, 0},
    {"expanded_volume_", TG_DCI_INT, 0, NOTHING, 0},
    {"base_addr_", TG_DCI_INT, 0, NOTHING, 0},
    {"skip_addr_", TG_DCI_INT, 0, NOTHING, 0},
    {"idx_prev_cum_size_", TG_DCI_INT, 0, NOTHING, 0},
    {"usePca_", TG_DCI_INT, 0, NOTHING, 0},
    {"pca_", TG_DCI_INTS, 0, NOTHING, 0},
};

/* Innermost first; a scalar counts as one dimension of size 1. */
static void reverse(tg_dci_field *out, const int64_t *sizes, int32_t n) {
    out->n = n > 0 ? n : 1;
    out->values[0] = 1;
    for (int32_t i = 0; i < n; i++) out->values[i] = sizes[n - 1 - i];
}

static void fill_shape(tg_dci_field *out, const tg_desc *desc, const tg_layout *host, bool is_host) {
    if (is_host) reverse(out, host->shape, host->ndim);
    else reverse(out, desc->spyre.device_size, desc->spyre.rank);
}

/* Types that the host has no format of its own for are named as on the device. */
static int64_t format_of(const tg_desc *desc, const tg_layout *host, bool is_host) {
    const tg_format device = desc->spyre.device_dtype, own = tg_layout_stored_format(host);
    return is_host && own != TG_FORMAT_INVALID ? own : device;
}

bool tg_dci_get_field(tg_dci_field *out, int32_t index, const tg_desc *desc, const tg_layout *host,
                      tg_dma_direction direction) {
    const bool to_device = direction == TG_HOST_TO_DEVICE;
    if (index < 0 || index >= (int32_t)(sizeof fields / sizeof fields[0])) return false;
    memset(out, 0, sizeof *out);
    out->name = fields[index].name;
    out->kind = fields[index].kind;
    out->n = fields[index].n;
    out->value = fields[index].value;
    if (out->kind == TG_DCI_TEXT) out->text = "DCI-Tensor-0";
    switch (fields[index].filled_by) {
    case DIRECTION: out->value = to_device; break;
    case SOURCE_FORMAT: out->value = format_of(desc, host, to_device); break;
    case TARGET_FORMAT: out->value = format_of(desc, host, !to_device); break;
    case SOURCE_SHAPE: fill_shape(out, desc, host, to_device); break;
    case TARGET_SHAPE: fill_shape(out, desc, host, !to_device); break;
    default: break;
    }
    return true;
}

bool tg_dci_get_entry_field(tg_dci_field *out, int32_t index, const tg_dci *entry, tg_dma_direction direction) {
    static const char *const names[] = {"size_", "offset_src_", "stride_src_", "offset_dst_", "stride_dst_"};
    const bool               is_host = (index <= 2) == (direction == TG_HOST_TO_DEVICE);
    if (index < 0 || index >= (int32_t)(sizeof names / sizeof names[0])) return false;
    memset(out, 0, sizeof *out);
    out->name = names[index];
    if (index == 1 || index == 3) {
        out->value = is_host ? entry->host_offset : entry->device_offset;
        return true;
    }
    const int64_t *values = index == 0 ? entry->size : is_host ? entry->host_stride : entry->device_stride;
    out->kind = TG_DCI_INTS;
    out->n = entry->n;
    memcpy(out->values, values, (size_t)entry->n * sizeof values[0]);
    return true;
}
