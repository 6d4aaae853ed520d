/* Transposes of short runs on both sides, one of them by turns: two transposes, with a stage between them.
 *
 * The channels of an image of 3, next to each other on one side, and the pairs of rows of T(8,128)(2,1) on the other
 * one leave the tile of a single transpose 3 columns and 2 x 128 rows, which are written, or read, one element at a
 * time. But a long loop follows one of the two short ones in memory. It becomes the lines of the stage, and each of the
 * short ones takes its turn with it in a transpose of its own, which movers do fast:
 *
 *     f16[2,3,200,200]{3,2,1,0:T(8,128)(2,1)}                             pairs r, along w
 *     to the stage, lines of w     for each channel c: 2 rows r out of one run
 *     to {1,3,2,0}                 for each row r: 3 channels c into one run
 *
 * Here w follows both. Where it follows only one, the other side has longer runs, of more loops, and lines of the stage
 * are in the order of these, evenly spaced: to {1,3,2,0} from {2,3,1,0:T(8,128)(2,1)}, whose pairs are of w, along h,
 * the first transpose parts pairs to lines of h, in the order of w and then c, and the second one is of all of these by
 * h, which become runs of w and c. Back, the same two transposes are in the other order.
 *
 * Behind the box's loops are those of the first transpose, whose dst is the stage, then those of the second one. Of
 * each come columns and rows first, so that its columns are written, and its rows read, without a gap; the third one
 * is the longest. Blocks are cut along the line (columns of the block), and along one other loop of the stage, the last
 * one that has place (rows of the block). */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/box.h"
#include "relayout/combine.h"

enum {
    LEAST_LINE = 32,  /* bytes of the long loop */
    LEAST_RUN = 8,    /* bytes of the runs of a side where the line does not follow the short loop */
    GOOD_LINE = 128,  /* and then of the line: the runs are made of squares */
    MOST_LOOPS = TG_TILE_LOOPS - 1
};

/* The stage's loops, innermost first; the first one is its lines. */
typedef struct stage_loops {
    int32_t n, index[MOST_LOOPS]; /* in the draft */
    int64_t count[MOST_LOOPS], step[MOST_LOOPS]; /* steps in the stage, bytes */
    int64_t bytes;
    int32_t cut; /* which is taken in chunks, but for the line; or 0 */
} stage_loops;

/* What the stage is to be. */
typedef struct stage_plan {
    int32_t line, inner, outer; /* loops of the draft: the line, and the short ones */
    bool    by_dst;             /* other loops come in the order of dst, else of src */
    bool    apart;              /* outer comes last */
    int64_t most, room;         /* bytes of a line, and of the stage */
} stage_plan;

static void add_loop(stage_loops *s, int32_t index, int64_t count) {
    s->index[s->n] = index;
    s->count[s->n] = count;
    s->step[s->n] = s->bytes;
    s->n++;
    s->bytes *= count;
}

/* As many steps at a time as there is room for, in chunks of the same size, multiples of grain. */
static int64_t chunk_of(int64_t n, int64_t room, int64_t grain) {
    if (n <= room) return n;
    if (room < grain) grain = 1;
    const int64_t even = tg_ceil_div(n, tg_ceil_div(n, room)), whole = tg_ceil_div(even, grain) * grain;
    return whole <= room ? whole : room / grain * grain;
}

/* The next one outwards on the side in whose order the stage is. */
static int32_t find_next(const tg_draft *d, uint64_t left, bool by_dst) {
    int32_t best = TG_NO_LOOP;
    int64_t least = 0;
    for (; left != 0; left &= left - 1) {
        const int32_t i = __builtin_ctzll(left);
        const int64_t step = by_dst ? d->loop[i].dst : tg_magnitude(d->loop[i].src);
        if (step == 0 || (best != TG_NO_LOOP && step > least)) continue;
        best = i;
        least = step;
    }
    return best;
}

static bool is_cut(const tg_draft *d, const stage_loops *s, int32_t i) { return s->count[i] < d->loop[s->index[i]].n; }

/* Other loops, until the stage is full. Where squares are turned, as many that all of them together are whole ones. */
static void add_others(const tg_draft *d, stage_loops *s, const stage_plan *p) {
    const int64_t line = s->count[0] * d->dst_width, most = p->room / (p->apart ? d->loop[p->outer].n : 1);
    uint64_t      left = d->left & ~((uint64_t)1 << p->line | (uint64_t)1 << p->inner | (uint64_t)1 << p->outer);
    while (s->n < MOST_LOOPS - 1 && s->cut == 0) {
        const int32_t i = find_next(d, left, p->by_dst);
        if (i == TG_NO_LOOP || most / s->bytes < 2) break;
        const int64_t run = s->bytes / line * d->dst_width, good = p->by_dst ? GOOD_LINE : TG_LINE_BYTES,
                      grain = good / tg_min(run & -run, good);
        const int64_t chunk = chunk_of(d->loop[i].n, most / s->bytes, p->apart ? 1 : grain);
        left &= ~((uint64_t)1 << i);
        const bool whole = chunk == d->loop[i].n;
        add_loop(s, i,
                 tg_min(whole ? chunk : tg_power_of_two(d->plan, chunk), tg_combined_steps(d->plan, d->loop[i].dst)));
        if (is_cut(d, s, s->n - 1)) s->cut = s->n - 1;
    }
}

/* False if lines would be too short. */
static bool fill_stage(const tg_draft *d, stage_loops *s, const stage_plan *p) {
    const int64_t width = d->dst_width, lines = d->loop[p->inner].n * d->loop[p->outer].n;
    const int64_t n = d->loop[p->line].n;
    int64_t       room = tg_min(p->room / lines, p->most) / width;
    *s = (stage_loops){.bytes = width};
    if (room < tg_min(TG_LINE_BYTES / width, n)) return false;
    room = tg_max(tg_min(room, TG_LINE_BYTES / width), tg_min(room, tg_combined_steps(d->plan, d->loop[p->line].dst)));
    add_loop(s, p->line, chunk_of(n, room, TG_LINE_BYTES / width));
    add_loop(s, p->inner, d->loop[p->inner].n);
    if (!p->apart) add_loop(s, p->outer, d->loop[p->outer].n);
    add_others(d, s, p);
    if (p->apart) add_loop(s, p->outer, d->loop[p->outer].n);
    return true;
}

/* The loops of one transpose; returns how many. Two that both sides walk like one are one, but for what follows one
 * that is cut. `cut`: which has that. */
static int32_t loops_of(tg_loop *out, const tg_draft *d, const stage_loops *s, bool to_stage, const tg_loop **cut) {
    int32_t n = 0;
    for (int32_t i = 0; i < s->n; i++) {
        const tg_loop *l = &d->loop[s->index[i]];
        const tg_loop  next = {s->count[i], to_stage ? s->step[i] : l->dst, to_stage ? l->src : s->step[i], TG_NO_LOOP};
        tg_loop       *last = &out[tg_max(n - 1, 0)];
        if (n > 0 && !is_cut(d, s, i - 1) && last->n * last->dst == next.dst && last->n * last->src == next.src)
            last->n *= next.n;
        else out[n++] = next;
        if (i == s->cut) *cut = &out[n - 1];
    }
    return n;
}

/* Loops i and k change places. */
static void swap(tg_loop *l, int32_t i, int32_t k, int32_t *cut) {
    const tg_loop t = l[i];
    l[i] = l[k];
    l[k] = t;
    if (*cut == i) *cut = k;
    else if (*cut == k) *cut = i;
}

/* Columns first, then rows, then the longest. Returns where the loop is that is cut. */
static int32_t sort_loops(tg_loop *l, int32_t n, int64_t width, int32_t cut) {
    for (int32_t i = 1; i < n; i++)
        if (l[i].dst == width) swap(l, 0, i, &cut);
    for (int32_t i = 2; i < n; i++)
        if (l[i].src == width) swap(l, 1, i, &cut);
    for (int32_t i = 3; i < n; i++)
        if (l[i].n > l[2].n) swap(l, 2, i, &cut);
    return cut;
}

/* The loops of one transpose, and which of them is cut. */
typedef struct turned_loops {
    tg_loop loop[MOST_LOOPS];
    int32_t n, cut;
} turned_loops;

static void make_loops(turned_loops *t, const tg_draft *d, const stage_loops *s, bool to_stage) {
    const tg_loop *cut = t->loop;
    t->n = loops_of(t->loop, d, s, to_stage, &cut);
    t->cut = sort_loops(t->loop, t->n, d->dst_width, (int32_t)(cut - t->loop));
}

static int32_t keep_loops(tg_loop *out, const turned_loops *t) {
    for (int32_t i = 0; i < t->n; i++) out[i] = t->loop[i];
    return t->n;
}

void tg_draft_take_chunks(tg_draft *d, int32_t index, int64_t each, tg_block_loop which) {
    tg_loop *const l = &d->loop[index];
    if (each >= l->n) {
        tg_draft_take(d, index);
        return;
    }
    d->box->total[which] = l->n;
    l->n = tg_ceil_div(l->n, each);
    l->dst *= each;
    l->src *= each;
    l->chunks_of = (int32_t)which;
}

static void set_block(tg_draft *d, const stage_loops *s) {
    tg_box *box = d->box;
    box->block = (tg_block){.outer = 1, .rows = s->cut > 0 ? s->count[s->cut] : 1, .cols = s->count[0]};
    box->route = TG_ROUTE_TWICE;
    box->family = TG_FAMILY_TRANSPOSE;
    box->width = d->dst_width;
    for (int32_t i = 0; i < s->n; i++)
        tg_draft_take_chunks(d, s->index[i], s->count[i], i == 0 ? TG_BLOCK_COLS : TG_BLOCK_ROWS);
}

/* The longer one of the loops that follow the short ones, in src b and in dst a, is the line. */
static bool plan_stage(const tg_draft *d, stage_plan *p, int32_t a, int32_t b) {
    const int64_t width = d->dst_width, writes = d->loop[a].n * width, reads = d->loop[b].n * width;
    const int32_t on_src = tg_draft_find_src(d, reads), on_dst = tg_draft_find_dst(d, writes);
    const int64_t src_line = on_src == TG_NO_LOOP || on_src == a ? 0 : d->loop[on_src].n,
                  dst_line = on_dst == TG_NO_LOOP || on_dst == b ? 0 : d->loop[on_dst].n;
    const bool    by_dst = src_line >= dst_line;
    if (tg_max(src_line, dst_line) * width < LEAST_LINE) return false;
    *p = (stage_plan){by_dst ? on_src : on_dst, by_dst ? a : b, by_dst ? b : a, by_dst, false, GOOD_LINE,
                      TG_TWICE_BYTES};
    const tg_loop *line = &d->loop[p->line];
    if (!by_dst) p->most = 2 * GOOD_LINE;
    if (line->n * width < 2 * p->most) p->most = line->n * width;
    if (on_src != on_dst) return true;
    p->most = p->room = TG_STAGE_BYTES;
    const bool on_in_dst = d->loop[b].dst == line->n * line->dst, on_in_src = d->loop[a].src == line->n * line->src;
    p->apart = on_in_dst || on_in_src;
    if (p->apart) p->by_dst = on_in_dst;
    if (p->apart) p->inner = on_in_dst ? b : a;
    if (p->apart) p->outer = on_in_dst ? a : b;
    return true;
}

bool tg_draft_twice(tg_draft *d, uint64_t left, int32_t a, int32_t b) {
    const int64_t  width = d->dst_width;
    const uint64_t taken = d->left;
    stage_plan     p;
    stage_loops    s;
    turned_loops   in, out;
    d->left = left;
    bool can = d->tail == 0 && plan_stage(d, &p, a, b) && fill_stage(d, &s, &p);
    if (can) {
        make_loops(&in, d, &s, true);
        make_loops(&out, d, &s, false);
        can = (d->loop[p.line].src == d->loop[b].n * width || in.loop[1].n * width >= LEAST_RUN) &&
              (d->loop[p.line].dst == d->loop[a].n * width || out.loop[0].n * width >= LEAST_RUN);
    }
    if (!can) {
        d->left = taken;
        return false;
    }
    d->ncols = keep_loops(d->cols, &in);
    d->nrows = keep_loops(d->rows, &out);
    d->first = d->second = (tg_turn){TG_FAMILY_TRANSPOSE, d->dst_width};
    set_block(d, &s);
    d->box->counted_in = tg_counted_loops(in.cut, 0);
    d->box->counted_out = tg_counted_loops(out.cut, 1);
    return true;
}
