#include "tours.h"

#include <stdlib.h>
#include <string.h>

enum { BAND = 8, BLOCK_BAND = 16, BLOCK_STEPS = 32, NEXT_BYTES = 8 << 10 };

/* ---- orders ---- */

static int by_dst(const void *a, const void *b) {
    const int64_t x = ((const loop *)a)->dst, y = ((const loop *)b)->dst;
    return (x < y) - (x > y);
}

static int by_src(const void *a, const void *b) {
    const int64_t x = ((const loop *)a)->src, y = ((const loop *)b)->src;
    return (x < y) - (x > y);
}

/* The loop that goes on in src: of all in dst's order. */
static int32_t src_loop(const nest *n) {
    int32_t across = 0;
    for (int32_t k = 1; k < n->nloops; k++)
        if (n->loop[k].src <= n->loop[across].src) across = k;
    return across;
}

/* A nest in dst's order becomes bands of the innermost long loop within the one that goes on in src; what the bands
 * leave over goes to *rest. Returns how many nests that are: 0 if there is no such loop. */
static int32_t make_bands(nest *n, nest *rest, int64_t band) {
    const int32_t across = n->nloops == 0 ? 0 : src_loop(n);
    int32_t       along = n->nloops - 1;
    while (along > across && n->loop[along].n <= band) along--;
    if (along <= across || n->nloops == MOST_LOOPS) return 0;
    const loop long_one = n->loop[along];
    *rest = *n;
    rest->loop[along].n = long_one.n % band;
    rest->dst += long_one.n / band * band * long_one.dst;
    rest->src += long_one.n / band * band * long_one.src;
    memmove(&n->loop[across + 1], &n->loop[across], (size_t)(n->nloops - across) * sizeof(loop));
    const loop bands = {long_one.n / band, band * long_one.dst, band * long_one.src};
    n->loop[across] = bands;
    n->loop[along + 1].n = band;
    n->nloops++;
    return rest->loop[along].n > 0 ? 2 : 1;
}

/* Wider bands, some steps in src each, then the next band of these; what is left over goes to rest[0] and rest[1]. */
static int32_t make_blocks(nest *n, nest *rest) {
    const int32_t made = make_bands(n, rest, BLOCK_BAND);
    if (made == 0) return 0;
    const int32_t across = src_loop(n);
    const loop    steps = n->loop[across];
    if (steps.n <= BLOCK_STEPS || n->nloops == MOST_LOOPS) return made;
    nest *const left = &rest[made - 1];
    *left = *n;
    left->loop[across].n = steps.n % BLOCK_STEPS;
    left->dst += steps.n / BLOCK_STEPS * BLOCK_STEPS * steps.dst;
    left->src += steps.n / BLOCK_STEPS * BLOCK_STEPS * steps.src;
    memmove(&n->loop[across], &n->loop[across - 1], (size_t)(n->nloops - across + 1) * sizeof(loop));
    const loop blocks = {steps.n / BLOCK_STEPS, BLOCK_STEPS * steps.dst, BLOCK_STEPS * steps.src};
    n->loop[across - 1] = blocks;
    n->loop[across + 1].n = BLOCK_STEPS;
    n->nloops++;
    return left->loop[across].n > 0 ? made + 1 : made;
}

/* All nests of *t in an order, *n of them. Returns false where the order is none of its own. */
static bool set_order(nest *to, int32_t *n, const touched *t, tour_order order) {
    bool another = order == ORDER_DST;
    *n = 0;
    for (int32_t i = 0; i < t->nnests; i++) {
        nest *const now = &to[(*n)++];
        *now = t->nest[i];
        qsort(now->loop, (size_t)now->nloops, sizeof(loop), by_dst);
        if (order == ORDER_SRC) {
            const nest before = *now;
            qsort(now->loop, (size_t)now->nloops, sizeof(loop), by_src);
            another |= memcmp(before.loop, now->loop, sizeof before.loop) != 0;
        } else if (order != ORDER_DST) {
            nest *const   rest = &to[*n];
            const int32_t made = order == ORDER_BANDS ? make_bands(now, rest, BAND) : make_blocks(now, rest);
            *n += made > 0 ? made - 1 : 0;
            another |= made > 0;
        }
    }
    return another;
}

/* ---- tours ---- */

/* Part i of n: the outermost loop with many steps is cut, or the longest one. */
static void cut(nest *part, int64_t i, int64_t n) {
    int32_t k = 0;
    for (int32_t j = 1; j < part->nloops && part->loop[k].n < 8 * n; j++)
        if (part->loop[j].n > part->loop[k].n) k = j;
    loop *const   c = &part->loop[k];
    const int64_t from = c->n * i / n;
    part->dst += from * c->dst;
    part->src += from * c->src;
    c->n = c->n * (i + 1) / n - from;
}

/* What lies NEXT_BYTES further on: steps of the innermost loop that goes that far. */
static int64_t next_of(const nest *n, const touched *t) {
    int64_t bytes = (t->nto > t->nfrom ? t->nto : t->nfrom) * LINE;
    for (int32_t k = n->nloops - 1; k >= 0; k--) {
        const int64_t steps = (NEXT_BYTES + bytes - 1) / bytes;
        if (steps < n->loop[k].n) return steps * n->loop[k].src;
        bytes *= n->loop[k].n;
    }
    return 0;
}

/* At least LEAST_LOOPS of them. */
static void add_outer_loops(nest *n) {
    const loop once = {1, 0, 0};
    while (n->nloops < LEAST_LOOPS) {
        memmove(&n->loop[1], &n->loop[0], (size_t)n->nloops * sizeof(loop));
        n->loop[0] = once;
        n->nloops++;
    }
}

int32_t tours_find(tour *out, const touched *t, tour_order order, int64_t i, int64_t n) {
    nest    nests[MOST_TOURS];
    int32_t count;
    if (!set_order(nests, &count, t, order)) return 0;
    for (int32_t k = 0; k < count; k++) {
        out[k].nest = nests[k];
        add_outer_loops(&out[k].nest);
        cut(&out[k].nest, i, n);
        out[k].next = next_of(&out[k].nest, t);
    }
    return count;
}
