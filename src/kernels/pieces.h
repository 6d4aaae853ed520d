/* Short runs that lie anywhere: the same piece of many lines.
 *
 * Where the tiles of both sides do not nest, a line of the tensor falls into pieces of uneven lengths, and all lines
 * fall into the same ones. Here are tiles of 6 columns that become tiles of 4, lines going down:
 *
 *     src     a b c d e f      g h i j k l          dst     a b c d      e f g h      i j k l
 *             . . . . . .      . . . . . .                  . . . .      . . . .      . . . .
 *     pieces  (4)     (2)      (2) (4)
 *
 * A piece is copied for all lines, with loads and stores that are chosen once. Nothing else is read or written: what is
 * no power of two is copied by two that overlap. */
#ifndef TG_KERNELS_PIECES_H
#define TG_KERNELS_PIECES_H

#include <stdbool.h>
#include <stdint.h>

/* Where something is on both sides, in bytes. */
typedef struct tg_place {
    int64_t dst, src;
} tg_place;

/* n bytes, n >= 1, of each of some lines; `stream`: whole cache lines around the caches, if n is large. The caller ends
 * with tg_stream_end. */
void tg_copy_piece(uint8_t *restrict dst, const uint8_t *restrict src, int64_t n, const tg_place *line, int64_t lines,
                   bool stream);

#endif
