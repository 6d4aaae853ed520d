/* Fewer pieces of one group.
 *
 * Cutting follows the digits; where the weights of both sides do not nest it leaves pieces that descriptors can say
 * together: neighbours on a loop that both have (or only one has) are that loop, longer; pieces with the same loops at
 * equal distances are one more loop, which is true of any two. Tiles of 48 to tiles of 64 in one period of 192:
 *
 *     [0,48) [48,64) [64,96) [96,128) [128,144) [144,192)     runs of 48 16 32 32 16 48
 *     {0, 144} by 48   {48, 128} by 16   {64, 96} by 32       three descriptors, two loops each
 *
 * Two pieces of which one has a loop less count as having it with one step. */
#include "transfer/dma.h"

#include <string.h>

enum {
    FEW = 32, /* pieces, of which all pairs are looked at */
    NEAR = 8
};

static tg_piece_loop *loops_of(tg_pieces *p, int32_t i) { return &p->loop[p->at[i].first]; }

static bool same_step(const tg_piece_loop *a, const tg_piece_loop *b) {
    return a->device == b->device && a->host == b->host;
}

static bool same_loop(const tg_piece_loop *a, const tg_piece_loop *b) { return same_step(a, b) && a->n == b->n; }

/* How many loops from the outermost on (or, `inner`, from the innermost on) are the same. */
static int32_t same_loops(tg_pieces *p, int32_t i, int32_t j, bool inner) {
    const int32_t ni = p->at[i].nloops, nj = p->at[j].nloops, n = (int32_t)tg_min(ni, nj);
    int32_t       k = 0;
    while (k < n && same_loop(loops_of(p, i) + (inner ? ni - 1 - k : k), loops_of(p, j) + (inner ? nj - 1 - k : k)))
        k++;
    return k;
}

static bool are_equal(tg_pieces *p, int32_t i, int32_t j) {
    return p->at[i].nloops == p->at[j].nloops && same_loops(p, i, j, false) == p->at[i].nloops;
}

static void drop(tg_pieces *p, int32_t i) {
    p->n--;
    for (; i < p->n; i++) p->at[i] = p->at[i + 1];
}

/* Does j begin where a loop of i, `n` steps by `step`, ends? */
static bool follows(const tg_pieces *p, int32_t i, int32_t j, const tg_piece_loop *step, int64_t n) {
    int64_t device, host;
    return tg_muladd(&device, p->at[i].device, n, step->device) && tg_muladd(&host, p->at[i].host, n, step->host) &&
           device == p->at[j].device && host == p->at[j].host;
}

/* Make i both, j on a loop that differs in its count alone, or that j has not. */
static bool join(tg_pieces *p, int32_t i, int32_t j) {
    const int32_t ni = p->at[i].nloops, nj = p->at[j].nloops;
    if (ni < nj || ni > nj + 1 || ni == 0) return false;
    const int32_t        k = (int32_t)tg_min(same_loops(p, i, j, false), ni - 1);
    tg_piece_loop *const a = loops_of(p, i) + k;
    if (same_loops(p, i, j, true) < ni - 1 - k) return false;
    if (ni == nj && !same_step(a, loops_of(p, j) + k)) return false;
    const int64_t steps = ni == nj ? loops_of(p, j)[k].n : 1;
    const bool    after = follows(p, i, j, a, a->n), before = !after && follows(p, j, i, a, steps);
    if (!after && !before) return false;
    if (before) {
        p->at[i].number = p->at[j].number;
        p->at[i].device = p->at[j].device;
        p->at[i].host = p->at[j].host;
    }
    a->n += steps;
    return true;
}

static void join_neighbours(tg_pieces *p, int32_t first) {
    for (bool changed = true; changed;) { /* a longer loop may have new neighbours */
        changed = false;
        for (int32_t i = first; i < p->n; i++)
            for (int32_t j = first; j < p->n; j++) {
                if (i == j || !join(p, i, j)) continue;
                drop(p, j);
                changed = true;
                i -= j < i;
                j--;
            }
    }
}

/* The pieces equal to i at i, i + d, i + 2d, ..., d the distance of j; their numbers in `at`. */
static int32_t chain(tg_pieces *p, int32_t *at, int32_t i, int32_t j) {
    const tg_piece_loop step = {0, p->at[j].device - p->at[i].device, p->at[j].host - p->at[i].host, 0};
    int32_t             n = 2;
    at[0] = i;
    at[1] = j;
    for (int32_t k = j + 1; k < p->n; k++)
        if (follows(p, at[n - 1], k, &step, 1) && are_equal(p, i, k)) at[n++] = k;
    return n;
}

/* Give piece at[0] an outermost loop over n equal pieces and drop the others; false if there is no room. */
static bool add_outer_loop(tg_pieces *p, const int32_t *at, int32_t n) {
    tg_piece *const     a = &p->at[at[0]];
    const tg_piece     *b = &p->at[at[1]];
    tg_piece_loop       outer = {n, b->device - a->device, b->host - a->host, b->number - a->number};
    for (int32_t i = 2; i < n; i++)
        if (p->at[at[i]].number - p->at[at[i - 1]].number != outer.step) outer.step = 0;
    if (a->nloops + 1 > TG_DMA_MAX_LOOPS || a->nloops + 1 > TG_MAX_PIECE_LOOPS - p->nloops) return false;
    const int32_t first = p->nloops;
    p->loop[p->nloops++] = outer;
    for (int32_t k = 0; k < a->nloops; k++) p->loop[p->nloops++] = p->loop[a->first + k];
    a->first = first;
    a->nloops++;
    while (n-- > 1) drop(p, at[n]);
    return true;
}

/* Loop over equal pieces, the longest chains first; of many pieces the longest that the first one begins. */
static bool loop_over_equals(tg_pieces *p, int32_t first) {
    int32_t best[TG_MAX_PIECES], at[TG_MAX_PIECES], length = 0;
    for (int32_t i = first; i < p->n && (length == 0 || p->n - first <= FEW); i++)
        for (int32_t j = i + 1; j < p->n; j++) {
            if (!are_equal(p, i, j)) continue;
            const int32_t n = chain(p, at, i, j);
            if (n <= length) continue;
            length = n;
            memcpy(best, at, (size_t)n * sizeof best[0]);
        }
    return length > 0 && add_outer_loop(p, best, length);
}

/* ---- many pieces ---- */

/* By loops, then by place in device memory: equal pieces stand together. */
static int compare(const tg_pieces *p, const tg_piece *a, const tg_piece *b) {
    if (a->nloops != b->nloops) return a->nloops < b->nloops ? -1 : 1;
    for (int32_t k = 0; k < a->nloops; k++) {
        const tg_piece_loop *x = &p->loop[a->first + k], *y = &p->loop[b->first + k];
        if (x->n != y->n) return x->n < y->n ? -1 : 1;
        if (x->device != y->device) return x->device < y->device ? -1 : 1;
        if (x->host != y->host) return x->host < y->host ? -1 : 1;
    }
    return a->device != b->device ? (a->device < b->device ? -1 : 1) : 0;
}

/* Shell's sort: no recursion, no memory. */
static void sort(tg_pieces *p, int32_t first) {
    tg_piece *const at = p->at + first;
    const int32_t   n = p->n - first;
    for (int32_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int32_t i = gap; i < n; i++) {
            const tg_piece piece = at[i];
            int32_t        j = i;
            for (; j >= gap && compare(p, &piece, &at[j - gap]) < 0; j -= gap) at[j] = at[j - gap];
            at[j] = piece;
        }
}

/* The longest chain of piece i among those that follow it closely; its length, below 2 if there is none. */
static int32_t near_chain(tg_pieces *p, int32_t *best, int32_t i) {
    int32_t at[TG_MAX_PIECES], length = 0;
    for (int32_t j = i + 1; j < p->n && j <= i + NEAR && are_equal(p, i, j); j++) {
        const int32_t n = chain(p, at, i, j);
        if (n <= length) continue;
        length = n;
        memcpy(best, at, (size_t)n * sizeof best[0]);
    }
    return length;
}

/* Loops over what is near, as long as they make much less of it. */
static void compress(tg_pieces *p, int32_t first) {
    int32_t at[TG_MAX_PIECES];
    for (int32_t before = INT32_MAX; p->n - first > FEW && p->n - first < before - before / 8;) {
        before = p->n - first;
        sort(p, first);
        for (int32_t i = first; i < p->n; i++) {
            const int32_t n = near_chain(p, at, i);
            if (n >= 2) (void)add_outer_loop(p, at, n);
        }
    }
}

void tg_pieces_merge(tg_pieces *p, int32_t first) {
    if (p->n - first < 2) return;
    if (p->n - first > FEW) compress(p, first);
    join_neighbours(p, first);
    while (loop_over_equals(p, first)) join_neighbours(p, first);
}
