/* Running boxes of route cells: the list of a cell, and then the blocks. */
#include "base/checked.h"
#include "kernels/cells.h"
#include "kernels/packed_cells.h"
#include "kernels/stream.h"
#include "relayout/cell.h"
#include "relayout/odometer.h"

enum {
    CELLS_BYTES = 30 << 10, /* of a stage, into the caches: more does not leave transposes their 60 KiB of stack */
    CELLS_BYTES_AROUND = 64 << 10,
    CELLS_LINES = 256,      /* of src that come into it at once, at most */
    CELLS_LINES_NEAR = 128
};

/* Of these loops, of which `most` cells follow each other. */
static void list_cell(tg_cells *c, const tg_box *box, const tg_loop *loop, int64_t most, tg_mover *mover) {
    const int64_t       unit = tg_cell_unit(box, loop);
    const tg_cell_shape s = tg_cell_shape_of(loop, box->ncols, unit);
    tg_cells_begin(c, unit);
    for (int32_t i = 0; i < box->ncols; i++) {
        const tg_cell_loop l = {loop[i].n, loop[i].dst, loop[i].src, s.in_dst >> i & 1, s.in_src >> i & 1};
        tg_cells_loop(c, &l);
    }
    tg_cells_end(c, most, mover);
}

static void move_listed(const tg_plan_private *p, const tg_box *box, const tg_mover *mover, uint8_t *dst,
                        const uint8_t *src, int64_t first, int64_t end) {
    const tg_loop *loop = &p->as.nest.loop[box->first];
    tg_block       b = box->block;
    tg_odometer    o;
    b.pad = p->pad;
    tg_odometer_set(&o, box, loop, first);
    for (; first < end; first++) {
        tg_clip(&b, box, loop, &o);
        (void)tg_mover_run(mover, dst + o.dst, src + o.src, &b);
        (void)tg_odometer_next(&o, box, loop);
    }
}

static void move_cells(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src, int64_t first,
                       int64_t end) {
    tg_mover mover = p->as.nest.mover[box->mover];
    tg_cells list;
    list_cell(&list, box, &p->as.nest.loop[box->first + box->nloops], box->block.cols, &mover);
    move_listed(p, box, &mover, dst, src, first, end);
}

static void turn_packed_cells(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              int64_t first, int64_t end) {
    const tg_loop *const   cols = &p->as.nest.loop[box->first + box->nloops], *const rows = cols + 1;
    const tg_packed_matrix matrix = {rows->n, cols->n, box->block.tail, cols->src};
    tg_mover               mover = p->as.nest.mover[box->mover];
    tg_packed_cells        list;
    tg_packed_cells_list(&list, &matrix, &mover);
    move_listed(p, box, &mover, dst, src, first, end);
}

/* Short cells, through a stage: as large as a part of the second-level cache, but in the first one for wide ones of
 * which all rows and lines begin at those of the cache, around it. (A Zen 4, 256 MiB, x memcpy, 16 KiB and 128 lines or
 * 64 and 256: [8192,8192] of [2,2] bytes 0.41 and 0.49, [5793,5792] of eight 0.47 and 0.59, of nine 0.30 and 0.35,
 * [4096,8192] of eight 0.72 and 0.52; 8 MiB, nine 0.19 and 0.26, and with 32 KiB 0.22, which the stack has room for.)
 */
static void turn_cells(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src, int64_t first,
                       int64_t end, tg_narrow stage) {
    const tg_loop *loop = &p->as.nest.loop[box->first];
    tg_mover       cells = p->as.nest.mover[box->in];
    tg_block       b = box->block;
    tg_cells       list;
    tg_odometer    o;
    const int64_t  places = b.dst_row | b.dst_outer | b.src_col | b.src_outer;
    if (tg_stores_around(p) && box->width % 8 == 0 && places % TG_LINE_BYTES == 0) {
        stage.room = TG_STAGE_BYTES;
        stage.lines = CELLS_LINES_NEAR;
    }
    list_cell(&list, box, loop + box->nloops, TG_CELL_BYTES / box->width, &cells);
    stage.in = &cells;
    stage.each = list.src.line;
    tg_odometer_set(&o, box, loop, first);
    for (; first < end; first++) {
        tg_clip(&b, box, loop, &o);
        (void)tg_narrow_through(p, box, &stage, dst + o.dst, src + o.src, &b);
        (void)tg_odometer_next(&o, box, loop);
    }
}

/* Functions of their own, for their stages. */
TG_OUTLINE void turn_into_caches(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                                 int64_t first, int64_t end) {
    _Alignas(64) uint8_t bytes[CELLS_BYTES];
    turn_cells(p, box, dst, src, first, end, (tg_narrow){NULL, bytes, CELLS_BYTES, CELLS_LINES, 0});
}

TG_OUTLINE void turn_around_caches(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                                   int64_t first, int64_t end) {
    _Alignas(64) uint8_t bytes[CELLS_BYTES_AROUND];
    turn_cells(p, box, dst, src, first, end, (tg_narrow){NULL, bytes, CELLS_BYTES_AROUND, CELLS_LINES, 0});
}

void tg_cells_run(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src, int64_t first,
                  int64_t end) {
    if (box->family == TG_FAMILY_PACKED_CELLS) turn_packed_cells(p, box, dst, src, first, end);
    else if (box->family == TG_FAMILY_CELLS) move_cells(p, box, dst, src, first, end);
    else if (tg_stores_around(p)) turn_around_caches(p, box, dst, src, first, end);
    else turn_into_caches(p, box, dst, src, first, end);
}
