/* What compilers are told. */
#ifndef TG_BASE_COMPILER_H
#define TG_BASE_COMPILER_H

/* What compilers should lay out of the way, and what in a line. Only where calls must take no time: making a plan takes
 * two thirds of the time where its common path is one run of code. */
#define TG_RARELY(condition) __builtin_expect(!!(condition), 0)
#define TG_MOSTLY(condition) __builtin_expect(!!(condition), 1)

/* Functions between these two each begin with a line of the instruction cache, loops and what is jumped to at even
 * places, so that no code before them changes how long they take: a line more in one function was 5 % of a plan. And
 * their blocks stay in the order of the source, which makes fewer jumps of code that is run once (3 % of plans with
 * padding). */
#if defined(__GNUC__) && !defined(__clang__)
#define TG_ALIGN_FUNCTIONS         \
    _Pragma("GCC push_options")    \
    _Pragma("GCC optimize(\"align-functions=64\", \"align-loops=16\", \"align-jumps=32\")") \
    _Pragma("GCC optimize(\"reorder-blocks-algorithm=simple\")")
#define TG_ALIGN_FUNCTIONS_END _Pragma("GCC pop_options")
/* From here on loops begin with a line. */
#define TG_ALIGN_LOOPS _Pragma("GCC optimize(\"align-loops=64\")")
#else
#define TG_ALIGN_FUNCTIONS
#define TG_ALIGN_FUNCTIONS_END
#define TG_ALIGN_LOOPS
#endif

/* Where a sanitizer looks, or nothing is optimised, templates are functions: these are the same loads and stores in a
 * fifth of the code (the kernels of transposes without optimisation: 106 -> 1.3 seconds). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#  define TG_SANITIZED 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#    define TG_SANITIZED 1
#  endif
#endif
#if defined(TG_SANITIZED) || !defined(__OPTIMIZE__)
#  define TG_INLINE __attribute__((unused)) static
#else
#  define TG_INLINE __attribute__((always_inline)) static inline
#endif

/* A function of its own: its registers, or its stack, are not those of its caller. */
#define TG_OUTLINE __attribute__((noinline)) static

#endif
