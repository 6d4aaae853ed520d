/* Boxes of packed elements that change places inside of a few bytes (kernels/packed_cells.h).
 *
 * Two loops of neighbours, one on each side, that are short, so that all that they count is up to 64 bytes of each:
 *
 *     s4[N,M]{1,0:T(8,128)(8,1)E(4)} to {0,1:T(8,128)(8,1)E(4)}, loops (n, dst, src) in elements
 *     8 columns (8, 1, 8)    8 rows (8, 8, 1)     a cell, 32 bytes
 *
 * As matrices of their own these would leave vectors empty, and as bytes lines. Rows of them need not be whole bytes,
 * nor lines: 7 rows in columns of 7, or tiles of 8 in which the last columns are missing. The loops around cells are
 * those of other cells (cell_loops.c). (A Granite Rapids, x memcpy, as a transpose and so: the move above 0.02 and 0.33
 * with 512 KiB, 0.07 and 0.84 with 8 MiB, 0.05 and 0.50 with 256 MiB; 16384 of [8,8] nibbles 0.02 and 0.57; [8192,4,16]
 * of two bits 0.09 and 0.34; 8 x 8 single bits 0.004 and 0.14.) */
#include "base/checked.h"
#include "kernels/packed_cells.h"
#include "relayout/bytes.h"

/* Bytes. Of a move those of both sides count, padding too: where it has fewer than LEAST_MOVE, no list is worth it.
 * Runs of up to eight rows, or columns, that are whole bytes are turns as well, and where they are longer these are
 * faster: than SHORT_RUN in moves of less than LEAST_MEDIUM, than LONG_RUN in any. (As turns and as cells:
 * pred[512,4,64], runs of 8, 0.04 and 0.03; u2[64,256] to T(8,128)(2,1), runs of 32, 0.18 and 0.01.) */
enum {
    LEAST_CELL = 8,
    LEAST_BLOCK = 256, /* of cells that go on on either side */
    LEAST_MOVE = 4096,
    LEAST_MEDIUM = 64 << 10,
    SHORT_RUN = 4,
    LONG_RUN = 16,
    MOST_TURNS = 8 /* rows, or columns, that take turns */
};

/* The two loops, and what they count. */
typedef struct packed_cell {
    int32_t          rows, cols; /* in the draft */
    tg_packed_matrix matrix;
    int64_t          dst, src; /* bytes from cell to cell, where they follow each other */
} packed_cell;

/* Are such runs of so many rows, or columns, faster as turns? */
static bool are_turns(const tg_draft *d, int64_t a, int64_t b) {
    const int64_t run = tg_max(a, b), longest = d->plan->bytes < LEAST_MEDIUM ? SHORT_RUN : LONG_RUN;
    return tg_min(a, b) <= MOST_TURNS && tg_is_whole(run, d->plan->dst_bits) &&
           run * d->plan->dst_bits > 8 * longest;
}

/* False if the loops of neighbours are no cell. */
static bool find_matrix(packed_cell *c, const tg_draft *d) {
    const int64_t per_byte = 8 / d->plan->dst_bits;
    c->cols = tg_draft_find_dst(d, 1);
    c->rows = tg_draft_find_src(d, 1);
    if (c->cols == TG_NO_LOOP || c->rows == TG_NO_LOOP || c->cols == c->rows) return false;
    const tg_loop *const cols = &d->loop[c->cols], *const rows = &d->loop[c->rows];
    c->matrix = (tg_packed_matrix){rows->n, cols->n, d->tail, cols->src};
    const int64_t row = cols->n + d->tail, most = TG_PACKED_CELL_BYTES * per_byte;
    if (rows->dst != row || cols->src < rows->n || rows->n > most / row || cols->src > most / cols->n) return false;
    if (are_turns(d, rows->n, row)) return false;
    c->dst = tg_ceil_div(rows->n * row, per_byte);
    c->src = tg_ceil_div(cols->n * cols->src, per_byte);
    return rows->n * row == c->dst * per_byte && c->dst >= LEAST_CELL && tg_max(c->dst, c->src) <= TG_PACKED_CELL_BYTES;
}

/* Do all begin with a byte? */
static bool are_whole(const packed_cell *c, const tg_draft *d) {
    const int32_t bits = d->plan->dst_bits;
    if (!tg_is_whole(d->dst, bits) || !tg_is_whole(d->src, bits)) return false;
    for (int32_t i = 0; i < d->n; i++) {
        if (i == c->cols || i == c->rows) continue;
        if (!tg_is_whole(d->loop[i].dst, bits) || !tg_is_whole(d->loop[i].src, bits)) return false;
    }
    return true;
}

/* Do enough of them go on? Blocks of four cells are slower than turns of four rows (0.02 and 0.04 x memcpy,
 * s4[1024,1024] of T(8,128)(4,1), turned). */
static bool go_on(const packed_cell *c, const tg_draft *d) {
    const int64_t per_byte = 8 / d->plan->dst_bits;
    const int32_t on_dst = tg_draft_find_dst(d, c->dst * per_byte), on_src = tg_draft_find_src(d, c->src * per_byte);
    int64_t       bytes = c->dst;
    if (on_dst != TG_NO_LOOP) bytes = tg_capped_mul(bytes, d->loop[on_dst].n);
    if (on_src != TG_NO_LOOP && on_src != on_dst) bytes = tg_capped_mul(bytes, d->loop[on_src].n);
    return bytes >= LEAST_BLOCK;
}

bool tg_draft_packed_cell(tg_draft *d) {
    const int32_t bits = d->plan->dst_bits;
    packed_cell   c;
    if (d->run > 0 || d->fill || d->converts || bits != d->plan->src_bits || bits > 4) return false;
    if ((d->pair->cpu & TG_CPU_AVX512) == 0 || d->plan->combines || d->plan->bytes < LEAST_MOVE) return false;
    if (!find_matrix(&c, d) || !are_whole(&c, d) || !go_on(&c, d)) return false;
    d->cols[0] = d->loop[c.cols];
    d->cols[1] = d->loop[c.rows];
    d->ncols = 2;
    tg_draft_take(d, c.cols);
    tg_draft_take(d, c.rows);
    tg_draft_steps_to_bytes(d);
    tg_draft_cell_block(d, &(tg_cell_size){c.dst, c.src, 1});
    d->box->family = TG_FAMILY_PACKED_CELLS;
    d->box->block.tail = d->tail; /* of the rows of a cell */
    d->box->width = 1;
    d->box->gaps = false;
    return true;
}
