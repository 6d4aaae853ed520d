/* Few columns, or rows, into the second-level cache, with AVX-512: 5 to 16 lines, as channels that are next to each
 * other in dst; and up to 12 of them back.
 *
 * Of each line 16 bytes are loaded, those of four lines into the lanes of a vector. What they are in dst, as many rows
 * as a lane has elements, is two to four vectors, and each of these takes its bytes out of all that have been loaded:
 *
 *     lanes     a0 a1 .. a7   b0 b1 .. b7   c0 ..   d0 ..  |  e0 ..   f0 ..
 *     rows      a0 b0 c0 d0 e0 f0   a1 b1 c1 d1 e1 f1   a2 ...
 *
 * So 12 lines of two bytes each are 12 loads and 9 shuffles for 192 bytes; windows (windows_avx512.inc.h), which can do
 * shorter runs than a lane, load 12 times for each vector. The last vector of some rows begins to write the next ones,
 * which do so again. Elements may have any width: a lane has five of three bytes. Back, the vectors of some lines
 * become lanes by as many shuffles, and each lane is stored by itself.
 *
 *     x memcpy, a Granite Rapids, 512 KiB, before and so    1 byte        2 bytes       4 bytes       8 bytes
 *     5 lines                                               0.47  0.60    0.43  0.58    0.49  0.57    0.48  0.59
 *     7                                                     0.48  0.78    0.43  0.80    0.47  0.83    0.49  0.86
 *     9                                                     0.46  0.72    0.47  0.70    0.45  0.69    0.54  0.69
 *     12                                                    0.43  0.86    0.43  0.88    0.56  0.85    0.59  0.86 */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/transpose.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/vector.inc.h"
#  include "kernels/places_avx512.inc.h"
#  include "kernels/turn.inc.h"

enum { LANE = 16, FOUR = 4, MOST_VECTORS = 4, MOST_LINES = MOST_VECTORS * FOUR };

/* How some vectors are taken out of as many: where each byte of one is in that from which it comes, and which bytes
 * come from each of them. */
typedef struct few_lanes {
    __m512i   place[MOST_VECTORS];
    __mmask64 part[MOST_VECTORS][MOST_VECTORS];
} few_lanes;

/* x / by and the rest, of 16 bits; x * by is less than 65536. */
TG_NO_CHECKS static inline __m512i divided(__m512i x, int64_t by, __m512i *rest) {
    const __m512i inverse = _mm512_set1_epi16((int16_t)(65536 / by + 1));
    const __m512i q = by == 1 ? x : _mm512_mulhi_epu16(x, inverse);
    *rest = _mm512_sub_epi16(x, _mm512_mullo_epi16(q, _mm512_set1_epi16((int16_t)by)));
    return q;
}

/* Of 32 bytes of rows: where they are in the vectors of lanes. */
TG_NO_CHECKS static __m512i places_of(__m512i number, int64_t width, int64_t cols) {
    __m512i       byte, col;
    const __m512i row = divided(divided(number, width, &byte), cols, &col);
    const __m512i in_lane = _mm512_add_epi16(_mm512_mullo_epi16(row, _mm512_set1_epi16((int16_t)width)), byte);
    return _mm512_add_epi16(_mm512_slli_epi16(col, 4), in_lane);
}

/* Of 32 bytes of four lanes: where they are in the lines that these are columns of. */
TG_NO_CHECKS static __m512i back_places_of(__m512i number, int64_t width, int64_t rows) {
    __m512i       byte;
    const __m512i row = _mm512_srli_epi16(number, 4), in_lane = _mm512_and_si512(number, _mm512_set1_epi16(LANE - 1));
    const __m512i col = divided(in_lane, width, &byte);
    const __m512i element = _mm512_add_epi16(_mm512_mullo_epi16(col, _mm512_set1_epi16((int16_t)rows)), row);
    return _mm512_add_epi16(_mm512_mullo_epi16(element, _mm512_set1_epi16((int16_t)width)), byte);
}

/* Of n lines, or, `back`, of n rows. */
TG_NO_CHECKS TG_INLINE void make_few_lanes(few_lanes *w, int vectors, int64_t width, int64_t n, bool back) {
    for (int j = 0; j < vectors; j++) {
        const __m512i first = numbers_from(j * VEC), second = numbers_from(j * VEC + VEC / 2);
        const __m512i low = back ? back_places_of(first, width, n) : places_of(first, width, n),
                      high = back ? back_places_of(second, width, n) : places_of(second, width, n);
        w->place[j] = low_bytes(low, high);
        for (int g = 0; g < vectors; g++) w->part[j][g] = in_vector(low, high, g);
    }
}

/* Of the last lines of a vector there may be none: another one is loaded instead. */
TG_NO_CHECKS TG_INLINE __m512i some_lanes(const uint8_t *s, int64_t step, int64_t lines) {
    const uint8_t *const line[] = {s, s + (lines > 1 ? step : 0), s + (lines > 2 ? 2 * step : 0),
                                   s + (lines > 3 ? 3 * step : 0)};
    return (__m512i)V(lanes)(line);
}

/* Rows from p on, of which so many bytes are left: one lane of each line. */
TG_NO_CHECKS TG_INLINE void put_rows(const few_lanes *w, int vectors, uint8_t *p, int64_t left, const uint8_t *s,
                                     int64_t step, int64_t cols) {
    __m512i v[MOST_VECTORS];
    TG_UNROLL
    for (int g = 0; g < vectors; g++)
        v[g] = some_lanes(s + g * FOUR * step, step, g + 1 < vectors ? FOUR : cols - g * FOUR);
    TG_UNROLL
    for (int j = 0; j < vectors; j++) {
        __m512i out = _mm512_permutexvar_epi8(w->place[j], v[0]);
        TG_UNROLL
        for (int g = 1; g < vectors; g++) out = _mm512_mask_permutexvar_epi8(out, w->part[j][g], w->place[j], v[g]);
        if (left >= VEC) V(store)(p, (V(vec))out);
        else if (left > 0) _mm512_mask_storeu_epi8(p, V(first_bytes)(left), out);
        p += VEC;
        left -= VEC;
    }
}

/* The same where lines, of which less than a lane is left, end where src does: of copies. */
TG_NO_CHECKS TG_INLINE void put_last_rows(const few_lanes *w, int vectors, uint8_t *p, int64_t left, const uint8_t *s,
                                          int64_t step, int64_t cols, int64_t bytes) {
    uint8_t copy[MOST_LINES * LANE] __attribute__((aligned(64)));
    for (int64_t c = 0; c < cols; c++)
        _mm_store_si128((__m128i *)(void *)(copy + c * LANE),
                        _mm_maskz_loadu_epi8((__mmask16)V(first_bytes)(bytes), s + c * step));
    put_rows(w, vectors, p, left, copy, LANE, cols);
}

TG_NO_CHECKS TG_INLINE void turn_few_lanes(int vectors, int64_t width, uint8_t *d, const uint8_t *s,
                                           const tg_block *b) {
    const int64_t each = LANE / width, row = b->dst_row, cols = b->cols, step = b->src_col, rows = b->rows;
    const int64_t line = rows * width;
    few_lanes     in_memory;
    make_few_lanes(&in_memory, vectors, width, cols, false);
    const few_lanes w = in_memory; /* values, which no store can change, stay in registers */
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {
        uint8_t *const end = d + rows * row, *p = d;
        const uint8_t *from = s, *const last = s + line - LANE;
        for (; from <= last; from += each * width, p += each * row) {
            for (int j = 0; j < vectors; j++) TG_CLAIM(p + j * VEC + TG_CLAIMED);
            put_rows(&w, vectors, p, end - p, from, step, cols);
        }
        if (p >= end) continue;
        from = s + (rows - each) * width; /* some once more */
        put_last_rows(&w, vectors, end - each * row, each * row, from, step, cols, each * width);
    }
}

#  define DEFINE_FEW_LANES(vectors)                                                                 \
      TG_NO_CHECKS TG_OUTLINE void few_lanes_##vectors(int64_t width, uint8_t *d, const uint8_t *s, \
                                                       const tg_block *b) {                         \
          turn_few_lanes(vectors, width, d, s, b);                                                  \
      }
DEFINE_FEW_LANES(2)
DEFINE_FEW_LANES(3)
DEFINE_FEW_LANES(4)

/* ---- and back ---- */

/* A lane of each of as many rows as there are; of the last one of a row only so many bytes. */
TG_NO_CHECKS TG_INLINE void store_lanes(uint8_t *d, int64_t step, int64_t rows, __m512i v, __mmask16 some) {
    const __m128i lane[] = {_mm512_castsi512_si128(v), _mm512_extracti32x4_epi32(v, 1), _mm512_extracti32x4_epi32(v, 2),
                            _mm512_extracti32x4_epi32(v, 3)};
    TG_UNROLL
    for (int64_t r = 0; r < FOUR; r++, d += step) {
        if (r >= rows) break;
        if (some == 0xffff) _mm_storeu_si128((__m128i *)(void *)d, lane[r]);
        else _mm_mask_storeu_epi8(d, some, lane[r]);
    }
}

/* Some columns, which are so many bytes of src. */
TG_NO_CHECKS TG_INLINE void put_back(const few_lanes *w, int vectors, uint8_t *d, int64_t step, int64_t rows,
                                     const uint8_t *s, int64_t left, __mmask16 some) {
    __m512i v[MOST_VECTORS];
    TG_UNROLL
    for (int k = 0; k < vectors; k++)
        v[k] = left >= vectors * VEC ? _mm512_loadu_si512(s + k * VEC)
                                     : _mm512_maskz_loadu_epi8(V(first_bytes)(tg_max(tg_min(left - k * VEC, VEC), 0)),
                                                               s + k * VEC);
    TG_UNROLL
    for (int g = 0; g < vectors; g++) {
        __m512i out = _mm512_permutexvar_epi8(w->place[g], v[0]);
        TG_UNROLL
        for (int k = 1; k < vectors; k++) out = _mm512_mask_permutexvar_epi8(out, w->part[g][k], w->place[g], v[k]);
        store_lanes(d + g * FOUR * step, step, g + 1 < vectors ? FOUR : rows - g * FOUR, out, some);
    }
}

TG_NO_CHECKS TG_INLINE void turn_back(int vectors, int64_t width, uint8_t *d, const uint8_t *s,
                                      const tg_block *b) {
    const int64_t   each = LANE / width, step = b->dst_row, rows = b->rows, row = b->cols * width;
    const __mmask16 some = (__mmask16)V(first_bytes)(each * width);
    few_lanes       in_memory;
    make_few_lanes(&in_memory, vectors, width, rows, true);
    const few_lanes w = in_memory;
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {
        const uint8_t *const end = s + row * rows, *from = s;
        uint8_t             *p = d, *const last = d + row - LANE;
        for (int64_t i = 0; p <= last; p += each * width, from += each * width * rows, i++) {
            for (int64_t r = i % FOUR; r < rows; r += FOUR) TG_CLAIM(p + r * step + TG_CLAIMED);
            put_back(&w, vectors, p, step, rows, from, end - from, 0xffff);
        }
        if (from >= end) continue;
        from = end - each * width * rows; /* some once more */
        put_back(&w, vectors, d + row - each * width, step, rows, from, end - from, some);
    }
}

#  define DEFINE_BACK(vectors)                                                                 \
      TG_NO_CHECKS TG_OUTLINE void back_##vectors(int64_t width, uint8_t *d, const uint8_t *s, \
                                                  const tg_block *b) {                         \
          turn_back(vectors, width, d, s, b);                                                  \
      }
DEFINE_BACK(2)
DEFINE_BACK(3)

/* ---- which ---- */

static bool is_power(int64_t width) { return (width & (width - 1)) == 0; }

/* Sixteen lines of a power of two of bytes are squares, which transposes have. */
static bool are_few_lines(int64_t n, int64_t width) {
    enum { LEAST = 5 };
    return n >= LEAST && n <= MOST_LINES && (n < MOST_LINES || !is_power(width));
}

/* Back, each row has a store for each lane, where other transposes store whole vectors: these are better of some.
 * (Before and so, 9 rows of 4 bytes 0.49 and 0.45, of 8 bytes 0.60 and 0.43, 7 rows of two bytes 0.58 and 0.50, 6 of 9
 * bytes 0.37 and 0.30; 13 of any power of two 0.5 to 0.6 and 0.4.) */
static bool are_few_rows(int64_t n, int64_t width) {
    enum { LEAST = 5, HALF = 8, MOST = 12, SHORT = 8 };
    if (n < LEAST || n > MOST) return false;
    if (!is_power(width)) return width < SHORT;
    return width == 1 || (width == 2) == (n > HALF);
}

/* Not timed where stores do not wait for their lines. */
bool tg_turn_few_lanes(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int64_t width = m->dst_width;
    if (!m->to_dst || !m->claims || m->stream || b->tail > 0 || width >= LANE) return false;
    if (b->dst_row == b->cols * width && are_few_lines(b->cols, width) && b->rows * width >= LANE) {
        if (b->cols <= 2 * FOUR) few_lanes_2(width, d, s, b);
        else if (b->cols <= 3 * FOUR) few_lanes_3(width, d, s, b);
        else few_lanes_4(width, d, s, b);
        return true;
    }
    if (b->src_col == b->rows * width && are_few_rows(b->rows, width) && b->cols * width >= LANE) {
        if (b->rows <= 2 * FOUR) back_2(width, d, s, b);
        else back_3(width, d, s, b);
        return true;
    }
    return false;
}
#  undef VEC
TG_END
#else
bool tg_turn_few_lanes(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    (void)m, (void)d, (void)s, (void)b;
    return false;
}
#endif
