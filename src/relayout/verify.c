/* Verifying from the definition: for every coordinate, what tg_layout_offset says on both sides and the scalar
 * conversion; nothing here knows of rectangles, plans or kernels.
 *
 * tg_layout_offset is asked where a line of elements begins: neighbours along the last dimension that differ, on both
 * sides, in the last digit only, so that each offset is the one before and a step. Tiles of 64, a row of 150:
 *
 *     coordinate    0 .. 63    64 .. 127    128 .. 149      the digit of weight 64 changes at 64 and at 128
 *
 * Within a box only its elements are looked at. Otherwise padding is checked by counting: in a unique layout the
 * elements that differ from the pad are as many as the places of the storage that do, or some padding differs too. Only
 * then, and for a replicating destination, of which tg_layout_offset knows the first copy only, every offset is asked
 * in turn. */
#include "base/checked.h"
#include "base/error.h"
#include "kernels/kernels.h"
#include "layout/layout.h"

#include <string.h>

typedef struct check {
    const tg_layout *dst_layout, *src_layout;
    const void      *dst, *src;
    tg_encoding      dst_encoding, src_encoding;
    bool             copies;    /* bits are compared as they are */
    bool             looks_pad; /* there is padding, and it counts */
    tg_word          pad;
} check;

static bool same_bits(tg_word a, tg_word b) { return a.lo == b.lo && a.hi == b.hi; }

/* tg_ref_load, at once for the widths that most elements have. */
static inline tg_word load(const void *base, int64_t index, int32_t bits) {
    const uint8_t *p = (const uint8_t *)base + index * (bits / 8);
    tg_word        w = {0, 0};
    if (bits == 8) w.lo = p[0];
    else if (bits == 16) w.lo = (uint32_t)(p[0] | p[1] << 8);
    else if (bits == 32) w.lo = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    else w = tg_ref_load(base, index, bits);
    return w;
}

static inline tg_word dst_word(const check *c, int64_t offset) {
    return load(c->dst, offset, c->dst_layout->elem_bits);
}

/* An integer that does not fit has no right result. */
static inline bool element_equal(const check *c, tg_word got, int64_t src_offset) {
    tg_word want = load(c->src, src_offset, c->src_layout->elem_bits);
    if (!c->copies && !tg_ref_convert(&want, c->dst_encoding, c->src_encoding, want)) return false;
    return same_bits(got, want);
}

static bool has_copies(const tg_layout *l) {
    for (int32_t m = 0; m < l->nmodes; m++)
        if (l->mode[m].axis == TG_AXIS_COPY && l->mode[m].size > 1) return true;
    return false;
}

/* The next coordinate of [begin, end) in row-major order; false after the last one. */
static bool next_in_box(int64_t *coord, const int64_t *begin, const int64_t *end, int32_t ndim) {
    for (int32_t d = ndim; d-- > 0;) {
        if (++coord[d] < end[d]) return true;
        coord[d] = begin[d];
    }
    return false;
}

/* Elements that follow each other in both layouts, from an offset each. */
typedef struct line {
    int64_t n, dst, dst_step, src, src_step;
} line;

/* The line from a coordinate on, which ends before `end` of the last dimension, where it now is `at`. */
static void line_from(line *x, const check *c, const int64_t *coord, int64_t at, int64_t end) {
    enum { SHORT = 4 }; /* with fewer, asking for each offset takes less */
    x->n = 1;
    x->dst = tg_layout_offset(c->dst_layout, coord);
    x->src = tg_layout_offset(c->src_layout, coord);
    if (end - at < SHORT) return;
    x->n = tg_min(end - at, tg_layout_steady(&x->dst_step, c->dst_layout, coord));
    x->n = tg_min(x->n, tg_layout_steady(&x->src_step, c->src_layout, coord));
}

/* How many elements of a line are right before the first wrong one; *unlike grows by those that differ from the pad. */
static int64_t line_equal(const check *c, const line *x, int64_t *unlike) {
    int64_t i = 0, n = 0;
    for (; i < x->n; i++) {
        const tg_word got = dst_word(c, x->dst + i * x->dst_step);
        if (!element_equal(c, got, x->src + i * x->src_step)) break;
        n += !same_bits(got, c->pad);
    }
    *unlike += n;
    return i;
}

/* *unlike receives how many elements of dst differ from the pad. */
static bool coords_equal(const check *c, const int64_t *begin, const int64_t *end, int64_t *coord, int64_t *offset,
                         int64_t *unlike) {
    const int32_t ndim = c->dst_layout->ndim, last = ndim > 0 ? ndim - 1 : 0;
    const int64_t stop = ndim > 0 ? end[last] : 1; /* without dimensions there is one element */
    memset(coord, 0, TG_MAX_NDIM * sizeof coord[0]);
    memcpy(coord, begin, (size_t)ndim * sizeof coord[0]);
    *unlike = 0;
    for (int32_t i = 0; i < ndim; i++)
        if (begin[i] >= end[i]) return true;
    do {
        int64_t right = 0;
        for (coord[last] = ndim > 0 ? begin[last] : 0; coord[last] < stop; coord[last] += right) {
            line x = {0};
            line_from(&x, c, coord, coord[last], stop);
            right = line_equal(c, &x, unlike);
            if (right == x.n) continue;
            coord[last] += right;
            *offset = x.dst + right * x.dst_step;
            return false;
        }
    } while (next_in_box(coord, begin, end, last));
    return true;
}

static bool padding_equal(const check *c, int64_t unlike) {
    for (int64_t at = 0; at < c->dst_layout->span; at++) unlike -= !same_bits(dst_word(c, at), c->pad);
    return unlike == 0;
}

static bool in_box(const int64_t *coord, const int64_t *begin, const int64_t *end, int32_t ndim) {
    for (int32_t d = 0; d < ndim; d++)
        if (coord[d] < begin[d] || coord[d] >= end[d]) return false;
    return true;
}

/* Every offset of dst, data of the box if `data`, and padding if it counts. */
static tg_status offsets_equal(bool *equal, int64_t *coord, int64_t *offset, const check *c, const int64_t *begin,
                               const int64_t *end, bool data, tg_error *err) {
    const tg_layout *d = c->dst_layout;
    *equal = true;
    for (int64_t at = 0; at < d->span && *equal; at++) {
        tg_slot         slot;
        const tg_status s = tg_layout_coord(&slot, coord, d, at, err);
        if (s != TG_OK) return s;
        *offset = at;
        if (slot == TG_SLOT_DATA) {
            if (data && in_box(coord, begin, end, d->ndim))
                *equal = element_equal(c, dst_word(c, at), tg_layout_offset(c->src_layout, coord));
        } else if (c->looks_pad) {
            *equal = same_bits(dst_word(c, at), c->pad);
            if (!*equal) coord[0] = -1;
        }
    }
    return TG_OK;
}

tg_status tg_plan_verify(bool *equal, int64_t *coord, int64_t *offset, const tg_plan_params *params, const void *dst,
                         const void *src, tg_error *err) {
    const tg_layout *d = params->dst, *s = params->src;
    const int64_t    zeros[TG_MAX_NDIM] = {0};
    const int64_t   *begin = params->begin != NULL ? params->begin : zeros;
    const int64_t   *end = params->end != NULL ? params->end : d->shape;
    const bool       whole = params->begin == NULL && params->end == NULL, replicated = has_copies(d);
    check            c = {.dst_layout = d,
                          .src_layout = s,
                          .dst = dst,
                          .src = src,
                          .dst_encoding = tg_encoding_of(d->dtype, d->format, d->elem_bits),
                          .src_encoding = tg_encoding_of(s->dtype, s->format, s->elem_bits),
                          .looks_pad = whole && params->pad != NULL && tg_layout_numel(d) < d->span};
    int64_t          where[TG_MAX_NDIM] = {0}, at = 0, unlike = 0;
    c.copies = (d->dtype == s->dtype && d->format == s->format && d->elem_bits == s->elem_bits) ||
               tg_encoding_same(c.dst_encoding, c.src_encoding);
    if (c.looks_pad) c.pad = tg_ref_load(params->pad, 0, d->elem_bits);
    bool same = replicated || coords_equal(&c, begin, end, where, &at, &unlike);
    if (same && (replicated || (c.looks_pad && !padding_equal(&c, unlike)))) {
        const tg_status status = offsets_equal(&same, where, &at, &c, begin, end, replicated, err);
        if (status != TG_OK) return status;
    }
    *equal = same;
    if (same) return TG_OK;
    if (coord != NULL) memcpy(coord, where, (size_t)(where[0] == -1 ? 1 : d->ndim) * sizeof coord[0]);
    if (offset != NULL) *offset = at;
    return TG_OK;
}
