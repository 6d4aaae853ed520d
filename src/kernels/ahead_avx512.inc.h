/* Transposes in the first and the second-level cache of an Intel processor, with vectors of 64 bytes; see transpose.c.
 *
 * A store waits for its line to come from the second-level cache, and all stores behind it wait too: without a shuffle,
 * lines written to rows a stick apart have 0.79 of memcpy, and 0.94 where rows are fetched before (512 KiB, an Emerald
 * Rapids). Shuffles of 64 bytes have one port, and fill the queue of what waits for a port: a burst of loads or stores
 * is not overlapped with them. So a square fetches its own rows, and lines of the next square, a few after each round.
 * Half squares, which write half lines, have 0.68 without a shuffle: where lines crowd each other in the first-level
 * cache, those of the next lane are fetched instead.
 *
 *     the same, x memcpy                bytes of an element    1     2     4     8
 *     squares, or half ones             lines apart          0.61  0.61  0.72  0.70
 *                                       one piece of memory  0.63  0.76  0.77  0.65
 *     rows and lines fetched            lines apart          0.72  0.81  0.88  0.90
 *                                       one piece of memory  0.75  0.84  0.86  0.83
 *
 * Rows that begin inside of cache lines are in two of them, and both are fetched: by the first square of a stick, and
 * the last one only by those to its right (dst 16 bytes past a line, of the same move to a line: two bytes to sticks
 * 0.65 with the first one only, 0.82 with both; restick 0.75 and 0.89; four bytes from columns to tiles 0.51 and 0.75).
 *
 * Where a line has places for all that is read of it, 16 bytes at a time are better (pieces_avx512.inc.h). */

/* Bytes of lines a and b in turn, of the even columns or the odd ones: a round of shuffles without a shuffle. */
TG_NO_CHECKS TG_INLINE V(vec) even_columns(V(vec) a, V(vec) b) {
    const __m512i own = _mm512_set1_epi16(0xff);
    return (V(vec))_mm512_ternarylogic_epi32(own, (__m512i)a, _mm512_slli_epi16((__m512i)b, 8), 0xca);
}

TG_NO_CHECKS TG_INLINE V(vec) odd_columns(V(vec) a, V(vec) b) {
    const __m512i own = _mm512_set1_epi16(0xff);
    return (V(vec))_mm512_ternarylogic_epi32(own, _mm512_srli_epi16((__m512i)a, 8), (__m512i)b, 0xca);
}

/* Round `r` of a turn. Bytes of two lines become pairs first, which are wider elements in all further rounds. */
TG_NO_CHECKS TG_INLINE void round_ahead(int width, int r, V(vec) *out, const V(vec) *in) {
    if (width > 1) {
        V(round)(width, out, in);
        return;
    }
    if (r > 0) {
        V(round)(2, out, in);
        V(round)(2, out + 8, in + 8);
        return;
    }
    TG_UNROLL
    for (int j = 0; j < 8; j++) {
        out[j] = even_columns(in[2 * j], in[2 * j + 1]);
        out[8 + j] = odd_columns(in[2 * j], in[2 * j + 1]);
    }
}

/* On to the next line or row. Where its steps are known, gcc makes all addresses at once and keeps them on the stack;
 * and what is read from there right behind stores waits for those that are at the same place of another page. */
TG_NO_CHECKS TG_INLINE const uint8_t *next_line(const uint8_t *p, int64_t step) {
    p += step;
    __asm__("" : "+r"(p));
    return p;
}

TG_NO_CHECKS TG_INLINE uint8_t *next_row(uint8_t *p, int64_t step) {
    p += step;
    __asm__("" : "+r"(p));
    return p;
}

/* Which lines of dst a square asks for: a row is one line, or begins inside of one and ends in the next one. That one
 * only, where the square to the left has asked for the other. */
typedef enum row_lines { ONE_LINE, TWO_LINES, LAST_LINE } row_lines;

/* What is fetched between the shuffles of a square: its own rows, before they are stored, and the lines of the next
 * square, or, `rolling`, those of its own next lane: then no more are in the first-level cache than a lane has. */
typedef struct fetches {
    uint8_t       *row;         /* the next ones */
    const uint8_t *line, *next; /* the next square's lines begin here */
    bool           rolling;
    row_lines      lines;
} fetches;

/* Part `tick` of so many parts. */
TG_NO_CHECKS TG_INLINE void fetch_ahead(fetches *f, const places *p, int width, int tick, int ticks) {
    const int n = 16 / width, rounds = ROUNDS(width), all = LANES * n;
    const int own = f->rolling ? (LANES - 1) * rounds : 0, lines = f->rolling ? n : all;
    TG_UNROLL
    for (int i = all * tick / ticks; i < all * (tick + 1) / ticks; i++) {
        if (f->lines != LAST_LINE) TG_CLAIM_HERE(f->row);
        if (f->lines != ONE_LINE) TG_CLAIM_HERE(f->row + VEC - 1);
        if (p->kind == EVEN || (i + 1) % n != 0) f->row = next_row(f->row, p->d_step);
        else if (i + 1 < all) f->row = row_at(p, n, (i + 1) / n, 0);
    }
    if (tick == own) f->line = f->next;
    const int first = tick < own ? n * tick / rounds : lines * (tick - own) / (ticks - own);
    const int end = tick < own ? n * (tick + 1) / rounds : lines * (tick + 1 - own) / (ticks - own);
    TG_UNROLL
    for (int i = first; i < end; i++) {
        TG_FETCH_HERE(f->line, true);
        f->line = next_line(f->line, p->s_step);
    }
}

/* A square of lines and rows that are not in the first-level cache. */
TG_NO_CHECKS TG_INLINE void square_ahead(int width, places at, const uint8_t *next, bool rolling, row_lines lines) {
    const int      n = 16 / width, rounds = ROUNDS(width), ticks = LANES * rounds + n;
    fetches        f = {at.d, at.s + n * at.s_step, next, rolling, lines};
    const uint8_t *line = at.s;
    uint8_t       *row[LANES];
    V(vec)         v[LANES][2][16];
    TG_UNROLL
    for (int l = 0; l < LANES; l++) {
        TG_UNROLL
        for (int j = 0; j < n; j++) {
            v[l][0][j] = V(load)(line);
            line = next_line(line, at.s_step);
        }
        TG_UNROLL
        for (int r = 0; r < rounds; r++) {
            round_ahead(width, r, v[l][(r + 1) % 2], v[l][r % 2]);
            fetch_ahead(&f, &at, width, l * rounds + r, ticks);
        }
    }
    TG_UNROLL
    for (int l = 0; l < LANES; l++) row[l] = row_at(&at, n, l, 0);
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        const int k = width > 1 ? i : i % 2 * 8 + i / 2;
        V(vec)    in[LANES], out[LANES];
        TG_UNROLL
        for (int l = 0; l < LANES; l++) in[l] = v[l][rounds % 2][k];
        V(turn_lanes)(out, in, 1);
        TG_UNROLL
        for (int l = 0; l < LANES; l++) {
            V(store)(row[l], out[l]);
            row[l] = next_row(row[l], at.d_step);
        }
        fetch_ahead(&f, &at, width, LANES * rounds + i, ticks);
    }
}

#define DEFINE_AHEAD_KIND(width, name, ROLLING, LINES)                                                                 \
  TG_NO_CHECKS TG_OUTLINE void V(square_##name##_##width)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row,  \
                                                          const uint8_t *next) {                                       \
    const places at = {.kind = EVEN, .d = d, .s = s, .s_step = s_step, .d_step = row};                                 \
    square_ahead(width, at, next, ROLLING, LINES);                                                                     \
  }                                                                                                                    \
  TG_NO_CHECKS TG_OUTLINE void V(square_groups_##name##_##width)(                                                      \
      uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row, const uint8_t *next, int64_t group, int64_t pair) {  \
    const places at = {.kind = GROUPS, .d = d, .s = s, .s_step = s_step, .d_step = row, .group = group, .pair = pair}; \
    square_ahead(width, at, next, ROLLING, LINES);                                                                     \
  }
#define DEFINE_AHEAD(width)                                                                                          \
    DEFINE_AHEAD_KIND(width, ahead, false, ONE_LINE)                                                                 \
    DEFINE_AHEAD_KIND(width, ahead_two, false, TWO_LINES)                                                            \
    DEFINE_AHEAD_KIND(width, ahead_last, false, LAST_LINE)
/* Wider elements have too few lines to crowd each other. */
#define DEFINE_ROLLING(width)                                                                                        \
    DEFINE_AHEAD_KIND(width, rolling, true, ONE_LINE)                                                                \
    DEFINE_AHEAD_KIND(width, rolling_two, true, TWO_LINES)                                                           \
    DEFINE_AHEAD_KIND(width, rolling_last, true, LAST_LINE)

DEFINE_AHEAD(1)
DEFINE_AHEAD(2)
DEFINE_AHEAD(4)
DEFINE_AHEAD(8)
DEFINE_AHEAD(16)
DEFINE_ROLLING(1)
DEFINE_ROLLING(2)
DEFINE_ROLLING(4)
#undef DEFINE_AHEAD
#undef DEFINE_ROLLING
#undef DEFINE_AHEAD_KIND

typedef void square_ahead_move(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row, const uint8_t *next);
typedef void square_groups_ahead_move(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row,
                                      const uint8_t *next, int64_t group, int64_t pair);

#define ROLLING_WIDTH(TYPE, name)                                                                                      \
  TG_INLINE TYPE *V(name)(int width) { return width == 1 ? V(name##_1) : width == 2 ? V(name##_2) : V(name##_4); }
#define CHOOSE_LINES(TYPE, OF, name)                                                                                   \
  OF(TYPE, name)                                                                                                       \
  OF(TYPE, name##_two)                                                                                                 \
  OF(TYPE, name##_last)                                                                                                \
  TG_INLINE TYPE *name##_for(int width, row_lines lines) {                                                             \
    return lines == ONE_LINE ? V(name)(width) : lines == TWO_LINES ? V(name##_two)(width) : V(name##_last)(width);     \
  }
CHOOSE_LINES(square_ahead_move, BY_WIDTH, square_ahead)
CHOOSE_LINES(square_ahead_move, ROLLING_WIDTH, square_rolling)
CHOOSE_LINES(square_groups_ahead_move, BY_WIDTH, square_groups_ahead)
CHOOSE_LINES(square_groups_ahead_move, ROLLING_WIDTH, square_groups_rolling)
#undef ROLLING_WIDTH
#undef CHOOSE_LINES

/* Where squares are, one after the other: tiles of a stick by a stick, or by one square, down all sticks. */
typedef struct square_walk {
    uint8_t       *d;
    const uint8_t *s;          /* of the stick */
    int64_t        o, stick, first, deep; /* rows from `first` on make the tile, `deep` squares of them */
    int64_t        most; /* `deep` at most */
    int64_t        row, second; /* where these begin in dst */
    int64_t        p, r;       /* lines; squares of rows */
} square_walk;

TG_INLINE void begin_stick(square_walk *w, int width, const matrix *a) {
    w->d = a->d + w->o * a->dst_outer + w->stick * STICK;
    w->s = a->s + w->o * a->src_outer + w->stick * (STICK / width) * a->src.step;
    w->first = 0;
}

TG_INLINE void begin_tile(square_walk *w, int width, const matrix *a, int64_t rows) {
    const int64_t n = VEC / width;
    w->p = w->r = 0;
    w->deep = rows - w->first > n ? w->most : 1;
    w->row = line_offset(&a->dst, w->first);
    w->second = line_offset(&a->dst, w->first + n);
}

/* Of bytes whose rows begin inside of lines and crowd the first-level cache, a square of rows has the next line of each
 * before it leaves (512 KiB, a Granite Rapids, x memcpy, [511,1000] to columns 0.29 and 0.40, [513,1024] 0.22 and 0.30,
 * [257,1100] 0.25 and 0.32). */
TG_INLINE void begin_walk(square_walk *w, int width, const matrix *a, int64_t rows) {
    const int64_t step = a->dst.step, rows_of_two = 2 * VEC / width;
    const bool    crowd = width == 1 && step % TG_LINE_BYTES != 0 && lines_in_set(step, rows_of_two) >= PARTLY_CROWDED;
    w->most = crowd ? 1 : 2;
    w->o = w->stick = 0;
    begin_stick(w, width, a);
    begin_tile(w, width, a, rows);
}

TG_INLINE uint8_t *square_row(const square_walk *w, int width) {
    return w->d + w->p * width + (w->r > 0 ? w->second : w->row);
}

TG_INLINE const uint8_t *square_line(const square_walk *w, int width, int64_t s_step) {
    return w->s + w->p * s_step + (w->first * width + w->r * VEC);
}

/* On to the next square, or from the last one to nowhere: then false. */
TG_INLINE bool walk_on(square_walk *w, int width, const matrix *a, int64_t sticks, int64_t rows) {
    if (++w->r < w->deep) return true;
    w->r = 0;
    w->p += VEC / width;
    if (w->p < STICK / width) return true;
    w->first += w->deep * (VEC / width);
    if (w->first >= rows) {
        if (++w->stick == sticks) w->stick = 0, w->o++;
        if (w->o == a->outer) return false;
        begin_stick(w, width, a);
    }
    begin_tile(w, width, a, rows);
    return true;
}

/* What is read from the stack right behind stores waits, as above. So where squares have many rows, the next row is
 * known before the stores of this square (as above: one byte 0.68 -> 0.72, two 0.75 -> 0.78); fewer stores do
 * not matter (four and eight bytes 0.88 and 0.90, or else 0.85 and 0.87). */
TG_INLINE void run_squares_ahead(int width, bool groups, bool rolling, bool inside, const matrix *a, int64_t sticks,
                              int64_t rows) {
    const int64_t s_step = a->src.step, row = a->dst.step, group = a->group, pair = a->pair;
    square_walk   w;
    begin_walk(&w, width, a, rows);
    uint8_t       *d = square_row(&w, width);
    const uint8_t *s = square_line(&w, width, s_step);
    for (bool more = true; more;) {
        const row_lines lines = !inside ? ONE_LINE : w.p == 0 ? TWO_LINES : LAST_LINE;
        if (width > 2) d = square_row(&w, width);
        more = walk_on(&w, width, a, sticks, rows);
        uint8_t *const       d_next = width > 2 ? d : square_row(&w, width);
        const uint8_t *const s_next = more ? square_line(&w, width, s_step) : s;
        if (groups && rolling) square_groups_rolling_for(width, lines)(d, s, s_step, row, s_next, group, pair);
        else if (groups) square_groups_ahead_for(width, lines)(d, s, s_step, row, s_next, group, pair);
        else if (rolling) square_rolling_for(width, lines)(d, s, s_step, row, s_next);
        else square_ahead_for(width, lines)(d, s, s_step, row, s_next);
        d = d_next;
        s = s_next;
    }
}

TG_INLINE void run_ahead_of(int width, bool inside, const matrix *a, int64_t sticks, int64_t rows) {
    const bool groups = a->dst.inner != a->dst.n, rolling = width <= 4 && a->halves;
    if (groups && rolling) run_squares_ahead(width, true, true, inside, a, sticks, rows);
    else if (groups) run_squares_ahead(width, true, false, inside, a, sticks, rows);
    else if (rolling) run_squares_ahead(width, false, true, inside, a, sticks, rows);
    else run_squares_ahead(width, false, false, inside, a, sticks, rows);
}

/* All whole squares of `sticks` whole sticks. */
TG_INLINE void run_ahead(int width, const matrix *a, int64_t sticks, int64_t rows) {
    const bool at_lines = tg_at_lines(a->d, a->dst.step | a->dst.outer, a->outer > 1 ? a->dst_outer : 0);
    if (at_lines) run_ahead_of(width, false, a, sticks, rows);
    else run_ahead_of(width, true, a, sticks, rows);
}
