/* Gathers and scatters of small steps: whole vectors, of which AVX-512 permutes all bytes at once; see strided.c. */
#include "kernels/places_avx512.inc.h"

enum { LEAST_ELEMENTS = 256 /* of a block that is worth the preparation */ };

/* The window of a vector of elements on the side where they are apart: from the first byte of its lowest one to the
 * last byte of its highest one. */
typedef struct window {
    int64_t   n, step;     /* elements; > 0, from each to the next */
    int       vectors;     /* the last one in part: */
    __mmask64 end;
    bool      back;        /* the lowest element is the last one of the vector */
} window;

typedef struct gather {
    window    w;
    __m512i   place;              /* where each byte is in its vector */
    __mmask64 part[TG_SPREAD_VECTORS]; /* bytes of each vector of the window */
} gather;

typedef struct scatter {
    window    w;
    __m512i   place[TG_SPREAD_VECTORS]; /* for each vector of the window: where its bytes are among the elements */
    __mmask64 part[TG_SPREAD_VECTORS];  /* and those that are elements */
} scatter;

/* Of n elements, as many as are in a vector or fewer. */
static inline window window_of(int64_t width, int64_t step, int64_t n, bool back) {
    const int64_t bytes = (n - 1) * step + width;
    return (window){n, step, (int)((bytes + 63) / 64), V(first_bytes)((bytes - 1) % 64 + 1), back};
}

static inline __m512i turned_numbers(const window *w, __m512i element) {
    return w->back ? _mm512_sub_epi16(_mm512_set1_epi16((short)(w->n - 1)), element) : element;
}

/* Where bytes of a vector of elements are in the window. */
static inline __m512i in_window(const window *w, int64_t width, __m512i number) {
    const __m512i element = turned_numbers(w, element_of(width, number));
    return _mm512_add_epi16(_mm512_mullo_epi16(element, _mm512_set1_epi16((short)w->step)), byte_of(width, number));
}

static void make_gather(gather *g, int64_t width, int64_t step, int64_t n) {
    g->w = window_of(width, step < 0 ? -step : step, n, step < 0);
    const __m512i   low = in_window(&g->w, width, numbers_from(0)), high = in_window(&g->w, width, numbers_from(32));
    const __mmask64 all = V(first_bytes)(n * width);
    g->place = low_bytes(low, high);
    for (int j = 0; j < g->w.vectors; j++) g->part[j] = in_vector(low, high, j) & all;
}

/* Of 32 bytes of the window: where they are among the elements; *part: those that are. step >= 2: an element's number
 * is the high half of a product, right for windows of 64 KiB / 32. */
static inline __m512i among_elements(const window *w, int64_t width, __m512i number, __mmask32 *part) {
    const __m512i inverse = _mm512_set1_epi16((short)((65536 + w->step - 1) / w->step));
    const __m512i element = _mm512_mulhi_epu16(number, inverse);
    const __m512i rest = _mm512_sub_epi16(number, _mm512_mullo_epi16(element, _mm512_set1_epi16((short)w->step)));
    const __m512i begin = _mm512_sll_epi16(turned_numbers(w, element),
                                           _mm_cvtsi32_si128(__builtin_ctzll((uint64_t)width)));
    *part = _mm512_cmplt_epu16_mask(rest, _mm512_set1_epi16((short)width)) &
            _mm512_cmplt_epu16_mask(element, _mm512_set1_epi16((short)w->n));
    return _mm512_add_epi16(begin, rest);
}

static void make_scatter(scatter *x, int64_t width, int64_t step, int64_t n, bool back) {
    x->w = window_of(width, step, n, back);
    for (int j = 0; j < x->w.vectors; j++) {
        __mmask32     low_part, high_part;
        const __m512i low = among_elements(&x->w, width, numbers_from(j * 64), &low_part);
        const __m512i high = among_elements(&x->w, width, numbers_from(j * 64 + 32), &high_part);
        x->place[j] = low_bytes(low, high);
        x->part[j] = (__mmask64)low_part | (__mmask64)high_part << 32;
    }
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
    const int64_t each = g->w.n, step = g->w.back ? -g->w.step : g->w.step;
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
    const int64_t  each = x->w.n, s_step = x->w.back ? -width : width;
    const uint8_t *low = s + (x->w.back ? (each - 1) * s_step : 0);
    int64_t        i = 0;
    for (; n - i >= each; i += each) scatter_vector(x, vectors, d + i * x->w.step, low + i * s_step);
    if (i < n) scatter_vector(x, vectors, d + (n - each) * x->w.step, low + (n - each) * s_step);
}

/* Of less than a vector: nothing behind the row is written, or, in scatter_short, read. */
TG_INLINE void gather_short(const gather *g, int vectors, __mmask64 row, uint8_t *d, const uint8_t *s) {
    _mm512_mask_storeu_epi8(d, row, gather_vector(g, vectors, s));
}

TG_INLINE void scatter_short(const scatter *x, int vectors, __mmask64 row, uint8_t *d, const uint8_t *s) {
    const __m512i v = _mm512_maskz_loadu_epi8(row, s);
    for (int j = 0; j < vectors; j++)
        _mm512_mask_storeu_epi8(d + j * 64, x->part[j], _mm512_permutexvar_epi8(x->place[j], v));
}

#define EACH_ROW(CALL)                                                                     \
    for (int64_t o = 0; o < b->outer; o++)                                                 \
        for (int64_t r = 0; r < b->rows; r++) {                                            \
            uint8_t *const       to = d + o * b->dst_outer + r * b->dst_row;               \
            const uint8_t *const from = s + o * b->src_outer + r * b->src_row;             \
            CALL;                                                                          \
        }

/* Where masks and places are, and what rows are: values that no store can change stay in registers. Loaded again for
 * each row they would wait for stores before them that have the same place in a page. */
TG_INLINE void gather_rows(const gather *in_memory, int vectors, int width, bool stream, bool room, uint8_t *d,
                           const uint8_t *s, const tg_block *block) {
    const gather   of = *in_memory, *const g = &of;
    const tg_block rows = *block, *const b = &rows;
    if (!room && b->cols * width < 64) {
        const __mmask64 row = V(first_bytes)(b->cols * width);
        const int64_t   low = g->w.back ? (b->cols - 1) * b->src_col : 0;
        EACH_ROW(gather_short(g, vectors, row, to, from + low))
    } else if (stream) EACH_ROW(gather_row(g, vectors, width, to, from, b->cols, true))
    else EACH_ROW(gather_row(g, vectors, width, to, from, b->cols, false))
}

TG_INLINE void scatter_rows(const scatter *in_memory, int vectors, int width, uint8_t *d, const uint8_t *s,
                            const tg_block *block) {
    const scatter  of = *in_memory, *const x = &of;
    const tg_block rows = *block, *const b = &rows;
    if (b->cols * width < 64) {
        const __mmask64 row = V(first_bytes)(b->cols * width);
        const int64_t   low = x->w.back ? (b->cols - 1) * b->src_col : 0;
        EACH_ROW(scatter_short(x, vectors, row, to, from + low))
    } else EACH_ROW(scatter_row(x, vectors, width, to, from, b->cols))
}

/* Elements of a vector, whose window is of at most TG_SPREAD_VECTORS. */
static inline int64_t in_a_vector(int64_t n, int64_t width, int64_t step) {
    const int64_t far = step < 0 ? -step : step;
    return tg_min(tg_min(n, 64 / width), TG_SPREAD_VECTORS * 64 / far);
}

/* `room`: rows of less than a vector may be stored as a whole one, in ascending order. */
TG_INLINE void move_gather(int width, bool stream, bool room, uint8_t *d, const uint8_t *s, const tg_block *b) {
    gather g;
    make_gather(&g, width, b->src_col, in_a_vector(b->cols, width, b->src_col));
    switch (g.w.vectors) {
    case 1: gather_rows(&g, 1, width, stream, room, d, s, b); break;
    case 2: gather_rows(&g, 2, width, stream, room, d, s, b); break;
    case 3: gather_rows(&g, 3, width, stream, room, d, s, b); break;
    case 4: gather_rows(&g, 4, width, stream, room, d, s, b); break;
    default: gather_rows(&g, g.w.vectors, width, stream, room, d, s, b); break;
    }
}

TG_INLINE void move_scatter(int width, uint8_t *d, const uint8_t *s, const tg_block *b) {
    scatter x;
    make_scatter(&x, width, b->dst_col, in_a_vector(b->cols, width, b->dst_col), b->src_col < 0);
    switch (x.w.vectors) {
    case 1: scatter_rows(&x, 1, width, d, s, b); break;
    case 2: scatter_rows(&x, 2, width, d, s, b); break;
    case 3: scatter_rows(&x, 3, width, d, s, b); break;
    case 4: scatter_rows(&x, 4, width, d, s, b); break;
    default: scatter_rows(&x, x.w.vectors, width, d, s, b); break;
    }
}

/* Is a row long enough, and are the windows of its vectors so short that less is loaded or stored than one by one,
 * in a block that is worth the preparation? */
static inline bool is_spread(const tg_block *b, int64_t width, int64_t step) {
    const int64_t each = 64 / width, far = step < 0 ? -step : step;
    return far <= TG_NEAR_STEP && far >= width && far * each <= TG_SPREAD_VECTORS * 64 && width < 16 &&
           b->cols >= tg_min(each, TG_SPREAD_ROW) &&
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
    const bool lines = b->cols * width >= 2 * TG_LINE_BYTES; /* at least one whole line in each row */
    if (is_gather(b, width)) move_gather(width, m->stream && lines && elements_aligned(width, d, b), false, d, s, b);
    else move_scatter(width, d, s, b);
}

#undef EACH_ROW
