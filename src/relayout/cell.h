/* How the loops of a cell lie in lines: for those who choose it (cell_loops.c), list it (cells_run.c), and describe it
 * (describe.c). */
#ifndef TG_RELAYOUT_CELL_H
#define TG_RELAYOUT_CELL_H

#include "relayout/plan.h"

static inline int64_t tg_cell_step(const tg_loop *l, bool in_dst) { return in_dst ? l->dst : l->src; }

/* Of n loops, those that are inside of lines of a side, where they go on from neighbours without a gap: bit i, loop i.
 * *line: bytes of neighbours, then of a line. */
static inline uint32_t tg_loops_of_line(const tg_loop *loop, int32_t n, bool in_dst, int64_t *line) {
    uint32_t inside = 0;
    for (int32_t i = 0; i < n;) {
        const bool goes_on = (inside >> i & 1) == 0 && tg_cell_step(&loop[i], in_dst) == *line;
        if (goes_on) {
            inside |= 1u << i;
            *line *= loop[i].n;
        }
        i = goes_on ? 0 : i + 1;
    }
    return inside;
}

/* Bytes of a cell, and of it in each line of dst and of src; and which loops are inside of these, as above. */
typedef struct tg_cell_shape {
    int64_t  bytes, dst, src;
    uint32_t in_dst, in_src;
} tg_cell_shape;

static inline tg_cell_shape tg_cell_shape_of(const tg_loop *loop, int32_t n, int64_t unit) {
    tg_cell_shape s = {unit, unit, unit, 0, 0};
    for (int32_t i = 0; i < n; i++) s.bytes *= loop[i].n;
    s.in_dst = tg_loops_of_line(loop, n, true, &s.dst);
    s.in_src = tg_loops_of_line(loop, n, false, &s.src);
    return s;
}

/* Bytes of neighbours on both sides, of the cells of a box with these loops. (Short cells, which are transposed as wide
 * elements, are one line of dst.) */
static inline int64_t tg_cell_unit(const tg_box *box, const tg_loop *loop) {
    return box->family == TG_FAMILY_CELLS ? box->width : loop[0].dst;
}

#endif
