/* Whether some buffers fit together, exactly. Those that hand their place on are one block with one address.
 *
 * Any placement can be pushed down until each block lies on the bottom or on one that is alive with it. Taken by
 * increasing address, each block of such a placement is at the lowest address that those before it leave, so it is
 * enough to try orders: blocks one after the other at that address, which never falls. And a block that could still go
 * wholly below the next address has to go there first: a placement with the least sum of addresses leaves no such hole.
 *
 *     capacity 3, a [0,2) 1 byte, b [1,3) 2 bytes, c [2,4) 1 byte       b a c: 0 2 2
 */
#include "graph/scratchpad.h"

#include "base/error.h"
#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BUFFERS = 256 };

typedef struct packing {
    const tg_scratchpad *s;
    int64_t              n;         /* buffers that have to fit */
    int64_t             *buffer;    /* by size, the largest first */
    int64_t             *number;    /* of each buffer in `buffer` */
    int64_t             *parent;    /* whose place it takes, -1 if none: numbers, as all below */
    bool                *handed;
    int64_t             *block;     /* the one without a parent that began the block */
    int64_t             *height;    /* of each block */
    int64_t             *above;     /* [a * n + b]: how far above block a block b has to be; 0: anywhere */
    int64_t             *low;       /* [depth * n + b]: the lowest address of block b */
    int64_t             *address;   /* of each block */
    bool                *placed;
    int64_t             *branches;
    bool                *known;
} packing;

static const tg_buffer *buffer_at(const packing *p, int64_t i) { return &p->s->buffers[p->buffer[i]]; }

/* ---- orders ------------------------------------------------------------------------------------- */

/* False if some block cannot fit any more. *ceiling: the top of the lowest one. */
static bool look(const packing *p, const int64_t *low, int64_t *ceiling) {
    *ceiling = INT64_MAX;
    for (int64_t b = 0; b < p->n; b++) {
        if (p->block[b] != b || p->placed[b]) continue;
        if (low[b] > p->s->capacity - p->height[b]) return false;
        *ceiling = tg_min(*ceiling, low[b] + p->height[b]);
    }
    return true;
}

static bool order_blocks(packing *p, int64_t depth, int64_t last, int64_t last_block) {
    const int64_t *low = p->low + depth * p->n;
    int64_t       *next = p->low + (depth + 1) * p->n, ceiling;
    if (*p->branches <= 0) *p->known = false;
    if (!*p->known || !look(p, low, &ceiling)) return false;
    if (ceiling == INT64_MAX) return true;
    --*p->branches;
    for (int64_t b = 0; b < p->n; b++) {
        if (p->block[b] != b || p->placed[b] || low[b] >= ceiling) continue;
        if (low[b] < last || (low[b] == last && b < last_block)) continue;
        p->placed[b] = true;
        p->address[b] = low[b];
        for (int64_t c = 0; c < p->n; c++) {
            const int64_t above = p->above[b * p->n + c];
            next[c] = above > 0 ? tg_max(low[c], tg_align(low[b] + above, p->s->alignment)) : low[c];
        }
        if (order_blocks(p, depth + 1, low[b], b)) return true;
        p->placed[b] = false;
    }
    return false;
}

/* ---- blocks ----------------------------------------------------------------------------------------- */

/* What is alive when buffer i starts, less what is on top of its parent. */
static bool is_too_much(const packing *p) {
    const int64_t capacity = tg_align(p->s->capacity, p->s->alignment);
    for (int64_t i = 0; i < p->n; i++) {
        const int64_t tick = tg_buffer_start(buffer_at(p, i));
        int64_t       left = capacity;
        for (int64_t k = 0; k < p->n; k++) {
            const tg_buffer *b = buffer_at(p, k);
            if (tick < tg_buffer_start(b) || tick >= tg_buffer_end(b)) continue;
            if (p->parent[k] >= 0 && tick == tg_buffer_start(b)) continue;
            left -= tg_align(b->size, p->s->alignment);
            if (left < 0) return true;
        }
    }
    return false;
}

static void make_blocks(packing *p) {
    const size_t n = (size_t)p->n;
    memset(p->above, 0, n * n * sizeof *p->above);
    memset(p->low, 0, n * sizeof *p->low);
    memset(p->height, 0, n * sizeof *p->height);
    memset(p->placed, 0, n * sizeof *p->placed);
    for (int64_t i = 0; i < p->n; i++) {
        int64_t root = i;
        while (p->parent[root] >= 0) root = p->parent[root];
        p->block[i] = root;
        p->height[root] = tg_max(p->height[root], buffer_at(p, i)->size);
    }
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t k = 0; k < p->n; k++) {
            int64_t *above = &p->above[p->block[i] * p->n + p->block[k]];
            if (p->block[i] != p->block[k] && tg_alive_together(buffer_at(p, i), buffer_at(p, k)))
                *above = tg_max(*above, buffer_at(p, i)->size);
        }
}

/* Buffers from number i on choose whose place they take, a parent's or none's. */
static bool choose_parents(packing *p, int64_t i) {
    if (*p->branches <= 0) *p->known = false;
    if (!*p->known) return false;
    if (i == p->n) {
        --*p->branches;
        if (is_too_much(p)) return false;
        make_blocks(p);
        return order_blocks(p, 0, 0, -1);
    }
    const tg_buffer *b = buffer_at(p, i);
    for (int64_t k = 0; k < b->nparents; k++) {
        const int64_t parent = p->number[b->parents[k]];
        if (parent < 0 || p->handed[parent]) continue;
        p->handed[parent] = true;
        p->parent[i] = parent;
        if (choose_parents(p, i + 1)) return true;
        p->parent[i] = -1;
        p->handed[parent] = false;
    }
    return choose_parents(p, i + 1);
}

/* ---- the whole ------------------------------------------------------------------------------------------ */

static void write_out(tg_placement *out, const packing *p) {
    for (int64_t i = 0; i < p->s->n; i++) out[i] = (tg_placement){-1, -1};
    for (int64_t i = 0; i < p->n; i++)
        out[p->buffer[i]] = (tg_placement){p->address[p->block[i]],
                                           p->parent[i] >= 0 ? p->buffer[p->parent[i]] : -1};
}

static void list_buffers(packing *p) {
    for (int64_t i = 0; i < p->s->n; i++) {
        int64_t at = p->n;
        p->number[i] = -1;
        if (!p->s->allowed[i]) continue;
        for (; at > 0 && p->s->buffers[p->buffer[at - 1]].size < p->s->buffers[i].size; at--)
            p->buffer[at] = p->buffer[at - 1];
        p->buffer[at] = i;
        p->n++;
    }
    for (int64_t i = 0; i < p->n; i++) {
        p->number[p->buffer[i]] = i;
        p->parent[i] = -1;
    }
}

tg_status tg_pack_all(tg_placement *out, bool *found, bool *known, int64_t *branches, const tg_scratchpad *s,
                      tg_error *err) {
    packing p = {.s = s, .branches = branches, .known = known};
    size_t  n = 0;
    for (int64_t i = 0; i < s->n; i++) n += s->allowed[i];
    *found = false;
    *known = n <= MOST_BUFFERS;
    if (!*known) return TG_OK;
    int64_t *rows = malloc((5 * n + (2 * n + 1) * n + (size_t)s->n + 1) * sizeof *rows);
    bool    *flags = calloc(2 * n + 1, sizeof *flags);
    if (rows != NULL && flags != NULL) {
        p.buffer = rows;
        p.parent = rows + n;
        p.block = rows + 2 * n;
        p.height = rows + 3 * n;
        p.address = rows + 4 * n;
        p.above = rows + 5 * n;
        p.low = p.above + n * n;
        p.number = p.low + (n + 1) * n;
        p.handed = flags;
        p.placed = flags + n;
        list_buffers(&p);
        *found = choose_parents(&p, 0);
        if (*found) write_out(out, &p);
    }
    const bool memory = rows != NULL && flags != NULL;
    free(rows);
    free(flags);
    return memory ? TG_OK : tg_graph_no_memory(err);
}
