/* How many instructions there are with all calls inlined, counted before any of them is looked at: a few lines can call
 * for 2^40. Each computation is counted once, whoever calls it. */
#include "graph/lower.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdlib.h>

enum { CAP = 64, UNCOUNTED = -1 };

typedef struct census {
    const tg_hlo_module *module;
    int64_t             *counts; /* of each computation with those that it calls; INT64_MAX beyond that */
    int32_t              depth;
} census;

static int64_t count_computation(census *c, int64_t id);

static int64_t sum(int64_t a, int64_t b) {
    int64_t out;
    return tg_add(&out, a, b) ? out : INT64_MAX;
}

/* Names that cannot be read are for whoever looks at the instruction. */
static int64_t count_callees(census *c, int64_t id, const char *key) {
    tg_hlo_text value;
    int64_t     callees[CAP], total = 0;
    size_t      n = 0;
    if (!tg_hlo_find_attribute(&value, c->module, id, key)) return 0;
    if (tg_hlo_read_computations(callees, CAP, &n, c->module, value, NULL) != TG_OK || n > CAP) return 0;
    for (size_t i = 0; i < n; i++)
        if (callees[i] != TG_HLO_NONE) total = sum(total, count_computation(c, callees[i]));
    return total;
}

static int64_t count_instruction(census *c, int64_t id) {
    static const struct { const char *opcode, *key[3]; } calls[] = {
        {"call", {"to_apply"}},
        {"fusion", {"calls"}},
        {"while", {"condition", "body"}},
        {"conditional", {"branch_computations", "true_computation", "false_computation"}},
    };
    const tg_hlo_text opcode = tg_hlo_get_instruction(c->module, id).opcode;
    int64_t           total = 1;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (size_t k = 0; tg_hlo_text_is(opcode, calls[i].opcode) && k < 3 && calls[i].key[k] != NULL; k++)
            total = sum(total, count_callees(c, id, calls[i].key[k]));
    return total;
}

/* What calls itself, or calls very deep, is refused when it is looked at. */
static int64_t count_computation(census *c, int64_t id) {
    if (c->counts[id] != UNCOUNTED || c->depth > TG_HLO_MAX_DEPTH) return tg_max(c->counts[id], 0);
    const tg_hlo_computation at = tg_hlo_get_computation(c->module, id);
    int64_t                  total = 0;
    c->counts[id] = 0;
    c->depth++;
    for (int64_t i = 0; i < at.ninstructions; i++) total = sum(total, count_instruction(c, at.first_instruction + i));
    c->depth--;
    return c->counts[id] = total;
}

tg_status tg_lower_count(int64_t *out, const tg_hlo_module *module, tg_error *err) {
    const tg_hlo_header header = tg_hlo_get_header(module);
    const size_t        n = (size_t)header.ncomputations;
    census              c = {module, malloc((n + 1) * sizeof *c.counts), 0};
    if (c.counts == NULL) return tg_graph_no_memory(err);
    for (size_t i = 0; i < n; i++) c.counts[i] = UNCOUNTED;
    *out = header.entry != TG_HLO_NONE ? count_computation(&c, header.entry) : 0;
    free(c.counts);
    return TG_OK;
}
