/* The order of dimensions that needs the fewest elements under given tiles, without looking at all n! of them.
 *
 * A place is a position of the order, 0 the most minor. Three facts make the search small and keep it exact:
 *
 *   1. Places that no level touches (the most major ones) only multiply: whatever dimensions are left for them.
 *   2. The first level sees dimensions under a `*` only through their product: these places are a group, and what
 *      matters is which dimensions it gets, not how they stand in it.
 *   3. Groups that no later `*` joins never meet. So the elements are a product f1(dims of group 1) * f2(...) * ...,
 *      and the best choice for the places that are left depends on which dimensions are left, not on how the others
 *      were placed. Groups that a later `*` does join are one component, and judged together.
 *
 * So the best answer is found for every set of dimensions that can be left, from the set itself: at most 2^n, and
 * n (n-1) ... for the few places that tiles touch. f itself is never written down. With size 1 wherever nothing is
 * placed the walk gives h = f1(dims) * f2(1) * f3(1) ..., and with 1 everywhere it gives base = f1(1) * f2(1) ...:
 * joining an answer for the rest to a choice here is rest * h / base, a whole number.
 *
 *     f32[1024,1] under T(8,128)     base = 1024 (one tile)
 *     place 0 gets d1                h = 1024    the rest, d0 in place 1: 131072    131072
 *     place 0 gets d0                h = 8192    the rest, d1 in place 1:   1024      8192   <- fewest
 *
 * Ties are broken by counting the places that change, which adds up as the factors multiply, and at last by the
 * order as a list from the most minor on; that is why places are filled from place 0. */
#include "hlo/padding_walk.h"

#include "layout/layout.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WALKS = 1 << 20, SMALL_NDIM = 6 };

/* The best way to fill the places that are left. */
typedef struct answer {
    int64_t elements; /* with size 1 in all places before; 0: not known yet; TOO_MANY: no way fits */
    int32_t changes;
} answer;

#define TOO_MANY INT64_MAX

typedef struct order_search {
    const int64_t       *dims;
    const tg_xla_layout *layout;
    int32_t              n, covered;            /* places [0, covered) are touched by tiles */
    int32_t              group_end[TG_MAX_NDIM]; /* by first place of a group: the place behind it */
    bool                 joined[TG_MAX_NDIM];    /* place p belongs to the same component as place p - 1 */
    int64_t              base;
    int32_t              walks; /* that may still be made */
    answer              *memo;  /* by the set of dimensions that are left */
} order_search;

/* A component being filled, and the best way seen so far. */
typedef struct filling {
    int32_t  first, end;
    uint32_t left; /* before the component */
    int32_t  dim[TG_MAX_NDIM]; /* by place */
    answer   best;
    int32_t  best_dim[TG_MAX_NDIM];
} filling;

static int32_t count_bits(uint32_t set) {
    int32_t n = 0;
    for (; set != 0; set &= set - 1) n++;
    return n;
}

static uint32_t bit(int32_t d) { return (uint32_t)1 << d; }

/* ---- which places belong together ------------------------------------------------- */

/* A rounding of several owners: their places are joined, and those between, which only makes the component larger. */
static void join_places(void *context, const tg_rounding *r) {
    order_search *s = context;
    int32_t       lowest = 0, highest = s->n - 1;
    if (r->owners == 0) return;
    while ((r->owners >> lowest & 1) == 0) lowest++;
    while ((r->owners >> highest & 1) == 0) highest--;
    for (int32_t p = lowest + 1; p <= highest; p++) s->joined[p] = true;
}

/* Place p is under a `*` of the first level: it is in one group with the place p - 1. */
static bool is_combined(const tg_xla_layout *x, int32_t p) {
    return x->ntiles > 0 && p < x->tile_ndim[0] && x->tile_dims[x->tile_ndim[0] - 1 - p] == TG_XLA_COMBINE;
}

static bool find_groups(order_search *s) {
    const tg_rounding_watcher watcher = {join_places, s};
    int64_t                   ones[TG_MAX_NDIM];
    uint32_t                  places[TG_MAX_NDIM];
    tg_extents                e;
    for (int32_t i = 0; i < s->n; i++) {
        ones[i] = 1;
        places[i] = bit(s->n - 1 - i);
    }
    if (!tg_extents_make(&e, ones, places, s->n) || !tg_extents_tile(&e, s->layout, &watcher)) return false;
    s->base = e.elements;
    s->covered = s->n - e.whole;
    for (int32_t p = 0, end; p < s->covered; p = end) {
        for (end = p + 1; end < s->covered && is_combined(s->layout, end);) end++;
        s->group_end[p] = end;
    }
    return true;
}

/* ---- filling places ----------------------------------------------------------------- */

/* Put a set of dimensions into as many places, where their order does not matter: each stays where it was if it was
 * here, the others follow in increasing order. Returns how many places change. */
static int32_t arrange(int32_t *dim, const order_search *s, int32_t first, int32_t end, uint32_t set) {
    const int32_t *given = s->layout->minor_to_major;
    int32_t        changes = 0, next = 0;
    for (int32_t p = first; p < end; p++) {
        dim[p] = -1;
        if ((set & bit(given[p])) == 0) continue;
        dim[p] = given[p];
        set &= ~bit(given[p]);
    }
    for (int32_t p = first; p < end; p++) {
        if (dim[p] >= 0) continue;
        while ((set >> next & 1) == 0) next++;
        dim[p] = next++;
        changes++;
    }
    return changes;
}

static int32_t count_changes(const order_search *s, const int32_t *dim, int32_t first, int32_t end) {
    int32_t changes = 0;
    for (int32_t p = first; p < end; p++) changes += dim[p] != s->layout->minor_to_major[p];
    return changes;
}

/* The elements with these dimensions in [first, end) and size 1 elsewhere. */
static int64_t walk(order_search *s, const filling *f) {
    int64_t    sizes[TG_MAX_NDIM];
    uint32_t   owners[TG_MAX_NDIM] = {0};
    tg_extents e;
    s->walks--;
    for (int32_t p = 0; p < s->n; p++) sizes[s->n - 1 - p] = p >= f->first && p < f->end ? s->dims[f->dim[p]] : 1;
    if (!tg_extents_make(&e, sizes, owners, s->n) || !tg_extents_tile(&e, s->layout, NULL)) return TOO_MANY;
    return e.elements;
}

static int64_t join_elements(const order_search *s, int64_t rest, int64_t here) {
    const int64_t common = tg_gcd(here, s->base);
    int64_t       elements = TOO_MANY;
    if (rest == TOO_MANY || here == TOO_MANY) return TOO_MANY;
    if (!tg_mul(&elements, rest / (s->base / common), here / common)) return TOO_MANY;
    return elements;
}

static bool is_better(const answer *a, const int32_t *dim, const filling *f) {
    const answer *b = &f->best;
    if (a->elements != b->elements) return a->elements < b->elements;
    if (a->changes != b->changes) return a->changes < b->changes;
    for (int32_t p = f->first; p < f->end; p++)
        if (dim[p] != f->best_dim[p]) return dim[p] < f->best_dim[p];
    return false;
}

static answer solve(order_search *s, uint32_t left);

static void judge(order_search *s, filling *f, uint32_t left) {
    if (s->walks <= 0) return;
    const int64_t here = walk(s, f);
    if (here == TOO_MANY) return;
    const answer rest = solve(s, left);
    const answer all = {join_elements(s, rest.elements, here),
                        rest.changes + count_changes(s, f->dim, f->first, f->end)};
    if (all.elements == TOO_MANY || !is_better(&all, f->dim, f)) return;
    f->best = all;
    memcpy(&f->best_dim[f->first], &f->dim[f->first], (size_t)(f->end - f->first) * sizeof f->dim[0]);
}

static void fill_group(order_search *s, filling *f, int32_t place, uint32_t left);

/* Every set of `wanted` more dimensions from d on for the group at `place`. */
static void choose(order_search *s, filling *f, int32_t place, uint32_t left, uint32_t chosen, int32_t d,
                   int32_t wanted) {
    if (wanted == 0) {
        const int32_t end = s->group_end[place];
        (void)arrange(f->dim, s, place, end, chosen);
        fill_group(s, f, end, left & ~chosen);
        return;
    }
    for (; d < s->n && s->walks > 0; d++)
        if ((left >> d & 1) != 0) choose(s, f, place, left, chosen | bit(d), d + 1, wanted - 1);
}

static void fill_group(order_search *s, filling *f, int32_t place, uint32_t left) {
    if (place == f->end) judge(s, f, left);
    else choose(s, f, place, left, 0, 0, s->group_end[place] - place);
}

/* The best way to fill the component that begins at the first free place, and all behind it. */
static void fill_component(order_search *s, filling *f, uint32_t left) {
    f->first = s->n - count_bits(left);
    for (f->end = s->group_end[f->first]; f->end < s->covered && s->joined[f->end];) f->end = s->group_end[f->end];
    f->best = (answer){TOO_MANY, 0};
    fill_group(s, f, f->first, left);
}

/* No tile touches the places that are left. */
static answer multiply(const order_search *s, int32_t *dim, uint32_t left) {
    answer a = {s->base, arrange(dim, s, s->n - count_bits(left), s->n, left)};
    for (int32_t d = 0; d < s->n; d++)
        if ((left >> d & 1) != 0 && !tg_mul(&a.elements, a.elements, s->dims[d])) return (answer){TOO_MANY, 0};
    return a;
}

static answer solve(order_search *s, uint32_t left) {
    answer *known = &s->memo[left];
    filling f;
    if (known->elements != 0) return *known;
    if (s->n - count_bits(left) >= s->covered) {
        *known = multiply(s, f.dim, left);
    } else {
        fill_component(s, &f, left);
        *known = f.best;
    }
    return *known;
}

/* ---- the whole ------------------------------------------------------------------------ */

static tg_status search_order(int32_t *order, order_search *s, tg_error *err) {
    uint32_t left = s->n > 0 ? (bit(s->n - 1) << 1) - 1 : 0;
    const answer all = solve(s, left);
    if (s->walks <= 0)
        return tg_fail(err, TG_ERR_LIMIT, "tiles combine dimensions so that over %d orders would have to be compared",
                       (int64_t)MOST_WALKS);
    if (all.elements == TOO_MANY)
        return tg_fail(err, TG_ERR_OVERFLOW, "the storage does not fit 63 bits in any order of the dimensions");
    s->walks = MOST_WALKS; /* answers are known now, so this makes at most n times those of one component */
    while (s->n - count_bits(left) < s->covered) {
        filling f;
        fill_component(s, &f, left);
        for (int32_t p = f.first; p < f.end; p++) {
            order[p] = f.best_dim[p];
            left &= ~bit(order[p]);
        }
    }
    (void)arrange(order, s, s->n - count_bits(left), s->n, left);
    return TG_OK;
}

tg_status tg_padding_find_order(int32_t *minor_to_major, const int64_t *dims, const tg_xla_layout *layout,
                                tg_error *err) {
    answer       small[1 << SMALL_NDIM] = {{0, 0}};
    int32_t      order[TG_MAX_NDIM];
    order_search s = {.dims = dims, .layout = layout, .n = layout->ndim, .walks = MOST_WALKS, .memo = small};
    int64_t      elements = 0;
    if (tg_product(&elements, dims, s.n) && elements == 0) { /* every order needs nothing */
        memcpy(minor_to_major, layout->minor_to_major, (size_t)s.n * sizeof order[0]);
        return TG_OK;
    }
    if (!find_groups(&s))
        return tg_fail(err, TG_ERR_OVERFLOW, "the storage of one tile does not fit 63 bits, or has too many sizes");
    if (s.n > SMALL_NDIM) s.memo = calloc((size_t)1 << s.n, sizeof *s.memo);
    if (s.memo == NULL)
        return tg_fail(err, TG_ERR_NOMEM, "no memory to compare the orders of %d dimensions", (int64_t)s.n);
    const tg_status status = search_order(order, &s, err);
    if (s.memo != small) free(s.memo);
    if (status == TG_OK) memcpy(minor_to_major, order, (size_t)s.n * sizeof order[0]);
    return status;
}
