/* Moving: the parts of a relayout. */
#ifndef TEGULA_PYTHON_PLAN_H
#define TEGULA_PYTHON_PLAN_H

#include "py_array.h"

enum { PAD_BYTES = 16 }; /* the widest element, c128 */

/* py_pad.c: the bytes of `value` as an element of the layout: a number, a bool, or bytes of exactly one element. */
int core_get_pad(unsigned char out[PAD_BYTES], core_state *state, const tg_layout *layout, PyObject *value);

enum { MOST_THREADS = 1024 }; /* as of the command */

/* py_threads.c: threads that are started when a run is large enough for them, and gone when it ends. The executor
 * points to *threads, at most MOST_THREADS. */
tg_executor core_executor(const int32_t *threads);

#endif
