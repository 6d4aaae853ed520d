/* Gathers and scatters of small steps: whole vectors, of which AVX-512 permutes all bytes at once; see strided.c. */

enum {
    MOST_VECTORS = 16,  /* of a window */
    MOST_STEP = 32,     /* bytes; with larger ones less than two elements come with each vector */
    LEAST_ELEMENTS = 256 /* of a block that is worth the preparation */
};

/* The window of a vector of elements on the side where they are apart: from the first byte of its lowest one to the
 * last byte of its highest one. */
typedef struct window {
    int64_t   step;        /* > 0, from element to element */
    int       vectors;     /* the last one in part: */
    __mmask64 end;
    bool      back;        /* the lowest element is the last one of the vector */
} window;

typedef struct gather {
    window    w;
    __m512i   place;              /* where each byte is in its vector */
    __mmask64 part[MOST_VECTORS]; /* bytes of each vector of the window */
} gather;

typedef struct scatter {
    window    w;
    __m512i   place[MOST_VECTORS]; /* for each vector of the window: where its bytes are among the elements */
    __mmask64 part[MOST_VECTORS];  /* and those that are elements */
} scatter;

static inline window window_of(int64_t width, int64_t step, bool back) {
    const int64_t bytes = (64 / width - 1) * step + width, last = bytes % 64;
    const __mmask64 end = last == 0 ? ~(__mmask64)0 : ((__mmask64)1 << last) - 1;
    return (window){step, (int)((bytes + 63) / 64), end, back};
}

/* Byte i of a vector of elements is byte .. of the window. */
static inline int64_t in_window(const window *w, int64_t width, int64_t i) {
    const int64_t element = w->back ? 64 / width - 1 - i / width : i / width;
    return element * w->step + i % width;
}

static void make_gather(gather *g, int64_t width, int64_t step) {
    uint8_t place[64];
    g->w = window_of(width, step < 0 ? -step : step, step < 0);
    for (int j = 0; j < g->w.vectors; j++) g->part[j] = 0;
    for (int64_t i = 0; i < 64; i++) {
        const int64_t at = in_window(&g->w, width, i);
        place[i] = (uint8_t)(at % 64);
        g->part[at / 64] |= (__mmask64)1 << i;
    }
    g->place = _mm512_loadu_si512(place);
}

static void make_scatter(scatter *x, int64_t width, int64_t step, bool back) {
    uint8_t place[MOST_VECTORS * 64] = {0};
    x->w = window_of(width, step, back);
    for (int j = 0; j < x->w.vectors; j++) x->part[j] = 0;
    for (int64_t i = 0; i < 64; i++) {
        const int64_t at = in_window(&x->w, width, i);
        place[at] = (uint8_t)i;
        x->part[at / 64] |= (__mmask64)1 << at % 64;
    }
    for (int j = 0; j < x->w.vectors; j++) x->place[j] = _mm512_loadu_si512(place + j * 64);
}

TG_INLINE __m512i gather_vector(const gather *g, int vectors, const uint8_t *s) {
    __m512i out = _mm512_setzero_si512();
    TG_UNROLL
    for (int j = 0; j < vectors - 1; j++)
        out = _mm512_mask_permutexvar_epi8(out, g->part[j], g->place, _mm512_loadu_si512(s + j * 64));
    const __m512i last = _mm512_maskz_loadu_epi8(g->w.end, s + (vectors - 1) * 64);
    return _mm512_mask_permutexvar_epi8(out, g->part[vectors - 1], g->place, last);
}

/* n elements, a vector or more; the last vector may write some once more. */
TG_INLINE void gather_row(const gather *g, int vectors, int width, uint8_t *d, const uint8_t *s, int64_t n,
                          bool stream) {
    const int64_t each = 64 / width, step = g->w.back ? -g->w.step : g->w.step;
    const uint8_t *low = s + (g->w.back ? (each - 1) * step : 0);
    uint8_t out[64] __attribute__((aligned(64)));
    int64_t i = 0;
    if (stream) {
        i = (int64_t)(-(uintptr_t)d % 64) / width;
        _mm512_store_si512(out, gather_vector(g, vectors, low));
        if (i > 0) tg_stream_part(d, out, i * width);
        for (; n - i >= each; i += each)
            _mm512_stream_si512((void *)(d + i * width), gather_vector(g, vectors, low + i * step));
        if (i == n) return;
        _mm512_store_si512(out, gather_vector(g, vectors, low + (n - each) * step));
        tg_stream_part(d + i * width, out + 64 - (n - i) * width, (n - i) * width);
        return;
    }
    for (; n - i >= each; i += each)
        _mm512_storeu_si512(d + i * width, gather_vector(g, vectors, low + i * step));
    if (i < n) _mm512_storeu_si512(d + (n - each) * width, gather_vector(g, vectors, low + (n - each) * step));
}

TG_INLINE void scatter_vector(const scatter *x, int vectors, uint8_t *d, const uint8_t *s) {
    const __m512i v = _mm512_loadu_si512(s);
    TG_UNROLL
    for (int j = 0; j < vectors; j++)
        _mm512_mask_storeu_epi8(d + j * 64, x->part[j], _mm512_permutexvar_epi8(x->place[j], v));
}

TG_INLINE void scatter_row(const scatter *x, int vectors, int width, uint8_t *d, const uint8_t *s, int64_t n) {
    const int64_t  each = 64 / width, s_step = x->w.back ? -width : width;
    const uint8_t *low = s + (x->w.back ? (each - 1) * s_step : 0);
    int64_t        i = 0;
    for (; n - i >= each; i += each) scatter_vector(x, vectors, d + i * x->w.step, low + i * s_step);
    if (i < n) scatter_vector(x, vectors, d + (n - each) * x->w.step, low + (n - each) * s_step);
}

#define EACH_ROW(CALL)                                                                     \
    for (int64_t o = 0; o < b->outer; o++)                                                 \
        for (int64_t r = 0; r < b->rows; r++) {                                            \
            uint8_t *const       to = d + o * b->dst_outer + r * b->dst_row;               \
            const uint8_t *const from = s + o * b->src_outer + r * b->src_row;             \
            CALL;                                                                          \
        }

TG_INLINE void gather_rows(const gather *g, int vectors, int width, const tg_mover *m, uint8_t *d, const uint8_t *s,
                           const tg_block *b) {
    const bool lines = b->cols * width >= 2 * TG_LINE_BYTES; /* at least one whole line in each row */
    if (m->stream && lines && elements_aligned(width, d, b))
        EACH_ROW(gather_row(g, vectors, width, to, from, b->cols, true))
    else
        EACH_ROW(gather_row(g, vectors, width, to, from, b->cols, false))
}

TG_INLINE void scatter_rows(const scatter *x, int vectors, int width, uint8_t *d, const uint8_t *s, const tg_block *b) {
    EACH_ROW(scatter_row(x, vectors, width, to, from, b->cols))
}

/* Is a row a vector or more, and are the windows of its vectors so short that less is loaded or stored than one by one,
 * in a block that is worth the preparation? */
static inline bool is_spread(const tg_block *b, int64_t width, int64_t step) {
    const int64_t each = 64 / width, far = step < 0 ? -step : step;
    return far <= MOST_STEP && far >= width && far * each <= MOST_VECTORS * 64 && width < 16 && b->cols >= each &&
           b->cols * b->rows * b->outer >= LEAST_ELEMENTS;
}

static inline bool is_gather(const tg_block *b, int64_t width) {
    return b->dst_col == width && is_spread(b, width, b->src_col);
}

static inline bool is_scatter(const tg_block *b, int64_t width) {
    return (b->src_col == width || b->src_col == -width) && b->dst_col > 0 && is_spread(b, width, b->dst_col);
}

/* Not inline: its frame would hold up small blocks of other steps. */
TG_OUTLINE void move_spread(int width, const tg_mover *m, uint8_t *d, const uint8_t *s,
                            const tg_block *b) {
    if (is_gather(b, width)) {
        gather g;
        make_gather(&g, width, b->src_col);
        switch (g.w.vectors) {
        case 1: gather_rows(&g, 1, width, m, d, s, b); break;
        case 2: gather_rows(&g, 2, width, m, d, s, b); break;
        case 3: gather_rows(&g, 3, width, m, d, s, b); break;
        case 4: gather_rows(&g, 4, width, m, d, s, b); break;
        default: gather_rows(&g, g.w.vectors, width, m, d, s, b); break;
        }
    } else {
        scatter x;
        make_scatter(&x, width, b->dst_col, b->src_col < 0);
        switch (x.w.vectors) {
        case 2: scatter_rows(&x, 2, width, d, s, b); break;
        case 3: scatter_rows(&x, 3, width, d, s, b); break;
        case 4: scatter_rows(&x, 4, width, d, s, b); break;
        default: scatter_rows(&x, x.w.vectors, width, d, s, b); break;
        }
    }
}

/* False if it is neither. */
TG_INLINE bool spread(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    if (!is_gather(b, width) && !is_scatter(b, width)) return false;
    move_spread(width, m, d, s, b);
    return true;
}

#undef EACH_ROW
