/* Prices that make the bound low, found by supply and demand: where more is wanted than there is a tick gets dearer,
 * else cheaper. This is the subgradient method on the Lagrangian dual, whose least value is that of the linear
 * relaxation of choosing buffers with at most the capacity alive in each tick. A buffer that may take the place of
 * another does not pay for the tick in which both are there. */
#include "graph/scratchpad.h"

#include "base/error.h"
#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 4096, ROUNDS = 200, PATIENCE = 8 };

typedef struct market {
    const tg_scratchpad *s;
    tg_prices           *p;
    double              *price;  /* of each tick, per byte */
    int64_t             *sums;   /* parts: of the prices before each tick */
    int64_t             *best;   /* those of the best round */
    int64_t             *demand; /* bytes at each tick */
} market;

/* ---- the goods ------------------------------------------------------------------------------------ */

/* The first of the ticks that is at least `tick`. */
static int64_t find_tick(const int64_t *ticks, int64_t n, int64_t tick) {
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (ticks[middle] < tick) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool has_parent(const tg_scratchpad *s, const tg_buffer *b) {
    for (int64_t k = 0; k < b->nparents; k++)
        if (s->allowed[b->parents[k]]) return true;
    return false;
}

/* Ticks are the starts of allowed buffers; `room` is for n of them. */
static bool list_goods(tg_prices *p, const tg_scratchpad *s, int64_t *room) {
    int64_t *order = malloc(((size_t)s->n + 1) * sizeof *order);
    if (order == NULL || !tg_order_by_start(order, s)) {
        free(order);
        return false;
    }
    for (int64_t i = 0; i < s->n; i++) {
        const int64_t tick = tg_buffer_start(&s->buffers[order[i]]);
        if (s->allowed[order[i]] && (p->nticks == 0 || room[p->nticks - 1] != tick)) room[p->nticks++] = tick;
    }
    for (int64_t i = 0; i < s->n; i++) {
        const tg_buffer *b = &s->buffers[i];
        if (!s->allowed[i]) continue;
        p->first[i] = find_tick(room, p->nticks, tg_buffer_start(b)) + has_parent(s, b);
        p->last[i] = find_tick(room, p->nticks, tg_buffer_end(b));
        p->pays[i] = tg_align(b->size, s->alignment);
        p->unit = tg_gcd(p->unit, s->saved[i]);
    }
    free(order);
    return true;
}

/* ---- a round ---------------------------------------------------------------------------------------- */

/* False if the prices are beyond counting. */
static bool sum_prices(market *m) {
    int64_t all;
    m->sums[0] = 0;
    for (int64_t t = 0; t < m->p->nticks; t++) {
        const double parts = m->price[t] * (double)m->p->parts;
        if (!(parts < 1e15) || !tg_add(&m->sums[t + 1], m->sums[t], (int64_t)parts)) return false;
    }
    return tg_mul(&all, m->sums[m->p->nticks], m->p->capacity) && all < INT64_MAX / 4;
}

static bool is_forced(const tg_scratchpad *s, int64_t i) { return s->forced != NULL && s->forced[i]; }

/* Profits under the prices of m->sums, and the bound. */
static int64_t sell(market *m) {
    tg_prices *p = m->p;
    int64_t    bound = p->capacity * m->sums[p->nticks];
    for (int64_t i = 0; i < m->s->n; i++) {
        if (!m->s->allowed[i]) continue;
        p->profit[i] = m->s->saved[i] * p->parts;
        if (p->last[i] > p->first[i]) p->profit[i] -= p->pays[i] * (m->sums[p->last[i]] - m->sums[p->first[i]]);
        bound += is_forced(m->s, i) ? p->profit[i] : tg_max(0, p->profit[i]);
    }
    return bound;
}

static void count_demand(market *m) {
    const tg_prices *p = m->p;
    memset(m->demand, 0, ((size_t)p->nticks + 1) * sizeof *m->demand);
    for (int64_t i = 0; i < m->s->n; i++) {
        const bool wanted = m->s->allowed[i] && (p->profit[i] > 0 || is_forced(m->s, i));
        if (!wanted || p->last[i] <= p->first[i]) continue;
        m->demand[p->first[i]] += p->pays[i]; /* what changes there; summed up below */
        m->demand[p->last[i]] -= p->pays[i];
    }
    for (int64_t t = 1; t < p->nticks; t++) m->demand[t] += m->demand[t - 1];
}

/* False if no price has to change. */
static bool adjust(market *m, double gap) {
    double squares = 0;
    for (int64_t t = 0; t < m->p->nticks; t++) {
        const double excess = (double)(m->demand[t] - m->p->capacity);
        if (excess > 0 || m->price[t] > 0) squares += excess * excess;
    }
    if (squares <= 0) return false;
    for (int64_t t = 0; t < m->p->nticks; t++) {
        const double price = m->price[t] + gap / squares * (double)(m->demand[t] - m->p->capacity);
        m->price[t] = price > 0 ? price : 0;
    }
    return true;
}

static void trade(market *m, int64_t goal) {
    tg_prices *p = m->p;
    double     pace = 1;
    int64_t    since = 0;
    p->bound = INT64_MAX;
    for (int round = 0; round < ROUNDS && sum_prices(m); round++) {
        const int64_t bound = sell(m);
        if (bound < p->bound) {
            p->bound = bound;
            memcpy(m->best, m->sums, ((size_t)p->nticks + 1) * sizeof *m->best);
            since = 0;
        } else if (++since == PATIENCE) {
            pace /= 2;
            since = 0;
        }
        if (tg_prices_bytes(p, p->bound) <= goal) break;
        count_demand(m);
        if (!adjust(m, pace * ((double)bound / (double)p->parts - (double)goal))) break;
    }
    memcpy(m->sums, m->best, ((size_t)p->nticks + 1) * sizeof *m->best);
    p->bound = sell(m);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static bool reserve(market *m, tg_prices *p, size_t n) {
    p->first = calloc(n, sizeof *p->first);
    p->last = calloc(n, sizeof *p->last);
    p->pays = calloc(n, sizeof *p->pays);
    p->profit = calloc(n, sizeof *p->profit);
    m->price = calloc(n, sizeof *m->price);
    m->sums = calloc(n, sizeof *m->sums);
    m->best = calloc(n, sizeof *m->best);
    m->demand = calloc(n, sizeof *m->demand);
    return p->first != NULL && p->last != NULL && p->pays != NULL && p->profit != NULL && m->price != NULL &&
           m->sums != NULL && m->best != NULL && m->demand != NULL;
}

tg_status tg_prices_find(tg_prices *out, const tg_scratchpad *s, int64_t goal, tg_error *err) {
    market  m = {.s = s, .p = out};
    int64_t sum = 0;
    *out = (tg_prices){.parts = PARTS, .capacity = tg_align(s->capacity, s->alignment)};
    for (int64_t i = 0; i < s->n; i++) sum += s->allowed[i] ? s->saved[i] : 0; /* fits: it was checked */
    if (sum > INT64_MAX / 2 / PARTS) out->parts = 1;
    const bool memory = reserve(&m, out, (size_t)s->n + 2) && list_goods(out, s, m.demand);
    if (memory && out->unit == 0) out->unit = 1;
    if (memory) trade(&m, goal);
    free(m.price);
    free(m.sums);
    free(m.best);
    free(m.demand);
    if (memory) return TG_OK;
    tg_prices_free(out);
    return tg_graph_no_memory(err);
}

void tg_prices_free(tg_prices *p) {
    free(p->first);
    free(p->last);
    free(p->pays);
    free(p->profit);
    *p = (tg_prices){.parts = 1};
}
