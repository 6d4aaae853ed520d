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
 * to rows. No row is shifted to its place; only the first and the last byte of a whole row hold what is not the row's,
 * which is read from dst and written again.
 *
 *     band     64 bytes of all lines, which are rows of dst: 64 of each field (of single bits four fields, then the
 *              other four); where lines are bytes, 128 of all fields
 *     chunk    64 groups, which are 64 bytes of each of these rows
 *
 * A chunk is folded into a stage, and its bytes are turned into the rows; there begun cache lines of dst wait for the
 * next chunk, so that all but the first and the last one of a row are written whole. Where rows are whole lines they
 * need not wait, and are turned straight into dst.
 *
 * Where lines are bytes, rows of all fields are neighbours in a vector. Lines are joined as if all rows began with a
 * byte, and those that do not get the end of the group before shifted in.
 *
 * On an Emerald Rapids (1021 x 1029 of 4 bits, 53 us) folding takes 21 us, leaving 17 and turning 13, one after the
 * other: each line comes from the second-level cache twice, a line in part each time. To fold the next chunk between
 * the shuffles of this one is no faster: nearly all loads then have the place in a page of a store that waits. */
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
    const uint8_t *s;
    int64_t        rows, cols, dst_row, src_first, src_col; /* dst_row: bytes from row to row of a field */
    field          field[8];
    int64_t        groups, full_first, full_end; /* of all, those [first, end) that have all their lines */
    bool           bytes;  /* lines are such */
    bool           direct; /* rows are whole lines of the cache, and need not wait */
    bool           late;   /* rows are so short that one chunk has both ends of a byte that two rows share */
    bool           stream, far, claims;
    uint8_t       *stage, *waiting;
} bands;

/* The lines of a group. */
typedef struct terms {
    const uint8_t *line[MOST_TERMS]; /* of packed ones, j * per + k: for field k of a byte of a row of the jth field */
    int64_t        turn[MOST_TERMS]; /* so many bits up */
    uint64_t       begins[8];        /* of bytes: those of rows that begin so many elements into a byte */
} terms;

/* Lines are packed; or bytes, of which all that are not 0 may mean 1, and all of whose rows may begin at the same
 * bit. */
enum { PACKED = 0, BYTES = 1, NONZERO = 2, ALIKE = 4 };

/* The lowest field of each byte. */
TG_INLINE uint64_t ones(int bits) { return ((1u << bits) - 1) * (~(uint64_t)0 / 255); }

TG_INLINE int64_t rows_of_band(int bits, int kind) { return tg_band_rows(bits, kind == PACKED); }

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

static bands bands_of(int bits, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    const int per = 8 / bits;
    bands     a = {.s = s, .rows = b->rows, .cols = b->cols, .dst_row = b->dst_row, .src_first = b->src_outer,
                   .src_col = b->src_col, .full_end = b->cols / per, .bytes = m->src.bits == 8, .direct = true,
                   .stream = m->stream, .far = m->far, .claims = m->claims};
    for (int k = 0; k < per; k++) {
        field *const f = &a.field[k];
        *f = field_of(bits, d, b->dst_outer + k * b->dst_row, b->cols);
        a.groups = tg_max(a.groups, f->bytes);
        if (f->into > 0) a.full_first = 1;
        if (f->bytes <= CHUNK) a.late = true;
        if (a.bytes || f->keep_first != 0 || f->keep_last != 0 || !tg_at_lines(f->d, b->dst_row, 0)) a.direct = false;
    }
    return a;
}

static int kind_of(int bits, const tg_mover *m, const bands *a) {
    int kind = a->bytes ? BYTES | ALIKE : PACKED;
    if (a->bytes && m->src.kind == TG_KIND_BOOL) kind |= NONZERO;
    for (int k = 1; k < 8 / bits; k++)
        if (a->field[k].into != a->field[0].into) kind &= ~ALIKE;
    return kind;
}

/* What is missing in the first and the last group is any other line. */
TG_INLINE int64_t line_of(const bands *a, int64_t c) { return tg_max(tg_min(c, a->cols - 1), 0); }

/* Of rows from `row` on, group g; fields from `first` on. */
static void find_packed_terms(int bits, terms *t, const bands *a, int64_t row, int first, int64_t g) {
    const int per = 8 / bits;
    for (int i = 0; i < FIELDS(bits); i++)
        for (int k = 0; k < per; k++) {
            const int     j = first + i;
            const int64_t c = line_of(a, g * per + k - a->field[j].into), at = a->src_first + c * a->src_col + row + j;
            t->line[i * per + k] = a->s + (at >> (3 - bits / 2));
            t->turn[i * per + k] = (k - (int)(at & (per - 1))) * bits;
        }
}

static void find_byte_terms(int bits, int kind, terms *t, const bands *a, int64_t row, int64_t g) {
    const int     per = 8 / bits;
    const int64_t before = (kind & ALIKE) != 0 ? a->field[0].into : 0;
    for (int k = 0; k < per; k++)
        t->line[k] = a->s + a->src_first + line_of(a, g * per + k - before) * a->src_col + row;
    for (int k = 0; k < per; k++) t->begins[k] = 0;
    for (int i = 0; i < 8; i++) t->begins[a->field[i % per].into] |= (uint64_t)0xff << i * 8;
}

/* A folded chunk of `rows` rows from `row` on, groups from g on. Of packed lines, fields from `first` on. */
typedef struct chunk {
    uint8_t *stage;
    int64_t  row, rows, g, groups;
    int      first;
} chunk;

static void find_terms(int bits, int kind, terms *t, const bands *a, const chunk *c, int64_t g) {
    if (kind == PACKED) find_packed_terms(bits, t, a, c->row, c->first, g);
    else find_byte_terms(bits, kind, t, a, c->row, g);
}

/* Bits of the bytes of field j's rows in group g, which is a part of the chunk, that stay: all of these bytes are read
 * before any is written, since a load waits for stores near by. */
static void keep_in_group(int bits, int kind, const bands *a, const chunk *c, int j, int64_t g, unsigned keep) {
    const int            per = 8 / bits, step = kind == PACKED ? 1 : per, first = kind == PACKED ? 0 : j;
    const int64_t        n = rows_of(bits, c->rows, j);
    const uint8_t *const d = a->field[j].d + c->row / per * a->dst_row + g;
    uint8_t *const       folded = c->stage + (kind == PACKED ? (j - c->first) * SQUARE : 0) + (g - c->g) * LINE;
    uint64_t             mask = 0, old[BYTE_ROWS / 8] = {0};
    if (keep == 0) return;
    for (int i = first; i < 8; i += step) mask |= (uint64_t)keep << i * 8;
    for (int64_t i = 0; i < n; i++) ((uint8_t *)old)[first + i * step] = d[i * a->dst_row];
    for (int i = 0; i < (kind == PACKED ? LINE : BYTE_ROWS); i += 8) {
        uint8_t *const own = folded + i / LINE * SQUARE + i % LINE;
        uint64_t       x;
        memcpy(&x, own, 8);
        x = (x & ~mask) | (old[i / 8] & mask);
        memcpy(own, &x, 8);
    }
}

/* What of the first and the last byte of rows is another row's. */
static void keep_others(int bits, int kind, const bands *a, const chunk *c) {
    const int n = kind == PACKED ? FIELDS(bits) : 8 / bits;
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
