/* What loops do to the memory of a program, whose steps are listed once.
 *
 *     step   0 w   1 begin   2 body   3 carry   4 after    w and begin are needed in every round, so they live up to
 *                            [ the loop      ]             the last step of the loop, although 2 is the last to read
 *                                                          w. The carry is written over begin.
 */
#include "graph/memory.h"

#include "graph/plan.h"

#include <stdlib.h>

/* The steps of a loop, and the loop around it. */
typedef struct span {
    int64_t first, last, outer; /* outer: -1 if there is none */
} span;

static span span_of(const tg_memory *m, const tg_loop *loop) {
    const int64_t before = loop->first > 0 ? tg_graph_plan_node_step(m->plan, loop->first - 1) : -1;
    return (span){before + 1, tg_graph_plan_node_step(m->plan, loop->end - 1), -1};
}

/* Of each step the innermost loop around it, -1 if there is none. */
static void find_loops(span *spans, int64_t *inner, const tg_memory *m) {
    const int64_t n = tg_graph_loop_count(m->graph);
    int64_t       now = -1, next = 0;
    for (int64_t i = 0; i < m->n; i++) {
        while (now >= 0 && spans[now].last < i) now = spans[now].outer;
        for (; next < n; next++) {
            const tg_loop loop = tg_graph_loop(m->graph, next);
            spans[next] = span_of(m, &loop);
            if (spans[next].first > i) break;
            spans[next].outer = now;
            now = next;
        }
        inner[i] = now;
    }
}

/* Loops around the reader that are not around what made it: it lasts as long as the outermost of them. */
static void stretch(tg_memory *m, int64_t i, int64_t reader, const span *spans, const int64_t *inner) {
    for (int64_t at = inner[reader]; at >= 0 && spans[at].first > i; at = spans[at].outer) {
        m->crosses[i] = true;
        if (spans[at].last > m->rows[i].last) m->rows[i].last = spans[at].last;
    }
}

static bool same_storage(const tg_plan_step *a, const tg_plan_step *b) {
    return a->on_device == b->on_device && (!a->on_device || tg_stored_alike(&a->layout, &b->layout));
}

int64_t tg_carried_step(const tg_memory *m, int64_t step) {
    const tg_plan_step made = tg_graph_plan_step(m->plan, step);
    if (made.kind != TG_STEP_NODE || !tg_node_at(m->graph, made.node)->carries) return -1;
    const int64_t      from = tg_graph_plan_step_operand(m->plan, step, 0);
    const tg_plan_step old = tg_graph_plan_step(m->plan, from);
    if (old.kind != TG_STEP_NODE || !same_storage(&made, &old) || m->output[from]) return -1;
    const tg_node_kind kind = tg_node_at(m->graph, old.node)->kind;
    if (kind == TG_NODE_INPUT || kind == TG_NODE_CONSTANT) return -1;
    const bool read_later = m->readers[m->first_reader[from + 1] - 1] != step;
    return read_later || tg_graph_plan_step_operand(m->plan, step, 1) == from ? -1 : from;
}

bool tg_stretch_lives(tg_memory *m) {
    const size_t nloops = (size_t)tg_graph_loop_count(m->graph);
    span        *spans = calloc(nloops + 1, sizeof *spans);
    int64_t     *inner = calloc((size_t)m->n + 1, sizeof *inner);
    const bool   there = spans != NULL && inner != NULL;
    if (there && nloops > 0) find_loops(spans, inner, m);
    for (int64_t i = 0; there && i < m->n; i++) {
        for (int64_t k = m->first_reader[i]; nloops > 0 && k < m->first_reader[i + 1]; k++)
            stretch(m, i, m->readers[k], spans, inner);
        const int64_t from = tg_carried_step(m, i);
        m->rows[i].in_place_of = from;
        if (from >= 0) m->crosses[i] = m->crosses[from] = true;
    }
    free(spans);
    free(inner);
    return there;
}
