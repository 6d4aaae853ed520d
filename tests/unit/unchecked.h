/* For a judge of the tests that touches its own memory alone, one byte after the other: checked by a sanitizer it takes
 * longer than all that it judges, and what is looked for is not in it. Whatever calls the library stays checked. */
#ifndef TG_TESTS_UNCHECKED_H
#define TG_TESTS_UNCHECKED_H

#if defined(__clang__)
#  define TG_UNCHECKED __attribute__((no_sanitize("address", "undefined", "coverage")))
#else
#  define TG_UNCHECKED __attribute__((no_sanitize("address"), no_sanitize("undefined")))
#endif

#endif
