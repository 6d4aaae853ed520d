/* The greedy solver of torch-spyre: tick by tick, in the order of the buffers. A new one takes the place of a parent;
 * else address 0, where nothing is or the lowest one leaves enough below; else the place on top of the highest; else
 * the first gap that is large enough. */
#include "graph/scratchpad.h"

#include "base/error.h"
#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

/* What is taken, by address. One that has handed over its place and its heir begin at the same address for a tick. */
typedef struct slot {
    int64_t address, top, end;
} slot;

typedef struct scratchpad {
    const tg_scratchpad *s;
    tg_placement        *out;
    bool                *handed; /* of each buffer */
    slot                *slots;
    int64_t              nslots;
    int64_t              top; /* of the highest */
} scratchpad;

static void expire(scratchpad *g, int64_t tick) {
    int64_t kept = 0;
    g->top = 0;
    for (int64_t i = 0; i < g->nslots; i++) {
        if (g->slots[i].end <= tick) continue;
        g->top = tg_max(g->top, g->slots[i].top);
        g->slots[kept++] = g->slots[i];
    }
    g->nslots = kept;
}

static void occupy(scratchpad *g, slot added) {
    int64_t low = 0, high = g->nslots;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (g->slots[middle].address <= added.address) low = middle + 1;
        else high = middle;
    }
    memmove(g->slots + low + 1, g->slots + low, (size_t)(g->nslots - low) * sizeof *g->slots);
    g->slots[low] = added;
    g->nslots++;
    g->top = tg_max(g->top, added.top);
}

/* The first parent that is there and has its place to give. */
static int64_t find_parent(const scratchpad *g, const tg_buffer *b) {
    for (int64_t k = 0; k < b->nparents; k++)
        if (g->out[b->parents[k]].address >= 0 && !g->handed[b->parents[k]]) return b->parents[k];
    return -1;
}

/* -1 if there is none. */
static int64_t find_gap(const scratchpad *g, int64_t size) {
    const int64_t alignment = g->s->alignment;
    if (g->nslots == 0 || g->slots[0].address >= size) return size <= g->s->capacity ? 0 : -1;
    int64_t at = tg_align(g->top, alignment), top = g->slots[0].top;
    if (at <= g->s->capacity - size) return at;
    for (int64_t i = 1; i < g->nslots; i++) {
        at = tg_align(top, alignment);
        if (at <= g->slots[i].address - size) return at;
        top = tg_max(top, g->slots[i].top);
    }
    return -1;
}

static void place(scratchpad *g, int64_t i) {
    const tg_buffer *b = &g->s->buffers[i];
    if (!g->s->allowed[i]) return;
    const int64_t parent = find_parent(g, b);
    g->out[i].in_place_of = parent;
    if (parent >= 0) g->handed[parent] = true;
    g->out[i].address = parent >= 0 ? g->out[parent].address : find_gap(g, b->size);
    if (g->out[i].address < 0) return;
    occupy(g, (slot){g->out[i].address, g->out[i].address + b->size, tg_buffer_end(b)});
}

tg_status tg_place_greedy(tg_placement *out, const tg_scratchpad *s, tg_error *err) {
    const size_t n = (size_t)s->n;
    scratchpad   g = {.s = s, .out = out};
    int64_t     *order = malloc((n + 1) * sizeof *order), now = -1;
    g.handed = calloc(n + 1, sizeof *g.handed);
    g.slots = malloc((n + 1) * sizeof *g.slots);
    const bool memory = order != NULL && g.handed != NULL && g.slots != NULL && tg_order_by_start(order, s);
    for (size_t i = 0; memory && i < n; i++) out[i] = (tg_placement){-1, -1};
    for (size_t i = 0; memory && i < n; i++) {
        const int64_t tick = tg_buffer_start(&s->buffers[order[i]]);
        if (tick != now) expire(&g, tick);
        now = tick;
        place(&g, order[i]);
    }
    free(order);
    free(g.handed);
    free(g.slots);
    return memory ? TG_OK : tg_graph_no_memory(err);
}
