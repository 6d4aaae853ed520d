/* Cells with AVX-512, in whole vectors of both sides. Where cells follow each other without gaps, several are one, so
 * that vectors are full: of [N,3,3] elements of 8 bytes three.
 *
 * (With shorter vectors plain C does them: 212 us, an Emerald Rapids, where squares and rests take 1400.)
 *
 *     512 KiB, an Emerald Rapids, x memcpy      squares  cells
 *     f16[16384,4,4] turned                     0.09     0.73
 *     bf16[4,65536]{0,1} to T(4,16)             0.07     0.76
 *     f64[4096,3,3]                             0.25     0.61 */
#include "kernels/places_avx512.inc.h"

/* Where cells are, or as many side by side as go together. */
typedef struct cell_walk {
    int64_t   bytes;                    /* of these */
    int64_t   n, d_step, s_step;        /* how many times, and how far from one to the next */
    int64_t   groups, d_group, s_group; /* all of that so many times */
    int64_t   ahead;                    /* so many bytes ahead in src lines are fetched, or 0 */
    bool      stream;
} cell_walk;

/* All cells of the list, and what vectors have of them. */
static void list_vectors(tg_cells *c) {
    _Alignas(64) uint16_t place[TG_CELL_BYTES];
    const int64_t all = c->together * c->bytes;
    for (int64_t i = 0; i < c->bytes; i++) place[i] = c->place[i];
    for (int64_t i = c->bytes; i < all; i++) place[i] = (uint16_t)(place[i - c->bytes] + c->bytes);
    for (int64_t i = all; i % 64 != 0; i++) place[i] = 0;
    for (int64_t j = 0; j * 64 < all; j++) {
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
    const __mmask64 end = V(first_bytes)((a.bytes - 1) % 64 + 1);
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

/* Up to `most` vectors: src is in registers. */
TG_NO_CHECKS TG_INLINE void move_many(int most, uint8_t *d, const uint8_t *s, const tg_cells *c, const cell_walk *w) {
    const cell_walk a = *w;
    const int64_t   d_left = a.d_group - a.n * a.d_step, s_left = a.s_group - a.n * a.s_step;
    const int64_t   vectors = tg_ceil_div(a.bytes, 64);
    const __mmask64 end = V(first_bytes)((a.bytes - 1) % 64 + 1);
    __mmask64       reads[TG_CELL_VECTORS];
    for (int k = 0; k < most; k++) reads[k] = k + 1 < vectors ? ~(__mmask64)0 : k + 1 == vectors ? end : 0;
    for (int64_t groups = a.groups; groups > 0; groups--, d += d_left, s += s_left)
        for (int64_t i = a.n; i > 0; i--, d += a.d_step, s += a.s_step) {
            __m512i in[TG_CELL_VECTORS];
            TG_UNROLL
            for (int k = 0; k < most; k++) {
                in[k] = _mm512_maskz_loadu_epi8(reads[k], s + k * 64);
                if (a.ahead != 0) TG_FETCH(s + k * 64 + a.ahead);
            }
            for (int64_t j = 0; j < vectors; j++) {
                const __m512i low = _mm512_load_si512(c->low + j * 64);
                __m512i       out = _mm512_permutexvar_epi8(low, in[0]);
                TG_UNROLL
                for (int k = 1; k < most; k++)
                    out = _mm512_mask_permutexvar_epi8(out, c->from[j][k], low, in[k]);
                if (a.stream) _mm512_stream_si512((void *)(d + j * 64), out);
                else if (j + 1 < vectors) _mm512_storeu_si512(d + j * 64, out);
                else _mm512_mask_storeu_epi8(d + j * 64, end, out);
            }
        }
}

static void move_walk(uint8_t *d, const uint8_t *s, const tg_cells *c, const cell_walk *w) {
    switch (tg_ceil_div(w->bytes, 64)) {
#define VECTORS(n)                                      \
    case n:                                             \
        if (w->stream) move_few(n, d, s, c, w, true);   \
        else move_few(n, d, s, c, w, false);            \
        break;
        VECTORS(1)
        VECTORS(2)
        VECTORS(3)
        VECTORS(4)
#undef VECTORS
    case 5:
    case 6:
    case 7:
    case 8: move_many(8, d, s, c, w); break;
    default: move_many(TG_CELL_VECTORS, d, s, c, w); break;
    }
}

/* Bytes from what is moved to what is fetched: further on in the same lines if these are short, or are few and go on in
 * the next step of outer; or else some rows later. */
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
    const int64_t         row = b->cols * b->dst_col, some = c->together * c->bytes, whole = row / some * some;
    cell_walk             w = {.bytes = some, .n = row / some, .d_step = some, .s_step = some, .groups = b->rows,
                               .d_group = b->dst_row, .s_group = b->src_row, .ahead = fetch_ahead(m, b, row)};
    w.stream = m->stream && some % 64 == 0 && tg_at_lines(d, b->dst_row | b->dst_outer, some);
    if (row == some) { /* one walk */
        w = (cell_walk){.bytes = some, .n = b->rows, .d_step = b->dst_row, .s_step = b->src_row, .groups = b->outer,
                        .d_group = b->dst_outer, .s_group = b->src_outer, .ahead = w.ahead, .stream = w.stream};
        move_walk(d, s, c, &w);
        return NULL;
    }
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {
        move_walk(d, s, c, &w);
        if (whole == row) continue;
        const cell_walk rest = {.bytes = row - whole, .n = b->rows, .d_step = b->dst_row, .s_step = b->src_row,
                                .groups = 1};
        move_walk(d + whole, s + whole, c, &rest);
    }
    return NULL;
}
