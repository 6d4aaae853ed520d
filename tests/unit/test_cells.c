/* Cells (kernels/cells.h, relayout/cell_loops.c): their movers against plain loops, between guard pages, for every
 * processor mask; which moves have them; and that all bytes of such moves are right. */
#define _GNU_SOURCE
#include "checked_move.h"
#include "kernels/cells.h"
#include "kernels/stream.h"
#include "layouts.h"
#include "unchecked.h"

enum { ARENA = 1 << 18 };
#include "arenas.h"

static const uint32_t masks[] = {0, TG_CPU_AVX2, TG_CPU_AVX2 | TG_CPU_AVX512, TG_CPU_NEON};

/* ---- movers ---- */

enum { MOST_LOOPS = 5 };

/* Neighbours, and loops, first those inside of lines of dst. */
typedef struct shape {
    int64_t      unit, bytes;
    int64_t      line[2], lines[2]; /* of dst, of src */
    int32_t      n;
    tg_cell_loop loop[MOST_LOOPS];
} shape;

/* Is there room for so many steps on this side, inside of lines or of lines? */
static int64_t room_for(const shape *c, int side, bool inside, bool lined) {
    return inside ? (lined ? TG_CELL_LINE : TG_CELL_BYTES) / c->line[side] : TG_CELL_VECTORS / c->lines[side];
}

/* Steps on one side, in another order than that of the loops if they may have one: `pitch` bytes are lines. */
static void put_steps(shape *c, bool of_dst, int64_t pitch) {
    int32_t order[MOST_LOOPS] = {0};
    int64_t step = c->unit, far = pitch;
    int32_t first = 0;
    while (of_dst && first < c->n && c->loop[first].in_dst) first++;
    for (int32_t i = 0; i < c->n; i++) {
        const int32_t k = i < first ? i : first + (int32_t)random_below(i - first + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int32_t i = 0; i < c->n; i++) {
        tg_cell_loop *const l = &c->loop[order[i]];
        int64_t *const      next = (of_dst ? l->in_dst : l->in_src) ? &step : &far;
        *(of_dst ? &l->dst : &l->src) = *next;
        *next *= l->n;
    }
}

/* Loops that go on in lines of src in another order than in those of dst; either side may have several. */
static shape random_shape(bool dst_lines, bool src_lines, int64_t pitch) {
    shape         c = {.unit = 1 + random_below(random_below(2) == 0 ? 4 : 24), .lines = {1, 1}};
    const int64_t most = dst_lines != src_lines ? TG_LINED_CELL : TG_CELL_BYTES;
    const int32_t want = 1 + (int32_t)random_below(MOST_LOOPS), inside = (int32_t)random_below(want + 1);
    c.bytes = c.line[0] = c.line[1] = c.unit;
    for (; c.n < want; c.n++) {
        const bool    in_dst = !dst_lines || c.n < inside, in_src = !src_lines || random_below(2) == 0;
        const int64_t limit = tg_min(room_for(&c, 0, in_dst, dst_lines), room_for(&c, 1, in_src, src_lines));
        const int64_t room = tg_min(most / c.bytes, limit);
        const int64_t some = 1 + random_below(random_below(3) == 0 ? room : 8), n = some < room ? some : room;
        c.loop[c.n] = (tg_cell_loop){.n = n, .in_dst = in_dst, .in_src = in_src};
        c.bytes *= n;
        *(in_dst ? &c.line[0] : &c.lines[0]) *= n;
        *(in_src ? &c.line[1] : &c.lines[1]) *= n;
    }
    put_steps(&c, true, pitch);
    put_steps(&c, false, pitch);
    return c;
}

TG_UNCHECKED static void naive_cell(uint8_t *dst, const uint8_t *src, const shape *c) {
    for (int64_t i = 0; i < c->bytes; i++) {
        int64_t rest = i / c->unit, to = i % c->unit, from = to;
        for (int32_t k = 0; k < c->n; k++) {
            to += rest % c->loop[k].n * c->loop[k].dst;
            from += rest % c->loop[k].n * c->loop[k].src;
            rest /= c->loop[k].n;
        }
        dst[to] = src[from];
    }
}

/* Blocks of rows on one side. */
typedef struct grid {
    int64_t each, row, step, far, size; /* bytes: of a cell, of a row of them, from row to row, from step of outer to
                                         * step, and of all */
    int64_t at;
} grid;

static grid random_grid(int64_t each, int64_t cols, int64_t rows, int64_t outer, int64_t beyond) {
    const int64_t unit = random_below(2) == 0 ? 64 : 1, row = cols * each;
    grid          s = {.each = each, .row = row};
    s.step = (row + (random_below(2) == 0 ? 0 : random_below(64)) + unit - 1) / unit * unit;
    s.far = rows * s.step + (random_below(2) == 0 ? 0 : random_below(64));
    s.size = (outer - 1) * s.far + (rows - 1) * s.step + row + beyond;
    s.at = random_below(2) == 0 ? random_below((ARENA - s.size) / unit + 1) * unit : ARENA - s.size;
    return s;
}

/* Rows of cells at both ends of the arenas, or anywhere, and often at lines. */
static void check_block(uint32_t cpu, bool stream, bool far, bool dst_lines, bool src_lines) {
    enum { PITCH = ARENA / 32 };
    const int64_t   pitch = PITCH + (random_below(2) == 0 ? 0 : random_below(64));
    const shape     c = random_shape(dst_lines, src_lines, pitch);
    const int64_t   room = (dst_lines || src_lines ? PITCH : ARENA) / 24 / c.bytes, most = room > 40 ? 40 : room;
    const int64_t   cols = most < 1 || random_below(2) == 0 ? 1 : 1 + random_below(most);
    const int64_t   outer = 1 + random_below(2), rows = 1 + random_below(6);
    const grid      d = random_grid(c.line[0], cols, rows, outer, (c.lines[0] - 1) * pitch);
    const grid      s = random_grid(c.line[1], cols, rows, outer, (c.lines[1] - 1) * pitch);
    const bool      back = outer > 1 && random_below(3) == 0; /* outer is walked backwards in src */
    const tg_block  b = {.outer = outer, .rows = rows, .cols = cols, .dst_outer = d.far, .dst_row = d.step,
                         .dst_col = d.each, .src_outer = back ? -s.far : s.far, .src_row = s.step,
                         .src_col = s.each};
    const uint8_t  *from = src_arena + s.at + (back ? (outer - 1) * s.far : 0);
    tg_cells        cells;
    tg_mover        m;
    assert_true(d.size <= ARENA && s.size <= ARENA);
    assert_true(tg_mover_cells(&m, cpu, stream, far));
    tg_cells_begin(&cells, c.unit);
    for (int32_t i = 0; i < c.n; i++) tg_cells_loop(&cells, &c.loop[i]);
    assert_int_equal(cells.dst.line, c.line[0]);
    assert_int_equal(cells.dst.lines, c.lines[0]);
    assert_int_equal(cells.src.line, c.line[1]);
    assert_int_equal(cells.src.lines, c.lines[1]);
    tg_cells_end(&cells, random_below(2) == 0 ? cols : TG_CELL_BYTES / c.bytes, &m);
    memset(dst_arena, 0x5a, ARENA);
    memset(want_arena, 0x5a, ARENA);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < cols; i++)
                naive_cell(want_arena + d.at + o * b.dst_outer + r * d.step + i * d.each,
                           from + o * b.src_outer + r * s.step + i * s.each, &c);
    assert_null(tg_mover_run(&m, dst_arena + d.at, from, &b));
    tg_stream_end();
    if (memcmp(dst_arena, want_arena, ARENA) == 0) return;
    int64_t i = 0;
    while (dst_arena[i] == want_arena[i]) i++;
    fail_msg("%s stream %d far %d: %lld x %lld x %lld cells of %lld bytes, %d loops, out of %lld lines to %lld, rows "
             "%lld and %lld apart: byte %lld",
             m.name, stream, far, (long long)outer, (long long)rows, (long long)cols, (long long)c.bytes, (int)c.n,
             (long long)c.lines[1], (long long)c.lines[0], (long long)d.step, (long long)s.step,
             (long long)(i - d.at));
}

static void test_movers(void **state) {
    (void)state;
    enum { TIMES = 4000 };
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
        for (int times = 0; times < TIMES / SAMPLED && (masks[i] & ~tg_cpu_features()) == 0; times++)
            check_block(masks[i], times % 2 != 0, times / 2 % 2 != 0, times / 4 % 2 != 0, times / 8 % 2 != 0);
}

/* Cells that are whole vectors of each line together, whose lines begin anywhere: these cannot go around the caches. */
static void test_lines_anywhere(void **state) {
    (void)state;
    enum { UNIT = 16, LINES = 4, CELLS = 8, PITCH = 4096 + 8 };
    const tg_block     b = {.outer = 1, .rows = 1, .cols = CELLS, .dst_col = UNIT, .src_col = UNIT * LINES};
    const tg_cell_loop lines = {LINES, PITCH, UNIT, false, true};
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        tg_cells cells;
        tg_mover m;
        if ((masks[i] & ~tg_cpu_features()) != 0) continue;
        assert_true(tg_mover_cells(&m, masks[i], true, true));
        tg_cells_begin(&cells, UNIT);
        tg_cells_loop(&cells, &lines);
        tg_cells_end(&cells, CELLS, &m);
        memset(dst_arena, 0x5a, ARENA);
        assert_null(tg_mover_run(&m, dst_arena, src_arena, &b));
        tg_stream_end();
        for (int64_t k = 0; k < LINES; k++) {
            for (int64_t c = 0; c < CELLS; c++)
                assert_memory_equal(dst_arena + k * PITCH + c * UNIT, src_arena + (c * LINES + k) * UNIT, UNIT);
            assert_int_equal(dst_arena[k * PITCH + CELLS * UNIT], 0x5a);
        }
    }
}

/* ---- plans ---- */

static tg_plan plan_of(const char *dst, const char *src, bool around) {
    const tg_layout      d = layout_of(dst), s = layout_of(src);
    const tg_plan_params params = {.dst = &d, .src = &s};
    tg_tuning            t = tg_default_tuning;
    tg_plan              p;
    if (around) t.far_bytes = t.stream_bytes = t.memory_bytes = 0;
    assert_int_equal(tg_plan_tuned(&p, &params, &t, NULL), TG_OK);
    assert_int_equal(tg_plan_see(&p)->way, TG_WAY_NEST);
    return p;
}

static tg_box box_of(const char *dst, const char *src, bool around) {
    const tg_plan p = plan_of(dst, src, around);
    return tg_plan_see(&p)->as.nest.box[0];
}

/* Of the first box, which has cells. */
static int64_t bytes_of_cell(const char *dst, const char *src, bool around) {
    const tg_plan  p = plan_of(dst, src, around);
    const tg_nest *nest = &tg_plan_see(&p)->as.nest;
    const tg_box  *box = nest->box;
    int64_t        bytes = box->width;
    for (int32_t i = 0; i < box->ncols; i++) bytes *= nest->loop[box->first + box->nloops + i].n;
    return bytes;
}

/* As they are; as wide elements; out of lines, or to lines; out of lines to lines; no cells. */
typedef enum moved { CELLS, TURNED, LINED, CROSSED, NEITHER } moved;

static moved way_of(const char *dst, const char *src, bool around) {
    const tg_box box = box_of(dst, src, around);
    if (box.route != TG_ROUTE_CELLS) return NEITHER;
    if (box.family != TG_FAMILY_CELLS) return TURNED;
    const int64_t bytes = bytes_of_cell(dst, src, around), to = box.block.dst_col, from = box.block.src_col;
    assert_in_range(tg_min(to, from), 1, bytes == to && bytes == from ? bytes : TG_CELL_LINE);
    return bytes == to && bytes == from ? CELLS : bytes == to || bytes == from ? LINED : CROSSED;
}

static void test_chosen(void **state) {
    (void)state;
    static const struct {
        const char *dst, *src;
        moved       around, cached; /* with AVX-512 */
    } moves[] = {
        {"u8[8,4,8,20,30]{2,1,0,4,3}", "u8[8,4,8,20,30]{0,1,2,3,4}", CELLS, CELLS},
        {"f16[2,3,2,20,30]{2,1,0,4,3}", "f16[2,3,2,20,30]{0,1,2,3,4}", CELLS, CELLS}, /* 24 bytes are cells, */
        {"u8[2,3,2,20,30]{2,1,0,4,3}", "u8[2,3,2,20,30]{0,1,2,3,4}", TURNED, TURNED}, /* 12 elements, */
        {"f32[2,2,20,30]{1,0,3,2}", "f32[2,2,20,30]{0,1,2,3}", TURNED, TURNED}, /* and 16 of all processors */
        {"u8[2,3,2,3000]{2,1,0,3}", "u8[2,3,2,3000]{0,1,2,3}", CELLS, CELLS}, /* nothing to turn */
        {"u8[3,5,4,20,30]{0,2,1,4,3}", "u8[3,5,4,20,30]{0,1,2,3,4}", CELLS, CELLS}, /* pixels change places */
        {"u8[32,5,4,20,30]{0,2,1,4,3}", "u8[32,5,4,20,30]{0,1,2,3,4}", NEITHER, NEITHER}, /* long runs do */
        {"u8[8,8,8,20,30]{2,1,0,4,3}", "u8[8,8,8,20,30]{0,1,2,3,4}", CELLS, CELLS}, /* 512 bytes */
        {"f64[4,4,4,20,30]{2,1,0,4,3}", "f64[4,4,4,20,30]{0,1,2,3,4}", CELLS, CELLS},
        {"u8[16,32,20,30]{1,0,3,2}", "u8[16,32,20,30]{0,1,2,3}", CELLS, CELLS},
        {"f16[16,16,20,30]{1,0,3,2}", "f16[16,16,20,30]{0,1,2,3}", CELLS, NEITHER}, /* squares */
        {"f16[8,32,20,30]{1,0,3,2}", "f16[8,32,20,30]{0,1,2,3}", NEITHER, NEITHER}, /* of whole lines */
        {"f32[9,9,20,30]{1,0,3,2}", "f32[9,9,20,30]{0,1,2,3}", CELLS, NEITHER},
        {"f32[8,16,20,30]{1,0,3,2}", "f32[8,16,20,30]{0,1,2,3}", NEITHER, NEITHER},
        {"f16[8,8,8,20,30]{2,1,0,4,3}", "f16[8,8,8,20,30]{0,1,2,3,4}", CELLS, NEITHER}, /* 1024 bytes */
        {"f32[8,8,4,20,30]{2,1,0,4,3}", "f32[8,8,4,20,30]{0,1,2,3,4}", NEITHER, NEITHER},
        {"u8[32,32,20,30]{1,0,3,2}", "u8[32,32,20,30]{0,1,2,3}", CELLS, NEITHER},
        {"u8[11,10,10,20,30]{2,1,0,4,3}", "u8[11,10,10,20,30]{0,1,2,3,4}", CROSSED, CROSSED}, /* 1100 */
        {"u8[8,4,8,4,4]{2,1,0,4,3}", "u8[8,4,8,4,4]{0,1,2,3,4}", CELLS, CELLS}, /* 4 KiB */
        {"u8[8,4,8,4,3]{2,1,0,4,3}", "u8[8,4,8,4,3]{0,1,2,3,4}", NEITHER, NEITHER},
        {"f16[3,4,4,99]{0,2,1,3}", "f16[3,4,4,99]{1,0,3,2}", LINED, LINED}, /* out of 4 lines */
        {"f16[3,4,4,99]{1,0,3,2}", "f16[3,4,4,99]{0,2,1,3}", LINED, LINED}, /* to 4 lines */
        {"f16[4,2,2,50,9]{1,2,0,3,4}", "f16[4,2,2,50,9]{0,1,3,4,2}", LINED, LINED}, /* lines go on: 16 bytes */
        {"u8[3,6,5,2,20,9]{2,1,0,3,4,5}", "u8[3,6,5,2,20,9]{0,1,4,5,2,3}", LINED, LINED}, /* 90 bytes of 5 lines */
        {"u8[3,6,10,20,9]{2,1,0,3,4}", "u8[3,6,10,20,9]{0,1,3,4,2}", NEITHER, NEITHER}, /* of 10 */
        {"u8[5,13,2,20,9]{1,2,0,3,4}", "u8[5,13,2,20,9]{0,1,3,4,2}", LINED, LINED}, /* 65 of 2: to 5 of 13 */
        {"u8[4,2,3,180,200]{2,1,0,3,4}", "u8[4,2,3,180,200]{0,4,1,2,3}", TURNED, TURNED}, /* 24 bytes of 6 lines */
        {"u8[5,2,2,80,90]{2,1,0,3,4}", "u8[5,2,2,80,90]{0,4,1,2,3}", TURNED, TURNED},
        {"bf16[2,64,2,256,4]{4,3,2,1,0}", "bf16[2,64,2,256,4]{2,0,3,4,1}", CROSSED, CROSSED}, /* 4 lines to 4 */
        {"u8[8,99,9,7]{2,1,3,0}", "u8[8,99,9,7]{0,1,2,3}", CROSSED, CROSSED}, /* 7 cells of 9 by 8 together */
        {"f16[4,99,3,4,7]{2,3,1,4,0}", "f16[4,99,3,4,7]{0,1,2,3,4}", NEITHER, NEITHER}, /* 2 of 12 by 4 */
        {"u8[4,99,4,7]{2,1,3,0}", "u8[4,99,4,7]{0,1,2,3}", NEITHER, CROSSED}, /* few lines: in caches alone */
        {"u8[2,99,3,7]{2,1,3,0}", "u8[2,99,3,7]{0,1,2,3}", NEITHER, NEITHER}, /* fewer */
        {"u8[8,99,8,7]{2,1,3,0}", "u8[8,99,8,7]{0,1,2,3}", NEITHER, NEITHER}, /* squares */
        {"u8[2,99,15,7]{2,1,3,0}", "u8[2,99,15,7]{0,1,2,3}", NEITHER, NEITHER}, /* 8 bytes of each line of src */
        {"u8[17,99,3,7]{2,1,3,0}", "u8[17,99,3,7]{0,1,2,3}", NEITHER, NEITHER}, /* to 17 lines */
        {"u8[8,5,8,20,30]{2,1,0,4,3}", "u8[8,5,8,20,30] strides=[1,9,48,30000,400]", NEITHER, NEITHER},
    };
    if ((tg_cpu_features() & TG_CPU_AVX512) == 0) skip();
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const moved around = way_of(moves[i].dst, moves[i].src, true),
                    cached = way_of(moves[i].dst, moves[i].src, false);
        if (around != moves[i].around || cached != moves[i].cached)
            fail_msg("%s to %s: %d around the caches, %d into them", moves[i].src, moves[i].dst, (int)around,
                     (int)cached);
        const tg_layout d = layout_of(moves[i].dst), s = layout_of(moves[i].src);
        check_far(&d, &s);
        check_move(&d, &s);
    }
}

/* Those of whole lines, and those whose lines are lost until the next ones are read, follow src; cells that follow each
 * other on both sides are columns. */
static void test_walks(void **state) {
    (void)state;
    static const struct {
        const char *dst, *src;
        int64_t     cols, rows, d_row, s_row; /* of a block */
    } moves[] = {
        {"u8[16,64,8,60]{0,2,3,1}", "u8[16,64,8,60]{2,0,1,3}", 1, 64, 7680, 128}, /* whole sticks */
        {"f16[4,20,3,1100]{0,2,3,1}", "f16[4,20,3,1100]{2,0,1,3}", 1, 10, 26400, 24}, /* 240 bytes at once */
        {"f16[4,20,3,500]{0,2,3,1}", "f16[4,20,3,500]{2,0,1,3}", 1, 500, 24, 480},   /* they keep to the cache */
        {"u8[6,32768,4,24]{0,2,3,1}", "u8[6,32768,4,24]{2,0,1,3}", 1, 10, 576, 24},  /* they crowd it: 768 KiB apart */
        {"u8[12,20,14,1100]{0,2,3,1}", "u8[12,20,14,1100]{2,0,1,3}", 1, 1100, 168, 3360}, /* as long as any run */
        {"f16[4,3,20,30]{0,1,2,3}", "f16[4,3,20,30]{1,0,2,3}", 600, 1, 0, 0},
        {"f16[4,3,20,7,5]{0,1,2,4,3}", "f16[4,3,20,7,5]{1,0,2,3,4}", 20, 5, 480, 3360},
    };
    if ((tg_cpu_features() & TG_CPU_AVX512) == 0) skip();
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_box         box = box_of(moves[i].dst, moves[i].src, true);
        const tg_block *const b = &box.block;
        if (box.route == TG_ROUTE_CELLS && b->rows == moves[i].rows && b->cols == moves[i].cols &&
            (b->rows == 1 || (b->dst_row == moves[i].d_row && b->src_row == moves[i].s_row)))
            continue;
        fail_msg("%s to %s: route %d, %lld x %lld cells, rows %lld and %lld apart", moves[i].src, moves[i].dst,
                 (int)box.route, (long long)b->rows, (long long)b->cols, (long long)b->dst_row, (long long)b->src_row);
    }
}

/* Blocks are small enough to be shared out, whatever cells have of each line. */
static void test_blocks(void **state) {
    (void)state;
    static const char *const moves[][2] = {
        {"u8[8,59999,9]{2,1,0}", "u8[8,59999,9]{0,1,2}"},
        {"f16[3,4,4,59999]{0,2,1,3}", "f16[3,4,4,59999]{1,0,3,2}"},
        {"f16[3,4,4,59999]{1,0,3,2}", "f16[3,4,4,59999]{0,2,1,3}"},
    };
    if ((tg_cpu_features() & TG_CPU_AVX512) == 0) skip();
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_box  box = box_of(moves[i][0], moves[i][1], false);
        const int64_t cells = box.block.outer * box.block.rows * box.block.cols;
        assert_int_equal(box.route, TG_ROUTE_CELLS);
        assert_true(cells * bytes_of_cell(moves[i][0], moves[i][1], false) <= tg_default_tuning.block_bytes);
    }
}

enum { MOST_DIMS = 8 };

/* A type and a shape as text, `inner` of its dimensions short; returns its length. */
static int random_head(char *out, size_t cap, int dims, int inner, bool few) {
    static const char *const types[] = {"u8", "u8", "f16", "f32", "f64"};
    int                      used = snprintf(out, cap, "%s[", types[random_below(5)]);
    int64_t                  all = 1;
    for (int i = 0; i < dims; i++) {
        const int64_t most = few ? 3 : inner == 2 ? 12 : 5, room = 20000 / all + 1;
        const int64_t n = i < inner ? 1 + random_below(most) : 1 + random_below(room) % (few ? 90 : 40);
        all *= n;
        used += snprintf(out + used, cap - (size_t)used, "%d%s", (int)n, i + 1 < dims ? "," : "]");
    }
    return used;
}

/* Inner dimensions change places, and outer ones do; `apart`: the last one of the inner ones comes after some outer
 * ones. */
static void put_order(char *out, size_t cap, int dims, int inner, bool apart) {
    int order[MOST_DIMS] = {0}, used = snprintf(out, cap, "{");
    for (int i = 0; i < dims; i++) {
        const int first = i < inner ? 0 : inner, k = first + (int)random_below(i - first + 1);
        order[i] = order[k];
        order[k] = i;
    }
    for (int i = inner; apart && i < dims && random_below(3) > 0; i++) {
        const int t = order[i - 1];
        order[i - 1] = order[i];
        order[i] = t;
    }
    for (int i = 0; i < dims; i++)
        used += snprintf(out + used, cap - (size_t)used, "%d%s", order[i], i + 1 < dims ? "," : "}");
}

static void test_bytes(void **state) {
    (void)state;
    enum { TIMES = 400 };
    int found[5] = {0};
    random_state = 20261128; /* whatever else has been tested */
    for (int times = 0; times < TIMES / SAMPLED; times++) {
        const bool few = times % 3 == 0; /* bytes of a cell */
        const int  inner = few ? 2 : 2 + (int)random_below(4), outer = few ? 2 : (int)random_below(4),
                   apart = (int)random_below(4); /* in dst, in src, or on neither side */
        char       text[2][120];
        for (int side = 0; side < 2; side++) {
            const int used = side == 0 ? random_head(text[0], sizeof text[0], inner + outer, inner, few)
                                       : (int)(strchr(text[0], ']') - text[0]) + 1;
            memcpy(text[side], text[0], (size_t)used);
            put_order(text[side] + used, sizeof text[side] - (size_t)used, inner + outer, inner, apart == side);
        }
        const tg_layout d = layout_of(text[0]), s = layout_of(text[1]);
        found[way_of(text[0], text[1], true)]++;
        check_far(&d, &s);
        check_move(&d, &s);
    }
    assert_true(found[NEITHER] > 0);
    if (SAMPLED > 1 || (tg_cpu_features() & TG_CPU_AVX512) == 0) return;
    if (found[CELLS] < 50 || found[TURNED] < 4 || found[LINED] < 5 || found[CROSSED] < 1)
        fail_msg("cells %d, turned %d, lines %d, crossed %d", found[CELLS], found[TURNED], found[LINED],
                 found[CROSSED]);
}

/* Padding between cells, and behind them, which other boxes write; blocks of several steps of outer. */
static void test_beside(void **state) {
    (void)state;
    static const char *const moves[][2] = {
        {"c64[3,2,3812]{1,2,0:T(8,1)(1)}", "c64[3,2,3812]{0,1,2}"},
        {"s16[9,2,2,169]{0,3,2,1:T(8,7,17)(1)}", "s16[9,2,2,169]{1,2,0,3}"},
        {"u8[6,3000]{0,1:T(8,128)(4,1)}", "u8[6,3000]{0,1}"},
        {"bf16[30,9]{1,0:T(8,128)(2,1)}", "bf16[30,9]"},
        {"c64[4,4,3,29]{2,0,1,3}", "c64[4,4,3,29] strides=[4,1,-36,36] offset=72"},
        {"bf16[2,2,2,28,126,5]{0,2,1,5,4,3}", "bf16[2,2,2,28,126,5]{1,0,2,4,5,3}"},
    };
    for (size_t i = 0; i < sizeof moves / sizeof moves[0]; i++) {
        const tg_layout d = layout_of(moves[i][0]), s = layout_of(moves[i][1]);
        check_far(&d, &s);
        check_move(&d, &s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_movers),
        cmocka_unit_test(test_lines_anywhere),
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_beside),
    };
    random_state = 20261128;
    return cmocka_run_group_tests_name("cells", tests, set_up, tear_down);
}
