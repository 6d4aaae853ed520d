/* What a plan knows: two sides, a kernel, and how the iteration space is cut.
 *
 * The space is the box of all dimensions. One dimension, `col`, runs inside a kernel call and so does
 * a block of another, `row`; the rest are outer loops. Work is counted in units: one coordinate of
 * the outer loops x one block of rows x one chunk of columns. Units are numbered row-major with the
 * outer loops by decreasing destination stride, so neighbouring units write neighbouring memory, and
 * steps and tasks are ranges of units. */
#ifndef TG_RELAYOUT_PLAN_H
#define TG_RELAYOUT_PLAN_H

#include "kernels/kernels.h"
#include "relayout/side.h"

enum { TG_NO_ROW = -1 };

struct tg_plan {
    tg_layout   dst_layout, src_layout;
    tg_encoding dst_encoding, src_encoding; /* kind NONE if only copied */
    tg_kernel   kernel;
    tg_side     dst, src;

    bool    verify_pad;  /* the caller gave a pad element */
    bool    write_pad;   /* and there is padding */
    bool    serial;      /* tasks could share a byte */
    uint8_t pad[16];
    int32_t threads;

    int32_t ndim;
    int64_t size[TG_MOVE_DIMS];
    int32_t nouter;
    int32_t outer[TG_MOVE_DIMS]; /* dimensions, outermost first */
    int32_t row, col;            /* row: TG_NO_ROW if there is none */
    int64_t row_block, row_blocks;
    int64_t tile_cols;           /* columns of one kernel call, at most */
    int64_t col_chunk, col_chunks;
    int64_t units, units_per_step, steps;
    int64_t unit_bytes;          /* of src, about */
};

#endif
