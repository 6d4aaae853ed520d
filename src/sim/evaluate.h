/* The definition of a node: its loops run over host elements, one by one. */
#ifndef TG_SIM_EVALUATE_H
#define TG_SIM_EVALUATE_H

#include "sim/job.h"

/* values[id] are the elements of node id in the order of its host storage; `out` those of the result, all of which are
 * written: with poison where no loop goes. Fails without memory only. pre: tg_job_check. */
tg_status tg_evaluate(tg_number *out, const tg_job *job, tg_number *const *values, tg_error *err);

#endif
