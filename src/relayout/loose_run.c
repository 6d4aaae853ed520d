/* Blocks of packed elements that begin inside of bytes, as those of a matrix do whose rows are no whole bytes. Here are
 * two rows of five s4, and bytes below:
 *
 *     a b c d e f g h i j        rows begin at elements 0 and 5, the second one in the middle of byte 2
 *     [0] [1] [2] [3] [4]
 *
 * Places and steps are elements. Runs are copied with shifts; bytes at their ends in dst keep what is not the run's. */
#include "base/checked.h"
#include "relayout/plan.h"

static void move_run(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t to, const uint8_t *src,
                     int64_t from, const tg_block *b) {
    if (box->route == TG_ROUTE_FILL) (void)tg_fill(dst, to, b->cols, b->pad, p->dst_bits);
    else tg_copy_packed(dst, to, src, from, b->cols, p->dst_bits);
    if (b->tail > 0) (void)tg_fill(dst, to + b->cols, b->tail, b->pad, p->dst_bits);
}

/* Along dst some runs at a time, all of src for these: as many streams for the prefetchers, as in rows.c. */
static void move_runs(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                      int64_t src_at, const tg_block *b) {
    const bool    rows_near = b->outer == 1 || tg_magnitude(b->dst_row) <= tg_magnitude(b->dst_outer);
    const tg_loop rows = {b->rows, b->dst_row, b->src_row, TG_NO_LOOP};
    const tg_loop outer = {b->outer, b->dst_outer, b->src_outer, TG_NO_LOOP};
    const tg_loop near = rows_near ? rows : outer, far = rows_near ? outer : rows;
    for (int64_t band = 0; band < near.n; band += TG_STREAMS)
        for (int64_t f = 0; f < far.n; f++)
            for (int64_t i = band; i < tg_min(band + TG_STREAMS, near.n); i++)
                move_run(p, box, dst, dst_at + f * far.dst + i * near.dst, src, src_at + f * far.src + i * near.src,
                         b);
}

void tg_loose_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, int64_t dst_at, const uint8_t *src,
                    int64_t src_at, const tg_block *b) {
    move_runs(p, box, dst, dst_at, src, src_at, b);
}
