#include "touched.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 128 };

/* ---- places ---- */

/* Positions along a dimension, padding included. */
static int64_t range_of(const tg_layout *l, int32_t d) {
    int64_t range = 1;
    for (int32_t i = 0; i < l->nmodes; i++)
        if (l->mode[i].axis == d && l->mode[i].weight * l->mode[i].size > range)
            range = l->mode[i].weight * l->mode[i].size;
    return range;
}

/* What coordinate x along d adds to the place of an element, in bytes. The first digit goes on past its range. */
static int64_t place(const tg_layout *l, int32_t d, int64_t x) {
    const int64_t range = range_of(l, d);
    int64_t       offset = 0;
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->axis != d) continue;
        const int64_t digit = x / m->weight;
        offset += (m->weight * m->size == range ? digit : digit % m->size) * m->stride;
    }
    return offset * l->elem_bits / 8;
}

/* Of all elements, one for each. */
static bool has_places(const tg_layout *l) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->into != TG_TO_MEMORY || m->stride < (m->size > 1) || m->axis >= l->ndim) return false;
    }
    return l->elem_bits % 8 == 0 && l->elem_bits <= 64;
}

/* ---- pieces ---- */

/* How many steps of the piece along d lie side by side behind each other. */
static int64_t run_along(const piece *p, const tg_layout *l, int32_t d) {
    const int64_t extent = p->extent[d], most = range_of(l, d) / extent;
    int64_t       n = 1;
    while (n < most && (n + 1) * p->bytes <= PIECE && place(l, d, n * extent) == n * p->bytes) n++;
    return n;
}

/* Where the next piece begins, as far as it can be seen along one dimension. */
static int64_t next_piece(const piece *p, const tg_layout *l) {
    int64_t next = INT64_MAX;
    for (int32_t d = 0; d < l->ndim; d++) {
        const int64_t step = range_of(l, d) > p->extent[d] ? place(l, d, p->extent[d]) : INT64_MAX;
        if (step >= p->bytes && step < next) next = step;
    }
    return next;
}

static void find_piece(piece *p, const tg_layout *l, bool padded) {
    memset(p, 0, sizeof *p);
    p->bytes = l->elem_bits / 8;
    for (int32_t d = 0; d < l->ndim; d++) p->extent[d] = 1;
    for (int32_t d = 0; d < l->ndim && p->nruns < MOST_RUNS; d++) {
        const int64_t n = run_along(p, l, d);
        if (n == 1) continue;
        p->dim[p->nruns] = d;
        p->n[p->nruns++] = n;
        p->extent[d] *= n;
        p->bytes *= n;
        d = -1; /* and again from the first dimension */
    }
    const int64_t next = next_piece(p, l);
    if (padded && p->bytes < PIECE && next <= PIECE) p->bytes = next;
}

/* Whether pieces end where digits do: all digits of a dimension that a piece does not hold step over whole pieces. */
static bool is_nested(const piece *p, const tg_layout *l) {
    for (int32_t i = 0; i < l->nmodes; i++) {
        const tg_mode *m = &l->mode[i];
        if (m->axis >= 0 && m->weight > p->extent[m->axis] && m->weight % p->extent[m->axis] != 0) return false;
    }
    return true;
}

/* ---- the tile ---- */

static int64_t least_common_multiple(int64_t a, int64_t b) {
    int64_t x = a, y = b;
    while (y != 0) {
        const int64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

static int by_value(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The lines of all pieces of a box. Returns how many, or 0 if they are too many. */
static int32_t find_lines(int64_t *line, const piece *p, const tg_layout *l, const int64_t *box) {
    int64_t coord[TG_MAX_NDIM] = {0};
    int32_t n = 0, d = 0;
    while (d >= 0) {
        int64_t first = 0;
        for (d = 0; d < l->ndim; d++) first += place(l, d, coord[d]);
        for (int64_t i = 0; i < p->bytes; i += LINE) {
            if (n == MOST_LINES) return 0;
            line[n++] = first + i;
        }
        for (d = l->ndim - 1; d >= 0; d--) {
            coord[d] += p->extent[d];
            if (coord[d] < box[d]) break;
            coord[d] = 0;
        }
    }
    qsort(line, (size_t)n, sizeof line[0], by_value);
    return n;
}

/* ---- the loops ---- */

/* Positions of the tile along a dimension as digits: the longest even run, then runs of it. */
static bool add_loops(nest *n, const tg_layout *dst, const tg_layout *src, int32_t d, int64_t step, int64_t count) {
    while (count > 1) {
        const int64_t to = place(dst, d, step), from = place(src, d, step);
        int64_t       even = 1;
        while (even < count && place(dst, d, even * step) == even * to && place(src, d, even * step) == even * from)
            even++;
        if (count % even != 0 || n->nloops == MOST_LOOPS) return false;
        const loop found = {even, to, from};
        n->loop[n->nloops++] = found;
        step *= even;
        count /= even;
    }
    return true;
}

/* Every nest so far, once more with the tile at the end of d. */
static bool add_end(touched *t, const tg_layout *dst, const tg_layout *src, int32_t d, int64_t first) {
    const int32_t n = t->nnests;
    if (2 * n > MOST_NESTS) return false;
    for (int32_t i = 0; i < n; i++) {
        nest *const end = &t->nest[t->nnests++];
        *end = t->nest[i];
        end->dst += place(dst, d, first);
        end->src += place(src, d, first);
    }
    return true;
}

static bool find_nests(touched *t, const tg_layout *dst, const tg_layout *src, const int64_t *box) {
    const nest start = {.dst = dst->offset * dst->elem_bits / 8, .src = src->offset * src->elem_bits / 8};
    t->nest[0] = start;
    t->nnests = 1;
    for (int32_t d = 0; d < dst->ndim; d++) {
        const int64_t to = range_of(dst, d), from = range_of(src, d), range = to > from ? to : from;
        if (box[d] > range) return false;
        const int32_t n = t->nnests;
        if (range % box[d] != 0 && !add_end(t, dst, src, d, range - box[d])) return false;
        for (int32_t i = 0; i < n; i++)
            if (!add_loops(&t->nest[i], dst, src, d, box[d], range / box[d])) return false;
    }
    return true;
}

static bool within(const touched *t, int64_t room) {
    for (int32_t i = 0; i < t->nnests; i++) {
        int64_t to = t->nest[i].dst + t->to[t->nto - 1], from = t->nest[i].src + t->from[t->nfrom - 1];
        for (int32_t k = 0; k < t->nest[i].nloops; k++) {
            to += (t->nest[i].loop[k].n - 1) * t->nest[i].loop[k].dst;
            from += (t->nest[i].loop[k].n - 1) * t->nest[i].loop[k].src;
        }
        if (to + LINE > room || from + LINE > room) return false;
    }
    return true;
}

bool touched_find(touched *t, const tg_layout *dst, const tg_layout *src, size_t room) {
    int64_t box[TG_MAX_NDIM];
    memset(t, 0, sizeof *t);
    if (!has_places(dst) || !has_places(src)) return false;
    find_piece(&t->of_dst, dst, true);
    find_piece(&t->of_src, src, false);
    if (!is_nested(&t->of_dst, dst) || !is_nested(&t->of_src, src)) return false;
    for (int32_t d = 0; d < dst->ndim; d++) box[d] = least_common_multiple(t->of_dst.extent[d], t->of_src.extent[d]);
    t->nto = find_lines(t->to, &t->of_dst, dst, box);
    t->nfrom = find_lines(t->from, &t->of_src, src, box);
    return t->nto > 0 && t->nfrom > 0 && find_nests(t, dst, src, box) && within(t, (int64_t)room);
}
