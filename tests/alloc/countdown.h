/* Which allocation fails; for programs linked with --wrap=malloc and the like. */
#ifndef TG_TESTS_COUNTDOWN_H
#define TG_TESTS_COUNTDOWN_H

#include <stdbool.h>

static int countdown = -1; /* allocations until one fails; negative: none does */
static int made;           /* since countdown began */

static bool fails_now(void) {
    if (countdown < 0) return false;
    made++;
    return countdown-- == 0;
}

#endif
