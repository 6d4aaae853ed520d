/* Packed elements as bytes, and back, wherever they begin: at any bit of a byte, in lines of any length.
 *
 * Whole bytes are spread and joined, so lines of bytes have room for more on either side: of u2, elements 5 to 9
 *
 *     packed    . e f g | h i . .          bytes 1 and 2, whose first element is number 4
 *     bytes     x e f g h i x x            the line is e to i; x is anything
 *
 * So an element's bit makes no difference but to where the line is in its buffer. Joining leaves the other elements of
 * the first and the last byte as they are. Lines are spread in order, and what one writes beside itself, up to
 * TG_SPREAD_BEFORE and TG_SPREAD_BEHIND bytes (move.h), belongs to the one after it, or to nobody. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
#  include <immintrin.h>
#endif
#include <string.h>

/* ---- eight elements, which are `bits` bytes ---- */

static const uint64_t ones = ~(uint64_t)0 / 255; /* in each byte */

/* Where elements of so many bits are spread apart, halves first, and joined in the other order. */
#define NIBBLES  0x0f0f0f0f0f0f0f0fu
#define QUARTERS 0x0303030303030303u

TG_INLINE uint64_t spread_8(int bits, uint64_t x, uint8_t sign) {
    if (bits == 4) {
        x = (x | x << 16) & 0x0000ffff0000ffffu;
        x = (x | x << 8) & 0x00ff00ff00ff00ffu;
        x = (x | x << 4) & NIBBLES;
    } else if (bits == 2) {
        x = (x | x << 24) & 0x000000ff000000ffu;
        x = (x | x << 12) & 0x000f000f000f000fu;
        x = (x | x << 6) & QUARTERS;
    } else {
        x = (x | x << 28) & 0x0000000f0000000fu;
        x = (x | x << 14) & 0x0003000300030003u;
        x = (x | x << 7) & ones;
    }
    return (((x ^ sign * ones) | 0x80 * ones) - sign * ones) ^ 0x80 * ones; /* no byte borrows from the next one */
}

TG_INLINE uint64_t join_8(int bits, uint64_t x, bool nonzero) {
    if (nonzero) x = (((x & 0x7f * ones) + 0x7f * ones) | x) >> 7 & ones;
    if (bits == 4) {
        x &= NIBBLES;
        x = (x | x >> 4) & 0x00ff00ff00ff00ffu;
        x = (x | x >> 8) & 0x0000ffff0000ffffu;
        return x | x >> 16;
    }
    if (bits == 2) {
        x &= QUARTERS;
        x = (x | x >> 6) & 0x000f000f000f000fu;
        x = (x | x >> 12) & 0x000000ff000000ffu;
        return x | x >> 24;
    }
    x &= ones;
    x = (x | x >> 7) & 0x0003000300030003u;
    x = (x | x >> 14) & 0x0000000f0000000fu;
    return x | x >> 28;
}

/* n packed bytes; up to 7 bytes more are written. */
TG_INLINE void spread_eights(int bits, uint8_t *d, const uint8_t *s, int64_t n, uint8_t sign) {
    const int64_t per = 8 / bits;
    int64_t       i = 0;
    if (n == 0) return;
    if (n < bits) {
        uint64_t x = 0;
        for (; i < n; i++) x |= (uint64_t)s[i] << 8 * i;
        x = spread_8(bits, x, sign);
        memcpy(d, &x, sizeof x);
        return;
    }
    for (;;) {
        uint64_t x = 0;
        memcpy(&x, s + i, (size_t)bits);
        x = spread_8(bits, x, sign);
        memcpy(d + i * per, &x, sizeof x);
        if (i + bits == n) return;
        i = i + 2 * bits <= n ? i + bits : n - bits; /* the last one overlaps the one before */
    }
}

/* To n packed bytes; of less than eight elements 8 bytes are read. */
TG_INLINE void join_eights(int bits, uint8_t *d, const uint8_t *s, int64_t n, bool nonzero) {
    const int64_t per = 8 / bits;
    int64_t       i = 0;
    uint64_t      x;
    if (n == 0) return;
    if (n < bits) {
        memcpy(&x, s, sizeof x);
        x = join_8(bits, x, nonzero);
        for (; i < n; i++) d[i] = (uint8_t)(x >> 8 * i);
        return;
    }
    for (;;) {
        memcpy(&x, s + i * per, sizeof x);
        x = join_8(bits, x, nonzero);
        memcpy(d + i, &x, (size_t)bits);
        if (i + bits == n) return;
        i = i + 2 * bits <= n ? i + bits : n - bits;
    }
}

/* ---- lines ---- */

typedef struct line {
    int64_t at, into, bytes; /* packed: the first byte, elements of it before the line, and how many bytes */
} line;

TG_INLINE line line_of(int bits, int64_t first, int64_t n) {
    const int     log = bits == 4 ? 1 : bits == 2 ? 2 : 3;
    const int64_t last = ((int64_t)1 << log) - 1, into = first & last;
    return (line){first >> log, into, (into + n + last) >> log};
}

/* The other elements of the bytes at both ends. */
typedef struct ends {
    unsigned first, last, keep_first, keep_last;
} ends;

TG_INLINE ends look_at_ends(int bits, const uint8_t *d, const line *l, int64_t n) {
    const int64_t behind = (l->into + n) & (8 / bits - 1);
    return (ends){d[0], d[l->bytes - 1], (1u << l->into * bits) - 1, behind == 0 ? 0 : 0xffu << behind * bits};
}

TG_INLINE void restore_ends(uint8_t *d, const line *l, const ends *e) {
    d[0] = (uint8_t)((d[0] & ~e->keep_first) | (e->first & e->keep_first));
    d[l->bytes - 1] = (uint8_t)((d[l->bytes - 1] & ~e->keep_last) | (e->last & e->keep_last));
}

/* Lines of a block, each by SPREAD or JOIN; what is the same for all of them is known to the compiler. */
#define SPREAD_LINES(BITS, SPREAD, SIGN)                                                                              \
    for (int64_t r = 0, first = b->src_outer; r < b->rows; r++, first += b->src_row) {                                \
        const line l = line_of(BITS, first, b->cols);                                                                 \
        SPREAD(BITS, d + r * b->dst_row - l.into, s + l.at, l.bytes, SIGN);                                           \
    }

#define JOIN_LINES(BITS, JOIN, NONZERO)                                                                               \
    for (int64_t r = 0, first = b->dst_outer; r < b->rows; r++, first += b->dst_row) {                                \
        const line l = line_of(BITS, first, b->cols);                                                                 \
        const ends e = look_at_ends(BITS, d + l.at, &l, b->cols);                                                     \
        JOIN(BITS, d + l.at, s + r * b->src_row - l.into, l.bytes, NONZERO);                                          \
        restore_ends(d + l.at, &l, &e);                                                                               \
    }

/* Lines of dst that are whole ones of the cache. */
TG_INLINE bool are_whole_lines(int bits, const uint8_t *d, const tg_block *b) {
    enum { LINE = 8 * TG_LINE_BYTES };
    return (uintptr_t)d % TG_LINE_BYTES == 0 && ((b->dst_outer | b->dst_row | b->cols) & (LINE / bits - 1)) == 0;
}

#define JOIN_WHOLE_LINES(BITS, JOIN, NONZERO)                                                                         \
    for (int64_t r = 0, first = b->dst_outer; r < b->rows; r++, first += b->dst_row)                                  \
        JOIN(BITS, d + first * BITS / 8, s + r * b->src_row, b->cols * BITS / 8, NONZERO);

#define DEFINE_SPREAD(NAME, BITS, SPREAD, JOIN, JOIN_AROUND)                                                          \
    static const uint8_t *spread_##NAME(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {         \
        if (m->dst.kind == TG_KIND_SINT) SPREAD_LINES(BITS, SPREAD, 1u << (BITS - 1))                                 \
        else SPREAD_LINES(BITS, SPREAD, 0)                                                                            \
        return NULL;                                                                                                  \
    }                                                                                                                 \
    static const uint8_t *join_##NAME(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {           \
        if (m->stream && m->src.kind != TG_KIND_BOOL && are_whole_lines(BITS, d, b))                                  \
            JOIN_WHOLE_LINES(BITS, JOIN_AROUND, false)                                                                \
        else if (m->src.kind == TG_KIND_BOOL) JOIN_LINES(BITS, JOIN, true)                                            \
        else JOIN_LINES(BITS, JOIN, false)                                                                            \
        return NULL;                                                                                                  \
    }

DEFINE_SPREAD(1_plain, 1, spread_eights, join_eights, join_eights)
DEFINE_SPREAD(2_plain, 2, spread_eights, join_eights, join_eights)
DEFINE_SPREAD(4_plain, 4, spread_eights, join_eights, join_eights)

/* ---- templates ---- */

#define DEFINE_FOR(SET)                                                                                               \
    DEFINE_SPREAD(1_##SET, 1, V(spread_line), V(join_line), V(join_around))                                           \
    DEFINE_SPREAD(2_##SET, 2, V(spread_line), V(join_line), V(join_around))                                           \
    DEFINE_SPREAD(4_##SET, 4, V(spread_line), V(join_line), V(join_around))

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/spread.inc.h"
DEFINE_FOR(avx512)
#  undef VEC
TG_END

TG_BEGIN_AVX2
#  define VEC 32
#  include "kernels/spread.inc.h"
DEFINE_FOR(avx2)
#  undef VEC
TG_END
#elif TG_HAVE_NEON
#  define VEC 16
#  include "kernels/spread.inc.h"
DEFINE_FOR(neon)
#  undef VEC
#endif

#define SET_OF(WAY, SET) {WAY##_1_##SET, WAY##_2_##SET, WAY##_4_##SET}

static tg_block_move *find(uint32_t cpu, int32_t bits, bool join) {
    static tg_block_move *const plain[2][3] = {SET_OF(spread, plain), SET_OF(join, plain)};
    const int                   i = bits / 2; /* 1, 2, 4 */
#if TG_HAVE_X86
    static tg_block_move *const avx512[2][3] = {SET_OF(spread, avx512), SET_OF(join, avx512)};
    static tg_block_move *const avx2[2][3] = {SET_OF(spread, avx2), SET_OF(join, avx2)};
    if ((cpu & TG_CPU_AVX512) != 0) return avx512[join][i];
    if ((cpu & TG_CPU_AVX2) != 0) return avx2[join][i];
#elif TG_HAVE_NEON
    static tg_block_move *const neon[2][3] = {SET_OF(spread, neon), SET_OF(join, neon)};
    if ((cpu & TG_CPU_NEON) != 0) return neon[join][i];
#endif
    (void)cpu;
    return plain[join][i];
}

tg_block_move *tg_spread_for(uint32_t cpu, int32_t bits) { return find(cpu, bits, false); }

tg_block_move *tg_join_for(uint32_t cpu, int32_t bits) { return find(cpu, bits, true); }
