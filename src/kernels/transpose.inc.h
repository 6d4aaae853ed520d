/* Transposes with vectors of VEC bytes; see transpose.c. */
#include "kernels/vector.inc.h"

/* ---- in registers ---- */

/* One 16-byte piece of each of VEC / 16 lines that lie `step` apart. Inserting from memory does the work across
 * lanes while loading. */
#if VEC == 64
TG_NO_CHECKS static inline V(vec) V(lanes)(const uint8_t *s, int64_t step) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(s)), LOAD128(s + step), 1);
    const __m256i high =
        _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(s + 2 * step)), LOAD128(s + 3 * step), 1);
    return (V(vec))_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
#  define EACH_LANE(X) X(0), X(1), X(2), X(3)
#elif VEC == 32
TG_NO_CHECKS static inline V(vec) V(lanes)(const uint8_t *s, int64_t step) {
    return (V(vec))_mm256_inserti128_si256(_mm256_castsi128_si256(LOAD128(s)), LOAD128(s + step), 1);
}
#  define EACH_LANE(X) X(0), X(1)
#else
TG_NO_CHECKS static inline V(vec) V(lanes)(const uint8_t *s, int64_t step) {
    (void)step;
    return V(load)(s);
}
#  define EACH_LANE(X) X(0)
#endif

typedef int8_t  V(bytes) __attribute__((vector_size(VEC)));
typedef int16_t V(shorts) __attribute__((vector_size(VEC)));
typedef int32_t V(words) __attribute__((vector_size(VEC)));

#define UNPACK(TYPE, a, b, PART) (V(vec)) __builtin_shufflevector((V(TYPE))(a), (V(TYPE))(b), EACH_LANE(PART))

TG_NO_CHECKS INLINE void V(unpack)(int width, V(vec) *low, V(vec) *high, V(vec) a, V(vec) b) {
    if (width == 1) {
        *low = UNPACK(bytes, a, b, LOW1);
        *high = UNPACK(bytes, a, b, HIGH1);
    } else if (width == 2) {
        *low = UNPACK(shorts, a, b, LOW2);
        *high = UNPACK(shorts, a, b, HIGH2);
    } else if (width == 4) {
        *low = UNPACK(words, a, b, LOW4);
        *high = UNPACK(words, a, b, HIGH4);
    } else {
        *low = UNPACK(vec, a, b, LOW8);
        *high = UNPACK(vec, a, b, HIGH8);
    }
}

/* Register j with register j + n / 2: the order of the registers turns by one bit, and that of the elements too. */
TG_NO_CHECKS INLINE void V(round)(int width, V(vec) *out, const V(vec) *in) {
    const int half = 8 / width;
    TG_UNROLL
    for (int j = 0; j < half; j++) V(unpack)(width, &out[2 * j], &out[2 * j + 1], in[j], in[j + half]);
}

/* 16 bytes at s of lines `pitch` apart become n = 16 / width rows: after as many rounds as the index of a register
 * has bits, registers and elements have changed places. */
TG_NO_CHECKS INLINE void V(group)(int width, V(vec) *out, const uint8_t *s, int64_t pitch) {
    const int n = 16 / width;
    V(vec)    a[16], b[16], c[16];
    TG_UNROLL
    for (int j = 0; j < n; j++) (width == 16 ? out : a)[j] = V(lanes)(s + j * pitch, n * pitch);
    if (width == 8) V(round)(8, out, a);
    if (width < 8) V(round)(width, b, a);
    if (width == 4) V(round)(4, out, b);
    if (width < 4) V(round)(width, c, b);
    if (width == 2) V(round)(2, out, c);
    if (width == 1) V(round)(1, a, c);
    if (width == 1) V(round)(1, out, a);
}

/* ---- tiles ---- */

/* n bytes, at most a stick. */
INLINE void V(part)(uint8_t *d, const uint8_t *s, int64_t n) {
#if VEC == 64
    const uint64_t all = ~(uint64_t)0;
    const uint64_t low = n >= 64 ? all : ~(all << n), high = n <= 64 ? 0 : n >= 128 ? all : ~(all << (n - 64));
    _mm512_mask_storeu_epi8(d, low, _mm512_maskz_loadu_epi8(low, s));
    _mm512_mask_storeu_epi8(d + 64, high, _mm512_maskz_loadu_epi8(high, s + 64));
#else
    memcpy(d, s, (size_t)n);
#endif
}

/* n bytes, fewer than a stick, to the stage, which has place for a whole one. A masked store is not forwarded to the
 * loads that follow soon, so the masks are on the loads. */
INLINE void V(part_in)(uint8_t *stage, const uint8_t *s, int64_t n) {
#if VEC == 64
    const int64_t whole = n & 64;
    if (whole > 0) V(store)(stage, V(load)(s));
    if (n == whole) return;
    V(store)(stage + whole, (V(vec))_mm512_maskz_loadu_epi8(~(~(uint64_t)0 << (n - whole)), s + whole));
#else
    memcpy(stage, s, (size_t)n);
#endif
}

/* n bytes, a multiple of a stick, to the stage. */
INLINE void V(sticks)(uint8_t *stage, const uint8_t *s, int64_t n) {
    for (int64_t i = 0; i < n; i += STICK) {
        V(vec) v[STICK / VEC];
        TG_UNROLL
        for (int j = 0; j < STICK / VEC; j++) v[j] = V(load)(s + i + j * VEC);
        TG_UNROLL
        for (int j = 0; j < STICK / VEC; j++) *(V(vec) *)(void *)(stage + i + j * VEC) = v[j];
    }
}

/* All of a tile into its stage. */
INLINE void V(stage_in)(int width, uint8_t *stage, const tile *t, const uint8_t *pad) {
    const uint8_t *const *line = t->line;
    const int64_t         lines = t->lines, at = t->at, whole = t->bytes / STICK * STICK, rest = t->bytes - whole;
    if (whole == STICK)
        for (int64_t k = 0; k < lines; k++) V(sticks)(stage + k * DEPTH(width), line[k] + at, STICK);
    else if (whole > 0)
        for (int64_t k = 0; k < lines; k++) V(sticks)(stage + k * DEPTH(width), line[k] + at, whole);
    if (rest > 0)
        for (int64_t k = 0; k < lines; k++)
            V(part_in)(stage + k * DEPTH(width) + whole, line[k] + at + whole, rest);
    for (int64_t k = lines; k < t->cols; k++)
        for (int64_t i = 0; i < t->bytes; i += STICK) V(sticks)(stage + k * DEPTH(width) + i, pad, STICK);
}

/* What goes on meanwhile, in step g of 8: an eighth of the next tile comes into the stage. */
INLINE void V(feed)(int width, const meanwhile *m, int g) {
    const int n = STICK / width / 8;
    if (m->next == NULL) return;
    for (int k = g * n; k < (g + 1) * n; k++)
        V(sticks)(m->stage + k * DEPTH(width), m->next->line[k] + m->next->at, STICK);
}

/* And lines of a later tile are fetched, as many as 16 bytes of all columns are. */
INLINE void V(fetch)(int width, const meanwhile *m, int g) {
    const int per_line = DEPTH(width) / TG_LINE_BYTES, n = STICK / width * 16 / TG_LINE_BYTES;
    if (m->later == NULL) return;
    if (m->later->bytes == DEPTH(width) && m->later->lines == STICK / width) {
        for (int i = g * n; i < (g + 1) * n; i++)
            TG_FETCH(m->later->line[i / per_line] + m->later->at + i % per_line * TG_LINE_BYTES);
    } else {
        for (int64_t i = g * n / 2; i < (g + 1) * n / 2 && i < m->later->lines; i++) {
            TG_FETCH(m->later->line[i] + m->later->at);
            TG_FETCH(m->later->line[i] + m->later->at + TG_LINE_BYTES);
        }
    }
}

/* Lines `pitch` apart become rows of one stick: `groups` times 16 bytes of them, `parts` vectors' worth of columns. */
TG_NO_CHECKS INLINE void V(run_tile)(int width, uint8_t *const *rows, const uint8_t *s, int64_t pitch, int groups,
                                     int parts, const meanwhile *m, bool stream) {
    const int n = 16 / width;
    for (int g = 0; g < groups; g++) {
        V(feed)(width, m, g);
        V(fetch)(width, m, g);
        for (int p = 0; p < parts; p++) {
            V(vec) v[16];
            V(group)(width, v, s + g * 16 + p * (VEC / width) * pitch, pitch);
            TG_UNROLL
            for (int i = 0; i < n; i++) {
                if (stream)
                    V(stream)(rows[g * n + i] + p * VEC, v[i]);
                else
                    V(store)(rows[g * n + i] + p * VEC, v[i]);
            }
        }
    }
}

/* Rows, or columns, or both are fewer than a tile has: what is too much goes to `out`, and so does all of it first if
 * rows are no whole sticks. */
INLINE void V(run_ragged)(int width, uint8_t **rows, const uint8_t *stage, const tile *t, uint8_t *out) {
    const bool      narrow = t->cols < STICK / width;
    const meanwhile nothing = {NULL, NULL, NULL};
    uint8_t        *to[MAX_SIDE];
    for (int64_t i = 0; i < DEPTH(width) / width; i++) to[i] = narrow || i >= t->rows ? out + i * STICK : rows[i];
    V(run_tile)(width, to, stage, DEPTH(width), (int)((t->bytes + 15) / 16),
                (int)((t->cols * width + VEC - 1) / VEC), &nothing, false);
    if (narrow)
        for (int64_t i = 0; i < t->rows; i++) V(part)(rows[i], to[i], t->cols * width);
}

#include "kernels/interleave.inc.h"

/* ---- blocks ---- */

/* Whole tiles need no stage. */
INLINE void V(run_in_place)(int width, const matrix *a, work *w) {
    const meanwhile nothing = {NULL, NULL, NULL};
    for (next_tile(w, a, 0); w->tile[0].rows > 0; next_tile(w, a, 0)) {
        const tile *const t = &w->tile[0];
        target_addresses(w->row, t->d, &a->dst, t->row, t->rows);
        if (t->whole && t->bytes == STICK && a->src.step == STICK) { /* constants make a difference */
            V(run_tile)(width, w->row, t->line[0] + t->at, STICK, STICK / 16, STICK / VEC, &nothing, false);
        } else if (t->whole) {
            V(run_tile)(width, w->row, t->line[0] + t->at, a->src.step, (int)(t->bytes / 16), STICK / VEC, &nothing,
                        false);
        } else {
            V(stage_in)(width, w->stage, t, a->pad);
            V(run_ragged)(width, w->row, w->stage, t, w->out);
        }
    }
}

/* While one tile leaves its stage, a later one comes nearer, and the next one comes into the other stage (two bytes)
 * or follows it into the same one. */
INLINE void V(run_tiles)(int width, const matrix *a, work *w) {
    const bool   two = width == 2;
    const size_t half = sizeof w->stage / 2;
    for (int i = 0; i < AHEAD; i++) next_tile(w, a, i);
    V(stage_in)(width, w->stage, &w->tile[0], a->pad);
    for (unsigned i = 0; w->tile[i % AHEAD].rows > 0; i++) {
        const tile *const t = &w->tile[i % AHEAD], *const next = &w->tile[(i + 1) % AHEAD],
                         *const later = &w->tile[(i + AHEAD - 1) % AHEAD];
        uint8_t *const    from = w->stage + (two ? i % 2 * half : 0);
        uint8_t *const    to = w->stage + (two ? half - i % 2 * half : 0);
        const bool        feeds = two && t->whole && t->bytes == STICK && next->whole && next->bytes == STICK;
        const meanwhile   m = {feeds ? next : NULL, a->far ? later : NULL, to};
        target_addresses(w->row, t->d, &a->dst, t->row, t->rows);
        if (t->whole && a->stream)
            V(run_tile)(width, w->row, from, DEPTH(width), (int)(t->bytes / 16), STICK / VEC, &m, true);
        else if (t->whole)
            V(run_tile)(width, w->row, from, DEPTH(width), (int)(t->bytes / 16), STICK / VEC, &m, false);
        else
            V(run_ragged)(width, w->row, from, t, w->out);
        if (!feeds && next->rows > 0) V(stage_in)(width, to, next, a->pad);
        next_tile(w, a, (int)(i % AHEAD));
    }
}

INLINE const uint8_t *V(run_block)(int width, const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    work   w;
    matrix a;
    if (V(interleaved)(width, m, d, s, b)) return NULL;
    matrix_of(&a, w.pad, width, m, d, s, b);
    w.o = w.c = w.r = 0;
    w.table = 0;
    if (a.in_place && !m->far)
        V(run_in_place)(width, &a, &w);
    else
        V(run_tiles)(width, &a, &w);
    return NULL;
}

static const uint8_t *V(transpose_1)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(1, m, d, s, b);
}

static const uint8_t *V(transpose_2)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(2, m, d, s, b);
}

static const uint8_t *V(transpose_4)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(4, m, d, s, b);
}

static const uint8_t *V(transpose_8)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(8, m, d, s, b);
}

static const uint8_t *V(transpose_16)(const tg_mover *m, uint8_t *d, const uint8_t *s, const tg_block *b) {
    return V(run_block)(16, m, d, s, b);
}

#undef EACH_LANE
#undef UNPACK
