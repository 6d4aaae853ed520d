/* Transposes in the second-level cache of an Intel processor, and in the first one, 16 bytes of a line at a time; see
 * transpose.c.
 *
 * A vector gets 16 bytes of each of four lines, inserted while they are loaded: shuffles across its lanes are spared,
 * which are two of five. A line is read four times, and has to stay in the first-level cache meanwhile. So pieces win
 * where everything is there (an Emerald Rapids, 4 KiB of two bytes: 77 ns, squares 107); and from the second-level one
 * where all lines of a stick have places in the first one, and sticks are one piece of memory, if each line has loads
 * of its own: then the processor fetches lines by itself, and only dst is asked for (512 KiB, x memcpy: [256,1000] of
 * two bytes squares 0.79, pieces 0.90; [250,1000] 0.67 and 0.85; pieces in a loop that shares its loads 0.67 to 0.9).
 * Where lines crowd each other squares win (0.81 and 0.77), and where rows of dst lie apart (0.58 and 0.55); tiles of a
 * stick by a stick and single bytes gain nothing. */

/* 16 bytes of each of four lines. */
TG_NO_CHECKS TG_INLINE __m512i insert_lanes(const uint8_t *s, int64_t step) {
    __m512i v = _mm512_castsi128_si512(LOAD128(s));
    v = _mm512_inserti32x4(v, LOAD128(s + step), 1);
    v = _mm512_inserti32x4(v, LOAD128(s + 2 * step), 2);
    return _mm512_inserti32x4(v, LOAD128(s + 3 * step), 3);
}

/* ---- sticks that are one piece of memory ---- */

/* A stick of columns and rows that follow each other. */
typedef struct stick_run {
    uint8_t       *d, *next; /* next: where the next stick begins */
    const uint8_t *s;
    int64_t        step, rows;
    int64_t        lines;    /* fewer than a stick has: */
    const uint8_t *pad;      /* for the others, VEC bytes of it */
} stick_run;

/* Square h of those side by side, of lines that are there; or of a copy, where some are padding. */
TG_NO_CHECKS TG_INLINE places side_square(int width, const stick_run *k, int64_t r, int h, uint8_t *stage) {
    const int     n = VEC / width;
    const int64_t valid = tg_max(tg_min(k->lines - h * n, n), 0);
    places        at = {.kind = EVEN, .d = k->d + r * STICK + h * VEC, .s = k->s + h * n * k->step + r * width,
                        .s_step = k->step, .d_step = STICK};
    if (valid == n) return at;
    for (int64_t i = 0; i < valid; i++) V(store)(stage + i * VEC, V(load)(at.s + i * k->step));
    at.s = stage;
    at.s_step = VEC;
    return at;
}

/* Piece p of a square: 16 bytes of each of its lines. Some rows of the next squares are asked for, at `later`. */
TG_NO_CHECKS TG_INLINE void piece_ahead(int width, const places *at, int p, uint8_t *later, bool inside) {
    const int      n = 16 / width;
    const uint8_t *line = at->s + p * 16;
    uint8_t       *row = at->d + p * n * at->d_step, *claimed = later + p * (n / 2) * at->d_step;
    V(vec)         in[16], out[16];
    TG_UNROLL
    for (int j = 0; j < n; j++) {
        in[j] = (V(vec))insert_lanes(line, n * at->s_step);
        line = next_line(line, at->s_step);
    }
    V(turn)(width, out, in);
    TG_UNROLL
    for (int i = 0; i < n; i++) {
        V(store)(row, out[i]);
        row = next_row(row, at->d_step);
    }
    TG_UNROLL
    for (int i = 0; i < n / 2; i++) {
        TG_CLAIM_HERE(claimed);
        TG_CLAIM_HERE(claimed + VEC);
        if (inside) TG_CLAIM_HERE(claimed + STICK - 1);
        claimed = next_row(claimed, at->d_step);
    }
}

/* Loops without calls. Whole squares have loads of their own for each line, which is how prefetchers tell lines apart;
 * of a last one some pieces may be written once more. */
TG_NO_CHECKS TG_INLINE void stick_in_pieces(int width, const stick_run *run, bool inside) {
    const stick_run k = *run;
    const int       n = VEC / width, each = n / 2;
    uint8_t         stage[STICK / VEC][VEC * VEC / 2] __attribute__((aligned(64)));
    for (int h = 0; h < STICK / VEC && k.lines < STICK / width; h++)
        for (int64_t i = tg_max(k.lines - h * n, 0); i < n; i++) V(store)(stage[h] + i * VEC, V(load)(k.pad));
    int64_t r = 0;
    for (; r + n <= k.rows; r += n) {
        uint8_t *const later = r + n < k.rows ? k.d + (r + n) * STICK : k.next;
        TG_UNROLL
        for (int h = 0; h < STICK / VEC; h++) {
            const places at = side_square(width, &k, r, h, stage[h]);
            TG_UNROLL
            for (int p = 0; p < LANES; p++) piece_ahead(width, &at, p, later + h * each * STICK, inside);
        }
    }
    for (int h = 0; h < STICK / VEC && r < k.rows; h++) {
        const int64_t first = k.rows - n;
        const places  at = side_square(width, &k, first, h, stage[h]);
        for (int p = (int)(r - first) * width / 16; p < LANES; p++)
            piece_ahead(width, &at, p, k.next + h * each * STICK, inside);
    }
}

#define DEFINE_PIECES(width)                                                                                         \
    TG_NO_CHECKS TG_OUTLINE void V(pieces_##width)(const stick_run *k) { stick_in_pieces(width, k, false); }         \
    TG_NO_CHECKS TG_OUTLINE void V(pieces_inside_##width)(const stick_run *k) { stick_in_pieces(width, k, true); }
DEFINE_PIECES(2)
DEFINE_PIECES(4)
#undef DEFINE_PIECES

/* Lines that are no sticks themselves, and have places in the first-level cache, to a stick, which is one piece of
 * memory: rows do not overlap, so there is no second one beside it. */
TG_INLINE bool go_in_pieces(int width, const matrix *a) {
    return (width == 2 || width == 4) && !a->crowded && a->dst.inner == a->dst.n && a->dst.step == STICK &&
           a->src.step != STICK && a->dst.n >= VEC / width;
}

/* The stick, if all of its columns are there. Returns how many that is. */
TG_INLINE int64_t run_in_pieces(int width, const matrix *a) {
    const bool inside = !tg_at_lines(a->d, 0, 0);
    if (a->cols < STICK / width) return 0;
    for (int64_t o = 0; o < a->outer; o++) {
        uint8_t *const  d = a->d + o * a->dst_outer, *const next = o + 1 < a->outer ? d + a->dst_outer : d;
        const stick_run k = {d, next, a->s + o * a->src_outer, a->src.step, a->dst.n, a->src.n, a->pad};
        if (width == 2 && inside) V(pieces_inside_2)(&k);
        else if (width == 2) V(pieces_2)(&k);
        else if (inside) V(pieces_inside_4)(&k);
        else V(pieces_4)(&k);
    }
    return STICK / width;
}

/* ---- in the first-level cache ---- */

TG_NO_CHECKS TG_INLINE void inserted_of(int width, int pieces, uint8_t *d, const uint8_t *s, int64_t s_step,
                                     int64_t row) {
    const int n = 16 / width;
    TG_UNROLL
    for (int p = 0; p < pieces; p++) {
        V(vec) in[16], out[16];
        TG_UNROLL
        for (int j = 0; j < n; j++) in[j] = (V(vec))insert_lanes(s + j * s_step + p * 16, n * s_step);
        V(turn)(width, out, in);
        TG_UNROLL
        for (int i = 0; i < n; i++) V(store)(d + (p * n + i) * row, out[i]);
    }
}

#define DEFINE_INSERTED(width)                                                                                         \
    TG_NO_CHECKS TG_OUTLINE void V(square_inserted_##width)(uint8_t *d, const uint8_t *s, int64_t s_step,              \
                                                            int64_t row) {                                             \
        inserted_of(width, VEC / 16, d, s, s_step, row);                                                               \
    }                                                                                                                  \
    TG_NO_CHECKS TG_OUTLINE void V(strip_inserted_##width)(uint8_t *d, const uint8_t *s, int64_t s_step,               \
                                                           int64_t row) {                                              \
        inserted_of(width, 1, d, s, s_step, row);                                                                      \
    }

DEFINE_INSERTED(1)
DEFINE_INSERTED(2)
DEFINE_INSERTED(4)
#undef DEFINE_INSERTED

TG_INLINE V(square_even_move) *square_inserted(int width) {
    return width == 1 ? V(square_inserted_1) : width == 2 ? V(square_inserted_2) : V(square_inserted_4);
}

TG_INLINE V(square_even_move) *strip_inserted(int width) {
    return width == 1 ? V(strip_inserted_1) : width == 2 ? V(strip_inserted_2) : V(strip_inserted_4);
}

/* A block that is in the first-level cache, with as little as can be around its squares and strips; or false. Of wider
 * elements squares are as fast. */
TG_INLINE bool moved_at_hand(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int64_t n = VEC / width, least = 16 / width, step = b->src_col, row = b->dst_row;
    const int64_t even = b->rows - b->rows % n; /* rows in squares */
    enum { LONG_SIDE = 32 };
    if (!m->at_hand || m->stream || width > 4 || b->tail > 0 || b->cols % n != 0 || b->rows < least) return false;
    if (is_crowded(step, n)) return false;
    if (m->few_pieces && width == 2 && tg_min(b->rows, b->cols) < LONG_SIDE) return false;
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer)
        for (int64_t p = 0; p < b->cols; p += n) {
            uint8_t *const       to = d + p * width;
            const uint8_t *const from = s + p * step;
            for (int64_t r = 0; r < even; r += n) square_inserted(width)(to + r * row, from + r * width, step, row);
            for (int64_t r = even; r < b->rows; r += least) {
                const int64_t at = tg_min(r, b->rows - least); /* the last one may write some rows once more */
                strip_inserted(width)(to + at * row, from + at * width, step, row);
            }
        }
    return true;
}
