/* Choosing a mode for every node. */
#ifndef TG_GRAPH_CHOOSE_H
#define TG_GRAPH_CHOOSE_H

#include "graph/network.h"
#include "graph/problem.h"

/* Who reads a node's result: rows [first[node], first[node + 1]) of `at`, in the order in which they run. */
typedef struct tg_use {
    uint32_t node, operand;
} tg_use;

typedef struct tg_uses {
    uint32_t *first;
    tg_use   *at;
} tg_uses;

bool tg_uses_make(tg_uses *out, const tg_graph *g);
void tg_uses_free(tg_uses *u);

/* The choice as a cost network. `active`, if not NULL, says of each node whether its operands are looked at: what the
 * others need is forgotten. var: of each node, TG_NO_VARIABLE if it has one mode only. */
#define TG_NO_VARIABLE UINT32_MAX
tg_status tg_choice_network(tg_network *out, uint32_t *var, const tg_problem *p, const tg_uses *uses,
                            const bool *active, tg_error *err);

/* What a choice of modes costs; TG_INFINITE if some operand cannot have what it needs. */
int64_t tg_choice_cost(const tg_problem *p, const tg_uses *uses, const uint32_t *modes);

/* The copies of a node's result, as bits over forms; false if some reader cannot have what it needs. */
bool tg_copies_needed(uint64_t *forms, const tg_problem *p, const tg_uses *uses, const uint32_t *modes, int64_t node);

/* Candidate in use. */
static inline uint32_t tg_chosen_layout(const tg_problem *p, const uint32_t *modes, int64_t node) {
    return tg_mode_at(p, node, modes[node])->layout;
}

/* Baselines (baseline.c): torch-spyre's ways to choose. *found is false where they end without a plan. */
tg_status tg_choose_greedy(uint32_t *modes, bool *found, const tg_problem *p, const tg_uses *uses, tg_error *err);
tg_status tg_choose_beam(uint32_t *modes, bool *found, const tg_problem *p, const tg_uses *uses, int32_t width,
                         tg_error *err);

/* The nodes of a smallest conflict (conflict.c), marked in `active`. pre: there is no plan. */
tg_status tg_find_conflict(bool *active, const tg_problem *p, const tg_uses *uses, tg_error *err);

#endif
