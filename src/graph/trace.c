/* Where nodes come from. The planner does not need it; who calculates what the nodes mean does. */
#include "graph/lower.h"

static bool put(const tg_order *o, int64_t instruction, size_t first) {
    tg_trace       *t = o->l->trace;
    const tg_origin origin = {instruction, (uint32_t)first, (uint32_t)(t->views.count - first)};
    return tg_origin_rows_push(&t->origins, origin);
}

static bool is_complete(const tg_order *o) {
    const tg_trace *t = o->l->trace;
    return t == NULL || t->first + (int64_t)t->origins.count == tg_graph_count(o->l->graph);
}

bool tg_trace_copy(const tg_order *o, const tg_node_view *view) {
    if (o->l->trace == NULL) return true;
    const size_t first = o->l->trace->views.count;
    return tg_rows_push(&o->l->trace->views, *view) && put(o, TG_HLO_NONE, first);
}

static bool put_operands(const tg_order *o) {
    for (int64_t k = 0; k < o->at.noperands; k++) {
        tg_thing thing = {TG_NOTHING, 0, 0};
        tg_node_view view = {.node = TG_NODE_NONE};
        (void)tg_lower_operand(&thing, o, k); /* it was found before */
        if (thing.kind == TG_ARRAY) view = o->l->views.rows[thing.first];
        if (!tg_rows_push(&o->l->trace->views, view)) return false;
    }
    return true;
}

bool tg_trace_instruction(const tg_order *o) {
    if (is_complete(o)) return true;
    const size_t first = o->l->trace->views.count;
    if (!put_operands(o)) return false;
    while (!is_complete(o))
        if (!put(o, o->id, first)) return false;
    return true;
}
