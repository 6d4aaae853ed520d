/* Comparing slices: the positions [first, last] of each device dimension that a core gets to.
 *
 *     f16[128,256] as [4,128,64], p0 in 2 slices and p1 in 2, at [floor(p1/64), p0, Mod(p1, 64)]
 *       core 0   [0,1] [0,63]        core 2   [2,3] [0,63]
 *       core 1   [0,1] [64,127]      core 3   [2,3] [64,127]
 *
 * Two accesses agree if these are the same. What writes has to fill them, too: where several loops share a dimension,
 * a slice of an inner one would leave gaps. */
#include "graph/slices.h"

#include "base/checked.h"
#include "graph/rules.h"

typedef struct reach {
    int64_t first, last;
    int64_t count; /* of positions that are touched */
} reach;

/* Values from `first` to `last`, counted modulo `modulus`. */
static void wrap_around(int64_t *first, int64_t *last, int64_t modulus) {
    if (modulus <= 0) return;
    const bool turns = *first / modulus != *last / modulus;
    *first = turns ? 0 : *first % modulus;
    *last = turns ? modulus - 1 : *last % modulus;
}

/* False if it does not fit 63 bits. */
static bool reach_of_part(reach *out, const tg_part *p, const tg_sliced *s, int64_t core) {
    const int32_t l = p->loop;
    const int64_t chunk = s->slices.chunk[l];
    int64_t       first = core / s->slices.radix[l] % s->slices.splits[l] * chunk;
    int64_t       last = tg_min(first + chunk, s->ranges[l]) - 1;
    wrap_around(&first, &last, p->modulus);
    const int64_t steps = last - first + 1;
    if (!tg_mul(&first, first, p->step) || !tg_mul(&last, last, p->step)) return false;
    wrap_around(&first, &last, p->wrap);
    *out = (reach){first / p->stride, last / p->stride, 0};
    out->count = tg_min(steps, out->last - out->first + 1);
    return true;
}

/* False if it cannot be said. */
static bool reach_of(reach *out, const tg_coordinate *c, const tg_sliced *s, int64_t core) {
    *out = (reach){c->offset, c->offset, 1};
    for (int32_t i = 0; i < c->nparts; i++) {
        reach r;
        if (c->part[i].loop < 0 || c->part[i].uneven || !reach_of_part(&r, &c->part[i], s, core)) return false;
        out->first += r.first;
        out->last += r.last;
        out->count *= r.count;
    }
    return true;
}

static tg_coordinate coordinate(const tg_sliced *s, int32_t k) {
    const tg_dims dims = tg_device_dims(s->layout);
    tg_coordinate c;
    tg_coordinate_of(&c, &dims, k, s->ranges, &s->access);
    return c;
}

static bool dimension_agrees(const tg_sliced *written, const tg_sliced *read, int32_t k) {
    const tg_coordinate a = coordinate(written, k), b = coordinate(read, k);
    for (int64_t core = 0; core < written->slices.cores; core++) {
        reach x, y;
        if (!reach_of(&x, &a, written, core) || !reach_of(&y, &b, read, core)) return false;
        if (x.first != y.first || x.last != y.last || x.count < x.last - x.first + 1) return false;
    }
    return true;
}

bool tg_slices_agree(const tg_sliced *written, const tg_sliced *read) {
    if (written->slices.cores != read->slices.cores) return false;
    for (int32_t k = 0; k < written->layout->rank - 1; k++)
        if (!dimension_agrees(written, read, k)) return false;
    return true;
}

int64_t tg_slices_count(const tg_sliced *written) {
    const uint32_t loops = tg_access_loops(&written->access);
    int64_t        pieces = 1;
    for (int32_t l = 0; l < written->slices.nloops; l++)
        if ((loops >> l & 1) != 0) pieces *= written->slices.splits[l];
    return pieces;
}
