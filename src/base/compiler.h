/* What compilers are told. */
#ifndef TG_BASE_COMPILER_H
#define TG_BASE_COMPILER_H

/* What compilers should lay out of the way, and what in a line. Only where calls must take no time: making a plan takes
 * two thirds of the time where its common path is one run of code. */
#define TG_RARELY(condition) __builtin_expect(!!(condition), 0)
#define TG_MOSTLY(condition) __builtin_expect(!!(condition), 1)

/* A function of its own: its registers, or its stack, are not those of its caller. */
#define TG_OUTLINE __attribute__((noinline)) static

#endif
