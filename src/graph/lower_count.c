/* What is asked of each computation once, whoever calls it, before any instruction is looked at. How many instructions
 * are there with all calls inlined? A few lines can call for 2^40. Do names and parameters stand for one thing each,
 * and is there a computation behind every name of one? */
#include "graph/lower.h"

#include "base/checked.h"
#include "base/error.h"
#include "hlo/hlo_parser.h"

#include <stdlib.h>
#include <string.h>

enum { CAP = 64, UNCOUNTED = -1 };

typedef struct census {
    const tg_hlo_module *module;
    int64_t             *counts; /* of each computation with those that it calls; INT64_MAX beyond that */
    int32_t              depth;
    tg_error            *err;
    tg_status            status;
} census;

static int64_t count_computation(census *c, int64_t id);

static int64_t sum(int64_t a, int64_t b) {
    int64_t out;
    return tg_add(&out, a, b) ? out : INT64_MAX;
}

static int64_t count_callees(census *c, int64_t id, const char *key) {
    tg_hlo_text value;
    int64_t     callees[CAP], total = 0;
    size_t      n = 0;
    if (!tg_hlo_find_attribute(&value, c->module, id, key)) return 0;
    if (tg_hlo_read_computations(callees, CAP, &n, c->module, value, NULL) != TG_OK || n > CAP) return 0;
    for (size_t i = 0; i < n && c->status == TG_OK; i++)
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

/* ---- names and parameters ----------------------------------------------------------------- */

static int by_text(const void *x, const void *y) {
    const tg_hlo_text *a = x, *b = y;
    if (a->len != b->len) return a->len < b->len ? -1 : 1;
    const int order = a->len > 0 ? memcmp(a->chars, b->chars, a->len) : 0;
    return order != 0 ? order : (a->chars > b->chars) - (a->chars < b->chars);
}

static tg_status check_names(const census *c, const tg_hlo_computation *at) {
    tg_hlo_text *names = malloc(((size_t)at->ninstructions + 1) * sizeof *names);
    size_t       n = 0;
    if (names == NULL) return tg_graph_no_memory(c->err);
    for (int64_t i = 0; i < at->ninstructions; i++) {
        names[n] = tg_hlo_get_instruction(c->module, at->first_instruction + i).name;
        n += names[n].len > 0;
    }
    if (n > 0) qsort(names, n, sizeof *names, by_text);
    size_t i = 1;
    while (i < n && (names[i].len != names[i - 1].len || memcmp(names[i].chars, names[i - 1].chars, names[i].len) != 0))
        i++;
    const tg_hlo_text twice = i < n ? names[i] : (tg_hlo_text){NULL, 0};
    free(names);
    if (twice.len == 0) return TG_OK;
    (void)tg_fail(c->err, TG_ERR_UNSUPPORTED, "%t is the name of two instructions", twice.chars, twice.len);
    int64_t second = at->first_instruction;
    while (tg_hlo_get_instruction(c->module, second).name.chars != twice.chars) second++;
    tg_lower_tell(c->err, c->module, second);
    return TG_ERR_UNSUPPORTED;
}

static tg_status check_number(bool *seen, int64_t count, const census *c, int64_t id) {
    const tg_hlo_text name = tg_hlo_get_instruction(c->module, id).name;
    int64_t           number = 0;
    const tg_status   s = tg_hlo_read_int(&number, tg_hlo_get_arguments(c->module, id), c->err);
    if (s != TG_OK) return s;
    if (number < 0 || number >= count)
        return tg_fail(c->err, TG_ERR_UNSUPPORTED, "parameter %t: its number is %d, and the computation has %d",
                       name.chars, name.len, number, count);
    if (seen[number])
        return tg_fail(c->err, TG_ERR_UNSUPPORTED, "parameter %t: another one has the number %d, too", name.chars,
                       name.len, number);
    seen[number] = true;
    return TG_OK;
}

static bool is_parameter(const census *c, int64_t id) {
    return tg_hlo_text_is(tg_hlo_get_instruction(c->module, id).opcode, "parameter");
}

static tg_status check_parameters(const census *c, const tg_hlo_computation *at) {
    const int64_t end = at->first_instruction + at->ninstructions;
    int64_t       count = 0;
    tg_status     s = TG_OK;
    for (int64_t i = at->first_instruction; i < end; i++) count += is_parameter(c, i);
    bool *seen = calloc((size_t)count + 1, sizeof *seen);
    if (seen == NULL) return tg_graph_no_memory(c->err);
    for (int64_t i = at->first_instruction; i < end && s == TG_OK; i++)
        if (is_parameter(c, i) && (s = check_number(seen, count, c, i)) != TG_OK) tg_lower_tell(c->err, c->module, i);
    free(seen);
    return s;
}

/* What an instruction applies, calls or compares with is there. */
static tg_status check_callees(const census *c, int64_t id) {
    const tg_hlo_instruction at = tg_hlo_get_instruction(c->module, id);
    for (int64_t a = at.first_attribute; a < at.first_attribute + at.nattributes; a++) {
        const tg_hlo_attribute attribute = tg_hlo_get_attribute(c->module, a);
        size_t                 n = 0;
        if (!tg_hlo_names_computations(attribute.key) ||
            tg_hlo_read_computations(NULL, 0, &n, c->module, attribute.value, NULL) == TG_OK)
            continue;
        (void)tg_fail(c->err, TG_ERR_UNSUPPORTED, "%t %t: %t=%t does not name a computation of the module",
                      at.opcode.chars, at.opcode.len, at.name.chars, at.name.len, attribute.key.chars,
                      attribute.key.len, attribute.value.chars, attribute.value.len);
        tg_lower_tell(c->err, c->module, id);
        if (c->err != NULL) c->err->pos = attribute.pos;
        return TG_ERR_UNSUPPORTED;
    }
    return TG_OK;
}

/* ---- computations --------------------------------------------------------------------------- */

/* What calls itself, or calls very deep, is refused when it is looked at. */
static int64_t count_computation(census *c, int64_t id) {
    if (c->counts[id] != UNCOUNTED || c->depth > TG_HLO_MAX_DEPTH) return tg_max(c->counts[id], 0);
    const tg_hlo_computation at = tg_hlo_get_computation(c->module, id);
    int64_t                  total = 0;
    c->counts[id] = 0;
    c->depth++;
    c->status = check_names(c, &at);
    if (c->status == TG_OK) c->status = check_parameters(c, &at);
    for (int64_t i = 0; i < at.ninstructions && c->status == TG_OK; i++) {
        c->status = check_callees(c, at.first_instruction + i);
        if (c->status == TG_OK) total = sum(total, count_instruction(c, at.first_instruction + i));
    }
    c->depth--;
    return c->counts[id] = total;
}

tg_status tg_lower_count(int64_t *out, const tg_hlo_module *module, tg_error *err) {
    const tg_hlo_header header = tg_hlo_get_header(module);
    const size_t        n = (size_t)header.ncomputations;
    census              c = {module, malloc((n + 1) * sizeof *c.counts), 0, err, TG_OK};
    if (c.counts == NULL) return tg_graph_no_memory(err);
    for (size_t i = 0; i < n; i++) c.counts[i] = UNCOUNTED;
    *out = header.entry != TG_HLO_NONE ? count_computation(&c, header.entry) : 0;
    free(c.counts);
    return c.status;
}
