/* Transposes into a cache whose lines of src, and rows of dst, crowd each other in it, with AVX-512; see transpose.c.
 *
 * Where both are nearly a multiple of a page apart, as in matrices of 1025 x 1025, a square reads the same lines of the
 * cache twice, since all begin inside of some and no place is left for them until the next square, writes lines of dst
 * by half, twice, and its loads wait for stores that have the same place in a page. So rows are made in a stage, by
 * half squares, of few enough lines, and leave it one after the other, whole lines at once:
 *
 *     src   32 / width lines, 64 bytes of each at a time    stage   64 rows, 640 bytes of each    dst   row by row
 *
 * The stage has 44 KiB, and is in the second-level cache. That costs as much as moving the bytes twice. (A Zen 4, x
 * memcpy, both sides in the second-level cache or the third one: f32[1025,1025] 0.11 -> 0.33, f64[513,513] 0.14 ->
 * 0.40, f16[1025,1025] 0.15 -> 0.31, u8[2047,2047] 0.20 -> 0.25; from day to day 0.05 less.) */

enum {
    CRAMPED_ROWS = 64,
    CRAMPED_COLUMNS = 640,                           /* bytes, */
    CRAMPED_PITCH = CRAMPED_COLUMNS + TG_LINE_BYTES, /* and from row to row in the stage: an odd number of lines */
    CROWDED = FIRST_WAYS
};

/* Do rows of dst and lines of src crowd each other enough to pay for a stage? Yes if half of a square's rows do, and 8
 * of them (of two bytes, if 8 lines do so too: else 0.93); of four bytes and more also if 4 rows do, and either 8
 * lines, or 4 that have the same places in a page (ALIKE: f64[257,257] 0.23 -> 0.40 of memcpy). Rows that begin at
 * lines of the cache are written whole. (Of 312 matrices from 255 x 255 to 4097 x 1023 those that gain by it and no
 * others, but for one: f32[511,1019] 0.84.)
 *
 * Processors whose stores claim lines have 12 ways, but 8 rows are the least that gain there too, of bytes 32, and
 * lines of src do not matter. (A Granite Rapids, x memcpy, 512 KiB: f16[4095,64] to columns 0.23 and 0.35, [2559,128],
 * of which 8 of 32 rows have a set, 0.24 and 0.39, but [2559,32], one square of rows, 0.65 and 0.43; u8[4095,64] 0.21
 * and 0.32, but in blocks of more rows [2049,513] 0.34 and 0.29; f32[2047,64] 0.28 and 0.34, but [514,514], 4 rows,
 * 0.56 and 0.43.) */
static inline bool is_cramped(int width, const tg_mover *m, const tg_block *b) {
    enum { ALIKE = 512 /* bytes */, MOST_ROWS = 256 };
    const int64_t n = VEC / width;
    if (m->stream || b->tail > 0 || tg_min(b->rows, b->cols) < n) return false;
    if (b->dst_row % TG_LINE_BYTES == 0) return false;
    const int64_t rows = lines_in_set(b->dst_row, n);
    if (rows < PARTLY_CROWDED) return false;
    if (m->claims && width == 1) return rows >= n / 2 && b->rows <= MOST_ROWS;
    if (m->claims) return rows >= CROWDED;
    const int64_t lines = lines_in_set(b->src_col, n);
    if (rows >= tg_max(n / 2, CROWDED)) return width != 2 || lines >= CROWDED;
    const bool alike = lines >= PARTLY_CROWDED && (b->dst_row - b->src_col) % ALIKE == 0;
    return width >= 4 && (alike || lines >= CROWDED);
}

/* n bytes, VEC or more. */
static inline void leave_cramped(uint8_t *d, const uint8_t *s, int64_t n) {
    V(store)(d, V(load)(s));
    for (int64_t i = (int64_t)(-(uintptr_t)d % VEC); i + VEC <= n; i += VEC) V(store)(d + i, V(load)(s + i));
    V(store)(d + n - VEC, V(load)(s + n - VEC));
}

/* Of one matrix; both are VEC / width or more. */
TG_INLINE void turn_cramped(int width, uint8_t *stage, uint8_t *d, const uint8_t *s, const tg_block *b, int64_t rows,
                            int64_t cols) {
    const int64_t n = VEC / width, half = n / 2;
    for (int64_t i = 0; i < cols; i += half) {
        const int64_t c = tg_min(i, cols - half);
        for (int64_t j = 0; j < rows; j += n) {
            const int64_t r = tg_min(j, rows - n);
            V(half)(width)(stage + r * CRAMPED_PITCH + c * width, s + c * b->src_col + r * width, b->src_col,
                           CRAMPED_PITCH);
        }
    }
    for (int64_t r = 0; r < rows; r++) leave_cramped(d + r * b->dst_row, stage + r * CRAMPED_PITCH, cols * width);
}

/* So many at a time of `all`, as equal as multiples of a square's side can be. */
static inline int64_t cramped_share(int64_t all, int64_t most, int64_t side) {
    return tg_ceil_div(tg_ceil_div(all, tg_ceil_div(all, most)), side) * side;
}

TG_INLINE void run_cramped(int width, uint8_t *d, const uint8_t *s, const tg_block *b) {
    uint8_t       stage[CRAMPED_ROWS * CRAMPED_PITCH] __attribute__((aligned(64)));
    const int64_t n = VEC / width;
    const int64_t rows = cramped_share(b->rows, CRAMPED_ROWS, n),
                  cols = cramped_share(b->cols, CRAMPED_COLUMNS / width, n);
    for (int64_t o = 0; o < b->outer; o++)
        for (int64_t i = 0; i < b->cols; i += cols) {
            const int64_t c = tg_min(i, b->cols - n); /* the last ones may be moved twice */
            for (int64_t j = 0; j < b->rows; j += rows) {
                const int64_t r = tg_min(j, b->rows - n);
                turn_cramped(width, stage, d + o * b->dst_outer + r * b->dst_row + c * width,
                             s + o * b->src_outer + c * b->src_col + r * width, b, tg_min(rows, b->rows - r),
                             tg_min(cols, b->cols - c));
            }
        }
}

/* Functions of their own, for the stage on their stacks. */
#define DEFINE_CRAMPED(width)                                                                                          \
  TG_OUTLINE void cramped_##width(uint8_t *d, const uint8_t *s, const tg_block *b) {                            \
    run_cramped(width, d, s, b);                                                                                       \
  }
DEFINE_CRAMPED(1)
DEFINE_CRAMPED(2)
DEFINE_CRAMPED(4)
DEFINE_CRAMPED(8)
#undef DEFINE_CRAMPED

/* False if it is no such block. */
TG_INLINE bool moved_cramped(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (width > 8 || !is_cramped(width, m, b)) return false;
    if (width == 1) cramped_1(d, s, b);
    else if (width == 2) cramped_2(d, s, b);
    else if (width == 4) cramped_4(d, s, b);
    else cramped_8(d, s, b);
    return true;
}
