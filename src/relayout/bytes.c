/* Boxes of packed elements that no mover takes as they are: which of their loops a block is made of.
 *
 * A block is spread to one byte each, moved as bytes, and joined again (bytes_run.c). Spreading and joining like long
 * lines, so a block is what is one line in dst by as much as is one line in src. A loop may be part of both: 128
 * columns and 8 rows of T(8,128)(8,1) follow each other in dst, and the columns in src as well.
 *
 *     u2[1024,2041] to T(8,128)(8,1), loops (n, dst, src)     lines of dst     of src
 *     8 rows (8, 1, 2041)                                     x
 *     128 columns (128, 8, 1)                                 x                x
 *     15 tiles (15, 1024, 128)                                x                x
 *
 * Two or four rows that take turns and are whole bytes move as such (kernels/turns.c), and with AVX-512 up to eight, of
 * which some may be missing, or which follow each other in columns of 5 to 7 (kernels/eights.c).
 *
 * Where each side has one loop of neighbours, as in a matrix that is transposed, nothing is spread: one mover turns it
 * (kernels/bands.c). On some processors it does so too where all rows are whole bytes.
 *
 * Lines grow in turn until the stage is full; the loop with which a line ends may be cut. In dst, a line may have gaps,
 * of elements that stay as they are: the last row of an odd number in tiles of two rows. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/box.h"
#include "relayout/bytes.h"

enum {
    NONE = TG_NO_LOOP,
    FIRST_LINE = 32,  /* elements: then twice as many, and so on */
    FEW_IN_GAPS = 32  /* one element in so many is still a line */
};

_Static_assert(TG_TILE_LOOPS <= 8, "along_dst and along_src have a bit for each loop");

/* What is a line on one side. */
typedef struct chain {
    uint64_t in;  /* bit i: loop[i] */
    int32_t  top; /* the outermost of them, which may be cut, or NONE */
    bool     in_dst, gaps;
} chain;

typedef struct choice {
    tg_draft *d;
    int32_t   n;   /* loops in the block */
    int32_t   run; /* the loop of neighbours in dst, or NONE */
    int64_t   take[TG_BOX_LOOPS]; /* steps of loop[i] in the block, or 0 */
    chain     dst, src;
} choice;

static int64_t step_of(const choice *c, const chain *s, int32_t i) {
    return s->in_dst ? c->d->loop[i].dst : tg_magnitude(c->d->loop[i].src);
}

/* Padding is behind each run of dst, and behind single elements where there is none. */
static bool has_tail(const choice *c, const chain *s) {
    return s->in_dst && (c->run == NONE || (s->in >> c->run & 1) != 0);
}

/* Elements from the first one of a line to behind its last one, with padding. */
static int64_t length_of(const choice *c, const chain *s) {
    int64_t length = has_tail(c, s) ? 1 + c->d->tail : 1;
    for (uint64_t in = s->in; in != 0; in &= in - 1) {
        const int32_t i = __builtin_ctzll(in);
        length += (c->take[i] - 1) * step_of(c, s, i);
    }
    return length;
}

static int64_t lines_of(const choice *c, const chain *s) {
    int64_t lines = 1;
    for (int32_t i = 0; i < c->d->n; i++)
        if (c->take[i] > 0 && (s->in >> i & 1) == 0) lines *= c->take[i];
    return lines;
}

static bool fits(const choice *c) {
    const int64_t dst = length_of(c, &c->dst), src = length_of(c, &c->src);
    return dst <= TG_LINES_BYTES && src <= TG_LINES_BYTES && c->n <= TG_TILE_LOOPS &&
           lines_of(c, &c->dst) * tg_bytes_pitch(dst) <= TG_LINES_BYTES &&
           (!tg_bytes_staged(c->d, false) || lines_of(c, &c->src) * tg_bytes_pitch(src) <= TG_LINES_BYTES);
}

/* What is in gaps of dst is spread, and is no padding. */
static int64_t longest_step(const choice *c, const chain *s, int64_t length) {
    if (s->in_dst && (c->d->dst_width > 0 || c->d->tail > 0)) return length;
    return length == 1 ? FEW_IN_GAPS : 2 * length;
}

/* The loop that goes on where the line ends, or nearly so. */
static int32_t find_next(const choice *c, const chain *s) {
    const int64_t length = length_of(c, s), most = longest_step(c, s, length);
    int32_t       best = NONE;
    for (int32_t i = 0; i < c->d->n; i++) {
        const int64_t step = step_of(c, s, i);
        if ((s->in >> i & 1) != 0 || step < length || step > most) continue;
        if (best == NONE || step < step_of(c, s, best)) best = i;
    }
    return best;
}

/* So many steps of loop i, if there is room for them. */
static bool set_steps(choice *c, int32_t i, int64_t steps) {
    const int64_t before = c->take[i];
    c->n += before == 0;
    c->take[i] = steps;
    if (fits(c)) return true;
    c->n -= before == 0;
    c->take[i] = before;
    return false;
}

/* So many that the line becomes so long, if the loop has them. */
static int64_t steps_wanted(const choice *c, const chain *s, int32_t i, int64_t length) {
    const int64_t step = step_of(c, s, i), steps = tg_max(c->take[i], 1), most = c->d->loop[i].n;
    const int64_t inside = (s->in >> i & 1) != 0 ? (steps - 1) * step : 0;
    const int64_t missing = tg_max(length - (length_of(c, s) - inside), 0);
    return tg_max(tg_min(tg_ceil_div(missing, step) + 1, most), steps);
}

/* The loop becomes part of the line, with so many steps. */
static bool add_loop(choice *c, chain *s, int32_t i, int64_t length) {
    const chain before = *s;
    s->gaps = s->gaps || step_of(c, s, i) > length_of(c, s);
    const int64_t steps = steps_wanted(c, s, i, length);
    s->in |= (uint64_t)1 << i;
    s->top = i;
    if (set_steps(c, i, steps) || set_steps(c, i, tg_max(c->take[i], 2))) return true;
    *s = before;
    return false;
}

static bool is_cut(const choice *c, int32_t i) { return c->take[i] < c->d->loop[i].n; }

/* Lines of so many elements, if there is room. */
static void grow(choice *c, chain *s, int64_t length) {
    while (length_of(c, s) < length) {
        if (s->top != NONE && is_cut(c, s->top)) {
            if (!set_steps(c, s->top, steps_wanted(c, s, s->top, length)) || is_cut(c, s->top)) return;
            continue;
        }
        const int32_t next = find_next(c, s);
        if (next == NONE || !add_loop(c, s, next, length)) return;
    }
}

/* More lines, where those are all that goes on. */
static void add_lines(choice *c) {
    for (int32_t i = c->d->n; i-- > 0;) {
        if (c->take[i] > 0) continue;
        int64_t steps = c->d->loop[i].n;
        while (steps > 1 && !set_steps(c, i, steps)) steps /= 2;
        if (steps < c->d->loop[i].n) return;
    }
}

/* ---- the box ---- */

static bool is_along(const chain *s, int32_t i) { return i != NONE && (s->in >> i & 1) != 0; }

/* The one that takes steps of so many bytes among bytes on this side. */
static int32_t find_unit(const choice *c, const chain *s, int64_t width) {
    for (int32_t i = 0; i < c->d->n; i++) {
        const int64_t step = s->in_dst ? c->d->loop[i].dst : c->d->loop[i].src;
        if (c->take[i] > 0 && step == width && (is_along(s, i) || !tg_bytes_staged(c->d, s->in_dst))) return i;
    }
    return NONE;
}

/* Do so many bytes move as one wider element? */
static bool is_wider(int64_t n) { return n == 2 || n == 4 || n == 8 || n == 16; }

/* Next in the order of loops. */
static void put(choice *c, int32_t i, int32_t *order) {
    tg_draft *d = c->d;
    for (int32_t k = 0; k < d->ncols; k++)
        if (order[k] == i) return;
    order[d->ncols++] = i;
}

/* A block of bytes: columns, rows and what is around them, and last the elements that are one unit. */
static void order_loops(choice *c, int32_t *order) {
    tg_draft     *d = c->d;
    tg_box       *box = d->box;
    const int32_t run = find_unit(c, &c->dst, 1);
    const bool    is_run = run != NONE && run == find_unit(c, &c->src, 1);
    const bool    unit = is_run && !is_cut(c, run) && is_wider(c->take[run]) && c->n > 1;
    box->width = unit ? (int32_t)c->take[run] : 1;
    d->ncols = 0;
    if (is_run && !unit) {
        box->family = TG_FAMILY_ROWS;
        put(c, run, order);
    } else {
        const int32_t cols = find_unit(c, &c->dst, box->width), rows = find_unit(c, &c->src, box->width);
        box->family = cols != NONE && rows != NONE && cols != rows ? TG_FAMILY_TRANSPOSE : TG_FAMILY_STRIDED;
        if (cols != NONE) put(c, cols, order); /* of the unit's width: not its own loop */
        if (rows != NONE) put(c, rows, order);
    }
    for (int32_t left = c->n; left > 0; left--) { /* the longest ones first */
        int32_t best = NONE;
        for (int32_t i = 0; i < d->n; i++) {
            bool is_in = c->take[i] > 0 && !(unit && i == run);
            for (int32_t k = 0; k < d->ncols; k++) is_in = is_in && order[k] != i;
            if (is_in && (best == NONE || c->take[i] > c->take[best])) best = i;
        }
        if (best != NONE) put(c, best, order);
    }
    if (unit) put(c, run, order);
}

/* Chunks of the same size, all but the last, if those are no whole vectors. */
static void even_chunks(choice *c) {
    enum { VECTOR = 64 };
    for (int32_t i = 0; i < c->d->n; i++) {
        const int64_t n = c->d->loop[i].n;
        if (c->take[i] == 0 || c->take[i] == n || c->take[i] % VECTOR == 0) continue;
        const int64_t even = tg_ceil_div(n, tg_ceil_div(n, c->take[i]));
        c->take[i] = n % 8 == 0 ? tg_min(tg_ceil_div(even, 8) * 8, c->take[i]) : even;
    }
}

/* Loops that are cut count chunks around the blocks; false if there are too many. Padding is behind the last chunk of
 * a run. */
static bool keep_order(choice *c, const int32_t *order) {
    tg_draft     *d = c->d;
    tg_box       *box = d->box;
    tg_block_loop free = TG_BLOCK_OUTER;
    box->along_dst = box->along_src = 0;
    for (int32_t k = 0; k < d->ncols; k++) {
        const int32_t i = order[k];
        tg_loop *const l = &d->loop[i];
        d->cols[k] = *l;
        d->cols[k].n = c->take[i];
        box->along_dst |= (uint8_t)(is_along(&c->dst, i) << k);
        box->along_src |= (uint8_t)(is_along(&c->src, i) << k);
        if (!is_cut(c, i)) {
            tg_draft_take(d, i);
            continue;
        }
        const tg_block_loop which = i == c->run ? TG_BLOCK_COLS : free++;
        if (which == TG_BLOCK_COLS && i != c->run) return false;
        *(which == TG_BLOCK_COLS ? &box->block.cols : which == TG_BLOCK_ROWS ? &box->block.rows : &box->block.outer) =
            c->take[i];
        box->total[which] = l->n;
        d->cols[k].chunks_of = l->chunks_of = (int32_t)which;
        l->n = tg_ceil_div(l->n, c->take[i]);
        l->dst *= c->take[i];
        l->src *= c->take[i];
    }
    return true;
}

/* Does each block write whole bytes of its own? */
static bool is_whole(const choice *c) {
    const tg_draft *d = c->d;
    const int32_t   bits = d->plan->dst_bits;
    if (c->dst.gaps || !tg_is_whole(d->dst, bits) || !tg_is_whole(length_of(c, &c->dst), bits)) return false;
    for (int32_t i = 0; i < d->n; i++) {
        if (is_along(&c->dst, i) && !is_cut(c, i)) continue;
        const int64_t step = is_along(&c->dst, i) ? c->take[i] * d->loop[i].dst : d->loop[i].dst;
        if (!tg_is_whole(step, bits)) return false;
        if (is_along(&c->dst, i) && !tg_is_whole(d->loop[i].n * d->loop[i].dst, bits))
            return false; /* the last chunk */
    }
    return d->tail == 0 || tg_is_whole(d->tail, bits);
}

/* All lines of dst with gaps are spread before the first one is joined: no other line may lie in a gap. */
static bool lines_are_apart(const choice *c) {
    int64_t extent = length_of(c, &c->dst);
    for (int32_t i = c->d->n; i-- > 0 && c->dst.gaps;) { /* by increasing steps in dst */
        const int64_t step = c->d->loop[i].dst;
        if (c->take[i] == 0 || is_along(&c->dst, i)) continue;
        if (step < extent) return false;
        extent += (c->take[i] - 1) * step;
    }
    return true;
}

/* ---- matrices that stay packed ---- */

bool tg_can_spread(const tg_plan_private *p) {
    const tg_encoding *dst = &p->dst_encoding, *src = &p->src_encoding;
    if (p->dst_bits > 8 || p->src_bits > 8) return false;
    return dst->kind == TG_KIND_NONE || (dst->kind == src->kind && dst->value_bits == src->value_bits);
}

static choice choice_of(tg_draft *d) {
    choice c = {.d = d, .run = NONE, .dst = {0, NONE, true, false}, .src = {0, NONE, false, false}};
    for (int32_t i = 0; i < d->n; i++)
        if (d->loop[i].dst == 1) c.run = i;
    return c;
}

static void grow_lines(choice *c) {
    for (int64_t length = FIRST_LINE; length <= TG_LINES_BYTES; length *= 2) {
        grow(c, &c->dst, length);
        grow(c, &c->src, length);
    }
}

/* Is the mover of matrices faster than lines of bytes? With AVX-512; without, for what comes from the third-level cache
 * and is packed on both sides. It is planned three times as fast, too. */
static bool turns_fast(const tg_draft *d) {
    const bool packed = d->plan->src_bits < 8;
    return (d->pair->cpu & TG_CPU_AVX512) != 0 || (packed && d->plan->far);
}

/* A matrix of so many rows and columns at a time, loops `rows` and `cols` of the draft. */
static bool take_matrix(tg_draft *d, int32_t cols, int32_t rows, int64_t most_cols, int64_t most_rows) {
    choice        c = choice_of(d);
    const int32_t order[] = {cols, rows};
    c.n = 2;
    c.take[cols] = tg_min(d->loop[cols].n, most_cols);
    c.take[rows] = tg_min(d->loop[rows].n, most_rows);
    c.dst.in = (uint64_t)1 << cols;
    c.src.in = (uint64_t)1 << rows;
    d->shares = !is_whole(&c);
    d->ncols = 2;
    d->box->family = TG_FAMILY_PACKED;
    d->box->width = 1;
    d->box->block = (tg_block){.outer = 1, .rows = 1, .cols = 1};
    d->box->gaps = false;
    return keep_order(&c, order);
}

/* Of a matrix, one band of rows; or several, where the mover turns regions of these (bands.c), if no step is less than
 * four blocks of each thread, and there are as many in all. Of threads that are not known there may be two. */
static int64_t rows_at_once(const tg_draft *d, int64_t cols, int64_t rows) {
    enum { SHARES = 4 };
    const tg_plan_private *p = d->plan;
    const int64_t          band = tg_band_rows(p->dst_bits, p->src_bits < 8);
    if (!p->stream_turned || p->src_bits == 8 || (d->pair->cpu & TG_CPU_AVX512) == 0 || !tg_has_regions(cols))
        return band;
    const int64_t shares = SHARES * (p->threads > 0 ? p->threads : 2), all = p->threads == 1 ? rows : rows / shares;
    const int64_t room = d->pair->tuning->step_bytes / shares / tg_ceil_div(2 * cols * p->dst_bits, 8);
    return tg_max(tg_min(TG_BANDS_ROWS, tg_min(all, room)) / band, 1) * band;
}

/* Where each side has one loop of neighbours, and src is packed as dst is, or bytes. */
static bool draft_matrix(tg_draft *d) {
    const int32_t bits = d->plan->dst_bits, src_bits = d->plan->src_bits;
    const int32_t cols = tg_draft_find_dst(d, 1), rows = tg_draft_find_src(d, 1);
    if (bits >= 8 || (src_bits != bits && src_bits != 8) || d->tail > 0 || !turns_fast(d)) return false;
    if (cols == NONE || rows == NONE || cols == rows) return false;
    if (d->loop[cols].n < FIRST_LINE || d->loop[rows].n < FIRST_LINE) return false;
    /* All columns: rows are slow to begin and to end. */
    return take_matrix(d, cols, rows, INT64_MAX, rows_at_once(d, d->loop[cols].n, d->loop[rows].n));
}

/* Whole bytes too: where rows of dst begin inside of cache lines, which the mover of whole bytes leaves in parts, and
 * of 4 bits in a cache wherever they begin. But it turns short rows that follow each other all at once. (An Emerald
 * Rapids, x memcpy: s4[1000,536856] to columns 0.26 and 0.40, back 0.31 and 0.55, a 32nd of it 0.48 and 0.66, 0.58 and
 * 0.7; u2[1000,1073712] 0.23 and 0.27, 0.31 and 0.46; at 512 KiB s4[1000,1048] back 0.30 and 0.38, u2[1000,2096] 0.22
 * and 0.25, single bits 0.22 and 0.19; rows of 250 elements, 256 MiB, 0.46 and 0.32. A Zen 4: the first two 0.30 and
 * 0.50, 0.60; s4[1000,1048] back 0.28 and 0.32; u2[1000,1073712] 0.29 and 0.32, 0.45, but u2[1000,2096] 0.30 and 0.23,
 * single bits from memory 0.35 and 0.22.) */
static bool is_for_bands(const tg_draft *d, int32_t cols, int32_t rows) {
    enum { LINE_BITS = 8 * TG_LINE_BYTES, MOST_TURNED = 512 };
    const tg_loop *const c = &d->loop[cols], *const r = &d->loop[rows];
    const int32_t        bits = d->plan->dst_bits, line = LINE_BITS / bits, on = tg_draft_find_src(d, r->n);
    const bool           at_lines = (r->dst & (line - 1)) == 0, far = d->plan->far;
    const bool           sparing = (d->pair->cpu & TG_CPU_SPARING) != 0; /* an Intel */
    if (tg_min(c->n, r->n) < line || (on != NONE && on != cols)) return false;
    if (r->dst == c->n && c->n <= tg_min(8 * TG_STICK_BYTES / bits, MOST_TURNED)) return false;
    if (bits == 4 && !far) return true;
    return !at_lines && (sparing ? bits > 1 || far : bits > 1 && far);
}

/* Do rows of dst begin and end at bytes? */
static bool are_whole_rows(const tg_draft *d, int32_t cols) {
    int64_t places = d->dst | d->loop[cols].n;
    for (int32_t i = 0; i < d->n; i++) places |= i == cols ? 0 : d->loop[i].dst;
    return (places & (8 / d->plan->dst_bits - 1)) == 0;
}

/* As equal as they can be, whole lines of dst. So many lines of src stay in the second-level cache for the next rows:
 * s4[1000,536856] from columns 0.53 of memcpy with 2048 columns, 0.59 with 4096, 0.51 with 16384, 0.46 with all. */
static int64_t columns_at_once(int64_t n, int64_t line) {
    enum { GOOD = 4096 };
    return n < 2 * GOOD ? n : tg_ceil_div(tg_ceil_div(n, n / GOOD), line) * line;
}

bool tg_draft_bands(tg_draft *d) {
    const int32_t bits = d->plan->dst_bits;
    if (bits > 4 || bits != d->plan->src_bits || d->fill || d->converts || d->run > 0 || d->tail > 0) return false;
    if ((d->pair->cpu & TG_CPU_AVX512) == 0) return false;
    const int32_t cols = tg_draft_find_dst(d, 1), rows = tg_draft_find_src(d, 1);
    if (cols == NONE || rows == NONE || cols == rows) return false;
    if (!are_whole_rows(d, cols) || !is_for_bands(d, cols, rows)) return false;
    const int64_t band = tg_band_rows(bits, true), n = columns_at_once(d->loop[cols].n, 8 * TG_LINE_BYTES / bits);
    const int64_t room = 8 * d->pair->tuning->block_bytes_min / bits / n;
    d->loose = take_matrix(d, cols, rows, n, tg_max(room / band, 1) * band);
    return d->loose;
}

static bool draft_lines(tg_draft *d) {
    choice  c = choice_of(d);
    int32_t order[TG_TILE_LOOPS + 1];
    if (!fits(&c)) return false;
    grow_lines(&c);
    if (d->tail > 0 && !has_tail(&c, &c.dst)) return false;
    add_lines(&c);
    even_chunks(&c);
    if (!lines_are_apart(&c)) return false;
    d->box->block = (tg_block){.outer = 1, .rows = 1, .cols = 1};
    order_loops(&c, order);
    const bool whole = is_whole(&c);
    d->box->block.tail = d->tail;
    d->box->block.dst_row = tg_bytes_pitch(length_of(&c, &c.dst));
    d->box->block.src_row = tg_bytes_pitch(length_of(&c, &c.src));
    d->box->gaps = c.dst.gaps;
    if (!keep_order(&c, order)) return false;
    d->shares = d->dst_width == 0 && !whole;
    if (d->shares && c.dst.gaps) d->plan->serial = true; /* what is in them belongs to others */
    return true;
}

/* ---- rows that take turns ---- */

/* The loop of rows, which steps by one element on one side, and that of columns, which does so on the other side and
 * by as many elements as there are rows on this one. */
typedef struct turns {
    int32_t rows, cols;
    bool    back; /* they take turns in src */
} turns;

static int64_t step_in(const tg_loop *l, bool src) { return src ? l->src : l->dst; }

static bool find_turns(turns *t, const tg_draft *d, bool back) {
    t->back = back;
    t->rows = t->cols = NONE;
    for (int32_t i = 0; i < d->n; i++)
        if (step_in(&d->loop[i], back) == 1) t->rows = i;
    if (t->rows == NONE) return false;
    for (int32_t i = 0; i < d->n; i++)
        if (i != t->rows && step_in(&d->loop[i], back) == d->loop[t->rows].n && step_in(&d->loop[i], !back) == 1)
            t->cols = i;
    return t->cols != NONE;
}

/* Are all steps whole bytes but those of columns, and of rows where they take turns? */
static bool is_whole_but(const tg_draft *d, const turns *t) {
    const int32_t bits = d->plan->dst_bits;
    if (!tg_is_whole(d->dst, bits) || !tg_is_whole(d->src, bits)) return false;
    if (!tg_is_whole(d->loop[t->cols].n, bits)) return false;
    for (int32_t i = 0; i < d->n; i++) {
        const bool dst = i == t->cols || (i == t->rows && !t->back), src = i == t->cols || (i == t->rows && t->back);
        if ((!dst && !tg_is_whole(d->loop[i].dst, bits)) || (!src && !tg_is_whole(d->loop[i].src, bits))) return false;
    }
    return true;
}

/* The loop with the shortest steps in dst that is in no block yet. */
static int32_t take_shortest(tg_draft *d) {
    int32_t best = NONE;
    for (int32_t i = 0; i < d->n; i++)
        if (tg_draft_has(d, i) && (best == NONE || d->loop[i].dst < d->loop[best].dst)) best = i;
    if (best != NONE) tg_draft_take(d, best);
    return best;
}

void tg_draft_steps_to_bytes(tg_draft *d) {
    const int32_t bits = d->plan->dst_bits;
    for (int32_t i = 0; i < d->n; i++) {
        d->loop[i].dst = tg_bytes_for(d->loop[i].dst, bits);
        d->loop[i].src = tg_bytes_for(d->loop[i].src, bits);
    }
    d->dst = tg_bytes_for(d->dst, bits);
    d->src = tg_bytes_for(d->src, bits);
}

/* Two loops more, around the columns. */
static void take_loops(tg_draft *d) {
    tg_block *const b = &d->box->block;
    const int32_t   r = take_shortest(d), o = take_shortest(d);
    if (r != NONE) {
        b->rows = d->loop[r].n;
        b->dst_row = d->loop[r].dst;
        b->src_row = d->loop[r].src;
    }
    if (o != NONE) {
        b->outer = d->loop[o].n;
        b->dst_outer = d->loop[o].dst;
        b->src_outer = d->loop[o].src;
    }
}

bool tg_draft_turns(tg_draft *d) {
    const int32_t bits = d->plan->dst_bits;
    turns         t;
    if (d->run > 0 || d->fill || d->converts || d->tail > 0 || bits != d->plan->src_bits) return false;
    if (!find_turns(&t, d, false) && !find_turns(&t, d, true)) return false;
    const int64_t rows = d->loop[t.rows].n;
    if ((rows != 2 && rows != 4) || !is_whole_but(d, &t)) return false;
    tg_draft_take(d, t.rows);
    tg_draft_take(d, t.cols);
    tg_draft_steps_to_bytes(d);
    tg_box *const box = d->box;
    box->family = t.back ? TG_FAMILY_PART : TG_FAMILY_MIX;
    box->width = (int32_t)rows;
    box->gaps = false;
    box->block = (tg_block){.outer = 1, .rows = 1, .cols = tg_bytes_for(d->loop[t.cols].n, bits),
                            .dst_col = d->loop[t.rows].dst, .src_col = d->loop[t.rows].src};
    take_loops(d);
    return true;
}

/* ---- up to eight of them ---- */

enum {
    EIGHT = 8,
    LEAST_DENSE = 5,      /* rows that follow each other; of fewer, words of eight are half empty */
    EIGHTS_BYTES = 4096,  /* of each row at a time: 32 KiB of all */
    LEAST_BYTES = 8,      /* of each row; of 4 they lose to lines that are turned last (0.69 -> 0.40 x memcpy) */
    LEAST_DENSE_BYTES = 32 /* where rows follow each other: of 8 they lose to bytes (0.11 -> 0.06) */
};

/* Turns of so many elements, of which `rows` are there? */
static bool are_turns(int64_t n, int64_t rows) { return n == EIGHT || (n == rows && rows >= LEAST_DENSE); }

/* Do rows along a loop of one side take turns on the other one? Missing ones must be padding in dst. */
static bool find_eights(turns *t, const tg_draft *d, bool back) {
    t->back = back;
    t->rows = t->cols = NONE;
    for (int32_t i = 0; i < d->n; i++) {
        if (step_in(&d->loop[i], back) == 1) t->rows = i;
        else if (step_in(&d->loop[i], !back) == 1) t->cols = i;
    }
    if (t->rows == NONE || t->cols == NONE) return false;
    const int64_t rows = d->loop[t->rows].n, apart = step_in(&d->loop[t->cols], back);
    return rows >= 2 && rows <= EIGHT && are_turns(apart, rows) && d->tail == (back ? 0 : apart - rows);
}

/* Do runs lie eight apart on one side and follow each other on the other one? The run is put among the loops. */
static bool find_padded(turns *t, const tg_draft *d) {
    const int64_t rows = d->run;
    t->back = false;
    t->rows = t->cols = NONE;
    for (int32_t i = 0; i < d->n; i++) {
        const int64_t dst = d->loop[i].dst, src = d->loop[i].src;
        if (tg_min(dst, src) == rows && tg_max(dst, src) == EIGHT) t->cols = i;
    }
    return rows >= LEAST_DENSE && rows < EIGHT && t->cols != NONE && d->tail == d->loop[t->cols].dst - rows;
}

/* Long rows are moved in pieces, which the loop of columns counts. */
static void cut_columns(tg_draft *d, int32_t cols, int64_t dst, int64_t src) {
    tg_box *const box = d->box;
    if (box->block.cols <= EIGHTS_BYTES) return;
    box->total[TG_BLOCK_COLS] = box->block.cols;
    d->loop[cols] = (tg_loop){tg_ceil_div(box->block.cols, EIGHTS_BYTES), dst * EIGHTS_BYTES, src * EIGHTS_BYTES,
                              TG_BLOCK_COLS};
    d->left |= (uint64_t)1 << cols;
    box->block.cols = EIGHTS_BYTES;
}

/* Have rows so few bytes that most of a vector is empty? (Words of turns on both sides: none is.) */
static bool is_brief_for(const turns *t, const tg_draft *d, bool pads) {
    const tg_loop *const cols = &d->loop[t->cols];
    const bool           dense = !pads && step_in(cols, t->back) < EIGHT;
    return tg_bytes_for(cols->n, d->plan->dst_bits) < (dense ? LEAST_DENSE_BYTES : LEAST_BYTES);
}

bool tg_draft_eights(tg_draft *d) {
    const int32_t bits = d->plan->dst_bits;
    turns         t;
    if (d->fill || d->converts || bits > 4 || bits != d->plan->src_bits || (d->pair->cpu & TG_CPU_AVX512) == 0)
        return false;
    const bool pads = d->run > 0;
    if (pads ? !find_padded(&t, d) : !find_eights(&t, d, false) && !find_eights(&t, d, true)) return false;
    if (!is_whole_but(d, &t) || is_brief_for(&t, d, pads)) return false;
    const int64_t rows = pads ? d->run : d->loop[t.rows].n;
    const int64_t dst = pads || !t.back ? d->loop[t.cols].dst : 1, src = pads || t.back ? d->loop[t.cols].src : 1;
    tg_box *const box = d->box;
    box->family = pads ? TG_FAMILY_PAD_EIGHTS : t.back ? TG_FAMILY_PART_EIGHTS : TG_FAMILY_MIX_EIGHTS;
    box->width = (int32_t)rows;
    box->gaps = false;
    if (!pads) tg_draft_take(d, t.rows);
    tg_draft_take(d, t.cols);
    tg_draft_steps_to_bytes(d);
    box->block = (tg_block){.outer = 1, .rows = 1, .cols = tg_bytes_for(d->loop[t.cols].n, bits),
                            .dst_col = !pads && t.back ? d->loop[t.rows].dst : dst,
                            .src_col = !pads && !t.back ? d->loop[t.rows].src : src};
    take_loops(d);
    cut_columns(d, t.cols, dst, src);
    d->run = d->tail = 0;
    return true;
}

bool tg_draft_bytes(tg_draft *d) {
    if (!tg_can_spread(d->plan)) return false;
    if (d->run > 0) d->loop[d->n++] = (tg_loop){d->run, 1, 1, TG_NO_LOOP}; /* where it was */
    d->run = 0;
    d->left = ((uint64_t)1 << d->n) - 1;
    d->loose = draft_matrix(d) || draft_lines(d);
    return d->loose;
}
