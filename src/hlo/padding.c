/* Where the bytes of an XLA array go: the analysis of padding.h, for one array. */
#include <tegula/padding.h>

#include "hlo/padding_walk.h"
#include "layout/layout.h"

#include <string.h>

/* The analysis while it is made. */
typedef struct measuring {
    tg_padding *out;
    bool        fits;
} measuring;

static void see_rounding(void *context, const tg_rounding *r) {
    measuring  *m = context;
    tg_padding *p = m->out;
    int64_t     before = 0, after = 0;
    m->fits = m->fits && tg_bytes_of(&before, r->before, p->stored_bits) &&
              tg_bytes_of(&after, r->after, p->stored_bits);
    p->part[p->nparts++] =
        (tg_padding_part){r->level, r->place, r->owners, r->size, r->tile, r->padded, after - before};
}

/* The sizes of the array in physical order, most major first, each owned by its dimension. */
static bool physical_sizes(tg_extents *e, const tg_xla_shape *array) {
    int64_t  sizes[TG_MAX_NDIM] = {0};
    uint32_t owners[TG_MAX_NDIM] = {0};
    for (int32_t i = 0; i < array->ndim; i++) {
        const int32_t d = array->layout.minor_to_major[array->ndim - 1 - i];
        sizes[i] = array->dims[d];
        owners[i] = (uint32_t)1 << d;
    }
    return tg_extents_make(e, sizes, owners, array->ndim);
}

static bool measure_steps(tg_padding *p, const tg_layout *layout, const tg_xla_shape *array) {
    measuring                 m = {p, true};
    const tg_rounding_watcher watcher = {see_rounding, &m};
    tg_extents                e;
    int64_t                   narrow = 0, wide = 0, tiled = 0;
    if (!tg_bytes_of(&narrow, p->elements, p->logical_bits) || !tg_bytes_of(&wide, p->elements, p->stored_bits))
        return false;
    if (!physical_sizes(&e, array) || !tg_extents_tile(&e, &array->layout, &watcher)) return false;
    if (!m.fits || !tg_bytes_of(&tiled, e.elements, p->stored_bits)) return false;
    p->logical_bytes = narrow;
    p->widening_bytes = wide - narrow;
    return tg_layout_nbytes(&p->physical_bytes, layout, NULL) == TG_OK &&
           tg_sub(&p->tail_bytes, p->physical_bytes, tiled);
}

tg_status tg_padding_measure(tg_padding *out, const tg_xla_shape *array, tg_error *err) {
    tg_layout  layout;
    tg_padding p;
    int64_t    nbytes;
    memset(&p, 0, sizeof p);
    tg_status s = tg_layout_from_xla(&layout, array, err);
    if (s == TG_OK) s = tg_layout_nbytes(&nbytes, &layout, err);
    if (s != TG_OK) return s;
    p.elements = tg_layout_numel(&layout);
    p.stored_bits = layout.elem_bits;
    p.logical_bits = (int32_t)tg_min(tg_dtype_storage_bits(array->dtype), layout.elem_bits);
    if (!measure_steps(&p, &layout, array)) /* not reached where the layout itself fits */
        return tg_fail(err, TG_ERR_OVERFLOW, "the padding of %d elements does not fit 63 bits", p.elements);
    *out = p;
    return TG_OK;
}

double tg_padding_expansion(const tg_padding *in) {
    return in->logical_bytes > 0 ? (double)in->physical_bytes / (double)in->logical_bytes : 1.0;
}

/* a.padded / a.size > b.padded / b.size, exactly: the whole parts, then in turn the parts of their rests. */
static bool grows_more(const tg_padding_part *a, const tg_padding_part *b) {
    int64_t an = a->padded, ad = a->size, bn = b->padded, bd = b->size;
    for (;;) {
        if (an / ad != bn / bd) return an / ad > bn / bd;
        const int64_t ar = an % ad, br = bn % bd;
        if (ar == 0 || br == 0) return ar > 0; /* at least one is whole now */
        an = bd; /* ar / ad > br / bd is bd / br > ad / ar */
        bn = ad;
        ad = br;
        bd = ar;
    }
}

int32_t tg_padding_worst(const tg_padding *in) {
    int32_t worst = -1;
    for (int32_t i = 0; i < in->nparts; i++) {
        const tg_padding_part *part = &in->part[i];
        if (part->padded == part->size) continue; /* so are all of size 0 */
        if (worst < 0 || grows_more(part, &in->part[worst])) worst = i;
    }
    return worst;
}
