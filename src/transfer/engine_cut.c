/* Cutting a descriptor that is too much for one.
 *
 * One loop after the other is cut into pieces of m steps and a rest. What m could help is known from the limits: the
 * most that one slot takes, the most that two slots take as factors, as much as the length allows, and one step, which
 * is the loop unrolled. Pieces must begin where the engine lets a descriptor start. The search takes cuts with few
 * pieces first and leaves what cannot become better than what it has:
 *
 *     5 by 5 by 300 by 5 by 5 by 64 in TMA's five dimensions of 256
 *     300 into 256 and 44, a 5 unrolled in each        2 * 5 = 10 descriptors
 *     two 5 unrolled, then there is room for 300       5 * 5 = 25
 *     no descriptor takes more than five of the loops          so 5 at least: other cuts with fewer pieces are tried
 *
 * Shapes are met again by other orders of the same cuts, so their counts are kept in a small table. What unrolling one
 * loop after the other gives is known beforehand: it bounds the search, and is the answer if that ends without one. */
#include "transfer/engine.h"

#include <string.h>

enum { WORK = 1 << 18, PLACE_WORK = 1 << 12, NO_WAY = 0, NO_NODE = -1, KNOWN = 512, KEY = 6, CUTS = 16 };

/* What is known of a shape: its count, or that it has none below `bound`. */
typedef struct known {
    int64_t range[KEY];
    int64_t count, bound;
} known;

typedef struct search {
    const tg_sides *sides;
    tg_dma         *dma;
    tg_dma          placed; /* only room */
    int64_t         limit[TG_SIDES * TG_ENGINE_MAX_LOOPS]; /* the ranges that slots take, each once */
    int32_t         nlimits;
    int32_t         work;
    known           known[KNOWN];
} search;

/* A cut, and how many pieces it makes. */
typedef struct choice {
    int64_t pieces;
    int32_t loop;
    int64_t step;
} choice;

/* Cuts of a shape, fewest pieces first: some at a time, since to find one costs as much as to find all. */
typedef struct cuts {
    int32_t n, next;
    choice  at[CUTS];
} cuts;

/* ---- what cuts there are ---- */

/* The least number of steps of this loop that is a whole number of so many bytes. */
static int64_t steps_in(const tg_side *side, const tg_dma_loop *l, int32_t bytes) {
    const int64_t bits = (int64_t)bytes * 8;
    if (bits == 0) return 1;
    const int64_t phase = tg_side_stride(side, l) % bits * side->bits % bits;
    return phase == 0 ? 1 : bits / tg_gcd(bits, phase);
}

static void make_multiple(int64_t *unit, int64_t of) {
    if (!tg_mul(unit, *unit / tg_gcd(*unit, of), of)) *unit = INT64_MAX;
}

/* Pieces of the loop may begin at multiples of so many steps, where all sides are aligned; with is_run they are whole
 * granules, too. */
static int64_t unit_of(const search *s, const tg_dma_loop *l, bool is_run) {
    int64_t unit = 1;
    for (int32_t k = 0; k < TG_SIDES; k++) {
        const tg_side *side = &s->sides->at[k];
        make_multiple(&unit, steps_in(side, l, side->rules->alignment));
        if (is_run) make_multiple(&unit, steps_in(side, l, side->rules->granule));
    }
    return unit;
}

/* What a slot takes at most, whatever a linear side makes of it. */
static int64_t slot_limit(const search *s, int32_t slot) {
    int64_t n = INT64_MAX;
    for (int32_t k = 0; k < TG_SIDES; k++) {
        const tg_side *side = &s->sides->at[k];
        if (!side->rules->linear) n = tg_min(n, tg_side_max_range(side, slot));
    }
    return n;
}

static void add_limit(search *s, int64_t n) {
    int32_t k = 0;
    while (k < s->nlimits && s->limit[k] != n) k++;
    if (k == s->nlimits && n < INT64_MAX) s->limit[s->nlimits++] = n;
}

static void find_limits(search *s) {
    s->nlimits = 0;
    for (int32_t k = 0; k < TG_SIDES; k++) {
        const int32_t most = s->sides->at[k].rules->max_loops;
        for (int32_t i = 0; i < (most == 0 ? TG_ENGINE_MAX_LOOPS : most); i++)
            add_limit(s, tg_side_max_range(&s->sides->at[k], i));
    }
}

/* Most steps up to n that are a product of one number up to a, which is a multiple of unit, and one up to b. */
static int64_t two_factors(int64_t n, int64_t a, int64_t b, int64_t unit) {
    const int64_t inner = tg_min(a, n) - tg_min(a, n) % unit;
    if (inner == 0) return 0;
    const int64_t outer = tg_min(b, n / inner), thin = n / (outer + 1) - n / (outer + 1) % unit;
    return outer < b ? tg_max(inner * outer, thin * (outer + 1)) : inner * outer;
}

/* Steps of loop i that the length allows: alone, in one descriptor with all others, or with loop `with`. */
static int64_t length_limit(const search *s, int32_t i, int32_t with) {
    const int64_t most = tg_min(tg_side_max_elements(&s->sides->at[TG_DEVICE_SIDE]),
                                tg_side_max_elements(&s->sides->at[TG_HOST_SIDE]));
    if (with == s->dma->nloops) return most / (tg_dma_elements(s->dma) / s->dma->loop[i].range);
    return with == i ? most : most / s->dma->loop[with].range;
}

/* Steps of loop i after which loop j goes on, on a side that is filled without gaps; 0 if that never is. */
static int64_t gap_limit(const search *s, int32_t i, int32_t j, int32_t side) {
    const tg_side *const one = &s->sides->at[side];
    const int64_t        step = tg_side_stride(one, &s->dma->loop[i]), other = tg_side_stride(one, &s->dma->loop[j]);
    const bool           has_gaps = !one->rules->dense && !one->rules->linear;
    return has_gaps || step <= 0 || other <= 0 || other % step != 0 ? 0 : other / step;
}

/* Unrolling; lengths, for each loop and for all; gaps, for each loop and side; one slot; two slots. */
static int32_t count_candidates(const search *s) {
    return 2 + s->dma->nloops * (1 + TG_SIDES) + s->nlimits + s->nlimits * s->nlimits;
}

/* Candidate c for the steps in a piece of loop i, 0 if it is none; `most` is what the length allows with all others. */
static int64_t candidate(const search *s, int32_t i, int32_t c, int64_t unit, int64_t most) {
    const int64_t range = s->dma->loop[i].range;
    const int32_t n = s->nlimits, loops = s->dma->nloops;
    int64_t       step = 0;
    if (c == 0) return unit;
    if ((c -= 1) <= loops) step = c == loops ? most : length_limit(s, i, c);
    else if ((c -= loops + 1) < TG_SIDES * loops) step = gap_limit(s, i, c / TG_SIDES, c % TG_SIDES);
    else if ((c -= TG_SIDES * loops) < n) step = s->limit[c];
    else step = two_factors(tg_min(range, tg_max(1, most)), s->limit[(c - n) / n], s->limit[(c - n) % n], unit);
    return step < range ? step - step % unit : 0;
}

static bool is_before(const choice *a, const choice *b) {
    if (a->pieces != b->pieces) return a->pieces < b->pieces;
    return a->loop != b->loop ? a->loop > b->loop : a->step > b->step;
}

/* Put the cut where it belongs, if there is room before those that are there. */
static void keep_cut(cuts *c, const choice *it) {
    int32_t at = c->n;
    while (at > 0 && is_before(it, &c->at[at - 1])) at--;
    if (at == CUTS || (at > 0 && !is_before(&c->at[at - 1], it))) return;
    if (c->n < CUTS) c->n++;
    memmove(&c->at[at + 1], &c->at[at], (size_t)(c->n - 1 - at) * sizeof *it);
    c->at[at] = *it;
}

static void add_cuts_of(cuts *c, const search *s, const choice *last, int32_t i, int64_t unit) {
    const int64_t range = s->dma->loop[i].range, most = length_limit(s, i, s->dma->nloops);
    const int32_t n = unit < range ? count_candidates(s) : 0;
    for (int32_t k = 0; k < n; k++) {
        const int64_t step = candidate(s, i, k, unit, most);
        if (step <= 0) continue;
        const choice it = {tg_ceil_div(range, step), i, step};
        if (is_before(last, &it)) keep_cut(c, &it);
    }
}

/* The cuts after `last`, as many as there is room for. */
static void find_cuts(cuts *c, const search *s, const choice *last) {
    c->n = c->next = 0;
    for (int32_t i = 0; i < s->dma->nloops; i++) {
        const tg_dma_loop *l = &s->dma->loop[i];
        const int64_t      unit = unit_of(s, l, false), run_unit = unit_of(s, l, true);
        if (l->range == 1) continue;
        add_cuts_of(c, s, last, i, unit);
        if (run_unit != unit) add_cuts_of(c, s, last, i, run_unit);
    }
}

static void first_cuts(cuts *c, const search *s) { find_cuts(c, s, &(choice){0, -1, 0}); }

/* False after the last one. pre: the shape is that of first_cuts. */
static bool next_cut(choice *out, cuts *c, const search *s) {
    if (c->next == CUTS) {
        const choice last = c->at[CUTS - 1];
        find_cuts(c, s, &last);
    }
    if (c->next == c->n) return false;
    *out = c->at[c->next++];
    return true;
}

/* ---- the fewest descriptors ---- */

/* No descriptor holds more elements than the longest loops that have a slot, nor more than the slots take. */
static int64_t count_at_least(const search *s) {
    const int32_t slots = tg_sides_slots(s->sides, s->sides->at[TG_DEVICE_SIDE].rules->linear,
                                         s->sides->at[TG_HOST_SIDE].rules->linear);
    const int64_t all = tg_dma_elements(s->dma);
    bool          used[TG_DMA_MAX_LOOPS] = {false};
    int64_t       most = 1, taken = 1;
    for (int32_t k = 0; k < slots; k++) {
        int32_t best = -1;
        for (int32_t i = 0; i < s->dma->nloops; i++)
            if (!used[i] && (best < 0 || s->dma->loop[i].range > s->dma->loop[best].range)) best = i;
        if (best >= 0) {
            used[best] = true;
            most *= s->dma->loop[best].range;
        }
        if (!tg_mul(&taken, taken, slot_limit(s, k))) taken = INT64_MAX;
    }
    return tg_ceil_div(all, tg_max(1, tg_min(most, taken))); /* 0: an element is wider than the slot */
}

/* The entry of the shape as it is now; one that is for another shape is emptied. NULL: too many loops to be kept. */
static known *find_known(search *s) {
    uint64_t hash = 0;
    bool     is_same = true;
    if (s->dma->nloops > KEY) return NULL;
    for (int32_t i = 0; i < s->dma->nloops; i++)
        hash = (hash ^ (uint64_t)s->dma->loop[i].range) * 0x9e3779b97f4a7c15u;
    known *const k = &s->known[hash >> 32 & (KNOWN - 1)];
    for (int32_t i = 0; i < s->dma->nloops; i++) {
        is_same = is_same && k->range[i] == s->dma->loop[i].range;
        k->range[i] = s->dma->loop[i].range;
    }
    if (!is_same) k->count = k->bound = 0;
    return k;
}

static int64_t count_best(search *s, choice *best, int64_t bound);

/* The count of the shape, if it is below bound; else NO_WAY. */
static int64_t count_shape(search *s, int64_t bound) {
    choice unused;
    known *k = find_known(s);
    if (k != NULL && k->count > 0) return k->count < bound ? k->count : NO_WAY;
    if (k != NULL && k->bound >= bound) return NO_WAY;
    const int64_t n = count_best(s, &unused, bound);
    if (s->work <= 0 || (k = find_known(s)) == NULL) return n; /* not searched to the end */
    k->count = n;
    k->bound = tg_max(k->bound, bound);
    return n;
}

static int64_t count_with(search *s, int32_t loop, int64_t range, int64_t bound) {
    int64_t *const at = &s->dma->loop[loop].range, whole = *at;
    *at = range;
    const int64_t n = count_shape(s, bound);
    *at = whole;
    return n;
}

/* Descriptors after this cut, if they are fewer than bound; else NO_WAY. */
static int64_t count_cut(search *s, const choice *c, int64_t bound) {
    const int64_t range = s->dma->loop[c->loop].range, whole = range / c->step, rest = range % c->step;
    int64_t       n = count_with(s, c->loop, c->step, tg_ceil_div(bound, whole)), more = 0;
    if (n == NO_WAY || !tg_mul(&n, n, whole) || n >= bound) return NO_WAY;
    if (rest != 0 && (more = count_with(s, c->loop, rest, bound - n)) == NO_WAY) return NO_WAY;
    return n + more < bound ? n + more : NO_WAY;
}

static bool is_placed(search *s, int32_t loop, int64_t range) {
    int64_t *const at = &s->dma->loop[loop].range, whole = *at;
    *at = range;
    const bool placed = tg_sides_place(&s->placed, s->dma, s->sides, &s->work);
    *at = whole;
    return placed;
}

/* Descriptors below bound after the first cut whose pieces and rest all have their places: often the best, and quickly
 * found. */
static int64_t count_one_cut(search *s, choice *best, int64_t bound) {
    cuts   list;
    choice next;
    first_cuts(&list, s);
    while (s->work > 0 && next_cut(&next, &list, s) && next.pieces < bound) {
        const int64_t rest = s->dma->loop[next.loop].range % next.step;
        s->work -= s->dma->nloops;
        if (!is_placed(s, next.loop, next.step) || (rest != 0 && !is_placed(s, next.loop, rest))) continue;
        *best = next;
        return next.pieces;
    }
    return NO_WAY;
}

/* The fewest descriptors below bound, and the cut that begins them; best->loop is -1 if there is nothing to cut. */
static int64_t count_best(search *s, choice *best, int64_t bound) {
    cuts          list;
    choice        next;
    const int64_t least = count_at_least(s);
    if (bound <= least) return NO_WAY;
    if (tg_sides_place(&s->placed, s->dma, s->sides, &s->work)) {
        best->loop = -1;
        return 1;
    }
    int64_t fewest = count_one_cut(s, best, bound);
    if (fewest != NO_WAY) bound = fewest;
    first_cuts(&list, s);
    while (s->work > 0 && bound > least && next_cut(&next, &list, s) && next.pieces < bound) {
        const int64_t n = count_cut(s, &next, bound);
        s->work -= s->dma->nloops;
        if (n == NO_WAY) continue;
        fewest = bound = n;
        *best = next;
    }
    return fewest;
}

/* Loops unrolled one after the other, the outermost first, until the rest has its place. */
static int64_t count_unrolled(search *s, choice *first) {
    int32_t work = PLACE_WORK, i = 0;
    int64_t unit = 1;
    choice  unused;
    first->loop = -1;
    if (tg_sides_place(&s->placed, s->dma, s->sides, &work)) return 1;
    for (; i < s->dma->nloops; i++) {
        unit = unit_of(s, &s->dma->loop[i], true);
        if (unit < s->dma->loop[i].range) break;
    }
    if (i == s->dma->nloops) return NO_WAY;
    int64_t *const at = &s->dma->loop[i].range, whole = *at;
    int64_t        n, more = 0;
    *first = (choice){tg_ceil_div(whole, unit), i, unit};
    *at = unit;
    n = count_unrolled(s, &unused);
    *at = whole % unit;
    if (*at != 0) more = count_unrolled(s, &unused);
    const bool is_way =
        n != NO_WAY && (*at == 0 || more != NO_WAY) && tg_mul(&n, n, whole / unit) && tg_add(&n, n, more);
    *at = whole;
    return is_way ? n : NO_WAY;
}

/* ---- the tree ---- */

/* Node `node` is n times `piece`, and `rest` if there is one. */
static bool join(tg_cuts *out, int32_t node, int64_t n, int32_t piece, int32_t rest) {
    tg_cut *const cut = &out->at[node];
    cut->piece = piece;
    cut->rest = rest;
    return tg_mul(&cut->count, n, out->at[piece].count) &&
           (rest == NO_NODE || tg_add(&cut->count, cut->count, out->at[rest].count));
}

/* The node for the shape as it is, and those below it; NO_NODE if there is no way or no room. */
static int32_t add_node(tg_cuts *out, search *s) {
    choice        best, better;
    const int64_t unrolled = count_unrolled(s, &best);
    s->work = unrolled == NO_WAY ? WORK / 4 : WORK; /* then there is hardly one */
    int64_t count = count_best(s, &better, unrolled == NO_WAY ? INT64_MAX : unrolled);
    if (count == NO_WAY) count = unrolled;
    else best = better;
    if (count == NO_WAY || out->n == TG_CUT_NODES) return NO_NODE;
    const int32_t node = out->n++;
    out->at[node] = (tg_cut){best.loop, best.step, NO_NODE, NO_NODE, count};
    if (best.loop < 0) return node;
    int64_t *const at = &s->dma->loop[best.loop].range, whole = *at;
    *at = best.step;
    const int32_t piece = add_node(out, s);
    *at = whole % best.step;
    const int32_t rest = *at == 0 || piece < 0 ? NO_NODE : add_node(out, s);
    const bool    is_done = piece >= 0 && (*at == 0 || rest >= 0);
    *at = whole;
    return is_done && join(out, node, whole / best.step, piece, rest) ? node : NO_NODE;
}

bool tg_cuts_find(tg_cuts *out, tg_dma *dma, const tg_sides *sides) {
    search s;
    s.sides = sides;
    s.dma = dma;
    memset(s.known, 0, sizeof s.known); /* no shape has a loop of no steps */
    find_limits(&s);
    out->n = 0;
    return add_node(out, &s) == 0;
}
