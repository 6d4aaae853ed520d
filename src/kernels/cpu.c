/* What the processor can do. The compiler's run-time library asks it, and the operating system whether it
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
    return cpu;
}
#endif

uint32_t tg_cpu_features(void) {
#if TG_HAVE_X86
    return features_x86();
#elif TG_HAVE_NEON
    return TG_CPU_NEON;
#else
    return 0;
#endif
}
