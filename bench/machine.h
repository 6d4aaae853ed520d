/* Where a measurement was made: facts without which its numbers mean nothing. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdio.h>

/* The facts as one JSON object. They are gathered by the first call of the two, which must come when the buffers
 * have been touched: huge pages are counted. */
void machine_json(FILE *f);

/* The same as lines "key: value". */
void machine_print(FILE *f);

#endif /* BENCH_MACHINE_H */
