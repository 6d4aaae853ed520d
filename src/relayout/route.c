/* How the blocks of a box get from src to dst, and by which movers.
 *
 *     bits stay the same                 one mover of the family                              move
 *     rows, converted                    one converting mover                                 convert
 *     transposed or strided, converted   moved into the order of dst, then converted          gather
 *     the same, dst has no neighbours    moved together, converted, moved apart               scatter
 *     tiles of several loops             gathered, transposed, written; packed on the way     tile
 *
 * Boxes share their movers. */
#include "relayout/box.h"

/* What a mover is made for. */
typedef struct wish {
    tg_family   family;
    int32_t     width;
    bool        stream, far;
    tg_encoding dst, src; /* family convert */
} wish;

/* ---- movers ---- */

static bool make_mover(tg_mover *out, const wish *w, uint32_t cpu) {
    switch (w->family) {
    case TG_FAMILY_ROWS: return tg_mover_rows(out, cpu, w->stream, w->far);
    case TG_FAMILY_TRANSPOSE: return tg_mover_transpose(out, w->width, cpu, w->stream, w->far);
    case TG_FAMILY_STRIDED: return tg_mover_strided(out, w->width, cpu, w->stream, w->far);
    default: return tg_mover_convert(out, w->dst, w->src, cpu, w->stream, w->far);
    }
}

static bool is_wished(const tg_nest *nest, int32_t i, const wish *w) {
    const tg_mover *m = &nest->mover[i];
    if (nest->family[i] != w->family || m->stream != w->stream || m->far != w->far) return false;
    if (w->family != TG_FAMILY_CONVERT) return nest->width[i] == w->width;
    return tg_encoding_same(m->dst, w->dst) && tg_encoding_same(m->src, w->src);
}

/* Detours are for what comes from memory, and for a processor with few places for lines on their way also for what
 * reads so many lines side by side that no cache's prefetchers follow. */
static bool is_sparing(const tg_draft *d, const tg_mover *m, const wish *w) {
    const bool many_lines = w->family == TG_FAMILY_TRANSPOSE && w->width < 8;
    return m->sparing && (d->plan->bytes >= d->pair->tuning->memory_bytes || (many_lines && !m->few_streams));
}

/* A mover that another box has already, or a new one; false if there is none. */
static bool find_mover(tg_draft *d, int32_t *out, const wish *w) {
    tg_nest *nest = &d->plan->as.nest;
    int32_t  i = 0;
    while (i < nest->nmovers && !is_wished(nest, i, w)) i++;
    *out = i;
    if (i < nest->nmovers) return true;
    if (i == TG_PLAN_MOVERS || !make_mover(&nest->mover[i], w, d->pair->cpu)) return false;
    nest->family[i] = w->family;
    nest->width[i] = w->width;
    nest->mover[i].sparing = is_sparing(d, &nest->mover[i], w);
    nest->nmovers++;
    return true;
}

static bool find_convert(tg_draft *d, int32_t *out, tg_encoding dst, tg_encoding src, bool stream, bool far) {
    const wish w = {TG_FAMILY_CONVERT, 0, stream, far, dst, src};
    return find_mover(d, out, &w);
}

/* The one of the box's own family. */
static bool find_own(tg_draft *d, int32_t *out, bool stream) {
    const wish w = {.family = d->box->family, .width = d->box->width, .stream = stream, .far = d->plan->far};
    return find_mover(d, out, &w);
}

/* ---- routes ---- */

static tg_route route_of(const tg_draft *d) {
    const tg_box *box = d->box;
    if (!d->converts) return TG_ROUTE_MOVE;
    if (box->family == TG_FAMILY_ROWS) return TG_ROUTE_CONVERT;
    return box->block.dst_col == d->dst_width ? TG_ROUTE_GATHER : TG_ROUTE_SCATTER;
}

/* Runs are gathered and written by movers of runs; packed elements are unpacked and packed with that, and other
 * conversions are done on the way out. */
static bool choose_tile_movers(tg_draft *d) {
    const tg_plan_private *p = d->plan;
    tg_box                *box = d->box;
    const tg_encoding      packed = {TG_KIND_BITS, p->dst_bits, p->dst_bits}, bytes = {TG_KIND_BITS, 8, p->dst_bits};
    const bool             pack = d->dst_width == 0, unpack = d->src_width == 0;
    const wish             turn = {.family = TG_FAMILY_TRANSPOSE, .width = box->width};
    const wish             in = {.family = TG_FAMILY_ROWS, .width = 1, .far = p->far};
    const wish             out = {.family = TG_FAMILY_ROWS, .width = 1, .stream = p->stream};
    if (!find_mover(d, &box->mover, &turn)) return false;
    if (pack && unpack)
        return p->dst_bits == p->src_bits && find_convert(d, &box->in, bytes, packed, false, p->far) &&
               find_convert(d, &box->out, packed, bytes, p->stream, false);
    if (unpack)
        return find_convert(d, &box->in, p->dst_encoding, p->src_encoding, false, p->far) &&
               find_mover(d, &box->out, &out);
    if (!find_mover(d, &box->in, &in)) return false;
    return d->converts ? find_convert(d, &box->out, p->dst_encoding, p->src_encoding, p->stream, false)
                       : find_mover(d, &box->out, &out);
}

bool tg_draft_route(tg_draft *d) {
    const tg_plan_private *p = d->plan;
    tg_box                *box = d->box;
    const bool             around = box->family == TG_FAMILY_TRANSPOSE ? p->stream_turned : p->stream;
    const wish             apart = {.family = TG_FAMILY_STRIDED, .width = d->dst_width};
    box->mover = box->in = box->out = TG_NO_MOVER;
    if (box->route == TG_ROUTE_TILE) return choose_tile_movers(d);
    box->route = d->fill ? TG_ROUTE_FILL : route_of(d);
    switch (box->route) {
    case TG_ROUTE_MOVE: return find_own(d, &box->mover, around);
    case TG_ROUTE_CONVERT: return find_convert(d, &box->mover, p->dst_encoding, p->src_encoding, p->stream, p->far);
    case TG_ROUTE_GATHER:
        return find_own(d, &box->in, false) &&
               find_convert(d, &box->mover, p->dst_encoding, p->src_encoding, around, false);
    case TG_ROUTE_SCATTER:
        return find_own(d, &box->in, false) &&
               find_convert(d, &box->mover, p->dst_encoding, p->src_encoding, false, false) &&
               find_mover(d, &box->out, &apart);
    default: return true; /* padding needs none */
    }
}
