/* What the shuffles of a transpose take: one square of 64 bytes of 64 / width lines, turned again and again in the
 * first-level cache. The slower of this and of lines_run (touched.h) is the limit of a transpose: memory and shuffles
 * can at best go on at the same time. */
#ifndef BENCH_TURNED_H
#define BENCH_TURNED_H

#include <stdbool.h>
#include <stdint.h>

/* width: 1, 2, 4 or 8 bytes. False on other machines than x86-64 with AVX-512, and nothing is done. */
bool turn_squares(int64_t width, int64_t count);

#endif /* BENCH_TURNED_H */
