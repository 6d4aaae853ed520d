/* Which loops of a box its blocks are made of.
 *
 * The columns of a block are the loop along which dst is written without gaps. Who can move the block follows from
 * how src goes along them, and from a second loop along which src is read without gaps:
 *
 *     loops of the box (n, dst, src), in elements             columns       rows          family
 *     (128, 2^20, 64) (16384, 64, 8192) (64, 1, 1)            (64, 1, 1)    (16384, ...)  rows: runs of one stick
 *     (256, 2^19, 2^19) (64, 1, 8192) (8192, 64, 1)           (64, 1, 2^13) (8192, 64, 1) transpose
 *     (4096, 1, 64)                                           that one      -             strided: a gather
 *
 * Where neighbours stay together on both sides but are only a few bytes, they are one wider element: a column-major
 * bfloat16 matrix into T(8,128)(2,1) is a transpose of 4-byte elements.
 *
 * A block has room for one loop more. Whatever continues what src reads or what dst writes belongs into the block,
 * because caches and page tables are kept best by long walks on both sides: 64 rows of a matrix with all their columns
 * read 64 pages in turn and write 8 KiB at a time. */
#include "base/checked.h"
#include "kernels/cells.h"
#include "kernels/stream.h"
#include "relayout/box.h"

enum {
    FEW_ROWS = 16,
    SHORT_RUN = 64, /* bytes: a transpose that writes shorter ones goes on along dst, that reads such ones along src */
    LEAST_BOTH = 16,  /* bytes of lines and rows of matrices that go on on both sides, */
    GOOD_BOTH = 48,   /* and of lines, if rows are longer than a line of the cache; */
    LONG_BOTH = 1024, /* and of the rows of all */
    LONG_READ = 1024, /* bytes of lines that wide elements come from, if rows are parts of lines */
    GOOD_RUN = 128, /* bytes: runs of a tile need no more loops from here on */
    GOOD_LINES = 512, /* bytes: or from here on, where they are whole lines around the caches */
    GOOD_TILE = 8192, /* bytes: and smaller tiles do, on the side that has more room */
    CARRIED_ROW = 2048, /* bytes of a tile's rows that are carried, at most */
    FEW_BYTES = 16,  /* of a line, or a row, are too few for squares */
    WHOLE_BYTES = 8 /* so many packed elements are whole bytes, whatever their size */
};

enum { NONE = TG_NO_LOOP };

/* ---- taking loops ---- */

static int32_t smallest_dst(const tg_draft *d) { return d->left == 0 ? NONE : 63 - __builtin_clzll(d->left); }

static int32_t smallest_src(const tg_draft *d) {
    int32_t best = NONE;
    for (uint64_t left = d->left; left != 0; left &= left - 1) {
        const int32_t i = __builtin_ctzll(left);
        if (d->loop[i].src == 0) continue;
        if (best == NONE || tg_magnitude(d->loop[i].src) < tg_magnitude(d->loop[best].src)) best = i;
    }
    return best;
}

static const tg_loop once = {1, 0, 0, TG_NO_LOOP};

static const tg_loop *take(tg_draft *d, int32_t index) {
    if (index == NONE) return &once;
    tg_draft_take(d, index);
    return &d->loop[index];
}

static void set_outer(tg_draft *d, const tg_loop *l) {
    tg_block *b = &d->box->block;
    b->outer = l->n;
    b->dst_outer = l->dst;
    b->src_outer = l->src;
}

static void set_rows(tg_draft *d, const tg_loop *l) {
    tg_block *b = &d->box->block;
    b->rows = l->n;
    b->dst_row = l->dst;
    b->src_row = l->src;
}

static void set_cols(tg_draft *d, int64_t n, int64_t dst, int64_t src) {
    tg_block *b = &d->box->block;
    b->cols = n;
    b->dst_col = dst;
    b->src_col = src;
}

static void take_cols(tg_draft *d, int32_t index) {
    const tg_loop *l = take(d, index);
    set_cols(d, l->n, l->dst, l->src);
}

/* ---- runs ---- */

/* Of two loops, rows are the one that is short, or that strides less where the other side reads or writes. */
static bool is_rows(const tg_loop *a, const tg_loop *b) {
    if ((a->n <= FEW_ROWS) != (b->n <= FEW_ROWS)) return a->n <= FEW_ROWS;
    return tg_magnitude(a->src) <= b->dst;
}

/* Of rows in pieces, the last one shorter, that begin inside of lines: the loop along which they follow each other in
 * dst, if its steps are near in src, and the loop along which src goes on is short. If that loop came first, each row
 * would leave parts of two lines, and the row that completes these would come too late. (A Granite Rapids, 256 MiB, x
 * memcpy: sticks of f32[16,66560,63] back to rows of 252 bytes 0.43 -> 0.59, u8[232,9,45,32,89] of T(7,64) to
 * {4,2,3,1,0} 0.08 -> 0.38, bf16[5,744,128,282]{3,0,2,1:T(2,48)} to rows 0.13 -> 0.48; longer rows, more steps, or
 * loops that go far lose 0.5 to 0.9.) */
static int32_t find_following(const tg_draft *d, const tg_loop *pieces, int32_t on_src) {
    enum { LONGEST = 1024, MOST_STEPS = 16 };
    if (pieces->chunks_of == TG_NO_LOOP || !d->plan->stream || !d->plan->memory || on_src == NONE) return NONE;
    const int64_t row = d->box->total[TG_BLOCK_COLS];
    if (row % TG_LINE_BYTES == 0 || row > LONGEST || d->loop[on_src].n > MOST_STEPS) return NONE;
    const int32_t next = tg_draft_find_dst(d, row);
    return next != NONE && tg_magnitude(d->loop[next].src) <= TG_FOLLOWING_STEP ? next : NONE;
}

/* The loop that continues dst and the one that continues src. */
static void take_rows(tg_draft *d) {
    const int32_t  on_dst = smallest_dst(d);
    const tg_loop *a = take(d, on_dst);
    const int32_t  on_src = smallest_src(d), following = find_following(d, a, on_src);
    const tg_loop *b = take(d, following != NONE ? following : on_src != NONE ? on_src : smallest_dst(d));
    const bool     first = b == &once || is_rows(a, b);
    const tg_loop *rows = first ? a : b, *outer = first ? b : a;
    set_rows(d, rows);
    set_outer(d, outer);
    if (TG_RARELY(rows->chunks_of != TG_NO_LOOP)) d->box->block.ragged = TG_RAGGED_ROWS;
    if (TG_RARELY(outer->chunks_of != TG_NO_LOOP)) d->box->block.ragged = TG_RAGGED_OUTER;
}

/* Bytes of all columns, where a loop counts chunks of them. */
static int64_t all_columns(const tg_draft *d) {
    int64_t n = 0;
    for (int32_t i = 0; i < d->n; i++)
        if (d->loop[i].chunks_of == TG_BLOCK_COLS) n = (d->loop[i].n - 1) * d->run + d->last;
    return tg_bytes_for(n, d->plan->dst_bits);
}

static void choose_rows(tg_draft *d) {
    tg_box       *box = d->box;
    const int64_t n = tg_max(d->run, 1);
    box->family = TG_FAMILY_ROWS;
    if (TG_RARELY(d->loose)) {
        box->width = 1;
        box->block.tail = d->tail;
        set_cols(d, n, 1, 1);
    } else if (TG_RARELY(d->converts)) {
        box->width = d->src_width;
        box->block.tail = d->tail;
        set_cols(d, n, d->dst_width, d->src_width);
    } else {
        const int32_t bits = d->plan->dst_bits;
        box->width = 1;
        box->block.tail = tg_bytes_for(d->tail, bits);
        set_cols(d, tg_bytes_for(n, bits), 1, 1);
        box->block.last = tg_bytes_for(d->last, bits);
        if (TG_RARELY(d->last > 0)) box->total[TG_BLOCK_COLS] = all_columns(d);
    }
    take_rows(d);
}

/* ---- transposes ---- */

/* Are runs of dst brief for stores around the caches: less than a stick, or parts of lines, of narrow elements or out
 * of long lines? (A Zen 4, 64 MiB, four dimensions reversed, out of lines of 64 to 1024 bytes: rows of 64 to 120 bytes
 * 0.2 to 0.4 -> 0.5 to 1.3 of memcpy; of one and two bytes, rows of 136 to 776 bytes 0.3 to 0.45 -> 0.4 to 1.0; of four
 * and eight, only out of lines of 1024 bytes; whole sticks 0.3 to 1.1 times as fast.) Where a tile is one run of src
 * (`one_run`), as sticks are, those of a few lines are (256 MiB: [320,77,70,77] of two bytes, runs of 154 bytes, 0.28
 * -> 0.94, [64,32,2048,32], 64 bytes, 0.22 -> 0.8, of four bytes, 200 bytes, 0.30 -> 0.49). */
static bool writes_briefly_around(const tg_draft *d, int64_t writes, int64_t reads, int64_t width, bool one_run) {
    enum { FEW_LINES_OF_RUN = 512 };
    if (!tg_turns_around(d->plan) || d->box->block.dst_row == writes) return false;
    if (one_run && writes > FEW_LINES_OF_RUN) return false;
    if (writes < TG_STICK_BYTES || (one_run && writes % TG_STICK_BYTES != 0)) return true;
    return writes % TG_LINE_BYTES != 0 && (width <= 2 || reads >= LONG_READ);
}

/* Long walks: on in src, or else on in dst; where runs of dst are brief, on in dst, also around the caches. Where
 * columns take turns in dst, or rows in src, that side is one run already, and src is walked on; and where a tile is
 * one run of src, as sticks are, src is walked on if it comes from memory and runs of dst are not brief. In a cache dst
 * is. But the loop along which dst goes on behind the padding of rows is taken if it is longer than that one (512 KiB,
 * a Granite Rapids, 25 moves, together 1.13 times as fast: images, channels last, u8[3,3,256,255] to T(8,128) 0.41 ->
 * 0.50, f16[3,4,4,76,64] to T(16,128) 0.37 -> 0.57, but one 0.99 -> 0.67). */
static int32_t find_long_walk(const tg_draft *d, int64_t dst_width, int64_t src_width) {
    const tg_block *b = &d->box->block;
    const int64_t   writes = b->cols * dst_width, reads = b->rows * src_width;
    const bool      few_cols = writes < SHORT_RUN, few_rows = reads < SHORT_RUN;
    const bool      take_turns = few_cols && b->dst_row == writes, one_run = b->src_col == reads;
    const bool      brief = writes_briefly_around(d, writes, reads, dst_width, one_run);
    const bool      read_on = one_run && !take_turns && !brief && (few_rows || (d->plan->far && !few_cols));
    const bool      write_on = few_cols || brief;
    int32_t         o = write_on && !few_rows && !take_turns ? tg_draft_find_dst(d, writes) : NONE;
    if (read_on) o = tg_draft_find_src(d, b->cols * b->src_col);
    if (o == NONE) o = tg_draft_find_src(d, reads);
    if (o == NONE) o = tg_draft_find_dst(d, writes);
    if (o == NONE) o = tg_draft_find_dst(d, b->rows * b->dst_row);
    if (o == NONE) o = smallest_src(d);
    if (TG_MOSTLY(b->tail == 0)) return o;
    const int32_t behind = tg_draft_find_dst(d, writes + b->tail * dst_width);
    return behind != NONE && (o == NONE || d->loop[behind].n > d->loop[o].n) ? behind : o;
}

/* Of the elements that are transposed: whatever is converted is converted where it has fewer bytes. */
static void choose_transpose(tg_draft *d, int32_t cols, int32_t rows, int32_t dst_width, int32_t src_width) {
    d->box->family = TG_FAMILY_TRANSPOSE;
    d->box->width = dst_width < src_width ? dst_width : src_width;
    d->box->block.tail = d->tail;
    take_cols(d, cols);
    set_rows(d, take(d, rows));
    set_outer(d, take(d, find_long_walk(d, dst_width, src_width)));
}

/* The third loop of such a block: the next one along dst. But where columns are a few bytes, the one along which rows
 * go on in src, so that lines are long (a Zen 4, x memcpy, every second byte of 8 rows to T(8,128)(4,1), in a cache
 * 0.04 -> 0.6, 256 MiB 0.14 -> 0.6). And from memory, where columns are whole lines of dst and rows end in the middle
 * of some of src, the one that goes on from there, so that lines come once (256 MiB, an Emerald Rapids: of 49 bytes,
 * each second one, 8 times as many nearly next to them, 0.23 -> 0.29). */
TG_OUTLINE int32_t find_beside(const tg_draft *d, int32_t width) {
    const tg_block *b = &d->box->block;
    const int32_t   s = smallest_src(d);
    if (s == NONE || b->dst_col != width) return smallest_dst(d);
    const int64_t reads = b->rows * tg_magnitude(b->src_row), step = tg_magnitude(d->loop[s].src),
                  writes = b->cols * width;
    if (writes < FEW_BYTES && b->rows > 1 && step == reads) return s;
    if (!d->plan->far || writes < TG_LINE_BYTES || reads >= GOOD_LINES) return smallest_dst(d);
    return step >= reads && step < reads + TG_LINE_BYTES ? s : smallest_dst(d);
}

/* Elements of `width` bytes that are moved one by one, along a loop. */
static void choose_strided(tg_draft *d, int32_t cols, int32_t width) {
    d->box->family = TG_FAMILY_STRIDED;
    d->box->width = width;
    d->box->block.tail = d->tail;
    take_cols(d, cols);
    const int32_t r = smallest_src(d);
    set_rows(d, take(d, r != NONE ? r : smallest_dst(d)));
    set_outer(d, take(d, find_beside(d, width)));
}

static bool is_near(int64_t step, int64_t bytes) { return bytes < 16 && step > bytes && step <= TG_NEAR_STEP; }

/* A loop along which elements of so many bytes are neighbours on one side, and near each other on the other one: whole
 * vectors of them are moved (strided.c). */
static int32_t find_near(const tg_draft *d, int32_t on_dst, int32_t on_src, int64_t bytes) {
    const bool few_rows = on_src == NONE || d->loop[on_src].n * bytes < FEW_BYTES,
               few_cols = on_dst == NONE || d->loop[on_dst].n * bytes < FEW_BYTES;
    if (on_dst != NONE && few_rows && is_near(d->loop[on_dst].src, bytes)) return on_dst;
    if (on_src != NONE && few_cols && is_near(d->loop[on_src].dst, bytes)) return on_src;
    return NONE;
}

/* They have the padding behind them as a tail. */
static void take_wide(tg_draft *d, int32_t cols, int32_t rows, int32_t bytes) {
    choose_transpose(d, cols, rows, bytes, bytes);
    d->box->block.tail = d->wide_tail;
    d->wide_tail = 0;
}

/* Rows that go on in the next step of the outer loop have more columns. */
static int64_t columns_of_rows(const tg_block *b, int64_t bytes) {
    return b->outer > 1 && b->dst_outer == b->cols * bytes ? b->cols * b->outer : b->cols; /* positions of dst */
}

/* Lines that go on in the next step of the outer loop have more rows. */
static int64_t rows_of_lines(const tg_block *b, int64_t bytes) {
    return b->outer > 1 && b->src_outer == b->rows * bytes ? b->rows * b->outer : b->rows;
}

/* Are runs that are no power of two of bytes faster turned (uneven.c) than copied one by one? Where they fill vectors.
 * (A Zen 4, x memcpy, copied and turned; 64 MiB: rows of 8 runs of 3 bytes 0.5 and 0.7, of 2 of 3 bytes 0.6 and 0.3, of
 * 3 of 12 bytes 0.5 and 0.6, lines of 2 of 3 bytes to rows of 60 0.05 and 0.3; 512 KiB: rows of 6 of 5 bytes 0.28 and
 * 0.42, of 8 of 12 0.63 and 0.52, of 12 of 12 0.28 and 0.58, lines of 4 of 7 0.42 and 0.26, of 8 0.22 and 0.28; 8 MiB,
 * in a third-level cache: [16,170,8,16] of 24 0.55 and 0.40, [128,390,7] of 24 0.54 and 0.34. Those are of squares of
 * old; with lanes, an Emerald Rapids, 512 KiB, 25 moves of 2 to 4 rows that go on, together 1.5 times as fast, from
 * 0.88 on: [768,3,37] of 6 bytes 0.11 and 0.33, [24,3,1040] of 7 0.13 and 0.30.) */
static bool pays_to_turn(const tg_draft *d, int64_t bytes) {
    enum {
        SHORT_ELEMENT = 8, MEDIUM_ELEMENT = 16, LEAST_ROW = 20, BRIEF_ROW = 1024, /* bytes */
        LEAST_COLUMNS = 9, LEAST_ROWS = 5, LEAST_LONG = 9
    };
    const tg_block *b = &d->box->block;
    const int64_t   cols = columns_of_rows(b, bytes), rows = rows_of_lines(b, bytes);
    const bool      fills = cols * bytes >= LEAST_ROW;
    if (tg_has_small_matrices(b, bytes)) return true;
    if (bytes > MEDIUM_ELEMENT && d->plan->far && !d->plan->stream) return false;
    if (d->plan->stream) return fills && (rows * bytes >= LEAST_ROW || cols * bytes <= BRIEF_ROW);
    if (rows < (bytes <= MEDIUM_ELEMENT ? LEAST_ROWS : LEAST_LONG)) return false;
    return bytes <= SHORT_ELEMENT ? fills : cols >= LEAST_COLUMNS;
}

/* The third loop is the long walk of other transposes, or else the one that goes on where columns of dst end. Without
 * padding: only elements that are a power of two have such tails (segments.inc.h). */
static bool choose_uneven(tg_draft *d, int64_t bytes) {
    tg_block *const b = &d->box->block;
    const uint64_t  left = d->left;
    const int32_t   cols = tg_draft_find_dst(d, bytes), rows = tg_draft_find_src(d, bytes);
    if (bytes < 3 || (d->pair->cpu & TG_CPU_AVX512) == 0 || cols == NONE || rows == NONE || cols == rows) return false;
    choose_transpose(d, cols, rows, (int32_t)bytes, (int32_t)bytes);
    if (pays_to_turn(d, bytes)) return true;
    d->left = left & ~((uint64_t)1 << cols | (uint64_t)1 << rows);
    const int32_t on = tg_draft_find_dst(d, b->cols * bytes);
    if (on != NONE) set_outer(d, take(d, on));
    if (on != NONE && pays_to_turn(d, bytes)) return true;
    d->left = left;
    return false;
}

/* Can the innermost loops of dst, a, and of src, b, of `bytes` each, be loops of one cell that is worth it? */
static bool may_be_cell(const tg_draft *d, int32_t a, int32_t b, int64_t bytes) {
    enum { LONG_RUN_OF_CELL = 128 }; /* bytes */
    if (a == b || d->loop[a].n * d->loop[b].n * bytes > TG_CELL_BYTES) return false;
    return tg_max(d->loop[a].n, d->loop[b].n) * bytes <= LONG_RUN_OF_CELL &&
           tg_magnitude(d->loop[a].src) < TG_CELL_BYTES && d->loop[b].dst < TG_CELL_BYTES;
}

/* Short cells are rearranged in a stage, and then transposed as wide elements. (A Zen 4, 256 MiB, x memcpy, one by one
 * and so: 9 bytes 0.16 and 0.36, 12 bytes 0.28 and 0.39, 15 bytes 0.35 and 0.34, 24 bytes 0.51 and 0.36; out of 6 lines
 * of 4 bytes, which one by one are a line of the cache each, 0.16 and 0.26.) */
static bool turn_or_walk(tg_draft *d, const tg_cell_size *c) {
    enum { SHORT_CELL = 12, SHORT_OF_LINES = 31 };
    const int64_t most = c->src < c->dst ? SHORT_OF_LINES : SHORT_CELL;
    const int32_t cols = tg_draft_find_dst(d, c->dst), rows = tg_draft_find_src(d, c->src);
    const bool turned = tg_is_element(c->dst) || (c->dst <= most && (d->pair->cpu & TG_CPU_AVX512) != 0);
    if (turned && c->src * c->lines == c->dst && cols != NONE && rows != NONE && cols != rows)
        choose_transpose(d, cols, rows, (int32_t)c->dst, (int32_t)c->dst);
    else tg_draft_cell_block(d, c);
    return true;
}

/* Where the innermost loops of both sides are the same ones: cells. */
TG_OUTLINE bool choose_cells(tg_draft *d) {
    tg_cell_size c;
    return tg_draft_take_cell(d, &c) && turn_or_walk(d, &c);
}

/* Where those of one side are a few lines of the other one. */
TG_OUTLINE bool choose_lined_cells(tg_draft *d, uint64_t left, bool any) {
    tg_cell_size c;
    return tg_draft_take_lined_cell(d, left, any, &c) && turn_or_walk(d, &c);
}

/* Elements of `bytes` out of a few lines that go on together, or to such: short cells are faster than transposes. (A
 * Granite Rapids, 512 KiB, x memcpy, turned and as cells: 5 lines of 3 bytes 0.19 and 0.45, of 6 0.32 and 0.42, 7 of 3
 * 0.23 and 0.29, 5 of 7 0.38 and 0.42, but 7 of 5 0.37 and 0.29, 6 of 7 0.49 and 0.36; back 0.14 and 0.45, 0.34 and
 * 0.44, 0.33 and 0.33, 0.34 and 0.45.) */
static bool few_lines_go_on(const tg_draft *d, int32_t cols, int32_t rows, int64_t bytes) {
    enum { MOST_LINES = 6 };
    if (cols == NONE || rows == NONE || cols == rows) return false;
    const tg_loop *const a = &d->loop[cols], *const b = &d->loop[rows];
    const int64_t from = b->dst == a->n * bytes ? a->n : INT64_MAX, to = a->src == b->n * bytes ? b->n : INT64_MAX,
                  n = tg_min(from, to); /* lines */
    return n <= MOST_LINES && n * bytes <= TG_SHORT_CELL_OF_LINES;
}

static bool choose_tile(tg_draft *d, int32_t a, int32_t b);

/* Of several short loops on both sides, as pairs are that lie in tiles here and there: as listed tiles, straight, or
 * not so. (A Granite Rapids, x memcpy, as blocks of three loops and so: bf16[512,512]{0,1:T(8,128)(2,1)} to
 * {1,0:T(8,128)}, 512 KiB, 0.08 and 0.61, back 0.13 and 0.6; 8 MiB [198,21183] 0.28 and 0.9, u8[276,30393] of (4,1)
 * 0.08 and 0.71.) */
static bool choose_wide_tile(tg_draft *d, int32_t cols, int32_t rows, int64_t bytes) {
    if (d->wide_tail > 0 || d->dst_width == 0) return false;
    if (d->loop[cols].n * bytes >= SHORT_RUN || d->loop[rows].n * bytes >= SHORT_RUN) return false;
    d->unit = d->run;
    if (choose_tile(d, cols, rows)) return true;
    d->unit = 1;
    return false;
}

/* Short runs as one wide element each, or as elements of cells. */
static bool choose_wide(tg_draft *d) {
    const int64_t bytes = tg_bytes_for(d->run, d->plan->dst_bits);
    if (TG_MOSTLY(bytes >= TG_RUN_BYTES) || d->converts || d->tail > 0) return false;
    const int32_t cols = tg_draft_find_dst(d, bytes), rows = tg_draft_find_src(d, bytes);
    if (cols != NONE && rows != NONE && may_be_cell(d, cols, rows, bytes) && choose_cells(d)) return true;
    if (!tg_is_element(bytes))
        return (few_lines_go_on(d, cols, rows, bytes) && choose_lined_cells(d, d->left, false)) ||
               choose_uneven(d, bytes) || choose_lined_cells(d, d->left, false);
    const int32_t near = cols == rows ? NONE : find_near(d, cols, rows, bytes);
    if (near != NONE) choose_strided(d, near, (int32_t)bytes);
    else if (cols == NONE || rows == NONE || cols == rows) return false;
    else if (!choose_wide_tile(d, cols, rows, bytes)) take_wide(d, cols, rows, (int32_t)bytes);
    return true;
}

/* ---- tiles of several loops ---- */

/* Of what is transposed: single packed elements have been unpacked by then. */
static int32_t tile_width(const tg_draft *d) {
    if (d->unit > 1) return (int32_t)tg_bytes_for(d->unit, d->plan->src_bits);
    return d->src_width > 0 ? d->src_width : d->dst_width > 0 ? d->dst_width : 1;
}

/* A loop of which a tile has room for some steps only. */
typedef struct tile_rest {
    int32_t loop; /* or NONE */
    int64_t chunk, inside; /* steps at a time; elements of one step */
} tile_rest;

/* n steps of so many bytes, less what is no whole lines of them. */
static int64_t in_lines(int64_t n, int64_t bytes) {
    const int64_t grain = TG_LINE_BYTES / tg_min(bytes & -bytes, TG_LINE_BYTES);
    return n > grain ? n / grain * grain : n;
}

/* One side of a tile: from loop `index` on, the loops that go on where the ones before end in dst (or src), until their
 * run is good, of so many bytes; of the last one as much as there is room for, `most` elements. */
typedef struct tile_side {
    tg_loop *loop;
    int32_t  n;
    bool     in_dst;
    bool     lines; /* of dst, in runs of several, whole ones where it is cut */
    int64_t  reads; /* of src, so many bytes of each line, or 0: as many as suit squares */
    int64_t  elements;
    tile_rest left;
} tile_side;

static void take_side(tg_draft *d, tile_side *s, int32_t index, int64_t most, int64_t good) {
    const int32_t bits = s->in_dst ? d->plan->dst_bits : d->plan->src_bits;
    const int64_t unit = d->unit;
    s->n = 0;
    s->elements = 1;
    s->left.loop = NONE;
    while (index != NONE && s->n < TG_TILE_LOOPS) {
        const int64_t all = d->loop[index].n, room = tg_div(most, s->elements);
        if (s->n > 0 && all > room && room == 1) break;
        tg_loop *const l = &s->loop[s->n++];
        *l = d->loop[index];
        tg_draft_take(d, index);
        if (all > room) { /* chunks of the same size, but for the innermost loop, which fills vectors */
            l->n = s->n > 1 ? tg_ceil_div(all, tg_ceil_div(all, room)) : room;
            if (s->lines && s->n > 1) l->n = in_lines(l->n, tg_bytes_for(s->elements * unit, bits));
            s->left = (tile_rest){index, l->n, s->elements};
        }
        s->elements *= l->n;
        const int64_t bytes = tg_bytes_for(s->elements * unit, bits);
        if (all > room || bytes >= good || !tg_is_whole(s->elements * unit, bits)) break;
        index = s->in_dst ? tg_draft_find_dst(d, bytes) : tg_draft_find_src(d, bytes);
    }
}

/* Elements of one side, at most; `carried`: of tiles whose rows are. */
static int64_t most_of(const tg_draft *d, const tile_side *s, bool carried) {
    const int32_t width = tile_width(d);
    if (!s->lines) return tg_max(s->reads / width, tg_tile_side(width));
    return carried ? tg_min(TG_TURN_SIDE, CARRIED_ROW / width) : TG_TURN_SIDE;
}

/* Both sides, the one that begins with the shorter loop first; the other one has what room is left, or as much as if
 * columns were not in lines; or what room there is for rows that are carried. Columns and rows may be the other way
 * round. */
static void take_sides(tg_draft *d, tile_side *cols, int32_t a, tile_side *rows, int32_t b) {
    const int64_t width = tile_width(d);
    const bool    carried = cols->reads > 0 || rows->reads > 0;
    if (d->loop[b].n < d->loop[a].n) {
        take_sides(d, rows, b, cols, a);
        return;
    }
    tg_draft_take(d, b); /* not for the other side */
    take_side(d, cols, a, most_of(d, cols, carried), cols->lines ? GOOD_LINES : tg_max(GOOD_RUN, cols->reads));
    d->left |= (uint64_t)1 << b;
    int64_t room = tg_max(tg_div(tg_div(TG_STAGE_BYTES, width), cols->elements), tg_tile_side((int32_t)width));
    if (carried) room = most_of(d, rows, true);
    take_side(d, rows, b, room / WHOLE_BYTES * WHOLE_BYTES,
              tg_max(tg_max(tg_div(GOOD_TILE, cols->elements), GOOD_RUN), rows->reads));
}

static int64_t bytes_of_steps(int64_t n, int64_t step, int32_t bits) {
    return step == TG_PACKED_STEP ? tg_bytes_for(n, bits) : n * step;
}

/* The loop counts chunks of columns, or rows, from now on. The last one may be shorter. */
static void count_chunks(tg_draft *d, tg_block_loop which, const tile_rest *r) {
    if (r->loop == NONE) return;
    tg_loop *const l = &d->loop[r->loop];
    d->left |= (uint64_t)1 << r->loop;
    d->box->total[which] = r->inside * l->n;
    l->n = tg_ceil_div(l->n, r->chunk);
    l->dst = bytes_of_steps(r->chunk, l->dst, d->plan->dst_bits);
    l->src = bytes_of_steps(r->chunk, l->src, d->plan->src_bits);
    l->chunks_of = (int32_t)which;
}

static void set_tile(tg_draft *d, int64_t cols, int64_t rows) {
    tg_box        *box = d->box;
    const tg_block tile = {.outer = 1, .rows = rows, .cols = cols, .tail = d->tail,
                           .dst_row = d->rows[0].dst, .dst_col = d->dst_width, /* 0: packed */
                           .src_row = d->src_width, .src_col = d->cols[0].src};
    box->block = tile;
    box->route = TG_ROUTE_TILE;
    box->family = TG_FAMILY_TRANSPOSE;
    box->width = tile_width(d);
}

/* Are columns short, and one run of src together? A block of three loops reads on from there. */
static bool is_one_walk(const tg_draft *d, int32_t a, int32_t b) {
    const int64_t bytes = tg_bytes_for(d->loop[b].n, d->plan->src_bits);
    return bytes <= GOOD_RUN && d->loop[a].src == bytes;
}

/* Are elements best converted along lines of src, and then transposed? They have no more bytes then, lines are long,
 * and runs of dst too, or their elements take turns. From memory, tiles gather these lines faster (route.inc.h). */
static bool is_narrow(const tg_draft *d, int32_t a, int32_t b) {
    const int64_t writes = d->loop[a].n * d->unit * d->dst_width, reads = d->loop[b].n * d->unit * d->src_width;
    if (!d->converts || d->dst_width == 0 || d->dst_width > d->src_width) return false;
    if (writes < SHORT_RUN) return d->loop[b].dst == writes;
    return reads >= GOOD_RUN && (d->dst_width < d->src_width || !d->plan->memory);
}

/* Elements that stay as they are, in runs of at least a cache line on both sides, need no stage. */
static bool turns_straight(const tg_draft *d, int64_t cols, int64_t rows) {
    return d->tail == 0 && tg_min(cols, rows) * tile_width(d) >= TG_LINE_BYTES;
}

/* Around the caches, are the runs of dst along loop a whole rows together with the next loop, which follow each other
 * along loop b? A block has all three then. (A Zen 4, 64 MiB, [871543,77,4] of one byte, reversed, 0.16 -> 0.54 of
 * memcpy, [200001,77,4] of two 0.34 -> 0.6, [5592,1000,3] of four 0.44 -> 0.76. But long rows of whole lines are such
 * of tiles too, [52428,320,4] of one byte 0.85 and 0.65, and what rows of a power of two come from crowds the caches:
 * [131072,64,8] of one 0.83 and 0.46.) */
static bool make_rows(const tg_draft *d, int32_t a, int32_t b) {
    const int64_t bytes = tg_bytes_for(d->loop[a].n, d->plan->dst_bits), row = d->loop[b].dst;
    if (!tg_turns_around(d->plan) || (row & (row - 1)) == 0) return false;
    if (row % TG_LINE_BYTES == 0 && row > LONG_BOTH) return false;
    for (int32_t i = 0; i < d->n; i++)
        if (i != b && d->loop[i].dst == bytes && bytes * d->loop[i].n == row) return true;
    return false;
}

/* Are runs of dst so short, and apart from each other, that they are better made of another loop too? (An Emerald
 * Rapids, images of [2,n,200,200] to channels last and columns before rows, x memcpy: 3 channels of 2 bytes 0.03 ->
 * 0.37, runs of 16 bytes 0.16 -> 0.44, of 32 0.36 -> 0.59; of 48 0.40 either way.) */
static bool writes_apart(const tg_draft *d, const tile_side *cols, int32_t a, const tile_side *rows, int32_t b) {
    const int64_t bytes = tg_bytes_for(d->loop[a].n, d->plan->dst_bits);
    return cols->n > 1 && bytes <= SHORT_RUN / 2 && d->loop[b].dst != bytes && !make_rows(d, a, b) &&
           turns_straight(d, cols->elements, rows->elements);
}

/* Does another loop go on on both sides, where it counts matrices of short lines to short rows? From memory a block of
 * all three makes long rows of them. (A Zen 4, 64 MiB, reversed: [16,87381,48] of one byte 0.2 -> 0.6 of memcpy,
 * [24,58254,24] of two 0.3 -> 0.85, [12,116508,12] of four 0.5 -> 1.3; rows of one line 0.4 to 0.8 times as fast, lines
 * of one, and rows that are not long even so, 0.7 to 1.0. Not known where stores wait for their lines.) */
static bool goes_on_both_ways(const tg_draft *d, int32_t a, int32_t b) {
    if (!tg_turns_around(d->plan) || d->unit != 1 || (d->pair->cpu & TG_CPU_CLAIMS) != 0) return false;
    const int64_t writes = d->loop[a].n * d->dst_width, reads = d->loop[b].n * d->src_width;
    const int32_t on = tg_draft_find_dst(d, writes);
    if (on == NONE || d->tail > 0 || d->loop[on].src != reads || d->loop[on].n * writes < LONG_BOTH) return false;
    if (writes == TG_LINE_BYTES || (reads == TG_LINE_BYTES && d->dst_width > 1)) return false;
    return tg_min(reads, writes) >= LEAST_BOTH && (writes < TG_LINE_BYTES || reads >= GOOD_BOTH);
}

/* Do rows of these tiles begin inside of lines of dst? Then they are carried on in the next tile, if the mover can
 * (carried_tiles.inc.h). */
static bool share_lines(const tg_draft *d, const tile_side *cols, const tile_side *rows) {
    int64_t places = cols->elements * tile_width(d);
    for (int32_t i = 0; i < rows->n; i++) places |= rows->loop[i].dst;
    for (uint64_t left = d->left; left != 0; left &= left - 1) places |= d->loop[__builtin_ctzll(left)].dst;
    return places % TG_LINE_BYTES != 0;
}

/* From memory, do whole rows of dst, of half a kilobyte or less, follow each other along one of several loops that
 * the lines of src are made of, inside of cache lines? Tiles of all of them write these lines at once. (A Granite
 * Rapids, 256 MiB, [163880,9,91]{1,0,2} of two bytes to {2,0,1} 0.25 -> 0.61 of memcpy, [221,140,964,9] of one to
 * {0,2,1,3} 0.21 -> 0.56, eleven others 1.00 to 2.3 times as fast; but rows of 1072 bytes 0.58 -> 0.26, rows that do
 * not follow each other 0.37 -> 0.29, and at 8 MiB 18 moves from 0.63 to 1.58, of which 15 lose.) */
static bool follow_in_lines(const tg_draft *d, const tile_side *cols, const tile_side *rows) {
    const int64_t row = cols->elements * tile_width(d);
    if (!d->plan->memory || rows->n < 2 || cols->left.loop != NONE || row > LONG_BOTH / 2) return false;
    if (!share_lines(d, cols, rows) || !turns_straight(d, cols->elements, rows->elements)) return false;
    if (tg_crowds_second(cols->loop[0].src, cols->loop[0].n)) return false;
    for (int32_t i = 0; i < rows->n; i++)
        if (rows->loop[i].dst == row) return true;
    return false;
}

/* What else would be gathered, turned and written in a stage of the first-level cache. Two transposes are faster where
 * either side's runs would leave vectors of a panel's empty. */
static bool choose_stage(tg_draft *d, uint64_t left, int32_t a, int32_t b, bool brief) {
    enum { LEAST_SIDE = 24 }; /* bytes */
    const bool narrow = brief && tg_min(d->loop[a].n, d->loop[b].n) * tile_width(d) < LEAST_SIDE;
    if (brief && choose_lined_cells(d, left, false)) return true;
    if (!narrow && tg_draft_panel(d, left)) return true;
    if (brief && tg_draft_twice(d, left, a, b)) return true;
    if (brief && choose_lined_cells(d, left, true)) return true;
    return narrow && tg_draft_panel(d, left);
}

/* Transposes that convert, packing among it, and of runs so short that blocks of three loops would be a handful of
 * elements. Where only one side has short runs, the third loop of a block makes these longer. */
static bool choose_tile(tg_draft *d, int32_t a, int32_t b) {
    const int32_t  dst = d->plan->dst_bits, src = d->plan->src_bits;
    const bool     packed = d->dst_width == 0 || d->src_width == 0, always = packed || d->converts;
    const bool     writes_briefly = tg_bytes_for(d->loop[a].n, dst) < GOOD_RUN,
                   reads_briefly = tg_bytes_for(d->loop[b].n, src) < GOOD_RUN;
    const uint64_t left = d->left;
    tile_side      cols = {.loop = d->cols, .in_dst = true}, rows = {.loop = d->rows, .in_dst = false};
    if (d->tail > 0 && d->loop[a].n > tg_tile_side(tile_width(d))) return false;
    if (is_narrow(d, a, b)) return false;
    if (!always && goes_on_both_ways(d, a, b)) return false;
    if (!always && !writes_briefly && !reads_briefly) return false;
    if (!always && left == ((uint64_t)1 << a | (uint64_t)1 << b)) return false; /* nothing makes them longer */
    if (!packed && d->unit == 1 && !writes_briefly && is_one_walk(d, a, b)) return false;
    cols.lines = !always && tg_turns_around(d->plan);
    take_sides(d, &cols, a, &rows, b);
    if (cols.lines && share_lines(d, &cols, &rows)) {
        d->left = left;
        rows.reads = TG_CARRIED_READ;
        take_sides(d, &cols, a, &rows, b);
    }
    if (cols.lines && !turns_straight(d, cols.elements, rows.elements)) { /* a stage has no room for them */
        d->left = left;
        cols.lines = false;
        rows.reads = 0;
        take_sides(d, &cols, a, &rows, b);
    }
    const bool wide = writes_briefly && reads_briefly && (cols.n > 1 || rows.n > 1);
    const bool apart = !reads_briefly && writes_apart(d, &cols, a, &rows, b);
    const bool joins = cols.lines && reads_briefly && follow_in_lines(d, &cols, &rows);
    if (always || wide || apart || joins || cols.n > 2 || rows.n > 2) {
        const bool straight = !always && turns_straight(d, cols.elements, rows.elements);
        if (!always && !straight && d->unit > 1) { /* a stage is for elements */
            d->left = left;
            return false;
        }
        if (!always && !straight && choose_stage(d, left, a, b, writes_briefly && reads_briefly)) return true;
        d->ncols = cols.n;
        d->nrows = rows.n;
        count_chunks(d, TG_BLOCK_COLS, &cols.left);
        count_chunks(d, TG_BLOCK_ROWS, &rows.left);
        set_tile(d, cols.elements, rows.elements);
        if (straight) d->box->route = TG_ROUTE_TURN;
        return true;
    }
    d->left = left;
    return false;
}

/* Short runs that are converted, as one unit each. */
static bool choose_units(tg_draft *d) {
    const int64_t from = tg_bytes_for(d->run, d->plan->src_bits), to = tg_bytes_for(d->run, d->plan->dst_bits);
    if (TG_MOSTLY(!d->converts || d->tail > 0)) return false;
    if (!tg_is_element(from) || !tg_is_whole(d->run, d->plan->src_bits)) return false;
    const int32_t a = tg_draft_find_dst(d, to), b = tg_draft_find_src(d, from);
    if (d->run == 1 || a == NONE || b == NONE || a == b) return false;
    d->unit = d->run;
    if (is_narrow(d, a, b)) choose_transpose(d, a, b, (int32_t)to, (int32_t)from);
    else return choose_tile(d, a, b);
    return true;
}

/* ---- transposes of packed elements ---- */

/* Where lines of src go on from step to step, or rows of dst, these are parts of one. */
static int32_t find_joined(const tg_draft *d) {
    const tg_block *b = &d->box->block;
    const int32_t   bits = d->plan->dst_bits;
    int32_t         o = tg_draft_find_src(d, tg_bytes_for(b->rows, bits));
    if (o == NONE) o = tg_draft_find_dst(d, tg_bytes_for(b->cols, bits));
    return o == NONE ? smallest_src(d) : o;
}

/* Of the same bits on both sides. */
static bool choose_packed(tg_draft *d, int32_t a, int32_t b) {
    if (d->dst_width > 0 || d->src_width > 0 || d->converts || d->tail > 0) return false;
    d->box->family = TG_FAMILY_PACKED;
    d->box->width = 1;
    d->box->block.tail = 0;
    take_cols(d, a);
    set_rows(d, take(d, b));
    set_outer(d, take(d, find_joined(d)));
    return true;
}

/* ---- padding ---- */

static void choose_fill(tg_draft *d) {
    d->box->family = TG_FAMILY_ROWS;
    d->box->width = 1;
    d->box->block.tail = 0;
    const int64_t run = tg_max(d->run, 1);
    set_cols(d, d->loose ? run : tg_bytes_for(run, d->plan->dst_bits), 1, 0);
    set_rows(d, take(d, smallest_dst(d)));
    set_outer(d, take(d, smallest_dst(d)));
}

/* ---- families ---- */

/* Along it src goes on downwards: from the other end on it goes on upwards, and dst downwards. */
static void turn_round(tg_draft *d, int32_t index) {
    tg_loop *const l = &d->loop[index];
    d->box->dst += (l->n - 1) * l->dst;
    d->box->src += (l->n - 1) * l->src;
    l->dst = -l->dst;
    l->src = -l->src;
}

/* The loop along which src is read without a gap, but for the columns. */
static int32_t find_rows(tg_draft *d, int32_t cols) {
    const int32_t up = tg_draft_find_src(d, tg_element_step(d->src_width));
    if (up != NONE || d->src_width == 0 || d->dst_width == 0) return up;
    const int32_t down = tg_draft_find_src(d, -d->src_width);
    if (down == NONE || down == cols) return NONE;
    turn_round(d, down);
    return down;
}

static bool is_broadcast(const tg_draft *d, int32_t cols) {
    return d->loop[cols].src == 0 && tg_bytes_for(d->loop[cols].n, d->plan->dst_bits) >= SHORT_RUN &&
           d->src_width > 0 && d->dst_width > 0;
}

/* Units of a few elements of which some are missing: here, behind them, or there. */
static bool choose_missing(tg_draft *d, int32_t a, int32_t b) {
    if (d->dst_width == 0 || d->src_width == 0 || d->converts) return false;
    if (TG_RARELY(d->tail > 0)) {
        if (d->tail * d->dst_width >= FEW_BYTES) return false;
        const int32_t line = b == NONE ? tg_draft_find_src(d, d->src_width) : b;
        return tg_draft_padded_units(d, a, line);
    }
    return TG_RARELY(b != NONE && d->loop[b].n * d->src_width < FEW_BYTES) && tg_draft_parted_units(d, a, b);
}

static void choose_move(tg_draft *d) {
    const int32_t a = tg_draft_find_dst(d, tg_element_step(d->dst_width));
    const bool    apart = a == NONE || is_broadcast(d, a);
    const int32_t b = apart ? NONE : find_rows(d, a);
    if (b != NONE && tg_draft_turns_both(d, a, b)) return;
    if (b != NONE && may_be_cell(d, a, b, d->dst_width) && choose_cells(d)) return;
    if ((a == NONE || !apart) && choose_missing(d, a, b)) return;
    if (b != NONE && (choose_packed(d, a, b) || choose_tile(d, a, b))) return; /* a != b: there is no run */
    if (b != NONE) choose_transpose(d, a, b, d->dst_width > 0 ? d->dst_width : d->src_width, d->src_width);
    else if (a == NONE && (d->tail > 0 || d->n == 0)) choose_rows(d); /* single elements */
    else if (!tg_draft_apart(d)) choose_strided(d, a != NONE ? a : smallest_dst(d), d->src_width);
}

/* Runs that are less than lines, as panels (256 MiB, a Zen 4, x memcpy, some 60 such of `survey.py`: where they were
 * written a few at a time 0.2 to 0.5 -> 0.6 to 0.8, else 0.5 to 0.8 -> 0.4 to 0.9; of 56 and 64 bytes, which fill
 * lines, 0.75 to 1.5 -> 0.5 to 0.7). */
static bool choose_brief_runs(tg_draft *d) {
    enum { BRIEF_RUN = 50 }; /* bytes */
    if (TG_MOSTLY(!tg_turns_around(d->plan))) return false;
    return tg_bytes_for(d->run, d->plan->dst_bits) <= BRIEF_RUN && tg_draft_panel(d, d->left);
}

static void choose_block(tg_draft *d) {
    d->box->route = TG_ROUTE_MOVE; /* route.inc.h decides, unless there are tiles or cells */
    d->box->block.ragged = TG_RAGGED_NOT;
    d->box->block.last = 0;
    if (TG_RARELY(d->fill)) choose_fill(d);
    else if (d->run == 0) choose_move(d);
    else if (d->loose || (!choose_wide(d) && !choose_units(d) && !choose_brief_runs(d))) choose_rows(d);
}
