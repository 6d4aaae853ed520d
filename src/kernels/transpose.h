/* What transposes with vectors of any length share: blocks and tiles in plain C, lines and their sticks, which way a
 * block goes, places, and lists for shuffles. Those of 32 and 64 bytes have files of their own, since either takes half
 * a minute to compile; see transpose.c. */
#ifndef TG_KERNELS_TRANSPOSE_H
#define TG_KERNELS_TRANSPOSE_H

#include "base/checked.h"
#include "kernels/pipeline.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/unaligned.h"
#include "kernels/variants.h"

#include <string.h>

#if TG_HAVE_X86
#  include <immintrin.h>
#endif

/* Rounds of shuffles that turn 16 bytes of each of 16 / width lines. */
#define ROUNDS(width) ((width) == 1 ? 4 : (width) == 2 ? 3 : (width) == 4 ? 2 : (width) == 8 ? 1 : 0)

/* Bytes of a source line in one tile: tiles are 64 rows deep, of bytes 128. */
#define DEPTH(width) ((width) == 1 ? 128 : (width) * 64)

/* Rows that are carried together (carried.inc.h). */
#define CARRIED_ROWS(width) ((width) <= 4 ? TG_CARRIED_READ / (width) : 64)

/* Bytes of the line that is read where columns are missing. */
#define DEPTH_OF_PAD(width) (CARRIED_ROWS(width) * (width))

enum {
    DEEPEST = DEPTH_OF_PAD(16),
    NEXT_BYTES = 8 << 10,          /* from what is turned to what is fetched, where src is one piece */
    CARRY = STICK + TG_LINE_BYTES, /* a stick, and the begun line before it */
    LEAST_CARRIED = 256, /* bytes of a row, or of a run of rows of several tiles (64 MiB, a Zen 4: rows of 300 to 1000
                            bytes 0.35 -> 0.5 of memcpy) */
    LEAST_WIDE = 1024, /* of wide elements, where src is read by few loads (256 MiB, an Emerald Rapids, carried or not:
                          rows of 308 bytes 0.23, 0.49, of 504 0.27, 0.37, of 612 to 900 in other orders the same) */
    FEW_LINES = 4,     /* rows by themselves that are shorter have too many lines in part */
    MOST_TURNS = 16,   /* rows that take turns */
    NARROW_BYTES = TG_NARROW_COLUMNS * TG_LINE_BYTES, /* of rows of few columns, for a line of each column */
    NARROW_AHEAD = 512, /* bytes from what is read of a line for them to what is fetched */
    FIRST_SETS = 4096,  /* bytes, after which the sets of the first-level cache repeat; */
    FIRST_WAYS = 8,     /* lines in one */
    PARTLY_CROWDED = 4, /* lines in one that begin to crowd it */
    STICKS = 4,         /* of columns that are known: this one, and those from which lines are fetched */
    LATER = 3, /* tiles from the one that is turned to the one whose lines are fetched, listed ones before a square */
    SOONER = 2 /* and between stores, or where lines are evenly spaced */
};

/* A stick may have one tile only. */
_Static_assert(LATER < STICKS, "the tile to be fetched is of a stick that is not known");

/* ---- plain C ---- */

#define DEFINE_PLAIN(UNIT)                                                                                             \
  static inline const uint8_t *plain_##UNIT(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {      \
    enum { SIDE = 16 };                                                                                                \
    const int64_t width = (int64_t)sizeof(UNIT);                                                                       \
    (void)m;                                                                                                           \
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer)                                       \
      for (int64_t r0 = 0; r0 < b->rows; r0 += SIDE) {                                                                 \
        const int64_t r1 = b->rows - r0 < SIDE ? b->rows : r0 + SIDE;                                                  \
        for (int64_t c0 = 0; c0 < b->cols; c0 += SIDE) {                                                               \
          const int64_t c1 = b->cols - c0 < SIDE ? b->cols : c0 + SIDE;                                                \
          for (int64_t r = r0; r < r1; r++)                                                                            \
            for (int64_t c = c0; c < c1; c++)                                                                          \
              *(UNIT *)(void *)(d + r * b->dst_row + c * width) =                                                      \
                  *(const UNIT *)(const void *)(s + r * width + c * b->src_col);                                       \
        }                                                                                                              \
        if (b->tail > 0)                                                                                               \
          for (int64_t r = r0; r < r1; r++)                                                                            \
            tg_fill_bytes(d + r * b->dst_row + b->cols * width, b->tail * width, b->pad, false);                       \
      }                                                                                                                \
    return NULL;                                                                                                       \
  }

DEFINE_PLAIN(unit8)
DEFINE_PLAIN(unit16)
DEFINE_PLAIN(unit32)
DEFINE_PLAIN(unit64)
DEFINE_PLAIN(unit128)

/* Tiles whose rows and lines are listed. */
#define DEFINE_PLAIN_TILE(UNIT)                                                                                     \
    static inline void plain_tile_##UNIT(const tg_listed *t) {                                                      \
        for (int64_t r = 0; r < t->rows; r++) {                                                                     \
            UNIT *const to = (UNIT *)(void *)(t->dst + t->row[r]);                                                  \
            for (int64_t c = 0; c < t->cols; c++) to[c] = ((const UNIT *)(const void *)(t->src + t->line[c]))[r];   \
        }                                                                                                           \
    }

DEFINE_PLAIN_TILE(unit8)
DEFINE_PLAIN_TILE(unit16)
DEFINE_PLAIN_TILE(unit32)
DEFINE_PLAIN_TILE(unit64)
DEFINE_PLAIN_TILE(unit128)

TG_INLINE void plain_tile(int width, const tg_listed *t) {
    switch (width) {
    case 1: plain_tile_unit8(t); break;
    case 2: plain_tile_unit16(t); break;
    case 4: plain_tile_unit32(t); break;
    case 8: plain_tile_unit64(t); break;
    default: plain_tile_unit128(t); break;
    }
}

TG_INLINE void plain_block(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    switch (width) {
    case 1: plain_unit8(m, d, s, b); break;
    case 2: plain_unit16(m, d, s, b); break;
    case 4: plain_unit32(m, d, s, b); break;
    case 8: plain_unit64(m, d, s, b); break;
    default: plain_unit128(m, d, s, b); break;
    }
}

/* ---- lines ---- */

/* The columns of one stick, or fewer. */
typedef struct stick {
    int64_t        lines, cols; /* cols - lines are padding; cols 0: there is no stick */
    int64_t        seam;        /* columns of the row itself, before those of the next one; 0: no seam */
    uint8_t       *d, *start;   /* row 0, and where all of it begins */
    const uint8_t *line[MAX_SIDE];
} stick;

typedef struct source_tile {
    const uint8_t *const *line;
    int64_t               lines, at, end; /* begins so many bytes into lines; where they end */
    bool                  between; /* they are fetched between stores */
} source_tile;

typedef struct work {
    uint8_t        stage[MAX_SIDE * 16] __attribute__((aligned(64)));
    uint8_t        out[MAX_SIDE * CARRY] __attribute__((aligned(64)));
    uint8_t        pad[DEEPEST] __attribute__((aligned(64)));
    stick          stick[STICKS];
    const uint8_t *edge[MAX_SIDE];
    uint8_t       *row[MAX_SIDE + 1], *to[MAX_SIDE]; /* in dst, with the one after them; or in out */
    int64_t        o, c; /* where the stick begins that is not yet known */
} work;


/* The buffers of carried rows, and where these are. */
typedef struct carried {
    uint8_t  out[2][CARRIED_ROWS(1) * CARRY] __attribute__((aligned(64)));
    uint8_t *row[2][CARRIED_ROWS(1)], *to[CARRIED_ROWS(1)]; /* in dst, of tiles in turn; in out */
} carried;

/* Addresses of lines [first, first + n). */
#define DEFINE_ADDRESSES(name, POINTER)                                                                        \
    static inline void name(POINTER *out, POINTER base, const loops *l, int64_t first, int64_t n) {            \
        int64_t in = first, at = 0;                                                                            \
        if (first >= l->inner) {                                                                               \
            in = first % l->inner;                                                                             \
            at = first / l->inner * l->outer;                                                                  \
        }                                                                                                      \
        for (int64_t k = 0; k < n; in = 0, at += l->outer) {                                                   \
            const int64_t end = n - k < l->inner - in ? n : k + l->inner - in;                                 \
            POINTER const start = base + at + (in - k) * l->step;                                              \
            for (; k < end; k++) out[k] = start + k * l->step;                                                 \
        }                                                                                                      \
    }

typedef const uint8_t *source;
typedef uint8_t       *target;
DEFINE_ADDRESSES(source_addresses, source)
DEFINE_ADDRESSES(target_addresses, target)

static inline void next_stick(work *w, const matrix *a, unsigned slot) {
    const int64_t side = STICK / a->width;
    stick *const  t = &w->stick[slot % STICKS];
    t->lines = t->cols = t->seam = 0;
    if (w->o == a->outer) return;
    const uint8_t *const s = a->s + w->o * a->src_outer;
    int64_t c = w->c;
    if (a->part > 0 && a->cols - c < side) c = a->cols - tg_ceil_div(a->cols - c, a->part) * a->part;
    t->cols = a->cols - c < side ? a->cols - c : side;
    if (a->src.n > c) t->lines = a->src.n - c < t->cols ? a->src.n - c : t->cols;
    t->start = a->d + w->o * a->dst_outer;
    t->d = t->start + c * a->width;
    source_addresses(t->line, s, &a->src, c, t->lines);
    if (a->lead > 0 && t->cols < side) {
        t->seam = t->cols;
        source_addresses(t->line + t->seam, s + a->width, &a->src, 0, a->lead);
        t->lines = t->cols += a->lead;
    }
    w->c += side;
    if (w->c < a->cols) return;
    w->c = a->first;
    w->o++;
}

/* The tile that is fetched while the one before `at` is transposed, some tiles later: of this stick, or, where lines
 * are short, of one of the next. */
static inline source_tile tile_ahead(const matrix *a, const work *w, unsigned slot, int64_t at, int64_t depth) {
    const int64_t end = a->dst.n * a->width;
    at += ((a->between ? SOONER : LATER) - 1) * depth;
    for (unsigned i = 0; i < STICKS - 1 && at >= end; i++, slot++) at = (at - end) / depth * depth;
    const stick *const s = &w->stick[slot % STICKS];
    return (source_tile){s->line, s->lines, at, end, a->between};
}

/* ---- matrices ---- */

/* Each lane of a square has a group of n rows. Are all squares alike that begin at a multiple of theirs? */
TG_INLINE bool find_groups(matrix *a, int64_t n) {
    const loops *const l = &a->dst;
    const bool         even = l->inner == l->n || l->inner % (4 * n) == 0;
    a->group = l->inner == n && !even ? l->outer : n * l->step;
    a->pair = even ? 2 * a->group : l->inner == n ? 2 * l->outer : l->outer;
    return even || l->inner == n || l->inner == 2 * n;
}

/* Do n lines have no place in the first-level cache together? Its sets repeat every 4 KiB and have 8 ways (or 12), and
 * what it fetches on its own account next to n lines is gone before it is used. */
TG_INLINE bool is_crowded(int64_t step, int64_t n) {
    const int64_t alike = step & -step; /* the largest power of two that divides it */
    return n * tg_min(alike, FIRST_SETS) > FIRST_SETS * FIRST_WAYS;
}

/* Of n lines, `step` bytes apart, about how many have their place in the same set of the first-level cache, or in the
 * next one, if PARTLY_CROWDED or more have? 1 if not. (Of lines that are 2052 bytes apart every second one, each 8
 * bytes further on. Those that come back to a set later are not counted.) */
static inline int64_t lines_in_set(int64_t step, int64_t n) {
    if (tg_magnitude(step) * n < PARTLY_CROWDED * FIRST_SETS) return 1;
    for (int64_t k = 1; k * (PARTLY_CROWDED - 1) < n; k++) {
        const int64_t at = tg_magnitude(k * step) % FIRST_SETS, drift = tg_min(at, FIRST_SETS - at);
        if (drift < TG_LINE_BYTES) return tg_min(tg_ceil_div(n, k), TG_LINE_BYTES / tg_max(drift, 1) + 1);
    }
    return 1;
}

/* Of lines that crowd it, as many as have. */
TG_INLINE int64_t lines_that_fit(int64_t step) { return FIRST_SETS * FIRST_WAYS / tg_min(step & -step, FIRST_SETS); }

/* Where matrices go on along rows of dst and along lines of src, of so many bytes, do rows come first? Rows of few
 * columns do: else each of them would be a store of its own (3 channels last, out of tiles of (8,128), 512 KiB, an
 * Emerald Rapids, x memcpy: 0.07 and 0.5). Around the caches so do rows that begin inside of lines, or are less than a
 * stick, and are whole lines together (`at_lines`: [64,8320,63] and [64,16384,32] of two bytes reversed, 64 MiB, a Zen
 * 4, 0.4 -> 1.3, 0.25 -> 0.9), or not even that ([64,8325,63] of two 0.45 -> 1.0), but for wider elements out of short
 * lines (f64[8,41943,25] 0.7, so 0.45). */
TG_INLINE bool rows_come_first(const tg_mover *m, int width, int64_t row, int64_t line, bool at_lines) {
    enum { LEAST_LINE = 16 };
    if (!m->stream || line < LEAST_LINE) return row < TG_LINE_BYTES && line >= TG_LINE_BYTES;
    if (row >= STICK && row % TG_LINE_BYTES == 0) return false;
    if (row < TG_LINE_BYTES || width <= 2) return true;
    return line >= TG_LINE_BYTES && (at_lines || width == 4 || line >= 2 * STICK);
}

/* Matrices side by side, along rows or columns of dst, are one. */
TG_INLINE void join_matrices(matrix *a, const tg_mover *m, const tg_block *b) {
    const int64_t row = b->cols * a->width, line = b->rows * a->width;
    const bool    at_lines = m->stream && tg_at_lines(a->d, b->dst_row, 0);
    const bool    down = b->outer > 1 && b->src_outer == line;
    const bool    along = b->outer > 1 && b->tail == 0 && b->dst_outer == row;
    if (down && !(along && rows_come_first(m, (int)a->width, row, line, at_lines))) {
        a->dst.n *= b->outer;
        a->dst.outer = b->dst_outer;
        a->outer = 1;
    } else if (along) {
        a->src.n *= b->outer;
        a->src.outer = b->src_outer;
        a->cols = a->src.n;
        a->stream = at_lines;
        a->outer = 1;
    }
}

/* Its loops; matrices side by side are not joined. */
TG_INLINE void loops_of(matrix *a, int64_t width, uint8_t *d, const uint8_t *s, const tg_block *b) {
    *a = (matrix){.d = d, .s = s, .width = width, .cols = b->cols + b->tail};
    a->src = (loops){b->cols, b->cols, b->src_col, 0};
    a->dst = (loops){b->rows, b->rows, b->dst_row, 0};
    a->outer = b->outer;
    a->dst_outer = b->dst_outer;
    a->src_outer = b->src_outer;
}

/* `pad`: place for a line of padding. */
TG_INLINE void matrix_of(matrix *a, uint8_t *pad, int64_t width, const tg_mover *m, uint8_t *d, const uint8_t *s,
                         const tg_block *b) {
    loops_of(a, width, d, s, b);
    a->pad = pad;
    a->far = m->far;
    a->fetches = m->fetches;
    a->stream = m->stream && tg_at_lines(d, b->dst_row, b->dst_outer);
    for (int i = 0; b->tail > 0 && i < DEPTH_OF_PAD(width); i += TG_PAD_PATTERN)
        memcpy(pad + i, b->pad, TG_PAD_PATTERN);
    join_matrices(a, m, b);
}

/* Rows of whole cache lines, all of which begin at the same place in one. */
TG_INLINE void cut_rows(matrix *a) {
    const int64_t row = a->cols * a->width, lead = (int64_t)(-(uintptr_t)a->d % TG_LINE_BYTES);
    const int64_t steps = row | a->dst.step | a->dst.outer | (a->outer > 1 ? a->dst_outer : 0);
    if (a->src.n < a->cols || lead % a->width != 0 || steps % TG_LINE_BYTES != 0) return;
    if (a->dst.step != row && row < FEW_LINES * TG_LINE_BYTES) return;
    a->stream = true;
    a->first = a->lead = lead / a->width;
    a->group_rows = a->dst.step == row ? a->dst.inner : 1;
}

/* Of a row, from its first cache line on. */
TG_INLINE int64_t whole_sticks(const matrix *a) { return (a->cols - a->lead) * a->width / STICK; }

/* Can the seam of rows go through the pipeline? Groups of rows end where steps do, and the lines before the first cache
 * line, an element further on, are runs of half steps. */
TG_INLINE bool seams_in_steps(const matrix *a, int64_t width) {
    const int64_t step = 2 * HALF(width);
    return a->group_rows > 1 && a->cols * width % STICK == 0 && (a->group_rows | a->dst.n) % step == 0 &&
           a->lead % HALF(width) == 0 && a->src.step >= a->dst.n * width;
}

/* Can all other sticks? */
TG_INLINE bool lines_in_steps(const matrix *a, int64_t width) {
    if (a->lead == 0) return in_runs(&a->src, HALF(width));
    return a->src.inner == a->src.n && (a->seams || whole_sticks(a) > 0);
}

/* Are these matrices side by side, of short lines, that are faster through the pipeline on every processor? Lines that
 * a large power of two is between share a set of the second-level cache too: what is fetched of the next matrix is gone
 * before it is used. And wider elements come in short pieces of more lines. (A Zen 4, 64 MiB, reversed: [128,4096,128]
 * of bytes 0.3 -> 0.55, [64,4096,128] of two 0.35 -> 0.75; [64,1848,128] of four 0.75 -> 1.05. Lines of one stick of
 * these, long lines, and rows of dst that are close together are as fast in squares, or faster.) */
TG_INLINE bool suits_stage(const matrix *a, int64_t width) {
    enum { SETS_APART = 128 << 10, SHORT_ROW = 4 * STICK, LONGEST_LINE = 2 << 10, FAR_ROWS = 1 << 10 };
    const bool    down = a->dst.inner < a->dst.n, along = a->src.inner < a->src.n;
    const int64_t line = a->dst.inner * width, row = a->src.inner * width;
    if ((!down && !along) || line > LONGEST_LINE || a->dst.step < FAR_ROWS) return false;
    if (width <= 2) return a->src.step % SETS_APART == 0;
    return line > STICK && (a->src.step % SETS_APART == 0 || row <= SHORT_ROW);
}

/* Are rows carried from stick to stick (carried.inc.h)? From memory, if they begin inside of lines; and bytes or pairs
 * of them out of two loops of lines that do so: of all of these a tile of sticks would read the ends once more (256
 * MiB, a Zen 4, [50,13981,4,128] of bytes to {3,0,2,1} from {1,0,3,2} 0.24 -> 0.49 of memcpy; out of one loop 0.65 and
 * 0.46, of wider elements 0.96 and 0.77). A third-level cache puts parts of lines together itself (8 MiB, an Emerald
 * Rapids: f32[513,4088] to columns 0.26, so 0.64, u8[1021,8216] 0.50 and 0.73, f64[1125,932] 0.75 and 0.85). */
TG_INLINE bool is_carried(const matrix *a, int64_t width, const tg_mover *m) {
    const int64_t least = m->sparing && width >= 4 ? LEAST_WIDE : LEAST_CARRIED;
    if (!m->stream || !m->far || !m->memory || a->cols * width < least) return false;
    if (!a->stream) return true;
    return width <= 2 && a->lead == 0 && a->src.inner < a->src.n && !tg_at_lines(a->s, a->src.step, a->src.outer);
}

/* Does the pipeline fetch four sticks of each line at once? Of bytes, whose tiles have most lines, where these are so
 * far apart that each visit to a page counts. They are asked for as if for the first-level cache, which has no place
 * for 64 KiB; into the second one alone it is slower. (A Granite Rapids, x memcpy, 100 MB of lines of 2 to 128 KiB to
 * sticks 0.97 to 1.06, so 1.10 to 1.18; of 1 KiB 1.39 and 1.10, of 3 KiB the same; 256 MiB of 16 KiB 0.60 and 0.67.) */
TG_INLINE bool are_fetched_by_fours(const matrix *a, int64_t width) {
    enum { STEP_OF_FOURS = 2048 };
    return width == 1 && a->src.step % STEP_OF_FOURS == 0;
}

/* Which way it goes. */
TG_INLINE void choose_way(matrix *a, int64_t width, const tg_mover *m) {
    if (m->stream && !a->stream) cut_rows(a);
    a->carried = is_carried(a, width, m);
    a->stream &= !a->carried;
    a->even = !a->stream && !a->carried && a->src.inner == a->src.n && find_groups(a, 16 / width);
    /* A Zen 5 reads whole ones as fast or faster. Where rows of dst crowd each other too, half of each are twice as
     * many lines of it (a Zen 4, 1024 x 1024 of four bytes: 0.20 -> 0.35 of memcpy). */
    a->halves = !m->few_streams && is_crowded(a->src.step, 64 / width) && !is_crowded(a->dst.step, 2 * 64 / width);
    a->crowded = is_crowded(a->src.step, STICK / width);
    a->between = tg_at_lines(a->s, a->src.step, a->src.outer | (a->outer > 1 ? a->src_outer : 0)) &&
                 (width == 1 || a->src.step != STICK);
    a->solid = a->far && !a->carried && (a->lead == 0 || (a->cols * width == STICK && a->dst.step == STICK)) &&
               a->src.step == STICK && a->src.inner == a->src.n && a->dst.inner == a->dst.n &&
               a->dst.n * width == STICK && (a->outer == 1 || a->src_outer == a->src.n * STICK) && !m->staged;
    a->claims = m->claims;
    a->seams = a->lead > 0 && seams_in_steps(a, width);
    a->staged = (m->staged || suits_stage(a, width)) && a->far && a->stream && count_tiles(a) > 0 &&
                lines_in_steps(a, width) && in_runs(&a->dst, HALF(width));
    a->near = m->few_streams && !is_crowded(a->src.step, AHEAD(width) * STICK / width);
    a->fours = m->sparing && are_fetched_by_fours(a, width);
}

/* ---- evenly spaced lines ---- */

/* A stick of them, and how many there are from this one on. */
typedef struct even_stick {
    uint8_t       *d;
    const uint8_t *s;
    int64_t        left;
} even_stick;

/* So many rows of a tile of lines that begin at s. */
typedef struct even_tile {
    const uint8_t *s;
    int64_t        rows;
} even_tile;

/* What is fetched while the tile that begins at row `first` is turned: the tile SOONER tiles later, of this stick
 * or of one of the next, if there are so many. */
static inline even_tile even_later(const matrix *a, const even_stick *k, int64_t first) {
    const int64_t side = STICK / a->width, tiles = tg_ceil_div(a->dst.n, side);
    int64_t       tile = first / side + SOONER, sticks = 0;
    for (; tile >= tiles; tile -= tiles) sticks++;
    if (sticks >= k->left) return (even_tile){k->s, 0};
    return (even_tile){k->s + sticks * side * a->src.step + tile * STICK, a->dst.n - tile * side};
}

/* ---- where a square is ---- */

typedef enum arrangement {
    LISTED, /* rows and lines have their addresses in lists, to all of which something is added */
    OFFSETS, /* or where they begin, from the first ones on */
    EVEN,   /* both are evenly spaced */
    GROUPS  /* rows are so in groups only, one for each 16-byte lane */
} arrangement;

typedef struct places {
    arrangement           kind; /* a constant for the compiler */
    uint8_t *const       *row;
    const uint8_t *const *line;
    uint8_t              *d;
    const uint8_t        *s;
    int64_t               d_step, s_step, group, pair;
    int64_t               ahead; /* of evenly spaced lines, so many bytes ahead are fetched between loads, if not 0 */
    bool                  claims; /* listed rows begin inside of lines, which are asked for between the shuffles */
    const uint8_t *const *later; /* listed lines: sticks of these are, between stores, from later_at on; or NULL */
    int64_t               later_at;
    const uint8_t        *next; /* cache lines are, one after the other; or NULL */
    const int64_t        *row_offset, *line_offset;
    const uint8_t        *after; /* listed by offsets: lines of another tile are fetched; or NULL */
    const int64_t        *after_offset;
    uint8_t              *claimed; /* and lines of rows of the next square are claimed between the shuffles; or NULL */
    const int64_t        *claimed_offset;
} places;

TG_INLINE places listed(uint8_t *const *row, int64_t to, const uint8_t *const *line, int64_t at) {
    return (places){.kind = LISTED, .row = row, .line = line, .d_step = to, .s_step = at};
}

TG_INLINE places offsets(uint8_t *d, const int64_t *row, const uint8_t *s, const int64_t *line, const uint8_t *after,
                         const int64_t *after_offset) {
    return (places){.kind = OFFSETS, .d = d, .s = s, .row_offset = row, .line_offset = line, .after = after,
                    .after_offset = after_offset};
}

TG_INLINE places solid(uint8_t *d, const uint8_t *s, int64_t row, const uint8_t *next) {
    return (places){.kind = EVEN, .d = d, .s = s, .s_step = STICK, .d_step = row, .next = next};
}

TG_INLINE const uint8_t *line_at(const places *p, int i) {
    return p->kind == LISTED    ? p->line[i] + p->s_step
           : p->kind == OFFSETS ? p->s + p->line_offset[i]
                                : p->s + i * p->s_step;
}

/* Cache line i of what is fetched between stores. */
TG_INLINE void fetch_between(const places *p, int i) {
    if (p->next != NULL) TG_FETCH_HERE(p->next + i * TG_LINE_BYTES, true);
    if (p->later != NULL) TG_FETCH_HERE(p->later[i / 2] + p->later_at + i % 2 * TG_LINE_BYTES, false);
    if (p->after != NULL) TG_FETCH_HERE(p->after + p->after_offset[i], false);
}

/* Row i of lane l, in each of which there are n. */
TG_INLINE uint8_t *row_at(const places *p, int n, int l, int i) {
    return p->kind == LISTED    ? p->row[l * n + i] + p->d_step
           : p->kind == OFFSETS ? p->d + p->row_offset[l * n + i]
           : p->kind == EVEN    ? p->d + (l * n + i) * p->d_step
                                : p->d + l % 2 * p->group + l / 2 * p->pair + i * p->d_step;
}

/* ---- lists of places for shuffles ---- */

/* Elements of a and b take turns, in each 16-byte lane l: from its low half, or its high half. */
#define TURN1(i) (i), VEC + (i), (i) + 1, VEC + (i) + 1, (i) + 2, VEC + (i) + 2, (i) + 3, VEC + (i) + 3
#define LOW1(l)  TURN1((l)*16), TURN1((l)*16 + 4)
#define HIGH1(l) TURN1((l)*16 + 8), TURN1((l)*16 + 12)
#define TURN2(i) (i), VEC / 2 + (i), (i) + 1, VEC / 2 + (i) + 1
#define LOW2(l)  TURN2((l)*8), TURN2((l)*8 + 2)
#define HIGH2(l) TURN2((l)*8 + 4), TURN2((l)*8 + 6)
#define LOW4(l)  (l)*4, VEC / 4 + (l)*4, (l)*4 + 1, VEC / 4 + (l)*4 + 1
#define HIGH4(l) (l)*4 + 2, VEC / 4 + (l)*4 + 2, (l)*4 + 3, VEC / 4 + (l)*4 + 3
#define LOW8(l)  (l)*2, VEC / 8 + (l)*2
#define HIGH8(l) (l)*2 + 1, VEC / 8 + (l)*2 + 1

/* X(n, p, j) for the places p from 0 on. */
#define LIST_AT2(X, n, p, j)  X(n, p, j), X(n, (p) + 1, j)
#define LIST_AT4(X, n, p, j)  LIST_AT2(X, n, p, j), LIST_AT2(X, n, (p) + 2, j)
#define LIST_AT8(X, n, p, j)  LIST_AT4(X, n, p, j), LIST_AT4(X, n, (p) + 4, j)
#define LIST_AT16(X, n, p, j) LIST_AT8(X, n, p, j), LIST_AT8(X, n, (p) + 8, j)
#define LIST_AT32(X, n, p, j) LIST_AT16(X, n, p, j), LIST_AT16(X, n, (p) + 16, j)
#define LIST2(X, n, j)        LIST_AT2(X, n, 0, j)
#define LIST4(X, n, j)        LIST_AT4(X, n, 0, j)
#define LIST8(X, n, j)        LIST_AT8(X, n, 0, j)
#define LIST16(X, n, j)       LIST_AT16(X, n, 0, j)
#define LIST32(X, n, j)       LIST_AT32(X, n, 0, j)
#define LIST64(X, n, j)       LIST_AT32(X, n, 0, j), LIST_AT32(X, n, 32, j)

/* Lists of places: n elements of each of two vectors in turn, from i on; every second one of both. */
#define TAKE1(i, n)  (i), (n) + (i)
#define TAKE2(i, n)  TAKE1(i, n), TAKE1((i) + 1, n)
#define TAKE4(i, n)  TAKE2(i, n), TAKE2((i) + 2, n)
#define TAKE8(i, n)  TAKE4(i, n), TAKE4((i) + 4, n)
#define TAKE16(i, n) TAKE8(i, n), TAKE8((i) + 8, n)
#define TAKE32(i, n) TAKE16(i, n), TAKE16((i) + 16, n)
#define SKIP2(i)     (i), (i) + 2
#define SKIP4(i)     SKIP2(i), SKIP2((i) + 4)
#define SKIP8(i)     SKIP4(i), SKIP4((i) + 8)
#define SKIP16(i)    SKIP8(i), SKIP8((i) + 16)
#define SKIP32(i)    SKIP16(i), SKIP16((i) + 32)
#define SKIP64(i)    SKIP32(i), SKIP32((i) + 64)
#define ZIP1(a, b, c, d) a /* the list for a width of so many bytes */
#define ZIP2(a, b, c, d) b
#define ZIP4(a, b, c, d) c
#define ZIP8(a, b, c, d) d

#define LOAD128(p) _mm_loadu_si128((const __m128i *)(const void *)(p))

#endif
