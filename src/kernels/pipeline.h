/* Where the tiles of a pipeline begin (transpose.c): those of a matrix, or squares of tiles that are listed; and what
 * of a line is fetched with one.
 *
 * A tile is a stick by a stick, and is turned in steps. Lines that come in with half a step, and sticks that go out,
 * are evenly spaced: so the first ones of each half say where all of it is. */
#ifndef TG_KERNELS_PIPELINE_H
#define TG_KERNELS_PIPELINE_H

#include "base/checked.h"
#include "kernels/matrix.h"
#include "kernels/move.h"

/* Bytes of each line that one step turns: 4 sticks or more. */
#define PIECE(width) ((width) <= 4 ? 16 : (width) * 4)
/* Of a tile. */
#define STEPS(width) (STICK / PIECE(width))
/* Lines that come in with half a step, and sticks that go out. */
#define HALF(width) (PIECE(width) / (width) / 2)
/* From the tile that is copied to the one whose lines are fetched: 64 lines, or a tile of bytes. */
#define AHEAD(width) ((width) <= 2 ? 1 : (width) / 2)

enum {
    FETCHED_TOGETHER = 4, /* sticks of a line, where several are fetched at once */
    RING = 16, /* tiles of which it is known where they begin, as far as lines are fetched */
    MOST_HALVES = 16
};
_Static_assert(2 * STEPS(1) == MOST_HALVES && 2 * STEPS(4) == MOST_HALVES && AHEAD(16) + 3 <= RING, "too many");

typedef struct pipeline {
    uint8_t        stage[2][MAX_SIDE * STICK] __attribute__((aligned(64))); /* of this tile, of the next one, in turn */
    uint8_t        end[STICK] __attribute__((aligned(64))); /* of a group of rows */
    const uint8_t *line[RING];
    uint8_t       *row[RING];
} pipeline;

/* What a step of it does besides turning. Stores go around the caches. */
typedef enum journey {
    EVEN_ROWS,   /* lines of a tile are evenly spaced, and rows; lines of a later one are fetched */
    EVEN_FOURS,  /* the same, but with every fourth tile four sticks of each line are fetched */
    ROW_RUNS,    /* rows of half a step are; lines as before */
    LINE_RUNS,   /* rows and lines of half a step are; lines of a later tile are fetched */
    SEAM_RUNS,   /* the same, and sticks at the end of rows end with the beginning of the next row */
    ALONG_LINES, /* LINE_RUNS, but the next stick of lines that are copied is fetched */
    IN_CACHES    /* LINE_RUNS, but nothing is fetched, and stores go into the caches */
} journey;

static inline bool is_even(journey way) { return way == EVEN_ROWS || way == EVEN_FOURS; }

/* Tiles of the sticks of a matrix of which all lines are there. */
typedef struct matrix_tiles {
    const matrix *a;
    int64_t       tile, count; /* how many are known, of how many */
    int64_t       o, c, r;     /* where the next one begins */
    const uint8_t *last;       /* where lines of the one before do */
    int64_t       col[RING], first[RING]; /* first column and row of known ones */
} matrix_tiles;

static inline int64_t count_tiles(const matrix *a) {
    const int64_t side = STICK / a->width;
    return a->dst.n < side ? 0 : a->outer * (a->src.n / side) * tg_ceil_div(a->dst.n, side);
}

/* Are n lines, or rows, evenly spaced that begin at a multiple of n, or anywhere if they all are? */
static inline bool in_runs(const loops *l, int64_t n) { return l->inner == l->n || (l->inner | l->n) % n == 0; }

/* Where one more tile begins; behind the last one, where that does. */
static inline void next_tile(pipeline *p, matrix_tiles *t, int width) {
    const matrix *const a = t->a;
    const int64_t       side = STICK / width, at = t->tile++ % RING;
    p->line[at] = t->last;
    if (t->tile > t->count) return;
    const int64_t first = tg_min(t->r, a->dst.n - side);
    t->col[at] = t->c;
    t->first[at] = first;
    p->line[at] = t->last = a->s + t->o * a->src_outer + line_offset(&a->src, t->c) + first * width;
    p->row[at] = a->d + t->o * a->dst_outer + t->c * width;
    if ((t->r += side) < a->dst.n) return;
    t->r = 0;
    if ((t->c += side) + side <= a->src.n) return;
    t->c = 0;
    t->o++;
}

/* Of each line, bytes that are fetched from where the tile at row `first` begins, if each fourth one fetches for all
 * four, and the one that `begins` for those that are left of them: 0 for others. The last tile of a line may begin a
 * little before its place. */
static inline int64_t bytes_of_four(const matrix *a, int64_t first, bool begins) {
    const int64_t at = first * a->width, left = a->dst.n * a->width - at;
    const int64_t place = tg_ceil_div(at, STICK) % FETCHED_TOGETHER;
    return place == 0 || begins ? tg_min(left, (FETCHED_TOGETHER - place) * STICK) : 0;
}

/* Where half steps begin: rows of a tile, lines of the one behind it, and of one that is fetched. */
typedef struct half_places {
    const uint8_t *line[MOST_HALVES], *later[MOST_HALVES];
    uint8_t       *row[MOST_HALVES];
} half_places;

/* How far from line 0 half steps begin, from line `first` on; divisions would take as long as moving them. */
static inline void half_offsets(int64_t *out, const loops *l, int width, int64_t first) {
    const bool ahead = first >= l->inner;
    int64_t    in = ahead ? first % l->inner : first, at = ahead ? first / l->inner * l->outer : 0;
    for (int k = 0; k < 2 * STEPS(width); k++) {
        out[k] = at + in * l->step;
        if ((in += HALF(width)) < l->inner) continue;
        in = 0;
        at += l->outer;
    }
}

static inline void list_rows(uint8_t **out, const pipeline *p, const matrix_tiles *t, int width, int64_t tile) {
    int64_t offset[MOST_HALVES];
    half_offsets(offset, &t->a->dst, width, t->first[tile % RING]);
    for (int k = 0; k < 2 * STEPS(width); k++) out[k] = p->row[tile % RING] + offset[k];
}

/* Behind the last tile, its own. */
static inline void list_lines(const uint8_t **out, const pipeline *p, const matrix_tiles *t, int width, int64_t tile) {
    const int64_t at = tg_min(tile, t->count - 1) % RING;
    int64_t       offset[MOST_HALVES];
    half_offsets(offset, &t->a->src, width, t->col[at]);
    for (int k = 0; k < 2 * STEPS(width); k++) out[k] = p->line[at] + offset[k] - offset[0];
}

/* ---- seams ---- */

/* Whole sticks of rows from their first cache line on. */
static inline void sticks_at_lines(matrix *out, const matrix *a, int64_t sticks) {
    *out = *a;
    out->d += a->lead * a->width;
    out->s += a->lead * a->src.step;
    out->src.n = out->src.inner = sticks * (STICK / a->width);
}

/* Seams alone: the last lines, and the first ones an element further on, which is where the next row begins. */
static inline void seams_at_lines(matrix *out, const matrix *a) {
    const int64_t side = STICK / a->width, own = side - a->lead, first = a->cols - own;
    *out = *a;
    out->seam = own * a->width;
    out->d += first * a->width;
    out->s += first * a->src.step;
    out->src = (loops){side, own, a->src.step, a->width - first * a->src.step};
    out->joined = a->outer > 1 && a->group_rows == a->dst.n && a->dst_outer == a->dst.n * a->dst.step;
}

/* What a tile of seams is: where row 0 of the matrix begins, and after which steps, as bits, a group of rows ends. */
typedef struct seam_tile {
    const matrix *a;
    uint8_t      *start;
    int64_t       first; /* row of the tile */
    int64_t       wrap, jump; /* from half step `wrap` on lines are the first ones, so many bytes from the others */
    int64_t       row_jump; /* from behind a group of rows to the next one */
    uint32_t      ends;
} seam_tile;

/* Where the row behind row r begins. */
static inline uint8_t *row_after(const seam_tile *t, int64_t r) { return t->start + line_offset(&t->a->dst, r + 1); }

/* First elements of a row, those before its first cache line. */
TG_INLINE void first_elements(int width, uint8_t *d, int64_t d_step, const uint8_t *s, const matrix *a) {
    const int64_t step = a->src.step;
    for (int64_t n = (STICK - a->seam) / width; n > 0; n--, d += d_step, s += step) memcpy(d, s, (size_t)width);
}

TG_INLINE void find_ends(int width, seam_tile *out, bool joined) {
    const matrix *const a = out->a;
    const int64_t       each = 2 * HALF(width), rows = a->dst.n;
    int64_t             left = a->group_rows - out->first % a->group_rows;
    for (int k = 0; k < STEPS(width); k++) {
        const bool last = out->first + (k + 1) * each == rows;
        if ((left -= each) > 0 && !last) continue;
        left = a->group_rows;
        if (!last || !joined) out->ends |= 1u << k;
    }
}

/* Tile number `tile`, as the pipeline comes to it. Where the next matrix follows the last row of this one, its first
 * elements come into the stage. Parts of lines are asked for. */
TG_INLINE void begin_seams(int width, seam_tile *out, pipeline *p, const matrix_tiles *t, int64_t tile) {
    const matrix *const a = t->a;
    const int64_t       at = tile % RING, each = 2 * HALF(width), side = STICK / width, own = a->seam / width;
    const int64_t       to_first = a->src.outer - width; /* from the seam's lines to the first one */
    const bool          joined = a->joined && tile + 1 < t->count;
    *out = (seam_tile){a, p->row[at] + a->seam - a->cols * width, t->first[at], own / HALF(width),
                       a->src.outer - own * a->src.step, a->dst.outer - a->dst.inner * a->dst.step, 0};
    find_ends(width, out, joined);
    TG_FETCH(p->line[(tile + 1 + AHEAD(width)) % RING] + to_first); /* what begins in it is fetched from its end */
    if (out->first == 0 && (tile == 0 || !a->joined))
        first_elements(width, out->start, width, p->line[at] + to_first, a);
    if (joined && out->first + side == a->dst.n)
        first_elements(width, p->stage[tile % 2] + own * STICK + STICK - width, STICK,
                       p->line[(tile + 1) % RING] + to_first, a);
    if (!a->claims) return;
    for (uint32_t ends = out->ends; ends != 0; ends &= ends - 1) {
        const int64_t r = out->first + (__builtin_ctz(ends) + 1) * each - 1;
        TG_CLAIM(p->row[at] + line_offset(&a->dst, r) + a->seam);
        if (r + 1 < a->dst.n) TG_CLAIM(row_after(out, r));
    }
}

/* The last stick of a group of rows, row r: the rest of it, and the beginning of the first row of the next group. */
TG_INLINE void end_group(const seam_tile *t, const uint8_t *end, uint8_t *row, int64_t r) {
    const matrix *const a = t->a;
    const int64_t       rest = a->seam % TG_LINE_BYTES, whole = a->seam - rest;
    tg_stream_copy(row, end, (size_t)whole);
    tg_put_part(row + whole, end + whole, rest, a->claims);
    if (r + 1 < a->dst.n) tg_put_part(row_after(t, r), end + a->seam, STICK - a->seam, a->claims);
}

/* Squares of a stick by a stick, of one tile after the other whose rows and lines are listed. */
typedef struct tile_squares {
    tg_tiles *tiles;
    tg_listed tile;
    int64_t   row, col; /* of the next one */
    bool      more;     /* there is one */
} tile_squares;

static inline void squares_begin(tile_squares *q, tg_tiles *tiles) {
    q->tiles = tiles;
    q->row = q->col = 0;
    q->more = tiles->next(tiles, &q->tile);
}

/* Half steps of one more square, along dst and then on along the lines; the last one of either side begins a little
 * earlier. Behind the last one of all they stay; then false. */
static inline bool next_square(half_places *p, tile_squares *q, int width) {
    const int64_t          side = STICK / width;
    const tg_listed *const t = &q->tile;
    if (!q->more) return false;
    const int64_t        r = tg_min(q->row, t->rows - side), c = tg_min(q->col, t->cols - side);
    const uint8_t *const s = t->src + r * width;
    uint8_t *const       d = t->dst + c * width;
    for (int64_t k = 0; k < 2 * STEPS(width); k++) {
        p->line[k] = s + t->line[c + k * HALF(width)];
        p->row[k] = d + t->row[r + k * HALF(width)];
    }
    q->col += side;
    if (q->col < t->cols) return true;
    q->col = 0;
    q->row += side;
    if (q->row < t->rows) return true;
    q->row = 0;
    q->more = q->tiles->next(q->tiles, &q->tile);
    return true;
}

#endif
