/* Copying the lines that a move touches (touched.h), as they are, in several ways: no mover that reads and writes each
 * of them once can be much faster than the fastest of these. And, for a transpose, with its shuffles between loads and
 * stores: what a loop reaches that does nothing else, knows the width beforehand, and looks its places up in a list.
 * And, for sticks that begin inside of lines of dst, with each of these lines joined of two of src: all but the ends.
 * And, for sticks that are converted, with the conversion of normal numbers, which asks for nothing else.
 *
 *     order   dst, src, bands, blocks, as in tours.h
 *     stores  plain   with plain stores, nothing fetched
 *             around  around the caches, nothing fetched
 *             next    around the caches, and the tiles 8 KiB from here are fetched into the second-level cache
 *             512     around the caches; of each row of a tile the next 512 bytes are fetched at a time, row by row,
 *             1024    spread over the tiles until there; only where such tiles follow each other in src
 *
 * Stores go to the line in which a place lies, loads come from wherever the elements begin. */
#ifndef BENCH_LINE_COPIES_H
#define BENCH_LINE_COPIES_H

#include "tours.h"

enum { MOST_LINES_WAYS = 20, MOST_THREADS = 2 };

typedef enum lines_stores {
    STORES_PLAIN,
    STORES_AROUND,
    STORES_NEXT,
    STORES_512,
    STORES_1024,
    LINES_STORES
} lines_stores;

typedef struct lines {
    char               way[16];  /* "bands next", at most "blocks around" */
    char               name[32]; /* "lines bands next", "squares dst plain", "joined src next", "converted dst next" */
    lines_stores       stores;
    const touched     *touched;
    bool               converted; /* float16 to DLFloat16, or float32, of which lines are twice as many, to bfloat16 */
    int32_t            width; /* of elements that are turned: 1, 2, 4 or 8 bytes; 0: lines are copied as they are */
    int64_t            rows, to_step, from_step; /* if tiles are sticks at even steps, this many in a run; else 0 */
    int64_t            run, apart, to_last; /* of sticks that are joined: how many side by side in dst, or 0; their step
                                             * in src; from the first of a run to the last of the run before */
    int32_t            ntours; /* of each thread */
    tour               tour[MOST_THREADS][MOST_TOURS];
    uint8_t           *dst;
    const uint8_t     *src;
    const tg_executor *executor; /* NULL: the calling thread */
} lines;

/* All ways to copy these lines, or, if width is not 0, to turn them in squares, on as many threads as the executor has,
 * MOST_THREADS at most: an outer loop is cut. Returns how many there are: 0 on other machines than x86-64 with AVX-512.
 * *t must stay. */
int lines_ways(lines *out, const touched *t, int32_t width, uint8_t *dst, const uint8_t *src,
               const tg_executor *executor);

/* All ways to join sticks; 0 too where dst and its runs begin at lines, and on machines without VBMI. What comes before
 * the first stick of a run may be wrong, and what the last one leaves for the next line is not written. */
int joined_ways(lines *out, const touched *t, uint8_t *dst, const uint8_t *src, const tg_executor *executor);

/* All ways to convert sticks: 0 too where that is not float16 to DLFloat16, or float32 to bfloat16, both of a tile that
 * is one stick of dst. What is no normal number in src comes out wrong. */
int converted_ways(lines *out, const touched *t, const tg_layout *to, const tg_layout *from, uint8_t *dst,
                   const uint8_t *src, const tg_executor *executor);

/* The argument is a lines *. */
void lines_run(void *l);

#endif /* BENCH_LINE_COPIES_H */
