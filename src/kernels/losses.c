/* What a conversion between float formats cannot keep: finite values past the largest, values below the
 * smallest.
 *
 * Magnitudes of floats are ordered like their bits, so each kind of loss is one interval of magnitudes.
 * Its ends are found by bisection with the scalar definition, and counting is comparing. */
#include "kernels/kernels.h"
#include "kernels/unaligned.h"

static uint64_t magnitude_mask(tg_encoding e) { return ((uint64_t)1 << (e.bits - 1)) - 1; }

/* The magnitude of infinity, of NINF, or of the only NaN of f8e4m3fn; finite ones are below. */
static uint64_t infinity_of(tg_kind kind) {
    switch (kind) {
    case TG_KIND_F16: return 0x7c00;
    case TG_KIND_BF16: return 0x7f80;
    case TG_KIND_F32: return 0x7f800000;
    case TG_KIND_F8E4M3FN: return 0x7f;
    case TG_KIND_F8E5M2: return 0x7c;
    default: return 0x7fff;
    }
}

static uint64_t converted(tg_encoding dst, tg_encoding src, uint64_t magnitude) {
    const tg_word in = {magnitude, 0};
    tg_word       out = {0, 0};
    (void)tg_ref_convert(&out, dst, src, in); /* floats always convert */
    return out.lo & magnitude_mask(dst);
}

/* The least magnitude in [low, high) whose conversion reaches `code`, or high. */
static uint64_t first_reaching(tg_encoding dst, tg_encoding src, uint64_t low, uint64_t high, uint64_t code) {
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (converted(dst, src, middle) >= code) high = middle;
        else low = middle + 1;
    }
    return low;
}

bool tg_losses_of(tg_losses *out, tg_encoding dst, tg_encoding src) {
    if (!tg_is_float(dst.kind) || !tg_is_float(src.kind) || tg_encoding_same(dst, src)) return false;
    const uint64_t infinity = infinity_of(src.kind);
    out->bits = src.bits;
    out->vanish_end = (uint32_t)first_reaching(dst, src, 1, infinity, 1);
    out->overflow_begin = (uint32_t)first_reaching(dst, src, 1, infinity, infinity_of(dst.kind));
    out->overflow_end = (uint32_t)infinity;
    return out->vanish_end > 1 || out->overflow_begin < out->overflow_end;
}

#define COUNT(UNIT, MASK)                                                                                         \
    for (int64_t i = 0; i < n; i++) {                                                                             \
        const uint32_t m = ((const UNIT *)base)[first + i] & (MASK);                                              \
        over += m - l->overflow_begin < l->overflow_end - l->overflow_begin;                                      \
        gone += m - 1u < l->vanish_end - 1u;                                                                      \
    }

void tg_losses_count(int64_t *overflowed, int64_t *vanished, const tg_losses *l, const void *base, int64_t first,
                     int64_t n) {
    int64_t over = 0, gone = 0;
    if (l->bits == 8) {
        COUNT(unit8, 0x7fu)
    } else if (l->bits == 16) {
        COUNT(unit16, 0x7fffu)
    } else {
        COUNT(unit32, 0x7fffffffu)
    }
    *overflowed += over;
    *vanished += gone;
}
