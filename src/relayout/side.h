/* One side of a move: a layout as a function of the coordinates that both sides share.
 *
 * The offset is a sum of parts, one for each group of axes that digits tie together; without folds
 * a group is one dimension. So a loop over one dimension evaluates one group, and the rest stays.
 * Along a dimension the offset is linear until the first digit carries: tg_side_step says for how
 * long, and that is the length of the runs that kernels get. Example, one side of the Spyre default
 * for float16 (5, 100, 150), dimension 2 with digits of weight 64 (stride 320) and 1 (stride 1):
 *
 *     coordinate    0    64   128   150     steps found: 64 of slope 1 from offset 0,
 *     offset part   0   320   640           64 from 320, 22 (the size ends it) from 640
 *
 * Replicating modes of the destination become further dimensions that the source ignores. */
#ifndef TG_RELAYOUT_SIDE_H
#define TG_RELAYOUT_SIDE_H

#include <tegula/tegula.h>

enum {
    TG_MOVE_DIMS = TG_MAX_NDIM + TG_MAX_MODES, /* logical ones, then copies */
    TG_SIDE_AXES = TG_MOVE_DIMS + TG_MAX_AXES
};

typedef struct tg_digit {
    int64_t weight, stride;
    int32_t axis, into; /* into: TG_TO_MEMORY or an axis above `axis` */
} tg_digit;

typedef struct tg_side {
    int32_t  ndim, naxes;
    int32_t  ndigits;
    int64_t  offset;
    tg_digit digit[TG_MAX_MODES];
    /* derived by tg_side_finish */
    uint8_t first[TG_SIDE_AXES + 1]; /* digits of axis a: first[a] .. first[a + 1] - 1 */
    uint8_t group[TG_SIDE_AXES];     /* lowest axis of a's group */
    int8_t  next[TG_SIDE_AXES];      /* next axis of the same group, or -1 */
} tg_side;

/* Sizes of the dimensions of a move into dst; at least one dimension, also for a scalar. */
int32_t tg_move_dims(int64_t *size, const tg_layout *dst);

/* `with_copies`: the side's replicating modes are the dimensions after the logical ones. */
void tg_side_make(tg_side *out, const tg_layout *in, int32_t ndim, bool with_copies);

/* Make fewer and longer runs: merge digits, and fuse dimensions that are one dimension to both sides
 * (the fused away have size 1). False if a size overflows. Before tg_side_finish. */
bool tg_sides_simplify(tg_side *a, tg_side *b, int64_t *size);

void tg_side_finish(tg_side *side);

/* What the group of dimension d contributes to the offset at coordinate x, and how it goes on along
 * d: `slope` per step, for `length` >= 1 positions that begin here (sizes not considered). */
typedef struct tg_step {
    int64_t offset, slope, length;
} tg_step;

tg_step tg_side_step(const tg_side *side, int32_t d, const int64_t *x);

/* The same where all coordinates are 0, as a plan asks it. */
tg_step tg_side_start(const tg_side *side, int32_t d);

/* The offset without the groups of dimensions a and b. */
int64_t tg_side_base(const tg_side *side, int32_t a, int32_t b, const int64_t *x);

#endif
