/* Moving and checking a tensor while a person watches: progress, Ctrl-C, bounded memory. */
#ifndef TEGULA_CLI_MOVER_H
#define TEGULA_CLI_MOVER_H

#include "cli.h"

#include <tegula/io.h>

typedef struct mover {
    const tg_plan        *plan;
    const tg_plan_params *params; /* of plan */
    tg_file       *in, *out;
    const void    *src;
    void          *dst;
    int64_t        bytes; /* read and written together */
    int32_t        threads;
    double         seconds, verify_seconds; /* that moving took, and checking */
} mover;

typedef struct mover_finding {
    bool    equal;
    int64_t coord[TG_MAX_NDIM]; /* of the first element that differs; coord[0] = -1 for padding */
    int64_t offset;             /* where it is in the output */
} mover_finding;

/* From now on SIGINT, SIGTERM and SIGHUP are only noted. */
void mover_watch_signals(void);

/* 0, or the exit status for the signal that came. */
int mover_interrupted(void);

/* Whether fd can be read without waiting, within a moment. A read would wait on if a signal came just before it; ask
 * this and mover_interrupted again and again instead. */
bool mover_wait(int fd);

/* "3.9 GB/s" or "240 MB/s", into a buffer of 32. */
const char *mover_speed(char *buf, int64_t bytes, double seconds);

/* What converting took away. Source: tg_plan_losses. */
typedef struct mover_losses {
    int64_t overflowed, vanished;
} mover_losses;

/* What a complaint about such a move begins with: the option that asked for it, or the command. */
const char *mover_what(const tg_plan_params *params);

/* Run the plan step by step. */
int mover_run(mover *m);

/* Compare source and destination from the definition of their layouts. */
int mover_verify(mover_finding *out, mover *m);

/* Count the numbers that the other format of elements does not hold. */
int mover_count_losses(mover_losses *out, const mover *m);

#endif
