/* Where the loops of a block are cut: a block should be so large that it hides the cost of a call, and so small that
 * both of its sides stay in a cache and that there are enough of them to share out.
 *
 * A loop of the block that is too long takes at most so many steps at a time; the chunks are counted by a loop around
 * the blocks. Runs are cut at multiples of what the padding's pattern and whole lines need. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "relayout/box.h"
#include "relayout/combine.h"

enum {
    BLOCKS_WANTED = 8, /* of a small move, src counted as well; twice as many if they are to be shared out */
    LINE_PAIR = 128,
    MOST_CARRIED = 64 << 10,  /* bytes of a row of dst that shares its lines with its neighbours */
    SHARED_CARRIED = 8 << 10, /* where lines of src do so too */
    SHARED_STEP = 64,         /* bytes: elements so far apart share cache lines with their neighbours */
    SHORT_ROW = 16,           /* bytes: of rows that are so near each other many are one vector */
    LEAST_REACH = 64 << 10,   /* bytes of dst */
    LEAST_READ = 4096, /* bytes of src that go on: to begin anew after fewer takes longer than to fetch shared lines of
                        * dst again */
    PIECES_REACH = 128 << 10, /* bytes of src */
    STRIDED_TILE = 64  /* elements, of which some are farther apart */
};

/* Bytes of n steps, or of n packed elements. */
static int64_t walk_bytes(int64_t n, int64_t step, int32_t bits, bool packed) {
    return packed || step == TG_PACKED_STEP ? n * bits / 8 : n * step;
}

/* So many elements of a transpose are whole pairs of lines. */
static int64_t grain_of(int64_t width) { return LINE_PAIR / tg_min(width & -width, LINE_PAIR); }

/* In dst, from one run to the next. */
static int64_t bytes_of_run(const tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    return (b->cols + (b->ragged == TG_RAGGED_NOT ? b->tail : 0)) * width;
}

/* Do runs of dst begin or end inside a line, or single elements lie apart in one? Then blocks should be as long as runs
 * are: what two blocks share of a line neither of them writes around the caches. */
static bool shares_lines(const tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    if (b->cols > 1 && b->dst_col > width && b->dst_col % TG_LINE_BYTES != 0) return true;
    const int64_t   total = bytes_of_run(d, width);
    return (((uint64_t)b->dst_row | (uint64_t)b->dst_outer | (uint64_t)total) & (TG_LINE_BYTES - 1)) != 0;
}

/* Does the box fill what lies between steps of so many bytes in dst, or nearly (of 18 bytes 16 are not: 256 MiB, 0.26
 * and 0.28 of memcpy)? Then no other box writes there. */
static bool fills_steps(const tg_draft *d, int64_t step) {
    const tg_block *b = &d->box->block;
    int64_t         filled = tg_capped_mul(b->cols + b->tail, d->converts ? d->dst_width : d->box->width);
    if (b->dst_row < step) filled = tg_capped_mul(filled, b->rows);
    if (b->dst_outer < step) filled = tg_capped_mul(filled, b->outer);
    for (int32_t i = 0; i < d->n; i++)
        if (tg_draft_has(d, i) && d->loop[i].dst < step) filled = tg_capped_mul(filled, d->loop[i].n);
    return filled >= step / 16 * 15;
}

int64_t tg_steps_within_reach(const tg_draft *d, int64_t dst, int64_t src) {
    if (TG_MOSTLY(!d->plan->far) || d->dst_width == 0 || dst <= 0) return INT64_MAX;
    const int64_t span = tg_capped_mul(d->pair->dst->span, d->dst_width);
    const int64_t groups = d->plan->bytes / tg_max(d->pair->tuning->group_bytes, 1);
    const int64_t reach = tg_max(span / tg_max(groups, 1), LEAST_REACH);
    if (dst > reach) return INT64_MAX;
    return tg_max(reach / dst, src == 0 ? 1 : LEAST_READ / tg_magnitude(src));
}

/* The same, if the block shares lines with others. */
static int64_t within_reach(const tg_draft *d, int64_t dst, int64_t src) {
    const int64_t n = tg_steps_within_reach(d, dst, src);
    if (TG_MOSTLY(n == INT64_MAX)) return n;
    return shares_lines(d, d->converts ? d->dst_width : d->box->width) && !fills_steps(d, dst) ? n : INT64_MAX;
}

/* The same where boxes are to be combined: no more steps than the buffer has room for. But a transpose needs both of
 * its loops, and where lines of src follow each other fewer than LEAST_READ of them are worse than parts of lines of
 * dst, but for the briefest ones from memory (a Granite Rapids, 256 MiB, u8[510,N] of T(8,128) to rows 0.28 ->
 * 0.42, f16[N,500] of (2,1) 0.45 -> 0.51; 8 MiB, the latter, 0.94 -> 0.59). */
static int64_t within_buffer(const tg_draft *d, tg_block_loop which, int64_t dst, int64_t src, int64_t n,
                             int64_t wanted) {
    enum { LEAST_SIDE = 16 /* columns, or rows */, BRIEF_ROW = 16 /* bytes */ };
    const int64_t width = d->converts ? d->dst_width : d->box->width;
    if (wanted >= n && tg_capped_mul(n, dst) <= TG_COMBINED_REACH) return wanted;
    const int64_t most = tg_min(tg_power_of_two(d->plan, wanted), tg_combined_steps(d->plan, dst));
    const bool    needed = d->box->family == TG_FAMILY_TRANSPOSE && which != TG_BLOCK_OUTER;
    const int64_t step = tg_magnitude(src);
    const bool    brief = d->plan->memory && d->box->block.cols * width < BRIEF_ROW;
    const bool reads = step >= TG_LINE_BYTES && step < LEAST_READ && tg_capped_mul(most, step) < LEAST_READ && !brief;
    return (needed && most < LEAST_SIDE) || (reads && most < tg_min(n, wanted)) ? wanted : most;
}

/* The loop `which` of the block takes at most `most` steps at a time, if it is longer. */
static void cut(tg_draft *d, tg_block_loop which, int64_t most) {
    tg_block      *b = &d->box->block;
    const bool     outer = which == TG_BLOCK_OUTER, rows = which == TG_BLOCK_ROWS, cols = which == TG_BLOCK_COLS;
    int64_t *const n = outer ? &b->outer : rows ? &b->rows : &b->cols;
    const int64_t  dst = outer ? b->dst_outer : rows ? b->dst_row : b->dst_col;
    const int64_t  src = outer ? b->src_outer : rows ? b->src_row : b->src_col;
    if (!cols) most = tg_min(most, within_reach(d, dst, src));
    if (TG_RARELY(d->plan->combines)) most = within_buffer(d, which, dst, src, *n, most);
    if (*n <= most) return;
    const bool     packed = cols && d->converts; /* then a step of 0 is that of packed elements */
    const tg_loop  chunks = {tg_ceil_div(*n, most), walk_bytes(most, dst, d->plan->dst_bits, cols && dst == 0),
                             walk_bytes(most, src, d->plan->src_bits, packed && d->src_width == 0 && src == 0),
                             (int32_t)which};
    d->left |= (uint64_t)1 << d->n;
    d->loop[d->n++] = chunks; /* there is room: dims.inc.h leaves it */
    d->box->total[which] = *n;
    *n = most;
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

/* Rows that follow each other on both sides, with nothing but padding between them in dst, or short ones inside of few
 * lines. */
static bool is_one_stream(const tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    const bool short_ones = !d->converts && b->cols <= SHORT_ROW && b->src_row > 0 && b->dst_row > 0;
    if (short_ones && tg_max(b->src_row, b->dst_row) <= SHARED_STEP) return true;
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
 * lines (transpose.c), the longer the better, if elements are narrow; of wide ones a block has more rows, half a
 * kilobyte of each line of src, instead (64 MiB, a Zen 4, x memcpy: [7001,2400] of four bytes 0.47 -> 0.94,
 * [13981,2400] of eight 0.31 -> 0.8; of one and two bytes 0.8 to 1.0 times as fast). But where lines of src begin
 * inside of cache lines, the next rows read these again, and they should still be in a cache. Lines that are nearly a
 * multiple of a page apart push each other out of it: blocks stay short, unless src and dst are in memory, and parts of
 * lines cost more. Rows that follow each other, as steps of the outer loop, begin inside of lines too (256 MiB, an
 * Emerald Rapids, bf16[768,320,546] reversed 0.23 -> 0.57, f64[4,96,910,96] {1,3,0,2} to {2,3,0,1} 0.29 -> 0.77). */
static int64_t bytes_of_columns(const tg_draft *d, int64_t width) {
    enum { PAGE = 4096, WIDE = 4, CARRIED_COLUMNS = 2048 };
    const tg_block *b = &d->box->block;
    const int64_t   apart = tg_magnitude(b->src_col) % PAGE;
    const int64_t   steps = b->dst_row | (b->outer > 1 ? b->dst_outer : 0);
    if (!tg_turns_around(d->plan) || (steps & (TG_LINE_BYTES - 1)) == 0) return d->pair->tuning->transpose_bytes;
    if (b->src_col % TG_LINE_BYTES == 0) return width >= WIDE ? CARRIED_COLUMNS * width : MOST_CARRIED;
    if (d->plan->memory) return SHARED_CARRIED;
    return tg_min(apart, PAGE - apart) < TG_LINE_BYTES ? d->pair->tuning->transpose_bytes : SHARED_CARRIED;
}

/* Do short lines of src follow each other, out of memory, to rows that begin inside of lines? A block has as many
 * columns as leave room for some of them, half a kilobyte, which the mover then turns as one line (64 MiB, a Zen 4,
 * lines of 24 bytes to rows of 145257 0.17 -> 0.4 of memcpy, of 12 bytes to rows of 100000 0.39 -> 0.67). */
static int64_t lines_at_once(const tg_draft *d, int64_t line) {
    enum { WHOLE_LINES = 512 };
    const tg_block *b = &d->box->block;
    if (!tg_turns_around(d->plan) || b->outer == 1 || b->src_outer != line) return 1;
    if (((b->dst_row | b->dst_outer) & (TG_LINE_BYTES - 1)) == 0) return 1;
    return tg_min(b->outer, tg_max(WHOLE_LINES / line, 1));
}

/* Of a transpose. Rows of few lines are few: as many more columns. Into a cache the last chunk should not be less than
 * two lines: columns by themselves, of which rows write a few bytes ([1000,517] of one byte, back, 512 KiB, an Emerald
 * Rapids, x memcpy: 0.38 and 0.43). */
static int64_t columns_at_once(const tg_draft *d, int64_t width, int64_t room) {
    const tg_block *b = &d->box->block;
    const bool      uneven = (width & (width - 1)) != 0; /* whole lines of dst only so */
    const int64_t   n = bytes_of_columns(d, width) / width, grain = grain_of(width);
    const int64_t   most = uneven ? tg_max(n / grain, 1) * grain : tg_max(n, 1);
    const int64_t   rows = tg_max(TG_LINE_BYTES / width, 1);
    if (b->rows < rows && !d->converts) {
        const int64_t line = b->rows * width, lines = lines_at_once(d, line);
        if (lines > 1) return fitting(room, b->cols, line * lines, grain);
        return tg_max(most, fitting(tg_min(room, most * rows * width), b->cols, line, grain));
    }
    if (d->plan->stream_turned || b->cols <= most || most < grain) return most;
    const int64_t chunks = tg_ceil_div(b->cols - (grain - 1), most);
    return chunks == 1 ? b->cols : tg_ceil_div(tg_ceil_div(b->cols, chunks), grain) * grain;
}

int64_t tg_touched_bytes(const tg_block *b) {
    int64_t step = tg_magnitude(b->src_col);
    if (b->rows > 1) step = tg_min(step, tg_magnitude(b->src_row));
    if (b->outer > 1) step = tg_min(step, tg_magnitude(b->src_outer));
    return tg_min(step, TG_LINE_BYTES);
}

/* What several threads share out: elements that lie apart cost as much as the lines that they lie in. By their own
 * bytes the first elements of sticks, 512 KiB, were moved by one thread. */
static int64_t count_apart(tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    const int64_t   each = tg_touched_bytes(b);
    int64_t         n = tg_capped_mul(tg_capped_mul(b->outer, b->rows), b->cols);
    if (d->plan->threads <= 1 || each <= width) return width;
    for (int32_t i = 0; i < d->n; i++)
        if (tg_draft_has(d, i)) n = tg_capped_mul(n, d->loop[i].n); /* the others are the block's */
    d->plan->work += tg_min(tg_capped_mul(n, each - width), INT64_MAX / 4 - d->plan->work);
    return each;
}

/* Of single elements along which src goes on, each counted as `each` bytes: so many of these that the other rows, which
 * lie in the same lines of src, find these in the second-level cache. */
static int64_t line_room(const tg_draft *d, int64_t width, int64_t each) {
    enum { REACH = 256 << 10 };
    const tg_block *b = &d->box->block;
    const int64_t   step = tg_magnitude(b->src_col);
    if (!d->plan->far || b->rows == 1 || tg_magnitude(b->src_row) >= TG_LINE_BYTES || step <= width) return INT64_MAX;
    return REACH / step * each;
}

/* Bytes of src that one step of a block's outer loop reads, with all of the lines that they lie in. */
static int64_t step_reads(const tg_block *b, int64_t width) {
    const int64_t n[] = {b->cols, b->rows}, step[] = {tg_magnitude(b->src_col), tg_magnitude(b->src_row)};
    int64_t       lines = 1, near = width + TG_LINE_BYTES, reach = width;
    for (int i = 0; i < 2; i++) {
        const int64_t bytes = tg_capped_mul(n[i] - 1, step[i]);
        reach = bytes > INT64_MAX - reach ? INT64_MAX : reach + bytes;
        if (step[i] < TG_LINE_BYTES) near += bytes;
        else lines = tg_capped_mul(lines, n[i]);
    }
    return tg_min(reach, tg_capped_mul(lines, near));
}

/* Of single elements from memory, no more steps than read half of a group's bytes: boxes before, of which this one has
 * the last rows of tiles, read the same lines, and they are in a cache then (256 MiB, an Emerald Rapids: 16 rows of two
 * bytes, 4 apart, to tiles of 7 rows 0.28 -> 0.39 of memcpy). But a few steps may be what makes use of whole lines:
 * blocks of so many stay, and none is cut to fewer. */
static int64_t read_at_once(const tg_draft *d, int64_t width) {
    enum { FEW_STEPS = 16 };
    if (TG_MOSTLY(!d->plan->far) || d->plan->as.nest.nboxes == 0 || d->box->family != TG_FAMILY_STRIDED)
        return INT64_MAX;
    const int64_t most = d->pair->tuning->group_bytes / 2 / step_reads(&d->box->block, width);
    return d->box->block.outer <= FEW_STEPS || most < FEW_STEPS ? INT64_MAX : most;
}

/* Of a block of single elements: runs of dst that go on where the ones before end are written together. */
static int64_t columns_together(const tg_block *b) {
    const bool go_on = b->rows > 1 && b->cols * b->outer <= STRIDED_TILE * 4 && b->dst_outer == b->cols * b->dst_col;
    return go_on ? b->cols * b->outer : b->cols;
}

/* Are there loops around the block that take longer steps in dst? These are shared out then. */
static bool has_beyond(const tg_draft *d, int64_t step) {
    for (int32_t i = 0; i < d->n; i++)
        if (tg_draft_has(d, i) && tg_magnitude(d->loop[i].dst) > step) return true;
    return false;
}

/* Of the n steps of a loop around runs as many as one thread has of all, if these are equal shares. In caches each
 * thread should write one piece of dst: where pieces of two meet, lines that are fetched ahead go from one to the other
 * (256 KiB to sticks, on two threads of an Emerald Rapids, 0.88 -> 0.96 x memcpy; conversions, which go along rows,
 * lose 3 %). */
static int64_t share_of(const tg_draft *d, int64_t n, int64_t step, int64_t other) {
    const tg_plan_private *p = d->plan;
    if (p->threads <= 1 || p->stream || p->far || d->converts || step <= other || n % p->threads != 0) return n;
    return has_beyond(d, step) ? n : n / p->threads;
}

/* Of so many rows of a transpose that begin inside of lines of dst no more than a thread's share, rounded up to whole
 * lines of src, if nothing else is shared out. (256 KiB, two threads of a Zen 4: f16[122,1000] back from sticks along
 * the other dimension 0.28 -> 0.50 of memcpy.) */
static int64_t rows_of_thread(const tg_draft *d, int64_t width, int64_t rows) {
    const tg_plan_private *p = d->plan;
    const tg_block        *b = &d->box->block;
    const int64_t          line = tg_max(TG_LINE_BYTES / width, 1);
    if (p->threads <= 1 || p->stream_turned || p->far || b->dst_row % TG_LINE_BYTES == 0) return rows;
    if (b->rows <= line || (b->outer > 1 && b->dst_outer > b->dst_row)) return rows;
    if (has_beyond(d, b->dst_row)) return rows;
    return tg_min(rows, tg_ceil_div(tg_ceil_div(b->rows, p->threads), line) * line);
}

/* Of a row of a transpose, columns or padding, whatever is more: short rows of long tails are mostly these. */
static int64_t written_of(const tg_block *b) { return tg_max(b->cols, b->tail); }

/* Do rows of a transpose go on in the next step of its outer loop? */
static bool goes_on(const tg_block *b, int64_t width) { return b->tail == 0 && b->dst_outer == b->cols * width; }

/* Then around the caches so many steps that each row is whole lines; 1 where it is not so. ([640,832,63] of two bytes
 * reversed, 64 MiB, a Zen 4: 0.85 -> 1.1 of memcpy.) */
static int64_t steps_of_lines(const tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    if (d->box->family != TG_FAMILY_TRANSPOSE || !tg_turns_around(d->plan) || !goes_on(b, width)) return 1;
    return TG_LINE_BYTES / tg_min(b->dst_outer & -b->dst_outer, TG_LINE_BYTES);
}

/* Bytes of a block for such steps: more than others have, but no less than eight blocks are left to share out. */
static int64_t room_of_lines(const tg_draft *d) {
    return tg_min(d->plan->bytes / (2 * BLOCKS_WANTED), 4 * d->pair->tuning->block_bytes);
}

/* Rows that begin inside of lines are carried around the caches together (carried.inc.h), and those out of two loops of
 * lines that do so: of narrow elements as many as have 256 bytes of each line of src, since each visit to a page of
 * memory costs as much as these. (256 MiB, a Zen 4, x memcpy: bytes [8192,8190] 0.52 -> 0.73, [224,190,100,63] to
 * {3,2,0,1} from {1,0,2,3} 0.26 -> 0.55.) */
static int64_t carried_rows(const tg_draft *d, int64_t width) {
    const tg_block *b = &d->box->block;
    const int64_t   steps = b->dst_row | b->dst_outer | (goes_on(b, width) ? b->src_col | b->src_outer : 0);
    if (width > 2 || d->box->family != TG_FAMILY_TRANSPOSE || !tg_turns_around(d->plan)) return 1;
    return (steps & (TG_LINE_BYTES - 1)) == 0 ? 1 : TG_CARRIED_READ / width;
}

/* Of a transpose. Where a block has no room for whole rows of dst, but for the fewest (`grain`), short lines of src
 * that follow each other are read as a whole, and of longer ones more than one stick: a few sticks of each row, in more
 * rows. (A Zen 4, 64 MiB, reversed: [33,4161,131] of four bytes, which were 32 rows and one, 0.37 -> 0.6, [64,2048,128]
 * 0.5 -> 1.0, [750,629,64] of two 0.45 -> 1.4. Of one and two bytes, rows of more sticks out of lines of more than 4
 * KiB, or of more than two sticks that begin at lines of the cache, are 0.6 to 1.2 times as fast, and stay.) */
static int64_t rows_of_transpose(const tg_draft *d, int64_t width, int64_t room) {
    enum { MOST_OF_LINE = 4 << 10 };
    const tg_block *b = &d->box->block;
    const int64_t   grain = tg_max(grain_of(width), carried_rows(d, width)), line = b->rows * width;
    const bool      whole = goes_on(b, width), reads_on = whole && b->src_outer == line;
    const bool      odd = line % LINE_PAIR != 0 && line <= MOST_OF_LINE;
    const bool      pays = width >= 4 || line <= 2 * LINE_PAIR || odd;
    const int64_t   rows = fitting(room, b->rows, tg_capped_mul(written_of(b) * width, whole ? b->outer : 1), grain);
    if (rows > grain || !reads_on || !pays || !tg_turns_around(d->plan)) return rows;
    const int64_t most = room_of_lines(d) / tg_capped_mul(b->cols, steps_of_lines(d, width)); /* bytes of a line */
    return fitting(tg_min(most, MOST_OF_LINE), b->rows, width, grain);
}

/* So many steps of the outer loop at a time, of so many bytes. Rows that are carried should be long too. */
static int64_t outer_at_once(const tg_draft *d, int64_t width, int64_t room, int64_t step) {
    enum { FEW_CARRIED = 64 };
    const int64_t n = d->box->block.outer, grain = steps_of_lines(d, width);
    const int64_t times = goes_on(&d->box->block, width) ? tg_max(carried_rows(d, width) / FEW_CARRIED, 1) : 1;
    return fitting(tg_capped_mul(room, times), n, step, tg_capped_mul(grain, step) <= room_of_lines(d) ? grain : 1);
}

/* Of route lines: steps that are whole sticks of dst together, or more of them, as many as there is room for. */
static void cut_lines(tg_draft *d) {
    const tg_block *b = &d->box->block;
    const int64_t   width = d->box->width, row = b->dst_outer, lines = row / width, grain = tg_spaced_grain(row);
    cut(d, TG_BLOCK_ROWS, fitting(TG_SPACED_BYTES / (grain * lines) - LINE_PAIR, b->rows, width, LINE_PAIR / width));
    const int64_t most = TG_SPACED_BYTES / (tg_spaced_pitch(b->rows * width) * lines);
    cut(d, TG_BLOCK_OUTER, tg_max(most / grain * grain, 1));
}

/* Are rows in pieces that follow each other (find_following), and does a loop around the block read between them? Then
 * there are as many as are near in src (16 to 32 of 4 KiB 0.59 of memcpy, 64 0.47, 128 and more 0.4). */
static bool follows_in_pieces(const tg_draft *d) {
    const tg_block *b = &d->box->block;
    const int64_t   step = tg_magnitude(b->src_outer);
    if (!d->plan->memory || b->ragged != TG_RAGGED_ROWS || b->dst_outer != d->box->total[TG_BLOCK_COLS]) return false;
    for (uint64_t left = d->left; left != 0; left &= left - 1)
        if (tg_magnitude(d->loop[__builtin_ctzll(left)].src) < step) return step <= TG_FOLLOWING_STEP;
    return false;
}

int64_t tg_room_of_block(const tg_draft *d) {
    const tg_tuning *t = d->pair->tuning;
    const int64_t    bytes = d->plan->threads > 1 ? d->plan->bytes / 2 : d->plan->bytes;
    return tg_max(tg_min(bytes / BLOCKS_WANTED, t->block_bytes), t->block_bytes_min);
}

void tg_draft_chunks(tg_draft *d) {
    const tg_box    *box = d->box;
    const tg_block  *b = &box->block;
    const tg_tuning *t = d->pair->tuning;
    const bool       short_cells = box->route == TG_ROUTE_CELLS && box->family == TG_FAMILY_TRANSPOSE;
    if ((d->ncols > 0 && !short_cells) || (d->by_bytes && !tg_takes_turns(box))) return; /* loops have been cut */
    const int64_t width = d->converts ? tg_max(d->unit * d->dst_width, 1) : box->width;
    int64_t       room = tg_room_of_block(d);
    int64_t       each = width; /* bytes of an element */
    if (box->family == TG_FAMILY_ROWS) {
        cut(d, TG_BLOCK_COLS, fitting(room, b->cols, width, t->run_grain));
        cut(d, TG_BLOCK_ROWS, tg_min(rows_at_once(d, width, room), share_of(d, b->rows, b->dst_row, b->dst_outer)));
    } else if (box->family == TG_FAMILY_TRANSPOSE) {
        if (box->route == TG_ROUTE_LINES) {
            cut_lines(d);
            return;
        }
        cut(d, TG_BLOCK_COLS, columns_at_once(d, width, room));
        cut(d, TG_BLOCK_ROWS, rows_of_thread(d, width, rows_of_transpose(d, width, room)));
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
        const bool    scattered = b->rows > 1 && tg_max(tg_magnitude(b->src_col), b->dst_col) > SHARED_STEP;
        each = count_apart(d, width);
        if (each > width) room = tg_max(room, t->task_bytes / 2);
        const int64_t most = tg_min(room, line_room(d, width, each));
        cut(d, TG_BLOCK_COLS, scattered ? STRIDED_TILE : fitting(most, b->cols, each, line));
        cut(d, TG_BLOCK_ROWS, fitting(room, b->rows, tg_capped_mul(columns_together(b), each), STRIDED_TILE));
    }
    const int64_t cols = box->family == TG_FAMILY_TRANSPOSE ? written_of(b) : b->cols;
    int64_t       outer = outer_at_once(d, width, room, tg_capped_mul(tg_capped_mul(b->rows, cols), each));
    if (follows_in_pieces(d)) outer = tg_min(outer, PIECES_REACH / tg_magnitude(b->src_outer));
    if (box->family == TG_FAMILY_ROWS)
        outer = in_pairs(b->outer, tg_min(outer, share_of(d, b->outer, b->dst_outer, b->dst_row)));
    cut(d, TG_BLOCK_OUTER, tg_min(outer, read_at_once(d, width)));
}
