/* Which lines of 64 bytes a move has to touch, and in which loops: what is left of it without work on elements.
 *
 * A piece is what lies side by side in memory, 128 bytes at most: of dst with its padding, of src without. The
 * smallest box of elements that is whole pieces of both sides makes a tile:
 *
 *     from                    to                         box                   lines read   written
 *     row-major               sticks of f16              1 x 64                     2           2
 *     row-major               sticks along rows          64 x 64                  128         128
 *     row-major bf16          T(8,128)(2,1)              2 x 64                     4           4
 *     row-major f32           sticks of bf16             1 x 64                     4           2
 *     one f16 per stick       f16 side by side           64                        64           2
 *     f16 side by side        one f16 per stick          64                         2         128
 *
 * The tile is the same everywhere; loops say where it begins. A dimension that the box does not divide ends with a
 * tile that begins earlier, in a nest of its own. Where padding of dst has no counterpart, src is read as if it went
 * on; where a row of dst ends within a piece, the rest of that piece is written into the next row. */
#ifndef BENCH_TOUCHED_H
#define BENCH_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tegula/tegula.h>

enum { LINE = 64, MOST_LINES = 256, MOST_LOOPS = 8, MOST_NESTS = 8, MOST_RUNS = 4 };

/* n steps of so many bytes. */
typedef struct loop {
    int64_t n, dst, src;
} loop;

/* Loops, outermost first, from where the first tile begins. */
typedef struct nest {
    int32_t nloops;
    loop    loop[MOST_LOOPS];
    int64_t dst, src;
} nest;

/* Elements side by side, innermost first: n along a dimension, then as many such runs along the next one. */
typedef struct piece {
    int32_t nruns;
    int32_t dim[MOST_RUNS];
    int64_t n[MOST_RUNS];
    int64_t extent[TG_MAX_NDIM]; /* the product of its n */
    int64_t bytes;
} piece;

typedef struct touched {
    piece   of_dst, of_src;
    int32_t nto, nfrom;
    int64_t to[MOST_LINES], from[MOST_LINES]; /* bytes from where a tile begins, ascending */
    int32_t nnests;
    nest    nest[MOST_NESTS];                 /* loops by dimension */
} touched;

/* room: bytes that may be touched of dst and of src, from their starts. False where elements are no whole bytes, places
 * are no sums over dimensions, elements share one, digits do not nest, or a line lies past the room. */
bool touched_find(touched *t, const tg_layout *dst, const tg_layout *src, size_t room);

#endif /* BENCH_TOUCHED_H */
