/* Rows of packed elements that take turns, and back: two rows, or four.
 *
 * Of T(8,128)(2,1), two rows of 2-bit elements a and b lie in memory as one, a byte of it with two elements of each.
 * A byte of each row is a word, whose place of a bit is written as digits: row, column (two of them), bit. Each step
 * changes the places of two digits, which is a shift and a mask for all words of a vector at once:
 *
 *     row  column.1  column.0        a0 a1 a2 a3 b0 b1 b2 b3
 *     column.1  row  column.0        a0 a1 b0 b1 a2 a3 b2 b3      by 4 bits
 *     column.1  column.0  row        a0 b0 a1 b1 a2 b2 a3 b3      by 2 bits
 *
 * Elements of 4 bits need the first step alone, single bits one more. Of four rows, words are 32 bits: rows 0, 2, 1
 * and 3, or, of 2 bits, in order. The way back takes the same steps in the other order. Eight rows, or
 * some of eight, are another matter (eights.c). */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
#  include <immintrin.h>
#endif
#include <string.h>

/* What changes places with what is `by` bits above it. */
#define EXCHANGE(x, by, low)                          \
    do {                                              \
        const __typeof__(x) other = ((x) ^ (x) >> (by)) & (low); \
        (x) ^= other | other << (by);                 \
    } while (0)

/* Words of a byte of each row, and words of bytes where they take turns. */
#define MIX_2(bits, x)                           \
    do {                                         \
        EXCHANGE(x, 4, 0x00f0);                  \
        if ((bits) < 4) EXCHANGE(x, 2, 0x0c0c);  \
        if ((bits) < 2) EXCHANGE(x, 1, 0x2222);  \
    } while (0)

#define PART_2(bits, x)                          \
    do {                                         \
        if ((bits) < 2) EXCHANGE(x, 1, 0x2222);  \
        if ((bits) < 4) EXCHANGE(x, 2, 0x0c0c);  \
        EXCHANGE(x, 4, 0x00f0);                  \
    } while (0)

#define MIX_4(bits, x)                               \
    do {                                             \
        EXCHANGE(x, 12, 0x0000f0f0u);                \
        if ((bits) < 4) EXCHANGE(x, 6, 0x00cc00ccu); \
        if ((bits) < 2) EXCHANGE(x, 3, 0x0a0a0a0au); \
    } while (0)

#define PART_4(bits, x)                              \
    do {                                             \
        if ((bits) < 2) EXCHANGE(x, 3, 0x0a0a0a0au); \
        if ((bits) < 4) EXCHANGE(x, 6, 0x00cc00ccu); \
        EXCHANGE(x, 12, 0x0000f0f0u);                \
    } while (0)

/* The place of row k in a word. */
static inline int place_of(int bits, int rows, int k) {
    return rows == 2 || bits == 2 ? k * 8 : ((k & 1) * 2 + k / 2) * 8;
}

/* n bytes of each row. */
TG_INLINE void mix_bytes(int bits, int rows, uint8_t *d, const uint8_t *s, int64_t step, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t x = 0;
        for (int k = 0; k < rows; k++) x |= (uint32_t)s[k * step + i] << place_of(bits, rows, k);
        if (rows == 2) MIX_2(bits, x);
        else MIX_4(bits, x);
        for (int k = 0; k < rows; k++) d[i * rows + k] = (uint8_t)(x >> 8 * k);
    }
}

TG_INLINE void part_bytes(int bits, int rows, uint8_t *d, int64_t step, const uint8_t *s, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t x = 0;
        for (int k = 0; k < rows; k++) x |= (uint32_t)s[i * rows + k] << 8 * k;
        if (rows == 2) PART_2(bits, x);
        else PART_4(bits, x);
        for (int k = 0; k < rows; k++) d[k * step + i] = (uint8_t)(x >> place_of(bits, rows, k));
    }
}

/* All runs of a block. What is the same for all of them is known to the compiler; each loop has few addresses, or they
 * would not all stay in registers. */
#define DEFINE_WAY(NAME, WAY, BITS, ROWS, STREAM)                                                                     \
    static const uint8_t *NAME(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {                  \
        const bool stream = (STREAM) && m->stream && can_stream(ROWS, d, b);                                          \
        for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {                                \
            if (stream) WAY(BITS, ROWS, d, s, b, true, false);                                                        \
            else if (m->claims) WAY(BITS, ROWS, d, s, b, false, true);                                                \
            else WAY(BITS, ROWS, d, s, b, false, false);                                                              \
        }                                                                                                             \
        return NULL;                                                                                                  \
    }

/* Whole lines at lines. */
static inline bool can_stream(int rows, const uint8_t *d, const tg_block *b) {
    return tg_at_lines(d, b->dst_row | b->dst_outer, b->cols * rows);
}

/* ---- plain C ---- */

TG_INLINE void mix_plain(int bits, int rows, uint8_t *d, const uint8_t *s, const tg_block *b, bool stream,
                         bool claims) {
    (void)stream;
    (void)claims;
    for (int64_t r = 0; r < b->rows; r++)
        mix_bytes(bits, rows, d + r * b->dst_row, s + r * b->src_row, b->src_col, b->cols);
}

TG_INLINE void part_plain(int bits, int rows, uint8_t *d, const uint8_t *s, const tg_block *b, bool stream,
                          bool claims) {
    (void)stream;
    (void)claims;
    for (int64_t r = 0; r < b->rows; r++)
        part_bytes(bits, rows, d + r * b->dst_row, b->dst_col, s + r * b->src_row, b->cols);
}

#define DEFINE_WAYS(SET, MIX, PART, STREAM)      \
    DEFINE_WAY(mix_1_2_##SET, MIX, 1, 2, STREAM)  \
    DEFINE_WAY(mix_2_2_##SET, MIX, 2, 2, STREAM)  \
    DEFINE_WAY(mix_4_2_##SET, MIX, 4, 2, STREAM)  \
    DEFINE_WAY(mix_1_4_##SET, MIX, 1, 4, STREAM)  \
    DEFINE_WAY(mix_2_4_##SET, MIX, 2, 4, STREAM)  \
    DEFINE_WAY(mix_4_4_##SET, MIX, 4, 4, STREAM)  \
    DEFINE_WAY(part_1_2_##SET, PART, 1, 2, false) \
    DEFINE_WAY(part_2_2_##SET, PART, 2, 2, false) \
    DEFINE_WAY(part_4_2_##SET, PART, 4, 2, false) \
    DEFINE_WAY(part_1_4_##SET, PART, 1, 4, false) \
    DEFINE_WAY(part_2_4_##SET, PART, 2, 4, false) \
    DEFINE_WAY(part_4_4_##SET, PART, 4, 4, false)

DEFINE_WAYS(plain, mix_plain, part_plain, false)

/* ---- templates ---- */

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/turns.inc.h"
DEFINE_WAYS(avx512, V(mix_runs), V(part_runs), true)
#  undef VEC
TG_END

TG_BEGIN_AVX2
#  define VEC 32
#  include "kernels/turns.inc.h"
DEFINE_WAYS(avx2, V(mix_runs), V(part_runs), true)
#  undef VEC
TG_END
#elif TG_HAVE_NEON
#  define VEC 16
#  include "kernels/turns.inc.h"
DEFINE_WAYS(neon, V(mix_runs), V(part_runs), true)
#  undef VEC
#endif

#define WAYS_OF(WAY, SET)                                                                              \
    {                                                                                                  \
        {WAY##_1_2_##SET, WAY##_2_2_##SET, WAY##_4_2_##SET}, {WAY##_1_4_##SET, WAY##_2_4_##SET, WAY##_4_4_##SET} \
    }

tg_block_move *tg_turns_for(uint32_t cpu, int32_t bits, int32_t rows, bool back) {
    static tg_block_move *const plain[2][2][3] = {WAYS_OF(mix, plain), WAYS_OF(part, plain)};
    const int                   i = bits / 2, four = rows == 4;
#if TG_HAVE_X86
    static tg_block_move *const avx512[2][2][3] = {WAYS_OF(mix, avx512), WAYS_OF(part, avx512)};
    static tg_block_move *const avx2[2][2][3] = {WAYS_OF(mix, avx2), WAYS_OF(part, avx2)};
    if ((cpu & TG_CPU_AVX512) != 0) return avx512[back][four][i];
    if ((cpu & TG_CPU_AVX2) != 0) return avx2[back][four][i];
#elif TG_HAVE_NEON
    static tg_block_move *const neon[2][2][3] = {WAYS_OF(mix, neon), WAYS_OF(part, neon)};
    if ((cpu & TG_CPU_NEON) != 0) return neon[back][four][i];
#endif
    (void)cpu;
    return plain[back][four][i];
}
