/* Rounds. What a round hands on is in its carries: at its end it is written over what the round began with, and where
 * no round is left the carries are what the loop began with. */
#include "sim/sim_rounds.h"

#include "base/error.h"

enum { MOST_ROUNDS = 1 << 16, WHOLE_GRAPH = -1 };

typedef struct walk {
    const tg_graph  *graph;
    const tg_runner *runner;
    tg_error        *err;
} walk;

static tg_status run_nodes(const walk *w, int64_t first, int64_t end, int64_t around);

/* The outermost loop within loop `around` that begins with this node; -1: none does. */
static int64_t loop_at(const walk *w, int64_t node, int64_t around) {
    const int64_t n = tg_graph_loop_count(w->graph);
    int64_t       found = -1;
    for (int64_t i = around + 1; i < n; i++) {
        const tg_loop loop = tg_graph_loop(w->graph, i);
        if (loop.first == node && (found < 0 || loop.end > tg_graph_loop(w->graph, found).end)) found = i;
    }
    return found;
}

/* ---- carries -------------------------------------------------------------------------------- */

/* Those of this loop, not of loops within it. */
static tg_status each_carry(const walk *w, int64_t index, bool onward) {
    const tg_loop loop = tg_graph_loop(w->graph, index);
    tg_status     s = TG_OK;
    for (int64_t id = loop.first; id < loop.end && s == TG_OK; id++) {
        const int64_t inner = loop_at(w, id, index);
        if (inner >= 0) id = tg_graph_loop(w->graph, inner).end - 1;
        else if (tg_node_at(w->graph, id)->carries) {
            const int64_t begun = tg_graph_operand(w->graph, id, 0);
            s = w->runner->hand_on(w->runner->of, onward ? begun : id, onward ? id : begun, w->err);
        }
    }
    return s;
}

/* ---- rounds --------------------------------------------------------------------------------- */

/* Where the test of a loop ends: behind its node, and behind loops that this is in. */
static int64_t end_of_test(const walk *w, int64_t index) {
    const tg_loop loop = tg_graph_loop(w->graph, index);
    int64_t       end = loop.test >= loop.first ? loop.test + 1 : loop.first;
    for (int64_t i = index + 1; i < tg_graph_loop_count(w->graph); i++) {
        const tg_loop inner = tg_graph_loop(w->graph, i);
        if (inner.first >= loop.first && inner.first < end && inner.end > end && inner.end <= loop.end) end = inner.end;
    }
    return end;
}

/* What is tested is worked out in the round, but for what the round began with. */
static tg_status run_round(bool *goes_on, const walk *w, int64_t index) {
    const tg_loop loop = tg_graph_loop(w->graph, index);
    const int64_t tested = end_of_test(w, index);
    tg_status     s = run_nodes(w, loop.first, tested, index);
    if (s == TG_OK) s = w->runner->test(goes_on, w->runner->of, loop.test, w->err);
    if (s == TG_OK && *goes_on) s = run_nodes(w, tested, loop.end, index);
    return s == TG_OK ? each_carry(w, index, *goes_on) : s;
}

static tg_status run_loop(const walk *w, int64_t index) {
    const tg_loop loop = tg_graph_loop(w->graph, index);
    bool          goes_on = true;
    tg_status     s = TG_OK;
    if (loop.test < 0 || loop.test >= loop.end || tg_node_at(w->graph, loop.test)->host.ndim != 0)
        return tg_fail(w->err, TG_ERR_UNSUPPORTED, "when the loop of nodes %d to %d ends is not told by a scalar",
                       loop.first, loop.end - 1);
    for (int64_t round = 0; round < MOST_ROUNDS && goes_on && s == TG_OK; round++) s = run_round(&goes_on, w, index);
    if (s != TG_OK || !goes_on) return s;
    return tg_fail(w->err, TG_ERR_LIMIT, "the loop of nodes %d to %d does not end within %d rounds", loop.first,
                   loop.end - 1, (int64_t)MOST_ROUNDS);
}

static tg_status run_nodes(const walk *w, int64_t first, int64_t end, int64_t around) {
    tg_status s = TG_OK;
    for (int64_t id = first; id < end && s == TG_OK; id++) {
        const int64_t loop = loop_at(w, id, around);
        s = loop >= 0 ? run_loop(w, loop) : w->runner->run(w->runner->of, id, w->err);
        if (loop >= 0) id = tg_graph_loop(w->graph, loop).end - 1;
    }
    return s;
}

tg_status tg_run_rounds(const tg_graph *graph, const tg_runner *runner, tg_error *err) {
    const walk w = {graph, runner, err};
    return run_nodes(&w, 0, tg_graph_count(graph), WHOLE_GRAPH);
}
