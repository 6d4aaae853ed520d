/* How the blocks of a box get from src to dst, and by which movers.
 *
 *     bits stay the same                 one mover of the family                              move
 *     rows, converted                    one converting mover                                 convert
 *     strided, converted; transposed,    moved into the order of dst, then converted          gather
 *       where src is one walk
 *     the same, dst has no neighbours    moved together, converted, moved apart               scatter
 *     transposed, converted to no more   converted, then transposed                           narrow
 *       bytes
 *     rearranged in runs of up to        by a list of places; short ones into a buffer, and   cells
 *       1024 bytes                         then transposed as wide elements
 *     transposed, several loops on       straight: one mover gets lists of lines and rows     turn
 *       both sides, long runs
 *     transposed, converted; tiles of    gathered, transposed, written; converted or packed   tile
 *       several loops                    on the way
 *     transposed, short runs on both     transposed to lines of a long loop, and once more    twice
 *       sides; units with missing
 *       elements
 *     elements apart on one side, and    gathered to lines and transposed, or back            twice, panel
 *       turned
 *     transposed to short rows that go   lines gathered, with others of padding between them,   lines
 *       on behind padding                  transposed
 *     packed elements that begin inside  spread to bytes, moved, joined; matrices of them     bytes
 *       of bytes                           by one mover
 *     long runs of these                 shifted                                              shift
 *
 * Boxes share their movers. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/box.h"

enum {
    FEW_LINES = 16,
    FIRST_LEVEL = 40 << 10 /* bytes of both sides that stay in the first-level cache */
};

/* ---- movers ---- */

static bool make_mover(tg_mover *out, tg_family family, int32_t width, uint32_t cpu, bool stream, bool far) {
    switch (family) {
    case TG_FAMILY_ROWS: return tg_mover_rows(out, cpu, stream, far);
    case TG_FAMILY_TRANSPOSE: return tg_mover_transpose(out, width, cpu, stream, far);
    case TG_FAMILY_PACKED: return tg_mover_packed(out, width, cpu, stream, far);
    case TG_FAMILY_CELLS: return tg_mover_cells(out, cpu, stream, far);
    case TG_FAMILY_PACKED_CELLS: return tg_mover_packed_cells(out, width, cpu, stream, far);
    case TG_FAMILY_TILES: return tg_mover_tiles(out, width, cpu, stream, far);
    default: return tg_mover_strided(out, width, cpu, stream, far);
    }
}

/* Detours are for what comes from memory, and for a processor with few places for lines on their way also for what
 * reads so many lines side by side that no cache's prefetchers follow. What its third-level cache holds such a one
 * fetches by itself: with more fetches conversions, packed elements, and transposes outside of the pipeline are 0.8 to
 * 0.95 times as fast (an Emerald Rapids). */
TG_INLINE void keep_mover(tg_draft *d, tg_family family, int32_t width) {
    tg_nest        *nest = &d->plan->as.nest;
    const int32_t   i = nest->nmovers++;
    tg_mover *const m = &nest->mover[i];
    nest->family[i] = family;
    nest->width[i] = width;
    m->apart = d->plan->dst_encoding.kind == TG_KIND_NONE && d->dst_width > 0 &&
               d->src_width > 0; /* no stages of its routes but twice, panel */
    m->memory = d->plan->memory;
    if (TG_RARELY(d->plan->memory)) return;
    m->fetches = m->fetches & !m->sparing;
    m->staged = m->staged & m->sparing;
    m->sparing = false;
}

/* A mover that another box has already, or a new one; false if there is none. */
static bool find_mover(tg_draft *d, int32_t *out, tg_family family, int32_t width, bool stream, bool far) {
    tg_nest *nest = &d->plan->as.nest;
    int32_t  i = 0;
    for (; TG_RARELY(i < nest->nmovers); i++) {
        const tg_mover *m = &nest->mover[i];
        if (nest->family[i] == family && nest->width[i] == width && m->stream == stream && m->far == far) break;
    }
    *out = i;
    if (i < nest->nmovers) return true;
    if (TG_RARELY(i == TG_PLAN_MOVERS)) return false;
    if (TG_RARELY(!make_mover(&nest->mover[i], family, width, d->pair->cpu, stream, far))) return false;
    keep_mover(d, family, width);
    return true;
}

static bool find_convert(tg_draft *d, int32_t *out, tg_encoding dst, tg_encoding src, bool stream, bool far) {
    tg_nest *nest = &d->plan->as.nest;
    int32_t  i = 0;
    for (; i < nest->nmovers; i++) {
        const tg_mover *m = &nest->mover[i];
        if (nest->family[i] == TG_FAMILY_CONVERT && m->stream == stream && m->far == far &&
            tg_encoding_same(m->dst, dst) && tg_encoding_same(m->src, src))
            break;
    }
    *out = i;
    if (i < nest->nmovers) return true;
    if (i == TG_PLAN_MOVERS || !tg_mover_convert(&nest->mover[i], dst, src, d->pair->cpu, stream, far)) return false;
    keep_mover(d, TG_FAMILY_CONVERT, 0);
    return true;
}

static bool make_lines(tg_mover *out, tg_family family, tg_encoding packed, tg_encoding bytes, uint32_t cpu) {
    switch (family) {
    case TG_FAMILY_SPREAD: return tg_mover_spread(out, bytes, packed, cpu);
    default: return tg_mover_join(out, packed, bytes, cpu);
    }
}

/* What moves lines of packed elements of either side: spreads them to bytes, or joins them. */
static bool find_lines(tg_draft *d, int32_t *out, tg_family family) {
    const tg_plan_private *p = d->plan;
    tg_nest               *nest = &d->plan->as.nest;
    const int32_t          bits = (int32_t)tg_min(p->dst_bits, p->src_bits);
    const tg_kind          kind = p->dst_encoding.kind == TG_KIND_NONE ? TG_KIND_BITS : p->dst_encoding.kind;
    const tg_encoding      packed = {kind, bits, bits}, bytes = {kind, 8, bits};
    int32_t                i = 0;
    while (i < nest->nmovers && nest->family[i] != family) i++;
    *out = i;
    if (i < nest->nmovers) return true;
    if (i == TG_PLAN_MOVERS) return false;
    if (!make_lines(&nest->mover[i], family, packed, bytes, d->pair->cpu)) return false;
    nest->mover[i].stream = family == TG_FAMILY_JOIN && p->stream_turned;
    keep_mover(d, family, bits);
    return true;
}

/* Elements that lie apart come with the lines that they lie in: of few bytes, much may be far. */
static bool is_far(const tg_draft *d) {
    if (TG_MOSTLY(d->box->family != TG_FAMILY_STRIDED) || d->plan->far) return d->plan->far;
    const int64_t each = tg_touched_bytes(&d->box->block); /* 0 of a broadcast */
    return each > d->box->width && d->pair->numel >= d->pair->tuning->far_bytes / each;
}

/* The one of the box's own family. */
TG_INLINE bool find_own(tg_draft *d, int32_t *out, bool stream) {
    const int32_t width = d->box->family == TG_FAMILY_PACKED ? d->plan->dst_bits : d->box->width;
    return find_mover(d, out, d->box->family, width, stream, is_far(d));
}

/* For dst in the second-level cache, or both sides in the first one, and boxes whose mover writes dst itself; one that
 * is shared with another box's stage asks for lines of that in vain. */
static bool claim_lines(tg_draft *d) {
    const tg_plan_private *p = d->plan;
    tg_mover *const        m = &d->plan->as.nest.mover[d->box->mover];
    const bool             claims = (d->pair->cpu & TG_CPU_CLAIMS) != 0, small = p->bytes <= FIRST_LEVEL;
    const bool             own = m->stream | !(p->far | small);
    m->to_dst = own & ((d->pair->cpu & TG_CPU_AVX512) != 0);
    m->claims = own & claims;
    m->at_hand = small & (claims | (m->dst_width <= 2)); /* a Zen 4: bytes 0.37 -> 0.45 of memcpy, four 0.69 -> 0.54 */
    m->few_pieces = !claims;
    return true;
}

/* Nor do stores into a stage wait long: short rows are put together there as they are in dst (512 KiB, a Granite
 * Rapids, 163 moves of survey.py, together 1.03 times as fast, none less than 0.98; bytes [3,9,320,20,3] {4,3,2,1,0} to
 * {1,3,0,2,4} 0.02 -> 0.08 of memcpy). */
static void into_stage(tg_draft *d, int32_t i) {
    tg_mover *const m = &d->plan->as.nest.mover[i];
    if (d->plan->as.nest.family[i] != TG_FAMILY_TRANSPOSE || m->stream) return;
    m->to_dst = (d->pair->cpu & TG_CPU_AVX512) != 0;
    m->claims = (d->pair->cpu & TG_CPU_CLAIMS) != 0;
}

/* ---- routes ---- */

static tg_route route_of(const tg_draft *d) {
    const tg_box *box = d->box;
    if (TG_MOSTLY(!d->converts)) return TG_ROUTE_MOVE;
    if (box->family == TG_FAMILY_ROWS) return TG_ROUTE_CONVERT;
    if (box->family == TG_FAMILY_TRANSPOSE && d->dst_width <= d->src_width) return TG_ROUTE_NARROW;
    return box->block.dst_col == d->dst_width ? TG_ROUTE_GATHER : TG_ROUTE_SCATTER;
}

/* Runs are gathered and written by movers of runs; packed elements are unpacked and packed with that, and other
 * conversions are done on the way out. Of bytes whose runs one loop counts, the transpose itself reads, or writes, each
 * in its place, unless that is from many lines in memory: those come faster row by row. */
static bool choose_tile_movers(tg_draft *d) {
    const tg_plan_private *p = d->plan;
    tg_box                *box = d->box;
    const tg_encoding      packed = {TG_KIND_BITS, p->dst_bits, p->dst_bits}, bytes = {TG_KIND_BITS, 8, p->dst_bits};
    const bool units = d->unit > 1, pack = !units && d->dst_width == 0, unpack = !units && d->src_width == 0;
    const bool one_walk = d->cols[0].src == box->block.rows * box->width, few = box->block.cols <= FEW_LINES;
    const bool reads = !unpack && d->ncols == 1 && (!p->memory || one_walk || few);
    const bool writes = !reads && !pack && d->nrows == 1 && (unpack || !d->converts);
    const bool whole = tg_bytes_for((box->block.cols + box->block.tail) * d->unit, p->dst_bits) % TG_LINE_BYTES == 0;
    const bool stream = p->stream && whole; /* lines */
    if (!find_mover(d, &box->mover, TG_FAMILY_TRANSPOSE, box->width, writes && p->stream_turned,
                    reads && p->far && few))
        return false;
    if (pack && unpack) {
        const tg_encoding value = {p->dst_encoding.kind, 8, p->dst_encoding.value_bits};
        return find_convert(d, &box->in, d->converts ? value : bytes, d->converts ? p->src_encoding : packed, false,
                            p->far) &&
               find_convert(d, &box->out, packed, bytes, stream, false);
    }
    if (unpack) {
        if (!find_convert(d, &box->in, p->dst_encoding, p->src_encoding, false, p->far)) return false;
    } else if (!reads && !find_mover(d, &box->in, TG_FAMILY_ROWS, 1, false, p->far)) {
        return false;
    }
    if (writes) return claim_lines(d);
    into_stage(d, box->mover);
    return d->converts && !unpack ? find_convert(d, &box->out, p->dst_encoding, p->src_encoding, stream, false)
                                  : find_mover(d, &box->out, TG_FAMILY_ROWS, 1, stream, false);
}

/* Into the stage, and out of it. */
static bool choose_two_movers(tg_draft *d) {
    const tg_plan_private *p = d->plan;
    tg_box                *box = d->box;
    if (!find_mover(d, &box->in, d->first.family, d->first.width, false, p->far)) return false;
    into_stage(d, box->in);
    return find_mover(d, &box->mover, d->second.family, d->second.width, p->stream_turned, false) && claim_lines(d);
}

/* Cells that follow each other on both sides are as good as runs: around the caches where those are. (A Zen 4, 8 MiB, x
 * memcpy, around and into a third-level cache: [65536] of 128 bytes 0.71 and 1.06, [131072] of 64 0.79 and 1.06; but
 * [363,362] of 64, turned, 0.68 and 0.53.) */
static bool choose_cell_movers(tg_draft *d) {
    const tg_plan_private *p = d->plan;
    tg_box                *box = d->box;
    if (box->family == TG_FAMILY_CELLS)
        return find_mover(d, &box->mover, TG_FAMILY_CELLS, 1, box->block.cols > 1 ? p->stream : p->stream_turned,
                          p->far);
    return find_mover(d, &box->in, TG_FAMILY_CELLS, 1, false, p->far) &&
           find_mover(d, &box->mover, TG_FAMILY_TRANSPOSE, box->width, p->stream_turned, false) && claim_lines(d);
}

static bool choose_tiles(tg_draft *d) {
    switch (d->box->route) {
    case TG_ROUTE_TILE: return choose_tile_movers(d);
    case TG_ROUTE_TWICE:
    case TG_ROUTE_PANEL: return choose_two_movers(d);
    case TG_ROUTE_CELLS: return choose_cell_movers(d);
    default:
        return find_mover(d, &d->box->mover, TG_FAMILY_TILES, d->box->width, d->plan->stream_turned, d->plan->far) &&
               claim_lines(d);
    }
}

_Static_assert(TG_FAMILY_PART_EIGHTS - TG_FAMILY_MIX_EIGHTS == TG_EIGHTS_PART - TG_EIGHTS_MIX &&
                   TG_FAMILY_PAD_EIGHTS - TG_FAMILY_MIX_EIGHTS == TG_EIGHTS_PAD - TG_EIGHTS_MIX,
               "families are ways of eights, in their order");

static bool make_turns(tg_mover *out, const tg_draft *d) {
    const tg_plan_private *p = d->plan;
    const tg_box          *box = d->box;
    const uint32_t         cpu = d->pair->cpu;
    if (tg_is_of_eights(box->family))
        return tg_mover_eights(out, p->dst_bits, box->width, (tg_eights)(box->family - TG_FAMILY_MIX_EIGHTS), cpu,
                               p->stream, p->far);
    return tg_mover_turns(out, p->dst_bits, box->width, box->family == TG_FAMILY_PART, cpu, p->stream, p->far);
}

/* Packed rows that take turns. */
static bool choose_turns(tg_draft *d) {
    tg_nest      *nest = &d->plan->as.nest;
    tg_box       *box = d->box;
    const int32_t rows = box->width;
    int32_t       i = 0;
    while (i < nest->nmovers && (nest->family[i] != box->family || nest->width[i] != rows)) i++;
    box->mover = i;
    box->route = TG_ROUTE_MOVE;
    if (i < nest->nmovers) return true;
    if (i == TG_PLAN_MOVERS || !make_turns(&nest->mover[i], d)) return false;
    keep_mover(d, box->family, rows);
    return claim_lines(d);
}

/* Matrices of packed elements that begin anywhere. */
static bool choose_bands(tg_draft *d) {
    const tg_plan_private *p = d->plan;
    tg_nest               *nest = &d->plan->as.nest;
    const tg_encoding      dst = {TG_KIND_BITS, p->dst_bits, p->dst_bits}, src = {p->src_encoding.kind, p->src_bits, 0};
    int32_t                i = 0;
    while (i < nest->nmovers && nest->family[i] != TG_FAMILY_BANDS) i++;
    d->box->mover = i;
    if (i < nest->nmovers) return true;
    if (i == TG_PLAN_MOVERS || !tg_mover_bands(&nest->mover[i], dst, src, d->pair->cpu, p->stream_turned, p->far))
        return false;
    keep_mover(d, TG_FAMILY_BANDS, 1);
    return claim_lines(d);
}

static bool choose_bytes_movers(tg_draft *d) {
    tg_box    *box = d->box;
    if (tg_takes_turns(box)) return choose_turns(d);
    if (box->family == TG_FAMILY_PACKED_CELLS) {
        box->route = TG_ROUTE_CELLS;
        return find_mover(d, &box->mover, box->family, d->plan->dst_bits, d->plan->stream_turned, d->plan->far);
    }
    box->route = TG_ROUTE_BYTES;
    if (box->family == TG_FAMILY_PACKED) return choose_bands(d);
    const bool spreads = d->src_width == 0 || box->gaps, joins = d->dst_width == 0;
    return find_mover(d, &box->mover, box->family, box->width, false, false) &&
           (!spreads || find_lines(d, &box->in, TG_FAMILY_SPREAD)) &&
           (!joins || find_lines(d, &box->out, TG_FAMILY_JOIN));
}

/* Has a transpose rows of less than a stick, padding and all, that go on in the next step of the outer loop? Each is a
 * part of a line in another place of memory; with lines of padding between those of src some steps are one long row.
 * (256 MiB, an Emerald Rapids: rows of nine elements of two bytes and seven of padding 0.20 -> 0.50 of memcpy.) Blocks
 * must be cut (chunk.c), so that there is room for lines of two cache lines. */
static bool leaves_in_lines(const tg_draft *d) {
    const tg_box   *box = d->box;
    const tg_block *b = &box->block;
    const int64_t   n = b->cols + b->tail, row = n * box->width;
    if (!d->plan->far || d->plan->combines || d->converts || box->family != TG_FAMILY_TRANSPOSE) return false;
    if (!tg_pays_to_collect(d->plan, d->pair)) return false;
    if (b->tail == 0 || row >= TG_STICK_BYTES || row % TG_LINE_BYTES == 0 || b->dst_outer != row) return false;
    return b->outer > 1 && !tg_stays_near(d) &&
           tg_spaced_grain(row) * n * tg_spaced_pitch(TG_STICK_BYTES) <= TG_SPACED_BYTES;
}

/* False if the box goes another way. */
TG_OUTLINE bool choose_lines_movers(tg_draft *d) {
    tg_box *const box = d->box;
    if (!leaves_in_lines(d)) return false;
    if (!find_mover(d, &box->mover, TG_FAMILY_TRANSPOSE, box->width, true, false) ||
        !find_mover(d, &box->in, TG_FAMILY_ROWS, 1, false, true)) {
        box->mover = box->in = TG_NO_MOVER;
        return false;
    }
    box->route = TG_ROUTE_LINES;
    return claim_lines(d);
}

/* False if there are too many movers, or none. */
static bool choose_route(tg_draft *d) {
    const tg_plan_private *p = d->plan;
    tg_box                *box = d->box;
    const bool             turned = (box->family == TG_FAMILY_TRANSPOSE) | (box->family == TG_FAMILY_PACKED);
    const bool             around = (turned & p->stream_turned) | (!turned & p->stream);
    box->mover = box->in = box->out = TG_NO_MOVER;
    if (TG_RARELY(d->by_bytes)) return choose_bytes_movers(d);
    if (TG_RARELY(d->ncols > 0)) return choose_tiles(d);
    box->route = TG_RARELY(d->fill) ? TG_ROUTE_FILL : TG_RARELY(d->loose) ? TG_ROUTE_SHIFT : route_of(d);
    if (TG_RARELY(turned & around) && choose_lines_movers(d)) return true;
    if (TG_MOSTLY(box->route == TG_ROUTE_MOVE)) return TG_MOSTLY(find_own(d, &box->mover, around)) && claim_lines(d);
    switch (box->route) {
    case TG_ROUTE_CONVERT:
        return find_convert(d, &box->mover, p->dst_encoding, p->src_encoding, p->stream, p->far) && claim_lines(d);
    case TG_ROUTE_NARROW:
        return find_convert(d, &box->in, p->dst_encoding, p->src_encoding, false, p->far) &&
               find_mover(d, &box->mover, TG_FAMILY_TRANSPOSE, box->width, around, false) && claim_lines(d);
    case TG_ROUTE_GATHER:
        return find_own(d, &box->in, false) &&
               find_convert(d, &box->mover, p->dst_encoding, p->src_encoding, around, false);
    case TG_ROUTE_SCATTER:
        return find_own(d, &box->in, false) &&
               find_convert(d, &box->mover, p->dst_encoding, p->src_encoding, false, false) &&
               find_mover(d, &box->out, TG_FAMILY_STRIDED, d->dst_width, false, false);
    default: return true; /* padding and what is shifted need none */
    }
}
