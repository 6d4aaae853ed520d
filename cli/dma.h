/* Private to the files of tegula dma. */
#ifndef TEGULA_CLI_DMA_H
#define TEGULA_CLI_DMA_H

#include "cli.h"

#include <tegula/transfer.h>

enum { CLI_DMA_CHUNK = 64 };

/* A program that is made in parts. */
typedef struct dma_program {
    tg_desc        desc, host_desc;
    tg_layout      host;
    bool           has_host; /* by --host */
    const int64_t *host_strides; /* of the tensor that is moved; NULL if it is not strided */
    tg_dma_params  params;
    size_t         count, first, n; /* chunk holds descriptors [first, first + n) of count */
    tg_dma        *fitted; /* the whole program, if an engine took it; else NULL */
    tg_dma         chunk[CLI_DMA_CHUNK];
} dma_program;

/* The next part; n is 0 behind the last one. The first call makes the first part. */
int cli_next_descriptors(dma_program *p);

/* The DCI object of torch-spyre, as JSON (dma_dci.c). */
int cli_put_dci(FILE *stream, dma_program *p);

#endif
