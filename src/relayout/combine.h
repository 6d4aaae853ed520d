/* Blocks of all boxes that leave for dst together; see combine_run.c. */
#ifndef TG_RELAYOUT_COMBINE_H
#define TG_RELAYOUT_COMBINE_H

#include "base/checked.h"
#include "relayout/plan.h"

enum {
    TG_COMBINED_BOXES = 16,
    TG_COMBINED_BYTES = 96 << 10, /* of the buffer */
    TG_COMBINED_ENOUGH = 16 << 10, /* of dst, which leave together */
    TG_COMBINED_REACH = 64 << 10, /* of one loop of a block in dst, at most */
    TG_COMBINED_BLOCK = 80 << 10  /* of all of them */
};

/* As many of n as chunks have where a nest may be combined: a power of two, so that those of several boxes end
 * together. */
static inline int64_t tg_even_chunk(const tg_plan_private *p, int64_t n) {
    return !p->combines || n < 1 ? n : (int64_t)1 << (63 - __builtin_clzll((uint64_t)n));
}

/* There, how many steps of so many bytes of dst are a block's, of one of its loops, at most. */
static inline int64_t tg_combined_steps(const tg_plan_private *p, int64_t dst) {
    return !p->combines || dst <= 0 ? INT64_MAX : tg_even_chunk(p, tg_max(TG_COMBINED_REACH / dst, 1));
}

/* Are columns bytes, or elements, that follow each other? */
static inline bool tg_is_run(const tg_box *box) {
    return box->family == TG_FAMILY_ROWS || box->route == TG_ROUTE_FILL || box->route == TG_ROUTE_CONVERT;
}

/* Bytes of what the block counts in dst. */
static inline int64_t tg_block_unit(const tg_plan_private *p, const tg_box *box) {
    switch (box->route) {
    case TG_ROUTE_FILL: return 1;
    case TG_ROUTE_TWICE: return p->as.nest.width[box->mover];
    case TG_ROUTE_CONVERT:
    case TG_ROUTE_GATHER:
    case TG_ROUTE_SCATTER: return p->dst_bits / 8;
    default: return box->width;
    }
}

/* From its first byte in dst to behind its last one, or more: of ragged rows, and of tiles that are cut short. */
int64_t tg_block_reach(const tg_plan_private *p, const tg_box *box, const tg_block *b);

/* Do boxes of a nest leave parts of lines to each other, so that it should be combined? Then it is made once more, with
 * blocks cut accordingly (plan->combines). */
bool tg_shares_lines(const tg_plan_private *p, const tg_pair *pair);

/* Of the box that has the most, without padding. */
int64_t tg_nest_blocks(const tg_nest *nest);

/* Prepares a nest that was made for it; false if it cannot be combined, or is in too many more blocks than before. */
bool tg_nest_combine(tg_plan_private *p, int64_t blocks);

#endif
