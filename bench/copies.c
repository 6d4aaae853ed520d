/* Buffers, and the copies that moves are compared with. */
#define _DEFAULT_SOURCE
#include "copies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#  include <immintrin.h>
#endif

/* ---- buffers ---- */

void *buffer_make(size_t size) {
    const size_t huge = (size_t)2 << 20, rounded = (size + huge - 1) / huge * huge;
    void *const  p = aligned_alloc(huge, rounded);
    if (p == NULL) {
        fprintf(stderr, "bench_relayout: no memory for %zu bytes\n", rounded);
        exit(1);
    }
    (void)madvise(p, rounded, MADV_HUGEPAGE);
    memset(p, 1, rounded);
    return p;
}

bool buffers_fit(const char *program, const char *move, int64_t each_side) {
    const int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    if (each_side <= memory / 4) return true;
    fprintf(stderr, "%s: %s: twice %lld bytes do not fit into half of this machine's memory\n", program, move,
            (long long)each_side);
    return false;
}

/* Bits that are cleared and set: exponents stay clear of both ends. For f16 that is 8 .. 15 without those
 * whose lowest bit but one is set, near 1; read as bf16 or as DLFloat16 the same bits are normal too. */
static void masks(uint64_t *keep, uint64_t *set, tg_dtype dtype) {
    *keep = dtype == TG_F64 ? 0xbfffffffffffffffu : dtype == TG_F32 ? 0xbfffffffbfffffffu
          : dtype == TG_BF16 ? 0xbfffbfffbfffbfffu : dtype == TG_F16 ? 0xb7ffb7ffb7ffb7ffu
          : dtype == TG_S64 ? 7 : dtype == TG_S32 || dtype == TG_U32 ? 0x0000000700000007u
          : dtype == TG_S16 ? 0x0007000700070007u : dtype == TG_S8 ? 0x0707070707070707u : UINT64_MAX;
    *set = dtype == TG_F64 ? 0x2000000000000000u : dtype == TG_F32 ? 0x2000000020000000u
         : dtype == TG_BF16 ? 0x2000200020002000u : dtype == TG_F16 ? 0x2400240024002400u : 0;
}

void buffer_fill(void *p, size_t size, tg_dtype dtype) {
    uint64_t x = 88172645463325252u, keep, set;
    masks(&keep, &set, dtype);
    for (size_t i = 0; i + 8 <= size; i += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const uint64_t v = (x & keep) | set;
        memcpy((uint8_t *)p + i, &v, 8);
    }
}

/* Four chains, so that one waits for memory and not for multiplication. */
uint64_t buffer_checksum(const void *p, size_t size) {
    uint64_t h[4] = {1, 2, 3, 4};
    size_t   i = 0;
    for (; i + 32 <= size; i += 32) {
        uint64_t v[4];
        memcpy(v, (const uint8_t *)p + i, 32);
        for (int k = 0; k < 4; k++) h[k] = ((h[k] ^ v[k]) * 1099511628211u) ^ h[k] >> 29;
    }
    for (; i < size; i++) h[0] = (h[0] ^ ((const uint8_t *)p)[i]) * 1099511628211u;
    return h[0] ^ h[1] * 3 ^ h[2] * 5 ^ h[3] * 7;
}

void buffer_read(const void *p, size_t size) {
    const volatile uint8_t *const bytes = p;
    for (size_t i = 0; i < size; i += 64) (void)bytes[i];
}

/* ---- copies ---- */

static void run_part(void *arg, size_t i) {
    const copy_job *job = arg;
    const size_t    n = (size_t)job->executor->threads, part = job->size / n & ~(size_t)4095, from = part * i;
    job->part(job->dst + from, job->src + from, i + 1 == n ? job->size - from : part);
}

void copy_run(void *context) {
    copy_job *job = context;
    if (job->executor == NULL) job->part(job->dst, job->src, job->size);
    else job->executor->run(job->executor->context, run_part, job, (size_t)job->executor->threads);
}

void part_memcpy(uint8_t *dst, const uint8_t *src, size_t size) { memcpy(dst, src, size); }

void part_memset(uint8_t *dst, const uint8_t *src, size_t size) {
    (void)src;
    memset(dst, 0, size);
}

#if defined(__x86_64__)

#  define LINE_512(d, s) _mm512_stream_si512((void *)(d), _mm512_loadu_si512((const void *)(s)))
#  define LINE_256(d, s)                                                                            \
      do {                                                                                          \
          _mm256_stream_si256((__m256i *)(d), _mm256_loadu_si256((const __m256i *)(s)));            \
          _mm256_stream_si256((__m256i *)(d) + 1, _mm256_loadu_si256((const __m256i *)(s) + 1));    \
      } while (0)

/* How much lies before the first whole line of dst. */
static size_t head_bytes(const uint8_t *dst, size_t n) {
    const size_t head = -(uintptr_t)dst & 63;
    return head < n ? head : n;
}

/* Lines in turn from STREAMS pages; what is left over goes through memcpy. */
#  define NTCOPY(NAME, TARGET, LINE, STREAMS)                                                       \
      __attribute__((target(TARGET))) static void NAME(uint8_t *dst, const uint8_t *src, size_t n) { \
          enum { PAGE = (STREAMS) == 1 ? 64 : 4096, GROUP = PAGE * (STREAMS) };                     \
          size_t i = head_bytes(dst, n);                                                            \
          if (i > 0) memcpy(dst, src, i);                                                           \
          for (; i + GROUP <= n; i += GROUP)                                                        \
              for (size_t k = i; k < i + PAGE; k += 64)                                             \
                  for (size_t s = 0; s < GROUP; s += PAGE) LINE(dst + k + s, src + k + s);          \
          _mm_sfence();                                                                             \
          memcpy(dst + i, src + i, n - i);                                                          \
      }

NTCOPY(ntcopy1_512, "avx512f", LINE_512, 1)
NTCOPY(ntcopy8_512, "avx512f", LINE_512, 8)
NTCOPY(ntcopy1_256, "avx2", LINE_256, 1)
NTCOPY(ntcopy8_256, "avx2", LINE_256, 8)

copy_part part_ntcopy(int streams) {
    if (__builtin_cpu_supports("avx512f")) return streams == 1 ? ntcopy1_512 : ntcopy8_512;
    if (__builtin_cpu_supports("avx2")) return streams == 1 ? ntcopy1_256 : ntcopy8_256;
    return NULL;
}

const char *ntcopy_name(void) {
    return __builtin_cpu_supports("avx512f") ? "AVX-512" : __builtin_cpu_supports("avx2") ? "AVX2" : "none";
}

#else

copy_part part_ntcopy(int streams) {
    (void)streams;
    return NULL;
}

const char *ntcopy_name(void) { return "none"; }

#endif
