/* Converting movers: rows of neighbours on both sides, at the speed of memory.
 *
 * The work is done in grids: rows of whole 64-byte lines of the destination, two loops around. A loop of its
 * own for each pair of encodings and each vector size (convert_rows.inc.h) converts a grid without a call
 * inside. What is left of a block is arranged here, the same for all pairs, in groups: the least number of
 * elements that fill whole bytes on both sides.
 *
 *     block                                        way
 *     not streamed, rows of a line or more          one grid, and one for a last line that overlaps it
 *     not streamed, shorter rows                    16 rows at a time through lines on the stack
 *     streamed, whole lines at lines                grids that read few streams (move_lines)
 *     streamed, rows of whole lines, not at lines,  8 rows (or 1, or 4: streams_of) that follow each other in dst
 * joined 1 KiB of src or less                          in registers, or 8 (or 1, or 16: move_joined) brought together
 * on the stack and converted as one piece, which begins at a line (convert_joined.inc.h) streamed, dst goes on along
 * outer             few streams, put together to whole lines (lines.h); what a row leaves over is carried
 * (move_carried) streamed, anything else                       put together to whole lines (move_in_pieces) packed dst
 * if streamed, parts of a byte       not streamed narrow rows with padding, some of them        side by side on the
 * stack, converted as one run, then padded (move_narrow) no loop for the pair, or no such processor    row by row with
 * the loops of convert.c
 *
 * Example: float16 to row-major lines of 8150 elements from sticks. A row is 16300 bytes and begins anywhere in a line;
 * outer steps over the sticks of a row, so dst goes on along outer. Together there are 8 sticks of one row, 1024 bytes,
 * and the end of the stick before them: 16 whole lines are written, and the rest is left to the next 8.
 *
 * Sources are never read beyond their last element: what is no whole line is copied to the stack first. Fetching ahead
 * by instructions wins where src is far and whole lines are streamed (a Zen 4, 64 and 256 MiB: 1.1 to 1.3 times as
 * fast), and not for a processor that likes few streams (move.h), except for rows in batches, which are more than any
 * follows.
 *
 * A loop only remembers that some integer did not fit. The plain loops then find the first one. */
#include "base/compiler.h"

TG_ALIGN_LOOPS /* else sticks into the middle of lines are 7 % slower, or not, as other code comes and goes */

#include "base/checked.h"
#include "kernels/convert_pairs.h"
#include "kernels/lines.h"
#include "kernels/target.h"

#if TG_HAVE_X86
#  include <immintrin.h>
#elif TG_HAVE_NEON
#  include <arm_neon.h>
#endif
#include <string.h>

enum {
    STICK = TG_STICK_BYTES,
    BATCH = 16, /* short rows at once, or ends of runs */
    WIDEST = 8  /* source bytes for one byte of dst, at most */
};

typedef struct grid {
    int64_t outer, rows, lines; /* 64-byte lines of dst in a row */
    int64_t dst_outer, dst_row, src_outer, src_row;
    int64_t ahead; /* if streamed, what lies so many bytes further on in src is fetched; 0: nothing */
    bool    claims; /* if not streamed: the line TG_CLAIMED bytes further on in dst is asked for */
    int64_t begun;  /* if not 0, dst goes on from row to row, and has so many bytes of what comes before row 0 first: */
    int64_t before; /* the end of what so many bytes from row 0 in src become a line; if `joins` */
} grid;

/* True if some value did not fit. stream: dst is at a line. */
typedef bool grid_loop(uint8_t *restrict dst, const uint8_t *restrict src, const grid *g, bool stream);

typedef struct pair {
    grid_loop     *loop;
    tg_lines_copy *copy;
    int32_t        src, dst, log; /* bytes of a group; it has 2^log elements */
    bool           joins; /* lines of dst that begin inside of what becomes a line, by multiples of JOINED_UNIT */
    uint32_t       cpu;   /* what the loop needs */
} pair;

enum { JOINED_UNIT = 4 };

/* ---- plain, and what no loop does ---- */

/* b->tail elements of padding; less than a byte of them keeps the other bits. */
static void fill_tail(uint8_t *d, const tg_block *b, int32_t bits) {
    const int64_t size = b->tail * bits, n = size / 8;
    if (n < TG_PAD_PATTERN) tg_copy_short(d, b->pad, n);
    else tg_fill_bytes(d, n, b->pad, false);
    if (size % 8 != 0) {
        const unsigned mask = (1u << size % 8) - 1, pad = b->pad[n % TG_PAD_PATTERN];
        d[n] = (uint8_t)((d[n] & ~mask) | (pad & mask));
    }
}

static const uint8_t *move_plain(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b) {
    const tg_rect   line = {1, b->cols, {0, 0, 1}, {0, 0, 1}};
    const tg_kernel k = {m->plain, m->dst, m->src, m->convert, m->then, m->stream};
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const       d = dst + o * b->dst_outer + r * b->dst_row;
            const uint8_t *const s = src + o * b->src_outer + r * b->src_row;
            const int64_t        bad = k.move(&k, d, s, &line);
            if (bad >= 0) return s + bad * m->src.bits / 8;
            if (b->tail > 0) fill_tail(d + b->cols * m->dst.bits / 8, b, m->dst.bits);
        }
    return NULL;
}

/* ---- less than a line ---- */

/* n rows of fewer groups than fill a line of dst; 64 bytes of each are written, in the order of the rows. */
static bool convert_short(uint8_t *dst, int64_t dst_row, const uint8_t *src, int64_t src_row, const pair *p, int64_t n,
                          int64_t groups) {
    const int64_t need = TG_LINE_BYTES / p->dst * p->src, have = groups * p->src;
    const grid    g = {.outer = 1, .rows = n, .lines = 1, .dst_row = dst_row, .src_row = need};
    uint8_t       in[BATCH * TG_LINE_BYTES * WIDEST];
    memset(in, 0, (size_t)(n * need));
    for (int64_t r = 0; r < n; r++) {
        const uint8_t *s = src + r * src_row;
        uint8_t       *row = in + r * need;
        int64_t        i = 0;
        for (; have - i >= TG_LINE_BYTES; i += TG_LINE_BYTES) memcpy(row + i, s + i, TG_LINE_BYTES);
        tg_copy_short(row + i, s + i, have - i);
    }
    return p->loop(dst, in, &g, false);
}

/* ---- not streamed ---- */

/* Rows of less than a line. `line`: a whole one is written, since what follows the row in it is padding, written later.
 */
static bool short_rows(uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p, int64_t groups, bool line) {
    uint8_t out[BATCH][TG_LINE_BYTES];
    bool    bad = false;
    for (int64_t r = 0; r < b->rows; r += BATCH) {
        const int64_t n = tg_min(BATCH, b->rows - r);
        bad |= convert_short(out[0], TG_LINE_BYTES, src + r * b->src_row, b->src_row, p, n, groups);
        for (int64_t i = 0; i < n; i++) {
            if (line) memcpy(dst + (r + i) * b->dst_row, out[i], TG_LINE_BYTES);
            else tg_copy_short(dst + (r + i) * b->dst_row, out[i], groups * p->dst);
        }
    }
    return bad;
}

/* What is left of each row behind its groups: packed elements that do not fill a byte, and the padding. */
static void finish_rows(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p,
                        int64_t groups) {
    const tg_block rest = {.outer = 1, .rows = 1, .cols = b->cols - (groups << p->log)};
    const int64_t  end = b->cols * m->dst.bits / 8;
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const       d = dst + o * b->dst_outer + r * b->dst_row;
            const uint8_t *const s = src + o * b->src_outer + r * b->src_row;
            if (rest.cols > 0) (void)move_plain(m, d + groups * p->dst, s + groups * p->src, &rest);
            if (b->tail > 0) fill_tail(d + end, b, m->dst.bits);
        }
}

/* ---- whole lines: few streams at a time ---- */

/* SPARING_STREAMS, and bytes ahead: on a Granite Rapids, 256 MiB, x memcpy, float32 to bfloat16 sticks 0.82 -> 0.95,
 * and float16 to DLFloat16 0.94 -> 1.03, against 16 and 256 before. In caches a grid takes longer to begin than more
 * streams cost. */
enum {
    RUN = TG_STREAMS,
    FAR = 1536,          /* bytes: what lies so much further on in src is fetched */
    SPARING_STREAMS = 4, /* of an Intel around the caches */
    SPARING_FAR = 512,
    SPARING_NEAR = 16, /* in caches */
    SHORT_FAR = 512,   /* of rows in batches */
    JOINED_BYTES = 16 << 10,
    JOINED_ROWS = 16, /* of an Intel in the buffer, which has room for so many of any */
    LONG_RUN = 64, /* rows */
    CARRIED = 64
};

/* Bytes. A processor that likes few streams fetches them itself. */
static int64_t ahead_of(const tg_mover *m) {
    return !m->fetches ? 0 : m->sparing ? SPARING_FAR : m->few_streams ? 0 : FAR;
}

static int64_t streams_of(const tg_mover *m, bool stream) {
    if (m->sparing) return stream ? SPARING_STREAMS : SPARING_NEAR;
    return stream && m->few_streams ? 1 : RUN;
}

/* Are lines of dst asked for early (move.h)? Only if they are more than those of src: otherwise reading and converting
 * take longer than storing. */
static bool claims(const tg_mover *m, const pair *p) { return m->claims && !m->stream && p->dst > p->src; }

/* dst goes on along outer, so that the sources of one row lie apart: 8 of them, for all rows, then the next 8.
 * Otherwise the rows lie apart in src: some rows, all of outer. Where lines of dst are asked for it is walked from end
 * to end, since what is asked for at the end of a run is for another time. */
static bool move_lines(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p,
                       int64_t bytes, bool stream) {
    const bool    all = claims(m, p), goes_on = b->dst_outer == bytes;
    const int64_t n = goes_on ? b->outer : b->rows, some = goes_on ? RUN : streams_of(m, stream), run = all ? n : some;
    grid          g = {.lines = bytes / TG_LINE_BYTES, .ahead = ahead_of(m), .claims = all};
    g.outer = goes_on ? b->rows : b->outer;
    g.dst_outer = goes_on ? b->dst_row : b->dst_outer;
    g.src_outer = goes_on ? b->src_row : b->src_outer;
    g.dst_row = goes_on ? b->dst_outer : b->dst_row;
    g.src_row = goes_on ? b->src_outer : b->src_row;
    bool bad = false;
    for (int64_t i = 0; i < n; i += run) {
        g.rows = tg_min(run, n - i);
        bad |= p->loop(dst + i * g.dst_row, src + i * g.src_row, &g, stream);
    }
    return bad;
}

/* ---- streamed in pieces, put together to lines ---- */

/* The line begun is kept for the run that goes on there. */
static void keep_line(tg_lines *l, const pair *p, uint8_t *line) {
    tg_lines_flush(l, p->copy);
    memcpy(line, l->bytes, TG_LINE_BYTES);
}

/* n rows of whole lines, dst going on from one to the next. */
static bool add_lines(tg_lines *l, const uint8_t *s, const pair *p, int64_t n, int64_t lines, int64_t src_row) {
    const int64_t bytes = lines * TG_LINE_BYTES;
    bool          bad = false;
    while (n > 0) {
        const int64_t some = tg_min((TG_LINES_CAPACITY - l->to) / bytes, n);
        const bool    one = src_row == lines * (TG_LINE_BYTES / p->dst * p->src); /* src goes on as well */
        const grid    g = {.outer = 1, .rows = one ? 1 : some, .lines = one ? some * lines : lines,
                           .dst_row = bytes, .src_row = src_row};
        if (some == 0) {
            tg_lines_flush(l, p->copy);
            continue;
        }
        bad |= p->loop(l->bytes + l->to, s, &g, false);
        l->to += some * bytes;
        s += some * src_row;
        n -= some;
    }
    return bad;
}

/* One row of any length. */
static bool add_row(tg_lines *l, const uint8_t *s, const pair *p, int64_t groups) {
    const int64_t line = TG_LINE_BYTES / p->dst, lines = groups / line, rest = groups % line;
    bool          bad = add_lines(l, s, p, lines, 1, line * p->src);
    if (rest == 0) return bad;
    if (l->to > TG_LINES_CAPACITY - TG_LINE_BYTES) tg_lines_flush(l, p->copy);
    bad |= convert_short(l->bytes + l->to, 0, s + lines * line * p->src, 0, p, 1, rest);
    l->to += rest * p->dst;
    return bad;
}

/* n <= BATCH rows of row_bytes with padding, dst going on. Short rests are written as whole lines, into the
 * next row too, so what is whole comes later. */
static bool add_rows(tg_lines *l, const uint8_t *s, const tg_block *b, const pair *p, int64_t n, int64_t row_bytes,
                       int64_t groups) {
    const int64_t line = TG_LINE_BYTES / p->dst, lines = groups / line, rest = groups % line;
    const grid    g = {.outer = 1, .rows = n, .lines = lines, .dst_row = row_bytes, .src_row = b->src_row};
    bool          bad = false;
    if (l->to + n * row_bytes > TG_LINES_CAPACITY) tg_lines_flush(l, p->copy);
    uint8_t *const d = l->bytes + l->to;
    if (rest > 0)
        bad = convert_short(d + lines * TG_LINE_BYTES, row_bytes, s + lines * line * p->src, b->src_row, p, n, rest);
    if (lines > 0) bad |= p->loop(d, s, &g, false);
    for (int64_t r = 0; r < n && b->tail > 0; r++)
        tg_fill_bytes(d + r * row_bytes + groups * p->dst, row_bytes - groups * p->dst, b->pad, false);
    l->to += n * row_bytes;
    return bad;
}

static void fetch_rows(const uint8_t *s, int64_t src_row, int64_t n, int64_t bytes) {
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < bytes; i += TG_LINE_BYTES) TG_FETCH(s + r * src_row + i);
}

/* What the same rows have some steps of outer later is fetched: no prefetcher follows so many rows. */
static bool move_short_rows(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p,
                            int64_t groups) {
    const int64_t later = !m->fetches || b->src_outer <= 0 ? b->outer : tg_max(SHORT_FAR / b->src_outer, 1);
    bool          bad = false;
    tg_lines      l;
    for (int64_t o = 0; o < b->outer; o++) {
        tg_lines_begin(&l, dst + o * b->dst_outer);
        for (int64_t r = 0; r < b->rows; r += BATCH) {
            const int64_t        n = tg_min(BATCH, b->rows - r);
            const uint8_t *const s = src + o * b->src_outer + r * b->src_row;
            if (o + later < b->outer) fetch_rows(s + later * b->src_outer, b->src_row, n, groups * p->src);
            bad |= add_rows(&l, s, b, p, n, b->dst_row, groups);
        }
        tg_lines_end(&l, p->copy);
    }
    return bad;
}

/* Rows with padding or not at lines; those that continue one another along rows or outer share lines. */
static bool move_in_pieces(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p) {
    const int64_t groups = b->cols >> p->log, width = m->dst.bits / 8, row_bytes = groups * p->dst + b->tail * width;
    const bool    by_rows = b->dst_outer == row_bytes && b->dst_row != row_bytes; /* outer is the inner loop */
    const bool    on = by_rows || b->dst_row == row_bytes;
    const int64_t outer = by_rows ? b->rows : b->outer, inner = by_rows ? b->outer : b->rows;
    bool          bad = false;
    tg_lines      l;
    if (on && !by_rows && row_bytes * BATCH <= TG_LINES_CAPACITY - TG_LINE_BYTES)
        return move_short_rows(m, dst, src, b, p, groups);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            const int64_t  y = by_rows ? i : o, x = by_rows ? o : i;
            uint8_t *const d = dst + y * b->dst_outer + x * b->dst_row;
            if (i == 0 || !on) tg_lines_begin(&l, d);
            bad |= add_row(&l, src + y * b->src_outer + x * b->src_row, p, groups);
            tg_lines_pad(&l, b->pad, b->tail * width, p->copy);
            if (i + 1 == inner || !on) tg_lines_end(&l, p->copy);
        }
    return bad;
}

/* ---- streamed: few streams at a time ---- */

/* The same where lines are not whole: what one run of a row leaves over waits for the next. No padding. */
static bool move_carried(uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p, int64_t groups) {
    const int64_t bytes = groups * p->dst;
    uint8_t       carry[CARRIED][TG_LINE_BYTES];
    bool          bad = false;
    tg_lines      l;
    for (int64_t o = 0; o < b->outer; o += RUN) {
        const int64_t n = tg_min(RUN, b->outer - o);
        for (int64_t r = 0; r < b->rows; r++) {
            uint8_t *const row = dst + r * b->dst_row;
            const uint8_t *s = src + r * b->src_row + o * b->src_outer;
            tg_lines_begin(&l, row + o * bytes);
            if (o > 0) {
                memcpy(l.bytes, carry[r], TG_LINE_BYTES);
                l.from = row > l.dst ? row - l.dst : 0;
            }
            for (int64_t i = 0; i < n; i++, s += b->src_outer) bad |= add_row(&l, s, p, groups);
            if (o + n == b->outer) tg_lines_end(&l, p->copy);
            else keep_line(&l, p, carry[r]);
        }
    }
    return bad;
}

#include "kernels/convert_joined.inc.h"

/* ---- not streamed: all of a block ---- */

/* Long runs of sticks inside of lines, where lines of dst are asked for; or false. An Emerald Rapids, S: float16 to
 * DLFloat16 1.15 times as fast. Other rows and widths lose. */
static bool join_stored(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p,
                        bool *bad) {
    joined j;
    if (!can_join(&j, dst, b, p, b->cols >> p->log) || !can_join_lines(&j, dst, p) || j.n < LONG_RUN) return false;
    *bad = join_lines(m, dst, src, &j, p);
    return true;
}

static bool move_stored(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p,
                        int64_t groups) {
    const int64_t bytes = groups * p->dst, last = TG_LINE_BYTES / p->dst; /* groups of the last line */
    grid g = {.outer = b->outer, .dst_outer = b->dst_outer, .src_outer = b->src_outer,
              .rows = b->rows, .dst_row = b->dst_row, .src_row = b->src_row,
              .lines = bytes / TG_LINE_BYTES, .claims = claims(m, p)};
    bool bad = false;
    if (m->claims && p->dst == p->src && bytes == STICK && join_stored(m, dst, src, b, p, &bad)) return bad;
    if (g.lines > 0) {
        if (bytes % TG_LINE_BYTES == 0) return move_lines(m, dst, src, b, p, bytes, false);
        bad = p->loop(dst, src, &g, false);
        g.lines = 1;
        return p->loop(dst + bytes - TG_LINE_BYTES, src + (groups - last) * p->src, &g, false) || bad;
    }
    const bool line = bytes + ((b->tail * p->dst) >> p->log) >= TG_LINE_BYTES; /* row and padding fill one */
    for (int64_t o = 0; o < b->outer && groups > 0; o++)
        bad |= short_rows(dst + o * b->dst_outer, src + o * b->src_outer, b, p, groups, line);
    return bad;
}

/* ---- a block ---- */

static bool move_streamed(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p,
                          int64_t groups) {
    const int64_t bytes = groups * p->dst;
    const bool    at_lines = tg_at_lines(dst, b->dst_outer, b->dst_row);
    bool          bad = false;
    if (b->tail == 0 && bytes % TG_LINE_BYTES == 0 && at_lines) return move_lines(m, dst, src, b, p, bytes, true);
    joined j;
    if (can_join(&j, dst, b, p, groups))
        return can_join_lines(&j, dst, p) ? join_lines(m, dst, src, &j, p) : move_joined(m, dst, src, &j, p);
    if (b->tail > 0 || b->dst_outer != bytes || b->dst_row == bytes) return move_in_pieces(m, dst, src, b, p);
    for (int64_t r = 0; r < b->rows; r += CARRIED) {
        tg_block part = *b;
        part.rows = tg_min(CARRIED, b->rows - r);
        bad |= move_carried(dst + r * b->dst_row, src + r * b->src_row, &part, p, groups);
    }
    return bad;
}

/* One run, whatever its length, to at most a line more. */
static bool convert_run(uint8_t *dst, const uint8_t *src, const pair *p, int64_t groups) {
    const int64_t line = TG_LINE_BYTES / p->dst, lines = groups / line, rest = groups % line;
    const grid    g = {.outer = 1, .rows = 1, .lines = lines};
    bool          bad = lines > 0 && p->loop(dst, src, &g, false);
    if (rest > 0) bad |= convert_short(dst + lines * TG_LINE_BYTES, 0, src + lines * line * p->src, 0, p, 1, rest);
    return bad;
}

/* Many rows of few bytes, with padding behind them. */
static bool is_narrow(const tg_block *b, const pair *p, int64_t groups) {
    enum { FEW_ROWS = 8, SHORT_ROW = 256 /* bytes; of longer ones each is worth a grid */ };
    const int64_t bytes = groups * tg_max(p->dst, p->src);
    return b->tail > 0 && b->rows >= FEW_ROWS && bytes > 0 && bytes <= SHORT_ROW;
}

/* Side by side in a buffer these are converted as one run, and then padded as rows are that are only copied. (A Zen 4,
 * x memcpy, f16[n,10] to sticks of DLFloat16, 100 KiB 0.12 -> 0.6, 6 MiB 0.1 -> 0.7, 128 MiB 0.38 -> 2.1.) */
static bool move_narrow(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b, const pair *p,
                        int64_t groups) {
    enum { NARROW = 4096 }; /* bytes, of the first-level cache */
    _Alignas(64) uint8_t in[NARROW], out[NARROW + TG_LINE_BYTES];
    const int64_t to = groups * p->dst, from = groups * p->src, most = NARROW / tg_max(to, from);
    tg_mover      gather, rows;
    bool          bad = false;
    (void)tg_mover_rows(&gather, p->cpu, false, m->far);
    (void)tg_mover_rows(&rows, p->cpu, m->stream, false);
    gather.fetches = m->fetches;
    gather.sparing = m->sparing;
    gather.few_streams = rows.few_streams = m->few_streams;
    rows.to_dst = m->to_dst;
    rows.claims = m->claims;
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r += most) {
            const int64_t  n = tg_min(most, b->rows - r);
            const uint8_t *s = src + o * b->src_outer + r * b->src_row;
            const tg_block runs = {.outer = 1, .rows = n, .cols = from, .dst_row = from, .dst_col = 1,
                                   .src_row = b->src_row, .src_col = 1};
            const tg_block padded = {.outer = 1, .rows = n, .cols = to, .dst_row = b->dst_row, .dst_col = 1,
                                     .src_row = to, .src_col = 1, .tail = b->tail * (m->dst.bits / 8), .pad = b->pad};
            if (b->src_row != from) {
                (void)tg_mover_run(&gather, in, s, &runs);
                s = in;
            }
            bad |= convert_run(out, s, p, n * groups);
            (void)tg_mover_run(&rows, dst + o * b->dst_outer + r * b->dst_row, out, &padded);
        }
    return bad;
}

static const uint8_t *move_block(const tg_mover *m, uint8_t *dst, const uint8_t *src, const tg_block *b,
                                 const pair *p) {
    const int64_t groups = b->cols >> p->log;
    const bool    split = groups << p->log != b->cols; /* some packed elements do not fill a byte */
    bool          bad;
    if (!split && m->dst.bits >= 8 && is_narrow(b, p, groups)) {
        bad = move_narrow(m, dst, src, b, p, groups);
    } else if (m->stream && !split && m->dst.bits >= 8) {
        bad = move_streamed(m, dst, src, b, p, groups);
    } else {
        bad = move_stored(m, dst, src, b, p, groups);
        if (!bad && (split || b->tail > 0)) finish_rows(m, dst, src, b, p, groups);
    }
    return bad ? move_plain(m, dst, src, b) : NULL;
}

/* ---- the pairs ---- */

typedef struct entry {
    tg_block_move *move;
    const char    *name;
} entry;

#define COUNT_ONE(...) +1
enum { ENTRIES = 0 PAIRS(COUNT_ONE), TOGETHER = 16 };

static const uint32_t keys[(ENTRIES + TOGETHER - 1) / TOGETHER * TOGETHER] = {PAIRS(KEY)};

/* Every second number, for shuffles. */
#define TG_EVEN_4  0, 2, 4, 6
#define TG_EVEN_8 TG_EVEN_4, 8, 10, 12, 14
#define TG_EVEN_16 TG_EVEN_8, 16, 18, 20, 22, 24, 26, 28, 30
#define TG_EVEN_32 \
    TG_EVEN_16, 32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62
#define TG_EVEN_64 \
    TG_EVEN_32, 64, 66, 68, 70, 72, 74, 76, 78, 80, 82, 84, 86, 88, 90, 92, 94, \
    96, 98, 100, 102, 104, 106, 108, 110, 112, 114, 116, 118, 120, 122, 124, 126
#define TG_ODD_4  1, 3, 5, 7
#define TG_ODD_8 TG_ODD_4, 9, 11, 13, 15
#define TG_ODD_16 TG_ODD_8, 17, 19, 21, 23, 25, 27, 29, 31
#define TG_ODD_32 \
    TG_ODD_16, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63
#define TG_ODD_64 \
    TG_ODD_32, 65, 67, 69, 71, 73, 75, 77, 79, 81, 83, 85, 87, 89, 91, 93, 95, 97, 99, 101, 103, 105, 107, 109, 111, \
    113, 115, 117, 119, 121, 123, 125, 127

#if TG_HAVE_X86
TG_BEGIN_AVX2
#  define VEC 32
#  define SET "avx2"
#  include "kernels/convert_rows.inc.h"
#  undef VEC
#  undef SET
TG_END
TG_BEGIN_AVX512
#  define VEC 64
#  define SET "avx512"
#  include "kernels/convert_rows.inc.h"
#  undef SET
TG_END
TG_BEGIN_AVX512_BF16
#  include "kernels/convert_bf16.inc.h"
#  undef VEC
TG_END
#elif TG_HAVE_NEON
#  define VEC 16
#  define SET "neon"
#  include "kernels/convert_rows.inc.h"
#endif

static const entry *table_for(uint32_t cpu) {
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return table_64;
    if ((cpu & TG_CPU_AVX2) != 0) return table_32;
#elif TG_HAVE_NEON
    if ((cpu & TG_CPU_NEON) != 0) return table_16;
#endif
    (void)cpu;
    return NULL;
}

static uint32_t side_of(tg_encoding e) { return SIDE(e.kind, e.bits, e.value_bits); }

/* 0, or 1 more than the index of the pair: some keys at a time, without a branch, so that compilers take vectors. */
static uint32_t find_pair(uint32_t key) {
    uint32_t found = 0;
    for (uint32_t first = 0; first < ENTRIES && found == 0; first += TOGETHER)
        for (uint32_t i = first; i < first + TOGETHER; i++) found |= keys[i] == key ? i + 1 : 0;
    return found;
}

/* The loop of a pair, or the one with the instruction that not all processors with these vectors have. */
static const entry *entry_of(const entry *table, uint32_t index, tg_encoding dst, tg_encoding src, uint32_t cpu) {
#if TG_HAVE_X86
    const bool straight = dst.kind == TG_KIND_BF16 && src.kind == TG_KIND_F32;
    if (straight && (cpu & TG_CPU_BF16) != 0 && table == table_64) return &bf16_straight_64;
#endif
    (void)dst, (void)src, (void)cpu;
    return &table[index];
}

bool tg_mover_convert(tg_mover *out, tg_encoding dst, tg_encoding src, uint32_t cpu, bool stream, bool far) {
    const entry *const table = table_for(cpu);
    const uint32_t     found = table == NULL ? 0 : find_pair(side_of(dst) << 16 | side_of(src));
    tg_kernel          k;
    if (!tg_kernel_convert(&k, dst, src)) return false;
    const int16_t width = (int16_t)(dst.bits < 8 ? 1 : dst.bits / 8);
    *out = (tg_mover){.move = move_plain, .name = "convert plain", .dst_width = width,
                      .stream = stream, .far = far, .fetches = far, .sparing = (cpu & TG_CPU_SPARING) != 0,
                      .few_streams = (cpu & TG_CPU_FEW_STREAMS) != 0,
                      .dst = dst, .src = src, .plain = k.move, .convert = k.convert, .then = k.then};
    if (found == 0) return true;
    const entry *const e = entry_of(table, found - 1, dst, src, cpu);
    out->move = e->move;
    out->name = e->name;
    return true;
}
