/* Blocks of packed elements as bytes, or of packed ones that begin at bytes, in a stage of lines for each side; bytes.c
 * chooses them, bytes_run.c moves them.
 *
 * What is not packed is no line: it is read, or written, where it is, unless padding has to go behind it. */
#ifndef TG_RELAYOUT_BYTES_H
#define TG_RELAYOUT_BYTES_H

#include "relayout/box.h"

/* From line to line, which may not touch each other. */
static inline int64_t tg_bytes_pitch(int64_t length) {
    enum { UNIT = 16 };
    return (length + 2 * TG_SPREAD_BEFORE + UNIT - 1) / UNIT * UNIT;
}

/* Of each of the two stages of bytes: 128 lines of 128, and what is between them. */
enum { TG_LINES_BYTES = 20 << 10 };

static inline bool tg_bytes_staged(const tg_draft *d, bool in_dst) {
    return in_dst ? d->dst_width == 0 || d->tail > 0 : d->src_width == 0;
}

/* bytes.c: only conversions that keep every value, of packed elements to bytes or back. */
bool tg_can_spread(const tg_plan_private *plan);

/* bytes.c: the block of d->box if two or four rows take turns (kernels/turns.c), of whole bytes in the end; steps still
 * in elements. */
bool tg_draft_turns(tg_draft *d);
/* The same of up to eight rows, of which some may be missing on one side. */
bool tg_draft_eights(tg_draft *d);
/* The same of a matrix, if that goes better as if it began inside of bytes; bytes.c tells when. */
bool tg_draft_bands(tg_draft *d);

/* bytes.c: all steps of its loops in bytes; those of neighbours, which are less, are not used from then on. */
void tg_draft_steps_to_bytes(tg_draft *d);
/* packed_loops.c: cells as the block of d->box, if it has such, whole bytes in the end; steps still in elements. */
bool tg_draft_packed_cell(tg_draft *d);

/* bytes.c: the block of d->box, steps still in elements; false where bytes are no way. */
bool tg_draft_bytes(tg_draft *d);

#endif
