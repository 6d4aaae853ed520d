/* What is neither rows nor a transpose: gathers, scatters, broadcasts, both steps odd. Element by element, by loads and
 * stores of their width, but for
 *
 * broadcasts   one element all along a row: vectors of it (broadcast.inc.h)
 * small steps  on one side, of elements that are neighbours on the other one: with AVX-512, whole vectors. For every
 *              second one of 16 elements, two vectors a and b are read, and each gives half of what is written:
 *
 *                  a    0 1 2 3 4 5 6 7 8 9 a b c d e f      0 2 4 6 8 a c e . . . . . . . .
 *                  b    g h i j k l m n o p q r s t u .      . . . . . . . . g i k m o q s u
 *
 *              Back, both are written under masks, and gaps are kept. What lies behind the last element, as the 32nd
 *              one here, is never touched: it may be nobody's (strided_avx512.inc.h). Rows of less than a vector are
 *              stored, or loaded, in part (512 KiB, a Granite Rapids, x memcpy, every second byte of rows of 99 0.16 ->
 *              0.74, every third one 0.23 -> 0.85, 13 of rows of 30 0.11 -> 0.33, back 0.11 -> 0.29).
 * both sides   along different loops, of one or two bytes: with AVX-512, by way of a stage (apart_avx512.inc.h) */
#include "base/checked.h"
#include "kernels/lines.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/unaligned.h"
#include "kernels/variants.h"

#include <string.h>

#if TG_HAVE_X86
#  include <immintrin.h>
#endif

/* ---- plain C ---- */

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

/* Where the step in dst is known, the compiler stores neighbours together: from the caches a gather is 6 % faster
 * (an Emerald Rapids, two bytes, 512 KiB: 1.98 -> 2.10 of memcpy), from memory, where fewer elements are on their way
 * then, 6 % slower. */
#define DEFINE_STRIDED(UNIT)                                                                                        \
    TG_INLINE void line_##UNIT(uint8_t *restrict d, int64_t dc, const uint8_t *restrict s, int64_t sc, int64_t n) { \
        for (; n >= 4; n -= 4, d += 4 * dc, s += 4 * sc) {                                                          \
            const UNIT v0 = *(const UNIT *)(const void *)s, v1 = *(const UNIT *)(const void *)(s + sc),             \
                       v2 = *(const UNIT *)(const void *)(s + 2 * sc),                                              \
                       v3 = *(const UNIT *)(const void *)(s + 3 * sc);                                              \
            *(UNIT *)(void *)d = v0;                                                                                \
            *(UNIT *)(void *)(d + dc) = v1;                                                                         \
            *(UNIT *)(void *)(d + 2 * dc) = v2;                                                                     \
            *(UNIT *)(void *)(d + 3 * dc) = v3;                                                                     \
        }                                                                                                           \
        for (; n > 0; n--, d += dc, s += sc) *(UNIT *)(void *)d = *(const UNIT *)(const void *)s;                   \
    }                                                                                                               \
                                                                                                                    \
    TG_INLINE void lines_##UNIT(uint8_t *d, int64_t dc, const uint8_t *s, const tg_block *b) {                      \
        for (int64_t o = 0; o < b->outer; o++)                                                                      \
            for (int64_t r = 0; r < b->rows; r++)                                                                   \
                line_##UNIT(d + o * b->dst_outer + r * b->dst_row, dc, s + o * b->src_outer + r * b->src_row,       \
                            b->src_col, b->cols);                                                                   \
    }                                                                                                               \
                                                                                                                    \
    static const uint8_t *strided_##UNIT(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {      \
        const int64_t width = (int64_t)sizeof(UNIT);                                                                \
        const bool    neighbours = b->dst_col == width;                                                             \
        if (b->src_col == 0 && neighbours) return broadcast(m, d, s, b);                                            \
        if (neighbours && !m->far) lines_##UNIT(d, width, s, b);                                                    \
        else lines_##UNIT(d, b->dst_col, s, b);                                                                     \
        return NULL;                                                                                                \
    }

DEFINE_STRIDED(unit8)
DEFINE_STRIDED(unit16)
DEFINE_STRIDED(unit32)
DEFINE_STRIDED(unit64)
DEFINE_STRIDED(unit128)

/* ---- vectors ---- */

/* Does every row of dst begin at a multiple of the width? */
static inline bool elements_aligned(int width, const uint8_t *d, const tg_block *b) {
    return (((uintptr_t)d | (uintptr_t)b->dst_row | (uintptr_t)b->dst_outer) % (uintptr_t)width) == 0;
}

#define DEFINE_VECTORS(width, UNIT)                                                                                   \
    static const uint8_t *V(strided_##width)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {    \
        if (b->src_col != 0 || b->dst_col != (width)) return SPREAD(width) ? NULL : strided_##UNIT(m, d, s, b);       \
        V(broadcast)(width, m, d, s, b);                                                                              \
        return NULL;                                                                                                  \
    }

#define DEFINE_ALL_VECTORS     \
    DEFINE_VECTORS(1, unit8)   \
    DEFINE_VECTORS(2, unit16)  \
    DEFINE_VECTORS(4, unit32)  \
    DEFINE_VECTORS(8, unit64)  \
    DEFINE_VECTORS(16, unit128)

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/broadcast.inc.h"
#  include "kernels/strided_avx512.inc.h"
#  include "kernels/apart_avx512.inc.h"
#  define SPREAD(width) spread(width, m, d, s, b)
DEFINE_ALL_VECTORS
#  undef SPREAD
#  undef VEC
TG_END

#  define SPREAD(width) false
TG_BEGIN_AVX2
#  define VEC 32
#  include "kernels/broadcast.inc.h"
DEFINE_ALL_VECTORS
#  undef VEC
TG_END
#elif TG_HAVE_NEON
#  define SPREAD(width) false
#  define VEC 16
#  include "kernels/broadcast.inc.h"
DEFINE_ALL_VECTORS
#  undef VEC
#endif

bool tg_strided_takes_tail(const tg_mover *m, const tg_block *b) {
#if TG_HAVE_X86
    const int32_t width = m->dst_width;
    if (!m->apart || m->move != tg_strided_for(TG_CPU_AVX512, width)) return false;
    return b->src_col != 0 && !is_gather(b, width) && !is_scatter(b, width) && takes_tail(b, width);
#else
    (void)m, (void)b;
    return false;
#endif
}

tg_block_move *tg_strided_for(uint32_t cpu, int32_t width) {
    static tg_block_move *const plain[] = {strided_unit8, strided_unit16, strided_unit32, strided_unit64,
                                           strided_unit128};
    int                         i = 0;
    while (width >> i > 1) i++;
#if TG_HAVE_X86
    static tg_block_move *const avx512[] = {strided_1_64, strided_2_64, strided_4_64, strided_8_64, strided_16_64};
    static tg_block_move *const avx2[] = {strided_1_32, strided_2_32, strided_4_32, strided_8_32, strided_16_32};
    if ((cpu & TG_CPU_AVX512) != 0) return avx512[i];
    if ((cpu & TG_CPU_AVX2) != 0) return avx2[i];
#elif TG_HAVE_NEON
    static tg_block_move *const neon[] = {strided_1_16, strided_2_16, strided_4_16, strided_8_16, strided_16_16};
    if ((cpu & TG_CPU_NEON) != 0) return neon[i];
#endif
    (void)cpu;
    return plain[i];
}
