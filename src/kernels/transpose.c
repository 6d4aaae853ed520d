/* Transposes: a column is contiguous in src, a row in dst.
 *
 * In registers. Take 16 bytes of each of n = 16 / width source lines, here 4 lines a to d of 4-byte elements. Unpack
 * register j with register j + n / 2 into registers 2j and 2j + 1, log2(n) times:
 *
 *     register    lines                after one round     after two: rows
 *        0        a0 a1 a2 a3          a0 c0 a1 c1         a0 b0 c0 d0
 *        1        b0 b1 b2 b3          a2 c2 a3 c3         a1 b1 c1 d1
 *        2        c0 c1 c2 c3          b0 d0 b1 d1         a2 b2 c2 d2
 *        3        d0 d1 d2 d3          b2 d2 b3 d3         a3 b3 c3 d3
 *
 * Wider vectors do this in each of their 16-byte lanes, with lines from n, 2n, ... on for the further lanes. Then, of
 * as many registers as there are lanes, lanes and registers change places.
 *
 * In memory. (A line is a column here, which is contiguous in src; what a cache holds is a cache line, 64 bytes.)
 * Whole cache lines are loaded, each once for a square: lines are often a power of two apart, and would push each
 * other out of the first-level cache before their next use. Squares make tiles of a stick (128 bytes) of columns, by
 * another stick where lines are evenly spaced and stores go into a cache (of bytes to rows that crowd there 64), else
 * by 64 rows, or 128 of one byte; half squares read lines of which a whole square's share too few sets of the cache.
 * (Intel's processors want whole ones, and fetches between shuffles, or 16 bytes of all lines: ahead_avx512.inc.h,
 * pieces_avx512.inc.h.) 16 bytes of a line are the least, a strip. The last tile begins a little earlier where that
 * helps, and writes some rows twice. Where columns are missing, lines of padding are read instead, or any, and what is
 * too much is not written.
 *
 * From far, the lines of a later tile are fetched meanwhile: 64 lines at a time are too many for the prefetchers of the
 * processor, and to fetch them all at once holds up the loads behind them. Around the caches each store of a square is
 * followed by a fetch: there the processor waits for stores anyway (a Zen 4, 64 and 256 MiB: bytes 1.2 times as fast as
 * with fetches among loads, others 1.0 to 1.1). It is of both cache lines of a stick, of half of the lines. Stores into
 * a cache do not wait: fetches are spread over the loads of bytes, of which a square has the most lines, where they
 * crowd each other in the first-level cache. Lines of a stick that lie side by side, tile after tile, are one piece of
 * memory: it is read from end to end, and fetched so, a cache line after each store, into the first-level cache (1.1 to
 * 1.25 times as fast at 64 and 256 MiB, 1.05 to 1.3 into caches, two threads, 8 MiB). Everywhere else lines are fetched
 * before the square: those that begin inside of cache lines, and so have more of them, and wider elements of short
 * lines side by side, which the processor's own prefetchers follow.
 *
 * Rows that begin inside of cache lines are cut at cache lines all the same: the columns before the first one are left
 * out, and come last, as the end of the row before. There they are lines that begin an element later. With sticks of
 * four elements, of which each row has two, and one column to leave out:
 *
 *     row 0     a b c d e f g h       a stick [b c d e], and the seam [f g h i]: lines 5, 6, 7, and line 0 from its
 *     row 1     i j k l m n o p       second element on. a, and n o p of the last row, are copied one by one
 *
 * Where a row is not followed by the next one, both parts of its seam are written by themselves.
 *
 * Long rows of which each begins at another place of a cache line (a ragged tensor in row-major order) go through
 * buffers where they come from memory (carried.inc.h): all columns for some rows, stick by stick; of each two lines
 * leave, and the begun one waits for the next stick (a Zen 4, 64 MiB, sticks to ragged rows: 2.3 to 2.8 times as fast
 * as stores into the caches). Meanwhile the lines of the next stick are fetched. Of bytes so many rows go together that
 * 256 bytes of each line are read at once: each visit to a page of memory costs about as much as moving 100 bytes, and
 * lines that crowd the caches do not stay there for the next visit (256 MiB, x memcpy, with 64 rows and as many:
 * [8192,8190] 0.52 and 0.73, [65536,1022] 0.2 and 0.6). Rows of listed tiles go on in the next tile likewise
 * (carried_tiles.inc.h).
 *
 * Rows that follow each other, of less than a stick, or around the caches of a few sticks and less than one, are
 * written as a whole (narrow.inc.h; with vectors of 64 bytes, rows of up to 32 bytes out of what takes turns, and lines
 * of less than 16 bytes are read as a whole: few_avx512.inc.h). With AVX-512 lines of less than a cache line go by
 * strips, into the second-level cache and around the caches (short_avx512.inc.h); into that cache few columns of long
 * lines go lane by lane (few_lanes.c), short runs of them by windows (windows_avx512.inc.h), and rows of less than a
 * stick that lie apart, or go on in other matrices, piece by piece to where they belong (gapped_avx512.inc.h), and rows
 * that crowd each other in the first-level cache, and begin inside of lines, are made in a stage
 * (cramped_avx512.inc.h). Small matrices are turned several at once (cells.c).
 *
 * Rows that take turns, element by element, have loops of their own (interleave.inc.h), also if some of them are
 * missing (missing.inc.h). Several blocks that are one run of dst inside of lines go together
 * (turns_joined_avx512.inc.h).
 *
 * Stores into a cache that cross its lines wait for two of them: rows that begin inside of lines ask for both between
 * the shuffles of a square (an Emerald Rapids, tiles of (8,128) to rows of 510 elements of four bytes, 512 KiB, x
 * memcpy: 0.30 and 0.55; where rows begin at lines 0.55 and 0.52). Where the lines are in memory they wait longer: the
 * same pays there, and squares that go ahead (256 MiB, columns to rows of 517 bytes 0.17 and 0.35, of 1000 bytes 0.18
 * and 0.5).
 *
 * As a pipeline ("staged"). Intel's processors have few places for lines on their way, which loads, fetches and stores
 * around the caches share, and lose a third of their speed where half sticks are stored far apart from each other. A
 * Zen 5 has places enough, but its prefetchers go by the addresses of loads, and each load of a square reads some lines
 * in turn. On both, what comes from memory and goes around the caches (and more: route.inc.h) is done in small steps;
 * in each of them three things happen side by side, for some 8 lines or sticks:
 *
 *     lines of 128 bytes are fetched from memory                  some 64 lines before (or 512 bytes of each line
 *                                                                 with every fourth tile: are_fetched_by_fours)
 *     those before them are copied into a stage                   one tile before
 *     the stage's 16-byte columns are turned to sticks, and stored as a whole
 *
 * The stage is compact, so that 16-byte pieces of 64 lines do not push each other out of the first-level cache, and
 * those need fewer shuffles than squares do. Matrices side by side, of short lines that share few sets of the caches,
 * go so on every processor (transpose.h). What else is loaded there is to be spared: Intel's processors take a load for
 * one of what is still to be stored if both have the same place in a page, and what goes to memory is still to be
 * stored for a long time. Lists of addresses, a buffer for sticks that are to leave, and calls, whose registers are
 * restored from the stack, all held up the lines behind them (an Emerald Rapids, one thread, x memcpy: two bytes from
 * memory 0.86 with them and 1.01 without, restick 0.84 and 0.98). So lines and rows of a tile are evenly spaced, or at
 * least those of half a step, a loop of steps has no calls, and sticks leave from registers. What does not come in such
 * runs, and the end where columns are missing, goes in squares.
 *
 * Rows that begin inside of cache lines are two pipelines: their whole sticks from the first cache line on, and seams,
 * whose lines are the last ones of a row and then the first ones an element further on. Where the next matrix follows
 * the last row of one, its first elements come into the stage, so that all lines leave whole; where a group of rows
 * ends, both parts of its seam are stored by themselves.
 *
 * Tiles (listed.inc.h). Where both sides are several loops, as tiles of (8,128) that are turned into such ones, and
 * tensors of many short dimensions, reversed, rows and lines are listed once, and tile after tile is turned in squares
 * straight from src to dst. Lines that are whole pages apart, as of reversed tensors of powers of two, share a set of
 * the first-level cache, which takes one in 14 cycles: they go through the pipeline, on all processors and in caches
 * too, which takes two neighbours of each at once and does not wait for them (a Zen 4, [8,8,8,8,16,4] of two bytes in
 * the second-level cache: squares 0.30 of memcpy, pipeline 0.38; [32,32,32,16,16,4] in memory 0.42 and 0.6). Lines
 * ahead have left the caches when they are needed; what pays is the next stick of those lines that are copied, whose
 * pages of memory are open. */
#include "kernels/transpose.h"

#if TG_HAVE_NEON
#  define VEC 16
#  include "kernels/transpose.inc.h"
#  undef VEC
#endif

#define DEFINE_PLAIN_TILES(UNIT)                                         \
    static void plain_tiles_##UNIT(const tg_mover *m, tg_tiles *tiles) { \
        tg_listed t;                                                     \
        (void)m;                                                         \
        while (tiles->next(tiles, &t)) plain_tile_##UNIT(&t);            \
    }

DEFINE_PLAIN_TILES(unit8)
DEFINE_PLAIN_TILES(unit16)
DEFINE_PLAIN_TILES(unit32)
DEFINE_PLAIN_TILES(unit64)
DEFINE_PLAIN_TILES(unit128)

tg_turn_tiles *tg_tiles_for(uint32_t cpu, int32_t width) {
    static tg_turn_tiles *const plain[] = {plain_tiles_unit8, plain_tiles_unit16, plain_tiles_unit32,
                                           plain_tiles_unit64, plain_tiles_unit128};
    const int i = __builtin_ctz((unsigned)width);
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return tg_tiles_avx512[i];
    if ((cpu & TG_CPU_AVX2) != 0) return tg_tiles_avx2[i];
#elif TG_HAVE_NEON
    static tg_turn_tiles *const neon[] = {tiles_1_16, tiles_2_16, tiles_4_16, tiles_8_16, tiles_16_16};
    if ((cpu & TG_CPU_NEON) != 0) return neon[i];
#endif
    (void)cpu;
    return plain[i];
}

tg_block_move *tg_transpose_for(uint32_t cpu, int32_t width) {
    static tg_block_move *const plain[] = {plain_unit8, plain_unit16, plain_unit32, plain_unit64, plain_unit128};
    const int                   i = __builtin_ctz((unsigned)width);
#if TG_HAVE_X86
    if ((cpu & TG_CPU_AVX512) != 0) return tg_transposes_avx512[i];
    if ((cpu & TG_CPU_AVX2) != 0) return tg_transposes_avx2[i];
#elif TG_HAVE_NEON
    static tg_block_move *const neon[] = {transpose_1_16, transpose_2_16, transpose_4_16, transpose_8_16,
                                          transpose_16_16};
    if ((cpu & TG_CPU_NEON) != 0) return neon[i];
#endif
    (void)cpu;
    return plain[i];
}
