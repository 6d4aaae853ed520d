/* Two, four or eight rows that take turns, of which some are missing, with vectors of VEC bytes: a tile (4,1) of the
 * last three of seven rows, and four channels of which three are wanted.
 *
 *     rows a b c and padding x      a0 b0 c0 x  a1 b1 c1 x ...
 *
 * Padding takes the turns of what is missing; or, with vectors of 64 bytes, these stay as they are; back, they are
 * passed over. */

#if VEC == 64
/* Of a vector of turns, the bytes of the first `rows` ones; of n bytes, if these are fewer. */
TG_INLINE uint64_t V(turns_present)(int width, int ways, int64_t rows, int64_t n) {
    const uint64_t all = ~(uint64_t)0, each = ways * width == 64 ? 1 : all / (all >> (64 - ways * width));
    return V(first_bytes)(rows * width) * each & V(bytes_left)(n);
}

/* n elements of each of `rows` rows; what lies between them in dst stays. */
TG_NO_CHECKS TG_INLINE void V(turns_with_gaps)(int width, int ways, int64_t rows, uint8_t *d, const uint8_t *s,
                                               int64_t row, int64_t n) {
    for (int64_t i = 0; i < n; i += VEC / width, d += ways * VEC, s += VEC) {
        const int64_t bytes = (n - i) * width;
        V(vec)        v[MOST_TURNS], w[MOST_TURNS];
        TG_UNROLL
        for (int k = 0; k < ways; k++) v[k] = k < rows ? V(load_some)(s + k * row, bytes) : (V(vec)){0};
        V(turns)(width, ways, false, w, v);
        TG_UNROLL
        for (int k = 0; k < ways; k++)
            _mm512_mask_storeu_epi8(d + k * VEC, V(turns_present)(width, ways, rows, ways * bytes - k * VEC),
                                    (__m512i)w[k]);
    }
}
#endif

/* n elements of each of `rows` rows, and of padding for those that are missing, one after the other. */
TG_NO_CHECKS TG_INLINE void V(turns_and_padding)(int width, int ways, int64_t rows, uint8_t *d, const uint8_t *s,
                                                 int64_t row, int64_t n, V(vec) pad, bool stream) {
    V(vec)  v[MOST_TURNS], w[MOST_TURNS];
    int64_t i = 0;
    for (; n - i >= VEC / width; i += VEC / width, d += ways * VEC, s += VEC) {
        TG_UNROLL
        for (int k = 0; k < ways; k++) v[k] = k < rows ? V(load)(s + k * row) : pad;
        V(turns)(width, ways, false, w, v);
        TG_UNROLL
        for (int k = 0; k < ways; k++) V(put)(d + k * VEC, w[k], stream);
    }
    const int64_t bytes = (n - i) * width;
    if (bytes == 0) return;
    TG_UNROLL
    for (int k = 0; k < ways; k++) v[k] = k < rows ? V(load_some)(s + k * row, bytes) : pad;
    V(turns)(width, ways, false, w, v);
    TG_UNROLL
    for (int k = 0; k < ways; k++) V(store_some)(d + k * VEC, w[k], ways * bytes - k * VEC);
}

/* And back: the first `rows` ones of `ways` rows. Behind their last element src may end. */
TG_NO_CHECKS TG_INLINE void V(some_rows)(int width, int ways, int64_t rows, uint8_t *d, const uint8_t *s, int64_t row,
                                         int64_t n) {
    V(vec)  v[MOST_TURNS], w[MOST_TURNS];
    int64_t i = 0;
    for (; n - i > VEC / width; i += VEC / width, d += VEC, s += ways * VEC) {
        TG_UNROLL
        for (int k = 0; k < ways; k++) v[k] = V(load)(s + k * VEC);
        V(turns)(width, ways, true, w, v);
        TG_UNROLL
        for (int k = 0; k < ways; k++)
            if (k < rows) V(store)(d + k * row, w[k]);
    }
    const int64_t bytes = (n - i) * width, all = ways * bytes - (ways - rows) * width;
    TG_UNROLL
    for (int k = 0; k < ways; k++) v[k] = V(load_some)(s + k * VEC, all - k * VEC);
    V(turns)(width, ways, true, w, v);
    TG_UNROLL
    for (int k = 0; k < ways; k++)
        if (k < rows) V(store_some)(d + k * row, w[k], bytes);
}

TG_INLINE void V(some_turns)(int width, int ways, bool back, const tg_mover *m, uint8_t *d, const uint8_t *s,
                             const tg_block *block) {
    const tg_block b = *block; /* a value, which no store can change */
    const bool     stream = m->stream && tg_at_lines(d, b.dst_outer, 0);
    const V(vec)   pad = b.tail == 0 ? (V(vec)){0} : V(load)(b.pad);
    for (int64_t o = b.outer; o > 0; o--, d += b.dst_outer, s += b.src_outer) {
#if VEC == 64
        if (!back && b.tail == 0) {
            V(turns_with_gaps)(width, ways, b.cols, d, s, b.src_col, b.rows);
            continue;
        }
#endif
        if (back) V(some_rows)(width, ways, b.rows, d, s, b.dst_row, b.cols);
        else if (stream) V(turns_and_padding)(width, ways, b.cols, d, s, b.src_col, b.rows, pad, true);
        else V(turns_and_padding)(width, ways, b.cols, d, s, b.src_col, b.rows, pad, false);
    }
}

/* Some of 2, 4 or 8 turns of so many bytes? */
TG_INLINE bool V(are_some)(int width, int64_t turns, int64_t bytes) {
    return bytes > turns * width && (bytes == 2 * width || bytes == 4 * width || bytes == 8 * width);
}

/* Do some of the rows of src take turns in dst, or those of dst in src? One row is no transpose. */
TG_INLINE bool V(some_in_dst)(int width, const tg_block *b) {
    return V(are_some)(width, b->cols, b->dst_row) &&
           (b->tail == 0 ? VEC == 64 : b->dst_row == (b->cols + b->tail) * width);
}

TG_INLINE bool V(some_in_src)(int width, const tg_block *b) {
    return b->tail == 0 && b->rows > 1 && V(are_some)(width, b->rows, b->src_col);
}

TG_INLINE bool V(are_in_part)(int width, const tg_block *b) {
    return width <= 8 && (V(some_in_dst)(width, b) || V(some_in_src)(width, b));
}

#define DEFINE_IN_PART(width)                                                                                          \
  TG_OUTLINE void V(turns_in_part_##width)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {       \
    const bool    back = !V(some_in_dst)(width, b);                                                                    \
    const int64_t ways = (back ? b->src_col : b->dst_row) / (width);                                                   \
    if (ways == 2) V(some_turns)(width, 2, false, m, d, s, b);                                                         \
    else if (ways == 4 && !back) V(some_turns)(width, 4, false, m, d, s, b);                                           \
    else if (ways == 8 && !back) V(some_turns)(width, 8, false, m, d, s, b);                                           \
    else if (ways == 4) V(some_turns)(width, 4, true, m, d, s, b);                                                     \
    else V(some_turns)(width, 8, true, m, d, s, b);                                                                    \
  }
DEFINE_IN_PART(1)
DEFINE_IN_PART(2)
DEFINE_IN_PART(4)
DEFINE_IN_PART(8)
#undef DEFINE_IN_PART

/* pre: V(are_in_part). */
TG_INLINE void V(turns_in_part)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (width == 1) V(turns_in_part_1)(m, d, s, b);
    else if (width == 2) V(turns_in_part_2)(m, d, s, b);
    else if (width == 4) V(turns_in_part_4)(m, d, s, b);
    else V(turns_in_part_8)(m, d, s, b);
}
