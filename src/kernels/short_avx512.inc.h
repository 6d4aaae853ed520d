/* Short lines, of less than a cache line, with AVX-512: into the second-level cache, or around the caches; see
 * transpose.c.
 *
 * Strips: 16 bytes of 64 / width lines, wherever these lie, become a vector of each of a few rows (short_strip). Lines
 * are read beyond their ends, and beyond the last one too, where that is still inside of the block; else a copy is
 * read. What is not of the row is padding, or is not written. So a block has neither lists of lines nor a last square
 * that is put together element by element, and begins at once: of channels, rows have often no more than two vectors.
 *
 * Lines of few elements of one or two bytes that follow each other need less: a row has every n-th element, and n
 * vectors have those for one vector of it. Which byte goes where is the same for all of them, and for all rows, if
 * these read from their own first element on. Here 3 rows of vectors of 8 bytes:
 *
 *     three vectors      a0 b0 c0 a1 b1 c1 a2 b2 | c2 a3 b3 c3 a4 b4 c4 a5 | b5 c5 a6 b6 c6 a7 b7 c7
 *     row a, bytes from  0  3  6 | 1  4  7 | 2  5
 *     row b              the same, one byte further on
 *
 * Where stores into a cache wait for their lines, these are asked for before the shuffles (TG_CLAIM). Around the caches
 * go rows that begin at lines.
 *
 *     512 KiB, an Emerald Rapids, x memcpy                       before  now
 *     [255,3] bytes to three planes of T(8,128)                  0.09    0.49
 *     [150,3] of four bytes to planes of T(8,128)                0.26    0.55
 *     [50000,5] of two bytes to five sticks, or to five rows     0.18    0.54, 0.52
 *     [43691,12] of one byte to twelve rows                      0.34    0.59 */
#include "kernels/places_avx512.inc.h"

/* Where a block may be read, and how: also what is between its lines. */
typedef struct short_lines {
    const uint8_t *begin, *end;
    int64_t        line, step; /* bytes of a line, and to the next one */
} short_lines;

static short_lines short_lines_of(int width, const uint8_t *s, const tg_block *b) {
    const int64_t outer = (b->outer - 1) * b->src_outer, cols = (b->cols - 1) * b->src_col;
    const uint8_t *const begin = s + tg_min(outer, 0) + tg_min(cols, 0);
    const uint8_t *const last = s + tg_max(outer, 0) + tg_max(cols, 0);
    return (short_lines){begin, last + b->rows * width, b->rows * width, b->src_col};
}

/* A vector of some rows: of so many columns `valid` come from src, the others are padding, and `all` are written. */
typedef struct short_rows {
    uint8_t *d;
    int64_t  row, n; /* so many rows, */
    int64_t  inner, jump; /* of many matrices: of which so many are of one, and on to the next one */
    int64_t  in;     /* of the first one's, those before d */
    int64_t  done;   /* of which the first ones are written */
    int64_t  valid, all; /* bytes, at most VEC */
    __m512i  pad;
    bool     stream, claims;
} short_rows;

/* On to the next row; *in are before it in its matrix. */
TG_INLINE uint8_t *next_short(bool many, const short_rows *r, uint8_t *d, int64_t *in) {
    d += r->row;
    if (!many || ++*in < r->inner) return d;
    *in = 0;
    return d + r->jump;
}

/* From row `at` on. */
TG_INLINE void begin_short(bool many, short_rows *r, const short_rows *all, int64_t at) {
    r->d = all->d + at * all->row;
    if (!many) return;
    r->d += at / all->inner * all->jump;
    r->in = at % all->inner;
}

TG_INLINE void claim_short(bool many, const short_rows *r, int64_t n) {
    uint8_t *p = r->d;
    int64_t  in = r->in;
    if (!r->claims) return;
    for (int64_t i = 0; i < n; i++, p = next_short(many, r, p, &in)) {
        TG_CLAIM(p);
        TG_CLAIM(p + r->all - 1);
    }
}

TG_NO_CHECKS TG_INLINE void put_short(const short_rows *r, uint8_t *d, V(vec) v) {
    if (r->valid == VEC) {
        V(put)(d, v, r->stream);
        return;
    }
    const __m512i all = _mm512_mask_mov_epi8(r->pad, V(first_bytes)(r->valid), (__m512i)v);
    if (r->all == VEC) V(put)(d, (V(vec))all, r->stream);
    else _mm512_mask_storeu_epi8(d, V(first_bytes)(r->all), all);
}

/* ---- strips ---- */

/* 16 bytes of each line, or fewer: of lines that end where src does, by way of a copy, of which those of no column may
 * be anything. */
TG_NO_CHECKS TG_INLINE void short_strip(int width, bool many, const short_lines *l, const short_rows *r,
                                        const uint8_t *s, uint8_t *copy) {
    const int      n = 16 / width, lines = VEC / width;
    const int64_t  last = (lines - 1) * l->step;
    int64_t        step = l->step;
    uint8_t       *to = r->d;
    int64_t        before = r->in;
    V(vec)         in[16], out[16];
    claim_short(many, r, r->n);
    if (s + tg_min(last, 0) < l->begin || s + tg_max(last, 0) + 16 > l->end) {
        const __mmask16 some = (__mmask16)V(first_bytes)(tg_min(r->n * width, 16));
        for (int64_t i = 0; i < r->valid / width; i++)
            _mm_store_si128((__m128i *)(void *)(copy + i * 16), _mm_maskz_loadu_epi8(some, s + i * step));
        s = copy;
        step = 16;
    }
    TG_UNROLL
    for (int j = 0; j < n; j++) {
        in[j] = (V(vec))insert_lanes(s, n * step);
        s = next_line(s, step);
    }
    V(turn)(width, out, in);
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        if (i >= r->n) break;
        if (i >= r->done) put_short(r, to, out[i]);
        to = next_short(many, r, to, &before);
    }
}

/* All strips of a vector of columns. */
TG_INLINE void short_columns(int width, bool many, const short_lines *l, const short_rows *all, const uint8_t *s,
                             uint8_t *copy) {
    const int64_t most = 16 / width, n = all->n;
    short_rows    r = *all;
    for (int64_t first = 0; first < n; first += most) {
        const int64_t at = n > most ? tg_min(first, n - most) : 0; /* the last one may begin a little earlier */
        begin_short(many, &r, all, at);
        r.n = tg_min(n, most);
        r.done = first - at;
        short_strip(width, many, l, &r, s + at * width, copy);
    }
}

/* ---- lines that follow each other ---- */

enum { MOST_JOINED = 7 };

typedef struct short_places {
    __m512i   from; /* of each byte, in a vector */
    __mmask64 of[MOST_JOINED]; /* those of each vector */
} short_places;

/* Of 32 bytes of a row, which gets every n-th element. */
TG_INLINE __m512i every_nth(int width, int n, __m512i number) {
    const __m512i step = _mm512_set1_epi16((short)(n * width));
    return _mm512_add_epi16(_mm512_mullo_epi16(element_of(width, number), step), byte_of(width, number));
}

TG_NO_CHECKS TG_INLINE short_places short_places_of(int width, int n) {
    const __m512i low = every_nth(width, n, numbers_from(0)), high = every_nth(width, n, numbers_from(32));
    short_places  p = {.from = low_bytes(low, high)};
    TG_UNROLL
    for (int k = 0; k < n; k++) p.of[k] = in_vector(low, high, k);
    return p;
}

/* Of n rows. */
TG_NO_CHECKS TG_INLINE void short_joined(int width, int n, const short_lines *l, const short_rows *r,
                                         const short_places *p, const uint8_t *s) {
    uint8_t   *to = r->d;
    const int64_t reads = r->valid * n; /* bytes */
    const bool inside = s + n * VEC + (n - 1) * width <= l->end;
    claim_short(false, r, n);
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        __m512i v = _mm512_setzero_si512();
        TG_UNROLL
        for (int k = 0; k < n; k++) {
            const uint8_t *const from = s + i * width + k * VEC;
            if (k > 0 && k * VEC >= reads) break;
            const __m512i        in =
                inside ? (__m512i)V(load)(from) : _mm512_maskz_loadu_epi8(V(bytes_left)(l->end - from), from);
            v = _mm512_mask_permutexvar_epi8(v, p->of[k], p->from, in);
        }
        put_short(r, to, (V(vec))v);
        to = next_row(to, r->row);
    }
}

/* ---- blocks ---- */

/* Lines go on in the next matrix: all rows that they have come together, not those of one matrix after the other (512
 * KiB, x memcpy: one byte, [256,4,32,16] from {1,2,0,3} to {0,3,2,1}, 0.09 -> 0.32; two bytes, [3,8738,5,2] to
 * {1,0,2,3}, 0.18 -> 0.23). */
TG_INLINE void join_short(short_rows *r, const tg_block *b) {
    r->n = b->rows * b->outer;
    r->inner = b->rows;
    r->jump = b->dst_outer - b->rows * b->dst_row;
}

/* n: rows that come from lines that follow each other; 0: by strips, `many`: of matrices that are joined. */
TG_INLINE void short_block(int width, int n, bool many, const tg_mover *m, uint8_t *d, const uint8_t *s,
                           const tg_block *b) {
    const short_lines  l = short_lines_of(width, s, b);
    const short_places p = short_places_of(width, n);
    const int64_t      all = (b->cols + b->tail) * width, valid = b->cols * width;
    uint8_t            copy[VEC * 16] __attribute__((aligned(64)));
    short_rows         r = {.row = b->dst_row, .n = b->rows, .pad = _mm512_setzero_si512()};
    if (b->tail > 0) r.pad = _mm512_loadu_si512(b->pad);
    if (n == 0) memset(copy, 0, sizeof copy);
    r.stream = m->stream && tg_at_lines(d, b->dst_row, b->dst_outer);
    r.claims = m->claims && !r.stream;
    const int64_t outer = many ? 1 : b->outer;
    if (many) join_short(&r, b);
    for (int64_t o = 0; o < outer; o++, d += b->dst_outer, s += b->src_outer) {
        const uint8_t *from = s;
        for (int64_t at = 0; at < all; at += VEC, from += VEC / width * l.step) {
            r.d = d + at;
            r.valid = tg_max(tg_min(valid - at, VEC), 0);
            r.all = tg_min(all - at, VEC);
            if (r.valid == 0) {
                int64_t  in = 0;
                uint8_t *to = r.d;
                for (int64_t i = 0; i < r.n; i++, to = next_short(many, &r, to, &in)) put_short(&r, to, (V(vec))r.pad);
            } else if (n > 0) {
                short_joined(width, n, &l, &r, &p, from);
            } else {
                short_columns(width, many, &l, &r, from, copy);
            }
        }
    }
}

#define DEFINE_SHORT_BLOCK(width, n)                                                                                   \
  TG_NO_CHECKS TG_OUTLINE void short_block_##width##_##n(const tg_mover *m, uint8_t *d, const uint8_t *s,              \
                                                         const tg_block *b) {                                          \
    short_block(width, n, false, m, d, s, b);                                                                          \
  }
DEFINE_SHORT_BLOCK(1, 0)
DEFINE_SHORT_BLOCK(1, 2)
DEFINE_SHORT_BLOCK(1, 3)
DEFINE_SHORT_BLOCK(1, 4)
DEFINE_SHORT_BLOCK(1, 5)
DEFINE_SHORT_BLOCK(1, 6)
DEFINE_SHORT_BLOCK(1, 7)
DEFINE_SHORT_BLOCK(2, 0)
DEFINE_SHORT_BLOCK(2, 2)
DEFINE_SHORT_BLOCK(2, 3)
DEFINE_SHORT_BLOCK(2, 4)
DEFINE_SHORT_BLOCK(4, 0)
DEFINE_SHORT_BLOCK(8, 0)
#undef DEFINE_SHORT_BLOCK

#define DEFINE_SHORT_MANY(width)                                                                                       \
  TG_NO_CHECKS TG_OUTLINE void short_many_##width(const tg_mover *m, uint8_t *d, const uint8_t *s, \
                                                  const tg_block *b) {                                                 \
    short_block(width, 0, true, m, d, s, b);                                                                           \
  }
DEFINE_SHORT_MANY(1)
DEFINE_SHORT_MANY(2)
DEFINE_SHORT_MANY(4)
DEFINE_SHORT_MANY(8)
#undef DEFINE_SHORT_MANY

TG_INLINE V(turn_narrow_move) *short_move(int width, const tg_block *b) {
    static V(turn_narrow_move) *const bytes[] = {short_block_1_2, short_block_1_3, short_block_1_4, short_block_1_5,
                                                 short_block_1_6, short_block_1_7};
    static V(turn_narrow_move) *const pairs[] = {short_block_2_2, short_block_2_3, short_block_2_4};
    const bool many = b->outer > 1 && b->src_outer == b->rows * width;
    if (many) return width == 1 ? short_many_1 : width == 2 ? short_many_2 : width == 4 ? short_many_4 : short_many_8;
    const bool joined = b->src_col == b->rows * width && b->rows > 1; /* longer lines have fewer shuffles in strips */
    if (width == 1) return joined && b->rows <= MOST_JOINED ? bytes[b->rows - 2] : short_block_1_0;
    if (width == 2) return joined && b->rows <= 4 ? pairs[b->rows - 2] : short_block_2_0;
    return width == 4 ? short_block_4_0 : short_block_8_0;
}

/* Where stores do not wait for their lines, two kinds of blocks are faster by squares: long rows out of lines that
 * follow each other, and lines that crowd a set of the first-level cache (512 KiB, a Zen 4, x memcpy: seven bytes to
 * rows of 75000 0.80, so 0.29; three bytes 28 KiB apart 0.42 and 0.30). */
TG_INLINE bool suits_short(int width, const tg_block *b) {
    enum { LONG_ROW = 1024 };
    if (b->src_col == b->rows * width) return b->cols * width < LONG_ROW;
    return !is_crowded(b->src_col, VEC / width);
}

/* False if lines are not such. Those that go on in the next matrix are longer. Many small matrices, with padding behind
 * their rows, cost more by squares wherever src is (a Zen 4, 8 MiB, u8[6,20000,8]{0,2,1} to T(2,48) 0.05 and 0.32). */
TG_INLINE bool moved_short(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    enum {
        FEW_MATRICES = 16,
        SMALL_MATRIX = 1024 /* bytes: what squares cost besides is some 60 ns for each matrix */
    };
    const int64_t line = b->rows * width, all = b->outer > 1 && b->src_outer == line ? b->outer * line : line;
    const bool small = b->tail > 0 && b->outer >= FEW_MATRICES && b->rows * b->cols * width <= SMALL_MATRIX;
    if ((!m->to_dst && !small) || width > 8 || all >= TG_LINE_BYTES || (!m->claims && !suits_short(width, b)))
        return false;
    short_move(width, b)(m, d, s, b);
    return true;
}
