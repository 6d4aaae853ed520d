/* Transposes as a pipeline, with vectors of VEC bytes; see transpose.c. */

/* What one step works on: as many lines come in as sticks go out. */
typedef struct V(step) {
    const uint8_t        *stage;        /* lines of this tile; PIECE bytes of each of them are turned now */
    uint8_t              *fill, *out;   /* for lines of the next tile; for this step's sticks */
    const uint8_t        *ready;        /* sticks of the step before, which go to row */
    const uint8_t *const *next, *const *later; /* lines that come in, lines that are fetched */
    uint8_t *const       *row;
    bool                  near; /* fetched into the first-level cache */
} V(step);

TG_NO_CHECKS INLINE void V(copy_stick)(uint8_t *d, const uint8_t *s, bool stream) {
    TG_UNROLL
    for (int k = 0; k < STICK; k += VEC) V(put)(d + k, V(load)(s + k), stream);
}

/* Lines and sticks [first, end) of a step. A line may begin anywhere, and its last bytes are those not yet fetched. */
TG_NO_CHECKS INLINE void V(carry)(journey way, const V(step) *t, int first, int end) {
    TG_UNROLL
    for (int j = first; j < end; j++) {
        const uint8_t *const later = way == LINES_AHEAD ? t->later[j] : t->next[j] + STICK;
        V(copy_stick)(t->fill + j * STICK, t->next[j], false);
        if (way != IN_CACHES) TG_FETCH_AS(later + STICK / 2 - 1, t->near);
        if (way != IN_CACHES) TG_FETCH_AS(later + STICK - 1, t->near);
        V(copy_stick)(t->row[j], t->ready + j * STICK, way != IN_CACHES);
    }
}

/* 16 bytes of VEC / width lines become VEC bytes of as many sticks as fit; so many lines and sticks are carried
 * meanwhile. */
TG_NO_CHECKS INLINE void V(turn_staged)(int width, journey way, const V(step) *t, int piece, int part, int first,
                                      int end) {
    const int            n = 16 / width;
    const uint8_t *const from = t->stage + part * (VEC / width) * STICK + piece * 16;
    uint8_t *const       to = t->out + piece * n * STICK + part * VEC;
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
    for (int i = 0; i < n; i++) V(store)(to + i * STICK, v[rounds % 2][i]);
}

/* All that is carried is spread over the shuffles: what comes in a burst is waited for. */
TG_NO_CHECKS INLINE void V(step_of)(int width, journey way, const V(step) *step) {
    const int     parts = STICK / VEC, turns = PIECE(width) / 16 * parts, n = PIECE(width) / width;
    const V(step) t = *step; /* no store can change it */
    TG_UNROLL
    for (int i = 0; i < turns; i++)
        V(turn_staged)(width, way, &t, i / parts, i % parts, i * n / turns, (i + 1) * n / turns);
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

/* Step number `at / n` of tile `tile`, which turns n sticks. */
INLINE void V(aim)(V(step) *t, pipeline *p, int width, int64_t tile, int64_t at) {
    const int     n = PIECE(width) / width, side = STICK / width;
    const int64_t k = at % side / n;
    t->stage = p->stage[tile % 2] + k * PIECE(width);
    t->fill = p->stage[(tile + 1) % 2] + k * n * STICK;
    t->out = p->out[at / n % 2];
    t->ready = p->out[(at / n + 1) % 2];
    t->next = p->line + (at + side) % RING;
    t->later = p->line + (at + side + AHEAD) % RING;
    t->row = p->row + (at + RING - n) % RING;
}

INLINE void V(pipeline_of)(int width, const matrix *a, work *w) {
    const int     n = PIECE(width) / width, side = STICK / width;
    const int64_t count = count_tiles(a), known = tg_ceil_div(AHEAD, side) + 1;
    pipeline      p;
    V(step)       t;
    w->o = w->c = 0;
    p.at = a->dst.n;
    t.near = a->near;
    for (int64_t i = 0; i < known; i++) next_tile(&p, a, w, i, count);
    for (int i = 0; i < side; i++) V(copy_stick)(p.stage[0] + i * STICK, p.line[i], false);
    for (int i = 0; i < n; i++) p.row[RING - n + i] = p.nowhere + i * STICK;
    for (int64_t i = 0; i < count; i++) {
        next_tile(&p, a, w, i + known, count);
        for (int64_t at = i * side; at < (i + 1) * side; at += n) {
            V(aim)(&t, &p, width, i, at);
            V(make_step)(width)(&t);
        }
    }
    V(aim)(&t, &p, width, count, count * side);
    for (int i = 0; i < n; i++) V(copy_stick)(t.row[i], t.ready + i * STICK, true);
}

/* Functions of their own: the 46 KiB of a pipeline are not for moves that keep a stage on the stack besides. */
#define DEFINE_PIPELINE(width) \
    OUTLINE void V(pipeline_##width)(const matrix *a, work *w) { V(pipeline_of)(width, a, w); }
DEFINE_PIPELINE(1)
DEFINE_PIPELINE(2)
DEFINE_PIPELINE(4)
DEFINE_PIPELINE(8)
DEFINE_PIPELINE(16)
#undef DEFINE_PIPELINE

/* All whole sticks of a matrix. */
typedef void V(pipeline_move)(const matrix *a, work *w);
BY_WIDTH(V(pipeline_move), pipeline)

/* Tiles of whole sticks on both sides. */
INLINE void V(stage_tiles_of)(int width, tg_tiles *tiles, bool stream) {
    const int    n = PIECE(width) / width, side = STICK / width;
    pipeline     p;
    tile_squares q;
    V(step)      t;
    int64_t      i = 0;
    t.near = false;
    squares_begin(&q, tiles);
    for (bool more = next_square(&p, &q, width, 0); more; i++) {
        if (i == 0) {
            for (int k = 0; k < side; k++) V(copy_stick)(p.stage[0] + k * STICK, p.line[k], false);
            for (int k = 0; k < n; k++) p.row[RING - n + k] = p.nowhere + k * STICK;
        }
        more = next_square(&p, &q, width, i + 1);
        for (int64_t at = i * side; at < (i + 1) * side; at += n) {
            V(aim)(&t, &p, width, i, at);
            if (stream) V(make_far_step)(width)(&t);
            else V(make_near_step)(width)(&t);
        }
    }
    if (i == 0) return;
    V(aim)(&t, &p, width, i, i * side);
    for (int k = 0; k < n; k++) V(copy_stick)(t.row[k], t.ready + k * STICK, stream);
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
