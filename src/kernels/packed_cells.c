/* Movers of cells of packed elements, with AVX-512; see packed_cells.h.
 *
 * A byte of dst has elements, fields, of several bytes of src. For each field one shuffle brings these bytes, and one
 * more turns them so that the element is where the field is; then its bits are kept. Of nibbles that is six
 * instructions for 64 bytes, wherever their elements come from.
 *
 * Cells are rarely 64 bytes. So two of up to 32 bytes, four of up to 16, or eight of 8, are moved at once: those that
 * follow each other in dst, or else in src. Along that loop vectors are whole on one side, and on the other side in
 * two, four or eight parts. */
#include "kernels/packed_cells.h"

#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/variants.h"

#include <string.h>

#if TG_HAVE_X86
#  include <immintrin.h>

TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/vector.inc.h"

enum { SECOND_ELSE_THIRD = 0xca };

/* One of the loops around cells, steps in bytes. */
typedef struct walk {
    int64_t n, dst, src;
} walk;

enum { OUTER, ROWS, COLS, WALKS };

/* What is the same for all vectors of a block. */
typedef struct grid {
    walk    loop[WALKS];        /* of vectors */
    int64_t together;           /* cells in a vector */
    int64_t dst_step, src_step; /* bytes from one of these to the next; lane: they follow each other */
    int64_t ahead;              /* so many bytes ahead in src lines are fetched, or 0 */
    bool    stream;
    __m512i pad;
} grid;

/* Eight bytes each of eight places. */
TG_INLINE __m512i load_words(const uint8_t *s, int64_t step) {
    int64_t word[8];
    for (int i = 0; i < 8; i++) memcpy(&word[i], s + i * step, sizeof word[i]);
    return _mm512_set_epi64(word[7], word[6], word[5], word[4], word[3], word[2], word[1], word[0]);
}

TG_INLINE void store_words(uint8_t *d, int64_t step, __m512i x) {
    int64_t word[8];
    memcpy(word, &x, sizeof word);
    for (int i = 0; i < 8; i++) memcpy(d + i * step, &word[i], sizeof word[i]);
}

TG_INLINE __m512i load_cells(const tg_packed_cells *c, int64_t lane, const grid *g, const uint8_t *s) {
    const __mmask64 one = V(first_bytes)(c->src);
    if (g->together == 1) return _mm512_maskz_loadu_epi8(one, s);
    if (g->src_step == lane) return _mm512_maskz_loadu_epi8(V(first_bytes)(VEC - lane + c->src), s);
    if (lane == 8) return load_words(s, g->src_step);
    if (lane == 32)
        return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8((__mmask32)one, s)),
                                  _mm256_maskz_loadu_epi8((__mmask32)one, s + g->src_step), 1);
    const __mmask16 few = (__mmask16)one;
    __m512i         x = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(few, s));
    x = _mm512_inserti32x4(x, _mm_maskz_loadu_epi8(few, s + g->src_step), 1);
    x = _mm512_inserti32x4(x, _mm_maskz_loadu_epi8(few, s + 2 * g->src_step), 2);
    return _mm512_inserti32x4(x, _mm_maskz_loadu_epi8(few, s + 3 * g->src_step), 3);
}

TG_INLINE void store_cells(const tg_packed_cells *c, int64_t lane, const grid *g, uint8_t *d, __m512i x) {
    const __mmask64 one = V(first_bytes)(c->dst);
    if (g->stream) {
        _mm512_stream_si512((void *)d, x);
    } else if (g->together == 1) {
        _mm512_mask_storeu_epi8(d, one, x);
    } else if (g->dst_step == lane && c->dst == lane) {
        _mm512_storeu_si512(d, x);
    } else if (lane == 8) {
        store_words(d, g->dst_step, x);
    } else if (lane == 32) {
        _mm256_mask_storeu_epi8(d, (__mmask32)one, _mm512_castsi512_si256(x));
        _mm256_mask_storeu_epi8(d + g->dst_step, (__mmask32)one, _mm512_extracti64x4_epi64(x, 1));
    } else {
        const __mmask16 few = (__mmask16)one;
        _mm_mask_storeu_epi8(d, few, _mm512_castsi512_si128(x));
        _mm_mask_storeu_epi8(d + g->dst_step, few, _mm512_extracti32x4_epi32(x, 1));
        _mm_mask_storeu_epi8(d + 2 * g->dst_step, few, _mm512_extracti32x4_epi32(x, 2));
        _mm_mask_storeu_epi8(d + 3 * g->dst_step, few, _mm512_extracti32x4_epi32(x, 3));
    }
}

TG_INLINE void fetch_cells(const grid *g, const uint8_t *s) {
    TG_FETCH(s);
    for (int64_t k = 1; k < g->together && g->src_step >= VEC; k++) TG_FETCH(s + k * g->src_step);
}

TG_INLINE __m512i rearrange(int fields, const tg_packed_cells *c, __m512i x, __m512i out) {
    TG_UNROLL
    for (int f = 0; f < fields; f++) {
        const __m512i bytes = _mm512_permutexvar_epi8(_mm512_load_si512(c->byte[f]), x),
                      turned = _mm512_multishift_epi64_epi8(_mm512_load_si512(c->bit[f]), bytes);
        out = _mm512_ternarylogic_epi64(_mm512_load_si512(c->keep[f]), turned, out, SECOND_ELSE_THIRD);
    }
    return out;
}

TG_NO_CHECKS TG_INLINE void move_grid(int fields, int64_t lane, const tg_packed_cells *c, const grid *made, uint8_t *d,
                                      const uint8_t *s) {
    const grid  g = *made; /* a value, which no store can change */
    const walk *outer = &g.loop[OUTER], *rows = &g.loop[ROWS], *cols = &g.loop[COLS];
    for (int64_t o = 0; o < outer->n; o++)
        for (int64_t r = 0; r < rows->n; r++) {
            uint8_t       *to = d + o * outer->dst + r * rows->dst;
            const uint8_t *from = s + o * outer->src + r * rows->src;
            for (int64_t i = 0; i < cols->n; i++, to += cols->dst, from += cols->src) {
                if (g.ahead != 0) fetch_cells(&g, from + g.ahead);
                store_cells(c, lane, &g, to, rearrange(fields, c, load_cells(c, lane, &g, from), g.pad));
            }
        }
}

TG_INLINE void move_lanes(int fields, const tg_packed_cells *c, const grid *g, uint8_t *d, const uint8_t *s) {
    if (c->lane == 8) move_grid(fields, 8, c, g, d, s);
    else if (c->lane == 16) move_grid(fields, 16, c, g, d, s);
    else if (c->lane == 32) move_grid(fields, 32, c, g, d, s);
    else move_grid(fields, 64, c, g, d, s);
}

/* Around the caches where vectors are whole lines of dst. */
static void move_vectors(const tg_mover *m, grid *g, uint8_t *d, const uint8_t *s) {
    const tg_packed_cells *const c = m->packed;
    const bool whole = g->together * c->dst == VEC && (g->together == 1 || g->dst_step == c->dst);
    int64_t    steps = 0;
    for (int i = 0; i < WALKS; i++) steps |= g->loop[i].n > 1 ? g->loop[i].dst : 0;
    g->stream = m->stream && whole && tg_at_lines(d, steps, 0);
    switch (m->dst.bits) {
    case 1: move_lanes(8, c, g, d, s); break;
    case 2: move_lanes(4, c, g, d, s); break;
    default: move_lanes(2, c, g, d, s); break;
    }
}

/* The loop along which cells follow each other in dst, or else in src, if it has enough of them; or WALKS. */
static int find_together(const grid *g, const tg_packed_cells *c) {
    const int64_t together = VEC / c->lane;
    for (int i = WALKS; c->dst == c->lane && i-- > 0;)
        if (g->loop[i].n >= together && g->loop[i].dst == c->lane) return i;
    for (int i = WALKS; i-- > 0;)
        if (g->loop[i].n >= together && g->loop[i].src == c->lane) return i;
    return WALKS;
}

/* What is read some cells later: of outer, where rows are a few lines of src, else of rows. (256 MiB, a Granite Rapids,
 * s4[83,34,N]{1,2,0:T(8,128)(8,1)E(4)} to {2,1,0}, 4, 8 and 16 cells: 0.41, 0.45 and 0.53 x memcpy; others by noise.)
 */
static int64_t fetch_ahead(const tg_mover *m, const tg_block *b) {
    enum { CELLS = 16, SHORT_WALK = 1024 /* bytes */ };
    if (!m->fetches) return 0;
    return b->outer > 1 && tg_magnitude(b->rows * b->src_row) <= SHORT_WALK ? CELLS * b->src_outer : CELLS * b->src_row;
}

static const uint8_t *move_packed_cells(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const tg_packed_cells *const c = m->packed;
    grid                         single = {{{b->outer, b->dst_outer, b->src_outer},
                                            {b->rows, b->dst_row, b->src_row},
                                            {b->cols, b->dst_col, b->src_col}},
                                           1, 0, 0, fetch_ahead(m, b), false, _mm512_setzero_si512()};
    if (c->padded) single.pad = _mm512_loadu_si512(b->pad);
    grid       several = single;
    const int  along = c->lane < VEC ? find_together(&single, c) : WALKS;
    if (along < WALKS) {
        walk *const all = &several.loop[along], *const left = &single.loop[along];
        several.together = VEC / c->lane;
        several.dst_step = all->dst;
        several.src_step = all->src;
        left->n = all->n % several.together;
        const int64_t done = all->n - left->n;
        *all = (walk){all->n / several.together, all->dst * several.together, all->src * several.together};
        move_vectors(m, &several, d, s);
        if (left->n == 0) return NULL;
        d += done * left->dst;
        s += done * left->src;
    }
    move_vectors(m, &single, d, s);
    return NULL;
}
TG_END
#endif

/* ---- lists ---- */

/* Field f of byte i of a cell is the element `from` of src. */
static void list_field(tg_packed_cells *c, int bits, int64_t i, int f, int64_t from) {
    const int shift = 3 - bits / 2; /* of elements to bytes */
    const int field = (int)(from & ((1 << shift) - 1)), turn = bits * (field - f);
    for (int64_t lane = 0; lane < TG_PACKED_CELL_BYTES; lane += c->lane) {
        c->byte[f][lane + i] = (uint8_t)(lane + (from >> shift));
        c->bit[f][lane + i] = (uint8_t)(((lane + i) % 8 * 8 + turn) & 63);
        c->keep[f][lane + i] = (uint8_t)(((1 << bits) - 1) << f * bits);
    }
}

void tg_packed_cells_list(tg_packed_cells *c, const tg_packed_matrix *a, tg_mover *m) {
    enum { WORD = 8 };
    const int32_t bits = m->dst.bits, per_byte = 8 / bits;
    int64_t       row = 0, col = 0;
    memset(c, 0, sizeof *c);
    c->padded = a->tail > 0;
    c->dst = tg_ceil_div(a->rows * (a->cols + a->tail), per_byte);
    c->src = tg_ceil_div((a->cols - 1) * a->line_step + a->rows, per_byte);
    for (c->lane = c->dst == WORD && c->src == WORD ? WORD : 2 * WORD; c->lane < tg_max(c->dst, c->src);) c->lane *= 2;
    for (int64_t i = 0; i < c->dst; i++)
        for (int f = 0; f < per_byte; f++) {
            if (col < a->cols) list_field(c, bits, i, f, col * a->line_step + row);
            if (++col < a->cols + a->tail) continue;
            col = 0;
            row++;
        }
    m->packed = c;
}

tg_block_move *tg_packed_cells_for(uint32_t cpu) {
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return move_packed_cells;
#endif
    (void)cpu;
    return NULL;
}
