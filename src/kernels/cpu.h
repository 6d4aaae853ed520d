/* What the processor can do, and likes: one word of bits, which is asked for once. A plan is made in 100 ns, and
 * the questions to the compiler's run-time library, each of which waits for the answer before, took 12. */
#ifndef TG_KERNELS_CPU_H
#define TG_KERNELS_CPU_H

#include "base/compiler.h"

#include <tegula/tegula.h>

/* Bits behind those of tegula.h: an instruction, and what a processor likes. */
enum {
    TG_CPU_BF16 = 1 << 8, /* makes bfloat16 of float32; counts where AVX-512 does */
    /* Loads, fetches and stores around the caches share few places for lines on their way. Then fetches are spared, and
     * what is stored is stored in whole runs, even by way of a stage (transpose.c) or another order (rows.c). */
    TG_CPU_SPARING = 1 << 9,
    /* Memory is read fastest in one long walk, wherever its pieces are to be written, or else with fetches into the
     * first-level cache; and the second-level cache is written so, wherever the pieces come from. */
    TG_CPU_FEW_STREAMS = 1 << 10,
    /* Stores into the second-level cache wait for their lines, unless these were asked for before, to be written
     * (TG_CLAIM). */
    TG_CPU_CLAIMS = 1 << 11,
    /* Its third-level cache takes stores as fast as a core makes them, or not; of others nothing is known. */
    TG_CPU_STORES_FAST = 1 << 12,
    TG_CPU_STORES_SLOWLY = 1 << 13,
    /* Parts of lines that go to memory are worth collecting in a buffer first. */
    TG_CPU_COMBINES = 1 << 14,
    TG_CPU_ASKED = 1 << 15 /* in tg_cpu_known alone */
};

/* 0 until asked; then TG_CPU_ASKED at least. Read and written by all threads, each of which finds the same. */
extern uint32_t tg_cpu_known;

/* Asks, and returns what is known from then on. */
uint32_t tg_cpu_ask(void);

/* What the processor can do and likes, as TG_CPU_* bits. */
static inline uint32_t tg_cpu_features(void) {
    const uint32_t known = __atomic_load_n(&tg_cpu_known, __ATOMIC_RELAXED);
    return (TG_MOSTLY(known != 0) ? known : tg_cpu_ask()) & ~(uint32_t)TG_CPU_ASKED;
}

/* From how many bytes on, read and written together, stores around the caches win. */
typedef struct tg_stream_bytes {
    int64_t runs, turned; /* of transposes, whose stores are scattered over dst */
} tg_stream_bytes;

/* Measured: the third-level cache of an EPYC takes stores as fast as cores make them, up to its size; that of a Xeon is
 * slower than memory written around it, so there the second-level cache decides (an Emerald Rapids, 2 MiB of it for
 * each core: transposes of 1.6 to 2.3 MiB are 1.3 to 2.5 times as fast into it, from 2.7 MiB on slower, runs from 2.6
 * MiB on; two threads of 3.2 to 4 MiB 1.25 to 2 times as fast, from 4.3 MiB on slower). One core of a Zen 5 writes
 * around the cache as fast as into it, two share what memory takes, not their caches.
 * `alone`: of one thread. */
static inline tg_stream_bytes tg_cpu_stream_bytes(uint32_t cpu, bool alone) {
    enum { MIB = 1 << 20 };
    if ((cpu & TG_CPU_STORES_SLOWLY) != 0) {
        const int64_t bytes = alone ? 5 * MIB / 2 : 4 * MIB;
        return (tg_stream_bytes){bytes, bytes};
    }
    const bool    fast = (cpu & TG_CPU_STORES_FAST) != 0, few_streams = (cpu & TG_CPU_FEW_STREAMS) != 0;
    const int64_t bytes = (fast && !(alone && few_streams) ? 24 : 12) * MIB;
    return (tg_stream_bytes){bytes, alone ? bytes / 2 : bytes};
}

#endif
