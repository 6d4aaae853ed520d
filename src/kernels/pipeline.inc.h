/* Transposes as a pipeline, with vectors of VEC bytes; see transpose.c. */

/* What one step works on: as many lines come in as sticks go out, half of them evenly spaced from the first place on,
 * half from the second one. All of it stays in registers: no calls in a loop of steps, and no lists that can be
 * spared. */
typedef struct V(step) {
    const uint8_t *stage;          /* lines of this tile; PIECE bytes of each of them are turned now */
    uint8_t       *fill;           /* for lines of the next tile */
    const uint8_t *next, *next2;   /* lines that come in */
    const uint8_t *later, *later2; /* lines that are fetched */
    uint8_t       *row, *row2;
    uint8_t       *end; /* of seams: the last stick goes here, into the cache; or NULL */
    int64_t        line_step, row_step;
    int64_t        fetched; /* of each line, in bytes: EVEN_FOURS */
    bool           near; /* lines are fetched into the first-level cache */
} V(step);

TG_NO_CHECKS TG_INLINE void V(copy_stick)(uint8_t *d, const uint8_t *s) {
    TG_UNROLL
    for (int k = 0; k < STICK; k += VEC) V(store)(d + k, V(load)(s + k));
}

/* Of the shortest vectors a stick has so many that some loops over parts are too long, and some over lines empty. */
#if VEC > 16
#  define UNROLL_FEW TG_UNROLL
#else
#  define UNROLL_FEW
#endif

/* Lines [first, end) of a step. A line may begin anywhere, and its last bytes are those not yet fetched. Of bytes, both
 * stages are most of the first-level cache: where the next step puts its lines is asked for (an Emerald Rapids,
 * restick: 1.04 times as fast; smaller stages gain nothing). */
TG_NO_CHECKS TG_INLINE void V(carry)(int width, journey way, const V(step) *t, int first, int end) {
    UNROLL_FEW
    for (int j = first; j < end; j++) {
        const bool           low = is_even(way) || way == ROW_RUNS || j < HALF(width);
        const int64_t        at = (low ? j : j - HALF(width)) * t->line_step;
        const uint8_t *const next = (low ? t->next : t->next2) + at;
        const uint8_t *const later = way == ALONG_LINES ? next + STICK : (low ? t->later : t->later2) + at;
        if (width == 1) TG_CLAIM(t->fill + (j + 2 * HALF(1)) * STICK);
        if (width == 1) TG_CLAIM(t->fill + (j + 2 * HALF(1)) * STICK + TG_LINE_BYTES);
        V(copy_stick)(t->fill + j * STICK, next);
        if (way == EVEN_FOURS) {
            for (int64_t i = TG_LINE_BYTES - 1; i < t->fetched; i += TG_LINE_BYTES) TG_FETCH_NEAR(later + i);
            continue;
        }
        if (way != IN_CACHES) TG_FETCH_AS(later + STICK / 2 - 1, t->near);
        if (way != IN_CACHES) TG_FETCH_AS(later + STICK - 1, t->near);
    }
}

/* 16 bytes of VEC / width lines become VEC bytes of as many sticks; of bytes, of 8 of them, the high ones or the low
 * ones, since there are no registers for 16. Lines [first, end) are carried meanwhile. */
TG_NO_CHECKS TG_INLINE void V(turn_staged)(int width, journey way, V(vec) *out, const V(step) *t, const uint8_t *from,
                                           bool high, int first, int end) {
    const int n = 16 / width, rounds = width == 1 ? 3 : ROUNDS(width), more = end - first;
    V(vec)    v[2][16];
    TG_UNROLL
    for (int j = 0; j < n; j++) {
        const uint8_t *lane[LANES];
        TG_UNROLL
        for (int l = 0; l < LANES; l++) lane[l] = from + (l * n + j) * STICK;
        v[0][j] = V(lanes)(lane);
    }
    if (width == 1) V(half_round)(v[0], v[0], high);
    TG_UNROLL
    for (int r = 0; r < rounds; r++) {
        V(carry)(width, way, t, first + more * r / (rounds + 1), first + more * (r + 1) / (rounds + 1));
        if (width == 1) V(round_of_8)(v[(r + 1) % 2], v[r % 2]);
        else V(round)(width, v[(r + 1) % 2], v[r % 2]);
    }
    V(carry)(width, way, t, first + more * rounds / (rounds + 1), end);
    UNROLL_FEW
    for (int i = 0; i < 8; i++)
        if (i < n) out[i] = v[rounds % 2][i];
}

/* Lines that are carried are spread over the shuffles: what comes in a burst is waited for. Sticks leave as a whole. */
TG_NO_CHECKS TG_INLINE void V(make_step)(int width, journey way, const V(step) *t) {
    const int parts = STICK / VEC, n = width == 1 ? 8 : 16 / width, half = HALF(width), turns = 2 * half / n * parts;
    UNROLL_FEW
    for (int i = 0; i < turns; i += parts) {
        const int            piece = width == 1 ? 0 : i / parts;
        const uint8_t *const from = t->stage + piece * 16;
        V(vec)               v[STICK / VEC][8];
        TG_UNROLL
        for (int p = 0; p < parts; p++)
            V(turn_staged)(width, way, v[p], t, from + p * (VEC / width) * STICK, width == 1 && i > 0,
                           (i + p) * 2 * half / turns, (i + p + 1) * 2 * half / turns);
        TG_UNROLL
        for (int k = 0; k < n; k++) {
            const int      r = i / parts * n + k;
            const bool     low = is_even(way) || r < half;
            uint8_t *const row = (low ? t->row : t->row2) + (low ? r : r - half) * t->row_step;
            if (way == SEAM_RUNS && r == 2 * half - 1 && t->end != NULL) {
                TG_UNROLL
                for (int p = 0; p < parts; p++) V(store)(t->end + p * VEC, v[p][k]);
                continue;
            }
            TG_UNROLL
            for (int p = 0; p < parts; p++) V(put)(row + p * VEC, v[p][k], way != IN_CACHES);
        }
    }
}

/* All steps of tile number `tile`, while lines of the next one are copied. h, line: where half steps begin, if neither
 * t nor the seams say it. */
TG_NO_CHECKS TG_INLINE void V(turn_tile_staged)(int width, journey way, V(step) t, pipeline *p, int64_t tile,
                                                const half_places *h, const uint8_t *const *line,
                                                const seam_tile *seams) {
    const bool even = is_even(way) || way == ROW_RUNS;
    const int64_t  half = HALF(width) * t.line_step, wrap = way == SEAM_RUNS ? seams->wrap : 0;
    const int64_t  jump = way == SEAM_RUNS ? seams->jump : 0, row_jump = way == SEAM_RUNS ? seams->row_jump : 0;
    const uint8_t *next = t.next, *later = t.later;
    t.stage = p->stage[tile % 2];
    t.fill = p->stage[(tile + 1) % 2];
    for (int k = 0; k < STEPS(width); k++) {
        if (!is_even(way) && way != SEAM_RUNS) t.row = h->row[2 * k];
        if (!is_even(way) && way != SEAM_RUNS) t.row2 = h->row[2 * k + 1];
        if (way == SEAM_RUNS) {
            t.row2 = t.row + HALF(width) * t.row_step;
            const int64_t at = 2 * k * half, low = at + (2 * k >= wrap ? jump : 0);
            const int64_t high = at + half + (2 * k + 1 >= wrap ? jump : 0);
            t.next = next + low;
            t.next2 = next + high;
            t.later = later + low;
            t.later2 = later + high;
        } else if (!even) {
            t.next = line[2 * k];
            t.next2 = line[2 * k + 1];
        }
        if (way == LINE_RUNS) t.later = h->later[2 * k];
        if (way == LINE_RUNS) t.later2 = h->later[2 * k + 1];
        uint8_t *const last = way == SEAM_RUNS ? t.row2 + (HALF(width) - 1) * t.row_step : NULL;
        const bool     ends = way == SEAM_RUNS && (seams->ends >> k & 1) != 0;
        if (way == SEAM_RUNS) t.end = ends ? p->end : NULL;
        V(make_step)(width, way, &t);
        if (ends) end_group(seams, p->end, last, seams->first + (k + 1) * 2 * HALF(width) - 1);
        t.stage += PIECE(width);
        t.fill += 2 * HALF(width) * STICK;
        if (even) t.next += 2 * HALF(width) * t.line_step;
        if (even) t.later += 2 * HALF(width) * t.line_step;
        if (is_even(way) || way == SEAM_RUNS) t.row += 2 * HALF(width) * t.row_step + (ends ? row_jump : 0);
    }
}

/* Functions of their own: the 33 KiB of a pipeline are not for moves that keep a stage on the stack besides. */

/* All sticks of a matrix of which all lines are there. */
TG_NO_CHECKS TG_INLINE void V(pipeline_of)(int width, journey way, const matrix *a) {
    matrix_tiles tiles = {.a = a, .count = count_tiles(a), .last = a->s};
    V(step)      t = {.line_step = a->src.step, .row_step = a->dst.step, .near = a->near};
    half_places  h;
    seam_tile    seams;
    pipeline     p;
    for (int i = 0; i < 1 + AHEAD(width); i++) next_tile(&p, &tiles, width);
    for (int i = 0; i < STICK / width; i++) V(copy_stick)(p.stage[0] + i * STICK, a->s + line_offset(&a->src, i));
    for (int64_t i = 0; i < tiles.count; i++) {
        next_tile(&p, &tiles, width);
        if (!is_even(way) && way != SEAM_RUNS) list_rows(h.row, &p, &tiles, width, i);
        if (way == LINE_RUNS) list_lines(h.line, &p, &tiles, width, i + 1);
        if (way == LINE_RUNS) list_lines(h.later, &p, &tiles, width, i + 1 + AHEAD(width));
        t.next = p.line[(i + 1) % RING];
        t.later = p.line[(i + 1 + AHEAD(width)) % RING];
        if (way == EVEN_FOURS)
            t.fetched = bytes_of_four(a, tiles.first[tg_min(i + 1 + AHEAD(width), tiles.count - 1) % RING], i == 0);
        t.row = p.row[i % RING] + line_offset(&a->dst, tiles.first[i % RING]);
        if (way == SEAM_RUNS) begin_seams(width, &seams, &p, &tiles, i);
        V(turn_tile_staged)(width, way, t, &p, i, &h, h.line, &seams);
    }
}

#define DEFINE_PIPELINE(width)                                                                                         \
  TG_OUTLINE void V(pipeline_even_##width)(const matrix *a) { V(pipeline_of)(width, EVEN_ROWS, a); }                   \
  TG_OUTLINE void V(pipeline_rows_##width)(const matrix *a) { V(pipeline_of)(width, ROW_RUNS, a); }                    \
  TG_OUTLINE void V(pipeline_lines_##width)(const matrix *a) { V(pipeline_of)(width, LINE_RUNS, a); }                  \
  TG_OUTLINE void V(pipeline_seams_##width)(const matrix *a) { V(pipeline_of)(width, SEAM_RUNS, a); }
DEFINE_PIPELINE(1)
DEFINE_PIPELINE(2)
DEFINE_PIPELINE(4)
DEFINE_PIPELINE(8)
DEFINE_PIPELINE(16)
#undef DEFINE_PIPELINE
TG_OUTLINE void V(pipeline_fours_1)(const matrix *a) { V(pipeline_of)(1, EVEN_FOURS, a); }

typedef void V(pipeline_move)(const matrix *a);
BY_WIDTH(V(pipeline_move), pipeline_even)
BY_WIDTH(V(pipeline_move), pipeline_rows)
BY_WIDTH(V(pipeline_move), pipeline_lines)
BY_WIDTH(V(pipeline_move), pipeline_seams)

TG_INLINE void V(pipeline_of_sticks)(int width, const matrix *a) {
    if (!in_runs(&a->src, STICK / width)) V(pipeline_lines)(width)(a);
    else if (!in_runs(&a->dst, STICK / width)) V(pipeline_rows)(width)(a);
    else if (width == 1 && a->fours) V(pipeline_fours_1)(a);
    else V(pipeline_even)(width)(a);
}

/* All that can go so of a matrix, by a copy of it: no call can change the other. */
TG_INLINE void V(pipeline)(int width, const matrix *a) {
    const int64_t sticks = a->lead > 0 ? whole_sticks(a) : 0;
    matrix        part = *a;
    if (sticks > 0) sticks_at_lines(&part, a, sticks);
    if (a->lead == 0 || sticks > 0) V(pipeline_of_sticks)(width, &part);
    if (!a->seams) return;
    seams_at_lines(&part, a);
    V(pipeline_seams)(width)(&part);
}

/* Tiles of whole sticks on both sides. */
TG_NO_CHECKS TG_INLINE void V(stage_tiles_of)(int width, tg_tiles *tiles, journey way) {
    V(step)       t = {.line_step = tiles->line_by, .row_step = tiles->row_by};
    const int     half = HALF(width);
    tile_squares  q;
    half_places known[2];
    pipeline      p;
    squares_begin(&q, tiles);
    if (!next_square(&known[0], &q, width)) return;
    for (int i = 0; i < STICK / width; i++)
        V(copy_stick)(p.stage[0] + i * STICK, known[0].line[i / half] + i % half * t.line_step);
    bool more = true;
    for (int64_t i = 0; more; i++) {
        half_places *const now = &known[i % 2], *next = &known[(i + 1) % 2];
        more = next_square(next, &q, width);
        if (!more) next = now;
        V(turn_tile_staged)(width, way, t, &p, i, now, next->line, NULL);
    }
}

#define DEFINE_STAGE_TILES(width)                                                                  \
    TG_OUTLINE void V(stage_tiles_##width)(tg_tiles *tiles, bool stream) {                            \
        if (stream) V(stage_tiles_of)(width, tiles, ALONG_LINES);                                  \
        else V(stage_tiles_of)(width, tiles, IN_CACHES);                                           \
    }
DEFINE_STAGE_TILES(1)
DEFINE_STAGE_TILES(2)
DEFINE_STAGE_TILES(4)
#undef DEFINE_STAGE_TILES

typedef void V(stage_tiles_move)(tg_tiles *tiles, bool stream);

/* Lines of wider elements are too few to crowd each other. */
TG_INLINE V(stage_tiles_move) *V(stage_tiles)(int width) {
    return width == 1 ? V(stage_tiles_1) : width == 2 ? V(stage_tiles_2) : V(stage_tiles_4);
}

#undef UNROLL_FEW
