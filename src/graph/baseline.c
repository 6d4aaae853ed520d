/* How torch-spyre chooses, to compare with. Greedy takes the cheapest mode node by node. The beam keeps the best
 * partial plans: each goes on with every mode of the next node, those that agree on all tensors that are still to be
 * read are one, and of the rest those with the lowest cost and guess of the future stay.
 *
 * The guess adds up, from the end to the beginning, what each reader of a tensor costs at least; where paths meet again
 * it counts them twice, so it is none that proves anything. Source: torch-spyre, optimize_restickify_locations. */
#include "graph/choose.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* What cannot be is put last, and not forbidden. Guesses are double: counted twice and twice again they outgrow int64.
 */
static const double far_future = 1e18;

/* Copies of a tensor that are made already, as bits over forms. */
typedef struct tensor {
    uint32_t layout;
    uint64_t copies;
} tensor;

/* What node costs in mode m when its operands are as `tensors` says, whose copies it adds to; TG_INFINITE if it cannot
 * be. place: of a node in tensors. */
static int64_t node_cost(const tg_problem *p, int64_t node, uint32_t m, tensor *tensors, const uint32_t *place) {
    const bool shared = p->params.model == TG_MODEL_TEGULA;
    int64_t    cost = 0;
    for (uint32_t k = 0; k < tg_node_at(p->graph, node)->noperands; k++) {
        const int64_t from = tg_graph_operand(p->graph, node, (int32_t)k);
        tensor       *t = &tensors[place[from]];
        const int8_t  need = tg_need(p, node, k, m, t->layout);
        if (need == TG_IMPOSSIBLE) return TG_INFINITE;
        if (need < 0 || (shared && (t->copies >> need & 1) != 0)) continue;
        t->copies |= UINT64_C(1) << need;
        cost = tg_cost_add(cost, tg_price(p, from, t->layout));
    }
    return cost;
}

/* ---- greedy ---------------------------------------------------------------------------------- */

static bool greedy_step(uint32_t *mode, const tg_problem *p, int64_t node, tensor *tensors, const uint32_t *place,
                        uint64_t *before) {
    const uint32_t noperands = tg_node_at(p->graph, node)->noperands;
    int64_t        best = TG_INFINITE;
    for (uint32_t k = 0; k < noperands; k++) before[k] = tensors[tg_graph_operand(p->graph, node, (int32_t)k)].copies;
    for (uint32_t m = 0; m < tg_choice_at(p, node)->nmodes; m++) {
        const int64_t cost = node_cost(p, node, m, tensors, place);
        for (uint32_t k = noperands; k-- > 0;)
            tensors[tg_graph_operand(p->graph, node, (int32_t)k)].copies = before[k];
        if (cost >= best) continue;
        best = cost;
        *mode = m;
    }
    return best < TG_INFINITE;
}

tg_status tg_choose_greedy(uint32_t *modes, bool *found, const tg_problem *p, const tg_uses *uses, tg_error *err) {
    const size_t n = p->nodes.count;
    tensor      *tensors = calloc(n + 1, sizeof *tensors);
    uint32_t    *place = malloc((n + 1) * sizeof *place);
    uint64_t    *before = malloc((p->graph->accesses.count + 1) * sizeof *before);
    const bool   ok = tensors != NULL && place != NULL && before != NULL;
    (void)uses;
    *found = ok;
    for (size_t i = 0; ok && i < n; i++) place[i] = (uint32_t)i;
    for (size_t i = 0; ok && i < n && *found; i++) {
        *found = greedy_step(&modes[i], p, (int64_t)i, tensors, place, before);
        if (!*found) break;
        (void)node_cost(p, (int64_t)i, modes[i], tensors, place);
        tensors[i].layout = tg_chosen_layout(p, modes, (int64_t)i);
    }
    free(tensors);
    free(place);
    free(before);
    return ok ? TG_OK : tg_graph_no_memory(err);
}

/* ---- the future --------------------------------------------------------------------------------- */

/* The least that reader c costs for candidate l of the node it reads with uses [i, j), and its own future. */
static double reader_future(const tg_problem *p, const tg_uses *uses, uint32_t i, uint32_t j, int64_t node,
                             uint32_t l, const double *future) {
    const int64_t reader = uses->at[i].node;
    double        best = far_future;
    for (uint32_t m = 0; m < tg_choice_at(p, reader)->nmodes; m++) {
        double cost = future[tg_choice_at(p, reader)->first_layout + tg_mode_at(p, reader, m)->layout];
        for (uint32_t u = i; u < j; u++) {
            const int8_t need = tg_need(p, reader, uses->at[u].operand, m, l);
            if (need == TG_IMPOSSIBLE) cost += far_future;
            else if (need >= 0) cost += (double)tg_price(p, node, l);
        }
        if (m == 0 || cost < best) best = cost;
    }
    return best;
}

static void find_future(double *future, const tg_problem *p, const tg_uses *uses) {
    for (int64_t node = (int64_t)p->nodes.count; node-- > 0;)
        for (uint32_t l = 0; l < tg_choice_at(p, node)->nlayouts; l++) {
            double sum = 0;
            for (uint32_t i = uses->first[node], j; i < uses->first[node + 1]; i = j) {
                for (j = i + 1; j < uses->first[node + 1] && uses->at[j].node == uses->at[i].node; j++) {}
                sum += reader_future(p, uses, i, j, node, l, future);
            }
            future[tg_choice_at(p, node)->first_layout + l] = sum;
        }
}

/* ---- the beam ------------------------------------------------------------------------------------- */

/* A partial plan: its last step, and the tensors that are still to be read (rows of beam.tensors). */
typedef struct state {
    uint32_t step; /* in beam.steps */
    int64_t  cost;
    double   bound;
    uint64_t hash;
    uint32_t order; /* in which states came up */
} state;

typedef struct step {
    uint32_t before, mode;
} step;

TG_HLO_TABLE(state_rows, state)
TG_HLO_TABLE(step_rows, step)
TG_HLO_TABLE(tensor_rows, tensor)

typedef struct beam {
    const tg_problem *p;
    const tg_uses    *uses;
    int32_t           width;
    state_rows        states, next;
    tensor_rows       tensors, next_tensors; /* nlive of each state */
    step_rows         steps;
    tg_var_rows       live; /* nodes that are still to be read */
    uint32_t         *place; /* of a node in live */
    double           *future;
} beam;

static bool is_read_after(const beam *b, uint32_t node, int64_t now) {
    const uint32_t end = b->uses->first[node + 1];
    return end > b->uses->first[node] && b->uses->at[end - 1].node > now;
}

static uint64_t hash_tensors(const tensor *t, size_t n) {
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ t[i].layout) * UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ (h >> 31) ^ t[i].copies) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return h ^ (h >> 29);
}

static bool same_tensors(const tensor *a, const tensor *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i].layout != b[i].layout || a[i].copies != b[i].copies) return false;
    return true;
}

/* A bound is a guess for all that is still to be read. */
static double guess(const beam *b, const tensor *t, int64_t cost) {
    double sum = (double)cost;
    for (size_t i = 0; i < b->live.count; i++)
        sum += b->future[tg_choice_at(b->p, b->live.rows[i])->first_layout + t[i].layout];
    return sum;
}

/* State s goes on with mode m of the node. live: before the node, which comes last in it. */
static bool expand(beam *b, const state *s, size_t nlive, int64_t node, uint32_t m) {
    if (!tensor_rows_reserve(&b->next_tensors, nlive)) return false;
    tensor *t = b->next_tensors.rows + b->next_tensors.count;
    if (nlive > 1)
        memcpy(t, b->tensors.rows + (size_t)(s - b->states.rows) * (nlive - 1), (nlive - 1) * sizeof *t);
    t[nlive - 1] = (tensor){tg_mode_at(b->p, node, m)->layout, 0};
    const int64_t cost = tg_cost_add(s->cost, node_cost(b->p, node, m, t, b->place));
    if (cost >= TG_INFINITE) return true;
    const step  taken = {s->step, m};
    const state next = {(uint32_t)b->steps.count, cost, 0, 0, (uint32_t)b->next.count};
    b->next_tensors.count += nlive;
    return step_rows_push(&b->steps, taken) && state_rows_push(&b->next, next);
}

/* A bound may be so large that a double does not show the cost any more. */
static int by_bound(const void *x, const void *y) {
    const state *a = x, *b = y;
    if (a->bound != b->bound) return a->bound < b->bound ? -1 : 1;
    if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int by_hash(const void *x, const void *y) {
    const state *a = x, *b = y;
    return a->hash != b->hash ? (a->hash < b->hash ? -1 : 1) : by_bound(x, y);
}

/* Copies are only of interest while they can be used again. */
static size_t drop_dead(beam *b, int64_t node, size_t nlive) {
    size_t kept = 0;
    for (size_t i = 0; i < nlive; i++) {
        if (!is_read_after(b, b->live.rows[i], node)) continue;
        for (size_t s = 0; s < b->next.count; s++)
            b->next_tensors.rows[s * nlive + kept] = b->next_tensors.rows[s * nlive + i];
        b->live.rows[kept] = b->live.rows[i];
        b->place[b->live.rows[kept]] = (uint32_t)kept;
        kept++;
    }
    b->live.count = kept;
    return kept;
}

/* Of states that agree the best stays, of the others the best `width`. */
static bool prune(beam *b, size_t stride) {
    const size_t n = b->live.count;
    size_t       kept = 0;
    for (size_t i = 0; i < b->next.count; i++) {
        state        *s = &b->next.rows[i];
        const tensor *t = b->next_tensors.rows + i * stride;
        s->hash = hash_tensors(t, n);
        s->bound = guess(b, t, s->cost);
    }
    if (b->next.count > 0) qsort(b->next.rows, b->next.count, sizeof *b->next.rows, by_hash);
    for (size_t i = 0; i < b->next.count; i++) {
        const state *s = &b->next.rows[i], *last = kept > 0 ? &b->next.rows[kept - 1] : NULL;
        if (last != NULL && last->hash == s->hash &&
            same_tensors(b->next_tensors.rows + last->order * stride, b->next_tensors.rows + s->order * stride, n))
            continue;
        b->next.rows[kept++] = *s;
    }
    b->next.count = kept;
    if (kept > 0) qsort(b->next.rows, kept, sizeof *b->next.rows, by_bound);
    if (kept > (size_t)b->width) b->next.count = (size_t)b->width;
    b->states.count = b->tensors.count = 0;
    if (!tensor_rows_reserve(&b->tensors, b->next.count * n + 1)) return false;
    for (size_t i = 0; i < b->next.count; i++) {
        if (n > 0)
            memcpy(b->tensors.rows + i * n, b->next_tensors.rows + b->next.rows[i].order * stride,
                   n * sizeof *b->tensors.rows);
        if (!state_rows_push(&b->states, b->next.rows[i])) return false;
    }
    return true;
}

static bool beam_step(beam *b, int64_t node) {
    b->place[node] = (uint32_t)b->live.count;
    if (!tg_var_rows_push(&b->live, (uint32_t)node)) return false;
    const size_t nlive = b->live.count;
    b->next.count = b->next_tensors.count = 0;
    for (size_t i = 0; i < b->states.count; i++)
        for (uint32_t m = 0; m < tg_choice_at(b->p, node)->nmodes; m++)
            if (!expand(b, &b->states.rows[i], nlive, node, m)) return false;
    (void)drop_dead(b, node, nlive);
    return prune(b, nlive);
}

static bool run_beam(beam *b) {
    const step  nothing = {0, 0};
    const state first = {0, 0, 0, 0, 0};
    if (!step_rows_push(&b->steps, nothing) || !state_rows_push(&b->states, first)) return false;
    find_future(b->future, b->p, b->uses);
    for (int64_t node = 0; node < (int64_t)b->p->nodes.count && b->states.count > 0; node++)
        if (!beam_step(b, node)) return false;
    return true;
}

/* The modes of the cheapest state, from the end back. */
static void take_best(uint32_t *modes, const beam *b) {
    const state *best = &b->states.rows[0];
    for (size_t i = 1; i < b->states.count; i++)
        if (b->states.rows[i].cost < best->cost) best = &b->states.rows[i];
    uint32_t at = best->step;
    for (size_t node = b->p->nodes.count; node-- > 0; at = b->steps.rows[at].before)
        modes[node] = b->steps.rows[at].mode;
}

tg_status tg_choose_beam(uint32_t *modes, bool *found, const tg_problem *p, const tg_uses *uses, int32_t width,
                         tg_error *err) {
    beam b = {.p = p, .uses = uses, .width = width};
    b.place = malloc((p->nodes.count + 1) * sizeof *b.place);
    b.future = malloc((p->choices.count + 1) * sizeof *b.future);
    const bool ok = b.place != NULL && b.future != NULL && run_beam(&b);
    *found = ok && b.states.count > 0;
    if (*found) take_best(modes, &b);
    free(b.states.rows);
    free(b.next.rows);
    free(b.tensors.rows);
    free(b.next_tensors.rows);
    free(b.steps.rows);
    free(b.live.rows);
    free(b.place);
    free(b.future);
    return ok ? TG_OK : tg_graph_no_memory(err);
}
