/* Verifying from the definition: for every coordinate, what tg_layout_offset says on both sides and
 * the scalar conversion; nothing here knows of runs, rectangles or kernels.
 *
 * Padding is checked by counting: in a unique layout the elements that differ from the pad are as many
 * as the places of the storage that do, or some padding differs too. Only then, and for a replicating
 * destination, of which tg_layout_offset knows the first copy only, every offset is asked in turn. */
#include "relayout/plan.h"

#include "base/error.h"
#include "layout/layout.h"

#include <string.h>

typedef struct check {
    const tg_plan *plan;
    const void    *dst, *src;
    bool           copies; /* bits are compared as they are */
} check;

static bool same_bits(tg_word a, tg_word b) { return a.lo == b.lo && a.hi == b.hi; }

/* An integer that does not fit has no right result. */
static bool element_equal(const check *c, int64_t dst_offset, int64_t src_offset) {
    const tg_plan *p = c->plan;
    const tg_word  got = tg_ref_load(c->dst, dst_offset, p->dst_layout.elem_bits);
    tg_word        want = tg_ref_load(c->src, src_offset, p->src_layout.elem_bits);
    if (!c->copies && !tg_ref_convert(&want, p->dst_encoding, p->src_encoding, want)) return false;
    return same_bits(got, want);
}

static bool has_copies(const tg_layout *l) {
    for (int32_t m = 0; m < l->nmodes; m++)
        if (l->mode[m].axis == TG_AXIS_COPY && l->mode[m].size > 1) return true;
    return false;
}

static bool is_pad(const check *c, int64_t dst_offset) {
    const int32_t bits = c->plan->dst_layout.elem_bits;
    return same_bits(tg_ref_load(c->dst, dst_offset, bits), tg_ref_load(c->plan->pad, 0, bits));
}

/* *unlike receives how many elements of dst differ from the pad. */
static bool coords_equal(const check *c, int64_t *coord, int64_t *offset, int64_t *unlike) {
    const tg_layout *d = &c->plan->dst_layout, *s = &c->plan->src_layout;
    memset(coord, 0, TG_MAX_NDIM * sizeof coord[0]);
    *unlike = 0;
    if (tg_layout_numel(d) == 0) return true;
    do {
        *offset = tg_layout_offset(d, coord);
        if (!element_equal(c, *offset, tg_layout_offset(s, coord))) return false;
        if (c->plan->write_pad) *unlike += !is_pad(c, *offset);
    } while (tg_next_coord(coord, d->shape, d->ndim));
    return true;
}

static bool padding_equal(const check *c, int64_t unlike) {
    for (int64_t at = 0; at < c->plan->dst_layout.span; at++) unlike -= !is_pad(c, at);
    return unlike == 0;
}

/* Every offset of dst, data if `data`, padding if the plan wrote it. */
static tg_status offsets_equal(bool *equal, int64_t *coord, int64_t *offset, const check *c, bool data, tg_error *err) {
    const tg_plan *p = c->plan;
    *equal = true;
    for (int64_t at = 0; at < p->dst_layout.span && *equal; at++) {
        tg_slot         slot;
        const tg_status s = tg_layout_coord(&slot, coord, &p->dst_layout, at, err);
        if (s != TG_OK) return s;
        *offset = at;
        if (slot == TG_SLOT_DATA) {
            if (data) *equal = element_equal(c, at, tg_layout_offset(&p->src_layout, coord));
        } else if (p->verify_pad) {
            *equal = is_pad(c, at);
            if (!*equal) coord[0] = -1;
        }
    }
    return TG_OK;
}

tg_status tg_plan_verify(bool *equal, int64_t *coord, int64_t *offset, const tg_plan *plan, const void *dst,
                         const void *src, tg_error *err) {
    const tg_layout *d = &plan->dst_layout, *s = &plan->src_layout;
    const check      c = {plan, dst, src, d->format == s->format && d->elem_bits == s->elem_bits};
    const bool       replicated = has_copies(d);
    int64_t          where[TG_MAX_NDIM] = {0}, at = 0, unlike = 0;
    bool             same = replicated || coords_equal(&c, where, &at, &unlike);
    if (same && (replicated || (plan->write_pad && !padding_equal(&c, unlike)))) {
        const tg_status status = offsets_equal(&same, where, &at, &c, replicated, err);
        if (status != TG_OK) return status;
    }
    *equal = same;
    if (same) return TG_OK;
    if (coord != NULL) memcpy(coord, where, (size_t)(where[0] == -1 ? 1 : d->ndim) * sizeof coord[0]);
    if (offset != NULL) *offset = at;
    return TG_OK;
}
