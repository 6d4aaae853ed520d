/* torch-spyre's firstfit and bestfit: buffers by
 *
 *     (ticks alive - 1/4 for being a parent, and 1/4 for being a child) / (uses + 1/2 if the first one writes)
 *
 * and then by ticks alive, each after its parents. A buffer takes the place of a parent if what was placed before lets
 * it; else a gap between those that are alive with it. Those are found by a tree over the buffers by start, whose nodes
 * know when the last of the placed ones below them ends. Where very many are alive together, looking at each of them is
 * what takes time: what is asked of a rival stands in the order of leaves, one after the other. */
#include "graph/scratchpad.h"

#include "base/error.h"
#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    tg_fit_key key;
    int64_t    buffer;
} entry;

typedef struct taken {
    int64_t address, top;
} taken;

/* What a placed buffer takes, up to where another one may begin; place: its address in alignments. */
typedef struct rival {
    int64_t address, top, place;
} rival;

typedef struct fitting {
    const tg_scratchpad *s;
    tg_placement        *out;
    bool                 best;
    bool                *handed;
    entry               *order;    /* by key */
    int64_t             *by_start; /* buffers by start, and the leaf of each buffer */
    int64_t             *leaf;
    int64_t             *ends;     /* nodes: 1 is the root, 2i and 2i + 1 are below i */
    int64_t              nleaves;
    int64_t             *starts;   /* of leaves */
    rival               *took;     /* of leaves whose buffer is placed */
    int64_t             *rivals;   /* leaves of placed buffers that are alive with the one at hand */
    int64_t              nrivals;
    int64_t             *stack;
    int64_t             *tops;     /* of what begins at each address that is aligned; 0: nothing does */
    int64_t              nplaces;  /* of these */
    taken               *all;      /* what is taken, by address */
} fitting;

/* ---- orders ------------------------------------------------------------------------------------ */

static int by_key(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->key.first != y->key.first) return x->key.first < y->key.first ? -1 : 1;
    if (x->key.second != y->key.second) return x->key.second < y->key.second ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static tg_fit_key published_key(const tg_buffer *b, bool is_parent) {
    const double roles = (b->nparents > 0) + is_parent, span = (double)tg_buffer_end(b) - (double)tg_buffer_start(b);
    return (tg_fit_key){(span - 0.25 * roles) / ((double)b->nuses + (b->comes_from_outside ? 0 : 0.5)), span};
}

static void make_order(fitting *f, const tg_fit_key *keys) {
    for (int64_t i = 0; i < f->s->n; i++) /* handed: here whether it is a parent */
        for (int64_t k = 0; k < f->s->buffers[i].nparents; k++) f->handed[f->s->buffers[i].parents[k]] = true;
    for (int64_t i = 0; i < f->s->n; i++) {
        f->order[i].key = keys != NULL ? keys[i] : published_key(&f->s->buffers[i], f->handed[i]);
        f->order[i].buffer = i;
    }
    qsort(f->order, (size_t)f->s->n, sizeof *f->order, by_key);
    memset(f->handed, 0, (size_t)f->s->n * sizeof *f->handed);
}

static bool make_tree(fitting *f) {
    for (f->nleaves = 1; f->nleaves < f->s->n;) f->nleaves *= 2;
    f->ends = malloc(2 * (size_t)f->nleaves * sizeof *f->ends);
    if (f->ends == NULL || !tg_order_by_start(f->by_start, f->s)) return false;
    for (int64_t i = 0; i < f->s->n; i++) {
        f->leaf[f->by_start[i]] = i;
        f->starts[i] = tg_buffer_start(&f->s->buffers[f->by_start[i]]);
    }
    for (int64_t i = 0; i < 2 * f->nleaves; i++) f->ends[i] = INT64_MIN;
    return true;
}

/* ---- who is alive together ------------------------------------------------------------------------ */

static void note_placed(fitting *f, int64_t i) {
    const tg_buffer *b = &f->s->buffers[i];
    const int64_t    end = tg_buffer_end(b), address = f->out[i].address;
    f->took[f->leaf[i]] = (rival){address, tg_align(address + b->size, f->s->alignment),
                                      address / f->s->alignment};
    for (int64_t node = f->nleaves + f->leaf[i]; node > 0; node /= 2) f->ends[node] = tg_max(f->ends[node], end);
}

/* Below node, whose leaves begin at `first`, those that are alive from start to end. */
static void find_below(fitting *f, int64_t node, int64_t first, int64_t width, int64_t start, int64_t end) {
    if (f->ends[node] <= start || first >= f->s->n || f->starts[first] >= end) return;
    if (width > 16) {
        find_below(f, 2 * node, first, width / 2, start, end);
        find_below(f, 2 * node + 1, first + width / 2, width / 2, start, end);
        return;
    }
    const int64_t *ends = f->ends + f->nleaves, last = tg_min(first + width, f->s->n);
    for (int64_t leaf = first; leaf < last && f->starts[leaf] < end; leaf++)
        if (ends[leaf] > start) f->rivals[f->nrivals++] = leaf;
}

static int by_address(const void *a, const void *b) {
    const taken *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* ---- places ------------------------------------------------------------------------------------------- */

/* Whether buffer i, at its parent's address, is clear of everything but the parent. */
static bool is_clear(const fitting *f, const tg_buffer *b, int64_t parent) {
    const int64_t address = f->out[parent].address, own = f->leaf[parent];
    for (int64_t k = 0; k < f->nrivals; k++) {
        const rival *r = &f->took[f->rivals[k]];
        if (f->rivals[k] != own && r->address < address + b->size && address < r->top) return false;
    }
    return true;
}

static int64_t find_parent(const fitting *f, const tg_buffer *b) {
    for (int64_t k = 0; k < b->nparents; k++) {
        const int64_t parent = b->parents[k];
        if (f->out[parent].address >= 0 && !f->handed[parent] && is_clear(f, b, parent)) return parent;
    }
    return -1;
}

/* Many rivals lie one after the other in few places: of each place the highest top is enough. */
static int64_t list_places(const fitting *f) {
    int64_t n = 0;
    memset(f->tops, 0, (size_t)f->nplaces * sizeof *f->tops);
    for (int64_t k = 0; k < f->nrivals; k++) {
        const rival *r = &f->took[f->rivals[k]];
        f->tops[r->place] = tg_max(f->tops[r->place], r->top);
    }
    for (int64_t place = 0; place < f->nplaces; place++)
        if (f->tops[place] > 0) f->all[n++] = (taken){place * f->s->alignment, f->tops[place]};
    return n;
}

/* What rivals take, by address; how much. */
static int64_t list_taken(const fitting *f) {
    if (f->nplaces / 4 < f->nrivals) return list_places(f);
    for (int64_t k = 0; k < f->nrivals; k++) {
        const rival *r = &f->took[f->rivals[k]];
        f->all[k] = (taken){r->address, r->top};
    }
    qsort(f->all, (size_t)f->nrivals, sizeof *f->all, by_address);
    return f->nrivals;
}

/* The first gap, or the one with the least waste; -1 if there is none. */
static int64_t find_gap(const fitting *f, int64_t size) {
    const int64_t n = list_taken(f);
    int64_t       least = INT64_MAX, top = 0, address = -1;
    for (int64_t k = 0; k <= n; k++) {
        const int64_t waste = (k < n ? f->all[k].address : f->s->capacity) - size - top;
        if (waste >= 0 && waste < least) {
            address = top;
            if (!f->best) break;
            least = waste;
        }
        if (k < n) top = tg_max(top, f->all[k].top);
    }
    return address;
}

static void place(fitting *f, int64_t i) {
    const tg_buffer *b = &f->s->buffers[i];
    if (!f->s->allowed[i]) return;
    f->nrivals = 0;
    find_below(f, 1, 0, f->nleaves, tg_buffer_start(b), tg_buffer_end(b));
    const int64_t parent = find_parent(f, b);
    if (parent < 0) f->out[i].address = find_gap(f, b->size);
    else f->out[i] = (tg_placement){f->out[parent].address, parent};
    if (parent >= 0) f->handed[parent] = true;
    if (f->out[i].address >= 0) note_placed(f, i);
}

/* A buffer after its parents, which begin before it, so that this ends. */
static void place_after_parents(fitting *f, bool *done, int64_t i) {
    int64_t depth = 0;
    f->stack[depth++] = i;
    while (depth > 0) {
        const int64_t    at = f->stack[depth - 1];
        const tg_buffer *b = &f->s->buffers[at];
        int64_t          k = 0;
        while (k < b->nparents && done[b->parents[k]]) k++;
        if (k < b->nparents) {
            f->stack[depth++] = b->parents[k];
            continue;
        }
        depth--;
        if (!done[at]) place(f, at);
        done[at] = true;
    }
}

tg_status tg_place_fit(tg_placement *out, const tg_scratchpad *s, const tg_fit_key *keys, bool best, tg_error *err) {
    const size_t n = (size_t)s->n + 1;
    fitting      f = {.s = s, .out = out, .best = best};
    bool        *done = calloc(n, sizeof *done);
    f.handed = calloc(n, sizeof *f.handed);
    f.order = malloc(n * sizeof *f.order);
    f.by_start = malloc(5 * n * sizeof *f.by_start);
    f.took = malloc(n * sizeof *f.took);
    f.nplaces = s->capacity / s->alignment + 1;
    if (f.nplaces > 4 * s->n) f.nplaces = INT64_MAX; /* there are never so many rivals */
    f.tops = malloc((f.nplaces < INT64_MAX ? (size_t)f.nplaces : 1) * sizeof *f.tops);
    f.all = malloc((n > (size_t)f.nplaces ? n : f.nplaces < INT64_MAX ? (size_t)f.nplaces : n) * sizeof *f.all);
    const bool memory = done != NULL && f.handed != NULL && f.order != NULL && f.by_start != NULL && f.tops != NULL &&
                        f.all != NULL && f.took != NULL;
    tg_status  status = memory ? TG_OK : tg_graph_no_memory(err);
    if (memory) {
        f.leaf = f.by_start + n;
        f.rivals = f.leaf + n;
        f.stack = f.rivals + n;
        f.starts = f.stack + n;
        for (int64_t i = 0; i < s->n; i++) out[i] = (tg_placement){-1, -1};
        make_order(&f, keys);
        if (!make_tree(&f)) status = tg_graph_no_memory(err);
    }
    for (int64_t i = 0; i < s->n && status == TG_OK; i++) place_after_parents(&f, done, f.order[i].buffer);
    free(done);
    free(f.handed);
    free(f.order);
    free(f.by_start);
    free(f.took);
    free(f.ends);
    free(f.tops);
    free(f.all);
    return status;
}
