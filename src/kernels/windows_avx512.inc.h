/* Few columns into the second-level cache, with AVX-512; see transpose.c.
 *
 * Rows of 5 to 16 columns that follow each other are one run: a vector of it has at most 16 bytes of each line, a
 * window. They are loaded into the lanes of vectors, four lines in each; then one shuffle takes the bytes of two such
 * vectors. Which byte goes where is the same again after as many vectors as there are columns, or fewer. Lines 4, 5,
 * ... are of the next vector, the last one of which begins earlier: 10 columns are lines 0 to 3, 4 to 7, and 6 to 9. A
 * window ends where its line does, or behind it; where the block ends it is a copy.
 *
 * Where stores claim their lines only shorter lines than a window come here, and 16 columns: others go lane by lane
 * (few_lanes.c), since these numbers were taken.
 *
 * Each line costs a load and a cycle. So strands (few_avx512.inc.h) win where there are more than 8 lines, if these are
 * long: they have to be begun for each run (512 KiB, an Emerald Rapids, x memcpy: 5 columns of two bytes strands 0.49,
 * windows 0.56; 13 columns 0.40 and 0.28; runs of 64 rows of 5 columns 0.09 and 0.47). Rows of more than 32 bytes,
 * which are no strands, are better made piece by piece where runs go on (12 columns of four bytes, runs of 21 rows:
 * windows 0.31, pieces 0.41). On a Zen 4 strands win for 5 to 8 columns too (0.52 and 0.45), and lines that crowd a set
 * of the first-level cache are no windows (12 of them 16 KiB apart 0.55 and 0.36). */

enum { LEAST_WINDOWS = 5, MOST_WINDOWS = 16, WINDOW = 16, FOUR = 4, LEAST_STRANDS = 2048 };

typedef struct windows {
    __m512i place[MOST_WINDOWS]; /* low bits: of the first two vectors, or, where the high one is set, of the others */
    int64_t at[MOST_WINDOWS + 1]; /* where a line is read */
    int     n; /* and then again from there */
} windows;

/* Of 32 bytes from byte q on, of vector k, whose first row is `row`. */
TG_NO_CHECKS TG_INLINE __m512i window_places(int width, int cols, __m512i q, int k, int row) {
    const __m512i n = _mm512_set1_epi16((int16_t)cols), inverse = _mm512_set1_epi16((int16_t)(65536 / cols + 1));
    const __m512i e = _mm512_add_epi16(element_of(width, q), _mm512_set1_epi16((int16_t)(k * VEC / width)));
    const __m512i r = _mm512_mulhi_epu16(e, inverse), c = _mm512_sub_epi16(e, _mm512_mullo_epi16(r, n));
    const __m512i group = _mm512_srli_epi16(c, 2);
    const __m512i first = _mm512_min_epi16(_mm512_slli_epi16(group, 2), _mm512_set1_epi16((int16_t)(cols - FOUR)));
    const __m512i among = _mm512_slli_epi16(_mm512_sub_epi16(c, first), 4);
    const __m512i lane = _mm512_add_epi16(among, _mm512_slli_epi16(group, 6));
    const __m512i rows = _mm512_sub_epi16(r, _mm512_set1_epi16((int16_t)row));
    const __m512i begin = _mm512_mullo_epi16(rows, _mm512_set1_epi16((int16_t)width));
    return _mm512_add_epi16(_mm512_add_epi16(lane, begin), byte_of(width, q));
}

TG_NO_CHECKS static void make_windows(windows *w, int width, int cols) {
    w->n = cols / (int)tg_min(cols & -cols, VEC / width);
    for (int k = 0; k <= w->n; k++) {
        const int row = k * VEC / width / cols;
        w->at[k] = row * width;
        if (k == w->n) break;
        w->place[k] = low_bytes(window_places(width, cols, numbers_from(0), k, row),
                                window_places(width, cols, numbers_from(32), k, row));
    }
}

/* Windows of four lines. */
TG_NO_CHECKS TG_INLINE __m512i four_windows(const uint8_t *s, int64_t step) {
    __m512i v = _mm512_broadcast_i32x4(LOAD128(s));
    s = next_line(s, step);
    v = _mm512_mask_broadcast_i32x4(v, 0xf0, LOAD128(s));
    s = next_line(s, step);
    v = _mm512_mask_broadcast_i32x4(v, 0xf00, LOAD128(s));
    s = next_line(s, step);
    return _mm512_mask_broadcast_i32x4(v, 0xf000, LOAD128(s));
}

/* `groups` of four lines of as many as there are. */
TG_NO_CHECKS TG_INLINE __m512i put_together(int groups, const uint8_t *s, int64_t step, int64_t last, __m512i place) {
    __m512i        v[FOUR];
    const uint8_t *line = s;
    TG_UNROLL
    for (int g = 0; g < groups; g++) {
        v[g] = four_windows(g + 1 < groups ? line : s + last, step);
        line = next_line(line, FOUR * step);
    }
    const __m512i low = _mm512_permutex2var_epi8(v[0], place, v[1]);
    if (groups == 2) return low;
    const __m512i high =
        groups == 3 ? _mm512_permutexvar_epi8(place, v[2]) : _mm512_permutex2var_epi8(v[2], place, v[3]);
    return _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(place), high);
}

/* The same where lines, of which so many bytes are left, end where src does: of copies. */
TG_NO_CHECKS TG_OUTLINE __m512i put_last_together(const uint8_t *s, int64_t step, int64_t cols, int64_t left,
                                                  __m512i place) {
    uint8_t         copy[MOST_WINDOWS * WINDOW] __attribute__((aligned(64)));
    const __mmask16 some = (__mmask16)V(first_bytes)(tg_min(left, WINDOW));
    for (int64_t c = 0; c < cols; c++)
        _mm_store_si128((__m128i *)(void *)(copy + c * WINDOW), _mm_maskz_loadu_epi8(some, s + c * step));
    const int64_t last = (cols - FOUR) * WINDOW;
    return cols <= 8    ? put_together(2, copy, WINDOW, last, place)
           : cols <= 12 ? put_together(3, copy, WINDOW, last, place)
                        : put_together(4, copy, WINDOW, last, place);
}

TG_INLINE void windows_block(int width, int groups, bool claims, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const short_lines l = short_lines_of(width, s, b);
    const int64_t     step = b->src_col, last = (b->cols - FOUR) * step;
    const int64_t     reach = tg_max((b->cols - 1) * step, 0) + WINDOW;
    const int64_t     all = b->rows * b->dst_row, line = b->rows * width;
    windows           w;
    make_windows(&w, width, (int)b->cols);
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {
        const uint8_t *from = s;
        for (int64_t i = 0, k = 0; i < all; i += VEC) {
            const uint8_t *const p = from + w.at[k];
            if (claims) TG_CLAIM(d + i + TG_CLAIMED);
            const __m512i v = p + reach <= l.end ? put_together(groups, p, step, last, w.place[k])
                                                 : put_last_together(p, step, b->cols, line - (p - s), w.place[k]);
            if (all - i >= VEC) V(store)(d + i, (V(vec))v);
            else _mm512_mask_storeu_epi8(d + i, V(bytes_left)(all - i), v);
            if (++k == w.n) from += w.at[k], k = 0;
        }
    }
}

#define DEFINE_WINDOWS(width)                                                                                          \
  TG_NO_CHECKS TG_OUTLINE void windows_##width(bool claims, uint8_t *d, const uint8_t *s, const tg_block *b) {         \
    if (b->cols <= 8)                                                                                                  \
      windows_block(width, 2, claims, d, s, b);                                                                        \
    else if (b->cols <= 12)                                                                                            \
      windows_block(width, 3, claims, d, s, b);                                                                        \
    else                                                                                                               \
      windows_block(width, 4, claims, d, s, b);                                                                        \
  }
DEFINE_WINDOWS(1)
DEFINE_WINDOWS(2)
DEFINE_WINDOWS(4)
#undef DEFINE_WINDOWS

/* False if rows are not such. */
TG_INLINE bool moved_windows(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (!m->to_dst || m->stream || width > 4 || b->tail > 0 || b->dst_row != b->cols * width) return false;
    const int64_t all = b->rows * b->dst_row;
    const bool    pieces = b->cols > 2 * FOUR && b->dst_row > MOST_FEW && b->dst_outer == all;
    if (!m->claims && is_crowded(b->src_col, b->cols)) return false;
    if (pieces || b->cols < LEAST_WINDOWS || b->cols > MOST_WINDOWS || all >= LEAST_STRANDS) return false;
    if (width == 1) windows_1(m->claims, d, s, b);
    else if (width == 2) windows_2(m->claims, d, s, b);
    else windows_4(m->claims, d, s, b);
    return true;
}
