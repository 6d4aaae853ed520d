/* What the compiler's run-time library says of the processor; it asks that, and the operating system whether it keeps
 * the wide registers. clang 14 has no name for f16c here; every processor with AVX2 has it. */
#include "kernels/cpu.h"

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
 * 1.6 times as fast, sticks and tiles 1.1 to 1.15 times, and as fast as memcpy; a Zen 4 gains nothing by them.
 * Combining makes images out of tiles, 64 MiB, 1.4 to 1.7 times as fast on either; of a Zen 5 that is not known. */
static uint32_t likes_x86(void) {
    if (__builtin_cpu_is("intel")) return TG_CPU_SPARING | TG_CPU_CLAIMS | TG_CPU_COMBINES | TG_CPU_STORES_SLOWLY;
    if (!__builtin_cpu_is("amd")) return 0;
    return TG_CPU_COMBINES | TG_CPU_STORES_FAST |
           (__builtin_cpu_supports("avx512vp2intersect") ? TG_CPU_FEW_STREAMS : 0);
}
#endif

uint32_t tg_cpu_known;

uint32_t tg_cpu_ask(void) {
    uint32_t cpu = TG_CPU_ASKED;
#if TG_HAVE_X86
    cpu |= features_x86(); /* asks the processor */
    cpu |= likes_x86();
#elif TG_HAVE_NEON
    cpu |= TG_CPU_NEON;
#endif
    __atomic_store_n(&tg_cpu_known, cpu, __ATOMIC_RELAXED);
    return cpu;
}
