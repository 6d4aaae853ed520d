/* Movers of cells; see cells.h. */
#include "kernels/cells.h"

#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/unaligned.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
#  include <immintrin.h>
#endif

enum {
    MOST_WIDTH = 16,
    FEW_VECTORS = 4 /* of the cells that go together, at most */
};

_Static_assert(TG_CELL_VECTORS == 16, "move_walk has so many");

/* ---- lists ---- */

void tg_cells_begin(tg_cells *c, int64_t bytes) {
    c->width = tg_min(bytes & -bytes, MOST_WIDTH);
    c->dst.line = c->src.line = bytes;
    c->together = c->dst.lines = c->src.lines = 1;
    for (int64_t i = 0; i < bytes; i++) c->place[i] = (uint16_t)i;
    for (int64_t k = 0; k < TG_CELL_VECTORS; k++) c->dst.at[k] = c->src.at[k] = k * 64;
}

/* n times as many lines, or bytes of each line. */
static void add_to_side(tg_cell_side *s, int64_t n, int64_t step, bool inside) {
    const int64_t all = n * s->lines;
    if (inside) {
        s->line *= n;
        return;
    }
    for (int64_t k = s->lines; k < all; k++) s->at[k] = s->at[k - s->lines] + step;
    s->lines = all;
}

void tg_cells_loop(tg_cells *c, const tg_cell_loop *l) {
    const int64_t step = l->in_src ? l->src : c->src.lines * 64, before = l->in_dst ? c->dst.line : c->dst.lines * 64;
    add_to_side(&c->dst, l->n, l->dst, l->in_dst);
    add_to_side(&c->src, l->n, l->src, l->in_src);
    for (int64_t k = 0; k < c->dst.lines; k++)
        for (int64_t i = k * 64; i < k * 64 + c->dst.line; i++)
            if (i >= before) c->place[i] = (uint16_t)(c->place[i - before] + step);
}

/* As many as fill vectors best; of lines on both sides, as many as there is room for. */
static int64_t cells_together(const tg_cells *c, int64_t most) {
    const int64_t dst = c->dst.lines > 1 ? TG_CELL_LINE : FEW_VECTORS * 64,
                  src = c->src.lines > 1 ? TG_CELL_LINE : FEW_VECTORS * 64;
    const int64_t bytes = c->dst.line * c->dst.lines; /* of a cell */
    const bool    lined = c->dst.lines > 1 && c->src.lines > 1;
    int64_t       best = 1;
    for (int64_t n = 2; n <= most && n * c->dst.line <= dst && n * c->src.line <= src; n++)
        if (lined || n * tg_ceil_div(best * bytes, 64) >= best * tg_ceil_div(n * bytes, 64)) best = n;
    return best;
}

/* ---- plain C ---- */

#define DEFINE_CELL(UNIT)                                                                                     \
    static void cell_##UNIT(uint8_t *restrict d, const uint8_t *restrict s, const tg_cells *c) {              \
        for (int64_t k = 0; k < c->dst.lines; k++)                                                            \
            for (int64_t i = 0; i < c->dst.line; i += (int64_t)sizeof(UNIT)) {                                \
                const int64_t from = c->place[k * 64 + i];                                                    \
                *(UNIT *)(void *)(d + c->dst.at[k] + i) =                                                     \
                    *(const UNIT *)(const void *)(s + c->src.at[from / 64] + from % 64);                      \
            }                                                                                                 \
    }
DEFINE_CELL(unit8)
DEFINE_CELL(unit16)
DEFINE_CELL(unit32)
DEFINE_CELL(unit64)
DEFINE_CELL(unit128)
#undef DEFINE_CELL

static void plain_cell(uint8_t *d, const uint8_t *s, const tg_cells *c) {
    switch (c->width) {
    case 1: cell_unit8(d, s, c); break;
    case 2: cell_unit16(d, s, c); break;
    case 4: cell_unit32(d, s, c); break;
    case 8: cell_unit64(d, s, c); break;
    default: cell_unit128(d, s, c); break;
    }
}

static const uint8_t *cells_plain(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const tg_cells *const c = m->cells;
    const int64_t         cells = b->cols * b->dst_col / c->dst.line;
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const       to = d + o * b->dst_outer + r * b->dst_row;
            const uint8_t *const from = s + o * b->src_outer + r * b->src_row;
            for (int64_t i = 0; i < cells; i++) plain_cell(to + i * c->dst.line, from + i * c->src.line, c);
        }
    return NULL;
}

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/vector.inc.h"
#  include "kernels/cells_avx512.inc.h"
#  undef VEC
TG_END
#endif

/* ---- which ---- */

void tg_cells_end(tg_cells *c, int64_t most, tg_mover *m) {
    m->cells = c;
#if TG_HAVE_X86
    if (m->move == cells_avx512) {
        c->together = cells_together(c, most);
        list_vectors(c);
    }
#endif
    (void)most;
}

tg_block_move *tg_cells_for(uint32_t cpu) {
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return cells_avx512;
#endif
    (void)cpu;
    return cells_plain;
}

void tg_turn_small_matrices(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int64_t width = m->dst_width, each = b->rows * b->cols * width;
    const bool    one_run = b->dst_outer == each && b->src_outer == each;
    tg_cells      c;
    tg_mover      cells = *m;
    tg_block      all = {.outer = 1, .rows = 1, .cols = b->outer * each, .dst_col = 1, .src_col = 1};
    if (!one_run) {
        all.rows = b->outer;
        all.cols = each;
        all.dst_row = b->dst_outer;
        all.src_row = b->src_outer;
    }
    cells.move = tg_cells_for(TG_CPU_AVX512);
    tg_cells_begin(&c, width);
    tg_cells_loop(&c, &(tg_cell_loop){b->cols, width, b->rows * width, true, true});
    tg_cells_loop(&c, &(tg_cell_loop){b->rows, b->cols * width, width, true, true});
    tg_cells_end(&c, one_run ? b->outer : 1, &cells);
    (void)tg_mover_run(&cells, d, s, &all);
}
