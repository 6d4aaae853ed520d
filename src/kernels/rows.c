/* Rows of bytes elsewhere: sticks, tiles, long rows, with padding behind them.
 *
 * Copying costs nothing here; the order in which memory is visited does, and how whole lines get out.
 *
 * Of the two loops around a row one goes on in dst, the other one mostly goes on in src: for row-major to sticks
 * dst goes on from row to row, src from stick to stick, and the other way round on the way back. Memory likes
 * neither alone. Each walk below visits the grid of pieces in bands of 8 along dst:
 *
 *     dst goes on ->     0  1  2  3  4  5  6  7 | 64 65 66 ...      8 streams are read, each of them forwards;
 *     src goes on        8  9 10 11 12 13 14 15 | 72 73 74 ...      runs of 8 pieces are written, 1 KiB of sticks
 *          |            16 17 18 19 20 21 22 23 | 80 81 82 ...
 *          v
 *
 * The prefetchers follow some 16 streams: reading 64 halves the speed, and so does writing pieces of one stick far
 * apart from each other. Where the streams of dst are few and src goes on through all of them, src is simply walked
 * from end to end; or, by a processor that is sparing (move.h), in bands of 64, whole runs of 8 KiB, for which src is
 * read again from a cache, or of 8 sticks, while what the next band reads is fetched from end to end. One that likes
 * few streams (move.h) walks src so however many those of dst are, and in the second-level cache walks dst from end to
 * end.
 *
 * In the second-level cache shorter bands are better, of four rows, and a block whose rows all end with a shorter piece
 * is moved row by row, or by four rows of sticks, from end to end.
 *
 * Where stores into the second-level cache wait for their lines (move.h: claims), dst is walked from end to end, and
 * each of its lines is asked for some stores before its own. Then it no longer matters that a row begins inside of
 * a line, and every other order is slower.
 *
 * The shortest rows are one unit each together with their padding (units.h). Rows of less than a line, as those of
 * small tiles, are moved by one load and one store each, which is more than they are: rows of a run are written
 * upwards, so that what is too much of one is overwritten by the next one.
 *
 * Rows that begin anywhere in a line are put together again so that whole lines can be streamed. The line between two
 * bands is written with the second one, which reads the end of the piece before its own. With vectors of a line, pieces
 * of two and more whole lines are joined in registers, with shorter ones behind them; all others in a buffer (lines.h).
 * Where stores wait for their lines, sticks are joined of lines of src as they are, each of which is loaded once, in
 * bands of 32 from memory, and where runs follow each other the line between two of them is made whole as well (an
 * Emerald Rapids: L 0.98 -> 1.05 of memcpy, N 1.49 -> 1.60, M 1.20 -> 1.27). With vectors of a line, a block that is
 * one run of dst is written around the caches from end to end, padding and all, with two parts of lines only (of the
 * same move to a line, L, N, M, there: sticks of three dimensions with padding 0.86, 0.93, 0.85 -> 0.96, 0.99, 1.02;
 * T(8,128) 0.96, 0.95, 0.85 -> 1.04, 1.02, 0.95; a Zen 4, x memcpy, L and N: 0.69, 0.43 -> 0.95, 1.01; 0.68, 0.72 ->
 * 0.96, 0.92). Parts of lines at both ends of a run go around the caches, 16 bytes at a time, or where stores wait for
 * their lines, by a plain store (M: 1.18 times as fast). */
#include "kernels/lines.h"
#include "kernels/target.h"
#include "kernels/units.h"
#include "kernels/variants.h"

#include <string.h>

#if TG_HAVE_X86
#  include <immintrin.h>
#endif

TG_ALIGN_LOOPS /* else short rows are a tenth slower, or not, as other code comes and goes */

enum {
    STICK = TG_STICK_BYTES,
    BAND = TG_STREAMS,
    PAGE = 4096,
    PAGES = 72,      /* whose places a Zen 4 keeps at hand */
    NEAR_BAND = 4,   /* in the second-level cache */
    SHORT_PADDED = 256, /* bytes of a row that has lines of padding */
    LONG_BAND = 64,  /* of a processor that is sparing with stores around the caches; of sticks: */
    WINDOW = 8,      /* an Emerald Rapids, L, 8 runs of dst: 1.01 -> 1.09 of memcpy, 16 or fetches among stores 1.05 */
    PIECES = 32,     /* read ahead, of short ones that lie apart */
    JOINED_BAND = 32, /* an Emerald Rapids, L: 8 sticks 1.01 of memcpy, 16 1.04, 32 1.05 */
    SHORT_RAGGED = 512, /* bytes of a row: with longer ones parts of lines are few */
    SHORT_RUN = 24,  /* rows of less than a cache line, measured: longer runs are faster by themselves */
    FAR = 1024,      /* bytes: what lies so much further on in src is fetched */
    SMALL = 16 << 10, /* bytes of a block that the first-level cache holds */
    SMALL_CLAIMED = 4 << 10 /* the same where lines are claimed: larger ones gain by their order */
};

/* TG_OUTLINE: loops for which compilers should have all registers. They make the walk, or the block, a value of their
 * own, which no store can change; one that is passed as a value is copied through memory, in wide loads that wait for
 * narrow stores. */

/* ---- plain C ---- */

static void plain_row(uint8_t *d, const uint8_t *s, const tg_block *b, bool stream) {
    const size_t n = (size_t)b->cols;
    if (n == STICK && !stream)
        memcpy(d, s, STICK);
    else if (stream)
        tg_stream_copy(d, s, n);
    else
        memcpy(d, s, n);
    if (b->tail > 0) tg_fill_bytes(d + n, b->tail, b->pad, stream);
}

/* A ragged block as two that are not. */
static void in_two(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const bool    rows = b->ragged == TG_RAGGED_ROWS;
    const int64_t n = (rows ? b->rows : b->outer) - 1;
    tg_block      whole = *b, last = *b;
    whole.ragged = last.ragged = TG_RAGGED_NOT;
    whole.tail = 0;
    last.cols = b->last;
    *(rows ? &whole.rows : &whole.outer) = n;
    *(rows ? &last.rows : &last.outer) = 1;
    if (n > 0) (void)tg_mover_run(m, d, s, &whole);
    (void)tg_mover_run(m, d + n * (rows ? b->dst_row : b->dst_outer), s + n * (rows ? b->src_row : b->src_outer),
                       &last);
}

static const uint8_t *rows_plain(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (b->ragged != TG_RAGGED_NOT) {
        in_two(m, d, s, b);
        return NULL;
    }
    if (has_units(b)) {
        const units    u = {b->rows, b->dst_row, b->src_row, b->cols};
        const unit_pad pad = unit_pad_of(b);
        for (int64_t o = 0; o < b->outer; o++)
            put_units(b->cols + b->tail, d + o * b->dst_outer, s + o * b->src_outer, &u, pad);
        return NULL;
    }
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t r = 0; r < b->rows; r++)
            plain_row(d + o * b->dst_outer + r * b->dst_row, s + o * b->src_outer + r * b->src_row, b, m->stream);
    return NULL;
}

/* ---- walks ---- */

typedef struct loop {
    int64_t n, dst, src;
} loop;

typedef struct walk {
    loop    along, across; /* dst goes on, or jumps least, along `along` */
    int64_t band;          /* along dst */
    bool    runs;          /* it goes on */
    int64_t ahead;         /* in src, in the direction of `across`: bytes to fetch early, or 0 */
    bool    near;          /* into the first-level cache */
    bool    claims;        /* lines of dst, which goes on */
    bool    windows;       /* a band is one run of src, and so are the next ones */
} walk;

TG_INLINE void fetch_stick(const uint8_t *p, bool near) {
    TG_FETCH_AS(p, near);
    TG_FETCH_AS(p + TG_LINE_BYTES, near);
}

/* Of one step along: a page of dst for each run, those of src, and as many that are read ahead. */
static inline int64_t pages_of(const walk *w) { return w->across.n + 2 * (w->across.n * w->across.src / PAGE); }

/* One loop only: no bands. Where src goes on from the end of one walk to the next, and runs are so few that all of
 * their pages can be written in turn, or the processor likes few streams, src is walked from end to end, or nearly. */
static inline int64_t band_of(const walk *w, const tg_mover *m) {
    const bool one_walk = m->few_streams && !m->far && !m->stream; /* in the second-level cache: of dst */
    if (w->across.n == 1 || one_walk || w->claims) return w->along.n;
    const int64_t left = w->along.src - w->across.n * w->across.src;
    const bool    goes_on = left >= 0 && left < w->across.src; /* a ragged end, or none */
    if (!m->stream && !m->far) return NEAR_BAND;
    if (!m->stream || !goes_on) return BAND;
    if (m->few_streams || (!m->sparing && pages_of(w) < PAGES)) return 1;
    return m->sparing && w->across.n <= 2 * BAND ? LONG_BAND : BAND;
}

static inline void choose_band(walk *w, const tg_mover *m) {
    const int64_t reach = m->sparing ? STICK : FAR; /* fetched late it is not pushed out again */
    const int64_t step = w->across.src;
    w->band = band_of(w, m);
    w->windows = w->band == LONG_BAND && w->runs && w->across.n > 1 && m->far;
    if (m->far && step > 0 && w->band > 1) w->ahead = step < reach ? reach / step * step : step;
}

static inline walk walk_of(const tg_mover *m, const tg_block *b) {
    const int64_t total = b->cols + b->tail;
    const loop    outer = {b->outer, b->dst_outer, b->src_outer}, rows = {b->rows, b->dst_row, b->src_row};
    const bool    swap = b->dst_outer == total && b->dst_row != total;
    const bool    runs = swap || b->dst_row == total;
    walk          w = {swap ? outer : rows, swap ? rows : outer, 0, runs, 0, m->few_streams,
                          m->claims && !m->stream && runs, false};
    choose_band(&w, m);
    return w;
}

/* In src, from a piece to the one that is to be fetched: so many pieces later, or the same one so many runs later. 0
 * where pieces are long, or so near each other that prefetchers follow them. */
static inline int64_t piece_ahead(const walk *w, int64_t n) {
    const int64_t step = w->along.src;
    if (n > STICK || (step >= 0 && step < TG_LINE_BYTES)) return 0;
    if (w->across.n == 1 || w->along.n > 8 * PIECES) return PIECES * step;
    return tg_ceil_div(PIECES, w->along.n) * w->across.src;
}

static inline void fetch_piece(const uint8_t *p, int64_t n) {
    TG_FETCH(p);
    TG_FETCH(p + n - 1);
}

static inline bool at_lines(const uint8_t *d, const walk *w) { return tg_at_lines(d, w->along.dst, w->across.dst); }

/* ---- templates ---- */

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/rows.inc.h"
#  undef VEC
TG_END

TG_BEGIN_AVX2
#  define VEC 32
#  include "kernels/rows.inc.h"
#  undef VEC
TG_END
#elif TG_HAVE_NEON
#  define VEC 16
#  include "kernels/rows.inc.h"
#  undef VEC
#endif

tg_block_move *tg_rows_for(uint32_t cpu) {
#if TG_HAVE_X86
    if (TG_MOSTLY((cpu & TG_CPU_AVX512) != 0)) return rows_64;
    if ((cpu & TG_CPU_AVX2) != 0) return rows_32;
#elif TG_HAVE_NEON
    if ((cpu & TG_CPU_NEON) != 0) return rows_16;
#endif
    (void)cpu;
    return rows_plain;
}
