/* Cells of packed elements (kernels/packed_cells.h, relayout/packed_loops.c): their mover against a plain loop, between
 * guard pages; which moves have them; and that all bytes of such moves are right. */
#define _GNU_SOURCE
#include "checked_move.h"
#include "kernels/packed_cells.h"
#include "kernels/stream.h"
#include "layouts.h"
#include "unchecked.h"

enum { ARENA = 1 << 17 };
#include "arenas.h"

/* ---- the mover ---- */

/* One side of a block: bytes of a cell, and steps of columns, rows, outer. */
typedef struct side {
    int64_t cell, step[3], size, at;
} side;

/* Loops in any order, which go on without a gap as often as not. */
static side random_side(int64_t cell, int64_t spacing, const int64_t *n) {
    side    s = {.cell = cell};
    int     order[3] = {0, 1, 2};
    int64_t step = random_below(2) == 0 ? spacing : spacing + random_below(40);
    for (int i = 2; i > 0; i--) {
        const int k = (int)random_below(i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    s.size = cell;
    for (int i = 0; i < 3; i++) {
        s.step[order[i]] = step;
        s.size += (n[order[i]] - 1) * step;
        step = step * n[order[i]] + (random_below(2) == 0 ? 0 : random_below(70));
        if (random_below(3) == 0) step = (step + 63) / 64 * 64;
    }
    assert_true(s.size <= ARENA);
    s.at = random_below(2) == 0 ? random_below((ARENA - s.size) / 64 + 1) * 64 : ARENA - s.size;
    return s;
}

static tg_packed_matrix random_matrix(int32_t bits) {
    const int64_t most = TG_PACKED_CELL_BYTES * 8 / bits;
    for (;;) {
        tg_packed_matrix m = {.cols = 1 + random_below(20), .rows = 1 + random_below(20)};
        m.tail = random_below(3) == 0 ? random_below(8) : 0;
        m.line_step = m.rows + (random_below(2) == 0 ? 0 : random_below(9));
        if (random_below(2) == 0) m.rows = m.cols = m.line_step = 8;
        const int64_t dst = m.rows * (m.cols + m.tail), src = (m.cols - 1) * m.line_step + m.rows;
        if (dst * bits % 8 == 0 && dst <= most && src <= most) return m;
    }
}

TG_UNCHECKED static void naive_cell(uint8_t *dst, const uint8_t *src, const tg_packed_matrix *m, int32_t bits,
                                    const uint8_t *pad) {
    for (int64_t r = 0; r < m->rows; r++)
        for (int64_t c = 0; c < m->cols + m->tail; c++)
            tg_ref_store(dst, r * (m->cols + m->tail) + c, bits,
                         c < m->cols ? tg_ref_load(src, c * m->line_step + r, bits) : tg_ref_load(pad, 0, bits));
}

static void check_block(int32_t bits, bool stream) {
    const tg_packed_matrix matrix = random_matrix(bits);
    const int64_t          n[3] = {1 + random_below(9), 1 + random_below(9), 1 + random_below(9)};
    uint8_t                pad[TG_PAD_PATTERN];
    tg_packed_cells        cells;
    tg_mover               m;
    memset(pad, (int)random_below(1 << bits) * (255 / ((1 << bits) - 1)), sizeof pad); /* one element, everywhere */
    assert_true(tg_mover_packed_cells(&m, bits, TG_CPU_AVX512, stream, true));
    tg_packed_cells_list(&cells, &matrix, &m);
    const side     d = random_side(cells.dst, cells.dst, n);
    side           s = random_side(cells.src, (matrix.cols * matrix.line_step * bits + 7) / 8, n);
    if (random_below(2) == 0) { /* a loop that goes back in src, or stands still */
        const int64_t k = random_below(3), turn = random_below(2) - 1;
        s.at += turn < 0 ? (n[k] - 1) * s.step[k] : 0;
        s.step[k] *= turn;
    }
    const tg_block b = {.cols = n[0], .rows = n[1], .outer = n[2], .dst_col = d.step[0], .dst_row = d.step[1],
                        .dst_outer = d.step[2], .src_col = s.step[0], .src_row = s.step[1], .src_outer = s.step[2],
                        .pad = pad};
    memset(dst_arena, 0x5a, ARENA);
    memset(want_arena, 0x5a, ARENA);
    for (int64_t o = 0; o < n[2]; o++)
        for (int64_t r = 0; r < n[1]; r++)
            for (int64_t i = 0; i < n[0]; i++)
                naive_cell(want_arena + d.at + o * d.step[2] + r * d.step[1] + i * d.step[0],
                           src_arena + s.at + o * s.step[2] + r * s.step[1] + i * s.step[0], &matrix, bits, pad);
    assert_null(tg_mover_run(&m, dst_arena + d.at, src_arena + s.at, &b));
    tg_stream_end();
    if (memcmp(dst_arena, want_arena, ARENA) == 0) return;
    int64_t i = 0;
    while (dst_arena[i] == want_arena[i]) i++;
    fail_msg("%s stream %d: %lld x %lld x %lld cells of %lld rows and %lld + %lld columns, lines %lld apart: byte %lld",
             m.name, stream, (long long)n[2], (long long)n[1], (long long)n[0], (long long)matrix.rows,
             (long long)matrix.cols, (long long)matrix.tail, (long long)matrix.line_step, (long long)(i - d.at));
}

static void test_mover(void **state) {
    (void)state;
    enum { TIMES = 6000 };
    tg_mover m;
    assert_false(tg_mover_packed_cells(&m, 8, TG_CPU_AVX512, false, false));
    assert_false(tg_mover_packed_cells(&m, 4, TG_CPU_AVX2, false, false));
    if ((tg_cpu_features() & TG_CPU_AVX512) == 0) skip();
    for (int times = 0; times < TIMES / SAMPLED; times++) check_block(1 << times % 3, times / 3 % 2 != 0);
}

/* ---- plans ---- */

/* Boxes that are such cells, and the bytes of the first one. */
static int32_t boxes_of_cells(const tg_layout *dst, const tg_layout *src, int64_t *bytes) {
    const uint8_t        zero = 0;
    const tg_plan_params params = {.dst = dst, .src = src, .pad = &zero};
    tg_plan              plan;
    int32_t              n = 0;
    *bytes = 0;
    assert_int_equal(tg_plan_init(&plan, &params, NULL), TG_OK);
    const tg_plan_private *const p = tg_plan_see(&plan);
    for (int32_t i = 0; p->way == TG_WAY_NEST && i < p->as.nest.nboxes; i++) {
        const tg_box *const box = &p->as.nest.box[i];
        if (box->route != TG_ROUTE_CELLS) continue;
        if (n++ == 0) *bytes = box->block.dst_col;
    }
    return n;
}

static void test_chosen(void **state) {
    (void)state;
    static const struct {
        const char *dst, *src;
        int32_t     boxes;
        int64_t     bytes;
    } moves[] = {
        {"s4[128,256]{0,1:T(8,128)(8,1)E(4)}", "s4[128,256]{1,0:T(8,128)(8,1)E(4)}", 1, 32},
        {"s4[99,250]{0,1:T(8,128)(8,1)E(4)}", "s4[99,250]{1,0:T(8,128)(8,1)E(4)}", 3, 32}, /* but in the corner */
        {"s4[7,1000]{0,1:T(8,128)(8,1)E(4)}", "s4[7,1000]{1,0:T(8,128)(8,1)E(4)}", 1, 28},
        {"s4[7,1000]{0,1:T(8,128)(8,1)E(4)}", "s4[7,1000]{0,1:E(4)}", 1, 28}, /* lines begin inside of bytes */
        {"u2[128,512]{0,1:T(8,128)(8,1)E(2)}", "u2[128,512]{1,0:T(8,128)(8,1)E(2)}", 1, 16},
        {"pred[512,512]{0,1:T(8,128)(8,1)E(1)}", "pred[512,512]{1,0:T(8,128)(8,1)E(1)}", 1, 8},
        {"s4[1200,4,16]{1,2,0:E(4)}", "s4[1200,4,16]{2,1,0:E(4)}", 1, 32},
        {"s4[900,4,16]{1,2,0:E(4)}", "s4[900,4,16]{2,1,0:E(4)}", 0, 0},     /* fewer: runs of 8 bytes are long */
        {"s4[900,2,32]{1,2,0:E(4)}", "s4[900,2,32]{2,1,0:E(4)}", 0, 0},
        {"s4[1200,2,32]{1,2,0:E(4)}", "s4[1200,2,32]{2,1,0:E(4)}", 1, 32},
        {"u2[1200,2,128]{1,2,0:E(2)}", "u2[1200,2,128]{2,1,0:E(2)}", 0, 0}, /* of 32 bytes: turns */
        {"u2[600,20,10]{2,1,0:E(2)}", "u2[600,20,10]{1,2,0:E(2)}", 1, 50},  /* no turns: more than eight */
        {"s4[600,12,9]{2,1,0:E(4)}", "s4[600,12,9]{1,2,0:E(4)}", 1, 54},
        {"s4[1599,14,2]{2,1,0:T(2,8)E(4)}", "s4[1599,14,2]{1,2,0:E(4)}", 1, 56}, /* chunks of padded ones */
        {"s4[900,11,10]{1,2,0:E(4)}", "s4[900,11,10]{2,1,0:E(4)}", 1, 55}, /* rows of 11 */
        {"s4[900,12,12]{1,2,0:E(4)}", "s4[900,12,12]{2,1,0:E(4)}", 0, 0}, /* 72 bytes */
        {"s4[900,3,4]{1,2,0:E(4)}", "s4[900,3,4]{2,1,0:E(4)}", 0, 0},     /* 6 */
        {"s4[901,3,7]{1,2,0:E(4)}", "s4[901,3,7]{2,1,0:E(4)}", 0, 0},     /* they begin inside of bytes */
        {"s4[20,4,16]{1,2,0:E(4)}", "s4[20,4,16]{2,1,0:E(4)}", 0, 0},     /* not worth a list */
        {"s4[256,256]{0,1:T(8,128)(4,1)E(4)}", "s4[256,256]{1,0:T(8,128)(4,1)E(4)}", 0, 0}, /* four go on */
    };
    const bool can = (tg_cpu_features() & TG_CPU_AVX512) != 0;
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout d = layout_of(moves[i].dst), s = layout_of(moves[i].src);
        int64_t         bytes;
        const int32_t   boxes = boxes_of_cells(&d, &s, &bytes);
        if (boxes != (can ? moves[i].boxes : 0) || bytes != (can ? moves[i].bytes : 0))
            fail_msg("%s to %s: %d boxes, %lld bytes", moves[i].src, moves[i].dst, (int)boxes, (long long)bytes);
        for (int k = 0; k < 10; k++) {
            move_seed = random_state;
            check_far(&d, &s);
            check_move(&d, &s);
        }
    }
}

/* Gaps between cells of dst, boxes that begin inside of bytes, padding in chunks of cells: these found mistakes. */
static void test_bytes(void **state) {
    (void)state;
    static const char *const moves[][2] = {
        {"s4[2000,8,4]{2,1,0:T(2,8)E(4)}", "s4[2000,8,4]{1,2,0:T(2,8)E(4)}"},
        {"s4[2000,8,4]{2,1,0:T(8,8)E(4)}", "s4[2000,8,4]{1,2,0:T(4,8)E(4)}"},
        {"u2[1056,8,4,4]{2,1,3,0:T(2,8)E(2)}", "u2[1056,8,4,4]{1,2,3,0:T(2,8)E(2)}"},
        {"u2[2550,46]{0,1:T(8,8)E(2)}", "u2[2550,46]{0,1:T(8,128)(8,1)E(2)}"},
        {"s4[28,1256]{0,1:T(8,128)(8,1)E(4)}", "s4[28,1256]{1,0:T(8,128)(8,1)E(4)}"},
        {"u2[3,4920,6]{0,1,2:T(5,6)E(2)}", "u2[3,4920,6]{1,0,2:T(5,6)E(2)}"},
        {"u4[20,8,8,304]{3,0,1,2:T(128,8)E(4)}", "u4[20,8,8,304]{2,3,1,0:T(7,10)E(4)}"},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout d = layout_of(moves[i][0]), s = layout_of(moves[i][1]);
        for (int k = 0; k < 10; k++) {
            move_seed = random_state;
            check_far(&d, &s);
            check_move(&d, &s);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mover),
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_bytes),
    };
    random_state = 20261129;
    return cmocka_run_group_tests_name("packed cells", tests, set_up, tear_down);
}
