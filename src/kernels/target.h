/* Which part of a file may use which instructions.
 *
 * The library is compiled for the oldest processor of its family, without flags, by anybody's build.
 * Code for newer ones stands between TG_BEGIN_<SET> and TG_END, and is called only where
 * tg_cpu_features says that the processor has the set. */
#ifndef TG_KERNELS_TARGET_H
#define TG_KERNELS_TARGET_H

#include "base/compiler.h"

#define TG_PRAGMA(text) _Pragma(#text)

#if defined(__x86_64__) && defined(__clang__)
#  define TG_HAVE_X86 1
#  define TG_BEGIN(set) TG_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#  define TG_END        TG_PRAGMA(clang attribute pop)
#elif defined(__x86_64__) && defined(__GNUC__)
#  define TG_HAVE_X86 1
#  define TG_BEGIN(set) TG_PRAGMA(GCC push_options) TG_PRAGMA(GCC target(set))
#  define TG_END        TG_PRAGMA(GCC pop_options)
#else
#  define TG_HAVE_X86 0
#endif

#define TG_BEGIN_AVX2   TG_BEGIN("avx2,fma,f16c,bmi,bmi2,prfchw")
#define TG_BEGIN_AVX512 TG_BEGIN("avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,fma,f16c,bmi,bmi2,prfchw")
#define TG_BEGIN_AVX512_BF16 \
    TG_BEGIN("avx512bf16,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,fma,f16c,bmi,bmi2,prfchw")

/* Into the second-level cache. Into the first one is slower for more than a few streams: it has fewer places for
 * lines on their way. A Zen 5 has enough of them for eight. */
#define TG_FETCH(p)           __builtin_prefetch((p), 0, 2)
#define TG_FETCH_NEAR(p)      __builtin_prefetch((p), 0, 3)
/* Not by ?:, of which clang 14 crashes without optimisation. */
#define TG_FETCH_AS(p, near)        \
    do {                            \
        if (near) TG_FETCH_NEAR(p); \
        else TG_FETCH(p);           \
    } while (0)
/* A line that is written soon, into the first-level cache. A processor with AVX2 that lacks prfchw does nothing. */
#define TG_CLAIM(p) __builtin_prefetch((p), 1, 3)
/* So many bytes before it is written: 128 to 2048 are the same. */
#define TG_CLAIMED 256
/* From a run to the one whose first and last lines are, where others write the rest of these. */
#define TG_CLAIMED_RUNS 4
/* Compilers leave it behind the store before it. */
#define TG_FETCH_HERE(p, near)                \
    do {                                      \
        __asm__ volatile("" ::: "memory");    \
        TG_FETCH_AS(p, near);                 \
    } while (0)

#define TG_CLAIM_HERE(p)                      \
    do {                                      \
        __asm__ volatile("" ::: "memory");    \
        TG_CLAIM(p);                          \
    } while (0)

/* In front of a loop of few steps that must not remain one. */
#if defined(TG_SANITIZED)
#  define TG_UNROLL
#elif defined(__clang__)
#  define TG_UNROLL TG_PRAGMA(clang loop unroll(full))
#else
#  define TG_UNROLL TG_PRAGMA(GCC unroll 16)
#endif

/* For code that is unrolled hundreds of times: checks of undefined behaviour in each copy take clang minutes to
 * compile. Its callers, which make the addresses, are checked. */
#if defined(__clang__)
#  define TG_NO_CHECKS __attribute__((no_sanitize("undefined")))
#else
#  define TG_NO_CHECKS
#endif

#if defined(__aarch64__) && defined(__ARM_NEON)
#  define TG_HAVE_NEON 1
#else
#  define TG_HAVE_NEON 0
#endif

#endif
