/* How elements stand in sticks after conversions on the device, which move nothing across sticks but neighbours.
 *
 *     one stick of 64 halves  ->  two of 32 singles      DL16_TO_FP32: groups of 4 in turn
 *     back again                                         STANDARD
 *     sticks of 32 singles    ->  one stick of halves    FP32_TO_DL16
 *
 * Source: torch-spyre, element arrangements. */
#include <tegula/rules.h>

#include "base/error.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

bool tg_arrangements_agree(int32_t n, const tg_arrangement *arrangement, const bool *broadcast) {
    tg_arrangement other = TG_STANDARD;
    bool           standard = false, dense = false;
    for (int32_t i = 0; i < n; i++) {
        const bool is_other = arrangement[i] != TG_STANDARD;
        if (is_other && other != TG_STANDARD && arrangement[i] != other) return false;
        if (is_other) other = arrangement[i];
        standard = standard || !is_other;
        dense = dense || (!is_other && broadcast != NULL && !broadcast[i]);
    }
    return other == TG_STANDARD || !standard || (other != TG_EXX2 && !dense);
}

/* clang-format off */
static const struct { tg_format from; tg_arrangement before; tg_format to; tg_arrangement after; } conversions[] = {
    {TG_SEN169_FP16, TG_STANDARD,     TG_IEEE_FP32,   TG_DL16_TO_FP32},
    {TG_SEN169_FP16, TG_FP32_TO_DL16, TG_IEEE_FP32,   TG_STANDARD},
    {TG_IEEE_FP32,   TG_STANDARD,     TG_SEN169_FP16, TG_FP32_TO_DL16},
    {TG_IEEE_FP32,   TG_DL16_TO_FP32, TG_SEN169_FP16, TG_STANDARD},
};
/* clang-format on */

tg_status tg_arrangement_after(tg_arrangement *out, tg_arrangement before, tg_format from, tg_format to, bool sparse,
                               tg_error *err) {
    if (tg_format_bits(from) == tg_format_bits(to) || (sparse && before == TG_STANDARD)) {
        *out = before;
        return TG_OK;
    }
    for (size_t i = 0; i < COUNT(conversions); i++) {
        if (conversions[i].from != from || conversions[i].before != before || conversions[i].to != to) continue;
        *out = conversions[i].after;
        return TG_OK;
    }
    return tg_fail(err, TG_ERR_UNSUPPORTED, "the device does not convert %s in the arrangement %s to %s",
                   tg_format_name(from), tg_arrangement_name(before), tg_format_name(to));
}
