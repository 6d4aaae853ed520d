/* Which blocks one thread moves, of boxes that begin or end inside of bytes of dst: no two threads may write one byte.
 *
 * Of the loop that takes the longest steps in dst, all of a step lies before all of the next one, so it goes
 * around all others, and is parted only where so many steps are whole bytes:
 *
 *     s4[1021,1029] to columns, loops (n, dst) around blocks of 128 by 128      (9, 128 * 1021)   parted at any step
 *                                                                               (8, 128)          never parted
 *     rows of 1021 elements, one in a block                                     (1029, 1021)      at every second */
#include "relayout/box.h"

static bool is_chunked(const tg_nest *nest, const tg_box *box, int32_t which) {
    for (int32_t i = 0; i < box->nloops; i++)
        if (nest->loop[box->first + i].chunks_of == which) return true;
    return false;
}

/* Elements from the first to behind the last one that a loop of the block reaches, without that one; in one step of
 * the outermost loop. */
static int64_t reach(const tg_nest *nest, const tg_box *box, int32_t which, int64_t steps, int64_t step) {
    const bool outermost = box->nloops > 0 && nest->loop[box->first].chunks_of == which;
    const bool inside = which != TG_NO_LOOP && !outermost && is_chunked(nest, box, which);
    return ((inside ? box->total[which] : steps) - 1) * step;
}

/* The same of all of a box. */
static int64_t extent_of(const tg_nest *nest, const tg_box *box) {
    const tg_block      *b = &box->block;
    const tg_loop *const loop = &nest->loop[box->first], *const inner = loop + box->nloops;
    int64_t              extent = 1 + b->tail;
    for (int32_t i = 1; i < box->nloops; i++)
        if (loop[i].chunks_of == TG_NO_LOOP) extent += (loop[i].n - 1) * loop[i].dst;
    if (tg_has_tiles(box)) {
        for (int32_t i = 0; i < box->ncols + box->nrows; i++)
            extent += reach(nest, box, inner[i].chunks_of, inner[i].n, inner[i].dst);
        return extent;
    }
    return extent + reach(nest, box, TG_BLOCK_OUTER, b->outer, b->dst_outer) +
           reach(nest, box, TG_BLOCK_ROWS, b->rows, b->dst_row) + reach(nest, box, TG_BLOCK_COLS, b->cols, 1);
}

/* The loop with the longest steps in dst goes around the others. */
static void put_longest_first(tg_loop *loop, int32_t n) {
    int32_t longest = 0;
    for (int32_t i = 1; i < n; i++)
        if (loop[i].dst > loop[longest].dst) longest = i;
    const tg_loop first = loop[longest];
    for (int32_t i = longest; i > 0; i--) loop[i] = loop[i - 1];
    loop[0] = first;
}

/* So many steps are whole bytes. */
static int8_t whole_steps(int64_t step, int32_t bits) {
    int8_t n = 1;
    while (!tg_is_whole(n * (step % 8), bits)) n = (int8_t)(2 * n);
    return n;
}

/* The first box of those that write parts of bytes. */
static const tg_box *find_sharing(const tg_nest *nest, const tg_box *box) {
    for (const tg_box *b = nest->box; b < box; b++)
        if (b->together != 0) return b;
    return NULL;
}

/* May the box be parted where the others are? All that it writes in a step of its outermost loop lies inside of as long
 * a step from the first box on, and of any two of them the longer step is so many of the shorter one. */
static bool keeps_steps(const tg_nest *nest, const tg_box *first, const tg_box *box, int64_t extent) {
    const int64_t step = box->nloops > 0 ? nest->loop[box->first].dst : 0;
    if (step == 0 || box->dst < first->dst || box->dst + extent > first->dst + step) return false;
    for (const tg_box *b = first; b < box; b++) {
        if (b->together <= 0) continue;
        const int64_t other = nest->loop[b->first].dst;
        if (other % step != 0 && step % other != 0) return false;
    }
    return true;
}

/* What is not parted belongs to the last group, as the last step of the first box does. */
void tg_draft_together(tg_draft *d) {
    tg_nest       *nest = &d->plan->as.nest;
    tg_box        *box = d->box;
    tg_loop *const loop = &nest->loop[box->first];
    const tg_box  *first = find_sharing(nest, box);
    const int32_t  bits = d->plan->dst_bits;
    if (box->nloops > 0) put_longest_first(loop, box->nloops);
    const int64_t extent = extent_of(nest, box);
    const bool    alone = first == NULL && box->nloops > 0 && tg_is_whole(box->dst, bits) && extent <= loop->dst;
    const bool    can_follow = first != NULL && first->together != TG_NOT_PARTED;
    box->together = TG_NOT_PARTED;
    if (alone || (can_follow && keeps_steps(nest, first, box, extent))) {
        box->together = whole_steps(loop->dst, bits);
        return;
    }
    const tg_loop *const a = can_follow ? &nest->loop[first->first] : NULL;
    if (a != NULL && box->dst < first->dst + a->n * a->dst) d->plan->serial = true;
}
