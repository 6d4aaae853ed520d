/* What part of a tensor each core touches. */
#ifndef TG_GRAPH_SLICES_H
#define TG_GRAPH_SLICES_H

#include "graph/coordinate.h"
#include "graph/divide.h"

/* A tg_slicing without its empty rows. */
typedef struct tg_slices {
    int32_t        nloops;
    int64_t        cores;
    const int64_t *splits, *chunk, *radix; /* of each loop */
} tg_slices;

/* A node's access to a tensor of this layout, its work shared out. */
typedef struct tg_sliced {
    const tg_spyre *layout;
    const int64_t  *ranges;
    tg_access       access;
    tg_slices       slices;
} tg_sliced;

/* Whether each core reads in sticks what it has written: the same positions of every device dimension but the one in
 * the stick. No where that cannot be said for sure. */
bool tg_slices_agree(const tg_sliced *written, const tg_sliced *read);

/* Pieces that the tensor is written in. */
int64_t tg_slices_count(const tg_sliced *written);

#endif
