/* Coordinates of accesses, and the tables of what each loop adds to them. */
#include "sim/place.h"

#include "base/checked.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- coordinates --------------------------------------------------------------------------- */

static void sort_dims(tg_places *p) {
    const tg_host *h = &p->tile->tensor->host;
    for (int32_t d = 0; d < h->ndim; d++) {
        if (h->shape[d] <= 1 || h->strides[d] == 0) continue;
        int32_t i = p->ndims++;
        for (; i > 0 && h->strides[p->dims[i - 1]] < h->strides[d]; i--) p->dims[i] = p->dims[i - 1];
        p->dims[i] = d;
    }
}

/* Digits of a number of host elements; the first one may exceed its dimension. */
static void find_coordinate(int64_t *c, const tg_places *p, int64_t offset) {
    const tg_host *h = &p->tile->tensor->host;
    for (int32_t d = 0; d < h->ndim; d++) c[d] = 0;
    for (int32_t i = 0; i < p->ndims; i++) {
        const int32_t d = p->dims[i];
        c[d] = offset / h->strides[d];
        offset -= c[d] * h->strides[d];
    }
}

static bool is_piece(const tg_places *p, int32_t loop, int64_t *size) {
    for (int32_t i = 0; i < p->job->c.npieces; i++) {
        const tg_piece *q = &p->job->c.pieces[i];
        if (q->operand != p->operand || q->loop != loop) continue;
        *size = q->size;
        return true;
    }
    return false;
}

static bool moves(const tg_access *a, int32_t loop) {
    for (int32_t i = 0; i < a->nterms; i++)
        if (a->terms[i].loop == loop) return true;
    return false;
}

/* The number that loop l has for the operand when it is at i: of the first lane, if it runs in the lanes; *beyond: how
 * far behind the end of a filled dimension. False: there is nothing. */
static bool own_number(int64_t *number, int64_t *beyond, const tg_places *p, int32_t l, int64_t i) {
    const int64_t stick = p->tile->tensor->stick;
    int64_t       size = p->job->ranges[l];
    const bool    piece = is_piece(p, l, &size), last = !piece || p->first[l] + size == p->job->ranges[l];
    const bool    in_lanes = l == p->lane && p->tile->tensor->stick_dim != TG_NO_DIM;
    const int64_t n = piece ? i - p->first[l] : i;
    *beyond = 0;
    *number = n;
    if (!moves(&p->access, l)) return n >= 0 && (n < size || !piece);
    if (n < 0) return false;
    if (n >= size && (!last || (!in_lanes && p->tile->tensor->fill_dim == TG_NO_DIM))) return false;
    if (in_lanes) *number = n / stick * stick;
    if (in_lanes) return *number < size;
    if (n < size) return true;
    *number = size - 1;
    *beyond = n - *number;
    return size > 0;
}

static int64_t term_sum(const tg_access *a, int32_t loop, int64_t number) {
    int64_t sum = 0;
    for (int32_t i = 0; i < a->nterms; i++) {
        const tg_term *t = &a->terms[i];
        if (t->loop == loop) sum += t->step * (t->modulus > 0 ? number % t->modulus : number);
    }
    return sum;
}

/* The lane that a stick is read in. */
static int64_t lane_of(const tg_places *p, const int64_t *at) {
    if (p->lane < 0 || !moves(&p->access, p->lane)) return 0;
    return at[p->lane] % p->tile->tensor->stick;
}

/* From a coordinate to the place in the tile. */
static int64_t place_of(const tg_places *p, int64_t *c, int64_t lane) {
    const tg_tensor *t = p->tile->tensor;
    int64_t          place = 0;
    if (t->stick_dim == TG_NO_DIM && lane != 0) return TG_NOWHERE;
    if (t->stick_dim != TG_NO_DIM) c[t->stick_dim] = c[t->stick_dim] / t->stick * t->stick + lane;
    for (int32_t d = 0; d < t->host.ndim; d++) {
        if (c[d] >= p->tile->shape[d]) return TG_NOWHERE;
        place += c[d] * p->tile->stride[d];
    }
    return place;
}

/* ---- numbers that the data says ----------------------------------------------------------------- */

/* Host elements that indices and windows add; false outside of a window. Lanes behind the end read the index of the
 * last one. */
static bool add_data(int64_t *sum, const tg_places *p, const int64_t *numbers) {
    const tg_compute *c = &p->job->c;
    int64_t           at[TG_MAX_ALL_LOOPS];
    for (int32_t l = 0; l < p->job->nloops; l++) at[l] = tg_min(numbers[l], tg_max(p->job->ranges[l] - 1, 0));
    for (int32_t i = 0; i < c->nindices; i++) {
        const tg_index *x = &c->indices[i];
        if (x->operand != p->operand) continue;
        const int64_t n = p->values[x->from.node][tg_access_at(&x->from, at)].whole;
        *sum += x->step * tg_index_place(x, n);
    }
    for (int32_t i = 0; i < p->job->info.nwindows && p->operand >= 0; i++) {
        const tg_window *w = &p->job->info.windows[i];
        const int64_t    in = at[p->job->info.nloops + i], step = tg_window_at(w, at[w->loop], in);
        if (p->operand == 0 && step < 0) return false;
        *sum += p->operand == 0 ? step : (w->reversed ? w->size - 1 - in : in) * w->kernel_step;
    }
    return true;
}

int64_t tg_place_at(const tg_places *p, const int64_t *at) {
    int64_t c[TG_MAX_NDIM], offset = p->access.offset, number, beyond, behind = 0;
    for (int32_t l = 0; l < p->job->info.nloops; l++) {
        if (!own_number(&number, &beyond, p, l, at[l])) return TG_NOWHERE;
        offset += term_sum(&p->access, l, number);
        behind += beyond;
    }
    if (!add_data(&offset, p, at)) return TG_NOWHERE;
    find_coordinate(c, p, offset);
    if (behind > 0) c[p->tile->tensor->fill_dim] += behind;
    return place_of(p, c, lane_of(p, at));
}

/* ---- tables ---------------------------------------------------------------------------------------- */

/* Whether a loop, moving by itself, leaves the lanes of a stick alone; the largest coordinate that it adds. */
static bool look_at_loop(int64_t *most, tg_places *p, int32_t l) {
    const tg_tensor *t = p->tile->tensor;
    int64_t          c[TG_MAX_NDIM], number, beyond;
    for (int64_t i = 0; i < p->extent[l]; i++) {
        if (!own_number(&number, &beyond, p, l, i)) continue;
        find_coordinate(c, p, term_sum(&p->access, l, number));
        for (int32_t d = 0; d < t->host.ndim; d++) most[d] = tg_max(most[d], c[d]);
        if (t->stick_dim != TG_NO_DIM && l != p->lane && c[t->stick_dim] % t->stick != 0) return false;
    }
    return true;
}

static bool look_at_data(int64_t *sum, const tg_places *p, int64_t furthest) {
    const tg_tensor *t = p->tile->tensor;
    int64_t          c[TG_MAX_NDIM];
    int32_t          moved = 0;
    find_coordinate(c, p, furthest);
    for (int32_t d = 0; d < t->host.ndim; d++) {
        sum[d] += c[d];
        moved += c[d] != 0;
    }
    return moved <= 1 && (t->stick_dim == TG_NO_DIM || c[t->stick_dim] == 0);
}

static bool is_touched(const tg_places *p, int32_t loop) {
    const tg_compute *c = &p->job->c;
    for (int32_t i = 0; i < c->nindices; i++)
        if (moves(&c->indices[i].from, loop)) return true;
    for (int32_t i = 0; i < p->job->info.nwindows; i++)
        if (p->job->info.windows[i].loop == loop) return true;
    return false;
}

/* Digits never carry, and only the loop in the lanes moves within a stick. */
static bool is_even(tg_places *p) {
    const tg_tensor *t = p->tile->tensor;
    int64_t          sum[TG_MAX_NDIM], most[TG_MAX_NDIM];
    bool             even = p->inner < 0 || !is_touched(p, p->inner);
    find_coordinate(sum, p, p->access.offset);
    if (t->stick_dim != TG_NO_DIM && sum[t->stick_dim] % t->stick != 0) return false;
    for (int32_t l = 0; l < p->job->info.nloops && even; l++) {
        memset(most, 0, sizeof most);
        even = look_at_loop(most, p, l);
        for (int32_t d = 0; d < t->host.ndim; d++) sum[d] += most[d];
    }
    for (int32_t i = 0; i < p->job->c.nindices && even; i++)
        if (p->job->c.indices[i].operand == p->operand)
            even = look_at_data(sum, p, p->job->c.indices[i].step * p->job->c.indices[i].limit);
    for (int32_t i = 0; i < p->job->info.nwindows && even && p->operand >= 0; i++) {
        const tg_window *w = &p->job->info.windows[i];
        even =
            look_at_data(sum, p, p->operand == 0 ? tg_max(w->extent - 1, 0) * w->step : (w->size - 1) * w->kernel_step);
    }
    for (int32_t d = 0; d < t->host.ndim; d++) even = even && sum[d] < t->host.shape[d];
    return even;
}

/* What loop l adds at i. */
static int64_t part_at(const tg_places *p, int32_t l, int64_t i) {
    int64_t c[TG_MAX_NDIM], number, beyond;
    if (!own_number(&number, &beyond, p, l, i)) return TG_NOWHERE;
    find_coordinate(c, p, term_sum(&p->access, l, number));
    if (beyond > 0) c[p->tile->tensor->fill_dim] += beyond;
    const bool lanes = l == p->lane && moves(&p->access, l);
    return place_of(p, c, lanes ? i % p->tile->tensor->stick : 0);
}

static bool make_table(tg_places *p, int32_t l) {
    int64_t size;
    if (!moves(&p->access, l) && !is_piece(p, l, &size)) return true;
    p->table[l] = malloc(((size_t)p->extent[l] + 1) * sizeof **p->table);
    for (int64_t i = 0; p->table[l] != NULL && i < p->extent[l]; i++) p->table[l][i] = part_at(p, l, i);
    return p->table[l] != NULL;
}

static void find_inner_step(tg_places *p) {
    const int64_t *table = p->inner >= 0 ? p->table[p->inner] : NULL;
    p->plain = p->even;
    p->inner_step = 0;
    if (table == NULL || !p->even || p->extent[p->inner] < 2) {
        p->plain = p->plain && (table == NULL || table[0] != TG_NOWHERE);
        return;
    }
    p->inner_step = table[1] - table[0];
    for (int64_t i = 0; i < p->extent[p->inner] && p->plain; i++)
        p->plain = table[i] != TG_NOWHERE && table[i] == table[0] + i * p->inner_step;
}

tg_status tg_places_make(tg_places *p, tg_error *err) {
    int64_t c[TG_MAX_NDIM];
    bool    memory = true;
    p->apart = -1;
    sort_dims(p);
    find_coordinate(c, p, p->access.offset);
    p->even = is_even(p);
    p->base = p->even ? place_of(p, c, 0) : 0;
    for (int32_t l = 0; l < p->job->info.nloops && p->even && memory; l++) memory = make_table(p, l);
    if (!memory) return tg_fail(err, TG_ERR_NOMEM, "there is no memory for the places of a node");
    find_inner_step(p);
    return TG_OK;
}

void tg_places_free(tg_places *p) {
    for (int32_t l = 0; l < TG_MAX_ALL_LOOPS; l++) free(p->table[l]);
}

/* ---- rows --------------------------------------------------------------------------------------------- */

/* The part of the place that is the same along a row. */
static int64_t outer_part(const tg_places *p, const int64_t *at) {
    int64_t place = p->base, more = 0;
    for (int32_t l = 0; l < p->job->info.nloops; l++) {
        if (l == p->inner || l == p->apart || p->table[l] == NULL) continue;
        const int64_t part = p->table[l][at[l]];
        if (part == TG_NOWHERE) return TG_NOWHERE;
        place += part;
    }
    if (p->job->c.nindices == 0 && p->job->info.nwindows == 0) return place;
    if (!add_data(&more, p, at)) return TG_NOWHERE;
    if (more == 0) return place;
    int64_t c[TG_MAX_NDIM];
    find_coordinate(c, p, more);
    for (int32_t d = 0; d < p->tile->tensor->host.ndim; d++) place += c[d] * p->tile->stride[d];
    return place;
}

static bool put_uneven(int64_t *places, const tg_places *p, const int64_t *at, int64_t n) {
    int64_t here[TG_MAX_ALL_LOOPS];
    memcpy(here, at, sizeof here);
    for (int64_t i = 0; i < n; i++) {
        places[i] = tg_place_at(p, here);
        if (p->inner >= 0) here[p->inner]++;
    }
    return false;
}

bool tg_place_row(int64_t *start, int64_t *places, const tg_places *p, const int64_t *at, int64_t n) {
    if (!p->even) return put_uneven(places, p, at, n);
    const int64_t  outer = outer_part(p, at);
    const int64_t *table = p->inner >= 0 ? p->table[p->inner] : NULL;
    if (outer != TG_NOWHERE && p->plain) {
        *start = outer + (table != NULL ? table[at[p->inner]] : 0);
        return true;
    }
    for (int64_t i = 0; i < n; i++) {
        places[i] = outer == TG_NOWHERE || table == NULL ? outer : table[at[p->inner] + i];
        if (table != NULL && places[i] != TG_NOWHERE) places[i] += outer == TG_NOWHERE ? 0 : outer;
    }
    return false;
}
