/* The random numbers of the tests: splitmix64. A test sets random_state to a seed, and prints it where it fails. */
#ifndef TG_TESTS_RANDOM_H
#define TG_TESTS_RANDOM_H

#include "base/compiler.h"

#include <stdint.h>

static uint64_t random_state;

/* Where a sanitizer looks, or another processor is imitated, tests of movers take ten times as long as they should;
 * then they take a third of their random cases. */
#if defined(TG_SANITIZED) || defined(TG_TESTS_IMITATED)
enum { SAMPLED = 3 };
#else
enum { SAMPLED = 1 };
#endif

static inline uint64_t random_bits(void) {
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [0, n). */
static inline int64_t random_below(int64_t n) { return (int64_t)(random_bits() % (uint64_t)n); }

#endif
