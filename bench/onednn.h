/* oneDNN's reorder, as a peer. */
#ifndef BENCH_ONEDNN_H
#define BENCH_ONEDNN_H

#include <tegula/tegula.h>

typedef struct onednn onednn;

/* NULL where oneDNN is not installed, or cannot say or do the move. Both layouts have the same shape. */
onednn *onednn_create(const tg_layout *dst, const tg_layout *src, void *dst_bytes, void *src_bytes, int32_t threads);
void    onednn_destroy(onednn *o); /* may be NULL */

/* The argument is an onednn *. */
void onednn_run(void *o);

const char *onednn_version(void); /* "2.6.3", or "not installed" */

#endif /* BENCH_ONEDNN_H */
