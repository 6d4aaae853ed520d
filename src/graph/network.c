#include "graph/network.h"

#include <stdlib.h>
#include <string.h>

void tg_network_free(tg_network *net) {
    free(net->nlabels.rows);
    free(net->factors.rows);
    free(net->scopes.rows);
    free(net->costs.rows);
    memset(net, 0, sizeof *net);
}

bool tg_network_add(uint64_t *table, tg_network *net, uint32_t nvars, const uint32_t *vars) {
    size_t entries = 1;
    for (uint32_t i = 0; i < nvars; i++) entries *= net->nlabels.rows[vars[i]];
    const tg_factor f = {(uint32_t)net->scopes.count, nvars, net->costs.count};
    if (!tg_cost_rows_reserve(&net->costs, entries) || !tg_var_rows_reserve(&net->scopes, nvars) ||
        !tg_factor_rows_push(&net->factors, f))
        return false;
    if (nvars > 0) memcpy(net->scopes.rows + net->scopes.count, vars, nvars * sizeof *vars);
    memset(net->costs.rows + net->costs.count, 0, entries * sizeof *net->costs.rows);
    net->scopes.count += nvars;
    net->costs.count += entries;
    *table = f.table;
    return true;
}

int64_t tg_network_cost(const tg_network *net, const uint32_t *labels) {
    int64_t sum = net->constant;
    for (size_t i = 0; i < net->factors.count; i++) {
        const tg_factor *f = &net->factors.rows[i];
        uint64_t         at = 0;
        for (uint32_t k = 0; k < f->nvars; k++) {
            const uint32_t v = net->scopes.rows[f->first + k];
            at = at * net->nlabels.rows[v] + labels[v];
        }
        sum = tg_cost_add(sum, net->costs.rows[f->table + at]);
    }
    return sum;
}
