/* Which formats a transfer can convert between, as data.
 *
 * Source: torch-spyre's table of supported conversions (docs/sources.md); the pairs hold in both directions. */
#include "transfer/dma.h"

#include "base/error.h"

static const struct {
    tg_format host, device;
} pairs[] = {
    {TG_IEEE_FP16, TG_SEN169_FP16}, {TG_BFLOAT16, TG_SEN169_FP16}, {TG_IEEE_FP32, TG_SEN169_FP16},
    {TG_BOOL, TG_SEN169_FP16},      {TG_IEEE_INT64, TG_IEEE_INT32}, {TG_IEEE_INT64, TG_SENUINT32},
    {TG_IEEE_INT64, TG_SEN169_FP16}, {TG_IEEE_FP32, TG_SEN143_FP8}, {TG_IEEE_FP32, TG_SENINT8},
    {TG_IEEE_FP32, TG_SENINT4},     {TG_IEEE_FP32, TG_SENUINT2},    {TG_IEEE_FP32, TG_BFLOAT16},
};

static bool are_paired(tg_format a, tg_format b) {
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if ((pairs[i].host == a && pairs[i].device == b) || (pairs[i].host == b && pairs[i].device == a)) return true;
    return false;
}

static const char *name_of(tg_format format, const tg_layout *l) {
    return format != TG_FORMAT_INVALID ? tg_format_name(format) : tg_dtype_name(l->dtype);
}

tg_status tg_dma_check_formats(const tg_layout *device, const tg_layout *host, tg_error *err) {
    if (device->dtype != host->dtype)
        return tg_fail(err, TG_ERR_ARGUMENT, "the device holds %s and the host %s", tg_dtype_name(device->dtype),
                       tg_dtype_name(host->dtype));
    if (device->format == host->format) return TG_OK;
    const tg_format a = tg_layout_stored_format(host), b = tg_layout_stored_format(device);
    const bool      is_default = host->format == TG_FORMAT_NATIVE && device->format == tg_format_for_dtype(host->dtype);
    if (is_default || (a != TG_FORMAT_INVALID && (a == b || are_paired(a, b)))) return TG_OK;
    return tg_fail(err, TG_ERR_UNSUPPORTED, "a transfer cannot convert %s on the host to %s on the device",
                   name_of(a, host), name_of(b, device));
}
