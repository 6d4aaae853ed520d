/* The parts of `tegula draw`. */
#ifndef TEGULA_CLI_DRAW_H
#define TEGULA_CLI_DRAW_H

#include "cli.h"

#include <tegula/draw.h>

/* The picture as data (draw_json.c). */
json_t *draw_json(const tg_picture *picture);

/* What --transfer draws (draw_transfer.c). */
typedef struct draw_transfer {
    const char      *title;
    const tg_layout *device, *host;
    bool             to_host;
    const int64_t   *follow; /* NULL: the last element */
    int32_t          width;
} draw_transfer;

/* The program of that transfer as a picture; has complained if the status is not CLI_OK. */
int     draw_transfer_story(tg_story **story, const draw_transfer *what);
json_t *draw_transfer_json(const tg_story *story);

#endif
