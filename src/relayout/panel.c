/* Panels: runs of src of a few lines and long runs of dst, through a stage in the second-level cache.
 *
 * Where four loops or more are turned, a block of three, or a tile in the first-level cache, reads or writes parts of
 * lines here and there, and visits each page of memory for a few bytes of it. A panel has the loops that continue src,
 * until 256 bytes follow each other there, and those that continue dst, as far as there is room:
 *
 *     f16[256,4096,8,16]{3,2,0,1} to {3,1,0,2}     runs of 16 elements on both sides, 32 bytes
 *     continues src                                8 of them, 256 bytes
 *     continues dst                                84 of 4096, which are 64 KiB apart in src
 *     the panel                                    84 x 256 bytes of src, 8 runs of 2688 bytes of dst
 *
 * It comes into the stage in the order of dst, as a transpose, or, of runs that no transpose has, as copies, and leaves
 * it by runs, around the caches. That is what route twice (twice.c) does, with runs instead of its second transpose.
 * What the next panel reads is fetched before this one is moved (nest_run.c).
 *
 * A Zen 4, 256 MiB, x memcpy, one thread: the move above 0.31 -> 0.56, [48,24,100,18,63] of two bytes {3,4,2,1,0} to
 * {1,3,0,4,2} 0.28 -> 0.55, bytes in runs of 50 0.6 -> 0.84, of 36 0.47 -> 0.67. The third loop of the transpose is the
 * one with the most steps: with the one that continues src, so that whole lines are read in turn, 100 panels were 0.97
 * times as fast, some of them 0.5. Runs of 512 bytes of src leave too little room for those of dst. Where these are
 * cut, two thirds of what there is room for are faster than all of it (0.96). */
#include "relayout/pass.h"

enum {
    READ_BYTES = TG_CARRIED_READ, /* of a run of src, about, if it has so many */
    WRITE_BYTES = 4096, /* a run of dst that has these takes no more loops */
    LEAST_READ = 128, LEAST_WRITE = 256, /* of either, or it is not worth a panel */
    MOST_LOOPS = TG_TILE_LOOPS - 1
};

/* The loops of a panel: those of a run of dst, innermost first, then the others. */
typedef struct panel {
    int64_t unit; /* bytes of what is neighbours on both sides */
    int32_t n, in_run;
    int32_t index[MOST_LOOPS]; /* in the draft */
    int64_t count[MOST_LOOPS], step[MOST_LOOPS]; /* steps in the panel; bytes in the stage */
    int64_t run, bytes; /* of a run of dst; of all */
} panel;

static int32_t place_of(const panel *p, int32_t index) {
    for (int32_t i = 0; i < p->n; i++)
        if (p->index[i] == index) return i;
    return TG_NO_LOOP;
}

/* The loops that continue src, until a run is long enough. */
static bool read_on(const tg_draft *d, panel *p) {
    int64_t run = p->unit;
    while (run < READ_BYTES) {
        const int32_t i = tg_draft_find_src(d, run);
        if (i == TG_NO_LOOP || place_of(p, i) != TG_NO_LOOP) break;
        if (p->n == MOST_LOOPS - 1) return false;
        const int64_t all = d->loop[i].n, most = tg_ceil_div(READ_BYTES, run);
        const int64_t count = all <= most + most / 2 ? all : tg_pass_chunk(all, most, run);
        p->index[p->n] = i;
        p->count[p->n++] = count;
        p->bytes *= count;
        run *= count;
        if (count < all) break;
    }
    return run >= LEAST_READ;
}

/* Those that continue dst, the others behind them. */
static bool write_on(const tg_draft *d, panel *p) {
    const panel read = *p;
    p->n = 0;
    p->run = p->unit;
    while (p->run < WRITE_BYTES) {
        const int32_t i = tg_draft_find_dst(d, p->run);
        if (i == TG_NO_LOOP) break;
        if (p->n == MOST_LOOPS) return false;
        const int32_t known = place_of(&read, i);
        int64_t       count = known != TG_NO_LOOP ? read.count[known] : d->loop[i].n;
        if (known == TG_NO_LOOP) {
            const int64_t most = tg_min(TG_PANEL_BYTES / p->bytes, tg_ceil_div(WRITE_BYTES, p->run));
            if (most < 2) break;
            if (count > most) count = tg_pass_chunk(count, most * 2 / 3, p->run); /* see above */
            p->bytes *= count;
        }
        p->index[p->n] = i;
        p->step[p->n] = p->run;
        p->count[p->n++] = count;
        p->run *= count;
        if (count < d->loop[i].n) break;
    }
    p->in_run = p->n;
    int64_t step = p->run;
    for (int32_t i = 0; i < read.n; i++) {
        if (place_of(p, read.index[i]) != TG_NO_LOOP) continue;
        if (p->n == MOST_LOOPS) return false;
        p->index[p->n] = read.index[i];
        p->step[p->n] = step;
        p->count[p->n++] = read.count[i];
        step *= read.count[i];
    }
    return p->run >= LEAST_WRITE && p->bytes <= TG_PANEL_BYTES;
}

/* Into the stage, `runs` or elements: columns, rows, the longest loop. False if there are no such. */
static bool bring_in(tg_pass *t, const tg_draft *d, const panel *p, bool runs) {
    if (runs) tg_pass_add(t, TG_NO_LOOP, p->unit, 1, 1);
    for (int32_t i = 0; i < p->n; i++) tg_pass_add(t, i, p->count[i], p->step[i], d->loop[p->index[i]].src);
    for (int32_t i = 1; i < t->n && !runs; i++)
        if (t->loop[i].dst == p->unit) tg_pass_swap(t, 0, i);
    for (int32_t i = 2; i < t->n; i++)
        if (t->loop[i].src == p->unit) tg_pass_swap(t, 1, i);
    tg_pass_longest_first(t, 2);
    return t->n >= 2 && (runs || (t->loop[0].dst == p->unit && t->loop[1].src == p->unit));
}

static void leave_by_runs(tg_pass *t, const tg_draft *d, const panel *p) {
    tg_pass_add(t, p->in_run - 1, p->run, 1, 1);
    for (int32_t i = p->in_run; i < p->n; i++) tg_pass_add(t, i, p->count[i], d->loop[p->index[i]].dst, p->step[i]);
    tg_pass_longest_first(t, 1);
}

/* Which loops of the panel columns and rows of the block count: the last one of its runs, and one other. False if more
 * are cut. */
static bool find_cuts(const tg_draft *d, const panel *p, int32_t *by_cols, int32_t *by_rows) {
    *by_cols = *by_rows = TG_NO_LOOP;
    for (int32_t i = 0; i < p->n; i++) {
        if (p->count[i] == d->loop[p->index[i]].n) continue;
        int32_t *const by = i < p->in_run ? by_cols : by_rows;
        if (*by != TG_NO_LOOP || (by == by_cols && i < p->in_run - 1)) return false;
        *by = i;
    }
    return true;
}

static void set_block(tg_draft *d, const panel *p, const tg_pass *in, const tg_pass *out, int32_t by_cols,
                      int32_t by_rows) {
    tg_box *const box = d->box;
    box->block = (tg_block){.outer = 1, .rows = by_rows == TG_NO_LOOP ? 1 : p->count[by_rows],
                            .cols = by_cols == TG_NO_LOOP ? 1 : p->count[by_cols]};
    box->route = TG_ROUTE_PANEL;
    box->family = TG_FAMILY_TRANSPOSE;
    box->width = d->dst_width;
    box->counted_in = tg_counted_loops(tg_pass_find(in, by_rows), tg_pass_find(in, by_cols));
    box->counted_out = tg_counted_loops(tg_pass_find(out, by_rows), 0);
    for (int32_t i = 0; i < p->n; i++)
        tg_draft_take_chunks(d, p->index[i], p->count[i], i == by_cols ? TG_BLOCK_COLS : TG_BLOCK_ROWS);
}

/* All runs are of the same length, without padding, and stay as they are. From memory: in a third-level cache of a Zen
 * 4, 8 MiB, they are 0.76 times as fast as what else there is, with 64 MiB 1.25 times. */
static bool can_be_panel(const tg_draft *d) {
    const bool whole = d->dst_width > 0 && d->src_width > 0 && !d->converts && !d->loose;
    if (!tg_turns_around(d->plan) || d->plan->bytes / 2 < d->pair->tuning->memory_bytes) return false;
    return whole && !d->plan->combines && d->tail == 0 && d->wide_tail == 0 && d->last == 0;
}

bool tg_draft_panel(tg_draft *d, uint64_t left) {
    const uint64_t taken = d->left;
    const int64_t  unit = tg_max(d->run, 1) * d->dst_width;
    const bool     runs = !tg_can_be_turned(unit, d->pair->cpu);
    panel          p = {.unit = unit, .bytes = unit};
    tg_pass        in = {.loop = d->cols}, out = {.loop = d->rows};
    int32_t        by_cols, by_rows;
    if (!can_be_panel(d)) return false;
    d->left = left;
    if (unit >= READ_BYTES || !read_on(d, &p) || !write_on(d, &p) || p.n == p.in_run || !bring_in(&in, d, &p, runs) ||
        !find_cuts(d, &p, &by_cols, &by_rows)) {
        d->left = taken;
        return false;
    }
    leave_by_runs(&out, d, &p);
    d->ncols = in.n;
    d->nrows = out.n;
    d->first = runs ? (tg_turn){TG_FAMILY_ROWS, 1} : (tg_turn){TG_FAMILY_TRANSPOSE, (int32_t)unit};
    d->second = (tg_turn){TG_FAMILY_ROWS, 1};
    set_block(d, &p, &in, &out, by_cols, by_rows);
    return true;
}
