/* How the loops of a cell lie in lines: for those who choose it (cell_loops.c), and those who list it (cells_run.c). */
#ifndef TG_RELAYOUT_CELL_H
#define TG_RELAYOUT_CELL_H

#include "relayout/plan.h"

/* The step of a loop on the side that has lines. */
static inline int64_t tg_line_step(const tg_loop *l, bool to_lines) { return to_lines ? l->dst : l->src; }

/* Of n loops as they go on without a gap on one side, those that are inside of a line on the other one: bit i, loop i.
 * *line: bytes of neighbours, then of a line. */
static inline uint32_t tg_loops_of_line(const tg_loop *loop, int32_t n, bool to_lines, int64_t *line) {
    uint32_t inside = 0;
    for (int32_t i = 0; i < n;) {
        const bool goes_on = (inside >> i & 1) == 0 && tg_line_step(&loop[i], to_lines) == *line;
        if (goes_on) {
            inside |= 1u << i;
            *line *= loop[i].n;
        }
        i = goes_on ? 0 : i + 1;
    }
    return inside;
}

/* Bytes of neighbours on both sides, of the cells of a box with these loops. (Short cells, which are transposed as wide
 * elements, have no lines of dst.) */
static inline int64_t tg_cell_unit(const tg_box *box, const tg_loop *loop) {
    return box->family == TG_FAMILY_CELLS ? box->width : loop[0].dst;
}

#endif
