/* What the processor can do, and likes. The compiler's run-time library asks it, and the operating system whether it
 * keeps the wide registers. clang 14 has no name for f16c here; every processor with AVX2 has it. */
#include "kernels/move.h"
#include "kernels/target.h"

#if TG_HAVE_X86
static uint32_t features_x86(void) {
    uint32_t cpu = 0;
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
        cpu |= TG_CPU_AVX2;
    if ((cpu & TG_CPU_AVX2) != 0 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi"))
        cpu |= TG_CPU_AVX512;
    if ((cpu & TG_CPU_AVX512) != 0 && __builtin_cpu_supports("avx512bf16")) cpu |= TG_CPU_BF16;
    return cpu;
}

/* Measured (bench/README.md): an EPYC is faster with more fetches and fewer detours, and on a Zen 5, which can be told
 * from a Zen 4 by an instruction, in long walks. On an Emerald Rapids, 512 KiB, claims make rows that begin anywhere
 * 1.6 times as fast, sticks and tiles 1.1 to 1.15 times, and as fast as memcpy. */
static uint32_t likes_x86(void) {
    if (__builtin_cpu_is("intel")) return TG_CPU_SPARING | TG_CPU_CLAIMS;
    return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512vp2intersect") ? TG_CPU_FEW_STREAMS : 0;
}
#endif

/* Measured as well: the third-level cache of an EPYC takes stores as fast as cores make them, up to its size;
 * that of a Xeon is slower than memory written around it, so there the second-level cache decides (an Emerald Rapids,
 * 2 MiB of it for each core: transposes of 1.6 to 2.3 MiB are 1.3 to 2.5 times as fast into it, from 2.7 MiB on slower,
 * runs from 2.6 MiB on; two threads of 3.2 to 4 MiB 1.25 to 2 times as fast, from 4.3 MiB on slower). One core of a
 * Zen 5 writes around the cache as fast as into it, two share what memory takes, not their caches. */
tg_stream_bytes tg_cpu_stream_bytes(bool alone) {
    enum { MIB = 1 << 20 };
    int64_t bytes = 12 * MIB;
#if TG_HAVE_X86
    if (__builtin_cpu_is("intel")) {
        bytes = alone ? 5 * MIB / 2 : 4 * MIB;
        return (tg_stream_bytes){bytes, bytes};
    }
    if (__builtin_cpu_is("amd")) bytes = (alone && (tg_cpu_features() & TG_CPU_FEW_STREAMS) != 0 ? 12 : 24) * MIB;
#endif
    return (tg_stream_bytes){bytes, alone ? bytes / 2 : bytes};
}

uint32_t tg_cpu_features(void) {
#if TG_HAVE_X86
    const uint32_t features = features_x86(); /* asks the processor */
    return features | likes_x86();
#elif TG_HAVE_NEON
    return TG_CPU_NEON;
#else
    return 0;
#endif
}
