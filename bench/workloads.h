/* The moves that are measured, as notation text.
 *
 * A workload is two layouts and six shapes. In the text, $ stands for the whole shape ("16384,8192")
 * and $0, $1 for one number of it, so that a layout that depends on the shape can be said once. Numbers past
 * the dimensions are for the text alone:
 *
 *     a.stick.u8    u8[$]    ->  u8[$]{1,0:T($0,128)}    tiles as high as the tensor: [C/128][R][128]
 *     h.pitch.f16   f16[$] strides=[$2,1]                rows that lie $2 elements apart
 *
 * Sizes are those of the larger side: L 256 MiB (memory), N 64 MiB, M 8 MiB (third-level cache), S 512 KiB
 * (a quarter of a second-level cache of 2 MiB), H 256 KiB (of one of 1 MiB), T 4 KiB (8 KiB for d, 16 KiB for
 * d.restick.u8: its one tile). */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_L, SIZE_N, SIZE_M, SIZE_S, SIZE_H, SIZE_T, SIZES };
extern const char size_letters[SIZES + 1]; /* "LNMSHT" */

enum { WORKLOAD_NUMBERS = 11, WORKLOAD_TEXT = 256 };

typedef struct workload {
    const char *name;
    const char *type; /* for people: "f16", "f32 > bf16" */
    const char *src, *dst;
    int32_t     ndim;
    int64_t     shape[SIZES][WORKLOAD_NUMBERS];
    int32_t     dst_offset; /* bytes from a cache line to where dst begins */
} workload;

/* Those of the table, and then some of them again where dst is misaligned. i: [0, workload_count()). */
int32_t  workload_count(void);
workload workload_at(int32_t i);

/* "16384,8192" */
void workload_shape(char *buf, size_t cap, const workload *w, int size);

/* sizes: letters. filter: part of the name, or NULL. */
bool workload_chosen(const workload *w, int size, const char *sizes, const char *filter);

/* One of w's two texts with the shape filled in; WORKLOAD_TEXT is enough for any of ours. Text without a $ is as it
 * is. */
void workload_text(char *buf, size_t cap, const char *text, const workload *w, int size);

#endif /* BENCH_WORKLOADS_H */
