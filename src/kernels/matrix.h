/* What a transpose moves: lines of src to rows of dst (transpose.c).
 *
 * The lines of one side count through outer and the inner loop where these make one run on the other side. */
#ifndef TG_KERNELS_MATRIX_H
#define TG_KERNELS_MATRIX_H

#include "kernels/stream.h"
#include "kernels/target.h"

enum { STICK = TG_STICK_BYTES, MAX_SIDE = 128 };

typedef struct loops {
    int64_t n, inner, step, outer; /* line i begins at i / inner * outer + i % inner * step */
} loops;

typedef struct matrix {
    uint8_t       *d;
    const uint8_t *s;
    int64_t        width;
    loops          src, dst; /* src.n columns, each a line of src; dst.n rows */
    int64_t        cols;     /* src.n and the padding */
    int64_t        outer, dst_outer, src_outer; /* so many matrices */
    int64_t        first;    /* columns before this one are done, or are the seam's */
    const uint8_t *pad;      /* as long as a tile is deep */
    bool           stream;   /* around the caches: rows begin at cache lines, or are cut there: */
    int64_t        lead;     /* columns before the first cache line of a row */
    int64_t        group_rows; /* of so many rows each is followed by the next one */
    int64_t        seam;     /* pipeline of seams alone: bytes of a row in its last stick */
    bool           joined;   /* and the last row of a matrix is followed by the next one */
    bool           seams;    /* these go so */
    bool           claims;   /* lines of dst are asked for before, and parts of lines stored plainly; evenly spaced
                              * lines of src are fetched, too, into the first-level cache */
    bool carried; /* around the caches: rows begin anywhere, and some go on from stick to stick in a buffer */
    bool           far, fetches; /* as in the mover */
    bool           even;     /* into a cache; lines are evenly spaced, and so are rows, or groups of them: */
    int64_t        group, pair; /* bytes from groups 0 and 2 to the next one, and from group 0 to group 2 */
    bool           halves;   /* and squares' lines crowd each other: by half squares */
    bool           crowded;  /* lines of a stick do */
    bool           solid;    /* far; src is one piece of memory, its lines are sticks */
    bool           between;  /* around the caches, later lines are fetched between stores */
    bool           staged;   /* it goes through the pipeline, as far as there are whole sticks */
    int64_t        part;     /* the last columns, not enough for a stick, are so many, or a multiple, with some before
                              * them that are written twice; or 0 */
    bool           near;     /* the pipeline fetches into the first-level cache, */
    bool           fours;    /* or four sticks of each line at once, with every fourth tile */
} matrix;

TG_INLINE int64_t line_offset(const loops *l, int64_t i) {
    return i < l->inner ? i * l->step : i / l->inner * l->outer + i % l->inner * l->step;
}

#endif
