/* Transposes: dst lines are contiguous along the columns, src lines along the rows.
 *
 * Everything is cut into square tiles of 128 by 128 bytes' worth of elements: 64 x 64 for two bytes. A tile
 * is first copied, line by line, into a stage of L1, unless it lies together in src. */
#include "kernels/stream.h"
#include "kernels/target.h"
#include "kernels/unaligned.h"
#include "kernels/variants.h"

#include <string.h>

#if TG_HAVE_X86
#  include <immintrin.h>
#endif

enum { STICK = 128, MAX_SIDE = 128 };

/* ---- plain C ---- */

#define DEFINE_PLAIN(UNIT)                                                                                          \
    static const uint8_t *plain_##UNIT(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {        \
        enum { SIDE = 16 };                                                                                         \
        const int64_t width = (int64_t)sizeof(UNIT);                                                                \
        (void)m;                                                                                                    \
        for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer)                                \
            for (int64_t r0 = 0; r0 < b->rows; r0 += SIDE) {                                                        \
                const int64_t r1 = b->rows - r0 < SIDE ? b->rows : r0 + SIDE;                                       \
                for (int64_t c0 = 0; c0 < b->cols; c0 += SIDE) {                                                    \
                    const int64_t c1 = b->cols - c0 < SIDE ? b->cols : c0 + SIDE;                                   \
                    for (int64_t r = r0; r < r1; r++)                                                               \
                        for (int64_t c = c0; c < c1; c++)                                                           \
                            *(UNIT *)(void *)(d + r * b->dst_row + c * width) =                                     \
                                *(const UNIT *)(const void *)(s + r * width + c * b->src_col);                      \
                }                                                                                                   \
                if (b->tail > 0)                                                                                    \
                    for (int64_t r = r0; r < r1; r++)                                                               \
                        tg_fill_bytes(d + r * b->dst_row + b->cols * width, b->tail * width, b->pad, false);        \
            }                                                                                                       \
        return NULL;                                                                                                \
    }

DEFINE_PLAIN(unit8)
DEFINE_PLAIN(unit16)
DEFINE_PLAIN(unit32)
DEFINE_PLAIN(unit64)
DEFINE_PLAIN(unit128)

/* ---- lines ----
 *
 * The lines of one side count through outer and the inner loop where these make one run on the other side. */

typedef struct loops {
    int64_t n, inner, step, outer; /* line i begins at i / inner * outer + i % inner * step */
} loops;

typedef struct matrix {
    int64_t        width;
    loops          src, dst; /* src.n columns, each a line of src; dst.n rows */
    int64_t        cols;     /* src.n and the padding */
    const uint8_t *pad;      /* one stick */
    int64_t        ahead;    /* of tiles in place: how far to fetch, or 0 */
    bool           stream;   /* dst lines are whole and begin at lines */
    bool           far;
    bool           in_place; /* source lines are sticks that follow each other: tiles need no stage */
} matrix;

typedef struct work {
    uint8_t        stage[MAX_SIDE * STICK] __attribute__((aligned(64)));
    uint8_t        out[MAX_SIDE * STICK] __attribute__((aligned(64))); /* rows that go nowhere, or not as a whole */
    uint8_t        pad[STICK];
    const uint8_t *line[MAX_SIDE];
    uint8_t       *rows[MAX_SIDE];
} work;

/* Addresses of lines [first, first + n). */
#define DEFINE_ADDRESSES(name, POINTER)                                                                        \
    static inline void name(POINTER *out, POINTER base, const loops *l, int64_t first, int64_t n) {            \
        int64_t in = first, at = 0;                                                                            \
        if (first >= l->inner) {                                                                               \
            in = first % l->inner;                                                                             \
            at = first / l->inner * l->outer;                                                                  \
        }                                                                                                      \
        for (int64_t k = 0; k < n; in = 0, at += l->outer) {                                                   \
            const int64_t end = n - k < l->inner - in ? n : k + l->inner - in;                                 \
            POINTER const start = base + at + (in - k) * l->step;                                              \
            for (; k < end; k++) out[k] = start + k * l->step;                                                 \
        }                                                                                                      \
    }

typedef const uint8_t *source;
typedef uint8_t       *target;
DEFINE_ADDRESSES(source_addresses, source)
DEFINE_ADDRESSES(target_addresses, target)

/* How many of columns [c, c + nc) have a source, and where. */
static inline int64_t source_lines(const uint8_t **line, const uint8_t *s, const matrix *a, int64_t c, int64_t nc) {
    const int64_t n = c >= a->src.n ? 0 : a->src.n - c < nc ? a->src.n - c : nc;
    source_addresses(line, s, &a->src, c, n);
    return n;
}

/* Rows that a tile has and the matrix has not go to `out`. */
static inline void destination_rows(uint8_t **rows, uint8_t *d, const matrix *a, int64_t r, int64_t nr, uint8_t *out) {
    const int64_t side = STICK / a->width;
    target_addresses(rows, d, &a->dst, r, nr);
    for (int64_t i = nr; i < side; i++) rows[i] = out + i * STICK;
}

static inline bool at_lines(const uint8_t *d, int64_t step, int64_t other) {
    return (((uintptr_t)d | (uintptr_t)step | (uintptr_t)other) & (TG_LINE_BYTES - 1)) == 0;
}

/* The block as one matrix if it is one, else as the first of the number of matrices that is returned. */
static inline int64_t matrix_of(matrix *a, uint8_t *pad, int64_t width, const tg_mover *m, const uint8_t *d,
                                const tg_block *b) {
    enum { AHEAD = 8192 };
    int64_t outer = b->outer;
    *a = (matrix){.width = width, .cols = b->cols + b->tail, .pad = pad, .far = m->far};
    a->src = (loops){b->cols, b->cols, b->src_col, 0};
    a->dst = (loops){b->rows, b->rows, b->dst_row, 0};
    a->in_place = b->src_col == STICK;
    a->ahead = m->far ? AHEAD : 0;
    a->stream = m->stream && at_lines(d, b->dst_row, b->dst_outer);
    if (b->tail > 0) {
        memcpy(pad, b->pad, TG_PAD_PATTERN);
        memcpy(pad + TG_PAD_PATTERN, b->pad, TG_PAD_PATTERN);
    }
    if (outer > 1 && b->src_outer == b->rows * width) {
        a->dst.n *= outer;
        a->dst.outer = b->dst_outer;
        outer = 1;
    } else if (outer > 1 && b->tail == 0 && b->dst_outer == b->cols * width) {
        a->src.n *= outer;
        a->src.outer = b->src_outer;
        a->cols = a->src.n;
        a->in_place = a->in_place && b->src_outer == b->cols * STICK;
        a->stream = m->stream && at_lines(d, b->dst_row, 0);
        outer = 1;
    }
    return outer;
}

/* Elements of a and b take turns, in each 16-byte lane l: from its low half, or its high half. */
#define TURN1(i) (i), VEC + (i), (i) + 1, VEC + (i) + 1, (i) + 2, VEC + (i) + 2, (i) + 3, VEC + (i) + 3
#define LOW1(l)  TURN1((l)*16), TURN1((l)*16 + 4)
#define HIGH1(l) TURN1((l)*16 + 8), TURN1((l)*16 + 12)
#define TURN2(i) (i), VEC / 2 + (i), (i) + 1, VEC / 2 + (i) + 1
#define LOW2(l)  TURN2((l)*8), TURN2((l)*8 + 2)
#define HIGH2(l) TURN2((l)*8 + 4), TURN2((l)*8 + 6)
#define LOW4(l)  (l)*4, VEC / 4 + (l)*4, (l)*4 + 1, VEC / 4 + (l)*4 + 1
#define HIGH4(l) (l)*4 + 2, VEC / 4 + (l)*4 + 2, (l)*4 + 3, VEC / 4 + (l)*4 + 3
#define LOW8(l)  (l)*2, VEC / 8 + (l)*2
#define HIGH8(l) (l)*2 + 1, VEC / 8 + (l)*2 + 1

/* Lists of places: n elements of each of two vectors in turn, from i on; every second one of both. */
#define TAKE1(i, n)  (i), (n) + (i)
#define TAKE2(i, n)  TAKE1(i, n), TAKE1((i) + 1, n)
#define TAKE4(i, n)  TAKE2(i, n), TAKE2((i) + 2, n)
#define TAKE8(i, n)  TAKE4(i, n), TAKE4((i) + 4, n)
#define TAKE16(i, n) TAKE8(i, n), TAKE8((i) + 8, n)
#define TAKE32(i, n) TAKE16(i, n), TAKE16((i) + 16, n)
#define SKIP2(i)     (i), (i) + 2
#define SKIP4(i)     SKIP2(i), SKIP2((i) + 4)
#define SKIP8(i)     SKIP4(i), SKIP4((i) + 8)
#define SKIP16(i)    SKIP8(i), SKIP8((i) + 16)
#define SKIP32(i)    SKIP16(i), SKIP16((i) + 32)
#define SKIP64(i)    SKIP32(i), SKIP32((i) + 64)
#define ZIP1(a, b, c, d) a /* the list for a width of so many bytes */
#define ZIP2(a, b, c, d) b
#define ZIP4(a, b, c, d) c
#define ZIP8(a, b, c, d) d

#define INLINE     __attribute__((always_inline)) static inline
#define LOAD128(p) _mm_loadu_si128((const __m128i *)(const void *)(p))

/* ---- templates ---- */

#if TG_HAVE_X86
TG_BEGIN_AVX512
#  define VEC 64
#  include "kernels/transpose.inc.h"
#  undef VEC
TG_END

TG_BEGIN_AVX2
#  define VEC 32
#  include "kernels/transpose.inc.h"
#  undef VEC
TG_END
#elif TG_HAVE_NEON
#  define VEC 16
#  include "kernels/transpose.inc.h"
#  undef VEC
#endif

tg_block_move *tg_transpose_for(uint32_t cpu, int32_t width) {
    static tg_block_move *const plain[] = {plain_unit8, plain_unit16, plain_unit32, plain_unit64, plain_unit128};
    int                         i = 0;
    while (width >> i > 1) i++;
#if TG_HAVE_X86
    static tg_block_move *const avx512[] = {transpose_1_64, transpose_2_64, transpose_4_64, transpose_8_64,
                                            transpose_16_64};
    static tg_block_move *const avx2[] = {transpose_1_32, transpose_2_32, transpose_4_32, transpose_8_32,
                                          transpose_16_32};
    if ((cpu & TG_CPU_AVX512) != 0) return avx512[i];
    if ((cpu & TG_CPU_AVX2) != 0) return avx2[i];
#elif TG_HAVE_NEON
    static tg_block_move *const neon[] = {transpose_1_16, transpose_2_16, transpose_4_16, transpose_8_16,
                                          transpose_16_16};
    if ((cpu & TG_CPU_NEON) != 0) return neon[i];
#endif
    (void)cpu;
    return plain[i];
}
