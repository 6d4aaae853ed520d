/* Tiles whose rows and lines are listed, with vectors of VEC bytes; see transpose.c. */

#define DEFINE_SQUARE(width)                                                                                           \
    TG_NO_CHECKS TG_OUTLINE void V(square_offsets_##width)(uint8_t *d, const int64_t *row, const uint8_t *s,           \
                                                           const int64_t *line, const uint8_t *later,                  \
                                                           const int64_t *fetched) {                                   \
        V(square_of)(width, offsets(d, row, s, line, later, fetched), false);                                          \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(square_offsets_stream_##width)(uint8_t *d, const int64_t *row, const uint8_t *s,    \
                                                                  const int64_t *line, const uint8_t *later,           \
                                                                  const int64_t *fetched) {                            \
        V(square_of)(width, offsets(d, row, s, line, later, fetched), true);                                           \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(square_offsets_claiming_##width)(                                                   \
        uint8_t *d, const int64_t *row, const uint8_t *s, const int64_t *line, const uint8_t *later,                   \
        const int64_t *fetched, uint8_t *claimed, const int64_t *claimed_row) {                                        \
        places p = offsets(d, row, s, line, later, fetched);                                                           \
        p.claimed = claimed;                                                                                           \
        p.claimed_offset = claimed_row;                                                                                \
        V(square_of)(width, p, false);                                                                                 \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(strip_offsets_##width)(uint8_t *d, const int64_t *row, const uint8_t *s,            \
                                                          const int64_t *line) {                                       \
        V(strip_of)(width, offsets(d, row, s, line, NULL, NULL), false);                                               \
    }

DEFINE_SQUARE(1)
DEFINE_SQUARE(2)
DEFINE_SQUARE(4)
DEFINE_SQUARE(8)
DEFINE_SQUARE(16)
#undef DEFINE_SQUARE

typedef void V(square_offsets_move)(uint8_t *d, const int64_t *row, const uint8_t *s, const int64_t *line,
                                    const uint8_t *later, const int64_t *fetched);
typedef void V(square_claiming_move)(uint8_t *d, const int64_t *row, const uint8_t *s, const int64_t *line,
                                     const uint8_t *later, const int64_t *fetched, uint8_t *claimed,
                                     const int64_t *claimed_row);
typedef void V(strip_offsets_move)(uint8_t *d, const int64_t *row, const uint8_t *s, const int64_t *line);

BY_WIDTH(V(square_offsets_move), square_offsets)
BY_WIDTH(V(square_offsets_move), square_offsets_stream)
BY_WIDTH(V(square_claiming_move), square_offsets_claiming)
BY_WIDTH(V(strip_offsets_move), strip_offsets)

/* The squares of a tile: pairs side by side in dst, which are a stick there, down the lines. */
typedef struct V(square_at) {
    int64_t first, r, c; /* the pair's first column, row and column */
} V(square_at);

/* false: that was the last one, and the first one is next. */
TG_INLINE bool V(next_square)(V(square_at) *q, const tg_listed *t, int width) {
    const int n = VEC / width, pair = STICK / width;
    if ((q->c += n) < tg_min(t->cols, q->first + pair)) return true;
    if ((q->r += n) >= t->rows) q->r = 0, q->first += pair;
    if (q->first >= t->cols) q->first = 0;
    q->c = q->first;
    return q->c > 0 || q->r > 0;
}

/* The last squares of either side begin a little earlier, and write some of the tile once more. Lines of the next tile
 * are fetched, or none; lines of rows that begin inside of them are claimed one square ahead. */
TG_INLINE void V(turn_squares)(int width, const tg_listed *t, const tg_listed *next, bool stream, bool claims) {
    const int     n = VEC / width, each = TG_LINE_BYTES / VEC; /* squares for each cache line of a line */
    V(square_at)  q = {0, 0, 0};
    for (bool more = true; more;) {
        const int64_t        r = tg_min(q.r, t->rows - n), c = tg_min(q.c, t->cols - n);
        const int64_t *const line = t->line + c, *const row = t->row + r;
        const uint8_t *const s = t->src + r * width, *const later = next == NULL ? NULL : next->src + r * width;
        uint8_t *const       d = t->dst + c * width;
        const int64_t *const fetched = line + r / n % each * (n / each);
        more = V(next_square)(&q, t, width);
        if (stream) {
            V(square_offsets_stream)(width)(d, row, s, line, later, fetched);
        } else if (claims) {
            uint8_t *const on = more || next == NULL ? t->dst : next->dst;
            V(square_offsets_claiming)(width)(d, row, s, line, later, fetched,
                                              on + tg_min(q.c, t->cols - n) * width, t->row + tg_min(q.r, t->rows - n));
        } else {
            V(square_offsets)(width)(d, row, s, line, later, fetched);
        }
    }
}

/* Fewer rows than a square has. */
TG_INLINE void V(turn_strips)(int width, const tg_listed *t) {
    const int n = VEC / width, least = 16 / width;
    for (int64_t r0 = 0; r0 < t->rows; r0 += least)
        for (int64_t c0 = 0; c0 < t->cols; c0 += n) {
            const int64_t r = tg_min(r0, t->rows - least), c = tg_min(c0, t->cols - n);
            V(strip_offsets)(width)(t->dst + c * width, t->row + r, t->src + r * width, t->line + c);
        }
}

TG_INLINE void V(turn_tile)(int width, const tg_listed *t, const tg_listed *next, bool stream, bool claims) {
    const int n = VEC / width;
    if (t->cols < n || t->rows * width < 16) plain_tile(width, t);
    else if (t->rows < n) V(turn_strips)(width, t);
    else if (stream) V(turn_squares)(width, t, next, true, false);
    else V(turn_squares)(width, t, next, false, claims);
}

#include "kernels/carried_tiles.inc.h"

/* Lines that crowd each other in the first-level cache go through the pipeline. */
TG_INLINE void V(turn_tiles)(int width, const tg_mover *m, tg_tiles *tiles) {
    const bool stream = m->stream && tiles->at_lines, claims = m->claims && !tiles->at_lines;
    const int  side = STICK / width;
    const bool runs = tiles->line_run % HALF(width) == 0 && tiles->row_run % HALF(width) == 0;
    if (width <= 4 && is_crowded(tiles->line_step, TG_LINE_BYTES / width) && runs &&
        tg_min(tiles->least_rows, tiles->least_cols) >= side) {
        V(stage_tiles)(width)(tiles, stream);
        return;
    }
    if (V(are_carried)(width, m, tiles)) {
        V(carry_tiles)(width)(m, tiles);
        return;
    }
    tg_listed tile, next;
    for (bool more = tiles->next(tiles, &tile); more; tile = next) {
        more = tiles->next(tiles, &next);
        V(turn_tile)(width, &tile, m->fetches ? (more ? &next : &tile) : NULL, stream, claims);
    }
}

#define DEFINE_TILES(width)                                                                        \
    static void V(tiles_##width)(const tg_mover *m, tg_tiles *tiles) { V(turn_tiles)(width, m, tiles); }
DEFINE_TILES(1)
DEFINE_TILES(2)
DEFINE_TILES(4)
DEFINE_TILES(8)
DEFINE_TILES(16)
#undef DEFINE_TILES
