/* Transposes of packed elements that begin anywhere, inside of bytes or not, from packed ones or from bytes.
 *
 * A byte of a row of dst holds an element each of some lines (columns, contiguous in src): these are a group. Rows that
 * begin inside of a byte have other groups than those that begin with one. dst [5, 3] and src [3, 5] of 4 bits:
 *
 *     line 0     a0 a1 | a2 a3 | a4 b0          row 0     a0 b0 | c0 a1      groups a b, c -
 *     line 1     b1 b2 | b3 b4 | c0 c1          row 1     b1 c1 | a2 b2      groups - a, b c
 *     line 2     c2 c3 | c4 .. |                row 2     c2 a3 | b3 c3      a b, c -
 *
 * But where rows, or lines, are 8 / bits further on, all is whole bytes further on: of the rows k, k + 8 / bits and so
 * on, a field, all begin at the same bit, and their elements are in the same bits of neighbours of a line. So 64 bytes
 * of a field's rows are 64 bytes of each line of the group, each turned by as many bits as it takes, and one field of
 * each chosen: they are folded to 64 bytes of dst, one of each row. What is left is a transpose of bytes, from groups
 * to rows. No row is shifted to its place; only the first and the last byte of a whole row hold what is not the row's.
 * Where the next row goes on there, that is another line's element, and comes from src; else, and before the first row
 * and behind the last one of a block, it is read from dst and written again.
 *
 *     band     64 bytes of all lines, which are rows of dst: 64 of each field (of single bits four fields, then the
 *              other four, or 32 bytes and all eight: bands_halves_avx512.inc.h); where lines are bytes, 128 of
 *              all fields
 *     chunk    64 groups, which are 64 bytes of each of these rows
 *     region   2048 lines: around the caches, of 4096 packed lines or more, and with vectors of 64 bytes, all
 *              bands of a block, 1024 rows at most, have these before the next ones; what waits is kept
 *              meanwhile
 *
 * A chunk is folded into a stage, and its bytes are turned into the rows; there begun cache lines of dst wait for the
 * next chunk, so that all but the first and the last one of a row are written whole. Where rows are whole lines they
 * need not wait, and are turned straight into dst.
 *
 * Where lines are bytes, rows of all fields are neighbours in a vector. Lines are joined as if all rows began with a
 * byte, and those that do not get the end of the group before shifted in.
 *
 * On an Emerald Rapids (1021 x 1029 of 4 bits, 40 us) folding takes 16 us, turning and leaving 19, one after the other,
 * and the last 5 of 1029 rows 2: each line comes from the second-level cache twice, in part, and goes there once. Two
 * bands side by side, for more of each line at a time, are slower, since so much more waits. But from memory bands read
 * the same lines of the cache, which those of all of src have pushed out (a Granite Rapids, 256 MiB, x memcpy, regions:
 * s4[32765,16389] to columns 0.31 -> 0.37, with 2 bands 0.35, u2[32765,32779] 0.25 -> 0.28, single bits 0.17 -> 0.19;
 * 1024 to 4096 lines are as good; lines of bytes, which fill two of the cache, gain nothing, nor do two chunks that
 * leave together, or fetches of all bands' lines at once). */
#include "base/checked.h"
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/variants.h"

#if TG_HAVE_X86
#  include <immintrin.h>
#endif
#include <string.h>

enum {
    LINE = TG_LINE_BYTES,
    CHUNK = 64, /* groups */
    STRIP = 16, /* rows that are turned together */
    SQUARE = CHUNK * LINE,
    BYTE_ROWS = 2 * LINE, /* of a band, where lines are bytes */
    WAITING = 2 * LINE,   /* of a row: what came before, and the chunk */
    LEAST_JOINED = 16,    /* elements: lines of the first byte of a row, and of the one before, are not at its end */
    MOST_FIELDS = 4,      /* at a time; all eight of single bits would take 96 KiB of stack */
    MOST_TERMS = 8 * MOST_FIELDS /* lines of a group, for each field */
};

/* Fields of packed lines that are folded together. */
#define FIELDS(bits) (8 / (bits) < MOST_FIELDS ? 8 / (bits) : MOST_FIELDS)

/* Rows k, k + 8 / bits and so on. */
typedef struct field {
    uint8_t *d;                     /* the first byte of its first row */
    int64_t  into;                  /* elements of another row before it, in that byte */
    int64_t  bytes;                 /* of a row, with those at both ends that it has not for itself */
    unsigned keep_first, keep_last; /* bits of these */
} field;

typedef struct bands {
    uint8_t       *d;
    const uint8_t *s;
    int64_t        rows, cols, first, row, src_first, src_col;
    int64_t        dst_row; /* bytes from row to row of a field */
    field          field[8];
    int64_t        least;  /* bytes of the shortest row */
    int64_t        groups, full_first, full_end; /* of all, those [first, end) that have all their lines */
    bool           bytes;  /* lines are such */
    bool           by_half; /* lines are folded as in bands_halves_avx512.inc.h */
    bool           alike;  /* all rows begin at the same bit */
    bool           direct; /* rows are whole lines of the cache, and need not wait */
    bool           joined; /* a row goes on as the next one does */
    bool           late;   /* if not, rows are so short that one chunk has both ends of a byte that two rows share */
    bool           stream, far, fetches, claims;
    int64_t        region; /* groups */
    uint8_t       *stage, *waiting;
} bands;

/* The lines of a group. */
typedef struct terms {
    const uint8_t *line[MOST_TERMS]; /* of packed ones, j * per + k: for field k of a byte of a row of the jth field */
    int64_t        turn[MOST_TERMS]; /* so many bits up */
    uint64_t       begins[8];        /* of bytes: those of rows that begin so many elements into a byte */
} terms;

/* What is asked for while groups are folded: what a chunk has later, or some groups. */
typedef enum fetching { NOTHING, SOON, LATER } fetching;

/* Lines are packed; or bytes, of which all that are not 0 may mean 1, and all of whose rows may begin at the same
 * bit. Or they are packed single bits, folded as in bands_halves_avx512.inc.h. */
enum { PACKED = 0, BYTES = 1, NONZERO = 2, ALIKE = 4, HALVES = 8 };

/* The lowest field of each byte. */
TG_INLINE uint64_t ones(int bits) { return ((1u << bits) - 1) * (~(uint64_t)0 / 255); }

TG_INLINE bool is_packed(int kind) { return (kind & BYTES) == 0; }

TG_INLINE int64_t rows_of_band(int bits, int kind) { return tg_band_rows(bits, is_packed(kind)) >> (kind == HALVES); }

/* Of packed lines, fields that are folded together, and bytes of one of them in the stage. */
TG_INLINE int fields_of(int bits, int kind) { return kind == HALVES ? 8 / bits : FIELDS(bits); }
TG_INLINE int64_t square_of(int kind) { return kind == HALVES ? SQUARE / 2 : SQUARE; }

/* Of so many rows, those of field j. */
TG_INLINE int64_t rows_of(int bits, int64_t rows, int j) {
    return (rows - j + 8 / bits - 1) >> (3 - bits / 2);
}

static field field_of(int bits, uint8_t *d, int64_t first, int64_t cols) {
    const int     per = 8 / bits;
    const int64_t into = first & (per - 1), end = (into + cols) & (per - 1);
    return (field){.d = d + (first >> (3 - bits / 2)), .into = into, .bytes = tg_ceil_div(into + cols, per),
                   .keep_first = (1u << into * bits) - 1, .keep_last = end == 0 ? 0 : 0xffu << end * bits & 0xff};
}

static bands bands_of(int bits, bool by_half, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int per = 8 / bits;
    bands     a = {.d = d, .s = s, .rows = b->rows, .cols = b->cols, .first = b->dst_outer, .row = b->dst_row,
                   .src_first = b->src_outer, .src_col = b->src_col, .dst_row = b->dst_row, .least = INT64_MAX,
                   .full_end = b->cols / per, .bytes = m->src.bits == 8, .by_half = by_half, .alike = true,
                   .direct = true, .stream = m->stream, .far = m->far, .fetches = m->fetches, .claims = m->claims};
    for (int k = 0; k < per; k++) {
        field *const f = &a.field[k];
        *f = field_of(bits, d, b->dst_outer + k * b->dst_row, b->cols);
        a.groups = tg_max(a.groups, f->bytes);
        a.least = tg_min(a.least, f->bytes);
        if (f->into != a.field[0].into) a.alike = false;
        if (f->into > 0) a.full_first = 1;
        if (f->bytes <= CHUNK) a.late = true;
        if (a.bytes || f->keep_first != 0 || f->keep_last != 0 || !tg_at_lines(f->d, b->dst_row, 0)) a.direct = false;
    }
    if ((a.bytes || a.by_half) && !a.alike) a.full_first = 0; /* groups are those of rows that begin with a byte */
    a.region = a.groups;
    a.joined = a.row == a.cols && a.src_col > 0 && a.cols > LEAST_JOINED;
    if (a.joined) a.late = false;
    return a;
}

static int kind_of(const tg_mover *m, const bands *a) {
    if (!a->bytes) return a->by_half ? HALVES : PACKED;
    return BYTES | (m->src.kind == TG_KIND_BOOL ? NONZERO : 0) | (a->alike ? ALIKE : 0);
}

/* The element of `row` in line c. What is missing in the first and the last group is the end of the row before, and the
 * beginning of the next one; or any other line. */
TG_INLINE int64_t element_at(const bands *a, int64_t row, int64_t c) {
    if (!a->joined) c = tg_max(tg_min(c, a->cols - 1), 0);
    const int64_t behind = c < 0 ? -1 : c >= a->cols;
    return a->src_first + (c - behind * a->cols) * a->src_col + row + behind;
}

/* Of rows from `row` on, group g; fields from `first` on. */
static void find_packed_terms(int bits, terms *t, const bands *a, int64_t row, int first, int64_t g) {
    const int per = 8 / bits;
    for (int i = 0; i < FIELDS(bits); i++)
        for (int k = 0; k < per; k++) {
            const int64_t at = element_at(a, row + first + i, g * per + k - a->field[first + i].into);
            t->line[i * per + k] = a->s + (at >> (3 - bits / 2));
            t->turn[i * per + k] = (k - (int)(at & (per - 1))) * bits;
        }
}

static void find_byte_terms(int bits, int kind, terms *t, const bands *a, int64_t row, int64_t g) {
    const int     per = 8 / bits;
    const int64_t before = (kind & ALIKE) != 0 ? a->field[0].into : 0;
    for (int k = 0; k < per; k++) t->line[k] = a->s + element_at(a, row, g * per + k - before);
    for (int k = 0; k < per; k++) t->begins[k] = 0;
    for (int i = 0; i < 8; i++) t->begins[a->field[i % per].into] |= (uint64_t)0xff << i * 8;
}

/* A folded chunk of `rows` rows from `row` on, groups from g on. Of packed lines, fields from `first` on. */
typedef struct chunk {
    uint8_t *stage;
    int64_t  row, rows, g, groups;
    int      first;
    bool     lanes; /* as bands_avx512.inc.h has it in the stage; or group by group */
} chunk;

/* Where row r of a square is in the stage, in its group i. */
TG_INLINE int64_t in_stage(bool lanes, int64_t r, int64_t i) {
    return lanes ? r / STRIP * STRIP * CHUNK + i * STRIP + r % STRIP : i * LINE + r;
}

static void find_terms(int bits, int kind, terms *t, const bands *a, const chunk *c, int64_t g) {
    if (kind == PACKED) find_packed_terms(bits, t, a, c->row, c->first, g);
    else find_byte_terms(bits, kind, t, a, c->row, g);
}

/* Bits of the bytes of field j's rows in group g, which is a part of the chunk, that stay: all of these bytes are read
 * before any is written, since a load waits for stores near by. */
static void keep_in_group(int bits, int kind, const bands *a, const chunk *c, int j, int64_t g, unsigned keep) {
    const int            per = 8 / bits, step = is_packed(kind) ? 1 : per, first = is_packed(kind) ? 0 : j;
    const int64_t        n = rows_of(bits, c->rows, j);
    const uint8_t *const d = a->field[j].d + c->row / per * a->dst_row + g;
    uint8_t *const       folded = c->stage + (is_packed(kind) ? (j - c->first) * square_of(kind) : 0);
    uint64_t             mask = 0, old[BYTE_ROWS / 8] = {0};
    if (keep == 0) return;
    for (int i = first; i < 8; i += step) mask |= (uint64_t)keep << i * 8;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)old)[first + i * step] = d[i * a->dst_row];
    for (int i = 0; i < (is_packed(kind) ? square_of(kind) / CHUNK : BYTE_ROWS); i += 8) {
        uint8_t *const own = folded + i / LINE * SQUARE + in_stage(c->lanes, i % LINE, g - c->g);
        uint64_t       x;
        memcpy(&x, own, 8);
        x = (x & ~mask) | (old[i / 8] & mask);
        memcpy(own, &x, 8);
    }
}

/* The same of one row, if it is in the chunk. */
static void keep_in_row(int bits, int kind, const bands *a, const chunk *c, int64_t row, int64_t g, unsigned keep) {
    const int     per = 8 / bits, j = (int)(row & (per - 1)) - c->first;
    const bool    packed = is_packed(kind);
    const int64_t n = row - c->row, r = packed ? n / per : n % LINE, square = packed ? j : n / LINE;
    if (n < 0 || n >= c->rows || g < c->g || g >= c->g + c->groups) return;
    if (packed && (j < 0 || j >= fields_of(bits, kind))) return;
    uint8_t *const own = c->stage + square * square_of(kind) + in_stage(c->lanes, r, g - c->g);
    const unsigned old = a->d[((a->first + row * a->row) >> (3 - bits / 2)) + g];
    *own = (uint8_t)((*own & ~keep) | (old & keep));
}

/* What of the first and the last byte of rows is another row's. */
static void keep_others(int bits, int kind, const bands *a, const chunk *c) {
    const int     n = is_packed(kind) ? fields_of(bits, kind) : 8 / bits;
    const int64_t end = a->rows - 1;
    if (a->joined) {
        const field *const f = &a->field[end & (8 / bits - 1)];
        keep_in_row(bits, kind, a, c, 0, 0, a->field[0].keep_first);
        keep_in_row(bits, kind, a, c, end, f->bytes - 1, f->keep_last);
        return;
    }
    for (int j = c->first; j < c->first + n; j++) {
        const field *const f = &a->field[j];
        const int64_t      last = f->bytes - 1;
        if (c->g == 0) keep_in_group(bits, kind, a, c, j, 0, f->keep_first);
        if (last >= c->g && last < c->g + c->groups) keep_in_group(bits, kind, a, c, j, last, f->keep_last);
    }
}

/* The same of one row of a chunk that is the first one, the last one, or both; other rows of it may have written their
 * share of these bytes. */
static void keep_ends(const field *f, uint8_t *row, const uint8_t *d, int64_t bytes, bool first, bool last) {
    const unsigned keep_first = first ? f->keep_first : 0, keep_last = last ? f->keep_last : 0;
    row[0] = (uint8_t)((d[0] & keep_first) | (row[0] & ~keep_first));
    row[bytes - 1] = (uint8_t)((d[bytes - 1] & keep_last) | (row[bytes - 1] & ~keep_last));
}

/* ---- plain C ---- */

static unsigned element_of(const tg_mover *m, const uint8_t *s, int64_t at) {
    const unsigned all = (1u << m->dst.bits) - 1;
    if (m->src.bits < 8) return tg_get_packed(s, at, m->dst.bits);
    return m->src.kind == TG_KIND_BOOL ? s[at] != 0 : s[at] & all;
}

static const uint8_t *bands_plain(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    for (int64_t r = 0; r < b->rows; r++)
        for (int64_t c = 0; c < b->cols; c++)
            tg_put_packed(d, b->dst_outer + r * b->dst_row + c, m->dst.bits,
                          element_of(m, s, b->src_outer + c * b->src_col + r));
    return NULL;
}

/* ---- templates ---- */

#define LOAD_16(p) _mm_loadu_si128((const __m128i *)(const void *)(p))

/* Elements of a and b take turns, in each 16-byte lane l: from its low half, or its high half. */
#define TURN(i) (i), VEC + (i), (i) + 1, VEC + (i) + 1, (i) + 2, VEC + (i) + 2, (i) + 3, VEC + (i) + 3
#define LOW(l)  TURN((l)*16), TURN((l)*16 + 4)
#define HIGH(l) TURN((l)*16 + 8), TURN((l)*16 + 12)

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/bands.inc.h"
#  undef VEC
TG_END

TG_BEGIN_AVX2
#  define VEC 32
#  include "kernels/bands.inc.h"
#  undef VEC
TG_END
#elif TG_HAVE_NEON
#  define VEC 16
#  include "kernels/bands.inc.h"
#  undef VEC
#endif

#define BANDS(SET) {bands_1_##SET, bands_2_##SET, bands_4_##SET}

tg_block_move *tg_bands_for(uint32_t cpu, int32_t bits) {
    const int i = bits / 2;
#if TG_HAVE_X86
    static tg_block_move *const avx512[] = BANDS(64), *const avx2[] = BANDS(32);
    if ((cpu & TG_CPU_AVX512) != 0) return avx512[i];
    if ((cpu & TG_CPU_AVX2) != 0) return avx2[i];
#elif TG_HAVE_NEON
    static tg_block_move *const neon[] = BANDS(16);
    if ((cpu & TG_CPU_NEON) != 0) return neon[i];
#endif
    (void)cpu;
    (void)i;
    return bands_plain;
}
