/* Transposes of elements that are no power of two of bytes: pixels of three channels, vectors of three coordinates.
 *
 * With AVX-512. A vector has as many elements as if each were 4, 8 or 16 bytes, the next power of two. Bytes of a line
 * are spread so, turned as elements of that many bytes are (transpose.c), and packed again; here two lines of elements
 * of three bytes, in vectors of eight:
 *
 *     loaded    spread       turned       packed
 *     aaaAAA    aaa.AAA.     aaa.bbb.     aaabbb      to row 0
 *     bbbBBB    bbb.BBB.     AAA.BBB.     AAABBB      to row 1
 *
 * Of elements of more than 16 bytes a vector has two: a row of such a square is one shuffle of both lines. Loads and
 * stores have masks, so that nothing else is read or written; plain stores, over the place of the next square, were no
 * faster. Lines are fetched some squares ahead: without it what comes from memory takes twice as long. Stores go into
 * the caches, whatever the size: through a buffer, and from there around them, was as fast (64 MiB, 0.5 to 1.0 of
 * memcpy either way).
 *
 *     x memcpy, a Zen 4, n x n elements        64 MiB, copied, turned    512 KiB
 *     3 bytes                                  0.12  0.60                0.09  0.41
 *     6                                        0.25  0.61                0.19  0.43
 *     12                                       0.39  0.73                0.35  0.60
 *     20                                       0.46  0.72                0.51  0.63 */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/transpose.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/vector.inc.h"
#  include "kernels/lanes.inc.h"
#  include "kernels/turn.inc.h"

enum {
    TILE_COLUMNS = 128, /* lines that are read side by side, square by square */
    CROWDED_BYTES = 2048, /* of each at a time, where they crowd a cache (768 to 3072 are as fast) */
    MOST_SIDE = 16,
    SQUARES_AHEAD = 3, /* 6 and 12 are 0.8 to 1.0 times as fast, none 0.4 to 0.8 (64 MiB) */
    FEW_COLUMNS = 9    /* matrices that go on along rows are joined from fewer on */
};

/* Elements of so many bytes (`width`), and how a vector gets and leaves them. */
typedef struct uneven {
    __m512i spread, pack; /* where each byte comes from; of pairs, those of the first row, and of the second one */
    int64_t width, side;  /* side: elements of a vector, and lines and rows of a square */
    int64_t ahead;        /* of lines, so many bytes ahead are fetched, or 0 */
    bool    memory;       /* src comes from memory */
    int64_t d_row, s_line; /* bytes from row to row, and from line to line, where these are evenly spaced */
} uneven;

/* What of a square there is: less than all at the ends of a matrix. */
typedef struct extent {
    int64_t   rows, lines;
    __mmask64 reads, writes; /* bytes of each line, and of each row */
} extent;

static int64_t room_of(int64_t width) { return width < 4 ? 4 : width < 8 ? 8 : width < 16 ? 16 : 32; }

/* Bytes from `first` on, `step` further in each part of so many bytes than in the one before. */
TG_NO_CHECKS static __m512i in_parts(int64_t first, int64_t bytes, int64_t step) {
    const __m512i by = _mm512_set1_epi8((char)step);
    __m512i       v = _mm512_add_epi8(V(ascending)(), _mm512_set1_epi8((char)first));
    for (int64_t i = bytes; i < 64; i += bytes) v = _mm512_mask_add_epi8(v, ~V(first_bytes)(i), v, by);
    return v;
}

static void uneven_of(uneven *u, const tg_mover *m, const tg_block *b) {
    const int64_t width = m->dst_width, room = room_of(width);
    u->spread = room == 32 ? in_parts(0, width, 64 - width) : in_parts(0, room, width - room);
    u->pack = room == 32 ? in_parts(width, width, 64 - width) : in_parts(0, width, room - width);
    u->width = width;
    u->side = 64 / room;
    u->ahead = m->fetches ? SQUARES_AHEAD * u->side * u->width : 0;
    u->memory = m->memory;
    u->d_row = b->dst_row;
    u->s_line = b->src_col;
}

/* ---- squares ---- */

TG_NO_CHECKS TG_INLINE __m512i load_line(const places *p, const uneven *u, const extent *e, int i) {
    const uint8_t *const s = line_at(p, i < e->lines ? i : 0);
    if (u->ahead != 0) TG_FETCH(s + u->ahead);
    return _mm512_maskz_loadu_epi8(e->reads, s);
}

TG_NO_CHECKS TG_INLINE void store_row(const places *p, const extent *e, int i, __m512i v) {
    if (i < e->rows) _mm512_mask_storeu_epi8(row_at(p, 1, i, 0), e->writes, v);
}

/* Of two elements in a vector: a row has one of each line. */
TG_NO_CHECKS TG_INLINE void square_of_pairs(const places *p, const uneven *u, const extent *e) {
    const __m512i a = load_line(p, u, e, 0), b = load_line(p, u, e, 1);
    store_row(p, e, 0, _mm512_permutex2var_epi8(a, u->spread, b));
    store_row(p, e, 1, _mm512_permutex2var_epi8(a, u->pack, b));
}

TG_NO_CHECKS TG_INLINE void square_of(int room, const places *p, const uneven *u, const extent *e) {
    const int n = 16 / room;
    V(vec)    v[LANES * 16];
    if (room == 32) {
        square_of_pairs(p, u, e);
        return;
    }
    TG_UNROLL
    for (int l = 0; l < LANES; l++) {
        V(vec) in[16];
        TG_UNROLL
        for (int j = 0; j < n; j++) in[j] = (V(vec))_mm512_permutexvar_epi8(u->spread, load_line(p, u, e, l * n + j));
        V(turn)(room, &v[l * n], in);
    }
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        V(vec) out[LANES];
        V(turn_lanes)(out, &v[i], n);
        TG_UNROLL
        for (int l = 0; l < LANES; l++)
            store_row(p, e, l * n + i, _mm512_permutexvar_epi8(u->pack, (__m512i)out[l]));
    }
}

TG_INLINE extent extent_of(const uneven *u, int64_t rows, int64_t lines) {
    return (extent){rows, lines, V(first_bytes)(rows * u->width), V(first_bytes)(lines * u->width)};
}

/* n squares side by side in rows of dst; of the last columns one, of fewer lines. Lines and rows are listed. */
TG_NO_CHECKS TG_INLINE void listed_squares(int room, uint8_t *const *row, int64_t to, const uint8_t *const *line,
                                           int64_t at, const uneven *from, int64_t n, int64_t rows, int64_t lines) {
    const uneven u = *from; /* a value, which no store can change */
    const extent e = extent_of(&u, rows, lines);
    for (; n > 0; n--, to += u.side * u.width, line += u.side) {
        const places p = listed(row, to, line, at);
        square_of(room, &p, &u, &e);
    }
}

/* n squares, each so many bytes further on. */
TG_NO_CHECKS TG_INLINE void even_squares(int room, uint8_t *d, const uint8_t *s, const uneven *from, int64_t n,
                                         int64_t d_step, int64_t s_step, int64_t rows, int64_t lines) {
    const uneven u = *from;
    const extent e = extent_of(&u, rows, lines);
    for (; n > 0; n--, d += d_step, s += s_step) {
        const places p = {.kind = EVEN, .d = d, .s = s, .d_step = u.d_row, .s_step = u.s_line};
        square_of(room, &p, &u, &e);
    }
}

typedef void listed_move(uint8_t *const *row, int64_t to, const uint8_t *const *line, int64_t at, const uneven *u,
                         int64_t n, int64_t rows, int64_t lines);
typedef void even_move(uint8_t *d, const uint8_t *s, const uneven *u, int64_t n, int64_t d_step, int64_t s_step,
                       int64_t rows, int64_t lines);

/* Of whole squares the compiler knows how many rows and lines they have. */
#  define DEFINE_SQUARES(room)                                                                                   \
      TG_NO_CHECKS TG_OUTLINE void listed_##room(uint8_t *const *row, int64_t to, const uint8_t *const *line,    \
                                                 int64_t at, const uneven *u, int64_t n, int64_t rows,           \
                                                 int64_t lines) {                                                \
          if (rows == 64 / (room) && lines == rows)                                                              \
              listed_squares(room, row, to, line, at, u, n, 64 / (room), 64 / (room));                           \
          else                                                                                                   \
              listed_squares(room, row, to, line, at, u, n, rows, lines);                                        \
      }                                                                                                          \
      TG_NO_CHECKS TG_OUTLINE void even_##room(uint8_t *d, const uint8_t *s, const uneven *u, int64_t n,         \
                                               int64_t d_step, int64_t s_step, int64_t rows, int64_t lines) {    \
          if (rows == 64 / (room) && lines == rows)                                                              \
              even_squares(room, d, s, u, n, d_step, s_step, 64 / (room), 64 / (room));                          \
          else                                                                                                   \
              even_squares(room, d, s, u, n, d_step, s_step, rows, lines);                                       \
      }

DEFINE_SQUARES(4)
DEFINE_SQUARES(8)
DEFINE_SQUARES(16)
DEFINE_SQUARES(32)

/* By how many elements a vector has: 2, 4, 8, 16. */
static int by_side(const uneven *u) { return __builtin_ctzll((uint64_t)u->side) - 1; }

static void move_listed(uint8_t *const *row, int64_t to, const uint8_t *const *line, int64_t at, const uneven *u,
                        int64_t n, int64_t rows, int64_t lines) {
    static listed_move *const move[] = {listed_32, listed_16, listed_8, listed_4};
    if (n > 0 && lines > 0) move[by_side(u)](row, to, line, at, u, n, rows, lines);
}

static void move_even(uint8_t *d, const uint8_t *s, const uneven *u, int64_t n, bool along, int64_t rows,
                      int64_t lines) {
    static even_move *const move[] = {even_32, even_16, even_8, even_4};
    const int64_t piece = u->side * u->width;
    if (n == 0 || rows == 0 || lines == 0) return;
    if (along) move[by_side(u)](d, s, u, n, piece, u->side * u->s_line, rows, lines);
    else move[by_side(u)](d, s, u, n, u->side * u->d_row, piece, rows, lines);
}

/* ---- matrices ---- */

/* All rows of some columns, from column `first` on, of lines and rows that are listed. */
static void turn_listed(const matrix *a, const uneven *u, uint8_t *d, const uint8_t *s, int64_t first, int64_t cols) {
    const int64_t  n = cols / u->side, whole = n * u->side;
    const uint8_t *line[TILE_COLUMNS];
    uint8_t       *row[MOST_SIDE];
    source_addresses(line, s, &a->src, first, cols);
    for (int64_t r = 0; r < a->dst.n; r += u->side) {
        const int64_t rows = tg_min(a->dst.n - r, u->side), at = r * u->width;
        target_addresses(row, d, &a->dst, r, rows);
        move_listed(row, first * u->width, line, at, u, n, rows, u->side);
        move_listed(row, (first + whole) * u->width, line + whole, at, u, 1, rows, cols - whole);
    }
}

/* Some rows and columns that are evenly spaced; d and s are where they begin. */
static void turn_even(const uneven *u, uint8_t *d, const uint8_t *s, int64_t rows, int64_t cols) {
    const int64_t side = u->side, down = rows / side, along = cols / side, rest = rows - down * side;
    const int64_t d_last = along * side * u->width, s_last = along * side * u->s_line, last = cols - along * side;
    for (int64_t r = 0; r < down; r++)
        move_even(d + r * side * u->d_row, s + r * side * u->width, u, along, true, side, side);
    move_even(d + d_last, s + s_last, u, down, false, side, last);
    d += down * side * u->d_row;
    s += down * side * u->width;
    move_even(d, s, u, along, true, rest, side);
    move_even(d + d_last, s + s_last, u, 1, true, rest, last);
}

/* Of lines that crowd the first-level cache, as many as have their places in it together. */
static int64_t lines_together(const uneven *u) {
    return tg_max(lines_that_fit(u->s_line) / u->side, 1) * u->side;
}

/* Do lines crowd the first-level cache, so that few are to be read side by side? (A Zen 4, x memcpy: 512 KiB,
 * f32[16,64,32,3] {3,0,1,2} to {3,2,0,1} 0.19 -> 0.44, 8 MiB, [512,8,128,3] {3,2,1,0} to {3,0,2,1} 0.24 -> 0.38. But
 * from memory, where rows of dst are written as they go on, [4096,4096,3] turned 0.66 and 0.42, and where rows crowd
 * each other too, [1024,1024,3] 0.34 and 0.23.) */
static bool lines_crowd(const matrix *a, const uneven *u) {
    enum { FEW_ROWS = 16 }; /* 6144 bytes apart they have place, 12288 apart they do not */
    return !u->memory && is_crowded(u->s_line, tg_min(a->src.n, TILE_COLUMNS)) && !is_crowded(u->d_row, FEW_ROWS);
}

/* All rows of some columns, where d and s begin. */
static void turn_tile(const matrix *a, const uneven *u, uint8_t *d, const uint8_t *s, int64_t cols) {
    const bool    crowd = lines_crowd(a, u);
    const int64_t rows = crowd ? CROWDED_BYTES / u->width / u->side * u->side : a->dst.n;
    const int64_t lines = crowd ? lines_together(u) : cols;
    for (int64_t r = 0; r < a->dst.n; r += rows)
        for (int64_t c = 0; c < cols; c += lines)
            turn_even(u, d + r * u->d_row + c * u->width, s + c * u->s_line + r * u->width,
                      tg_min(a->dst.n - r, rows), tg_min(cols - c, lines));
}

/* `lists`: of lines and rows, where they are not evenly spaced. */
static void turn_matrix(const matrix *a, const uneven *u, uint8_t *d, const uint8_t *s, bool lists) {
    for (int64_t c = 0; c < a->src.n; c += TILE_COLUMNS) {
        const int64_t cols = tg_min(a->src.n - c, TILE_COLUMNS);
        if (lists) turn_listed(a, u, d, s, c, cols);
        else turn_tile(a, u, d + c * u->width, s + c * u->s_line, cols);
    }
}

static const uint8_t *transpose_uneven(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    matrix a;
    uneven u;
    if (tg_has_small_matrices(b, m->dst_width)) {
        tg_turn_small_matrices(m, d, s, b);
        return NULL;
    }
    uneven_of(&u, m, b);
    loops_of(&a, u.width, d, s, b);
    /* Lists of lines and rows cost wide elements a third in caches; where few of a square's lines would be full, or
     * these have 16 lines, whose addresses are too many for registers, they pay. */
    const bool few = tg_min(b->rows, b->cols) < 2 * u.side;
    const bool goes_on = b->cols < FEW_COLUMNS && b->outer > 1 && b->dst_outer == b->cols * u.width;
    if (u.side == MOST_SIDE || (u.side > 4 && few) || goes_on) join_matrices(&a, m, b);
    const bool lists = u.side == MOST_SIDE || a.outer < b->outer;
    for (int64_t o = 0; o < a.outer; o++) turn_matrix(&a, &u, d + o * a.dst_outer, s + o * a.src_outer, lists);
    for (int64_t o = 0; b->tail > 0 && o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            tg_fill_bytes(d + o * b->dst_outer + r * b->dst_row + b->cols * u.width, b->tail * u.width, b->pad,
                          m->stream);
    return NULL;
}
#  undef VEC
TG_END
#endif

tg_block_move *tg_uneven_for(uint32_t cpu) {
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return transpose_uneven;
#endif
    (void)cpu;
    return NULL;
}
