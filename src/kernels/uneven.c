/* Transposes of elements that are no power of two of bytes: pixels of three channels, vectors of three coordinates.
 *
 * With AVX-512. A vector has one lane of 16 bytes of each of four lines, with as many whole elements as these have
 * (of elements of more than 16 bytes one, of two lines), and each row of dst is picked from such vectors, of 4, 8 or 16
 * lines; here two vectors of elements of six bytes, of eight lines:
 *
 *     loaded                            picked
 *     aaAA bbBB ccCC ddDD               aabbccddeeffgghh     to row 0
 *     eeEE ffFF ggGG hhHH               AABBCCDDEEFFGGHH     to row 1
 *
 * What is behind the elements of a vector is stored too, where the next square of the row, or the next row, covers it:
 * masked stores cost a cycle more. The last lanes of lines end where these do, and begin with some elements once more.
 * Lines are fetched before they are needed: without it what comes from memory takes twice as long.
 *
 * From memory, long rows go through a buffer, piece by piece, and from there around the caches (leaving.inc.h).
 *
 *     x memcpy, an Emerald Rapids, n x n elements    256 MiB    512 KiB
 *     3 bytes                                        0.37       0.39
 *     6                                              0.63       0.45
 *     12                                             0.57       0.50
 *     24                                             0.7        0.51 */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/transpose.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/vector.inc.h"
#  include "kernels/turn.inc.h"
#  include "kernels/leaving.inc.h"
#  define LOAD256(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))

enum {
    TILE_COLUMNS = 128,    /* lines that are read side by side; as many rows are listed */
    CROWDED_BYTES = 2048,  /* of each at a time, where they crowd a cache (768 to 3072 are as fast) */
    MOST_DEEP = 4,         /* elements of a lane */
    MOST_SIDE = 16,        /* of a vector */
    FETCHED_AHEAD = 128,   /* bytes from what is read of a line to what is fetched */
    FEW_COLUMNS = 9,       /* matrices that go on along rows are joined from fewer on */
    PIECE = 384,           /* bytes of a row, and of a line, that go through a buffer (256 and 512 are as fast) */
    MOST_ROWS = PIECE / 3, /* of elements of three bytes, which are most */
    ROOM = MOST_ROWS * (PIECE + TG_LINE_BYTES)
};

/* The first piece of a row fills the line that the row begins in. */
_Static_assert(PIECE >= 4 * TG_LINE_BYTES && LEAST_CARRIED >= 4 * TG_LINE_BYTES,
               "a first piece may leave a line begun");

/* How many elements a lane has, each of another row, and how many vectors of lanes a square; how many bytes a lane. */
#  define DEEP(room) ((room) < 16 ? 16 / (room) : 1)
#  define LANE(room) ((room) < 16 ? 16 : (room))

/* Elements of so many bytes (`width`), and how they get into rows. */
typedef struct uneven {
    __m512i from;        /* where each byte of the first row comes from */
    int64_t width, lane; /* bytes */
    int64_t deep, side;  /* elements of a lane, each of another row; lines that a vector of a row is of */
    bool    fetches; /* lines are fetched before they are read */
    bool    memory;  /* src comes from memory */
} uneven;

/* Some lines, and the rows that their elements are: listed, or evenly spaced. */
typedef struct tile {
    uint8_t *const       *row;
    const uint8_t *const *line;
    uint8_t              *d; /* row 0, of those that are evenly spaced; line 0 */
    const uint8_t        *s;
    int64_t               d_row, s_line;
    int64_t               to, at; /* bytes of listed rows and lines before the tile */
    int64_t               lines, rows;
    bool                  fetches;
} tile;

/* The rows that a lane of each line is. */
typedef struct strip {
    uint8_t *const       *row;
    const uint8_t *const *line;
    uint8_t              *d;
    const uint8_t        *s;
    int64_t               d_row, s_line, to, at;
    int64_t               lines, rows; /* as many as there are, of a lane at most */
    int64_t span, span_step;           /* bytes from the first row on that are ours to write; less from each next one */
    __m512i               from[MOST_DEEP]; /* where each byte of a row comes from */
    __mmask32             reads;           /* bytes of a lane */
} strip;

/* Byte p of a row is of element p / width, and so of that line: lane by lane, and of the next vector again. */
TG_NO_CHECKS static __m512i picked(int64_t width, int64_t lane) {
    const __m512i by = _mm512_set1_epi8((char)(lane - width));
    __m512i       v = V(ascending)();
    for (int64_t i = width; i < VEC; i += width) v = _mm512_mask_add_epi8(v, ~V(first_bytes)(i), v, by);
    return v;
}

static uneven uneven_of(const tg_mover *m) {
    const int64_t width = m->dst_width, room = width < 4 ? 4 : width < 8 ? 8 : width < 16 ? 16 : 32;
    const int64_t lane = tg_max(room, 16);
    return (uneven){picked(width, lane), width, lane, lane / room, VEC / room, m->fetches, m->memory};
}

/* ---- tiles ---- */

/* How lines and rows are given; fewer lines than a square has, or shorter ones than a lane; are they fetched? */
enum { LISTED_LINES = 1, LISTED_ROWS = 2, BOTH_LISTED = 3, LACKING = 4, SHORT_LINES = 8, FETCHED = 16 };

/* Where line i begins, and the next ones of a vector. */
TG_NO_CHECKS TG_INLINE void some_lines(int room, const uint8_t **s, const strip *k, int64_t i, int as) {
    const int n = room == 32 ? 2 : 4;
    if ((as & LISTED_LINES) != 0) {
        for (int j = 0; j < n; j++) s[j] = k->line[i + j] + k->at;
        return;
    }
    const uint8_t *p = k->s + i * k->s_line;
    __asm__("" : "+r"(p)); /* or compilers keep a place for the steps to each of 16 lines */
    for (int j = 0; j < n; j++) s[j] = p + j * k->s_line;
}

/* Lanes of line i and the next ones. */
TG_NO_CHECKS TG_INLINE __m512i load_lanes(int room, const strip *k, int64_t i, int as) {
    const bool     part = (as & SHORT_LINES) != 0;
    const uint8_t *s[4];
    some_lines(room, s, k, i, as);
    for (int j = 0; j < (room == 32 ? 2 : 4) && (as & FETCHED) != 0; j++) TG_FETCH(s[j] + FETCHED_AHEAD);
    if (room == 32) {
        const __m256i a = part ? _mm256_maskz_loadu_epi8(k->reads, s[0]) : LOAD256(s[0]);
        const __m256i b = part ? _mm256_maskz_loadu_epi8(k->reads, s[1]) : LOAD256(s[1]);
        return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    }
    if (!part) return (__m512i)V(lanes)(s);
    __m512i v = _mm512_castsi128_si512(_mm_maskz_loadu_epi8((__mmask16)k->reads, s[0]));
    v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8((__mmask16)k->reads, s[1]), 1);
    v = _mm512_inserti32x4(v, _mm_maskz_loadu_epi8((__mmask16)k->reads, s[2]), 2);
    return _mm512_inserti32x4(v, _mm_maskz_loadu_epi8((__mmask16)k->reads, s[3]), 3);
}

/* Of the rows, what `side` lines from line i on are, or fewer of them. */
TG_NO_CHECKS TG_INLINE void put_rows(int room, const strip *k, int64_t width, int64_t i, int as) {
    const int n = DEEP(room), each = room == 32 ? 2 : 4; /* vectors, and rows; lines of a vector */
    int64_t   left = k->span - i * width;
    __m512i   v[MOST_DEEP] = {_mm512_setzero_si512()};
    uint8_t  *to = (as & LISTED_ROWS) != 0 ? NULL : k->d + i * width;
    TG_UNROLL
    for (int q = 0; q < n; q++)
        if (q == 0 || (as & LACKING) == 0 || i + q * each < k->lines)
            v[q] = load_lanes(room, k, i + q * each, as);
    TG_UNROLL
    for (int r = 0; r < n; r++) {
        __m512i out = _mm512_permutexvar_epi8(k->from[r], v[0]);
        TG_UNROLL
        for (int q = 1; q < n; q++)
            if ((as & LACKING) == 0 || i + q * each < k->lines)
                out = _mm512_mask_permutexvar_epi8(out, ~V(first_bytes)(q * each * width), k->from[r], v[q]);
        if (r >= k->rows) break;
        if ((as & LISTED_ROWS) != 0) to = k->row[r] + k->to + i * width;
        if (left >= VEC) V(store)(to, (V(vec))out);
        else _mm512_mask_storeu_epi8(to, V(first_bytes)(tg_min(k->lines - i, VEC / room) * width), out);
        if ((as & LACKING) != 0) left -= k->span_step;
        if ((as & LISTED_ROWS) == 0) to += k->d_row;
    }
}

/* Where the bytes of rows come from, if their lanes begin so many bytes before the first one. */
TG_NO_CHECKS TG_INLINE void set_from(int room, strip *k, __m512i from, int64_t width, int64_t before) {
    for (int64_t i = 0; i < DEEP(room); i++)
        k->from[i] = _mm512_add_epi8(from, _mm512_set1_epi8((char)(before + i * width)));
}

/* The rows that begin with row r: as many as a lane has, or those that are left. */
TG_NO_CHECKS TG_INLINE void begin_strip(int room, strip *k, __m512i from, int64_t width, int64_t r, int64_t rows) {
    const int64_t first = r * width, bytes = rows * width;
    k->at = first;
    k->rows = tg_min(rows - r, DEEP(room));
    if (first + LANE(room) <= bytes) return;
    k->at = tg_max(bytes - LANE(room), 0);
    set_from(room, k, from, width, first - k->at);
}

/* All lines, and then the next rows. Of `period` squares the lines of one are fetched, and other ones each time. */
TG_NO_CHECKS TG_INLINE void run_along(int room, const tile *tile_of, const uneven *u, int as) {
    const tile    t = *tile_of; /* a value, which no store can change */
    const int64_t side = VEC / room, width = u->width, period = TG_LINE_BYTES / (DEEP(room) * width);
    const __m512i from = u->from;
    strip         k = {.row = t.row, .line = t.line, .d = t.d, .d_row = t.d_row, .s_line = t.s_line,
                       .to = t.to, .lines = t.lines, .span = t.lines * width};
    set_from(room, &k, from, width, 0);
    for (int64_t r = 0, first = 0; r < t.rows; r += DEEP(room), first = first == 0 ? period - 1 : first - 1) {
        int64_t i = 0, until = t.fetches ? first : -1;
        begin_strip(room, &k, from, width, r, t.rows);
        if ((as & LISTED_LINES) != 0) k.at += t.at;
        else k.s = t.s + k.at;
        for (; i + side <= t.lines; i += side, until--) {
            if (until == 0) put_rows(room, &k, width, i, as | FETCHED), until = period;
            else put_rows(room, &k, width, i, as);
        }
        if (i < t.lines && first == 0 && t.fetches) put_rows(room, &k, width, t.lines - side, as | FETCHED);
        else if (i < t.lines) put_rows(room, &k, width, t.lines - side, as);
        if ((as & LISTED_ROWS) != 0) k.row += DEEP(room);
        else k.d += DEEP(room) * k.d_row;
    }
}

/* `side` lines, or fewer, from line c on: all rows. */
TG_NO_CHECKS TG_INLINE void run_down(int room, const tile *t, const uneven *u, int64_t c, int as) {
    const int64_t  side = VEC / room, width = u->width, rows = t->rows, lines = tg_min(t->lines - c, side);
    const int64_t  period = TG_LINE_BYTES / (DEEP(room) * width);
    const bool fetches = t->fetches,
               goes_on = (as & LISTED_ROWS) == 0 && t->lines <= side && t->d_row == t->lines * width;
    const __m512i  from = u->from;
    const uint8_t *line[MOST_SIDE];
    strip k = {.row = t->row,
               .line = line,
               .d = (as & LISTED_ROWS) != 0 ? NULL : t->d + c * width,
               .d_row = t->d_row,
               .to = t->to + c * width,
               .lines = lines,
               .span = goes_on ? rows * t->d_row : lines * width,
               .span_step = goes_on ? t->d_row : 0,
               .reads = (__mmask32)V(first_bytes)(tg_min(rows * width, LANE(room)))};
    for (int64_t i = 0; i < side; i++) {
        const int64_t l = c + tg_min(i, lines - 1);
        line[i] = t->line == NULL ? t->s + l * t->s_line : t->line[l] + t->at;
    }
    set_from(room, &k, from, width, 0);
    for (int64_t r = 0, until = fetches ? 0 : -1; r < rows; r += DEEP(room), until--) {
        begin_strip(room, &k, from, width, r, rows);
        if (until == 0) put_rows(room, &k, width, 0, as | FETCHED), until = period;
        else put_rows(room, &k, width, 0, as);
        if ((as & LISTED_ROWS) != 0) k.row += DEEP(room);
        else k.d += DEEP(room) * k.d_row;
        k.span -= DEEP(room) * k.span_step;
    }
}

typedef void tile_move(const tile *t, const uneven *u);
typedef void down_move(const tile *t, const uneven *u, int64_t c);

enum { LISTED_DOWN = LISTED_LINES | LACKING };

#  define DEFINE_TILES(room)                                                                                       \
      TG_NO_CHECKS TG_OUTLINE void even_##room(const tile *t, const uneven *u) { run_along(room, t, u, 0); }       \
      TG_NO_CHECKS TG_OUTLINE void listed_##room(const tile *t, const uneven *u) {                                 \
          run_along(room, t, u, BOTH_LISTED);                                                                      \
      }                                                                                                            \
      TG_NO_CHECKS TG_OUTLINE void down_##room(const tile *t, const uneven *u, int64_t c) {                        \
          run_down(room, t, u, c, LISTED_DOWN);                                                                    \
      }                                                                                                            \
      TG_NO_CHECKS TG_OUTLINE void down_listed_##room(const tile *t, const uneven *u, int64_t c) {                 \
          run_down(room, t, u, c, LISTED_DOWN | LISTED_ROWS);                                                      \
      }                                                                                                            \
      TG_NO_CHECKS TG_OUTLINE void down_short_##room(const tile *t, const uneven *u, int64_t c) {                  \
          if (t->line == NULL) run_down(room, t, u, c, LISTED_DOWN | SHORT_LINES);                                 \
          else run_down(room, t, u, c, LISTED_DOWN | LISTED_ROWS | SHORT_LINES);                                   \
      }

DEFINE_TILES(4)
DEFINE_TILES(8)
DEFINE_TILES(16)
DEFINE_TILES(32)

/* Of few lines, or short ones, `side` at a time and all their rows; else all lines, row by row. */
static void turn_tile(const uneven *u, const tile *t) {
    static tile_move *const along[][2] = {
        {even_32, listed_32}, {even_16, listed_16}, {even_8, listed_8}, {even_4, listed_4}};
    static down_move *const down[][3] = {{down_32, down_listed_32, down_short_32},
                                         {down_16, down_listed_16, down_short_16},
                                         {down_8, down_listed_8, down_short_8},
                                         {down_4, down_listed_4, down_short_4}};
    const int  by_side = __builtin_ctzll((uint64_t)u->side) - 1; /* 2, 4, 8, 16 */
    const bool lists = t->line != NULL, fits = t->rows * u->width >= u->lane;
    if (fits && t->lines >= 2 * u->side) along[by_side][lists](t, u);
    else
        for (int64_t c = 0; c < t->lines; c += u->side) down[by_side][fits ? lists : 2](t, u, c);
}

/* As few parts as there can be of n, of at most so many each, and a multiple of `grain` but for the last one. */
static int64_t evenly(int64_t n, int64_t most, int64_t grain) {
    const int64_t parts = tg_ceil_div(n, most / grain * grain);
    return tg_ceil_div(tg_ceil_div(n, parts), grain) * grain;
}

/* Of lines that crowd the first-level cache, as many as have their places in it together. */
static int64_t lines_together(const uneven *u, int64_t step) {
    return tg_max(lines_that_fit(step) / u->side, 1) * u->side;
}

/* Do lines crowd the first-level cache, so that few are to be read side by side? (A Zen 4, x memcpy: 512 KiB,
 * f32[16,64,32,3] {3,0,1,2} to {3,2,0,1} 0.19 -> 0.44, 8 MiB, [512,8,128,3] {3,2,1,0} to {3,0,2,1} 0.24 -> 0.38. But
 * from memory, where rows of dst are written as they go on, [4096,4096,3] turned 0.66 and 0.42, and where rows crowd
 * each other too, [1024,1024,3] 0.34 and 0.23.) */
static bool lines_crowd(const matrix *a, const uneven *u) {
    enum { FEW_ROWS = 16 }; /* 6144 bytes apart they have place, 12288 apart they do not */
    return !u->memory && is_crowded(a->src.step, tg_min(a->src.n, TILE_COLUMNS)) && !is_crowded(a->dst.step, FEW_ROWS);
}

/* All rows of some columns that are evenly spaced, where d and s begin. */
static void turn_even(const matrix *a, const uneven *u, uint8_t *d, const uint8_t *s, int64_t cols) {
    const bool    crowd = lines_crowd(a, u);
    const int64_t rows = crowd ? CROWDED_BYTES / u->width / u->deep * u->deep : a->dst.n;
    const int64_t lines = crowd ? lines_together(u, a->src.step) : cols;
    for (int64_t r = 0; r < a->dst.n; r += rows)
        for (int64_t c = 0; c < cols; c += lines) {
            const tile t = {.d = d + r * a->dst.step + c * u->width, .s = s + c * a->src.step + r * u->width,
                            .d_row = a->dst.step, .s_line = a->src.step, .lines = tg_min(cols - c, lines),
                            .rows = tg_min(a->dst.n - r, rows), .fetches = u->fetches};
            turn_tile(u, &t);
        }
}

/* All rows of some columns, from column `first` on, where lines or rows are of two loops. */
static void turn_listed(const matrix *a, const uneven *u, uint8_t *d, const uint8_t *s, int64_t first, int64_t cols) {
    const uint8_t *line[TILE_COLUMNS];
    uint8_t       *row[TILE_COLUMNS];
    const int64_t  lines = is_crowded(a->src.step, cols) ? lines_together(u, a->src.step) : cols;
    source_addresses(line, s, &a->src, first, cols);
    for (int64_t r = 0; r < a->dst.n; r += TILE_COLUMNS) {
        const int64_t rows = tg_min(a->dst.n - r, TILE_COLUMNS);
        target_addresses(row, d, &a->dst, r, rows);
        for (int64_t c = 0; c < cols; c += lines) {
            const tile t = {.row = row, .line = line + c, .to = (first + c) * u->width, .at = r * u->width,
                            .lines = tg_min(cols - c, lines), .rows = rows, .fetches = u->fetches};
            turn_tile(u, &t);
        }
    }
}

static void turn_matrix(const matrix *a, const uneven *u, uint8_t *d, const uint8_t *s) {
    const bool lists = a->src.inner < a->src.n || a->dst.inner < a->dst.n;
    const int64_t each = evenly(a->src.n, TILE_COLUMNS, u->side);
    for (int64_t c = 0; c < a->src.n; c += each) {
        const int64_t cols = tg_min(a->src.n - c, each);
        if (lists) turn_listed(a, u, d, s, c, cols);
        else turn_even(a, u, d + c * u->width, s + c * a->src.step, cols);
    }
}

/* ---- around the caches ---- */

/* Pieces of some rows, in a buffer while those of the piece before leave the other one. */
typedef struct pieces {
    uint8_t        out[2][ROOM] __attribute__((aligned(64)));
    uint8_t       *row[2][MOST_ROWS], *to[MOST_ROWS]; /* in dst, of rows in turn; in a buffer */
    const uint8_t *line[2][MOST_ROWS];                /* of this piece and of the next one */
} pieces;

/* Pieces of a matrix: rows by rows, each from end to end. */
typedef struct sequence {
    int64_t rows, cols, along, n; /* of a piece; pieces of a row, and of all */
} sequence;

static sequence sequence_of(const matrix *a, const uneven *u) {
    const int64_t rows = evenly(a->dst.n, PIECE / u->width, u->deep),
                  cols = evenly(a->src.n, PIECE / u->width, u->side);
    const int64_t along = tg_ceil_div(a->src.n, cols);
    return (sequence){rows, cols, along, along * tg_ceil_div(a->dst.n, rows)};
}

static V(coming) lines_of_piece(pieces *b, const matrix *a, const uneven *u, const sequence *q, const uint8_t *s,
                            int64_t i) {
    const uint8_t **const line = b->line[i % 2];
    const int64_t c = i % q->along * q->cols, r = i / q->along * q->rows;
    const int64_t lines = i < q->n ? tg_min(a->src.n - c, q->cols) : 0;
    source_addresses(line, s + r * u->width, &a->src, c, lines);
    return (V(coming)){line, lines, tg_min(a->dst.n - r, q->rows) * u->width, false};
}

static void carry_matrix(const matrix *a, const uneven *u, uint8_t *d, const uint8_t *s, pieces *b) {
    const V(coming) none = {0};
    const sequence  q = sequence_of(a, u);
    const int64_t   pitch = ((tg_ceil_div(q.cols * u->width, TG_LINE_BYTES) + 1) | 1) * TG_LINE_BYTES;
    V(coming)       now = lines_of_piece(b, a, u, &q, s, 0), next;
    V(leaving)      before = {0};
    for (int64_t i = 0; i < q.n; i++) {
        uint8_t *const      into = b->out[i % 2], *const out = b->out[(i + 1) % 2];
        uint8_t **const     row = b->row[i / q.along % 2];
        const int64_t       r = i / q.along * q.rows, begin = i % q.along * q.cols * u->width;
        next = lines_of_piece(b, a, u, &q, s, i + 1);
        const tile          t = {.row = b->to, .line = now.line, .lines = now.lines, .rows = now.bytes / u->width};
        if (begin == 0) target_addresses(row, d, &a->dst, r, now.bytes / u->width);
        for (int64_t j = 0; j < now.bytes / u->width; j++) b->to[j] = into + j * pitch + TG_LINE_BYTES;
        turn_tile(u, &t);
        if (i > 0) V(leave_rows)(&before, out, into, u->fetches ? &next : &none);
        before = (V(leaving)){row, now.bytes / u->width, begin, now.lines * u->width, pitch, (i + 1) % q.along == 0};
        now = next;
    }
    V(leave_rows)(&before, b->out[(q.n + 1) % 2], b->out[q.n % 2], &none);
}

/* A function of its own, for the buffers on its stack. */
TG_OUTLINE void carry(const matrix *a, const uneven *u) {
    pieces b;
    for (int64_t o = 0; o < a->outer; o++) carry_matrix(a, u, a->d + o * a->dst_outer, a->s + o * a->src_outer, &b);
}

/* ---- blocks ---- */

static const uint8_t *transpose_uneven(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (tg_has_small_matrices(b, m->dst_width)) {
        tg_turn_small_matrices(m, d, s, b);
        return NULL;
    }
    if (tg_turn_few_lanes(m, d, s, b)) return NULL;
    const uneven u = uneven_of(m);
    matrix       a;
    loops_of(&a, u.width, d, s, b);
    /* Matrices side by side are joined where else few of a square's lines would be full. */
    const bool few = tg_min(b->rows, b->cols) < 2 * u.side;
    const bool goes_on = b->cols < FEW_COLUMNS && b->outer > 1 && b->dst_outer == b->cols * u.width;
    if (few || goes_on) join_matrices(&a, m, b);
    if (m->stream && m->far && m->memory && a.src.n * u.width >= LEAST_CARRIED) carry(&a, &u);
    else
        for (int64_t o = 0; o < a.outer; o++) turn_matrix(&a, &u, d + o * a.dst_outer, s + o * a.src_outer);
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
