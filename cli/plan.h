/* What `tegula plan` shows. */
#ifndef TEGULA_CLI_PLAN_H
#define TEGULA_CLI_PLAN_H

#include "hlo.h"

#include <tegula/memory.h>
#include <tegula/sim.h>

typedef struct plan_view {
    const char          *name; /* of the text, for complaints */
    tg_hlo_text          module;
    const tg_graph      *graph;
    const tg_graph_plan *plan;
    const tg_graph_plan *relayed; /* of an infeasible graph: with restickified reductions, if that helps; else NULL */
    int32_t              cores;
    bool                 june;    /* limits and costs of June 2026, not of August */
    int64_t              limit;   /* restickifies shown; -1: the report's own habit */
    tg_arrangement      *arrangements; /* of all nodes; NULL: not asked for */
    const tg_memory     *memory;  /* of a feasible plan; else NULL */
    bool                 list_memory;
    const tg_program    *program; /* if it is to be run */
    int64_t              seed;    /* of the inputs then */
} plan_view;

/* Why there is no plan, in a line on standard error; CLI_INFEASIBLE. */
int plan_complain(const plan_view *view);

/* Each returns an exit status. */
int plan_put_report(FILE *file, const plan_view *view);
int plan_put_json(const plan_view *view);
int plan_explain(const plan_view *view, const char *name);
int plan_run(const plan_view *view, bool json);

/* What was written into a directory. */
typedef struct plan_written {
    int64_t kernels, transfers, host; /* host: steps that are for it */
} plan_written;

/* Everything that the device needs, into a new or empty directory, whole or not at all; with force in place of an
 * earlier one (plan_out.c). */
int plan_write(plan_written *out, const plan_view *view, const char *directory, bool force);

/* The files, into a directory that is there (plan_bundle.c). */
int plan_write_bundle(plan_written *out, const plan_view *view, const char *directory);

/* A file in a directory; NULL, having complained, if it cannot be made. Close it with plan_close_file, which complains
 * of what could not be written. */
FILE *plan_open_file(const char *directory, const char *name);
int   plan_close_file(FILE *file, const char *name, int status);

/* ---- pieces (plan_words.c) --------------------------------------------------------- */

/* An exit status; complains of splits that are wanted and cannot be. pre: the plan is feasible. */
int plan_check_splits(const plan_view *view);

/* How work is to be shared out. */
tg_division_params plan_division_params(const plan_view *view);

#endif
