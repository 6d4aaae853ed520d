/* Lines of packed elements to where bytes begin, and back to where they were: at any bit of a byte. Of u2, elements 5
 * to 13 are a line that begins in the middle of byte 1
 *
 *     packed    . e f g | h i j k | l m . .
 *     at bytes  e f g h | i j k l | m x x x      x is anything
 *
 * so that movers of whole bytes can take a block of such lines (packed.c), with as many elements in a vector as it has
 * room for. Each byte is the end of one and the beginning of the next one: two loads, a byte apart, shifts and a
 * choice of bits, 3 ns for a line of 64 bytes from the second-level cache. Back, what else is in the first and the last
 * byte stays. */
#include "base/checked.h"
#include "kernels/target.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
#  include <immintrin.h>
#endif

static const uint8_t *align_plain(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    for (int64_t r = 0; r < b->rows; r++)
        tg_copy_packed(d + r * b->dst_row, 0, s, b->src_outer + r * b->src_row, b->cols, m->src.bits);
    return NULL;
}

static const uint8_t *insert_plain(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    for (int64_t r = 0; r < b->rows; r++)
        tg_copy_packed(d, b->dst_outer + r * b->dst_row, s + r * b->src_row, 0, b->cols, m->dst.bits);
    return NULL;
}

#if TG_HAVE_X86
TG_BEGIN_AVX512
enum { VEC = 64, AHEAD = 32 /* lines */ };

/* What is the same for all lines that begin at one bit of a byte: bits of `low` come from a vector moved down, others
 * from one moved up. */
typedef struct phase {
    __m512i low;
    __m128i down, up;
} phase;

TG_INLINE void find_phases(phase *p, int bits, bool align) {
    for (int into = 0; into < 8; into += bits) {
        const int down = align ? into : 8 - into;
        p[into] = (phase){_mm512_set1_epi8((char)(0xff >> down)), _mm_cvtsi32_si128(down), _mm_cvtsi32_si128(8 - down)};
    }
}

TG_INLINE __m512i funnel(__m512i v, __m512i w, const phase *p) {
    enum { LOW_ELSE_HIGH = 0xca };
    return _mm512_ternarylogic_epi64(p->low, _mm512_srl_epi16(v, p->down), _mm512_sll_epi16(w, p->up), LOW_ELSE_HIGH);
}

/* n bytes, or a vector if that is less; n may be 0. */
TG_INLINE __m512i load_part(const uint8_t *s, int64_t n) {
    return _mm512_maskz_loadu_epi8(_bzhi_u64(~(uint64_t)0, (unsigned)(n < VEC ? n : VEC)), s);
}

/* `whole` bytes from `all`, near the end of what may be read. */
TG_INLINE void align_last(uint8_t *d, const uint8_t *s, const phase *p, int64_t whole, int64_t all) {
    for (; whole > 0; d += VEC, s += VEC, whole -= VEC, all -= VEC)
        _mm512_storeu_si512(d, funnel(load_part(s, all), load_part(s + 1, all - 1), p));
}

static const uint8_t *align_avx512(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int            log = __builtin_ctz((unsigned)m->src.bits), to_byte = 3 - log;
    const tg_block       a = *b;
    const int64_t        bits = a.cols << log, whole = (bits + 7) >> 3;
    const int64_t        highest = a.src_outer + (a.src_row > 0 ? (a.rows - 1) * a.src_row : 0) + a.cols;
    const int64_t        safe = (highest >> to_byte) - (whole + VEC + 1); /* whole vectors of lines up to here */
    phase                p[8];
    int64_t              first = a.src_outer;
    find_phases(p, m->src.bits, true);
    for (int64_t r = 0; r < a.rows; r++, first += a.src_row, d += a.dst_row) {
        const int64_t        into = first << log & 7;
        const int64_t        at = first >> to_byte;
        const uint8_t *const from = s + at;
        for (int64_t i = 0; i <= whole; i += VEC) TG_FETCH(from + i + ((AHEAD * a.src_row) >> to_byte));
        if (at <= safe)
            for (int64_t i = 0; i < whole; i += VEC)
                _mm512_storeu_si512(d + i, funnel(_mm512_loadu_si512(from + i), _mm512_loadu_si512(from + i + 1),
                                                  &p[into]));
        else align_last(d, from, &p[into], whole, (into + bits + 7) >> 3);
    }
    return NULL;
}

/* To all bytes from the first to the last one. What is in these is read first: loads would wait for a store around
 * them. */
TG_INLINE void insert_line(uint8_t *d, const uint8_t *s, const phase *p, int64_t into, int64_t bits) {
    const int64_t  last = (into + bits - 1) >> 3, behind = (into + bits) & 7;
    const unsigned before = (1u << into) - 1, after = behind == 0 ? 0 : 0xffu << behind;
    const unsigned keep = last == 0 ? before | after : before;
    const unsigned first_byte = (d[0] & keep) | ((unsigned)s[0] << into & ~keep);
    const unsigned last_bits = (unsigned)s[last] << into | (unsigned)s[last - 1] >> (8 - into);
    const unsigned last_byte = (d[last] & after) | (last_bits & ~after);
    int64_t        i = 0;
    for (; i + VEC <= last; i += VEC)
        _mm512_storeu_si512(d + i, funnel(_mm512_loadu_si512(s + i - 1), _mm512_loadu_si512(s + i), p));
    _mm512_mask_storeu_epi8(d + i, _bzhi_u64(~(uint64_t)0, (unsigned)(last - i)),
                            funnel(_mm512_loadu_si512(s + i - 1), _mm512_loadu_si512(s + i), p));
    if (last > 0) d[last] = (uint8_t)last_byte;
    d[0] = (uint8_t)first_byte;
}

static const uint8_t *insert_avx512(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int      log = __builtin_ctz((unsigned)m->dst.bits);
    const tg_block a = *b;
    const int64_t  bits = a.cols << log, whole = bits >> 3;
    phase          p[8];
    int64_t        first = a.dst_outer;
    find_phases(p, m->dst.bits, false);
    for (int64_t r = 0; r < a.rows; r++, first += a.dst_row, s += a.src_row) {
        const int64_t  into = first << log & 7;
        uint8_t *const to = d + (first >> (3 - log));
        for (int64_t i = 0; i <= whole; i += VEC) TG_FETCH(to + i + ((AHEAD * a.dst_row) >> (3 - log)));
        insert_line(to, s, &p[into], into, bits);
    }
    return NULL;
}
TG_END
#endif

tg_block_move *tg_align_for(uint32_t cpu) {
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return align_avx512;
#endif
    (void)cpu;
    return align_plain;
}

tg_block_move *tg_insert_for(uint32_t cpu) {
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return insert_avx512;
#endif
    (void)cpu;
    return insert_plain;
}
