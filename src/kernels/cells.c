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

_Static_assert(TG_SMALL_BYTES <= FEW_VECTORS * 64 && TG_LINED_CELL <= FEW_VECTORS * 64, "lists of four vectors");
_Static_assert(TG_CELL_LINES <= 8, "move_many has eight");

/* ---- lists ---- */

void tg_cells_begin(tg_cells *c, int64_t bytes, bool to_lines) {
    c->to_lines = to_lines;
    c->width = tg_min(bytes & -bytes, MOST_WIDTH);
    c->bytes = c->line = bytes;
    c->together = c->lines = 1;
    for (int64_t i = 0; i < bytes; i++) c->place[i] = (uint16_t)i;
    for (int64_t k = 0; k < TG_CELL_VECTORS; k++) c->at[k] = k * 64;
}

static void list_loop(tg_cells *c, int64_t n, int64_t step) {
    const int64_t all = n * c->bytes;
    for (int64_t i = c->bytes; i < all; i++) c->place[i] = (uint16_t)(c->place[i - c->bytes] + step);
    c->bytes = all;
}

void tg_cells_loop(tg_cells *c, int64_t n, int64_t step) {
    list_loop(c, n, step);
    c->line *= n;
}

void tg_cells_lines(tg_cells *c, int64_t n, int64_t step) {
    const int64_t all = n * c->lines;
    list_loop(c, n, c->lines * 64);
    for (int64_t k = c->lines; k < all; k++) c->at[k] = c->at[k - c->lines] + step;
    c->lines = all;
}

/* As many as fill vectors best. */
static int64_t cells_together(const tg_cells *c, int64_t most) {
    int64_t best = 1;
    for (int64_t n = 2; n <= most && n * c->bytes <= FEW_VECTORS * 64 && (c->lines == 1 || n * c->line <= TG_CELL_LINE);
         n++)
        if (n * tg_ceil_div(best * c->bytes, 64) >= best * tg_ceil_div(n * c->bytes, 64)) best = n;
    return best;
}

/* ---- plain C ---- */

#define DEFINE_CELL(UNIT)                                                                                     \
    static void cell_##UNIT(uint8_t *restrict d, const uint8_t *restrict s, const tg_cells *c) {              \
        for (int64_t i = 0; i < c->bytes; i += (int64_t)sizeof(UNIT)) {                                       \
            const int64_t in_lines = c->at[c->place[i] / 64] + c->place[i] % 64;                              \
            const int64_t to = c->to_lines ? in_lines : i, from = c->to_lines ? i : in_lines;                 \
            *(UNIT *)(void *)(d + to) = *(const UNIT *)(const void *)(s + from);                              \
        }                                                                                                     \
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

/* Bytes of dst, and of src, from a cell to the one that follows. */
static int64_t dst_of(const tg_cells *c) { return c->to_lines ? c->line : c->bytes; }

static int64_t src_of(const tg_cells *c) { return c->to_lines ? c->bytes : c->line; }

static const uint8_t *cells_plain(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const tg_cells *const c = m->cells;
    const int64_t         cells = b->cols * b->dst_col / dst_of(c);
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const       to = d + o * b->dst_outer + r * b->dst_row;
            const uint8_t *const from = s + o * b->src_outer + r * b->src_row;
            for (int64_t i = 0; i < cells; i++) plain_cell(to + i * dst_of(c), from + i * src_of(c), c);
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
    tg_cells_begin(&c, width, false);
    tg_cells_loop(&c, b->cols, b->rows * width);
    tg_cells_loop(&c, b->rows, width);
    tg_cells_end(&c, one_run ? b->outer : 1, &cells);
    (void)tg_mover_run(&cells, d, s, &all);
}
