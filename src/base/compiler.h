/* What compilers are told. */
#ifndef TG_BASE_COMPILER_H
#define TG_BASE_COMPILER_H

/* What compilers should lay out of the way, and what in a line. Only where calls must take no time: making a plan takes
 * two thirds of the time where its common path is one run of code. */
#define TG_RARELY(condition) __builtin_expect(!!(condition), 0)
#define TG_MOSTLY(condition) __builtin_expect(!!(condition), 1)

/* Functions between these two each begin with a line of the instruction cache, loops and what is jumped to at even
 * places, so that no code before them changes how long they take: a line more in one function was 5 % of a plan. */
#if defined(__GNUC__) && !defined(__clang__)
#define TG_ALIGN_FUNCTIONS         \
    _Pragma("GCC push_options")    \
    _Pragma("GCC optimize(\"align-functions=64\", \"align-loops=16\", \"align-jumps=32\")")
#define TG_ALIGN_FUNCTIONS_END _Pragma("GCC pop_options")
#else
#define TG_ALIGN_FUNCTIONS
#define TG_ALIGN_FUNCTIONS_END
#endif

/* A function of its own: its registers, or its stack, are not those of its caller. */
#define TG_OUTLINE __attribute__((noinline)) static

#endif
