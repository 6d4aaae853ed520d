/* Lines of packed elements that begin at bytes, to any bit of a byte, which is how blocks of transposes leave their
 * stage (packed.c). Of u2
 *
 *     at bytes  e f g h | i j k l | m x x x      x is anything
 *     packed    . e f g | h i j k | l m . .      a line that begins at the second element of a byte
 *
 * Each byte is the end of one and the beginning of the next one: two loads, a byte apart, shifts and a choice of bits.
 * What else is in the first and the last byte stays. */
#include "base/checked.h"
#include "kernels/target.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
#  include <immintrin.h>
#endif

static const uint8_t *insert_plain(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    for (int64_t r = 0; r < b->rows; r++)
        tg_copy_packed(d, b->dst_outer + r * b->dst_row, s + r * b->src_row, 0, b->cols, m->dst.bits);
    return NULL;
}

#if TG_HAVE_X86
TG_BEGIN_AVX512
enum { VEC = 64, CLAIMED_LINES = 4 /* of those that begin at one bit */ };

/* Lines that begin at the same bit of a byte, `into` of it: as many lines as a byte has elements further on the next
 * one does, and that is as many bytes as lines are elements apart. So all of this stays the same. */
typedef struct phase {
    __m512i  low, down, up;            /* bits of `low` are the end of what lies before */
    int      into;
    int64_t  last;                     /* byte */
    __mmask64 rest;                    /* of less than a vector, the bytes before it */
    unsigned keep_first, keep_last;    /* bits that are not the line's */
} phase;

TG_INLINE phase phase_of(int64_t into, int64_t bits) {
    const int64_t  last = (into + bits - 1) >> 3, behind = (into + bits) & 7;
    const unsigned before = (1u << into) - 1, after = behind == 0 ? 0 : 0xffu << behind & 0xff;
    return (phase){.low = _mm512_set1_epi8((char)before), .down = _mm512_set1_epi16((short)(8 - into)),
                   .up = _mm512_set1_epi16((short)into), .into = (int)into, .last = last,
                   .rest = _bzhi_u64(~(uint64_t)0, (unsigned)(last % VEC)),
                   .keep_first = last == 0 ? before | after : before, .keep_last = after};
}

/* 64 bytes of a line, of which each is the end of one and the beginning of the next one. */
TG_INLINE __m512i shifted(const uint8_t *s, const phase *p) {
    enum { LOW_ELSE_HIGH = 0xca };
    return _mm512_ternarylogic_epi64(p->low, _mm512_srlv_epi16(_mm512_loadu_si512(s - 1), p->down),
                                     _mm512_sllv_epi16(_mm512_loadu_si512(s), p->up), LOW_ELSE_HIGH);
}

TG_INLINE __m256i shifted_32(const uint8_t *s, const phase *p) {
    enum { LOW_ELSE_HIGH = 0xca };
    const __m256i v = _mm256_loadu_si256((const void *)(s - 1)), w = _mm256_loadu_si256((const void *)s);
    return _mm256_ternarylogic_epi64(_mm512_castsi512_si256(p->low),
                                     _mm256_srlv_epi16(v, _mm512_castsi512_si256(p->down)),
                                     _mm256_sllv_epi16(w, _mm512_castsi512_si256(p->up)), LOW_ELSE_HIGH);
}

/* All bytes before the last one. Where that is no whole number of vectors, the last one overlaps the one before: a load
 * near a store by a mask, as those of the next line are, waits for it. */
TG_INLINE void insert_inside(uint8_t *d, const uint8_t *s, const phase *p) {
    int64_t i = 0;
    for (; i + VEC <= p->last; i += VEC) _mm512_storeu_si512(d + i, shifted(s + i, p));
    if (i == p->last) return;
    if (p->last > VEC) {
        _mm512_storeu_si512(d + p->last - VEC, shifted(s + p->last - VEC, p));
    } else if (p->last >= VEC / 2) {
        _mm256_storeu_si256((void *)d, shifted_32(s, p));
        _mm256_storeu_si256((void *)(d + p->last - VEC / 2), shifted_32(s + p->last - VEC / 2, p));
    } else if (p->last >= VEC / 4) {
        _mm_storeu_si128((void *)d, _mm256_castsi256_si128(shifted_32(s, p)));
        _mm_storeu_si128((void *)(d + p->last - VEC / 4), _mm256_castsi256_si128(shifted_32(s + p->last - VEC / 4, p)));
    } else {
        _mm512_mask_storeu_epi8(d, p->rest, shifted(s, p));
    }
}

/* What is in the first and the last byte is read before a store around them, for which a load would wait. */
TG_INLINE void insert_lines(uint8_t *d, int64_t d_step, const uint8_t *s, int64_t s_step, int64_t n, phase p) {
    const int64_t ahead = CLAIMED_LINES * d_step;
    for (; n > 0; n--, d += d_step, s += s_step) {
        const unsigned first = d[0], final = d[p.last];
        const unsigned last = (unsigned)s[p.last] << p.into | (unsigned)s[p.last - 1] >> (8 - p.into);
        for (int64_t i = 0; i <= p.last; i += VEC) TG_CLAIM(d + i + ahead);
        insert_inside(d, s, &p);
        if (p.last > 0) d[p.last] = (uint8_t)((final & p.keep_last) | (last & ~p.keep_last));
        if (p.keep_first != 0 || p.last == 0)
            d[0] = (uint8_t)((first & p.keep_first) | ((unsigned)s[0] << p.into & ~p.keep_first));
    }
}

static const uint8_t *insert_avx512(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int log = m->dst.bits / 2, per = 8 / m->dst.bits; /* 4, 2, 1: 2, 1, 0 */
    for (int64_t r = 0; r < per && r < b->rows; r++) {
        const int64_t first = b->dst_outer + r * b->dst_row;
        insert_lines(d + (first >> (3 - log)), b->dst_row, s + r * b->src_row, per * b->src_row,
                     (b->rows - r + per - 1) / per, phase_of(first * (1 << log) & 7, b->cols << log));
    }
    return NULL;
}
TG_END
#endif

tg_block_move *tg_insert_for(uint32_t cpu) {
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return insert_avx512;
#endif
    (void)cpu;
    return insert_plain;
}
