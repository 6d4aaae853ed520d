/* What goes into a stage, or leaves it: the loops of one of both passes of routes twice and panel, while they are
 * drafted, and which of the stage's loops each is. */
#ifndef TG_RELAYOUT_PASS_H
#define TG_RELAYOUT_PASS_H

#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/box.h"

typedef struct tg_pass {
    tg_loop *loop;
    int32_t  n, of[TG_TILE_LOOPS];
} tg_pass;

static inline void tg_pass_add(tg_pass *t, int32_t of, int64_t n, int64_t dst, int64_t src) {
    t->of[t->n] = of;
    t->loop[t->n++] = (tg_loop){n, dst, src, TG_NO_LOOP};
}

/* Loops i and k change places. */
static inline void tg_pass_swap(tg_pass *t, int32_t i, int32_t k) {
    const tg_loop l = t->loop[i];
    const int32_t of = t->of[i];
    t->loop[i] = t->loop[k];
    t->of[i] = t->of[k];
    t->loop[k] = l;
    t->of[k] = of;
}

/* The longest loop from place `first` on comes there. */
static inline void tg_pass_longest_first(tg_pass *t, int32_t first) {
    for (int32_t i = first + 1; i < t->n; i++)
        if (t->loop[i].n > t->loop[first].n) tg_pass_swap(t, first, i);
}

/* Which loop of the pass is the stage's loop i? 0 if i is none: nothing is cut then, so nothing is counted. */
static inline int32_t tg_pass_find(const tg_pass *t, int32_t i) {
    for (int32_t k = 0; k < t->n; k++)
        if (t->of[k] == i) return k;
    return 0;
}

/* n steps or fewer of so many bytes: chunks of the same size, whole lines if there can be some. */
static inline int64_t tg_pass_chunk(int64_t n, int64_t most, int64_t bytes) {
    if (n <= most) return n;
    const int64_t even = tg_ceil_div(n, tg_ceil_div(n, most));
    const int64_t grain = TG_LINE_BYTES / tg_min(bytes & -bytes, TG_LINE_BYTES);
    const int64_t whole = tg_ceil_div(even, grain) * grain;
    return whole <= most ? whole : most >= grain ? most / grain * grain : most;
}

/* Are there transposes of so many bytes? */
static inline bool tg_can_be_turned(int64_t bytes, uint32_t cpu) {
    enum { LEAST_UNEVEN = 3, MOST_UNEVEN = 31 };
    const bool uneven = bytes >= LEAST_UNEVEN && bytes <= MOST_UNEVEN && (cpu & TG_CPU_AVX512) != 0;
    return uneven || tg_is_element(bytes);
}

#endif
