/* Counting through the blocks of a box: where each begins, and how much of it there is. */
#ifndef TG_RELAYOUT_ODOMETER_H
#define TG_RELAYOUT_ODOMETER_H

#include "relayout/plan.h"

/* Where blocks begin, counted through the loops above them. */
typedef struct tg_odometer {
    int64_t at[TG_BOX_LOOPS];
    int64_t dst, src;
} tg_odometer;

static inline void tg_odometer_set(tg_odometer *o, const tg_box *box, const tg_loop *loop, int64_t block) {
    o->dst = box->dst;
    o->src = box->src;
    for (int32_t i = box->nloops; i-- > 0;) {
        o->at[i] = block % loop[i].n;
        block /= loop[i].n;
        o->dst += o->at[i] * loop[i].dst;
        o->src += o->at[i] * loop[i].src;
    }
}

/* Behind the last block it is at the first one again, and says false. */
static inline bool tg_odometer_next(tg_odometer *o, const tg_box *box, const tg_loop *loop) {
    for (int32_t i = box->nloops; i-- > 0;) {
        o->dst += loop[i].dst;
        o->src += loop[i].src;
        if (++o->at[i] < loop[i].n) return true;
        o->at[i] = 0;
        o->dst -= loop[i].n * loop[i].dst;
        o->src -= loop[i].n * loop[i].src;
    }
    return false;
}

/* A block at the end of its ragged loop, or one before. */
static inline void tg_end_ragged(tg_block *b, const tg_block *most, bool end) {
    b->ragged = end ? most->ragged : TG_RAGGED_NOT;
    b->tail = end ? most->tail : 0;
}

/* The last chunk of a loop of the block may be smaller, and the tail is behind the last one. */
static inline void tg_clip(tg_block *b, const tg_box *box, const tg_loop *loop, const tg_odometer *o) {
    const tg_block *most = &box->block;
    for (int32_t i = 0; i < box->nloops; i++) {
        const int64_t at = o->at[i];
        switch (loop[i].chunks_of) {
        case TG_BLOCK_OUTER:
            b->outer = tg_min(most->outer, box->total[TG_BLOCK_OUTER] - at * most->outer);
            if (most->ragged == TG_RAGGED_OUTER) tg_end_ragged(b, most, at + 1 == loop[i].n);
            break;
        case TG_BLOCK_ROWS:
            b->rows = tg_min(most->rows, box->total[TG_BLOCK_ROWS] - at * most->rows);
            if (most->ragged == TG_RAGGED_ROWS) tg_end_ragged(b, most, at + 1 == loop[i].n);
            break;
        case TG_BLOCK_COLS:
            b->cols = tg_min(most->cols, box->total[TG_BLOCK_COLS] - at * most->cols);
            b->tail = at + 1 == loop[i].n ? most->tail : 0;
            break;
        default: break; /* TG_NO_LOOP */
        }
    }
}

#endif
