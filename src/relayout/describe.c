/* What a plan does, in words: a line about the whole and some for each box, loops outermost first. docs/relayout.md
 * shows one and says what the words mean.
 *
 * Steps are bytes, or elements where that is said, or `packed`: less than a byte. The last loop of a block counts
 * elements of the width that its mover's name says, or bytes, or cells. */
#include "base/text.h"
#include "relayout/cell.h"
#include "relayout/plan.h"

static void put_padded(tg_writer *w, int64_t value) {
    int32_t digits = 1;
    for (int64_t v = value; v >= 10; v /= 10) digits++;
    for (; digits < 9; digits++) tg_put_char(w, ' ');
    tg_put_int(w, value);
}

static void put_step(tg_writer *w, const char *name, int64_t step) {
    tg_put_text(w, name);
    if (step == TG_PACKED_STEP) tg_put_text(w, "packed");
    else tg_put_int(w, step);
}

static void put_loop(tg_writer *w, const char *name, int64_t n, int64_t dst, int64_t src) {
    tg_put_text(w, name);
    put_padded(w, n);
    put_step(w, ": dst ", dst);
    put_step(w, ", src ", src);
}

/* The step of a column: packed elements that are converted have none. */
static int64_t col_step(const tg_box *box, int64_t step) {
    return box->route == TG_ROUTE_CONVERT && step == 0 ? TG_PACKED_STEP : step;
}

static void put_blocks(tg_writer *w, int64_t n) {
    tg_put_int(w, n);
    tg_put_text(w, n == 1 ? " block" : " blocks");
}

static void put_lines(tg_writer *w, const char *text, int64_t lines) {
    if (lines == 1) return;
    tg_put_text(w, text);
    tg_put_int(w, lines);
    tg_put_text(w, " lines");
}

/* How large cells are, and of what. */
static void put_cell(tg_writer *w, const tg_nest *nest, const tg_box *box) {
    tg_put_text(w, ", cells of ");
    if (box->family == TG_FAMILY_PACKED_CELLS) {
        tg_put_int(w, box->block.dst_col);
        tg_put_text(w, " bytes, loops of them in elements");
        return;
    }
    const tg_loop *loop = &nest->loop[box->first + box->nloops];
    const tg_cell_shape cell = tg_cell_shape_of(loop, box->ncols, tg_cell_unit(box, loop));
    tg_put_int(w, cell.bytes);
    tg_put_text(w, " bytes");
    put_lines(w, " out of ", cell.bytes / cell.src);
    put_lines(w, " to ", cell.bytes / cell.dst);
}

/* What elements pass through, in turn. */
static void put_name(tg_writer *w, const tg_nest *nest, const tg_box *box) {
    const int32_t way[] = {box->in, box->mover, box->out};
    bool          first = true;
    if (box->loose) tg_put_text(w, "in elements, inside of bytes: ");
    if (box->route == TG_ROUTE_FILL || box->route == TG_ROUTE_SHIFT) {
        tg_put_text(w, box->route == TG_ROUTE_FILL ? "padding" : "shifted runs");
        return;
    }
    for (int32_t i = 0; i < 3; i++) {
        if (way[i] < 0) continue;
        if (!first) tg_put_text(w, " into a buffer, ");
        tg_put_text(w, nest->mover[way[i]].name);
        first = false;
    }
    if (box->route == TG_ROUTE_PANEL) tg_put_text(w, ", by panels");
    if (box->route == TG_ROUTE_CELLS) put_cell(w, nest, box);
}

static void put_tail(tg_writer *w, int64_t tail) {
    if (tail == 0) return;
    tg_put_text(w, ", then ");
    tg_put_int(w, tail);
    tg_put_text(w, " of padding");
}

/* The loops of one side of a tile, outermost first; a single one may be cut in chunks. */
static void put_tile_loops(tg_writer *w, const char *name, const tg_loop *loop, int32_t n, int64_t chunk,
                           int64_t tail) {
    for (int32_t i = n; i-- > 0;) {
        put_loop(w, name, n == 1 ? chunk : loop[i].n, loop[i].dst, loop[i].src);
        if (i == 0) put_tail(w, tail);
        tg_put_char(w, '\n');
    }
}

/* The end of the line of a loop of a block, which may be the ragged one. */
static void put_last(tg_writer *w, const tg_block *b, tg_ragged loop) {
    if (b->ragged == loop) {
        tg_put_text(w, "; the last one ");
        tg_put_int(w, b->last);
        put_tail(w, b->tail);
    }
    tg_put_char(w, '\n');
}

/* Rows, and columns of whole bytes of each. */
static void put_eights(tg_writer *w, const tg_box *box) {
    const tg_block *const b = &box->block;
    const bool            mix = box->family == TG_FAMILY_MIX_EIGHTS, part = box->family == TG_FAMILY_PART_EIGHTS;
    put_loop(w, "    block ", box->width, part ? b->dst_col : TG_PACKED_STEP, mix ? b->src_col : TG_PACKED_STEP);
    if (!part && b->dst_col > box->width) put_tail(w, b->dst_col - box->width);
    tg_put_char(w, '\n');
    put_loop(w, "    block ", b->cols, part ? 1 : b->dst_col, mix ? 1 : b->src_col);
}

static void put_chunks(tg_writer *w, int64_t total, int64_t most) {
    tg_put_text(w, "; ");
    tg_put_int(w, total);
    tg_put_text(w, " in chunks of ");
    tg_put_int(w, most);
}

/* Around the blocks. */
static void put_outer_loops(tg_writer *w, const tg_loop *loop, const tg_box *box) {
    const int64_t most[TG_BLOCK_LOOPS] = {box->block.outer, box->block.rows, box->block.cols};
    for (const tg_loop *l = loop, *const end = l + box->nloops; l < end; l++) {
        put_loop(w, "    loop  ", l->n, l->dst, l->src);
        if (l->chunks_of != TG_NO_LOOP) put_chunks(w, box->total[l->chunks_of], most[l->chunks_of]);
        tg_put_char(w, '\n');
    }
}

/* One with a last step of shorter rows is told even if that is the only one. */
static void put_block_loop(tg_writer *w, const tg_block *b, tg_ragged which, int64_t n, int64_t dst, int64_t src) {
    if (n == 1 && b->ragged != which) return;
    put_loop(w, "    block ", n, dst, src);
    put_last(w, b, which);
}

static void put_cols(tg_writer *w, const tg_box *box) {
    const tg_block *const b = &box->block;
    const bool            back = box->family == TG_FAMILY_PART;
    if (tg_is_of_eights(box->family)) {
        put_eights(w, box);
    } else if (tg_takes_turns(box)) {
        put_loop(w, "    block ", box->width, back ? b->dst_col : TG_PACKED_STEP, back ? TG_PACKED_STEP : b->src_col);
        tg_put_char(w, '\n');
        put_loop(w, "    block ", b->cols, back ? 1 : box->width, back ? box->width : 1);
    } else {
        put_loop(w, "    block ", b->cols, col_step(box, b->dst_col), col_step(box, b->src_col));
    }
    if (b->ragged == TG_RAGGED_NOT) put_tail(w, b->tail);
    tg_put_char(w, '\n');
}

/* `loop`: those of the box, and behind them, of a tile, of its columns and then its rows. */
static void put_loops(tg_writer *w, const tg_nest *nest, const tg_box *box) {
    const tg_block *const b = &box->block;
    const tg_loop *const  loop = &nest->loop[box->first], *const cols = loop + box->nloops;
    put_outer_loops(w, loop, box);
    if (box->route == TG_ROUTE_BYTES) {
        put_tile_loops(w, "    block ", cols, box->ncols, box->ncols == 1 ? cols->n : 0, b->tail);
        return;
    }
    put_block_loop(w, b, TG_RAGGED_OUTER, b->outer, b->dst_outer, b->src_outer);
    if (box->route == TG_ROUTE_CELLS) {
        put_block_loop(w, b, TG_RAGGED_ROWS, b->rows, b->dst_row, b->src_row);
        put_block_loop(w, b, TG_RAGGED_ROWS, b->cols, b->dst_col, b->src_col);
        put_tile_loops(w, "    cell  ", cols, box->ncols, 0, b->tail);
        return;
    }
    if (box->ncols > 0) {
        const bool twice = tg_goes_twice(box);
        put_tile_loops(w, "    rows  ", cols + box->ncols, box->nrows, b->rows, 0);
        put_tile_loops(w, "    cols  ", cols, box->ncols, b->cols,
                       twice ? tg_missing_elements(nest, box) * nest->width[box->in] : b->tail);
        return;
    }
    put_block_loop(w, b, TG_RAGGED_ROWS, b->rows, b->dst_row, b->src_row);
    put_cols(w, box);
}

static void put_nest(tg_writer *w, const tg_nest *nest) {
    for (int32_t i = 0; i < nest->nboxes; i++) {
        const tg_box *box = &nest->box[i];
        tg_put_text(w, "  ");
        put_name(w, nest, box);
        tg_put_text(w, ": ");
        put_blocks(w, box->blocks);
        tg_put_char(w, '\n');
        put_loops(w, nest, box);
    }
}

static void put_slabs(tg_writer *w, const tg_nest *nest) {
    const tg_slabs *v = &nest->slabs;
    tg_put_text(w, "  dst is made in a buffer, ");
    tg_put_int(w, v->parts * v->steps * v->dst_step);
    tg_put_text(w, " bytes at a time with their padding, and written ");
    if (v->across == TG_NO_LOOP) {
        tg_put_text(w, "from end to end\n");
    } else {
        tg_put_int(w, v->steps * v->dst_step);
        tg_put_text(w, " bytes to each place\n");
    }
    for (int32_t i = 0; i < v->nloops; i++) {
        const tg_loop *l = &nest->loop[i];
        put_loop(w, "    slab  ", l->n, l->dst, l->src);
        if (i + 1 == v->nloops) put_chunks(w, v->total, v->steps);
        if (i == v->across) put_chunks(w, v->total_parts, v->parts);
        tg_put_char(w, '\n');
    }
}

static void put_walk(tg_writer *w, const tg_plan_private *p) {
    const tg_walk *walk = &p->as.walk;
    tg_put_text(w, "  run by run, because ");
    tg_put_text(w, p->why != NULL ? p->why : "the digits of both sides do not nest");
    tg_put_text(w, ": slower than loops\n  ");
    put_blocks(w, walk->units);
    tg_put_text(w, " of up to ");
    tg_put_int(w, walk->row_block);
    tg_put_text(w, " rows x ");
    tg_put_int(w, walk->col_chunk);
    tg_put_text(w, walk->by_pieces ? " columns, in pieces that all rows share\n" : " columns\n");
}

size_t tg_plan_describe(char *buf, size_t cap, const tg_plan *plan) {
    const tg_plan_private *p = tg_plan_see(plan);
    tg_writer              w = tg_writer_make(buf, cap);
    tg_put_text(&w, p->way == TG_WAY_NEST ? "nest: " : p->way == TG_WAY_WALK ? "walk: " : "nothing to move: ");
    tg_put_int(&w, p->bytes);
    tg_put_text(&w, " bytes in and out, ");
    tg_put_int(&w, p->groups);
    tg_put_text(&w, p->groups == 1 ? " group, " : " groups, ");
    if (p->serial) tg_put_text(&w, "one thread because two could write the same byte, ");
    tg_put_text(&w, p->combines ? "blocks of all boxes are put together in a buffer, and stored around the caches\n"
                    : p->stream ? "stores around the caches\n"
                    : p->stream_turned ? "transposes store around the caches\n"
                                       : "stores into the caches\n");
    if (p->fill_first) tg_put_text(&w, "  first all of dst is filled with the padding\n");
    if (p->way == TG_WAY_NEST && p->as.nest.slabs.nloops > 0) put_slabs(&w, &p->as.nest);
    if (p->way == TG_WAY_NEST) put_nest(&w, &p->as.nest);
    if (p->way == TG_WAY_WALK) put_walk(&w, p);
    return tg_writer_end(&w);
}
