/* The least number of descriptors that any program for two layouts can have, by trying all of them. For tests on
 * cmocka, and for tensors of at most DMA_SEARCH_POINTS elements.
 *
 * A descriptor carries a set of elements: one element, or such a set n times at equal distances, none twice. All of
 * these sets are found (each as bits), then the least number of disjoint ones that are everything. */
#ifndef TG_TESTS_DMA_SEARCH_H
#define TG_TESTS_DMA_SEARCH_H

#include "layout/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { DMA_SEARCH_POINTS = 8, DMA_SEARCH_SETS = 1 << DMA_SEARCH_POINTS };

typedef struct dma_point {
    int64_t device, host;
} dma_point;

typedef struct dma_search {
    int32_t   n;
    dma_point at[DMA_SEARCH_POINTS];
    int8_t    there[DMA_SEARCH_POINTS][DMA_SEARCH_POINTS][DMA_SEARCH_POINTS]; /* k moved as i to j is there; -1 */
    bool      is_nest[DMA_SEARCH_SETS]; /* a descriptor can carry this set */
} dma_search;

static int32_t point_at(const dma_search *s, int64_t device, int64_t host) {
    for (int32_t i = 0; i < s->n; i++)
        if (s->at[i].device == device && s->at[i].host == host) return i;
    return -1;
}

static void find_places(dma_search *s) {
    for (int32_t i = 0; i < s->n; i++)
        for (int32_t j = 0; j < s->n; j++)
            for (int32_t k = 0; k < s->n; k++)
                s->there[i][j][k] = (int8_t)point_at(s, s->at[k].device + s->at[j].device - s->at[i].device,
                                                     s->at[k].host + s->at[j].host - s->at[i].host);
}

/* The set moved as point i to point j; 0 where one of its points has no counterpart. */
static uint32_t moved(const dma_search *s, uint32_t set, int32_t i, int32_t j) {
    uint32_t out = 0;
    for (int32_t k = 0; k < s->n; k++) {
        if (!(set >> k & 1)) continue;
        if (s->there[i][j][k] < 0) return 0;
        out |= (uint32_t)1 << s->there[i][j][k];
    }
    return out;
}

/* Every way to repeat this set at equal distances. */
static void find_nests(dma_search *s, uint32_t set) {
    if (s->is_nest[set]) return;
    s->is_nest[set] = true;
    int32_t first = 0;
    while (!(set >> first & 1)) first++;
    for (int32_t i = 0; i < s->n; i++) {
        uint32_t all = set, next = set;
        if (i == first) continue;
        while ((next = moved(s, next, first, i)) != 0 && (next & all) == 0) find_nests(s, all |= next);
    }
}

static size_t dma_search_least(const tg_layout *device, const tg_layout *host) {
    static dma_search s;
    static size_t     least[DMA_SEARCH_SETS];
    int64_t           coord[TG_MAX_NDIM] = {0};
    memset(&s, 0, sizeof s);
    do {
        assert_true(s.n < DMA_SEARCH_POINTS);
        s.at[s.n].device = tg_layout_offset(device, coord);
        s.at[s.n++].host = tg_layout_offset(host, coord);
    } while (tg_next_coord(coord, device->shape, device->ndim));
    find_places(&s);
    for (int32_t i = 0; i < s.n; i++) find_nests(&s, (uint32_t)1 << i);
    const uint32_t all = ((uint32_t)1 << s.n) - 1;
    least[0] = 0;
    for (uint32_t set = 1; set <= all; set++) {
        const uint32_t lowest = set & (0 - set);
        least[set] = SIZE_MAX;
        for (uint32_t part = set; part != 0; part = (part - 1) & set)
            if (part & lowest && s.is_nest[part] && least[set & ~part] + 1 < least[set])
                least[set] = least[set & ~part] + 1;
    }
    return least[all];
}

#endif
