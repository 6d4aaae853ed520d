/* What is neither rows nor a transpose: gathers, scatters, broadcasts, both steps odd. Element by element,
 * by loads and stores of their width. */
#include "kernels/stream.h"
#include "kernels/unaligned.h"
#include "kernels/variants.h"

#include <string.h>

#define DEFINE_STRIDED(UNIT)                                                                                    \
    static void line_##UNIT(uint8_t *restrict d, const uint8_t *restrict s, const tg_block *b) {                \
        const int64_t dc = b->dst_col, sc = b->src_col;                                                         \
        int64_t       n = b->cols;                                                                              \
        for (; n >= 4; n -= 4, d += 4 * dc, s += 4 * sc) {                                                      \
            const UNIT v0 = *(const UNIT *)(const void *)s, v1 = *(const UNIT *)(const void *)(s + sc),         \
                       v2 = *(const UNIT *)(const void *)(s + 2 * sc),                                          \
                       v3 = *(const UNIT *)(const void *)(s + 3 * sc);                                          \
            *(UNIT *)(void *)d = v0;                                                                            \
            *(UNIT *)(void *)(d + dc) = v1;                                                                     \
            *(UNIT *)(void *)(d + 2 * dc) = v2;                                                                 \
            *(UNIT *)(void *)(d + 3 * dc) = v3;                                                                 \
        }                                                                                                       \
        for (; n > 0; n--, d += dc, s += sc) *(UNIT *)(void *)d = *(const UNIT *)(const void *)s;               \
    }                                                                                                           \
                                                                                                                \
    static const uint8_t *strided_##UNIT(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {  \
        const int64_t width = (int64_t)sizeof(UNIT);                                                            \
        if (b->src_col == 0 && b->dst_col == width) return broadcast(m, d, s, b);                               \
        for (int64_t o = 0; o < b->outer; o++)                                                                  \
            for (int64_t r = 0; r < b->rows; r++)                                                               \
                line_##UNIT(d + o * b->dst_outer + r * b->dst_row, s + o * b->src_outer + r * b->src_row, b);   \
        return NULL;                                                                                            \
    }

/* One element all along a row. */
static const uint8_t *broadcast(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const size_t width = (size_t)m->dst_width;
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            const uint8_t *const element = s + o * b->src_outer + r * b->src_row;
            uint8_t              pattern[TG_PAD_PATTERN];
            for (size_t i = 0; i < TG_PAD_PATTERN; i += width) memcpy(pattern + i, element, width);
            tg_fill_bytes(d + o * b->dst_outer + r * b->dst_row, b->cols * m->dst_width, pattern, m->stream);
        }
    return NULL;
}

DEFINE_STRIDED(unit8)
DEFINE_STRIDED(unit16)
DEFINE_STRIDED(unit32)
DEFINE_STRIDED(unit64)
DEFINE_STRIDED(unit128)

tg_block_move *tg_strided_for(uint32_t cpu, int32_t width) {
    (void)cpu;
    switch (width) {
    case 1: return strided_unit8;
    case 2: return strided_unit16;
    case 4: return strided_unit32;
    case 8: return strided_unit64;
    default: return strided_unit128;
    }
}
