/* What stands between an operand and the loop that is wanted in its sticks, in words. The reasons are torch-spyre's. */
#include "graph/plan.h"

#include "base/text.h"

static const char *const no_gather = "no mechanism to gather elements from multiple sticks into a single stick";
static const char *const no_scatter = "no mechanism to scatter elements from one stick to multiple sticks";

static const char *const no_room = "what is summed up ends within a stick of the other operand, and here there is no "
                                   "room for zeros: it is a part of a dimension";

static const char *about_bad(const tg_access *access) {
    return tg_access_has_unknown(access)
               ? "the data picks positions within the stick"
               : "what is read runs through the sticks in no order that the device knows";
}

static const char *about_none(const tg_stick *s) {
    if (s->kind == TG_STICK_BAD) return "what is read runs through the sticks in no order that the device knows";
    return no_scatter;
}

/* The stick is not where it is wanted, and cannot be brought there. */
static const char *about_loop(const tg_rule *rule, const tg_stick *s, const tg_access *access, bool has_loop) {
    if (!has_loop) return "it does not have that loop at all";
    if (s->kind == TG_STICK_NONE) return no_gather;
    if (!rule->restickify) return "a reduction takes its operand as it is, without a restickify";
    if (s->kind == TG_STICK_BAD) return about_bad(access);
    if (s->kind == TG_STICK_OFFSET) return "what is read begins inside a stick, and a restickify cannot move that";
    return "no restickify of this layout puts that loop into the sticks";
}

/* The mode of a node that has this loop in its sticks; nmodes if there is none. */
static uint32_t find_mode(const tg_problem *p, int64_t node, int32_t loop) {
    uint32_t m = 0;
    while (m < tg_choice_at(p, node)->nmodes && tg_mode_at(p, node, m)->loop != loop) m++;
    return m;
}

/* What keeps an operand from being copied at all; NULL if nothing does. */
static const char *about_copies(const tg_graph *g, const tg_node_row *n, const tg_access *access, int32_t k) {
    if (n->kind == TG_NODE_CARRY && k == 0) return "what a loop carries on is written over, not copied";
    if (g->device_formats && tg_node_at(g, access->node)->format != TG_SEN169_FP16)
        return "the device restickifies SEN169_FP16 alone";
    return NULL;
}

static const char *obstacle(const tg_problem *p, int64_t node, int32_t k, uint32_t l, uint32_t m) {
    const tg_graph    *g = p->graph;
    const tg_node_row *n = tg_node_at(g, node);
    const tg_access    access = tg_operand_at(g, n, k);
    tg_rule            room;
    tg_stick           s;
    if (tg_need(p, node, (uint32_t)k, m, l) != TG_IMPOSSIBLE) return "";
    const tg_rule *rule = tg_rule_of(&room, g, n, &p->params);
    if (tg_lacks_fill(rule, g, n, tg_mode_at(p, node, m), k)) return no_room;
    const int32_t  wanted = tg_wanted_loop(rule, g, n, tg_mode_at(p, node, m), k);
    tg_stick_of(&s, tg_candidate(p, access.node, l), tg_node_ranges(g, n), &access);
    if (wanted == TG_NO_LOOP) return about_none(&s);
    const char *copies = s.kind == TG_STICK_NONE ? NULL : about_copies(g, n, &access, k);
    if (copies != NULL) return copies;
    return about_loop(rule, &s, &access, (tg_access_loops(&access) >> wanted & 1) != 0);
}

size_t tg_graph_plan_obstacle(char *buf, size_t cap, const tg_graph_plan *plan, const tg_graph *graph, int64_t node,
                              int32_t k, int64_t i, int32_t loop) {
    const tg_problem *p = &plan->problem;
    tg_writer         w = tg_writer_make(buf, cap);
    const uint32_t    m = find_mode(p, node, loop);
    (void)graph;
    if (m < tg_choice_at(p, node)->nmodes) tg_put_text(&w, obstacle(p, node, k, (uint32_t)i, m));
    return tg_writer_end(&w);
}
