/* Transposes of units of which elements are missing: two of them, with a stage between.
 *
 * Three channels of an image take turns with a fourth one, which is padding, in T(8,128)(4,1), and src goes on along
 * neither of both loops that follow in dst. A transpose of single elements would write 3 bytes here and 3 bytes there
 * (512 KiB, x memcpy, u8[2,128,128,3]{1,3,2,0} to {2,3,1,0:T(8,128)(4,1)}: 0.02, back 0.10). Units with all of their
 * elements are turned as fast as any element of their width:
 *
 *     u8[8,224,224,3]{1,3,2,0}           channels c, along y
 *     to the stage, units by y           for each x: c, and padding behind it, into one run
 *     to {2,3,1,0:T(8,128)(4,1)}         units x, along y
 *
 * Back, what stands in src where an element is missing goes with the others, and stays in the stage. To dst, a unit may
 * have a single element, the last one of an odd number of rows of T(8,128)(2,1); back, one alone is faster as it is.
 *
 * Loops are those of twice.c: behind the box's loops come those of the first transpose, then those of the second
 * one; columns of the block count units, rows of the block the other loop. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/box.h"

enum {
    LEAST_BYTES = 32, /* of the loop that src (or, back, dst) goes along */
    LEAST_UNITS = 8,
    GOOD_BYTES = 512, /* of units that are neighbours */
    MOST_UNIT = 16    /* bytes: as wide as elements are */
};

/* Loops of the draft, and how much of them is a block. */
typedef struct unit_plan {
    int32_t members, line, units; /* elements of a unit, or none; along it elements are neighbours; from unit to unit */
    int64_t bytes;                /* of a unit */
    int64_t lines, count;         /* steps of a block */
} unit_plan;

static bool is_width(int64_t bytes) { return bytes == 2 || bytes == 4 || bytes == 8 || bytes == MOST_UNIT; }

/* Both are long, and the stage has place for enough of both. */
static bool fill_stage(const tg_draft *d, unit_plan *p) {
    const int64_t n = d->loop[p->line].n, units = d->loop[p->units].n;
    if (n * d->dst_width < LEAST_BYTES || units < LEAST_UNITS) return false;
    p->count = tg_min(units, GOOD_BYTES / p->bytes);
    p->lines = tg_min(n, TG_TWICE_BYTES / (p->count * p->bytes));
    return true;
}

static void set_block(tg_draft *d, const unit_plan *p) {
    tg_box *const box = d->box;
    box->block = (tg_block){.outer = 1, .rows = p->lines, .cols = p->count};
    box->route = TG_ROUTE_TWICE;
    box->family = TG_FAMILY_TRANSPOSE;
    box->width = d->dst_width;
    if (p->members != TG_NO_LOOP) tg_draft_take(d, p->members);
    tg_draft_take_chunks(d, p->line, p->lines, TG_BLOCK_ROWS);
    tg_draft_take_chunks(d, p->units, p->count, TG_BLOCK_COLS);
}

static tg_loop loop_of(int64_t n, int64_t dst, int64_t src) { return (tg_loop){n, dst, src, TG_NO_LOOP}; }

/* Units of a block lie in the stage along the line, then from unit to unit. */
static int64_t stage_step(const unit_plan *p) { return p->lines * p->bytes; }

/* ---- to units with padding ---- */

static bool plan_padded(const tg_draft *d, unit_plan *p, int32_t members, int32_t line) {
    const int64_t n = members == TG_NO_LOOP ? 1 : d->loop[members].n;
    p->bytes = (n + d->tail) * d->dst_width;
    if (!is_width(p->bytes)) return false;
    p->members = members;
    p->line = line;
    p->units = tg_draft_find_dst(d, p->bytes);
    return p->units != TG_NO_LOOP && p->units != line && fill_stage(d, p);
}

bool tg_draft_padded_units(tg_draft *d, int32_t a, int32_t b) {
    unit_plan p;
    if (b == TG_NO_LOOP || !plan_padded(d, &p, a, b)) return false;
    const tg_loop line = d->loop[b], units = d->loop[p.units];
    const int64_t width = d->dst_width;
    d->first = a == TG_NO_LOOP ? (tg_turn){TG_FAMILY_ROWS, 1} : (tg_turn){TG_FAMILY_TRANSPOSE, d->dst_width};
    d->second = (tg_turn){TG_FAMILY_TRANSPOSE, (int32_t)p.bytes};
    d->cols[0] = a == TG_NO_LOOP ? loop_of(width, 1, 1) : loop_of(d->loop[a].n, width, d->loop[a].src);
    d->cols[1] = loop_of(p.lines, p.bytes, width);
    d->cols[2] = loop_of(p.count, stage_step(&p), units.src);
    d->rows[0] = loop_of(p.count, p.bytes, stage_step(&p));
    d->rows[1] = loop_of(p.lines, line.dst, p.bytes);
    d->ncols = 3;
    d->nrows = 2;
    set_block(d, &p);
    d->box->counted_in = tg_counted_loops(1, 2);
    d->box->counted_out = tg_counted_loops(1, 0);
    return true;
}

/* ---- from units that have more than is wanted ---- */

/* Bytes of src from where the first slab begins to where the last one does: the draft has the loops of one. */
static int64_t reach_of_slabs(const tg_nest *nest) {
    const tg_slabs *w = &nest->slabs;
    int64_t         reach = 0;
    for (int32_t i = 0; i < w->nloops; i++) {
        const tg_loop *l = &nest->loop[i];
        if (l->src <= 0) continue;
        if (i == w->nloops - 1) reach += (w->total - w->steps) * w->src_step;
        else if (i == w->across) reach += (w->total_parts - w->parts) * tg_parts_of_slab(nest).src;
        else reach += (l->n - 1) * l->src;
    }
    return reach;
}

/* Are all places of whole units in src's storage? The draft has all loops of the box, around its blocks, too, but those
 * of slabs. */
static bool reads_inside(const tg_draft *d, const unit_plan *p) {
    int64_t end = d->src + p->bytes + reach_of_slabs(&d->plan->as.nest), storage;
    for (int32_t i = 0; i < d->n; i++)
        if (i != p->members && d->loop[i].src > 0)
            end += (d->loop[i].n - 1) * d->loop[i].src; /* fits: a place of src */
    return tg_mul(&storage, d->pair->src->span, d->src_width) && end <= storage;
}

static bool plan_parted(const tg_draft *d, unit_plan *p, int32_t line, int32_t members) {
    const int64_t wanted = d->loop[members].n * d->src_width;
    p->members = members;
    p->line = line;
    p->units = TG_NO_LOOP;
    p->bytes = 0;
    for (int64_t bytes = MOST_UNIT; bytes > wanted; bytes /= 2) {
        const int32_t units = tg_draft_find_src(d, bytes);
        if (units == TG_NO_LOOP) continue;
        p->bytes = bytes;
        p->units = units;
    }
    return p->units != TG_NO_LOOP && p->units != line && fill_stage(d, p) && reads_inside(d, p);
}

bool tg_draft_parted_units(tg_draft *d, int32_t a, int32_t b) {
    unit_plan p;
    if (!plan_parted(d, &p, a, b)) return false;
    const tg_loop line = d->loop[a], units = d->loop[p.units], members = d->loop[b];
    const int64_t width = d->src_width, step = stage_step(&p);
    d->first = (tg_turn){TG_FAMILY_TRANSPOSE, (int32_t)p.bytes};
    d->second = (tg_turn){TG_FAMILY_TRANSPOSE, d->src_width};
    d->cols[0] = loop_of(p.lines, p.bytes, line.src);
    d->cols[1] = loop_of(p.count, step, p.bytes);
    d->rows[0] = loop_of(p.lines, width, p.bytes);
    d->rows[1] = loop_of(members.n, members.dst, width);
    d->rows[2] = loop_of(p.count, units.dst, step);
    d->ncols = 2;
    d->nrows = 3;
    set_block(d, &p);
    d->box->counted_in = tg_counted_loops(0, 1);
    d->box->counted_out = tg_counted_loops(0, 2);
    return true;
}
