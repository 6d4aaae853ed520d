/* Where the loops of a block are cut: a block should be so large that it hides the cost of a call, and so small that
 * both of its sides stay in a cache and that there are enough of them to share out.
 *
 * A loop of the block that is too long takes at most so many steps at a time; the chunks are counted by a loop around
 * the blocks. Runs are cut at multiples of what the padding's pattern and whole lines need.
 *
 * And where threads may part the blocks of a box that begin or end inside of bytes of dst: no two threads may write one
 * byte. Of the loop that takes the longest steps in dst, all of a step lies before all of the next one, so it goes
 * around all others, and is parted only where so many steps are whole bytes:
 *
 *     s4[1021,1029] to columns, loops (n, dst) around blocks of 128 by 128      (9, 128 * 1021)   parted at any step
 *                                                                               (8, 128)          never parted
 *     rows of 1021 elements, one in a block                                     (1029, 1021)      at every second */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/box.h"

enum {
    BLOCKS_WANTED = 8, /* of a small move, src counted as well; twice as many if they are to be shared out */
    LINE_PAIR = 128,
    MOST_CARRIED = 64 << 10, /* bytes of a row of dst that shares its lines with its neighbours */
    SHARED_CARRIED = 8 << 10, /* where lines of src do so too */
    NEAR_STEP = 64,   /* bytes: elements so far apart share cache lines with their neighbours */
    STRIDED_TILE = 64 /* elements, of which some are farther apart */
};

/* Bytes of n steps, or of n packed elements. */
static int64_t walk_bytes(int64_t n, int64_t step, int32_t bits, bool packed) {
    return packed || step == TG_PACKED_STEP ? n * bits / 8 : n * step;
}

/* The loop `which` of the block takes at most `most` steps at a time, if it is longer. */
static void cut(tg_draft *d, tg_block_loop which, int64_t most) {
    tg_block      *b = &d->box->block;
    const bool     outer = which == TG_BLOCK_OUTER, rows = which == TG_BLOCK_ROWS, cols = which == TG_BLOCK_COLS;
    int64_t *const n = outer ? &b->outer : rows ? &b->rows : &b->cols;
    if (*n <= most) return;
    const int64_t  dst = outer ? b->dst_outer : rows ? b->dst_row : b->dst_col;
    const int64_t  src = outer ? b->src_outer : rows ? b->src_row : b->src_col;
    const bool     packed = cols && d->converts; /* then a step of 0 is that of packed elements */
    const tg_loop  chunks = {tg_ceil_div(*n, most), walk_bytes(most, dst, d->plan->dst_bits, cols && dst == 0),
                             walk_bytes(most, src, d->plan->src_bits, packed && d->src_width == 0 && src == 0),
                             (int32_t)which};
    d->left |= (uint64_t)1 << d->n;
    d->loop[d->n++] = chunks; /* there is room: nest.inc.h leaves it */
    d->box->total[which] = *n;
    *n = most;
}

/* Copies that share a place have more elements than bytes. */
static int64_t product(int64_t a, int64_t b) {
    int64_t p;
    return tg_mul(&p, a, b) ? p : INT64_MAX;
}

/* A multiple of `grain` near what fits into `room`; chunks are as equal as they can be, for threads share them out. */
static int64_t fitting(int64_t room, int64_t n, int64_t each, int64_t grain) {
    const int64_t most = room / each;
    if (n <= grain || n <= most) return n;
    if (most <= grain) return grain;
    const int64_t chunks = tg_ceil_div(n, most / grain * grain);
    return tg_ceil_div(tg_ceil_div(n, chunks), grain) * grain;
}

/* An even number of chunks of at most so many of n: two threads should have as many each. */
static int64_t in_pairs(int64_t n, int64_t most) {
    if (n <= most) return most;
    const int64_t chunks = tg_ceil_div(n, most);
    return chunks % 2 == 0 ? most : tg_ceil_div(n, chunks + 1);
}

/* In dst, from one run to the next. */
static int64_t bytes_of_run(const tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    return (b->cols + (b->ragged == TG_RAGGED_NOT ? b->tail : 0)) * width;
}

/* Rows that follow each other on both sides, with nothing but padding between them in dst. */
static bool is_one_stream(const tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    return d->src_width > 0 && b->src_row == b->cols * (d->converts ? d->src_width : 1) &&
           b->dst_row == bytes_of_run(d, width);
}

static int64_t bytes_of_row(const tg_draft *d) { return d->box->block.cols * (d->converts ? d->src_width : 1); }

/* Does src go on from row to row, and dst along the other loop? Then the rows of all steps of that loop are as many
 * walks of src, of which a mover follows some at a time: the longer, the better. */
static bool reads_on(const tg_draft *d) {
    const tg_block *b = &d->box->block;
    return d->src_width > 0 && b->outer > 1 && b->src_row == bytes_of_row(d);
}

/* Do runs of dst begin or end inside a line? Then blocks should be as long as runs are: what two blocks share of a line
 * neither of them writes around the caches. */
static bool shares_lines(const tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    const int64_t   total = bytes_of_run(d, width);
    return (((uint64_t)b->dst_row | (uint64_t)b->dst_outer | (uint64_t)total) & (TG_LINE_BYTES - 1)) != 0;
}

/* Of a block of runs. */
static int64_t rows_at_once(const tg_draft *d, int64_t width, int64_t room) {
    const tg_block *b = &d->box->block;
    const int64_t   least = d->pair->tuning->copy_rows;
    if (is_one_stream(d, width)) return fitting(room, b->rows, b->dst_row, LINE_PAIR);
    if (reads_on(d) && !shares_lines(d, width))
        return tg_max(least, fitting(room / TG_STREAMS, b->rows, bytes_of_row(d), LINE_PAIR));
    return least;
}

/* Of a transpose, bytes of dst. Around the caches, rows that share their lines with their neighbours go on in whole
 * lines (transpose.c), the longer the better. But where lines of src begin inside of cache lines, the next rows read
 * these again, and they should still be in a cache. Lines that are nearly a multiple of a page apart push each other
 * out of it: blocks stay short, unless src and dst are in memory, and parts of lines cost more. */
static int64_t bytes_of_columns(const tg_draft *d) {
    enum { PAGE = 4096 };
    const tg_block *b = &d->box->block;
    const int64_t   apart = tg_magnitude(b->src_col) % PAGE;
    if (!d->plan->stream_turned || !d->plan->far || b->dst_row % TG_LINE_BYTES == 0)
        return d->pair->tuning->transpose_bytes;
    if (b->src_col % TG_LINE_BYTES == 0) return MOST_CARRIED;
    if (d->plan->bytes >= d->pair->tuning->memory_bytes) return SHARED_CARRIED;
    return tg_min(apart, PAGE - apart) < TG_LINE_BYTES ? d->pair->tuning->transpose_bytes : SHARED_CARRIED;
}

/* Of src, bytes of cache lines for each element: where no loop of the block goes on inside of a line, all of one. */
static int64_t touched_bytes(const tg_block *b) {
    int64_t step = tg_magnitude(b->src_col);
    if (b->rows > 1) step = tg_min(step, tg_magnitude(b->src_row));
    if (b->outer > 1) step = tg_min(step, tg_magnitude(b->src_outer));
    return tg_min(step, TG_LINE_BYTES);
}

/* What several threads share out: elements that lie apart cost as much as the lines that they lie in. By their own
 * bytes the first elements of sticks, 512 KiB, were moved by one thread. */
static int64_t count_apart(tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    const int64_t   each = touched_bytes(b);
    int64_t         n = product(product(b->outer, b->rows), b->cols);
    if (d->plan->threads <= 1 || each <= width) return width;
    for (int32_t i = 0; i < d->n; i++) n = product(n, d->loop[i].n);
    d->plan->work += tg_min(product(n, each - width), INT64_MAX / 4 - d->plan->work);
    return each;
}

void tg_draft_chunks(tg_draft *d) {
    const tg_box    *box = d->box;
    const tg_block  *b = &box->block;
    const tg_tuning *t = d->pair->tuning;
    if (d->ncols > 0 || (d->by_bytes && !tg_takes_turns(box))) return; /* loops have been cut */
    const int64_t width = d->converts ? tg_max(d->unit * d->dst_width, 1) : box->width;
    const int64_t bytes = d->plan->threads > 1 ? d->plan->bytes / 2 : d->plan->bytes;
    int64_t       room = tg_max(tg_min(bytes / BLOCKS_WANTED, t->block_bytes), t->block_bytes_min);
    int64_t       each = width; /* bytes of an element */
    if (box->family == TG_FAMILY_ROWS) {
        cut(d, TG_BLOCK_COLS, fitting(room, b->cols, width, t->run_grain));
        cut(d, TG_BLOCK_ROWS, rows_at_once(d, width, room));
    } else if (box->family == TG_FAMILY_TRANSPOSE) {
        cut(d, TG_BLOCK_COLS, tg_max(bytes_of_columns(d) / width, 1));
        cut(d, TG_BLOCK_ROWS, fitting(room, b->rows, b->cols * width, tg_max(LINE_PAIR / width, 1)));
    } else if (box->family == TG_FAMILY_PACKED) {
        cut(d, TG_BLOCK_COLS, tg_max(8 * t->transpose_bytes / d->plan->dst_bits, 8));
        cut(d, TG_BLOCK_ROWS,
            fitting(8 * room / d->plan->dst_bits, b->rows, b->cols, 8 * LINE_PAIR / d->plan->src_bits));
    } else if (tg_takes_turns(box)) {
        cut(d, TG_BLOCK_OUTER, tg_max(room / (b->rows * b->cols * box->width), 1));
        cut(d, TG_BLOCK_ROWS, tg_max(room / (b->cols * box->width), 1));
        return;
    } else {
        const int64_t line = tg_max(LINE_PAIR / width, 1);
        const bool    scattered = b->rows > 1 && tg_max(tg_magnitude(b->src_col), b->dst_col) > NEAR_STEP;
        each = count_apart(d, width);
        if (each > width) room = tg_max(room, t->task_bytes / 2);
        cut(d, TG_BLOCK_COLS, scattered ? STRIDED_TILE : fitting(room, b->cols, each, line));
        cut(d, TG_BLOCK_ROWS, fitting(room, b->rows, b->cols * each, STRIDED_TILE));
    }
    int64_t outer = fitting(room, b->outer, product(product(b->rows, b->cols), each), 1);
    if (box->family == TG_FAMILY_ROWS) outer = in_pairs(b->outer, outer);
    cut(d, TG_BLOCK_OUTER, outer);
}

/* ---- what threads may part ---- */

static bool is_chunked(const tg_nest *nest, const tg_box *box, int32_t which) {
    for (int32_t i = 0; i < box->nloops; i++)
        if (nest->loop[box->first + i].chunks_of == which) return true;
    return false;
}

/* Elements from the first to behind the last one that a loop of the block reaches, without that one; in one step of
 * the outermost loop. */
static int64_t reach(const tg_nest *nest, const tg_box *box, int32_t which, int64_t steps, int64_t step) {
    const bool outermost = box->nloops > 0 && nest->loop[box->first].chunks_of == which;
    const bool inside = which != TG_NO_LOOP && !outermost && is_chunked(nest, box, which);
    return ((inside ? box->total[which] : steps) - 1) * step;
}

/* The same of all of a box. */
static int64_t extent_of(const tg_nest *nest, const tg_box *box) {
    const tg_block      *b = &box->block;
    const tg_loop *const loop = &nest->loop[box->first], *const inner = loop + box->nloops;
    int64_t              extent = 1 + b->tail;
    for (int32_t i = 1; i < box->nloops; i++)
        if (loop[i].chunks_of == TG_NO_LOOP) extent += (loop[i].n - 1) * loop[i].dst;
    if (tg_has_tiles(box)) {
        for (int32_t i = 0; i < box->ncols + box->nrows; i++)
            extent += reach(nest, box, inner[i].chunks_of, inner[i].n, inner[i].dst);
        return extent;
    }
    return extent + reach(nest, box, TG_BLOCK_OUTER, b->outer, b->dst_outer) +
           reach(nest, box, TG_BLOCK_ROWS, b->rows, b->dst_row) + reach(nest, box, TG_BLOCK_COLS, b->cols, 1);
}

/* The loop with the longest steps in dst goes around the others. */
static void put_longest_first(tg_loop *loop, int32_t n) {
    int32_t longest = 0;
    for (int32_t i = 1; i < n; i++)
        if (loop[i].dst > loop[longest].dst) longest = i;
    const tg_loop first = loop[longest];
    for (int32_t i = longest; i > 0; i--) loop[i] = loop[i - 1];
    loop[0] = first;
}

/* So many steps are whole bytes. */
static int8_t whole_steps(int64_t step, int32_t bits) {
    int8_t n = 1;
    while (!tg_is_whole(n * (step % 8), bits)) n = (int8_t)(2 * n);
    return n;
}

/* The first box of those that write parts of bytes. */
static const tg_box *find_sharing(const tg_nest *nest, const tg_box *box) {
    for (const tg_box *b = nest->box; b < box; b++)
        if (b->together != 0) return b;
    return NULL;
}

/* May the box be parted where the others are? All that it writes in a step of its outermost loop lies inside of as long
 * a step from the first box on, and of any two of them the longer step is so many of the shorter one. */
static bool keeps_steps(const tg_nest *nest, const tg_box *first, const tg_box *box, int64_t extent) {
    const int64_t step = box->nloops > 0 ? nest->loop[box->first].dst : 0;
    if (step == 0 || box->dst < first->dst || box->dst + extent > first->dst + step) return false;
    for (const tg_box *b = first; b < box; b++) {
        const int64_t other = nest->loop[b->first].dst;
        if (b->together > 0 && other % step != 0 && step % other != 0) return false;
    }
    return true;
}

/* What is not parted belongs to the last group, as the last step of the first box does. */
void tg_draft_together(tg_draft *d) {
    tg_nest       *nest = &d->plan->as.nest;
    tg_box        *box = d->box;
    tg_loop *const loop = &nest->loop[box->first];
    const tg_box  *first = find_sharing(nest, box);
    const int32_t  bits = d->plan->dst_bits;
    if (box->nloops > 0) put_longest_first(loop, box->nloops);
    const int64_t extent = extent_of(nest, box);
    const bool    alone = first == NULL && box->nloops > 0 && tg_is_whole(box->dst, bits) && extent <= loop->dst;
    const bool    can_follow = first != NULL && first->together != TG_NOT_PARTED;
    box->together = TG_NOT_PARTED;
    if (alone || (can_follow && keeps_steps(nest, first, box, extent))) {
        box->together = whole_steps(loop->dst, bits);
        return;
    }
    const tg_loop *const a = can_follow ? &nest->loop[first->first] : NULL;
    if (a != NULL && box->dst < first->dst + a->n * a->dst) d->plan->serial = true;
}
