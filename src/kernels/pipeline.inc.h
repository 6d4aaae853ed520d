/* Transposes as a pipeline, with vectors of VEC bytes; see transpose.c. */

/* What one step works on: as many lines come in as sticks go out. */
typedef struct V(step) {
    const uint8_t        *stage;        /* lines of this tile; PIECE bytes of each of them are turned now */
    uint8_t              *fill;         /* for lines of the next tile */
    const uint8_t        *next, *later; /* lines that come in, lines that are fetched; evenly spaced, as are rows */
    uint8_t              *row;
    int64_t               line_step, row_step;
    const uint8_t *const *lines; /* or listed, as are rows */
    uint8_t *const       *rows;
    bool                  near; /* fetched into the first-level cache */
} V(step);

TG_NO_CHECKS INLINE void V(copy_stick)(uint8_t *d, const uint8_t *s) {
    TG_UNROLL
    for (int k = 0; k < STICK; k += VEC) V(store)(d + k, V(load)(s + k));
}

/* Lines [first, end) of a step. A line may begin anywhere, and its last bytes are those not yet fetched. */
TG_NO_CHECKS INLINE void V(carry)(journey way, const V(step) *t, int first, int end) {
    TG_UNROLL
    for (int j = first; j < end; j++) {
        const uint8_t *const next = way == LINES_AHEAD ? t->next + j * t->line_step : t->lines[j];
        const uint8_t *const later = way == LINES_AHEAD ? t->later + j * t->line_step : next + STICK;
        V(copy_stick)(t->fill + j * STICK, next);
        if (way != IN_CACHES) TG_FETCH_AS(later + STICK / 2 - 1, t->near);
        if (way != IN_CACHES) TG_FETCH_AS(later + STICK - 1, t->near);
    }
}

/* 16 bytes of VEC / width lines become VEC bytes of as many sticks as fit; so many lines are carried meanwhile. */
TG_NO_CHECKS INLINE void V(turn_staged)(int width, journey way, V(vec) *out, const V(step) *t, int piece, int part,
                                      int first, int end) {
    const int            n = 16 / width;
    const uint8_t *const from = t->stage + part * (VEC / width) * STICK + piece * 16;
    const int            rounds = width == 1 ? 4 : width == 2 ? 3 : width == 4 ? 2 : width == 8 ? 1 : 0;
    V(vec)               v[2][16];
    TG_UNROLL
    for (int j = 0; j < n; j++) {
        const uint8_t *lane[LANES];
        TG_UNROLL
        for (int l = 0; l < LANES; l++) lane[l] = from + (l * n + j) * STICK;
        v[0][j] = V(lanes)(lane);
    }
    TG_UNROLL
    for (int r = 0; r < rounds; r++) {
        V(carry)(way, t, first + (end - first) * r / (rounds + 1), first + (end - first) * (r + 1) / (rounds + 1));
        V(round)(width, v[(r + 1) % 2], v[r % 2]);
    }
    V(carry)(way, t, first + (end - first) * rounds / (rounds + 1), end);
    TG_UNROLL
    for (int i = 0; i < n; i++) out[i] = v[rounds % 2][i];
}

/* Lines that are carried are spread over the shuffles: what comes in a burst is waited for. Sticks leave as a whole,
 * straight from registers: a buffer would have to lie where its loads do not take stores before them, which wait for
 * memory, for those of the same place (their addresses are compared in a page only). */
TG_NO_CHECKS INLINE void V(step_of)(int width, journey way, const V(step) *step) {
    const int     parts = STICK / VEC, turns = PIECE(width) / 16 * parts, n = 16 / width, lines = STEP_LINES(width);
    const V(step) t = *step; /* no store can change it */
    TG_UNROLL
    for (int i = 0; i < turns; i += parts) {
        V(vec) v[STICK / VEC][16];
        TG_UNROLL
        for (int p = 0; p < parts; p++)
            V(turn_staged)(width, way, v[p], &t, i / parts, p, (i + p) * lines / turns, (i + p + 1) * lines / turns);
        TG_UNROLL
        for (int k = 0; k < n; k++) {
            const int      r = i / parts * n + k;
            uint8_t *const row = way == LINES_AHEAD ? t.row + r * t.row_step : t.rows[r];
            TG_UNROLL
            for (int p = 0; p < parts; p++) V(put)(row + p * VEC, v[p][k], way != IN_CACHES);
        }
    }
}

#define DEFINE_STEP(width)                                                                                           \
    TG_NO_CHECKS OUTLINE void V(make_step_##width)(const V(step) *step) { V(step_of)(width, LINES_AHEAD, step); }    \
    TG_NO_CHECKS OUTLINE void V(make_far_step_##width)(const V(step) *step) { V(step_of)(width, ALONG_LINES, step); } \
    TG_NO_CHECKS OUTLINE void V(make_near_step_##width)(const V(step) *step) { V(step_of)(width, IN_CACHES, step); }
DEFINE_STEP(1)
DEFINE_STEP(2)
DEFINE_STEP(4)
DEFINE_STEP(8)
DEFINE_STEP(16)
#undef DEFINE_STEP

typedef void V(step_move)(const V(step) *step);
BY_WIDTH(V(step_move), make_step)
BY_WIDTH(V(step_move), make_far_step)
BY_WIDTH(V(step_move), make_near_step)

/* Step k of tile number `tile`. */
INLINE void V(aim)(V(step) *t, stages *s, int width, int64_t tile, int64_t k) {
    t->stage = s->tile[tile % 2] + k * PIECE(width);
    t->fill = s->tile[(tile + 1) % 2] + k * STEP_LINES(width) * STICK;
}

INLINE void V(pipeline_of)(int width, const matrix *a) {
    const int steps = STEPS(width), n = STEP_LINES(width), ahead = AHEAD / n;
    V(step)   t = {.line_step = a->src.step, .row_step = a->dst.step, .near = a->near};
    pipeline  p;
    pipeline_begin(&p, a, steps, n);
    for (int i = 0; i < 2 + ahead / steps; i++) next_tile(&p, a);
    for (int i = 0; i < STICK / width; i++) V(copy_stick)(p.s.tile[0] + i * STICK, p.line[i / n] + i % n * t.line_step);
    for (int64_t i = 0, at = 0; i < p.count; i++) {
        next_tile(&p, a);
        for (int k = 0; k < steps; k++, at++) {
            V(aim)(&t, &p.s, width, i, k);
            t.next = p.line[(at + steps) % RING];
            t.later = p.line[(at + steps + ahead) % RING];
            t.row = p.row[at % RING];
            V(make_step)(width)(&t);
        }
    }
}

/* Functions of their own: the 40 KiB of a pipeline are not for moves that keep a stage on the stack besides. */
#define DEFINE_PIPELINE(width) \
    OUTLINE void V(pipeline_##width)(const matrix *a) { V(pipeline_of)(width, a); }
DEFINE_PIPELINE(1)
DEFINE_PIPELINE(2)
DEFINE_PIPELINE(4)
DEFINE_PIPELINE(8)
DEFINE_PIPELINE(16)
#undef DEFINE_PIPELINE

/* All sticks of a matrix of which all lines are there. */
typedef void V(pipeline_move)(const matrix *a);
BY_WIDTH(V(pipeline_move), pipeline)

/* Tiles of whole sticks on both sides. */
INLINE void V(stage_tiles_of)(int width, tg_tiles *tiles, bool stream) {
    const int    steps = STEPS(width), n = STEP_LINES(width), side = STICK / width;
    V(step)      t = {.near = false};
    tile_squares q;
    squares_begin(&q, tiles);
    bool more = next_square(&q, width, 0);
    for (int k = 0; more && k < side; k++) V(copy_stick)(q.s.tile[0] + k * STICK, q.line[k]);
    for (int64_t i = 0; more; i++) {
        more = next_square(&q, width, i + 1);
        for (int k = 0; k < steps; k++) {
            const int64_t at = i * side + k * n;
            V(aim)(&t, &q.s, width, i, k);
            t.lines = q.line + (at + side) % LIST;
            t.rows = q.to + at % LIST;
            if (stream) V(make_far_step)(width)(&t);
            else V(make_near_step)(width)(&t);
        }
    }
}

#define DEFINE_STAGE_TILES(width)                                                                  \
    OUTLINE void V(stage_tiles_##width)(tg_tiles *tiles, bool stream) {                            \
        if (stream) V(stage_tiles_of)(width, tiles, true);                                         \
        else V(stage_tiles_of)(width, tiles, false);                                               \
    }
DEFINE_STAGE_TILES(1)
DEFINE_STAGE_TILES(2)
DEFINE_STAGE_TILES(4)
DEFINE_STAGE_TILES(8)
DEFINE_STAGE_TILES(16)
#undef DEFINE_STAGE_TILES

typedef void V(stage_tiles_move)(tg_tiles *tiles, bool stream);
BY_WIDTH(V(stage_tiles_move), stage_tiles)
