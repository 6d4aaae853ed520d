/* Blocks that pass through a stage in the first-level cache, because no one mover can take them from src to dst.
 *
 * gather    moved together in the order of dst, then converted run by run
 * scatter   moved together, converted, moved apart: where neighbours of dst are far from each other
 * narrow    converted along the lines of src, to no more bytes, then transposed: gather the other way round; short
 *           cells too, which are rearranged along the lines of src (cells_run.c)
 * tile      transposes that convert, or pack, of tensors whose dimensions are all short, too: of [4,4,4,4,4,4]
 *           reversed, three loops make a run of 64 elements in dst, and the three others one in src. Runs of src are
 *           gathered (and unpacked), transposed as a matrix, then packed or converted, and runs of dst are written.
 *           The first or the last step falls away where the transpose can do it (route.inc.h). Where a few elements are
 *           neighbours on both sides, as two rows of column-major float32 in T(8,128)(2,1) of bfloat16, such a unit
 *           is what is transposed
 * twice     transposed to lines of the stage, and from these once more (twice.c), or by runs (panel.c); or gathered to
 *           lines, or scattered from such (apart.c); or to units that are complete there, and then these, or units
 *           first and then their elements (twice_units.c) */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "relayout/plan.h"

enum { NARROW_COLS = 128 };

/* The first element of the block that does not fit, by asking each of them. */
static const uint8_t *find_misfit(const tg_plan_private *p, const uint8_t *src, const tg_block *b) {
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t c = 0; c < b->cols; c++) {
                const uint8_t *at = src + o * b->src_outer + r * b->src_row + c * b->src_col;
                tg_word        out;
                if (!tg_ref_convert(&out, p->dst_encoding, p->src_encoding, tg_ref_load(at, 0, p->src_bits))) return at;
            }
    return src;
}

/* Elements on their way, neighbours in the order of dst. */
typedef struct stage {
    _Alignas(64) uint8_t in[TG_STAGE_BYTES];
    _Alignas(64) uint8_t out[TG_STAGE_BYTES];
} stage;

/* From step o of outer, row r and column c on, at most so many; the tail is behind the last columns. */
static tg_block part_of(const tg_block *b, int64_t o, int64_t outer, int64_t r, int64_t rows, int64_t c, int64_t cols) {
    tg_block part = *b;
    part.outer = tg_min(outer, b->outer - o);
    part.rows = tg_min(rows, b->rows - r);
    part.cols = tg_min(cols, b->cols - c);
    part.tail = c + part.cols == b->cols ? b->tail : 0;
    return part;
}

/* ---- gather and scatter ---- */

static bool convert_part(const tg_plan_private *p, const tg_box *box, stage *s, uint8_t *dst, const tg_block *part) {
    const tg_nest *nest = &p->as.nest;
    const int64_t  dst_width = p->dst_bits / 8, src_width = p->src_bits / 8;
    const bool     apart = box->route == TG_ROUTE_SCATTER;
    const int64_t  inside = part->cols * part->rows;
    const tg_block convert = {.outer = part->outer, .rows = part->rows, .cols = part->cols,
                              .dst_outer = apart ? inside * dst_width : part->dst_outer,
                              .dst_row = apart ? part->cols * dst_width : part->dst_row, .dst_col = dst_width,
                              .src_outer = inside * src_width, .src_row = part->cols * src_width, .src_col = src_width,
                              .tail = apart ? 0 : part->tail, .pad = part->pad};
    if (tg_mover_run(&nest->mover[box->mover], apart ? s->out : dst, s->in, &convert) != NULL) return false;
    if (!apart) return true;
    tg_block scatter = *part;
    scatter.src_outer = inside * dst_width;
    scatter.src_row = part->cols * dst_width;
    scatter.src_col = dst_width;
    scatter.tail = 0;
    (void)tg_mover_run(&nest->mover[box->out], dst, s->out, &scatter);
    return true;
}

const uint8_t *tg_stage_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              const tg_block *b) {
    stage         s;
    const int64_t width = tg_max(p->dst_bits, p->src_bits) / 8, src_width = p->src_bits / 8;
    const int64_t most = tg_min(TG_STAGE_BYTES / width, b->tail > 0 ? b->cols : 512);
    const int64_t cols = tg_min(b->cols, most), rows = tg_max(tg_min(b->rows, TG_STAGE_BYTES / 2 / (cols * width)), 1);
    const int64_t outer = tg_max(tg_min(b->outer, TG_STAGE_BYTES / 2 / (cols * rows * width)), 1);
    for (int64_t o = 0; o < b->outer; o += outer)
        for (int64_t c = 0; c < b->cols; c += cols)
            for (int64_t r = 0; r < b->rows; r += rows) {
                const tg_block part = part_of(b, o, outer, r, rows, c, cols);
                tg_block       in = part;
                const uint8_t *from = src + o * b->src_outer + r * b->src_row + c * b->src_col;
                uint8_t       *to = dst + o * b->dst_outer + r * b->dst_row + c * b->dst_col;
                in.dst_outer = part.cols * part.rows * src_width;
                in.dst_row = part.cols * src_width;
                in.dst_col = src_width;
                in.tail = 0;
                (void)tg_mover_run(&p->as.nest.mover[box->in], s.in, from, &in);
                if (!convert_part(p, box, &s, to, &part)) return find_misfit(p, from, &part);
            }
    return NULL;
}

/* ---- narrow ---- */

static int64_t whole_lines(int64_t n, int64_t width) {
    const int64_t line = TG_LINE_BYTES / width;
    return n > line ? n / line * line : n;
}

/* How lines of a part lie in src. */
typedef struct lines {
    bool one_run; /* each goes on where the one before ends */
    bool go_on;   /* each in the next step of outer, where it ends in this one */
} lines;

static const uint8_t *narrow_part(const tg_plan_private *p, const tg_box *box, const tg_narrow *by, uint8_t *dst,
                                  const uint8_t *src, const tg_block *part, lines how) {
    const int64_t dst_width = p->dst_bits / 8, width = box->width, unit = width / dst_width;
    const int64_t outer = how.go_on ? 1 : part->outer, n = how.go_on ? part->outer * part->rows : part->rows;
    tg_block      turn = *part, convert = {.outer = outer, .rows = part->cols, .cols = n * unit,
                                           .dst_outer = part->cols * n * width, .dst_row = n * width,
                                           .dst_col = dst_width, .src_outer = part->src_outer,
                                           .src_row = part->src_col, .src_col = p->src_bits / 8};
    turn.src_outer = how.go_on ? part->rows * width : convert.dst_outer;
    turn.src_row = width;
    turn.src_col = convert.dst_row;
    if (how.one_run) {
        convert.cols *= convert.rows;
        convert.rows = 1;
    }
    if (convert.rows == 1 && convert.src_outer == convert.cols / unit * by->each) { /* all steps are one run */
        convert.cols *= convert.outer;
        convert.outer = 1;
    }
    if (tg_mover_run(by->in, by->bytes, src, &convert) != NULL) return find_misfit(p, src, &convert);
    (void)tg_mover_run(&p->as.nest.mover[box->mover], dst, by->bytes, &turn);
    return NULL;
}

const uint8_t *tg_narrow_through(const tg_plan_private *p, const tg_box *box, const tg_narrow *by, uint8_t *dst,
                                 const uint8_t *src, const tg_block *b) {
    const int64_t width = box->width, most = by->room / width;
    const bool    one_run = b->src_col == b->rows * by->each && b->rows <= most / by->lines;
    const int64_t cols = tg_min(b->cols, one_run ? most / b->rows : by->lines), room = most / cols;
    const int64_t rows = b->rows <= room ? b->rows : whole_lines(room, width), outer = tg_min(b->outer, room / rows);
    const lines   how = {one_run, !one_run && b->src_outer == rows * by->each};
    for (int64_t o = 0; o < b->outer; o += outer)
        for (int64_t c = 0; c < b->cols; c += cols)
            for (int64_t r = 0; r < b->rows; r += rows) {
                const tg_block part = part_of(b, o, outer, r, rows, c, cols);
                const uint8_t *bad = narrow_part(p, box, by, dst + o * b->dst_outer + r * b->dst_row + c * b->dst_col,
                                                 src + o * b->src_outer + r * by->each + c * b->src_col, &part, how);
                if (bad != NULL) return bad;
            }
    return NULL;
}

const uint8_t *tg_narrow_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                               const tg_block *b) {
    _Alignas(64) uint8_t bytes[TG_STAGE_BYTES];
    const tg_narrow      by = {&p->as.nest.mover[box->in], bytes, TG_STAGE_BYTES, NARROW_COLS,
                               box->width / (p->dst_bits / 8) * p->src_bits / 8};
    return tg_narrow_through(p, box, &by, dst, src, b);
}

/* ---- tiles ---- */

/* The runs of one side of a tile: the loops that count them, innermost first, and what one run is. */
typedef struct runs {
    const tg_mover *mover;
    const tg_loop  *loop;
    int32_t         nloops;
    int64_t         count;      /* of runs: the first loop may be cut short if it is the only one */
    int64_t         line;       /* bytes between runs in the buffer */
    bool            in_dst;     /* written to dst; else read from src */
    tg_block        block;      /* cols, tail and pad; loops are filled in */
} runs;

static int64_t step_of(const runs *r, int32_t i) { return r->in_dst ? r->loop[i].dst : r->loop[i].src; }

/* Two loops in one call of the mover. */
static bool move_two_loops(const runs *r, uint8_t *buffer, uint8_t *dst, const uint8_t *src) {
    tg_block      b = r->block;
    const int64_t rows = r->nloops == 1 ? r->count : r->loop[0].n,
                  outer = r->nloops > 1 ? tg_min(r->loop[1].n, r->count / rows) : 1;
    const int64_t row = step_of(r, 0), far = r->nloops > 1 ? step_of(r, 1) : 0;
    b.rows = rows;
    b.outer = outer;
    b.dst_row = r->in_dst ? row : r->line;
    b.dst_outer = r->in_dst ? far : r->line * rows;
    b.src_row = r->in_dst ? r->line : row;
    b.src_outer = r->in_dst ? r->line * rows : far;
    return tg_mover_run(r->mover, r->in_dst ? dst : buffer, r->in_dst ? buffer : src, &b) == NULL;
}

/* All runs; the loops above the first two are counted here. */
static bool move_runs(const runs *r, uint8_t *buffer, uint8_t *dst, const uint8_t *src) {
    const int64_t together = r->nloops > 2 ? r->loop[0].n * r->loop[1].n : r->count;
    for (int64_t done = 0, number = 0; done < r->count; done += together, number++) {
        int64_t rest = number, at = 0;
        for (int32_t i = 2; i < r->nloops; i++) {
            at += rest % r->loop[i].n * step_of(r, i);
            rest /= r->loop[i].n;
        }
        uint8_t *const from = buffer + done * r->line;
        if (!move_two_loops(r, from, r->in_dst ? dst + at : dst, r->in_dst ? src : src + at)) return false;
    }
    return true;
}

/* Elements in a place of the tile, neighbours on both sides: one, if it was unpacked on the way in. */
static int64_t unit_of(const tg_plan_private *p, const tg_box *box) {
    const bool unpacked = box->in != TG_NO_MOVER && p->as.nest.family[box->in] == TG_FAMILY_CONVERT;
    return unpacked ? 1 : box->width * 8 / p->src_bits;
}

/* The element that does not fit, where the elements were converted on the way in or out. */
static const uint8_t *find_misfit_in_tile(const tg_plan_private *p, const tg_box *box, const uint8_t *src,
                                          const tg_block *b) {
    const tg_loop *loop = &p->as.nest.loop[box->first + box->nloops];
    for (int64_t c = 0; c < b->cols; c++) {
        const uint8_t *run = src;
        int64_t        rest = c;
        for (int32_t i = 0; i < box->ncols; i++) {
            const int64_t n = i + 1 < box->ncols ? loop[i].n : rest + 1;
            run += rest % n * loop[i].src;
            rest /= n;
        }
        for (int64_t r = 0; r < b->rows * unit_of(p, box); r++) {
            tg_word out;
            if (!tg_ref_convert(&out, p->dst_encoding, p->src_encoding, tg_ref_load(run, r, p->src_bits)))
                return run + r * p->src_bits / 8;
        }
    }
    return src;
}

/* Runs that are neighbours are one; each has so many bits. */
static void join_runs(runs *r, int64_t bits) {
    const int64_t n = r->nloops == 1 ? r->count : r->loop[0].n;
    if (step_of(r, 0) * 8 != bits || r->block.tail > 0) return;
    r->block.cols *= n;
    r->line *= n;
    r->count /= n;
    if (r->nloops == 1) return;
    r->loop++;
    r->nloops--;
}

/* Runs of src, into the buffer: b->cols of them, or fewer where they are neighbours. */
static runs runs_in(const tg_plan_private *p, const tg_box *box, const tg_block *b) {
    const tg_nest *nest = &p->as.nest;
    const int64_t  line = b->rows * box->width;
    runs           r = {.mover = &nest->mover[box->in], .loop = &nest->loop[box->first + box->nloops],
                        .nloops = box->ncols, .count = b->cols, .line = line, .in_dst = false};
    const bool     bytes = nest->family[box->in] == TG_FAMILY_ROWS;
    r.block.cols = bytes ? line : b->rows;
    r.block.dst_col = bytes ? 1 : box->width;
    r.block.src_col = bytes ? 1 : p->src_bits / 8;
    join_runs(&r, b->rows * unit_of(p, box) * p->src_bits);
    return r;
}

/* Runs of dst, out of the buffer: b->rows of them, or fewer where they are neighbours. */
static runs runs_out(const tg_plan_private *p, const tg_box *box, const tg_block *b) {
    const tg_nest *nest = &p->as.nest;
    const int64_t  line = b->cols * box->width, unit = unit_of(p, box), elements = b->cols * unit;
    runs           r = {.mover = &nest->mover[box->out],
                        .loop = &nest->loop[box->first + box->nloops + box->ncols],
                        .nloops = box->nrows, .count = b->rows, .line = line, .in_dst = true};
    const bool     bytes = nest->family[box->out] == TG_FAMILY_ROWS;
    r.block.cols = bytes ? line : elements;
    r.block.dst_col = bytes ? 1 : p->dst_bits / 8;
    r.block.src_col = bytes ? 1 : box->width / unit;
    r.block.tail = b->tail * (bytes ? box->width : 1);
    r.block.pad = b->pad;
    join_runs(&r, elements * p->dst_bits);
    return r;
}

const uint8_t *tg_tile_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                             const tg_block *b) {
    const tg_loop *cols = &p->as.nest.loop[box->first + box->nloops], *rows = cols + box->ncols;
    const int64_t  width = box->width;
    const bool reads = box->in == TG_NO_MOVER, writes = box->out == TG_NO_MOVER; /* without a stage before, behind */
    stage          s;
    tg_block       turn = {.outer = 1, .rows = b->rows, .cols = b->cols, .dst_row = b->cols * width, .dst_col = width,
                           .src_row = width, .src_col = b->rows * width};
    if (reads) {
        turn.src_col = cols->src;
    } else {
        const runs in = runs_in(p, box, b);
        if (!move_runs(&in, s.in, dst, src)) return find_misfit_in_tile(p, box, src, b);
    }
    if (writes) {
        turn.dst_row = rows->dst;
        turn.tail = b->tail;
        turn.pad = b->pad;
    }
    (void)tg_mover_run(&p->as.nest.mover[box->mover], writes ? dst : s.out, reads ? src : s.in, &turn);
    if (writes) return NULL;
    const runs out = runs_out(p, box, b);
    return move_runs(&out, s.out, dst, src) ? NULL : find_misfit_in_tile(p, box, src, b);
}

static const tg_loop *columns_of(const tg_plan_private *p, const tg_box *box) {
    return &p->as.nest.loop[box->first + box->nloops];
}

static int64_t bytes_of_line(const tg_plan_private *p, const tg_box *box) {
    return box->block.rows * unit_of(p, box) * p->src_bits / 8;
}

int64_t tg_tile_run(const tg_plan_private *p, const tg_box *box) {
    const tg_loop *first = columns_of(p, box);
    const int64_t  line = bytes_of_line(p, box);
    return first->src == line ? first->n * line : line;
}

void tg_tile_fetch(const tg_plan_private *p, const tg_box *box, const uint8_t *src, int64_t cols) {
    const tg_loop *loop = columns_of(p, box);
    const int64_t  bytes = tg_tile_run(p, box), joined = loop->src == bytes_of_line(p, box);
    int64_t        at[TG_BOX_LOOPS] = {0};
    for (int64_t c = 0; c < cols; c += joined ? loop->n : 1) {
        for (int64_t k = 0; k < bytes; k += TG_LINE_BYTES) TG_FETCH(src + k);
        TG_FETCH(src + bytes - 1);
        for (int64_t i = joined; i < box->ncols; i++) {
            src += loop[i].src;
            if (++at[i] < loop[i].n) break;
            src -= at[i] * loop[i].src;
            at[i] = 0;
        }
    }
}

/* ---- lines, and padding between them ---- */

void tg_spaced_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                    const tg_block *b) {
    _Alignas(64) uint8_t gathered[TG_SPACED_BYTES];
    const int64_t width = box->width, bytes = b->rows * width, line = tg_spaced_pitch(bytes), n = b->cols + b->tail;
    const tg_block in = {.outer = b->outer, .rows = b->cols, .cols = bytes, .dst_outer = n * line, .dst_row = line,
                         .dst_col = 1, .src_outer = b->src_outer, .src_row = b->src_col, .src_col = 1};
    const tg_block turn = {.outer = 1, .rows = b->rows, .cols = b->outer * n, .dst_row = b->dst_row, .dst_col = width,
                           .src_row = width, .src_col = line};
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t k = b->cols; k < n; k++) tg_fill_bytes(gathered + (o * n + k) * line, bytes, b->pad, false);
    (void)tg_mover_run(&p->as.nest.mover[box->in], gathered, src, &in);
    (void)tg_mover_run(&p->as.nest.mover[box->mover], dst, gathered, &turn);
}

/* ---- twice ---- */

/* One of the two transposes. */
typedef struct pass {
    const tg_mover *mover;
    const tg_loop  *loop;
    int32_t         n;
    uint8_t         counted;
    int64_t         tail; /* of padding, behind its columns */
} pass;

static int64_t steps_of(const pass *t, int32_t i, const tg_block *part, const tg_block *most) {
    return tg_twice_steps(t->loop, i, t->counted, part, most);
}

static void run_pass(const pass *t, const tg_block *part, const tg_block *most, uint8_t *dst, const uint8_t *src) {
    const tg_loop *l = t->loop;
    tg_block       b = {.outer = 1, .rows = steps_of(t, 1, part, most), .cols = steps_of(t, 0, part, most),
                        .dst_row = l[1].dst, .dst_col = l[0].dst, .src_row = l[1].src, .src_col = l[0].src,
                        .tail = t->tail, .pad = part->pad};
    int64_t        count[TG_BOX_LOOPS], calls = 1;
    if (t->n > 2) {
        b.outer = steps_of(t, 2, part, most);
        b.dst_outer = l[2].dst;
        b.src_outer = l[2].src;
    }
    for (int32_t i = 3; i < t->n; i++) calls *= count[i] = steps_of(t, i, part, most);
    for (int64_t k = 0; k < calls; k++) {
        int64_t rest = k, to = 0, from = 0;
        for (int32_t i = 3; i < t->n; i++) {
            to += rest % count[i] * l[i].dst;
            from += rest % count[i] * l[i].src;
            rest /= count[i];
        }
        (void)tg_mover_run(t->mover, dst + to, src + from, &b);
    }
}

/* Through a stage of so many bytes. */
TG_INLINE void run_twice(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                         const tg_block *b, uint8_t *between) {
    const tg_nest *nest = &p->as.nest;
    const tg_loop *loop = &nest->loop[box->first + box->nloops];
    const pass in = {&nest->mover[box->in], loop, box->ncols, box->counted_in, tg_missing_elements(nest, box)},
               out = {&nest->mover[box->mover], loop + box->ncols, box->nrows, box->counted_out, 0};
    run_pass(&in, b, &box->block, between, src);
    run_pass(&out, b, &box->block, dst, between);
}

/* Functions of their own, for their stages. */
const uint8_t *tg_twice_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              const tg_block *b) {
    _Alignas(64) uint8_t between[TG_TWICE_BYTES];
    run_twice(p, box, dst, src, b, between);
    return NULL;
}

const uint8_t *tg_panel_block(const tg_plan_private *p, const tg_box *box, uint8_t *dst, const uint8_t *src,
                              const tg_block *b) {
    _Alignas(64) uint8_t between[TG_PANEL_BYTES];
    run_twice(p, box, dst, src, b, between);
    return NULL;
}

/* Run by run; runs that are less than a line apart are one. */
void tg_twice_fetch(const tg_plan_private *p, const tg_box *box, const uint8_t *src) {
    const tg_loop *loop = &p->as.nest.loop[box->first + box->nloops];
    bool           in_run[TG_BOX_LOOPS] = {false};
    int64_t        run = p->as.nest.width[box->in], at[TG_BOX_LOOPS] = {0}, n = 1;
    for (int32_t k = 0; k < box->ncols; k++) /* each time another loop may go on */
        for (int32_t i = 0; i < box->ncols; i++) {
            if (in_run[i] || tg_magnitude(loop[i].src) >= run + TG_LINE_BYTES) continue;
            const int64_t reach = (loop[i].n - 1) * loop[i].src;
            in_run[i] = true;
            run += tg_magnitude(reach);
            src += tg_min(reach, 0);
        }
    for (int32_t i = 0; i < box->ncols; i++) n *= in_run[i] ? 1 : loop[i].n;
    for (; n > 0; n--) {
        for (int64_t k = 0; k < run; k += TG_LINE_BYTES) TG_FETCH_HERE(src + k, false);
        TG_FETCH_HERE(src + run - 1, false);
        for (int32_t i = 0; i < box->ncols; i++) {
            if (in_run[i]) continue;
            src += loop[i].src;
            if (++at[i] < loop[i].n) break;
            src -= at[i] * loop[i].src;
            at[i] = 0;
        }
    }
}
