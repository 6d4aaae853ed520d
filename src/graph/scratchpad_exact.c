/* The most saved bytes. Buffers that are never alive together, not even through others, are problems of their own. Each
 * takes the best answer of the published solvers, and of the same with other orders; a bound by prices says whether
 * that is all there is. If not, buffers are chosen one by one, those first that prices are surest of, as long as the
 * bound is above the best answer; what is chosen in the end is packed. Where that goes on for too long, the problem is
 * cut in two, with prices of their own: the buffer that prices are least sure of is in, or it is out. */
#include "graph/scratchpad.h"

#include "base/error.h"
#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- one problem -------------------------------------------------------------------------------------- */

typedef struct search {
    tg_scratchpad    s;       /* `allowed` is `chosen` below */
    tg_prices        prices;
    bool            *chosen;
    int64_t         *order;   /* buffers, those with the largest profits or losses first */
    int64_t          n;       /* of these */
    int8_t          *turn;    /* of each depth: choices that were tried */
    int64_t         *load;    /* bytes in each tick of the prices */
    int64_t          bound;   /* parts, of what is open */
    tg_placement    *best, *room;
    tg_fit_key      *keys;
    int64_t          best_saved;
    int64_t          open;    /* what was chosen and neither packed nor refuted saves at most this */
    int64_t          branches;
} search;

typedef struct rank {
    int64_t size, buffer;
} rank;

static int by_size(const void *a, const void *b) {
    const rank *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static bool order_buffers(search *q, const bool *allowed, const bool *forced) {
    rank *ranks = malloc(((size_t)q->s.n + 1) * sizeof *ranks);
    if (ranks == NULL) return false;
    for (int64_t i = 0; i < q->s.n; i++) {
        const int64_t profit = q->prices.profit[i];
        if (allowed[i] && !forced[i]) ranks[q->n++] = (rank){profit < 0 ? -profit : profit, i};
    }
    qsort(ranks, (size_t)q->n, sizeof *ranks, by_size);
    for (int64_t k = 0; k < q->n; k++) q->order[k] = ranks[k].buffer;
    free(ranks);
    return true;
}

static int64_t saved_by(const tg_scratchpad *s, const tg_placement *placements) {
    int64_t saved = 0;
    for (int64_t i = 0; i < s->n; i++)
        if (placements[i].address >= 0) saved += s->saved[i];
    return saved;
}

static int64_t sum_saved(const tg_scratchpad *s) {
    int64_t saved = 0;
    for (int64_t i = 0; i < s->n; i++) saved += s->saved[i];
    return saved;
}

static void keep_best(search *q) {
    const int64_t saved = saved_by(&q->s, q->room);
    if (saved <= q->best_saved) return;
    q->best_saved = saved;
    memcpy(q->best, q->room, (size_t)q->s.n * sizeof *q->best);
}

/* False if a tick has more than it can hold. */
static bool add_load(search *q, int64_t i, int64_t sign) {
    const tg_prices *p = &q->prices;
    bool             fits = true;
    for (int64_t t = p->first[i]; t < p->last[i]; t++) {
        q->load[t] += sign * p->pays[i];
        fits = fits && q->load[t] <= p->capacity;
    }
    return fits;
}

/* What the choice takes from the bound. */
static int64_t loss(const search *q, int64_t i, bool chosen) {
    const int64_t profit = q->prices.profit[i];
    return chosen ? tg_max(0, -profit) : tg_max(0, profit);
}

static bool choose(search *q, int64_t i, bool chosen) {
    q->chosen[i] = chosen;
    q->bound -= loss(q, i, chosen);
    const bool fits = !chosen || add_load(q, i, 1);
    return fits && tg_prices_bytes(&q->prices, q->bound) > q->best_saved;
}

static void undo(search *q, int64_t i) {
    q->bound += loss(q, i, q->chosen[i]);
    if (q->chosen[i]) (void)add_load(q, i, -1);
    q->chosen[i] = false;
}

/* Orders in which everything that was chosen often fits. */
typedef enum fit_order { PUBLISHED, BY_SIZE, BY_SPAN, BY_AREA, BY_START, ORDERS } fit_order;

static void make_keys(tg_fit_key *keys, const tg_scratchpad *s, fit_order order) {
    for (int64_t i = 0; i < s->n; i++) {
        const tg_buffer *b = &s->buffers[i];
        const double     size = (double)b->size, start = (double)tg_buffer_start(b);
        const double     span = (double)tg_buffer_end(b) - start;
        if (order == BY_SIZE) keys[i] = (tg_fit_key){-size, -span};
        else if (order == BY_SPAN) keys[i] = (tg_fit_key){-span, -size};
        else if (order == BY_AREA) keys[i] = (tg_fit_key){-size * span, -size};
        else keys[i] = (tg_fit_key){start, -size};
    }
}

/* Until all that were chosen are in. */
static tg_status try_orders(search *q, int64_t wanted, tg_error *err) {
    tg_status s = TG_OK;
    for (int k = 0; k < 2 * ORDERS && s == TG_OK && q->best_saved < wanted; k++) {
        const fit_order order = (fit_order)(k / 2);
        if (order != PUBLISHED) make_keys(q->keys, &q->s, order);
        s = tg_place_fit(q->room, &q->s, order != PUBLISHED ? q->keys : NULL, k % 2 == 1, err);
        if (s == TG_OK) keep_best(q);
    }
    return s;
}

/* All buffers have been decided on. */
static tg_status try_chosen(search *q, tg_error *err) {
    int64_t wanted = 0;
    bool    found = false, known = true;
    for (int64_t i = 0; i < q->s.n; i++) wanted += q->chosen[i] ? q->s.saved[i] : 0;
    if (wanted <= q->best_saved) return TG_OK;
    q->branches -= q->n / 8;
    tg_status s = try_orders(q, wanted, err);
    if (s != TG_OK || q->best_saved >= wanted) return s;
    s = tg_pack_all(q->room, &found, &known, &q->branches, &q->s, err);
    if (s == TG_OK && found) keep_best(q);
    if (!known) q->open = tg_max(q->open, wanted);
    return s;
}

/* Depth by depth: what prices speak for first, then the other choice. */
static tg_status walk(search *q, tg_error *err) {
    tg_status s = TG_OK;
    int64_t   depth = 0;
    memset(q->turn, 0, (size_t)q->n + 1);
    while (depth >= 0 && s == TG_OK && q->branches > 0) {
        if (depth == q->n) {
            s = try_chosen(q, err);
            depth--;
            continue;
        }
        const int64_t i = q->order[depth];
        if (q->turn[depth] > 0) undo(q, i);
        if (q->turn[depth] == 2) {
            q->turn[depth--] = 0;
            continue;
        }
        q->branches--;
        const bool wanted = q->prices.profit[i] > 0;
        if (choose(q, i, q->turn[depth]++ == 0 ? wanted : !wanted)) depth++;
    }
    if (depth >= 0) q->open = INT64_MAX;
    return s;
}

static bool reserve(search *q) {
    const size_t n = (size_t)q->s.n + 2;
    q->chosen = calloc(n, sizeof *q->chosen);
    q->order = malloc(n * sizeof *q->order);
    q->turn = malloc(n * sizeof *q->turn);
    q->load = calloc(n, sizeof *q->load);
    q->room = malloc(n * sizeof *q->room);
    q->keys = malloc(n * sizeof *q->keys);
    return q->chosen != NULL && q->order != NULL && q->turn != NULL && q->load != NULL && q->room != NULL &&
           q->keys != NULL;
}

/* What is forced in has its place; false if that is too much. */
static bool choose_forced(search *q) {
    bool fits = true;
    for (int64_t i = 0; i < q->s.n; i++) {
        if (!q->s.forced[i]) continue;
        q->chosen[i] = true;
        fits = add_load(q, i, 1) && fits;
    }
    return fits;
}

/* ---- new prices ------------------------------------------------------------------------------------------- */

enum { WALK = 1000 }; /* branches with the same prices */

typedef struct branching {
    tg_scratchpad s;
    bool         *allowed, *forced; /* of s */
    tg_placement *best;
    int64_t       best_saved;
    int64_t       branches;
} branching;

static int64_t least_sure(const search *q) {
    int64_t found = -1;
    double  least = 0;
    for (int64_t k = 0; k < q->n; k++) {
        const int64_t i = q->order[k];
        const double  saved = (double)q->s.saved[i] * (double)q->prices.parts, profit = (double)q->prices.profit[i];
        const double  sure = (profit < 0 ? -profit : profit) / (saved > 0 ? saved : 1);
        if (found >= 0 && (sure > least || (sure == least && q->s.saved[i] <= q->s.saved[found]))) continue;
        found = i;
        least = sure;
    }
    return found;
}

/* Under the prices of q: *open is the buffer to go on with, -1 if nothing is open. */
static tg_status walk_once(search *q, branching *t, int64_t *bound, int64_t *open, tg_error *err) {
    const int64_t quota = tg_min(t->branches, WALK);
    q->bound = q->prices.bound;
    q->branches = quota;
    if (!reserve(q) || !order_buffers(q, t->allowed, t->forced)) return tg_graph_no_memory(err);
    const bool fits = choose_forced(q);
    q->s.allowed = q->chosen;
    const tg_status s = fits ? walk(q, err) : TG_OK;
    t->branches -= quota - q->branches;
    t->best_saved = q->best_saved;
    *bound = tg_min(*bound, tg_max(q->open, q->best_saved));
    *open = *bound > q->best_saved ? least_sure(q) : -1;
    return s;
}

static tg_status solve(branching *t, int64_t *bound, tg_error *err);

static tg_status solve_both(branching *t, int64_t i, int64_t *bound, tg_error *err) {
    int64_t in = *bound, out = *bound;
    t->forced[i] = true;
    tg_status s = solve(t, &in, err);
    t->forced[i] = false;
    t->allowed[i] = false;
    if (s == TG_OK) s = solve(t, &out, err);
    t->allowed[i] = true;
    *bound = tg_min(*bound, tg_max(tg_max(in, out), t->best_saved));
    return s;
}

/* Makes the best placements better; *bound, in bytes, lower. */
static tg_status solve(branching *t, int64_t *bound, tg_error *err) {
    search  q = {.s = t->s, .best = t->best, .best_saved = t->best_saved};
    int64_t open = -1;
    if (t->branches <= 0) return TG_OK;
    t->branches -= 1 + t->s.n / 4; /* about what prices take */
    tg_status s = tg_prices_find(&q.prices, &t->s, q.best_saved, err);
    if (s != TG_OK) return s;
    *bound = tg_max(tg_min(*bound, tg_prices_bytes(&q.prices, q.prices.bound)), t->best_saved);
    if (*bound > t->best_saved && t->branches > 0) s = walk_once(&q, t, bound, &open, err);
    tg_prices_free(&q.prices);
    free(q.chosen);
    free(q.order);
    free(q.turn);
    free(q.load);
    free(q.room);
    free(q.keys);
    return s == TG_OK && open >= 0 ? solve_both(t, open, bound, err) : s;
}

/* ---- taking problems apart ------------------------------------------------------------------------------ */

enum { ANSWERS = 5 };

typedef struct whole {
    const tg_scratchpad   *s;
    tg_placement          *out;
    tg_placement          *answers[ANSWERS]; /* of the solvers */
    int64_t               *order;      /* by start */
    int64_t               *number;     /* of each buffer in its problem, -1 if it is in no other one */
    tg_scratchpad_summary *summary;
    int64_t                branches; /* that are left */
    int64_t                nopen;    /* problems to share them */
} whole;

/* Most saved bytes for the room that is taken: by tick, and by piece. */
static tg_status place_by_worth(whole *w, tg_error *err) {
    tg_fit_key *keys = malloc(((size_t)w->s->n + 1) * sizeof *keys);
    tg_status   s = keys != NULL ? TG_OK : tg_graph_no_memory(err);
    for (int k = 3; k < ANSWERS && s == TG_OK; k++) {
        for (int64_t i = 0; i < w->s->n; i++) {
            const tg_buffer *b = &w->s->buffers[i];
            const double     size = (double)b->size;
            const double     ticks = (double)tg_buffer_end(b) - (double)tg_buffer_start(b);
            keys[i] = (tg_fit_key){-(double)w->s->saved[i] / (k == 3 ? size * ticks : size), -size};
        }
        s = tg_place_fit(w->answers[k], w->s, keys, false, err);
    }
    free(keys);
    return s;
}

static tg_status answer(whole *w, tg_error *err) {
    tg_status s = tg_place_greedy(w->answers[0], w->s, err);
    if (s == TG_OK) s = tg_place_fit(w->answers[1], w->s, NULL, false, err);
    if (s == TG_OK) s = tg_place_fit(w->answers[2], w->s, NULL, true, err);
    return s == TG_OK ? place_by_worth(w, err) : s;
}

/* The best answer for buffers `members`; what it saves, and what all of them would. */
static int64_t take_best(whole *w, const int64_t *members, int64_t n, int64_t *all) {
    int64_t most = -1;
    for (int k = 0; k < ANSWERS; k++) {
        int64_t saved = 0;
        *all = 0;
        for (int64_t i = 0; i < n; i++) {
            *all += w->s->saved[members[i]];
            saved += w->answers[k][members[i]].address >= 0 ? w->s->saved[members[i]] : 0;
        }
        if (saved <= most) continue;
        most = saved;
        for (int64_t i = 0; i < n; i++) w->out[members[i]] = w->answers[k][members[i]];
    }
    return most;
}

/* Arrays of a problem of its own. */
typedef struct part {
    tg_buffer    *buffers;
    int64_t      *parents, *saved;
    bool         *allowed, *forced;
    tg_placement *best;
} part;

static bool make_part(part *p, const whole *w, const int64_t *members, int64_t n) {
    int64_t nparents = 0;
    for (int64_t i = 0; i < n; i++) nparents += w->s->buffers[members[i]].nparents;
    const size_t room = (size_t)n + 1;
    *p = (part){malloc(room * sizeof *p->buffers), malloc(((size_t)nparents + 1) * sizeof *p->parents),
                malloc(room * sizeof *p->saved), malloc(room * sizeof *p->allowed), calloc(room, sizeof *p->forced),
                malloc(room * sizeof *p->best)};
    if (p->buffers == NULL || p->parents == NULL || p->saved == NULL || p->allowed == NULL || p->forced == NULL ||
        p->best == NULL)
        return false;
    int64_t *parents = p->parents;
    for (int64_t i = 0; i < n; i++) {
        const tg_buffer *b = &w->s->buffers[members[i]];
        p->buffers[i] = *b;
        p->buffers[i].parents = parents;
        p->buffers[i].nparents = 0;
        for (int64_t k = 0; k < b->nparents; k++)
            if (w->s->allowed[b->parents[k]]) parents[p->buffers[i].nparents++] = w->number[b->parents[k]];
        parents += p->buffers[i].nparents;
        p->saved[i] = w->s->saved[members[i]];
        p->allowed[i] = true;
        p->best[i] = w->out[members[i]];
        if (p->best[i].in_place_of >= 0) p->best[i].in_place_of = w->number[p->best[i].in_place_of];
    }
    return true;
}

static tg_status solve_part(whole *w, const int64_t *members, int64_t n, tg_error *err) {
    part          p;
    const int64_t share = w->branches / w->nopen--;
    int64_t       bound = INT64_MAX;
    tg_status     s = TG_OK;
    for (int64_t i = 0; i < n; i++) w->number[members[i]] = i;
    if (make_part(&p, w, members, n)) {
        branching t = {{p.buffers, n, p.saved, p.allowed, w->s->capacity, w->s->alignment, 0, p.forced},
                       p.allowed, p.forced, p.best, 0, share};
        t.best_saved = saved_by(&t.s, p.best);
        bound = sum_saved(&t.s);
        s = solve(&t, &bound, err);
        w->branches -= share - tg_max(0, t.branches);
    } else {
        s = tg_graph_no_memory(err);
    }
    for (int64_t i = 0; i < n && s == TG_OK; i++) {
        tg_placement *at = &w->out[members[i]];
        *at = p.best[i];
        if (at->in_place_of >= 0) at->in_place_of = members[at->in_place_of];
    }
    w->summary->bound_bytes += bound;
    free(p.buffers);
    free(p.parents);
    free(p.saved);
    free(p.allowed);
    free(p.forced);
    free(p.best);
    return s;
}

/* A problem ends where nothing is alive; buffers are in order. */
static int64_t find_end(const whole *w, int64_t i, int64_t n) {
    int64_t end = tg_buffer_end(&w->s->buffers[w->order[i]]);
    for (i++; i < n && tg_buffer_start(&w->s->buffers[w->order[i]]) < end; i++)
        end = tg_max(end, tg_buffer_end(&w->s->buffers[w->order[i]]));
    return i;
}

static tg_status solve_parts(whole *w, tg_error *err) {
    int64_t   n = 0, all;
    tg_status s = TG_OK;
    for (int64_t i = 0; i < w->s->n; i++) {
        w->out[i] = (tg_placement){-1, -1};
        if (w->s->allowed[w->order[i]]) w->order[n++] = w->order[i];
    }
    for (int64_t i = 0, next; i < n; i = next) {
        next = find_end(w, i, n);
        w->nopen += take_best(w, w->order + i, next - i, &all) < all;
    }
    for (int64_t i = 0, next; i < n && s == TG_OK; i = next) {
        next = find_end(w, i, n);
        if (take_best(w, w->order + i, next - i, &all) == all) w->summary->bound_bytes += all;
        else s = solve_part(w, w->order + i, next - i, err);
    }
    return s;
}

tg_status tg_place_exact(tg_placement *out, tg_scratchpad_summary *summary, const tg_scratchpad *s, tg_error *err) {
    const size_t  n = (size_t)s->n + 1;
    whole         w = {.s = s, .out = out, .summary = summary, .branches = s->branches};
    tg_placement *answers = malloc(ANSWERS * n * sizeof *answers);
    w.order = malloc(2 * n * sizeof *w.order);
    const bool memory = answers != NULL && w.order != NULL && tg_order_by_start(w.order, s);
    tg_status  status = memory ? TG_OK : tg_graph_no_memory(err);
    summary->bound_bytes = 0;
    if (memory) {
        for (size_t k = 0; k < ANSWERS; k++) w.answers[k] = answers + k * n;
        w.number = w.order + n;
        status = answer(&w, err);
    }
    if (status == TG_OK) status = solve_parts(&w, err);
    summary->branches = s->branches - w.branches;
    free(answers);
    free(w.order);
    return status;
}
