/* Elements of constants. */
#ifndef TG_GRAPH_LITERAL_H
#define TG_GRAPH_LITERAL_H

#include <tegula/hlo.h>

/* The elements of a constant's text as numbers, dense row-major; which domain the dtype says. n is how many there must
 * be, or 1 for a shape of which all elements are the same. */
tg_status tg_read_literal(double *real, int64_t *whole, int64_t n, tg_hlo_text text, tg_error *err);

#endif
