/* A cost network: variables with a few labels each, and factors, which are tables of costs over the labels of some
 * variables. Wanted are labels for all variables with the least sum.
 *
 *     variables x, y of 2 labels; factors  x: 0 5    x,y: 3 0    least sum: x = 0, y = 1, cost 0
 *                                                         2 9
 * Choosing layouts is such a problem; this part does not know that. Costs are 0 or more; TG_INFINITE is what must not
 * be. Tables stand with the last variable fastest. */
#ifndef TG_GRAPH_NETWORK_H
#define TG_GRAPH_NETWORK_H

#include <tegula/tegula.h>

#include "hlo/hlo_array.h"

#define TG_INFINITE (INT64_MAX / 4)
enum { TG_MAX_SCOPE = 32 };

typedef struct tg_factor {
    uint32_t first, nvars; /* in scopes */
    uint64_t table;        /* in costs */
} tg_factor;

TG_HLO_TABLE(tg_factor_rows, tg_factor)
TG_HLO_TABLE(tg_var_rows, uint32_t)
TG_HLO_TABLE(tg_cost_rows, int64_t)

typedef struct tg_network { /* zero-initialise */
    tg_var_rows    nlabels; /* of each variable, at least 2 */
    tg_factor_rows factors;
    tg_var_rows    scopes;
    tg_cost_rows   costs;
    int64_t        constant;
} tg_network;

void tg_network_free(tg_network *net);

/* Sum of two costs, each at most TG_INFINITE. */
static inline int64_t tg_cost_add(int64_t a, int64_t b) {
    return a >= TG_INFINITE || b >= TG_INFINITE ? TG_INFINITE : a + b;
}

/* A new factor, all costs 0; its place in `costs`. The number of its entries must fit. False without memory. */
bool tg_network_add(uint64_t *table, tg_network *net, uint32_t nvars, const uint32_t *vars);

typedef struct tg_solution {
    int64_t  cost;  /* of labels; TG_INFINITE if there are no labels that may be */
    int64_t  bound; /* no labels cost less */
    uint32_t width; /* variables in the largest table */
    int64_t  branches;
} tg_solution;

/* Where effort ends. Results are the same with any of them, but for the last two: where one of them is spent, the
 * search gives up with cost > bound. */
typedef struct tg_effort {
    size_t  exact;    /* entries of a table, as long as all are exact; 0: 2^16 */
    size_t  bound;    /* the same while bounds are looked for; 0: 2^12 */
    int64_t branches; /* of the search */
    int64_t known;    /* the cost of labels that the caller has; the search is for cheaper ones. 0: none are known */
    int64_t work;     /* of the search, in costs that are read; it may go beyond by one part. 0: no limit */
} tg_effort;

/* labels: room for all variables; of no meaning where cost is `known` or TG_INFINITE. TG_ERR_OVERFLOW where sums of
 * costs do not fit. */
tg_status tg_network_solve(tg_solution *out, uint32_t *labels, const tg_network *net, const tg_effort *effort,
                           tg_error *err);

/* The sum for given labels. */
int64_t tg_network_cost(const tg_network *net, const uint32_t *labels);

/* ---- elimination (eliminate.c) --------------------------------------------------------- */

/* What elimination leaves: the order in which variables went, and the factors that each had then. */
typedef struct tg_bucket {
    uint32_t var, first, nfactors; /* in `members` */
} tg_bucket;

TG_HLO_TABLE(tg_bucket_rows, tg_bucket)

typedef struct tg_elimination {
    tg_network     net; /* with the factors that elimination made behind the first ones */
    tg_bucket_rows buckets;
    tg_var_rows    members;
    bool          *gone;  /* variables */
    bool          *dead;  /* factors, as many as net.factors.cap */
    uint32_t       width;
    int64_t        work;  /* costs that were read */
    int64_t        split; /* the first variable whose table would have been too large, or -1: all is exact */
} tg_elimination;

/* Eliminates variables, the smallest tables first, as long as these have up to `limit` entries. Larger ones are left
 * if `stop`; else they are split into smaller ones, and constant is then a lower bound. False without memory. */
bool tg_eliminate(tg_elimination *out, const tg_network *net, size_t limit, bool stop);
void tg_elimination_free(tg_elimination *e);

/* Labels of the variables that are gone; those of the others are given. */
void tg_substitute_back(uint32_t *labels, const tg_elimination *e);

#endif
