/* Verifying from the definition: for every coordinate, what tg_layout_offset says on both sides and
 * the scalar conversion; nothing here knows of runs, rectangles or kernels.
 *
 * Within a box only its elements are looked at. Otherwise padding is checked by counting: in a unique layout the
 * elements that differ from the pad are as many as the places of the storage that do, or some padding differs too. Only
 * then, and for a replicating destination, of which tg_layout_offset knows the first copy only, every offset is asked
 * in turn. */
#include "base/error.h"
#include "kernels/kernels.h"
#include "layout/layout.h"

#include <string.h>

typedef struct check {
    const tg_layout *dst_layout, *src_layout;
    const void      *dst, *src, *pad; /* pad: NULL if padding does not count */
    tg_encoding      dst_encoding, src_encoding;
    bool             copies; /* bits are compared as they are */
} check;

static bool same_bits(tg_word a, tg_word b) { return a.lo == b.lo && a.hi == b.hi; }

/* An integer that does not fit has no right result. */
static bool element_equal(const check *c, int64_t dst_offset, int64_t src_offset) {
    const tg_word got = tg_ref_load(c->dst, dst_offset, c->dst_layout->elem_bits);
    tg_word       want = tg_ref_load(c->src, src_offset, c->src_layout->elem_bits);
    if (!c->copies && !tg_ref_convert(&want, c->dst_encoding, c->src_encoding, want)) return false;
    return same_bits(got, want);
}

static bool has_copies(const tg_layout *l) {
    for (int32_t m = 0; m < l->nmodes; m++)
        if (l->mode[m].axis == TG_AXIS_COPY && l->mode[m].size > 1) return true;
    return false;
}

static bool is_pad(const check *c, int64_t dst_offset) {
    const int32_t bits = c->dst_layout->elem_bits;
    return same_bits(tg_ref_load(c->dst, dst_offset, bits), tg_ref_load(c->pad, 0, bits));
}

/* The next coordinate of [begin, end) in row-major order; false after the last one. */
static bool next_in_box(int64_t *coord, const int64_t *begin, const int64_t *end, int32_t ndim) {
    for (int32_t d = ndim; d-- > 0;) {
        if (++coord[d] < end[d]) return true;
        coord[d] = begin[d];
    }
    return false;
}

/* *unlike receives how many elements of dst differ from the pad. */
static bool coords_equal(const check *c, const int64_t *begin, const int64_t *end, int64_t *coord, int64_t *offset,
                         int64_t *unlike) {
    const tg_layout *d = c->dst_layout, *s = c->src_layout;
    memset(coord, 0, TG_MAX_NDIM * sizeof coord[0]);
    memcpy(coord, begin, (size_t)d->ndim * sizeof coord[0]);
    *unlike = 0;
    for (int32_t i = 0; i < d->ndim; i++)
        if (begin[i] >= end[i]) return true;
    do {
        *offset = tg_layout_offset(d, coord);
        if (!element_equal(c, *offset, tg_layout_offset(s, coord))) return false;
        if (c->pad != NULL) *unlike += !is_pad(c, *offset);
    } while (next_in_box(coord, begin, end, d->ndim));
    return true;
}

static bool padding_equal(const check *c, int64_t unlike) {
    for (int64_t at = 0; at < c->dst_layout->span; at++) unlike -= !is_pad(c, at);
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
                *equal = element_equal(c, at, tg_layout_offset(c->src_layout, coord));
        } else if (c->pad != NULL) {
            *equal = is_pad(c, at);
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
    const check c = {d,
                     s,
                     dst,
                     src,
                     whole ? params->pad : NULL,
                     tg_encoding_of(d->dtype, d->format, d->elem_bits),
                     tg_encoding_of(s->dtype, s->format, s->elem_bits),
                     d->dtype == s->dtype && d->format == s->format && d->elem_bits == s->elem_bits};
    int64_t          where[TG_MAX_NDIM] = {0}, at = 0, unlike = 0;
    bool             same = replicated || coords_equal(&c, begin, end, where, &at, &unlike);
    if (same && (replicated || (c.pad != NULL && !padding_equal(&c, unlike)))) {
        const tg_status status = offsets_equal(&same, where, &at, &c, begin, end, replicated, err);
        if (status != TG_OK) return status;
    }
    *equal = same;
    if (same) return TG_OK;
    if (coord != NULL) memcpy(coord, where, (size_t)(where[0] == -1 ? 1 : d->ndim) * sizeof coord[0]);
    if (offset != NULL) *offset = at;
    return TG_OK;
}
