/* Elements that lie apart on one side, every second or third of a line, and are turned on the way: through a stage.
 *
 * Whole vectors of them are moved along the loop where they are neighbours on the other side (kernels/strided.c). Where
 * that is another loop, each element would be a load and a store. But lines of them can be gathered, and what lies in
 * the stage then is turned as if src had no gaps:
 *
 *     f16[1928,136] strides=[3,5785]          rows r, 6 bytes from element to element
 *     to the stage, lines of r                one for each column c, 64 at a time
 *     to {1,0:T(8,128)(2,1)}                  pairs of r, along c: a transpose of elements of 4 bytes
 *
 * Back, elements are turned into the stage, and its lines are scattered. That is what route twice (twice.c) does, with
 * a gather, or a scatter, for one of its transposes.
 *
 * Where two or four lines take turns in src, and as many others in dst, as in tiles of (2,1) whose rows become columns,
 * what lies between the elements of one line are those of the others. Then all of these are parted, or joined, by a
 * transpose:
 *
 *     bf16[512,512]{0,1:T(8,128)(2,1)}        pairs of columns c, along rows r
 *     to the stage, lines of r                two of each pair
 *     to {1,0:T(8,128)(2,1)}                  pairs of r, along c: a transpose of elements of 4 bytes */
#include "relayout/pass.h"

enum {
    LINE_BYTES = 256, /* of a line in the stage, about, if it has so many */
    RUN_BYTES = 256,  /* of a run on the other side */
    VECTOR = 64,      /* bytes */
    MOST_LOOPS = TG_TILE_LOOPS - 1
};

/* The loops of a stage: those of its lines, innermost first, then the others. */
typedef struct apart {
    bool    on_src; /* lines lie apart in src, and runs are dst's; or the other way round */
    int32_t inside; /* the loop of lines that take turns with each other, or TG_NO_LOOP */
    int32_t n, in_line;
    int32_t index[MOST_LOOPS]; /* in the draft */
    int64_t count[MOST_LOOPS], step[MOST_LOOPS]; /* in the stage, bytes */
    int64_t line, pitch; /* bytes of a line, and from line to line */
    int64_t lines;
} apart;

static int32_t place_of(const apart *a, int32_t index) {
    for (int32_t i = 0; i < a->n; i++)
        if (a->index[i] == index) return i;
    return TG_NO_LOOP;
}

static bool is_cut(const tg_draft *d, const apart *a, int32_t i) { return a->count[i] < d->loop[a->index[i]].n; }

static int64_t step_of(const tg_draft *d, int32_t i, bool src) { return src ? d->loop[i].src : d->loop[i].dst; }

static int32_t find(const tg_draft *d, bool src, int64_t step) {
    return src ? tg_draft_find_src(d, step) : tg_draft_find_dst(d, step);
}

static void add(apart *a, int32_t index, int64_t count, int64_t step) {
    a->index[a->n] = index;
    a->count[a->n] = count;
    a->step[a->n++] = step;
}

/* The loop of the smallest step on a side, but for a->inside: if all that lies between elements is inside, or, where
 * nothing is, if it is near enough for vectors. */
static int32_t nearest_apart(const tg_draft *d, const apart *a) {
    const int64_t width = d->dst_width;
    int32_t       best = TG_NO_LOOP;
    for (uint64_t left = d->left; left != 0; left &= left - 1) {
        const int32_t i = __builtin_ctzll(left);
        const int64_t step = tg_magnitude(step_of(d, i, a->on_src));
        if (i == a->inside) continue;
        if (step <= width) return TG_NO_LOOP;
        if (best == TG_NO_LOOP || step < tg_magnitude(step_of(d, best, a->on_src))) best = i;
    }
    if (best == TG_NO_LOOP) return best;
    const int64_t step = tg_magnitude(step_of(d, best, a->on_src));
    if (a->inside != TG_NO_LOOP) return step == d->loop[a->inside].n * width ? best : TG_NO_LOOP;
    return step <= TG_NEAR_STEP && step * (VECTOR / width) <= TG_SPREAD_VECTORS * VECTOR ? best : TG_NO_LOOP;
}

/* From the near loop on, those that go on where the ones before end. */
static bool take_line(const tg_draft *d, apart *a) {
    const int64_t width = d->dst_width;
    int32_t       i = nearest_apart(d, a);
    if (i == TG_NO_LOOP) return false;
    const int64_t step = step_of(d, i, a->on_src);
    const int64_t enough = a->inside == TG_NO_LOOP ? LINE_BYTES : TG_STICK_BYTES;
    int64_t       elements = 1;
    while (i != TG_NO_LOOP && elements * width < enough) {
        if (a->n == MOST_LOOPS - 1) return false;
        const int64_t all = d->loop[i].n, most = LINE_BYTES / width / elements;
        if (most < 2) break;
        const int64_t count = all <= most + most / 2 ? all : tg_pass_chunk(all, most, elements * width);
        add(a, i, count, elements * width);
        elements *= count;
        if (count < all) break;
        i = find(d, a->on_src, elements * step);
    }
    a->in_line = a->n;
    a->line = elements * width;
    a->pitch = a->line <= VECTOR ? a->line : tg_spaced_pitch(a->line);
    return elements >= TG_SPREAD_ROW;
}

/* The loops of a run on the other side; those that lines have are in the stage already. */
static bool take_run(const tg_draft *d, apart *a, int64_t room) {
    int64_t run = d->dst_width;
    a->lines = 1;
    if (a->inside != TG_NO_LOOP) {
        add(a, a->inside, d->loop[a->inside].n, a->pitch);
        a->lines = d->loop[a->inside].n;
    }
    for (;;) {
        const int32_t i = find(d, !a->on_src, run);
        if (i == TG_NO_LOOP) break;
        const int32_t known = place_of(a, i);
        int64_t       count = known == TG_NO_LOOP ? d->loop[i].n : a->count[known];
        if (known == TG_NO_LOOP) {
            const int64_t most = tg_min(room / (a->pitch * a->lines), tg_ceil_div(RUN_BYTES, run));
            if (most < 2 || a->n == MOST_LOOPS) break;
            if (count > most) count = tg_pass_chunk(count, most, run);
            add(a, i, count, a->pitch * a->lines);
            a->lines *= count;
        } else if (known == 0 && run == d->dst_width && count * run >= tg_min(VECTOR, TG_SPREAD_ROW * d->dst_width)) {
            return false; /* neighbours here: no stage is needed */
        }
        run *= count;
        if (count < d->loop[i].n || run >= RUN_BYTES) break;
    }
    return run > d->dst_width && a->lines > 1;
}

/* ---- the passes ---- */

/* Along the lines: a gather, or a scatter; or a transpose of those that take turns. */
static tg_turn pass_lines(tg_pass *t, const tg_draft *d, const apart *a) {
    const int64_t width = d->dst_width, step = step_of(d, a->index[0], a->on_src);
    tg_pass_add(t, a->in_line - 1, a->line / width, a->on_src ? width : step, a->on_src ? step : width);
    for (int32_t i = a->in_line; i < a->n; i++) {
        const tg_loop *const l = &d->loop[a->index[i]];
        tg_pass_add(t, i, a->count[i], a->on_src ? a->step[i] : l->dst, a->on_src ? l->src : a->step[i]);
    }
    if (a->inside == TG_NO_LOOP) {
        tg_pass_longest_first(t, 1);
        return (tg_turn){TG_FAMILY_STRIDED, d->dst_width};
    }
    if (!a->on_src) tg_pass_swap(t, 0, 1);
    tg_pass_longest_first(t, 2);
    return (tg_turn){TG_FAMILY_TRANSPOSE, d->dst_width};
}

/* The loop that takes such steps, 0: any; or TG_NO_LOOP. */
static int32_t find_in(const tg_pass *t, int64_t dst, int64_t src) {
    for (int32_t i = 0; i < t->n; i++)
        if ((dst == 0 || t->loop[i].dst == dst) && (src == 0 || t->loop[i].src == src)) return i;
    return TG_NO_LOOP;
}

/* Loops that both sides walk like one become one; false if there are none left. */
static bool fuse(tg_pass *t, const tg_draft *d, const apart *a) {
    for (int32_t i = 0; i < t->n; i++)
        for (int32_t k = 0; k < t->n; k++) {
            const tg_loop *const in = &t->loop[i], *const out = &t->loop[k];
            if (i == k || is_cut(d, a, t->of[i]) || in->n * in->dst != out->dst || in->n * in->src != out->src)
                continue;
            t->loop[i].n *= out->n;
            t->of[i] = t->of[k];
            tg_pass_swap(t, k, t->n - 1);
            t->n--;
            return true;
        }
    return false;
}

/* Between the stage and the side that has neighbours: a transpose of what stays together. */
static bool pass_runs(tg_pass *t, tg_turn *turn, const tg_draft *d, const apart *a) {
    int64_t unit = d->dst_width;
    for (int32_t i = 0; i < a->n; i++) {
        const tg_loop *const l = &d->loop[a->index[i]];
        tg_pass_add(t, i, a->count[i], a->on_src ? l->dst : a->step[i], a->on_src ? a->step[i] : l->src);
    }
    while (fuse(t, d, a)) {}
    const int32_t run = find_in(t, unit, unit);
    if (run != TG_NO_LOOP) {
        unit *= t->loop[run].n;
        if (is_cut(d, a, t->of[run]) || !tg_can_be_turned(unit, d->pair->cpu)) return false;
        tg_pass_swap(t, run, t->n - 1);
        t->n--;
    }
    const int32_t cols = find_in(t, unit, 0), rows = find_in(t, 0, unit);
    if (cols == TG_NO_LOOP || rows == TG_NO_LOOP) return false;
    tg_pass_swap(t, 0, cols);
    tg_pass_swap(t, 1, rows == 0 ? cols : rows);
    tg_pass_longest_first(t, 2);
    *turn = (tg_turn){TG_FAMILY_TRANSPOSE, (int32_t)unit};
    return true;
}

static void set_block(tg_draft *d, const apart *a, const tg_pass *in, const tg_pass *out, bool panel) {
    tg_box *const box = d->box;
    const int32_t last = a->in_line - 1, by_cols = is_cut(d, a, last) ? last : TG_NO_LOOP,
                  by_rows = is_cut(d, a, a->n - 1) ? a->n - 1 : TG_NO_LOOP;
    box->block = (tg_block){.outer = 1, .rows = by_rows == TG_NO_LOOP ? 1 : a->count[by_rows],
                            .cols = by_cols == TG_NO_LOOP ? 1 : a->count[by_cols]};
    box->route = panel ? TG_ROUTE_PANEL : TG_ROUTE_TWICE;
    box->family = TG_FAMILY_TRANSPOSE;
    box->width = d->dst_width;
    box->counted_in = tg_counted_loops(tg_pass_find(in, by_rows), tg_pass_find(in, by_cols));
    box->counted_out = tg_counted_loops(tg_pass_find(out, by_rows), tg_pass_find(out, by_cols));
    for (int32_t i = 0; i < a->n; i++)
        tg_draft_take_chunks(d, a->index[i], a->count[i], i == by_cols ? TG_BLOCK_COLS : TG_BLOCK_ROWS);
}

/* Is that better than single elements along three loops? Where these leave runs short: of one and two bytes because
 * there is a fourth one; of four up to a line, and of sticks, but not back into a cache, and never of eight. (A Granite
 * Rapids, x memcpy, 512 KiB: f16[1928,136] strides=[3,5785] to T(8,128)(2,1) 0.08 -> 0.70, f32[4,32768]
 * strides=[65537,2] to {0,1} 0.22 -> 0.44, but 30 us -> 49 us back, and with runs of 20 or 24 to a dst that begins
 * inside of a line 29 us -> 56 us; f64[3,20000] 30 us -> 33 us; 8 MiB: bytes [39569,212] of T(8,128)(4,1) to
 * strides=[3,118771] 0.17 -> 0.44; 128 MiB: f32[131072,256] of T(4,128) to strides=[3,393216] 0.05 -> 0.17.) From
 * memory where runs are at most RUN_BYTES, or elements of four (256 MiB, 43 moves, together 1.12 times as fast, from
 * 0.83 to 2.7; f32[253240,265] strides=[2,506485] to T(8,128) 0.26 -> 0.43; with longer runs 0.7 to 1 times). */
static bool pays(const tg_draft *d, const apart *a) {
    enum { WORD = 4, SHORT_RUN = 32 }; /* bytes */
    const int64_t width = d->dst_width, run = d->loop[find(d, !a->on_src, width)].n * width;
    if (d->plan->memory && (width == WORD || run <= RUN_BYTES)) return true;
    if (width == WORD && !a->on_src) return run <= TG_STICK_BYTES && tg_turns_around(d->plan);
    if (width == WORD) return run <= TG_LINE_BYTES || run == TG_STICK_BYTES;
    return width < WORD && run < SHORT_RUN && a->n > 3;
}

static bool draft(tg_draft *d, apart a) {
    const bool panel = tg_turns_around(d->plan) && !d->plan->combines, /* one large buffer on the stack is enough */
               turns = a.inside != TG_NO_LOOP;
    tg_pass    in = {.loop = d->cols}, out = {.loop = d->rows};
    tg_turn    between;
    if (!take_line(d, &a) || !take_run(d, &a, panel ? TG_PANEL_BYTES : TG_TWICE_BYTES)) return false;
    if (!turns && !pays(d, &a)) return false;
    const tg_turn lines = pass_lines(a.on_src ? &in : &out, d, &a);
    if (!pass_runs(a.on_src ? &out : &in, &between, d, &a) || (turns && between.width <= d->dst_width)) return false;
    d->first = a.on_src ? lines : between;
    d->second = a.on_src ? between : lines;
    d->ncols = in.n;
    d->nrows = out.n;
    set_block(d, &a, &in, &out, panel);
    return true;
}

static bool can_be_apart(const tg_draft *d) {
    return (d->pair->cpu & TG_CPU_AVX512) != 0 && !d->converts && d->tail == 0 && d->dst_width > 0 &&
           d->src_width > 0 && d->dst_width <= 4;
}

bool tg_draft_apart(tg_draft *d) {
    return can_be_apart(d) && (draft(d, (apart){.on_src = true, .inside = TG_NO_LOOP}) ||
                               draft(d, (apart){.on_src = false, .inside = TG_NO_LOOP}));
}

/* Else such elements are cells, of 8 or 16 bytes, which are turned one by one where they do not follow each other on
 * both sides, along one loop of each: a few of them in tiles. (A Granite Rapids, x memcpy, as cells and so:
 * bf16[512,512] above 512 KiB 0.05 and 0.46, 8 MiB [512,8192] 0.43 and 0.57, 128 MiB [280,239674] 0.38 and 0.83;
 * u8[256,2048] of (4,1) 0.11 and 0.30, 8 MiB 0.27 and 0.51; but along long loops, f16[2,2,3000,4000] {0,1,2,3} to
 * {1,0,3,2} 0.89 and 0.76, and images of 3 channels 0.41 and 0.30.) */
bool tg_draft_turns_both(tg_draft *d, int32_t a, int32_t b) {
    const int64_t to = d->loop[a].n, from = d->loop[b].n, cell = to * from * d->dst_width; /* at most 128 bytes */
    if (!can_be_apart(d) || (to != 2 && to != 4) || (from != 2 && from != 4)) return false;
    const int32_t on_dst = tg_draft_find_dst(d, cell), on_src = tg_draft_find_src(d, cell);
    if (on_dst == TG_NO_LOOP || on_src == TG_NO_LOOP || on_dst == on_src) return false;
    if (tg_min(d->loop[on_dst].n, d->loop[on_src].n) * cell >= TG_LINE_BYTES) return false;
    return draft(d, (apart){.on_src = true, .inside = b}) || draft(d, (apart){.on_src = false, .inside = a});
}
