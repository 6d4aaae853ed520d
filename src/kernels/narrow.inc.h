/* Rows of few columns, with vectors of VEC bytes; see transpose.c.
 *
 * A cache line of each line is read at once, VEC bytes of it in one vector. Rows of up to 32 bytes are made in slots
 * of 16 or 32 bytes, of as many lines as have place there (of those that are missing, the last one again), and stored
 * upwards: what is in excess of one row becomes the next one. (With vectors of 64 bytes few_avx512.inc.h makes them.)
 * Longer rows are made piece by piece, of 16, 32 or VEC bytes, the last one of which
 * begins a little earlier and writes some columns twice.
 *
 * Rows, which must follow each other, are collected in a buffer, from which whole cache lines leave: stores that begin
 * inside of lines, each of which has to come from another cache, are slow one by one. */

/* Rows on their way. */
typedef struct V(narrow) {
    uint8_t  out[TG_LINE_BYTES + NARROW_BYTES + TG_LINE_BYTES] __attribute__((aligned(64))); /* begun line, rows */
    uint8_t  last[NARROW_BYTES + TG_LINE_BYTES] __attribute__((aligned(64)));
    int64_t  slot;     /* bytes; 0: rows are made piece by piece */
    int64_t  cols, row, s_step; /* bytes of a row, and from line to line */
    bool     stream;
    uint8_t *d;        /* where out goes, at a cache line */
    int64_t  from, to; /* [from, to) of out is filled, from > 0 in the first cache line only */
} V(narrow);

TG_INLINE tg_vec16 V(lane)(V(vec) v, int l) {
#if VEC == 64
    return l == 0   ? (tg_vec16)_mm512_castsi512_si128((__m512i)v)
           : l == 1 ? (tg_vec16)_mm512_extracti32x4_epi32((__m512i)v, 1)
           : l == 2 ? (tg_vec16)_mm512_extracti32x4_epi32((__m512i)v, 2)
                    : (tg_vec16)_mm512_extracti32x4_epi32((__m512i)v, 3);
#elif VEC == 32
    return l == 0 ? (tg_vec16)_mm256_castsi256_si128((__m256i)v) : (tg_vec16)_mm256_extracti128_si256((__m256i)v, 1);
#else
    (void)l;
    return (tg_vec16)v;
#endif
}

/* Registers j of n, in lanes l, to the places (l * n + j) * step. */
TG_NO_CHECKS TG_INLINE void V(store_lanes)(uint8_t *d, int64_t step, int n, const V(vec) *v) {
    TG_UNROLL
    for (int l = 0; l < LANES; l++) {
        TG_UNROLL
        for (int j = 0; j < n; j++) {
            const tg_vec16 lane = V(lane)(v[j], l);
            memcpy(d + (l * n + j) * step, &lane, sizeof lane);
        }
    }
}

/* VEC bytes of each of 16 / width lines become 16 bytes of each of VEC / width rows. */
TG_NO_CHECKS TG_INLINE void V(stripe_of)(int width, uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row) {
    const int n = 16 / width;
    V(vec)    in[16], out[16];
    TG_UNROLL
    for (int j = 0; j < n; j++) in[j] = V(load)(s + j * s_step);
    V(turn)(width, out, in);
    V(store_lanes)(d, row, n, out);
}

#define DEFINE_STRIPE(width)                                                                                           \
    TG_NO_CHECKS TG_OUTLINE void V(stripe_##width)(uint8_t *d, const uint8_t *s, int64_t s_step, int64_t row) {        \
        V(stripe_of)(width, d, s, s_step, row);                                                                        \
    }

DEFINE_STRIPE(1)
DEFINE_STRIPE(2)
DEFINE_STRIPE(4)
DEFINE_STRIPE(8)
DEFINE_STRIPE(16)
#undef DEFINE_STRIPE

BY_WIDTH(V(square_even_move), stripe)

#if VEC < 64
/* Vector i of rows in slots of so many bytes. */
TG_NO_CHECKS TG_INLINE void V(store_rows)(uint8_t *d, int64_t row, int slot, int64_t i, V(vec) v) {
    if (slot >= VEC) V(store)(d + i / (slot / VEC) * row + i % (slot / VEC) * VEC, v);
    else V(store_lanes)(d + i * LANES * row, row, 1, &v);
}

/* VEC bytes of each line become rows, in slots of `parts` times 16 bytes. */
TG_NO_CHECKS TG_INLINE void V(short_of)(int width, int parts, const V(narrow) *w, uint8_t *d, const uint8_t *s) {
    const int n = 16 / width, each = n * parts / LANES;
    V(vec)    v[32], out[32];
    TG_UNROLL
    for (int p = 0; p < parts; p++) {
        V(vec) in[16], turned[16] = {{0}};
        if (p * n < w->cols) {
            TG_UNROLL
            for (int j = 0; j < n; j++) in[j] = V(load)(s + tg_min(p * n + j, w->cols - 1) * w->s_step);
            V(turn)(width, turned, in);
        }
        TG_UNROLL
        for (int i = 0; i < n; i++) v[i * parts + p] = turned[i];
    }
    TG_UNROLL
    for (int i = 0; i < each; i++) {
        V(vec) part[LANES];
        V(turn_lanes)(part, v + i * LANES, 1);
        TG_UNROLL
        for (int l = 0; l < LANES; l++) out[l * each + i] = part[l];
    }
    TG_UNROLL
    for (int i = 0; i < n * parts; i++) V(store_rows)(d, w->row, parts * 16, i, out[i]);
}

#define DEFINE_SHORT(width)                                                                                          \
    TG_NO_CHECKS TG_OUTLINE void V(short_##width)(const V(narrow) *w, uint8_t *d, const uint8_t *s) {              \
        if ((width) * LANES <= 16 && w->slot == 16) V(short_of)(width, 1, w, d, s);                                  \
        else V(short_of)(width, 2, w, d, s);                                                                         \
    }

typedef void V(short_move)(const V(narrow) *w, uint8_t *d, const uint8_t *s);

DEFINE_SHORT(1)
DEFINE_SHORT(2)
DEFINE_SHORT(4)
DEFINE_SHORT(8)
#undef DEFINE_SHORT

TG_INLINE V(short_move) *V(short)(int width) {
    return width == 1 ? V(short_1) : width == 2 ? V(short_2) : width == 4 ? V(short_4) : V(short_8);
}
#endif

/* VEC bytes of each line become `all` bytes of rows, 16 or more. */
TG_INLINE void V(turn_piece)(int width, int64_t all, uint8_t *d, int64_t row, const uint8_t *s, int64_t s_step) {
    for (int64_t c = 0; c < all;) {
        const int64_t left = all - c, most = VEC == 64 && (left <= 32 || all < 64) ? 32 : VEC;
        const int64_t bytes = left <= 16 || all < 32 ? 16 : most;
        c = tg_min(c, all - bytes);
        if (bytes == 16) V(stripe)(width)(d + c, s + c / width * s_step, s_step, row);
        else if (bytes == VEC) V(square_even)(width)(d + c, s + c / width * s_step, s_step, row);
        else V(half)(width)(d + c, s + c / width * s_step, s_step, row);
        c += bytes;
    }
}

/* A cache line of each line. */
TG_INLINE void V(turn_lines)(int width, const V(narrow) *w, uint8_t *d, int64_t row, const uint8_t *s) {
    for (int p = 0; p < TG_LINE_BYTES; p += VEC, d += VEC / width * row, s += VEC) {
#if VEC < 64
        if (w->slot > 0) {
            V(short)(width)(w, d, s);
            continue;
        }
#endif
        V(turn_piece)(width, w->row, d, row, s, w->s_step);
    }
}

/* Whole cache lines of out leave, the begun one moves to the front. */
TG_INLINE void V(leave)(V(narrow) *w) {
    const int64_t end = w->to / TG_LINE_BYTES * TG_LINE_BYTES;
    int64_t       i = 0;
    if (end == 0) return;
    if (w->from > 0) {
        i = TG_LINE_BYTES;
        tg_stream_part(w->d + w->from, w->out + w->from, i - w->from);
        w->from = 0;
    }
    for (; i < end; i += VEC) V(put)(w->d + i, V(load)(w->out + i), w->stream);
    memcpy(w->out, w->out + end, TG_LINE_BYTES);
    w->d += end;
    w->to -= end;
}

/* So many bytes of rows come next; where they go. */
TG_INLINE uint8_t *V(next_rows)(V(narrow) *w, int64_t n) {
    if (w->to + n > NARROW_BYTES) V(leave)(w);
    w->to += n;
    return w->out + w->to - n;
}

/* The rows from r on, fewer than a cache line has of each line. */
TG_INLINE void V(last_rows)(int width, V(narrow) *w, const tg_block *b, const uint8_t *s, int64_t r) {
    const int depth = TG_LINE_BYTES / width;
    const int64_t        at = b->rows - depth, n = b->rows - r;
    const uint8_t *const from = w->last + (r - at) * w->row;
    if (n == 0) return;
    V(turn_lines)(width, w, w->last, w->row, s + at * width);
    memcpy(V(next_rows)(w, n * w->row), from, (size_t)(n * w->row));
}

TG_INLINE void V(narrow_rows)(int width, V(narrow) *w, const tg_block *b, bool far, const uint8_t *s) {
    const int     depth = TG_LINE_BYTES / width;
    int64_t       r = 0;
    for (; b->rows - r >= depth; r += depth) {
        const uint8_t *const from = s + r * width;
        for (int64_t c = 0; far && c < w->cols; c++) TG_FETCH(from + c * w->s_step + NARROW_AHEAD);
        V(turn_lines)(width, w, V(next_rows)(w, depth * w->row), w->row, from);
    }
    V(last_rows)(width, w, b, s, r);
}

/* Rows that have gaps between them are no such block: matrices side by side fill these. */
TG_INLINE bool V(is_narrow)(int width, const tg_mover *m, const tg_block *b) {
    const int64_t row = b->cols * width;
    if (b->tail > 0 || b->dst_row != row || row % STICK == 0 || b->rows * width < TG_LINE_BYTES) return false;
    if (VEC == 64 && row < 16) return false; /* a column of its own */
    if (row < STICK) return true;
    if (!m->stream || b->cols > TG_NARROW_COLUMNS) return false;
    return !m->far || row < LEAST_CARRIED || !tg_crowds_second(b->src_col, b->cols);
}

TG_INLINE void V(narrow_block)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    V(narrow) w;
    const int64_t all = b->rows * b->dst_row;
    w.cols = b->cols;
    w.row = b->cols * width;
    w.s_step = b->src_col;
    w.stream = m->stream;
    w.slot = VEC == 64 || w.row > 32 || width == 16 ? 0 : tg_max(w.row <= 16 ? 16 : 32, VEC * width / 16);
    for (int64_t o = 0; o < b->outer; o++, d += b->dst_outer, s += b->src_outer) {
        if (o == 0 || b->dst_outer != all) {
            w.from = w.to = (int64_t)((uintptr_t)d % TG_LINE_BYTES);
            w.d = d - w.from;
        }
        V(narrow_rows)(width, &w, b, m->fetches, s);
        if (o + 1 == b->outer || b->dst_outer != all) {
            V(leave)(&w);
            tg_stream_part(w.d + w.from, w.out + w.from, w.to - w.from);
        }
    }
}

/* Functions of their own, for the buffers on their stacks. */
#define DEFINE_NARROW(width)                                                                                           \
  TG_OUTLINE void V(turn_narrow_##width)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {         \
    V(narrow_block)(width, m, d, s, b);                                                                                \
  }

typedef void V(turn_narrow_move)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b);

DEFINE_NARROW(1)
DEFINE_NARROW(2)
DEFINE_NARROW(4)
DEFINE_NARROW(8)
DEFINE_NARROW(16)
#undef DEFINE_NARROW

BY_WIDTH(V(turn_narrow_move), turn_narrow)
