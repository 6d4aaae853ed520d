/* Up to eight rows of packed elements that take turns, and back; with AVX-512.
 *
 * Turns are those of T(8,128)(8,1), of which the last of seven rows, or six of eight, may be missing; or they follow
 * each other, as columns of seven rows do in {0,1}. A byte of each of eight rows is one word of 64 bits, whatever the
 * elements have. Their places in it, written as digits, of the row and of the column inside of its byte:
 *
 *     elements of 4 bits     c    r2 r1 | r0               and in rows     r0 r2 r1 | c
 *                 2 bits     c1 c0 r2   | r1 r0                            r1 r0 r2 | c1 c0
 *                 1 bit      c2 c1 c0   | r2 r1 r0                         r2 r1 r0 | c2 c1 c0
 *
 * Before the | they tell which byte of a word it is. So 64 words, eight vectors, become vectors of one byte each of
 * all words: bytes inside of vectors are turned, eight by eight, and then words of vectors. Then digits change places,
 * which is one of vectors with one inside of bytes: halves of bytes of vectors 4 apart, and quarters of those 2 apart,
 * and so on (packed.c). What that makes are rows, in another order. The other way the same goes backwards.
 *
 * Where n < 8 rows follow each other, words are n bytes. One shuffle moves these to 8 bytes each, and halves of words
 * are moved apart:
 *
 *     n * 4 bits, n * 4 bits     ->     n * 4 bits, none, n * 4 bits, none         of 2 bits, then halves of these
 *
 * An Emerald Rapids, 512 KiB of 4 bits, x memcpy: 7 rows of T(8,128)(8,1) to rows 0.04 -> 0.8 (they were a transpose of
 * whole bytes, with lines of 4 of them), and to columns of 7 0.13 -> 0.6 (by way of bytes, one for each element). */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
#  include <immintrin.h>

TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/vector.inc.h"

enum { WORDS = VEC / 8, MOST_ROWS = 8, SECOND_ELSE_THIRD = 0xca };

/* What is the same for all of a block. */
typedef struct eights {
    int64_t  rows, row, turns; /* how many; bytes from row to row; bytes of a word where they take turns */
    bool     stream, claims;     /* lines are whole, and written around the caches; or asked for */
    int64_t unread; /* bytes at the end of a word of src of which no row has a bit: src may end before them */
    uint64_t keep;             /* bits of a word that rows have; the others are padding's */
    __m512i  pad, gather, turn; /* words of n bytes to or from 8; bytes of words turned, eight by eight */
    __m512i  low[3], by[3];     /* of 16, 32, 64 bits, those that rows have of the low half, and what it lacks */
} eights;

/* Which byte of words, their digits swapped, is the one of a row. */
TG_INLINE int place_of_row(int bits, int r) {
    return bits == 4 ? (r & 1) * 4 + r / 2 : bits == 2 ? (r >> 1 & 1) * 4 + (r & 1) * 2 + r / 4 : r;
}

/* The high fields of a and the low ones of b change places; they are `shift` bits wide. */
TG_INLINE void swap_fields(__m512i *a, __m512i *b, unsigned shift, uint8_t low) {
    const __m512i x = *a, y = *b, lows = _mm512_set1_epi8((char)low);
    *a = _mm512_ternarylogic_epi64(lows, x, _mm512_slli_epi64(y, shift), SECOND_ELSE_THIRD);
    *b = _mm512_ternarylogic_epi64(lows, _mm512_srli_epi64(x, shift), y, SECOND_ELSE_THIRD);
}

/* Digits of rows and of columns change places. */
TG_INLINE void swap_digits(int bits, __m512i *v) {
    TG_UNROLL
    for (int k = 0; k < 4; k++) swap_fields(&v[k], &v[k + 4], 4, 0x0f);
    if (bits == 4) return;
    TG_UNROLL
    for (int k = 0; k < 8; k++)
        if ((k & 2) == 0) swap_fields(&v[k], &v[k + 2], 2, 0x33);
    if (bits == 2) return;
    TG_UNROLL
    for (int k = 0; k < 8; k += 2) swap_fields(&v[k], &v[k + 1], 1, 0x55);
}

/* ---- words of n bytes ---- */

/* The low half of each `width` bits. */
static inline int64_t low_halves(int width) {
    return (int64_t)(width == 64 ? 0xffffffff : width == 32 ? 0x0000ffff0000ffff : 0x00ff00ff00ff00ff);
}

/* So many bits at the beginning of each `width`. */
static inline int64_t lowest(int64_t n, int width) {
    uint64_t all = 0;
    for (int i = 0; i < 64; i += width) all |= (((uint64_t)1 << n) - 1) << i;
    return (int64_t)all;
}

/* What a word has of missing rows is anything. */
TG_INLINE __m512i move_apart(int bits, const eights *e, __m512i x) {
    x = _mm512_permutexvar_epi8(e->gather, x);
    TG_UNROLL
    for (int width = 64; width > 8 * bits; width /= 2) {
        const __m512i moved = _mm512_sllv_epi64(x, e->by[width / 32]);
        x = _mm512_ternarylogic_epi64(_mm512_set1_epi64(low_halves(width)), x, moved, SECOND_ELSE_THIRD);
    }
    return x;
}

TG_INLINE __m512i move_together(int bits, const eights *e, __m512i x) {
    TG_UNROLL
    for (int width = 16 * bits; width <= 64; width *= 2) {
        const __m512i moved = _mm512_srlv_epi64(x, e->by[width / 32]);
        x = _mm512_ternarylogic_epi64(e->low[width / 32], x, moved, SECOND_ELSE_THIRD);
    }
    return _mm512_permutexvar_epi8(e->gather, x);
}

/* Of n words of turns the first eight; n may be less, or nothing. */
TG_INLINE __m512i load_turns(const eights *e, bool whole, const uint8_t *s, int64_t n) {
    return _mm512_maskz_loadu_epi8(V(bytes_left)((whole ? WORDS : tg_min(n, WORDS)) * e->turns - e->unread), s);
}

TG_INLINE void store_turns(const eights *e, bool dense, bool stream, bool whole, uint8_t *d, __m512i x, int64_t n) {
    if (whole && !dense) V(put)(d, (V(vec))x, stream);
    else _mm512_mask_storeu_epi8(d, V(bytes_left)(whole ? WORDS * e->turns : tg_min(n, WORDS) * e->turns), x);
}

/* ---- rows ---- */

/* Word i of vector j is word j of vector i. */
TG_INLINE void turn_words(__m512i *v) {
    enum { EVEN = 0x88, ODD = 0xdd };
    __m512i t[8];
    TG_UNROLL
    for (int k = 0; k < 8; k += 2) {
        t[k] = _mm512_unpacklo_epi64(v[k], v[k + 1]);
        t[k + 1] = _mm512_unpackhi_epi64(v[k], v[k + 1]);
    }
    TG_UNROLL
    for (int k = 0; k < 2; k++) {
        const __m512i a = _mm512_shuffle_i64x2(t[k], t[k + 2], EVEN), b = _mm512_shuffle_i64x2(t[k], t[k + 2], ODD);
        const __m512i c = _mm512_shuffle_i64x2(t[k + 4], t[k + 6], EVEN),
                      d = _mm512_shuffle_i64x2(t[k + 4], t[k + 6], ODD);
        v[k] = _mm512_shuffle_i64x2(a, c, EVEN);
        v[k + 2] = _mm512_shuffle_i64x2(b, d, EVEN);
        v[k + 4] = _mm512_shuffle_i64x2(a, c, ODD);
        v[k + 6] = _mm512_shuffle_i64x2(b, d, ODD);
    }
}

/* n bytes of each row, at most a vector; `whole`: one. */
TG_INLINE void part_eights(int bits, bool dense, bool stream, bool whole, const eights *e, uint8_t *d, const uint8_t *s,
                           int64_t n) {
    const uint64_t some = V(bytes_left)(n);
    __m512i        v[8];
    TG_UNROLL
    for (int j = 0; j < 8; j++) {
        __m512i x = load_turns(e, whole, s + j * WORDS * e->turns, n - j * WORDS);
        if (dense) x = move_apart(bits, e, x);
        v[j] = _mm512_permutexvar_epi8(e->turn, x);
    }
    turn_words(v);
    swap_digits(bits, v);
    TG_UNROLL
    for (int r = 0; r < MOST_ROWS; r++, d += e->row) {
        if (r >= e->rows) break;
        if (whole && e->claims) TG_CLAIM(d + TG_CLAIMED);
        const __m512i x = v[place_of_row(bits, r)];
        if (whole) V(put)(d, (V(vec))x, stream);
        else _mm512_mask_storeu_epi8(d, some, x);
    }
}

TG_INLINE void mix_eights(int bits, bool dense, bool stream, bool whole, const eights *e, uint8_t *d, const uint8_t *s,
                          int64_t n) {
    const uint64_t some = V(bytes_left)(n);
    __m512i        v[8];
    TG_UNROLL
    for (int r = 0; r < MOST_ROWS; r++, s += e->row) {
        __m512i *const x = &v[place_of_row(bits, r)];
        if (r >= e->rows) *x = e->pad;
        else *x = whole ? (__m512i)V(load)(s) : _mm512_maskz_loadu_epi8(some, s);
    }
    swap_digits(bits, v);
    turn_words(v);
    TG_UNROLL
    for (int j = 0; j < 8; j++) {
        uint8_t *const to = d + j * WORDS * e->turns;
        __m512i        x = _mm512_permutexvar_epi8(e->turn, v[j]);
        if (dense) x = move_together(bits, e, x);
        if (whole && e->claims) TG_CLAIM(to + TG_CLAIMED);
        store_turns(e, dense, stream, whole, to, x, n - j * WORDS);
    }
}

/* Turns that follow each other, `dense`, become others with padding, or lose it; n words, at most a vector. */
TG_INLINE void pad_eights(int bits, bool dense, bool stream, bool whole, const eights *e, uint8_t *d, const uint8_t *s,
                          int64_t n) {
    enum { ALL = MOST_ROWS };
    const int64_t in = dense ? e->rows : ALL, out = dense ? ALL : e->rows;
    const __m512i v = _mm512_maskz_loadu_epi8(V(bytes_left)(tg_min(n, WORDS) * in - e->unread), s);
    if (e->claims) TG_CLAIM(d + TG_CLAIMED);
    __m512i x = dense ? move_apart(bits, e, v) : move_together(bits, e, v);
    if (dense) x = _mm512_ternarylogic_epi64(_mm512_set1_epi64((int64_t)e->keep), x, e->pad, SECOND_ELSE_THIRD);
    if (whole && dense) V(put)(d, (V(vec))x, stream);
    else _mm512_mask_storeu_epi8(d, V(bytes_left)(tg_min(n, WORDS) * out), x);
}

/* ---- blocks ---- */

/* Bytes of vectors, from which others are made: words of 8 to or from n bytes, and words of a row. */
static eights eights_of(int bits, bool dense, bool back, bool apart, const tg_mover *m, const tg_block *b) {
    uint8_t gather[VEC] = {0}, turn[VEC];
    eights  e = {.rows = m->dst_width, .row = back ? b->dst_col : b->src_col, .turns = back ? b->src_col : b->dst_col,
                 .claims = m->claims};
    for (int c = 0; c < WORDS; c++)
        for (int r = 0; r < MOST_ROWS; r++) {
            const int n = (int)e.rows * c + r, all = c * MOST_ROWS + r;
            turn[all] = (uint8_t)(r * WORDS + c);
            if (dense && r < e.rows) gather[apart ? all : n] = (uint8_t)(apart ? n : all);
        }
    e.gather = (__m512i)V(load)(gather);
    e.turn = (__m512i)V(load)(turn);
    for (int k = 0; k < 3; k++) {
        e.low[k] = _mm512_set1_epi64(lowest(e.rows << k, 16 << k));
        e.by[k] = _mm512_set1_epi64((MOST_ROWS - e.rows) << k);
    }
    e.unread = b->src_col == MOST_ROWS ? (MOST_ROWS - e.rows) * bits / 8 : 0;
    e.keep = (uint64_t)lowest(e.rows * bits, MOST_ROWS * bits);
    e.pad = b->pad != NULL ? _mm512_set1_epi8((char)b->pad[0]) : _mm512_setzero_si512();
    return e;
}

/* Are lines written whole? Then they are not asked for. */
static void set_stream(eights *e, bool whole) {
    e->stream = whole;
    if (whole) e->claims = false;
}

/* All runs of a block, each by WAY, STEP bytes of each row at a time; d_by and s_by are bytes on either side. */
#  define RUNS(WAY, BITS, DENSE, STREAM, STEP, d_by, s_by)                                                            \
      for (int64_t o = 0; o < b->outer; o++)                                                                          \
          for (int64_t r = 0; r < b->rows; r++) {                                                                     \
              uint8_t       *to = d + o * b->dst_outer + r * b->dst_row;                                              \
              const uint8_t *from = s + o * b->src_outer + r * b->src_row;                                            \
              int64_t        n = b->cols;                                                                             \
              for (; n >= (STEP); n -= (STEP), to += (STEP) * (d_by), from += (STEP) * (s_by))                        \
                  WAY(BITS, DENSE, STREAM, true, &e, to, from, STEP);                                                 \
              if (n > 0) WAY(BITS, DENSE, false, false, &e, to, from, n);                                             \
          }

/* The movers. They write around the caches where all rows, or all turns, begin at lines. */
#  define DEFINE_EIGHTS(BITS)                                                                                         \
      static const uint8_t *part_##BITS(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {         \
          const bool dense = b->src_col < MOST_ROWS;                                                                  \
          eights     made = eights_of(BITS, dense, true, true, m, b);                                                 \
          set_stream(&made, m->stream && tg_at_lines(d, b->dst_row | b->dst_outer | b->dst_col, 0));                  \
          const eights e = made; /* which no store may change */                                                      \
          if (dense && e.stream) RUNS(part_eights, BITS, true, true, VEC, 1, e.turns)                                 \
          else if (dense) RUNS(part_eights, BITS, true, false, VEC, 1, e.turns)                                       \
          else if (e.stream) RUNS(part_eights, BITS, false, true, VEC, 1, MOST_ROWS)                                  \
          else RUNS(part_eights, BITS, false, false, VEC, 1, MOST_ROWS)                                               \
          return NULL;                                                                                                \
      }                                                                                                               \
      static const uint8_t *mix_##BITS(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {          \
          const bool dense = b->dst_col < MOST_ROWS;                                                                  \
          eights     made = eights_of(BITS, dense, false, false, m, b);                                               \
          set_stream(&made, m->stream && !dense && tg_at_lines(d, b->dst_row | b->dst_outer, 0));                     \
          const eights e = made;                                                                                      \
          if (dense) RUNS(mix_eights, BITS, true, false, VEC, e.turns, 1)                                             \
          else if (e.stream) RUNS(mix_eights, BITS, false, true, VEC, MOST_ROWS, 1)                                   \
          else RUNS(mix_eights, BITS, false, false, VEC, MOST_ROWS, 1)                                                \
          return NULL;                                                                                                \
      }                                                                                                               \
      static const uint8_t *pad_##BITS(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {          \
          const bool dense = b->src_col < MOST_ROWS;                                                                  \
          eights     made = eights_of(BITS, true, false, dense, m, b);                                                \
          set_stream(&made, m->stream && dense && tg_at_lines(d, b->dst_row | b->dst_outer, 0));                      \
          const eights e = made;                                                                                      \
          if (e.stream) RUNS(pad_eights, BITS, true, true, WORDS, MOST_ROWS, e.rows)                                  \
          else if (dense) RUNS(pad_eights, BITS, true, false, WORDS, MOST_ROWS, e.rows)                               \
          else RUNS(pad_eights, BITS, false, false, WORDS, e.rows, MOST_ROWS)                                         \
          return NULL;                                                                                                \
      }

DEFINE_EIGHTS(1)
DEFINE_EIGHTS(2)
DEFINE_EIGHTS(4)
TG_END

tg_block_move *tg_eights_for(int32_t bits, tg_eights way) {
    static tg_block_move *const all[3][3] = {{mix_1, mix_2, mix_4}, {part_1, part_2, part_4}, {pad_1, pad_2, pad_4}};
    return all[way][bits / 2];
}
#else
tg_block_move *tg_eights_for(int32_t bits, tg_eights way) {
    (void)bits;
    (void)way;
    return NULL;
}
#endif
