/* What the shuffles of a move take, again and again in the first-level cache. The slower of this and of the lines that
 * the move touches (line_copies.h) is its limit: memory and shuffles can at best go on at the same time. */
#ifndef BENCH_TURNED_H
#define BENCH_TURNED_H

#include <stdbool.h>
#include <stdint.h>

/* Squares of a transpose: 64 bytes of 64 / width lines each. width: 1, 2, 4 or 8 bytes. Both return false on other
 * machines than x86-64 with AVX-512, and then nothing is done. */
bool turn_squares(int64_t width, int64_t count);

/* Two rows of 64 elements of two bytes, 256 bytes of (2,1) each time: their elements taken in turn. */
bool interleave_pairs(int64_t count);

#endif /* BENCH_TURNED_H */
