/* Rows of few columns that do not follow each other, into the second-level cache, with AVX-512; see transpose.c.
 *
 * Rows of 16 bytes to a stick, with gaps that others fill, or with a line of padding: pieces of 16, 32 and 64 bytes of
 * a row, of 64 bytes of each line (narrow.inc.h), are stored where they belong. Where stores wait for their lines,
 * these are asked for before, and only there rows with padding go so. Likewise columns of two loops, which together are
 * such rows, 16 bytes at a time.
 *
 *     512 KiB, an Emerald Rapids, x memcpy                               before  now
 *     [6,10923] of eight bytes from tiles of (4,128) to columns          0.18    0.55
 *     [30522,9] of two bytes from columns in tiles of (8,128)(2,1)       0.14    0.35
 *     [16,128,63] of four bytes to sticks of the first dimension         0.32    0.35
 *     [16,16384] of two bytes from tiles of (8,128)(2,1) to columns      0.35    0.75
 *     [4,8,16384] of one byte, reversed                                  0.19    0.45 */

enum { LEAST_GAPPED = 16 };

/* The lines of n rows of so many bytes. */
TG_INLINE void claim_gapped(uint8_t *d, int64_t n, int64_t step, int64_t bytes) {
    if (step > 0 && step < TG_LINE_BYTES) {
        for (const uint8_t *const end = d + n * step; d < end; d += TG_LINE_BYTES) TG_CLAIM(d);
        return;
    }
    for (int64_t i = 0; i < n; i++, d += step) {
        TG_CLAIM(d);
        TG_CLAIM(d + bytes - 1);
    }
}

/* 64 bytes of each line become rows, with padding behind them. */
TG_INLINE void gapped_piece(int width, bool claims, const tg_block *b, uint8_t *d, const uint8_t *s, __m512i pad) {
    const int64_t row = b->cols * width, tail = b->tail * width, n = VEC / width;
    if (claims) claim_gapped(d, n, b->dst_row, row + tail);
    V(turn_piece)(width, row, d, b->dst_row, s, b->src_col);
    for (int64_t at = row; at < row + tail; at += VEC)
        for (int64_t i = 0; i < n; i++)
            _mm512_mask_storeu_epi8(d + i * b->dst_row + at, V(bytes_left)(row + tail - at), pad);
}

/* Matrices that go on along rows take turns. */
TG_INLINE void gapped_block(int width, bool claims, uint8_t *d, const uint8_t *s, const tg_block *block) {
    const tg_block b = *block;
    const int64_t  depth = VEC / width;
    const __m512i  pad = b.tail > 0 ? _mm512_loadu_si512(b.pad) : _mm512_setzero_si512();
    const bool     turns = b.dst_outer > 0 && b.dst_outer < b.dst_row;
    const int64_t  outer = turns ? 1 : b.outer, inner = turns ? b.outer : 1;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t r = 0; r < b.rows; r += depth) {
            const int64_t  at = tg_min(r, b.rows - depth); /* the last ones may be written once more */
            uint8_t       *to = d + o * b.dst_outer + at * b.dst_row;
            const uint8_t *from = s + o * b.src_outer + at * width;
            for (int64_t i = 0; i < inner; i++, to += b.dst_outer, from += b.src_outer)
                gapped_piece(width, claims, &b, to, from, pad);
        }
}

/* ---- columns of two loops ---- */

/* 64 bytes of each of 16 / width lines, which are listed, become 16 bytes of rows. */
TG_NO_CHECKS TG_INLINE void listed_stripe(int width, uint8_t *d, int64_t row, const uint8_t *s, const int64_t *line) {
    const int n = 16 / width;
    V(vec)    in[16], out[16];
    TG_UNROLL
    for (int j = 0; j < n; j++) in[j] = V(load)(s + line[j]);
    V(turn)(width, out, in);
    V(store_lanes)(d, row, n, out);
}

TG_INLINE void gapped_columns(int width, bool claims, uint8_t *d, const uint8_t *s, const tg_block *block) {
    const tg_block b = *block;
    const int64_t  depth = VEC / width, row = b.outer * b.dst_outer;
    int64_t        line[STICK];
    for (int64_t c = 0; c < row / width; c++) line[c] = c / b.cols * b.src_outer + c % b.cols * b.src_col;
    for (int64_t r = 0; r < b.rows; r += depth) {
        const int64_t  at = tg_min(r, b.rows - depth);
        uint8_t *const to = d + at * b.dst_row;
        if (claims) claim_gapped(to, depth, b.dst_row, row);
        for (int64_t i = 0; i < row; i += 16) {
            const int64_t c = tg_min(i, row - 16);
            listed_stripe(width, to + c, b.dst_row, s + at * width, line + c / width);
        }
    }
}

/* ---- blocks ---- */

#define DEFINE_GAPPED(width)                                                              \
    TG_OUTLINE void gapped_##width(bool claims, uint8_t *d, const uint8_t *s, const tg_block *block) { \
        gapped_block(width, claims, d, s, block);                                                 \
    }                                                                                     \
    TG_OUTLINE void gapped_columns_##width(bool claims, uint8_t *d, const uint8_t *s, const tg_block *block) { \
        gapped_columns(width, claims, d, s, block);                                               \
    }
DEFINE_GAPPED(1)
DEFINE_GAPPED(2)
DEFINE_GAPPED(4)
DEFINE_GAPPED(8)
#undef DEFINE_GAPPED

typedef void gapped_move(bool claims, uint8_t *d, const uint8_t *s, const tg_block *block);

/* Do matrices go on along rows, without a gap? */
TG_INLINE bool are_joined(int width, const tg_block *b) {
    return b->outer > 1 && b->tail == 0 && b->dst_outer == b->cols * width;
}

/* Padding of sticks is written with them, and matrices side by side may be rows of sticks. */
TG_INLINE bool are_gapped(int width, const uint8_t *d, const tg_block *b) {
    const int64_t one = b->cols * width, row = are_joined(width, b) ? b->outer * one : one;
    if (width > 8 || row < LEAST_GAPPED || row >= STICK || b->rows * width < VEC) return false;
    if (b->tail == 0) return b->dst_row != one;
    return row % TG_LINE_BYTES == 0 && tg_at_lines(d, b->dst_row, b->outer > 1 ? b->dst_outer : 0);
}

/* False if rows are not such. */
TG_INLINE bool moved_gapped(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    static gapped_move *const even[] = {gapped_1, gapped_2, gapped_4, gapped_8};
    static gapped_move *const joined[] = {gapped_columns_1, gapped_columns_2, gapped_columns_4, gapped_columns_8};
    if (!m->to_dst || m->stream || !are_gapped(width, d, b)) return false;
    if (b->tail > 0 && !m->claims) return false; /* a Zen 4, [16,128,63] of four bytes to sticks: 0.35 -> 0.27 */
    (are_joined(width, b) ? joined : even)[__builtin_ctz((unsigned)width)](m->claims, d, s, b);
    return true;
}
