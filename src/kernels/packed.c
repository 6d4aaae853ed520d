/* Transposes of packed elements: of 1, 2 or 4 bits, 8, 4 or 2 in a byte.
 *
 * They are transposes of bytes, and of the fields of a byte. Two lines (columns, contiguous in src) of 4-bit elements,
 * of which a byte holds two rows, become two rows of which a byte holds two columns, where fields change places:
 *
 *     line 0     a0 a1 | a2 a3 | ...         row 0, 2, ...     a0 b0 | a2 b2 | ...
 *     line 1     b0 b1 | b2 b3 | ...         row 1, 3, ...     a1 b1 | a3 b3 | ...
 *
 * Of four lines of 2-bit elements, or eight of single bits, the halves of all bytes change places so, then the
 * quarters, then the eighths. What that leaves is a transpose of bytes for each field, for which there are movers
 * (transpose.c). Both happen by way of a stage in the first-level cache:
 *
 *     lines are long       fields change places on the way into the stage, and its bytes are turned into dst: all of
 *                          field 0 to rows 0, 2, ..., all of field 1 to rows 1, 3, ...; or, where rows of dst take
 *                          turns (T(8,128)(8,1)), all fields at once, as interleaved rows
 *     lines are short      and follow each other (T(8,128)(8,1) back): bytes are turned into the stage, and fields
 *                          change places on the way to dst, in whole rows
 *
 * Where the loop around lines goes on in src, or the one around rows in dst, its steps are parts of longer ones.
 *
 * Where something begins inside of bytes: bands.c. */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/variants.h"

enum {
    STAGE = 32 << 10,
    MOST_COLUMNS = STAGE / TG_LINE_BYTES,
    WANTED = STAGE / 2, /* of the stage, if that is a line of all columns; all of it where lines come in pairs */
    LONG_PIECE = 1024, /* of lines of which the stage has room for more */
    SHORT_LINES = 64,  /* bytes of 8 / bits lines */
    AHEAD = 128        /* bytes at least from what is read to what is fetched, or a piece */
};

#if TG_HAVE_X86
#  include <immintrin.h>
#endif

typedef struct packed_matrix {
    uint8_t       *d;
    const uint8_t *s;
    int64_t        outer, dst_outer, src_outer;
    int64_t        rows, cols, dst_row, src_col; /* rows and cols: elements */
    int64_t        line, run; /* bytes of a column in src, of a row in dst */
    int64_t        side;      /* columns at a time */
    int64_t        piece;     /* bytes of a line at a time; or of a run, if fields change places last */
    int64_t        steps;     /* of the loop around it, whose lines, or runs, are parts of one */
    int64_t        ahead;     /* bytes to what is fetched, or 0 */
    bool           last;      /* fields change places last */
    bool           turns;     /* rows of dst do, and all fields are turned at once */
    tg_mover       bytes, into_stage;
} packed_matrix;

static bool is_sparing(void) { return (tg_cpu_features() & TG_CPU_SPARING) != 0; }

/* From afar two neighbouring lines of each column at a time: of 4-bit elements, where one was before, a third faster.
 * On AMD's processors, some of which have 32 KiB of first-level cache, that is not known. */
static bool comes_in_pairs(const tg_mover *m) { return m->far && is_sparing(); }

static packed_matrix matrix_of(int bits, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int     per = 8 / bits;
    packed_matrix a = {.d = d, .s = s, .outer = b->outer, .dst_outer = b->dst_outer, .src_outer = b->src_outer,
                       .rows = b->rows, .cols = b->cols, .dst_row = b->dst_row, .src_col = b->src_col,
                       .line = tg_ceil_div(b->rows, per), .run = b->cols / per, .bytes = *m, .into_stage = *m};
    const bool whole = b->rows % per == 0;
    a.last = whole && a.line * per <= SHORT_LINES && a.src_col == a.line;
    a.side = tg_min(a.cols, tg_min(TG_STICK_BYTES * per, MOST_COLUMNS));
    a.turns = whole && a.dst_row == a.run && a.side == a.cols;
    a.piece = (comes_in_pairs(m) ? STAGE : WANTED) / (a.last ? a.line * per : a.side) / TG_LINE_BYTES * TG_LINE_BYTES;
    a.piece = tg_max(tg_min(a.piece, LONG_PIECE), TG_LINE_BYTES);
    a.steps = 1;
    if (a.last && a.dst_outer == a.run) a.steps = tg_max(tg_min(a.outer, a.piece / a.run), 1);
    if (!a.last && a.src_outer == a.line) a.steps = tg_max(tg_min(a.outer, a.piece / a.line), 1);
    a.ahead = m->fetches ? tg_max(a.piece, AHEAD) : 0;
    a.bytes.far = a.bytes.fetches = a.into_stage.stream = false;
    return a;
}

/* Its two ways, with a stage as large as it needs: half of one does where a plan has stages around it. */
typedef void exchange_all(const packed_matrix *a, uint8_t *stage);

__attribute__((noinline, unused)) static void with_stage(exchange_all *exchange, const packed_matrix *a) {
    uint8_t stage[STAGE] __attribute__((aligned(64)));
    exchange(a, stage);
}

__attribute__((noinline, unused)) static void with_half_a_stage(exchange_all *exchange, const packed_matrix *a) {
    uint8_t stage[WANTED] __attribute__((aligned(64)));
    exchange(a, stage);
}

/* n bytes of each of 8 / bits lines, by definition. */
static void exchange_bytes(int bits, uint8_t *d, int64_t d_step, const uint8_t *s, int64_t s_step, int64_t n) {
    const int      per = 8 / bits;
    const unsigned field = (1u << bits) - 1;
    for (int64_t i = 0; i < n; i++)
        for (int j = 0; j < per; j++) {
            unsigned byte = 0;
            for (int k = 0; k < per; k++) byte |= ((unsigned)s[k * s_step + i] >> j * bits & field) << k * bits;
            d[j * d_step + i] = (uint8_t)byte;
        }
}

/* n bytes of each of the stage's lines, of all fields, to rows of dst from `row` on, which is at d; they are parts of
 * `steps` steps. */
static void turn_stage(const packed_matrix *a, int per, uint8_t *d, const uint8_t *stage, int64_t n, int64_t groups,
                       int64_t row, int64_t steps) {
    tg_block t = {.outer = steps, .rows = n / steps, .cols = groups, .dst_outer = a->dst_outer,
                  .dst_row = a->dst_row * per, .dst_col = 1, .src_outer = n / steps, .src_row = 1, .src_col = a->piece};
    if (a->turns) t.cols = groups * per;
    for (int k = 0; k < (a->turns ? 1 : per); k++) {
        const int64_t left = a->rows - row - k;
        if (left <= 0) return; /* the last byte may have fewer */
        t.rows = tg_min(n / steps, tg_ceil_div(left, per));
        (void)a->bytes.move(&a->bytes, d + k * a->dst_row, stage + k * groups * a->piece, &t);
    }
}

/* ---- plain C ---- */

static const uint8_t *packed_plain(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int bits = m->dst.bits, per = 8 / bits;
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer)
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t c = 0; c < b->cols; c += per) {
                unsigned byte = 0;
                for (int k = 0; k < per; k++)
                    byte |= ((unsigned)s[(c + k) * b->src_col + r / per] >> r % per * bits & ((1u << bits) - 1))
                            << k * bits;
                d[r * b->dst_row + c / per] = (uint8_t)byte;
            }
    return NULL;
}

/* ---- templates ---- */

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  define SET TG_CPU_AVX512
#  include "kernels/packed.inc.h"
#  undef SET
#  undef VEC
TG_END

TG_BEGIN_AVX2
#  define VEC 32
#  define SET TG_CPU_AVX2
#  include "kernels/packed.inc.h"
#  undef SET
#  undef VEC
TG_END
#elif TG_HAVE_NEON
#  define VEC 16
#  define SET TG_CPU_NEON
#  include "kernels/packed.inc.h"
#  undef SET
#  undef VEC
#endif

tg_block_move *tg_packed_for(uint32_t cpu, int32_t bits) {
    const int i = bits / 2; /* 1, 2, 4 */
#if TG_HAVE_X86
    static tg_block_move *const avx512[] = {packed_1_64, packed_2_64, packed_4_64};
    static tg_block_move *const avx2[] = {packed_1_32, packed_2_32, packed_4_32};
    if ((cpu & TG_CPU_AVX512) != 0) return avx512[i];
    if ((cpu & TG_CPU_AVX2) != 0) return avx2[i];
#elif TG_HAVE_NEON
    static tg_block_move *const neon[] = {packed_1_16, packed_2_16, packed_4_16};
    if ((cpu & TG_CPU_NEON) != 0) return neon[i];
#endif
    (void)cpu;
    (void)i;
    return packed_plain;
}
