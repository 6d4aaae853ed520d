/* Buffers, and the copies that moves are compared with. */
#ifndef BENCH_COPIES_H
#define BENCH_COPIES_H

#include <stddef.h>
#include <stdint.h>

#include <tegula/tegula.h>

/* Bytes on 2 MiB boundaries, in huge pages where the system gives them, touched. Exits if there are none. */
void *buffer_make(size_t size);

/* Does half of the machine's memory hold both sides of a move? If not, a sentence on standard error says so. */
bool buffers_fit(const char *program, const char *move, int64_t each_side);

/* Random bits that are finite normal numbers as f16, f32, f64, bf16 and DLFloat16, and fit every other integer type as
 * s8, s16, s32, u32 and s64. */
void buffer_fill(void *p, size_t size, tg_dtype dtype);

/* Of all bytes; depends on their order. */
uint64_t buffer_checksum(const void *p, size_t size);

/* Read one byte of each line, so that other data leaves the caches. */
void buffer_read(const void *p, size_t size);

/* A copy (or fill) of `size` bytes, cut into as many equal parts as the executor has threads. */
typedef struct copy_job {
    uint8_t           *dst;
    const uint8_t     *src;
    size_t             size;
    const tg_executor *executor; /* NULL: the calling thread */
    void (*part)(uint8_t *dst, const uint8_t *src, size_t size);
} copy_job;

/* The argument is a copy_job *. */
void copy_run(void *job);

/* Values for copy_job.part. */
void part_memcpy(uint8_t *dst, const uint8_t *src, size_t size);
void part_memset(uint8_t *dst, const uint8_t *src, size_t size);

/* Stores that go around the caches, 64 or 32 bytes at a time, as one stream, or as eight in turn, one a page:
 * many memory systems read ahead better then. What lies before the first whole line of dst, or behind the last one, is
 * copied by memcpy. NULL where the machine has no such stores. */
typedef void (*copy_part)(uint8_t *dst, const uint8_t *src, size_t size);
copy_part    part_ntcopy(int streams);
const char  *ntcopy_name(void); /* "AVX-512", "AVX2", "none" */

#endif /* BENCH_COPIES_H */
