/* Blocks of all boxes that leave for dst together; see combine_run.c. */
#ifndef TG_RELAYOUT_COMBINE_H
#define TG_RELAYOUT_COMBINE_H

#include "base/checked.h"
#include "relayout/plan.h"

enum {
    TG_COMBINED_BOXES = 16,
    TG_COMBINED_BYTES = 96 << 10, /* of the buffer */
    TG_COMBINED_ENOUGH = 16 << 10, /* of dst, which leave together */
    TG_COMBINED_REACH = 64 << 10, /* in dst, of one loop of a block, */
    TG_COMBINED_BLOCK = 80 << 10  /* and of a whole one, at most */
};

/* Of n steps as many as a chunk has where the nest is to be combined, so that chunks of several boxes end together. */
static inline int64_t tg_power_of_two(const tg_plan_private *p, int64_t n) {
    return !p->combines || n < 1 ? n : (int64_t)1 << (63 - __builtin_clzll((uint64_t)n));
}

/* The most steps of a loop, each of so many bytes of dst, in a block of a nest that is to be combined. */
static inline int64_t tg_combined_steps(const tg_plan_private *p, int64_t dst) {
    return !p->combines || dst <= 0 ? INT64_MAX : tg_power_of_two(p, tg_max(TG_COMBINED_REACH / dst, 1));
}

/* From its first byte in dst to behind its last one, or more: of ragged rows, and of tiles that are cut short. */
int64_t tg_block_reach(const tg_plan_private *p, const tg_box *box, const tg_block *b);

/* Is it worth passing parts of lines through one more buffer? Not where dst stays in a cache that takes them, as
 * between the sizes from which on transposes and runs go around the caches (23 MiB, a Zen 4, nine columns to
 * T(7,16): 1.1 ms, collected 2.2). */
static inline bool tg_pays_to_collect(const tg_plan_private *p, const tg_pair *pair) {
    return pair->tuning->combine || (p->stream && (pair->cpu & TG_CPU_COMBINES) != 0);
}

/* Do boxes of a nest leave parts of lines to each other, or one its rows, so that it should be combined? Then it is
 * made once more, with blocks cut accordingly (plan->combines). How many these may be, of the box that has the most,
 * without padding; 0: it stays as it is. */
int64_t tg_most_combined(const tg_plan_private *p, const tg_pair *pair);

/* Prepares a nest that was made for it; false if it cannot be combined, or is in too many blocks. */
bool tg_nest_combine(tg_plan_private *p, int64_t most);

#endif
