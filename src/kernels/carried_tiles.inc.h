/* Listed tiles whose rows begin inside of lines of dst, around the caches; see carried.inc.h.
 *
 * Rows of a tile that follow each other in dst are one run, and where the next tile goes on behind it, runs are carried
 * from one to the other as rows are from stick to stick:
 *
 *     dst       rows 0 to 2 of tile 0, rows 0 to 2 of tile 1 ...    elsewhere    rows 3 to 5 of tile 0 ...
 *     buffer    begun line | rows 0 to 2      begun line | rows 3 to 5    ...
 *
 * Stored one by one, rows fetch the lines in which they begin and end (a Zen 4, 256 MiB, x memcpy: rows of 77 bytes
 * 0.25 -> 0.55, of 252 0.37 -> 0.7, of 960 0.52 -> 0.73). */

enum { CARRIED_TILE = 80 << 10 /* bytes: 256 rows of as many, each with the line before it, an odd number of lines */ };

typedef struct V(carried_tiles) {
    uint8_t  out[2][CARRIED_TILE] __attribute__((aligned(64)));
    uint8_t *run[2][TG_LISTED_SIDE]; /* in dst, of tiles in turn */
    int64_t  to[TG_LISTED_SIDE];     /* rows in a buffer */
} V(carried_tiles);

/* From run to run in a buffer: an odd number of lines. */
static inline int64_t V(pitch_of_runs)(const tg_tiles *t, int width) {
    return ((tg_ceil_div(t->joined_rows * t->most_cols * width, TG_LINE_BYTES) + 1) | 1) * TG_LINE_BYTES;
}

/* Are runs long, and is there room for them? */
TG_INLINE bool V(are_carried)(int width, const tg_mover *m, const tg_tiles *t) {
    if (!m->stream || !m->far || t->at_lines || t->joined_bytes < LEAST_CARRIED || t->most_rows > TG_LISTED_SIDE)
        return false;
    return t->most_rows / t->joined_rows * V(pitch_of_runs)(t, width) <= CARRIED_TILE;
}

TG_INLINE void V(carry_tiles_of)(int width, const tg_mover *m, tg_tiles *tiles, V(carried_tiles) *b) {
    const V(coming) none = {0};
    const int64_t each = tiles->joined_rows, pitch = V(pitch_of_runs)(tiles, width), row = tiles->most_cols * width;
    V(leaving)    before = {0};
    tg_listed     tile, next;
    int64_t       begin = 0; /* bytes of runs that were in tiles before */
    unsigned      i = 0, list = 0;
    for (int64_t r = 0; r < tiles->most_rows; r++) b->to[r] = r / each * pitch + r % each * row;
    for (bool more = tiles->next(tiles, &tile); more; tile = next, i++) {
        uint8_t *const into = b->out[i % 2], *const out = b->out[(i + 1) % 2];
        const int64_t  runs = tile.rows / each, bytes = tile.cols * each * width;
        more = tiles->next(tiles, &next);
        const tg_listed staged = {into + TG_LINE_BYTES, tile.src, tile.rows, tile.cols, b->to, tile.line};
        V(turn_tile)(width, &staged, m->fetches ? (more ? &next : &tile) : NULL, false, false);
        if (i > 0) V(leave_rows)(&before, out, into, &none);
        if (begin == 0) list++;
        for (int64_t r = 0; begin == 0 && r < runs; r++) b->run[list % 2][r] = tile.dst + tile.row[r * each];
        /* A run goes on once 64 bytes of it are there: the line that it begins in has left with the first tile. */
        const bool filled = begin + bytes >= TG_LINE_BYTES;
        const bool goes_on = more && filled && next.rows == tile.rows && next.dst == tile.dst + bytes;
        before = (V(leaving)){b->run[list % 2], runs, begin, bytes, pitch, !goes_on};
        begin = goes_on ? begin + bytes : 0;
    }
    if (i > 0) V(leave_rows)(&before, b->out[(i + 1) % 2], b->out[i % 2], &none);
}

/* Functions of their own, for the buffers on their stacks. */
#define DEFINE_CARRIED_TILES(width)                                                                                    \
  TG_OUTLINE void V(carry_tiles_##width)(const tg_mover *m, tg_tiles *tiles) {                                         \
    V(carried_tiles) b;                                                                                                \
    V(carry_tiles_of)(width, m, tiles, &b);                                                                            \
  }
DEFINE_CARRIED_TILES(1)
DEFINE_CARRIED_TILES(2)
DEFINE_CARRIED_TILES(4)
DEFINE_CARRIED_TILES(8)
DEFINE_CARRIED_TILES(16)
#undef DEFINE_CARRIED_TILES

typedef void V(carry_tiles_move)(const tg_mover *m, tg_tiles *tiles);
BY_WIDTH(V(carry_tiles_move), carry_tiles)
