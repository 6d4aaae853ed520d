/* Cells with AVX-512, in vectors of both sides. Where cells follow each other without gaps, several are one, so that
 * vectors are full: of [N,3,3] elements of 8 bytes three.
 *
 *     512 KiB, an Emerald Rapids, x memcpy      squares  cells
 *     f16[16384,4,4] turned                     0.09     0.73
 *     bf16[4,65536]{0,1} to T(4,16)             0.07     0.76
 *     f64[4096,3,3]                             0.25     0.61 */
#include "kernels/places_avx512.inc.h"

/* Where cells are, or as many side by side as go together. */
typedef struct cell_walk {
    int64_t   dst, src;                 /* bytes of these, in each line */
    int64_t   n, d_step, s_step;        /* how many times, and how far from one to the next */
    int64_t   groups, d_group, s_group; /* all of that so many times */
    int64_t   ahead;                    /* so many bytes ahead in src lines are fetched, or 0 */
    bool      stream;
} cell_walk;

static int64_t vectors_of(const tg_cell_side *s, int64_t bytes) {
    return s->lines > 1 ? s->lines : tg_ceil_div(bytes, 64);
}

/* All cells of the list, and what vectors have of them. */
static void list_vectors(tg_cells *c) {
    _Alignas(64) uint16_t place[TG_CELL_BYTES] = {0};
    const int64_t         vectors = vectors_of(&c->dst, c->together * c->dst.line);
    for (int64_t k = 0; k < c->dst.lines; k++)
        for (int64_t n = 0; n < c->together; n++)
            for (int64_t i = k * 64; i < k * 64 + c->dst.line; i++)
                place[n * c->dst.line + i] = (uint16_t)(c->place[i] + n * c->src.line);
    for (int64_t j = 0; j < vectors; j++) {
        const __m512i low = _mm512_load_si512(place + j * 64), high = _mm512_load_si512(place + j * 64 + 32);
        _mm512_store_si512(c->low + j * 64, low_bytes(low, high));
        for (int k = 0; k < TG_CELL_VECTORS; k++) c->from[j][k] = in_vector(low, high, k);
    }
}

/* Up to four vectors, whose lists stay in registers. */
TG_NO_CHECKS TG_INLINE void move_few(int vectors, uint8_t *d, const uint8_t *s, const tg_cells *c, const cell_walk *w,
                                     bool stream) {
    const cell_walk a = *w; /* a value, which no store can change */
    const int64_t   d_left = a.d_group - a.n * a.d_step, s_left = a.s_group - a.n * a.s_step;
    const __mmask64 end = V(first_bytes)((a.dst - 1) % 64 + 1);
    __m512i         low[FEW_VECTORS];
    __mmask64       from[FEW_VECTORS][FEW_VECTORS];
    TG_UNROLL
    for (int j = 0; j < vectors; j++) {
        low[j] = _mm512_load_si512(c->low + j * 64);
        TG_UNROLL
        for (int k = 0; k < vectors; k++) from[j][k] = c->from[j][k];
    }
    for (int64_t groups = a.groups; groups > 0; groups--, d += d_left, s += s_left)
        for (int64_t i = a.n; i > 0; i--, d += a.d_step, s += a.s_step) {
            __m512i in[FEW_VECTORS];
            TG_UNROLL
            for (int k = 0; k < vectors; k++) {
                in[k] = k + 1 < vectors ? _mm512_loadu_si512(s + k * 64) : _mm512_maskz_loadu_epi8(end, s + k * 64);
                if (a.ahead != 0) TG_FETCH(s + k * 64 + a.ahead);
            }
            TG_UNROLL
            for (int j = 0; j < vectors; j++) {
                __m512i out = _mm512_permutexvar_epi8(low[j], in[0]);
                TG_UNROLL
                for (int k = 1; k < vectors; k++) out = _mm512_mask_permutexvar_epi8(out, from[j][k], low[j], in[k]);
                if (stream) _mm512_stream_si512((void *)(d + j * 64), out);
                else if (j + 1 < vectors) _mm512_storeu_si512(d + j * 64, out);
                else _mm512_mask_storeu_epi8(d + j * 64, end, out);
            }
        }
}

/* So many vectors of src, which are in registers, wherever they begin. */
TG_NO_CHECKS TG_INLINE void move_many(int sources, uint8_t *d, const uint8_t *s, const tg_cells *c,
                                      const cell_walk *w) {
    const cell_walk a = *w;
    const int64_t   d_left = a.d_group - a.n * a.d_step, s_left = a.s_group - a.n * a.s_step;
    const int64_t   vectors = vectors_of(&c->dst, a.dst);
    const bool      to_lines = c->dst.lines > 1;
    const __mmask64 end = V(first_bytes)((a.dst - 1) % 64 + 1);
    __mmask64       reads[TG_CELL_VECTORS];
    for (int k = 0; k < sources; k++) reads[k] = V(bytes_left)(c->src.lines > 1 ? a.src : a.src - k * 64);
    for (int64_t groups = a.groups; groups > 0; groups--, d += d_left, s += s_left)
        for (int64_t i = a.n; i > 0; i--, d += a.d_step, s += a.s_step) {
            __m512i in[TG_CELL_VECTORS];
            TG_UNROLL
            for (int k = 0; k < sources; k++) {
                in[k] = _mm512_maskz_loadu_epi8(reads[k], s + c->src.at[k]);
                if (a.ahead != 0) TG_FETCH(s + c->src.at[k] + a.ahead);
            }
            for (int64_t j = 0; j < vectors; j++) {
                uint8_t *const to = d + c->dst.at[j];
                const __m512i  low = _mm512_load_si512(c->low + j * 64);
                __m512i        out = _mm512_permutexvar_epi8(low, in[0]);
                TG_UNROLL
                for (int k = 1; k < sources; k++)
                    out = _mm512_mask_permutexvar_epi8(out, c->from[j][k], low, in[k]);
                if (a.stream) _mm512_stream_si512((void *)to, out);
                else if (to_lines || j + 1 == vectors) _mm512_mask_storeu_epi8(to, end, out);
                else _mm512_storeu_si512(to, out);
            }
        }
}

static void move_walk(uint8_t *d, const uint8_t *s, const tg_cells *c, const cell_walk *w) {
    const bool lines = c->dst.lines > 1 || c->src.lines > 1;
    switch (vectors_of(&c->src, w->src)) {
#define FEW(n)                                        \
    case n:                                           \
        if (lines) move_many(n, d, s, c, w);          \
        else if (w->stream) move_few(n, d, s, c, w, true); \
        else move_few(n, d, s, c, w, false);          \
        break;
#define MANY(n) \
    case n: move_many(n, d, s, c, w); break;
        FEW(1)
        FEW(2)
        FEW(3)
        FEW(4)
        MANY(5)
        MANY(6)
        MANY(7)
        MANY(8)
        MANY(9)
        MANY(10)
        MANY(11)
        MANY(12)
        MANY(13)
        MANY(14)
        MANY(15)
    default: move_many(TG_CELL_VECTORS, d, s, c, w); break;
#undef FEW
#undef MANY
    }
}

/* Bytes from what is moved to what is fetched. Rows that are one run of some length need nothing. Where the next step
 * of outer goes on in src from rows, be these one run or a few places, that is some steps of it ahead; or else it is
 * the next piece of a row, where rows have several cells, or some rows ahead. */
static int64_t fetch_ahead(const tg_mover *m, const tg_block *b, int64_t row) {
    enum { STEPS = 4, SHORT_WALK = 1024 /* bytes */, FEW_ROWS = 1024 };
    const bool goes_on = b->src_row == row;
    if (!m->fetches || row > SHORT_WALK || (goes_on && b->rows * row > SHORT_WALK)) return 0;
    if (b->outer > 1 && (goes_on || (b->src_outer == row && b->rows <= FEW_ROWS)))
        return STEPS * b->src_outer;
    return b->cols > 1 ? row : STEPS * b->src_row;
}

static const uint8_t *cells_avx512(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const tg_cells *const c = m->cells;
    const int64_t dst = c->dst.line, src = c->src.line, some = c->together;
    const int64_t n = b->cols * b->dst_col / dst, times = n / some, rest = n % some, d_step = some * dst;
    cell_walk     w = {.dst = d_step, .src = some * src, .n = times, .d_step = d_step, .s_step = some * src,
                       .groups = b->rows, .d_group = b->dst_row, .s_group = b->src_row};
    w.ahead = fetch_ahead(m, b, n * src);
    w.stream = m->stream && c->dst.lines == 1 && d_step % 64 == 0 && tg_at_lines(d, b->dst_row | b->dst_outer, d_step);
    if (n == some) { /* one walk */
        w.n = b->rows;
        w.d_step = b->dst_row;
        w.s_step = b->src_row;
        w.groups = b->outer;
        w.d_group = b->dst_outer;
        w.s_group = b->src_outer;
        move_walk(d, s, c, &w);
        return NULL;
    }
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {
        move_walk(d, s, c, &w);
        if (rest == 0) continue;
        const cell_walk last = {.dst = rest * dst, .src = rest * src, .n = b->rows, .d_step = b->dst_row,
                                .s_step = b->src_row, .groups = 1};
        move_walk(d + times * d_step, s + times * w.s_step, c, &last);
    }
    return NULL;
}
