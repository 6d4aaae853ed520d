/* Rows of few columns out of two strands, and few rows out of short lines, with AVX-512; see transpose.c.
 *
 * The first columns, as many as take turns (interleave.inc.h), make one strand, and so do the last ones, of which some
 * may be in both. A cache line of dst is put together at once, from a vector of each strand. Here lines a to e become
 * rows, of which a cache line begins with d2:
 *
 *     first strand   a0 b0 c0 d0 a1 b1 c1 d1 a2 b2 c2 d2 a3 b3 ...
 *     last strand    e0 e1 e2 e3 ...
 *     rows           a0 b0 c0 d0 e0 a1 b1 c1 d1 e1 a2 b2 c2 | d2 e2 a3 b3 ...
 *
 * Which byte goes where depends on the column at which a cache line begins, and is the same again after as many lines
 * as rows have columns, or fewer. Only both ends of dst are written in part. */

enum {
    FEWEST = 5,             /* columns: fewer take turns */
    MOST_FEW = 32,          /* bytes of a row; longer ones are made as fast piece by piece (narrow.inc.h) */
    STRAND_BYTES = 8 << 10, /* of both, without the rows that wait, and what vectors reach beyond the ends */
    STRAND_SLACK = 512
};

/* What waits is less than a cache line and a row, in both strands at most; behind each is a line or two. */
_Static_assert(STRAND_SLACK >= 2 * (TG_LINE_BYTES + MOST_FEW) + 3 * TG_LINE_BYTES, "strands have no place");

/* 64 bytes of rows. */
typedef struct cut {
    __m512i place;       /* where they are among the bytes of two vectors */
    int32_t first, last; /* which begin here, in each strand */
    int     reach;       /* so many bytes of the last strand's vector are in use */
} cut;

typedef struct join {
    uint8_t  strand[STRAND_BYTES + STRAND_SLACK] __attribute__((aligned(64))); /* the first one, then the last one */
    cut      cuts[MOST_FEW];
    int      ncuts, reach; /* of all cuts */
    int64_t  row, first, last; /* bytes of a row, and of what a strand has of it */
    uint8_t *lasts;            /* where the last strand begins */
    uint8_t *d;                /* where the strands' first row goes */
    int64_t  lead, head; /* bytes before the first cache line; and those of them that are not yet written */
    int64_t  have, whole, most; /* rows in the strands; that leave together; that have place */
} join;

/* From byte `at` of the rows on. */
static void cut_at(const join *j, cut *out, int64_t at) {
    const unsigned row = (unsigned)j->row, first = (unsigned)j->first, last = (unsigned)j->last;
    const unsigned r0 = (unsigned)at / row, c0 = (unsigned)at % row, begun = c0 < first ? 0 : c0 - first;
    const unsigned inverse = 65536 / row + 1; /* x * inverse / 65536 is x / row, for x up to 95 */
    uint8_t        place[64];
    int            i = 63;
    for (unsigned k = 0; k < 64; k++) {
        const unsigned r = (c0 + k) * inverse >> 16, c = c0 + k - r * row;
        place[k] = (uint8_t)(c < first ? r * first + c - c0 + begun : 64 + r * last + c - first - begun);
    }
    while (place[i] < 64) i--; /* first < 64 */
    out->place = _mm512_loadu_si512(place);
    out->first = (int32_t)(r0 * first + c0 - begun);
    out->last = (int32_t)((r0 + 1) * last - (row - first) + begun);
    out->reach = place[i] - 63;
}

/* Short loads of the last strand rarely cross cache lines: rows of 5 and 9 bytes are 1.15 times as fast
 * (a Zen 4). */
TG_INLINE __m512i join_line(const cut *c, const uint8_t *firsts, const uint8_t *lasts, int reach) {
    const void *const from = lasts + c->last;
    const __m512i     first = _mm512_loadu_si512(firsts + c->first);
    const __m512i     last = reach <= 16   ? _mm512_castsi128_si512(_mm_loadu_si128(from))
                             : reach <= 32 ? _mm512_castsi256_si512(_mm256_loadu_si256(from))
                                           : _mm512_loadu_si512(from);
    return _mm512_permutex2var_epi8(first, c->place, last);
}

TG_INLINE void join_lines(const join *j, int64_t lines, int reach, bool stream) {
    const int64_t  all = j->ncuts, period = all * 64 / j->row, first_step = period * j->first,
                   last_step = period * j->last; /* rows until cuts are the same again */
    const uint8_t *firsts = j->strand, *lasts = j->lasts;
    uint8_t       *d = j->d + j->lead;
    for (int64_t n; lines > 0; lines -= n, firsts += first_step, lasts += last_step) {
        n = tg_min(lines, all);
        for (const cut *c = j->cuts, *const end = c + n; c < end; c++, d += 64)
            V(put)(d, (V(vec))join_line(c, firsts, lasts, reach), stream);
    }
}

/* Bytes [at, end) of the rows in the strands, less than a cache line. */
static void join_part(const join *j, int64_t at, int64_t end) {
    uint8_t part[64];
    cut     c;
    if (at >= end) return;
    cut_at(j, &c, at);
    _mm512_storeu_si512(part, join_line(&c, j->strand, j->lasts, 64));
    tg_stream_part(j->d + at, part, end - at);
}

/* What is before the first cache line leaves, if it has not yet, and so many lines. */
TG_INLINE void join_leave(join *j, int64_t lines, bool stream) {
    join_part(j, 0, j->head);
    j->head = 0;
    if (stream) join_lines(j, lines, 64, true);
    else if (j->reach <= 16) join_lines(j, lines, 16, false);
    else if (j->reach <= 32) join_lines(j, lines, 32, false);
    else join_lines(j, lines, 64, false);
}

/* The strands are full: the rows in excess of whole periods wait for those behind them. */
TG_INLINE void join_full(join *j, bool stream) {
    const int64_t left = j->most - j->whole;
    join_leave(j, j->whole * j->row / 64, stream);
    memcpy(j->strand, j->strand + j->whole * j->first, (size_t)(left * j->first));
    memcpy(j->lasts, j->lasts + j->whole * j->last, (size_t)(left * j->last));
    j->d += j->whole * j->row;
    j->have = left;
}

/* All rows together are more than a cache line. */
TG_INLINE void join_end(join *j, bool stream) {
    const int64_t end = j->have * j->row, lines = (end - j->lead) / 64;
    join_leave(j, lines, stream);
    join_part(j, j->lead + lines * 64, end);
}

/* The next row goes to d. */
static void join_begin(join *j, uint8_t *d) {
    const int64_t lead = (int64_t)(-(uintptr_t)d % 64);
    j->d = d;
    j->head = lead;
    j->have = 0;
    if (j->ncuts > 0 && j->lead == lead) return;
    j->lead = lead;
    j->most = j->whole + tg_ceil_div(lead, j->row);
    j->lasts = j->strand + (tg_ceil_div(j->most * j->first, 64) + 1) * 64;
    j->ncuts = (int)(j->row / (j->row & -j->row));
    j->reach = 0;
    for (int i = 0; i < j->ncuts; i++) {
        cut_at(j, &j->cuts[i], lead + i * 64);
        if (j->cuts[i].reach > j->reach) j->reach = j->cuts[i].reach;
    }
}

/* n elements of each of `ways` lines take turns. */
#define DEFINE_STRAND(width)                                                                                           \
  TG_OUTLINE void strand_##width(int ways, uint8_t *d, const uint8_t *s, int64_t s_step, int64_t n, int64_t ahead) {   \
    switch (ways) {                                                                                                    \
    case 1: memcpy(d, s, (size_t)(n * (width))); break;                                                                \
    case 2: V(take_turns)(width, 2, false, d, s, s_step, n, ahead, false, false); break;                               \
    case 4: V(take_turns)(width, 4, false, d, s, s_step, n, ahead, false, false); break;                               \
    case 8: V(take_turns)(width, 8, false, d, s, s_step, n, ahead, false, false); break;                               \
    default: V(take_turns)(width, 16, false, d, s, s_step, n, ahead, false, false); break;                             \
    }                                                                                                                  \
  }

DEFINE_STRAND(1)
DEFINE_STRAND(2)
DEFINE_STRAND(4)
#undef DEFINE_STRAND

TG_INLINE void make_strand(int width, int ways, uint8_t *d, const uint8_t *s, int64_t s_step, int64_t n,
                           int64_t ahead) {
    if (width == 1) strand_1(ways, d, s, s_step, n, ahead);
    else if (width == 2) strand_2(ways, d, s, s_step, n, ahead);
    else strand_4(ways, d, s, s_step, n, ahead);
}

TG_OUTLINE void join_block(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int     firsts = b->cols < 8 ? 4 : b->cols < 16 ? 8 : 16, rest = (int)b->cols - firsts;
    const int     lasts = rest > 8 ? 16 : rest > 4 ? 8 : rest > 2 ? 4 : rest;
    const int64_t all = b->rows * b->dst_row, line = 64 / width, ahead = m->fetches ? NARROW_AHEAD : 0;
    join          j;
    j.row = b->dst_row;
    j.first = firsts * width;
    j.last = lasts * width;
    j.whole = STRAND_BYTES / (line * (j.first + j.last)) * line;
    j.ncuts = 0;
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {
        if (o == 0 || b->dst_outer != all) join_begin(&j, d);
        for (int64_t r = 0, n; r < b->rows; r += n) {
            const uint8_t *const from = s + r * width, *const from_last = from + (b->cols - lasts) * b->src_col;
            n = tg_min(b->rows - r, j.most - j.have);
            make_strand(width, firsts, j.strand + j.have * j.first, from, b->src_col, n, ahead);
            make_strand(width, lasts, j.lasts + j.have * j.last, from_last, b->src_col, n, ahead);
            j.have += n;
            if (j.have == j.most) join_full(&j, m->stream);
        }
        if (o + 1 == b->outer || b->dst_outer != all) join_end(&j, m->stream);
    }
}

/* False if rows are not such. 8 and 16 columns, which leave no last strand, take turns and do not come here. */
TG_INLINE bool joined(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (width > 4 || b->tail > 0 || b->dst_row != b->cols * width || b->dst_row > MOST_FEW || b->cols < FEWEST ||
        b->rows * width < TG_LINE_BYTES)
        return false;
    join_block(width, m, d, s, b);
    return true;
}

/* ---- and back: few rows, whose lines of less than 16 bytes follow each other ---- */

/* A vector of each row, of which there are fewer than `ways`: those elements of some lines that go to one row come
 * together, a unit, and units are turned. */
TG_NO_CHECKS TG_INLINE void apart_of(int width, int ways, uint8_t *d, int64_t row, int64_t rows, const uint8_t *s,
                                     __m512i apart, bool stream) {
    const int64_t step = 64 / (ways * width) * rows * width;
    V(vec)        v[MOST_TURNS], out[MOST_TURNS];
    TG_UNROLL
    for (int i = 0; i < ways; i++)
        v[i] = (V(vec))_mm512_permutexvar_epi8(apart, (__m512i)V(load)(s + i * step));
    V(many_turns)(64 / ways, ways, true, out, v);
    TG_UNROLL
    for (int i = 0; i < ways; i++)
        if (i < rows) V(put)(d + i * row, out[i], stream);
}

TG_INLINE void move_apart(int width, int ways, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int     unit = 64 / ways, lines = unit / width, each = 64 / width;
    const int64_t line = b->src_col, most = (ways - 1) * lines * line + 64; /* bytes that are read at once */
    const bool    stream = m->stream && tg_at_lines(d, b->dst_row, b->dst_outer);
    uint8_t       place[64], last[MOST_TURNS * 64 + 64] = {0}, out[MOST_TURNS * 64];
    for (int i = 0; i < 64; i++) place[i] = (uint8_t)((i % unit / width * line + i / unit * width + i % width) % 64);
    const __m512i apart = _mm512_loadu_si512(place);
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {
        int64_t c = 0;
        for (; (b->cols - c) * line >= most; c += each) {
            const uint8_t *const from = s + c * line;
            uint8_t *const       to = d + c * width;
            if (stream) apart_of(width, ways, to, b->dst_row, b->rows, from, apart, true);
            else apart_of(width, ways, to, b->dst_row, b->rows, from, apart, false);
        }
        for (int64_t n; c < b->cols; c += n) {
            n = tg_min(each, b->cols - c);
            memcpy(last, s + c * line, (size_t)(n * line));
            apart_of(width, ways, out, 64, b->rows, last, apart, false);
            for (int64_t i = 0; i < b->rows; i++)
                memcpy(d + i * b->dst_row + c * width, out + i * 64, (size_t)(n * width));
        }
    }
}

TG_OUTLINE void move_lines_apart(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (width == 2) move_apart(2, 8, m, d, s, b);
    else if (b->rows < 8) move_apart(1, 8, m, d, s, b);
    else move_apart(1, 16, m, d, s, b);
}

/* False if lines are not such. */
TG_INLINE bool moved_apart(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int64_t line = b->rows * width;
    if (width > 2 || b->tail > 0 || b->src_col != line || b->rows < FEWEST || line >= 16) return false;
    move_lines_apart(width, m, d, s, b);
    return true;
}
